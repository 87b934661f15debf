//! The papers, reproduced: every claim with its verdict and the evidence for it.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thiserror::Error;
use wormcast_lab::{
    DamagedRow, Diagnostic, Experiment, Findings, Origin, OutputError, RunError, Status, Store, SweepObserver, Verdict,
    origins, run_sweep, write_file,
};

use crate::catalogue::PaperClaim;
use crate::checks::Check;
use crate::choice::Choice;
use crate::conditions::{Condition, Conditions, Explain, Searched};
use crate::evidence::{Checked, Evidence};
use crate::files::{Shipped, experiments, read_by_experiments};
use crate::mutants::{Mutants, Mutated};
use crate::sensitivity::{self, Varied};
use crate::verdict::PaperVerdict;

/// What to reproduce: some of the papers' claims, and what measures them.
#[derive(Clone, Debug)]
pub struct Selection {
    choice: Choice,
    /// The experiments with their files' names without ending.
    experiments: Vec<(&'static str, Experiment)>,
    quick: bool,
}

/// The result.
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
    /// The verdict.
    pub verdict: PaperVerdict,
    /// If it holds under a condition: the weakest that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// The conditions under which it was tested as well; `None` if none had to be, or could.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub searched: Option<Searched>,
    /// Why.
    pub evidence: Vec<Evidence>,
    /// The claim's other checks and experiments, which were not asked for: the verdict does not include them.
    pub left_out: Vec<&'static str>,
    /// What became of it when it was judged on results that are wrong on purpose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mutants: Vec<Mutated>,
    /// The results of variations of the experiments, if the claim is not reproduced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sensitivity: Vec<Varied>,
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

/// How far a reproduction is.
#[derive(Clone, Copy, Debug)]
pub struct ReproductionStatus<'a> {
    /// The parts that are done: checks, experiments and their variations.
    pub done: usize,
    /// How many parts there are. `None` while claims are tested under conditions and on wrong results: how many sweeps that takes depends
    /// on what they find.
    pub parts: Option<usize>,
    /// What is done now.
    pub name: &'a str,
    /// Its sweep; `None` when it begins.
    pub sweep: Option<&'a Status<'a>>,
}

