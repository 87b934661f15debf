//! Virtual lanes: the service levels of paths, and the tables by which switches put the packets of a level on lanes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use wormcast_network::{ChannelId, Network, NodeId, RouterId, as_fabric};

use super::multicast::MulticastGroup;
use super::{ForwardingTables, TablesError, Target};

mod configuration;
mod levels;
mod maps;

pub use levels::read_levels;
pub use maps::read_maps;

/// How many service levels there are.
const LEVELS: usize = 16;
/// The lane of management, on which data is dropped.
const DROPPED: u8 = 15;
/// In a table of levels: nothing is said.
const UNSAID: u8 = u8::MAX;
/// Each level on a lane of its own.
const OWN: Map = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// The first address of groups.
const FIRST_GROUP: u32 = 0xc000;

/// The lane that each level is put on.
type Map = [u8; LEVELS];

/// Virtual lanes of a fabric: the service level of each path, and the lanes that switches put each level on.
///
/// A path may have several levels, if the source has several addresses. A level is 0 where nothing is said of its source, and the lane is the level in switches of which nothing is said. Data on lane 15 is dropped.
///
/// Memory: a byte for each source and address, 16 bytes for each pair of ports of a switch.
#[derive(Clone, Debug)]
pub struct VirtualLanes {
    fabric: Arc<Network>,
    /// By source, and then by address.
    levels: HashMap<NodeId, Vec<u8>>,
    /// Further levels of paths, from other addresses of the same source: source, address, level.
    further: BTreeSet<(NodeId, u16, u8)>,
    /// The levels of groups, by source and address.
    of_groups: HashMap<(NodeId, u16), u8>,
    /// The levels of groups whose members all have the same, by address.
    of_whole_groups: HashMap<u16, u8>,
    /// By router, and then by the ports in and out.
    maps: Vec<Option<HashMap<(u8, u8), Map>>>,
    count: u32,
}

/// Where a packet comes from that a switch puts on a lane.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arrival {
    /// From a node of its own.
    Node(NodeId),
    /// From another switch.
    Channel(ChannelId),
}

impl VirtualLanes {
    /// One lane for everything.
    ///
    /// # Errors
    /// If the network does not fit into a fabric.
    pub fn new(network: &Arc<Network>) -> Result<Self, TablesError> {
        let fabric = as_fabric(network)?;
        let maps = vec![None; fabric.routers()];
        Ok(Self {
            fabric,
            levels: HashMap::new(),
            further: BTreeSet::new(),
            of_groups: HashMap::new(),
            of_whole_groups: HashMap::new(),
            maps,
            count: 1,
        })
    }

    /// The number of lanes: one more than the highest that a packet can be on.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// These on at least as many lanes.
    #[must_use]
    pub fn with_lanes(mut self, lanes: u32) -> Self {
        self.count = self.count.max(lanes);
        self
    }

    /// Whether switches have tables that put levels on lanes; without any, each level is a lane of its own.
    pub fn has_maps(&self) -> bool {
        self.maps.iter().any(Option::is_some)
    }

    /// Whether all switches put each of so many levels on a lane of its own number, on links to other switches.
    pub fn are_levels(&self, count: u32) -> bool {
        let count = (count as usize).min(LEVELS);
        self.link_maps().all(|map| map[..count] == OWN[..count])
    }

    /// The lane of each level, if it is the same on all links between switches.
    pub fn common_map(&self) -> Option<[u8; 16]> {
        let mut maps = self.link_maps();
        let common = maps.next().unwrap_or(OWN);
        maps.all(|map| map == common).then_some(common)
    }

