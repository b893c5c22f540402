//! What the buckets of one store share.

use crate::gathered::Gathered;
use crate::row_cache::RowCache;
use crate::{KvSettings, error};
use rocksdb::{Cache, Env, WriteBufferManager};
use sluice_base::Result;
use std::path::Path;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What the buckets of one store share: row cache, block cache, bound of fresh rows, background threads.
pub struct KvShared {
    pub(crate) settings: KvSettings,
    pub(crate) env: Env,
    pub(crate) block_cache: Cache,
    pub(crate) write_buffers: WriteBufferManager,
    pub(crate) rows: RowCache,
    /// What is on its way to RocksDB.
    pub(crate) gathered: Arc<Gathered>,
    /// The number of the next bucket to open; none is used twice.
    pub(crate) next_owner: AtomicU32,
    /// When the full disk last refused one of the buckets a flush.
    pub(crate) refused_at: Mutex<Option<Instant>>,
}

impl KvShared {
    /// Makes them; nothing touches the disk yet.
    ///
    /// # Errors
    /// `Internal` when RocksDB cannot make its environment.
    pub fn new(settings: &KvSettings) -> Result<Arc<Self>> {
        let mut env = Env::new().map_err(|e| error::convert(e, "prepare", Path::new("")))?;
        env.set_background_threads(settings.background_threads);
        env.set_high_priority_background_threads(1);
        let bytes = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        Ok(Arc::new(Self {
            rows: RowCache::new(settings.row_cache_bytes),
            gathered: Arc::default(),
            next_owner: AtomicU32::new(0),
            refused_at: Mutex::new(None),
            settings: settings.clone(),
            env,
            block_cache: Cache::new_hyper_clock_cache(bytes(settings.block_cache_bytes), 0),
            write_buffers: WriteBufferManager::new_write_buffer_manager(
                bytes(settings.write_buffers_total_bytes),
                false,
            ),
        }))
    }

    /// Bytes of memory in caches and fresh rows.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.rows.bytes()
            + self.gathered.bytes()
            + (self.block_cache.get_usage() + self.write_buffers.get_usage()) as u64
    }
}

impl std::fmt::Debug for KvShared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KvShared").field("settings", &self.settings).finish_non_exhaustive()
    }
}
