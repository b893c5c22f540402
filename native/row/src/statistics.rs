//! What is known of a set of rows without reading them: for each column the number of NULLs and bounds of its values.
//!
//! Bounds may be wider than the values (long text is cut), never narrower: who leaves rows out because of them leaves out none that
//! would have counted. A column without bounds may hold anything.

use crate::varint::{get_u64, put_u64};
use crate::{DataType, TypeRoot};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrowPrimitiveType, StringArray};
use arrow_schema::{DataType as ArrowType, TimeUnit};

/// Text bounds are cut to so many bytes.
const TEXT_BYTES_MAX: usize = 32;

/// Both ends of a column's values, inclusive.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Bounds {
    /// Of what is kept as a whole number: booleans, integers, decimals without their point, dates and times in their unit.
    Number(i128, i128),
    /// No value is NaN; either zero stands for both.
    Float(f64, f64),
    /// Bytes of UTF-8. The upper one may be no text itself; equal ones are a value in full.
    Text(Vec<u8>, Vec<u8>),
}

/// One column's part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnStatistics {
    pub(crate) id: i32,
    pub(crate) nulls: u64,
    pub(crate) bounds: Option<Bounds>,
}

/// Statistics of some rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Statistics {
    pub(crate) rows: u64,
    pub(crate) columns: Vec<ColumnStatistics>,
}

impl Statistics {
    /// Whether a column of this type can have statistics: those whose values have one order for everybody.
    #[must_use]
    pub const fn supports(data_type: &DataType) -> bool {
        !matches!(
            data_type.root,
            TypeRoot::Binary(_) | TypeRoot::Bytes | TypeRoot::Array(_) | TypeRoot::Map(..) | TypeRoot::Row(_)
        )
    }

    /// Statistics of `rows` rows; each column comes with its id. Columns of other types are left out.
    #[must_use]
    pub fn of<'a>(columns: impl Iterator<Item = (i32, &'a dyn Array)>, rows: usize) -> Self {
        let column = |(id, values): (i32, &dyn Array)| {
            let nulls = values.null_count();
            let bounds = if nulls < values.len() { bounds_of(values)? } else { None };
            Some(ColumnStatistics { id, nulls: nulls as u64, bounds })
        };
        Self { rows: rows as u64, columns: columns.filter_map(column).collect() }
    }

    /// Adds the statistics of other rows. What is not known of both is not known of all.
    pub fn merge(&mut self, other: &Self) {
        let Self { rows, columns } = self;
        columns.retain_mut(|column| match other.columns.iter().find(|o| o.id == column.id) {
            Some(more) => {
                column.merge(*rows, more, other.rows);
                true
            }
            None => false,
        });
        *rows += other.rows;
    }

    pub(crate) fn column(&self, id: i32) -> Option<&ColumnStatistics> {
        self.columns.iter().find(|c| c.id == id)
    }

    /// Appends them as bytes (`docs/format.md`).
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_u64(out, self.rows);
        put_u64(out, self.columns.len() as u64);
        for column in &self.columns {
            put_u64(out, u64::from(column.id.cast_unsigned()));
            put_u64(out, column.nulls);
            match &column.bounds {
                None => out.push(NONE),
                Some(Bounds::Number(low, high)) => match (i64::try_from(*low), i64::try_from(*high)) {
                    (Ok(low), Ok(high)) => {
                        out.push(NUMBER);
                        put_u64(out, zigzag(low));
                        put_u64(out, zigzag(high));
                    }
                    _ => {
                        out.push(LONG_NUMBER);
                        out.extend_from_slice(&low.to_le_bytes());
                        out.extend_from_slice(&high.to_le_bytes());
                    }
                },
                Some(Bounds::Float(low, high)) => {
                    out.push(FLOAT);
                    out.extend_from_slice(&low.to_le_bytes());
                    out.extend_from_slice(&high.to_le_bytes());
                }
                Some(Bounds::Text(low, high)) => {
                    out.push(TEXT);
                    for text in [low, high] {
                        put_u64(out, text.len() as u64);
                        out.extend_from_slice(text);
                    }
                }
            }
        }
    }

    /// Reads what [`Statistics::encode`] wrote; `None` for anything else.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = Rest(bytes);
        let rows = rest.number()?;
        let count = rest.number()?;
        let mut columns = Vec::new();
        for _ in 0..count {
            let id = u32::try_from(rest.number()?).ok()?.cast_signed();
            columns.push(ColumnStatistics { id, nulls: rest.number()?, bounds: rest.bounds()? });
        }
        rest.0.is_empty().then_some(Self { rows, columns })
    }
}

impl ColumnStatistics {
    fn merge(&mut self, rows: u64, other: &Self, other_rows: u64) {
        self.bounds = match (self.bounds.take(), other.bounds.clone()) {
            (mine, None) if other.nulls == other_rows => mine,
            (None, theirs) if self.nulls == rows => theirs,
            (Some(mine), Some(theirs)) => widen(mine, theirs),
            _ => None,
        };
        self.nulls += other.nulls;
    }
}

