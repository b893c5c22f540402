use crate::fixture::{self, assert_error, home, row};
use sluice_api::{
    Connection,
    OffsetSpec::{Earliest, Latest, Timestamp},
};
use sluice_base::{ErrorKind, Subject};

#[test]
fn a_time_names_the_first_batch_at_or_after_it() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(false));
    for i in 0..3 {
        home.clock.set(2_000_000 + i64::from(i) * 1000);
        table.put(&[row(i, "x", 0), row(i, "y", 0)]);
    }
    home.clock.set(2_010_000);
    assert_eq!((table.offset(0, Earliest), table.offset(0, Latest)), (0, 6));
    for (ms, want) in
        [(0, 0), (2_000_000, 0), (2_000_001, 2), (2_001_000, 2), (2_002_000, 4), (2_002_001, 6), (2_010_000, 6)]
    {
        assert_eq!(table.offset(0, Timestamp(ms)), want, "{ms}");
    }
    let e = home.store.list_offsets(&[table.bucket(0)], Timestamp(2_010_001)).unwrap_err();
    assert_error(&e, ErrorKind::Invalid, Subject::Offset, &["2010001", "future"]);
    let times: Vec<_> = table
        .batches(0, None, sluice_api::ScanStart::Log { offset: 0 }, Some(6))
        .iter()
        .map(|b| b.timestamp_ms)
        .collect();
    assert_eq!(times, [2_000_000, 2_001_000, 2_002_000]);
}
