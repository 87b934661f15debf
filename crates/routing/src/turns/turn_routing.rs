//! Routing over a set of permitted turns.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use wormcast_network::watch::{processors, shared, step};
use wormcast_network::{ChannelId, Network, RouterId};

use crate::analysis::link_load::LinkLoad;
use crate::analysis::survey::{Lengths, Survey};
use crate::capabilities::{RoutingCapabilities, Spread};
use crate::relation::{RoutingRelation, nearest_channels};
use crate::turns::turn_search::{TurnSearch, UNREACHABLE};
use crate::turns::turn_set::TurnSet;

/// Which of the channels on shortest permitted paths a header may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Adaptivity {
    /// All of them, the smallest preferred.
    #[default]
    Adaptive,
    /// The smallest: deterministic routing.
    First,
}

/// Routing on shortest permitted paths: those that take no prohibited turn.
///
/// A header may take every channel from which the target is nearest, among those that it may turn into. Which channels it may
/// take depends on the channel on which it arrived as well as on its target: a table by router and target alone can compose
/// the permitted halves of two paths into one with a prohibited turn.
///
/// Worms follow permitted turns only, also from one stop to the next, so there is no deadlock if the permitted turns have no
/// cycle ([`ChannelNumbering`](crate::ChannelNumbering)).
///
/// *Source:* paper 3, section 1 (shortest paths among those that satisfy the restrictions).
///
/// *Memory:* for each target that was asked for, one byte a channel, or two where a path has 255 hops or more, or four from
/// 65,535. A target's distances are computed when it is first asked for, in O(channels), by whichever thread comes first.
/// All targets of a network of 256 routers and degree 4 take 256 KB, of 4,096 and degree 16, 268 MB. O(degree) a hop.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{Adaptivity, TurnRouting, append_route, turn_prohibition};
///
/// let ring = "torus:5".parse::<TopologySpec>()?.build()?;
/// let routing = TurnRouting::new("turn-prohibition", &ring, turn_prohibition(&ring), Adaptivity::Adaptive);
/// let mut route = Vec::new();
/// // Worms may not turn at 0, so from 1 to 4 they go the long way.
/// append_route(&routing, RouterId::new(1), None, RouterId::new(4), &mut route)?;
/// let visited: Vec<u32> = route.iter().map(|&c| ring.to(c).raw()).collect();
/// assert_eq!(visited, [2, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TurnRouting {
    name: &'static str,
    network: Arc<Network>,
    turns: TurnSet,
    choice: Adaptivity,
    /// By target.
    rows: Box<[OnceLock<Row>]>,
}

/// Distances to one target by channel, as narrow as they fit; the largest value stands for no path.
enum Row {
    Narrow(Box<[u8]>),
    Wide(Box<[u16]>),
    Full(Box<[u32]>),
}

impl Row {
    fn new(distances: &[u32]) -> Self {
        let longest = distances.iter().copied().filter(|&d| d != UNREACHABLE).max().unwrap_or(0);
        // Clamping turns the mark for no path into that of the narrower type.
        if longest < u32::from(u8::MAX) {
            Self::Narrow(distances.iter().map(|&d| u8::try_from(d).unwrap_or(u8::MAX)).collect())
        } else if longest < u32::from(u16::MAX) {
            Self::Wide(distances.iter().map(|&d| u16::try_from(d).unwrap_or(u16::MAX)).collect())
        } else {
            Self::Full(distances.into())
        }
    }
}

impl TurnRouting {
    /// Routing over the permitted turns of `network` under this name.
    pub fn new(name: &'static str, network: &Arc<Network>, turns: TurnSet, choice: Adaptivity) -> Self {
        let rows = std::iter::repeat_with(OnceLock::new).take(network.routers()).collect();
        Self { name, network: Arc::clone(network), turns, choice, rows }
    }

    /// The turns that worms may take.
    pub fn turns(&self) -> &TurnSet {
        &self.turns
    }

