//! The settings of a store's lake: `datalake.*`, read once with the others.
//!
//! Keys below `datalake.paimon.` are Paimon's own and are kept as they are, for whoever opens the lake: the engine reads those that it needs.

use crate::hint::nearest;
use sluice_base::{Error, Fs, Result, Subject};
use sluice_lake::{Location, Storage};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// What begins all keys of the lake.
pub(crate) const PREFIX: &str = "datalake.";
const PAIMON: &str = "datalake.paimon.";
const FORMAT: &str = "datalake.format";
const METASTORE: &str = "datalake.paimon.metastore";
pub(crate) const WAREHOUSE: &str = "datalake.paimon.warehouse";
const TIERING: &str = "datalake.tiering";

/// Key, type, default, meaning.
#[rustfmt::skip]
const KEYS: &[(&str, &str, &str, &str)] = &[
    (FORMAT, "paimon", "paimon", "Format of the lake."),
    (METASTORE, "filesystem", "filesystem", "Where the lake's tables are listed: nowhere but in the warehouse itself."),
    (WAREHOUSE, "location", "", "The lake's root: an absolute directory, `/lake` or `file:/lake`, or a part of a bucket, `s3://bucket/lake`. Without it no table can have `table.datalake.enabled`."),
    ("datalake.paimon.s3.endpoint", "address", "", "Where the S3 of the warehouse is: `http://localhost:9000`; unset = Amazon's."),
    ("datalake.paimon.s3.region", "text", "", "Its region; unset = that of the environment (`AWS_REGION`), or `us-east-1` with an endpoint."),
    ("datalake.paimon.s3.access-key", "text", "", "The key; unset = what the environment gives, as for Amazon's own programs."),
    ("datalake.paimon.s3.secret-key", "text", "", "The secret that belongs to the key."),
    ("datalake.paimon.s3.session-token", "text", "", "The token of a key for a time."),
    ("datalake.paimon.s3.path.style.access", "boolean", "", "Whether a bucket is named in the path (true) or in the host (false); unset = in the path where there is an endpoint."),
    ("datalake.paimon.*", "text", "", "Any other option of a Paimon catalog, kept for those who read the lake with Paimon."),
    (TIERING, "none, embedded", "none", "Who brings rows into the lake: `embedded` lets the engine do it, `none` leaves it to calls that ask for a round."),
];

/// Who brings rows into the lake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TieringMode {
    /// Whoever asks for a round.
    #[default]
    None,
    /// A thread of the engine.
    Embedded,
}

/// The lake of one store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LakeSettings {
    /// The place of the lake; `None` when the store has no lake.
    pub warehouse: Option<Location>,
    /// Who brings rows into it.
    pub tiering: TieringMode,
    /// All keys that were given.
    given: BTreeMap<String, String>,
}

impl LakeSettings {
    /// Reads the lake's settings out of all options.
    ///
    /// # Errors
    /// `Invalid` or `Unsupported` about `Option`, naming the key. Values are not repeated where they may be secret.
    pub(crate) fn from_options(options: &BTreeMap<String, String>) -> Result<Self> {
        let given: BTreeMap<String, String> =
            options.iter().filter(|(k, _)| k.starts_with(PREFIX)).map(|(k, v)| (k.clone(), v.clone())).collect();
        for key in given.keys() {
            if !key.starts_with(PAIMON) && !KEYS.iter().any(|(known, ..)| known == key) {
                let hint = nearest(key, KEYS.iter().map(|(k, ..)| *k));
                let hint = hint.map_or_else(String::new, |k| format!("; did you mean '{k}'?"));
                let message = format!("'{key}' is not a known setting of the lake{hint}");
                return Err(Error::invalid(Subject::Option, message));
            }
        }
        only(&given, FORMAT, "paimon")?;
        only(&given, METASTORE, "filesystem")?;
        let tiering = match given.get(TIERING).map_or("none", |v| v.trim()) {
            "none" => TieringMode::None,
            "embedded" => TieringMode::Embedded,
            other => {
                let message = format!("setting '{TIERING}' is '{other}', not one of none, embedded");
                return Err(Error::invalid(Subject::Option, message));
            }
        };
        let named = |e: Error| e.context(format_args!("setting '{WAREHOUSE}'"));
        let warehouse = given.get(WAREHOUSE).map(|text| Location::parse(text).map_err(named)).transpose()?;
        if warehouse.is_none() && tiering == TieringMode::Embedded {
            let message = format!("setting '{TIERING}' = 'embedded' needs '{WAREHOUSE}', the place of the lake");
            return Err(Error::invalid(Subject::Option, message));
        }
        Ok(Self { warehouse, tiering, given })
    }

