//! The scans of rows that clients have open. One that nobody has asked for some time is closed; its client opens another where it was.

use crate::limits::{ROW_SCAN_IDLE_MAX, ROW_SCANS_MAX};
use sluice_api::Scanner;
use sluice_base::{Error, ErrorKind, Result, Subject};
use sluice_wire::message::TablePath;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// One of them.
pub(crate) struct RowScan {
    pub(crate) scanner: Box<dyn Scanner>,
    pub(crate) columns: usize,
    /// Whose rows it reads.
    pub(crate) table: TablePath,
    asked: Mutex<Instant>,
}

impl RowScan {
    pub(crate) fn new(scanner: Box<dyn Scanner>, columns: usize, table: TablePath) -> Self {
        Self { scanner, columns, table, asked: Mutex::new(Instant::now()) }
    }
}

/// The open scans of a server, by number.
#[derive(Default)]
pub(crate) struct RowScans(Mutex<Open>);

#[derive(Default)]
struct Open {
    last_id: i64,
    by_id: BTreeMap<i64, Arc<RowScan>>,
}

impl std::fmt::Debug for RowScans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RowScans({})", self.lock().by_id.len())
    }
}

impl RowScans {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, scan: RowScan) -> Result<(i64, Arc<RowScan>)> {
        let mut open = self.lock();
        let fresh =
            |scan: &RowScan| scan.asked.lock().unwrap_or_else(PoisonError::into_inner).elapsed() < ROW_SCAN_IDLE_MAX;
        open.by_id.retain(|_, scan| fresh(scan));
        if open.by_id.len() >= ROW_SCANS_MAX {
            let message =
                format!("{ROW_SCANS_MAX} scans of rows are open on the server; try again when some have ended");
            return Err(Error::new(ErrorKind::Busy, Subject::Store, message));
        }
        open.last_id += 1;
        let (id, scan) = (open.last_id, Arc::new(scan));
        open.by_id.insert(id, scan.clone());
        Ok((id, scan))
    }

    pub(crate) fn get(&self, id: i64) -> Result<Arc<RowScan>> {
        let found = self.lock().by_id.get(&id).cloned();
        let scan = found.ok_or_else(|| {
            Error::not_found(Subject::Snapshot, format!("scan {id} is not open on this server; open another"))
        })?;
        *scan.asked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(scan)
    }

    pub(crate) fn remove(&self, id: i64) {
        let removed = self.lock().by_id.remove(&id);
        drop(removed);
    }
}
