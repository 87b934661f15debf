//! Reports: pages that show experiments with their tables, plots and verdicts, as HTML in one file and as Markdown.

mod html;
mod machine;
mod markdown;
mod results;
mod sensitivity;

use std::fmt::Write as _;
use std::path::Path;

use crate::experiment::Experiment;
use crate::plot::{PlotError, plot};
use crate::reproduction::{CLAIMS, Evidence, PAPERS, ReproducedClaim, Reproduction, Varied};
use crate::run::Findings;
use crate::stopping::Outcome;
use crate::verdict::{Finding, Part, Verdict};

/// How the heading of a table of results ends.
const NUMBERS: &str = "the numbers";

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    sections: Vec<Section>,
}

/// A part of a page with a heading.
#[derive(Clone, Debug)]
struct Section {
    title: String,
    /// By which links name it.
    anchor: String,
    /// 1 is below the page's title.
    level: usize,
    blocks: Vec<Block>,
}

/// What stands in a section.
#[derive(Clone, Debug)]
enum Block {
    Text(String),
    /// A test with its verdict: what is claimed, why it holds or does not, and the section that shows what it was tested on.
    Verdict {
        verdict: Verdict,
        text: String,
        because: String,
        source: Option<String>,
    },
    Figure {
        name: String,
        caption: String,
        svg: String,
    },
    Table {
        head: Vec<Cell>,
        rows: Vec<Vec<Cell>>,
    },
    /// A line to be typed.
    Command(String),
    /// What is there for those who ask.
    Details {
        summary: String,
        block: Box<Block>,
    },
    Code(String),
}

/// A cell of a table.
#[derive(Clone, Debug)]
enum Cell {
    Text(String),
    Number(String),
    Verdict(Verdict),
    /// A link to a section.
    Link {
        text: String,
        anchor: String,
    },
}

impl Page {
    /// The page as HTML: one file that needs nothing else.
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// The page as Markdown; its plots, see [`plots`](Self::plots), are files in `folder`, which is relative to it: empty for files beside it.
    pub fn markdown(&self, folder: &str) -> String {
        markdown::page(self, folder)
    }

    /// The names and texts of the plots, as SVG, that the Markdown links to.
    pub fn plots(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Figure { name, svg, .. } => Some((name.as_str(), svg.as_str())),
            _ => None,
        })
    }
}

/// An experiment for a page.
#[derive(Clone, Debug)]
pub struct Reported {
    /// Its name: that of its file, without ending.
    pub name: String,
    /// The command that makes its results.
    pub command: String,
    /// The experiment.
    pub experiment: Experiment,
    /// What was found.
    pub findings: Findings,
    /// The variations of it that have results, with what they say of its claims.
    pub variations: Vec<Varied>,
}

/// A page about experiments.
///
/// # Errors
/// If a plot cannot be drawn.
pub fn experiments_page(experiments: &[Reported]) -> Result<Page, PlotError> {
    let title = match experiments {
        [only] => heading(&only.name, &only.experiment),
        _ => "Experiments".to_owned(),
    };
    let mut sections = Vec::new();
    for Reported { name, command, experiment, findings, variations } in experiments {
        let mut section = exhibit(name, experiment, findings, command, 1)?;
        let verdicts = findings.verdicts.iter().flat_map(|verdict| &verdict.evidence);
        section.blocks.extend(verdicts.clone().flat_map(|evidence| part(evidence, None)));
        let base = |_: &str, text: &str| {
            let part = verdicts.clone().find(|part| part.text == text)?;
            Some((part.verdict, part.comparisons.as_slice()))
        };
        section.blocks.extend(sensitivity::blocks(variations, base));
        sections.push(section);
    }
    sections.push(made(None));
    Ok(Page { title, sections })
}

/// The page of a reproduction; `folder` is where its results lie, with the experiments and the store.
///
/// # Errors
/// If a plot cannot be drawn.
pub fn reproduction_page(reproduction: &Reproduction, folder: &Path) -> Result<Page, PlotError> {
    let mut sections = vec![overview(reproduction)];
    for (number, paper) in (1..).zip(PAPERS) {
        let claims: Vec<&ReproducedClaim> = reproduction.claims.iter().filter(|c| c.claim.paper == number).collect();
        if claims.is_empty() {
            continue;
        }
        sections.push(Section {
            title: format!("Paper {number}: {}", paper.subject),
            anchor: format!("paper-{number}"),
            level: 1,
            blocks: vec![Block::Text(format!("“{}”.", paper.title))],
        });
        sections.extend(claims.iter().map(|claim| claimed(claim, reproduction.quick, folder)));
        let prefix = format!("paper-{number}-");
        for of_paper in reproduction.exhibits.iter().filter(|exhibit| exhibit.name.starts_with(&prefix)) {
            let file = folder.join("experiments").join(format!("{}.toml", of_paper.name));
            let command = sweep_command(&file, if reproduction.quick { &["--quick"] } else { &[] }, folder);
            sections.push(exhibit(of_paper.name, &of_paper.experiment, &of_paper.findings, &command, 2)?);
        }
    }
    sections.push(made(Some(reproduction.quick)));
    Ok(Page { title: "What five papers on multicast in wormhole networks claim, tested".to_owned(), sections })
}

