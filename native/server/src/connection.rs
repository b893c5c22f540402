//! One connection: frames in, answers out.
//!
//! Three parts: the reader takes frames as long as few enough are unanswered; the lane begins ordered requests one after the other; the writer
//! sends answers in the order in which they are ready. What is read or ready counts against the server's memory until it is sent, and a client
//! that takes nothing is cut off.

use crate::dispatch::{Request, answer, begin};
use crate::fetch::fetch;
use crate::limits::{CONNECTION_KIB_MAX, FRAME_STALL_MAX, QUESTIONS_MAX, REQUESTS_IN_FLIGHT_MAX, WRITE_STALL_MAX, kib};
use crate::node::Node;
use crate::stop::Stop;
use bytes::{Bytes, BytesMut};
use sluice_wire::{ApiKey, FRAME_PREFIX_BYTES, RequestHeader, frame_length};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Read at least so much of a frame at once.
const READ_BYTES: usize = 64 << 10;
/// Small answers that are ready together are sent together.
const SEND_TOGETHER_BYTES: usize = 64 << 10;

/// What a request or its answer holds until the answer is sent.
struct Held {
    _open: Open,
    _slot: OwnedSemaphorePermit,
    _request: OwnedSemaphorePermit,
    /// Of an answer that may be long.
    answer: Option<OwnedSemaphorePermit>,
}

/// Counts a request as long as it is not answered.
struct Open(Arc<Node>);

impl Open {
    fn new(node: &Arc<Node>) -> Self {
        node.counters.requests_open.add(1);
        Self(node.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.counters.requests_open.subtract(1);
    }
}

struct Outgoing {
    frame: Vec<u8>,
    _held: Held,
    /// Of the connection's own bound.
    _unread: Option<OwnedSemaphorePermit>,
}

/// Where answers go.
#[derive(Clone)]
struct Outbox {
    frames: mpsc::UnboundedSender<Outgoing>,
    unread: Arc<Semaphore>,
}

impl Outbox {
    /// Queues an answer, once the client has read enough of those before.
    async fn send(&self, frame: Vec<u8>, held: Held) {
        let size = kib(frame.len()).min(CONNECTION_KIB_MAX);
        let unread = self.unread.clone().acquire_many_owned(size).await.ok();
        // When the writer has ended the client is gone.
        let _ = self.frames.send(Outgoing { frame, _held: held, _unread: unread });
    }
}

/// Serves a connection to its end.
pub(crate) async fn serve(node: Arc<Node>, stream: TcpStream, stop: Stop) {
    // Without it small answers would wait for the client's next packet; a stream that refuses is served all the same.
    let _ = stream.set_nodelay(true);
    let (read_half, write_half) = stream.into_split();
    let (frames, ready) = mpsc::unbounded_channel();
    let outbox = Outbox { frames, unread: Arc::new(Semaphore::new(CONNECTION_KIB_MAX as usize)) };
    let writer = tokio::spawn(write(node.clone(), write_half, ready));
    let (ordered, queue) = mpsc::unbounded_channel();
    let lane = tokio::spawn(lane(node.clone(), queue, outbox.clone()));
    let mut reader = Reader {
        stream: read_half,
        slots: Arc::new(Semaphore::new(REQUESTS_IN_FLIGHT_MAX)),
        node: node.clone(),
        stop: stop.clone(),
    };
    let questions = Arc::new(Semaphore::new(QUESTIONS_MAX));
    let mut others = JoinSet::new();
    loop {
        let next = tokio::select! {
            next = reader.next() => next,
            () = outbox.frames.closed() => None,
        };
        let Some((request, held)) = next else { break };
        node.counters.request(request.key);
        while others.try_join_next().is_some() {}
        if request.is_ordered() {
            // The lane ends after this loop only.
            let _ = ordered.send((request, held));
        } else {
            others.spawn(other(node.clone(), request, held, outbox.clone(), questions.clone(), stop.clone()));
        }
    }
    drop(ordered);
    if stop.is_set() {
        while others.join_next().await.is_some() {}
    } else {
        // The client is gone: nobody waits for these. Writes that it sent are done all the same.
        others.abort_all();
    }
    drop(outbox);
    // Both end by themselves: their queues have no other senders. A panic in them ended this connection only.
    let _ = lane.await;
    let _ = writer.await;
}

/// Does a request that needs no place in the order.
async fn other(
    node: Arc<Node>,
    request: Request,
    mut held: Held,
    outbox: Outbox,
    questions: Arc<Semaphore>,
    stop: Stop,
) {
    if request.key == Some(ApiKey::FetchLog) {
        let (frame, room) = fetch(node, request.header.request_id, request.body, stop).await;
        held.answer = room;
        return outbox.send(frame, held).await;
    }
    let turn = questions.acquire().await;
    let frame = answer(node, request).await;
    outbox.send(frame, held).await;
    drop(turn);
}

/// Begins ordered requests one after the other; their answers may overtake each other.
async fn lane(node: Arc<Node>, mut queue: mpsc::UnboundedReceiver<(Request, Held)>, outbox: Outbox) {
    let mut waiting = JoinSet::new();
    while let Some((request, held)) = queue.recv().await {
        while waiting.try_join_next().is_some() {}
        let later = begin(node.clone(), request).await;
        let outbox = outbox.clone();
        waiting.spawn(async move { outbox.send(later.await, held).await });
    }
    while waiting.join_next().await.is_some() {}
}

struct Reader {
    stream: OwnedReadHalf,
    slots: Arc<Semaphore>,
    node: Arc<Node>,
    stop: Stop,
}

impl Reader {
    /// The next request; `None` when there will be none.
    async fn next(&mut self) -> Option<(Request, Held)> {
        let slot = tokio::select! {
            slot = self.slots.clone().acquire_owned() => slot.ok()?,
            () = self.stop.wait() => return None,
        };
        let mut prefix = [0; FRAME_PREFIX_BYTES];
        let idle_max = self.node.limits.idle_max;
        let read = tokio::select! {
            read = timeout(idle_max, self.stream.read_exact(&mut prefix)) => read,
            () = self.stop.wait() => return None,
        };
        read.ok()?.ok()?;
        let length = frame_length(prefix, self.node.limits.frame_bytes_max).ok()?;
        let size = kib(length).min(self.node.limits.memory_kib_max);
        let memory = self.node.memory.clone().acquire_many_owned(size).await.ok()?;
        let frame = timeout(FRAME_STALL_MAX, self.body(length)).await.ok()??;
        self.node.counters.bytes_received.add((FRAME_PREFIX_BYTES + length) as u64);
        let (header, body) = RequestHeader::parse(frame).ok()?;
        let request = Request { key: ApiKey::from_number(header.api_key), header, body };
        Some((request, Held { _open: Open::new(&self.node), _slot: slot, _request: memory, answer: None }))
    }

    /// The rest of a frame. Memory grows with what has come, not with what was announced.
    async fn body(&mut self, length: usize) -> Option<Bytes> {
        let mut frame = BytesMut::with_capacity(length.min(READ_BYTES));
        while frame.len() < length {
            let left = length - frame.len();
            if frame.capacity() == frame.len() {
                frame.reserve(left.min(frame.len().max(READ_BYTES)));
            }
            let mut part = (&mut self.stream).take(left as u64);
            if part.read_buf(&mut frame).await.ok()? == 0 {
                return None;
            }
        }
        Some(frame.freeze())
    }
}

/// Sends answers until there are no more or the client takes none.
async fn write(node: Arc<Node>, mut stream: OwnedWriteHalf, mut ready: mpsc::UnboundedReceiver<Outgoing>) {
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
