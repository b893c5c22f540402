//! Names that a user may have meant.

/// So many are named.
const NEAR_MAX: usize = 3;

/// `; near it is a`, `; near it are a, b`, or nothing when none is.
pub(crate) fn near<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let far = (name.chars().count() / 3).clamp(1, 3);
    let mut found: Vec<(usize, &str)> =
        known.map(|k| (distance(&name.to_lowercase(), &k.to_lowercase()), k)).filter(|(d, _)| *d <= far).collect();
    found.sort_unstable();
    let names: Vec<&str> = found.into_iter().take(NEAR_MAX).map(|(_, k)| k).collect();
    match names.len() {
        0 => String::new(),
        1 => format!("; near it is {}", names.concat()),
        _ => format!("; near it are {}", names.join(", ")),
    }
}

/// How many characters must be put in, taken out or changed; two neighbours that changed places count once.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (rows[i][j] + usize::from(x != y)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_changes_are_near() {
        for (a, b, far) in
            [("", "", 0), ("abc", "abc", 0), ("orders", "ordres", 1), ("a", "xyz", 3), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(a, b), far, "{a} {b}");
        }
        assert_eq!(near("order", ["orders", "Order", "users"].into_iter()), "; near it are Order, orders");
        assert_eq!(near("x", ["orders"].into_iter()), "");
    }
}
