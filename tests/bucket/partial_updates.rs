//! Writers of some columns: what they change, what they leave, what they may not (cases C31, C34).

use crate::cells::{self, int, text, with_table};
use crate::fixture::{self, WAIT, assert_error, home, ints};
use sluice_api::{Connection, TableChange, WriteOptions};
use sluice_base::{ErrorKind, Subject};
use sluice_row::ChangeKind::{Delete, Insert, UpdateAfter, UpdateBefore};
use sluice_row::TypeRoot;
use sluice_testkit::Cell::Null;
use sluice_testkit::{Cells, Deletes, Engine, Function, MergeRequest, MergeRules};

const PLAIN: MergeRules = MergeRules { engine: Engine::LastRow, deletes: Deletes::Allow, full_image: true };

fn part(targets: &[usize], changes: Vec<(bool, Cells)>) -> MergeRequest {
    MergeRequest { targets: Some(targets.to_vec()), changes }
}

#[test]
fn untouched_columns_stay_and_are_null_at_first() {
    with_table(&PLAIN, |_, table| {
        cells::put(table, &part(&[0, 1], vec![(true, vec![int(1), int(5), int(77), text("no")])]));
        cells::put(table, &part(&[0, 3], vec![(true, vec![int(1), Null, Null, text("yes")])]));
        cells::put(table, &part(&[0, 1], vec![(true, vec![int(1), Null, Null, Null])]));
        let log: Vec<_> = cells::log(table).into_iter().map(|l| (l.kind, l.row)).collect();
        let rows = [
            vec![int(1), int(5), Null, Null],
            vec![int(1), int(5), Null, text("yes")],
            vec![int(1), Null, Null, text("yes")],
        ];
        let due = [
            (Insert, rows[0].clone()),
            (UpdateBefore, rows[0].clone()),
            (UpdateAfter, rows[1].clone()),
            (UpdateBefore, rows[1].clone()),
            (UpdateAfter, rows[2].clone()),
        ];
        assert_eq!(log, due);
    });
}

#[test]
fn a_list_of_the_key_alone_creates_a_row_and_changes_none() {
    with_table(&PLAIN, |_, table| {
        let key = || part(&[0], vec![(true, vec![int(1), Null, Null, Null])]);
        cells::put(table, &key());
        cells::put(table, &part(&[0, 1], vec![(true, vec![int(1), int(5), Null, Null])]));
        cells::put(table, &key());
        let kinds: Vec<_> = cells::log(table).iter().map(|l| (l.offset, l.kind)).collect();
        assert_eq!((kinds, table.end(0)), (vec![(0, Insert), (1, UpdateBefore), (2, UpdateAfter)], 4));
    });
}

#[test]
fn a_partial_delete_clears_its_columns_and_the_last_one_removes_the_row() {
    for functions in [None, Some(Function::Sum)] {
        let engine =
            functions.map_or(Engine::LastRow, |f| Engine::Aggregation(vec![Function::First, f, f, Function::Listagg]));
        with_table(&MergeRules { engine, ..PLAIN }, |_, table| {
            let row = vec![int(1), int(5), Null, text("x")];
            cells::put(table, &part(&[0, 1, 2, 3], vec![(true, row.clone())]));
            cells::put(table, &part(&[0, 1], vec![(false, row.clone()), (false, vec![int(2), Null, Null, Null])]));
            assert_eq!(cells::current(table)[&int(1)], [int(1), Null, Null, text("x")]);
            cells::put(table, &part(&[0, 2, 3], vec![(false, row)]));
            assert!(cells::current(table).is_empty());
            let kinds: Vec<_> = cells::log(table).iter().map(|l| (l.offset, l.kind)).collect();
            assert_eq!(kinds, [(0, Insert), (1, UpdateBefore), (2, UpdateAfter), (3, Delete)]);
        });
    }
}

