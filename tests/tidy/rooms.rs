//! What only one room may name.

use crate::{code, none, tree};

/// A word, and the beginnings of the paths that may hold it.
const OWNED: &[(&str, &[&str])] = &[
    ("std::fs", &["native/base/src/fs.rs"]),
    ("SystemTime", &["native/base/src/clock.rs"]),
    ("rocksdb", &["native/kv/src/"]),
    ("parquet", &["native/lake/src/"]),
    ("apache_avro", &["native/lake/src/"]),
    ("jni", &["native/jni/src/"]),
    ("rand", &[]),
    ("println", &[]),
    ("eprintln", &[]),
    ("dbg", &[]),
];

#[test]
fn words_stay_in_their_rooms() {
    let mut complaints = Vec::new();
    for source in tree::production() {
        for (word, places) in OWNED {
            if places.iter().any(|p| source.path.starts_with(p)) {
                continue;
            }
            for at in code::find_word(&source.code, word) {
                complaints.push(format!(
                    "{}:{} names {word}, which belongs to {places:?}",
                    source.path,
                    code::line_of(&source.code, at)
                ));
            }
        }
    }
    none(complaints);
}

#[test]
fn flink_stays_in_the_connector() {
    let mut complaints = Vec::new();
    for source in tree::all_java() {
        let connector = source.path.starts_with("jvm-connector/flink");
        if !connector && source.code.contains("org.apache.flink") {
            complaints.push(format!("{} names org.apache.flink", source.path));
        }
        if connector && code::find_word(&source.code, "native").next().is_some() {
            complaints.push(format!("{} declares a native method", source.path));
        }
    }
    none(complaints);
}
