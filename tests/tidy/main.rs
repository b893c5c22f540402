//! The rules of the house, read from the sources themselves: walls between rooms, sizes, bans, and what must be equal in Rust and Java.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod code;
mod crates;
mod knots;
mod rooms;
mod sizes;
mod tree;
mod twins;
mod words;

/// Fails with all complaints at once.
fn none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n  {}\n", complaints.join("\n  "));
}
