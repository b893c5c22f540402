//! Tables of a real store with values of every type, tiered in several rounds. The lake must hold what the store's own log says: for our own
//! reader in this test, and with `SLUICE_LAKE_WAREHOUSE` set for pypaimon and Paimon's Java, which `tests/lake/run.sh` asks.

use crate::canonical;
use crate::fixture::{self, WAIT, options};
use crate::house::union_batches;
use crate::in_a_bucket;
use arrow_array::cast::AsArray;
use arrow_array::types::Date32Type;
use arrow_array::{ArrayRef, Int32Array, PrimitiveArray, RecordBatch};
use serde_json::{Value, json};
use sluice_api::{Connection, ScanStart, TableChange, WriteOptions};
use sluice_base::OsFs;
use sluice_lake::{CommitKind, LakeScan, LakeTable, ScanOptions, Storage};
use sluice_row::{ChangeKind, DataType, DatabaseDescriptor, RowField, Schema, TableDescriptor, TablePath, TypeRoot};
use sluice_store::{LocalStore, Settings};
use sluice_testkit::{Gen, ManualClock};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The database that the judges look at.
const DATABASE: &str = "judged";
const KEYS: usize = 40;
/// The column of type DATE.
const DATE: usize = 9;

fn types() -> Vec<DataType> {
    let mut roots = vec![
        TypeRoot::Int,
        TypeRoot::Boolean,
        TypeRoot::TinyInt,
        TypeRoot::SmallInt,
        TypeRoot::BigInt,
        TypeRoot::Float,
        TypeRoot::Double,
        TypeRoot::Char(20),
        TypeRoot::String,
        TypeRoot::Date,
        TypeRoot::Binary(5),
        TypeRoot::Bytes,
    ];
    roots.extend([(5, 2), (18, 3), (38, 10)].map(|(precision, scale)| TypeRoot::Decimal { precision, scale }));
    roots.extend([0, 3].map(|precision| TypeRoot::Time { precision }));
    roots.extend([0, 3, 6, 9].map(|precision| TypeRoot::Timestamp { precision }));
    roots.extend([3, 6].map(|precision| TypeRoot::TimestampLtz { precision }));
    let field = |name: &str, root| RowField {
        name: name.to_owned(),
        data_type: DataType::new(root),
        description: None,
        field_id: -1,
    };
    roots.push(TypeRoot::Array(Box::new(DataType::new(TypeRoot::String))));
    roots.push(TypeRoot::Map(
        Box::new(DataType::new(TypeRoot::Int).not_null()),
        Box::new(DataType::new(TypeRoot::BigInt)),
    ));
    roots.push(TypeRoot::Row(vec![field("a", TypeRoot::Int), field("B", TypeRoot::String)]));
    roots.into_iter().map(DataType::new).collect()
}

fn descriptor(keyed: bool, buckets: i32, bucket_key: &[&str], more: &[(&str, &str)]) -> TableDescriptor {
    let columns = types().into_iter().enumerate().map(|(i, data_type)| sluice_row::Column {
        data_type,
        comment: Some(format!("number {i}")),
        ..fixture::column(&format!("c{i}"), TypeRoot::Int)
    });
    let mut described = fixture::buckets(fixture::of(columns.collect(), &[]), buckets, bucket_key);
    if keyed {
        described.schema = Schema::new(described.schema.columns, vec!["c0".to_owned()]);
    }
    described.properties = options(&[("table.datalake.enabled", "true")]);
    described.properties.extend(options(more));
    // The clock of this test stands in the past: Paimon's own commits would expire what a streaming read begins with.
    described.custom_properties = options(&[("paimon.snapshot.num-retained.min", "100")]);
    described
}

struct World {
    store: LocalStore,
    /// Where the expectations go.
    warehouse: PathBuf,
    lake: Arc<dyn Storage>,
}

