//! CSV, a line at a time: fields with commas between, quotes around those that need them (a quote inside is doubled), lines inside quotes too.

/// A field; `None` when it was empty without quotes.
pub(crate) type Fields = Vec<Option<String>>;

/// A record of which more lines may come.
#[derive(Debug, Default)]
pub(crate) struct Record {
    fields: Fields,
    field: String,
    quoted: bool,
    inside: bool,
}

impl Record {
    /// Whether nothing of a record came yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.field.is_empty() && !self.quoted
    }

    /// Takes a line without its end; the fields once the record is whole.
    ///
    /// # Errors
    /// What is wrong about a quote.
    pub(crate) fn line(&mut self, line: &str) -> Result<Option<Fields>, String> {
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' if self.inside && chars.peek() == Some(&'"') => {
                    chars.next();
                    self.field.push('"');
                }
                '"' if self.inside => self.inside = false,
                _ if self.inside => self.field.push(c),
                '"' if self.field.is_empty() && !self.quoted => (self.inside, self.quoted) = (true, true),
                ',' => self.end_field(),
                _ if self.quoted => {
                    return Err(format!("field {}: '{c}' follows the closing quote", self.fields.len() + 1));
                }
                '"' => {
                    return Err(format!(
                        "field {}: a quote inside a field without quotes; put quotes around it and double this one",
                        self.fields.len() + 1
                    ));
                }
                _ => self.field.push(c),
            }
        }
        if self.inside {
            self.field.push('\n');
            return Ok(None);
        }
        self.end_field();
        Ok(Some(std::mem::take(&mut self.fields)))
    }

    fn end_field(&mut self) {
        let field = std::mem::take(&mut self.field);
        let given = std::mem::take(&mut self.quoted) || !field.is_empty();
        self.fields.push(given.then_some(field));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(lines: &[&str]) -> Vec<Option<&'static str>> {
        let mut record = Record::default();
        let (last, before) = lines.split_last().unwrap();
        for line in before {
            assert_eq!(record.line(line).unwrap(), None);
        }
        let fields = record.line(last).unwrap().unwrap();
        assert!(record.is_empty());
        fields.into_iter().map(|f| f.map(|f| &*f.leak())).collect()
    }

    #[test]
    fn records_are_read() {
        assert_eq!(record(&["a,b"]), [Some("a"), Some("b")]);
        assert_eq!(record(&[",\"\",x,"]), [None, Some(""), Some("x"), None]);
        assert_eq!(record(&["\"a,\"\"b\"\"\", c "]), [Some("a,\"b\""), Some(" c ")]);
        assert_eq!(record(&["1,\"two", "", "lines\",3"]), [Some("1"), Some("two\n\nlines"), Some("3")]);
        assert_eq!(record(&[""]), [None]);
    }

    #[test]
    fn bad_quotes_are_named() {
        for (line, part) in [("a,b\"c", "field 2: a quote inside"), ("\"a\"b", "field 1: 'b' follows")] {
            let why = Record::default().line(line).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }
}
