//! Whatever call of the disk fails: a refused statement leaves no trace, an answered one is found again.

use crate::fixture::{add, assert_error, contents, int, no_properties, open, open_with, options, set, table, view};
use sluice_api::{Connection, TableChange};
use sluice_base::{ErrorKind, Result, Subject};
use sluice_row::{TableDescriptor, TablePath};
use sluice_store::LocalStore;
use sluice_testkit::{Crash, Fault, FaultFs};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

type Statement = fn(&LocalStore) -> Result<()>;

fn at(database: &str, name: &str) -> TablePath {
    TablePath::new(database, name)
}

fn alter(store: &LocalStore, change: TableChange) -> Result<()> {
    store.alter_table(&at("d", "kv"), &[change], false)
}

/// Every kind of change.
const SCRIPT: &[Statement] = &[
    |s| s.create_database("d", &no_properties(), false),
    |s| s.create_table(&at("fluss", "log"), &table(&[]), false),
    |s| s.alter_database("fluss", &BTreeMap::from([("k".to_owned(), Some("v".to_owned()))])),
    |s| s.drop_table(&at("fluss", "log"), false),
    |s| s.create_table(&at("fluss", "log"), &table(&["id"]), false),
    |s| s.create_table(&at("d", "kv"), &table(&["id"]), false),
    |s| alter(s, add("more", int())),
    |s| alter(s, set("table.log.ttl", "1d")),
    |s| s.create_view(&at("d", "v"), &view("SELECT 1"), false),
    |s| s.alter_view(&at("d", "v"), &view("SELECT 2"), false),
    |s| s.rename_view(&at("d", "v"), "w", false),
    |s| s.create_view(&at("d", "v"), &view("SELECT 3"), false),
    |s| s.drop_view(&at("d", "v"), false),
    |s| s.create_database("e", &no_properties(), false),
    |s| s.create_view(&at("e", "gone_too"), &view("SELECT 4"), false),
    |s| s.create_table(&at("e", "gone"), &table(&[]), false),
    |s| s.drop_database("e", false, true),
    |s| s.create_table(&at("fluss", "last"), &table(&[]), false),
    |s| s.create_table(&at("d", "parts"), &by_name(), false),
    |s| partition(s, "a"),
    |s| partition(s, "b"),
    |s| s.drop_partition(&at("d", "parts"), &options(&[("name", "a")]), false),
    |s| s.alter_table(&at("d", "parts"), &[set("bucket.num", "3")], false),
    |s| partition(s, "a"),
];

/// Statements of the script that only work after one before them.
const DEPENDENT: &[usize] = &[9, 10, 12, 14, 15, 16, 19, 20, 21, 22, 23];

fn by_name() -> TableDescriptor {
    TableDescriptor { partition_key: vec!["name".to_owned()], bucket_count: Some(2), ..table(&[]) }
}

fn partition(store: &LocalStore, name: &str) -> Result<()> {
    store.create_partition(&at("d", "parts"), &options(&[("name", name)]), false)
}

fn entries(dir: &Path) -> Vec<String> {
    let entries = if dir.exists() { std::fs::read_dir(dir).unwrap().collect() } else { Vec::new() };
    entries.into_iter().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

/// The tables and partitions that the store shows, and those whose data lies in its directory, as directories.
fn ids(store: &LocalStore, dir: &Path) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut shown = BTreeSet::new();
    for database in store.list_databases().unwrap() {
        for name in store.list_tables(&database).unwrap() {
            let path = at(&database, &name);
            let table = store.table(&path).unwrap();
            shown.insert(table.table_id.to_string());
            if !table.descriptor.partition_key.is_empty() {
                let partitions = store.list_partitions(&path, &BTreeMap::new()).unwrap();
                shown.extend(partitions.iter().map(|p| format!("{}/p{}", table.table_id, p.partition_id)));
            }
        }
    }
    let mut stored = BTreeSet::new();
    for table in entries(&dir.join("data")) {
        let partitions = entries(&dir.join("data").join(&table)).into_iter().filter(|name| name.starts_with('p'));
        stored.extend(partitions.map(|p| format!("{table}/{p}")));
        stored.insert(table);
    }
    (shown, stored)
}

/// What a fresh opening finds, with the data of the tables that it shows and of no others.
fn reopened(dir: &Path, story: &str) -> String {
    let store = open(dir).unwrap_or_else(|e| panic!("{story}: {e}"));
    let (shown, stored) = ids(&store, dir);
    assert_eq!(shown, stored, "{story}");
    contents(&store)
}

/// The same without times, which differ from run to run.
fn timeless(contents: &str) -> String {
    let mut out = String::new();
    for part in contents.split_inclusive(',') {
        if !part.contains("created_ms") && !part.contains("modified_ms") {
            out += part;
        }
    }
    out
}

