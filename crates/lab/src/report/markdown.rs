//! Pages as Markdown: of what is there for those who ask, only the numbers are shown.

use std::fmt::Write as _;

use wormcast_network::text::escape_xml;

use super::{Block, Cell, Page, Shown, Table, pieces};

pub(super) fn page(page: &Page, folder: &str) -> String {
    let mut text = format!("# {}\n", one_line(&page.title));
    if !page.byline.is_empty() {
        let _ = write!(text, "\n*{}*\n", plain(&page.byline));
    }
    // A section with nothing but a recorded run has nothing to read.
    let read = |block: &Block| !matches!(block, Block::Replay { .. });
    for section in page.sections.iter().filter(|section| section.blocks.is_empty() || section.blocks.iter().any(read)) {
        let _ = write!(text, "\n<a id=\"{}\"></a>\n\n", escape_xml(&section.anchor));
        let _ = writeln!(text, "{} {}", "#".repeat(section.level + 1), one_line(&section.title));
        for block in &section.blocks {
            write(block, folder, &mut text);
        }
    }
    text
}

fn write(block: &Block, folder: &str, text: &mut String) {
    match block {
        Block::Text(words) => drop(write!(text, "\n{}\n", plain(words))),
        Block::List(lines) => {
            text.push('\n');
            for line in lines {
                let _ = writeln!(text, "- {}", plain(line));
            }
        }
        Block::See { text: words, anchor } => drop(write!(text, "\n[{}](#{anchor})\n", plain(words))),
        Block::Beside { figures, said } => {
            for block in figures.iter().chain(said) {
                write(block, folder, text);
            }
        }
        Block::Verdict { verdict, text: claim, because, source } => {
            let source = source.as_ref().map_or_else(String::new, |source| format!(" ([{source}](#{source}))"));
            let _ = write!(text, "\n- **{}**: {}{source}\n", verdict.text, plain(claim.trim_end_matches('.')));
            for line in because.lines() {
                let _ = writeln!(text, "  - {}", plain(line));
            }
        }
        Block::Figure { name, caption, .. } => {
            let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
            let _ = write!(text, "\n![{}](<{}>)\n", plain(caption), address(&format!("{folder}{name}")));
        }
        Block::Table(Table { head, rows, .. }) => {
            let columns = rows.iter().map(Vec::len).chain([head.len()]).max().unwrap_or(0);
            let line = |cells: Vec<String>| {
                let cells = (0..columns).map(|i| cells.get(i).cloned().unwrap_or_default());
                format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
            };
            let numbers = |i: usize| rows.iter().any(|row| matches!(row.get(i), Some(Cell::Number(_))));
            let rule: Vec<&str> = (0..columns).map(|i| if numbers(i) { "--:" } else { "---" }).collect();
            let _ = write!(text, "\n{}| {} |\n", line(head.iter().map(|name| plain(name)).collect()), rule.join(" | "));
            for row in rows {
                text.push_str(&line(row.iter().map(cell).collect()));
            }
        }
        Block::Command(command) => drop(write!(text, "\n```sh\n{command}\n```\n")),
        Block::Code(code) => drop(write!(text, "\n```\n{}\n```\n", code.trim_end())),
        Block::Details { summary, block, shown: Shown::Printed } => {
            let _ = write!(text, "\n{}\n", plain(summary));
            write(block, folder, text);
        }
        Block::Details { .. } | Block::Replay { .. } => {}
    }
}

/// A path between angle brackets, as the address that it is there.
fn address(path: &str) -> String {
    let mut address = String::with_capacity(path.len());
    for letter in path.chars() {
        match letter {
            '%' | '#' | '?' | '<' | '>' | '\\' | '\n' | '\r' => {
                let _ = write!(address, "%{:02X}", u32::from(letter));
            }
            _ => address.push(letter),
        }
    }
    address
}

/// The same as the text of a heading, which ends with its line.
fn one_line(text: &str) -> String {
    plain(text).replace(['\n', '\r'], " ")
}

/// Text in which nothing is markup but code.
fn plain(text: &str) -> String {
    let escaped = |words: &str| {
        let mut escaped = String::with_capacity(words.len());
        for letter in words.chars() {
            match letter {
                '<' => escaped.push_str("&lt;"),
                '[' | '|' | '*' | '_' => escaped.extend(['\\', letter]),
                _ => escaped.push(letter),
            }
        }
        escaped
    };
    pieces(text).map(|(code, words)| if code { format!("`{words}`") } else { escaped(words) }).collect()
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) | Cell::Number(text) => plain(text),
        Cell::Verdict(verdict) => format!("**{}**", verdict.text),
        Cell::Link { text, anchor } => format!("[{text}](#{anchor})"),
    }
}
