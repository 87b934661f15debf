//! Claims that no sweep can test: examples and theorems.

mod headers;
mod hypercube;
mod negative_first;
mod torus_trees;
mod turns;
mod weighted_sort;

use std::sync::Arc;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;
use wormcast_lab::{Verdict, Wording};
use wormcast_network::{Network, TopologySpec};

use crate::evidence::Checked;

/// The result of a check: whether the claim holds, and why, in words.
struct CheckOutcome {
    verdict: Verdict,
    because: String,
}

impl CheckOutcome {
    /// A result that is settled one way or the other.
    fn of(holds: bool, because: String) -> Self {
        Self { verdict: if holds { Verdict::Reproduced } else { Verdict::NotReproduced }, because }
    }
}

/// A function that runs a check; a quick reproduction tries fewer cases.
type Run = fn(quick: bool) -> CheckOutcome;

/// All checks by name.
const RUNS: &[(&str, Run)] = &[
    ("lists-of-the-example", negative_first::example),
    ("fewest-lists", negative_first::theorem_1),
    ("fewest-minimal-lists", negative_first::theorem_2),
    ("fewest-minimal-lists-optimal", negative_first::theorem_2_joined),
    ("fewest-lists-by-rows", negative_first::theorem_1_by_rows),
    ("fewest-lists-of-quadrants-by-columns", negative_first::quadrants_by_columns),
    ("fewest-lists-of-quadrants-by-rows", negative_first::quadrants_by_rows),
    ("cube-lemma-1", hypercube::lemma_1),
    ("cube-lemma-2", hypercube::lemma_2),
    ("cube-theorem-1", hypercube::theorem_1),
    ("cube-theorem-2", hypercube::theorem_2),
    ("cube-theorem-3", hypercube::theorem_3),
    ("cube-theorem-4", hypercube::theorem_4),
    ("cube-resolution", hypercube::resolution),
    ("weighted-sort", weighted_sort::theorem_5),
    ("turn-prohibition", turns::theorems),
    ("turns-in-the-worst-case", turns::worst_case),
    ("permitted-path-lengths", turns::path_lengths),
    ("header-delivers", headers::deliver),
    ("header-cost", headers::cost),
    ("start-in-the-middle-of-the-row", torus_trees::midpoint_of_row),
    ("start-in-the-middle-of-the-diagonal", torus_trees::midpoint_of_diagonal),
    ("start-row-against-diagonal", torus_trees::row_against_diagonal),
    ("start-shortest", torus_trees::dstm_2_is_shortest),
    ("start-shortest-of-the-row", torus_trees::dstm_2_is_shortest_of_row),
    ("failed-link-average", torus_trees::failed_link_average),
    ("failed-link-diameter", torus_trees::failed_link_diameter),
    ("trees-balanced", torus_trees::dstm_1_is_balanced),
    ("trees-balanced-if-nearer", torus_trees::dstm_1_is_balanced_if_nearer),
    ("trees-less-balanced", torus_trees::dstm_2_is_less_balanced),
    ("header-steps", torus_trees::header_steps),
    ("header-steps-exactly", torus_trees::header_steps_exactly),
    ("trees-by-dimension", torus_trees::dimensions),
    ("trees-of-hypercubes", torus_trees::hypercubes),
    // What is wrong on purpose.
    ("lists-of-the-example-by-the-minimal-algorithm", negative_first::example_of_minimal),
    ("fewest-lists-by-the-minimal-algorithm", negative_first::theorem_1_of_minimal),
    ("fewest-lists-of-quadrants-one-by-one", negative_first::quadrants_one_by_one),
    ("cube-lemma-1-in-random-order", hypercube::lemma_1_in_random_order),
    ("cube-lemma-2-of-low-bits", hypercube::lemma_2_of_low_bits),
    ("cube-theorem-1-in-random-order", hypercube::theorem_1_in_random_order),
    ("cube-theorem-2-in-random-order", hypercube::theorem_2_in_random_order),
    ("cube-theorem-3-in-one-step", hypercube::theorem_3_in_one_step),
    ("cube-theorem-4-of-low-bits", hypercube::theorem_4_of_low_bits),
    ("cube-resolution-of-routes-alone", hypercube::resolution_of_routes_alone),
    ("weighted-sort-by-reversed-bits", weighted_sort::theorem_5_of_reversed_bits),
    ("turn-prohibition-by-up-down", turns::theorems_of_up_down),
    ("turns-in-the-worst-case-by-turn-prohibition", turns::worst_case_of_turn_prohibition),
    ("permitted-path-lengths-of-up-down", turns::path_lengths_of_up_down),
    ("start-in-the-middle-of-the-row-by-dstm-1", torus_trees::midpoint_of_row_by_dstm_1),
    ("failed-link-average-of-halves", torus_trees::failed_link_average_of_halves),
    ("trees-balanced-of-dstm-2", torus_trees::dstm_2_is_balanced),
    ("header-steps-from-the-other-end", torus_trees::header_steps_from_the_other_end),
    ("trees-by-dimension-of-meshes", torus_trees::dimensions_of_meshes),
    ("header-cost-anew-for-each", headers::cost_anew_for_each),
];