    /// Hops from a channel's start through it to `target` on a shortest permitted path; `None` if there is no such path.
    ///
    /// ```
    /// use wormcast_network::{RouterId, TopologySpec};
    /// use wormcast_routing::{Adaptivity, TurnRouting, turn_prohibition};
    ///
    /// let ring = "torus:5".parse::<TopologySpec>()?.build()?;
    /// let routing = TurnRouting::new("turn-prohibition", &ring, turn_prohibition(&ring), Adaptivity::Adaptive);
    /// let channel = |from, to| ring.channel_between(RouterId::new(from), RouterId::new(to)).unwrap();
    /// assert_eq!(routing.hops(channel(1, 2), RouterId::new(4)), Some(3));
    /// // Worms may not turn at 0.
    /// assert_eq!(routing.hops(channel(1, 0), RouterId::new(4)), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn hops(&self, leaving: ChannelId, target: RouterId) -> Option<u32> {
        let place = leaving.index();
        match self.row(target) {
            Row::Narrow(row) => Some(u32::from(row[place])).filter(|&hops| hops != u32::from(u8::MAX)),
            Row::Wide(row) => Some(u32::from(row[place])).filter(|&hops| hops != u32::from(u16::MAX)),
            Row::Full(row) => Some(row[place]).filter(|&hops| hops != UNREACHABLE),
        }
    }

    fn row(&self, target: RouterId) -> &Row {
        self.rows[target.index()].get_or_init(|| {
            let mut search = TurnSearch::new(&self.network, &self.turns);
            search.towards(target);
            Row::new(search.distances())
        })
    }

    /// Replaces `out` by the permitted channels that are nearest to the target, in order.
    #[inline]
    fn nearest(
        &self,
        at: RouterId,
        arrived: Option<ChannelId>,
        distance: impl Fn(ChannelId) -> u32,
        unreachable: u32,
        out: &mut Vec<ChannelId>,
    ) {
        let network = &*self.network;
        let permitted = |leaving| arrived.is_none_or(|arriving| self.turns.permits(network, arriving, leaving));
        let hops = |leaving| Some(distance(leaving)).filter(|&hops| hops != unreachable && permitted(leaving));
        nearest_channels(network.outputs(at).map(|leaving| (leaving, hops(leaving))), out);
    }

    /// Replaces `out` by all channels on shortest permitted paths to the target, in order.
    fn all_nearest(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        out.clear();
        if at == target {
            return;
        }
        match self.row(target) {
            Row::Narrow(row) => {
                self.nearest(at, arrived, |c| u32::from(row[c.index()]), u32::from(u8::MAX), out);
            }
            Row::Wide(row) => {
                self.nearest(at, arrived, |c| u32::from(row[c.index()]), u32::from(u16::MAX), out);
            }
            Row::Full(row) => self.nearest(at, arrived, |c| row[c.index()], UNREACHABLE, out),
        }
    }

    /// Follows a route by the first of the nearest channels: the one behind a channel is nearer by one hop.
    #[inline]
    fn descend(
        &self,
        (mut at, mut arrived): (RouterId, Option<ChannelId>),
        target: RouterId,
        distance: impl Fn(ChannelId) -> u32,
        unreachable: u32,
        route: &mut Vec<ChannelId>,
    ) -> bool {
        let network = &*self.network;
        let mut hops = match arrived.map(&distance) {
            Some(hops) if hops == unreachable => return false,
            Some(hops) => hops.saturating_sub(1),
            None => network.outputs(at).map(&distance).min().unwrap_or(unreachable),
        };
        if hops == unreachable {
            return false;
        }
        while at != target {
            let permitted = |leaving| arrived.is_none_or(|arriving| self.turns.permits(network, arriving, leaving));
            let next = network.outputs(at).find(|&leaving| distance(leaving) == hops && permitted(leaving));
            let Some(next) = next else { return false };
            route.push(next);
            (at, arrived, hops) = (network.to(next), Some(next), hops.saturating_sub(1));
        }
        true
    }

    /// The candidates among the nearest channels.
    #[inline]
    fn chosen<'c>(&self, nearest: &'c [ChannelId]) -> &'c [ChannelId] {
        match self.choice {
            Adaptivity::Adaptive => nearest,
            Adaptivity::First => &nearest[..nearest.len().min(1)],
        }
    }

    /// Measures the routes between all pairs of different routers, and how unicasts between all pairs of nodes load the channels.
    ///
    /// O(routers x channels) for the distances, and up to a factor of the degree for the load, on as many threads as the machine has where the network is large. O(channels)
    /// memory for each thread, since the tables are not kept.
    pub fn survey(&self) -> (Survey, LinkLoad) {
        /// Routers from which threads pay off.
        const LARGE: usize = 1 << 11;
        self.survey_on(if self.network.routers() < LARGE { 1 } else { processors() })
    }

    /// The same on so many threads, which makes no difference to what is found.
    fn survey_on(&self, threads: usize) -> (Survey, LinkLoad) {
        /// Targets of a thread before their loads are added up, which is done in the order of targets: sums depend on it in their last digits.
        const TARGETS: usize = 8;
        let routers = self.network.routers();
        let mut lengths = Lengths::new();
        let mut load = vec![0.0; self.network.channels()];
        if threads == 1 {
            let mut measuring = Measuring::new(self);
            for target in self.network.router_ids() {
                step("measuring routes", "destinations", target.index(), routers);
                measuring.towards(target, &mut lengths, |channel, crossing| load[channel.index()] += crossing);
            }
        } else {
            let mut shares: Vec<Share<'_>> = (0..threads).map(|_| Share::new(self)).collect();
            for start in (0..routers).step_by(threads * TARGETS) {
                let targets = start..routers.min(start + threads * TARGETS);
                shares = shared(("measuring routes", "destinations"), (1, targets, routers), shares, Share::measure);
                let mut loads: Vec<_> = shares.iter_mut().flat_map(Share::take).collect();
                loads.sort_unstable_by_key(|&&(target, _)| target);
                for (_, own) in loads {
                    for &(channel, crossing) in own {
                        load[channel.index()] += crossing;
                    }
                }
            }
            for share in shares {
                lengths.merge(share.lengths);
            }
        }
        // All candidates are on shortest routes, which are equally long: no need to add up fractions.
        let mean = lengths.node_hops() as f64 / load.len().max(1) as f64;
        (lengths.survey(), LinkLoad { mean, ..LinkLoad::new(load) })
    }
}

