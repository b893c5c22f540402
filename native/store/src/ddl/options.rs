//! The `table.*` options: every key with its type, default and whether it can be changed later.
//!
//! Owns the one table from which checking, defaults, the hint for a misspelt key and the second half of
//! `docs/settings.md` come. Keys outside `table.*` are custom properties; they are kept byte for byte and never judged here.

use super::keys::physical_key;
use crate::auto_partition;
use crate::hint::nearest;
use sluice_base::{Error, Result, Subject, parse_duration};
use sluice_log::{Compression, ZstdLevel};
use sluice_row::{KeyFormat, TableDescriptor};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What all keys of this module begin with.
pub(crate) const PREFIX: &str = "table.";
const LAKE_FORMATS: &[&str] = &["paimon", "iceberg", "lance", "hudi"];

/// Keys that the store writes into a new table itself.
pub(crate) const REPLICATION_FACTOR: &str = "table.replication.factor";
pub(crate) const KV_FORMAT_VERSION: &str = "table.kv.format-version";
pub(crate) const DATALAKE_FORMAT: &str = "table.datalake.format";

/// Keys about the lake.
const DATALAKE_ENABLED: &str = "table.datalake.enabled";
const DATALAKE_FRESHNESS: &str = "table.datalake.freshness";
const DATALAKE_SYSTEM_COLUMNS: &str = "table.datalake.system-columns";

/// Keys that say how rows of one key are merged.
pub(crate) const MERGE_ENGINE: &str = "table.merge-engine";
pub(crate) const VERSION_COLUMN: &str = "table.merge-engine.versioned.ver-column";
pub(crate) const DELETE_BEHAVIOR: &str = "table.delete.behavior";
pub(crate) const CHANGELOG_IMAGE: &str = "table.changelog.image";

const LOG_TTL: &str = "table.log.ttl";
const DATALAKE_AUTO_COMPACTION: &str = "table.datalake.auto-compaction";
const DATALAKE_AUTO_EXPIRE: &str = "table.datalake.auto-expire-snapshot";
const LOG_LOCAL_TTL: &str = "table.log.local-ttl";
const LOG_LOCAL_SEGMENTS: &str = "table.log.tiered.local-segments";
const LOG_COMPRESSION: &str = "table.log.arrow.compression.type";
const LOG_ZSTD_LEVEL: &str = "table.log.arrow.compression.zstd.level";
pub(crate) const AUTO_INCREMENT_STEP: &str = "table.auto-increment.cache-size";
pub(crate) const STATISTICS_COLUMNS: &str = "table.statistics.columns";

enum Kind {
    Bool,
    Int { min: i64, max: i64 },
    Duration,
    Choice(&'static [&'static str]),
    Text,
}

struct TableOption {
    key: &'static str,
    kind: Kind,
    /// Shown in the documentation only; empty when there is none.
    default: &'static str,
    alterable: bool,
    /// Refused on log tables.
    key_tables_only: bool,
    /// The one value that works today, and what is asked for with any other.
    only: Option<(&'static str, &'static str)>,
    meaning: &'static str,
}

const INT_MAX: i64 = i32::MAX as i64;

