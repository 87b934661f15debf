//! Experiments on a page: plots with what is claimed of them, then who is best where, numbers, command and file.

use std::path::Path;

use super::{Block, Cell, Change, Page, Section, Shown, Table, ranking, results, sensitivity};
use crate::experiment::Experiment;
use crate::plot::{PlotError, plot};
use crate::runs::run::{Findings, Variation};
use crate::statistics::in_percent;
use crate::statistics::summary::{NO_INTERVAL, PointSummary, incomplete_points, without_interval};
use crate::store::origin::{Origin, Program};
use crate::verdict::{Finding, Part, Verdict, Wording};

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
    /// The variations of it that have results.
    pub variations: Vec<Variation>,
    /// What [`Experiment::unsafe_worms`] says of it.
    pub unsafe_worms: Vec<String>,
}

/// A page about experiments, whose results come from `origins`, made by `program`.
///
/// # Errors
/// If a plot cannot be drawn.
pub fn experiments_page(experiments: &[Reported], origins: &[Origin], program: Program) -> Result<Page, PlotError> {
    let title = match experiments {
        [only] => heading(&only.name, &only.experiment),
        _ => "Experiments".to_owned(),
    };
    let mut sections = Vec::new();
    for Reported { name, command, experiment, findings, variations, unsafe_worms } in experiments {
        let verdicts = findings.verdicts.iter().flat_map(|verdict| &verdict.evidence);
        let mut said = Vec::new();
        let mut before = None;
        for part in verdicts.clone() {
            said.extend(Block::of_quote(&part.wording, before.replace(&part.wording)));
            said.extend(Block::of_part(part));
        }
        let mut ranking = ranking::blocks(experiment, findings);
        // What claims nothing shows beside the plot who is best.
        if said.is_empty() {
            std::mem::swap(&mut said, &mut ranking);
        }
        let mut blocks: Vec<Block> = incomplete(findings).into_iter().collect();
        blocks.extend(Block::beside(figures(name, experiment, findings)?, said));
        if !unsafe_worms.is_empty() {
            blocks.push(Block::List(unsafe_worms.clone()));
        }
        blocks.extend(ranking);
        let before = |part: &Part| verdicts.clone().find(|before| before.text == part.text).map(Into::into);
        let changes = variations.iter().flat_map(|Variation { name: variation, settings, verdicts }| {
            verdicts.iter().map(|verdict| Change {
                claim: (verdicts.len() > 1).then_some(verdict.claim.as_str()),
                name: variation,
                settings,
                verdict: verdict.verdict,
                section: Some(name),
                sentences: verdict.evidence.iter().map(|part| (part.into(), before(part))).collect(),
            })
        });
        blocks.extend(sensitivity(&changes.collect::<Vec<_>>()));
        blocks.extend(behind(experiment, findings, command));
        // A page about one experiment has its title already.
        let title = if experiments.len() == 1 { "Results".to_owned() } else { heading(name, experiment) };
        sections.push(Section { title, anchor: name.clone(), level: 1, blocks });
    }
    Ok(Page::new(title, sections, program, origins, None))
}

/// A section with the numbers of an experiment whose plots are elsewhere: how complete they are, links to the plots, who is best where,
/// tables, the `command` that makes the results, and the file; its anchor is `name`.
pub fn numbers_section(
    name: &str,
    experiment: &Experiment,
    findings: &Findings,
    plots: Vec<Block>,
    command: &str,
) -> Section {
    let mut blocks: Vec<Block> = incomplete(findings).into_iter().collect();
    blocks.extend(plots);
    blocks.extend(ranking::blocks(experiment, findings));
    blocks.extend(behind(experiment, findings, command));
    Section { title: heading(name, experiment), anchor: name.to_owned(), level: 2, blocks }
}

impl Block {
    /// Plots with what is said of them beside; just that if there are none.
    pub fn beside(figures: Vec<Self>, said: Vec<Self>) -> Vec<Self> {
        if figures.is_empty() || said.is_empty() {
            return [figures, said].concat();
        }
        vec![Self::Beside { figures, said }]
    }

    /// The words that a test goes back to, unless the test before goes back to the same.
    pub fn of_quote(wording: &Wording, before: Option<&Wording>) -> Option<Self> {
        let quoted = wording.quoted();
        (quoted != before.and_then(Wording::quoted)).then_some(quoted).flatten().map(Self::Text)
    }

