//! The papers' claims on a page: each with its verdict, its plots and what they say of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::commands::{shell_line, shown_path, sweep_command};
use super::{Block, Cell, Page, Section, Table, exhibit, made, sensitivity};
use crate::origin::Program;
use crate::plot::PlotError;
use crate::reproduction::{CLAIMS, Evidence, Exhibit, PAPERS, ReproducedClaim, Reproduction};
use crate::verdict::Verdict;

/// The page of a reproduction, made by `program`; `folder` is where its results lie, with the experiments and the store.
///
/// # Errors
/// If a plot cannot be drawn.
pub fn reproduction_page(reproduction: &Reproduction, folder: &Path, program: Program) -> Result<Page, PlotError> {
    let Reproduction { claims, exhibits, origins, quick } = reproduction;
    let mut figures: BTreeMap<&str, Vec<Block>> = BTreeMap::new();
    for Exhibit { name, experiment, findings } in exhibits {
        figures.insert(name, exhibit::figures(name, experiment, findings)?);
    }
    let mut sections = vec![overview(reproduction)];
    for (number, paper) in (1..).zip(PAPERS) {
        let of_paper: Vec<&ReproducedClaim> = claims.iter().filter(|c| c.claim.paper == number).collect();
        if of_paper.is_empty() {
            continue;
        }
        sections.push(Section {
            title: format!("Paper {number}: {}", paper.subject),
            anchor: format!("paper-{number}"),
            level: 1,
            blocks: vec![Block::Text(format!("“{}”.", paper.title))],
        });
        sections.extend(of_paper.iter().map(|claim| claimed(claim, &figures, *quick, folder)));
        let prefix = format!("paper-{number}-");
        for exhibit in exhibits.iter().filter(|exhibit| exhibit.name.starts_with(&prefix)) {
            let about = |claim: &&ReproducedClaim| claim.evidence.iter().any(|one| one.source() == exhibit.name);
            let ids: Vec<&str> = claims.iter().filter(about).map(|claim| claim.claim.id).collect();
            sections.push(exhibit::section(exhibit, &ids, *quick, folder));
        }
    }
    sections.push(made::section(program, origins, Some(*quick)));
    let title = "What five papers on multicast in wormhole networks claim, tested".to_owned();
    Ok(Page { title, byline: made::byline(program, origins), sections })
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
    let row = |claim: &ReproducedClaim| {
        vec![
            Cell::Link { text: claim.claim.id.to_owned(), anchor: claim.claim.id.to_owned() },
            Cell::Verdict(claim.verdict),
            Cell::Text(claim.claim.exhibit.to_owned()),
            Cell::Text(claim.claim.statement.to_owned()),
        ]
    };
    let rows = reproduction.claims.iter().map(row).collect();
    blocks.push(Block::Table(Table::of_words(["claim", "verdict", "exhibit", "what the paper says"], rows)));
    let text = "A claim is reproduced if every sentence that it comes to holds in the statistics: comparisons use the same random \
                numbers for both sides, and intervals are so wide that all of a sentence hold together with 95% confidence. It is \
                not reproduced if one sentence fails, and inconclusive if one is open: a claim of many sentences has as many chances to fail.";
    blocks.push(Block::Text(text.to_owned()));
    Section { title: "Verdicts".to_owned(), anchor: "verdicts".to_owned(), level: 1, blocks }
}

/// A claim with its evidence: what is claimed, then for each experiment its plots with the sentences that they decide.
fn claimed(claim: &ReproducedClaim, figures: &BTreeMap<&str, Vec<Block>>, quick: bool, folder: &Path) -> Section {
    let mut blocks = vec![Block::Verdict {
        verdict: claim.verdict,
        text: claim.claim.exhibit.to_owned(),
        because: claim.claim.statement.to_owned(),
        source: None,
    }];
    let mut sources: Vec<&str> = Vec::new();
    for source in claim.evidence.iter().map(Evidence::source) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    for source in &sources {
        let of_source = claim.evidence.iter().filter(|evidence| evidence.source() == *source);
        let mut said: Vec<Block> = of_source
            .flat_map(|evidence| match evidence {
                Evidence::Sweep { part, .. } => exhibit::part(part),
                Evidence::Check(checked) => vec![Block::Verdict {
                    verdict: checked.verdict,
                    text: checked.text.to_owned(),
                    because: checked.because.clone(),
                    source: None,
                }],
            })
            .collect();
        let drawn = figures.get(source);
        if drawn.is_some() {
            let text = format!("{source}: numbers, command, file");
            said.push(Block::See { text, anchor: (*source).to_owned() });
        }
        blocks.extend(exhibit::beside(drawn.cloned().unwrap_or_default(), said));
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
        let options = ["--quick", "--variation", varied.variation.as_str()];
        blocks.push(Block::Text(
            "Variations are run in the experiments' quick versions, the first of these by".to_owned(),
        ));
        blocks.push(Block::Command(sweep_command(&varied.source, &options, folder)));
    }
    let mut measured = format!("Measured by {}.", sources.join(", "));
    if !claim.left_out.is_empty() {
        let _ = write!(measured, " Not looked at here, though about the claim: {}.", claim.left_out.join(", "));
    }
    blocks.push(Block::Text(measured));
    let mut words = vec!["wormcast", "reproduce", claim.claim.id];
    words.extend(quick.then_some("--quick"));
    let folder = shown_path(folder);
    words.extend(["--out", &folder]);
    blocks.push(Block::Command(shell_line(words)));
    Section { title: claim.claim.id.to_owned(), anchor: claim.claim.id.to_owned(), level: 2, blocks }
}
