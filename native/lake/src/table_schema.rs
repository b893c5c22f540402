//! A lake table's schema files, `schema/schema-<id>`: columns with ids that stay, keys, options.

use crate::storage::Storage;
use crate::type_text::{field_from_json, field_to_json};
use serde_json::{Value, json};
use sluice_base::{Error, Result, Subject};
use sluice_row::{Column, DataType, Schema};
use std::collections::BTreeMap;

/// The form of schema files that this version writes.
const VERSION: i64 = 3;
const PREFIX: &str = "schema-";

/// One version of a table's schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema {
    /// Its number, from 0.
    pub id: i64,
    /// Columns with ids and the primary key.
    pub schema: Schema,
    /// Names of the partition columns, in order.
    pub partition_keys: Vec<String>,
    /// Options, all of them text.
    pub options: BTreeMap<String, String>,
    /// The table's comment.
    pub comment: Option<String>,
    /// When it was written, ms since 1970.
    pub time_millis: i64,
}

impl TableSchema {
    /// Number of buckets of each partition; `None` when rows have no home bucket, and all lie in bucket 0.
    #[must_use]
    pub fn bucket_count(&self) -> Option<i32> {
        self.options.get("bucket").and_then(|b| b.parse().ok()).filter(|n| *n > 0)
    }

    /// Positions of the partition columns.
    #[must_use]
    pub fn partition_indexes(&self) -> Vec<usize> {
        self.partition_keys.iter().filter_map(|n| self.schema.index_of(n)).collect()
    }

    /// Positions of the primary key's columns without the partition columns, in key order: what tells rows of one bucket apart.
    #[must_use]
    pub fn key_indexes(&self) -> Vec<usize> {
        let own = self.schema.primary_key.iter().filter(|n| !self.partition_keys.contains(n));
        own.filter_map(|n| self.schema.index_of(n)).collect()
    }

    /// The types of these columns.
    pub(crate) fn key_types(&self) -> Vec<DataType> {
        self.key_indexes().into_iter().map(|i| self.schema.columns[i].data_type.clone()).collect()
    }

    /// An option of the table.
    #[must_use]
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.get(key).map(String::as_str)
    }

    fn to_json(&self) -> Value {
        let column = |c: &Column| field_to_json(c.id.unwrap_or(-1), &c.name, &c.data_type, c.comment.as_ref());
        let mut json = json!({
            "version": VERSION,
            "id": self.id,
            "fields": self.schema.columns.iter().map(column).collect::<Vec<_>>(),
            "highestFieldId": self.schema.highest_field_id,
            "partitionKeys": self.partition_keys,
            "primaryKeys": self.schema.primary_key,
            "options": self.options,
            "timeMillis": self.time_millis,
        });
        if let (Some(comment), Some(object)) = (&self.comment, json.as_object_mut()) {
            object.insert("comment".to_owned(), json!(comment));
        }
        json
    }

    fn from_json(json: &Value) -> Result<Self> {
        let due = |key: &str| json.get(key).ok_or_else(|| Error::corrupt(format!("it lacks '{key}'")));
        let number = |key: &str| Ok::<_, Error>(due(key)?.as_i64().unwrap_or(-1));
        let version = json.get("version").map_or(1, |v| v.as_i64().unwrap_or(-1));
        if version != VERSION {
            let message = format!(
                "it has version {version}, this reads {VERSION}; let a newer Paimon rewrite it (any ALTER TABLE does)"
            );
            return Err(Error::unsupported(Subject::Table, message));
        }
        let names = |key: &str| -> Result<Vec<String>> {
            let names = due(key)?.as_array().into_iter().flatten();
            Ok(names.filter_map(Value::as_str).map(str::to_owned).collect())
        };
        let mut columns = Vec::new();
        for field in due("fields")?.as_array().into_iter().flatten() {
            let field = field_from_json(field)?;
            columns.push(Column {
                name: field.name,
                data_type: field.data_type,
                comment: field.description,
                id: Some(field.field_id),
                agg_function: None,
            });
        }
        let mut schema = Schema::new(columns, names("primaryKeys")?);
        schema.highest_field_id = i32::try_from(number("highestFieldId")?).unwrap_or(-1);
        let options = due("options")?.as_object().into_iter().flatten();
        Ok(Self {
            id: number("id")?,
            schema,
            partition_keys: names("partitionKeys")?,
            options: options.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect(),
            comment: json.get("comment").and_then(Value::as_str).map(str::to_owned),
            time_millis: json.get("timeMillis").and_then(Value::as_i64).unwrap_or(0),
        })
    }

    /// Reads version `id` of the schema of the table in `directory`.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` for a type or form that cannot be read here; `Corrupt`, `Io`.
    pub(crate) fn read(storage: &dyn Storage, directory: &str, id: i64) -> Result<Self> {
        let name = file_name(directory, id);
        let content = storage.read(&name)?;
        let json = serde_json::from_slice(&content).map_err(|e| Error::corrupt(format!("{name}: {e}")))?;
        Self::from_json(&json).map_err(|e| e.context(&name))
    }

    /// The newest version, `None` when there is no such table.
    ///
    /// # Errors
    /// As [`TableSchema::read`].
    pub(crate) fn newest(storage: &dyn Storage, directory: &str) -> Result<Option<Self>> {
        let ids = storage.list(&format!("{directory}/schema"))?;
        let newest = ids.iter().filter_map(|n| n.strip_prefix(PREFIX)?.parse::<i64>().ok()).max();
        newest.map(|id| Self::read(storage, directory, id)).transpose()
    }

    /// Publishes this version, unless there is one of that number: then `false`.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub(crate) fn publish(&self, storage: &dyn Storage, directory: &str) -> Result<bool> {
        let content = serde_json::to_vec_pretty(&self.to_json())
            .map_err(|e| Error::internal(format!("a lake schema has no JSON form: {e}")))?;
        storage.put_new(&file_name(directory, self.id), &content)
    }
}

fn file_name(directory: &str, id: i64) -> String {
    format!("{directory}/schema/{PREFIX}{id}")
}
