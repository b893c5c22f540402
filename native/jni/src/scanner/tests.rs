use super::*;
use arrow_array::{Array, Int32Array, RecordBatch};
use sluice_row::{ChangeKind, TypeRoot};
use std::sync::Arc;

fn batch(rows: i32, base_offset: i64, next: ScanStart) -> ScanBatch {
    let values = (0..rows).collect::<Vec<_>>();
    let rows = RecordBatch::try_from_iter([("a", Arc::new(Int32Array::from(values)) as Arc<dyn Array>)]).unwrap();
    let kinds =
        Some((0..rows.num_rows()).map(|i| if i % 2 == 0 { ChangeKind::Insert } else { ChangeKind::Delete }).collect());
    ScanBatch { split: 3, rows, kinds, base_offset, next, timestamp_ms: 9, finished: true }
}

/// Rows, kinds, base offset, next, finished of all pieces; `before` rows of snapshot 1 came earlier.
fn pieces(batch: ScanBatch, rows: usize, before: Option<u64>) -> Vec<(usize, usize, i64, ScanStart, bool)> {
    let mut out = Vec::new();
    let mut sending =
        Sending { block: BlockWriter::new(BinaryRowWriter::new(&[])), rest: None, rows, snapshots: HashMap::new() };
    if let Some(skip_rows) = before {
        sending.note(3, &ScanStart::Snapshot { snapshot: 1, skip_rows });
    }
    let mut rest = Some(batch);
    while let Some(batch) = rest {
        let (now, left) = split(batch, rows, &sending.snapshots);
        sending.note(3, &now.next);
        assert_eq!((now.split, now.timestamp_ms), (3, 9));
        out.push((now.rows.num_rows(), now.kinds.map_or(0, |k| k.len()), now.base_offset, now.next, now.finished));
        rest = left;
    }
    out
}

#[test]
fn pieces_of_a_log_batch_each_say_where_to_go_on() {
    let log = |offset| ScanStart::Log { offset };
    // The batch ended before offset 120: something without rows may follow its last row.
    let found = pieces(batch(10, 100, log(120)), 4, None);
    assert_eq!(found, [(4, 4, 100, log(104), false), (4, 4, 104, log(108), false), (2, 2, 108, log(120), true)]);
}

#[test]
fn pieces_of_a_snapshot_batch_count_rows() {
    let skip = |skip_rows| ScanStart::Snapshot { snapshot: 1, skip_rows };
    let found = pieces(batch(10, -1, skip(50)), 4, Some(40));
    assert_eq!(found, [(4, 4, -1, skip(44), false), (4, 4, -1, skip(48), false), (2, 2, -1, skip(50), true)]);
}

#[test]
fn the_last_batch_of_a_snapshot_counts_on_from_those_before() {
    let skip = |skip_rows| ScanStart::Snapshot { snapshot: 1, skip_rows };
    let log = ScanStart::Log { offset: 70 };
    let found = pieces(batch(10, -1, log.clone()), 4, Some(40));
    assert_eq!(found, [(4, 4, -1, skip(44), false), (4, 4, -1, skip(48), false), (2, 2, -1, log.clone(), true)]);
    assert_eq!(pieces(batch(10, -1, log.clone()), 4, None), [(10, 10, -1, log, true)], "nobody could go on inside");
}

#[test]
fn small_batches_stay_whole() {
    assert_eq!(pieces(batch(4, 0, ScanStart::Log { offset: 4 }), 4, None).len(), 1);
    assert_eq!(pieces(batch(0, 0, ScanStart::Log { offset: 4 }), 4, None).len(), 1);
    assert_eq!(pieces(batch(9, -1, ScanStart::Current), 4, None).len(), 3);
}

#[test]
fn wide_rows_make_blocks_of_few() {
    let wide = |bytes: usize, rows: usize| {
        let text = arrow_array::StringArray::from_iter_values((0..rows).map(|_| "x".repeat(bytes)));
        RecordBatch::try_from_iter([("s", Arc::new(text) as Arc<dyn Array>)]).unwrap()
    };
    assert_eq!(rows_of_a_block(&wide(10 << 20, 3)), 1);
    assert!((100..200).contains(&rows_of_a_block(&wide(900, 1000))));
    // A slice counts its own rows only.
    assert!((100..200).contains(&rows_of_a_block(&wide(900, 1000).slice(500, 10))));
    assert!(rows_of_a_block(&wide(0, 0)) >= 1);
}

#[test]
fn projections_are_checked_and_spelt_out() {
    let schema = Schema::new(
        vec![crate::fake::column("a", TypeRoot::Int), crate::fake::column("b", TypeRoot::String)],
        Vec::new(),
    );
    assert_eq!(project(&schema, None).unwrap().0, [0, 1]);
    let (at, types) = project(&schema, Some(vec![1, 1])).unwrap();
    assert_eq!((at, types[1].root.clone()), (vec![1, 1], TypeRoot::String));
    assert!(project(&schema, Some(Vec::new())).unwrap().1.is_empty());
    assert_eq!(project(&schema, Some(vec![2])).unwrap_err().subject(), Subject::Column);
}
