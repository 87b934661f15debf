//! Routing relations by name.

use thiserror::Error;
use wormcast_network::{Network, expected_name};

use crate::destination_tag::DestinationTag;
use crate::e_cube::ECube;
use crate::hamiltonian::Hamiltonian;
use crate::negative_first::NegativeFirst;
use crate::relation::{RoutingRelation, Unsupported};
use crate::spam_routing::SpamRouting;
use crate::tree_error::TreeError;
use crate::tree_registry::{TreeOptions, tree_construction_by_name};
use crate::tree_routing::{TreeRouting, TreesError};
use crate::turn_prohibition::turn_prohibition;
use crate::turn_routing::{Choice, TurnRouting};
use crate::turn_set::TurnSet;
use crate::turnaround::Turnaround;
use crate::up_down::{InvalidRoot, Root, require_ways_back, up_down};

/// The names that [`routing_by_name`] knows.
pub const ROUTINGS: [&str; 12] = [
    "e-cube",
    "negative-first",
    "hamiltonian",
    "turnaround",
    "turnaround-deterministic",
    "destination-tag",
    "up-down",
    "turn-prohibition",
    "up-down-deterministic",
    "turn-prohibition-deterministic",
    "spam",
    "tree",
];

/// What a routing may be told.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RoutingOptions {
    /// The seed of a routing that makes random choices: [`routing_has_seed`].
    pub seed: u64,
    /// The root of up*/down*, as [`Root::parse`] reads it; `None`: the smallest id.
    pub root: Option<String>,
}

