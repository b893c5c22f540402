//! Where clients connect, by the settings: each listener has a name, an address, what clients are told of it, and the users it asks for.

use crate::endpoint::{Endpoint, PORT};
use crate::users::Users;
use sluice_base::{Error, Result, Subject};
use std::collections::{BTreeMap, HashSet};

const BIND: &str = "bind.listeners";
const ADVERTISED: &str = "advertised.listeners";
const INTERNAL: &str = "internal.listener.name";
const PROTOCOLS: &str = "security.protocol.map";
const MECHANISMS: &str = "security.sasl.enabled.mechanisms";
/// The settings that are read here, those about users aside.
pub(crate) const KEYS: &[&str] = &[BIND, ADVERTISED, INTERNAL, PROTOCOLS, MECHANISMS];

/// One address that clients connect to.
#[derive(Debug, Clone)]
pub(crate) struct Listener {
    pub(crate) name: String,
    pub(crate) bind: Endpoint,
    /// What clients are told; `None` = where it is bound.
    pub(crate) advertised: Option<Endpoint>,
    /// Who may come in; `None` = everybody, without a name.
    pub(crate) users: Option<Users>,
    /// Whether nobody who comes in here is asked for rights: the one that the settings call internal.
    pub(crate) exempt: bool,
}

fn invalid(message: impl Into<String>) -> Error {
    Error::invalid(Subject::Option, message)
}

/// The parts of a list, without blanks around them.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|part| !part.is_empty())
}

impl Listener {
    /// All listeners of a server, in the order of the setting.
    ///
    /// # Errors
    /// `Invalid` about `Option` naming the setting.
    pub(crate) fn all(given: &BTreeMap<String, String>) -> Result<Vec<Self>> {
        let default = format!("FLUSS://localhost:{PORT}");
        let mut advertised = addresses(ADVERTISED, given.get(ADVERTISED).map_or("", String::as_str))?;
        let bound = addresses(BIND, given.get(BIND).unwrap_or(&default))?;
        let names: HashSet<String> = bound.iter().map(|(name, _)| name.clone()).collect();
        let sasl = asking(given, &names)?;
        known(INTERNAL, given.get(INTERNAL).map(String::as_str), &names)?;
        let mut listeners = Vec::with_capacity(bound.len());
        for (name, bind) in bound {
            let place = advertised.iter().position(|(n, _)| *n == name);
            let told = place.map(|at| advertised.swap_remove(at).1);
            if bind.is_everywhere() && told.is_none() {
                return Err(invalid(format!(
                    "setting '{BIND}' has listener {name} at every address of the machine; say in '{ADVERTISED}' under which one clients reach it"
                )));
            }
            let users = if sasl.contains(&name) { Some(Users::of_listener(&name, given)?) } else { None };
            let exempt = given.get(INTERNAL).is_some_and(|internal| *internal == name);
            listeners.push(Self { name, bind, advertised: told, users, exempt });
        }
        known(ADVERTISED, advertised.first().map(|(name, _)| name.as_str()), &names)?;
        if listeners.is_empty() { Err(invalid(format!("setting '{BIND}' names no listener"))) } else { Ok(listeners) }
    }
}

fn addresses(key: &str, value: &str) -> Result<Vec<(String, Endpoint)>> {
    let mut found: Vec<(String, Endpoint)> = Vec::new();
    for part in parts(value) {
        let (name, endpoint) = Endpoint::named(key, part)?;
        if found.iter().any(|(n, _)| *n == name) {
            return Err(invalid(format!("setting '{key}' has listener {name} twice; give each its own name")));
        }
        found.push((name, endpoint));
    }
    Ok(found)
}

fn known(key: &str, name: Option<&str>, names: &HashSet<String>) -> Result<()> {
    match name {
        Some(name) if !names.contains(name) => {
            Err(invalid(format!("setting '{key}' names listener '{name}', which '{BIND}' does not have")))
        }
        _ => Ok(()),
    }
}

/// The names of the listeners that ask for a user and a password.
fn asking(given: &BTreeMap<String, String>, names: &HashSet<String>) -> Result<HashSet<String>> {
    for mechanism in parts(given.get(MECHANISMS).map_or("", String::as_str)) {
        if !mechanism.eq_ignore_ascii_case("PLAIN") {
            return Err(invalid(format!("setting '{MECHANISMS}' names {mechanism}; PLAIN is the only one there is")));
        }
    }
    let mut asking = HashSet::new();
    for part in parts(given.get(PROTOCOLS).map_or("", String::as_str)) {
        let Some((name, protocol)) = part.split_once(':').map(|(n, p)| (n.trim(), p.trim())) else {
            return Err(invalid(format!(
                "setting '{PROTOCOLS}' has '{part}'; write LISTENER:SASL or LISTENER:PLAINTEXT"
            )));
        };
        known(PROTOCOLS, Some(name), names)?;
        match protocol.to_ascii_uppercase().as_str() {
            "SASL" => _ = asking.insert(name.to_owned()),
            "PLAINTEXT" => {}
            _ => {
                return Err(invalid(format!(
                    "setting '{PROTOCOLS}' has protocol '{protocol}' for listener {name}; there are SASL and PLAINTEXT"
                )));
            }
        }
    }
    Ok(asking)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listeners(settings: &[(&str, &str)]) -> Result<Vec<Listener>> {
        Listener::all(&settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn each_listener_has_its_protocol() {
        let found = listeners(&[
            (BIND, "FLUSS://127.0.0.1:1, CLIENT://0.0.0.0:2"),
            (ADVERTISED, "CLIENT://outside.example:3"),
            (INTERNAL, "FLUSS"),
            (PROTOCOLS, "CLIENT:sasl, FLUSS:PLAINTEXT"),
            ("security.sasl.plain.credentials", "a:b"),
        ])
        .unwrap();
        let told: Vec<_> = found.iter().map(|l| (l.name.as_str(), l.bind.port, l.users.is_some())).collect();
        assert_eq!(told, [("FLUSS", 1, false), ("CLIENT", 2, true)]);
        assert_eq!(found[1].advertised.as_ref().map(|a| a.port), Some(3));
        assert_eq!(listeners(&[]).unwrap()[0].bind.port, PORT);
    }

    #[test]
    fn mistakes_are_named() {
        let both = (BIND, "A://x:1,B://y:2");
        for (settings, part) in [
            (&[(BIND, "A://x:1,A://y:2")] as &[_], "twice"),
            (&[(BIND, ",")], "no listener"),
            (&[(BIND, "A://x:port")], BIND),
            (&[(BIND, "A://0.0.0.0:1")], ADVERTISED),
            (&[both, (ADVERTISED, "C://z:1")], "'C'"),
            (&[both, (INTERNAL, "C")], "'C'"),
            (&[both, (PROTOCOLS, "C:SASL")], "'C'"),
            (&[both, (PROTOCOLS, "A:SSL")], "'SSL'"),
            (&[both, (PROTOCOLS, "A")], "LISTENER:SASL"),
            (&[both, (MECHANISMS, "SCRAM")], "SCRAM"),
            (&[both, (PROTOCOLS, "A:SASL")], "security.sasl.plain.credentials"),
        ] {
            let e = listeners(settings).unwrap_err();
            assert!(e.message().contains(part), "{e} lacks {part}");
        }
    }
}
