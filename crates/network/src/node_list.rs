//! Nodes as users write them: `28`, `4,3`, `4,3.1`, a name, or lists with `;`, or `all`.

use crate::error::NodeError;
use crate::ids::{NodeId, RouterId};
use crate::network::Network;
use crate::text::nearest;

/// Reads one node: its number, in a grid its coordinates joined by commas, or its name if the network's file has names. In a grid whose routers have several
/// nodes, `4,3.1` is node 1 of those that router 4,3 has, counted from 0.
///
/// The number of a node is never a name ([`misleading_name`] tells where that may surprise). Looking for a name takes time linear in the nodes.
///
/// # Errors
/// If the text is none of these, or names no node of the network, or several.
pub fn parse_node(network: &Network, text: &str) -> Result<NodeId, NodeError> {
    let given = text.trim();
    // A name may begin or end with blanks.
    for name in [Some(text), Some(given).filter(|given| *given != text)].into_iter().flatten() {
        if let Some(node) = node_named(network, name)? {
            return Ok(node);
        }
    }
    numbered(network, given, network.nodes()).map(NodeId::new)
}

/// Reads one router: in a grid its number or its coordinates, elsewhere one of its nodes, as [`parse_node`] does, or its own name.
///
/// # Errors
/// If the text is none of these, or the name of several.
pub fn parse_router(network: &Network, text: &str) -> Result<RouterId, NodeError> {
    if network.shape().grid().is_some() {
        numbered(network, text.trim(), network.routers()).map(RouterId::new)
    } else {
        let node = parse_node(network, text).map(|node| network.router_of(node));
        node.or_else(|error| router_named(network, text)?.ok_or(error))
    }
}

/// The routers of this name, in order; blanks around it are its own if there are such names.
pub fn routers_named<'n>(network: &'n Network, text: &'n str) -> impl Iterator<Item = RouterId> + 'n {
    let of = move |name: &'n str| network.router_ids().filter(move |&router| network.router_name(router) == Some(name));
    let name = if of(text).next().is_some() { text } else { text.trim() };
    of(name)
}

/// The router of this name, if there is one.
///
/// # Errors
/// If there are several.
pub fn router_named(network: &Network, text: &str) -> Result<Option<RouterId>, NodeError> {
    let mut named = routers_named(network, text);
    match (named.next(), named.next()) {
        (Some(first), Some(second)) => {
            Err(NodeError::AmbiguousRouter { given: text.trim().to_owned(), first: first.raw(), second: second.raw() })
        }
        (router, _) => Ok(router),
    }
}

