//! Byte sizes (`64mb`) and durations (`7 d`, `100ms`) in the spelling Flink users know.

use crate::{Error, Result, Subject};
use std::time::Duration;

fn split(text: &str) -> Option<(u64, String)> {
    let t = text.trim();
    let digits = t.find(|c: char| !c.is_ascii_digit()).unwrap_or(t.len());
    let (number, unit) = t.split_at(digits);
    Some((number.parse().ok()?, unit.trim().to_ascii_lowercase()))
}

/// Parses a byte size: `1024`, `64kb`, `64 mb`, `1g`. Units are powers of 1024.
///
/// # Errors
/// `Invalid` when the text is no size or does not fit 64 bits.
pub fn parse_bytes(text: &str) -> Result<u64> {
    let bad = || Error::invalid(Subject::Option, format!("'{text}' is not a byte size; write for example 64mb"));
    let (n, unit) = split(text).ok_or_else(bad)?;
    let shift = match unit.as_str() {
        "" | "b" | "bytes" => 0,
        "k" | "kb" | "kibibytes" => 10,
        "m" | "mb" | "mebibytes" => 20,
        "g" | "gb" | "gibibytes" => 30,
        "t" | "tb" | "tebibytes" => 40,
        _ => return Err(bad()),
    };
    n.checked_mul(1_u64 << shift).ok_or_else(bad)
}

/// Parses a duration: `100` (ms), `100ms`, `5 s`, `10min`, `7d`.
///
/// # Errors
/// `Invalid` when the text is no duration or does not fit 64 bits of nanoseconds' range.
pub fn parse_duration(text: &str) -> Result<Duration> {
    let bad = || Error::invalid(Subject::Option, format!("'{text}' is not a duration; write for example 500ms or 7d"));
    let (n, unit) = split(text).ok_or_else(bad)?;
    let nanos: u64 = match unit.as_str() {
        "ns" | "nano" | "nanosecond" | "nanoseconds" => 1,
        "us" | "µs" | "micro" | "microsecond" | "microseconds" => 1_000,
        "" | "ms" | "milli" | "millisecond" | "milliseconds" => 1_000_000,
        "s" | "sec" | "second" | "seconds" => 1_000_000_000,
        "min" | "m" | "minute" | "minutes" => 60_000_000_000,
        "h" | "hour" | "hours" => 3_600_000_000_000,
        "d" | "day" | "days" => 86_400_000_000_000,
        _ => return Err(bad()),
    };
    let total = u128::from(n) * u128::from(nanos);
    let secs = u64::try_from(total / 1_000_000_000).map_err(|_| bad())?;
    Ok(Duration::new(secs, u32::try_from(total % 1_000_000_000).map_err(|_| bad())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_bytes("64mb").unwrap(), 64 << 20);
        assert_eq!(parse_bytes(" 1 G ").unwrap(), 1 << 30);
        assert_eq!(parse_bytes("12").unwrap(), 12);
        for bad in ["", "mb", "1zb", "-1", "99999999999999999999"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("7 d").unwrap(), Duration::from_secs(7 * 86_400));
        assert_eq!(parse_duration("100").unwrap(), Duration::from_millis(100));
        assert_eq!(parse_duration("10min").unwrap(), Duration::from_secs(600));
        assert!(parse_duration("soon").is_err());
    }
}
