//! A filter never leaves out rows that meet its condition: every comparison on every ordered type, against a row-by-row model.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, StringArray};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use proptest::prelude::*;
use sluice_row::{Column, Comparison, DataType, Filter, Literal, Predicate, Schema, Statistics, TypeRoot, arrow_type};
use sluice_testkit::Gen;
use std::cmp::Ordering;
use std::sync::Arc;

/// A value as the store keeps it.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Null,
    Number(i128),
    Float(f64),
    Text(String),
}

const OPS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

fn roots() -> Vec<TypeRoot> {
    let mut roots = vec![
        TypeRoot::Boolean,
        TypeRoot::TinyInt,
        TypeRoot::SmallInt,
        TypeRoot::Int,
        TypeRoot::BigInt,
        TypeRoot::Float,
        TypeRoot::Double,
        TypeRoot::Char(3),
        TypeRoot::String,
        TypeRoot::Decimal { precision: 5, scale: 2 },
        TypeRoot::Decimal { precision: 38, scale: 0 },
        TypeRoot::Decimal { precision: 38, scale: 38 },
        TypeRoot::Date,
    ];
    for precision in [0, 2, 3, 6, 9] {
        roots.push(TypeRoot::Time { precision });
        roots.push(TypeRoot::Timestamp { precision });
        roots.push(TypeRoot::TimestampLtz { precision });
    }
    roots
}

/// Few values of each type, so that they meet again: extremes, neighbours, and what is equal without being the same.
fn values(root: &TypeRoot) -> Vec<Cell> {
    let numbers = |n: &[i128]| n.iter().map(|n| Cell::Number(*n)).collect();
    let within = |low: i128, high: i128| numbers(&[low, low + 1, -2, -1, 0, 1, 2, high - 1, high]);
    match root {
        TypeRoot::Boolean => numbers(&[0, 1]),
        TypeRoot::TinyInt => within(i8::MIN.into(), i8::MAX.into()),
        TypeRoot::SmallInt => within(i16::MIN.into(), i16::MAX.into()),
        TypeRoot::Int | TypeRoot::Date => within(i32::MIN.into(), i32::MAX.into()),
        TypeRoot::BigInt => within(i64::MIN.into(), i64::MAX.into()),
        TypeRoot::Decimal { precision, .. } => {
            let most = 10_i128.pow(u32::from(*precision)) - 1;
            within(-most, most)
        }
        TypeRoot::Float => {
            let all = [f32::NAN, f32::NEG_INFINITY, f32::MIN, -1.5, -0.0, 0.0, f32::MIN_POSITIVE, 0.1, 1.5, f32::MAX];
            all.iter().map(|v| Cell::Float(f64::from(*v))).collect()
        }
        TypeRoot::Double => {
            let all = [f64::NAN, f64::NEG_INFINITY, f64::MIN, -1.5, -0.0, 0.0, 5e-324, 0.1, 0.3, 1.5, f64::INFINITY];
            all.iter().map(|v| Cell::Float(*v)).collect()
        }
        TypeRoot::Char(_) | TypeRoot::String => {
            let (long, high) = ("prefix".repeat(6), "\u{10ffff}".repeat(9));
            let mut all: Vec<String> = ["", "\0", "a", "A", "ab", "ab ", "naïve", "中文", "\u{1f600}", "\u{ffff}"]
                .iter()
                .map(|s| (*s).to_owned())
                .collect();
            all.extend([&long[..31], &long[..32], &long[..33], &long, &high, &high[..32]].map(str::to_owned));
            all.extend([format!("{long}x"), format!("{}q", &long[..31]), format!("{}\0", &long[..32])]);
            all.into_iter().map(Cell::Text).collect()
        }
        TypeRoot::Time { precision } => {
            let most = 86_400 * units(*precision) - 1;
            numbers(&[0, 1, 999, 1_000, 1_001, 1_500, 999_999, 1_000_000, most - 1, most].map(|n| n.min(most)))
        }
        TypeRoot::Timestamp { precision } | TypeRoot::TimestampLtz { precision } => {
            let second = units(*precision);
            numbers(&[-62_000_000 * second, -second - 1, -second, -1, 0, 1, 2, second, second + 1, 9_000_000_000])
        }
        other => panic!("no values of {other:?}"),
    }
}

