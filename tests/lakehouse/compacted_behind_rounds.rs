//! Small files of the lake are put together behind rounds, and nobody who reads or tiers notices.

use crate::fixture::{Row, WAIT, path, row};
use crate::house::{House, descriptor, rows};
use sluice_api::{Connection, TableChange};
use sluice_lake::{CommitKind, LakeScan, LakeSplit, Snapshot};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const ON: (&str, &str) = ("table.datalake.auto-compaction", "true");

fn newest(house: &House, name: &str) -> Snapshot {
    house.lake_table(name).unwrap().newest().unwrap().unwrap()
}

/// Waits until there are so many snapshots of compactions.
fn wait_for_compactions(house: &House, name: &str, wanted: usize) {
    let deadline = Instant::now() + 3 * WAIT;
    let table = house.lake_table(name).unwrap();
    let count = || {
        let all = (1..).map_while(|id| table.snapshot(id).unwrap());
        all.filter(|snapshot| snapshot.commit_kind == CommitKind::Compact).count()
    };
    while count() < wanted {
        let told = house.home.store.lake_snapshot(&path(name)).unwrap();
        assert!(Instant::now() < deadline, "{name}: {told:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn most_files(house: &House, name: &str) -> usize {
    let table = house.lake_table(name).unwrap();
    let scan = LakeScan::new(&table, &newest(house, name)).unwrap();
    scan.splits().iter().map(LakeSplit::files).max().unwrap_or(0)
}

#[test]
fn a_log_table_keeps_its_rows() {
    // With a bucket key, and without: then all buckets share the files of one.
    for key in [&["id".to_owned()][..], &[]] {
        let mut house = House::new(&[]);
        let mut described = descriptor(false, 3, &[ON]);
        described.bucket_key = key.to_vec();
        house.home.create("t", &described);
        for round in 0..15 {
            house.home.table("t").put(&rows(round * 9..round * 9 + 9));
            house.tier("t");
            if round % 5 == 4 {
                wait_for_compactions(&house, "t", round as usize / 5 + 1);
                house = house.reopen();
            }
            let found: Vec<Row> = house.in_lake("t").into_iter().map(|(row, _)| row).collect();
            assert_eq!(found, rows(0..round * 9 + 9), "round {round}");
            assert_eq!(house.union("t"), rows(0..round * 9 + 9), "round {round}");
        }
        assert!(most_files(&house, "t") < 7, "{} files of 15 rounds", most_files(&house, "t"));
    }
}

#[test]
fn a_primary_key_table_keeps_its_rows() {
    let mut house = House::new(&[]);
    house.home.create("t", &descriptor(true, 1, &[ON]));
    let mut model: BTreeMap<i32, Row> = BTreeMap::new();
    for round in 0..15 {
        let table = house.home.table("t");
        for id in 0..20 {
            let new = row((id * 7 + round * 3) % 40, &format!("round {round}"), id);
            table.put(std::slice::from_ref(&new));
            model.insert(new.0, new);
        }
        table.delete(&[round, round * 2 + 1]);
        model.remove(&round);
        model.remove(&(round * 2 + 1));
        let before = house.tier("t");
        if round % 5 == 4 {
            wait_for_compactions(&house, "t", round as usize / 5 + 1);
            let after = house.home.store.lake_snapshot(&path("t")).unwrap();
            assert_eq!(after.buckets, before.buckets, "the lake is as far as before");
            house = if round % 2 == 0 { house.killed() } else { house.reopen() };
        }
        let found: Vec<Row> = house.in_lake("t").into_iter().map(|(row, _)| row).collect();
        assert_eq!(found, model.values().cloned().collect::<Vec<_>>(), "round {round}");
    }
    assert!(most_files(&house, "t") < 7, "{} files of 15 rounds", most_files(&house, "t"));
}

#[test]
fn rounds_that_others_drive_are_followed_by_it_too() {
    let house = House::new(&[]);
    let table = house.home.create("t", &descriptor(true, 1, &[]));
    let on = TableChange::Set { key: ON.0.to_owned(), value: ON.1.to_owned() };
    for round in 0..7 {
        table.put(&rows(round * 5..round * 5 + 5));
        let work = house.home.store.tier_work(&path("t")).unwrap();
        let parts: Vec<u64> = work.iter().map(|w| house.home.store.tier_write(w, WAIT).unwrap().part).collect();
        house.home.store.tier_commit(&path("t"), &parts).unwrap();
        if round == 5 {
            assert_eq!(newest(&house, "t").commit_kind, CommitKind::Append, "nobody has asked for it yet");
            house.home.store.alter_table(&path("t"), std::slice::from_ref(&on), false).unwrap();
        }
    }
    wait_for_compactions(&house, "t", 1);
    assert_eq!(most_files(&house, "t"), 1);
    assert_eq!(house.in_lake("t").into_iter().map(|(row, _)| row).collect::<Vec<_>>(), rows(0..35));
}
