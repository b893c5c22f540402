//! Settings as they were given; those that hold secrets are never shown.

use crate::users::is_about_users;
use std::collections::BTreeMap;
use std::fmt;

const HIDDEN: &str = "******";
const SECRET_WORDS: &[&str] =
    &["password", "secret", "credential", "token", "access-key", "access.key", "accesskey", "jaas"];

/// Settings by name.
#[derive(Clone, Default)]
pub(crate) struct Given(BTreeMap<String, String>);

impl Given {
    /// Keeps settings, without passwords of users: nobody needs those from here.
    pub(crate) fn new(mut settings: BTreeMap<String, String>) -> Self {
        for (key, value) in &mut settings {
            if is_about_users(key) {
                HIDDEN.clone_into(value);
            }
        }
        Self(settings)
    }

    /// All of them, also secrets.
    pub(crate) const fn all(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// All of them as they may be shown.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), if is_secret(key) { HIDDEN } else { value.as_str() }))
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.shown()).finish()
    }
}

/// Whether a setting or option of that name is not to be shown.
pub(crate) fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    is_about_users(&key) || SECRET_WORDS.iter().any(|word| key.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let settings = [
            ("security.sasl.plain.credentials", "a:hidden"),
            ("security.sasl.listener.name.x.plain.jaas.config", "hidden"),
            ("datalake.paimon.s3.secret-key", "hidden"),
            ("datalake.paimon.jdbc.password", "hidden"),
            ("datalake.paimon.warehouse", "/lake"),
        ];
        let given = Given::new(settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect());
        let text = format!("{given:?} {:?}", given.shown().collect::<Vec<_>>());
        assert!(!text.contains("hidden") && text.contains("/lake"), "{text}");
        assert_eq!(given.all()["datalake.paimon.jdbc.password"], "hidden");
        assert!(!given.all()["security.sasl.plain.credentials"].contains("hidden"));
    }
}
