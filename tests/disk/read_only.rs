//! A disk that turns read-only: a clear error for writers, reads go on.

use crate::Told;
use crate::damage::copy_tree;
use crate::full::EAGER;
use crate::mount::Disk;
use crate::offer::Offers;
use crate::tables::{Table, descriptor, open};
use sluice_api::Connection;
use sluice_base::{Error, ErrorKind, Subject};
use sluice_row::{TableDescriptor, TablePath};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

fn assert_read_only(e: &Error) {
    assert_eq!((e.kind(), e.subject()), (ErrorKind::Busy, Subject::Disk), "{e}");
    let text = e.message();
    assert!(text.contains("Read-only file system") && text.contains("remount it for writing"), "{e}");
    assert!(!text.contains("free some space"), "{e}");
}

/// A store on such a disk is opened for reading, whether it was closed or killed: what was acknowledged is there, writers are refused.
#[test]
fn an_opened_store_is_read() {
    let _told = Told;
    let small = &[("kv.write-buffer-size", "64kb")][..];
    for (settings, clean) in [(&[][..], true), (&[][..], false), (small, false)] {
        let Some(disk) = Disk::in_memory(64) else { return };
        let home = disk.path().join("store");
        let running = if clean { home.clone() } else { disk.path().join("running") };
        let mut offers = [Offers::new(false), Offers::new(true)];
        {
            let store = open(&running, settings).unwrap();
            let tables = [("log", false), ("rows", true), ("unused", true)]
                .map(|(name, keyed)| Table::create(&store, name, &descriptor(keyed, true, 2)).unwrap());
            let cut = TableDescriptor { partition_key: vec!["life".to_owned()], ..descriptor(false, true, 2) };
            store.create_table(&cut_path(), &cut, false).unwrap();
            store.create_partition(&cut_path(), &life("1"), false).unwrap();
            for round in 0..8 {
                for (offers, table) in offers.iter_mut().zip(&tables) {
                    offers.offer(table.writer().unwrap().as_mut(), 100, 200).unwrap();
                }
                if round == 4 {
                    // Some rows are in files, some in the log alone.
                    store.acquire_snapshots(&tables[1].all_buckets(), "job", 60_000).unwrap();
                }
            }
            if !clean {
                // Files must not come and go while they are copied.
                std::thread::sleep(Duration::from_secs(1));
                copy_tree(&running, &home);
            }
        }
        disk.remount("ro");
        check_reading(&home, settings, &mut offers, &disk);
        let store = open(&home, settings).unwrap();
        for (offers, name) in offers.iter_mut().zip(["log", "rows"]) {
            let table = Table::of(&store, name).unwrap();
            offers.check(&table);
            offers.offer(table.writer().unwrap().as_mut(), 60, 20).unwrap();
            offers.check(&table);
        }
    }
}

fn cut_path() -> TablePath {
    TablePath::new("fluss", "cut")
}

fn life(value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("life".to_owned(), value.to_owned())])
}

fn check_reading(home: &Path, settings: &[(&str, &str)], offers: &mut [Offers; 2], disk: &Disk) {
    let store = open(home, settings).unwrap();
    for (offers, name) in offers.iter_mut().zip(["log", "rows"]) {
        let table = Table::of(&store, name).unwrap();
        offers.check(&table);
        assert_read_only(&table.writer().map(|_| ()).unwrap_err());
    }
    let unused = Table::of(&store, "unused").unwrap();
    assert!(unused.log_from(0, 0).unwrap().is_empty() && unused.current(1).unwrap().is_empty());
    assert_eq!(unused.get(&[1]).unwrap(), [None]);
    assert_read_only(&Table::create(&store, "another", &descriptor(false, true, 1)).map(|_| ()).unwrap_err());
    assert_read_only(&store.acquire_snapshots(&unused.all_buckets(), "job", 60_000).unwrap_err());
    assert_read_only(&store.create_partition(&cut_path(), &life("2"), false).unwrap_err());
    assert_read_only(&store.drop_partition(&cut_path(), &life("1"), false).unwrap_err());
    let there = store.list_partitions(&cut_path(), &BTreeMap::new()).unwrap();
    assert_eq!(there.iter().map(|p| p.name()).collect::<Vec<_>>(), ["1"]);
    disk.remount("rw");
    // What two processes may have open for reading, neither may write.
    let e = unused.writer().map(|_| ()).unwrap_err();
    assert_read_only(&e);
    assert!(e.message().contains("open it again"), "{e}");
    assert_read_only(&store.drop_table(&unused.path, false).unwrap_err());
    store.close().unwrap();
}

