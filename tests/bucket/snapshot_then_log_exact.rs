use crate::fixture::{self, Row, home, read, row, rows_of};
use sluice_api::{Connection, ScanBatch, ScanStart};
use sluice_row::ChangeKind;
use std::collections::BTreeMap;

fn apply(rows: &mut BTreeMap<i32, Row>, batches: &[ScanBatch]) {
    for (kind, offset, row) in read(batches) {
        match kind {
            ChangeKind::UpdateBefore | ChangeKind::Delete => assert_eq!(rows.remove(&row.0), Some(row)),
            _ => assert_eq!(rows.insert(row.0, row), None, "at offset {offset}"),
        }
    }
}

/// Keys of the tail larger than, smaller than, and among those of the snapshot; either part may be empty.
#[test]
fn snapshot_and_tail_make_the_state_with_nothing_lost_or_doubled() {
    let home = home();
    let ranges = [(0..100, 100..200), (100..200, 0..100), (0..200, 50..150), (0..0, 0..50), (0..50, 0..0)];
    for (i, (before, after)) in ranges.into_iter().enumerate() {
        let table = home.create(&format!("t{i}"), &fixture::descriptor(true));
        table.put(&before.clone().map(|i| row(i, "before", i)).collect::<Vec<_>>());
        let (snapshot, offset) = home.store.acquire_snapshots(&[table.bucket(0)], "job", 60_000).unwrap()[0];
        assert_eq!(offset, table.end(0));
        table.put(&after.clone().map(|i| row(i, "after", i)).collect::<Vec<_>>());
        table.delete(&[55]);
        let end = table.end(0);
        let start = ScanStart::Snapshot { snapshot, skip_rows: 0 };
        let batches = table.batches(0, None, start, Some(end));
        let in_snapshot: usize = batches.iter().filter(|b| b.base_offset == -1).map(|b| b.rows.num_rows()).sum();
        assert_eq!(in_snapshot, before.len());
        let mut rows = BTreeMap::new();
        apply(&mut rows, &batches);
        assert_eq!(rows, table.current(), "case {i}");
    }
}

#[test]
fn a_reader_restored_anywhere_reads_the_rest_exactly() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    table.put(&(0..2500).map(|i| row(i, "before", i)).collect::<Vec<_>>());
    let (snapshot, _) = home.store.acquire_snapshots(&[table.bucket(0)], "job", 60_000).unwrap()[0];
    table.put(&(0..10).map(|i| row(i * 300, "after", i)).collect::<Vec<_>>());
    let end = table.end(0);
    let all = table.batches(0, None, ScanStart::Snapshot { snapshot, skip_rows: 0 }, Some(end));
    assert_eq!(all[0].next, ScanStart::Snapshot { snapshot, skip_rows: 1000 });
    for (i, batch) in all.iter().enumerate() {
        let rest = table.batches(0, None, batch.next.clone(), Some(end));
        assert_eq!(read(&rest), read(&all[i + 1..]), "restored at {:?}", batch.next);
    }
    let middle = table.batches(0, None, ScanStart::Snapshot { snapshot, skip_rows: 1234 }, Some(end));
    assert_eq!(rows_of(&middle[0].rows)[..], all.iter().flat_map(|b| rows_of(&b.rows)).collect::<Vec<_>>()[1234..2234]);
}