#[test]
fn writers_of_different_columns_interleave_on_one_key() {
    with_table(&PLAIN, |home, table| {
        let (mut left, mut right) =
            (cells::writer(table, Some(&[0, 1])).unwrap(), cells::writer(table, Some(&[0, 2])).unwrap());
        for i in 0..50 {
            let row = |id| vec![int(id), int(i), int(-i), Null];
            cells::write(left.as_mut(), &part(&[0, 1], (0..7).map(|id| (true, row(id))).collect())).unwrap();
            cells::write(right.as_mut(), &part(&[0, 2], (0..7).map(|id| (true, row(id))).collect())).unwrap();
        }
        left.flush(WAIT).unwrap();
        right.flush(WAIT).unwrap();
        for store in [home.killed().table("t"), home.table("t")].iter() {
            let now = cells::current(store);
            assert_eq!(now.len(), 7);
            assert!(now.values().all(|r| r[1..] == [int(49), int(-49), Null]), "{now:?}");
        }
    });
}

#[test]
fn aggregates_of_columns_that_are_not_written_stay() {
    let engine = Engine::Aggregation(vec![Function::First, Function::Sum, Function::LastValue, Function::Listagg]);
    with_table(&MergeRules { engine, deletes: Deletes::Ignore, full_image: true }, |_, table| {
        cells::put(table, &part(&[0, 1], vec![(true, vec![int(1), int(5), Null, Null])]));
        cells::put(table, &part(&[0, 3, 2], vec![(true, vec![int(1), Null, int(8), text("a")])]));
        cells::put(table, &part(&[0, 1, 3], vec![(true, vec![int(1), int(6), Null, text("b")])]));
        assert_eq!(cells::current(table)[&int(1)], [int(1), int(11), int(8), text("a,b")]);
    });
}

#[test]
fn what_cannot_be_written_in_parts_says_so() {
    for (engine, name) in [(Engine::FirstRow, "first_row"), (Engine::Versioned(1), "versioned")] {
        with_table(&MergeRules { engine, deletes: Deletes::Ignore, full_image: true }, |_, table| {
            let error = cells::writer(table, Some(&[0, 1])).err().unwrap();
            assert_error(&error, ErrorKind::Invalid, Subject::Column, &[name, "does not support partial updates"]);
            assert!(cells::writer(table, Some(&[3, 0, 2, 1])).is_ok());
        });
    }
    with_table(&PLAIN, |_, table| {
        let error = cells::writer(table, Some(&[1, 2])).err().unwrap();
        assert_error(&error, ErrorKind::Invalid, Subject::Column, &["primary key", "'id' is missing"]);
    });
}

#[test]
fn a_not_null_column_must_be_written_and_cannot_be_cleared_alone() {
    let mut descriptor = cells::descriptor(&PLAIN);
    descriptor.schema.columns[1].data_type.nullable = false;
    let home = home();
    let table = home.create("t", &descriptor);
    let error = cells::writer(&table, Some(&[0, 2])).err().unwrap();
    assert_error(&error, ErrorKind::Invalid, Subject::Column, &["'a'", "NOT NULL", "must write it"]);
    let row = |id: i32| vec![int(id), int(5), Null, text("x")];
    cells::put(&table, &part(&[0, 1], vec![(true, row(1)), (true, row(2))]));
    cells::put(&table, &part(&[0, 1, 3], vec![(true, row(2))]));
    let mut writer = cells::writer(&table, Some(&[0, 1])).unwrap();
    let nothing = part(&[0, 1], vec![(true, vec![int(3), Null, Null, Null])]);
    let error = cells::write(writer.as_mut(), &nothing).unwrap_err();
    assert_error(&error, ErrorKind::Invalid, Subject::Row, &["'a'", "NOT NULL"]);
    // Nobody else has written into row 1, so it goes; row 2 has a text.
    cells::write(writer.as_mut(), &part(&[0, 1], vec![(false, row(1))])).unwrap();
    let error = cells::write(writer.as_mut(), &part(&[0, 1], vec![(false, row(2))])).unwrap_err();
    assert_error(
        &error,
        ErrorKind::Invalid,
        Subject::Row,
        &["'a'", "NOT NULL", "delete it with a writer of all columns"],
    );
    writer.flush(WAIT).unwrap();
    assert_eq!(cells::current(&table).into_keys().collect::<Vec<_>>(), [int(2)]);
}

