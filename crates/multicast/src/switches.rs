//! What algorithms share whose worms switches replicate: which routing leads them.

use wormcast_network::{Network, Shape};
use wormcast_routing::{
    Choice, DestinationTag, MultidestinationRouting, ReachabilityRouting, RoutingRelation, Turnaround,
    check_routing_name,
};

use crate::algorithm::{AlgorithmError, Options, no_root, root};

/// A routing for worms that switches replicate.
pub(crate) enum Switches {
    Turnaround(Turnaround),
    Strings(Box<ReachabilityRouting>),
    Tag(DestinationTag),
}

impl Switches {
    /// The one that is asked for, or that of the network's kind.
    pub(crate) fn new(algorithm: &'static str, network: &Network, options: &Options) -> Result<Self, AlgorithmError> {
        let own = match network.shape() {
            Shape::Bmin(_) => "turnaround",
            Shape::Butterfly(_) | Shape::Omega(_) => "destination-tag",
            _ => "up-down",
        };
        let given = options.routing.as_deref().unwrap_or(own);
        check_routing_name(given)?;
        let turnaround = |choice| {
            let routing = Turnaround::new(choice);
            routing.supports(network)?;
            Ok(Self::Turnaround(routing))
        };
        if given != "up-down" {
            no_root(given, options)?;
        }
        match given {
            "turnaround" => turnaround(Choice::Adaptive),
            "turnaround-deterministic" => turnaround(Choice::First),
            "destination-tag" => {
                DestinationTag.supports(network)?;
                Ok(Self::Tag(DestinationTag))
            }
            "up-down" => Ok(Self::Strings(Box::new(ReachabilityRouting::new(network, root(network, options)?)?))),
            _ => Err(AlgorithmError::FixedRouting { algorithm, own, given: given.to_owned() }),
        }
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
