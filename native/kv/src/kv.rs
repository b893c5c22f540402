//! One bucket's RocksDB.

use crate::iter::Changes;
use crate::row_cache::Probe;
use crate::staging::Staging;
use crate::{KvIter, KvShared, Mark, error, mark::MARK_KEY, tuning};
use rocksdb::{DB, Env, ReadOptions, WriteBatch, checkpoint::Checkpoint, properties};
use sluice_base::{Error, ErrorKind, Offset, Result, Subject};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Latest row per key of one bucket. Many threads read; writes come one at a time.
///
/// Without a write-ahead log, what survives a crash is a prefix of the writes together with its mark.
pub struct Kv {
    db: Arc<DB>,
    dir: PathBuf,
    marks: Mutex<Marks>,
    /// Held while writing, while rows are handed to RocksDB and while a checkpoint is made, so that a checkpoint's mark is exact.
    write_gate: Mutex<()>,
    shared: Arc<KvShared>,
    /// Whose rows these are in the shared cache; a number is never used again.
    owner: u32,
    /// What the last flush said if the full disk refused it.
    refused: Mutex<Option<String>>,
    /// Rows on their way to RocksDB.
    staging: Staging,
    /// Failures in the background that RocksDB had counted when it last took rows.
    outlived_errors: AtomicU64,
    /// Where changes go that cannot be written.
    unwritten: Option<RwLock<Arc<Changes>>>,
}

/// RocksDB looks for space every five seconds and then begins only when no flush is asked for. One that it must refuse takes it a second,
/// of the one thread that serves all buckets: asked more often, it would never heal.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_secs(2);

/// A write waits so long while RocksDB does not keep up; then its caller decides.
const STALL_MAX: Duration = Duration::from_secs(30);
/// Time between two looks.
const STALL_STEP: Duration = Duration::from_millis(1);

#[derive(Debug, Clone, Copy)]
struct Marks {
    now: Mark,
    /// The mark up to which rows are known to be in files.
    flushed: Offset,
}

