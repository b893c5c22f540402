//! Descriptions of databases and tables, as JSON inside messages.

use serde::{Serialize, de::DeserializeOwned};
use sluice_base::{Error, Result, Subject};
use sluice_row::{DataType, DatabaseDescriptor, Schema, TableDescriptor};

fn read<T: DeserializeOwned>(bytes: &[u8], what: &str, subject: Subject) -> Result<T> {
    serde_json::from_slice(bytes)
        .map_err(|e| Error::invalid(subject, format!("the JSON of the {what} cannot be read: {e}")))
}

fn write(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|e| Error::internal(format!("cannot write JSON: {e}")))
}

/// What a client says of a new table.
///
/// # Errors
/// `Invalid` about `Table`.
pub fn table(bytes: &[u8]) -> Result<TableDescriptor> {
    read(bytes, "table", Subject::Table)
}

/// What a client says of a new database; nothing at all is an empty description.
///
/// # Errors
/// `Invalid` about `Database`.
pub fn database(bytes: Option<&[u8]>) -> Result<DatabaseDescriptor> {
    match bytes {
        Some(bytes) if !bytes.is_empty() => read(bytes, "database", Subject::Database),
        _ => Ok(DatabaseDescriptor { version: 1, ..DatabaseDescriptor::default() }),
    }
}

/// The type of a column that is to be added.
///
/// # Errors
/// `Invalid` about `Column`.
pub fn data_type(bytes: &[u8]) -> Result<DataType> {
    read(bytes, "column's type", Subject::Column)
}

/// One of a table's schemas as a server tells it.
///
/// # Errors
/// `Invalid` about `Table`.
pub fn schema(bytes: &[u8]) -> Result<Schema> {
    read(bytes, "schema", Subject::Table)
}

/// The type of a column as servers read it.
///
/// # Errors
/// `Internal`.
pub fn of_data_type(data_type: &DataType) -> Result<Vec<u8>> {
    write(data_type)
}

/// A table as clients read it. A number of buckets never stands without a list of bucket keys, for clients do not read the one without the other.
///
/// # Errors
/// `Internal`.
pub fn of_table(table: &TableDescriptor) -> Result<Vec<u8>> {
    let mut value = serde_json::to_value(table).map_err(|e| Error::internal(format!("cannot write JSON: {e}")))?;
    if let (Some(fields), Some(_)) = (value.as_object_mut(), table.bucket_count) {
        fields.entry("bucket_key").or_insert_with(|| serde_json::Value::Array(Vec::new()));
    }
    write(&value)
}

/// A database as clients read it.
///
/// # Errors
/// `Internal`.
pub fn of_database(database: &DatabaseDescriptor) -> Result<Vec<u8>> {
    write(database)
}

/// One of a table's schemas as clients read it.
///
/// # Errors
/// `Internal`.
pub fn of_schema(schema: &Schema) -> Result<Vec<u8>> {
    write(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_what_it_says() {
        let text = br#"{"version":1,"schema":{"version":1,"columns":[{"name":"a","data_type":{"type":"INTEGER","nullable":false},"id":0}],
            "primary_key":["a"],"highest_field_id":0},"partition_key":[],"bucket_key":["a"],"bucket_count":3,"properties":{"table.x":"1"},"custom_properties":{}}"#;
        let descriptor = table(text).unwrap();
        assert_eq!(table(&of_table(&descriptor).unwrap()).unwrap(), descriptor);
        assert_eq!((descriptor.bucket_count, descriptor.schema.primary_key.len()), (Some(3), 1));
    }

    #[test]
    fn a_number_of_buckets_has_a_list_of_keys_beside_it() {
        let text = br#"{"schema":{"columns":[{"name":"a","data_type":{"type":"INTEGER"}}]},"bucket_count":3}"#;
        let written: serde_json::Value = serde_json::from_slice(&of_table(&table(text).unwrap()).unwrap()).unwrap();
        assert_eq!(written["bucket_key"], serde_json::json!([]));
    }

    #[test]
    fn garbage_is_named() {
        assert_eq!(table(b"{").unwrap_err().subject(), Subject::Table);
        assert_eq!(database(Some(b"{")).unwrap_err().subject(), Subject::Database);
        assert_eq!(data_type(br#"{"type":"X"}"#).unwrap_err().subject(), Subject::Column);
        assert_eq!(database(None).unwrap(), database(Some(b"")).unwrap());
    }
}
