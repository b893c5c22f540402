//! The data paths of one store: write, merge, scan, look up, snapshot, expire, recover. One behaviour a file.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod append_then_scan;
mod auto_increment;
mod auto_increment_survives;
mod bad_batches_write_nothing;
mod batch_rows_are_bounded;
mod buckets_follow_the_key;
mod cells;
mod crash_equals_model;
mod delete_of_absent_key;
mod disk_full_refuses_and_heals;
mod dropped_table_ends_everyone;
mod expired_offset_names_range;
mod filtered_scans;
mod fixture;
mod huge_row;
mod key_not_leading;
mod lease_survives_reopen;
mod limit;
mod lookup_sees_acknowledged;
mod many_buckets_open_and_close;
mod many_tiny_rows;
mod many_writers_share_little_room;
mod merge_engines_equal_model;
mod merged_changelogs;
mod null_keys_match_nothing;
mod offsets_by_time;
mod order_within_batch;
mod partial_updates;
mod partitions;
mod prefix_lookup;
mod reader_wakes_on_commit;
mod real_disk_full;
mod reopen_replays;
mod schema_evolution_pads;
mod shared_lookup;
mod snapshot_then_log_exact;
mod stop_offsets;
mod stuck_disk_refuses_whole_batches;
mod sync_failure_tells_the_writer;
mod undo_takes_back;
mod upsert_emits_before_image;
mod writes_race_commits;
mod zstd_level;
