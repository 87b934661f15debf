//! Shortest ways in dragonflies, `HyperX` and Slim Flies, and their classes of virtual channels.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, RouterId, Shape};

use crate::capabilities::{Lanes, VcRange};

/// The networks that it knows, for messages.
pub(super) const MACHINES: &str = "a dragonfly, a HyperX or a Slim Fly";

/// A class among several into which a link's virtual channels are divided evenly.
#[derive(Clone, Copy)]
pub(super) struct Class {
    pub(super) number: u8,
    pub(super) of: u8,
}

impl Class {
    /// Its virtual channels of `count`, which are not fewer than the classes.
    pub(super) fn range(self, count: u8) -> VcRange {
        let start = |class: u8| (u32::from(class) * u32::from(count) / u32::from(self.of)) as u8;
        VcRange { first: start(self.number), last: start(self.number + 1) - 1 }
    }
}

/// Which part of a shortest way a channel is: in a dragonfly the hop within the source's group, that between groups, and that within the target's group; in a Slim Fly the
/// first of two hops, or the last; in a `HyperX` all are the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    First,
    Between,
    Last,
}

/// Shortest ways.
#[derive(Clone, Debug)]
pub(super) struct Ways {
    network: Arc<Network>,
}

impl Ways {
    /// `None` if the network is of another kind.
    pub(super) fn new(network: &Arc<Network>) -> Option<Self> {
        let known = matches!(network.shape(), Shape::Dragonfly(_) | Shape::HyperX(_) | Shape::SlimFly(_));
        known.then(|| Self { network: Arc::clone(network) })
    }

    pub(super) fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// The channels from one router on the shortest ways to another that there are to take, in the order of channels. In a dragonfly and a `HyperX` one.
    pub(super) fn each(&self, at: RouterId, target: RouterId, mut take: impl FnMut(ChannelId, Part)) {
        let network = &*self.network;
        if at == target {
            return;
        }
        match network.shape() {
            Shape::Dragonfly(dragonfly) => {
                let (here, there) = (dragonfly.group(at), dragonfly.group(target));
                let (next, part) = if here == there {
                    (target, Part::Last)
                } else {
                    let gateway = dragonfly.gateway(here, there);
                    if gateway == at { (dragonfly.gateway(there, here), Part::Between) } else { (gateway, Part::First) }
                };
                network.channel_between(at, next).into_iter().for_each(|channel| take(channel, part));
            }
            Shape::HyperX(hyperx) => {
                let differs = |d: &usize| {
                    hyperx.grid().coordinate(at.index(), *d) != hyperx.grid().coordinate(target.index(), *d)
                };
                let next = (0..hyperx.grid().dimensions()).find(differs).map(|d| hyperx.towards(at, target, d));
                next.and_then(|next| network.channel_between(at, next)).into_iter().for_each(|c| take(c, Part::Last));
            }
            Shape::SlimFly(fly) => {
                if let Some(channel) = network.channel_between(at, target) {
                    return take(channel, Part::Last);
                }
                let on_way = |&channel: &ChannelId| fly.joined(network.to(channel), target);
                network.outputs(at).filter(on_way).for_each(|channel| take(channel, Part::First));
            }
            _ => {}
        }
    }

    /// The first channel of a shortest way, and its hops; `None` from a router to itself.
    pub(super) fn shortest(&self, from: RouterId, to: RouterId) -> Option<(ChannelId, u64)> {
        let (mut at, mut first, mut hops) = (from, None, 0);
        while at != to {
            let mut next = None;
            self.each(at, to, |channel, _| next = next.or(Some(channel)));
            first = first.or(next);
            (at, hops) = (self.network.to(next?), hops + 1);
        }
        Some((first?, hops))
    }

    /// How many classes shortest ways alone need.
    pub(super) fn classes(&self) -> u8 {
        if matches!(self.network.shape(), Shape::HyperX(_)) { 1 } else { 2 }
    }

    /// Replaces `out` by what a header may take to go straight: a second class for the last hop, after another.
    pub(super) fn lanes(&self, at: RouterId, target: RouterId, count: u8, out: &mut Lanes) {
        out.clear();
        self.each(at, target, |channel, part| {
            let class = match part {
                Part::Between => Class { number: 0, of: 1 },
                Part::First => Class { number: 0, of: 2 },
                Part::Last => Class { number: self.classes() - 1, of: self.classes() },
            };
            out.push((channel, class.range(count)));
        });
    }
}
