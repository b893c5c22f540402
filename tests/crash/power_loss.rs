//! The process dies at each call of the file system, or the power goes at some moment of a random run; what was not synced is
//! lost, kept or torn sector by sector.

use crate::workload::{self, Model, Step, open, script, take};
use proptest::prelude::*;
use sluice_testkit::{Crash, Fault, FaultFs};
use std::path::Path;
use std::sync::Arc;

/// Runs the steps until the process dies at call `n` or the steps end.
fn run_until(fs: &FaultFs, dir: &Path, n: u64, steps: &[Step]) -> Model {
    let mut model = Model::default();
    fs.fail_call(n, Fault::Halt);
    let Ok((log, _)) = open(Arc::new(fs.clone()), dir) else { return model };
    for step in steps {
        if take(&log, &mut model, *step).is_err() {
            break;
        }
    }
    model
}

/// Opens what the crash left, compares, writes on, opens and compares again.
fn check_image(fs: &FaultFs, root: &Path, model: &Model, crash: Crash) {
    let image = workload::tempdir();
    fs.crash_into(root, image.path(), crash).unwrap();
    let (log, recovery) = open(Arc::new(FaultFs::new()), image.path()).unwrap();
    assert!(recovery.damaged.is_empty(), "a crash is no damage: {recovery:?}, {crash:?}");
    model.check(&log);
    let end = log.end_offset();
    assert_eq!(log.durable_offset(), end);
    assert_eq!(workload::bytes_on_disk(image.path()), log.size_bytes(), "a torn end is cut off");
    let mut model = Model { batches: model.batches.clone(), synced: end, expired_upto: model.expired_upto };
    model.cut_to(end.max(log.start_offset().min(end)));
    for step in [Step::Append(2, 50), Step::Append(1, 2_000), Step::Append(3, 900), Step::Sync, Step::Append(1, 1)] {
        take(&log, &mut model, step).unwrap();
    }
    model.check(&log);
    drop(log);
    let (log, recovery) = open(Arc::new(FaultFs::new()), image.path()).unwrap();
    assert_eq!((recovery.cut, recovery.damaged), (None, Vec::new()));
    model.check(&log);
    assert_eq!(log.end_offset(), model.end());
}

#[test]
fn at_every_call() {
    for n in 1.. {
        let root = workload::tempdir();
        let fs = FaultFs::new();
        let model = run_until(&fs, root.path(), n, &script());
        check_image(&fs, root.path(), &model, Crash::LoseUnsynced);
        check_image(&fs, root.path(), &model, Crash::KeepAll);
        (0..6).for_each(|seed| check_image(&fs, root.path(), &model, Crash::Torn(n * 100 + seed)));
        if !fs.fired() {
            assert!(n > 100, "only {n} calls");
            break;
        }
    }
}

/// What a restarted process found and served must survive the power loss that follows, though it was never synced before.
#[test]
fn after_a_process_died_and_came_back() {
    for n in 1.. {
        let root = workload::tempdir();
        let fs = FaultFs::new();
        let mut model = run_until(&fs, root.path(), n, &script());
        let fired = fs.fired();
        fs.restart();
        let (log, _) = open(Arc::new(fs.clone()), root.path()).unwrap();
        model.check(&log);
        model.synced = log.end_offset();
        drop(log);
        (0..3).for_each(|seed| check_image(&fs, root.path(), &model, Crash::Torn(n * 10 + seed)));
        check_image(&fs, root.path(), &model, Crash::LoseUnsynced);
        if !fired {
            break;
        }
    }
}

/// A second crash while the first is being recovered from.
#[test]
fn while_recovering() {
    for seed in 0..12 {
        let root = workload::tempdir();
        let fs = FaultFs::new();
        let mut model = run_until(&fs, root.path(), u64::MAX / 2, &script()[..22]);
        let first = workload::tempdir();
        fs.crash_into(root.path(), first.path(), Crash::Torn(seed)).unwrap();
        for n in 1.. {
            let second = workload::tempdir();
            copy(first.path(), second.path());
            let fs = FaultFs::new();
            fs.fail_call(n, Fault::Halt);
            let opened = open(Arc::new(fs.clone()), second.path());
            if let Ok((log, _)) = &opened {
                // All that an opened log holds counts as durable.
                model.synced = model.synced.max(log.end_offset());
            }
            check_image(&fs, second.path(), &model, Crash::Torn(seed * 1_000 + n));
            if !fs.fired() {
                break;
            }
        }
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..6_usize, 0..400_usize).prop_map(|(rows, text)| Step::Append(rows, text)),
        3 => Just(Step::Sync),
        1 => Just(Step::SavePoint),
        1 => (0..40_i64).prop_map(Step::Expire),
        1 => Just(Step::Read),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn at_any_moment(steps in prop::collection::vec(step(), 1..40), n in 1..400_u64, seed in any::<u64>()) {
        let root = workload::tempdir();
        let fs = FaultFs::new();
        let model = run_until(&fs, root.path(), n, &steps);
        (0..3).for_each(|i| check_image(&fs, root.path(), &model, Crash::Torn(seed.wrapping_add(i))));
    }
}
