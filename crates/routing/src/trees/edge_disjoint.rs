//! As many edge-disjoint spanning trees as a network has, and the proof that it has no more.

use wormcast_network::watch::step_every;
use wormcast_network::{ChannelId, Network, RouterId};

use crate::trees::link_forests::LinkForests;
use crate::trees::spanning_tree::{NotSpanning, SpanningTree};

/// Edge-disjoint spanning trees, and a proof that there are no more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeDisjointTrees {
    /// The trees, rooted at router 0.
    pub trees: Vec<SpanningTree>,
    /// A partition of the routers with too few links between its parts for one more tree; `None` if there may be more trees
    /// than were asked for, or the network has a single router.
    pub limit: Option<Partition>,
}

/// Routers in groups, as a proof that there are no more edge-disjoint spanning trees.
///
/// A spanning tree has at least one link less between the parts than there are parts. By a theorem of Tutte and of Nash-Williams
/// (both 1961) this is the only obstacle: where there are not k edge-disjoint spanning trees, some partition has fewer than
/// k (parts - 1) links between its parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// The part of each router, numbered from 0 by their smallest routers.
    part: Box<[u32]>,
    parts: usize,
}

impl Partition {
    fn new(routers: usize, mut group: impl FnMut(u32) -> u32) -> Self {
        let mut number = vec![u32::MAX; routers];
        let mut parts = 0;
        let part = (0..routers as u32).map(|router| {
            let number = &mut number[group(router) as usize];
            if *number == u32::MAX {
                *number = parts;
                parts += 1;
            }
            *number
        });
        Self { part: part.collect(), parts: parts as usize }
    }

    /// The number of parts.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// The part of a router, from 0.
    pub fn part(&self, router: RouterId) -> usize {
        self.part[router.index()] as usize
    }

    /// The routers of each part.
    pub fn members(&self) -> Vec<Vec<RouterId>> {
        let mut members = vec![Vec::new(); self.parts];
        for (router, &part) in (0u32..).zip(&self.part) {
            members[part as usize].push(RouterId::new(router));
        }
        members
    }

    /// The number of links between different parts that have not failed.
    pub fn crossing(&self, network: &Network, failed: &[ChannelId]) -> usize {
        let links = working_links(network, failed);
        links.into_iter().filter(|&link| self.part(network.from(link)) != self.part(network.to(link))).count()
    }

    /// The largest number of edge-disjoint spanning trees that the partition allows; `None` if it has one part and says nothing.
    pub fn allows(&self, network: &Network, failed: &[ChannelId]) -> Option<usize> {
        self.crossing(network, failed).checked_div(self.parts.saturating_sub(1))
    }
}

/// The links of a network that have not failed, each as the smaller of its channels, in increasing order.
pub fn working_links(network: &Network, failed: &[ChannelId]) -> Vec<ChannelId> {
    let mut works = vec![true; network.channels()];
    for &channel in failed {
        works[channel.index()] = false;
        works[network.reverse(channel).index()] = false;
    }
    let channels = network.channel_ids();
    channels.filter(|&channel| works[channel.index()] && channel < network.reverse(channel)).collect()
}

