//! A table's columns with their ids, and its primary key (protocol, schema JSON).

use crate::{DataType, TypeRoot};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name, case kept.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// Its comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Its id, kept for ever; absent until the schema assigns one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i32>,
    /// The aggregation function of an aggregation table's column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agg_function: Option<AggFunction>,
}

/// An aggregation function by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AggFunction {
    /// Its name, for example `sum`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
}

/// Columns in order, and which of them are the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// Version of the JSON form.
    #[serde(default = "one")]
    pub version: i32,
    /// The columns in order.
    pub columns: Vec<Column>,
    /// Names of the primary key's columns in key order; empty for a log table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub primary_key: Vec<String>,
    /// The column that the store numbers by itself; at most one.
    #[serde(default, rename = "auto_increment_column", skip_serializing_if = "Vec::is_empty")]
    pub auto_increment: Vec<String>,
    /// The highest id given to a column or nested field so far; -1 before ids are assigned.
    #[serde(default = "minus_one")]
    pub highest_field_id: i32,
}

const fn one() -> i32 {
    1
}

const fn minus_one() -> i32 {
    -1
}

impl Schema {
    /// A schema without ids.
    #[must_use]
    pub fn new(columns: Vec<Column>, primary_key: Vec<String>) -> Self {
        Self { version: 1, columns, primary_key, auto_increment: Vec::new(), highest_field_id: -1 }
    }

    /// Position of a column by name.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }

    /// Positions of the primary key's columns in key order; names that are no column are left out.
    #[must_use]
    pub fn primary_key_indexes(&self) -> Vec<usize> {
        self.primary_key.iter().filter_map(|n| self.index_of(n)).collect()
    }

    /// Gives every column and nested field without an id the next one, depth first, column by column.
    pub fn assign_ids(&mut self) {
        let mut highest = self.highest_field_id;
        for column in &mut self.columns {
            if column.id.is_none() {
                highest += 1;
                column.id = Some(highest);
                assign_nested(&mut column.data_type, &mut highest);
            }
        }
        self.highest_field_id = highest;
    }
}

fn assign_nested(data_type: &mut DataType, highest: &mut i32) {
    match &mut data_type.root {
        TypeRoot::Array(element) => assign_nested(element, highest),
        TypeRoot::Map(key, value) => {
            assign_nested(key, highest);
            assign_nested(value, highest);
        }
        TypeRoot::Row(fields) => {
            for field in fields {
                *highest += 1;
                field.field_id = *highest;
                assign_nested(&mut field.data_type, highest);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fields: &[(&str, DataType)]) -> DataType {
        let field = |(name, data_type): &(&str, DataType)| crate::RowField {
            name: (*name).to_owned(),
            data_type: data_type.clone(),
            description: None,
            field_id: -1,
        };
        DataType::new(TypeRoot::Row(fields.iter().map(field).collect()))
    }

    #[test]
    fn ids_are_given_depth_first() {
        let int = || DataType::new(TypeRoot::Int);
        let inner = row(&[("z", int()), ("w", int())]);
        let types = [
            int(),
            row(&[("a", int()), ("b", int())]),
            row(&[("x", int()), ("y", inner), ("v", int())]),
            DataType::new(TypeRoot::Array(Box::new(row(&[("a", int()), ("b", int())])))),
            DataType::new(TypeRoot::String),
        ];
        let column = |(i, data_type): (usize, DataType)| Column {
            name: format!("c{i}"),
            data_type,
            comment: None,
            id: None,
            agg_function: None,
        };
        let mut schema = Schema::new(types.into_iter().enumerate().map(column).collect(), Vec::new());
        schema.assign_ids();
        // The ids of the reference implementation for the same types.
        assert_eq!(
            schema.columns.iter().map(|c| c.id).collect::<Vec<_>>(),
            [Some(0), Some(1), Some(4), Some(10), Some(13)]
        );
        assert_eq!(schema.highest_field_id, 13);
    }
}
