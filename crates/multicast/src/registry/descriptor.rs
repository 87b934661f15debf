//! Descriptors of multicast algorithms, their options, and requests for them.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use thiserror::Error;
use wormcast_network::Network;
use wormcast_network::text::quoted;
use wormcast_routing::{Root, RoutingDescriptor, RoutingError, RoutingOptions, UnknownName, Unsupported};

use crate::algorithm::{Algorithm, AlgorithmError};
use crate::checks::checked_algorithm::CheckedAlgorithm;
use crate::faults::{FaultError, FaultInformation, Faults};
use crate::registry::family::{Family, Routed, Sends};
use crate::registry::options::{AlgorithmOption, AlgorithmOptions};
use crate::registry::{algorithms, routing_named};

/// Makes an algorithm for a network, or returns why it cannot.
pub type MakeAlgorithm = fn(&Arc<Network>, &Options) -> Result<Box<dyn Algorithm>, AlgorithmError>;

/// A [`MakeAlgorithm`] that knows more than its arguments, such as which function of another language plans.
pub type MakeWithState = dyn Fn(&Arc<Network>, &Options) -> Result<Box<dyn Algorithm>, AlgorithmError> + Send + Sync;

/// What makes an algorithm.
#[derive(Clone, Copy)]
enum Make {
    Function(MakeAlgorithm),
    Closure(&'static MakeWithState),
}

impl std::fmt::Debug for Make {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Function(_) => "Function",
            Self::Closure(_) => "Closure",
        })
    }
}

/// The description of a multicast algorithm: what is known of it before it is made for a network.
/// [`ALGORITHMS`](crate::ALGORITHMS) lists the built-in ones, and [`register`](crate::register) adds those of a program.
///
/// ```
/// use wormcast_multicast::{Descriptor, Family, Options, Separate};
/// use wormcast_network::TopologySpec;
/// use wormcast_routing::E_CUBE;
///
/// // In a real program, your own type, whose `name` is `my-own`.
/// const MY_OWN: Descriptor = Descriptor::new("my-own", 1, |network, options| Ok(Box::new(Separate::new(network, options)?)))
///     .on(Family::Mesh2d)
///     .routed_by(&E_CUBE);
/// let torus = "torus:4x4".parse::<TopologySpec>()?.build()?;
/// let refused = MY_OWN.make(&torus, &Options::default()).err().unwrap();
/// assert!(refused.to_string().starts_with("`my-own` needs a 2-D mesh, but `torus:4x4` is a torus"));
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Descriptor {
    /// The name under which users ask for it: that of [`Algorithm::name`].
    pub name: &'static str,
    /// What it does, in one line; may be empty.
    pub summary: &'static str,
    /// The networks that it is for.
    pub family: Family,
    /// The routing of its worms.
    pub routed: Routed,
    /// The kind of worms that it sends; `None` if unknown.
    pub sends: Option<Sends>,
    /// Whether it makes random choices, which [`Options::seed`] decides.
    pub draws: bool,
    /// The options that are its own.
    pub options: &'static [AlgorithmOption],
    /// Whether it uses [`Options::faults`]. If not, it is refused on networks with failed links.
    pub faults: bool,
    /// The revision of an algorithm that a program adds; 0 for built-in ones.
    pub revision: u32,
    /// Whether a program adds it.
    own: bool,
    make: Make,
}

impl Descriptor {
    /// Describes a program's own algorithm, which `make` makes. Unless the other functions say otherwise, it is for any network, chooses
    /// its own routing, may make random choices, and needs all links.
    ///
    /// The name is that of [`Algorithm::name`]: lower-case letters, digits and hyphens. The `revision` becomes part of the
    /// description under which results are stored: raise it with every change of plans, routing (what a relation's
    /// `candidates` are), rules, switches or ports, or stored results of the old code will be taken for those of the new. `--fresh`
    /// of the commands forgets those of a sweep.
    pub const fn new(name: &'static str, revision: u32, make: MakeAlgorithm) -> Self {
        Self::own(name, revision, Make::Function(make))
    }

