//! The check itself: the largest set of channels whose holders could block each other forever, and a cycle in it.

use std::collections::{HashMap, VecDeque};

use fixedbitset::FixedBitSet;
use wormcast_network::watch::step_every;
use wormcast_network::{ChannelId, Network, NodeId};

use super::{Dependencies, Resource, Stop};

/// One run of the check: the suspects that remain and the indices to find what depends on what.
pub(super) struct Check<'a> {
    network: &'a Network,
    ports: usize,
    virtual_channels: usize,
    classes: Option<&'a [Option<u8>]>,
    suspect: FixedBitSet,
    /// Requested channels by held channel, and the reverse.
    requested: Rows,
    holders: Rows,
    /// Where other branches may wait for deliveries, by held channel, and the reverse.
    held_up: Rows,
    holding_up: Rows,
    /// Positions in `stops` by router.
    stops_at: Rows,
    stops: &'a [Stop],
    starts: &'a FixedBitSet,
    separate: bool,
    /// For channels that trees request together: all of their group, the channel included.
    groups: HashMap<u32, Vec<u32>>,
}

/// Rows of numbers in one array.
struct Rows {
    first: Vec<u32>,
    items: Vec<u32>,
}

impl Rows {
    fn new(rows: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut first = vec![0u32; rows + 1];
        for (row, _) in pairs.clone() {
            first[row as usize + 1] += 1;
        }
        for row in 0..rows {
            first[row + 1] += first[row];
        }
        let mut next = first.clone();
        let mut items = vec![0; first[rows] as usize];
        for (row, item) in pairs {
            items[next[row as usize] as usize] = item;
            next[row as usize] += 1;
        }
        Self { first, items }
    }

    fn row(&self, row: usize) -> &[u32] {
        &self.items[self.first[row] as usize..self.first[row + 1] as usize]
    }
}

/// Scratch space: the channels on which worms that hold a router's consumption channels have arrived, and those that they hold.
#[derive(Default)]
struct Sides {
    inputs: Vec<u32>,
    outputs: Vec<u32>,
}

impl<'a> Check<'a> {
    pub(super) fn new(dependencies: &'a Dependencies<'a>, ports: usize) -> Self {
        let network = dependencies.network;
        let channels = network.channels();
        let waits = &dependencies.waits;
        let stops = &dependencies.stops;
        let router_of = |stop: &Stop| network.to(stop.arriving).raw();
        let mut suspect = FixedBitSet::with_capacity(channels);
        suspect.insert_range(..);
        Self {
            network,
            ports,
            virtual_channels: dependencies.virtual_channels,
            classes: dependencies.classes.as_deref(),
            suspect,
            requested: Rows::new(channels, waits.iter().copied()),
            holders: Rows::new(channels, waits.iter().map(|&(held, next)| (next, held))),
            held_up: Rows::new(channels, dependencies.held_up.iter().copied()),
            holding_up: Rows::new(channels, dependencies.held_up.iter().map(|&(held, at)| (at, held))),
            starts: &dependencies.starts,
            separate: dependencies.separate,
            stops_at: Rows::new(network.routers(), stops.iter().enumerate().map(|(i, s)| (router_of(s), i as u32))),
            stops,
            groups: groups(&dependencies.together),
        }
    }

    /// This channel if it is suspect, or else one that others request together with it and that is.
    fn suspect_request(&self, requested: u32) -> Option<u32> {
        let group = self.groups.get(&requested).map_or(&[][..], Vec::as_slice);
        let mut all = std::iter::once(requested).chain(group.iter().copied());
        all.find(|&c| self.suspect.contains(c as usize))
    }

    /// Whether the holders of some channels may take every consumption channel where `arriving` ends, and keep them; `sides.outputs` is then
    /// these channels.
    fn exhausts(&self, arriving: ChannelId, sides: &mut Sides) -> bool {
        let router = self.network.to(arriving);
        if self.network.nodes_of(router).len() == 0 {
            // Nobody waits for a delivery here.
            return false;
        }
        let class = |channel: ChannelId| self.classes.map(|classes| classes[channel.index()]);
        let ports = if self.classes.is_some() { 1 } else { self.ports };
        let Sides { inputs, outputs } = sides;
        inputs.clear();
        outputs.clear();
        for &stop in self.stops_at.row(router.index()) {
            let stop = self.stops[stop as usize];
            let held = stop.leaving.unwrap_or(stop.arriving).raw();
            // The worm that waits has one virtual channel of `arriving` to itself.
            let others = self.virtual_channels > 1 || stop.arriving != arriving;
            let others = others && class(stop.arriving) == class(arriving);
            if others && self.suspect.contains(held as usize) {
                inputs.push(stop.arriving.raw());
                outputs.push(held);
            }
        }
        for side in [&mut *inputs, &mut *outputs] {
            side.sort_unstable();
            side.dedup();
        }
        let own = usize::from(inputs.contains(&arriving.raw()));
        let through = (inputs.len() * self.virtual_channels - own).min(outputs.len() * self.virtual_channels);
        // Trees that start here and deliver to other nodes of this router: each holds a channel out of it, or waits for one.
        let suspect_start = |c: &ChannelId| self.starts.contains(c.index()) && self.suspect.contains(c.index());
        let through_alone = outputs.len();
        outputs.extend(self.network.outputs(router).filter(suspect_start).map(ChannelId::raw));
        let starts = outputs.len() - through_alone;
        let starting = if self.separate && starts > 0 { ports } else { starts * self.virtual_channels };
        through + starting >= ports && !outputs.is_empty()
    }

