use crate::client::Client;
use crate::fixture::{Running, create, key, kv_batch, log_batch, produce, put, row};
use bytes::Bytes;
use sluice_base::SchemaId;
use sluice_log::BatchHeader;
use sluice_wire::message::{
    GetTableStatsRequest, GetTableStatsResponse, LimitScanRequest, LimitScanResponse, LookupBucketRequest,
    LookupRequest, LookupResponse, ProduceLogResponse, PutKvResponse, TableStatsBucketRequest,
};
use sluice_wire::{ApiKey, ErrorCode, KvBatchWriter};

fn written(client: &mut Client, table: i64, batch: Vec<u8>) -> Result<i64, ErrorCode> {
    let bucket = client.ask::<PutKvResponse>(ApiKey::PutKv, &put(table, batch)).unwrap().buckets_resp.remove(0);
    match bucket.error_code {
        Some(code) => Err(ErrorCode::from_number(code)),
        None => Ok(bucket.log_end_offset.unwrap()),
    }
}

fn look_up(client: &mut Client, table_id: i64, keys: Vec<Vec<u8>>) -> Vec<Option<Vec<u8>>> {
    let keys = keys.into_iter().map(Bytes::from).collect();
    let bucket = LookupBucketRequest { partition_id: None, bucket_id: 0, keys };
    let request = LookupRequest { table_id, buckets_req: vec![bucket], ..LookupRequest::default() };
    let answer: LookupResponse = client.ask(ApiKey::Lookup, &request).unwrap();
    answer.buckets_resp[0].values.iter().map(|v| v.values.as_ref().map(|b| b.to_vec())).collect()
}

fn value(id: i32) -> Vec<u8> {
    [&[1, 0][..], &row(id)].concat()
}

#[test]
fn what_is_acknowledged_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let table = create(&mut client, "t", true);
    assert_eq!(written(&mut client, table, kv_batch(&[1, 2, 3, 2], &[3, 9], (-1, -1))), Ok(6));
    assert_eq!(
        look_up(&mut client, table, vec![key(2), key(9), key(1), key(3), Vec::new()]),
        [Some(value(2)), None, Some(value(1)), None, None]
    );
    let stats = GetTableStatsRequest {
        table_id: table,
        buckets_req: vec![TableStatsBucketRequest { partition_id: None, bucket_id: 0 }],
        target_columns: Vec::new(),
    };
    let answer: GetTableStatsResponse = client.ask(ApiKey::GetTableStats, &stats).unwrap();
    assert_eq!(answer.buckets_resp[0].row_count, Some(2));
    let scan = LimitScanRequest { table_id: table, partition_id: None, bucket_id: 0, limit: 1 };
    let answer: LimitScanResponse = client.ask(ApiKey::LimitScan, &scan).unwrap();
    let records = answer.records.unwrap();
    assert_eq!((answer.is_log_table, &records[4..9]), (Some(false), &[0, 1, 0, 0, 0][..]));
    assert_eq!(records[13..], value(1));
}

#[test]
fn a_lookup_may_insert_what_it_does_not_find() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let table = create(&mut client, "t", true);
    assert_eq!(written(&mut client, table, kv_batch(&[1], &[], (-1, -1))), Ok(1));
    let mut insert = |keys: &[Vec<u8>]| {
        let keys = keys.iter().cloned().map(Bytes::from).collect();
        let bucket = LookupBucketRequest { partition_id: None, bucket_id: 0, keys };
        let request = LookupRequest {
            table_id: table,
            buckets_req: vec![bucket],
            insert_if_not_exists: Some(true),
            ..LookupRequest::default()
        };
        client.ask::<LookupResponse>(ApiKey::Lookup, &request).unwrap().buckets_resp.remove(0)
    };
    // Schema 1, bit 1: the name is NULL.
    let bare = |id: u8| Some(Bytes::from(vec![1, 0, 0b10, id]));
    let found = insert(&[key(2), key(1), key(2), Vec::new()]);
    let values: Vec<_> = found.values.into_iter().map(|v| v.values).collect();
    assert_eq!(values, [bare(2), Some(value(1).into()), bare(2), None]);
    for bad in [vec![1, 2, 3], [key(3), vec![0]].concat(), vec![0xff; 16]] {
        let refused = insert(&[key(3), bad.clone()]);
        assert!(refused.error_code.is_some_and(|code| code != 0), "{bad:?}: {refused:?}");
    }
    assert_eq!(look_up(&mut client, table, vec![key(2), key(3)]), [bare(2).map(Vec::from), None]);
}

