use crate::fixture::{self, columns, home, int_column, ints, row};
use sluice_api::{Connection, LookupOptions};

#[test]
fn threads_sharing_one_lookup_get_their_own_answers_that_last() {
    let home = home();
    let table = home.create("t", &fixture::buckets(fixture::descriptor(true), 3, &[]));
    table.put(&(0..10_000).map(|i| row(i, "x", -i)).collect::<Vec<_>>());
    let options = LookupOptions { key_columns: vec!["id".to_owned()], projection: Some(vec![0, 2]) };
    let lookup = home.store.lookup(&table.path, &options).unwrap();
    std::thread::scope(|s| {
        for thread in 0..4_i32 {
            let lookup = &lookup;
            s.spawn(move || {
                let mut kept = Vec::new();
                for round in 0..50 {
                    let ids: Vec<Option<i32>> =
                        (0..100).map(|i| Some((thread * 2503 + round * 41 + i * 97) % 10_000)).collect();
                    let found = lookup.lookup(&columns(vec![("id", ints(&ids))])).unwrap();
                    kept.push((ids, found));
                }
                for (ids, found) in kept {
                    assert_eq!(int_column(&found.rows, 0), ids);
                    assert_eq!(int_column(&found.rows, 1), ids.iter().map(|i| i.map(|i| -i)).collect::<Vec<_>>());
                }
            });
        }
    });
}
