use crate::fixture::{self, home, row};
use sluice_api::ScanStart;
use std::time::{Duration, Instant};

#[test]
fn a_waiting_reader_gets_a_lone_row_at_once() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(true));
    let scanner = table.scanner(None);
    scanner.subscribe(table.split(0, ScanStart::Log { offset: 0 }, None)).unwrap();
    let mut writer = table.writer();
    for i in 0..20 {
        std::thread::scope(|s| {
            let reader = s.spawn(|| scanner.poll(Duration::from_secs(60)).unwrap().unwrap());
            writer.write(&fixture::batch(&[row(i, "x", i)]), &[]).unwrap();
            let batch = reader.join().unwrap();
            assert_eq!(fixture::rows_of(&batch.rows), [row(i, "x", i)]);
        });
    }
}

#[test]
fn wake_ends_the_running_or_the_next_poll() {
    let home = home();
    let table = home.create("t", &fixture::descriptor(false));
    let scanner = table.scanner(None);
    scanner.subscribe(table.split(0, ScanStart::Log { offset: 0 }, None)).unwrap();
    let started = Instant::now();
    std::thread::scope(|s| {
        let running = s.spawn(|| scanner.poll(Duration::from_secs(60)).unwrap());
        std::thread::sleep(Duration::from_millis(50));
        scanner.wake();
        assert!(running.join().unwrap().is_none());
    });
    scanner.wake();
    assert!(scanner.poll(Duration::from_secs(60)).unwrap().is_none());
    assert!(started.elapsed() < Duration::from_secs(30));
    assert!(scanner.poll(Duration::from_millis(1)).unwrap().is_none());
    // An unsubscribed split gives nothing more.
    scanner.unsubscribe(0);
    table.put(&[row(1, "a", 1)]);
    assert!(scanner.poll(Duration::from_millis(50)).unwrap().is_none());
}
