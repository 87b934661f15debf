//! Tables of a fabric changed as little as can be, so that the packets of hosts and of groups cannot deadlock together.

use std::collections::{HashSet, VecDeque};
use std::fmt::Write;

use fixedbitset::FixedBitSet;
use thiserror::Error;
use wormcast_network::watch::step;
use wormcast_network::{ChannelId, Network, NodeId, RouterId};

use super::choice::{NoTables, choose_tables};
use super::hop_matrix::HopMatrix;
use super::lanes::{Arrival, VirtualLanes};
use super::layers::{self, Spread};
use super::multicast::MulticastTables;
use super::opensm::NetworkLfts;
use super::waits::UnicastWaits;
use super::{Destination, ForwardingTables, Output, TablesError, Target, analyse_tables};
use crate::registry::{RoutingError, RoutingOptions};
use crate::relation::{RoutingRelation, Unsupported};
use crate::relations::up_down::{Root, UP_DOWN, up_down};
use crate::turns::turn_set::TurnSet;

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

/// The end of the search for trees over turns that cannot deadlock with the unicasts as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeSearch {
    /// There was none: either nothing had to be changed, or unicasts alone can deadlock.
    NotNeeded,
    /// Trees were found.
    Found,
    /// There are none: all were tried.
    Proven,
    /// None was found before the search was given up: there may be some.
    GivenUp,
}

/// Tables without a deadlock.
#[derive(Clone, Debug)]
pub struct Repair {
    /// What had to be changed.
    pub changed: Changed,
    /// How the search for trees ended.
    pub search: TreeSearch,
    /// The unicast tables.
    pub tables: ForwardingTables,
    /// How many of their entries are others than before.
    pub changed_entries: usize,
    /// The multicast tables.
    pub multicasts: MulticastTables,
    /// The matrix by which `OpenSM` builds these trees, if anything was changed: with routes from a file it builds all trees anew.
    pub matrix: Option<HopMatrix>,
    /// The service level of the groups, which is their lane where switches have no tables that say otherwise; the highest, if they have several.
    pub lane_of_groups: u32,
    /// The service levels and lanes of all packets, if they had any before or unicasts got some; else only groups may have another than level 0.
    pub lanes: Option<VirtualLanes>,
    /// Whether the tables of lanes that switches had, which depended on ports, give way to one by which each level is a lane: with routes from a file,
    /// `OpenSM` sets up no others.
    pub levels_are_lanes: bool,
    /// How the search for lanes for the unicasts as they are routed ended.
    pub spread: TreeSearch,
    /// How many pairs of a node and an address have another service level than before.
    pub moved: u64,
    /// The root of up*/down* whose turns unicasts take, if they had to be changed.
    pub root: Option<RouterId>,
}

/// Why there is no repair.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoRepair {
    /// Messages do not arrive, so that there is no telling what they should do.
    #[error("messages of {0} pairs do not arrive by the unicast tables: mend that first")]
    Undelivered(u64),
    /// No trees close no cycle with the unicasts.
    #[error("{}", if *.0 == TreeSearch::Proven {
        "no trees over turns that the unicasts permit join the groups: all were tried"
    } else if *.0 == TreeSearch::NotNeeded {
        "unicasts alone can deadlock, whatever the trees of groups"
    } else {
        "no trees over turns that the unicasts permit were found, though there may be some"
    })]
    NoTrees(TreeSearch),
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

