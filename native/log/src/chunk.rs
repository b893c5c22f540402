//! Memory for large reads, used again once nobody holds a part of it: a scan then neither zeroes nor faults in fresh pages.

use crate::lock::lock;
use arrow_buffer::{Buffer, MutableBuffer};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

/// Smaller reads take memory of their own.
const REUSED_BYTES_MIN: usize = 256 << 10;
const REUSED_BYTES_MAX: usize = 4 << 20;
/// At most so many chunks wait for their next use.
const WAITING_MAX: usize = 8;

static WAITING: Mutex<Vec<MutableBuffer>> = Mutex::new(Vec::new());

/// Initialised memory that goes back to the waiting ones when dropped.
#[derive(Debug)]
pub(crate) struct Chunk {
    memory: MutableBuffer,
}

impl Chunk {
    /// At least `bytes` long; what it holds is of no meaning.
    pub(crate) fn take(bytes: usize) -> Self {
        if (REUSED_BYTES_MIN..=REUSED_BYTES_MAX).contains(&bytes) {
            let mut waiting = lock(&WAITING);
            // Not far too long either: a reader may keep it for a while.
            let fitting = waiting.iter().rposition(|m| (bytes..=bytes.saturating_mul(2)).contains(&m.len()));
            if let Some(i) = fitting {
                return Self { memory: waiting.swap_remove(i) };
            }
        }
        Self { memory: MutableBuffer::from_len_zeroed(bytes) }
    }

    /// All of its memory.
    pub(crate) fn as_mut(&mut self) -> &mut [u8] {
        self.memory.as_slice_mut()
    }

    /// Its first `bytes` bytes, shared without a copy.
    pub(crate) fn share(mut self, bytes: usize) -> Buffer {
        let bytes = bytes.min(self.memory.len());
        let Some(start) = NonNull::new(self.memory.as_mut_ptr()) else { return Buffer::default() };
        // SAFETY: `start` begins `memory`, which is at least `bytes` long and wholly initialised. The chunk is the allocation's owner:
        // the memory neither moves nor changes while the returned buffer or a slice of it lives, and goes back after the last.
        unsafe { Buffer::from_custom_allocation(start, bytes, Arc::new(self)) }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        if (REUSED_BYTES_MIN..=REUSED_BYTES_MAX).contains(&memory.len()) {
            let mut waiting = lock(&WAITING);
            if waiting.len() < WAITING_MAX {
                waiting.push(memory);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_returns_only_after_its_last_slice() {
        let bytes = 777_777;
        let mut chunk = Chunk::take(bytes);
        chunk.as_mut()[..3].copy_from_slice(b"abc");
        let first = chunk.as_mut().as_ptr();
        let slice = chunk.share(bytes).slice_with_length(1, 2);
        let other = Chunk::take(bytes);
        assert_ne!(other.memory.as_ptr(), first);
        assert_eq!(slice.as_slice(), b"bc");
        drop(slice);
        let again: Vec<_> = (0..WAITING_MAX).map(|_| Chunk::take(bytes)).collect();
        assert!(again.iter().any(|c| c.memory.as_ptr() == first), "used again");
        assert!(again.iter().all(|c| c.memory.len() >= bytes));
    }
}
