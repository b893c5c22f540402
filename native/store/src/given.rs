//! Which columns the batches of a writer have, and how they become whole rows.

use crate::TableMeta;
use crate::bucket::Targets;
use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_schema::FieldRef;
use sluice_api::WriteOptions;
use sluice_base::{Error, Result, Subject};

/// The columns that a writer was opened with.
pub(crate) struct GivenColumns {
    pub(crate) targets: Targets,
    /// For each column that the table had when the writer was opened, its position in the batches; `None` when they are the same.
    order: Option<Vec<Option<usize>>>,
}

impl GivenColumns {
    /// # Errors
    /// `Invalid` about `Column` for one that is not there, is named twice, or is missing in a table without a primary key.
    pub(crate) fn new(meta: &TableMeta, options: &WriteOptions) -> Result<Self> {
        let order = order(meta, &options.target_columns)?;
        let as_it_is = order.iter().enumerate().all(|(i, at)| *at == Some(i));
        let numbered = meta.auto_increment.as_ref().map(|n| n.column);
        let targets = Targets {
            columns: order.iter().enumerate().filter_map(|(i, at)| at.map(|_| i)).collect(),
            partial: order.iter().enumerate().any(|(i, at)| at.is_none() && numbered != Some(i)),
            overwrites: options.overwrite,
        };
        Ok(Self { targets, order: (!as_it_is).then_some(order) })
    }

    /// The rows with all columns of the newest schema in its order; those that the writer does not write, and columns added since it was
    /// opened, are NULL.
    ///
    /// # Errors
    /// `Invalid` about `Column` when the batch has others.
    pub(crate) fn whole(&self, batch: &RecordBatch, meta: &TableMeta) -> Result<Vec<ArrayRef>> {
        let arrow = meta.arrow_schema()?;
        let width = self.targets.columns.len();
        if batch.num_columns() != width {
            let what = format!("the batch has {} columns, the writer takes {width}", batch.num_columns());
            return Err(Error::invalid(Subject::Column, what));
        }
        let mut columns = match &self.order {
            Some(order) => {
                let column = |(at, field): (&Option<usize>, &FieldRef)| match at {
                    Some(at) => batch.column(*at).clone(),
                    None => new_null_array(field.data_type(), batch.num_rows()),
                };
                order.iter().zip(arrow.fields()).map(column).collect()
            }
            None => batch.columns().to_vec(),
        };
        for (column, field) in columns.iter().zip(arrow.fields()) {
            if column.data_type() != field.data_type() {
                let what = format!("column '{}' holds {}, not {}", field.name(), column.data_type(), field.data_type());
                return Err(Error::invalid(Subject::Column, what));
            }
        }
        let added = arrow.fields().iter().skip(columns.len());
        columns.extend(added.map(|f| new_null_array(f.data_type(), batch.num_rows())).collect::<Vec<_>>());
        Ok(columns)
    }
}

/// Where each table column stands in the caller's batches, if there.
fn order(meta: &TableMeta, target_columns: &[String]) -> Result<Vec<Option<usize>>> {
    let columns = &meta.schema().columns;
    if target_columns.is_empty() {
        return Ok((0..columns.len()).map(Some).collect());
    }
    for (i, name) in target_columns.iter().enumerate() {
        if meta.schema().index_of(name).is_none() {
            return Err(Error::invalid(Subject::Column, format!("table {} has no column '{name}'", meta.path)));
        }
        if target_columns.iter().take(i).any(|n| n == name) {
            return Err(Error::invalid(Subject::Column, format!("column '{name}' is named twice")));
        }
    }
    if target_columns.len() < columns.len() && !meta.has_primary_key() {
        let what = format!("table {} has no primary key: write all of its columns", meta.path);
        return Err(Error::invalid(Subject::Column, what));
    }
    Ok(columns.iter().map(|c| target_columns.iter().position(|n| *n == c.name)).collect())
}
