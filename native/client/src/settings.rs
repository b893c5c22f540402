//! What a connection is opened with: `bootstrap.servers` and the `client.*` options.

use sluice_base::{Error, Result, Subject, parse_bytes, parse_duration};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The option that names the servers.
pub(crate) const SERVERS: &str = "bootstrap.servers";
const REQUEST_TIMEOUT: &str = "client.request-timeout";
const CONNECT_TIMEOUT: &str = "client.connect-timeout";
const BATCH_BYTES: &str = "client.writer.batch-size";
const REQUEST_BYTES: &str = "client.writer.request-max-size";
const BUFFER_BYTES: &str = "client.writer.buffer.memory-size";
const FETCH_BYTES: &str = "client.scanner.log.fetch.max-bytes";
const FETCH_BUCKET_BYTES: &str = "client.scanner.log.fetch.max-bytes-for-bucket";
const FETCH_WAIT: &str = "client.scanner.log.fetch.wait-max-time";
const PROTOCOL: &str = "client.security.protocol";
const MECHANISM: &str = "client.security.sasl.mechanism";
const USERNAME: &str = "client.security.sasl.username";
const PASSWORD: &str = "client.security.sasl.password";
const JAAS: &str = "client.security.sasl.jaas.config";
/// Options of a catalog that are not for the store; beside them those that begin with one of the prefixes.
const CATALOG_KEYS: &[&str] = &["type", SERVERS, "default-database", "property-version"];
const CATALOG_PREFIXES: &[&str] = &["client.", "paimon.", "iceberg.", "lance.", "hudi."];

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// How a client says who it is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Security {
    Plaintext,
    Plain { username: String, password: String },
}

impl fmt::Debug for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plaintext => write!(f, "Plaintext"),
            Self::Plain { username, .. } => write!(f, "Plain({username})"),
        }
    }
}

/// All of it, read once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) servers: Vec<Address>,
    /// The longest that one question may take, however often it is asked again.
    pub(crate) request_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) batch_bytes: usize,
    pub(crate) row_bytes_max: usize,
    pub(crate) buffer_bytes: usize,
    pub(crate) fetch_bytes: i32,
    pub(crate) fetch_bucket_bytes: i32,
    pub(crate) fetch_wait: Duration,
    pub(crate) security: Security,
    /// Whether requests of our own are used where a server announces them.
    pub(crate) own_requests: bool,
}

fn invalid(message: String) -> Error {
    Error::invalid(Subject::Option, message)
}

/// `host:port`, several of them with commas between.
fn servers(text: &str) -> Result<Vec<Address>> {
    let wrong = |part: &str| {
        invalid(format!("'{SERVERS}' = '{text}': '{part}' is not host:port; write for example localhost:9123"))
    };
    let address = |part: &str| {
        let (host, port) = part.trim().rsplit_once(':').ok_or_else(|| wrong(part))?;
        let port = port.trim().parse().ok().filter(|p| *p > 0).ok_or_else(|| wrong(part))?;
        let host = host.trim();
        if host.is_empty() || host.contains(['/', ' ']) {
            return Err(wrong(part));
        }
        Ok(Address { host: host.to_owned(), port })
    };
    text.split(',').map(address).collect()
}

impl Settings {
    /// # Errors
    /// `Invalid` or `Unsupported` about `Option`, naming it.
    pub(crate) fn new(options: &BTreeMap<String, String>) -> Result<Self> {
        let named = |key: &str, e: Error| e.context(format_args!("option '{key}'"));
        let duration = |key: &str, default: Duration| match options.get(key) {
            None => Ok(default),
            Some(text) => match parse_duration(text).map_err(|e| named(key, e))? {
                Duration::ZERO => Err(invalid(format!("option '{key}' is 0; give it some time"))),
                time => Ok(time),
            },
        };
        let size = |key: &str, default: usize| match options.get(key) {
            None => Ok(default),
            Some(text) => {
                let bytes = usize::try_from(parse_bytes(text).map_err(|e| named(key, e))?).unwrap_or(usize::MAX);
                if bytes == 0 { Err(invalid(format!("option '{key}' is 0; give it some bytes"))) } else { Ok(bytes) }
            }
        };
        let number = |bytes: usize| i32::try_from(bytes).unwrap_or(i32::MAX);
        let servers = servers(options.get(SERVERS).map_or("", String::as_str))?;
        if let Some(key) = options.keys().find(|key| !is_of_a_catalog(key)) {
            let message = format!(
                "option '{key}' is for an embedded store: the store behind '{SERVERS}' = 'host:port' has its settings from its \
                 server's configuration, so give it there"
            );
            return Err(invalid(message));
        }
        Ok(Self {
            servers,
            request_timeout: duration(REQUEST_TIMEOUT, Duration::from_secs(30))?,
            connect_timeout: duration(CONNECT_TIMEOUT, Duration::from_secs(120))?,
            batch_bytes: size(BATCH_BYTES, 2 << 20)?.min(32 << 20),
            row_bytes_max: size(REQUEST_BYTES, 10 << 20)?.min(64 << 20),
            buffer_bytes: size(BUFFER_BYTES, 64 << 20)?,
            fetch_bytes: number(size(FETCH_BYTES, 16 << 20)?),
            fetch_bucket_bytes: number(size(FETCH_BUCKET_BYTES, 1 << 20)?),
            fetch_wait: duration(FETCH_WAIT, Duration::from_millis(500))?.min(Duration::from_secs(30)),
            security: security(options)?,
            own_requests: true,
        })
    }
}

