//! A round in which one call of the file system fails, tears or is the process's last.

use crate::fixture::{bucket, create_on, offsets, open, open_on, round, scratch};
use sluice_testkit::{Crash, Fault, FaultFs};
use std::path::Path;
use std::sync::Arc;

/// What every reader lists must be a number behind its prefix, or begin with a dot.
fn names_are_harmless(root: &Path) {
    for (directory, prefix) in [("snapshot", "snapshot-"), ("schema", "schema-"), ("tag", "tag-")] {
        let Ok(entries) = std::fs::read_dir(root.join("db.db/t").join(directory)) else { continue };
        for entry in entries {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let known = name.strip_prefix(prefix).is_some_and(|n| prefix == "tag-" || n.parse::<u64>().is_ok());
            assert!(known || name.starts_with('.') || name == "LATEST" || name == "EARLIEST", "{directory}/{name}");
        }
    }
}

/// After whatever happened: the second round is there whole or not at all, and goes through when it is tried again.
fn comes_out_right(root: &Path, what: &str) {
    names_are_harmless(root);
    let table = open(root);
    let end = table.tiered().unwrap().offsets.end(&bucket(0));
    let there = if end == Some(20) { 20 } else { 10 };
    assert_eq!((end, offsets(&table)), (Some(there), (0..there).collect::<Vec<_>>()), "{what}");
    round(&table, "again", 0, Some(there), there..there + 3).unwrap();
    assert_eq!(offsets(&table), (0..there + 3).collect::<Vec<_>>(), "{what}");
}

fn try_all(fault: Fault, keyed: bool) {
    let mut struck = 0;
    for n in 1.. {
        let dir = scratch();
        let (root, images) = (dir.path().join("lake"), dir.path().join("images"));
        std::fs::create_dir(&root).unwrap();
        let fs = FaultFs::new();
        round(&create_on(Arc::new(fs.clone()), &root, keyed).unwrap(), "first", 0, None, 0..10).unwrap();
        fs.fail_call(n, fault);
        let table = open_on_faulty(&fs, &root);
        let outcome = table.and_then(|t| round(&t, "second", 0, Some(10), 10..20).map(|_| ()));
        if !fs.fired() {
            assert!(outcome.is_ok(), "{:?}", outcome.err());
            break;
        }
        struck += 1;
        let what = format!("{fault:?} in call {n}, keyed {keyed}: {outcome:?}");
        if outcome.is_ok() {
            assert_eq!(open(&root).tiered().unwrap().offsets.end(&bucket(0)), Some(20), "{what}");
        }
        for (i, crash) in [Crash::LoseUnsynced, Crash::KeepAll, Crash::Torn(n)].into_iter().enumerate() {
            let image = images.join(i.to_string());
            fs.crash_into(&root, &image, crash).unwrap();
            if outcome.is_ok() {
                assert_eq!(open(&image).tiered().unwrap().offsets.end(&bucket(0)), Some(20), "{what}, then {crash:?}");
            }
            comes_out_right(&image, &format!("{what}, then {crash:?}"));
        }
        fs.restart();
        comes_out_right(&root, &what);
    }
    assert!(struck > 20, "only {struck} calls");
}

fn open_on_faulty(fs: &FaultFs, root: &Path) -> sluice_base::Result<sluice_lake::LakeTable> {
    let storage = Arc::new(sluice_lake::LocalStorage::new(Arc::new(fs.clone()), root));
    let opened = sluice_lake::LakeTable::open(storage, crate::fixture::clock(), &crate::fixture::path())?;
    Ok(opened.expect("the table was created"))
}

#[test]
fn with_an_error() {
    try_all(Fault::Error, false);
}

#[test]
fn with_a_torn_write() {
    try_all(Fault::Torn, true);
}

#[test]
fn with_the_end_of_the_process() {
    try_all(Fault::Halt, false);
    try_all(Fault::Halt, true);
}

#[test]
fn a_full_disk_says_so_and_heals() {
    let dir = tempfile::tempdir().unwrap();
    let fs = FaultFs::new();
    create_on(Arc::new(fs.clone()), dir.path(), false).unwrap();
    let table = open_on(Arc::new(fs.clone()), dir.path());
    fs.set_full(true);
    let e = round(&table, "u", 0, None, 0..10).unwrap_err();
    assert_eq!((e.kind(), e.subject()), (sluice_base::ErrorKind::Busy, sluice_base::Subject::Disk), "{e}");
    fs.set_full(false);
    round(&table, "u", 0, None, 0..10).unwrap();
    assert_eq!(offsets(&table), (0..10).collect::<Vec<_>>());
}
