//! Which partition a row belongs to: found once for each value that comes along, not for each row.

use crate::TableMeta;
use crate::codec::{TableCodec, pick};
use crate::names::check_partition_value;
use crate::packed::Packed;
use crate::table::{Partition, Table};
use arrow_array::{ArrayRef, RecordBatch};
use hashbrown::HashMap;
use sluice_base::{Error, Result, Subject};
use sluice_row::{BoundPartition, DataType};
use std::sync::Arc;

/// Values that are remembered before all are forgotten.
const KNOWN_MAX: usize = 10_000;

/// A place of [`Router::rows`] for rows without a partition.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// One partition that rows were routed to.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) values: Vec<String>,
    name: String,
    /// `None` when there is no such partition.
    pub(crate) partition: Option<Arc<Partition>>,
    /// Whether a row of the last batch needs it to exist.
    needed: bool,
}

/// Finds the partitions of rows.
#[derive(Debug)]
pub(crate) struct Router {
    names: Vec<String>,
    types: Vec<DataType>,
    known: HashMap<Vec<u8>, u32>,
    places: Vec<Place>,
    rows: Vec<u32>,
    key: Vec<u8>,
    last: (Vec<u8>, u32),
}

/// What a row wants of its partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// It goes there if the partition exists.
    IfThere,
    /// The partition must exist.
    There,
}

impl Router {
    /// A router for one table. Partition columns never change their type or place.
    pub(crate) fn new(meta: &TableMeta) -> Self {
        let columns = meta.partition_key.iter().filter_map(|i| meta.schema().columns.get(*i));
        let (names, types) = columns.map(|c| (c.name.clone(), c.data_type.clone())).unzip();
        Self {
            names,
            types,
            known: HashMap::new(),
            places: Vec::new(),
            rows: Vec::new(),
            key: Vec::new(),
            last: (Vec::new(), NOWHERE),
        }
    }

    /// For each row of the last batch its place, or [`NOWHERE`].
    pub(crate) fn rows(&self) -> &[u32] {
        &self.rows
    }

    pub(crate) fn place(&self, at: u32) -> Option<&Place> {
        self.places.get(at as usize)
    }

    /// Finds the place of each row of a batch and, in the open table, the partition of each place.
    ///
    /// # Errors
    /// `Invalid` about `Row` for NULL or a value that cannot name a partition, in a row whose partition must exist.
    pub(crate) fn route(
        &mut self,
        table: &Table,
        columns: &[ArrayRef],
        positions: &[usize],
        count: usize,
        want: impl Fn(usize) -> Want,
    ) -> Result<()> {
        self.rows.clear();
        if self.places.len() > KNOWN_MAX {
            self.forget();
        }
        for place in &mut self.places {
            place.needed = false;
        }
        let columns = pick(columns, positions)?;
        let types = std::mem::take(&mut self.types);
        let routed = BoundPartition::new(&types, &columns).and_then(|bound| {
            (0..count).try_for_each(|row| {
                let want = want(row);
                let place = match want {
                    // What cannot name a partition is in none.
                    Want::IfThere => self.place_of(&bound, row).unwrap_or(NOWHERE),
                    Want::There => self.place_of(&bound, row)?,
                };
                if let (Want::There, Some(place)) = (want, self.places.get_mut(place as usize)) {
                    place.needed = true;
                }
                self.rows.push(place);
                Ok(())
            })
        });
        self.types = types;
        routed?;
        self.look_up(table);
        Ok(())
    }

    fn forget(&mut self) {
        self.known.clear();
        self.places.clear();
        self.last = (Vec::new(), NOWHERE);
    }

    fn place_of(&mut self, bound: &BoundPartition<'_>, row: usize) -> Result<u32> {
        self.key.clear();
        if bound.put_key(row, &mut self.key).is_some() {
            // Rows of one partition mostly come together.
            if self.last.1 != NOWHERE && self.last.0 == self.key {
                return Ok(self.last.1);
            }
            if let Some(place) = self.known.get(&self.key) {
                self.last = (self.key.clone(), *place);
                return Ok(*place);
            }
        }
        let mut values = Vec::with_capacity(self.names.len());
        for (column, name) in self.names.iter().enumerate() {
            let text = bound.text(row, column).map_err(|why| unusable(row, format_args!("column '{name}' {why}")))?;
            check_partition_value(name, &text).map_err(|e| unusable(row, e))?;
            values.push(text);
        }
        let place = u32::try_from(self.places.len()).unwrap_or(NOWHERE);
        self.places.push(Place { name: values.join("$"), values, partition: None, needed: false });
        self.known.insert(self.key.clone(), place);
        self.last = (self.key.clone(), place);
        Ok(place)
    }

    /// Finds the open partitions of all places that have none, or one that was dropped.
    pub(crate) fn look_up(&mut self, table: &Table) {
        for place in &mut self.places {
            if place.partition.as_ref().is_none_or(|p| p.has_ended()) {
                place.partition = table.partition(&place.name);
            }
        }
    }

    /// The bucket of each row in its partition; partitions may differ in their number of buckets.
    pub(crate) fn buckets(
        &self,
        codec: &TableCodec,
        meta: &TableMeta,
        rows: &RecordBatch,
        keys: Option<&Packed>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let count_of =
            |place: &u32| self.place(*place).and_then(|p| p.partition.as_ref()).map_or(1, |p| p.bucket_count());
        let counts: Vec<i32> = self.rows.iter().map(count_of).collect();
        let most = counts.iter().max().copied().unwrap_or(1);
        codec.buckets(meta, rows, keys, most, out)?;
        let mut others: Vec<i32> = counts.iter().copied().filter(|c| *c != most).collect();
        others.sort_unstable();
        others.dedup();
        let mut buckets = Vec::new();
        for count in others {
            codec.buckets(meta, rows, keys, count, &mut buckets)?;
            for ((of_row, to), from) in counts.iter().zip(out.iter_mut()).zip(&buckets) {
                if *of_row == count {
                    *to = *from;
                }
            }
        }
        Ok(())
    }

    /// Values of the partitions that rows of the last batch need and that are not there.
    pub(crate) fn missing(&self) -> Vec<Vec<String>> {
        let missing = self.places.iter().filter(|p| p.needed && p.partition.is_none());
        missing.map(|p| p.values.clone()).collect()
    }
}

fn unusable(row: usize, why: impl std::fmt::Display) -> Error {
    let message =
        format!("row {row} of the batch cannot be given to a partition: {why}; nothing of the batch is written");
    Error::invalid(Subject::Row, message)
}
