//! All shortest permitted paths from one router, found by a single search: for multicasts to many destinations.

use std::cell::OnceCell;

use wormcast_network::ChannelId;

use crate::algorithms::irregular::turn_trees::Wanted;

/// Not on any shortest path.
const NONE: u32 = u32::MAX;

/// The shortest permitted paths from the source's router to the routers that a tree is to reach.
///
/// A search by target ([`TurnRouting::hops`](wormcast_routing::TurnRouting::hops)) takes O(channels) time and memory for each destination, and the tables serve all multicasts.
/// This one takes O(turns) for all destinations of one multicast.
///
/// A channel's *level* is the number of hops of a shortest permitted path from the source that ends with it. A channel is on a shortest path to a
/// router if permitted turns lead from it to the router, one level higher by every hop, and the router is entered at the lowest of all levels at which
/// it is entered.
pub(crate) struct ShortestWays {
    /// By channel.
    level: Vec<u32>,
    /// By channel: the one before it on the first of the shortest paths that end with it; `NONE` at the source.
    before: Vec<u32>,
    /// By router: its place among those that are to be reached, or `NONE`.
    places: Vec<u32>,
    /// Channels by level; at the same level in the order of their first paths.
    order: Vec<ChannelId>,
    /// By place of the destination's router: the channel by which the first shortest path enters it.
    entered: Vec<ChannelId>,
    /// By channel: the places of the routers that shortest paths by it lead to.
    leads: OnceCell<Leads>,
}

/// For each channel a set of places, as the words from the first to the last that are not empty.
#[derive(Default)]
struct Leads {
    /// By channel.
    parts: Vec<Part>,
    words: Vec<u64>,
}

/// Which words of a set there are, and where they start.
#[derive(Clone, Copy, Default)]
struct Part {
    first: u32,
    end: u32,
    start: usize,
}

impl Leads {
    fn contains(&self, channel: ChannelId, place: usize) -> bool {
        let Part { first, end, start } = self.parts[channel.index()];
        let word = (place / 64) as u32;
        (first..end).contains(&word) && self.words[start + (word - first) as usize] >> (place % 64) & 1 == 1
    }
}

impl ShortestWays {
    /// Searches until all wanted routers are reached.
    ///
    /// Of several paths to a channel the first is the one that is first in lexicographic order, hop by hop, in the order of [`Wanted::outputs`]. Its part up to any
    /// channel is the first path to that one: channels of a level that are looked at in the order of their first paths find those of the
    /// next in order.
    pub(crate) fn new(wanted: &Wanted<'_>) -> Self {
        let network = wanted.network;
        let mut ways = Self {
            level: vec![NONE; network.channels()],
            before: vec![NONE; network.channels()],
            places: vec![NONE; network.routers()],
            order: Vec::with_capacity(network.channels()),
            entered: Vec::new(),
            leads: OnceCell::new(),
        };
        (0..).zip(&wanted.ends).for_each(|(place, end)| ways.places[end.index()] = place);
        let mut entered: Vec<Option<ChannelId>> = vec![None; wanted.ends.len()];
        let mut missing = wanted.ends.len();
        let mut own: Vec<ChannelId> = Vec::new();
        // How many channels of each router have been found: mostly all of them by the first two that come to it.
        let mut found = vec![0; network.routers()];
        // Channels up to `end` are of lower levels, or of this one.
        let (mut level, mut next, mut end) = (1, 0, 0);
        let (mut at, mut from) = (wanted.home, None);
        loop {
            let outputs = wanted.outputs(at);
            if found[at.index()] < outputs.len() {
                // Which they are cannot be foreseen: they are all written, and the next over those that are none.
                let permits = wanted.permits(from);
                own.resize(own.len().max(outputs.len()), outputs[0]);
                let mut count = 0;
                for &channel in outputs {
                    own[count] = channel;
                    count += usize::from((ways.level[channel.index()] == NONE) & permits(channel));
                }
                found[at.index()] += count;
                for &channel in &own[..count] {
                    ways.level[channel.index()] = level;
                    ways.before[channel.index()] = from.map_or(NONE, ChannelId::raw);
                    ways.order.push(channel);
                    let place = ways.places[network.to(channel).index()];
                    if place != NONE && entered[place as usize].is_none() {
                        entered[place as usize] = Some(channel);
                        missing -= 1;
                    }
                }
            }
            if next == end {
                if missing == 0 || end == ways.order.len() {
                    break;
                }
                end = ways.order.len();
                level += 1;
            }
            let channel = ways.order[next];
            next += 1;
            (at, from) = (network.to(channel), Some(channel));
        }
        ways.entered = entered.into_iter().map(|way| way.expect("permitted turns lead everywhere")).collect();
        ways
    }

