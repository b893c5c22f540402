use crate::fixture::{self, Home, batch, row};
use sluice_testkit::{Fault, FaultFs};
use std::sync::Arc;

/// Each file-system call of a write fails once: the writer learns of it, what was acknowledged stays, what was refused is gone, and writing
/// goes on.
#[test]
fn a_failed_call_is_told_and_writing_goes_on() {
    for keyed in [true, false] {
        for fault in [Fault::Error, Fault::Torn, Fault::Full] {
            for n in 1..=6 {
                check(keyed, fault, n);
            }
        }
    }
}

fn check(keyed: bool, fault: Fault, n: u64) {
    let fs = FaultFs::new();
    let home = Home::with(Arc::new(fs.clone()), &[]);
    let table = home.create("t", &fixture::descriptor(keyed));
    table.put(&[row(1, "kept", 1)]);
    fs.fail_call(n, fault);
    let mut writer = table.writer();
    let written = writer.write(&batch(&[row(2, "maybe", 2)]), &[]).and_then(|()| writer.flush(fixture::WAIT));
    // Some calls are best effort (the recovery point); a fault there may pass unseen, and one beyond the last call never strikes.
    assert!(fs.fired() || written.is_ok(), "{fault:?} {n}");
    fs.fail_call(u64::MAX / 2, fault);
    if written.is_err() {
        writer.write(&batch(&[row(3, "again", 3)]), &[]).unwrap();
        writer.flush(fixture::WAIT).unwrap();
        assert_eq!(table.log().last().unwrap().2, row(3, "again", 3));
    } else {
        assert_eq!(table.log().last().unwrap().2, row(2, "maybe", 2));
    }
    let check = |table: &fixture::Table<'_>| {
        let ids: Vec<_> = table.log().iter().map(|r| r.2.0).collect();
        assert_eq!(
            ids,
            [1, if written.is_err() { 3 } else { 2 }],
            "what was refused does not come back: {fault:?} {n}"
        );
        if keyed {
            assert_eq!(table.current().into_keys().collect::<Vec<_>>(), ids, "{fault:?} {n}");
        }
    };
    check(&table);
    let home = home.reopen();
    check(&home.table("t"));
}
