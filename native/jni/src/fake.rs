//! A connection for this crate's tests: it remembers what was asked and answers from a script. Tests only.

use crate::connection::Store;
use arrow_array::RecordBatch;
use sluice_api::*;
use sluice_base::{Error, Offset, Result, Subject, TableBucket};
use sluice_row::{ChangeKind, DatabaseDescriptor, TableDescriptor, TablePath, ViewDescriptor};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// What the fake saw.
#[derive(Default)]
pub struct Seen {
    pub calls: Mutex<Vec<String>>,
    pub written: Mutex<Vec<(RecordBatch, Vec<ChangeKind>)>>,
    pub dropped_scanners: Mutex<usize>,
    pub closed: AtomicBool,
}

pub struct FakeStore {
    pub seen: Arc<Seen>,
    pub table: TableInfo,
}

impl FakeStore {
    fn call(&self, text: String) {
        self.seen.calls.lock().unwrap().push(text);
    }
}

impl Store for FakeStore {
    fn close(&self) -> Result<()> {
        match self.seen.closed.swap(true, Ordering::SeqCst) {
            true => Err(Error::internal("closed twice")),
            false => Ok(()),
        }
    }
}

impl Connection for FakeStore {
    fn create_database(&self, name: &str, descriptor: &DatabaseDescriptor, ignore_if_exists: bool) -> Result<()> {
        self.call(format!("create_database {name} {:?} {ignore_if_exists}", descriptor.comment));
        Ok(())
    }
    fn alter_database(&self, name: &str, changes: &BTreeMap<String, Option<String>>) -> Result<()> {
        self.call(format!("alter_database {name} {changes:?}"));
        Ok(())
    }
    fn drop_database(&self, name: &str, ignore_if_missing: bool, cascade: bool) -> Result<()> {
        self.call(format!("drop_database {name} {ignore_if_missing} {cascade}"));
        Ok(())
    }
    fn list_databases(&self) -> Result<Vec<String>> {
        Ok(vec!["a".to_owned(), "b".to_owned()])
    }
    fn database(&self, name: &str) -> Result<DatabaseInfo> {
        Err(Error::not_found(Subject::Database, format!("no database {name}")))
    }
    fn create_table(&self, path: &TablePath, descriptor: &TableDescriptor, ignore_if_exists: bool) -> Result<()> {
        self.call(format!("create_table {path} {} {ignore_if_exists}", descriptor.schema.columns.len()));
        Ok(())
    }
    fn drop_table(&self, path: &TablePath, ignore_if_missing: bool) -> Result<()> {
        self.call(format!("drop_table {path} {ignore_if_missing}"));
        Ok(())
    }
    fn list_tables(&self, database: &str) -> Result<Vec<String>> {
        Ok(vec![format!("{database}.t")])
    }
    fn table(&self, _: &TablePath) -> Result<TableInfo> {
        Ok(self.table.clone())
    }
    fn alter_table(&self, path: &TablePath, changes: &[TableChange], ignore_if_missing: bool) -> Result<()> {
        self.call(format!("alter_table {path} {changes:?} {ignore_if_missing}"));
        Ok(())
    }
    fn create_view(&self, path: &TablePath, view: &ViewDescriptor, ignore_if_exists: bool) -> Result<()> {
        self.call(format!("create_view {path} {} {ignore_if_exists}", view.original_query));
        Ok(())
    }
    fn alter_view(&self, path: &TablePath, view: &ViewDescriptor, ignore_if_missing: bool) -> Result<()> {
        self.call(format!("alter_view {path} {} {ignore_if_missing}", view.original_query));
        Ok(())
    }
    fn rename_view(&self, path: &TablePath, new_name: &str, ignore_if_missing: bool) -> Result<()> {
        self.call(format!("rename_view {path} {new_name} {ignore_if_missing}"));
        Ok(())
    }
    fn drop_view(&self, path: &TablePath, ignore_if_missing: bool) -> Result<()> {
        self.call(format!("drop_view {path} {ignore_if_missing}"));
        Ok(())
    }
    fn list_views(&self, database: &str) -> Result<Vec<String>> {
        Ok(vec![format!("{database}.v")])
    }
    fn view(&self, path: &TablePath) -> Result<ViewInfo> {
        Err(Error::not_found(Subject::Table, format!("no view {path}")))
    }
    fn create_partition(
        &self,
        path: &TablePath,
        spec: &BTreeMap<String, String>,
        ignore_if_exists: bool,
    ) -> Result<()> {
        self.call(format!("create_partition {path} {spec:?} {ignore_if_exists}"));
        Ok(())
    }
    fn drop_partition(&self, path: &TablePath, spec: &BTreeMap<String, String>, ignore_if_missing: bool) -> Result<()> {
        self.call(format!("drop_partition {path} {spec:?} {ignore_if_missing}"));
        Ok(())
    }
    fn list_partitions(&self, path: &TablePath, spec: &BTreeMap<String, String>) -> Result<Vec<PartitionInfo>> {
        self.call(format!("list_partitions {path} {spec:?}"));
        Ok(vec![PartitionInfo { partition_id: 5, values: vec!["x".to_owned()], bucket_count: 2, created_ms: 9 }])
    }
    fn list_offsets(&self, buckets: &[TableBucket], spec: OffsetSpec) -> Result<Vec<Offset>> {
        self.call(format!("list_offsets {} {spec:?}", buckets[0]));
        Ok(vec![7])
    }
    fn table_stats(&self, _: &TablePath) -> Result<TableStats> {
        Ok(TableStats { row_count: None, size_bytes: 9 })
    }
    fn lake_options(&self) -> Result<Option<BTreeMap<String, String>>> {
        self.call("lake_options".to_owned());
        Ok(Some(BTreeMap::from([("warehouse".to_owned(), "/w".to_owned())])))
    }
    fn lake_partitions(&self, path: &TablePath) -> Result<Vec<PartitionInfo>> {
        self.call(format!("lake_partitions {path}"));
        Ok(vec![PartitionInfo { partition_id: -5, values: vec!["y".to_owned()], bucket_count: 2, created_ms: 0 }])
    }