/// Old rows have no value for a column that was added after them; a writer of other columns must not choke on that, nor take the
/// value away that others give it.
#[test]
fn old_rows_and_old_writers_after_a_column_was_added() {
    for engine in
        [Engine::LastRow, Engine::Aggregation(vec![Function::First, Function::Sum, Function::LastValue, Function::Max])]
    {
        let aggregates = engine != Engine::LastRow;
        with_table(&MergeRules { engine, deletes: Deletes::Allow, full_image: true }, |home, table| {
            let row = |a: i32| vec![int(1), int(a), int(0), text("x")];
            let mut old = cells::writer(table, None).unwrap();
            cells::write(old.as_mut(), &MergeRequest { targets: None, changes: vec![(true, row(5))] }).unwrap();
            old.flush(WAIT).unwrap();
            let column = fixture::column("n", TypeRoot::Int);
            home.store.alter_table(&table.path, &[TableChange::AddColumn { column }], false).unwrap();
            cells::put(table, &part(&[0, 1], vec![(true, row(6))]));
            let options =
                WriteOptions { target_columns: vec!["n".to_owned(), "id".to_owned()], ..WriteOptions::default() };
            let mut added = home.store.writer(&table.path, &options).unwrap();
            added.write(&fixture::columns(vec![("n", ints(&[Some(9)])), ("id", ints(&[Some(1)]))]), &[]).unwrap();
            added.flush(WAIT).unwrap();
            cells::write(old.as_mut(), &MergeRequest { targets: None, changes: vec![(true, row(7))] }).unwrap();
            old.flush(WAIT).unwrap();
            let batches = table.batches(0, None, sluice_api::ScanStart::Current, None);
            let (a, n) = (fixture::int_column(&batches[0].rows, 1), fixture::int_column(&batches[0].rows, 4));
            // Of a plain row the writer of the old columns writes all, of an aggregate only its own.
            assert_eq!((a[0], n[0]), if aggregates { (Some(18), Some(9)) } else { (Some(7), None) });
            let deletes = MergeRequest { targets: None, changes: vec![(false, row(0))] };
            cells::write(old.as_mut(), &deletes).unwrap();
            old.flush(WAIT).unwrap();
            assert!(table.batches(0, None, sluice_api::ScanStart::Current, None)[0].rows.num_rows() == 0);
        });
    }
}

/// `a` is the version of `b`; `t` follows none.
#[test]
fn a_group_keeps_its_version_when_it_is_deleted() {
    let rules = MergeRules { engine: Engine::Groups(vec![(1, vec![2])]), ..PLAIN };
    with_table(&rules, |_, table| {
        cells::put(table, &part(&[0, 1, 2], vec![(true, vec![int(1), int(5), int(50), Null])]));
        cells::put(table, &part(&[0, 3], vec![(true, vec![int(1), Null, Null, text("x")])]));
        let end = table.end(0);
        // Too late, for rows and for deletes.
        let late = vec![int(1), int(4), int(40), Null];
        cells::put(table, &part(&[0, 1, 2], vec![(true, late.clone()), (false, late)]));
        assert_eq!(cells::log(table).last().map(|l| l.offset), Some(end - 1), "what changes nothing is not logged");
        cells::put(table, &part(&[0, 1, 2], vec![(false, vec![int(1), int(6), int(50), Null])]));
        cells::put(table, &part(&[0, 1, 2], vec![(true, vec![int(1), int(5), int(55), Null])]));
        assert_eq!(cells::current(table)[&int(1)], [int(1), int(6), Null, text("x")]);
        // A key alone cannot be too late.
        cells::put(table, &part(&[0, 1, 2], vec![(true, vec![int(1), int(7), int(70), Null])]));
        cells::put(table, &part(&[0, 1, 2], vec![(false, vec![int(1), Null, Null, Null])]));
        assert_eq!(cells::current(table)[&int(1)], [int(1), int(7), Null, text("x")]);
        cells::put(table, &part(&[0, 3], vec![(false, vec![int(1), Null, Null, Null])]));
        assert!(cells::current(table).is_empty(), "a version alone keeps no row");
        let error = cells::writer(table, Some(&[0, 2])).err().unwrap();
        assert_error(
            &error,
            ErrorKind::Invalid,
            Subject::Column,
            &["'b'", "follows the version in column 'a'", "must write 'a'"],
        );
    });
}
