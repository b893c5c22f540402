//! Letting a client in: at a listener that asks for a user, nothing else is done before it is known.

use crate::answer::{Reply, answer, read, run};
use crate::caller::{Caller, Door};
use crate::cluster;
use crate::incoming::Reader;
use crate::limits::{STRANGER_FRAME_BYTES_MAX, STRANGER_MAX};
use crate::node::Node;
use crate::outgoing::Outbox;
use crate::sasl::{too_early, user_of};
use crate::users::Users;
use sluice_wire::ApiKey;
use sluice_wire::message::{AuthenticateResponse, ErrorResponse};
use tokio::time::timeout;

/// Whether the caller is let in. One that is not has been told why, if it asked.
pub(crate) async fn let_in(node: &Node, reader: &mut Reader, caller: &Caller, outbox: &Outbox) -> bool {
    let Door { users: Some(users), strangers, .. } = caller.door.as_ref() else { return true };
    let Ok(_place) = strangers.try_acquire() else {
        node.counters.connections_refused.add(1);
        return false;
    };
    let known = timeout(STRANGER_MAX, is_known(caller, users, reader, outbox)).await.unwrap_or(false);
    if !known {
        node.counters.logins_failed.add(1);
    }
    known
}

/// Answers until the client says who it is; it has one attempt.
async fn is_known(caller: &Caller, users: &Users, reader: &mut Reader, outbox: &Outbox) -> bool {
    loop {
        let Some((header, body, held)) = reader.next(STRANGER_FRAME_BYTES_MAX).await else { return false };
        let id = header.request_id;
        match ApiKey::from_number(header.api_key) {
            Some(ApiKey::ApiVersions) => outbox.send(run(id, body, |r| cluster::versions(caller, &r)), held).await,
            Some(ApiKey::Authenticate) => {
                let user = read(body).and_then(|request| user_of(users, &request));
                let known = user.is_ok();
                let reply = user.map(|user| {
                    caller.set_user(user);
                    AuthenticateResponse { challenge: None }
                });
                outbox.send(answer(id, reply), held).await;
                return known;
            }
            _ => outbox.send(answer(id, Reply::<ErrorResponse>::Err(too_early())), held).await,
        }
    }
}
