//! What the reader of a scan and the tasks that fetch for it share.
//!
//! A split has a few pieces waiting at most; who has taken one makes room for the next. Splits with pieces take turns.

use super::columns::Columns;
use super::piece::{LogPiece, Piece, whole_batches};
use crate::cluster::Cluster;
use crate::refusal::Refusal;
use crate::table::RemoteTable;
use bytes::Bytes;
use sluice_api::ScanStart;
use sluice_base::{Error, ErrorKind, Offset, Result, Subject, TableBucket};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, Semaphore};

/// Pieces that wait for the reader, for each split.
pub(crate) const PIECES_MAX: usize = 2;
/// Fetches of one scan under way at a time; splits that come later wait for one to end.
const FETCHES_MAX: usize = 4;
/// After so many times the patience of one request a split that cannot be read fails.
const PATIENCE_REQUESTS: u32 = 2;

/// A split.
#[derive(Debug)]
pub(crate) struct Split {
    pub(crate) generation: u64,
    pub(crate) bucket: TableBucket,
    pub(crate) stop: Option<Offset>,
    /// The offset to fetch from next; `None` while rows of another kind come.
    fetch: Option<Offset>,
    /// The offset of the next row to give out.
    pub(crate) position: Offset,
    pieces: VecDeque<Piece>,
    fetching: bool,
    failing_since: Option<Instant>,
    /// Places for pieces of rows; closed with the split.
    pub(crate) places: Arc<Semaphore>,
}

impl Drop for Split {
    fn drop(&mut self) {
        self.places.close();
    }
}

impl Split {
    pub(crate) fn new(bucket: TableBucket, stop: Option<Offset>, fetch: Option<Offset>) -> Self {
        Self {
            generation: 0,
            bucket,
            stop,
            fetch,
            position: fetch.unwrap_or(0),
            pieces: VecDeque::new(),
            fetching: false,
            failing_since: None,
            places: Arc::new(Semaphore::new(PIECES_MAX)),
        }
    }
}

/// One life of a split: after it was unsubscribed, what comes for it is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) id: u32,
    pub(crate) generation: u64,
}

/// A split that is to be fetched for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Due {
    pub(crate) token: Token,
    pub(crate) bucket: TableBucket,
    pub(crate) offset: Offset,
}

#[derive(Debug, Default)]
struct State {
    splits: BTreeMap<u32, Split>,
    turns: VecDeque<u32>,
    generation: u64,
    fetches: usize,
    woken: bool,
    closed: bool,
}

/// Shared by all of a scan.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) table: Arc<RemoteTable>,
    pub(crate) columns: Columns,
    pub(crate) rows_max: usize,
    state: Mutex<State>,
    /// Something came.
    came: Condvar,
    /// Something can be fetched.
    pub(crate) due: Notify,
    /// Tasks that read rows before the log.
    pub(crate) row_tasks: Arc<Semaphore>,
}

/// A piece taken by the reader.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) token: Token,
    pub(crate) piece: Piece,
    pub(crate) position: Offset,
    pub(crate) stop: Option<Offset>,
}