fn widen(a: Bounds, b: Bounds) -> Option<Bounds> {
    Some(match (a, b) {
        (Bounds::Number(l, h), Bounds::Number(m, i)) => Bounds::Number(l.min(m), h.max(i)),
        (Bounds::Float(l, h), Bounds::Float(m, i)) => Bounds::Float(l.min(m), h.max(i)),
        (Bounds::Text(l, h), Bounds::Text(m, i)) => Bounds::Text(l.min(m), h.max(i)),
        _ => return None,
    })
}

/// `None` for a type without statistics, `Some(None)` when the values have no bounds.
fn bounds_of(values: &dyn Array) -> Option<Option<Bounds>> {
    Some(match values.data_type() {
        ArrowType::Boolean => {
            let booleans = values.as_boolean();
            let set = booleans.true_count();
            let clear = booleans.len() - booleans.null_count() - set;
            Some(Bounds::Number(i128::from(clear == 0), i128::from(set > 0)))
        }
        ArrowType::Int8 => numbers::<Int8Type>(values),
        ArrowType::Int16 => numbers::<Int16Type>(values),
        ArrowType::Int32 => numbers::<Int32Type>(values),
        ArrowType::Int64 => numbers::<Int64Type>(values),
        ArrowType::Date32 => numbers::<Date32Type>(values),
        ArrowType::Decimal128(..) => numbers::<Decimal128Type>(values),
        ArrowType::Time32(TimeUnit::Second) => numbers::<Time32SecondType>(values),
        ArrowType::Time32(TimeUnit::Millisecond) => numbers::<Time32MillisecondType>(values),
        ArrowType::Time64(TimeUnit::Microsecond) => numbers::<Time64MicrosecondType>(values),
        ArrowType::Time64(TimeUnit::Nanosecond) => numbers::<Time64NanosecondType>(values),
        ArrowType::Timestamp(TimeUnit::Second, _) => numbers::<TimestampSecondType>(values),
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => numbers::<TimestampMillisecondType>(values),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => numbers::<TimestampMicrosecondType>(values),
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => numbers::<TimestampNanosecondType>(values),
        ArrowType::Float32 => floats::<Float32Type>(values),
        ArrowType::Float64 => floats::<Float64Type>(values),
        ArrowType::Utf8 => texts(values.as_string()),
        _ => return None,
    })
}

/// Least and greatest of the values that are there.
fn extremes<T: ArrowPrimitiveType>(values: &dyn Array) -> Option<(T::Native, T::Native)>
where
    T::Native: PartialOrd,
{
    let values = values.as_primitive::<T>();
    let least = |a: T::Native, b: T::Native| if b < a { b } else { a };
    let greatest = |a: T::Native, b: T::Native| if b > a { b } else { a };
    let widen = |(low, high), value| (least(low, value), greatest(high, value));
    if values.null_count() == 0 {
        let first = *values.values().first()?;
        return Some(values.values().iter().copied().fold((first, first), widen));
    }
    let mut present = values.iter().flatten();
    let first = present.next()?;
    Some(present.fold((first, first), widen))
}

fn numbers<T: ArrowPrimitiveType>(values: &dyn Array) -> Option<Bounds>
where
    T::Native: PartialOrd + Into<i128>,
{
    extremes::<T>(values).map(|(low, high)| Bounds::Number(low.into(), high.into()))
}

/// No bounds as soon as one value is NaN: it is not below, not above and not equal to anything, itself included.
fn floats<T: ArrowPrimitiveType>(values: &dyn Array) -> Option<Bounds>
where
    T::Native: PartialOrd + Into<f64>,
{
    let is_nan = |value: T::Native| value.partial_cmp(&value).is_none();
    let array = values.as_primitive::<T>();
    let has_nan = match array.null_count() {
        0 => array.values().iter().any(|v| is_nan(*v)),
        _ => array.iter().flatten().any(is_nan),
    };
    if has_nan {
        return None;
    }
    extremes::<T>(values).map(|(low, high)| Bounds::Float(low.into(), high.into()))
}

/// Eight bytes as a number that orders as they do, so that nearly all comparisons are of numbers.
fn leading(text: &[u8]) -> u64 {
    match text.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => text.iter().zip(0..).fold(0, |sum, (byte, i)| sum | u64::from(*byte) << (56 - 8 * i)),
    }
}

fn texts(values: &StringArray) -> Option<Bounds> {
    let mut present = (0..values.len()).filter(|i| values.is_valid(*i)).map(|i| values.value(i).as_bytes());
    let first = present.next()?;
    let (mut low, mut high) = ((leading(first), first), (leading(first), first));
    for text in present {
        let number = leading(text);
        if number < low.0 || (number == low.0 && text < low.1) {
            low = (number, text);
        }
        if number > high.0 || (number == high.0 && text > high.1) {
            high = (number, text);
        }
    }
    let lower = low.1.get(..TEXT_BYTES_MAX).unwrap_or(low.1);
    Some(Bounds::Text(lower.to_vec(), upper(high.1)?))
}

