//! The tables: all types, NULLs, odd partition values, upper-case and keyword columns, rounds without rows, keys of every type.

use crate::warehouse::{Changes, Judged, Warehouse, bucket, column, descriptor, nullable};
use arrow_array::cast::AsArray;
use arrow_array::types::Date32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray,
};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use sluice_lake::{LakeBucket, LakePartition, SystemColumns};
use sluice_row::{
    BucketFunction, ChangeKind, Column, DataType, KeyEncoder, KeyFormat, RowField, TypeRoot, arrow_field,
};
use sluice_testkit::Gen;
use std::sync::Arc;

pub fn write_all(warehouse: &mut Warehouse) {
    all_types(warehouse);
    bucketed(warehouse);
    odd_partitions(warehouse);
    typed_partitions(warehouse);
    without_rows(warehouse);
    changes(warehouse);
    keys_of_every_type(warehouse);
    changes_in_partitions(warehouse);
}

fn flat_types() -> Vec<DataType> {
    let mut roots = vec![
        TypeRoot::Boolean,
        TypeRoot::TinyInt,
        TypeRoot::SmallInt,
        TypeRoot::Int,
        TypeRoot::BigInt,
        TypeRoot::Float,
        TypeRoot::Double,
        TypeRoot::Char(20),
        TypeRoot::String,
        TypeRoot::Date,
        TypeRoot::Binary(5),
        TypeRoot::Bytes,
    ];
    roots.extend(
        [(5, 2), (9, 0), (10, 10), (18, 3), (19, 4), (38, 10)]
            .map(|(precision, scale)| TypeRoot::Decimal { precision, scale }),
    );
    roots.extend([0, 3, 6, 9].map(|precision| TypeRoot::Time { precision }));
    roots.extend([0, 2, 3, 6, 9].map(|precision| TypeRoot::Timestamp { precision }));
    roots.extend([0, 3, 6, 9].map(|precision| TypeRoot::TimestampLtz { precision }));
    roots.into_iter().map(DataType::new).collect()
}

fn nested_types() -> Vec<DataType> {
    let field = |name: &str, root| RowField {
        name: name.to_owned(),
        data_type: nullable(root),
        description: Some("inside".to_owned()),
        field_id: -1,
    };
    let array = |root| TypeRoot::Array(Box::new(nullable(root)));
    let map = |key, value| TypeRoot::Map(Box::new(nullable(key).not_null()), Box::new(nullable(value)));
    let row = || {
        let inner = TypeRoot::Row(vec![
            field("x", TypeRoot::Decimal { precision: 20, scale: 2 }),
            field("SELECT", TypeRoot::Binary(3)),
        ]);
        TypeRoot::Row(vec![field("a", TypeRoot::Int), field("B", inner), field("t", TypeRoot::Time { precision: 0 })])
    };
    [
        array(TypeRoot::String),
        array(array(TypeRoot::TimestampLtz { precision: 6 })),
        map(TypeRoot::String, TypeRoot::BigInt),
        map(TypeRoot::Int, array(TypeRoot::Timestamp { precision: 0 })),
        row(),
        array(row()),
        map(TypeRoot::Date, row()),
    ]
    .map(DataType::new)
    .to_vec()
}

fn types_of(columns: &[Column]) -> Vec<DataType> {
    columns.iter().map(|c| c.data_type.clone()).collect()
}

fn all_types(warehouse: &mut Warehouse) {
    let mut types = flat_types();
    types.extend(flat_types().into_iter().map(DataType::not_null));
    types.extend(nested_types());
    let odd = ["Upper", "select", "two words", "Ünï", "a.b", "quo\"te", "_x", "KEY"];
    let name = |i: usize| odd.get(i).map_or_else(|| format!("c{i}"), |n| (*n).to_owned());
    let columns: Vec<Column> = types.into_iter().enumerate().map(|(i, t)| column(&name(i), t)).collect();
    let types = types_of(&columns);
    let table = warehouse.create("all_types", &descriptor(columns, &[]), SystemColumns::Added);
    let mut g = Gen::new(1);
    table.round(vec![
        (bucket(0), vec![(g.batch(&types, 400), vec![])]),
        (bucket(1), vec![(g.batch(&types, 1), vec![])]),
    ]);
    table.round(vec![(bucket(0), vec![])]);
    let mut nulls = Gen::new(2).with_null_percent(100);
    table.round(vec![(
        bucket(0),
        vec![(nulls.batch(&types, 20), vec![]), (g.batch(&types, 0), vec![]), (g.batch(&types, 30), vec![])],
    )]);
}

