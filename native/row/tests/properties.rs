//! Laws of the row forms over made-up schemas and rows: every type, nested to depth 3.

use arrow_array::cast::AsArray;
use arrow_array::types as arrow;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{DataType as ArrowType, Schema as ArrowSchema, SchemaRef, TimeUnit};
use proptest::prelude::*;
use sluice_base::{ErrorKind, Result};
use sluice_row::{
    BinaryRowWriter, ColumnIn, DataType, KeyEncoder, KeyFormat, RowDecoder, RowEncoder, RowField, TypeRoot,
    arrow_field, columns_to_batch,
};
use sluice_testkit::{Gen, TypedBatch, typed_batches};
use std::sync::Arc;

fn compacted(types: &[DataType], batch: &RecordBatch) -> Vec<Vec<u8>> {
    let encoder = RowEncoder::new(types);
    let rows = encoder.bind(batch.columns()).expect("bind");
    let encode = |row| {
        let mut out = Vec::new();
        rows.encode(row, &mut out);
        out
    };
    (0..batch.num_rows()).map(encode).collect()
}

/// One ROW type over all columns, to send whole rows through the crossing.
fn row_type(types: &[DataType]) -> DataType {
    let field = |(i, t): (usize, &DataType)| RowField {
        name: format!("c{i}"),
        data_type: t.clone(),
        description: None,
        field_id: -1,
    };
    DataType::new(TypeRoot::Row(types.iter().enumerate().map(field).collect())).not_null()
}

fn schema_of(name: &str, data_type: &DataType) -> SchemaRef {
    Arc::new(ArrowSchema::new(vec![arrow_field(name, data_type)]))
}

fn binary(types: &[DataType], batch: &RecordBatch, out: &mut Vec<u8>) -> Vec<u32> {
    let mut starts = Vec::new();
    BinaryRowWriter::new(types).write(batch, out, &mut starts).expect("write");
    starts
}

/// Decodes BinaryRowData rows that stand one after the other.
fn from_binary(types: &[DataType], bytes: &[u8], starts: &[u32]) -> Result<RecordBatch> {
    let row = row_type(types);
    let offsets: Vec<i32> = starts.iter().map(|&s| i32::try_from(s).expect("short")).collect();
    let column = ColumnIn { validity: None, data: bytes, offsets: Some(&offsets), extra: None };
    let batch = columns_to_batch(&schema_of("row", &row), &[row], &[column], starts.len() - 1)?;
    Ok(RecordBatch::from(batch.column(0).as_struct().clone()))
}

/// What Java would hand over for a column, owned.
#[derive(Default)]
struct Handed {
    validity: Option<Vec<u8>>,
    data: Vec<u8>,
    offsets: Option<Vec<i32>>,
    extra: Option<Vec<u8>>,
}

