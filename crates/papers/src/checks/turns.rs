//! Theorems 1 to 5 of paper 3.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, NetworkBuilder, RouterId};
use wormcast_routing::{Root, TurnSet, turn_prohibition, up_down};

use super::{CheckOutcome, network};

/// On random graphs of several sizes and degrees, without parallel links, and on trees whose leaves join a hub.
pub(super) fn theorems(quick: bool) -> CheckOutcome {
    hold_of(quick, turn_prohibition)
}

/// Up*/down* in the place of turn prohibition, with the tree's root as its root: at most a third is prohibited in most graphs by any means,
/// but not where a hub has many links down.
pub(super) fn theorems_of_up_down(quick: bool) -> CheckOutcome {
    hold_of(quick, |graph| match up_down(graph, Root::SmallestId) {
        Ok(turns) => turns,
        Err(error) => unreachable!("{error}"),
    })
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
