//! Virtual lanes: the service levels of paths, and the tables by which switches put the packets of a level on lanes.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::Arc;

use wormcast_network::input::input_name;
use wormcast_network::{ChannelId, MAX_FILE_BYTES, Network, NodeId, RouterId, as_fabric};

use super::multicast::MulticastGroup;
use super::opensm::{Identities, check_port, hexadecimal_after};
use super::{ForwardingTables, TablesContext, TablesError, Target, text_of};

const LEVELS_EXPECTED: &str = "the service levels of paths: lines such as `0x0000000000100000 12 3` (identifier of the source, address, level), \
                               or what `saquery -p` prints";
const MAPS_EXPECTED: &str = "the tables from service levels to lanes that OpenSM writes to `opensm-sl2vl.dump`, or lines such as \
                             `0x0000000000200000 5 1 0x01 0x23 …` (identifier of the switch, ports in and out, a digit for each level)";
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
/// A level is 0 where nothing is said of its source, and the lane is the level in switches of which nothing is said. Data on lane 15 is dropped.
///
/// Memory: a byte for each source and address, 16 bytes for each pair of ports of a switch.
#[derive(Clone, Debug)]
pub struct VirtualLanes {
    fabric: Arc<Network>,
    /// By source, and then by address.
    levels: HashMap<NodeId, Vec<u8>>,
    /// The levels of groups, by source and address.
    of_groups: HashMap<(NodeId, u16), u8>,
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
        Ok(Self { fabric, levels: HashMap::new(), of_groups: HashMap::new(), maps, count: 1 })
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

