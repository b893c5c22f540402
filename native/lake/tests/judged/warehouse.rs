//! A warehouse under test: tables, rounds, and the rows that a reader must find.

use crate::canonical;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, TimestampMillisecondArray};
use arrow_schema::Schema as ArrowSchema;
use serde_json::{Value, json};
use sluice_base::OsFs;
use sluice_lake::{
    AppendWriter, KeyedWriter, LakeBucket, LakeTable, LocalStorage, Round, Storage, SystemColumns, WrittenFiles, define,
};
use sluice_row::{ChangeKind, Column, DataType, Schema, TableDescriptor, TablePath, TypeRoot};
use sluice_testkit::ManualClock;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Commit time of all rows.
pub const TIMESTAMP_MS: i64 = 1_756_000_000_123;

/// Batches of one bucket in log order, with their kinds of change.
pub type Changes = Vec<(RecordBatch, Vec<ChangeKind>)>;

pub struct Warehouse {
    pub storage: Arc<dyn Storage>,
    pub tables: Vec<Judged>,
}

/// A table with what its readers must find.
pub struct Judged {
    pub table: LakeTable,
    pub types: Vec<DataType>,
    /// Next log offset by bucket.
    ends: BTreeMap<LakeBucket, i64>,
    rows: Vec<Vec<Value>>,
    /// Newest row by partition and key.
    keyed: BTreeMap<String, Vec<Value>>,
    /// All changes, with their kind in front.
    changes: Vec<Vec<Value>>,
    /// Readers that are not asked, and why.
    pub skip: BTreeMap<&'static str, &'static str>,
}

pub fn column(name: &str, data_type: DataType) -> Column {
    Column {
        name: name.to_owned(),
        data_type,
        comment: Some(format!("comment of {name}")),
        id: None,
        agg_function: None,
    }
}

pub fn nullable(root: TypeRoot) -> DataType {
    DataType::new(root)
}

/// A descriptor of `columns`; whoever calls adds keys.
pub fn descriptor(columns: Vec<Column>, primary_key: &[&str]) -> TableDescriptor {
    let mut schema = Schema::new(columns, primary_key.iter().map(|n| (*n).to_owned()).collect());
    schema
        .columns
        .iter_mut()
        .filter(|c| primary_key.contains(&c.name.as_str()))
        .for_each(|c| c.data_type.nullable = false);
    TableDescriptor {
        version: 1,
        schema,
        comment: Some("judged".to_owned()),
        partition_key: Vec::new(),
        bucket_key: primary_key.iter().map(|n| (*n).to_owned()).collect(),
        bucket_count: Some(1),
        properties: BTreeMap::new(),
        // The clock of these tests stands in the past: Paimon's own commits would expire what a streaming read begins with.
        custom_properties: BTreeMap::from([("paimon.snapshot.num-retained.min".to_owned(), "100".to_owned())]),
    }
}

impl Warehouse {
    pub fn new(root: &Path) -> Self {
        Self { storage: Arc::new(LocalStorage::new(Arc::new(OsFs), root)), tables: Vec::new() }
    }

    pub fn create(&mut self, name: &str, descriptor: &TableDescriptor, system: SystemColumns) -> &mut Judged {
        let clock = Arc::new(ManualClock::new(TIMESTAMP_MS));
        let schema = define(descriptor, system, TIMESTAMP_MS).unwrap();
        let path = TablePath::new("judged", name);
        let table = LakeTable::create(Arc::clone(&self.storage), clock, &path, schema).unwrap();
        let types = descriptor.schema.columns.iter().map(|c| c.data_type.clone()).collect();
        self.tables.push(Judged {
            table,
            types,
            ends: BTreeMap::new(),
            rows: Vec::new(),
            keyed: BTreeMap::new(),
            changes: Vec::new(),
            skip: BTreeMap::new(),
        });
        self.tables.last_mut().unwrap()
    }

