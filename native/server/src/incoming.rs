//! Frames in: taken as long as few enough are unanswered. What is read counts against the server's memory.

use crate::caller::Caller;
use crate::limits::{FRAME_STALL_MAX, REQUESTS_IN_FLIGHT_MAX, kib};
use crate::node::Node;
use crate::outgoing::{Held, Open};
use crate::stop::Stop;
use bytes::{Bytes, BytesMut};
use sluice_wire::{ApiKey, FRAME_PREFIX_BYTES, RequestHeader, frame_length};
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Read at least so much of a frame at once.
const READ_BYTES: usize = 64 << 10;

/// Takes frames apart.
pub(crate) struct Reader {
    stream: OwnedReadHalf,
    slots: Arc<Semaphore>,
    node: Arc<Node>,
    caller: Arc<Caller>,
    stop: Stop,
}

impl Reader {
    pub(crate) fn new(node: &Arc<Node>, caller: &Arc<Caller>, stream: OwnedReadHalf, stop: &Stop) -> Self {
        let slots = Arc::new(Semaphore::new(REQUESTS_IN_FLIGHT_MAX));
        Self { stream, slots, node: node.clone(), caller: caller.clone(), stop: stop.clone() }
    }

    /// The next request; `None` when there will be none.
    pub(crate) async fn next(&mut self, frame_bytes_max: usize) -> Option<(RequestHeader, Bytes, Held)> {
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
        let length = frame_length(prefix, frame_bytes_max).ok()?;
        let size = kib(length).min(self.node.limits.memory_kib_max);
        let memory = self.node.memory.clone().acquire_many_owned(size).await.ok()?;
        let frame = timeout(FRAME_STALL_MAX, self.body(length)).await.ok()??;
        let bytes = (FRAME_PREFIX_BYTES + length) as u64;
        self.node.counters.bytes_received.add(bytes);
        self.caller.bytes_received.add(bytes);
        let (header, body) = RequestHeader::parse(frame).ok()?;
        let open = Open::new(&self.node, &self.caller, ApiKey::from_number(header.api_key));
        Some((header, body, Held::new(open, slot, memory)))
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
