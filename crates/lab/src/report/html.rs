//! Pages as HTML: one file, with its style and its plots, that needs no network, adapts to narrow windows and dark mode, and prints well.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Badge, Block, Cell, Page, Shown, Table, Tone, pieces};

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
                @if let Some(player) = page.player { style { (PreEscaped(player.style.replace("</style", "<\\/style"))) } }
            }
            body {
                h1 { (page.title) }
                @if !page.byline.is_empty() { p.byline { (page.byline) } }
                @if page.sections.len() > 2 {
                    nav { ul { @for section in contents { li { a href={ "#" (section.anchor) } { (section.title) } } } } }
                }
                @for section in &page.sections {
                    section id=(section.anchor) {
                        @if section.level == 1 { h2 { (section.title) } } @else { h3 { (section.title) } }
                        @for block in &section.blocks { (self::block(block)) }
                    }
                }
                @if let Some(player) = page.player { script { (PreEscaped(player.script.replace("</script", "<\\/script"))) } }
            }
        }
    }
    .into_string()
}

fn block(of: &Block) -> Markup {
    html! {
        @match of {
            Block::Text(text) => p { (words(text)) },
            Block::List(lines) => ul { @for line in lines { li { (words(line)) } } },
            Block::See { text, anchor } => p.see { a href={ "#" (anchor) } { (text) } },
            Block::Verdict { verdict, text, because, source } => div.claim {
                p {
                    (badge(verdict)) " " (words(text))
                    @if let Some(source) = source { " " span.source { "(" a href={ "#" (source) } { (source) } ")" } }
                }
                @for line in because.lines() { p.because { (words(line)) } }
            },
            Block::Figure { caption, svg, .. } => figure {
                (PreEscaped(drawing(svg)))
                figcaption { (caption) }
            },
            Block::Replay { caption, data } => figure {
                div.wc data-wormcast="replay" { script type="application/json" { (PreEscaped(data)) } }
                figcaption { (words(caption)) }
            },
            Block::Beside { figures, said } => div.beside {
                div.figures { @for figure in figures { (self::block(figure)) } }
                div.said { @for block in said { (self::block(block)) } }
            },
            Block::Table(table) => (self::table(table)),
            Block::Command(command) => pre.command { code { (command) } },
            Block::Code(code) => pre { code { (code) } },
            Block::Details { summary, block, shown } => {
                @let class = if *shown == Shown::Printed { "printed" } else { "asked" };
                details class=(class) { summary { (summary) } (self::block(block)) }
            },
        }
    }
}

/// In a narrow window the cells of a table that stacks have the names of their columns beside them.
fn table(table: &Table) -> Markup {
    let Table { head, rows, stacks } = table;
    let name = |place: usize| head.get(place).filter(|name| *stacks && !name.is_empty());
    html! {
        div class=(if *stacks { "table stacks" } else { "table scrolls" }) { table {
            @if !head.is_empty() { thead { tr { @for name in head { th { (words(name)) } } } } }
            tbody { @for row in rows { tr { @for (place, of) in row.iter().enumerate() {
                td class=[matches!(of, Cell::Number(_)).then_some("number")] data-name=[name(place)] { (cell(of)) }
            } } } }
        } }
    }
}

fn cell(cell: &Cell) -> Markup {
    html! {
        @match cell {
            Cell::Text(text) | Cell::Number(text) => (words(text)),
            Cell::Verdict(verdict) => (badge(verdict)),
            Cell::Link { text, anchor } => a href={ "#" (anchor) } { (text) },
        }
    }
}

/// Text with its code marked.
fn words(text: &str) -> Markup {
    html! { @for (is_code, piece) in pieces(text) { @if is_code { code { (piece) } } @else { (piece) } } }
}

fn badge(badge: &Badge) -> Markup {
    let class = match badge.tone {
        Tone::Good => "verdict good",
        Tone::Open => "verdict open",
        Tone::Bad => "verdict bad",
    };
    html! { span class=(class) { (badge.text) } }
}

/// A plot without what only a file of its own needs.
fn drawing(svg: &str) -> &str {
    svg.find("<svg").map_or(svg, |start| &svg[start..])
}
