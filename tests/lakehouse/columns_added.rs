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

/// Adds a column to the lake table's schema as another engine does, last.
fn add_from_outside(house: &House, name: &str, field_type: &str) {
    let directory = house.warehouse().join(format!("{}.db/{}/schema", path("t").database, path("t").table));
    let newest = (0..).take_while(|id| directory.join(format!("schema-{id}")).exists()).last().unwrap();
    let text = std::fs::read_to_string(directory.join(format!("schema-{newest}"))).unwrap();
    let mut schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    let id = schema["highestFieldId"].as_i64().unwrap() + 1;
    schema["highestFieldId"] = id.into();
    schema["id"] = (newest + 1).into();
    let field = serde_json::json!({"id": id, "name": name, "type": field_type});
    schema["fields"].as_array_mut().unwrap().push(field);
    std::fs::write(directory.join(format!("schema-{}", newest + 1)), schema.to_string()).unwrap();
}

#[test]
fn a_nullable_column_that_somebody_adds_to_the_lake_stays_null() {
    for keyed in [false, true] {
        let house = House::new(&[]);
        let table = house.home.create("t", &descriptor(keyed, 1, &[]));
        table.put(&rows(0..3));
        house.tier("t");
        add_from_outside(&house, "remark", "STRING");
        table.put(&rows(3..5));
        house.tier("t");
        assert_eq!(house.in_lake("t").into_iter().map(|(row, _)| row).collect::<Vec<_>>(), rows(0..5));
        if !keyed {
            assert_eq!(house.union("t"), rows(0..5));
        }
        let change = TableChange::AddColumn { column: column("more", TypeRoot::Int) };
        house.home.store.alter_table(&path("t"), &[change], false).unwrap();
        house.tier("t");
        let names: Vec<_> =
            house.lake_table("t").unwrap().schema().schema.columns.iter().map(|c| c.name.clone()).collect();
        assert_eq!(names, ["id", "name", "amount", "more", "__offset", "__timestamp", "remark"]);
        // A column of the table cannot be where somebody has put one of that name.
        let change = TableChange::AddColumn { column: column("remark", TypeRoot::String) };
        let refusal = house.home.store.alter_table(&path("t"), &[change], false).unwrap_err();
        assert!(refusal.to_string().contains("'remark'"), "{refusal}");
    }
}

#[test]
fn a_column_that_somebody_adds_to_the_lake_and_that_may_not_be_null_ends_tiering_by_its_name() {
    let house = House::new(&[]);
    let table = house.home.create("t", &descriptor(false, 1, &[]));
    table.put(&rows(0..3));
    house.tier("t");
    add_from_outside(&house, "remark", "STRING NOT NULL");
    table.put(&rows(3..5));
    let refusal = house.home.store.tier(&path("t"), crate::fixture::WAIT).unwrap_err();
    assert!(refusal.to_string().contains("'remark'"), "{refusal}");
}
