//! The file of the service levels of paths.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use wormcast_network::input::input_name;
use wormcast_network::{MAX_FILE_BYTES, Network, NodeId};

use super::{FIRST_GROUP, LEVELS, UNSAID, VirtualLanes, shown};
use crate::forwarding_tables::multicast::mlid_of;
use crate::forwarding_tables::opensm::{Identities, hexadecimal_after};
use crate::forwarding_tables::{ForwardingTables, TablesContext, TablesError, Target, text_of};

const LEVELS_EXPECTED: &str = "the service levels of paths: lines such as `0x0000000000100000 12 3` (identifier of the source, address, level), \
                               or what `saquery -p` prints, and `saquery -g` for groups";
/// The fields of a record that `saquery -p` prints.
const PATH: &[&str] = &["slid", "dlid", "sl"];
/// Those of one that `saquery -g` prints.
const GROUP: &[&str] = &["Mlid", "SL"];

/// The service level of paths.
struct Given {
    /// The nodes that are ports of the adapter.
    sources: Vec<NodeId>,
    /// The source's own address, if that is how it is named.
    from: Option<u16>,
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
    record: Option<Record>,
    found: Vec<Given>,
    /// The levels of groups, by address, and the line that says so.
    groups: BTreeMap<u16, (u8, usize)>,
    /// Whether there are records of paths: all paths should then be there.
    has_records: bool,
}

/// A record that `saquery` prints, as it is read.
struct Record {
    line: usize,
    names: &'static [&'static str],
    values: Vec<Option<u32>>,
}

impl Record {
    fn new(line: usize, names: &'static [&'static str]) -> Self {
        Self { line, names, values: vec![None; names.len()] }
    }

    /// A line of it, as `dlid....................5`.
    fn field(&mut self, content: &str) -> Result<(), String> {
        let name = content.split('.').next().unwrap_or("");
        let Some(place) = self.names.iter().position(|&known| known == name) else { return Ok(()) };
        let value = content[name.len()..].trim_start_matches('.');
        let number = match value.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => value.parse().ok(),
        };
        self.values[place] = Some(number.ok_or_else(|| format!("`{}` is no number", shown(value)))?);
        Ok(())
    }
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
            groups: BTreeMap::new(),
            has_records: false,
        }
    }

    fn line(&mut self, content: &str, line: usize) -> Result<(), String> {
        if content.is_empty() || content.starts_with('#') {
            return Ok(());
        }
        if let Some((_, names)) =
            [("PathRecord", PATH), ("MCMemberRecord", GROUP)].into_iter().find(|(head, _)| content.starts_with(head))
        {
            self.end_record()?;
            self.record = Some(Record::new(line, names));
            return Ok(());
        }
        if let Some(record) = &mut self.record {
            return record.field(content);
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
            return self.add((sources, None), address, level.trim(), line);
        }
        let words: Vec<&str> = content.split_whitespace().collect();
        let &[guid, address, level] = &words[..] else {
            let plural = if words.len() == 1 { "" } else { "s" };
            return Err(format!("found {} word{plural}, not an identifier, an address and a level", words.len()));
        };
        let identifier = guid.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let sources = self.sources_of(identifier.ok_or_else(|| format!("`{}` is no identifier", shown(guid)))?)?;
        let address = address.parse().map_err(|_| format!("`{}` is no decimal address", shown(address)))?;
        self.add((sources, None), address, level, line)
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

    fn add(
        &mut self,
        (sources, from): (Vec<NodeId>, Option<u16>),
        address: u32,
        level: &str,
        line: usize,
    ) -> Result<(), String> {
        let level = level_of(level)?;
        let address = u16::try_from(address).ok().filter(|&address| address > 0);
        let address = address.ok_or("an address is a number from 1 to 65535")?;
        let is_known = u32::from(address) >= FIRST_GROUP || self.unidentified || self.targets.contains_key(&address);
        if !is_known {
            return Err(format!("the tables have no address {address}"));
        }
        self.found.push(Given { sources, from, address, level, line });
        Ok(())
    }

    /// Takes the record of `saquery` that ends here, if there is one.
    fn end_record(&mut self) -> Result<(), String> {
        let Some(Record { line, names, values }) = self.record.take() else { return Ok(()) };
        let lacks = |names: &str| format!("the record that begins in line {line} lacks {names}");
        if names == GROUP {
            let [Some(mlid), Some(level)] = values[..] else { return Err(lacks("`Mlid` or `SL`")) };
            return self.add_group(mlid, level, line);
        }
        let [Some(from), Some(to), Some(level)] = values[..] else { return Err(lacks("`slid`, `dlid` or `sl`")) };
        self.has_records = true;
        let own = u16::try_from(from).ok();
        let sources = match own.and_then(|address| self.targets.get(&address)) {
            Some(&Target::Node(node)) => vec![node],
            Some(Target::Router(_)) => Vec::new(),
            None => {
                return Err(format!("the tables have no address {from}, which is that of the source in line {line}"));
            }
        };
        self.add((sources, own), to, &level.to_string(), line)
    }

    fn add_group(&mut self, mlid: u32, level: u32, line: usize) -> Result<(), String> {
        let mlid = mlid_of(&format!("{mlid:#06x}"))?;
        let level = level_of(&level.to_string())?;
        match self.groups.insert(mlid, (level, line)) {
            Some((known, first)) if known != level => {
                Err(format!("the group {mlid:#06x} has the service level {known} already, by line {first}"))
            }
            _ => Ok(()),
        }
    }
}

fn level_of(text: &str) -> Result<u8, String> {
    let level = text.parse::<u8>().ok().filter(|&level| usize::from(level) < LEVELS);
    level.ok_or_else(|| "a service level is a number from 0 to 15".to_owned())
}

