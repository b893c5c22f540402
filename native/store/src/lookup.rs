//! Point and prefix lookups over the durable rows.

use crate::TableMeta;
use crate::codec::pick;
use crate::packed::Packed;
use crate::route::{NOWHERE, Router, Want};
use crate::scan::Wanted;
use crate::table::{Partition, Table, is_partition_gone};
use arrow_array::{ArrayRef, RecordBatch};
use sluice_api::{Lookup, LookupOptions, LookupRows};
use sluice_base::{Error, Result, Subject};
use sluice_kv::Kv;
use sluice_row::{DataType, KeyEncoder, KeyFormat};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// An open lookup; holds no state between calls.
pub(crate) struct TableLookup {
    table: Arc<Table>,
    wanted: Wanted,
    /// What the key batches must hold, in their order.
    columns: Vec<(String, arrow_schema::DataType)>,
    key: KeyPart,
    bucket_key: KeyPart,
    /// Positions of the partition columns in the key batches, in a table that has them.
    partition_key: Vec<usize>,
    prefix: bool,
}

/// Some columns of the key batches, and how they are encoded.
struct KeyPart {
    positions: Vec<usize>,
    encoder: KeyEncoder,
}

/// The keys of one call by bucket.
#[derive(Default)]
struct Keys {
    encoded: Packed,
    partitions: Vec<Arc<Partition>>,
    /// Rows of the key batch for each bucket of each partition.
    by_bucket: BTreeMap<(usize, u32), Vec<u32>>,
}

impl Keys {
    /// Nothing is found in a partition that is dropped while it is asked.
    fn forgive(&self, (partition, _): (usize, u32), result: Result<()>) -> Result<()> {
        let ended = self.partitions.get(partition).is_some_and(|p| p.has_ended());
        result.or_else(|e| if ended { Ok(()) } else { Err(e) })
    }

