use crate::fixture::{self, Row, WAIT, options, path, row};
use crate::house::{self, House, descriptor, rows, sorted};
use sluice_api::{Connection, OffsetSpec};
use sluice_base::{Error, Fs, OsFs};
use sluice_row::ChangeKind;
use sluice_store::{LocalStore, Settings};
use sluice_testkit::{Fault, FaultFs, ManualClock};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// After each step, rows and rounds alike, over restarts and kills: lake rows are those of the log up to its offsets, the union is all rows.
#[test]
fn a_log_tables_lake_has_each_row_once() {
    for buckets in [1, 3] {
        let mut house = House::new(&[]);
        house.home.create("t", &descriptor(false, buckets, &[]));
        let mut next = 0;
        for step in 0..12 {
            let table = house.home.table("t");
            for _ in 0..3 {
                table.put(&rows(next..next + 7));
                next += 7;
            }
            assert_eq!(house.union("t"), rows(0..next), "step {step}");
            if step % 2 == 1 {
                let told = house.tier("t");
                let ends: i64 = told.buckets.iter().map(|(_, end)| *end).sum();
                assert_eq!(ends, i64::from(next));
                let found: Vec<Row> = house.in_lake("t").into_iter().map(|(row, _)| row).collect();
                assert_eq!(found, rows(0..next), "step {step}");
                assert_eq!(house.union("t"), rows(0..next), "step {step}");
            }
            house = match step % 4 {
                1 => house.reopen(),
                3 => house.killed(),
                _ => house,
            };
        }
        // A round without rows makes no snapshot.
        let before = house.home.store.lake_snapshot(&path("t")).unwrap().snapshot;
        assert_eq!(house.tier("t").snapshot, before);
    }
}

#[test]
fn a_primary_key_tables_lake_has_the_current_rows() {
    let mut house = House::new(&[]);
    house.home.create("t", &descriptor(true, 2, &[]));
    let mut model: BTreeMap<i32, Row> = BTreeMap::new();
    for step in 0..9_i32 {
        let table = house.home.table("t");
        for id in 0..20 {
            let new = row((id * 7 + step * 3) % 40, &format!("step {step}"), id);
            table.put(std::slice::from_ref(&new));
            model.insert(new.0, new);
        }
        table.delete(&[step, step * 2 + 1]);
        model.remove(&step);
        model.remove(&(step * 2 + 1));
        house.tier("t");
        let found: Vec<Row> = house.in_lake("t").into_iter().map(|(row, _)| row).collect();
        assert_eq!(found, model.values().cloned().collect::<Vec<_>>(), "step {step}");
        assert_eq!(table.current(), model);
        house = if step % 3 == 2 { house.killed() } else { house.reopen() };
    }
}

