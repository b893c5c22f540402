//! One bucket's log: append, sync, read, find by time, expire.
//!
//! Locks, in this order: `syncing` (one sync at a time; those who wait for it find their batches already synced), `appender`
//! (one append at a time, never held while the disk syncs), `writers`, `segments` (the list, held for moments). Readers take only the last.

mod closed;
mod durability;
mod idempotence;

pub use self::closed::ClosedSegment;

use self::durability::Syncing;
use crate::header::stamp;
use crate::index::Entry;
use crate::lock::{lock, read, write};
use crate::recover::{Mode, Opened, Recovery, recover};
use crate::retention::{Age, may_go};
use crate::segment::{Request, Segment, StoredBatch};
use crate::stretch::{Ahead, Keep, Stretch};
use crate::writers::Writers;
use crate::{BatchHeader, LogSettings};
use sluice_base::{Clock, Error, ErrorKind, Fs, FsFile, Offset, Result, Subject};
use sluice_row::Statistics;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

/// So many closed segments keep their file open and their index in memory, the last used ones.
const CLOSED_SEGMENTS_OPEN_MAX: usize = 4;

/// What became of an appended batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Offset of its first record.
    pub base_offset: Offset,
    /// Offset behind its last record.
    pub next_offset: Offset,
    /// Its commit time.
    pub timestamp_ms: i64,
}

/// One bucket's log. `Send` and `Sync`. One appender at a time, by a lock; neither readers nor `sync` hold it up.
#[derive(Debug)]
pub struct Log {
    fs: Arc<dyn Fs>,
    clock: Arc<dyn Clock>,
    dir: PathBuf,
    settings: LogSettings,
    segments: RwLock<Vec<Arc<Segment>>>,
    appender: Mutex<Appender>,
    syncing: Mutex<Syncing>,
    end: AtomicI64,
    durable: AtomicI64,
    size_bytes: AtomicU64,
    /// Why no more may be written, once a sync has failed.
    poison: OnceLock<String>,
    /// Closed segments that keep file and index at hand.
    at_hand: Mutex<VecDeque<Arc<Segment>>>,
    /// Read when the first idempotent writer comes.
    writers: Mutex<Option<Writers>>,
}

/// The segment that takes appends.
#[derive(Debug, Clone)]
struct Active {
    segment: Arc<Segment>,
    file: Arc<dyn FsFile>,
}

#[derive(Debug)]
struct Appender {
    active: Option<Active>,
    last_timestamp_ms: i64,
    /// Bytes of a failed write may stand behind the good end.
    torn: bool,
    /// Files of segments that were closed since the last sync.
    unsynced: Vec<Arc<dyn FsFile>>,
    /// Whether a segment was created since the last sync.
    created: bool,
    /// Bytes appended since the log was opened.
    appended_bytes: u64,
}

impl Log {
    /// Opens the log in `dir`, creating the directory when missing. Only what was written after the last recovery point is
    /// checked, so this takes time by what a crash left unsaved, not by the log's size. All that is there afterwards is durable.
    ///
    /// # Errors
    /// `Invalid` for settings that cannot work; `Corrupt` when a segment is missing; `Unsupported` naming a file of a newer
    /// version; `Io`; `Busy` about `Disk`.
    pub fn open(fs: Arc<dyn Fs>, clock: Arc<dyn Clock>, dir: &Path, settings: LogSettings) -> Result<(Self, Recovery)> {
        settings.validate()?;
        fs.create_dir_all(dir)?;
        Self::open_in(fs, clock, dir, settings, Mode { keep: Offset::MAX, repair: true })
    }

    /// Opens the log in `dir` for reading, on a disk that cannot be written: what [`Log::open`] would repair is passed over.
    ///
    /// # Errors
    /// Those of [`Log::open`].
    pub fn open_read_only(
        fs: Arc<dyn Fs>,
        clock: Arc<dyn Clock>,
        dir: &Path,
        settings: LogSettings,
    ) -> Result<(Self, Recovery)> {
        settings.validate()?;
        Self::open_in(fs, clock, dir, settings, Mode { keep: Offset::MAX, repair: false })
    }

