//! The papers, reproduced: every claim with its verdict and the evidence for it.

mod catalogue;
mod checks;
mod sensitivity;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::LazyLock;

use serde::Serialize;
use wormcast_network::did_you_mean;

use crate::diagnostic::Diagnostic;
use crate::experiment::Experiment;
use crate::origin::Origin;
use crate::output::write_file;
use crate::run::{Findings, RunError, origins, run_sweep};
use crate::store::{DamagedRow, Store};
use crate::sweep::{Observer, Status};
use crate::verdict::{Comparison, Part, Verdict};

pub use catalogue::{CLAIMS, PAPERS, Paper, PaperClaim, UnknownClaim};
use catalogue::{FILES, Shipped};
use checks::{CHECKS, Check};
pub use sensitivity::{Varied, stored_variations};

/// What is asked for: claims, and which of the checks and experiments that speak about them.
#[derive(Clone, Debug)]
pub struct Choice {
    claims: Vec<&'static PaperClaim>,
    sources: BTreeSet<&'static str>,
}

/// What is to be reproduced: some of the papers' claims, and what measures them.
#[derive(Clone, Debug)]
pub struct Selection {
    choice: Choice,
    /// The experiments with their files' names without ending.
    experiments: Vec<(&'static str, Experiment)>,
    checks: Vec<&'static Check>,
    quick: bool,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// The claims, in the papers' order.
    pub claims: Vec<ReproducedClaim>,
    /// The experiments that they rest on, in the same order.
    pub exhibits: Vec<Exhibit>,
    /// Where the experiments' results come from.
    pub origins: Vec<Origin>,
    /// Whether the experiments' quick versions were run.
    pub quick: bool,
}

/// A claim with its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct ReproducedClaim {
    /// The claim.
    #[serde(rename = "claim", serialize_with = "id")]
    pub claim: &'static PaperClaim,
    /// The verdict: the worst of its evidence.
    pub verdict: Verdict,
    /// Why.
    pub evidence: Vec<Evidence>,
    /// The checks and experiments that speak about the claim, too, and were not asked for: the verdict knows nothing of them.
    pub left_out: Vec<&'static str>,
    /// What variations of the experiments come to, if the claim is not reproduced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sensitivity: Vec<Varied>,
}

/// What speaks for a verdict.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Evidence {
    /// A test on a sweep.
    Sweep {
        /// The experiment.
        experiment: String,
        /// The test.
        #[serde(flatten)]
        part: Part,
    },
    /// Something that was counted or searched, without a sweep.
    Check(Checked),
}

/// The outcome of a check that is no sweep.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Checked {
    /// Its name.
    pub check: &'static str,
    /// What was to hold.
    pub text: &'static str,
    /// Whether it does.
    pub verdict: Verdict,
    /// Why, in words.
    pub because: String,
}

/// An experiment and what its sweep has found.
#[derive(Clone, Debug)]
pub struct Exhibit {
    /// The name of its file, without ending.
    pub name: &'static str,
    /// The experiment.
    pub experiment: Experiment,
    /// What was found, with the verdicts of the claims that were asked for only.
    pub findings: Findings,
}

