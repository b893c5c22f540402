use crate::fixture::{self, Home, batch, row};
use sluice_base::{ErrorKind, OsFs};
use std::collections::BTreeSet;
use std::sync::Arc;

const WRITERS: i32 = 16;
const BATCHES: i32 = 40;
const ROWS: i32 = 250;

/// Sixteen writers and room for a few of their batches (case C42): all wait, all go on, each row is there once and in its writer's order.
#[test]
fn all_rows_of_all_writers_arrive_in_order() {
    for keyed in [true, false] {
        let home = Home::with(Arc::new(OsFs), &[("write.in-flight-size-max", "1mb")]);
        let table = home.create("t", &fixture::buckets(fixture::descriptor(keyed), 3, &["id"]));
        std::thread::scope(|scope| {
            for number in 0..WRITERS {
                let mut writer = table.writer();
                scope.spawn(move || {
                    for round in 0..BATCHES {
                        let first = (number * BATCHES + round) * ROWS;
                        let rows: Vec<_> = (first..first + ROWS).map(|id| row(id, &"x".repeat(40), number)).collect();
                        // A busy machine may leave no room for longer than one call waits.
                        while let Err(e) = writer.write(&batch(&rows), &[]) {
                            assert_eq!(e.kind(), ErrorKind::Busy, "{e}");
                        }
                    }
                    writer.flush(fixture::WAIT).unwrap();
                });
            }
        });
        let log = table.log();
        assert_eq!(log.len(), usize::try_from(WRITERS * BATCHES * ROWS).unwrap());
        assert_eq!(log.iter().map(|r| r.2.0).collect::<BTreeSet<_>>().len(), log.len());
        for bucket in 0..3 {
            for number in 0..WRITERS {
                let ids = table.log_from(bucket, 0).into_iter().filter(|r| r.2.2 == Some(number)).map(|r| r.2.0);
                assert!(ids.is_sorted(), "writer {number} in bucket {bucket}");
            }
        }
        if keyed {
            assert_eq!(table.current().len(), log.len());
        }
    }
}
