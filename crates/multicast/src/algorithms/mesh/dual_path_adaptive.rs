//! Dual-path multicast whose worms choose among shortest ways.

use std::sync::Arc;

use wormcast_network::{Network, Ports, RouterId};
use wormcast_routing::{Dependencies, HAMILTONIAN_ADAPTIVE, HamiltonianAdaptive, RoutingRelation};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::mesh::by_router::by_router;
use crate::algorithms::mesh::dual_path::high_and_low;
use crate::capabilities::AlgorithmCapabilities;
use crate::plan::Plan;
use crate::registry::descriptor::{Descriptor, Options, RequestPart};
use crate::registry::family::{Family, Sends};
use crate::registry::options::AlgorithmOption;

/// [`DualPathAdaptive`].
pub const DUAL_PATH_ADAPTIVE: Descriptor = Descriptor::built_in(
    "dual-path-adaptive",
    "dual-path with shortest ways to choose from between stops, on virtual channels of their own",
    Sends::Paths,
    |network, options| Ok(Box::new(DualPathAdaptive::new(network, options)?)),
)
.on(Family::Mesh2d)
.routed_by(&HAMILTONIAN_ADAPTIVE)
.offering(&[AlgorithmOption::Classes]);

/// The channels of a node: on two virtual channels that many worms may hold consumption channels of a router while they wait.
const PORTS: Ports = Ports { injection: 4, consumption: 6 };

/// The worms of [dual-path](crate::DualPath), whose headers take any free channel on a [shortest way to their next stop](HamiltonianAdaptive) from which label routing leads on, or that of label routing as
/// an escape.
///
/// Needs a mesh of two dimensions, two virtual channels, the first of them for the escape, and 6 consumption channels. Source: Lin, McKinley and Ni 1994 for the worms, Duato 1995 for adaptive
/// path multicast with an escape; paper 1, section 5, asks for it. With the option `classes = 1` there is no escape, on any number of virtual channels, and worms deadlock. O(destinations x log destinations).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let multicast = Multicast::new(NodeId::new(5), &[4, 7, 14, 0].map(NodeId::new));
/// let plan = |name| Ok::<_, Box<dyn std::error::Error>>(algorithm_by_name(name, &mesh, &Options::default())?.plan(&multicast));
/// assert_eq!(plan("dual-path-adaptive")?, plan("dual-path")?);
/// let adaptive = algorithm_by_name("dual-path-adaptive", &mesh, &Options::default())?;
/// let deadlock = |count, ports| adaptive.dependencies().with_virtual_channels(count).deadlock(ports);
/// assert!(deadlock(2, 6).is_none() && deadlock(2, 5).is_some() && deadlock(1, 8).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DualPathAdaptive {
    routing: HamiltonianAdaptive,
}

impl DualPathAdaptive {
    /// On a mesh of two dimensions.
    ///
    /// # Errors
    /// If the network is not one, or there are to be other than 1 or 2 classes of virtual channels.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        let routing = DUAL_PATH_ADAPTIVE.relation(network, HamiltonianAdaptive::new)?;
        match options.own.classes {
            None | Some(2) => Ok(Self { routing }),
            Some(1) => Ok(Self { routing: routing.without_escape() }),
            Some(other) => {
                let problem = format!("has 1 or 2 classes of virtual channels, not {other}");
                let part = RequestPart::Option(AlgorithmOption::Classes);
                Err(AlgorithmError::NotTaken { algorithm: DUAL_PATH_ADAPTIVE.name, part, problem })
            }
        }
    }
}

impl Algorithm for DualPathAdaptive {
    fn name(&self) -> &'static str {
        DUAL_PATH_ADAPTIVE.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        by_router(self.network(), multicast, plan, |multicast, plan| {
            let (high, low) = high_and_low(self.routing.labels(), multicast);
            let lists = [high, low].into_iter().filter(|stops| !stops.is_empty());
            plan.replace_by_paths(multicast.source(), lists.collect());
        });
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        AlgorithmCapabilities { ports: Some(PORTS), ..AlgorithmCapabilities::default() }
    }

    fn dependencies(&self) -> Dependencies<'_> {
        let mut rising: Vec<RouterId> = self.network().router_ids().collect();
        rising.sort_unstable_by_key(|&router| self.routing.labels().label(router));
        let falling = rising.iter().rev().copied().collect();
        Dependencies::of_ordered_paths(&self.routing, vec![rising, falling])
    }
}
