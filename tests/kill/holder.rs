//! One process at a time: a second one is told which has the store; a killed one holds it no longer.

use crate::child::Mode;
use crate::parent::Other;
use crate::tables::open;
use crate::{Scratch, seed};
use sluice_api::Connection;
use sluice_base::{ErrorKind, Subject};

#[test]
fn a_second_process_is_told_the_holders_pid() {
    let home = Scratch::new();
    let mut other = Other::start(Mode::Hold, seed(), 0, home.path());
    other.wait_for("opened");
    for _ in 0..2 {
        let e = open(home.path(), &[]).unwrap_err();
        assert_eq!((e.kind(), e.subject()), (ErrorKind::Busy, Subject::Store), "{e}");
        let holder = format!("process {} ", other.id());
        assert!(e.message().contains(&holder) && e.message().contains(home.path().to_str().unwrap()), "{e}");
    }
    other.kill();
    let store = open(home.path(), &[]).unwrap();
    assert_eq!(store.list_databases().unwrap(), ["fluss"]);
}
