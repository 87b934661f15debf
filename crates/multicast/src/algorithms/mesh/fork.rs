//! What trees on 2-D meshes have in common: a rule, the same in every router, that says by which output each destination leaves.

use std::sync::Arc;

use wormcast_network::{ChannelId, Direction, Grid, Network, NodeId, RouterId};
use wormcast_routing::{Branching, Dependencies, RoutingRelation};

use crate::algorithm::{AlgorithmError, Multicast};
use crate::capabilities::BranchingTrees;
use crate::plan::{Branch, Itinerary, Plan, Tree, Worm};
use crate::registry::descriptor::{Descriptor, Options, RequestPart};

/// An output of a router. x grows to the east, y to the north.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Output {
    East,
    West,
    North,
    South,
}

impl Output {
    /// In the order in which trees list their branches.
    const ALL: [Self; 4] = [Self::East, Self::West, Self::North, Self::South];

    /// The one that a channel of a mesh leaves by.
    fn of(network: &Network, channel: ChannelId) -> Self {
        let heading = network.heading(channel).expect("a channel of a mesh");
        Self::ALL.into_iter().find(|output| output.heading() == heading).expect("a channel of a 2-D mesh")
    }

    fn heading(self) -> (usize, Direction) {
        match self {
            Self::East => (0, Direction::Positive),
            Self::West => (0, Direction::Negative),
            Self::North => (1, Direction::Positive),
            Self::South => (1, Direction::Negative),
        }
    }
}

/// Where a destination is from a router: how far to the east, and how far to the north. Never (0, 0).
pub(crate) type Offset = (i64, i64);

/// Which of the eight parts of the mesh around a router have destinations.
#[derive(Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "one for each of the eight parts, which the rules name")]
pub(crate) struct Parts {
    pub(crate) east: bool,
    pub(crate) north_east: bool,
    pub(crate) north: bool,
    pub(crate) north_west: bool,
    pub(crate) west: bool,
    pub(crate) south_west: bool,
    pub(crate) south: bool,
    pub(crate) south_east: bool,
}

impl Parts {
    fn of(offsets: impl Iterator<Item = Offset>) -> Self {
        let mut parts = Self::default();
        for (x, y) in offsets {
            let part = match (x.signum(), y.signum()) {
                (1, 0) => &mut parts.east,
                (1, 1) => &mut parts.north_east,
                (0, 1) => &mut parts.north,
                (-1, 1) => &mut parts.north_west,
                (-1, 0) => &mut parts.west,
                (-1, -1) => &mut parts.south_west,
                (0, -1) => &mut parts.south,
                (1, -1) => &mut parts.south_east,
                _ => continue,
            };
            *part = true;
        }
        parts
    }

    /// The same seen from a router that is turned by half a turn.
    pub(crate) fn turned(self) -> Self {
        Self {
            east: self.west,
            north_east: self.south_west,
            north: self.south,
            north_west: self.south_east,
            west: self.east,
            south_west: self.north_east,
            south: self.north,
            south_east: self.north_west,
        }
    }
}

/// A rule: by which output a destination leaves a router where a worm has destinations in these parts. It has to lead nearer to the destination.
pub(crate) type Rule = fn(Parts, Offset) -> Output;

/// Trees by a rule. A worm that goes to one destination takes the same channels as a unicast.
pub(crate) struct ForkingTrees {
    unicasts: Box<dyn RoutingRelation>,
    grid: Grid,
    rule: Rule,
    /// Whether a worm may turn from one channel into another, which does not lead back.
    may_turn: fn(&Network, ChannelId, ChannelId) -> bool,
}

impl ForkingTrees {
    /// With the relation that routes unicasts, on a 2-D mesh.
    pub(crate) fn new(
        unicasts: Box<dyn RoutingRelation>,
        rule: Rule,
        may_turn: fn(&Network, ChannelId, ChannelId) -> bool,
    ) -> Self {
        let grid = unicasts.network().shape().mesh().expect("checked when the relation was made").clone();
        Self { unicasts, grid, rule, may_turn }
    }

    pub(crate) fn routing(&self) -> &dyn RoutingRelation {
        self.unicasts.as_ref()
    }

    pub(crate) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// One tree to all destinations.
    pub(crate) fn plan(&self, multicast: &Multicast) -> Plan {
        if multicast.destinations().is_empty() {
            return Plan::default();
        }
        Plan { worms: vec![self.worm(multicast.source(), multicast.destinations())] }
    }

