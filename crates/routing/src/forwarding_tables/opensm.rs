//! Linear forwarding tables as the subnet manager `OpenSM` dumps and loads them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use wormcast_network::{Network, NodeId, RouterId, as_fabric};

use super::{Destination, ForwardingTables, Output, TablesContext, TablesError, Target};

const EXPECTED: &str =
    "the tables that OpenSM dumps: `Unicast lids …` for each switch, then lines such as `0x0002 036 # …`";
/// The largest unicast address.
const MAX_LID: u16 = 0xbfff;
/// The port number that means that there is no path.
const NO_PATH: u32 = 255;

/// Which of the network's devices has which identifier; `None`: several have it.
pub(super) struct Identities {
    routers: HashMap<u64, Option<RouterId>>,
    nodes: HashMap<u64, Option<NodeId>>,
}

impl Identities {
    pub(super) fn new(fabric: &Network) -> Self {
        let (mut routers, mut nodes) = (HashMap::new(), HashMap::new());
        for router in fabric.router_ids() {
            if let Some(guid) = fabric.router_guid(router) {
                routers.entry(guid).and_modify(|known| *known = None).or_insert(Some(router));
            }
        }
        for node in fabric.node_ids() {
            if let Some(guid) = fabric.node_guid(node) {
                nodes.entry(guid).and_modify(|known| *known = None).or_insert(Some(node));
            }
        }
        Self { routers, nodes }
    }

    pub(super) fn router(&self, guid: u64) -> Result<Option<RouterId>, String> {
        unique(guid, self.routers.get(&guid))
    }

    pub(super) fn target(&self, guid: u64) -> Result<Option<Target>, String> {
        match unique(guid, self.nodes.get(&guid))? {
            Some(node) => Ok(Some(Target::Node(node))),
            None => Ok(self.router(guid)?.map(Target::Router)),
        }
    }
}

fn unique<T: Copy>(guid: u64, known: Option<&Option<T>>) -> Result<Option<T>, String> {
    match known {
        Some(None) => Err(format!("several devices of the network have the identifier {guid:#018x}")),
        known => Ok(known.copied().flatten()),
    }
}

/// Reads the tables that `OpenSM` dumps (`opensm-lfts.dump`, which `opensm -R file -U` loads) or that `dump_lfts` prints.
///
/// Switches and ports of adapters are found in the network by their globally unique identifiers, outputs by port numbers; in a
/// network without either, by those of [`as_fabric`]. Entries for addresses that the dump does not identify, because their
/// devices had gone, are [left out](ForwardingTables::unidentified). Linear in the text.
///
/// Each table ends with `12 lids dumped`, so that a truncated file is noticed. The number is that of the table's entries, as
/// `dump_lfts` counts them, or the largest address, as `OpenSM` writes it, which is that of the first line.
///
/// # Errors
/// If the text is not such a dump, contradicts itself, or belongs to another network.
pub fn parse_lfts(network: &Arc<Network>, path: &str, text: &str) -> Result<ForwardingTables, TablesError> {
    let file = TablesContext { path, expected: EXPECTED };
    let fabric = as_fabric(network)?;
    let mut dump = Dump::new(network.name(), &fabric, !Arc::ptr_eq(&fabric, network));
    for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        dump.read_line(line, content.trim()).map_err(|problem| file.error(line, problem))?;
    }
    let Dump { sections, ends, targets, found, .. } = dump;
    if sections.is_empty() {
        return Err(file.error(text.lines().count().max(1), "there is no switch"));
    }
    if let Some(line) = ends.missing() {
        return Err(file.error(line, "the table that begins here does not end with `… lids dumped`: is the file cut?"));
    }
    tables_of(network, file, &found, &targets)
}

const FDBS_EXPECTED: &str =
    "the tables that OpenSM writes to `opensm.fdbs`: `Switch 0x…`, then lines such as `0x0002 : 036  : 01   : yes`";

