//! A store over the network, behind [`sluice_api::Connection`].

use crate::calls::{call, change, unknown};
use crate::closing::Closing;
use crate::cluster::{Cluster, To};
use crate::lookup::RemoteLookup;
use crate::scan::RemoteScanner;
use crate::settings::Settings;
use crate::table::RemoteTable;
use crate::writer::RemoteWriter;
use crate::{acls, admin, calls, offsets, stats};
use serde_json::json;
use sluice_api::call::Bucket;
use sluice_api::{
    AccessRule, Connection, DatabaseInfo, LakeSnapshot, Lookup, LookupOptions, OffsetSpec, PartitionInfo, RuleFilter,
    ScanOptions, Scanner, TableChange, TableInfo, TableStats, TierPart, TierWork, ViewInfo, WriteOptions, Writer,
};
use sluice_base::{Error, ErrorKind, Offset, PartitionId, Result, Subject, TableBucket, TableId};
use sluice_row::{DatabaseDescriptor, FIELDS, GROUP_SUFFIX, TableDescriptor, TablePath, ViewDescriptor};
use sluice_wire::ApiKey;
use sluice_wire::message::{DescribeClusterConfigsRequest, DescribeClusterConfigsResponse};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LAKE_PREFIX: &str = "datalake.paimon.";

/// A handle on servers. Handles of one process with the same options share their connections.
#[derive(Debug)]
pub struct RemoteStore {
    cluster: Arc<Cluster>,
    closed: Closing,
}

impl RemoteStore {
    /// Connects to the servers that `bootstrap.servers` names (`host:port`, several with commas between).
    ///
    /// # Errors
    /// `Invalid`, `Unsupported` about `Option`; `Io` about `Store` when no server can be reached; `Unauthorized` about `Store`.
    pub fn open(options: &BTreeMap<String, String>) -> Result<Self> {
        Self::over(Settings::new(options)?)
    }

    /// The same without requests of our own, as if the servers were another's.
    ///
    /// # Errors
    /// Those of [`RemoteStore::open`].
    pub fn open_plain(options: &BTreeMap<String, String>) -> Result<Self> {
        Self::over(Settings { own_requests: false, ..Settings::new(options)? })
    }

    fn over(settings: Settings) -> Result<Self> {
        Ok(Self { cluster: Cluster::open(settings)?, closed: Closing::default() })
    }

    /// Ends all that was made from this handle; rows that were not flushed may be lost. Again is no error.
    pub fn close(&self) {
        self.closed.close();
    }

    fn cluster(&self) -> Result<&Cluster> {
        self.closed.check()?;
        Ok(&self.cluster)
    }

    fn own(&self) -> Result<bool> {
        calls::are_known(self.cluster()?)
    }

    fn opened(&self, path: &TablePath) -> Result<RemoteTable> {
        RemoteTable::open(self.cluster()?, path)
    }
}

/// Buckets by table, in the order in which they were asked for.
fn by_table(buckets: &[TableBucket]) -> BTreeMap<TableId, Vec<TableBucket>> {
    let mut tables: BTreeMap<TableId, Vec<TableBucket>> = BTreeMap::new();
    for bucket in buckets {
        tables.entry(bucket.table).or_default().push(*bucket);
    }
    tables
}

fn told(buckets: &[TableBucket]) -> Vec<Bucket> {
    buckets.iter().copied().map(Bucket::from).collect()
}

impl Connection for RemoteStore {
    fn create_database(&self, name: &str, descriptor: &DatabaseDescriptor, ignore_if_exists: bool) -> Result<()> {
        admin::create_database(self.cluster()?, name, descriptor, ignore_if_exists)
    }

    fn alter_database(&self, name: &str, changes: &BTreeMap<String, Option<String>>) -> Result<()> {
        change(self.cluster()?, "alter_database", &json!({ "name": name, "changes": changes }))
    }

