//! Folding a column: what each incoming row makes of the value before it.

use super::{AggregateFunction, bitmaps, booleans, choice, numbers, texts};
use arrow_array::ArrayRef;
use sluice_base::{Error, Result, Subject};

/// Where the row is that an incoming one meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prior {
    /// There is none.
    Absent,
    /// Among the old rows, at this position.
    Old(u32),
    /// What an earlier incoming row, at this position, came to.
    Row(u32),
}

/// What an incoming row does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: no row comes of it, and its place in the result is NULL.
    Skip,
    /// It is merged into the row before it; without one it is taken as it is.
    Merge,
    /// What it brought in is taken back.
    Retract,
    /// A partial delete: the columns that it writes become NULL.
    Clear,
    /// The value that is there stays, though others of its row change.
    Stay,
}

/// One incoming row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// What it meets.
    pub prior: Prior,
    /// What it does.
    pub effect: Effect,
}

/// What becomes of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnFold {
    /// A column of the key, or one that the writer does not write: the value that is there stays.
    Keep,
    /// The incoming value replaces the one that is there, also when it is NULL.
    Replace,
    /// The column's function decides.
    Aggregate(AggregateFunction),
}

impl ColumnFold {
    /// The merged value of every step, from the incoming values (one a step) and the old ones. A NULL leaves a function's state as it is,
    /// except that of `last_value`; the first value of a key is taken as it is.
    ///
    /// # Errors
    /// `Invalid` about `Row`: a DECIMAL that has too many digits, bytes that are no bitmap, a value that cannot be taken back, more than
    /// 2 GiB of text.
    pub fn fold(&self, steps: &[Step], incoming: &ArrayRef, old: &ArrayRef) -> Result<ArrayRef> {
        use AggregateFunction as F;
        match self {
            Self::Keep => choice::keep(steps, incoming, old),
            Self::Replace => choice::replace(steps, incoming, old),
            Self::Aggregate(function) => {
                if !function.retracts() && steps.iter().any(|s| s.effect == Effect::Retract) {
                    return Err(not_invertible(function));
                }
                match function {
                    F::Sum => numbers::sum(steps, incoming, old),
                    F::Product => numbers::product(steps, incoming, old),
                    F::Max | F::Min => choice::extreme(steps, incoming, old, *function == F::Max),
                    F::LastValue => choice::replace(steps, incoming, old),
                    F::LastValueIgnoreNulls => choice::present(steps, incoming, old, true),
                    F::FirstValue | F::FirstValueIgnoreNulls => choice::present(steps, incoming, old, false),
                    F::Listagg { delimiter } => texts::join(steps, incoming, old, delimiter),
                    F::BoolAnd => booleans::all(steps, incoming, old),
                    F::BoolOr => booleans::any(steps, incoming, old),
                    F::Rbm32 => bitmaps::union_of_32(steps, incoming, old),
                    F::Rbm64 => bitmaps::union_of_64(steps, incoming, old),
                }
            }
        }
    }
}

fn not_invertible(function: &AggregateFunction) -> Error {
    Error::invalid(
        Subject::Row,
        format!(
            "aggregation function '{}' cannot take a row back; leave the column out of the INSERT",
            function.name()
        ),
    )
}

/// Computes the value of every step; `None` is NULL. `merge` and `retract` only see values that are there.
pub(super) fn walk<T: Copy>(
    steps: &[Step],
    incoming: impl Fn(usize) -> Option<T>,
    old: impl Fn(usize) -> Option<T>,
    mut merge: impl FnMut(T, T) -> Result<T>,
    mut retract: impl FnMut(T, T) -> Result<T>,
) -> Result<Vec<Option<T>>> {
    let mut out: Vec<Option<T>> = Vec::with_capacity(steps.len());
    for (row, step) in steps.iter().enumerate() {
        let state = match step.prior {
            Prior::Absent => None,
            Prior::Old(at) => old(at as usize),
            Prior::Row(at) => out.get(at as usize).copied().flatten(),
        };
        let value = match step.effect {
            Effect::Skip | Effect::Clear => None,
            Effect::Stay => state,
            Effect::Merge => match (state, incoming(row)) {
                (Some(state), Some(value)) => Some(merge(state, value)?),
                (state, value) => state.or(value),
            },
            Effect::Retract => match (state, incoming(row)) {
                (Some(state), Some(value)) => Some(retract(state, value)?),
                (state, _) => state,
            },
        };
        out.push(value);
    }
    Ok(out)
}

