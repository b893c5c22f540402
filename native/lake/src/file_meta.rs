//! What a manifest says of one data file.

use crate::stored_row::{EMPTY_ROW, nulls};
use serde::{Deserialize, Serialize};

/// Smallest and largest values, as rows, and counts of NULLs, of some columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Statistics {
    #[serde(rename = "_MIN_VALUES", with = "apache_avro::serde_avro_bytes")]
    min_values: Vec<u8>,
    #[serde(rename = "_MAX_VALUES", with = "apache_avro::serde_avro_bytes")]
    max_values: Vec<u8>,
    #[serde(rename = "_NULL_COUNTS", default)]
    null_counts: Option<Vec<Option<i64>>>,
}

impl Statistics {
    /// Nothing is known of any column. Readers then leave nothing out; a wrong bound would lose rows.
    pub(crate) fn unknown(columns: usize) -> Self {
        let row = nulls(columns);
        Self { min_values: row.clone(), max_values: row, null_counts: Some(vec![None; columns]) }
    }

    /// Bounds of columns that are never NULL.
    pub(crate) fn of_keys(min_values: Vec<u8>, max_values: Vec<u8>, columns: usize) -> Self {
        Self { min_values, max_values, null_counts: Some(vec![Some(0); columns]) }
    }
}

/// Whether a file came from a writer or from a compaction.
const SOURCE_APPEND: i32 = 0;
pub(crate) const SOURCE_COMPACT: i32 = 1;

/// One data file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileMeta {
    #[serde(rename = "_FILE_NAME")]
    pub file_name: String,
    #[serde(rename = "_FILE_SIZE")]
    pub file_size: i64,
    #[serde(rename = "_ROW_COUNT")]
    pub row_count: i64,
    #[serde(rename = "_MIN_KEY", with = "apache_avro::serde_avro_bytes")]
    pub min_key: Vec<u8>,
    #[serde(rename = "_MAX_KEY", with = "apache_avro::serde_avro_bytes")]
    pub max_key: Vec<u8>,
    #[serde(rename = "_KEY_STATS")]
    pub key_statistics: Statistics,
    #[serde(rename = "_VALUE_STATS")]
    pub value_statistics: Statistics,
    #[serde(rename = "_MIN_SEQUENCE_NUMBER")]
    pub min_sequence: i64,
    #[serde(rename = "_MAX_SEQUENCE_NUMBER")]
    pub max_sequence: i64,
    #[serde(rename = "_SCHEMA_ID")]
    pub schema_id: i64,
    #[serde(rename = "_LEVEL")]
    pub level: i32,
    #[serde(rename = "_EXTRA_FILES")]
    pub extra_files: Vec<String>,
    #[serde(rename = "_CREATION_TIME", default)]
    pub creation_time: Option<i64>,
    #[serde(rename = "_DELETE_ROW_COUNT", default)]
    pub delete_row_count: Option<i64>,
    #[serde(rename = "_EMBEDDED_FILE_INDEX", with = "apache_avro::serde_avro_bytes_opt", default)]
    pub embedded_index: Option<Vec<u8>>,
    #[serde(rename = "_FILE_SOURCE", default)]
    pub source: Option<i32>,
    #[serde(rename = "_VALUE_STATS_COLS", default)]
    pub value_statistics_columns: Option<Vec<String>>,
    #[serde(rename = "_EXTERNAL_PATH", default)]
    pub external_path: Option<String>,
    #[serde(rename = "_FIRST_ROW_ID", default)]
    pub first_row_id: Option<i64>,
    #[serde(rename = "_WRITE_COLS", default)]
    pub written_columns: Option<Vec<String>>,
}

impl FileMeta {
    /// A file of an append table: no keys, nothing known of its values.
    pub(crate) fn append(file_name: String, schema_id: i64) -> Self {
        Self {
            file_name,
            file_size: 0,
            row_count: 0,
            min_key: EMPTY_ROW.to_vec(),
            max_key: EMPTY_ROW.to_vec(),
            key_statistics: Statistics::unknown(0),
            value_statistics: Statistics::unknown(0),
            min_sequence: 0,
            max_sequence: 0,
            schema_id,
            level: 0,
            extra_files: Vec::new(),
            creation_time: None,
            delete_row_count: Some(0),
            embedded_index: None,
            source: Some(SOURCE_APPEND),
            value_statistics_columns: Some(Vec::new()),
            external_path: None,
            first_row_id: None,
            written_columns: None,
        }
    }
}