/// Who watches a reproduction.
pub trait ReproductionObserver {
    /// Called when a part begins, and with each replication of a sweep: `done` of `parts` parts are done, and this one is called `name`.
    fn update(&mut self, done: usize, parts: usize, name: &str, status: Option<&Status<'_>>);

    /// Called for each row of the store that was damaged, as [`Observer::damaged`].
    fn damaged(&mut self, _row: &DamagedRow) {}
}

/// Watches nothing.
impl ReproductionObserver for () {
    fn update(&mut self, _: usize, _: usize, _: &str, _: Option<&Status<'_>>) {}
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn id<S: serde::Serializer>(claim: &&'static PaperClaim, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(claim.id)
}

impl Evidence {
    /// What is claimed.
    pub fn text(&self) -> &str {
        match self {
            Self::Sweep { part, .. } => &part.text,
            Self::Check(checked) => checked.text,
        }
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Sweep { part, .. } => part.verdict,
            Self::Check(checked) => checked.verdict,
        }
    }

    /// Why, in words.
    pub fn because(&self) -> &str {
        match self {
            Self::Sweep { part, .. } => &part.because,
            Self::Check(checked) => &checked.because,
        }
    }

    /// What was compared; nothing for a check.
    pub(crate) fn comparisons(&self) -> &[Comparison] {
        match self {
            Self::Sweep { part, .. } => &part.comparisons,
            Self::Check(_) => &[],
        }
    }

    /// The experiment or the check.
    pub fn source(&self) -> &str {
        match self {
            Self::Sweep { experiment, .. } => experiment,
            Self::Check(checked) => checked.check,
        }
    }
}

/// The experiments that the program carries and that speak about claims, with the names of these.
static EXPERIMENTS: LazyLock<Vec<(&'static str, Vec<String>)>> = LazyLock::new(|| {
    let experiments = FILES.iter().filter(|file| file.is_experiment());
    let claims = |file: &Shipped| {
        Experiment::parse(file.name, file.text, &[]).map(|experiment| experiment.claim_ids()).unwrap_or_default()
    };
    experiments.map(|file| (file.stem(), claims(file))).filter(|(_, claims)| !claims.is_empty()).collect()
});

impl Choice {
    /// What names stand for: claims, all of a paper (`paper-1` to `paper-5`), or those about an exhibit (`paper-1-figure-9`), with everything
    /// that speaks about them; or single experiments such as `paper-1-figure-9a`, with the claims that they speak about. Without names,
    /// all claims.
    ///
    /// # Errors
    /// If a name is none of these.
    pub fn named(names: &[String]) -> Result<Self, UnknownClaim> {
        let mut wanted = BTreeSet::new();
        let mut sources = BTreeSet::new();
        if names.is_empty() {
            wanted.extend(CLAIMS.iter().map(|claim| claim.id));
        }
        for name in names {
            if let Some((experiment, claims)) = EXPERIMENTS.iter().find(|(experiment, _)| experiment == name) {
                sources.insert(*experiment);
                // They speak for a part of the evidence only.
                let of_experiment = CLAIMS.iter().filter(|claim| claims.iter().any(|id| id == claim.id));
                wanted.extend(of_experiment.map(|claim| claim.id));
                continue;
            }
            let paper = name.strip_prefix("paper-").and_then(|number| number.parse().ok());
            let named =
                |claim: &&PaperClaim| claim.id == name || Some(claim.paper) == paper || claim.exhibits().contains(name);
            let ids: Vec<&str> = CLAIMS.iter().filter(named).map(|claim| claim.id).collect();
            if ids.is_empty() {
                let papers = (1..=PAPERS.len()).map(|paper| format!("paper-{paper}"));
                let experiments = EXPERIMENTS.iter().map(|(experiment, _)| (*experiment).to_owned());
                let exhibits = CLAIMS.iter().flat_map(PaperClaim::exhibits);
                let claims = CLAIMS.iter().map(|claim| claim.id.to_owned());
                let known: Vec<String> = claims.chain(papers).chain(experiments).chain(exhibits).collect();
                return Err(UnknownClaim::new(name, did_you_mean(name, known.iter().map(String::as_str))));
            }
            wanted.extend(ids.iter().copied());
            sources.extend(ids.into_iter().flat_map(Self::sources));
        }
        if names.is_empty() {
            sources.extend(CLAIMS.iter().flat_map(|claim| Self::sources(claim.id)));
        }
        let claims = CLAIMS.iter().filter(|claim| wanted.contains(claim.id)).collect();
        Ok(Self { claims, sources })
    }

    /// The claims, in the papers' order.
    pub fn claims(&self) -> &[&'static PaperClaim] {
        &self.claims
    }

    /// Whether it is every claim, with everything that speaks about it.
    pub fn is_everything(&self) -> bool {
        self.claims.len() == CLAIMS.len() && self.claims.iter().all(|claim| self.left_out(claim.id).is_empty())
    }

    /// The names of the checks and experiments that measure a claim.
    pub fn sources(id: &str) -> Vec<&'static str> {
        let checks = CHECKS.iter().filter(|check| check.claim == id).map(|check| check.name);
        let experiments = EXPERIMENTS.iter().filter(|(_, claims)| claims.iter().any(|claim| claim == id));
        checks.chain(experiments.map(|(experiment, _)| *experiment)).collect()
    }

    /// Those that were not asked for.
    fn left_out(&self, id: &str) -> Vec<&'static str> {
        Self::sources(id).into_iter().filter(|source| !self.sources.contains(source)).collect()
    }
}

