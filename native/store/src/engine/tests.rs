use super::*;
use crate::FlushPolicy;
use arrow_array::{Int32Array, RecordBatch};
use arrow_schema::{DataType as ArrowType, Field, Schema as ArrowSchema};
use sluice_api::TableInfo;
use sluice_base::{OsFs, SchemaId, SystemClock};
use sluice_row::{Column, DataType, Schema, TableDescriptor, TablePath, TypeRoot};
use std::collections::BTreeMap;
use std::time::Duration;

const WAIT: Duration = Duration::from_secs(20);

fn meta(id: i64) -> Arc<TableMeta> {
    let column = Column {
        name: "id".to_owned(),
        data_type: DataType::new(TypeRoot::Int).not_null(),
        comment: None,
        id: Some(0),
        agg_function: None,
    };
    let mut schema = Schema::new(vec![column], vec!["id".to_owned()]);
    schema.highest_field_id = 0;
    let descriptor = TableDescriptor {
        version: 1,
        schema: schema.clone(),
        comment: None,
        partition_key: Vec::new(),
        bucket_key: vec!["id".to_owned()],
        bucket_count: Some(2),
        properties: BTreeMap::from([("table.kv.format-version".to_owned(), "2".to_owned())]),
        custom_properties: BTreeMap::new(),
    };
    let path = TablePath::new("fluss", format!("t{id}"));
    let info = TableInfo { path, table_id: id, schema_id: 1, descriptor, created_ms: 0, modified_ms: 0 };
    Arc::new(TableMeta::new(info, BTreeMap::from([(SchemaId(1), schema)])).unwrap())
}

fn engine(dir: &Path, policy: FlushPolicy) -> Arc<Engine> {
    let settings = Settings { flush_policy: policy, ..Settings::from_options(&BTreeMap::new()).unwrap() };
    Engine::open(dir, Arc::new(OsFs), Arc::new(SystemClock), &settings, false).unwrap()
}

fn rows(ids: impl IntoIterator<Item = i32>) -> RecordBatch {
    let schema = ArrowSchema::new(vec![Field::new("id", ArrowType::Int32, false)]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int32Array::from_iter_values(ids))]).unwrap()
}

fn write(engine: &Engine, meta: &Arc<TableMeta>, ids: impl IntoIterator<Item = i32>) -> Result<()> {
    let mut writer = engine.writer(meta.clone(), &WriteOptions::default())?;
    writer.write(&rows(ids), &[])?;
    writer.flush(WAIT)
}

/// Ids of each bucket.
fn homes(engine: &Engine, meta: &Arc<TableMeta>) -> [i32; 2] {
    let ends = || {
        let buckets = [0, 1].map(|bucket| TableBucket { table: meta.id, partition: None, bucket });
        engine.list_offsets(&buckets, OffsetSpec::Latest).unwrap()
    };
    let mut homes = [-1, -1];
    for id in 0..100 {
        let before = ends();
        write(engine, meta, [id]).unwrap();
        let bucket = usize::from(ends()[0] == before[0]);
        homes[bucket] = id;
    }
    homes
}

#[test]
fn a_panic_stops_one_bucket_only_and_reopening_heals() {
    let dir = tempfile::tempdir().unwrap();
    let (meta, running) = (meta(1), engine(dir.path(), FlushPolicy::Disk));
    running.add_table(meta.clone()).unwrap();
    let homes = homes(&running, &meta);
    let table = running.table(meta.id).unwrap();
    let whole = table.whole().unwrap();
    let bucket = whole.bucket(0).unwrap();
    // A writer that panics while it has the bucket.
    let panicked = std::thread::scope(|s| {
        s.spawn(|| {
            let _side = bucket.lock_write().unwrap();
            panic!("on purpose");
        })
        .join()
    });
    assert!(panicked.is_err());
    for _ in 0..2 {
        let e = write(&running, &meta, [homes[0]]).unwrap_err();
        assert_eq!((e.kind(), e.subject()), (ErrorKind::Internal, Subject::Bucket), "{e}");
        assert!(e.message().contains("table 1 bucket 0") && e.message().contains("reopening"), "{e}");
    }
    write(&running, &meta, [homes[1]]).unwrap();
    // A commit that panics.
    whole.bucket(1).unwrap().poison(&"on purpose");
    let e = write(&running, &meta, [homes[1]]).unwrap_err();
    assert!(e.message().contains("bucket 1") && e.message().contains("on purpose"), "{e}");
    running.close(None).unwrap();
    let healed = engine(dir.path(), FlushPolicy::Disk);
    healed.add_table(meta.clone()).unwrap();
    assert_eq!(healed.table_stats(meta.id).unwrap().row_count, Some(100));
    write(&healed, &meta, homes).unwrap();
}

#[test]
fn under_the_os_policy_rows_lost_by_the_log_are_lost_by_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let meta = meta(1);
    let running = engine(dir.path(), FlushPolicy::Os);
    running.add_table(meta.clone()).unwrap();
    write(&running, &meta, 0..1000).unwrap();
    running.close(None).unwrap();
    // What a power cut can leave: rows reached their files, the log's end did not.
    for bucket in ["0", "1"] {
        std::fs::remove_dir_all(dir.path().join("data/1").join(bucket).join("log")).unwrap();
    }
    let after = engine(dir.path(), FlushPolicy::Os);
    after.add_table(meta.clone()).unwrap();
    assert_eq!(after.table_stats(meta.id).unwrap().row_count, Some(0));
    write(&after, &meta, 0..10).unwrap();
    assert_eq!(after.table_stats(meta.id).unwrap().row_count, Some(10));
}

#[test]
fn a_closed_engine_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let (meta, engine) = (meta(1), engine(dir.path(), FlushPolicy::Disk));
    engine.add_table(meta.clone()).unwrap();
    let mut writer = engine.writer(meta.clone(), &WriteOptions::default()).unwrap();
    writer.write(&rows(0..10), &[]).unwrap();
    engine.close(None).unwrap();
    engine.close(None).unwrap();
    assert_eq!(writer.write(&rows(0..10), &[]).unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(engine.table_stats(meta.id).unwrap_err().kind(), ErrorKind::Closed);
    // What was handed over before is there, although nobody waited for it.
    let again = self::engine(dir.path(), FlushPolicy::Disk);
    again.add_table(meta.clone()).unwrap();
    assert_eq!(again.table_stats(meta.id).unwrap().row_count, Some(10));
}
