//! The small file that stands beside (or for) a log segment which has been copied: where the copy is.
//!
//! Layout, little-endian: magic `SLRS`, version u16, bytes u64, end offset i64, name length u16, name UTF-8; CRC-32C u32 of all before it.

use sluice_base::{Error, Offset, Result, Subject};
use std::path::Path;

const MAGIC: &[u8; 4] = b"SLRS";
const VERSION: u16 = 1;
/// Magic, version, bytes, end, length of the name.
const HEAD_BYTES: usize = 24;

/// A copy of a closed segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stub {
    /// Its name below `remote.data.dir`.
    pub(crate) name: String,
    /// Its length.
    pub(crate) bytes: u64,
    /// The first offset behind it.
    pub(crate) end: Offset,
}

impl Stub {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        out.extend(self.bytes.to_le_bytes());
        out.extend(self.end.to_le_bytes());
        out.extend(u16::try_from(self.name.len()).unwrap_or(u16::MAX).to_le_bytes());
        out.extend(self.name.as_bytes());
        out.extend(crc32c::crc32c(&out).to_le_bytes());
        out
    }

    pub(crate) fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        let bad = |what: &str| Error::corrupt(format!("{} {what}", path.display()));
        let Some((body, crc)) = bytes.split_last_chunk::<4>() else { return Err(bad("is too short")) };
        let Some((head, name)) = body.split_first_chunk::<HEAD_BYTES>() else { return Err(bad("is too short")) };
        let [m0, m1, m2, m3, v0, v1, rest @ ..] = *head;
        if [m0, m1, m2, m3] != *MAGIC {
            return Err(bad("does not tell where a log segment was copied"));
        }
        let version = u16::from_le_bytes([v0, v1]);
        if version != VERSION {
            let what = format!("{} has format version {version}, this release reads {VERSION}", path.display());
            return Err(Error::unsupported(Subject::File, what));
        }
        if crc32c::crc32c(body) != u32::from_le_bytes(*crc) {
            return Err(bad("has a wrong checksum"));
        }
        let [b0, b1, b2, b3, b4, b5, b6, b7, e0, e1, e2, e3, e4, e5, e6, e7, _, _] = rest;
        let name = String::from_utf8(name.to_vec()).map_err(|_| bad("names no copy"))?;
        let length = u64::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7]);
        Ok(Self { name, bytes: length, end: Offset::from_le_bytes([e0, e1, e2, e3, e4, e5, e6, e7]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Stub {
        Stub { name: "data/3/0/log/7-9.log".to_owned(), bytes: 0x0102, end: 9 }
    }

    #[test]
    fn the_bytes_of_version_1_stay() {
        let hex: String = sample().to_bytes().iter().map(|b| format!("{b:02x}")).collect();
        let golden = ["534c5253", "0100", "0201000000000000", "0900000000000000", "1400"].concat();
        assert_eq!(hex[..golden.len()], golden);
        assert_eq!(Stub::from_bytes(&sample().to_bytes(), Path::new("/d/x")).unwrap(), sample());
    }

    #[test]
    fn any_flipped_bit_and_any_cut_is_refused() {
        let bytes = sample().to_bytes();
        for i in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[i] ^= 1;
            let e = Stub::from_bytes(&damaged, Path::new("/d/x.remote")).unwrap_err();
            assert!(e.message().contains("/d/x.remote"), "{e}");
            assert!(Stub::from_bytes(&bytes[..i], Path::new("/d/x")).is_err());
        }
    }
}
