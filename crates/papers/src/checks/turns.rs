//! Paper 3: Theorems 1 to 5, the worst case of up*/down*, and how long permitted paths are.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, NetworkBuilder, RouterId};
use wormcast_routing::{Adaptivity, Root, TurnRouting, TurnSet, turn_prohibition, up_down};

use super::{CheckOutcome, network};

/// On random graphs of several sizes and degrees, without parallel links, and on trees whose leaves join a hub.
pub(super) fn theorems(quick: bool) -> CheckOutcome {
    hold_of(quick, turn_prohibition)
}

/// Up*/down* in the place of turn prohibition, with the tree's root as its root: at most a third is prohibited in most graphs by any means,
/// but not where a hub has many links down.
pub(super) fn theorems_of_up_down(quick: bool) -> CheckOutcome {
    hold_of(quick, up_down_turns)
}

/// The turns of up*/down* with the smallest id as its root.
fn up_down_turns(graph: &Network) -> TurnSet {
    up_down(graph, Root::SmallestId).unwrap_or_else(|error| unreachable!("{error}"))
}

/// Up*/down* prohibits nearly all turns of trees whose leaves join a hub: in print the family is missing, and this is one.
pub(super) fn worst_case(quick: bool) -> CheckOutcome {
    worst_case_of(quick, up_down_turns)
}

/// Turn prohibition in the place of up*/down*.
pub(super) fn worst_case_of_turn_prohibition(quick: bool) -> CheckOutcome {
    worst_case_of(quick, turn_prohibition)
}

fn worst_case_of(quick: bool, prohibit: impl Fn(&Network) -> TurnSet) -> CheckOutcome {
    let depths = 2..=if quick { 8 } else { 10 };
    let mut deepest = 0.0;
    for depth in depths.clone() {
        let graph = tree_with_hub(depth);
        let turns = prohibit(&graph);
        // With L leaves: all turns at the hub, of the L + 3 (L - 2) + 1 others none.
        let leaves = 1u64 << depth;
        let (at_hub, others) = (leaves * (leaves - 1) / 2, 4 * leaves - 5);
        if (turns.prohibited_turns(), turns.turn_count()) != (at_hub, at_hub + others) {
            let because = format!(
                "{}: {} of {} turns are prohibited, not {at_hub} of {}",
                graph.name(),
                turns.prohibited_turns(),
                turns.turn_count(),
                at_hub + others
            );
            return CheckOutcome::of(false, because);
        }
        deepest = turns.fraction();
    }
    let because = format!(
        "binary trees of depth {} to {} whose L leaves join a hub: just the L (L - 1)/2 turns at the hub are prohibited and 4 L - 5 are not, so the share goes to 1; {:.1}% at the greatest depth, where turn prohibition has {:.1}%",
        depths.start(),
        depths.end(),
        100.0 * deepest,
        100.0 * turn_prohibition(&tree_with_hub(*depths.end())).fraction()
    );
    CheckOutcome::of(deepest > 0.95, because)
}

/// Fewer prohibited turns go with shorter paths: turn prohibition against up*/down*, graph by graph and on average.
pub(super) fn path_lengths(quick: bool) -> CheckOutcome {
    path_lengths_of(quick, turn_prohibition)
}

/// Up*/down* in the place of turn prohibition.
pub(super) fn path_lengths_of_up_down(quick: bool) -> CheckOutcome {
    path_lengths_of(quick, up_down_turns)
}

