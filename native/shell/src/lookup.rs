//! `sluice lookup`.

use crate::cell::{Rows, is_number};
use crate::columns::{column, of_text};
use crate::grid::Grid;
use crate::output::Output;
use crate::place::{self, within};
use crate::words::Words;
use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use sluice_api::{LookupOptions, TableInfo};
use sluice_base::{Error, Result, Subject};
use sluice_row::{Column, arrow_field};
use std::sync::Arc;

pub(crate) fn lookup(words: &Words, out: &mut Output) -> Result<()> {
    within(words, |store| {
        let info = place::table(store, words)?;
        let projection = place::projection(words, &info)?;
        let values = words.arguments.get(1..).unwrap_or_default();
        let key = key_columns(&info, values.len())?;
        let keys = keys(&key, values)?;
        let key_columns = key.iter().map(|c| c.name.clone()).collect();
        let columns = place::chosen(&info.descriptor.schema, projection.as_deref());
        let lookup = store.lookup(&info.path, &LookupOptions { key_columns, projection })?;
        let found = lookup.lookup(&keys)?.rows;
        if found.num_rows() == 0 {
            let asked: Vec<String> = key.iter().zip(values).map(|(c, v)| format!("{} = {v}", c.name)).collect();
            return Err(Error::not_found(
                Subject::Row,
                format!("table {} has no row with {}", info.path, asked.join(" and ")),
            ));
        }
        let rows = Rows { columns: &columns, arrays: found.columns() };
        if words.has("--json") {
            return (0..found.num_rows()).try_for_each(|row| out.line(&format!("{{{}}}", rows.json(row))));
        }
        let titles = columns.iter().map(|c| (c.name.clone(), is_number(&c.data_type)));
        let page: Vec<_> = (0..found.num_rows()).map(|row| rows.texts(row)).collect();
        Grid::new(titles).print(out, &page)
    })
}

/// The columns that so many values are for: the primary key's, or those of it that choose partition and bucket.
fn key_columns(info: &TableInfo, count: usize) -> Result<Vec<Column>> {
    let descriptor = &info.descriptor;
    let schema = &descriptor.schema;
    if !info.has_primary_key() {
        let message = format!("table {} has no primary key to look rows up by; sluice scan reads it", info.path);
        return Err(Error::invalid(Subject::Table, message));
    }
    let of = |names: Vec<&String>| -> Vec<Column> {
        names.into_iter().filter_map(|name| schema.columns.get(schema.index_of(name)?).cloned()).collect()
    };
    let full = of(schema.primary_key.iter().collect());
    let chooses = |name: &&String| descriptor.partition_key.contains(name) || descriptor.bucket_key.contains(name);
    let prefix = of(schema.primary_key.iter().filter(chooses).collect());
    let names = |columns: &[Column]| columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>().join(", ");
    if full.len() == count {
        Ok(full)
    } else if prefix.len() == count {
        Ok(prefix)
    } else {
        let short = if prefix.len() < full.len() { format!(", or for {}", names(&prefix)) } else { String::new() };
        let message =
            format!("table {} is looked up by values for {}{short}; {count} were given", info.path, names(&full));
        Err(Error::invalid(Subject::Column, message))
    }
}

/// One key as a batch.
fn keys(columns: &[Column], values: &[String]) -> Result<RecordBatch> {
    let mut arrays = Vec::with_capacity(columns.len());
    for (c, text) in columns.iter().zip(values) {
        let named = |why: String| Error::invalid(Subject::Column, format!("column '{}': {why}", c.name));
        let value = of_text(&c.data_type, text.clone()).map_err(named)?;
        arrays.push(column(&c.data_type, &[(0, &value)]).map_err(|w| named(w.why))?);
    }
    let fields: Vec<Field> = columns.iter().map(|c| arrow_field(&c.name, &c.data_type)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|e| Error::internal(format!("no key: {e}")))
}
