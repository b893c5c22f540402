//! Files of one line (magic, version, length, CRC-32C) and a body behind it. They are replaced whole, never changed in place.

use sluice_base::{Error, Result, Subject};
use std::path::Path;

const FIRST_LINE_BYTES_MAX: usize = 100;

/// One kind of such files.
pub(crate) struct Sealed {
    /// What the file is called in complaints.
    pub(crate) name: &'static str,
    pub(crate) magic: &'static str,
    pub(crate) oldest: u32,
    /// The version that is written.
    pub(crate) version: u32,
    /// What the user does about a damaged one.
    pub(crate) cure: &'static str,
}

impl Sealed {
    /// The file's bytes.
    pub(crate) fn seal(&self, body: &[u8]) -> Vec<u8> {
        let line = format!("{} {} {} {:08x}\n", self.magic, self.version, body.len(), crc32c::crc32c(body));
        [line.as_bytes(), body].concat()
    }

    /// The complaint about a file that says something impossible.
    pub(crate) fn damaged(&self, path: &Path, why: &str) -> Error {
        Error::corrupt(format!("{} file {} is damaged: {why}; {}", self.name, path.display(), self.cure))
    }

    /// The body of what [`Sealed::seal`] wrote.
    ///
    /// # Errors
    /// `Corrupt` naming the file; `Unsupported` about `Store` when a newer version wrote it.
    pub(crate) fn unseal<'a>(&self, path: &Path, bytes: &'a [u8]) -> Result<&'a [u8]> {
        let corrupt = |why: &str| self.damaged(path, why);
        let line_end = bytes.iter().take(FIRST_LINE_BYTES_MAX).position(|b| *b == b'\n');
        let (line, body) = line_end
            .and_then(|at| Some((bytes.get(..at)?, bytes.get(at + 1..)?)))
            .ok_or_else(|| corrupt("its first line is missing"))?;
        let line = std::str::from_utf8(line).map_err(|_| corrupt("its first line is not text"))?;
        let words: Vec<&str> = line.split(' ').collect();
        let [magic, version, length, crc] = words[..] else {
            return Err(corrupt("its first line has not four words"));
        };
        if magic != self.magic {
            return Err(corrupt(&format!("its first line does not begin with {}", self.magic)));
        }
        let version: u32 = version.parse().map_err(|_| corrupt("its version is not a number"))?;
        if version > self.version {
            return Err(self.newer(path, version));
        }
        if version < self.oldest {
            return Err(corrupt("its version is none that ever was"));
        }
        if length.parse() != Ok(body.len()) {
            return Err(corrupt(&format!(
                "it holds {} bytes after the first line, which promises {length}",
                body.len()
            )));
        }
        if u32::from_str_radix(crc, 16) != Ok(crc32c::crc32c(body)) {
            return Err(corrupt("its checksum does not match"));
        }
        Ok(body)
    }

    fn newer(&self, path: &Path, version: u32) -> Error {
        let message = format!(
            "{} file {} has format {version}, this Sluice reads formats up to {}; open the store with the newer Sluice that wrote it",
            self.name,
            path.display(),
            self.version
        );
        Error::unsupported(Subject::Store, message)
    }
}