/// Checks that a search for trees may take before it is given up.
const CHECKS: usize = 20_000;
/// Roots that are tried in networks with more switches.
const ROOTS: usize = 512;
/// Entries that are looked at to choose a root of up*/down*, at least once each.
const STEPS: usize = 200_000_000;
/// Networks with more links have too many trees to try them all.
const LINKS: usize = 256;

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
/// changes its level. Trees stay as they are only where some matrix makes `OpenSM` build them again, or parts of them.
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
    let Some(by_port) = given.filter(|given| given.common_map().is_none()) else {
        return changes(tables, multicasts, given, lanes, false);
    };
    if by_port.count() <= lanes && stays_safe(tables, multicasts, by_port) {
        let lanes = Some(by_port.clone().with_lanes(lanes));
        return Ok(Repair {
            lane_of_groups: highest(by_port, multicasts),
            lanes,
            ..Repair::nothing(tables, multicasts)
        });
    }
    let levels = by_port.clone().without_maps();
    let repair = changes(tables, multicasts, Some(&levels), lanes, true)?;
    let changed = if repair.changed == Changed::Unicasts { Changed::Unicasts } else { Changed::UnicastLanes };
    Ok(Repair { changed, levels_are_lanes: true, ..repair })
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
    let mut search = TreeSearch::NotNeeded;
    let given_lanes = given.filter(|given| given.count() <= lanes);
    if let Some(given) = given_lanes {
        let on_lanes =
            OnLanes { tables, multicasts, terminals: &terminals, given: given.clone().with_lanes(lanes), lanes };
        let (found, ended) = on_lanes.without_unicasts(reaches_all, is_loaded)?;
        search = ended;
        if let Some((changed, multicasts, matrix, all)) = found {
            let lane_of_groups = highest(&all, &multicasts);
            let repair = kept(changed, search);
            return Ok(Repair { multicasts, matrix, lane_of_groups, lanes: Some(all), ..repair });
        }
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
            let repair = Repair { lane_of_groups: 1, ..kept(Changed::Lanes, search) };
            if reaches_all
                && trees_are_safe
                && let Some((multicasts, matrix)) = rebuilt(tables, multicasts)?
            {
                return Ok(Repair { multicasts, matrix, ..repair });
            }
            let matrix = HopMatrix::of_trees(network, &shortest_tree(network, RouterId::new(0)))?;
            let multicasts = multicasts.clone().with_trees(&matrix);
            return Ok(Repair { multicasts, matrix: Some(matrix), ..repair });
        }
    }
    let mut spread = TreeSearch::NotNeeded;
    if lanes > 1 && given.is_none_or(|given| given.are_levels(lanes)) {
        let tables = with_addresses(tables)?;
        let given = given.cloned().map_or_else(|| VirtualLanes::new(network), Ok)?;
        let on_lanes = OnLanes { tables: &tables, multicasts, terminals: &terminals, given, lanes };
        let (found, ended) = on_lanes.with_unicasts(reaches_all)?;
        spread = ended;
        if let Some((multicasts, matrix, all, moved)) = found {
            let lane_of_groups = highest(&all, &multicasts);
            let repair = kept(Changed::UnicastLanes, search);
            return Ok(Repair {
                tables,
                multicasts,
                matrix,
                lane_of_groups,
                lanes: Some(all),
                spread,
                moved,
                ..repair
            });
        }
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
/// Trees by their matrix and the lanes of all packets: what changes if unicasts keep theirs.
type Kept = (Changed, MulticastTables, Option<HopMatrix>, VirtualLanes);
/// The same if unicasts get others, and of how many pairs they do.
type Moved = (MulticastTables, Option<HopMatrix>, VirtualLanes, u64);

/// A repair by lanes, which leaves the routes of unicasts as they are.
struct OnLanes<'a> {
    tables: &'a ForwardingTables,
    multicasts: &'a MulticastTables,
    terminals: &'a Terminals,
    /// The lanes that packets have.
    given: VirtualLanes,
    /// How many there may be.
    lanes: u32,
}

