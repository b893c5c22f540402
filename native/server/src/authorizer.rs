//! Who may do what: super users, and rules that are kept in the store.
//!
//! Nothing is allowed that no rule allows. A rule about the cluster or a database covers what is in it, ALL covers everything, and whoever may do
//! something with a thing may also see it. A change of rules is durable before anybody is told of it.

use sluice_api::{AccessRule, EVERY, Operation, Resource, ResourceKind, RuleFilter};
use sluice_base::{Error, Result, Subject};
use sluice_store::LocalStore;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

const ENABLED: &str = "authorizer.enabled";
const TYPE: &str = "authorizer.type";
const SUPER_USERS: &str = "super.users";
const IGNORE_CASE: &str = "security.acl.principal.ignore-case";
/// How long servers of a cluster remember changes for each other: here is one.
const NOTIFICATIONS: &str = "acl.notification.expiration-time";
/// The settings that are read here.
pub(crate) const KEYS: &[&str] = &[ENABLED, TYPE, SUPER_USERS, IGNORE_CASE, NOTIFICATIONS];

const USER: &str = "User";
/// Who comes through a listener that asks for no user.
const ANONYMOUS: &str = "ANONYMOUS";
const RULES_MAX: usize = 100_000;
const NAME_BYTES_MAX: usize = 1024;

/// What the settings say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccessSettings {
    super_users: BTreeSet<(String, String)>,
    ignore_case: bool,
}

fn invalid(message: impl Into<String>) -> Error {
    Error::invalid(Subject::Option, message)
}

impl AccessSettings {
    /// What the settings say; `None` when nobody is asked for rights.
    ///
    /// # Errors
    /// `Invalid` about `Option` naming the setting.
    pub(crate) fn new(given: &BTreeMap<String, String>) -> Result<Option<Self>> {
        let flag = |key: &str| match given.get(key).map(|v| v.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(invalid(format!("setting '{key}' is '{other}'; it is true or false"))),
        };
        let kind = given.get(TYPE).map_or("default", |v| v.trim());
        if !kind.eq_ignore_ascii_case("default") {
            return Err(invalid(format!("setting '{TYPE}' is '{kind}'; 'default' is the only one there is")));
        }
        let mut super_users = BTreeSet::new();
        for part in given.get(SUPER_USERS).map_or("", String::as_str).split(';').map(str::trim) {
            match part.split_once(':').map(|(t, name)| (t.trim(), name.trim())) {
                _ if part.is_empty() => {}
                Some((t, name)) if !t.is_empty() && !name.is_empty() => {
                    super_users.insert((t.to_owned(), name.to_owned()));
                }
                _ => {
                    return Err(invalid(format!(
                        "setting '{SUPER_USERS}' has '{part}'; write User:NAME, with semicolons between several"
                    )));
                }
            }
        }
        let settings = Self { super_users, ignore_case: flag(IGNORE_CASE)? };
        Ok(flag(ENABLED)?.then_some(settings))
    }

    fn is_super(&self, user: &str) -> bool {
        self.super_users.iter().any(|(t, name)| self.same(t, USER) && self.same(name, user))
    }

    fn same(&self, a: &str, b: &str) -> bool {
        if self.ignore_case { a.to_lowercase() == b.to_lowercase() } else { a == b }
    }
}

/// Somebody who asks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Who<'a> {
    pub(crate) user: Option<&'a str>,
    pub(crate) address: IpAddr,
}

impl Who<'_> {
    pub(crate) fn name(&self) -> &str {
        self.user.unwrap_or(ANONYMOUS)
    }
}

/// Rules by the thing that they are about.
type Rules = BTreeMap<Resource, BTreeSet<AccessRule>>;

/// Decides.
#[derive(Debug)]
pub(crate) struct Authorizer {
    settings: AccessSettings,
    rules: RwLock<Arc<Rules>>,
    /// Held while rules change.
    changing: Mutex<()>,
}

fn by_resource(rules: impl IntoIterator<Item = AccessRule>) -> Rules {
    let mut sorted = Rules::new();
    for rule in rules {
        sorted.entry(rule.resource.clone()).or_default().insert(rule);
    }
    sorted
}

/// The rules that a request changed, each with whether it did.
pub(crate) type Removed = Vec<Vec<AccessRule>>;

