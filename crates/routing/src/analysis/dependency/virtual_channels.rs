//! Dependencies between virtual channels, where a relation divides those of links.

use std::collections::{HashMap, HashSet, VecDeque};

use wormcast_network::watch::step;
use wormcast_network::{ChannelId, Network, RouterId};

use crate::capabilities::{Lanes, VirtualChannels};
use crate::relation::RoutingRelation;

/// What unicasts that hold a virtual channel may wait for. A virtual channel is a number: `channel * count + virtual channel`.
pub(super) struct Waits {
    count: u32,
    vertices: usize,
    /// (held, all that a header there may take), without duplicates.
    states: Vec<(u32, Box<[u32]>)>,
}

/// What is known of the states while worms are followed.
struct Following {
    count: u32,
    /// What may be taken next, by what is held.
    states: Vec<HashSet<Box<[u32]>>>,
    /// The last pass in which a virtual channel was reached.
    reached: Vec<u32>,
    pass: u32,
}

impl Following {
    /// Follows the worms to one router, from their sources and from where they hold these virtual channels already.
    fn follow(
        &mut self,
        network: &Network,
        target: RouterId,
        sources: impl Iterator<Item = RouterId>,
        turning: &[u32],
        lanes: impl Fn(RouterId, Option<ChannelId>, &mut Lanes),
    ) {
        self.pass += 1;
        let (count, pass) = (self.count, self.pass);
        let mut taken: Lanes = Vec::new();
        let mut vertices_of = |at, arrived, out: &mut Vec<u32>| {
            lanes(at, arrived, &mut taken);
            out.clear();
            for &(channel, range) in &taken {
                let all = u32::from(range.first)..=u32::from(range.last);
                out.extend(all.map(|vc| channel.raw() * count + vc.min(count - 1)));
            }
            out.sort_unstable();
            out.dedup();
        };
        let (mut work, mut next): (Vec<u32>, Vec<u32>) = (turning.to_vec(), Vec::new());
        for &vertex in &work {
            self.reached[vertex as usize] = pass;
        }
        for source in sources {
            vertices_of(source, None, &mut next);
            let reached = &mut self.reached;
            work.extend(next.iter().filter(|&&v| std::mem::replace(&mut reached[v as usize], pass) != pass));
        }
        while let Some(held) = work.pop() {
            let arrived = ChannelId::new(held / count);
            let at = network.to(arrived);
            if at == target {
                continue;
            }
            vertices_of(at, Some(arrived), &mut next);
            let reached = &mut self.reached;
            work.extend(next.iter().filter(|&&v| std::mem::replace(&mut reached[v as usize], pass) != pass));
            let states = &mut self.states[held as usize];
            if !states.contains(next.as_slice()) {
                states.insert(next.as_slice().into());
            }
        }
    }
}

impl Waits {
    /// Follows the worms to every target, and to every waypoint and on from there. If links have fewer virtual channels than the relation needs, those that they lack are
    /// one with the last.
    ///
    /// O(routers x channels x virtual channels).
    pub(super) fn new(relation: &dyn RoutingRelation, division: &dyn VirtualChannels, links_have: usize) -> Self {
        let network = &**relation.network();
        let waypoints = relation.capabilities().waypoints;
        let count = links_have.clamp(1, 1 << 7) as u32;
        let asked = division.needed().max(count as u8);
        let vertices = network.channels() * count as usize;
        let states = vec![HashSet::new(); vertices];
        let mut following = Following { count, states, reached: vec![0; vertices], pass: 0 };
        let entering = network.entering_nodes();
        let sources = || network.router_ids().filter(|router| entering[router.index()] > 0);
        // The virtual channels by which waypoints are reached.
        let mut turning: Vec<u32> = Vec::new();
        for waypoint in network.router_ids() {
            let Some(waypoints) = waypoints else { break };
            step("following virtual channels", "waypoints", waypoint.index(), network.routers());
            let lanes = |at, arrived, out: &mut Lanes| waypoints.lanes_to(at, arrived, waypoint, asked, out);
            let starts = sources().filter(|&source| waypoints.may_lead_over(source, waypoint));
            following.follow(network, waypoint, starts, &[], lanes);
            let entered = network.inputs(waypoint).flat_map(|c| c.raw() * count..(c.raw() + 1) * count);
            turning.extend(entered.filter(|&vertex| following.reached[vertex as usize] == following.pass));
        }
        let ends = || network.router_ids().filter(|&router| network.nodes_of(router).len() > 0);
        let all = ends().count();
        for (followed, target) in ends().enumerate() {
            step("following virtual channels", "destinations", followed, all);
            let lanes = |at, arrived, out: &mut Lanes| division.lanes(at, arrived, target, asked, out);
            following.follow(network, target, sources(), &turning, lanes);
        }
        let all = (0..).zip(following.states).flat_map(|(held, all)| all.into_iter().map(move |next| (held, next)));
        let mut states: Vec<_> = all.collect();
        states.sort_unstable();
        Self { count, vertices, states }
    }

