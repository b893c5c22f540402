//! Times of day and instants: between Flink's form (milliseconds, and nanoseconds within the millisecond) and the Arrow
//! unit that belongs to the precision. All division rounds towards the past, so that times before 1970 come out right.

use crate::arrow::unit;
use arrow_schema::TimeUnit;

const NANOS_PER_MILLI: i64 = 1_000_000;

/// Milliseconds of a value kept in `unit`; seconds beyond what milliseconds can say stay at the limit.
pub(crate) const fn to_millis(value: i64, unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => value.saturating_mul(1_000),
        TimeUnit::Millisecond => value,
        TimeUnit::Microsecond => value.div_euclid(1_000),
        TimeUnit::Nanosecond => value.div_euclid(NANOS_PER_MILLI),
    }
}

/// Milliseconds, and nanoseconds within the millisecond, of a value kept in micro- or nanoseconds.
pub(crate) const fn to_millis_and_nanos(value: i64, nanoseconds: bool) -> (i64, u32) {
    if nanoseconds {
        (value.div_euclid(NANOS_PER_MILLI), value.rem_euclid(NANOS_PER_MILLI) as u32)
    } else {
        (value.div_euclid(1_000), value.rem_euclid(1_000) as u32 * 1_000)
    }
}

/// Brings Flink's form to the unit of a precision, cutting digits that the precision does not have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    unit: TimeUnit,
    /// Units that make one step of the precision's last digit.
    step: i64,
}

impl Cut {
    /// The cut of a precision from 0 to 9.
    pub(crate) const fn new(precision: u8) -> Self {
        let unit = unit(precision);
        let digits = match unit {
            TimeUnit::Second => 0,
            TimeUnit::Millisecond => 3,
            TimeUnit::Microsecond => 6,
            TimeUnit::Nanosecond => 9,
        };
        let precision = if precision > 9 { 9 } else { precision };
        Self { unit, step: 10_i64.pow(digits - precision as u32) }
    }

    /// Whether milliseconds go through unchanged.
    pub(crate) const fn is_identity_on_millis(self) -> bool {
        matches!(self.unit, TimeUnit::Millisecond) && self.step == 1
    }

    /// The value in the precision's unit; `None` when it does not fit, or when `nanos` is a millisecond or more.
    pub(crate) fn apply(self, millis: i64, nanos: u32) -> Option<i64> {
        if nanos >= 1_000_000 {
            return None;
        }
        let nanos = i64::from(nanos);
        let value = match self.unit {
            TimeUnit::Second => millis.div_euclid(1_000),
            TimeUnit::Millisecond => millis,
            TimeUnit::Microsecond => finer(millis, 1_000, nanos / 1_000)?,
            TimeUnit::Nanosecond => finer(millis, NANOS_PER_MILLI, nanos)?,
        };
        match self.step {
            1 => Some(value),
            step => value.checked_sub(value.rem_euclid(step)),
        }
    }
}

/// `millis * factor + rest`, without overflow on the way to a sum that fits; `rest` is below `factor`.
fn finer(millis: i64, factor: i64, rest: i64) -> Option<i64> {
    if millis < 0 {
        (millis + 1).checked_mul(factor)?.checked_add(rest - factor)
    } else {
        millis.checked_mul(factor)?.checked_add(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_beyond_the_precision_are_cut_towards_the_past() {
        // 1969-12-31 23:59:59.998999001 and 2024-05-05 10:00:00.123456789.
        let (before, after) = ((-2, 999_001), (1_714_903_200_123, 456_789));
        for (precision, before_1970, in_2024) in [
            (0, -1, 1_714_903_200),
            (1, -100, 1_714_903_200_100),
            (2, -10, 1_714_903_200_120),
            (3, -2, 1_714_903_200_123),
            (4, -1_100, 1_714_903_200_123_400),
            (5, -1_010, 1_714_903_200_123_450),
            (6, -1_001, 1_714_903_200_123_456),
            (7, -1_001_000, 1_714_903_200_123_456_700),
            (8, -1_001_000, 1_714_903_200_123_456_780),
            (9, -1_000_999, 1_714_903_200_123_456_789),
        ] {
            let cut = Cut::new(precision);
            assert_eq!(cut.apply(before.0, before.1), Some(before_1970), "precision {precision}");
            assert_eq!(cut.apply(after.0, after.1), Some(in_2024), "precision {precision}");
        }
    }

    #[test]
    fn the_whole_range_of_nanoseconds_goes_there_and_back() {
        for value in [i64::MIN, i64::MIN + 1, -1_000_001, -1, 0, 1, i64::MAX - 1, i64::MAX] {
            let (millis, nanos) = to_millis_and_nanos(value, true);
            assert_eq!(Cut::new(9).apply(millis, nanos), Some(value));
            let (millis, nanos) = to_millis_and_nanos(value, false);
            assert_eq!(Cut::new(6).apply(millis, nanos), Some(value));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(Cut::new(9).apply(i64::MAX / 1_000_000 + 1, 0), None);
        assert_eq!(Cut::new(9).apply(i64::MIN / 1_000_000 - 2, 0), None);
        assert_eq!(Cut::new(6).apply(i64::MAX / 1_000 + 1, 0), None);
        assert_eq!(Cut::new(6).apply(0, 1_000_000), None);
        assert_eq!(Cut::new(0).apply(i64::MIN, 0), Some(i64::MIN.div_euclid(1_000)));
    }
}
