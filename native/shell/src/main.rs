//! The binary `sluice`.

use std::process::ExitCode;

fn main() -> ExitCode {
    sluice_shell::main(std::env::args().skip(1))
}
