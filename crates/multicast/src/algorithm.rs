//! The algorithm trait, its input and its errors.

use std::sync::Arc;

use thiserror::Error;
use wormcast_network::{Network, NodeId};
use wormcast_routing::{
    Dependencies, InvalidStart, ROUTINGS, RoutingError, RoutingRelation, TURN_PROHIBITION, TreeError, TreesError,
    UnknownName, Unsupported,
};

use crate::capabilities::AlgorithmCapabilities;
use crate::faults::FaultError;
use crate::plan::ids::IdSet;
use crate::plan::{Itinerary, Plan};
use crate::registry::descriptor::RequestPart;
use crate::registry::options::AlgorithmOption;

/// One message to many: a source and its destinations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Multicast {
    source: NodeId,
    destinations: Vec<NodeId>,
}

impl Multicast {
    /// A multicast from `source`. The source is never a destination, and a repeated destination counts once: the first
    /// mention stays, in the order given.
    pub fn new(source: NodeId, destinations: &[NodeId]) -> Self {
        Self::from_vec(source, destinations.to_vec())
    }

    /// As [`new`](Self::new), reusing the caller's list: runs draw millions of multicasts.
    #[inline]
    pub fn from_vec(source: NodeId, destinations: Vec<NodeId>) -> Self {
        match destinations[..] {
            // Most of those that runs draw.
            [destination] if destination != source => Self { source, destinations },
            _ => Self::distinct(source, destinations),
        }
    }

    #[inline(never)]
    fn distinct(source: NodeId, mut destinations: Vec<NodeId>) -> Self {
        if destinations.len() <= 16 {
            let mut kept = 0;
            for position in 0..destinations.len() {
                let node = destinations[position];
                if node != source && !destinations[..kept].contains(&node) {
                    destinations[kept] = node;
                    kept += 1;
                }
            }
            destinations.truncate(kept);
        } else {
            let nodes = destinations.iter().fold(source, |last, &node| last.max(node)).index() + 1;
            if nodes / 256 <= destinations.len() {
                // Bits for all nodes up to the last are soon cleared.
                let mut seen = vec![0u64; nodes.div_ceil(64)];
                let mut is_new = |node: NodeId| {
                    let (word, bit) = (&mut seen[node.index() / 64], 1 << (node.index() % 64));
                    let is_new = *word & bit == 0;
                    *word |= bit;
                    is_new
                };
                is_new(source);
                destinations.retain(|&node| is_new(node));
            } else {
                let mut seen: IdSet<NodeId> = IdSet::default();
                seen.reserve(destinations.len() + 1);
                seen.insert(source);
                destinations.retain(|&node| seen.insert(node));
            }
        }
        Self { source, destinations }
    }

    /// As [`new`](Self::new), for nodes that a user gives: at least one destination has to remain.
    ///
    /// # Errors
    /// If there is no destination but the source.
    pub fn checked(source: NodeId, destinations: &[NodeId]) -> Result<Self, NoDestination> {
        let multicast = Self::new(source, destinations);
        if multicast.destinations.is_empty() { Err(NoDestination(source)) } else { Ok(multicast) }
    }

    /// The list of destinations, to be reused for the next multicast.
    #[inline]
    pub fn into_destinations(self) -> Vec<NodeId> {
        self.destinations
    }

    /// The node that sends the message.
    #[inline]
    pub fn source(&self) -> NodeId {
        self.source
    }

    /// The nodes that get it: no duplicates, never the source.
    #[inline]
    pub fn destinations(&self) -> &[NodeId] {
        &self.destinations
    }
}

