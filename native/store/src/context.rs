//! What all buckets of one store share.

use crate::commit::CommitQueue;
use crate::flow::Flow;
use crate::lake::{Lake, no_lake};
use crate::remote::{Remote, RemoteDisk};
use crate::{FlushPolicy, Settings, TableMeta};
use sluice_base::{Clock, Error, ErrorKind, Fs, Result, Subject};
use sluice_kv::{KvSettings, KvShared};
use sluice_log::LogSettings;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Disk, clock, settings, and the queue of what waits to become durable.
#[derive(Debug)]
pub(crate) struct Context {
    /// `<store>/data`.
    pub(crate) data_dir: PathBuf,
    /// Whether the disk was read-only when the store was opened: then nothing is written before it is opened again.
    pub(crate) read_only: bool,
    pub(crate) fs: Arc<dyn Fs>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Settings,
    pub(crate) kv: Arc<KvShared>,
    pub(crate) commits: CommitQueue,
    pub(crate) flow: Flow,
    /// Where rows of tables with `table.datalake.enabled` flow on to.
    pub(crate) lake: Option<Lake>,
    /// Where closed log segments are copied; the disk above reads them from there.
    pub(crate) remote: Option<Arc<Remote>>,
}

impl Context {
    pub(crate) fn new(
        root: &Path,
        fs: Arc<dyn Fs>,
        clock: Arc<dyn Clock>,
        settings: &Settings,
        read_only: bool,
    ) -> Result<Arc<Self>> {
        let kv = KvShared::new(&KvSettings {
            row_cache_bytes: settings.kv_row_cache_bytes,
            block_cache_bytes: settings.kv_block_cache_bytes,
            write_buffer_bytes: settings.kv_write_buffer_bytes,
            write_buffers_total_bytes: settings.kv_write_buffers_total_bytes,
            background_threads: settings.kv_threads,
        })?;
        let lake = Lake::new(&settings.lake, &fs, &clock)?;
        let remote = Remote::open(root, &fs, settings, read_only)?;
        let fs = remote.as_ref().map_or(fs, |remote| Arc::new(RemoteDisk(Arc::clone(remote))));
        Ok(Arc::new(Self {
            lake,
            remote,
            data_dir: root.join("data"),
            read_only,
            fs,
            clock,
            settings: settings.clone(),
            kv,
            commits: CommitQueue::default(),
            flow: Flow::new(settings.in_flight_bytes_max),
        }))
    }

    pub(crate) fn log_settings(&self) -> LogSettings {
        LogSettings {
            segment_bytes_max: self.settings.segment_bytes_max,
            index_interval_bytes: self.settings.index_interval_bytes,
            ..LogSettings::default()
        }
    }

    /// Refuses what needs a disk that can be written.
    ///
    /// # Errors
    /// `Busy` about `Disk`.
    pub(crate) fn writable(&self) -> Result<()> {
        if !self.read_only {
            return Ok(());
        }
        let store = self.data_dir.parent().unwrap_or(&self.data_dir).display();
        let message = format!(
            "the store in {store} is open for reading only, for its disk was read-only (Read-only file system) when it was opened; \
             remount it for writing, then close the store and open it again"
        );
        Err(Error::new(ErrorKind::Busy, Subject::Disk, message))
    }

    /// The lake of a table, `None` when it has none.
    ///
    /// # Errors
    /// `Invalid` about `Option` when the table has a lake, but the store was opened without one: rows may be missing in the log.
    pub(crate) fn lake_of(&self, meta: &TableMeta) -> Result<Option<&Lake>> {
        match (&self.lake, meta.lake) {
            (_, None) => Ok(None),
            (Some(lake), Some(_)) => Ok(Some(lake)),
            (None, Some(_)) => Err(no_lake().context(format_args!("table {}", meta.path))),
        }
    }

    /// Whether rows count as durable only once the disk has them.
    pub(crate) fn syncs(&self) -> bool {
        self.settings.flush_policy == FlushPolicy::Disk
    }
}
