//! Partition values as text: what names a row's partition.
//!
//! One form for a value, whichever way it came: [`BoundPartition::text`] writes it for rows, [`partition_text`] brings what a user wrote
//! to the same form. BOOLEAN `true`, numbers plain, FLOAT and DOUBLE with `_` for the point (`NaN`, `Inf`, `-Inf`), BINARY and BYTES in hex,
//! DATE `2025-11-30`, TIME `10-15-30_250`, TIMESTAMP `2025-11-30-10-15-30_25`, TIMESTAMP_LTZ likewise in UTC.

mod float;
mod parse;

pub use parse::partition_text;

use crate::cells::{Cells, Values, bounds};
use crate::time::{to_millis, to_millis_and_nanos};
use crate::{DataType, TypeRoot};
use arrow_array::ArrayRef;
use arrow_schema::TimeUnit;
use sluice_base::{CivilDate, Result};
use std::fmt::Write as _;

const MS_PER_DAY: i64 = 86_400_000;

/// Whether columns of this type can partition a table.
#[must_use]
pub const fn can_partition(data_type: &DataType) -> bool {
    !data_type.is_nested() && !matches!(data_type.root, TypeRoot::Decimal { .. })
}

/// The partition columns of one batch.
#[derive(Debug)]
pub struct BoundPartition<'a> {
    columns: Vec<(&'a TypeRoot, Cells<'a>)>,
}

impl<'a> BoundPartition<'a> {
    /// Looks at the partition columns of a batch.
    ///
    /// # Errors
    /// `Internal` when the arrays are not of these types.
    pub fn new(types: &'a [DataType], columns: &'a [ArrayRef]) -> Result<Self> {
        let cells = Cells::bind_all(types, columns)?;
        Ok(Self { columns: types.iter().map(|t| &t.root).zip(cells).collect() })
    }

    /// Appends bytes that two rows share only when they are of one partition. `None` when a column is NULL.
    ///
    /// # Panics
    /// When the batch has no such row.
    pub fn put_key(&self, row: usize, out: &mut Vec<u8>) -> Option<()> {
        for (_, cells) in &self.columns {
            if cells.is_null(row) {
                return None;
            }
            match &cells.values {
                Values::Bool(v) => out.push(u8::from(v.value(row))),
                Values::I8(v) => out.extend_from_slice(&v[row].to_le_bytes()),
                Values::I16(v) => out.extend_from_slice(&v[row].to_le_bytes()),
                Values::I32(v) | Values::Time32(v, _) => out.extend_from_slice(&v[row].to_le_bytes()),
                Values::I64(v) | Values::Time64(v, _) | Values::Millis(v, _) | Values::Fine(v, _) => {
                    out.extend_from_slice(&v[row].to_le_bytes());
                }
                Values::F32(v) => out.extend_from_slice(&v[row].to_bits().to_le_bytes()),
                Values::F64(v) => out.extend_from_slice(&v[row].to_bits().to_le_bytes()),
                values => {
                    let bytes = bytes_of(values, row)?;
                    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
                    out.extend_from_slice(bytes);
                }
            }
        }
        Some(())
    }

    /// The text of column number `column` in a row; `Err` says why it has none.
    ///
    /// # Errors
    /// NULL, times outside the years 1 to 9999, times of day finer than a millisecond.
    ///
    /// # Panics
    /// When the batch has no such row or column.
    pub fn text(&self, row: usize, column: usize) -> std::result::Result<String, String> {
        let (root, cells) = &self.columns[column];
        if cells.is_null(row) {
            return Err("is NULL".to_owned());
        }
        Ok(match &cells.values {
            Values::Bool(v) => v.value(row).to_string(),
            Values::I8(v) => v[row].to_string(),
            Values::I16(v) => v[row].to_string(),
            Values::I32(v) if **root == TypeRoot::Date => date(i64::from(v[row]))?,
            Values::I32(v) => v[row].to_string(),
            Values::I64(v) => v[row].to_string(),
            Values::F32(v) => float::text32(v[row]),
            Values::F64(v) => float::text64(v[row]),
            Values::Time32(v, unit) => time_of_day(to_millis(i64::from(v[row]), *unit)),
            Values::Time64(v, unit) => match to_millis_and_nanos(v[row], matches!(unit, TimeUnit::Nanosecond)) {
                (ms, 0) => time_of_day(ms),
                _ => return Err("has digits below the millisecond".to_owned()),
            },
            Values::Millis(v, unit) => timestamp(to_millis(v[row], *unit), 0)?,
            Values::Fine(v, nanoseconds) => {
                let (ms, nanos) = to_millis_and_nanos(v[row], *nanoseconds);
                timestamp(ms, nanos)?
            }
            values => {
                let bytes = bytes_of(values, row).unwrap_or_default();
                match root {
                    TypeRoot::Char(_) | TypeRoot::String => String::from_utf8_lossy(bytes).into_owned(),
                    _ => hex(bytes),
                }
            }
        })
    }
}

fn bytes_of<'a>(values: &Values<'a>, row: usize) -> Option<&'a [u8]> {
    match values {
        Values::Bytes(offsets, data) => data.get(bounds(offsets, row)),
        Values::Fixed(width, data) => data.get(row * width..(row + 1) * width),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

fn date(days: i64) -> std::result::Result<String, String> {
    let date = CivilDate::from_days(days);
    match date.year {
        1..=9999 => Ok(date.to_string()),
        year => Err(format!("lies in the year {year}, outside 1 to 9999")),
    }
}

fn time_of_day(ms: i64) -> String {
    let ms = ms.rem_euclid(MS_PER_DAY);
    format!("{:02}-{:02}-{:02}_{:03}", ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000)
}

fn timestamp(ms: i64, nanos: u32) -> std::result::Result<String, String> {
    let date = date(ms.div_euclid(MS_PER_DAY))?;
    let of_day = ms.rem_euclid(MS_PER_DAY);
    let fraction = format!("{:09}", of_day % 1000 * 1_000_000 + i64::from(nanos));
    let (hour, minute, second) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1000 % 60);
    Ok(format!("{date}-{hour:02}-{minute:02}-{second:02}_{}", fraction.trim_end_matches('0')))
}

#[cfg(test)]
mod tests;
