//! Rounds that somebody outside the engine puts together.

use crate::fixture::{WAIT, assert_error, path, row};
use crate::house::{House, descriptor, lake_table, rows};
use sluice_api::{Connection, LakeSnapshot, TierPart, TierWork};
use sluice_base::{ErrorKind, Result, Subject};
use std::path::Path;
use std::time::Duration;

fn work(house: &House) -> Vec<TierWork> {
    house.home.store.tier_work(&path("t")).unwrap()
}

fn write(house: &House, work: &[TierWork]) -> Vec<TierPart> {
    work.iter().map(|w| house.home.store.tier_write(w, WAIT).unwrap()).collect()
}

fn commit(house: &House, parts: &[TierPart]) -> Result<LakeSnapshot> {
    let parts: Vec<u64> = parts.iter().map(|p| p.part).collect();
    house.home.store.tier_commit(&path("t"), &parts)
}

/// How many files of data lie under the table's directory.
fn data_files(warehouse: &Path) -> usize {
    fn count(directory: &Path) -> usize {
        let entries = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap());
        entries
            .map(|e| match e.file_type().unwrap().is_dir() {
                true => count(&e.path()),
                false => usize::from(e.file_name().to_string_lossy().ends_with(".parquet")),
            })
            .sum()
    }
    count(&warehouse.join("fluss.db/t"))
}

fn snapshots(house: &House) -> i64 {
    lake_table(&house.warehouse(), "t").unwrap().newest().unwrap().map_or(0, |s| s.id)
}

#[test]
fn a_round_brings_each_row_once() {
    for keyed in [false, true] {
        let house = House::new(&[]);
        let table = house.home.create("t", &descriptor(keyed, 4, &[]));
        assert_eq!(work(&house), []);
        for i in 0..3 {
            table.put(&rows(i * 50..i * 50 + 50));
            let work = work(&house);
            assert_eq!(work.iter().map(|w| w.end - w.start.unwrap_or(0)).sum::<i64>(), 50);
            let parts = write(&house, &work);
            assert_eq!(parts.iter().map(|p| p.rows).sum::<i64>(), 50);
            assert!(parts.iter().zip(&work).all(|(part, work)| part.end == work.end));
            assert_eq!(snapshots(&house), i64::from(i), "nothing is in the lake before the commit");
            assert_eq!(commit(&house, &parts).unwrap().snapshot, Some(i64::from(i) + 1));
            assert_eq!(house.in_lake("t").into_iter().map(|(row, _)| row).collect::<Vec<_>>(), rows(0..i * 50 + 50));
        }
        assert_eq!(work(&house), []);
    }
}

#[test]
fn a_write_ends_at_its_time_but_brings_something() {
    let house = House::new(&[]);
    let table = house.home.create("t", &descriptor(false, 1, &[]));
    for i in 0..20 {
        table.put(&rows(i * 1000..i * 1000 + 1000));
    }
    let mut rounds = 0;
    while let [work] = work(&house).as_slice() {
        let part = house.home.store.tier_write(work, Duration::ZERO).unwrap();
        assert!(part.end > work.start.unwrap_or(0) && part.end <= work.end, "{part:?}");
        commit(&house, &[part]).unwrap();
        rounds += 1;
    }
    assert!(rounds > 1, "{rounds} rounds");
    assert_eq!(house.in_lake("t").into_iter().map(|(row, _)| row).collect::<Vec<_>>(), rows(0..20_000));
}

/// Of two drivers with the same rows one is refused, says why, and leaves no files.
#[test]
fn of_two_drivers_one_is_fenced() {
    for keyed in [false, true] {
        let house = House::new(&[]);
        let table = house.home.create("t", &descriptor(keyed, 2, &[]));
        table.put(&rows(0..40));
        let first = write(&house, &work(&house));
        let files = data_files(&house.warehouse());
        let second = write(&house, &work(&house));
        commit(&house, &second).unwrap();
        let e = commit(&house, &first).unwrap_err();
        assert_eq!(data_files(&house.warehouse()), files, "files of the refused are gone");
        assert_error(&e, ErrorKind::Fenced, Subject::Table, &["another tiering job", "this one has written nothing"]);
        let told = house.home.store.lake_snapshot(&path("t")).unwrap();
        assert!(told.error.as_ref().is_some_and(|e| e.contains("another tiering job")), "{told:?}");
        table.put(&rows(40..60));
        let third = write(&house, &work(&house));
        let files = data_files(&house.warehouse());
        // The engine's own rounds are a driver like any other.
        house.tier("t");
        assert_error(&commit(&house, &third).unwrap_err(), ErrorKind::Fenced, Subject::Table, &[]);
        assert_eq!(house.in_lake("t").into_iter().map(|(row, _)| row).collect::<Vec<_>>(), rows(0..60));
        assert_eq!(data_files(&house.warehouse()), files, "files of the refused are gone");
        assert_eq!(work(&house), []);
    }
}

/// A part is committed once, and not by a driver of a process that is gone.
#[test]
fn parts_end_with_their_commit_and_with_the_store() {
    let mut house = House::new(&[]);
    house.home.create("t", &descriptor(false, 2, &[]));
    for step in 0..4 {
        let table = house.home.table("t");
        table.put(&rows(step * 10..step * 10 + 10));
        let parts = write(&house, &work(&house));
        if step % 2 == 0 {
            commit(&house, &parts).unwrap();
        } else {
            house = if step == 1 { house.reopen() } else { house.killed() };
        }
        let e = commit(&house, &parts).unwrap_err();
        assert_error(&e, ErrorKind::NotFound, Subject::File, &["has been committed", "ask for the work again"]);
    }
    let parts = write(&house, &work(&house));
    commit(&house, &parts).unwrap();
    assert_eq!(house.in_lake("t").into_iter().map(|(row, _)| row).collect::<Vec<_>>(), rows(0..40));
}

#[test]
fn a_store_that_closes_leaves_no_files_of_parts() {
    let house = House::new(&[]);
    house.home.create("t", &descriptor(false, 2, &[])).put(&rows(0..10));
    write(&house, &work(&house));
    assert!(data_files(&house.warehouse()) > 0);
    let house = house.reopen();
    assert_eq!(data_files(&house.warehouse()), 0);
}

/// Rows of a table that is gone do not get into one of the same name.
#[test]
fn parts_of_a_dropped_table_reach_no_other() {
    let house = House::new(&[]);
    house.home.create("t", &descriptor(false, 1, &[])).put(&rows(0..10));
    let stale = work(&house);
    let parts = write(&house, &stale);
    house.home.store.drop_table(&path("t"), false).unwrap();
    assert_eq!(data_files(&house.warehouse()), 0);
    let table = house.home.create("t", &descriptor(false, 1, &[]));
    table.put(&[row(7, "another", 7)]);
    assert_error(&commit(&house, &parts).unwrap_err(), ErrorKind::NotFound, Subject::File, &[]);
    let e = house.home.store.tier_write(&stale[0], WAIT).unwrap_err();
    assert_error(&e, ErrorKind::NotFound, Subject::Table, &[]);
    commit(&house, &write(&house, &work(&house))).unwrap();
    assert_eq!(house.in_lake("t").into_iter().map(|(row, _)| row).collect::<Vec<_>>(), [row(7, "another", 7)]);
}
