//! Why a request was not done: the server's code, and the error that it is for a caller.

use sluice_base::{Error, ErrorKind, Result, Subject};
use sluice_wire::ErrorCode;
use sluice_wire::message::CallError;

/// A request that failed.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    pub(crate) error: Error,
    /// Whether the server may have done it all the same.
    pub(crate) sent: bool,
}

/// What a request came to.
pub(crate) type Answer<T> = Result<T, Refusal>;

impl Refusal {
    /// What a server said.
    pub(crate) fn told(code: i32, message: Option<String>) -> Self {
        let code = ErrorCode::from_number(code);
        let message = message.unwrap_or_else(|| format!("the server answered {code:?} without a word"));
        Self { code, error: error_of(code, message), sent: false }
    }

    /// The connection is not there or has ended.
    pub(crate) fn network(message: impl Into<String>, sent: bool) -> Self {
        let error = Error::new(ErrorKind::Io, Subject::Store, message);
        Self { code: ErrorCode::Network, error, sent }
    }

    /// What the client itself finds out.
    pub(crate) fn own(error: Error) -> Self {
        Self { code: ErrorCode::Unknown, error, sent: false }
    }

    /// Whether the same may succeed later.
    pub(crate) fn heals(&self) -> bool {
        self.code.is_retried()
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::own(error)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        refusal.error
    }
}

/// The two fields by which an answer says that a part of it failed.
pub(crate) fn part(code: Option<i32>, message: Option<String>) -> Answer<()> {
    match code {
        None | Some(0) => Ok(()),
        Some(code) => Err(Refusal::told(code, message)),
    }
}

/// An error of a server of ours, as that server had it.
pub(crate) fn error_of_call(error: CallError) -> Error {
    let kind = ErrorKind::from_code(error.kind).unwrap_or(ErrorKind::Internal);
    Error::new(kind, Subject::from_code(error.subject).unwrap_or(Subject::None), error.message)
}

/// The counterpart of [`ErrorCode::of`].
fn error_of(code: ErrorCode, message: String) -> Error {
    use ErrorCode as C;
    use ErrorKind as K;
    use Subject as S;
    let (kind, subject) = match code {
        C::DatabaseNotExist => (K::NotFound, S::Database),
        C::DatabaseAlreadyExist => (K::AlreadyExists, S::Database),
        C::DatabaseNotEmpty => (K::Conflict, S::Database),
        C::InvalidDatabase => (K::Invalid, S::Database),
        C::TableNotExist => (K::NotFound, S::Table),
        C::TableAlreadyExist => (K::AlreadyExists, S::Table),
        C::InvalidTable | C::NonPrimaryKeyTable | C::TableNotPartitioned | C::InvalidAlterTable => {
            (K::Invalid, S::Table)
        }
        C::InvalidReplicationFactor | C::InvalidConfig | C::InvalidRequiredAcks => (K::Invalid, S::Option),
        C::LakeStorageNotConfigured => (K::Invalid, S::Option),
        C::PartitionNotExists => (K::NotFound, S::Partition),
        C::PartitionAlreadyExists => (K::AlreadyExists, S::Partition),
        C::PartitionSpecInvalid => (K::Invalid, S::Partition),
        C::PartitionMaxNum => (K::Conflict, S::Partition),
        C::UnknownTableOrBucket => (K::NotFound, S::Bucket),
        C::BucketMaxNum => (K::Invalid, S::Bucket),
        C::SchemaNotExist => (K::NotFound, S::Column),
        C::InvalidColumnProjection | C::InvalidTargetColumn => (K::Invalid, S::Column),
        C::LogOffsetOutOfRange | C::InvalidTimestamp => (K::Invalid, S::Offset),
        C::KvSnapshotNotExist | C::LakeSnapshotNotExist => (K::NotFound, S::Snapshot),
        C::OutOfOrderSequence | C::DuplicateSequence | C::UnknownWriterId => (K::Conflict, S::Writer),
        C::RecordTooLarge | C::DeletionDisabled | C::Unknown => (K::Invalid, S::Row),
        C::CorruptRecord | C::CorruptMessage => (K::Corrupt, S::Row),
        C::Storage | C::LogStorage | C::KvStorage => (K::Busy, S::Disk),
        C::RequestTimeOut | C::NotLeaderOrFollower | C::LeaderNotAvailable => (K::Busy, S::Bucket),
        C::Authenticate | C::Authorization => (K::Unauthorized, S::Store),
        C::UnsupportedVersion | C::SecurityDisabled => (K::Unsupported, S::Store),
        C::Network => (K::Io, S::Store),
    };
    Error::new(kind, subject, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_kind_over_the_wire() {
        for (kind, subject) in [
            (ErrorKind::NotFound, Subject::Table),
            (ErrorKind::NotFound, Subject::Database),
            (ErrorKind::NotFound, Subject::Partition),
            (ErrorKind::AlreadyExists, Subject::Table),
            (ErrorKind::AlreadyExists, Subject::Database),
            (ErrorKind::Conflict, Subject::Database),
            (ErrorKind::Invalid, Subject::Option),
            (ErrorKind::Invalid, Subject::Offset),
            (ErrorKind::Invalid, Subject::Table),
            (ErrorKind::Conflict, Subject::Writer),
            (ErrorKind::Busy, Subject::Disk),
        ] {
            let code = ErrorCode::of(&Error::new(kind, subject, "x"));
            let back = Refusal::told(code.number(), Some("x".to_owned())).error;
            assert_eq!((back.kind(), back.subject(), back.message()), (kind, subject, "x"));
        }
    }
}
