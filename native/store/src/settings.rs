//! The settings of one store, read once from the catalog's options.
//!
//! Owns the one table from which parsing, defaults, bounds, the hint for a misspelt key and `docs/settings.md` all come.
//! Invariant: a [`Settings`] that exists is free of contradictions.

use crate::hint::nearest;
use crate::lake_settings::{self, LakeSettings};
use crate::remote_settings::{self, RemoteSettings};
use sluice_base::{Error, Result, Subject, parse_bytes, parse_duration};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// When an acknowledged row is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlushPolicy {
    /// After the disk said so: no acknowledged row is lost at a power cut.
    #[default]
    Disk,
    /// After the operating system has it: a crash of the process loses nothing, a power cut may lose the last seconds.
    Os,
}

/// The settings of one store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// When a write is acknowledged.
    pub flush_policy: FlushPolicy,
    /// Size at which a log segment is closed and the next one begins.
    pub segment_bytes_max: u64,
    /// Log bytes between two entries of a segment's index.
    pub index_interval_bytes: u64,
    /// Time between two looks for expired log segments.
    pub retention_check_interval: Duration,
    /// Bytes of rows on their way to the disk, over all writers, before writers wait.
    pub in_flight_bytes_max: u64,
    /// The largest row, key and value together.
    pub row_bytes_max: usize,
    /// Cache of single rows by key, shared by all buckets.
    pub kv_row_cache_bytes: u64,
    /// Cache of RocksDB blocks, shared by all buckets.
    pub kv_block_cache_bytes: u64,
    /// Size at which one bucket's memory table is written out.
    pub kv_write_buffer_bytes: u64,
    /// All memory tables together.
    pub kv_write_buffers_total_bytes: u64,
    /// Threads that write and merge row files.
    pub kv_threads: i32,
    /// Longest time that applied rows stay in memory tables only; bounds the replay after a crash.
    pub kv_flush_interval: Duration,
    /// Log bytes of one bucket that a crash would replay before its memory table is written out.
    pub kv_replay_bytes_max: u64,
    /// Time after which clients that read row files themselves are told a newer snapshot.
    pub kv_snapshot_interval: Duration,
    /// How many such times a snapshot that was told stays although nobody holds it.
    pub kv_snapshots_retained: u32,
    /// Time between two looks for snapshots whose lease has ended.
    pub snapshot_check_interval: Duration,
    /// How long offsets that a client leaves under a producer's name are kept, if it does not say.
    pub producer_offsets_ttl: Duration,
    /// Buckets of a table that names no number.
    pub bucket_count_default: i32,
    /// The most buckets that a table, or each partition of one, may have.
    pub bucket_count_max: i32,
    /// The most partitions that a table may have.
    pub partition_count_max: usize,
    /// Time between two looks at the clock for partitions to create and to drop.
    pub partition_check_interval: Duration,
    /// The store's lake.
    pub lake: LakeSettings,
    /// Where closed log segments are copied.
    pub remote: RemoteSettings,
    /// Time between two looks for segments to copy.
    pub remote_interval: Duration,
    /// Whether a new store may be filled from what another one has copied to the remote place.
    pub remote_restore: bool,
    /// Longest time that rows stay in a segment which is not copied yet.
    pub remote_roll_interval: Duration,
    /// So many segments of one bucket are copied at one look.
    pub remote_segments_max: usize,
}

enum Kind {
    Bytes,
    Millis,
    Count,
    Choice(&'static [&'static str]),
}

/// One line of the table. Every value is reduced to one number: bytes, milliseconds, a count, or the choice's position.
struct Setting {
    key: &'static str,
    kind: Kind,
    default: &'static str,
    min: u64,
    max: u64,
    meaning: &'static str,
    put: fn(&mut Settings, u64),
}

const MIB: u64 = 1 << 20;
const DAY_MS: u64 = 86_400_000;

