use super::*;
use crate::{TypeRoot, arrow_field};
use arrow_array::{ArrayRef, Decimal128Array, Int32Array, StringArray, TimestampMicrosecondArray};
use arrow_schema::Schema as ArrowSchema;
use std::sync::Arc;

fn batch(columns: Vec<(TypeRoot, ArrayRef)>) -> (Vec<DataType>, RecordBatch) {
    let (types, arrays): (Vec<DataType>, Vec<ArrayRef>) =
        columns.into_iter().map(|(root, array)| (DataType::new(root), array)).unzip();
    let fields: Vec<_> = types.iter().map(|t| arrow_field("c", t)).collect();
    (types, RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays).unwrap())
}

fn written(columns: Vec<(TypeRoot, ArrayRef)>) -> (Vec<u8>, Vec<u32>) {
    let (types, rows) = batch(columns);
    let (mut out, mut starts) = (Vec::new(), Vec::new());
    BinaryRowWriter::new(&types).write(&rows, &mut out, &mut starts).unwrap();
    (out, starts)
}

/// Flink's row serializer sets the null bit and leaves the slot empty, even where its generated code, and Paimon, keep room.
#[test]
fn null_of_a_wide_type_takes_no_room() {
    let time: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![None, Some(-1)]));
    let decimal = Decimal128Array::from(vec![None, Some(-1)]).with_precision_and_scale(38, 10).unwrap();
    let five: ArrayRef = Arc::new(Int32Array::from(vec![5, 5]));
    let (out, starts) = written(vec![
        (TypeRoot::Timestamp { precision: 6 }, time),
        (TypeRoot::Decimal { precision: 38, scale: 10 }, Arc::new(decimal)),
        (TypeRoot::Int, five),
    ]);
    assert_eq!(starts, [0, 32, 88]);
    let mut due = [0; 32];
    due[1] = 0b11;
    due[24] = 5;
    assert_eq!(out[..32], due);
    let present = &out[32..];
    assert_eq!(present[8..16], (32_u64 << 32 | 999_000).to_le_bytes());
    assert_eq!(present[16..24], (40_u64 << 32 | 1).to_le_bytes());
    assert_eq!(present[32..40], (-1_i64).to_le_bytes());
    assert_eq!(present[40..56], [0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

/// Lengths around every limit of the copying loops, with the text at the very end of its buffer and before other text.
#[test]
fn text_of_every_length_is_copied_and_padded() {
    let texts: Vec<String> = (0..300).map(|n| "0123456789abcdef".chars().cycle().take(n).collect()).collect();
    for last in [0, 7, 8, 9, 127, 128, 129, 136, 299] {
        let these: Vec<&str> = texts.iter().take(last + 1).map(String::as_str).collect();
        let (out, starts) = written(vec![(TypeRoot::String, Arc::new(StringArray::from(these.clone())))]);
        for (text, place) in these.iter().zip(starts.windows(2)) {
            let row = &out[place[0] as usize..place[1] as usize];
            let mut due = vec![0; 16];
            if text.len() <= 7 {
                due[8..8 + text.len()].copy_from_slice(text.as_bytes());
                due[15] = 0x80 | text.len() as u8;
            } else {
                due[8..].copy_from_slice(&(16_u64 << 32 | text.len() as u64).to_le_bytes());
                due.extend(text.bytes());
                due.resize(due.len().next_multiple_of(8), 0);
            }
            assert_eq!(row, due, "{} bytes, {last} the longest", text.len());
        }
    }
}

#[test]
fn text_that_a_null_hides_leaves_no_trace() {
    let texts = StringArray::from(vec!["seen", "hidden text of some length", "seen too, at length"]);
    let nulls = Some(vec![true, false, true].into());
    let texts = StringArray::new(texts.offsets().clone(), texts.values().clone(), nulls);
    let (out, starts) = written(vec![(TypeRoot::String, Arc::new(texts))]);
    assert_eq!(starts, [0, 16, 32, 72]);
    assert_eq!(out[16..32], [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn no_columns_and_no_rows_are_written_too() {
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(3));
    let rows = RecordBatch::try_new_with_options(Arc::new(ArrowSchema::empty()), Vec::new(), &options).unwrap();
    let (mut out, mut starts) = (Vec::new(), Vec::new());
    BinaryRowWriter::new(&[]).write(&rows, &mut out, &mut starts).unwrap();
    assert_eq!((out, starts), (vec![0; 24], vec![0, 8, 16, 24]));
    let (out, starts) = written(vec![(TypeRoot::Int, Arc::new(Int32Array::from(Vec::<i32>::new())))]);
    assert_eq!((out, starts), (vec![], vec![0]));
}

#[test]
fn more_than_64_columns_have_a_second_word_of_null_bits() {
    for count in [55, 56, 57, 64, 119, 120, 121] {
        let column =
            |i: usize| -> ArrayRef { Arc::new(Int32Array::from(vec![(!i.is_multiple_of(3)).then_some(i as i32)])) };
        let (out, _) = written((0..count).map(|i| (TypeRoot::Int, column(i))).collect());
        let slots = null_bits_bytes(count);
        assert_eq!(out.len(), slots + 8 * count);
        for i in 0..count {
            let null = out[(8 + i) / 8] >> ((8 + i) % 8) & 1 == 1;
            let value = if null { 0 } else { i as u64 };
            assert_eq!((null, &out[slots + 8 * i..][..8]), (i.is_multiple_of(3), &value.to_le_bytes()[..]));
        }
    }
}

#[test]
fn positions_beyond_a_java_array_are_refused() {
    assert_eq!(position(i32::MAX as usize).unwrap(), i32::MAX as u32);
    assert!(position(i32::MAX as usize + 1).unwrap_err().message().contains("2 GiB"));
}
