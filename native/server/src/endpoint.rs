//! A host and a port, as settings name them.

use sluice_base::{Error, Result, Subject};

/// The port of a listener that names none.
pub(crate) const PORT: u16 = 9123;
/// The name of a listener that has none.
const NAME: &str = "FLUSS";

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Endpoint {
    pub(crate) fn is_everywhere(&self) -> bool {
        ["0.0.0.0", "[::]", "::"].contains(&self.host.as_str())
    }

    /// `NAME://host:port`; the name and the port may be left out.
    ///
    /// # Errors
    /// `Invalid` about `Option` naming the setting.
    pub(crate) fn named(key: &str, value: &str) -> Result<(String, Self)> {
        let wrong = || {
            Error::invalid(
                Subject::Option,
                format!("setting '{key}' is '{value}'; write it like {NAME}://localhost:{PORT}"),
            )
        };
        let (name, address) = value.trim().split_once("://").unwrap_or((NAME, value.trim()));
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) if !host.ends_with(':') => (host, port.parse().map_err(|_| wrong())?),
            _ => (address, PORT),
        };
        let endpoint = Self { host: host.to_owned(), port };
        if host.is_empty() || name.is_empty() { Err(wrong()) } else { Ok((name.to_owned(), endpoint)) }
    }
}
