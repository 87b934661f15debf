//! Divides sets of addresses into few products of sets of digits, which is what multiport headers can express.

use std::cmp::Reverse;

use wormcast_network::{NodeId, Stages};

/// Divides a set of nodes, without repetitions, into products: sets of all nodes whose digits are each in a set. Few, but not always as few as possible.
/// The largest comes first, of several the one with the smallest node; nodes are in increasing order.
///
/// Starts with a product for each node. Digit after digit, all products that agree in every other digit become one; again and again
/// until nothing changes. That is done for several orders of the digits (all of them up to four digits, else the rotations of both directions),
/// and the fewest products are kept: those of the first such order. O(orders x digits x nodes x digits x radix / 64).
pub(crate) fn divide(stages: &Stages, nodes: &[NodeId]) -> Vec<Vec<NodeId>> {
    let (digits, radix) = (stages.stages() as usize, stages.radix() as usize);
    let words = (digits * radix).div_ceil(64);
    let mut singles = vec![0; words * nodes.len()];
    for (bits, node) in singles.chunks_exact_mut(words).zip(nodes) {
        let mut rest = node.index();
        for first in (0..digits).map(|digit| digit * radix) {
            set(bits, first + rest % radix);
            rest /= radix;
        }
    }
    let others = (0..digits).map(|digit| {
        let mut bits = vec![0; words];
        (digit * radix..(digit + 1) * radix).for_each(|place| set(&mut bits, place));
        bits.iter().map(|word: &u64| !word).collect()
    });
    let mut merging = Merging { words, others: others.collect(), places: Vec::new() };
    let (mut best, mut products) = (Vec::new(), Vec::new());
    for order in orders(stages.stages()) {
        products.clone_from(&singles);
        merging.merge(&mut products, &order);
        if best.is_empty() || products.len() < best.len() {
            std::mem::swap(&mut best, &mut products);
        }
    }
    let mut best: Vec<Vec<NodeId>> = best.chunks_exact(words).map(|bits| members(stages, bits)).collect();
    best.sort_unstable_by_key(|nodes| (Reverse(nodes.len()), nodes.first().copied()));
    best
}

fn set(bits: &mut [u64], place: usize) {
    bits[place / 64] |= 1 << (place % 64);
}

/// The addresses of a product, in increasing order.
fn members(stages: &Stages, bits: &[u64]) -> Vec<NodeId> {
    let radix = stages.radix() as usize;
    let mut addresses = vec![NodeId::new(0)];
    for digit in (0..stages.stages()).rev() {
        let (first, weight) = (digit as usize * radix, stages.weight(digit));
        let mut values = (0..radix).filter(|value| bits[(first + value) / 64] >> ((first + value) % 64) & 1 == 1);
        let least = values.next().unwrap_or(0) as u32 * weight;
        let more: Vec<u32> = values.map(|value| value as u32 * weight - least).collect();
        if more.is_empty() {
            for address in &mut addresses {
                *address = NodeId::new(address.raw() + least);
            }
        } else {
            let more = [&[0], &more[..]].concat();
            let with = |address: NodeId| more.iter().map(move |value| NodeId::new(address.raw() + least + value));
            addresses = addresses.iter().flat_map(|&address| with(address)).collect();
        }
    }
    addresses
}

fn orders(digits: u32) -> Vec<Vec<usize>> {
    let ascending: Vec<usize> = (0..digits as usize).collect();
    if digits > 4 {
        let rotated = |order: &[usize], by: usize| [&order[by..], &order[..by]].concat();
        let descending: Vec<usize> = ascending.iter().rev().copied().collect();
        return [ascending, descending]
            .iter()
            .flat_map(|order| (0..order.len()).map(move |by| rotated(order, by)))
            .collect();
    }
    let mut orders = vec![Vec::new()];
    for _ in 0..digits {
        let longer = |order: Vec<usize>| {
            let unused: Vec<usize> = ascending.iter().copied().filter(|digit| !order.contains(digit)).collect();
            unused.into_iter().map(move |digit| [&order[..], &[digit]].concat())
        };
        orders = orders.into_iter().flat_map(longer).collect();
    }
    orders
}

/// Merges products, each with a bit for each value of each digit.
struct Merging {
    /// Words of 64 bits of a product.
    words: usize,
    /// For each digit, the bits of all others.
    others: Vec<Vec<u64>>,
    /// Where products are that differ in more than one digit, found by hashing.
    places: Vec<u32>,
}

