//! Tables of a fabric changed as little as can be, so that the packets of hosts and of groups cannot deadlock together.

use std::collections::HashSet;

use fixedbitset::FixedBitSet;
use thiserror::Error;
use wormcast_network::{ChannelId, NodeId, RouterId};

use self::held::held_to_up_down;
use self::on_lanes::OnLanes;
use self::tree_search::{Search, Terminals, set_link, shortest_tree};
use super::choice::NoTables;
use super::hop_matrix::HopMatrix;
use super::lanes::{VirtualLanes, exchange};
use super::multicast::MulticastTables;
use super::opensm::NetworkLfts;
use super::waits::UnicastWaits;
use super::{ForwardingTables, TablesError, Target, analyse_tables};
use crate::registry::RoutingError;
use crate::relation::{RoutingRelation, Unsupported};

mod held;
mod on_lanes;
mod tree_search;

/// What had to be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Changed {
    /// Nothing: there is no deadlock.
    Nothing,
    /// The trees of groups.
    Trees,
    /// The lane of groups, which is then one of their own.
    Lanes,
    /// The lanes of unicasts, which keep their routes, and perhaps the trees or the lane of groups.
    UnicastLanes,
    /// Routes of unicasts, and the trees of groups.
    Unicasts,
}

impl Changed {
    /// Its name for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Trees => "trees",
            Self::Lanes => "lanes",
            Self::UnicastLanes => "unicast-lanes",
            Self::Unicasts => "unicasts",
        }
    }
}

/// The end of a search: for trees over turns that cannot deadlock with the unicasts as they are, or for lanes for the unicasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchEnd {
    /// There was no search: less had to be changed, or nothing that is searched for would have been enough.
    NotNeeded,
    /// Something was found.
    Found,
    /// There is nothing: all was tried.
    Proven,
    /// Nothing was found before the search was given up: there may be something.
    GivenUp,
}

/// Tables without a deadlock.
#[derive(Clone, Debug)]
pub struct Repair {
    /// What had to be changed.
    pub changed: Changed,
    /// How the search for trees ended.
    pub search: SearchEnd,
    /// The unicast tables.
    pub tables: ForwardingTables,
    /// How many of their entries are others than before.
    pub changed_entries: usize,
    /// The multicast tables.
    pub multicasts: MulticastTables,
    /// The matrix by which `OpenSM` builds these trees, if anything was changed: with routes from a file it builds all trees anew.
    pub matrix: Option<HopMatrix>,
    /// The service level of the groups: 0 if anything was changed, else the one that they had; the highest, if they have several.
    pub level_of_groups: u32,
    /// The level that groups would have had instead of 0, if it is another: these two have changed names.
    pub exchanged: Option<u8>,
    /// How many pairs of a node and an address have another service level only because two have changed names: they stay with all that they shared a lane with.
    pub renamed: u64,
    /// The service levels and lanes of all packets, if they had any before or got some; else all are on level 0 and one lane.
    pub lanes: Option<VirtualLanes>,
    /// Whether the tables of lanes that switches had, which depended on ports, give way to one by which each level is a lane: with routes from a file,
    /// `OpenSM` sets up no others.
    pub levels_are_lanes: bool,
    /// How the search for lanes for the unicasts as they are routed ended.
    pub spread: SearchEnd,
    /// How many pairs of a node and an address have left the service level that they had, not counting that two may have changed names.
    pub moved: u64,
    /// The root of up*/down* whose turns unicasts take, if they had to be changed.
    pub root: Option<RouterId>,
}

