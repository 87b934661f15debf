//! The matrix of hops by which the subnet manager `OpenSM` builds multicast trees.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt::Write;
use std::sync::Arc;

use fixedbitset::FixedBitSet;
use wormcast_network::input::input_name;
use wormcast_network::{ChannelId, MAX_FILE_BYTES, Network, RouterId, as_fabric};

use super::opensm::{Identities, NetworkLfts, check_port, hexadecimal_after};
use super::tree_rules::{Branch, TreeRule};
use super::{ForwardingTables, Output, TablesContext, TablesError, Target, text_of};
use crate::relation::RoutingRelation;

const EXPECTED: &str = "the matrix that OpenSM writes to `opensm-lid-matrix.dump`: `Switch: guid 0x…`, then lines such as `0x0003: 01 03 01 ff # portguid 0x…`";
/// How `OpenSM` says that there is no path.
const NO_PATH: u8 = 0xff;

/// From each switch to each other: how many hops it takes at least, and the first port by which it takes so many.
///
/// Memory: 2 bytes a pair of switches.
#[derive(Clone, Debug)]
pub struct HopMatrix {
    fabric: Arc<Network>,
    /// Hops and port, by switch and then by the switch that is to be reached.
    entries: Vec<(u8, u8)>,
    doubt: Option<String>,
}

impl HopMatrix {
    fn empty(network: &Arc<Network>) -> Result<Self, TablesError> {
        let fabric = as_fabric(network)?;
        let mut entries = vec![(NO_PATH, 0); fabric.routers() * fabric.routers()];
        for router in 0..fabric.routers() {
            entries[router * fabric.routers() + router] = (0, 0);
        }
        Ok(Self { fabric, entries, doubt: None })
    }