    /// The place of the lake's files; `None` when there is no lake. Nothing is read or written there yet.
    ///
    /// # Errors
    /// `Invalid` about `Option`.
    pub(crate) fn storage(&self, fs: &Arc<dyn Fs>) -> Result<Option<Arc<dyn Storage>>> {
        let (Some(warehouse), Some(options)) = (&self.warehouse, self.paimon_options()) else { return Ok(None) };
        warehouse.open(fs, &options).map(Some).map_err(|e| e.context(format_args!("settings '{PAIMON}*'")))
    }

    /// What Paimon's own catalog of the lake is opened with; `None` when there is no lake.
    pub(crate) fn paimon_options(&self) -> Option<BTreeMap<String, String>> {
        self.warehouse.as_ref()?;
        Some(self.given.iter().filter_map(|(k, v)| Some((k.strip_prefix(PAIMON)?.to_owned(), v.clone()))).collect())
    }

    /// The first key that is given there with another value than here.
    pub(crate) fn differs<'o>(&self, options: &'o BTreeMap<String, String>) -> Option<&'o str> {
        let theirs = options.iter().filter(|(key, _)| key.starts_with(PREFIX));
        theirs.into_iter().find(|(key, value)| self.given.get(*key) != Some(value)).map(|(key, _)| key.as_str())
    }
}

fn only(given: &BTreeMap<String, String>, key: &str, works: &str) -> Result<()> {
    match given.get(key).filter(|value| !value.trim().eq_ignore_ascii_case(works)) {
        Some(other) => {
            let message = format!("setting '{key}' = '{other}' is not supported; only '{works}' is");
            Err(Error::unsupported(Subject::Option, message))
        }
        None => Ok(()),
    }
}

/// The part of `docs/settings.md` about the lake.
pub(crate) fn page() -> String {
    let mut out = String::from(
        "### The lake\n\nGiven with the others (`docs/lake.md`).\n\n| key | type | default | meaning |\n|---|---|---|---|\n",
    );
    for (key, kind, default, meaning) in KEYS {
        let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
        let _ = writeln!(out, "| `{key}` | {kind} | {default} | {meaning} |");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<LakeSettings> {
        LakeSettings::from_options(&pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn mistakes_are_named() {
        for (key, value, part) in [
            (WAREHOUSE, "a/b", "absolute"),
            (WAREHOUSE, "gopher://bucket/x", "'gopher:' is not supported"),
            (WAREHOUSE, "s3:bucket", "names no bucket"),
            (FORMAT, "iceberg", "only 'paimon'"),
            (METASTORE, "hive", "only 'filesystem'"),
            (TIERING, "always", "none, embedded"),
            (TIERING, "embedded", WAREHOUSE),
            ("datalake.tierings", "none", "did you mean 'datalake.tiering'"),
        ] {
            let e = read(&[(key, value)]).unwrap_err();
            assert!(e.message().contains(part) && e.message().contains(key), "{e} lacks {part}");
        }
    }

    #[test]
    fn secrets_are_kept_and_compared() {
        let secret = ("datalake.paimon.s3.secret-key", "x");
        let settings = read(&[(WAREHOUSE, "/w"), secret]).unwrap();
        let options = [("s3.secret-key", "x"), ("warehouse", "/w")];
        let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        assert_eq!(settings.paimon_options(), Some(options));
        assert_eq!(read(&[(FORMAT, "paimon")]).unwrap().paimon_options(), None);
        let differs = |pairs: &[(&str, &str)]| {
            let options = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            settings.differs(&options).map(str::to_owned)
        };
        assert_eq!(differs(&[]), None);
        assert_eq!(differs(&[secret]), None);
        assert_eq!(differs(&[(secret.0, "y")]).as_deref(), Some(secret.0));
        assert_eq!(differs(&[(TIERING, "none")]).as_deref(), Some(TIERING));
    }
}
