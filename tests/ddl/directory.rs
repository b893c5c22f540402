//! Who may open which directory.

use crate::fixture::{assert_error, contents, home, no_properties, open, open_with, options, path, table};
use sluice_api::Connection;
use sluice_base::ErrorKind::{Busy, Closed, Conflict, Corrupt, Invalid, Io, Unsupported};
use sluice_base::{Error, Subject};
use sluice_store::LocalStore;
use sluice_testkit::{Fault, FaultFs};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

fn refusal(dir: &Path) -> Error {
    open(dir).map(|_| ()).unwrap_err()
}

const HOLD: &str = "SLUICE_TEST_HOLD_STORE";

/// Not a test of its own: the other process of the test below.
#[test]
fn the_other_process() {
    let Some(dir) = std::env::var_os(HOLD) else { return };
    let _store = open(Path::new(&dir)).unwrap();
    println!("\nholding");
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
fn a_second_process_is_told_who_has_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "directory::the_other_process", "--nocapture"])
        .env(HOLD, dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|l| l == "holding"), "the child did not open the store");
    let e = refusal(dir.path());
    let (pid, shown) = (format!("process {} on ", child.id()), dir.path().display().to_string());
    assert_error(&e, Busy, Subject::Store, &[&pid, &shown, " since 20", " UTC", "one process at a time"]);
    child.kill().unwrap();
    child.wait().unwrap();
    open(dir.path()).unwrap();
}

#[test]
fn a_second_opener_in_this_process_is_told_so() {
    let home = home();
    let pid = format!("process {} on ", std::process::id());
    assert_error(&refusal(home.dir.path()), Busy, Subject::Store, &[&pid, "(this very process)"]);
    home.store.close().unwrap();
    home.store.close().unwrap();
    open(home.dir.path()).unwrap();
}

#[test]
fn a_closed_handle_says_so() {
    let home = home();
    home.store.close().unwrap();
    assert_error(&home.store.list_databases().unwrap_err(), Closed, Subject::Store, &["was closed"]);
    assert_error(&home.store.create_table(&path("t"), &table(&[]), true).unwrap_err(), Closed, Subject::Store, &[]);
}

#[test]
fn reopening_finds_everything() {
    let home = home();
    home.store.create_database("d", &no_properties(), false).unwrap();
    for (name, key) in [("log", &[][..]), ("kv", &["name", "id"])] {
        home.create(name, &table(key)).unwrap();
    }
    let before = contents(&home.store);
    let home = home.reopen();
    assert_eq!(contents(&home.store), before);
}

#[test]
fn directories_that_are_no_store_stay_untouched() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("photo.jpg"), "x").unwrap();
    let shown = dir.path().display().to_string();
    assert_error(&refusal(dir.path()), Invalid, Subject::Store, &[&shown, "is not a Sluice store", "'photo.jpg'"]);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    let file = dir.path().join("photo.jpg");
    assert!(refusal(&file).message().contains("photo.jpg"));
    assert!(refusal(&file.join("below")).message().contains("photo.jpg"));
}

#[test]
fn a_cut_off_first_opening_is_taken_up() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("LOCK"), "process 1 on x since y").unwrap();
    std::fs::write(dir.path().join("STORE.tmp"), "SLUI").unwrap();
    assert_eq!(open(dir.path()).unwrap().list_databases().unwrap(), ["fluss"]);
    let deep = dir.path().join("not/yet/there");
    assert_eq!(open(&deep).unwrap().list_databases().unwrap(), ["fluss"]);
}

