//! Snapshots of others between ours, as a compaction job or an expiry by Paimon leaves them.

use crate::fixture::{bucket, create, foreign_snapshot, offsets, open, round, snapshot_file};
use sluice_base::ErrorKind;

#[test]
fn offsets_are_found_behind_snapshots_of_others() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(dir.path(), true);
    round(&table, "u", 0, None, 0..10).unwrap();
    foreign_snapshot(dir.path());
    foreign_snapshot(dir.path());
    let tiered = table.tiered().unwrap();
    assert_eq!((tiered.snapshot, tiered.offsets.end(&bucket(0))), (Some(1), Some(10)));
    assert_eq!(round(&table, "u", 0, None, 0..10).unwrap_err().kind(), ErrorKind::Fenced);
    assert_eq!(round(&table, "u", 0, Some(10), 10..12).unwrap().id, 4);
    assert_eq!(offsets(&table), (0..12).collect::<Vec<_>>());
}

#[test]
fn offsets_outlive_the_expiry_of_all_snapshots_of_ours() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(dir.path(), false);
    round(&table, "u", 0, None, 0..10).unwrap();
    round(&table, "u", 0, Some(10), 10..20).unwrap();
    for _ in 0..3 {
        foreign_snapshot(dir.path());
    }
    for id in 1..4 {
        std::fs::remove_file(snapshot_file(dir.path(), id)).unwrap();
    }
    let table = open(dir.path());
    assert_eq!(table.tiered().unwrap().offsets.end(&bucket(0)), Some(20));
    assert_eq!(round(&table, "u", 0, None, 0..10).unwrap_err().kind(), ErrorKind::Fenced);
    round(&table, "u", 0, Some(20), 20..25).unwrap();
    assert_eq!(offsets(&table), (0..25).collect::<Vec<_>>());

    // Without the tag too, nothing tells how far the lake is: beginning anew would double every row.
    std::fs::remove_file(snapshot_file(dir.path(), 6)).unwrap();
    std::fs::remove_file(dir.path().join("db.db/t/tag/tag-sluice-tiered")).unwrap();
    let e = table.tiered().unwrap_err();
    assert!(e.kind() == ErrorKind::Conflict && e.message().contains("sluice-tiered"), "{e}");
}

#[test]
fn a_lagging_hint_is_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    let table = create(dir.path(), false);
    round(&table, "u", 0, None, 0..10).unwrap();
    round(&table, "u", 0, Some(10), 10..20).unwrap();
    let hint = dir.path().join("db.db/t/snapshot/LATEST");
    assert_eq!(std::fs::read(&hint).unwrap(), b"2");
    for wrong in ["1", "77", "nonsense", ""] {
        std::fs::write(&hint, wrong).unwrap();
        assert_eq!(table.newest().unwrap().unwrap().id, 2, "{wrong}");
    }
}