/// A number below `count`, which is that of nodes or routers, or coordinates.
fn numbered(network: &Network, given: &str, count: usize) -> Result<u32, NodeError> {
    let grid = network.shape().grid();
    // In a grid, those of each router.
    let each = count / network.routers();
    let malformed = || NodeError::Malformed {
        given: given.to_owned(),
        expected: match grid {
            Some(grid) => {
                let (which, digit) = if each > 1 {
                    (format!(" and which of the router's {each} nodes"), ".0")
                } else {
                    (String::new(), "")
                };
                format!(
                    "a number from 0 to {}, or {} {}{which} such as `{}{digit}`",
                    count - 1,
                    grid.dimensions(),
                    if grid.dimensions() == 1 { "coordinate" } else { "coordinates" },
                    vec!["0"; grid.dimensions()].join(",")
                )
            }
            None => format!("a number from 0 to {}{}", count - 1, nearest_name(network, given)),
        },
    };
    // Which node of its router.
    let (coordinates, which) = match given.rsplit_once('.') {
        Some((coordinates, which)) if each > 1 && grid.is_some() => (coordinates, Some(which)),
        _ => (given, None),
    };
    let numbers = coordinates
        .split(',')
        .chain(which)
        .map(|part| {
            let part = part.trim();
            if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
                return Err(malformed());
            }
            // Only digits: what does not fit is too large, not malformed.
            Ok(part.parse::<u32>().unwrap_or(u32::MAX))
        })
        .collect::<Result<Vec<u32>, _>>()?;
    if let ([number], None) = (&numbers[..], which) {
        let number = *number;
        // An address of a hypercube in binary, which would be read as another node's number.
        let is_cube = grid
            .is_some_and(|grid| given.len() == grid.dimensions() && grid.extents().iter().all(|&extent| extent == 2));
        if is_cube
            && given.len() > 1
            && given.starts_with('0')
            && given.bytes().all(|digit| matches!(digit, b'0' | b'1'))
        {
            let meant = u32::from_str_radix(given, 2).unwrap_or(0);
            return Err(NodeError::Malformed {
                given: given.to_owned(),
                expected: format!("a number without zeros before it: the binary address {given} is node {meant}"),
            });
        }
        return if (number as usize) < count {
            Ok(number)
        } else {
            Err(NodeError::OutOfRange { given: given.to_owned(), network: network.name().to_owned(), last: count - 1 })
        };
    }
    let (numbers, which) = match which {
        Some(_) => numbers.split_at(numbers.len() - 1),
        None if each > 1 => (&numbers[..], &[][..]),
        None => (&numbers[..], &[0][..]),
    };
    let grid = grid.filter(|grid| grid.dimensions() == numbers.len()).ok_or_else(malformed)?;
    match numbers.iter().zip(grid.extents()).position(|(c, k)| c >= k) {
        Some(dimension) => Err(NodeError::CoordinateOutOfRange {
            given: given.to_owned(),
            network: network.name().to_owned(),
            dimension,
            last: grid.extents()[dimension] as usize - 1,
        }),
        None if which.is_empty() => Err(NodeError::Router { given: given.to_owned(), last: each - 1 }),
        None if which[0] as usize >= each => Err(NodeError::NodeOfRouterOutOfRange {
            given: given.to_owned(),
            network: network.name().to_owned(),
            last: each - 1,
        }),
        None => Ok((grid.index(numbers) * each) as u32 + which[0]),
    }
}

/// The node of this name, if the network has names and this is one of them.
fn node_named(network: &Network, given: &str) -> Result<Option<NodeId>, NodeError> {
    if !network.has_names() || is_number(network, given) {
        return Ok(None);
    }
    let mut named = network.node_ids().filter(|&node| network.node_name(node) == Some(given));
    match (named.next(), named.next()) {
        (Some(first), Some(second)) => {
            Err(NodeError::Ambiguous { given: given.to_owned(), first: first.raw(), second: second.raw() })
        }
        (node, _) => Ok(node),
    }
}

/// Whether a text is the number of a node.
fn is_number(network: &Network, text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<usize>().is_ok_and(|number| number < network.nodes())
}

/// What is to be said of a network whose file calls a node by the number of another one; `None` if it does not.
pub fn misleading_name(network: &Network) -> Option<String> {
    if !network.has_names() {
        return None;
    }
    let misleads = |node: &NodeId| {
        network.node_name(*node).is_some_and(|name| is_number(network, name) && name != node.raw().to_string())
    };
    let node = network.node_ids().find(misleads)?;
    let name = network.node_name(node)?;
    Some(format!(
        "node {node} of `{}` is called `{name}`, and where nodes are asked for, {name} is the number of another one",
        network.name()
    ))
}

fn nearest_name(network: &Network, given: &str) -> String {
    if !network.has_names() {
        return String::new();
    }
    let names = || network.node_ids().filter_map(|node| network.node_name(node));
    // An adapter with several ports that are connected, without one of them.
    let of_adapter = || names().find(|name| name.strip_prefix(given).is_some_and(|port| port.starts_with('[')));
    match of_adapter().or_else(|| nearest(given, names())) {
        Some(name) => format!(" or a name such as `{name}`"),
        None => " or a node's name".to_owned(),
    }
}

/// Whether a list of nodes is `all`: every node of the network.
pub fn is_all_nodes(text: &str) -> bool {
    text.trim() == "all"
}

/// Reads nodes separated by `;`; empty text is an empty list, and a trailing `;` is allowed. `all` is every node of the network.
///
/// # Errors
/// As [`parse_node`], for the first bad node.
pub fn parse_node_list(network: &Network, text: &str) -> Result<Vec<NodeId>, NodeError> {
    let text = text.trim();
    if is_all_nodes(text) {
        return Ok(network.node_ids().collect());
    }
    let text = text.strip_suffix(';').unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    text.split(';').map(|node| parse_node(network, node).map_err(|error| in_list(node, error))).collect()
}

