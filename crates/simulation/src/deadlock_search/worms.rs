//! The worms of a search: where each may stand and wait, and what it holds there.

use std::collections::HashMap;

use wormcast_multicast::{Itinerary, Plan, Tree, Worm};
use wormcast_network::{ChannelId, Network, NodeId, RouterId};
use wormcast_routing::{Lanes, RoutingRelation, VcRange, VirtualChannels};

use super::NotCovered;
use crate::engine::EngineConfig;

/// A virtual channel of a link, the injection channels of a node, or its consumption channels (all of them, or the one of a class).
pub(super) type ResourceId = u32;

/// Sets of a worm's vertices are bits of one number.
pub(super) type Vertices = u128;

/// The most vertices of a worm.
pub(super) const MOST_VERTICES: usize = Vertices::BITS as usize;

/// No vertex: the parent of the first.
pub(super) const NO_VERTEX: u32 = u32::MAX;

/// The numbering of what worms hold and wait for, and how many worms can hold each at once.
pub(super) struct Resources {
    /// Virtual channels of all links.
    links: u32,
    virtual_channels: u32,
    nodes: u32,
    injection: u32,
    consumption: u32,
}

impl Resources {
    /// A pool and 32 classes.
    const KINDS: u32 = 33;

    pub(super) fn new(network: &Network, config: &EngineConfig) -> Self {
        let ports = config.ports;
        Self {
            links: network.channels() as u32 * config.virtual_channels,
            virtual_channels: config.virtual_channels,
            nodes: network.nodes() as u32,
            injection: ports.injection,
            consumption: ports.consumption,
        }
    }

    pub(super) fn count(&self) -> usize {
        (self.links + self.nodes * (1 + Self::KINDS)) as usize
    }

    pub(super) fn capacity(&self, resource: ResourceId) -> u32 {
        if resource < self.links {
            1
        } else if resource < self.links + self.nodes {
            self.injection
        } else if (resource - self.links - self.nodes).is_multiple_of(Self::KINDS) {
            self.consumption
        } else {
            1
        }
    }

    pub(super) fn is_link(&self, resource: ResourceId) -> bool {
        resource < self.links
    }

    /// Those virtual channels of a link that are in a range.
    fn of_link(&self, channel: ChannelId, range: VcRange) -> impl Iterator<Item = ResourceId> + use<> {
        let first = channel.raw() * self.virtual_channels;
        range.of(self.virtual_channels).map(move |virtual_channel| first + virtual_channel)
    }

    /// The channel that a virtual channel belongs to.
    fn channel(&self, link: ResourceId) -> ChannelId {
        ChannelId::new(link / self.virtual_channels)
    }

    fn injection_of(&self, node: NodeId) -> ResourceId {
        self.links + node.raw()
    }

    fn consumption_of(&self, node: NodeId, class: Option<u8>) -> ResourceId {
        self.links + self.nodes + node.raw() * Self::KINDS + class.map_or(0, |class| u32::from(class) + 1)
    }
}

/// A router on a worm's route.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Vertex {
    /// The vertex that the worm comes from, earlier in the list.
    pub(super) parent: u32,
    /// What the worm came by: a link, or the injection channels.
    pub(super) entered_by: ResourceId,
    /// The consumption channels that its header asks for here.
    pub(super) pools: Vec<ResourceId>,
    /// Links from the source.
    pub(super) depth: u32,
}

/// A place where a worm can stand and wait: its way up to there, and what its header asks for.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// The message, by its position, and the worm of its plan.
    pub(super) message: usize,
    pub(super) worm: usize,
    /// Of a tree, which has several such places at once: a number that they share.
    pub(super) tree: Option<usize>,
    /// The worm's route: up to the router where it waits, or all branches of a tree.
    pub(super) vertices: Vec<Vertex>,
    /// The vertex at which it waits.
    pub(super) at: u32,
    /// What it waits for, all at once: of each part, any one.
    pub(super) parts: Vec<Vec<ResourceId>>,
    /// For each vertex: to how many channels, counted back from where it waits, the worm has to stretch to hold what it was
    /// granted to get there; 0 for what lies behind where it waits.
    pub(super) reach: Vec<u32>,
    /// Whether its header had a choice on its way.
    pub(super) chose: bool,
}