fn batch_of<'a>(changes: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>, mark: Mark) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for (key, value) in changes {
        match value {
            Some(value) => batch.put(key, value),
            None => batch.delete(key),
        }
    }
    batch.put(MARK_KEY, mark.to_bytes());
    batch
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each critical section leaves plain numbers behind, valid at every point.
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kv {
    /// Opens the directory, creating it when it is missing.
    ///
    /// # Errors
    /// `Corrupt` naming the directory; `Io`; `Busy` about `Disk`.
    pub fn open(dir: &Path, shared: &Arc<KvShared>) -> Result<Self> {
        let fail = |e| error::convert(e, "open", dir);
        let db = DB::open_cf_with_opts(&tuning::options(shared), dir, [("default", tuning::options(shared))])
            .map_err(fail)?;
        Self::from_db(db, dir, shared, None)
    }

    /// Opens the directory for reading, on a disk that cannot be written; a missing one has no rows. Changes are kept in memory only.
    ///
    /// # Errors
    /// `Corrupt` naming the directory; `Io`.
    pub fn open_read_only(dir: &Path, shared: &Arc<KvShared>) -> Result<Self> {
        let fail = |e| error::convert(e, "open", dir);
        let mut options = tuning::options(shared);
        let db = if dir.join("CURRENT").exists() {
            DB::open_cf_with_opts_for_read_only(&options, dir, [("default", options.clone())], false)
        } else {
            options.set_env(&Env::mem_env().map_err(fail)?);
            // Nothing but a name in memory; one that is there already, for the wrapper of RocksDB makes missing ones on the disk.
            let name = dir.ancestors().find(|d| d.is_dir()).unwrap_or(dir);
            DB::open_cf_with_opts(&options, name, [("default", options.clone())])
        };
        Self::from_db(db.map_err(fail)?, dir, shared, Some(RwLock::default()))
    }

    fn from_db(db: DB, dir: &Path, shared: &Arc<KvShared>, unwritten: Option<RwLock<Arc<Changes>>>) -> Result<Self> {
        let stored = db.get_pinned(MARK_KEY).map_err(|e| error::convert(e, "open", dir))?;
        let now = stored.map_or(Ok(Mark::default()), |v| Mark::from_bytes(&v, dir))?;
        Ok(Self {
            db: Arc::new(db),
            dir: dir.to_owned(),
            marks: Mutex::new(Marks { now, flushed: now.applied }),
            write_gate: Mutex::new(()),
            owner: shared.next_owner.fetch_add(1, Ordering::Relaxed),
            outlived_errors: AtomicU64::new(0),
            staging: Staging::new(&shared.gathered, shared.settings.write_buffer_bytes),
            shared: shared.clone(),
            refused: Mutex::new(None),
            unwritten,
        })
    }

    /// The changes that no file has, of a directory that is open for reading only.
    fn unwritten(&self) -> Option<Arc<Changes>> {
        // Replaced whole.
        self.unwritten.as_ref().map(|changes| changes.read().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// How far the log is applied; zero for a new directory.
    #[must_use]
    pub fn mark(&self) -> Mark {
        lock(&self.marks).now
    }

    /// The log offset up to which a crash loses nothing: replay starts at or behind it.
    #[must_use]
    pub fn flushed_offset(&self) -> Offset {
        lock(&self.marks).flushed
    }

    fn fail(&self, what: &'static str) -> impl FnOnce(rocksdb::Error) -> sluice_base::Error + '_ {
        move |e| error::convert(e, what, &self.dir)
    }

    /// One row.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get_with(key, |v| v.map(<[u8]>::to_vec))
    }

    /// One row without a copy.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn get_with<R>(&self, key: &[u8], f: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        if let Some(row) = self.unwritten().as_ref().and_then(|changes| changes.get(key)) {
            return Ok(f(row.as_deref()));
        }
        let mut f = Some(f);
        let mut call = |row: Option<&[u8]>| f.take().map(|f| f(row));
        let mut answered = None;
        let answer = match self.shared.rows.get(self.owner, key, &mut call) {
            Probe::Known(answer) => answer,
            Probe::Unknown(_) if self.staging.get(key, |row| answered = call(row)) => answered,
            Probe::Unknown(ticket) => {
                let found = self.db.get_pinned(key).map_err(self.fail("read"))?;
                if let Some(value) = &found {
                    self.shared.rows.offer(self.owner, key, value, ticket);
                }
                call(found.as_deref())
            }
        };
        answer.ok_or_else(|| Error::internal("a read answered twice"))
    }

    /// Many rows; `each` gets the position in `keys` and the value, in no fixed order.
    ///
    /// # Errors
    /// `Corrupt`, `Io`; some rows may have been handed over before.
    pub fn multi_get(&self, keys: &[&[u8]], mut each: impl FnMut(usize, Option<&[u8]>)) -> Result<()> {
        if let Some(unwritten) = self.unwritten().filter(|changes| !changes.is_empty()) {
            for (i, key) in keys.iter().enumerate() {
                match unwritten.get(*key) {
                    Some(row) => each(i, row.as_deref()),
                    None => self.get_with(key, |row| each(i, row))?,
                }
            }
            return Ok(());
        }
        let mut missed = self.shared.rows.get_many(self.owner, keys, &mut each);
        missed.retain(|(i, _)| !keys.get(*i).is_some_and(|key| self.staging.get(key, |row| each(*i, row))));
        if missed.is_empty() {
            return Ok(());
        }
        let Some(family) = self.db.cf_handle("default") else {
            return Err(Error::internal("RocksDB lost its default column family"));
        };
        let asked = missed.iter().filter_map(|(i, _)| keys.get(*i).copied());
        let found = self.db.batched_multi_get_cf(family, asked, false);
        for ((i, ticket), value) in missed.into_iter().zip(found) {
            let value = value.map_err(self.fail("read"))?;
            if let (Some(key), Some(value)) = (keys.get(i), &value) {
                self.shared.rows.offer(self.owner, key, value, ticket);
            }
            each(i, value.as_deref());
        }
        Ok(())
    }

    /// Applies changes (`None` deletes) and the mark in one step. Not durable before a flush. Waits some seconds at most while RocksDB has
    /// too much to write out.
    ///
    /// # Errors
    /// `Busy` about `Disk` when the disk is full or too slow; `Io`; `Corrupt`. Nothing is applied then.
    pub fn write<'a>(&self, changes: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>, mark: Mark) -> Result<()> {
        if let Some(unwritten) = &self.unwritten {
            let _gate = lock(&self.write_gate);
            let mut all = unwritten.write().unwrap_or_else(PoisonError::into_inner);
            Arc::make_mut(&mut all).extend(changes.map(|(key, row)| (key.to_vec(), row.map(<[u8]>::to_vec))));
            lock(&self.marks).now = mark;
            return Ok(());
        }
        let changes: Vec<_> = changes.collect();
        let bytes = changes.iter().map(|(key, row)| (key.len() + row.map_or(0, <[u8]>::len)) as u64).sum();
        let _gate = lock(&self.write_gate);
        // After a failure nothing is gathered until RocksDB takes rows again, or the next ones would be refused once more.
        let takes = || self.staging.takes(bytes) && self.errors() == self.outlived_errors.load(Ordering::Relaxed);
        let gathers = takes() || {
            self.hand_over()?;
            takes()
        };
        if gathers {
            self.staging.add(changes.iter().copied(), mark);
        } else {
            // RocksDB takes rows several times faster in order, for each finds its place beside the last. Of one key the last change counts.
            let mut rows = changes.clone();
            rows.sort_by_key(|(key, _)| *key);
            self.write_when_taken(|| batch_of(rows.iter().copied(), mark))?;
        }
        self.shared.rows.put_many(self.owner, &changes);
        lock(&self.marks).now = mark;
        Ok(())
    }

    /// Gives RocksDB the gathered rows. The gate is held.
    fn hand_over(&self) -> Result<()> {
        let Some(full) = self.staging.full() else { return Ok(()) };
        let rows = full.in_key_order();
        self.write_when_taken(|| batch_of(rows.iter().copied(), full.mark()))?;
        drop(rows);
        drop(full);
        self.staging.clear();
        Ok(())
    }

    /// RocksDB must not let this thread wait inside: a write that waits there for a flush is in the way of the recovery from that flush's
    /// failure, and both wait for ever. So it refuses at once, and the wait is here.
    fn write_when_taken(&self, made: impl Fn() -> WriteBatch) -> Result<()> {
        let errors = self.errors();
        let deadline = Instant::now() + STALL_MAX;
        loop {
            let batch = made();
            let bytes = batch.size_in_bytes() as u64;
            let Err(e) = self.db.write_opt(batch, &tuning::write_options()) else {
                // RocksDB takes rows again, so it will take a flush.
                *lock(&self.refused) = None;
                self.outlived_errors.store(errors, Ordering::Relaxed);
                return Ok(());
            };
            let stalled = e.kind() == rocksdb::ErrorKind::Incomplete;
            // What failed in the background fails again for as long as the disk is as it is.
            let may_pass = self.errors() == errors && Instant::now() < deadline;
            if !stalled || !may_pass {
                return Err(self.fail("write to")(e));
            }
            self.outlast_stall(bytes, errors, deadline);
        }
    }

    /// Returns when RocksDB may take `bytes`, or a try will tell why it does not.
    fn outlast_stall(&self, bytes: u64, errors: u64, deadline: Instant) {
        let since = Instant::now();
        while Instant::now() < deadline && self.errors() == errors {
            if self.number(properties::IS_WRITE_STOPPED) == 0 {
                let rate = self.number(properties::ACTUAL_DELAYED_WRITE_RATE);
                // The refused try counts as written, so room for this one is there after twice its time.
                let millis = 2_000 * bytes / rate.max(1);
                if rate == 0 || since.elapsed() >= Duration::from_millis(millis) {
                    return;
                }
            }
            std::thread::sleep(STALL_STEP);
        }
    }

    /// All rows in key order as they are now, from a key on.
    #[must_use]
    pub fn scan(&self, from_key: Option<&[u8]>) -> KvIter {
        let mut rows = self.walk(tuning::scan_options());
        rows.seek(from_key);
        rows
    }

    /// All rows as they are now, to be asked for those under some prefixes. To make it costs more than to ask it.
    #[must_use]
    pub fn prefixes(&self) -> KvIter {
        self.walk(ReadOptions::default())
    }

    fn walk(&self, options: ReadOptions) -> KvIter {
        // Where nothing is gathered RocksDB has all that is acknowledged, and nobody is waited for.
        let gate = (!self.staging.is_empty()).then(|| lock(&self.write_gate));
        // A full disk takes nothing; the rows are read all the same.
        let over = gate.as_ref().and_then(|_| self.hand_over().err()).map(|_| self.staging.changes());
        KvIter::new(&self.db, self.dir.clone(), options).with_changes(self.unwritten().or(over))
    }

    /// Writes all fresh rows to files and waits for it. A bucket that the full disk refused this is refused unasked while another such bucket
    /// was refused within the last two seconds.
    ///
    /// # Errors
    /// `Busy` about `Disk` when the disk is full; `Io`.
    pub fn flush(&self) -> Result<()> {
        let applied = self.mark().applied;
        self.ask_for_flush(true)?;
        let mut marks = lock(&self.marks);
        marks.flushed = marks.flushed.max(applied);
        Ok(())
    }

    /// Begins to write all fresh rows to files, without waiting for the end.
    ///
    /// # Errors
    /// `Busy` about `Disk` when the disk is full; `Io`.
    pub fn start_flush(&self) -> Result<()> {
        self.ask_for_flush(false)
    }

    fn ask_for_flush(&self, wait: bool) -> Result<()> {
        if let Some(message) = lock(&self.refused).as_ref()
            && lock(&self.shared.refused_at).is_some_and(|at| at.elapsed() < PAUSE_AFTER_REFUSAL)
        {
            return Err(Error::new(ErrorKind::Busy, Subject::Disk, message.clone()));
        }
        {
            let _gate = lock(&self.write_gate);
            self.hand_over()?;
        }
        let flushed = self.db.flush_opt(&tuning::flush_options(wait)).map_err(self.fail("flush"));
        let busy = flushed.as_ref().err().filter(|e| e.kind() == ErrorKind::Busy);
        if busy.is_some() {
            *lock(&self.shared.refused_at) = Some(Instant::now());
        }
        *lock(&self.refused) = busy.map(|e| e.message().to_owned());
        flushed
    }

    /// Makes a consistent copy in `dir` (hard links, no data is copied), which must not exist yet. Returns its mark.
    ///
    /// # Errors
    /// `Busy` about `Disk` when the disk is full; `Io`.
    pub fn checkpoint(&self, dir: &Path) -> Result<Mark> {
        // Most of the work is done before writers have to wait.
        self.flush()?;
        let checkpoint = Checkpoint::new(&self.db).map_err(self.fail("checkpoint"))?;
        let _gate = lock(&self.write_gate);
        self.hand_over()?;
        let mark = self.mark();
        checkpoint.create_checkpoint(dir).map_err(self.fail("checkpoint"))?;
        let mut marks = lock(&self.marks);
        marks.flushed = marks.flushed.max(mark.applied);
        Ok(mark)
    }

    /// Failures in the background so far.
    fn errors(&self) -> u64 {
        self.number(properties::BACKGROUND_ERRORS)
    }

    fn number(&self, property: &properties::PropName) -> u64 {
        self.db.property_int_value(property).ok().flatten().unwrap_or(0)
    }

    /// Bytes of fresh rows, not yet in files.
    #[must_use]
    pub fn unflushed_bytes(&self) -> u64 {
        self.number(properties::CUR_SIZE_ALL_MEM_TABLES) + self.staging.bytes()
    }

    /// Whether RocksDB may write fresh rows to files by itself once `bytes` more are written; false for a while after a flush.
    #[must_use]
    pub fn nears_flush(&self, bytes: u64) -> bool {
        let settings = &self.shared.settings;
        let of_all = self.shared.write_buffers.get_usage() as u64 + self.shared.gathered.bytes();
        (self.unflushed_bytes() + 2 * bytes) * 2 >= settings.write_buffer_bytes
            || (of_all + 2 * bytes) * 2 >= settings.write_buffers_total_bytes
    }

    /// Bytes of files and fresh rows.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.number(properties::TOTAL_SST_FILES_SIZE) + self.unflushed_bytes()
    }

    /// Stops background work, for a bucket that is about to be deleted.
    pub fn stop(&self) {
        self.db.cancel_all_background_work(true);
    }
}

impl std::fmt::Debug for Kv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kv").field("dir", &self.dir).field("mark", &self.mark()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
