//! One segment: a file of batches behind a header, and its index.
//!
//! The appender publishes a batch by moving `bytes` and `end`; readers look at nothing behind them and take no lock that the
//! appender holds while it writes. A closed segment opens its file and loads its index when somebody asks.

use crate::chunk::Chunk;
use crate::file_header::{self, FILE_HEADER_BYTES, SEGMENT_MAGIC};
use crate::header::verify_crc;
use crate::index::{Entry, Index};
use crate::lock::{lock, read, write};
use crate::stretch::{Stretch, Stretches};
use crate::walk::{HEADER_CHUNK_BYTES, Walk, damaged_at};
use crate::{BATCH_HEADER_BYTES, BatchHeader};
use arrow_buffer::Buffer;
use sluice_base::{Fs, FsFile, Offset, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

/// Read at least so much at once, however little was asked for.
const READ_BYTES_MIN: usize = 64 << 10;

/// Of the file that stands for a segment whose own is not in the directory: the disk then opens it from elsewhere.
pub const MOVED_EXTENSION: &str = "remote";

/// Name of a segment file.
pub(crate) fn log_path(dir: &Path, base: Offset) -> PathBuf {
    dir.join(format!("{base:020}.log"))
}

/// Name of an index file.
pub(crate) fn index_path(dir: &Path, base: Offset) -> PathBuf {
    dir.join(format!("{base:020}.index"))
}

/// Name of a file of statistics.
pub(crate) fn statistics_path(dir: &Path, base: Offset) -> PathBuf {
    dir.join(format!("{base:020}.stats"))
}

/// Writes the header that the file of a segment begins with.
///
/// # Errors
/// `Io`, `Busy` about `Disk`.
pub(crate) fn write_header(file: &dyn FsFile, base: Offset) -> Result<()> {
    file.write_at(&file_header::encode(SEGMENT_MAGIC, base, &[0; file_header::BODY_BYTES]), 0)
}

/// A batch as it is stored.
#[derive(Debug, Clone)]
pub struct StoredBatch {
    /// Its header.
    pub header: BatchHeader,
    /// All its bytes, header too. Batches of one read share memory.
    pub bytes: Buffer,
}

/// One segment.
#[derive(Debug)]
pub(crate) struct Segment {
    pub base: Offset,
    pub path: PathBuf,
    pub index_path: PathBuf,
    pub statistics_path: PathBuf,
    interval_bytes: u64,
    /// Length of the good part of the file.
    bytes: AtomicU64,
    /// Offset behind its last record.
    end: AtomicI64,
    file: Mutex<Option<Arc<dyn FsFile>>>,
    index: RwLock<Option<Index>>,
    stretches: RwLock<Option<Stretches>>,
}

impl Segment {
    /// A closed segment whose file is not open yet.
    pub(crate) fn closed(dir: &Path, base: Offset, end: Offset, bytes: u64, interval_bytes: u64) -> Self {
        Self {
            base,
            path: log_path(dir, base),
            index_path: index_path(dir, base),
            statistics_path: statistics_path(dir, base),
            interval_bytes,
            bytes: AtomicU64::new(bytes),
            end: AtomicI64::new(end),
            file: Mutex::new(None),
            index: RwLock::new(None),
            stretches: RwLock::new(None),
        }
    }

    /// Keeps what is known of an open segment.
    #[must_use]
    pub(crate) fn with_open(self, file: Option<Arc<dyn FsFile>>, index: Index, stretches: Stretches) -> Self {
        let (index, stretches) = (RwLock::new(Some(index)), RwLock::new(Some(stretches)));
        Self { file: Mutex::new(file), index, stretches, ..self }
    }

    /// Creates the file of a new segment, or makes a leftover of a failed attempt empty.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`; nothing of it counts then.
    pub(crate) fn create(
        fs: &dyn Fs,
        dir: &Path,
        base: Offset,
        interval_bytes: u64,
    ) -> Result<(Self, Arc<dyn FsFile>)> {
        let path = log_path(dir, base);
        let file = fs.open(&path)?;
        file.set_len(0)?;
        write_header(file.as_ref(), base)?;
        let segment = Self::closed(dir, base, base, FILE_HEADER_BYTES, interval_bytes);
        // Of another segment that began here once and was never durable.
        fs.remove(&segment.statistics_path)?;
        Ok((segment.with_open(Some(Arc::clone(&file)), Index::default(), Stretches::default()), file))
    }

    /// Length of the good part of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// Offset behind its last record.
    pub(crate) fn end(&self) -> Offset {
        self.end.load(Ordering::Acquire)
    }

    /// Makes a written batch visible to readers.
    pub(crate) fn publish(&self, batch: Entry, bytes: u64, end: Offset) {
        let mut index = write(&self.index);
        index.get_or_insert_default().note(batch, self.interval_bytes);
        drop(index);
        self.bytes.store(bytes, Ordering::Release);
        self.end.store(end, Ordering::Release);
    }

    /// The file, opened and its header checked when it was not open.
    ///
    /// # Errors
    /// `NotFound` when retention took it; `Corrupt`, `Unsupported`, `Io`.
    pub(crate) fn file(&self, fs: &dyn Fs) -> Result<Arc<dyn FsFile>> {
        let mut slot = lock(&self.file);
        if let Some(file) = slot.as_ref() {
            return Ok(Arc::clone(file));
        }
        let file = fs.open_read(&self.path)?;
        check_header(file.as_ref(), &self.path, self.base)?;
        *slot = Some(Arc::clone(&file));
        Ok(file)
    }

    /// Answers a question about the index, loading it (or making it again) when it is not there.
    ///
    /// # Errors
    /// As [`Segment::file`].
    pub(crate) fn ask<R>(&self, fs: &dyn Fs, question: impl FnOnce(&Index) -> R) -> Result<R> {
        if let Some(index) = read(&self.index).as_ref() {
            return Ok(question(index));
        }
        let file = self.file(fs)?;
        let mut slot = write(&self.index);
        let index = match slot.take() {
            Some(index) => index,
            None => self.load_index(fs, file.as_ref())?,
        };
        Ok(question(slot.insert(index)))
    }

    fn load_index(&self, fs: &dyn Fs, file: &dyn FsFile) -> Result<Index> {
        let mut index = Index::load(fs, &self.index_path, self.base, self.bytes())?;
        complete_index(&mut index, file, self, self.bytes())?;
        if let Some(unsaved) = index.unsaved(self.bytes()) {
            // Best effort: without the file the next opening makes the index once more.
            let written = unsaved.write(fs, &self.index_path, self.base);
            index.set_saved(written.ok().map(|()| unsaved.upto()));
        }
        Ok(index)
    }

    /// Saves the index as far as it speaks of the file below `position_limit`. The caller knows that part to be durable.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub(crate) fn save_index(&self, fs: &dyn Fs, position_limit: u64) -> Result<()> {
        let unsaved = match read(&self.index).as_ref() {
            Some(index) => index.unsaved(position_limit),
            None => None,
        };
        let Some(unsaved) = unsaved else { return Ok(()) };
        let written = unsaved.write(fs, &self.index_path, self.base);
        if let Some(index) = write(&self.index).as_mut() {
            index.set_saved(written.is_ok().then(|| unsaved.upto()));
        }
        written
    }

    /// Notes statistics of some of its rows.
    ///
    /// # Errors
    /// `Io` when those that are known already cannot be read.
    pub(crate) fn describe(&self, fs: &dyn Fs, rows: Stretch) -> Result<()> {
        self.with_stretches(fs, |stretches| stretches.note(rows))
    }

    /// Answers a question about its statistics, loading them when they are not there.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn ask_statistics<R>(&self, fs: &dyn Fs, question: impl FnOnce(&Stretches) -> R) -> Result<R> {
        if let Some(stretches) = read(&self.stretches).as_ref() {
            return Ok(question(stretches));
        }
        self.with_stretches(fs, |stretches| question(stretches))
    }

    fn with_stretches<R>(&self, fs: &dyn Fs, work: impl FnOnce(&mut Stretches) -> R) -> Result<R> {
        let mut slot = write(&self.stretches);
        let stretches = match slot.take() {
            Some(stretches) => stretches,
            // Only a segment before the recovery point is not loaded: all of its file is believed.
            None => Stretches::load(fs, &self.statistics_path, self.base, self.end())?,
        };
        Ok(work(slot.insert(stretches)))
    }

    /// Saves statistics as far as they speak of rows below `limit`. The caller knows those to be durable.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub(crate) fn save_statistics(&self, fs: &dyn Fs, limit: Offset) -> Result<()> {
        match write(&self.stretches).as_mut() {
            Some(stretches) => stretches.save(fs, &self.statistics_path, self.base, limit),
            None => Ok(()),
        }
    }

    /// Closes the file and drops index and statistics, unless those have not been saved. For closed segments only.
    pub(crate) fn forget(&self) {
        let mut stretches = write(&self.stretches);
        if stretches.as_ref().is_none_or(Stretches::is_saved) {
            *stretches = None;
        }
        drop(stretches);
        let mut index = write(&self.index);
        if index.as_ref().is_none_or(Index::is_saved) {
            *index = None;
            *lock(&self.file) = None;
        }
    }

    /// Whether the file is open or the index loaded.
    #[cfg(test)]
    pub(crate) fn is_at_hand(&self) -> bool {
        lock(&self.file).is_some() || read(&self.index).is_some()
    }

    /// Base offset of the first batch with a timestamp of at least `timestamp_ms`.
    ///
    /// # Errors
    /// `Corrupt` naming file and position; `Io`.
    pub(crate) fn find_time(&self, fs: &dyn Fs, timestamp_ms: i64) -> Result<Option<Offset>> {
        let bytes = self.bytes();
        let start = self.ask(fs, |index| index.floor_by_time(timestamp_ms))?;
        let (position, offset) = start.map_or((FILE_HEADER_BYTES, self.base), |e| (e.position, e.offset));
        let file = self.file(fs)?;
        let mut walk = Walk::new(file.as_ref(), &self.path, bytes, HEADER_CHUNK_BYTES).starting(position, offset);
        while let Some(header) = walk.peek()? {
            if header.timestamp_ms >= timestamp_ms {
                return Ok(Some(header.base_offset));
            }
            walk.advance(&header);
        }
        Ok(None)
    }

    /// Whole batches from the one that holds `from` on; see [`crate::Log::read`].
    ///
    /// # Errors
    /// `Corrupt` naming file and position; `Io`; `NotFound` when retention took the file.
    pub(crate) fn read(&self, fs: &dyn Fs, request: Request) -> Result<Vec<StoredBatch>> {
        let file = self.file(fs)?;
        let end = self.bytes();
        let start = self.ask(fs, |index| index.floor(request.from))?;
        let mut reading = Reading {
            segment: self,
            file: file.as_ref(),
            request,
            end,
            position: start.map_or(FILE_HEADER_BYTES, |e| e.position),
            offset: start.map_or(self.base, |e| e.offset),
            entries: Vec::new(),
            batches: Vec::new(),
            bytes: 0,
        };
        let mut least = READ_BYTES_MIN;
        loop {
            let chunk = reading.load(fs, least)?;
            match reading.take(&chunk) {
                Ok(Step::Done) => return Ok(reading.batches),
                Ok(Step::More(bytes)) => least = bytes,
                // What is good comes first; a read from the damaged place tells of it.
                Err(_) if !reading.batches.is_empty() => return Ok(reading.batches),
                Err(e) => return Err(e),
            }
        }
    }
}

