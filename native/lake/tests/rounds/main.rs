//! Rounds that fail, race, come too late or meet what they did not expect: no row is lost and none is there twice.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod columns_added;
mod compaction_changes_no_row;
mod compactions;
mod create_refuses;
mod every_call_fails;
mod filters_leave_out;
mod fixture;
mod object_stores;
mod old_snapshots_go;
mod others_commit_too;
mod zombies;
