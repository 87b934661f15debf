//! The Zero algorithm: unicast paths put together.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, RouterId};
use wormcast_routing::{Dependencies, RoutingRelation, TURN_PROHIBITION};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::irregular::shortest_ways::ShortestWays;
use crate::algorithms::irregular::turn_trees::{TurnTrees, Wanted};
use crate::capabilities::AlgorithmCapabilities;
use crate::plan::ids::IdMap;
use crate::plan::{Branch, Branches, Plan};
use crate::registry::descriptor::{Descriptor, Options};
use crate::registry::family::{Family, Routed, Sends};

/// [`TreeZero`].
pub const TREE_ZERO: Descriptor = Descriptor::built_in(
    "tree-zero",
    "one tree: the union of the shortest permitted paths",
    Sends::Trees,
    |network, options| Ok(Box::new(TreeZero::new(network, options)?)),
)
.on(Family::Connected)
.routed(Routed::OverTurns(&TURN_PROHIBITION));

/// The Zero algorithm: a tree worm along the union of the unicast shortest permitted paths.
///
/// Source: Karpovsky, Zakrevski, Mustafa and Agarwal (paper 3), section 4. Destinations are added in the order of their
/// routers. Each has the shortest permitted path on which every hop leads to the smallest router of several; it leaves the
/// tree where it last meets it in a router that the tree enters after as many hops and may turn from. So every destination is
/// as near as by unicast, and a router is entered twice only where permitted turns allow no other shortest path.
///
/// On every connected network, with any routing over permitted turns; turn prohibition is the default. One startup.
/// O(destinations x path length x degree), and, to many destinations at once, O(turns).
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// let mesh = "mesh:3x3".parse::<TopologySpec>()?.build()?;
/// let zero = algorithm_by_name("tree-zero", &mesh, &Options::default())?;
/// let plan = zero.plan(&Multicast::new(NodeId::new(3), &[NodeId::new(5), NodeId::new(7)]));
/// let summary = plan.summary(zero.routing(), PortModel::One)?;
/// assert_eq!((summary.startups, summary.channels), (1, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TreeZero {
    trees: TurnTrees,
}

impl TreeZero {
    /// With the routing of the options, or turn prohibition.
    ///
    /// # Errors
    /// If the routing is not defined on the network or not one over permitted turns, or the network is not connected.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        Ok(Self { trees: TurnTrees::new(&TREE_ZERO, network, options)? })
    }
}

/// The union of shortest permitted paths, in place of other branches.
pub(crate) fn grow(wanted: &Wanted<'_>, branches: &mut Vec<Branch>) {
    grow_by(wanted, wanted.many(16), branches);
}

/// By the paths that one search from the source has found, or else by the tables of each target; both give the same tree.
pub(crate) fn grow_by(wanted: &Wanted<'_>, ways: Option<&ShortestWays>, branches: &mut Vec<Branch>) {
    let network = wanted.network;
    let turns = wanted.turns.turns();
    let mut branches = Branches::over(branches);
    // Of each branch: its channel, its depth, and the next branch that enters the same router.
    let mut grown: Vec<(ChannelId, usize, Option<u32>)> = Vec::new();
    // The first branch that enters a router.
    let mut entering: IdMap<RouterId, u32> = IdMap::default();
    let (mut route, mut nearest) = (Vec::new(), Vec::new());
    for (place, &target) in wanted.ends.iter().enumerate() {
        if let Some(ways) = ways {
            ways.first(place, &mut route);
        } else {
            route.clear();
            let (mut at, mut arrived) = (wanted.home, None);
            while at != target {
                wanted.nearest(at, arrived, target, &mut nearest);
                let channel = nearest[0];
                route.push(channel);
                (at, arrived) = (network.to(channel), Some(channel));
            }
        }
        // As every part of a shortest path is one, a channel is met after the same number of hops on all of them.
        let leave = (1..=route.len()).rev().find_map(|hops| {
            let own = route[hops - 1];
            let fits = |&place: &u32| {
                let (channel, depth, _) = grown[place as usize];
                depth == hops
                    && (channel == own || route.get(hops).is_none_or(|&next| turns.permits(network, channel, next)))
            };
            let first = entering.get(&network.to(own)).copied();
            let mut places = std::iter::successors(first, |&place| grown[place as usize].2);
            places.find(fits).map(|place| (hops, place))
        });
        let (hops, mut parent) = leave.map_or((0, None), |(hops, place)| (hops, Some(place)));
        for (hop, &channel) in route.iter().enumerate().skip(hops) {
            let place = branches.put(channel, parent);
            grown.push((channel, hop + 1, None));
            let mut last = *entering.entry(network.to(channel)).or_insert(place);
            while last != place {
                last = *grown[last as usize].2.get_or_insert(place);
            }
            parent = Some(place);
        }
        let last = parent.expect("a destination is at another router");
        branches.delivers(last).extend_from_slice(wanted.nodes_at(place));
    }
    branches.end();
}

impl Algorithm for TreeZero {
    fn name(&self) -> &'static str {
        TREE_ZERO.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self.trees.routing()
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        self.trees.plan_into(multicast, plan, grow);
    }

    fn dependencies(&self) -> Dependencies<'_> {
        self.trees.dependencies()
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        AlgorithmCapabilities { trees: Some(&self.trees), ..AlgorithmCapabilities::default() }
    }
}
