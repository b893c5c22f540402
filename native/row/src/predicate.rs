//! A condition on rows, as a caller says it: a tree over columns by name. It crosses to Java as JSON (`docs/jni.md`).

use serde::{Deserialize, Serialize};

/// A condition. For a row it is true, false or, as SQL has it, neither.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Predicate {
    /// All of them.
    And(Vec<Predicate>),
    /// One of them at least.
    Or(Vec<Predicate>),
    /// The other way round.
    Not(Box<Predicate>),
    /// True where the inner one is, else false.
    IsTrue(Box<Predicate>),
    /// A column is NULL.
    IsNull(String),
    /// A column against a value.
    Compare {
        /// The column.
        column: String,
        /// How.
        op: Comparison,
        /// The value, never NULL.
        value: Literal,
    },
    /// A column equals one of some values.
    In {
        /// The column.
        column: String,
        /// The values, none of them NULL.
        values: Vec<Literal>,
    },
    /// Something that the caller cannot say; it may be true, false or neither.
    Unknown,
}

/// How a column is compared with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    /// Equal.
    #[serde(rename = "=")]
    Equal,
    /// Not equal.
    #[serde(rename = "<>")]
    NotEqual,
    /// Below.
    #[serde(rename = "<")]
    Less,
    /// Below or equal.
    #[serde(rename = "<=")]
    LessOrEqual,
    /// Above.
    #[serde(rename = ">")]
    Greater,
    /// Above or equal.
    #[serde(rename = ">=")]
    GreaterOrEqual,
}

/// A value. One that a column's type cannot hold exactly makes its comparison [`Predicate::Unknown`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Literal {
    /// BOOLEAN.
    Boolean(bool),
    /// Any integer.
    Integer(i64),
    /// DECIMAL in digits, for example `-12.50`.
    Decimal(String),
    /// FLOAT or DOUBLE in the digits that name exactly this value.
    Float(String),
    /// CHAR or STRING.
    Text(String),
    /// Days since 1970-01-01.
    Date(i32),
    /// Milliseconds of the day.
    Time(i32),
    /// TIMESTAMP or TIMESTAMP_LTZ.
    Timestamp {
        /// Milliseconds since 1970-01-01.
        millis: i64,
        /// Nanoseconds within the millisecond.
        nanos: u32,
    },
}

impl Literal {
    /// A number in units of a DECIMAL's scale; `None` for other literals, and for one that does not come out even.
    #[must_use]
    pub fn unscaled(&self, scale: u8) -> Option<i128> {
        match self {
            Self::Integer(value) => unscaled(&value.to_string(), scale),
            Self::Decimal(digits) => unscaled(digits, scale),
            _ => None,
        }
    }
}

/// More digits could not be told apart from a wrong number.
const DIGITS_MAX: usize = 38;

/// Digits as a whole number of units of `scale`; `None` when they do not come out even.
fn unscaled(digits: &str, scale: u8) -> Option<i128> {
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, digits),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let scale = usize::from(scale);
    let is_number = !whole.is_empty() && whole.chars().chain(fraction.chars()).all(|c| c.is_ascii_digit());
    if !is_number || fraction.len() > scale {
        return None;
    }
    let text = format!("{}{fraction:0<scale$}", whole.trim_start_matches('0'));
    if text.len() > DIGITS_MAX {
        return None;
    }
    let value: i128 = if text.is_empty() { 0 } else { text.parse().ok()? };
    Some(if negative { -value } else { value })
}
