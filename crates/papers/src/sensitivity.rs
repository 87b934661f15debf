//! How claims that are not reproduced fare when a setting changes that the paper leaves open or that may be the reason.

use std::num::NonZeroUsize;

use serde::Serialize;

use wormcast_lab::report::Change;
use wormcast_lab::{ClaimVerdict, Experiment, RunError, Store, Verdict};

use crate::evidence::Evidence;
use crate::reproduction::{Exhibit, ReproducedClaim, ReproductionObserver, Step};

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
        }
    }

    /// Whether it is a variation of an experiment.
    pub(crate) fn is_swept(&self) -> bool {
        self.evidence.iter().any(|evidence| matches!(evidence, Evidence::Sweep { .. }))
    }

    /// What it changes in the evidence for a claim.
    pub(crate) fn change<'a>(&'a self, before: &'a [Evidence]) -> Change<'a> {
        let sentences = self.evidence.iter().map(Evidence::sentence).map(|now| {
            let of_source = before.iter().filter(|evidence| evidence.source() == self.source);
            (now, of_source.map(Evidence::sentence).find(|before| before.text == now.text))
        });
        Change {
            claim: None,
            name: &self.variation,
            settings: &self.settings,
            verdict: self.verdict,
            section: self.is_swept().then_some(&self.source),
            sentences: sentences.collect(),
        }
    }
}

/// Runs the variations of experiments that do not reproduce one of the claims, and adds what they say; `done` parts of the
/// reproduction are done before. Returns how many are done then.
pub(crate) fn add(
    claims: &mut [ReproducedClaim],
    exhibits: &[Exhibit],
    mut done: usize,
    jobs: NonZeroUsize,
    store: &mut Store,
    observer: &mut dyn ReproductionObserver,
) -> Result<usize, RunError> {
    // One experiment may fail several claims.
    let fails = |exhibit: &Exhibit, claim: &str| {
        let mut verdicts = exhibit.findings.verdicts.iter();
        verdicts.any(|verdict| verdict.claim == claim && verdict.verdict == Verdict::NotReproduced)
    };
    let failing: Vec<&Exhibit> =
        exhibits.iter().filter(|exhibit| claims.iter().any(|claim| fails(exhibit, &claim.claim.id))).collect();
    let parts = done + failing.iter().map(|exhibit| exhibit.experiment.variations().len()).sum::<usize>();
    for exhibit in failing {
        for variation in exhibit.experiment.variations() {
            let name = format!("{}, {variation}", exhibit.name);
            let varied = exhibit.experiment.quick()?.variation(&variation)?;
            let step = Step { observer, done, parts: Some(parts), name: &name, stopped: false };
            for verdict in step.run(&varied, jobs, store)?.verdicts {
                let claim = claims.iter_mut().find(|claim| claim.claim.id == verdict.claim);
                if let Some(claim) = claim.filter(|claim| fails(exhibit, &claim.claim.id)) {
                    claim.sensitivity.push(Varied::of(exhibit.name, &exhibit.experiment, &variation, verdict));
                }
            }
            done += 1;
        }
    }
    Ok(done)
}
