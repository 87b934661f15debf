//! Reports: pages that show experiments with their tables, plots and verdicts, as HTML in one file and as Markdown.

mod html;
mod machine;
mod markdown;
mod results;

use std::fmt::Write as _;
use std::path::Path;

use crate::experiment::Experiment;
use crate::plot::{PlotError, plot};
use crate::reproduction::{CLAIMS, Evidence, PAPERS, ReproducedClaim, Reproduction};
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
    /// A test with its verdict: what is claimed, and why it holds or does not.
    Verdict {
        verdict: Verdict,
        text: String,
        because: String,
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

    /// The page as Markdown; plots are files beside it, see [`plots`](Self::plots).
    pub fn markdown(&self) -> String {
        markdown::page(self)
    }

    /// The names and texts of the plots, as SVG, that the Markdown links to.
    pub fn plots(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Figure { name, svg, .. } => Some((name.as_str(), svg.as_str())),
            _ => None,
        })
    }
}

/// A page about experiments, each with its name, the command that makes its results, and what they are.
///
/// # Errors
/// If a plot cannot be drawn.
pub fn experiments_page(experiments: &[(String, String, Experiment, Findings)]) -> Result<Page, PlotError> {
    let title = match experiments {
        [(name, _, experiment, _)] => heading(name, experiment),
        _ => "Experiments".to_owned(),
    };
    let mut sections = Vec::new();
    for (name, command, experiment, findings) in experiments {
        let mut section = exhibit(name, experiment, findings, command, 1)?;
        let verdicts = findings.verdicts.iter().flat_map(|verdict| verdict.evidence.iter().flat_map(part));
        section.blocks.extend(verdicts);
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
    let quick = if reproduction.quick { " --quick" } else { "" };
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
        sections.extend(claims.iter().map(|claim| claimed(claim, &format!("{quick} --out {}", folder.display()))));
        let prefix = format!("paper-{number}-");
        for of_paper in reproduction.exhibits.iter().filter(|exhibit| exhibit.name.starts_with(&prefix)) {
            let file = folder.join("experiments").join(format!("{}.toml", of_paper.name));
            let command = format!("wormcast sweep {}{quick} --out {}", file.display(), folder.display());
            sections.push(exhibit(of_paper.name, &of_paper.experiment, &of_paper.findings, &command, 2)?);
        }
    }
    sections.push(made(Some(reproduction.quick)));
    Ok(Page { title: "Five papers on multicast in wormhole networks, reproduced".to_owned(), sections })
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
                numbers for both sides, and intervals are so wide that all of a sentence hold together with the stated confidence. It is \
                not reproduced if one fails, and inconclusive if one is open.";
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
fn claimed(claim: &ReproducedClaim, options: &str) -> Section {
    let mut blocks = vec![Block::Verdict {
        verdict: claim.verdict,
        text: claim.claim.exhibit.to_owned(),
        because: claim.claim.statement.to_owned(),
    }];
    for evidence in &claim.evidence {
        match evidence {
            Evidence::Sweep { part: of_sweep, .. } => blocks.extend(part(of_sweep)),
            Evidence::Check(checked) => blocks.push(Block::Verdict {
                verdict: checked.verdict,
                text: checked.text.to_owned(),
                because: checked.because.clone(),
            }),
        }
    }
    if claim.verdict == Verdict::NotReproduced && !claim.claim.note.is_empty() {
        blocks.push(Block::Text(format!("What is likely behind it: {}", claim.claim.note)));
    }
    let mut sources: Vec<&str> = claim.evidence.iter().map(Evidence::source).collect();
    sources.dedup();
    blocks.push(Block::Text(format!("Measured by {}.", sources.join(", "))));
    blocks.push(Block::Command(format!("wormcast reproduce {}{options}", claim.claim.id)));
    Section { title: claim.claim.id.to_owned(), anchor: claim.claim.id.to_owned(), level: 2, blocks }
}

/// A test on a sweep, with its comparisons for those who ask.
fn part(part: &Part) -> Vec<Block> {
    let verdict = Block::Verdict { verdict: part.verdict, text: part.text.clone(), because: part.because.clone() };
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
                caption: results::caption(experiment, figure.y),
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
