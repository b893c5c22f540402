//! The command line: which commands and options there are, and what of them was given. The help is made of the same lists.

use crate::name::near;
use sluice_base::{Error, Result, Subject};
use std::fmt::Write as _;

/// An option.
#[derive(Debug)]
pub(crate) struct Known {
    name: &'static str,
    /// What its value is called; empty when it has none.
    value: &'static str,
    about: &'static str,
}

/// A command.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    arguments: &'static str,
    about: &'static str,
    more: &'static str,
    options: &'static [&'static [Known]],
    /// How many arguments it takes, at least and at most.
    count: (usize, usize),
}

const fn option(name: &'static str, value: &'static str, about: &'static str) -> Known {
    Known { name, value, about }
}

const ANSWER: &[Known] = &[option("--json", "", "answer in JSON, one value a line, instead of a text table")];
const PLACE: &[Known] = &[
    option("--bootstrap", "HOST:PORT", "the server to ask, or several with commas between; default localhost:9123"),
    option(
        "--store",
        "DIR",
        "open the store in this directory instead of asking a server; nobody else may have it open",
    ),
    option(
        "--user",
        "NAME",
        "log in at the server as this user, with the password in the environment's SLUICE_PASSWORD",
    ),
    option("-D", "KEY=VALUE", "an option of the client, or with --store a setting of the store; may be given again"),
    option("--help", "", "this"),
];
const COLUMNS: &[Known] = &[option("--columns", "A,B", "only these columns, in this order")];
const SCAN: &[Known] = &[
    option("--limit", "N", "stop after so many rows"),
    option(
        "--from",
        "WHERE",
        "read the log from 'earliest', 'latest' or an offset; a table with a primary key gives its changes then",
    ),
    option(
        "--follow",
        "",
        "go on with rows as they are written, until stopped; without --from it begins at the earliest",
    ),
    option("--partition", "NAME", "only this partition"),
    option("--bucket", "N", "only the bucket of this number"),
    option("--offsets", "", "with each row its bucket, its offset in the log and when it was written"),
];
const APPEND: &[Known] = &[option(
    "--format",
    "json|csv",
    "what comes in: JSON objects, one a line (the default), or CSV with a line of column names first",
)];
const SERVER: &[Known] = &[
    option("--config", "FILE", "settings, one 'key: value' a line; see conf/server.yaml"),
    option("-D", "KEY=VALUE", "a setting; wins over the file; may be given again"),
    option("--help", "", "this"),
];

/// What there is.
const COMMANDS: &[Command] = &[
    Command {
        name: "server",
        arguments: "",
        about: "serve clients until SIGTERM or SIGINT",
        more: "It prints where it is when it is ready, and where its page is if it has one. After SIGTERM it answers what it has taken, closes its\nstore and exits with 0.",
        options: &[SERVER],
        count: (0, 0),
    },
    Command {
        name: "tables",
        arguments: "[DATABASE]",
        about: "list the tables of a database, or of all",
        more: "",
        options: &[ANSWER, PLACE],
        count: (0, 1),
    },
    Command {
        name: "describe",
        arguments: "TABLE",
        about: "show a table's columns, options and buckets with their offsets",
        more: "",
        options: &[ANSWER, PLACE],
        count: (1, 1),
    },
    Command {
        name: "scan",
        arguments: "TABLE",
        about: "print the rows of a table, or its changes",
        more: "A table with a primary key gives its rows as they are now; with --from or --follow its changes: +I is a new row, -U and +U a row before\nand after an update, -D one that was deleted. An offset counts in each bucket by itself; where the log begins later, reading does too.",
        options: &[SCAN, COLUMNS, ANSWER, PLACE],
        count: (1, 1),
    },
    Command {
        name: "lookup",
        arguments: "TABLE VALUE...",
        about: "print the row of a key, or the rows of a prefix of it",
        more: "The values are those of the primary key's columns in its order, or of its columns that choose partition and bucket. A negative number\nmay stand as it is; any other value that begins with '-' stands behind '--'.",
        options: &[COLUMNS, ANSWER, PLACE],
        count: (2, usize::MAX),
    },
    Command {
        name: "append",
        arguments: "TABLE",
        about: "write rows from standard input; of a table with a primary key, replace the rows of the same keys",
        more: "A column that a row does not name is NULL. Dates are written 2025-11-30, timestamps '2025-11-30 10:15:30.25' (with a zone at the end, such\nas Z, for TIMESTAMP_LTZ), bytes in hexadecimal digits, long decimals in quotes. In CSV an empty field without quotes is NULL, and ARRAY, MAP\nand ROW are JSON. Rows are written in groups; the first row that does not fit ends it, with its line and column, and nothing of its group\nis written.",
        options: &[APPEND, ANSWER, PLACE],
        count: (1, 1),
    },
];