impl Authorizer {
    /// Reads the rules that the store keeps. `exempt` says whether somebody can come in who is asked for nothing.
    ///
    /// # Errors
    /// `Invalid` about `Option` when nobody could ever do anything; those of reading.
    pub(crate) fn open(settings: AccessSettings, store: &LocalStore, exempt: bool) -> Result<Self> {
        let rules = by_resource(store.access_rules()?);
        if settings.super_users.is_empty() && rules.is_empty() && !exempt {
            return Err(invalid(format!(
                "'{ENABLED}' is true, but there are no rules and '{SUPER_USERS}' names nobody who could make some; write {SUPER_USERS}: User:NAME"
            )));
        }
        Ok(Self { settings, rules: RwLock::new(Arc::new(rules)), changing: Mutex::default() })
    }

    /// All rules as they are now.
    pub(crate) fn rules(&self) -> Arc<Rules> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether somebody may do something with a thing.
    pub(crate) fn allows(&self, who: Who<'_>, operation: Operation, resource: &Resource) -> bool {
        self.settings.is_super(who.name()) || self.allowed_by(&self.rules(), who, operation, resource)
    }

    fn allowed_by(&self, rules: &Rules, who: Who<'_>, operation: Operation, resource: &Resource) -> bool {
        let every = Resource { kind: resource.kind, name: EVERY.to_owned() };
        let mut covering = vec![resource.clone(), every];
        if resource.kind == ResourceKind::Table {
            covering.push(Resource::database(resource.name.split('.').next().unwrap_or("")));
        }
        if resource.kind != ResourceKind::Cluster {
            covering.push(Resource::cluster());
        }
        let mut found = covering.iter().filter_map(|thing| rules.get(thing)).flatten();
        found.any(|rule| self.is_for(rule, who) && covers(rule.operation, operation))
    }

    fn is_for(&self, rule: &AccessRule, who: Who<'_>) -> bool {
        let everybody = rule.principal_type == EVERY && rule.principal == EVERY;
        let named = self.settings.same(&rule.principal_type, USER) && self.settings.same(&rule.principal, who.name());
        let from_there = rule.host == EVERY || rule.host.parse::<IpAddr>().is_ok_and(|host| host == who.address);
        (everybody || named) && from_there
    }

    /// Adds rules, all or none.
    ///
    /// # Errors
    /// `Invalid` when there are too many or one is too long; those of the disk.
    pub(crate) fn add(&self, store: &LocalStore, added: &[AccessRule]) -> Result<()> {
        let texts = |r: &AccessRule| [r.resource.name.len(), r.principal.len(), r.principal_type.len(), r.host.len()];
        if added.iter().flat_map(texts).any(|bytes| bytes > NAME_BYTES_MAX) {
            return Err(invalid(format!("a name in a rule is longer than {NAME_BYTES_MAX} bytes")));
        }
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rules = Rules::clone(&self.rules());
        for rule in added {
            rules.entry(rule.resource.clone()).or_default().insert(rule.clone());
        }
        if rules.values().map(BTreeSet::len).sum::<usize>() > RULES_MAX {
            return Err(invalid(format!(
                "there would be more than {RULES_MAX} rules; one about a database covers its tables"
            )));
        }
        self.keep(store, rules)
    }

    /// Removes what filters mean, each rule for the first of them; `judge` is asked about each thing whose rules may go.
    ///
    /// # Errors
    /// What `judge` says; those of the disk.
    pub(crate) fn remove<E: From<Error>>(
        &self,
        store: &LocalStore,
        filters: &[RuleFilter],
        judge: impl Fn(&Resource) -> Result<(), E>,
    ) -> Result<Removed, E> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rules = Rules::clone(&self.rules());
        let mut removed: Removed = vec![Vec::new(); filters.len()];
        for (resource, of_it) in &mut rules {
            if !filters.iter().any(|f| f.is_about(resource)) {
                continue;
            }
            judge(resource)?;
            of_it.retain(|rule| match filters.iter().position(|f| f.matches(rule)).and_then(|i| removed.get_mut(i)) {
                Some(list) => {
                    list.push(rule.clone());
                    false
                }
                None => true,
            });
        }
        rules.retain(|_, of_it| !of_it.is_empty());
        if removed.iter().any(|list| !list.is_empty()) {
            self.keep(store, rules)?;
        }
        Ok(removed)
    }

    /// Makes the rules durable, then valid.
    fn keep(&self, store: &LocalStore, rules: Rules) -> Result<()> {
        if *self.rules() != rules {
            store.set_access_rules(&rules.values().flatten().cloned().collect::<Vec<_>>())?;
            *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
        }
        Ok(())
    }
}

