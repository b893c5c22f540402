use super::*;
use crate::{DataType, TypeRoot};
use arrow_array::cast::AsArray;
use arrow_array::types as arrow;
use arrow_array::{ArrayRef, Float32Array, Int32Array, ListArray, StringArray};
use arrow_buffer::OffsetBuffer;
use sluice_base::{ErrorKind, Result};
use std::sync::Arc;

fn decode(types: &[DataType], row: &[u8]) -> Result<arrow_array::RecordBatch> {
    let mut rows = RowDecoder::new(types, None).builder(1);
    rows.push(row)?;
    rows.finish()
}

/// A stored value seen in a running Fluss 0.9.1, without its schema id.
#[test]
fn a_row_is_null_bits_and_values() {
    let types = [TypeRoot::Int, TypeRoot::String].map(DataType::new);
    let columns: [ArrayRef; 2] = [Arc::new(Int32Array::from(vec![1])), Arc::new(StringArray::from(vec!["java1"]))];
    let mut out = Vec::new();
    RowEncoder::new(&types).bind(&columns).unwrap().encode(0, &mut out);
    assert_eq!(out, b"\x00\x01\x05java1");
    assert_eq!(decode(&types, &out).unwrap().columns(), columns);
}

#[test]
fn a_decimal_with_too_many_digits_is_corrupt() {
    let small = [DataType::new(TypeRoot::Decimal { precision: 2, scale: 0 })];
    assert_eq!(decode(&small, &[0, 99]).unwrap().column(0).as_primitive::<arrow::Decimal128Type>().value(0), 99);
    assert_eq!(decode(&small, &[0, 100]).unwrap_err().kind(), ErrorKind::Corrupt);
    let wide = [DataType::new(TypeRoot::Decimal { precision: 38, scale: 0 })];
    let most = [&[0, 16, 0x7f][..], &[0xff; 15]].concat();
    assert_eq!(decode(&wide, &most).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn a_timestamp_beyond_its_unit_is_corrupt() {
    let nanos = [DataType::new(TypeRoot::Timestamp { precision: 9 })];
    let most = [&[0][..], &[0xff; 8], &[0x7f, 0]].concat();
    assert_eq!(decode(&nanos, &most).unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(decode(&nanos, &[0, 1, 0xbf, 0x84, 0x3d]).is_ok(), "999,999 ns within the millisecond");
    assert_eq!(
        decode(&nanos, &[0, 1, 0xc0, 0x84, 0x3d]).unwrap_err().kind(),
        ErrorKind::Corrupt,
        "a whole millisecond"
    );
}

#[test]
fn null_where_none_may_be_is_corrupt() {
    let types = [DataType::new(TypeRoot::Int).not_null()];
    let e = decode(&types, &[1]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corrupt);
}

#[test]
fn text_that_is_not_utf8_is_corrupt() {
    assert_eq!(decode(&[DataType::new(TypeRoot::String)], b"\x00\x01\xff").unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn a_builder_that_met_damage_gives_no_batch() {
    let mut rows = RowDecoder::new(&[TypeRoot::Int, TypeRoot::String].map(DataType::new), None).builder(2);
    rows.push(b"\x00\x01\x01a").unwrap();
    assert_eq!(rows.push(b"\x00\x01\x09a").unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(rows.finish().unwrap_err().kind(), ErrorKind::Corrupt);
}

/// Flink and Fluss write one NaN into arrays, whatever its bits, so that equal arrays have equal bytes.
#[test]
fn arrays_know_one_nan() {
    let element = DataType::new(TypeRoot::Float);
    let odd = f32::from_bits(0xffc0_1234);
    let types = [DataType::new(TypeRoot::Array(Box::new(element.clone())))];
    let list = ListArray::new(
        Arc::new(crate::arrow_field("element", &element)),
        OffsetBuffer::from_lengths([1]),
        Arc::new(Float32Array::from(vec![odd])),
        None,
    );
    let mut out = Vec::new();
    RowEncoder::new(&types).bind(&[Arc::new(list) as ArrayRef]).unwrap().encode(0, &mut out);
    assert_eq!(out[10..14], f32::NAN.to_le_bytes());
    let mut alone = Vec::new();
    let column = [Arc::new(Float32Array::from(vec![odd])) as ArrayRef];
    RowEncoder::new(&[element]).bind(&column).unwrap().encode(0, &mut alone);
    assert_eq!(alone[1..], odd.to_le_bytes(), "a row keeps its bits");
}
