//! Starting the other process, killing it, and what it had said until then.

use crate::child::{MARK, Mode, WORK};
use crate::plan::Kind;
use sluice_base::Offset;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A running process of ours. Dropping it kills it.
pub struct Other {
    child: Child,
    lines: Receiver<String>,
    heard: Vec<String>,
}

impl Other {
    pub fn start(mode: Mode, seed: u64, life: i32, dir: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child::the_process_that_is_killed", "--nocapture"])
            .env(WORK, format!("{mode:?} {seed} {life} {}", dir.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = listen(child.stdout.take().unwrap());
        Self { child, lines, heard: Vec::new() }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it says something that begins so.
    pub fn wait_for(&mut self, beginning: &str) {
        loop {
            let Ok(line) = self.lines.recv_timeout(Duration::from_secs(60)) else {
                panic!("the process never said '{beginning}', but {:?}; {:?}", self.heard, self.child.try_wait());
            };
            let found = line.starts_with(beginning);
            self.heard.push(line);
            if found {
                return;
            }
        }
    }

    /// SIGKILL; what it said.
    pub fn kill(mut self) -> Said {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "the process ended by itself: {status}; it said {:?}", self.heard);
        let mut heard = std::mem::take(&mut self.heard);
        heard.extend(self.lines.iter());
        Said::of(&heard)
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // Only after a panic of the test is it still there.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whole lines that are meant for us; the channel ends with the process.
fn listen(out: ChildStdout) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        let mut out = BufReader::new(out);
        let mut line = String::new();
        while out.read_line(&mut line).is_ok_and(|n| n > 0) {
            // The test harness writes the beginning of a line of its own.
            if let Some((_, said)) = line.strip_suffix('\n').and_then(|l| l.split_once(MARK)) {
                let _ = send.send(said.to_owned());
            }
            line.clear();
        }
    });
    lines
}

/// A snapshot that the process held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub bucket: i32,
    pub id: u64,
    pub offset: Offset,
}

/// What a process had been promised when it was killed.
#[derive(Debug, Default, Clone)]
pub struct Said {
    /// Rows of a table and writer below this are durable.
    pub acknowledged: BTreeMap<(Kind, i32), i64>,
    /// A reader had read so far in a table's bucket.
    pub seen: BTreeMap<(Kind, i32), Offset>,
    pub held: Vec<Held>,
    /// Tables, and how far their life had gone: the last word said of each.
    pub tables: BTreeMap<String, String>,
    pub opened: bool,
}

impl Said {
    fn of(lines: &[String]) -> Self {
        let mut said = Self::default();
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["ack", table, writer, seq] => {
                    said.acknowledged.insert((Kind::of(table), writer.parse().unwrap()), seq.parse().unwrap());
                }
                ["seen", table, bucket, offset] => {
                    let offset: Offset = offset.parse().unwrap();
                    let before = said.seen.insert((Kind::of(table), bucket.parse().unwrap()), offset);
                    assert!(before.is_none_or(|b| b < offset), "a reader went back in {table} {bucket}: {offset}");
                }
                ["snapshot", bucket, id, offset] => said.held.push(Held {
                    bucket: bucket.parse().unwrap(),
                    id: id.parse().unwrap(),
                    offset: offset.parse().unwrap(),
                }),
                ["releasing"] => said.held.clear(),
                [word @ ("created" | "filled" | "dropping" | "dropped"), table] => {
                    said.tables.insert(table.to_owned(), word.to_owned());
                }
                ["opening"] => {}
                ["opened"] => said.opened = true,
                _ => panic!("a line that nobody knows: {line}"),
            }
        }
        said
    }
}
