//! `sluice scan`.

use crate::calendar::timestamp_text;
use crate::cell::{Rows, is_number};
use crate::grid::Grid;
use crate::output::Output;
use crate::place::{self, Bucket, within};
use crate::words::{Words, usage};
use serde_json::json;
use sluice_api::{Connection, OffsetSpec, ScanBatch, ScanOptions, ScanSplit, ScanStart, TableInfo};
use sluice_base::{Error, Offset, Result, Subject};
use sluice_row::{ChangeKind, Column};
use std::time::Duration;

/// How long one wait for rows takes.
const PATIENCE: Duration = Duration::from_millis(500);
const BATCH_ROWS: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Earliest,
    Latest,
    Offset(Offset),
}

/// What is printed of each row.
struct Shape {
    columns: Vec<Column>,
    json: bool,
    /// Whether rows are changes.
    kinds: bool,
    offsets: bool,
}

/// How far reading goes.
struct Reach {
    limit: u64,
    from: Option<From>,
    follow: bool,
}

impl Reach {
    fn new(words: &Words, info: &TableInfo) -> Result<Self> {
        let from = match words.value("--from") {
            None => None,
            Some("earliest") => Some(From::Earliest),
            Some("latest") => Some(From::Latest),
            Some(text) => {
                let offset = text.parse().ok().filter(|offset| *offset >= 0);
                let wrong = || usage(format_args!("--from is '{text}', not earliest, latest or an offset from 0 on"));
                Some(From::Offset(offset.ok_or_else(wrong)?))
            }
        };
        let follow = words.has("--follow");
        if from == Some(From::Latest) && !follow {
            return Err(usage("--from latest alone shows nothing: what is there is before it; add --follow"));
        }
        // The rows of a table with a primary key as they are now, unless somebody wants its log.
        let log = follow || !info.has_primary_key();
        let from = from.or_else(|| log.then_some(From::Earliest));
        if from.is_none() && words.has("--offsets") {
            return Err(usage("--offsets goes with --from or --follow: rows as they are now have no offsets"));
        }
        Ok(Self { limit: words.number("--limit")?.unwrap_or(u64::MAX), from, follow })
    }

    /// The parts to read, one a bucket.
    fn splits(&self, store: &dyn Connection, buckets: &[Bucket]) -> Result<Vec<ScanSplit>> {
        let ids: Vec<_> = buckets.iter().map(|b| b.id).collect();
        let split = |(i, start, stop): (usize, ScanStart, Option<Offset>)| ScanSplit {
            id: u32::try_from(i).unwrap_or(u32::MAX),
            bucket: ids[i],
            start,
            stop,
        };
        let Some(from) = self.from else {
            let start =
                || if self.limit == u64::MAX { ScanStart::Current } else { ScanStart::Limit { rows: self.limit } };
            return Ok((0..ids.len()).map(|i| split((i, start(), None))).collect());
        };
        let earliest = store.list_offsets(&ids, OffsetSpec::Earliest)?;
        let latest = store.list_offsets(&ids, OffsetSpec::Latest)?;
        let begin = |(earliest, latest): (Offset, Offset)| match from {
            From::Earliest => earliest,
            From::Latest => latest,
            From::Offset(offset) => offset.max(earliest),
        };
        let ranges = earliest.into_iter().zip(latest.iter().copied()).map(begin).zip(latest.iter().copied());
        let part = |(i, (offset, end)): (usize, (Offset, Offset))| {
            split((i, ScanStart::Log { offset }, (!self.follow).then_some(end)))
        };
        Ok(ranges.enumerate().map(part).collect())
    }
}

pub(crate) fn scan(words: &Words, out: &mut Output) -> Result<()> {
    within(words, |store| {
        let info = place::table(store, words)?;
        let projection = place::projection(words, &info)?;
        let reach = Reach::new(words, &info)?;
        let buckets = wanted(words, place::buckets(store, &info)?)?;
        let shape = Shape {
            columns: place::chosen(&info.descriptor.schema, projection.as_deref()),
            json: words.has("--json"),
            kinds: info.has_primary_key() && reach.from.is_some(),
            offsets: words.has("--offsets"),
        };
        let scanner =
            store.scanner(&info.path, &ScanOptions { projection, batch_rows_max: BATCH_ROWS, filter: None })?;
        let mut open = 0_usize;
        for split in reach.splits(store, &buckets)? {
            scanner.subscribe(split)?;
            open += 1;
        }
        let mut printer = Printer::new(shape);
        let mut left = reach.limit;
        while open > 0 && left > 0 {
            let Some(batch) = scanner.poll(PATIENCE)? else {
                printer.flush(out)?;
                continue;
            };
            open -= usize::from(batch.finished);
            let bucket = buckets.get(batch.split as usize);
            left -= printer.batch(&batch, bucket, left, out)?;
            if reach.follow {
                printer.flush(out)?;
            }
        }
        printer.end(out)
    })
}

