//! Which sets of rows a condition can be true in, told from their statistics.
//!
//! For each node: can it be true, false, neither for a row of the set? Each answer errs on the side of yes, so a set that is left out
//! has no row for which the condition holds.

use crate::predicate::{Comparison, Literal, Predicate};
use crate::statistics::{Bounds, ColumnStatistics, Statistics};
use crate::time::{to_millis, to_millis_and_nanos};
use crate::{Schema, TypeRoot};
use sluice_base::{Error, Result, Subject};
use std::cmp::Ordering;

/// A condition bound to the columns of one schema.
#[derive(Debug, Clone)]
pub struct Filter(Node);

#[derive(Debug, Clone)]
enum Node {
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    IsTrue(Box<Node>),
    IsNull(i32),
    Compare(Column, Comparison, Value),
    In(Column, Vec<Value>),
    Unknown,
}

/// A column by its id, and how a reader sees its values.
#[derive(Debug, Clone)]
struct Column {
    id: i32,
    root: TypeRoot,
}

/// A value in the form in which a reader sees the column's.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Number(i128),
    Float(f64),
    Text(Vec<u8>),
}

/// What a condition can be for the rows of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Can {
    be_true: bool,
    be_false: bool,
    be_neither: bool,
}

impl Can {
    const ANYTHING: Self = Self { be_true: true, be_false: true, be_neither: true };
    const NEITHER: Self = Self { be_true: false, be_false: false, be_neither: true };
}

impl Filter {
    /// Binds a condition to a schema whose columns have ids. What cannot be compared exactly is bound as unknown.
    ///
    /// # Errors
    /// `Invalid` about `Column` for a name that the schema does not have.
    pub fn bind(predicate: &Predicate, schema: &Schema) -> Result<Self> {
        bind(predicate, schema).map(Self)
    }

    /// Whether the condition can be true for one of the rows at least. `has_column` tells whether the rows' own schema has a column (by its
    /// id): one that it lacks reads as NULL.
    pub fn may_hold(&self, rows: &Statistics, has_column: impl Fn(i32) -> bool) -> bool {
        let all_null = |id: i32| ColumnStatistics { id, nulls: rows.rows, bounds: None };
        let column = |id: i32| match rows.column(id) {
            Some(known) => Some(known.clone()),
            None => (!has_column(id)).then(|| all_null(id)),
        };
        self.0.can(rows.rows, &column).be_true
    }

