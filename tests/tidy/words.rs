//! Bans on words and characters, and what every file begins with.

use crate::{code, none, tree};

#[test]
fn nothing_is_left_for_later() {
    let (todo, fixme) = (concat!("TO", "DO"), concat!("FIX", "ME"));
    let mut complaints = Vec::new();
    for source in tree::all_rust().into_iter().chain(tree::all_java()) {
        for word in [todo, fixme] {
            let found = code::find_word(&source.text, word)
                .map(|at| format!("{}:{} says {word}", source.path, code::line_of(&source.text, at)));
            complaints.extend(found);
        }
        for call in ["todo!", "unimplemented!"] {
            if source.code.contains(call) {
                complaints.push(format!("{} calls {call}", source.path));
            }
        }
    }
    none(complaints);
}

/// Files of tests are named by the sentence that they prove.
#[test]
fn every_rust_file_says_what_it_owns() {
    let is_sentence =
        |path: &str| path.ends_with("/tests.rs") || path.starts_with("tests/") && !path.ends_with("/main.rs");
    let silent = tree::all_rust().into_iter().filter(|s| !s.text.starts_with("//! ") && !is_sentence(&s.path));
    none(silent.map(|s| format!("{} does not begin with //!", s.path)).collect());
}

#[test]
fn every_java_class_has_a_javadoc() {
    let bare = tree::all_java().into_iter().filter(|s| {
        let Some(at) = ["class ", "interface ", "enum ", "package "].iter().filter_map(|w| s.code.find(w)).max() else {
            return false;
        };
        let kind = if s.path.ends_with("package-info.java") {
            s.text.find("/**").is_some()
        } else {
            javadoc_before(&s.text, at)
        };
        !kind
    });
    none(bare.map(|s| format!("{} has no Javadoc on its class", s.path)).collect());
}

/// Whether a Javadoc stands somewhere between the imports and the type.
fn javadoc_before(text: &str, at: usize) -> bool {
    let head = text.get(..at).unwrap_or(text);
    let imports = head.rfind("\nimport ").unwrap_or(0);
    head[imports..].contains("/**")
}

#[test]
fn identifiers_are_ascii() {
    let mut complaints = Vec::new();
    for source in tree::all_rust().into_iter().chain(tree::all_java()) {
        if let Some(at) = source.code.find(|c: char| !c.is_ascii()) {
            complaints.push(format!(
                "{}:{} has a character outside ASCII in code",
                source.path,
                code::line_of(&source.code, at)
            ));
        }
    }
    none(complaints);
}

#[test]
fn no_file_is_named_for_nothing() {
    const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "manager", "misc", "impl", "v2"];
    let named = tree::all_rust().into_iter().chain(tree::all_java()).filter(|s| {
        s.path.split('/').any(|part| {
            EMPTY_NAMES.contains(&part.trim_end_matches(".rs").trim_end_matches(".java").to_lowercase().as_str())
        }) || ["Utils.java", "Util.java", "Helper.java", "Manager.java"].iter().any(|end| s.path.ends_with(end))
    });
    none(named.map(|s| format!("{}: the name says nothing", s.path)).collect());
}

/// A file that no `mod` names is compiled by nobody.
#[test]
fn no_rust_file_is_dead() {
    let all = tree::all_rust();
    let mut complaints = Vec::new();
    for source in &all {
        let Some((dir, name)) = source.path.rsplit_once('/') else { continue };
        let module = name.trim_end_matches(".rs");
        let (dir, module) = if module == "mod" { dir.rsplit_once('/').unwrap() } else { (dir, module) };
        let is_root = ["lib", "main", "build"].contains(&module) || !dir.contains("/src") && !dir.starts_with("tests/");
        let parents = [format!("{dir}/lib.rs"), format!("{dir}/main.rs"), format!("{dir}/mod.rs"), format!("{dir}.rs")];
        let named = |s: &tree::Source| parents.contains(&s.path) && s.code.contains(&format!("mod {module};"));
        if !is_root && !all.iter().any(named) {
            complaints.push(format!("{} is in no module", source.path));
        }
    }
    none(complaints);
}
