//! The disk takes nothing any more at a random moment of writing, and what it had not been made to keep is gone: all that was
//! acknowledged is there when it is mounted again.

use crate::full::EAGER;
use crate::mount::Disk;
use crate::offer::Offers;
use crate::tables::{Table, descriptor, open};
use crate::{Told, seed};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn nothing_acknowledged_is_lost() {
    let _told = Told;
    let Some(mut disk) = Disk::in_file(256) else { return };
    let home = disk.path().join("store");
    let mut random = StdRng::seed_from_u64(seed());
    let mut offers = [Offers::new(false), Offers::new(true)];
    for round in 0..6 {
        let settings = if round % 2 == 0 { EAGER } else { &[("log.segment.file-size", "64kb")] };
        let store = open(&home, settings).unwrap();
        let tables = [("log", false), ("rows", true)]
            .map(|(name, keyed)| Table::create(&store, name, &descriptor(keyed, true, 3)).unwrap());
        for (offers, table) in offers.iter_mut().zip(&tables) {
            offers.check(table);
        }
        // While ext4 aborts, a sync may report success and keep nothing: it writes the pages, finds that the transaction with their place
        // in the file is no longer running, and takes it for committed, though the abort ended it without a commit record. A plain
        // program that appends and syncs sees the same. So what is acknowledged from here on may be lost; nothing before may.
        let lies = Arc::new(AtomicBool::new(false));
        offers.iter_mut().for_each(|o| o.doubt_after(&lies));
        let life = Duration::from_millis(random.random_range(50..400));
        std::thread::scope(|scope| {
            for (offers, table) in offers.iter_mut().zip(&tables) {
                scope.spawn(|| {
                    let mut writer = table.writer().unwrap();
                    while offers.offer(writer.as_mut(), 20, 100).is_ok() {}
                });
            }
            std::thread::sleep(life);
            lies.store(true, Ordering::SeqCst);
            disk.abort();
        });
        drop(store);
        disk.replug();
    }
    let store = open(&home, &[]).unwrap();
    for (offers, name) in offers.iter_mut().zip(["log", "rows"]) {
        offers.check(&Table::of(&store, name).unwrap());
    }
}