#[rustfmt::skip]
const SETTINGS: &[Setting] = &[
    Setting { key: "auto-partition.check.interval", kind: Kind::Millis, default: "10min", min: 10, max: DAY_MS,
        meaning: "Time between two looks at the clock for partitions to create and to drop.",
        put: |s, v| s.partition_check_interval = Duration::from_millis(v) },
    Setting { key: "coordinator.producer-offsets.ttl", kind: Kind::Millis, default: "1d", min: 1, max: 365 * DAY_MS,
        meaning: "How long offsets are kept that a client of the protocol leaves under the name of a producer, if it does not say.",
        put: |s, v| s.producer_offsets_ttl = Duration::from_millis(v) },
    Setting { key: "default.bucket.number", kind: Kind::Count, default: "1", min: 1, max: 65_536,
        meaning: "Buckets of a table created without `bucket.num`.",
        put: |s, v| s.bucket_count_default = clamp_i32(v) },
    Setting { key: "kv.block-cache-size", kind: Kind::Bytes, default: "256mb", min: MIB, max: u64::MAX,
        meaning: "Cache for blocks of stored rows, shared by all buckets of primary-key tables.",
        put: |s, v| s.kv_block_cache_bytes = v },
    Setting { key: "kv.flush-interval", kind: Kind::Millis, default: "1min", min: 100, max: DAY_MS,
        meaning: "Longest time that rows of a primary-key table stay in memory before they reach its files. The log has them all the while; this bounds what a start after a crash replays.",
        put: |s, v| s.kv_flush_interval = Duration::from_millis(v) },
    Setting { key: "kv.replay-size-max", kind: Kind::Bytes, default: "256mb", min: MIB, max: u64::MAX,
        meaning: "Log bytes of one bucket not yet in its row files at which they are written out before the interval ends.",
        put: |s, v| s.kv_replay_bytes_max = v },
    Setting { key: "kv.row-cache-size", kind: Kind::Bytes, default: "192mb", min: 0, max: u64::MAX,
        meaning: "Cache for single rows of primary-key tables by key, shared by all buckets; what lookups and upserts of hot keys are served from.",
        put: |s, v| s.kv_row_cache_bytes = v },
    Setting { key: "kv.snapshot.interval", kind: Kind::Millis, default: "10min", min: 100, max: DAY_MS,
        meaning: "Clients that read the row files of a primary-key table themselves (Fluss's Java client and Flink connector) are told the same snapshot of a bucket for this long, then a newer one; what changed since they read from the changelog.",
        put: |s, v| s.kv_snapshot_interval = Duration::from_millis(v) },
    Setting { key: "kv.snapshot.num-retained", kind: Kind::Count, default: "2", min: 1, max: 1000,
        meaning: "For how many of these intervals such a snapshot stays after it was first told, if no client holds a lease of it.",
        put: |s, v| s.kv_snapshots_retained = u32::try_from(v).unwrap_or(u32::MAX) },
    Setting { key: "kv.thread-num", kind: Kind::Count, default: "2", min: 1, max: 1024,
        meaning: "Threads that write and merge row files, for all buckets together.",
        put: |s, v| s.kv_threads = clamp_i32(v) },
    Setting { key: "kv.write-buffer-size", kind: Kind::Bytes, default: "64mb", min: 64 << 10, max: 4096 * MIB,
        meaning: "Memory in which one bucket collects rows before it writes a file.",
        put: |s, v| s.kv_write_buffer_bytes = v },
    Setting { key: "kv.write-buffers-total-size", kind: Kind::Bytes, default: "256mb", min: MIB, max: u64::MAX,
        meaning: "All such memory of one store together. At least `kv.write-buffer-size`.",
        put: |s, v| s.kv_write_buffers_total_bytes = v },
    Setting { key: "log.flush.policy", kind: Kind::Choice(&["disk", "os"]), default: "disk", min: 0, max: 1,
        meaning: "When a write counts as done: `disk` after it is synced, `os` after the operating system has it (faster; a power cut may lose the last seconds).",
        put: |s, v| s.flush_policy = if v == 0 { FlushPolicy::Disk } else { FlushPolicy::Os } },
    Setting { key: "log.index.interval-size", kind: Kind::Bytes, default: "4kb", min: 64, max: 1024 * MIB,
        meaning: "Log bytes between two index entries. At most `log.segment.file-size`.",
        put: |s, v| s.index_interval_bytes = v },
    Setting { key: "log.retention.check-interval", kind: Kind::Millis, default: "5min", min: 10, max: DAY_MS,
        meaning: "Time between two looks for log segments older than `table.log.ttl`.",
        put: |s, v| s.retention_check_interval = Duration::from_millis(v) },
    Setting { key: "log.segment.file-size", kind: Kind::Bytes, default: "1gb", min: 1 << 10, max: 2047 * MIB,
        meaning: "Size at which a log file is closed and the next one begins.",
        put: |s, v| s.segment_bytes_max = v },
    Setting { key: "max.bucket.num", kind: Kind::Count, default: "4096", min: 1, max: 65_536,
        meaning: "The most buckets that one table, or each of its partitions, may have.",
        put: |s, v| s.bucket_count_max = clamp_i32(v) },
    Setting { key: "max.partition.num", kind: Kind::Count, default: "1000", min: 1, max: 1_000_000,
        meaning: "The most partitions that one table may have.",
        put: |s, v| s.partition_count_max = usize::try_from(v).unwrap_or(usize::MAX) },
    Setting { key: "remote.log.roll-interval", kind: Kind::Millis, default: "10min", min: 10, max: 365 * DAY_MS,
        meaning: "Time after which a segment that takes appends is closed and copied although it is not full: what a lost disk loses at most, with the next setting.",
        put: |s, v| s.remote_roll_interval = Duration::from_millis(v) },
    Setting { key: "remote.log.task-interval-duration", kind: Kind::Millis, default: "1min", min: 10, max: DAY_MS,
        meaning: "Time between two looks for closed log segments to copy to `remote.data.dir`, and for local files that have a copy and may go.",
        put: |s, v| s.remote_interval = Duration::from_millis(v) },
    Setting { key: "remote.log.task-max-upload-segments", kind: Kind::Count, default: "5", min: 1, max: 1_000_000,
        meaning: "The most segments of one bucket that are copied at one look.",
        put: |s, v| s.remote_segments_max = usize::try_from(v).unwrap_or(usize::MAX) },
    Setting { key: "remote.restore", kind: Kind::Choice(&["false", "true"]), default: "false", min: 0, max: 1,
        meaning: "Whether a store with an empty directory takes over what a lost one has copied to `remote.data.dir`, and comes back with it. Without effect once the store has a catalog.",
        put: |s, v| s.remote_restore = v == 1 },
    Setting { key: "snapshot.check-interval", kind: Kind::Millis, default: "10s", min: 10, max: DAY_MS,
        meaning: "Time between two looks for snapshots that no reader holds any more.",
        put: |s, v| s.snapshot_check_interval = Duration::from_millis(v) },
    Setting { key: "write.in-flight-size-max", kind: Kind::Bytes, default: "64mb", min: MIB, max: u64::MAX,
        meaning: "Bytes of rows on their way to the disk, over all writers of the store, at which writers wait. A Flink sink whose rows are not taken, or not durable, for `client.request-timeout` (a table option, default `30s`) fails its job; until then it tries again, and the job can be cancelled.",
        put: |s, v| s.in_flight_bytes_max = v },
    Setting { key: "write.row-size-max", kind: Kind::Bytes, default: "10mb", min: 1 << 10, max: 64 * MIB,
        meaning: "The largest row that a write may hold, key and value together; a larger one is refused, and its batch with it.",
        put: |s, v| s.row_bytes_max = usize::try_from(v).unwrap_or(usize::MAX) },
];

