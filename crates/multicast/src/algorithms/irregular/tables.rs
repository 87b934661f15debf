//! Unicasts and multicasts of a fabric, by its forwarding tables.

use std::collections::HashMap;
use std::sync::Arc;

use wormcast_network::{ChannelId, Network, NodeId, Shape, require_memory};
use wormcast_routing::{
    Branching, Dependencies, E_CUBE, ForwardingTables, MulticastGroup, MulticastTables, NoTables, RoutingRelation,
    TablesError, Target, UP_DOWN, Unsupported, analyse_tables, choose_tables, read_members, read_multicast_tables,
    read_tables,
};

use crate::algorithm::{Algorithm, AlgorithmError, Multicast};
use crate::algorithms::multistage::switches::of_stages;
use crate::algorithms::unicast_tree::{other_half, unicast_tree};
use crate::capabilities::{AlgorithmCapabilities, BranchingTrees};
use crate::plan::{Branch, Itinerary, Plan, Tree, Worm};
use crate::registry::descriptor::{Descriptor, Options, RequestPart};
use crate::registry::family::{Routed, Sends};
use crate::registry::options::{AlgorithmOption, Multicasts};

/// [`Tables`].
pub const TABLES: Descriptor = Descriptor::built_in(
    "tables",
    "unicasts by forwarding tables, messages to groups by multicast tables",
    Sends::Trees,
    |network, options| Ok(Box::new(Tables::new(network, options)?)),
)
.routed(Routed::Itself)
.offering(&[
    AlgorithmOption::Tables,
    AlgorithmOption::MulticastTables,
    AlgorithmOption::Groups,
    AlgorithmOption::Multicasts,
]);

/// The forwarding tables of a fabric: a message to one node goes where they send it, a message to a group down the tree of its multicast tables.
///
/// Worms are trees of fixed channels, so nodes of one switch and parallel links are told apart as the tables do. A message from a member of a group to all other
/// members is one worm; where two groups have the same members, it is that of the lower address. Messages to any other set of nodes are a worm to each. For
/// comparison, [`Multicasts`] sends all in software: a worm to each destination, or a binomial tree of worms over the nodes in the order of their numbers.
/// A node with several addresses is reached by its first.
///
/// Without a file, the tables are those that [`choose_tables`] makes for the routing: the one of the options, or e-cube on meshes and hypercubes, that of
/// their kind on multistage networks, and up*/down* on all others.
///
/// Switches are taken to store packets whole and to forward each copy by itself, as those of `InfiniBand` do. One startup for a group. O(channels of
/// the tree) a message.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, PortModel, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// let ring = "ring:5".parse::<TopologySpec>()?.build()?;
/// let tables = algorithm_by_name("tables", &ring, &Options::default())?;
/// let plan = tables.plan(&Multicast::new(NodeId::new(1), &[NodeId::new(3), NodeId::new(4)]));
/// let summary = plan.summary(tables.routing(), PortModel::One)?;
/// assert_eq!((summary.startups, summary.channels), (2, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tables {
    unicasts: ForwardingTables,
    /// Whether a file of groups was given, and why it may not be the whole of it.
    has_groups: bool,
    doubt: Option<String>,
    groups: MulticastTables,
    /// The members of each group, sorted.
    members: Vec<Vec<NodeId>>,
    /// The first group with these members.
    by_members: HashMap<Vec<NodeId>, usize>,
    multicasts: Multicasts,
}

impl Tables {
    /// The tables of the files that the options name, or tables for the routing.
    ///
    /// # Errors
    /// If files cannot be read or do not fit the network, there are no tables for the routing, or they take more memory than there is. If a message from some node
    /// to some other would not arrive, or one to a group not once at each other member, or at anybody else.
    pub fn new(network: &Arc<Network>, options: &Options) -> Result<Self, AlgorithmError> {
        if network.is_unidirectional() {
            return Err(Unsupported::new(TABLES.name, "links with channels both ways", network).into());
        }
        let own = &options.own;
        let tables = match &own.tables {
            Some(path) => {
                let not_taken = |part, problem| AlgorithmError::NotTaken { algorithm: TABLES.name, part, problem };
                if let Some(routing) = options.routing {
                    let problem = format!(
                        "takes the routes from its tables and cannot use `{}`: leave one of the two out",
                        routing.name
                    );
                    return Err(not_taken(RequestPart::Routing, problem));
                }
                if options.root.is_some() {
                    let problem = "takes the routes from its tables, which have no root".to_owned();
                    return Err(not_taken(RequestPart::Root, problem));
                }
                read_tables(network, path).map_err(|error| refused(AlgorithmOption::Tables, &error))?
            }
            None => tables_for_routing(network, options)?,
        };
        let of_tables = |problem| AlgorithmError::Tables { option: AlgorithmOption::Tables, problem };
        check_unicasts(network, &tables).map_err(of_tables)?;
        let mut groups = match &own.multicast_tables {
            Some(path) => read_multicast_tables(network, path)
                .map_err(|error| refused(AlgorithmOption::MulticastTables, &error))?,
            None => MulticastTables::empty(network),
        };
        if let Some(path) = &own.groups {
            if own.multicast_tables.is_none() {
                let problem = "groups need trees: give `multicast_tables`, too, as `routing --multicast-trees opensm --export-multicast FILE` writes them";
                return Err(AlgorithmError::Tables { option: AlgorithmOption::Groups, problem: problem.to_owned() });
            }
            groups = read_members(groups, &tables, path).map_err(|error| refused(AlgorithmOption::Groups, &error))?;
        }
        check_groups(network, &groups).map_err(|(of_members, problem)| {
            let of_members = of_members && own.groups.is_some();
            let option = if of_members { AlgorithmOption::Groups } else { AlgorithmOption::MulticastTables };
            AlgorithmError::Tables { option, problem }
        })?;
        let members: Vec<Vec<NodeId>> = groups.groups().iter().map(MulticastGroup::senders).collect();
        let mut by_members = HashMap::new();
        for (group, members) in members.iter().enumerate() {
            by_members.entry(members.clone()).or_insert(group);
        }
        let (has_groups, multicasts) = (own.multicast_tables.is_some(), own.multicasts.unwrap_or_default());
        let doubts = own.multicast_tables.as_ref().map(|path| groups.doubts(path).join("; "));
        let doubt = doubts.filter(|doubts| !doubts.is_empty());
        Ok(Self { unicasts: tables, has_groups, doubt, groups, members, by_members, multicasts })
    }