impl OnLanes<'_> {
    fn trees(&self, tree: &FixedBitSet) -> Result<Trees, NoRepair> {
        let matrix = HopMatrix::of_trees(self.tables.network(), tree)?;
        Ok((self.multicasts.clone().with_trees(&matrix), Some(matrix)))
    }

    /// Nothing, other trees, or other lanes of groups.
    fn without_unicasts(&self, reaches_all: bool, is_loaded: bool) -> Result<(Option<Kept>, TreeSearch), NoRepair> {
        let network = self.tables.network();
        let groups = self.multicasts.groups();
        let unicasts = UnicastWaits::in_lanes(self.tables, &self.given);
        let Some(numbering) = unicasts.numbering() else { return Ok((None, TreeSearch::NotNeeded)) };
        let is_safe = |lanes: &VirtualLanes| {
            let hops = (0..groups.len()).flat_map(|group| self.multicasts.hops(group, Some(lanes)));
            let arrive = reaches_all && self.multicasts.reports(Some(lanes)).iter().all(|group| group.connected);
            arrive && !unicasts.closes_with(&numbering, &hops.collect::<Vec<_>>())
        };
        if is_safe(&self.given) {
            let trees =
                if is_loaded { rebuilt(self.tables, self.multicasts)? } else { Some((self.multicasts.clone(), None)) };
            if let Some((multicasts, matrix)) = trees {
                let nothing = (Changed::Nothing, multicasts, matrix, self.given.clone());
                return Ok((Some(nothing), TreeSearch::NotNeeded));
            }
        }
        let present = self.given.levels_of_groups(groups);
        let search = |levels: &[u8]| {
            let lanes = Some((&self.given, levels));
            Search::new(network, &unicasts, &numbering, self.terminals, lanes).run()
        };
        let (tree, ended) = search(&present);
        if let Some(tree) = tree {
            let (multicasts, matrix) = self.trees(&tree)?;
            return Ok((Some((Changed::Trees, multicasts, matrix, self.given.clone())), ended));
        }
        // Another level for all groups: with their trees, or else with others.
        let levels: Vec<u8> =
            self.given.levels_on(self.lanes).into_iter().filter(|&level| present != [level]).collect();
        for &level in &levels {
            let lanes = self.given.clone().with_groups_on(groups, level);
            if is_safe(&lanes)
                && let Some((multicasts, matrix)) = rebuilt(self.tables, self.multicasts)?
            {
                return Ok((Some((Changed::Lanes, multicasts, matrix, lanes)), ended));
            }
        }
        for &level in &levels {
            if let (Some(tree), _) = search(&[level]) {
                let (multicasts, matrix) = self.trees(&tree)?;
                let lanes = self.given.clone().with_groups_on(groups, level);
                return Ok((Some((Changed::Lanes, multicasts, matrix, lanes)), ended));
            }
        }
        Ok((None, ended))
    }

    /// Other lanes for unicasts, beside groups on the level that they have, or on the last lane by themselves. Each level is a lane.
    fn with_unicasts(&self, reaches_all: bool) -> Result<(Option<Moved>, TreeSearch), NoRepair> {
        let network = self.tables.network();
        let groups = self.multicasts.groups();
        let level = self.given.levels_of_groups(groups).last().copied().unwrap_or(0);
        let level = if u32::from(level) < self.lanes { level } else { 0 };
        let rebuilt = if reaches_all { rebuilt(self.tables, self.multicasts)? } else { None };
        let own_turns = |(trees, _): &Trees| (0..groups.len()).flat_map(|group| trees.turns(group)).collect();
        let own: Vec<_> = rebuilt.as_ref().map_or_else(Vec::new, own_turns);
        let alone = UnicastWaits::none(network);
        let own_are_safe = alone.numbering().is_some_and(|numbering| !alone.closes_with(&numbering, &own));
        let shortest = shortest_tree(network, RouterId::new(0));
        let turns = turns_of(network, &shortest);
        let spread = |lanes, fixed| layers::spread(self.tables, &self.given, lanes, fixed);
        let rebuilt = rebuilt.filter(|_| own_are_safe);
        let found = |lanes: VirtualLanes, level, moved, kept: Option<Trees>| {
            let (multicasts, matrix) = kept.map_or_else(|| self.trees(&shortest), Ok)?;
            let lanes = lanes.with_groups_on(groups, level);
            Ok((Some((multicasts, matrix, lanes, moved)), TreeSearch::Found))
        };
        if rebuilt.is_some()
            && let Spread::Found(lanes, moved) = spread(self.lanes, Some((u32::from(level), &own[..])))
        {
            return found(lanes, level, moved, rebuilt);
        }
        if !groups.is_empty()
            && let Spread::Found(lanes, moved) = spread(self.lanes, Some((u32::from(level), &turns[..])))
        {
            return found(lanes, level, moved, None);
        }
        let last = (self.lanes - 1) as u8;
        if let Spread::Found(lanes, moved) = spread(self.lanes - 1, None) {
            return found(lanes, last, moved, rebuilt);
        }
        // Without groups there is none, so with them there is none.
        match spread(self.lanes, None) {
            Spread::Proven => Ok((None, TreeSearch::Proven)),
            Spread::Found(lanes, moved) if groups.is_empty() => found(lanes, 0, moved, rebuilt),
            Spread::Found(..) | Spread::GivenUp => Ok((None, TreeSearch::GivenUp)),
        }
    }
}

/// The matrix by which `OpenSM` builds trees for groups that close no cycle with the unicasts as they are: step 2 of a [`repair`].
///
/// # Errors
/// If there are none, or none were found.
pub fn permitted_trees(tables: &ForwardingTables, multicasts: &MulticastTables) -> Result<HopMatrix, NoRepair> {
    let network = tables.network();
    let terminals = Terminals::new(network, multicasts)?;
    let unicasts = UnicastWaits::by_channel(tables);
    let numbering = unicasts.numbering().ok_or(NoRepair::NoTrees(TreeSearch::NotNeeded))?;
    let (tree, search) = Search::new(network, &unicasts, &numbering, &terminals, None).run();
    Ok(HopMatrix::of_trees(network, &tree.ok_or(NoRepair::NoTrees(search))?)?)
}