/// A check of a claim, as the catalogue has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Named")]
pub(crate) struct Check {
    pub(crate) name: String,
    /// What has to hold.
    pub(crate) text: String,
    /// What it goes back to.
    pub(crate) wording: Wording,
    /// If it fails because of an error in print: what is wrong, and what would be right.
    erratum: Option<String>,
    run: NamedRun,
}

/// A check by its name alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct NamedRun {
    name: String,
    run: Run,
}

impl TryFrom<String> for NamedRun {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match RUNS.iter().find(|(known, _)| *known == name) {
            Some(&(_, run)) => Ok(Self { name, run }),
            None => Err(format!("there is no check `{name}`")),
        }
    }
}

impl NamedRun {
    /// The name.
    #[cfg(test)]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The verdict, and why.
    pub(crate) fn run(&self, quick: bool) -> (Verdict, String) {
        let CheckOutcome { verdict, because } = (self.run)(quick);
        (verdict, because)
    }
}

/// A check as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    text: String,
    #[serde(default)]
    quote: Option<String>,
    #[serde(default)]
    section: Option<String>,
    #[serde(default)]
    ours: Option<String>,
    #[serde(default)]
    erratum: Option<String>,
}

impl TryFrom<Named> for Check {
    type Error = String;

    fn try_from(Named { name, text, quote, section, ours, erratum }: Named) -> Result<Self, String> {
        let run = NamedRun::try_from(name)?;
        let wording = Wording { quote, section, ours };
        if let Some((key, expected)) = wording.problem() {
            return Err(format!("{}: `{key}`: {expected}", run.name));
        }
        Ok(Self { name: run.name.clone(), text, wording, erratum, run })
    }
}

impl Check {
    pub(crate) fn run(&'static self, quick: bool) -> Checked {
        let (verdict, because) = self.run.run(quick);
        let (erratum, wording) = (self.erratum.as_deref(), self.wording.clone());
        Checked { check: &self.name, text: &self.text, wording, verdict, because, erratum, correction: false }
    }

    /// Runs it as what would be right in the place of an error in print.
    pub(crate) fn run_as_correction(&'static self, quick: bool) -> Checked {
        Checked { correction: true, ..self.run(quick) }
    }
}

/// A generator for the cases of a check.
fn generator(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// The network that a specification in this program names.
fn network(spec: &str) -> Arc<Network> {
    let network = spec.parse::<TopologySpec>().and_then(|spec| spec.build());
    network.unwrap_or_else(|error| unreachable!("`{spec}` is a network: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::claims;

    /// Every check is named once, and but that of time, which depends on the machine, has the outcome that is known.
    #[test]
    fn checks_come_out_as_known() {
        let checks = claims().iter().flat_map(|claim| claim.checks.iter().chain(&claim.alternatives));
        let mut names: Vec<&str> = Vec::new();
        for check in checks {
            names.push(&check.name);
            if check.name == "header-cost" {
                continue;
            }
            let checked = check.run(true);
            let fails = check.erratum.is_some();
            let expected = if fails { Verdict::NotReproduced } else { Verdict::Reproduced };
            assert_eq!(checked.verdict, expected, "{}: {}", check.name, checked.because);
            assert!(!checked.because.is_empty() && !checked.text.is_empty());
        }
        for mutant in claims().iter().flat_map(|claim| &claim.mutants) {
            let Some(check) = mutant.check() else { continue };
            names.push(check.name());
            if check.name() == "header-cost-anew-for-each" {
                continue;
            }
            let (verdict, because) = check.run(true);
            assert_eq!(verdict, Verdict::NotReproduced, "{}: {because}", check.name());
        }
        let mut known: Vec<&str> = RUNS.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        known.sort_unstable();
        assert_eq!(names, known);
    }
}
