use super::*;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types as arrow;
use arrow_schema::Schema as ArrowSchema;
use sluice_base::ErrorKind;

fn cross(data_type: &DataType, column: ColumnIn<'_>, rows: usize) -> Result<ArrayRef> {
    let schema = Arc::new(ArrowSchema::new(vec![crate::arrow_field("place", data_type)]));
    let batch = columns_to_batch(&schema, std::slice::from_ref(data_type), &[column], rows)?;
    Ok(Arc::clone(batch.column(0)))
}

fn data(data: &[u8]) -> ColumnIn<'_> {
    ColumnIn { validity: None, data, offsets: None, extra: None }
}

fn pieces<'a>(data: &'a [u8], offsets: &'a [i32]) -> ColumnIn<'a> {
    ColumnIn { validity: None, data, offsets: Some(offsets), extra: None }
}

/// The sentence of a refusal, which names the column.
fn refusal(data_type: &DataType, column: ColumnIn<'_>, rows: usize) -> String {
    let e = cross(data_type, column, rows).unwrap_err();
    assert_eq!((e.kind(), e.subject()), (ErrorKind::Invalid, Subject::Column), "{e}");
    assert!(e.message().starts_with("column 'place' of type"), "{e}");
    e.message().to_owned()
}

fn le<const N: usize>(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()[..N].to_vec()).collect()
}

/// Digits beyond the declared precision are cut, not rounded (fault C05 of other systems).
#[test]
fn timestamps_are_cut_to_their_precision() {
    let ms = le::<8>(&[1_714_903_200_123, -1, -2_208_988_799_999, 253_402_300_799_999]);
    let nanos: Vec<u8> = [456_789_i32, 999_999, 1, 999_999].iter().flat_map(|n| n.to_le_bytes()).collect();
    for (precision, due) in [
        (0, [1_714_903_200, -1, -2_208_988_800, 253_402_300_799]),
        (1, [1_714_903_200_100, -100, -2_208_988_800_000, 253_402_300_799_900]),
        (3, [1_714_903_200_123, -1, -2_208_988_799_999, 253_402_300_799_999]),
        (5, [1_714_903_200_123_450, -10, -2_208_988_799_999_000, 253_402_300_799_999_990]),
        (6, [1_714_903_200_123_456, -1, -2_208_988_799_999_000, 253_402_300_799_999_999]),
    ] {
        for root in [TypeRoot::Timestamp { precision }, TypeRoot::TimestampLtz { precision }] {
            let column = ColumnIn { extra: (precision > 3).then_some(&nanos[..]), ..data(&ms) };
            let array = cross(&DataType::new(root), column, 4).unwrap();
            assert_eq!(array.to_data().buffer::<i64>(0), &due[..], "precision {precision}");
        }
    }
}

#[test]
fn nanoseconds_outside_64_bits_are_refused_by_column_and_row() {
    let t = DataType::new(TypeRoot::Timestamp { precision: 9 });
    let ms = le::<8>(&[0, 253_402_300_799_999]);
    let column = ColumnIn { extra: Some(&[0; 8]), ..data(&ms) };
    let message = refusal(&t, column, 2);
    assert!(message.contains("row 1") && message.contains("1677 to 2262"), "{message}");
    let hidden = ColumnIn { validity: Some(&[0b01]), ..column };
    assert!(cross(&t, hidden, 2).unwrap().is_null(1), "the value of a NULL is nobody's");
}

#[test]
fn times_of_day_are_cut_too() {
    let ms = le::<4>(&[86_399_999, 1_001]);
    let time = |precision| cross(&DataType::new(TypeRoot::Time { precision }), data(&ms), 2).unwrap();
    assert_eq!(time(0).as_primitive::<arrow::Time32SecondType>().values(), &[86_399, 1]);
    assert_eq!(time(2).as_primitive::<arrow::Time32MillisecondType>().values(), &[86_399_990, 1_000]);
    assert_eq!(time(6).as_primitive::<arrow::Time64MicrosecondType>().values(), &[86_399_999_000, 1_001_000]);
    assert_eq!(time(9).as_primitive::<arrow::Time64NanosecondType>().values(), &[86_399_999_000_000, 1_001_000_000]);
}