    /// The maps on links from switches to others, of all ports by which packets come in.
    fn link_maps(&self) -> impl Iterator<Item = Map> + '_ {
        let links = self.fabric.router_ids().flat_map(|router| self.fabric.outputs(router));
        links.flat_map(|channel| {
            let router = self.fabric.from(channel);
            let leaving = self.fabric.port_of(channel);
            let maps = self.maps[router.index()].as_ref();
            let is_taken =
                move |&(arriving, out): &(u8, u8)| Some(u32::from(out)) == leaving && arriving != out && arriving != 0;
            let own = maps.is_none().then_some(OWN);
            let said = maps.into_iter().flatten().filter(move |(ports, _)| is_taken(ports)).map(|(_, &map)| map);
            own.into_iter().chain(said)
        })
    }

    /// The same levels, each on a lane of its own.
    #[must_use]
    pub(super) fn without_maps(mut self) -> Self {
        self.maps.fill(None);
        self.count_lanes();
        self
    }

    /// The service levels that are put on the lanes below a number by all switches; of those that are always on the same lanes, the first.
    pub(super) fn levels_on(&self, lanes: u32) -> Vec<u8> {
        let maps = || self.maps.iter().flatten().flat_map(HashMap::values);
        let is_own = self.maps.iter().any(Option::is_none);
        let fits = |&level: &u8| {
            !(is_own && u32::from(level) >= lanes) && maps().all(|map| u32::from(map[usize::from(level)]) < lanes)
        };
        let mut levels: Vec<u8> = Vec::new();
        for level in (0..DROPPED).filter(fits) {
            let is_same = |other: u8| maps().all(|map| map[usize::from(level)] == map[usize::from(other)]);
            if is_own || !levels.iter().any(|&other| is_same(other)) {
                levels.push(level);
            }
        }
        levels
    }

    /// Sets the service level of packets from a node to an address, whichever of its addresses they come from.
    pub(super) fn set_level(&mut self, source: NodeId, address: u16, level: u8) {
        let further: Vec<u8> = self.further_levels(source, address).collect();
        for other in further {
            self.further.remove(&(source, address, other));
        }
        let levels = self.levels.entry(source).or_default();
        // What is said of none of them is level 0.
        if levels.is_empty() {
            *levels = vec![0; usize::from(FIRST_GROUP as u16)];
        }
        self.set_level_of_path(source, address, level);
        self.count = self.count.max(u32::from(level) + 1);
    }

    /// Sets the first service level of packets from a node to an address, and says nothing of other addresses.
    fn set_level_of_path(&mut self, source: NodeId, address: u16, level: u8) {
        let levels = self.levels.entry(source).or_default();
        levels.resize(levels.len().max(usize::from(address) + 1), UNSAID);
        levels[usize::from(address)] = level;
    }

    /// Where service levels depend on more than the nodes: those from another address of the source, and those to addresses of a node with another level than its
    /// first. Source, address, and the level of the first.
    pub(super) fn differing(&self, tables: &ForwardingTables) -> Vec<(NodeId, u16, u8)> {
        let addresses = |node: NodeId| -> Vec<u16> {
            let places = tables.addresses_of(Target::Node(node));
            places.filter_map(|place| tables.destinations()[place].address).collect()
        };
        let several: Vec<Vec<u16>> =
            self.fabric.node_ids().map(addresses).filter(|addresses| addresses.len() > 1).collect();
        let level = |source, address| self.level(source, address).unwrap_or(0);
        let mut found: BTreeMap<(NodeId, u16), u8> =
            self.further.iter().map(|&(source, to, _)| ((source, to), level(source, to))).collect();
        for source in self.fabric.node_ids().filter(|source| self.levels.contains_key(source)) {
            for addresses in &several {
                let first = level(source, addresses[0]);
                let others = addresses[1..].iter().filter(|&&address| level(source, address) != first);
                found.extend(others.map(|&address| ((source, address), first)));
            }
        }
        found.into_iter().map(|((source, address), level)| (source, address, level)).collect()
    }

    /// Whether all paths from a node to an address have this level.
    pub(super) fn has_only(&self, source: NodeId, address: u16, level: u8) -> bool {
        let further = self.further.range((source, address, 0)..=(source, address, u8::MAX));
        self.level(source, address).unwrap_or(0) == level && further.into_iter().all(|&(.., other)| other == level)
    }

    /// Takes service levels of paths from this one on for level 0, where levels are lanes and there are only so many; the number of these paths.
    pub(super) fn hold_below(&mut self, lanes: u32) -> u64 {
        let mut changed = 0;
        for level in self.levels.values_mut().flatten().filter(|level| **level != UNSAID && u32::from(**level) >= lanes)
        {
            *level = 0;
            changed += 1;
        }
        self.count = self.count.min(lanes);
        changed
    }

    /// These with levels by member for those of whole groups.
    #[must_use]
    pub(super) fn by_member(mut self, groups: &[MulticastGroup]) -> Self {
        for group in groups {
            if let Some(&level) = self.of_whole_groups.get(&group.mlid) {
                self.of_groups.extend(group.senders().into_iter().map(|member| ((member, group.mlid), level)));
            }
        }
        self.of_whole_groups.clear();
        self
    }

    /// These with another service level for all packets of groups, also from nodes that are no members.
    #[must_use]
    pub(super) fn with_groups_on(mut self, groups: &[MulticastGroup], level: u8) -> Self {
        for other in self.of_groups.values_mut() {
            *other = level;
        }
        for group in groups {
            for member in group.senders() {
                self.of_groups.insert((member, group.mlid), level);
            }
        }
        let own = if self.maps.iter().any(Option::is_none) { u32::from(level) } else { 0 };
        let mapped = self.maps.iter().flatten().flat_map(HashMap::values).map(|map| u32::from(map[usize::from(level)]));
        let highest = mapped.filter(|&lane| lane != u32::from(DROPPED)).max().unwrap_or(0).max(own);
        self.count = self.count.max(highest + 1);
        self
    }

    /// These with two service levels exchanged in all paths to nodes, and every packet on the lane that it was on. Where both are lanes that no other level
    /// in use is put on, these lanes have changed names with them, and the switches' tables stay; otherwise the tables are exchanged, too.
    ///
    /// Time and memory: a byte for each node and address.
    #[must_use]
    pub(super) fn exchanged(mut self, [one, other]: [u8; 2], tables: &ForwardingTables) -> Self {
        let used = self.used();
        let is_own = |map: Map| {
            let is_apart =
                |level: u8| level == one || level == other || ![one, other].contains(&map[usize::from(level)]);
            map[usize::from(one)] == one
                && map[usize::from(other)] == other
                && (0..LEVELS).all(|level| !used[level] || is_apart(level as u8))
        };
        if !self.link_maps().all(is_own) {
            for map in self.maps.iter_mut().flatten().flat_map(HashMap::values_mut) {
                map.swap(usize::from(one), usize::from(other));
            }
        }
        let count = self.count;
        let to_nodes = tables.destinations().iter().filter(|to| matches!(to.target, Target::Node(_)));
        let addresses: Vec<u16> = to_nodes.filter_map(|to| to.address).collect();
        for node in Arc::clone(&self.fabric).node_ids() {
            for &address in &addresses {
                let level = exchange([one, other], self.level(node, address).unwrap_or(0));
                self.set_level(node, address, level);
            }
        }
        // Lanes are those that there were, whatever the numbers of levels.
        self.count = count;
        self
    }

    /// The service levels of the packets of groups, each once, in ascending order; level 0 if there are no groups.
    pub fn levels_of_groups(&self, groups: &[MulticastGroup]) -> Vec<u8> {
        let members = groups.iter().flat_map(|group| group.senders().into_iter().map(|member| (member, group.mlid)));
        let mut levels: Vec<u8> = members.map(|(member, mlid)| self.level_of_group(member, mlid)).collect();
        levels.sort_unstable();
        levels.dedup();
        if levels.is_empty() { vec![0] } else { levels }
    }

    /// The number of switches of which nothing is said, so that each level is a lane of its own there.
    pub fn switches_without(&self) -> usize {
        self.maps.iter().filter(|map| map.is_none()).count()
    }

    /// The service level of packets from a node to an address: `None` if levels are said for this source, but not for this address.
    pub fn level(&self, source: NodeId, address: u16) -> Option<u8> {
        match self.levels.get(&source) {
            None => Some(0),
            Some(levels) => levels.get(usize::from(address)).copied().filter(|&level| level != UNSAID),
        }
    }

    /// Further service levels of packets from a node to an address: those from other addresses of the source.
    pub fn further_levels(&self, source: NodeId, address: u16) -> impl Iterator<Item = u8> + '_ {
        self.further.range((source, address, 0)..=(source, address, u8::MAX)).map(|&(.., level)| level)
    }

    /// Whether levels are said for this source, but not for a group that it sends to.
    pub fn lacks_group(&self, source: NodeId, mlid: u16) -> bool {
        let is_said = self.of_groups.contains_key(&(source, mlid)) || self.of_whole_groups.contains_key(&mlid);
        self.levels.contains_key(&source) && !is_said
    }

    /// The service level of packets from a node to a group: 0 if nothing is said.
    pub fn level_of_group(&self, source: NodeId, mlid: u16) -> u8 {
        let level = self.of_groups.get(&(source, mlid)).or_else(|| self.of_whole_groups.get(&mlid));
        level.copied().unwrap_or(0)
    }

    /// The lane of a level between two ports of a switch; `None` if its packets are dropped.
    fn between(&self, router: RouterId, arriving: Option<u32>, leaving: Option<u32>, level: u8) -> Option<u32> {
        let lane = match &self.maps[router.index()] {
            None => level,
            Some(map) => map.get(&(arriving? as u8, leaving? as u8))?[usize::from(level)],
        };
        (lane != DROPPED).then_some(u32::from(lane))
    }

    fn port_in(&self, arrival: Arrival) -> Option<u32> {
        match arrival {
            Arrival::Node(node) => self.fabric.node_port(node),
            Arrival::Channel(channel) => self.fabric.port_of(self.fabric.reverse(channel)),
        }
    }

    /// The lane of a channel that packets of a level are put on; `None` if they are dropped.
    pub(super) fn lane(&self, arrival: Arrival, channel: ChannelId, level: u8) -> Option<u32> {
        self.between(self.fabric.from(channel), self.port_in(arrival), self.fabric.port_of(channel), level)
    }

    /// Whether packets of a level are delivered to a node.
    pub(super) fn delivers(&self, arrival: Arrival, node: NodeId, level: u8) -> bool {
        let router = self.fabric.router_of(node);
        self.between(router, self.port_in(arrival), self.fabric.node_port(node), level).is_some()
    }

    /// The lane between two channels that `ibdmchk` takes for both, whatever lane a packet came on.
    pub(super) fn of_turn(&self, arriving: ChannelId, leaving: ChannelId) -> Option<u32> {
        self.lane(Arrival::Channel(arriving), leaving, 0)
    }

    /// Which service levels packets may have.
    fn used(&self) -> [bool; LEVELS] {
        let mut used = [false; LEVELS];
        used[0] = true;
        let groups = self.of_groups.values().chain(self.of_whole_groups.values());
        let further = self.further.iter().map(|(.., level)| level);
        let given = self.levels.values().flatten().chain(further).chain(groups);
        given.filter(|&&level| level != UNSAID).for_each(|&level| used[usize::from(level)] = true);
        used
    }

    pub(super) fn count_lanes(&mut self) {
        let used = self.used();
        let levels = || (0..LEVELS).filter(|&level| used[level]);
        let own = levels().filter(|_| self.maps.iter().any(Option::is_none)).map(|level| level as u8);
        let mapped = self.maps.iter().flatten().flat_map(HashMap::values);
        let mapped = mapped.flat_map(|map| levels().map(move |level| map[level]));
        let highest = own.chain(mapped).filter(|&lane| lane != DROPPED).max().unwrap_or(0);
        self.count = u32::from(highest) + 1;
    }
}

