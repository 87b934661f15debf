//! Mutants: claims judged on results that are wrong on purpose, to show that their tests can fail.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use wormcast_lab::{ClaimVerdict, Experiment, Findings, Part, RunError, Store, Substitution, Verdict};

use crate::checks::NamedRun;
use crate::conditions::Setting;
use crate::reproduction::{Exhibit, ReproducedClaim, ReproductionObserver, Step};

/// Something that is wrong on purpose.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) struct Mutant {
    /// What is wrong.
    text: String,
    kind: MutantKind,
}

#[derive(Clone, Debug)]
enum MutantKind {
    /// The results of one value of a swept setting stand in for those of another.
    Swap { experiment: String, substitution: Substitution },
    /// An experiment with wrong settings, as TOML, in its quick version.
    Settings { experiment: String, set: BTreeMap<String, String> },
    /// A check of something that is not what is claimed.
    Check { check: NamedRun },
}

/// A mutant as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    text: String,
    experiment: Option<String>,
    setting: Option<String>,
    of: Option<String>,
    by: Option<String>,
    #[serde(default)]
    only: BTreeMap<String, String>,
    set: Option<BTreeMap<String, String>>,
    check: Option<String>,
}

impl TryFrom<Written> for Mutant {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { text, experiment, setting, of, by, only, set, check } = written;
        let kind = match (experiment, of, by, set, check) {
            (Some(experiment), Some(of), Some(by), None, None) => {
                let setting = setting.unwrap_or_else(|| "algorithm".to_owned());
                MutantKind::Swap { experiment, substitution: Substitution { setting, of, by, only } }
            }
            _ if !only.is_empty() || setting.is_some() => {
                return Err(format!("`{text}`: expected `of` and `by` beside `setting` and `only`"));
            }
            (Some(experiment), None, None, Some(set), None) => MutantKind::Settings { experiment, set },
            (None, None, None, None, Some(check)) => MutantKind::Check { check: NamedRun::try_from(check)? },
            _ => return Err(format!("`{text}`: expected `experiment` with `of` and `by` or with `set`, or `check`")),
        };
        Ok(Self { text, kind })
    }
}

impl Mutant {
    /// The experiment that it takes, if it does.
    pub(crate) fn experiment(&self) -> Option<&str> {
        match &self.kind {
            MutantKind::Swap { experiment, .. } | MutantKind::Settings { experiment, .. } => Some(experiment),
            MutantKind::Check { .. } => None,
        }
    }

    /// The name of the check that it runs, if it does.
    #[cfg(test)]
    pub(crate) fn check(&self) -> Option<&NamedRun> {
        if let MutantKind::Check { check } = &self.kind { Some(check) } else { None }
    }
}

/// What became of a claim that was judged on wrong results.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Mutated {
    /// What was wrong.
    pub text: String,
    /// Whether the tests reject it: a sentence that holds does not hold then, or one that is open certainly fails. Nothing if no sentence that
    /// it changes holds as things are, so that there is nothing to reject.
    pub rejected: Option<bool>,
    /// The sentence and why it did not hold; empty if none was rejected.
    pub because: String,
}

/// Whether the sentences of a claim reject wrong results, and the first that does with its reason.
fn rejection(right: &[Part], wrong: &[Part]) -> (Option<bool>, String) {
    let holds = |part: &Part| part.verdict == Verdict::Reproduced || part.holds.is_some();
    let fails = |part: &Part| part.verdict == Verdict::NotReproduced && part.holds.is_none();
    let pairs = || right.iter().zip(wrong);
    let rejects = pairs().find(|(right, wrong)| (holds(right) && !holds(wrong)) || (!fails(right) && fails(wrong)));
    match rejects {
        Some((_, wrong)) => {
            let why = wrong.because.lines().next().unwrap_or_default();
            (Some(true), format!("{}: {} ({why})", wrong.text, wrong.verdict))
        }
        None if pairs().any(|(right, wrong)| holds(right) && right != wrong) => (Some(false), String::new()),
        // Settings that change no figure of a sentence that holds have been accepted, too.
        None if right == wrong && right.iter().any(holds) => (Some(false), String::new()),
        None => (None, String::new()),
    }
}

/// Judges claims on results that are wrong on purpose, as far as their experiments were run.
pub(crate) struct Mutants<'a> {
    pub(crate) exhibits: &'a [Exhibit],
    pub(crate) quick: bool,
    pub(crate) done: usize,
    pub(crate) jobs: NonZeroUsize,
    pub(crate) store: &'a mut Store,
    pub(crate) observer: &'a mut dyn ReproductionObserver,
}

impl Mutants<'_> {
    pub(crate) fn judge(&mut self, claim: &mut ReproducedClaim) -> Result<(), RunError> {
        for mutant in &claim.claim.mutants {
            let text = mutant.text.clone();
            if let MutantKind::Check { check } = &mutant.kind {
                let (verdict, because) = check.run(self.quick);
                claim.mutants.push(Mutated { text, rejected: Some(verdict == Verdict::NotReproduced), because });
                continue;
            }
            let Some(exhibit) = self.exhibits.iter().find(|exhibit| Some(exhibit.name) == mutant.experiment()) else {
                continue;
            };
            let condition = claim.condition.as_ref().map_or(&[][..], |condition| &condition.settings);
            let [right, wrong] = self.right_and_wrong(exhibit, mutant, condition)?.map(|verdicts| {
                let own = verdicts.into_iter().filter(|verdict| verdict.claim == claim.claim.id);
                own.flat_map(|verdict| verdict.evidence).collect::<Vec<Part>>()
            });
            let (rejected, because) = rejection(&right, &wrong);
            claim.mutants.push(Mutated { text, rejected, because });
        }
        Ok(())
    }

    /// What an experiment says under a claim's condition, with its own results and with wrong ones.
    fn right_and_wrong(
        &mut self,
        exhibit: &Exhibit,
        mutant: &Mutant,
        condition: &[Setting],
    ) -> Result<[Vec<ClaimVerdict>; 2], RunError> {
        let is_open =
            |one: &&Setting| exhibit.experiment.open_settings().iter().any(|open| open.setting == one.setting);
        let own: Vec<(String, String)> =
            condition.iter().filter(is_open).map(|one| (one.setting.clone(), one.value.clone())).collect();
        let under = if own.is_empty() {
            None
        } else {
            let experiment = exhibit.experiment.under(&own)?;
            let findings = self.sweep(exhibit.name, &experiment)?;
            Some((experiment, findings))
        };
        let (experiment, findings) = under
            .as_ref()
            .map_or((&exhibit.experiment, &exhibit.findings), |(experiment, findings)| (experiment, findings));
        let wrong = match &mutant.kind {
            MutantKind::Swap { substitution, .. } => findings.judged_with(experiment, substitution)?,
            MutantKind::Settings { set, .. } => {
                let set: Vec<(String, String)> = own.into_iter().chain(set.clone()).collect();
                let experiment = exhibit.experiment.quick()?.under(&set)?;
                self.sweep(&format!("{}, {}", exhibit.name, mutant.text), &experiment)?.verdicts
            }
            MutantKind::Check { .. } => Vec::new(),
        };
        Ok([findings.verdicts.clone(), wrong])
    }

    fn sweep(&mut self, name: &str, experiment: &Experiment) -> Result<Findings, RunError> {
        let step = Step { observer: &mut *self.observer, done: self.done, parts: None, name, stopped: false };
        step.run(experiment, self.jobs, self.store)
    }
}