    /// Opens the log anew after a failed sync, without the batches at `keep` and behind. Nobody can tell which bytes of a failed sync are
    /// on the disk: reading them gives what memory has, and the next sync takes them for written.
    ///
    /// # Errors
    /// Those of [`Log::open`]; the log can then be opened so again.
    pub fn reopen(&self, keep: Offset) -> Result<(Self, Recovery)> {
        // What lies before the recovery point was synced and is not looked at.
        let keep = keep.max(lock(&self.syncing).saved.map_or(keep, |point| point.offset));
        let mode = Mode { keep, repair: true };
        Self::open_in(Arc::clone(&self.fs), Arc::clone(&self.clock), &self.dir, self.settings.clone(), mode)
    }

    fn open_in(
        fs: Arc<dyn Fs>,
        clock: Arc<dyn Clock>,
        dir: &Path,
        settings: LogSettings,
        mode: Mode,
    ) -> Result<(Self, Recovery)> {
        let opened = recover(fs.as_ref(), dir, &settings, mode)
            .map_err(|e| e.context(format_args!("while opening the log {}", dir.display())))?;
        let report = opened.report.clone();
        let log = Self::from_opened(fs, clock, dir, settings, opened)?;
        if mode.repair && (report.checked_bytes > 0 || report.cut.is_some()) {
            // Best effort (the disk may be full): without it the next opening checks the same again.
            let _ = log.save_point(&mut lock(&log.syncing));
        }
        Ok((log, report))
    }

    fn from_opened(
        fs: Arc<dyn Fs>,
        clock: Arc<dyn Clock>,
        dir: &Path,
        settings: LogSettings,
        opened: Opened,
    ) -> Result<Self> {
        let active = match opened.segments.last().filter(|_| opened.appendable) {
            Some(segment) => Some(Active { segment: Arc::clone(segment), file: segment.file(fs.as_ref())? }),
            None => None,
        };
        let size = opened.segments.iter().map(|s| s.bytes()).sum();
        let appender = Appender {
            active,
            last_timestamp_ms: opened.last_timestamp_ms,
            torn: false,
            unsynced: Vec::new(),
            created: false,
            appended_bytes: 0,
        };
        Ok(Self {
            fs,
            clock,
            dir: dir.to_owned(),
            settings,
            segments: RwLock::new(opened.segments),
            appender: Mutex::new(appender),
            syncing: Mutex::new(Syncing { saved: opened.point, saved_at_bytes: 0 }),
            end: AtomicI64::new(opened.end),
            durable: AtomicI64::new(opened.end),
            size_bytes: AtomicU64::new(size),
            poison: OnceLock::new(),
            at_hand: Mutex::default(),
            writers: Mutex::default(),
        })
    }

    /// Appends one encoded batch after stamping its base offset and its timestamp (now, but never before the last one) into it.
    /// Readers see it at once; it is durable after the next [`Log::sync`]. The checksum is not verified.
    ///
    /// # Errors
    /// `Invalid` about `Row` for bytes that are not exactly one batch; `Busy` about `Disk` or `Io`: the log is as it was and
    /// the same call may succeed later; `Closed` after a failed sync.
    pub fn append(&self, batch: &mut [u8]) -> Result<Appended> {
        self.append_described(batch, None)
    }

