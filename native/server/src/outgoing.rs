//! Answers out, in the order in which they are ready. A client that takes nothing is cut off.

use crate::answer::Answer;
use crate::caller::Caller;
use crate::limits::{CONNECTION_KIB_MAX, WRITE_STALL_MAX, kib};
use crate::node::Node;
use sluice_wire::ApiKey;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

/// Small answers that are ready together are sent together.
const SEND_TOGETHER_BYTES: usize = 64 << 10;

/// What a request or its answer holds until the answer is sent.
pub(crate) struct Held {
    open: Open,
    _slot: OwnedSemaphorePermit,
    _request: OwnedSemaphorePermit,
    /// Of an answer that may be long.
    pub(crate) answer: Option<OwnedSemaphorePermit>,
}

impl Held {
    /// A request that was read: its place among those that are not answered, and its memory.
    pub(crate) fn new(open: Open, slot: OwnedSemaphorePermit, request: OwnedSemaphorePermit) -> Self {
        Self { open, _slot: slot, _request: request, answer: None }
    }
}

/// Counts a request as long as it is not answered.
pub(crate) struct Open {
    node: Arc<Node>,
    caller: Arc<Caller>,
    key: Option<ApiKey>,
}

impl Open {
    pub(crate) fn new(node: &Arc<Node>, caller: &Arc<Caller>, key: Option<ApiKey>) -> Self {
        node.counters.request(key);
        node.counters.requests_open.add(1);
        caller.requests.add(1);
        Self { node: node.clone(), caller: caller.clone(), key }
    }

    /// Notes why the request was not done.
    fn tell(&self, message: &str) {
        let what = self.key.map_or_else(|| "an unknown request".to_owned(), |key| format!("{key:?}"));
        self.node.troubles.note(&what, &self.caller.address.to_string(), message);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.node.counters.requests_open.subtract(1);
    }
}

/// An answer on its way.
pub(crate) struct Outgoing {
    frame: Vec<u8>,
    _held: Held,
    /// Of the connection's own bound.
    _unread: Option<OwnedSemaphorePermit>,
}

/// Where answers go.
#[derive(Clone)]
pub(crate) struct Outbox {
    frames: mpsc::UnboundedSender<Outgoing>,
    unread: Arc<Semaphore>,
}

impl Outbox {
    /// The outbox of a connection, and what its writer takes answers from.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Outgoing>) {
        let (frames, ready) = mpsc::unbounded_channel();
        (Self { frames, unread: Arc::new(Semaphore::new(CONNECTION_KIB_MAX as usize)) }, ready)
    }

    /// Waits until the writer has ended: the client takes no more.
    pub(crate) async fn closed(&self) {
        self.frames.closed().await;
    }

    /// Queues an answer, once the client has read enough of those before.
    pub(crate) async fn send(&self, answer: Answer, held: Held) {
        let Answer { frame, failed } = answer;
        if let Some(message) = failed {
            held.open.tell(&message);
        }
        let size = kib(frame.len()).min(CONNECTION_KIB_MAX);
        let unread = self.unread.clone().acquire_many_owned(size).await.ok();
        // When the writer has ended the client is gone.
        let _ = self.frames.send(Outgoing { frame, _held: held, _unread: unread });
    }
}

/// Sends answers until there are no more or the client takes none.
pub(crate) async fn write(
    node: Arc<Node>,
    caller: Arc<Caller>,
    mut stream: OwnedWriteHalf,
    mut ready: mpsc::UnboundedReceiver<Outgoing>,
) {
    while let Some(mut first) = ready.recv().await {
        let mut sent = Vec::new();
        let mut frame = std::mem::take(&mut first.frame);
        sent.push(first);
        while frame.len() < SEND_TOGETHER_BYTES
            && let Ok(mut next) = ready.try_recv()
        {
            frame.append(&mut next.frame);
            sent.push(next);
        }
        if !send(&mut stream, &frame, WRITE_STALL_MAX).await {
            return;
        }
        node.counters.bytes_sent.add(frame.len() as u64);
        caller.bytes_sent.add(frame.len() as u64);
    }
    // The client may have hung up first.
    let _ = stream.shutdown().await;
}

async fn send(stream: &mut OwnedWriteHalf, mut bytes: &[u8], stall_max: Duration) -> bool {
    while !bytes.is_empty() {
        match timeout(stall_max, stream.write(bytes)).await {
            Ok(Ok(written @ 1..)) => bytes = bytes.get(written..).unwrap_or_default(),
            _ => return false,
        }
    }
    true
}
