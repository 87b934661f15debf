//! The papers' claims on a page: each with its verdict, its plots and what they say of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use wormcast_lab::report::{
    Block, Cell, Page, Section, Table, figures, numbers_section, sensitivity, shell_line, shown_path,
};
use wormcast_lab::{PlotError, Program, Verdict};

use crate::catalogue::{claims, papers};
use crate::conditions::{Condition, Opened, Outcome, Searched, SentenceRange, Setting, in_words};
use crate::evidence::{Checked, Evidence};
use crate::mutants::Mutated;
use crate::reproduction::{Exhibit, ReproducedClaim, Reproduction};
use crate::verdict::PaperVerdict;

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
    let title = "What papers on multicast in wormhole networks claim, tested".to_owned();
    Ok(Page::new(title, sections, program, origins, Some(*quick)))
}

/// All verdicts in one table.
fn overview(reproduction: &Reproduction) -> Section {
    let count = |verdict| reproduction.claims.iter().filter(|claim| claim.verdict == verdict).count();
    let counts = PaperVerdict::ALL.map(|verdict| (verdict, count(verdict)));
    let counts: Vec<String> =
        counts.iter().filter(|(_, count)| *count > 0).map(|(verdict, count)| format!("{verdict}: {count}")).collect();
    let mut text = format!("Claims: {}, of which {}.", reproduction.claims.len(), counts.join("; "));
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
            Cell::Verdict(claim.verdict.into()),
            Cell::Text(claim.condition.as_ref().map_or_else(String::new, |condition| condition.text.clone())),
            Cell::Text(claim.claim.exhibit.clone()),
            Cell::Text(claim.claim.statement.clone()),
        ]
    };
    let rows = reproduction.claims.iter().map(row).collect();
    let head = ["claim", "verdict", "condition", "exhibit", "what the paper says"];
    blocks.push(Block::Table(Table::of_words(head, rows)));
    let text = "Each claim comes to sentences, which are tested one by one: comparisons use the same random numbers for both sides, and \
                intervals are so wide that all of a sentence hold together with 95% confidence. A claim is";
    blocks.push(Block::Text(text.to_owned()));
    let verdicts = [
        "reproduced if every sentence holds;",
        "reproduced under a condition if every sentence holds with other values of settings that the paper does not give, or in a part of a \
         range that it does not give;",
        "an erratum if what fails is an error in print, and what would be right holds;",
        "partly reproduced if some sentences hold, and no condition that was tried makes all of them hold;",
        "contradicted if none holds, whatever condition was tried;",
        "inconclusive if nothing fails for certain, but a sentence is open, or if conditions that there are were not tried.",
    ];
    blocks.push(Block::List(verdicts.map(str::to_owned).to_vec()));
    Section { title: "Verdicts".to_owned(), anchor: "verdicts".to_owned(), level: 1, blocks }
}

/// A claim with its evidence: what is claimed, then for each experiment its plots with the sentences that they decide.
fn claimed(claim: &ReproducedClaim, drawn: &BTreeMap<&str, Vec<Block>>, quick: bool, folder: &Path) -> Section {
    let mut blocks = vec![Block::Verdict {
        verdict: claim.verdict.into(),
        text: claim.claim.exhibit.clone(),
        because: claim.claim.statement.clone(),
        source: None,
    }];
    blocks.extend(claim.condition.as_ref().map(|condition| Block::List(under(condition))));
    let mut sources: Vec<&str> = Vec::new();
    for source in claim.evidence.iter().map(Evidence::source) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    for source in &sources {
        let of_source = claim.evidence.iter().filter(|evidence| evidence.source() == *source);
        let (mut said, mut before) = (Vec::new(), None);
        for evidence in of_source {
            said.extend(Block::of_quote(evidence.wording(), before.replace(evidence.wording())));
            said.extend(told(evidence));
        }
        let plots = drawn.get(source);
        if plots.is_some() {
            let text = format!("{source}: numbers, command, file");
            said.push(Block::See { text, anchor: (*source).to_owned() });
        }
        blocks.extend(Block::beside(plots.cloned().unwrap_or_default(), said));
    }
    if claim.verdict != PaperVerdict::Reproduced && !claim.claim.note.is_empty() {
        blocks.push(Block::Text(format!(
            "What is likely behind it, by full runs and their variations: {}",
            claim.claim.note
        )));
    }
    blocks.extend(claim.searched.as_ref().map(|searched| searched_for(claim, searched)).unwrap_or_default());
    blocks.extend(varied(claim, folder));
    blocks.extend(mutated(claim));
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
    let mut blocks = match evidence {
        Evidence::Sweep { part, .. } => Block::of_part(part),
        Evidence::Check(Checked { text, wording, verdict, because, .. }) => {
            vec![Block::of_test(text, wording, *verdict, because)]
        }
    };
    let failed = evidence.sentence().verdict != Verdict::Reproduced;
    blocks.extend(
        evidence.erratum().filter(|_| failed).map(|erratum| Block::Text(format!("An error in print: {erratum}"))),
    );
    blocks
}

