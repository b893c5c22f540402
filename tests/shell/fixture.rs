//! The real binary, stores for it, and servers that it starts.

use sluice_api::Connection;
use sluice_row::{Schema, TableDescriptor, TablePath};
use sluice_store::LocalStore;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What a run of the binary came to.
#[derive(Debug)]
pub struct Outcome {
    pub fine: bool,
    pub out: String,
    pub error: String,
}

impl Outcome {
    /// What it printed.
    pub fn done(self) -> String {
        assert!(self.fine, "{}", self.error);
        assert_eq!(self.error, "");
        self.out
    }

    /// What it complained about.
    pub fn refused(self) -> String {
        assert!(!self.fine, "it went through: {}", self.out);
        assert!(self.error.starts_with("sluice: ") && self.error.ends_with('\n'), "{}", self.error);
        assert_eq!(self.error.lines().count(), 1, "{}", self.error);
        self.error
    }
}

pub fn binary(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub fn run(words: &[&str], input: &str) -> Outcome {
    let mut child = binary(words).spawn().unwrap();
    // It need not read all of it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let done = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome { fine: done.status.success(), out: text(done.stdout), error: text(done.stderr) }
}

/// A directory with a store, and by which words commands are told of it.
pub struct Store {
    root: tempfile::TempDir,
    server: Option<(Child, String)>,
}

impl Store {
    pub fn new(tables: &[(&str, TableDescriptor)]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = LocalStore::open_shared(&root.path().join("store"), &BTreeMap::new()).unwrap();
        for (name, descriptor) in tables {
            store.create_table(&TablePath::new("fluss", *name), descriptor, false).unwrap();
        }
        store.close().unwrap();
        Self { root, server: None }
    }

    /// The same store behind a server.
    pub fn served(mut self) -> Self {
        let data = format!("data.dir={}", self.dir().display());
        let mut child = binary(&["server", "-D", &data, "-Dbind.listeners=FLUSS://127.0.0.1:0"]).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.split_whitespace().find(|word| word.contains(':')).map(str::to_owned);
        if address.is_none() {
            let mut error = String::new();
            child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
            panic!("no server: {error}");
        }
        self.server = address.map(|address| (child, address));
        self
    }

    pub fn dir(&self) -> PathBuf {
        self.root.path().join("store")
    }

    pub fn words<'a>(&'a self, words: &[&'a str], dir: &'a Path) -> Vec<&'a str> {
        let mut all = words.to_vec();
        match &self.server {
            Some((_, address)) => all.extend(["--bootstrap", address.as_str()]),
            None => all.extend(["--store", dir.to_str().unwrap()]),
        }
        all
    }

    pub fn run(&self, words: &[&str]) -> Outcome {
        self.feed(words, "")
    }

    pub fn feed(&self, words: &[&str], input: &str) -> Outcome {
        let dir = self.dir();
        run(&self.words(words, &dir), input)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some((mut child, _)) = self.server.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

/// A table of columns `name TYPE-JSON`, its key, the columns that choose its partitions and buckets.
pub fn table(columns: &[(&str, &str)], key: &[&str], partitions: &[&str], buckets: &[&str]) -> TableDescriptor {
    let strings = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    let columns: Vec<_> = columns
        .iter()
        .map(|(name, json)| {
            let json = if json.starts_with('{') { (*json).to_owned() } else { format!("{{\"type\":\"{json}\"}}") };
            let mut column: serde_json::Value = serde_json::json!({ "name": name });
            column["data_type"] = serde_json::from_str(&json).unwrap();
            if key.contains(name) || partitions.contains(name) {
                column["data_type"]["nullable"] = false.into();
            }
            serde_json::from_value(column).unwrap()
        })
        .collect();
    TableDescriptor {
        version: 1,
        schema: Schema::new(columns, strings(key)),
        comment: None,
        partition_key: strings(partitions),
        bucket_key: strings(buckets),
        bucket_count: Some(1),
        properties: BTreeMap::new(),
        custom_properties: BTreeMap::new(),
    }
}