    /// As [`new`](Self::new), for names and functions that are known only when the program runs.
    pub const fn with_state(name: &'static str, revision: u32, make: &'static MakeWithState) -> Self {
        Self::own(name, revision, Make::Closure(make))
    }

    const fn own(name: &'static str, revision: u32, make: Make) -> Self {
        Self {
            name,
            summary: "",
            family: Family::Any,
            routed: Routed::Itself,
            sends: None,
            draws: true,
            options: &[],
            faults: false,
            revision,
            own: true,
            make,
        }
    }

    /// Describes a built-in algorithm without random choices.
    pub(crate) const fn built_in(name: &'static str, summary: &'static str, sends: Sends, make: MakeAlgorithm) -> Self {
        let own = Self::new(name, 0, make);
        Self { summary, sends: Some(sends), draws: false, own: false, ..own }
    }

    /// Sets the line of help that says what it does.
    #[must_use]
    pub const fn about(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    /// Restricts it to these networks: others are refused.
    #[must_use]
    pub const fn on(self, family: Family) -> Self {
        Self { family, ..self }
    }

    /// Restricts it to this routing: a request for another one is refused, and so is a root if the routing has none.
    #[must_use]
    pub const fn routed_by(self, routing: &'static RoutingDescriptor) -> Self {
        self.routed(Routed::By(routing))
    }

    /// Sets which routings users may choose.
    #[must_use]
    pub const fn routed(self, routed: Routed) -> Self {
        Self { routed, ..self }
    }

    /// Declares the options that it offers.
    pub(crate) const fn offering(self, options: &'static [AlgorithmOption]) -> Self {
        Self { options, ..self }
    }

    /// Whether it has an option, of its own or of the routing that it is to use.
    pub fn offers(&self, option: AlgorithmOption, routing: Option<&RoutingDescriptor>) -> bool {
        let own = if let Routed::By(own) = self.routed { Some(own) } else { None };
        let beside_tree = routing.or(own).is_some_and(|routing| routing.cross_links);
        self.options.contains(&option) || option == AlgorithmOption::CrossLinks && beside_tree
    }

    /// Declares that it uses [`Options::seed`].
    pub(crate) const fn drawing(self) -> Self {
        Self { draws: true, ..self }
    }

    /// Declares that it uses [`Options::faults`].
    #[must_use]
    pub const fn with_faults(self) -> Self {
        Self { faults: true, ..self }
    }

    /// Whether it may send trees that wormhole switches replicate: not if it is known to send something else.
    pub fn may_send_trees(&self) -> bool {
        self.sends.is_none_or(|sends| sends == Sends::Trees)
    }

    /// Whether a program adds it. Built-in algorithms are tested; the plans and the routing of others are checked in runs.
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
    /// later has [no route](wormcast_routing::NoRoute).
    pub fn make(&self, network: &Arc<Network>, options: &Options) -> Result<Box<dyn Algorithm>, AlgorithmError> {
        let faults = !options.faults.links.is_empty();
        self.check(network, options.routing, options.root.is_some(), faults, &options.own)?;
        self.checked(network, options)
    }

    /// Checks that the network is of its family, and that it takes what is given. Returns the routing that will be used, if that is known.
    pub(crate) fn check(
        &self,
        network: &Network,
        given: Option<&'static RoutingDescriptor>,
        root: bool,
        faults: bool,
        options: &AlgorithmOptions,
    ) -> Result<Option<&'static RoutingDescriptor>, AlgorithmError> {
        if faults && !self.faults {
            let problem = format!("needs all links; {} can do without some", with_faults(network));
            return Err(self.not_taken(RequestPart::Faults, problem));
        }
        self.family.check(self.name, network).map_err(|error| self.with_others(error, network))?;
        let own = self.routed.default_on(network);
        let fixed = |given: &RoutingDescriptor| {
            let (own, given) = (own.map_or("its own", |own| own.name), given.name);
            let problem = format!("is defined with `{own}` routing and cannot use `{given}`; leave the routing out");
            self.not_taken(RequestPart::Routing, problem)
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
            (Routed::OneOf(known, _), Some(given)) if !known.contains(&given) => return Err(fixed(given)),
            _ => {}
        }
        match options.given().find(|&option| !self.offers(option, used)) {
            Some(option) => Err(AlgorithmError::Option { algorithm: self.name, option }),
            None => Ok(used),
        }
    }

