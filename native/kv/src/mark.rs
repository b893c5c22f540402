//! The mark: how far the log is applied, and how many rows that makes.

use sluice_base::{Error, Offset, Result};
use std::path::Path;

/// The state of a bucket's rows, written in one step with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark {
    /// All log records below this offset are applied.
    pub applied: Offset,
    /// Number of live rows.
    pub rows: i64,
}

/// The key under which the mark lies; no row has an empty key.
pub(crate) const MARK_KEY: &[u8] = b"";
const VERSION: u8 = 1;
const BYTES: usize = 17;

impl Mark {
    pub(crate) fn to_bytes(self) -> [u8; BYTES] {
        let mut out = [VERSION; BYTES];
        out[1..9].copy_from_slice(&self.applied.to_le_bytes());
        out[9..].copy_from_slice(&self.rows.to_le_bytes());
        out
    }

    pub(crate) fn from_bytes(bytes: &[u8], dir: &Path) -> Result<Self> {
        let bad = |what: &str| Error::corrupt(format!("the mark of key-value directory {} {what}", dir.display()));
        let Ok(bytes) = <&[u8; BYTES]>::try_from(bytes) else {
            return Err(bad("has a wrong length"));
        };
        let [version, applied @ .., r0, r1, r2, r3, r4, r5, r6, r7] = bytes;
        if *version != VERSION {
            return Err(bad(&format!("has version {version}, this release reads {VERSION}")));
        }
        let applied = <[u8; 8]>::try_from(applied.as_slice()).map_err(|_| bad("has a wrong length"))?;
        Ok(Self {
            applied: Offset::from_le_bytes(applied),
            rows: i64::from_le_bytes([*r0, *r1, *r2, *r3, *r4, *r5, *r6, *r7]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_version_1_stay() {
        let mark = Mark { applied: 0x0102_0304, rows: -2 };
        let golden = [1, 4, 3, 2, 1, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(mark.to_bytes(), golden);
    }

    #[test]
    fn round_trip_and_refusals() {
        let mark = Mark { applied: 1 << 40, rows: -7 };
        assert_eq!(Mark::from_bytes(&mark.to_bytes(), Path::new("/d")).unwrap(), mark);
        assert!(Mark::from_bytes(&mark.to_bytes()[1..], Path::new("/d")).is_err());
        let mut newer = mark.to_bytes();
        newer[0] = 2;
        let error = Mark::from_bytes(&newer, Path::new("/d")).unwrap_err();
        assert!(error.message().contains("/d") && error.message().contains("version 2"), "{error}");
    }
}