/// Edge-disjoint spanning trees of any network: `wanted` of them, or as many as there are.
///
/// The links are considered in the order given; those that are not given have failed. Another order gives other trees.
///
/// *Source:* Roskind and Tarjan 1985, for links of equal cost; paper 5, section 5.3. O(trees² x routers²) at worst, and on tori a
/// small part of it.
///
/// ```
/// use wormcast_network::TopologySpec;
/// use wormcast_routing::{edge_disjoint_trees, working_links};
///
/// let cube = "hypercube:4".parse::<TopologySpec>()?.build()?;
/// let links = working_links(&cube, &[]);
/// let found = edge_disjoint_trees(&cube, &links, None)?;
/// assert_eq!(found.trees.len(), 2);
/// let limit = found.limit.expect("a proof that there are no three");
/// assert_eq!((limit.parts(), limit.crossing(&cube, &[])), (16, 32));
/// assert!(32 < 3 * (16 - 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Only if the algorithm has an error and did not find trees.
pub fn edge_disjoint_trees(
    network: &Network,
    order: &[ChannelId],
    wanted: Option<usize>,
) -> Result<EdgeDisjointTrees, NotSpanning> {
    let routers = network.routers();
    let bound = obvious_limit(network, order);
    let Some((allowed, bound)) = bound else {
        // A single router: the empty tree, as often as one likes.
        let tree = SpanningTree::new(network, RouterId::default(), &[])?;
        return Ok(EdgeDisjointTrees { trees: vec![tree; wanted.unwrap_or(1)], limit: None });
    };
    let mut limit = (allowed < wanted.unwrap_or(usize::MAX)).then_some(bound);
    let mut count = wanted.map_or(allowed, |wanted| wanted.min(allowed));
    let ends: Vec<[u32; 2]> = order.iter().map(|&link| [network.from(link).raw(), network.to(link).raw()]).collect();
    loop {
        let mut forests = LinkForests::new(routers, &ends, count);
        for link in 0..order.len() {
            step_every(8, "building trees", "links", link, order.len());
            forests.add(link);
        }
        if forests.links() == count * (routers - 1) {
            let tree = |forest| {
                let links: Vec<_> = forests.forest(forest).map(|link| order[link]).collect();
                SpanningTree::new(network, RouterId::default(), &links)
            };
            let trees = (0..count).map(tree).collect::<Result<_, _>>()?;
            return Ok(EdgeDisjointTrees { trees, limit });
        }
        let partition = Partition::new(routers, |router| forests.clump(router));
        let crossing = ends.iter().filter(|ends| {
            let [a, b] = ends.map(|router| partition.part(RouterId::new(router)));
            a != b
        });
        // Fewer links than `count` trees need, so this is less than `count`.
        count = crossing.count() / (partition.parts() - 1);
        limit = Some(partition);
    }
}

/// The bound from counting links and degrees: how many trees there can be at most, and the partition that shows it.
fn obvious_limit(network: &Network, links: &[ChannelId]) -> Option<(usize, Partition)> {
    let routers = network.routers();
    let by_number = links.len().checked_div(routers - 1)?;
    let mut degree = vec![0; routers];
    for &link in links {
        degree[network.from(link).index()] += 1;
        degree[network.to(link).index()] += 1;
    }
    let (by_degree, loneliest) = degree.into_iter().zip(0u32..).min()?;
    Some(if by_number <= by_degree {
        (by_number, Partition::new(routers, |router| router))
    } else {
        let other = u32::from(loneliest == 0);
        (by_degree, Partition::new(routers, |router| if router == loneliest { router } else { other }))
    })
}

/// Edge-disjoint trees after links have failed: as many as possible, up to the number before.
///
/// Trees without a failed link come first, and links change trees only where a gap cannot be closed otherwise. Roots stay.
///
/// # Errors
/// Only if the algorithm has an error and did not find trees.
pub fn repair_trees(
    network: &Network,
    trees: &[SpanningTree],
    failed: &[ChannelId],
) -> Result<EdgeDisjointTrees, NotSpanning> {
    let routers = network.routers();
    let links = working_links(network, failed);
    let ends: Vec<[u32; 2]> = links.iter().map(|&link| [network.from(link).raw(), network.to(link).raw()]).collect();
    let mut place = vec![u32::MAX; network.channels()];
    for (position, &link) in (0u32..).zip(&links) {
        place[link.index()] = position;
        place[network.reverse(link).index()] = position;
    }
    let lost = |tree: &SpanningTree| tree.links().filter(|link| place[link.index()] == u32::MAX).count();
    let mut kept: Vec<&SpanningTree> = trees.iter().collect();
    kept.sort_by_key(|tree| lost(tree));
    let mut limit = None;
    loop {
        let mut forests = LinkForests::new(routers, &ends, kept.len());
        for (forest, tree) in kept.iter().enumerate() {
            for link in tree.links().map(|link| place[link.index()]).filter(|&link| link != u32::MAX) {
                forests.place(link as usize, forest);
            }
        }
        for link in 0..links.len() {
            step_every(8, "repairing trees", "links", link, links.len());
            forests.add(link);
        }
        if forests.links() == kept.len() * (routers - 1) {
            let tree = |(forest, old): (usize, &&SpanningTree)| {
                let links: Vec<_> = forests.forest(forest).map(|link| links[link]).collect();
                SpanningTree::new(network, old.root(), &links)
            };
            let trees = kept.iter().enumerate().map(tree).collect::<Result<_, _>>()?;
            return Ok(EdgeDisjointTrees { trees, limit });
        }
        limit = Some(Partition::new(routers, |router| forests.clump(router)));
        kept.pop();
    }
}
