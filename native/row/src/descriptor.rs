//! What a user says when creating a database, a table (protocol, table and database JSON) or a view.

use crate::Schema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// `database.table`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TablePath {
    /// The database's name.
    pub database: String,
    /// The table's name.
    pub table: String,
}

impl TablePath {
    /// A path from its two names.
    pub fn new(database: impl Into<String>, table: impl Into<String>) -> Self {
        Self { database: database.into(), table: table.into() }
    }
}

impl fmt::Display for TablePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.database, self.table)
    }
}

/// A database's comment and properties.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DatabaseDescriptor {
    /// Version of the JSON form.
    #[serde(default = "one")]
    pub version: i32,
    /// Its comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Properties, kept byte for byte.
    #[serde(default)]
    pub custom_properties: BTreeMap<String, String>,
}

/// A table: schema, partitions, buckets, options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableDescriptor {
    /// Version of the JSON form.
    #[serde(default = "one")]
    pub version: i32,
    /// Columns and primary key.
    pub schema: Schema,
    /// Its comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Names of the partition columns, in order.
    #[serde(default)]
    pub partition_key: Vec<String>,
    /// Names of the bucket columns, in order; empty when rows have no home bucket.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bucket_key: Vec<String>,
    /// Number of buckets; absent until the store fills its default in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket_count: Option<i32>,
    /// `table.*` options.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
    /// All other options, kept byte for byte.
    #[serde(default)]
    pub custom_properties: BTreeMap<String, String>,
}

/// A column of a view. Its type is text: a query may give types that no table of a store has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewColumn {
    /// Its name.
    pub name: String,
    /// Its type in the words of the query's engine.
    pub data_type: String,
    /// Its comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// A view: a query under a name. The store keeps it and never runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewDescriptor {
    /// Version of the JSON form.
    #[serde(default = "one")]
    pub version: i32,
    /// The query's columns in order.
    pub columns: Vec<ViewColumn>,
    /// Its comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The query as the user wrote it.
    pub original_query: String,
    /// The same with all names in full.
    pub expanded_query: String,
    /// Properties, kept byte for byte.
    #[serde(default)]
    pub properties: BTreeMap<String, String>,
}

const fn one() -> i32 {
    1
}
