//! The registry of routing relations: their descriptors, by name.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use thiserror::Error;
use wormcast_network::Network;
use wormcast_network::text::{LONGEST_SHOWN, expected_name, quoted, short_list, shortened};

use crate::relation::{RoutingRelation, Unsupported};
use crate::relations::tree_routing::TreesError;
use crate::relations::up_down::{InvalidRoot, Root};
use crate::relations::{
    dateline, destination_tag, duato, e_cube, hamiltonian, hamiltonian_adaptive, minimal, nca, negative_first,
    north_last, odd_even, spam_routing, tree_routing, turn_prohibition, turnaround, ugal, up_down, valiant, west_first,
};
use crate::trees::tree_error::TreeError;

/// All routings.
pub const ROUTINGS: &[&RoutingDescriptor] = &[
    &e_cube::E_CUBE,
    &dateline::DATELINE,
    &dateline::DATELINE_BALANCED,
    &negative_first::NEGATIVE_FIRST,
    &west_first::WEST_FIRST,
    &north_last::NORTH_LAST,
    &odd_even::ODD_EVEN,
    &duato::DUATO,
    &hamiltonian::HAMILTONIAN,
    &hamiltonian_adaptive::HAMILTONIAN_ADAPTIVE,
    &turnaround::TURNAROUND,
    &turnaround::TURNAROUND_DETERMINISTIC,
    &nca::NCA,
    &destination_tag::DESTINATION_TAG,
    &minimal::MINIMAL,
    &valiant::VALIANT,
    &valiant::VALIANT_GROUP,
    &ugal::UGAL,
    &up_down::UP_DOWN,
    &turn_prohibition::TURN_PROHIBITION,
    &up_down::UP_DOWN_DETERMINISTIC,
    &turn_prohibition::TURN_PROHIBITION_DETERMINISTIC,
    &spam_routing::SPAM_ROUTING,
    &tree_routing::TREE_ROUTING,
];

/// Makes a relation for a network, or returns why it cannot.
type MakeRouting = fn(&Arc<Network>, &RoutingOptions) -> Result<Box<dyn RoutingRelation>, RoutingError>;

/// The description of a routing: what is known of it before it is made for a network. [`ROUTINGS`] lists all of them.
///
/// ```
/// use wormcast_routing::{ROUTINGS, RoutingDescriptor, RoutingOptions};
///
/// let with_root: Vec<&str> = ROUTINGS.iter().filter(|routing| routing.root).map(|routing| routing.name).collect();
/// assert_eq!(with_root, ["up-down", "up-down-deterministic", "spam"]);
/// let ring = "ring:5".parse::<wormcast_network::TopologySpec>()?.build()?;
/// let up_down = RoutingDescriptor::named("up-down")?.make(&ring, &RoutingOptions::default())?;
/// assert_eq!(up_down.name(), "up-down");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools, reason = "declarations that have nothing to do with each other")]
pub struct RoutingDescriptor {
    /// The name under which users ask for it: that of [`RoutingRelation::name`].
    pub name: &'static str,
    /// Which channels a header may take, in one line.
    pub summary: &'static str,
    /// The networks that it is defined on, as its error messages say it.
    pub needs: &'static str,
    /// Whether it has a root, which [`RoutingOptions::root`] chooses.
    pub root: bool,
    /// Whether it takes cross links beside a tree, which [`RoutingOptions::tree_only`] leaves out.
    pub cross_links: bool,
    /// Whether it needs no particular kind of network: it is for all, or for all connected ones.
    pub of_any_kind: bool,
    /// Whether it is one over permitted turns: whether its relation is [one](crate::RoutingCapabilities::turns).
    pub over_turns: bool,
    draws: fn(&Network) -> bool,
    make: MakeRouting,
}

impl RoutingDescriptor {
    /// A routing without a root and random choices.
    pub(crate) const fn new(name: &'static str, summary: &'static str, needs: &'static str, make: MakeRouting) -> Self {
        Self {
            name,
            summary,
            needs,
            root: false,
            cross_links: false,
            of_any_kind: false,
            over_turns: false,
            draws: |_| false,
            make,
        }
    }

    /// Declares that it has a root.
    pub(crate) const fn with_root(self) -> Self {
        Self { root: true, ..self }
    }

    /// Declares that it needs no particular kind of network.
    pub(crate) const fn of_any_kind(self) -> Self {
        Self { of_any_kind: true, ..self }
    }

    /// Declares that it takes links beside a tree.
    pub(crate) const fn with_cross_links(self) -> Self {
        Self { cross_links: true, ..self }
    }

    /// Declares that it routes over permitted turns.
    pub(crate) const fn over_turns(self) -> Self {
        Self { over_turns: true, ..self }
    }

