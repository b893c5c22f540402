use super::*;
use arrow_array::{Int32Array, RecordBatch};
use arrow_schema::{DataType as ArrowType, Field, Schema};
use sluice_row::{DataType, TypeRoot};
use std::sync::Arc;

fn rows(values: Vec<i32>) -> RecordBatch {
    let schema = Arc::new(Schema::new(vec![Field::new("a", ArrowType::Int32, true)]));
    RecordBatch::try_new(schema, vec![Arc::new(Int32Array::from(values))]).unwrap()
}

fn writer() -> BlockWriter {
    BlockWriter::new(BinaryRowWriter::new(&[DataType::new(TypeRoot::Int)]))
}

fn int(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn long(bytes: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

#[test]
fn a_changelog_batch_byte_for_byte() {
    let batch = ScanBatch {
        split: 7,
        rows: rows(vec![11, 12, 13]),
        kinds: Some(vec![ChangeKind::UpdateBefore, ChangeKind::UpdateAfter, ChangeKind::Delete]),
        base_offset: 100,
        next: ScanStart::Log { offset: 103 },
        timestamp_ms: 1_700_000_000_000,
        finished: true,
    };
    let mut writer = writer();
    for _ in 0..2 {
        // The second time through kept buffers.
        let bytes = writer.scan(&batch).unwrap();
        assert_eq!([int(bytes, 0), int(bytes, 4), int(bytes, 8), int(bytes, 12)], [1, 7, 3, HAS_KINDS | FINISHED]);
        assert_eq!(
            [long(bytes, 16), long(bytes, 24), long(bytes, 32), long(bytes, 40)],
            [103, 100, 1_700_000_000_000, 0]
        );
        let starts: Vec<usize> = (0..4).map(|i| int(bytes, 48 + 4 * i) as usize).collect();
        assert_eq!(&bytes[64..67], [1, 2, 3], "kinds");
        assert_eq!(starts, [72, 88, 104, 120], "aligned to 8 after the kinds, 16 bytes a row");
        assert_eq!(bytes.len(), 120);
        for (i, value) in [11_i64, 12, 13].into_iter().enumerate() {
            assert_eq!([long(bytes, starts[i]), long(bytes, starts[i] + 8)], [0, value]);
        }
    }
}

#[test]
fn snapshot_progress_and_ends_without_rows() {
    let batch = ScanBatch {
        split: 1,
        rows: rows(vec![]),
        kinds: None,
        base_offset: -1,
        next: ScanStart::Snapshot { snapshot: 4, skip_rows: 55 },
        timestamp_ms: -1,
        finished: false,
    };
    let mut writer = writer();
    let bytes = writer.scan(&batch).unwrap();
    assert_eq!([int(bytes, 8), int(bytes, 12)], [0, NEXT_COUNTS_SNAPSHOT_ROWS]);
    assert_eq!((long(bytes, 16), int(bytes, 48) as usize, bytes.len()), (55, 56, 56));
}

#[test]
fn a_lookup_tells_where_each_keys_rows_end() {
    let found = LookupRows { rows: rows(vec![5, 6]), ends: vec![0, 2, 2] };
    let mut writer = writer();
    let bytes = writer.lookup(&found).unwrap();
    assert_eq!([int(bytes, 8), int(bytes, 12), int(bytes, 40)], [2, IS_LOOKUP, 3]);
    let ends: Vec<u32> = (0..3).map(|i| int(bytes, 48 + 12 + 4 * i)).collect();
    assert_eq!(ends, [0, 2, 2]);
    assert_eq!(int(bytes, 48), 72);
}

#[test]
fn kinds_that_do_not_match_are_our_defect() {
    let mut batch = ScanBatch {
        split: 1,
        rows: rows(vec![1]),
        kinds: Some(Vec::new()),
        base_offset: 0,
        next: ScanStart::Log { offset: 1 },
        timestamp_ms: 0,
        finished: false,
    };
    assert!(writer().scan(&batch).is_err());
    batch.kinds = None;
    assert!(writer().scan(&batch).is_ok());
}