impl Waiting {
    fn new(way: &Way<'_>, tree: Option<usize>, at: u32, parts: Vec<Vec<ResourceId>>) -> Self {
        let vertices = way.vertices.clone();
        let mut distance = vec![NO_VERTEX; vertices.len()];
        let (mut vertex, mut steps) = (at, 0);
        while vertex != NO_VERTEX {
            distance[vertex as usize] = steps;
            (vertex, steps) = (vertices[vertex as usize].parent, steps + 1);
        }
        let mut reach = vec![0; vertices.len()];
        let mut behind = vec![false; vertices.len()];
        for place in 0..vertices.len() {
            let parent = vertices[place].parent;
            behind[place] = parent != NO_VERTEX && (parent == at || behind[parent as usize]);
            if distance[place] == NO_VERTEX && parent != NO_VERTEX {
                distance[place] = distance[parent as usize];
            }
            if !behind[place] {
                reach[place] = distance[place] + 1;
            }
        }
        Self { message: way.message, worm: way.worm, tree, vertices, at, parts, reach, chose: way.choices > 0 }
    }

    /// The vertices that lead to one, itself left out.
    pub(super) fn above(&self, vertex: u32) -> Vertices {
        let mut set = 0;
        let mut at = self.vertices[vertex as usize].parent;
        while at != NO_VERTEX {
            set |= 1 << at;
            at = self.vertices[at as usize].parent;
        }
        set
    }

    /// The vertices where it may hold consumption channels while it waits, with these.
    pub(super) fn deliveries(&self) -> impl Iterator<Item = (u32, &[ResourceId])> + '_ {
        let all = (0u32..).zip(&self.vertices).filter(|&(place, _)| place != self.at && self.reach[place as usize] > 0);
        all.map(|(place, vertex)| (place, &vertex.pools[..])).filter(|(_, pools)| !pools.is_empty())
    }

    /// Whether a request of it has several parts, so that it can wait at the head of a queue for something else.
    pub(super) fn has_parts(&self) -> bool {
        self.parts.len() > 1
    }

    /// Everything that it may hold here: the resource, the vertices whose requests have to be granted for that, and the stretch.
    pub(super) fn holdings(&self) -> impl Iterator<Item = (ResourceId, Vertices, u32)> + '_ {
        self.vertices.iter().enumerate().filter(|&(place, _)| self.reach[place] > 0).flat_map(move |(place, vertex)| {
            let (place, reach) = (place as u32, self.reach[place]);
            let above = self.above(place);
            let link = (vertex.entered_by, above, reach);
            let granted = above | 1 << place;
            let pools = vertex.pools.iter().filter(move |_| place != self.at);
            std::iter::once(link).chain(pools.map(move |&pool| (pool, granted, reach)))
        })
    }
}

/// What makes two places the same: the tree, where in it, how many flits, and what is asked for.
type PlaceKey = (Option<usize>, Vec<Vertex>, u32, Vec<Vec<ResourceId>>);

/// All places where the worms of some messages can wait.
pub(super) struct Places<'a> {
    network: &'a Network,
    resources: &'a Resources,
    seen: HashMap<PlaceKey, usize>,
    /// Trees by their vertices, numbered.
    trees: HashMap<Vec<Vertex>, usize>,
    pub(super) all: Vec<Waiting>,
    /// Steps that are left: one for each place that is looked at, and for each router on the way to a new one, which takes memory.
    pub(super) budget: u64,
    /// Whether there are more than the budget was enough for.
    pub(super) too_many: bool,
}

impl<'a> Places<'a> {
    pub(super) fn new(network: &'a Network, resources: &'a Resources, budget: u64) -> Self {
        let (seen, trees, all) = (HashMap::new(), HashMap::new(), Vec::new());
        Self { network, resources, seen, trees, all, budget, too_many: false }
    }

    /// Adds those of a message. Of worms that are the same up to where they wait, those of the message with the fewest stay.
    pub(super) fn add(
        &mut self,
        message: usize,
        plan: &Plan,
        routing: &dyn RoutingRelation,
        size: impl Fn(usize) -> usize,
    ) -> Result<(), NotCovered> {
        for (number, worm) in plan.worms.iter().enumerate() {
            let mut way = Way {
                message,
                worm: number,
                class: worm.consumption_class,
                own: worm.virtual_channels.unwrap_or(VcRange::ANY),
                routing,
                division: routing.capabilities().virtual_channels,
                choices: 0,
                vertices: vec![Vertex {
                    parent: NO_VERTEX,
                    entered_by: self.resources.injection_of(worm.from),
                    pools: Vec::new(),
                    depth: 0,
                }],
            };
            self.add_worm(&mut way, worm, &size)?;
        }
        Ok(())
    }

