//! Directories of partitions: `<column>=<value>/` for each partition column, spelled as Paimon's readers expect it.

use crate::stored_row::decode;
use crate::table_schema::TableSchema;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::TimeUnit;
use sluice_base::{Error, Result, Subject};
use sluice_row::{Column, TypeRoot};
use std::fmt::Write as _;

/// The directory of NULL, of the empty text and of blank text; the manifest keeps the true value.
const DEFAULT_NAME: &str = "__DEFAULT_PARTITION__";

/// Whether a column of this type can partition a lake table.
///
/// # Errors
/// `Unsupported` naming the column: values of its type have no spelling that all readers agree on.
pub(crate) fn check_column(column: &Column) -> Result<()> {
    match &column.data_type.root {
        TypeRoot::Boolean
        | TypeRoot::TinyInt
        | TypeRoot::SmallInt
        | TypeRoot::Int
        | TypeRoot::BigInt
        | TypeRoot::Char(_)
        | TypeRoot::String
        | TypeRoot::Date
        | TypeRoot::Decimal { .. }
        | TypeRoot::Timestamp { .. } => Ok(()),
        _ => Err(Error::unsupported(
            Subject::Column,
            format!(
                "partition column '{}' of type {} cannot partition a lake table; take a STRING, a whole number, BOOLEAN, DECIMAL, \
                 DATE or TIMESTAMP",
                column.name, column.data_type
            ),
        )),
    }
}

/// The directory of the partition that row `row` of the partition columns belongs to, relative to the table's; empty for a
/// table without partitions.
///
/// # Errors
/// `Unsupported` for a type that [`check_column`] refuses; `Internal` for an array of another type.
pub(crate) fn directory(schema: &TableSchema, columns: &[ArrayRef], row: usize) -> Result<String> {
    let default = schema.option("partition.default-name").unwrap_or(DEFAULT_NAME);
    // The older spelling is Java's own of its inner values.
    let is_legacy = schema.option("partition.legacy-name") != Some("false");
    let mut path = String::new();
    for (index, array) in schema.partition_indexes().into_iter().zip(columns) {
        let column = &schema.schema.columns[index];
        check_column(column)?;
        if is_legacy && matches!(column.data_type.root, TypeRoot::Date | TypeRoot::Timestamp { .. }) {
            let message = format!(
                "partition column '{}' of type {}: only lake tables with 'partition.legacy-name' = 'false' can be read here",
                column.name, column.data_type
            );
            return Err(Error::unsupported(Subject::Table, message));
        }
        let value = text(&column.data_type.root, array, row)?;
        let value = value.filter(|v| !v.chars().all(is_blank));
        escape(&column.name, &mut path);
        path.push('=');
        escape(value.as_deref().unwrap_or(default), &mut path);
        path.push('/');
    }
    Ok(path)
}

/// As [`directory`], of a partition as manifests name it.
///
/// # Errors
/// As [`directory`]; `Corrupt` when it is no partition of this table.
pub(crate) fn directory_of_row(schema: &TableSchema, stored: &[u8]) -> Result<String> {
    directory(schema, &columns(schema, stored)?, 0)
}

/// The values of a partition as manifests name it, as columns of one row each.
///
/// # Errors
/// `Corrupt` when it is no partition of this table.
pub(crate) fn columns(schema: &TableSchema, stored: &[u8]) -> Result<Vec<ArrayRef>> {
    let types = schema.partition_indexes().into_iter().map(|i| schema.schema.columns[i].data_type.clone());
    decode(&types.collect::<Vec<_>>(), stored)
}

/// Java's whitespace, which is not Unicode's: no non-breaking spaces, but four separators of ASCII.
fn is_blank(c: char) -> bool {
    match c {
        '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{85}' => false,
        '\u{1c}'..='\u{1f}' => true,
        c => c.is_whitespace(),
    }
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        if c < ' ' || "\"#%'*/:=?\\\u{7f}{}[]^".contains(c) {
            let _ = write!(out, "%{:02X}", u32::from(c));
        } else {
            out.push(c);
        }
    }
}

