//! A table as its writers and readers need it: its description, its schemas, and how its keys and rows are encoded.

use crate::cluster::{Cluster, To, wire_path};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use sluice_api::TableInfo;
use sluice_base::{Error, Result, SchemaId, Subject, TableId};
use sluice_log::{Compression, ZstdLevel};
use sluice_row::{BucketFunction, DataType, KeyEncoder, KeyFormat, Schema, TablePath, arrow_schema};
use sluice_wire::message::{GetTableInfoRequest, GetTableInfoResponse, GetTableSchemaRequest, GetTableSchemaResponse};
use sluice_wire::{ApiKey, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Properties that a server adds for clients that read its lake.
const LAKE_CATALOG_PREFIX: &str = "table.datalake.paimon.";

/// A table that is in use.
#[derive(Debug)]
pub(crate) struct RemoteTable {
    pub(crate) info: TableInfo,
    pub(crate) arrow: SchemaRef,
    pub(crate) key_format: KeyFormat,
    pub(crate) bucket_format: KeyFormat,
    pub(crate) bucket_function: BucketFunction,
    pub(crate) compression: Compression,
    /// Positions of the columns, as the names in the description say.
    pub(crate) primary_key: Vec<usize>,
    pub(crate) row_key: Vec<usize>,
    pub(crate) partition_key: Vec<usize>,
    pub(crate) bucket_key: Vec<usize>,
    schemas: Mutex<BTreeMap<SchemaId, Arc<Stored>>>,
}

/// One of a table's schemas.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) arrow: SchemaRef,
    pub(crate) types: Vec<DataType>,
}

impl Stored {
    fn of(schema: &Schema) -> Arc<Self> {
        let types = schema.columns.iter().map(|c| c.data_type.clone()).collect();
        Arc::new(Self { arrow: arrow_schema(schema), types })
    }
}

/// What a server tells of a table.
pub(crate) fn info(cluster: &Cluster, path: &TablePath) -> Result<TableInfo> {
    let request = GetTableInfoRequest { table_path: wire_path(path) };
    let told: GetTableInfoResponse = cluster.block_on(cluster.ask(To::Any, ApiKey::GetTableInfo, &request))?;
    let mut descriptor = json::table(&told.table_json)?;
    descriptor.properties.retain(|key, _| !key.starts_with(LAKE_CATALOG_PREFIX));
    cluster.note_path(TableId(told.table_id), path);
    Ok(TableInfo {
        path: path.clone(),
        table_id: told.table_id,
        schema_id: i16::try_from(told.schema_id).unwrap_or(i16::MAX),
        descriptor,
        created_ms: told.created_time,
        modified_ms: told.modified_time,
    })
}

fn unsupported(path: &TablePath, what: &str) -> Error {
    Error::unsupported(Subject::Table, format!("table {path} {what}"))
}

/// Encoding of bucket keys and the function over them, which follow from the format of the lake.
fn bucketing(path: &TablePath, properties: &BTreeMap<String, String>) -> Result<(KeyFormat, BucketFunction)> {
    match properties.get("table.datalake.format").map_or("", |v| v.trim()).to_ascii_lowercase().as_str() {
        "paimon" => Ok((KeyFormat::Paimon, BucketFunction::Paimon)),
        "" | "lance" => Ok((KeyFormat::Compacted, BucketFunction::Fluss)),
        other => {
            Err(unsupported(path, &format!("flows into a lake of format '{other}', whose buckets are not known here")))
        }
    }
}

fn compression(properties: &BTreeMap<String, String>) -> Compression {
    match properties.get("table.log.arrow.compression.type").map_or("ZSTD", |v| v.trim()).to_ascii_uppercase().as_str()
    {
        "NONE" => Compression::None,
        "LZ4_FRAME" => Compression::Lz4Frame,
        _ => {
            let level = properties.get("table.log.arrow.compression.zstd.level");
            Compression::Zstd(level.and_then(|v| v.trim().parse().ok()).and_then(ZstdLevel::new).unwrap_or_default())
        }
    }
}

