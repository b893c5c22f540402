//! The one error type: what kind it is, what it is about, and a sentence that tells the user what to do.

use std::error::Error as StdError;
use std::fmt;

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the caller can do about an error. Codes are stable: Java and C see them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum ErrorKind {
    /// The request is wrong; change it.
    Invalid = 1,
    /// The named thing does not exist.
    NotFound = 2,
    /// The named thing exists already.
    AlreadyExists = 3,
    /// The request does not fit the present state.
    Conflict = 4,
    /// Not now; the same call may succeed later.
    Busy = 5,
    /// The caller may not do this.
    Unauthorized = 6,
    /// Somebody newer has taken over; stop.
    Fenced = 7,
    /// Stored bytes are damaged; the message names file and position.
    Corrupt = 8,
    /// The operating system refused.
    Io = 9,
    /// This version cannot do it.
    Unsupported = 10,
    /// A defect of ours.
    Internal = 11,
    /// The handle was closed; open a new one.
    Closed = 12,
}

impl ErrorKind {
    /// The stable number of this kind.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The kind of a number that a server told.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        use ErrorKind as K;
        let all = [
            K::Invalid,
            K::NotFound,
            K::AlreadyExists,
            K::Conflict,
            K::Busy,
            K::Unauthorized,
            K::Fenced,
            K::Corrupt,
            K::Io,
            K::Unsupported,
            K::Internal,
            K::Closed,
        ];
        all.into_iter().find(|kind| kind.code() == code)
    }

    /// Whether the same call may succeed later without a change by the caller.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Busy)
    }
}

/// What an error is about. With [`ErrorKind`] it decides the exception class in Java and the code on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
#[expect(missing_docs, reason = "each name is its own description")]
pub enum Subject {
    None = 0,
    Store = 1,
    Database = 2,
    Table = 3,
    Partition = 4,
    Bucket = 5,
    Column = 6,
    Option = 7,
    Row = 8,
    Offset = 9,
    Snapshot = 10,
    Writer = 11,
    File = 12,
    Disk = 13,
}

impl Subject {
    /// The subject of a number that a server told.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        use Subject as S;
        let all = [
            S::None,
            S::Store,
            S::Database,
            S::Table,
            S::Partition,
            S::Bucket,
            S::Column,
            S::Option,
            S::Row,
            S::Offset,
            S::Snapshot,
            S::Writer,
            S::File,
            S::Disk,
        ];
        all.into_iter().find(|subject| subject.code() == code)
    }

    /// The stable number of this subject.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }
}

/// An error: kind, subject, one sentence for people, and the cause beneath it.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    subject: Subject,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error about `subject`.
    pub fn new(kind: ErrorKind, subject: Subject, message: impl Into<String>) -> Self {
        Self { kind, subject, message: message.into(), source: None }
    }

    /// The request is wrong.
    pub fn invalid(subject: Subject, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, subject, message)
    }

    /// The named thing does not exist.
    pub fn not_found(subject: Subject, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, subject, message)
    }

    /// Stored bytes are damaged.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, Subject::File, message)
    }

    /// This version cannot do it.
    pub fn unsupported(subject: Subject, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, subject, message)
    }

    /// A defect of ours.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, Subject::None, message)
    }

    /// The operating system refused `what` (for example "append to /d/0.log"). A full or read-only disk
    /// becomes [`ErrorKind::Busy`] about [`Subject::Disk`], for it heals when space returns.
    pub fn io(what: impl fmt::Display, source: std::io::Error) -> Self {
        use std::io::ErrorKind as Os;
        let (kind, subject, hint) = match source.kind() {
            Os::StorageFull | Os::QuotaExceeded => {
                (ErrorKind::Busy, Subject::Disk, "; free some space, reads go on meanwhile")
            }
            Os::ReadOnlyFilesystem => {
                (ErrorKind::Busy, Subject::Disk, "; the disk is read-only, remount it for writing")
            }
            Os::NotFound => (ErrorKind::NotFound, Subject::File, ""),
            _ => (ErrorKind::Io, Subject::File, ""),
        };
        Self { kind, subject, message: format!("cannot {what}: {source}{hint}"), source: Some(Box::new(source)) }
    }

    /// Keeps `source` as the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// Puts `context` in front of the sentence ("while opening table a.b").
    #[must_use]
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.message = format!("{context}: {}", self.message);
        self
    }

    /// What the caller can do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What it is about.
    #[must_use]
    pub fn subject(&self) -> Subject {
        self.subject
    }

    /// Whether the operating system refused because the file system is read-only.
    #[must_use]
    pub fn is_read_only_disk(&self) -> bool {
        let cause = self.source.as_ref().and_then(|cause| cause.downcast_ref::<std::io::Error>());
        cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::ReadOnlyFilesystem)
    }

    /// The sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|s| s as &(dyn StdError + 'static))
    }
}
