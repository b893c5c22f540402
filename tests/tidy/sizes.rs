//! Lengths of files and functions.

use crate::tree::Source;
use crate::{code, none, tree};

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;

#[test]
fn files() {
    let long = tree::all_rust().into_iter().chain(tree::all_java()).filter_map(|s| {
        let lines = s.text.lines().count();
        (lines > FILE_LINES_MAX)
            .then(|| format!("{} has {lines} lines, more than {FILE_LINES_MAX}: which two nouns are inside?", s.path))
    });
    none(long.collect());
}

#[test]
fn functions() {
    let mut complaints = Vec::new();
    for source in tree::all_rust() {
        complain(&source, rust_functions(&source.code), &mut complaints);
    }
    for source in tree::all_java() {
        complain(&source, java_methods(&source.code), &mut complaints);
    }
    none(complaints);
}

fn complain(source: &Source, functions: Vec<(String, usize, usize)>, complaints: &mut Vec<String>) {
    for (name, first, last) in functions {
        let lines = last - first + 1;
        if lines > FUNCTION_LINES_MAX {
            complaints
                .push(format!("{}:{first} {name} has {lines} lines, more than {FUNCTION_LINES_MAX}", source.path));
        }
    }
}

/// Name, first and last line of every function with a body.
fn rust_functions(text: &str) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    for at in code::find_word(text, "fn") {
        let rest = text[at + 2..].trim_start();
        let name: String = rest.chars().take_while(|c| code::is_word(*c)).collect();
        if let (false, Some((open, '{'))) = (name.is_empty(), code::body_or_end(text, at)) {
            found.push((name, code::line_of(text, at), code::line_of(text, code::block_end(text, open) - 1)));
        }
    }
    found
}

/// The same for Java: a block whose heading, back to the last `;`, `{` or `}`, has parameters and no word of a statement or type.
fn java_methods(text: &str) -> Vec<(String, usize, usize)> {
    const OTHERS: &[&str] = &[
        "class",
        "interface",
        "enum",
        "new",
        "if",
        "for",
        "while",
        "switch",
        "catch",
        "try",
        "synchronized",
        "do",
        "else",
        "return",
    ];
    let mut found = Vec::new();
    for (open, _) in text.match_indices('{') {
        let start = text[..open].rfind([';', '{', '}']).map_or(0, |i| i + 1);
        let heading = &text[start..open];
        let Some(parameters) = heading.find('(') else { continue };
        if heading.contains("->")
            || heading.contains('=') && !heading.contains('@')
            || OTHERS.iter().any(|w| code::find_word(heading, w).next().is_some())
        {
            continue;
        }
        let name: String =
            heading[..parameters].trim_end().rsplit(|c: char| !code::is_word(c)).next().unwrap_or("").to_owned();
        let first = start + heading.len() - heading.trim_start().len();
        found.push((name, code::line_of(text, first), code::line_of(text, code::block_end(text, open) - 1)));
    }
    found
}

#[test]
fn finds_functions_of_both_languages() {
    let rust = "fn a(x: [u8; 2]) -> u8 {\n  if x {\n }\n}\ntrait T { fn b(); fn c() {\n} }\nlet f: fn(u8) = g;";
    assert_eq!(rust_functions(rust), [("a".to_owned(), 1, 4), ("c".to_owned(), 5, 6)]);
    let java = "class A {\n  A(int x) {\n  }\n  int b(List<C> c)\n      throws D {\n    if (x) {\n    }\n    run(() -> {\n    });\n  }\n}";
    assert_eq!(java_methods(java), [("A".to_owned(), 2, 3), ("b".to_owned(), 4, 10)]);
}
