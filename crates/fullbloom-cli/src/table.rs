//! A plain table: the first column to the left, numbers to the right, two spaces between.

/// Rows of cells, aligned when they are all known.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
    /// Columns that may be left out where there is no room, the first one first.
    optional: Vec<String>,
    /// Columns of text, besides the first.
    text: Vec<String>,
    indent: usize,
}

/// Replaces the middle of a cell that is too long.
const CUT: &str = "…";

/// The shortest a first column is cut to.
const SHORTEST: usize = 12;

impl Table {
    /// A table with these column titles.
    pub fn new(titles: &[&str]) -> Table {
        Table { rows: vec![owned(titles)], optional: Vec::new(), text: Vec::new(), indent: 0 }
    }

    /// Names columns that may be left out where there is no room, the first one first.
    #[must_use]
    pub fn optional(self, titles: &[&str]) -> Table {
        Table { optional: owned(titles), ..self }
    }

    /// Names columns of text, which are aligned to the left.
    #[must_use]
    pub fn text(self, titles: &[&str]) -> Table {
        Table { text: owned(titles), ..self }
    }

    /// Indents each line by this many spaces.
    #[must_use]
    pub fn indent(self, indent: usize) -> Table {
        Table { indent, ..self }
    }

    /// Adds a row; a cell may be empty.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines, each with its newline and without spaces at its end.
    pub fn render(&self) -> String {
        self.render_within(None)
    }

    /// The same in lines of at most `width` characters, as far as possible: optional columns are left out,
    /// then the first one is shortened. A line below names what was left out.
    pub fn render_within(&self, width: Option<usize>) -> String {
        let mut widths = self.widths();
        let mut shown: Vec<usize> = (0..widths.len()).collect();
        let mut left_out = Vec::new();
        let taken = |shown: &[usize], widths: &[usize]| {
            self.indent + shown.iter().map(|i| widths[*i]).sum::<usize>() + 2 * shown.len().saturating_sub(1)
        };
        if let Some(width) = width {
            for title in &self.optional {
                if taken(&shown, &widths) <= width {
                    break;
                }
                shown.retain(|i| self.rows[0][*i] != *title);
                left_out.push(title.as_str());
            }
            let over = taken(&shown, &widths).saturating_sub(width);
            if let Some(first) = widths.first_mut() {
                *first = (*first).min(first.saturating_sub(over).max(SHORTEST));
            }
        }
        let mut text = String::new();
        for row in &self.rows {
            let mut line = " ".repeat(self.indent);
            for (place, &i) in shown.iter().enumerate() {
                let (Some(cell), width) = (row.get(i), widths[i]) else { continue };
                let cell = shortened(cell, width);
                line += if place == 0 { "" } else { "  " };
                let left = i == 0 || self.text.contains(&self.rows[0][i]);
                line += &if left { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
            }
            text += line.trim_end();
            text.push('\n');
        }
        if !left_out.is_empty() {
            text += &format!("{:indent$}(no room for: {})\n", "", left_out.join(", "), indent = self.indent);
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths = vec![0; columns];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }
}

fn owned(titles: &[&str]) -> Vec<String> {
    titles.iter().map(|title| (*title).to_owned()).collect()
}

/// The text without its middle, where it is longer than `width`: names differ at their ends.
fn shortened(text: &str, width: usize) -> String {
    let len = text.chars().count();
    if len <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(CUT.chars().count());
    let front: String = text.chars().take(kept / 3).collect();
    let end: String = text.chars().skip(len - (kept - kept / 3)).collect();
    front + CUT + &end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["name", "bits", "rate"]);
        table.row(vec!["a".into(), "100".into(), "1 %".into()]);
        table.row(vec!["longer".into(), "7".into(), String::new()]);
        table
    }

    #[test]
    fn columns_line_up_and_lines_end_without_spaces() {
        assert_eq!(table().render(), "name    bits  rate\na        100   1 %\nlonger     7\n");
        let text = table().text(&["rate"]).indent(2).render();
        assert_eq!(text, "  name    bits  rate\n  a        100  1 %\n  longer     7\n");
    }

    #[test]
    fn where_there_is_no_room_optional_columns_go_and_it_is_said() {
        let table = table().optional(&["bits", "rate"]);
        assert_eq!(table.render_within(Some(18)), table.render());
        assert_eq!(
            table.render_within(Some(17)),
            "name    rate\na        1 %\nlonger\n(no room for: bits)\n"
        );
    }

    #[test]
    fn a_first_column_that_is_still_too_long_loses_its_middle() {
        let mut table = Table::new(&["path", "bits"]);
        table.row(vec!["/a/very/long/path/to/nb-1-big-Filter.db".into(), "8".into()]);
        let text = table.render_within(Some(26));
        assert_eq!(text, "path                  bits\n/a/ver…big-Filter.db     8\n");
        assert!(text.lines().all(|line| line.chars().count() <= 26));
    }
}
