//! Creates and drops partitions: on demand, for writers, and by the clock.
//!
//! Order of effects: creating makes directories, then the catalog's entry, then the open table's; dropping changes the catalog, then the
//! open table, then removes data. What a crash leaves between is data without a partition, and opening removes it.

use crate::catalog::{Catalog, Change, no_partition, partition_exists};
use crate::ddl::{Limits, full_spec};
use crate::tables::Tables;
use crate::{Settings, TableMeta};
use sluice_api::PartitionInfo;
use sluice_base::{Error, Result, Subject, TableId};
use sluice_row::TablePath;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The one place that changes partitions.
#[derive(Debug)]
pub(crate) struct Partitioner {
    catalog: Arc<Catalog>,
    tables: Arc<Tables>,
    limits: Limits,
}

impl Partitioner {
    pub(crate) fn new(catalog: Arc<Catalog>, tables: Arc<Tables>, settings: &Settings) -> Self {
        Self { catalog, tables, limits: limits(settings) }
    }

    /// As `sluice_api::Connection::create_partition`.
    pub(crate) fn create(
        &self,
        path: &TablePath,
        spec: &BTreeMap<String, String>,
        ignore_if_exists: bool,
    ) -> Result<()> {
        let mut change = self.catalog.change();
        let meta = change.state.table(path)?.clone();
        let values = full_spec(&meta.info.descriptor, spec).map_err(|e| e.context(format_args!("table {path}")))?;
        if meta.partitions.contains_key(&values.join("$")) {
            return if ignore_if_exists { Ok(()) } else { Err(partition_exists(&meta, &values)) };
        }
        let now = change.now_ms;
        let changed = change.state.create_partitions(&meta, &[values], self.limits, now)?;
        self.settle(&mut change, changed)
    }

    /// As `sluice_api::Connection::drop_partition`.
    pub(crate) fn remove(
        &self,
        path: &TablePath,
        spec: &BTreeMap<String, String>,
        ignore_if_missing: bool,
    ) -> Result<()> {
        let mut change = self.catalog.change();
        let meta = change.state.table(path)?.clone();
        let values = full_spec(&meta.info.descriptor, spec).map_err(|e| e.context(format_args!("table {path}")))?;
        if !meta.partitions.contains_key(&values.join("$")) {
            return if ignore_if_missing { Ok(()) } else { Err(no_partition(&meta, &values)) };
        }
        let changed = change.state.drop_partition(&meta, &values)?;
        self.settle(&mut change, changed)
    }

    /// Creates those of some partitions that are not there, for a writer of a table. Values have been checked as names.
    ///
    /// # Errors
    /// `NotFound` about `Table` when it was dropped; as `sluice_api::Connection::create_partition`.
    pub(crate) fn create_missing(&self, table: TableId, path: &TablePath, wanted: &[Vec<String>]) -> Result<()> {
        let mut change = self.catalog.change();
        let meta = match change.state.table(path) {
            Ok(meta) if meta.id == table => meta.clone(),
            _ => return Err(Error::not_found(Subject::Table, format!("table {path} was dropped"))),
        };
        let now = change.now_ms;
        let changed = change.state.create_partitions(&meta, wanted, self.limits, now)?;
        self.settle(&mut change, changed)
    }

    /// Drops and creates what the clock asks for, in all tables until `stopped`. A table whose change fails is tried again by the next call.
    pub(crate) fn follow_clock(&self, stopped: &dyn Fn() -> bool) {
        let all: Vec<_> = self.catalog.state().tables().filter(|t| t.auto.is_some()).map(|t| t.path.clone()).collect();
        for path in all {
            if stopped() {
                return;
            }
            // What cannot be done now (a full disk) shows up where a writer needs the partition.
            let _ = self.follow_clock_of(&path);
        }
    }

    fn follow_clock_of(&self, path: &TablePath) -> Result<()> {
        let mut change = self.catalog.change();
        let meta = change.state.table(path)?.clone();
        let now = change.now_ms;
        // What the lake does not have yet waits for it, and goes with a later look.
        let table = self.tables.get(meta.id)?;
        let may_go =
            |partition: &PartitionInfo| meta.lake.is_none() || table.is_in_lake(partition.id()).unwrap_or_default();
        let changed = change.state.follow_clock(&meta, self.limits, now, &may_go)?;
        self.settle(&mut change, changed)
    }

    /// Makes a change of one table come true.
    pub(crate) fn settle(&self, change: &mut Change<'_>, changed: Option<Arc<TableMeta>>) -> Result<()> {
        let Some(meta) = changed else { return Ok(()) };
        self.tables.writable()?;
        let done = self.tables.prepare(&meta).and_then(|()| change.commit());
        match &done {
            Ok(()) => self.tables.update(meta),
            Err(_) => self.tables.forget_new(&meta),
        }
        done
    }
}

/// The limits that a store's settings give to its tables.
pub(crate) fn limits(settings: &Settings) -> Limits {
    Limits {
        buckets_default: settings.bucket_count_default,
        buckets_max: settings.bucket_count_max,
        partitions_max: settings.partition_count_max,
    }
}
