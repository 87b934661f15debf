//! Worms that cause a dependency.

use wormcast_network::watch::step;
use wormcast_network::{ChannelId, NodeId, RouterId};

use crate::relation::RoutingRelation;

/// Worms that hold one channel and wait for another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// The number of (source, destination) pairs, if they have been counted.
    pub pairs: Option<u64>,
    /// Some of the pairs.
    pub examples: Vec<(NodeId, NodeId)>,
}

/// A unicast that may take `held` and then `requested`, routed by `relation`: one for each of at most `limit` destinations.
///
/// O(routers x channels) at worst.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{ECube, witness_of_relation};
///
/// let line = "mesh:4".parse::<TopologySpec>()?.build()?;
/// let channel = |from, to| line.channel_between(RouterId::new(from), RouterId::new(to)).unwrap();
/// let witness = witness_of_relation(&ECube::new(&line)?, (channel(1, 2), channel(2, 3)), 3);
/// assert_eq!(witness.examples.len(), 1);
/// assert_eq!(witness.examples[0].1.raw(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn witness_of_relation(
    relation: &dyn RoutingRelation,
    (held, requested): (ChannelId, ChannelId),
    limit: usize,
) -> Witness {
    let network = relation.network();
    let routers = || network.router_ids();
    let first_node = |router: RouterId| network.nodes_of(router).next();
    let mut witness = Witness { pairs: None, examples: Vec::new() };
    let spread = relation.spreading();
    let mut candidates = Vec::new();
    // The router where a worm that reaches a channel started.
    let mut start: Vec<Option<RouterId>> = vec![None; network.channels()];
    let mut work: Vec<ChannelId> = Vec::new();
    for target in routers() {
        step("looking for worms of the cycle", "destinations", target.index(), network.routers());
        if witness.examples.len() >= limit {
            break;
        }
        let Some(destination) = first_node(target) else { continue };
        spread(network.to(held), Some(held), target, &mut candidates);
        if network.to(held) == target || !candidates.contains(&requested) {
            continue;
        }
        start.fill(None);
        for source in routers().filter(|&source| source != target && first_node(source).is_some()) {
            spread(source, None, target, &mut candidates);
            for &channel in &candidates {
                if start[channel.index()].is_none() {
                    start[channel.index()] = Some(source);
                    work.push(channel);
                }
            }
            while let Some(channel) = work.pop() {
                spread(network.to(channel), Some(channel), target, &mut candidates);
                for &next in &candidates {
                    if start[next.index()].is_none() {
                        start[next.index()] = Some(source);
                        work.push(next);
                    }
                }
            }
            if start[held.index()].is_some() {
                break;
            }
        }
        let source = start[held.index()].and_then(first_node);
        witness.examples.extend(source.map(|source| (source, destination)));
    }
    witness
}
