use crate::fixture::{self, batch, finish, home, read, row};
use sluice_api::ScanStart;
use sluice_row::ChangeKind::Append;

#[test]
fn rows_come_back_in_order_with_their_offsets() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(false));
    let mut writer = table.writer();
    writer.write(&batch(&[row(1, "a", 10), row(2, "b", 20)]), &[]).unwrap();
    writer.write(&batch(&[(3, None, None)]), &[]).unwrap();
    writer.flush(fixture::WAIT).unwrap();
    assert_eq!(writer.written().0, 3);
    assert_eq!(table.log(), [(Append, 0, row(1, "a", 10)), (Append, 1, row(2, "b", 20)), (Append, 2, (3, None, None))]);
    assert_eq!(table.log_from(0, 1), [(Append, 1, row(2, "b", 20)), (Append, 2, (3, None, None))]);
}

#[test]
fn columns_come_in_the_order_asked_and_none_still_counts_rows() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(false));
    table.put(&[row(1, "a", 10), row(2, "b", 20)]);
    let batches = table.batches(0, Some(&[2, 0]), ScanStart::Log { offset: 0 }, Some(2));
    assert_eq!(fixture::int_column(&batches[0].rows, 0), [Some(10), Some(20)]);
    assert_eq!(fixture::int_column(&batches[0].rows, 1), [Some(1), Some(2)]);
    let empty = table.batches(0, Some(&[]), ScanStart::Log { offset: 0 }, Some(2));
    assert_eq!(empty.iter().map(|b| b.rows.num_rows()).sum::<usize>(), 2);
    assert_eq!(empty[0].rows.num_columns(), 0);
}

#[test]
fn several_buckets_take_turns_and_all_end() {
    let home = home();
    let table = home.create("t", &fixture::buckets(fixture::descriptor(false), 3, &[]));
    for i in 0..30 {
        table.put(&[row(i, "x", i)]);
    }
    let scanner = table.scanner(None);
    let mut left = 0;
    for bucket in 0..3 {
        let end = table.end(bucket);
        assert_eq!(end, 10, "each write goes to one bucket, in turn");
        scanner.subscribe(table.split(bucket, ScanStart::Log { offset: 0 }, Some(end))).unwrap();
        left += 1;
    }
    let mut found = Vec::new();
    while left > 0 {
        let batches = finish(scanner.as_ref()).unwrap();
        left -= 1;
        found.extend(read(&batches).into_iter().map(|(_, _, r)| r.0));
    }
    found.sort_unstable();
    assert_eq!(found, (0..30).collect::<Vec<_>>());
}
