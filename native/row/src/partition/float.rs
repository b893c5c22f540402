//! FLOAT and DOUBLE as text, the way Java writes them with the fewest digits: `1.0`, `0.001`, `1.0E7`; here with `_` for the point.

/// From here on, and below a thousandth, an exponent is written.
const PLAIN_BELOW: f64 = 1e7;
const PLAIN_FROM: f64 = 1e-3;

pub(super) fn text32(value: f32) -> String {
    text(f64::from(value), || format!("{value:?}"), || format!("{value:e}"))
}

pub(super) fn text64(value: f64) -> String {
    text(value, || format!("{value:?}"), || format!("{value:e}"))
}

fn text(value: f64, plain: impl Fn() -> String, scientific: impl Fn() -> String) -> String {
    let size = value.abs();
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if size.is_infinite() {
        return if value > 0.0 { "Inf" } else { "-Inf" }.to_owned();
    }
    let text = if size == 0.0 || (PLAIN_FROM..PLAIN_BELOW).contains(&size) {
        plain()
    } else {
        let text = scientific();
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let point = if digits.contains('.') { "" } else { ".0" };
        format!("{digits}{point}E{exponent}")
    };
    text.replace('.', "_")
}