    /// The lanes of levels on links between switches as lines of `OpenSM`'s configuration; `None` if they depend on ports.
    pub fn options(&self) -> Option<String> {
        let lanes = self.common_map()?.map(|lane| lane.to_string());
        Some(format!("qos TRUE\nqos_swe_sl2vl {}\n", lanes.join(",")))
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

    /// Sets the service level of packets from a node to an address.
    pub(super) fn set_level(&mut self, source: NodeId, address: u16, level: u8) {
        let levels = self.levels.entry(source).or_default();
        // What is said of none of them is level 0.
        if levels.is_empty() {
            *levels = vec![0; usize::from(FIRST_GROUP as u16)];
        }
        levels.resize(levels.len().max(usize::from(address) + 1), UNSAID);
        levels[usize::from(address)] = level;
        self.count = self.count.max(u32::from(level) + 1);
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

    /// These with another service level for all packets of groups.
    #[must_use]
    pub(super) fn with_groups_on(mut self, groups: &[MulticastGroup], level: u8) -> Self {
        for group in groups {
            for member in group.members() {
                self.of_groups.insert((member, group.mlid), level);
            }
        }
        let own = if self.maps.iter().any(Option::is_none) { u32::from(level) } else { 0 };
        let mapped = self.maps.iter().flatten().flat_map(HashMap::values).map(|map| u32::from(map[usize::from(level)]));
        let highest = mapped.filter(|&lane| lane != u32::from(DROPPED)).max().unwrap_or(0).max(own);
        self.count = self.count.max(highest + 1);
        self
    }

    /// The service levels of the packets of groups: those that differ from another.
    pub(super) fn levels_of_groups(&self, groups: &[MulticastGroup]) -> Vec<u8> {
        let members = groups.iter().flat_map(|group| group.members().into_iter().map(|member| (member, group.mlid)));
        let mut levels: Vec<u8> = members.map(|(member, mlid)| self.level_of_group(member, mlid)).collect();
        levels.sort_unstable();
        levels.dedup();
        if levels.is_empty() { vec![0] } else { levels }
    }

    /// The service levels of all paths to addresses of nodes that are not 0, and of groups, as [`with_levels`](Self::with_levels) reads them. Where a source has any, all
    /// of its paths are there.
    pub fn text(&self, tables: &ForwardingTables) -> String {
        let mut text = String::new();
        let to_nodes = tables.destinations().iter().filter_map(|destination| match destination.target {
            Target::Node(node) => Some((destination.address?, node)),
            Target::Router(_) => None,
        });
        let mut to_nodes: Vec<(u16, NodeId)> = to_nodes.collect();
        to_nodes.sort_unstable();
        for node in self.fabric.node_ids() {
            let Some(guid) = self.fabric.node_guid(node) else { continue };
            let levels = to_nodes.iter().map(|&(address, to)| (address, to, self.level(node, address).unwrap_or(0)));
            if self.levels.contains_key(&node) {
                for (address, _, level) in levels.filter(|&(_, to, _)| to != node) {
                    let _ = writeln!(text, "{guid:#018x} {address} {level}");
                }
            }
        }
        let mut groups: Vec<(&(NodeId, u16), &u8)> = self.of_groups.iter().filter(|&(_, &level)| level > 0).collect();
        groups.sort_unstable();
        for (&(node, mlid), level) in groups {
            if let Some(guid) = self.fabric.node_guid(node) {
                let _ = writeln!(text, "{guid:#018x} {mlid} {level}");
            }
        }
        text
    }

    /// The service levels of paths as a policy that `OpenSM` takes with `-Q -Y FILE`: for each level but 0, which ports have it to which. Nothing if
    /// all have level 0, and groups, too: the level of a partition's groups would else be that of its paths.
    pub fn policy(&self, tables: &ForwardingTables) -> String {
        // Ports whose paths have the same levels share rules.
        let mut alike: BTreeMap<BTreeMap<u8, Vec<u64>>, Vec<u64>> = BTreeMap::new();
        for node in self.fabric.node_ids() {
            let Some(guid) = self.fabric.node_guid(node) else { continue };
            let mut by_level: BTreeMap<u8, Vec<u64>> = BTreeMap::new();
            for destination in tables.destinations() {
                let (Target::Node(to), Some(address)) = (destination.target, destination.address) else { continue };
                let level = self.level(node, address).unwrap_or(0);
                if let Some(to) = self.fabric.node_guid(to).filter(|_| level > 0 && to != node) {
                    by_level.entry(level).or_default().push(to);
                }
            }
            if !by_level.is_empty() {
                alike.entry(by_level).or_default().push(guid);
            }
        }
        let (mut ports, mut rules, mut levels) = (String::new(), String::new(), vec![0]);
        let mut group = |name: &str, guids: &[u64]| {
            let guids: Vec<String> = guids.iter().map(|guid| format!("{guid:#018x}")).collect();
            let guids = guids.join(", ");
            let _ = writeln!(
                ports,
                "    port-group
        name: {name}
        port-guid: {guids}
    end-port-group"
            );
        };
        for (number, (by_level, sources)) in alike.iter().enumerate() {
            group(&format!("from{number}"), sources);
            for (level, to) in by_level {
                group(&format!("to{number}_{level}"), to);
                let _ = writeln!(
                    rules,
                    "    qos-match-rule
        source: from{number}
        destination: to{number}_{level}
                             qos-level-name: level{level}
    end-qos-match-rule"
                );
                levels.push(*level);
            }
        }
        if rules.is_empty() && self.of_groups.values().all(|&level| level == 0) {
            return rules;
        }
        levels.sort_unstable();
        levels.dedup();
        let named = |&level: &u8| match level {
            0 => "DEFAULT".to_owned(),
            _ => format!("level{level}"),
        };
        let levels: Vec<String> = levels
            .iter()
            .map(|level| {
                format!(
                    "    qos-level
        name: {}
        sl: {level}
    end-qos-level
",
                    named(level)
                )
            })
            .collect();
        format!(
            "port-groups
{ports}end-port-groups
qos-levels
{}end-qos-levels
qos-match-rules
{rules}end-qos-match-rules
",
            levels.concat()
        )
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

    /// The service level of packets from a node to a group: 0 if nothing is said.
    pub fn level_of_group(&self, source: NodeId, mlid: u16) -> u8 {
        self.of_groups.get(&(source, mlid)).copied().unwrap_or(0)
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

    /// Takes the service levels of paths from a text: `0xGUID LID LEVEL` a line, with the identifier of the source's adapter or port and a decimal
    /// address; or sections that begin `Channel Adapter 0xPORTGUID`, with lines such as `0x0005 : 3`; or what `saquery -p` prints. Addresses of groups
    /// (from 49152) are allowed.
    ///
    /// # Errors
    /// If the text is of no such form, or names what the network and its tables do not have.
    pub fn with_levels(mut self, tables: &ForwardingTables, path: &str, text: &str) -> Result<Self, TablesError> {
        let file = TablesContext { path, expected: LEVELS_EXPECTED };
        let mut reading = Reading::new(&self.fabric, tables);
        let mut lines = 0;
        for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            lines = line;
            reading.line(content.trim(), line).map_err(|problem| file.error(line, problem))?;
        }
        reading.end_record().map_err(|problem| file.error(lines.max(1), problem))?;
        if reading.found.is_empty() {
            return Err(file.error(lines.max(1), "there is no service level"));
        }
        for Given { sources, address, level, line } in reading.found {
            for source in sources {
                let known = if u32::from(address) >= FIRST_GROUP {
                    self.of_groups.entry((source, address)).or_insert(UNSAID)
                } else {
                    let levels = self.levels.entry(source).or_default();
                    let place = usize::from(address);
                    levels.resize(levels.len().max(place + 1), UNSAID);
                    &mut levels[place]
                };
                if *known != UNSAID && *known != level {
                    return Err(file.error(line, format!("this path has the service level {known} already")));
                }
                *known = level;
            }
        }
        self.count_lanes();
        Ok(self)
    }

    /// Takes the lanes of service levels from a text: what `OpenSM` writes to `opensm-sl2vl.dump`, or lines as `ibdmchk -d` reads them. Tables of
    /// adapters are passed over: the lanes of links from hosts to switches block nobody else.
    ///
    /// # Errors
    /// If the text is of neither form, names what the network does not have, or says nothing of two connected ports of a switch that it describes.
    pub fn with_maps(mut self, path: &str, text: &str) -> Result<Self, TablesError> {
        let file = TablesContext { path, expected: MAPS_EXPECTED };
        let identities = Identities::new(&self.fabric);
        // The switch that a section is of, if it is one.
        let mut section: Option<Option<RouterId>> = None;
        let mut began: HashMap<RouterId, usize> = HashMap::new();
        let mut lines = 0;
        for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            lines = line;
            let wrong = |problem: String| file.error(line, problem);
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            if content.starts_with("Switch") || content.starts_with("Channel Adapter") {
                let guid =
                    hexadecimal_after(content, "0x").ok_or_else(|| wrong("the device has no identifier".to_owned()))?;
                section = Some(self.device(&identities, guid).map_err(wrong)?);
                continue;
            }
            let (router, rest) = if content.starts_with("0x") {
                let (guid, rest) = content.split_once(char::is_whitespace).unwrap_or((content, ""));
                let guid = hexadecimal_after(guid, "0x").ok_or_else(|| wrong(format!("`{guid}` is no identifier")))?;
                (self.device(&identities, guid).map_err(wrong)?, rest)
            } else {
                (section.ok_or_else(|| wrong("an entry before the first switch".to_owned()))?, content)
            };
            let (ports, map) = entry(rest).map_err(wrong)?;
            let Some(router) = router else { continue };
            for port in ports {
                check_port(&self.fabric, router, u32::from(port)).map_err(wrong)?;
            }
            began.entry(router).or_insert(line);
            let known = self.maps[router.index()].get_or_insert_default().insert((ports[0], ports[1]), map);
            if known.is_some_and(|known| known != map) {
                return Err(wrong(format!(
                    "`{}` has other lanes from port {} to port {} already",
                    self.fabric.router_label(router),
                    ports[0],
                    ports[1]
                )));
            }
        }
        if began.is_empty() {
            return Err(file.error(lines.max(1), "there is no switch"));
        }
        let mut described: Vec<(usize, RouterId)> = began.into_iter().map(|(router, line)| (line, router)).collect();
        described.sort_unstable();
        for (line, router) in described {
            if let Some((arriving, leaving)) = self.unsaid(router) {
                let name = self.fabric.router_label(router);
                let problem = format!(
                    "the lanes of `{name}`, which begin here, lack those from port {arriving} to port {leaving}"
                );
                return Err(file.error(line, problem));
            }
        }
        self.count_lanes();
        Ok(self)
    }

    /// The switch with this identifier; `None` if it is an adapter.
    fn device(&self, identities: &Identities, guid: u64) -> Result<Option<RouterId>, String> {
        let network = self.fabric.name();
        match identities.target(guid)? {
            Some(Target::Router(router)) => Ok(Some(router)),
            Some(Target::Node(_)) => Ok(None),
            None if self.fabric.node_ids().any(|node| self.fabric.adapter_guid(node) == Some(guid)) => Ok(None),
            None => Err(format!("`{network}` has no device with the identifier {guid:#018x}")),
        }
    }

    /// Two different connected ports of a switch between which nothing is said.
    fn unsaid(&self, router: RouterId) -> Option<(u32, u32)> {
        let fabric = &*self.fabric;
        let map = self.maps[router.index()].as_ref()?;
        let channels = fabric.outputs(router).filter_map(|channel| fabric.port_of(channel));
        let ports: Vec<u32> =
            channels.chain(fabric.nodes_of(router).filter_map(|node| fabric.node_port(node))).collect();
        let pairs = ports.iter().flat_map(|&a| ports.iter().map(move |&b| (a, b))).filter(|(a, b)| a != b);
        let mut unsaid = pairs.filter(|&(a, b)| !map.contains_key(&(a as u8, b as u8)));
        unsaid.next()
    }

    fn count_lanes(&mut self) {
        let mut used = [false; LEVELS];
        used[0] = true;
        let given = self.levels.values().flatten().chain(self.of_groups.values());
        given.filter(|&&level| level != UNSAID).for_each(|&level| used[usize::from(level)] = true);
        let levels = || (0..LEVELS).filter(|&level| used[level]);
        let own = levels().filter(|_| self.maps.iter().any(Option::is_none)).map(|level| level as u8);
        let mapped = self.maps.iter().flatten().flat_map(HashMap::values);
        let mapped = mapped.flat_map(|map| levels().map(move |level| map[level]));
        let highest = own.chain(mapped).filter(|&lane| lane != DROPPED).max().unwrap_or(0);
        self.count = u32::from(highest) + 1;
    }
}

/// The service level of paths.
struct Given {
    /// The nodes that are ports of the adapter.
    sources: Vec<NodeId>,
    address: u16,
    level: u8,
    line: usize,
}

/// Service levels, as they are read.
struct Reading<'a> {
    fabric: &'a Network,
    /// Whether the tables have addresses whose devices are unknown.
    unidentified: bool,
    targets: HashMap<u16, Target>,
    /// Ports by their own identifiers, and by those of their adapters.
    sources: HashMap<u64, Vec<NodeId>>,
    switches: Identities,
    /// Whose paths a section is of.
    section: Option<Vec<NodeId>>,
    /// A record of `saquery`: its line, the addresses of source and destination, and the level.
    record: Option<(usize, [Option<u32>; 3])>,
    found: Vec<Given>,
}

impl<'a> Reading<'a> {
    fn new(fabric: &'a Network, tables: &ForwardingTables) -> Self {
        let mut sources: HashMap<u64, Vec<NodeId>> = HashMap::new();
        for node in fabric.node_ids() {
            for guid in [fabric.node_guid(node), fabric.adapter_guid(node)].into_iter().flatten() {
                sources.entry(guid).or_default().push(node);
            }
        }
        let known = tables.destinations().iter().filter_map(|known| Some((known.address?, known.target)));
        Self {
            fabric,
            unidentified: tables.unidentified() > 0,
            targets: known.collect(),
            sources,
            switches: Identities::new(fabric),
            section: None,
            record: None,
            found: Vec::new(),
        }
    }