/// What a reader wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub from: Offset,
    pub limit: Offset,
    pub bytes_max: usize,
    pub verify: bool,
}

enum Step {
    Done,
    /// Go on at the cursor with at least so many bytes.
    More(usize),
}

struct Reading<'a> {
    segment: &'a Segment,
    file: &'a dyn FsFile,
    request: Request,
    end: u64,
    position: u64,
    offset: Offset,
    entries: Vec<Entry>,
    batches: Vec<StoredBatch>,
    bytes: usize,
}

impl Reading<'_> {
    /// One read at the cursor.
    fn load(&mut self, fs: &dyn Fs, least: usize) -> Result<Buffer> {
        let left = usize::try_from(self.end.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let mut wanted = self.request.bytes_max.max(least).min(left);
        let until = self.position.saturating_add(wanted as u64);
        self.entries = self.segment.ask(fs, |index| index.between(self.position, until.saturating_add(1)))?;
        if wanted < left {
            // The batch that the read would end in cannot be given whole: leave it out.
            let whole = self.entries.last().and_then(|e| usize::try_from(e.position - self.position).ok());
            wanted = whole.filter(|w| *w >= least).unwrap_or(wanted);
        }
        let mut chunk = Chunk::take(wanted);
        let read = self.file.read_at(chunk.as_mut().get_mut(..wanted).unwrap_or_default(), self.position)?;
        if read < wanted {
            let at = self.position + read as u64;
            return Err(damaged_at(&self.segment.path, at, format!("the file ends here, not at {}", self.end)));
        }
        Ok(chunk.share(wanted))
    }

    /// Takes the batches that lie whole in `chunk`.
    fn take(&mut self, chunk: &Buffer) -> Result<Step> {
        let mut at = 0;
        let mut entries = std::mem::take(&mut self.entries).into_iter().peekable();
        loop {
            if self.position >= self.end {
                return self.at_end();
            }
            let rest = chunk.get(at..).unwrap_or_default();
            if rest.len() < BATCH_HEADER_BYTES && (rest.len() as u64) < self.end - self.position {
                return Ok(self.more(READ_BYTES_MIN));
            }
            let header = self.header(rest)?;
            let entry = entries.next_if(|e| e.position == self.position);
            if let Some(e) = entry
                && (e.offset, e.timestamp_ms) != (header.base_offset, header.timestamp_ms)
            {
                let what = format!("timestamp {}, but the index says {}", header.timestamp_ms, e.timestamp_ms);
                return Err(damaged_at(&self.segment.path, self.position, what));
            }
            let total = header.total_bytes();
            if header.next_offset() > self.request.from {
                let full = self.bytes.saturating_add(total) > self.request.bytes_max;
                if header.base_offset >= self.request.limit || (full && !self.batches.is_empty()) {
                    return Ok(Step::Done);
                }
                if total > rest.len() {
                    return Ok(self.more(total));
                }
                self.keep(header, chunk.slice_with_length(at, total))?;
            }
            (self.position, self.offset) = (self.position + total as u64, header.next_offset());
            at = at.saturating_add(total);
        }
    }

    fn header(&self, rest: &[u8]) -> Result<BatchHeader> {
        let damaged = |what: &str| damaged_at(&self.segment.path, self.position, what);
        let header = BatchHeader::parse(rest).map_err(|e| damaged(e.message()))?;
        if header.base_offset != self.offset {
            return Err(damaged(&format!("offset {}, not {}", header.base_offset, self.offset)));
        }
        if header.total_bytes() as u64 > self.end - self.position {
            return Err(damaged(&format!("a batch of {} bytes reaches over the end", header.total_bytes())));
        }
        Ok(header)
    }

    fn keep(&mut self, header: BatchHeader, bytes: Buffer) -> Result<()> {
        if self.request.verify && !verify_crc(&bytes) {
            let what = format!("the checksum of the batch at offset {} is wrong", header.base_offset);
            return Err(damaged_at(&self.segment.path, self.position, what));
        }
        self.bytes += bytes.len();
        self.batches.push(StoredBatch { header, bytes });
        Ok(())
    }

    /// The next batch is not whole in the chunk: that ends a read that has found something.
    fn more(&self, bytes: usize) -> Step {
        if self.batches.is_empty() { Step::More(bytes) } else { Step::Done }
    }

    fn at_end(&self) -> Result<Step> {
        let reached = self.offset.max(self.segment.base);
        if self.batches.is_empty() && self.request.from < self.request.limit && reached <= self.request.from {
            let what = format!("the segment ends before offset {}; that part of it was lost", self.request.from);
            return Err(damaged_at(&self.segment.path, self.end, what));
        }
        Ok(Step::Done)
    }
}

