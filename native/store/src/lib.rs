//! A directory of databases, tables and buckets: the embedded engine behind [`sluice_api::Connection`].
//!
//! Owns the store's directory (one process at a time), its catalog, and the rules of CREATE and ALTER; joins log and KV to
//! buckets and gives them their write, read and recovery paths. Knows neither JNI nor sockets nor Flink.

mod access_rules;
mod auto_partition;
mod bucket;
mod catalog;
mod closing;
mod codec;
mod commit;
mod context;
mod copying;
mod counter;
mod ddl;
mod directory;
mod engine;
mod failure;
mod flow;
mod given;
mod hint;
mod lake;
mod lake_settings;
mod live_meta;
mod lookup;
mod names;
mod packed;
mod partitioner;
mod producers;
mod raw;
mod recover;
mod registered;
mod registry;
mod remote;
mod remote_settings;
mod retention;
mod route;
mod row_check;
mod row_numbers;
mod scan;
mod sealed;
mod settings;
mod signal;
mod snapshot;
mod snapshot_index;
mod status;
mod store;
mod table;
mod tables;
mod tiering;
mod undo;
mod values;
mod worker;
mod write;
mod writer_ids;

pub use catalog::{LakeOptions, LogOptions, TableMeta};
pub use ddl::options::LocalLog;
pub use lake_settings::{LakeSettings, TieringMode};
pub use raw::{RawBucket, SentRows};
pub use registered::RegisteredOffsets;
pub use remote_settings::RemoteSettings;
pub use settings::{FlushPolicy, Settings};
pub use signal::Bell;
pub use status::{BucketStatus, LogStatus, RowsStatus};
pub use store::LocalStore;

/// The text of `docs/settings.md`: every setting of a store and every option of a table, from the tables that parse them.
#[must_use]
pub fn settings_page() -> String {
    format!(
        "# Settings\n\nGenerated from the tables in `native/store/src/settings.rs` and `native/store/src/ddl/options.rs`; a test compares. \
         Write it anew with `SLUICE_BLESS=1 cargo test -p sluice-tests --test ddl`.\n\n{}\n{}",
        settings::page(),
        ddl::options::page()
    )
}
