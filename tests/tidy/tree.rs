//! The files of the repository.

use crate::code;
use std::path::{Path, PathBuf};

/// One source file.
pub struct Source {
    /// From the repository's root, with `/`.
    pub path: String,
    pub text: String,
    /// The text with comments and literals blanked out, line for line.
    pub code: String,
}

/// Asked of cargo when the test runs: two checkouts that share a target directory share this binary too.
pub fn root() -> PathBuf {
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    package.parent().unwrap().to_owned()
}

pub fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// All sources with this ending below the given folders.
pub fn sources(folders: &[&str], ending: &str) -> Vec<Source> {
    let mut found = Vec::new();
    for folder in folders {
        walk(&root().join(folder), ending, &mut found);
    }
    found.sort_by(|a: &Source, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "no {ending} in {folders:?}");
    found
}

pub fn all_rust() -> Vec<Source> {
    sources(&["native", "tests", "benches"], ".rs")
}

pub fn all_java() -> Vec<Source> {
    sources(&["jvm-connector"], ".java")
}

/// What goes into the library: the rooms' sources without their unit tests.
pub fn production() -> Vec<Source> {
    let mut rooms = sources(&["native"], ".rs");
    rooms.retain(|s| {
        let mut parts = s.path.split('/').skip(1);
        let room = parts.next().unwrap_or("");
        !["testkit", "rocksdb-archive"].contains(&room)
            && parts.next() == Some("src")
            && !parts.any(|p| p == "tests" || p == "tests.rs")
    });
    for source in &mut rooms {
        source.code = code::without_tests(&source.code);
    }
    rooms
}

fn walk(dir: &Path, ending: &str, found: &mut Vec<Source>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if !["target", "build", "node_modules"].contains(&name) && !name.starts_with('.') {
                walk(&path, ending, found);
            }
        } else if name.ends_with(ending) {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = code::strip(&text);
            found.push(Source { path: path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned(), text, code });
        }
    }
}