impl Handed {
    fn view(&self) -> ColumnIn<'_> {
        let (validity, extra) = (self.validity.as_deref(), self.extra.as_deref());
        ColumnIn { validity, data: &self.data, offsets: self.offsets.as_deref(), extra }
    }

    /// Hands a column over as docs/jni.md, "Columns in", says; written apart from the code under test.
    fn column(data_type: &DataType, array: &ArrayRef) -> Self {
        let rows = array.len();
        let bits = array.nulls().map(|n| {
            let mut bits = vec![0_u8; rows.div_ceil(8)];
            (0..rows).filter(|&i| n.is_valid(i)).for_each(|i| bits[i / 8] |= 1 << (i % 8));
            bits
        });
        let mut handed = Self { validity: bits, ..Self::default() };
        match &data_type.root {
            TypeRoot::Boolean => handed.data = array.as_boolean().values().iter().map(u8::from).collect(),
            TypeRoot::Decimal { precision, .. } => {
                let values = array.as_primitive::<arrow::Decimal128Type>().values().iter();
                if *precision <= 18 {
                    handed.data = values.flat_map(|v| i64::try_from(*v).expect("short").to_le_bytes()).collect();
                } else {
                    // Java's BigInteger gives as few bytes as will do; more of them mean the same.
                    handed.pieces(values.map(|v| v.to_be_bytes().to_vec()));
                }
            }
            TypeRoot::Char(_) | TypeRoot::String => {
                let text = array.as_string::<i32>();
                handed.pieces((0..rows).map(|i| text.value(i).as_bytes().to_vec()));
            }
            TypeRoot::Bytes => {
                let bytes = array.as_binary::<i32>();
                handed.pieces((0..rows).map(|i| bytes.value(i).to_vec()));
            }
            TypeRoot::Binary(_) => {
                let bytes = array.as_fixed_size_binary();
                handed.pieces((0..rows).map(|i| bytes.value(i).to_vec()));
            }
            TypeRoot::Time { .. } => {
                handed.data =
                    millis(array).iter().flat_map(|(ms, _)| i32::try_from(*ms).expect("a day").to_le_bytes()).collect();
            }
            TypeRoot::Timestamp { precision } | TypeRoot::TimestampLtz { precision } => {
                let times = millis(array);
                handed.data = times.iter().flat_map(|(ms, _)| ms.to_le_bytes()).collect();
                handed.extra = (*precision > 3).then(|| times.iter().flat_map(|(_, ns)| ns.to_le_bytes()).collect());
            }
            TypeRoot::Array(_) | TypeRoot::Map(..) | TypeRoot::Row(_) => handed.nested(data_type, array),
            _ => {
                let data = array.to_data();
                let width = data.buffers()[0].len() / (data.offset() + rows).max(1);
                handed.data = data.buffers()[0].as_slice()[data.offset() * width..][..rows * width].to_vec();
            }
        }
        handed
    }

    fn pieces(&mut self, pieces: impl Iterator<Item = Vec<u8>>) {
        let mut offsets = vec![0];
        for piece in pieces {
            self.data.extend(piece);
            offsets.push(i32::try_from(self.data.len()).expect("short"));
        }
        self.offsets = Some(offsets);
    }

    /// Takes the memory of ARRAY, MAP and ROW values out of the BinaryRowData of a row that has only them.
    fn nested(&mut self, data_type: &DataType, array: &ArrayRef) {
        let one = RecordBatch::try_new(schema_of("v", data_type), vec![Arc::clone(array)]).expect("one column");
        let mut out = Vec::new();
        let starts = binary(std::slice::from_ref(data_type), &one, &mut out);
        self.pieces((0..array.len()).map(|i| {
            let row = &out[starts[i] as usize..starts[i + 1] as usize];
            let slot = u64::from_le_bytes(row[8..16].try_into().expect("a slot"));
            let (offset, length) = ((slot >> 32) as usize, slot as u32 as usize);
            row[offset..offset + length].to_vec()
        }));
    }
}

