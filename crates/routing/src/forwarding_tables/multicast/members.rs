//! The file of members of groups.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wormcast_network::input::input_name;
use wormcast_network::text::nearest;
use wormcast_network::{MAX_FILE_BYTES, Network, NodeId, as_fabric, parse_node};

use super::files::mlid_of;
use super::{MulticastGroup, MulticastTables};
use crate::forwarding_tables::opensm::Identities;
use crate::forwarding_tables::{ForwardingTables, TablesContext, TablesError, Target, text_of};

const GROUPS_EXPECTED: &str =
    "a group a line, `0xc001: member;member;…`, whose members are names, identifiers or addresses";

/// A member by its name, identifier or address.
fn member(
    fabric: &Network,
    identities: &Identities,
    unicasts: &ForwardingTables,
    text: &str,
) -> Result<NodeId, String> {
    if let Some(digits) = text.strip_prefix("0x") {
        let guid = u64::from_str_radix(digits, 16).map_err(|_| format!("`{text}` is no identifier"))?;
        return match identities.target(guid)? {
            Some(Target::Node(node)) => Ok(node),
            Some(Target::Router(_)) => Err(format!("{guid:#018x} is a switch: members are hosts")),
            None => match ports_of(fabric, guid)[..] {
                [port] => Ok(port),
                [first, _, ..] => {
                    let port = fabric.node_guid(first).unwrap_or(guid);
                    Err(format!(
                        "{guid:#018x} is an adapter with several connected ports: give one of them, such as {port:#018x}"
                    ))
                }
                [] => {
                    let lid = u16::try_from(guid).ok().and_then(|lid| at_address(unicasts, lid));
                    lid.ok_or_else(|| format!("the network has no host with the identifier {guid:#018x}"))
                }
            },
        };
    }
    // A name, before an address that looks like one.
    if let Some(node) = fabric.node_ids().find(|&node| fabric.node_name(node) == Some(text)) {
        return Ok(node);
    }
    if let Ok(lid) = text.parse::<u16>() {
        let has_addresses = unicasts.destinations().iter().any(|destination| destination.address.is_some());
        if has_addresses {
            return at_address(unicasts, lid).ok_or_else(|| format!("no host has the address {lid}"));
        }
    }
    // Numbers are addresses here, if there are addresses.
    let router = fabric.router_ids().any(|router| fabric.router_name(router) == Some(text));
    parse_node(fabric, text).map_err(|error| {
        if router {
            format!("`{text}` is a switch: members are hosts")
        } else if unicasts.destinations().iter().all(|destination| destination.address.is_none()) {
            error.to_string()
        } else {
            let names = fabric.node_ids().filter_map(|node| fabric.node_name(node));
            let near = nearest(text, names).map_or_else(String::new, |name| format!(" such as `{name}`"));
            let list = if text.contains([',', ' ']) { "; members are separated by `;`" } else { "" };
            format!("`{text}` is no host: expected a name{near}, an identifier (`0x…`) or an address{list}")
        }
    })
}

/// The ports of an adapter that are connected.
fn ports_of(fabric: &Network, adapter: u64) -> Vec<NodeId> {
    fabric.node_ids().filter(|&node| fabric.adapter_guid(node) == Some(adapter)).collect()
}

fn at_address(unicasts: &ForwardingTables, lid: u16) -> Option<NodeId> {
    unicasts.destinations().iter().find_map(|destination| match destination.target {
        Target::Node(node) if destination.address == Some(lid) => Some(node),
        _ => None,
    })
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
    /// Takes the members of its groups from a text: a line for each, `0xc001: member;member;…`, of names, identifiers (`0x…`) or addresses of the
    /// unicast tables. Groups that the tables have no entries for are added: none of their packets arrives anywhere.
    ///
    /// # Errors
    /// If the text is not of this form, or names what the network does not have.
    pub fn with_members(mut self, unicasts: &ForwardingTables, path: &str, text: &str) -> Result<Self, TablesError> {
        let file = TablesContext { path, expected: GROUPS_EXPECTED };
        let fabric = as_fabric(&self.network)?;
        let identities = Identities::new(&fabric);
        let mut known: BTreeMap<u16, (usize, Vec<NodeId>)> = BTreeMap::new();
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
                let member =
                    member(&fabric, &identities, unicasts, text).map_err(|problem| file.error(line, problem))?;
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
