//! Multicast by worms with multiport headers.

use wormcast_network::{NodeId, Stages};
use wormcast_routing::{
    DESTINATION_TAG, Dependencies, MultidestinationRouting, RoutingRelation, TURNAROUND, TURNAROUND_DETERMINISTIC,
};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::multistage::digit_products::divide;
use crate::algorithms::multistage::switches::{of_kind, switches};
use crate::capabilities::AlgorithmCapabilities;
use crate::headers::encoded::Encoded;
use crate::plan::{Plan, Worm};
use crate::registry::descriptor::Descriptor;
use crate::registry::family::{Family, Routed, Sends};

/// [`Multiport`].
pub const MULTIPORT: Descriptor = Descriptor::built_in(
    "multiport",
    "worms whose headers have a mask of ports for each stage, in phases",
    Sends::Encoded,
    |network, options| Ok(Box::new(Multiport { switches: switches(network, options)? })),
)
.on(Family::Multistage)
// Masks of ports do not express routes by reachability strings.
.routed(Routed::OneOf(&[&TURNAROUND, &TURNAROUND_DETERMINISTIC, &DESTINATION_TAG], of_kind));

/// Multiport encoding: worms whose headers have a mask of ports for each stage, so that each goes to a product of sets of digits; as many
/// worms as it takes, in phases in which every node that has the message sends one.
///
/// Source: paper 4, section 3.2; Sivaram, Panda and Stunkel, Efficient broadcast and multicast on multistage interconnection networks
/// using multiport encoding, 1998. Paper 4 says no more than that a set of worms covers the destinations in several phases, along a multinomial
/// tree. Our choices: the destinations are divided into products, so that each is reached once and no other node is; digits are merged
/// one after the other, in several orders, of which that with the fewest products is kept; the largest product is sent
/// first; in each phase every node that has the message sends one more worm, the larger products first, each from a free node
/// with the lowest common ancestors with it, the smallest of several.
///
/// Needs a multistage network. For m destinations O(m L^2 ceil(K L / 64)) for each order of L digits, and O(worms x (worms + log m)) for the phases.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec, parse_node_list};
///
/// let network = "bmin:4x2".parse::<TopologySpec>()?.build()?;
/// let multiport = algorithm_by_name("multiport", &network, &Options::default())?;
/// let multicast = Multicast::new(NodeId::new(0), &parse_node_list(&network, "5;6;9;10;2;15")?);
/// let summary = multiport.plan(&multicast).summary(multiport.routing(), PortModel::One)?;
/// let sent: Vec<_> = summary.worms.iter().map(|worm| (worm.from.raw(), worm.visits.len(), worm.step)).collect();
/// // To {1, 2} x {1, 2}: 5, 6, 9 and 10. Then to 2 and to 15, both at once.
/// assert_eq!(sent, [(0, 4, 1), (0, 1, 2), (5, 1, 2)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Multiport {
    switches: Box<dyn MultidestinationRouting>,
}

/// A node that has the message, and the worm by which it got it.
type Holder = (NodeId, Option<u32>);

/// The worms: phase by phase, each holder sends at most one in each.
fn phases(stages: &Stages, has_up: bool, source: NodeId, products: Vec<Vec<NodeId>>) -> Vec<Worm> {
    let mut worms = Vec::with_capacity(products.len());
    let mut holders: Vec<Holder> = vec![(source, None)];
    let mut rest = products.into_iter();
    while rest.len() > 0 {
        holders.sort_unstable_by_key(|holder| holder.0);
        let mut free = holders.clone();
        for product in rest.by_ref().take(free.len()) {
            // Products are sent from near, so that worms of a phase stay apart where they can.
            // In unidirectional networks all routes have the same length.
            let nearest = if has_up { nearest(stages, &free, &product) } else { 0 };
            let (from, trigger) = free.remove(nearest);
            let id = worms.len() as u32;
            holders.extend(product.iter().map(|&node| (node, Some(id))));
            worms.push(Worm { after: trigger, ..Worm::encoded(from, Encoded::multiport(product)) });
        }
    }
    worms
}

/// The place of the sender from which a worm to this product goes up the fewest stages, of several the smallest. Both are in increasing order.
fn nearest(stages: &Stages, senders: &[Holder], product: &[NodeId]) -> usize {
    let (Some(&first), Some(&last)) = (product.first(), product.last()) else { return 0 };
    // The first and the last have the least and the largest digits of all, so no other is further away from a sender than both. One that is nearest to
    // the first is next to it, as those below a switch are in a row.
    let place = |node: NodeId| senders.partition_point(|sender| sender.0 < node);
    let next = place(first);
    let beside = senders[next.saturating_sub(1)..senders.len().min(next + 1)].iter();
    let nearest = beside.map(|sender| stages.common_stage(sender.0, first)).min().unwrap_or(0);
    let below = stages.weight(nearest.max(stages.common_stage(first, last))) * stages.radix();
    place(NodeId::new(first.raw() / below * below))
}

impl Algorithm for Multiport {
    fn name(&self) -> &'static str {
        MULTIPORT.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self.switches.as_ref()
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        let network = self.network();
        let Some(stages) = network.shape().stages() else { return Plan::default() };
        let products = divide(stages, multicast.destinations());
        Plan { worms: phases(stages, !network.is_unidirectional(), multicast.source(), products) }
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_multidestination(self.switches.as_ref())
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        AlgorithmCapabilities { switches: Some(self.switches.as_ref()), ..AlgorithmCapabilities::default() }
    }
}