/// Stored units in a second.
fn units(precision: u8) -> i128 {
    match precision {
        0 => 1,
        1..=3 => 1_000,
        4..=6 => 1_000_000,
        _ => 1_000_000_000,
    }
}

fn primitive<T: arrow_array::ArrowPrimitiveType>(cells: &[Cell], of: impl Fn(i128) -> T::Native) -> ArrayRef {
    // Where a NULL is, something stands that must not count.
    let stored = cells.iter().map(|c| if let Cell::Number(n) = c { of(*n) } else { of(77) });
    let nulls = cells.iter().map(|c| *c != Cell::Null).collect::<Vec<_>>().into();
    Arc::new(PrimitiveArray::<T>::new(stored.collect(), Some(nulls)))
}

fn floats(cells: &[Cell]) -> impl Iterator<Item = Option<f64>> + '_ {
    cells.iter().map(|c| if let Cell::Float(v) = c { Some(*v) } else { None })
}

fn array(root: &TypeRoot, cells: &[Cell]) -> ArrayRef {
    let number = |c: &Cell| if let Cell::Number(n) = c { Some(*n) } else { None };
    match arrow_type(&DataType::new(root.clone())) {
        ArrowType::Boolean => {
            Arc::new(cells.iter().map(|c| number(c).map(|n| n != 0)).collect::<BooleanArray>()) as ArrayRef
        }
        ArrowType::Int8 => primitive::<Int8Type>(cells, |n| n as i8),
        ArrowType::Int16 => primitive::<Int16Type>(cells, |n| n as i16),
        ArrowType::Int32 => primitive::<Int32Type>(cells, |n| n as i32),
        ArrowType::Int64 => primitive::<Int64Type>(cells, |n| n as i64),
        ArrowType::Date32 => primitive::<Date32Type>(cells, |n| n as i32),
        ArrowType::Decimal128(..) => primitive::<Decimal128Type>(cells, |n| n),
        ArrowType::Time32(TimeUnit::Second) => primitive::<Time32SecondType>(cells, |n| n as i32),
        ArrowType::Time32(_) => primitive::<Time32MillisecondType>(cells, |n| n as i32),
        ArrowType::Time64(TimeUnit::Microsecond) => primitive::<Time64MicrosecondType>(cells, |n| n as i64),
        ArrowType::Time64(_) => primitive::<Time64NanosecondType>(cells, |n| n as i64),
        ArrowType::Timestamp(TimeUnit::Second, _) => primitive::<TimestampSecondType>(cells, |n| n as i64),
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => primitive::<TimestampMillisecondType>(cells, |n| n as i64),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => primitive::<TimestampMicrosecondType>(cells, |n| n as i64),
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => primitive::<TimestampNanosecondType>(cells, |n| n as i64),
        ArrowType::Float32 => {
            let values = floats(cells).map(|v| v.map(|v| v as f32));
            Arc::new(values.collect::<PrimitiveArray<Float32Type>>())
        }
        ArrowType::Float64 => Arc::new(floats(cells).collect::<PrimitiveArray<Float64Type>>()),
        ArrowType::Utf8 => {
            let texts = cells.iter().map(|c| if let Cell::Text(t) = c { Some(t.as_str()) } else { None });
            Arc::new(texts.collect::<StringArray>())
        }
        other => panic!("no column of {other}"),
    }
}

