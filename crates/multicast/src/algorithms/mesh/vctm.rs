//! Virtual circuit tree multicast.

use std::collections::HashMap;
use std::sync::Arc;

use wormcast_network::{Network, NodeId};
use wormcast_routing::{Dependencies, E_CUBE, RoutingRelation};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::mesh::fork::ForkingTrees;
use crate::algorithms::mesh::xy_tree::xy_trees;
use crate::capabilities::{AlgorithmCapabilities, Remembers, Session};
use crate::plan::{Itinerary, Plan, Worm};
use crate::registry::descriptor::{Descriptor, Options, RequestPart};
use crate::registry::family::{Family, Sends};
use crate::registry::options::{AlgorithmOption, Replacement};

/// [`Vctm`].
pub const VCTM: Descriptor = Descriptor::built_in(
    "vctm",
    "one tree of XY routes that unicasts have set up before",
    Sends::Trees,
    |network, options| Ok(Box::new(Vctm::new(network, options)?)),
)
.on(Family::Mesh2d)
.routed_by(&E_CUBE)
.offering(&[AlgorithmOption::Entries, AlgorithmOption::Replacement]);

/// Virtual circuit tree multicast: a tree is a number, for which every router on it has an entry in a table, with its outputs.
///
/// Source: Enright Jerger, Peh and Lipasti, ISCA 2008. The first multicast to a set of destinations goes as a unicast to each, which adds its outputs to the entries on its way; later ones
/// are one tree worm. The unicasts take XY routes, so the tree is the [XY tree](crate::XY_TREE).
///
/// Its plan is that of a tree that is set up. With the option `entries`, routers have so many entries, and a run starts with empty tables: a multicast whose
/// tree is not in the table of each of its routers sets it up, and where a table is full another tree gives way, which has to be set up again. Here tables change when messages are generated, in their order, and sources know whether a tree is complete.
///
/// On 2-D meshes. O((destinations + channels) x log destinations), and in a run O(entries) at each router of a tree that is set up.
///
/// ```
/// use wormcast_multicast::{AlgorithmOptions, Multicast, Options, Planner, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// let mesh = "mesh:4x4".parse::<TopologySpec>()?.build()?;
/// let own = AlgorithmOptions { entries: Some(1), ..AlgorithmOptions::default() };
/// let vctm = algorithm_by_name("vctm", &mesh, &Options { own, ..Options::default() })?;
/// let multicast = |to: [u32; 2]| Multicast::new(NodeId::new(0), &to.map(NodeId::new));
/// let mut planner = Planner::new(vctm.as_ref());
/// let mut worms = |to| planner.plan(&multicast(to)).worms.len();
/// // Two unicasts, then a tree; another tree takes its place in the source's table.
/// assert_eq!([worms([5, 7]), worms([7, 5]), worms([4, 8]), worms([5, 7])], [2, 1, 2, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Vctm {
    trees: ForkingTrees,
    entries: Option<u32>,
    replacement: Replacement,
}

impl Vctm {
    /// On a 2-D mesh.
    ///
    /// # Errors
    /// If the network is of another kind, or tables are to have no entries, or a rule of replacement but no size.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        let not_taken = |option, problem: &str| AlgorithmError::NotTaken {
            algorithm: VCTM.name,
            part: RequestPart::Option(option),
            problem: problem.to_owned(),
        };
        let (entries, replacement) = (options.own.entries, options.own.replacement);
        if entries == Some(0) {
            return Err(not_taken(AlgorithmOption::Entries, "needs at least 1 entry a router, not 0"));
        }
        if entries.is_none() && replacement.is_some() {
            let problem = "replaces nothing where all trees are set up: set `options.entries`, too";
            return Err(not_taken(AlgorithmOption::Replacement, problem));
        }
        Ok(Self { trees: xy_trees(&VCTM, network)?, entries, replacement: replacement.unwrap_or_default() })
    }
}

impl Algorithm for Vctm {
    fn name(&self) -> &'static str {
        VCTM.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self.trees.routing()
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        self.trees.plan_into(multicast, plan);
    }

    fn dependencies(&self) -> Dependencies<'_> {
        self.trees.dependencies()
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        let remembers = self.entries.is_some().then_some(self as &dyn Remembers);
        AlgorithmCapabilities { remembers, trees: Some(&self.trees), ..AlgorithmCapabilities::default() }
    }
}

impl Remembers for Vctm {
    fn asked_by(&self) -> AlgorithmOption {
        AlgorithmOption::Entries
    }