/// The channels that worms to a target cross, and how many pairs of nodes do so.
type Loads = Vec<(ChannelId, f64)>;

/// What one thread measures.
struct Share<'a> {
    measuring: Measuring<'a>,
    lengths: Lengths,
    /// Of the targets since the last [`take`](Self::take); the rest are there to be used again.
    loads: Vec<(usize, Loads)>,
    used: usize,
}

impl<'a> Share<'a> {
    fn new(routing: &'a TurnRouting) -> Self {
        Self { measuring: Measuring::new(routing), lengths: Lengths::new(), loads: Vec::new(), used: 0 }
    }

    fn measure(&mut self, targets: Range<usize>) {
        for target in targets {
            if self.used == self.loads.len() {
                self.loads.push((target, Vec::new()));
            }
            let (of, own) = &mut self.loads[self.used];
            self.used += 1;
            *of = target;
            own.clear();
            self.measuring.towards(RouterId::new(target as u32), &mut self.lengths, |channel, crossing| {
                own.push((channel, crossing));
            });
        }
    }

    fn take(&mut self) -> impl Iterator<Item = &(usize, Loads)> {
        self.loads[..std::mem::take(&mut self.used)].iter()
    }
}

/// What of the traffic to one target enters each channel: nothing, for most of them.
struct Flow {
    by_channel: Vec<f64>,
    /// A bit for each channel that anything enters, which fit into a nearer cache.
    entered: Vec<u64>,
}

impl Flow {
    fn new(channels: usize) -> Self {
        Self { by_channel: vec![0.0; channels], entered: vec![0; channels.div_ceil(64)] }
    }

    /// Divides traffic evenly among channels.
    #[inline]
    fn enter(&mut self, channels: &[ChannelId], traffic: f64) {
        let share = traffic / channels.len().max(1) as f64;
        for channel in channels.iter().map(|channel| channel.index()) {
            self.by_channel[channel] += share;
            self.entered[channel / 64] |= 1 << (channel % 64);
        }
    }

    /// Takes what enters a channel.
    #[inline]
    fn take(&mut self, channel: ChannelId) -> Option<f64> {
        let (word, bit) = (&mut self.entered[channel.index() / 64], 1 << (channel.index() % 64));
        if *word & bit == 0 {
            return None;
        }
        *word &= !bit;
        Some(std::mem::take(&mut self.by_channel[channel.index()]))
    }
}

/// Follows the worms to one router after the other.
struct Measuring<'a> {
    routing: &'a TurnRouting,
    search: TurnSearch<'a>,
    flow: Flow,
    /// The candidates in the source router, for all routers one after the other, and where those of each start.
    nearest: Vec<ChannelId>,
    first: Vec<usize>,
    candidates: Vec<ChannelId>,
}

impl<'a> Measuring<'a> {
    fn new(routing: &'a TurnRouting) -> Self {
        let network = &*routing.network;
        Self {
            routing,
            search: TurnSearch::new(network, &routing.turns),
            flow: Flow::new(network.channels()),
            nearest: vec![ChannelId::new(0); network.channels() + 1],
            first: vec![0; network.routers() + 1],
            candidates: Vec::new(),
        }
    }

