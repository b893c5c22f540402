//! Text tables. Widths come from the first page; later rows that are longer are longer.

use crate::output::Output;
use sluice_base::Result;

/// No column is made wider than so many characters.
const WIDTH_MAX: usize = 60;

/// A table that is printed a page at a time.
pub(crate) struct Grid {
    /// Each column's title, and whether its values are numbers.
    columns: Vec<(String, bool)>,
    widths: Option<Vec<usize>>,
}

impl Grid {
    pub(crate) fn new(columns: impl IntoIterator<Item = (String, bool)>) -> Self {
        Self { columns: columns.into_iter().collect(), widths: None }
    }

    /// Prints rows, before the first ones the titles.
    ///
    /// # Errors
    /// Those of writing.
    pub(crate) fn print(&mut self, out: &mut Output, rows: &[Vec<String>]) -> Result<()> {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| harmless(cell)).collect()).collect();
        let begins = self.widths.is_none();
        let columns = &self.columns;
        let widths = self.widths.get_or_insert_with(|| {
            let width = |(i, (title, _)): (usize, &(String, bool))| {
                let cells = rows.iter().filter_map(|row| row.get(i)).map(|cell| cell.chars().count());
                cells.chain([title.chars().count()]).max().unwrap_or(0).min(WIDTH_MAX)
            };
            columns.iter().enumerate().map(width).collect()
        });
        let line = |cells: &[String]| {
            let mut text = String::new();
            for ((cell, width), (_, number)) in cells.iter().zip(&*widths).zip(columns) {
                let gap = " ".repeat(width.saturating_sub(cell.chars().count()));
                text += &if *number { format!("{gap}{cell}  ") } else { format!("{cell}{gap}  ") };
            }
            text.trim_end().to_owned()
        };
        if begins {
            let titles: Vec<String> = columns.iter().map(|(title, _)| harmless(title)).collect();
            out.line(&line(&titles))?;
            out.line(&line(&widths.iter().map(|w| "-".repeat(*w)).collect::<Vec<_>>()))?;
        }
        rows.iter().try_for_each(|row| out.line(&line(row)))
    }
}

/// A text that changes nothing about the terminal.
fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_left_alone() {
        assert_eq!(harmless("a\u{1b}[2J\n\u{e4}"), "a\\u{1b}[2J\\n\u{e4}");
    }
}
