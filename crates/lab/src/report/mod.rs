//! Reports: pages that show experiments with their plots, verdicts, rankings and tables, as HTML in one file and as Markdown.
//!
//! [`experiments_page`] makes a page of experiments. Others are put together of [`Section`]s of [`Block`]s.

mod commands;
mod exhibit;
mod html;
mod made;
mod markdown;
mod player;
mod ranking;
mod results;
mod sensitivity;

use crate::store::origin::{Origin, Program};
use crate::verdict::Verdict;

pub use commands::{argument, shell_line, shown_path};
pub use exhibit::{Reported, experiments_page, figures, numbers_section};
pub use player::Player;
pub use sensitivity::{Change, Sentence, sensitivity};

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    /// What made it, and when.
    byline: String,
    sections: Vec<Section>,
    /// What plays the recorded runs on it, if there are any.
    player: Option<Player>,
}

/// A part of a page with a heading.
#[derive(Clone, Debug)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// The anchor that links use.
    pub anchor: String,
    /// 1 is below the page's title.
    pub level: usize,
    /// Its contents.
    pub blocks: Vec<Block>,
}

/// A block of a section. Words between back quotes are code.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// Lines that say one thing each.
    List(Vec<String>),
    /// A link to a section.
    See {
        /// Its words.
        text: String,
        /// The section's.
        anchor: String,
    },
    /// A test with its verdict.
    Verdict {
        /// Whether it holds.
        verdict: Badge,
        /// What is claimed.
        text: String,
        /// Why, in lines.
        because: String,
        /// The anchor of the section that shows what it was tested on, if that is another one.
        source: Option<String>,
    },
    /// A plot.
    Figure {
        /// The name of its file.
        name: String,
        /// What it shows.
        caption: String,
        /// The text of its file.
        svg: String,
    },
    /// A recorded run, to be played.
    Replay {
        /// What it shows.
        caption: String,
        /// The file, as JSON.
        data: String,
    },
    /// Plots, and beside them what is said of them.
    Beside {
        /// The plots.
        figures: Vec<Block>,
        /// What is said.
        said: Vec<Block>,
    },
    /// A table.
    Table(Table),
    /// A command to type.
    Command(String),
    /// Details that readers open.
    Details {
        /// The heading of the details.
        summary: String,
        /// The details.
        block: Box<Block>,
        /// Where details are shown unasked.
        shown: Shown,
    },
    /// The text of a file.
    Code(String),
}

/// Rows with a heading, which may be empty.
#[derive(Clone, Debug)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<Cell>>,
    /// Whether each row becomes a block of its own where the window is narrow; numbers stay side by side, and are scrolled.
    stacks: bool,
}

/// A verdict in words, and whether it is good news.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Badge {
    /// The words.
    pub text: String,
    /// What they come to.
    pub tone: Tone,
}

/// Whether a verdict is good news.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    /// What is claimed holds.
    Good,
    /// It holds in part, or it is not known.
    Open,
    /// It does not hold.
    Bad,
}

impl From<Verdict> for Badge {
    fn from(verdict: Verdict) -> Self {
        let tone = match verdict {
            Verdict::Reproduced => Tone::Good,
            Verdict::Inconclusive => Tone::Open,
            Verdict::NotReproduced => Tone::Bad,
        };
        Self { text: verdict.to_string(), tone }
    }
}

/// Where details are shown without being asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    /// On paper and in Markdown.
    Printed,
    /// Nowhere.
    Never,
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number.
    Number(String),
    /// A verdict.
    Verdict(Badge),
    /// A link to a section.
    Link {
        /// Its words.
        text: String,
        /// The section's.
        anchor: String,
    },
}

impl Table {
    /// A table of words.
    pub fn of_words<const N: usize>(head: [&str; N], rows: Vec<Vec<Cell>>) -> Self {
        Self { head: head.map(str::to_owned).into(), rows, stacks: true }
    }

    /// A table of words with any number of columns, which stay side by side.
    pub fn of_list(head: Vec<String>, rows: Vec<Vec<Cell>>) -> Self {
        Self { head, rows, stacks: false }
    }

    /// A table of numbers.
    fn of_numbers(head: Vec<String>, rows: Vec<Vec<Cell>>) -> Self {
        Self { head, rows, stacks: false }
    }
}

impl Block {
    /// This block and those in it.
    fn all(&self) -> Vec<&Self> {
        let inner: Vec<&Self> = match self {
            Self::Beside { figures, said } => figures.iter().chain(said).collect(),
            Self::Details { block, .. } => vec![block],
            _ => Vec::new(),
        };
        std::iter::once(self).chain(inner.into_iter().flat_map(Self::all)).collect()
    }
}

impl Page {
    /// A page that `program` makes of results that come from `origins`, which are told below its title and at its end; `quick` says which
    /// version of the experiments it shows, if it is one.
    pub fn new(
        title: String,
        mut sections: Vec<Section>,
        program: Program,
        origins: &[Origin],
        quick: Option<bool>,
    ) -> Self {
        sections.push(made::section(program, origins, quick));
        Self { title, byline: made::byline(program, origins), sections, player: None }
    }

    /// The page as HTML: one file that needs nothing else.
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// The page as Markdown; its plots, see [`plots`](Self::plots), are files in `folder`, which is relative to it: empty for files beside it.
    pub fn markdown(&self, folder: &str) -> String {
        markdown::page(self, folder)
    }

    /// The names and texts of the plots, as SVG, that the Markdown links to, each once.
    pub fn plots(&self) -> impl Iterator<Item = (&str, &str)> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks).flat_map(Block::all);
        let plots = blocks.filter_map(|block| match block {
            Block::Figure { name, svg, .. } => Some((name.as_str(), svg.as_str())),
            _ => None,
        });
        plots.collect::<std::collections::BTreeMap<_, _>>().into_iter()
    }
}

/// The pieces of a text, each with whether it is code: between back quotes, if they come in pairs.
fn pieces(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let paired = text.matches('`').count().is_multiple_of(2);
    let whole = (!paired).then_some((false, text));
    let taken_apart = paired.then(|| text.split('`').enumerate().map(|(index, piece)| (index % 2 == 1, piece)));
    whole.into_iter().chain(taken_apart.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_has_no_markup_but_code() {
        let text = "Up*/down* is `up-down`, a_b <c> [d](e)".to_owned();
        let section = Section {
            title: "A | B".to_owned(),
            anchor: "a".to_owned(),
            level: 1,
            blocks: vec![Block::Text(text), Block::Text("one ` alone".to_owned())],
        };
        let figure = Block::Figure { name: "50% #2.svg".to_owned(), caption: "c".to_owned(), svg: String::new() };
        let load = Section { title: "L".to_owned(), anchor: "\"".to_owned(), level: 1, blocks: vec![figure] };
        let shown = Page { title: "P".to_owned(), byline: String::new(), sections: vec![load], player: None };
        let written = shown.markdown("");
        assert!(written.contains("![c](<50%25 %232.svg>)") && written.contains("<a id=\"&quot;\">"), "{written}");
        let page = Page { title: "P".to_owned(), byline: String::new(), sections: vec![section], player: None };
        assert_eq!(
            page.markdown(""),
            "# P\n\n<a id=\"a\"></a>\n\n## A \\| B\n\nUp\\*/down\\* is `up-down`, a\\_b &lt;c> \\[d](e)\n\none ` alone\n"
        );
        let html = page.html();
        assert!(
            html.contains("<p>Up*/down* is <code>up-down</code>, a_b &lt;c&gt; [d](e)</p><p>one ` alone</p>"),
            "{html}"
        );
    }
}
