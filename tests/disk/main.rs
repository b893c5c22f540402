//! Real disks that fail: a small one that is full, one that turns read-only, one whose files are damaged. The whole store, through its
//! interface.
//!
//! Tests that need a disk of their own mount one (tmpfs, or ext4 in a file) and need root for it; without, they say so and pass.
//! `SLUICE_SEED` chooses what is written; a failure prints it.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod damage;
mod full;
mod full_then_opened;
mod lost_power;
mod mount;
mod offer;
mod read_only;
#[path = "../kill/tables.rs"]
#[allow(dead_code, reason = "shared with another binary, which uses the rest")]
mod tables;

fn seed() -> u64 {
    std::env::var("SLUICE_SEED").map_or(20_251_130, |s| s.parse().expect("SLUICE_SEED is a number"))
}

/// Prints the seed when a test fails.
struct Told;

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("SLUICE_SEED={}", seed());
        }
    }
}