impl Repair {
    fn nothing(tables: &ForwardingTables, multicasts: &MulticastTables) -> Self {
        Self {
            changed: Changed::Nothing,
            search: TreeSearch::NotNeeded,
            tables: tables.clone(),
            changed_entries: 0,
            multicasts: multicasts.clone(),
            matrix: None,
            lane_of_groups: 0,
            lanes: None,
            levels_are_lanes: false,
            spread: TreeSearch::NotNeeded,
            moved: 0,
            root: None,
        }
    }

    /// The proof that there can be no deadlock: a number for each channel and lane that rises along every step of a packet, and along every turn between
    /// two ports of a group.
    pub fn numbering(&self) -> Vec<(ChannelId, u32, u32)> {
        if let Some(lanes) = &self.lanes {
            let groups = (0..self.multicasts.groups().len()).flat_map(|group| self.multicasts.hops(group, Some(lanes)));
            let waits = UnicastWaits::in_lanes(&self.tables, lanes).with(groups);
            let numbered = (0u32..).zip(waits.numbering().into_iter().flatten());
            let count = lanes.count();
            return numbered.map(|(vertex, number)| (ChannelId::new(vertex / count), vertex % count, number)).collect();
        }
        let unicasts = UnicastWaits::by_channel(&self.tables);
        let groups = (0..self.multicasts.groups().len()).flat_map(|group| self.multicasts.turns(group));
        let on_lanes = match self.lane_of_groups {
            0 => vec![(0, unicasts.with(groups))],
            lane => vec![(0, unicasts), (lane, UnicastWaits::none(self.tables.network()).with(groups))],
        };
        let numbered = on_lanes.into_iter().flat_map(|(lane, waits)| {
            let numbers = waits.numbering().into_iter().flatten();
            (0u32..).zip(numbers).map(move |(channel, number)| (ChannelId::new(channel), lane, number))
        });
        numbered.collect()
    }

    /// The service levels of groups that have a lane of their own, as [`VirtualLanes::with_levels`](super::VirtualLanes::with_levels) reads them; else nothing.
    pub fn levels(&self) -> String {
        if let Some(lanes) = &self.lanes {
            return lanes.text(&self.tables);
        }
        let mut text = String::new();
        let network = self.tables.network();
        for group in self.multicasts.groups().iter().filter(|_| self.lane_of_groups > 0) {
            let mut guids: Vec<u64> = group.members().iter().filter_map(|&node| network.node_guid(node)).collect();
            guids.dedup();
            for guid in guids {
                let _ = writeln!(text, "{guid:#018x} {} {}", group.mlid, self.lane_of_groups);
            }
        }
        text
    }
}

/// The switches of the members of each group.
struct Terminals(Vec<Vec<RouterId>>);

impl Terminals {
    fn new(network: &Network, multicasts: &MulticastTables) -> Result<Self, NoRepair> {
        let component = components(network, |_| true);
        let mut all = Vec::new();
        for group in multicasts.groups() {
            let members = group.members();
            let mut switches: Vec<RouterId> = members.iter().map(|&node: &NodeId| network.router_of(node)).collect();
            switches.dedup();
            if switches.iter().any(|switch| component[switch.index()] != component[switches[0].index()]) {
                return Err(NoRepair::Disconnected(group.mlid));
            }
            all.push(switches);
        }
        Ok(Self(all))
    }

    /// Whether channels, closed under reversal, join the switches of each group.
    fn are_joined(&self, network: &Network, channels: &FixedBitSet) -> bool {
        let component = components(network, |channel| channels.contains(channel.index()));
        self.0.iter().all(|group| group.iter().all(|at| component[at.index()] == component[group[0].index()]))
    }

