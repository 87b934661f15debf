//! The search for a tree whose turns close no cycle with what unicasts wait for.

use std::collections::VecDeque;

use fixedbitset::FixedBitSet;
use wormcast_network::watch::step;
use wormcast_network::{ChannelId, Network, RouterId};

use super::{NoRepair, ROOTS, SearchEnd};
use crate::forwarding_tables::lanes::{Arrival, VirtualLanes};
use crate::forwarding_tables::multicast::MulticastTables;
use crate::forwarding_tables::waits::UnicastWaits;

/// Checks that a search for trees may take before it is given up.
const CHECKS: usize = 20_000;

/// Networks with more links have too many trees to try them all.
const LINKS: usize = 256;

/// The switches of the members of each group.
pub(super) struct Terminals(pub(super) Vec<Vec<RouterId>>);

impl Terminals {
    pub(super) fn new(network: &Network, multicasts: &MulticastTables) -> Result<Self, NoRepair> {
        let component = components(network, |_| true);
        let mut all = Vec::new();
        for group in multicasts.groups() {
            let switches = group.routers(network);
            if switches.iter().any(|switch| component[switch.index()] != component[switches[0].index()]) {
                return Err(NoRepair::Disconnected(group.mlid));
            }
            all.push(switches);
        }
        Ok(Self(all))
    }

    /// Whether channels, closed under reversal, join the switches of each group.
    pub(super) fn are_joined(&self, network: &Network, channels: &FixedBitSet) -> bool {
        let component = components(network, |channel| channels.contains(channel.index()));
        self.0.iter().all(|group| group.iter().all(|at| component[at.index()] == component[group[0].index()]))
    }

    /// The links of a tree that the groups need, each counted once for a group.
    fn links(&self, network: &Network, channels: &FixedBitSet) -> usize {
        let mut total = 0;
        for group in self.0.iter().filter(|group| !group.is_empty()) {
            // Leaves that are no switch of the group are cut off.
            let mut degree = vec![0u32; network.routers()];
            for channel in channels.ones() {
                degree[network.from(ChannelId::new(channel as u32)).index()] += 1;
            }
            let mut needed = vec![false; network.routers()];
            for at in group {
                needed[at.index()] = true;
            }
            let component = components(network, |channel| channels.contains(channel.index()));
            let own = component[group[0].index()];
            let mut links = (0..network.routers()).filter(|&at| component[at] == own).count() - 1;
            let is_leaf = |at: usize, degree: &[u32]| degree[at] == 1 && !needed[at] && component[at] == own;
            let mut work: Vec<usize> = (0..network.routers()).filter(|&at| is_leaf(at, &degree)).collect();
            while let Some(at) = work.pop() {
                if degree[at] != 1 {
                    continue;
                }
                degree[at] = 0;
                links -= 1;
                for channel in network.outputs(RouterId::new(at as u32)).filter(|c| channels.contains(c.index())) {
                    let next = network.to(channel).index();
                    if degree[next] > 0 {
                        degree[next] -= 1;
                        if is_leaf(next, &degree) {
                            work.push(next);
                        }
                    }
                }
            }
            total += links;
        }
        total
    }
}

/// The component of each router over some channels.
fn components(network: &Network, takes: impl Fn(ChannelId) -> bool) -> Vec<u32> {
    let mut component = vec![u32::MAX; network.routers()];
    for start in network.router_ids() {
        if component[start.index()] != u32::MAX {
            continue;
        }
        component[start.index()] = start.raw();
        let mut work = vec![start];
        while let Some(at) = work.pop() {
            for next in network.outputs(at).filter(|&channel| takes(channel)).map(|channel| network.to(channel)) {
                if component[next.index()] == u32::MAX {
                    component[next.index()] = start.raw();
                    work.push(next);
                }
            }
        }
    }
    component
}

/// Shortest paths from a root, and in components without it from their smallest router: over the first port where there are several.
pub(super) fn shortest_tree(network: &Network, root: RouterId) -> FixedBitSet {
    let mut channels = FixedBitSet::with_capacity(network.channels());
    let mut seen = FixedBitSet::with_capacity(network.routers());
    for start in std::iter::once(root).chain(network.router_ids()) {
        let mut queue = VecDeque::from_iter((!seen.put(start.index())).then_some(start));
        while let Some(at) = queue.pop_front() {
            for channel in network.outputs(at) {
                if !seen.put(network.to(channel).index()) {
                    channels.insert(channel.index());
                    channels.insert(network.reverse(channel).index());
                    queue.push_back(network.to(channel));
                }
            }
        }
    }
    channels
}

/// All turns between the links of a tree.
pub(super) fn turns_of(network: &Network, tree: &FixedBitSet) -> Vec<(ChannelId, ChannelId)> {
    let mut turns = Vec::new();
    for router in network.router_ids() {
        let links: Vec<ChannelId> = network.outputs(router).filter(|c| tree.contains(c.index())).collect();
        for &back in &links {
            turns.extend(links.iter().filter(|&&next| next != back).map(|&next| (network.reverse(back), next)));
        }
    }
    turns
}

/// All turns between the links of a tree on the lanes that packets of these levels can be on, whoever sends them; `None` if some are dropped.
fn turns_in_lanes(
    network: &Network,
    tree: &FixedBitSet,
    lanes: &VirtualLanes,
    levels: &[u8],
) -> Option<Vec<(ChannelId, ChannelId)>> {
    let links = |router: RouterId| network.outputs(router).filter(|channel| tree.contains(channel.index()));
    let on = |channel: ChannelId, lane: u32| ChannelId::new(channel.raw() * lanes.count() + lane);
    let mut turns = Vec::new();
    for router in network.router_ids() {
        for (back, next) in links(router).flat_map(|back| links(router).map(move |next| (back, next))) {
            if back == next {
                continue;
            }
            let arriving = network.reverse(back);
            let before = network.from(arriving);
            let others = links(before).filter(|&other| other != arriving);
            let others = others.map(|other| Arrival::Channel(network.reverse(other)));
            for at in others.chain(network.nodes_of(before).map(Arrival::Node)) {
                for &level in levels {
                    let held = lanes.lane(at, arriving, level)?;
                    let then = lanes.lane(Arrival::Channel(arriving), next, level)?;
                    turns.push((on(arriving, held), on(next, then)));
                }
            }
        }
    }
    turns.sort_unstable();
    turns.dedup();
    Some(turns)
}

