//! Sequence groups: columns of a table that follow a version of their own, so that writers of other columns need not agree with theirs.

use super::merging::{invalid, version_column};
use super::options::{DELETE_BEHAVIOR, MERGE_ENGINE};
use sluice_base::Result;
use sluice_kv::{DeleteBehavior, MergeEngine};
use sluice_row::{FIELDS, GROUP_SUFFIX, TableDescriptor};

/// Some columns and the one that says how new their values are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceGroup {
    /// Position of the version's column.
    pub version: usize,
    /// Positions of the columns that follow it, without its own.
    pub columns: Vec<usize>,
}

/// The column whose group an option describes.
pub(super) fn version_of(key: &str) -> Option<&str> {
    key.strip_prefix(FIELDS)?.strip_suffix(GROUP_SUFFIX)
}

/// The groups that a table's options describe.
///
/// # Errors
/// `Invalid` about `Option` for what does not go together, naming it.
pub(super) fn of(table: &TableDescriptor, engine: MergeEngine, deletes: DeleteBehavior) -> Result<Vec<SequenceGroup>> {
    let mut groups: Vec<SequenceGroup> = Vec::new();
    for (key, names) in &table.custom_properties {
        let Some(version) = version_of(key) else { continue };
        let option = format!("'{key}' = '{names}'");
        if table.schema.primary_key.is_empty() {
            return invalid(format!("option {option} is only supported for tables with a primary key"));
        }
        if engine != MergeEngine::LastRow {
            return invalid(format!("option {option} does not go with '{MERGE_ENGINE}': leave the merge engine out"));
        }
        let mut group = SequenceGroup { version: version_column(table, version, &option)?, columns: Vec::new() };
        for name in names.split(',').map(str::trim) {
            let Some(column) = table.schema.index_of(name) else {
                return invalid(format!("option {option} names '{name}', a column that the table does not have"));
            };
            if group.columns.contains(&column) || column == group.version {
                return invalid(format!("option {option} names column '{name}' more than once"));
            }
            let nullable = table.schema.columns.get(column).is_some_and(|c| c.data_type.nullable);
            let is_key = table.schema.primary_key.iter().any(|k| k == name);
            if deletes == DeleteBehavior::Allow && !nullable && !is_key {
                return invalid(format!(
                    "option {option}: column '{name}' is NOT NULL, and a delete would set it to NULL; make it nullable, or set \
                     '{DELETE_BEHAVIOR}' to ignore or disable"
                ));
            }
            group.columns.push(column);
        }
        groups.push(group);
    }
    check_apart(table, &groups)?;
    Ok(groups)
}

/// No column follows two versions, a version follows none, and a key never changes.
fn check_apart(table: &TableDescriptor, groups: &[SequenceGroup]) -> Result<()> {
    let mut seen = Vec::new();
    for column in groups.iter().flat_map(|g| g.columns.iter().copied().chain([g.version])) {
        let name = table.schema.columns.get(column).map_or("", |c| c.name.as_str());
        if table.schema.primary_key.iter().any(|k| k == name) {
            return invalid(format!(
                "column '{name}' is part of the primary key and cannot be in a '{FIELDS}*{GROUP_SUFFIX}'"
            ));
        }
        if table.schema.auto_increment.iter().any(|n| n == name) {
            return invalid(format!(
                "column '{name}' is numbered by the store and cannot be in a '{FIELDS}*{GROUP_SUFFIX}'"
            ));
        }
        if seen.contains(&column) {
            return invalid(format!("column '{name}' is in more than one '{FIELDS}*{GROUP_SUFFIX}'"));
        }
        seen.push(column);
    }
    Ok(())
}
