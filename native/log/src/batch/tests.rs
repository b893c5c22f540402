use super::*;
use crate::header::stamp;
use crate::{BATCH_HEADER_BYTES, BatchDecoder, BatchHeader, ZstdLevel, verify_crc};
use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, StringArray, StructArray, Time32MillisecondArray, Time64NanosecondArray,
    TimestampMicrosecondArray, TimestampNanosecondArray, TimestampSecondArray, array::Date32Array,
};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use proptest::prelude::*;
use std::sync::Arc;

const ZSTD: Compression = Compression::Zstd(ZstdLevel::new(3).unwrap());
const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Lz4Frame, ZSTD];

fn nested(rows: usize) -> Vec<ArrayRef> {
    let mut list = ListBuilder::new(Int32Builder::new());
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for i in 0..rows {
        let n = i32::try_from(i % 4).unwrap();
        (0..n).for_each(|k| list.values().append_option((k != 1).then_some(k)));
        list.append(i % 5 != 0);
        for k in 0..n {
            map.keys().append_value(format!("k{k}"));
            map.values().append_option((k != 2).then_some(k));
        }
        map.append(i % 7 != 0).unwrap();
    }
    let inner: ArrayRef = Arc::new(StringArray::from_iter((0..rows).map(|i| (i % 3 != 0).then(|| format!("in {i}")))));
    let field = Arc::new(Field::new("x", DataType::Utf8, true));
    let nulls: NullBuffer = (0..rows).map(|i| i % 4 != 2).collect::<Vec<_>>().into();
    let row = StructArray::new(vec![field].into(), vec![inner], Some(nulls));
    vec![Arc::new(list.finish()), Arc::new(map.finish()), Arc::new(row)]
}

/// Every type that a table may have, with NULLs, extremes and multi-byte text.
fn all_types(rows: usize) -> RecordBatch {
    macro_rules! opt {
        ($array:ty, $value:expr) => {
            Arc::new((0..rows).map(|i| (i % 6 != 3).then(|| $value(i as i64))).collect::<$array>()) as ArrayRef
        };
    }
    let decimal = (0..rows).map(|i| (i % 6 != 3).then(|| 10_i128.pow(37) * (i as i128 % 9 - 4)));
    let decimal = decimal.collect::<Decimal128Array>().with_precision_and_scale(38, 10).unwrap();
    let fixed = (0..rows).map(|i| (i % 2 == 0).then_some([i as u8; 5]));
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 5).unwrap();
    let mut columns: Vec<ArrayRef> = vec![
        opt!(BooleanArray, |i| i % 2 == 0),
        opt!(Int8Array, |i| (i - 128) as i8),
        opt!(Int16Array, |i| i16::MIN.wrapping_add(i as i16)),
        opt!(Int32Array, |i| i32::MAX.wrapping_sub(i as i32)),
        opt!(Int64Array, |i| i64::MIN.wrapping_add(i)),
        opt!(Float32Array, |i| if i == 1 { f32::NEG_INFINITY } else { i as f32 / 3.0 }),
        opt!(Float64Array, |i| if i == 1 { f64::MAX } else { i as f64 / 3.0 }),
        Arc::new(decimal),
        opt!(Date32Array, |i| i as i32 - 40_000),
        opt!(Time32MillisecondArray, |i| i as i32 * 1000),
        opt!(Time64NanosecondArray, |i| i * 1000),
        opt!(TimestampSecondArray, |i| i - 5_000_000_000),
        opt!(TimestampMicrosecondArray, |i: i64| -i),
        opt!(TimestampNanosecondArray, |i| i64::MAX - i),
        opt!(StringArray, |i| ["", "Zürich", "日本語", "🦀"][i as usize % 4].repeat(i as usize % 5)),
        opt!(BinaryArray, |i| vec![0xff_u8; i as usize % 9]),
        Arc::new(fixed),
    ];
    columns.extend(nested(rows));
    let fields = columns.iter().enumerate().map(|(i, c)| Field::new(format!("c{i}"), c.data_type().clone(), true));
    RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), columns).unwrap()
}

fn ints(values: &[Option<i32>]) -> RecordBatch {
    let schema = Schema::new(vec![Field::new("a", DataType::Int32, true)]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int32Array::from(values.to_vec()))]).unwrap()
}

fn encoded(rows: Option<&RecordBatch>, kinds: Option<&[ChangeKind]>, compression: Compression) -> Vec<u8> {
    let mut out = Vec::new();
    encode_batch(rows, kinds, SchemaId(3), (7, 8), compression, &mut out).unwrap();
    out
}

fn kinds(rows: usize) -> Vec<ChangeKind> {
    let all = [ChangeKind::Insert, ChangeKind::UpdateBefore, ChangeKind::UpdateAfter, ChangeKind::Delete];
    all.into_iter().cycle().take(rows).collect()
}

