//! Multidestination worms on any network: up*/down* routing with reachability strings.

use std::collections::VecDeque;
use std::sync::Arc;

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
/// On every connected network. Memory: a string of a bit a node for each channel down, and one for each router. O(routers x channels)
/// to make; a hop up takes O(routers x words of a string + channels), one down O(degree x words).
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
    /// Routers, each after those that its channels up lead to.
    order: Box<[RouterId]>,
}

impl ReachabilityRouting {
    /// Up*/down* from this root.
    ///
    /// # Errors
    /// If the network does not have the root or is not connected, or its strings would take more than 2 GiB.
    pub fn new(network: &Arc<Network>, root: Root) -> Result<Self, Unsupported> {
        let turns = up_down(network, root)?;
        let words = node_set::words(network.nodes());
        let routers = network.router_ids();
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
        let mut strings = vec![0u64; down as usize * words];
        let mut below = vec![0u64; network.routers() * words];
        let mut hops = vec![u32::MAX; network.routers()];
        let mut found = VecDeque::new();
        for target in routers.filter(|&router| network.nodes_of(router).len() > 0) {
            let nodes = node_set::of(network.nodes(), network.nodes_of(target));
            let add = |set: &mut [u64]| set.iter_mut().zip(&nodes).for_each(|(word, &own)| *word |= own);
            hops[target.index()] = 0;
            found.push_back(target);
            let mut next = 0;
            while let Some(&router) = found.get(next) {
                next += 1;
                add(&mut below[router.index() * words..][..words]);
                let nearer = |c: &ChannelId| !is_up(c) && hops[network.to(*c).index()] < hops[router.index()];
                if let Some(first) = network.outputs(router).find(nearer) {
                    add(&mut strings[start[first.index()] as usize * words..][..words]);
                }
                for above in network.outputs(router).filter(is_up).map(|channel| network.to(channel)) {
                    if hops[above.index()] == u32::MAX {
                        hops[above.index()] = hops[router.index()] + 1;
                        found.push_back(above);
                    }
                }
            }
            for router in found.drain(..) {
                hops[router.index()] = u32::MAX;
            }
        }
        let unicast = TurnRouting::new(UP_DOWN.name, network, turns, Adaptivity::Adaptive);
        Ok(Self {
            unicast,
            words,
            below: below.into(),
            start: start.into(),
            strings: strings.into(),
            order: order.into(),
        })
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
        // Hops up to a switch with all destinations below it.
        let Decision { hops, channels, .. } = decision;
        hops.clear();
        hops.resize(network.routers(), u32::MAX);
        let ups = |router| network.outputs(router).filter(|&channel| self.is_up(channel));
        for &router in &self.order {
            let above = |hops: &[u32]| ups(router).map(|c| hops[network.to(c).index()]).min().unwrap_or(u32::MAX - 1);
            let covers = node_set::is_subset(destinations, self.below(router));
            hops[router.index()] = if covers { 0 } else { above(hops).saturating_add(1) };
            if router == at {
                break;
            }
        }
        let best = hops[at.index()] - 1;
        channels.extend(ups(at).filter(|&channel| hops[network.to(channel).index()] == best));
    }
}