    /// The links of a tree that the groups need, each counted once for a group.
    fn links(&self, network: &Network, channels: &FixedBitSet) -> usize {
        let mut total = 0;
        for group in self.0.iter().filter(|group| !group.is_empty()) {
            // Leaves that are no switch of the group are cut off.
            let mut degree = vec![0u32; network.routers()];
            for channel in channels.ones() {
                degree[network.from(ChannelId::new(channel as u32)).index()] += 1;
            }
            let mut needed = vec![false; network.routers()];
            for at in group {
                needed[at.index()] = true;
            }
            let component = components(network, |channel| channels.contains(channel.index()));
            let own = component[group[0].index()];
            let mut links = (0..network.routers()).filter(|&at| component[at] == own).count() - 1;
            let is_leaf = |at: usize, degree: &[u32]| degree[at] == 1 && !needed[at] && component[at] == own;
            let mut work: Vec<usize> = (0..network.routers()).filter(|&at| is_leaf(at, &degree)).collect();
            while let Some(at) = work.pop() {
                if degree[at] != 1 {
                    continue;
                }
                degree[at] = 0;
                links -= 1;
                for channel in network.outputs(RouterId::new(at as u32)).filter(|c| channels.contains(c.index())) {
                    let next = network.to(channel).index();
                    if degree[next] > 0 {
                        degree[next] -= 1;
                        if is_leaf(next, &degree) {
                            work.push(next);
                        }
                    }
                }
            }
            total += links;
        }
        total
    }
}

/// The component of each router over some channels.
fn components(network: &Network, takes: impl Fn(ChannelId) -> bool) -> Vec<u32> {
    let mut component = vec![u32::MAX; network.routers()];
    for start in network.router_ids() {
        if component[start.index()] != u32::MAX {
            continue;
        }
        component[start.index()] = start.raw();
        let mut work = vec![start];
        while let Some(at) = work.pop() {
            for next in network.outputs(at).filter(|&channel| takes(channel)).map(|channel| network.to(channel)) {
                if component[next.index()] == u32::MAX {
                    component[next.index()] = start.raw();
                    work.push(next);
                }
            }
        }
    }
    component
}

/// Shortest paths from a root, and in components without it from their smallest router: over the first port where there are several.
fn shortest_tree(network: &Network, root: RouterId) -> FixedBitSet {
    let mut channels = FixedBitSet::with_capacity(network.channels());
    let mut seen = FixedBitSet::with_capacity(network.routers());
    for start in std::iter::once(root).chain(network.router_ids()) {
        let mut queue = VecDeque::from_iter((!seen.put(start.index())).then_some(start));
        while let Some(at) = queue.pop_front() {
            for channel in network.outputs(at) {
                if !seen.put(network.to(channel).index()) {
                    channels.insert(channel.index());
                    channels.insert(network.reverse(channel).index());
                    queue.push_back(network.to(channel));
                }
            }
        }
    }
    channels
}

/// All turns between the links of a tree.
fn turns_of(network: &Network, tree: &FixedBitSet) -> Vec<(ChannelId, ChannelId)> {
    let mut turns = Vec::new();
    for router in network.router_ids() {
        let links: Vec<ChannelId> = network.outputs(router).filter(|c| tree.contains(c.index())).collect();
        for &back in &links {
            turns.extend(links.iter().filter(|&&next| next != back).map(|&next| (network.reverse(back), next)));
        }
    }
    turns
}

/// All turns between the links of a tree on the lanes that packets of these levels can be on, whoever sends them; `None` if some are dropped.
fn turns_in_lanes(
    network: &Network,
    tree: &FixedBitSet,
    lanes: &VirtualLanes,
    levels: &[u8],
) -> Option<Vec<(ChannelId, ChannelId)>> {
    let links = |router: RouterId| network.outputs(router).filter(|channel| tree.contains(channel.index()));
    let on = |channel: ChannelId, lane: u32| ChannelId::new(channel.raw() * lanes.count() + lane);
    let mut turns = Vec::new();
    for router in network.router_ids() {
        for (back, next) in links(router).flat_map(|back| links(router).map(move |next| (back, next))) {
            if back == next {
                continue;
            }
            let arriving = network.reverse(back);
            let before = network.from(arriving);
            let others = links(before).filter(|&other| other != arriving);
            let others = others.map(|other| Arrival::Channel(network.reverse(other)));
            for at in others.chain(network.nodes_of(before).map(Arrival::Node)) {
                for &level in levels {
                    let held = lanes.lane(at, arriving, level)?;
                    let then = lanes.lane(Arrival::Channel(arriving), next, level)?;
                    turns.push((on(arriving, held), on(next, then)));
                }
            }
        }
    }
    turns.sort_unstable();
    turns.dedup();
    Some(turns)
}