/// Keys of a catalog's options that are not in the table above: the connector reads them, and [`LakeSettings`] those of the lake.
const FOREIGN_KEYS: &[&str] = &["type", "bootstrap.servers", "default-database", "property-version"];
const FOREIGN_PREFIXES: &[&str] = &["client.", "paimon.", "iceberg.", "lance.", "hudi.", lake_settings::PREFIX];

/// The bounds of every count keep it inside `i32`.
fn clamp_i32(value: u64) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

impl Setting {
    fn parse(&self, text: &str) -> Result<u64> {
        let value = match self.kind {
            Kind::Bytes => parse_bytes(text),
            Kind::Millis => parse_duration(text).map(|d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX)),
            Kind::Count => text.trim().parse().map_err(|_| {
                Error::invalid(
                    Subject::Option,
                    format!("'{text}' is not a whole number; write for example {}", self.default),
                )
            }),
            Kind::Choice(names) => {
                let at = names.iter().position(|n| n.eq_ignore_ascii_case(text.trim()));
                at.map(|i| i as u64).ok_or_else(|| {
                    Error::invalid(Subject::Option, format!("'{text}' is not one of {}", names.join(", ")))
                })
            }
        };
        let value = value.map_err(|e| e.context(format_args!("setting '{}'", self.key)))?;
        if value < self.min || value > self.max {
            return Err(Error::invalid(
                Subject::Option,
                format!("setting '{}' is '{text}', outside {}", self.key, self.range()),
            ));
        }
        Ok(value)
    }

    fn range(&self) -> String {
        let show = |v: u64| match self.kind {
            Kind::Bytes => show_bytes(v),
            Kind::Millis => show_millis(v),
            Kind::Count | Kind::Choice(_) => v.to_string(),
        };
        match self.kind {
            Kind::Choice(names) => names.join(", "),
            _ if self.max == u64::MAX => format!("{} or more", show(self.min)),
            _ => format!("{} to {}", show(self.min), show(self.max)),
        }
    }

    const fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Bytes => "size",
            Kind::Millis => "duration",
            Kind::Count => "integer",
            Kind::Choice(_) => "one of",
        }
    }
}

