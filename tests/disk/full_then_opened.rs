//! A store is opened on a disk that is full already: reads are served or refused with the reason, and nothing is lost by trying.

use crate::Told;
use crate::full::{EAGER, remove};
use crate::mount::Disk;
use crate::offer::{Offers, assert_refused};
use crate::tables::{Table, descriptor, open};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Takes the last bytes of a disk.
pub fn fill_to_the_brim(disk: &Path) -> PathBuf {
    let path = disk.join("brim");
    let mut file = std::fs::File::options().create(true).append(true).open(&path).unwrap();
    let mut piece = vec![7; 1 << 16];
    while !piece.is_empty() {
        match file.write(&piece) {
            Ok(n) if n > 0 => {}
            _ => piece.truncate(piece.len() / 2),
        }
    }
    path
}

/// A closed store keeps no file open, however it was when it was closed.
fn assert_all_closed(home: &Path) {
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let files: Vec<_> =
        open.filter_map(|e| std::fs::read_link(e.ok()?.path()).ok()).filter(|f| f.starts_with(home)).collect();
    assert!(files.is_empty(), "still open: {files:?}");
}

#[test]
fn a_log_is_read() {
    let _told = Told;
    let Some(disk) = Disk::in_memory(8) else { return };
    let home = disk.path().join("store");
    let mut offers = Offers::new(false);
    {
        let store = open(&home, &[]).unwrap();
        let table = Table::create(&store, "t", &descriptor(false, true, 3)).unwrap();
        let mut writer = table.writer().unwrap();
        for _ in 0..10 {
            offers.offer(writer.as_mut(), 50, 200).unwrap();
        }
    }
    let brim = fill_to_the_brim(disk.path());
    let store = open(&home, &[]).unwrap();
    let table = Table::of(&store, "t").unwrap();
    offers.check(&table);
    let mut writer = table.writer().unwrap();
    assert_refused(&offers.fill(writer.as_mut()));
    offers.check(&table);
    remove(&brim);
    offers.heal(writer.as_mut(), Duration::from_secs(5));
    offers.check(&table);
}

#[test]
fn rows_by_key_are_read_once_there_is_space() {
    let _told = Told;
    for settings in [&[][..], EAGER] {
        let Some(disk) = Disk::in_memory(16) else { return };
        let home = disk.path().join("store");
        let mut offers = Offers::new(true);
        let ballast = disk.ballast("ballast", 6);
        {
            let store = open(&home, settings).unwrap();
            let table = Table::create(&store, "t", &descriptor(true, false, 8)).unwrap();
            let mut writer = table.writer().unwrap();
            assert_refused(&offers.fill(writer.as_mut()));
            // Small rows find a place in the log for longer than RocksDB finds one for its files.
            for _ in 0..20 {
                if let Err(e) = offers.offer(writer.as_mut(), 3, 10) {
                    assert_refused(&e);
                    if e.message().contains("key-value directory") {
                        break;
                    }
                }
            }
            offers.check(&table);
            // Closing cannot write the rows to files; the log has them. No bucket is waited for after another has met the full disk.
            let started = Instant::now();
            if let Err(e) = store.close() {
                assert_refused(&e);
            }
            assert!(started.elapsed() < Duration::from_secs(30), "closing took {:?}", started.elapsed());
        }
        assert_all_closed(&home);
        let brim = fill_to_the_brim(disk.path());
        {
            let store = open(&home, settings).unwrap();
            let table = Table::of(&store, "t").unwrap();
            for bucket in 0..8 {
                // The changelog needs no space to be read.
                assert!(!table.log_from(bucket, 0).unwrap().is_empty());
            }
            match table.get(&[1, 2, 3]) {
                Ok(_) => offers.check(&table),
                Err(e) => assert_refused(&e),
            }
            remove(&brim);
            remove(&ballast);
            // The same store, without being opened again.
            offers.check(&table);
            offers.heal(table.writer().unwrap().as_mut(), Duration::from_secs(30));
            offers.check(&table);
        }
        let store = open(&home, settings).unwrap();
        offers.check(&Table::of(&store, "t").unwrap());
    }
}