/// A condition, what holds under it in part, and where it stops.
fn under(condition: &Condition) -> Vec<String> {
    let Condition { settings, ranges, also, not, .. } = condition;
    let mut lines = Vec::new();
    if !settings.is_empty() {
        lines.push(format!("Every sentence holds if {}.", in_words(settings)));
    }
    lines.extend(ranges.iter().map(|SentenceRange { source, text, range }| {
        let bounds =
            if range.bounds.is_empty() { String::new() } else { format!(", not at {}", range.bounds.join(" and ")) };
        format!("From {} to {}{bounds} ({source}): {text}", range.from, range.to)
    }));
    if !also.is_empty() {
        lines.push(format!("So it is with {}.", also.join(", ")));
    }
    if !not.is_empty() {
        lines.push(format!("It is not with {}.", not.join(", ")));
    }
    lines
}

/// What is open, and a table of conditions against sentences.
fn searched_for(claim: &ReproducedClaim, searched: &Searched) -> Vec<Block> {
    let Searched { conditions, of, changed_at_once, replications, open, results } = searched;
    let at_once = if *changed_at_once < 2 { "one setting changed" } else { "up to two settings changed" };
    let mut blocks = vec![Block::Text(format!(
        "Conditions: {conditions} of {of} were tested, with {at_once} ({replications} replications of quick versions). Open are:"
    ))];
    let line = |open: &Opened| format!("`{}`, also {}: {}", open.setting, open.values.join(", "), open.why);
    blocks.push(Block::List(open.iter().map(line).collect()));
    let numbered = (1..).zip(&claim.evidence).map(|(number, one)| format!("({number}) {}", one.sentence().text));
    blocks.push(Block::List(numbered.collect()));
    let row = |settings: &[Setting], sentences: &[Outcome]| {
        let words = if settings.is_empty() { "as the files are".to_owned() } else { in_words(settings) };
        let cells = sentences.iter().map(|outcome| match (&outcome.holds, outcome.verdict) {
            (Some(range), _) => Cell::Text(format!("{} to {}", range.from, range.to)),
            (None, Verdict::Reproduced) => Cell::Text("holds".to_owned()),
            (None, Verdict::NotReproduced) => Cell::Text("fails".to_owned()),
            (None, Verdict::Inconclusive) => Cell::Text("open".to_owned()),
        });
        std::iter::once(Cell::Text(words)).chain(cells).collect::<Vec<_>>()
    };
    let base: Vec<Outcome> = claim.evidence.iter().map(Outcome::of).collect();
    let rows =
        std::iter::once(row(&[], &base)).chain(results.iter().map(|tested| row(&tested.settings, &tested.sentences)));
    let head = std::iter::once("condition".to_owned()).chain((1..=base.len()).map(|number| format!("({number})")));
    blocks.push(Block::Table(Table::of_list(head.collect(), rows.collect())));
    blocks
}

/// What the claim's tests reject.
fn mutated(claim: &ReproducedClaim) -> Vec<Block> {
    if claim.mutants.is_empty() {
        return Vec::new();
    }
    let line = |mutated: &Mutated| {
        let Mutated { text, rejected, because } = mutated;
        let rejected = match rejected {
            Some(true) => "rejected",
            Some(false) => "NOT rejected",
            None => "nothing to reject, as no sentence that it changes holds",
        };
        if because.is_empty() { format!("{text}: {rejected}.") } else { format!("{text}: {rejected}. {because}") }
    };
    let text = "These tests can fail. On results that are wrong on purpose they say:";
    vec![Block::Text(text.to_owned()), Block::List(claim.mutants.iter().map(line).collect())]
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
