//! A store and its lake: what flows there, what a reader of both finds, and that nothing is lost or doubled on the way.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../../native/lake/tests/judged/canonical.rs"]
mod canonical;
mod columns_added;
mod compacted_behind_rounds;
mod driven_from_outside;
mod expiry_waits_for_the_lake;
#[path = "../bucket/fixture.rs"]
#[expect(dead_code, reason = "shared with the tests of buckets, which use all of it")]
mod fixture;
mod house;
mod in_a_bucket;
mod judged;
mod killed_at_any_time;
mod partitioned_tables;
mod rounds_equal_model;
mod switched_on_and_off;
mod union_reads;
mod works_by_itself;
