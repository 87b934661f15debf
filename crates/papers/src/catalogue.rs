//! The catalogue of what the papers claim and what measures it, from a data file.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::checks::Check;
use crate::mutants::Mutant;

/// A paper.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Paper {
    /// Its authors, as they are cited.
    pub authors: String,
    /// Its title.
    pub title: String,
    /// Where it appeared, with pages, and when; where it says neither, whose report it is.
    pub venue: String,
    /// Its subject, in a few words.
    pub subject: String,
}

impl std::fmt::Display for Paper {
    /// As it is cited: authors, title and venue.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}. {}", self.authors, self.title, self.venue)
    }
}

/// A claim of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PaperClaim {
    /// Its name, unique among all.
    pub id: String,
    /// The paper, from 1 on: see [`papers`].
    pub paper: usize,
    /// The figures, tables and theorems that it comes from.
    pub exhibit: String,
    /// What is claimed.
    pub statement: String,
    /// The likely reason for a result that differs; empty if there is none.
    #[serde(default)]
    pub note: String,
    /// The experiments that measure it, by their file names without extension.
    #[serde(default)]
    pub experiments: Vec<String>,
    /// The weakest condition known under which it holds: settings that its experiments leave open, each with a value as TOML.
    #[serde(default)]
    pub condition: BTreeMap<String, String>,
    /// The checks that test it without a sweep.
    #[serde(default, rename = "check")]
    pub(crate) checks: Vec<Check>,
    /// What its tests must reject.
    #[serde(default, rename = "mutant")]
    pub(crate) mutants: Vec<Mutant>,
    /// What would hold instead of checks that fail.
    #[serde(default, rename = "alternative")]
    pub(crate) alternatives: Vec<Check>,
}

impl PaperClaim {
    /// The names of its exhibits, such as `paper-1-figure-9` or `paper-5-theorem-5.3`.
    pub fn exhibits(&self) -> Vec<String> {
        let mut names = Vec::new();
        let (mut kind, mut last, mut range) = ("", 0, false);
        for word in self.exhibit.split([' ', ',']).filter(|word| !word.is_empty()) {
            match word {
                "Figure" | "Figures" => kind = "figure",
                "Table" => kind = "table",
                "Theorem" | "Theorems" => kind = "theorem",
                "Lemma" | "Lemmas" => kind = "lemma",
                "Section" | "Sections" => kind = "section",
                "Appendix" => kind = "appendix",
                "Abstract" => names.push(format!("paper-{}-abstract", self.paper)),
                "and" => {}
                "to" => range = true,
                number => {
                    let whole = number.parse::<u32>().ok();
                    let between = if range { last + 1..whole.unwrap_or(0) } else { 0..0 };
                    let numbers = between.map(|number| number.to_string()).chain([number.to_lowercase()]);
                    names.extend(numbers.map(|number| format!("paper-{}-{kind}-{number}", self.paper)));
                    (last, range) = (whole.unwrap_or(0), false);
                }
            }
        }
        names
    }

    /// The names of the checks and experiments that measure it.
    pub fn sources(&self) -> Vec<&str> {
        let checks = self.checks.iter().map(|check| check.name.as_str());
        checks.chain(self.experiments.iter().map(String::as_str)).collect()
    }
}

/// What the file has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    #[serde(rename = "paper")]
    papers: Vec<Paper>,
    #[serde(rename = "claim")]
    claims: Vec<PaperClaim>,
}

const TEXT: &str = include_str!("../catalogue.toml");

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    toml::from_str(TEXT).unwrap_or_else(|error| unreachable!("the program carries a catalogue that is tested: {error}"))
});

/// The papers, the first of them number 1.
pub fn papers() -> &'static [Paper] {
    &CATALOGUE.papers
}

