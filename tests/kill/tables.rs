//! The tables under test: all have the columns `k INT, writer INT, life INT, seq BIGINT, text STRING`, so that each row says who wrote it
//! as which one of its rows. Short ways to make, write and read them; every reading gives the store's own error.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema as ArrowSchema};
use sluice_api::{
    Connection, LookupOptions, OffsetSpec, ScanBatch, ScanOptions, ScanSplit, ScanStart, WriteOptions, Writer,
};
use sluice_base::{Offset, Result, TableBucket, TableId};
use sluice_row::{ChangeKind, Column, DataType, Schema, TableDescriptor, TablePath, TypeRoot};
use sluice_store::LocalStore;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Long enough for a busy machine, short enough to notice a hang.
pub const WAIT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub k: i32,
    pub writer: i32,
    pub life: i32,
    pub seq: i64,
    pub text: String,
}

/// One row of a log as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub kind: ChangeKind,
    pub offset: Offset,
    pub row: Row,
}

pub fn options(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

/// Closed segments and rows are copied to a directory of this name in the store's, all the time, once it is there.
pub const PLACE: &str = "place";

pub fn open(dir: &Path, settings: &[(&str, &str)]) -> Result<LocalStore> {
    let mut all = options(settings);
    let place = dir.join(PLACE);
    if place.is_dir() {
        all.extend(with_copies(&place));
    }
    LocalStore::open_shared(dir, &all)
}

/// The options of a store that copies itself to a place.
pub fn with_copies(place: &Path) -> BTreeMap<String, String> {
    let mut all = options(&[
        ("remote.log.task-interval-duration", "20ms"),
        ("remote.log.roll-interval", "100ms"),
        ("kv.snapshot.interval", "200ms"),
    ]);
    all.insert("remote.data.dir".to_owned(), place.display().to_string());
    all
}

pub fn path(table: &str) -> TablePath {
    TablePath::new("fluss", table)
}

/// A table with a primary key `k`, or a log whose rows go by `k` (`keyed`) or batch by batch in turn.
pub fn descriptor(primary_key: bool, keyed: bool, buckets: i32) -> TableDescriptor {
    let column = |name: &str, root| Column {
        name: name.to_owned(),
        data_type: DataType::new(root),
        comment: None,
        id: None,
        agg_function: None,
    };
    let columns = vec![
        column("k", TypeRoot::Int),
        column("writer", TypeRoot::Int),
        column("life", TypeRoot::Int),
        column("seq", TypeRoot::BigInt),
        column("text", TypeRoot::String),
    ];
    let key = |yes: bool| if yes { vec!["k".to_owned()] } else { Vec::new() };
    TableDescriptor {
        version: 1,
        schema: Schema::new(columns, key(primary_key)),
        comment: None,
        partition_key: Vec::new(),
        bucket_key: key(keyed || primary_key),
        bucket_count: Some(buckets),
        properties: BTreeMap::new(),
        custom_properties: BTreeMap::new(),
    }
}

pub fn batch(rows: &[Row]) -> RecordBatch {
    let ints = |of: fn(&Row) -> i32| -> ArrayRef { Arc::new(Int32Array::from_iter_values(rows.iter().map(of))) };
    let columns: [(&str, ArrayRef); 5] = [
        ("k", ints(|r| r.k)),
        ("writer", ints(|r| r.writer)),
        ("life", ints(|r| r.life)),
        ("seq", Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.seq)))),
        ("text", Arc::new(StringArray::from_iter_values(rows.iter().map(|r| &r.text)))),
    ];
    let fields: Vec<Field> = columns.iter().map(|(n, c)| Field::new(*n, c.data_type().clone(), true)).collect();
    let columns = columns.into_iter().map(|(_, c)| c).collect();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns).unwrap()
}

fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let ints = |i: usize| batch.column(i).as_primitive::<Int32Type>();
    let (k, writer, life) = (ints(0), ints(1), ints(2));
    let (seq, text) = (batch.column(3).as_primitive::<Int64Type>(), batch.column(4).as_string::<i32>());
    let row = |i: usize| Row {
        k: k.value(i),
        writer: writer.value(i),
        life: life.value(i),
        seq: seq.value(i),
        text: text.value(i).to_owned(),
    };
    (0..batch.num_rows()).map(row).collect()
}

/// One table of an open store.
pub struct Table<'a> {
    pub store: &'a LocalStore,
    pub path: TablePath,
    pub id: TableId,
    pub buckets: i32,
}

impl<'a> Table<'a> {
    pub fn of(store: &'a LocalStore, name: &str) -> Result<Self> {
        let info = store.table(&path(name))?;
        Ok(Self { store, path: path(name), id: TableId(info.table_id), buckets: info.bucket_count() })
    }

