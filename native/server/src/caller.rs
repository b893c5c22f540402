//! The other side of a connection: through which listener it came, who it is, what it has asked for.

use crate::counters::Count;
use crate::served::Served;
use crate::users::Users;
use sluice_base::{Clock, SystemClock};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use tokio::sync::Semaphore;

/// So much is kept of what a client says about itself.
const SOFTWARE_CHARS_MAX: usize = 64;

/// A listener as connections see it.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) name: String,
    /// Where clients are told to connect.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Who may come in; `None` = everybody, without a name.
    pub(crate) users: Option<Users>,
    /// Whether nobody who comes in here is asked for rights.
    pub(crate) exempt: bool,
    /// Places for connections whose user is not known yet.
    pub(crate) strangers: Semaphore,
}

impl Door {
    /// What the listener asks of clients.
    pub(crate) const fn protocol(&self) -> &'static str {
        if self.users.is_some() { "SASL" } else { "PLAINTEXT" }
    }
}

/// A client that is connected.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) door: Arc<Door>,
    pub(crate) address: SocketAddr,
    /// When it came, ms since 1970.
    pub(crate) since_ms: i64,
    pub(crate) requests: Count,
    pub(crate) bytes_received: Count,
    pub(crate) bytes_sent: Count,
    pub(crate) served: Served,
    user: OnceLock<String>,
    software: OnceLock<String>,
}

impl Caller {
    pub(crate) fn new(door: Arc<Door>, address: SocketAddr) -> Self {
        Self {
            door,
            address,
            since_ms: SystemClock.now_ms(),
            requests: Count::default(),
            bytes_received: Count::default(),
            bytes_sent: Count::default(),
            served: Served::default(),
            user: OnceLock::new(),
            software: OnceLock::new(),
        }
    }

    /// The user that it has proved to be; `None` before, and at a listener that asks for none.
    pub(crate) fn user(&self) -> Option<&str> {
        self.user.get().map(String::as_str)
    }

    /// It has proved to be this user.
    pub(crate) fn set_user(&self, user: String) {
        // A client proves it once.
        let _ = self.user.set(user);
    }

    /// What it says that it is.
    pub(crate) fn software(&self) -> Option<&str> {
        self.software.get().map(String::as_str)
    }

    /// It says what it is; the first word counts.
    pub(crate) fn set_software(&self, name: &str, version: &str) {
        let _ = self.software.get_or_init(|| format!("{name} {version}").chars().take(SOFTWARE_CHARS_MAX).collect());
    }
}
