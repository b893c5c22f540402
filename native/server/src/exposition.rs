//! Prometheus' text form, version 0.0.4.

use std::fmt::Write as _;

/// A text of metrics under way: families, each with its samples behind it.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    text: String,
    family: &'static str,
}

impl Exposition {
    /// Begins a family of samples; `kind` is `gauge` or `counter`.
    pub(crate) fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.family = name;
        let _ = write!(self.text, "# HELP {name} {}\n# TYPE {name} {kind}\n", escaped(help, false));
    }

    /// A sample of the family that was begun last.
    pub(crate) fn sample(&mut self, labels: &[(&str, &str)], value: u64) {
        self.text.push_str(self.family);
        for (i, (name, label)) in labels.iter().enumerate() {
            let open = if i == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{open}{name}=\"{}\"", escaped(label, true));
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{close} {value}");
    }

    /// A family of one sample.
    pub(crate) fn one(&mut self, name: &'static str, kind: &str, help: &str, value: u64) {
        self.family(name, kind, help);
        self.sample(&[], value);
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

fn escaped(text: &str, quotes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if quotes => out.push_str("\\\""),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_cannot_break_out() {
        let mut out = Exposition::default();
        out.one("a_total", "counter", "x\ny", 1);
        out.family("b", "gauge", "b");
        out.sample(&[("t", "q\"\\\n}"), ("u", "")], 2);
        let expected = "# HELP a_total x\\ny\n# TYPE a_total counter\na_total 1\n# HELP b b\n# TYPE b gauge\nb{t=\"q\\\"\\\\\\n}\",u=\"\"} 2\n";
        assert_eq!(out.finish(), expected);
    }
}
