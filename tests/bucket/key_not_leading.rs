use crate::fixture::{self, column, columns, home, int_column, ints, strings};
use arrow_array::cast::AsArray;
use sluice_api::{Connection, LookupOptions, ScanStart};
use sluice_row::{ChangeKind, TypeRoot};

/// Amount, note, k2, k1 with the key (k1, k2): the key's columns are the last ones, in another order.
#[test]
fn rows_are_found_by_key_whatever_its_place_and_order() {
    let home = home();
    let columns_ =
        [("amount", TypeRoot::Int), ("note", TypeRoot::String), ("k2", TypeRoot::String), ("k1", TypeRoot::Int)];
    let columns_: Vec<_> = columns_.into_iter().map(|(n, t)| column(n, t)).collect();
    for buckets in [1, 3] {
        let name = format!("k_last_{buckets}");
        let table =
            home.create(&name, &fixture::buckets(fixture::of(columns_.clone(), &["k1", "k2"]), buckets, &["k1"]));
        let mut writer = table.writer();
        let write = |writer: &mut dyn sluice_api::Writer, rows: &[(i32, &str, &str, i32)], kinds: &[ChangeKind]| {
            let batch = columns(vec![
                ("amount", ints(&rows.iter().map(|r| Some(r.0)).collect::<Vec<_>>())),
                ("note", strings(&rows.iter().map(|r| Some(r.1)).collect::<Vec<_>>())),
                ("k2", strings(&rows.iter().map(|r| Some(r.2)).collect::<Vec<_>>())),
                ("k1", ints(&rows.iter().map(|r| Some(r.3)).collect::<Vec<_>>())),
            ]);
            writer.write(&batch, kinds).unwrap();
        };
        write(writer.as_mut(), &[(1, "a", "x", 10), (2, "b", "y", 20)], &[]);
        write(writer.as_mut(), &[(9, "z", "x", 10)], &[]);
        write(writer.as_mut(), &[(0, "", "y", 20)], &[ChangeKind::Delete]);
        writer.flush(fixture::WAIT).unwrap();
        for names in [["k1", "k2"], ["k2", "k1"]] {
            let options =
                LookupOptions { key_columns: names.map(str::to_owned).to_vec(), projection: Some(vec![1, 0]) };
            let lookup = home.store.lookup(&table.path, &options).unwrap();
            let (k1, k2) = (ints(&[Some(20), Some(10)]), strings(&[Some("y"), Some("x")]));
            let keys = if names[0] == "k1" { vec![("k1", k1), ("k2", k2)] } else { vec![("k2", k2), ("k1", k1)] };
            let found = lookup.lookup(&columns(keys)).unwrap();
            assert_eq!(found.ends, [0, 1]);
            assert_eq!(found.rows.column(0).as_string::<i32>().value(0), "z");
            assert_eq!(int_column(&found.rows, 1), [Some(9)]);
        }
        let current = (0..buckets).flat_map(|b| table.batches(b, Some(&[0]), ScanStart::Current, None));
        assert_eq!(current.flat_map(|b| int_column(&b.rows, 0)).collect::<Vec<_>>(), [Some(9)]);
    }
}
