//! One connection: frames in, answers out.
//!
//! Three parts: the reader takes frames as long as few enough are unanswered; the lane begins ordered requests one after the other; the writer
//! sends answers in the order in which they are ready. What is read or ready counts against the server's memory until it is sent, and a client
//! that takes nothing is cut off.

use crate::caller::Caller;
use crate::dispatch::{Request, begin, question};
use crate::fetch::fetch;
use crate::handshake::let_in;
use crate::incoming::Reader;
use crate::limits::QUESTIONS_MAX;
use crate::node::Node;
use crate::outgoing::{Held, Outbox, write};
use crate::stop::Stop;
use sluice_wire::ApiKey;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// Serves a connection to its end.
pub(crate) async fn serve(node: Arc<Node>, stream: TcpStream, caller: Arc<Caller>, stop: Stop) {
    // Without it small answers would wait for the client's next packet; a stream that refuses is served all the same.
    let _ = stream.set_nodelay(true);
    let (read_half, write_half) = stream.into_split();
    let (outbox, ready) = Outbox::new();
    let writer = tokio::spawn(write(node.clone(), caller.clone(), write_half, ready));
    let mut reader = Reader::new(&node, &caller, read_half, &stop);
    if let_in(&node, &mut reader, &caller, &outbox).await {
        requests(&node, reader, caller, &outbox, stop).await;
    }
    drop(outbox);
    // It ends by itself: its queue has no other senders. A panic in it ended this connection only.
    let _ = writer.await;
}

/// Takes requests until there are no more, and has them answered.
async fn requests(node: &Arc<Node>, mut reader: Reader, caller: Arc<Caller>, outbox: &Outbox, stop: Stop) {
    let (ordered, queue) = mpsc::unbounded_channel();
    let lane = tokio::spawn(lane(node.clone(), queue, outbox.clone()));
    let questions = Arc::new(Semaphore::new(QUESTIONS_MAX));
    let mut others = JoinSet::new();
    loop {
        let next = tokio::select! {
            next = reader.next(node.limits.frame_bytes_max) => next,
            () = outbox.closed() => None,
        };
        let Some((header, body, held)) = next else { break };
        let request = Request { key: ApiKey::from_number(header.api_key), header, body, caller: caller.clone() };
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
    // As the writer.
    let _ = lane.await;
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
        let (answer, room) = fetch(node, request.caller, request.header.request_id, request.body, stop).await;
        held.answer = room;
        return outbox.send(answer, held).await;
    }
    let turn = questions.acquire().await;
    let answer = question(node, request).await;
    outbox.send(answer, held).await;
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
