//! Linear forwarding tables as the subnet manager `OpenSM` dumps and loads them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

use wormcast_network::input::TextLines;
use wormcast_network::watch::step_every;
use wormcast_network::{Network, NodeId, RouterId, as_fabric};

use super::{Code, Column, Destination, ForwardingTables, Output, TablesContext, TablesError, Target};

const EXPECTED: &str =
    "the tables that OpenSM dumps: `Unicast lids …` for each switch, then lines such as `0x0002 036 # …`";
/// The largest unicast address.
pub(super) const MAX_LID: u16 = 0xbfff;
/// The port number that means that there is no path.
const NO_PATH: u32 = 255;

/// The address of an entry, if it is one of a single port and not of a group.
fn unicast_address(address: Option<u16>) -> Result<u16, String> {
    let expected = "an entry needs an address from 0x0001 to 0xbfff";
    match address {
        Some(address @ 1..=MAX_LID) => Ok(address),
        Some(group @ 0xc000..=0xfffe) => Err(format!(
            "{expected}, and {group:#06x} is that of a group: tables of groups are what `--multicast-tables` takes"
        )),
        _ => Err(expected.to_owned()),
    }
}

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
    read_lfts(network, path, &mut TextLines::new(path, text.as_bytes()))
}

/// As [`parse_lfts`], line by line.
pub(super) fn read_lfts(
    network: &Arc<Network>,
    path: &str,
    lines: &mut TextLines<impl BufRead>,
) -> Result<ForwardingTables, TablesError> {
    let file = TablesContext { path, expected: EXPECTED };
    let fabric = as_fabric(network)?;
    let mut dump = Dump::new(network.name(), &fabric, !Arc::ptr_eq(&fabric, network));
    let mut last = 1;
    while let Some((line, content)) = lines.next()? {
        last = line;
        step_every(20, "reading the tables", "lines", line, 0);
        dump.read_line(line, content).map_err(|problem| file.error(line, problem))?;
    }
    let Dump { sections, ends, columns, .. } = dump;
    if sections.is_empty() {
        return Err(file.error(last, "there is no switch"));
    }
    if let Some(line) = ends.missing() {
        return Err(file.error(line, "the table that begins here does not end with `… lids dumped`: is the file cut?"));
    }
    Ok(columns.tables(network))
}

/// Entries by address, as they are read.
struct Columns {
    routers: usize,
    /// By address.
    codes: Vec<Option<Box<[Code]>>>,
    /// Whose an address is, and the line that says so.
    targets: HashMap<u16, (Target, usize)>,
}

impl Columns {
    fn new(fabric: &Network) -> Self {
        Self { routers: fabric.routers(), codes: vec![None; usize::from(MAX_LID) + 1], targets: HashMap::new() }
    }

    fn insert(&mut self, lid: u16, router: RouterId, code: Code) -> Result<(), String> {
        let routers = self.routers;
        let column = self.codes[usize::from(lid)].get_or_insert_with(|| vec![Code::NONE; routers].into());
        let known = std::mem::replace(&mut column[router.index()], code);
        if known != Code::NONE && known != code {
            return Err("the switch has another entry for this address already".to_owned());
        }
        Ok(())
    }

    /// Tables of the addresses whose devices are known.
    fn tables(self, network: &Arc<Network>) -> ForwardingTables {
        let (mut columns, mut unidentified) = (Vec::new(), 0);
        for (lid, codes) in (0u16..).zip(self.codes) {
            let Some(column) = codes.map(Column::Dense) else { continue };
            match self.targets.get(&lid) {
                Some(&(target, _)) => columns.push((Destination { target, address: Some(lid) }, column)),
                None => unidentified += column.len(),
            }
        }
        ForwardingTables::of_columns(network, columns, unidentified)
    }
}

/// What is at the ports of a switch.
struct PortCodes {
    router: RouterId,
    /// By port, once it was asked for.
    known: Vec<Option<Code>>,
}

impl PortCodes {
    fn new(router: RouterId) -> Self {
        Self { router, known: vec![None; NO_PATH as usize] }
    }

    fn at(&mut self, fabric: &Network, port: u32) -> Result<Code, String> {
        if let Some(code) = self.known[port as usize] {
            return Ok(code);
        }
        check_port(fabric, self.router, port)?;
        let code = Code::new(output(fabric, self.router, port));
        self.known[port as usize] = Some(code);
        Ok(code)
    }
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
    read_fdbs(network, path, &mut TextLines::new(path, text.as_bytes()))
}

