//! Partitions by the clock: which of a table's partitions there should be now, and which values are no longer taken.
//!
//! Pure: a description and a time in, texts out. Who creates and drops is `partitions`. All times are read in the table's own zone.

mod format;
mod zone;

use format::Format;
use sluice_base::{CivilDate, Error, Result, Subject};
use sluice_row::{TableDescriptor, partition_text};
use std::collections::BTreeMap;
use zone::Zone;

pub(crate) const ENABLED: &str = "table.auto-partition.enabled";
pub(crate) const KEY: &str = "table.auto-partition.key";
pub(crate) const NUM_PRECREATE: &str = "table.auto-partition.num-precreate";
pub(crate) const NUM_RETENTION: &str = "table.auto-partition.num-retention";
pub(crate) const TIME_FORMAT: &str = "table.auto-partition.time-format";
pub(crate) const TIME_UNIT: &str = "table.auto-partition.time-unit";
pub(crate) const TIME_ZONE: &str = "table.auto-partition.time-zone";
pub(crate) const UNITS: &[&str] = &["HOUR", "DAY", "MONTH", "QUARTER", "YEAR"];

const DATE_PATTERN: &str = "yyyy-MM-dd";
const MS_PER_HOUR: i64 = 3_600_000;

/// The span of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Hour,
    Day,
    Month,
    Quarter,
    Year,
}

impl Unit {
    fn parse(name: &str) -> Option<Self> {
        [Self::Hour, Self::Day, Self::Month, Self::Quarter, Self::Year]
            .into_iter()
            .find(|u| u.name().eq_ignore_ascii_case(name.trim()))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Hour => "HOUR",
            Self::Day => "DAY",
            Self::Month => "MONTH",
            Self::Quarter => "QUARTER",
            Self::Year => "YEAR",
        }
    }
}

/// How a table's partitions follow the clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AutoPartition {
    /// Which of the partition columns holds the time.
    pub(crate) key: usize,
    key_name: String,
    single: bool,
    unit: Unit,
    pattern: String,
    format: Format,
    zone: Zone,
    precreate: i64,
    /// Negative keeps all.
    retention: i64,
}

fn invalid(key: &str, value: &str, why: impl std::fmt::Display) -> Error {
    Error::invalid(Subject::Option, format!("option '{key}' = '{value}' {why}"))
}

fn number(properties: &BTreeMap<String, String>, key: &str, default: i64) -> Result<i64> {
    match properties.get(key) {
        None => Ok(default),
        Some(text) => text.trim().parse().map_err(|_| invalid(key, text, "is not a whole number")),
    }
}

impl AutoPartition {
    /// Whether a table's options ask for it.
    pub(crate) fn is_on(properties: &BTreeMap<String, String>) -> bool {
        properties.get(ENABLED).is_some_and(|v| v.trim().eq_ignore_ascii_case("true"))
    }

    /// What a table's options say; `None` when it is off.
    ///
    /// # Errors
    /// `Invalid` about `Option`, naming it.
    pub(crate) fn of(table: &TableDescriptor) -> Result<Option<Self>> {
        let properties = &table.properties;
        let text = |key: &str| properties.get(key).map(|v| v.trim());
        if !Self::is_on(properties) {
            return Ok(None);
        }
        let key = key_of(table, text(KEY))?;
        let key_name = table.partition_key.get(key).cloned().unwrap_or_default();
        let unit_name = text(TIME_UNIT).unwrap_or("DAY");
        let unit = Unit::parse(unit_name)
            .ok_or_else(|| invalid(TIME_UNIT, unit_name, format_args!("is not one of {}", UNITS.join(", "))))?;
        let single = table.partition_key.len() == 1;
        let precreate = number(properties, NUM_PRECREATE, if single { 2 } else { 0 })?;
        if !single && precreate != 0 {
            let why = "must be 0: with several partition columns there is nothing that can be created ahead";
            return Err(invalid(NUM_PRECREATE, &precreate.to_string(), why));
        }
        let zone = match text(TIME_ZONE) {
            None => Zone::system(),
            Some(name) => Zone::parse(name).ok_or_else(|| {
                invalid(TIME_ZONE, name, "is no time zone; write it like 'Europe/Berlin' or '+08:00'")
            })?,
        };
        let column = table.schema.columns.iter().find(|c| c.name == key_name);
        let is_date = column.is_some_and(|c| c.data_type.root == sluice_row::TypeRoot::Date);
        let default = if is_date && unit == Unit::Day { DATE_PATTERN } else { unit.default_pattern() };
        let pattern = text(TIME_FORMAT).unwrap_or(default).to_owned();
        let format = Format::parse(&pattern, unit).map_err(|why| invalid(TIME_FORMAT, &pattern, why))?;
        let retention = number(properties, NUM_RETENTION, 7)?;
        let auto = Self { key, key_name, single, unit, pattern, format, zone, precreate, retention };
        if let Some(column) = column {
            auto.check_column(&column.data_type)?;
        }
        Ok(Some(auto))
    }

