//! What the server counts about itself, and its text for those who collect it.

use sluice_wire::ApiKey;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the server started.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections_open: Count,
    pub(crate) connections: Count,
    pub(crate) connections_refused: Count,
    pub(crate) logins_failed: Count,
    pub(crate) bytes_received: Count,
    pub(crate) bytes_sent: Count,
    pub(crate) requests_open: Count,
    requests: Vec<(ApiKey, Count)>,
    requests_unknown: Count,
}

/// One number; exact, but read without regard to the others.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn subtract(&self, n: u64) {
        self.0.fetch_sub(n, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self { requests: ApiKey::all().map(|key| (key, Count::default())).collect(), ..Self::default() }
    }

    pub(crate) fn request(&self, key: Option<ApiKey>) {
        let known = key.and_then(|key| self.requests.iter().find(|(k, _)| *k == key));
        known.map_or(&self.requests_unknown, |(_, count)| count).add(1);
    }

    /// All of them in Prometheus' text form.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        let mut put = |name: &str, kind: &str, help: &str, count: &Count| {
            let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {}\n", count.get());
        };
        put("sluice_connections", "gauge", "Connections that are open.", &self.connections_open);
        put("sluice_connections_total", "counter", "Connections that were accepted.", &self.connections);
        put("sluice_connections_refused_total", "counter", "Connections beyond the limit.", &self.connections_refused);
        put("sluice_logins_failed_total", "counter", "Clients that were not let in.", &self.logins_failed);
        put("sluice_received_bytes_total", "counter", "Bytes of requests.", &self.bytes_received);
        put("sluice_sent_bytes_total", "counter", "Bytes of answers.", &self.bytes_sent);
        put(
            "sluice_requests_open",
            "gauge",
            "Requests that are not answered yet, waiting fetches too.",
            &self.requests_open,
        );
        put("sluice_requests_unknown_total", "counter", "Requests of an unknown kind.", &self.requests_unknown);
        out.push_str("# HELP sluice_requests_total Requests by kind.\n# TYPE sluice_requests_total counter\n");
        for (key, count) in self.requests.iter().filter(|(_, count)| count.get() > 0) {
            let _ = writeln!(out, "sluice_requests_total{{api=\"{key:?}\"}} {}", count.get());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_kind() {
        let counters = Counters::new();
        counters.request(Some(ApiKey::FetchLog));
        counters.request(Some(ApiKey::FetchLog));
        counters.request(None);
        let text = counters.text();
        for line in
            ["sluice_requests_total{api=\"FetchLog\"} 2", "sluice_requests_unknown_total 1", "sluice_connections 0"]
        {
            assert!(text.lines().any(|l| l == line), "{text} lacks {line}");
        }
    }
}
