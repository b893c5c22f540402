//! Stores in temporary directories, tables `id INT, name STRING, amount INT`, and short ways to write and read them.

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType as ArrowType, Field, Schema as ArrowSchema};
use sluice_api::{
    Connection, LookupOptions, OffsetSpec, ScanBatch, ScanOptions, ScanSplit, ScanStart, Scanner, WriteOptions, Writer,
};
use sluice_base::{Error, ErrorKind, Fs, Offset, OsFs, Result, Subject, TableBucket, TableId};
use sluice_row::{ChangeKind, Column, DataType, Schema, TableDescriptor, TablePath, TypeRoot};
use sluice_store::{LocalStore, Settings};
use sluice_testkit::ManualClock;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub const WAIT: Duration = Duration::from_secs(20);

/// A row of the test table.
pub type Row = (i32, Option<String>, Option<i32>);

pub fn row(id: i32, name: &str, amount: i32) -> Row {
    (id, Some(name.to_owned()), Some(amount))
}

pub struct Home {
    pub store: LocalStore,
    pub dir: tempfile::TempDir,
    pub clock: Arc<ManualClock>,
    fs: Arc<dyn Fs>,
    settings: BTreeMap<String, String>,
}

pub fn home() -> Home {
    Home::with(Arc::new(OsFs), &[])
}

pub fn options(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

impl Home {
    pub fn with(fs: Arc<dyn Fs>, settings: &[(&str, &str)]) -> Self {
        Self::at(tempfile::tempdir().unwrap(), fs, settings)
    }

    /// A store over what is in a directory already.
    pub fn at(dir: tempfile::TempDir, fs: Arc<dyn Fs>, settings: &[(&str, &str)]) -> Self {
        let clock = Arc::new(ManualClock::new(1_000_000));
        let settings = options(settings);
        let store = open(dir.path(), fs.clone(), clock.clone(), &settings);
        Self { store, dir, clock, fs, settings }
    }

    /// Closes the store and opens it again.
    pub fn reopen(mut self) -> Self {
        self.store.close().unwrap();
        self.store = open(self.dir.path(), self.fs.clone(), self.clock.clone(), &self.settings);
        self
    }

    /// A second store over what a kill of the process would leave now; nothing may be in flight.
    pub fn killed(&self) -> Self {
        // RocksDB takes files away when it likes to: then the copy is made anew.
        let dir = loop {
            let dir = tempfile::tempdir().unwrap();
            match copy_tree(self.dir.path(), dir.path()) {
                Ok(()) => break dir,
                Err(e) => assert_eq!(e.kind(), std::io::ErrorKind::NotFound, "{e}"),
            }
        };
        let fs: Arc<dyn Fs> = Arc::new(OsFs);
        let store = open(dir.path(), fs.clone(), self.clock.clone(), &self.settings);
        Self { store, dir, clock: self.clock.clone(), fs, settings: self.settings.clone() }
    }

    pub fn create(&self, table: &str, descriptor: &TableDescriptor) -> Table<'_> {
        self.store.create_table(&path(table), descriptor, false).unwrap();
        self.table(table)
    }

    pub fn table(&self, table: &str) -> Table<'_> {
        let info = self.store.table(&path(table)).unwrap();
        Table { store: &self.store, path: path(table), id: TableId(info.table_id), buckets: info.bucket_count() }
    }
}

fn open(dir: &Path, fs: Arc<dyn Fs>, clock: Arc<ManualClock>, settings: &BTreeMap<String, String>) -> LocalStore {
    LocalStore::open(dir, fs, clock, Settings::from_options(settings).unwrap()).unwrap()
}

pub fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

pub fn path(table: &str) -> TablePath {
    TablePath::new("fluss", table)
}

pub fn column(name: &str, root: TypeRoot) -> Column {
    Column { name: name.to_owned(), data_type: DataType::new(root), comment: None, id: None, agg_function: None }
}

