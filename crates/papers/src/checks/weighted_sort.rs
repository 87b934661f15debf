//! Theorem 5 of paper 2.

use std::collections::BTreeSet;

use rand::RngExt;
use wormcast_multicast::weighted_sort;

use super::{CheckOutcome, generator};

/// On every set of the 4-cube that has address 0, which stands for the sender, and on random ones of the 10-cube.
pub(super) fn theorem_5(quick: bool) -> CheckOutcome {
    chains_of(quick, weighted_sort)
}

/// Sorting by address reversed bit by bit, which takes subcubes apart.
pub(super) fn theorem_5_of_reversed_bits(quick: bool) -> CheckOutcome {
    chains_of(quick, |addresses| addresses.sort_by_key(|address| address.reverse_bits()))
}

fn chains_of(quick: bool, sort: impl Fn(&mut [u32])) -> CheckOutcome {
    let small =
        (0..1u32 << 15).map(|set| (0..16).filter(|&address| address == 0 || set >> (address - 1) & 1 == 1).collect());
    let mut random = generator(5);
    let cases = if quick { 1_000 } else { 10_000 };
    let large = (0..cases).map(|_| {
        let count = random.random_range(1..200);
        let drawn: BTreeSet<u32> = (0..count).map(|_| random.random_range(0..1024)).chain([0]).collect();
        drawn.into_iter().collect::<Vec<u32>>()
    });
    let (mut chains, mut broken) = (0u32, None);
    for (dimensions, addresses) in small.map(|set: Vec<u32>| (4, set)).chain(large.map(|set| (10, set))) {
        chains += 1;
        let mut sorted = addresses.clone();
        sort(&mut sorted);
        let mut again = sorted.clone();
        again.sort_unstable();
        if again != addresses || !is_cube_ordered(&sorted, dimensions) {
            broken.get_or_insert(sorted);
        }
    }
    let because = match &broken {
        None => format!("{chains} chains: every set of a 4-cube, and random ones of a 10-cube"),
        Some(chain) => format!("{chain:?} is no cube-ordered chain of what was sorted"),
    };
    CheckOutcome::of(broken.is_none(), because)
}

/// Whether the members of every subcube of the highest dimensions stand together (Definition 5 of paper 2).
pub(super) fn is_cube_ordered(chain: &[u32], dimensions: u32) -> bool {
    (0..dimensions).all(|low| {
        let mut gone = BTreeSet::new();
        chain.chunk_by(|a, b| a >> low == b >> low).all(|group| gone.insert(group[0] >> low))
    })
}
