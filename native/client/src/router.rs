//! Which partition a row belongs to, and how many buckets that has: asked once for each value that comes along, not for each row.

use crate::cluster::{Cluster, PAUSE_MAX, PAUSE_MIN, To};
use crate::refusal::Answer;
use crate::table::RemoteTable;
use arrow_array::ArrayRef;
use sluice_base::{Error, ErrorKind, PartitionId, Result, Subject, TableBucket};
use sluice_row::{BoundPartition, DataType};
use sluice_wire::message::{
    CreatePartitionRequest, CreatePartitionResponse, KeyValue, MetadataRequest, MetadataResponse, PartitionSpec,
    PhysicalTablePath,
};
use sluice_wire::{ApiKey, ErrorCode};
use std::collections::HashMap;
use std::time::Instant;

/// Values that are remembered before all are forgotten.
const KNOWN_MAX: usize = 10_000;

/// A partition, or a whole table without partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home {
    pub(crate) partition: Option<PartitionId>,
    pub(crate) buckets: i32,
}

impl Home {
    pub(crate) fn bucket(&self, table: &RemoteTable, bucket: i32) -> TableBucket {
        TableBucket { table: table.id(), partition: self.partition, bucket }
    }
}

/// What becomes of a row whose partition is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It is created.
    Create,
    /// The batch is refused.
    Refuse,
    /// The row has no home.
    Nowhere,
}

/// Finds the homes of rows.
#[derive(Debug)]
pub(crate) struct Router {
    types: Vec<DataType>,
    names: Vec<String>,
    known: HashMap<Vec<u8>, Home>,
    /// The values of partitions, by their ids.
    values: HashMap<PartitionId, Vec<String>>,
}

impl Router {
    pub(crate) fn new(table: &RemoteTable) -> Self {
        let columns = table.partition_key.iter().filter_map(|i| table.schema().columns.get(*i));
        let (names, types) = columns.map(|c| (c.name.clone(), c.data_type.clone())).unzip();
        Self { types, names, known: HashMap::new(), values: HashMap::new() }
    }

    /// Forgets a partition that was dropped.
    pub(crate) fn forget(&mut self, partition: PartitionId) {
        self.known.retain(|_, home| home.partition != Some(partition));
    }

    /// The values of a partition that rows were routed to.
    pub(crate) fn values_of(&self, partition: PartitionId) -> Option<&Vec<String>> {
        self.values.get(&partition)
    }

    /// The home of each row. `columns` are the partition columns; `missing` says for each row what becomes of it without one.
    ///
    /// # Errors
    /// `Invalid` about `Row` for a value that names no partition; `NotFound` or `Invalid` about `Partition`; what asking gives.
    pub(crate) fn route(
        &mut self,
        cluster: &Cluster,
        table: &RemoteTable,
        columns: &[ArrayRef],
        rows: usize,
        missing: impl Fn(usize) -> Missing,
    ) -> Result<Vec<Option<Home>>> {
        if !table.is_partitioned() {
            return Ok(vec![Some(Home { partition: None, buckets: table.info.bucket_count() }); rows]);
        }
        if self.known.len() > KNOWN_MAX {
            self.known.clear();
            self.values.clear();
        }
        let types = self.types.clone();
        let bound = BoundPartition::new(&types, columns)?;
        let (mut key, mut last) = (Vec::new(), (Vec::new(), None));
        let mut homes = Vec::with_capacity(rows);
        for row in 0..rows {
            key.clear();
            let named = bound.put_key(row, &mut key).is_some();
            if last.1.is_none() || !named || last.0 != key {
                let found = self.find(cluster, table, (&bound, row), named.then_some(&key[..]), missing(row))?;
                last = (key.clone(), found);
            }
            homes.push(last.1);
        }
        Ok(homes)
    }

