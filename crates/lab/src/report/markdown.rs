//! Pages as Markdown: of what is there for those who ask, only the numbers are shown.

use std::fmt::Write as _;

use super::{Block, Cell, NUMBERS, Page};

pub(super) fn page(page: &Page) -> String {
    let mut text = format!("# {}\n", plain(&page.title));
    for section in &page.sections {
        let _ = write!(text, "\n{} {}\n", "#".repeat(section.level + 1), plain(&section.title));
        for block in &section.blocks {
            write(block, &mut text);
        }
    }
    text
}

fn write(block: &Block, text: &mut String) {
    match block {
        Block::Text(words) => drop(write!(text, "\n{words}\n")),
        Block::Verdict { verdict, text: claim, because } => {
            let _ = write!(text, "\n- **{verdict}**: {}\n", claim.trim_end_matches('.'));
            for line in because.lines() {
                let _ = writeln!(text, "  - {line}");
            }
        }
        Block::Figure { name, caption, .. } => drop(write!(text, "\n![{}](<{name}>)\n", plain(caption))),
        Block::Table { head, rows } => {
            let columns = rows.iter().map(Vec::len).chain([head.len()]).max().unwrap_or(0);
            let line = |cells: &[Cell]| {
                let cells = (0..columns).map(|i| cells.get(i).map_or_else(String::new, cell));
                format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
            };
            let numbers = |i: usize| rows.iter().any(|row| matches!(row.get(i), Some(Cell::Number(_))));
            let rule: Vec<&str> = (0..columns).map(|i| if numbers(i) { "--:" } else { "---" }).collect();
            let _ = write!(text, "\n{}| {} |\n", line(head), rule.join(" | "));
            for row in rows {
                text.push_str(&line(row));
            }
        }
        Block::Command(command) => drop(write!(text, "\n```sh\n{command}\n```\n")),
        Block::Code(code) => drop(write!(text, "\n```\n{}\n```\n", code.trim_end())),
        Block::Details { summary, block } if summary.ends_with(NUMBERS) => {
            let _ = write!(text, "\n{}\n", plain(summary));
            write(block, text);
        }
        Block::Details { .. } => {}
    }
}

/// Text in which nothing is markup.
fn plain(text: &str) -> String {
    text.replace('<', "&lt;").replace('[', "\\[").replace('|', "\\|")
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) | Cell::Number(text) => plain(text),
        Cell::Verdict(verdict) => format!("**{verdict}**"),
        Cell::Link { text, anchor } => format!("[{text}](#{anchor})"),
    }
}