    /// The same with statistics of the batch's rows, which are kept beside it.
    ///
    /// # Errors
    /// As [`Log::append`].
    pub fn append_described(&self, batch: &mut [u8], statistics: Option<&Statistics>) -> Result<Appended> {
        let header = BatchHeader::parse(batch)?;
        if header.total_bytes() != batch.len() {
            let (told, there) = (header.total_bytes(), batch.len());
            return Err(Error::invalid(Subject::Row, format!("a batch of {told} bytes was given {there}")));
        }
        let mut appender = lock(&self.appender);
        self.refuse_poisoned()?;
        let active = self.room_for(&mut appender, batch.len() as u64)?;
        let (position, base_offset) = (active.segment.bytes(), self.end_offset());
        let timestamp_ms = self.clock.now_ms().max(appender.last_timestamp_ms);
        stamp(batch, base_offset, timestamp_ms)?;
        let header = BatchHeader { base_offset, timestamp_ms, ..header };
        let next_offset = header.next_offset();
        appender.torn = true;
        if let Err(e) = active.file.write_at(batch, position) {
            appender.torn = active.file.set_len(position).is_err();
            return Err(e);
        }
        appender.torn = false;
        appender.last_timestamp_ms = timestamp_ms;
        if let Some(statistics) = statistics {
            // Before a reader can see the rows and find them undescribed.
            let rows = stretch(&BatchHeader { base_offset, ..header }, statistics);
            active.segment.describe(self.fs.as_ref(), rows)?;
        }
        let entry = Entry { offset: base_offset, position, timestamp_ms };
        active.segment.publish(entry, position + batch.len() as u64, next_offset);
        self.size_bytes.fetch_add(batch.len() as u64, Ordering::Relaxed);
        appender.appended_bytes += batch.len() as u64;
        self.end.store(next_offset, Ordering::Release);
        if let Some(writers) = lock(&self.writers).as_mut() {
            writers.note(&header);
        }
        Ok(Appended { base_offset, next_offset, timestamp_ms })
    }

    fn refuse_poisoned(&self) -> Result<()> {
        match self.poison.get() {
            Some(why) => Err(Error::new(
                ErrorKind::Closed,
                Subject::Bucket,
                format!(
                    "the log {} takes no more writes: {why}; close the store and open it again",
                    self.dir.display()
                ),
            )),
            None => Ok(()),
        }
    }

    /// The segment that the next `bytes` go to, without a leftover behind its good end.
    fn room_for(&self, appender: &mut Appender, bytes: u64) -> Result<Active> {
        if let Some(active) = &appender.active {
            let used = active.segment.bytes();
            if appender.torn {
                active.file.set_len(used)?;
                appender.torn = false;
            }
            let fits = used.saturating_add(bytes) <= self.settings.segment_bytes_max;
            if fits || active.segment.end() == active.segment.base {
                return Ok(active.clone());
            }
        }
        self.roll(appender)
    }

    fn roll(&self, appender: &mut Appender) -> Result<Active> {
        let base = self.end_offset();
        let interval = self.settings.index_interval_bytes;
        let (segment, file) = match Segment::create(self.fs.as_ref(), &self.dir, base, interval) {
            Ok(created) => created,
            Err(e) => {
                // Best effort: an empty leftover is used again by the next attempt and dropped by the next opening.
                let _ = self.fs.remove(&crate::segment::log_path(&self.dir, base));
                return Err(e);
            }
        };
        let active = Active { segment: Arc::new(segment), file };
        write(&self.segments).push(Arc::clone(&active.segment));
        self.size_bytes.fetch_add(active.segment.bytes(), Ordering::Relaxed);
        if let Some(old) = appender.active.replace(active.clone()) {
            appender.unsynced.push(old.file);
        }
        appender.created = true;
        Ok(active)
    }

    /// First offset that is still kept.
    #[must_use]
    pub fn start_offset(&self) -> Offset {
        let segments = read(&self.segments);
        segments.first().map_or_else(|| self.end_offset(), |s| s.base)
    }

    /// Offset behind the last appended record.
    #[must_use]
    pub fn end_offset(&self) -> Offset {
        self.end.load(Ordering::Acquire)
    }

    /// Offset behind the last durable record.
    #[must_use]
    pub fn durable_offset(&self) -> Offset {
        self.durable.load(Ordering::Acquire)
    }

