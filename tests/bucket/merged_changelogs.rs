//! The changelog of each engine and image, cell by cell, offsets included; and what each engine keeps (cases C27, C29, C30, C31).

use crate::cells::{self, int, text, with_table};
use crate::fixture::{WAIT, assert_error};
use sluice_api::{ScanStart, WriteOptions};
use sluice_base::{ErrorKind, Offset, Subject};
use sluice_row::ChangeKind::{self, Delete, Insert, UpdateAfter, UpdateBefore};
use sluice_testkit::{Cell, Cells, Deletes, Engine, Function, MergeRequest, MergeRules};

fn rules(engine: Engine, deletes: Deletes, full_image: bool) -> MergeRules {
    MergeRules { engine, deletes, full_image }
}

fn aggregation(functions: [Function; 3]) -> Engine {
    Engine::Aggregation([&[Function::First][..], &functions].concat())
}

/// A row `id, a, b, t`.
fn row(id: i32, a: i32) -> Cells {
    vec![int(id), int(a), Cell::Null, text("x")]
}

fn upsert(rows: Vec<Cells>) -> MergeRequest {
    MergeRequest { targets: None, changes: rows.into_iter().map(|r| (true, r)).collect() }
}

fn delete(id: i32) -> MergeRequest {
    MergeRequest { targets: None, changes: vec![(false, vec![int(id), Cell::Null, Cell::Null, Cell::Null])] }
}

/// Key absent, upsert; key present, upsert with another and with the same row; delete absent; delete present. One request each.
fn history() -> [MergeRequest; 5] {
    [upsert(vec![row(1, 5)]), upsert(vec![row(1, 4)]), upsert(vec![row(1, 5)]), delete(9), delete(1)]
}

fn logged(rules: &MergeRules) -> (Vec<(Offset, ChangeKind, Cell)>, Offset) {
    let mut out = (Vec::new(), 0);
    with_table(rules, |_, table| {
        history().iter().for_each(|r| cells::put(table, r));
        out = (cells::log(table).into_iter().map(|l| (l.offset, l.kind, l.row[1].clone())).collect(), table.end(0));
    });
    out
}

#[test]
fn the_default_engine_logs_both_images_or_the_new_one_alone() {
    let full = logged(&rules(Engine::LastRow, Deletes::Allow, true));
    let due = vec![
        (0, Insert, int(5)),
        (1, UpdateBefore, int(5)),
        (2, UpdateAfter, int(4)),
        (3, UpdateBefore, int(4)),
        (4, UpdateAfter, int(5)),
        (6, Delete, int(5)),
    ];
    assert_eq!(full, (due, 7), "the delete of an absent key takes offset 5");
    let wal = logged(&rules(Engine::LastRow, Deletes::Allow, false));
    let due = vec![(0, UpdateAfter, int(5)), (1, UpdateAfter, int(4)), (2, UpdateAfter, int(5)), (4, Delete, int(5))];
    assert_eq!(wal, (due, 5), "with WAL also the first row of a key is an update");
}

#[test]
fn first_row_logs_inserts_alone() {
    for full in [true, false] {
        let (log, end) = logged(&rules(Engine::FirstRow, Deletes::Ignore, full));
        assert_eq!((log, end), (vec![(0, Insert, int(5))], 5));
    }
}

#[test]
fn versioned_logs_what_it_accepts() {
    let versioned = |full| logged(&rules(Engine::Versioned(1), Deletes::Ignore, full));
    let due = vec![(0, Insert, int(5)), (2, UpdateBefore, int(5)), (3, UpdateAfter, int(5))];
    assert_eq!(versioned(true), (due, 6));
    let due = vec![(0, Insert, int(5)), (2, UpdateAfter, int(5))];
    assert_eq!(versioned(false), (due, 5));
}

