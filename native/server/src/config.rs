//! `server.yaml`: one setting a line, `key: value`. Those that are not the server's own are the store's.

use crate::authorizer::{self, AccessSettings};
use crate::endpoint::Endpoint;
use crate::limits::Limits;
use crate::listeners::{self, Listener};
use crate::secrets::Given;
use crate::users::is_about_users;
use sluice_base::{Error, Fs, OsFs, Result, Subject, parse_bytes, parse_duration};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const HTTP: &str = "http.listener";
const DATA_DIR: &str = "data.dir";
const FRAME_MAX: &str = "netty.server.max-request-size";
const IDLE_MAX: &str = "netty.connection.max-idle-time";
const CONNECTIONS_MAX: &str = "server.connections-max";
const MEMORY_MAX: &str = "server.in-flight-size-max";
const OWN_KEYS: &[&str] = &[HTTP, DATA_DIR, FRAME_MAX, IDLE_MAX, CONNECTIONS_MAX, MEMORY_MAX];

/// What a server is started with.
#[derive(Debug, Clone)]
pub struct Config {
    pub(crate) listeners: Vec<Listener>,
    /// Where `/health` and `/metrics` are; `None` = nowhere.
    pub(crate) http: Option<Endpoint>,
    pub(crate) data_dir: PathBuf,
    /// Who may do what; `None` = everybody everything.
    pub(crate) access: Option<AccessSettings>,
    pub(crate) limits: Limits,
    /// The store's settings.
    pub(crate) store: Given,
    /// All settings that were given.
    pub(crate) given: Given,
}

impl Config {
    /// Reads a file; `overrides` are settings that win over it.
    ///
    /// # Errors
    /// `NotFound`, `Io` naming the file; `Invalid` about `Option` naming the line or the setting.
    pub fn load(file: Option<&Path>, overrides: &BTreeMap<String, String>) -> Result<Self> {
        let mut given = BTreeMap::new();
        if let Some(file) = file {
            let bytes = OsFs.read(file).map_err(|e| e.context("the configuration"))?;
            given = parse(&String::from_utf8_lossy(&bytes)).map_err(|e| e.context(file.display()))?;
        }
        given.extend(overrides.iter().map(|(k, v)| (k.clone(), v.clone())));
        Self::from_settings(given)
    }

    /// Makes a configuration of settings.
    ///
    /// # Errors
    /// `Invalid` about `Option` naming the setting. Settings of the store are judged when it opens.
    pub fn from_settings(given: BTreeMap<String, String>) -> Result<Self> {
        let text = |key: &str, default: &str| given.get(key).map_or_else(|| default.to_owned(), Clone::clone);
        let bytes =
            |key, default| parse_bytes(&text(key, default)).map_err(|e| e.context(format_args!("setting '{key}'")));
        let Some(data_dir) = given.get(DATA_DIR).filter(|d| !d.is_empty()) else {
            return Err(invalid(format!(
                "setting '{DATA_DIR}' is missing: name the directory that the server keeps its data in"
            )));
        };
        let connections = text(CONNECTIONS_MAX, "10000");
        let limits = Limits {
            frame_bytes_max: usize::try_from(bytes(FRAME_MAX, "100mb")?).unwrap_or(usize::MAX).min(i32::MAX as usize),
            connections_max: connections.parse().ok().filter(|n| *n > 0).ok_or_else(|| {
                invalid(format!("setting '{CONNECTIONS_MAX}' is '{connections}', not a number above 0"))
            })?,
            idle_max: parse_duration(&text(IDLE_MAX, "10min"))
                .map_err(|e| e.context(format_args!("setting '{IDLE_MAX}'")))?,
            memory_kib_max: u32::try_from((bytes(MEMORY_MAX, "256mb")? >> 10).clamp(1024, 1 << 28)).unwrap_or(1024),
        };
        let http = given.get(HTTP).filter(|v| !v.is_empty()).map(|v| Endpoint::named(HTTP, v)).transpose()?;
        Ok(Self {
            listeners: Listener::all(&given)?,
            http: http.map(|(_, endpoint)| endpoint),
            data_dir: PathBuf::from(data_dir),
            access: AccessSettings::new(&given)?,
            limits,
            store: Given::new(given.iter().filter(|(k, _)| !is_own(k)).map(|(k, v)| (k.clone(), v.clone())).collect()),
            given: Given::new(given),
        })
    }
}

/// Whether a setting is the server's own; all others are the store's, which refuses those that it does not know.
fn is_own(key: &str) -> bool {
    OWN_KEYS.contains(&key) || listeners::KEYS.contains(&key) || authorizer::KEYS.contains(&key) || is_about_users(key)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::invalid(Subject::Option, message)
}

/// Flat YAML: comments, `key: value`, quotes around a value.
fn parse(text: &str) -> Result<BTreeMap<String, String>> {
    let mut settings = BTreeMap::new();
    for (line, number) in text.lines().zip(1..) {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with('#') || bare == "---" {
            continue;
        }
        let Some((key, value)) = bare.split_once(':').filter(|(k, _)| !k.trim().is_empty() && !line.starts_with(' '))
        else {
            return Err(invalid(format!("line {number} reads '{bare}'; each line must be 'key: value'")));
        };
        let value = without_comment(value.trim());
        if settings.insert(key.trim().to_owned(), value).is_some() {
            return Err(invalid(format!("line {number}: setting '{}' is given twice", key.trim())));
        }
    }
    Ok(settings)
}

fn without_comment(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some((inside, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return inside.to_owned();
        }
    }
    value.split(" #").next().unwrap_or("").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Result<Config> {
        Config::from_settings(parse(text)?)
    }

    #[test]
    fn settings_are_read() {
        let c = config("# x\ndata.dir: /d # there\nbind.listeners: \"CLIENT://127.0.0.1:0\"\nlog.flush.policy: os\n")
            .unwrap();
        assert_eq!(c.listeners[0].bind, Endpoint { host: "127.0.0.1".to_owned(), port: 0 });
        assert_eq!(c.data_dir, Path::new("/d"));
        assert_eq!(c.store.all(), &BTreeMap::from([("log.flush.policy".to_owned(), "os".to_owned())]));
        assert_eq!(c.limits.frame_bytes_max, 100 << 20);
    }

    #[test]
    fn passwords_are_in_no_debug_output() {
        let c = config(
            "data.dir: /d\nsecurity.protocol.map: FLUSS:SASL\nsecurity.sasl.plain.jaas.config: PlainLoginModule required user_a=\"hidden\";",
        )
        .unwrap();
        assert!(c.listeners[0].users.as_ref().unwrap().know("a", "hidden"));
        assert!(!format!("{c:?}").contains("hidden"));
        assert!(c.store.all().is_empty());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("", "data.dir"),
            ("data.dir /d", "line 1"),
            ("data.dir: a\ndata.dir: b", "twice"),
            ("data.dir: a\nbind.listeners: A://x:port", "bind.listeners"),
            ("data.dir: a\nbind.listeners: A://0.0.0.0:1", "advertised.listeners"),
            ("data.dir: a\nserver.connections-max: 0", "server.connections-max"),
            ("data.dir: a\nnetty.server.max-request-size: much", "max-request-size"),
        ] {
            let e = config(text).unwrap_err();
            assert!(e.message().contains(part), "{e} lacks {part}");
        }
    }
}