    fn lake_snapshot(&self, path: &TablePath) -> Result<LakeSnapshot> {
        self.call(format!("lake_snapshot {path}"));
        let buckets = vec![(0, 40)];
        Ok(LakeSnapshot { snapshot: Some(3), buckets, partitions: Vec::new(), last_round_ms: None, error: None })
    }
    fn tier(&self, path: &TablePath, timeout: Duration) -> Result<LakeSnapshot> {
        self.call(format!("tier {path} {timeout:?}"));
        self.lake_snapshot(path)
    }
    fn tier_work(&self, path: &TablePath) -> Result<Vec<TierWork>> {
        self.call(format!("tier_work {path}"));
        Ok(vec![TierWork { table_id: 7, partition_id: None, bucket: 1, start: None, end: 40 }])
    }
    fn tier_write(&self, work: &TierWork, timeout: Duration) -> Result<TierPart> {
        self.call(format!("tier_write {} {:?} {timeout:?}", work.id(), work.start));
        Ok(TierPart { part: 9, end: 40, rows: 30 })
    }
    fn tier_commit(&self, path: &TablePath, parts: &[u64]) -> Result<LakeSnapshot> {
        self.call(format!("tier_commit {path} {parts:?}"));
        self.lake_snapshot(path)
    }
    fn acquire_snapshots(&self, buckets: &[TableBucket], lease: &str, lease_ms: u64) -> Result<Vec<(u64, Offset)>> {
        self.call(format!("acquire_snapshots {} {lease} {lease_ms}", buckets[0]));
        Ok(vec![(3, 40)])
    }
    fn release_snapshots(&self, buckets: &[TableBucket], lease: &str) -> Result<()> {
        self.call(format!("release_snapshots {} {lease}", buckets.len()));
        Ok(())
    }
    fn producer_offsets(&self, _: &TablePath, producer: &str) -> Result<Vec<(TableBucket, Offset)>> {
        self.call(format!("producer_offsets {producer}"));
        Ok(vec![(TableBucket { table: sluice_base::TableId(1), partition: None, bucket: 2 }, 40)])
    }
    fn end_producer(&self, _: &TablePath, producer: &str, part: u32, parts: u32) -> Result<()> {
        self.call(format!("end_producer {producer} {part} {parts}"));
        Ok(())
    }
    fn add_rules(&self, rules: &[AccessRule]) -> Result<()> {
        self.call(format!("add_rules {}", rules.len()));
        Ok(())
    }
    fn drop_rules(&self, filter: &RuleFilter) -> Result<Vec<AccessRule>> {
        self.call(format!("drop_rules {:?}", filter.operation));
        Ok(Vec::new())
    }
    fn list_rules(&self, filter: &RuleFilter) -> Result<Vec<AccessRule>> {
        self.call(format!("list_rules {:?}", filter.resource));
        Ok(Vec::new())
    }
    fn writer(&self, _: &TablePath, options: &WriteOptions) -> Result<Box<dyn Writer>> {
        self.call(format!("writer {:?}", options.target_columns));
        Ok(Box::new(FakeWriter(self.seen.clone())))
    }
    fn scanner(&self, _: &TablePath, options: &ScanOptions) -> Result<Box<dyn Scanner>> {
        self.call(format!("scanner {:?} {}", options.projection, options.batch_rows_max));
        Ok(Box::new(FakeScanner { seen: self.seen.clone(), woken: Mutex::new(false), change: Condvar::new() }))
    }
    fn lookup(&self, _: &TablePath, options: &LookupOptions) -> Result<Box<dyn Lookup>> {
        self.call(format!("lookup {:?} {:?}", options.key_columns, options.projection));
        Err(Error::unsupported(Subject::Table, "no lookups here"))
    }
}

