//! A writer: checks a batch whole, encodes it, splits it by partition and bucket, hands it to the outbox.

use crate::calls;
use crate::cluster::{Cluster, To};
use crate::outbox::{Ends, Outbox, Part};
use crate::router::{Home, Missing, Router};
use crate::table::{RemoteTable, batch_of, pick};
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array, new_null_array};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use arrow_select::take::take;
use serde_json::json;
use sluice_api::call::Bucket;
use sluice_api::{WriteOptions, Writer};
use sluice_base::{Error, ErrorKind, Offset, Result, Subject, TableBucket};
use sluice_row::{ChangeKind, KeyEncoder, RowEncoder};
use sluice_wire::ApiKey;
use sluice_wire::message::{InitWriterRequest, InitWriterResponse};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A writer waits this long for its servers to catch up before it says `Busy`.
const ROOM_WAIT: Duration = Duration::from_secs(1);

/// Keys and rows one after the other, and where each key and row ends.
type Encoded = (Vec<u8>, Vec<Ends>);

/// An open writer.
pub(crate) struct RemoteWriter {
    cluster: Arc<Cluster>,
    table: Arc<RemoteTable>,
    closed: crate::closing::Closing,
    options: WriteOptions,
    outbox: Arc<Outbox>,
    router: Router,
    /// For each column of the table its position in the batches.
    order: Vec<Option<usize>>,
    /// The table's columns, all nullable: deletes carry NULL beside their key.
    lenient: SchemaRef,
    rows: RowEncoder,
    key: Option<KeyEncoder>,
    bucket_key: Option<KeyEncoder>,
    missing: Missing,
    /// Whether the table takes rows back instead of deleting them.
    takes_back: bool,
    /// Which bucket gets the next rows that have no home.
    turn: usize,
    written: (u64, u64),
}

impl RemoteWriter {
    pub(crate) fn open(
        cluster: Arc<Cluster>,
        table: RemoteTable,
        options: &WriteOptions,
        closed: crate::closing::Closing,
    ) -> Result<Self> {
        let order = order(&table, &options.target_columns)?;
        let numbered = table.schema().auto_increment.first().and_then(|name| table.schema().index_of(name));
        if let Some(i) = numbered.filter(|i| !options.overwrite && order.get(*i).is_some_and(Option::is_some)) {
            let name = table.schema().columns.get(i).map_or("", |c| c.name.as_str());
            let message = format!(
                "table {} has the auto-increment column '{name}': explicitly specifying values for an auto increment column is not \
                 allowed; write the other columns",
                table.path()
            );
            return Err(Error::invalid(Subject::Column, message));
        }
        let partial = order.iter().any(Option::is_none);
        if options.overwrite && !table.has_primary_key() {
            return Err(Error::invalid(Subject::Table, format!("table {} has no primary key", table.path())));
        }
        let targets = order.iter().enumerate().filter(|(_, at)| partial && at.is_some());
        let targets = targets.map(|(i, _)| i32::try_from(i).unwrap_or(i32::MAX)).collect();
        let request = InitWriterRequest { table_path: vec![crate::cluster::wire_path(table.path())] };
        let told: InitWriterResponse = cluster.block_on(cluster.ask(To::Tablet, ApiKey::InitWriter, &request))?;
        let fields = table.arrow.fields().iter().map(|f| f.as_ref().clone().with_nullable(true));
        let lenient = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        let encoder = |format, positions: &[usize]| {
            (!positions.is_empty()).then(|| table.key_encoder(format, positions)).transpose()
        };
        let key = encoder(table.key_format, &table.row_key)?;
        let bucket_key = encoder(table.bucket_format, &table.bucket_key)?;
        let behavior = table.info.descriptor.properties.get("table.delete.behavior");
        let takes_back = behavior.is_some_and(|b| b.trim().eq_ignore_ascii_case("retract")) && !options.overwrite;
        let table = Arc::new(table);
        let outbox = Outbox::new(cluster.clone(), table.clone(), told.writer_id, targets, options.overwrite);
        Ok(Self {
            router: Router::new(&table),
            rows: RowEncoder::new(&table.types()),
            missing: if options.create_partitions { Missing::Create } else { Missing::Refuse },
            turn: usize::try_from(told.writer_id.unsigned_abs()).unwrap_or(0),
            options: options.clone(),
            outbox: Arc::new(outbox),
            written: (0, 0),
            takes_back,
            cluster,
            table,
            closed,
            order,
            lenient,
            key,
            bucket_key,
        })
    }

