//! SASL/PLAIN: what a client says to be let in, and whether it is.

use crate::answer::{Failed, Reply};
use crate::users::Users;
use sluice_wire::ErrorCode;
use sluice_wire::message::AuthenticateRequest;

const PLAIN: &str = "PLAIN";

fn failed(message: impl Into<String>) -> Failed {
    Failed::new(ErrorCode::Authenticate, message)
}

/// Whether the client speaks the one mechanism that there is.
pub(crate) fn need_plain(protocol: &str) -> Reply<()> {
    if protocol.eq_ignore_ascii_case(PLAIN) {
        return Ok(());
    }
    let shown: String = protocol.chars().take(64).collect();
    Err(failed(format!("SASL server enables [{PLAIN}] while protocol of client is '{shown}'")))
}

/// The name of the user that a client proves to be.
pub(crate) fn user_of(users: &Users, request: &AuthenticateRequest) -> Reply<String> {
    need_plain(&request.protocol)?;
    let token = std::str::from_utf8(&request.token)
        .map_err(|_| failed("Invalid SASL/PLAIN response: it is not text in UTF-8"))?;
    let parts: Vec<&str> = token.splitn(4, '\0').collect();
    let [acts_as, user, password] = parts.as_slice() else {
        return Err(failed(format!("Invalid SASL/PLAIN response: expected 3 tokens, got {}", parts.len())));
    };
    if user.is_empty() {
        return Err(failed("Authentication failed: username not specified"));
    }
    if password.is_empty() {
        return Err(failed("Authentication failed: password not specified"));
    }
    if !users.know(user, password) {
        return Err(failed("Authentication failed: Invalid username or password"));
    }
    if !acts_as.is_empty() && acts_as != user {
        let message = "Authentication failed: Client requested an authorization id that is different from username";
        return Err(failed(message));
    }
    Ok((*user).to_owned())
}

/// A request that comes before its client is known.
pub(crate) fn too_early() -> Failed {
    failed(
        "The connection has not completed authentication yet. This may be caused by a missing or incorrect configuration of \
         'client.security.protocol' on the client side.",
    )
}