/// Columns `id INT, name STRING, amount INT`; keyed by `id` or without a key.
pub fn descriptor(keyed: bool) -> TableDescriptor {
    let columns = vec![column("id", TypeRoot::Int), column("name", TypeRoot::String), column("amount", TypeRoot::Int)];
    of(columns, if keyed { &["id"] } else { &[] })
}

pub fn of(columns: Vec<Column>, primary_key: &[&str]) -> TableDescriptor {
    TableDescriptor {
        version: 1,
        schema: Schema::new(columns, primary_key.iter().map(|s| (*s).to_owned()).collect()),
        comment: None,
        partition_key: Vec::new(),
        bucket_key: Vec::new(),
        bucket_count: None,
        properties: BTreeMap::new(),
        custom_properties: BTreeMap::new(),
    }
}

pub fn buckets(mut descriptor: TableDescriptor, count: i32, key: &[&str]) -> TableDescriptor {
    descriptor.bucket_count = Some(count);
    descriptor.bucket_key = key.iter().map(|s| (*s).to_owned()).collect();
    descriptor
}

pub fn batch(rows: &[Row]) -> RecordBatch {
    let ids: Int32Array = rows.iter().map(|r| Some(r.0)).collect();
    let names: StringArray = rows.iter().map(|r| r.1.as_deref()).collect();
    let amounts: Int32Array = rows.iter().map(|r| r.2).collect();
    columns(vec![("id", Arc::new(ids)), ("name", Arc::new(names)), ("amount", Arc::new(amounts))])
}

pub fn columns(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> = columns.iter().map(|(n, c)| Field::new(*n, c.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns.into_iter().map(|(_, c)| c).collect()).unwrap()
}

pub fn ints(values: &[Option<i32>]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

pub fn strings(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

pub fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let (ids, names, amounts) = (
        batch.column(0).as_primitive::<Int32Type>(),
        batch.column(1).as_string::<i32>(),
        batch.column(2).as_primitive::<Int32Type>(),
    );
    let row = |i: usize| {
        (
            ids.value(i),
            names.is_valid(i).then(|| names.value(i).to_owned()),
            amounts.is_valid(i).then(|| amounts.value(i)),
        )
    };
    (0..batch.num_rows()).map(row).collect()
}

/// One table of a store.
pub struct Table<'a> {
    pub store: &'a dyn Connection,
    pub path: TablePath,
    pub id: TableId,
    pub buckets: i32,
}

/// What a scan read: kind (`Append` where the scanner says none), offset, row.
pub type Read = (ChangeKind, Offset, Row);

impl Table<'_> {
    pub fn bucket(&self, bucket: i32) -> TableBucket {
        TableBucket { table: self.id, partition: None, bucket }
    }

    pub fn writer(&self) -> Box<dyn Writer> {
        self.store.writer(&self.path, &WriteOptions::default()).unwrap()
    }

    /// Writes upserts or appends and waits until they are visible.
    pub fn put(&self, rows: &[Row]) {
        let mut writer = self.writer();
        writer.write(&batch(rows), &[]).unwrap();
        writer.flush(WAIT).unwrap();
    }

    pub fn delete(&self, ids: &[i32]) {
        let rows: Vec<Row> = ids.iter().map(|id| (*id, None, None)).collect();
        let mut writer = self.writer();
        writer.write(&batch(&rows), &vec![ChangeKind::Delete; ids.len()]).unwrap();
        writer.flush(WAIT).unwrap();
    }

    pub fn offset(&self, bucket: i32, spec: OffsetSpec) -> Offset {
        self.store.list_offsets(&[self.bucket(bucket)], spec).unwrap()[0]
    }

    pub fn end(&self, bucket: i32) -> Offset {
        self.offset(bucket, OffsetSpec::Latest)
    }

    pub fn scanner(&self, projection: Option<&[usize]>) -> Box<dyn Scanner> {
        let options = ScanOptions { projection: projection.map(<[usize]>::to_vec), batch_rows_max: 1000, filter: None };
        self.store.scanner(&self.path, &options).unwrap()
    }

    pub fn split(&self, bucket: i32, start: ScanStart, stop: Option<Offset>) -> ScanSplit {
        ScanSplit { id: u32::try_from(bucket).unwrap(), bucket: self.bucket(bucket), start, stop }
    }

    /// All batches of a bounded split.
    pub fn batches(
        &self,
        bucket: i32,
        projection: Option<&[usize]>,
        start: ScanStart,
        stop: Option<Offset>,
    ) -> Vec<ScanBatch> {
        let scanner = self.scanner(projection);
        scanner.subscribe(self.split(bucket, start, stop)).unwrap();
        finish(scanner.as_ref()).unwrap()
    }

    /// The log of a bucket from an offset to its end.
    pub fn log_from(&self, bucket: i32, from: Offset) -> Vec<Read> {
        let end = self.end(bucket);
        read(&self.batches(bucket, None, ScanStart::Log { offset: from }, Some(end)))
    }

    pub fn log(&self) -> Vec<Read> {
        (0..self.buckets).flat_map(|b| self.log_from(b, 0)).collect()
    }

    /// Kinds and rows of the log.
    pub fn changes(&self) -> Vec<(ChangeKind, Row)> {
        self.log().into_iter().map(|(kind, _, row)| (kind, row)).collect()
    }

    pub fn current(&self) -> BTreeMap<i32, Row> {
        let buckets = (0..self.buckets).flat_map(|b| self.batches(b, None, ScanStart::Current, None));
        buckets.flat_map(|b| rows_of(&b.rows)).map(|r| (r.0, r)).collect()
    }

    pub fn get(&self, ids: &[Option<i32>]) -> Vec<Option<Row>> {
        let options = LookupOptions { key_columns: vec!["id".to_owned()], projection: None };
        let lookup = self.store.lookup(&self.path, &options).unwrap();
        let found = lookup.lookup(&columns(vec![("id", ints(ids))])).unwrap();
        let rows = rows_of(&found.rows);
        let mut start = 0;
        let one = |end: &u32| {
            let range = start..*end as usize;
            start = *end as usize;
            assert!(range.len() < 2, "one key has one row at most");
            rows.get(range).and_then(<[Row]>::first).cloned()
        };
        found.ends.iter().map(one).collect()
    }
}

