//! The server as a client sees it: bytes in, bytes out, over real sockets. One behaviour a file.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod actions;
mod client;
mod every_request_is_answered;
mod fixture;
mod garbage_harms_nobody;
mod killed_under_load;
mod lake_is_told;
mod long_poll_wakes_on_commit;
mod looked_at_from_outside;
mod order_is_kept;
mod partitions_come_and_go;
mod producers_leave_offsets;
mod projection_rewrites_columns;
mod rights_are_asked_for;
mod rows_by_key;
mod sent_again_is_written_once;
mod snapshots_are_told;
mod tables_come_and_go;
mod users_are_let_in;