    /// Why the file from which this was read may not be the whole of it, if there is reason to think so; names file and line.
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }

    fn place(&self, from: RouterId, to: RouterId) -> usize {
        from.index() * self.fabric.routers() + to.index()
    }

    /// The least hops from one switch to another.
    pub(super) fn hops(&self, from: RouterId, to: RouterId) -> u8 {
        self.entries[self.place(from, to)].0
    }

    /// The first port with the least hops; `None` if there is no path.
    pub(super) fn port(&self, from: RouterId, to: RouterId) -> Option<u32> {
        let (hops, port) = self.entries[self.place(from, to)];
        (hops != NO_PATH && port > 0).then_some(u32::from(port))
    }

    /// The matrix of these lengths to each switch, by the first port of channels that `takes` to a switch that is a hop closer.
    fn by(
        network: &Arc<Network>,
        takes: impl Fn(ChannelId) -> bool,
        mut lengths: impl FnMut(&Network, RouterId) -> Vec<Option<u32>>,
    ) -> Result<Self, TablesError> {
        let mut matrix = Self::empty(network)?;
        let fabric = Arc::clone(&matrix.fabric);
        for target in fabric.router_ids() {
            let lengths = lengths(&fabric, target);
            for from in fabric.router_ids().filter(|&from| from != target) {
                // OpenSM cannot write longer ones.
                let length = lengths[from.index()].and_then(|length| u8::try_from(length).ok());
                let Some(length) = length.filter(|&length| length != NO_PATH) else { continue };
                let closer = |to: RouterId| lengths[to.index()].is_some_and(|other| other + 1 == u32::from(length));
                let channels = fabric.outputs(from).filter(|&channel| takes(channel) && closer(fabric.to(channel)));
                if let Some(port) = channels.filter_map(|channel| fabric.port_of(channel)).min() {
                    let place = matrix.place(from, target);
                    matrix.entries[place] = (length, port as u8);
                }
            }
        }
        Ok(matrix)
    }

    /// Shortest paths whatever the routing, as `OpenSM` has for its engine `minhop`: O(switches x links).
    ///
    /// # Errors
    /// If the network does not fit into a fabric.
    pub fn of_shortest_paths(network: &Arc<Network>) -> Result<Self, TablesError> {
        Self::by(network, |_| true, |fabric, target| distances(fabric, target, |_| true))
    }

    /// The lengths of routes by tables that have addresses of switches: O(switches x (switches + links)).
    ///
    /// This is `OpenSM`'s matrix if each switch has an entry for all routes of that length that its engine permits to be taken; see
    /// [`are_shortest`](Self::are_shortest).
    ///
    /// # Errors
    /// If the network does not fit into a fabric.
    pub fn of_tables(tables: &ForwardingTables) -> Result<Self, TablesError> {
        Self::by(
            tables.network(),
            |_| true,
            |fabric, target| {
                let Some(place) = tables.addresses_of(Target::Router(target)).next() else {
                    return distances(fabric, target, |_| true);
                };
                let mut next = vec![None; fabric.routers()];
                for (router, output) in tables.entries_for(place) {
                    if let Output::Channel(channel) = output {
                        next[router.index()] = Some(fabric.to(channel));
                    }
                }
                // Each switch is followed to one whose length is known, or that has been seen.
                let mut lengths: Vec<Option<u32>> = vec![None; fabric.routers()];
                let mut seen = FixedBitSet::with_capacity(fabric.routers());
                lengths[target.index()] = Some(0);
                seen.insert(target.index());
                let mut way = Vec::new();
                for from in fabric.router_ids() {
                    let mut at = Some(from);
                    while let Some(router) = at.filter(|router| !seen.put(router.index())) {
                        way.push(router);
                        at = next[router.index()];
                    }
                    let mut length = at.and_then(|at| lengths[at.index()]);
                    while let Some(router) = way.pop() {
                        length = length.map(|length| length + 1);
                        lengths[router.index()] = length;
                    }
                }
                lengths
            },
        )
    }

    /// Whether all hops are those of shortest paths. Then `OpenSM` has no others.
    ///
    /// # Errors
    /// If the network does not fit into a fabric.
    pub fn are_shortest(&self) -> Result<bool, TablesError> {
        Ok(self.entries == Self::of_shortest_paths(&self.fabric)?.entries)
    }

    /// The ways over a tree, or over several that have no switch in common, by their channels in both directions: O(switches x links).
    ///
    /// # Errors
    /// If the network does not fit into a fabric.
    pub fn of_trees(network: &Arc<Network>, channels: &FixedBitSet) -> Result<Self, TablesError> {
        let takes = |channel: ChannelId| channels.contains(channel.index());
        Self::by(network, takes, |fabric, target| distances(fabric, target, takes))
    }

    pub(super) fn fabric(&self) -> &Arc<Network> {
        &self.fabric
    }

    /// Where `OpenSM` begins the tree of a group: the first switch, by identifiers whose bytes are read backwards, with the least maximum of hops to members;
    /// where a switch is one, that to its hosts is not counted. `None` if there are fewer than two. *Source:* `osm_mcast_mgr.c` of `OpenSM` 3.3.23.
    pub(super) fn root(&self, members: &[Target]) -> Option<RouterId> {
        let fabric = &*self.fabric;
        if members.len() < 2 {
            return None;
        }
        let mut switches: BTreeMap<RouterId, u32> = BTreeMap::new();
        for &member in members {
            let last = switches.entry(member.router(fabric)).or_insert(1);
            *last = (*last).min(u32::from(matches!(member, Target::Node(_))));
        }
        let farthest =
            |&from: &RouterId| switches.iter().map(|(&to, last)| u32::from(self.hops(from, to)) + last).max();
        let backwards = |&router: &RouterId| fabric.router_guid(router).map(u64::swap_bytes);
        fabric.router_ids().min_by_key(|router| (farthest(router), backwards(router)))
    }

    /// The matrix as `OpenSM` reads it with `-M`, with the addresses of the switches that it has with these tables. Switches that the tables do not lead to
    /// get free ones, which `OpenSM` has to give them: see [`NetworkLfts::guid2lid`].
    ///
    /// # Errors
    /// If there are more destinations and switches than addresses.
    pub fn text(&self, tables: &ForwardingTables) -> Result<String, TablesError> {
        let fabric = &*self.fabric;
        let addresses = NetworkLfts::new(tables)?.of_switches()?;
        let mut text = String::new();
        for from in fabric.router_ids() {
            let guid = fabric.router_guid(from).unwrap_or(0);
            let own = fabric.outputs(from).filter_map(|channel| fabric.port_of(channel)).max().unwrap_or(0);
            let ports = fabric.router_ports(from).unwrap_or(own);
            let _ = writeln!(text, "Switch: guid {guid:#018x}");
            for to in fabric.router_ids() {
                let (hops, port) = self.entries[self.place(from, to)];
                if hops == NO_PATH {
                    continue;
                }
                let _ = write!(text, "{:#06x}: {hops:02x}", addresses[to.index()]);
                for column in 1..=ports {
                    let hops = if column == u32::from(port) { hops } else { NO_PATH };
                    let _ = write!(text, " {hops:02x}");
                }
                let _ = writeln!(text, " # portguid {:#018x}", fabric.router_guid(to).unwrap_or(0));
            }
        }
        Ok(text)
    }
}