/// What the user wants.
pub(crate) enum Asked {
    /// To read something.
    Text(String),
    Command(&'static Command, Words),
}

/// What was given to a command.
#[derive(Debug, Default)]
pub(crate) struct Words {
    pub(crate) arguments: Vec<String>,
    options: Vec<(&'static str, String)>,
}

impl Words {
    /// The value of an option, the last one when it was given again.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// All pairs that were given with `-D`.
    ///
    /// # Errors
    /// `Invalid` for what is no pair.
    pub(crate) fn settings(&self) -> Result<Vec<(String, String)>> {
        let given = self.options.iter().filter(|(name, _)| *name == "-D");
        given
            .map(|(_, text)| {
                let (key, value) = text.split_once('=').ok_or_else(|| usage("-D needs KEY=VALUE"))?;
                Ok((key.trim().to_owned(), value.trim().to_owned()))
            })
            .collect()
    }

    /// A number given with an option.
    ///
    /// # Errors
    /// `Invalid` naming the option.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>> {
        let Some(text) = self.value(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| usage(format_args!("{name} is '{text}', not a number from 0 on")))
    }
}

/// An error about what was given.
pub(crate) fn usage(message: impl std::fmt::Display) -> Error {
    Error::invalid(Subject::Option, format!("{message}; see sluice --help"))
}

fn list(options: &[&[Known]]) -> String {
    let all = || options.iter().copied().flatten();
    let title = |o: &Known| format!("{} {}", o.name, o.value).trim_end().to_owned();
    let width = all().map(|o| title(o).len()).max().unwrap_or(0);
    let mut text = String::new();
    for o in all() {
        let _ = writeln!(text, "  {:width$}   {}", title(o), o.about);
    }
    text
}

fn help() -> String {
    let mut text =
        "sluice: streaming storage that clients of the Fluss protocol talk to, and its tables from a shell\n\n"
            .to_owned();
    let title = |c: &Command| format!("{} {}", c.name, c.arguments).trim_end().to_owned();
    let width = COMMANDS.iter().map(|c| title(c).len()).max().unwrap_or(0);
    for command in COMMANDS {
        let _ = writeln!(text, "  sluice {:width$}   {}", title(command), command.about);
    }
    text += "\n  sluice COMMAND --help    the options of a command\n  sluice --version         the version\n";
    text += "\nTABLE is DATABASE.TABLE, or TABLE in the database 'fluss'. All but 'server' take:\n";
    text + &list(&[ANSWER, PLACE])
}

fn help_of(command: &Command) -> String {
    let title = format!("sluice {} [OPTIONS] {}", command.name, command.arguments);
    let more = if command.more.is_empty() { String::new() } else { format!("\n{}\n", command.more) };
    format!("{}: {}\n\n{}{more}", title.trim_end(), command.about, list(command.options))
}

/// Reads a command line, the program's name aside.
///
/// # Errors
/// `Invalid` about `Option`, naming what is not known or missing.
pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Asked> {
    let first = words.next();
    let command = match first.as_deref() {
        None | Some("-h" | "--help" | "help") => return Ok(Asked::Text(help())),
        Some("-V" | "--version") => {
            return Ok(Asked::Text(concat!("sluice ", env!("CARGO_PKG_VERSION"), "\n").to_owned()));
        }
        Some(name) => COMMANDS.iter().find(|c| c.name == name).ok_or_else(|| {
            let hint = near(name, COMMANDS.iter().map(|c| c.name));
            usage(format_args!("there is no command '{name}'{hint}"))
        })?,
    };
    let mut given = Words::default();
    let mut only_arguments = false;
    while let Some(word) = words.next() {
        let negative = word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if only_arguments || negative || !word.starts_with('-') || word == "-" {
            given.arguments.push(word);
        } else if word == "--" {
            only_arguments = true;
        } else if ["-h", "--help"].contains(&word.as_str()) {
            return Ok(Asked::Text(help_of(command)));
        } else {
            given.options.push(option_of(command, &word, &mut words)?);
        }
    }
    let (least, most) = command.count;
    if given.arguments.len() < least {
        return Err(Error::invalid(
            Subject::Option,
            format!("write sluice {} {}; see sluice {0} --help", command.name, command.arguments),
        ));
    }
    if let Some(extra) = given.arguments.get(most) {
        return Err(Error::invalid(
            Subject::Option,
            format!("'{extra}' is too much; see sluice {} --help", command.name),
        ));
    }
    Ok(Asked::Command(command, given))
}

fn option_of(
    command: &Command,
    word: &str,
    words: &mut impl Iterator<Item = String>,
) -> Result<(&'static str, String)> {
    let (name, mut value) = match word.split_once('=') {
        Some((name, value)) if word.starts_with("--") => (name, Some(value.to_owned())),
        _ => (word, None),
    };
    let (name, attached) = match name.strip_prefix("-D") {
        Some(rest) => ("-D", Some(rest.to_owned()).filter(|rest| !rest.is_empty())),
        None => (name, None),
    };
    value = value.or(attached);
    let known = command.options.iter().copied().flatten().find(|o| o.name == name).ok_or_else(|| {
        let hint = near(name, command.options.iter().copied().flatten().map(|o| o.name));
        Error::invalid(
            Subject::Option,
            format!("sluice {} has no option '{name}'{hint}; see sluice {0} --help", command.name),
        )
    })?;
    match (known.value, value) {
        ("", None) => Ok((known.name, String::new())),
        ("", Some(_)) => Err(usage(format_args!("{name} takes no value"))),
        (what, None) => Ok((known.name, words.next().ok_or_else(|| usage(format_args!("{name} needs {what}")))?)),
        (_, Some(value)) => Ok((known.name, value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Asked> {
        read(text.split_whitespace().map(str::to_owned))
    }

    fn given(text: &str) -> Words {
        let Ok(Asked::Command(_, words)) = words(text) else { panic!("{text}") };
        words
    }

    #[test]
    fn options_stand_anywhere() {
        let words = given("scan --limit 3 t --columns=a,b --follow");
        assert_eq!(words.arguments, ["t"]);
        assert_eq!((words.number("--limit").unwrap(), words.value("--columns")), (Some(3), Some("a,b")));
        assert!(words.has("--follow") && !words.has("--json"));
        assert_eq!(given("lookup t -5 -- --x").arguments, ["t", "-5", "--x"]);
        let pairs = [("a".to_owned(), "b=c".to_owned()), ("d".to_owned(), String::new())];
        assert_eq!(given("server -Da=b=c -D d=").settings().unwrap(), pairs);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("tabels", "'tabels'; near it is tables"),
            ("scan t --limt 3", "'--limt'; near it is --limit"),
            ("scan t --limit", "--limit needs N"),
            ("scan", "sluice scan TABLE"),
            ("describe a b", "'b' is too much"),
            ("tables --json=x", "--json takes no value"),
            ("server --json", "no option '--json'"),
        ] {
            let Err(e) = words(text) else { panic!("{text}") };
            assert!(e.message().contains(part), "{e} lacks {part}");
        }
        assert!(given("scan t --limit x").number("--limit").unwrap_err().message().contains("--limit is 'x'"));
        assert!(given("server -D x").settings().is_err());
    }

    #[test]
    fn the_help_names_every_option() {
        for command in COMMANDS {
            let text = help_of(command);
            assert!(help().contains(command.about));
            for o in command.options.iter().copied().flatten() {
                assert!(text.contains(&format!("  {}", o.name)), "{text} lacks {}", o.name);
            }
        }
    }
}
