use crate::client::Client;
use crate::fixture::{Running, create, info, kv_batch, log_batch, produce, put};
use sluice_wire::message::{
    InitWriterRequest, InitWriterResponse, ListOffsetsRequest, ListOffsetsResponse, ProduceLogResponse, PutKvResponse,
};
use sluice_wire::{ApiKey, ErrorCode};

fn append(client: &mut Client, table: i64, id: i32, writer: (i64, i32)) -> Result<i64, ErrorCode> {
    let request = produce(table, log_batch(&[id], writer));
    let bucket = client.ask::<ProduceLogResponse>(ApiKey::ProduceLog, &request).unwrap().buckets_resp.remove(0);
    bucket.error_code.map_or(Ok(bucket.base_offset.unwrap_or(-7)), |code| Err(ErrorCode::from_number(code)))
}

fn upsert(client: &mut Client, table: i64, id: i32, writer: (i64, i32)) -> Result<i64, ErrorCode> {
    let request = put(table, kv_batch(&[id], &[], writer));
    let bucket = client.ask::<PutKvResponse>(ApiKey::PutKv, &request).unwrap().buckets_resp.remove(0);
    bucket.error_code.map_or(Ok(bucket.log_end_offset.unwrap_or(-7)), |code| Err(ErrorCode::from_number(code)))
}

fn end(client: &mut Client, table_id: i64) -> i64 {
    let request = ListOffsetsRequest {
        follower_server_id: -1,
        offset_type: 1,
        table_id,
        bucket_id: vec![0],
        ..ListOffsetsRequest::default()
    };
    let answer: ListOffsetsResponse = client.ask(ApiKey::ListOffsets, &request).unwrap();
    answer.buckets_resp[0].offset.unwrap()
}

#[test]
fn a_batch_that_is_sent_again_keeps_its_offset_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (writer, log, kv);
    {
        let server = Running::start(dir.path(), &[]);
        let mut client = server.client();
        (log, kv) = (create(&mut client, "log", false), create(&mut client, "kv", true));
        let answer: InitWriterResponse = client.ask(ApiKey::InitWriter, &InitWriterRequest::default()).unwrap();
        writer = answer.writer_id;
        assert_eq!(append(&mut client, log, 1, (writer, 1)), Err(ErrorCode::OutOfOrderSequence), "it begins with 0");
        for sequence in 0..8 {
            assert_eq!(append(&mut client, log, sequence, (writer, sequence)), Ok(i64::from(sequence)));
            assert_eq!(upsert(&mut client, kv, sequence, (writer, sequence)), Ok(i64::from(sequence) + 1));
        }
        assert_eq!(append(&mut client, log, 7, (writer, 7)), Ok(7));
        assert_eq!(upsert(&mut client, kv, 7, (writer, 7)), Ok(8));
        assert_eq!(append(&mut client, log, 9, (writer, 9)), Err(ErrorCode::OutOfOrderSequence));
        assert_eq!(append(&mut client, log, 2, (writer, 2)), Err(ErrorCode::OutOfOrderSequence), "too long ago");
    }
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    assert_eq!(info(&mut client, "log").table_id, log);
    assert_eq!(append(&mut client, log, 6, (writer, 6)), Ok(6));
    assert_eq!(upsert(&mut client, kv, 6, (writer, 6)), Ok(7));
    assert_eq!(append(&mut client, log, 8, (writer, 8)), Ok(8));
    assert_eq!(upsert(&mut client, kv, 8, (writer, 8)), Ok(9));
    assert_eq!((end(&mut client, log), end(&mut client, kv)), (9, 9));
    let answer: InitWriterResponse = client.ask(ApiKey::InitWriter, &InitWriterRequest::default()).unwrap();
    assert!(answer.writer_id > writer);
}
