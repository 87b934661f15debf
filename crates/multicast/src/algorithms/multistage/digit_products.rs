//! Divides sets of addresses into few products of sets of digits, which is what multiport headers can express.

use std::collections::BTreeMap;

use wormcast_network::{NodeId, Stages};

/// All addresses whose digits are each in the set of that digit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Product {
    /// The values of each digit, sorted, digit 0 first.
    pub(crate) values: Vec<Vec<u32>>,
}

impl Product {
    fn of(stages: &Stages, node: NodeId) -> Self {
        Self { values: (0..stages.stages()).map(|digit| vec![stages.digit(node.raw(), digit)]).collect() }
    }

    /// The number of addresses.
    pub(crate) fn len(&self) -> usize {
        self.values.iter().map(Vec::len).product()
    }

    /// The addresses, in increasing order.
    pub(crate) fn nodes(&self, stages: &Stages) -> Vec<NodeId> {
        let mut addresses = vec![0];
        for (digit, values) in self.values.iter().enumerate().rev() {
            let weight = stages.weight(digit as u32);
            addresses = addresses.iter().flat_map(|&a| values.iter().map(move |&value| a + value * weight)).collect();
        }
        addresses.into_iter().map(NodeId::new).collect()
    }
}

/// Divides a set of nodes, without repetitions, into products: few, but not always as few as possible.
///
/// Starts with a product for each node. Digit after digit, all products that agree in every other digit become one; again and again
/// until nothing changes. That is done for several orders of the digits (all of them up to four digits, else the rotations of both directions),
/// and the fewest products are kept: those of the first such order. O(orders x digits x nodes x digits log nodes).
pub(crate) fn divide(stages: &Stages, nodes: &[NodeId]) -> Vec<Product> {
    let singles: Vec<Product> = nodes.iter().map(|&node| Product::of(stages, node)).collect();
    let divided = orders(stages.stages()).into_iter().map(|order| merge(singles.clone(), &order));
    let mut best = divided.min_by_key(Vec::len).unwrap_or_default();
    best.sort_by_cached_key(|product| (std::cmp::Reverse(product.len()), product.nodes(stages).first().copied()));
    best
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

fn merge(mut products: Vec<Product>, order: &[usize]) -> Vec<Product> {
    loop {
        let before = products.len();
        for &digit in order {
            let mut alike: BTreeMap<Vec<Vec<u32>>, Vec<u32>> = BTreeMap::new();
            for mut product in products {
                let own = std::mem::take(&mut product.values[digit]);
                alike.entry(product.values).or_default().extend(own);
            }
            let merged = |(mut values, mut own): (Vec<Vec<u32>>, Vec<u32>)| {
                own.sort_unstable();
                values[digit] = own;
                Product { values }
            };
            products = alike.into_iter().map(merged).collect();
        }
        if products.len() == before {
            return products;
        }
    }
}

#[cfg(test)]
mod tests {
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

    fn check(stages: &Stages, set: &[NodeId], products: &[Product]) {
        let mut told: Vec<NodeId> = products.iter().flat_map(|product| product.nodes(stages)).collect();
        told.sort_unstable();
        assert_eq!(told, set, "each node once, and no other");
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
        fn any_set_of_large_networks(ids in prop::collection::btree_set(0u32..1024, 1..100)) {
            let members = nodes(ids);
            for spec in ["bmin:2x10", "bmin:4x5", "bmin:32x2"] {
                check(&stages(spec), &members, &divide(&stages(spec), &members));
            }
        }
    }
}