/// Whether a text has the form that [`parse_fdbs`] reads.
pub(super) fn is_fdbs(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    lines.any(|line| line.starts_with("dump_ucast_routes") || line.starts_with("Switch 0x"))
}

/// Reads the tables that `OpenSM` writes to `opensm.fdbs`: `dump_ucast_routes: Switch 0x…`, then for each address its port, hops, and whether these are the
/// fewest.
///
/// The file does not say whose an address is. It is the device at the port where packets for it leave the last switch, or the switch whose own port 0 they
/// go to; an address that leads to no device is [left out](ForwardingTables::unidentified). Linear in the text.
///
/// # Errors
/// If the text is not such a file or belongs to another network, or if an address leads to two devices.
pub fn parse_fdbs(network: &Arc<Network>, path: &str, text: &str) -> Result<ForwardingTables, TablesError> {
    let file = TablesContext { path, expected: FDBS_EXPECTED };
    let fabric = as_fabric(network)?;
    let identities = Identities::new(&fabric);
    let mut section: Option<RouterId> = None;
    let mut sections: HashMap<RouterId, usize> = HashMap::new();
    let mut targets: HashMap<u16, (Target, usize)> = HashMap::new();
    let mut found: Vec<(u16, RouterId, Output, usize)> = Vec::new();
    for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let wrong = |problem: String| file.error(line, problem);
        let content = content.trim();
        if content.is_empty() || content.starts_with('#') || content.starts_with("LID") {
            continue;
        }
        let head = content.strip_prefix("dump_ucast_routes:").map_or(content, str::trim_start);
        if head.starts_with("Switch") {
            let guid = hexadecimal_after(head, "0x").ok_or_else(|| wrong("the switch has no identifier".to_owned()))?;
            let unknown = || wrong(format!("`{}` has no switch with the identifier {guid:#018x}", network.name()));
            let router = identities.router(guid).map_err(wrong)?.ok_or_else(unknown)?;
            if let Some(first) = sections.insert(router, line) {
                return Err(wrong(format!("switch {guid:#018x} has a table already, in line {first}")));
            }
            section = Some(router);
            continue;
        }
        let Some((lid, rest)) = content.split_once(':').filter(|_| content.starts_with("0x")) else {
            return Err(wrong(format!("found `{}`", content.chars().take(64).collect::<String>())));
        };
        let router = section.ok_or_else(|| wrong("an entry before the first switch".to_owned()))?;
        let lid = u16::from_str_radix(lid[2..].trim(), 16).ok().filter(|lid| (1..=MAX_LID).contains(lid));
        let lid = lid.ok_or_else(|| wrong("an entry needs an address from 0x0001 to 0xbfff".to_owned()))?;
        let port = rest.split(':').next().unwrap_or("").trim();
        if port == "UNREACHABLE" {
            continue;
        }
        let port = port.parse::<u32>().ok().filter(|&port| port < NO_PATH);
        let port = port.ok_or_else(|| wrong("an entry needs a port from 0 to 254".to_owned()))?;
        check_port(&fabric, router, port).map_err(wrong)?;
        let output = output(&fabric, router, port);
        let target = match output {
            Output::Own => Some(Target::Router(router)),
            Output::Node(node) => Some(Target::Node(node)),
            Output::Channel(_) | Output::Nowhere(_) => None,
        };
        if let Some(target) = target {
            let (known, first) = *targets.entry(lid).or_insert((target, line));
            if known != target {
                return Err(wrong(format!("the address {lid:#06x} leads to another device in line {first}")));
            }
        }
        found.push((lid, router, output, line));
    }
    if sections.is_empty() {
        return Err(file.error(text.lines().count().max(1), "there is no switch"));
    }
    tables_of(network, file, &found, &targets)
}

