use crate::fixture::{column, columns, ints, path, strings};
use crate::house::{House, descriptor, rows, union_batches};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use sluice_api::{Connection, TableChange, WriteOptions};
use sluice_row::TypeRoot;

/// Rows written before and after, some tiered on either side of the change, read as one.
#[test]
fn the_lake_has_the_column_first_and_older_rows_read_null() {
    let house = House::new(&[]);
    let table = house.home.create("t", &descriptor(false, 1, &[]));
    table.put(&rows(0..3));
    house.tier("t");
    table.put(&rows(3..5));
    let change = TableChange::AddColumn { column: column("more", TypeRoot::Int) };
    house.home.store.alter_table(&path("t"), &[change], false).unwrap();
    let names: Vec<_> = house.lake_table("t").unwrap().schema().schema.columns.iter().map(|c| c.name.clone()).collect();
    assert_eq!(names, ["id", "name", "amount", "more", "__offset", "__timestamp"]);

    let mut writer = house.home.store.writer(&path("t"), &WriteOptions::default()).unwrap();
    let added = columns(vec![
        ("id", ints(&[Some(5), Some(6)])),
        ("name", strings(&[Some("x"), None])),
        ("amount", ints(&[Some(1), Some(2)])),
        ("more", ints(&[Some(50), Some(60)])),
    ]);
    writer.write(&added, &[]).unwrap();
    writer.flush(crate::fixture::WAIT).unwrap();

    let wanted = [(0, None), (1, None), (2, None), (3, None), (4, None), (5, Some(50)), (6, Some(60))];
    let read = || {
        let batches = union_batches(&house.home.table("t"), Some(&[3, 0]));
        let pairs = batches.iter().flat_map(|b| {
            let (more, ids) =
                (b.rows.column(0).as_primitive::<Int32Type>(), b.rows.column(1).as_primitive::<Int32Type>());
            ids.iter().zip(more.iter()).map(|(id, more)| (id.unwrap(), more)).collect::<Vec<_>>()
        });
        pairs.collect::<Vec<_>>()
    };
    assert_eq!(read(), wanted);
    house.tier("t");
    assert_eq!(read(), wanted);
}

#[test]
fn columns_that_came_while_the_lake_was_off_are_there_when_it_is_on_again() {
    let house = House::new(&[]);
    let table = house.home.create("t", &descriptor(true, 1, &[]));
    table.put(&rows(0..3));
    house.tier("t");
    let set = |value: &str| TableChange::Set { key: "table.datalake.enabled".to_owned(), value: value.to_owned() };
    house.home.store.alter_table(&path("t"), &[set("false")], false).unwrap();
    let change = TableChange::AddColumn { column: column("more", TypeRoot::String) };
    house.home.store.alter_table(&path("t"), &[change], false).unwrap();
    house.home.store.alter_table(&path("t"), &[set("true")], false).unwrap();
    house.tier("t");
    assert_eq!(house.in_lake("t").len(), 3);
    assert_eq!(house.lake_table("t").unwrap().schema().schema.index_of("more"), Some(3));
}
