//! The catalog and its rules: every refusal says what is wrong, nothing refused leaves a trace, nothing accepted is lost.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod alter;
mod auto_increment;
mod create;
mod databases;
mod directory;
mod durability;
mod fixture;
mod merging;
mod partitions;
mod settings_page;
mod views;