/// Rows of a batch by the bucket of their key.
fn by_bucket(batch: &RecordBatch, key: &[usize], types: &[DataType], buckets: i32) -> Vec<(i32, RecordBatch)> {
    let key_types: Vec<DataType> = key.iter().map(|i| types[*i].clone()).collect();
    let columns: Vec<ArrayRef> = key.iter().map(|i| Arc::clone(batch.column(*i))).collect();
    let encoder = KeyEncoder::new(KeyFormat::Paimon, &key_types).unwrap();
    let bound = encoder.bind(&columns).unwrap();
    let home = |row: usize| {
        let mut bytes = Vec::new();
        bound.encode(row, &mut bytes).unwrap();
        BucketFunction::Paimon.bucket(&bytes, buckets)
    };
    let homes: Vec<i32> = (0..batch.num_rows()).map(home).collect();
    let rows_of = |b: i32| -> Int64Array {
        (0..homes.len()).filter(|i| homes[*i] == b).map(|i| i as i64).collect::<Vec<_>>().into()
    };
    (0..buckets)
        .map(|b| (b, take_record_batch(batch, &rows_of(b)).unwrap()))
        .filter(|(_, r)| r.num_rows() > 0)
        .collect()
}

fn bucketed(warehouse: &mut Warehouse) {
    let columns = vec![
        column("id", nullable(TypeRoot::BigInt)),
        column("name", nullable(TypeRoot::String)),
        column("price", nullable(TypeRoot::Double)),
    ];
    let types = types_of(&columns);
    let mut wanted = descriptor(columns, &[]);
    (wanted.bucket_key, wanted.bucket_count) = (vec!["id".to_owned(), "name".to_owned()], Some(4));
    let table = warehouse.create("bucketed", &wanted, SystemColumns::LeftOut);
    let mut g = Gen::new(3);
    // Enough rounds that manifests are put together more than once.
    for _ in 0..70 {
        let batch = g.batch(&types, 40);
        let buckets = by_bucket(&batch, &[0, 1], &types, 4);
        table.round(buckets.into_iter().map(|(b, rows)| (bucket(b), vec![(rows, vec![])])).collect());
    }
}

fn batch(types: &[DataType], columns: Vec<ArrayRef>) -> RecordBatch {
    let fields: Vec<_> = types.iter().enumerate().map(|(i, t)| arrow_field(&format!("c{i}"), t)).collect();
    RecordBatch::try_new(Arc::new(arrow_schema::Schema::new(fields)), columns).unwrap()
}

fn in_partition(name: &str, bucket: i32) -> LakeBucket {
    LakeBucket { partition: Some(LakePartition { name: name.to_owned(), id: 1 }), bucket }
}

fn odd_partitions(warehouse: &mut Warehouse) {
    let columns = vec![
        column("v", nullable(TypeRoot::Int)),
        column("dt", nullable(TypeRoot::String)),
        column("Ä/b", nullable(TypeRoot::String)),
    ];
    let types = types_of(&columns);
    let mut wanted = descriptor(columns, &[]);
    wanted.partition_key = vec!["dt".to_owned(), "Ä/b".to_owned()];
    let table = warehouse.create("odd_partitions", &wanted, SystemColumns::Added);
    table.skip.insert("pypaimon", "it takes a non-breaking space for blank, and Java does not");
    write_partitions(table, &types, &["\u{a0}", "plain"]);
    let table = warehouse.create("partitions", &wanted, SystemColumns::Added);
    let values =
        ["", " ", "a b/c:d=e%f", "中文", "..", "it's", "{[^]}*?\\\"", "x\ty", "100%", "\u{1f600}", "2026-08-22"];
    write_partitions(table, &types, &values);
}

/// Rows in partitions with each of these values, and NULL, in both partition columns.
fn write_partitions(table: &mut Judged, types: &[DataType], values: &[&str]) {
    let texts = |value: Option<&str>, n: usize| Arc::new(StringArray::from(vec![value; n])) as ArrayRef;
    for (i, value) in values.iter().map(|v| Some(*v)).chain([None]).enumerate() {
        let rows = |n: usize| {
            let numbers = Arc::new(Int32Array::from_iter_values(0..n as i32)) as ArrayRef;
            batch(types, vec![numbers, texts(value, n), texts(Some("plain"), n)])
        };
        let name = format!("p{i}");
        table.round(vec![(in_partition(&name, 0), vec![(rows(3), vec![]), (rows(2), vec![])])]);
        let other = batch(
            types,
            vec![Arc::new(Int32Array::from(vec![7])) as ArrayRef, texts(Some("plain"), 1), texts(value, 1)],
        );
        table.round(vec![(in_partition(&format!("q{i}"), 0), vec![(other, vec![])])]);
    }
}