    fn line(&mut self, content: &str, line: usize) -> Result<(), String> {
        if content.is_empty() || content.starts_with('#') {
            return Ok(());
        }
        if content.starts_with("PathRecord") {
            self.end_record()?;
            self.record = Some((line, [None; 3]));
            return Ok(());
        }
        if let Some((_, fields)) = &mut self.record {
            return field(content, fields);
        }
        if content.starts_with("Channel Adapter") || content.starts_with("Switch") {
            let guid = hexadecimal_after(content, "0x").ok_or("the device has no identifier")?;
            self.section = Some(self.sources_of(guid)?);
            return Ok(());
        }
        if let Some((address, level)) = content.split_once(':') {
            let sources = self.section.clone().ok_or("an entry before the first device")?;
            let address = address.trim();
            let digits = address.strip_prefix("0x").ok_or_else(|| format!("`{address}` is no address"))?;
            let address = u32::from_str_radix(digits, 16).map_err(|_| format!("`{address}` is no address"))?;
            return self.add(sources, address, level.trim(), line);
        }
        let words: Vec<&str> = content.split_whitespace().collect();
        let &[guid, address, level] = &words[..] else {
            return Err(format!("found {} words, not an identifier, an address and a level", words.len()));
        };
        let identifier = guid.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let sources = self.sources_of(identifier.ok_or_else(|| format!("`{}` is no identifier", shown(guid)))?)?;
        let address = address.parse().map_err(|_| format!("`{}` is no decimal address", shown(address)))?;
        self.add(sources, address, level, line)
    }

