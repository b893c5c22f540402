//! Standard input: rows a line at a time, and whether more are there already.

use crate::columns::of_text;
use crate::csv::Record;
use crate::place::no_column;
use crate::words::usage;
use serde_json::Value;
use sluice_api::TableInfo;
use sluice_base::{Error, Result, Subject};
use std::io::{BufRead, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// A line beyond this is refused.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// So many lines are read ahead.
const AHEAD: usize = 4096;

/// A row as it came, one value for each of the table's columns.
pub(crate) struct Row {
    pub(crate) line: u64,
    pub(crate) values: Vec<Value>,
}

/// What comes next.
pub(crate) enum Next {
    Row(Row),
    /// Nothing yet.
    Idle,
    End,
}

enum Form {
    Json,
    /// The columns that the fields are for, once the first line came.
    Csv {
        columns: Option<Vec<usize>>,
        record: Record,
    },
}

/// Rows from standard input.
pub(crate) struct Input {
    lines: Receiver<Result<Vec<u8>>>,
    form: Form,
    line: u64,
    info: TableInfo,
}

/// Reads lines until there are no more, or nobody wants them.
fn read_lines(lines: &SyncSender<Result<Vec<u8>>>) {
    let mut stdin = std::io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let read = stdin.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        let told = match read {
            Ok(0) => return,
            Ok(_) if line.len() as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") => {
                Err(Error::invalid(Subject::Row, format!("a line is longer than {} MiB", LINE_BYTES_MAX >> 20)))
            }
            Ok(_) => Ok(line),
            Err(e) => Err(Error::io("read standard input", e)),
        };
        let failed = told.is_err();
        if lines.send(told).is_err() || failed {
            return;
        }
    }
}

impl Input {
    /// # Errors
    /// `Invalid` for a form that is not known.
    pub(crate) fn open(format: Option<&str>, info: &TableInfo) -> Result<Self> {
        let form = match format {
            None | Some("json") => Form::Json,
            Some("csv") => Form::Csv { columns: None, record: Record::default() },
            Some(other) => return Err(usage(format_args!("--format is '{other}', not json or csv"))),
        };
        let (sender, lines) = sync_channel(AHEAD);
        let started = std::thread::Builder::new().name("input".to_owned()).spawn(move || read_lines(&sender));
        started.map_err(|e| Error::io("start a thread", e))?;
        Ok(Self { lines, form, line: 0, info: info.clone() })
    }

    /// The next row, waited for so long.
    ///
    /// # Errors
    /// `Invalid` naming the line; `Io`.
    pub(crate) fn next(&mut self, patience: Duration) -> Result<Next> {
        loop {
            let bytes = match self.lines.recv_timeout(patience) {
                Ok(read) => read.map_err(|e| self.here(&e.to_string()))?,
                Err(RecvTimeoutError::Timeout) => return Ok(Next::Idle),
                Err(RecvTimeoutError::Disconnected) => return self.end(),
            };
            self.line += 1;
            let text = String::from_utf8(bytes).map_err(|_| self.here("it is not UTF-8"))?;
            let text = text.strip_suffix('\n').unwrap_or(&text);
            let text = text.strip_suffix('\r').unwrap_or(text);
            let text = if self.line == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
            if let Some(values) = self.row(text)? {
                return Ok(Next::Row(Row { line: self.line, values }));
            }
        }
    }

    fn end(&self) -> Result<Next> {
        match &self.form {
            Form::Csv { record, .. } if !record.is_empty() => {
                Err(self.here("a quote that opens a field is never closed"))
            }
            Form::Csv { columns: None, .. } => {
                Err(Error::invalid(Subject::Row, "CSV begins with a line of column names; nothing came"))
            }
            _ => Ok(Next::End),
        }
    }

    fn here(&self, why: &str) -> Error {
        Error::invalid(Subject::Row, format!("line {}: {why}", self.line))
    }

    fn row(&mut self, text: &str) -> Result<Option<Vec<Value>>> {
        match &mut self.form {
            Form::Json => self.json(text),
            Form::Csv { columns, record } => {
                if record.is_empty() && text.trim().is_empty() {
                    return Ok(None);
                }
                let taken = record.line(text);
                let columns = columns.clone();
                let Some(fields) = taken.map_err(|why| self.here(&why))? else { return Ok(None) };
                match columns {
                    Some(columns) => self.fields(&columns, fields).map(Some),
                    None => self.head(fields).map(|()| None),
                }
            }
        }
    }

    fn json(&self, text: &str) -> Result<Option<Vec<Value>>> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let given = serde_json::from_str::<Value>(text).map_err(|e| {
            let why = e.to_string();
            let why = why.rsplit_once(" at line").map_or(why.as_str(), |(why, _)| why);
            self.here(&format!("this is no JSON: {why} at byte {}", e.column()))
        })?;
        let Value::Object(mut given) = given else {
            return Err(self.here("a row is a JSON object, {\"column\": value, ...}"));
        };
        let columns = &self.info.descriptor.schema.columns;
        let values = columns.iter().map(|c| given.remove(&c.name).unwrap_or(Value::Null)).collect();
        match given.keys().next() {
            Some(name) => Err(self.here(no_column(&self.info, name).message())),
            None => Ok(Some(values)),
        }
    }

    /// The line of column names.
    fn head(&mut self, names: Vec<Option<String>>) -> Result<()> {
        let mut positions = Vec::with_capacity(names.len());
        for name in names {
            let name = name.as_deref().unwrap_or("").trim();
            let found = self.info.descriptor.schema.index_of(name);
            let position = found.ok_or_else(|| self.here(no_column(&self.info, name).message()))?;
            if positions.contains(&position) {
                return Err(self.here(&format!("column '{name}' is named twice")));
            }
            positions.push(position);
        }
        if let Form::Csv { columns, .. } = &mut self.form {
            *columns = Some(positions);
        }
        Ok(())
    }

    fn fields(&self, positions: &[usize], fields: Vec<Option<String>>) -> Result<Vec<Value>> {
        if fields.len() != positions.len() {
            return Err(self.here(&format!(
                "{} fields, but the first line names {} columns",
                fields.len(),
                positions.len()
            )));
        }
        let columns = &self.info.descriptor.schema.columns;
        let mut values = vec![Value::Null; columns.len()];
        for (position, field) in positions.iter().zip(fields) {
            let (Some(c), Some(value), Some(text)) = (columns.get(*position), values.get_mut(*position), field) else {
                continue;
            };
            *value = of_text(&c.data_type, text).map_err(|why| self.here(&format!("column '{}': {why}", c.name)))?;
        }
        Ok(values)
    }
}