    /// Ids of the columns that it names.
    #[must_use]
    pub fn columns(&self) -> Vec<i32> {
        let mut ids = Vec::new();
        self.0.collect(&mut ids);
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

fn bind(predicate: &Predicate, schema: &Schema) -> Result<Node> {
    let all = |parts: &[Predicate]| parts.iter().map(|p| bind(p, schema)).collect::<Result<Vec<_>>>();
    Ok(match predicate {
        Predicate::And(parts) => Node::And(all(parts)?),
        Predicate::Or(parts) => Node::Or(all(parts)?),
        Predicate::Not(inner) => Node::Not(Box::new(bind(inner, schema)?)),
        Predicate::IsTrue(inner) => Node::IsTrue(Box::new(bind(inner, schema)?)),
        Predicate::IsNull(name) => column(name, schema)?.map_or(Node::Unknown, |c| Node::IsNull(c.id)),
        Predicate::Compare { column: name, op, value } => match column(name, schema)? {
            Some(column) => match value_of(value, &column.root) {
                Some(value) => Node::Compare(column, *op, value),
                None => Node::Unknown,
            },
            None => Node::Unknown,
        },
        Predicate::In { column: name, values } => match column(name, schema)? {
            Some(column) => match values.iter().map(|v| value_of(v, &column.root)).collect() {
                Some(values) => Node::In(column, values),
                None => Node::Unknown,
            },
            None => Node::Unknown,
        },
        Predicate::Unknown => Node::Unknown,
    })
}

/// `None` for a column whose type has no statistics.
fn column(name: &str, schema: &Schema) -> Result<Option<Column>> {
    let found = schema.index_of(name).and_then(|i| schema.columns.get(i)).ok_or_else(|| {
        Error::invalid(Subject::Column, format!("the filter names column '{name}', which the table does not have"))
    })?;
    let of = |id| Column { id, root: found.data_type.root.clone() };
    Ok(found.id.map(of).filter(|_| Statistics::supports(&found.data_type)))
}

/// The literal in the column's form, if it is exactly a value that the column's type can be compared with.
fn value_of(literal: &Literal, root: &TypeRoot) -> Option<Value> {
    let number = |n: i128| Some(Value::Number(n));
    match (root, literal) {
        (TypeRoot::Boolean, Literal::Boolean(value)) => number(i128::from(*value)),
        (TypeRoot::TinyInt | TypeRoot::SmallInt | TypeRoot::Int | TypeRoot::BigInt, Literal::Integer(value)) => {
            number(i128::from(*value))
        }
        (TypeRoot::Decimal { scale, .. }, Literal::Integer(_) | Literal::Decimal(_)) => {
            literal.unscaled(*scale).and_then(number)
        }
        (TypeRoot::Float | TypeRoot::Double, Literal::Float(digits)) => {
            digits.parse().ok().filter(|value: &f64| value.is_finite()).map(Value::Float)
        }
        (TypeRoot::Char(_) | TypeRoot::String, Literal::Text(text)) => Some(Value::Text(text.clone().into_bytes())),
        (TypeRoot::Date, Literal::Date(days)) => number(i128::from(*days)),
        (TypeRoot::Time { .. }, Literal::Time(millis)) => number(i128::from(*millis)),
        (TypeRoot::Timestamp { .. } | TypeRoot::TimestampLtz { .. }, Literal::Timestamp { millis, nanos }) => {
            number(i128::from(*millis) * NANOS_IN_MILLI + i128::from(*nanos))
        }
        _ => None,
    }
}

const NANOS_IN_MILLI: i128 = 1_000_000;
impl Column {
    /// A stored number as a reader sees it. Never turns the order of two round.
    fn seen(&self, stored: i128) -> i128 {
        let kept = || i64::try_from(stored).unwrap_or(if stored < 0 { i64::MIN } else { i64::MAX });
        match &self.root {
            TypeRoot::Time { precision } => i128::from(to_millis(kept(), crate::arrow::unit(*precision))),
            TypeRoot::Timestamp { precision } | TypeRoot::TimestampLtz { precision } if *precision <= 3 => {
                i128::from(to_millis(kept(), crate::arrow::unit(*precision))) * NANOS_IN_MILLI
            }
            TypeRoot::Timestamp { precision } | TypeRoot::TimestampLtz { precision } => {
                let (millis, nanos) = to_millis_and_nanos(kept(), *precision > 6);
                i128::from(millis) * NANOS_IN_MILLI + i128::from(nanos)
            }
            _ => stored,
        }
    }

    /// How the lower and the upper bound compare with a value; `None` when that says nothing.
    fn against(&self, bounds: &Bounds, value: &Value) -> Option<(Ordering, Ordering)> {
        match (bounds, value) {
            (Bounds::Number(low, high), Value::Number(v)) => Some((self.seen(*low).cmp(v), self.seen(*high).cmp(v))),
            (Bounds::Float(low, high), Value::Float(v)) => low.partial_cmp(v).zip(high.partial_cmp(v)),
            (Bounds::Text(low, high), Value::Text(v)) => Some((low.cmp(v), high.cmp(v))),
            _ => None,
        }
    }
}

impl Node {
    fn can(&self, rows: u64, column: &dyn Fn(i32) -> Option<ColumnStatistics>) -> Can {
        match self {
            Self::And(parts) => parts.iter().map(|p| p.can(rows, column)).fold(
                Can { be_true: true, be_false: false, be_neither: false },
                |a, b| Can {
                    be_true: a.be_true && b.be_true,
                    be_false: a.be_false || b.be_false,
                    be_neither: a.be_neither && (b.be_true || b.be_neither)
                        || b.be_neither && (a.be_true || a.be_neither),
                },
            ),
            Self::Or(parts) => parts.iter().map(|p| p.can(rows, column)).fold(
                Can { be_true: false, be_false: true, be_neither: false },
                |a, b| Can {
                    be_true: a.be_true || b.be_true,
                    be_false: a.be_false && b.be_false,
                    be_neither: a.be_neither && (b.be_false || b.be_neither)
                        || b.be_neither && (a.be_false || a.be_neither),
                },
            ),
            Self::Not(inner) => {
                let Can { be_true, be_false, be_neither } = inner.can(rows, column);
                Can { be_true: be_false, be_false: be_true, be_neither }
            }
            Self::IsTrue(inner) => {
                let can = inner.can(rows, column);
                Can { be_true: can.be_true, be_false: can.be_false || can.be_neither, be_neither: false }
            }
            Self::IsNull(id) => column(*id).map_or(Can::ANYTHING, |c| Can {
                be_true: c.nulls > 0,
                be_false: c.nulls < rows,
                be_neither: false,
            }),
            Self::Compare(by, op, value) => leaf(by, rows, column, |c, bounds| compare(c, bounds, *op, value)),
            Self::In(by, values) => leaf(by, rows, column, |c, bounds| one_of(c, bounds, values)),
            Self::Unknown => Can::ANYTHING,
        }
    }

    fn collect(&self, ids: &mut Vec<i32>) {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|p| p.collect(ids)),
            Self::Not(inner) | Self::IsTrue(inner) => inner.collect(ids),
            Self::IsNull(id) => ids.push(*id),
            Self::Compare(by, ..) | Self::In(by, _) => ids.push(by.id),
            Self::Unknown => {}
        }
    }
}

