//! Tables `id INT, a INT, b INT, t STRING` with any merge engine, written and read as cells.

use crate::fixture::{self, Home, Table, WAIT};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, StringArray};
use sluice_api::{ScanStart, WriteOptions, Writer};
use sluice_base::Result;
use sluice_row::{AggFunction, ChangeKind, TableDescriptor, TypeRoot};
use sluice_testkit::{Cell, Cells, Deletes, Engine, Function, Logged, MergeRequest, MergeRules};
use std::collections::BTreeMap;
use std::sync::Arc;

pub const NAMES: [&str; 4] = ["id", "a", "b", "t"];

pub fn int(value: i32) -> Cell {
    Cell::Int(value)
}

pub fn text(value: &str) -> Cell {
    Cell::Text(value.to_owned())
}

const fn name(function: Function) -> &'static str {
    match function {
        Function::Sum => "sum",
        Function::Product => "product",
        Function::Max => "max",
        Function::Min => "min",
        Function::LastValue => "last_value",
        Function::LastPresent => "last_value_ignore_nulls",
        Function::First => "first_value",
        Function::Listagg => "listagg",
    }
}

pub fn descriptor(rules: &MergeRules) -> TableDescriptor {
    let mut columns: Vec<_> = NAMES.iter().map(|n| fixture::column(n, TypeRoot::Int)).collect();
    columns[3] = fixture::column("t", TypeRoot::String);
    let mut options: Vec<(&str, &str)> = Vec::new();
    match &rules.engine {
        Engine::LastRow | Engine::Groups(_) => {}
        Engine::FirstRow => options.push(("table.merge-engine", "first_row")),
        Engine::Versioned(column) => options
            .extend([("table.merge-engine", "versioned"), ("table.merge-engine.versioned.ver-column", NAMES[*column])]),
        Engine::Aggregation(functions) => {
            options.push(("table.merge-engine", "aggregation"));
            for (column, function) in columns.iter_mut().zip(functions).skip(1) {
                column.agg_function =
                    Some(AggFunction { kind: name(*function).to_owned(), parameters: BTreeMap::new() });
            }
        }
    }
    options.push(match rules.deletes {
        Deletes::Allow => ("table.delete.behavior", "allow"),
        Deletes::Ignore => ("table.delete.behavior", "ignore"),
        Deletes::Retract => ("table.delete.behavior", "retract"),
    });
    if !rules.full_image {
        options.push(("table.changelog.image", "WAL"));
    }
    let mut descriptor = fixture::of(columns, &["id"]);
    descriptor.properties = fixture::options(&options);
    if let Engine::Groups(groups) = &rules.engine {
        for (version, columns) in groups {
            let names: Vec<&str> = columns.iter().map(|c| NAMES[*c]).collect();
            let key = format!("fields.{}.sequence-group", NAMES[*version]);
            descriptor.custom_properties.insert(key, names.join(", "));
        }
    }
    descriptor
}

fn column(rows: &[&Cells], at: usize) -> ArrayRef {
    if at == 3 {
        let value = |r: &&Cells| if let Cell::Text(t) = &r[3] { Some(t.clone()) } else { None };
        return Arc::new(rows.iter().map(value).collect::<StringArray>());
    }
    let value = |r: &&Cells| if let Cell::Int(i) = &r[at] { Some(*i) } else { None };
    Arc::new(rows.iter().map(value).collect::<Int32Array>())
}

/// Columns of rows.
pub fn batch(rows: &[&Cells], targets: &[usize]) -> RecordBatch {
    fixture::columns(targets.iter().map(|c| (NAMES[*c], column(rows, *c))).collect())
}

pub fn cells(batch: &RecordBatch) -> Vec<Cells> {
    let cell = |row: usize, column: usize| {
        let array = batch.column(column);
        match column {
            _ if array.is_null(row) => Cell::Null,
            3 => text(array.as_string::<i32>().value(row)),
            _ => int(array.as_primitive::<Int32Type>().value(row)),
        }
    };
    (0..batch.num_rows()).map(|row| (0..NAMES.len()).map(|c| cell(row, c)).collect()).collect()
}

/// A writer of some columns; `None` = all.
pub fn writer(table: &Table<'_>, targets: Option<&[usize]>) -> Result<Box<dyn Writer>> {
    let target_columns = targets.map_or_else(Vec::new, |t| t.iter().map(|c| NAMES[*c].to_owned()).collect());
    table.store.writer(&table.path, &WriteOptions { target_columns, ..WriteOptions::default() })
}

/// Hands a request over.
pub fn write(writer: &mut dyn Writer, request: &MergeRequest) -> Result<()> {
    let rows: Vec<&Cells> = request.changes.iter().map(|(_, row)| row).collect();
    let kinds: Vec<ChangeKind> =
        request.changes.iter().map(|(up, _)| if *up { ChangeKind::UpdateAfter } else { ChangeKind::Delete }).collect();
    let all: Vec<usize> = (0..NAMES.len()).collect();
    writer.write(&batch(&rows, request.targets.as_ref().unwrap_or(&all)), &kinds)
}

/// Writes a request and waits until it is visible.
pub fn put(table: &Table<'_>, request: &MergeRequest) {
    let mut writer = writer(table, request.targets.as_deref()).unwrap();
    write(writer.as_mut(), request).unwrap();
    writer.flush(WAIT).unwrap();
}

/// The whole changelog.
pub fn log(table: &Table<'_>) -> Vec<Logged<Cells>> {
    let batches = table.batches(0, None, ScanStart::Log { offset: 0 }, Some(table.end(0)));
    let rows = batches.iter().flat_map(|b| {
        let kinds = b.kinds.clone().unwrap_or_else(|| vec![ChangeKind::Append; b.rows.num_rows()]);
        let logged = kinds.into_iter().zip(b.base_offset..).zip(cells(&b.rows));
        logged.map(|((kind, offset), row)| Logged { offset, kind, row }).collect::<Vec<_>>()
    });
    rows.collect()
}

/// All rows by key.
pub fn current(table: &Table<'_>) -> BTreeMap<Cell, Cells> {
    let batches = table.batches(0, None, ScanStart::Current, None);
    batches.iter().flat_map(|b| cells(&b.rows)).map(|r| (r[0].clone(), r)).collect()
}

/// A table with these rules in a home of its own.
pub fn with_table(rules: &MergeRules, check: impl FnOnce(&Home, &Table<'_>)) {
    let home = fixture::home();
    let table = home.create("t", &descriptor(rules));
    check(&home, &table);
}
