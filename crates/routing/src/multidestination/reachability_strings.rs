//! Multidestination worms on any network: up*/down* routing with reachability strings.

use std::sync::Arc;

use wormcast_network::watch::step;
use wormcast_network::{ChannelId, Network, RouterId};

use crate::capabilities::RoutingCapabilities;
use crate::multidestination::{Decision, MultidestinationRouting, node_set};
use crate::relation::{RoutingRelation, Unsupported};
use crate::relations::up_down::{Root, UP_DOWN, up_down};
use crate::turns::turn_routing::{Adaptivity, TurnRouting};

/// The most memory that reachability strings may take, in bytes.
const MOST_BYTES: usize = 1 << 31;

/// Up*/down* routing, for multidestination worms too: adaptively up to a least common ancestor, then replicated down.
///
/// Source: paper 4, section 3.3, which leaves the rest to Sivaram, Panda and Stunkel, Multicasting in irregular networks with cut-through
/// switches using tree-based multidestination worms, 1997. Our choices: links outside the tree are used too, as up*/down* has
/// it; a node is in the string of the one port with which its shortest route down begins, the first of several, so the strings of a switch do not
/// overlap; a branch carries the destinations that are in its string; and on the way up a worm may take any channel on a shortest route to a
/// switch that has all destinations below it.
///
/// Unicasts go as [`up_down`] turns lead them, on shortest permitted paths ([`TurnRouting`]).
///
/// On every connected network. Memory: a string of a bit a node for each channel down, and one for each router. O(channels x words of a string x log of
/// the longest way down) to make; a hop up takes O(words) for each router that is no further up than the switch that it leads to, and O(routers) once, one down
/// O(degree x words).
///
/// ```
/// use wormcast_network::{NodeId, RouterId, TopologySpec};
/// use wormcast_routing::{Decision, ReachabilityRouting, Root, RoutingRelation, Step, node_set};
///
/// let ring = "ring:5".parse::<TopologySpec>()?.build()?;
/// let routing = ReachabilityRouting::new(&ring, Root::SmallestId)?;
/// let switches = routing.capabilities().multidestination.unwrap();
/// // From node 2 to nodes 1 and 3: the root 0 is the least common ancestor.
/// let destinations = node_set::of(5, [1, 3].map(NodeId::new));
/// let mut decision = Decision::default();
/// switches.decide(RouterId::new(2), None, &destinations, &mut decision);
/// let Some(Step::AnyOf(up)) = decision.step() else { panic!("up first") };
/// assert_eq!(ring.to(up[0]).raw(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ReachabilityRouting {
    unicast: TurnRouting,
    /// The words of a string.
    words: usize,
    /// The nodes below each router, itself included, router by router.
    below: Box<[u64]>,
    /// Where the string of each channel down starts in `strings`; `u32::MAX` for those up.
    start: Box<[u32]>,
    strings: Box<[u64]>,
}

impl ReachabilityRouting {
    /// Up*/down* from this root.
    ///
    /// # Errors
    /// If the network does not have the root or is not connected, or its strings would take more than 2 GiB.
    pub fn new(network: &Arc<Network>, root: Root) -> Result<Self, Unsupported> {
        let turns = up_down(network, root)?;
        let words = node_set::words(network.nodes());
        let mut start = vec![u32::MAX; network.channels()];
        let mut down = 0u32;
        for channel in network.channel_ids() {
            if turns.label(channel).is_free() {
                start[channel.index()] = down;
                down += 1;
            }
        }
        if (down as usize + network.routers()).saturating_mul(words).saturating_mul(8) > MOST_BYTES {
            return Err(Unsupported::new(UP_DOWN.name, "at most 2 GiB of reachability strings", network)
                .with_hint(&format!("it has {} nodes and {down} channels down", network.nodes())));
        }
        let is_up = |channel: &ChannelId| start[channel.index()] == u32::MAX;
        let order = order(network, is_up);
        let tops = order.iter().filter(|&&router| !network.outputs(router).any(|c| is_up(&c))).count();
        if tops != 1 {
            let needs = "a connected network for worms to several nodes";
            return Err(Unsupported { needs: needs.to_owned(), ..Unsupported::disconnected(UP_DOWN.name, network) });
        }
        let Strings { below, strings } = Strings::new(network, words, &start, down, &order);
        let unicast = TurnRouting::new(UP_DOWN.name, network, turns, Adaptivity::Adaptive);
        Ok(Self { unicast, words, below, start: start.into(), strings })
    }

