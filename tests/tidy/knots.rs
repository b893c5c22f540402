//! Import cycles between the top modules of one crate.

use crate::{code, none, tree};
use std::collections::{BTreeMap, BTreeSet};

type Graph = BTreeMap<String, BTreeSet<String>>;

/// The module of a file below `src/`, `None` for the root itself; and how many `super::` lead to the root.
fn module_of(path_in_src: &str) -> Option<(String, usize)> {
    let parts: Vec<&str> = path_in_src.trim_end_matches(".rs").split('/').filter(|p| *p != "mod").collect();
    let first = *parts.first()?;
    (!["lib", "main"].contains(&first)).then(|| (first.to_owned(), parts.len()))
}

/// First names of a path or a `{group}` of paths.
fn first_names(text: &str) -> Vec<String> {
    let word = |t: &str| t.trim_start().chars().take_while(|c| code::is_word(*c)).collect::<String>();
    if !text.starts_with('{') {
        return vec![word(text)];
    }
    let group = &text[1..code::block_end(text, 0) - 1];
    let mut names = Vec::new();
    let mut depth = 0;
    for part in group.split_inclusive([',', '{', '}']) {
        if depth == 0 {
            names.push(word(part));
        }
        depth += part.matches('{').count();
        depth -= part.matches('}').count().min(depth);
    }
    names
}

/// Names that the root hands on, with the module that they come from.
fn handed_on(root: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for at in code::find_word(root, "use") {
        let statement = root[at + 3..].split(';').next().unwrap_or("").trim();
        if let Some((module, rest)) = statement.split_once("::") {
            for name in rest.split(|c: char| !code::is_word(c)).filter(|n| !n.is_empty()) {
                names.insert(name.to_owned(), module.trim().to_owned());
            }
        }
    }
    names
}

fn graph(files: &[(String, String)]) -> Graph {
    let root = files.iter().find(|(p, _)| p == "lib.rs" || p == "main.rs").map_or("", |(_, c)| c.as_str());
    let aliases = handed_on(root);
    let modules: BTreeSet<String> = files.iter().filter_map(|(p, _)| module_of(p)).map(|(m, _)| m).collect();
    let mut graph: Graph = modules.iter().map(|m| (m.clone(), BTreeSet::new())).collect();
    for (path, text) in files {
        let Some((module, depth)) = module_of(path) else { continue };
        let ups = "super::".repeat(depth);
        let starts = text.match_indices("crate::").map(|(i, s)| i + s.len());
        let starts = starts
            .chain(text.match_indices(&ups).filter(|(i, _)| !text[..*i].ends_with("::")).map(|(i, s)| i + s.len()));
        for name in starts.flat_map(|i| first_names(&text[i..])) {
            let target = if modules.contains(&name) { Some(&name) } else { aliases.get(&name) };
            if let Some(target) = target.filter(|t| **t != module && modules.contains(*t)) {
                graph.entry(module.clone()).or_default().insert(target.clone());
            }
        }
    }
    graph
}

fn reaches(graph: &Graph, from: &str) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&String> = graph[from].iter().collect();
    while let Some(next) = open.pop() {
        if seen.insert(next.clone()) {
            open.extend(&graph[next]);
        }
    }
    seen
}

/// Sets of modules that all reach each other.
fn knots(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<String>> = graph.keys().map(|m| (m, reaches(graph, m))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (module, there) in &reached {
        let knot: BTreeSet<String> = there.iter().filter(|t| reached[t].contains(*module)).cloned().collect();
        if !knot.is_empty() && !found.contains(&knot) {
            found.push(knot);
        }
    }
    found
}

#[test]
fn no_crate_has_one() {
    let mut crates: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for source in tree::production() {
        let (name, path) = source.path.split_once("/src/").unwrap();
        crates.entry(name.to_owned()).or_default().push((path.to_owned(), source.code));
    }
    let mut complaints = Vec::new();
    for (name, files) in crates {
        let graph = graph(&files);
        for knot in knots(&graph) {
            let edges = knot.iter().flat_map(|m| graph[m].intersection(&knot).map(move |t| format!("{m} -> {t}")));
            complaints.push(format!("{name}: {}", edges.collect::<Vec<_>>().join(", ")));
        }
    }
    none(complaints);
}

#[test]
fn a_cycle_is_found_and_a_line_is_not() {
    let file = |p: &str, c: &str| (p.to_owned(), c.to_owned());
    let line = [
        file("lib.rs", "mod a; pub use b::{B, C};"),
        file("a.rs", "use crate::B; crate::c::f()"),
        file("b/mod.rs", "use super::c;"),
        file("c.rs", ""),
    ];
    assert!(knots(&graph(&line)).is_empty());
    assert_eq!(graph(&line)["a"], BTreeSet::from(["b".to_owned(), "c".to_owned()]));
    let cycle = [&line[..3], &[file("c/deep.rs", "use super::super::{x::y, a::{p, q}};")]].concat();
    assert_eq!(knots(&graph(&cycle)), [BTreeSet::from(["a".to_owned(), "b".to_owned(), "c".to_owned()])]);
}
