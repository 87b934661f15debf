//! Distances if only the neighbours of a failed link know of the failure (paper 5, section 7).

use wormcast_network::{ChannelId, Network, RouterId};

use crate::trees::spanning_tree::SpanningTree;
use crate::trees::tree_distance::CombinedDistance;

/// The combined diameter and the average distance where one link has failed and only the routers at its ends know: a unicast takes
/// the tree with the shortest route, the first of several, as if nothing had failed. If that crosses the link, it goes as far
/// as the router before it, and from there on another tree, the one with the shortest route.
///
/// Distances are those of ordered pairs of routers, as the reverse route need not be as long. O(routers²) time for each tree, O(routers)
/// memory. `None` if there is one tree only and the link is part of it.
///
/// ```
/// use wormcast_network::{RouterId, TopologySpec};
/// use wormcast_routing::{TorusTrees, combined_distance, local_fault_distance};
///
/// let torus = "torus:5x5".parse::<TopologySpec>()?.build()?;
/// let trees = TorusTrees::dstm_1(&torus, RouterId::new(0))?.build(&torus)?;
/// let link = torus.channel_between(RouterId::new(0), RouterId::new(1)).ok_or("neighbours")?;
/// let global = combined_distance(&torus, &trees, &[link]).ok_or("connected")?;
/// let local = local_fault_distance(&torus, &trees, link).ok_or("two trees")?;
/// assert!(local.average >= global.average);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn local_fault_distance(network: &Network, trees: &[SpanningTree], failed: ChannelId) -> Option<CombinedDistance> {
    let routers = network.routers();
    let cut = trees.iter().position(|tree| tree.contains(network, failed));
    let from = |tree: &SpanningTree, source: RouterId| {
        let mut hops = vec![0; routers];
        distances(network, tree, source, &mut hops);
        hops
    };
    // The ends of the link, the one nearer to the root first, and how far it is from them on the tree and on the others.
    let detour = match cut {
        None => None,
        Some(cut) => {
            let tree = &trees[cut];
            let child =
                if tree.down(network.to(failed)) == Some(failed) { network.to(failed) } else { network.from(failed) };
            let ends = [tree.parent(child)?, child];
            let others = || trees.iter().enumerate().filter(|&(index, _)| index != cut);
            others().next()?;
            let way = ends.map(|end| {
                let beyond = others().map(|(_, tree)| from(tree, end)).reduce(|mut least, hops| {
                    least.iter_mut().zip(hops).for_each(|(least, hops)| *least = hops.min(*least));
                    least
                });
                (from(tree, end), beyond.unwrap_or_default())
            });
            Some((cut, child, way))
        }
    };
    let mut hops: Vec<Vec<u32>> = vec![vec![0; routers]; trees.len()];
    let (mut diameter, mut total) = (0, 0u64);
    for source in (0..routers as u32).map(RouterId::new) {
        for (tree, hops) in trees.iter().zip(&mut hops) {
            distances(network, tree, source, hops);
        }
        for target in (0..routers as u32).map(RouterId::new) {
            let shortest = (0..trees.len()).min_by_key(|&tree| hops[tree][target.index()])?;
            let distance = match &detour {
                Some((cut, child, [above, below])) if shortest == *cut => {
                    let under = |router| trees[*cut].is_below(router, *child);
                    match (under(source), under(target)) {
                        (true, false) => below.0[source.index()] + below.1[target.index()],
                        (false, true) => above.0[source.index()] + above.1[target.index()],
                        _ => hops[shortest][target.index()],
                    }
                }
                _ => hops[shortest][target.index()],
            };
            diameter = diameter.max(distance);
            total += u64::from(distance);
        }
    }
    let pairs = routers as f64 * (routers as f64 - 1.0);
    Some(CombinedDistance { diameter, average: if routers > 1 { total as f64 / pairs } else { 0.0 } })
}

/// The distances of all routers from one on a tree: up to the root, then down.
fn distances(network: &Network, tree: &SpanningTree, source: RouterId, hops: &mut [u32]) {
    hops.fill(u32::MAX);
    let (mut at, mut up) = (source, 0);
    hops[at.index()] = 0;
    while let Some(parent) = tree.parent(at) {
        at = parent;
        up += 1;
        hops[at.index()] = up;
    }
    // Parents before children.
    for &router in tree.post_order().iter().rev() {
        if let Some(down) = tree.down(router).filter(|_| hops[router.index()] == u32::MAX) {
            hops[router.index()] = hops[network.from(down).index()] + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TorusTrees, TreeRouting};
    use wormcast_network::TopologySpec;

    /// Every link of small tori, with the routes walked hop by hop.
    #[test]
    fn as_walked() {
        for spec in ["torus:4x4", "torus:5x3", "torus:2x3"] {
            let torus = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            let trees = TorusTrees::dstm_2(&torus, RouterId::new(0)).unwrap().build(&torus).unwrap();
            let routing = TreeRouting::new(&torus, trees.to_vec()).unwrap();
            for failed in torus.channel_ids() {
                let (mut diameter, mut total) = (0, 0);
                let routers = || torus.router_ids();
                for (source, target) in routers().flat_map(|source| routers().map(move |target| (source, target))) {
                    let (mut at, mut tree, mut hops) = (source, routing.shortest(source, target), 0);
                    while at != target {
                        let next = routing.next(tree, at, target).unwrap();
                        if next == failed || next == torus.reverse(failed) {
                            tree = 1 - tree;
                            continue;
                        }
                        at = torus.to(next);
                        hops += 1;
                    }
                    diameter = diameter.max(hops);
                    total += hops;
                }
                let found = local_fault_distance(&torus, &trees, failed).unwrap();
                let pairs = (torus.routers() * (torus.routers() - 1)) as f64;
                assert_eq!((found.diameter, found.average), (diameter, f64::from(total) / pairs), "{failed} on {spec}");
            }
        }
    }
}
