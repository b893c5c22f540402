//! Kinds of change and their byte in a log batch (protocol, `change types`).

use sluice_base::{Error, Result};

/// What a log record does to its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ChangeKind {
    /// A row of a log table.
    Append = 0,
    /// A new key.
    Insert = 1,
    /// The row as it was before an update.
    UpdateBefore = 2,
    /// The row as it is after an update.
    UpdateAfter = 3,
    /// The row as it was before its deletion.
    Delete = 4,
}

impl ChangeKind {
    /// The kind behind a byte.
    ///
    /// # Errors
    /// `Corrupt` for a byte above 4.
    pub fn from_byte(byte: u8) -> Result<Self> {
        Ok(match byte {
            0 => Self::Append,
            1 => Self::Insert,
            2 => Self::UpdateBefore,
            3 => Self::UpdateAfter,
            4 => Self::Delete,
            _ => {
                return Err(Error::corrupt(format!("change kind {byte} is none of 0 to 4")));
            }
        })
    }

    /// The byte of this kind.
    #[must_use]
    pub const fn byte(self) -> u8 {
        self as u8
    }
}
