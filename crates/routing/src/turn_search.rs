//! Shortest permitted paths to one target, over channels.

use wormcast_network::{ChannelId, Network, RouterId};

use crate::turn_set::TurnSet;

/// No permitted path.
pub(crate) const UNREACHABLE: u32 = u32::MAX;

/// Breadth-first search backwards from a target over permitted turns, to be used for many targets.
///
/// O(channels) a target, whatever the degrees: every router hands out its arriving channels once. The channels that may
/// turn into a link are a prefix of the router's channels sorted by group, and special ones from the end; both only grow
/// while more and more links are found to lead to the target, so two places in that order tell which channels have been
/// handed out.
pub(crate) struct TurnSearch<'a> {
    network: &'a Network,
    turns: &'a TurnSet,
    /// By router: the first of its channels; one more at the end.
    first: Vec<u32>,
    /// By router: those before this place have been handed out, ...
    low: Vec<u32>,
    /// ... and the special ones from this place on.
    high: Vec<u32>,
    /// By router: the channel that was not handed out because worms would have gone back on its link.
    kept_back: Vec<Option<ChannelId>>,
    /// By channel: hops from its start to the target through it.
    distance: Vec<u32>,
    /// The channels that lead to the target, the nearest first.
    order: Vec<ChannelId>,
}

impl<'a> TurnSearch<'a> {
    pub(crate) fn new(network: &'a Network, turns: &'a TurnSet) -> Self {
        let routers = network.routers();
        let mut first = Vec::with_capacity(routers + 1);
        let mut channels = 0;
        for router in (0..routers as u32).map(RouterId::new) {
            first.push(channels);
            channels += network.outputs(router).len() as u32;
        }
        first.push(channels);
        Self {
            network,
            turns,
            first,
            low: Vec::with_capacity(routers),
            high: Vec::with_capacity(routers),
            kept_back: vec![None; routers],
            distance: vec![UNREACHABLE; network.channels()],
            order: Vec::with_capacity(network.channels()),
        }
    }

    /// Finds the shortest permitted paths to `target`.
    pub(crate) fn towards(&mut self, target: RouterId) {
        let network = self.network;
        self.distance.fill(UNREACHABLE);
        self.order.clear();
        self.low.clear();
        self.low.extend_from_slice(&self.first[..network.routers()]);
        self.high.clear();
        self.high.extend_from_slice(&self.first[1..]);
        self.kept_back.fill(None);
        for output in network.outputs(target) {
            let arriving = network.reverse(output);
            self.distance[arriving.index()] = 1;
            self.order.push(arriving);
        }
        let mut next = 0;
        while let Some(&leaving) = self.order.get(next) {
            next += 1;
            // A worm that is at the target has arrived.
            if network.from(leaving) != target {
                self.hand_out(leaving);
            }
        }
    }

    /// Reaches the channels that may turn into `leaving` and have not been reached.
    fn hand_out(&mut self, leaving: ChannelId) {
        let router = self.network.from(leaving).index();
        let hops = self.distance[leaving.index()] + 1;
        let label = self.turns.label(leaving);
        let back = self.network.reverse(leaving);
        if let Some(kept) = self.kept_back[router].take() {
            // It was kept back by its own link, which is free: everything may turn into any other.
            self.reach(kept, hops);
        }
        // Whatever may turn into a special link, or any other of its group: groups below this one ...
        let below = match label {
            label if label.is_free() => u32::MAX,
            label if label.is_special() => label.number(),
            _ => 1,
        };
        let (mut low, end) = (self.low[router], self.first[router + 1]);
        while low < end {
            let link = self.turns.by_group(low);
            if link.label.number() >= below {
                break;
            }
            low += 1;
            if link.arriving == back {
                self.kept_back[router] = Some(back);
            } else {
                self.reach(link.arriving, hops);
            }
        }
        self.low[router] = low;
        // ... and the special links of later ones.
        let mut high = self.high[router];
        while high > low {
            let link = self.turns.by_group(high - 1);
            if link.label.number() <= label.number() {
                break;
            }
            high -= 1;
            if link.label.is_special() {
                self.reach(link.arriving, hops);
            }
        }
        self.high[router] = high;
    }

    fn reach(&mut self, arriving: ChannelId, hops: u32) {
        let distance = &mut self.distance[arriving.index()];
        if *distance == UNREACHABLE {
            *distance = hops;
            self.order.push(arriving);
        }
    }

    /// Hops from a channel's start through it to the target, or [`UNREACHABLE`].
    #[inline]
    pub(crate) fn distance(&self, channel: ChannelId) -> u32 {
        self.distance[channel.index()]
    }

    /// All distances, by channel.
    pub(crate) fn distances(&self) -> &[u32] {
        &self.distance
    }

    /// The channels that lead to the target, the nearest first.
    pub(crate) fn order(&self) -> &[ChannelId] {
        &self.order
    }
}
