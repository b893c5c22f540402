//! Merge engine, delete behavior, changelog image and aggregation functions of a table: reading them, and what goes together.

use super::options::{self, CHANGELOG_IMAGE, DELETE_BEHAVIOR, MERGE_ENGINE, VERSION_COLUMN};
use super::sequence_group::{self, SequenceGroup};
use sluice_base::{Error, Result, Subject};
use sluice_kv::{AggregateFunction, DeleteBehavior, MergeEngine};
use sluice_row::{Column, FIELDS, FUNCTION_SUFFIX, TableDescriptor, TypeRoot};

/// How a table merges rows of one key, and what its changelog says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merging {
    /// The engine.
    pub engine: MergeEngine,
    /// What a delete does.
    pub deletes: DeleteBehavior,
    /// Whether the changelog holds rows as they were before an update.
    pub full_image: bool,
    /// The function of every column (that of a key column has no meaning); empty unless the engine is `Aggregation`.
    pub functions: Vec<AggregateFunction>,
    /// Columns that follow versions of their own; only where the engine is `LastRow`.
    pub groups: Vec<SequenceGroup>,
}

impl Merging {
    /// What a table's description says.
    ///
    /// # Errors
    /// `Invalid` about `Option` or `Column` for what does not go together, naming it.
    pub fn of(table: &TableDescriptor) -> Result<Self> {
        let engine = engine(table)?;
        let deletes = deletes(table, engine)?;
        let merging = Self {
            engine,
            deletes,
            full_image: !is(table, CHANGELOG_IMAGE, "WAL"),
            functions: functions(table, engine)?,
            groups: sequence_group::of(table, engine, deletes)?,
        };
        if engine == MergeEngine::Aggregation && !merging.full_image {
            return invalid(format!(
                "option '{CHANGELOG_IMAGE}' = 'WAL' does not go with '{MERGE_ENGINE}' = 'aggregation': its readers need the row before an update"
            ));
        }
        Ok(merging)
    }
}

pub(super) fn invalid<T>(message: String) -> Result<T> {
    Err(Error::invalid(Subject::Option, message))
}

fn option<'a>(table: &'a TableDescriptor, key: &str) -> Option<&'a str> {
    table.properties.get(key).map(|v| v.trim()).filter(|v| !v.is_empty())
}

fn is(table: &TableDescriptor, key: &str, value: &str) -> bool {
    option(table, key).is_some_and(|v| v.eq_ignore_ascii_case(value))
}

fn engine(table: &TableDescriptor) -> Result<MergeEngine> {
    let name = option(table, MERGE_ENGINE).unwrap_or_default().to_ascii_lowercase();
    let version = option(table, VERSION_COLUMN);
    if let Some(column) = version.filter(|_| name != "versioned") {
        return invalid(format!(
            "option '{VERSION_COLUMN}' = '{column}' is only supported with '{MERGE_ENGINE}' = 'versioned'"
        ));
    }
    match name.as_str() {
        "first_row" => Ok(MergeEngine::FirstRow),
        "aggregation" => Ok(MergeEngine::Aggregation),
        "versioned" => match version {
            Some(name) => Ok(MergeEngine::Versioned {
                column: version_column(table, name, &format!("'{VERSION_COLUMN}' = '{name}'"))?,
            }),
            None => invalid(format!(
                "'{MERGE_ENGINE}' = 'versioned' needs option '{VERSION_COLUMN}', the column whose value decides"
            )),
        },
        _ => Ok(MergeEngine::LastRow),
    }
}

