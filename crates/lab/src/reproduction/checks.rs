//! Claims that no sweep can test: examples and theorems.

mod headers;
mod negative_first;
mod turns;
mod weighted_sort;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use wormcast_network::{Network, TopologySpec};

use super::Checked;
use crate::verdict::Verdict;

/// What a check has found: whether it holds, and why, in words.
struct Answer {
    verdict: Verdict,
    because: String,
}

impl Answer {
    /// Settled one way or the other.
    fn of(holds: bool, because: String) -> Self {
        Self { verdict: if holds { Verdict::Reproduced } else { Verdict::NotReproduced }, because }
    }
}

/// How a check is made: in a quick reproduction on fewer cases.
type Run = fn(quick: bool) -> Answer;

/// A check of a claim.
#[derive(Clone, Debug)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) claim: &'static str,
    pub(super) text: &'static str,
    run: Run,
}

impl Check {
    pub(super) fn run(&self, quick: bool) -> Checked {
        let Answer { verdict, because } = (self.run)(quick);
        Checked { check: self.name, text: self.text, verdict, because }
    }
}

/// All checks.
pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "lists-of-the-example",
        claim: "mesh-example",
        text: "the lists of the example are A, B and C",
        run: negative_first::example,
    },
    Check {
        name: "fewest-lists",
        claim: "mesh-optimal",
        text: "pure negative-first sends the fewest worms that can deliver by negative-first paths (Theorem 1)",
        run: negative_first::theorem_1,
    },
    Check {
        name: "fewest-minimal-lists",
        claim: "mesh-optimal",
        text: "minimal negative-first sends the fewest that can deliver by shortest negative-first paths (Theorem 2)",
        run: negative_first::theorem_2,
    },
    Check {
        name: "weighted-sort",
        claim: "cube-contention",
        text: "weighted sort makes a cube-ordered chain of every cube-ordered chain (Theorem 5)",
        run: weighted_sort::theorem_5,
    },
    Check {
        name: "turn-prohibition",
        claim: "turns-theory",
        text: "every cycle has a prohibited turn, all pairs stay connected, none of the turns can be spared, and their number is at most a \
               third of all and at least M - N + 1",
        run: turns::theorems,
    },
    Check {
        name: "header-delivers",
        claim: "torus-header",
        text: "worms led by their headers alone deliver to exactly their destinations",
        run: headers::deliver,
    },
    Check {
        name: "header-cost",
        claim: "torus-header",
        text: "the time to make a header grows like D log D + N",
        run: headers::cost,
    },
];

/// What would hold in the place of checks that fail.
pub(super) const ALTERNATIVES: &[Check] = &[Check {
    name: "fewest-minimal-lists-optimal",
    claim: "mesh-optimal",
    text: "minimal-negative-first-optimal, which joins lists, sends the fewest that can deliver by shortest negative-first paths",
    run: negative_first::theorem_2_joined,
}];

/// A generator for the cases of a check.
fn generator(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// The network that a specification in this program names.
fn network(spec: &str) -> Network {
    let network = spec.parse::<TopologySpec>().and_then(|spec| spec.build());
    network.unwrap_or_else(|error| unreachable!("`{spec}` is a network: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every check but that of time, which depends on the machine, has the outcome that is known.
    #[test]
    fn checks_come_out_as_known() {
        for check in CHECKS.iter().filter(|check| check.name != "header-cost") {
            let checked = check.run(true);
            let expected =
                if check.name == "fewest-minimal-lists" { Verdict::NotReproduced } else { Verdict::Reproduced };
            assert_eq!(checked.verdict, expected, "{}: {}", check.name, checked.because);
            assert!(!checked.because.is_empty());
        }
        for check in ALTERNATIVES {
            assert_eq!(check.run(true).verdict, Verdict::Reproduced, "{}", check.name);
        }
    }
}
