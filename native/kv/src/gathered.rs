//! How much all buckets of a store have gathered that RocksDB has not, and how much one of them may.

use std::sync::atomic::{AtomicU64, Ordering};

/// One bucket gathers no more than this.
const BUCKET_BYTES_MAX: u64 = 2 << 20;
/// However many buckets there are, each may gather this much.
const BUCKET_BYTES_MIN: u64 = 64 << 10;
/// All buckets of a store together, as long as that leaves each its least.
const TOTAL_BYTES: u64 = 32 << 20;
/// What is gathered is a small part of what RocksDB holds before it writes a file.
const PART_OF_WRITE_BUFFER: u64 = 8;

/// What the buckets of a store have gathered together.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    bytes: AtomicU64,
    buckets: AtomicU64,
}

impl Gathered {
    /// Bytes of all buckets.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// A bucket has so many bytes more.
    pub(crate) fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// A bucket has so many bytes less.
    pub(crate) fn sub(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// One bucket more.
    pub(crate) fn join(&self) {
        self.buckets.fetch_add(1, Ordering::Relaxed);
    }

    /// One bucket less.
    pub(crate) fn leave(&self) {
        self.buckets.fetch_sub(1, Ordering::Relaxed);
    }

    /// Bytes that each bucket may gather.
    pub(crate) fn share(&self, write_buffer_bytes: u64) -> u64 {
        let share = TOTAL_BYTES / self.buckets.load(Ordering::Relaxed).max(1);
        share.clamp(BUCKET_BYTES_MIN, BUCKET_BYTES_MAX).min(write_buffer_bytes / PART_OF_WRITE_BUFFER)
    }
}