    /// Names algorithms for the network that are not for all networks, those of the same kind if there are any.
    fn with_others(&self, error: Unsupported, network: &Network) -> Unsupported {
        let fitting = |other: &&'static Descriptor| {
            !matches!(other.family, Family::Any | Family::Connected) && other.family.check(other.name, network).is_ok()
        };
        let all: Vec<&Descriptor> = algorithms().into_iter().filter(fitting).collect();
        let alike: Vec<&str> = all.iter().filter(|other| other.sends == self.sends).map(|other| other.name).collect();
        let names = if alike.is_empty() { all.iter().map(|other| other.name).collect() } else { alike };
        if error.has_hint() || names.is_empty() {
            return error;
        }
        error.with_hint(&format!("for this one there is {}", quoted(names)))
    }

    fn not_taken(&self, part: RequestPart, problem: String) -> AlgorithmError {
        AlgorithmError::NotTaken { algorithm: self.name, part, problem }
    }

    /// The relation of an algorithm that needs nothing else of its network, on a network of its family.
    pub(crate) fn relation<R>(
        &self,
        network: &Arc<Network>,
        make: impl FnOnce(&Arc<Network>) -> Result<R, Unsupported>,
    ) -> Result<R, Unsupported> {
        self.family.check(self.name, network)?;
        make(network)
    }

    /// The algorithm, with options that are checked.
    pub(crate) fn checked(
        &self,
        network: &Arc<Network>,
        options: &Options,
    ) -> Result<Box<dyn Algorithm>, AlgorithmError> {
        let made = match self.make {
            Make::Function(make) => make(network, options),
            Make::Closure(make) => make(network, options),
        }?;
        if made.name() != self.name {
            return Err(AlgorithmError::Misnamed { registered: self.name, own: made.name() });
        }
        if !self.own {
            debug_assert!(Arc::ptr_eq(made.network(), network), "{} is made for its network", self.name);
            return Ok(made);
        }
        if !Arc::ptr_eq(made.network(), network) {
            let (routing, network) = (made.routing().name(), network.name().to_owned());
            return Err(AlgorithmError::OtherNetwork { algorithm: self.name, routing, network });
        }
        let checked = CheckedAlgorithm::new(made);
        if let Some(problem) = checked.check_all_routes() {
            return Err(AlgorithmError::Routing { algorithm: self.name, problem: problem.to_owned() });
        }
        Ok(Box::new(checked))
    }
}

/// The algorithms for networks of this family that can avoid failed links, or that there are none.
fn with_faults(network: &Network) -> String {
    let able = algorithms().into_iter().filter(|other| other.faults && other.family.check(other.name, network).is_ok());
    let names: Vec<&str> = able.map(|other| other.name).collect();
    if names.is_empty() { "no algorithm for this network".to_owned() } else { quoted(names) }
}

/// Names and revisions are unique in a process.
impl PartialEq for Descriptor {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.revision) == (other.name, other.revision)
    }
}

impl Eq for Descriptor {}

