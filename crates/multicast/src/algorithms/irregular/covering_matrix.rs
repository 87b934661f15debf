//! Covering matrices: how far each destination of a tree is from each next router (paper 3, Table 1).

use wormcast_network::{ChannelId, RouterId};

use crate::algorithms::irregular::turn_trees::Wanted;
use crate::plan::Branch;

/// The choice that the One algorithm has at one router: how far each destination that is still to be reached is from each next
/// router, and through which of them it is reached.
///
/// Source: Karpovsky, Zakrevski, Mustafa and Agarwal (paper 3), section 4, Table 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CoveringMatrix {
    /// The router.
    pub at: RouterId,
    /// The channel on which the worm arrives; `None` at the source.
    pub arrived: Option<ChannelId>,
    /// The routers of the destinations that are reached from here on, this one excepted, in increasing order: the columns.
    pub destinations: Vec<RouterId>,
    /// The next routers, in increasing order.
    pub rows: Vec<CoveringRow>,
}

/// A row of a [`CoveringMatrix`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CoveringRow {
    /// The channel that leads to the next router.
    pub channel: ChannelId,
    /// Hops from the next router to each destination, by permitted turns; `None`: there is no route. 0: it is the next router.
    pub hops: Vec<Option<u32>>,
    /// Whether the tree reaches each destination this way.
    pub taken: Vec<bool>,
}

impl CoveringMatrix {
    /// The matrices of a tree, at each router that it leaves: the source's first, parents before children.
    pub(crate) fn of_tree(wanted: &Wanted<'_>, branches: &[Branch]) -> Vec<Self> {
        // By branch: the routers of the destinations that it leads to.
        let mut below: Vec<Vec<RouterId>> = vec![Vec::new(); branches.len()];
        for (place, branch) in branches.iter().enumerate().rev() {
            let mut reached = std::mem::take(&mut below[place]);
            if !branch.delivers.is_empty() {
                reached.push(wanted.network.to(branch.channel));
            }
            if let Some(parent) = branch.parent {
                below[parent as usize].extend(&reached);
            }
            below[place] = reached;
        }
        let vertices = std::iter::once(None).chain((0..branches.len() as u32).map(Some));
        let matrix = |vertex: Option<u32>| {
            let arrived = vertex.map(|place| branches[place as usize].channel);
            let at = arrived.map_or(wanted.home, |channel| wanted.network.to(channel));
            let children = || branches.iter().zip(&below).filter(|(branch, _)| branch.parent == vertex);
            let mut destinations: Vec<RouterId> = children().flat_map(|(_, reached)| reached).copied().collect();
            destinations.sort_unstable();
            let row = |channel| {
                let leads_to =
                    |to: &RouterId| children().any(|(b, reached)| b.channel == channel && reached.contains(to));
                let hops = |&to: &RouterId| wanted.turns.hops(channel, to).map(|hops| hops - 1);
                CoveringRow {
                    channel,
                    hops: destinations.iter().map(hops).collect(),
                    taken: destinations.iter().map(leads_to).collect(),
                }
            };
            let rows = wanted.onwards(at, arrived).map(row).collect();
            Self { at, arrived, destinations, rows }
        };
        vertices.map(matrix).filter(|matrix| !matrix.destinations.is_empty()).collect()
    }
}
