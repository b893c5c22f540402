//! C50: a full disk refuses writes with a clear error, keeps serving reads, and heals when space returns.

use crate::workload::{self, Model, Step, batch, open, script, take};
use sluice_base::{ErrorKind, Subject};
use sluice_log::Log;
use sluice_testkit::FaultFs;
use std::path::Path;
use std::sync::Arc;

fn filled(fs: &FaultFs, dir: &Path) -> (Log, Model) {
    let (log, _) = open(Arc::new(fs.clone()), dir).unwrap();
    let mut model = Model::default();
    script().into_iter().for_each(|step| take(&log, &mut model, step).unwrap());
    (log, model)
}

fn assert_refused(log: &Log, rows: usize, text: usize) {
    let e = log.append(&mut batch(1, rows, text)).unwrap_err();
    assert_eq!((e.kind(), e.subject()), (ErrorKind::Busy, Subject::Disk));
    assert!(e.kind().is_retryable());
    assert!(e.message().contains("free some space"), "{e}");
}

#[test]
fn writes_are_refused_reads_go_on_and_space_heals() {
    let dir = workload::tempdir();
    let fs = FaultFs::new();
    let (log, mut model) = filled(&fs, dir.path());
    for round in 0..3 {
        fs.set_full(true);
        assert_refused(&log, 2, 50);
        // One that needs a new segment.
        assert_refused(&log, 1, 2_900);
        assert_eq!(workload::bytes_on_disk(dir.path()), log.size_bytes(), "a refused batch leaves nothing behind");
        model.check(&log);
        model.synced = log.sync().unwrap();
        assert_eq!(model.synced, model.end());
        log.expire(i64::MAX, Some(1), 0).unwrap();
        fs.set_full(false);
        for step in [Step::Append(2, 50), Step::Append(1, 2_900), Step::Sync, Step::Append(1, round)] {
            take(&log, &mut model, step).unwrap();
        }
        model.check(&log);
    }
    drop(log);
    let (log, recovery) = open(Arc::new(FaultFs::new()), dir.path()).unwrap();
    assert_eq!((recovery.cut, recovery.damaged), (None, Vec::new()));
    model.check(&log);
    assert_eq!(log.end_offset(), model.end());
}

#[test]
fn a_log_opens_on_a_full_disk_and_serves_reads() {
    let dir = workload::tempdir();
    let fs = FaultFs::new();
    let (log, model) = filled(&fs, dir.path());
    fs.set_full(true);
    drop(log);
    let (log, _) = open(Arc::new(fs.clone()), dir.path()).unwrap();
    model.check(&log);
    assert_eq!(log.durable_offset(), model.end());
    assert_refused(&log, 2, 50);
    fs.set_full(false);
    log.append(&mut batch(1, 2, 50)).unwrap();
    log.sync().unwrap();
}

/// C49: opening costs by what is unflushed, not by what there is.
#[test]
fn opening_a_long_log_makes_few_calls() {
    let dir = workload::tempdir();
    let (log, _) = open(Arc::new(FaultFs::new()), dir.path()).unwrap();
    for i in 0..400 {
        log.append(&mut batch(i, 10, 200)).unwrap();
    }
    log.sync().unwrap();
    let size = log.size_bytes();
    drop(log);
    let fs = FaultFs::new();
    let (log, recovery) = open(Arc::new(fs.clone()), dir.path()).unwrap();
    assert!(size > 800_000 && recovery.checked_bytes < 5_000, "{recovery:?}");
    let segments =
        std::fs::read_dir(dir.path()).unwrap().filter(|e| e.as_ref().unwrap().path().extension().unwrap() == "log");
    // A closed segment is opened for its length and nothing else.
    let most = 2 * segments.count() as u64 + 30;
    assert!(fs.calls() <= most, "{} calls, at most {most} expected", fs.calls());
    assert_eq!(log.end_offset(), 4_000);
}
