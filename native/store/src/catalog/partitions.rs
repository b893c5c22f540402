//! Changes of a table's partitions: by name, and by the clock.

use super::state::State;
use super::table::TableMeta;
use crate::ddl::Limits;
use sluice_api::PartitionInfo;
use sluice_base::{Error, ErrorKind, Result, Subject};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A table's partitions by name.
pub(crate) type Partitions = BTreeMap<String, PartitionInfo>;

/// How a value is asked for, for messages: `dt=2025-11-30/region=eu`.
pub(crate) fn shown(meta: &TableMeta, values: &[String]) -> String {
    let pairs = meta.info.descriptor.partition_key.iter().zip(values).map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join("/")
}

impl State {
    /// Adds those of some partitions that are not there, and returns the table when there were any. Values are checked, but for the clock.
    ///
    /// # Errors
    /// `Invalid` about `Partition` for a time that an auto-partitioned table does not take, or when there would be too many.
    pub(crate) fn create_partitions(
        &mut self,
        meta: &Arc<TableMeta>,
        wanted: &[Vec<String>],
        limits: Limits,
        now_ms: i64,
    ) -> Result<Option<Arc<TableMeta>>> {
        let mut partitions = Partitions::clone(&meta.partitions);
        for values in wanted {
            let name = values.join("$");
            if partitions.contains_key(&name) {
                continue;
            }
            if let Some((auto, time)) = meta.auto.as_ref().and_then(|auto| Some((auto, values.get(auto.key)?))) {
                auto.check(time, now_ms).map_err(|e| e.context(format_args!("table {}", meta.path)))?;
            }
            if partitions.len() >= limits.partitions_max {
                let message = format!(
                    "Exceed the maximum number of partitions for table {}, only allow {} partitions. {} is not created; drop some, or raise \
                     'max.partition.num'",
                    meta.path,
                    limits.partitions_max,
                    shown(meta, values)
                );
                return Err(Error::new(ErrorKind::Conflict, Subject::Partition, message));
            }
            let partition = PartitionInfo {
                partition_id: self.next.partition,
                values: values.clone(),
                bucket_count: meta.bucket_count(),
                created_ms: now_ms,
            };
            self.next.partition += 1;
            partitions.insert(name, partition);
        }
        self.put_partitions(meta, partitions)
    }

    /// Removes a partition, and returns the table.
    ///
    /// # Errors
    /// `NotFound` about `Partition`.
    pub(crate) fn drop_partition(
        &mut self,
        meta: &Arc<TableMeta>,
        values: &[String],
    ) -> Result<Option<Arc<TableMeta>>> {
        let mut partitions = Partitions::clone(&meta.partitions);
        if partitions.remove(&values.join("$")).is_none() {
            return Err(no_partition(meta, values));
        }
        self.put_partitions(meta, partitions)
    }

    /// Drops what is past its retention and `may_go`, and creates what the clock asks for; `None` when nothing was due. What would be too many
    /// waits.
    ///
    /// # Errors
    /// `NotFound` about `Table`.
    pub(crate) fn follow_clock(
        &mut self,
        meta: &Arc<TableMeta>,
        limits: Limits,
        now_ms: i64,
        may_go: &dyn Fn(&PartitionInfo) -> bool,
    ) -> Result<Option<Arc<TableMeta>>> {
        let Some(auto) = &meta.auto else { return Ok(None) };
        let mut partitions = Partitions::clone(&meta.partitions);
        let is_due = |p: &PartitionInfo| p.values.get(auto.key).is_some_and(|time| auto.has_expired(time, now_ms));
        partitions.retain(|_, p| !(is_due(p) && may_go(p)));
        for time in auto.wanted(now_ms) {
            if partitions.len() < limits.partitions_max && !partitions.contains_key(&time) {
                let partition = PartitionInfo {
                    partition_id: self.next.partition,
                    values: vec![time.clone()],
                    bucket_count: meta.bucket_count(),
                    created_ms: now_ms,
                };
                self.next.partition += 1;
                partitions.insert(time, partition);
            }
        }
        self.put_partitions(meta, partitions)
    }

    fn put_partitions(&mut self, meta: &Arc<TableMeta>, partitions: Partitions) -> Result<Option<Arc<TableMeta>>> {
        if partitions == *meta.partitions {
            return Ok(None);
        }
        let changed = Arc::new(TableMeta::clone(meta).with_partitions(Arc::new(partitions)));
        self.database_mut(&meta.path.database)?.tables.insert(meta.path.table.clone(), changed.clone());
        Ok(Some(changed))
    }
}

/// The error for a partition that is not there.
pub(crate) fn no_partition(meta: &TableMeta, values: &[String]) -> Error {
    let message = format!("Partition {} does not exist in table {}.", shown(meta, values), meta.path);
    Error::not_found(Subject::Partition, message)
}

/// The error for a partition that is there already.
pub(crate) fn partition_exists(meta: &TableMeta, values: &[String]) -> Error {
    let message = format!("Partition {} already exists in table {}.", shown(meta, values), meta.path);
    Error::new(ErrorKind::AlreadyExists, Subject::Partition, message)
}
