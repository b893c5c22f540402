//! A second tiering job, and one that was thought dead.

use crate::fixture::{bucket, create, offsets, open, round};
use sluice_base::ErrorKind;
use std::path::Path;

fn files(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path.display().to_string());
        }
    }
    found.sort();
    found
}

#[test]
fn a_round_that_comes_too_late_is_fenced_and_leaves_nothing() {
    for keyed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let table = create(dir.path(), keyed);
        round(&table, "one", 0, None, 0..10).unwrap();
        let zombie = open(dir.path());
        round(&table, "one", 0, Some(10), 10..20).unwrap();
        let before = files(dir.path());
        for late in [round(&zombie, "two", 0, Some(10), 10..15), round(&zombie, "two", 0, None, 0..10)] {
            let e = late.unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Fenced, "{e}");
            assert!(
                e.message().contains("db.t") && e.message().contains("bucket 0") && e.message().contains("20"),
                "{e}"
            );
        }
        // One that begins too far on would leave a hole.
        assert_eq!(round(&zombie, "two", 0, Some(25), 25..30).unwrap_err().kind(), ErrorKind::Fenced);
        assert_eq!(files(dir.path()), before);
        assert_eq!(offsets(&zombie), (0..20).collect::<Vec<_>>());
        // Another bucket is nobody's yet.
        round(&zombie, "two", 1, None, 100..103).unwrap();
        let tiered = table.tiered().unwrap();
        assert_eq!((tiered.offsets.end(&bucket(0)), tiered.offsets.end(&bucket(1))), (Some(20), Some(103)));
    }
}

#[test]
fn of_rounds_that_race_for_the_same_rows_one_wins() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(dir.path(), false);
    for step in 0..6_i64 {
        let start = (step > 0).then_some(step * 10);
        let outcomes: Vec<bool> = std::thread::scope(|scope| {
            let racers = ["a", "b", "c"].map(|user| {
                let table = open(dir.path());
                scope.spawn(move || match round(&table, user, 0, start, step * 10..step * 10 + 10) {
                    Ok(_) => true,
                    Err(e) if e.kind() == ErrorKind::Fenced => false,
                    Err(e) => panic!("{e}"),
                })
            });
            racers.into_iter().map(|r| r.join().unwrap()).collect()
        });
        assert_eq!(outcomes.iter().filter(|won| **won).count(), 1);
    }
    assert_eq!(offsets(&table), (0..60).collect::<Vec<_>>());
}

#[test]
fn rounds_of_different_buckets_race_and_all_land() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(dir.path(), false);
    std::thread::scope(|scope| {
        for at in 0..4 {
            let table = open(dir.path());
            scope.spawn(move || {
                let first = i64::from(at) * 1000;
                for step in 0..5_i64 {
                    let from = first + step * 3;
                    round(&table, "racer", at, (step > 0).then_some(from), from..from + 3).unwrap();
                }
            });
        }
    });
    let wanted: Vec<i64> = (0..4).flat_map(|b| b * 1000..b * 1000 + 15).collect();
    assert_eq!(offsets(&table), wanted);
    let newest = table.newest().unwrap().unwrap();
    assert_eq!((newest.id, newest.total_record_count), (20, 60));
    assert!((1..=20).all(|id| table.snapshot(id).unwrap().is_some()));
}