/// The position of a column that can be a version; `option` is how the user named it.
pub(super) fn version_column(table: &TableDescriptor, name: &str, option: &str) -> Result<usize> {
    let Some(column) = table.schema.index_of(name) else {
        return invalid(format!("option {option} names a column that the table does not have"));
    };
    let data_type = table.schema.columns.get(column).map(|c| &c.data_type);
    match data_type.map(|t| &t.root) {
        Some(TypeRoot::Int | TypeRoot::BigInt | TypeRoot::Timestamp { .. } | TypeRoot::TimestampLtz { .. }) => {
            Ok(column)
        }
        _ => invalid(format!(
            "option {option}: a version must be one of INT, BIGINT, TIMESTAMP, TIMESTAMP_LTZ, but the column is {}",
            data_type.map_or_else(String::new, ToString::to_string)
        )),
    }
}

fn deletes(table: &TableDescriptor, engine: MergeEngine) -> Result<DeleteBehavior> {
    let name = option(table, DELETE_BEHAVIOR).unwrap_or_default().to_ascii_lowercase();
    match (name.as_str(), engine) {
        ("retract", MergeEngine::Aggregation) => Ok(DeleteBehavior::Retract),
        ("retract", _) => invalid(format!(
            "option '{DELETE_BEHAVIOR}' = 'retract' is only supported with '{MERGE_ENGINE}' = 'aggregation'"
        )),
        ("allow", MergeEngine::FirstRow | MergeEngine::Versioned { .. }) => {
            let engine = option(table, MERGE_ENGINE).unwrap_or_default();
            invalid(format!(
                "option '{DELETE_BEHAVIOR}' = 'allow' does not go with '{MERGE_ENGINE}' = '{engine}'; use ignore or disable"
            ))
        }
        ("ignore", _) => Ok(DeleteBehavior::Ignore),
        ("disable", _) => Ok(DeleteBehavior::Disable),
        ("", MergeEngine::FirstRow | MergeEngine::Versioned { .. } | MergeEngine::Aggregation) => {
            Ok(DeleteBehavior::Ignore)
        }
        _ => Ok(DeleteBehavior::Allow),
    }
}

fn functions(table: &TableDescriptor, engine: MergeEngine) -> Result<Vec<AggregateFunction>> {
    let function = |column: &Column| match &column.agg_function {
        None => Ok(AggregateFunction::DEFAULT),
        Some(function) if engine != MergeEngine::Aggregation => Err(Error::invalid(
            Subject::Column,
            format!(
                "column '{}': aggregation function '{}' is only supported for aggregation merge engine",
                column.name, function.kind
            ),
        )),
        Some(function) if table.schema.primary_key.contains(&column.name) => invalid(format!(
            "column '{}' is part of the primary key and cannot have aggregation function '{}'",
            column.name, function.kind
        )),
        Some(function) => AggregateFunction::parse(&column.name, function, &column.data_type),
    };
    let functions = table.schema.columns.iter().map(function).collect::<Result<Vec<_>>>()?;
    Ok(if engine == MergeEngine::Aggregation { functions } else { Vec::new() })
}

fn is_function_option(key: &str) -> bool {
    key.starts_with(FIELDS) && key.ends_with(FUNCTION_SUFFIX)
}

/// Whether columns are merged by functions.
pub(crate) fn is_aggregation(table: &TableDescriptor) -> bool {
    is(table, MERGE_ENGINE, "aggregation")
}

/// Whether an option decides how columns are merged.
pub(crate) fn is_merge_option(key: &str) -> bool {
    is_function_option(key) || sequence_group::version_of(key).is_some()
}

/// Fills in what a new table does not say: engines that cannot delete ignore deletes.
///
/// # Errors
/// `Invalid` about `Option`, naming it.
pub(crate) fn settle(table: &mut TableDescriptor) -> Result<()> {
    let function = table.custom_properties.keys().find(|k| is_function_option(k));
    if let Some(key) = function.filter(|_| !is_aggregation(table)) {
        return invalid(format!("option '{key}' is only supported for aggregation merge engine"));
    }
    if option(table, MERGE_ENGINE).is_some() {
        table.properties.entry(options::DELETE_BEHAVIOR.to_owned()).or_insert_with(|| "ignore".to_owned());
    }
    Ok(())
}