/// Calls that one undisturbed run makes, and what the store shows before the first and after each statement.
fn undisturbed() -> (u64, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let fs = FaultFs::new();
    let store = open_with(dir.path(), Arc::new(fs.clone()), &[]).unwrap();
    let mut steps = vec![timeless(&contents(&store))];
    for statement in SCRIPT {
        statement(&store).unwrap();
        steps.push(timeless(&contents(&store)));
    }
    drop(store);
    assert_eq!(timeless(&reopened(dir.path(), "undisturbed")), steps[SCRIPT.len()]);
    (fs.calls(), steps)
}

#[test]
fn a_call_that_fails_once_refuses_one_statement_and_leaves_no_trace() {
    let (calls, _) = undisturbed();
    let mut struck = 0;
    for n in 1..=calls {
        for fault in [Fault::Error, Fault::Torn, Fault::Full] {
            let story = format!("call {n} of {calls}, {fault:?}");
            let dir = tempfile::tempdir().unwrap();
            let fs = FaultFs::new();
            fs.fail_call(n, fault);
            let Ok(store) = open_with(dir.path(), Arc::new(fs.clone()), &[]) else {
                assert_eq!(reopened(dir.path(), &story).lines().count(), 1, "{story}");
                struck += 1;
                continue;
            };
            for (i, statement) in SCRIPT.iter().enumerate() {
                let (before, had_fired) = (contents(&store), fs.fired());
                if let Err(e) = statement(&store) {
                    assert_eq!(contents(&store), before, "{story}: statement {i} left a trace: {e}");
                    struck += usize::from(!had_fired);
                }
            }
            let shown = contents(&store);
            drop(store);
            assert_eq!(reopened(dir.path(), &story), shown, "{story}");
        }
    }
    assert!(struck > 2 * SCRIPT.len(), "the faults hit nothing: {struck}");
}

#[test]
fn whatever_a_power_loss_leaves_answered_statements_are_found() {
    let (calls, steps) = undisturbed();
    for n in 1..=calls {
        let dir = tempfile::tempdir().unwrap();
        let fs = FaultFs::new();
        fs.fail_call(n, Fault::Halt);
        let store = open_with(dir.path(), Arc::new(fs.clone()), &[]).ok();
        let answered = store.as_ref().map_or(0, |s| SCRIPT.iter().take_while(|statement| statement(s).is_ok()).count());
        for crash in
            [Crash::LoseUnsynced, Crash::KeepAll, Crash::Torn(n), Crash::Torn(n + 1_000), Crash::Torn(n + 2_000)]
        {
            let story = format!("call {n} of {calls}, {crash:?}, {answered} answered");
            let image = tempfile::tempdir().unwrap();
            fs.crash_into(dir.path(), image.path(), crash).unwrap();
            let found = timeless(&reopened(image.path(), &story));
            let in_flight = steps.get(answered + 1).unwrap_or(&steps[answered]);
            assert!(found == steps[answered] || found == *in_flight, "{story}: {found}");
        }
    }
}

#[test]
fn a_full_disk_refuses_keeps_reading_and_heals() {
    let dir = tempfile::tempdir().unwrap();
    let fs = FaultFs::new();
    let store = open_with(dir.path(), Arc::new(fs.clone()), &[]).unwrap();
    let (first, last) = SCRIPT.split_at(6);
    first.iter().for_each(|statement| statement(&store).unwrap());
    let before = contents(&store);
    fs.set_full(true);
    for (i, statement) in last.iter().enumerate().filter(|(i, _)| !DEPENDENT.contains(&(i + 6))) {
        let e = statement(&store).unwrap_err();
        assert_error(&e, ErrorKind::Busy, Subject::Disk, &["free some space"]);
        assert_eq!(contents(&store), before, "statement {i}");
    }
    fs.set_full(false);
    last.iter().for_each(|statement| statement(&store).unwrap());
    let shown = contents(&store);
    drop(store);
    assert_eq!(reopened(dir.path(), "healed"), shown);
}

fn data_directories(dir: &Path) -> BTreeSet<String> {
    let Ok(entries) = std::fs::read_dir(dir.join("data")) else { return BTreeSet::new() };
    entries.map(|e| e.unwrap().file_name().to_str().unwrap().to_owned()).collect()
}

#[test]
fn a_refused_create_takes_its_data_back_and_spends_its_id() {
    const BUCKETS: u64 = 3;
    let three = TableDescriptor { bucket_count: Some(BUCKETS as i32), ..table(&[]) };
    for n in 1.. {
        let dir = tempfile::tempdir().unwrap();
        let fs = FaultFs::new();
        let store = open_with(dir.path(), Arc::new(fs.clone()), &[]).unwrap();
        fs.fail_call(n, Fault::Error);
        if store.create_table(&at("fluss", "t"), &three, false).is_ok() {
            assert!(n > BUCKETS + 5, "only {n} calls");
            break;
        }
        let left = data_directories(dir.path());
        assert!(n <= BUCKETS || left.is_empty(), "call {n} left {left:?}");
        store.create_table(&at("fluss", "u"), &three, false).unwrap();
        let id = store.table(&at("fluss", "u")).unwrap().table_id;
        assert!(!left.contains(&id.to_string()), "call {n}: table {id} found a directory of its name");
    }
}
