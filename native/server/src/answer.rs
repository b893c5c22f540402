//! What a request comes to: an answer, or a code and a sentence.

use crate::troubles::Troubles;
use bytes::Bytes;
use sluice_base::Error;
use sluice_wire::{Body, ErrorCode, failure, success};

/// Why a request was not done.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

pub(crate) type Reply<T> = Result<T, Failed>;

impl Failed {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The two fields by which an answer says that one bucket's part failed.
    pub(crate) fn fields(self, troubles: &Troubles) -> (Option<i32>, Option<String>) {
        troubles.note("a bucket's part", "", &self.message);
        (Some(self.code.number()), Some(self.message))
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::new(ErrorCode::of(&error), error.message())
    }
}

/// The frame of an answer, and why the request was not done if it was not.
pub(crate) struct Answer {
    pub(crate) frame: Vec<u8>,
    pub(crate) failed: Option<String>,
}

/// Makes an answer.
pub(crate) fn answer(request_id: i32, reply: Reply<impl Body>) -> Answer {
    match reply {
        Ok(body) => Answer { frame: success(request_id, &body), failed: None },
        Err(failed) => {
            Answer { frame: failure(request_id, failed.code, &failed.message), failed: Some(failed.message) }
        }
    }
}

/// Reads a request. One that cannot be read will not be readable when it is sent again: no code that clients retry.
pub(crate) fn read<Q: Body>(body: Bytes) -> Reply<Q> {
    Q::decode_from(body).map_err(|e| Failed::new(ErrorCode::UnsupportedVersion, e.message()))
}

/// Reads a request, has it done, makes the frame of its answer.
pub(crate) fn run<Q: Body, A: Body>(request_id: i32, body: Bytes, work: impl FnOnce(Q) -> Reply<A>) -> Answer {
    answer(request_id, read(body).and_then(work))
}
