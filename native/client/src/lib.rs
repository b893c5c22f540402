//! A store over the network: everything of [`sluice_api::Connection`] asked of servers of the protocol, our own and others.
//!
//! Owns connections, what is known of a cluster, batching, retries and idempotence. Bytes belong to the wire and log rooms; files it has none.
//!
//! Reading order: [`RemoteStore`], `cluster` (who is asked, and again), `channel` (one connection), `outbox` (rows on their way),
//! `scan`, `lookup`. What the protocol has no words for goes to our own server in requests of our own (`calls`, `scan::row_scan`); any other
//! server does not announce them, and what they carry is refused by name.

mod acls;
mod admin;
mod calls;
mod channel;
mod closing;
mod cluster;
mod lookup;
mod offsets;
mod outbox;
mod refusal;
mod room;
mod router;
mod runtime;
mod scan;
mod settings;
mod stats;
mod store;
mod table;
mod values;
mod writer;

pub use store::RemoteStore;