    /// Adds the lengths of the routes to a router, and says how many pairs of nodes cross each channel that has any, once.
    #[inline]
    fn towards(&mut self, target: RouterId, lengths: &mut Lengths, mut load: impl FnMut(ChannelId, f64)) {
        let Self { routing, search, flow, nearest, first, candidates } = self;
        let network = &*routing.network;
        let receivers = network.nodes_of(target).len();
        search.along_paths(target);
        let mut end = 0;
        for source in network.router_ids() {
            if source != target {
                let outputs = network.outputs(source);
                let mut hops = UNREACHABLE;
                for leaving in outputs.clone() {
                    hops = hops.min(search.distance(leaving));
                }
                if hops != UNREACHABLE {
                    // Without branches: which of them are the nearest cannot be foreseen.
                    for leaving in outputs {
                        nearest[end] = leaving;
                        end += usize::from(search.distance(leaving) == hops);
                    }
                }
                let senders = network.nodes_of(source).len();
                flow.enter(routing.chosen(&nearest[first[source.index()]..end]), senders as f64);
                lengths.add(senders * receivers, Some(hops).filter(|&hops| hops != UNREACHABLE));
            }
            first[source.index() + 1] = end;
        }
        for channel in search.furthest_first() {
            let Some(entering) = flow.take(channel).filter(|&entering| entering != 0.0) else { continue };
            load(channel, entering * receivers as f64);
            let at = network.to(channel);
            if at == target {
                continue;
            }
            // Most who arrive are as near as those who start here: then theirs are the only candidates.
            candidates.clear();
            let from_here = &nearest[first[at.index()]..first[at.index() + 1]];
            for &next in from_here {
                if routing.turns.permits(network, channel, next) {
                    candidates.push(next);
                }
            }
            if candidates.is_empty() {
                routing.nearest(at, Some(channel), |c| search.distance(c), UNREACHABLE, candidates);
            }
            flow.enter(routing.chosen(candidates), entering);
        }
    }
}

impl RoutingRelation for TurnRouting {
    fn name(&self) -> &'static str {
        self.name
    }

    fn network(&self) -> &Arc<Network> {
        &self.network
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        self.all_nearest(at, arrived, target, out);
        out.truncate(self.chosen(out).len());
    }

    fn follow(
        &self,
        from: RouterId,
        arrived: Option<ChannelId>,
        to: RouterId,
        _: &mut Vec<ChannelId>,
        route: &mut Vec<ChannelId>,
    ) -> bool {
        let start = (from, arrived);
        if from == to {
            return true;
        }
        match self.row(to) {
            Row::Narrow(row) => self.descend(start, to, |c| u32::from(row[c.index()]), u32::from(u8::MAX), route),
            Row::Wide(row) => self.descend(start, to, |c| u32::from(row[c.index()]), u32::from(u16::MAX), route),
            Row::Full(row) => self.descend(start, to, |c| row[c.index()], UNREACHABLE, route),
        }
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities {
            spread: Some(self),
            turns: Some(self),
            // A byte a channel where no route has 255 hops.
            target_bytes: self.network.channels() as u64,
            ..RoutingCapabilities::default()
        }
    }
}

impl Spread for TurnRouting {
    /// Adds the parallel channels from which the target is as near by permitted turns; all of them are candidates already where
    /// the choice is free.
    fn spread(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        let network = self.network();
        self.all_nearest(at, arrived, target, out);
        if let (Adaptivity::First, Some(&first)) = (self.choice, out.first()) {
            out.retain(|&channel| network.to(channel) == network.to(first));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn_prohibition;
    use wormcast_network::TopologySpec;

    /// To the last bit, whatever the number of threads; adding up in another order makes another last bit.
    #[test]
    fn threads_make_no_difference() {
        for spec in ["random:nodes=150,degree=5,seed=2", "mesh:9x8", "hyperx:3x3,nodes=2", "ring:5"] {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            for choice in [Adaptivity::Adaptive, Adaptivity::First] {
                let routing = TurnRouting::new("x", &network, turn_prohibition(&network), choice);
                let (survey, load) = routing.survey_on(1);
                for threads in [2, 3, 7] {
                    assert_eq!(routing.survey_on(threads), (survey, load.clone()), "{spec} on {threads} threads");
                }
            }
        }
        let network = "random:nodes=150,degree=5,seed=2".parse::<TopologySpec>().unwrap().build().unwrap();
        let routing = TurnRouting::new("x", &network, turn_prohibition(&network), Adaptivity::Adaptive);
        let mut measuring = Measuring::new(&routing);
        let mut backwards = vec![0.0; network.channels()];
        for target in network.router_ids().collect::<Vec<_>>().into_iter().rev() {
            measuring.towards(target, &mut Lengths::new(), |channel, crossing| backwards[channel.index()] += crossing);
        }
        assert_ne!(*routing.survey_on(1).1.by_channel, backwards);
    }
}