/// Takes or leaves both channels of a link.
pub(super) fn set_link(network: &Network, tree: &mut FixedBitSet, channel: ChannelId, is_taken: bool) {
    tree.set(channel.index(), is_taken);
    tree.set(network.reverse(channel).index(), is_taken);
}

/// The end of trying all forests.
#[derive(PartialEq, Eq)]
enum Trial {
    Found,
    None,
    TooMany,
}

/// The search for a tree that closes no cycle with unicasts.
pub(super) struct Search<'a> {
    network: &'a Network,
    unicasts: &'a UnicastWaits,
    numbering: &'a [u32],
    terminals: &'a Terminals,
    /// Virtual lanes and the service levels of groups; without, all is on one lane.
    lanes: Option<(&'a VirtualLanes, &'a [u8])>,
    checks: usize,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        network: &'a Network,
        unicasts: &'a UnicastWaits,
        numbering: &'a [u32],
        terminals: &'a Terminals,
        lanes: Option<(&'a VirtualLanes, &'a [u8])>,
    ) -> Self {
        Self { network, unicasts, numbering, terminals, lanes, checks: 0 }
    }

    fn is_safe(&mut self, tree: &FixedBitSet) -> bool {
        self.checks += 1;
        let turns = match self.lanes {
            None => turns_of(self.network, tree),
            Some((lanes, levels)) => match turns_in_lanes(self.network, tree, lanes, levels) {
                Some(turns) => turns,
                None => return false,
            },
        };
        !self.unicasts.closes_with(self.numbering, &turns)
    }

    pub(super) fn run(mut self) -> (Option<FixedBitSet>, SearchEnd) {
        let roots = self.network.routers().min(ROOTS);
        let mut best: Option<(usize, FixedBitSet)> = None;
        for root in self.network.router_ids().take(roots) {
            step("looking for trees", "roots", root.index(), roots);
            let tree = shortest_tree(self.network, root);
            if self.is_safe(&tree) {
                let links = self.terminals.links(self.network, &tree);
                if best.as_ref().is_none_or(|&(fewest, _)| links < fewest) {
                    best = Some((links, tree));
                }
            }
        }
        if let Some((_, tree)) = best {
            return (Some(tree), SearchEnd::Found);
        }
        for root in self.network.router_ids().take(roots) {
            step("growing trees", "roots", root.index(), roots);
            if let Some(tree) = self.grow(root) {
                return (Some(tree), SearchEnd::Found);
            }
            if self.checks > CHECKS {
                return (None, SearchEnd::GivenUp);
            }
        }
        self.checks = 0;
        let links: Vec<ChannelId> = self.network.channel_ids().filter(|&c| c < self.network.reverse(c)).collect();
        if links.len() > LINKS {
            return (None, SearchEnd::GivenUp);
        }
        let mut forest = FixedBitSet::with_capacity(self.network.channels());
        match self.all(&links, &mut forest) {
            Trial::Found => (Some(forest), SearchEnd::Found),
            Trial::None => (None, SearchEnd::Proven),
            Trial::TooMany => (None, SearchEnd::GivenUp),
        }
    }

    /// A tree from a root that takes any link that closes no cycle, the nearest first.
    fn grow(&mut self, root: RouterId) -> Option<FixedBitSet> {
        let network = self.network;
        let mut tree = FixedBitSet::with_capacity(network.channels());
        let mut joined = FixedBitSet::with_capacity(network.routers());
        joined.insert(root.index());
        let mut open = VecDeque::from([root]);
        while let Some(at) = open.pop_front() {
            for channel in network.outputs(at) {
                if joined.contains(network.to(channel).index()) || self.checks > CHECKS {
                    continue;
                }
                set_link(network, &mut tree, channel, true);
                if self.is_safe(&tree) {
                    joined.insert(network.to(channel).index());
                    open.push_back(network.to(channel));
                } else {
                    set_link(network, &mut tree, channel, false);
                }
            }
        }
        self.terminals.are_joined(network, &tree).then_some(tree)
    }

    /// Tries all forests of these links beside those that are taken, which are those of the forest if there is one.
    fn all(&mut self, links: &[ChannelId], taken: &mut FixedBitSet) -> Trial {
        if self.terminals.are_joined(self.network, taken) {
            return Trial::Found;
        }
        let Some((&link, rest)) = links.split_first() else { return Trial::None };
        if self.checks > CHECKS {
            return Trial::TooMany;
        }
        let network = self.network;
        let component = components(network, |channel| taken.contains(channel.index()));
        let [a, b] = [network.from(link), network.to(link)].map(|end| component[end.index()]);
        if a != b {
            set_link(network, taken, link, true);
            if self.is_safe(taken) {
                let found = self.all(rest, taken);
                if found != Trial::None {
                    return found;
                }
            }
            set_link(network, taken, link, false);
        }
        // Without it, the others have to be enough.
        let mut left = taken.clone();
        for &link in rest {
            left.insert(link.index());
            left.insert(network.reverse(link).index());
        }
        if self.terminals.are_joined(network, &left) { self.all(rest, taken) } else { Trial::None }
    }
}