fn show_bytes(bytes: u64) -> String {
    match bytes.trailing_zeros() {
        20.. if bytes > 0 => format!("{}mb", bytes >> 20),
        10..=19 => format!("{}kb", bytes >> 10),
        _ => format!("{bytes}b"),
    }
}

fn show_millis(ms: u64) -> String {
    match ms {
        DAY_MS.. if ms.is_multiple_of(DAY_MS) => format!("{}d", ms / DAY_MS),
        1000.. if ms.is_multiple_of(1000) => format!("{}s", ms / 1000),
        _ => format!("{ms}ms"),
    }
}

impl Settings {
    /// Reads the store's settings out of a catalog's options. Options of the connector and of the lake (`type`,
    /// `bootstrap.servers`, `default-database`, `client.*`, `paimon.*` and its like) are passed over.
    ///
    /// # Errors
    /// `Invalid` about `Option` for an unknown key (naming the nearest known one), an unreadable or out-of-range
    /// value, or two settings that contradict each other.
    pub fn from_options(options: &BTreeMap<String, String>) -> Result<Self> {
        let (lake, remote) = (LakeSettings::from_options(options)?, RemoteSettings::from_options(options)?);
        let mut settings = Self { lake, remote, ..Self::default() };
        for setting in SETTINGS {
            let text = options.get(setting.key).map_or(setting.default, String::as_str);
            (setting.put)(&mut settings, setting.parse(text)?);
        }
        for key in options.keys() {
            if !is_foreign(key) && !SETTINGS.iter().any(|s| s.key == key) {
                return Err(unknown(key));
            }
        }
        settings.check()?;
        Ok(settings)
    }

    fn check(&self) -> Result<()> {
        let contradiction = |a: &str, relation: &str, b: &str| {
            Err(Error::invalid(
                Subject::Option,
                format!("setting '{a}' must be {relation} '{b}'; change one of the two"),
            ))
        };
        if self.bucket_count_default > self.bucket_count_max {
            return contradiction("default.bucket.number", "at most", "max.bucket.num");
        }
        if self.index_interval_bytes > self.segment_bytes_max {
            return contradiction("log.index.interval-size", "at most", "log.segment.file-size");
        }
        if self.kv_write_buffers_total_bytes < self.kv_write_buffer_bytes {
            return contradiction("kv.write-buffers-total-size", "at least", "kv.write-buffer-size");
        }
        Ok(())
    }

    /// Refuses options that name another value than this already running store has.
    ///
    /// # Errors
    /// `Conflict` about `Option` naming the first setting that differs, and those of [`Settings::from_options`].
    pub(crate) fn check_agrees(&self, options: &BTreeMap<String, String>) -> Result<()> {
        Self::from_options(options)?;
        for setting in SETTINGS {
            let Some(text) = options.get(setting.key) else { continue };
            let mut wanted = self.clone();
            (setting.put)(&mut wanted, setting.parse(text)?);
            if wanted != *self {
                let message = format!(
                    "the store is already open in this process with another '{}' than '{text}'; give the same value or none, \
                     or close the store first",
                    setting.key
                );
                return Err(Error::new(sluice_base::ErrorKind::Conflict, Subject::Option, message));
            }
        }
        if let Some(key) = self.lake.differs(options).or_else(|| self.remote.differs(options)) {
            let message = format!(
                "the store is already open in this process with another '{key}'; give the same value or none, or close the store first"
            );
            return Err(Error::new(sluice_base::ErrorKind::Conflict, Subject::Option, message));
        }
        Ok(())
    }
}