impl World {
    fn open(warehouse: &Path) -> Self {
        let lake: Vec<(&str, String)> = match std::env::var("SLUICE_LAKE_BUCKET") {
            Ok(endpoint) => in_a_bucket::settings(&endpoint, warehouse.file_name().unwrap().to_str().unwrap()),
            Err(_) => vec![("datalake.paimon.warehouse", warehouse.to_str().unwrap().to_owned())],
        };
        let given: Vec<(&str, &str)> = lake.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let settings = Settings::from_options(&options(&given)).unwrap();
        let clock = Arc::new(ManualClock::new(1_756_000_000_123));
        let store = LocalStore::open(&warehouse.with_extension("store"), Arc::new(OsFs), clock, settings).unwrap();
        Self { store, warehouse: warehouse.to_owned(), lake: in_a_bucket::storage(&lake) }
    }

    fn table(&self, name: &str) -> fixture::Table<'_> {
        let path = TablePath::new(DATABASE, name);
        let info = self.store.table(&path).unwrap();
        fixture::Table {
            store: &self.store,
            path,
            id: sluice_base::TableId(info.table_id),
            buckets: info.bucket_count(),
        }
    }

    /// Some batches, then a round.
    fn round(&self, name: &str, keyed: bool, seed: u64) {
        let mut g = Gen::new(seed);
        let path = TablePath::new(DATABASE, name);
        let mut types = types();
        types[0].nullable = !keyed;
        let mut writer = self.store.writer(&path, &WriteOptions::default()).unwrap();
        for _ in 0..3 {
            let batch = g.batch(&types, 60);
            if !keyed {
                writer.write(&batch, &[]).unwrap();
                continue;
            }
            let keys: ArrayRef = Arc::new(Int32Array::from_iter_values((0..60).map(|_| g.below(KEYS) as i32)));
            let mut columns = batch.columns().to_vec();
            columns[0] = keys;
            // pypaimon merges by way of Python's dates, which know the years 1 to 9999 alone.
            let dates: PrimitiveArray<Date32Type> =
                columns[DATE].as_primitive::<Date32Type>().unary(|day| day.rem_euclid(40_000));
            columns[DATE] = Arc::new(dates);
            let batch = RecordBatch::try_new(batch.schema(), columns).unwrap();
            let kind = |_| if g.one_in(6) { ChangeKind::Delete } else { ChangeKind::UpdateAfter };
            let kinds: Vec<ChangeKind> = (0..60).map(kind).collect();
            writer.write(&batch, &kinds).unwrap();
        }
        writer.flush(WAIT).unwrap();
        self.store.tier(&path, WAIT).unwrap();
    }

    /// All that the log says: kind, row, offset and time.
    fn changes(&self, name: &str) -> Vec<(ChangeKind, Vec<Value>)> {
        let table = self.table(name);
        let mut found = Vec::new();
        for bucket in 0..table.buckets {
            for batch in table.batches(bucket, None, ScanStart::Log { offset: 0 }, Some(table.end(bucket))) {
                let time = json!((i128::from(batch.timestamp_ms) * 1_000_000).to_string());
                for (row, offset) in (0..batch.rows.num_rows()).zip(batch.base_offset..) {
                    let mut values = canonical::row(&batch.rows, row);
                    values.extend([json!(offset.to_string()), time.clone()]);
                    let kind = batch.kinds.as_ref().map_or(ChangeKind::Append, |kinds| kinds[row]);
                    found.push((kind, values));
                }
            }
        }
        found
    }

    /// What the judges must find, once the store's readers have found the same.
    fn expectation(&self, name: &str, keyed: bool) -> Value {
        let changes = self.changes(name);
        let mut rows: Vec<Vec<Value>> = Vec::new();
        let mut by_key: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (kind, values) in &changes {
            match kind {
                _ if !keyed => rows.push(values.clone()),
                ChangeKind::UpdateBefore | ChangeKind::Delete => _ = by_key.remove(&values[0].to_string()),
                _ => _ = by_key.insert(values[0].to_string(), values.clone()),
            }
        }
        rows.extend(by_key.into_values());
        assert_eq!(self.read_by_store(name, keyed), sorted(rows.iter().map(|r| r[..types().len()].to_vec())), "{name}");
        assert_eq!(self.read_by_lake(name), sorted(rows.iter().cloned()), "{name}");
        let word = |kind| match kind {
            ChangeKind::Append | ChangeKind::Insert => "+I",
            ChangeKind::UpdateBefore => "-U",
            ChangeKind::UpdateAfter => "+U",
            ChangeKind::Delete => "-D",
        };
        let mut columns: Vec<String> = (0..types().len()).map(|i| format!("c{i}")).collect();
        columns.extend(["__offset".to_owned(), "__timestamp".to_owned()]);
        let told: Vec<Value> = changes
            .into_iter()
            .map(|(kind, values)| Value::Array([vec![json!(word(kind))], values].concat()))
            .collect();
        json!({"name": name, "columns": columns, "rows": rows, "changes": keyed.then_some(told), "skip": {}})
    }

    fn read_by_store(&self, name: &str, keyed: bool) -> Vec<String> {
        let table = self.table(name);
        let batches = match keyed {
            true => (0..table.buckets).flat_map(|b| table.batches(b, None, ScanStart::Current, None)).collect(),
            false => union_batches(&table, None),
        };
        sorted(batches.iter().flat_map(|b| (0..b.rows.num_rows()).map(|row| canonical::row(&b.rows, row))))
    }

    fn read_by_lake(&self, name: &str) -> Vec<String> {
        let path = TablePath::new(DATABASE, name);
        let table = LakeTable::open(self.lake.clone(), Arc::new(ManualClock::new(0)), &path).unwrap().unwrap();
        let scan = LakeScan::new(&table, &table.newest().unwrap().unwrap()).unwrap();
        let mut found = Vec::new();
        for split in scan.splits() {
            let options = ScanOptions { projection: None, predicate: None, batch_rows_max: 50 };
            let mut rows = scan.read(split, &options).unwrap();
            while let Some(batch) = rows.next_batch().unwrap() {
                found.extend((0..batch.num_rows()).map(|row| canonical::row(&batch, row)));
            }
        }
        sorted(found)
    }

    fn leave_expectations(&self) {
        self.leave(TABLES.iter().map(|(name, keyed, ..)| self.expectation(name, *keyed)).collect());
    }

    fn leave(&self, expected: Value) {
        std::fs::write(self.warehouse.join("expected.json"), serde_json::to_vec(&expected).unwrap()).unwrap();
        self.store.close().unwrap();
    }
}