/// A column of the wrong type, which is our defect.
pub(super) fn misfit(incoming: &ArrayRef, what: &str) -> Error {
    Error::internal(format!("{what} is not for columns of {}", incoming.data_type()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use arrow_array::{Array, Int32Array};
    use std::sync::Arc;

    /// Steps that merge: each row's prior as -1 for none, below 100 an old row, from 100 on an incoming one.
    pub(crate) fn merges(priors: &[i32]) -> Vec<Step> {
        let prior = |p: &i32| match *p {
            -1 => Prior::Absent,
            p if p < 100 => Prior::Old(p as u32),
            p => Prior::Row(p as u32 - 100),
        };
        priors.iter().map(|p| Step { prior: prior(p), effect: Effect::Merge }).collect()
    }

    pub(crate) fn ints(values: &[Option<i32>]) -> ArrayRef {
        Arc::new(Int32Array::from(values.to_vec()))
    }

    fn folded(fold: &ColumnFold, steps: &[Step], incoming: &[Option<i32>], old: &[Option<i32>]) -> Vec<Option<i32>> {
        let out = fold.fold(steps, &ints(incoming), &ints(old)).unwrap();
        out.as_any().downcast_ref::<Int32Array>().unwrap().iter().collect()
    }

    #[test]
    fn null_rules_of_every_function_that_takes_numbers() {
        use AggregateFunction as F;
        // Keys: new with NULL then 3; old 5 gets NULL then 2; old NULL gets 4.
        let steps = merges(&[-1, 100, 0, 102, 1]);
        let incoming = [None, Some(3), None, Some(2), Some(4)];
        let old = [Some(5), None];
        for (fold, due) in [
            (ColumnFold::Aggregate(F::Sum), [None, Some(3), Some(5), Some(7), Some(4)]),
            (ColumnFold::Aggregate(F::Product), [None, Some(3), Some(5), Some(10), Some(4)]),
            (ColumnFold::Aggregate(F::Max), [None, Some(3), Some(5), Some(5), Some(4)]),
            (ColumnFold::Aggregate(F::Min), [None, Some(3), Some(5), Some(2), Some(4)]),
            (ColumnFold::Aggregate(F::LastValue), [None, Some(3), None, Some(2), Some(4)]),
            (ColumnFold::Aggregate(F::LastValueIgnoreNulls), [None, Some(3), Some(5), Some(2), Some(4)]),
            (ColumnFold::Aggregate(F::FirstValue), [None, Some(3), Some(5), Some(5), Some(4)]),
            (ColumnFold::Aggregate(F::FirstValueIgnoreNulls), [None, Some(3), Some(5), Some(5), Some(4)]),
            (ColumnFold::Replace, [None, Some(3), None, Some(2), Some(4)]),
            (ColumnFold::Keep, [None, None, Some(5), Some(5), None]),
        ] {
            assert_eq!(folded(&fold, &steps, &incoming, &old), due, "{fold:?}");
        }
    }

    #[test]
    fn a_partial_delete_clears_what_is_written_and_keeps_the_rest() {
        let mut steps = merges(&[0, 100]);
        steps[0].effect = Effect::Clear;
        for (fold, due) in [
            (ColumnFold::Aggregate(AggregateFunction::Sum), [None, Some(2)]),
            (ColumnFold::Aggregate(AggregateFunction::Min), [None, Some(2)]),
            (ColumnFold::Replace, [None, Some(2)]),
            (ColumnFold::Keep, [Some(5), Some(5)]),
        ] {
            assert_eq!(folded(&fold, &steps, &[Some(1), Some(2)], &[Some(5)]), due, "{fold:?}");
        }
    }

    #[test]
    fn what_cannot_be_taken_back_says_so() {
        let mut steps = merges(&[0]);
        steps[0].effect = Effect::Retract;
        for name in super::super::FUNCTION_NAMES {
            let function = sluice_row::AggFunction { kind: (*name).to_owned(), parameters: Default::default() };
            let int = sluice_row::DataType::new(sluice_row::TypeRoot::Int);
            let Ok(function) = AggregateFunction::parse("c", &function, &int) else { continue };
            let retracts = function.retracts();
            let result = ColumnFold::Aggregate(function).fold(&steps, &ints(&[Some(1)]), &ints(&[Some(1)]));
            match result {
                Ok(_) => assert!(retracts, "{name}"),
                Err(e) => assert!(!retracts && e.message().contains(name), "{e}"),
            }
        }
        assert_eq!(folded(&ColumnFold::Keep, &steps, &[Some(1)], &[Some(7)]), [Some(7)]);
    }
}
