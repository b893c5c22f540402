//! One connection to one server: requests out, answers in, many under way at once.
//!
//! A request whose answer does not come in time ends the connection, for its server may be gone without a word; those who wait for other
//! answers are told and ask again over a new one.

use crate::refusal::{Answer, Refusal};
use crate::settings::{Address, Security, Settings};
use bytes::Bytes;
use sluice_base::{Error, ErrorKind, Subject};
use sluice_wire::message::{
    ApiVersionsRequest, ApiVersionsResponse, AuthenticateRequest, AuthenticateResponse, ErrorResponse,
};
use sluice_wire::{
    ApiKey, ApiVersions, Body, ErrorCode, FRAME_PREFIX_BYTES, RequestHeader, ResponseHead, answer_length, ending,
    request,
};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// The longest answer that is read.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Read at least so much of an answer at once.
const READ_BYTES: usize = 64 << 10;

type Sender = oneshot::Sender<Answer<Bytes>>;

/// Those who wait for an answer, by request; `Err` says why the connection has ended.
#[derive(Debug)]
struct Waiting(Mutex<Result<HashMap<i32, Sender>, (ErrorCode, String)>>);

impl Waiting {
    fn add(&self, id: i32, sender: Sender) -> Answer<()> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Ok(waiting) => {
                waiting.insert(id, sender);
                Ok(())
            }
            Err((code, why)) => Err(ended(*code, why, false)),
        }
    }

    fn take(&self, id: i32) -> Option<Sender> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().ok()?.remove(&id)
    }

    fn is_over(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_err()
    }

    /// Tells all that no answers will come; the first reason stays.
    fn end(&self, code: ErrorCode, why: &str) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_err() {
            return;
        }
        if let Ok(waiting) = std::mem::replace(&mut *state, Err((code, why.to_owned()))) {
            for sender in waiting.into_values() {
                // Who asked may have gone.
                let _ = sender.send(Err(ended(code, why, true)));
            }
        }
    }
}

fn ended(code: ErrorCode, why: &str, sent: bool) -> Refusal {
    match code {
        ErrorCode::Network => Refusal::network(why, sent),
        other => Refusal { sent, ..Refusal::told(other.number(), Some(why.to_owned())) },
    }
}

/// A connection that is ready for requests.
#[derive(Debug)]
pub(crate) struct Channel {
    address: Address,
    /// The version in which each request is sent.
    versions: HashMap<i16, i16>,
    outbox: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Arc<Waiting>,
    next_id: AtomicI32,
    reader: tokio::task::JoinHandle<()>,
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.reader.abort();
        self.waiting.end(ErrorCode::Network, "the connection was closed");
    }
}

impl Channel {
    /// Connects, asks what the server can do and says who we are.
    pub(crate) async fn open(address: &Address, settings: &Settings) -> Answer<Self> {
        let patience = settings.connect_timeout.min(settings.request_timeout);
        let host = address.host.trim_start_matches('[').trim_end_matches(']');
        let cannot = |why: String| Refusal::network(format!("cannot connect to {address}: {why}"), false);
        let stream = match timeout(patience, TcpStream::connect((host, address.port))).await {
            Ok(connected) => connected.map_err(|e| cannot(e.to_string()))?,
            Err(_) => return Err(cannot(format!("no answer within {} ms", patience.as_millis()))),
        };
        // Small requests would else wait for the next packet; a stream that refuses works all the same.
        let _ = stream.set_nodelay(true);
        let (read_half, write_half) = stream.into_split();
        let (outbox, frames) = mpsc::unbounded_channel();
        let waiting = Arc::new(Waiting(Mutex::new(Ok(HashMap::new()))));
        tokio::spawn(write(write_half, frames, waiting.clone(), address.clone()));
        let reader = tokio::spawn(read(read_half, waiting.clone(), address.clone()));
        let versions = HashMap::from([(ApiKey::ApiVersions.number(), 0), (ApiKey::Authenticate.number(), 0)]);
        let next_id = AtomicI32::new(0);
        let mut channel = Self { address: address.clone(), versions, outbox, waiting, next_id, reader };
        channel.greet(settings).await?;
        Ok(channel)
    }

