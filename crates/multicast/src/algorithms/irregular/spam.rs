//! SPAM: single phase adaptive multicast on one spanning tree with cross links.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, Ports};
use wormcast_routing::{Dependencies, RoutingRelation, SPAM_ROUTING, SpamRouting};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::tree_plan::{require_bits, tree_worm};
use crate::capabilities::AlgorithmCapabilities;
use crate::faults::FaultInformation;
use crate::plan::Plan;
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Sends};
use crate::registry::options::AlgorithmOption;

/// [`Spam`].
pub const SPAM: Descriptor = Descriptor::built_in(
    "spam",
    "up, across and down to the lowest common ancestor, then down one spanning tree",
    Sends::Trees,
    |network, options| Ok(Box::new(Spam::new(network, options)?)),
)
.on(Family::Connected)
.routed_by(&SPAM_ROUTING)
.with_faults();

/// Single phase adaptive multicast (SPAM): one spanning tree, and the links beside it as shortcuts.
///
/// Source: Libeskind-Hadas, Mazzoni and Rajagopalan 1998; paper 5, section 2. A unicast goes up, then down cross links, then down
/// tree links ([`SpamRouting`]), adaptively. A multicast goes to the lowest common ancestor of its destinations in the same way,
/// and from there on down the tree only, replicated where its branches part; these are reserved at once. On any connected
/// network, with the breadth-first tree from the router with the smallest id.
///
/// O(D log D + N) a multicast to D of N nodes. One startup.
///
/// Without cross links ([`AlgorithmOptions::cross_links`](crate::AlgorithmOptions::cross_links)) all worms stay on the tree.
///
/// Failed links are used neither in the tree nor as shortcuts; every router has to know of them.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// let torus = "torus:4x4".parse::<TopologySpec>()?.build()?;
/// let spam = algorithm_by_name("spam", &torus, &Options::default())?;
/// // 5 and 9 lie below 1, which 2 reaches in one hop.
/// let plan = spam.plan(&Multicast::new(NodeId::new(2), &[NodeId::new(5), NodeId::new(9)]));
/// let summary = plan.summary(spam.routing(), PortModel::One)?;
/// assert_eq!((summary.startups, summary.worms[0].visits.len()), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Spam {
    routing: SpamRouting,
    /// Whether it is to stay on its tree on a network that is one.
    asked_for_tree: bool,
    failed: Vec<ChannelId>,
}

impl Spam {
    /// With its own routing.
    ///
    /// # Errors
    /// If the network is not connected or has a router with more than 128 links or nodes, or failed links leave nothing whole.
    fn new(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        let faults = &options.faults;
        if faults.information == FaultInformation::Local && !faults.links.is_empty() {
            return Err(AlgorithmError::NoWholeTree { algorithm: SPAM.name, trees: 1 });
        }
        require_bits(SPAM.name, network)?;
        let routing = SpamRouting::without(network, options.root.unwrap_or_default(), &options.faults.links)?;
        let tree_only = options.own.tree_only();
        let asked_for_tree = tree_only && network.links() + 1 == network.routers();
        let routing = if tree_only { routing.on_tree_only() } else { routing };
        Ok(Self { routing, asked_for_tree, failed: faults.links.clone() })
    }
}

impl Algorithm for Spam {
    fn name(&self) -> &'static str {
        SPAM.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        let source = multicast.source();
        match multicast.destinations() {
            [] => plan.worms.clear(),
            &[node] => {
                plan.worms.truncate(1);
                plan.put_unicast(0, source, None, node);
            }
            several => {
                plan.worms.truncate(1);
                let tree = plan.take_tree(0);
                plan.put(0, tree_worm(self.network(), self.routing.tree(), source, several, |_| None, tree));
            }
        }
    }

    fn dependencies(&self) -> Dependencies<'_> {
        let tree = std::slice::from_ref(self.routing.tree());
        Dependencies::of_spanning_trees(&self.routing, tree, false).without(&self.failed)
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        // As many as the two trees have that paper 5 compares it with.
        let ports = Some(Ports { injection: 1, consumption: 2 });
        let idle = self
            .asked_for_tree
            .then_some((AlgorithmOption::CrossLinks, "the network is a tree, without links beside it"));
        AlgorithmCapabilities { ports, idle, ..AlgorithmCapabilities::default() }
    }
}

#[cfg(test)]
mod tests {
    use wormcast_network::TopologySpec;

    use super::*;
    use crate::registry::algorithm_by_name;
    use crate::registry::options::AlgorithmOptions;

    #[test]
    fn leaving_out_links_beside_the_tree_is_idle_where_there_are_none() {
        let idle = |topology: &str, cross_links| {
            let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
            let own = AlgorithmOptions { cross_links, ..AlgorithmOptions::default() };
            let spam = algorithm_by_name("spam", &network, &Options { own, ..Options::default() }).unwrap();
            spam.capabilities().idle.is_some()
        };
        assert!(idle("tree:nodes=9,seed=1", Some(false)));
        assert!(!idle("tree:nodes=9,seed=1", None) && !idle("tree:nodes=9,seed=1", Some(true)));
        assert!(!idle("mesh:3x3", Some(false)));
    }
}