impl Hash for Descriptor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// The options of an algorithm on a network. A user's choice, in text, is a [`Request`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The routing to use, for algorithms that offer a choice.
    pub routing: Option<&'static RoutingDescriptor>,
    /// The root of the routing, if that has one; `None`: the smallest id.
    pub root: Option<Root>,
    /// The seed of an algorithm that makes random choices.
    pub seed: u64,
    /// Links that have failed, for algorithms that can avoid them.
    pub faults: Faults,
    /// What it is told of its own options.
    pub own: AlgorithmOptions,
    /// The seed of random trees; `None`: that of all random choices.
    pub tree_seed: Option<u64>,
}

impl Options {
    /// Options that choose a routing by its name, and nothing else.
    ///
    /// # Errors
    /// If there is no routing of that name, naming the nearest.
    pub fn routed_by(routing: &str) -> Result<Self, UnknownName> {
        Ok(Self { routing: Some(routing_named(routing)?), ..Self::default() })
    }

    /// The options of the routing.
    pub(crate) fn of_routing(&self) -> RoutingOptions {
        RoutingOptions { seed: self.seed, root: self.root, tree_only: self.own.tree_only() }
    }
}

/// What a user asks for: an algorithm and its options, with their names looked up. It is valid for any network; the routers that its texts name
/// are looked up when the algorithm is [made](Self::make).
///
/// ```
/// use wormcast_multicast::{RequestPart, Request};
/// use wormcast_network::TopologySpec;
///
/// let torus = "torus:4x4".parse::<TopologySpec>()?.build()?;
/// let request = Request { root: Some("2,1".to_owned()), ..Request::new("separate", Some("up-down"))? };
/// assert_eq!(request.make(&torus)?.routing().name(), "up-down");
/// let refused = Request { routing: None, ..request }.make(&torus).err().unwrap();
/// assert_eq!((refused.part, refused.part.key()), (RequestPart::Root, "root"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// The algorithm.
    pub algorithm: &'static Descriptor,
    /// The routing to use; `None`: the algorithm's own.
    pub routing: Option<&'static RoutingDescriptor>,
    /// The root of that routing, as [`Root::parse`] reads it; `None`: the smallest id.
    pub root: Option<String>,
    /// The seed of all random choices, 0 by default.
    pub seed: u64,
    /// Links that have failed.
    pub faults: FaultRequest,
    /// The algorithm's own options.
    pub options: AlgorithmOptions,
    /// The seed of random trees; `None`: that of all random choices.
    pub tree_seed: Option<u64>,
}

/// Links that are to fail.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct FaultRequest {
    /// The links, as [`Faults::fail`] reads them.
    pub links: Vec<String>,
    /// The number of further links, drawn with the seed.
    pub random: u32,
    /// Which nodes know of them.
    pub information: FaultInformation,
}

impl FaultRequest {
    /// The links on a network; those that are drawn, with this seed.
    ///
    /// # Errors
    /// If the network has no such links, or fewer than are to fail.
    pub fn on(&self, network: &Network, seed: u64) -> Result<Faults, FaultError> {
        let mut faults = Faults { links: Vec::new(), information: self.information };
        self.links.iter().try_for_each(|link| faults.fail(network, link))?;
        if self.random > 0 {
            faults.fail_at_random(network, self.random as usize, seed)?;
        }
        Ok(faults)
    }
}

/// The part of a request that an error is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestPart {
    /// The algorithm.
    Algorithm,
    /// The routing.
    Routing,
    /// The root.
    Root,
    /// That links have failed.
    Faults,
    /// The links that are named.
    FailedLinks,
    /// The number of those that are drawn.
    RandomFaults,
    /// An option of the algorithm.
    Option(AlgorithmOption),
}

impl RequestPart {
    /// The setting of an experiment file.
    pub fn key(self) -> &'static str {
        match self {
            Self::Algorithm => "algorithm",
            Self::Routing => "routing",
            Self::Root => "root",
            Self::Faults => "faults",
            Self::FailedLinks => "faults.links",
            Self::RandomFaults => "faults.random",
            Self::Option(option) => option.key(),
        }
    }
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{error}")]
pub struct Refused {
    /// The part that is to blame.
    pub part: RequestPart,
    /// The problem.
    pub error: Box<AlgorithmError>,
}

