//! The binary `sluice`.

use sluice_base::{Error, Result, Subject};
use sluice_server::{Config, Server};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

const HELP: &str = "\
sluice: streaming storage that clients of the Fluss protocol talk to

  sluice server --config FILE [-D KEY=VALUE]...   serve until SIGTERM or SIGINT
  sluice --help                                   this
  sluice --version                                the version

FILE holds one 'key: value' a line, see conf/server.yaml; -D wins over it. The server prints where it is when it is ready, and where its page is if it has one.
After SIGTERM it answers what it has taken, closes its store and exits with 0.
";

/// Threads that wait for disks.
const BLOCKING_THREADS_MAX: usize = 256;

enum Command {
    Help,
    Version,
    Server { config: Option<PathBuf>, overrides: BTreeMap<String, String> },
}

fn usage(message: impl std::fmt::Display) -> Error {
    Error::invalid(Subject::Option, format!("{message}; see sluice --help"))
}

fn command(mut words: impl Iterator<Item = String>) -> Result<Command> {
    match words.next().as_deref() {
        None | Some("-h" | "--help" | "help") => return Ok(Command::Help),
        Some("-V" | "--version") => return Ok(Command::Version),
        Some("server") => {}
        Some(other) => return Err(usage(format_args!("there is no command '{other}'"))),
    }
    let (mut config, mut overrides) = (None, BTreeMap::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "-h" | "--help" => return Ok(Command::Help),
            "--config" => config = Some(words.next().map(PathBuf::from).ok_or_else(|| usage("--config needs a file"))?),
            _ if word.starts_with("-D") => {
                let setting = match word.strip_prefix("-D") {
                    Some("") | None => words.next().unwrap_or_default(),
                    Some(setting) => setting.to_owned(),
                };
                let (key, value) = setting.split_once('=').ok_or_else(|| usage("-D needs KEY=VALUE"))?;
                overrides.insert(key.trim().to_owned(), value.trim().to_owned());
            }
            other => return Err(usage(format_args!("there is no option '{other}'"))),
        }
    }
    Ok(Command::Server { config, overrides })
}

/// Says a line; whoever closed the pipe does not want it.
fn say(line: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

fn serve(config: &Config) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .thread_name("sluice-server")
        .build()
        .map_err(|e| Error::io("start the server's threads", e))?;
    let served = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).map_err(|e| Error::io("listen for SIGTERM", e))?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(|e| Error::io("listen for SIGINT", e))?;
        let server = Server::bind(config).await?;
        let page = server.http_address().map_or_else(String::new, |address| format!("its page: http://{address}/\n"));
        say(&format!("sluice server is ready at {} (process {})\n{page}", server.advertised(), std::process::id()));
        server
            .run(async move {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            })
            .await
    });
    // A write that waits for a full disk must not keep the process from ending.
    runtime.shutdown_background();
    served
}

fn main() -> ExitCode {
    let done = command(std::env::args().skip(1)).and_then(|command| match command {
        Command::Help => {
            say(HELP);
            Ok(())
        }
        Command::Version => {
            say(concat!("sluice ", env!("CARGO_PKG_VERSION"), "\n"));
            Ok(())
        }
        Command::Server { config, overrides } => serve(&Config::load(config.as_deref(), &overrides)?),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            // Nowhere is left to say it when this fails.
            let _ = writeln!(std::io::stderr(), "sluice: {e}");
            ExitCode::FAILURE
        }
    }
}
