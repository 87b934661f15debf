//! The trees of `OpenSM`'s engines `sssp`, `dfsssp` and `nue`: shortest by the paths that links have already.

use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;
use wormcast_network::{ChannelId, Network, RouterId};

use super::{Branch, TreeRule};
use crate::forwarding_tables::hop_matrix::HopMatrix;
use crate::forwarding_tables::{ForwardingTables, Output, Target};
use crate::relation::RoutingRelation;

/// Distances from here on count as none.
const FARTHEST: u64 = 0x7fff_ffff;
/// Children of a place in the heap.
const CHILDREN: usize = 4;

/// The engines that build trees by weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WeighedEngine {
    /// `sssp` and `dfsssp`.
    Sssp,
    /// `nue`, which counts the addresses at a switch in one byte.
    Nue,
}

/// Why weights cannot be had from tables.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoWeights {
    /// Entries were left out because nobody knows whose addresses they are for.
    #[error(
        "{0} entries are for addresses of unknown devices, whose paths weigh, too; expected a network with all devices that the tables have addresses of"
    )]
    Unidentified(usize),
    /// A switch has no address.
    #[error(
        "the tables have no address of the switch {0}, and paths to switches weigh, too; expected those that OpenSM dumps"
    )]
    NoAddress(String),
    /// A switch has no route to an address.
    #[error("the paths from {router} do not arrive at {target}; expected complete tables, as OpenSM dumps them")]
    NoPath {
        /// The switch.
        router: String,
        /// The node or switch that is not reached.
        target: String,
    },
}

/// The trees that `OpenSM` builds after it has routed by `sssp`, `dfsssp` or `nue`.
///
/// These engines route one address after the other by shortest paths whose links weigh T² and a path more for each that they have already, where T is the number of
/// addresses. A tree is one more search, with the weights that the last address left, from the switch that the [common rule](HopMatrix) takes for the root. So the weight
/// of a link is that of all paths of the tables over it, the other way: from each switch to each address, counted once for each address at the switch and once
/// for the switch itself. Where ways weigh the same, the order counts in which a heap gives switches out, so that heap is followed step by step.
///
/// *Source:* `osm_ucast_dfsssp.c`, `osm_ucast_nue.c` and `cl_heap.c` of `OpenSM` 3.3.23.
///
/// Memory: 8 bytes a channel.
#[derive(Clone, Debug)]
pub struct WeighedTrees {
    fabric: Arc<Network>,
    roots: HopMatrix,
    /// Switches in the order of identifiers whose bytes are read backwards, and the place of each in that order.
    order: Vec<RouterId>,
    place: Vec<usize>,
    /// The channels of each switch by port.
    by_port: Vec<Vec<ChannelId>>,
    /// What it costs a tree to go on by a channel.
    weights: Vec<u64>,
}

