//! Just enough of the grammar of Rust and Java to tell code from comments and literals, and where blocks end.

/// Blanks out comments, strings and character literals; every character keeps its line.
pub fn strip(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_end(&chars, at);
        if end > at {
            out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}

/// The end of the comment or literal that begins at `at`, or `at` when none does.
fn literal_end(chars: &[char], at: usize) -> usize {
    let next = |i: usize| chars.get(at + i).copied().unwrap_or('\0');
    let in_word = at > 0 && is_word(chars[at - 1]);
    match chars[at] {
        '/' if next(1) == '/' => chars[at..].iter().position(|c| *c == '\n').map_or(chars.len(), |n| at + n),
        '/' if next(1) == '*' => comment_end(chars, at),
        '"' => quoted_end(chars, at + 1, '"'),
        '\'' if next(1) == '\\' => quoted_end(chars, at + 1, '\''),
        // A lifetime has no closing quote after one character.
        '\'' if next(2) == '\'' => at + 3,
        'r' | 'b' if !in_word => raw_end(chars, at).unwrap_or(at),
        _ => at,
    }
}

fn comment_end(chars: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut i = at;
    while i + 1 < chars.len() {
        match (chars[i], chars[i + 1]) {
            ('/', '*') => (depth, i) = (depth + 1, i + 2),
            ('*', '/') => {
                (depth, i) = (depth - 1, i + 2);
                if depth == 0 {
                    return i;
                }
            }
            _ => i += 1,
        }
    }
    chars.len()
}

fn quoted_end(chars: &[char], mut at: usize, quote: char) -> usize {
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// `r"…"`, `r#"…"#`, `br#"…"#`.
fn raw_end(chars: &[char], at: usize) -> Option<usize> {
    let mut i = at + usize::from(chars[at] == 'b');
    if chars.get(i) != Some(&'r') {
        return None;
    }
    i += 1;
    let hashes = chars[i..].iter().take_while(|c| **c == '#').count();
    if chars.get(i + hashes) != Some(&'"') {
        return None;
    }
    let closing: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let body = i + hashes + 1;
    let found = chars[body..].windows(closing.len()).position(|w| w == closing)?;
    Some(body + found + closing.len())
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Position after the bracket that closes the one at `open`; the text's end when none does.
pub fn block_end(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (i, c) in code[open..].char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return open + i + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// The next `{` or `;` outside brackets at or after `from`.
pub fn body_or_end(code: &str, from: usize) -> Option<(usize, char)> {
    let mut depth = 0_i32;
    for (i, c) in code[from..].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' | ';' if depth == 0 => return Some((from + i, c)),
            _ => {}
        }
    }
    None
}

/// Blanks out what is compiled for tests only.
pub fn without_tests(code: &str) -> String {
    let mut out = code.to_owned();
    for mark in ["#[cfg(test)]", "#![cfg(test)]"] {
        while let Some(at) = out.find(mark) {
            let end = match body_or_end(&out, at + mark.len()) {
                _ if mark.starts_with("#!") => out.len(),
                Some((open, '{')) => block_end(&out, open),
                Some((end, _)) => end + 1,
                None => out.len(),
            };
            let blank: String = out[at..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
            out.replace_range(at..end, &blank);
        }
    }
    out
}

/// Where `word` stands as a whole word.
pub fn find_word<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(i, _)| i).filter(move |i| {
        let before = code[..*i].chars().next_back();
        let after = code[*i + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

pub fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_comments_go_and_lines_stay() {
        let text = "a /* x /* y */\nz */ b // c\n\"d\\\"{\" 'e' '\\'' 'f: r#\"g\"h\"# br\"i\" for\"j\" b'k' l'";
        let stripped = strip(text);
        assert_eq!(stripped.matches('\n').count(), text.matches('\n').count());
        assert_eq!(stripped.split_whitespace().collect::<Vec<_>>(), ["a", "b", "'f:", "for", "b", "l'"]);
    }

    #[test]
    fn test_items_go() {
        let code = "fn a() {}\n#[cfg(test)]\nuse x;\n#[cfg(test)]\nmod tests { fn b() { {} } }\nfn c() -> [u8; 2] {}";
        assert_eq!(
            without_tests(code).split_whitespace().collect::<Vec<_>>().join(" "),
            "fn a() {} fn c() -> [u8; 2] {}"
        );
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(find_word("jni::x sluice_jni:: jni", "jni").collect::<Vec<_>>(), [0, 20]);
    }
}
