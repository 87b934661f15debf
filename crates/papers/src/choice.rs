//! Selects claims by their names, or by those of papers, exhibits and experiments.

use std::collections::BTreeSet;
use std::fmt;

use thiserror::Error;
use wormcast_network::text::did_you_mean;

use crate::catalogue::{PaperClaim, claims, papers};
use crate::files::{Shipped, experiments};

/// A selection of claims, and of the checks and experiments that test them.
#[derive(Clone, Debug)]
pub struct Choice {
    claims: Vec<&'static PaperClaim>,
    sources: BTreeSet<&'static str>,
}

impl Choice {
    /// The selection that names stand for: claims, all of a paper (`paper-1` to `paper-5`), or those about an exhibit (`paper-1-figure-9`), with everything
    /// that speaks about them; or single experiments such as `paper-1-figure-9a`, with the claims that they speak about. Without names,
    /// all claims.
    ///
    /// # Errors
    /// If a name is unknown.
    pub fn named(names: &[String]) -> Result<Self, UnknownClaim> {
        let mut wanted = BTreeSet::new();
        let mut sources = BTreeSet::new();
        for name in names {
            let measured = |claim: &&PaperClaim| claim.experiments.contains(name);
            if let Some(experiment) = measuring().find(|experiment| experiment == name) {
                sources.insert(experiment);
                // They speak for a part of the evidence only.
                wanted.extend(claims().iter().filter(measured).map(|claim| claim.id.as_str()));
                continue;
            }
            let paper = name.strip_prefix("paper-").and_then(|number| number.parse().ok());
            let named = |claim: &&PaperClaim| {
                claim.id == *name || Some(claim.paper) == paper || claim.exhibits().contains(name)
            };
            let found: Vec<&PaperClaim> = claims().iter().filter(named).collect();
            if found.is_empty() {
                return Err(UnknownClaim::new(name));
            }
            wanted.extend(found.iter().map(|claim| claim.id.as_str()));
            sources.extend(found.iter().flat_map(|claim| claim.sources()));
        }
        if names.is_empty() {
            return Ok(Self {
                claims: claims().iter().collect(),
                sources: claims().iter().flat_map(PaperClaim::sources).collect(),
            });
        }
        let claims = claims().iter().filter(|claim| wanted.contains(claim.id.as_str())).collect();
        Ok(Self { claims, sources })
    }

    /// The claims, in the papers' order.
    pub fn claims(&self) -> &[&'static PaperClaim] {
        &self.claims
    }

    /// Whether it is every claim, with everything that speaks about it.
    pub fn is_everything(&self) -> bool {
        self.claims.len() == claims().len() && self.claims.iter().all(|claim| self.left_out(claim).is_empty())
    }

    /// Whether a check or an experiment is asked for.
    pub(crate) fn includes(&self, source: &str) -> bool {
        self.sources.contains(source)
    }

    /// The other checks and experiments of a claim, which were not asked for.
    pub(crate) fn left_out(&self, claim: &'static PaperClaim) -> Vec<&'static str> {
        claim.sources().into_iter().filter(|source| !self.includes(source)).collect()
    }
}

/// The experiments that test claims.
fn measuring() -> impl Iterator<Item = &'static str> {
    let speaks =
        |name: &&str| claims().iter().any(|claim| claim.experiments.iter().any(|experiment| experiment == name));
    experiments().map(Shipped::stem).filter(speaks)
}

/// An unknown name.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub struct UnknownClaim {
    name: String,
    /// The end of the message: what was meant, if that is known.
    nearest: String,
}

impl UnknownClaim {
    fn new(name: &str) -> Self {
        let ids = claims().iter().map(|claim| claim.id.clone());
        let papers = (1..=papers().len()).map(|paper| format!("paper-{paper}"));
        let exhibits = claims().iter().flat_map(PaperClaim::exhibits);
        let known: Vec<String> = ids.chain(papers).chain(measuring().map(str::to_owned)).chain(exhibits).collect();
        Self { name: name.to_owned(), nearest: did_you_mean(name, known.iter().map(String::as_str)) }
    }
}

impl fmt::Display for UnknownClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no claim, paper or exhibit: expected a name such as `{}`, ", self.name, claims()[0].id)?;
        let all = if self.nearest.is_empty() { "; `wormcast reproduce --list` names all" } else { "" };
        write!(f, "`paper-1` or `paper-1-figure-9a`{}{all}", self.nearest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(names: &[&str]) -> Result<Choice, UnknownClaim> {
        Choice::named(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    }

    fn ids(choice: &Choice) -> Vec<&str> {
        choice.claims().iter().map(|claim| claim.id.as_str()).collect()
    }

    #[test]
    fn names_stand_for_claims() {
        for (names, meant) in [
            (&["mesh-load", "mesh-example"][..], &["mesh-example", "mesh-load"][..]),
            (&["paper-1-table-1"], &["mesh-startups"]),
            (&["paper-1-figure-9"], &["mesh-load"]),
            (&["paper-1-section-3.2", "paper-3-theorem-4"], &["mesh-example", "mesh-greedy", "turns-theory"]),
            (&["paper-5-appendix-a", "paper-5-abstract"], &["torus-header", "torus-factor"]),
        ] {
            assert_eq!(ids(&choice(names).unwrap()), meant);
        }
        let of_paper_2 = claims().iter().filter(|claim| claim.paper == 2).count();
        assert_eq!(choice(&["paper-2"]).unwrap().claims().len(), of_paper_2);
        let all = choice(&[]).unwrap();
        assert!(all.is_everything() && all.claims().len() == claims().len());
        let message = choice(&["mesh-lod"]).unwrap_err().to_string();
        assert!(
            message.starts_with("`mesh-lod` is no claim") && message.ends_with("did you mean `mesh-load`?"),
            "{message}"
        );
    }

    #[test]
    fn an_experiment_stands_for_itself_alone() {
        let load = claims().iter().find(|claim| claim.id == "mesh-load").unwrap();
        let alone = choice(&["paper-1-figure-9a"]).unwrap();
        assert_eq!(alone.sources, BTreeSet::from(["paper-1-figure-9a"]));
        assert_eq!(alone.left_out(load), ["paper-1-figure-9b", "paper-1-figure-9c"]);
        let both = choice(&["paper-1-figure-9a", "mesh-load"]).unwrap();
        assert!(both.left_out(load).is_empty() && !both.is_everything());
        // One that belongs to two claims is looked at for both, and is not all that there is for one of them.
        let two = choice(&["paper-4-figure-15-input"]).unwrap();
        assert_eq!(ids(&two), ["switch-degree", "switch-saturation"]);
        assert!(choice(&["paper-1", "paper-2", "paper-3", "paper-4", "paper-5"]).unwrap().is_everything());
    }
}
