use crate::client::{Client, Refused};
use crate::fixture::{Running, create, key, kv_batch, path, put, row};
use sluice_kv::open_snapshot;
use sluice_wire::message::{
    AcquireKvSnapshotLeaseRequest, AcquireKvSnapshotLeaseResponse, DropKvSnapshotLeaseRequest,
    DropKvSnapshotLeaseResponse, GetKvSnapshotMetadataRequest, GetKvSnapshotMetadataResponse,
    GetLatestKvSnapshotsRequest, GetLatestKvSnapshotsResponse, KvSnapshotLeaseForBucket, KvSnapshotLeaseForTable,
    ListOffsetsRequest, ListOffsetsResponse, PutKvResponse, ReleaseKvSnapshotLeaseRequest,
    ReleaseKvSnapshotLeaseResponse, TableBucket,
};
use sluice_wire::{ApiKey, ErrorCode};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

fn write(client: &mut Client, table: i64, batch: Vec<u8>) {
    let answer: PutKvResponse = client.ask(ApiKey::PutKv, &put(table, batch)).unwrap();
    assert_eq!(answer.buckets_resp[0].error_code, None);
}

/// The snapshot of the table's one bucket and the offset to go on from.
fn latest(client: &mut Client) -> Option<(i64, i64)> {
    let request = GetLatestKvSnapshotsRequest { table_path: path("t"), partition_name: None };
    let answer: GetLatestKvSnapshotsResponse = client.ask(ApiKey::GetLatestKvSnapshots, &request).unwrap();
    let [bucket] = &answer.latest_snapshots[..] else { panic!("{answer:?}") };
    bucket.snapshot_id.zip(bucket.log_offset)
}

fn files(
    client: &mut Client,
    table_id: i64,
    snapshot_id: i64,
) -> std::result::Result<GetKvSnapshotMetadataResponse, Refused> {
    let request = GetKvSnapshotMetadataRequest { table_id, snapshot_id, ..GetKvSnapshotMetadataRequest::default() };
    client.ask(ApiKey::GetKvSnapshotMetadata, &request)
}

/// What a client finds that copies the files of a snapshot to a directory of its own: encoded keys, each with its schema and row.
fn rows_of(client: &mut Client, table: i64, snapshot: i64) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let answer = files(client, table, snapshot).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for file in answer.snapshot_files {
        let from = Path::new(file.remote_path.strip_prefix("file://").unwrap());
        assert!(from.is_absolute(), "{from:?}");
        std::fs::copy(from, dir.path().join(file.local_file_name)).unwrap();
    }
    let mut rows = BTreeMap::new();
    let mut walk = open_snapshot(dir.path()).unwrap().scan(0).unwrap();
    while let Some((key, value)) = walk.next_row().unwrap() {
        rows.insert(key.to_vec(), value.to_vec());
    }
    rows
}

fn value(id: i32) -> Vec<u8> {
    [&[1, 0][..], &row(id)].concat()
}

fn hold(client: &mut Client, lease: &str, table_id: i64, snapshots: &[i64]) -> Vec<i64> {
    let of_bucket = |id: &i64| KvSnapshotLeaseForBucket { partition_id: None, bucket_id: 0, snapshot_id: *id };
    let bucket_snapshots = snapshots.iter().map(of_bucket).collect();
    let request = AcquireKvSnapshotLeaseRequest {
        lease_id: lease.to_owned(),
        lease_duration_ms: 3_600_000,
        snapshots_to_lease: vec![KvSnapshotLeaseForTable { table_id, bucket_snapshots }],
    };
    let answer: AcquireKvSnapshotLeaseResponse = client.ask(ApiKey::AcquireKvSnapshotLease, &request).unwrap();
    answer.unavailable_snapshots.iter().flat_map(|t| t.bucket_snapshots.iter().map(|b| b.snapshot_id)).collect()
}

fn wait_until_gone(client: &mut Client, table: i64, snapshot: i64) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while files(client, table, snapshot).is_ok() {
        assert!(Instant::now() < deadline, "snapshot {snapshot} stays");
        std::thread::sleep(Duration::from_millis(20));
    }
    let Refused(code, message) = files(client, table, snapshot).unwrap_err();
    assert_eq!(code, ErrorCode::KvSnapshotNotExist);
    assert!(message.contains(&format!("snapshot {snapshot} of bucket 0")), "{message}");
}

#[test]
fn its_files_hold_the_rows_up_to_its_offset_and_it_is_told_for_a_while() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let table = create(&mut client, "t", true);
    assert_eq!(latest(&mut client), None);
    write(&mut client, table, kv_batch(&[1, 2, 3], &[2], (-1, -1)));
    let (id, offset) = latest(&mut client).unwrap();
    assert_eq!(offset, 4);
    write(&mut client, table, kv_batch(&[4], &[], (-1, -1)));
    assert_eq!(latest(&mut client), Some((id, offset)));
    let expected = BTreeMap::from([(key(1), value(1)), (key(3), value(3))]);
    for _ in 0..2 {
        assert_eq!(rows_of(&mut client, table, id), expected);
    }
    assert_eq!(files(&mut client, table, id).unwrap().log_offset, offset);
    drop(server);
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    assert_eq!(latest(&mut client), Some((id, offset)));
    assert_eq!(rows_of(&mut client, table, id), expected);
    for wrong in [id + 7, -1] {
        assert_eq!(files(&mut client, table, wrong).unwrap_err().0, ErrorCode::KvSnapshotNotExist);
    }
    assert_eq!(files(&mut client, table + 99, id).unwrap_err().0, ErrorCode::KvSnapshotNotExist);
}

