//! The files of multicast tables.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use wormcast_network::input::input_name;
use wormcast_network::{MAX_FILE_BYTES, Network, RouterId, as_fabric};

use super::{Mask, MulticastGroup, MulticastTables};
use crate::forwarding_tables::opensm::{Identities, check_port, entries_of, hexadecimal_after, output, quoted_name};
use crate::forwarding_tables::{Output, TablesContext, TablesError, text_of};

const EXPECTED: &str = "multicast tables as OpenSM writes them to `opensm.mcfdbs` (`Switch 0x…`, then lines such as `0xC001 : 0x001  0x002`), \
                        or as `dump_mfts` prints them (`Multicast mlids … of switch …`, then a line of crosses for each group)";

/// The addresses of groups.
const MLIDS: std::ops::RangeInclusive<u32> = 0xc000..=0xfffe;

/// Multicast tables as `OpenSM` writes them to `opensm.mcfdbs`: switches in the order of identifiers whose bytes are read backwards, without those that
/// have no entries.
pub struct NetworkMcfdbs<'t> {
    tables: &'t MulticastTables,
    fabric: Arc<Network>,
}

impl<'t> NetworkMcfdbs<'t> {
    /// Multicast tables of this network.
    ///
    /// # Errors
    /// If the network does not fit into a fabric.
    pub fn new(tables: &'t MulticastTables) -> Result<Self, TablesError> {
        Ok(Self { tables, fabric: as_fabric(&tables.network)? })
    }
}

