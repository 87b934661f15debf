//! U-Min: software multicast on bidirectional multistage networks whose unicasts never contend (paper 4).

use std::sync::Arc;

use wormcast_network::{Network, NodeId, Stages};
use wormcast_routing::{Adaptivity, Dependencies, RoutingRelation, TURNAROUND_DETERMINISTIC, Turnaround, Unsupported};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::unicast_tree::{Share, unicast_tree};
use crate::plan::{Itinerary, Plan, Worm};
use crate::registry::descriptor::Descriptor;
use crate::registry::family::{Family, Sends};

/// [`UMin`].
pub const U_MIN: Descriptor = Descriptor::built_in(
    "u-min",
    "nodes forward by halves of the nodes in their order, straight up and down",
    Sends::Unicasts,
    |network, _| Ok(Box::new(UMin::new(network)?)),
)
.on(Family::BidirectionalMultistage)
.routed_by(&TURNAROUND_DETERMINISTIC);

/// U-Min: source and destinations in the order of their addresses; the holder of a part of that chain sends to the node nearest to itself
/// in the half that it is not in, which serves that half.
///
/// Source: Xu, Gui and Ni, Optimal software multicast in wormhole-routed multistage networks, 1994; paper 4 (section 7.1) compares its
/// switches with it. Of a part with an odd number of nodes the lower half is the larger. Every worm leaves each stage on its way up by the port of its
/// sender's digit of that stage, so no two senders share a channel up.
///
/// ceil(log2(m + 1)) steps for m destinations on one port, and no algorithm takes fewer; contention-free.
///
/// Needs a bidirectional multistage network; its routing is `turnaround-deterministic`. O(m log m).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec, parse_node_list};
///
/// // The chain: 1  3  [6]  9  12  13.
/// let network = "bmin:2x4".parse::<TopologySpec>()?.build()?;
/// let u_min = algorithm_by_name("u-min", &network, &Options::default())?;
/// let multicast = Multicast::new(NodeId::new(6), &parse_node_list(&network, "1;3;9;12;13")?);
/// let summary = u_min.plan(&multicast).summary(u_min.routing(), PortModel::One)?;
/// let sent: Vec<_> = summary.worms.iter().map(|worm| (worm.from.raw(), worm.visits[0].raw(), worm.step)).collect();
/// // To 9, which serves 12 and 13; to 3, which serves 1.
/// assert_eq!(sent, [(6, 9, 1), (6, 3, 2), (9, 13, 2), (9, 12, 3), (3, 1, 3)]);
/// assert_eq!(summary.contention(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct UMin {
    routing: Turnaround,
    /// The dependencies of worms that leave on their sender's own port: they may take any channel up.
    all_ways_up: Turnaround,
}

impl UMin {
    /// On a bidirectional multistage network.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        let routing = |choice| U_MIN.relation(network, |network| Turnaround::new(network, choice));
        Ok(Self { routing: routing(Adaptivity::First)?, all_ways_up: routing(Adaptivity::Adaptive)? })
    }
}

/// What the holder of a part of a chain gives away: the half that it is not in.
fn hand_over(Share { left, holder, right }: Share) -> Share {
    let last_of_lower = usize::midpoint(left, right);
    if holder <= last_of_lower {
        Share { left: last_of_lower + 1, holder: last_of_lower + 1, right }
    } else {
        Share { left, holder: last_of_lower, right: last_of_lower }
    }
}

/// Sends a unicast out of its sender's switch by the port of the sender's digit 0.
fn go_straight(network: &Network, stages: &Stages, worm: &mut Worm) {
    let Itinerary::Path(path) = &mut worm.itinerary else { return };
    let home = network.router_of(worm.from);
    let local = path.stops.iter().all(|&stop| network.router_of(stop) == home);
    let port = stages.radix() + stages.digit(worm.from.raw(), 0);
    path.exit = network.channel_by_port(home, port).filter(|_| !local);
}

impl Algorithm for UMin {
    fn name(&self) -> &'static str {
        U_MIN.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        let network = self.network();
        let Some(stages) = network.shape().bmin() else {
            plan.worms.clear();
            return;
        };
        let mut chain: Vec<NodeId> = multicast.destinations().iter().copied().chain([multicast.source()]).collect();
        chain.sort_unstable();
        let position = chain.binary_search(&multicast.source()).unwrap_or(0);
        unicast_tree(&chain, position, plan, hand_over);
        plan.worms.iter_mut().for_each(|worm| go_straight(network, stages, worm));
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_relation(&self.all_ways_up)
    }
}
