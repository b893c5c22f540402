//! What was written since an offset is taken back, in the columns of the writer that asks, once or twice (case C33); and where a job began
//! is kept until it has ended.

use crate::cells::{self, int, text, with_table};
use crate::fixture::{WAIT, assert_error, home};
use sluice_api::{Connection, TableChange, Writer};
use sluice_base::{ErrorKind, Offset, Subject};
use sluice_testkit::Cell::Null;
use sluice_testkit::{Cells, Deletes, Engine, Function, MergeRequest, MergeRules};

fn rules(deletes: Deletes) -> MergeRules {
    let engine = Engine::Aggregation(vec![Function::First, Function::Sum, Function::Sum, Function::Listagg]);
    MergeRules { engine, deletes, full_image: true }
}

fn upserts(rows: &[Cells]) -> MergeRequest {
    MergeRequest { targets: None, changes: rows.iter().map(|r| (true, r.clone())).collect() }
}

fn row(id: i32, a: i32) -> Cells {
    vec![int(id), int(a), int(-a), text("x")]
}

fn undo(writer: &mut dyn Writer, table: &crate::fixture::Table<'_>, from: Offset) {
    writer.undo(&table.bucket(0), from).unwrap();
    writer.flush(WAIT).unwrap();
}

#[test]
fn inserts_updates_and_deletes_are_taken_back_and_again_is_the_same() {
    for deletes in [Deletes::Allow, Deletes::Ignore] {
        with_table(&rules(deletes), |home, table| {
            cells::put(table, &upserts(&[row(1, 5), row(2, 6), row(3, 7)]));
            let (before, baseline) = (cells::current(table), table.end(0));
            let mut writer = cells::writer(table, None).unwrap();
            for i in 0..20 {
                cells::write(writer.as_mut(), &upserts(&[row(i % 7, i)])).unwrap();
                let delete = MergeRequest { targets: None, changes: vec![(false, row(i % 3, 0))] };
                cells::write(writer.as_mut(), &delete).unwrap();
            }
            // What is taken back need not be durable yet.
            undo(writer.as_mut(), table, baseline);
            assert_eq!(cells::current(table), before);
            undo(writer.as_mut(), table, baseline);
            assert_eq!(cells::current(table), before);
            let end = table.end(0);
            undo(writer.as_mut(), table, end);
            assert_eq!(table.end(0), end, "nothing was written since, so nothing is");
            cells::write(writer.as_mut(), &upserts(&[row(1, 1)])).unwrap();
            writer.flush(WAIT).unwrap();
            assert_eq!(cells::current(&home.killed().table("t"))[&int(1)][1], int(6), "the writer aggregates again");
        });
    }
}

#[test]
fn a_partial_writer_takes_its_own_columns_back() {
    with_table(&rules(Deletes::Ignore), |_, table| {
        cells::put(table, &upserts(&[row(1, 5)]));
        let baseline = table.end(0);
        let part = |id: i32, a: i32| MergeRequest {
            targets: Some(vec![0, 1]),
            changes: vec![(true, vec![int(id), int(a), Null, Null])],
        };
        let mut mine = cells::writer(table, Some(&[0, 1])).unwrap();
        cells::write(mine.as_mut(), &part(1, 100)).unwrap();
        cells::write(mine.as_mut(), &part(2, 100)).unwrap();
        cells::write(mine.as_mut(), &part(3, 100)).unwrap();
        let other = MergeRequest {
            targets: Some(vec![0, 2]),
            changes: vec![(true, vec![int(1), Null, int(1), Null]), (true, vec![int(2), Null, int(1), Null])],
        };
        cells::put(table, &other);
        undo(mine.as_mut(), table, baseline);
        let now: Vec<Cells> = cells::current(table).into_values().collect();
        let due = [vec![int(1), int(5), int(-4), text("x")], vec![int(2), Null, int(1), Null]];
        assert_eq!(now, due, "the other writer's values stay, a row of mine alone goes");
    });
}

