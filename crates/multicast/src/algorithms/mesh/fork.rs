//! What trees on 2-D meshes have in common: a rule, the same in every router, that says by which output each destination leaves.

use std::sync::Arc;

use wormcast_network::{ChannelId, Direction, Grid, Network, NodeId, RouterId};
use wormcast_routing::{Branching, Dependencies, RoutingError, RoutingRelation, VcRange};

use crate::algorithm::{AlgorithmError, Multicast};
use crate::capabilities::BranchingTrees;
use crate::headers::tree_header::end_of_run;
use crate::plan::ids::sorted_by_number;
use crate::plan::{Branches, Plan, Tree, Worm};
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

    /// The bit of the place straight on from it.
    const fn straight_on(self) -> usize {
        match self {
            Self::East => 1 << 5,
            Self::West => 1 << 3,
            Self::North => 1 << 7,
            Self::South => 1 << 1,
        }
    }
}

/// Where a destination is from a router: there, or in one of eight parts of the mesh.
const PLACES: usize = 9;

/// The bit of the place that is the router itself.
const HERE: usize = 1 << 4;

/// Where a destination is from a router: how far to the east, and how far to the north. Never (0, 0).
pub(crate) type Offset = (i32, i32);

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
    /// The number of a place, which cannot be foreseen, so it is found without branches.
    #[inline]
    fn place(x: i32, y: i32) -> usize {
        (3 * (y.signum() + 1) + x.signum() + 1) as usize
    }

    /// By the places that have destinations, a bit for each.
    fn of(present: usize) -> Self {
        let has = |x, y| present >> Self::place(x, y) & 1 == 1;
        Self {
            east: has(1, 0),
            north_east: has(1, 1),
            north: has(0, 1),
            north_west: has(-1, 1),
            west: has(-1, 0),
            south_west: has(-1, -1),
            south: has(0, -1),
            south_east: has(1, -1),
        }
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

/// By which output a destination leaves a router. It has to lead nearer to the destination.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// Along this dimension first, and then along the other.
    InOrder(usize),
    /// As this says where a worm has destinations in these parts; it counts in which part a destination is, not how far away.
    ByParts(fn(Parts, Offset) -> Output),
}

impl Rule {
    /// By which output a single destination is left for.
    fn towards(self, (x, y): Offset) -> Output {
        self.output(Parts::of(1 << Parts::place(x, y)), (x, y))
    }

    /// What the outputs take of the parts ahead where there are destinations in these places: for each, from the lowest bits on, whether it takes that towards smaller coordinates,
    /// that straight on, and that towards larger ones.
    fn takes(self, present: usize) -> u16 {
        let takes = |output: Output, aside: i32| {
            let (dimension, direction) = output.heading();
            let ahead = if direction == Direction::Positive { 1 } else { -1 };
            let (x, y) = if dimension == 0 { (ahead, aside) } else { (aside, ahead) };
            present >> Parts::place(x, y) & 1 == 1 && self.output(Parts::of(present), (x, y)) == output
        };
        let each = Output::ALL.iter().rev().flat_map(|&output| [1, 0, -1].map(|aside| takes(output, aside)));
        each.fold(0, |bits, takes| 2 * bits + u16::from(takes))
    }

    fn output(self, parts: Parts, (x, y): Offset) -> Output {
        let first = match self {
            Self::InOrder(first) => first,
            Self::ByParts(output) => return output(parts, (x, y)),
        };
        let (along_x, along_y) =
            (if x > 0 { Output::East } else { Output::West }, if y > 0 { Output::North } else { Output::South });
        match first {
            0 if x != 0 => along_x,
            0 => along_y,
            _ if y != 0 => along_y,
            _ => along_x,
        }
    }
}