/// All claims, paper by paper.
pub fn claims() -> &'static [PaperClaim] {
    &CATALOGUE.claims
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wormcast_lab::Experiment;

    use super::*;
    use crate::files::experiments;

    #[test]
    fn every_claim_is_there_once_and_complete() {
        let ids: BTreeSet<&str> = claims().iter().map(|claim| claim.id.as_str()).collect();
        assert_eq!(ids.len(), claims().len(), "{ids:?}");
        assert!(claims().is_sorted_by_key(|claim| claim.paper));
        let numbers: BTreeSet<usize> = claims().iter().map(|claim| claim.paper).collect();
        assert_eq!(numbers, (1..=papers().len()).collect());
        for claim in claims() {
            let id = &claim.id;
            let prose =
                [&claim.exhibit, &claim.statement].into_iter().chain(Some(&claim.note).filter(|n| !n.is_empty()));
            assert!(
                prose.into_iter().all(|text| !text.is_empty() && text.trim() == text && !text.contains('\n')),
                "{id}"
            );
            assert!(!claim.exhibits().is_empty() && !claim.sources().is_empty(), "{id}");
            assert!(!claim.mutants.is_empty(), "{id}: nothing shows that its tests can fail");
        }
        let titles: BTreeSet<&str> = papers().iter().map(|paper| paper.title.as_str()).collect();
        assert!(titles.len() == papers().len() && !titles.contains(""));
    }

    /// What the catalogue says of experiments is what they claim.
    #[test]
    fn claims_name_the_experiments_that_are_about_them() {
        let mut named: BTreeMap<&str, Vec<&str>> =
            claims().iter().map(|claim| (claim.id.as_str(), Vec::new())).collect();
        for file in experiments() {
            let experiment = Experiment::parse(file.name, file.text, &[]).unwrap();
            for id in experiment.claim_ids() {
                let of_claim = named.get_mut(id.as_str()).unwrap_or_else(|| panic!("{}: no claim `{id}`", file.name));
                of_claim.push(file.stem());
            }
        }
        for claim in claims() {
            assert_eq!(claim.experiments, named[claim.id.as_str()], "{}", claim.id);
        }
    }

    /// A condition is one of those that are searched.
    #[test]
    fn conditions_are_values_of_open_settings() {
        for claim in claims() {
            for (setting, value) in &claim.condition {
                let known = claim.experiments.iter().any(|name| {
                    let file = experiments().find(|file| file.stem() == name).unwrap();
                    let experiment = Experiment::parse(file.name, file.text, &[]).unwrap();
                    let mut open = experiment.open_settings().iter();
                    open.any(|open| open.setting == *setting && open.values.contains(value))
                });
                assert!(known, "{}: {setting} = {value}", claim.id);
            }
        }
    }

    #[test]
    fn exhibits_have_names() {
        let of = |id: &str| claims().iter().find(|claim| claim.id == id).unwrap().exhibits().join(" ");
        assert_eq!(
            of("turns-theory"),
            "paper-3-theorem-1 paper-3-theorem-2 paper-3-theorem-3 paper-3-theorem-4 paper-3-theorem-5"
        );
        assert!(of("cube-theory").starts_with("paper-2-lemma-1 paper-2-lemma-2 paper-2-theorem-1 "));
        assert_eq!(of("turns-trees"), "paper-3-figure-5 paper-3-table-1");
        assert_eq!(of("switch-factor"), "paper-4-section-1 paper-4-section-7.8");
    }

    #[test]
    fn a_check_that_there_is_not_is_no_catalogue() {
        let text = "[[paper]]\nauthors = 'A'\nvenue = 'V'\ntitle = 'T'\nsubject = 's'\n[[claim]]\nid = 'a'\npaper = 1\nexhibit = 'Figure 1'\nstatement = 's'\n";
        let read =
            |more: &str| toml::from_str::<Catalogue>(&format!("{text}{more}")).map(|catalogue| catalogue.claims.len());
        assert_eq!(read("[[claim.check]]\nname = 'fewest-lists'\ntext = 't'\n").unwrap(), 1);
        let error = read("[[claim.check]]\nname = 'fewest'\ntext = 't'\n").unwrap_err().to_string();
        assert!(error.contains("there is no check `fewest`"), "{error}");
        assert!(read("notes = 'n'\n").is_err());
    }
}
