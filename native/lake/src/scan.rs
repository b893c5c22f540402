//! Scanning one snapshot of a table: which files each bucket has, and their rows.

use crate::file_meta::FileMeta;
use crate::file_series::{FileSeries, OfEach};
use crate::merge::Merge;
use crate::parquet_reader::FileColumns;
use crate::predicate::Predicate;
use crate::snapshot::Snapshot;
use crate::system_column::{SEQUENCE_NUMBER, VALUE_KIND};
use crate::table::LakeTable;
use crate::table_schema::TableSchema;
use crate::{partition, stored_row::StoredRows};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use sluice_base::{Error, Result, Subject};
use sluice_row::arrow_field;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What to read of a table.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// Positions of the wanted columns in the lake table's schema, in output order; `None` = all.
    pub projection: Option<Vec<usize>>,
    /// A condition that rows need not be read for when they do not meet it.
    pub predicate: Option<Predicate>,
    /// Upper bound of rows in a batch.
    pub batch_rows_max: usize,
}

/// One snapshot of a table, ready to be read.
#[derive(Debug)]
pub struct LakeScan {
    table: LakeTable,
    snapshot: i64,
    splits: Vec<LakeSplit>,
    /// Older schemas that files were written with.
    schemas: BTreeMap<i64, TableSchema>,
}

/// The files of one bucket of one partition.
#[derive(Debug, Clone)]
pub struct LakeSplit {
    partition: Vec<u8>,
    bucket: i32,
    files: Vec<FileMeta>,
}

impl LakeSplit {
    /// The bucket's number in the lake.
    #[must_use]
    pub const fn bucket(&self) -> i32 {
        self.bucket
    }

    /// Its partition as [`LakeScan::partition_row`] writes it.
    #[must_use]
    pub fn partition(&self) -> &[u8] {
        &self.partition
    }

    /// Part number `part` of `parts`, for readers that share the files of a bucket of an append table. The parts of one snapshot's bucket
    /// are the same each time, and together they have each file once.
    #[must_use]
    pub fn part(&self, part: usize, parts: usize) -> Self {
        let files = self.files.iter().enumerate().filter(|(at, _)| at % parts.max(1) == part);
        Self { files: files.map(|(_, file)| file.clone()).collect(), ..self.clone() }
    }

    /// The number of its files.
    #[must_use]
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Rows in its files, before changes of one key are merged.
    #[must_use]
    pub fn stored_rows(&self) -> i64 {
        self.files.iter().map(|f| f.row_count).sum()
    }

    /// Bytes of its files.
    #[must_use]
    pub fn bytes(&self) -> i64 {
        self.files.iter().map(|f| f.file_size).sum()
    }
}

impl LakeScan {
    /// Plans a scan of `snapshot`.
    ///
    /// # Errors
    /// `Unsupported` about `Table` for what cannot be read here, saying why; `NotFound` about `File` when the snapshot has expired;
    /// `Corrupt`, `Io`.
    pub fn new(table: &LakeTable, snapshot: &Snapshot) -> Result<Self> {
        if snapshot.index_manifest.is_some() {
            let message = format!(
                "lake table {}: snapshot {} has deletion vectors or other index files, which cannot be read here; read it as {}$lake, \
                 or set 'deletion-vectors.enabled' to false and compact it fully with Paimon",
                table.path(),
                snapshot.id,
                table.path()
            );
            return Err(Error::unsupported(Subject::Table, message));
        }
        let mut buckets: BTreeMap<(Vec<u8>, i32), Vec<FileMeta>> = BTreeMap::new();
        let mut schemas = BTreeMap::new();
        for entry in table.manifests().files(snapshot)? {
            if !entry.adds() {
                let message =
                    format!("lake snapshot {} removes {}, which it does not have", snapshot.id, entry.file.file_name);
                return Err(Error::corrupt(message));
            }
            let schema_id = entry.file.schema_id;
            if schema_id != table.schema().id && !schemas.contains_key(&schema_id) {
                schemas.insert(schema_id, TableSchema::read(table.storage().as_ref(), table.directory(), schema_id)?);
            }
            buckets.entry((entry.partition, entry.bucket)).or_default().push(entry.file);
        }
        let split = |((partition, bucket), mut files): ((Vec<u8>, i32), Vec<FileMeta>)| {
            // The order in which rows were appended.
            files.sort_by_key(|f| (f.min_sequence, f.max_sequence));
            LakeSplit { partition, bucket, files }
        };
        let splits = buckets.into_iter().map(split).collect();
        Ok(Self { table: table.clone(), snapshot: snapshot.id, splits, schemas })
    }

