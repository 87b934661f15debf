//! Containment order in two dimensions and the greedy chains of paper 1, Figures 2 and 3.

use wormcast_network::{Grid, NodeId};

use crate::algorithm::AlgorithmError;
use crate::plan::ids::sorted_by_number;
use crate::registry::descriptor::{Descriptor, Options, RequestPart};
use crate::registry::options::{AlgorithmOption, Greedy};

/// The greedy lists that the options of an algorithm ask for, on its grid.
///
/// # Errors
/// If there is a choice and the grid has other than two dimensions, where chain covers take the place of greedy lists.
pub(crate) fn chosen(algorithm: &Descriptor, grid: &Grid, options: &Options) -> Result<Greedy, AlgorithmError> {
    match options.own.greedy {
        Some(_) if grid.dimensions() != 2 => Err(AlgorithmError::NotTaken {
            algorithm: algorithm.name,
            part: RequestPart::Option(AlgorithmOption::Greedy),
            problem: "makes greedy lists in 2-D meshes only; leave `greedy` out".to_owned(),
        }),
        given => Ok(given.unwrap_or_default()),
    }
}

/// A destination and its coordinates in a 2-D mesh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Site {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) node: NodeId,
}

/// The sites of nodes in increasing lexicographic order: by x, then y.
pub(crate) fn sites(grid: &Grid, nodes: &[NodeId]) -> Vec<Site> {
    let rows = grid.extents()[1];
    let site = |&node: &NodeId| {
        let (x, y) = (grid.coordinate(node.index(), 0), grid.coordinate(node.index(), 1));
        (x * rows + y, Site { x, y, node })
    };
    let sorted = sorted_by_number(nodes.iter().map(site).collect(), grid.len());
    sorted.into_iter().map(|(_, site)| site).collect()
}

/// Column-greedy (Figure 2): takes the sites of one containment-ordered list out of `sites`, which are in lexicographic
/// order and stay so. Repeated until nothing is left, it makes as few lists as possible.
pub(crate) fn column_greedy(sites: &mut Vec<Site>) -> Vec<Site> {
    let (mut list, mut y) = (Vec::new(), 0);
    sites.retain(|site| {
        let take = site.y >= y;
        if take {
            y = site.y;
            list.push(*site);
        }
        !take
    });
    list
}

/// Sites by y, then x.
pub(crate) fn by_row(mut sites: Vec<Site>) -> Vec<Site> {
    // One number is compared faster than a pair.
    sites.sort_unstable_by_key(|site| u64::from(site.y) << 32 | u64::from(site.x));
    sites
}

/// Row-greedy (Figure 3): the same, row by row. `rows` are the same sites [by row](by_row).
pub(crate) fn row_greedy(sites: &mut Vec<Site>, rows: &mut Vec<Site>) -> Vec<Site> {
    let (mut list, mut x) = (Vec::new(), 0);
    rows.retain(|site| {
        let take = site.x >= x;
        if take {
            x = site.x;
            list.push(*site);
        }
        !take
    });
    // The list rises in both coordinates, so in lexicographic order its sites come one after the other.
    let mut next = 0;
    sites.retain(|site| {
        let is_taken = list.get(next) == Some(site);
        next += usize::from(is_taken);
        !is_taken
    });
    list
}

/// Column-greedy or row-greedy.
pub(crate) fn greedy(sites: &mut Vec<Site>, by: Greedy) -> Vec<Site> {
    match by {
        Greedy::Columns => column_greedy(sites),
        Greedy::Rows => row_greedy(sites, &mut by_row(sites.clone())),
    }
}

/// The nodes of a list, in its order.
pub(crate) fn nodes(list: &[Site]) -> Vec<NodeId> {
    list.iter().map(|site| site.node).collect()
}

/// The nodes of a list, last first.
pub(crate) fn reversed(list: &[Site]) -> Vec<NodeId> {
    list.iter().rev().map(|site| site.node).collect()
}
