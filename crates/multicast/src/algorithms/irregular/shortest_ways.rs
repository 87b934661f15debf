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
    /// Channels by level; at the same level in the order of their first paths.
    order: Vec<ChannelId>,
    /// By place of the destination's router: the channel by which the first shortest path enters it.
    entered: Vec<ChannelId>,
    /// By channel: the places of the routers that shortest paths by it lead to.
    leads: OnceCell<Vec<Part>>,
}

/// A set of places, as the words from `first` on that are not empty.
#[derive(Clone, Default)]
struct Part {
    first: u32,
    words: Box<[u64]>,
}

impl Part {
    fn contains(&self, place: usize) -> bool {
        let word = (place / 64).checked_sub(self.first as usize).and_then(|word| self.words.get(word));
        word.is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    fn end(&self) -> u32 {
        self.first + self.words.len() as u32
    }
}

impl ShortestWays {
    /// Searches until all wanted routers are reached.
    ///
    /// Of several paths to a channel the first is the one that is first in lexicographic order, hop by hop, by [`Wanted::by_next`]. Its part up to any
    /// channel is the first path to that one: channels of a level that are looked at in the order of their first paths find those of the
    /// next in order.
    pub(crate) fn new(wanted: &Wanted<'_>) -> Self {
        let network = wanted.network;
        let mut ways = Self {
            level: vec![NONE; network.channels()],
            before: vec![NONE; network.channels()],
            order: Vec::new(),
            entered: Vec::new(),
            leads: OnceCell::new(),
        };
        let mut entered: Vec<Option<ChannelId>> = vec![None; wanted.ends.len()];
        let mut missing = wanted.ends.len();
        let mut own: Vec<ChannelId> = Vec::new();
        // Channels up to `end` are of lower levels, or of this one.
        let (mut level, mut next, mut end) = (1, 0, 0);
        own.extend(network.outputs(wanted.home));
        let mut from = None;
        loop {
            own.sort_unstable_by_key(|&channel| wanted.by_next(channel));
            for channel in own.drain(..) {
                ways.level[channel.index()] = level;
                ways.before[channel.index()] = from.map_or(NONE, ChannelId::raw);
                ways.order.push(channel);
                if let Some(place) = wanted.place_of(network.to(channel))
                    && entered[place].is_none()
                {
                    entered[place] = Some(channel);
                    missing -= 1;
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
            from = Some(channel);
            let onwards = wanted.onwards(network.to(channel), Some(channel));
            own.extend(onwards.filter(|onward| ways.level[onward.index()] == NONE));
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

    /// Whether a shortest path to the router at this place goes by `arrived`, or starts if that is `None`, and then by `leaving`.
    pub(crate) fn lead(
        &self,
        wanted: &Wanted<'_>,
        arrived: Option<ChannelId>,
        leaving: ChannelId,
        place: usize,
    ) -> bool {
        let level = arrived.map_or(0, |channel| self.level[channel.index()]);
        self.level[leaving.index()] == level + 1 && self.leads_to(wanted, leaving, place)
    }

    /// Whether a shortest path to the router at this place goes by a channel.
    pub(crate) fn leads_to(&self, wanted: &Wanted<'_>, channel: ChannelId, place: usize) -> bool {
        self.leads(wanted)[channel.index()].contains(place)
    }

    /// From the highest level down: where a channel leads is where it ends, and where those after it lead.
    ///
    /// O(turns x destinations / 64) time, and as many bits for each channel as there are destinations from the first to the last to which it leads.
    fn leads(&self, wanted: &Wanted<'_>) -> &[Part] {
        self.leads.get_or_init(|| {
            let network = wanted.network;
            let mut leads = vec![Part::default(); network.channels()];
            let mut after: Vec<ChannelId> = Vec::new();
            for &channel in self.order.iter().rev() {
                let level = self.level[channel.index()];
                let at = network.to(channel);
                let lowest = |place: &usize| self.level[self.entered[*place].index()] == level;
                let own = wanted.place_of(at).filter(lowest);
                let goes_on =
                    |next: &ChannelId| self.level[next.index()] == level + 1 && !leads[next.index()].words.is_empty();
                after.clear();
                after.extend(wanted.onwards(at, Some(channel)).filter(goes_on));
                let word = own.map(|place| (place / 64) as u32);
                let parts = || after.iter().map(|next| &leads[next.index()]);
                let Some(first) = parts().map(|part| part.first).chain(word).min() else { continue };
                let end = parts().map(Part::end).chain(word.map(|word| word + 1)).max().unwrap_or(first);
                let mut words = vec![0; (end - first) as usize];
                for part in parts() {
                    for (word, other) in words[(part.first - first) as usize..].iter_mut().zip(&part.words) {
                        *word |= other;
                    }
                }
                if let (Some(place), Some(word)) = (own, word) {
                    words[(word - first) as usize] |= 1 << (place % 64);
                }
                leads[channel.index()] = Part { first, words: words.into() };
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
    use crate::plan::Plan;
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
        [tree_zero::grow_by, tree_one::grow_by].map(|grow| {
            let by_ways = trees.plan(multicast, |wanted| {
                let ways = ShortestWays::new(wanted);
                by(&ways, wanted);
                grow(wanted, Some(&ways))
            });
            [by_ways, trees.plan(multicast, |wanted| grow(wanted, None))]
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
                for (place, &(target, _)) in wanted.ends.iter().enumerate() {
                    let mut work: Vec<(RouterId, Option<ChannelId>)> = vec![(wanted.home, None)];
                    while let Some((at, arrived)) = work.pop() {
                        if at == target {
                            continue;
                        }
                        let mut nearest = Vec::new();
                        let hops = |c| (c, wanted.turns.hops(c, target));
                        nearest_channels(wanted.onwards(at, arrived).map(hops), &mut nearest);
                        let lead: Vec<_> = wanted.onwards(at, arrived).filter(|&c| ways.lead(wanted, arrived, c, place)).collect();
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
        let wrong = trees.plan(&multicast, |wanted| {
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
            tree_zero::grow_by(wanted, Some(&ways))
        });
        assert_ne!(wrong, trees.plan(&multicast, |wanted| tree_zero::grow_by(wanted, None)));
        // A broadcast is made by one search, and a message to a single router is not.
        let (_, wanted) = trees.wanted(&multicast);
        assert!(wanted.many().is_some());
        let (_, one) = trees.wanted(&Multicast::new(all[12], &all[..1]));
        assert!(one.many().is_none());
    }
}