    /// What each table must hold, for readers in other languages.
    pub fn expectations(&self) -> Value {
        let table = |judged: &Judged| {
            let columns: Vec<&str> = judged.table.schema().schema.columns.iter().map(|c| c.name.as_str()).collect();
            let keyed = !judged.table.schema().schema.primary_key.is_empty();
            let changes = keyed.then_some(&judged.changes);
            let name = &judged.table.path().table;
            json!({"name": name, "columns": columns, "rows": judged.expected(), "changes": changes, "skip": judged.skip})
        };
        self.tables.iter().map(table).collect()
    }
}

impl Judged {
    /// One round: for each bucket its batches in log order, with kinds for a primary-key table.
    pub fn round(&mut self, buckets: Vec<(LakeBucket, Changes)>) {
        let table = self.table.clone();
        let mut round = Round::new(&table, "judge");
        for (bucket, batches) in buckets {
            let start = self.ends.get(&bucket).copied();
            let first = start.unwrap_or(0);
            let (files, end) = self.write(&table, bucket.bucket, first, &batches);
            self.ends.insert(bucket.clone(), end);
            round.add(bucket, start, first..end, files);
        }
        round.commit().unwrap();
    }

    fn write(
        &mut self,
        table: &LakeTable,
        bucket: i32,
        first: i64,
        batches: &[(RecordBatch, Vec<ChangeKind>)],
    ) -> (WrittenFiles, i64) {
        let keyed = !table.schema().schema.primary_key.is_empty();
        let mut append = AppendWriter::new(table, bucket);
        let mut upsert = KeyedWriter::new(table, bucket);
        let mut offset = first;
        for (batch, kinds) in batches {
            let stored = self.with_system_columns(batch, offset);
            let rows = (0..batch.num_rows()).map(|row| canonical::row(&stored, row));
            if keyed {
                kinds.iter().zip(rows).for_each(|(kind, values)| self.change(*kind, values));
            } else {
                self.rows.extend(rows);
            }
            if keyed {
                upsert.write(batch, kinds, offset, TIMESTAMP_MS).unwrap();
            } else {
                append.write(batch, offset, TIMESTAMP_MS).unwrap();
            }
            offset += batch.num_rows() as i64;
        }
        (if keyed { upsert.finish() } else { append.finish() }.unwrap(), offset)
    }

    fn change(&mut self, kind: ChangeKind, values: Vec<Value>) {
        let schema = &self.table.schema().schema;
        let key: Vec<&Value> = schema.primary_key_indexes().into_iter().map(|i| &values[i]).collect();
        let key = serde_json::to_string(&key).unwrap();
        let name = match kind {
            ChangeKind::Append | ChangeKind::Insert => "+I",
            ChangeKind::UpdateBefore => "-U",
            ChangeKind::UpdateAfter => "+U",
            ChangeKind::Delete => "-D",
        };
        self.changes.push([vec![json!(name)], values.clone()].concat());
        match kind {
            ChangeKind::UpdateBefore | ChangeKind::Delete => self.keyed.remove(&key),
            _ => self.keyed.insert(key, values),
        };
    }

    fn with_system_columns(&self, batch: &RecordBatch, first: i64) -> RecordBatch {
        let count = batch.num_rows();
        let mut columns = batch.columns().to_vec();
        if self.table.schema().schema.columns.len() > columns.len() {
            columns.push(Arc::new(Int64Array::from_iter_values(first..first + count as i64)) as ArrayRef);
            columns.push(Arc::new(TimestampMillisecondArray::from_value(TIMESTAMP_MS, count)));
        }
        let field = |(i, c): (usize, &ArrayRef)| arrow_schema::Field::new(format!("c{i}"), c.data_type().clone(), true);
        let schema = ArrowSchema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>());
        RecordBatch::try_new(Arc::new(schema), columns).unwrap()
    }

    /// The rows that the table must hold, in any order.
    pub fn expected(&self) -> Vec<Vec<Value>> {
        self.rows.iter().chain(self.keyed.values()).cloned().collect()
    }

    /// How far each bucket must be.
    pub const fn ends(&self) -> &BTreeMap<LakeBucket, i64> {
        &self.ends
    }
}

/// A bucket of a table without partitions.
pub const fn bucket(bucket: i32) -> LakeBucket {
    LakeBucket { partition: None, bucket }
}