#[test]
fn bad_rows_write_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let (table, log) = (create(&mut client, "t", true), create(&mut client, "log", false));
    let batch = |schema, records: &[(&[u8], Option<&[u8]>)]| {
        let mut batch = KvBatchWriter::new(SchemaId(schema), (-1, -1));
        records.iter().for_each(|(key, row)| batch.push(key, *row).unwrap());
        batch.finish()
    };
    let (k1, r1, r2) = (key(1), row(1), row(2));
    let mut damaged = batch(1, &[(&k1, Some(&r1))]);
    damaged[30] ^= 1;
    for (bad, code) in [
        (damaged, ErrorCode::CorruptRecord),
        (batch(7, &[(&k1, Some(&r1))]), ErrorCode::SchemaNotExist),
        (batch(1, &[(&k1, Some(&r2))]), ErrorCode::Unknown),
        (batch(1, &[(&k1, Some(&r1)), (&k1, Some(&r1[..3]))]), ErrorCode::Unknown),
        (batch(1, &[(&k1, Some(&r1)), (b"", None)]), ErrorCode::Unknown),
        (batch(1, &[(&k1, Some(&r1)), (b"", Some(&r1))]), ErrorCode::Unknown),
        (Vec::new(), ErrorCode::CorruptRecord),
    ] {
        assert_eq!(written(&mut client, table, bad), Err(code));
    }
    assert_eq!(written(&mut client, log, kv_batch(&[1], &[], (-1, -1))), Err(ErrorCode::NonPrimaryKeyTable));
    assert_eq!(look_up(&mut client, table, vec![k1]), [None]);
    assert_eq!(written(&mut client, table, kv_batch(&[1], &[], (-1, -1))), Ok(1));
    let answer: ProduceLogResponse =
        client.ask(ApiKey::ProduceLog, &produce(table, log_batch(&[1], (-1, -1)))).unwrap();
    assert_eq!(answer.buckets_resp[0].error_code, Some(ErrorCode::InvalidTable.number()));
    let answer: ProduceLogResponse = client.ask(ApiKey::ProduceLog, &produce(99, log_batch(&[1], (-1, -1)))).unwrap();
    assert_eq!(answer.buckets_resp[0].error_code, Some(ErrorCode::TableNotExist.number()));
    let request = sluice_wire::message::ProduceLogRequest { acks: 7, ..produce(log, log_batch(&[1], (-1, -1))) };
    let refused = client.ask::<ProduceLogResponse>(ApiKey::ProduceLog, &request).unwrap_err();
    assert_eq!(refused.0, ErrorCode::InvalidRequiredAcks);
}

#[test]
fn the_last_rows_of_a_log_come_in_whole_batches() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let table = create(&mut client, "log", false);
    for ids in [&[1, 2, 3][..], &[4, 5], &[6]] {
        client.ask::<ProduceLogResponse>(ApiKey::ProduceLog, &produce(table, log_batch(ids, (-1, -1)))).unwrap();
    }
    for (limit, first) in [(0, None), (1, Some(5)), (2, Some(3)), (99, Some(0))] {
        let scan = LimitScanRequest { table_id: table, partition_id: None, bucket_id: 0, limit };
        let answer: LimitScanResponse = client.ask(ApiKey::LimitScan, &scan).unwrap();
        assert_eq!(answer.is_log_table, Some(true));
        let records = answer.records.unwrap();
        let found = (!records.is_empty()).then(|| BatchHeader::parse(&records).unwrap().base_offset);
        assert_eq!(found, first, "limit {limit}");
    }
}
