//! `bool_and` and `bool_or`.

use super::Step;
use super::fold::{misfit, walk};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray};
use sluice_base::Result;
use std::sync::Arc;

fn fold(steps: &[Step], incoming: &ArrayRef, old: &ArrayRef, merge: impl Fn(bool, bool) -> bool) -> Result<ArrayRef> {
    let (Some(new), Some(before)) = (incoming.as_boolean_opt(), old.as_boolean_opt()) else {
        return Err(misfit(incoming, "bool_and or bool_or"));
    };
    let value = |array: &BooleanArray, at| (at < array.len() && array.is_valid(at)).then(|| array.value(at));
    let values =
        walk(steps, |row| value(new, row), |at| value(before, at), |a, b| Ok(merge(a, b)), |state, _| Ok(state))?;
    Ok(Arc::new(BooleanArray::from(values)))
}

/// Whether all values are true.
pub(super) fn all(steps: &[Step], incoming: &ArrayRef, old: &ArrayRef) -> Result<ArrayRef> {
    fold(steps, incoming, old, |a, b| a && b)
}

/// Whether any value is true.
pub(super) fn any(steps: &[Step], incoming: &ArrayRef, old: &ArrayRef) -> Result<ArrayRef> {
    fold(steps, incoming, old, |a, b| a || b)
}

#[cfg(test)]
mod tests {
    use super::super::fold::tests::merges;
    use super::*;

    #[test]
    fn truth_tables_with_null() {
        let values = [Some(true), Some(false), None];
        let pairs: Vec<(Option<bool>, Option<bool>)> =
            values.iter().flat_map(|a| values.iter().map(|b| (*a, *b))).collect();
        let old: ArrayRef = Arc::new(BooleanArray::from(pairs.iter().map(|p| p.0).collect::<Vec<_>>()));
        let new: ArrayRef = Arc::new(BooleanArray::from(pairs.iter().map(|p| p.1).collect::<Vec<_>>()));
        let steps = merges(&(0..9).collect::<Vec<_>>());
        let due = |f: fn(bool, bool) -> bool| {
            pairs.iter().map(|(a, b)| a.zip(*b).map(|(a, b)| f(a, b)).or(*a).or(*b)).collect::<Vec<_>>()
        };
        let of = |a: ArrayRef| a.as_boolean().iter().collect::<Vec<_>>();
        assert_eq!(of(all(&steps, &new, &old).unwrap()), due(|a, b| a && b));
        assert_eq!(of(any(&steps, &new, &old).unwrap()), due(|a, b| a || b));
    }
}