fn is_foreign(key: &str) -> bool {
    FOREIGN_KEYS.contains(&key) || remote_settings::is_known(key) || FOREIGN_PREFIXES.iter().any(|p| key.starts_with(p))
}

fn unknown(key: &str) -> Error {
    let keys = SETTINGS.iter().map(|s| s.key).chain(FOREIGN_KEYS.iter().copied()).chain(remote_settings::keys());
    let hint = nearest(key, keys).map_or_else(String::new, |k| format!("; did you mean '{k}'?"));
    Error::invalid(Subject::Option, format!("'{key}' is not a known option of the catalog{hint}"))
}

/// The first half of `docs/settings.md`: the settings of a store.
pub(crate) fn page() -> String {
    let mut out = String::from(
        "## Settings of a store\n\nGiven in `CREATE CATALOG … WITH (…)` beside `type` and `bootstrap.servers`. They belong to the \
         process that has the store open: a second catalog of the same process and directory joins the open store and must name the same \
         values or none. A server's store has them from the server's configuration (`conf/server.yaml`, `-D`); a catalog over the network \
         (`host:port`) that names one is refused, and has options of its own (`docs/server.md`). Sizes are powers of 1024 (`64mb`), durations read like `500ms`, `10 min`, `7d`.\n\n\
         | key | type | default | range | meaning |\n|---|---|---|---|---|\n",
    );
    for s in SETTINGS {
        let _ = writeln!(out, "| `{}` | {} | `{}` | {} | {} |", s.key, s.type_name(), s.default, s.range(), s.meaning);
    }
    out.push('\n');
    out.push_str(&remote_settings::page());
    out.push_str(&lake_settings::page());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn defaults_and_values() {
        let s = Settings::from_options(&options(&[
            ("type", "fluss"),
            ("client.security.protocol", "SASL"),
            ("log.flush.policy", "OS"),
            ("log.segment.file-size", "1 mb"),
        ]))
        .unwrap();
        assert_eq!(s.flush_policy, FlushPolicy::Os);
        assert_eq!(s.segment_bytes_max, 1 << 20);
        assert_eq!(s.bucket_count_max, 4096);
        assert_eq!(s.kv_flush_interval, Duration::from_secs(60));
    }

    #[test]
    fn refusals_name_the_key() {
        for (pairs, parts) in [
            (vec![("log.flush.polcy", "os")], vec!["'log.flush.polcy'", "did you mean 'log.flush.policy'?"]),
            (vec![("zzz", "os")], vec!["'zzz' is not a known option of the catalog"]),
            (vec![("log.flush.policy", "never")], vec!["'log.flush.policy'", "disk, os"]),
            (vec![("log.segment.file-size", "4gb")], vec!["'log.segment.file-size'", "1kb to 2047mb"]),
            (vec![("max.bucket.num", "many")], vec!["'max.bucket.num'", "whole number"]),
            (vec![("kv.flush-interval", "soon")], vec!["'kv.flush-interval'", "duration"]),
            (
                vec![("default.bucket.number", "9"), ("max.bucket.num", "8")],
                vec!["default.bucket.number", "max.bucket.num"],
            ),
            (vec![("log.segment.file-size", "1kb")], vec!["log.index.interval-size", "log.segment.file-size"]),
            (vec![("kv.write-buffers-total-size", "1mb")], vec!["kv.write-buffer-size"]),
        ] {
            let e = Settings::from_options(&options(&pairs)).unwrap_err();
            assert_eq!((e.kind(), e.subject()), (sluice_base::ErrorKind::Invalid, Subject::Option), "{e}");
            for part in parts {
                assert!(e.message().contains(part), "{e} lacks {part}");
            }
        }
    }

    #[test]
    fn a_second_opener_must_agree() {
        let s = Settings::from_options(&options(&[("log.flush.policy", "os")])).unwrap();
        s.check_agrees(&options(&[])).unwrap();
        s.check_agrees(&options(&[("log.flush.policy", "os"), ("max.bucket.num", "4096")])).unwrap();
        let e = s.check_agrees(&options(&[("log.flush.policy", "disk")])).unwrap_err();
        assert!(e.message().contains("'log.flush.policy'"), "{e}");
    }

    #[test]
    fn keys_are_sorted_and_unique() {
        assert!(SETTINGS.is_sorted_by(|a, b| a.key < b.key));
    }
}
