//! What is known of a multicast algorithm before it is made for a network.

use std::hash::{Hash, Hasher};

use wormcast_network::{Network, Shape};
use wormcast_routing::{RoutingDescriptor, RoutingError, Unsupported, require_square_torus, require_torus};

use crate::algorithm::{Algorithm, AlgorithmError, Options};
use crate::watched::Watched;

/// Makes an algorithm for a network, or says why there is none.
pub type MakeAlgorithm = fn(&Network, &Options) -> Result<Box<dyn Algorithm>, AlgorithmError>;

/// What is known of a multicast algorithm before it is made for a network. Each stands in the algorithm's own file;
/// [`ALGORITHMS`](crate::ALGORITHMS) has those of the workbench, and [`register`](crate::register) adds those of a program.
///
/// ```
/// use wormcast_multicast::{Descriptor, Family, Options, Separate};
/// use wormcast_network::TopologySpec;
/// use wormcast_routing::E_CUBE;
///
/// // In earnest, an algorithm of one's own, which calls itself `my-own`.
/// const MY_OWN: Descriptor = Descriptor::new("my-own", 1, |network, options| Ok(Box::new(Separate::new(network, options)?)))
///     .on(Family::Mesh2d)
///     .routed_by(&E_CUBE);
/// let torus = "torus:4x4".parse::<TopologySpec>()?.build()?;
/// let refused = MY_OWN.make(&torus, &Options::default()).err().unwrap();
/// assert_eq!(refused.to_string(), "`my-own` needs a 2-D mesh, but `torus:4x4` is a torus");
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Descriptor {
    /// The name under which users ask for it: that of [`Algorithm::name`].
    pub name: &'static str,
    /// What it does, in a line; may be empty.
    pub summary: &'static str,
    /// The networks that it is for.
    pub family: Family,
    /// The routing that leads its worms.
    pub routed: Routed,
    /// What it sends; `None` if that is not said.
    pub sends: Option<Sends>,
    /// Whether it makes random choices, which [`Options::seed`] decides.
    pub draws: bool,
    /// Whether it heeds [`Options::faults`]. If not, it is refused where links have failed.
    pub faults: bool,
    /// The revision of an algorithm that a program adds; 0 for those of the workbench.
    pub revision: u32,
    /// Whether a program adds it.
    own: bool,
    make: MakeAlgorithm,
}

impl Descriptor {
    /// The algorithm of a program's own that `make` makes. Unless the other functions say otherwise, it is for any network, sees itself
    /// to its routing, may make random choices, and needs all links.
    ///
    /// The name is that of [`Algorithm::name`]: lower-case letters, digits and hyphens. The `revision` becomes part of the
    /// description under which results are stored: raise it with every change of plans, routing (what a relation's
    /// `candidates` are), rules, switches or ports, or stored results of the old code will be taken for those of the new. `--fresh`
    /// of the commands forgets those of a sweep.
    pub const fn new(name: &'static str, revision: u32, make: MakeAlgorithm) -> Self {
        Self {
            name,
            summary: "",
            family: Family::Any,
            routed: Routed::Itself,
            sends: None,
            draws: true,
            faults: false,
            revision,
            own: true,
            make,
        }
    }

    /// An algorithm of the workbench, without random choices.
    pub(crate) const fn built_in(name: &'static str, summary: &'static str, sends: Sends, make: MakeAlgorithm) -> Self {
        let own = Self::new(name, 0, make);
        Self { summary, sends: Some(sends), draws: false, own: false, ..own }
    }