impl Selection {
    /// What was chosen. Writes the experiments to a folder, with the files that they read: anybody can run them again.
    ///
    /// # Errors
    /// If the folder cannot be written, or one of the files is there and differs.
    pub fn new(choice: Choice, quick: bool, folder: &Path) -> Result<Self, RunError> {
        let wanted = |source: &str| choice.sources.contains(source);
        let measuring: Vec<&Shipped> =
            FILES.iter().filter(|file| file.is_experiment() && wanted(file.stem())).collect();
        // What they read lies beside them.
        let read = |file: &&Shipped| {
            !file.is_experiment() && measuring.iter().any(|experiment| experiment.text.contains(file.name))
        };
        for file in FILES.iter().filter(read).chain(measuring.iter().copied()) {
            let path = folder.join(file.name);
            match std::fs::read(&path) {
                Ok(there) if there == file.text.as_bytes() => {}
                Ok(_) => {
                    let message = "it is not as the program made it, and is left alone: choose another folder with `--out`, or take it away";
                    return Err(Diagnostic::file(&path.display().to_string(), message).into());
                }
                Err(_) => write_file(&path, file.text.as_bytes())?,
            }
        }
        let mut experiments = Vec::new();
        for file in measuring {
            let experiment = Experiment::read(&folder.join(file.name), &[])?;
            experiments.push((file.stem(), if quick { experiment.quick()? } else { experiment }));
        }
        let checks = CHECKS.iter().filter(|check| wanted(check.name)).collect();
        Ok(Self { choice, experiments, checks, quick })
    }

    /// Runs whatever the store has not: checks first, then the experiments in the papers' order, then the variations of those that do not
    /// reproduce a claim, in their quick versions; a quick reproduction has none.
    ///
    /// # Errors
    /// If a replication fails, or the store does. What was computed is in the store.
    pub fn run(
        &self,
        jobs: NonZeroUsize,
        store: &mut Store,
        observer: &mut dyn ReproductionObserver,
    ) -> Result<Reproduction, RunError> {
        let parts = self.checks.len() + self.experiments.len();
        let mut checked = Vec::new();
        for (done, check) in self.checks.iter().enumerate() {
            observer.update(done, parts, check.name, None);
            checked.push((check.claim, check.run(self.quick)));
        }
        let mut exhibits = Vec::new();
        for (position, (name, experiment)) in self.experiments.iter().enumerate() {
            let done = self.checks.len() + position;
            observer.update(done, parts, name, None);
            let mut inner = Inner { observer, done, parts, name };
            let mut findings = run_sweep(experiment, jobs, store, false, &mut inner)?;
            findings.verdicts.retain(|verdict| self.choice.claims.iter().any(|claim| claim.id == verdict.claim));
            exhibits.push(Exhibit { name, experiment: experiment.clone(), findings });
        }
        let judged = |claim: &&'static PaperClaim| judged(claim, &checked, &exhibits, self.choice.left_out(claim.id));
        let mut claims: Vec<ReproducedClaim> = self.choice.claims.iter().map(judged).collect();
        if !self.quick {
            sensitivity::add(&mut claims, &exhibits, parts, jobs, store, observer)?;
        }
        let origins = origins(self.experiments.iter().map(|(_, experiment)| experiment), store)?;
        Ok(Reproduction { claims, exhibits, origins, quick: self.quick })
    }
}

/// All that speaks about a claim.
fn judged(
    claim: &'static PaperClaim,
    checked: &[(&str, Checked)],
    exhibits: &[Exhibit],
    left_out: Vec<&'static str>,
) -> ReproducedClaim {
    let checks = checked.iter().filter(|(id, _)| *id == claim.id).map(|(_, checked)| Evidence::Check(checked.clone()));
    let sweeps = exhibits.iter().flat_map(|exhibit| {
        let verdicts = exhibit.findings.verdicts.iter().filter(|verdict| verdict.claim == claim.id);
        let parts = verdicts.flat_map(|verdict| &verdict.evidence);
        parts.map(|part| Evidence::Sweep { experiment: exhibit.name.to_owned(), part: part.clone() })
    });
    let evidence: Vec<Evidence> = checks.chain(sweeps).collect();
    let verdict = evidence.iter().map(Evidence::verdict).max().unwrap_or(Verdict::Inconclusive);
    ReproducedClaim { claim, verdict, evidence, left_out, sensitivity: Vec::new() }
}

/// Tells the observer of the whole about one sweep.
struct Inner<'a> {
    observer: &'a mut dyn ReproductionObserver,
    done: usize,
    parts: usize,
    name: &'a str,
}

