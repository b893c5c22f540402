//! One value that is no ARRAY, MAP or ROW, from what a user wrote to what a column holds.

use serde_json::Value;
use sluice_row::{DataType, TypeRoot};
use std::borrow::Cow;

/// The text of a scalar; `None` for arrays, objects and NULL.
pub(crate) fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Bool(bool) => Some(Cow::Borrowed(if *bool { "true" } else { "false" })),
        _ => None,
    }
}

/// A whole number; one that JSON has with a fraction is none.
pub(crate) fn whole<T: std::str::FromStr>(value: &Value) -> Option<T> {
    match value {
        Value::Bool(_) => None,
        _ => text(value)?.trim().parse().ok(),
    }
}

/// A number with a fraction; one that is too large is none, for parsing makes it infinite.
pub(crate) fn floating(value: &Value) -> Option<f64> {
    if matches!(value, Value::Bool(_)) {
        return None;
    }
    let text = text(value)?;
    match text.trim() {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        plain if plain.starts_with(|c: char| c.is_ascii_digit() || "-.+".contains(c)) => {
            plain.parse::<f64>().ok().filter(|v| v.is_finite())
        }
        _ => None,
    }
}

/// The same in 32 bits.
pub(crate) fn floating32(value: &Value) -> Option<f32> {
    let wide = floating(value)?;
    #[expect(clippy::cast_possible_truncation, reason = "the nearest one is meant")]
    let narrow = wide as f32;
    (narrow.is_finite() || !wide.is_finite()).then_some(narrow)
}

pub(crate) fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(bool) => Some(*bool),
        Value::String(text) => [true, false].into_iter().find(|b| b.to_string().eq_ignore_ascii_case(text.trim())),
        _ => None,
    }
}

/// Text of at most so many characters.
pub(crate) fn string(value: &Value, chars_max: Option<u32>) -> Option<&str> {
    let text = value.as_str()?;
    chars_max.is_none_or(|most| text.chars().count() <= most as usize).then_some(text)
}

/// Hexadecimal digits.
pub(crate) fn bytes(value: &Value) -> Option<Vec<u8>> {
    let text = value.as_str()?.as_bytes();
    let digit = |b: &u8| char::from(*b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let (pairs, rest) = text.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[a, b]| Some(digit(a)? << 4 | digit(b)?)).collect()).flatten()
}

/// JSON numbers are kept with this many digits for certain.
const SURE_DIGITS: usize = 15;

/// A decimal without its point. Digits behind the scale must be zeros.
pub(crate) fn decimal(value: &Value, precision: u8, scale: u8) -> Option<i128> {
    if matches!(value, Value::Bool(_)) {
        return None;
    }
    let text = text(value)?;
    let (mantissa, exponent) = match text.trim().split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok().filter(|e| e.unsigned_abs() < 1000)?),
        None => (text.trim(), 0),
    };
    let (negative, digits) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all: String = [whole, fraction].concat();
    if all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let kept = all.trim_start_matches('0').trim_end_matches('0');
    if value.is_f64() && kept.len() > SURE_DIGITS {
        return None;
    }
    if kept.is_empty() {
        return Some(0);
    }
    // Zeros at the end belong to the exponent.
    let zeros = all.len() - all.trim_end_matches('0').len();
    let shift = exponent + i32::from(scale) - i32::try_from(fraction.len()).ok()? + i32::try_from(zeros).ok()?;
    let shift = u32::try_from(shift).ok()?;
    if kept.len() + shift as usize > usize::from(precision) {
        return None;
    }
    let unscaled = kept.parse::<i128>().ok()?.checked_mul(10_i128.checked_pow(shift)?)?;
    Some(if negative { -unscaled } else { unscaled })
}

/// A value that the type has.
pub(crate) fn example(data_type: &DataType) -> &'static str {
    match data_type.root {
        TypeRoot::Boolean => "true",
        TypeRoot::Float | TypeRoot::Double => "1.5",
        TypeRoot::Decimal { scale: 0, .. } => "\"12345\"",
        TypeRoot::Decimal { .. } => "\"12.5\"",
        TypeRoot::Char(_) | TypeRoot::String => "\"text\"",
        TypeRoot::Date => "\"2025-11-30\"",
        TypeRoot::Time { precision: 0 } => "\"10:15:30\"",
        TypeRoot::Time { .. } => "\"10:15:30.2\"",
        TypeRoot::Timestamp { precision: 0 } => "\"2025-11-30 10:15:30\"",
        TypeRoot::Timestamp { .. } => "\"2025-11-30 10:15:30.2\"",
        TypeRoot::TimestampLtz { precision: 0 } => "\"2025-11-30 10:15:30Z\"",
        TypeRoot::TimestampLtz { .. } => "\"2025-11-30 10:15:30.2Z\"",
        TypeRoot::Binary(_) | TypeRoot::Bytes => "\"0aff\"",
        TypeRoot::Array(_) => "[...]",
        TypeRoot::Map(..) | TypeRoot::Row(_) => "{...}",
        _ => "42",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn decimals_are_exact() {
        for (value, precision, scale, expected) in [
            (json!("12.50"), 4, 2, Some(1250)),
            (json!(-0.1), 4, 2, Some(-10)),
            (json!(7), 4, 2, Some(700)),
            (json!("0.005"), 4, 2, None),
            (json!("100"), 4, 2, None),
            (json!("99.99"), 4, 2, Some(9999)),
            (json!("1e2"), 5, 0, Some(100)),
            (json!("1.5E-1"), 5, 2, Some(15)),
            (json!("0.000"), 1, 0, Some(0)),
            (json!("99999999999999999999999999999999999999"), 38, 0, Some(10_i128.pow(38) - 1)),
            (json!("999999999999999999999999999999999999999"), 38, 0, None),
            (json!(0.123_456_789_012_345_67), 38, 20, None),
            (json!("--1"), 4, 2, None),
            (json!(""), 4, 2, None),
            (json!("1e99999"), 4, 2, None),
            (json!(true), 4, 2, None),
        ] {
            assert_eq!(decimal(&value, precision, scale), expected, "{value}");
        }
    }

    #[test]
    fn numbers_do_not_overflow() {
        assert_eq!(whole::<i8>(&json!(127)), Some(127));
        assert_eq!(whole::<i8>(&json!(128)), None);
        assert_eq!(whole::<i64>(&json!("-9223372036854775808")), Some(i64::MIN));
        assert_eq!(whole::<i64>(&json!(1.5)), None);
        assert_eq!(whole::<i32>(&json!(true)), None);
        assert_eq!(floating32(&json!(1e300)), None);
        assert_eq!(floating(&json!("1e999")), None);
        assert_eq!(floating32(&json!("-Infinity")), Some(f32::NEG_INFINITY));
        assert!(floating(&json!("inf")).is_none() && floating(&json!("NaN")).is_some_and(f64::is_nan));
    }

    #[test]
    fn text_and_bytes() {
        assert_eq!(string(&json!("\u{e4}bc"), Some(3)), Some("\u{e4}bc"));
        assert_eq!(string(&json!("abcd"), Some(3)), None);
        assert_eq!(string(&json!(5), None), None);
        assert_eq!(bytes(&json!("0aFF")), Some(vec![10, 255]));
        assert_eq!((bytes(&json!("0")), bytes(&json!("0g")), bytes(&json!(""))), (None, None, Some(Vec::new())));
    }
}
