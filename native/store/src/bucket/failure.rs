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