/// Which nodes of a list of destinations [`Multicast::new`] leaves out, in words: the source, and repeated nodes. `None` if it leaves out nothing.
///
/// ```
/// use wormcast_multicast::left_out;
/// use wormcast_network::{NodeId, TopologySpec};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let said = |destinations: &[u32]| {
///     left_out(&mesh, NodeId::new(0), &destinations.iter().copied().map(NodeId::new).collect::<Vec<_>>())
/// };
/// assert_eq!(said(&[1, 2]), None);
/// assert_eq!(said(&[1, 2, 1]).as_deref(), Some("destinations that are named again count once: 1,0"));
/// assert_eq!(said(&[0, 1]).as_deref(), Some("0,0 is the source, not a destination"));
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
pub fn left_out(network: &Network, source: NodeId, destinations: &[NodeId]) -> Option<String> {
    const SHOWN: usize = 3;
    let mut seen: IdSet<NodeId> = IdSet::default();
    seen.reserve(destinations.len());
    let mut again: Vec<NodeId> = destinations.iter().copied().filter(|&n| n != source && !seen.insert(n)).collect();
    again.sort_unstable();
    again.dedup();
    let mut parts = Vec::new();
    if destinations.contains(&source) {
        parts.push(format!("{} is the source, not a destination", network.node_label(source)));
    }
    if !again.is_empty() {
        let shown: Vec<String> = again.iter().take(SHOWN).map(|&node| network.node_label(node)).collect();
        let more = if again.len() > SHOWN { format!("; and {} more", again.len() - SHOWN) } else { String::new() };
        parts.push(format!("destinations that are named again count once: {}{more}", shown.join("; ")));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// A multicast has no destinations except perhaps its source, which has the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no destination but the source, node {0}: expected at least one other node")]
pub struct NoDestination(
    /// The source.
    pub NodeId,
);

/// A multicast algorithm, made for one network.
///
/// The contract of a plan: it delivers to every destination exactly once, and to no other nodes but those that send it on ([`Plan::check`]), every path
/// follows [`routing`](Self::routing) from stop to stop, and the worms' dependencies are among
/// [`dependencies`](Self::dependencies), unless these can deadlock anyway.
pub trait Algorithm: Send + Sync {
    /// The name under which users ask for it.
    fn name(&self) -> &'static str;

    /// The relation that routes path worms from each stop to the next.
    fn routing(&self) -> &dyn RoutingRelation;

    /// The network that it is made for: that of its relation.
    fn network(&self) -> &Arc<Network> {
        self.routing().network()
    }

    /// The worms that a multicast sends.
    fn plan(&self, multicast: &Multicast) -> Plan;

    /// As [`plan`](Self::plan), in place of the plan of an earlier multicast, whose lists may be used again: runs plan millions of unicasts.
    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        *plan = self.plan(multicast);
    }

    /// Which channels the worms of any plan may wait for while they hold others: the input of the static deadlock check. For trees, with the
    /// switches that [they are meant for](crate::BranchingTrees::branching).
    ///
    /// Where switches replicate worms by themselves, they are taken to do so asynchronously, with room for whole packets; for synchronous
    /// replication see [`synchronous_deadlock`](wormcast_routing::synchronous_deadlock).
    fn dependencies(&self) -> Dependencies<'_>;

    /// Its optional capabilities and needs.
    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        AlgorithmCapabilities::default()
    }
}

/// The kinds of worms an algorithm sends that settings are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WormKinds {
    /// Worms that are routed hop by hop, by their stops: unicasts and paths.
    pub paths: bool,
    /// Trees that wormhole switches replicate.
    pub trees: bool,
    /// Worms that wait for the delivery of another one.
    pub triggered: bool,
}

/// Determines the kinds of worms an algorithm sends from four plans: to one destination, and to many all over the network.
pub fn worm_kinds(algorithm: &dyn Algorithm) -> WormKinds {
    const DESTINATIONS: u64 = 16;
    let nodes = algorithm.network().nodes() as u64;
    let mut kinds = WormKinds::default();
    for (source, destinations) in [(0, 1), (0, DESTINATIONS), (nodes - 1, 1), (nodes - 1, DESTINATIONS)] {
        let spread = (1..=destinations).map(|number| NodeId::new((number * 0x9E37_79B9 % nodes) as u32));
        let Ok(multicast) = Multicast::checked(NodeId::new(source as u32), &spread.collect::<Vec<_>>()) else {
            continue;
        };
        let Plan { worms } = algorithm.plan(&multicast);
        kinds.paths |= worms.iter().any(|worm| matches!(worm.itinerary, Itinerary::Path(_)));
        kinds.trees |=
            algorithm.may_send_trees() && worms.iter().any(|worm| matches!(worm.itinerary, Itinerary::Tree(_)));
        kinds.triggered |= worms.iter().any(|worm| worm.after.is_some());
    }
    kinds
}