/// What `OpenSM` builds after most of its engines: from the root each member is reached by the first port with the least hops, to a depth of 63 switches.
/// *Source:* `osm_mcast_mgr.c` and `osm_switch.c` of `OpenSM` 3.3.23.
impl TreeRule for HopMatrix {
    fn tree(&self, _: u16, members: &[Target]) -> Vec<(RouterId, Branch)> {
        const DEEPEST: usize = 63;
        let fabric = &*self.fabric;
        let Some(root) = self.root(members) else { return Vec::new() };
        let mut branches: BTreeMap<RouterId, Branch> = BTreeMap::new();
        let mut work = vec![(root, None, members.to_vec(), 1)];
        while let Some((at, back, members, depth)) = work.pop() {
            if depth > DEEPEST {
                continue;
            }
            let branch = branches.entry(at).or_default();
            branch.channels.extend(back);
            let mut onward: BTreeMap<u32, Vec<Target>> = BTreeMap::new();
            for member in members {
                let router = member.router(fabric);
                if router == at {
                    branch.add(member);
                } else if let Some(port) = self.port(at, router) {
                    onward.entry(port).or_default().push(member);
                }
            }
            for (port, members) in onward {
                if let Some(channel) = fabric.channel_by_port(at, port) {
                    branch.channels.push(channel);
                    work.push((fabric.to(channel), Some(fabric.reverse(channel)), members, depth + 1));
                }
            }
        }
        branches.into_iter().collect()
    }
}

/// Reads the matrix of `OpenSM`: see [`parse_hop_matrix`].
///
/// # Errors
/// If the file cannot be read or is not understood.
pub fn read_hop_matrix(network: &Arc<Network>, path: &str) -> Result<HopMatrix, TablesError> {
    let text = text_of(path, "the matrix of hops", MAX_FILE_BYTES)?;
    parse_hop_matrix(network, input_name(path), &text)
}

