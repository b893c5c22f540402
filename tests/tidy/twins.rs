//! What must be equal in Rust and Java.

use crate::{code, none, tree};
use std::collections::{BTreeMap, BTreeSet};

const JAVA: &str = "jvm-connector/native-api/src/main/java/io/sluice/store";

/// `Name = 1,` inside `enum <name>`, in Java's spelling.
fn rust_codes(name: &str) -> BTreeMap<String, i32> {
    let code = code::strip(&tree::read("native/base/src/error.rs"));
    let at = code.find(&format!("enum {name} {{")).unwrap();
    let open = at + code[at..].find('{').unwrap();
    let body = &code[open + 1..code::block_end(&code, open) - 1];
    let entry = |part: &str| {
        let (name, number) = part.split_once('=')?;
        Some((shouted(name.trim()), number.trim().parse().ok()?))
    };
    body.split(',').filter_map(entry).collect()
}

/// `AlreadyExists` as `ALREADY_EXISTS`.
fn shouted(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_uppercase());
    }
    out
}

/// `NAME(1)` in a Java enum.
fn java_codes(name: &str) -> BTreeMap<String, i32> {
    let code = code::strip(&tree::read(&format!("{JAVA}/{name}.java")));
    let open = code.find('{').unwrap();
    let constants = code[open + 1..].split(';').next().unwrap();
    let entry = |part: &str| {
        let (name, number) = part.trim().split_once('(')?;
        Some((name.trim().to_owned(), number.trim_end_matches(')').parse().ok()?))
    };
    constants.split(',').filter_map(entry).collect()
}

#[test]
fn error_codes() {
    for (name, least) in [("ErrorKind", 12), ("Subject", 14)] {
        let codes = rust_codes(name);
        assert!(codes.len() >= least, "{name}: {codes:?}");
        assert_eq!(codes, java_codes(name), "{name}");
    }
}

#[test]
fn native_methods() {
    let mut methods = BTreeSet::new();
    for source in tree::sources(&[JAVA], ".java") {
        let class = source.path.rsplit('/').next().unwrap().trim_end_matches(".java");
        for at in code::find_word(&source.code, "native") {
            let heading = source.code[at..].split('(').next().unwrap();
            methods.insert(format!("Java_io_sluice_store_{class}_{}", heading.rsplit(' ').next().unwrap()));
            if !class.starts_with("Native") {
                none(vec![format!("{}: only Native* classes declare native methods", source.path)]);
            }
        }
    }
    let mut exports = BTreeSet::new();
    for source in tree::sources(&["native/jni/src"], ".rs") {
        for (at, _) in source.code.match_indices("Java_io_sluice_store_") {
            exports.insert(source.code[at..].chars().take_while(|c| code::is_word(*c)).collect::<String>());
        }
    }
    assert!(methods.len() > 10, "{methods:?}");
    assert_eq!(methods, exports, "native methods of Java and exports of Rust");
}