impl Shared {
    pub(crate) fn new(cluster: Arc<Cluster>, table: Arc<RemoteTable>, columns: Columns, rows_max: usize) -> Self {
        Self {
            cluster,
            table,
            columns,
            rows_max,
            state: Mutex::default(),
            came: Condvar::new(),
            due: Notify::new(),
            row_tasks: Arc::new(Semaphore::new(FETCHES_MAX)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, id: u32, mut split: Split) -> Token {
        let mut state = self.lock();
        state.generation += 1;
        split.generation = state.generation;
        let token = Token { id, generation: split.generation };
        let before = state.splits.insert(id, split);
        drop(state);
        drop(before);
        self.due.notify_one();
        token
    }

    pub(crate) fn remove(&self, id: u32) {
        let removed = self.lock().splits.remove(&id);
        drop(removed);
    }

    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let splits = std::mem::take(&mut state.splits);
        drop(state);
        drop(splits);
        self.due.notify_one();
    }

    pub(crate) fn wake(&self) {
        self.lock().woken = true;
        self.came.notify_all();
    }

    /// Waits for a piece whose turn it is; `None` when the time is over or the reader was woken.
    pub(crate) fn take(&self, deadline: Instant) -> Option<Taken> {
        let mut state = self.lock();
        loop {
            if std::mem::take(&mut state.woken) {
                return None;
            }
            while let Some(id) = state.turns.pop_front() {
                let Some(split) = state.splits.get_mut(&id) else { continue };
                let Some(piece) = split.pieces.pop_front() else { continue };
                let token = Token { id, generation: split.generation };
                let taken = Taken { token, piece, position: split.position, stop: split.stop };
                drop(state);
                self.due.notify_one();
                return Some(taken);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return None;
            }
            state = self.came.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn with<T>(&self, token: Token, work: impl FnOnce(&mut Split) -> T) -> Option<T> {
        let mut state = self.lock();
        let split = state.splits.get_mut(&token.id).filter(|s| s.generation == token.generation)?;
        Some(work(split))
    }

    /// Puts what is left of a piece back in front, and says where the split is.
    pub(crate) fn put_back(&self, token: Token, piece: Option<LogPiece>, position: Offset) {
        let mut state = self.lock();
        let Some(split) = state.splits.get_mut(&token.id).filter(|s| s.generation == token.generation) else { return };
        split.position = position;
        if let Some(piece) = piece {
            split.pieces.push_front(Piece::Log(piece));
        }
        if !split.pieces.is_empty() {
            state.turns.push_back(token.id);
        }
    }

    /// Gives the split its turn again, if something more has come for it.
    pub(crate) fn next_turn(&self, token: Token) {
        let waits = self.with(token, |split| !split.pieces.is_empty());
        if waits == Some(true) {
            self.lock().turns.push_back(token.id);
        }
    }

    /// Adds a piece; whether the split is still there.
    pub(crate) fn push(&self, token: Token, piece: Piece) -> bool {
        let mut state = self.lock();
        let Some(split) = state.splits.get_mut(&token.id).filter(|s| s.generation == token.generation) else {
            return false;
        };
        split.pieces.push_back(piece);
        state.turns.push_back(token.id);
        drop(state);
        self.came.notify_all();
        true
    }

    /// The rows before the log have been read: it goes on from here.
    pub(crate) fn then_log(&self, token: Token, offset: Offset) {
        self.with(token, |split| {
            split.fetch = Some(offset);
            split.position = offset;
        });
        self.due.notify_one();
    }

    /// The splits to fetch for now; `None` when the scan is closed.
    pub(crate) fn take_due(&self) -> Option<Vec<Due>> {
        let mut state = self.lock();
        if state.closed {
            return None;
        }
        if state.fetches >= FETCHES_MAX {
            return Some(Vec::new());
        }
        let mut due = Vec::new();
        for (id, split) in &mut state.splits {
            let Some(offset) = split.fetch.filter(|_| !split.fetching && split.pieces.len() < PIECES_MAX) else {
                continue;
            };
            if split.stop.is_some_and(|stop| offset >= stop) {
                continue;
            }
            split.fetching = true;
            let token = Token { id: *id, generation: split.generation };
            due.push(Due { token, bucket: split.bucket, offset });
        }
        state.fetches += usize::from(!due.is_empty());
        Some(due)
    }

    /// A fetch has ended, whatever came of it.
    pub(crate) fn fetch_ended(&self) {
        self.lock().fetches -= 1;
        self.due.notify_one();
    }

    /// What a fetch brought for a split.
    pub(crate) fn fetched(&self, due: &Due, bytes: &Bytes) -> Result<()> {
        let whole = whole_batches(bytes)?;
        self.with(due.token, |split| {
            split.fetching = false;
            split.failing_since = None;
            if let Some((_, next)) = whole {
                split.fetch = Some(next);
            }
        });
        if let Some((length, _)) = whole {
            self.push(due.token, Piece::Log(LogPiece::new(bytes, length)));
        }
        Ok(())
    }

    /// A fetch failed for a split: it ends, fails, or is tried again. Whether it is to be tried again.
    pub(crate) fn failed(&self, due: &Due, refusal: Refusal) -> bool {
        let patience = self.cluster.settings.request_timeout * PATIENCE_REQUESTS;
        let tells = self.with(due.token, |split| {
            let since = *split.failing_since.get_or_insert_with(Instant::now);
            if refusal.heals() && since.elapsed() < patience {
                return None;
            }
            let is_gone = refusal.error.kind() == ErrorKind::NotFound && refusal.error.subject() == Subject::Partition;
            let next = ScanStart::Log { offset: split.fetch.unwrap_or(0) };
            Some((is_gone && split.stop.is_none()).then_some(next))
        });
        match tells {
            None => false,
            Some(None) => true,
            Some(Some(Some(next))) => {
                self.push(due.token, Piece::End(next));
                false
            }
            Some(Some(None)) => {
                let error =
                    refusal.error.context(format_args!("reading {} of table {}", due.bucket, self.table.path()));
                self.push(due.token, Piece::Failed(error));
                false
            }
        }
    }

    /// The split may be fetched for again.
    pub(crate) fn retry(&self, due: &Due) {
        self.with(due.token, |split| split.fetching = false);
        self.due.notify_one();
    }

    /// A defect or damage: the split cannot go on.
    pub(crate) fn fail(&self, token: Token, error: Error) {
        self.push(token, Piece::Failed(error));
    }
}
