//! An error kept for several callers.

use sluice_base::{Error, ErrorKind, Subject};

/// What an [`Error`] said, so that each waiting writer gets it.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    kind: ErrorKind,
    subject: Subject,
    message: String,
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, subject: Subject, message: impl Into<String>) -> Self {
        Self { kind, subject, message: message.into() }
    }

    pub(crate) fn of(error: &Error) -> Self {
        Self::new(error.kind(), error.subject(), error.message())
    }

    /// The same, said of rows that are gone: `Busy` would tell their writer that they may still become durable.
    pub(crate) fn for_lost_rows(mut self) -> Self {
        if self.kind.is_retryable() {
            self.kind = ErrorKind::Io;
        }
        self
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn subject(&self) -> Subject {
        self.subject
    }

    pub(crate) fn error(&self) -> Error {
        Error::new(self.kind, self.subject, self.message.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_rows_are_not_merely_late() {
        let full = Failure::new(ErrorKind::Busy, Subject::Disk, "no space").for_lost_rows().error();
        assert_eq!((full.kind(), full.subject()), (ErrorKind::Io, Subject::Disk));
        let damaged = Failure::new(ErrorKind::Corrupt, Subject::File, "torn").for_lost_rows().error();
        assert_eq!(damaged.kind(), ErrorKind::Corrupt);
    }
}