/// Follows the progress of a reproduction.
pub trait ReproductionObserver {
    /// Called when a part begins, and with each replication of a sweep. [`Break`](ControlFlow::Break) stops the reproduction, which then ends
    /// with [`RunError::Stopped`]; what was computed is in the store, and the next one goes on from there.
    fn update(&mut self, status: &ReproductionStatus<'_>) -> ControlFlow<()>;

    /// Called for each row of the store that was damaged, as [`SweepObserver::damaged`].
    fn damaged(&mut self, _row: &DamagedRow) {}
}

/// Ignores everything.
impl ReproductionObserver for () {
    fn update(&mut self, _: &ReproductionStatus<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn id<S: serde::Serializer>(claim: &&'static PaperClaim, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&claim.id)
}

/// Why chosen experiments cannot be run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// The file of an experiment exists and differs from the one that the program carries.
    #[error("{}: it is not as the program made it, and is left alone", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// An experiment is invalid.
    #[error(transparent)]
    Experiment(#[from] Box<Diagnostic>),
}

impl Selection {
    /// What was chosen. Writes the experiments to a folder, with the files that they read: anybody can run them again.
    ///
    /// # Errors
    /// If the folder cannot be written, or one of the files is there and differs.
    pub fn prepare(choice: Choice, quick: bool, folder: &Path) -> Result<Self, SelectionError> {
        let measuring: Vec<&Shipped> = experiments().filter(|file| choice.includes(file.stem())).collect();
        // What they read lies beside them.
        let read = |file: &&Shipped| measuring.iter().any(|experiment| experiment.text.contains(file.name));
        for file in read_by_experiments().filter(read).chain(measuring.iter().copied()) {
            let path = folder.join(file.name);
            match std::fs::read(&path) {
                Ok(there) if there == file.text.as_bytes() => {}
                Ok(_) => return Err(SelectionError::Changed { path }),
                Err(_) => write_file(&path, file.text.as_bytes())?,
            }
        }
        let mut experiments = Vec::new();
        for file in measuring {
            let experiment = Experiment::read(&folder.join(file.name), &[]).map_err(Box::new)?;
            experiments.push((file.stem(), if quick { experiment.quick().map_err(Box::new)? } else { experiment }));
        }
        Ok(Self { choice, experiments, quick })
    }

    /// The checks that were chosen, with the claims that they are about.
    fn checks(&self) -> impl Iterator<Item = (&'static PaperClaim, &'static Check)> {
        let of_claims =
            self.choice.claims().iter().flat_map(|&claim| claim.checks.iter().map(move |check| (claim, check)));
        of_claims.filter(|(_, check)| self.choice.includes(&check.name))
    }

    /// Runs whatever the store does not have: checks first, then the experiments in the papers' order, then the variations of those that do not
    /// reproduce a claim, in their quick versions; a quick reproduction has none. Last come the conditions under which claims may hold that are
    /// not reproduced, as far as `explain` says: in quick versions, and in full where nothing fails in those, nor is more likely to than not.
    ///
    /// # Errors
    /// If a replication fails, or the store does. What was computed is in the store.
    pub fn run(
        &self,
        explain: Explain,
        jobs: NonZeroUsize,
        store: &mut Store,
        observer: &mut dyn ReproductionObserver,
    ) -> Result<Reproduction, RunError> {
        let checks = self.checks().count();
        let parts = checks + self.experiments.len();
        let mut checked = Vec::new();
        for (done, (claim, check)) in self.checks().enumerate() {
            Step { observer, done, parts: Some(parts), name: &check.name, stopped: false }.begins()?;
            checked.push((claim.id.as_str(), check.run(self.quick)));
        }
        let mut exhibits = Vec::new();
        for (position, (name, experiment)) in self.experiments.iter().enumerate() {
            let done = checks + position;
            let step = Step { observer, done, parts: Some(parts), name, stopped: false };
            let mut findings = step.run(experiment, jobs, store)?;
            findings.verdicts.retain(|verdict| self.choice.claims().iter().any(|claim| claim.id == verdict.claim));
            exhibits.push(Exhibit { name, experiment: experiment.clone(), findings });
        }
        let judged = |claim: &&'static PaperClaim| judged(claim, &checked, &exhibits, self.choice.left_out(claim));
        let mut claims: Vec<ReproducedClaim> = self.choice.claims().iter().map(judged).collect();
        for claim in &mut claims {
            let fails = claim
                .evidence
                .iter()
                .any(|one| one.erratum().is_some() && one.sentence().verdict != Verdict::Reproduced);
            let corrections = claim.claim.alternatives.iter().filter(|_| fails);
            claim.evidence.extend(corrections.map(|check| Evidence::Check(check.run_as_correction(self.quick))));
        }
        let mut done = parts;
        if !self.quick {
            done = sensitivity::add(&mut claims, &exhibits, parts, jobs, store, observer)?;
        }
        let found = HashMap::new();
        let mut conditions = Conditions { exhibits: &exhibits, explain, done, jobs, store, observer, found };
        for claim in &mut claims {
            conditions.settle(claim)?;
        }
        let mut mutants = Mutants { exhibits: &exhibits, quick: self.quick, done, jobs, store, observer };
        for claim in &mut claims {
            mutants.judge(claim)?;
        }
        let origins = origins(self.experiments.iter().map(|(_, experiment)| experiment), store)?;
        Ok(Reproduction { claims, exhibits, origins, quick: self.quick })
    }
}

/// All evidence for a claim.
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
    // Settled when all claims have their evidence.
    let verdict = PaperVerdict::Inconclusive;
    ReproducedClaim {
        claim,
        verdict,
        condition: None,
        searched: None,
        evidence,
        left_out,
        mutants: Vec::new(),
        sensitivity: Vec::new(),
    }
}

/// A step of a reproduction: tells the observer of the whole about its sweep.
pub(crate) struct Step<'a> {
    pub(crate) observer: &'a mut dyn ReproductionObserver,
    pub(crate) done: usize,
    pub(crate) parts: Option<usize>,
    pub(crate) name: &'a str,
    /// Whether the observer has stopped it.
    pub(crate) stopped: bool,
}

impl Step<'_> {
    /// Says that it begins.
    fn begins(&mut self) -> Result<(), RunError> {
        self.tell(None);
        if self.stopped { Err(RunError::Stopped) } else { Ok(()) }
    }

    /// Runs its sweep.
    pub(crate) fn run(
        mut self,
        experiment: &Experiment,
        jobs: NonZeroUsize,
        store: &mut Store,
    ) -> Result<Findings, RunError> {
        self.begins()?;
        let findings = run_sweep(experiment, jobs, store, false, &mut self)?;
        if self.stopped { Err(RunError::Stopped) } else { Ok(findings) }
    }

    fn tell(&mut self, sweep: Option<&Status<'_>>) {
        let Self { done, parts, name, .. } = *self;
        self.stopped |= self.observer.update(&ReproductionStatus { done, parts, name, sweep }).is_break();
    }
}

impl SweepObserver for Step<'_> {
    fn update(&mut self, status: &Status<'_>) -> ControlFlow<()> {
        self.tell(Some(status));
        if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn damaged(&mut self, row: &DamagedRow) {
        self.observer.damaged(row);
    }
}