    fn drop_database(&self, name: &str, ignore_if_missing: bool, cascade: bool) -> Result<()> {
        // Of two refusals with one code in the protocol only a call keeps which it is.
        if self.own()? {
            let arguments = json!({ "name": name, "ignore_if_missing": ignore_if_missing, "cascade": cascade });
            return change(self.cluster()?, "drop_database", &arguments);
        }
        admin::drop_database(self.cluster()?, name, ignore_if_missing, cascade)
    }

    fn list_databases(&self) -> Result<Vec<String>> {
        admin::list_databases(self.cluster()?)
    }

    fn database(&self, name: &str) -> Result<DatabaseInfo> {
        admin::database(self.cluster()?, name)
    }

    fn create_table(&self, path: &TablePath, descriptor: &TableDescriptor, ignore_if_exists: bool) -> Result<()> {
        let is_group = |key: &&String| key.starts_with(FIELDS) && key.ends_with(GROUP_SUFFIX);
        if let Some(key) = descriptor.custom_properties.keys().find(is_group)
            && !self.own()?
        {
            // It would be kept and never looked at.
            return Err(unknown(&format!("option '{key}'")));
        }
        admin::create_table(self.cluster()?, path, descriptor, ignore_if_exists)
    }

    fn drop_table(&self, path: &TablePath, ignore_if_missing: bool) -> Result<()> {
        admin::drop_table(self.cluster()?, path, ignore_if_missing)
    }

    fn list_tables(&self, database: &str) -> Result<Vec<String>> {
        admin::list_tables(self.cluster()?, database)
    }

    fn table(&self, path: &TablePath) -> Result<TableInfo> {
        admin::table(self.cluster()?, path)
    }

    fn alter_table(&self, path: &TablePath, changes: &[TableChange], ignore_if_missing: bool) -> Result<()> {
        if self.own()? {
            let arguments = json!({ "path": path, "changes": changes, "ignore_if_missing": ignore_if_missing });
            return change(self.cluster()?, "alter_table", &arguments);
        }
        admin::alter_table(self.cluster()?, path, changes, ignore_if_missing)
    }

    fn create_view(&self, path: &TablePath, descriptor: &ViewDescriptor, ignore_if_exists: bool) -> Result<()> {
        let arguments = json!({ "path": path, "descriptor": descriptor, "ignore_if_exists": ignore_if_exists });
        change(self.cluster()?, "create_view", &arguments)
    }

    fn alter_view(&self, path: &TablePath, descriptor: &ViewDescriptor, ignore_if_missing: bool) -> Result<()> {
        let arguments = json!({ "path": path, "descriptor": descriptor, "ignore_if_missing": ignore_if_missing });
        change(self.cluster()?, "alter_view", &arguments)
    }

    fn rename_view(&self, path: &TablePath, new_name: &str, ignore_if_missing: bool) -> Result<()> {
        let arguments = json!({ "path": path, "new_name": new_name, "ignore_if_missing": ignore_if_missing });
        change(self.cluster()?, "rename_view", &arguments)
    }

    fn drop_view(&self, path: &TablePath, ignore_if_missing: bool) -> Result<()> {
        change(self.cluster()?, "drop_view", &json!({ "path": path, "ignore_if_missing": ignore_if_missing }))
    }

    fn list_views(&self, database: &str) -> Result<Vec<String>> {
        match self.own()? {
            true => call(self.cluster()?, "list_views", &json!({ "database": database })),
            // There can be none; that the database is there is told as for tables.
            false => self.list_tables(database).map(|_| Vec::new()),
        }
    }

    fn view(&self, path: &TablePath) -> Result<ViewInfo> {
        match self.own()? {
            true => call(self.cluster()?, "view", &json!({ "path": path })),
            false => Err(Error::not_found(Subject::Table, format!("There is no view '{path}'."))),
        }
    }

    fn create_partition(
        &self,
        path: &TablePath,
        spec: &BTreeMap<String, String>,
        ignore_if_exists: bool,
    ) -> Result<()> {
        admin::create_partition(self.cluster()?, path, spec, ignore_if_exists)
    }

