//! Each call of the file system fails once; the process lives on, and what it then acknowledged outlives a power loss.

use crate::workload::{self, Model, Step, assert_disk_error, open, script, take};
use sluice_base::{Error, ErrorKind};
use sluice_log::Log;
use sluice_testkit::{Crash, Fault, FaultFs};
use std::path::Path;
use std::sync::Arc;

/// Opens, once more after a failure: a fault strikes only once.
fn open_again(fs: &FaultFs, dir: &Path) -> Log {
    let first = open(Arc::new(fs.clone()), dir).inspect_err(assert_disk_error);
    first.unwrap_or_else(|_| open(Arc::new(fs.clone()), dir).unwrap()).0
}

fn assert_poisoned(log: &Log, model: &Model) {
    let mut more = crate::workload::batch(0, 1, 1);
    let e = log.append(&mut more).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Closed);
    assert!(e.message().contains("open it again"), "{e}");
    assert_eq!(log.sync().unwrap_err().kind(), ErrorKind::Closed);
    model.check(log);
}

/// A step that failed is taken back and tried again.
fn recover_from(e: &Error, log: Log, model: &mut Model, step: Step) -> Log {
    assert_disk_error(e);
    let log = match step {
        Step::Append(..) => {
            model.cut_to(log.end_offset());
            log
        }
        // What could not be synced is gone: the disk may have any part of it.
        Step::Sync | Step::SavePoint if log.durable_offset() < log.end_offset() => {
            assert_poisoned(&log, model);
            let keep = log.durable_offset();
            model.cut_to(keep);
            log.reopen(keep).unwrap().0
        }
        _ => log,
    };
    assert_eq!(log.end_offset(), model.end(), "the log is as it was before the failed step");
    model.check(&log);
    take(&log, model, step).unwrap();
    log
}

fn run(n: u64, fault: Fault) -> bool {
    let dir = workload::tempdir();
    let fs = FaultFs::new();
    let mut model = Model::default();
    fs.fail_call(n, fault);
    let mut log = open_again(&fs, dir.path());
    for step in script() {
        if let Err(e) = take(&log, &mut model, step) {
            assert!(fs.fired(), "{step:?}: {e}");
            log = recover_from(&e, log, &mut model, step);
        }
        assert_eq!(log.end_offset(), model.end());
    }
    // A recovery point that could not be saved is the only failure that stays unseen.
    let fired = fs.fired();
    fs.fail_call(u64::MAX / 2, fault);
    model.check(&log);
    model.synced = log.sync().unwrap();
    let image = workload::tempdir();
    fs.crash_into(dir.path(), image.path(), Crash::LoseUnsynced).unwrap();
    model.check(&open(Arc::new(FaultFs::new()), image.path()).unwrap().0);
    drop(log);
    let (log, recovery) = open(Arc::new(FaultFs::new()), dir.path()).unwrap();
    assert!(recovery.damaged.is_empty(), "{recovery:?}");
    assert_eq!(log.end_offset(), model.end());
    model.check(&log);
    fired
}

fn run_all(fault: Fault) {
    let tried = (1..).take_while(|n| run(*n, fault)).count();
    assert!(tried > 100, "only {tried} calls failed");
}

#[test]
fn with_an_error() {
    run_all(Fault::Error);
}

#[test]
fn half_done() {
    run_all(Fault::Torn);
}

#[test]
fn for_want_of_space() {
    run_all(Fault::Full);
}