/// Polls until a split ends.
pub fn finish(scanner: &dyn Scanner) -> Result<Vec<ScanBatch>> {
    let mut batches = Vec::new();
    loop {
        let batch = scanner.poll(WAIT)?.expect("a bounded split ends");
        let finished = batch.finished;
        batches.push(batch);
        if finished {
            return Ok(batches);
        }
    }
}

/// The rows of some batches; offsets follow one another within a batch.
pub fn read(batches: &[ScanBatch]) -> Vec<Read> {
    let rows = batches.iter().flat_map(|b| {
        let kinds = b.kinds.clone().unwrap_or_else(|| vec![ChangeKind::Append; b.rows.num_rows()]);
        assert_eq!(kinds.len(), b.rows.num_rows());
        kinds.into_iter().zip(b.base_offset..).zip(rows_of(&b.rows)).map(|((k, o), r)| (k, o, r)).collect::<Vec<_>>()
    });
    rows.collect()
}

/// Asserts what an error is, is about, and says.
pub fn assert_error(e: &Error, kind: ErrorKind, subject: Subject, parts: &[&str]) {
    assert_eq!((e.kind(), e.subject()), (kind, subject), "{e}");
    for part in parts {
        assert!(e.message().contains(part), "'{e}' lacks '{part}'");
    }
}

pub fn int_column(batch: &RecordBatch, column: usize) -> Vec<Option<i32>> {
    assert_eq!(batch.column(column).data_type(), &ArrowType::Int32);
    batch.column(column).as_primitive::<Int32Type>().iter().collect()
}
