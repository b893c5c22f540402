//! The process that is killed. It says on its standard output, a line at a time, what the store has acknowledged.

use crate::plan::{KINDS, Kind, Stream, WRITERS, mix};
use crate::tables::{self, Table, WAIT, batch, descriptor};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluice_api::{Connection, ScanOptions, ScanSplit, ScanStart};
use sluice_row::ChangeKind;
use sluice_store::LocalStore;
use std::collections::VecDeque;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Names the work to do: mode, seed, life, directory.
pub const WORK: &str = "SLUICE_KILL_WORK";
/// Stands before each line that is meant for the parent.
pub const MARK: char = '~';

/// What the process is doing when it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Three writers and a reader, the default settings.
    Write,
    /// The same, while the rows by key are written to files all the time and log segments are small.
    Flush,
    /// The same, while snapshots are acquired and given back.
    Snapshot,
    /// The store is opened and every bucket looked at; nothing is written.
    Open,
    /// The store is created with its tables.
    Create,
    /// Tables are created, written to and dropped.
    Define,
    /// The store is held open.
    Hold,
}

impl Mode {
    const ALL: [Self; 7] =
        [Self::Write, Self::Flush, Self::Snapshot, Self::Open, Self::Create, Self::Define, Self::Hold];

    fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Flush => {
                &[("kv.flush-interval", "100ms"), ("kv.write-buffer-size", "64kb"), ("log.segment.file-size", "64kb")]
            }
            _ => &[],
        }
    }
}

/// Not a test of its own: what the other process runs.
#[test]
fn the_process_that_is_killed() {
    let Ok(work) = std::env::var(WORK) else { return };
    // A panic in any thread ends the process with a sign that the parent tells from its own kill.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        hook(panic);
        std::process::exit(70);
    }));
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(120));
        panic!("nobody killed this process");
    });
    let [mode, seed, life, dir] = work.splitn(4, ' ').collect::<Vec<_>>()[..] else { panic!("{work}") };
    let mode = Mode::ALL.into_iter().find(|m| format!("{m:?}") == mode).unwrap();
    run(mode, seed.parse().unwrap(), life.parse().unwrap(), Path::new(dir));
}

fn say(line: &str) {
    // One write call a line: it reaches the parent whole or not at all.
    std::io::stdout().write_all(format!("{MARK}{line}\n").as_bytes()).unwrap();
    std::io::stdout().flush().unwrap();
}

fn run(mode: Mode, seed: u64, life: i32, dir: &Path) {
    say("opening");
    let store = tables::open(dir, mode.settings()).unwrap();
    match mode {
        Mode::Write | Mode::Flush | Mode::Snapshot => write(&store, mode, seed, life),
        Mode::Open => look(&store),
        Mode::Create => create(&store),
        Mode::Define => define(&store, seed, life),
        Mode::Hold => say("opened"),
    }
    std::thread::sleep(Duration::from_secs(600));
}

/// Creates the three tables, or finds them.
pub fn create_table(store: &LocalStore, kind: Kind) -> Table<'_> {
    let descriptor = descriptor(kind == Kind::Rows, kind == Kind::Ledger, kind.buckets());
    Table::create(store, kind.name(), &descriptor).unwrap()
}

fn create(store: &LocalStore) {
    for kind in KINDS {
        create_table(store, kind);
        say(&format!("created {}", kind.name()));
    }
}

fn look(store: &LocalStore) {
    for kind in KINDS {
        let table = Table::of(store, kind.name()).unwrap();
        table.ends().unwrap();
        table.row_count().unwrap();
    }
    say("opened");
}

fn write(store: &LocalStore, mode: Mode, seed: u64, life: i32) {
    let tables: Vec<Table<'_>> = KINDS.into_iter().map(|kind| create_table(store, kind)).collect();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let tables = &tables;
            scope.spawn(move || write_rows(tables, seed, life, writer));
        }
        for (kind, table) in KINDS.into_iter().zip(&tables) {
            scope.spawn(move || follow(kind, table));
        }
        if mode == Mode::Snapshot {
            scope.spawn(|| take_snapshots(&tables[2], life));
        }
    });
}

