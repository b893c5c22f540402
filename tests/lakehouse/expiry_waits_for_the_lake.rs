use crate::fixture::{self, WAIT, path, row};
use crate::house::{House, descriptor, rows};
use sluice_api::{Connection, OffsetSpec, TableChange};
use std::time::{Duration, Instant};

const SETTINGS: &[(&str, &str)] =
    &[("log.segment.file-size", "1kb"), ("log.index.interval-size", "64"), ("log.retention.check-interval", "20ms")];
const TTL: &[(&str, &str)] = &[("table.log.ttl", "1h"), ("table.log.arrow.compression.type", "none")];

fn filled(keyed: bool) -> House {
    let house = House::new(SETTINGS);
    let table = house.home.create("t", &descriptor(keyed, 1, TTL));
    for i in 0..50 {
        table.put(&rows(i..i + 1));
    }
    house
}

fn wait_for_expiry(table: &fixture::Table<'_>) -> i64 {
    let deadline = Instant::now() + 3 * WAIT;
    loop {
        let start = table.offset(0, OffsetSpec::Earliest);
        if start > 0 {
            return start;
        }
        assert!(Instant::now() < deadline, "retention never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn what_the_lake_lacks_never_expires() {
    for keyed in [false, true] {
        let house = filled(keyed);
        // A table beside it without a lake tells when retention has been there.
        let other =
            house.home.create("other", &descriptor(keyed, 1, &[TTL, &[("table.datalake.enabled", "false")]].concat()));
        for i in 0..50 {
            other.put(&rows(i..i + 1));
        }
        house.home.clock.advance(2 * 3_600_000);
        other.put(&[row(100, "young", 1)]);
        house.home.table("t").put(&[row(100, "young", 1)]);
        wait_for_expiry(&other);
        let gone = other.offset(0, OffsetSpec::Earliest);
        let house = house.reopen();
        let table = house.home.table("t");
        assert_eq!(table.offset(0, OffsetSpec::Earliest), 0, "keyed {keyed}, beside it {gone} rows went");
        house.tier("t");
        let start = wait_for_expiry(&table);
        assert!(start <= table.end(0));
        let mut wanted = rows(0..50);
        wanted.push(row(100, "young", 1));
        assert_eq!(house.in_lake("t").into_iter().map(|(row, _)| row).collect::<Vec<_>>(), wanted);
        if !keyed {
            assert_eq!(house.union("t"), wanted);
            let stats = house.home.store.table_stats(&path("t")).unwrap();
            assert_eq!(stats.row_count, Some(51), "COUNT sees the lake and the log");
        }
        // A process that knows nothing of the lake yet keeps the rest.
        let house = house.reopen();
        let table = house.home.table("t");
        table.put(&[row(101, "younger", 1)]);
        house.tier("t");
        assert_eq!(house.in_lake("t").len(), 52);
    }
}

/// What a changelog has lost before the table got its lake comes from the rows by key.
#[test]
fn a_first_round_reads_rows_where_the_changelog_has_expired() {
    let house = House::new(SETTINGS);
    let off = [TTL, &[("table.datalake.enabled", "false")]].concat();
    let table = house.home.create("t", &descriptor(true, 1, &off));
    for i in 0..50 {
        table.put(&rows(i..i + 1));
    }
    house.home.clock.advance(2 * 3_600_000);
    table.put(&[row(7, "young", 1)]);
    table.delete(&[8]);
    wait_for_expiry(&table);
    let on = TableChange::Set { key: "table.datalake.enabled".to_owned(), value: "true".to_owned() };
    house.home.store.alter_table(&path("t"), &[on], false).unwrap();
    house.tier("t");
    table.delete(&[9]);
    table.put(&[row(8, "again", 1)]);
    house.tier("t");
    let found: Vec<_> = house.in_lake("t").into_iter().map(|(row, _)| row).collect();
    assert_eq!(found, table.current().into_values().collect::<Vec<_>>());
    assert_eq!(found.len(), 49);
}
