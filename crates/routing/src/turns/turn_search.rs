//! Shortest permitted paths to one target, over channels.

use wormcast_network::{ChannelId, Network, RouterId};

use crate::turns::turn_set::{Label, LinkEnd, TurnSet};

/// No permitted path.
pub(crate) const UNREACHABLE: u32 = u32::MAX;

/// Which arriving channels of a router the search has handed out, as positions in the order of groups.
#[derive(Clone, Copy)]
struct HandedOut {
    /// Those before this position have been handed out, ...
    low: u32,
    /// ... and the special ones from this position on.
    high: u32,
    /// The position of the one that was not handed out because worms would have gone back on its link, or `NONE`.
    kept_back: u32,
}

const NONE: u32 = u32::MAX;

/// A channel that leads to the target.
#[derive(Clone, Copy)]
struct Reached {
    channel: ChannelId,
    from: RouterId,
    /// How that router classifies its link.
    label: Label,
}

/// What a router may still hand out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Everything,
    Anything,
    /// What may turn into a free or a special link.
    LessThanGroups,
    /// Nothing: as soon as one free link leads to the target and another link too.
    Nothing,
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
    /// By router, where anything has been handed out.
    handed_out: Vec<HandedOut>,
    /// By router: what this comes to, in as little memory as possible, since every channel asks.
    left: Vec<Left>,
    /// By channel: hops from its start to the target through it.
    distance: Vec<u32>,
    /// The channels that lead to the target, the nearest first.
    order: Vec<Reached>,
}

impl<'a> TurnSearch<'a> {
    pub(crate) fn new(network: &'a Network, turns: &'a TurnSet) -> Self {
        let routers = network.routers();
        Self {
            network,
            turns,
            handed_out: vec![HandedOut { low: 0, high: 0, kept_back: NONE }; routers],
            left: Vec::with_capacity(routers),
            distance: vec![UNREACHABLE; network.channels()],
            order: Vec::with_capacity(network.channels()),
        }
    }

    /// Finds the shortest permitted paths to `target`.
    pub(crate) fn towards(&mut self, target: RouterId) {
        let network = self.network;
        self.distance.fill(UNREACHABLE);
        self.order.clear();
        self.left.clear();
        self.left.resize(network.routers(), Left::Everything);
        // A worm that is at the target has arrived.
        self.left[target.index()] = Left::Nothing;
        for output in network.outputs(target) {
            let arriving = network.reverse(output);
            self.distance[arriving.index()] = 1;
            self.order.push(Reached { channel: arriving, from: network.to(output), label: self.turns.label(arriving) });
        }
        let mut next = 0;
        while let Some(&leaving) = self.order.get(next) {
            next += 1;
            match self.left[leaving.from.index()] {
                Left::Everything | Left::Anything => self.hand_out(leaving),
                Left::LessThanGroups if !leaving.label.is_plain() => self.hand_out(leaving),
                Left::LessThanGroups | Left::Nothing => {}
            }
        }
    }

    /// Reaches the channels that may turn into `leaving` and have not been reached.
    fn hand_out(&mut self, Reached { channel: leaving, from, label }: Reached) {
        let router = from.index();
        let (first, end) = self.network.output_places(from);
        let fresh = HandedOut { low: first, high: end, kept_back: NONE };
        let known = if self.left[router] == Left::Everything { fresh } else { self.handed_out[router] };
        let HandedOut { mut low, mut high, kept_back } = known;
        let hops = self.distance[leaving.index()] + 1;
        let back = self.network.reverse(leaving);
        if kept_back != NONE {
            // It was kept back by its own link, which is free: everything may turn into any other.
            self.reach(self.turns.by_group(kept_back), hops);
        }
        let mut keep_back = NONE;
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
            if link.arriving == back {
                keep_back = low;
            } else {
                self.reach(link, hops);
            }
            low += 1;
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
        self.handed_out[router] = HandedOut { low, high, kept_back: keep_back };
        let left = &mut self.left[router];
        *left = match *left {
            _ if keep_back != NONE => Left::Anything,
            _ if low == end => Left::Nothing,
            // Into other groups, and not their special links, nothing may turn that may not turn into this one.
            _ if label == Label::group(1) => Left::LessThanGroups,
            Left::Everything => Left::Anything,
            left => left,
        };
    }

    #[inline]
    fn reach(&mut self, LinkEnd { arriving, from, label_there, .. }: LinkEnd, hops: u32) {
        let distance = &mut self.distance[arriving.index()];
        if *distance == UNREACHABLE {
            *distance = hops;
            self.order.push(Reached { channel: arriving, from, label: label_there });
        }
    }

    /// Hops from each channel's start through it to the target, or [`UNREACHABLE`].
    pub(crate) fn distances(&self) -> &[u32] {
        &self.distance
    }
}
