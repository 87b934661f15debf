//! The weighted sort of a cube-ordered chain, as printed and in O(m log m).

use crate::algorithms::hypercube::cube_chain::highdim;

/// Reorders a cube-ordered chain so that, in every subcube without the chain's first node, the half with more nodes comes
/// first; halves with equally many keep their order.
///
/// Source: paper 2, Figure 7; the same chain as [`weighted_sort_as_printed`] makes. The result is a cube-ordered chain with
/// the same first node (Theorem 5). A chain is cube-ordered if the nodes of every subcube (all addresses that agree in some
/// of the highest bits) are contiguous, as they are in a chain in increasing order.
///
/// How many nodes a half has does not depend on the order within it. So the order is written from the top down: O(m log m) for m
/// nodes, where the printed procedure moves halves of halves again and again.
///
/// ```
/// use wormcast_multicast::weighted_sort;
///
/// // Paper 2, Figure 8: the four nodes from 8 on change places, those before share their subcubes with the first.
/// let mut chain = [0, 1, 3, 5, 7, 11, 12, 14, 15];
/// weighted_sort(&mut chain);
/// assert_eq!(chain, [0, 1, 3, 5, 7, 14, 15, 12, 11]);
/// ```
pub fn weighted_sort(chain: &mut [u32]) {
    let before = chain.to_vec();
    let mut next = 0;
    // Parts still to be written, the next one last. Each is split where its subcube is.
    let mut parts = Vec::new();
    if !before.is_empty() {
        parts.push(0..before.len());
    }
    while let Some(part) = parts.pop() {
        if part.len() < 3 {
            // Two halves of one node each do not change places.
            chain[next..next + part.len()].copy_from_slice(&before[part.clone()]);
            next += part.len();
            continue;
        }
        // Only a chain with a repeated address has no second half.
        let center = highdim(&before, part.start, part.end - 1).min(part.end - 1);
        let (low, high) = (part.start..center, center..part.end);
        if part.start != 0 && low.len() < high.len() {
            parts.extend([low, high]);
        } else {
            parts.extend([high, low]);
        }
    }
}

/// The weighted sort as paper 2, Figure 7, prints it: halves are sorted within a subcube of `dimensions` dimensions, then change
/// places if the second has more nodes. O(m x dimensions) moves for m nodes, and so O(m^2) if dimensions are many.
///
/// For comparison with [`weighted_sort`], which algorithms use. Addresses have no bits from `dimensions` on.
///
/// ```
/// use wormcast_multicast::weighted_sort_as_printed;
///
/// let mut chain = [0, 1, 3, 5, 7, 11, 12, 14, 15];
/// weighted_sort_as_printed(&mut chain, 4);
/// assert_eq!(chain, [0, 1, 3, 5, 7, 14, 15, 12, 11]);
/// ```
pub fn weighted_sort_as_printed(chain: &mut [u32], dimensions: u32) {
    sort_part(chain, 0, dimensions);
}

/// Sorts a part of the chain that starts at position `first` of the whole.
fn sort_part(part: &mut [u32], first: usize, dimensions: u32) {
    // The figure: `last - first >= 2`. A part of two nodes or more has a dimension left to differ in.
    if part.len() < 3 || dimensions == 0 {
        return;
    }
    let center = cube_center(part, dimensions);
    let (low, high) = part.split_at_mut(center);
    sort_part(low, first, dimensions - 1);
    sort_part(high, first + center, dimensions - 1);
    if first != 0 && center < part.len() - center {
        part.rotate_left(center);
    }
}

/// Where the second half of a subcube starts in the part of a chain that lies in it; its length if one half is empty.
fn cube_center(part: &[u32], dimensions: u32) -> usize {
    let half = |address: u32| address >> (dimensions - 1);
    part.iter().position(|&address| half(address) != half(part[0])).unwrap_or(part.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Definition 5, tried for every subcube.
    fn is_cube_ordered(chain: &[u32], dimensions: u32) -> bool {
        (0..=dimensions).all(|free| {
            let mut masks: Vec<u32> = chain.iter().map(|address| address >> free).collect();
            masks.dedup();
            let runs = masks.len();
            masks.sort_unstable();
            masks.dedup();
            runs == masks.len()
        })
    }

    /// Theorem 5, and that both procedures agree.
    fn check(chain: &[u32], dimensions: u32) {
        let (mut fast, mut printed) = (chain.to_vec(), chain.to_vec());
        weighted_sort(&mut fast);
        weighted_sort_as_printed(&mut printed, dimensions);
        assert_eq!(fast, printed, "from {chain:?}");
        assert!(is_cube_ordered(&fast, dimensions), "{fast:?}");
        assert_eq!(fast.first(), chain.first());
        let sorted = |mut chain: Vec<u32>| {
            chain.sort_unstable();
            chain
        };
        assert_eq!(sorted(fast), sorted(chain.to_vec()));
    }

    #[test]
    fn both_procedures_agree_on_every_set_of_the_4_cube() {
        for set in 0u32..1 << 16 {
            check(&(0..16).filter(|node| set >> node & 1 == 1).collect::<Vec<_>>(), 4);
        }
    }

    /// A cube-ordered chain of these addresses: halves change places where `swap` has a bit, by the bits they have in common.
    fn shuffled(addresses: &[u32], dimensions: u32, swap: &dyn Fn(u32) -> bool) -> Vec<u32> {
        let Some(next) = dimensions.checked_sub(1) else { return addresses.to_vec() };
        let (low, high): (Vec<u32>, Vec<u32>) = addresses.iter().partition(|&&address| address >> next & 1 == 0);
        let parts = [shuffled(&low, next, swap), shuffled(&high, next, swap)];
        let swaps = !parts[0].is_empty() && swap(parts[0][0] >> dimensions << 8 | dimensions);
        if swaps { [&parts[1][..], &parts[0][..]].concat() } else { parts.concat() }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn both_procedures_agree_on_any_cube_ordered_chain(
            addresses in prop::collection::btree_set(0u32..1 << 12, 0..60),
            seed: u32,
        ) {
            let addresses: Vec<u32> = addresses.into_iter().collect();
            check(&addresses, 12);
            let swap = |subcube: u32| subcube.wrapping_add(seed).wrapping_mul(0x9e37_79b9) >> 31 == 1;
            let chain = shuffled(&addresses, 12, &swap);
            prop_assert!(is_cube_ordered(&chain, 12));
            check(&chain, 12);
        }
    }
}