    pub fn create(store: &'a LocalStore, name: &str, descriptor: &TableDescriptor) -> Result<Self> {
        store.create_table(&path(name), descriptor, true)?;
        Self::of(store, name)
    }

    pub fn bucket(&self, bucket: i32) -> TableBucket {
        TableBucket { table: self.id, partition: None, bucket }
    }

    pub fn all_buckets(&self) -> Vec<TableBucket> {
        (0..self.buckets).map(|b| self.bucket(b)).collect()
    }

    pub fn writer(&self) -> Result<Box<dyn Writer>> {
        self.store.writer(&self.path, &WriteOptions::default())
    }

    /// Ends of all buckets as readers see them.
    pub fn ends(&self) -> Result<Vec<Offset>> {
        self.store.list_offsets(&self.all_buckets(), OffsetSpec::Latest)
    }

    pub fn end(&self, bucket: i32) -> Result<Offset> {
        Ok(self.store.list_offsets(&[self.bucket(bucket)], OffsetSpec::Latest)?[0])
    }

    /// All batches of a split that ends.
    pub fn batches(&self, bucket: i32, start: ScanStart, stop: Option<Offset>) -> Result<Vec<ScanBatch>> {
        let scanner =
            self.store.scanner(&self.path, &ScanOptions { projection: None, batch_rows_max: 500, filter: None })?;
        scanner.subscribe(ScanSplit { id: 0, bucket: self.bucket(bucket), start, stop })?;
        let mut batches = Vec::new();
        loop {
            let batch = scanner.poll(WAIT)?.expect("a bounded split gives something");
            let finished = batch.finished;
            batches.push(batch);
            if finished {
                return Ok(batches);
            }
        }
    }

    /// The log of a bucket from an offset to the end that readers see.
    pub fn log_from(&self, bucket: i32, from: Offset) -> Result<Vec<Event>> {
        let end = self.end(bucket)?;
        Ok(events(&self.batches(bucket, ScanStart::Log { offset: from }, Some(end))?))
    }

    /// The current rows of a bucket.
    pub fn current(&self, bucket: i32) -> Result<BTreeMap<i32, Row>> {
        let batches = self.batches(bucket, ScanStart::Current, None)?;
        Ok(batches.iter().flat_map(|b| rows_of(&b.rows)).map(|r| (r.k, r)).collect())
    }

    /// The rows of a snapshot and the log behind it up to the end.
    pub fn snapshot(&self, bucket: i32, snapshot: u64) -> Result<(BTreeMap<i32, Row>, Vec<Event>)> {
        let stop = Some(self.end(bucket)?);
        let batches = self.batches(bucket, ScanStart::Snapshot { snapshot, skip_rows: 0 }, stop)?;
        let (rows, log): (Vec<_>, Vec<_>) = batches.into_iter().partition(|b| b.base_offset < 0);
        Ok((rows.iter().flat_map(|b| rows_of(&b.rows)).map(|r| (r.k, r)).collect(), events(&log)))
    }

    /// Rows by key.
    pub fn get(&self, keys: &[i32]) -> Result<Vec<Option<Row>>> {
        let options = LookupOptions { key_columns: vec!["k".to_owned()], projection: None };
        let lookup = self.store.lookup(&self.path, &options)?;
        let column: ArrayRef = Arc::new(Int32Array::from(keys.to_vec()));
        let found = lookup.lookup(&RecordBatch::try_from_iter([("k", column)]).unwrap())?;
        let rows = rows_of(&found.rows);
        let mut start = 0;
        let one = |end: &u32| {
            let range = start..*end as usize;
            start = *end as usize;
            assert!(range.len() < 2, "one key has one row at most");
            rows.get(range).and_then(<[Row]>::first).cloned()
        };
        Ok(found.ends.iter().map(one).collect())
    }

    pub fn row_count(&self) -> Result<Option<i64>> {
        Ok(self.store.table_stats(&self.path)?.row_count)
    }
}

pub fn events(batches: &[ScanBatch]) -> Vec<Event> {
    let rows = batches.iter().flat_map(|b| {
        let kinds = b.kinds.clone().unwrap_or_else(|| vec![ChangeKind::Append; b.rows.num_rows()]);
        assert_eq!(kinds.len(), b.rows.num_rows(), "a kind for each row");
        let rows = kinds.into_iter().zip(b.base_offset..).zip(rows_of(&b.rows));
        rows.map(|((kind, offset), row)| Event { kind, offset, row }).collect::<Vec<_>>()
    });
    rows.collect()
}