    /// The same, with what it does in a line: for help.
    #[must_use]
    pub const fn about(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    /// The same, for these networks only: others are refused.
    #[must_use]
    pub const fn on(self, family: Family) -> Self {
        Self { family, ..self }
    }

    /// The same, with this routing only: to ask for another one is refused, and so is a root if the routing has none.
    #[must_use]
    pub const fn routed_by(self, routing: &'static RoutingDescriptor) -> Self {
        self.routed(Routed::By(routing))
    }

    /// The same, with what there is to choose of its routing.
    #[must_use]
    pub const fn routed(self, routed: Routed) -> Self {
        Self { routed, ..self }
    }

    /// The same, of one that heeds [`Options::seed`].
    pub(crate) const fn drawing(self) -> Self {
        Self { draws: true, ..self }
    }

    /// The same, of an algorithm that heeds [`Options::faults`].
    #[must_use]
    pub const fn with_faults(self) -> Self {
        Self { faults: true, ..self }
    }

    /// Whether a program adds it. The workbench's algorithms are tested; the plans and the routing of others are checked in runs.
    pub fn is_own(&self) -> bool {
        self.own
    }

    /// Whether it, or the routing that it is to use, makes random choices on a network, which [`Options::seed`] decides.
    pub fn draws_on(&self, network: &Network, routing: Option<&RoutingDescriptor>) -> bool {
        self.draws || routing.is_some_and(|routing| routing.draws_on(network))
    }

    /// The algorithm, made for `network`.
    ///
    /// # Errors
    /// If it is not defined for the network or with these options. If it is one that a program adds: if its relation gives channels that
    /// do not leave the router in question, as far as that is found out here, on networks that are not too large; a route that gets there
    /// later has [no way](wormcast_routing::NoRoute).
    pub fn make(&self, network: &Network, options: &Options) -> Result<Box<dyn Algorithm>, AlgorithmError> {
        self.check(network, options.routing, options.root.is_some(), !options.faults.links.is_empty())?;
        self.checked(network, options)
    }

    /// Checks that the network is of its family, and that it takes what is given. Returns the routing that will be used, if that is known.
    pub(crate) fn check(
        &self,
        network: &Network,
        given: Option<&'static RoutingDescriptor>,
        root: bool,
        faults: bool,
    ) -> Result<Option<&'static RoutingDescriptor>, AlgorithmError> {
        if faults && !self.faults {
            return Err(AlgorithmError::NeedsAllLinks { algorithm: self.name });
        }
        self.family.check(self.name, network)?;
        let own = self.routed.default_on(network);
        let fixed = |given: &RoutingDescriptor| AlgorithmError::FixedRouting {
            algorithm: self.name,
            own: own.map_or("its own", |own| own.name),
            given: given.name,
        };
        if let (Routed::By(own), Some(given)) = (self.routed, given)
            && own != given
        {
            return Err(fixed(given));
        }
        let used = given.or(own);
        if let Some(used) = used.filter(|used| root && !used.root) {
            return Err(RoutingError::NoRoot(used.name).into());
        }
        match (self.routed, given) {
            (Routed::OneOf(known, _), Some(given)) if !known.contains(&given) => Err(fixed(given)),
            _ => Ok(used),
        }
    }

    /// The algorithm, with options that are checked.
    pub(crate) fn checked(&self, network: &Network, options: &Options) -> Result<Box<dyn Algorithm>, AlgorithmError> {
        let made = (self.make)(network, options)?;
        if made.name() != self.name {
            return Err(AlgorithmError::Misnamed { registered: self.name, own: made.name() });
        }
        if !self.own {
            return Ok(made);
        }
        let watched = Watched::new(made);
        if let Some(problem) = watched.try_all(network) {
            return Err(AlgorithmError::Routing { algorithm: self.name, problem: problem.to_owned() });
        }
        Ok(Box::new(watched))
    }
}

/// Names are unique in a process.
impl PartialEq for Descriptor {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Descriptor {}

impl Hash for Descriptor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

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
    /// Every connected network.
    Connected,
    /// What its routing is defined on, or whatever else decides.
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

    /// Checks that a network is of this family, as far as its shape says so: whether it is connected is not looked at.
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

/// Which routing leads the worms of an algorithm.
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
    /// What the algorithm makes of what is asked for.
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

/// What an algorithm sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sends {
    /// Worms to one destination each, which need nothing of routers.
    Unicasts,
    /// Worms that deliver on their way, which takes consumption channels.
    Paths,
    /// Worms that branch where their sender says, which takes switches that copy flits.
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
