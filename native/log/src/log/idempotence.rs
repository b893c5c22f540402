//! Batches that a writer sends again: found by writer id and sequence before they are appended.

use super::Log;
use crate::Appended;
use crate::file_header::FILE_HEADER_BYTES;
use crate::lock::lock;
use crate::segment::Segment;
use crate::walk::{HEADER_CHUNK_BYTES, Walk};
use crate::writers::Writers;
use sluice_base::{ErrorKind, Offset, Result};

impl Log {
    /// What became of a batch with this writer id and sequence if it was appended before; `None` when it is new, or has no writer. Whoever
    /// appends it afterwards must keep others from appending in between. The first call reads the headers that the log has gained since
    /// its last recovery point.
    ///
    /// # Errors
    /// `Conflict` about `Writer` when it is neither the writer's next batch nor one of its last five; `Io`.
    pub fn find_sent(&self, writer_id: i64, sequence: i32) -> Result<Option<Appended>> {
        if writer_id < 0 {
            return Ok(None);
        }
        let mut slot = lock(&self.writers);
        let writers = match slot.take() {
            Some(writers) => writers,
            None => self.load_writers()?,
        };
        let now_ms = self.clock.now_ms();
        let found = slot.insert(writers).check(writer_id, sequence, now_ms)?;
        Ok(found.map(|(base_offset, next_offset)| Appended { base_offset, next_offset, timestamp_ms: -1 }))
    }

    fn load_writers(&self) -> Result<Writers> {
        let (start, end) = (self.start_offset(), self.end_offset());
        let saved = Writers::load(self.fs.as_ref(), &self.dir, end)?;
        let mut writers = saved.unwrap_or_else(|| Writers::starting(start));
        let from = writers.covered;
        for segment in self.all_segments().iter().filter(|s| s.end() > from) {
            match self.note_headers(segment, from, &mut writers) {
                // What is damaged or was dropped meanwhile names no writer any more.
                Err(e) if matches!(e.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) => {}
                noted => noted?,
            }
        }
        Ok(writers)
    }

    fn note_headers(&self, segment: &Segment, from: Offset, writers: &mut Writers) -> Result<()> {
        let bytes = segment.bytes();
        let start = segment.ask(self.fs.as_ref(), |index| index.floor(from))?;
        let (position, offset) = start.map_or((FILE_HEADER_BYTES, segment.base), |e| (e.position, e.offset));
        let file = segment.file(self.fs.as_ref())?;
        let mut walk = Walk::new(file.as_ref(), &segment.path, bytes, HEADER_CHUNK_BYTES).starting(position, offset);
        while let Some(header) = walk.peek()? {
            writers.note(&header);
            walk.advance(&header);
        }
        Ok(())
    }
}