    fn may_block(&self, channel: ChannelId, sides: &mut Sides) -> bool {
        self.requested.row(channel.index()).iter().any(|&c| self.suspect_request(c).is_some())
            || self.exhausts(channel, sides)
            || self.held_up.row(channel.index()).iter().any(|&at| self.exhausts(ChannelId::new(at), sides))
    }

    pub(super) fn run(mut self) -> Option<Vec<Resource>> {
        self.strike_out();
        self.shortest_cycle()
    }

    /// The channels whose holders may be blocked forever.
    pub(super) fn blocked(mut self) -> Vec<ChannelId> {
        self.strike_out();
        self.suspect.ones().map(|channel| ChannelId::new(channel as u32)).collect()
    }

    /// Leaves only suspects that can block each other.
    fn strike_out(&mut self) {
        let mut work: Vec<ChannelId> = self.network.channel_ids().collect();
        let mut sides = Sides::default();
        for round in 0.. {
            let Some(channel) = work.pop() else { break };
            step_every(12, "looking for worms that block each other", "steps", round, 0);
            if !self.suspect.contains(channel.index()) || self.may_block(channel, &mut sides) {
                continue;
            }
            self.suspect.set(channel.index(), false);
            let own = [channel.raw()];
            for &member in self.groups.get(&channel.raw()).map_or(&own[..], Vec::as_slice) {
                work.extend(self.holders.row(member as usize).iter().map(|&c| ChannelId::new(c)));
            }
            // As a stop, it counted at the router that it leaves (paths) or enters (trees).
            for router in [self.network.from(channel), self.network.to(channel)] {
                for arriving in self.network.inputs(router) {
                    work.push(arriving);
                    work.extend(self.holding_up.row(arriving.index()).iter().map(|&c| ChannelId::new(c)));
                }
            }
        }
    }

    /// The resources between a suspect channel and the suspects that may block it.
    fn blockers(&self, channel: u32) -> Vec<(Option<NodeId>, u32)> {
        let links = self.requested.row(channel as usize).iter().filter_map(|&c| self.suspect_request(c));
        let waits_at = std::iter::once(channel).chain(self.held_up.row(channel as usize).iter().copied());
        let mut blockers: Vec<(Option<NodeId>, u32)> = links.map(|c| (None, c)).collect();
        let mut sides = Sides::default();
        for arriving in waits_at.map(ChannelId::new) {
            if self.exhausts(arriving, &mut sides) {
                let node = self.network.nodes_of(self.network.to(arriving)).next();
                blockers.extend(sides.outputs.iter().map(|&c| (node, c)));
            }
        }
        blockers
    }

    fn shortest_cycle(&self) -> Option<Vec<Resource>> {
        const STARTS: usize = 256;
        let mut best: Option<Vec<Resource>> = None;
        for start in self.suspect.ones().take(STARTS) {
            let start = start as u32;
            let mut before: HashMap<u32, (u32, Option<NodeId>)> = HashMap::new();
            let mut queue = VecDeque::from([start]);
            'search: while let Some(channel) = queue.pop_front() {
                for (node, next) in self.blockers(channel) {
                    if before.contains_key(&next) {
                        continue;
                    }
                    before.insert(next, (channel, node));
                    if next == start {
                        break 'search;
                    }
                    queue.push_back(next);
                }
            }
            let Some(&(mut channel, mut node)) = before.get(&start) else { continue };
            let mut cycle = Vec::new();
            loop {
                cycle.extend(node.map(Resource::Consumption));
                cycle.push(Resource::Channel(ChannelId::new(channel)));
                if channel == start {
                    break;
                }
                (channel, node) = before[&channel];
            }
            cycle.reverse();
            if best.as_ref().is_none_or(|b| cycle.len() < b.len()) {
                best = Some(cycle);
            }
        }
        // Every suspect leads to a cycle, but it need not lie on one: then the search has to start further on.
        best.or_else(|| self.suspect.ones().next().map(|start| self.walk(start as u32)))
    }

    fn walk(&self, start: u32) -> Vec<Resource> {
        let mut path: Vec<(u32, Option<NodeId>)> = vec![(start, None)];
        loop {
            let (channel, _) = path[path.len() - 1];
            let (node, next) = self.blockers(channel)[0];
            if let Some(position) = path.iter().position(|&(c, _)| c == next) {
                let mut cycle = Vec::new();
                for (i, &(channel, entered_by)) in path[position..].iter().enumerate() {
                    cycle.extend(entered_by.filter(|_| i > 0).map(Resource::Consumption));
                    cycle.push(Resource::Channel(ChannelId::new(channel)));
                }
                cycle.extend(node.map(Resource::Consumption));
                return cycle;
            }
            path.push((next, node));
        }
    }
}