    /// The dependencies between channels.
    pub(super) fn between_channels(&self) -> impl Iterator<Item = (u32, u32)> {
        let pairs = self.states.iter().flat_map(|(held, all)| all.iter().map(move |next| (held, next)));
        pairs.map(|(held, next)| (held / self.count, next / self.count))
    }

    /// The largest set of virtual channels each of which may be held by a worm that can only take others of the set: a header waits for any
    /// of what it may take, so one of these that is not in the set saves it.
    ///
    /// Linear in all that may be taken.
    fn suspects(&self) -> Vec<bool> {
        // How many states of a vertex can still block it, and which states are saved by which vertex.
        let mut blocked = vec![0u32; self.vertices];
        let mut saved_by: Vec<Vec<u32>> = vec![Vec::new(); self.vertices];
        for (state, (held, next)) in (0..).zip(&self.states) {
            blocked[*held as usize] += 1;
            next.iter().for_each(|&vertex| saved_by[vertex as usize].push(state));
        }
        let mut suspect = vec![true; self.vertices];
        let mut saved = vec![false; self.states.len()];
        let mut work: Vec<u32> = (0..self.vertices as u32).filter(|&vertex| blocked[vertex as usize] == 0).collect();
        for &vertex in &work {
            suspect[vertex as usize] = false;
        }
        while let Some(vertex) = work.pop() {
            for &state in &saved_by[vertex as usize] {
                if std::mem::replace(&mut saved[state as usize], true) {
                    continue;
                }
                let held = self.states[state as usize].0;
                blocked[held as usize] -= 1;
                if blocked[held as usize] == 0 {
                    suspect[held as usize] = false;
                    work.push(held);
                }
            }
        }
        suspect
    }

    /// The channels with a virtual channel whose holder could be blocked forever.
    pub(super) fn blocked(&self) -> Vec<ChannelId> {
        let suspect = self.suspects();
        let ones = (0..).zip(&suspect).filter(|(_, suspect)| **suspect).map(|(vertex, _): (u32, _)| vertex);
        let mut channels: Vec<ChannelId> = ones.map(|vertex| ChannelId::new(vertex / self.count)).collect();
        channels.dedup();
        channels
    }

    /// A short cycle of virtual channels whose holders could block each other forever, as (channel, virtual channel).
    pub(super) fn cycle(&self) -> Option<Vec<(ChannelId, u32)>> {
        /// Vertices from which shortest cycles are looked for.
        const STARTS: usize = 256;
        let suspect = self.suspects();
        let mut next: HashMap<u32, Vec<u32>> = HashMap::new();
        for (held, all) in self.states.iter().filter(|(_, all)| all.iter().all(|&vertex| suspect[vertex as usize])) {
            next.entry(*held).or_default().extend(&**all);
        }
        let first = (0..self.vertices as u32).find(|&vertex| suspect[vertex as usize])?;
        // Every suspect leads to a cycle: the first one may not lie on it.
        let mut starts: Vec<u32> = (0..self.vertices as u32).filter(|&vertex| suspect[vertex as usize]).collect();
        starts.truncate(STARTS);
        let (mut passed, mut at) = (HashSet::new(), first);
        while passed.insert(at) {
            at = next[&at][0];
        }
        starts.push(at);
        let mut best: Option<Vec<u32>> = None;
        for start in starts {
            let mut before: HashMap<u32, u32> = HashMap::new();
            let mut queue = VecDeque::from([start]);
            'search: while let Some(vertex) = queue.pop_front() {
                for &other in &next[&vertex] {
                    if before.contains_key(&other) {
                        continue;
                    }
                    before.insert(other, vertex);
                    if other == start {
                        break 'search;
                    }
                    queue.push_back(other);
                }
            }
            let Some(&last) = before.get(&start) else { continue };
            let mut cycle = vec![start];
            let mut vertex = last;
            while vertex != start {
                cycle.push(vertex);
                vertex = before[&vertex];
            }
            cycle.reverse();
            if best.as_ref().is_none_or(|best| cycle.len() < best.len()) {
                best = Some(cycle);
            }
        }
        let vertex = |vertex: u32| (ChannelId::new(vertex / self.count), vertex % self.count);
        best.map(|cycle| cycle.into_iter().map(vertex).collect())
    }
}