/// Why there is no such routing on a network.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RoutingError {
    /// The name is unknown.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The routing is not defined on the network, or not with these options.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The root is none of the network's routers.
    #[error(transparent)]
    InvalidRoot(#[from] InvalidRoot),
    /// A root for a routing without a tree.
    #[error("`{0}` has no root; `up-down` and `spam` have one")]
    NoRoot(String),
    /// The network has no spanning trees to route on.
    #[error(transparent)]
    Construction(Box<TreeError>),
    /// The network's spanning trees cannot be routed on together.
    #[error(transparent)]
    Trees(Box<TreesError>),
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

/// A name that no registry entry has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown {kind} `{given}`{}", expected_name(.given, .expected.iter().copied()))]
pub struct UnknownName {
    /// What was looked for, such as `routing`.
    pub kind: &'static str,
    /// What was given.
    pub given: String,
    /// The valid names.
    pub expected: Vec<&'static str>,
}

/// Whether there is a routing of this name, on some network.
///
/// # Errors
/// If there is none, naming the nearest.
pub fn check_routing_name(name: &str) -> Result<(), UnknownName> {
    if ROUTINGS.contains(&name) {
        return Ok(());
    }
    Err(unknown(name))
}

/// Whether the routing of this name has a root, which [`RoutingOptions::root`] names.
pub fn routing_has_root(name: &str) -> bool {
    matches!(name, "up-down" | "up-down-deterministic" | "spam")
}

/// Whether the routing of this name makes random choices on a network, which [`RoutingOptions::seed`] decides: `tree`, where the trees are
/// not known beforehand.
pub fn routing_has_seed(name: &str, network: &Network) -> bool {
    name == "tree" && !has_known_trees(network)
}

/// Whether the network is a 2-D torus, whose edge-disjoint spanning trees are known.
fn has_known_trees(network: &Network) -> bool {
    network.shape().wraps() && network.shape().grid().is_some_and(|grid| grid.dimensions() == 2)
}

fn unknown(name: &str) -> UnknownName {
    UnknownName { kind: "routing", given: name.to_owned(), expected: ROUTINGS.to_vec() }
}

/// The routing relation of this name, made for `network`.
///
/// Those that need nothing but the network's shape keep nothing; the others search it, in O(channels) or a little more, and keep
/// tables ([`TurnRouting`]).
///
/// # Errors
/// If there is none of that name, naming the nearest, or it is not defined on the network.
pub fn routing_by_name(
    name: &str,
    network: &Network,
    options: &RoutingOptions,
) -> Result<Box<dyn RoutingRelation>, RoutingError> {
    let stateless = |relation: Box<dyn RoutingRelation>| {
        relation.supports(network)?;
        Ok(relation)
    };
    let prohibition = |name| {
        require_ways_back(name, network)?;
        Ok::<_, Unsupported>(turn_prohibition(network))
    };
    let over_turns = |name, turns, choice| -> Result<Box<dyn RoutingRelation>, RoutingError> {
        Ok(Box::new(TurnRouting::new(name, network, turns, choice)))
    };
    if options.root.is_some() && !routing_has_root(name) {
        check_routing_name(name)?;
        return Err(RoutingError::NoRoot(name.to_owned()));
    }
    let root = || options.root.as_deref().map_or(Ok(Root::default()), |text| Root::parse(network, text));
    let up_down = || -> Result<TurnSet, RoutingError> { Ok(up_down(network, root()?)?) };
    match name {
        "e-cube" => stateless(Box::new(ECube)),
        "negative-first" => stateless(Box::new(NegativeFirst)),
        "hamiltonian" => stateless(Box::new(Hamiltonian)),
        "turnaround" => stateless(Box::new(Turnaround::new(Choice::Adaptive))),
        "turnaround-deterministic" => stateless(Box::new(Turnaround::new(Choice::First))),
        "destination-tag" => stateless(Box::new(DestinationTag)),
        "up-down" => over_turns("up-down", up_down()?, Choice::Adaptive),
        "turn-prohibition" => over_turns("turn-prohibition", prohibition(name)?, Choice::Adaptive),
        "up-down-deterministic" => over_turns("up-down-deterministic", up_down()?, Choice::First),
        "turn-prohibition-deterministic" => {
            over_turns("turn-prohibition-deterministic", prohibition(name)?, Choice::First)
        }
        "spam" => Ok(Box::new(SpamRouting::new(network, root()?)?)),
        "tree" => Ok(Box::new(trees(network, options)?)),
        _ => Err(unknown(name).into()),
    }
}

/// Tree routing on the edge-disjoint spanning trees that the network is known to have: those of DSTM-1 in a 2-D torus.
fn trees(network: &Network, options: &RoutingOptions) -> Result<TreeRouting, RoutingError> {
    let name = if has_known_trees(network) { "dstm-1" } else { "dstm-tarjan" };
    let trees =
        tree_construction_by_name(name, network, &TreeOptions { seed: options.seed, ..TreeOptions::default() })?;
    Ok(TreeRouting::new(network, trees)?)
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
    fn every_listed_routing_exists_under_its_own_name() {
        for name in ROUTINGS {
            let network = match name {
                "turnaround" | "turnaround-deterministic" => "bmin:3x3",
                "destination-tag" => "omega:3x3",
                _ => "mesh:3x3",
            };
            assert_eq!(by_name(name, network).unwrap().name(), name);
        }
    }

    #[test]
    fn errors_are_clear() {
        let message = |name, topology| by_name(name, topology).err().unwrap().to_string();
        assert_eq!(message("ecube", "mesh:3x3"), "unknown routing `ecube`; did you mean `e-cube`?");
        let unknown = message("nonsense", "mesh:3x3");
        assert!(
            unknown.starts_with("unknown routing `nonsense`: expected one of e-cube, negative-first, "),
            "{unknown}"
        );
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
        let with_root = |name, root: &str| {
            let options = RoutingOptions { root: Some(root.to_owned()), ..RoutingOptions::default() };
            routing_by_name(name, &network, &options).map(drop)
        };
        assert_eq!(with_root("up-down", "8"), Ok(()));
        assert_eq!(with_root("up-down", "2,2"), Ok(()));
        assert_eq!(
            with_root("up-down", "9").unwrap_err().to_string(),
            "`9` is not a root in `torus:3x3`: expected `smallest-id`, `maximum-degree` or a router, 0 to 8"
        );
        assert_eq!(
            with_root("e-cube", "8").unwrap_err().to_string(),
            "`e-cube` has no root; `up-down` and `spam` have one"
        );
    }

    #[test]
    fn tables_belong_to_one_network() {
        let routing = by_name("turn-prohibition", "mesh:3x3").unwrap();
        let other = "mesh:4x3".parse::<TopologySpec>().unwrap().build().unwrap();
        assert_eq!(
            routing.supports(&other).unwrap_err().to_string(),
            "`turn-prohibition` needs `mesh:3x3`, which it was made for, but `mesh:4x3` is a 2-D mesh"
        );
    }
}
