//! The file of members of groups.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use wormcast_network::input::input_name;
use wormcast_network::text::nearest;
use wormcast_network::{MAX_FILE_BYTES, Network, NodeId, RouterId, as_fabric, parse_node};

use super::files::mlid_of;
use super::{MulticastGroup, MulticastTables};
use crate::forwarding_tables::opensm::Identities;
use crate::forwarding_tables::{ForwardingTables, TablesContext, TablesError, Target, text_of};

const GROUPS_EXPECTED: &str =
    "a group a line, `0xc001: member;member;…`, whose members are names, identifiers or addresses";

/// What members are called.
struct Names<'a> {
    fabric: &'a Network,
    identities: Identities,
    unicasts: &'a ForwardingTables,
    nodes: HashMap<&'a str, Vec<NodeId>>,
    routers: HashMap<&'a str, Vec<RouterId>>,
}

impl<'a> Names<'a> {
    /// Those of a network, which has names of its own for nodes where its fabric may have made some up: a router's name is that of its only node.
    fn new(network: &'a Network, fabric: &'a Network, unicasts: &'a ForwardingTables) -> Self {
        let mut nodes: HashMap<&str, Vec<NodeId>> = HashMap::new();
        for node in fabric.node_ids() {
            let (own, made) = (network.node_name(node), fabric.node_name(node));
            for name in own.into_iter().chain(made.filter(|_| made != own)) {
                nodes.entry(name).or_default().push(node);
            }
        }
        let mut routers: HashMap<&str, Vec<RouterId>> = HashMap::new();
        for router in fabric.router_ids() {
            if let Some(name) = fabric.router_name(router) {
                routers.entry(name).or_default().push(router);
            }
        }
        Self { fabric, identities: Identities::new(fabric), unicasts, nodes, routers }
    }

    /// A member by its name, identifier or address.
    fn member(&self, text: &str) -> Result<Target, String> {
        let Self { fabric, unicasts, .. } = *self;
        if let Some(digits) = text.strip_prefix("0x") {
            let guid = u64::from_str_radix(digits, 16).map_err(|_| format!("`{text}` is no identifier"))?;
            return match self.identities.target(guid)? {
                Some(target) => Ok(target),
                None => match ports_of(fabric, guid)[..] {
                    [port] => Ok(Target::Node(port)),
                    [first, _, ..] => {
                        let port = fabric.node_guid(first).unwrap_or(guid);
                        Err(format!(
                            "{guid:#018x} is an adapter with several connected ports: give one of them, such as {port:#018x}"
                        ))
                    }
                    [] => {
                        let lid = u16::try_from(guid).ok().and_then(|lid| at_address(unicasts, lid));
                        let unknown = || format!("the network has no host or switch with the identifier {guid:#018x}");
                        lid.ok_or_else(unknown)
                    }
                },
            };
        }
        let several = |what: &str, guid: Option<u64>| {
            let guid = guid.unwrap_or(0);
            Err(format!("several {what} are called `{text}`: give identifiers, such as {guid:#018x}"))
        };
        // A name, before an address that looks like one.
        match self.nodes.get(text).map(Vec::as_slice) {
            Some(&[node]) => return Ok(Target::Node(node)),
            Some(nodes) => return several("hosts", fabric.node_guid(nodes[0])),
            None => {}
        }
        let has_addresses = unicasts.destinations().iter().any(|destination| destination.address.is_some());
        if let (true, Ok(lid)) = (has_addresses, text.parse::<u16>()) {
            return at_address(unicasts, lid).ok_or_else(|| format!("no host or switch has the address {lid}"));
        }
        match self.routers.get(text).map(Vec::as_slice) {
            Some(&[router]) => return Ok(Target::Router(router)),
            Some(routers) => return several("switches", fabric.router_guid(routers[0])),
            None => {}
        }
        // Numbers are addresses here, if there are addresses.
        parse_node(fabric, text).map(Target::Node).map_err(|error| {
            if has_addresses {
                let nodes = fabric.node_ids().filter_map(|node| fabric.node_name(node));
                let routers = fabric.router_ids().filter_map(|router| fabric.router_name(router));
                let near = nearest(text, nodes.chain(routers));
                let near = near.map_or_else(String::new, |name| format!(" such as `{name}`"));
                let list = if text.contains([',', ' ']) { "; members are separated by `;`" } else { "" };
                format!(
                    "`{text}` is no host and no switch: expected a name{near}, an identifier (`0x…`) or an address{list}"
                )
            } else {
                error.to_string()
            }
        })
    }
}

/// The ports of an adapter that are connected.
fn ports_of(fabric: &Network, adapter: u64) -> Vec<NodeId> {
    fabric.node_ids().filter(|&node| fabric.adapter_guid(node) == Some(adapter)).collect()
}