fn sorted(rows: impl IntoIterator<Item = Vec<Value>>) -> Vec<String> {
    let mut rows: Vec<String> = rows.into_iter().map(|row| Value::Array(row).to_string()).collect();
    rows.sort();
    rows
}

/// Name, whether it has a primary key, buckets, bucket key, options.
type Kind = (&'static str, bool, i32, &'static [&'static str], &'static [(&'static str, &'static str)]);
const TABLES: &[Kind] = &[
    ("log", false, 3, &[], &[]),
    ("log_by_key", false, 4, &["c0"], &[]),
    ("keyed", true, 3, &["c0"], &[]),
    ("first_row", true, 2, &["c0"], &[("table.merge-engine", "first_row")]),
    ("wal", true, 2, &["c0"], &[("table.changelog.image", "WAL")]),
];

#[test]
fn a_stores_lake_tables_hold_what_it_reads_itself() {
    let scratch = tempfile::tempdir().unwrap();
    let root = std::env::var_os("SLUICE_LAKE_WAREHOUSE").map_or_else(|| scratch.path().join("lake"), PathBuf::from);
    let world = World::open(&root);
    world.store.create_database(DATABASE, &DatabaseDescriptor::default(), false).unwrap();
    for (name, keyed, buckets, bucket_key, more) in TABLES {
        let path = TablePath::new(DATABASE, *name);
        world.store.create_table(&path, &descriptor(*keyed, *buckets, bucket_key, more), false).unwrap();
        for seed in 1..4 {
            world.round(name, *keyed, seed);
        }
    }
    world.leave_expectations();
}

#[test]
#[ignore = "tests/lake/run.sh asks for it, after Paimon's Java has compacted the warehouse"]
fn a_store_goes_on_with_lake_tables_that_java_has_compacted() {
    let root = std::env::var_os("SLUICE_LAKE_WAREHOUSE").expect("SLUICE_LAKE_WAREHOUSE names the warehouse");
    let world = World::open(Path::new(&root));
    for (name, keyed, ..) in TABLES {
        world.expectation(name, *keyed);
        world.round(name, *keyed, 4);
    }
    world.leave_expectations();
}

#[test]
#[ignore = "tests/lake/run.sh asks for it, after the test above"]
fn a_store_compacts_its_lake_tables_itself() {
    let root = std::env::var_os("SLUICE_LAKE_WAREHOUSE").expect("SLUICE_LAKE_WAREHOUSE names the warehouse");
    let world = World::open(Path::new(&root));
    let set = |key: &str, value: &str| TableChange::Set { key: key.to_owned(), value: value.to_owned() };
    let asked = [
        set("paimon.num-sorted-run.compaction-trigger", "2"),
        set("paimon.num-levels", "6"),
        set("paimon.compaction.min.file-num", "2"),
        set("table.datalake.auto-compaction", "true"),
    ];
    for (name, keyed, ..) in TABLES {
        let path = TablePath::new(DATABASE, *name);
        world.store.alter_table(&path, &asked, false).unwrap();
        for seed in 6..8 {
            world.round(name, *keyed, seed);
            let round = world.store.lake_snapshot(&path).unwrap().snapshot;
            let deadline = Instant::now() + 3 * WAIT;
            let compacted = || {
                let table = LakeTable::open(world.lake.clone(), Arc::new(ManualClock::new(0)), &path).unwrap().unwrap();
                let newest = table.newest().unwrap().unwrap();
                newest.commit_kind == CommitKind::Compact && newest.commit_user == "sluice-compaction"
            };
            // Its rounds bring few rows or none by now, which are no reason to write the others again.
            while *name != "first_row" && !compacted() {
                let told = world.store.lake_snapshot(&path).unwrap();
                assert!(Instant::now() < deadline, "{name}, after snapshot {round:?}: {told:?}");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
    world.leave_expectations();
}

#[test]
#[ignore = "tests/lake/run.sh asks for it, after the test above"]
fn old_snapshots_of_a_stores_lake_tables_go() {
    let root = std::env::var_os("SLUICE_LAKE_WAREHOUSE").expect("SLUICE_LAKE_WAREHOUSE names the warehouse");
    let world = World::open(Path::new(&root));
    let set = |key: &str, value: &str| TableChange::Set { key: key.to_owned(), value: value.to_owned() };
    // Java's snapshots are of now, which is long after what this test's clock says: their number counts here.
    let asked = [
        set("paimon.snapshot.num-retained.min", "1"),
        set("paimon.snapshot.num-retained.max", "1"),
        set("table.datalake.auto-expire-snapshot", "true"),
    ];
    let mut expected = Vec::new();
    for (name, keyed, ..) in TABLES {
        world.store.alter_table(&TablePath::new(DATABASE, *name), &asked, false).unwrap();
        world.round(name, *keyed, 5);
        let table = Path::new(&root).join(format!("{DATABASE}.db/{name}"));
        let snapshots = std::fs::read_dir(table.join("snapshot")).unwrap();
        let names = snapshots.map(|e| e.unwrap().file_name().into_string().unwrap());
        assert_eq!(names.filter(|n| n.starts_with("snapshot-")).count(), 1, "{name}");
        let mut told = world.expectation(name, *keyed);
        // A stream of the changes would begin with what is gone.
        told["changes"] = Value::Null;
        expected.push(told);
    }
    world.leave(expected.into());
}