/// Tables from entries (address, router, output, line) for addresses whose devices are known; those for others are left out.
fn tables_of(
    network: &Arc<Network>,
    file: TablesContext<'_>,
    found: &[(u16, RouterId, Output, usize)],
    targets: &HashMap<u16, (Target, usize)>,
) -> Result<ForwardingTables, TablesError> {
    let mut lines = Vec::with_capacity(found.len());
    let mut entries = Vec::with_capacity(found.len());
    for &(lid, router, output, line) in found {
        if let Some(&(target, _)) = targets.get(&lid) {
            entries.push((Destination { target, address: Some(lid) }, router, output));
            lines.push(line);
        }
    }
    let mut tables = ForwardingTables::new(network, &entries)
        .map_err(|position| file.error(lines[position], "the switch has another entry for this address already"))?;
    tables.unidentified = found.len() - entries.len();
    Ok(tables)
}

/// What the lines of a dump have said so far.
struct Dump<'n> {
    /// The name of the network.
    name: &'n str,
    fabric: &'n Network,
    /// Whether the network has no identifiers and names, and the fabric those that [`as_fabric`] makes.
    made_up: bool,
    identities: Identities,
    /// The switch whose table this is.
    section: Option<RouterId>,
    /// The line in which the table of a switch begins.
    sections: HashMap<RouterId, usize>,
    ends: Ends,
    /// Whose an address is, and the line that says so.
    targets: HashMap<u16, (Target, usize)>,
    /// Entries: address, router, output, line.
    found: Vec<(u16, RouterId, Output, usize)>,
}

impl<'n> Dump<'n> {
    fn new(name: &'n str, fabric: &'n Network, made_up: bool) -> Self {
        Self {
            name,
            fabric,
            made_up,
            identities: Identities::new(fabric),
            section: None,
            sections: HashMap::new(),
            ends: Ends::default(),
            targets: HashMap::new(),
            found: Vec::new(),
        }
    }

    fn read_line(&mut self, line: usize, content: &str) -> Result<(), String> {
        if content.is_empty() || content.starts_with('#') {
            return Ok(());
        }
        if content.starts_with("Unicast") {
            return self.begin_table(line, content);
        }
        if content.starts_with("0x") {
            return self.read_entry(line, content);
        }
        let head = content.split_whitespace().next().unwrap_or("");
        if content.ends_with("lids dumped") {
            return self.ends.end(head);
        }
        if ["Lid", "Port", "***"].contains(&head) {
            return Ok(());
        }
        let kind = if head == "Multicast" { "multicast tables" } else { head };
        Err(format!("found `{}`", kind.chars().take(64).collect::<String>()))
    }

    fn begin_table(&mut self, line: usize, content: &str) -> Result<(), String> {
        let guid = hexadecimal_after(content, " guid 0x").ok_or("the switch has no guid")?;
        let name = self.name;
        let unknown = || format!("`{name}` has no switch with the identifier {guid:#018x}{}", quoted_name(content));
        let router = self.identities.router(guid)?.ok_or_else(unknown)?;
        if let (true, Some(own), Some(given)) = (self.made_up, self.fabric.router_name(router), name_in(content))
            && ![own, ""].contains(&given)
        {
            let given = given.chars().take(64).collect::<String>();
            return Err(format!(
                "`{name}` has no identifiers of its own, and the switch with the number {guid:#x} is called `{own}` in it, not `{given}`: the tables are of another network"
            ));
        }
        if let Some(first) = self.sections.insert(router, line) {
            return Err(format!("switch {guid:#018x} has a table already, in line {first}"));
        }
        self.section = Some(router);
        self.ends.begin(line, content);
        Ok(())
    }

    fn read_entry(&mut self, line: usize, content: &str) -> Result<(), String> {
        let router = self.section.ok_or("an entry before the first switch")?;
        self.ends.count_entry()?;
        let (lid, rest) = content.split_once(char::is_whitespace).unwrap_or((content, ""));
        let lid = lid.strip_prefix("0x").and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let lid = lid.filter(|lid| (1..=MAX_LID).contains(lid));
        let lid = lid.ok_or("an entry needs an address from 0x0001 to 0xbfff")?;
        let rest = rest.trim_start();
        let (port, about) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if port == "UNREACHABLE" {
            return Ok(());
        }
        let port = port.parse::<u32>().ok().filter(|&port| port <= 255);
        let port = port.ok_or("an entry needs a port from 0 to 255")?;
        check_port(self.fabric, router, port)?;
        self.identify(lid, line, about)?;
        if port != NO_PATH {
            self.found.push((lid, router, output(self.fabric, router, port), line));
        }
        Ok(())
    }