/// A round ends at its time at a consistent place; the next goes on there.
#[test]
fn rounds_that_are_cut_short_add_up() {
    let house = House::new(&[("datalake.tiering", "embedded")]);
    for keyed in [false, true] {
        let name = if keyed { "keyed" } else { "log" };
        let described =
            descriptor(keyed, 2, &[("table.datalake.enabled", "false"), ("table.datalake.freshness", "0ms")]);
        let table = house.home.create(name, &described);
        for i in 0..40 {
            table.put(&rows(i * 5..i * 5 + 5));
        }
        let on = sluice_api::TableChange::Set { key: "table.datalake.enabled".to_owned(), value: "true".to_owned() };
        house.home.store.alter_table(&path(name), &[on], false).unwrap();
        let all: i64 = (0..2).map(|b| table.end(b)).sum();
        let deadline = std::time::Instant::now() + 3 * WAIT;
        let last = loop {
            let told = house.home.store.lake_snapshot(&path(name)).unwrap();
            let ends: i64 = told.buckets.iter().map(|(_, end)| *end).sum();
            if ends == all {
                break told.snapshot.unwrap();
            }
            assert!(std::time::Instant::now() < deadline, "{told:?}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        };
        assert!(last > 2, "{last} rounds brought everything: none was cut");
        assert_eq!(house.in_lake(name).into_iter().map(|(row, _)| row).collect::<Vec<_>>(), rows(0..200));
    }
}

fn open(dir: &Path, fs: Arc<dyn Fs>) -> Result<LocalStore, Error> {
    let warehouse = dir.join("lake");
    let settings = options(&[("datalake.paimon.warehouse", warehouse.to_str().unwrap())]);
    LocalStore::open(&dir.join("store"), fs, Arc::new(ManualClock::new(1)), Settings::from_options(&settings).unwrap())
}

fn write(store: &LocalStore, range: std::ops::Range<i32>) {
    let mut writer = store.writer(&path("t"), &sluice_api::WriteOptions::default()).unwrap();
    writer.write(&fixture::batch(&rows(range)), &[]).unwrap();
    writer.flush(WAIT).unwrap();
}

/// A table with a round behind it and rows for another.
fn prepared(keyed: bool) -> tempfile::TempDir {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let store = open(dir.path(), Arc::new(OsFs)).unwrap();
    store.create_table(&path("t"), &descriptor(keyed, 2, &[]), false).unwrap();
    write(&store, 0..10);
    store.tier(&path("t"), WAIT).unwrap();
    write(&store, 5..20);
    if keyed {
        let mut writer = store.writer(&path("t"), &sluice_api::WriteOptions::default()).unwrap();
        writer.write(&fixture::batch(&rows(0..3)), &[ChangeKind::Delete; 3]).unwrap();
        writer.flush(WAIT).unwrap();
    }
    store.close().unwrap();
    dir
}

/// A round in which call `n` of the file system fails or is the last of the process; then another process goes on.
fn strike(keyed: bool, fault: Fault, n: u64, prepared: &Path) -> bool {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    fixture::copy_tree(prepared, dir.path()).unwrap();
    let fs = FaultFs::new();
    let store = open(dir.path(), Arc::new(fs.clone())).unwrap();
    // The store's own files are open by now: the fault strikes the round.
    store.table_stats(&path("t")).unwrap();
    fs.fail_call(n, fault);
    let outcome = store.tier(&path("t"), WAIT);
    let fired = fs.fired();
    assert!(fired || outcome.is_ok(), "{outcome:?}");
    let what = format!("{fault:?} in call {n}, keyed {keyed}: {:?}", outcome.as_ref().map(|s| s.snapshot));
    drop(store);
    let wanted = if keyed { rows(3..20) } else { sorted([rows(0..10), rows(5..20)].concat()) };
    let store = open(dir.path(), Arc::new(OsFs)).unwrap();
    let lake = dir.path().join("lake");
    for round in 0..2 {
        let told = store.tier(&path("t"), WAIT).unwrap_or_else(|e| panic!("{what}: {e}"));
        let found: Vec<Row> = house::in_lake(&lake, "t").into_iter().map(|(row, _)| row).collect();
        assert_eq!(found, wanted, "{what}, round {round}");
        assert_eq!(told.snapshot, Some(2), "{what}: the rows came in one round, whoever brought it");
    }
    let table = store.table(&path("t")).unwrap();
    let buckets: Vec<_> = (0..2)
        .map(|bucket| sluice_base::TableBucket { table: sluice_base::TableId(table.table_id), partition: None, bucket })
        .collect();
    let ends = store.list_offsets(&buckets, OffsetSpec::Latest).unwrap();
    let told = store.lake_snapshot(&path("t")).unwrap();
    assert_eq!(told.buckets, (0..).zip(ends).collect::<Vec<_>>(), "{what}");
    fired
}

fn strike_every_call(keyed: bool, fault: Fault) {
    let prepared = prepared(keyed);
    let struck = (1..).take_while(|n| strike(keyed, fault, *n, prepared.path())).count();
    assert!(struck > 20, "only {struck} calls");
}

#[test]
fn a_failure_of_any_call_loses_and_doubles_nothing() {
    strike_every_call(false, Fault::Error);
    strike_every_call(true, Fault::Torn);
}

#[test]
fn a_process_that_dies_at_any_call_loses_and_doubles_nothing() {
    strike_every_call(false, Fault::Halt);
    strike_every_call(true, Fault::Halt);
}