    /// A tree worm to some nodes, the source not among them. O(destinations x hops to the farthest one).
    pub(crate) fn worm(&self, source: NodeId, destinations: &[NodeId]) -> Worm {
        let network = &**self.unicasts.network();
        let home = network.router_of(source);
        // Routers of which no one is looked at yet: where they are, the branch that leads there, and what it is for.
        let mut open: Vec<(RouterId, Option<u32>, Vec<NodeId>)> = vec![(home, None, destinations.to_vec())];
        let mut tree = Tree::default();
        while let Some((at, branch, wanted)) = open.pop() {
            let (here, beyond): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|&node| network.router_of(node) == at);
            let parent = match branch {
                None => {
                    tree.delivers = here;
                    None
                }
                Some(branch) => {
                    tree.branches[branch as usize].delivers = here;
                    Some(branch)
                }
            };
            let offset = |node: NodeId| offset(&self.grid, at, network.router_of(node));
            let parts = Parts::of(beyond.iter().map(|&node| offset(node)));
            let mut leaving: [Vec<NodeId>; 4] = Default::default();
            for node in beyond {
                leaving[(self.rule)(parts, offset(node)) as usize].push(node);
            }
            for (output, wanted) in Output::ALL.into_iter().zip(leaving).filter(|(_, wanted)| !wanted.is_empty()) {
                let channel = channel(network, at, output);
                let place = tree.branches.len() as u32;
                tree.branches.push(Branch { channel, parent, delivers: Vec::new() });
                open.push((network.to(channel), Some(place), wanted));
            }
        }
        Worm {
            from: source,
            after: None,
            itinerary: Itinerary::Tree(tree),
            consumption_class: None,
            virtual_channels: None,
        }
    }

    pub(crate) fn dependencies(&self) -> Dependencies<'_> {
        self.dependencies_with(self.branching())
    }

    /// Those of worms that take only some of the channels.
    pub(crate) fn dependencies_of<'n>(
        &self,
        network: &'n Network,
        takes: impl Fn(Output) -> bool,
        branching: Branching,
    ) -> Dependencies<'n> {
        let takes = |channel| takes(Output::of(network, channel));
        Dependencies::of_turning_trees(network, takes, |held, next| (self.may_turn)(network, held, next), branching)
    }

    /// Where a destination is from the source.
    pub(crate) fn offset(&self, source: NodeId, to: NodeId) -> Offset {
        let network = &**self.unicasts.network();
        offset(&self.grid, network.router_of(source), network.router_of(to))
    }
}

impl BranchingTrees for ForkingTrees {
    fn branching(&self) -> Branching {
        Branching::STORED
    }

    fn dependencies_with(&self, branching: Branching) -> Dependencies<'_> {
        let network = &**self.unicasts.network();
        self.dependencies_of(network, |_| true, branching)
    }
}

fn offset(grid: &Grid, from: RouterId, to: RouterId) -> Offset {
    let along = |d| i64::from(grid.coordinate(to.index(), d)) - i64::from(grid.coordinate(from.index(), d));
    (along(0), along(1))
}

fn channel(network: &Network, at: RouterId, output: Output) -> ChannelId {
    let (dimension, direction) = output.heading();
    network.channel_along(at, dimension, direction).expect("a rule leads nearer to a router of the mesh")
}

/// Refuses a routing for an algorithm that brings its own.
pub(crate) fn no_routing(algorithm: &Descriptor, options: &Options, own: &str) -> Result<(), AlgorithmError> {
    let Some(given) = options.routing else { return Ok(()) };
    let given = given.name;
    let problem = format!("is defined with `{own}` routing, its own, and cannot use `{given}`; leave the routing out");
    Err(AlgorithmError::NotTaken { algorithm: algorithm.name, part: RequestPart::Routing, problem })
}

/// The way of a single destination by a rule, as a routing relation.
pub(crate) struct RuleRouting {
    network: Arc<Network>,
    grid: Grid,
    name: &'static str,
    rule: Rule,
}

impl RuleRouting {
    /// On a 2-D mesh.
    pub(crate) fn new(name: &'static str, network: &Arc<Network>, rule: Rule) -> Self {
        let grid = network.shape().mesh().expect("the family of the algorithm was checked").clone();
        Self { network: Arc::clone(network), grid, name, rule }
    }
}

impl RoutingRelation for RuleRouting {
    fn name(&self) -> &'static str {
        self.name
    }

    fn network(&self) -> &Arc<Network> {
        &self.network
    }

    fn candidates(&self, at: RouterId, _arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        out.clear();
        if at != target {
            let offset = offset(&self.grid, at, target);
            let output = (self.rule)(Parts::of(std::iter::once(offset)), offset);
            out.push(channel(&self.network, at, output));
        }
    }
}
