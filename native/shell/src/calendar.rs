//! Dates and times as text, both ways. An instant is nanoseconds since 1970, a time of day nanoseconds since midnight.

use sluice_base::CivilDate;

const NANOS: i128 = 1_000_000_000;
const DAY_SECONDS: i64 = 86_400;

/// Digits only: `+1` and ` 1` are no parts of a date.
fn number(text: &str, length: usize) -> Option<i64> {
    (text.len() == length && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// Days since 1970 of `2025-11-30`.
pub(crate) fn days(text: &str) -> Option<i64> {
    let (year, rest) = text.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    let small = |text| u8::try_from(number(text, 2)?).ok();
    CivilDate { year: number(year, 4)?, month: small(month)?, day: small(day)? }.to_days()
}

/// Nanoseconds of `10:15`, `10:15:30` or `10:15:30.25`, with no more digits than a precision has.
pub(crate) fn of_day(text: &str, precision: u8) -> Option<i64> {
    let (clock, fraction) = text.split_once('.').map_or((text, None), |(c, f)| (c, Some(f)));
    let mut parts = clock.split(':').map(|part| number(part, 2));
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = match parts.next() {
        None if fraction.is_none() => 0,
        None => return None,
        Some(second) => second?,
    };
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let nanos = match fraction {
        None => 0,
        Some(digits) => {
            if digits.is_empty() || digits.len() > 9 || digits.trim_end_matches('0').len() > usize::from(precision) {
                return None;
            }
            number(digits, digits.len())? * 10_i64.pow(9 - u32::try_from(digits.len()).ok()?)
        }
    };
    Some((hour * 3600 + minute * 60 + second) * 1_000_000_000 + nanos)
}

/// `2025-11-30 10:15:30.25`, `2025-11-30T10:15:30.25`, `2025-11-30`.
pub(crate) fn timestamp(text: &str, precision: u8) -> Option<i128> {
    let (day, clock) = text.split_once(['T', ' ']).map_or((text, "00:00"), |(d, c)| (d, c));
    Some(i128::from(days(day)?) * i128::from(DAY_SECONDS) * NANOS + i128::from(of_day(clock, precision)?))
}

/// The same with `Z`, `+01:00` or `-0800` at the end.
pub(crate) fn instant(text: &str, precision: u8) -> Option<i128> {
    if let Some(local) = text.strip_suffix(['Z', 'z']) {
        return timestamp(local.trim_end(), precision);
    }
    let at = text.rfind(['+', '-']).filter(|at| text.get(..*at).is_some_and(|before| before.contains(':')))?;
    let (local, zone) = (text.get(..at)?, text.get(at + 1..)?);
    let (hours, minutes) = match zone.split_once(':') {
        Some(parts) => parts,
        None if zone.len() == 2 => (zone, "00"),
        None => (zone.get(..2)?, zone.get(2..)?),
    };
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    if hours > 18 || minutes > 59 {
        return None;
    }
    let ahead = i128::from(hours * 3600 + minutes * 60) * NANOS;
    let local = timestamp(local.trim_end(), precision)?;
    Some(if text.get(at..=at) == Some("+") { local - ahead } else { local + ahead })
}

pub(crate) fn date_text(days: i64) -> String {
    CivilDate::from_days(days).to_string()
}

/// `10:15:30.25`, the digits as far as they are not zero.
pub(crate) fn of_day_text(nanos: i64) -> String {
    let (seconds, rest) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
    let fraction = format!(".{rest:09}");
    let fraction = if rest == 0 { "" } else { fraction.trim_end_matches('0') };
    format!("{:02}:{:02}:{:02}{fraction}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// `2025-11-30 10:15:30.25`.
pub(crate) fn timestamp_text(nanos: i128) -> String {
    let day = i128::from(DAY_SECONDS) * NANOS;
    let days = i64::try_from(nanos.div_euclid(day)).unwrap_or(i64::MAX);
    format!("{} {}", date_text(days), of_day_text(i64::try_from(nanos.rem_euclid(day)).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for text in
            ["2025-11-30 10:15:30.25", "1969-12-31 23:59:59.999999999", "0001-01-01 00:00:00", "2024-02-29 12:00:00.1"]
        {
            assert_eq!(timestamp_text(timestamp(text, 9).unwrap()), text);
        }
        assert_eq!(of_day_text(of_day("10:15", 0).unwrap()), "10:15:00");
        assert_eq!(timestamp("1970-01-02", 0), Some(86_400 * NANOS));
    }

    #[test]
    fn zones_are_taken_away() {
        let noon = timestamp("2025-11-30 12:00:00", 0);
        for text in [
            "2025-11-30T12:00:00Z",
            "2025-11-30 13:00:00+01:00",
            "2025-11-30T04:00:00-0800",
            "2025-11-30T14+02",
            "2025-11-30 14:00 +02",
        ] {
            let expected = if text.contains("T14+") { None } else { noon };
            assert_eq!(instant(text, 0), expected, "{text}");
        }
        assert_eq!(instant("2025-11-30 12:00:00", 0), None);
        assert_eq!(instant("2025-11-30", 0), None);
    }

    #[test]
    fn what_is_no_time() {
        for text in [
            "2025-02-29",
            "2025-1-01",
            "2025-01-01 24:00:00",
            "2025-01-01 10:60",
            "2025-01-01 10:00.5",
            "2025-01-01 10:00:00.",
            "x",
            "",
            "2025-01-01 10:00:00.1234567890",
            "2025-01-01 +1:00",
        ] {
            assert_eq!(timestamp(text, 9), None, "{text}");
        }
        assert_eq!(timestamp("2025-01-01 10:00:00.123", 2), None);
        assert!(timestamp("2025-01-01 10:00:00.120", 2).is_some());
    }
}
