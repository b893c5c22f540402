//! Names of databases, tables and partitions: they become names in the file system, so one rule holds for all.

use sluice_base::{Error, Result, Subject};
use sluice_row::TablePath;

const NAME_CHARS_MAX: usize = 200;

/// Checks a database's name.
///
/// # Errors
/// `Invalid` about `Database`.
pub(crate) fn check_database(name: &str) -> Result<()> {
    check(name, "database", Subject::Database)
}

/// Checks both names of a table's path.
///
/// # Errors
/// `Invalid` about `Database` or `Table`.
pub(crate) fn check_path(path: &TablePath) -> Result<()> {
    check_database(&path.database)?;
    check(&path.table, "table", Subject::Table)
}

/// Checks one value of a partition's name.
///
/// # Errors
/// `Invalid` about `Partition`, naming the column.
pub(crate) fn check_partition_value(column: &str, value: &str) -> Result<()> {
    check(value, &format!("partition column '{column}': the value"), Subject::Partition)
}

fn check(name: &str, what: &str, subject: Subject) -> Result<()> {
    let Some(why) = fault(name) else { return Ok(()) };
    // A name of any length and content came from outside; what is shown of it stays on one line.
    let shown: String = name.chars().take(NAME_CHARS_MAX).flat_map(char::escape_debug).collect();
    let what = if subject == Subject::Partition { what.to_owned() } else { format!("{what} name") };
    Err(Error::invalid(subject, format!("{what} '{shown}' is invalid: {why}")))
}

fn fault(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("it is empty".to_owned());
    }
    if name == "." || name == ".." {
        return Some("'.' and '..' are not allowed".to_owned());
    }
    if name.chars().count() > NAME_CHARS_MAX {
        return Some(format!("it is longer than {NAME_CHARS_MAX} characters"));
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        return Some("only ASCII letters, digits, '_' and '-' are allowed".to_owned());
    }
    name.starts_with("__").then(|| "what begins with '__' is reserved".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules() {
        let long = "x".repeat(200);
        for good in ["a", "A-b_9", "_x", "-", long.as_str()] {
            check_database(good).unwrap();
        }
        let too_long = "x".repeat(201);
        for (bad, part) in [
            ("", "empty"),
            (".", "'.'"),
            ("..", "'.'"),
            ("a.b", "only ASCII"),
            ("größe", "only ASCII"),
            ("a b", "only ASCII"),
            ("a/b", "only ASCII"),
            ("a\nb", "'a\\nb'"),
            ("__x", "reserved"),
            (too_long.as_str(), "200"),
        ] {
            let e = check_database(bad).unwrap_err();
            assert!(e.message().starts_with("database name '") && e.message().contains("is invalid"), "{e}");
            assert!(e.message().contains(part) && !e.message().contains('\n'), "{e}");
        }
        assert_eq!(check_path(&TablePath::new("d", "a$b")).unwrap_err().subject(), Subject::Table);
        assert_eq!(check_path(&TablePath::new("d$", "b")).unwrap_err().subject(), Subject::Database);
    }
}