fn text(root: &TypeRoot, array: &ArrayRef, row: usize) -> Result<Option<String>> {
    if array.is_null(row) {
        return Ok(None);
    }
    let found = match root {
        TypeRoot::Boolean => array.as_boolean_opt().map(|a| a.value(row).to_string()),
        TypeRoot::TinyInt => array.as_primitive_opt::<Int8Type>().map(|a| a.value(row).to_string()),
        TypeRoot::SmallInt => array.as_primitive_opt::<Int16Type>().map(|a| a.value(row).to_string()),
        TypeRoot::Int => array.as_primitive_opt::<Int32Type>().map(|a| a.value(row).to_string()),
        TypeRoot::BigInt => array.as_primitive_opt::<Int64Type>().map(|a| a.value(row).to_string()),
        TypeRoot::Char(_) | TypeRoot::String => array.as_string_opt::<i32>().map(|a| a.value(row).to_owned()),
        TypeRoot::Date => array.as_primitive_opt::<Date32Type>().map(|a| date(a.value(row).into())),
        TypeRoot::Decimal { scale, .. } => {
            array.as_primitive_opt::<Decimal128Type>().map(|a| decimal(a.value(row), usize::from(*scale)))
        }
        TypeRoot::Timestamp { precision } => nanoseconds(array, row).map(|n| timestamp(n, usize::from(*precision))),
        _ => None,
    };
    found.map(Some).ok_or_else(|| Error::internal(format!("a partition column is {} in Arrow", array.data_type())))
}

fn nanoseconds(array: &ArrayRef, row: usize) -> Option<i128> {
    let arrow_schema::DataType::Timestamp(unit, _) = array.data_type() else { return None };
    let (value, factor) = match unit {
        TimeUnit::Second => (array.as_primitive_opt::<TimestampSecondType>()?.value(row), 1_000_000_000),
        TimeUnit::Millisecond => (array.as_primitive_opt::<TimestampMillisecondType>()?.value(row), 1_000_000),
        TimeUnit::Microsecond => (array.as_primitive_opt::<TimestampMicrosecondType>()?.value(row), 1_000),
        TimeUnit::Nanosecond => (array.as_primitive_opt::<TimestampNanosecondType>()?.value(row), 1),
    };
    Some(i128::from(value) * factor)
}

/// `2026-08-22`, of days since 1970-01-01 in the proleptic Gregorian calendar.
fn date(days: i64) -> String {
    // Counted from 0000-03-01, so that a leap day ends its year; 400 years have 146097 days.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `2026-08-22 10:00:00.123`, with as many digits as the precision has.
fn timestamp(nanoseconds: i128, precision: usize) -> String {
    const SECOND: i128 = 1_000_000_000;
    let seconds = i64::try_from(nanoseconds.div_euclid(SECOND)).unwrap_or(i64::MAX);
    let of_day = seconds.rem_euclid(86_400);
    let mut out = format!(
        "{} {:02}:{:02}:{:02}",
        date(seconds.div_euclid(86_400)),
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60
    );
    if precision > 0 {
        let fraction = format!("{:09}", nanoseconds.rem_euclid(SECOND));
        let _ = write!(out, ".{}", fraction.get(..precision).unwrap_or(&fraction));
    }
    out
}

/// `-0.05`, with as many digits after the point as the scale says.
fn decimal(unscaled: i128, scale: usize) -> String {
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if unscaled < 0 { "-" } else { "" };
    let point = if scale == 0 { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_spelled_as_java_spells_them() {
        assert_eq!(
            [0, -1, 20_687, -719_528, 2_932_896].map(date),
            ["1970-01-01", "1969-12-31", "2026-08-22", "0000-01-01", "9999-12-31"]
        );
        assert_eq!(timestamp(-1_000, 6), "1969-12-31 23:59:59.999999");
        assert_eq!(timestamp(0, 0), "1970-01-01 00:00:00");
        assert_eq!(timestamp(86_399_120_000_000, 3), "1970-01-01 23:59:59.120");
        assert_eq!([decimal(-5, 2), decimal(12_345, 2), decimal(7, 0)], ["-0.05", "123.45", "7"]);
    }

    #[test]
    fn odd_characters_are_escaped_and_others_stay() {
        let mut out = String::new();
        escape("a b/c:d=e%f 中文\n", &mut out);
        assert_eq!(out, "a b%2Fc%3Ad%3De%25f 中文%0A");
        assert!(" \t\u{3000}\u{1c}".chars().all(is_blank) && !is_blank('\u{a0}'));
    }
}
