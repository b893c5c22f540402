use crate::fixture::{Running, create, fetch, log_batch, produce, rows};
use arrow_buffer::Buffer;
use sluice_log::{BatchDecoder, BatchHeader};
use sluice_wire::message::{FetchLogResponse, ProduceLogResponse};
use sluice_wire::{ApiKey, ErrorCode};

#[test]
fn a_client_gets_the_columns_that_it_names() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let table = create(&mut client, "t", false);
    client.ask::<ProduceLogResponse>(ApiKey::ProduceLog, &produce(table, log_batch(&[7, 8], (-1, -1)))).unwrap();
    let whole = rows(&[7, 8], false);
    for wanted in [vec![0], vec![1], vec![0, 1]] {
        let fields = wanted.iter().map(|i| i32::try_from(*i).unwrap()).collect();
        let answer: FetchLogResponse = client.ask(ApiKey::FetchLog, &fetch(table, 0, 1, Some(fields))).unwrap();
        let records = answer.tables_resp[0].buckets_resp[0].records.clone().unwrap();
        assert_eq!(BatchHeader::parse(&records).unwrap().total_bytes(), records.len());
        let part = whole.project(&wanted).unwrap();
        let read = BatchDecoder::new(part.schema(), None).decode(&Buffer::from(records)).unwrap().0;
        assert_eq!(read, part);
    }
    for bad in [vec![], vec![1, 0], vec![0, 0], vec![2], vec![-1]] {
        let answer: FetchLogResponse = client.ask(ApiKey::FetchLog, &fetch(table, 0, 1, Some(bad))).unwrap();
        let code = answer.tables_resp[0].buckets_resp[0].error_code;
        assert_eq!(code, Some(ErrorCode::InvalidColumnProjection.number()));
    }
}
