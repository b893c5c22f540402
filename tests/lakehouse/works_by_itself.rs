use crate::fixture::{WAIT, path};
use crate::house::{House, descriptor, rows};
use sluice_api::{Connection, LakeSnapshot, TableChange};
use sluice_lake::CommitKind;
use std::time::{Duration, Instant};

fn wait(house: &House, name: &str, what: &str, done: impl Fn(&LakeSnapshot) -> bool) -> LakeSnapshot {
    let deadline = Instant::now() + 3 * WAIT;
    loop {
        let told = house.home.store.lake_snapshot(&path(name)).unwrap();
        if done(&told) {
            return told;
        }
        assert!(Instant::now() < deadline, "{what}: {told:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn rows_reach_the_lake_without_being_asked() {
    let mut house = House::new(&[("datalake.tiering", "embedded")]);
    let fresh = [("table.datalake.freshness", "200ms")];
    for (name, keyed) in [("log", false), ("keyed", true)] {
        house.home.create(name, &descriptor(keyed, 2, &fresh));
    }
    let mut count = 0;
    for round in 0..3 {
        for name in ["log", "keyed"] {
            let table = house.home.table(name);
            table.put(&rows(count..count + 10));
            let all: i64 = (0..2).map(|b| table.end(b)).sum();
            let told =
                wait(&house, name, "rows in the lake", |told| told.buckets.iter().map(|b| b.1).sum::<i64>() == all);
            assert!(told.error.is_none() && told.snapshot.is_some(), "{told:?}");
            let found: Vec<_> = house.in_lake(name).into_iter().map(|(row, _)| row).collect();
            assert_eq!(found, rows(0..count + 10), "{name}, round {round}");
        }
        count += 10;
        // A process that opens the store again goes on by itself.
        house = house.reopen();
    }
}

#[test]
fn a_shorter_freshness_counts_at_once() {
    let house = House::new(&[("datalake.tiering", "embedded")]);
    let table = house.home.create("t", &descriptor(false, 1, &[("table.datalake.freshness", "10h")]));
    table.put(&rows(0..5));
    // Its first round is behind it, with these rows or without.
    wait(&house, "t", "a first look", |_| true);
    let change = TableChange::Set { key: "table.datalake.freshness".to_owned(), value: "100ms".to_owned() };
    house.home.store.alter_table(&path("t"), &[change], false).unwrap();
    for end in [10, 15] {
        table.put(&rows(end - 5..end));
        wait(&house, "t", "rows in the lake", |told| told.buckets == [(0, i64::from(end))]);
    }
}

#[test]
fn why_rows_do_not_arrive_is_told_until_they_do() {
    let house = House::new(&[("datalake.tiering", "embedded")]);
    let table = house.home.create("t", &descriptor(false, 1, &[("table.datalake.freshness", "100ms")]));
    let lake = house.warehouse().join("fluss.db/t");
    // Something stands where the round's files would go.
    std::fs::write(lake.join("bucket-0"), "").unwrap();
    table.put(&rows(0..5));
    let told = wait(&house, "t", "an error", |told| told.error.is_some());
    assert!(told.error.as_ref().unwrap().contains("bucket-0"), "{told:?}");
    assert_eq!(house.union("t"), rows(0..5), "readers do not mind");
    std::fs::remove_file(lake.join("bucket-0")).unwrap();
    wait(&house, "t", "rows in the lake", |told| told.error.is_none() && told.buckets == [(0, 5)]);
    assert_eq!(house.in_lake("t").len(), 5);
}

#[test]
fn a_store_closes_and_drops_tables_in_the_middle_of_rounds() {
    for _ in 0..5 {
        let house = House::new(&[("datalake.tiering", "embedded")]);
        let fresh = [("table.datalake.freshness", "0ms"), ("table.datalake.auto-compaction", "true")];
        for name in ["a", "b"] {
            let table = house.home.create(name, &descriptor(false, 4, &fresh));
            for i in 0..20 {
                table.put(&rows(i..i + 1));
            }
        }
        house.home.store.drop_table(&path("b"), false).unwrap();
        house.home.store.close().unwrap();
        let house = house.reopen();
        house.tier("a");
        assert_eq!(house.in_lake("a").into_iter().map(|(row, _)| row).collect::<Vec<_>>(), rows(0..20));
    }
}

/// Callers and the engine's thread at once: each row comes once.
#[test]
fn whoever_asks_waits_for_a_round_under_way() {
    let house = House::new(&[("datalake.tiering", "embedded")]);
    let table = house.home.create("t", &descriptor(false, 2, &[("table.datalake.freshness", "1ms")]));
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (house, table) = (&house, &table);
            scope.spawn(move || {
                for i in 0..10 {
                    let first = (thread * 10 + i) * 4;
                    table.put(&rows(first..first + 4));
                    house.tier("t");
                }
            });
        }
    });
    assert_eq!(house.in_lake("t").into_iter().map(|(row, _)| row).collect::<Vec<_>>(), rows(0..120));
}

