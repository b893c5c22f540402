use super::*;
use arrow_array::*;
use std::sync::Arc;

fn column(root: TypeRoot, array: impl Array + 'static) -> (DataType, ArrayRef) {
    (DataType::new(root), Arc::new(array))
}

/// Each type with its cells and their texts.
fn samples() -> Vec<((DataType, ArrayRef), Vec<&'static str>)> {
    vec![
        (column(TypeRoot::String, StringArray::from(vec!["a-b_9", "X"])), vec!["a-b_9", "X"]),
        (column(TypeRoot::Char(2), StringArray::from(vec!["ab"])), vec!["ab"]),
        (column(TypeRoot::Boolean, BooleanArray::from(vec![true, false])), vec!["true", "false"]),
        (column(TypeRoot::TinyInt, Int8Array::from(vec![-128, 7])), vec!["-128", "7"]),
        (column(TypeRoot::SmallInt, Int16Array::from(vec![-5])), vec!["-5"]),
        (column(TypeRoot::Int, Int32Array::from(vec![2025, i32::MIN])), vec!["2025", "-2147483648"]),
        (column(TypeRoot::BigInt, Int64Array::from(vec![i64::MAX])), vec!["9223372036854775807"]),
        (
            column(TypeRoot::Float, Float32Array::from(vec![12.5, 0.1, 1e10, f32::NAN, -f32::INFINITY, -0.0])),
            vec!["12_5", "0_1", "1_0E10", "NaN", "-Inf", "-0_0"],
        ),
        (
            column(TypeRoot::Double, Float64Array::from(vec![1.0, 0.001, 9_999_999.0, 1.25e-4, 1e7, f64::INFINITY])),
            vec!["1_0", "0_001", "9999999_0", "1_25E-4", "1_0E7", "Inf"],
        ),
        (column(TypeRoot::Date, Date32Array::from(vec![20_422, -1])), vec!["2025-11-30", "1969-12-31"]),
        (column(TypeRoot::Time { precision: 0 }, Time32SecondArray::from(vec![36_930])), vec!["10-15-30_000"]),
        (
            column(TypeRoot::Time { precision: 3 }, Time32MillisecondArray::from(vec![36_930_250, 0])),
            vec!["10-15-30_250", "00-00-00_000"],
        ),
        (
            column(TypeRoot::Timestamp { precision: 3 }, TimestampMillisecondArray::from(vec![-1, 1_764_497_730_000])),
            vec!["1969-12-31-23-59-59_999", "2025-11-30-10-15-30_"],
        ),
        (
            column(
                TypeRoot::Timestamp { precision: 9 },
                TimestampNanosecondArray::from(vec![1_000_000_001, 250_000_000]),
            ),
            vec!["1970-01-01-00-00-01_000000001", "1970-01-01-00-00-00_25"],
        ),
        (
            column(TypeRoot::TimestampLtz { precision: 6 }, TimestampMicrosecondArray::from(vec![1_500_000])),
            vec!["1970-01-01-00-00-01_5"],
        ),
        (
            column(TypeRoot::Binary(2), FixedSizeBinaryArray::try_from_iter([[10_u8, 255]].iter()).unwrap()),
            vec!["0aff"],
        ),
        (column(TypeRoot::Bytes, BinaryArray::from_vec(vec![b"\x00a"])), vec!["0061"]),
    ]
}

#[test]
fn every_type_has_its_text_and_the_text_is_its_own_form() {
    for ((data_type, array), texts) in samples() {
        let (types, arrays) = ([data_type], [array]);
        let bound = BoundPartition::new(&types, &arrays).unwrap();
        for (row, text) in texts.iter().enumerate() {
            assert_eq!(bound.text(row, 0).unwrap(), *text);
            assert_eq!(partition_text(&types[0], text).unwrap(), *text, "{}", types[0]);
        }
    }
}