impl TableOption {
    const fn new(key: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Self {
        Self { key, kind, default, alterable: false, key_tables_only: false, only: None, meaning }
    }

    const fn alterable(mut self) -> Self {
        self.alterable = true;
        self
    }

    const fn for_key_tables(mut self) -> Self {
        self.key_tables_only = true;
        self
    }

    const fn only(mut self, value: &'static str, others: &'static str) -> Self {
        self.only = Some((value, others));
        self
    }
}

#[rustfmt::skip]
const OPTIONS: &[TableOption] = &[
    TableOption::new(AUTO_INCREMENT_STEP, Kind::Int { min: 1, max: i64::MAX }, "100000", "Numbers of an auto-increment column that are reserved on the disk at once; a crash loses those that were not given."),
    TableOption::new(auto_partition::ENABLED, Kind::Bool, "false", "Creates and expires partitions by the clock.").alterable(),
    TableOption::new(auto_partition::KEY, Kind::Text, "", "The partition column that holds the time; needed when there are several."),
    TableOption::new(auto_partition::NUM_PRECREATE, Kind::Int { min: 0, max: INT_MAX }, "2", "Partitions created ahead, the present one included; 0 with several partition columns.").alterable(),
    TableOption::new(auto_partition::NUM_RETENTION, Kind::Int { min: -INT_MAX - 1, max: INT_MAX }, "7", "Past partitions kept; negative keeps all.").alterable(),
    TableOption::new(auto_partition::TIME_FORMAT, Kind::Text, "by unit", "Pattern of the partition's time: the unit's fields from `yyyy`, `Q`, `MM`, `dd`, `HH`, and text between them."),
    TableOption::new(auto_partition::TIME_UNIT, Kind::Choice(auto_partition::UNITS), "DAY", "Span of one partition."),
    TableOption::new(auto_partition::TIME_ZONE, Kind::Text, "system zone", "Zone in which the partition's time is read."),
    TableOption::new(CHANGELOG_IMAGE, Kind::Choice(&["FULL", "WAL"]), "FULL", "Whether the changelog holds rows as they were before an update; WAL spares a look at the old row. Not for `aggregation`."),
    TableOption::new(DATALAKE_AUTO_COMPACTION, Kind::Bool, "false", "Merges files of the lake behind the rounds, as Paimon picks them (`docs/lake.md`). Paimon's own compaction job may run beside.").alterable(),
    TableOption::new(DATALAKE_AUTO_EXPIRE, Kind::Bool, "false", "Takes old snapshots of the lake away after a round: those that were replaced longer ago than `paimon.snapshot.time-retained` (1 h), but for the last `paimon.snapshot.num-retained.min` (10). Paimon's own `expire_snapshots` may run beside.").alterable(),
    TableOption::new(DATALAKE_ENABLED, Kind::Bool, "false", "Lets rows flow on into the lake (`docs/lake.md`). Needs the setting `datalake.paimon.warehouse`.").alterable(),
    TableOption::new(DATALAKE_FORMAT, Kind::Choice(LAKE_FORMATS), "paimon", "Format of the lake; decides bucket function and key encoding, written into every new table.")
        .only("paimon", "lake formats other than paimon"),
    TableOption::new(DATALAKE_FRESHNESS, Kind::Duration, "3min", "How far the lake may lag.").alterable(),
    TableOption::new("table.datalake.historical-partition.enabled", Kind::Bool, "false", "Lookups into partitions that live in the lake only.").alterable()
        .only("false", "lookups into historical partitions"),
    TableOption::new(DATALAKE_SYSTEM_COLUMNS, Kind::Bool, "true", "Whether rows in the lake carry `__offset` and `__timestamp` as their last columns."),
    TableOption::new(DELETE_BEHAVIOR, Kind::Choice(&["allow", "ignore", "disable", "retract"]), "allow", "What a delete does; with a merge engine the default is ignore. `first_row` and `versioned` take ignore and disable, only `aggregation` takes retract.").for_key_tables(),
    TableOption::new("table.kv.format", Kind::Choice(&["COMPACTED", "INDEXED"]), "COMPACTED", "Encoding of stored rows.")
        .only("COMPACTED", "row formats other than COMPACTED"),
    TableOption::new(KV_FORMAT_VERSION, Kind::Int { min: 1, max: 2 }, "2", "Encoding of primary keys; written into every new primary-key table."),
    TableOption::new("table.kv.standby-replica.enabled", Kind::Bool, "", "A hot standby; without effect in a store of one node.").alterable().for_key_tables(),
    TableOption::new(LOG_COMPRESSION, Kind::Choice(&["NONE", "LZ4_FRAME", "ZSTD"]), "ZSTD", "How log batches are packed."),
    TableOption::new(LOG_ZSTD_LEVEL, Kind::Int { min: 1, max: 22 }, "3", "Most effort of ZSTD; a buffer that would get less than a sixteenth smaller by it is packed at level 1."),
    TableOption::new("table.log.format", Kind::Choice(&["ARROW", "INDEXED", "COMPACTED"]), "ARROW", "Encoding of log batches.")
        .only("ARROW", "log formats other than ARROW"),
    TableOption::new(LOG_LOCAL_TTL, Kind::Duration, "`table.log.ttl`", "Age at which local segments that have a remote copy go, also the newest closed ones; at most `table.log.ttl`, `0ms` = no age. Without effect where there is no `remote.data.dir`: local segments stay for `table.log.ttl`.").alterable(),
    TableOption::new(LOG_LOCAL_SEGMENTS, Kind::Int { min: 1, max: INT_MAX }, "2", "So many of the newest log segments of a bucket stay on the local disk although they have a remote copy, the one that takes appends counted. Without effect where there is no `remote.data.dir`.").alterable(),
    TableOption::new(LOG_TTL, Kind::Duration, "7d", "Age at which log rows may go; `0ms` keeps them for ever.").alterable(),
    TableOption::new(MERGE_ENGINE, Kind::Choice(&["first_row", "versioned", "aggregation"]), "", "What becomes of a second row with the same key; unset = the last one wins.").for_key_tables(),
    TableOption::new(VERSION_COLUMN, Kind::Text, "", "The version column of the `versioned` engine: INT, BIGINT, TIMESTAMP or TIMESTAMP_LTZ.").for_key_tables(),
    TableOption::new(REPLICATION_FACTOR, Kind::Int { min: 1, max: INT_MAX }, "1", "Copies of each bucket; a store of one node has 1."),
    TableOption::new(STATISTICS_COLUMNS, Kind::Text, "the first 32", "Columns of a log table with statistics kept beside their batches, by which filters skip what they need not read: a list, `*` for all, empty for none. Binary and nested ones have none.").alterable(),
];

fn find(key: &str) -> Option<&'static TableOption> {
    OPTIONS.iter().find(|o| o.key == key)
}

