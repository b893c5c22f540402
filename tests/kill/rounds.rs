//! Round after round over one directory: a process writes and is killed, sometimes the next ones are killed while they recover, then
//! everything is compared.

use crate::book::Book;
use crate::child::Mode;
use crate::parent::Other;
use crate::plan::{KINDS, Kind, mix};
use crate::tables::{PLACE, Table, open, with_copies};
use crate::{Scratch, copy_tree, is_long, seed};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluice_api::Connection;
use sluice_row::ChangeKind;
use sluice_store::LocalStore;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// One round in five of each kind; that behind `Open` starts from what a killed recovery left.
const MODES: [Mode; 5] = [Mode::Write, Mode::Snapshot, Mode::Flush, Mode::Open, Mode::Write];

#[test]
fn nothing_acknowledged_is_lost() {
    let rounds = if is_long() { 500 } else { 50 };
    let home = Scratch::new();
    let mut book = Book::new(seed());
    let mut random = StdRng::seed_from_u64(mix(seed(), &[-1]));
    for life in 0..rounds {
        let mode = MODES[usize::try_from(life).unwrap() % MODES.len()];
        // On a failure this tells which round it was.
        println!("round {life}: {mode:?}");
        round(&mut book, &mut random, home.path(), mode, life);
    }
    println!("{} rows in {rounds} rounds", book.rows_seen());
    assert!(book.rows_seen() > 100 * usize::try_from(rounds).unwrap(), "only {} rows were written", book.rows_seen());
}

/// The same while everything is copied elsewhere and local files go; then the disk is lost, and what comes back is the beginning of what there was.
#[test]
fn nothing_acknowledged_is_lost_while_it_is_copied_elsewhere() {
    let rounds = if is_long() { 60 } else { 15 };
    let home = Scratch::new();
    let mut created = Other::start(Mode::Create, seed(), 0, home.path());
    created.wait_for(&format!("created {}", KINDS[KINDS.len() - 1].name()));
    created.kill();
    std::fs::create_dir(home.path().join(PLACE)).unwrap();
    let mut book = Book::new(seed());
    let mut random = StdRng::seed_from_u64(mix(seed(), &[-2]));
    let mut back = 0;
    for life in 0..rounds {
        let mode = MODES[usize::try_from(life).unwrap() % MODES.len()];
        println!("round {life}: {mode:?}");
        round(&mut book, &mut random, home.path(), mode, life);
        back += comes_back(home.path());
    }
    println!("{back} events came back in all rounds");
    assert!(back > 1000, "only {back} events came back");
    assert!(book.rows_seen() > 100 * usize::try_from(rounds).unwrap(), "only {} rows were written", book.rows_seen());
}

/// How many events come back.
fn comes_back(home: &Path) -> usize {
    let (lost, place, whole) = (Scratch::new(), Scratch::new(), Scratch::new());
    copy_tree(&home.join(PLACE), place.path());
    copy_tree(home, whole.path());
    let mut options = with_copies(place.path());
    options.insert("remote.restore".to_owned(), "true".to_owned());
    let back = LocalStore::open_shared(lost.path(), &options).unwrap();
    if !back.is_restored() {
        // Nothing was copied yet.
        back.close().unwrap();
        return 0;
    }
    let mut events = 0;
    let whole = open(whole.path(), &[]).unwrap();
    for kind in KINDS {
        let (before, after) = (Table::of(&whole, kind.name()).unwrap(), Table::of(&back, kind.name()).unwrap());
        for bucket in 0..kind.buckets() {
            let (all, found) = (before.log_from(bucket, 0).unwrap(), after.log_from(bucket, 0).unwrap());
            events += found.len();
            assert!(all.starts_with(&found), "{kind:?} {bucket}: {} events of {}", found.len(), all.len());
            if kind == Kind::Rows {
                let mut rows = BTreeMap::new();
                for event in found {
                    match event.kind {
                        ChangeKind::UpdateBefore | ChangeKind::Delete => rows.remove(&event.row.k),
                        _ => rows.insert(event.row.k, event.row),
                    };
                }
                assert_eq!(after.current(bucket).unwrap(), rows, "bucket {bucket}");
            }
        }
    }
    whole.close().unwrap();
    back.close().unwrap();
    events
}

fn round(book: &mut Book, random: &mut StdRng, home: &Path, mode: Mode, life: i32) {
    let writes = if mode == Mode::Open { Mode::Write } else { mode };
    let mut other = Other::start(writes, seed(), life, home);
    other.wait_for(if mode == Mode::Snapshot { "snapshot" } else { "ack" });
    std::thread::sleep(Duration::from_millis(random.random_range(20..400)));
    let said = other.kill();
    book.note(life, said.clone());
    if mode == Mode::Open {
        kill_recoveries(random, home, life);
    }
    // What was there before is read again now and then.
    let whole = life % if life < 50 { 5 } else { 20 } == 0;
    if mode != Mode::Snapshot && random.random_bool(0.5) {
        // Looked at in a copy, so that the next process finds what this one left.
        let copy = Scratch::new();
        copy_tree(home, copy.path());
        let store = open(copy.path(), &[]).unwrap();
        book.check(&store, whole);
        store.close().unwrap();
        return;
    }
    let store = open(home, &[]).unwrap();
    book.check(&store, whole);
    book.check_snapshots(&store, &said);
    let table = Table::of(&store, Kind::Rows.name()).unwrap();
    store.release_snapshots(&[], &format!("job {life}")).unwrap();
    for held in &said.held {
        let at = home.join(format!("data/{}/{}/snapshots/{}", table.id.0, held.bucket, held.id));
        let is_newest = said.held.iter().all(|h| h.bucket != held.bucket || h.id <= held.id);
        assert!(is_newest || !at.exists(), "{} was given back", at.display());
    }
    store.close().unwrap();
}

/// Kills some processes while they open the store: the first at some moment, the others around the time that it takes.
fn kill_recoveries(random: &mut StdRng, home: &Path, life: i32) {
    let copy = Scratch::new();
    copy_tree(home, copy.path());
    let started = Instant::now();
    let mut other = Other::start(Mode::Open, seed(), life, copy.path());
    other.wait_for("opened");
    let whole_start = started.elapsed();
    other.kill();
    for _ in 0..4 {
        let mut other = Other::start(Mode::Open, seed(), life, home);
        other.wait_for("opening");
        std::thread::sleep(whole_start.mul_f64(random.random_range(0.0..0.8)));
        let said = other.kill();
        println!("killed {} the store was open", if said.opened { "after" } else { "before" });
    }
}