/// Starts at an address that is `shift` behind an aligned one.
fn shifted(bytes: &[u8], shift: usize) -> Buffer {
    let padded: Vec<u8> = std::iter::repeat_n(0, shift).chain(bytes.iter().copied()).collect();
    Buffer::from(padded.as_slice()).slice(shift)
}

#[test]
fn golden_bytes() {
    let mut batch = Vec::new();
    let rows = ints(&[Some(1), None]);
    let kinds = [ChangeKind::Insert, ChangeKind::Delete];
    encode_batch(Some(&rows), Some(&kinds), SchemaId(3), (7, 8), Compression::None, &mut batch).unwrap();
    stamp(&mut batch, 0x0102_0304, 0x0a0b_0c0d).unwrap();
    let hex: String = batch.iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(hex, include_str!("../../fixtures/v1/batch_kinds.hex").split_whitespace().collect::<String>());
    let decoder = BatchDecoder::new(rows.schema(), None);
    assert_eq!(decoder.decode(&Buffer::from(batch)).unwrap(), (rows, Some(kinds.to_vec())));
}

#[test]
fn header_fields_stand_where_the_protocol_says() {
    let mut batch = encoded(Some(&ints(&[Some(1), Some(2), Some(3)])), None, Compression::None);
    stamp(&mut batch, 1 << 40, 1 << 41).unwrap();
    assert_eq!(batch[0..8], (1_i64 << 40).to_le_bytes());
    assert_eq!(batch[8..12], (batch.len() as i32 - 12).to_le_bytes());
    assert_eq!(batch[12], 0);
    assert_eq!(batch[13..21], (1_i64 << 41).to_le_bytes());
    assert_eq!(batch[21..25], crc32c::crc32c(&batch[25..]).to_le_bytes());
    assert_eq!(batch[25..27], [3, 0]);
    assert_eq!(batch[27], 1);
    assert_eq!(batch[28..32], 2_i32.to_le_bytes());
    assert_eq!(batch[32..40], 7_i64.to_le_bytes());
    assert_eq!(batch[40..44], 8_i32.to_le_bytes());
    assert_eq!(batch[44..48], 3_i32.to_le_bytes());
    assert_eq!(batch[48..52], [0xff; 4]);
    assert!(verify_crc(&batch), "stamping leaves the checksum right");
    assert_eq!(batch.len() % 8, 0);
    let header = BatchHeader::parse(&batch).unwrap();
    assert_eq!((header.next_offset(), header.total_bytes()), ((1 << 40) + 3, batch.len()));
}

#[test]
fn an_empty_batch_is_a_header_and_takes_one_offset() {
    let rows = ints(&[]);
    for (rows, kinds) in [(None, None), (Some(&rows), None), (None, Some([].as_slice()))] {
        let batch = encoded(rows, kinds, ZSTD);
        assert_eq!(batch.len(), BATCH_HEADER_BYTES);
        assert!(verify_crc(&batch));
        let header = BatchHeader::parse(&batch).unwrap();
        assert_eq!((header.record_count, header.last_offset_delta, header.next_offset()), (0, 0, 1));
        let (back, back_kinds) = BatchDecoder::new(ints(&[]).schema(), None).decode(&Buffer::from(batch)).unwrap();
        assert_eq!((back.num_rows(), back_kinds), (0, kinds.map(<[_]>::to_vec)));
    }
}

#[test]
fn all_types_round_trip() {
    for (rows, compression) in [1, 2, 100, 1000].into_iter().flat_map(|n| COMPRESSIONS.map(|c| (n, c))) {
        let rows = all_types(rows);
        let kinds = kinds(rows.num_rows());
        for kinds in [None, Some(kinds.as_slice())] {
            let batch = encoded(Some(&rows), kinds, compression);
            assert!(verify_crc(&batch));
            for shift in [0, 1, 8] {
                let decoded = BatchDecoder::new(rows.schema(), None).decode(&shifted(&batch, shift)).unwrap();
                assert_eq!(decoded.0, rows, "{compression:?}, shifted by {shift}");
                assert_eq!(decoded.1.as_deref(), kinds);
            }
        }
    }
}

#[test]
fn slices_of_larger_batches_are_encoded_by_themselves() {
    let all = all_types(500);
    for compression in COMPRESSIONS {
        let slice = all.slice(123, 45);
        let batch = encoded(Some(&slice), None, compression);
        let decoded = BatchDecoder::new(all.schema(), None).decode(&Buffer::from(batch)).unwrap();
        assert_eq!(decoded.0, slice);
    }
}

#[test]
fn projections_keep_their_order() {
    let rows = all_types(50);
    for compression in COMPRESSIONS {
        let batch = Buffer::from(encoded(Some(&rows), None, compression));
        for wanted in [vec![], vec![14, 0], vec![19, 3, 17], (0..20).rev().collect()] {
            let decoder = BatchDecoder::new(rows.schema(), Some(&wanted));
            let (decoded, _) = decoder.decode(&batch).unwrap();
            assert_eq!(decoded, rows.project(&wanted).unwrap());
            assert_eq!(decoded.num_rows(), 50);
        }
    }
    let e = BatchDecoder::new(rows.schema(), Some(&[20])).decode(&Buffer::from(encoded(
        Some(&rows),
        None,
        Compression::None,
    )));
    assert_eq!(e.unwrap_err().subject(), Subject::Column);
}

