//! Reductions: the tree of a multicast, taken from its leaves to its root.

use thiserror::Error;
use wormcast_network::{ChannelId, Network, NodeId, RouterId};

use crate::plan::ids::IdMap;
use crate::plan::summary::{PlanSummary, WormSummary};

/// A reduction: every contributor sends a message of the same length towards the root, and where branches of the tree come together, routers
/// combine them flit by flit into one.
///
/// It is a multicast tree in reverse: what the multicast's destinations contribute comes together where its worm forks. Combining along the row first and then
/// along the root's column (XY reduction in `FlooNoC`) is the reverse of the tree that goes along the column first, so `yx-mask` and `yx-tree` give XY
/// reductions, and `xy-mask` and `xy-tree` YX reductions.
///
/// A flit leaves a router when it is there from all of the router's [inputs](Join::inputs), and is decided on as a header is once the last of the first
/// flits has come. In an empty network a reduction therefore takes as long as a unicast from the contributor that is farthest from the root
/// ([`cycles_alone`](Self::cycles_alone)).
///
/// Several at once can deadlock, whatever their trees: on a row, let one reduction combine nodes 0 and 2 in node 3, and another nodes 1 and 2. If the second one
/// takes the link from 1 to 2 first and node 2 sends its part of the first one first, each waits for the other. One at a time, or reductions that share no
/// channel and no contributor, are safe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reduction {
    /// The node that gets the result.
    pub root: NodeId,
    /// The nodes that contribute, in increasing order.
    pub contributors: Vec<NodeId>,
    /// The channels that the reduction takes, those farthest from the root first: what comes by a channel is complete before the next channel on the way is taken.
    pub channels: Vec<ChannelId>,
    /// The routers where several inputs are combined, in the order of the channels by which the result leaves them.
    pub joins: Vec<Join>,
    /// The most hops from a contributor to the root.
    pub depth: u32,
}

/// A router that combines what several inputs bring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Join {
    /// The router.
    pub router: RouterId,
    /// The channels that end there.
    pub inputs: Vec<ChannelId>,
    /// Contributors at this router.
    pub nodes: Vec<NodeId>,
    /// The channel by which the result leaves; `None`: it goes to the root, which is a node of this router.
    pub output: Option<ChannelId>,
}

/// Why a plan is no reduction in reverse.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum NoReduction {
    /// Several worms, or none.
    #[error("a reduction is one tree in reverse, and this plan has {0} worms")]
    Worms(usize),
    /// The links lead in one direction.
    #[error("the links of `{0}` lead in one direction, so no tree can be taken in reverse")]
    OneWay(String),
}

impl Reduction {
    /// The reduction to the source of a plan of one worm from its destinations. O(channels log channels).
    ///
    /// # Errors
    /// If the plan has not one worm, or if links lead in one direction.
    pub fn of(network: &Network, plan: &PlanSummary) -> Result<Self, NoReduction> {
        let [worm] = &plan.worms[..] else { return Err(NoReduction::Worms(plan.worms.len())) };
        if network.is_unidirectional() {
            return Err(NoReduction::OneWay(network.name().to_owned()));
        }
        let mut contributors = worm.visits.clone();
        contributors.sort_unstable();
        let parents = parents(worm);
        // By the place of the channel at whose end the worm goes on; the last is its sender's router.
        let mut children = vec![Vec::new(); worm.channels.len() + 1];
        for (place, parent) in parents.iter().enumerate() {
            children[parent.map_or(worm.channels.len(), |parent| parent as usize)].push(place);
        }
        let router = |place: usize| worm.channels.get(place).map(|&channel| network.to(channel));
        // Where a path passes a router twice, a node may contribute to either; to the last pass, so that the end of the path has a contributor.
        let mut places: IdMap<RouterId, usize> = IdMap::default();
        for place in (0..worm.channels.len()).filter(|&place| delivers(worm, place)) {
            places.insert(network.to(worm.channels[place]), place);
        }
        let mut nodes: Vec<Vec<NodeId>> = vec![Vec::new(); children.len()];
        for &node in &contributors {
            let place = places.get(&network.router_of(node));
            nodes[place.copied().unwrap_or(worm.channels.len())].push(node);
        }
        let joins = (0..children.len()).rev().skip(1).chain([worm.channels.len()]).filter_map(|place| {
            let inputs: Vec<ChannelId> =
                children[place].iter().map(|&child| network.reverse(worm.channels[child])).collect();
            (inputs.len() + nodes[place].len() > 1).then(|| Join {
                router: router(place).unwrap_or(network.router_of(worm.from)),
                inputs,
                nodes: nodes[place].clone(),
                output: worm.channels.get(place).map(|&channel| network.reverse(channel)),
            })
        });
        let joins = joins.collect();
        let channels = worm.channels.iter().rev().map(|&channel| network.reverse(channel)).collect();
        Ok(Self { root: worm.from, contributors, channels, joins, depth: worm.longest })
    }

    /// The cycles from the moment when all contributors send to the root's last flit in an otherwise empty network, with this startup, routing
    /// delay, and length with headers: those of a unicast from the farthest contributor (docs/model.md, An empty network).
    ///
    /// With `startup` = alpha - 1 and `routing_delay` = 0 this is `FlooNoC`'s model alpha + (n + c - 1) beta of n beats over c columns, for r rows + r - 1.
    pub fn cycles_alone(&self, startup: u64, routing_delay: u64, flits: u64) -> u64 {
        startup + (u64::from(self.depth) + 1) * (routing_delay + 1) + flits
    }
}

/// For each channel of a worm, the place of the one before it.
fn parents(worm: &WormSummary) -> Vec<Option<u32>> {
    if worm.branches.is_empty() {
        return (0..worm.channels.len() as u32).map(|place| place.checked_sub(1)).collect();
    }
    worm.branches.iter().map(|branch| branch.parent).collect()
}

/// Whether a worm may deliver where its channel at this place ends: a path does at each of its stops.
fn delivers(worm: &WormSummary, place: usize) -> bool {
    worm.branches.get(place).is_none_or(|branch| branch.delivers)
}
