//! Which part of a bucket's log may go: what is too old, and neither recovery nor a reader nor the lake still needs.

use crate::bucket::Bucket;
use sluice_base::{Offset, Result};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

impl Bucket {
    /// Drops log segments older than the table's time to live, as far as neither recovery nor a snapshot's holder needs them
    /// and the lake, if the table has one, has them.
    ///
    /// # Errors
    /// What log and rows say; nothing that is needed is dropped.
    pub(crate) fn expire_log(&self) -> Result<()> {
        let meta = self.meta.get();
        let Some(ttl_ms) = meta.log.ttl_ms else { return Ok(()) };
        let now = self.context.clock.now_ms();
        let log = self.log()?;
        let (start, end) = (log.start_offset(), self.progress.high());
        let young = log.offset_for_timestamp(now.saturating_sub(ttl_ms))?.unwrap_or(end).min(end);
        if young <= start {
            return Ok(());
        }
        let keep_from = if meta.has_primary_key() { self.needed_from()? } else { end };
        let lake_has = meta.lake.map_or(Offset::MAX, |_| self.in_lake.load(Ordering::Acquire));
        let _held = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        log.expire(now, Some(ttl_ms), keep_from.min(lake_has))?;
        Ok(())
    }

    /// The lowest offset that a replay or a holder of a snapshot may still read.
    fn needed_from(&self) -> Result<Offset> {
        let kv = self.kv()?;
        self.flush_kv()?;
        let leased = self.leased_from()?.unwrap_or(Offset::MAX);
        // A store that comes back from remote storage goes on from the rows there.
        let copied = self.context.remote.as_ref().map_or(Offset::MAX, |_| self.rows_copied.load(Ordering::Acquire));
        Ok(kv.flushed_offset().min(leased).min(copied))
    }
}