fn write_rows(tables: &[Table<'_>], seed: u64, life: i32, writer: i32) {
    let mut random = StdRng::seed_from_u64(mix(seed, &[life.into(), writer.into()]));
    let mut streams = KINDS.map(|kind| Stream::new(seed, kind, life, writer));
    let mut writers: Vec<_> = tables.iter().map(|t| t.writer().unwrap()).collect();
    loop {
        let at = random.random_range(0..KINDS.len());
        let next = streams[at].next().unwrap();
        writers[at].write(&batch(&next.rows), &next.kinds).unwrap();
        if random.random_bool(0.6) {
            writers[at].flush(WAIT).unwrap();
            say(&format!("ack {} {writer} {}", KINDS[at].name(), streams[at].seq));
        }
    }
}

/// Reads what becomes visible and says how far. What a reader of the changelog has seen, a lookup sees.
fn follow(kind: Kind, table: &Table<'_>) {
    let scanner =
        table.store.scanner(&table.path, &ScanOptions { projection: None, batch_rows_max: 200, filter: None }).unwrap();
    for (id, (bucket, offset)) in table.all_buckets().into_iter().zip(table.ends().unwrap()).enumerate() {
        let id = u32::try_from(id).unwrap();
        scanner.subscribe(ScanSplit { id, bucket, start: ScanStart::Log { offset }, stop: None }).unwrap();
    }
    loop {
        let Some(batch) = scanner.poll(Duration::from_secs(1)).unwrap() else { continue };
        let events = tables::events(std::slice::from_ref(&batch));
        let Some(last) = events.last() else { continue };
        if kind == Kind::Rows {
            let keys: Vec<i32> = events.iter().map(|e| e.row.k).collect();
            for (event, found) in events.iter().zip(table.get(&keys).unwrap()) {
                let Some(found) = found else { continue };
                let (seen, now) = ((event.row.life, event.row.seq), (found.life, found.seq));
                let gone = matches!(event.kind, ChangeKind::Delete | ChangeKind::UpdateBefore);
                assert!(now > seen || (now == seen && !gone), "the changelog shows {event:?}, a lookup {found:?}");
            }
        }
        say(&format!("seen {} {} {}", kind.name(), batch.split, last.offset + 1));
    }
}

fn take_snapshots(table: &Table<'_>, life: i32) {
    let lease = format!("job {life}");
    for n in 1.. {
        for bucket in table.all_buckets() {
            let (id, offset) = table.store.acquire_snapshots(&[bucket], &lease, 3_600_000).unwrap()[0];
            say(&format!("snapshot {} {id} {offset}", bucket.bucket));
        }
        if n % 3 == 0 {
            say("releasing");
            table.store.release_snapshots(&[], &lease).unwrap();
        }
    }
}

/// Creates, fills and drops tables; the last few stay.
fn define(store: &LocalStore, seed: u64, life: i32) {
    let mut kept = VecDeque::new();
    for n in 0.. {
        let name = format!("t{life}_{n}");
        let kind = KINDS[n % KINDS.len()];
        let descriptor = descriptor(kind == Kind::Rows, kind == Kind::Ledger, 2);
        let table = Table::create(store, &name, &descriptor).unwrap();
        say(&format!("created {name}"));
        let first = Stream::new(seed, kind, life, 0).next().unwrap();
        let mut writer = table.writer().unwrap();
        writer.write(&batch(&first.rows), &first.kinds).unwrap();
        writer.flush(WAIT).unwrap();
        say(&format!("filled {name}"));
        kept.push_back(name);
        if kept.len() > 4 {
            let name = kept.pop_front().unwrap();
            say(&format!("dropping {name}"));
            store.drop_table(&tables::path(&name), false).unwrap();
            say(&format!("dropped {name}"));
        }
    }
}