    /// The rows with all columns of the table in its order.
    fn whole(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let width = self.order.iter().flatten().count();
        if batch.num_columns() != width {
            let what = format!("the batch has {} columns, the writer takes {width}", batch.num_columns());
            return Err(Error::invalid(Subject::Column, what));
        }
        let mut columns = Vec::with_capacity(self.order.len());
        for (at, field) in self.order.iter().zip(self.table.arrow.fields()) {
            let column = match at {
                Some(at) => batch.column(*at).clone(),
                None => new_null_array(field.data_type(), batch.num_rows()),
            };
            if column.data_type() != field.data_type() {
                let what = format!("column '{}' holds {}, not {}", field.name(), column.data_type(), field.data_type());
                return Err(Error::invalid(Subject::Column, what));
            }
            columns.push(column);
        }
        batch_of(&self.lenient, columns, batch.num_rows())
    }

    /// What every row must keep before anything of the batch is sent.
    fn check(&self, rows: &RecordBatch, kinds: &[ChangeKind]) -> Result<()> {
        let keyed = self.table.has_primary_key();
        if !kinds.is_empty() && kinds.len() != rows.num_rows() {
            let what = format!("{} change kinds for {} rows", kinds.len(), rows.num_rows());
            return Err(Error::invalid(Subject::Row, what));
        }
        let append = |k: &ChangeKind| matches!(k, ChangeKind::Append | ChangeKind::Insert);
        if let Some(row) = kinds.iter().position(|k| !keyed && !append(k)) {
            let message = format!(
                "row {row} of the batch is an update or delete, but table {} has no primary key and takes inserts only",
                self.table.path()
            );
            return Err(Error::invalid(Subject::Row, message));
        }
        if self.takes_back && kinds.iter().any(is_old) && !calls::are_known(&self.cluster)? {
            return Err(calls::unknown("taking rows back ('table.delete.behavior' = 'retract')"));
        }
        for (i, (column, declared)) in rows.columns().iter().zip(&self.table.schema().columns).enumerate() {
            let is_key = self.table.primary_key.contains(&i);
            let written = self.order.get(i).is_some_and(Option::is_some);
            if !written || (declared.data_type.nullable && !is_key) || column.null_count() == 0 {
                continue;
            }
            let matters = |row: usize| match kinds.get(row) {
                Some(ChangeKind::UpdateBefore) => is_key && self.takes_back,
                Some(ChangeKind::Delete) => is_key,
                _ => true,
            };
            if let Some(row) = (0..column.len()).find(|row| column.is_null(*row) && matters(*row)) {
                let what = if is_key { "is part of the primary key" } else { "is NOT NULL" };
                let name = &declared.name;
                let message = format!(
                    "row {row} of the batch has NULL in column '{name}', which {what}; nothing of the batch is written"
                );
                return Err(Error::invalid(Subject::Row, message));
            }
        }
        Ok(())
    }

    /// The bucket of each row.
    fn buckets(&mut self, rows: &RecordBatch, homes: &[Option<Home>]) -> Result<Vec<Option<TableBucket>>> {
        let Some(encoder) = &self.bucket_key else {
            self.turn = self.turn.wrapping_add(1);
            let place = |home: &Home| {
                let buckets = usize::try_from(home.buckets).unwrap_or(1).max(1);
                home.bucket(&self.table, i32::try_from(self.turn % buckets).unwrap_or(0))
            };
            return Ok(homes.iter().map(|home| home.as_ref().map(place)).collect());
        };
        let columns = pick(rows.columns(), &self.table.bucket_key)?;
        let bound = encoder.bind(&columns)?;
        let mut bytes = Vec::new();
        let mut buckets = Vec::with_capacity(homes.len());
        for (row, home) in homes.iter().enumerate() {
            let Some(home) = home else {
                buckets.push(None);
                continue;
            };
            let bucket = if home.buckets < 2 {
                0
            } else {
                bytes.clear();
                bound.encode(row, &mut bytes)?;
                self.table.bucket_function.bucket(&bytes, home.buckets)
            };
            buckets.push(Some(home.bucket(&self.table, bucket)));
        }
        Ok(buckets)
    }