#[test]
fn aligned_uncompressed_columns_are_not_copied() {
    let rows = ints(&[Some(5); 1000]);
    let batch = Buffer::from(encoded(Some(&rows), None, Compression::None));
    let (decoded, _) = BatchDecoder::new(rows.schema(), None).decode(&batch).unwrap();
    let values = decoded.column(0).to_data().buffers()[0].as_ptr();
    assert!(batch.as_ptr_range().contains(&values));
    let (copied, _) = BatchDecoder::new(rows.schema(), None).decode(&shifted(&batch, 1)).unwrap();
    assert_eq!(copied, rows);
}

#[test]
fn lz4_blocks_are_independent() {
    let batch = encoded(Some(&ints(&[Some(5); 100_000])), None, Compression::Lz4Frame);
    let frame = batch.windows(4).position(|w| w == [0x04, 0x22, 0x4d, 0x18]).unwrap();
    assert_eq!(batch[frame + 4] & 0x20, 0x20, "the flag of independent blocks");
}

#[test]
fn batches_follow_each_other_in_one_buffer() {
    let mut out = b"before".to_vec();
    for i in 0..3 {
        encode_batch(Some(&ints(&[Some(i)])), None, SchemaId(1), (-1, -1), ZSTD, &mut out).unwrap();
    }
    let e = encode_batch(Some(&ints(&[Some(1)])), Some(&[]), SchemaId(1), (-1, -1), ZSTD, &mut out);
    assert_eq!(e.unwrap_err().message(), "0 change kinds for 1 rows");
    let mut rest = out.strip_prefix(b"before").unwrap();
    for _ in 0..3 {
        let total = BatchHeader::parse(rest).unwrap().total_bytes();
        assert!(verify_crc(&rest[..total]));
        rest = &rest[total..];
    }
    assert!(rest.is_empty(), "a failed encoding leaves nothing behind");
}

#[test]
fn schemas_may_alternate() {
    let (a, b) = (ints(&[Some(1)]), all_types(9));
    for _ in 0..3 {
        for rows in [&a, &b] {
            let batch = Buffer::from(encoded(Some(rows), None, Compression::Lz4Frame));
            assert_eq!(&BatchDecoder::new(rows.schema(), None).decode(&batch).unwrap().0, rows);
        }
    }
}

#[test]
fn headers_that_contradict_themselves_are_refused() {
    let good = encoded(Some(&ints(&[Some(1), Some(2)])), None, Compression::None);
    for (at, byte, part) in [
        (7, 0x80, "negative offset"),
        (11, 0x80, "length"),
        (8, 0, "length"),
        (28, 9, "last offset delta"),
        (47, 0x80, "records"),
        (12, 1, "magic 1"),
    ] {
        let mut bad = good.clone();
        bad[at] = byte;
        if at == 8 {
            bad[9] = 0;
        }
        let e = BatchHeader::parse(&bad).unwrap_err();
        assert!(e.message().contains(part), "{e}");
    }
    assert!(BatchHeader::parse(&good[..47]).unwrap_err().message().contains("47 are there"));
    assert!(!verify_crc(&good[..47]));
}

fn decode_whatever(schema: &SchemaRef, bytes: &[u8]) {
    for projection in [None, Some([0].as_slice()), Some(&[])] {
        if let Ok((rows, _)) = BatchDecoder::new(Arc::clone(schema), projection).decode(&Buffer::from(bytes)) {
            // Touch everything: what was let through must be sound.
            let _ = format!("{rows:?}");
        }
    }
}

#[test]
fn no_flipped_bit_makes_decoding_panic() {
    let rows = all_types(10);
    for compression in COMPRESSIONS {
        let good = encoded(Some(&rows), Some(&kinds(10)), compression);
        for at in 0..good.len() {
            for bit in [0, 6, 7] {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                decode_whatever(&rows.schema(), &bad);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_garbage_makes_decoding_panic(
        compression in 0..3_usize,
        cut in 0.0..1.0_f64,
        patches in prop::collection::vec((any::<prop::sample::Index>(), any::<[u8; 8]>()), 1..6),
    ) {
        let rows = all_types(10);
        let mut bad = encoded(Some(&rows), None, COMPRESSIONS[compression]);
        for (at, bytes) in patches {
            // The header stays: behind it decoding begins.
            let at = 48 + at.index(bad.len() - 56);
            bad[at..at + 8].copy_from_slice(&bytes);
        }
        decode_whatever(&rows.schema(), &bad);
        bad.truncate(48 + ((bad.len() - 48) as f64 * cut) as usize);
        let length = bad.len() as i32 - 12;
        bad[8..12].copy_from_slice(&length.to_le_bytes());
        decode_whatever(&rows.schema(), &bad);
    }
}
