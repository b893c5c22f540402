//! Standard output, and whether somebody still reads it.

use sluice_base::{Error, ErrorKind, Result};
use std::io::{BufWriter, Stdout, Write};

/// Where results go.
#[derive(Debug)]
pub(crate) struct Output {
    stdout: BufWriter<Stdout>,
    gone: bool,
}

impl Default for Output {
    fn default() -> Self {
        Self { stdout: BufWriter::new(std::io::stdout()), gone: false }
    }
}

impl Output {
    fn done(&mut self, outcome: std::io::Result<()>) -> Result<()> {
        outcome.map_err(|e| {
            self.gone = e.kind() == std::io::ErrorKind::BrokenPipe;
            Error::io("write to standard output", e)
        })
    }

    /// # Errors
    /// `Io`; also when nobody reads any more, see [`Output::is_gone`].
    pub(crate) fn write(&mut self, text: &str) -> Result<()> {
        let outcome = self.stdout.write_all(text.as_bytes());
        self.done(outcome)
    }

    /// # Errors
    /// As [`Output::write`].
    pub(crate) fn line(&mut self, text: &str) -> Result<()> {
        self.write(text)?;
        self.write("\n")
    }

    /// # Errors
    /// As [`Output::write`].
    pub(crate) fn flush(&mut self) -> Result<()> {
        if self.gone {
            return Err(Error::new(ErrorKind::Closed, sluice_base::Subject::None, "nobody reads the output"));
        }
        let outcome = self.stdout.flush();
        self.done(outcome)
    }

    /// Whether the reader has closed its end.
    pub(crate) const fn is_gone(&self) -> bool {
        self.gone
    }
}