fn path_lengths_of(quick: bool, prohibit: impl Fn(&Network) -> TurnSet) -> CheckOutcome {
    let graphs = if quick { 10 } else { 100 };
    let (mut shorter, mut sums, mut counts) = (0, [0.0; 3], [0u64; 2]);
    for seed in 0..graphs {
        let graph = network(&format!("random:nodes=256,degree=4,seed={seed}"));
        let sets = [prohibit(&graph), up_down_turns(&graph)];
        counts.iter_mut().zip(&sets).for_each(|(count, turns)| *count += turns.prohibited_turns());
        let [fewer, more] = sets.map(|turns| {
            let routing = TurnRouting::new("permitted paths", &graph, turns, Adaptivity::First);
            routing.survey().0.average_distance.unwrap_or(f64::INFINITY)
        });
        shorter += usize::from(fewer < more);
        sums.iter_mut().zip([shortest(&graph), fewer, more]).for_each(|(sum, length)| *sum += length);
    }
    let [graph, fewer, more] = sums.map(|sum| sum / graphs as f64);
    let because = format!(
        "{graphs} random graphs of 256 nodes and degree 4: {graph:.2} hops on average without prohibited turns, {fewer:.2} with {} of them a graph, {more:.2} with the {} of up*/down*; shorter in {shorter} of the graphs",
        counts[0] / graphs,
        counts[1] / graphs
    );
    CheckOutcome::of(counts[0] < counts[1] && fewer < more, because)
}

/// The average distance of a network if every turn is permitted.
fn shortest(network: &Network) -> f64 {
    let routers = network.routers();
    let mut total = 0;
    for source in 0..routers {
        let mut hops = vec![usize::MAX; routers];
        hops[source] = 0;
        let mut reached = vec![source];
        let mut next = 0;
        while let Some(&router) = reached.get(next) {
            next += 1;
            for channel in network.outputs(RouterId::new(router as u32)) {
                let neighbour = network.to(channel).index();
                if hops[neighbour] == usize::MAX {
                    hops[neighbour] = hops[router] + 1;
                    total += hops[neighbour];
                    reached.push(neighbour);
                }
            }
        }
    }
    total as f64 / (routers * (routers - 1)) as f64
}

fn hold_of(quick: bool, prohibit: impl Fn(&Network) -> TurnSet) -> CheckOutcome {
    let graphs = if quick { 40 } else { 400 };
    let (mut most, mut problem) = (0.0f64, None);
    let random = (0..graphs).map(|seed| {
        let (nodes, degree) = [(16, 3.0), (24, 4.0), (32, 2.5), (40, 5.0)][seed % 4];
        network(&format!("random:nodes={nodes},degree={degree},seed={seed}"))
    });
    let depths = 2..=if quick { 6 } else { 8 };
    for graph in random.chain(depths.clone().map(tree_with_hub)) {
        let turns = prohibit(&graph);
        most = most.max(turns.fraction());
        if let Some(found) = wrong(&graph, &turns) {
            problem.get_or_insert(format!("{}: {found}", graph.name()));
        }
    }
    let holds = problem.is_none();
    let because = problem.unwrap_or_else(|| {
        format!(
            "{graphs} random graphs of 16 to 40 nodes, and binary trees of depth {} to {} whose leaves join a hub; at most {:.1}% prohibited",
            depths.start(),
            depths.end(),
            100.0 * most
        )
    });
    CheckOutcome::of(holds, because)
}

/// A binary tree with one more vertex, which is adjacent to all of its leaves.
fn tree_with_hub(depth: u32) -> Arc<Network> {
    let tree = (1u32 << (depth + 1)) - 1;
    let mut builder = NetworkBuilder::new(format!("a binary tree of depth {depth} with a hub"));
    let built = (|| {
        builder.at_least(tree as usize + 1)?;
        for child in 1..tree {
            builder.link(RouterId::new((child - 1) / 2), RouterId::new(child))?;
        }
        for leaf in tree / 2..tree {
            builder.link(RouterId::new(leaf), RouterId::new(tree))?;
        }
        builder.build()
    })();
    built.unwrap_or_else(|error| unreachable!("{error}"))
}