/// A table that is dropped at any moment and made again at once: another one flows on, and each new one flows too.
#[test]
fn a_table_dropped_and_made_again_holds_nothing_up() {
    let house = House::new(&[("datalake.tiering", "embedded")]);
    let fresh = [("table.datalake.freshness", "10ms")];
    let other = house.home.create("u", &descriptor(true, 2, &fresh));
    let mut random = sluice_testkit::Gen::new(53);
    let mut count = 0;
    for i in 0..25 {
        let table = house.home.create("t", &descriptor(i % 2 == 1, 2, &fresh));
        table.put(&rows(0..20));
        other.put(&rows(count..count + 3));
        count += 3;
        let all = |table: &crate::fixture::Table<'_>| (0..2).map(|b| table.end(b)).sum::<i64>();
        let here = |told: &LakeSnapshot, end: i64| told.buckets.iter().map(|b| b.1).sum::<i64>() == end;
        if i % 3 == 0 {
            let told = wait(&house, "t", "rows of a new table in the lake", |told| here(told, all(&table)));
            assert_eq!(told.error, None);
        } else {
            std::thread::sleep(Duration::from_millis(random.below(30) as u64));
        }
        house.home.store.drop_table(&path("t"), false).unwrap();
        // What a dropped table has in the lake stays there; somebody else puts it out of the way.
        let kept = house.warehouse().join("fluss.db/t");
        std::fs::rename(&kept, house.lake.path().join(format!("dropped-{i}"))).unwrap();
        wait(&house, "u", "rows of the other table in the lake", |told| here(told, all(&other)));
    }
    assert_eq!(house.in_lake("u").into_iter().map(|(row, _)| row).collect::<Vec<_>>(), rows(0..count));
}

#[test]
fn old_snapshots_go_where_the_table_asks_for_it() {
    for (asked, left) in [("true", 2), ("false", 6)] {
        let house = House::new(&[]);
        let mut described = descriptor(true, 1, &[("table.datalake.auto-expire-snapshot", asked)]);
        described.custom_properties = crate::fixture::options(&[
            ("paimon.snapshot.time-retained", "0 s"),
            ("paimon.snapshot.num-retained.min", "2"),
        ]);
        let table = house.home.create("t", &described);
        for i in 0..6 {
            table.put(&rows(i * 5..i * 5 + 5));
            house.tier("t");
        }
        let names = std::fs::read_dir(house.warehouse().join("fluss.db/t/snapshot")).unwrap();
        let names = names.map(|e| e.unwrap().file_name().into_string().unwrap());
        assert_eq!(names.filter(|name| name.starts_with("snapshot-")).count(), left, "asked: {asked}");
        assert_eq!(house.in_lake("t").into_iter().map(|(row, _)| row).collect::<Vec<_>>(), rows(0..30));
        assert_eq!(house.home.store.lake_snapshot(&path("t")).unwrap().error, None);
    }
}

#[test]
fn files_are_merged_behind_the_rounds() {
    let house = House::new(&[("datalake.tiering", "embedded")]);
    let options = [("table.datalake.freshness", "100ms"), ("table.datalake.auto-compaction", "true")];
    for (name, keyed) in [("log", false), ("keyed", true)] {
        house.home.create(name, &descriptor(keyed, 1, &options));
    }
    let compacted = |name: &str| {
        let lake = house.lake_table(name).unwrap();
        let newest = lake.newest().unwrap().map_or(0, |s| s.id);
        (1..=newest).any(|id| lake.snapshot(id).unwrap().is_some_and(|s| s.commit_kind == CommitKind::Compact))
    };
    for (name, step) in [("log", 10), ("keyed", 3)] {
        let deadline = Instant::now() + 3 * WAIT;
        let mut count = 0;
        while !compacted(name) {
            assert!(Instant::now() < deadline, "{name}: {:?}", house.home.store.lake_snapshot(&path(name)));
            let table = house.home.table(name);
            table.put(&rows(count..count + step));
            count += step;
            wait(&house, name, "rows in the lake", |told| told.buckets == [(0, table.end(0))]);
        }
        let found: Vec<_> = house.in_lake(name).into_iter().map(|(row, _)| row).collect();
        assert_eq!(found, rows(0..count), "{name}");
        if name == "log" {
            assert_eq!(house.union(name), rows(0..count));
        }
        assert_eq!(house.home.store.lake_snapshot(&path(name)).unwrap().error, None);
    }
}

#[test]
fn what_hinders_compaction_is_told_and_moves_no_round() {
    let house = House::new(&[("datalake.tiering", "embedded")]);
    let mut described =
        descriptor(true, 1, &[("table.datalake.freshness", "1h"), ("table.datalake.auto-compaction", "true")]);
    described.custom_properties.insert("paimon.num-sorted-run.compaction-trigger".to_owned(), "many".to_owned());
    let table = house.home.create("t", &described);
    // The first round is due at once, the next in an hour.
    table.put(&rows(0..5));
    house.tier("t");
    let told = wait(&house, "t", "an error", |told| told.error.is_some());
    assert!(told.error.as_ref().unwrap().contains("'many'"), "{told:?}");
    table.put(&rows(5..10));
    std::thread::sleep(Duration::from_millis(1500));
    // Whoever makes a table has the thread look at all of them.
    house.home.create("other", &descriptor(false, 1, &[("table.datalake.freshness", "1h")]));
    std::thread::sleep(Duration::from_millis(500));
    let told = house.home.store.lake_snapshot(&path("t")).unwrap();
    assert_eq!(told.buckets, [(0, 5)], "a round came long before its time: {told:?}");
    // Rounds that are asked for go on.
    assert_eq!(house.tier("t").buckets, [(0, 10)]);
}