impl WeighedTrees {
    /// The rule of an engine after it has made these tables, with the matrix by which it chooses roots: for `sssp` and `dfsssp` that of the
    /// [lengths of its routes](HopMatrix::of_tables), while `nue` writes down other hops for some. O(addresses x switches).
    ///
    /// # Errors
    /// If the tables do not have all paths.
    pub fn new(tables: &ForwardingTables, roots: HopMatrix, engine: WeighedEngine) -> Result<Self, NoWeights> {
        if tables.unidentified() > 0 {
            return Err(NoWeights::Unidentified(tables.unidentified()));
        }
        let fabric = Arc::clone(roots.fabric());
        let mut at_switch = vec![0u64; fabric.routers()];
        for destination in tables.destinations() {
            let router = match destination.target {
                Target::Node(node) => fabric.router_of(node),
                Target::Router(router) => router,
            };
            at_switch[router.index()] += 1;
        }
        let has_none = |&router: &RouterId| tables.addresses_of(Target::Router(router)).is_empty();
        if let Some(router) = fabric.router_ids().find(has_none) {
            return Err(NoWeights::NoAddress(tables.network().router_label(router)));
        }
        if engine == WeighedEngine::Nue {
            for addresses in &mut at_switch {
                *addresses &= 0xff;
            }
        }
        let addresses = tables.destinations().len() as u64;
        let mut weights = vec![addresses * addresses; fabric.channels()];
        for place in 0..tables.destinations().len() {
            add_paths(tables, place, &at_switch, &fabric, &mut weights)?;
        }
        let mut order: Vec<RouterId> = fabric.router_ids().collect();
        order.sort_by_key(|&router| fabric.router_guid(router).map(u64::swap_bytes));
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, router)| place[router.index()] = at);
        let by_port = fabric.router_ids().map(|router| {
            let mut channels: Vec<ChannelId> = fabric.outputs(router).collect();
            channels.sort_by_key(|&channel| fabric.port_of(channel));
            channels
        });
        let by_port = by_port.collect();
        Ok(Self { fabric, roots, order, place, by_port, weights })
    }

    /// The channel by which each switch, in order, is reached from a root. O((switches + links) log switches).
    fn reached(&self, root: RouterId) -> Vec<Option<ChannelId>> {
        let mut by = vec![None; self.order.len()];
        let mut distances = vec![FARTHEST; self.order.len()];
        let mut heap = Heap::new(self.order.len());
        let start = self.place[root.index()];
        distances[start] = 0;
        heap.lower(start, 0);
        while let Some(at) = heap.take() {
            for &channel in &self.by_port[self.order[at].index()] {
                let next = self.place[self.fabric.to(channel).index()];
                let distance = distances[at] + self.weights[channel.index()];
                if distance < distances[next] {
                    (distances[next], by[next]) = (distance, Some(channel));
                    heap.lower(next, distance);
                }
            }
        }
        by
    }
}

/// Adds the paths to the address at this place to the weights of the channels that a tree takes against them.
fn add_paths(
    tables: &ForwardingTables,
    place: usize,
    at_switch: &[u64],
    fabric: &Network,
    weights: &mut [u64],
) -> Result<(), NoWeights> {
    let mut next: Vec<Option<ChannelId>> = vec![None; fabric.routers()];
    let mut before = vec![0u32; fabric.routers()];
    for (router, output) in tables.entries_for(place) {
        if let Output::Channel(channel) = output {
            next[router.index()] = Some(channel);
            before[fabric.to(channel).index()] += 1;
        }
    }
    let target = tables.destinations()[place].target;
    let end = match target {
        Target::Node(node) => fabric.router_of(node),
        Target::Router(router) => router,
    };
    // From those that nobody's paths go through to the end.
    let mut paths = at_switch.to_vec();
    let mut open: Vec<RouterId> = fabric.router_ids().filter(|router| before[router.index()] == 0).collect();
    let mut left = fabric.routers();
    let no_path = |router: RouterId| {
        let network = tables.network();
        let target = match target {
            Target::Node(node) => network.node_label(node),
            Target::Router(router) => network.router_label(router),
        };
        NoWeights::NoPath { router: network.router_label(router), target }
    };
    while let Some(at) = open.pop() {
        left -= 1;
        if at == end {
            continue;
        }
        let channel = next[at.index()].ok_or_else(|| no_path(at))?;
        let to = fabric.to(channel);
        weights[fabric.reverse(channel).index()] += paths[at.index()];
        paths[to.index()] += paths[at.index()];
        before[to.index()] -= 1;
        if before[to.index()] == 0 {
            open.push(to);
        }
    }
    if left > 0 {
        let in_circle = fabric.router_ids().find(|router| before[router.index()] > 0);
        return Err(no_path(in_circle.unwrap_or(end)));
    }
    Ok(())
}

impl TreeRule for WeighedTrees {
    fn tree(&self, _: u16, members: &[Target]) -> Vec<(RouterId, Branch)> {
        let Some(root) = self.roots.root(members) else { return Vec::new() };
        let by = self.reached(root);
        let mut branches: BTreeMap<RouterId, Branch> = BTreeMap::new();
        for &member in members {
            let mut at = member.router(&self.fabric);
            branches.entry(at).or_default().add(member);
            while let Some(channel) = by[self.place[at.index()]] {
                branches.entry(at).or_default().channels.push(self.fabric.reverse(channel));
                at = self.fabric.from(channel);
                branches.entry(at).or_default().channels.push(channel);
            }
        }
        branches.into_iter().collect()
    }
}