/// A level after two are exchanged.
pub(super) fn exchange([one, other]: [u8; 2], level: u8) -> u8 {
    match level {
        level if level == one => other,
        level if level == other => one,
        level => level,
    }
}

fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use wormcast_network::{FileFormat, NetworkIbsim, TopologySpec};

    use super::*;
    use crate::forwarding_tables::{
        MulticastTables, NetworkLfts, UnicastWaits, choose_tables, parse_lfts, witness_in_lanes,
    };
    use crate::registry::RoutingOptions;
    use crate::relations::up_down::UP_DOWN;

    /// A ring of six switches with a host each, with up*/down* tables that have addresses.
    fn ring() -> (Arc<Network>, ForwardingTables) {
        let ring = "ring:6".parse::<TopologySpec>().unwrap().build().unwrap();
        let ring = FileFormat::Fabric.parse("ring", &NetworkIbsim(&ring).to_string()).unwrap();
        let relation = UP_DOWN.make(&ring, &RoutingOptions::default()).unwrap();
        let tables = choose_tables(relation.as_ref(), true).unwrap().tables;
        let text = NetworkLfts::new(&tables).unwrap().to_string();
        let tables = parse_lfts(&ring, "lfts", &text).unwrap();
        (ring, tables)
    }

    fn address(tables: &ForwardingTables, node: u32) -> u16 {
        let place = tables.addresses_of(Target::Node(NodeId::new(node))).next().unwrap();
        tables.destinations()[place].address.unwrap()
    }

    fn lanes(ring: &Arc<Network>) -> VirtualLanes {
        VirtualLanes::new(ring).unwrap()
    }

    #[test]
    fn three_forms_of_levels_are_the_same() {
        let (ring, tables) = ring();
        let (port, adapter) = (ring.node_guid(NodeId::new(0)).unwrap(), ring.adapter_guid(NodeId::new(0)).unwrap());
        let to = address(&tables, 3);
        let lines = format!("{port:#018x} {to} 2\n# a remark\n{adapter:#018x} 49153 3\n");
        let sections = format!("Channel Adapter {port:#018x}, base LID 1, \"H0\"\n{to:#06x} : 2\n0xC001 : 3\n");
        let records = |slid: u16, dlid: u16, sl: u8| {
            format!(
                "PathRecord dump:\n\t\tdlid....................{dlid}\n\t\tslid....................{slid}\n\t\tsl......................{sl:#X}\n\t\tmtu.....................0x84\n"
            )
        };
        let from = address(&tables, 0);
        let records = records(from, to, 2) + &records(from, 0xc001, 3);
        for (text, others) in [(lines, Some(0)), (sections, Some(0)), (records, None)] {
            let lanes = lanes(&ring).with_levels(&tables, "levels", &text).unwrap();
            assert_eq!(lanes.level(NodeId::new(0), to), Some(2));
            assert_eq!(lanes.level(NodeId::new(0), address(&tables, 2)), None, "said for others of this source");
            // Lines may leave out sources whose levels are all 0, but the subnet administration leaves none out.
            assert_eq!(lanes.level(NodeId::new(1), to), others, "nothing is said of this source");
            let groups = [0, 1].map(|node| lanes.level_of_group(NodeId::new(node), 0xc001));
            assert_eq!((groups, lanes.count(), lanes.switches_without()), ([3, 0], 4, 6));
        }
    }

    /// A switch's table, in which `lane` says what a level is put on between two ports.
    fn map(ring: &Network, router: u32, lane: impl Fn(u32, u32, u32) -> u32) -> String {
        let guid = ring.router_guid(RouterId::new(router)).unwrap();
        let mut text = format!("Switch {guid:#018x}, base LID {router}, \"S{router}\"\n#in out : 0  1\n#-----\n");
        for (a, b) in (0..=36).flat_map(|a| (0..=36).map(move |b| (a, b))) {
            let lanes: Vec<String> = (0..16).map(|level| format!("{:<2}", lane(a, b, level))).collect();
            writeln!(text, "{a:<3} {b:<3} : {}", lanes.join(" ")).unwrap();
        }
        text + "#-----\n\n"
    }

    #[test]
    fn groups_have_the_level_that_the_subnet_administration_says() {
        let (ring, tables) = ring();
        let record = |mlid: &str, level: u8| {
            format!(
                "MCMemberRecord group dump:\n\t\tMGID....................ff12:401b:ffff::1\n\t\tMlid....................{mlid}\n\t\tMtu.....................0x84\n\t\tSL......................{level:#X}\n"
            )
        };
        let guid = ring.node_guid(NodeId::new(0)).unwrap();
        let path = format!("{guid:#018x} {} 1\n", address(&tables, 3));
        let member = format!("{guid:#018x} 49153 3\n");
        let read = |text: &str| lanes(&ring).with_levels(&tables, "levels", text);
        let given = read(&(path.clone() + &record("0xC001", 3) + &record("0xC002", 0))).unwrap();
        let levels = [0xc001, 0xc002, 0xc003].map(|mlid| given.level_of_group(NodeId::new(4), mlid));
        assert_eq!((levels, given.count()), ([3, 0, 0], 4));
        // What is written has them by member.
        let groups = MulticastTables::empty(&ring).with_members(&tables, "groups", "0xc001: H0;H4").unwrap();
        let text = given.by_member(groups.groups()).text(&tables);
        assert_eq!(text.matches(" 49153 3\n").count(), 2);
        assert_eq!(read(&text).unwrap().level_of_group(NodeId::new(4), 0xc001), 3);
        // A level that a member should have and the group has not.
        assert!(read(&(member.clone() + &record("0xC001", 3))).is_ok());
        let said = |text: &str| read(text).unwrap_err().to_string();
        let other = said(&(member + &record("0xC001", 0)));
        assert!(other.starts_with("levels:2: the group 0xc001 has the service level 0, not 3, as "), "{other}");
        let twice = said(&(record("0xC001", 3) + &record("0xC001", 2)));
        assert!(
            twice.starts_with("levels:10: the group 0xc001 has the service level 3 already, by line 1;"),
            "{twice}"
        );
        let short = said("MCMemberRecord group dump:\nMlid....0xC001\n");
        assert!(short.starts_with("levels:2: the record that begins in line 1 lacks `Mlid` or `SL`"), "{short}");
        let unicast = said(&record("0x0001", 3));
        assert!(unicast.starts_with("levels:5: `0x0001` is no address of a group"), "{unicast}");
    }

    #[test]
    fn lanes_depend_on_ports_and_packets_are_dropped_on_15() {
        let (ring, tables) = ring();
        let to = address(&tables, 2);
        let mut sources = String::new();
        for guid in ring.node_ids().filter_map(|node| ring.node_guid(node)) {
            for to in tables.destinations().iter().filter_map(|destination| destination.address) {
                writeln!(sources, "{guid:#018x} {to} 1").unwrap();
            }
        }
        // Switch 1 puts what comes from switch 0 on lane 3; the adapter's table is passed over.
        let port_to_0 = ring.port_of(ring.channel_between(RouterId::new(1), RouterId::new(0)).unwrap()).unwrap();
        let by_port = map(&ring, 1, |arriving, _, level| if arriving == port_to_0 { 3 } else { level.min(1) });
        let adapter = format!(
            "Channel Adapter {:#018x}, base LID 9, \"H0\"\n0   0   : {}\n",
            ring.node_guid(NodeId::new(0)).unwrap(),
            "0 ".repeat(16)
        );
        let given = lanes(&ring).with_levels(&tables, "levels", &sources).unwrap();
        let given = given.with_maps("maps", &(by_port + &adapter)).unwrap();
        assert_eq!((given.count(), given.switches_without()), (4, 5));
        let waits = UnicastWaits::in_lanes(&tables, &given);
        let on = |from, to, lane| {
            let channel = ring.channel_between(RouterId::new(from), RouterId::new(to)).unwrap();
            ChannelId::new(channel.raw() * given.count() + lane)
        };
        let pairs: Vec<(ChannelId, ChannelId)> = waits.pairs().collect();
        assert!(pairs.contains(&(on(0, 1, 1), on(1, 2, 3))), "{pairs:?}");
        assert!(!pairs.contains(&(on(0, 1, 1), on(1, 2, 1))));
        assert_eq!((waits.dropped, waits.without_level), (0, 0));
        let step = [(0, 1, 1), (1, 2, 3)]
            .map(|(from, to, lane)| (ring.channel_between(RouterId::new(from), RouterId::new(to)).unwrap(), lane));
        let witness = witness_in_lanes(&tables, &given, step, 1);
        assert!(witness.pairs.unwrap() >= 1 && witness.examples[0].1 != NodeId::new(1));

        // The same on 15: what goes through switch 1 is dropped there.
        let dropping = map(&ring, 1, |arriving, _, level| if arriving == port_to_0 { 15 } else { level.min(1) });
        let dropping =
            lanes(&ring).with_levels(&tables, "levels", &sources).unwrap().with_maps("maps", &dropping).unwrap();
        let waits = UnicastWaits::in_lanes(&tables, &dropping);
        assert!(waits.dropped > 0 && dropping.level(NodeId::new(0), to) == Some(1));
        assert!(waits.pairs().all(|(held, next)| {
            let [held, next] = [held, next].map(|lane| ChannelId::new(lane.raw() / dropping.count()));
            (ring.from(held), ring.from(next)) != (RouterId::new(0), RouterId::new(1))
        }));
    }

    /// DFSSSP gives paths from several addresses of a port different levels: packets of the port may be on either lane.
    #[test]
    fn paths_from_several_addresses_of_a_source_have_a_level_each() {
        let (ring, tables) = ring();
        let (node, own, to) = (NodeId::new(0), address(&tables, 0), address(&tables, 2));
        let (entry, second) = (format!("{own:#06x} "), 0x60);
        let mut text = String::new();
        for line in NetworkLfts::new(&tables).unwrap().to_string().lines() {
            match line.strip_suffix(" lids dumped").map(|count| count.parse::<u32>().unwrap()) {
                Some(count) => writeln!(text, "{} lids dumped", count + 1).unwrap(),
                None => writeln!(text, "{line}").unwrap(),
            }
            if let Some(rest) = line.strip_prefix(&entry) {
                writeln!(text, "{second:#06x} {rest}").unwrap();
            }
        }
        let tables = parse_lfts(&ring, "lfts", &text).unwrap();
        let record = |from: u16, sl: u8| format!("PathRecord dump:\ndlid....{to}\nslid....{from}\nsl......{sl}\n");
        let read = |text: String| lanes(&ring).with_levels(&tables, "levels", &text);
        let given = read(record(own, 2) + &record(second, 1) + &record(own, 2)).unwrap();
        assert_eq!((given.level(node, to), given.count()), (Some(2), 3));
        assert_eq!(given.further_levels(node, to).collect::<Vec<_>>(), [1]);
        let equal = read(record(own, 2) + &record(second, 2)).unwrap();
        assert_eq!(equal.further_levels(node, to).count(), 0);
        // Whatever their order, and however often they are said.
        let turned = read(record(second, 1) + &record(own, 2) + &record(second, 1)).unwrap();
        assert_eq!((turned.level(node, to), turned.count()), (Some(2), 3));
        assert_eq!(turned.further_levels(node, to).collect::<Vec<_>>(), [1]);
        let twice = read(record(own, 2) + &record(second, 1) + &record(second, 3)).unwrap_err().to_string();
        assert!(twice.starts_with("levels:9: this path has the service level 1 already"), "{twice}");
        // Both are followed.
        let waits: Vec<(ChannelId, ChannelId)> = UnicastWaits::in_lanes(&tables, &given).pairs().collect();
        let route =
            [(0, 1), (1, 2)].map(|(from, to)| ring.channel_between(RouterId::new(from), RouterId::new(to)).unwrap());
        for lane in [1, 2] {
            let [held, next] = route.map(|channel| ChannelId::new(channel.raw() * given.count() + lane));
            assert!(waits.contains(&(held, next)), "{lane}: {waits:?}");
            let witness = witness_in_lanes(&tables, &given, route.map(|channel| (channel, lane)), 9);
            assert_eq!(witness.examples, [(node, NodeId::new(2))]);
        }
        // A policy of OpenSM gives levels to ports: a change gives all paths of a port that of the first.
        assert_eq!(given.differing(&tables), [(node, to, 2)]);
        let mut one = given.clone();
        one.set_level(node, to, 2);
        assert_eq!(one.further_levels(node, to).count(), 0);
    }

    #[test]
    fn errors_name_file_line_and_what_is_wrong() {
        let (ring, tables) = ring();
        let guid = ring.node_guid(NodeId::new(0)).unwrap();
        let levels = |text: &str| lanes(&ring).with_levels(&tables, "levels", text).unwrap_err().to_string();
        for (text, said) in [
            ("", "levels:1: there is no service level"),
            ("0x1 2 3", "levels:1: `ring` has no device with the identifier 0x0000000000000001"),
            ("0x1 2", "levels:1: found 2 words"),
            ("1 2 3", "levels:1: `1` is no identifier"),
            (&format!("{guid:#018x} 2 16"), "levels:1: a service level is a number from 0 to 15"),
            (&format!("{guid:#018x} x 1"), "levels:1: `x` is no decimal address"),
            (&format!("{guid:#018x} 70000 1"), "levels:1: an address is a number from 1 to 65535"),
            (&format!("{guid:#018x} 999 1"), "levels:1: the tables have no address 999"),
            (&format!("{guid:#018x} 2 1\n{guid:#018x} 2 0"), "levels:2: this path has the service level 1 already"),
            ("0x0002 : 1", "levels:1: an entry before the first device"),
            ("PathRecord dump:\ndlid....2\n", "levels:2: the record that begins in line 1 lacks"),
            ("PathRecord dump:\nsl......x\n", "levels:2: `x` is no number"),
        ] {
            assert!(levels(text).starts_with(said), "{}", levels(text));
        }
        let switch = ring.router_guid(RouterId::new(0)).unwrap();
        let maps = |text: &str| lanes(&ring).with_maps("maps", text).unwrap_err().to_string();
        let of_16 = "0x01 0x23 0x45 0x67 0x01 0x23 0x45 0x67";
        for (text, said) in [
            ("", "maps:1: there is no switch"),
            ("1 2 : 0", "maps:1: an entry before the first switch"),
            ("Switch, base LID 2", "maps:1: the device has no identifier"),
            (&format!("0xbad 1 2 {of_16}"), "maps:1: `ring` has no device with the identifier 0x0000000000000bad"),
            (&format!("{switch:#018x} 1 2 0x01"), "maps:1: found lanes for 2 service levels, not for 16"),
            (&format!("{switch:#018x} 1 x {of_16}"), "maps:1: expected the port out"),
            (&format!("{switch:#018x} 1 99 {of_16}"), "maps:1: `S0` has no port 99: it has 36"),
            (
                &format!("{switch:#018x} 1 2 {of_16}"),
                "maps:1: the lanes of `S0`, which begin here, lack those from port",
            ),
            (
                &format!("{switch:#018x} 1 2 {of_16}\n{switch:#018x} 1 2 0x11 0x23 0x45 0x67 0x01 0x23 0x45 0x67"),
                "maps:2: `S0` has other lanes from port 1 to port 2 already",
            ),
        ] {
            assert!(maps(text).starts_with(said), "{}", maps(text));
        }
    }
}
