//! A bit flips in any byte of any file: an error that names file and position, or intact data; never a panic, and the rest
//! stays readable.

use crate::workload::{self, Model, Step, batch, header, take};
use sluice_base::{Error, ErrorKind};
use sluice_log::{Log, LogSettings, Recovery};
use sluice_testkit::{FaultFs, ManualClock};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn open(dir: &Path) -> Result<(Log, Recovery), Error> {
    // An index entry for every batch also guards the timestamps, which the batch's own checksum does not cover.
    let settings = LogSettings { segment_bytes_max: 1_500, index_interval_bytes: 1, ..LogSettings::default() };
    Log::open(Arc::new(FaultFs::new()), Arc::new(ManualClock::new(1_000)), dir, settings)
}

fn written(dir: &Path) -> Model {
    let (log, _) = open(dir).unwrap();
    let mut model = Model::default();
    for (rows, text) in [(1, 30), (2, 200), (1, 100), (0, 0), (3, 60), (1, 400), (2, 10), (1, 20)] {
        take(&log, &mut model, Step::Append(rows, text)).unwrap();
    }
    log.save_recovery_point().unwrap();
    model.synced = model.end();
    model
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    found.sort();
    found
}

fn assert_names_a_place(e: &Error, path: &Path) {
    assert_eq!(e.kind(), ErrorKind::Corrupt, "{e}");
    let name = path.file_name().unwrap().to_string_lossy();
    assert!(e.message().contains(&*name) && e.message().contains("position"), "{e}");
}

/// Reads batch by batch; gives those that came back whole and the errors of the others.
fn read_each(log: &Log, model: &Model) -> (usize, Vec<Error>) {
    let mut errors = Vec::new();
    let mut whole = 0;
    for expected in &model.batches {
        match log.read(header(expected).base_offset, i64::MAX, 1) {
            Ok(read) => {
                assert_eq!(read[0].bytes.as_slice(), expected);
                whole += 1;
            }
            Err(e) => errors.push(e),
        }
    }
    (whole, errors)
}

/// For each bit of each file: a copy of the directory with that bit flipped.
fn for_each_flip(clean: bool, mut check: impl FnMut(&Model, &Path, &Path, usize)) {
    let original = workload::tempdir();
    let model = written(original.path());
    if !clean {
        std::fs::remove_file(original.path().join("recovery.point")).unwrap();
    }
    for path in files(original.path()) {
        let good = std::fs::read(&path).unwrap();
        for at in 0..good.len() {
            let dir = workload::tempdir();
            for other in files(original.path()) {
                std::fs::copy(&other, dir.path().join(other.file_name().unwrap())).unwrap();
            }
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            let target = dir.path().join(path.file_name().unwrap());
            std::fs::write(&target, bad).unwrap();
            check(&model, dir.path(), &target, at);
        }
    }
}

fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "log")
}

#[test]
fn in_a_log_that_was_closed() {
    let mut segments_lost = 0;
    for_each_flip(true, |model, dir, path, at| {
        let (log, recovery) = open(dir).unwrap();
        assert_eq!((recovery.cut, log.end_offset()), (None, model.end()));
        let (whole, errors) = read_each(&log, model);
        errors.iter().for_each(|e| assert_names_a_place(e, path));
        if !is_log(path) {
            assert_eq!(errors.len(), 0, "only hints were damaged: {}, byte {at}", path.display());
        } else if at < 64 {
            segments_lost += 1;
            assert!(whole >= 2, "only the segment with the damaged header may be lost");
        } else {
            assert_eq!(errors.len(), 1, "exactly the damaged batch is lost: {}, byte {at}", path.display());
        }
        // Writing goes on in any case.
        log.append(&mut batch(0, 1, 1)).unwrap();
        log.sync().unwrap();
    });
    assert!(segments_lost > 100);
}

#[test]
fn in_a_log_that_was_not_closed() {
    let mut cuts = 0;
    for_each_flip(false, |model, dir, path, at| {
        let (log, recovery) = open(dir).unwrap();
        if !is_log(path) {
            model.check(&log);
            return;
        }
        let told = recovery.cut.is_some() || !recovery.damaged.is_empty();
        let stamped = log.read(0, i64::MAX, 1 << 20).ok().and_then(|_| {
            let batches = model.batches.iter().map(|b| header(b).base_offset);
            batches
                .filter_map(|from| log.read(from, i64::MAX, 1).ok()?.first().cloned())
                .find(|b| b.header.timestamp_ms != 1_000)
        });
        if stamped.is_some() {
            // The protocol's checksum leaves the timestamp out, and what could tell is made from the segment itself here.
            return;
        }
        assert!(told, "{}, byte {at}", path.display());
        cuts += usize::from(recovery.cut.is_some());
        let (_, errors) = read_each(&log, &Model { batches: kept(model, &log), ..Model::default() });
        assert!(errors.len() <= 1 || at < 64, "{errors:?}");
        errors.iter().for_each(|e| assert_names_a_place(e, path));
    });
    assert!(cuts > 10, "flips in the last batch look like a torn end");
}

fn kept(model: &Model, log: &Log) -> Vec<Vec<u8>> {
    model.batches.iter().filter(|b| header(b).base_offset < log.end_offset()).cloned().collect()
}