    /// The nodes that `router` leads to on the way down, its own included: a set of [`node_set::words`] words.
    pub fn below(&self, router: RouterId) -> &[u64] {
        &self.below[router.index() * self.words..][..self.words]
    }

    /// The reachability string of the port that a channel leaves by: the nodes that worms go down this way to; `None` for channels up.
    pub fn string(&self, channel: ChannelId) -> Option<&[u64]> {
        let start = self.start[channel.index()];
        (start != u32::MAX).then(|| &self.strings[start as usize * self.words..][..self.words])
    }
}

/// The strings of routers and of channels down.
struct Strings {
    below: Box<[u64]>,
    strings: Box<[u64]>,
}

impl Strings {
    /// Goes through the routers from the bottom up, once for each word: hops down to its 64 nodes are counted together.
    ///
    /// Plane `p` of a router has bit `p` of the hops to each of the 64 nodes, so that a minimum and a sum of 64 numbers take a few operations a plane.
    fn new(network: &Network, words: usize, start: &[u32], down: u32, order: &[RouterId]) -> Self {
        let mut strings = vec![0u64; down as usize * words];
        let mut below = vec![0u64; network.routers() * words];
        let downs = |router| network.outputs(router).filter(|channel| start[channel.index()] != u32::MAX);
        // No way down is longer than the longest.
        let mut deepest = vec![0u32; network.routers()];
        for &router in order {
            let own = deepest[router.index()];
            for to in downs(router).map(|channel| network.to(channel)) {
                deepest[to.index()] = deepest[to.index()].max(own + 1);
            }
        }
        let longest = deepest.into_iter().max().unwrap_or(0);
        let width = (u32::BITS - longest.leading_zeros()) as usize;
        let mut planes = vec![0u64; network.routers() * width];
        let (mut nearest, mut taken) = (vec![0u64; width], Vec::new());
        for word in 0..words {
            step("finding what is below switches", "words", word, words);
            for &router in order.iter().rev() {
                // The nodes to which a way down was found, and the channels by which it begins. Their hops are those in `nearest`.
                let mut found = 0;
                taken.clear();
                for channel in downs(router) {
                    let to = network.to(channel).index();
                    let reached = below[to * words + word];
                    if reached == 0 {
                        continue;
                    }
                    let hops = &planes[to * width..][..width];
                    let take = reached & (!found | less(hops, &nearest));
                    if take != 0 {
                        for (nearest, &hops) in nearest.iter_mut().zip(hops) {
                            *nearest ^= (*nearest ^ hops) & take;
                        }
                        found |= reached;
                        taken.push((start[channel.index()] as usize, take));
                    }
                }
                // The first of several that are as near has the node; one that is nearer takes it over.
                let mut given = 0;
                for &(string, take) in taken.iter().rev() {
                    strings[string * words + word] = take & !given;
                    given |= take;
                }
                let mut own = network.nodes_of(router);
                let count = own.len() as u32;
                let own = own.next().map_or(0, |first| node_set::mask(word, first.raw(), first.raw() + count));
                if found | own == 0 {
                    continue;
                }
                below[router.index() * words + word] = found | own;
                let mut carry = found;
                for (plane, &nearest) in planes[router.index() * width..][..width].iter_mut().zip(&nearest) {
                    *plane = (nearest ^ carry) & found;
                    carry &= nearest;
                }
            }
        }
        Self { below: below.into(), strings: strings.into() }
    }
}

