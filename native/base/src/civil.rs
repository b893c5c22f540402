//! Days since 1970-01-01 as dates of the calendar, and back.

use std::fmt;

/// A date of the proleptic Gregorian calendar. Ordered by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CivilDate {
    /// The year; 0 is 1 BC.
    pub year: i64,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
}

impl CivilDate {
    /// The date that is `days` behind 1970-01-01.
    #[must_use]
    pub const fn from_days(days: i64) -> Self {
        // Years that begin on 1 March put the leap day last; 400 of them have 146,097 days.
        let shifted = days.saturating_add(719_468);
        let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let date = day - (153 * month + 2) / 5 + 1;
        let january = month > 9;
        let month = if january { month - 9 } else { month + 3 };
        Self { year: year + era * 400 + january as i64, month: month as u8, day: date as u8 }
    }

    /// Days since 1970-01-01; `None` when there is no such date.
    #[must_use]
    pub fn to_days(self) -> Option<i64> {
        let (month, day) = (i64::from(self.month), i64::from(self.day));
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || self.year.unsigned_abs() > 1_000_000 {
            return None;
        }
        let year = if month > 2 { self.year } else { self.year - 1 };
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let shifted_month = if month > 2 { month - 3 } else { month + 9 };
        let of_year = (153 * shifted_month + 2) / 5 + day - 1;
        let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
        // 31 April became 1 May on the way.
        (Self::from_days(days) == self).then_some(days)
    }
}

impl fmt::Display for CivilDate {
    /// `2025-11-30`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for days in (-800_000..800_000).step_by(13).chain(-400..400) {
            assert_eq!(CivilDate::from_days(days).to_days(), Some(days));
        }
        for (days, text) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (20_422, "2025-11-30"),
            (-719_162, "0001-01-01"),
        ] {
            assert_eq!(CivilDate::from_days(days).to_string(), text);
        }
    }

    #[test]
    fn dates_that_are_none() {
        for (year, month, day) in
            [(2025, 2, 29), (2025, 4, 31), (2025, 0, 1), (2025, 13, 1), (2025, 1, 0), (2025, 1, 32)]
        {
            assert_eq!(CivilDate { year, month, day }.to_days(), None, "{year}-{month}-{day}");
        }
        assert!(CivilDate { year: 2024, month: 2, day: 29 }.to_days().is_some());
    }
}
