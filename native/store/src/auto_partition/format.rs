//! The pattern of a partition's time: which fields it writes, so that texts of one pattern sort by time.

use super::Unit;
use sluice_base::CivilDate;
use std::fmt::Write as _;

/// A field of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Year,
    Quarter,
    Month,
    Day,
    Hour,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Field(Field, usize),
    Text(String),
}

/// A pattern that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Format(Vec<Part>);

impl Unit {
    const fn fields(self) -> &'static [Field] {
        match self {
            Self::Hour => &[Field::Year, Field::Month, Field::Day, Field::Hour],
            Self::Day => &[Field::Year, Field::Month, Field::Day],
            Self::Month => &[Field::Year, Field::Month],
            Self::Quarter => &[Field::Year, Field::Quarter],
            Self::Year => &[Field::Year],
        }
    }

    /// The pattern when the table names none.
    pub(super) const fn default_pattern(self) -> &'static str {
        match self {
            Self::Hour => "yyyyMMddHH",
            Self::Day => "yyyyMMdd",
            Self::Month => "yyyyMM",
            Self::Quarter => "yyyyQ",
            Self::Year => "yyyy",
        }
    }
}

fn field_of(letter: char) -> Option<(Field, &'static [usize])> {
    Some(match letter {
        'y' | 'u' => (Field::Year, &[4]),
        'Q' | 'q' => (Field::Quarter, &[1, 2]),
        'M' => (Field::Month, &[2]),
        'd' => (Field::Day, &[2]),
        'H' => (Field::Hour, &[2]),
        _ => return None,
    })
}

impl Format {
    /// Reads a pattern for partitions of `unit`.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(super) fn parse(pattern: &str, unit: Unit) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            let count = rest.chars().take_while(|c| *c == first).count();
            if first == '\'' {
                let (text, after) = rest[1..].split_once('\'').ok_or("has a quote without its end")?;
                parts.push(Part::Text(if text.is_empty() { "'".to_owned() } else { text.to_owned() }));
                rest = after;
                continue;
            }
            if first.is_ascii_alphabetic() {
                let run: String = rest.chars().take(count).collect();
                let (field, widths) =
                    field_of(first).ok_or_else(|| format!("has '{run}', which is none of yyyy, Q, MM, dd, HH"))?;
                if !widths.contains(&count) {
                    return Err(format!("has '{run}', whose width is not fixed; write {first} {} times", widths[0]));
                }
                parts.push(Part::Field(field, count));
            } else if matches!(first, '[' | ']') {
                return Err("has an optional section".to_owned());
            } else {
                parts.push(Part::Text(rest.chars().take(count).collect()));
            }
            rest = &rest[first.len_utf8() * count..];
        }
        let format = Self(parts);
        let fields: Vec<Field> = format.fields().collect();
        if fields != unit.fields() {
            return Err(format!(
                "must hold exactly the fields of the unit {}, the largest first, as '{}' does",
                unit.name(),
                unit.default_pattern()
            ));
        }
        Ok(format)
    }

    fn fields(&self) -> impl Iterator<Item = Field> + '_ {
        self.0.iter().filter_map(|p| match p {
            Part::Field(field, _) => Some(*field),
            Part::Text(_) => None,
        })
    }

    /// The text of an hour of a day.
    pub(super) fn text(&self, date: CivilDate, hour: i64) -> String {
        let mut out = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Field(field, width) => {
                    let value = match field {
                        Field::Year => date.year,
                        Field::Quarter => i64::from(date.month.div_ceil(3)),
                        Field::Month => i64::from(date.month),
                        Field::Day => i64::from(date.day),
                        Field::Hour => hour,
                    };
                    let width = *width;
                    let _ = write!(out, "{value:0width$}");
                }
            }
        }
        out
    }

    /// Whether a text is one that the pattern writes.
    pub(super) fn matches(&self, text: &str) -> bool {
        let mut date = CivilDate { year: 1, month: 1, day: 1 };
        let mut hour = 0;
        let mut rest = text;
        for part in &self.0 {
            let taken = match part {
                Part::Text(literal) => rest.strip_prefix(literal.as_str()),
                Part::Field(field, width) => match rest.split_at_checked(*width) {
                    Some((digits, after)) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                        let value: u16 = digits.parse().unwrap_or(u16::MAX);
                        let small = u8::try_from(value).unwrap_or(u8::MAX);
                        match field {
                            Field::Year => date.year = i64::from(value),
                            Field::Quarter => date.month = if (1..=4).contains(&small) { small * 3 } else { 0 },
                            Field::Month => date.month = small,
                            Field::Day => date.day = small,
                            Field::Hour => hour = value,
                        }
                        Some(after)
                    }
                    _ => None,
                },
            };
            match taken {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty() && date.year > 0 && date.to_days().is_some() && hour < 24
    }
}
