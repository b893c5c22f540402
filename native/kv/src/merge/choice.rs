//! Folds that choose between values and make none: keep, replace, first and last, max and min. They work on positions, so that any type
//! will do; the column is put together at the end.

use super::fold::{misfit, walk};
use super::{Effect, Prior, Step};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_buffer::ArrowNativeType;
use arrow_data::ArrayData;
use arrow_schema::DataType;
use arrow_select::interleave::interleave;
use sluice_base::{Error, Result};
use std::cmp::Ordering;

/// A value that is there, by where it is.
#[derive(Debug, Clone, Copy)]
enum Pick {
    Incoming(usize),
    Old(usize),
}

/// The positions of values that are not NULL.
fn positions<'a>(
    incoming: &'a ArrayRef,
    old: &'a ArrayRef,
) -> (impl Fn(usize) -> Option<Pick> + 'a, impl Fn(usize) -> Option<Pick> + 'a) {
    (
        |row| incoming.is_valid(row).then_some(Pick::Incoming(row)),
        |at| (at < old.len() && old.is_valid(at)).then_some(Pick::Old(at)),
    )
}

fn gather(picks: &[Option<Pick>], incoming: &ArrayRef, old: &ArrayRef) -> Result<ArrayRef> {
    let as_it_is = |(row, pick): (usize, &Option<Pick>)| match pick {
        Some(Pick::Incoming(from)) => *from == row,
        Some(Pick::Old(_)) => false,
        None => incoming.is_null(row),
    };
    if picks.iter().enumerate().all(as_it_is) {
        return Ok(incoming.clone());
    }
    let null = new_null_array(incoming.data_type(), 1);
    let order: Vec<(usize, usize)> = picks
        .iter()
        .map(|pick| match pick {
            Some(Pick::Incoming(row)) => (0, *row),
            Some(Pick::Old(at)) => (1, *at),
            None => (2, 0),
        })
        .collect();
    interleave(&[incoming.as_ref(), old.as_ref(), null.as_ref()], &order)
        .map_err(|e| Error::internal(format!("columns do not fit together: {e}")))
}

/// The value that is there stays; the first one is taken as it is.
pub(super) fn keep(steps: &[Step], incoming: &ArrayRef, old: &ArrayRef) -> Result<ArrayRef> {
    if steps.iter().all(|s| s.prior == Prior::Absent) {
        return Ok(incoming.clone());
    }
    let mut picks: Vec<Option<Pick>> = Vec::with_capacity(steps.len());
    let (new, before) = positions(incoming, old);
    for (row, step) in steps.iter().enumerate() {
        let pick = match (step.effect, step.prior) {
            (Effect::Skip, _) => None,
            (_, Prior::Absent) => new(row),
            (_, Prior::Old(at)) => before(at as usize),
            (_, Prior::Row(at)) => picks.get(at as usize).copied().flatten(),
        };
        picks.push(pick);
    }
    gather(&picks, incoming, old)
}

/// The incoming value, whatever it is.
pub(super) fn replace(steps: &[Step], incoming: &ArrayRef, old: &ArrayRef) -> Result<ArrayRef> {
    if steps.iter().all(|s| matches!(s.effect, Effect::Merge | Effect::Skip)) {
        return Ok(incoming.clone());
    }
    let mut picks: Vec<Option<Pick>> = Vec::with_capacity(steps.len());
    let (new, before) = positions(incoming, old);
    for (row, step) in steps.iter().enumerate() {
        let pick = match (step.effect, step.prior) {
            (Effect::Merge, _) => new(row),
            (Effect::Retract | Effect::Stay, Prior::Old(at)) => before(at as usize),
            (Effect::Retract | Effect::Stay, Prior::Row(at)) => picks.get(at as usize).copied().flatten(),
            _ => None,
        };
        picks.push(pick);
    }
    gather(&picks, incoming, old)
}

/// The last (or first) value that is not NULL.
pub(super) fn present(steps: &[Step], incoming: &ArrayRef, old: &ArrayRef, last: bool) -> Result<ArrayRef> {
    let (new, before) = positions(incoming, old);
    let choose = |state, value| Ok(if last { value } else { state });
    let picks = walk(steps, new, before, choose, |state, _| Ok(state))?;
    gather(&picks, incoming, old)
}

/// The greatest or least value; of equal ones the one that is there. NaN is above all numbers, -0.0 below 0.0.
pub(super) fn extreme(steps: &[Step], incoming: &ArrayRef, old: &ArrayRef, greatest: bool) -> Result<ArrayRef> {
    let compare = comparison(incoming, old)?;
    let (new, before) = positions(incoming, old);
    let wanted = if greatest { Ordering::Greater } else { Ordering::Less };
    let choose = |state, value| Ok(if compare(value, state) == wanted { value } else { state });
    let picks = walk(steps, new, before, choose, |state, _| Ok(state))?;
    gather(&picks, incoming, old)
}