    /// The rows of a bucket. `None` when its partition has been dropped: nothing is found there.
    fn kv(&self, (partition, bucket): (usize, u32)) -> Result<Option<Arc<Kv>>> {
        let Some(partition) = self.partitions.get(partition) else { return Ok(None) };
        match partition.bucket(bucket)?.kv() {
            Ok(kv) => Ok(Some(kv)),
            Err(e) if is_partition_gone(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

impl KeyPart {
    fn new(meta: &TableMeta, format: KeyFormat, wanted: &[usize], given: &[usize]) -> Result<Self> {
        let columns = &meta.schema().columns;
        let types: Vec<DataType> = wanted.iter().filter_map(|i| columns.get(*i)).map(|c| c.data_type.clone()).collect();
        let positions = wanted.iter().filter_map(|i| given.iter().position(|g| g == i)).collect();
        Ok(Self { positions, encoder: KeyEncoder::new(format, &types)? })
    }
}

impl TableLookup {
    pub(crate) fn open(table: Arc<Table>, meta: &TableMeta, options: &LookupOptions) -> Result<Self> {
        let given = positions(meta, &options.key_columns)?;
        let prefix = kind_of(meta, &given)?;
        let wanted = Wanted::new(table.meta.clone(), meta, options.projection.as_deref())?;
        let key_columns = if prefix { &meta.bucket_key } else { &meta.row_key };
        let arrow = meta.arrow_schema()?;
        let columns =
            given.iter().filter_map(|i| arrow.fields().get(*i)).map(|f| (f.name().clone(), f.data_type().clone()));
        Ok(Self {
            columns: columns.collect(),
            key: KeyPart::new(meta, meta.key_format, key_columns, &given)?,
            bucket_key: KeyPart::new(meta, KeyFormat::Paimon, &meta.bucket_key, &given)?,
            partition_key: meta.partition_key.iter().filter_map(|i| given.iter().position(|g| g == i)).collect(),
            table,
            wanted,
            prefix,
        })
    }

    fn check(&self, keys: &RecordBatch) -> Result<()> {
        let same = keys.num_columns() == self.columns.len()
            && keys.columns().iter().zip(&self.columns).all(|(c, (_, t))| c.data_type() == t);
        if same {
            return Ok(());
        }
        let want: Vec<String> = self.columns.iter().map(|(name, t)| format!("{name} {t}")).collect();
        Err(Error::invalid(Subject::Column, format!("the keys must be the columns {}", want.join(", "))))
    }

    /// Encodes the keys and finds their buckets; keys with a NULL are left out.
    fn keys(&self, batch: &RecordBatch) -> Result<Keys> {
        let meta = self.table.meta.get();
        let columns = pick(batch.columns(), &self.key.positions)?;
        let bucket_columns: Vec<ArrayRef> = pick(batch.columns(), &self.bucket_key.positions)?;
        let bound = self.key.encoder.bind(&columns)?;
        let bound_bucket = self.bucket_key.encoder.bind(&bucket_columns)?;
        let mut keys = Keys::default();
        let homes = self.partitions(&meta, batch, &mut keys.partitions)?;
        let mut bytes = Vec::new();
        for row in 0..batch.num_rows() {
            let home = homes.get(row).copied().unwrap_or(0);
            if let Some(partition) = keys.partitions.get(home).filter(|_| !bound.has_null(row)) {
                let buckets = partition.bucket_count();
                bound.encode(row, keys.encoded.open())?;
                let bucket = if buckets < 2 {
                    0
                } else {
                    bytes.clear();
                    bound_bucket.encode(row, &mut bytes)?;
                    meta.bucket_function.bucket(&bytes, buckets)
                };
                let rows = keys.by_bucket.entry((home, u32::try_from(bucket).unwrap_or(0))).or_default();
                rows.push(u32::try_from(row).unwrap_or(u32::MAX));
            }
            keys.encoded.close();
        }
        Ok(keys)
    }

    /// The partitions that keys lie in, and for each key which of them it is; none for a key whose partition is not there.
    fn partitions(&self, meta: &TableMeta, batch: &RecordBatch, found: &mut Vec<Arc<Partition>>) -> Result<Vec<usize>> {
        if !meta.is_partitioned() {
            found.push(self.table.whole()?);
            return Ok(Vec::new());
        }
        let mut router = Router::new(meta);
        router.route(&self.table, batch.columns(), &self.partition_key, batch.num_rows(), |_| Want::IfThere)?;
        let mut numbers: BTreeMap<u32, usize> = BTreeMap::from([(NOWHERE, usize::MAX)]);
        let number = |place: &u32| {
            *numbers.entry(*place).or_insert_with(|| match router.place(*place).and_then(|p| p.partition.clone()) {
                None => usize::MAX,
                Some(partition) => {
                    found.push(partition);
                    found.len() - 1
                }
            })
        };
        Ok(router.rows().iter().map(number).collect())
    }

    /// One value at most for each key.
    fn points(&self, keys: &Keys, count: usize) -> Result<LookupRows> {
        let mut values = Packed::default();
        let mut found: Vec<u32> = vec![u32::MAX; count];
        for (bucket, rows) in &keys.by_bucket {
            let Some(kv) = keys.kv(*bucket)? else { continue };
            let asked: Vec<&[u8]> = rows.iter().map(|row| keys.encoded.get(*row as usize)).collect();
            let got = kv.multi_get(&asked, |i, value| {
                let slot = rows.get(i).and_then(|row| found.get_mut(*row as usize));
                if let (Some(slot), Some(value)) = (slot, value) {
                    *slot = u32::try_from(values.len()).unwrap_or(u32::MAX);
                    values.push(value);
                }
            });
            keys.forgive(*bucket, got)?;
        }
        let mut batch = self.wanted.values.rows(values.len());
        let mut ends = Vec::with_capacity(count);
        let mut end = 0;
        for value in found {
            if value != u32::MAX {
                batch.push(values.get(value as usize))?;
                end += 1;
            }
            ends.push(end);
        }
        Ok(LookupRows { rows: batch.finish()?, ends })
    }

    /// All rows whose key begins with the given one.
    fn prefixes(&self, keys: &Keys, count: usize) -> Result<LookupRows> {
        let mut values = Packed::default();
        let mut found: Vec<Range<usize>> = vec![0..0; count];
        for (bucket, rows) in &keys.by_bucket {
            let Some(kv) = keys.kv(*bucket)? else { continue };
            // In key order a step of the walk goes to what lies near, and a key that is asked twice is found once.
            let key = |row: &u32| keys.encoded.get(*row as usize);
            let mut rows = rows.clone();
            rows.sort_unstable_by(|a, b| key(a).cmp(key(b)));
            let mut walk = kv.prefixes();
            let mut last: Option<(&[u8], Range<usize>)> = None;
            for row in &rows {
                let span = match last {
                    Some((asked, span)) if asked == key(row) => span,
                    _ => {
                        let start = values.len();
                        let got = walk.with_prefix(key(row), |_, value| {
                            values.push(value);
                            true
                        });
                        keys.forgive(*bucket, got)?;
                        start..values.len()
                    }
                };
                if let Some(slot) = found.get_mut(*row as usize) {
                    *slot = span.clone();
                }
                last = Some((key(row), span));
            }
        }
        let mut batch = self.wanted.values.rows(values.len());
        let mut ends = Vec::with_capacity(count);
        for span in found {
            for value in span {
                batch.push(values.get(value))?;
            }
            ends.push(end_of(batch.len())?);
        }
        Ok(LookupRows { rows: batch.finish()?, ends })
    }
}

fn end_of(rows: usize) -> Result<u32> {
    u32::try_from(rows).map_err(|_| Error::invalid(Subject::Row, "a lookup found over 4 billion rows"))
}

fn positions(meta: &TableMeta, names: &[String]) -> Result<Vec<usize>> {
    let mut positions = Vec::with_capacity(names.len());
    for name in names {
        let position = meta.schema().index_of(name);
        let position = position
            .ok_or_else(|| Error::invalid(Subject::Column, format!("table {} has no column '{name}'", meta.path)))?;
        if positions.contains(&position) {
            return Err(Error::invalid(Subject::Column, format!("key column '{name}' is named twice")));
        }
        positions.push(position);
    }
    Ok(positions)
}

/// Whether the columns make a prefix lookup; else they are the whole key.
fn kind_of(meta: &TableMeta, given: &[usize]) -> Result<bool> {
    if !meta.has_primary_key() {
        return Err(Error::invalid(
            Subject::Table,
            format!("table {} has no primary key, so nothing can be looked up in it", meta.path),
        ));
    }
    let same = |wanted: &[usize]| wanted.len() == given.len() && wanted.iter().all(|w| given.contains(w));
    if same(&meta.primary_key) {
        return Ok(false);
    }
    let is_prefix = meta.row_key.starts_with(&meta.bucket_key) && meta.bucket_key.len() < meta.row_key.len();
    let prefix = [&meta.bucket_key[..], &meta.partition_key].concat();
    if is_prefix && meta.key_format == KeyFormat::Compacted && same(&prefix) {
        return Ok(true);
    }
    let names = |positions: &[usize]| {
        let names = positions.iter().filter_map(|i| meta.schema().columns.get(*i)).map(|c| c.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    let mut legal = format!("its primary key ({})", names(&meta.primary_key));
    if is_prefix {
        let partitions = if meta.is_partitioned() { " with the partition columns" } else { "" };
        legal += &format!(" or its bucket key{partitions} ({})", names(&prefix));
    }
    let message = format!("lookups in table {} go by {legal}, not by ({})", meta.path, names(given));
    Err(Error::invalid(Subject::Column, message))
}

impl Lookup for TableLookup {
    fn lookup(&self, keys: &RecordBatch) -> Result<LookupRows> {
        self.table.alive()?;
        self.check(keys)?;
        let count = keys.num_rows();
        let keys = self.keys(keys)?;
        if self.prefix { self.prefixes(&keys, count) } else { self.points(&keys, count) }
    }
}