impl Observer for Inner<'_> {
    fn update(&mut self, status: &Status<'_>) {
        self.observer.update(self.done, self.parts, self.name, Some(status));
    }

    fn damaged(&mut self, row: &DamagedRow) {
        self.observer.damaged(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiments() -> Vec<(&'static str, Experiment)> {
        let experiments = FILES.iter().filter(|file| file.is_experiment());
        experiments.map(|file| (file.stem(), Experiment::parse(file.name, file.text, &[]).unwrap())).collect()
    }

    #[test]
    fn every_claim_has_something_that_measures_it() {
        let measured: BTreeSet<String> =
            experiments().iter().flat_map(|(_, experiment)| experiment.claim_ids()).collect();
        for claim in CLAIMS {
            let checked = CHECKS.iter().any(|check| check.claim == claim.id);
            assert!(checked || measured.contains(claim.id), "{}", claim.id);
            assert!((1..=PAPERS.len()).contains(&claim.paper));
        }
        let known = |id: &str| CLAIMS.iter().any(|claim| claim.id == id);
        assert!(measured.iter().all(|id| known(id)), "{measured:?}");
        assert!(CHECKS.iter().all(|check| known(check.claim)));
        assert!(CLAIMS.is_sorted_by_key(|claim| claim.paper));
    }

    #[test]
    fn every_experiment_of_a_paper_is_there() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
        let there: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("paper-"))
            .collect();
        assert_eq!(there, FILES.iter().map(|file| file.name.to_owned()).collect());
        for (name, experiment) in experiments() {
            assert!(experiment.has_quick() || experiment.claim_ids().is_empty(), "{name} has no quick version");
        }
    }

    #[test]
    fn names_stand_for_claims() {
        let named = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            Choice::named(&names).map(|choice| choice.claims().iter().map(|claim| claim.id).collect::<Vec<_>>())
        };
        assert_eq!(named(&[]).unwrap().len(), CLAIMS.len());
        assert_eq!(named(&["mesh-load", "mesh-example"]).unwrap(), ["mesh-example", "mesh-load"]);
        assert_eq!(named(&["paper-2"]).unwrap().len(), 5);
        assert_eq!(named(&["paper-1-table-1"]).unwrap(), ["mesh-startups"]);
        assert_eq!(named(&["paper-1-figure-9"]).unwrap(), ["mesh-load"]);
        assert_eq!(named(&["paper-1-section-3.2", "paper-3-theorem-4"]).unwrap(), ["mesh-example", "turns-theory"]);
        assert_eq!(named(&["paper-5-appendix-a", "paper-5-abstract"]).unwrap(), ["torus-header", "torus-factor"]);
        let of = |id: &str| CLAIMS.iter().find(|claim| claim.id == id).unwrap().exhibits().join(" ");
        assert_eq!(
            of("turns-theory"),
            "paper-3-theorem-1 paper-3-theorem-2 paper-3-theorem-3 paper-3-theorem-4 paper-3-theorem-5"
        );
        assert_eq!(of("turns-trees"), "paper-3-figure-5 paper-3-table-1");
        assert_eq!(of("switch-factor"), "paper-4-section-1 paper-4-section-7.8");
        assert!(CLAIMS.iter().all(|claim| !claim.exhibits().is_empty()));
        let all = Choice::named(&[]).unwrap();
        assert!(all.is_everything() && all.claims().iter().all(|claim| all.left_out(claim.id).is_empty()));
        let message = named(&["mesh-lod"]).unwrap_err().to_string();
        assert!(
            message.starts_with("`mesh-lod` is no claim") && message.ends_with("did you mean `mesh-load`?"),
            "{message}"
        );
    }

    #[test]
    fn an_experiment_stands_for_itself_alone() {
        let choice = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            Choice::named(&names).unwrap()
        };
        let alone = choice(&["paper-1-figure-9a"]);
        assert_eq!(alone.sources, BTreeSet::from(["paper-1-figure-9a"]));
        assert_eq!(alone.left_out("mesh-load"), ["paper-1-figure-9b", "paper-1-figure-9c"]);
        let both = choice(&["paper-1-figure-9a", "mesh-load"]);
        assert!(both.left_out("mesh-load").is_empty() && !both.is_everything());
        // One that belongs to two claims is looked at for both, and is not all that there is for one of them.
        let two = choice(&["paper-4-figure-15-input"]);
        assert_eq!(
            two.claims().iter().map(|claim| claim.id).collect::<Vec<_>>(),
            ["switch-degree", "switch-saturation"]
        );
        let papers: Vec<String> = (1..=5).map(|paper| format!("paper-{paper}")).collect();
        assert!(Choice::named(&papers).unwrap().is_everything());
    }
}