    fn add_worm(&mut self, way: &mut Way<'_>, worm: &Worm, size: &impl Fn(usize) -> usize) -> Result<(), NotCovered> {
        let start = self.network.entry_of(worm.from);
        match &worm.itinerary {
            Itinerary::Path(path) => self.follow(way, (start, None), &path.stops, path.exit, None, size),
            Itinerary::Tree(tree) => match tree.trunk {
                Some(trunk) => self.follow(way, (start, None), &[], trunk.exit, Some((trunk.to, tree)), size),
                None => self.branch(way, tree, size),
            },
            Itinerary::Encoded(_) => Err(NotCovered::Encoded),
        }
    }

    /// Continues from a router on every route that the relation permits, to the stops, or to where a tree begins.
    fn follow(
        &mut self,
        way: &mut Way<'_>,
        (at, arrived): (RouterId, Option<ChannelId>),
        stops: &[NodeId],
        exit: Option<ChannelId>,
        trunk: Option<(RouterId, &Tree)>,
        size: &impl Fn(usize) -> usize,
    ) -> Result<(), NotCovered> {
        if self.too_many {
            return Ok(());
        }
        let exit = exit.filter(|_| arrived.is_none());
        let here = stops.iter().take_while(|&&stop| exit.is_none() && self.network.router_of(stop) == at).count();
        if let Some((_, tree)) = trunk.filter(|&(to, _)| to == at && exit.is_none()) {
            return self.branch(way, tree, size);
        }
        let (now, later) = stops.split_at(here);
        let pools: Vec<ResourceId> = now.iter().map(|&stop| self.resources.consumption_of(stop, way.class)).collect();
        let target = trunk.map(|(to, _)| to).or_else(|| later.first().map(|&stop| self.network.router_of(stop)));
        let mut links = Vec::new();
        if let Some(target) = target {
            links = way.links(self.resources, (at, arrived, target), exit);
            if links.is_empty() {
                // The header would be stranded, which is another failure than a deadlock.
                return Err(NotCovered::NoRoute);
            }
        }
        let mut parts: Vec<Vec<ResourceId>> = pools.iter().map(|&pool| vec![pool]).collect();
        if !links.is_empty() {
            parts.push(links.clone());
        }
        let place = way.vertices.len() as u32 - 1;
        way.vertices[place as usize].pools = pools;
        self.wait(way, None, place, parts, size);
        let choices = u32::from(links.len() > 1);
        way.choices += choices;
        for link in links {
            if way.vertices.len() == MOST_VERTICES {
                return Err(NotCovered::TooLong);
            }
            let depth = way.vertices[place as usize].depth + 1;
            way.vertices.push(Vertex { parent: place, entered_by: link, pools: Vec::new(), depth });
            let channel = self.resources.channel(link);
            self.follow(way, (self.network.to(channel), Some(channel)), later, None, trunk, size)?;
            way.vertices.pop();
        }
        way.choices -= choices;
        Ok(())
    }

    /// Adds the branches of a tree that begins where the way has come to.
    fn branch(&mut self, way: &mut Way<'_>, tree: &Tree, size: &impl Fn(usize) -> usize) -> Result<(), NotCovered> {
        let top = way.vertices.len() as u32 - 1;
        if way.vertices.len() + tree.branches.len() > MOST_VERTICES {
            return Err(NotCovered::TooLong);
        }
        let (resources, class) = (self.resources, way.class);
        let pools = |delivers: &[NodeId]| -> Vec<ResourceId> {
            delivers.iter().map(|&node| resources.consumption_of(node, class)).collect()
        };
        // Each branch on any virtual channel that its worm may take: one tree for each choice of these.
        let any: Vec<Vec<ResourceId>> =
            tree.branches.iter().map(|branch| self.resources.of_link(branch.channel, way.own).collect()).collect();
        if any.iter().any(Vec::is_empty) {
            return Err(NotCovered::NoRoute);
        }
        let mut chosen = vec![0; any.len()];
        loop {
            let mut vertices = way.vertices.clone();
            vertices[top as usize].pools = pools(&tree.delivers);
            for ((branch, any), &chosen) in tree.branches.iter().zip(&any).zip(&chosen) {
                let parent = branch.parent.map_or(top, |parent| top + 1 + parent);
                let depth = vertices[parent as usize].depth + 1;
                vertices.push(Vertex { parent, entered_by: any[chosen], pools: pools(&branch.delivers), depth });
            }
            self.wait_in_tree(&Way { vertices, ..*way }, top, &any, size);
            let Some(place) = (0..any.len()).find(|&place| chosen[place] + 1 < any[place].len()) else { break };
            chosen[..place].fill(0);
            chosen[place] += 1;
            if self.too_many {
                break;
            }
        }
        Ok(())
    }

