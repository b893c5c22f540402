//! Schemas, types and batches from a seed: every type, nested ones to a given depth, with NULL, empty, extreme and Unicode values, and
//! with garbage where a NULL hides it. The same seed gives the same answer on every machine.

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, ListArray, MapArray, RecordBatch, RecordBatchOptions,
    StringArray, StructArray, make_array, types as arrow,
};
use arrow_array::{ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType as ArrowType, Fields, Schema as ArrowSchema, SchemaRef, TimeUnit};
use proptest::strategy::Strategy;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluice_row::{Column, DataType, RowField, Schema, TypeRoot, arrow_field, arrow_type};
use std::sync::Arc;

/// Texts with something to go wrong: empty, exactly at and beyond what fits in a row's slot, one to four bytes a character.
const TEXTS: [&str; 12] = [
    "",
    "a",
    "1234567",
    "12345678",
    "123456789",
    "中文",
    "naïve",
    "\u{1f600}\u{1f600}",
    "\0x",
    "e\u{301}",
    "'quoted', and\nbroken",
    "\u{10ffff}",
];

/// Makes things up.
#[derive(Debug)]
pub struct Gen {
    rng: StdRng,
    /// Of a hundred values that may be NULL, how many are.
    null_percent: u32,
}

/// Columns with their types.
#[derive(Debug, Clone)]
pub struct TypedBatch {
    /// The types of the columns.
    pub types: Vec<DataType>,
    /// The rows; columns are called `c0`, `c1`, ...
    pub batch: RecordBatch,
}

/// Batches of up to `columns` columns and `rows` rows, nested up to `depth`; shrinks towards fewer and flatter ones.
pub fn typed_batches(columns: usize, rows: usize, depth: u32) -> impl Strategy<Value = TypedBatch> {
    (1..=columns, 0..=rows, 0..=depth, proptest::num::u64::ANY).prop_map(|(columns, rows, depth, seed)| {
        let mut g = Gen::new(seed);
        let types = g.types(columns, depth);
        TypedBatch { batch: g.batch(&types, rows), types }
    })
}

