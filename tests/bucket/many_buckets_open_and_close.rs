use crate::fixture::{self, batch, home, row};
use std::path::Path;
use std::time::{Duration, Instant};

const ROWS: i32 = 5_000;

/// The long form has as many as one that took an orchestrator's patience.
fn bucket_count() -> i32 {
    if std::env::var("SLUICE_LONG").is_ok_and(|v| v == "1") { 500 } else { 100 }
}

/// Files below a directory that this process has open; other tests have theirs elsewhere.
fn open_files(dir: &Path) -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
    links.filter(|file| file.starts_with(dir)).count()
}

fn timed<R>(what: &str, work: impl FnOnce() -> R) -> R {
    let started = Instant::now();
    let done = work();
    println!("{what} took {:?}", started.elapsed());
    assert!(started.elapsed() < Duration::from_secs(60), "{what} took {:?}", started.elapsed());
    done
}

/// A store with very many buckets (case C49) opens at once, for nothing is read before it is used, and gives all files back.
#[test]
fn time_and_files_are_bounded() {
    let buckets = bucket_count();
    let home = home();
    let dir = home.dir.path().to_owned();
    let expected = {
        let table = home.create("t", &fixture::buckets(fixture::descriptor(true), buckets, &["id"]));
        let rows: Vec<_> = (0..ROWS).map(|id| row(id, "x", id)).collect();
        timed("writing to all buckets", || table.put(&rows));
        let files = open_files(&dir);
        println!("{files} files are open");
        assert!(files < 12 * usize::try_from(buckets).unwrap(), "{files} files are open for {buckets} buckets");
        rows
    };
    let killed = timed("opening after a kill", || home.killed());
    timed("reading all after a kill", || {
        assert_eq!(killed.table("t").current().into_values().collect::<Vec<_>>(), expected);
    });
    drop(killed);
    timed("closing", || home.store.close().unwrap());
    let left = open_files(&dir);
    assert!(left < 20, "{left} files are still open");
    let home = timed("opening", || home.reopen());
    assert!(open_files(&dir) < 50, "opening opens no bucket");
    let table = home.table("t");
    let (first, all) = (timed("the first lookup", || table.get(&[Some(7)])), batch(&expected).num_rows());
    assert_eq!(first, [Some(row(7, "x", 7))]);
    timed("reading all", || assert_eq!(table.current().len(), all));
}
