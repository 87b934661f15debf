//! What multicast algorithms can do beside planning.

use wormcast_network::Ports;
use wormcast_routing::{Branching, Dependencies, MultidestinationRouting};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::irregular::covering_matrix::CoveringMatrix;

/// What an algorithm can do, or needs, beside planning; by default nothing.
#[derive(Clone, Copy, Default)]
pub struct AlgorithmCapabilities<'a> {
    /// The injection and consumption channels that nodes have where nothing else is said, if the algorithm is defined with such
    /// numbers. A plan may bind worms to any of these consumption channels.
    pub ports: Option<Ports>,
    /// Trees that wormhole switches replicate.
    pub trees: Option<&'a dyn BranchingTrees>,
    /// For an algorithm whose worms switches replicate: how they route them.
    pub switches: Option<&'a dyn MultidestinationRouting>,
    /// Plans that are to be a minimum.
    pub minimum: Option<&'a dyn Minimum>,
    /// Covers of destinations by as few next routers as possible.
    pub covers: Option<&'a dyn Covers>,
}

/// Sends trees, to which switches make a difference.
pub trait BranchingTrees: Send + Sync {
    /// The switches that the trees are meant for: what runs have unless they are told otherwise.
    fn branching(&self) -> Branching;

    /// As [`Algorithm::dependencies`], which are those with the switches that the trees are meant for.
    fn dependencies_with(&self, branching: Branching) -> Dependencies<'_>;
}

/// Minimises something, and may have to settle for less.
pub trait Minimum: Send + Sync {
    /// Whether this multicast's plan is a minimum for certain.
    fn is_exact(&self, multicast: &Multicast) -> bool;
}

/// Covers destinations by as few next routers as possible.
pub trait Covers: Send + Sync {
    /// What the algorithm had to choose from at each router of this multicast's plan.
    fn covering_matrices(&self, multicast: &Multicast) -> Vec<CoveringMatrix>;
}

impl dyn Algorithm + '_ {
    /// The switches that worms of the algorithm are meant for: for all but [trees](BranchingTrees), the wormhole switches that are enough
    /// for paths.
    pub fn branching(&self) -> Branching {
        self.capabilities().trees.map_or(Branching::LOCKSTEP, BranchingTrees::branching)
    }

    /// The [dependencies](Algorithm::dependencies) with other switches, which make a difference to [trees](BranchingTrees).
    pub fn dependencies_with(&self, branching: Branching) -> Dependencies<'_> {
        match self.capabilities().trees {
            Some(trees) => trees.dependencies_with(branching),
            None => self.dependencies(),
        }
    }
}
