//! Settings to RocksDB options, each with its why.
//!
//! Files must stay readable by old RocksDB releases (other tools open checkpoints): table format 5, CRC-32C.

use crate::{KvSettings, KvShared};
use rocksdb::{
    BlockBasedOptions, ChecksumType, DBCompressionType, DataBlockIndexType, FlushOptions, LogLevel, Options,
    ReadOptions, WriteOptions,
};

const TABLE_FORMAT: i32 = 5;
/// Upper levels hold what is hot: they stay uncompressed, so that a lookup does not decompress.
const LEVELS: [DBCompressionType; 7] = [
    DBCompressionType::None,
    DBCompressionType::None,
    DBCompressionType::None,
    DBCompressionType::Lz4,
    DBCompressionType::Lz4,
    DBCompressionType::Lz4,
    DBCompressionType::Lz4,
];

pub(crate) fn options(shared: &KvShared) -> Options {
    let settings = &shared.settings;
    // Whoever closes has saved or has met a disk that takes nothing; the log has the rows, so closing need not try again, at a second a try.
    let closes_at_once = Options::default().get_options_from_string("avoid_flush_during_shutdown=true");
    let mut o = closes_at_once.unwrap_or_default();
    o.create_if_missing(true);
    o.set_env(&shared.env);
    o.set_block_based_table_factory(&table(shared));
    o.set_compression_per_level(&LEVELS);
    memory(&mut o, settings, shared);
    quiet(&mut o);
    o
}

/// Row files in the form that old releases read, too.
pub(crate) fn for_all_readers() -> BlockBasedOptions {
    let mut t = BlockBasedOptions::default();
    t.set_format_version(TABLE_FORMAT);
    t.set_checksum_type(ChecksumType::CRC32c);
    t
}

fn table(shared: &KvShared) -> BlockBasedOptions {
    let mut t = for_all_readers();
    t.set_block_cache(&shared.block_cache);
    // Index and filter live with the open file, outside the cache: a lookup never waits for them nor takes its locks.
    t.set_cache_index_and_filter_blocks(false);
    t.set_bloom_filter(10.0, false);
    // A hash within each data block saves the binary search of a point lookup.
    t.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    t.set_data_block_hash_ratio(0.75);
    t.set_block_size(4 << 10);
    t
}

fn memory(o: &mut Options, settings: &KvSettings, shared: &KvShared) {
    o.set_write_buffer_size(usize::try_from(settings.write_buffer_bytes).unwrap_or(usize::MAX));
    o.set_max_write_buffer_number(3);
    o.set_write_buffer_manager(&shared.write_buffers);
    // A filter in front of the fresh rows, so that a lookup of a key that lies in a file skips their skip list.
    o.set_memtable_prefix_bloom_ratio(0.02);
    o.set_memtable_whole_key_filtering(true);
    // One writer at a time writes; the lock-free insert path costs more than it gives then.
    o.set_allow_concurrent_memtable_write(false);
    o.set_enable_pipelined_write(false);
}

/// Less chatter on disk: an idle bucket has a few small files.
fn quiet(o: &mut Options) {
    o.set_log_level(LogLevel::Warn);
    o.set_keep_log_file_num(2);
    o.set_max_log_file_size(1 << 20);
    o.set_stats_dump_period_sec(0);
    o.set_stats_persist_period_sec(0);
    o.set_manifest_preallocation_size(64 << 10);
}

pub(crate) fn write_options() -> WriteOptions {
    let mut w = WriteOptions::default();
    w.disable_wal(true);
    // See `Kv::write_when_taken`.
    w.set_no_slowdown(true);
    w.set_memtable_insert_hint_per_batch(true);
    w
}

pub(crate) fn scan_options() -> ReadOptions {
    let mut r = ReadOptions::default();
    // A scan must not push the hot blocks out.
    r.fill_cache(false);
    r
}

pub(crate) fn flush_options(wait: bool) -> FlushOptions {
    let mut f = FlushOptions::default();
    f.set_wait(wait);
    f
}
