use super::*;
use crate::bucket::hash;
use crate::{BucketFunction, TypeRoot, arrow_type};
use arrow_array::{
    BooleanArray, Date32Array, Decimal128Array, Int8Array, Int32Array, Int64Array, StringArray,
    TimestampMicrosecondArray, TimestampMillisecondArray,
};
use std::sync::Arc;

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

fn key(format: KeyFormat, columns: Vec<(TypeRoot, ArrayRef)>) -> Result<Vec<u8>> {
    let (roots, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let types: Vec<DataType> = roots.into_iter().map(DataType::new).collect();
    let mut out = Vec::new();
    KeyEncoder::new(format, &types)?.bind(&arrays)?.encode(0, &mut out)?;
    Ok(out)
}

fn int(v: impl Into<Option<i32>>) -> (TypeRoot, ArrayRef) {
    (TypeRoot::Int, Arc::new(Int32Array::from(vec![v.into()])))
}

fn bigint(v: i64) -> (TypeRoot, ArrayRef) {
    (TypeRoot::BigInt, Arc::new(Int64Array::from(vec![v])))
}

fn text(v: &str) -> (TypeRoot, ArrayRef) {
    (TypeRoot::String, Arc::new(StringArray::from(vec![v])))
}

fn decimal(precision: u8, scale: u8, v: Option<i128>) -> (TypeRoot, ArrayRef) {
    let root = TypeRoot::Decimal { precision, scale };
    let array = Decimal128Array::from(vec![v]).with_data_type(arrow_type(&DataType::new(root.clone())));
    (root, Arc::new(array))
}

fn millis(v: i64) -> (TypeRoot, ArrayRef) {
    (TypeRoot::Timestamp { precision: 3 }, Arc::new(TimestampMillisecondArray::from(vec![v])))
}

fn micros(v: Option<i64>) -> (TypeRoot, ArrayRef) {
    (TypeRoot::Timestamp { precision: 6 }, Arc::new(TimestampMicrosecondArray::from(vec![v])))
}

/// Row bytes and hashes computed by Java's paimon-bundle 1.4.2.
#[test]
fn paimon_keys_and_hashes_are_those_of_paimon() {
    let boolean = (TypeRoot::Boolean, Arc::new(BooleanArray::from(vec![true])) as ArrayRef);
    let tinyint = (TypeRoot::TinyInt, Arc::new(Int8Array::from(vec![-1])) as ArrayRef);
    let date = (TypeRoot::Date, Arc::new(Date32Array::from(vec![20_000])) as ArrayRef);
    let vectors = [
        (vec![int(1)], "0000000000000000 0100000000000000", 1_465_514_398),
        (vec![bigint(1)], "0000000000000000 0100000000000000", 1_465_514_398),
        (vec![boolean], "0000000000000000 0100000000000000", 1_465_514_398),
        (vec![int(-3)], "0000000000000000 fdffffff00000000", -528_982_515),
        (vec![int(None)], "0001000000000000 0000000000000000", -1_748_325_344),
        (vec![bigint(1_234_567_890_123)], "0000000000000000 cb04fb711f010000", -1_873_221_036),
        (vec![text("a")], "0000000000000000 6100000000000081", 943_281_246),
        (vec![text("1234567")], "0000000000000000 3132333435363787", 199_144_172),
        (vec![text("12345678")], "0000000000000000 0800000010000000 3132333435363738", -391_021_801),
        (vec![text("hello world")], "0000000000000000 0b00000010000000 68656c6c6f20776f 726c640000000000", 161_593_394),
        (vec![text("中文")], "0000000000000000 e4b8ade696870086", 1_956_728_004),
        (vec![date], "0000000000000000 204e000000000000", 1_668_009_018),
        (vec![millis(1_700_000_000_123)], "0000000000000000 7b68e5cf8b010000", -1_285_420_957),
        (
            vec![micros(Some(1_700_000_000_123_456))],
            "0000000000000000 40f5060010000000 7b68e5cf8b010000",
            1_196_670_069,
        ),
        (vec![decimal(10, 2, Some(12_345))], "0000000000000000 3930000000000000", 767_607_022),
        (
            vec![decimal(38, 10, Some(12_345_678_901_230_123_456_789))],
            "0000000000000000 0a00000010000000 029d42b64e756859 9915000000000000",
            -607_937_109,
        ),
        (
            vec![decimal(38, 10, Some(-1))],
            "0000000000000000 0100000010000000 ff00000000000000 0000000000000000",
            907_730_780,
        ),
        (vec![int(7), text("abc")], "0000000000000000 0700000000000000 6162630000000083", 1_593_333_451),
        (
            vec![text("hello world"), bigint(42)],
            "0000000000000000 0b00000018000000 2a00000000000000 68656c6c6f20776f 726c640000000000",
            465_839_122,
        ),
        (vec![int(None), text("x")], "0001000000000000 0000000000000000 7800000000000081", 398_608_515),
        (vec![tinyint], "0000000000000000 ff00000000000000", 2_004_758_659),
        (
            vec![micros(None), int(5)],
            "0001000000000000 0000000018000000 0500000000000000 0000000000000000",
            355_866_870,
        ),
        (
            vec![decimal(38, 10, None), int(5)],
            "0001000000000000 0000000018000000 0500000000000000 00000000000000000000000000000000",
            265_042_173,
        ),
        (vec![micros(Some(-1))], "0000000000000000 583e0f0010000000 ffffffffffffffff", 1_236_894_319),
    ];
    for (columns, bytes, due) in vectors {
        let key = key(KeyFormat::Paimon, columns).unwrap();
        assert_eq!(key, hex(bytes));
        assert_eq!(hash(&key), due, "{bytes}");
    }
}

/// Buckets of the same keys, from the same source.
#[test]
fn paimon_buckets_are_those_of_paimon() {
    let bucket = |columns, buckets| BucketFunction::Paimon.bucket(&key(KeyFormat::Paimon, columns).unwrap(), buckets);
    assert_eq!([2, 3, 7, 16, 128].map(|n| bucket(vec![int(-3)], n)), [1, 0, 5, 3, 115]);
    assert_eq!([2, 3, 7, 16, 128].map(|n| bucket(vec![int(None)], n)), [0, 2, 3, 0, 96]);
    assert_eq!([2, 3, 7, 16, 128].map(|n| bucket(vec![text("hello world"), bigint(42)], n)), [0, 1, 0, 2, 18]);
}

#[test]
fn compacted_keys_are_values_without_null_bits() {
    let key = key(KeyFormat::Compacted, vec![int(200), text("aé"), millis(-1)]).unwrap();
    assert_eq!(key, hex("c801 03 61c3a9 ffffffffffffffffff01"));
}

#[test]
fn a_compacted_key_refuses_null_and_appends_nothing() {
    let types = [DataType::new(TypeRoot::Int), DataType::new(TypeRoot::Int)];
    let columns: [ArrayRef; 2] =
        [Arc::new(Int32Array::from(vec![1, 2])), Arc::new(Int32Array::from(vec![Some(1), None]))];
    let encoder = KeyEncoder::new(KeyFormat::Compacted, &types).unwrap();
    let keys = encoder.bind(&columns).unwrap();
    let mut out = vec![9];
    let e = keys.encode(1, &mut out).unwrap_err();
    assert_eq!((e.kind(), out), (sluice_base::ErrorKind::Invalid, vec![9]));
    assert!(e.message().contains("column 2"), "{e}");
    assert!(keys.has_null(1) && !keys.has_null(0));
}

#[test]
fn nested_columns_are_no_keys() {
    let list = DataType::new(TypeRoot::Array(Box::new(DataType::new(TypeRoot::Int))));
    let e = KeyEncoder::new(KeyFormat::Paimon, &[list]).unwrap_err();
    assert!(e.message().contains("ARRAY<INT>"), "{e}");
}

#[test]
fn arrays_of_another_type_are_refused() {
    let encoder = KeyEncoder::new(KeyFormat::Paimon, &[DataType::new(TypeRoot::Int)]).unwrap();
    let e = encoder.bind(&[Arc::new(Int64Array::from(vec![1])) as ArrayRef]).unwrap_err();
    assert!(e.message().contains("Int32") && e.message().contains("Int64"), "{e}");
    assert!(encoder.bind(&[]).is_err());
}

#[test]
fn keys_are_read_back() {
    let types = [
        TypeRoot::Int,
        TypeRoot::BigInt,
        TypeRoot::String,
        TypeRoot::Boolean,
        TypeRoot::Decimal { precision: 20, scale: 2 },
        TypeRoot::Timestamp { precision: 6 },
    ];
    let types: Vec<DataType> = types.into_iter().map(DataType::new).collect();
    let decimals = Decimal128Array::from(vec![-1, 10_i128.pow(19), 0]).with_data_type(arrow_type(&types[4]));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![-1, 0, i32::MAX])),
        Arc::new(Int64Array::from(vec![i64::MIN, 1, 300])),
        Arc::new(StringArray::from(vec!["", "seven..", "more than seven"])),
        Arc::new(BooleanArray::from(vec![true, false, true])),
        Arc::new(decimals),
        Arc::new(TimestampMicrosecondArray::from(vec![-1, 0, 1_500])),
    ];
    for format in [KeyFormat::Compacted, KeyFormat::Paimon] {
        let encoder = KeyEncoder::new(format, &types).unwrap();
        let bound = encoder.bind(&columns).unwrap();
        let encode = |row| {
            let mut key = Vec::new();
            bound.encode(row, &mut key).unwrap();
            key
        };
        let keys: Vec<Vec<u8>> = (0..3).map(encode).collect();
        let asked: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        assert_eq!(columns_of_keys(format, &types, &asked).unwrap(), columns, "{format:?}");
        for cut in 0..keys[2].len() {
            let read = columns_of_keys(format, &types, &[&keys[2][..cut]]);
            assert!(read.is_err() || format == KeyFormat::Paimon, "{format:?} {cut}");
        }
    }
}