/// Reads the matrix that `OpenSM` writes to `opensm-lid-matrix.dump`: for each switch and each address, the least hops, and the hops by each port. Switches
/// are found by their identifiers; rows for anything else are passed over. Rows that are missing may be of ways that there are not, so they are no error:
/// see [`doubt`](HopMatrix::doubt).
///
/// # Errors
/// If the text is not such a matrix, or belongs to another network.
pub fn parse_hop_matrix(network: &Arc<Network>, path: &str, text: &str) -> Result<HopMatrix, TablesError> {
    let file = TablesContext { path, expected: EXPECTED };
    let mut matrix = HopMatrix::empty(network)?;
    let fabric = Arc::clone(&matrix.fabric);
    let identities = Identities::new(&fabric);
    let mut section: Option<RouterId> = None;
    let mut sections = FixedBitSet::with_capacity(fabric.routers());
    // The last line of each section, and which switches it has rows for.
    let mut ends = vec![0; fabric.routers()];
    let mut present = FixedBitSet::with_capacity(fabric.routers() * fabric.routers());
    // The addresses that this switch has rows for: a port may have several.
    let mut rows = HashSet::new();
    for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let wrong = |problem: String| file.error(line, problem);
        let content = content.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if content.starts_with("Switch") {
            let guid =
                hexadecimal_after(content, " guid 0x").ok_or_else(|| wrong("the switch has no guid".to_owned()))?;
            let router = identities.router(guid).map_err(wrong)?;
            let unknown = || wrong(format!("`{}` has no switch with the identifier {guid:#018x}", network.name()));
            let router = router.ok_or_else(unknown)?;
            if sections.put(router.index()) {
                return Err(wrong(format!("{} is there already", network.router_label(router))));
            }
            section = Some(router);
            ends[router.index()] = line;
            rows.clear();
            continue;
        }
        let Some((address, rest)) = content.strip_prefix("0x").and_then(|rest| rest.split_once(':')) else {
            return Err(wrong(format!("found `{}`", content.chars().take(64).collect::<String>())));
        };
        let from = section.ok_or_else(|| wrong("a row before the first switch".to_owned()))?;
        ends[from.index()] = line;
        if !rows.insert(address) {
            let switch = network.router_label(from);
            return Err(wrong(format!("{switch} has a row for the address 0x{address} already")));
        }
        let guid = hexadecimal_after(rest, "portguid 0x");
        let guid = guid.ok_or_else(|| wrong("a row needs a `# portguid` behind its hops".to_owned()))?;
        let hops = rest.split('#').next().unwrap_or("").split_whitespace();
        let hops: Result<Vec<u8>, _> = hops.map(|hops| u8::from_str_radix(hops, 16)).collect();
        let hops = hops.map_err(|_| wrong("hops are hexadecimal numbers from 00 to ff".to_owned()))?;
        let Some((&least, by_port)) = hops.split_first() else {
            return Err(wrong("a row needs hops".to_owned()));
        };
        if let Some(ports) = fabric.router_ports(from).filter(|&ports| ports as usize != by_port.len()) {
            let (switch, found) = (fabric.router_label(from), by_port.len());
            return Err(wrong(format!("the row has hops by {found} ports, and {switch} has {ports}")));
        }
        let Some(Target::Router(to)) = identities.target(guid).map_err(wrong)? else { continue };
        let port = by_port.iter().position(|&hops| hops == least).map_or(0, |position| position + 1);
        check_port(&fabric, from, port as u32).map_err(wrong)?;
        let place = matrix.place(from, to);
        present.insert(place);
        if least != NO_PATH && from != to {
            matrix.entries[place] = (least, u8::try_from(port).unwrap_or(0));
        }
    }
    let at_end = |problem: &str| Err(file.error(text.lines().count().max(1), problem));
    if section.is_none() {
        return at_end("there is no switch");
    }
    // OpenSM does not know switches that it has no link to.
    let has_section = |router: RouterId| sections.contains(router.index());
    let is_missing = |&router: &RouterId| {
        !has_section(router) && fabric.outputs(router).any(|channel| has_section(fabric.to(channel)))
    };
    if let Some(missing) = fabric.router_ids().find(is_missing) {
        return at_end(&format!("the matrix ends without {}", network.router_label(missing)));
    }
    let sections: Vec<RouterId> = fabric.router_ids().filter(|&router| has_section(router)).collect();
    let missing = sections.iter().find_map(|&from| Some((from, missing_row(&matrix, &present, &sections, from)?)));
    matrix.doubt = missing.map(|(from, problem)| {
        let (line, from) = (ends[from.index()], network.router_label(from));
        format!("{path}:{line}: the section of {from} {problem}: is the file cut?")
    });
    Ok(matrix)
}

/// What of a switch's section is missing, as far as the others, or the links, say that it should be there.
fn missing_row(matrix: &HopMatrix, present: &FixedBitSet, sections: &[RouterId], from: RouterId) -> Option<String> {
    let fabric = &*matrix.fabric;
    let has_row = |from, to| present.contains(matrix.place(from, to));
    if !has_row(from, from) {
        return Some("has no row for the switch itself".to_owned());
    }
    let is_beside = |to| fabric.outputs(from).any(|channel| fabric.to(channel) == to);
    let missing = |&&to: &&RouterId| !has_row(from, to) && (has_row(to, from) || is_beside(to));
    let &to = sections.iter().find(missing)?;
    let why = if has_row(to, from) { "whose section has one for it" } else { "to which it has a link" };
    Some(format!("has no row for {}, {why}", fabric.router_label(to)))
}