    /// Whose the address of an entry is, if what stands behind it says so.
    fn identify(&mut self, lid: u16, line: usize, about: &str) -> Result<(), String> {
        let Some(guid) = hexadecimal_after(about, "portguid 0x") else { return Ok(()) };
        let name = self.name;
        let unknown = || format!("`{name}` has no port with the identifier {guid:#018x}{}", quoted_name(about));
        let target = self.identities.target(guid)?.ok_or_else(unknown)?;
        let (known, first) = *self.targets.entry(lid).or_insert((target, line));
        if known != target {
            return Err(format!("the address {lid:#06x} is another device's in line {first}"));
        }
        Ok(())
    }
}

/// A table whose end has not come yet.
struct Open {
    /// Its first line.
    line: usize,
    entries: u64,
    /// The largest address, as the first line has it.
    largest: Option<u64>,
}

/// Tables and their ends.
#[derive(Default)]
struct Ends {
    open: Option<Open>,
    /// The first line of a table that another one follows without an end between them.
    unended: Option<usize>,
}

impl Ends {
    /// A table begins with this line.
    fn begin(&mut self, line: usize, content: &str) {
        let began = Open { line, entries: 0, largest: largest_address(content) };
        let before = self.open.replace(began).map(|open| open.line);
        self.unended = self.unended.or(before);
    }

    fn count_entry(&mut self) -> Result<(), String> {
        let open = self.open.as_mut().ok_or_else(|| "an entry after the end of its table".to_owned())?;
        open.entries += 1;
        Ok(())
    }

    /// A table ends with this number.
    fn end(&mut self, number: &str) -> Result<(), String> {
        let Open { line, entries, largest } = self.open.take().ok_or_else(|| "no table ends here".to_owned())?;
        match number.parse::<u64>().ok() {
            Some(count) if count == entries || Some(count) == largest => Ok(()),
            _ => {
                let number = number.chars().take(64).collect::<String>();
                Err(format!(
                    "the table that begins in line {line} has {entries} entries, not {number}: is something missing?"
                ))
            }
        }
    }

    /// The first line of a table without an end.
    fn missing(&self) -> Option<usize> {
        self.unended.or(self.open.as_ref().map(|open| open.line))
    }
}

/// That a switch has a port of this number, if its file says how many there are.
pub(super) fn check_port(fabric: &Network, router: RouterId, port: u32) -> Result<(), String> {
    match fabric.router_ports(router).filter(|&ports| port > ports && port != NO_PATH) {
        Some(ports) => Err(format!("`{}` has no port {port}: it has {ports}", fabric.router_label(router))),
        None => Ok(()),
    }
}

/// The end of `Unicast lids [0-18] of switch …`, or of `[0x0-0x12]`.
fn largest_address(line: &str) -> Option<u64> {
    let (range, _) = line.split_once('[')?.1.split_once(']')?;
    let largest = range.split_once('-')?.1.trim();
    match largest.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => largest.parse().ok(),
    }
}

/// What is at a port of a switch.
pub(super) fn output(fabric: &Network, router: RouterId, port: u32) -> Output {
    if port == 0 {
        return Output::Own;
    }
    let channel = fabric.channel_by_port(router, port).map(Output::Channel);
    let node = || fabric.node_by_port(router, port).map(Output::Node);
    channel.or_else(node).unwrap_or(Output::Nowhere(port))
}