/// A comparison of a column: `values` tells what it can be for the values between the bounds.
fn leaf(
    by: &Column,
    rows: u64,
    column: &dyn Fn(i32) -> Option<ColumnStatistics>,
    values: impl FnOnce(&Column, &Bounds) -> Option<(bool, bool)>,
) -> Can {
    let Some(known) = column(by.id) else { return Can::ANYTHING };
    if known.nulls >= rows {
        return Can::NEITHER;
    }
    let (be_true, be_false) = known.bounds.as_ref().and_then(|b| values(by, b)).unwrap_or((true, true));
    Can { be_true, be_false, be_neither: known.nulls > 0 }
}

/// Whether a comparison can be true and whether it can be false.
fn compare(column: &Column, bounds: &Bounds, op: Comparison, value: &Value) -> Option<(bool, bool)> {
    let (low, high) = column.against(bounds, value)?;
    let between = low.is_le() && high.is_ge();
    // Who keeps values in a hash set tells the zeros of floating point apart; here they are one.
    let always = low.is_eq() && high.is_eq() && *value != Value::Float(0.0);
    Some(match op {
        Comparison::Equal => (between, !always),
        Comparison::NotEqual => (!always, between),
        Comparison::Less => (low.is_lt(), high.is_ge()),
        Comparison::LessOrEqual => (low.is_le(), high.is_gt()),
        Comparison::Greater => (high.is_gt(), low.is_le()),
        Comparison::GreaterOrEqual => (high.is_ge(), low.is_lt()),
    })
}

fn one_of(column: &Column, bounds: &Bounds, values: &[Value]) -> Option<(bool, bool)> {
    let each = values.iter().map(|v| compare(column, bounds, Comparison::Equal, v)).collect::<Option<Vec<_>>>()?;
    Some((each.iter().any(|(be_true, _)| *be_true), each.iter().all(|(_, be_false)| *be_false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_taken_exactly_or_not_at_all() {
        for (digits, scale, expected) in [
            ("1.50", 2, Some(150)),
            ("1.5", 1, Some(15)),
            ("-0.05", 2, Some(-5)),
            ("007", 0, Some(7)),
            ("0", 38, Some(0)),
            ("1.500", 1, Some(15)),
            ("1.55", 1, None),
            ("1", 38, None),
            ("99999999999999999999999999999999999999", 0, Some(10_i128.pow(38) - 1)),
            ("999999999999999999999999999999999999999", 0, None),
            ("", 0, None),
            (".5", 1, None),
            ("1e3", 0, None),
            ("+1", 0, None),
        ] {
            assert_eq!(Literal::Decimal(digits.to_owned()).unscaled(scale), expected, "{digits} at scale {scale}");
        }
    }

    #[test]
    fn json_reads_as_it_is_documented() {
        let text = r#"{"and":[{"compare":{"column":"a","op":"<=","value":{"integer":5}}},{"not":{"is_null":"b"}},
            {"or":[{"in":{"column":"c","values":[{"text":"x"},{"text":"y"}]}},"unknown",{"is_true":"unknown"}]},
            {"compare":{"column":"t","op":"=","value":{"timestamp":{"millis":-1,"nanos":999999}}}}]}"#;
        let read: Predicate = serde_json::from_str(text).unwrap();
        assert!(matches!(&read, Predicate::And(parts) if parts.len() == 4), "{read:?}");
        let again: Predicate = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
        assert_eq!(again, read);
    }
}