/// Which of 64 numbers are less than their counterparts, by planes.
fn less(numbers: &[u64], others: &[u64]) -> u64 {
    // From the lowest bits up, higher ones decide.
    numbers.iter().zip(others).fold(0, |less, (&number, &other)| (!number & other) | (less & !(number ^ other)))
}

/// Routers, each after those that its channels up lead to: channels up have no cycle.
fn order(network: &Network, is_up: impl Fn(&ChannelId) -> bool) -> Vec<RouterId> {
    let mut waits: Vec<usize> = Vec::with_capacity(network.routers());
    let mut order = Vec::with_capacity(network.routers());
    for router in network.router_ids() {
        waits.push(network.outputs(router).filter(&is_up).count());
        if waits[router.index()] == 0 {
            order.push(router);
        }
    }
    let mut next = 0;
    while let Some(&router) = order.get(next) {
        next += 1;
        for below in network.outputs(router).filter(|channel| !is_up(channel)).map(|channel| network.to(channel)) {
            waits[below.index()] -= 1;
            if waits[below.index()] == 0 {
                order.push(below);
            }
        }
    }
    order
}

impl RoutingRelation for ReachabilityRouting {
    fn name(&self) -> &'static str {
        self.unicast.name()
    }

    fn network(&self) -> &Arc<Network> {
        self.unicast.network()
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        self.unicast.candidates(at, arrived, target, out);
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { multidestination: Some(self), ..self.unicast.capabilities() }
    }
}

impl MultidestinationRouting for ReachabilityRouting {
    fn is_up(&self, channel: ChannelId) -> bool {
        self.start[channel.index()] == u32::MAX
    }

