//! The settings of the place to which closed log segments are copied: `remote.data.dir` and what opens it.

use sluice_base::{Error, Fs, Result};
use sluice_lake::{Location, Storage};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

const DIR: &str = "remote.data.dir";
/// What begins the options of an S3.
const S3: &str = "s3.";

/// Key, type, meaning.
#[rustfmt::skip]
const KEYS: &[(&str, &str, &str)] = &[
    (DIR, "location", "Where closed log segments are copied: an absolute directory, `/backup` or `file:/backup`, on another disk as a rule, or a part of a bucket, `s3://bucket/store`. One place for one store, for good: a store that has copies is opened with its place only. Without it everything stays on the local disk."),
    ("s3.endpoint", "address", "Where that S3 is: `http://localhost:9000`; unset = Amazon's."),
    ("s3.region", "text", "Its region; unset = that of the environment (`AWS_REGION`), or `us-east-1` with an endpoint."),
    ("s3.access-key", "text", "The key; unset = what the environment gives, as for Amazon's own programs."),
    ("s3.secret-key", "text", "The secret that belongs to the key."),
    ("s3.session-token", "text", "The token of a key for a time."),
    ("s3.path.style.access", "boolean", "Whether a bucket is named in the path (true) or in the host (false); unset = in the path where there is an endpoint."),
];

/// Where a store's closed segments are copied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemoteSettings {
    place: Option<Location>,
    /// The keys that were given.
    given: BTreeMap<String, String>,
}

/// Whether a key is one of these settings.
pub(crate) fn is_known(key: &str) -> bool {
    KEYS.iter().any(|(known, ..)| *known == key)
}

/// All keys, for whoever looks for the nearest.
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|(key, ..)| *key)
}

impl RemoteSettings {
    /// Reads them out of all options.
    ///
    /// # Errors
    /// `Invalid` or `Unsupported` about `Option`, naming the key.
    pub(crate) fn from_options(options: &BTreeMap<String, String>) -> Result<Self> {
        let given: BTreeMap<String, String> =
            options.iter().filter(|(k, _)| is_known(k)).map(|(k, v)| (k.clone(), v.clone())).collect();
        let named = |e: Error| e.context(format_args!("setting '{DIR}'"));
        let place = given.get(DIR).map(|text| Location::parse(text).map_err(named)).transpose()?;
        Ok(Self { place, given })
    }

    /// The place, with its name; `None` when nothing is copied. Nothing is read or written there yet.
    ///
    /// # Errors
    /// `Invalid` about `Option`.
    pub(crate) fn storage(&self, fs: &Arc<dyn Fs>) -> Result<Option<(Arc<dyn Storage>, String)>> {
        let Some(place) = &self.place else { return Ok(None) };
        let storage = place.open(fs, &self.given).map_err(|e| e.context(format_args!("settings '{S3}*'")))?;
        Ok(Some((storage, self.given.get(DIR).cloned().unwrap_or_default())))
    }

    /// The first key that is given there with another value than here.
    pub(crate) fn differs<'o>(&self, options: &'o BTreeMap<String, String>) -> Option<&'o str> {
        let theirs = options.iter().filter(|(key, _)| is_known(key));
        theirs.into_iter().find(|(key, value)| self.given.get(*key) != Some(value)).map(|(key, _)| key.as_str())
    }
}

/// The part of `docs/settings.md` about them.
pub(crate) fn page() -> String {
    let mut out = String::from(
        "### Remote storage\n\nGiven with the others (`docs/remote.md`).\n\n| key | type | meaning |\n|---|---|---|\n",
    );
    for (key, kind, meaning) in KEYS {
        let _ = writeln!(out, "| `{key}` | {kind} | {meaning} |");
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<RemoteSettings> {
        RemoteSettings::from_options(&pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn mistakes_are_named() {
        for (value, part) in [("a/b", "absolute"), ("hdfs://n/x", "'hdfs:' is not supported"), ("s3:b", "no bucket")] {
            let e = read(&[(DIR, value)]).unwrap_err();
            assert!(e.message().contains(part) && e.message().contains(DIR), "{e} lacks {part}");
        }
        let fs: Arc<dyn Fs> = Arc::new(sluice_base::OsFs);
        let e = read(&[(DIR, "s3://b/x"), ("s3.access-key", "a")]).unwrap().storage(&fs).unwrap_err();
        assert!(e.message().contains("'s3.secret-key'"), "{e}");
        assert!(read(&[]).unwrap().storage(&fs).unwrap().is_none());
    }
}
