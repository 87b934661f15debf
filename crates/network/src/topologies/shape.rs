//! The regular structure of a network.

use crate::topologies::dragonfly::Dragonfly;
use crate::topologies::grid::Grid;
use crate::topologies::hyperx::HyperX;
use crate::topologies::slimfly::SlimFly;
use crate::topologies::stages::Stages;

/// The regular structure that algorithms may rely on.
///
/// Only code that is defined for one kind of network asks for it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Shape {
    /// An n-dimensional mesh.
    Mesh(Grid),
    /// An n-dimensional torus: a mesh whose dimensions wrap around.
    Torus(Grid),
    /// A binary hypercube, as a grid of extent 2 in each dimension; a router's index is its address.
    Hypercube(Grid),
    /// A bidirectional multistage network: a K-ary L-tree.
    Bmin(Stages),
    /// A unidirectional butterfly: at stage s, switches of digit L - 1 - s.
    Butterfly(Stages),
    /// A unidirectional omega network: a perfect shuffle before every stage.
    Omega(Stages),
    /// Groups of routers, with a link between every two.
    Dragonfly(Dragonfly),
    /// A grid whose lines are complete graphs.
    HyperX(HyperX),
    /// A graph of `McKay`, Miller and Širáň.
    SlimFly(SlimFly),
    /// No regularity is known.
    Irregular,
}

impl Shape {
    /// The grid, if this is a mesh.
    pub fn mesh(&self) -> Option<&Grid> {
        match self {
            Self::Mesh(grid) => Some(grid),
            _ => None,
        }
    }

    /// The grid, if routers have coordinates at all.
    pub fn grid(&self) -> Option<&Grid> {
        match self {
            Self::Mesh(grid) | Self::Torus(grid) | Self::Hypercube(grid) => Some(grid),
            _ => None,
        }
    }

    /// The stages, if this is a multistage network.
    pub fn stages(&self) -> Option<&Stages> {
        match self {
            Self::Bmin(stages) | Self::Butterfly(stages) | Self::Omega(stages) => Some(stages),
            _ => None,
        }
    }

    /// The stages, if this is a bidirectional multistage network.
    pub fn bmin(&self) -> Option<&Stages> {
        match self {
            Self::Bmin(stages) => Some(stages),
            _ => None,
        }
    }

    /// Whether dimensions wrap around.
    pub fn wraps(&self) -> bool {
        matches!(self, Self::Torus(_))
    }

    /// The kind's name, with an article, for messages.
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Mesh(_) => "a mesh",
            Self::Torus(_) => "a torus",
            Self::Hypercube(_) => "a hypercube",
            Self::Bmin(_) => "a bidirectional multistage network",
            Self::Butterfly(_) => "a unidirectional butterfly",
            Self::Omega(_) => "a unidirectional omega network",
            Self::Dragonfly(_) => "a dragonfly",
            Self::HyperX(_) => "a HyperX",
            Self::SlimFly(_) => "a Slim Fly",
            Self::Irregular => "an irregular network",
        }
    }
}
