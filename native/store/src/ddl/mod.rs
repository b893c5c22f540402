//! The rules of CREATE and ALTER: names, columns, keys, options, and the defaults that the store fills in.
//!
//! Pure: descriptors in, descriptors or one clear sentence out. Nothing here touches the disk or the catalog.

mod alter;
mod columns;
mod create;
mod keys;
pub(crate) mod merging;
mod names;
pub(crate) mod options;

pub(crate) use alter::{Alteration, alter};
pub(crate) use create::{BucketLimits, create};
pub(crate) use names::{check_database, check_path};
