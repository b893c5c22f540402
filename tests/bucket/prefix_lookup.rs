use crate::fixture::{self, assert_error, column, columns, home, int_column, ints};
use sluice_api::{Connection, LookupOptions};
use sluice_base::{ErrorKind, Subject};
use sluice_row::TypeRoot;

#[test]
fn the_bucket_key_finds_all_rows_of_its_prefix() {
    let home = home();
    let columns_ = ["v", "b", "a"].map(|n| column(n, TypeRoot::Int)).to_vec();
    let table = home.create("t", &fixture::buckets(fixture::of(columns_.clone(), &["a", "b"]), 3, &["a"]));
    let mut writer = table.writer();
    for a in 0..20 {
        let b: Vec<Option<i32>> = (0..a).map(Some).collect();
        let rows = columns(vec![
            ("v", ints(&vec![Some(a * 100); b.len()])),
            ("b", ints(&b)),
            ("a", ints(&vec![Some(a); b.len()])),
        ]);
        writer.write(&rows, &[]).unwrap();
    }
    writer.flush(fixture::WAIT).unwrap();
    let options = LookupOptions { key_columns: vec!["a".to_owned()], projection: Some(vec![1, 0]) };
    let lookup = home.store.lookup(&table.path, &options).unwrap();
    let found =
        lookup.lookup(&columns(vec![("a", ints(&[Some(3), None, Some(0), Some(19), Some(77), Some(1)]))])).unwrap();
    assert_eq!(found.ends, [3, 3, 3, 22, 22, 23]);
    let mut b = int_column(&found.rows, 0);
    b[3..22].sort_unstable();
    assert_eq!(b[..3], [Some(0), Some(1), Some(2)]);
    assert_eq!(b[3..22], (0..19).map(Some).collect::<Vec<_>>());
    assert_eq!(int_column(&found.rows, 1)[2..4], [Some(300), Some(1900)]);
    // In any order, and as often as they are asked.
    let found =
        lookup.lookup(&columns(vec![("a", ints(&[Some(2), Some(1), Some(0), Some(2), None, Some(1)]))])).unwrap();
    assert_eq!(found.ends, [2, 3, 3, 5, 5, 6]);
    assert_eq!(int_column(&found.rows, 1), [200, 200, 100, 200, 200, 100].map(Some));
    // The bucket key is not at the key's beginning: only the whole key is legal.
    let other = home.create("other", &fixture::buckets(fixture::of(columns_, &["a", "b"]), 3, &["b"]));
    let options = LookupOptions { key_columns: vec!["b".to_owned()], projection: None };
    let e = home.store.lookup(&other.path, &options).err().unwrap();
    assert_error(&e, ErrorKind::Invalid, Subject::Column, &["(a, b)", "not by (b)"]);
}
