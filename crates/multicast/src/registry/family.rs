//! Classes of algorithms: the networks they are for, their routing, and the worms they send.

use wormcast_network::{Network, Shape};
use wormcast_routing::{RoutingDescriptor, Unsupported, require_square_torus, require_torus};

/// The networks that an algorithm is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    /// Meshes of any dimension.
    Mesh,
    /// Meshes of two dimensions.
    Mesh2d,
    /// Hypercubes.
    Hypercube,
    /// Tori of two dimensions.
    Torus,
    /// Tori of two dimensions of equal size.
    SquareTorus,
    /// Multistage networks, of any kind.
    Multistage,
    /// Bidirectional multistage networks.
    BidirectionalMultistage,
    /// Every connected network whose links have both directions.
    Connected,
    /// Whatever its routing or its constructor accepts.
    Any,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Mesh,
        Self::Mesh2d,
        Self::Hypercube,
        Self::Torus,
        Self::SquareTorus,
        Self::Multistage,
        Self::BidirectionalMultistage,
        Self::Connected,
        Self::Any,
    ];

    /// What a network of this family is called, without an article.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mesh => "mesh",
            Self::Mesh2d => "2-D mesh",
            Self::Hypercube => "hypercube",
            Self::Torus => "2-D torus",
            Self::SquareTorus => "square torus",
            Self::Multistage => "multistage network",
            Self::BidirectionalMultistage => "bidirectional multistage network",
            Self::Connected => "connected network",
            Self::Any => "any network",
        }
    }

    /// Checks that a network is of this family, as far as its shape tells; whether it is connected is not checked.
    ///
    /// # Errors
    /// If it is not; the message names `algorithm`, what it needs, and what the network is.
    pub fn check(self, algorithm: &str, network: &Network) -> Result<(), Unsupported> {
        let shape = network.shape();
        let fits = match self {
            Self::Mesh => shape.mesh().is_some(),
            Self::Mesh2d => shape.mesh().is_some_and(|grid| grid.dimensions() == 2),
            Self::Hypercube => matches!(shape, Shape::Hypercube(_)),
            Self::Torus => return require_torus(algorithm, network),
            Self::SquareTorus => return require_square_torus(algorithm, network),
            Self::Multistage => shape.stages().is_some(),
            Self::BidirectionalMultistage => shape.bmin().is_some(),
            Self::Connected if network.is_unidirectional() => {
                return Err(Unsupported::new(algorithm, "links with channels both ways", network));
            }
            Self::Connected | Self::Any => true,
        };
        if fits {
            return Ok(());
        }
        let example =
            if matches!(self, Self::Multistage | Self::BidirectionalMultistage) { ", such as `bmin:4x3`" } else { "" };
        let error = Unsupported::new(algorithm, &format!("a {}{example}", self.name()), network);
        Err(match (self, shape) {
            (Self::Mesh, Shape::Hypercube(grid)) => {
                let extents = vec!["2"; grid.dimensions()].join("x");
                error.with_hint(&format!("the mesh `mesh:{extents}` has the same links"))
            }
            (Self::Hypercube, Shape::Mesh(grid)) if grid.extents().iter().all(|&extent| extent == 2) => {
                error.with_hint(&format!("`hypercube:{}` has the same links", grid.dimensions()))
            }
            _ => error,
        })
    }
}

/// Which routing an algorithm uses.
#[derive(Clone, Copy, Debug)]
pub enum Routed {
    /// This one.
    By(&'static RoutingDescriptor),
    /// Any over permitted turns; this one, if none is asked for.
    OverTurns(&'static RoutingDescriptor),
    /// One of these; the one of the network's kind, if none is asked for.
    OneOf(&'static [&'static RoutingDescriptor], fn(&Network) -> &'static RoutingDescriptor),
    /// Any; the one of the network's kind, if none is asked for.
    Any(fn(&Network) -> &'static RoutingDescriptor),
    /// Whatever the algorithm makes of the request.
    Itself,
}

impl Routed {
    /// The routing that is used on a network if none is asked for; `None` if that is not known.
    pub fn default_on(self, network: &Network) -> Option<&'static RoutingDescriptor> {
        match self {
            Self::By(routing) | Self::OverTurns(routing) => Some(routing),
            Self::OneOf(_, default) | Self::Any(default) => Some(default(network)),
            Self::Itself => None,
        }
    }
}

/// The kind of worms that an algorithm sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sends {
    /// Worms to one destination each, which any router can handle.
    Unicasts,
    /// Worms that deliver on their way, which need several consumption channels.
    Paths,
    /// Worms that branch where their sender says, which need switches that copy flits.
    Trees,
    /// Worms whose headers encode destinations: buffered switches route and replicate them.
    Encoded,
}

impl Sends {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Unicasts, Self::Paths, Self::Trees, Self::Encoded];

    /// What its worms are called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unicasts => "unicasts",
            Self::Paths => "path worms",
            Self::Trees => "tree worms",
            Self::Encoded => "worms that switches replicate",
        }
    }
}
