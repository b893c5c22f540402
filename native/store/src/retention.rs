//! Which part of a bucket's log may go.

use crate::bucket::Bucket;
use sluice_base::{Offset, Result};

impl Bucket {
    /// Drops log segments older than the table's time to live, as far as neither recovery nor a snapshot's holder needs them.
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
        log.expire(now, Some(ttl_ms), keep_from)?;
        Ok(())
    }

    /// The lowest offset that a replay or a holder of a snapshot may still read.
    fn needed_from(&self) -> Result<Offset> {
        let kv = self.kv()?;
        self.flush_kv()?;
        let leased = self.leased_from()?.unwrap_or(Offset::MAX);
        Ok(kv.flushed_offset().min(leased))
    }
}
