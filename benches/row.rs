//! The row forms, in nanoseconds a row on one core: what a row costs on its way in from Java, into the KV, out of it, and out to Java.
//!
//! Rows: BIGINT, INT (a tenth NULL), DOUBLE, DECIMAL(10, 2), STRING of 5, 20 and 42 bytes (the last a tenth NULL), TIMESTAMP(3); 8 batches of
//! 4,096. Each figure is the lower quartile over 41 rounds of 8 batches, each timed by itself, so that a busy machine shows little. `copy` is the limit: one `memcpy` of the bytes that the
//! BinaryRowData rows have.

use arrow_array::{
    ArrayRef, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray,
};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluice_row::{
    BinaryRowWriter, BucketFunction, ColumnIn, DataType, KeyEncoder, KeyFormat, RowDecoder, RowEncoder, TypeRoot,
    arrow_field, columns_to_batch,
};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const ROWS: usize = 4096;
const BATCHES: usize = 8;
const ROUNDS: usize = 41;

fn types() -> Vec<DataType> {
    let decimal = TypeRoot::Decimal { precision: 10, scale: 2 };
    let time = TypeRoot::Timestamp { precision: 3 };
    let (text, long) = (|| TypeRoot::String, TypeRoot::BigInt);
    [long, TypeRoot::Int, TypeRoot::Double, decimal, text(), text(), text(), time].map(DataType::new).to_vec()
}

fn schema(types: &[DataType]) -> SchemaRef {
    let fields = types.iter().enumerate().map(|(i, t)| arrow_field(&format!("c{i}"), t));
    Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()))
}

fn batch(schema: &SchemaRef, seed: u64) -> RecordBatch {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut text = |length: usize, null: f64| -> ArrayRef {
        let mut one = || {
            let text: String = (0..length).map(|_| char::from(rng.random_range(b'a'..=b'z'))).collect();
            (!rng.random_bool(null)).then_some(text)
        };
        Arc::new((0..ROWS).map(|_| one()).collect::<StringArray>())
    };
    let texts = [text(5, 0.0), text(20, 0.0), text(42, 0.1)];
    let longs: Vec<i64> = (0..ROWS).map(|_| rng.random_range(0..10_000_000_000)).collect();
    let ints: Vec<Option<i32>> =
        (0..ROWS).map(|_| (!rng.random_bool(0.1)).then(|| rng.random_range(0..100_000))).collect();
    let doubles: Vec<f64> = (0..ROWS).map(|_| rng.random()).collect();
    let decimals: Vec<i128> = (0..ROWS).map(|_| rng.random_range(0..10_000_000_000)).collect();
    let times: Vec<i64> = (0..ROWS).map(|_| rng.random_range(1_600_000_000_000..1_800_000_000_000)).collect();
    let [a, b, c] = texts;
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(longs)),
        Arc::new(Int32Array::from(ints)),
        Arc::new(Float64Array::from(doubles)),
        Arc::new(Decimal128Array::from(decimals).with_precision_and_scale(10, 2).expect("ten digits")),
        a,
        b,
        c,
        Arc::new(TimestampMillisecondArray::from(times)),
    ];
    RecordBatch::try_new(Arc::clone(schema), columns).expect("columns of the schema")
}

/// The lower quartile of the nanoseconds a row that `work` takes for one batch, given by number. A word on the command line picks the
/// names with it.
fn measure(name: &str, mut work: impl FnMut(usize)) {
    if std::env::args().skip(1).any(|word| !word.starts_with('-') && !name.contains(&word)) {
        return;
    }
    let mut nanos: Vec<f64> = (0..ROUNDS * BATCHES)
        .map(|round| {
            let start = Instant::now();
            work(round % BATCHES);
            start.elapsed().as_secs_f64() * 1e9 / ROWS as f64
        })
        .collect();
    nanos.sort_by(f64::total_cmp);
    println!("{name:<44}{:>8.1} ns/row", nanos[nanos.len() / 4]);
}

/// The columns of a batch as Java hands them over.
struct Handed {
    small_decimals: Vec<u8>,
    batch: RecordBatch,
}

