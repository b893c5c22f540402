//! The settings of a store's lake: `datalake.*`, read once with the others.
//!
//! Keys below `datalake.paimon.` are Paimon's own and are kept as they are, for whoever opens the lake: the engine reads those that it needs.

use crate::hint::nearest;
use sluice_base::{Error, Result, Subject};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

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
    (WAREHOUSE, "location", "", "The lake's root: an absolute directory, `/lake` or `file:/lake`. Without it no table can have `table.datalake.enabled`."),
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
    /// The directory of the lake; `None` when the store has no lake.
    pub warehouse: Option<PathBuf>,
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
        let warehouse = given.get(WAREHOUSE).map(|text| directory(text)).transpose()?;
        if warehouse.is_none() && tiering == TieringMode::Embedded {
            let message = format!("setting '{TIERING}' = 'embedded' needs '{WAREHOUSE}', the directory of the lake");
            return Err(Error::invalid(Subject::Option, message));
        }
        Ok(Self { warehouse, tiering, given })
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

/// The directory that a warehouse's location names.
fn directory(text: &str) -> Result<PathBuf> {
    let text = text.trim();
    let path = match text.split_once(':') {
        Some(("file", rest)) => rest.strip_prefix("//").unwrap_or(rest),
        Some((scheme, _)) if !scheme.contains('/') => {
            let message = format!(
                "setting '{WAREHOUSE}' = '{text}': '{scheme}:' is not supported yet; name a directory, /lake or file:/lake"
            );
            return Err(Error::unsupported(Subject::Option, message));
        }
        _ => text,
    };
    if !Path::new(path).is_absolute() {
        let message = format!("setting '{WAREHOUSE}' = '{text}' is no absolute directory; write for example /lake");
        return Err(Error::invalid(Subject::Option, message));
    }
    Ok(PathBuf::from(path))
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
    fn locations_name_a_directory() {
        for text in ["/a/b", " /a/b ", "file:/a/b", "file:///a/b"] {
            assert_eq!(read(&[(WAREHOUSE, text)]).unwrap().warehouse.unwrap(), Path::new("/a/b"), "{text}");
        }
        assert_eq!(read(&[("datalake.format", "paimon")]).unwrap().warehouse, None);
    }

    #[test]
    fn mistakes_are_named() {
        for (key, value, part) in [
            (WAREHOUSE, "a/b", "absolute"),
            (WAREHOUSE, "gopher://bucket/x", "'gopher:' is not supported"),
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
