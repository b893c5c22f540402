use crate::fixture::{self, Home, assert_error, batch, row};
use sluice_base::{ErrorKind, Subject};
use sluice_testkit::FaultFs;
use std::sync::Arc;

#[test]
fn writes_are_refused_reads_go_on_and_space_heals() {
    let fs = FaultFs::new();
    let home = Home::with(Arc::new(fs.clone()), &[]);
    for (name, keyed) in [("keyed", true), ("log", false)] {
        let table = home.create(name, &fixture::descriptor(keyed));
        table.put(&[row(1, "a", 1)]);
        let mut writer = table.writer();
        fs.set_full(true);
        for _ in 0..3 {
            let e =
                writer.write(&batch(&[row(2, "b", 2)]), &[]).and_then(|()| writer.flush(fixture::WAIT)).unwrap_err();
            assert_error(&e, ErrorKind::Busy, Subject::Disk, &["free some space"]);
        }
        assert_eq!(table.log().len(), 1);
        if keyed {
            assert_eq!(table.get(&[Some(1), Some(2)]), [Some(row(1, "a", 1)), None]);
        }
        fs.set_full(false);
        writer.write(&batch(&[row(3, "c", 3)]), &[]).unwrap();
        writer.flush(fixture::WAIT).unwrap();
        assert_eq!(table.log().iter().map(|r| r.2.0).collect::<Vec<_>>(), [1, 3]);
    }
    let home = home.reopen();
    assert_eq!(home.table("keyed").current().into_keys().collect::<Vec<_>>(), [1, 3]);
}
