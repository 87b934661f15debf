//! Multicast by one worm with a bit-string header.

use wormcast_routing::{
    DESTINATION_TAG, Dependencies, MultidestinationRouting, RoutingRelation, TURNAROUND, TURNAROUND_DETERMINISTIC,
    UP_DOWN,
};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::multistage::switches::{of_kind, switches};
use crate::capabilities::AlgorithmCapabilities;
use crate::headers::encoded::Encoded;
use crate::plan::{Plan, Worm};
use crate::registry::descriptor::Descriptor;
use crate::registry::family::{Family, Routed, Sends};

/// [`BitString`].
pub const BIT_STRING: Descriptor = Descriptor::built_in(
    "bit-string",
    "one worm whose header has a bit for each node",
    Sends::Encoded,
    |network, options| Ok(Box::new(BitString { switches: switches(network, options)? })),
)
.on(Family::Any)
.routed(Routed::OneOf(&[&TURNAROUND, &TURNAROUND_DETERMINISTIC, &DESTINATION_TAG, &UP_DOWN], of_kind));

/// Bit-string encoding: one worm to all destinations, whose header has a bit for each node; switches replicate it.
///
/// Source: paper 4, sections 3.2 and 3.3. The worm goes up, adaptively, to a switch that has all destinations below it, and is
/// replicated on its way down, where a switch's reachability strings and the header have bits in common.
///
/// On bidirectional multistage networks with `turnaround`; on every other connected network with `up-down`, whose strings the paper sketches
/// for irregular networks. One startup, one step. O(nodes / 64 + destinations).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec, parse_node_list};
///
/// let network = "bmin:4x2".parse::<TopologySpec>()?.build()?;
/// let bit_string = algorithm_by_name("bit-string", &network, &Options::default())?;
/// let multicast = Multicast::new(NodeId::new(1), &parse_node_list(&network, "2;6;7;13")?);
/// let summary = bit_string.plan(&multicast).summary(bit_string.routing(), PortModel::One)?;
/// // One channel up, and one down to the switch of 2, that of 6 and 7, and that of 13.
/// assert_eq!((summary.startups, summary.channels, summary.longest), (1, 4, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BitString {
    switches: Box<dyn MultidestinationRouting>,
}

impl Algorithm for BitString {
    fn name(&self) -> &'static str {
        BIT_STRING.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self.switches.as_ref()
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        if multicast.destinations().is_empty() {
            return Plan::default();
        }
        let encoded = Encoded::bit_string(multicast.destinations().to_vec());
        Plan { worms: vec![Worm::encoded(multicast.source(), encoded)] }
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_multidestination(self.switches.as_ref())
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        AlgorithmCapabilities { switches: Some(self.switches.as_ref()), ..AlgorithmCapabilities::default() }
    }
}