/// Distances from each switch to one over channels that `takes`.
fn distances(fabric: &Network, target: RouterId, takes: impl Fn(ChannelId) -> bool) -> Vec<Option<u32>> {
    let mut lengths = vec![None; fabric.routers()];
    lengths[target.index()] = Some(0);
    let mut queue = VecDeque::from([(target, 0)]);
    while let Some((at, length)) = queue.pop_front() {
        for channel in fabric.outputs(at).filter(|&channel| takes(channel)) {
            let next = fabric.to(channel);
            if lengths[next.index()].is_none() {
                lengths[next.index()] = Some(length + 1);
                queue.push_back((next, length + 1));
            }
        }
    }
    lengths
}

#[cfg(test)]
mod tests {
    use wormcast_network::{FileFormat, NetworkIbsim, TopologySpec};

    use super::*;
    use crate::forwarding_tables::{MulticastTables, NetworkMcfdbs, choose_tables};
    use crate::registry::RoutingOptions;
    use crate::relations::up_down::UP_DOWN;

    fn fabric(spec: &str) -> Arc<Network> {
        let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
        FileFormat::Fabric.parse(spec, &NetworkIbsim(&network).to_string()).unwrap()
    }

    #[test]
    fn a_matrix_is_read_as_it_is_written() {
        let mesh = fabric("mesh:3x3");
        let relation = UP_DOWN.make(&mesh, &RoutingOptions::default()).unwrap();
        let tables = choose_tables(relation.as_ref(), true).unwrap().tables;
        let mut tree = FixedBitSet::with_capacity(mesh.channels());
        for channel in
            mesh.channel_ids().filter(|&c| mesh.from(c).raw() + 3 == mesh.to(c).raw() || mesh.to(c).raw() < 3)
        {
            tree.insert(channel.index());
            tree.insert(mesh.reverse(channel).index());
        }
        let shortest = HopMatrix::of_shortest_paths(&mesh).unwrap();
        for matrix in [&shortest, &HopMatrix::of_trees(&mesh, &tree).unwrap()] {
            let text = matrix.text(&tables).unwrap();
            assert_eq!(parse_hop_matrix(&mesh, "matrix", &text).unwrap().entries, matrix.entries);
        }
        assert!(shortest.are_shortest().unwrap() && HopMatrix::of_tables(&tables).unwrap().are_shortest().unwrap());
        assert!(!HopMatrix::of_trees(&mesh, &tree).unwrap().are_shortest().unwrap());
    }

    /// Worked by hand. The switches of a mesh of three by three have the identifiers 0x200000 to 0x200008, and ports 1 and up lead to neighbours in the
    /// order of their numbers. The members are at the corners 0 and 8 and at 2: the most hops are 4 from corners, 3 from 1, 2 from 4, 5 and others.
    #[test]
    fn the_root_is_the_first_with_the_least_maximum() {
        let mesh = fabric("mesh:3x3");
        let tables =
            choose_tables(UP_DOWN.make(&mesh, &RoutingOptions::default()).unwrap().as_ref(), true).unwrap().tables;
        let groups =
            MulticastTables::empty(&mesh).with_members(&tables, "groups", "0xc001: H0;H2;H8\n0xc002: H4\n").unwrap();
        let built = groups.with_trees(&HopMatrix::of_shortest_paths(&mesh).unwrap());
        // Switch 2 is two hops from each of the others, as 4 is, and comes first: 3 with the last hop.
        let roots = [[0, 1], [1, 2], [2, 5], [5, 8]];
        let links: Vec<[u32; 2]> =
            mesh.channel_ids()
                .map(|c| [mesh.from(c).raw(), mesh.to(c).raw()])
                .filter(|ends| {
                    built.turns(0).iter().any(|&(held, next)| {
                        [held, next].map(|c| [mesh.from(c).raw(), mesh.to(c).raw()]).contains(ends)
                    })
                })
                .filter(|[from, to]| from < to)
                .collect();
        assert_eq!(links, roots);
        let text = NetworkMcfdbs::new(&built).unwrap().to_string();
        assert!(text.starts_with("\nSwitch 0x0000000000200000\nLID    : Out Port(s)\n0xC001 : 0x0"), "{text}");
        assert!(!text.contains("0xC002"), "a group of one has no entries");
    }

