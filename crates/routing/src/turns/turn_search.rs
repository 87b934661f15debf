//! Shortest permitted paths to one target, over channels.

use wormcast_network::{ChannelId, Network, RouterId};

use crate::turns::turn_set::{LinkEnd, TurnSet};

/// No permitted path.
pub(crate) const UNREACHABLE: u32 = u32::MAX;

/// Which arriving channels of a router the search has handed out, as positions in the order of groups.
#[derive(Clone, Copy)]
struct HandedOut {
    /// Those before this position have been handed out, ...
    low: u32,
    /// ... and the special ones from this position on.
    high: u32,
    end: u32,
    /// The channel that was not handed out because worms would have gone back on its link.
    kept_back: Option<LinkEnd>,
}

/// A channel that leads to the target.
#[derive(Clone, Copy)]
struct Reached {
    channel: ChannelId,
    from: RouterId,
}

/// Breadth-first search backwards from a target over permitted turns, to be used for many targets.
///
/// O(channels) a target, whatever the degrees: every router hands out its arriving channels once. The channels that may
/// turn into a link are a prefix of the router's channels sorted by group, and special ones from the end; both only grow
/// while more and more links are found to lead to the target, so two places in that order tell which channels have been
/// handed out.
pub(crate) struct TurnSearch<'a> {
    network: &'a Network,
    turns: &'a TurnSet,
    /// By router, with nothing handed out.
    fresh: Vec<HandedOut>,
    /// By router.
    handed_out: Vec<HandedOut>,
    /// By router: whether all of them have been, which is so for most of the search and fits into the nearest cache.
    all_out: Vec<bool>,
    /// By channel: hops from its start to the target through it.
    distance: Vec<u32>,
    /// The channels that lead to the target, the nearest first.
    order: Vec<Reached>,
}

impl<'a> TurnSearch<'a> {
    pub(crate) fn new(network: &'a Network, turns: &'a TurnSet) -> Self {
        let routers = network.routers();
        let mut fresh = Vec::with_capacity(routers);
        let mut low = 0;
        for router in (0..routers as u32).map(RouterId::new) {
            let end = low + network.outputs(router).len() as u32;
            fresh.push(HandedOut { low, high: end, end, kept_back: None });
            low = end;
        }
        Self {
            network,
            turns,
            handed_out: Vec::with_capacity(routers),
            fresh,
            all_out: Vec::with_capacity(routers),
            distance: vec![UNREACHABLE; network.channels()],
            order: Vec::with_capacity(network.channels()),
        }
    }

    /// Finds the shortest permitted paths to `target`.
    pub(crate) fn towards(&mut self, target: RouterId) {
        let network = self.network;
        self.distance.fill(UNREACHABLE);
        self.order.clear();
        self.handed_out.clone_from(&self.fresh);
        self.all_out.clear();
        self.all_out.resize(network.routers(), false);
        // A worm that is at the target has arrived.
        self.all_out[target.index()] = true;
        for output in network.outputs(target) {
            let arriving = network.reverse(output);
            self.distance[arriving.index()] = 1;
            self.order.push(Reached { channel: arriving, from: network.to(output) });
        }
        let mut next = 0;
        while let Some(&leaving) = self.order.get(next) {
            next += 1;
            // As soon as one free link leads to the target and another link too: most of the time.
            if !self.all_out[leaving.from.index()] {
                self.hand_out(leaving);
            }
        }
    }

    /// Reaches the channels that may turn into `leaving` and have not been reached.
    fn hand_out(&mut self, Reached { channel: leaving, from }: Reached) {
        let router = from.index();
        let HandedOut { mut low, mut high, end, kept_back } = self.handed_out[router];
        let hops = self.distance[leaving.index()] + 1;
        let label = self.turns.label(leaving);
        let back = self.network.reverse(leaving);
        if let Some(kept) = kept_back {
            // It was kept back by its own link, which is free: everything may turn into any other.
            self.reach(kept, hops);
        }
        let mut keep_back = None;
        // Whatever may turn into a special link, or any other of its group: groups below this one ...
        let below = match label {
            label if label.is_free() => u32::MAX,
            label if label.is_special() => label.number(),
            _ => 1,
        };
        while low < end {
            let link = self.turns.by_group(low);
            if link.label.number() >= below {
                break;
            }
            low += 1;
            if link.arriving == back {
                keep_back = Some(link);
            } else {
                self.reach(link, hops);
            }
        }
        // ... and the special links of later ones.
        while high > low {
            let link = self.turns.by_group(high - 1);
            if link.label.number() <= label.number() {
                break;
            }
            high -= 1;
            if link.label.is_special() {
                self.reach(link, hops);
            }
        }
        self.handed_out[router] = HandedOut { low, high, end, kept_back: keep_back };
        self.all_out[router] = low == end && keep_back.is_none();
    }

    #[inline]
    fn reach(&mut self, LinkEnd { arriving, from, .. }: LinkEnd, hops: u32) {
        let distance = &mut self.distance[arriving.index()];
        if *distance == UNREACHABLE {
            *distance = hops;
            self.order.push(Reached { channel: arriving, from });
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

    /// The channels that lead to the target, the furthest first.
    pub(crate) fn furthest_first(&self) -> impl Iterator<Item = ChannelId> {
        self.order.iter().rev().map(|reached| reached.channel)
    }
}