    /// The snapshot that is read.
    #[must_use]
    pub const fn snapshot(&self) -> i64 {
        self.snapshot
    }

    /// One for each bucket that has files.
    #[must_use]
    pub fn splits(&self) -> &[LakeSplit] {
        &self.splits
    }

    /// How splits name the partition of row `row` of these partition columns.
    ///
    /// # Errors
    /// `Internal` for columns of other types.
    pub fn partition_row(&self, columns: &[ArrayRef], row: usize) -> Result<Vec<u8>> {
        let schema = self.table.schema();
        let types = schema.partition_indexes().into_iter().map(|i| schema.schema.columns[i].data_type.clone());
        StoredRows::new(&types.collect::<Vec<_>>())?.encode(columns, row)
    }

    /// The values of the partition columns of a split, as columns of one row each.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn partition_values(&self, split: &LakeSplit) -> Result<Vec<ArrayRef>> {
        partition::columns(self.table.schema(), &split.partition)
    }

    /// The rows of a split: those of an append table in the order in which they were written, those of a primary-key table by key, the
    /// newest of each.
    ///
    /// # Errors
    /// `NotFound` about `File` when the snapshot has expired; `Invalid` about the projection; `Corrupt`, `Io`.
    pub fn read(&self, split: &LakeSplit, options: &ScanOptions) -> Result<Rows> {
        let columns = &self.table.schema().schema.columns;
        let projection = options.projection.clone().unwrap_or_else(|| (0..columns.len()).collect());
        let output = projection.iter().map(|i| columns.get(*i).map(|c| arrow_field(&c.name, &c.data_type)));
        let output = output.collect::<Option<Vec<_>>>();
        let output =
            output.ok_or_else(|| Error::invalid(Subject::Column, "the projection names a column that is not there"))?;
        let schema = Arc::new(ArrowSchema::new(output));
        let source = match self.table.schema().schema.primary_key.is_empty() {
            true => Source::Append(Box::new(self.append(split, projection, options)?)),
            false => Source::Keyed(Box::new(self.keyed(split, &projection, options)?)),
        };
        Ok(Rows { source, schema })
    }

    /// The files of a bucket to be merged or put together, all columns of them.
    pub(crate) fn part_of(partition: Vec<u8>, bucket: i32, files: Vec<FileMeta>) -> LakeSplit {
        LakeSplit { partition, bucket, files }
    }

    /// All columns of some runs of a split's files, merged; with the numbers and kinds of the changes. The keys of the files of a run follow one
    /// another.
    ///
    /// # Errors
    /// As [`LakeScan::read`].
    pub(crate) fn merge(&self, split: &LakeSplit, runs: &[Vec<FileMeta>], batch_rows: usize) -> Result<Merge> {
        let all = 0..self.table.schema().schema.columns.len();
        self.merged(split, runs.iter().map(Vec::as_slice), all, None, batch_rows)
    }

    fn append(&self, split: &LakeSplit, projection: Vec<usize>, options: &ScanOptions) -> Result<FileSeries> {
        let (predicate, batch_rows) = (options.predicate.clone(), options.batch_rows_max);
        self.series(split, &split.files, &Arc::new(OfEach { projection, system: &[], predicate, batch_rows }))
    }

    fn keyed(&self, split: &LakeSplit, projection: &[usize], options: &ScanOptions) -> Result<Merge> {
        let keys = self.table.schema().key_indexes();
        // A newer change that does not match would hide an older one that does, were it left out: only conditions on the key hold for
        // all changes of a key alike.
        let predicate = match split.files.len() {
            1 => options.predicate.clone(),
            _ => options.predicate.as_ref().and_then(|p| p.restricted(&|column| keys.contains(&column))),
        };
        let runs = split.files.iter().map(std::slice::from_ref);
        self.merged(split, runs, projection.iter().copied(), predicate, options.batch_rows_max)
    }

    fn merged<'f>(
        &self,
        split: &LakeSplit,
        runs: impl Iterator<Item = &'f [FileMeta]>,
        projection: impl Iterator<Item = usize>,
        predicate: Option<Predicate>,
        batch_rows: usize,
    ) -> Result<Merge> {
        let keys = self.table.schema().key_indexes();
        let projection = keys.iter().copied().chain(projection).collect();
        let of_each = Arc::new(OfEach { projection, system: &[SEQUENCE_NUMBER, VALUE_KIND], predicate, batch_rows });
        let runs = runs.map(|files| self.series(split, files, &of_each)).collect::<Result<Vec<_>>>()?;
        Merge::new(runs, keys.len(), batch_rows)
    }

    /// Some files of a split, one after the other.
    fn series(&self, split: &LakeSplit, files: &[FileMeta], of_each: &Arc<OfEach>) -> Result<FileSeries> {
        let directory = self.table.bucket_directory(&split.partition, split.bucket)?;
        let file = |f: &FileMeta| Ok((self.file_path(&directory, f), f.file_size, self.columns_of(f)?));
        let files = files.iter().map(file).collect::<Result<_>>()?;
        Ok(FileSeries::new(Arc::clone(self.table.storage()), files, Arc::clone(of_each)))
    }

    fn file_path(&self, directory: &str, file: &FileMeta) -> String {
        format!("{directory}/{}", file.file_name)
    }

    /// For each column of the table its type and its name in a file: columns are found by id, whatever they were called.
    fn columns_of(&self, file: &FileMeta) -> Result<FileColumns> {
        if let Some(path) = &file.external_path {
            return Err(Error::unsupported(Subject::Table, format!("data file {path} lies outside of the lake table")));
        }
        let newest = self.table.schema();
        let written = self.schemas.get(&file.schema_id).unwrap_or(newest);
        let stored = |id: Option<i32>| written.schema.columns.iter().find(|c| c.id == id);
        let column = |column: &sluice_row::Column| match stored(column.id) {
            Some(then) if then.data_type.root != column.data_type.root => Err(Error::unsupported(
                Subject::Column,
                format!(
                    "lake table {}: column '{}' was {} when data file {} was written and is {} now; that cannot be read here",
                    self.table.path(),
                    column.name,
                    then.data_type,
                    file.file_name,
                    column.data_type
                ),
            )),
            found => Ok((column.data_type.clone(), found.map(|then| then.name.clone()))),
        };
        newest.schema.columns.iter().map(column).collect()
    }
}

/// The rows of one split, batch by batch.
#[derive(Debug)]
pub struct Rows {
    source: Source,
    schema: SchemaRef,
}

#[derive(Debug)]
enum Source {
    Append(Box<FileSeries>),
    Keyed(Box<Merge>),
}

impl Rows {
    /// The next batch, `None` at the end.
    ///
    /// # Errors
    /// `NotFound` about `File` when the snapshot has expired; `Corrupt`, `Io`.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let next = match &mut self.source {
            Source::Append(files) => files.next()?,
            Source::Keyed(merge) => merge.next()?,
        };
        let Some((columns, rows)) = next else { return Ok(None) };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map(Some)
            .map_err(|e| Error::corrupt(format!("a lake file breaks its table's schema: {e}")).with_source(e))
    }
}
