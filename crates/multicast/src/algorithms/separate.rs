//! Separate addressing: one unicast for each destination.

use std::sync::Arc;

use wormcast_network::Network;
use wormcast_network::text::quoted;
use wormcast_routing::{Dependencies, E_CUBE, RoutingDescriptor, RoutingError, RoutingRelation, UP_DOWN};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::multistage::switches::of_stages;
use crate::plan::{Plan, Worm};
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Routed, Sends};

/// [`Separate`].
pub const SEPARATE: Descriptor =
    Descriptor::built_in("separate", "a unicast for each destination", Sends::Unicasts, |network, options| {
        Ok(Box::new(Separate::new(network, options)?))
    })
    .routed(Routed::Any(of_kind));

/// The routing of the network's kind.
fn of_kind(network: &Network) -> &'static RoutingDescriptor {
    of_stages(network).unwrap_or(&E_CUBE)
}

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
/// let plan = separate.plan(&Multicast::new(NodeId::new(0), &[NodeId::new(5), NodeId::new(3)]));
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
    /// If the routing is not defined on the network, or has no root and one is given.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        let routing = options.routing.unwrap_or_else(|| of_kind(network)).make(network, &options.of_routing());
        let routing = routing.map_err(|error| match error {
            RoutingError::Unsupported(problem) if options.routing.is_none() => {
                let fitting: Vec<&str> = of_kind(network).others_of_kind(network).map(|routing| routing.name).collect();
                let hint = match fitting.len() {
                    0 => format!(
                        "`{}` is for any network whose links have both directions: ask for it as the routing",
                        UP_DOWN.name
                    ),
                    1 => format!("{} is for such networks: ask for it as the routing", quoted(fitting)),
                    _ => format!("{} are for such networks: ask for one of them as the routing", quoted(fitting)),
                };
                RoutingError::Unsupported(problem.with_hint(&hint))
            }
            other => other,
        })?;
        Ok(Self { routing })
    }
}

impl Algorithm for Separate {
    fn name(&self) -> &'static str {
        SEPARATE.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self.routing.as_ref()
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        let mut plan = Plan::default();
        self.plan_into(multicast, &mut plan);
        plan
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        let (source, destinations) = (multicast.source(), multicast.destinations());
        plan.worms.truncate(destinations.len());
        for (place, worm) in plan.worms.iter_mut().enumerate() {
            let destination = destinations[place];
            let mut stops = worm.itinerary.take_stops();
            stops.clear();
            stops.push(destination);
            *worm = Worm::path(source, stops);
        }
        let unicast = |&destination| Worm::path(source, vec![destination]);
        if plan.worms.len() < destinations.len() {
            plan.worms.extend(destinations[plan.worms.len()..].iter().map(unicast));
        }
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_relation(self.routing())
    }
}