/// As [`parse_fdbs`], line by line.
pub(super) fn read_fdbs(
    network: &Arc<Network>,
    path: &str,
    lines: &mut TextLines<impl BufRead>,
) -> Result<ForwardingTables, TablesError> {
    let file = TablesContext { path, expected: FDBS_EXPECTED };
    let fabric = as_fabric(network)?;
    let identities = Identities::new(&fabric);
    let mut section: Option<PortCodes> = None;
    let mut sections: HashMap<RouterId, usize> = HashMap::new();
    let mut columns = Columns::new(&fabric);
    let mut last = 1;
    while let Some((line, content)) = lines.next()? {
        last = line;
        step_every(20, "reading the tables", "lines", line, 0);
        let wrong = |problem: String| file.error(line, problem);
        if content.is_empty() || content.starts_with('#') || content.starts_with("LID") {
            continue;
        }
        // Nearly all lines: an address that is reached by another switch, at a port that was met before.
        if let (Some((lid, port)), Some(codes)) = (plain_entry(content.as_bytes()), section.as_ref())
            && let Some(code) = codes.known[usize::from(port)]
            && matches!(code.output(), Some(Output::Channel(_)))
        {
            columns.insert(lid, codes.router, code).map_err(wrong)?;
            continue;
        }
        if let Some((lid, rest)) = content.split_once(':').filter(|_| content.starts_with("0x")) {
            let codes = section.as_mut().ok_or_else(|| wrong("an entry before the first switch".to_owned()))?;
            let lid = unicast_address(u16::from_str_radix(lid[2..].trim(), 16).ok()).map_err(wrong)?;
            let port = rest.split(':').next().unwrap_or("").trim();
            if port == "UNREACHABLE" {
                continue;
            }
            let port = port.parse::<u32>().ok().filter(|&port| port < NO_PATH);
            let port = port.ok_or_else(|| wrong("an entry needs a port from 0 to 254".to_owned()))?;
            let code = codes.at(&fabric, port).map_err(wrong)?;
            let target = match code.output() {
                Some(Output::Own) => Some(Target::Router(codes.router)),
                Some(Output::Node(node)) => Some(Target::Node(node)),
                _ => None,
            };
            if let Some(target) = target {
                let (known, first) = *columns.targets.entry(lid).or_insert((target, line));
                if known != target {
                    return Err(wrong(format!("the address {lid:#06x} leads to another device in line {first}")));
                }
            }
            columns.insert(lid, codes.router, code).map_err(wrong)?;
            continue;
        }
        let head = content.strip_prefix("dump_ucast_routes:").map_or(content, str::trim_start);
        if !head.starts_with("Switch") {
            return Err(wrong(format!("found `{}`", content.chars().take(64).collect::<String>())));
        }
        let guid = hexadecimal_after(head, "0x").ok_or_else(|| wrong("the switch has no identifier".to_owned()))?;
        let unknown = || wrong(format!("`{}` has no switch with the identifier {guid:#018x}", network.name()));
        let router = identities.router(guid).map_err(wrong)?.ok_or_else(unknown)?;
        if let Some(first) = sections.insert(router, line) {
            return Err(wrong(format!("switch {guid:#018x} has a table already, in line {first}")));
        }
        section = Some(PortCodes::new(router));
    }
    if sections.is_empty() {
        return Err(file.error(last, "there is no switch"));
    }
    Ok(columns.tables(network))
}

/// The address and the port of an entry just as `OpenSM` writes it, `0x0002 : 036  : …`; `None` for anything else, which may be one all the same.
fn plain_entry(line: &[u8]) -> Option<(u16, u8)> {
    let &[b'0', b'x', a, b, c, d, b' ', b':', b' ', x, y, z, b' ', b' ', b':', ..] = line else { return None };
    let mut lid = 0;
    for digit in [a, b, c, d] {
        lid = lid << 4 | char::from(digit).to_digit(16)? as u16;
    }
    let mut port = 0;
    for digit in [x, y, z] {
        port = port * 10 + char::from(digit).to_digit(10)?;
    }
    let port = u8::try_from(port).ok().filter(|&port| u32::from(port) < NO_PATH)?;
    (1..=MAX_LID).contains(&lid).then_some((lid, port))
}

/// What the lines of a dump have said so far.
struct Dump<'n> {
    /// The name of the network.
    name: &'n str,
    fabric: &'n Network,
    /// Whether the network has no identifiers and names, and the fabric those that [`as_fabric`] makes.
    made_up: bool,
    /// What switches and nodes are called, where they have the identifiers of their order: a file without identifiers. `None`: several are.
    in_order: HashMap<&'n str, Option<Target>>,
    identities: Identities,
    /// The switch whose table this is.
    section: Option<PortCodes>,
    /// The line in which the table of a switch begins.
    sections: HashMap<RouterId, usize>,
    ends: Ends,
    columns: Columns,
    /// What was said last of the device of each address: mostly the same again.
    about: Vec<Box<str>>,
}