/// Numbers from 0, each with a distance, of which the nearest is taken first. Of several that are as near, the one is taken that a heap with four children a
/// place has first: of children that are as near the last goes up, and nobody passes one that is as near.
struct Heap {
    /// Distance and number, by place.
    places: Vec<(u64, usize)>,
    /// The place of each number.
    place: Vec<usize>,
}

impl Heap {
    fn new(numbers: usize) -> Self {
        Self { places: (0..numbers).map(|number| (FARTHEST, number)).collect(), place: (0..numbers).collect() }
    }

    fn put(&mut self, at: usize, entry: (u64, usize)) {
        self.places[at] = entry;
        self.place[entry.1] = at;
    }

    /// Gives a number that is there a lower distance.
    fn lower(&mut self, number: usize, distance: u64) {
        let mut at = self.place[number];
        while at > 0 && distance < self.places[(at - 1) / CHILDREN].0 {
            let above = (at - 1) / CHILDREN;
            self.put(at, self.places[above]);
            at = above;
        }
        self.put(at, (distance, number));
    }

    fn take(&mut self) -> Option<usize> {
        let last = self.places.pop()?;
        let Some(&(_, nearest)) = self.places.first() else { return Some(last.1) };
        let mut at = 0;
        loop {
            let children = CHILDREN * at + 1..(CHILDREN * (at + 1) + 1).min(self.places.len());
            let Some(child) = children.rev().min_by_key(|&child| self.places[child].0) else { break };
            if self.places[child].0 >= last.0 {
                break;
            }
            self.put(at, self.places[child]);
            at = child;
        }
        self.put(at, last);
        Some(nearest)
    }
}

#[cfg(test)]
mod tests {
    use wormcast_network::{FileFormat, NetworkIbsim, TopologySpec};

    use super::*;
    use crate::forwarding_tables::{MulticastTables, NetworkLfts, choose_tables, parse_lfts};
    use crate::registry::RoutingOptions;
    use crate::relations::up_down::UP_DOWN;

    /// Up*/down* tables of a fabric, with addresses.
    fn tables(spec: &str) -> (ForwardingTables, String) {
        let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
        let fabric = FileFormat::Fabric.parse(spec, &NetworkIbsim(&network).to_string()).unwrap();
        let relation = UP_DOWN.make(&fabric, &RoutingOptions::default()).unwrap();
        let text = NetworkLfts::new(&choose_tables(relation.as_ref(), true).unwrap().tables).unwrap().to_string();
        (parse_lfts(&fabric, "lfts", &text).unwrap(), text)
    }

    fn rule(tables: &ForwardingTables) -> Result<WeighedTrees, NoWeights> {
        WeighedTrees::new(tables, HopMatrix::of_tables(tables).unwrap(), WeighedEngine::Sssp)
    }

    /// Worked by hand: numbers 0 to 5 are at places 0 to 5. Number 3 goes up past 0, which is then at place 3. When 3 is taken, 5 comes to the first place, and 0
    /// goes up past it. 4 and 1 stay below 0, which is as near. When 0 is taken, 4 comes to the first place from the last, and 1 is not nearer.
    #[test]
    fn of_those_that_are_as_near_the_heap_gives_the_one_that_it_has_first() {
        let mut heap = Heap::new(6);
        heap.lower(3, 0);
        assert_eq!(heap.take(), Some(3));
        for number in [0, 4, 1] {
            heap.lower(number, 7);
        }
        let taken: Vec<usize> = std::iter::from_fn(|| heap.take()).collect();
        assert_eq!(taken[..3], [0, 4, 1]);
        assert_eq!(taken.len(), 5);
        // Four below the first: the last of them goes up, and again.
        let mut heap = Heap::new(6);
        heap.lower(0, 0);
        (1..5).for_each(|number| heap.lower(number, 7));
        let taken: Vec<usize> = std::iter::from_fn(|| heap.take()).collect();
        assert_eq!(taken, [0, 4, 3, 2, 1, 5]);
    }