/// Milliseconds and the nanoseconds beyond them, of TIME and TIMESTAMP columns.
fn millis(array: &ArrayRef) -> Vec<(i64, i32)> {
    let data = array.to_data();
    let unit = match array.data_type() {
        ArrowType::Time32(unit) | ArrowType::Time64(unit) | ArrowType::Timestamp(unit, _) => *unit,
        other => panic!("{other} is no time"),
    };
    let values: Vec<i64> = match array.data_type() {
        ArrowType::Time32(_) => data.buffer::<i32>(0)[..array.len()].iter().map(|v| i64::from(*v)).collect(),
        _ => data.buffer::<i64>(0)[..array.len()].to_vec(),
    };
    let per_second: i128 = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let split = |v: &i64| {
        let nanos = i128::from(*v) * 1_000_000_000 / per_second;
        let millis = nanos.div_euclid(1_000_000);
        (i64::try_from(millis).expect("in range"), i32::try_from(nanos - millis * 1_000_000).expect("below a million"))
    };
    values.iter().map(split).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn compacted_rows_come_back(TypedBatch { types, batch } in typed_batches(9, 40, 3)) {
        let mut rows = RowDecoder::new(&types, None).with_schema(batch.schema()).builder(batch.num_rows());
        for row in compacted(&types, &batch) {
            rows.push(&row).expect("push");
        }
        prop_assert_eq!(rows.len(), batch.num_rows());
        prop_assert_eq!(rows.finish().expect("finish"), batch);
        prop_assert!(rows.is_empty());
    }

    #[test]
    fn a_projection_is_those_columns(TypedBatch { types, batch } in typed_batches(9, 20, 2), picks in prop::collection::vec(any::<usize>(), 0..6)) {
        let projection: Vec<usize> = picks.iter().map(|p| p % types.len()).collect();
        let mut rows = RowDecoder::new(&types, Some(&projection)).builder(0);
        for row in compacted(&types, &batch) {
            rows.push(&row).expect("push");
        }
        let decoded = rows.finish().expect("finish");
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = projection.iter().map(|&i| Arc::clone(batch.column(i))).collect();
        prop_assert_eq!(&decoded, &RecordBatch::try_new_with_options(decoded.schema(), columns, &options).expect("columns"));
    }

    #[test]
    fn rows_of_an_older_schema_end_in_nulls(TypedBatch { types, batch } in typed_batches(6, 20, 2), added in 1..4_usize) {
        let width = types.len();
        let mut wider = types.clone();
        wider.extend((0..added).map(|_| DataType::new(TypeRoot::String)));
        let mut rows = RowDecoder::new(&wider, None).with_stored_width(width).builder(0);
        for row in compacted(&types, &batch) {
            rows.push(&row).expect("push");
        }
        let decoded = rows.finish().expect("finish");
        prop_assert_eq!(&decoded.columns()[..width], batch.columns());
        prop_assert!(decoded.columns()[width..].iter().all(|c| c.null_count() == batch.num_rows()));
    }

    #[test]
    fn binary_rows_come_back(TypedBatch { types, batch } in typed_batches(9, 40, 3), before in 0..20_usize) {
        let mut out = vec![0xee; before];
        let starts = binary(&types, &batch, &mut out);
        prop_assert_eq!(&out[..before], &vec![0xee; before][..]);
        prop_assert_eq!(starts.len(), batch.num_rows() + 1);
        prop_assert!(starts.iter().all(|s| s % 8 == 0));
        prop_assert_eq!(starts[0] as usize, before.next_multiple_of(8));
        prop_assert_eq!(starts[batch.num_rows()] as usize, out.len());
        let decoded = from_binary(&types, &out, &starts).expect("our own rows");
        prop_assert_eq!(decoded, batch);
    }

    #[test]
    fn a_row_alone_has_the_same_bytes_as_in_a_long_batch(seed in any::<u64>()) {
        let mut g = Gen::new(seed);
        let types = g.types(5, 2);
        let batch = g.batch(&types, 600);
        let mut all = Vec::new();
        let starts = binary(&types, &batch, &mut all);
        for row in [0, 1, 255, 256, 257, 511, 512, 599] {
            let mut alone = Vec::new();
            binary(&types, &batch.slice(row, 1), &mut alone);
            prop_assert_eq!(&alone[..], &all[starts[row] as usize..starts[row + 1] as usize]);
        }
    }

    #[test]
    fn columns_cross_unchanged(TypedBatch { types, batch } in typed_batches(9, 40, 3)) {
        let handed: Vec<Handed> = types.iter().zip(batch.columns()).map(|(t, c)| Handed::column(t, c)).collect();
        let columns: Vec<ColumnIn<'_>> = handed.iter().map(Handed::view).collect();
        let crossed = columns_to_batch(&batch.schema(), &types, &columns, batch.num_rows()).expect("sound columns");
        prop_assert_eq!(crossed, batch);
    }

    #[test]
    fn equal_keys_have_equal_bytes_and_different_ones_different(seed in any::<u64>(), columns in 1..4_usize) {
        let mut g = Gen::new(seed);
        let types: Vec<DataType> = (0..columns).map(|_| g.flat_type().not_null()).collect();
        let batch = g.batch(&types, 12);
        for format in [KeyFormat::Compacted, KeyFormat::Paimon] {
            let encoder = KeyEncoder::new(format, &types).expect("flat");
            let keys = encoder.bind(batch.columns()).expect("bind");
            let key = |row| { let mut out = Vec::new(); keys.encode(row, &mut out).expect("no NULL"); out };
            for (a, b) in (0..12).flat_map(|a| (0..12).map(move |b| (a, b))) {
                prop_assert_eq!(key(a) == key(b), batch.slice(a, 1) == batch.slice(b, 1), "{:?} {:?}", format, types);
            }
        }
    }

    #[test]
    fn a_compacted_key_of_the_first_columns_is_a_prefix(seed in any::<u64>()) {
        let mut g = Gen::new(seed);
        let types: Vec<DataType> = (0..3).map(|_| g.flat_type().not_null()).collect();
        let batch = g.batch(&types, 5);
        let key = |columns: usize, row| {
            let encoder = KeyEncoder::new(KeyFormat::Compacted, &types[..columns]).expect("flat");
            let mut out = Vec::new();
            encoder.bind(&batch.columns()[..columns]).expect("bind").encode(row, &mut out).expect("no NULL");
            out
        };
        for row in 0..5 {
            prop_assert!(key(3, row).starts_with(&key(2, row)) && key(2, row).starts_with(&key(1, row)));
        }
    }

    #[test]
    fn hostile_compacted_rows_are_corrupt_and_nothing_worse(seed in any::<u64>(), noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut g = Gen::new(seed);
        let types = g.types(6, 3);
        let rows = compacted(&types, &g.batch(&types, 3));
        for bytes in hostile(&mut g, rows.iter().map(Vec::as_slice), &noise) {
            let mut builder = RowDecoder::new(&types, None).builder(1);
            let outcome = builder.push(&bytes).and_then(|()| builder.finish());
            if let Err(e) = outcome {
                prop_assert_eq!(e.kind(), ErrorKind::Corrupt, "{}", e);
            }
        }
    }

    #[test]
    fn hostile_binary_rows_are_refused_and_nothing_worse(seed in any::<u64>(), noise in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut g = Gen::new(seed);
        let types = g.types(6, 3);
        let mut out = Vec::new();
        let starts = binary(&types, &g.batch(&types, 3), &mut out);
        let rows = starts.windows(2).map(|w| &out[w[0] as usize..w[1] as usize]);
        for bytes in hostile(&mut g, rows, &noise) {
            let end = u32::try_from(bytes.len()).expect("short");
            if let Err(e) = from_binary(&types, &bytes, &[0, end]) {
                prop_assert!(matches!(e.kind(), ErrorKind::Corrupt | ErrorKind::Invalid), "{}", e);
                prop_assert!(e.message().contains("'row'"), "{}", e);
            }
        }
    }
}

