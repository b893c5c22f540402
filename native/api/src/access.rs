//! Rules of access: who may do what to which thing. Whatever no rule allows is denied.

use serde::{Deserialize, Serialize};

/// The one name of the thing that all databases are in.
pub const CLUSTER_NAME: &str = "fluss-cluster";
/// Everybody as a principal's type and name, every host, every thing of a kind.
pub const EVERY: &str = "*";

/// A kind of thing that rules are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "each name is its own description")]
pub enum ResourceKind {
    Cluster,
    Database,
    Table,
}

/// What may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "each name is its own description")]
pub enum Operation {
    All,
    Read,
    Write,
    Create,
    Drop,
    Alter,
    Describe,
}

/// The protocol's number for "any of them", which only filters have.
pub const ANY: i32 = 1;

impl Operation {
    const ALL_OF_THEM: [Self; 7] =
        [Self::All, Self::Read, Self::Write, Self::Create, Self::Drop, Self::Alter, Self::Describe];

    /// The protocol's number.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32 + ANY + 1
    }

    /// The operation of a number; [`ANY`] is none of them.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL_OF_THEM.into_iter().find(|operation| operation.number() == number)
    }

    /// Its name in capital letters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "ALL",
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::Create => "CREATE",
            Self::Drop => "DROP",
            Self::Alter => "ALTER",
            Self::Describe => "DESCRIBE",
        }
    }
}

impl ResourceKind {
    /// The protocol's number.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32 + ANY + 1
    }

    /// The kind of a number; [`ANY`] is none of them.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Self> {
        [Self::Cluster, Self::Database, Self::Table].into_iter().find(|kind| kind.number() == number)
    }

    /// Its name in capital letters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cluster => "CLUSTER",
            Self::Database => "DATABASE",
            Self::Table => "TABLE",
        }
    }
}

/// A thing that rules are about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Resource {
    /// What it is.
    pub kind: ResourceKind,
    /// [`CLUSTER_NAME`], a database, `database.table`; or [`EVERY`] thing of the kind.
    pub name: String,
}

impl Resource {
    /// What all databases are in.
    #[must_use]
    pub fn cluster() -> Self {
        Self { kind: ResourceKind::Cluster, name: CLUSTER_NAME.to_owned() }
    }

    /// A database.
    #[must_use]
    pub fn database(name: &str) -> Self {
        Self { kind: ResourceKind::Database, name: name.to_owned() }
    }

    /// A table or a view.
    #[must_use]
    pub fn table(database: &str, table: &str) -> Self {
        Self { kind: ResourceKind::Table, name: format!("{database}.{table}") }
    }
}

/// Somebody is allowed something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AccessRule {
    /// To what; what is in it is meant too.
    pub resource: Resource,
    /// `User`, another type, or [`EVERY`].
    pub principal_type: String,
    /// Who, or [`EVERY`].
    pub principal: String,
    /// The address that the client comes from, or [`EVERY`].
    pub host: String,
    /// What.
    pub operation: Operation,
}

/// Which rules are meant; what is absent may be anything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of a rule")]
pub struct RuleFilter {
    pub resource_kind: Option<ResourceKind>,
    /// Of no use without the kind.
    pub resource: Option<String>,
    pub principal_type: Option<String>,
    pub principal: Option<String>,
    pub host: Option<String>,
    pub operation: Option<Operation>,
}

impl RuleFilter {
    /// Whether it is about this thing.
    #[must_use]
    pub fn is_about(&self, resource: &Resource) -> bool {
        let Some(kind) = self.resource_kind else { return true };
        kind == resource.kind && self.resource.as_ref().is_none_or(|name| *name == resource.name)
    }

    /// Whether it means this rule.
    #[must_use]
    pub fn matches(&self, rule: &AccessRule) -> bool {
        self.is_about(&rule.resource)
            && self.principal_type.as_ref().is_none_or(|t| *t == rule.principal_type)
            && self.principal.as_ref().is_none_or(|p| *p == rule.principal)
            && self.host.as_ref().is_none_or(|h| *h == rule.host)
            && self.operation.is_none_or(|o| o == rule.operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> AccessRule {
        AccessRule {
            resource: Resource::table("d", "t"),
            principal_type: "User".to_owned(),
            principal: "a".to_owned(),
            host: EVERY.to_owned(),
            operation: Operation::Read,
        }
    }

    #[test]
    fn filters_mean_what_they_name() {
        let text = |t: &str| Some(t.to_owned());
        let any = RuleFilter::default();
        for (filter, meant) in [
            (any.clone(), true),
            (RuleFilter { resource: text("other"), ..any.clone() }, true),
            (RuleFilter { resource_kind: Some(ResourceKind::Table), ..any.clone() }, true),
            (RuleFilter { resource_kind: Some(ResourceKind::Table), resource: text("d.t"), ..any.clone() }, true),
            (RuleFilter { resource_kind: Some(ResourceKind::Table), resource: text("d.u"), ..any.clone() }, false),
            (RuleFilter { resource_kind: Some(ResourceKind::Database), ..any.clone() }, false),
            (RuleFilter { principal: text("a"), operation: Some(Operation::Read), ..any.clone() }, true),
            (RuleFilter { principal: text("A"), ..any.clone() }, false),
            (RuleFilter { host: text("127.0.0.1"), ..any.clone() }, false),
            (RuleFilter { operation: Some(Operation::All), ..any }, false),
        ] {
            assert_eq!(filter.matches(&rule()), meant, "{filter:?}");
        }
    }

    #[test]
    fn numbers_are_the_protocols() {
        assert_eq!((Operation::All.number(), Operation::Read.number(), Operation::Describe.number()), (2, 3, 8));
        assert_eq!((ResourceKind::Cluster.number(), ResourceKind::Table.number()), (2, 4));
        for number in -1..12 {
            assert!(Operation::from_number(number).is_none_or(|o| o.number() == number));
            assert_eq!(Operation::from_number(number).is_some(), (2..=8).contains(&number));
            assert_eq!(ResourceKind::from_number(number).is_some(), (2..=4).contains(&number));
        }
    }

    #[test]
    fn rules_are_written_in_capitals() {
        let json = serde_json::to_string(&rule()).unwrap();
        assert!(json.contains(r#""kind":"TABLE","name":"d.t""#) && json.contains(r#""operation":"READ""#), "{json}");
        assert_eq!(serde_json::from_str::<AccessRule>(&json).unwrap(), rule());
    }
}