fn is_of_a_catalog(key: &str) -> bool {
    CATALOG_KEYS.contains(&key) || CATALOG_PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

fn security(options: &BTreeMap<String, String>) -> Result<Security> {
    let text = |key: &str, default: &str| options.get(key).map_or(default, |v| v.trim()).to_owned();
    let protocol = text(PROTOCOL, "PLAINTEXT");
    if protocol.eq_ignore_ascii_case("PLAINTEXT") {
        return Ok(Security::Plaintext);
    }
    if !protocol.eq_ignore_ascii_case("SASL") {
        return Err(invalid(format!("option '{PROTOCOL}' = '{protocol}' is neither PLAINTEXT nor SASL")));
    }
    let mechanism = text(MECHANISM, "PLAIN");
    if !mechanism.eq_ignore_ascii_case("PLAIN") {
        let message = format!("option '{MECHANISM}' = '{mechanism}' is not supported yet: only PLAIN");
        return Err(Error::unsupported(Subject::Option, message));
    }
    let jaas = text(JAAS, "");
    let from_jaas = |key: &str| {
        let (_, rest) = jaas.split_once(&format!("{key}=\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let username = options.get(USERNAME).cloned().or_else(|| from_jaas("username"));
    let password = options.get(PASSWORD).cloned().or_else(|| from_jaas("password"));
    match (username, password) {
        (Some(username), Some(password)) if !username.is_empty() => Ok(Security::Plain { username, password }),
        _ => Err(invalid(format!("'{PROTOCOL}' = 'SASL' needs '{USERNAME}' and '{PASSWORD}'"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Result<Settings> {
        Settings::new(&pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn several_servers_are_read() {
        let read = settings(&[(SERVERS, "a:1, [::1]:2,c.d:9123"), (REQUEST_TIMEOUT, "5 s")]).unwrap();
        let shown: Vec<String> = read.servers.iter().map(Address::to_string).collect();
        assert_eq!(shown, ["a:1", "[::1]:2", "c.d:9123"]);
        assert_eq!(read.request_timeout, Duration::from_secs(5));
    }

    #[test]
    fn a_password_comes_from_options_or_jaas_and_is_never_shown() {
        let jaas = r#"org.x.PlainLoginModule required username="u" password="p w";"#;
        let sasl = [(SERVERS, "a:1"), (PROTOCOL, "sasl"), (JAAS, jaas)];
        let read = settings(&sasl).unwrap();
        assert_eq!(read.security, Security::Plain { username: "u".to_owned(), password: "p w".to_owned() });
        assert!(!format!("{read:?}").contains("p w"));
        let both = settings(&[sasl[0], sasl[1], sasl[2], (USERNAME, "v"), (PASSWORD, "q")]).unwrap();
        assert_eq!(both.security, Security::Plain { username: "v".to_owned(), password: "q".to_owned() });
    }

    #[test]
    fn mistakes_are_named() {
        for (pairs, part) in [
            (&[(SERVERS, "")][..], "host:port"),
            (&[(SERVERS, "host")], "'host' is not host:port"),
            (&[(SERVERS, "a:0")], "'a:0'"),
            (&[(SERVERS, "a:1,b:x")], "'b:x'"),
            (&[(SERVERS, "a:1"), (PROTOCOL, "TLS")], "neither PLAINTEXT nor SASL"),
            (&[(SERVERS, "a:1"), (PROTOCOL, "SASL")], USERNAME),
            (&[(SERVERS, "a:1"), (PROTOCOL, "SASL"), (MECHANISM, "GSSAPI")], "only PLAIN"),
            (&[(SERVERS, "a:1"), (REQUEST_TIMEOUT, "soon")], REQUEST_TIMEOUT),
            (&[(SERVERS, "a:1"), (BATCH_BYTES, "0")], BATCH_BYTES),
            (&[(SERVERS, "a:1"), ("log.flush.policy", "os")], "'log.flush.policy' is for an embedded store"),
            (&[(SERVERS, "a:1"), ("datalake.paimon.warehouse", "/l")], "server's configuration"),
        ] {
            let error = settings(pairs).unwrap_err();
            assert_eq!(error.subject(), Subject::Option);
            assert!(error.message().contains(part), "{error} lacks {part}");
        }
    }
}