#[test]
fn null_in_not_null_is_refused_by_row() {
    let column = ColumnIn { validity: Some(&[0b1011]), ..data(&[1, 2, 3, 4]) };
    let message = refusal(&DataType::new(TypeRoot::TinyInt).not_null(), column, 4);
    assert!(message.contains("NOT NULL") && message.contains("row 2"), "{message}");
    assert_eq!(cross(&DataType::new(TypeRoot::TinyInt), column, 4).unwrap().null_count(), 1);
    let none = ColumnIn { validity: Some(&[0b1111]), ..column };
    assert!(cross(&DataType::new(TypeRoot::TinyInt).not_null(), none, 4).unwrap().nulls().is_none());
}

#[test]
fn buffers_that_are_too_short_are_refused() {
    let bigint = DataType::new(TypeRoot::BigInt);
    assert!(refusal(&bigint, data(&[0; 23]), 3).contains("23 bytes of data for 3 rows; 24 are due"));
    let bits = ColumnIn { validity: Some(&[0xff]), ..data(&[0; 72]) };
    assert!(refusal(&bigint, bits, 9).contains("validity"));
    let text = DataType::new(TypeRoot::String);
    assert!(refusal(&text, data(b"ab"), 1).contains("0 offsets"));
    assert!(refusal(&text, pieces(b"ab", &[0, 1]), 2).contains("2 offsets for 2 rows"));
    for offsets in [[0, 3], [-1, 1], [2, 1], [i32::MAX, i32::MAX]] {
        assert!(refusal(&text, pieces(b"ab", &offsets), 1).contains("out of order or beyond"), "{offsets:?}");
    }
    let fine = DataType::new(TypeRoot::Timestamp { precision: 6 });
    assert!(refusal(&fine, data(&[0; 8]), 1).contains("nanoseconds"));
}

#[test]
fn text_must_be_utf8_where_it_is_seen() {
    let text = DataType::new(TypeRoot::String);
    let column = pieces(b"a\xffb", &[0, 1, 2, 3]);
    assert!(refusal(&text, column, 3).contains("row 1 of the batch: the value is not UTF-8"));
    let hidden = ColumnIn { validity: Some(&[0b101]), ..column };
    let array = cross(&text, hidden, 3).unwrap();
    assert_eq!(array.as_string::<i32>().iter().collect::<Vec<_>>(), [Some("a"), None, Some("b")]);
    // Whole it would be UTF-8; cut in the middle of a character it is not.
    assert!(refusal(&text, pieces("é".as_bytes(), &[0, 1, 2]), 2).contains("row 0"));
}

#[test]
fn values_may_begin_anywhere_in_the_data() {
    let array = cross(&DataType::new(TypeRoot::String), pieces(b"--abc--", &[2, 3, 5]), 2).unwrap();
    assert_eq!(array.as_string::<i32>().iter().collect::<Vec<_>>(), [Some("a"), Some("bc")]);
    let bytes = [vec![0xee], le::<8>(&[1, 2])].concat();
    let array = cross(&DataType::new(TypeRoot::BigInt), data(&bytes[1..]), 2).unwrap();
    assert_eq!(array.as_primitive::<arrow::Int64Type>().values(), &[1, 2]);
}

#[test]
fn decimals_must_fit_their_precision() {
    let small = DataType::new(TypeRoot::Decimal { precision: 3, scale: 1 });
    let fits = cross(&small, data(&le::<8>(&[999, -999])), 2).unwrap();
    assert_eq!(fits.as_primitive::<arrow::Decimal128Type>().values(), &[999, -999]);
    assert!(refusal(&small, data(&le::<8>(&[999, 1_000])), 2).contains("row 1"));
    assert!(refusal(&small, data(&le::<8>(&[i64::MIN])), 1).contains("more digits"));
    let garbage = le::<8>(&[i64::MAX, 1]);
    assert!(cross(&small, ColumnIn { validity: Some(&[0b10]), ..data(&garbage) }, 2).is_ok());
    let wide = DataType::new(TypeRoot::Decimal { precision: 20, scale: 0 });
    let largest = (10_i128.pow(20) - 1).to_be_bytes();
    let array = cross(&wide, pieces(&[&largest[7..], &[0xff][..]].concat(), &[0, 9, 10]), 2).unwrap();
    assert_eq!(array.as_primitive::<arrow::Decimal128Type>().values(), &[10_i128.pow(20) - 1, -1]);
    assert!(refusal(&wide, pieces(&10_i128.pow(20).to_be_bytes(), &[0, 16]), 1).contains("decimal"));
    assert!(refusal(&wide, pieces(&[0; 17], &[0, 17]), 1).contains("decimal"));
    assert!(refusal(&wide, pieces(&[], &[0, 0]), 1).contains("decimal"));
}