    fn unicast(&self, from: NodeId, to: NodeId) -> Worm {
        let channels = self.unicasts.route(from, to).expect("checked when it was made");
        let last = channels.len().checked_sub(1);
        let branch = |(at, channel): (usize, ChannelId)| Branch {
            channel,
            parent: at.checked_sub(1).map(|before| before as u32),
            delivers: if Some(at) == last { vec![to] } else { Vec::new() },
        };
        let branches = channels.into_iter().enumerate().map(branch).collect();
        let delivers = if last.is_none() { vec![to] } else { Vec::new() };
        let itinerary = Itinerary::Tree(Tree { delivers, branches, ..Tree::default() });
        Worm { from, after: None, itinerary, consumption_class: None, virtual_channels: None }
    }

    /// The worm to a group, or `None` if the source and the destinations are none.
    fn to_group(&self, multicast: &Multicast) -> Option<Worm> {
        if self.by_members.is_empty() || self.multicasts != Multicasts::Tables {
            return None;
        }
        let mut nodes = multicast.destinations().to_vec();
        nodes.push(multicast.source());
        nodes.sort_unstable();
        let &group = self.by_members.get(&nodes)?;
        let tree = self.groups.tree(group, multicast.source()).expect("checked when it was made");
        let branch = |(channel, parent, delivers): (ChannelId, Option<usize>, Vec<NodeId>)| Branch {
            channel,
            parent: parent.map(|parent| parent as u32),
            delivers,
        };
        let branches = tree.branches.into_iter().map(branch).collect();
        let itinerary = Itinerary::Tree(Tree { delivers: tree.delivers, branches, ..Tree::default() });
        Some(Worm { from: multicast.source(), after: None, itinerary, consumption_class: None, virtual_channels: None })
    }
}

/// Bytes that an entry takes while tables are chosen: the entry, its place in the order, and its code.
const ENTRY_BYTES: u64 = 36;

fn refused(option: AlgorithmOption, error: &TablesError) -> AlgorithmError {
    AlgorithmError::Tables { option, problem: error.to_string() }
}

/// The tables of the routing that is asked for, or of the network's own.
fn tables_for_routing(network: &Arc<Network>, options: &Options) -> Result<ForwardingTables, AlgorithmError> {
    let own = || match network.shape() {
        Shape::Mesh(_) | Shape::Hypercube(_) => &E_CUBE,
        _ => of_stages(network).unwrap_or(&UP_DOWN),
    };
    let relation = options.routing.unwrap_or_else(own).make(network, &options.of_routing())?;
    let (routers, nodes) = (network.routers() as u64, network.nodes() as u64);
    require_memory(
        format_args!("forwarding tables for {}", network.name()),
        routers * (routers + nodes) * ENTRY_BYTES,
        |_| None,
    )
    .map_err(|error| AlgorithmError::Tables { option: AlgorithmOption::Tables, problem: error.to_string() })?;
    // Longer routes of permitted turns are as free of deadlock.
    let chosen = choose_tables(relation.as_ref(), true).map_err(|error: NoTables| AlgorithmError::NotTaken {
        algorithm: TABLES.name,
        part: RequestPart::Routing,
        problem: format!("cannot have tables for `{}`: {error}; `up-down` has some on every network whose links have both directions", relation.name()),
    })?;
    Ok(chosen.tables)
}