/// Trees by a rule. A worm that goes to one destination takes the same channels as a unicast.
pub(crate) struct ForkingTrees {
    unicasts: Box<dyn RoutingRelation>,
    grid: Grid,
    rule: Rule,
    /// By the places that have destinations, a bit for each: what the outputs take of the parts ahead, three bits for each.
    takes: Box<[u16]>,
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
        let takes = (0..1 << PLACES).map(|present| rule.takes(present)).collect();
        Self { unicasts, grid, rule, takes, may_turn }
    }

    pub(crate) fn routing(&self) -> &dyn RoutingRelation {
        self.unicasts.as_ref()
    }

    pub(crate) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// One tree to all destinations, in place of an earlier plan.
    pub(crate) fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        let worms = usize::from(!multicast.destinations().is_empty());
        plan.worms.truncate(worms);
        if worms > 0 {
            self.put_worm(plan, 0, multicast.source(), multicast.destinations(), None);
        }
    }

    /// Makes worm `id` of a plan a tree worm to some nodes, the source not among them, on these virtual channels. In order of dimensions
    /// O((destinations + channels) x log destinations), by parts O(columns x rows with destinations + width + height) beside that.
    pub(crate) fn put_worm(
        &self,
        plan: &mut Plan,
        id: usize,
        source: NodeId,
        destinations: &[NodeId],
        virtual_channels: Option<VcRange>,
    ) {
        let mut tree = plan.take_tree(id);
        match self.rule {
            Rule::InOrder(first) => self.grow_in_order(first, source, &self.sorted(first, destinations), &mut tree),
            Rule::ByParts(_) => self.grow_by_parts(source, destinations, &mut tree),
        }
        plan.put(id, Worm { virtual_channels, ..Worm::of_tree(source, tree) });
    }

    #[inline]
    /// The number of a router line by line, across the dimension that comes first.
    fn number(&self, first: usize, router: RouterId) -> u32 {
        let (along, across) = (&self.grid.axes()[first], &self.grid.axes()[1 - first]);
        along.coordinate(router.index()) * across.extent() + across.coordinate(router.index())
    }

    /// The destinations in the order of their routers' numbers. Nodes of the same router stay in their order.
    pub(crate) fn sorted(&self, first: usize, destinations: &[NodeId]) -> Vec<(u32, NodeId)> {
        let network = &**self.unicasts.network();
        let numbered = |&node: &NodeId| (self.number(first, network.router_of(node)), node);
        sorted_by_number(destinations.iter().map(numbered).collect(), self.grid.len())
    }

    /// Of sorted destinations, those of a branch are side by side.
    fn grow_in_order(&self, first: usize, source: NodeId, sorted: &[(u32, NodeId)], tree: &mut Tree) {
        let network = &**self.unicasts.network();
        let length = self.grid.extents()[1 - first];
        // By the outputs' directions.
        let [behind, ahead, below, above] = if first == 0 { [1, 0, 3, 2] } else { [3, 2, 1, 0] };
        let mut branches = Branches::over(&mut tree.branches);
        // Where no one has looked yet: the router, the branch that leads there and its output, and what it is for.
        let mut open = vec![(network.router_of(source), None, sorted)];
        while let Some((at, entered, wanted)) = open.pop() {
            let here = self.number(first, at);
            if let Some((branch, output)) = entered
                && Output::heading(output).0 != first
            {
                go_straight(network, (at, branch, output), here, wanted, &mut branches);
                continue;
            }
            let line = here - here % length;
            let (back, rest) = wanted.split_at(start_of(wanted, line));
            let (lower, rest) = rest.split_at(start_of(rest, here));
            let (here, rest) = rest.split_at(start_of(rest, here + 1));
            let (upper, forth) = rest.split_at(start_of(rest, line + length));
            let branch = entered.map(|(branch, _)| branch);
            let delivers = branch.map_or(&mut tree.delivers, |branch| branches.delivers(branch));
            delivers.extend(here.iter().map(|to| to.1));
            let mut parts = [&[][..]; Output::ALL.len()];
            (parts[behind], parts[ahead], parts[below], parts[above]) = (back, forth, lower, upper);
            for (output, part) in Output::ALL.into_iter().zip(parts).filter(|(_, part)| !part.is_empty()) {
                let channel = channel_by(network, at, output);
                open.push((network.to(channel), Some((branches.put(channel, branch), output)), part));
            }
        }
        branches.end();
    }

    /// What a branch is for is a rectangle: of the parts around a router an output takes that straight ahead, and with it those to the left and the right of it, or neither, or one.
    fn grow_by_parts(&self, source: NodeId, destinations: &[NodeId], tree: &mut Tree) {
        let network = &**self.unicasts.network();
        let crowd = Crowd::new(network, &self.grid, destinations);
        let mut branches = Branches::over(&mut tree.branches);
        // Routers of which no one is looked at yet: the branch that leads there, and what it is for.
        let mut open = vec![(network.router_of(source), None, crowd.everyone())];
        while let Some((at, branch, (xs, ys))) = open.pop() {
            let (x, y) = place(&self.grid, at);
            let (xs, ys) = (crowd.columns.around(x, xs), crowd.rows.around(y, ys));
            let lie = crowd.lie(xs, ys);
            let present = lie.iter().rev().fold(0, |present, &count| 2 * present + usize::from(count > 0));
            if let Some(branch) = branch
                && let Some(output) = Output::ALL.into_iter().find(|output| present & !HERE == output.straight_on())
            {
                // All in a line.
                let number = crowd.number(output, (x, y));
                let wanted = crowd.line(output, number, lie.iter().sum());
                go_straight(network, (at, branch, output), number, wanted, &mut branches);
                continue;
            }
            if present & HERE > 0 {
                let delivers = branch.map_or(&mut tree.delivers, |branch| branches.delivers(branch));
                let number = crowd.number(Output::East, (x, y));
                delivers.extend(crowd.line(Output::East, number, lie[Parts::place(0, 0)]).iter().map(|to| to.1));
            }
            let mut takes = self.takes[present];
            for output in Output::ALL {
                let [below, above] = [takes & 1, takes >> 2 & 1].map(usize::from);
                let some = takes & 7 != 0;
                takes >>= 3;
                if !some {
                    continue;
                }
                let (dimension, direction) = output.heading();
                let (forth, aside) =
                    (if direction == Direction::Positive { [2, 3] } else { [0, 1] }, [1 - below, 2 + above]);
                let (of_x, of_y) = if dimension == 0 { (forth, aside) } else { (aside, forth) };
                let channel = channel_by(network, at, output);
                let part = (of_x.map(|place| xs[place]), of_y.map(|place| ys[place]));
                open.push((network.to(channel), Some(branches.put(channel, branch)), part));
            }
        }
        branches.end();
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
    #[inline]
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

/// The destinations, and how many lie in any rectangle of the mesh.
struct Crowd {
    columns: Ranks,
    rows: Ranks,
    /// How many lie in the first columns and in the first rows that have any, for each number of both.
    below: Vec<u32>,
    /// The destinations by the numbers of their routers row by row, and column by column.
    sorted: [Vec<(u32, NodeId)>; 2],
    extents: [u32; 2],
}

/// The coordinates along one dimension at which there are destinations: for each coordinate, and the one behind the last, how many are smaller.
struct Ranks(Vec<u32>);

impl Ranks {
    fn new(extent: u32, coordinates: impl Iterator<Item = i32>) -> Self {
        let mut ranks = vec![0; extent as usize + 1];
        coordinates.for_each(|coordinate| ranks[coordinate as usize] = 1);
        let mut smaller = 0;
        for rank in &mut ranks {
            (*rank, smaller) = (smaller, smaller + *rank);
        }
        Self(ranks)
    }

    fn all(&self) -> u32 {
        self.0[self.0.len() - 1]
    }

    /// The part from `low` to `high` cut before and behind a coordinate.
    fn around(&self, coordinate: i32, [low, high]: [u32; 2]) -> [u32; 4] {
        let cut = |coordinate: i32| self.0[coordinate as usize].clamp(low, high);
        [low, cut(coordinate), cut(coordinate + 1), high]
    }
}

impl Crowd {
    fn new(network: &Network, grid: &Grid, destinations: &[NodeId]) -> Self {
        let places = || destinations.iter().map(|&node| (place(grid, network.router_of(node)), node));
        let columns = Ranks::new(grid.extents()[0], places().map(|((x, _), _)| x));
        let rows = Ranks::new(grid.extents()[1], places().map(|((_, y), _)| y));
        let width = columns.all() as usize + 1;
        let mut below = vec![0; width * (rows.all() as usize + 1)];
        for ((x, y), _) in places() {
            below[(rows.0[y as usize] as usize + 1) * width + columns.0[x as usize] as usize + 1] += 1;
        }
        for row in 1..=rows.all() as usize {
            let (before, this) = below.split_at_mut(row * width);
            let mut in_row = 0;
            for (count, before) in this[..width].iter_mut().zip(&before[(row - 1) * width..]) {
                in_row += *count;
                *count = in_row + before;
            }
        }
        let extents = [grid.extents()[0], grid.extents()[1]];
        let sorted = [0, 1].map(|dimension| {
            let numbered = places().map(|(at, node)| (number(extents, dimension, at), node));
            // Nodes of the same router stay in their order.
            sorted_by_number(numbered.collect(), grid.len())
        });
        Self { columns, rows, below, sorted, extents }
    }

    /// The number of a router among those along the way of an output.
    fn number(&self, output: Output, at: Offset) -> u32 {
        number(self.extents, output.heading().0, at)
    }

    /// So many destinations from a router on, straight on from an output.
    fn line(&self, output: Output, number: u32, count: u32) -> &[(u32, NodeId)] {
        let (dimension, direction) = output.heading();
        let sorted = &self.sorted[dimension];
        let first = match direction {
            Direction::Positive => start_of(sorted, number),
            Direction::Negative => start_of(sorted, number + 1) - count as usize,
        };
        &sorted[first..first + count as usize]
    }

    /// The rectangle with all of them: columns and rows by their ranks, from the first to that behind the last.
    fn everyone(&self) -> ([u32; 2], [u32; 2]) {
        ([0, self.columns.all()], [0, self.rows.all()])
    }

    /// How many lie in each place between these columns and these rows.
    #[inline]
    fn lie(&self, xs: [u32; 4], ys: [u32; 4]) -> [u32; PLACES] {
        let width = self.columns.all() + 1;
        let [first, second, third, last] = ys.map(|y| xs.map(|x| self.below[(y * width + x) as usize]));
        let between = |below: [u32; 4], above: [u32; 4]| {
            let counts: [u32; 4] = std::array::from_fn(|place| above[place] - below[place]);
            [counts[1] - counts[0], counts[2] - counts[1], counts[3] - counts[2]]
        };
        let ([a, b, c], [d, e, f], [g, h, i]) = (between(first, second), between(second, third), between(third, last));
        [a, b, c, d, e, f, g, h, i]
    }
}

/// The branches that lead straight on from a router, which a branch has entered by an output, to destinations sorted by their numbers, which grow by one a hop
/// one way and shrink the other way.
fn go_straight(
    network: &Network,
    (mut at, mut branch, output): (RouterId, u32, Output),
    mut here: u32,
    mut wanted: &[(u32, NodeId)],
    branches: &mut Branches,
) {
    let rises = output.heading().1 == Direction::Positive;
    // That of the next channel among those of its router.
    let (mut position, mut hops) = (None, 0u32);
    loop {
        let delivers = branches.delivers(branch);
        if rises {
            while let &[(number, node), ref rest @ ..] = wanted
                && number == here
            {
                delivers.push(node);
                wanted = rest;
            }
        } else {
            while let &[ref rest @ .., (number, node)] = wanted
                && number == here
            {
                delivers.push(node);
                wanted = rest;
            }
            // Nodes of the same router stay in their order.
            delivers.reverse();
        }
        let Some(&(next, _)) = (if rises { wanted.first() } else { wanted.last() }) else { return };
        for _ in 0..next.abs_diff(here) {
            let channel = position.and_then(|position| network.output(at, position));
            let channel = channel.unwrap_or_else(|| channel_by(network, at, output));
            if hops == 1 {
                // Behind the first, none of the routers is at the border that the way leads away from.
                position = Some(channel.raw() - network.output_places(at).0);
            }
            hops += 1;
            (at, branch) = (network.to(channel), branches.put(channel, Some(branch)));
        }
        here = next;
    }
}

/// Where the numbers from `limit` on start.
fn start_of(sorted: &[(u32, NodeId)], limit: u32) -> usize {
    match sorted {
        [first, ..] if first.0 >= limit => 0,
        [.., last] if last.0 < limit => sorted.len(),
        [] => 0,
        _ => end_of_run(sorted, limit),
    }
}

/// The number of a router whose neighbours along a dimension have the next numbers.
fn number(extents: [u32; 2], dimension: usize, (x, y): Offset) -> u32 {
    if dimension == 0 { y as u32 * extents[0] + x as u32 } else { x as u32 * extents[1] + y as u32 }
}

fn offset(grid: &Grid, from: RouterId, to: RouterId) -> Offset {
    let ((x, y), (to_x, to_y)) = (place(grid, from), place(grid, to));
    (to_x - x, to_y - y)
}

/// The coordinates of a router, which are fewer than there are numbers of routers.
fn place(grid: &Grid, router: RouterId) -> Offset {
    let along = |dimension| grid.coordinate(router.index(), dimension) as i32;
    (along(0), along(1))
}

#[inline]
fn channel_by(network: &Network, at: RouterId, output: Output) -> ChannelId {
    let (dimension, direction) = output.heading();
    network.channel_along(at, dimension, direction).expect("a rule leads nearer to a router of the mesh")
}

/// Refuses a routing, and a root, for an algorithm that brings its own routing.
pub(crate) fn no_routing(algorithm: &Descriptor, options: &Options, own: &str) -> Result<(), AlgorithmError> {
    if options.root.is_some() {
        return Err(RoutingError::NoRoot(algorithm.name).into());
    }
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
            let output = self.rule.towards(offset);
            out.push(channel_by(&self.network, at, output));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::mesh::rpm;
    use crate::plan::Branch;
    use proptest::prelude::*;
    use wormcast_network::TopologySpec;
    use wormcast_routing::ECube;

    proptest! {
        /// Counting destinations in rectangles makes the trees that asking the rule for each in every router makes, branch by branch.
        #[test]
        fn trees_by_parts_are_those_of_the_rule(
            spec in prop::sample::select(vec!["mesh:7x5", "mesh:1x9", "mesh:6x6,nodes=3", "mesh:16x3"]),
            rule in prop::sample::select(vec![Rule::ByParts(rpm::rule), Rule::InOrder(0), Rule::InOrder(1)]),
            source: prop::sample::Index,
            picks in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
        ) {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let node = |pick: &prop::sample::Index| NodeId::new(pick.index(network.nodes()) as u32);
            let trees = ForkingTrees::new(Box::new(ECube::new(&network).unwrap()), rule, |_, _, _| true);
            let multicast = Multicast::new(node(&source), &picks.iter().map(node).collect::<Vec<_>>());
            let mut plain = Tree::default();
            let mut open = vec![(network.router_of(multicast.source()), None, multicast.destinations().to_vec())];
            while let Some((at, branch, wanted)) = open.pop() {
                let offsets = || wanted.iter().map(|&to| (offset(&trees.grid, at, network.router_of(to)), to));
                let present = offsets().fold(0, |present, ((x, y), _)| present | 1 << Parts::place(x, y));
                let here: Vec<NodeId> = offsets().filter(|&(to, _)| to == (0, 0)).map(|(_, to)| to).collect();
                match branch {
                    Some(branch) => plain.branches[branch as usize] = Branch { delivers: here, ..plain.branches[branch as usize].clone() },
                    None => plain.delivers = here,
                }
                for output in Output::ALL {
                    let leaves = |&(to, _): &(Offset, NodeId)| to != (0, 0) && rule.output(Parts::of(present), to) == output;
                    let part: Vec<NodeId> = offsets().filter(leaves).map(|(_, to)| to).collect();
                    if !part.is_empty() {
                        let channel = channel_by(&network, at, output);
                        open.push((network.to(channel), Some(plain.branches.len() as u32), part));
                        plain.branches.push(Branch { channel, parent: branch, delivers: Vec::new() });
                    }
                }
            }
            let mut tree = Tree::default();
            trees.grow_by_parts(multicast.source(), multicast.destinations(), &mut tree);
            prop_assert_eq!(tree, plain);
        }

        /// Sorting all destinations beforehand makes the trees that asking for each in every router makes, with several nodes at a router, too.
        #[test]
        fn trees_in_order_are_those_by_parts(
            spec in prop::sample::select(vec!["mesh:7x5", "mesh:1x9", "mesh:6x6,nodes=3", "mesh:16x3"]),
            first in 0usize..2,
            source: prop::sample::Index,
            picks in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
        ) {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let node = |pick: &prop::sample::Index| NodeId::new(pick.index(network.nodes()) as u32);
            let trees = ForkingTrees::new(Box::new(ECube::new(&network).unwrap()), Rule::InOrder(first), |_, _, _| true);
            let multicast = Multicast::new(node(&source), &picks.iter().map(node).collect::<Vec<_>>());
            let (source, destinations) = (multicast.source(), multicast.destinations());
            let grown = |grow: &dyn Fn(&mut Tree)| {
                let mut tree = Tree::default();
                grow(&mut tree);
                tree
            };
            let by_parts = grown(&|tree| trees.grow_by_parts(source, destinations, tree));
            prop_assert_eq!(grown(&|tree| trees.grow_in_order(first, source, &trees.sorted(first, destinations), tree)), by_parts);
        }
    }
}
