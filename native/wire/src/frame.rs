//! What stands around every message: a length, then the head of a request or of a response. Numbers are big-endian.

use crate::message::ErrorResponse;
use crate::{Body, ErrorCode};
use bytes::Bytes;
use sluice_base::{Error, Result, Subject};

/// The longest frame that is read, its length prefix not counted.
pub const FRAME_BYTES_MAX: usize = 100 << 20;
/// Bytes of the length in front of each frame.
pub const FRAME_PREFIX_BYTES: usize = 4;
/// Bytes of the head of a request: key, version, id.
pub const REQUEST_HEADER_BYTES: usize = 8;
/// Bytes of the head of a response: type, id.
const RESPONSE_HEAD_BYTES: usize = 5;
const SUCCESS: u8 = 0;
const FAILURE: u8 = 1;
/// A failure of the whole connection, without a request's id.
const ENDING: u8 = 2;
/// An error message is cut so that one failing batch cannot fill a connection.
const MESSAGE_BYTES_MAX: usize = 2048;

/// The length of the frame behind its prefix.
///
/// # Errors
/// `Invalid` below the shortest request or above `most`.
pub fn frame_length(prefix: [u8; FRAME_PREFIX_BYTES], most: usize) -> Result<usize> {
    let told = i32::from_be_bytes(prefix);
    match usize::try_from(told) {
        Ok(length) if (REQUEST_HEADER_BYTES..=most).contains(&length) => Ok(length),
        _ => Err(Error::invalid(
            Subject::None,
            format!("a frame of {told} bytes; it must have {REQUEST_HEADER_BYTES} to {most}"),
        )),
    }
}

/// The head of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHeader {
    /// Which request; see [`crate::ApiKey`].
    pub api_key: i16,
    /// In which version.
    pub api_version: i16,
    /// The client's number for it; comes back with the answer.
    pub request_id: i32,
}

impl RequestHeader {
    /// Splits a frame (without its length) into head and message.
    ///
    /// # Errors
    /// `Invalid` when it is too short.
    pub fn parse(mut frame: Bytes) -> Result<(Self, Bytes)> {
        let Some([k0, k1, v0, v1, i0, i1, i2, i3]) = frame.first_chunk::<REQUEST_HEADER_BYTES>().copied() else {
            return Err(Error::invalid(Subject::None, format!("a request of {} bytes", frame.len())));
        };
        let header = Self {
            api_key: i16::from_be_bytes([k0, k1]),
            api_version: i16::from_be_bytes([v0, v1]),
            request_id: i32::from_be_bytes([i0, i1, i2, i3]),
        };
        Ok((header, frame.split_off(REQUEST_HEADER_BYTES)))
    }
}

/// The head of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseHead {
    /// The request that it answers.
    pub request_id: i32,
    /// Whether the message is an [`ErrorResponse`].
    pub failed: bool,
}

impl ResponseHead {
    /// Splits a frame (without its length) into head and message.
    ///
    /// # Errors
    /// `Invalid` when it is too short or of no known type.
    pub fn parse(mut frame: Bytes) -> Result<(Self, Bytes)> {
        let head = frame.first_chunk::<RESPONSE_HEAD_BYTES>().copied();
        let Some([kind @ (SUCCESS | FAILURE), i0, i1, i2, i3]) = head else {
            return Err(Error::invalid(Subject::None, format!("a frame of {} bytes is no response", frame.len())));
        };
        let head = Self { request_id: i32::from_be_bytes([i0, i1, i2, i3]), failed: kind == FAILURE };
        Ok((head, frame.split_off(RESPONSE_HEAD_BYTES)))
    }
}

/// The length of an answer behind its prefix.
///
/// # Errors
/// `Invalid` for one without a head or above `most`.
pub fn answer_length(prefix: [u8; FRAME_PREFIX_BYTES], most: usize) -> Result<usize> {
    let told = i32::from_be_bytes(prefix);
    match usize::try_from(told) {
        Ok(length) if (1..=most).contains(&length) => Ok(length),
        _ => Err(Error::invalid(Subject::None, format!("an answer of {told} bytes; it may have {most}"))),
    }
}

/// Why a server ends a connection, when a frame (without its length) says that it does.
#[must_use]
pub fn ending(frame: &Bytes) -> Option<ErrorResponse> {
    let is_ending = frame.first() == Some(&ENDING);
    is_ending.then(|| ErrorResponse::decode_from(frame.slice(1..)).unwrap_or_default())
}

/// A whole frame: length, head, message. `None` when it would be longer than a frame can say.
fn frame(head: &[u8], body: &impl Body) -> Option<Vec<u8>> {
    let length = head.len() + body.length();
    let told = i32::try_from(length).ok()?;
    let mut out = Vec::with_capacity(FRAME_PREFIX_BYTES + length);
    out.extend_from_slice(&told.to_be_bytes());
    out.extend_from_slice(head);
    body.append_to(&mut out);
    Some(out)
}