#[test]
fn binary_of_another_length_is_refused() {
    let four = DataType::new(TypeRoot::Binary(4));
    let message = refusal(&four, pieces(b"abcdabc", &[0, 4, 7]), 2);
    assert!(message.contains("row 1") && message.contains("CAST"), "{message}");
    let hidden = ColumnIn { validity: Some(&[0b01]), ..pieces(b"abcdabc", &[0, 4, 7]) };
    assert_eq!(cross(&four, hidden, 2).unwrap().as_fixed_size_binary().value(0), b"abcd");
}

#[test]
fn damaged_nested_memory_is_corrupt_and_named() {
    let ints = DataType::new(TypeRoot::Array(Box::new(DataType::new(TypeRoot::Int))));
    for (bytes, part) in [
        (&[1, 0][..], "cut off"),
        (&[0xff, 0xff, 0xff, 0xff], "negative"),
        (&[3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0], "12 bytes where 20 are due"),
        (&[0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0], "are due"),
    ] {
        let offsets = [0, i32::try_from(bytes.len()).unwrap()];
        let e = cross(&ints, pieces(bytes, &offsets), 1).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Corrupt);
        assert!(e.message().starts_with("column 'place', row 0 of the batch") && e.message().contains(part), "{e}");
    }
}

/// An array whose elements all point at the same bytes would grow without limit, level by level.
#[test]
fn pieces_that_overlap_are_damage() {
    let texts = DataType::new(TypeRoot::Array(Box::new(DataType::new(TypeRoot::String))));
    let array = |slots: [u64; 2]| {
        let mut bytes = vec![2, 0, 0, 0, 0, 0, 0, 0];
        slots.iter().for_each(|s| bytes.extend(s.to_le_bytes()));
        bytes.extend([b'x'; 32]);
        bytes
    };
    let honest = array([24 << 32 | 16, 40 << 32 | 16]);
    assert!(cross(&texts, pieces(&honest, &[0, 56]), 1).is_ok());
    let greedy = array([24 << 32 | 32, 24 << 32 | 32]);
    let e = cross(&texts, pieces(&greedy, &[0, 56]), 1).unwrap_err();
    assert!(e.message().contains("overlap"), "{e}");
}

#[test]
fn null_inside_a_nested_value_that_allows_none_is_refused() {
    let ints = DataType::new(TypeRoot::Array(Box::new(DataType::new(TypeRoot::Int).not_null())));
    let with_null = [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert!(refusal(&ints, pieces(&with_null, &[0, 16]), 1).contains("holds a NULL"));
    let map = DataType::new(TypeRoot::Map(
        Box::new(DataType::new(TypeRoot::Int).not_null()),
        Box::new(DataType::new(TypeRoot::Int)),
    ));
    let null_key = [&[16, 0, 0, 0][..], &with_null, &with_null].concat();
    assert!(refusal(&map, pieces(&null_key, &[0, 36]), 1).contains("holds a NULL"));
}

#[test]
fn a_block_without_columns_keeps_its_rows() {
    let batch = columns_to_batch(&Arc::new(ArrowSchema::empty()), &[], &[], 7).unwrap();
    assert_eq!(batch.num_rows(), 7);
}

#[test]
fn columns_types_and_fields_must_agree_in_number() {
    let schema: SchemaRef = Arc::new(ArrowSchema::empty());
    let e = columns_to_batch(&schema, &[DataType::new(TypeRoot::Int)], &[], 0).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Internal);
}