    /// Adds where a tree can wait whose branches, each on one of `any`, begin at a vertex.
    fn wait_in_tree(&mut self, whole: &Way<'_>, top: u32, any: &[Vec<ResourceId>], size: &impl Fn(usize) -> usize) {
        let next = self.trees.len();
        let tree = *self.trees.entry(whole.vertices.clone()).or_insert(next);
        for place in top..whole.vertices.len() as u32 {
            let vertex = &whole.vertices[place as usize];
            let branches = whole.vertices[top as usize + 1..].iter().zip(any);
            let links = branches.filter(|(child, _)| child.parent == place).map(|(_, any)| any.clone());
            let parts = vertex.pools.iter().map(|&pool| vec![pool]).chain(links).collect();
            self.wait(whole, Some(tree), place, parts, size);
        }
    }

    fn wait(
        &mut self,
        way: &Way<'_>,
        tree: Option<usize>,
        at: u32,
        parts: Vec<Vec<ResourceId>>,
        size: &impl Fn(usize) -> usize,
    ) {
        let Some(left) = self.budget.checked_sub(1) else {
            self.too_many = true;
            return;
        };
        self.budget = left;
        let key = (tree, way.vertices.clone(), at, parts.clone());
        let next = self.all.len();
        let place = *self.seen.entry(key).or_insert(next);
        if place == next {
            self.budget = self.budget.saturating_sub(way.vertices.len() as u64);
            self.all.push(Waiting::new(way, tree, at, parts));
            return;
        }
        // What holds of one of them holds of all.
        self.all[place].chose &= way.choices > 0;
        if size(self.all[place].message) > size(way.message) {
            (self.all[place].message, self.all[place].worm) = (way.message, way.worm);
        }
    }
}

/// A worm on its way.
struct Way<'a> {
    message: usize,
    worm: usize,
    class: Option<u8>,
    /// The virtual channels that its plan keeps it to.
    own: VcRange,
    routing: &'a dyn RoutingRelation,
    division: Option<&'a dyn VirtualChannels>,
    /// How often its header had a choice.
    choices: u32,
    vertices: Vec<Vertex>,
}

impl Way<'_> {
    /// What its header may take, as rule 18 has it; of the channel that its plan names alone, if it names one.
    fn links(
        &self,
        resources: &Resources,
        (at, arrived, target): (RouterId, Option<ChannelId>, RouterId),
        exit: Option<ChannelId>,
    ) -> Vec<ResourceId> {
        let count = resources.virtual_channels.min(u32::from(u8::MAX)) as u8;
        let mut lanes = Lanes::new();
        match (self.division, exit) {
            (Some(division), _) if division.needed() <= count => {
                division.lanes(at, arrived, target, count, &mut lanes);
                lanes.retain(|lane| exit.is_none_or(|exit| lane.0 == exit));
            }
            (Some(_), _) => {}
            (None, Some(exit)) => lanes.push((exit, VcRange::ANY)),
            (None, None) => {
                let mut candidates = Vec::new();
                self.routing.candidates(at, arrived, target, &mut candidates);
                lanes.extend(candidates.into_iter().map(|channel| (channel, VcRange::ANY)));
            }
        }
        let mut links = Vec::new();
        for (channel, range) in lanes {
            let more = resources.of_link(channel, range.and(self.own));
            links.extend(more.filter(|link| !links.contains(link)).collect::<Vec<_>>());
        }
        links
    }
}
