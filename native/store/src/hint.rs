//! "Did you mean …?": the known word nearest to a misspelt one.

/// The candidate that a writer of `word` most likely meant: fewest single-letter edits, at most a third of its letters.
pub(crate) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let best = candidates.map(|c| (edits(word, c), c)).min_by_key(|(n, _)| *n)?;
    (best.0 <= best.1.len().div_ceil(3)).then_some(best.1)
}

fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(256).enumerate() {
        let mut left = i + 1;
        let mut diagonal = i;
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = *cell;
            left = replaced.min(diagonal + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(nearest("tabel.log.ttl", ["table.log.ttl", "x"].into_iter()), Some("table.log.ttl"));
    }
}
