//! What becomes of a key's row when a new one arrives. Pure.
//!
//! Engines that choose between whole rows decide per row ([`MergeEngine::decide`]). Engines that compute fold columns: each incoming row
//! is a [`Step`] on the state before it, and [`ColumnFold`] turns a column of old values and one of incoming values into one of merged
//! values.

mod bitmaps;
mod booleans;
mod choice;
mod fold;
mod function;
mod numbers;
mod rows;
mod texts;

pub use fold::{ColumnFold, Effect, Prior, Step};
pub use function::{AggregateFunction, FUNCTION_NAMES};
pub use rows::{DeleteBehavior, MergeEngine, Outcome};
