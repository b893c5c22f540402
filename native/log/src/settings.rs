//! What may be set about a log.

use sluice_base::{Error, Result, Subject};

/// How the Arrow buffers of a batch are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all; such batches are read without a copy.
    None,
    /// LZ4 frames of independent blocks.
    Lz4Frame,
    /// Zstandard, with this effort where it pays.
    Zstd(ZstdLevel),
}

impl Default for Compression {
    fn default() -> Self {
        Self::Zstd(ZstdLevel::default())
    }
}

/// The most effort of Zstandard, 1 to 22. Default 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ZstdLevel(i32);

impl ZstdLevel {
    /// The least effort.
    pub const FIRST: Self = Self(1);

    /// `None` outside 1 to 22.
    #[must_use]
    pub const fn new(level: i32) -> Option<Self> {
        if 1 <= level && level <= 22 { Some(Self(level)) } else { None }
    }

    /// As a number.
    #[must_use]
    pub const fn get(self) -> i32 {
        self.0
    }
}

impl Default for ZstdLevel {
    fn default() -> Self {
        Self(3)
    }
}

/// Settings of one log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// A batch that would make a segment longer than this starts a new one. Default 1 GiB, minimum 1 KiB.
    pub segment_bytes_max: u64,
    /// An index entry is kept for a batch at least this far behind the previous entry's. Default 4 KiB, minimum 1.
    pub index_interval_bytes: u64,
    /// After so many synced bytes the recovery point is saved; about as much is checked at most when the log is opened
    /// after a crash. Default 64 MiB, minimum 1.
    pub recovery_interval_bytes: u64,
    /// Whether every batch's checksum is verified when it is read. Default true.
    pub verify_on_read: bool,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            segment_bytes_max: 1 << 30,
            index_interval_bytes: 4 << 10,
            recovery_interval_bytes: 64 << 20,
            verify_on_read: true,
        }
    }
}

impl LogSettings {
    /// Refuses what cannot work.
    ///
    /// # Errors
    /// `Invalid` about `Option`, naming the field.
    pub fn validate(&self) -> Result<()> {
        let least = [
            ("segment_bytes_max", self.segment_bytes_max, 1 << 10),
            ("index_interval_bytes", self.index_interval_bytes, 1),
            ("recovery_interval_bytes", self.recovery_interval_bytes, 1),
        ];
        match least.into_iter().find(|(_, value, min)| value < min) {
            Some((name, value, min)) => {
                Err(Error::invalid(Subject::Option, format!("{name} is {value}; it must be at least {min}")))
            }
            None => Ok(()),
        }
    }
}
