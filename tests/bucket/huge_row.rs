use crate::fixture::{self, assert_error, batch, home, row};
use sluice_base::{ErrorKind, Subject};

#[test]
fn a_row_up_to_the_limit_is_kept_and_a_larger_one_refused_alone() {
    let home = home();
    for (name, keyed) in [("log", false), ("keyed", true)] {
        let table = home.create(name, &fixture::descriptor(keyed));
        let fits = "x".repeat((10 << 20) - 100);
        let too_large = "y".repeat((10 << 20) + 1);
        let mut writer = table.writer();
        writer.write(&batch(&[row(1, "small", 1), row(2, &fits, 2)]), &[]).unwrap();
        let e = writer.write(&batch(&[row(3, "small", 3), row(4, &too_large, 4)]), &[]).unwrap_err();
        assert_error(&e, ErrorKind::Invalid, Subject::Row, &["row 1", "bytes", "limit is 10485760"]);
        writer.write(&batch(&[row(5, "after", 5)]), &[]).unwrap();
        writer.flush(fixture::WAIT).unwrap();
        let rows: Vec<_> = table.changes().into_iter().map(|(_, r)| r).collect();
        assert_eq!(rows.iter().map(|r| r.0).collect::<Vec<_>>(), [1, 2, 5]);
        assert_eq!(rows[1].1.as_ref().unwrap().len(), fits.len());
    }
}