/// Pure noise, and sound rows cut, with a bit turned, and with a number overwritten.
fn hostile<'a>(g: &mut Gen, rows: impl Iterator<Item = &'a [u8]>, noise: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![noise.to_vec(), [&[0; 16], noise].concat()];
    for row in rows.filter(|r| !r.is_empty()) {
        for _ in 0..12 {
            let mut bytes = row.to_vec();
            let at = g.below(bytes.len());
            match g.below(4) {
                0 => bytes.truncate(at),
                1 => bytes[at] ^= 1 << g.below(8),
                2 => bytes[at] = 0xff,
                _ => {
                    let end = (at + 4).min(bytes.len());
                    let number = (g.integer(32) as i32).to_le_bytes();
                    bytes[at..end].copy_from_slice(&number[..end - at]);
                }
            }
            all.push(bytes);
        }
    }
    all
}

/// Array elements outnumbering rows, NULL array, empty array and NULL element kept apart (fault C03 of other systems).
#[test]
fn few_rows_with_many_elements() {
    let ints = DataType::new(TypeRoot::Array(Box::new(DataType::new(TypeRoot::Int))));
    let texts = DataType::new(TypeRoot::Array(Box::new(DataType::new(TypeRoot::String))));
    let types = [ints, DataType::new(TypeRoot::Array(Box::new(texts)))];
    let mut g = Gen::new(3).with_null_percent(10);
    let batch = g.batch(&types, 200);
    let elements = batch.column(0).as_list::<i32>().values().len();
    assert!(elements > 500, "{elements}");
    let mut out = Vec::new();
    let starts = binary(&types, &batch, &mut out);
    assert_eq!(from_binary(&types, &out, &starts).expect("sound"), batch);
}

/// Whole columns of an arriving struct keep their NULLs apart from those of its fields.
#[test]
fn a_null_row_is_not_a_row_of_nulls() {
    let inner = row_type(&[DataType::new(TypeRoot::Int)]);
    let outer = DataType { nullable: true, ..inner };
    let ArrowType::Struct(fields) = sluice_row::arrow_type(&outer) else { panic!("ROW is Struct") };
    let ints: ArrayRef = Arc::new(arrow_array::Int32Array::from(vec![None, None, Some(1)]));
    let rows = StructArray::new(fields, vec![ints], Some(vec![false, true, true].into()));
    let batch = RecordBatch::try_new(schema_of("r", &outer), vec![Arc::new(rows)]).expect("one column");
    let mut out = Vec::new();
    let types = [outer];
    let starts = binary(&types, &batch, &mut out);
    let back = from_binary(&types, &out, &starts).expect("sound");
    assert!(back.column(0).is_null(0) && back.column(0).is_valid(1));
    assert!(back.column(0).as_struct().column(0).is_null(1) && back.column(0).as_struct().column(0).is_valid(2));
}
