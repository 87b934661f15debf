//! Pages as HTML: one file, with its style and its plots, that needs no network and prints well.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Block, Cell, Page, pieces};
use crate::verdict::Verdict;

const STYLE: &str = include_str!("style.css");

pub(super) fn page(page: &Page) -> String {
    let contents = page.sections.iter().filter(|section| section.level == 1);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (page.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (page.title) }
                @if page.sections.len() > 2 {
                    nav { ul { @for section in contents { li { a href={ "#" (section.anchor) } { (section.title) } } } } }
                }
                @for section in &page.sections {
                    section id=(section.anchor) {
                        @if section.level == 1 { h2 { (section.title) } } @else { h3 { (section.title) } }
                        @for block in &section.blocks { (self::block(block)) }
                    }
                }
            }
        }
    }
    .into_string()
}

fn block(of: &Block) -> Markup {
    html! {
        @match of {
            Block::Text(text) => p { (words(text)) },
            Block::Verdict { verdict, text, because, source } => div.claim {
                p {
                    (badge(*verdict)) " " (words(text))
                    @if let Some(source) = source { " " span.source { "(" a href={ "#" (source) } { (source) } ")" } }
                }
                @for line in because.lines() { p.because { (words(line)) } }
            },
            Block::Figure { caption, svg, .. } => figure {
                (PreEscaped(drawing(svg)))
                figcaption { (caption) }
            },
            Block::Table { head, rows } => div.table { table {
                @if !head.is_empty() { thead { tr { @for head in head { th { (cell(head)) } } } } }
                tbody { @for row in rows { tr { @for of in row {
                    @if matches!(of, Cell::Number(_)) { td.number { (cell(of)) } } @else { td { (cell(of)) } }
                } } } }
            } },
            Block::Command(command) => pre.command { code { (command) } },
            Block::Code(code) => pre { code { (code) } },
            Block::Details { summary, block } => details { summary { (summary) } (self::block(block)) },
        }
    }
}

fn cell(cell: &Cell) -> Markup {
    html! {
        @match cell {
            Cell::Text(text) | Cell::Number(text) => (words(text)),
            Cell::Verdict(verdict) => (badge(*verdict)),
            Cell::Link { text, anchor } => a href={ "#" (anchor) } { (text) },
        }
    }
}

/// Text with its code marked.
fn words(text: &str) -> Markup {
    html! { @for (is_code, piece) in pieces(text) { @if is_code { code { (piece) } } @else { (piece) } } }
}

fn badge(verdict: Verdict) -> Markup {
    let class = match verdict {
        Verdict::Reproduced => "verdict good",
        Verdict::Inconclusive => "verdict open",
        Verdict::NotReproduced => "verdict bad",
    };
    html! { span class=(class) { (verdict) } }
}

/// A plot without what only a file of its own needs.
fn drawing(svg: &str) -> &str {
    svg.find("<svg").map_or(svg, |start| &svg[start..])
}