/// The buckets that `--partition` and `--bucket` leave.
fn wanted(words: &Words, mut buckets: Vec<Bucket>) -> Result<Vec<Bucket>> {
    if let Some(partition) = words.value("--partition") {
        buckets.retain(|b| b.partition.as_deref() == Some(partition));
        if buckets.is_empty() {
            let message = format!("the table has no partition '{partition}'; sluice describe shows those that it has");
            return Err(Error::not_found(Subject::Partition, message));
        }
    }
    if let Some(number) = words.number("--bucket")? {
        let most = buckets.iter().map(|b| b.id.bucket).max().unwrap_or(-1);
        buckets.retain(|b| u64::try_from(b.id.bucket) == Ok(number));
        if buckets.is_empty() {
            return Err(Error::not_found(
                Subject::Bucket,
                format!("there is no bucket {number}; the last one is {most}"),
            ));
        }
    }
    Ok(buckets)
}

const fn sign(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Append | ChangeKind::Insert => "+I",
        ChangeKind::UpdateBefore => "-U",
        ChangeKind::UpdateAfter => "+U",
        ChangeKind::Delete => "-D",
    }
}

/// Prints rows; text a page at a time, so that columns stand below each other.
struct Printer {
    shape: Shape,
    grid: Grid,
    page: Vec<Vec<String>>,
    rows: u64,
}

impl Printer {
    fn new(shape: Shape) -> Self {
        let mut titles: Vec<(String, bool)> = Vec::new();
        if shape.offsets {
            let own = [("partition", false), ("bucket", true), ("offset", true), ("written", false)];
            titles.extend(own.map(|(title, number)| (title.to_owned(), number)));
        }
        if shape.kinds {
            titles.push(("change".to_owned(), false));
        }
        titles.extend(shape.columns.iter().map(|c| (c.name.clone(), is_number(&c.data_type))));
        Self { shape, grid: Grid::new(titles), page: Vec::new(), rows: 0 }
    }

    /// Takes at most `most` rows of a batch; how many those were.
    fn batch(&mut self, batch: &ScanBatch, bucket: Option<&Bucket>, most: u64, out: &mut Output) -> Result<u64> {
        let count = batch.rows.num_rows().min(usize::try_from(most).unwrap_or(usize::MAX));
        let rows = Rows { columns: &self.shape.columns, arrays: batch.rows.columns() };
        let partition = bucket.and_then(|b| b.partition.clone());
        let number = bucket.map_or(0, |b| b.id.bucket);
        let written = timestamp_text(i128::from(batch.timestamp_ms) * 1_000_000) + "Z";
        for row in 0..count {
            let kind = batch.kinds.as_ref().and_then(|kinds| kinds.get(row)).copied().unwrap_or(ChangeKind::Insert);
            let offset = batch.base_offset + i64::try_from(row).unwrap_or(0);
            if self.shape.json {
                let mut text = String::from("{");
                if self.shape.offsets {
                    text += &format!(
                        "\"$partition\":{},\"$bucket\":{number},\"$offset\":{offset},\"$written\":\"{written}\",",
                        json!(partition)
                    );
                }
                if self.shape.kinds {
                    text += &format!("\"$change\":\"{}\",", sign(kind));
                }
                text += &rows.json(row);
                out.line(&format!("{}}}", text.trim_end_matches(',')))?;
                continue;
            }
            let mut cells = Vec::new();
            if self.shape.offsets {
                cells.extend([
                    partition.clone().unwrap_or_default(),
                    number.to_string(),
                    offset.to_string(),
                    written.clone(),
                ]);
            }
            if self.shape.kinds {
                cells.push(sign(kind).to_owned());
            }
            cells.extend(rows.texts(row));
            self.page.push(cells);
        }
        if self.page.len() >= BATCH_ROWS {
            self.grid.print(out, &std::mem::take(&mut self.page))?;
        }
        self.rows += count as u64;
        Ok(count as u64)
    }

    /// Lets people see what came so far.
    fn flush(&mut self, out: &mut Output) -> Result<()> {
        if !self.page.is_empty() {
            self.grid.print(out, &std::mem::take(&mut self.page))?;
        }
        out.flush()
    }

    fn end(&mut self, out: &mut Output) -> Result<()> {
        if self.shape.json {
            return Ok(());
        }
        if !self.page.is_empty() || self.rows == 0 {
            self.grid.print(out, &std::mem::take(&mut self.page))?;
        }
        out.line(&format!("{} {}", self.rows, if self.rows == 1 { "row" } else { "rows" }))
    }
}
