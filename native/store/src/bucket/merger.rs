//! How one writer's rows are merged: the table's engine, narrowed to the columns that the writer writes.

use crate::TableMeta;
use crate::ddl::auto_increment::AutoIncrement;
use crate::ddl::sequence_group::SequenceGroup;
use sluice_base::{Error, Result, Subject};
use sluice_kv::{ColumnFold, DeleteBehavior, Effect, MergeEngine, Prior};
use sluice_row::ChangeKind;

/// The rules for one writer's rows under one schema.
#[derive(Debug)]
pub(crate) struct Merger {
    pub(crate) deletes: DeleteBehavior,
    pub(crate) image: Image,
    pub(crate) unit: Unit,
}

/// What the changelog says of an upsert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Image {
    /// The row before and the row after.
    Full,
    /// The row after, and whether the key is new.
    After,
    /// The row after; whether the key is new is not even looked up.
    Blind,
}

/// What is merged as one.
#[derive(Debug)]
pub(crate) enum Unit {
    /// The whole row.
    Row(MergeEngine),
    /// Each column for itself.
    Column(Columns),
}

/// What becomes of each column.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) folds: Vec<ColumnFold>,
    /// Columns that a partial writer leaves to others, without those that are only the versions of some.
    pub(super) others: Vec<usize>,
    /// Groups of written columns that follow a version of their own.
    pub(super) groups: Vec<SequenceGroup>,
    /// Written columns outside the key that are in no group.
    pub(super) plain: Vec<usize>,
    /// A written column that can never be NULL, which a partial delete cannot clear.
    pub(super) not_null: Option<String>,
    /// Only the key is written, and no function is asked: a key that is there stays as it is.
    pub(super) key_only: bool,
    /// Whether a merged value may be longer than the incoming one.
    pub(super) grows: bool,
    /// The column that gets a number where a row is new, unless the row is put back with its own.
    pub(super) numbered: Option<AutoIncrement>,
    /// Whether rows are put back as they were.
    pub(super) overwrites: bool,
}

/// Which columns a writer writes.
#[derive(Debug, Clone)]
pub(crate) struct Targets {
    /// Positions in the table; columns are only ever added behind them.
    pub(crate) columns: Vec<usize>,
    /// Whether the table had more columns than these when the writer was opened, beside one that the store numbers.
    pub(crate) partial: bool,
    /// Whether rows replace what is there whatever the table's engine says, and deletes delete.
    pub(crate) overwrites: bool,
}

impl Merger {
    /// The rules of a writer.
    ///
    /// # Errors
    /// `Invalid` about `Column` when the table cannot be written in parts.
    pub(crate) fn new(meta: &TableMeta, targets: &Targets) -> Result<Self> {
        let (engine, deletes) = match targets.overwrites {
            true => (MergeEngine::LastRow, DeleteBehavior::Allow),
            false => (meta.merging.engine, meta.merging.deletes),
        };
        let numbered = meta.auto_increment.as_ref();
        let writes_numbers = numbered.is_some_and(|n| targets.columns.contains(&n.column));
        if let Some(column) = numbered.filter(|_| writes_numbers && !targets.overwrites) {
            return Err(Error::invalid(
                Subject::Column,
                format!(
                    "table {} has the auto-increment column '{}': explicitly specifying values for an auto increment column is not allowed; \
                     write the other columns",
                    meta.path, column.name
                ),
            ));
        }
        let whole = !targets.partial && (numbered.is_none() || writes_numbers);
        let grouped = !targets.overwrites && !meta.merging.groups.is_empty();
        let by_row = whole && !grouped && engine != MergeEngine::Aggregation;
        let unit = if by_row { Unit::Row(engine) } else { Unit::Column(Columns::new(meta, targets, engine)?) };
        let image = match (meta.merging.full_image, &unit) {
            (true, _) => Image::Full,
            (false, Unit::Row(MergeEngine::LastRow)) => Image::Blind,
            (false, _) => Image::After,
        };
        Ok(Self { deletes, image, unit })
    }

    /// Refuses deletes that the table does not take, before anything of their batch is written.
    ///
    /// # Errors
    /// `Invalid` about `Row`.
    pub(crate) fn check_kinds(&self, meta: &TableMeta, kinds: &[ChangeKind]) -> Result<()> {
        let Some(row) = kinds.iter().position(|k| *k == ChangeKind::Delete) else { return Ok(()) };
        match self.deletes {
            DeleteBehavior::Disable => Err(Error::invalid(
                Subject::Row,
                format!(
                    "row {row} of the batch is a delete, and table {} refuses deletes: its 'table.delete.behavior' is 'disable'",
                    meta.path
                ),
            )),
            DeleteBehavior::Retract => self.check_retracts(meta),
            DeleteBehavior::Allow | DeleteBehavior::Ignore => Ok(()),
        }
    }

    fn check_retracts(&self, meta: &TableMeta) -> Result<()> {
        let Unit::Column(columns) = &self.unit else { return Ok(()) };
        let stuck = |fold: &ColumnFold| matches!(fold, ColumnFold::Aggregate(f) if !f.retracts());
        match columns.folds.iter().zip(&meta.schema().columns).find(|(fold, _)| stuck(fold)) {
            Some((ColumnFold::Aggregate(function), column)) => Err(Error::invalid(
                Subject::Row,
                format!(
                    "column '{}' of table {} cannot take a row back: its aggregation function is {}, and only sum and product can; \
                     leave the column out of the INSERT",
                    column.name,
                    meta.path,
                    function.name()
                ),
            )),
            _ => Ok(()),
        }
    }
}

