//! Tables of every kind, written here and read by whoever claims to read Paimon: our own reader in this test, and with `SLUICE_LAKE_WAREHOUSE`
//! set, pypaimon and Paimon's Java in `tests/lake/run.sh`, from the warehouse and the `expected.json` left there.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod canonical;
mod compacted;
mod tables;
mod warehouse;

use sluice_lake::{LakeScan, ScanOptions};
use std::path::PathBuf;
use warehouse::Warehouse;

#[test]
fn rounds_of_every_kind_of_table() {
    let scratch = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let root = std::env::var_os("SLUICE_LAKE_WAREHOUSE").map_or_else(|| scratch.path().to_owned(), PathBuf::from);
    let mut warehouse = Warehouse::new(&root);
    tables::write_all(&mut warehouse);
    for judged in &warehouse.tables {
        let tiered = judged.table.tiered().unwrap();
        let found: Vec<_> = tiered.offsets.iter().map(|(b, range)| (b.clone(), range.end)).collect();
        let wanted: Vec<_> = judged.ends().iter().map(|(b, end)| (b.clone(), *end)).collect();
        assert_eq!(found, wanted, "{}", judged.table.path());
    }
    for judged in &warehouse.tables {
        let mut found = ours(judged);
        let mut wanted: Vec<String> = judged.expected().iter().map(|row| serde_json::to_string(row).unwrap()).collect();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{}", judged.table.path());
    }
    std::fs::write(root.join("expected.json"), serde_json::to_vec(&warehouse.expectations()).unwrap()).unwrap();
}

#[test]
#[ignore = "tests/lake/run.sh asks for it, after others have read the warehouse as it was written"]
fn tables_that_we_compact() {
    let root = std::env::var_os("SLUICE_LAKE_WAREHOUSE").expect("SLUICE_LAKE_WAREHOUSE names the warehouse");
    compacted::compact_all(&PathBuf::from(root));
}

#[test]
#[ignore = "tests/lake/run.sh asks for it, after Paimon's Java has compacted the warehouse"]
fn tables_that_java_has_compacted() {
    let root = std::env::var_os("SLUICE_LAKE_WAREHOUSE").expect("SLUICE_LAKE_WAREHOUSE names the warehouse");
    compacted::read_and_go_on(&PathBuf::from(root));
}

/// The rows that our own reader finds.
fn ours(judged: &warehouse::Judged) -> Vec<String> {
    let snapshot = judged.table.newest().unwrap().unwrap();
    let scan = LakeScan::new(&judged.table, &snapshot).unwrap();
    let options = ScanOptions { projection: None, predicate: None, batch_rows_max: 33 };
    let mut found = Vec::new();
    for split in scan.splits() {
        let mut rows = scan.read(split, &options).unwrap();
        while let Some(batch) = rows.next_batch().unwrap() {
            found.extend((0..batch.num_rows()).map(|row| serde_json::to_string(&canonical::row(&batch, row)).unwrap()));
        }
    }
    found
}