    /// A test with its verdict, and first of all what in it is not in its source.
    pub fn of_test(text: &str, wording: &Wording, verdict: Verdict, because: &str) -> Self {
        let lines: Vec<String> = wording.reading().into_iter().chain([because.to_owned()]).collect();
        Self::Verdict { verdict: verdict.into(), text: text.to_owned(), because: lines.join("\n"), source: None }
    }

    /// A test on a sweep, with its comparisons for those who ask.
    pub fn of_part(part: &Part) -> Vec<Self> {
        let verdict = Self::of_test(&part.text, &part.wording, part.verdict, &part.because);
        if part.comparisons.is_empty() {
            return vec![verdict];
        }
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
                Finding::NoInterval => "no interval",
            };
            vec![
                Cell::Text(comparison.series.clone()),
                Cell::Text(comparison.against.clone()),
                Cell::Text(comparison.at.clone()),
                Cell::Number(difference),
                Cell::Text(finding.to_owned()),
            ]
        });
        let confidence = in_percent(part.confidence);
        let summary = match part.comparisons.len() {
            1 => format!("1 comparison, with {confidence}% confidence"),
            count => format!("{count} comparisons, each with {confidence}% confidence"),
        };
        let head = ["series", "against", "at", "difference", "finding"].map(str::to_owned).into();
        let table = Self::Table(Table::of_numbers(head, rows.collect()));
        vec![verdict, Self::Details { summary, block: Box::new(table), shown: Shown::Never }]
    }
}

/// What a sweep lacks.
fn incomplete(findings: &Findings) -> Option<Block> {
    let incomplete = incomplete_points(&findings.summaries)?;
    Some(Block::Text(format!("{incomplete}: the command below adds what is missing.")))
}

/// An experiment's plots, one for each quantity that has any; `name` is the experiment's.
///
/// # Errors
/// If a plot cannot be drawn.
pub fn figures(name: &str, experiment: &Experiment, findings: &Findings) -> Result<Vec<Block>, PlotError> {
    let mut blocks = Vec::new();
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
            Err(error) if error.is_empty() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(blocks)
}

/// What is behind the plots: the numbers, the command, the file.
fn behind(experiment: &Experiment, findings: &Findings, command: &str) -> Vec<Block> {
    let numbers = experiment.shown().into_iter().map(|quantity| Block::Details {
        summary: {
            let latency = quantity.is_latency();
            let any = |is: fn(&PointSummary) -> bool| findings.summaries.iter().any(is);
            let trend = any(|summary| summary.trend).then_some("depends on the window");
            let censored =
                (latency && any(|summary| summary.unmeasured > 0.0)).then_some("leaves out messages still in flight");
            let short = (!latency && any(|summary| summary.short)).then_some("the window is too short for it");
            let why: Vec<&str> = trend.into_iter().chain(censored).chain(short).collect();
            let reserved = (!why.is_empty()).then(|| format!("{}: {}", ranking::UNSETTLED, why.join(", or ")));
            let bare = without_interval(&findings.summaries, quantity);
            let bare = bare.map(|_| format!("{NO_INTERVAL}: no interval, it takes more runs"));
            let marks: Vec<String> = reserved.into_iter().chain(bare).collect();
            let marks = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join("; ")) };
            format!("{}: the numbers{marks}", experiment.shown_as(quantity))
        },
        block: Box::new(Block::Table(results::table(experiment, quantity, &findings.summaries))),
        shown: Shown::Printed,
    });
    let mut blocks: Vec<Block> = numbers.collect();
    let seed = findings.seed.map_or_else(String::new, |seed| format!("; seed {seed}"));
    blocks.push(Block::Details {
        summary: format!("The experiment: {}{seed}", file(experiment)),
        block: Box::new(Block::Code(experiment.text().to_owned())),
        shown: Shown::Never,
    });
    blocks.push(Block::Command(command.to_owned()));
    blocks
}

/// The name of the experiment's file, without folders of the machine.
fn file(experiment: &Experiment) -> String {
    let path = Path::new(experiment.path());
    path.file_name().map_or_else(|| experiment.path().to_owned(), |name| name.to_string_lossy().into_owned())
}

fn heading(name: &str, experiment: &Experiment) -> String {
    if experiment.title().is_empty() { name.to_owned() } else { experiment.title().to_owned() }
}