/// Whether messages get from every node to every other.
fn check_unicasts(network: &Network, tables: &ForwardingTables) -> Result<(), String> {
    let report = analyse_tables(tables);
    let Some(first) = report.undelivered.first() else { return Ok(()) };
    let (source, destination) = (network.node_label(first.source), network.node_label(first.destination));
    let pairs = report.undelivered_pairs;
    let all = if pairs == 1 { String::new() } else { format!("; {pairs} pairs of nodes in all") };
    let reason = first.fault.reason(network);
    Err(format!("the tables do not deliver messages from {source} to {destination}: {reason}{all}"))
}

/// Whether messages to groups get to all nodes that are members, once, and to no others. An error says whether it is about who the members are.
fn check_groups(network: &Network, groups: &MulticastTables) -> Result<(), (bool, String)> {
    let label = |node: NodeId| network.node_label(node);
    let first = |targets: &[Target]| targets.iter().find_map(|target| target.node()).map(label);
    let all = groups.groups().iter().map(MulticastGroup::members);
    let groups = groups.clone().of_nodes();
    for ((index, report), all) in groups.reports(None).into_iter().enumerate().zip(all) {
        let group = format!("group {:#06x}", report.mlid);
        let wrong = |problem: String| Err((false, format!("{group}: {problem}")));
        let wrong_members = |problem: String| Err((true, format!("{group}: {problem}")));
        if report.circle.is_some() {
            return wrong("its packets run in a circle".to_owned());
        }
        if let Some(node) = first(&report.missing) {
            return wrong_members(format!("its packets do not get to its member {node}"));
        }
        if let Some(node) = first(&report.doubled) {
            return wrong(format!("its member {node} gets packets twice"));
        }
        if let Some(node) = first(&report.strangers) {
            return wrong_members(format!("its packets get to {node}, which is no member"));
        }
        if !report.connected {
            return wrong("the packets of some member do not get to all others".to_owned());
        }
        let members = groups.groups()[index].senders();
        if members.len() < 2 {
            continue;
        }
        for member in members {
            let Some(tree) = groups.tree(index, member) else {
                return wrong(format!("packets of {} take a channel twice", label(member)));
            };
            let mut goes_on = vec![false; tree.branches.len()];
            for &(_, parent, _) in &tree.branches {
                if let Some(parent) = parent {
                    goes_on[parent] = true;
                }
            }
            let dead_end = tree.branches.iter().zip(goes_on).find(|((.., delivers), on)| delivers.is_empty() && !on);
            if let Some(((channel, ..), _)) = dead_end {
                let (at, router) = (network.to(*channel), network.router_label(network.to(*channel)));
                let what = if all.contains(&Target::Router(at)) {
                    "which is a member itself, and worms deliver to nodes alone: leave it out of the group and its tree"
                } else {
                    "where no node is a member: its tree has to be pruned"
                };
                return wrong(format!("packets of {} end in {router}, {what}", label(member)));
            }
        }
    }
    Ok(())
}

impl Algorithm for Tables {
    fn name(&self) -> &'static str {
        TABLES.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.unicasts
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        let source = multicast.source();
        if let Some(worm) = self.to_group(multicast) {
            return Plan { worms: vec![worm] };
        }
        let worms = match self.multicasts {
            Multicasts::Tables | Multicasts::Separate => {
                multicast.destinations().iter().map(|&to| self.unicast(source, to)).collect()
            }
            Multicasts::Binomial => {
                let mut chain = multicast.destinations().to_vec();
                chain.push(source);
                chain.sort_unstable();
                let first = chain.iter().position(|&node| node == source).unwrap_or(0);
                chain.rotate_left(first);
                let mut sent = Plan::default();
                unicast_tree(&chain, 0, &mut sent, other_half);
                sent.worms
                    .into_iter()
                    .map(|worm| Worm { after: worm.after, ..self.unicast(worm.from, worm.visits()[0]) })
                    .collect()
            }
        };
        Plan { worms }
    }

    fn dependencies(&self) -> Dependencies<'_> {
        self.dependencies_with(self.branching())
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        let groups = self.has_groups.then_some(&self.members[..]);
        AlgorithmCapabilities {
            trees: Some(self),
            groups,
            doubt: self.doubt.as_deref(),
            ..AlgorithmCapabilities::default()
        }
    }
}

impl BranchingTrees for Tables {
    fn branching(&self) -> Branching {
        Branching::STORED
    }

    fn dependencies_with(&self, branching: Branching) -> Dependencies<'_> {
        let mut dependencies = Dependencies::of_tables(&self.unicasts);
        if self.multicasts != Multicasts::Tables {
            return dependencies;
        }
        dependencies.add_worms(|worms| {
            for (group, members) in self.members.iter().enumerate() {
                // A group of one sends nothing.
                for &member in members.iter().filter(|_| members.len() > 1) {
                    let tree = self.groups.tree(group, member).expect("checked when it was made");
                    let branches: Vec<_> = tree
                        .branches
                        .iter()
                        .map(|(channel, parent, delivers)| (*channel, *parent, !delivers.is_empty()))
                        .collect();
                    worms.tree_from(!tree.delivers.is_empty(), &branches, branching);
                }
            }
        });
        dependencies
    }
}
