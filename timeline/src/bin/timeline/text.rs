//! Text for people: lines with a label, tables, colours where a terminal shows them.

use std::io::IsTerminal;

use multicore_timeline::analysis::Verdict;

use crate::args::Colour;

/// Columns that a line may take.
const WIDTH: usize = 100;
/// Columns for labels.
const LABEL: usize = 11;

/// How something looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Strong,
    Dim,
    Good,
    Warn,
    Bad,
}

impl Style {
    const fn code(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Strong => "1",
            Style::Dim => "2",
            Style::Good => "32;1",
            Style::Warn => "33;1",
            Style::Bad => "31;1",
        }
    }

    /// How a verdict looks.
    pub(crate) const fn of(verdict: Verdict) -> Style {
        match verdict {
            Verdict::True => Style::Good,
            Verdict::Partial => Style::Warn,
            Verdict::Serial | Verdict::Starved => Style::Bad,
            Verdict::SameStream | Verdict::NoSide => Style::Warn,
        }
    }
}

/// A text being written.
#[derive(Debug)]
pub(crate) struct Text {
    out: String,
    colour: bool,
}

impl Text {
    pub(crate) fn new(when: Colour) -> Text {
        let colour = match when {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => {
                let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
                std::io::stdout().is_terminal() && !refused && !dumb
            }
        };
        Text { out: String::new(), colour }
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    fn put(&mut self, style: Style, text: &str) {
        if self.colour && style != Style::Plain && !text.is_empty() {
            self.out.push_str(&format!("\u{1b}[{}m{text}\u{1b}[0m", style.code()));
        } else {
            self.out.push_str(text);
        }
    }

    /// A line of its own.
    pub(crate) fn line(&mut self, style: Style, text: &str) {
        self.put(style, text);
        self.blank();
    }

    /// Lines so far.
    pub(crate) fn lines(&self) -> usize {
        self.out.matches('\n').count()
    }

    /// The end of a line.
    pub(crate) fn blank(&mut self) {
        self.out.push('\n');
    }

    /// A label, a few words in a style, and a text that is wrapped.
    pub(crate) fn field(&mut self, label: &str, style: Style, head: &str, text: &str) {
        // A label that fills its columns still ends before the text begins.
        self.put(Style::Dim, &format!("{label:<width$}", width = LABEL.max(label.chars().count() + 1)));
        let head_width = head.chars().count();
        self.put(style, head);
        let gap = if head.is_empty() || text.is_empty() { 0 } else { 2 };
        let mut column = LABEL + head_width + gap;
        self.out.push_str(&" ".repeat(gap));
        for (number, word) in words(text).iter().enumerate() {
            let width = word.chars().count();
            if number > 0 && column + 1 + width > WIDTH {
                self.out.push('\n');
                self.out.push_str(&" ".repeat(LABEL));
                column = LABEL;
            } else if number > 0 {
                self.out.push(' ');
                column += 1;
            }
            self.out.push_str(word);
            column += width;
        }
        self.blank();
    }

    /// A table: titles, rows of as many cells, numbers to the right.
    pub(crate) fn table(&mut self, titles: &[&str], rows: &[Vec<(Style, String)>]) {
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|(_, cell)| cell.chars().count());
            cells.chain([titles[column].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..titles.len()).map(width).collect();
        let number = |cell: &str| cell.starts_with(|char: char| char.is_ascii_digit() || char == '-' || char == '+');
        let right: Vec<bool> = (0..titles.len())
            .map(|column| {
                let mut cells = rows.iter().filter_map(|row| row.get(column)).filter(|(_, cell)| !cell.is_empty());
                cells.all(|(_, cell)| number(cell)) && !rows.is_empty()
            })
            .collect();
        let titles: Vec<_> = titles.iter().map(|title| (Style::Dim, (*title).to_owned())).collect();
        for row in std::iter::once(&titles).chain(rows) {
            let mut line = String::new();
            std::mem::swap(&mut line, &mut self.out);
            for (column, (style, cell)) in row.iter().enumerate() {
                let space = " ".repeat(widths[column] - cell.chars().count());
                let gap = if column == 0 { "" } else { "  " };
                self.out.push_str(gap);
                if right[column] {
                    self.out.push_str(&space);
                }
                self.put(*style, cell);
                if !right[column] {
                    self.out.push_str(&space);
                }
            }
            line.push_str(self.out.trim_end());
            line.push('\n');
            self.out = line;
        }
    }
}

/// Words, a number together with its unit.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = ["us", "ms", "ns", "%"].contains(&word.trim_end_matches([',', ';', ':', '.', ')']));
        match words.last_mut() {
            Some(last) if unit && last.ends_with(|char: char| char.is_ascii_digit()) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// A plain cell.
pub(crate) fn cell(text: impl ToString) -> (Style, String) {
    (Style::Plain, text.to_string())
}

/// A length of time: us with three decimals, from 10 ms on in ms.
pub(crate) fn time(ns: u64) -> String {
    match ns {
        10_000_000.. => {
            let micros = ns / 1_000 + u64::from(ns % 1_000 >= 500);
            format!("{}.{:03} ms", micros / 1_000, micros % 1_000)
        }
        _ => format!("{}.{:03} us", ns / 1_000, ns % 1_000),
    }
}

/// A change of time, with its sign.
pub(crate) fn change(ns: i64) -> String {
    format!("{}{}", if ns < 0 { '-' } else { '+' }, time(ns.unsigned_abs()))
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A count with its noun: `1 layer`, `3 layers`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Stream ids as people write them: `216`, `139 -> 141`.
pub(crate) fn ids(ids: &[u32]) -> String {
    ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" -> ")
}

/// At most so many letters.
pub(crate) fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