impl Merging {
    /// Merges along one digit after the other, until none changes anything.
    fn merge(&mut self, products: &mut Vec<u64>, order: &[usize]) {
        // Digits in a row along which there is nothing to merge.
        let mut done = 0;
        for &digit in order.iter().cycle() {
            let before = products.len();
            self.merge_along(digit, products);
            done = if products.len() < before { 1 } else { done + 1 };
            if done >= order.len() {
                return;
            }
        }
    }

    /// Products that differ in this digit alone become one.
    fn merge_along(&mut self, digit: usize, products: &mut Vec<u64>) {
        const FREE: u32 = u32::MAX;
        let Self { words, others, places } = self;
        let (words, others) = (*words, &others[digit]);
        let count = products.len() / words;
        let slots = (2 * count).next_power_of_two();
        places.clear();
        places.resize(slots, FREE);
        let mut kept = 0;
        for product in 0..count {
            let (earlier, rest) = products.split_at_mut(product * words);
            let own = &mut rest[..words];
            let hash = own.iter().zip(others).fold(0u64, |hash, (word, other)| {
                // 2^64 over the golden ratio.
                (hash.rotate_left(32) ^ (word & other)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            });
            let mut slot = (hash >> 32) as usize & (slots - 1);
            loop {
                if places[slot] == FREE {
                    places[slot] = kept as u32;
                    products.copy_within(product * words..(product + 1) * words, kept * words);
                    kept += 1;
                    break;
                }
                let start = places[slot] as usize * words;
                let like = &mut earlier[start..start + words];
                if like.iter().zip(&*own).zip(others).all(|((one, other), others)| (one ^ other) & others == 0) {
                    like.iter_mut().zip(own).for_each(|(one, other)| *one |= *other);
                    break;
                }
                slot = (slot + 1) & (slots - 1);
            }
        }
        products.truncate(kept * words);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use proptest::prelude::*;
    use wormcast_network::TopologySpec;

    fn stages(spec: &str) -> Stages {
        *spec.parse::<TopologySpec>().unwrap().build().unwrap().shape().stages().unwrap()
    }

    fn nodes(ids: impl IntoIterator<Item = u32>) -> Vec<NodeId> {
        ids.into_iter().map(NodeId::new).collect()
    }

    /// The fewest products of every set of up to 16 nodes, a bit a node: the smallest node is in some product, and the rest is divided as
    /// well as can be.
    fn fewest(stages: &Stages) -> Vec<usize> {
        // Masks of values for each digit, counted through like digits of a number.
        let masks = 1u32 << stages.radix();
        let mut products: Vec<usize> = (0..masks.pow(stages.stages()))
            .map(|number| {
                let told = |node: &u32| {
                    (0..stages.stages()).all(|d| (number / masks.pow(d) % masks) >> stages.digit(*node, d) & 1 == 1)
                };
                (0..stages.nodes()).filter(told).map(|node| 1usize << node).sum::<usize>()
            })
            .filter(|&product| product > 0)
            .collect();
        products.sort_unstable();
        products.dedup();
        let mut fewest = vec![0; 1 << stages.nodes()];
        for set in 1..fewest.len() {
            let smallest = 1 << set.trailing_zeros();
            let fits = |&&product: &&usize| product & smallest != 0 && product & !set == 0;
            fewest[set] = products.iter().filter(fits).map(|product| 1 + fewest[set & !product]).min().unwrap();
        }
        fewest
    }

    /// How many sets are divided into one product more than necessary; none is into two more.
    fn one_too_many(spec: &str) -> usize {
        let stages = stages(spec);
        let fewest = fewest(&stages);
        let mut worse = 0;
        for (set, &best) in fewest.iter().enumerate().skip(1) {
            let members = nodes((0..stages.nodes()).filter(|node| set >> node & 1 == 1));
            let products = divide(&stages, &members);
            check(&stages, &members, &products);
            assert!(products.len() <= best + 1, "{members:?}: {} instead of {best}", products.len());
            worse += usize::from(products.len() > best);
        }
        worse
    }

    fn check(stages: &Stages, set: &[NodeId], products: &[Vec<NodeId>]) {
        let mut told: Vec<NodeId> = products.iter().flatten().copied().collect();
        told.sort_unstable();
        assert_eq!(told, set, "each node once, and no other");
        for nodes in products {
            assert!(nodes.is_sorted());
            let values =
                |digit| nodes.iter().map(|node| stages.digit(node.raw(), digit)).collect::<BTreeSet<_>>().len();
            assert_eq!(nodes.len(), (0..stages.stages()).map(values).product::<usize>(), "{nodes:?} is a product");
        }
    }

    /// With lists of values for sets, found in order.
    fn plainly(stages: &Stages, nodes: &[NodeId]) -> Vec<Vec<NodeId>> {
        type Values = Vec<Vec<u32>>;
        let digits = |node: u32| (0..stages.stages()).map(move |digit| vec![stages.digit(node, digit)]);
        let singles: Vec<Values> = nodes.iter().map(|node| digits(node.raw()).collect()).collect();
        let merged = orders(stages.stages()).into_iter().map(|order| {
            let mut products = singles.clone();
            loop {
                let before = products.len();
                for &digit in &order {
                    let mut alike: BTreeMap<Values, Vec<u32>> = BTreeMap::new();
                    for mut product in products {
                        let own = std::mem::take(&mut product[digit]);
                        alike.entry(product).or_default().extend(own);
                    }
                    let merged = |(mut product, mut own): (Values, Vec<u32>)| {
                        own.sort_unstable();
                        product[digit] = own;
                        product
                    };
                    products = alike.into_iter().map(merged).collect();
                }
                if products.len() == before {
                    return products;
                }
            }
        });
        let best = merged.min_by_key(Vec::len).unwrap();
        let of = |product: &Values, node: &NodeId| {
            digits(node.raw()).zip(product).all(|(own, values)| values.contains(&own[0]))
        };
        let members = |product: Values| -> Vec<NodeId> {
            let mut members: Vec<NodeId> = nodes.iter().copied().filter(|node| of(&product, node)).collect();
            members.sort_unstable();
            members
        };
        let mut best: Vec<Vec<NodeId>> = best.into_iter().map(members).collect();
        best.sort_by_key(|nodes| (Reverse(nodes.len()), nodes[0]));
        best
    }

    #[test]
    fn worked_by_hand() {
        let four_by_two = stages("bmin:4x2");
        let count = |ids: &[u32]| divide(&four_by_two, &nodes(ids.iter().copied())).len();
        // {0, 1} x {1, 2} written digit 1 first: 1, 2, 5, 6.
        assert_eq!(count(&[1, 2, 5, 6]), 1);
        assert_eq!(count(&[1, 2, 5]), 2);
        assert_eq!(count(&[0, 5, 10, 15]), 4);
        // A broadcast from 0: the other switches, and the other nodes of its own.
        assert_eq!(count(&(1..16).collect::<Vec<_>>()), 2);
    }

    /// Against exhaustive search, for every set: the figures of docs/algorithms.md.
    #[test]
    fn every_set_of_eight_and_of_sixteen_nodes() {
        assert_eq!(one_too_many("bmin:2x3"), 4);
        assert_eq!(one_too_many("bmin:4x2"), 1728);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]

        #[test]
        fn any_set_of_large_networks(ids in prop::collection::btree_set(0u32..1024, 0..100), shuffle in any::<u32>()) {
            let mut members = nodes(ids);
            for spec in ["bmin:2x10", "bmin:4x5", "bmin:32x2", "bmin:40x2"] {
                let stages = stages(spec);
                let products = divide(&stages, &members);
                check(&stages, &members, &products);
                let mut shuffled = members.clone();
                shuffled.sort_by_key(|node| node.raw().wrapping_mul(shuffle | 1));
                prop_assert_eq!(&divide(&stages, &shuffled), &products);
                prop_assert_eq!(&plainly(&stages, &shuffled), &products);
            }
            // Sets of many like ones, which are merged along several digits.
            members.retain(|node| node.raw() < 256);
            let dense: Vec<NodeId> = (0..256).map(NodeId::new).filter(|node| !members.contains(node)).collect();
            for spec in ["bmin:2x8", "bmin:4x4", "bmin:16x2", "bmin:3x6"] {
                prop_assert_eq!(plainly(&stages(spec), &dense), divide(&stages(spec), &dense));
            }
        }
    }
}
