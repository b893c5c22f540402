//! Where a warehouse is: a directory, or what is below a prefix of an S3 bucket.

use crate::storage::{LocalStorage, ObjectStorage, Storage, bucket};
use sluice_base::{Error, Fs, Result, Subject};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A warehouse's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// `/lake`, `file:/lake`, `file:///lake`.
    Directory(PathBuf),
    /// `s3://bucket/prefix`; `s3a:` and `s3n:` as Hadoop's readers spell it mean the same.
    S3 {
        /// The bucket.
        bucket: String,
        /// What names in it begin with; may be empty.
        prefix: String,
    },
}

impl Location {
    /// Reads a location as Paimon's option `warehouse` has it.
    ///
    /// # Errors
    /// `Invalid` or `Unsupported` about `Option`, with the text in it.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        let path = match text.split_once(':') {
            Some(("file", rest)) => rest.strip_prefix("//").unwrap_or(rest),
            Some(("s3" | "s3a" | "s3n", rest)) => return in_bucket(text, rest),
            Some((scheme, _)) if !scheme.contains('/') => {
                let message =
                    format!("'{text}': '{scheme}:' is not supported; name a directory, /lake, or s3://bucket/lake");
                return Err(Error::unsupported(Subject::Option, message));
            }
            _ => text,
        };
        if !Path::new(path).is_absolute() {
            let message = format!("'{text}' is no absolute directory; write for example /lake, or s3://bucket/lake");
            return Err(Error::invalid(Subject::Option, message));
        }
        Ok(Self::Directory(PathBuf::from(path)))
    }

    /// Opens the place; nothing is read or written there yet. `options` are those of a Paimon catalog: for a bucket `s3.endpoint`,
    /// `s3.region`, `s3.access-key`, `s3.secret-key`, `s3.session-token` and `s3.path.style.access`; what is missing comes from the environment, as
    /// for AWS's own programs.
    ///
    /// # Errors
    /// `Invalid` about `Option` for options that make no sense.
    pub fn open(&self, fs: &Arc<dyn Fs>, options: &BTreeMap<String, String>) -> Result<Arc<dyn Storage>> {
        match self {
            Self::Directory(root) => Ok(Arc::new(LocalStorage::new(Arc::clone(fs), root))),
            Self::S3 { bucket: name, prefix } => Ok(Arc::new(ObjectStorage::new(bucket(name, options)?, prefix)?)),
        }
    }
}

fn in_bucket(text: &str, rest: &str) -> Result<Location> {
    let inside = rest.strip_prefix("//").unwrap_or_default();
    let (bucket, prefix) = inside.split_once('/').unwrap_or((inside, ""));
    if bucket.is_empty() {
        let message = format!("'{text}' names no bucket; write for example s3://bucket/lake");
        return Err(Error::invalid(Subject::Option, message));
    }
    Ok(Location::S3 { bucket: bucket.to_owned(), prefix: prefix.trim_matches('/').to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_and_buckets() {
        for text in ["/a/b", " /a/b ", "file:/a/b", "file:///a/b"] {
            assert_eq!(Location::parse(text).unwrap(), Location::Directory("/a/b".into()), "{text}");
        }
        for (text, prefix) in [("s3://b", ""), ("s3a://b/", ""), ("s3://b/x/y/", "x/y"), (" s3n://b/x", "x")] {
            let due = Location::S3 { bucket: "b".to_owned(), prefix: prefix.to_owned() };
            assert_eq!(Location::parse(text).unwrap(), due, "{text}");
        }
    }

    #[test]
    fn what_is_no_place_says_so() {
        for (text, part) in [
            ("a/b", "no absolute directory"),
            ("", "no absolute directory"),
            ("gopher://bucket/x", "'gopher:' is not supported"),
            ("hdfs://n/x", "'hdfs:' is not supported"),
            ("s3:/b/x", "names no bucket"),
            ("s3:///x", "names no bucket"),
        ] {
            let e = Location::parse(text).unwrap_err();
            assert!(e.message().contains(part), "{text}: {e}");
        }
    }

    #[test]
    fn options_that_make_no_sense_are_named() {
        let location = Location::parse("s3://b/x").unwrap();
        let fs: Arc<dyn Fs> = Arc::new(sluice_base::OsFs);
        let open = |pairs: &[(&str, &str)]| {
            location.open(&fs, &pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
        };
        for (pair, part) in [
            (("s3.endpoint", "localhost:9000"), "'s3.endpoint' = 'localhost:9000' is no address"),
            (("s3.path.style.access", "maybe"), "'s3.path.style.access' = 'maybe' is neither true nor false"),
        ] {
            let e = open(&[pair]).unwrap_err();
            assert!(e.message().contains(part), "{e}");
        }
        let e = open(&[("s3.access-key", "a")]).unwrap_err();
        assert!(e.message().contains("'s3.access-key' needs 's3.secret-key'"), "{e}");
        let keys = [("s3.access-key", "a"), ("s3.secret-key", "secret")];
        open(&[keys[0], keys[1], ("s3.endpoint", "http://localhost:1"), ("s3.path.style.access", "true")]).unwrap();
        open(&[keys[0], keys[1], ("s3.endpoint", "https://s3.example"), ("s3.path.style.access", "false")]).unwrap();
    }
}
