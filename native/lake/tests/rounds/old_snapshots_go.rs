//! Expiry: what goes, what stays, and what a crash in between leaves.

use crate::fixture::{descriptor, foreign_snapshot, offsets, offsets_of, path, round, scratch};
use sluice_base::{Fs, OsFs};
use sluice_lake::{LakeTable, LocalStorage, SystemColumns, define};
use sluice_testkit::{Fault, FaultFs, ManualClock};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const START_MS: i64 = 1_700_000_000_000;
const MINUTE_MS: i64 = 60_000;

/// A primary-key table whose rounds are a minute apart.
struct House {
    table: LakeTable,
    clock: Arc<ManualClock>,
    end: i64,
}

impl House {
    fn new(fs: Arc<dyn Fs>, root: &Path, options: &[(&str, &str)]) -> Self {
        let mut schema = define(&descriptor(true), SystemColumns::Added, 0).unwrap();
        schema.options.extend(options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
        let clock = Arc::new(ManualClock::new(START_MS));
        let storage = Arc::new(LocalStorage::new(fs, root));
        let table = LakeTable::create(storage, clock.clone(), &path(), schema).unwrap();
        Self { table, clock, end: 0 }
    }

    fn round(&mut self) {
        self.clock.advance(MINUTE_MS);
        round(&self.table, "u", 0, (self.end > 0).then_some(self.end), self.end..self.end + 5).unwrap();
        self.end += 5;
    }
}

fn ids(root: &Path) -> Vec<i64> {
    let names = std::fs::read_dir(root.join("db.db/t/snapshot")).unwrap();
    let names = names.map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut ids: Vec<i64> = names.filter_map(|n| n.strip_prefix("snapshot-")?.parse().ok()).collect();
    ids.sort_unstable();
    ids
}

/// Names of files below a directory of the table.
fn files(root: &Path, directory: &str) -> BTreeSet<String> {
    let all = std::fs::read_dir(root.join("db.db/t").join(directory)).unwrap();
    all.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

fn read(table: &LakeTable, id: i64) -> usize {
    offsets_of(table, &table.snapshot(id).unwrap().unwrap(), None).len()
}

#[test]
fn what_was_replaced_long_ago_goes_and_the_rest_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let options = [("snapshot.time-retained", "10 min"), ("snapshot.num-retained.min", "1")];
    let mut house = House::new(Arc::new(OsFs), dir.path(), &options);
    for _ in 0..20 {
        house.round();
    }
    // Snapshot n was replaced n + 1 minutes after the start, and 20 have gone by.
    let expired = house.table.expire_snapshots().unwrap();
    assert_eq!(ids(dir.path()), (10..=20).collect::<Vec<_>>());
    assert_eq!(expired, 9);
    assert_eq!(std::fs::read_to_string(dir.path().join("db.db/t/snapshot/EARLIEST")).unwrap(), "10");
    for id in 10..=20 {
        assert_eq!(read(&house.table, id), 5 * id as usize, "snapshot {id}");
    }
    assert_eq!(house.table.expire_snapshots().unwrap(), 0, "nothing is over since");
    // A reader of the newest has ten minutes from the moment on in which it is replaced.
    house.clock.advance(1000 * MINUTE_MS);
    house.table.expire_snapshots().unwrap();
    assert_eq!(ids(dir.path()), [20], "the newest stays however old it is");
    house.round();
    house.table.expire_snapshots().unwrap();
    assert_eq!(ids(dir.path()), [20, 21], "20 has just been replaced");
    assert_eq!(offsets(&house.table), (0..house.end).collect::<Vec<_>>());
    assert_eq!(house.table.tiered().unwrap().snapshot, Some(21));
    // Changelog files are those of the snapshots that are left; all data is still used.
    let all = files(dir.path(), "bucket-0");
    assert_eq!(all.iter().filter(|name| name.starts_with("changelog-")).count(), 2);
    assert_eq!(all.iter().filter(|name| name.starts_with("data-")).count(), 21);
}

#[test]
fn snapshots_of_others_tags_consumers_and_branches_keep_what_they_need() {
    let dir = tempfile::tempdir().unwrap();
    let options = [("snapshot.time-retained", "0 s"), ("snapshot.num-retained.min", "1")];
    let mut house = House::new(Arc::new(OsFs), dir.path(), &options);
    for _ in 0..6 {
        house.round();
    }
    let at = |name: &str| dir.path().join("db.db/t").join(name);
    std::fs::create_dir_all(at("branch/branch-b")).unwrap();
    assert_eq!(house.table.expire_snapshots().unwrap(), 0, "files of branches are not known here");
    std::fs::remove_dir_all(at("branch")).unwrap();
    let option = |value: Option<&str>| [("changelog.time-retained".to_owned(), value.map(str::to_owned))].into();
    house.table = house.table.set_options(&option(Some("1 d"))).unwrap();
    assert_eq!(house.table.expire_snapshots().unwrap(), 0, "nor are changelogs without snapshots");
    house.table = house.table.set_options(&option(None)).unwrap();
    std::fs::create_dir_all(at("consumer")).unwrap();
    std::fs::write(at("consumer/consumer-c"), "{\"nextSnapshot\": 3}").unwrap();
    std::fs::copy(at("snapshot/snapshot-1"), at("tag/tag-monday")).unwrap();
    house.table.expire_snapshots().unwrap();
    assert_eq!(ids(dir.path()), [3, 4, 5, 6], "a consumer still reads 3");
    std::fs::remove_dir_all(at("consumer")).unwrap();
    house.table.expire_snapshots().unwrap();
    assert_eq!(ids(dir.path()), [6]);
    // What a tag has is there, although its snapshot is not.
    std::fs::copy(at("tag/tag-monday"), at("snapshot/snapshot-1")).unwrap();
    assert_eq!(read(&house.table, 1), 5);
    std::fs::remove_file(at("snapshot/snapshot-1")).unwrap();
    house.round();
    let theirs = foreign_snapshot(dir.path());
    foreign_snapshot(dir.path());
    house.table.expire_snapshots().unwrap();
    assert_eq!(ids(dir.path()), [theirs - 1, theirs, theirs + 1], "the newest of ours says how far the lake is");
    assert_eq!(offsets(&house.table), (0..house.end).collect::<Vec<_>>());
}

/// Wherever a process dies, what is left can be read whole, and the next expiry takes the rest away.
#[test]
fn a_crash_leaves_nothing_that_cannot_be_read_or_taken_away() {
    for fault in [Fault::Error, Fault::Halt] {
        die_at_every_call(fault);
    }
}

fn die_at_every_call(fault: Fault) {
    let options = [("snapshot.time-retained", "0 s"), ("snapshot.num-retained.min", "2")];
    for n in 1.. {
        let dir = scratch();
        let root = dir.path().join("lake");
        std::fs::create_dir(&root).unwrap();
        let fs = FaultFs::new();
        let mut house = House::new(Arc::new(fs.clone()), &root, &options);
        for _ in 0..6 {
            house.round();
        }
        fs.fail_call(n, fault);
        let outcome = house.table.expire_snapshots();
        let fired = fs.fired();
        fs.restart();
        let earliest: i64 = std::fs::read_to_string(root.join("db.db/t/snapshot/EARLIEST")).unwrap().parse().unwrap();
        for id in ids(&root).into_iter().filter(|id| *id >= earliest) {
            assert_eq!(read(&house.table, id), 5 * id as usize, "{fault:?} in call {n}: snapshot {id}");
        }
        if earliest > 1 {
            // Also when more are to be kept by now: those that are begun with are past keeping.
            let keep = [("snapshot.num-retained.min".to_owned(), Some("6".to_owned()))].into();
            house.table = house.table.set_options(&keep).unwrap();
        }
        house.table.expire_snapshots().unwrap();
        assert_eq!(ids(&root), [5, 6], "{fault:?} in call {n}: {outcome:?}");
        assert_eq!(offsets(&house.table), (0..30).collect::<Vec<_>>());
        let changelogs = files(&root, "bucket-0").into_iter().filter(|name| name.starts_with("changelog-"));
        assert_eq!(changelogs.count(), 2, "{fault:?} in call {n}");
        let lists = files(&root, "manifest").into_iter().filter(|name| name.starts_with("manifest-list-"));
        assert_eq!(lists.count(), 6, "{fault:?} in call {n}: base, delta and changelog of two snapshots");
        if !fired {
            assert!(n > 10, "only {n} calls");
            break;
        }
    }
}

#[test]
fn a_bad_option_is_named_and_nothing_goes() {
    let dir = tempfile::tempdir().unwrap();
    let mut house = House::new(Arc::new(OsFs), dir.path(), &[("snapshot.num-retained.min", "few")]);
    house.round();
    let refusal = house.table.expire_snapshots().unwrap_err();
    assert!(refusal.to_string().contains("'paimon.snapshot.num-retained.min' = 'few'"), "{refusal}");
    assert_eq!(ids(dir.path()), [1]);
}