    fn drop_partition(&self, path: &TablePath, spec: &BTreeMap<String, String>, ignore_if_missing: bool) -> Result<()> {
        admin::drop_partition(self.cluster()?, path, spec, ignore_if_missing)
    }

    fn list_partitions(&self, path: &TablePath, spec: &BTreeMap<String, String>) -> Result<Vec<PartitionInfo>> {
        admin::list_partitions(self.cluster()?, path, spec)
    }

    fn list_offsets(&self, buckets: &[TableBucket], spec: OffsetSpec) -> Result<Vec<Offset>> {
        let cluster = self.cluster()?;
        let mut found = BTreeMap::new();
        // The lake has the rows of these, and no log goes on behind them.
        let of_lake = |bucket: &TableBucket| bucket.partition.is_some_and(PartitionId::is_of_lake);
        let asked: Vec<TableBucket> = buckets.iter().copied().filter(|bucket| !of_lake(bucket)).collect();
        for (id, of_table) in by_table(&asked) {
            let path = admin::path_of(cluster, id)?;
            let offsets = offsets::list(cluster, &path, &of_table, spec)?;
            found.extend(of_table.into_iter().zip(offsets));
        }
        let offset = |bucket| if of_lake(bucket) { Some(0) } else { found.get(bucket).copied() };
        Ok(buckets.iter().filter_map(offset).collect())
    }

    fn table_stats(&self, path: &TablePath) -> Result<TableStats> {
        stats::of(self.cluster()?, path)
    }

    fn lake_options(&self) -> Result<Option<BTreeMap<String, String>>> {
        let cluster = self.cluster()?;
        if self.own()? {
            return call(cluster, "lake_options", &json!({}));
        }
        let request = DescribeClusterConfigsRequest {};
        let answer = cluster.block_on(cluster.ask(To::Coordinator, ApiKey::DescribeClusterConfigs, &request));
        let told: DescribeClusterConfigsResponse = answer?;
        let option = |config: sluice_wire::message::DescribeConfig| {
            let key = config.config_key.strip_prefix(LAKE_PREFIX)?.to_owned();
            Some((key, config.config_value?))
        };
        let options: BTreeMap<String, String> = told.configs.into_iter().filter_map(option).collect();
        Ok((!options.is_empty()).then_some(options))
    }

    fn lake_partitions(&self, path: &TablePath) -> Result<Vec<PartitionInfo>> {
        let cluster = self.cluster()?;
        // Rows that only the lake of another server has are not read here.
        if self.own()? { call(cluster, "lake_partitions", &json!({ "path": path })) } else { Ok(Vec::new()) }
    }

    fn lake_snapshot(&self, path: &TablePath) -> Result<LakeSnapshot> {
        call(self.cluster()?, "lake_snapshot", &json!({ "path": path }))
    }

    fn tier(&self, path: &TablePath, timeout: Duration) -> Result<LakeSnapshot> {
        let cluster = self.cluster()?;
        // An answer is waited for no longer than any other, so a long round is asked for again.
        let turn = cluster.settings.request_timeout / 2;
        let begun = Instant::now();
        loop {
            let left = timeout.saturating_sub(begun.elapsed());
            let timeout_ms = u64::try_from(left.min(turn).as_millis()).unwrap_or(u64::MAX);
            match call(cluster, "tier", &json!({ "path": path, "timeout_ms": timeout_ms })) {
                Err(error) if error.kind() == ErrorKind::Busy && left > turn => {}
                done => return done,
            }
        }
    }

    fn tier_work(&self, path: &TablePath) -> Result<Vec<TierWork>> {
        call(self.cluster()?, "tier_work", &json!({ "path": path }))
    }

    /// The files are written by the server, which has both log and lake.
    fn tier_write(&self, work: &TierWork, timeout: Duration) -> Result<TierPart> {
        let cluster = self.cluster()?;
        // An answer is waited for no longer than any other.
        let timeout_ms = u64::try_from(timeout.min(cluster.settings.request_timeout / 2).as_millis());
        call(cluster, "tier_write", &json!({ "work": work, "timeout_ms": timeout_ms.unwrap_or(u64::MAX) }))
    }