    /// The nodes of an adapter or of its port; none for a switch, whose own paths only management takes.
    fn sources_of(&self, guid: u64) -> Result<Vec<NodeId>, String> {
        let network = self.fabric.name();
        match self.sources.get(&guid) {
            Some(sources) => Ok(sources.clone()),
            None if self.switches.router(guid)?.is_some() => Ok(Vec::new()),
            None => Err(format!("`{network}` has no device with the identifier {guid:#018x}")),
        }
    }

    fn add(&mut self, sources: Vec<NodeId>, address: u32, level: &str, line: usize) -> Result<(), String> {
        let level = level.parse::<u8>().ok().filter(|&level| usize::from(level) < LEVELS);
        let level = level.ok_or("a service level is a number from 0 to 15")?;
        let address = u16::try_from(address).ok().filter(|&address| address > 0);
        let address = address.ok_or("an address is a number from 1 to 65535")?;
        let is_known = u32::from(address) >= FIRST_GROUP || self.unidentified || self.targets.contains_key(&address);
        if !is_known {
            return Err(format!("the tables have no address {address}"));
        }
        self.found.push(Given { sources, address, level, line });
        Ok(())
    }

    /// Takes the record of `saquery` that ends here, if there is one.
    fn end_record(&mut self) -> Result<(), String> {
        let Some((line, fields)) = self.record.take() else { return Ok(()) };
        let [Some(from), Some(to), Some(level)] = fields else {
            return Err(format!("the record that begins in line {line} lacks `slid`, `dlid` or `sl`"));
        };
        let source = u16::try_from(from).ok().and_then(|address| self.targets.get(&address));
        let sources = match source {
            Some(&Target::Node(node)) => vec![node],
            Some(Target::Router(_)) => Vec::new(),
            None => {
                return Err(format!("the tables have no address {from}, which is that of the source in line {line}"));
            }
        };
        self.add(sources, to, &level.to_string(), line)
    }
}

fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}