/// Takes or leaves both channels of a link.
fn set_link(network: &Network, tree: &mut FixedBitSet, channel: ChannelId, is_taken: bool) {
    tree.set(channel.index(), is_taken);
    tree.set(network.reverse(channel).index(), is_taken);
}

/// The end of trying all forests.
#[derive(PartialEq, Eq)]
enum Trial {
    Found,
    None,
    TooMany,
}

/// The search for a tree that closes no cycle with unicasts.
struct Search<'a> {
    network: &'a Network,
    unicasts: &'a UnicastWaits,
    numbering: &'a [u32],
    terminals: &'a Terminals,
    /// Virtual lanes and the service levels of groups; without, all is on one lane.
    lanes: Option<(&'a VirtualLanes, &'a [u8])>,
    checks: usize,
}

impl<'a> Search<'a> {
    fn new(
        network: &'a Network,
        unicasts: &'a UnicastWaits,
        numbering: &'a [u32],
        terminals: &'a Terminals,
        lanes: Option<(&'a VirtualLanes, &'a [u8])>,
    ) -> Self {
        Self { network, unicasts, numbering, terminals, lanes, checks: 0 }
    }

    fn is_safe(&mut self, tree: &FixedBitSet) -> bool {
        self.checks += 1;
        let turns = match self.lanes {
            None => turns_of(self.network, tree),
            Some((lanes, levels)) => match turns_in_lanes(self.network, tree, lanes, levels) {
                Some(turns) => turns,
                None => return false,
            },
        };
        !self.unicasts.closes_with(self.numbering, &turns)
    }

    fn run(mut self) -> (Option<FixedBitSet>, TreeSearch) {
        let roots = self.network.routers().min(ROOTS);
        let mut best: Option<(usize, FixedBitSet)> = None;
        for root in self.network.router_ids().take(roots) {
            step("looking for trees", "roots", root.index(), roots);
            let tree = shortest_tree(self.network, root);
            if self.is_safe(&tree) {
                let links = self.terminals.links(self.network, &tree);
                if best.as_ref().is_none_or(|&(fewest, _)| links < fewest) {
                    best = Some((links, tree));
                }
            }
        }
        if let Some((_, tree)) = best {
            return (Some(tree), TreeSearch::Found);
        }
        for root in self.network.router_ids().take(roots) {
            step("growing trees", "roots", root.index(), roots);
            if let Some(tree) = self.grow(root) {
                return (Some(tree), TreeSearch::Found);
            }
            if self.checks > CHECKS {
                return (None, TreeSearch::GivenUp);
            }
        }
        self.checks = 0;
        let links: Vec<ChannelId> = self.network.channel_ids().filter(|&c| c < self.network.reverse(c)).collect();
        if links.len() > LINKS {
            return (None, TreeSearch::GivenUp);
        }
        let mut forest = FixedBitSet::with_capacity(self.network.channels());
        match self.all(&links, &mut forest) {
            Trial::Found => (Some(forest), TreeSearch::Found),
            Trial::None => (None, TreeSearch::Proven),
            Trial::TooMany => (None, TreeSearch::GivenUp),
        }
    }

    /// A tree from a root that takes any link that closes no cycle, the nearest first.
    fn grow(&mut self, root: RouterId) -> Option<FixedBitSet> {
        let network = self.network;
        let mut tree = FixedBitSet::with_capacity(network.channels());
        let mut joined = FixedBitSet::with_capacity(network.routers());
        joined.insert(root.index());
        let mut open = VecDeque::from([root]);
        while let Some(at) = open.pop_front() {
            for channel in network.outputs(at) {
                if joined.contains(network.to(channel).index()) || self.checks > CHECKS {
                    continue;
                }
                set_link(network, &mut tree, channel, true);
                if self.is_safe(&tree) {
                    joined.insert(network.to(channel).index());
                    open.push_back(network.to(channel));
                } else {
                    set_link(network, &mut tree, channel, false);
                }
            }
        }
        self.terminals.are_joined(network, &tree).then_some(tree)
    }

