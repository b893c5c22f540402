//! A disk that turns read-only: a clear error for writers, reads go on.

use crate::Told;
use crate::full::EAGER;
use crate::mount::Disk;
use crate::offer::Offers;
use crate::tables::{Table, descriptor, open};
use sluice_base::{Error, ErrorKind, Subject};
use std::time::{Duration, Instant};

fn assert_read_only(e: &Error) {
    assert_eq!((e.kind(), e.subject()), (ErrorKind::Busy, Subject::Disk), "{e}");
    let text = e.message();
    assert!(text.contains("Read-only file system") && text.contains("remount it for writing"), "{e}");
    assert!(!text.contains("free some space"), "{e}");
}

#[test]
fn opening_says_so() {
    let _told = Told;
    let Some(disk) = Disk::in_memory(8) else { return };
    let home = disk.path().join("store");
    let mut offers = [Offers::new(false), Offers::new(true)];
    {
        let store = open(&home, &[]).unwrap();
        for (offers, (name, keyed)) in offers.iter_mut().zip([("log", false), ("rows", true)]) {
            let table = Table::create(&store, name, &descriptor(keyed, true, 2)).unwrap();
            offers.offer(table.writer().unwrap().as_mut(), 100, 20).unwrap();
        }
    }
    disk.remount("ro");
    for place in [home.clone(), disk.path().join("another")] {
        let e = open(&place, &[]).unwrap_err();
        assert_read_only(&e);
        assert!(e.message().starts_with(&format!("cannot open the store in {}", place.display())), "{e}");
    }
    disk.remount("rw");
    let store = open(&home, &[]).unwrap();
    for (offers, name) in offers.iter_mut().zip(["log", "rows"]) {
        offers.check(&Table::of(&store, name).unwrap());
    }
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