impl<'n> Dump<'n> {
    fn new(name: &'n str, fabric: &'n Network, made_up: bool) -> Self {
        Self {
            name,
            fabric,
            made_up,
            in_order: names_in_order(fabric),
            identities: Identities::new(fabric),
            section: None,
            sections: HashMap::new(),
            ends: Ends::default(),
            columns: Columns::new(fabric),
            about: vec![Box::default(); usize::from(MAX_LID) + 1],
        }
    }

    fn read_line(&mut self, line: usize, content: &str) -> Result<(), String> {
        if content.starts_with("0x") {
            return self.read_entry(line, content);
        }
        if content.is_empty() || content.starts_with('#') {
            return Ok(());
        }
        if content.starts_with("Unicast") {
            return self.begin_table(line, content);
        }
        let head = content.split_whitespace().next().unwrap_or("");
        if content.ends_with("lids dumped") {
            return self.ends.end(head, content.contains(" valid "));
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
        let unknown = || {
            let cut = if content.ends_with(':') {
                ""
            } else {
                "; the line does not end in `:`, so the file may be cut short"
            };
            format!("`{name}` has no switch with the identifier {guid:#018x}{}{cut}", quoted_name(content))
        };
        let router = self.identities.router(guid)?.ok_or_else(unknown)?;
        if let (true, Some(own), Some(given)) = (self.made_up, self.fabric.router_name(router), name_in(content))
            && ![own, ""].contains(&given)
        {
            let given = given.chars().take(64).collect::<String>();
            return Err(format!(
                "`{name}` has no identifiers of its own, and the switch with the number {guid:#x} is called `{own}` in it, not `{given}`: the tables are of another network"
            ));
        }
        self.check_name(guid, Target::Router(router), content)?;
        if let Some(first) = self.sections.insert(router, line) {
            return Err(format!("switch {guid:#018x} has a table already, in line {first}"));
        }
        self.section = Some(PortCodes::new(router));
        self.ends.begin(line, content);
        Ok(())
    }

    fn read_entry(&mut self, line: usize, content: &str) -> Result<(), String> {
        if self.section.is_none() {
            return Err("an entry before the first switch".to_owned());
        }
        self.ends.count_entry()?;
        let (lid, rest) = content.split_once(char::is_whitespace).unwrap_or((content, ""));
        let lid = lid.strip_prefix("0x").and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let lid = unicast_address(lid)?;
        let rest = rest.trim_start();
        let (port, about) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if port == "UNREACHABLE" {
            return Ok(());
        }
        let port = port.parse::<u32>().ok().filter(|&port| port <= NO_PATH);
        let port = port.ok_or("an entry needs a port from 0 to 255")?;
        let codes = self.section.as_mut().ok_or("an entry before the first switch")?;
        let (router, code) = match port {
            NO_PATH => (codes.router, Code::NONE),
            port => (codes.router, codes.at(self.fabric, port)?),
        };
        if *self.about[usize::from(lid)] != *about {
            self.identify(lid, line, about)?;
            self.about[usize::from(lid)] = about.into();
        }
        if code == Code::NONE { Ok(()) } else { self.columns.insert(lid, router, code) }
    }

    /// Whose the address of an entry is, if what stands behind it says so.
    fn identify(&mut self, lid: u16, line: usize, about: &str) -> Result<(), String> {
        let Some(guid) = hexadecimal_after(about, "portguid 0x") else { return Ok(()) };
        let name = self.name;
        let unknown = || format!("`{name}` has no port with the identifier {guid:#018x}{}", quoted_name(about));
        let target = self.identities.target(guid)?.ok_or_else(unknown)?;
        let (known, first) = *self.columns.targets.entry(lid).or_insert((target, line));
        if known != target {
            return Err(format!("the address {lid:#06x} is another device's in line {first}"));
        }
        self.check_name(guid, target, about)
    }

    /// That a device which is found by the identifier of its place in the network's file is not called there as another one is here.
    fn check_name(&self, guid: u64, found: Target, content: &str) -> Result<(), String> {
        let Some(given) = name_in(content) else { return Ok(()) };
        let own = match found {
            Target::Router(router) => self.fabric.router_name(router),
            Target::Node(node) => self.fabric.node_name(node),
        };
        let (Some(own), Some(&Some(other))) = (own.filter(|&own| own != given), self.in_order.get(given)) else {
            return Ok(());
        };
        if other == found {
            return Ok(());
        }
        Err(format!(
            "`{}` numbers its devices by position, so {guid:#018x} is `{own}` there, not `{given}`, which is another device: does it list them in another order than the tables expect?",
            self.name
        ))
    }
}

/// What switches and nodes are called, if the identifiers of the switches are consecutive.
fn names_in_order(fabric: &Network) -> HashMap<&str, Option<Target>> {
    let mut names = HashMap::new();
    let guid = |router: RouterId| fabric.router_guid(router);
    let first = fabric.router_ids().next().and_then(guid);
    if !(0..)
        .zip(fabric.router_ids())
        .all(|(place, router)| guid(router) == first.map(|first| first.wrapping_add(place)))
    {
        return names;
    }
    let routers = fabric.router_ids().filter_map(|router| Some((fabric.router_name(router)?, Target::Router(router))));
    let nodes = fabric.node_ids().filter_map(|node| Some((fabric.node_name(node)?, Target::Node(node))));
    for (name, target) in routers.chain(nodes) {
        names.entry(name).and_modify(|known| *known = None).or_insert(Some(target));
    }
    names
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

    /// A table ends with this number: of entries, as `dump_lfts` counts those that are valid, or else the largest address, as `OpenSM` writes.
    fn end(&mut self, number: &str, is_count: bool) -> Result<(), String> {
        let Open { line, entries, largest } = self.open.take().ok_or_else(|| "no table ends here".to_owned())?;
        match number.parse::<u64>().ok() {
            Some(count) if count == entries || !is_count && Some(count) == largest => Ok(()),
            _ => {
                let number = number.chars().take(64).collect::<String>();
                Err(format!(
                    "the table that begins in line {line} has {}, not {number}: is something missing?",
                    entries_of(entries)
                ))
            }
        }
    }

    /// The first line of a table without an end.
    fn missing(&self) -> Option<usize> {
        self.unended.or(self.open.as_ref().map(|open| open.line))
    }
}

/// A number of entries in words.
pub(super) fn entries_of(count: u64) -> String {
    format!("{count} entr{}", if count == 1 { "y" } else { "ies" })
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
        let taken: HashSet<u16> = destinations.iter().filter_map(|d| d.address).collect();
        let mut free = (1..=MAX_LID).filter(|lid| !taken.contains(lid));
        let addresses: Option<Vec<u16>> = destinations.iter().map(|d| d.address.or_else(|| free.next())).collect();
        let too_many = || TablesError::TooManyDestinations { limit: usize::from(MAX_LID) };
        Ok(Self { tables, fabric, addresses: addresses.ok_or_else(too_many)? })
    }