/// Whether a right to do one thing is a right to do another.
fn covers(right: Operation, wanted: Operation) -> bool {
    right == Operation::All || right == wanted || wanted == Operation::Describe
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const OPERATIONS: [Operation; 7] = [
        Operation::All,
        Operation::Read,
        Operation::Write,
        Operation::Create,
        Operation::Drop,
        Operation::Alter,
        Operation::Describe,
    ];

    fn settings(pairs: &[(&str, &str)]) -> Result<Option<AccessSettings>> {
        AccessSettings::new(&pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    fn authorizer(rules: &[AccessRule], more: &[(&str, &str)]) -> Authorizer {
        let all = [&[(ENABLED, "true"), (SUPER_USERS, "User:root; User:boss")], more].concat();
        let rules = RwLock::new(Arc::new(by_resource(rules.iter().cloned())));
        Authorizer { settings: settings(&all).unwrap().unwrap(), rules, changing: Mutex::default() }
    }

    fn rule(resource: Resource, principal: &str, operation: Operation) -> AccessRule {
        let principal_type = if principal == EVERY { EVERY } else { USER }.to_owned();
        AccessRule { resource, principal_type, principal: principal.to_owned(), host: EVERY.to_owned(), operation }
    }

    fn who(user: &str) -> Who<'_> {
        Who { user: Some(user), address: Ipv4Addr::LOCALHOST.into() }
    }

    fn resources() -> [Resource; 5] {
        [
            Resource::cluster(),
            Resource::database("d"),
            Resource::database("e"),
            Resource::table("d", "t"),
            Resource::table("d", "u"),
        ]
    }

    #[test]
    fn a_right_covers_what_is_in_its_thing_and_seeing_it() {
        for granted in resources() {
            for right in OPERATIONS {
                let authorizer = authorizer(&[rule(granted.clone(), "a", right)], &[]);
                for thing in resources() {
                    for wanted in OPERATIONS {
                        let covered = granted == thing
                            || granted.kind == ResourceKind::Cluster
                            || granted.name == "d" && thing.kind == ResourceKind::Table;
                        let enough = right == wanted || right == Operation::All || wanted == Operation::Describe;
                        let expected = covered && enough;
                        assert_eq!(
                            authorizer.allows(who("a"), wanted, &thing),
                            expected,
                            "{right:?} {granted:?}: {wanted:?} {thing:?}"
                        );
                        assert!(!authorizer.allows(who("b"), wanted, &thing));
                        assert!(
                            authorizer.allows(who("root"), wanted, &thing)
                                && authorizer.allows(who("boss"), wanted, &thing)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn principals_hosts_and_every_thing() {
        let table = Resource::table("d", "t");
        let read = |who, rules: &[AccessRule], more: &[(&str, &str)]| {
            authorizer(rules, more).allows(who, Operation::Read, &table)
        };
        let everybody = [rule(table.clone(), EVERY, Operation::Read)];
        let nobody = Who { user: None, address: Ipv4Addr::LOCALHOST.into() };
        assert!(read(who("x"), &everybody, &[]) && read(nobody, &everybody, &[]));
        assert!(read(nobody, &[rule(table.clone(), ANONYMOUS, Operation::Read)], &[]));
        let every = Resource { kind: ResourceKind::Table, name: EVERY.to_owned() };
        assert!(read(who("a"), &[rule(every, "a", Operation::Read)], &[]));
        let other = Resource { kind: ResourceKind::Database, name: EVERY.to_owned() };
        assert!(!read(who("a"), &[rule(other, "a", Operation::Read)], &[]));
        let rules = [rule(table.clone(), "Alice", Operation::Read)];
        assert!(!read(who("alice"), &rules, &[]) && read(who("alice"), &rules, &[(IGNORE_CASE, "true")]));
        let from = |host: &str| [AccessRule { host: host.to_owned(), ..rule(table.clone(), "a", Operation::Read) }];
        assert!(
            read(who("a"), &from("127.0.0.1"), &[])
                && !read(who("a"), &from("127.0.0.2"), &[])
                && !read(who("a"), &from("x"), &[])
        );
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(settings(&[(SUPER_USERS, "User:a")]).unwrap(), None);
        for (key, value, part) in [
            (ENABLED, "yes", "true or false"),
            (TYPE, "ranger", "'default' is the only one"),
            (SUPER_USERS, "a", "write User:NAME"),
            (SUPER_USERS, "User:", "write User:NAME"),
            (IGNORE_CASE, "1", "true or false"),
        ] {
            let e = settings(&[(ENABLED, "true"), (key, value)]).unwrap_err();
            assert!(e.message().contains(key) && e.message().contains(part), "{e}");
        }
    }
}