    /// Tries all forests of these links beside those that are taken, which are those of the forest if there is one.
    fn all(&mut self, links: &[ChannelId], taken: &mut FixedBitSet) -> Trial {
        if self.terminals.are_joined(self.network, taken) {
            return Trial::Found;
        }
        let Some((&link, rest)) = links.split_first() else { return Trial::None };
        if self.checks > CHECKS {
            return Trial::TooMany;
        }
        let network = self.network;
        let component = components(network, |channel| taken.contains(channel.index()));
        let [a, b] = [network.from(link), network.to(link)].map(|end| component[end.index()]);
        if a != b {
            set_link(network, taken, link, true);
            if self.is_safe(taken) {
                let found = self.all(rest, taken);
                if found != Trial::None {
                    return found;
                }
            }
            set_link(network, taken, link, false);
        }
        // Without it, the others have to be enough.
        let mut left = taken.clone();
        for &link in rest {
            left.insert(link.index());
            left.insert(network.reverse(link).index());
        }
        if self.terminals.are_joined(network, &left) { self.all(rest, taken) } else { Trial::None }
    }
}

/// The root of up*/down* by whose turns the fewest entries are followed by one that is prohibited, the tables that take no others, and how many entries
/// are changed. Roots with many links are tried first, and as many as [`STEPS`] allow.
fn held_to_up_down(tables: &ForwardingTables) -> Result<(RouterId, ForwardingTables, usize), NoRepair> {
    let network = tables.network();
    let most = (STEPS / tables.entries().max(1)).clamp(1, ROOTS);
    let mut roots: Vec<RouterId> = network.router_ids().collect();
    roots.sort_by_key(|&root| std::cmp::Reverse(network.outputs(root).len()));
    roots.truncate(most);
    let mut best: Option<(usize, RouterId)> = None;
    for (tried, &root) in roots.iter().enumerate() {
        step("choosing a root", "roots", tried, roots.len());
        let violations = violations(tables, &up_down(network, Root::Router(root))?);
        if best.is_none_or(|(fewest, _)| violations < fewest) {
            best = Some((violations, root));
        }
    }
    let root = best.map_or(RouterId::new(0), |(_, root)| root);
    let turns = up_down(network, Root::Router(root))?;
    let options = RoutingOptions { root: Some(Root::Router(root)), ..RoutingOptions::default() };
    let others = choose_tables(UP_DOWN.make(network, &options)?.as_ref(), true)?.tables;
    let (tables, changed) = held_to(tables, &turns, &others);
    Ok((root, tables, changed))
}

/// The outputs of all routers for the destination at this place.
fn outputs(tables: &ForwardingTables, place: usize, next: &mut [Option<Output>]) {
    next.fill(None);
    for (router, output) in tables.entries_for(place) {
        next[router.index()] = Some(output);
    }
}

/// How many entries lead where the next entry takes a prohibited turn.
fn violations(tables: &ForwardingTables, turns: &TurnSet) -> usize {
    let network = &**tables.network();
    let mut next: Vec<Option<Output>> = vec![None; network.routers()];
    let mut count = 0;
    for place in 0..tables.destinations().len() {
        outputs(tables, place, &mut next);
        let turn = |output: &Option<Output>| {
            let Some(Output::Channel(channel)) = *output else { return None };
            let Some(Output::Channel(onward)) = next[network.to(channel).index()] else { return None };
            Some((channel, onward))
        };
        count += next.iter().filter_map(turn).filter(|&(c, onward)| !turns.permits(network, c, onward)).count();
    }
    count
}

/// Tables that take permitted turns only, and how many entries are others than before. Destinations to which no change of single entries leads are
/// taken from `others`.
fn held_to(tables: &ForwardingTables, turns: &TurnSet, others: &ForwardingTables) -> (ForwardingTables, usize) {
    let network = &**tables.network();
    let mut entries: Vec<(Destination, RouterId, Output)> = Vec::new();
    let mut changed = 0;
    let mut next: Vec<Option<Output>> = vec![None; network.routers()];
    for (place, &destination) in tables.destinations().iter().enumerate() {
        outputs(tables, place, &mut next);
        let mut held = hold(network, turns, destination.target, &next);
        if held.iter().any(Option::is_none)
            && let Some(place) = others.addresses_of(destination.target).next()
        {
            outputs(others, place, &mut held);
        }
        for (router, output) in network.router_ids().zip(held) {
            changed += usize::from(next[router.index()] != output);
            entries.extend(output.map(|output| (destination, router, output)));
        }
    }
    let mut held =
        ForwardingTables::new(tables.network(), &entries).expect("one entry for each router and destination");
    held.unidentified = tables.unidentified;
    (held, changed)
}

