//! Bounds of what clients can make a server hold.

use std::time::Duration;

/// Requests of one connection that are not answered yet; the next one is not read before.
pub(crate) const REQUESTS_IN_FLIGHT_MAX: usize = 256;
/// Questions of one connection that are worked on at once, fetches aside.
pub(crate) const QUESTIONS_MAX: usize = 8;
/// Answers of one connection that its client has not read yet.
pub(crate) const CONNECTION_KIB_MAX: u32 = 32 << 10;
/// The longest answer to a fetch, whatever its client says.
pub(crate) const FETCH_BYTES_MAX: usize = 16 << 20;
/// The rows of one lookup by prefix or limited scan, in bytes.
pub(crate) const FOUND_BYTES_MAX: usize = 64 << 20;
/// A client that takes no bytes of an answer for so long is cut off.
pub(crate) const WRITE_STALL_MAX: Duration = Duration::from_secs(30);
/// The rest of a frame must follow its length within this time.
pub(crate) const FRAME_STALL_MAX: Duration = Duration::from_secs(60);
/// The longest that a fetch waits for rows, whatever its client says.
pub(crate) const FETCH_WAIT_MAX: Duration = Duration::from_secs(60);
/// Scans of rows that clients have open, over all connections.
pub(crate) const ROW_SCANS_MAX: usize = 1024;
/// After this time a scan of rows that nobody asks is closed.
pub(crate) const ROW_SCAN_IDLE_MAX: Duration = Duration::from_secs(300);
/// The longest that a write waits for the disk, whatever its client says.
pub(crate) const WRITE_WAIT_MAX: Duration = Duration::from_secs(60);
/// A client that must say who it is has this time for it.
pub(crate) const STRANGER_MAX: Duration = Duration::from_secs(15);
/// Connections of one listener whose user is not known yet; more are closed at once.
pub(crate) const STRANGERS_MAX: usize = 256;
/// The longest request of a client that is not known yet.
pub(crate) const STRANGER_FRAME_BYTES_MAX: usize = 16 << 10;
/// After this time a server that shall stop no longer waits for requests that are not answered.
pub(crate) const DRAIN_MAX: Duration = Duration::from_secs(10);

/// Bounds that are settings.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) frame_bytes_max: usize,
    pub(crate) connections_max: usize,
    pub(crate) idle_max: Duration,
    /// Requests and answers in memory, over all connections, in KiB.
    pub(crate) memory_kib_max: u32,
}

/// Bytes as whole KiB, at least one.
pub(crate) fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX).max(1)
}