    fn tier_commit(&self, path: &TablePath, parts: &[u64]) -> Result<LakeSnapshot> {
        call(self.cluster()?, "tier_commit", &json!({ "path": path, "parts": parts }))
    }

    fn acquire_snapshots(&self, buckets: &[TableBucket], lease: &str, lease_ms: u64) -> Result<Vec<(u64, Offset)>> {
        if self.own()? {
            let arguments = json!({ "buckets": told(buckets), "lease": lease, "lease_ms": lease_ms });
            return call(self.cluster()?, "acquire_snapshots", &arguments);
        }
        // The number of a snapshot that a changelog comes to is the offset that it ends before; nobody needs to hold it.
        let cluster = self.cluster()?;
        let mut keyed = BTreeMap::new();
        for id in by_table(buckets).into_keys() {
            let path = admin::path_of(cluster, id)?;
            keyed.insert(id, admin::table(cluster, &path)?.has_primary_key());
        }
        let ends = self.list_offsets(buckets, OffsetSpec::Latest)?;
        let snapshot = |(bucket, end): (&TableBucket, Offset)| match keyed.get(&bucket.table) {
            Some(true) => (end.unsigned_abs(), end),
            _ => (0, 0),
        };
        Ok(buckets.iter().zip(ends).map(snapshot).collect())
    }

    fn release_snapshots(&self, buckets: &[TableBucket], lease: &str) -> Result<()> {
        match self.own()? {
            true => call(self.cluster()?, "release_snapshots", &json!({ "buckets": told(buckets), "lease": lease })),
            false => Ok(()),
        }
    }

    fn producer_offsets(&self, path: &TablePath, producer: &str) -> Result<Vec<(TableBucket, Offset)>> {
        let cluster = self.cluster()?;
        if !self.own()? {
            return Err(unknown("remembering where a job began to write to an aggregation table"));
        }
        let id = TableId(self.table(path)?.table_id);
        let found: Vec<(Option<i64>, i32, Offset)> =
            call(cluster, "producer_offsets", &json!({ "path": path, "producer": producer }))?;
        let of = |(partition, bucket, offset): (Option<i64>, _, _)| {
            (TableBucket { table: id, partition: partition.map(PartitionId), bucket }, offset)
        };
        Ok(found.into_iter().map(of).collect())
    }

    fn end_producer(&self, path: &TablePath, producer: &str, part: u32, parts: u32) -> Result<()> {
        let arguments = json!({ "path": path, "producer": producer, "part": part, "parts": parts });
        call(self.cluster()?, "end_producer", &arguments)
    }

    fn add_rules(&self, rules: &[AccessRule]) -> Result<()> {
        acls::add(self.cluster()?, rules)
    }

    fn drop_rules(&self, filter: &RuleFilter) -> Result<Vec<AccessRule>> {
        acls::drop(self.cluster()?, filter)
    }

    fn list_rules(&self, filter: &RuleFilter) -> Result<Vec<AccessRule>> {
        acls::list(self.cluster()?, filter)
    }

    fn writer(&self, path: &TablePath, options: &WriteOptions) -> Result<Box<dyn Writer>> {
        let table = self.opened(path)?;
        Ok(Box::new(RemoteWriter::open(self.cluster.clone(), table, options, self.closed.clone())?))
    }

    fn scanner(&self, path: &TablePath, options: &ScanOptions) -> Result<Box<dyn Scanner>> {
        let table = self.opened(path)?;
        Ok(Box::new(RemoteScanner::open(self.cluster.clone(), table, options, self.closed.clone())?))
    }

    fn lookup(&self, path: &TablePath, options: &LookupOptions) -> Result<Box<dyn Lookup>> {
        let table = self.opened(path)?;
        Ok(Box::new(RemoteLookup::open(self.cluster.clone(), table, options, self.closed.clone())?))
    }
}