struct FakeWriter(Arc<Seen>);

impl Writer for FakeWriter {
    fn write(&mut self, batch: &RecordBatch, kinds: &[ChangeKind]) -> Result<()> {
        assert!(batch.num_rows() < 1000, "a defect that a test asks for");
        self.0.written.lock().unwrap().push((batch.clone(), kinds.to_vec()));
        Ok(())
    }
    fn flush(&mut self, _: Duration) -> Result<()> {
        Ok(())
    }
    fn undo(&mut self, bucket: &TableBucket, from: Offset) -> Result<()> {
        self.0.calls.lock().unwrap().push(format!("undo {bucket} {from}"));
        Ok(())
    }
    fn written(&self) -> (u64, u64) {
        (0, 0)
    }
}

/// Never has rows; waits until woken.
struct FakeScanner {
    seen: Arc<Seen>,
    woken: Mutex<bool>,
    change: Condvar,
}

impl Scanner for FakeScanner {
    fn subscribe(&self, _: ScanSplit) -> Result<()> {
        Ok(())
    }
    fn unsubscribe(&self, _: u32) {}
    fn poll(&self, timeout: Duration) -> Result<Option<ScanBatch>> {
        let woken = self.woken.lock().unwrap();
        let (mut woken, _) = self.change.wait_timeout_while(woken, timeout, |woken| !*woken).unwrap();
        *woken = false;
        Ok(None)
    }
    fn wake(&self) {
        *self.woken.lock().unwrap() = true;
        self.change.notify_all();
    }
}

impl Drop for FakeScanner {
    fn drop(&mut self) {
        *self.seen.dropped_scanners.lock().unwrap() += 1;
    }
}

/// A table with these columns, without primary key.
pub fn table(columns: Vec<sluice_row::Column>) -> TableInfo {
    let descriptor = TableDescriptor {
        version: 1,
        schema: sluice_row::Schema::new(columns, Vec::new()),
        comment: None,
        partition_key: Vec::new(),
        bucket_key: Vec::new(),
        bucket_count: Some(1),
        properties: BTreeMap::new(),
        custom_properties: BTreeMap::new(),
    };
    TableInfo { path: TablePath::new("d", "t"), table_id: 1, schema_id: 1, descriptor, created_ms: 0, modified_ms: 0 }
}

/// A column of a type.
pub fn column(name: &str, root: sluice_row::TypeRoot) -> sluice_row::Column {
    sluice_row::Column {
        name: name.to_owned(),
        data_type: sluice_row::DataType::new(root),
        comment: None,
        id: None,
        agg_function: None,
    }
}