    fn parts(
        &self,
        rows: &RecordBatch,
        kinds: &[ChangeKind],
        buckets: &[Option<TableBucket>],
    ) -> Result<BTreeMap<TableBucket, Part>> {
        match &self.key {
            Some(key) => self.parts_by_key(rows, kinds, buckets, key),
            None => self.parts_of_log(rows, buckets),
        }
    }

    fn parts_of_log(&self, rows: &RecordBatch, buckets: &[Option<TableBucket>]) -> Result<BTreeMap<TableBucket, Part>> {
        let strict = |columns: Vec<ArrayRef>, count: usize| {
            batch_of(&self.table.arrow, columns, count).map_err(|e| Error::invalid(Subject::Row, e.message()))
        };
        let mut by_bucket: BTreeMap<TableBucket, Vec<u32>> = BTreeMap::new();
        for (row, bucket) in (0_u32..).zip(buckets) {
            if let Some(bucket) = bucket {
                by_bucket.entry(*bucket).or_default().push(row);
            }
        }
        let mut parts = BTreeMap::new();
        for (bucket, positions) in by_bucket {
            let count = positions.len();
            let columns = if count == rows.num_rows() {
                rows.columns().to_vec()
            } else {
                let positions = UInt32Array::from(positions);
                let taken = rows.columns().iter().map(|c| take(c, &positions, None));
                taken.collect::<Result<Vec<_>, _>>().map_err(|e| Error::internal(format!("cannot pick rows: {e}")))?
            };
            self.check_sizes(&columns, count)?;
            let size = |c: &ArrayRef| c.to_data().get_slice_memory_size().unwrap_or_else(|_| c.get_array_memory_size());
            let bytes = columns.iter().map(size).sum::<usize>().max(1);
            parts.insert(bucket, Part::Appends(strict(columns, count)?, bytes));
        }
        Ok(parts)
    }

    /// A row must fit into a request.
    fn check_size(&self, row: usize, bytes: usize) -> Result<()> {
        let most = self.cluster.settings.row_bytes_max;
        if bytes <= most {
            return Ok(());
        }
        let message = format!(
            "row {row} of the batch has {bytes} bytes, the limit is {most} (option 'client.writer.request-max-size', and the \
             server's setting 'write.row-size-max'); nothing of the batch is written"
        );
        Err(Error::invalid(Subject::Row, message))
    }

    /// The same for rows that are not encoded one by one: together they are mostly small enough.
    fn check_sizes(&self, columns: &[ArrayRef], rows: usize) -> Result<()> {
        let size = |c: &ArrayRef| c.to_data().get_slice_memory_size().unwrap_or_else(|_| c.get_array_memory_size());
        if columns.iter().map(size).sum::<usize>() <= self.cluster.settings.row_bytes_max {
            return Ok(());
        }
        let bound = self.rows.bind(columns)?;
        let mut scratch = Vec::new();
        for row in 0..rows {
            scratch.clear();
            bound.encode(row, &mut scratch);
            self.check_size(row, scratch.len())?;
        }
        Ok(())
    }

    fn parts_by_key(
        &self,
        rows: &RecordBatch,
        kinds: &[ChangeKind],
        buckets: &[Option<TableBucket>],
        key: &KeyEncoder,
    ) -> Result<BTreeMap<TableBucket, Part>> {
        let key_columns = pick(rows.columns(), &self.table.row_key)?;
        let (keys, values) = (key.bind(&key_columns)?, self.rows.bind(rows.columns())?);
        let mut parts: BTreeMap<TableBucket, Encoded> = BTreeMap::new();
        for (row, bucket) in buckets.iter().enumerate() {
            let Some(bucket) = bucket else { continue };
            let (bytes, ends) = parts.entry(*bucket).or_default();
            keys.encode(row, bytes)?;
            let key_end = bytes.len();
            let takes_back = self.takes_back && kinds.get(row).is_some_and(is_old);
            if takes_back || kinds.get(row) != Some(&ChangeKind::Delete) {
                values.encode(row, bytes);
            }
            let start = ends.last().map_or(0, |end| end.row);
            self.check_size(row, bytes.len() - start)?;
            ends.push(Ends { key: key_end, row: bytes.len(), takes_back });
        }
        Ok(parts.into_iter().map(|(bucket, (bytes, ends))| (bucket, Part::ByKey { bytes, ends })).collect())
    }
}

