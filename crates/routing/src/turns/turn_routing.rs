//! Routing over a set of permitted turns.

use std::sync::{Arc, OnceLock};

use wormcast_network::{ChannelId, Network, RouterId};

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

impl Adaptivity {
    /// The candidates among the nearest channels.
    #[inline]
    pub(crate) fn chosen<T>(self, nearest: &[T]) -> &[T] {
        match self {
            Self::Adaptive => nearest,
            Self::First => &nearest[..nearest.len().min(1)],
        }
    }
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

    /// Which of the nearest channels a header may take.
    pub(crate) fn choice(&self) -> Adaptivity {
        self.choice
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
        out.truncate(self.choice.chosen(out).len());
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
