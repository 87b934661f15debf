//! What algorithms share whose worms switches replicate: which routing leads them.

use wormcast_network::{Network, Shape};
use wormcast_routing::{
    Choice, DESTINATION_TAG, DestinationTag, MultidestinationRouting, ReachabilityRouting, RoutingDescriptor,
    RoutingRelation, TURNAROUND, Turnaround, UP_DOWN,
};

use crate::algorithm::AlgorithmError;
use crate::descriptor::Options;

/// A routing for worms that switches replicate.
pub(crate) enum Switches {
    Turnaround(Turnaround),
    Strings(Box<ReachabilityRouting>),
    Tag(DestinationTag),
}

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

impl Switches {
    /// The one that is asked for, or that of the network's kind.
    pub(crate) fn new(network: &Network, options: &Options) -> Result<Self, AlgorithmError> {
        let routing = options.routing.unwrap_or_else(|| of_kind(network));
        if *routing == UP_DOWN {
            let strings = ReachabilityRouting::new(network, options.root.unwrap_or_default())?;
            return Ok(Self::Strings(Box::new(strings)));
        }
        if *routing == DESTINATION_TAG {
            DestinationTag.supports(network)?;
            return Ok(Self::Tag(DestinationTag));
        }
        let choice = if *routing == TURNAROUND { Choice::Adaptive } else { Choice::First };
        let turnaround = Turnaround::new(choice);
        turnaround.supports(network)?;
        Ok(Self::Turnaround(turnaround))
    }

    pub(crate) fn relation(&self) -> &dyn RoutingRelation {
        match self {
            Self::Turnaround(routing) => routing,
            Self::Strings(routing) => routing.as_ref(),
            Self::Tag(routing) => routing,
        }
    }

    pub(crate) fn routing(&self) -> &dyn MultidestinationRouting {
        match self {
            Self::Turnaround(routing) => routing,
            Self::Strings(routing) => routing.as_ref(),
            Self::Tag(routing) => routing,
        }
    }
}
