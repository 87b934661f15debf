//! The header flits that worms carry in wormhole switching: how many there are, and which of them routers strip.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wormcast_multicast::{Itinerary, Tree};
use wormcast_network::Network;

/// What travels in front of the data flits (model.md, rules 13 to 16).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Header {
    /// Nothing: the first data flit is the header.
    None,
    /// A fixed number of flits, the same on every branch, consumed as well.
    BitString,
    /// One address flit a stop, stripped at that stop; paths only.
    AllDestinations,
    /// One flit a destination or splitting router, parents first, stripped there; trees only.
    Tree,
}

impl Header {
    /// The flits of a header of fixed length, where a file does not say: one for every 16 nodes.
    pub(crate) fn default_flits(network: &Network) -> u32 {
        (network.nodes() as u32).div_ceil(16)
    }

    /// Whether its length is the same for all worms, and may be set.
    pub(crate) const fn has_fixed_length(self) -> bool {
        match self {
            Self::BitString => true,
            Self::None | Self::AllDestinations | Self::Tree => false,
        }
    }

    /// The header flits of a worm; `fixed` is the number of those of fixed length.
    #[inline]
    pub(crate) fn flits(self, itinerary: &Itinerary, fixed: u32) -> u32 {
        match (self, itinerary) {
            (Self::BitString, _) => fixed,
            (Self::AllDestinations, Itinerary::Path(path)) => path.stops.len() as u32,
            (Self::Tree, Itinerary::Tree(tree)) => flits_of_tree(tree),
            (Self::Tree, Itinerary::Path(_)) => 1,
            (Self::None, _)
            | (Self::AllDestinations, Itinerary::Tree(_))
            | (Self::AllDestinations | Self::Tree, Itinerary::Encoded(_)) => 0,
        }
    }

    /// The most header flits of a worm to so many destinations.
    pub(crate) fn most_flits(self, destinations: u32, fixed: u32) -> u64 {
        match self {
            Self::None => 0,
            Self::BitString => u64::from(fixed),
            Self::AllDestinations => u64::from(destinations),
            // A tree parts fewer times than it has leaves.
            Self::Tree => 2 * u64::from(destinations),
        }
    }

    /// Whether paths have an address flit for each stop, which is stripped there.
    #[inline]
    pub(crate) const fn strips_paths(self) -> bool {
        match self {
            Self::AllDestinations => true,
            Self::None | Self::BitString | Self::Tree => false,
        }
    }

    /// Whether trees have a flit for each router where they deliver or part, which is stripped there.
    #[inline]
    pub(crate) const fn strips_trees(self) -> bool {
        match self {
            Self::Tree => true,
            Self::None | Self::BitString | Self::AllDestinations => false,
        }
    }

    /// How many of a path's header flits are stripped on its way, and not consumed: all, or none.
    #[inline]
    pub(crate) const fn stripped_of_path(self, header: u32) -> Option<u32> {
        if self.strips_paths() { Some(header) } else { None }
    }

    /// How many of a tree's header flits are stripped on its way, and not consumed.
    #[inline]
    pub(crate) const fn stripped_of_tree(self, header: u32) -> u32 {
        if self.strips_trees() { header } else { 0 }
    }
}

/// The header flits of a tree that has one for each destination and each router where it splits.
fn flits_of_tree(tree: &Tree) -> u32 {
    if !tree.header.is_empty() {
        return tree.header.len() as u32;
    }
    let branches_from = |parent| tree.branches.iter().filter(|branch| branch.parent == parent).count();
    let named = (0..tree.branches.len())
        .filter(|&i| !tree.branches[i].delivers.is_empty() || branches_from(Some(i as u32)) > 1);
    named.count() as u32 + u32::from(!tree.delivers.is_empty() || branches_from(None) > 1)
}