    fn decide(&self, at: RouterId, _arrived: Option<ChannelId>, destinations: &[u64], decision: &mut Decision) {
        let network = self.network();
        if node_set::is_subset(destinations, self.below(at)) {
            decision.reset(self.words, true);
            decision.deliveries.extend(network.nodes_of(at).filter(|&node| node_set::contains(destinations, node)));
            for channel in network.outputs(at) {
                if let Some(string) = self.string(channel) {
                    decision.branch(channel, destinations, |place| string[place]);
                }
            }
            return;
        }
        decision.reset(self.words, false);
        // Level by level up to the first switches that have all destinations below them, ...
        let Decision { hops, found, channels, .. } = decision;
        hops.clear();
        hops.resize(network.routers(), u32::MAX);
        found.clear();
        hops[at.index()] = 0;
        found.push(at);
        let ups = |router| network.outputs(router).filter(|&channel| self.is_up(channel));
        let covers = |router| node_set::is_subset(destinations, self.below(router));
        let (mut next, mut top) = (0, u32::MAX);
        while let Some(&router) = found.get(next).filter(|router| hops[router.index()] < top) {
            next += 1;
            let further = hops[router.index()] + 1;
            for above in ups(router).map(|channel| network.to(channel)) {
                if hops[above.index()] == u32::MAX {
                    hops[above.index()] = further;
                    found.push(above);
                    if top == u32::MAX && covers(above) {
                        top = further;
                    }
                }
            }
        }
        // ... and back: what does not lead to them is forgotten.
        for &router in found.iter().rev() {
            let own = hops[router.index()];
            let leads = if own == top {
                covers(router)
            } else {
                ups(router).any(|channel| hops[network.to(channel).index()] == own + 1)
            };
            if !leads {
                hops[router.index()] = u32::MAX;
            }
        }
        channels.extend(ups(at).filter(|&channel| hops[network.to(channel).index()] == 1));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use proptest::prelude::*;
    use wormcast_network::{NodeId, TopologySpec};

    /// A search up from every node by itself: what is below each router, and the string of each channel.
    fn searched(routing: &ReachabilityRouting, firsts: bool) -> (Vec<Vec<u64>>, Vec<Option<Vec<u64>>>) {
        let network = &**routing.network();
        let none = vec![0; node_set::words(network.nodes())];
        let mut below = vec![none.clone(); network.routers()];
        let mut strings: Vec<_> =
            network.channel_ids().map(|channel| (!routing.is_up(channel)).then(|| none.clone())).collect();
        for node in network.node_ids() {
            let mut hops = vec![u32::MAX; network.routers()];
            hops[network.router_of(node).index()] = 0;
            let mut queue = VecDeque::from([network.router_of(node)]);
            while let Some(router) = queue.pop_front() {
                node_set::insert(&mut below[router.index()], node);
                let mut nearer = network
                    .outputs(router)
                    .filter(|&c| !routing.is_up(c) && hops[network.to(c).index()] < hops[router.index()]);
                if let Some(channel) = if firsts { nearer.next() } else { nearer.last() } {
                    node_set::insert(strings[channel.index()].as_mut().unwrap(), node);
                }
                for above in network.outputs(router).filter(|&c| routing.is_up(c)).map(|c| network.to(c)) {
                    if hops[above.index()] == u32::MAX {
                        hops[above.index()] = hops[router.index()] + 1;
                        queue.push_back(above);
                    }
                }
            }
        }
        (below, strings)
    }

    /// Hops up from each router to the nearest one that covers the destinations, by looking at all of them.
    fn hops_up(routing: &ReachabilityRouting, destinations: &[u64]) -> Vec<u32> {
        let network = routing.network();
        let mut hops = vec![u32::MAX; network.routers()];
        for router in order(network, |&channel| routing.is_up(channel)) {
            let ups = network.outputs(router).filter(|&c| routing.is_up(c));
            let above = ups.map(|c| hops[network.to(c).index()]).min().unwrap_or(u32::MAX - 1);
            let covers = node_set::is_subset(destinations, routing.below(router));
            hops[router.index()] = if covers { 0 } else { above.saturating_add(1) };
        }
        hops
    }

    fn all_strings(routing: &ReachabilityRouting) -> (Vec<Vec<u64>>, Vec<Option<Vec<u64>>>) {
        let network = routing.network();
        let below = network.router_ids().map(|router| routing.below(router).to_vec()).collect();
        (below, network.channel_ids().map(|channel| routing.string(channel).map(<[u64]>::to_vec)).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// Hops counted for 64 nodes at once are those of a search from each; so is the way up.
        #[test]
        fn strings_are_those_of_searches(
            spec in prop::sample::select(vec![
                "mesh:9x8", "mesh:3x3x3", "torus:5x5", "hypercube:5", "ring:9", "petersen", "mesh:70", "mesh:1x1", "complete:6",
                "hyperx:3x3,nodes=9", "dragonfly:p=3,a=4,h=2", "random:nodes=90,degree=5,seed=4", "tree:nodes=80,seed=1",
                "small-world:nodes=100,degree=4,rewire=0.1,seed=3", "bmin:3x3", "torus:2x3",
            ]),
            root: prop::sample::Index,
            picks in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        ) {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let root = RouterId::new(root.index(network.routers()) as u32);
            let routing = ReachabilityRouting::new(&network, Root::Router(root)).unwrap();
            prop_assert_eq!(all_strings(&routing), searched(&routing, true));
            let nodes = picks.iter().map(|pick| NodeId::new(pick.index(network.nodes()) as u32));
            let set = node_set::of(network.nodes(), nodes);
            let hops = hops_up(&routing, &set);
            let mut decision = Decision::default();
            for at in network.router_ids().filter(|at| hops[at.index()] > 0) {
                routing.decide(at, None, &set, &mut decision);
                let nearer = |c: &ChannelId| routing.is_up(*c) && hops[network.to(*c).index()] == hops[at.index()] - 1;
                prop_assert_eq!(&decision.channels, &network.outputs(at).filter(nearer).collect::<Vec<_>>());
                prop_assert!(!decision.down);
            }
        }
    }

    /// The comparison above rejects strings that give nodes to the last of several ports.
    #[test]
    fn other_ports_have_other_strings() {
        let mesh = "mesh:3x3".parse::<TopologySpec>().unwrap().build().unwrap();
        let routing = ReachabilityRouting::new(&mesh, Root::SmallestId).unwrap();
        assert_ne!(all_strings(&routing).1, searched(&routing, false).1);
    }
}