    /// The column must be able to hold the texts in just this form.
    fn check_column(&self, data_type: &sluice_row::DataType) -> Result<()> {
        let sample = self.format.text(CivilDate { year: 2025, month: 11, day: 30 }, 10);
        if let Err(e) = crate::names::check_partition_value(&self.key_name, &sample) {
            return Err(invalid(
                TIME_FORMAT,
                &self.pattern,
                format_args!("gives names that no partition can have: {e}"),
            ));
        }
        match partition_text(data_type, &sample) {
            Ok(text) if text == sample => Ok(()),
            _ if data_type.root == sluice_row::TypeRoot::Date => Err(invalid(
                TIME_FORMAT,
                &self.pattern,
                format_args!(
                    "does not give dates: partition column '{}' is {data_type}, so '{TIME_UNIT}' must be DAY and the format '{DATE_PATTERN}'",
                    self.key_name
                ),
            )),
            _ => Err(invalid(
                TIME_FORMAT,
                &self.pattern,
                format_args!(
                    "gives texts like '{sample}', which partition column '{}' ({data_type}) cannot hold in that form",
                    self.key_name
                ),
            )),
        }
    }

    /// The text of the unit that is `ahead` units behind the one of `now_ms`.
    fn text(&self, now_ms: i64, ahead: i64) -> String {
        let shifted =
            if self.unit == Unit::Hour { now_ms.saturating_add(ahead.saturating_mul(MS_PER_HOUR)) } else { now_ms };
        let local = self.zone.local_ms(shifted);
        let hours = local.div_euclid(MS_PER_HOUR);
        let (days, hour) = (hours.div_euclid(24), hours.rem_euclid(24));
        let today = CivilDate::from_days(days);
        let months = match self.unit {
            Unit::Hour => 0,
            Unit::Day => return self.format.text(CivilDate::from_days(days.saturating_add(ahead)), 0),
            Unit::Month => ahead,
            Unit::Quarter => ahead.saturating_mul(3),
            Unit::Year => ahead.saturating_mul(12),
        };
        let month = today.year.saturating_mul(12).saturating_add(i64::from(today.month) - 1).saturating_add(months);
        let date = CivilDate {
            year: month.div_euclid(12),
            month: u8::try_from(month.rem_euclid(12) + 1).unwrap_or(1),
            day: today.day,
        };
        self.format.text(date, hour)
    }

    /// How many partitions are created ahead, and the option that says so.
    pub(crate) const fn precreated(&self) -> (i64, &'static str) {
        (self.precreate, NUM_PRECREATE)
    }

    /// Values of the partitions that are to exist, the present one first; none when the table has other partition columns too.
    pub(crate) fn wanted(&self, now_ms: i64) -> Vec<String> {
        let count = if self.single { self.precreate } else { 0 };
        let mut texts: Vec<String> = (0..count).map(|ahead| self.text(now_ms, ahead)).collect();
        texts.dedup();
        texts
    }

    /// The oldest time that is still kept; `None` = all are.
    fn oldest_kept(&self, now_ms: i64) -> Option<String> {
        (self.retention >= 0).then(|| self.text(now_ms, -self.retention))
    }

    /// Whether a partition with this time is past its retention.
    pub(crate) fn has_expired(&self, value: &str, now_ms: i64) -> bool {
        self.oldest_kept(now_ms).is_some_and(|oldest| value < oldest.as_str())
    }

    /// Refuses a time that is not of the table's format or too old to be kept.
    ///
    /// # Errors
    /// `Invalid` about `Partition`.
    pub(crate) fn check(&self, value: &str, now_ms: i64) -> Result<()> {
        if !self.format.matches(value) {
            let message = format!(
                "'{}' = '{value}' does not match the expected format '{}' of time unit {}, for example '{}'",
                self.key_name,
                self.pattern,
                self.unit.name(),
                self.text(now_ms, 0)
            );
            return Err(Error::invalid(Subject::Partition, message));
        }
        match self.oldest_kept(now_ms) {
            Some(oldest) if value < oldest.as_str() => Err(Error::invalid(
                Subject::Partition,
                format!(
                    "'{}' = '{value}' is out-of-date: '{NUM_RETENTION}' = {} keeps partitions from '{oldest}' on",
                    self.key_name, self.retention
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// Which partition column holds the time.
fn key_of(table: &TableDescriptor, named: Option<&str>) -> Result<usize> {
    if table.partition_key.is_empty() {
        return Err(invalid(ENABLED, "true", "needs a partitioned table"));
    }
    let columns = table.partition_key.join(", ");
    match named {
        Some(name) => table
            .partition_key
            .iter()
            .position(|k| k == name)
            .ok_or_else(|| invalid(KEY, name, format_args!("is not one of the partition columns ({columns})"))),
        None if table.partition_key.len() == 1 => Ok(0),
        None => Err(Error::invalid(
            Subject::Option,
            format!(
                "a table with several partition columns ({columns}) must set one auto partition key: option '{KEY}' is missing"
            ),
        )),
    }
}

#[cfg(test)]
mod tests;