impl RemoteTable {
    /// Looks a table up.
    ///
    /// # Errors
    /// `NotFound` about `Table`; `Unsupported` about `Table` for a form of rows that is not read here.
    pub(crate) fn open(cluster: &Cluster, path: &TablePath) -> Result<Self> {
        let info = info(cluster, path)?;
        let descriptor = &info.descriptor;
        let properties = &descriptor.properties;
        let form = |key: &str, known: &str| match properties.get(key).map(|v| v.trim()) {
            Some(other) if !other.eq_ignore_ascii_case(known) => {
                Err(unsupported(path, &format!("has '{key}' = '{other}'; only {known} can be read and written here")))
            }
            _ => Ok(()),
        };
        form("table.log.format", "ARROW")?;
        if info.has_primary_key() {
            form("table.kv.format", "COMPACTED")?;
        }
        let schema = &descriptor.schema;
        let position = |name: &String| {
            schema.index_of(name).ok_or_else(|| Error::corrupt(format!("table {path}: key column '{name}' is missing")))
        };
        let positions = |names: &[String]| names.iter().map(position).collect::<Result<Vec<_>>>();
        let (primary_key, partition_key) = (positions(&schema.primary_key)?, positions(&descriptor.partition_key)?);
        let row_key: Vec<usize> = primary_key.iter().copied().filter(|i| !partition_key.contains(i)).collect();
        let mut bucket_key = positions(&descriptor.bucket_key)?;
        if bucket_key.is_empty() {
            bucket_key.clone_from(&row_key);
        }
        let (bucket_format, bucket_function) = bucketing(path, properties)?;
        let version = properties.get("table.kv.format-version").map_or("1", |v| v.trim());
        let key_format = if version == "1" || bucket_key == row_key { bucket_format } else { KeyFormat::Compacted };
        let arrow = arrow_schema(schema);
        let schemas = Mutex::new(BTreeMap::from([(SchemaId(info.schema_id), Stored::of(schema))]));
        let compression = compression(properties);
        Ok(Self {
            arrow,
            key_format,
            bucket_format,
            bucket_function,
            compression,
            primary_key,
            row_key,
            partition_key,
            bucket_key,
            schemas,
            info,
        })
    }

    pub(crate) fn path(&self) -> &TablePath {
        &self.info.path
    }

    pub(crate) const fn id(&self) -> TableId {
        TableId(self.info.table_id)
    }

    pub(crate) const fn schema_id(&self) -> SchemaId {
        SchemaId(self.info.schema_id)
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.info.descriptor.schema
    }

    pub(crate) fn types(&self) -> Vec<DataType> {
        self.schema().columns.iter().map(|c| c.data_type.clone()).collect()
    }

    pub(crate) fn has_primary_key(&self) -> bool {
        !self.primary_key.is_empty()
    }

    pub(crate) fn is_partitioned(&self) -> bool {
        !self.partition_key.is_empty()
    }

    /// An encoder of some columns as a key.
    pub(crate) fn key_encoder(&self, format: KeyFormat, positions: &[usize]) -> Result<KeyEncoder> {
        let columns = &self.schema().columns;
        let types: Vec<DataType> =
            positions.iter().filter_map(|i| columns.get(*i)).map(|c| c.data_type.clone()).collect();
        KeyEncoder::new(format, &types)
    }

    /// One of its schemas; one that is not known yet is asked for.
    ///
    /// # Errors
    /// `Corrupt` when the server does not know it either; what asking gives.
    pub(crate) fn stored(&self, cluster: &Cluster, id: SchemaId) -> Result<Arc<Stored>> {
        if let Some(known) = self.schemas.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            return Ok(known.clone());
        }
        let request = GetTableSchemaRequest { table_path: wire_path(self.path()), schema_id: Some(i32::from(id.0)) };
        let told: GetTableSchemaResponse = cluster
            .block_on(cluster.ask(To::Any, ApiKey::GetTableSchema, &request))
            .map_err(|r| r.error.context(format_args!("schema {} of table {}", id.0, self.path())))?;
        let stored = Stored::of(&json::schema(&told.schema_json)?);
        self.schemas.lock().unwrap_or_else(PoisonError::into_inner).insert(id, stored.clone());
        Ok(stored)
    }
}

/// A batch of these columns, which may be none.
pub(crate) fn batch_of(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|e| Error::corrupt(format!("columns do not fit their schema: {e}")))
}

/// Some columns of a batch, in the order of their positions.
pub(crate) fn pick(columns: &[ArrayRef], positions: &[usize]) -> Result<Vec<ArrayRef>> {
    let pick = |i: &usize| columns.get(*i).cloned().ok_or_else(|| Error::internal(format!("there is no column {i}")));
    positions.iter().map(pick).collect()
}