/// Why there is no repair.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoRepair {
    /// Messages do not arrive, so that there is no telling what they should do.
    #[error("messages of {0} pair{s} of a node and an address do not arrive by the unicast tables: mend that first; the analysis names them", s = if *.0 == 1 { "" } else { "s" })]
    Undelivered(u64),
    /// No trees close no cycle with the unicasts.
    #[error("{}", if *.0 == SearchEnd::Proven {
        "no trees over turns that the unicasts permit join the groups: all were tried"
    } else if *.0 == SearchEnd::NotNeeded {
        "unicasts alone can deadlock, whatever the trees of groups"
    } else {
        "no trees over turns that the unicasts permit were found, though there may be some"
    })]
    NoTrees(SearchEnd),
    /// Members of a group are not connected.
    #[error("no links join all members of the group {0:#06x}")]
    Disconnected(u16),
    /// A network that up*/down* is not for.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// There are no tables over the turns of up*/down*.
    #[error(transparent)]
    NoTables(#[from] NoTables),
    /// The routing up*/down* was refused.
    #[error("{0}")]
    Routing(String),
    /// The network is no fabric.
    #[error(transparent)]
    Tables(#[from] TablesError),
}

impl From<RoutingError> for NoRepair {
    fn from(error: RoutingError) -> Self {
        Self::Routing(error.to_string())
    }
}

/// Roots that are tried in networks with more switches.
const ROOTS: usize = 512;
/// Changes as little as can be found, so that unicasts and groups cannot deadlock together within so many virtual lanes.
///
/// In this order, the first that works:
///
/// 1. Nothing is changed.
/// 2. Groups get trees whose turns, at each switch between all pairs of their ports, close no cycle with what unicasts wait for. All are parts of
///    one tree, because the one matrix from which `OpenSM` builds trees holds for all groups. Shortest trees of every root are tried, the one kept whose
///    groups have the fewest links; then trees that grow by any link that closes no cycle; then, as long as it takes no more than 20,000 checks, all
///    trees there are.
/// 3. Groups get another service level: one on which their trees close no cycle, which is always so on a lane of their own if they close none with each
///    other; else one on which parts of another tree close none.
/// 4. Unicasts keep their routes and get other service levels, and groups their trees, or parts of a shortest one. Levels have to be lanes, which is so where
///    switches have no tables that say otherwise. Routes that close a cycle, the fewest that can be found, are put on other lanes; in small networks all
///    ways are tried before that is given up.
/// 5. Unicasts are held to the turns of an up*/down*, by the root that leaves the most entries as they are: only entries by which a message takes another
///    turn are changed. Groups get the tree of that root. There is no cycle then, whatever the lanes.
///
/// `given` are the service levels and lanes that packets have; without, all are on one. If they have more lanes than there may be, only the last two steps are
/// tried. Without given lanes, or on one, steps 3 and 4 need two lanes.
///
/// `OpenSM` loads routes from a file only together with one table of lanes for all links. If the given tables depend on ports, they stay only if nothing has to
/// be changed. Otherwise each level is taken for a lane of its own, and the search starts from there: [`Changed::UnicastLanes`] then, even if no path
/// changes its level. Beside such routes levels are by port, so the same holds if addresses of one node have different levels, or paths from them: they then get that of its
/// first address. Trees stay as they are only where some matrix makes `OpenSM` build them again, or parts of them.
///
/// Whatever is changed has all groups on level 0: what a partition's groups have unless it says otherwise, and what `ibdmchk -M` takes them to have. So if a
/// step puts groups on another level, or leaves them there, that level and level 0 change names in all paths; every packet stays beside those it was beside.
/// Groups of several levels are put on one, which is step 3 at least.
///
/// Packets are stored whole in switches and each copy goes on by itself; `ibdmchk -M`, which takes turns for possible that no packet takes, finds no loop
/// on a single lane either.
///
/// # Errors
/// If messages do not arrive, or members are not connected at all.
pub fn repair(
    tables: &ForwardingTables,
    multicasts: &MulticastTables,
    given: Option<&VirtualLanes>,
    lanes: u32,
) -> Result<Repair, NoRepair> {
    let undelivered = analyse_tables(tables).undelivered_pairs;
    if undelivered > 0 {
        return Err(NoRepair::Undelivered(undelivered));
    }
    let Some(given) = given else {
        return Ok(changes(tables, multicasts, None, lanes, false)?.with_groups_on_zero(None));
    };
    let given = &given.clone().by_member(multicasts.groups());
    // What cannot be loaded beside routes from a file: lanes by port, and levels by addresses of nodes.
    let is_by_port = given.common_map().is_none();
    let differing = given.differing(tables);
    if !is_by_port && differing.is_empty() {
        return Ok(changes(tables, multicasts, Some(given), lanes, false)?.with_groups_on_zero(Some(given)));
    }
    if given.count() <= lanes && stays_safe(tables, multicasts, given) {
        let lanes = Some(given.clone().with_lanes(lanes));
        let level_of_groups = highest(given, multicasts);
        return Ok(Repair { level_of_groups, lanes, ..Repair::nothing(tables, multicasts) });
    }
    let mut levels = given.clone();
    if is_by_port {
        levels = levels.without_maps();
    }
    for &(source, address, level) in &differing {
        levels.set_level(source, address, level);
    }
    levels.count_lanes();
    let repair = changes(tables, multicasts, Some(&levels), lanes, true)?;
    let is_routed = repair.changed == Changed::Unicasts;
    let changed = if is_routed { Changed::Unicasts } else { Changed::UnicastLanes };
    // The search counts from levels that do not differ: those of its pairs that did are counted by what they had before.
    let after = |source, address| repair.lanes.as_ref().and_then(|lanes| lanes.level(source, address)).unwrap_or(0);
    let again = differing.iter().filter(|&&(source, address, level)| after(source, address) != level).count() as u64;
    let left =
        differing.iter().filter(|&&(source, address, _)| !given.has_only(source, address, after(source, address)));
    let moved = if is_routed { 0 } else { repair.moved - again + left.count() as u64 };
    Ok(Repair { changed, moved, levels_are_lanes: is_by_port, ..repair }.with_groups_on_zero(Some(given)))
}

/// What a [`repair`] changes within lanes that do not depend on ports; if it has to be loaded in any case, trees are by a matrix, even if they stay.
fn changes(
    tables: &ForwardingTables,
    multicasts: &MulticastTables,
    given: Option<&VirtualLanes>,
    lanes: u32,
    is_loaded: bool,
) -> Result<Repair, NoRepair> {
    let network = tables.network();
    let terminals = Terminals::new(network, multicasts)?;
    let kept = |changed, search| Repair { changed, search, ..Repair::nothing(tables, multicasts) };
    let own_turns: Vec<_> = (0..multicasts.groups().len()).flat_map(|group| multicasts.turns(group)).collect();
    let reaches_all = reaches_all(multicasts, None);
    let mut search = SearchEnd::NotNeeded;
    if let Some(given) = given.filter(|given| given.count() <= lanes) {
        let given = given.clone().with_lanes(lanes);
        let on_lanes = OnLanes { tables, multicasts, terminals: &terminals, given, lanes };
        let (found, ended) = on_lanes.without_unicasts(reaches_all, is_loaded)?;
        if let Some(repair) = found {
            return Ok(repair);
        }
        search = ended;
    }
    let alone = given.is_none().then(|| UnicastWaits::by_channel(tables));
    if let Some((unicasts, numbering)) = alone.and_then(|alone| alone.numbering().map(|numbering| (alone, numbering))) {
        if reaches_all && !unicasts.closes_with(&numbering, &own_turns) {
            return Ok(kept(Changed::Nothing, search));
        }
        let found = Search::new(network, &unicasts, &numbering, &terminals, None).run();
        search = found.1;
        if let Some(tree) = found.0 {
            let matrix = HopMatrix::of_trees(network, &tree)?;
            let multicasts = multicasts.clone().with_trees(&matrix);
            return Ok(Repair { multicasts, matrix: Some(matrix), ..kept(Changed::Trees, search) });
        }
        if lanes > 1 {
            let alone = UnicastWaits::none(network);
            let trees_are_safe = alone.numbering().is_some_and(|numbering| !alone.closes_with(&numbering, &own_turns));
            let tables = with_addresses(tables)?;
            let lanes = VirtualLanes::new(network)?.with_groups_on(multicasts.groups(), 1);
            let lanes = Some(lanes);
            let repair = Repair { tables: tables.clone(), level_of_groups: 1, lanes, ..kept(Changed::Lanes, search) };
            if reaches_all
                && trees_are_safe
                && let Some((multicasts, matrix)) = rebuilt(&tables, multicasts)?
            {
                return Ok(Repair { multicasts, matrix, ..repair });
            }
            let matrix = HopMatrix::of_trees(network, &shortest_tree(network, RouterId::new(0)))?;
            let multicasts = multicasts.clone().with_trees(&matrix);
            return Ok(Repair { multicasts, matrix: Some(matrix), ..repair });
        }
    }
    let mut spread = SearchEnd::NotNeeded;
    if lanes > 1 && given.is_none_or(|given| given.are_levels(lanes)) {
        let tables = with_addresses(tables)?;
        let given = given.cloned().map_or_else(|| VirtualLanes::new(network), Ok)?;
        let on_lanes = OnLanes { tables: &tables, multicasts, terminals: &terminals, given, lanes };
        let (found, ended) = on_lanes.with_unicasts(reaches_all)?;
        if let Some(repair) = found {
            return Ok(Repair { search, ..repair });
        }
        spread = ended;
    }
    let (root, tables, changed_entries) = held_to_up_down(tables)?;
    let matrix = HopMatrix::of_trees(network, &shortest_tree(network, root))?;
    let multicasts = multicasts.clone().with_trees(&matrix);
    let (matrix, root) = (Some(matrix), Some(root));
    Ok(Repair { tables, changed_entries, multicasts, matrix, spread, root, ..kept(Changed::Unicasts, search) })
}

/// Whether packets of groups arrive at all members, and run in no circle.
fn reaches_all(multicasts: &MulticastTables, lanes: Option<&VirtualLanes>) -> bool {
    multicasts.reports(lanes).iter().all(|group| group.connected && group.circle.is_none())
}

/// Whether packets arrive and cannot deadlock on these lanes.
fn stays_safe(tables: &ForwardingTables, multicasts: &MulticastTables, lanes: &VirtualLanes) -> bool {
    let unicasts = UnicastWaits::in_lanes(tables, lanes);
    let hops = (0..multicasts.groups().len()).flat_map(|group| multicasts.hops(group, Some(lanes)));
    let arrive = reaches_all(multicasts, None) && reaches_all(multicasts, Some(lanes));
    arrive && unicasts.dropped == 0 && unicasts.with(hops).numbering().is_some()
}

/// The trees that there are, or parts of them, as `OpenSM` builds them by a matrix, and the matrix; `None` if none is found that makes it do so.
fn rebuilt(tables: &ForwardingTables, multicasts: &MulticastTables) -> Result<Option<Trees>, TablesError> {
    let network = tables.network();
    let groups = 0..multicasts.groups().len();
    if groups.is_empty() {
        return Ok(Some((multicasts.clone(), None)));
    }
    let mut links = FixedBitSet::with_capacity(network.channels());
    for channel in groups.clone().flat_map(|group| multicasts.channels(group)) {
        set_link(network, &mut links, channel, true);
    }
    let matrices: [&dyn Fn() -> Result<HopMatrix, TablesError>; 3] =
        [&|| HopMatrix::of_tables(tables), &|| HopMatrix::of_shortest_paths(network), &|| {
            HopMatrix::of_trees(network, &links)
        }];
    let own: Vec<HashSet<ChannelId>> = groups.clone().map(|group| multicasts.channels(group).collect()).collect();
    for matrix in matrices {
        let matrix = matrix()?;
        let built = multicasts.clone().with_trees(&matrix);
        let is_part = |group: usize| built.channels(group).all(|channel| own[group].contains(&channel));
        if groups.clone().all(is_part) && built.reports(None).iter().all(|group| group.connected) {
            return Ok(Some((built, Some(matrix))));
        }
    }
    Ok(None)
}

/// The highest service level of groups.
fn highest(lanes: &VirtualLanes, multicasts: &MulticastTables) -> u32 {
    lanes.levels_of_groups(multicasts.groups()).last().copied().map_or(0, u32::from)
}

/// Tables whose destinations all have addresses: those that `OpenSM` would give them, if they have none.
fn with_addresses(tables: &ForwardingTables) -> Result<ForwardingTables, TablesError> {
    let addresses = NetworkLfts::new(tables)?;
    let mut with = tables.clone();
    for destination in &mut with.destinations {
        destination.address = destination.address.or_else(|| addresses.address_of(destination.target));
    }
    Ok(with)
}

/// Trees and the matrix by which `OpenSM` builds them.
type Trees = (MulticastTables, Option<HopMatrix>);
/// The matrix by which `OpenSM` builds trees for groups that close no cycle with the unicasts as they are: step 2 of a [`repair`].
///
/// # Errors
/// If there are none, or none were found.
pub fn permitted_trees(tables: &ForwardingTables, multicasts: &MulticastTables) -> Result<HopMatrix, NoRepair> {
    let network = tables.network();
    let terminals = Terminals::new(network, multicasts)?;
    let unicasts = UnicastWaits::by_channel(tables);
    let numbering = unicasts.numbering().ok_or(NoRepair::NoTrees(SearchEnd::NotNeeded))?;
    let (tree, search) = Search::new(network, &unicasts, &numbering, &terminals, None).run();
    Ok(HopMatrix::of_trees(network, &tree.ok_or(NoRepair::NoTrees(search))?)?)
}

impl Repair {
    fn nothing(tables: &ForwardingTables, multicasts: &MulticastTables) -> Self {
        Self {
            changed: Changed::Nothing,
            search: SearchEnd::NotNeeded,
            tables: tables.clone(),
            changed_entries: 0,
            multicasts: multicasts.clone(),
            matrix: None,
            level_of_groups: 0,
            exchanged: None,
            renamed: 0,
            lanes: None,
            levels_are_lanes: false,
            spread: SearchEnd::NotNeeded,
            moved: 0,
            root: None,
        }
    }

    /// This with groups on level 0, if anything was changed: where they would have another, it and level 0 change names.
    fn with_groups_on_zero(self, before: Option<&VirtualLanes>) -> Self {
        let level = self.level_of_groups as u8;
        if self.changed == Changed::Nothing {
            return self;
        }
        let Some(lanes) = self.lanes else { return self };
        if level == 0 {
            // As it is for members, so for others.
            let lanes = Some(lanes.with_groups_on(self.multicasts.groups(), 0));
            return Self { lanes, ..self };
        }
        let lanes = lanes.exchanged([0, level], &self.tables).with_groups_on(self.multicasts.groups(), 0);
        let is_renamed = |node: NodeId, address: u16| {
            let [old, new] =
                [before, Some(&lanes)].map(|lanes| lanes.and_then(|own| own.level(node, address)).unwrap_or(0));
            old != new && exchange([0, level], old) == new
        };
        let mut renamed = 0;
        for to in self.tables.destinations() {
            if let (Target::Node(own), Some(address)) = (to.target, to.address) {
                let nodes = self.tables.network().node_ids().filter(|&node| node != own);
                renamed += nodes.filter(|&node| is_renamed(node, address)).count() as u64;
            }
        }
        Self { level_of_groups: 0, exchanged: Some(level), renamed, lanes: Some(lanes), ..self }
    }

    /// The proof that there can be no deadlock: a number for each channel and lane that rises along every step of a packet, and on a single lane along every
    /// turn between two ports of a group.
    pub fn numbering(&self) -> Vec<(ChannelId, u32, u32)> {
        let groups = 0..self.multicasts.groups().len();
        let (waits, count) = match &self.lanes {
            Some(lanes) => {
                let hops = groups.flat_map(|group| self.multicasts.hops(group, Some(lanes)));
                (UnicastWaits::in_lanes(&self.tables, lanes).with(hops), lanes.count())
            }
            None => {
                let turns = groups.flat_map(|group| self.multicasts.turns(group));
                (UnicastWaits::by_channel(&self.tables).with(turns), 1)
            }
        };
        let numbered = (0u32..).zip(waits.numbering().into_iter().flatten());
        numbered.map(|(vertex, number)| (ChannelId::new(vertex / count), vertex % count, number)).collect()
    }

    /// The service levels, as [`VirtualLanes::with_levels`](super::VirtualLanes::with_levels) reads them; nothing if all are 0.
    pub fn levels(&self) -> String {
        self.lanes.as_ref().map_or_else(String::new, |lanes| lanes.text(&self.tables))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::sync::Arc;

    use wormcast_network::{FileFormat, Network, NetworkIbsim, NodeId, TopologySpec};

    use super::tree_search::turns_of;
    use super::*;
    use crate::analysis::dependency::Dependencies;
    use crate::forwarding_tables::{
        Destination, GroupBranching, NetworkMcfdbs, Output, Target, choose_tables, parse_multicast_tables,
    };
    use crate::registry::RoutingOptions;
    use crate::relations::up_down::{Root, UP_DOWN};

    /// Tables by the next router: `next[router][destination]`, each router with a node of its own.
    fn tables(network: &Arc<Network>, next: &[Vec<u32>]) -> ForwardingTables {
        let mut entries = Vec::new();
        for node in network.node_ids() {
            let destination = Destination { target: Target::Node(node), address: None };
            for router in network.router_ids() {
                let to = RouterId::new(next[router.index()][node.index()]);
                let channel = network.channel_between(router, to).map(Output::Channel);
                let output = if router == to { Some(Output::Node(node)) } else { channel };
                entries.extend(output.map(|output| (destination, router, output)));
            }
        }
        ForwardingTables::new(network, &entries).unwrap()
    }

    /// A group of all nodes, with the shortest tree from the first router.
    fn everyone(tables: &ForwardingTables) -> MulticastTables {
        let network = tables.network();
        let members: Vec<String> = network.node_ids().map(|node| node.to_string()).collect();
        let groups =
            MulticastTables::empty(network).with_members(tables, "groups", &format!("0xc001: {}", members.join(";")));
        groups.unwrap().with_trees(&HopMatrix::of_shortest_paths(network).unwrap())
    }

    fn can_deadlock(tables: &ForwardingTables, groups: &MulticastTables) -> bool {
        let mut union = Dependencies::of_tables(tables);
        union.add_worms(|worms| {
            (0..groups.groups().len()).for_each(|group| groups.add(worms, group, GroupBranching::Packets, None));
        });
        union.deadlock(1).is_some()
    }

    /// That numbers rise along every route of the unicasts and from each channel of a tree to those that packets take next, on lanes that are levels, and that groups
    /// are on level 0.
    fn check(repair: &Repair) {
        let network = repair.tables.network();
        let numbers: std::collections::HashMap<(ChannelId, u32), u32> =
            repair.numbering().into_iter().map(|(channel, lane, number)| ((channel, lane), number)).collect();
        assert_eq!(repair.level_of_groups, 0);
        for (place, destination) in repair.tables.destinations().iter().enumerate() {
            for source in network.node_ids().filter(|&source| Target::Node(source) != destination.target) {
                let lanes = repair.lanes.as_ref().zip(destination.address);
                let lane = lanes.map_or(0, |(lanes, address)| u32::from(lanes.level(source, address).unwrap_or(0)));
                let (mut at, mut last, mut hops) = (network.router_of(source), None, 0);
                while let Some(Output::Channel(channel)) = repair.tables.output(at, place) {
                    let number = Some(numbers[&(channel, lane)]);
                    assert!(number > last && hops < network.routers());
                    (at, last, hops) = (network.to(channel), number, hops + 1);
                }
            }
        }
        for group in 0..repair.multicasts.groups().len() {
            for (held, next) in repair.multicasts.hops(group, None) {
                assert!(numbers[&(held, 0)] < numbers[&(next, 0)]);
            }
        }
        assert!(repair.multicasts.reports(None).iter().all(|group| group.connected && group.doubled.is_empty()));
    }

    /// A network and tables that close no cycle, though each tree over all of its routers closes one with them.
    fn without_permitted_trees() -> (Arc<Network>, ForwardingTables) {
        let links = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (4, 2)];
        let network = Network::from_links("six", 6, &links);
        let next = [
            vec![0, 1, 1, 5, 5, 5],
            vec![0, 1, 2, 2, 2, 0],
            vec![1, 1, 2, 3, 4, 4],
            vec![4, 4, 2, 3, 2, 2],
            vec![2, 2, 3, 3, 4, 5],
            vec![0, 0, 0, 4, 4, 5],
        ];
        let tables = tables(&network, &next);
        (network, tables)
    }

    #[test]
    fn where_no_tree_is_permitted_that_is_proven_and_lanes_or_routes_are_changed() {
        let (network, tables) = without_permitted_trees();
        let unicasts = UnicastWaits::by_channel(&tables);
        let numbering = unicasts.numbering().expect("unicasts alone cannot deadlock");
        // Brute force: five of seven links, if they join all, close a cycle.
        let links: Vec<ChannelId> = network.channel_ids().filter(|&c| c < network.reverse(c)).collect();
        let everyone_is_joined = Terminals(vec![network.router_ids().collect()]);
        let mut trees = 0;
        for chosen in (0u32..1 << links.len()).filter(|chosen| chosen.count_ones() == 5) {
            let mut tree = FixedBitSet::with_capacity(network.channels());
            let taken = links.iter().enumerate().filter(|&(place, _)| chosen >> place & 1 == 1);
            taken.for_each(|(_, &link)| set_link(&network, &mut tree, link, true));
            if everyone_is_joined.are_joined(&network, &tree) {
                trees += 1;
                assert!(unicasts.closes_with(&numbering, &turns_of(&network, &tree)));
            }
        }
        assert_eq!(trees, 2 * 4 + 2 + 4, "of a triangle and a ring of five that share a link");

        let groups = everyone(&tables);
        let on_one = repair(&tables, &groups, None, 1).unwrap();
        assert_eq!((on_one.changed, on_one.search), (Changed::Unicasts, SearchEnd::Proven));
        assert!(on_one.changed_entries > 0 && !can_deadlock(&on_one.tables, &on_one.multicasts));
        check(&on_one);
        let on_two = repair(&tables, &groups, None, 2).unwrap();
        assert_eq!((on_two.changed, on_two.changed_entries, on_two.moved), (Changed::Lanes, 0, 0));
        // Groups have a lane of their own, and it is level 0: the unicasts' has become level 1, for all pairs of six.
        assert_eq!((on_two.exchanged, on_two.renamed), (Some(1), 30));
        let ends = |end: &str| on_two.levels().lines().filter(|line| line.ends_with(end)).count();
        assert_eq!((ends(" 1"), ends(" 49153 0"), on_two.levels().lines().count()), (30, 6, 36));
        let policy = on_two.lanes.as_ref().unwrap().policy(&on_two.tables);
        assert!(policy.starts_with("qos-levels\n") && policy.contains("name: DEFAULT\n        sl: 1\n"), "{policy}");
        assert!(!policy.contains("port-group") && !policy.contains("source:"), "{policy}");
        // The trees stay, and OpenSM, which builds them anew beside routes from a file, is told how.
        let again = groups.clone().with_trees(on_two.matrix.as_ref().unwrap());
        let channels = |groups: &MulticastTables| groups.channels(0).collect::<HashSet<_>>();
        assert_eq!([&on_two.multicasts, &again].map(channels), [channels(&groups), channels(&groups)]);
        check(&on_two);
        assert_eq!(permitted_trees(&tables, &groups).unwrap_err(), NoRepair::NoTrees(SearchEnd::Proven));
    }

    /// A ring of six routed up*/down* from the first router, where nothing goes down before it goes up, as a fabric.
    fn up_down_ring() -> (Arc<Network>, ForwardingTables) {
        let ring = "ring:6".parse::<TopologySpec>().unwrap().build().unwrap();
        let ring = FileFormat::Fabric.parse("ring", &NetworkIbsim(&ring).to_string()).unwrap();
        let options = RoutingOptions { root: Some(Root::Router(RouterId::new(0))), ..RoutingOptions::default() };
        let tables = choose_tables(UP_DOWN.make(&ring, &options).unwrap().as_ref(), true).unwrap().tables;
        (ring, tables)
    }

    /// The ring without the link after a router.
    fn opened(ring: &Network, without: u32) -> FixedBitSet {
        let mut tree = FixedBitSet::with_capacity(ring.channels());
        for link in (0..6).filter(|&link| link != without) {
            let channel = ring.channel_between(RouterId::new(link), RouterId::new((link + 1) % 6)).unwrap();
            set_link(ring, &mut tree, channel, true);
        }
        tree
    }

    #[test]
    fn trees_that_no_one_matrix_makes_are_not_kept() {
        let (ring, tables) = up_down_ring();
        let matrix = |without| HopMatrix::of_trees(&ring, &opened(&ring, without)).unwrap();
        let (one, other) = (everyone(&tables).with_trees(&matrix(0)), everyone(&tables).with_trees(&matrix(1)));
        let (kept, _) = rebuilt(&tables, &one).unwrap().unwrap();
        assert_eq!(kept.channels(0).collect::<HashSet<_>>(), one.channels(0).collect());
        // A second group with the other tree: the two close the ring.
        let texts = [&one, &other].map(|groups| NetworkMcfdbs::new(groups).unwrap().to_string());
        let both = texts[0].lines().zip(texts[1].lines()).fold(String::new(), |mut text, (line, second)| {
            writeln!(text, "{line}").unwrap();
            if second.starts_with("0xC001") {
                writeln!(text, "{}", second.replace("0xC001", "0xC002")).unwrap();
            }
            text
        });
        let both = parse_multicast_tables(&ring, "both", &both).unwrap();
        assert_eq!(both.groups().len(), 2);
        assert!(rebuilt(&tables, &both).unwrap().is_none());
    }

    #[test]
    fn lanes_that_depend_on_ports_stay_or_give_way_to_levels() {
        let (ring, tables) = up_down_ring();
        // The second switch puts what comes from the first on another lane.
        let from_first = ring.port_of(ring.channel_between(RouterId::new(1), RouterId::new(0)).unwrap()).unwrap();
        let mut maps = String::new();
        for router in ring.router_ids() {
            for (arriving, leaving) in (0..=36).flat_map(|a| (0..=36).map(move |b| (a, b))) {
                let lanes = if router.raw() == 1 && arriving == from_first { "0x11" } else { "0x01" };
                let guid = ring.router_guid(router).unwrap();
                writeln!(maps, "{guid:#018x} {arriving} {leaving} {lanes} 0x23 0x45 0x67 0x89 0xab 0xcd 0xef").unwrap();
            }
        }
        let by_port = VirtualLanes::new(&ring).unwrap().with_maps("maps", &maps).unwrap();
        assert_eq!((by_port.count(), by_port.common_map(), by_port.options()), (2, None, None));
        let mut kept = 0;
        for without in 0..6 {
            let groups = everyone(&tables).with_trees(&HopMatrix::of_trees(&ring, &opened(&ring, without)).unwrap());
            let repaired = repair(&tables, &groups, Some(&by_port), 2).unwrap();
            let lanes = repaired.lanes.as_ref().unwrap();
            assert!(stays_safe(&repaired.tables, &repaired.multicasts, lanes));
            if stays_safe(&tables, &groups, &by_port) {
                kept += 1;
                assert_eq!((repaired.changed, repaired.levels_are_lanes), (Changed::Nothing, false));
                assert!(lanes.common_map().is_none() && repaired.matrix.is_none());
                continue;
            }
            assert_eq!((repaired.changed, repaired.levels_are_lanes), (Changed::UnicastLanes, true));
            assert_eq!((repaired.moved, lanes.common_map()), (0, VirtualLanes::new(&ring).unwrap().common_map()));
            assert_eq!(lanes.options().unwrap(), "qos TRUE\nqos_swe_sl2vl 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n");
            assert!(repaired.matrix.is_some());
            check(&repaired);
        }
        assert!((1..6).contains(&kept), "{kept}");
    }

    /// The same lanes for the levels on all links.
    fn common_maps(ring: &Network, of_levels: &str) -> String {
        let mut maps = String::new();
        for router in ring.router_ids() {
            for (arriving, leaving) in (0..=36).flat_map(|a| (0..=36).map(move |b| (a, b))) {
                writeln!(maps, "{:#018x} {arriving} {leaving} {of_levels}", ring.router_guid(router).unwrap()).unwrap();
            }
        }
        maps
    }

    #[test]
    fn groups_come_to_level_0_and_all_else_stays_beside_what_it_was_beside() {
        let (ring, alone) = up_down_ring();
        let tables = with_addresses(&alone).unwrap();
        let groups =
            |without| everyone(&alone).with_trees(&HopMatrix::of_trees(&ring, &opened(&ring, without)).unwrap());
        // The first host's paths are on level 9, all others and groups on one.
        let levels = |level: u8| {
            let mut text = String::new();
            for (node, to) in ring.node_ids().flat_map(|node| tables.destinations().iter().map(move |to| (node, to))) {
                let level = if node.raw() == 0 { 9 } else { level };
                writeln!(text, "{:#018x} {} {level}", ring.node_guid(node).unwrap(), to.address.unwrap()).unwrap();
            }
            text + &format!("MCMemberRecord group dump:\n\t\tMlid....0xc001\n\t\tSL....{level}\n")
        };
        let own = "0x01 0x23 0x45 0x67 0x89 0xab 0xcd 0xe7";
        // Levels 0 and 9 are on lane 0 and level 2 is on lane 1: names alone cannot change there.
        let shared = "0x01 0x13 0x45 0x67 0x80 0xab 0xcd 0xe7";
        let mut seen = HashSet::new();
        for (without, level, maps) in (0..6)
            .flat_map(|without| (0..3u8).map(move |level| (without, level)))
            .flat_map(|(without, level)| [None, Some(own), Some(shared)].map(move |maps| (without, level, maps)))
        {
            let mut given = VirtualLanes::new(&ring).unwrap();
            given = given.with_levels(&tables, "levels", &levels(level)).unwrap();
            if let Some(maps) = maps {
                given = given.with_maps("maps", &common_maps(&ring, maps)).unwrap();
            }
            let groups = groups(without);
            let before = given.clone().by_member(groups.groups());
            let lanes = given.count().max(3);
            let repaired = repair(&tables, &groups, Some(&given), lanes).unwrap();
            let after = repaired.lanes.as_ref().unwrap();
            assert!(stays_safe(&repaired.tables, &repaired.multicasts, after));
            if repaired.changed == Changed::Nothing {
                assert_eq!((repaired.level_of_groups, repaired.exchanged), (u32::from(level), None));
                assert_eq!(after.levels_of_groups(groups.groups()), [level]);
                continue;
            }
            assert_eq!((repaired.level_of_groups, after.levels_of_groups(groups.groups())), (0, vec![0]));
            let Some(exchanged) = repaired.exchanged else { continue };
            seen.insert((repaired.changed.name(), level, maps));
            // Every pair has left its level, or has it under another name if it is one of two, or has it.
            let pairs = || {
                ring.node_ids().flat_map(|node| {
                    let to = tables.destinations().iter().filter(move |to| to.target != Target::Node(node));
                    to.filter(|to| matches!(to.target, Target::Node(_))).map(move |to| (node, to.address.unwrap()))
                })
            };
            let level_in = |lanes: &VirtualLanes, (node, address)| lanes.level(node, address).unwrap_or(0);
            let renamed = |pair| exchange([0, exchanged], level_in(&before, pair));
            let moved = pairs().filter(|&pair| level_in(after, pair) != renamed(pair)).count() as u64;
            assert_eq!(moved, repaired.moved);
            let other = |pair: &(NodeId, u16)| {
                level_in(after, *pair) == renamed(*pair) && renamed(*pair) != level_in(&before, *pair)
            };
            assert_eq!(pairs().filter(other).count() as u64, repaired.renamed);
            let [old, new] = [&before, after].map(|lanes| lanes.common_map().unwrap());
            if maps == Some(shared) && (exchanged == 2 || exchanged == 1) {
                // Every level has the lane that it had under its other name.
                let names: Vec<u8> = (0..16).map(|level| old[usize::from(exchange([0, exchanged], level))]).collect();
                assert_eq!(new.to_vec(), names, "{exchanged}");
            } else {
                assert_eq!(new, old);
            }
        }
        let kinds = |maps| seen.iter().filter(|(_, _, own)| *own == maps).count();
        assert!(kinds(None) > 0 && kinds(Some(own)) > 0 && kinds(Some(shared)) > 0, "{seen:?}");
    }

    #[test]
    fn groups_of_several_levels_get_one_if_anything_changes() {
        let (ring, alone) = up_down_ring();
        let tables = with_addresses(&alone).unwrap();
        let members = "0xc001: 0;1;2;3;4;5\n0xc002: 0;1;2;3;4;5\n";
        let mut changed = HashSet::new();
        for without in 0..6 {
            let matrix = HopMatrix::of_trees(&ring, &opened(&ring, without)).unwrap();
            let groups =
                MulticastTables::empty(&ring).with_members(&alone, "groups", members).unwrap().with_trees(&matrix);
            let first = ring.node_guid(NodeId::new(0)).unwrap();
            let text = format!("{first:#018x} 49153 1\n{first:#018x} 49154 0\n");
            let given = VirtualLanes::new(&ring).unwrap().with_levels(&tables, "levels", &text).unwrap();
            let repaired = repair(&tables, &groups, Some(&given), 2).unwrap();
            let after = repaired.lanes.as_ref().unwrap().levels_of_groups(groups.groups());
            assert!(stays_safe(&repaired.tables, &repaired.multicasts, repaired.lanes.as_ref().unwrap()));
            match repaired.changed {
                Changed::Nothing => assert_eq!((after, repaired.matrix.is_some()), (vec![0, 1], false)),
                _ => assert_eq!((after, repaired.matrix.is_some()), (vec![0], true)),
            }
            changed.insert(repaired.changed.name());
        }
        assert_eq!(changed, HashSet::from(["nothing", "lanes"]));
    }

    #[test]
    fn levels_by_address_stay_or_give_way_to_levels_by_node() {
        let (ring, alone) = up_down_ring();
        // Each node has a second address, to which the ring goes the same way.
        let mut entries = Vec::new();
        for (place, destination) in alone.destinations().iter().enumerate() {
            let Target::Node(node) = destination.target else { continue };
            for second in [0, 1] {
                let address = Some(1 + 2 * node.raw() as u16 + second);
                let target = Destination { address, ..*destination };
                entries.extend(alone.entries_for(place).map(|(router, output)| (target, router, output)));
            }
        }
        let tables = ForwardingTables::new(&ring, &entries).unwrap();
        let mut given = VirtualLanes::new(&ring).unwrap();
        for (node, to) in ring.node_ids().flat_map(|node| (0..6).map(move |to| (node, to))) {
            given.set_level(node, 2 + 2 * to, 1);
        }
        assert_eq!((given.differing(&tables).len(), given.policy(&tables)), (36, String::new()));
        let mut kept = 0;
        for without in 0..6 {
            let groups = everyone(&alone).with_trees(&HopMatrix::of_trees(&ring, &opened(&ring, without)).unwrap());
            let repaired = repair(&tables, &groups, Some(&given), 2).unwrap();
            let lanes = repaired.lanes.as_ref().unwrap();
            assert!(stays_safe(&repaired.tables, &repaired.multicasts, lanes));
            if stays_safe(&tables, &groups, &given) {
                kept += 1;
                assert_eq!((repaired.changed, repaired.moved), (Changed::Nothing, 0));
                continue;
            }
            assert_eq!((repaired.changed, repaired.levels_are_lanes), (Changed::UnicastLanes, false));
            assert_eq!((repaired.moved, repaired.matrix.is_some()), (moved(&repaired, &given), true));
            assert_eq!(lanes.differing(&repaired.tables), []);
        }
        assert!((1..6).contains(&kept), "{kept}");
    }

    /// How many pairs of a node and an address of the ring, with two addresses a node, have another level than before, but for names.
    fn moved(repaired: &Repair, given: &VirtualLanes) -> u64 {
        let renamed = |level: u8| match repaired.exchanged {
            Some(other) if level == 0 => other,
            Some(other) if level == other => 0,
            _ => level,
        };
        let lanes = repaired.lanes.as_ref().unwrap();
        let pairs = repaired.tables.network().node_ids().flat_map(|node| (1..=12).map(move |address| (node, address)));
        let levels = |lanes: &VirtualLanes, (node, address)| lanes.level(node, address).unwrap_or(0);
        pairs.filter(|&pair| levels(lanes, pair) != renamed(levels(given, pair))).count() as u64
    }

    /// Everything goes clockwise, so the search moves pairs, among them some whose addresses had levels of their own. Each counts once.
    #[test]
    fn pairs_that_are_moved_on_are_counted_once() {
        let (ring, up_down) = up_down_ring();
        let mut entries = Vec::new();
        for (node, second) in ring.node_ids().flat_map(|node| [0, 1].map(|second| (node, second))) {
            let destination =
                Destination { target: Target::Node(node), address: Some(1 + 2 * node.raw() as u16 + second) };
            for router in ring.router_ids() {
                let next = RouterId::new((router.raw() + 1) % 6);
                let onward = Output::Channel(ring.channel_between(router, next).unwrap());
                let output = if ring.router_of(node) == router { Output::Node(node) } else { onward };
                entries.push((destination, router, output));
            }
        }
        let tables = ForwardingTables::new(&ring, &entries).unwrap();
        let mut given = VirtualLanes::new(&ring).unwrap();
        for (node, to) in ring.node_ids().flat_map(|node| (0..6).map(move |to| (node, to))) {
            given.set_level(node, 2 + 2 * to, 1);
        }
        given.count_lanes();
        let differing = given.differing(&tables);
        assert_eq!(differing.len(), 36);
        let groups = everyone(&up_down);
        let mut again = 0;
        for lanes in 3..6 {
            let repaired = repair(&tables, &groups, Some(&given), lanes).unwrap();
            assert_eq!(repaired.changed, Changed::UnicastLanes, "{lanes}");
            assert_eq!(repaired.moved, moved(&repaired, &given), "{lanes}");
            let after = repaired.lanes.as_ref().unwrap();
            let ends = |&&(node, to, first): &&(NodeId, u16, u8)| after.level(node, to).unwrap_or(0) != first;
            again += differing.iter().filter(ends).count();
        }
        assert!(again > 0, "none of the pairs that differed was moved on");
    }

    #[test]
    fn trees_are_changed_before_anything_else() {
        let (ring, tables) = up_down_ring();
        let mut changed = Vec::new();
        for without in 0..6u32 {
            let tree = opened(&ring, without);
            let groups = everyone(&tables).with_trees(&HopMatrix::of_trees(&ring, &tree).unwrap());
            let repaired = repair(&tables, &groups, None, 4).unwrap();
            check(&repaired);
            assert_eq!(can_deadlock(&tables, &groups), repaired.changed != Changed::Nothing);
            assert!(!can_deadlock(&repaired.tables, &repaired.multicasts));
            changed.push(repaired.changed.name());
        }
        assert_eq!(changed, ["trees", "trees", "nothing", "nothing", "trees", "trees"]);
    }

    #[test]
    fn routes_that_loop_are_changed_where_they_turn() {
        let mut state = 7;
        let mut below = |limit: usize| {
            state += 1;
            (wormcast_network::split_mix::mix(state) % limit as u64) as usize
        };
        let (mut looped, mut kept) = (0, 0);
        for _ in 0..300 {
            let routers = 4 + below(5);
            let mut links: Vec<(u32, u32)> = (1..routers).map(|v| (below(v) as u32, v as u32)).collect();
            for _ in 0..below(routers) {
                let (a, b) = (below(routers) as u32, below(routers) as u32);
                if a != b && !links.contains(&(a, b)) && !links.contains(&(b, a)) {
                    links.push((a, b));
                }
            }
            let network = Network::from_links("random", routers, &links);
            // For each destination a random tree.
            let mut next: Vec<Vec<u32>> = (0..routers as u32).map(|router| vec![router; routers]).collect();
            for destination in network.node_ids().map(NodeId::index) {
                let mut joined = vec![destination];
                while joined.len() < routers {
                    let channels: Vec<ChannelId> =
                        network.outputs(RouterId::new(joined[below(joined.len())] as u32)).collect();
                    let channel = channels[below(channels.len())];
                    let other = network.to(channel).index();
                    if !joined.contains(&other) {
                        joined.push(other);
                        next[other][destination] = network.from(channel).raw();
                    }
                }
            }
            let tables = tables(&network, &next);
            let repaired = repair(&tables, &everyone(&tables), None, 1).unwrap();
            check(&repaired);
            assert!(!can_deadlock(&repaired.tables, &repaired.multicasts));
            assert_eq!(analyse_tables(&repaired.tables).undelivered_pairs, 0);
            let others = (0..tables.destinations().len())
                .flat_map(|place| network.router_ids().map(move |router| (router, place)))
                .filter(|&(router, place)| tables.output(router, place) != repaired.tables.output(router, place));
            let others = others.count();
            assert_eq!(others, repaired.changed_entries);
            if UnicastWaits::by_channel(&tables).numbering().is_none() {
                looped += 1;
                assert_eq!(repaired.changed, Changed::Unicasts);
                kept += usize::from(others < tables.entries() / 2);
            }
        }
        assert!(looped > 50 && kept > looped * 9 / 10, "{kept} of {looped} keep most entries");
    }

    #[test]
    fn what_cannot_be_repaired_is_said() {
        let network = Network::from_links("two", 4, &[(0, 1), (2, 3)]);
        // Nobody is joined to those on the other side.
        let next = [vec![0, 1, 3, 3], vec![0, 1, 3, 3], vec![0, 0, 2, 3], vec![0, 0, 2, 3]];
        let tables = tables(&network, &next);
        assert_eq!(repair(&tables, &MulticastTables::empty(&network), None, 1).unwrap_err(), NoRepair::Undelivered(8));
        let groups = MulticastTables::empty(&network).with_members(&tables, "groups", "0xc001: 0;2").unwrap();
        assert_eq!(permitted_trees(&tables, &groups).unwrap_err(), NoRepair::Disconnected(0xc001));
    }
}
