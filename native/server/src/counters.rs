//! What the server counts about itself.

use crate::exposition::Exposition;
use sluice_wire::ApiKey;
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

    pub(crate) fn get(&self) -> u64 {
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

    /// Requests that came, of all kinds.
    pub(crate) fn requests_sum(&self) -> u64 {
        self.requests.iter().map(|(_, count)| count.get()).sum::<u64>() + self.requests_unknown.get()
    }

    /// Tells all of them.
    pub(crate) fn tell(&self, out: &mut Exposition) {
        let open = "Requests that are not answered yet, waiting fetches too.";
        for (name, kind, help, count) in [
            ("sluice_connections", "gauge", "Connections that are open.", &self.connections_open),
            ("sluice_connections_total", "counter", "Connections that were accepted.", &self.connections),
            ("sluice_connections_refused_total", "counter", "Connections beyond the limit.", &self.connections_refused),
            ("sluice_logins_failed_total", "counter", "Clients that were not let in.", &self.logins_failed),
            ("sluice_received_bytes_total", "counter", "Bytes of requests.", &self.bytes_received),
            ("sluice_sent_bytes_total", "counter", "Bytes of answers.", &self.bytes_sent),
            ("sluice_requests_open", "gauge", open, &self.requests_open),
            ("sluice_requests_unknown_total", "counter", "Requests of an unknown kind.", &self.requests_unknown),
        ] {
            out.one(name, kind, help, count.get());
        }
        out.family("sluice_requests_total", "counter", "Requests by kind.");
        for (key, count) in self.requests.iter().filter(|(_, count)| count.get() > 0) {
            out.sample(&[("api", &format!("{key:?}"))], count.get());
        }
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
        let mut out = Exposition::default();
        counters.tell(&mut out);
        let text = out.finish();
        for line in
            ["sluice_requests_total{api=\"FetchLog\"} 2", "sluice_requests_unknown_total 1", "sluice_connections 0"]
        {
            assert!(text.lines().any(|l| l == line), "{text} lacks {line}");
        }
    }
}
