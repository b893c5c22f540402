//! What one does with tables from a shell, and the server: the commands of the binary `sluice`.
//!
//! Owns the command line, text tables, JSON lines, and how both become rows. Everything is asked of [`sluice_api::Connection`], whichever store
//! is behind it.
//!
//! Reading order: `words` (the command line), `place` (which store), then a file for each command.

mod append;
mod calendar;
mod cell;
mod columns;
mod csv;
mod describe;
mod grid;
mod input;
mod lookup;
mod name;
mod output;
mod place;
mod scalar;
mod scan;
mod serve;
mod tables;
mod words;

use output::Output;
use sluice_base::Result;
use std::io::Write as _;
use std::process::ExitCode;
use words::{Command, Words};

/// Does a command.
fn run(command: &Command, words: &Words, out: &mut Output) -> Result<()> {
    match command.name {
        "server" => serve::serve(words, out),
        "tables" => tables::tables(words, out),
        "describe" => describe::describe(words, out),
        "scan" => scan::scan(words, out),
        "lookup" => lookup::lookup(words, out),
        _ => append::append(words, out),
    }
}

/// Does what a command line says; `words` are without the program's name.
pub fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let mut out = Output::default();
    let done = words::read(words).and_then(|asked| match asked {
        words::Asked::Text(text) => out.write(&text),
        words::Asked::Command(command, words) => run(command, &words, &mut out),
    });
    match done.and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever closed the pipe has what it wants.
        Err(_) if out.is_gone() => ExitCode::SUCCESS,
        Err(e) => {
            // Nowhere is left to say it when this fails.
            let _ = writeln!(std::io::stderr(), "sluice: {e}");
            ExitCode::FAILURE
        }
    }
}