    #[test]
    fn errors_name_file_line_and_what_is_wrong() {
        let mesh = fabric("mesh:2x2");
        let message = |text: &str| parse_hop_matrix(&mesh, "matrix", text).unwrap_err().to_string();
        let guid = mesh.router_guid(RouterId::new(0)).unwrap();
        let head = format!("Switch: guid {guid:#018x}\n");
        for (text, said) in [
            (String::new(), "matrix:1: there is no switch"),
            ("Switch: 5\n".to_owned(), "matrix:1: the switch has no guid"),
            (
                "Switch: guid 0xbad\n".to_owned(),
                "matrix:1: `mesh:2x2` has no switch with the identifier 0x0000000000000bad",
            ),
            ("0x0001: 01 # portguid 0x1\n".to_owned(), "matrix:1: a row before the first switch"),
            (format!("{head}hello\n"), "matrix:2: found `hello`"),
            (format!("{head}0x0001: 01 01\n"), "matrix:2: a row needs a `# portguid`"),
            (format!("{head}0x0001: zz # portguid {guid:#018x}\n"), "matrix:2: hops are hexadecimal numbers"),
            (format!("{head}0x0001: # portguid {guid:#018x}\n"), "matrix:2: a row needs hops"),
        ] {
            assert!(message(&text).starts_with(said), "{}", message(&text));
        }
        let tables =
            choose_tables(UP_DOWN.make(&mesh, &RoutingOptions::default()).unwrap().as_ref(), true).unwrap().tables;
        let whole = HopMatrix::of_shortest_paths(&mesh).unwrap().text(&tables).unwrap();
        let lines: Vec<&str> = whole.lines().collect();
        let rows = lines.len() / 4;
        let cut = |end: usize| message(&lines[..end].join("\n"));
        // Some of OpenSM's engines have ways in one direction only, so what is missing is no error, but told: each of the rows, or several, of the last section,
        // or of another one.
        let doubt = |lines: &[&str]| parse_hop_matrix(&mesh, "matrix", &lines.join("\n")).unwrap().doubt;
        assert_eq!(doubt(&lines), None);
        for (line, row) in lines.iter().enumerate() {
            let rest: Vec<&str> =
                lines.iter().enumerate().filter(|&(other, _)| other != line).map(|at| *at.1).collect();
            assert!(row.starts_with("Switch") || doubt(&rest).is_some(), "without line {line}");
        }
        for end in 3 * rows + 1..4 * rows {
            assert!(doubt(&lines[..end]).is_some(), "{end} lines");
        }
        let without = |removed: &[usize]| {
            let kept = lines.iter().enumerate().filter(|(line, _)| !removed.contains(line)).map(|at| *at.1);
            doubt(&kept.collect::<Vec<_>>()).unwrap()
        };
        let own = "matrix:19: the section of S3 has no row for the switch itself: is the file cut?";
        assert_eq!(without(&[4 * rows - 1]), own);
        let other = "matrix:19: the section of S3 has no row for S0, whose section has one for it: is the file cut?";
        assert_eq!(without(&[3 * rows + 1]), other);
        let linked = "matrix:4: the section of S0 has no row for S1, to which it has a link: is the file cut?";
        assert_eq!(without(&[2, rows + 1]), linked);
        for (said, expected) in [
            (cut(3 * rows), "matrix:15: the matrix ends without S3"),
            (message(&format!("{whole}{}\n", lines[4 * rows - 1])), "matrix:21: S3 has a row for the address 0x"),
            (message(&format!("{whole}{}\n", lines[rows])), "matrix:21: S1 is there already"),
        ] {
            assert!(said.starts_with(expected), "{said}");
        }
    }
}