/// The connected groups of channels that are requested together.
fn groups(together: &[(u32, u32)]) -> HashMap<u32, Vec<u32>> {
    let mut neighbours: HashMap<u32, Vec<u32>> = HashMap::new();
    for &(a, b) in together {
        neighbours.entry(a).or_default().push(b);
        neighbours.entry(b).or_default().push(a);
    }
    let mut groups = HashMap::new();
    for &start in neighbours.keys() {
        if groups.contains_key(&start) {
            continue;
        }
        let mut group = vec![start];
        let mut next = 0;
        while next < group.len() {
            for &channel in &neighbours[&group[next]] {
                if !group.contains(&channel) {
                    group.push(channel);
                }
            }
            next += 1;
        }
        group.sort_unstable();
        for &member in &group {
            groups.insert(member, group.clone());
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{ChannelNumbering, ECube, Hamiltonian, NegativeFirst, WormRule};
    use wormcast_network::TopologySpec;

    fn build(spec: &str) -> Arc<Network> {
        spec.parse::<TopologySpec>().unwrap().build().unwrap()
    }

    #[test]
    fn meshes_and_hypercubes_are_safe() {
        for spec in ["mesh:5x4", "mesh:3x3x3", "hypercube:4", "mesh:7"] {
            let network = build(spec);
            assert_eq!(Dependencies::of_relation(&ECube::new(&network).unwrap()).deadlock(1), None, "e-cube on {spec}");
            assert_eq!(
                Dependencies::of_relation(&NegativeFirst::new(&network).unwrap()).deadlock(1),
                None,
                "negative-first on {spec}"
            );
        }
        assert_eq!(Dependencies::of_relation(&Hamiltonian::new(&build("mesh:4x3x3")).unwrap()).deadlock(1), None);
    }

    #[test]
    fn e_cube_on_a_torus_has_a_ring_of_dependencies() {
        let torus = build("torus:4x4");
        let cycle = Dependencies::of_relation(&ECube::new(&torus).unwrap()).deadlock(1).expect("a ring");
        assert_eq!(cycle.len(), 4);
        for (i, &resource) in cycle.iter().enumerate() {
            let (Resource::Channel(held), Resource::Channel(next)) = (resource, cycle[(i + 1) % 4]) else {
                panic!("unicasts wait for links alone")
            };
            assert_eq!(torus.to(held), torus.from(next));
        }
        // A ring of three is too short: no route takes two hops in the same direction.
        assert_eq!(Dependencies::of_relation(&ECube::new(&build("torus:3x3")).unwrap()).deadlock(1), None);
    }

    #[test]
    fn unicasts_without_deadlock_have_a_proof() {
        for (spec, safe) in [("mesh:4x3", true), ("hypercube:4", true), ("torus:5x3", false)] {
            let network = build(spec);
            let e_cube = ECube::new(&network).unwrap();
            let dependencies = Dependencies::of_relation(&e_cube);
            let may_follow = |held, next| dependencies.contains(held, next);
            match ChannelNumbering::find(&network, may_follow) {
                Ok(proof) => {
                    assert!(safe);
                    assert_eq!(proof.check(&network, may_follow), Ok(()));
                    // All the same number: not a proof.
                    let numbers = ChannelNumbering::from_numbers(vec![7; network.channels()]);
                    assert!(numbers.check(&network, may_follow).is_err());
                }
                Err(cycle) => {
                    assert!(!safe);
                    assert!((0..cycle.len()).all(|i| may_follow(cycle[i], cycle[(i + 1) % cycle.len()])));
                }
            }
            assert_eq!(dependencies.deadlock(1).is_none(), safe);
        }
    }

    /// A worm rule for both ways along a line, stopping anywhere.
    struct Line;

    impl WormRule for Line {
        fn may_turn(&self, network: &Network, arriving: ChannelId, leaving: ChannelId) -> bool {
            network.reverse(arriving) != leaving
        }

        fn may_stop(&self, _: &Network, _: ChannelId, _: ChannelId) -> bool {
            true
        }
    }

    #[test]
    fn one_consumption_channel_is_too_few_for_worms_that_meet() {
        let line = build("mesh:4");
        let dependencies = Dependencies::of_rule(&line, &Line);
        let cycle = dependencies.deadlock(1).expect("two worms that deliver to each other's stops");
        assert!(cycle.iter().any(|r| matches!(r, Resource::Consumption(_))));
        assert_eq!(dependencies.deadlock(2), None);
        // With two virtual channels, two worms each way.
        let dependencies = dependencies.with_virtual_channels(2);
        assert!(dependencies.deadlock(2).is_some());
        assert_eq!(dependencies.deadlock(3), None);
    }
}