impl Refused {
    /// Whether the part is not defined on the network: on another one it may be.
    pub fn is_about_network(&self) -> bool {
        matches!(*self.error, AlgorithmError::Unsupported(_))
    }

    fn new(part: RequestPart, error: impl Into<AlgorithmError>) -> Self {
        Self { part, error: Box::new(error.into()) }
    }
}

impl Request {
    /// An algorithm and its routing by their names, and nothing else.
    ///
    /// # Errors
    /// If there is none of that name, naming the nearest.
    pub fn new(algorithm: &str, routing: Option<&str>) -> Result<Self, Refused> {
        let algorithm =
            Descriptor::named(algorithm).map_err(|unknown| Refused::new(RequestPart::Algorithm, unknown))?;
        let routing = routing.map(routing_named).transpose();
        let routing = routing.map_err(|unknown| Refused::new(RequestPart::Routing, unknown))?;
        let (faults, options) = (FaultRequest::default(), AlgorithmOptions::default());
        Ok(Self { algorithm, routing, root: None, seed: 0, faults, options, tree_seed: None })
    }

    /// The algorithm, made for a network.
    ///
    /// # Errors
    /// If it takes something else, or is not defined there. An error that there is not without the routing is the routing's, one that there
    /// is not without faults is theirs.
    pub fn make(&self, network: &Arc<Network>) -> Result<Box<dyn Algorithm>, Refused> {
        self.resolve(network).map_err(|error| Refused::new(self.to_blame(network, &error), error))
    }

    fn resolve(&self, network: &Arc<Network>) -> Result<Box<dyn Algorithm>, AlgorithmError> {
        let faults = self.faults.on(network, self.seed)?;
        let root = self.root.as_deref();
        let failed = !faults.links.is_empty();
        let routing = self.algorithm.check(network, self.routing, root.is_some(), failed, &self.options)?;
        let root = match (routing, root) {
            (Some(routing), root) => routing.root(network, root)?,
            (None, Some(text)) => Some(Root::parse(network, text).map_err(RoutingError::from)?),
            (None, None) => None,
        };
        let Self { routing, seed, tree_seed, .. } = *self;
        self.algorithm.checked(network, &Options { routing, root, seed, faults, own: self.options.clone(), tree_seed })
    }

    fn to_blame(&self, network: &Arc<Network>, error: &AlgorithmError) -> RequestPart {
        match error {
            AlgorithmError::NotTaken { part, .. } => *part,
            AlgorithmError::Option { option, .. }
            | AlgorithmError::Start { option, .. }
            | AlgorithmError::Tables { option, .. } => RequestPart::Option(*option),
            AlgorithmError::Root(_) => RequestPart::Root,
            AlgorithmError::Fault(FaultError::TooMany { .. }) => RequestPart::RandomFaults,
            AlgorithmError::Fault(_) => RequestPart::FailedLinks,
            AlgorithmError::NoWholeTree { .. } | AlgorithmError::SplitAroundFaults { .. } => RequestPart::Faults,
            // What the routing that is asked for says of the network is said of no other part.
            AlgorithmError::Unsupported(problem)
                if self.routing.is_some_and(|routing| routing.name == problem.name) =>
            {
                RequestPart::Routing
            }
            _ => {
                // What would do without one of the others is not to blame itself.
                let does = |request: Self| request.resolve(network).is_ok();
                let none = FaultRequest::default();
                if self.routing.is_some() && does(Self { routing: None, root: None, ..self.clone() }) {
                    RequestPart::Routing
                } else if self.faults == none || !does(Self { faults: none, ..self.clone() }) {
                    RequestPart::Algorithm
                } else if self.faults.random > 0 {
                    RequestPart::RandomFaults
                } else {
                    RequestPart::Faults
                }
            }
        }
    }
}