/// A line of a record, as `dlid....................5`.
fn field(content: &str, fields: &mut [Option<u32>; 3]) -> Result<(), String> {
    let name = content.split('.').next().unwrap_or("");
    let Some(place) = ["slid", "dlid", "sl"].iter().position(|&known| known == name) else { return Ok(()) };
    let value = content[name.len()..].trim_start_matches('.');
    let number = match value.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    };
    fields[place] = Some(number.ok_or_else(|| format!("`{}` is no number", shown(value)))?);
    Ok(())
}

/// Ports in and out, and the lane of each level: `5 1 0x01 0x23 …` or `5 1 : 0 1 2 3 …`.
fn entry(text: &str) -> Result<([u8; 2], Map), String> {
    let mut words = text.split_whitespace().filter(|&word| word != ":");
    let mut port = |what: &str| {
        let word = words.next().map(|word| word.trim_end_matches(':'));
        word.and_then(|word| word.parse::<u8>().ok()).ok_or_else(|| format!("expected the port {what}"))
    };
    let ports = [port("in")?, port("out")?];
    let mut lanes: Vec<u8> = Vec::with_capacity(LEVELS);
    for word in words {
        let numbers: Option<Vec<u8>> = match word.strip_prefix("0x") {
            Some(digits) => digits.chars().map(|digit| digit.to_digit(16).map(|lane| lane as u8)).collect(),
            None => word.parse().ok().filter(|&lane| lane <= DROPPED).map(|lane| vec![lane]),
        };
        lanes.extend(numbers.ok_or_else(|| format!("`{}` is no lane from 0 to 15", shown(word)))?);
    }
    let count = lanes.len();
    let map = lanes.try_into().map_err(|_| format!("found lanes for {count} service levels, not for {LEVELS}"))?;
    Ok((ports, map))
}

/// Reads service levels of paths: see [`VirtualLanes::with_levels`].
///
/// # Errors
/// If the file cannot be read or is not understood.
pub fn read_levels(lanes: VirtualLanes, tables: &ForwardingTables, path: &str) -> Result<VirtualLanes, TablesError> {
    let text = text_of(path, "the service levels", MAX_FILE_BYTES)?;
    lanes.with_levels(tables, input_name(path), &text)
}

/// Reads the lanes of service levels: see [`VirtualLanes::with_maps`].
///
/// # Errors
/// If the file cannot be read or is not understood.
pub fn read_maps(lanes: VirtualLanes, path: &str) -> Result<VirtualLanes, TablesError> {
    let text = text_of(path, "the lanes of service levels", MAX_FILE_BYTES)?;
    lanes.with_maps(input_name(path), &text)
}

#[cfg(test)]
mod tests {
    use wormcast_network::{FileFormat, NetworkIbsim, TopologySpec};

    use super::*;
    use crate::forwarding_tables::{NetworkLfts, UnicastWaits, choose_tables, parse_lfts, witness_in_lanes};
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
        for text in [lines, sections, records] {
            let lanes = lanes(&ring).with_levels(&tables, "levels", &text).unwrap();
            assert_eq!(lanes.level(NodeId::new(0), to), Some(2));
            assert_eq!(lanes.level(NodeId::new(0), address(&tables, 2)), None, "said for others of this source");
            assert_eq!(lanes.level(NodeId::new(1), to), Some(0), "nothing is said of this source");
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
