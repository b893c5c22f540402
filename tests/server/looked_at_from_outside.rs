use crate::fixture::{Running, create};
use std::time::{Duration, Instant};

#[test]
fn health_and_metrics() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path(), &[("http.listener", "127.0.0.1:0")]);
    let mut client = server.client();
    create(&mut client, "t", false);
    assert!(server.get("/health").starts_with("HTTP/1.1 200 OK\r\n"));
    for line in ["sluice_connections 1", "sluice_requests_total{api=\"CreateTable\"} 1", "sluice_requests_open 0"] {
        // A request is counted as ended a moment after its answer is on the way.
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let metrics = server.get("/metrics");
            if metrics.lines().any(|l| l == line) {
                break;
            }
            assert!(Instant::now() < deadline, "{metrics} lacks {line}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    assert!(server.get("/else").starts_with("HTTP/1.1 404"));
}