    /// The first address of a device.
    pub(super) fn address_of(&self, target: Target) -> Option<u16> {
        self.tables.addresses_of(target).next().map(|destination| self.addresses[destination])
    }

    /// An address of each switch: the first that it has, or one that is free.
    ///
    /// # Errors
    /// If there are not enough.
    pub(super) fn of_switches(&self) -> Result<Vec<u16>, TablesError> {
        let taken: HashSet<u16> = self.addresses.iter().copied().collect();
        let mut free = (1..=MAX_LID).filter(|lid| !taken.contains(lid));
        let routers = self.fabric.router_ids();
        let own = routers.map(|router| self.address_of(Target::Router(router)).or_else(|| free.next()));
        own.collect::<Option<_>>().ok_or(TablesError::TooManyDestinations { limit: usize::from(MAX_LID) })
    }

    /// The addresses of all destinations and switches, as `OpenSM` keeps them in `guid2lid`, if the tables leave any of them open: `OpenSM` has to have the ones
    /// that a [matrix of hops](super::HopMatrix::text) is about.
    ///
    /// # Errors
    /// If there are more destinations and switches than addresses.
    pub fn guid2lid(&self) -> Result<Option<String>, TablesError> {
        let destinations = self.tables.destinations();
        let is_told = |router| self.address_of(Target::Router(router)).is_some();
        if destinations.iter().all(|to| to.address.is_some()) && self.fabric.router_ids().all(is_told) {
            return Ok(None);
        }
        // By identifier, the least and the greatest.
        let mut known: BTreeMap<u64, (u16, u16)> = BTreeMap::new();
        for (router, address) in self.fabric.router_ids().zip(self.of_switches()?) {
            known.insert(self.fabric.router_guid(router).unwrap_or(0), (address, address));
        }
        for (destination, &address) in destinations.iter().zip(&self.addresses) {
            let guid = match destination.target {
                Target::Node(node) => self.fabric.node_guid(node),
                Target::Router(router) => self.fabric.router_guid(router),
            };
            let (least, greatest) = known.entry(guid.unwrap_or(0)).or_insert((address, address));
            (*least, *greatest) = (address.min(*least), address.max(*greatest));
        }
        let line = |(guid, (least, greatest))| format!("{guid:#018x} {least:#06x} {greatest:#06x}\n\n");
        Ok(Some(known.into_iter().map(line).collect()))
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
