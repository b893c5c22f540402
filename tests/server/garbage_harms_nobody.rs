use crate::fixture::{Running, create, info, log_batch, produce};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluice_wire::message::{DatabaseExistsRequest, DatabaseExistsResponse, ProduceLogResponse};
use sluice_wire::{ApiKey, ErrorCode, RequestHeader, request};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Whether the server has closed the connection.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut sink = Vec::new();
    !matches!(stream.read_to_end(&mut sink), Err(e) if e.kind() == std::io::ErrorKind::WouldBlock)
}

#[test]
fn floods_cut_frames_and_oversize_frames_end_their_connection_only() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[("netty.server.max-request-size", "1mb")]);
    let mut good = server.client();
    create(&mut good, "t", false);
    let mut random = StdRng::seed_from_u64(1);
    for round in 0..30_i32 {
        let mut bad = TcpStream::connect(server.address).unwrap();
        let mut bytes = vec![0_u8; 2000];
        random.fill(&mut bytes[..]);
        if round % 3 == 0 {
            // Frames of a believable length with a known key and nonsense behind it.
            bytes[..4].copy_from_slice(&100_i32.to_be_bytes());
            bytes[4..6].copy_from_slice(&(1001 + round).to_be_bytes()[2..]);
        }
        let _ = bad.write_all(&bytes);
        let _ = bad.shutdown(std::net::Shutdown::Write);
        assert!(is_closed(&mut bad), "round {round}");
    }
    for length in [-1_i32, 0, 7, 2 << 20, i32::MAX] {
        let mut bad = TcpStream::connect(server.address).unwrap();
        bad.write_all(&length.to_be_bytes()).unwrap();
        let _ = bad.write_all(b"0123456789");
        assert!(is_closed(&mut bad), "length {length}");
    }
    info(&mut good, "t");
}

#[test]
fn a_body_that_is_no_message_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let header = RequestHeader { api_key: ApiKey::GetMetadata.number(), api_version: 0, request_id: 41 };
    let body = DatabaseExistsRequest { database_name: "\u{1}".repeat(3) };
    let mut frame = request(header, &body).unwrap();
    let last = frame.len() - 1;
    frame[last] = 0xff;
    frame[8 + 4] = 0x0b;
    client.stream.write_all(&frame).unwrap();
    let (id, answer) = client.receive::<DatabaseExistsResponse>().unwrap();
    assert_eq!((id, answer.unwrap_err().0), (41, ErrorCode::UnsupportedVersion));
}

#[test]
fn damaged_batches_are_refused_and_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[]);
    let mut client = server.client();
    let table = create(&mut client, "t", false);
    let good = log_batch(&[1, 2, 3], (-1, -1));
    for (at, code) in [(8, ErrorCode::CorruptRecord), (21, ErrorCode::CorruptRecord), (60, ErrorCode::CorruptRecord)] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let answer: ProduceLogResponse = client.ask(ApiKey::ProduceLog, &produce(table, bad)).unwrap();
        assert_eq!(answer.buckets_resp[0].error_code, Some(code.number()), "byte {at}");
    }
    let answer: ProduceLogResponse = client.ask(ApiKey::ProduceLog, &produce(table, good)).unwrap();
    assert_eq!((answer.buckets_resp[0].error_code, answer.buckets_resp[0].base_offset), (None, Some(0)));
}
