//! `rbm32` and `rbm64`: unions of roaring bitmaps in their portable form, the one that other languages' libraries share.

use super::Step;
use super::fold::{misfit, walk};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray};
use roaring::{RoaringBitmap, RoaringTreemap};
use sluice_base::{Error, Result, Subject};
use std::sync::Arc;

/// A set of numbers with bytes.
trait Bitmap: Sized + Clone {
    const NAME: &'static str;
    fn read(bytes: &mut &[u8]) -> std::io::Result<Self>;
    fn write(&self, out: &mut Vec<u8>) -> std::io::Result<()>;
    fn unite(&mut self, other: &Self);
}

impl Bitmap for RoaringBitmap {
    const NAME: &'static str = "32-bit";
    fn read(bytes: &mut &[u8]) -> std::io::Result<Self> {
        Self::deserialize_from(bytes)
    }
    fn write(&self, out: &mut Vec<u8>) -> std::io::Result<()> {
        self.serialize_into(out)
    }
    fn unite(&mut self, other: &Self) {
        *self |= other;
    }
}

impl Bitmap for RoaringTreemap {
    const NAME: &'static str = "64-bit";
    fn read(bytes: &mut &[u8]) -> std::io::Result<Self> {
        Self::deserialize_from(bytes)
    }
    fn write(&self, out: &mut Vec<u8>) -> std::io::Result<()> {
        self.serialize_into(out)
    }
    fn unite(&mut self, other: &Self) {
        *self |= other;
    }
}

/// A bitmap by where it is.
#[derive(Debug, Clone, Copy)]
enum Place {
    Incoming(usize),
    Old(usize),
    /// One of those made here.
    United(usize),
}

fn parse<B: Bitmap>(bytes: &[u8]) -> Result<B> {
    let wrong = |why: &dyn std::fmt::Display| {
        Error::invalid(Subject::Row, format!("{} bytes are no {} roaring bitmap: {why}", bytes.len(), B::NAME))
    };
    let mut rest = bytes;
    let bitmap = B::read(&mut rest).map_err(|e| wrong(&e))?;
    if rest.is_empty() { Ok(bitmap) } else { Err(wrong(&format_args!("{} bytes follow it", rest.len()))) }
}

fn unite<B: Bitmap>(steps: &[Step], incoming: &ArrayRef, old: &ArrayRef) -> Result<ArrayRef> {
    let (Some(new), Some(before)) = (incoming.as_binary_opt::<i32>(), old.as_binary_opt::<i32>()) else {
        return Err(misfit(incoming, "rbm32 or rbm64"));
    };
    // Also those that are only stored: a damaged first value would make every later one fail.
    let parsed = new.iter().map(|bytes| bytes.map(parse::<B>).transpose()).collect::<Result<Vec<Option<B>>>>()?;
    let mut united: Vec<B> = Vec::new();
    let bitmap = |united: &[B], place| match place {
        Place::Incoming(row) => Ok(parsed.get(row).cloned().flatten()),
        Place::Old(at) => parse(before.value(at)).map(Some),
        Place::United(at) => Ok(united.get(at).cloned()),
    };
    let merge = |state, value| {
        if let (Some(mut all), Some(more)) = (bitmap(&united, state)?, bitmap(&united, value)?) {
            all.unite(&more);
            united.push(all);
        }
        Ok(Place::United(united.len().saturating_sub(1)))
    };
    let there = |array: &BinaryArray, at: usize| at < array.len() && array.is_valid(at);
    let places = walk(
        steps,
        |row| there(new, row).then_some(Place::Incoming(row)),
        |at| there(before, at).then_some(Place::Old(at)),
        merge,
        |state, _| Ok(state),
    )?;
    let bytes = |place: &Place| -> Result<Vec<u8>> {
        Ok(match *place {
            Place::Incoming(row) => new.value(row).to_vec(),
            Place::Old(at) => before.value(at).to_vec(),
            Place::United(at) => {
                let mut out = Vec::new();
                let write = |b: &B| b.write(&mut out);
                united.get(at).map_or(Ok(()), write).map_err(|e| Error::internal(format!("bitmap: {e}")))?;
                out
            }
        })
    };
    let values = places.iter().map(|p| p.as_ref().map(bytes).transpose()).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(BinaryArray::from_iter(values)))
}

/// Union of sets of 32-bit numbers.
pub(super) fn union_of_32(steps: &[Step], incoming: &ArrayRef, old: &ArrayRef) -> Result<ArrayRef> {
    unite::<RoaringBitmap>(steps, incoming, old)
}

/// Union of sets of 64-bit numbers.
pub(super) fn union_of_64(steps: &[Step], incoming: &ArrayRef, old: &ArrayRef) -> Result<ArrayRef> {
    unite::<RoaringTreemap>(steps, incoming, old)
}

#[cfg(test)]
mod tests {
    use super::super::fold::tests::merges;
    use super::*;

    fn small(numbers: &[u32]) -> Vec<u8> {
        let mut out = Vec::new();
        numbers.iter().copied().collect::<RoaringBitmap>().serialize_into(&mut out).unwrap();
        out
    }

    fn wide(numbers: &[u64]) -> Vec<u8> {
        let mut out = Vec::new();
        numbers.iter().copied().collect::<RoaringTreemap>().serialize_into(&mut out).unwrap();
        out
    }

    fn column(values: Vec<Option<Vec<u8>>>) -> ArrayRef {
        Arc::new(BinaryArray::from_iter(values))
    }

    #[test]
    fn unions_within_a_batch_and_with_what_was_there() {
        let steps = merges(&[0, 100, 101, -1, 1]);
        let new =
            column(vec![Some(small(&[7])), None, Some(small(&[1, u32::MAX])), Some(small(&[])), Some(small(&[2]))]);
        let old = column(vec![Some(small(&[1, 2])), None]);
        let out = union_of_32(&steps, &new, &old).unwrap();
        let due = [small(&[1, 2, 7]), small(&[1, 2, 7]), small(&[1, 2, 7, u32::MAX]), small(&[]), small(&[2])];
        assert_eq!(out.as_binary::<i32>().iter().map(Option::unwrap).collect::<Vec<_>>(), due);
        let new = column(vec![Some(wide(&[u64::MAX, 5]))]);
        let old = column(vec![Some(wide(&[1 << 40]))]);
        let out = union_of_64(&merges(&[0]), &new, &old).unwrap();
        assert_eq!(out.as_binary::<i32>().value(0), wide(&[5, 1 << 40, u64::MAX]));
    }

    #[test]
    fn the_portable_form_of_a_small_set() {
        // Cookie 12346, one container, key 0, cardinality 3 - 1, header offset 16, then the values.
        let due = [0x3A, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 16, 0, 0, 0, 1, 0, 2, 0, 0xE8, 3];
        assert_eq!(small(&[1, 2, 1000]), due);
    }

    #[test]
    fn bytes_that_are_no_bitmap_are_refused_also_as_the_first_value() {
        for bytes in [vec![], vec![1, 2, 3], [small(&[1]), vec![0]].concat()] {
            let error = union_of_32(&merges(&[-1]), &column(vec![Some(bytes)]), &column(vec![])).unwrap_err();
            assert_eq!((error.kind(), error.subject()), (sluice_base::ErrorKind::Invalid, Subject::Row));
            assert!(error.message().contains("no 32-bit roaring bitmap"), "{error}");
        }
        // A length of billions must not be believed.
        let huge = [&[0xFF_u8; 8][..], &[0; 16]].concat();
        assert!(union_of_64(&merges(&[-1]), &column(vec![Some(huge)]), &column(vec![])).is_err());
    }
}