/// A short text that is not below any text which begins like this one.
fn upper(text: &[u8]) -> Option<Vec<u8>> {
    let Some(start) = text.get(..TEXT_BYTES_MAX).filter(|_| text.len() > TEXT_BYTES_MAX) else {
        return Some(text.to_vec());
    };
    let mut upper = start.to_vec();
    while let Some(last) = upper.pop() {
        if last < u8::MAX {
            upper.push(last + 1);
            return Some(upper);
        }
    }
    None
}

const NONE: u8 = 0;
const NUMBER: u8 = 1;
const LONG_NUMBER: u8 = 2;
const FLOAT: u8 = 3;
const TEXT: u8 = 4;

const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn number(&mut self) -> Option<u64> {
        let (value, length) = get_u64(self.0)?;
        self.0 = self.0.get(length..)?;
        Some(value)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn text(&mut self) -> Option<Vec<u8>> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text.to_vec())
    }

    /// `Some(None)` where no bounds were written.
    fn bounds(&mut self) -> Option<Option<Bounds>> {
        let [tag] = self.take()?;
        Some(Some(match tag {
            NONE => return Some(None),
            NUMBER => Bounds::Number(unzigzag(self.number()?).into(), unzigzag(self.number()?).into()),
            LONG_NUMBER => Bounds::Number(i128::from_le_bytes(self.take()?), i128::from_le_bytes(self.take()?)),
            FLOAT => Bounds::Float(f64::from_le_bytes(self.take()?), f64::from_le_bytes(self.take()?)),
            TEXT => Bounds::Text(self.text()?, self.text()?),
            _ => return None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Float64Array, Int64Array};

    fn of(values: &dyn Array) -> Option<Bounds> {
        Statistics::of([(7, values)].into_iter(), values.len()).columns.remove(0).bounds
    }

    #[test]
    fn long_text_is_cut_and_the_upper_end_moves_up() {
        let long = "x".repeat(40);
        let cut = of(&StringArray::from(vec![Some(long.as_str()), None, Some("abc")]));
        let mut high = "x".repeat(31).into_bytes();
        high.push(b'y');
        assert_eq!(cut, Some(Bounds::Text(b"abc".to_vec(), high)));
        assert_eq!(upper(&[0xff; 33]), None);
        assert_eq!(upper(&[[1].as_slice(), &[0xff; 40]].concat()), Some(vec![2]));
    }

    #[test]
    fn text_orders_by_its_bytes() {
        let words = ["", "a", "a\0", "ab", "abcdefgh", "abcdefgh\0", "abcdefghi", "ä", "\u{ffff}", "\u{10000}"];
        for (i, low) in words.iter().enumerate() {
            for high in &words[i..] {
                let expected = Some(Bounds::Text(low.as_bytes().to_vec(), high.as_bytes().to_vec()));
                assert_eq!(of(&StringArray::from(vec![*high, *low])), expected);
            }
        }
    }

    #[test]
    fn nan_takes_the_bounds_away_and_nulls_do_not() {
        assert_eq!(of(&Float64Array::from(vec![Some(1.0), None, Some(-2.5)])), Some(Bounds::Float(-2.5, 1.0)));
        assert_eq!(of(&Float64Array::from(vec![1.0, f64::NAN])), None);
        assert_eq!(of(&Int64Array::from(vec![None, Some(3), None])), Some(Bounds::Number(3, 3)));
    }

    #[test]
    fn the_bytes_of_version_1_stay() {
        let column = |id, nulls, bounds| ColumnStatistics { id, nulls, bounds };
        let statistics = Statistics {
            rows: 300,
            columns: vec![
                column(0, 300, None),
                column(1, 1, Some(Bounds::Number(-2, 64))),
                column(2, 0, Some(Bounds::Number(0, 1 << 70))),
                column(3, 0, Some(Bounds::Float(-0.5, 1.0))),
                column(200, 0, Some(Bounds::Text(b"a".to_vec(), b"bc".to_vec()))),
            ],
        };
        let mut bytes = Vec::new();
        statistics.encode(&mut bytes);
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        let golden = [
            "ac0205",
            "00ac0200",
            "0101010380 01",
            "0200020000000000000000000000000000000000000000000000004000000000000000",
            "030003000000000000e0bf000000000000f03f",
            "c80100040161026263",
        ];
        assert_eq!(hex, golden.concat().replace(' ', ""));
        assert_eq!(Statistics::decode(&bytes), Some(statistics));
        for cut in 0..bytes.len() {
            assert_eq!(Statistics::decode(&bytes[..cut]), None);
        }
        bytes.push(0);
        assert_eq!(Statistics::decode(&bytes), None);
    }
}