#[test]
fn what_the_log_does_not_hold_or_say_cannot_be_taken_back() {
    with_table(&rules(Deletes::Ignore), |_, table| {
        let mut writer = cells::writer(table, None).unwrap();
        let error = writer.undo(&table.bucket(0), 5).unwrap_err();
        assert_error(&error, ErrorKind::Invalid, Subject::Offset, &["since offset 5", "offsets 0 to 0"]);
    });
    let wal = MergeRules { engine: Engine::LastRow, deletes: Deletes::Allow, full_image: false };
    with_table(&wal, |_, table| {
        let error = cells::writer(table, None).unwrap().undo(&table.bucket(0), 0).unwrap_err();
        assert_error(&error, ErrorKind::Unsupported, Subject::Table, &["does not say what rows were before"]);
    });
}

#[test]
fn where_a_job_began_is_kept_over_restarts_until_all_its_parts_ended() {
    with_table(&rules(Deletes::Ignore), |home, table| {
        cells::put(table, &upserts(&[row(1, 5)]));
        let begin = |home: &crate::fixture::Home, id: &str| -> Vec<Offset> {
            let offsets = home.store.producer_offsets(&crate::fixture::path("t"), id).unwrap();
            offsets.into_iter().map(|(_, offset)| offset).collect()
        };
        assert_eq!(begin(home, "job 1/ü"), [1]);
        cells::put(table, &upserts(&[row(1, 5)]));
        assert_eq!((begin(home, "job 1/ü"), begin(home, "other")), (vec![1], vec![3]));
        let again = home.killed();
        assert_eq!(begin(&again, "job 1/ü"), [1]);
        let end = |part| again.store.end_producer(&crate::fixture::path("t"), "job 1/ü", part, 2).unwrap();
        end(1);
        end(1);
        assert_eq!(begin(&again, "job 1/ü"), [1], "one part of two has ended, and began again");
        end(0);
        end(1);
        assert_eq!(begin(&again, "job 1/ü"), [3]);
        again.clock.advance(25 * 3600 * 1000);
        cells::put(&again.table("t"), &upserts(&[row(1, 5)]));
        assert_eq!(begin(&again, "other"), [5], "after a day it is forgotten");
        let error = again.store.producer_offsets(&crate::fixture::path("t"), &"x".repeat(101)).unwrap_err();
        assert_error(&error, ErrorKind::Invalid, Subject::Writer, &["1 to 100 bytes"]);
    });
}

#[test]
fn where_a_job_began_in_each_partition() {
    let mut descriptor = cells::descriptor(&rules(Deletes::Ignore));
    descriptor.schema.primary_key = vec!["id".to_owned(), "t".to_owned()];
    descriptor.schema.columns[3].agg_function = None;
    descriptor.partition_key = vec!["t".to_owned()];
    descriptor.bucket_count = Some(2);
    let home = home();
    let table = home.create("t", &descriptor);
    let put = |id: i32, partition: &str| {
        cells::put(&table, &upserts(&[vec![int(id), int(1), int(1), text(partition)]]));
    };
    put(1, "a");
    let begin = |home: &crate::fixture::Home| home.store.producer_offsets(&crate::fixture::path("t"), "job").unwrap();
    let first = begin(&home);
    assert_eq!(first.len(), 2);
    assert!(first.iter().all(|(b, _)| b.partition == first[0].0.partition && b.partition.is_some()), "{first:?}");
    assert_eq!(first.iter().map(|(_, offset)| offset).sum::<Offset>(), 1);
    put(2, "b");
    put(1, "a");
    assert_eq!(begin(&home), first, "a partition made since has no beginning");
    assert_eq!(begin(&home.killed()), first);
    let set = TableChange::Set { key: "bucket.num".to_owned(), value: "3".to_owned() };
    let error = home.store.alter_table(&crate::fixture::path("t"), &[set], false).unwrap_err();
    assert_error(&error, ErrorKind::Unsupported, Subject::Option, &["'bucket.num'", "'aggregation'"]);
}
