//! What becomes of claims that are not reproduced when a setting changes that the paper leaves open or that may be behind it.

use std::num::NonZeroUsize;

use serde::Serialize;

use super::checks::ALTERNATIVES;
use super::{Evidence, Exhibit, Inner, ReproducedClaim, ReproductionObserver};
use crate::experiment::Experiment;
use crate::run::{RunError, run_sweep, stored_sweep};
use crate::store::Store;
use crate::verdict::{ClaimVerdict, Verdict};

/// What a variation of an experiment, or another reading of a check, says of a claim.
#[derive(Clone, Debug, Serialize)]
pub struct Varied {
    /// The experiment or check.
    pub source: String,
    /// The variation's name.
    pub variation: String,
    /// What it sets.
    pub settings: String,
    /// The verdict under it: the worst of its evidence.
    pub verdict: Verdict,
    /// Why.
    pub evidence: Vec<Evidence>,
    /// Whether it is a variation of an experiment.
    #[serde(skip)]
    pub swept: bool,
}

impl Varied {
    /// What a variation of an experiment says of one of its claims.
    fn of(source: &str, experiment: &Experiment, variation: &str, verdict: ClaimVerdict) -> Self {
        let evidence = verdict.evidence.into_iter();
        Self {
            source: source.to_owned(),
            variation: variation.to_owned(),
            settings: experiment.variation_settings(variation),
            verdict: verdict.verdict,
            evidence: evidence.map(|part| Evidence::Sweep { experiment: source.to_owned(), part }).collect(),
            swept: true,
        }
    }
}

/// What a store has of the variations of an experiment, whose name is `source`, and says of its claims.
///
/// # Errors
/// If the store fails.
pub fn stored_variations(source: &str, experiment: &Experiment, store: &Store) -> Result<Vec<Varied>, RunError> {
    let mut varied = Vec::new();
    for name in experiment.variations() {
        let found = stored_sweep(&experiment.variation(&name)?, store)?;
        if found.summaries.iter().any(|summary| summary.replications > 0) {
            varied.extend(found.verdicts.into_iter().map(|verdict| Varied::of(source, experiment, &name, verdict)));
        }
    }
    Ok(varied)
}

/// Runs the variations of experiments that do not reproduce one of the claims, and adds what they say; `done` parts of the
/// reproduction are done before.
pub(super) fn add(
    claims: &mut [ReproducedClaim],
    exhibits: &[Exhibit],
    mut done: usize,
    jobs: NonZeroUsize,
    store: &mut Store,
    observer: &mut dyn ReproductionObserver,
) -> Result<(), RunError> {
    for claim in claims.iter_mut().filter(|claim| claim.verdict == Verdict::NotReproduced) {
        let checks = ALTERNATIVES.iter().filter(|check| check.claim == claim.claim.id);
        claim.sensitivity.extend(checks.map(|check| {
            let checked = check.run(false);
            Varied {
                source: check.name.to_owned(),
                variation: "another algorithm".to_owned(),
                settings: check.text.to_owned(),
                verdict: checked.verdict,
                evidence: vec![Evidence::Check(checked)],
                swept: false,
            }
        }));
    }
    // One experiment may fail several claims.
    let fails = |exhibit: &Exhibit, claim: &str| {
        let mut verdicts = exhibit.findings.verdicts.iter();
        verdicts.any(|verdict| verdict.claim == claim && verdict.verdict == Verdict::NotReproduced)
    };
    let failing: Vec<&Exhibit> =
        exhibits.iter().filter(|exhibit| claims.iter().any(|claim| fails(exhibit, claim.claim.id))).collect();
    let parts = done + failing.iter().map(|exhibit| exhibit.experiment.variations().len()).sum::<usize>();
    for exhibit in failing {
        for variation in exhibit.experiment.variations() {
            let name = format!("{}, {variation}", exhibit.name);
            observer.update(done, parts, &name, None);
            let varied = exhibit.experiment.quick()?.variation(&variation)?;
            let mut inner = Inner { observer, done, parts, name: &name };
            for verdict in run_sweep(&varied, jobs, store, false, &mut inner)?.verdicts {
                let claim = claims.iter_mut().find(|claim| claim.claim.id == verdict.claim);
                if let Some(claim) = claim.filter(|claim| fails(exhibit, claim.claim.id)) {
                    claim.sensitivity.push(Varied::of(exhibit.name, &exhibit.experiment, &variation, verdict));
                }
            }
            done += 1;
        }
    }
    Ok(())
}
