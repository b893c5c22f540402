//! The two doors of the engine: JNI for Java (`docs/jni.md`), C for everybody else (`include/sluice.h`).
//!
//! Owns handles, exceptions, and the crossing of columns and rows. Both doors call the same objects: [`connection`], [`writer`],
//! [`scanner`], [`lookup`]. Knows neither Flink nor how a store does its work.

mod arrow_c;
mod block;
mod capi;
mod columns;
mod connection;
mod error;
mod handle;
mod json;
mod lookup;
mod memory;
mod panic;
mod scanner;
mod writer;

#[cfg(test)]
mod fake;

pub use capi::*;

/// Called by the JVM for each class loader that loads the library.
#[unsafe(no_mangle)]
pub extern "system" fn JNI_OnLoad(_vm: *mut jni::sys::JavaVM, _reserved: *mut std::ffi::c_void) -> jni::sys::jint {
    panic::install_hook();
    jni::sys::JNI_VERSION_1_8
}