/// Free-form settings for reading the lake, `table.datalake.<format>.<key>`.
fn is_lake_setting(key: &str) -> bool {
    let rest = key.strip_prefix("table.datalake.").and_then(|r| r.split_once('.'));
    rest.is_some_and(|(format, name)| LAKE_FORMATS.contains(&format) && !name.is_empty())
}

/// Refuses a `table.*` key that nobody knows.
///
/// # Errors
/// `Invalid` about `Option`.
pub(crate) fn check_known(key: &str) -> Result<()> {
    if find(key).is_some() || is_lake_setting(key) {
        return Ok(());
    }
    let hint =
        nearest(key, OPTIONS.iter().map(|o| o.key)).map_or_else(String::new, |k| format!("; did you mean '{k}'?"));
    Err(Error::invalid(Subject::Option, format!("'{key}' is not a recognized Fluss table property{hint}")))
}

/// Whether ALTER TABLE may set or reset a known `table.*` key.
pub(crate) fn is_alterable(key: &str) -> bool {
    find(key).is_some_and(|o| o.alterable)
}

/// Checks all `table.*` options of one table, each alone and then together.
///
/// # Errors
/// `Invalid` about `Option` for an unknown key, a value that cannot be read, or options that contradict the table or each other;
/// `Unsupported` for what this version cannot do.
pub(crate) fn check(properties: &BTreeMap<String, String>, has_primary_key: bool) -> Result<()> {
    for (key, value) in properties {
        check_known(key)?;
        if let Some(option) = find(key) {
            check_value(option, value, has_primary_key)?;
        }
    }
    let replicas = properties.get(REPLICATION_FACTOR).map_or("1", String::as_str);
    if replicas.trim() != "1" {
        return invalid(REPLICATION_FACTOR, replicas, "is more than the one server of this store");
    }
    if let Some(local) = properties.get(LOG_LOCAL_TTL) {
        let (local_ttl, ttl) = (parse_duration(local)?, ttl_of(properties)?);
        if !local_ttl.is_zero() && !ttl.is_zero() && local_ttl > ttl {
            return invalid(LOG_LOCAL_TTL, local, "is longer than 'table.log.ttl'");
        }
    }
    Ok(())
}