fn response_head(kind: u8, request_id: i32) -> [u8; RESPONSE_HEAD_BYTES] {
    let [a, b, c, d] = request_id.to_be_bytes();
    [kind, a, b, c, d]
}

/// The frame of an answer. One that is too long for a frame becomes a failure that says so.
#[must_use]
pub fn success(request_id: i32, body: &impl Body) -> Vec<u8> {
    frame(&response_head(SUCCESS, request_id), body).unwrap_or_else(|| {
        failure(request_id, ErrorCode::RecordTooLarge, "the answer is longer than 2 GiB; ask for less at once")
    })
}

/// The frame of a failure.
#[must_use]
pub fn failure(request_id: i32, code: ErrorCode, message: &str) -> Vec<u8> {
    let body = ErrorResponse { error_code: code.number(), error_message: Some(cut(message).to_owned()) };
    frame(&response_head(FAILURE, request_id), &body).unwrap_or_default()
}

fn cut(message: &str) -> &str {
    message.get(..message.floor_char_boundary(MESSAGE_BYTES_MAX)).unwrap_or_default()
}

/// The frame of a request.
///
/// # Errors
/// `Invalid` above the longest frame that a server reads.
pub fn request(header: RequestHeader, body: &impl Body) -> Result<Vec<u8>> {
    let [k0, k1] = header.api_key.to_be_bytes();
    let [v0, v1] = header.api_version.to_be_bytes();
    let [i0, i1, i2, i3] = header.request_id.to_be_bytes();
    let length = body.length();
    let whole = frame(&[k0, k1, v0, v1, i0, i1, i2, i3], body).filter(|f| f.len() <= FRAME_BYTES_MAX);
    whole
        .ok_or_else(|| Error::invalid(Subject::None, format!("a request of {length} bytes; {FRAME_BYTES_MAX} at most")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{DatabaseExistsRequest, DatabaseExistsResponse};

    #[test]
    fn a_request_is_length_key_version_id_message() {
        let header = RequestHeader { api_key: 1004, api_version: 0, request_id: 7 };
        let bytes = request(header, &DatabaseExistsRequest { database_name: "db".to_owned() }).unwrap();
        assert_eq!(bytes, b"\0\0\0\x0c\x03\xec\0\0\0\0\0\x07\x0a\x02db");
        let (parsed, body) = RequestHeader::parse(Bytes::from(bytes).split_off(FRAME_PREFIX_BYTES)).unwrap();
        assert_eq!(parsed, header);
        assert_eq!(DatabaseExistsRequest::decode_from(body).unwrap().database_name, "db");
    }

    #[test]
    fn an_answer_is_length_type_id_message() {
        let bytes = success(258, &DatabaseExistsResponse { exists: true });
        assert_eq!(bytes, b"\0\0\0\x07\0\0\0\x01\x02\x08\x01");
        let failed = failure(1, ErrorCode::TableNotExist, "no");
        assert_eq!(failed, b"\0\0\0\x0b\x01\0\0\0\x01\x08\x07\x12\x02no");
        let (head, body) = ResponseHead::parse(Bytes::from(failed).split_off(4)).unwrap();
        assert_eq!(head, ResponseHead { request_id: 1, failed: true });
        assert_eq!(ErrorResponse::decode_from(body).unwrap().error_code, 7);
    }

    #[test]
    fn the_end_of_a_connection_says_why() {
        assert_eq!(ending(&Bytes::from_static(b"\x02\x08\x2e\x12\x02no")).unwrap().error_code, 46);
        assert!(ending(&Bytes::from(success(1, &DatabaseExistsResponse { exists: true })).split_off(4)).is_none());
        assert_eq!(answer_length(5_i32.to_be_bytes(), 9).unwrap(), 5);
        for bad in [0, -1, 10] {
            assert!(answer_length(i32::to_be_bytes(bad), 9).is_err(), "{bad}");
        }
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let long = "ä".repeat(2000);
        let (_, body) = ResponseHead::parse(Bytes::from(failure(0, ErrorCode::Unknown, &long)).split_off(4)).unwrap();
        let message = ErrorResponse::decode_from(body).unwrap().error_message.unwrap();
        assert_eq!(message.len(), 2048);
    }

    #[test]
    fn lengths_are_bounded() {
        for bad in [-1, 0, 7, 101 << 20, i32::MAX, i32::MIN] {
            assert!(frame_length(i32::to_be_bytes(bad), FRAME_BYTES_MAX).is_err(), "{bad}");
        }
        assert_eq!(frame_length(8_i32.to_be_bytes(), FRAME_BYTES_MAX).unwrap(), 8);
    }
}