fn typed_partitions(warehouse: &mut Warehouse) {
    let roots = [
        TypeRoot::Boolean,
        TypeRoot::BigInt,
        TypeRoot::Date,
        TypeRoot::Timestamp { precision: 3 },
        TypeRoot::Decimal { precision: 5, scale: 2 },
        TypeRoot::Int,
    ];
    let columns: Vec<Column> =
        roots.into_iter().enumerate().map(|(i, r)| column(&format!("p{i}"), nullable(r))).collect();
    let types = types_of(&columns);
    let mut wanted = descriptor(columns, &[]);
    wanted.partition_key = (0..5).map(|i| format!("p{i}")).collect();
    let table = warehouse.create("typed_partitions", &wanted, SystemColumns::Added);
    for i in 0..4_i64 {
        let values = |n: usize| -> Vec<ArrayRef> {
            let some = |x: i64| (i != 3).then_some(x);
            vec![
                Arc::new(BooleanArray::from(vec![some(i).map(|x| x == 0); n])),
                Arc::new(Int64Array::from(vec![some(-i * 5_000_000_000); n])),
                Arc::new(Date32Array::from(vec![some(i * 9_000 - 5).map(|d| d as i32); n])),
                Arc::new(TimestampMillisecondArray::from(vec![some(i * 86_399_120 - 1); n])),
                Arc::new(
                    Decimal128Array::from(vec![some(i * 1_205 - 7).map(i128::from); n])
                        .with_precision_and_scale(5, 2)
                        .unwrap(),
                ),
                Arc::new(Int32Array::from_iter_values(0..n as i32)),
            ]
        };
        table.round(vec![(in_partition(&format!("p{i}"), 0), vec![(batch(&types, values(4)), vec![])])]);
    }
}

fn without_rows(warehouse: &mut Warehouse) {
    let columns = vec![column("v", nullable(TypeRoot::Int))];
    let table = warehouse.create("without_rows", &descriptor(columns, &[]), SystemColumns::Added);
    table.round(vec![(bucket(0), vec![])]);
    table.round(vec![(bucket(0), vec![])]);
    let columns = vec![column("k", nullable(TypeRoot::Int)), column("v", nullable(TypeRoot::Int))];
    let table = warehouse.create("keyed_without_rows", &descriptor(columns, &["k"]), SystemColumns::Added);
    table.round(vec![(bucket(0), vec![])]);
}

/// Rounds of random changes of rows whose keys are taken from `keys`, as a store would log them.
fn random_changes(
    table: &mut Judged,
    g: &mut Gen,
    keys: &RecordBatch,
    key: &[usize],
    buckets: i32,
    partition: Option<&str>,
) {
    let types = table.types.clone();
    let mut current: Vec<Option<RecordBatch>> = vec![None; keys.num_rows()];
    for _ in 0..6 {
        let mut of_bucket: Vec<Changes> = vec![Vec::new(); buckets as usize];
        for _ in 0..60 {
            let which = g.below(keys.num_rows());
            let fresh = g.batch(&types, 1);
            let columns = fresh.columns().iter().enumerate();
            let columns = columns.map(|(i, c)| match key.contains(&i) || partition.is_some() && i + 1 == types.len() {
                true => keys.column(i).slice(which, 1),
                false => Arc::clone(c),
            });
            let row = RecordBatch::try_new(fresh.schema(), columns.collect()).unwrap();
            let (changes, kinds) = match current[which].take() {
                None => (row.clone(), vec![ChangeKind::Insert]),
                Some(old) if g.one_in(4) => {
                    let home = by_bucket(&old, key, &types, buckets)[0].0;
                    of_bucket[home as usize].push((old, vec![ChangeKind::Delete]));
                    continue;
                }
                Some(old) => {
                    let both = concat_batches(&row.schema(), [&old, &row]).unwrap();
                    (both, vec![ChangeKind::UpdateBefore, ChangeKind::UpdateAfter])
                }
            };
            let home = by_bucket(&row, key, &types, buckets)[0].0;
            current[which] = Some(row);
            of_bucket[home as usize].push((changes, kinds));
        }
        let named = || partition.map(|name| LakePartition { name: name.to_owned(), id: 1 });
        let place = |b: usize| LakeBucket { partition: named(), bucket: b as i32 };
        table.round(of_bucket.into_iter().enumerate().map(|(b, changes)| (place(b), changes)).collect());
    }
}