#[test]
fn keys_tell_partitions_apart_exactly() {
    for ((data_type, array), texts) in samples() {
        let (types, arrays) = ([data_type], [array]);
        let bound = BoundPartition::new(&types, &arrays).unwrap();
        let key = |row| {
            let mut key = Vec::new();
            bound.put_key(row, &mut key).unwrap();
            key
        };
        for (a, one) in texts.iter().enumerate() {
            for (b, other) in texts.iter().enumerate() {
                assert_eq!(key(a) == key(b), one == other);
            }
        }
    }
    let types = [DataType::new(TypeRoot::String), DataType::new(TypeRoot::String)];
    let arrays: [ArrayRef; 2] =
        [Arc::new(StringArray::from(vec!["ab", "a"])), Arc::new(StringArray::from(vec!["c", "bc"]))];
    let bound = BoundPartition::new(&types, &arrays).unwrap();
    let (mut one, mut two) = (Vec::new(), Vec::new());
    bound.put_key(0, &mut one).unwrap();
    bound.put_key(1, &mut two).unwrap();
    assert_ne!(one, two);
}

#[test]
fn null_has_neither_text_nor_key() {
    let types = [DataType::new(TypeRoot::Int)];
    let arrays: [ArrayRef; 1] = [Arc::new(Int32Array::from(vec![None, Some(1)]))];
    let bound = BoundPartition::new(&types, &arrays).unwrap();
    assert_eq!(bound.text(0, 0), Err("is NULL".to_owned()));
    assert_eq!(bound.put_key(0, &mut Vec::new()), None);
    assert_eq!(bound.text(1, 0).unwrap(), "1");
}

#[test]
fn sql_spellings_come_to_the_one_form() {
    let cases = [
        (TypeRoot::Boolean, "TRUE", "true"),
        (TypeRoot::Int, "007", "7"),
        (TypeRoot::Double, "1.5", "1_5"),
        (TypeRoot::Double, "150", "150_0"),
        (TypeRoot::Time { precision: 0 }, "10:15:30", "10-15-30_000"),
        (TypeRoot::Time { precision: 3 }, "10:15:30.25", "10-15-30_250"),
        (TypeRoot::Timestamp { precision: 6 }, "2025-11-30 10:15:30.250", "2025-11-30-10-15-30_25"),
        (TypeRoot::Timestamp { precision: 3 }, "2025-11-30", "2025-11-30-00-00-00_"),
        (TypeRoot::Bytes, "0AFF", "0aff"),
    ];
    for (root, written, text) in cases {
        assert_eq!(partition_text(&DataType::new(root), written).unwrap(), text);
    }
}

#[test]
fn what_is_no_value_of_the_type_is_refused_with_an_example() {
    let cases = [
        (TypeRoot::Boolean, "yes"),
        (TypeRoot::TinyInt, "128"),
        (TypeRoot::Int, "x"),
        (TypeRoot::Int, ""),
        (TypeRoot::BigInt, "1.5"),
        (TypeRoot::Float, "1e99"),
        (TypeRoot::Double, "inf"),
        (TypeRoot::Date, "2025-02-29"),
        (TypeRoot::Date, "20251130"),
        (TypeRoot::Date, "2025-11-30-00"),
        (TypeRoot::Time { precision: 0 }, "24:00:00"),
        (TypeRoot::Time { precision: 0 }, "10:15:30.5"),
        (TypeRoot::Timestamp { precision: 0 }, "2025-11-30-10-15-30_5"),
        (TypeRoot::TimestampLtz { precision: 3 }, "2025-11-30 10:15:30"),
        (TypeRoot::Binary(2), "0a"),
        (TypeRoot::Bytes, "0g"),
        (TypeRoot::Bytes, "é"),
    ];
    for (root, written) in cases {
        let data_type = DataType::new(root);
        let why = partition_text(&data_type, written).unwrap_err();
        let (start, rest) = why.split_once("write it like '").unwrap();
        assert!(start.contains(&data_type.to_string()), "{why}");
        if !matches!(data_type.root, TypeRoot::Binary(_)) || written != "0a" {
            partition_text(&data_type, rest.trim_end_matches('\'')).unwrap();
        }
    }
}

#[test]
fn years_outside_the_calendar_of_four_digits_are_refused() {
    let types = [DataType::new(TypeRoot::Date)];
    let arrays: [ArrayRef; 1] = [Arc::new(Date32Array::from(vec![i32::MAX, -800_000]))];
    let bound = BoundPartition::new(&types, &arrays).unwrap();
    for row in 0..2 {
        assert!(bound.text(row, 0).unwrap_err().contains("outside 1 to 9999"));
    }
}
