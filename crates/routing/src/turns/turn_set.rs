//! Sets of prohibited turns.

use wormcast_network::{ChannelId, Network, RouterId};

/// How a router classifies one of its links.
///
/// Packed, because every hop of a header reads one for each link: 0 is free, else twice the group, plus one for the
/// special link of its group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Label(u32);

impl Label {
    /// All turns between this link and others are permitted.
    pub(crate) const FREE: Self = Self(0);

    /// A link of a group, counted from 1.
    pub(crate) fn group(group: u32) -> Self {
        Self(group << 1)
    }

    /// The link by which earlier groups may turn into this one.
    pub(crate) fn special(group: u32) -> Self {
        Self(group << 1 | 1)
    }

    pub(crate) fn is_free(self) -> bool {
        self == Self::FREE
    }

    pub(crate) fn is_special(self) -> bool {
        self.0 & 1 == 1
    }

    /// Whether it is a link of a group, and not the special one.
    #[inline]
    pub(crate) fn is_plain(self) -> bool {
        !self.is_free() && !self.is_special()
    }

    /// The group, or 0 for a free link.
    #[inline]
    pub(crate) fn number(self) -> u32 {
        self.0 >> 1
    }

    /// Whether worms may turn between two links of a router.
    #[inline]
    pub(crate) fn may_turn(self, other: Self) -> bool {
        // Special labels are odd, so of two labels in different groups the larger one is in the later group. Which of these holds cannot be foreseen: without branches.
        let apart = (self.number() != other.number()) & self.max(other).is_special();
        self.is_free() | other.is_free() | apart
    }
}

/// A link as its router sees it, with what searches need of it side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkEnd {
    /// The channel that arrives by it, and where that comes from.
    pub(crate) arriving: ChannelId,
    pub(crate) from: RouterId,
    pub(crate) label: Label,
    /// How the router where it comes from classifies it.
    pub(crate) label_there: Label,
}

/// Which turns of a network are prohibited.
///
/// A *turn* is a pair of different links at a router: worms may not go from either to the other if it is prohibited. So a
/// router with d links has d(d-1)/2 turns (paper 3, section 2). Parallel links are different links: a router that two links
/// join to the same neighbour has a turn between them. Going back on the same link is not a turn and is never permitted.
///
/// Every router sorts its links into groups. Some links are *free*: all their turns are permitted. Turns within a group
/// are prohibited; so are turns between groups, unless the link in the later one is that group's *special* link. Turn
/// prohibition and up*/down* both have this form ([`turn_prohibition`](crate::turn_prohibition()),
/// [`up_down`](crate::up_down())), and it makes searches over permitted turns linear in the channels, however many turns a
/// router has.
///
/// Memory: 20 bytes a channel.
#[derive(Clone, Debug)]
pub struct TurnSet {
    /// By channel: how the router that it leaves classifies its link.
    labels: Box<[Label]>,
    /// The links of each router, in place of its channels, sorted by group.
    by_group: Box<[LinkEnd]>,
    turns: u64,
    prohibited: u64,
}

impl TurnSet {
    pub(crate) fn new(network: &Network, labels: Vec<Label>) -> Self {
        let mut by_group: Vec<u32> = (0..network.channels() as u32).collect();
        let (mut turns, mut prohibited) = (0, 0);
        let mut first = 0;
        for router in network.router_ids() {
            let degree = network.outputs(router).len();
            let own = &mut by_group[first..first + degree];
            own.sort_unstable_by_key(|&c| (labels[c as usize].number(), c));
            first += degree;
            turns += pairs(degree as u64);
            // Of a group with n links, all turns within are prohibited, and with links of earlier groups all but those of
            // the special link.
            let mut earlier = 0;
            for group in own.chunk_by(|&a, &b| labels[a as usize].number() == labels[b as usize].number()) {
                if !labels[group[0] as usize].is_free() {
                    let special = group.iter().filter(|&&c| labels[c as usize].is_special()).count() as u64;
                    let links = group.len() as u64;
                    prohibited += pairs(links) + earlier * (links - special);
                    earlier += links;
                }
            }
        }
        let link_end = |c: u32| {
            let (leaving, label) = (ChannelId::new(c), labels[c as usize]);
            let arriving = network.reverse(leaving);
            LinkEnd { arriving, from: network.to(leaving), label, label_there: labels[arriving.index()] }
        };
        let by_group = by_group.into_iter().map(link_end).collect();
        Self { labels: labels.into(), by_group, turns, prohibited }
    }

    /// Whether a worm that arrived on `arriving` may continue on `leaving`, which leaves the router that `arriving` enters.
    /// The network is the one that the set was made for.
    #[inline]
    pub fn permits(&self, network: &Network, arriving: ChannelId, leaving: ChannelId) -> bool {
        self.permits_after(network, Some(arriving))(leaving)
    }

    /// Whether a worm may continue on a channel: that which [`permits`](Self::permits) says of one that arrived by `arrived`, and any one in its source router.
    #[inline]
    pub fn permits_after(&self, network: &Network, arrived: Option<ChannelId>) -> impl Fn(ChannelId) -> bool {
        let back = arrived.map(|arriving| network.reverse(arriving));
        // Where a worm starts, all turns are free.
        let label = back.map_or(Label::FREE, |back| self.label(back));
        move |leaving| (back != Some(leaving)) & label.may_turn(self.label(leaving))
    }

    /// How the router that a channel leaves classifies its link.
    #[inline]
    pub(crate) fn label(&self, leaving: ChannelId) -> Label {
        self.labels[leaving.index()]
    }

    /// The link at this place if those of each router are sorted by group.
    #[inline]
    pub(crate) fn by_group(&self, place: u32) -> LinkEnd {
        self.by_group[place as usize]
    }

    /// The number of turns, each counted once for both directions.
    pub fn turn_count(&self) -> u64 {
        self.turns
    }

    /// The number of prohibited turns.
    pub fn prohibited_turns(&self) -> u64 {
        self.prohibited
    }

    /// The share of turns that is prohibited; 0 if there are no turns.
    pub fn fraction(&self) -> f64 {
        self.prohibited as f64 / self.turns.max(1) as f64
    }

    /// The prohibited turns, router by router: two channels that leave the router, one on each of the two links.
    ///
    /// The worms that may not turn there arrive by the [reverse](Network::reverse) of one and would leave by the other.
    pub fn prohibited<'a>(&'a self, network: &'a Network) -> impl Iterator<Item = (ChannelId, ChannelId)> + 'a {
        network.router_ids().flat_map(move |router| {
            let outputs = network.outputs(router);
            outputs.clone().enumerate().flat_map(move |(i, one)| {
                let others = outputs.clone().skip(i + 1);
                others.filter(move |&other| !self.label(one).may_turn(self.label(other))).map(move |other| (one, other))
            })
        })
    }
}

fn pairs(n: u64) -> u64 {
    n * n.saturating_sub(1) / 2
}
