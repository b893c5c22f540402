use crate::fixture::{Running, WAIT, batch, connect, descriptor, path, row, rows_of};
use sluice_api::{Connection, ScanOptions, ScanSplit, ScanStart, WriteOptions};
use sluice_base::{TableBucket, TableId};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Passes bytes on to a server and, again and again, cuts the connection: sometimes before the server has got a request, sometimes before
/// the client has got its answer.
fn cutting(listener: TcpListener, server: SocketAddr) -> Arc<AtomicU64> {
    let cuts = Arc::new(AtomicU64::new(0));
    let counted = cuts.clone();
    std::thread::spawn(move || {
        for (client, turn) in listener.incoming().zip(0_u64..) {
            let (Ok(client), Ok(server)) = (client, TcpStream::connect(server)) else { return };
            // Each connection lives a little longer, so that the work is done in the end.
            let most = 600 + 900 * turn;
            for (from, to, most) in [(&client, &server, most), (&server, &client, most / 2)] {
                let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                let cuts = counted.clone();
                std::thread::spawn(move || pass(from, to, most, &cuts));
            }
        }
    });
    cuts
}

fn pass(mut from: TcpStream, mut to: TcpStream, most: u64, cuts: &AtomicU64) {
    let mut passed = 0;
    let mut bytes = [0; 512];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        passed += count as u64;
        if passed > most {
            cuts.fetch_add(1, Ordering::Relaxed);
            break;
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // Whoever has gone already does not mind.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn rows_are_there_once() {
    const ROWS: i32 = 300;
    let dir = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let between = listener.local_addr().unwrap();
    let server = Running::start(dir.path(), 0, Some(between));
    let cuts = cutting(listener, server.address);
    let store = connect(between, &[]);
    for (name, keyed) in [("log", false), ("kv", true)] {
        store.create_table(&path(name), &descriptor(keyed), true).unwrap();
        let mut writer = store.writer(&path(name), &WriteOptions::default()).unwrap();
        for id in 0..ROWS {
            writer.write(&batch(&[row(id, "a row of some length", id)]), &[]).unwrap();
            if id % 10 == 9 {
                writer.flush(WAIT * 3).unwrap();
            }
        }
        let table = TableId(store.table(&path(name)).unwrap().table_id);
        let scanner =
            store.scanner(&path(name), &ScanOptions { projection: None, batch_rows_max: 7, filter: None }).unwrap();
        let bucket = TableBucket { table, partition: None, bucket: 0 };
        let start = ScanStart::Log { offset: 0 };
        scanner.subscribe(ScanSplit { id: 0, bucket, start, stop: Some(i64::from(ROWS)) }).unwrap();
        let mut ids = Vec::new();
        loop {
            let batch = scanner.poll(WAIT * 3).unwrap().expect("rows come");
            ids.extend(rows_of(&batch.rows).into_iter().map(|r| r.0));
            if batch.finished {
                break;
            }
        }
        assert_eq!(ids, (0..ROWS).collect::<Vec<_>>(), "{name}");
        let end = store.list_offsets(&[bucket], sluice_api::OffsetSpec::Latest).unwrap();
        assert_eq!(end, [i64::from(ROWS)], "{name}: nothing stands behind them");
    }
    assert!(cuts.load(Ordering::Relaxed) > 10, "the connection was cut {cuts:?} times only");
}
