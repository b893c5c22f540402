//! "Columns in" of `docs/jni.md`: from addresses to slices. The only place where an address from Java is read.

use sluice_base::{Error, Result};
use sluice_row::ColumnIn;
use std::slice;

/// Longs that describe one column.
const WORDS: usize = 5;

/// Calls `use_columns` with the columns that lie at `table`, valid during the call only.
///
/// # Errors
/// `Internal` when the numbers cannot describe `expected` columns of `rows` rows; what `use_columns` gives.
///
/// # Safety
/// `table` is the address of `count` × 5 longs, which are themselves addresses and lengths of memory that stays as it is
/// during the call.
pub unsafe fn with_columns<R>(
    table: i64,
    count: i32,
    rows: i32,
    expected: usize,
    use_columns: impl FnOnce(&[ColumnIn<'_>], usize) -> Result<R>,
) -> Result<R> {
    let rows = usize::try_from(rows).map_err(|_| Error::internal(format!("a batch of {rows} rows")))?;
    if usize::try_from(count) != Ok(expected) {
        return Err(Error::internal(format!("{count} columns were handed over, the table has {expected} to fill")));
    }
    // SAFETY: the caller vouches for `count` x 5 longs at `table`.
    let words = unsafe { longs(table, expected * WORDS) }?;
    let column = |words: &[i64]| match *words {
        // SAFETY: the caller vouches for what the longs describe.
        [validity, data, offsets, length, extra] => unsafe { column([validity, data, offsets, length, extra], rows) },
        _ => Err(Error::internal("a column is described by five longs")),
    };
    let columns = words.chunks_exact(WORDS).map(column).collect::<Result<Vec<_>>>()?;
    use_columns(&columns, rows)
}

/// One column.
///
/// # Safety
/// As [`with_columns`].
unsafe fn column<'a>([validity, data, offsets, length, extra]: [i64; WORDS], rows: usize) -> Result<ColumnIn<'a>> {
    let length = usize::try_from(length).map_err(|_| Error::internal(format!("a column of {length} bytes")))?;
    // SAFETY: the caller vouches for one bit, one int (and one more), four bytes a row, and `length` bytes.
    unsafe {
        Ok(ColumnIn {
            validity: bytes(validity, rows.div_ceil(8)),
            data: bytes(data, length).unwrap_or_default(),
            offsets: ints(offsets, rows + 1)?,
            extra: bytes(extra, rows * 4),
        })
    }
}

/// # Safety
/// `address` is 0 or that of `length` bytes.
unsafe fn bytes<'a>(address: i64, length: usize) -> Option<&'a [u8]> {
    // SAFETY: by this function's contract.
    (address != 0).then(|| unsafe { slice::from_raw_parts(address as usize as *const u8, length) })
}

/// # Safety
/// `address` is 0 or that of `length` ints.
unsafe fn ints<'a>(address: i64, length: usize) -> Result<Option<&'a [i32]>> {
    let pointer = address as usize as *const i32;
    if pointer.is_null() {
        return Ok(None);
    }
    if !pointer.is_aligned() {
        return Err(Error::internal("offsets at an address that is no multiple of 4"));
    }
    // SAFETY: by this function's contract, and aligned.
    Ok(Some(unsafe { slice::from_raw_parts(pointer, length) }))
}

/// # Safety
/// `address` is 0 or that of `length` longs.
unsafe fn longs<'a>(address: i64, length: usize) -> Result<&'a [i64]> {
    let pointer = address as usize as *const i64;
    if length == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(Error::internal("the table of columns is not at a multiple of 8"));
    }
    // SAFETY: by this function's contract, not null and aligned.
    Ok(unsafe { slice::from_raw_parts(pointer, length) })
}

/// One byte a row at `address`, none when it is 0.
///
/// # Safety
/// `address` is 0 or that of `rows` bytes that stay as they are while the slice lives.
pub unsafe fn kinds<'a>(address: i64, rows: i32) -> &'a [u8] {
    // SAFETY: by this function's contract.
    unsafe { bytes(address, usize::try_from(rows).unwrap_or(0)) }.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_have_the_lengths_that_rows_and_types_ask_for() {
        let validity = [0b101_u8];
        let data = *b"abcdef";
        let offsets = [0_i32, 2, 2, 6];
        let extra = [0_u8; 12];
        let address = |p: *const u8| p as usize as i64;
        let table = [
            address(validity.as_ptr()),
            address(data.as_ptr()),
            address(offsets.as_ptr().cast()),
            6,
            address(extra.as_ptr()),
        ];
        // SAFETY: the table describes the arrays above.
        let seen = unsafe {
            with_columns(address(table.as_ptr().cast()), 1, 3, 1, |columns, rows| {
                let c = columns[0];
                assert_eq!((c.validity, c.data, c.offsets), (Some(&validity[..]), &data[..], Some(&offsets[..])));
                assert_eq!(c.extra.map(<[u8]>::len), Some(12));
                Ok(rows)
            })
        };
        assert_eq!(seen.unwrap(), 3);
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let table = [0_i64, 0, 0, -1, 0];
        let address = table.as_ptr() as usize as i64;
        // SAFETY: nothing beyond the table's own five longs may be read in these cases.
        unsafe {
            assert!(with_columns(address, 1, 3, 1, |_, _| Ok(())).is_err(), "negative length");
            assert!(with_columns(address, 1, -3, 1, |_, _| Ok(())).is_err(), "negative rows");
            assert!(with_columns(address, 1, 3, 2, |_, _| Ok(())).is_err(), "missing column");
            assert!(with_columns(address + 1, 1, 3, 1, |_, _| Ok(())).is_err(), "unaligned table");
            assert!(with_columns(0, 1, 3, 1, |_, _| Ok(())).is_err(), "no table");
            assert!(with_columns(0, 0, 3, 0, |_, _| Ok(())).is_ok(), "no columns need no table");
        }
    }
}