#[test]
fn aggregation_logs_every_accepted_row() {
    let sum = aggregation([Function::Sum, Function::Max, Function::Listagg]);
    let start = [
        (0, Insert, int(5)),
        (1, UpdateBefore, int(5)),
        (2, UpdateAfter, int(9)),
        (3, UpdateBefore, int(9)),
        (4, UpdateAfter, int(14)),
    ];
    let (log, end) = logged(&rules(sum.clone(), Deletes::Ignore, true));
    assert_eq!((log.as_slice(), end), (&start[..], 7));
    let (log, end) = logged(&rules(sum, Deletes::Allow, true));
    assert_eq!((log[..5].to_vec(), log[5].clone(), end), (start.to_vec(), (6, Delete, int(14)), 7));
}

#[test]
fn versions_that_are_null_equal_or_late() {
    with_table(&rules(Engine::Versioned(2), Deletes::Ignore, true), |_, table| {
        let versioned = |id: i32, t: &str, version: Option<i32>| {
            vec![int(id), Cell::Null, version.map_or(Cell::Null, int), text(t)]
        };
        let rows = [
            versioned(1, "a", Some(1000)),
            versioned(1, "late", Some(999)),
            versioned(1, "same", Some(1000)),
            versioned(1, "null", None),
            versioned(2, "first-null", None),
            versioned(2, "second-null", None),
            versioned(2, "neg", Some(-5)),
        ];
        // One request and many come to the same.
        cells::put(table, &upsert(rows.to_vec()));
        assert_eq!(cells::log(table).len(), 3 + 5);
        rows.iter().for_each(|r| cells::put(table, &upsert(vec![r.clone()])));
        let now: Vec<Cells> = cells::current(table).into_values().collect();
        assert_eq!(now, [versioned(1, "same", Some(1000)), versioned(2, "neg", Some(-5))]);
    });
}

/// Batches without records move a reader's offset on.
#[test]
fn readers_pass_over_requests_that_change_nothing() {
    with_table(&rules(Engine::FirstRow, Deletes::Ignore, true), |_, table| {
        let mut writer = cells::writer(table, None).unwrap();
        for i in 0..2000 {
            cells::write(writer.as_mut(), &upsert(vec![row(1, i)])).unwrap();
        }
        cells::write(writer.as_mut(), &upsert(vec![row(2, 0)])).unwrap();
        writer.flush(WAIT).unwrap();
        let end = table.end(0);
        assert_eq!(end, 2001);
        let batches = table.batches(0, Some(&[0]), ScanStart::Log { offset: 0 }, Some(end));
        assert_eq!(batches.iter().map(|b| b.rows.num_rows()).sum::<usize>(), 2);
        assert_eq!(batches.last().unwrap().next, ScanStart::Log { offset: end });
    });
}

#[test]
fn a_writer_goes_on_after_requests_without_a_change() {
    for (engine, deletes) in [(Engine::LastRow, Deletes::Allow), (Engine::FirstRow, Deletes::Ignore)] {
        with_table(&rules(engine, deletes, true), |home, table| {
            let mut writer = cells::writer(table, None).unwrap();
            for request in [delete(1), delete(2), upsert(vec![row(1, 7)])] {
                cells::write(writer.as_mut(), &request).unwrap();
                writer.flush(WAIT).unwrap();
            }
            assert_eq!(cells::current(table)[&int(1)], row(1, 7));
            drop(writer);
            assert_eq!(cells::current(&home.killed().table("t"))[&int(1)], row(1, 7));
        });
    }
}

#[test]
fn refunds_are_taken_back_where_functions_can() {
    let engine = aggregation([Function::Sum, Function::Max, Function::Listagg]);
    with_table(&rules(engine.clone(), Deletes::Retract, true), |_, table| {
        let sale = |id: i32, total: i32| vec![int(id), int(total), Cell::Null, Cell::Null];
        let mut writer = cells::writer(table, Some(&[0, 1])).unwrap();
        let rows = [sale(1, 100), sale(1, 100), sale(1, 40), sale(1, 40), sale(7, 3)];
        let kinds = [Insert, UpdateBefore, UpdateAfter, Delete, Delete];
        writer.write(&cells::batch(&rows.iter().collect::<Vec<_>>(), &[0, 1]), &kinds).unwrap();
        writer.flush(WAIT).unwrap();
        assert_eq!(cells::current(table).into_values().collect::<Vec<_>>(), [sale(1, 0)], "a row unknown is no row");
        let mut whole = cells::writer(table, None).unwrap();
        let error = cells::write(whole.as_mut(), &delete(1)).unwrap_err();
        assert_error(&error, ErrorKind::Invalid, Subject::Row, &["'b'", "max", "only sum and product"]);
    });
    with_table(&rules(engine, Deletes::Ignore, true), |_, table| {
        cells::put(table, &upsert(vec![row(1, 100), row(1, 40)]));
        cells::put(table, &delete(1));
        assert_eq!(cells::current(table)[&int(1)][1], int(140));
    });
}