    /// Bytes of all segments.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes.load(Ordering::Relaxed)
    }

    /// Whole batches in order: from the one that holds offset `from`, as long as they begin below `limit`, together at most
    /// `bytes_max` bytes, but at least one if there is one. Nothing when `from` has reached `limit` or the end. One read of the file as a rule.
    ///
    /// # Errors
    /// `Invalid` about `Offset`, naming the valid range, when `from` lies outside it; `Corrupt` naming file and position, while
    /// other parts stay readable; `Io`.
    pub fn read(&self, from: Offset, limit: Offset, bytes_max: usize) -> Result<Vec<StoredBatch>> {
        let limit = limit.min(self.end_offset());
        let Some(segment) = self.segment_of(from)?.filter(|_| from < limit) else { return Ok(Vec::new()) };
        let request = Request { from, limit, bytes_max, verify: self.settings.verify_on_read };
        let read = segment.read(self.fs.as_ref(), request);
        self.keep_at_hand(&segment);
        match read {
            // Retention took the file between the look at the list and the read.
            Err(e) if e.kind() == ErrorKind::NotFound => Err(self.segment_of(from).err().unwrap_or(e)),
            read => read,
        }
    }

    /// Where a reader at `from` that wants the rows which `keep` keeps has to look next, below `limit`. It judges by statistics alone
    /// and reads no rows; it may stop early, with nothing to look at up to where it came.
    ///
    /// # Errors
    /// `Invalid` about `Offset`, naming the valid range, when `from` lies outside it; `Io`.
    pub fn ahead(&self, from: Offset, limit: Offset, keep: Keep<'_>) -> Result<Ahead> {
        let limit = limit.min(self.end_offset());
        let mut at = from;
        while at < limit {
            let Some(segment) = self.segment_of(at)? else { break };
            let end = segment.end().min(limit);
            if end <= at {
                // A damaged part: whoever reads there is told.
                return Ok(Ahead { from: at, until: limit, known: false });
            }
            let found = segment.ask_statistics(self.fs.as_ref(), |stretches| stretches.ahead(at, end, keep))?;
            self.keep_at_hand(&segment);
            match found {
                Some(ahead) => return Ok(ahead),
                None => at = end,
            }
        }
        Ok(Ahead { from: at, until: at, known: true })
    }

    /// Keeps statistics of a batch that was read, if there are none of it yet.
    ///
    /// # Errors
    /// As [`Log::ahead`].
    pub fn describe(&self, batch: &BatchHeader, statistics: &Statistics) -> Result<()> {
        match self.segment_of(batch.base_offset)? {
            Some(segment) => segment.describe(self.fs.as_ref(), stretch(batch, statistics)),
            None => Ok(()),
        }
    }

    /// The segment that an offset falls into; `None` in an empty log.
    fn segment_of(&self, offset: Offset) -> Result<Option<Arc<Segment>>> {
        let segments = read(&self.segments);
        let end = self.end_offset();
        let start = segments.first().map_or(end, |s| s.base);
        if !(start..=end).contains(&offset) {
            let log = self.dir.display();
            let what =
                format!("offset {offset} is out of range: the log {log} holds offsets {start} to {end} (exclusive)");
            return Err(Error::invalid(Subject::Offset, what));
        }
        let below = segments.partition_point(|s| s.base <= offset);
        Ok(below.checked_sub(1).and_then(|i| segments.get(i)).cloned())
    }

    fn all_segments(&self) -> Vec<Arc<Segment>> {
        read(&self.segments).clone()
    }

    /// Notes that a segment was used; the closed one that was used longest ago gives up its file and index.
    fn keep_at_hand(&self, segment: &Arc<Segment>) {
        let newest = read(&self.segments).last().map(|s| s.base);
        if newest.is_none_or(|newest| segment.base >= newest) {
            return;
        }
        let mut at_hand = lock(&self.at_hand);
        if at_hand.back().is_some_and(|s| s.base == segment.base) {
            return;
        }
        at_hand.retain(|s| s.base != segment.base);
        at_hand.push_back(Arc::clone(segment));
        if at_hand.len() > CLOSED_SEGMENTS_OPEN_MAX
            && let Some(oldest) = at_hand.pop_front()
        {
            self.save_statistics_of(&oldest);
            oldest.forget();
        }
    }

    fn last_timestamp(&self, segment: &Arc<Segment>) -> Result<Option<i64>> {
        let last = segment.ask(self.fs.as_ref(), |index| index.last_timestamp_ms)?;
        self.keep_at_hand(segment);
        Ok(last)
    }

    /// Timestamp of a closed segment's last batch. A damaged segment is as old as the one behind it, or else it would stay for ever.
    fn age(&self, segment: &Arc<Segment>, next: &Arc<Segment>) -> Result<Option<i64>> {
        match self.last_timestamp(segment) {
            Err(e) if e.kind() == ErrorKind::Corrupt => Ok(Some(self.last_timestamp(next)?.unwrap_or(i64::MAX))),
            last => last,
        }
    }

    /// Base offset of the first batch with a timestamp of at least `timestamp_ms`; `None` when all are older.
    ///
    /// # Errors
    /// `Corrupt` naming file and position; `Io`.
    pub fn offset_for_timestamp(&self, timestamp_ms: i64) -> Result<Option<Offset>> {
        let segments = self.all_segments();
        let (mut low, mut high) = (0, segments.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(segment) = segments.get(middle) else { break };
            match self.last_timestamp(segment)? {
                Some(last) if last >= timestamp_ms => high = middle,
                _ => low = middle + 1,
            }
        }
        match segments.get(low) {
            Some(segment) => segment.find_time(self.fs.as_ref(), timestamp_ms),
            None => Ok(None),
        }
    }

    /// Drops whole closed segments, oldest first, that are older than the time to live and wholly below `keep_from`. Returns
    /// their base offsets. The start moves before the files go, so that a reader is told the true range.
    ///
    /// # Errors
    /// `Corrupt`, `Io`: segments that were dropped stay dropped; files that could not be removed return with the next opening.
    pub fn expire(&self, now_ms: i64, ttl_ms: Option<i64>, keep_from: Offset) -> Result<Vec<Offset>> {
        if ttl_ms.is_none() {
            return Ok(Vec::new());
        }
        let mut gone = Vec::new();
        let segments = self.all_segments();
        for (segment, next) in segments.iter().zip(segments.iter().skip(1)) {
            let durable = next.base <= self.durable_offset();
            let age = Age { end: next.base, last_timestamp_ms: self.age(segment, next)? };
            if !durable || !may_go(age, now_ms, ttl_ms, keep_from) {
                break;
            }
            gone.push(Arc::clone(segment));
        }
        let kept_from = gone.last().map_or(i64::MIN, |s| s.base);
        write(&self.segments).retain(|s| s.base > kept_from);
        lock(&self.at_hand).retain(|s| s.base > kept_from);
        for segment in &gone {
            self.size_bytes.fetch_sub(segment.bytes(), Ordering::Relaxed);
            self.fs.remove(&segment.statistics_path)?;
            self.fs.remove(&segment.index_path)?;
            self.fs.remove(&segment.path)?;
        }
        if !gone.is_empty() {
            self.fs.sync_dir(&self.dir)?;
        }
        Ok(gone.iter().map(|s| s.base).collect())
    }
}

fn stretch(batch: &BatchHeader, statistics: &Statistics) -> Stretch {
    let mut encoded = Vec::new();
    statistics.encode(&mut encoded);
    Stretch {
        base: batch.base_offset,
        end: batch.next_offset(),
        bytes: batch.total_bytes() as u64,
        schema: batch.schema_id,
        statistics: encoded,
    }
}

#[cfg(test)]
mod tests;
