//! The real binary with tables from a shell: over a directory, and over a server that it runs itself.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod fixture;
mod follows;
mod mistakes_are_named;
mod rows_in_and_out;
mod tables_are_shown;