#[test]
fn a_table_that_refuses_deletes_writes_nothing_of_their_batch() {
    let mut descriptor = cells::descriptor(&rules(Engine::LastRow, Deletes::Allow, true));
    descriptor.properties.insert("table.delete.behavior".to_owned(), "disable".to_owned());
    let home = crate::fixture::home();
    let table = home.create("t", &descriptor);
    let mut request = upsert(vec![row(1, 1)]);
    request.changes.push((false, row(1, 1)));
    let mut writer = cells::writer(&table, None).unwrap();
    let error = cells::write(writer.as_mut(), &request).unwrap_err();
    assert_error(&error, ErrorKind::Invalid, Subject::Row, &["row 1", "refuses deletes", "'disable'"]);
    cells::write(writer.as_mut(), &upsert(vec![row(2, 2)])).unwrap();
    writer.flush(WAIT).unwrap();
    assert_eq!(cells::current(&table).len(), 1);
}

/// For putting rows back as they were, engine and delete behavior are passed by.
#[test]
fn an_overwriting_writer_replaces_and_deletes() {
    let engine = aggregation([Function::Sum, Function::Max, Function::Listagg]);
    with_table(&rules(engine, Deletes::Ignore, true), |_, table| {
        cells::put(table, &upsert(vec![row(1, 5), row(1, 6), row(2, 1)]));
        let options = |target_columns: &[&str]| WriteOptions {
            target_columns: target_columns.iter().map(|c| (*c).to_owned()).collect(),
            overwrite: true,
            create_partitions: true,
        };
        let open =
            |columns: &[&str]| sluice_api::Connection::writer(table.store, &table.path, &options(columns)).unwrap();
        let mut whole = open(&[]);
        cells::write(whole.as_mut(), &upsert(vec![row(1, 5)])).unwrap();
        cells::write(whole.as_mut(), &delete(2)).unwrap();
        whole.flush(WAIT).unwrap();
        assert_eq!(cells::current(table).into_values().collect::<Vec<_>>(), [row(1, 5)]);
        let mut part = open(&["id", "b"]);
        let request = MergeRequest {
            targets: Some(vec![0, 2]),
            changes: vec![(true, vec![int(1), int(99), int(-1), Cell::Null])],
        };
        cells::write(part.as_mut(), &request).unwrap();
        part.flush(WAIT).unwrap();
        assert_eq!(cells::current(table)[&int(1)], [int(1), int(5), int(-1), text("x")]);
    });
}

/// Rows that grow with every change are written as several log batches before memory runs out.
#[test]
fn texts_that_grow_do_not_take_all_memory() {
    let engine = aggregation([Function::Sum, Function::Max, Function::Listagg]);
    with_table(&rules(engine, Deletes::Ignore, true), |_, table| {
        let long = "0123456789".repeat(2000);
        let rows: Vec<Cells> = (0..200).map(|_| vec![int(1), int(1), Cell::Null, text(&long)]).collect();
        cells::put(table, &upsert(rows));
        let now = cells::current(table);
        let Cell::Text(joined) = &now[&int(1)][3] else { panic!("no text") };
        assert_eq!((joined.len(), &now[&int(1)][1]), (200 * 20_000 + 199, &int(200)));
        assert_eq!(table.end(0), 1 + 2 * 199);
    });
}
