//! The routing of algorithms whose worms are replicated by switches.

use std::sync::Arc;

use wormcast_network::{Network, Shape};
use wormcast_routing::{
    Adaptivity, DESTINATION_TAG, DestinationTag, MultidestinationRouting, ReachabilityRouting, RoutingDescriptor,
    TURNAROUND, Turnaround, UP_DOWN,
};

use crate::algorithm::AlgorithmError;
use crate::registry::descriptor::Options;

/// The routing of a multistage network of this kind; `None` for other networks.
pub(crate) fn of_stages(network: &Network) -> Option<&'static RoutingDescriptor> {
    match network.shape() {
        Shape::Bmin(_) => Some(&TURNAROUND),
        Shape::Butterfly(_) | Shape::Omega(_) => Some(&DESTINATION_TAG),
        _ => None,
    }
}

/// The routing for replicated worms in a network of this kind.
pub(crate) fn of_kind(network: &Network) -> &'static RoutingDescriptor {
    of_stages(network).unwrap_or(&UP_DOWN)
}

/// The one that is asked for, or that of the network's kind.
pub(crate) fn switches(
    network: &Arc<Network>,
    options: &Options,
) -> Result<Box<dyn MultidestinationRouting>, AlgorithmError> {
    let routing = options.routing.unwrap_or_else(|| of_kind(network));
    if *routing == UP_DOWN {
        return Ok(Box::new(ReachabilityRouting::new(network, options.root.unwrap_or_default())?));
    }
    if *routing == DESTINATION_TAG {
        return Ok(Box::new(DestinationTag::new(network)?));
    }
    let choice = if *routing == TURNAROUND { Adaptivity::Adaptive } else { Adaptivity::First };
    Ok(Box::new(Turnaround::new(network, choice)?))
}