    fn session(&self) -> Box<dyn Session + '_> {
        let entries = vec![Vec::new(); self.routing().network().routers()];
        Box::new(Tables { vctm: self, entries, numbers: HashMap::new() })
    }
}

/// The tables of all routers in a run.
struct Tables<'a> {
    vctm: &'a Vctm,
    /// By router: the trees that it has entries of, the next to give way first.
    entries: Vec<Vec<usize>>,
    /// By source and destinations, sorted: the number of the tree.
    numbers: HashMap<(NodeId, Vec<NodeId>), usize>,
}

impl Session for Tables<'_> {
    fn plan(&mut self, multicast: &Multicast) -> Plan {
        let vctm = self.vctm;
        let plan = vctm.plan(multicast);
        let [Worm { itinerary: Itinerary::Tree(tree), .. }] = &plan.worms[..] else { return plan };
        if multicast.destinations().len() == 1 {
            return plan;
        }
        let mut destinations = multicast.destinations().to_vec();
        destinations.sort_unstable();
        let next = self.numbers.len();
        let number = *self.numbers.entry((multicast.source(), destinations)).or_insert(next);
        let network = &**vctm.routing().network();
        let routers = || {
            let beyond = tree.branches.iter().map(|branch| network.to(branch.channel).index());
            std::iter::once(network.router_of(multicast.source()).index()).chain(beyond)
        };
        let is_set_up = routers().all(|router| self.entries[router].contains(&number));
        let most = vctm.entries.map_or(usize::MAX, |entries| entries as usize);
        for router in routers() {
            let table = &mut self.entries[router];
            let place = table.iter().position(|&tree| tree == number);
            match place {
                Some(place) if vctm.replacement == Replacement::Lru => {
                    let used = table.remove(place);
                    table.push(used);
                }
                Some(_) => {}
                None => {
                    if table.len() >= most {
                        table.remove(0);
                    }
                    table.push(number);
                }
            }
        }
        if is_set_up {
            return plan;
        }
        let unicast = |&node: &NodeId| Worm::path(multicast.source(), vec![node]);
        Plan { worms: multicast.destinations().iter().map(unicast).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::Planner;
    use crate::registry::algorithm_by_name;
    use crate::registry::options::AlgorithmOptions;
    use wormcast_network::TopologySpec;

    #[test]
    fn trees_give_way_in_full_tables() {
        let mesh = "mesh:4x1".parse::<TopologySpec>().unwrap().build().unwrap();
        let worms = |entries, replacement| {
            let own = AlgorithmOptions { entries: Some(entries), replacement, ..AlgorithmOptions::default() };
            let vctm = algorithm_by_name("vctm", &mesh, &Options { own, ..Options::default() }).unwrap();
            let mut planner = Planner::new(vctm.as_ref());
            // Three trees from one node: the first two, the first again, the third, the first again.
            let sets: [&[u32]; 6] = [&[1, 2], &[1, 3], &[1, 2], &[2, 3], &[1, 2], &[3]];
            let nodes = |set: &[u32]| set.iter().copied().map(NodeId::new).collect::<Vec<_>>();
            let multicast = |set| Multicast::new(NodeId::new(0), &nodes(set));
            sets.map(|set| {
                let plan = planner.plan(&multicast(set));
                assert_eq!(plan.check(&mesh, &multicast(set)), Ok(()));
                plan.worms.len()
            })
        };
        assert_eq!(worms(3, None), [2, 2, 1, 2, 1, 1]);
        assert_eq!(worms(2, Some(Replacement::Lru)), [2, 2, 1, 2, 1, 1]);
        // The first is the oldest, however recently used.
        assert_eq!(worms(2, Some(Replacement::Fifo)), [2, 2, 1, 2, 2, 1]);
        assert_eq!(worms(1, None), [2, 2, 2, 2, 2, 1]);
    }

    #[test]
    fn tables_without_entries_are_refused() {
        let mesh = "mesh:4x4".parse::<TopologySpec>().unwrap().build().unwrap();
        let refused =
            |own| algorithm_by_name("vctm", &mesh, &Options { own, ..Options::default() }).err().unwrap().to_string();
        let none = AlgorithmOptions { entries: Some(0), ..AlgorithmOptions::default() };
        assert_eq!(refused(none), "`vctm` needs at least 1 entry a router, not 0");
        let rule = AlgorithmOptions { replacement: Some(Replacement::Lru), ..AlgorithmOptions::default() };
        assert!(refused(rule).contains("set `options.entries`"));
    }
}
