use crate::fixture::{self, Home, Row, assert_error, batch, row};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluice_base::{ErrorKind, Subject};
use sluice_store::LocalStore;
use sluice_testkit::FaultFs;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const BUCKETS: i32 = 3;

fn rows(first: i32, count: i32, text: usize) -> Vec<Row> {
    // Nothing that compresses.
    let mut random = StdRng::seed_from_u64(u64::from(first.unsigned_abs()));
    let mut text = || (0..text).map(|_| char::from(random.random_range(b' '..b'~'))).collect();
    (first..first + count).map(|i| (i, Some(text()), Some(i))).collect()
}

/// The disk takes bytes but does not answer for a while: a batch that finds no room is refused whole and soon, and once the disk answers
/// the same batch is taken, once.
#[test]
fn a_batch_without_room_is_not_begun() {
    for keyed in [true, false] {
        let fs = FaultFs::new();
        let stuck = Arc::new(Mutex::new(()));
        let hook = stuck.clone();
        fs.during_sync(move || drop(hook.lock()));
        let home = Home::with(Arc::new(fs), &[("write.in-flight-size-max", "1mb")]);
        let table = home.create("t", &fixture::buckets(fixture::descriptor(keyed), BUCKETS, &["id"]));
        table.put(&rows(0, 30, 5));
        let answers = stuck.lock().unwrap();
        let mut writer = table.writer();
        let filled = (1..).take_while(|i| writer.write(&batch(&rows(i * 100, 100, 1_000)), &[]).is_ok()).count();
        assert!(filled > 3, "the bound holds more than {filled} batches");
        let late = batch(&(-5..0).map(|id| row(id, "late", id)).collect::<Vec<_>>());
        for _ in 0..2 {
            let started = Instant::now();
            let e = writer.write(&late, &[]).unwrap_err();
            assert_error(&e, ErrorKind::Busy, Subject::Disk, &["wait for the disk", "bucket"]);
            assert!(started.elapsed() < Duration::from_secs(3), "refusing took {:?}", started.elapsed());
        }
        drop(answers);
        writer.flush(fixture::WAIT).unwrap();
        assert!(table.log().iter().all(|r| r.2.0 >= 0), "nothing of a refused batch is written");
        writer.write(&late, &[]).unwrap();
        writer.flush(fixture::WAIT).unwrap();
        let mut ids: Vec<i32> = table.log().iter().map(|r| r.2.0).filter(|id| *id < 0).collect();
        ids.sort_unstable();
        assert_eq!(ids, [-5, -4, -3, -2, -1]);
        if keyed {
            assert_eq!(table.current().into_keys().filter(|id| *id < 0).count(), 5);
        }
    }
}

/// Closing does not wait for ever for a disk that does not answer, and gives the directory up only when it has.
#[test]
fn closing_returns_and_the_directory_stays_locked() {
    let fs = FaultFs::new();
    let stuck = Arc::new(Mutex::new(()));
    let hook = stuck.clone();
    fs.during_sync(move || drop(hook.lock()));
    let home = Home::with(Arc::new(fs), &[]);
    let table = home.create("t", &fixture::descriptor(true));
    table.put(&[row(1, "acknowledged", 1)]);
    let answers = stuck.lock().unwrap();
    table.writer().write(&batch(&[row(2, "on its way", 2)]), &[]).unwrap();
    let started = Instant::now();
    assert_error(&home.store.close().unwrap_err(), ErrorKind::Busy, Subject::Disk, &["does not answer", "locked"]);
    assert!(started.elapsed() < Duration::from_secs(30), "closing took {:?}", started.elapsed());
    let open = || LocalStore::open_shared(home.dir.path(), &BTreeMap::new());
    assert_error(&open().unwrap_err(), ErrorKind::Busy, Subject::Store, &["this very process"]);
    drop(answers);
    let started = Instant::now();
    let store = loop {
        match open() {
            Ok(store) => break store,
            Err(e) => assert!(e.kind() == ErrorKind::Busy && started.elapsed() < fixture::WAIT, "{e}"),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let table = fixture::Table { store: &store, path: fixture::path("t"), id: table.id, buckets: table.buckets };
    assert_eq!(table.get(&[Some(1), Some(2)]), [Some(row(1, "acknowledged", 1)), Some(row(2, "on its way", 2))]);
}
