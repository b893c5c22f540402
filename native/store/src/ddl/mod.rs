//! The rules of CREATE and ALTER: columns, keys, partitions, options, and the defaults that the store fills in.
//!
//! Pure: descriptors in, descriptors or one clear sentence out. Nothing here touches the disk or the catalog.

mod alter;
pub(crate) mod auto_increment;
mod columns;
mod create;
mod keys;
pub(crate) mod merging;
pub(crate) mod options;
mod partition;
pub(crate) mod sequence_group;
pub(crate) mod statistics;

pub(crate) use alter::{Alteration, alter};
pub(crate) use create::{Limits, create};
pub(crate) use partition::{full_spec, partial_spec};