#[test]
fn a_store_cannot_be_made() {
    let _told = Told;
    let Some(disk) = Disk::in_memory(8) else { return };
    disk.remount("ro");
    let place = disk.path().join("store");
    let e = open(&place, &[]).unwrap_err();
    assert_read_only(&e);
    assert!(e.message().starts_with(&format!("cannot open the store in {}", place.display())), "{e}");
}

/// What a kernel does that met a write error: the open files take nothing any more.
#[test]
fn a_running_store_says_so_and_is_read() {
    let _told = Told;
    for settings in [&[][..], EAGER] {
        let Some(mut disk) = Disk::in_file(64) else { return };
        let home = disk.path().join("store");
        let mut offers = [Offers::new(false), Offers::new(true)];
        {
            let store = open(&home, settings).unwrap();
            let tables = [("log", false), ("rows", true)]
                .map(|(name, keyed)| Table::create(&store, name, &descriptor(keyed, true, 2)).unwrap());
            let mut writers = tables.each_ref().map(|t| t.writer().unwrap());
            for _ in 0..10 {
                for (offers, writer) in offers.iter_mut().zip(&mut writers) {
                    offers.offer(writer.as_mut(), 100, 200).unwrap();
                }
            }
            disk.abort();
            for ((offers, writer), table) in offers.iter_mut().zip(&mut writers).zip(&tables) {
                for _ in 0..3 {
                    assert_read_only(&offers.offer(writer.as_mut(), 100, 200).unwrap_err());
                }
                offers.check(table);
            }
        }
        disk.replug();
        let store = open(&home, settings).unwrap();
        for (offers, name) in offers.iter_mut().zip(["log", "rows"]) {
            let table = Table::of(&store, name).unwrap();
            offers.check(&table);
            offers.offer(table.writer().unwrap().as_mut(), 10, 10).unwrap();
            offers.check(&table);
        }
    }
}

/// New files cannot be made for a while. A log goes on by itself; rows by key once the store is opened again, and the sentence says so.
#[test]
fn writing_goes_on_once_files_can_be_made_again() {
    let _told = Told;
    for (keyed, settings) in [(false, &[("log.segment.file-size", "64kb")][..]), (true, EAGER)] {
        let Some(disk) = Disk::in_memory(32) else { return };
        let home = disk.path().join("store");
        let store = open(&home, settings).unwrap();
        let table = Table::create(&store, "t", &descriptor(keyed, true, 2)).unwrap();
        let mut offers = Offers::new(keyed);
        let mut writer = table.writer().unwrap();
        offers.offer(writer.as_mut(), 100, 200).unwrap();
        let cover = disk.cover(&home);
        assert_read_only(&offers.fill(writer.as_mut()));
        offers.check(&table);
        drop(cover);
        let started = Instant::now();
        while let Err(e) = offers.offer(writer.as_mut(), 60, 20) {
            assert_read_only(&e);
            if e.message().contains("close the store and open it again") {
                break;
            }
            assert!(started.elapsed() < Duration::from_secs(30), "{e}");
        }
        offers.check(&table);
        drop(writer);
        if let Err(e) = store.close() {
            assert_read_only(&e);
        }
        let store = open(&home, settings).unwrap();
        let table = Table::of(&store, "t").unwrap();
        offers.check(&table);
        offers.offer(table.writer().unwrap().as_mut(), 60, 20).unwrap();
        offers.check(&table);
    }
}
