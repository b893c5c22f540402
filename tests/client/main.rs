//! The client over real sockets against our own server. One behaviour a file; those of one store hold over the network too.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../bucket/fixture.rs"]
#[expect(dead_code, reason = "here stores are reached over sockets")]
mod bucket;
mod catalog_over_the_wire;
mod cut_connections_double_nothing;
mod fixture;
mod lakes_behind_servers;
mod partitions_are_routed;
mod plain_protocol;
mod rows_are_taken_back;
mod rules_of_access;
mod server_goes_and_comes_back;
mod silent_servers_are_given_up;
mod snapshots_go_on_in_the_log;
mod users_are_let_in;

#[path = "../bucket/append_then_scan.rs"]
mod append_then_scan;
#[path = "../bucket/auto_increment.rs"]
mod auto_increment;
#[path = "../bucket/bad_batches_write_nothing.rs"]
mod bad_batches_write_nothing;
#[path = "../bucket/batch_rows_are_bounded.rs"]
mod batch_rows_are_bounded;
#[path = "../bucket/cells.rs"]
#[expect(dead_code, reason = "not all kinds of cells are written over sockets")]
mod cells;
#[path = "../bucket/key_not_leading.rs"]
mod key_not_leading;
#[path = "../bucket/limit.rs"]
mod limit;
#[path = "../bucket/lookup_sees_acknowledged.rs"]
mod lookup_sees_acknowledged;
#[path = "../bucket/null_keys_match_nothing.rs"]
mod null_keys_match_nothing;
#[path = "../bucket/order_within_batch.rs"]
mod order_within_batch;
#[path = "../bucket/prefix_lookup.rs"]
mod prefix_lookup;
#[path = "../bucket/reader_wakes_on_commit.rs"]
mod reader_wakes_on_commit;
#[path = "../bucket/shared_lookup.rs"]
mod shared_lookup;
#[path = "../bucket/snapshot_then_log_exact.rs"]
mod snapshot_then_log_exact;
#[path = "../bucket/stop_offsets.rs"]
mod stop_offsets;
#[path = "../bucket/upsert_emits_before_image.rs"]
mod upsert_emits_before_image;