    fn find(
        &mut self,
        cluster: &Cluster,
        table: &RemoteTable,
        (bound, row): (&BoundPartition<'_>, usize),
        key: Option<&[u8]>,
        missing: Missing,
    ) -> Result<Option<Home>> {
        if let Some(home) = key.and_then(|k| self.known.get(k)) {
            return Ok(Some(*home));
        }
        let mut values = Vec::with_capacity(self.names.len());
        for (i, name) in self.names.iter().enumerate() {
            match bound.text(row, i) {
                Ok(value) => values.push(value),
                Err(_) if missing == Missing::Nowhere => return Ok(None),
                Err(why) => {
                    let message = format!(
                        "row {row} of the batch: partition column '{name}' {why}; nothing of the batch is written"
                    );
                    return Err(Error::invalid(Subject::Row, message));
                }
            }
        }
        let mut found = cluster.block_on(ask(cluster, table, &values))?;
        if found.is_none() && missing == Missing::Refuse {
            let shown: Vec<String> =
                self.names.iter().zip(&values).map(|(name, value)| format!("{name}={value}")).collect();
            let message = format!(
                "partition {} does not exist in table {}, and 'client.writer.dynamic-create-partition.enabled' = 'false' forbids to \
                 create it; nothing of the batch is written",
                shown.join(","),
                table.path()
            );
            return Err(Error::not_found(Subject::Partition, message));
        }
        if found.is_none() && missing == Missing::Create {
            found = Some(cluster.block_on(create(cluster, table, &values))?);
        }
        if let (Some(home), Some(key)) = (found, key) {
            self.known.insert(key.to_vec(), home);
            if let Some(partition) = home.partition {
                self.values.insert(partition, values);
            }
        }
        Ok(found)
    }
}

/// Creates a partition, if it is not there, and waits until its buckets are known.
pub(crate) async fn create(cluster: &Cluster, table: &RemoteTable, values: &[String]) -> Answer<Home> {
    let pairs = table.info.descriptor.partition_key.iter().zip(values);
    let pairs = pairs.map(|(key, value)| KeyValue { key: key.clone(), value: value.clone() });
    let request = CreatePartitionRequest {
        table_path: crate::cluster::wire_path(table.path()),
        partition_spec: PartitionSpec { partition_key_values: pairs.collect() },
        ignore_if_not_exists: true,
    };
    let begun = Instant::now();
    let _: CreatePartitionResponse = cluster.ask(To::Coordinator, ApiKey::CreatePartition, &request).await?;
    let mut pause = PAUSE_MIN;
    loop {
        if let Some(home) = ask(cluster, table, values).await? {
            return Ok(home);
        }
        if begun.elapsed() >= cluster.settings.request_timeout {
            let shown = values.join("$");
            let message =
                format!("partition {shown} of table {} was created, but its buckets are not there yet", table.path());
            return Err(Error::new(ErrorKind::Busy, Subject::Partition, message).into());
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// A partition by its values; `None` when it is not there.
async fn ask(cluster: &Cluster, table: &RemoteTable, values: &[String]) -> Answer<Option<Home>> {
    let path = PhysicalTablePath {
        database_name: table.path().database.clone(),
        table_name: table.path().table.clone(),
        partition_name: Some(values.join("$")),
    };
    let request = MetadataRequest { partitions_path: vec![path], ..MetadataRequest::default() };
    let told: MetadataResponse = match cluster.ask(To::Any, ApiKey::GetMetadata, &request).await {
        Ok(told) => told,
        Err(refusal) if refusal.code == ErrorCode::PartitionNotExists => return Ok(None),
        Err(refusal) => return Err(refusal),
    };
    let Some(partition) = told.partition_metadata.first().filter(|p| !p.bucket_metadata.is_empty()) else {
        return Ok(None);
    };
    if partition.table_id != table.id().0 {
        return Err(crate::cluster::dropped(table.path()).into());
    }
    cluster.learn_leaders(table.id(), Some(partition.partition_id), &partition.bucket_metadata);
    let buckets = i32::try_from(partition.bucket_metadata.len()).unwrap_or(i32::MAX);
    Ok(Some(Home { partition: Some(PartitionId(partition.partition_id)), buckets }))
}
