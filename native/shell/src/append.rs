//! `sluice append`.

use crate::columns::column;
use crate::input::{Input, Next, Row};
use crate::output::Output;
use crate::place::{self, within};
use crate::words::Words;
use arrow_array::RecordBatch;
use serde_json::json;
use sluice_api::{TableInfo, WriteOptions, Writer};
use sluice_base::{Error, ErrorKind, Result, Subject};
use sluice_row::arrow_schema;
use std::time::{Duration, Instant};

/// Rows are written in groups of so many.
const GROUP_ROWS: usize = 4096;
/// When nothing comes for so long, what is there is written.
const IDLE: Duration = Duration::from_millis(100);
/// How long a disk that is full or slow is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn append(words: &Words, out: &mut Output) -> Result<()> {
    within(words, |store| {
        let info = place::table(store, words)?;
        let mut input = Input::open(words.value("--format"), &info)?;
        let mut groups = Groups {
            writer: store.writer(&info.path, &WriteOptions::default())?,
            info,
            open: Vec::new(),
            written: 0,
            line: 0,
        };
        let came = groups.take(&mut input);
        let flushed = groups.writer.flush(PATIENCE).map_err(|e| e.context("the last rows may not be written"));
        match came.and(flushed) {
            Ok(()) if words.has("--json") => out.line(&json!({"written": groups.written}).to_string()),
            Ok(()) => {
                out.line(&format!("{} {} written", groups.written, if groups.written == 1 { "row" } else { "rows" }))
            }
            Err(e) if groups.written == 0 => Err(Error::new(e.kind(), e.subject(), format!("{e}; nothing is written"))),
            Err(e) => {
                let message = format!(
                    "{e}; the {} rows up to line {} are written, nothing after them",
                    groups.written, groups.line
                );
                Err(Error::new(e.kind(), e.subject(), message))
            }
        }
    })
}

/// Rows on their way to a table.
struct Groups {
    writer: Box<dyn Writer>,
    info: TableInfo,
    open: Vec<Row>,
    written: u64,
    /// The last line that was written.
    line: u64,
}

impl Groups {
    fn take(&mut self, input: &mut Input) -> Result<()> {
        loop {
            match input.next(IDLE)? {
                Next::Row(row) => {
                    self.open.push(row);
                    if self.open.len() == GROUP_ROWS {
                        self.write()?;
                    }
                }
                Next::Idle if self.open.is_empty() => {}
                Next::Idle => self.write()?,
                Next::End => return self.write(),
            }
        }
    }

    fn write(&mut self) -> Result<()> {
        let Some(last) = self.open.last().map(|row| row.line) else { return Ok(()) };
        let batch = self.batch()?;
        let begun = Instant::now();
        loop {
            match self.writer.write(&batch, &[]) {
                // The same batch may be written again then.
                Err(e) if e.kind() == ErrorKind::Busy && e.subject() == Subject::Disk && begun.elapsed() < PATIENCE => {
                }
                done => {
                    let first = self.open.first().map_or(last, |row| row.line);
                    done.map_err(|e| e.context(format_args!("lines {first} to {last}")))?;
                    break;
                }
            }
        }
        self.written += self.open.len() as u64;
        self.line = last;
        self.open.clear();
        Ok(())
    }

    /// The open rows as columns.
    fn batch(&self) -> Result<RecordBatch> {
        let schema = &self.info.descriptor.schema;
        let mut arrays = Vec::with_capacity(schema.columns.len());
        // The first line that is wrong is named, whichever of its columns it is.
        let mut wrong: Option<(u64, &str, String)> = None;
        for (i, c) in schema.columns.iter().enumerate() {
            let cells: Vec<_> =
                self.open.iter().enumerate().filter_map(|(row, r)| Some((row, r.values.get(i)?))).collect();
            match column(&c.data_type, &cells) {
                Ok(array) => arrays.push(array),
                Err(w) => {
                    let line = self.open.get(w.row).map_or(0, |r| r.line);
                    if wrong.as_ref().is_none_or(|(first, ..)| line < *first) {
                        wrong = Some((line, &c.name, w.why));
                    }
                }
            }
        }
        if let Some((line, name, why)) = wrong {
            return Err(Error::invalid(Subject::Row, format!("line {line}, column '{name}': {why}")));
        }
        RecordBatch::try_new(arrow_schema(schema), arrays)
            .map_err(|e| Error::internal(format!("rows are no batch: {e}")))
    }
}