/// The entries for one destination with as few changed as can be found: routers keep theirs if the turn after it is permitted, and else take the nearest
/// link after which one is.
fn hold(network: &Network, turns: &TurnSet, target: Target, next: &[Option<Output>]) -> Vec<Option<Output>> {
    let end = match target {
        Target::Node(node) => network.router_of(node),
        Target::Router(router) => router,
    };
    let mut held: Vec<Option<Output>> = vec![None; network.routers()];
    held[end.index()] = next[end.index()];
    let mut settled = FixedBitSet::with_capacity(network.routers());
    settled.insert(end.index());
    let may_take = |channel: ChannelId, held: &[Option<Output>]| match held[network.to(channel).index()] {
        Some(Output::Channel(onward)) => turns.permits(network, channel, onward),
        _ => network.to(channel) == end,
    };
    // Routers whose entry leads to a settled one, and routers beside settled ones, the nearest first.
    let mut by_entry: Vec<Vec<ChannelId>> = vec![Vec::new(); network.routers()];
    for output in next.iter().flatten() {
        if let Output::Channel(channel) = *output {
            by_entry[network.to(channel).index()].push(channel);
        }
    }
    let mut fresh = vec![end];
    let mut beside: VecDeque<RouterId> = VecDeque::from([end]);
    loop {
        while let Some(at) = fresh.pop() {
            for &channel in &by_entry[at.index()] {
                let from = network.from(channel);
                if !settled.contains(from.index()) && may_take(channel, &held) {
                    held[from.index()] = Some(Output::Channel(channel));
                    settled.insert(from.index());
                    fresh.push(from);
                    beside.push_back(from);
                }
            }
        }
        let mut found = None;
        for &at in &beside {
            let into = network.outputs(at).map(|channel| network.reverse(channel));
            let mut into =
                into.filter(|&channel| !settled.contains(network.from(channel).index()) && may_take(channel, &held));
            found = into.next();
            if found.is_some() {
                break;
            }
        }
        let Some(channel) = found else { return held };
        let from = network.from(channel);
        held[from.index()] = Some(Output::Channel(channel));
        settled.insert(from.index());
        fresh.push(from);
        beside.push_back(from);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wormcast_network::{FileFormat, NetworkIbsim, TopologySpec};

    use super::*;
    use crate::analysis::dependency::Dependencies;
    use crate::forwarding_tables::{GroupBranching, NetworkMcfdbs, parse_multicast_tables};

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

    /// That numbers rise along every route of the unicasts and from each channel of a tree to those that packets take next.
    fn check(repair: &Repair) {
        let network = repair.tables.network();
        let numbers: std::collections::HashMap<(ChannelId, u32), u32> =
            repair.numbering().into_iter().map(|(channel, lane, number)| ((channel, lane), number)).collect();
        for place in 0..repair.tables.destinations().len() {
            for source in network.router_ids() {
                let (mut at, mut last, mut hops) = (source, None, 0);
                while let Some(Output::Channel(channel)) = repair.tables.output(at, place) {
                    let number = Some(numbers[&(channel, 0)]);
                    assert!(number > last && hops < network.routers());
                    (at, last, hops) = (network.to(channel), number, hops + 1);
                }
            }
        }
        for group in 0..repair.multicasts.groups().len() {
            for (held, next) in repair.multicasts.hops(group, None) {
                let lane = repair.lane_of_groups;
                assert!(numbers[&(held, lane)] < numbers[&(next, lane)]);
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
        assert_eq!((on_one.changed, on_one.search), (Changed::Unicasts, TreeSearch::Proven));
        assert!(on_one.changed_entries > 0 && !can_deadlock(&on_one.tables, &on_one.multicasts));
        check(&on_one);
        let on_two = repair(&tables, &groups, None, 2).unwrap();
        assert_eq!((on_two.changed, on_two.lane_of_groups, on_two.changed_entries), (Changed::Lanes, 1, 0));
        assert_eq!(on_two.levels(), "", "nodes have no identifiers here");
        // The trees stay, and OpenSM, which builds them anew beside routes from a file, is told how.
        let again = groups.clone().with_trees(on_two.matrix.as_ref().unwrap());
        let channels = |groups: &MulticastTables| groups.channels(0).collect::<HashSet<_>>();
        assert_eq!([&on_two.multicasts, &again].map(channels), [channels(&groups), channels(&groups)]);
        check(&on_two);
        assert_eq!(permitted_trees(&tables, &groups).unwrap_err(), NoRepair::NoTrees(TreeSearch::Proven));
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