    async fn greet(&mut self, settings: &Settings) -> Answer<()> {
        let hello = ApiVersionsRequest {
            client_software_name: "sluice".to_owned(),
            client_software_version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let told: ApiVersionsResponse = self.ask(ApiKey::ApiVersions, &hello, settings.request_timeout).await?;
        let ours = ApiVersions::list();
        for theirs in told.api_versions {
            let known = ours.iter().find(|v| v.api_key == theirs.api_key);
            let version = known.map(|v| v.max_version.min(theirs.max_version)).filter(|v| *v >= theirs.min_version);
            if let (Ok(key), Some(Ok(version))) = (i16::try_from(theirs.api_key), version.map(i16::try_from)) {
                self.versions.insert(key, version);
            }
        }
        if !settings.own_requests {
            self.versions.retain(|key, _| ![ApiKey::Call.number(), ApiKey::RowScan.number()].contains(key));
        }
        let Security::Plain { username, password } = &settings.security else { return Ok(()) };
        let token = [b"\0", username.as_bytes(), b"\0", password.as_bytes()].concat();
        let who = AuthenticateRequest { protocol: "PLAIN".to_owned(), token };
        let done: Answer<AuthenticateResponse> = self.ask(ApiKey::Authenticate, &who, settings.request_timeout).await;
        done.map(|_| ()).map_err(|refusal| match refusal.code {
            ErrorCode::Authenticate => {
                let message =
                    format!("{} does not let user '{username}' in: {}", self.address, refusal.error.message());
                let error = Error::new(ErrorKind::Unauthorized, Subject::Store, message);
                Refusal { error, ..refusal }
            }
            _ => refusal,
        })
    }

    /// Whether no requests can be sent any more.
    pub(crate) fn is_over(&self) -> bool {
        self.waiting.is_over()
    }

    /// Whether the server has announced a request.
    pub(crate) fn knows(&self, key: ApiKey) -> bool {
        self.versions.contains_key(&key.number())
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn ask<A: Body>(&self, key: ApiKey, body: &impl Body, patience: Duration) -> Answer<A> {
        let Some(version) = self.versions.get(&key.number()) else {
            let message = format!("the server at {} does not know the request {key:?}", self.address);
            return Err(Refusal::own(Error::unsupported(Subject::Store, message)));
        };
        let request_id = self.next_id.fetch_add(1, Ordering::Relaxed) & i32::MAX;
        let frame = request(RequestHeader { api_key: key.number(), api_version: *version, request_id }, body)?;
        let (sender, receiver) = oneshot::channel();
        self.waiting.add(request_id, sender)?;
        if self.outbox.send(frame).is_err() {
            self.waiting.end(ErrorCode::Network, &format!("the connection to {} has ended", self.address));
        }
        let answer = match timeout(patience, receiver).await {
            Ok(Ok(answer)) => answer?,
            Ok(Err(_)) => return Err(Refusal::network("the connection was closed", true)),
            Err(_) => {
                let why = format!("{} did not answer within {} ms", self.address, patience.as_millis());
                self.waiting.end(ErrorCode::Network, &why);
                return Err(Refusal::network(why, true));
            }
        };
        A::decode_from(answer).map_err(|e| e.context(format_args!("the answer of {}", self.address)).into())
    }
}

/// Sends requests until there are no more.
async fn write(
    mut stream: OwnedWriteHalf,
    mut frames: mpsc::UnboundedReceiver<Vec<u8>>,
    waiting: Arc<Waiting>,
    address: Address,
) {
    while let Some(mut frame) = frames.recv().await {
        while frame.len() < READ_BYTES
            && let Ok(mut next) = frames.try_recv()
        {
            frame.append(&mut next);
        }
        if let Err(e) = stream.write_all(&frame).await {
            return waiting.end(ErrorCode::Network, &format!("the connection to {address} has ended: {e}"));
        }
    }
}

/// Reads answers until the connection ends.
async fn read(mut stream: OwnedReadHalf, waiting: Arc<Waiting>, address: Address) {
    let (code, why) = match read_all(&mut stream, &waiting).await {
        Ok(Some(told)) => {
            let message = told.error_message.unwrap_or_default();
            (ErrorCode::from_number(told.error_code), format!("{address} ended the connection: {message}"))
        }
        Ok(None) => (ErrorCode::Network, format!("{address} ended the connection")),
        Err(why) => (ErrorCode::Network, format!("the connection to {address} has ended: {why}")),
    };
    waiting.end(code, &why);
}

async fn read_all(stream: &mut OwnedReadHalf, waiting: &Waiting) -> Result<Option<ErrorResponse>, String> {
    loop {
        let mut prefix = [0; FRAME_PREFIX_BYTES];
        match stream.read_exact(&mut prefix).await {
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(e) => return Err(e.to_string()),
        }
        let length = answer_length(prefix, ANSWER_BYTES_MAX).map_err(|e| e.to_string())?;
        let frame = body(stream, length).await.map_err(|e| e.to_string())?;
        if let Some(why) = ending(&frame) {
            return Ok(Some(why));
        }
        let (head, message) = ResponseHead::parse(frame).map_err(|e| e.to_string())?;
        let answer = if head.failed {
            let told = ErrorResponse::decode_from(message).map_err(|e| e.to_string())?;
            Err(Refusal::told(told.error_code, told.error_message))
        } else {
            Ok(message)
        };
        if let Some(sender) = waiting.take(head.request_id) {
            // Who asked may have gone.
            let _ = sender.send(answer);
        }
    }
}

/// The rest of a frame. Memory grows with what has come, not with what was announced.
async fn body(stream: &mut OwnedReadHalf, length: usize) -> std::io::Result<Bytes> {
    let mut frame = Vec::with_capacity(length.min(READ_BYTES));
    while frame.len() < length {
        let left = length - frame.len();
        let mut part = (&mut *stream).take(left as u64);
        if part.read_buf(&mut frame).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Bytes::from(frame))
}