    /// Replaces `route` by the first shortest path to the router at this place.
    pub(crate) fn first(&self, place: usize, route: &mut Vec<ChannelId>) {
        route.clear();
        let mut channel = self.entered[place].raw();
        while channel != NONE {
            route.push(ChannelId::new(channel));
            channel = self.before[channel as usize];
        }
        route.reverse();
    }

    /// Whether shortest paths that go by `arrived`, or start if that is `None`, may go on by a channel.
    pub(crate) fn goes_on(&self, arrived: Option<ChannelId>, leaving: ChannelId) -> bool {
        self.level[leaving.index()] == arrived.map_or(0, |channel| self.level[channel.index()]) + 1
    }

    /// Whether a shortest path to the router at this place goes by a channel.
    pub(crate) fn leads_to(&self, wanted: &Wanted<'_>, channel: ChannelId, place: usize) -> bool {
        self.leads(wanted).contains(channel, place)
    }

    /// From the highest level down: where a channel leads is where it ends, and where those after it lead.
    ///
    /// O(turns x destinations / 64) time, and as many bits for each channel as there are destinations from the first to the last to which it leads.
    fn leads(&self, wanted: &Wanted<'_>) -> &Leads {
        self.leads.get_or_init(|| {
            let network = wanted.network;
            let mut leads = Leads { parts: vec![Part::default(); network.channels()], words: Vec::new() };
            let mut after: Vec<Part> = Vec::new();
            for &channel in self.order.iter().rev() {
                let level = self.level[channel.index()];
                let at = network.to(channel);
                let place = self.places[at.index()];
                let own = (place != NONE && self.level[self.entered[place as usize].index()] == level)
                    .then_some(place as usize);
                // As in the search.
                let (outputs, permits) = (wanted.outputs(at), wanted.permits(Some(channel)));
                after.resize(after.len().max(outputs.len()), Part::default());
                let mut count = 0;
                for &next in outputs {
                    let part = leads.parts[next.index()];
                    after[count] = part;
                    let (is_higher, leads_on) = (self.level[next.index()] == level + 1, part.end > part.first);
                    count += usize::from(is_higher & leads_on & permits(next));
                }
                let after = &after[..count];
                let word = own.map(|place| (place / 64) as u32);
                let Some(first) = after.iter().map(|part| part.first).chain(word).min() else { continue };
                let end = after.iter().map(|part| part.end).chain(word.map(|word| word + 1)).max().unwrap_or(first);
                let start = leads.words.len();
                leads.words.resize(start + (end - first) as usize, 0);
                let (before, words) = leads.words.split_at_mut(start);
                for part in after {
                    let others = &before[part.start..part.start + (part.end - part.first) as usize];
                    for (word, other) in words[(part.first - first) as usize..].iter_mut().zip(others) {
                        *word |= other;
                    }
                }
                if let (Some(place), Some(word)) = (own, word) {
                    words[(word - first) as usize] |= 1 << (place % 64);
                }
                leads.parts[channel.index()] = Part { first, end, start };
            }
            leads
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TREE_ZERO;
    use crate::algorithm::Multicast;
    use crate::algorithms::irregular::turn_trees::TurnTrees;
    use crate::algorithms::irregular::{tree_one, tree_zero};
    use crate::plan::{Branch, Plan};
    use crate::registry::descriptor::Options;
    use proptest::prelude::*;
    use wormcast_network::{NodeId, RouterId, TopologySpec};
    use wormcast_routing::{RoutingDescriptor, nearest_channels};

    const SPECS: [&str; 12] = [
        "mesh:5x6",
        "mesh:3x3x3",
        "torus:4x4",
        "torus:2x7",
        "hypercube:4",
        "ring:9",
        "complete:6",
        "tree:nodes=30,seed=2",
        "random:nodes=40,degree=3,seed=5",
        "random:nodes=90,degree=6,seed=7",
        "dragonfly:p=2,a=4,h=1",
        "hyperx:3x3,nodes=2",
    ];

    fn trees(spec: &str, routing: &str) -> TurnTrees {
        let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
        let options = Options { routing: Some(RoutingDescriptor::named(routing).unwrap()), ..Options::default() };
        TurnTrees::new(&TREE_ZERO, &network, &options).unwrap()
    }

    fn multicast(trees: &TurnTrees, source: prop::sample::Index, picks: &[prop::sample::Index]) -> Multicast {
        let node = |pick: &prop::sample::Index| NodeId::new(pick.index(trees.routing().network().nodes()) as u32);
        Multicast::new(node(&source), &picks.iter().map(node).collect::<Vec<_>>())
    }

    /// The trees of both algorithms, by one search from the source and by tables of the targets.
    fn both(trees: &TurnTrees, multicast: &Multicast, by: impl Fn(&ShortestWays, &Wanted<'_>)) -> [[Plan; 2]; 2] {
        let plan =
            |grow: &dyn Fn(&Wanted<'_>, &mut Vec<Branch>)| Plan::made(|plan| trees.plan_into(multicast, plan, grow));
        [tree_zero::grow_by, tree_one::grow_by].map(|grow| {
            let by_ways = plan(&|wanted, branches| {
                let ways = ShortestWays::new(wanted);
                by(&ways, wanted);
                grow(wanted, Some(&ways), branches);
            });
            [by_ways, plan(&|wanted, branches| grow(wanted, None, branches))]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        /// One search gives the channels that the tables of all targets give, and so the same trees.
        #[test]
        fn one_search_gives_what_tables_give(
            spec in prop::sample::select(SPECS.to_vec()),
            routing in prop::sample::select(vec!["turn-prohibition", "up-down", "up-down-deterministic"]),
            source: prop::sample::Index,
            picks in prop::collection::vec(any::<prop::sample::Index>(), 1..90),
        ) {
            let trees = trees(spec, routing);
            let multicast = multicast(&trees, source, &picks);
            let found = both(&trees, &multicast, |ways, wanted| {
                // From the source, from where every shortest path has got to.
                for (place, &target) in wanted.ends.iter().enumerate() {
                    let mut work: Vec<(RouterId, Option<ChannelId>)> = vec![(wanted.home, None)];
                    while let Some((at, arrived)) = work.pop() {
                        if at == target {
                            continue;
                        }
                        let mut nearest = Vec::new();
                        let hops = |c| (c, wanted.turns.hops(c, target));
                        nearest_channels(wanted.onwards(at, arrived).map(hops), &mut nearest);
                        let lead: Vec<_> = wanted.onwards(at, arrived).filter(|&c| ways.goes_on(arrived, c) && ways.leads_to(wanted, c, place)).collect();
                        assert_eq!(lead, nearest);
                        // One of them is enough to go on by: `place` varies.
                        work.extend(nearest.get(place % nearest.len()).map(|&c| (wanted.network.to(c), Some(c))));
                    }
                }
            });
            for [by_ways, by_tables] in found {
                prop_assert_eq!(by_ways, by_tables);
            }
        }
    }

    /// A search that takes the last of several first paths gives other trees: the comparison above would see it.
    #[test]
    fn the_order_of_paths_makes_a_difference() {
        let trees = trees("mesh:5x6", "up-down");
        let all: Vec<NodeId> = trees.routing().network().node_ids().collect();
        let multicast = Multicast::new(all[12], &all);
        let plan =
            |grow: &dyn Fn(&Wanted<'_>, &mut Vec<Branch>)| Plan::made(|plan| trees.plan_into(&multicast, plan, grow));
        let wrong = plan(&|wanted, branches| {
            let mut ways = ShortestWays::new(wanted);
            let order = std::mem::take(&mut ways.order);
            for channel in order {
                let level = ways.level[channel.index()];
                for onward in wanted.onwards(wanted.network.to(channel), Some(channel)) {
                    if ways.level[onward.index()] == level + 1 {
                        ways.before[onward.index()] = channel.raw();
                    }
                }
            }
            tree_zero::grow_by(wanted, Some(&ways), branches);
        });
        assert_ne!(wrong, plan(&|wanted, branches| tree_zero::grow_by(wanted, None, branches)));
        // A broadcast is made by one search, and a message to a single router is not.
        let (_, wanted) = trees.wanted(&multicast);
        assert!(wanted.many(4).is_some());
        let (_, one) = trees.wanted(&Multicast::new(all[12], &all[..1]));
        assert!(one.many(4).is_none());
    }
}
