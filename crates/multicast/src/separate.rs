//! Separate addressing: one unicast for each destination.

use wormcast_network::{Network, Shape};
use wormcast_routing::{Dependencies, RoutingError, RoutingRelation, routing_by_name};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast, Options};
use crate::plan::{Plan, Worm};

/// Separate addressing: the source sends one unicast to each destination, in the order given.
///
/// The baseline that every other scheme has to beat. Any routing will do; the default is e-cube, in multistage networks `turnaround`. As many startups as
/// destinations; O(destinations).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let separate = algorithm_by_name("separate", &mesh, &Options::default())?;
/// let plan = separate.plan(&mesh, &Multicast::new(NodeId::new(0), &[NodeId::new(5), NodeId::new(3)]));
/// assert_eq!(plan.worms.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Separate {
    routing: Box<dyn RoutingRelation>,
}

impl Separate {
    /// With the routing of the options, or that of the network's kind.
    ///
    /// # Errors
    /// If the routing is unknown or not defined on the network.
    pub fn new(network: &Network, options: &Options) -> Result<Self, AlgorithmError> {
        let name = options.routing.as_deref().unwrap_or(match network.shape() {
            Shape::Bmin(_) => "turnaround",
            Shape::Butterfly(_) | Shape::Omega(_) => "destination-tag",
            _ => "e-cube",
        });
        let routing = routing_by_name(name, network, &options.of_routing());
        let routing = routing.map_err(|error| match error {
            RoutingError::Unsupported(problem) if options.routing.is_none() => {
                let hint = "`up-down` is for any network: `--routing up-down`, or `routing = \"up-down\"` in a file";
                RoutingError::Unsupported(problem.with_hint(hint))
            }
            other => other,
        })?;
        Ok(Self { routing })
    }
}

impl Algorithm for Separate {
    fn name(&self) -> &'static str {
        "separate"
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self.routing.as_ref()
    }

    fn plan(&self, _network: &Network, multicast: &Multicast) -> Plan {
        let unicast = |&destination| Worm::path(multicast.source(), vec![destination]);
        Plan { worms: multicast.destinations().iter().map(unicast).collect() }
    }

    fn dependencies<'n>(&self, network: &'n Network) -> Dependencies<'n> {
        Dependencies::of_relation(network, self.routing())
    }
}