/// All verdicts in one table.
fn overview(reproduction: &Reproduction) -> Section {
    let count = |verdict| reproduction.claims.iter().filter(|claim| claim.verdict == verdict).count();
    let mut text = format!(
        "Claims: {}. Reproduced: {}; not reproduced: {}; inconclusive: {}.",
        reproduction.claims.len(),
        count(Verdict::Reproduced),
        count(Verdict::NotReproduced),
        count(Verdict::Inconclusive),
    );
    if reproduction.claims.len() < CLAIMS.len() {
        let _ = write!(text, " The papers make {}: the others were not asked for.", CLAIMS.len());
    }
    let mut blocks = vec![Block::Text(text)];
    if reproduction.quick {
        let text = "This is the quick version: fewer and shorter runs than the papers', and fewer points. Intervals are wider, and more \
                    is left open than need be.";
        blocks.push(Block::Text(text.to_owned()));
    }
    let text = "A claim is reproduced if every sentence that it comes to holds in the statistics: comparisons use the same random \
                numbers for both sides, and intervals are so wide that all of a sentence hold together with 95% confidence. It is \
                not reproduced if one sentence fails, and inconclusive if one is open: a claim of many sentences has as many chances to fail.";
    blocks.push(Block::Text(text.to_owned()));
    let row = |claim: &ReproducedClaim| {
        vec![
            Cell::Link { text: claim.claim.id.to_owned(), anchor: claim.claim.id.to_owned() },
            Cell::Text(claim.claim.exhibit.to_owned()),
            Cell::Text(claim.claim.statement.to_owned()),
            Cell::Verdict(claim.verdict),
        ]
    };
    blocks.push(Block::Table {
        head: ["claim", "exhibit", "what the paper says", "verdict"].map(|text| Cell::Text(text.to_owned())).into(),
        rows: reproduction.claims.iter().map(row).collect(),
    });
    Section { title: "Verdicts".to_owned(), anchor: "verdicts".to_owned(), level: 1, blocks }
}

/// A claim with its evidence.
fn claimed(claim: &ReproducedClaim, quick: bool, folder: &Path) -> Section {
    let mut blocks = vec![Block::Verdict {
        verdict: claim.verdict,
        text: claim.claim.exhibit.to_owned(),
        because: claim.claim.statement.to_owned(),
        source: None,
    }];
    for evidence in &claim.evidence {
        match evidence {
            Evidence::Sweep { experiment, part: of_sweep } => blocks.extend(part(of_sweep, Some(experiment))),
            Evidence::Check(checked) => blocks.push(Block::Verdict {
                verdict: checked.verdict,
                text: checked.text.to_owned(),
                because: checked.because.clone(),
                source: None,
            }),
        }
    }
    if claim.verdict == Verdict::NotReproduced && !claim.claim.note.is_empty() {
        blocks.push(Block::Text(format!(
            "What is likely behind it, by full runs and their variations: {}",
            claim.claim.note
        )));
    }
    let base = |source: &str, text: &str| {
        let same = claim.evidence.iter().find(|e| e.source() == source && e.text() == text)?;
        Some((same.verdict(), same.comparisons()))
    };
    blocks.extend(sensitivity::blocks(&claim.sensitivity, base));
    if let Some(varied) = claim.sensitivity.iter().find(|varied| varied.swept) {
        let file = folder.join("experiments").join(format!("{}.toml", varied.source));
        let options = ["--quick", "--variation", varied.variation.as_str()];
        blocks.push(Block::Text(
            "Variations are run in the experiments' quick versions, the first of these by".to_owned(),
        ));
        blocks.push(Block::Command(sweep_command(&file, &options, folder)));
    }
    let mut sources: Vec<&str> = claim.evidence.iter().map(Evidence::source).collect();
    sources.dedup();
    let mut measured = format!("Measured by {}.", sources.join(", "));
    if !claim.left_out.is_empty() {
        let _ = write!(measured, " Not looked at here, though about the claim: {}.", claim.left_out.join(", "));
    }
    blocks.push(Block::Text(measured));
    let mut words = vec!["wormcast", "reproduce", claim.claim.id];
    words.extend(quick.then_some("--quick"));
    let folder = folder.display().to_string();
    words.extend(["--out", &folder]);
    blocks.push(Block::Command(shell_line(words)));
    Section { title: claim.claim.id.to_owned(), anchor: claim.claim.id.to_owned(), level: 2, blocks }
}