/// Why an algorithm cannot be made for a network.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AlgorithmError {
    /// The name is unknown.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The network is not of the kind that the algorithm, or its routing, is defined for.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The algorithm, as its [`Descriptor`](crate::Descriptor) says, does not take what is asked for.
    #[error("`{algorithm}` {problem}")]
    NotTaken {
        /// The algorithm.
        algorithm: &'static str,
        /// What of the request it does not take.
        part: RequestPart,
        /// Why, and what to do instead.
        problem: String,
    },
    /// The algorithm does not have an option.
    #[error("`{algorithm}` has no option `{option}`, which is one of {}", option.owners())]
    Option {
        /// The algorithm.
        algorithm: &'static str,
        /// The option.
        option: AlgorithmOption,
    },
    /// The network does not have the starting node of trees.
    #[error("{error}")]
    Start {
        /// Which one.
        option: AlgorithmOption,
        /// What was given.
        error: InvalidStart,
    },
    /// The network does not have the root, or the routing has none.
    #[error(transparent)]
    Root(Box<RoutingError>),
    /// Its spanning trees cannot be routed on together.
    #[error(transparent)]
    Trees(Box<TreesError>),
    /// The relation of an algorithm from outside the project offers channels that it must not offer.
    #[error("{problem}")]
    Routing {
        /// The algorithm.
        algorithm: &'static str,
        /// The fault and where it is.
        problem: String,
    },
    /// An algorithm was registered under another name than its own.
    #[error("the algorithm that is registered as `{registered}` calls itself `{own}`: the names have to be the same")]
    Misnamed {
        /// The name that it is known by.
        registered: &'static str,
        /// What [`Algorithm::name`] returns.
        own: &'static str,
    },
    /// The relation of an algorithm from outside the project belongs to another network.
    #[error(
        "the routing `{routing}` of `{algorithm}` is not made for `{network}`: it has to hold the network that is given"
    )]
    OtherNetwork {
        /// The algorithm.
        algorithm: &'static str,
        /// Its relation.
        routing: &'static str,
        /// The network that it was to be made for.
        network: String,
    },
    /// Multicasts are to be split although only neighbours know of failed links: a node that sends on around one may be sent the message by
    /// another worm, too.
    #[error(
        "`{algorithm}` splits multicasts only where all nodes know of the failed links: leave out `split`, or let information be global"
    )]
    SplitAroundFaults {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// With faults that only their neighbours know of, no intact tree is left to forward worms on.
    #[error(
        "with local information, `{algorithm}` needs one tree of its {trees} without a failed link; with global information it \
         makes new ones"
    )]
    NoWholeTree {
        /// The algorithm.
        algorithm: &'static str,
        /// Its trees.
        trees: usize,
    },
    /// There are no such spanning trees.
    #[error(transparent)]
    Construction(Box<TreeError>),
    /// The algorithm needs permitted turns, which the routing is not made of.
    #[error("`{algorithm}` needs a routing over permitted turns, such as {}; `{given}` is none", over_turns())]
    NeedsTurns {
        /// The algorithm.
        algorithm: &'static str,
        /// What was asked for.
        given: &'static str,
    },
    /// The links that are to fail do not exist.
    #[error(transparent)]
    Fault(#[from] FaultError),
    /// There are no such forwarding tables, or they do not deliver.
    #[error("{problem}")]
    Tables {
        /// The option that names them.
        option: AlgorithmOption,
        /// What is wrong with them.
        problem: String,
    },
}

/// Two routings over permitted turns, first the default one.
fn over_turns() -> String {
    let others = ROUTINGS.iter().filter(|routing| routing.over_turns && **routing != &TURN_PROHIBITION);
    let two = [TURN_PROHIBITION.name].into_iter().chain(others.map(|routing| routing.name)).take(2);
    two.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
}

impl From<TreeError> for AlgorithmError {
    fn from(error: TreeError) -> Self {
        Self::Construction(Box::new(error))
    }
}

impl From<TreesError> for AlgorithmError {
    fn from(error: TreesError) -> Self {
        Self::Trees(Box::new(error))
    }
}

impl From<RoutingError> for AlgorithmError {
    fn from(error: RoutingError) -> Self {
        match error {
            RoutingError::Unknown(unknown) => Self::Unknown(unknown),
            RoutingError::Unsupported(unsupported) => Self::Unsupported(unsupported),
            RoutingError::Construction(error) => Self::Construction(error),
            RoutingError::Trees(error) => Self::Trees(error),
            root => Self::Root(Box::new(root)),
        }
    }
}
