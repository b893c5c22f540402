use crate::client::{Client, Refused};
use crate::fixture::{Running, create};
use sluice_wire::message::{
    DeleteProducerOffsetsRequest, DeleteProducerOffsetsResponse, GetProducerOffsetsRequest, GetProducerOffsetsResponse,
    ProducerBucketOffset, ProducerTableOffsets, RegisterProducerOffsetsRequest, RegisterProducerOffsetsResponse,
};
use sluice_wire::{ApiKey, ErrorCode};

fn register(client: &mut Client, id: &str, table_id: i64, ttl_ms: Option<i64>, ends: &[i64]) -> Result<i32, ErrorCode> {
    let bucket = |(bucket_id, end): (i32, &i64)| ProducerBucketOffset {
        partition_id: None,
        bucket_id,
        log_end_offset: Some(*end),
    };
    let of_table = ProducerTableOffsets { table_id, bucket_offsets: (0..).zip(ends).map(bucket).collect() };
    let request = RegisterProducerOffsetsRequest { producer_id: id.to_owned(), table_offsets: vec![of_table], ttl_ms };
    let answer = client.ask::<RegisterProducerOffsetsResponse>(ApiKey::RegisterProducerOffsets, &request);
    answer.map(|a| a.result.unwrap()).map_err(|Refused(code, _)| code)
}

fn kept(client: &mut Client, id: &str) -> Option<Vec<i64>> {
    let request = GetProducerOffsetsRequest { producer_id: id.to_owned() };
    let answer: GetProducerOffsetsResponse = client.ask(ApiKey::GetProducerOffsets, &request).unwrap();
    assert_eq!(answer.producer_id.is_some(), answer.expiration_time.is_some());
    answer.producer_id.as_ref()?;
    let buckets = answer.table_offsets.iter().flat_map(|t| &t.bucket_offsets);
    Some(buckets.map(|b| b.log_end_offset.unwrap()).collect())
}

/// The first who comes says where the producer began; that outlives the server, until its time is over or it is taken back.
#[test]
fn the_first_offsets_count_until_they_are_over() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let table = create(&mut client, "t", true);
    assert_eq!(kept(&mut client, "job"), None);
    assert_eq!(register(&mut client, "job", table, None, &[3, 0, 9]), Ok(0));
    assert_eq!(register(&mut client, "job", table, None, &[7, 7, 7]), Ok(1));
    assert_eq!(register(&mut client, "short", table, Some(1), &[1]), Ok(0));
    drop(server);
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    assert_eq!(kept(&mut client, "job"), Some(vec![3, 0, 9]));
    assert_eq!(kept(&mut client, "short"), None);
    assert_eq!(register(&mut client, "short", table, None, &[2]), Ok(0));
    for _ in 0..2 {
        let request = DeleteProducerOffsetsRequest { producer_id: "job".to_owned() };
        client.ask::<DeleteProducerOffsetsResponse>(ApiKey::DeleteProducerOffsets, &request).unwrap();
        assert_eq!(kept(&mut client, "job"), None);
    }
    assert_eq!(kept(&mut client, "short"), Some(vec![2]));
    assert!(register(&mut client, "../up", table, None, &[]).is_err());
}