fn at_address(unicasts: &ForwardingTables, lid: u16) -> Option<Target> {
    let mut destinations = unicasts.destinations().iter();
    destinations.find(|destination| destination.address == Some(lid)).map(|destination| destination.target)
}

/// What [`read_members`] reads, as [`TABLES_INPUT`](crate::TABLES_INPUT).
pub const GROUPS_INPUT: &str = "the groups";

/// Takes the members of groups from a file: see [`MulticastTables::with_members`].
///
/// # Errors
/// If the file cannot be read or is not understood.
pub fn read_members(
    tables: MulticastTables,
    unicasts: &ForwardingTables,
    path: &str,
) -> Result<MulticastTables, TablesError> {
    let text = text_of(path, GROUPS_INPUT, MAX_FILE_BYTES)?;
    tables.with_members(unicasts, input_name(path), &text)
}

impl MulticastTables {
    /// The members of the groups that have any, in the form that [`with_members`](Self::with_members) reads: names, or identifiers where it would take a name for
    /// something else.
    ///
    /// # Errors
    /// If the network does not fit into a fabric.
    pub fn members_text(&self, unicasts: &ForwardingTables) -> Result<String, TablesError> {
        let fabric = as_fabric(&self.network)?;
        let names = Names::new(&self.network, &fabric, unicasts);
        let label = |&target: &Target| {
            let (name, guid) = match target {
                Target::Node(node) => (fabric.node_name(node), fabric.node_guid(node)),
                Target::Router(router) => (fabric.router_name(router), fabric.router_guid(router)),
            };
            let is_plain = |name: &&str| name.trim() == *name && !name.contains([';', '\n', '\r']);
            let is_read = |name: &&str| names.member(name) == Ok(target);
            let identifier = || format!("{:#018x}", guid.unwrap_or(0));
            name.filter(is_plain).filter(is_read).map_or_else(identifier, str::to_owned)
        };
        let groups = self.groups.iter().map(|group| (group.mlid, group.members()));
        let lines = groups.filter(|(_, members)| !members.is_empty()).map(|(mlid, members)| {
            let members: Vec<String> = members.iter().map(label).collect();
            format!("{mlid:#06x}: {}\n", members.join(";"))
        });
        Ok(lines.collect())
    }

    /// Takes the members of its groups from a text: a line for each, `0xc001: member;member;…`, of names, identifiers (`0x…`) or addresses of the
    /// unicast tables. Groups that the tables have no entries for are added: none of their packets arrives anywhere. A switch that is a member gets packets
    /// by its port 0, and is not taken to send any, as nothing here sends unicasts from there.
    ///
    /// # Errors
    /// If the text is not of this form, or names what the network does not have.
    pub fn with_members(mut self, unicasts: &ForwardingTables, path: &str, text: &str) -> Result<Self, TablesError> {
        let file = TablesContext { path, expected: GROUPS_EXPECTED };
        let network = Arc::clone(&self.network);
        let fabric = as_fabric(&network)?;
        let names = Names::new(&network, &fabric, unicasts);
        let mut known: BTreeMap<u16, (usize, Vec<Target>)> = BTreeMap::new();
        for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let (mlid, list) =
                content.split_once(':').ok_or_else(|| file.error(line, "there is no `:` behind the group"))?;
            let mlid = mlid_of(mlid.trim()).map_err(|problem| file.error(line, problem))?;
            let mut members = BTreeSet::new();
            let list = list.trim();
            if list.is_empty() {
                return Err(file.error(line, "the group has no members"));
            }
            for text in list.strip_suffix(';').unwrap_or(list).split(';').map(str::trim) {
                if text.is_empty() {
                    return Err(file.error(line, "a member without a name, between two `;`"));
                }
                let member = names.member(text).map_err(|problem| file.error(line, problem))?;
                if !members.insert(member) {
                    return Err(file.error(line, format!("`{text}` is a member already")));
                }
            }
            let members = members.into_iter().collect();
            if let Some((first, _)) = known.insert(mlid, (line, members)) {
                return Err(file.error(line, format!("the group {mlid:#06x} is there already, in line {first}")));
            }
        }
        if known.is_empty() {
            return Err(file.error(text.lines().count().max(1), "there is no group"));
        }
        for (mlid, (_, members)) in known {
            match self.groups.iter_mut().find(|group| group.mlid == mlid) {
                Some(group) => group.members = Some(members),
                None => self.groups.push(MulticastGroup { mlid, masks: HashMap::new(), members: Some(members) }),
            }
        }
        self.groups.sort_by_key(|group| group.mlid);
        Ok(self)
    }
}