#[test]
fn newer_and_damaged_formats_are_refused_by_name() {
    for (file, text, kind, subject, part) in [
        ("STORE", "SLUICE-STORE 2\n", Unsupported, Subject::Store, "newer Sluice"),
        ("STORE", "SLUICE-STARE 1\n", Corrupt, Subject::File, "damaged"),
        ("STORE", "", Corrupt, Subject::File, "damaged"),
        ("catalog", "SLUICE-CATALOG 4 0 0\n", Unsupported, Subject::Store, "newer Sluice"),
        ("catalog", "{}", Corrupt, Subject::File, "damaged"),
    ] {
        let home = home();
        home.create("t", &table(&[])).unwrap();
        home.store.close().unwrap();
        let damaged = home.dir.path().join(file);
        std::fs::write(&damaged, text).unwrap();
        assert_error(&refusal(home.dir.path()), kind, subject, &[&damaged.display().to_string(), part]);
        assert!(home.dir.path().join("data/0").exists(), "no data is removed when the catalog cannot be read");
        assert_eq!(std::fs::read_to_string(&damaged).unwrap(), text);
    }
}

#[test]
fn a_lost_catalog_is_not_replaced_by_an_empty_one() {
    let home = home();
    home.create("t", &table(&[])).unwrap();
    home.store.close().unwrap();
    std::fs::remove_file(home.dir.path().join("catalog")).unwrap();
    assert_error(&refusal(home.dir.path()), Corrupt, Subject::File, &["catalog", "is missing"]);
    assert!(home.dir.path().join("data/0").exists());
}

#[test]
fn data_without_a_table_is_removed_and_nothing_else() {
    let home = home();
    home.create("t", &table(&[])).unwrap();
    let data = home.dir.path().join("data");
    std::fs::create_dir_all(data.join("17/0/log")).unwrap();
    std::fs::create_dir_all(data.join("notes")).unwrap();
    let home = home.reopen();
    let mut names: Vec<_> = std::fs::read_dir(&data).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["0", "notes"]);
    drop(home);
}

#[test]
fn a_directory_that_cannot_be_written_says_so() {
    // Nobody may create anything there, not even root.
    let e = refusal(Path::new("/sys/sluice"));
    assert!(
        e.message().starts_with(
            "cannot open the store in /sys/sluice, its directory must exist or be creatable, and be writable"
        ),
        "{e}"
    );
    let calls = {
        let (dir, fs) = (tempfile::tempdir().unwrap(), FaultFs::new());
        open_with(dir.path(), Arc::new(fs.clone()), &[]).unwrap();
        fs.calls()
    };
    for n in 1..=calls {
        let (dir, fs) = (tempfile::tempdir().unwrap(), FaultFs::new());
        fs.fail_call(n, Fault::Error);
        if let Err(e) = open_with(dir.path(), Arc::new(fs), &[]) {
            assert_error(&e, Io, Subject::File, &[&dir.path().display().to_string()]);
        }
        open(dir.path()).unwrap();
    }
}

#[test]
fn one_process_shares_one_store_however_the_directory_is_spelt() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().join("real");
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let first = LocalStore::open_shared(&real, &options(&[("type", "fluss"), ("log.flush.policy", "os")])).unwrap();
    let second = LocalStore::open_shared(&dir.path().join("./real/../link/."), &options(&[])).unwrap();
    first.create_table(&path("t"), &table(&[]), false).unwrap();
    assert_eq!(second.list_tables("fluss").unwrap(), ["t"]);
    assert_eq!(first.root(), second.root());

    let e = LocalStore::open_shared(&real, &options(&[("log.flush.policy", "disk")])).unwrap_err();
    assert_error(&e, Conflict, Subject::Option, &["'log.flush.policy'", "already open"]);
    let e = LocalStore::open_shared(&real, &options(&[("log.flush.polcy", "os")])).unwrap_err();
    assert_error(&e, Invalid, Subject::Option, &["did you mean 'log.flush.policy'?"]);

    first.close().unwrap();
    assert_eq!(second.list_tables("fluss").unwrap(), ["t"]);
    assert_error(&first.list_databases().unwrap_err(), Closed, Subject::Store, &[]);
    assert_error(&refusal(&real), Busy, Subject::Store, &["(this very process)"]);
    drop(second);
    open(&real).unwrap();
}

#[test]
fn racing_openers_share_or_follow_each_other() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..15 {
                    let store = LocalStore::open_shared(dir.path(), &options(&[])).unwrap();
                    assert_eq!(store.list_databases().unwrap(), ["fluss"]);
                }
            });
        }
    });
}
