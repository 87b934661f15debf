//! Virtual circuit tree multicast.

use std::sync::Arc;

use wormcast_network::Network;
use wormcast_routing::{Dependencies, E_CUBE, RoutingRelation};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::mesh::fork::ForkingTrees;
use crate::algorithms::mesh::xy_tree::xy_trees;
use crate::capabilities::AlgorithmCapabilities;
use crate::plan::Plan;
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Sends};

/// [`Vctm`].
pub const VCTM: Descriptor = Descriptor::built_in(
    "vctm",
    "one tree of XY routes that unicasts have set up before",
    Sends::Trees,
    |network, options| Ok(Box::new(Vctm::new(network, options)?)),
)
.on(Family::Mesh2d)
.routed_by(&E_CUBE);

/// Virtual circuit tree multicast.
pub struct Vctm {
    trees: ForkingTrees,
}

impl Vctm {
    /// On a 2-D mesh.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>, _options: &Options) -> Result<Self, AlgorithmError> {
        Ok(Self { trees: xy_trees(&VCTM, network)? })
    }
}

impl Algorithm for Vctm {
    fn name(&self) -> &'static str {
        VCTM.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self.trees.routing()
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        self.trees.plan(multicast)
    }

    fn dependencies(&self) -> Dependencies<'_> {
        self.trees.dependencies()
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        AlgorithmCapabilities { trees: Some(&self.trees), ..AlgorithmCapabilities::default() }
    }
}
