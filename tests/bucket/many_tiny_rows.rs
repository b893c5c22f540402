use crate::fixture::{self, column, columns, home, int_column, ints};
use sluice_api::{Connection, ScanStart};
use sluice_row::TypeRoot;

const ROWS: i32 = 400_000;

#[test]
fn one_batch_of_very_many_rows_is_written_and_read_back() {
    let home = home();
    for (name, key) in [("log", &[][..]), ("keyed", &["id"][..])] {
        let table = home.create(name, &fixture::of(vec![column("id", TypeRoot::Int)], key));
        let mut writer = table.writer();
        let rows = columns(vec![("id", ints(&(0..ROWS).map(Some).collect::<Vec<_>>()))]);
        writer.write(&rows, &[]).unwrap();
        writer.flush(fixture::WAIT).unwrap();
        assert_eq!(home.store.table_stats(&table.path).unwrap().row_count, Some(i64::from(ROWS)));
        let batches = table.batches(0, None, ScanStart::Log { offset: 0 }, Some(i64::from(ROWS)));
        let ids: Vec<_> = batches.iter().flat_map(|b| int_column(&b.rows, 0)).collect();
        assert!(ids.iter().zip(0..ROWS).all(|(found, want)| *found == Some(want)));
        assert_eq!(ids.len(), usize::try_from(ROWS).unwrap());
    }
}