/// Reads service levels of paths: see [`VirtualLanes::with_levels`].
///
/// # Errors
/// If the file cannot be read or is not understood.
pub fn read_levels(lanes: VirtualLanes, tables: &ForwardingTables, path: &str) -> Result<VirtualLanes, TablesError> {
    let text = text_of(path, "the service levels", MAX_FILE_BYTES)?;
    lanes.with_levels(tables, input_name(path), &text)
}

impl VirtualLanes {
    /// Takes the service levels of paths from a text: `0xGUID LID LEVEL` a line, with the identifier of the source's adapter or port and a decimal
    /// address; or sections that begin `Channel Adapter 0xPORTGUID`, with lines such as `0x0005 : 3`; or what `saquery -p` prints. Addresses of groups
    /// (from 49152) are allowed; what `saquery -g` prints says the levels of groups for whoever sends. Records of paths are all paths that there are: those of no
    /// record have no level, while a source of which lines and sections say nothing has level 0.
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
        if reading.found.is_empty() && reading.groups.is_empty() {
            return Err(file.error(lines.max(1), "there is no service level"));
        }
        let Reading { found, groups, has_records, .. } = reading;
        // The level of each record of a path, by address of the source: OpenSM's engines may give paths from several addresses of a port different levels.
        let mut recorded: BTreeMap<(NodeId, u16), BTreeMap<u16, u8>> = BTreeMap::new();
        for Given { sources, from, address, level, line } in found {
            let already = |known| file.error(line, format!("this path has the service level {known} already"));
            for source in sources {
                if let Some(own) = from.filter(|_| u32::from(address) < FIRST_GROUP) {
                    if let Some(known) = self.levels.get(&source).and_then(|of| of.get(usize::from(address)))
                        && *known != UNSAID
                        && *known != level
                    {
                        return Err(already(*known));
                    }
                    match recorded.entry((source, address)).or_default().insert(own, level) {
                        Some(known) if known != level => return Err(already(known)),
                        _ => continue,
                    }
                }
                let known = if u32::from(address) >= FIRST_GROUP {
                    self.of_groups.entry((source, address)).or_insert(UNSAID)
                } else {
                    let levels = self.levels.entry(source).or_default();
                    let place = usize::from(address);
                    levels.resize(levels.len().max(place + 1), UNSAID);
                    &mut levels[place]
                };
                if *known != UNSAID && *known != level {
                    return Err(already(*known));
                }
                *known = level;
            }
        }
        // The level of a path is that from the source's first address.
        for ((source, address), levels) in recorded {
            let mut levels = levels.into_values();
            let first = levels.next().unwrap_or_default();
            self.set_level_of_path(source, address, first);
            self.further.extend(levels.filter(|&level| level != first).map(|level| (source, address, level)));
        }
        for (mlid, (level, line)) in groups {
            let of_members = self.of_groups.iter().filter(|((_, other), _)| *other == mlid);
            if let Some((_, known)) = of_members.into_iter().find(|&(_, &known)| known != level) {
                let problem = format!(
                    "the group {mlid:#06x} has the service level {level}, not {known}, as is said of a member: does `partitions.conf` give it that level?"
                );
                return Err(file.error(line, problem));
            }
            self.of_whole_groups.insert(mlid, level);
        }
        if has_records {
            for node in self.fabric.node_ids() {
                self.levels.entry(node).or_default();
            }
        }
        self.count_lanes();
        Ok(self)
    }

    /// The service levels of all paths to addresses of nodes, and of groups, as [`with_levels`](Self::with_levels) and `ibdmchk -c` read them. Nothing if all
    /// have level 0.
    pub fn text(&self, tables: &ForwardingTables) -> String {
        let to_nodes = tables.destinations().iter().filter_map(|destination| match destination.target {
            Target::Node(node) => Some((destination.address?, node)),
            Target::Router(_) => None,
        });
        let mut to_nodes: Vec<(u16, NodeId)> = to_nodes.collect();
        to_nodes.sort_unstable();
        let level = |node: NodeId, address: u16| self.level(node, address).unwrap_or(0);
        let has_level = |node: NodeId| to_nodes.iter().any(|&(address, to)| to != node && level(node, address) > 0);
        if self.of_groups.values().all(|&level| level == 0) && !self.levels.keys().any(|&node| has_level(node)) {
            return String::new();
        }
        let mut text = String::new();
        let identifiers = identifiers(&self.fabric);
        for (node, guid) in self.fabric.node_ids().zip(&identifiers) {
            let Some(guid) = guid else { continue };
            for &(address, _) in to_nodes.iter().filter(|&&(_, to)| to != node) {
                let _ = writeln!(text, "{guid:#018x} {address} {}", level(node, address));
            }
        }
        let mut groups: Vec<(&(NodeId, u16), &u8)> = self.of_groups.iter().collect();
        groups.sort_unstable();
        for (&(node, mlid), level) in groups {
            if let Some(guid) = identifiers[node.index()] {
                let _ = writeln!(text, "{guid:#018x} {mlid} {level}");
            }
        }
        text
    }
}

/// The identifiers by which nodes are sources of paths: those of their adapters, which `ibdmchk -c` knows, or of ports, where an adapter has several.
fn identifiers(network: &Network) -> Vec<Option<u64>> {
    let mut ports: HashMap<u64, u32> = HashMap::new();
    for guid in network.node_ids().filter_map(|node| network.adapter_guid(node)) {
        *ports.entry(guid).or_default() += 1;
    }
    let adapter = |node| network.adapter_guid(node).filter(|guid| ports[guid] == 1);
    network.node_ids().map(|node| adapter(node).or_else(|| network.node_guid(node))).collect()
}