type Comparison<'a> = Box<dyn Fn(Pick, Pick) -> Ordering + 'a>;

fn comparison<'a>(incoming: &'a ArrayRef, old: &'a ArrayRef) -> Result<Comparison<'a>> {
    use DataType as A;
    Ok(match incoming.data_type() {
        A::Int8 => numeric::<i8>(incoming, old, i8::cmp),
        A::Int16 => numeric::<i16>(incoming, old, i16::cmp),
        A::Int32 | A::Date32 | A::Time32(_) => numeric::<i32>(incoming, old, i32::cmp),
        A::Int64 | A::Time64(_) | A::Timestamp(..) => numeric::<i64>(incoming, old, i64::cmp),
        A::Decimal128(..) => numeric::<i128>(incoming, old, i128::cmp),
        A::Float32 => numeric::<f32>(incoming, old, |a, b| float_order(f64::from(*a), f64::from(*b))),
        A::Float64 => numeric::<f64>(incoming, old, |a, b| float_order(*a, *b)),
        A::Utf8 => {
            let (Some(new), Some(before)) = (incoming.as_string_opt::<i32>(), old.as_string_opt::<i32>()) else {
                return Err(misfit(incoming, "max or min"));
            };
            let value = move |pick| match pick {
                Pick::Incoming(row) => new.value(row).as_bytes(),
                Pick::Old(at) => before.value(at).as_bytes(),
            };
            Box::new(move |a, b| value(a).cmp(value(b)))
        }
        _ => return Err(misfit(incoming, "max or min")),
    })
}

fn numeric<'a, T: ArrowNativeType>(
    incoming: &ArrayRef,
    old: &ArrayRef,
    order: impl Fn(&T, &T) -> Ordering + 'a,
) -> Comparison<'a> {
    let (new, before): (ArrayData, ArrayData) = (incoming.to_data(), old.to_data());
    Box::new(move |a, b| {
        let value = |pick| match pick {
            Pick::Incoming(row) => new.buffer::<T>(0).get(row),
            Pick::Old(at) => before.buffer::<T>(0).get(at),
        };
        match (value(a), value(b)) {
            (Some(a), Some(b)) => order(a, b),
            _ => Ordering::Equal,
        }
    })
}

fn float_order(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => a.total_cmp(&b),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fold::tests::merges;
    use super::*;
    use arrow_array::{Float64Array, Int8Array, StringArray, TimestampMillisecondArray};
    use std::sync::Arc;

    fn both(incoming: ArrayRef, old: ArrayRef) -> (ArrayRef, ArrayRef) {
        let steps = merges(&[0, 100, 101]);
        (extreme(&steps, &incoming, &old, true).unwrap(), extreme(&steps, &incoming, &old, false).unwrap())
    }

    #[test]
    fn extremes_of_texts_times_and_small_numbers() {
        let (max, min) =
            both(Arc::new(StringArray::from(vec!["b", "Ä", "a"])), Arc::new(StringArray::from(vec!["a\u{10ffff}"])));
        assert_eq!(max.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["b", "Ä", "Ä"]);
        assert_eq!(min.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["a\u{10ffff}", "a\u{10ffff}", "a"]);
        let (max, min) = both(Arc::new(Int8Array::from(vec![-128, 127, 0])), Arc::new(Int8Array::from(vec![Some(1)])));
        assert_eq!(max.to_data().buffer::<i8>(0), [1, 127, 127]);
        assert_eq!(min.to_data().buffer::<i8>(0), [-128, -128, -128]);
        let (max, _) = both(
            Arc::new(TimestampMillisecondArray::from(vec![-1, 5, 4])),
            Arc::new(TimestampMillisecondArray::from(vec![0])),
        );
        assert_eq!(max.to_data().buffer::<i64>(0), [0, 5, 5]);
    }

    #[test]
    fn nan_is_above_all_and_minus_zero_below_zero() {
        let (max, min) = both(
            Arc::new(Float64Array::from(vec![-0.0, -f64::NAN, f64::INFINITY])),
            Arc::new(Float64Array::from(vec![0.0])),
        );
        let bits = |a: &ArrayRef| a.to_data().buffer::<f64>(0).iter().map(|f| f.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&max), [0.0_f64, -f64::NAN, -f64::NAN].map(f64::to_bits));
        assert_eq!(bits(&min), [-0.0_f64; 3].map(f64::to_bits));
    }
}
