//! `listagg`: texts in the order in which they came, with a delimiter between them.

use super::Step;
use super::fold::{misfit, walk};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use sluice_base::{Error, Result, Subject};
use std::ops::Range;
use std::sync::Arc;

/// A text by where it is.
#[derive(Debug, Clone, Copy)]
enum Text {
    Incoming(usize),
    Old(usize),
    /// One of those joined here.
    Joined(usize),
}

/// Joins texts.
pub(super) fn join(steps: &[Step], incoming: &ArrayRef, old: &ArrayRef, delimiter: &str) -> Result<ArrayRef> {
    let (Some(new), Some(before)) = (incoming.as_string_opt::<i32>(), old.as_string_opt::<i32>()) else {
        return Err(misfit(incoming, "listagg"));
    };
    let mut joined = String::new();
    let mut parts: Vec<Range<usize>> = Vec::new();
    let append = |state: Text, value: Text| {
        let start = joined.len();
        match state {
            Text::Incoming(row) => joined.push_str(new.value(row)),
            Text::Old(at) => joined.push_str(before.value(at)),
            Text::Joined(at) => {
                if let Some(part) = parts.get(at).cloned() {
                    joined.extend_from_within(part);
                }
            }
        }
        joined.push_str(delimiter);
        if let Text::Incoming(row) = value {
            joined.push_str(new.value(row));
        }
        parts.push(start..joined.len());
        Ok(Text::Joined(parts.len() - 1))
    };
    let there = |array: &StringArray, at: usize| at < array.len() && array.is_valid(at);
    let texts = walk(
        steps,
        |row| there(new, row).then_some(Text::Incoming(row)),
        |at| there(before, at).then_some(Text::Old(at)),
        append,
        |state, _| Ok(state),
    )?;
    let of = |text: &Text| match *text {
        Text::Incoming(row) => new.value(row),
        Text::Old(at) => before.value(at),
        Text::Joined(at) => parts.get(at).and_then(|part| joined.get(part.clone())).unwrap_or_default(),
    };
    gather(texts.iter().map(|t| t.as_ref().map(of)))
}

fn gather<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Result<ArrayRef> {
    let too_much = |_| Error::invalid(Subject::Row, "listagg: the texts of one batch pass 2 GiB; make batches smaller");
    let (mut bytes, mut offsets, mut valid) = (Vec::new(), vec![0_i32], Vec::new());
    for text in texts {
        bytes.extend_from_slice(text.unwrap_or_default().as_bytes());
        offsets.push(i32::try_from(bytes.len()).map_err(too_much)?);
        valid.push(text.is_some());
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let array = StringArray::try_new(offsets, bytes.into(), Some(NullBuffer::from(valid)));
    Ok(Arc::new(array.map_err(|e| Error::internal(format!("joined texts: {e}")))?))
}

#[cfg(test)]
mod tests {
    use super::super::fold::tests::merges;
    use super::*;

    #[test]
    fn texts_stand_in_the_order_in_which_they_came() {
        let new: ArrayRef =
            Arc::new(StringArray::from(vec![Some("b"), None, Some(""), Some("ü"), Some("x"), Some("y")]));
        let old: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
        let steps = merges(&[0, 100, 101, 102, 1, 104]);
        let out = join(&steps, &new, &old, " | ").unwrap();
        assert_eq!(
            out.as_string::<i32>().iter().map(Option::unwrap).collect::<Vec<_>>(),
            ["a | b", "a | b", "a | b | ", "a | b |  | ü", "x", "x | y"]
        );
    }
}