/// Checks a segment file's header against its name.
///
/// # Errors
/// `Corrupt`, `Unsupported` naming the file; `Io`.
pub(crate) fn check_header(file: &dyn FsFile, path: &Path, base: Offset) -> Result<()> {
    let mut head = [0; FILE_HEADER_BYTES as usize];
    let read = file.read_at(&mut head, 0)?;
    let (offset, _) = file_header::decode(SEGMENT_MAGIC, head.get(..read).unwrap_or_default(), path)?;
    if offset != base {
        return Err(damaged_at(path, 0, format!("the file header says base offset {offset}; was it renamed?")));
    }
    Ok(())
}

/// Adds what is missing behind the last entry, by stepping over headers up to `end`. Stops at damage: what reads there says so.
///
/// # Errors
/// `Io`.
pub(crate) fn complete_index(index: &mut Index, file: &dyn FsFile, segment: &Segment, end: u64) -> Result<()> {
    let start = index.last().map_or((FILE_HEADER_BYTES, segment.base), |e| (e.position, e.offset));
    let mut walk = Walk::new(file, &segment.path, end, HEADER_CHUNK_BYTES).starting(start.0, start.1);
    loop {
        match walk.peek() {
            Ok(None) => return Ok(()),
            Ok(Some(header)) => {
                let batch =
                    Entry { offset: header.base_offset, position: walk.position, timestamp_ms: header.timestamp_ms };
                index.note(batch, segment.interval_bytes);
                walk.advance(&header);
            }
            Err(e) if e.kind() == sluice_base::ErrorKind::Corrupt => return Ok(()),
            Err(e) => return Err(e),
        }
    }
}