/// What a reader sees of a cell: times of day in milliseconds, instants in nanoseconds.
fn seen(root: &TypeRoot, cell: &Cell) -> Cell {
    match (root, cell) {
        (TypeRoot::Time { precision }, Cell::Number(n)) => Cell::Number((n * 1_000).div_euclid(units(*precision))),
        (TypeRoot::Timestamp { precision } | TypeRoot::TimestampLtz { precision }, Cell::Number(n)) => {
            Cell::Number(n * (1_000_000_000 / units(*precision)))
        }
        _ => cell.clone(),
    }
}

/// The literal that says what a reader sees of a cell, if there is one.
fn literal(root: &TypeRoot, cell: &Cell) -> Option<Literal> {
    Some(match (root, seen(root, cell)) {
        (TypeRoot::Boolean, Cell::Number(n)) => Literal::Boolean(n != 0),
        (TypeRoot::Date, Cell::Number(n)) => Literal::Date(n as i32),
        (TypeRoot::Time { .. }, Cell::Number(n)) => Literal::Time(n as i32),
        (TypeRoot::Timestamp { .. } | TypeRoot::TimestampLtz { .. }, Cell::Number(n)) => {
            Literal::Timestamp { millis: n.div_euclid(1_000_000) as i64, nanos: n.rem_euclid(1_000_000) as u32 }
        }
        (TypeRoot::Decimal { scale, .. }, Cell::Number(n)) => {
            let scale = usize::from(*scale);
            let digits = format!("{:0>width$}", n.unsigned_abs(), width = scale + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale);
            let sign = if n < 0 { "-" } else { "" };
            let point = if scale > 0 { "." } else { "" };
            Literal::Decimal(format!("{sign}{whole}{point}{fraction}"))
        }
        (_, Cell::Number(n)) => Literal::Integer(n as i64),
        (_, Cell::Float(v)) if v.is_finite() => Literal::Float(v.to_string()),
        (_, Cell::Text(t)) => Literal::Text(t),
        _ => return None,
    })
}

/// Columns `c0`, `c1`, ... with the ids 0, 10, 20, ...
struct World {
    roots: Vec<TypeRoot>,
    columns: Vec<Vec<Cell>>,
    schema: Schema,
}

/// A condition that knows its cells: the model asks those, the filter gets the literals.
#[derive(Debug, Clone)]
enum Asked {
    And(Vec<Asked>),
    Or(Vec<Asked>),
    Not(Box<Asked>),
    IsTrue(Box<Asked>),
    IsNull(usize),
    Compare(usize, Comparison, Cell),
    In(usize, Vec<Cell>),
}

impl World {
    fn new(g: &mut Gen, width: usize, rows: usize) -> Self {
        let all = roots();
        let roots: Vec<TypeRoot> = (0..width).map(|_| all[g.below(all.len())].clone()).collect();
        let columns = roots.iter().map(|root| Self::column(g, root, rows)).collect();
        Self { schema: schema(&roots), roots, columns }
    }

    /// A stretch of the type's values, so that there is something outside its bounds, with NULLs or of NULLs alone.
    fn column(g: &mut Gen, root: &TypeRoot, rows: usize) -> Vec<Cell> {
        let values = values(root);
        let (first, nulls) = (g.below(values.len()), [0, 0, 3, 10][g.below(4)]);
        let spread = 1 + g.below(3);
        let one = |g: &mut Gen| match nulls {
            10 => Cell::Null,
            n if g.below(10) < n => Cell::Null,
            _ => values[(first + g.below(spread)) % values.len()].clone(),
        };
        (0..rows).map(|_| one(g)).collect()
    }

