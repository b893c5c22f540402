//! A client that waits for each answer, or sends several requests at once.

use bytes::Bytes;
use sluice_wire::message::ErrorResponse;
use sluice_wire::{ApiKey, Body, ErrorCode, FRAME_PREFIX_BYTES, RequestHeader, ResponseHead, request};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// What a request was answered if not with what was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused(pub ErrorCode, pub String);

pub struct Client {
    pub stream: TcpStream,
    next_id: i32,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).unwrap()
    }

    pub fn try_connect(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, next_id: 0 })
    }

    /// Sends a request; its number.
    pub fn send(&mut self, key: i16, version: i16, body: &impl Body) -> i32 {
        self.try_send(key, version, body).unwrap()
    }

    fn try_send(&mut self, key: i16, version: i16, body: &impl Body) -> std::io::Result<i32> {
        let request_id = self.next_id;
        self.next_id += 1;
        let header = RequestHeader { api_key: key, api_version: version, request_id };
        self.stream.write_all(&request(header, body).unwrap())?;
        Ok(request_id)
    }

    /// The next answer, unread; an error when the connection has ended.
    pub fn receive_bytes(&mut self) -> std::io::Result<(i32, Result<Bytes, Refused>)> {
        let mut prefix = [0; FRAME_PREFIX_BYTES];
        self.stream.read_exact(&mut prefix)?;
        let mut frame = vec![0; usize::try_from(i32::from_be_bytes(prefix)).unwrap()];
        self.stream.read_exact(&mut frame)?;
        let (head, body) = ResponseHead::parse(Bytes::from(frame)).unwrap();
        let answer = if head.failed {
            let error = ErrorResponse::decode_from(body).unwrap();
            Err(Refused(ErrorCode::from_number(error.error_code), error.error_message.unwrap_or_default()))
        } else {
            Ok(body)
        };
        Ok((head.request_id, answer))
    }

    /// The next answer, whichever it is; an error when the connection has ended.
    pub fn receive<A: Body>(&mut self) -> std::io::Result<(i32, Result<A, Refused>)> {
        let (id, answer) = self.receive_bytes()?;
        Ok((id, answer.map(|body| A::decode_from(body).unwrap())))
    }

    pub fn try_ask<A: Body>(&mut self, key: ApiKey, body: &impl Body) -> std::io::Result<Result<A, Refused>> {
        let id = self.try_send(key.number(), 1, body)?;
        let (answered, answer) = self.receive()?;
        assert_eq!(answered, id);
        Ok(answer)
    }

    pub fn ask<A: Body>(&mut self, key: ApiKey, body: &impl Body) -> Result<A, Refused> {
        self.try_ask(key, body).unwrap()
    }
}
