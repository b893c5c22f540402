use crate::fixture::{Running, create, kv_batch, log_batch, produce, put};
use sluice_wire::ApiKey;
use sluice_wire::message::{ProduceLogResponse, PutKvResponse};

/// A client has several batches on their way at once; each finds its place in the order sent.
#[test]
fn pipelined_writes_of_one_connection_are_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let log = create(&mut client, "log", false);
    let kv = create(&mut client, "kv", true);
    let first = client.send(ApiKey::ProduceLog.number(), 0, &produce(log, log_batch(&[0], (5, 0))));
    for sequence in 1..40 {
        client.send(ApiKey::ProduceLog.number(), 0, &produce(log, log_batch(&[sequence], (5, sequence))));
    }
    for _ in 0..40 {
        let (id, answer) = client.receive::<ProduceLogResponse>().unwrap();
        let bucket = answer.unwrap().buckets_resp.remove(0);
        assert_eq!((bucket.error_message, bucket.base_offset), (None, Some(i64::from(id - first))));
    }
    let first = client.send(ApiKey::PutKv.number(), 1, &put(kv, kv_batch(&[0], &[], (6, 0))));
    for sequence in 1..40 {
        client.send(ApiKey::PutKv.number(), 1, &put(kv, kv_batch(&[sequence], &[], (6, sequence))));
    }
    for _ in 0..40 {
        let (id, answer) = client.receive::<PutKvResponse>().unwrap();
        let bucket = answer.unwrap().buckets_resp.remove(0);
        assert_eq!((bucket.error_message, bucket.log_end_offset), (None, Some(i64::from(id - first + 1))));
    }
}