#[test]
fn a_lease_keeps_it_and_nothing_else_does_for_long() {
    let dir = tempfile::tempdir().unwrap();
    let settings =
        [("kv.snapshot.interval", "200ms"), ("kv.snapshot.num-retained", "1"), ("snapshot.check-interval", "20ms")];
    let server = Running::start(dir.path(), &settings);
    let mut client = server.client();
    let table = create(&mut client, "t", true);
    write(&mut client, table, kv_batch(&[1], &[], (-1, -1)));
    let (held, _) = latest(&mut client).unwrap();
    assert_eq!(hold(&mut client, "job", table, &[held, held + 50]), [held + 50]);
    assert_eq!(hold(&mut client, "job", table + 9, &[held]), [held]);
    let mut told = vec![held];
    for id in 2..5 {
        write(&mut client, table, kv_batch(&[id], &[], (-1, -1)));
        let deadline = Instant::now() + Duration::from_secs(30);
        let newer = loop {
            let (newer, offset) = latest(&mut client).unwrap();
            if newer > *told.last().unwrap() {
                assert_eq!(offset, i64::from(id));
                break newer;
            }
            assert!(Instant::now() < deadline, "no newer snapshot is told");
            std::thread::sleep(Duration::from_millis(20));
        };
        told.push(newer);
    }
    wait_until_gone(&mut client, table, told[1]);
    wait_until_gone(&mut client, table, told[2]);
    assert_eq!(rows_of(&mut client, table, held), BTreeMap::from([(key(1), value(1))]));
    let bucket = TableBucket { table_id: table, partition_id: None, bucket_id: 0 };
    assert_eq!(hold(&mut client, "other", table, &[held]), [0; 0]);
    let release = ReleaseKvSnapshotLeaseRequest { lease_id: "job".to_owned(), buckets_to_release: vec![bucket] };
    client.ask::<ReleaseKvSnapshotLeaseResponse>(ApiKey::ReleaseKvSnapshotLease, &release).unwrap();
    assert_eq!(rows_of(&mut client, table, held).len(), 1);
    let drop_it = DropKvSnapshotLeaseRequest { lease_id: "other".to_owned() };
    client.ask::<DropKvSnapshotLeaseResponse>(ApiKey::DropKvSnapshotLease, &drop_it).unwrap();
    wait_until_gone(&mut client, table, held);
}

#[test]
fn a_log_table_has_none() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let table_id = create(&mut client, "log", false);
    let bucket = KvSnapshotLeaseForBucket { partition_id: None, bucket_id: 0, snapshot_id: 0 };
    let request = AcquireKvSnapshotLeaseRequest {
        lease_id: "job".to_owned(),
        lease_duration_ms: 1000,
        snapshots_to_lease: vec![KvSnapshotLeaseForTable { table_id, bucket_snapshots: vec![bucket] }],
    };
    let Refused(code, message) =
        client.ask::<AcquireKvSnapshotLeaseResponse>(ApiKey::AcquireKvSnapshotLease, &request).unwrap_err();
    assert!(code == ErrorCode::NonPrimaryKeyTable && message.contains("fluss.log"), "{message}");
    let bucket = TableBucket { table_id, partition_id: None, bucket_id: 0 };
    let release = ReleaseKvSnapshotLeaseRequest { lease_id: "job".to_owned(), buckets_to_release: vec![bucket] };
    let Refused(code, _) =
        client.ask::<ReleaseKvSnapshotLeaseResponse>(ApiKey::ReleaseKvSnapshotLease, &release).unwrap_err();
    assert_eq!(code, ErrorCode::NonPrimaryKeyTable);
}

/// The changelog may have lost its beginning, but never what a reader of a snapshot goes on with.
#[test]
fn the_log_behind_it_stays() {
    let dir = tempfile::tempdir().unwrap();
    let settings = [
        ("log.segment.file-size", "1kb"),
        ("log.index.interval-size", "64b"),
        ("log.retention.check-interval", "20ms"),
    ];
    let server = Running::start(dir.path(), &settings);
    let mut client = server.client();
    let table = create(&mut client, "t", true);
    let ttl = sluice_wire::message::AlterTableRequest {
        table_path: path("t"),
        config_changes: vec![sluice_wire::message::AlterConfig {
            config_key: "table.log.ttl".to_owned(),
            config_value: Some("1ms".to_owned()),
            op_type: 0,
        }],
        ..Default::default()
    };
    client.ask::<sluice_wire::message::AlterTableResponse>(ApiKey::AlterTable, &ttl).unwrap();
    let first_offset = || {
        let request = ListOffsetsRequest { table_id: table, bucket_id: vec![0], ..ListOffsetsRequest::default() };
        let answer: ListOffsetsResponse = server.client().ask(ApiKey::ListOffsets, &request).unwrap();
        answer.buckets_resp[0].offset.unwrap()
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut id = 0;
    while first_offset() == 0 {
        assert!(Instant::now() < deadline, "the log keeps its beginning");
        id += 1;
        write(&mut client, table, kv_batch(&[id], &[], (-1, -1)));
    }
    let (snapshot, offset) = latest(&mut client).unwrap();
    let there = rows_of(&mut client, table, snapshot).len();
    for more in 1..200 {
        write(&mut client, table, kv_batch(&[id + more], &[], (-1, -1)));
    }
    std::thread::sleep(Duration::from_millis(300));
    assert!(first_offset() <= offset, "{} > {offset}", first_offset());
    assert_eq!(i64::try_from(there).unwrap(), offset);
}