/// A test on a sweep, with its comparisons for those who ask.
fn part(part: &Part, source: Option<&str>) -> Vec<Block> {
    let (verdict, text, because) = (part.verdict, part.text.clone(), part.because.clone());
    let source = source.map(str::to_owned);
    let verdict = Block::Verdict { verdict, text, because, source };
    if part.comparisons.is_empty() {
        return vec![verdict];
    }
    let head = ["series", "against", "at", "difference", "finding"].map(|text| Cell::Text(text.to_owned())).into();
    let rows = part.comparisons.iter().map(|comparison| {
        let difference = comparison.difference.map_or_else(String::new, |difference| {
            let unit = if part.unit == "us" { "µs" } else { &part.unit };
            format!("{} {unit}", difference.text()).trim_end().to_owned()
        });
        let finding = match comparison.finding {
            Finding::Holds => "holds",
            Finding::Fails => "fails",
            Finding::Open => "open",
            Finding::Missing => "missing",
        };
        vec![
            Cell::Text(comparison.series.clone()),
            Cell::Text(comparison.against.clone()),
            Cell::Text(comparison.at.clone()),
            Cell::Number(difference),
            Cell::Text(finding.to_owned()),
        ]
    });
    let summary =
        format!("{} comparisons, each with {:.3}% confidence", part.comparisons.len(), 100.0 * part.confidence);
    let table = Block::Table { head, rows: rows.collect() };
    vec![verdict, Block::Details { summary, block: Box::new(table) }]
}

/// An experiment: its plots, its table, its file.
fn exhibit(
    name: &str,
    experiment: &Experiment,
    findings: &Findings,
    command: &str,
    level: usize,
) -> Result<Section, PlotError> {
    let mut blocks = Vec::new();
    let open = findings.summaries.iter().filter(|summary| summary.outcome == Outcome::Incomplete).count();
    if open > 0 {
        let points = findings.summaries.len();
        blocks.push(Block::Text(format!(
            "{open} of {points} points are not complete: the command below goes on with them."
        )));
    }
    let figures = experiment.figures();
    for figure in &figures {
        let which = figure.file_suffix(&figures);
        match plot(figure, &findings.summaries) {
            Ok(plot) => blocks.push(Block::Figure {
                name: format!("{name}{which}.svg"),
                caption: results::caption(experiment, figure),
                svg: plot.svg,
            }),
            // A point without a result has nothing to show.
            Err(PlotError::Empty { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    for quantity in experiment.shown() {
        let table = results::table(experiment, quantity, &findings.summaries);
        let summary = format!("{}: {NUMBERS}", experiment.shown_as(quantity));
        blocks.push(Block::Details { summary, block: Box::new(table) });
    }
    blocks.push(Block::Command(command.to_owned()));
    let seed = findings.seed.map_or_else(String::new, |seed| format!("; seed {seed}"));
    blocks.push(Block::Details {
        summary: format!("The experiment: {name}.toml{seed}"),
        block: Box::new(Block::Code(experiment.text().to_owned())),
    });
    Ok(Section { title: heading(name, experiment), anchor: name.to_owned(), level, blocks })
}

/// The pieces of a text, each with whether it is code: between back quotes, if they come in pairs.
fn pieces(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let paired = text.matches('`').count().is_multiple_of(2);
    let whole = (!paired).then_some((false, text));
    let taken_apart = paired.then(|| text.split('`').enumerate().map(|(index, piece)| (index % 2 == 1, piece)));
    whole.into_iter().chain(taken_apart.into_iter().flatten())
}

/// The command that runs an experiment.
fn sweep_command(file: &Path, options: &[&str], folder: &Path) -> String {
    let (file, folder) = (file.display().to_string(), folder.display().to_string());
    let mut words = vec!["wormcast", "sweep", &file];
    words.extend(options);
    words.extend(["--out", &folder]);
    shell_line(words)
}

/// A command as it is typed: words that a shell would take apart or change are quoted.
pub fn shell_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    // Only a word with a NUL character cannot be quoted, and none can be an argument.
    words.into_iter().map(|word| shlex::try_quote(word).unwrap_or(word.into())).collect::<Vec<_>>().join(" ")
}

fn heading(name: &str, experiment: &Experiment) -> String {
    if experiment.title().is_empty() { name.to_owned() } else { experiment.title().to_owned() }
}

/// How the page was made.
fn made(quick: Option<bool>) -> Section {
    let mut rows = vec![
        ("wormcast", env!("CARGO_PKG_VERSION").to_owned()),
        ("version of the model", crate::store::MODEL_VERSION.to_string()),
        ("machine", machine::description()),
    ];
    if let Some(quick) = quick {
        rows.push(("runs", if quick { "quick" } else { "full" }.to_owned()));
    }
    let rows = rows.into_iter().map(|(name, value)| vec![Cell::Text(name.to_owned()), Cell::Text(value)]).collect();
    Section {
        title: "How this was made".to_owned(),
        anchor: "made".to_owned(),
        level: 1,
        blocks: vec![Block::Table { head: Vec::new(), rows }],
    }
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
        let page = Page { title: "P".to_owned(), sections: vec![section] };
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

    #[test]
    fn commands_can_be_typed() {
        assert_eq!(
            shell_line(["wormcast", "sweep", "my file.toml", "--set", "a=[1, 2]"]),
            "wormcast sweep 'my file.toml' --set 'a=[1, 2]'"
        );
    }
}