impl Gen {
    /// A generator; a fifth of what may be NULL is.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rng: StdRng::seed_from_u64(seed), null_percent: 20 }
    }

    /// The same generator with another share of NULLs.
    #[must_use]
    pub fn with_null_percent(mut self, percent: u32) -> Self {
        self.null_percent = percent.min(100);
        self
    }

    /// A number in `0..limit`; 0 when `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { self.rng.random_range(0..limit) }
    }

    /// True once in `n`.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Column types, nested up to `depth`, most of them nullable.
    pub fn types(&mut self, columns: usize, depth: u32) -> Vec<DataType> {
        (0..columns).map(|_| self.data_type(depth)).collect()
    }

    /// Any type, nested up to `depth`.
    pub fn data_type(&mut self, depth: u32) -> DataType {
        if depth == 0 || !self.one_in(3) {
            return self.flat_type();
        }
        let root = match self.below(3) {
            0 => TypeRoot::Array(Box::new(self.data_type(depth - 1))),
            1 => TypeRoot::Map(Box::new(self.flat_type().not_null()), Box::new(self.data_type(depth - 1))),
            _ => TypeRoot::Row((0..1 + self.below(4)).map(|i| self.row_field(i, depth - 1)).collect()),
        };
        self.nullability(root)
    }

    fn row_field(&mut self, i: usize, depth: u32) -> RowField {
        RowField { name: format!("f{i}"), data_type: self.data_type(depth), description: None, field_id: -1 }
    }

    /// Any type that a key may have.
    pub fn flat_type(&mut self) -> DataType {
        let precision = self.below(10) as u8;
        let root = match self.below(18) {
            0 => TypeRoot::Boolean,
            1 => TypeRoot::TinyInt,
            2 => TypeRoot::SmallInt,
            3 => TypeRoot::Int,
            4 => TypeRoot::BigInt,
            5 => TypeRoot::Float,
            6 => TypeRoot::Double,
            7 => TypeRoot::Char(1 + self.below(20) as u32),
            8 | 9 => TypeRoot::String,
            10 => TypeRoot::Date,
            11 => TypeRoot::Time { precision },
            12 => TypeRoot::Timestamp { precision },
            13 => TypeRoot::TimestampLtz { precision },
            14 => TypeRoot::Binary(1 + self.below(20) as u32),
            15 => TypeRoot::Bytes,
            16 => self.decimal(1, 18),
            _ => self.decimal(19, 38),
        };
        self.nullability(root)
    }

    fn decimal(&mut self, from: usize, to: usize) -> TypeRoot {
        let precision = from + self.below(to - from + 1);
        TypeRoot::Decimal { precision: precision as u8, scale: self.below(precision + 1) as u8 }
    }

    fn nullability(&mut self, root: TypeRoot) -> DataType {
        DataType { root, nullable: !self.one_in(4) }
    }

    /// A table's schema with ids: `columns` columns called `c0`, `c1`, ..., the first `keys` of them flat, NOT NULL and the primary key.
    pub fn schema(&mut self, columns: usize, keys: usize, depth: u32) -> Schema {
        let column = |i: usize| Column {
            name: format!("c{i}"),
            data_type: if i < keys { self.flat_type().not_null() } else { self.data_type(depth) },
            comment: None,
            id: None,
            agg_function: None,
        };
        let columns: Vec<Column> = (0..columns.max(keys)).map(column).collect();
        let mut schema = Schema::new(columns, (0..keys).map(|i| format!("c{i}")).collect());
        schema.assign_ids();
        schema
    }

    /// A batch of rows of these types; columns are called `c0`, `c1`, ...
    pub fn batch(&mut self, types: &[DataType], rows: usize) -> RecordBatch {
        let fields: Fields = types.iter().enumerate().map(|(i, t)| arrow_field(&format!("c{i}"), t)).collect();
        self.batch_of(&Arc::new(ArrowSchema::new(fields)), types, rows)
    }

    /// A batch of rows of a given Arrow schema, which must be that of `types`.
    ///
    /// # Panics
    /// When it is not.
    pub fn batch_of(&mut self, schema: &SchemaRef, types: &[DataType], rows: usize) -> RecordBatch {
        let columns = types.iter().map(|t| self.array(t, rows)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).expect("columns of the schema's types")
    }

    /// A column.
    ///
    /// # Panics
    /// Never; Arrow accepts what is made here.
    pub fn array(&mut self, data_type: &DataType, rows: usize) -> ArrayRef {
        let nulls = data_type.nullable.then(|| self.nulls(rows));
        match &data_type.root {
            TypeRoot::Boolean => {
                let bits = BooleanBuffer::collect_bool(rows, |_| self.one_in(2));
                Arc::new(BooleanArray::new(bits, nulls))
            }
            TypeRoot::TinyInt => self.primitive::<arrow::Int8Type>(rows, nulls, |g| g.integer(8) as i8),
            TypeRoot::SmallInt => self.primitive::<arrow::Int16Type>(rows, nulls, |g| g.integer(16) as i16),
            TypeRoot::Int => self.primitive::<arrow::Int32Type>(rows, nulls, |g| g.integer(32) as i32),
            TypeRoot::Date => self.primitive::<arrow::Date32Type>(rows, nulls, |g| g.integer(22) as i32),
            TypeRoot::BigInt => self.primitive::<arrow::Int64Type>(rows, nulls, |g| g.integer(64)),
            TypeRoot::Float => self.primitive::<arrow::Float32Type>(rows, nulls, |g| g.float() as f32),
            TypeRoot::Double => self.primitive::<arrow::Float64Type>(rows, nulls, Self::float),
            TypeRoot::Char(_) | TypeRoot::String => {
                let texts: Vec<String> = (0..rows).map(|_| self.text()).collect();
                let array = StringArray::from_iter_values(texts);
                Arc::new(StringArray::new(array.offsets().clone(), array.values().clone(), nulls))
            }
            TypeRoot::Bytes => {
                let values: Vec<Vec<u8>> = (0..rows).map(|_| self.text().into_bytes()).collect();
                let array = BinaryArray::from_iter_values(values);
                Arc::new(BinaryArray::new(array.offsets().clone(), array.values().clone(), nulls))
            }
            TypeRoot::Binary(width) => {
                let bytes: Vec<u8> = (0..rows * *width as usize).map(|_| self.rng.random()).collect();
                Arc::new(FixedSizeBinaryArray::new(*width as i32, Buffer::from(bytes), nulls))
            }
            TypeRoot::Decimal { precision, .. } => {
                let values: Vec<i128> = (0..rows).map(|_| self.unscaled(*precision)).collect();
                fixed(data_type, rows, nulls, values.into())
            }
            TypeRoot::Time { precision } => self.times(data_type, *precision, rows, nulls),
            TypeRoot::Timestamp { precision } | TypeRoot::TimestampLtz { precision } => {
                let values: Vec<i64> = (0..rows).map(|_| self.instant(*precision)).collect();
                fixed(data_type, rows, nulls, values.into())
            }
            TypeRoot::Array(element) => {
                let (offsets, length) = self.offsets(rows);
                let ArrowType::List(field) = arrow_type(data_type) else { unreachable!("ARRAY is List") };
                Arc::new(ListArray::new(field, offsets, self.array(element, length), nulls))
            }
            TypeRoot::Map(key, value) => {
                let (offsets, length) = self.offsets(rows);
                let ArrowType::Map(entries, _) = arrow_type(data_type) else { unreachable!("MAP is Map") };
                let ArrowType::Struct(fields) = entries.data_type() else { unreachable!("entries are Struct") };
                let columns = vec![self.array(&(**key).clone().not_null(), length), self.array(value, length)];
                let columns = StructArray::new(fields.clone(), columns, None);
                Arc::new(MapArray::new(entries, offsets, columns, nulls, false))
            }
            TypeRoot::Row(fields) => {
                let ArrowType::Struct(arrow_fields) = arrow_type(data_type) else { unreachable!("ROW is Struct") };
                let columns = fields.iter().map(|f| self.array(&f.data_type, rows)).collect();
                Arc::new(StructArray::new(arrow_fields, columns, nulls))
            }
        }
    }

    fn nulls(&mut self, rows: usize) -> NullBuffer {
        let percent = self.null_percent;
        NullBuffer::new(BooleanBuffer::collect_bool(rows, |_| self.rng.random_range(0..100) >= percent))
    }

    fn offsets(&mut self, rows: usize) -> (OffsetBuffer<i32>, usize) {
        let lengths: Vec<usize> =
            (0..rows).map(|_| if self.one_in(12) { 30 + self.below(40) } else { self.below(4) }).collect();
        let length = lengths.iter().sum();
        (OffsetBuffer::from_lengths(lengths), length)
    }

    fn primitive<T: ArrowPrimitiveType>(
        &mut self,
        rows: usize,
        nulls: Option<NullBuffer>,
        mut value: impl FnMut(&mut Self) -> T::Native,
    ) -> ArrayRef {
        let values: ScalarBuffer<T::Native> = (0..rows).map(|_| value(self)).collect();
        Arc::new(PrimitiveArray::<T>::new(values, nulls))
    }

    /// A signed number of so many bits: small, extreme or any.
    pub fn integer(&mut self, bits: u32) -> i64 {
        let any: i64 = self.rng.random();
        match self.below(8) {
            0 => i64::MIN >> (64 - bits),
            1 => i64::MAX >> (64 - bits),
            2 => -1,
            3 => 0,
            4 | 5 => (any % 300) >> (64 - bits).min(2),
            _ => any >> (64 - bits),
        }
    }

    fn float(&mut self) -> f64 {
        match self.below(8) {
            0 => f64::NEG_INFINITY,
            1 => -0.0,
            2 => f64::MAX,
            3 => f64::MIN_POSITIVE,
            4 => f64::NAN,
            _ => self.rng.random_range(-1e6..1e6),
        }
    }

    /// Text: often one with something to go wrong, sometimes long.
    pub fn text(&mut self) -> String {
        match self.below(10) {
            0 => "long ".repeat(1 + self.below(60)),
            1..=4 => (0..self.below(24)).map(|_| char::from(b'a' + self.below(26) as u8)).collect(),
            _ => TEXTS[self.below(TEXTS.len())].to_owned(),
        }
    }

    fn unscaled(&mut self, precision: u8) -> i128 {
        let most = 10_i128.pow(u32::from(precision)) - 1;
        match self.below(6) {
            0 => most,
            1 => -most,
            2 => 0,
            3 => -1,
            _ => self.rng.random_range(-most..=most),
        }
    }

    fn times(&mut self, data_type: &DataType, precision: u8, rows: usize, nulls: Option<NullBuffer>) -> ArrayRef {
        let step = 10_i64.pow(3 - u32::from(precision.min(3)));
        let mut millis = || self.rng.random_range(0..86_400_000_i64) / step * step;
        match arrow_type(data_type) {
            ArrowType::Time32(unit) => {
                let per_milli = if unit == TimeUnit::Second { 1_000 } else { 1 };
                let values: Vec<i32> = (0..rows).map(|_| (millis() / per_milli) as i32).collect();
                fixed(data_type, rows, nulls, values.into())
            }
            other => {
                let nanoseconds = other == ArrowType::Time64(TimeUnit::Nanosecond);
                let factor = if nanoseconds { 1_000_000 } else { 1_000 };
                let values: Vec<i64> = (0..rows).map(|_| millis() * factor).collect();
                fixed(data_type, rows, nulls, values.into())
            }
        }
    }

    /// An instant in the unit of a precision, without digits that the precision does not have: around 1970, years 1 to 9999 or,
    /// beyond 6 digits, what 64 bits can say.
    pub fn instant(&mut self, precision: u8) -> i64 {
        let (digits, step) = match precision {
            0 => (0, 1),
            1..=3 => (3, 10_i64.pow(3 - u32::from(precision))),
            4..=6 => (6, 10_i64.pow(6 - u32::from(precision))),
            _ => (9, 10_i64.pow(9 - u32::from(precision.min(9)))),
        };
        let per_second = 10_i64.pow(digits);
        let seconds = if digits == 9 { -9_223_372_000..9_223_372_000 } else { -62_135_596_800..253_402_300_800_i64 };
        let value = match self.below(6) {
            0 => 0,
            1 => -step,
            2 => self.rng.random_range(-3..3) * step,
            3 => seconds.start * per_second,
            _ => self.rng.random_range(seconds) * per_second + self.rng.random_range(0..per_second),
        };
        value - value.rem_euclid(step)
    }
}

/// A column of fixed-width values.
fn fixed(data_type: &DataType, rows: usize, nulls: Option<NullBuffer>, values: Buffer) -> ArrayRef {
    let data = arrow_data::ArrayData::builder(arrow_type(data_type)).len(rows).nulls(nulls).add_buffer(values);
    make_array(data.build().expect("values of the type's width"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_one_answer_and_another_another() {
        let make = |seed| {
            let mut g = Gen::new(seed);
            let schema = g.schema(6, 2, 3);
            let types: Vec<DataType> = schema.columns.iter().map(|c| c.data_type.clone()).collect();
            (schema, g.batch(&types, 50))
        };
        assert_eq!(make(7), make(7));
        assert_ne!(make(7).0, make(8).0);
    }

    #[test]
    fn many_seeds_reach_every_type() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let name = Gen::new(seed).data_type(2).to_string();
            seen.insert(name.split(['(', '<', ' ']).next().unwrap_or_default().to_owned());
        }
        assert_eq!(seen.len(), 19, "{seen:?}");
    }
}
