//! A process that writes and tiers is killed, again and again; a process of this test's own binary plays it.

use crate::fixture::{self, Row, WAIT, options, path, row};
use crate::house::{descriptor, in_lake, sorted, union_batches};
use sluice_api::{Connection, WriteOptions};
use sluice_base::{OsFs, SystemClock, TableId};
use sluice_lake::CommitKind;
use sluice_store::{LocalStore, Settings};
use sluice_testkit::Gen;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

const DIRECTORY: &str = "SLUICE_KILLED_DIRECTORY";
const FIRST_ID: &str = "SLUICE_KILLED_FIRST_ID";
const KILLS: usize = 12;
const KEYS: i32 = 30;

fn open(dir: &Path, tiering: &str) -> LocalStore {
    let warehouse = dir.join("lake");
    let settings =
        options(&[("datalake.paimon.warehouse", warehouse.to_str().unwrap()), ("datalake.tiering", tiering)]);
    let settings = Settings::from_options(&settings).unwrap();
    LocalStore::open(&dir.join("store"), Arc::new(OsFs), Arc::new(SystemClock), settings).unwrap()
}

fn write(store: &LocalStore, name: &str, row: Row) {
    let mut writer = store.writer(&path(name), &WriteOptions::default()).unwrap();
    writer.write(&fixture::batch(&[row]), &[]).unwrap();
    writer.flush(WAIT).unwrap();
}

#[test]
#[ignore = "the process that is killed: the test below starts it"]
fn victim() {
    let dir = std::env::var_os(DIRECTORY).expect("the directory of the store");
    let first: i32 = std::env::var(FIRST_ID).unwrap().parse().unwrap();
    let store = open(Path::new(&dir), "embedded");
    for (name, keyed) in [("log", false), ("keyed", true)] {
        let options = [("table.datalake.freshness", "0ms"), ("table.datalake.auto-compaction", "true")];
        let described = descriptor(keyed, 2, &options);
        store.create_table(&path(name), &described, true).unwrap();
    }
    for id in first.. {
        write(&store, "log", row(id, "x", id));
        write(&store, "keyed", row(id % KEYS, "x", id));
        println!("\nacknowledged {id}");
    }
}

#[test]
fn what_was_acknowledged_is_in_the_lake_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Gen::new(7);
    let mut acknowledged = BTreeSet::new();
    for kill in 0..KILLS {
        // A row may have been written and not acknowledged: its id is left out.
        let first = acknowledged.last().map_or(0, |last: &i32| last + 2) + kill as i32;
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "killed_at_any_time::victim"])
            .env(DIRECTORY, dir.path())
            .env(FIRST_ID, first.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
        let mut told =
            lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<i32>().ok());
        acknowledged.extend(told.by_ref().take(1 + random.below(40)));
        std::thread::sleep(std::time::Duration::from_millis(random.below(30) as u64));
        victim.kill().unwrap();
        victim.wait().unwrap();
        acknowledged.extend(told);
    }
    let store = open(dir.path(), "none");
    let table = |name: &str| {
        let info = store.table(&path(name)).unwrap();
        fixture::Table { store: &store, path: path(name), id: TableId(info.table_id), buckets: info.bucket_count() }
    };
    let compactions = |name: &str| {
        let table = crate::house::lake_table(&dir.path().join("lake"), name).unwrap();
        let snapshots = (1..).map_while(|id| table.snapshot(id).unwrap());
        snapshots.filter(|snapshot| snapshot.commit_kind == CommitKind::Compact).count()
    };
    assert!(compactions("log") > 0 && compactions("keyed") > 0, "nothing was compacted before the last kill");
    let rounds = store.lake_snapshot(&path("log")).unwrap().snapshot.unwrap_or(0);
    for name in ["log", "keyed"] {
        store.tier(&path(name), WAIT).unwrap();
    }
    let in_lake =
        |name: &str| in_lake(&dir.path().join("lake"), name).into_iter().map(|(row, _)| row).collect::<Vec<_>>();
    let log = in_lake("log");
    let union = union_batches(&table("log"), None).iter().flat_map(|b| fixture::rows_of(&b.rows)).collect();
    assert_eq!(log, sorted(union), "the lake is what readers of the table find");
    let ids: BTreeSet<i32> = log.iter().map(|r| r.0).collect();
    assert_eq!(ids.len(), log.len(), "no row came twice");
    assert!(acknowledged.is_subset(&ids), "lost: {:?}", acknowledged.difference(&ids).collect::<Vec<_>>());
    assert_eq!(in_lake("keyed"), table("keyed").current().into_values().collect::<Vec<_>>());
    assert!(rounds > 0, "no round was made before the last kill");
}
