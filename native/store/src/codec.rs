//! The encoders of a table's rows, keys and bucket keys, made once per schema.

use crate::TableMeta;
use crate::packed::Packed;
use crate::values::{start_value, types};
use arrow_array::{ArrayRef, RecordBatch};
use sluice_base::{Error, Result, SchemaId};
use sluice_row::{ChangeKind, DataType, KeyEncoder, KeyFormat, RowEncoder};

/// Bucket keys have this encoding whatever the primary key's is.
const BUCKET_KEY_FORMAT: KeyFormat = KeyFormat::Paimon;

/// Encodes rows of one schema of a table.
#[derive(Debug)]
pub(crate) struct TableCodec {
    schema: SchemaId,
    rows: RowEncoder,
    key: Option<KeyEncoder>,
    key_columns: Vec<usize>,
    bucket_key: Option<KeyEncoder>,
    bucket_columns: Vec<usize>,
    /// Whether the primary key's bytes are the bucket key's too.
    one_key: bool,
}

/// Some columns of a batch, in the order of their positions.
pub(crate) fn pick(columns: &[ArrayRef], positions: &[usize]) -> Result<Vec<ArrayRef>> {
    let pick = |i: &usize| columns.get(*i).cloned().ok_or_else(|| Error::internal(format!("there is no column {i}")));
    positions.iter().map(pick).collect()
}

fn encoder(format: KeyFormat, all: &[DataType], positions: &[usize]) -> Result<Option<KeyEncoder>> {
    if positions.is_empty() {
        return Ok(None);
    }
    let types: Vec<DataType> = positions.iter().filter_map(|i| all.get(*i).cloned()).collect();
    KeyEncoder::new(format, &types).map(Some)
}

impl TableCodec {
    /// The codec of one of the table's schemas. Key columns have the same positions in all of them.
    ///
    /// # Errors
    /// `Corrupt` when the catalog does not know the schema.
    pub(crate) fn new(meta: &TableMeta, schema: SchemaId) -> Result<Self> {
        let columns = meta.schemas.get(&schema).ok_or_else(|| {
            Error::corrupt(format!(
                "a log batch of table {} has schema {}, which the catalog does not know",
                meta.path, schema.0
            ))
        })?;
        let types = types(columns);
        let (key_columns, bucket_columns) = (meta.row_key.clone(), meta.bucket_key.clone());
        Ok(Self {
            schema,
            rows: RowEncoder::new(&types),
            key: encoder(meta.key_format, &types, &key_columns)?,
            bucket_key: encoder(BUCKET_KEY_FORMAT, &types, &bucket_columns)?,
            one_key: meta.key_format == BUCKET_KEY_FORMAT && key_columns == bucket_columns,
            key_columns,
            bucket_columns,
        })
    }

    pub(crate) fn schema(&self) -> SchemaId {
        self.schema
    }

    /// Encodes keys, one a row; old images (`UpdateBefore`) have none.
    pub(crate) fn encode_keys(
        &self,
        columns: &[ArrayRef],
        kinds: &[ChangeKind],
        count: usize,
        keys: &mut Packed,
    ) -> Result<()> {
        keys.clear();
        let Some(key) = &self.key else { return Err(Error::internal("a log table has no keys")) };
        let key_columns = pick(columns, &self.key_columns)?;
        let bound = key.bind(&key_columns)?;
        for row in 0..count {
            if kinds.get(row) != Some(&ChangeKind::UpdateBefore) {
                bound.encode(row, keys.open())?;
            }
            keys.close();
        }
        Ok(())
    }

    /// Encodes keys and values, one each a row; values of deletes stay empty, old images (`UpdateBefore`) have neither.
    pub(crate) fn encode(
        &self,
        columns: &[ArrayRef],
        kinds: &[ChangeKind],
        count: usize,
        keys: &mut Packed,
        values: &mut Packed,
    ) -> Result<()> {
        self.encode_keys(columns, kinds, count, keys)?;
        values.clear();
        let bound = self.rows.bind(columns)?;
        for row in 0..count {
            if !matches!(kinds.get(row), Some(ChangeKind::UpdateBefore | ChangeKind::Delete)) {
                start_value(self.schema, values.open());
                bound.encode(row, values.open());
            }
            values.close();
        }
        Ok(())
    }

    /// The bucket of each row among `count`, into `out`. `keys` are the primary keys if they are encoded already.
    pub(crate) fn buckets(
        &self,
        meta: &TableMeta,
        rows: &RecordBatch,
        keys: Option<&Packed>,
        count: i32,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        out.clear();
        let place = |bytes: &[u8]| u32::try_from(meta.bucket_function.bucket(bytes, count)).unwrap_or(0);
        if count < 2 {
            out.resize(rows.num_rows(), 0);
            return Ok(());
        }
        if let (true, Some(keys)) = (self.one_key, keys) {
            out.extend((0..rows.num_rows()).map(|row| place(keys.get(row))));
            return Ok(());
        }
        let Some(bucket_key) = &self.bucket_key else { return Err(Error::internal("the table has no bucket key")) };
        let columns = pick(rows.columns(), &self.bucket_columns)?;
        let bound = bucket_key.bind(&columns)?;
        let mut bytes = Vec::new();
        for row in 0..rows.num_rows() {
            bytes.clear();
            bound.encode(row, &mut bytes)?;
            out.push(place(&bytes));
        }
        Ok(())
    }

    /// The first row of more than `bytes_max` bytes, and its size.
    pub(crate) fn oversized(
        &self,
        columns: &[ArrayRef],
        count: usize,
        bytes_max: usize,
    ) -> Result<Option<(usize, usize)>> {
        let bound = self.rows.bind(columns)?;
        let mut scratch = Vec::new();
        for row in 0..count {
            scratch.clear();
            bound.encode(row, &mut scratch);
            if scratch.len() > bytes_max {
                return Ok(Some((row, scratch.len())));
            }
        }
        Ok(None)
    }
}