    /// Declares the networks on which it makes random choices.
    pub(crate) const fn drawing_on(self, draws: fn(&Network) -> bool) -> Self {
        Self { draws, ..self }
    }

    /// The routing of this name.
    ///
    /// # Errors
    /// If there is none, naming the nearest.
    pub fn named(name: &str) -> Result<&'static Self, UnknownName> {
        ROUTINGS.iter().copied().find(|routing| routing.name == name).ok_or_else(|| {
            let expected = ROUTINGS.iter().map(|routing| routing.name).collect();
            UnknownName { kind: "routing", given: name.to_owned(), expected, instead: None }
        })
    }

    /// The other routings that are for a network's kind: those that are defined on it, and not on [every kind](field@Self::of_any_kind).
    /// None keeps tables.
    pub fn others_of_kind(&self, network: &Arc<Network>) -> impl Iterator<Item = &'static Self> {
        let fits = move |routing: &&'static Self| {
            // This one is not asked: an error of its own may have to name the others.
            !routing.of_any_kind && *routing != self && routing.make(network, &RoutingOptions::default()).is_ok()
        };
        ROUTINGS.iter().copied().filter(fits)
    }

    /// Whether it makes random choices on a network, which [`RoutingOptions::seed`] decides.
    pub fn draws_on(&self, network: &Network) -> bool {
        (self.draws)(network)
    }

    /// The root that a user gives, as [`Root::parse`] reads it.
    ///
    /// # Errors
    /// If a root is given and the routing has none, or the network does not have it.
    pub fn root(&self, network: &Network, given: Option<&str>) -> Result<Option<Root>, RoutingError> {
        match given {
            Some(_) if !self.root => Err(RoutingError::NoRoot(self.name)),
            Some(text) => Ok(Some(Root::parse(network, text)?)),
            None => Ok(None),
        }
    }

    /// The relation, made for `network`.
    ///
    /// Routings that need only the network's shape keep no tables; the others search the network, in O(channels) or a little more, and keep
    /// tables ([`TurnRouting`](crate::TurnRouting)).
    ///
    /// # Errors
    /// If it is not defined on the network, or a root is given and it has none.
    pub fn make(
        &self,
        network: &Arc<Network>,
        options: &RoutingOptions,
    ) -> Result<Box<dyn RoutingRelation>, RoutingError> {
        if options.root.is_some() && !self.root {
            return Err(RoutingError::NoRoot(self.name));
        }
        if options.tree_only && !self.cross_links {
            return Err(RoutingError::NoCrossLinks(self.name));
        }
        (self.make)(network, options)
    }

    /// The error that a network is not one of those that it [needs](Self::needs).
    pub(crate) fn unsupported(&self, network: &Network) -> Unsupported {
        Unsupported::new(self.name, self.needs, network)
    }
}

/// Names are unique.
impl PartialEq for RoutingDescriptor {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for RoutingDescriptor {}

impl Hash for RoutingDescriptor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// The options of a routing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RoutingOptions {
    /// The seed of a routing that [makes random choices](RoutingDescriptor::draws_on).
    pub seed: u64,
    /// The root of a routing that [has one](RoutingDescriptor::root); `None`: the smallest id.
    pub root: Option<Root>,
    /// Whether a routing with [links beside its tree](RoutingDescriptor::cross_links) leaves them out.
    pub tree_only: bool,
}

