//! Edges between crates, as Cargo sees them.

use crate::{none, tree};
use std::collections::{BTreeMap, BTreeSet};

/// Which rooms each room may name. Tests, benches and the test kit may see all; nothing sees them.
const EDGES: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("row", &["base"]),
    ("log", &["base", "row"]),
    ("kv", &["base", "row"]),
    ("lake", &["base", "row"]),
    ("api", &["base", "row"]),
    ("store", &["api", "base", "kv", "lake", "log", "row"]),
    ("client", &["api", "base", "log", "row", "wire"]),
    ("jni", &["api", "base", "client", "row", "store"]),
    ("wire", &["base", "row"]),
    ("server", &["api", "base", "log", "row", "store", "wire"]),
    ("shell", &["api", "base", "client", "row", "server", "store"]),
];

/// Crates that only some rooms may name.
const OWNERS: &[(&str, &[&str])] = &[
    ("rocksdb", &["kv"]),
    ("roaring", &["kv"]),
    ("parquet", &["lake"]),
    ("apache-avro", &["lake"]),
    ("object_store", &["lake"]),
    ("jni", &["jni"]),
    ("prost", &["wire"]),
    ("tokio", &["client", "lake", "server"]),
    ("rand", &[]),
    ("tempfile", &[]),
    ("proptest", &[]),
    ("criterion", &[]),
];

/// Names under each heading of a manifest.
fn dependencies(manifest: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut sections: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut section = String::new();
    for line in manifest.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned();
            // `[dependencies.x]` is another way to write it.
            if let Some((kind, name)) = section.clone().split_once("ependencies.") {
                sections.entry(format!("{kind}ependencies")).or_default().insert(name.to_owned());
            }
        } else if section.ends_with("ependencies") {
            let name = line.split(['=', '.', ' ']).next().unwrap_or("").trim_matches('"');
            sections.entry(section.clone()).or_default().insert(name.to_owned());
        }
    }
    sections
}

fn manifest(room: &str) -> BTreeMap<String, BTreeSet<String>> {
    dependencies(&tree::read(&format!("native/{room}/Cargo.toml")))
}

#[test]
fn rooms_name_exactly_the_rooms_beneath_them() {
    let mut complaints = Vec::new();
    for (room, edges) in EDGES {
        let sections = manifest(room);
        let rooms: BTreeSet<&str> =
            sections.get("dependencies").into_iter().flatten().filter_map(|d| d.strip_prefix("sluice-")).collect();
        let wanted: BTreeSet<&str> = edges.iter().copied().collect();
        if rooms != wanted {
            complaints.push(format!("native/{room}/Cargo.toml names {rooms:?}, the plan says {wanted:?}"));
        }
        for (section, names) in &sections {
            for name in names.iter().filter_map(|d| d.strip_prefix("sluice-")) {
                let fine =
                    edges.contains(&name) || section == "dev-dependencies" && (name == "testkit" || name == *room);
                if !fine {
                    complaints.push(format!("native/{room}/Cargo.toml: [{section}] must not name sluice-{name}"));
                }
            }
        }
    }
    none(complaints);
}

#[test]
fn every_crate_of_the_workspace_is_known() {
    let members: BTreeSet<String> = std::fs::read_dir(tree::root().join("native"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    let known: BTreeSet<String> =
        EDGES.iter().map(|(room, _)| *room).chain(["testkit", "rocksdb-archive"]).map(str::to_owned).collect();
    assert_eq!(members, known, "a new room needs its line in this test, and in docs/architecture.md");
}

#[test]
fn some_crates_have_one_room() {
    let mut complaints = Vec::new();
    for (room, _) in EDGES {
        let names = manifest(room).remove("dependencies").unwrap_or_default();
        for (name, owners) in OWNERS {
            if names.contains(*name) && !owners.contains(room) {
                complaints.push(format!("native/{room}/Cargo.toml must not depend on {name}"));
            }
        }
        if *room == "base" && !names.is_empty() {
            complaints.push(format!("native/base/Cargo.toml depends on {names:?}; the ground floor stands on nothing"));
        }
    }
    none(complaints);
}

#[test]
fn arrow_and_parquet_stay_on_one_major() {
    let manifest = tree::read("Cargo.toml");
    let lines: Vec<&str> = manifest.lines().filter(|l| l.starts_with("arrow") || l.starts_with("parquet")).collect();
    assert!(lines.len() >= 6);
    none(
        lines
            .into_iter()
            .filter(|l| !l.contains("version = \"59\""))
            .map(|l| format!("Cargo.toml: not on 59: {l}"))
            .collect(),
    );
    let lock = tree::read("Cargo.lock");
    let packages = lock.split("[[package]]").filter_map(|p| {
        let line = |key: &str| p.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'));
        Some((line("name")?, line("version")?))
    });
    let strays = packages
        .filter(|(name, version)| (name.starts_with("arrow") || *name == "parquet") && !version.starts_with("59."));
    none(strays.map(|(name, version)| format!("Cargo.lock: {name} {version}")).collect());
}

#[test]
fn versions_stand_in_the_workspace_alone() {
    let mut complaints = Vec::new();
    for (room, _) in EDGES.iter().chain(&[("testkit", &[] as &[&str])]) {
        let text = tree::read(&format!("native/{room}/Cargo.toml"));
        let own = text.lines().filter(|l| l.contains("version = \"") || l.contains("= \"") && l.starts_with("arrow"));
        complaints.extend(own.map(|l| format!("native/{room}/Cargo.toml gives a version of its own: {l}")));
    }
    none(complaints);
}
