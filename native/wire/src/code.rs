//! Error codes, and which of our errors is which.
//!
//! Clients retry some codes without end, so a code that is wrongly one of those is a hang: [`ErrorCode::is_retried`] says which.

use sluice_base::{Error, ErrorKind, Subject};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// What a client is told about a failure. The number is the protocol's.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(i32)]
        #[expect(missing_docs, reason = "each name is the protocol's")]
        pub enum ErrorCode {
            $($(#[$doc])* $name = $number,)*
        }

        impl ErrorCode {
            /// The code of a number that a server sent; `Unknown` for one that is not known.
            #[must_use]
            pub fn from_number(number: i32) -> Self {
                match number {
                    $($number => Self::$name,)*
                    _ => Self::Unknown,
                }
            }
        }
    };
}

codes! {
    Unknown = -1,
    Network = 1,
    UnsupportedVersion = 2,
    CorruptMessage = 3,
    DatabaseNotExist = 4,
    DatabaseNotEmpty = 5,
    DatabaseAlreadyExist = 6,
    TableNotExist = 7,
    TableAlreadyExist = 8,
    SchemaNotExist = 9,
    LogStorage = 10,
    KvStorage = 11,
    NotLeaderOrFollower = 12,
    RecordTooLarge = 13,
    CorruptRecord = 14,
    InvalidTable = 15,
    InvalidDatabase = 16,
    InvalidReplicationFactor = 17,
    InvalidRequiredAcks = 18,
    LogOffsetOutOfRange = 19,
    NonPrimaryKeyTable = 20,
    UnknownTableOrBucket = 21,
    RequestTimeOut = 25,
    Storage = 26,
    OutOfOrderSequence = 31,
    DuplicateSequence = 32,
    UnknownWriterId = 33,
    InvalidColumnProjection = 34,
    InvalidTargetColumn = 35,
    PartitionNotExists = 36,
    TableNotPartitioned = 37,
    InvalidTimestamp = 38,
    InvalidConfig = 39,
    LakeStorageNotConfigured = 40,
    KvSnapshotNotExist = 41,
    PartitionAlreadyExists = 42,
    PartitionSpecInvalid = 43,
    LeaderNotAvailable = 44,
    PartitionMaxNum = 45,
    Authenticate = 46,
    SecurityDisabled = 47,
    Authorization = 48,
    BucketMaxNum = 49,
    LakeSnapshotNotExist = 53,
    InvalidAlterTable = 56,
    DeletionDisabled = 57,
}

impl ErrorCode {
    /// Its number.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// Whether clients send the request again by themselves, without end.
    #[must_use]
    pub const fn is_retried(self) -> bool {
        use ErrorCode as E;
        matches!(
            self,
            E::Network
                | E::CorruptMessage
                | E::SchemaNotExist
                | E::LogStorage
                | E::KvStorage
                | E::NotLeaderOrFollower
                | E::CorruptRecord
                | E::UnknownTableOrBucket
                | E::RequestTimeOut
                | E::Storage
                | E::LeaderNotAvailable
        )
    }

    /// The code for one of our errors, wherever the request at hand knows no better.
    #[must_use]
    pub fn of(error: &Error) -> Self {
        use Subject as S;
        match (error.kind(), error.subject()) {
            (ErrorKind::NotFound, S::Database) => Self::DatabaseNotExist,
            (ErrorKind::NotFound, S::Table) => Self::TableNotExist,
            (ErrorKind::NotFound, S::Partition) => Self::PartitionNotExists,
            (ErrorKind::NotFound, S::Bucket) => Self::UnknownTableOrBucket,
            (ErrorKind::NotFound, S::Snapshot) => Self::KvSnapshotNotExist,
            (ErrorKind::NotFound, S::Column) => Self::SchemaNotExist,
            (ErrorKind::Corrupt, S::Row) => Self::CorruptRecord,
            (ErrorKind::Unsupported, S::Row) => Self::DeletionDisabled,
            (ErrorKind::AlreadyExists, S::Database) => Self::DatabaseAlreadyExist,
            (ErrorKind::AlreadyExists, S::Table) => Self::TableAlreadyExist,
            (ErrorKind::AlreadyExists, S::Partition) => Self::PartitionAlreadyExists,
            (ErrorKind::Conflict, S::Database) => Self::DatabaseNotEmpty,
            (ErrorKind::Invalid, S::Bucket) => Self::BucketMaxNum,
            (ErrorKind::Conflict, S::Partition) => Self::PartitionMaxNum,
            (ErrorKind::Conflict, S::Writer) => Self::OutOfOrderSequence,
            (ErrorKind::Invalid | ErrorKind::Unsupported, S::Database) => Self::InvalidDatabase,
            (ErrorKind::Invalid | ErrorKind::Unsupported, S::Option) => Self::InvalidConfig,
            (ErrorKind::Invalid | ErrorKind::Unsupported, S::Partition) => Self::PartitionSpecInvalid,
            (ErrorKind::Invalid | ErrorKind::Unsupported, S::Table | S::Column) => Self::InvalidTable,
            (ErrorKind::Invalid, S::Offset) => Self::LogOffsetOutOfRange,
            (ErrorKind::Unauthorized, _) => Self::Authorization,
            (ErrorKind::Busy, S::Disk) | (ErrorKind::Io, _) => Self::Storage,
            (ErrorKind::Busy, _) => Self::RequestTimeOut,
            // The server goes down; its clients look for one that is up.
            (ErrorKind::Closed, _) => Self::NotLeaderOrFollower,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_heal_is_retried() {
        for (kind, subject, retried) in [
            (ErrorKind::Busy, Subject::Disk, true),
            (ErrorKind::Busy, Subject::Bucket, true),
            (ErrorKind::Io, Subject::File, true),
            (ErrorKind::Closed, Subject::Store, true),
            (ErrorKind::NotFound, Subject::Bucket, true),
            (ErrorKind::NotFound, Subject::Table, false),
            (ErrorKind::Invalid, Subject::Row, false),
            (ErrorKind::Corrupt, Subject::File, false),
            (ErrorKind::Internal, Subject::None, false),
            (ErrorKind::Unsupported, Subject::Option, false),
            (ErrorKind::Conflict, Subject::Writer, false),
        ] {
            let code = ErrorCode::of(&Error::new(kind, subject, ""));
            assert_eq!(code.is_retried(), retried, "{kind:?} {subject:?} {code:?}");
        }
    }

    #[test]
    fn numbers_lead_back_to_their_code() {
        for number in -1..80 {
            let code = ErrorCode::from_number(number);
            assert!(code == ErrorCode::Unknown || code.number() == number);
        }
        assert_eq!(ErrorCode::from_number(31), ErrorCode::OutOfOrderSequence);
        assert_eq!(ErrorCode::from_number(72), ErrorCode::Unknown);
    }
}
