use crate::fixture::{self, home, row};
use sluice_api::ScanStart;
use std::time::Duration;

#[test]
fn what_was_flushed_or_seen_in_the_changelog_is_found() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    for i in 0..200 {
        table.put(&[row(i % 7, "x", i)]);
        assert_eq!(table.get(&[Some(i % 7)]), [Some(row(i % 7, "x", i))]);
    }
    assert_eq!(table.get(&[Some(99), Some(3), Some(98)])[0], None);
}

#[test]
fn a_changelog_reader_never_runs_ahead_of_lookups() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    let scanner = table.scanner(None);
    scanner.subscribe(table.split(0, ScanStart::Log { offset: 0 }, None)).unwrap();
    std::thread::scope(|s| {
        s.spawn(|| {
            let mut writer = table.writer();
            for i in 0..300 {
                writer.write(&fixture::batch(&[row(i, "x", i)]), &[]).unwrap();
            }
            writer.flush(fixture::WAIT).unwrap();
        });
        let mut seen = 0;
        while seen < 300 {
            let batch = scanner.poll(Duration::from_secs(20)).unwrap().expect("rows come");
            let rows = fixture::rows_of(&batch.rows);
            let ids: Vec<_> = rows.iter().map(|r| Some(r.0)).collect();
            assert_eq!(table.get(&ids), rows.iter().cloned().map(Some).collect::<Vec<_>>());
            seen += rows.len();
        }
    });
}