/// What is not as the theorems say.
fn wrong(network: &Network, turns: &TurnSet) -> Option<String> {
    let after = Ways::new(network, turns);
    let routers = network.routers();
    let links = network.channels() / 2;
    if after.has_cycle(None) {
        return Some("a cycle without a prohibited turn (Theorem 1)".to_owned());
    }
    if let Some(router) = (0..routers).find(|&router| after.reached(network, RouterId::new(router as u32)) < routers) {
        return Some(format!("router {router} does not reach all others (Theorem 2)"));
    }
    if 3 * turns.prohibited_turns() > turns.turn_count() {
        let share = 100.0 * turns.fraction();
        return Some(format!("{share:.1}% of the turns are prohibited, which is more than a third (Theorem 4)"));
    }
    let spared = turns.prohibited(network).find(|&(one, other)| !after.has_cycle(Some((one, other))));
    if let Some((one, other)) = spared {
        let (a, b) = (network.to(one).raw(), network.to(other).raw());
        return Some(format!(
            "the turn from {a} over {} to {b} could be permitted (Theorem 3)",
            network.from(one).raw()
        ));
    }
    let least = (links + 1).saturating_sub(routers);
    if (turns.prohibited_turns() as usize) < least {
        return Some(format!("fewer than {least} turns are prohibited (Theorem 5)"));
    }
    None
}

/// The channels by which worms may go on behind each.
struct Ways {
    after: Vec<Vec<usize>>,
    channels: Vec<(usize, usize)>,
}

impl Ways {
    fn new(network: &Network, turns: &TurnSet) -> Self {
        let channel = |index: usize| ChannelId::new(index as u32);
        let ends = |index| (network.from(channel(index)).index(), network.to(channel(index)).index());
        let channels: Vec<_> = (0..network.channels()).map(ends).collect();
        let after = (0..network.channels())
            .map(|arriving| {
                let goes_on = |&leaving: &usize| {
                    channels[leaving].0 == channels[arriving].1
                        && channel(leaving) != network.reverse(channel(arriving))
                        && turns.permits(network, channel(arriving), channel(leaving))
                };
                (0..network.channels()).filter(goes_on).collect()
            })
            .collect();
        Self { after, channels }
    }

    /// Whether worms can go round, if a prohibited turn between two channels that leave a router is permitted as well.
    fn has_cycle(&self, permitted: Option<(ChannelId, ChannelId)>) -> bool {
        // Only a cycle by the new turn is one that was not there.
        if let Some((one, other)) = permitted {
            return self.leads(one.index(), other.index()) || self.leads(other.index(), one.index());
        }
        // Kahn: take away channels that nothing leads to.
        let mut before = vec![0usize; self.after.len()];
        self.after.iter().flatten().for_each(|&next| before[next] += 1);
        let mut free: Vec<usize> = (0..before.len()).filter(|&channel| before[channel] == 0).collect();
        let mut gone = 0;
        while let Some(channel) = free.pop() {
            gone += 1;
            for &next in &self.after[channel] {
                before[next] -= 1;
                if before[next] == 0 {
                    free.push(next);
                }
            }
        }
        gone < before.len()
    }

    /// Whether a worm that leaves a router by one channel can come back to it over the link of another, from where the new turn
    /// would lead on to the first.
    fn leads(&self, first: usize, back: usize) -> bool {
        let (router, neighbour) = self.channels[back];
        let mut seen = vec![false; self.after.len()];
        let mut work = vec![first];
        while let Some(channel) = work.pop() {
            if std::mem::replace(&mut seen[channel], true) {
                continue;
            }
            if self.channels[channel] == (neighbour, router) {
                return true;
            }
            work.extend(&self.after[channel]);
        }
        false
    }

    /// The routers that worms from one reach, itself included.
    fn reached(&self, network: &Network, from: RouterId) -> usize {
        let mut seen = vec![false; self.after.len()];
        let mut reached = vec![false; network.routers()];
        reached[from.index()] = true;
        let mut work: Vec<usize> = network.outputs(from).map(ChannelId::index).collect();
        while let Some(channel) = work.pop() {
            if std::mem::replace(&mut seen[channel], true) {
                continue;
            }
            reached[self.channels[channel].1] = true;
            work.extend(&self.after[channel]);
        }
        reached.into_iter().filter(|&reached| reached).count()
    }
}
