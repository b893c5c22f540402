//! For tests only: the oracle, generators, a clock set by hand and a file system that fails, tears and forgets.

mod clock;
mod fault_fs;
mod generator;
mod merging;
mod model;

pub use clock::ManualClock;
pub use fault_fs::{Crash, Fault, FaultFs};
pub use generator::{Gen, TypedBatch, typed_batches};
pub use merging::{Cell, Cells, Deletes, Engine, Function, MergeModel, MergeRequest, MergeRules};
pub use model::{KeyChange, KeyModel, LogModel, Logged};