    fn asked(&self, g: &mut Gen, depth: usize) -> Asked {
        let column = g.below(self.roots.len());
        let values: Vec<Cell> =
            values(&self.roots[column]).into_iter().filter(|v| literal(&self.roots[column], v).is_some()).collect();
        let mut value = || values[g.below(values.len())].clone();
        let (a, b, c) = (value(), value(), value());
        match g.below(if depth == 0 { 4 } else { 9 }) {
            0 => Asked::IsNull(column),
            1 => Asked::In(column, vec![a, b, c]),
            2 | 3 => Asked::Compare(column, OPS[g.below(6)], a),
            4 => Asked::And((0..1 + g.below(3)).map(|_| self.asked(g, depth - 1)).collect()),
            5 => Asked::Or((0..1 + g.below(3)).map(|_| self.asked(g, depth - 1)).collect()),
            6 => Asked::IsTrue(Box::new(self.asked(g, depth - 1))),
            // BETWEEN
            7 => Asked::And(vec![
                Asked::Compare(column, Comparison::GreaterOrEqual, a),
                Asked::Compare(column, Comparison::LessOrEqual, b),
            ]),
            _ => Asked::Not(Box::new(self.asked(g, depth - 1))),
        }
    }

    fn predicate(&self, asked: &Asked) -> Predicate {
        let all = |parts: &[Asked]| parts.iter().map(|p| self.predicate(p)).collect();
        let literal = |column: &usize, cell: &Cell| literal(&self.roots[*column], cell).unwrap();
        match asked {
            Asked::And(parts) => Predicate::And(all(parts)),
            Asked::Or(parts) => Predicate::Or(all(parts)),
            Asked::Not(inner) => Predicate::Not(Box::new(self.predicate(inner))),
            Asked::IsTrue(inner) => Predicate::IsTrue(Box::new(self.predicate(inner))),
            Asked::IsNull(column) => Predicate::IsNull(format!("c{column}")),
            Asked::Compare(column, op, cell) => {
                Predicate::Compare { column: format!("c{column}"), op: *op, value: literal(column, cell) }
            }
            Asked::In(column, cells) => Predicate::In {
                column: format!("c{column}"),
                values: cells.iter().map(|c| literal(column, c)).collect(),
            },
        }
    }

    /// What SQL says of one row; `None` = neither.
    fn holds(&self, asked: &Asked, row: usize) -> Option<bool> {
        let cell = |column: &usize| seen(&self.roots[*column], &self.columns[*column][row]);
        match asked {
            Asked::And(parts) => {
                let all: Vec<_> = parts.iter().map(|p| self.holds(p, row)).collect();
                if all.contains(&Some(false)) { Some(false) } else { (!all.contains(&None)).then_some(true) }
            }
            Asked::Or(parts) => {
                let all: Vec<_> = parts.iter().map(|p| self.holds(p, row)).collect();
                if all.contains(&Some(true)) { Some(true) } else { (!all.contains(&None)).then_some(false) }
            }
            Asked::Not(inner) => self.holds(inner, row).map(|b| !b),
            Asked::IsTrue(inner) => Some(self.holds(inner, row) == Some(true)),
            Asked::IsNull(column) => Some(cell(column) == Cell::Null),
            Asked::Compare(column, op, value) => compare(&cell(column), *op, &seen(&self.roots[*column], value)),
            Asked::In(column, cells) => {
                let equal = |c: &Cell| compare(&cell(column), Comparison::Equal, &seen(&self.roots[*column], c));
                if cell(column) == Cell::Null { None } else { Some(cells.iter().any(|c| equal(c) == Some(true))) }
            }
        }
    }

    fn statistics(&self, rows: std::ops::Range<usize>) -> Statistics {
        let arrays: Vec<ArrayRef> =
            self.roots.iter().zip(&self.columns).map(|(root, cells)| array(root, &cells[rows.clone()])).collect();
        Statistics::of((0..).step_by(10).zip(arrays.iter().map(|a| a.as_ref() as &dyn Array)), rows.len())
    }
}

fn schema(roots: &[TypeRoot]) -> Schema {
    let column = |(i, root): (usize, &TypeRoot)| Column {
        name: format!("c{i}"),
        data_type: DataType::new(root.clone()),
        comment: None,
        id: Some(10 * i32::try_from(i).unwrap()),
        agg_function: None,
    };
    Schema::new(roots.iter().enumerate().map(column).collect(), Vec::new())
}