fn check_value(option: &TableOption, value: &str, has_primary_key: bool) -> Result<()> {
    let text = value.trim();
    match option.kind {
        Kind::Bool if !text.eq_ignore_ascii_case("true") && !text.eq_ignore_ascii_case("false") => {
            return invalid(option.key, value, "is neither true nor false");
        }
        Kind::Int { min, max } => match text.parse::<i64>() {
            Err(_) => return invalid(option.key, value, "is not a whole number"),
            Ok(n) if n < min => {
                return invalid(option.key, value, &format!("must be greater than {}", i128::from(min) - 1));
            }
            Ok(n) if n > max => return invalid(option.key, value, &format!("is more than {max}")),
            Ok(_) => {}
        },
        Kind::Duration => {
            parse_duration(value).map_err(|e| e.context(format_args!("option '{}'", option.key)))?;
        }
        Kind::Choice(names) if !names.iter().any(|n| n.eq_ignore_ascii_case(text)) => {
            return invalid(option.key, value, &format!("is not one of {}", names.join(", ")));
        }
        _ => {}
    }
    if option.key_tables_only && !has_primary_key {
        return invalid(option.key, value, "is only supported in primary key tables");
    }
    match option.only {
        Some((works, others)) if !works.eq_ignore_ascii_case(text) => Err(Error::unsupported(
            Subject::Option,
            format!("option '{}' = '{value}': {others} are not supported yet", option.key),
        )),
        _ => Ok(()),
    }
}

fn invalid(key: &str, value: &str, why: &str) -> Result<()> {
    Err(Error::invalid(Subject::Option, format!("option '{key}' = '{value}' {why}")))
}

fn bool_of(properties: &BTreeMap<String, String>, key: &str) -> bool {
    properties.get(key).is_some_and(|v| v.trim().eq_ignore_ascii_case("true"))
}

fn ttl_of(properties: &BTreeMap<String, String>) -> Result<std::time::Duration> {
    parse_duration(properties.get(LOG_TTL).map_or("7d", String::as_str))
}

/// How old log rows may grow, in ms; `None` = for ever.
///
/// # Errors
/// `Invalid` when the stored value cannot be read, which [`check`] rules out.
pub(crate) fn log_ttl_ms(properties: &BTreeMap<String, String>) -> Result<Option<i64>> {
    let ttl = ttl_of(properties)?;
    Ok((!ttl.is_zero()).then(|| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX)))
}

/// How long closed segments stay on the local disk once remote storage has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalLog {
    /// So many of the newest stay, the one that takes appends counted.
    pub segments: usize,
    /// Age in ms at which those go too; `None` = no age.
    pub ttl_ms: Option<i64>,
}

/// What of a log stays on the local disk although remote storage has it.
///
/// # Errors
/// `Invalid` when a stored value cannot be read, which [`check`] rules out.
pub(crate) fn local_log(properties: &BTreeMap<String, String>) -> Result<LocalLog> {
    let segments = properties.get(LOG_LOCAL_SEGMENTS).and_then(|text| text.trim().parse().ok()).unwrap_or(2);
    let ttl = properties.get(LOG_LOCAL_TTL).map(|text| parse_duration(text)).transpose()?;
    let ttl_ms = ttl.filter(|t| !t.is_zero()).map(|t| i64::try_from(t.as_millis()).unwrap_or(i64::MAX));
    Ok(LocalLog { segments, ttl_ms })
}

/// How often a table's rows go into the lake; `None` for a table that has none.
///
/// # Errors
/// `Invalid` when the stored value cannot be read, which [`check`] rules out.
pub(crate) fn lake_freshness(properties: &BTreeMap<String, String>) -> Result<Option<std::time::Duration>> {
    if !bool_of(properties, DATALAKE_ENABLED) {
        return Ok(None);
    }
    parse_duration(properties.get(DATALAKE_FRESHNESS).map_or("3min", String::as_str)).map(Some)
}

/// Whether files of the lake are merged behind the rounds.
pub(crate) fn lake_compacts(properties: &BTreeMap<String, String>) -> bool {
    bool_of(properties, DATALAKE_AUTO_COMPACTION)
}

/// Whether old snapshots of the lake go after a round.
pub(crate) fn lake_expires(properties: &BTreeMap<String, String>) -> bool {
    bool_of(properties, DATALAKE_AUTO_EXPIRE)
}

/// Whether rows in the lake carry their log offset and time.
pub(crate) fn lake_system_columns(properties: &BTreeMap<String, String>) -> bool {
    !properties.contains_key(DATALAKE_SYSTEM_COLUMNS) || bool_of(properties, DATALAKE_SYSTEM_COLUMNS)
}