/// Whether a row stands for what was there before.
fn is_old(kind: &ChangeKind) -> bool {
    matches!(kind, ChangeKind::UpdateBefore | ChangeKind::Delete)
}

/// Where each column of the table stands in the caller's batches, if there.
fn order(table: &RemoteTable, target_columns: &[String]) -> Result<Vec<Option<usize>>> {
    let columns = &table.schema().columns;
    if target_columns.is_empty() {
        return Ok((0..columns.len()).map(Some).collect());
    }
    for (i, name) in target_columns.iter().enumerate() {
        if table.schema().index_of(name).is_none() {
            return Err(Error::invalid(Subject::Column, format!("table {} has no column '{name}'", table.path())));
        }
        if target_columns.iter().take(i).any(|n| n == name) {
            return Err(Error::invalid(Subject::Column, format!("column '{name}' is named twice")));
        }
    }
    let named = |i: &usize| columns.get(*i).is_some_and(|c| target_columns.contains(&c.name));
    if target_columns.len() < columns.len() && !table.has_primary_key() {
        let what = format!("table {} has no primary key: write all of its columns", table.path());
        return Err(Error::invalid(Subject::Column, what));
    }
    if let Some(missing) = table.primary_key.iter().find(|i| !named(i)) {
        let name = columns.get(*missing).map_or("", |c| c.name.as_str());
        let what = format!(
            "a partial update of table {} needs all columns of its primary key; '{name}' is missing",
            table.path()
        );
        return Err(Error::invalid(Subject::Column, what));
    }
    Ok(columns.iter().map(|c| target_columns.iter().position(|n| *n == c.name)).collect())
}

impl Writer for RemoteWriter {
    fn write(&mut self, batch: &RecordBatch, kinds: &[ChangeKind]) -> Result<()> {
        self.closed.check()?;
        self.outbox.check()?;
        for partition in self.outbox.gone() {
            self.router.forget(partition);
        }
        let rows = self.whole(batch)?;
        self.check(&rows, kinds)?;
        let columns = pick(rows.columns(), &self.table.partition_key)?;
        let wanted = |row: usize| self.takes_back || kinds.get(row) != Some(&ChangeKind::UpdateBefore);
        let count = rows.num_rows();
        let missing = |row: usize| match kinds.get(row) {
            // What is not there need not be deleted.
            Some(ChangeKind::UpdateBefore | ChangeKind::Delete) => Missing::Nowhere,
            _ => self.missing,
        };
        let homes = self.router.route(&self.cluster, &self.table, &columns, count, missing)?;
        // Old images go nowhere, with or without partitions.
        let homes: Vec<Option<Home>> =
            homes.into_iter().enumerate().map(|(row, home)| home.filter(|_| wanted(row))).collect();
        let buckets = self.buckets(&rows, &homes)?;
        let parts = self.parts(&rows, kinds, &buckets)?;
        let bytes: usize = parts.values().map(Part::bytes).sum();
        if !self.cluster.room.take(bytes, ROOM_WAIT) {
            let message = format!(
                "the servers do not keep up: rows that they have not acknowledged fill the client's memory \
                 ('client.writer.buffer.memory-size'); nothing of this batch for table {} was sent",
                self.table.path()
            );
            return Err(Error::new(ErrorKind::Busy, Subject::Disk, message));
        }
        self.written.0 += count as u64;
        self.written.1 += bytes as u64;
        if self.missing == Missing::Create {
            let partitions = homes.iter().flatten().filter_map(|home| Some((home.partition?, home.buckets)));
            self.outbox.note(partitions, |partition| self.router.values_of(partition).cloned());
        }
        self.outbox.put(parts)
    }

    fn flush(&mut self, timeout: Duration) -> Result<()> {
        self.closed.check()?;
        self.outbox.wait(timeout)
    }

    fn undo(&mut self, bucket: &TableBucket, from: Offset) -> Result<()> {
        self.closed.check()?;
        self.outbox.wait(self.cluster.settings.request_timeout)?;
        let WriteOptions { target_columns, overwrite, create_partitions } = &self.options;
        let path = self.table.path();
        let writer = json!({ "path": path, "target_columns": target_columns, "overwrite": overwrite,
            "create_partitions": create_partitions });
        let arguments = json!({ "writer": writer, "bucket": Bucket::from(*bucket), "from": from });
        calls::call(&self.cluster, "undo", &arguments)
    }

    fn written(&self) -> (u64, u64) {
        self.written
    }
}
