//! What a log does when the disk fails it: every call of the file system fails or tears once, the power goes, bits flip, space runs out.
//! Afterwards it is opened again and compared with a model: nothing that a sync acknowledged is lost, nothing is invented.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod disk_full;
mod every_call_fails;
mod flipped_bits;
mod power_loss;
mod workload;
