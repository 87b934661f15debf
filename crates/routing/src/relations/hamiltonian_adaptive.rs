//! Adaptive routing by the labels of a Hamiltonian path, with an escape class.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, RouterId};

use super::compass::Compass;
use super::hamiltonian::Hamiltonian;
use crate::capabilities::{Lanes, RoutingCapabilities, VcRange, VirtualChannels};
use crate::registry::RoutingDescriptor;
use crate::relation::{RoutingRelation, Unsupported, longest_way};

/// [`HamiltonianAdaptive`].
pub const HAMILTONIAN_ADAPTIVE: RoutingDescriptor = RoutingDescriptor::new(
    "hamiltonian-adaptive",
    "every shortest way that does not pass the target's label, on virtual channels of its own, and label routing on the others as an escape",
    "a 2-D mesh",
    |network, _| Ok(Box::new(HamiltonianAdaptive::new(network)?)),
);

/// [Label routing](Hamiltonian) for path worms whose headers choose: towards a higher label, a header may take any channel on a shortest way to a router whose label does not exceed the target's, and
/// towards a lower one, to a router whose label is not below it. These are the adaptive virtual channels, all but the first of a link, and preferred. Or it takes the channel of label routing, on virtual channel 0: the escape.
///
/// On its way a worm may go along a row against its direction, where label routing would not. But from wherever it gets, label routing leads to the target on labels that rise (or fall) all the way, so worms that visit their
/// stops in the order of labels are on the escape of one kind only. Of a row, they ask for its channels on the escape in one direction, and for those into the next row after that, even if they have taken adaptive ones in between: what they may wait for on the escape while
/// they hold any of it has no cycle (Duato 1995). With the adaptive virtual channels alone there is one.
///
/// Source: Lin, McKinley and Ni 1994 for the labels, Duato 1995 for the escape; the adaptive channels are this project's choice. O(1) a hop, and O(degree) for the escape.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{Dependencies, HamiltonianAdaptive, VcRange, VirtualChannels};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let routing = HamiltonianAdaptive::new(&mesh)?;
/// let mut lanes = Vec::new();
/// // From (2,0), label 2, to (0,2), label 8: west or north, while label routing goes north at once.
/// routing.lanes(RouterId::new(2), None, RouterId::new(8), 2, &mut lanes);
/// let to: Vec<_> = lanes.iter().map(|&(channel, range)| (mesh.to(channel).raw(), range)).collect();
/// assert_eq!(to, [(1, VcRange::only(1)), (6, VcRange::only(1)), (6, VcRange::only(0))]);
/// let deadlock = |count| Dependencies::of_relation(&routing).with_virtual_channels(count).deadlock(1);
/// assert!(deadlock(2).is_none() && deadlock(1).is_some());
/// let without = routing.clone().without_escape();
/// assert!(Dependencies::of_relation(&without).with_virtual_channels(8).deadlock(1).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct HamiltonianAdaptive {
    labels: Hamiltonian,
    ways: Compass,
    /// Whether virtual channel 0 is the escape, and not adaptive, too.
    escapes: bool,
}

impl HamiltonianAdaptive {
    /// On a mesh of two dimensions.
    ///
    /// # Errors
    /// If the network is not one.
    pub fn new(mesh: &Arc<Network>) -> Result<Self, Unsupported> {
        let ways = Compass::new(mesh, &HAMILTONIAN_ADAPTIVE)?;
        let labels = Hamiltonian::new(mesh).map_err(|_| HAMILTONIAN_ADAPTIVE.unsupported(mesh))?;
        Ok(Self { labels, ways, escapes: true })
    }

    /// Without the escape: all virtual channels are adaptive. It is *not* free of deadlock.
    #[must_use]
    pub fn without_escape(self) -> Self {
        Self { escapes: false, ..self }
    }

    /// The label routing of the escape.
    pub fn labels(&self) -> &Hamiltonian {
        &self.labels
    }

    /// The channels on shortest ways from which label routing leads on, along x and along y.
    fn productive(
        &self,
        at: RouterId,
        arrived: Option<ChannelId>,
        target: RouterId,
    ) -> impl Iterator<Item = ChannelId> {
        let network = self.ways.network();
        let back = arrived.map(|arrived| network.reverse(arrived));
        let (from, to) = (self.labels.label(at), self.labels.label(target));
        let leads_on = move |&channel: &ChannelId| {
            let next = self.labels.label(network.to(channel));
            // Worms do not turn round at a stop, unless that is the escape.
            let is_onward = || Some(channel) != back || Some(channel) == self.labels.next(at, target);
            (if to > from { next <= to } else { next >= to }) && is_onward()
        };
        let steps = [0, 1].into_iter().filter_map(move |dimension| self.ways.step(at, target, dimension));
        steps.map(|(channel, _)| channel).filter(leads_on)
    }
}

impl RoutingRelation for HamiltonianAdaptive {
    fn name(&self) -> &'static str {
        HAMILTONIAN_ADAPTIVE.name
    }

    fn network(&self) -> &Arc<Network> {
        self.ways.network()
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        out.clear();
        out.extend(self.productive(at, arrived, target));
    }

    fn follow(
        &self,
        from: RouterId,
        arrived: Option<ChannelId>,
        to: RouterId,
        _candidates: &mut Vec<ChannelId>,
        route: &mut Vec<ChannelId>,
    ) -> bool {
        let network = self.ways.network();
        let most = route.len() + longest_way(network);
        let (mut at, mut arrived) = (from, arrived);
        while at != to {
            if route.len() >= most {
                return false;
            }
            let Some(next) = self.productive(at, arrived, to).next() else { return false };
            route.push(next);
            (at, arrived) = (network.to(next), Some(next));
        }
        true
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        RoutingCapabilities { virtual_channels: Some(self), ..RoutingCapabilities::default() }
    }
}

impl VirtualChannels for HamiltonianAdaptive {
    fn needed(&self) -> u8 {
        1 + u8::from(self.escapes)
    }

    fn lanes(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, count: u8, out: &mut Lanes) {
        out.clear();
        let first = u8::from(self.escapes);
        let adaptive = VcRange { first, last: count.saturating_sub(1).max(first) };
        out.extend(self.productive(at, arrived, target).map(|channel| (channel, adaptive)));
        let escape = self.labels.next(at, target).filter(|_| self.escapes);
        out.extend(escape.map(|channel| (channel, VcRange::only(0))));
    }
}