impl Handed {
    fn new(batch: &RecordBatch) -> Self {
        let decimals = batch.column(3).to_data();
        let values = &decimals.buffer::<i128>(0)[..ROWS];
        Self { small_decimals: values.iter().flat_map(|v| (*v as i64).to_le_bytes()).collect(), batch: batch.clone() }
    }

    fn cross(&self, schema: &SchemaRef, types: &[DataType]) -> RecordBatch {
        let data: Vec<_> = self.batch.columns().iter().map(|c| c.to_data()).collect();
        let columns: Vec<ColumnIn<'_>> = data
            .iter()
            .enumerate()
            .map(|(i, d)| ColumnIn {
                validity: d.nulls().map(|n| n.buffer().as_slice()),
                data: match i {
                    3 => &self.small_decimals,
                    4..=6 => d.buffers()[1].as_slice(),
                    _ => d.buffers()[0].as_slice(),
                },
                offsets: (4..=6).contains(&i).then(|| d.buffers()[0].typed_data::<i32>()),
                extra: None,
            })
            .collect();
        columns_to_batch(schema, types, &columns, ROWS).expect("sound columns")
    }
}

fn main() {
    let types = types();
    let schema = schema(&types);
    let batches: Vec<RecordBatch> = (0..BATCHES as u64).map(|seed| batch(&schema, seed)).collect();

    let handed: Vec<Handed> = batches.iter().map(Handed::new).collect();
    assert_eq!(handed[0].cross(&schema, &types), batches[0]);
    measure("crossing (columns in to Arrow)", |i| drop(black_box(handed[i].cross(&schema, &types))));

    let writer = BinaryRowWriter::new(&types);
    let (mut out, mut starts) = (Vec::new(), Vec::new());
    let mut write = |writer: &BinaryRowWriter, batch: &RecordBatch| {
        out.clear();
        starts.clear();
        writer.write(batch, &mut out, &mut starts).expect("sound rows");
        black_box(&out).len()
    };
    let length = write(&writer, &batches[0]);
    measure("BinaryRow write, 8 columns", |i| _ = write(&writer, &batches[i]));
    let two: Vec<RecordBatch> = batches.iter().map(|b| b.project(&[0, 5]).expect("two columns")).collect();
    let writer = BinaryRowWriter::new(&[types[0].clone(), types[5].clone()]);
    measure("BinaryRow write, 2 of 8 columns", |i| _ = write(&writer, &two[i]));
    let (source, mut copy) = (vec![7_u8; length], vec![0_u8; length]);
    measure("  copy of the bytes of 8 columns", |_| black_box(&mut copy).copy_from_slice(black_box(&source)));

    let encoder = RowEncoder::new(&types);
    let mut bytes = Vec::new();
    measure("compacted encode", |i| {
        bytes.clear();
        let rows = encoder.bind(batches[i].columns()).expect("columns of these types");
        (0..ROWS).for_each(|row| rows.encode(row, &mut bytes));
        black_box(&bytes);
    });
    let rows = encoder.bind(batches[0].columns()).expect("columns of these types");
    let encoded = |row| {
        let mut out = Vec::new();
        rows.encode(row, &mut out);
        out
    };
    let stored: Vec<Vec<u8>> = (0..ROWS).map(encoded).collect();
    for (name, projection) in
        [("compacted decode, 8 columns", None), ("compacted decode, 2 of 8 columns", Some(&[0, 5][..]))]
    {
        let decoder = RowDecoder::new(&types, projection);
        measure(name, |_| {
            let mut builder = decoder.builder(ROWS);
            stored.iter().for_each(|row| builder.push(row).expect("our own rows"));
            black_box(builder.finish().expect("our own rows"));
        });
    }

    for (format, function) in
        [(KeyFormat::Compacted, BucketFunction::Fluss), (KeyFormat::Paimon, BucketFunction::Paimon)]
    {
        let encoder = KeyEncoder::new(format, &types[..1]).expect("a flat key");
        measure(&format!("{format:?} key of a BIGINT, and its bucket"), |i| {
            let keys = encoder.bind(&batches[i].columns()[..1]).expect("columns of these types");
            for row in 0..ROWS {
                bytes.clear();
                keys.encode(row, &mut bytes).expect("no NULL");
                black_box(function.bucket(&bytes, 16));
            }
        });
    }
}
