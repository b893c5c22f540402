use crate::fixture::{Running, create, fetch, log_batch, produce};
use sluice_log::BatchHeader;
use sluice_wire::message::{FetchLogResponse, ListTablesRequest, ListTablesResponse, ProduceLogResponse};
use sluice_wire::{ApiKey, ErrorCode};
use std::time::{Duration, Instant};

fn records(answer: &FetchLogResponse) -> &[u8] {
    answer.tables_resp[0].buckets_resp[0].records.as_deref().unwrap_or_default()
}

#[test]
fn a_waiting_fetch_is_answered_by_the_next_append_and_holds_nobody_up() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let (mut reader, mut writer) = (server.client(), server.client());
    let table = create(&mut writer, "t", false);
    let begun = Instant::now();
    let waiting = reader.send(ApiKey::FetchLog.number(), 0, &fetch(table, 0, 30_000, None));
    // Another request on the same connection overtakes it.
    let question =
        reader.send(ApiKey::ListTables.number(), 0, &ListTablesRequest { database_name: "fluss".to_owned() });
    assert_eq!(reader.receive::<ListTablesResponse>().unwrap().0, question);
    std::thread::sleep(Duration::from_millis(50));
    writer.ask::<ProduceLogResponse>(ApiKey::ProduceLog, &produce(table, log_batch(&[1, 2], (-1, -1)))).unwrap();
    let (id, answer) = reader.receive::<FetchLogResponse>().unwrap();
    assert_eq!(id, waiting);
    assert!(begun.elapsed() < Duration::from_secs(20), "it waited for its time to pass");
    let answer = answer.unwrap();
    assert_eq!(BatchHeader::parse(records(&answer)).unwrap().record_count, 2);
    assert_eq!(answer.tables_resp[0].buckets_resp[0].high_watermark, Some(2));
}

#[test]
fn offsets_are_as_clients_know_them() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let table = create(&mut client, "t", false);
    for ids in [&[1, 2, 3][..], &[4, 5]] {
        client.ask::<ProduceLogResponse>(ApiKey::ProduceLog, &produce(table, log_batch(ids, (-1, -1)))).unwrap();
    }
    let mut first_offset = |from| {
        let answer: FetchLogResponse = client.ask(ApiKey::FetchLog, &fetch(table, from, 1, None)).unwrap();
        let bucket = &answer.tables_resp[0].buckets_resp[0];
        match bucket.error_code {
            Some(code) => Err(ErrorCode::from_number(code)),
            None if records(&answer).is_empty() => Ok(None),
            None => Ok(Some(BatchHeader::parse(records(&answer)).unwrap().base_offset)),
        }
    };
    assert_eq!(first_offset(-2), Ok(Some(0)), "from the beginning");
    assert_eq!(first_offset(1), Ok(Some(0)), "within a batch");
    assert_eq!(first_offset(3), Ok(Some(3)));
    assert_eq!(first_offset(5), Ok(None), "the end");
    assert_eq!(first_offset(6), Err(ErrorCode::LogOffsetOutOfRange));
    assert_eq!(first_offset(-7), Err(ErrorCode::LogOffsetOutOfRange));
}

/// Clients leave out of a fetch what they still work on, and have one fetch under way: one that finds nothing must not hold up the next.
#[test]
fn a_fetch_beside_answers_that_the_client_works_on_does_not_wait_long() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let (one, other) = (create(&mut client, "one", false), create(&mut client, "other", false));
    client.ask::<ProduceLogResponse>(ApiKey::ProduceLog, &produce(other, log_batch(&[1, 2], (-1, -1)))).unwrap();
    let mut timed = |table, from| {
        let begun = Instant::now();
        let answer: FetchLogResponse = client.ask(ApiKey::FetchLog, &fetch(table, from, 3_000, None)).unwrap();
        (records(&answer).is_empty(), begun.elapsed() < Duration::from_millis(2_500))
    };
    assert_eq!(timed(other, 0), (false, true), "rows are there");
    assert_eq!(timed(one, 0), (true, true), "the client works on rows of the other");
    assert_eq!(timed(other, 2), (true, true), "or on an answer without rows");
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(timed(one, 0), (true, false), "it has not asked for the other any more");
    assert_eq!(timed(one, 0), (true, false));
}