/// What looks like several nodes may be a list with another separator.
fn in_list(node: &str, error: NodeError) -> NodeError {
    match error {
        NodeError::Malformed { given, expected } if node.trim().contains([',', ' ']) => {
            NodeError::Malformed { given, expected: format!("{expected}; nodes of a list are separated by `;`") }
        }
        NodeError::Malformed { given, expected } if nearest(&given, ["all", "every", "everyone"]).is_some() => {
            NodeError::Malformed { given, expected: format!("{expected}, or `all` alone") }
        }
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TopologySpec;

    #[test]
    fn names_that_are_numbers_are_told_of_and_taken_where_no_node_has_that_number() {
        let network = |names: [&str; 4]| {
            let mut builder = crate::NetworkBuilder::new("yed.json");
            for name in names {
                builder.router(name).unwrap();
            }
            builder.build().unwrap()
        };
        let shifted = network(["1", "2", "3", "4"]);
        assert_eq!(["0", "1", "4"].map(|text| parse_node(&shifted, text).unwrap().raw()), [0, 1, 3]);
        assert!(parse_node(&shifted, "5").is_err());
        let told = "node 0 of `yed.json` is called `1`, and where nodes are asked for, 1 is the number of another one";
        assert_eq!(misleading_name(&shifted).as_deref(), Some(told));
        assert_eq!(misleading_name(&network(["0", "1", "2", "3"])), None);
        assert_eq!(misleading_name(&network(["7", "8", "9", "a"])), None);
    }

    #[test]
    fn binary_addresses_are_not_read_as_numbers() {
        let cube = "hypercube:4".parse::<TopologySpec>().unwrap().build().unwrap();
        let error = parse_node(&cube, "0010").unwrap_err().to_string();
        assert!(error.contains("the binary address 0010 is node 2"), "{error}");
        assert_eq!(parse_node(&cube, "10"), Ok(NodeId::new(10)));
        let mesh = "mesh:4x4".parse::<TopologySpec>().unwrap().build().unwrap();
        assert_eq!(parse_node(&mesh, "01"), Ok(NodeId::new(1)));
    }

    #[test]
    fn numbers_and_coordinates_name_the_same_node() {
        let mesh = "mesh:8x8".parse::<TopologySpec>().unwrap().build().unwrap();
        assert_eq!(parse_node(&mesh, " 4,3 "), Ok(NodeId::new(28)));
        assert_eq!(parse_node_list(&mesh, "28; 1,4;"), Ok(vec![NodeId::new(28), NodeId::new(33)]));
        assert_eq!(parse_node_list(&mesh, ""), Ok(vec![]));
        let all = parse_node_list(&mesh, " all ").unwrap();
        assert_eq!((all.len(), all[0], all[63]), (64, NodeId::new(0), NodeId::new(63)));
        let capital = parse_node_list(&mesh, "All").unwrap_err().to_string();
        assert!(capital.ends_with("2 coordinates such as `0,0`, or `all` alone"), "{capital}");
    }

    #[test]
    fn nodes_of_one_router_are_counted_behind_its_coordinates() {
        let mesh = "mesh:8x4,nodes=3".parse::<TopologySpec>().unwrap().build().unwrap();
        for node in mesh.node_ids() {
            assert_eq!(parse_node(&mesh, &mesh.node_label(node)), Ok(node));
            assert_eq!(parse_node(&mesh, &node.to_string()), Ok(node));
        }
        assert_eq!(parse_node(&mesh, "1,2.1"), Ok(NodeId::new(3 * (2 * 8 + 1) + 1)));
        let ring = "torus:8,nodes=2".parse::<TopologySpec>().unwrap().build().unwrap();
        assert_eq!(parse_node_list(&ring, "3; 3.1"), Ok(vec![NodeId::new(3), NodeId::new(7)]));
        let message = |text| parse_node(&mesh, text).unwrap_err().to_string();
        assert_eq!(message("1,2"), "`1,2` is a router with several nodes: expected one of `1,2.0` to `1,2.2`");
        assert_eq!(message("1,2.3"), "node 1,2.3 is out of range: a router of mesh:8x4,nodes=3 has nodes 0 to 2");
        assert_eq!(message("1,4.0"), "node 1,4.0 is out of range: dimension 1 of mesh:8x4,nodes=3 goes from 0 to 3");
        assert_eq!(
            message("1.0"),
            "`1.0` is not a node: expected a number from 0 to 95, or 2 coordinates and which of the router's 3 nodes such as `0,0.0`"
        );
        let plain = "mesh:8x4".parse::<TopologySpec>().unwrap().build().unwrap();
        assert!(parse_node(&plain, "1,2.0").unwrap_err().to_string().contains("2 coordinates such as `0,0`"));
    }

    #[test]
    fn names_are_nodes_too() {
        let mut builder = crate::NetworkBuilder::new("towns");
        for name in ["Bern", "Chur", "Chur", "7"] {
            builder.router(name).unwrap();
        }
        let towns = builder.build().unwrap();
        assert_eq!(parse_node_list(&towns, "Bern; 1"), Ok(vec![NodeId::new(0), NodeId::new(1)]));
        let message = |text| parse_node(&towns, text).unwrap_err().to_string();
        assert_eq!(message("Chur"), "`Chur` is the name of nodes 1 and 2: use a number");
        assert_eq!(parse_node(&towns, "7"), Ok(NodeId::new(3)));
        assert_eq!(message("8"), "node 8 is out of range: towns has nodes 0 to 3");
        assert_eq!(message("Ber"), "`Ber` is not a node: expected a number from 0 to 3 or a name such as `Bern`");
    }

    #[test]
    fn bad_nodes_say_what_would_be_good() {
        let mesh = "mesh:8x4".parse::<TopologySpec>().unwrap().build().unwrap();
        let message = |text| parse_node(&mesh, text).unwrap_err().to_string();
        assert_eq!(message("32"), "node 32 is out of range: mesh:8x4 has nodes 0 to 31");
        assert_eq!(message("99999999999"), "node 99999999999 is out of range: mesh:8x4 has nodes 0 to 31");
        assert_eq!(message("4,4"), "node 4,4 is out of range: dimension 1 of mesh:8x4 goes from 0 to 3");
        assert_eq!(
            message("4,x"),
            "`4,x` is not a node: expected a number from 0 to 31, or 2 coordinates such as `0,0`"
        );
        assert_eq!(
            message("1,2,3"),
            "`1,2,3` is not a node: expected a number from 0 to 31, or 2 coordinates such as `0,0`"
        );
        let of_list = |text| parse_node_list(&mesh, text).unwrap_err().to_string();
        for list in ["1,2,3,3", "1,2 3,3", "0;1,2, 3,3"] {
            let message = of_list(list);
            assert!(message.ends_with("such as `0,0`; nodes of a list are separated by `;`"), "{message}");
        }
        assert_eq!(of_list("1,2;x"), message("x"), "there is nothing to separate");
    }

    #[test]
    fn names_with_blanks_and_names_of_several() {
        let mut builder = crate::NetworkBuilder::new("amb.json");
        for name in ["y", "x", "B ", " x", "x", "B"] {
            builder.router(name).unwrap();
        }
        let network = builder.build().unwrap();
        let router = |text| parse_router(&network, text).map(RouterId::raw).map_err(|error| error.to_string());
        assert_eq!(["y", " y ", "B ", " x", "B", "B  ", "3"].map(router), [0, 0, 2, 3, 5, 5, 3].map(Ok));
        assert_eq!(parse_node_list(&network, "y;B ; x").unwrap(), [0, 2, 3].map(NodeId::new));
        assert_eq!(router("x").unwrap_err(), "`x` is the name of routers 1 and 4: use a number");
        assert_eq!(
            parse_node(&network, "x").unwrap_err().to_string(),
            "`x` is the name of nodes 1 and 4: use a number"
        );
        assert_eq!(
            router_named(&network, "x").unwrap_err().to_string(),
            "`x` is the name of routers 1 and 4: use a number"
        );
        assert_eq!(routers_named(&network, "x").map(RouterId::raw).collect::<Vec<_>>(), [1, 4]);
    }
}
