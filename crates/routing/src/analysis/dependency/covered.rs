//! Which trees the dependencies of an algorithm cover.

use fixedbitset::FixedBitSet;
use wormcast_network::ChannelId;

use super::{Branching, Dependencies, Resource};
use crate::capabilities::VcRange;

/// The trees that dependencies are about.
pub(super) enum CoveredTrees {
    /// Only those that were added one by one, if any.
    Added,
    /// All whose channels are among these and follow each other by dependencies other than these, which are between branches.
    Turning { takes: FixedBitSet, between: Vec<(u32, u32)>, branching: Branching },
    /// All whose branches go down spanning trees, on these channels.
    Spanning { down: FixedBitSet },
    /// Those of worms that switches route and replicate.
    Encoded,
}

/// What a tree does that is not covered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uncovered {
    /// It branches at all.
    Branching,
    /// It takes a channel as one of its branches.
    Channel(ChannelId),
    /// It turns from one channel into another.
    Turn(ChannelId, ChannelId),
}

/// What a worm is bound to, or not bound to, that is not covered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UncoveredBinding {
    /// The consumption channel that it may use.
    Consumption,
    /// The virtual channels that it may take.
    VirtualChannels,
}

impl Dependencies<'_> {
    /// What a tree does that these dependencies do not cover; `None`: they cover it, so that what is proved of them holds for it. Its channels are as
    /// [`Worms::tree`](super::Worms::tree) takes them, the first of them by `arrivals`, if it comes to where its branches begin, on the `way`.
    ///
    /// Of trees that were added one by one nothing is known here but that there are some: see [`missing_of_trees`](Self::missing_of_trees).
    /// O(channels of the tree x log dependencies).
    pub fn uncovered(
        &self,
        way: &Dependencies<'_>,
        arrivals: &[ChannelId],
        tree: &[(ChannelId, Option<usize>, bool)],
    ) -> Option<Uncovered> {
        if !self.apart.1.is_empty() {
            let mut groups = self.apart.1.iter().map(|group| group.uncovered(way, arrivals, tree));
            let first = groups.next()?;
            return first.filter(|_| groups.all(|uncovered| uncovered.is_some()));
        }
        let is_between = |held: ChannelId, next: ChannelId| match &self.covered {
            CoveredTrees::Turning { between, .. } => between.binary_search(&(held.raw(), next.raw())).is_ok(),
            _ => false,
        };
        let permitted = match &self.covered {
            CoveredTrees::Added | CoveredTrees::Encoded => return Some(Uncovered::Branching),
            CoveredTrees::Turning { takes, .. } => takes,
            CoveredTrees::Spanning { down } => down,
        };
        if let Some((held, Resource::Channel(next))) = self.missing(way) {
            return Some(Uncovered::Turn(held, next));
        }
        let beginning = tree.iter().filter(|(_, parent, _)| parent.is_none());
        let mut turns = beginning
            .flat_map(|&(first, ..)| arrivals.iter().map(move |&arriving| (arriving, first)))
            .chain(tree.iter().filter_map(|&(next, parent, _)| Some((tree[parent?].0, next))));
        let turn = turns.find(|&(held, next)| !self.contains(held, next) || is_between(held, next));
        let channel = || tree.iter().find(|(channel, ..)| !permitted.contains(channel.index()));
        let uncovered = turn.map(|(held, next)| Uncovered::Turn(held, next));
        uncovered.or_else(|| channel().map(|&(channel, ..)| Uncovered::Channel(channel)))
    }

    /// The switches that replicate the trees, where that is known of all of them.
    pub fn branching(&self) -> Option<Branching> {
        match &self.covered {
            &CoveredTrees::Turning { branching, .. } => Some(branching),
            _ => self.apart.1.first().and_then(Self::branching),
        }
    }

    /// Whether dependencies between branches of `others` are missing here. As [`missing`](Self::missing), whose dependencies are not looked at again.
    pub fn missing_of_trees(&self, others: &Dependencies<'_>) -> bool {
        let lacks =
            |own: &[(u32, u32)], others: &[(u32, u32)]| others.iter().any(|pair| own.binary_search(pair).is_err());
        let stops = || others.stops.iter().filter(|stop| stop.leaving.is_none());
        lacks(&self.held_up, &others.held_up)
            || lacks(&self.together, &others.together)
            || stops().any(|stop| !self.stops.contains(stop))
            || others.starts.ones().any(|start| !self.starts.contains(start))
            || others.separate && !self.separate
    }

    /// Also of worms that switches route and replicate.
    pub(crate) fn with_encoded_worms(self) -> Self {
        Self { covered: CoveredTrees::Encoded, ..self }
    }

    /// Whether worms that switches route and replicate are among those of these dependencies.
    pub fn covers_encoded(&self) -> bool {
        matches!(self.covered, CoveredTrees::Encoded)
    }

    /// What a worm that takes these channels is bound to, or not bound to, otherwise than those of these dependencies: the one consumption channel that it may use
    /// at every node, and the virtual channels that it may take. A worm that is bound waits where others go on.
    pub fn uncovered_binding(
        &self,
        channels: &[ChannelId],
        class: Option<u8>,
        virtual_channels: Option<VcRange>,
    ) -> Option<UncoveredBinding> {
        let otherwise = match &self.classes {
            Some(classes) => {
                channels.iter().any(|channel| classes[channel.index()].is_some_and(|of| class != Some(of)))
            }
            // Who holds a consumption channel and waits may hold the very one.
            None => class.is_some() && !self.stops.is_empty(),
        };
        let is_bound = virtual_channels.is_some_and(|range| range != VcRange::ANY);
        let is_apart = !self.apart.1.is_empty();
        if otherwise {
            Some(UncoveredBinding::Consumption)
        } else if is_bound && self.divided.is_some() || !is_bound && is_apart {
            Some(UncoveredBinding::VirtualChannels)
        } else {
            None
        }
    }
}
