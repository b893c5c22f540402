//! Through which listener a client came in.

use crate::users::Users;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// A listener as connections see it.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) name: String,
    /// Where clients are told to connect.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Who may come in; `None` = everybody, without a name.
    pub(crate) users: Option<Users>,
    /// Places for connections whose user is not known yet.
    pub(crate) strangers: Semaphore,
}

impl Door {
    /// What the listener asks of clients.
    pub(crate) const fn protocol(&self) -> &'static str {
        if self.users.is_some() { "SASL" } else { "PLAINTEXT" }
    }
}

/// The other side of a connection, known from here on.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) door: Arc<Door>,
}
