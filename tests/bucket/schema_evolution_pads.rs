use crate::fixture::{self, batch, column, columns, home, int_column, ints, row, strings};
use sluice_api::{Connection, LookupOptions, ScanStart, TableChange};
use sluice_row::{
    ChangeKind::{Insert, UpdateAfter, UpdateBefore},
    TypeRoot,
};

fn add_extra(home: &fixture::Home, table: &fixture::Table<'_>) {
    let change = TableChange::AddColumn { column: column("extra", TypeRoot::Int) };
    home.store.alter_table(&table.path, &[change], false).unwrap();
}

#[test]
fn old_rows_read_null_in_new_columns_also_when_only_those_are_wanted() {
    let home = home();
    for (name, keyed) in [("log", false), ("keyed", true)] {
        let table = home.create(name, &fixture::descriptor(keyed));
        table.put(&[row(1, "a", 1)]);
        let old_reader = table.scanner(None);
        let mut old_writer = table.writer();
        add_extra(&home, &table);
        let mut writer = table.writer();
        let wide = columns(vec![
            ("id", ints(&[Some(2)])),
            ("name", strings(&[Some("b")])),
            ("amount", ints(&[Some(2)])),
            ("extra", ints(&[Some(22)])),
        ]);
        writer.write(&wide, &[]).unwrap();
        writer.flush(fixture::WAIT).unwrap();
        // A writer opened before goes on; its rows have NULL there.
        old_writer.write(&batch(&[row(3, "c", 3)]), &[]).unwrap();
        old_writer.flush(fixture::WAIT).unwrap();
        let end = table.end(0);
        assert_eq!(end, 3);
        for (projection, column) in [(&[3][..], 0), (&[3, 0][..], 0), (&[0, 1, 2, 3][..], 3)] {
            let batches = table.batches(0, Some(projection), ScanStart::Log { offset: 0 }, Some(end));
            let extra: Vec<_> = batches.iter().flat_map(|b| int_column(&b.rows, column)).collect();
            assert_eq!(extra, [None, Some(22), None]);
        }
        // A reader opened before keeps its columns.
        old_reader.subscribe(table.split(0, ScanStart::Log { offset: 0 }, Some(end))).unwrap();
        let old = fixture::finish(old_reader.as_ref()).unwrap();
        assert!(old.iter().all(|b| b.rows.num_columns() == 3));
        assert_eq!(fixture::read(&old).len(), 3);
        let limited = table.batches(0, Some(&[3]), ScanStart::Limit { rows: 10 }, None);
        assert_eq!(limited.iter().map(|b| b.rows.num_rows()).sum::<usize>(), 3);
    }
}

#[test]
fn an_old_row_is_widened_in_lookups_scans_and_before_images() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    table.put(&[row(1, "a", 1), row(3, "c", 3), row(5, "e", 5)]);
    add_extra(&home, &table);
    let wide = columns(vec![
        ("id", ints(&[Some(2), Some(3), Some(3)])),
        ("name", strings(&[Some("b"), Some("C"), Some("D")])),
        ("amount", ints(&[Some(2), Some(3), Some(4)])),
        ("extra", ints(&[Some(22), Some(33), Some(44)])),
    ]);
    let mut writer = table.writer();
    writer.write(&wide, &[]).unwrap();
    writer.flush(fixture::WAIT).unwrap();
    let batches = table.batches(0, Some(&[0, 3]), ScanStart::Log { offset: 3 }, Some(table.end(0)));
    assert_eq!(batches[0].kinds.as_deref().unwrap(), [Insert, UpdateBefore, UpdateAfter, UpdateBefore, UpdateAfter]);
    assert_eq!(int_column(&batches[0].rows, 1), [Some(22), None, Some(33), Some(33), Some(44)]);
    // Rows of both schemas, mixed, in key order.
    for reopened in [false, true] {
        let home = if reopened { &home.killed() } else { &home };
        let table = home.table("t");
        let rows = table.batches(0, Some(&[3, 0]), ScanStart::Current, None);
        let mut pairs: Vec<_> = int_column(&rows[0].rows, 1).into_iter().zip(int_column(&rows[0].rows, 0)).collect();
        pairs.sort_unstable();
        assert_eq!(pairs, [(Some(1), None), (Some(2), Some(22)), (Some(3), Some(44)), (Some(5), None)]);
        let options = LookupOptions { key_columns: vec!["id".to_owned()], projection: Some(vec![0, 3]) };
        let lookup = home.store.lookup(&table.path, &options).unwrap();
        let found = lookup.lookup(&columns(vec![("id", ints(&[Some(5), Some(3), Some(1), Some(2)]))])).unwrap();
        assert_eq!(int_column(&found.rows, 0), [Some(5), Some(3), Some(1), Some(2)]);
        assert_eq!(int_column(&found.rows, 1), [None, Some(44), None, Some(22)]);
    }
}

#[test]
fn a_lookup_opened_before_keeps_its_columns() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    let options = LookupOptions { key_columns: vec!["id".to_owned()], projection: None };
    let lookup = home.store.lookup(&table.path, &options).unwrap();
    add_extra(&home, &table);
    let wide = columns(vec![
        ("id", ints(&[Some(2)])),
        ("name", strings(&[Some("b")])),
        ("amount", ints(&[Some(2)])),
        ("extra", ints(&[Some(22)])),
    ]);
    let mut writer = table.writer();
    writer.write(&wide, &[]).unwrap();
    writer.flush(fixture::WAIT).unwrap();
    let found = lookup.lookup(&columns(vec![("id", ints(&[Some(2)]))])).unwrap();
    assert_eq!(fixture::rows_of(&found.rows), [row(2, "b", 2)]);
    assert_eq!(found.rows.num_columns(), 3);
}
