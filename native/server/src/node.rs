//! What all connections of a server share.

use crate::authorizer::Authorizer;
use crate::caller::Door;
use crate::clients::Clients;
use crate::counters::Counters;
use crate::limits::Limits;
use crate::scans::RowScans;
use crate::secrets::Given;
use crate::troubles::Troubles;
use sluice_store::LocalStore;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The one node that clients see, in both roles.
pub(crate) const NODE_ID: i32 = 0;

/// A running server as its requests see it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) store: Arc<LocalStore>,
    /// The settings that the server was started with.
    pub(crate) settings: Given,
    /// Who may do what; `None` = everybody everything.
    pub(crate) authorizer: Option<Authorizer>,
    pub(crate) limits: Limits,
    pub(crate) counters: Counters,
    pub(crate) clients: Clients,
    /// What went wrong lately.
    pub(crate) troubles: Troubles,
    /// Where clients come in.
    pub(crate) doors: Vec<Arc<Door>>,
    /// When the server started, ms since 1970.
    pub(crate) started_ms: i64,
    /// Scans of rows that clients have open.
    pub(crate) scans: RowScans,
    /// Kibibytes of requests and answers that may be in memory at once.
    pub(crate) memory: Arc<Semaphore>,
}
