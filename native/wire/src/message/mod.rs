//! The messages, by theme. Field names and numbers are the protocol's (proto2); what a peer sends beyond them is passed over.

mod access;
mod cluster;
mod database;
mod handshake;
mod kv;
mod log;
mod metadata;
mod own;
mod partition;
mod path;
mod producer;
mod snapshot;
mod table;

pub use access::*;
pub use cluster::*;
pub use database::*;
pub use handshake::*;
pub use kv::*;
pub use log::*;
pub use metadata::*;
pub use own::*;
pub use partition::*;
pub use path::*;
pub use producer::*;
pub use snapshot::*;
pub use table::*;

#[cfg(test)]
mod tests;
