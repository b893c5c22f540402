//! The numbers that size RocksDB for a whole store.

/// Sizes shared by all buckets of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KvSettings {
    /// Bytes of single rows kept in memory in front of RocksDB, for all buckets together; 0 = none.
    pub row_cache_bytes: u64,
    /// Bytes of data blocks kept in memory, for all buckets together.
    pub block_cache_bytes: u64,
    /// Bytes of fresh rows after which one bucket writes them to a file.
    pub write_buffer_bytes: u64,
    /// Bytes of fresh rows of all buckets together; beyond it the largest is written out early.
    pub write_buffers_total_bytes: u64,
    /// Threads that write and merge files, for all buckets together.
    pub background_threads: i32,
}

impl Default for KvSettings {
    fn default() -> Self {
        Self {
            row_cache_bytes: 192 << 20,
            block_cache_bytes: 128 << 20,
            write_buffer_bytes: 64 << 20,
            write_buffers_total_bytes: 256 << 20,
            background_threads: 2,
        }
    }
}
