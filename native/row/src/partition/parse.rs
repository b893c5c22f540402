//! What a user wrote for a partition value, brought to its one form.

use super::{date, float, hex, time_of_day, timestamp};
use crate::{DataType, TypeRoot};
use sluice_base::CivilDate;

const MS_PER_DAY: i64 = 86_400_000;

/// The one form of a partition value of a type. Besides that form itself, SQL's way of writing the value is understood.
///
/// # Errors
/// Says what is wrong and gives an example.
pub fn partition_text(data_type: &DataType, text: &str) -> Result<String, String> {
    let found = match &data_type.root {
        TypeRoot::Char(_) | TypeRoot::String => return Ok(text.to_owned()),
        TypeRoot::Boolean => boolean(text),
        TypeRoot::TinyInt => text.parse::<i8>().ok().map(|v| v.to_string()),
        TypeRoot::SmallInt => text.parse::<i16>().ok().map(|v| v.to_string()),
        TypeRoot::Int => text.parse::<i32>().ok().map(|v| v.to_string()),
        TypeRoot::BigInt => text.parse::<i64>().ok().map(|v| v.to_string()),
        TypeRoot::Float => number(text, float::text32),
        TypeRoot::Double => number(text, float::text64),
        TypeRoot::Date => days(text).and_then(|d| date(d).ok()),
        TypeRoot::Time { precision } => time(text, *precision),
        TypeRoot::Timestamp { precision } => written_time(text, *precision)
            .or_else(|| sql_timestamp(text, *precision))
            .and_then(|(ms, ns)| timestamp(ms, ns).ok()),
        // SQL's way depends on a zone that nobody names here.
        TypeRoot::TimestampLtz { precision } => {
            written_time(text, *precision).and_then(|(ms, ns)| timestamp(ms, ns).ok())
        }
        TypeRoot::Binary(length) => bytes(text).filter(|b| b.len() as u64 == u64::from(*length)).map(|b| hex(&b)),
        TypeRoot::Bytes => bytes(text).map(|b| hex(&b)),
        _ => None,
    };
    found.ok_or_else(|| format!("'{text}' is not {data_type}; write it like '{}'", example(data_type)))
}

fn example(data_type: &DataType) -> &'static str {
    match data_type.root {
        TypeRoot::Boolean => "true",
        TypeRoot::Float | TypeRoot::Double => "1_5",
        TypeRoot::Date => "2025-11-30",
        TypeRoot::Time { precision: 0 } => "10-15-30_000",
        TypeRoot::Time { .. } => "10-15-30_2",
        TypeRoot::Timestamp { precision: 0 } | TypeRoot::TimestampLtz { precision: 0 } => "2025-11-30-10-15-30_",
        TypeRoot::Timestamp { .. } | TypeRoot::TimestampLtz { .. } => "2025-11-30-10-15-30_2",
        TypeRoot::Binary(_) | TypeRoot::Bytes => "0aff",
        _ => "42",
    }
}

fn boolean(text: &str) -> Option<String> {
    [true, false].into_iter().map(|b| b.to_string()).find(|b| b.eq_ignore_ascii_case(text))
}

fn number<F: std::str::FromStr>(text: &str, write: fn(F) -> String) -> Option<String> {
    let plain = match text {
        "NaN" | "Inf" | "-Inf" => text.to_owned(),
        _ if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') => text.replace('_', "."),
        _ => return None,
    };
    let written = plain.parse().ok().map(write)?;
    // A number too large for its type is not the infinity that parsing makes of it.
    (written.ends_with("Inf") == text.ends_with("Inf")).then_some(written)
}

/// Digits only: `+1` and ` 1` are no parts of a date.
fn digits(text: &str, count: std::ops::RangeInclusive<usize>) -> Option<i64> {
    (count.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

fn days(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let (year, month, day) =
        (digits(parts.next()?, 4..=4)?, digits(parts.next()?, 2..=2)?, digits(parts.next()?, 2..=2)?);
    if parts.next().is_some() {
        return None;
    }
    CivilDate { year, month: u8::try_from(month).ok()?, day: u8::try_from(day).ok()? }.to_days()
}

/// `10-15-30` or `10:15:30` as seconds of the day.
fn seconds(text: &str, separator: char) -> Option<i64> {
    let parts: Vec<i64> = text.split(separator).map(|p| digits(p, 2..=2)).collect::<Option<_>>()?;
    match parts[..] {
        [hour @ 0..=23, minute @ 0..=59, second @ 0..=59] => Some(hour * 3600 + minute * 60 + second),
        _ => None,
    }
}

/// Digits behind the point as nanoseconds; not more than the precision has, zeros aside.
fn fraction(text: &str, precision: u8) -> Option<i64> {
    let kept = text.trim_end_matches('0');
    if kept.len() > usize::from(precision) || text.len() > 9 {
        return None;
    }
    if text.is_empty() {
        return Some(0);
    }
    let value = digits(text, 1..=9)?;
    Some(value * 10_i64.pow(9 - u32::try_from(text.len()).ok()?))
}

fn time(text: &str, precision: u8) -> Option<String> {
    let separator = if text.contains(':') { ':' } else { '-' };
    let (clock, rest) = text.split_once(if separator == ':' { '.' } else { '_' }).unwrap_or((text, ""));
    // A time of day is kept in milliseconds at most as far as its text goes.
    let nanos = fraction(rest, precision.min(3))?;
    Some(time_of_day(seconds(clock, separator)? * 1000 + nanos / 1_000_000))
}

/// `2025-11-30-10-15-30_25` as milliseconds, and nanoseconds within the last one.
fn written_time(text: &str, precision: u8) -> Option<(i64, u32)> {
    let (clock, rest) = text.split_once('_')?;
    let (day, clock) = (clock.get(..10)?, clock.get(10..)?.strip_prefix('-')?);
    instant(days(day)?, seconds(clock, '-')?, fraction(rest, precision)?)
}

/// `2025-11-30 10:15:30.25`, and a day alone for its midnight.
fn sql_timestamp(text: &str, precision: u8) -> Option<(i64, u32)> {
    let (day, clock) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    let (clock, rest) = clock.split_once('.').unwrap_or((clock, ""));
    instant(days(day)?, seconds(clock, ':')?, fraction(rest, precision)?)
}

fn instant(days: i64, seconds: i64, nanos: i64) -> Option<(i64, u32)> {
    Some((days * MS_PER_DAY + seconds * 1000 + nanos / 1_000_000, u32::try_from(nanos % 1_000_000).ok()?))
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}