    #[test]
    fn a_heap_gives_all_numbers_the_nearest_first() {
        let mut state = 1;
        for _ in 0..200 {
            let mut draw = |limit: u64| {
                state += 1;
                wormcast_network::split_mix::mix(state) % limit
            };
            let numbers = 1 + draw(40) as usize;
            let mut heap = Heap::new(numbers);
            let mut left = vec![Some(FARTHEST); numbers];
            while let Some(nearest) = left.iter().flatten().min().copied() {
                let taken = heap.take().unwrap();
                assert_eq!(left[taken].take(), Some(nearest));
                for _ in 0..draw(6) {
                    let (number, distance) = (draw(numbers as u64) as usize, draw(50));
                    if left[number].is_some_and(|known| distance < known) {
                        left[number] = Some(distance);
                        heap.lower(number, distance);
                    }
                }
            }
            assert_eq!(heap.take(), None);
        }
    }

    #[test]
    fn links_weigh_the_paths_the_other_way() {
        for spec in ["mesh:3x3", "ring:5", "regular:nodes=12,degree=3,seed=4"] {
            let (tables, _) = tables(spec);
            let (network, rule) = (tables.network(), rule(&tables).unwrap());
            let addresses = tables.destinations().len() as u64;
            let mut weights = vec![addresses * addresses; network.channels()];
            for place in 0..tables.destinations().len() {
                for source in network.router_ids() {
                    // The switch and its hosts, one each here.
                    let paths = 1 + network.nodes_of(source).count() as u64;
                    let mut at = source;
                    while let Some(Output::Channel(channel)) = tables.output(at, place) {
                        weights[network.reverse(channel).index()] += paths;
                        at = network.to(channel);
                    }
                }
            }
            assert_eq!(rule.weights, weights, "{spec}");
            // Trees reach all members, and are the shortest by weights.
            let members: Vec<String> = network.node_ids().map(|node| network.node_label(node)).collect();
            let text = format!("0xc001: {}", members.join(";"));
            let groups = MulticastTables::empty(network).with_members(&tables, "groups", &text).unwrap();
            let built = groups.with_trees(&rule);
            assert!(built.reports(None).iter().all(|group| group.connected && group.doubled.is_empty()));
            let root = rule.roots.root(&network.node_ids().map(Target::Node).collect::<Vec<_>>()).unwrap();
            let by = rule.reached(root);
            let mut distances = vec![u64::MAX; network.routers()];
            distances[root.index()] = 0;
            for _ in network.router_ids() {
                for channel in network.channel_ids() {
                    let distance = distances[network.from(channel).index()].saturating_add(weights[channel.index()]);
                    let known = &mut distances[network.to(channel).index()];
                    *known = distance.min(*known);
                }
            }
            for (place, channel) in by.iter().enumerate() {
                let Some(channel) = *channel else { continue };
                let router = rule.order[place];
                let distance = distances[network.from(channel).index()] + weights[channel.index()];
                assert_eq!((network.to(channel), distance), (router, distances[router.index()]));
            }
        }
    }

    #[test]
    fn tables_that_do_not_have_all_paths_are_refused() {
        let (whole, text) = tables("ring:4");
        let network = whole.network();
        let read = |text: &str| parse_lfts(network, "lfts", text).unwrap();
        assert!(rule(&whole).is_ok());
        let without = |is_left_out: &mut dyn FnMut(&str) -> bool| {
            let lines: Vec<&str> = text.lines().filter(|line| !is_left_out(line)).collect();
            counted(&lines)
        };
        let no_switch = without(&mut |line| line.contains("'S2'") && line.contains(" # "));
        assert_eq!(rule(&read(&no_switch)).unwrap_err(), NoWeights::NoAddress("S2".to_owned()));
        // The first switch has no entry for its neighbour's host.
        let mut first = true;
        let missing = without(&mut |line| line.contains("'H1'") && std::mem::take(&mut first));
        let error = rule(&read(&missing)).unwrap_err();
        assert_eq!(error, NoWeights::NoPath { router: "S0".to_owned(), target: "H1".to_owned() });
    }

    /// Tables whose counts fit their entries.
    fn counted(lines: &[&str]) -> String {
        let mut entries = 0;
        let mut counted: Vec<String> = Vec::new();
        for line in lines {
            entries = if line.starts_with("Unicast") { 0 } else { entries + usize::from(line.starts_with("0x")) };
            let is_count = line.contains(" lids dumped");
            counted.push(if is_count { format!("{entries} lids dumped") } else { (*line).to_owned() });
        }
        counted.join("\n") + "\n"
    }
}
