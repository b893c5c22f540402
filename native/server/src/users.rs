//! Users and their passwords. A password never leaves this file: not into messages, not into debug output.

use sluice_base::{Error, Result, Subject};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hint::black_box;

const CREDENTIALS: &str = "security.sasl.plain.credentials";
const JAAS: &str = "security.sasl.plain.jaas.config";
const LISTENER: &str = "security.sasl.listener.name.";
const LISTENER_JAAS: &str = ".plain.jaas.config";
const MODULE: &str = "PlainLoginModule";
/// What the name of an option of the login module begins with that names a user.
const USER: &str = "user_";

/// Whether the setting holds passwords of users.
pub(crate) fn is_about_users(key: &str) -> bool {
    let of_listener = key.strip_prefix(LISTENER).and_then(|rest| rest.strip_suffix(LISTENER_JAAS));
    key == CREDENTIALS || key == JAAS || of_listener.is_some()
}

/// Who may come in through a listener.
#[derive(Clone)]
pub(crate) struct Users(HashMap<String, String>);

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Users({})", self.0.len())
    }
}

impl Users {
    /// The users of a listener: its own, else those of the login module for all listeners, else those of the list.
    ///
    /// # Errors
    /// `Invalid` about `Option` naming the setting that is wrong or missing, never what it holds.
    pub(crate) fn of_listener(name: &str, given: &BTreeMap<String, String>) -> Result<Self> {
        let own = format!("{LISTENER}{}{LISTENER_JAAS}", name.to_ascii_lowercase());
        let filled = |key: &str| given.get(key).filter(|value| !value.trim().is_empty());
        let (key, found) = if let Some(text) = filled(&own) {
            (own.as_str(), module(text))
        } else if let Some(text) = filled(JAAS) {
            (JAAS, module(text))
        } else if let Some(text) = filled(CREDENTIALS) {
            (CREDENTIALS, list(text))
        } else {
            let message = format!(
                "listener {name} asks for a password but there are no users; give them in '{CREDENTIALS}' as NAME:PASSWORD,..., or in '{JAAS}'"
            );
            return Err(Error::invalid(Subject::Option, message));
        };
        let pairs = found.map_err(|why| Error::invalid(Subject::Option, format!("setting '{key}': {why}")))?;
        let mut users = HashMap::new();
        for (user, password) in pairs {
            if user.is_empty() || password.is_empty() || user.contains('\0') || password.contains('\0') {
                let message = format!("setting '{key}': a user needs a name and a password, both without zero bytes");
                return Err(Error::invalid(Subject::Option, message));
            }
            if users.insert(user.clone(), password).is_some() {
                return Err(Error::invalid(Subject::Option, format!("setting '{key}': user '{user}' is there twice")));
            }
        }
        if users.is_empty() {
            return Err(Error::invalid(Subject::Option, format!("setting '{key}' names no user")));
        }
        Ok(Self(users))
    }

    /// Whether there is such a user with such a password. Takes as long for a wrong one as for the right one.
    pub(crate) fn know(&self, user: &str, password: &str) -> bool {
        let known = self.0.get(user);
        // Somebody who is not known is looked at as long as somebody who is.
        let right = known.map_or("\0", String::as_str).as_bytes();
        let wrong = right.iter().cycle().zip(password.as_bytes()).fold(0, |wrong, (a, b)| black_box(wrong | (a ^ b)));
        known.is_some() & (right.len() == password.len()) & (wrong == 0)
    }
}

type Pairs = std::result::Result<Vec<(String, String)>, &'static str>;

/// `NAME:PASSWORD,NAME:PASSWORD`.
fn list(text: &str) -> Pairs {
    let pair = |part: &str| {
        let (user, password) =
            part.trim().split_once(':').ok_or("write NAME:PASSWORD, with commas between the users")?;
        Ok((user.trim().to_owned(), password.trim().to_owned()))
    };
    text.split(',').filter(|part| !part.trim().is_empty()).map(pair).collect()
}

/// `…PlainLoginModule required user_NAME="PASSWORD" …;`, the form of a JAAS configuration.
fn module(text: &str) -> Pairs {
    const FORM: &str = "write …PlainLoginModule required user_NAME=\"PASSWORD\";";
    let text = text.trim().strip_suffix(';').ok_or("it does not end with ';'")?;
    let mut words = text.trim_start().splitn(3, char::is_whitespace);
    let (name, flag) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    if name.rsplit('.').next() != Some(MODULE) || flag.is_empty() {
        return Err(FORM);
    }
    let mut rest = words.next().unwrap_or("").trim_start();
    let mut pairs = Vec::new();
    while !rest.is_empty() {
        let (option, value) = rest.split_once('=').ok_or(FORM)?;
        let (value, after) = value_of(value.trim_start()).ok_or("a value has no closing quote")?;
        if let Some(user) = option.trim().strip_prefix(USER) {
            pairs.push((user.to_owned(), value));
        }
        rest = after.trim_start();
    }
    Ok(pairs)
}

/// The value that a text begins with, and what is after it. Inside quotes `\` makes the next character an ordinary one.
fn value_of(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|c| ['"', '\''].contains(c));
    let Some(quote) = quote else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return Some((text.get(..end)?.to_owned(), text.get(end..)?));
    };
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.push(chars.next()?.1),
            _ if c == quote => return Some((value, text.get(at + 1..)?)),
            _ => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(settings: &[(&str, &str)]) -> Result<Users> {
        let given = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Users::of_listener("CLIENT", &given)
    }

    const ONE: &str =
        r#"org.apache.fluss.security.auth.sasl.plain.PlainLoginModule required user_admin="a \" b" user_b='c';"#;

    #[test]
    fn the_nearest_setting_wins() {
        let all = [
            ("security.sasl.listener.name.client.plain.jaas.config", "PlainLoginModule required user_own=1;"),
            (JAAS, ONE),
            (CREDENTIALS, "l:p:w , m:n"),
        ];
        assert!(users(&all).unwrap().know("own", "1"));
        let jaas = users(&all[1..]).unwrap();
        assert!(jaas.know("admin", "a \" b") && jaas.know("b", "c") && !jaas.know("own", "1"));
        let list = users(&all[2..]).unwrap();
        assert!(list.know("l", "p:w") && list.know("m", "n"));
    }

    #[test]
    fn only_the_very_password_is_right() {
        let users = users(&[(CREDENTIALS, "a:secret")]).unwrap();
        for (user, password) in [
            ("a", "secre"),
            ("a", "secrets"),
            ("a", "secretsecret"),
            ("a", "Secret"),
            ("a", ""),
            ("b", "secret"),
            ("", "\0"),
            ("x", "\0"),
        ] {
            assert!(!users.know(user, password), "{user} {password}");
        }
        assert!(users.know("a", "secret"));
        assert!(!format!("{users:?}").contains("secret"));
    }

    #[test]
    fn mistakes_are_named_without_the_password() {
        for (key, text) in [
            (CREDENTIALS, "hidden"),
            (CREDENTIALS, "a:hidden,a:hidden2"),
            (CREDENTIALS, ":hidden"),
            (CREDENTIALS, ","),
            (JAAS, "PlainLoginModule required user_a=\"hidden\""),
            (JAAS, "PlainLoginModule required user_a=\"hidden;"),
            (JAAS, "Other required user_a=\"hidden\";"),
            (JAAS, "PlainLoginModule required hidden;"),
            (JAAS, "PlainLoginModule required;"),
        ] {
            let e = users(&[(key, text)]).unwrap_err();
            assert!(e.message().contains(key) && !e.message().contains("hidden"), "{e}");
        }
    }
}