impl Columns {
    fn new(meta: &TableMeta, targets: &Targets, engine: MergeEngine) -> Result<Self> {
        if matches!(engine, MergeEngine::FirstRow | MergeEngine::Versioned { .. }) {
            let name = if engine == MergeEngine::FirstRow { "first_row" } else { "versioned" };
            return Err(Error::invalid(
                Subject::Column,
                format!(
                    "table {} with merge engine {name} does not support partial updates; write all columns",
                    meta.path
                ),
            ));
        }
        let columns = &meta.schema().columns;
        let is_key = |i: &usize| meta.primary_key.contains(i);
        let is_target = |i: &usize| targets.columns.contains(i);
        if let Some(key) = meta.primary_key.iter().find(|i| !is_target(i)).and_then(|i| columns.get(*i)) {
            return Err(Error::invalid(
                Subject::Column,
                format!(
                    "a partial update of table {} needs all columns of its primary key; '{}' is missing",
                    meta.path, key.name
                ),
            ));
        }
        let rest: Vec<usize> = (0..columns.len()).filter(|i| !is_key(i)).collect();
        let (written, others): (Vec<usize>, Vec<usize>) = rest.into_iter().partition(is_target);
        let is_numbered = |i: &usize| meta.auto_increment.as_ref().is_some_and(|n| n.column == *i);
        let others: Vec<usize> = others.into_iter().filter(|i| !is_numbered(i)).collect();
        let must = |i: &&usize| columns.get(**i).is_some_and(|c| !c.data_type.nullable);
        let name = |i: &usize| columns.get(*i).map(|c| c.name.clone()).unwrap_or_default();
        if let Some(column) = others.iter().find(must).map(name) {
            return Err(Error::invalid(
                Subject::Column,
                format!(
                    "column '{column}' of table {} is NOT NULL, so a partial update must write it: a new key would have no value for it",
                    meta.path
                ),
            ));
        }
        let fold = |i: usize| match meta.merging.functions.get(i) {
            _ if is_key(&i) || !is_target(&i) || is_numbered(&i) => ColumnFold::Keep,
            Some(function) if engine == MergeEngine::Aggregation => ColumnFold::Aggregate(function.clone()),
            _ => ColumnFold::Replace,
        };
        let folds: Vec<ColumnFold> = (0..columns.len()).map(fold).collect();
        let groups = if targets.overwrites { Vec::new() } else { written_groups(meta, targets)? };
        let in_group = |i: &usize| groups.iter().any(|g| g.version == *i || g.columns.contains(i));
        let is_version = |i: &usize| meta.merging.groups.iter().any(|g| g.version == *i);
        let others = others.into_iter().filter(|i| !is_version(i)).collect();
        Ok(Self {
            // A delete leaves a version, or brings one.
            not_null: written.iter().filter(|i| !groups.iter().any(|g| g.version == **i)).find(must).map(name),
            plain: written.iter().copied().filter(|i| !in_group(i)).collect(),
            key_only: written.is_empty() && engine != MergeEngine::Aggregation,
            grows: folds.iter().any(|f| matches!(f, ColumnFold::Aggregate(f) if f.grows())),
            folds,
            numbered: meta.auto_increment.clone(),
            overwrites: targets.overwrites,
            // A writer of whole rows deletes whole rows, also when the table has grown since it was opened.
            others: if targets.partial { others } else { Vec::new() },
            groups,
        })
    }

    /// Whether a delete takes the whole row with it: nobody else has written anything into it.
    pub(super) fn removes(&self, deletes: DeleteBehavior, prior: Prior, bare: bool) -> bool {
        deletes == DeleteBehavior::Allow && prior != Prior::Absent && bare
    }

    /// What a delete does to the columns of a row. A removed row has none.
    ///
    /// # Errors
    /// `Invalid` about `Row` when it would have to clear a column that cannot be NULL.
    pub(super) fn delete(&self, deletes: DeleteBehavior, prior: Prior, bare: bool) -> Result<Effect> {
        match (deletes, prior) {
            (_, Prior::Absent) | (DeleteBehavior::Ignore | DeleteBehavior::Disable, _) => Ok(Effect::Skip),
            (DeleteBehavior::Retract, _) => Ok(Effect::Retract),
            (DeleteBehavior::Allow, _) if bare || self.key_only => Ok(Effect::Skip),
            (DeleteBehavior::Allow, _) => match &self.not_null {
                None => Ok(Effect::Clear),
                Some(column) => Err(Error::invalid(
                    Subject::Row,
                    format!(
                        "a partial delete cannot set column '{column}' to NULL, for it is NOT NULL, and the row has values of other writers; \
                         delete it with a writer of all columns"
                    ),
                )),
            },
        }
    }
}

/// The groups that a writer writes, each whole: a column whose version is not written could not be told from an older one.
fn written_groups(meta: &TableMeta, targets: &Targets) -> Result<Vec<SequenceGroup>> {
    let mut written = Vec::new();
    for group in &meta.merging.groups {
        let (there, missing): (Vec<usize>, Vec<usize>) =
            group.columns.iter().copied().chain([group.version]).partition(|i| targets.columns.contains(i));
        let name = |i: &usize| meta.schema().columns.get(*i).map_or("", |c| c.name.as_str());
        match (there.first(), missing.first()) {
            (Some(there), Some(missing)) => {
                return Err(Error::invalid(
                    Subject::Column,
                    format!(
                        "column '{}' of table {} follows the version in column '{}', so a partial update that writes it must write \
                         '{}' too",
                        name(there),
                        meta.path,
                        name(&group.version),
                        name(missing)
                    ),
                ));
            }
            (Some(_), None) => written.push(group.clone()),
            (None, _) => {}
        }
    }
    Ok(written)
}
