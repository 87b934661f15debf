//! The papers' claims on a page: each with its verdict, its plots and what they say of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use wormcast_lab::report::{
    Block, Cell, Page, Section, Table, figures, numbers_section, sensitivity, shell_line, shown_path,
};
use wormcast_lab::{PlotError, Program, Verdict};

use crate::catalogue::{claims, papers};
use crate::evidence::Evidence;
use crate::reproduction::{Exhibit, ReproducedClaim, Reproduction};

/// The page of a reproduction, made by `program`; `folder` is where its results lie, with the experiments and the store.
///
/// # Errors
/// If a plot cannot be drawn.
pub fn reproduction_page(reproduction: &Reproduction, folder: &Path, program: Program) -> Result<Page, PlotError> {
    let Reproduction { claims, exhibits, origins, quick } = reproduction;
    let mut drawn: BTreeMap<&str, Vec<Block>> = BTreeMap::new();
    for Exhibit { name, experiment, findings } in exhibits {
        drawn.insert(name, figures(name, experiment, findings)?);
    }
    let mut sections = vec![overview(reproduction)];
    for (number, paper) in (1..).zip(papers()) {
        let of_paper: Vec<&ReproducedClaim> = claims.iter().filter(|c| c.claim.paper == number).collect();
        if of_paper.is_empty() {
            continue;
        }
        sections.push(Section {
            title: format!("Paper {number}: {}", paper.subject),
            anchor: format!("paper-{number}"),
            level: 1,
            blocks: vec![Block::Text(format!("{paper}."))],
        });
        sections.extend(of_paper.iter().map(|claim| claimed(claim, &drawn, *quick, folder)));
        let prefix = format!("paper-{number}-");
        for exhibit in exhibits.iter().filter(|exhibit| exhibit.name.starts_with(&prefix)) {
            let about = |claim: &&ReproducedClaim| claim.evidence.iter().any(|one| one.source() == exhibit.name);
            let ids = claims.iter().filter(about).map(|claim| claim.claim.id.as_str());
            sections.push(numbers(exhibit, ids, *quick, folder));
        }
    }
    let title = "What five papers on multicast in wormhole networks claim, tested".to_owned();
    Ok(Page::new(title, sections, program, origins, Some(*quick)))
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
    if reproduction.claims.len() < claims().len() {
        let _ = write!(text, " The papers make {}: the others were not asked for.", claims().len());
    }
    let mut blocks = vec![Block::Text(text)];
    if reproduction.quick {
        let text = "This is the quick version: fewer and shorter runs than the papers', and fewer points. Intervals are wider, and more \
                    is left open than need be.";
        blocks.push(Block::Text(text.to_owned()));
    }
    let row = |claim: &ReproducedClaim| {
        vec![
            Cell::Link { text: claim.claim.id.clone(), anchor: claim.claim.id.clone() },
            Cell::Verdict(claim.verdict),
            Cell::Text(claim.claim.exhibit.clone()),
            Cell::Text(claim.claim.statement.clone()),
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
fn claimed(claim: &ReproducedClaim, drawn: &BTreeMap<&str, Vec<Block>>, quick: bool, folder: &Path) -> Section {
    let mut blocks = vec![Block::Verdict {
        verdict: claim.verdict,
        text: claim.claim.exhibit.clone(),
        because: claim.claim.statement.clone(),
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
        let mut said: Vec<Block> = of_source.flat_map(told).collect();
        let plots = drawn.get(source);
        if plots.is_some() {
            let text = format!("{source}: numbers, command, file");
            said.push(Block::See { text, anchor: (*source).to_owned() });
        }
        blocks.extend(Block::beside(plots.cloned().unwrap_or_default(), said));
    }
    if claim.verdict == Verdict::NotReproduced && !claim.claim.note.is_empty() {
        blocks.push(Block::Text(format!(
            "What is likely behind it, by full runs and their variations: {}",
            claim.claim.note
        )));
    }
    blocks.extend(varied(claim, folder));
    let mut measured = format!("Measured by {}.", sources.join(", "));
    if !claim.left_out.is_empty() {
        let _ = write!(measured, " Not looked at here, though about the claim: {}.", claim.left_out.join(", "));
    }
    blocks.push(Block::Text(measured));
    let mut words = vec!["wormcast", "reproduce", claim.claim.id.as_str()];
    words.extend(quick.then_some("--quick"));
    let folder = shown_path(folder);
    words.extend(["--out", &folder]);
    blocks.push(Block::Command(shell_line(words)));
    Section { title: claim.claim.id.clone(), anchor: claim.claim.id.clone(), level: 2, blocks }
}

/// What was tested, and how it came out.
fn told(evidence: &Evidence) -> Vec<Block> {
    match evidence {
        Evidence::Sweep { part, .. } => Block::of_part(part),
        Evidence::Check(checked) => vec![Block::Verdict {
            verdict: checked.verdict,
            text: checked.text.to_owned(),
            because: checked.because.clone(),
            source: None,
        }],
    }
}

/// What variations change, and how they are run.
fn varied(claim: &ReproducedClaim, folder: &Path) -> Vec<Block> {
    let changes: Vec<_> = claim.sensitivity.iter().map(|varied| varied.change(&claim.evidence)).collect();
    let mut blocks = sensitivity(&changes);
    if let Some(varied) = claim.sensitivity.iter().find(|varied| varied.is_swept()) {
        let options = ["--quick", "--variation", varied.variation.as_str()];
        blocks.push(Block::Text(
            "Variations are run in the experiments' quick versions, the first of these by".to_owned(),
        ));
        blocks.push(Block::Command(sweep_command(&varied.source, &options, folder)));
    }
    blocks
}

/// The numbers of an experiment, whose plots are shown with claims.
fn numbers<'a>(exhibit: &Exhibit, claims: impl Iterator<Item = &'a str>, quick: bool, folder: &Path) -> Section {
    let Exhibit { name, experiment, findings } = exhibit;
    let see = claims.map(|id| Block::See { text: format!("Plots and verdicts: {id}"), anchor: id.to_owned() });
    let command = sweep_command(name, if quick { &["--quick"] } else { &[] }, folder);
    numbers_section(name, experiment, findings, see.collect(), &command)
}

/// The command that runs an experiment of a folder of results.
fn sweep_command(experiment: &str, options: &[&str], folder: &Path) -> String {
    let folder = shown_path(folder);
    let file = Path::new(&folder).join("experiments").join(format!("{experiment}.toml")).display().to_string();
    let mut words = vec!["wormcast", "sweep", &file];
    words.extend(options);
    words.extend(["--out", &folder]);
    shell_line(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_no_folder_of_the_machine() {
        let command = |folder: &str| sweep_command("a", &[], Path::new(folder));
        assert_eq!(command("out/b"), "wormcast sweep out/b/experiments/a.toml --out out/b");
        for folder in ["/tmp/somebody/b", "../../somebody/b", "/b/"] {
            assert_eq!(command(folder), "wormcast sweep b/experiments/a.toml --out b");
        }
    }
}