impl fmt::Display for NetworkMcfdbs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fabric = &*self.fabric;
        let mut routers: Vec<RouterId> = fabric.router_ids().collect();
        routers.sort_by_key(|&router| fabric.router_guid(router).map(u64::swap_bytes));
        for router in routers {
            let mut is_first = true;
            for group in &self.tables.groups {
                let Some(mask) = group.mask(router) else { continue };
                let channels = mask.channels.iter().filter_map(|&channel| fabric.port_of(channel));
                let nodes = mask.nodes.iter().filter_map(|&node| fabric.node_port(node));
                let own = mask.own.then_some(0);
                let mut ports: Vec<u32> = own.into_iter().chain(channels).chain(nodes).collect();
                ports.extend(&mask.nowhere);
                if ports.is_empty() {
                    continue;
                }
                ports.sort_unstable();
                if std::mem::take(&mut is_first) {
                    let guid = fabric.router_guid(router).unwrap_or(0);
                    write!(f, "\nSwitch {guid:#018x}\nLID    : Out Port(s)\n")?;
                }
                write!(f, "0x{:04X} :", group.mlid)?;
                ports.iter().try_for_each(|port| write!(f, " 0x{port:03X} "))?;
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

/// What [`read_multicast_tables`] reads, as [`TABLES_INPUT`](crate::TABLES_INPUT).
pub const MULTICAST_TABLES_INPUT: &str = "the multicast tables";

/// Reads multicast tables for a network, in one of the two forms that [`parse_multicast_tables`] takes.
///
/// # Errors
/// If the file cannot be read or is not understood.
pub fn read_multicast_tables(network: &Arc<Network>, path: &str) -> Result<MulticastTables, TablesError> {
    let text = text_of(path, MULTICAST_TABLES_INPUT, MAX_FILE_BYTES)?;
    parse_multicast_tables(network, input_name(path), &text)
}

/// Reads multicast tables: what `OpenSM` writes to `opensm.mcfdbs`, or what `dump_mfts` (`dump_fts -M`) and `ibroute -M` print.
///
/// Switches are found by their identifiers; in a network without any, by those of [`as_fabric`]. Several parts for one switch, as of a table that is printed by blocks, are joined.
///
/// # Errors
/// If the text is of neither form, or belongs to another network.
pub fn parse_multicast_tables(network: &Arc<Network>, path: &str, text: &str) -> Result<MulticastTables, TablesError> {
    let file = TablesContext { path, expected: EXPECTED };
    let fabric = as_fabric(network)?;
    let identities = Identities::new(&fabric);
    let mut section: Option<(RouterId, bool)> = None;
    let mut groups: BTreeMap<u16, HashMap<RouterId, Mask>> = BTreeMap::new();
    let mut lines = HashMap::new();
    let mut signs = Signs::default();
    for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let wrong = |problem: String| file.error(line, problem);
        let trimmed = content.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if let Some((guid, crosses)) = begins(trimmed) {
            let guid = guid.ok_or_else(|| wrong("the switch has no identifier".to_owned()))?;
            let unknown = || {
                wrong(format!(
                    "`{}` has no switch with the identifier {guid:#018x}{}",
                    network.name(),
                    quoted_name(trimmed)
                ))
            };
            signs.section(line, !crosses);
            let router = identities.router(guid).map_err(wrong)?.ok_or_else(unknown)?;
            if crosses {
                signs.printed.insert(router);
            }
            section = Some((router, crosses));
            continue;
        }
        if trimmed.starts_with("0x") {
            let (router, crosses) = section.ok_or_else(|| wrong("an entry before the first switch".to_owned()))?;
            let (mlid, ports) = if crosses { crossed(content) } else { listed(trimmed) }.map_err(wrong)?;
            signs.entry(line, ports.is_empty());
            if let Some(before) = lines.insert((mlid, router), line) {
                let switch = network.router_label(router);
                return Err(wrong(format!("{switch} has an entry for {mlid:#06x} already, in line {before}")));
            }
            let mask = groups.entry(mlid).or_default().entry(router).or_default();
            for port in ports {
                check_port(&fabric, router, port).map_err(wrong)?;
                match output(&fabric, router, port) {
                    Output::Own => mask.own = true,
                    Output::Channel(channel) => put(&mut mask.channels, channel),
                    Output::Node(node) => put(&mut mask.nodes, node),
                    Output::Nowhere(port) => put(&mut mask.nowhere, port),
                }
            }
            continue;
        }
        let head = trimmed.split_whitespace().next().unwrap_or("");
        if trimmed.ends_with("mlids dumped") {
            signs.count(line, head);
            continue;
        }
        let is_header = ["LID", "MLid", "Ports:", "***"].contains(&head)
            || trimmed.chars().all(|c| c.is_ascii_digit() || c.is_whitespace());
        if !is_header {
            let kind = if head == "Unicast" { "unicast tables" } else { head };
            return Err(wrong(format!("found `{}`", kind.chars().take(64).collect::<String>())));
        }
    }
    if section.is_none() {
        let problem = if text.trim().is_empty() {
            "there is no switch: OpenSM writes none if no group has two members; leave the multicast tables out then"
        } else {
            "there is no switch"
        };
        return Err(file.error(text.lines().count().max(1), problem));
    }
    let groups = groups.into_iter().map(|(mlid, masks)| MulticastGroup { mlid, masks, members: None }).collect();
    let lacking = fabric.router_ids().find(|router| !signs.printed.is_empty() && !signs.printed.contains(router));
    let lacking = lacking.map(|router| {
        let count = fabric.routers() - signs.printed.len();
        let others = if count > 1 {
            format!(" and {} other{}", count - 1, if count > 2 { "s" } else { "" })
        } else {
            String::new()
        };
        format!("there is no table of {}{others}", fabric.router_label(router))
    });
    let sign = signs.of_a_cut(text).or_else(|| Some((text.lines().count(), lacking?)));
    let doubt = sign.map(|(line, sign)| format!("{path}:{line}: {sign}: is the file truncated?"));
    Ok(MulticastTables { network: Arc::clone(network), groups, doubt })
}

/// What tells that a file ends before its end, as `OpenSM` writes it or `dump_mfts` prints it.
#[derive(Default)]
struct Signs {
    /// The line of a switch that has no entries so far.
    without_entries: Option<usize>,
    /// Where crosses are: the line in which a switch's part begins whose end has not come, and its entries so far.
    unended: Option<(usize, u64)>,
    /// The switches with crosses.
    printed: HashSet<RouterId>,
    found: Option<(usize, String)>,
}

impl Signs {
    fn found(&mut self, line: usize, sign: impl Into<String>) {
        if self.found.is_none() {
            self.found = Some((line, sign.into()));
        }
    }

    fn section(&mut self, line: usize, is_listed: bool) {
        self.end_of_section();
        if is_listed {
            self.without_entries = Some(line);
        } else {
            self.unended = Some((line, 0));
        }
    }

    fn entry(&mut self, line: usize, is_empty: bool) {
        self.without_entries = None;
        if let Some((_, entries)) = &mut self.unended {
            *entries += 1;
        }
        if is_empty {
            self.found(line, "the entry has no ports");
        }
    }

    /// The last line of a switch's part, with the number of its entries.
    fn count(&mut self, line: usize, number: &str) {
        if let Some((first, entries)) = self.unended.take()
            && number.parse() != Ok(entries)
        {
            let number = number.chars().take(64).collect::<String>();
            self.found(
                line,
                format!("the table that begins in line {first} has {}, not {number}", entries_of(entries)),
            );
        }
    }

    fn end_of_section(&mut self) {
        if let Some(line) = self.without_entries.take() {
            self.found(line, "the switch has no entries");
        }
        if let Some((line, _)) = self.unended.take() {
            self.found(line, "the table that begins here does not end with `… valid mlids dumped`");
        }
    }

    /// The first sign, and its line.
    fn of_a_cut(mut self, text: &str) -> Option<(usize, String)> {
        self.end_of_section();
        let unended = (!text.ends_with('\n')).then(|| (text.lines().count(), "the last line has no end".to_owned()));
        self.found.or(unended)
    }
}

fn put<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// The switch that a line begins the table of, and whether its entries are crosses.
fn begins(line: &str) -> Option<(Option<u64>, bool)> {
    if let Some(rest) = line.strip_prefix("Switch ") {
        return Some((hexadecimal_after(rest, "0x"), false));
    }
    line.starts_with("Multicast").then(|| (hexadecimal_after(line, " guid 0x"), true))
}

/// An entry as `0xC001 : 0x001  0x002`.
fn listed(line: &str) -> Result<(u16, Vec<u32>), String> {
    let (mlid, ports) = line.split_once(':').ok_or("an entry needs a `:` between the group and its ports")?;
    let port = |text: &str| {
        let number = text.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
        number.filter(|&port| port <= 254).ok_or_else(|| format!("`{text}` is no port from 0x000 to 0x0fe"))
    };
    Ok((mlid_of(mlid.trim())?, ports.split_whitespace().map(port).collect::<Result<_, _>>()?))
}

/// An entry as `0xc001      x   x`: the cross of port p is in column 12 + 2p.
fn crossed(line: &str) -> Result<(u16, Vec<u32>), String> {
    const FIRST: usize = 12;
    let start = line.find("0x").unwrap_or(0);
    let mlid = line[start..].split_whitespace().next().unwrap_or("");
    let mut ports = Vec::new();
    for (column, letter) in
        line.char_indices().filter(|&(column, letter)| column >= start + mlid.len() && !letter.is_whitespace())
    {
        if letter != 'x' || column < FIRST || !(column - FIRST).is_multiple_of(2) {
            return Err(format!(
                "found `{letter}` in column {}: crosses are in every second column from {} on",
                column + 1,
                FIRST + 1
            ));
        }
        ports.push(((column - FIRST) / 2) as u32);
    }
    Ok((mlid_of(mlid)?, ports))
}

pub(in crate::forwarding_tables) fn mlid_of(text: &str) -> Result<u16, String> {
    let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let mlid = number.filter(|number| MLIDS.contains(number));
    let shown = text.chars().take(64).collect::<String>();
    mlid.map(|mlid| mlid as u16)
        .ok_or_else(|| format!("`{shown}` is no address of a group: these are 0xc000 to 0xfffe"))
}
