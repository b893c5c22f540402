//! The JSON of `docs/jni.md`, which the doors share with a server's requests.

pub use sluice_api::call::{Bucket, LookupArguments, ScannerArguments, SplitArguments, WriterArguments, admin, parse};

#[cfg(test)]
mod tests;
