//! Nothing but the dependency: see Cargo.toml.
pub use rocksdb;
