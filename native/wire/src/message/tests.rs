use super::*;
use crate::Body;
use bytes::Bytes;
use proptest::prelude::*;

fn bytes(body: &impl Body) -> Vec<u8> {
    let mut out = Vec::new();
    body.append_to(&mut out);
    assert_eq!(out.len(), body.length());
    out
}

#[test]
fn required_fields_are_written_also_when_zero() {
    let request = ProduceLogRequest { acks: 0, table_id: 0, timeout_ms: 0, buckets_req: Vec::new() };
    assert_eq!(bytes(&request), [8, 0, 16, 0, 24, 0]);
    let request =
        PutKvRequest { acks: -1, table_id: 5, timeout_ms: 1, target_columns: vec![0, 300], ..Default::default() };
    assert_eq!(
        bytes(&request),
        [8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 16, 5, 24, 1, 34, 3, 0, 0xac, 2]
    );
}

#[test]
fn optional_fields_are_absent_when_unset() {
    // A client takes the mere presence of an error code for a failure.
    let answer = ProduceLogBucketResponse { bucket_id: 3, base_offset: Some(0), ..Default::default() };
    assert_eq!(bytes(&answer), [16, 3, 40, 0]);
    let versions = ApiVersionsResponse { api_versions: Vec::new(), server_type: None };
    assert!(bytes(&versions).is_empty());
    let miss = LookupBucketResponse { bucket_id: 0, values: vec![Value::default()], ..Default::default() };
    assert_eq!(bytes(&miss), [16, 0, 42, 0]);
}

#[test]
fn unknown_fields_are_passed_over() {
    let mut request = bytes(&DatabaseExistsRequest { database_name: "d".to_owned() });
    request.extend([0xf8, 0x07, 1]);
    assert_eq!(DatabaseExistsRequest::decode_from(Bytes::from(request)).unwrap().database_name, "d");
}

#[test]
fn packed_numbers_may_come_unpacked() {
    let request = [8, 1, 16, 1, 24, 1, 32, 5, 32, 6];
    assert_eq!(PutKvRequest::decode_from(Bytes::copy_from_slice(&request)).unwrap().target_columns, [5, 6]);
}

proptest! {
    #[test]
    fn any_bytes_are_a_message_or_an_error(raw in prop::collection::vec(any::<u8>(), 0..300)) {
        let raw = Bytes::from(raw);
        let _ = MetadataRequest::decode_from(raw.clone());
        let _ = CreateTableRequest::decode_from(raw.clone());
        let _ = AlterTableRequest::decode_from(raw.clone());
        let _ = ProduceLogRequest::decode_from(raw.clone());
        let _ = FetchLogRequest::decode_from(raw.clone());
        let _ = PutKvRequest::decode_from(raw.clone());
        let _ = LookupRequest::decode_from(raw.clone());
        let _ = ListOffsetsRequest::decode_from(raw.clone());
        let _ = RegisterProducerOffsetsRequest::decode_from(raw.clone());
        let _ = AcquireKvSnapshotLeaseRequest::decode_from(raw);
    }

    #[test]
    fn fetches_survive_the_way(table in any::<i64>(), fields in prop::collection::vec(any::<i32>(), 0..5), offset in any::<i64>()) {
        let bucket = FetchLogBucketRequest { partition_id: None, bucket_id: 1, fetch_offset: offset, max_fetch_bytes: 9 };
        let table = FetchLogTableRequest {
            table_id: table, projection_pushdown_enabled: true, projected_fields: fields, buckets_req: vec![bucket],
        };
        let request = FetchLogRequest {
            follower_server_id: -1, max_bytes: 7, tables_req: vec![table], max_wait_ms: Some(1), min_bytes: None,
        };
        prop_assert_eq!(FetchLogRequest::decode_from(Bytes::from(bytes(&request))).unwrap(), request);
    }
}