/// The number behind the first such mark.
pub(super) fn hexadecimal_after(text: &str, mark: &str) -> Option<u64> {
    let (_, digits) = text.split_once(mark)?;
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    u64::from_str_radix(&digits[..end], 16).ok()
}

/// The name that a line ends with, as ` (…)`.
pub(super) fn quoted_name(line: &str) -> String {
    name_in(line).map_or_else(String::new, |name| format!(" ({})", name.chars().take(64).collect::<String>()))
}

fn name_in(line: &str) -> Option<&str> {
    Some(line.split_once('\'')?.1.rsplit_once('\'')?.0)
}

/// Tables as `OpenSM` dumps them, so that `opensm -R file -U` loads them unchanged.
///
/// Destinations without an address get the smallest ones that are free: `OpenSM` finds devices by their identifiers, and gives them
/// addresses of its own.
pub struct NetworkLfts<'t> {
    tables: &'t ForwardingTables,
    fabric: Arc<Network>,
    /// By destination.
    addresses: Vec<u16>,
}

impl<'t> NetworkLfts<'t> {
    /// Tables of this network.
    ///
    /// # Errors
    /// If the network does not fit into a fabric: a switch has at most 254 ports, and there are 49,151 addresses.
    pub fn new(tables: &'t ForwardingTables) -> Result<Self, TablesError> {
        let fabric = as_fabric(&tables.network)?;
        let destinations = tables.destinations();
        let taken: std::collections::HashSet<u16> = destinations.iter().filter_map(|d| d.address).collect();
        let mut free = (1..=MAX_LID).filter(|lid| !taken.contains(lid));
        let addresses: Option<Vec<u16>> = destinations.iter().map(|d| d.address.or_else(|| free.next())).collect();
        let too_many = || TablesError::TooManyDestinations { limit: usize::from(MAX_LID) };
        Ok(Self { tables, fabric, addresses: addresses.ok_or_else(too_many)? })
    }

    /// The first address of a device.
    pub(super) fn address_of(&self, target: Target) -> Option<u16> {
        self.tables.addresses_of(target).next().map(|destination| self.addresses[destination])
    }

    fn port(&self, output: Output) -> u32 {
        match output {
            Output::Channel(channel) => self.fabric.port_of(channel).unwrap_or(NO_PATH),
            Output::Node(node) => self.fabric.node_port(node).unwrap_or(NO_PATH),
            Output::Own => 0,
            Output::Nowhere(port) => port,
        }
    }
}

impl fmt::Display for NetworkLfts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fabric = self.fabric.as_ref();
        let mut rows: Vec<Vec<(u16, usize, u32)>> = vec![Vec::new(); fabric.routers()];
        for (file, &lid) in self.addresses.iter().enumerate() {
            for (router, output) in self.tables.entries_for(file) {
                rows[router.index()].push((lid, file, self.port(output)));
            }
        }
        let last = self.addresses.iter().max().copied().unwrap_or(0);
        for (router, mut row) in fabric.router_ids().zip(rows) {
            row.sort_unstable();
            let own = self.tables.addresses_of(Target::Router(router)).next().map_or(0, |file| self.addresses[file]);
            let (guid, name) = (fabric.router_guid(router).unwrap_or(0), fabric.router_name(router).unwrap_or(""));
            writeln!(f, "Unicast lids [0-{last}] of switch Lid {own} guid {guid:#018x} ('{name}'):")?;
            for &(lid, file, port) in &row {
                let (kind, guid, name) = match self.tables.destinations()[file].target {
                    Target::Node(node) => ("Channel Adapter", fabric.node_guid(node), fabric.node_name(node)),
                    Target::Router(router) => ("Switch", fabric.router_guid(router), fabric.router_name(router)),
                };
                let (guid, name) = (guid.unwrap_or(0), name.unwrap_or(""));
                writeln!(f, "{lid:#06x} {port:03} # {kind} portguid {guid:#018x}: '{name}'")?;
            }
            writeln!(f, "{} lids dumped", row.len())?;
        }
        Ok(())
    }
}
