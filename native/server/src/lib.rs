//! The server: one process, one port, the whole protocol over one store.
//!
//! Owns sockets, the life of a connection, limits, and what each request asks of the store. Every request is answered, also one that is not
//! known; what a client sends is never believed. Files belong to the store, bytes to the wire room.
//!
//! Reading order: [`serve`] (a whole process), [`Server`] (listens, accepts, stops), `connection` (order; frames in `incoming`, answers in `outgoing`), `handshake` (who is let
//! in), `dispatch` (which request is what, and which rights it takes), then a file for each theme of requests.

mod acls;
mod answer;
mod authorizer;
mod caller;
mod calls;
mod clients;
mod cluster;
mod config;
mod connection;
mod counters;
mod databases;
mod dispatch;
mod endpoint;
mod exposition;
mod fetch;
mod gate;
mod handshake;
mod http;
mod incoming;
mod limits;
mod listeners;
mod logs;
mod metadata;
mod metrics;
mod node;
mod outgoing;
mod partitions;
mod process;
mod producers;
mod row_scans;
mod rows;
mod sasl;
mod scans;
mod secrets;
mod served;
mod server;
mod snapshots;
mod status;
mod stop;
mod tables;
mod troubles;
mod users;
mod writes;

pub use config::Config;
pub use process::serve;
pub use server::Server;