/// How log batches are packed.
///
/// # Errors
/// `Invalid` when the stored value cannot be read, which [`check`] rules out.
pub(crate) fn compression(properties: &BTreeMap<String, String>) -> Result<Compression> {
    let name = properties.get(LOG_COMPRESSION).map_or("ZSTD", |v| v.trim());
    match name.to_ascii_uppercase().as_str() {
        "NONE" => Ok(Compression::None),
        "LZ4_FRAME" => Ok(Compression::Lz4Frame),
        "ZSTD" => zstd_level(properties).map(Compression::Zstd),
        _ => Err(Error::invalid(
            Subject::Option,
            format!("option '{LOG_COMPRESSION}' = '{name}' is not one of NONE, LZ4_FRAME, ZSTD"),
        )),
    }
}

fn zstd_level(properties: &BTreeMap<String, String>) -> Result<ZstdLevel> {
    let Some(text) = properties.get(LOG_ZSTD_LEVEL) else { return Ok(ZstdLevel::default()) };
    let level = text.trim().parse().ok().and_then(ZstdLevel::new);
    let outside =
        || Error::invalid(Subject::Option, format!("option '{LOG_ZSTD_LEVEL}' = '{text}' is not one of 1 to 22"));
    level.ok_or_else(outside)
}

/// How a table's primary keys are encoded: as the lake does (format version 1, or bucket key and primary key are the same list of
/// columns), else compacted, so that the bucket key's bytes begin the primary key's.
///
/// # Errors
/// `Invalid` when the stored format version cannot be read, which [`check`] rules out.
pub(crate) fn key_format(table: &TableDescriptor) -> Result<KeyFormat> {
    let version = table.properties.get(KV_FORMAT_VERSION).map_or("1", |v| v.trim());
    match version {
        "1" => Ok(KeyFormat::Paimon),
        "2" if table.bucket_key.iter().eq(physical_key(table)) => Ok(KeyFormat::Paimon),
        "2" => Ok(KeyFormat::Compacted),
        _ => Err(Error::invalid(
            Subject::Option,
            format!("option '{KV_FORMAT_VERSION}' = '{version}' is neither 1 nor 2"),
        )),
    }
}

/// The second half of `docs/settings.md`: the options of a table.
pub(crate) fn page() -> String {
    let mut out = String::from(
        "## Options of a table\n\nGiven in `CREATE TABLE … WITH (…)`. An unknown `table.*` key is refused; any other key is kept as a \
         custom property. `table.datalake.<format>.<key>` is free-form. \"only\" names the value that works today; every other ends in \
         \"not supported yet\".\n\n| key | type | default | ALTER | only | meaning |\n|---|---|---|---|---|---|\n",
    );
    for o in OPTIONS {
        let kind = match o.kind {
            Kind::Bool => "boolean".to_owned(),
            Kind::Int { min, max } if max >= INT_MAX && min < 0 => "integer".to_owned(),
            Kind::Int { min, max } if max >= INT_MAX => format!("integer, {min} or more"),
            Kind::Int { min, max } => format!("integer, {min} to {max}"),
            Kind::Duration => "duration".to_owned(),
            Kind::Choice(names) => names.join(", "),
            Kind::Text => "text".to_owned(),
        };
        let only = match o.only {
            None => "",
            Some(("", _)) => "unset",
            Some((value, _)) => value,
        };
        let place = if o.key_tables_only { " Primary-key tables only." } else { "" };
        let alter = if o.alterable { "yes" } else { "" };
        let _ = writeln!(out, "| `{}` | {kind} | {} | {alter} | {only} | {}{place} |", o.key, o.default, o.meaning);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_and_their_defaults_are_accepted() {
        assert!(OPTIONS.is_sorted_by(|a, b| a.key < b.key));
        for o in OPTIONS.iter().filter(|o| !o.default.is_empty() && !o.default.starts_with('`')) {
            check_value(o, o.default, true).unwrap();
        }
    }

    #[test]
    fn what_can_be_altered() {
        let keys: Vec<_> = OPTIONS.iter().filter(|o| o.alterable).map(|o| o.key).collect();
        assert_eq!(
            keys,
            [
                "table.auto-partition.enabled",
                "table.auto-partition.num-precreate",
                "table.auto-partition.num-retention",
                "table.datalake.auto-compaction",
                "table.datalake.auto-expire-snapshot",
                "table.datalake.enabled",
                "table.datalake.freshness",
                "table.datalake.historical-partition.enabled",
                "table.kv.standby-replica.enabled",
                "table.log.local-ttl",
                "table.log.tiered.local-segments",
                "table.log.ttl",
                "table.statistics.columns",
            ]
        );
    }
}
