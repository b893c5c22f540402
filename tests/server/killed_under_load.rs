//! `kill -9` of the server while writers write, over and over on one directory. Each writer sends a batch again until it is acknowledged, as clients
//! do; in the end every acknowledged row is there once, in order.

use crate::client::Client;
use crate::fixture::{Running, create, fetch, info, key, kv_batch, log_batch, produce, put};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_buffer::Buffer;
use bytes::Bytes;
use sluice_log::{BatchDecoder, BatchHeader};
use sluice_row::arrow_schema;
use sluice_wire::message::{
    FetchLogResponse, InitWriterRequest, InitWriterResponse, LookupBucketRequest, LookupRequest, LookupResponse,
    ProduceLogResponse, PutKvResponse,
};
use sluice_wire::{ApiKey, ErrorCode};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const WORK: &str = "SLUICE_SERVER_KILL_DIR";
const WRITERS: usize = 4;

/// The process that is killed; started by the test below, else it has nothing to do.
#[test]
fn the_server_that_is_killed() {
    let Ok(work) = std::env::var(WORK) else { return };
    let (port, dir) = work.split_once(' ').unwrap();
    let server = Running::start(Path::new(dir), &[("bind.listeners", &format!("FLUSS://127.0.0.1:{port}"))]);
    println!("~{}", server.address);
    std::io::stdout().flush().unwrap();
    std::thread::sleep(Duration::from_secs(600));
}

fn start(dir: &Path, port: u16) -> (Child, SocketAddr) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed_under_load::the_server_that_is_killed", "--nocapture"])
        .env(WORK, format!("{port} {}", dir.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines.map_while(Result::ok).find_map(|l| l.split_once('~').and_then(|(_, a)| a.parse().ok()));
    (child, address.expect("the server did not start"))
}

/// Connects as soon as somebody listens.
fn connect(address: SocketAddr, over: &AtomicBool) -> Option<Client> {
    while !over.load(Ordering::Relaxed) {
        if let Ok(client) = Client::try_connect(address) {
            return Some(client);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

/// Sends numbered batches of one row, the same again after each broken connection; how many were acknowledged.
fn write(address: SocketAddr, over: &AtomicBool, table: i64, keyed: bool, writer: (usize, i64)) -> i32 {
    let mut acknowledged = 0;
    let mut client = connect(address, over);
    while let Some(open) = &mut client {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let id = acknowledged * WRITERS as i32 + writer.0 as i32;
        let sequence = (writer.1, acknowledged);
        let code = if keyed {
            let request = put(table, kv_batch(&[id], &[], sequence));
            open.try_ask::<PutKvResponse>(ApiKey::PutKv, &request).map(|a| a.unwrap().buckets_resp[0].error_code)
        } else {
            let request = produce(table, log_batch(&[id], sequence));
            let asked = open.try_ask::<ProduceLogResponse>(ApiKey::ProduceLog, &request);
            asked.map(|a| a.unwrap().buckets_resp[0].error_code)
        };
        match code {
            Ok(None) => acknowledged += 1,
            Ok(Some(code)) => {
                let code = ErrorCode::from_number(code);
                assert!(code.is_retried(), "batch {sequence:?} was refused for good: {code:?}");
            }
            Err(_) => client = connect(address, over),
        }
    }
    acknowledged
}

/// All ids in a log, in order.
fn ids(client: &mut Client, table: i64) -> Vec<i32> {
    let decoder = BatchDecoder::new(arrow_schema(&crate::fixture::schema(false)), None);
    let (mut ids, mut next) = (Vec::new(), 0);
    loop {
        let answer: FetchLogResponse = client.ask(ApiKey::FetchLog, &fetch(table, next, 0, None)).unwrap();
        let records = answer.tables_resp[0].buckets_resp[0].records.clone().unwrap();
        if records.is_empty() {
            return ids;
        }
        let mut rest = Buffer::from(records);
        while !rest.is_empty() {
            let header = BatchHeader::parse(&rest).unwrap();
            let batch = rest.slice_with_length(0, header.total_bytes());
            ids.extend(decoder.decode(&batch).unwrap().0.column(0).as_primitive::<Int32Type>().values());
            rest = rest.slice(header.total_bytes());
            next = header.next_offset();
        }
    }
}

#[test]
fn no_acknowledged_row_is_lost_and_none_is_twice() {
    let rounds = if std::env::var("SLUICE_LONG").is_ok_and(|v| v == "1") { 200 } else { 6 };
    let dir = tempfile::tempdir().unwrap();
    let (mut child, address) = start(dir.path(), 0);
    let mut client = Client::connect(address);
    let (log, kv) = (create(&mut client, "log", false), create(&mut client, "kv", true));
    let mut new_writer =
        || client.ask::<InitWriterResponse>(ApiKey::InitWriter, &InitWriterRequest::default()).unwrap().writer_id;
    let writers: Vec<(usize, i64, i64)> = (0..WRITERS).map(|i| (i, new_writer(), new_writer())).collect();
    let over = AtomicBool::new(false);
    let (appended, put) = std::thread::scope(|scope| {
        let over = &over;
        let appends: Vec<_> =
            writers.iter().map(|w| scope.spawn(move || write(address, over, log, false, (w.0, w.1)))).collect();
        let puts: Vec<_> =
            writers.iter().map(|w| scope.spawn(move || write(address, over, kv, true, (w.0, w.2)))).collect();
        for round in 0..rounds {
            std::thread::sleep(Duration::from_millis(150 + 37 * (round % 7)));
            child.kill().unwrap();
            child.wait().unwrap();
            child = start(dir.path(), address.port()).0;
        }
        std::thread::sleep(Duration::from_millis(200));
        over.store(true, Ordering::Relaxed);
        let join = |all: Vec<std::thread::ScopedJoinHandle<'_, i32>>| -> Vec<i32> {
            all.into_iter().map(|t| t.join().unwrap()).collect()
        };
        (join(appends), join(puts))
    });
    let mut client = Client::connect(address);
    assert_eq!(info(&mut client, "log").table_id, log);
    let found = ids(&mut client, log);
    for (writer, acknowledged) in appended.iter().enumerate() {
        assert!(*acknowledged > 0, "writer {writer} wrote nothing");
        let of_writer = found.iter().filter(|id| **id as usize % WRITERS == writer).copied();
        let numbers: Vec<i32> = of_writer.map(|id| id / WRITERS as i32).collect();
        // One more may be there: its acknowledgement was lost with the last connection.
        assert!(numbers.len() as i32 - acknowledged <= 1, "{} of {acknowledged}", numbers.len());
        assert!(numbers.iter().copied().eq(0..numbers.len() as i32), "writer {writer}: {numbers:?}");
        assert!(numbers.len() as i32 >= *acknowledged, "writer {writer}: lost");
    }
    for (writer, acknowledged) in put.iter().enumerate() {
        let keys = (0..*acknowledged).map(|n| Bytes::from(key(n * WRITERS as i32 + writer as i32))).collect();
        let bucket = LookupBucketRequest { partition_id: None, bucket_id: 0, keys };
        let request = LookupRequest { table_id: kv, buckets_req: vec![bucket], ..LookupRequest::default() };
        let answer: LookupResponse = client.ask(ApiKey::Lookup, &request).unwrap();
        assert!(answer.buckets_resp[0].values.iter().all(|v| v.values.is_some()), "writer {writer}: lost");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}