/// Why a routing cannot be made for a network.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RoutingError {
    /// The name is unknown.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The routing is not defined on the network, or not with these options.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The network does not have the root.
    #[error(transparent)]
    InvalidRoot(#[from] InvalidRoot),
    /// A root is given for a routing without one.
    #[error("{}", no_root(.0))]
    NoRoot(&'static str),
    /// Cross links are to be left out, and it has none.
    #[error("{}", no_cross_links(.0))]
    NoCrossLinks(&'static str),
    /// The network has no spanning trees to route on.
    #[error(transparent)]
    Construction(Box<TreeError>),
    /// The network's spanning trees cannot be routed on together.
    #[error(transparent)]
    Trees(Box<TreesError>),
}

fn no_cross_links(name: &str) -> String {
    let with_cross_links = ROUTINGS.iter().filter(|routing| routing.cross_links).map(|routing| routing.name);
    format!("`{name}` has no cross links that could be left out; {} has", quoted(with_cross_links))
}

fn no_root(name: &str) -> String {
    let with_root = ROUTINGS.iter().filter(|routing| routing.root).map(|routing| routing.name);
    format!("`{name}` has no root; {} have one", quoted(with_root))
}

impl From<TreeError> for RoutingError {
    fn from(error: TreeError) -> Self {
        Self::Construction(Box::new(error))
    }
}

impl From<TreesError> for RoutingError {
    fn from(error: TreesError) -> Self {
        Self::Trees(Box::new(error))
    }
}

/// An unknown name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown {kind} `{}`{}", shortened(given, LONGEST_SHOWN), self.expected_text())]
pub struct UnknownName {
    /// What was looked for, such as `routing`.
    pub kind: &'static str,
    /// What was given.
    pub given: String,
    /// The valid names.
    pub expected: Vec<&'static str>,
    /// What the name is instead, such as `an algorithm`, which the setting beside this one may take.
    pub instead: Option<&'static str>,
}

impl UnknownName {
    fn expected_text(&self) -> String {
        match self.instead {
            Some(instead) => {
                let expected = short_list(self.expected.iter().copied());
                format!(": this is the name of {instead}; expected one of {expected}")
            }
            None => expected_name(&self.given, self.expected.iter().copied()),
        }
    }
}

/// The routing relation of this name, made for `network`: [`RoutingDescriptor::named`] and [`make`](RoutingDescriptor::make) in one.
///
/// # Errors
/// If there is none of that name, naming the nearest, or it is not defined on the network.
pub fn routing_by_name(
    name: &str,
    network: &Arc<Network>,
    options: &RoutingOptions,
) -> Result<Box<dyn RoutingRelation>, RoutingError> {
    RoutingDescriptor::named(name)?.make(network, options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wormcast_network::TopologySpec;

    fn by_name(name: &str, topology: &str) -> Result<Box<dyn RoutingRelation>, RoutingError> {
        let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
        routing_by_name(name, &network, &RoutingOptions::default())
    }

    #[test]
    fn every_routing_is_as_it_is_described() {
        let networks = ["mesh:3x3", "torus:3x3", "hypercube:3", "bmin:3x3", "omega:3x3", "dragonfly:p=1,a=2,h=1"];
        let networks = networks.map(|topology| topology.parse::<TopologySpec>().unwrap().build().unwrap());
        for routing in ROUTINGS {
            let made = |network| routing.make(network, &RoutingOptions::default());
            let (network, relation) = networks
                .iter()
                .find_map(|n| Some((n, made(n).ok()?)))
                .unwrap_or_else(|| panic!("`{}` is for none of the networks of this test: add one", routing.name));
            assert_eq!(relation.name(), routing.name);
            assert_eq!(relation.capabilities().turns.is_some(), routing.over_turns, "{}", routing.name);
            let other_root = Some(Root::MaximumDegree);
            let rooted = routing.make(network, &RoutingOptions { root: other_root, ..RoutingOptions::default() });
            assert_eq!(rooted.is_ok(), routing.root, "{}", routing.name);
            // What the error says on a network of another kind.
            for network in &networks {
                match made(network) {
                    Ok(_) | Err(RoutingError::Construction(_)) => {}
                    Err(problem) => assert!(problem.to_string().contains(routing.needs), "{problem}"),
                }
            }
        }
    }

    #[test]
    fn errors_are_clear() {
        let message = |name, topology| by_name(name, topology).err().unwrap().to_string();
        assert_eq!(message("ecube", "mesh:3x3"), "unknown routing `ecube`; did you mean `e-cube`?");
        let unknown = message("nonsense", "mesh:3x3");
        assert!(unknown.starts_with("unknown routing `nonsense`: expected one of e-cube, dateline, "), "{unknown}");
        assert_eq!(message("hamiltonian", "torus:3x3"), "`hamiltonian` needs a mesh, but `torus:3x3` is a torus");
        assert_eq!(
            message("turn-prohibition", "omega:2x3"),
            "`turn-prohibition` needs links with channels both ways, but `omega:2x3` is a unidirectional omega network; \
             use `destination-tag`"
        );
        assert_eq!(
            message("destination-tag", "bmin:2x3"),
            "`destination-tag` needs a unidirectional multistage network, such as `omega:4x3`, but `bmin:2x3` is a \
             bidirectional multistage network"
        );
        let network = "torus:3x3".parse::<TopologySpec>().unwrap().build().unwrap();
        let with_root = |name, root: &str| RoutingDescriptor::named(name).unwrap().root(&network, Some(root));
        assert_eq!(with_root("up-down", "2,2"), with_root("up-down", "8"));
        assert_eq!(
            with_root("up-down", "9").unwrap_err().to_string(),
            "`9` is not a root in `torus:3x3`: expected `smallest-id`, `maximum-degree` or a router, 0 to 8"
        );
        assert_eq!(
            with_root("e-cube", "8").unwrap_err().to_string(),
            "`e-cube` has no root; `up-down`, `up-down-deterministic` and `spam` have one"
        );
    }
}