fn compare(a: &Cell, op: Comparison, b: &Cell) -> Option<bool> {
    let order = match (a, b) {
        (Cell::Null, _) | (_, Cell::Null) => return None,
        (Cell::Number(a), Cell::Number(b)) => Some(a.cmp(b)),
        (Cell::Float(a), Cell::Float(b)) => a.partial_cmp(b),
        (Cell::Text(a), Cell::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        other => panic!("{other:?}"),
    };
    // Nothing orders with NaN, so nothing but <> is true of it.
    Some(match op {
        Comparison::Equal => order == Some(Ordering::Equal),
        Comparison::NotEqual => order != Some(Ordering::Equal),
        Comparison::Less => order == Some(Ordering::Less),
        Comparison::LessOrEqual => order.is_some_and(Ordering::is_le),
        Comparison::Greater => order == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
    })
}

fn through_bytes(statistics: &Statistics) -> Statistics {
    let mut bytes = Vec::new();
    statistics.encode(&mut bytes);
    Statistics::decode(&bytes).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn no_row_that_meets_the_condition_is_left_out(seed in any::<u64>(), rows in 1_usize..12, width in 1_usize..4) {
        let g = &mut Gen::new(seed);
        let world = World::new(g, width, rows);
        let cut = g.below(rows);
        let mut statistics = world.statistics(0..rows);
        if cut > 0 {
            let mut joined = through_bytes(&world.statistics(0..cut));
            joined.merge(&world.statistics(cut..rows));
            statistics = joined;
        }
        let statistics = through_bytes(&statistics);
        for _ in 0..20 {
            let asked = world.asked(g, 3);
            let filter = Filter::bind(&world.predicate(&asked), &world.schema).unwrap();
            let met: Vec<usize> = (0..rows).filter(|row| world.holds(&asked, *row) == Some(true)).collect();
            let kept = filter.may_hold(&statistics, |_| true);
            prop_assert!(kept || met.is_empty(), "{:?} of {:?} leaves out rows {:?} of {:?}", asked, world.roots, met, world.columns);
        }
    }

    #[test]
    fn any_bytes_are_statistics_or_are_not(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        if let Some(read) = Statistics::decode(&bytes) {
            let mut again = Vec::new();
            read.encode(&mut again);
            prop_assert_eq!(Statistics::decode(&again).map(|s| format!("{s:?}")), Some(format!("{read:?}")));
        }
    }
}

/// The other half: what bounds can tell is told. A comparison with a bound is exact in both directions where no value is NaN or long.
#[test]
fn what_bounds_tell_is_used() {
    for root in roots() {
        let exact: Vec<Cell> = values(&root)
            .into_iter()
            .filter(|v| literal(&root, v).is_some() && !matches!(v, Cell::Text(t) if t.len() > 32))
            .collect();
        for pair in exact.windows(2) {
            let world = World {
                roots: vec![root.clone()],
                columns: vec![pair.to_vec()],
                schema: schema(std::slice::from_ref(&root)),
            };
            let statistics = world.statistics(0..2);
            for value in &exact {
                for op in OPS {
                    let asked = Asked::Compare(0, op, value.clone());
                    let filter = Filter::bind(&world.predicate(&asked), &world.schema).unwrap();
                    let met = (0..2).any(|row| world.holds(&asked, row) == Some(true));
                    let between = op == Comparison::Equal && pair[0] != pair[1];
                    // Which of the zeros is which, is left to the caller.
                    let zero = op == Comparison::NotEqual && *value == Cell::Float(0.0);
                    let kept = filter.may_hold(&statistics, |_| true);
                    assert!(kept == met || ((between || zero) && kept), "{op:?} {value:?} of {pair:?}, type {root:?}");
                }
            }
        }
    }
}

#[test]
fn a_column_that_old_rows_lack_reads_as_null_there_and_an_undescribed_one_may_hold_anything() {
    let roots = [TypeRoot::Int, TypeRoot::Int];
    let world =
        World { roots: roots.to_vec(), columns: vec![vec![Cell::Number(5)], vec![Cell::Null]], schema: schema(&roots) };
    let array = array(&roots[0], &world.columns[0]);
    let statistics = Statistics::of([(0, array.as_ref() as &dyn Array)].into_iter(), 1);
    let equal = Asked::Compare(1, Comparison::Equal, Cell::Number(40));
    for (asked, of_old, undescribed) in [
        (Asked::IsNull(1), true, true),
        (Asked::Not(Box::new(Asked::IsNull(1))), false, true),
        (equal.clone(), false, true),
        (Asked::Not(Box::new(equal.clone())), false, true),
        (Asked::Or(vec![equal, Asked::Compare(0, Comparison::Equal, Cell::Number(5))]), true, true),
        (Asked::Compare(0, Comparison::Greater, Cell::Number(5)), false, false),
    ] {
        let filter = Filter::bind(&world.predicate(&asked), &world.schema).unwrap();
        assert_eq!(filter.may_hold(&statistics, |id| id == 0), of_old, "{asked:?}");
        assert_eq!(filter.may_hold(&statistics, |_| true), undescribed, "{asked:?}");
    }
}

/// Flink looks long lists of values up in a hash set, in which -0.0 is not 0.0, and compares single ones as numbers, where it is.
#[test]
fn zeros_are_left_out_by_no_condition_on_the_other() {
    let world = schema(&[TypeRoot::Double]);
    let column = "c0".to_owned();
    for (stored, asked) in [(-0.0, "0"), (0.0, "-0")] {
        let zeros = PrimitiveArray::<Float64Type>::from(vec![stored; 2]);
        let statistics = Statistics::of([(0, &zeros as &dyn Array)].into_iter(), 2);
        let value = || Literal::Float(asked.to_owned());
        let list = Predicate::In { column: column.clone(), values: vec![value()] };
        for predicate in [
            Predicate::Not(Box::new(list.clone())),
            list,
            Predicate::Compare { column: column.clone(), op: Comparison::NotEqual, value: value() },
            Predicate::Compare { column: column.clone(), op: Comparison::Equal, value: value() },
        ] {
            assert!(
                Filter::bind(&predicate, &world).unwrap().may_hold(&statistics, |_| true),
                "{stored:?}: {predicate:?}"
            );
        }
    }
}

#[test]
fn a_value_that_the_column_cannot_hold_exactly_leaves_nothing_out() {
    let compare = |column: &str, value| Predicate::Compare { column: column.to_owned(), op: Comparison::Equal, value };
    let roots = [TypeRoot::Int, TypeRoot::Decimal { precision: 5, scale: 2 }, TypeRoot::Double, TypeRoot::Bytes];
    let statistics = Statistics::of(std::iter::empty(), 3);
    let world = schema(&roots);
    for predicate in [
        compare("c0", Literal::Decimal("1.5".to_owned())),
        compare("c0", Literal::Text("1".to_owned())),
        compare("c1", Literal::Decimal("1.555".to_owned())),
        compare("c2", Literal::Float("NaN".to_owned())),
        compare("c3", Literal::Text("x".to_owned())),
        Predicate::In { column: "c0".to_owned(), values: vec![Literal::Integer(1), Literal::Float("1".to_owned())] },
        Predicate::IsNull("c3".to_owned()),
        Predicate::Unknown,
        Predicate::Not(Box::new(Predicate::Unknown)),
    ] {
        // Even where all is NULL: what is not understood is not judged.
        assert!(Filter::bind(&predicate, &world).unwrap().may_hold(&statistics, |_| false), "{predicate:?}");
    }
    let e = Filter::bind(&Predicate::IsNull("x".to_owned()), &world).unwrap_err();
    assert!(e.message().contains("'x'"), "{e}");
}
