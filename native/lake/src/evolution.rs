//! Changes of a lake table's schema. For ADD COLUMN the lake goes first, so that no row comes with a column that the lake does not know.

use crate::definition::check_new_column;
use crate::system_column::{OFFSET, TIMESTAMP};
use crate::table::LakeTable;
use crate::table_schema::TableSchema;
use sluice_base::{Error, ErrorKind, Result, Subject};
use sluice_row::Column;
use std::collections::BTreeMap;

/// How often another change of the schema may come in between.
const ATTEMPTS: usize = 10;

impl LakeTable {
    /// The table with these nullable columns behind those of the user, in front of the columns that tiering adds. A column that is there
    /// already with the same type is left alone, so that a change that was cut off can be made again.
    ///
    /// # Errors
    /// `Conflict` about `Column` when there is one of that name and another type, or one that somebody else added; `Invalid` or
    /// `Unsupported` about `Column` for one that a lake table cannot have; `Io`, `Busy` about `Disk`.
    pub fn add_columns(&self, columns: &[Column]) -> Result<Self> {
        self.evolve(|table, next| {
            let mut changed = false;
            for column in columns {
                check_new_column(column)?;
                let of_ours = |c: &Column| c.name == OFFSET || c.name == TIMESTAMP;
                let at = next.schema.columns.iter().position(of_ours).unwrap_or(next.schema.columns.len());
                match next.schema.columns.iter().enumerate().find(|(_, c)| c.name == column.name) {
                    Some((i, found)) if i < at && found.data_type.root == column.data_type.root => {}
                    Some((_, found)) => return Err(clash(table, column, found)),
                    None => {
                        next.schema.columns.insert(at, Column { id: None, ..column.clone() });
                        next.schema.assign_ids();
                        changed = true;
                    }
                }
            }
            Ok(changed)
        })
    }

    /// The table with these options set, or with `None` removed. Whoever asks answers for that they may change while there are files.
    ///
    /// # Errors
    /// `Io`, `Busy` about `Disk`.
    pub fn set_options(&self, options: &BTreeMap<String, Option<String>>) -> Result<Self> {
        self.evolve(|_, next| {
            let before = next.options.clone();
            for (key, value) in options {
                match value {
                    Some(value) => next.options.insert(key.clone(), value.clone()),
                    None => next.options.remove(key),
                };
            }
            Ok(before != next.options)
        })
    }

    /// Publishes a new version of the schema unless `change`, which gets the newest, says that nothing differs.
    fn evolve(&self, change: impl Fn(&Self, &mut TableSchema) -> Result<bool>) -> Result<Self> {
        for _ in 0..ATTEMPTS {
            let table = self.reopened()?;
            let mut next = table.schema().clone();
            if !change(&table, &mut next)? {
                return Ok(table);
            }
            next.id += 1;
            next.time_millis = self.now_ms();
            if next.publish(self.storage().as_ref(), self.directory())? {
                return self.reopened();
            }
        }
        let message = format!("lake table {}: others keep changing its schema; try again", self.path());
        Err(Error::new(ErrorKind::Busy, Subject::Table, message))
    }
}

fn clash(table: &LakeTable, wanted: &Column, found: &Column) -> Error {
    let message = format!(
        "lake table {} has a column '{}' {} of its own already; drop it there or choose another name for '{}' {}",
        table.path(),
        found.name,
        found.data_type,
        wanted.name,
        wanted.data_type
    );
    Error::new(ErrorKind::Conflict, Subject::Column, message)
}