fn changes(warehouse: &mut Warehouse) {
    let columns = vec![
        column("v", nullable(TypeRoot::String)),
        column("Id", nullable(TypeRoot::Int)),
        column("w", nullable(TypeRoot::TimestampLtz { precision: 9 })),
        column("name", nullable(TypeRoot::String)),
    ];
    let types = types_of(&columns);
    let mut wanted = descriptor(columns, &["Id", "name"]);
    wanted.bucket_count = Some(3);
    let table = warehouse.create("changes", &wanted, SystemColumns::Added);
    let mut g = Gen::new(5);
    let keys =
        g.batch(&[types[0].clone(), types[1].clone().not_null(), types[2].clone(), types[3].clone().not_null()], 25);
    let types: Vec<DataType> = table.types.clone();
    let keys = batch(&types, keys.columns().to_vec());
    random_changes(table, &mut g, &keys, &[1, 3], 3, None);
}

fn keys_of_every_type(warehouse: &mut Warehouse) {
    for (i, key_type) in flat_types().into_iter().enumerate() {
        let columns = vec![column("k", key_type), column("v", nullable(TypeRoot::Int))];
        let table = warehouse.create(&format!("key_{i}"), &descriptor(columns, &["k"]), SystemColumns::LeftOut);
        let types = table.types.clone();
        if let TypeRoot::Timestamp { precision: 9 } | TypeRoot::TimestampLtz { precision: 9 } = types[0].root {
            table.skip.insert("pypaimon", "it cuts keys to six digits of a second, which makes different keys one");
        }
        let mut g = Gen::new(100 + i as u64);
        let mut keys = g.batch(&types, 40);
        if types[0].root == TypeRoot::Date {
            // Python knows the years 1 to 9999 alone.
            let days: Date32Array = keys.column(0).as_primitive::<Date32Type>().unary(|d| d.rem_euclid(2_900_000));
            keys = batch(&types, vec![Arc::new(days) as ArrayRef, Arc::clone(keys.column(1))]);
        }
        let distinct = distinct_keys(&keys, &types[0]);
        random_changes(table, &mut g, &distinct, &[0], 1, None);
    }
}

/// One row a key, by the bytes under which the store would keep it.
fn distinct_keys(keys: &RecordBatch, key_type: &DataType) -> RecordBatch {
    let encoder = KeyEncoder::new(KeyFormat::Paimon, std::slice::from_ref(key_type)).unwrap();
    let column = [Arc::clone(keys.column(0))];
    let bound = encoder.bind(&column).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    let is_new = |row: &i64| {
        let mut bytes = Vec::new();
        bound.encode(*row as usize, &mut bytes).unwrap();
        seen.insert(bytes)
    };
    let rows: Vec<i64> = (0..keys.num_rows() as i64).filter(is_new).collect();
    take_record_batch(keys, &Int64Array::from(rows)).unwrap()
}

fn changes_in_partitions(warehouse: &mut Warehouse) {
    let columns = vec![
        column("k", nullable(TypeRoot::BigInt)),
        column("v", nullable(TypeRoot::String)),
        column("dt", nullable(TypeRoot::String)),
    ];
    let mut wanted = descriptor(columns, &["k", "dt"]);
    wanted.partition_key = vec!["dt".to_owned()];
    (wanted.bucket_key, wanted.bucket_count) = (vec!["k".to_owned()], Some(2));
    let table = warehouse.create("changes_in_partitions", &wanted, SystemColumns::Added);
    let types = table.types.clone();
    for (i, partition) in ["2026-01-01", "a=b/ü"].into_iter().enumerate() {
        let mut g = Gen::new(50 + i as u64);
        let keys = g.batch(&types, 20);
        let name = Arc::new(StringArray::from(vec![partition; 20])) as ArrayRef;
        let keys = batch(&types, vec![Arc::clone(keys.column(0)), Arc::clone(keys.column(1)), name]);
        random_changes(table, &mut g, &distinct_keys(&keys, &types[0]), &[0], 2, Some(partition));
    }
}
