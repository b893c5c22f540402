//! Time zones by name: of the time zone database, or a fixed distance from UTC.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A zone, with which instants become times on the wall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Zone {
    Named(TimeZone),
    /// Seconds east of UTC.
    Fixed(i64),
}

impl Zone {
    /// `Europe/Berlin`, `UTC`, `Z`, `+08:00`, `GMT+8`, `UTC-03:30`; `None` for anything else.
    pub(super) fn parse(name: &str) -> Option<Self> {
        if name == "Z" {
            return Some(Self::Fixed(0));
        }
        let distance = ["UTC", "GMT", "UT", ""].iter().find_map(|p| name.strip_prefix(p).and_then(distance));
        distance.map(Self::Fixed).or_else(|| TimeZone::get(name).ok().map(Self::Named))
    }

    /// The machine's zone; UTC where it has none.
    pub(super) fn system() -> Self {
        TimeZone::try_system().map_or(Self::Fixed(0), Self::Named)
    }

    /// Milliseconds since 1970 as the zone's clocks show them.
    pub(super) fn local_ms(&self, now_ms: i64) -> i64 {
        let east = match self {
            Self::Fixed(seconds) => *seconds,
            Self::Named(zone) => {
                Timestamp::from_millisecond(now_ms).map_or(0, |at| i64::from(zone.to_offset(at).seconds()))
            }
        };
        now_ms.saturating_add(east * 1000)
    }
}

/// `+8`, `+08`, `-03:30` in seconds.
fn distance(text: &str) -> Option<i64> {
    let (sign, text) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = text.split_once(':').unwrap_or((text, "00"));
    let digits = |t: &str, lengths: &[usize]| {
        (lengths.contains(&t.len()) && t.bytes().all(|b| b.is_ascii_digit())).then(|| t.parse::<i64>().ok()).flatten()
    };
    let (hours, minutes) = (digits(hours, &[1, 2])?, digits(minutes, &[2])?);
    (hours <= 18 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_distances() {
        // 2025-07-01 12:00:00 UTC.
        let noon = 1_751_371_200_000;
        for (name, hours) in [
            ("UTC", 0.0),
            ("Z", 0.0),
            ("GMT", 0.0),
            ("+08:00", 8.0),
            ("GMT+8", 8.0),
            ("UTC-03:30", -3.5),
            ("Europe/Berlin", 2.0),
            ("Pacific/Kiritimati", 14.0),
            ("Asia/Kolkata", 5.5),
        ] {
            let zone = Zone::parse(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(zone.local_ms(noon) - noon, (hours * 3_600_000.0) as i64, "{name}");
        }
        // The same place in winter.
        assert_eq!(Zone::parse("Europe/Berlin").unwrap().local_ms(0), 3_600_000);
        for bad in ["", "Nowhere/Land", "+25:00", "GMT+", "+1:2", "UTC+x", "é"] {
            assert_eq!(Zone::parse(bad), None, "{bad}");
        }
    }
}
