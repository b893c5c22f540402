//! A store with a lake beside it, and short ways to read both.

use crate::fixture::{self, Home, Row, Table, WAIT, options};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use sluice_api::{Connection, LakeSnapshot, OffsetSpec, ScanBatch, ScanStart};
use sluice_base::{Fs, OsFs, TableBucket};
use sluice_lake::{LakeScan, LakeTable, LocalStorage, ScanOptions};
use sluice_row::TableDescriptor;
use sluice_testkit::ManualClock;
use std::path::Path;
use std::sync::Arc;

pub struct House {
    pub home: Home,
    pub lake: tempfile::TempDir,
}

impl House {
    pub fn new(settings: &[(&str, &str)]) -> Self {
        Self::on(Arc::new(OsFs), settings)
    }

    pub fn on(fs: Arc<dyn Fs>, settings: &[(&str, &str)]) -> Self {
        let lake = tempfile::tempdir().unwrap();
        let warehouse = lake.path().join("warehouse");
        let mut all = vec![("datalake.paimon.warehouse", warehouse.to_str().unwrap())];
        all.extend(settings);
        let home = Home::with(fs, &all);
        Self { home, lake }
    }

    pub fn reopen(self) -> Self {
        Self { home: self.home.reopen(), lake: self.lake }
    }

    /// What a kill of the process would leave now, over the same lake.
    pub fn killed(self) -> Self {
        let home = self.home.killed();
        Self { home, lake: self.lake }
    }

    pub fn warehouse(&self) -> std::path::PathBuf {
        self.lake.path().join("warehouse")
    }

    pub fn lake_table(&self, name: &str) -> Option<LakeTable> {
        lake_table(&self.warehouse(), name)
    }

    pub fn tier(&self, name: &str) -> LakeSnapshot {
        self.home.store.tier(&fixture::path(name), WAIT).unwrap()
    }

    /// Rows and offsets that the lake has, sorted.
    pub fn in_lake(&self, name: &str) -> Vec<(Row, i64)> {
        in_lake(&self.warehouse(), name)
    }

    /// All rows of a log table as a batch reader finds them, sorted.
    pub fn union(&self, name: &str) -> Vec<Row> {
        let table = self.home.table(name);
        sorted(union_batches(&table, None).iter().flat_map(|b| fixture::rows_of(&b.rows)).collect())
    }
}

pub fn lake_table(warehouse: &Path, name: &str) -> Option<LakeTable> {
    let storage = Arc::new(LocalStorage::new(Arc::new(OsFs), warehouse));
    LakeTable::open(storage, Arc::new(ManualClock::new(0)), &fixture::path(name)).unwrap()
}

pub fn in_lake(warehouse: &Path, name: &str) -> Vec<(Row, i64)> {
    let table = lake_table(warehouse, name).expect("there is a lake table");
    let Some(snapshot) = table.newest().unwrap() else { return Vec::new() };
    let scan = LakeScan::new(&table, &snapshot).unwrap();
    let offset = table.schema().schema.index_of(sluice_lake::OFFSET).unwrap();
    let options = ScanOptions { projection: Some(vec![0, 1, 2, offset]), predicate: None, batch_rows_max: 100 };
    let mut found = Vec::new();
    for split in scan.splits() {
        let mut rows = scan.read(split, &options).unwrap();
        while let Some(batch) = rows.next_batch().unwrap() {
            let offsets = batch.column(3).as_primitive::<Int64Type>().values().to_vec();
            found.extend(fixture::rows_of(&batch).into_iter().zip(offsets));
        }
    }
    found.sort();
    found
}

pub fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort();
    rows
}

/// What a batch reader does: snapshots of the lake first, then the end of each log.
pub fn union_batches(table: &Table<'_>, projection: Option<&[usize]>) -> Vec<ScanBatch> {
    let buckets: Vec<TableBucket> = (0..table.buckets).map(|b| table.bucket(b)).collect();
    let snapshots = table.store.acquire_snapshots(&buckets, "reader", 60_000).unwrap();
    let stops = table.store.list_offsets(&buckets, OffsetSpec::Latest).unwrap();
    let mut found = Vec::new();
    for (bucket, ((snapshot, _), stop)) in (0..table.buckets).zip(snapshots.into_iter().zip(stops)) {
        // A bucket that never had a row has none in the lake either.
        if stop > 0 {
            let start = ScanStart::Snapshot { snapshot, skip_rows: 0 };
            found.extend(table.batches(bucket, projection, start, Some(stop)));
        }
    }
    table.store.release_snapshots(&[], "reader").unwrap();
    found
}

/// `id INT, name STRING, amount INT` with a lake.
pub fn descriptor(keyed: bool, buckets: i32, more: &[(&str, &str)]) -> TableDescriptor {
    let mut descriptor = fixture::descriptor(keyed);
    descriptor.bucket_count = Some(buckets);
    descriptor.properties = options(&[("table.datalake.enabled", "true"), ("table.datalake.freshness", "1h")]);
    descriptor.properties.extend(options(more));
    descriptor
}

pub fn rows(range: std::ops::Range<i32>) -> Vec<Row> {
    range.map(|i| fixture::row(i, &format!("name {i}"), i * 10)).collect()
}
