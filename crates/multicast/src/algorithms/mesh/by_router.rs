//! Path multicast where routers have several nodes: planned from router to router, as if each had one.

use std::collections::BTreeMap;

use wormcast_network::{Network, NodeId};

use crate::algorithm::Multicast;
use crate::plan::{Itinerary, Plan, Worm};

/// Puts a plan in place of an earlier one: that which `of_routers` makes of a multicast to routers, in which a node is the router of its number, for the nodes of these routers.
///
/// Where a worm stops, it delivers to all destinations at that router at once, each on consumption channels of its own; the first of them forwards what
/// the router is to forward. Destinations at the source's own router get a worm of their own, the last, which takes no link: on its way out another worm
/// would hold their consumption channels while it waits for a link in any direction, which the rules of paths do not allow for.
///
/// Where every router has one node, just calls `of_routers`. Otherwise O(destinations x log destinations) beside that.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name};
/// use wormcast_network::{TopologySpec, parse_node, parse_node_list};
///
/// let mesh = "mesh:4x4,nodes=2".parse::<TopologySpec>()?.build()?;
/// let dual = algorithm_by_name("dual-path", &mesh, &Options::default())?;
/// let to = parse_node_list(&mesh, "3,1.1; 2,1.0; 3,1.0; 1,1.1")?;
/// let plan = dual.plan(&Multicast::new(parse_node(&mesh, "1,1.0")?, &to));
/// let visits = plan.worms.iter().map(|worm| worm.visits()).collect::<Vec<_>>();
/// let list = |text| parse_node_list(&mesh, text);
/// assert_eq!(visits, [list("2,1.0; 3,1.1; 3,1.0")?, list("1,1.1")?]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub(crate) fn by_router(
    network: &Network,
    multicast: &Multicast,
    plan: &mut Plan,
    of_routers: impl FnOnce(&Multicast, &mut Plan),
) {
    if network.has_one_node_each() {
        return of_routers(multicast, plan);
    }
    let router = |node: NodeId| NodeId::new(network.router_of(node).raw());
    let source = multicast.source();
    let mut nodes: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    for &node in multicast.destinations() {
        nodes.entry(router(node)).or_default().push(node);
    }
    let routers: Vec<NodeId> = multicast.destinations().iter().map(|&node| router(node)).collect();
    let to_routers = Multicast::from_vec(router(source), routers);
    if to_routers.destinations().is_empty() {
        plan.worms.clear();
    } else {
        of_routers(&to_routers, plan);
    }
    for worm in &mut plan.worms {
        worm.from = if worm.after.is_none() { source } else { nodes[&worm.from][0] };
        if let Itinerary::Path(path) = &mut worm.itinerary {
            path.stops = path.stops.iter().flat_map(|stop| &nodes[stop]).copied().collect();
        }
    }
    plan.worms.extend(nodes.remove(&router(source)).map(|beside| Worm::path(source, beside)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, algorithm_by_name, check_contract};
    use proptest::prelude::*;
    use wormcast_network::{ChannelId, TopologySpec};

    const PATHS: [&str; 9] = [
        "dual-path",
        "dual-path-adaptive",
        "multi-path",
        "column-path",
        "pure-negative-first",
        "minimal-negative-first",
        "minimal-negative-first-optimal",
        "bounded-negative-first",
        "schl",
    ];

    /// Routers and channels of every worm, in order.
    fn routes(topology: &str, name: &str, source: u32, to: &[u32]) -> Vec<(u32, Vec<u32>, Vec<u32>)> {
        let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
        let algorithm = algorithm_by_name(name, &network, &Options::default()).unwrap();
        let to: Vec<NodeId> = to.iter().copied().map(NodeId::new).collect();
        let plan = check_contract(algorithm.as_ref(), &Multicast::new(NodeId::new(source), &to)).unwrap();
        let router = |node: &NodeId| network.router_of(*node).raw();
        let route = |worm: &Worm| {
            let channels = worm.channels(algorithm.routing()).unwrap();
            let mut stops: Vec<u32> = worm.visits().iter().map(router).collect();
            stops.dedup();
            (router(&worm.from), stops, channels.into_iter().map(ChannelId::raw).collect())
        };
        plan.worms.iter().map(route).collect()
    }

    proptest! {
        /// Worms go from router to router as they do where each has one node; those who sit beside the source get one more, without links.
        #[test]
        fn worms_take_the_routes_that_they_take_to_single_nodes(
            name in prop::sample::select(&PATHS[..]),
            each in 2u32..4,
            source in 0u32..60,
            to in prop::collection::vec(0u32..60, 1..40),
        ) {
            let nodes = 20 * each;
            let (source, to): (u32, Vec<u32>) = (source % nodes, to.iter().map(|node| node % nodes).collect());
            prop_assume!(to.iter().any(|&node| node != source));
            let mut several = routes(&format!("mesh:5x4,nodes={each}"), name, source, &to);
            let beside = to.iter().any(|&node| node != source && node / each == source / each);
            let others: Vec<u32> = to.iter().map(|node| node / each).collect();
            let single = if others.iter().all(|&router| router == source / each) {
                Vec::new()
            } else {
                routes("mesh:5x4", name, source / each, &others)
            };
            if beside {
                prop_assert_eq!(several.pop(), Some((source / each, vec![source / each], Vec::new())));
            }
            prop_assert_eq!(several, single);
        }
    }
}
