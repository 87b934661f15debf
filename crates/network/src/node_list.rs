//! Nodes as users write them: `28`, `4,3`, a name, or lists with `;`, or `all`.

use crate::error::NodeError;
use crate::ids::NodeId;
use crate::network::Network;
use crate::text::nearest;

/// Reads one node: its number, in a grid its coordinates joined by commas, or its name if the network's file has names.
///
/// A number is never a name. Looking for a name takes time linear in the nodes.
///
/// # Errors
/// If the text is none of these, or names no node of the network, or several.
pub fn parse_node(network: &Network, text: &str) -> Result<NodeId, NodeError> {
    let given = text.trim();
    if let Some(node) = node_named(network, given)? {
        return Ok(node);
    }
    let grid = network.shape().grid();
    let malformed = || NodeError::Malformed {
        given: given.to_owned(),
        expected: match grid {
            Some(grid) => format!(
                "a number from 0 to {}, or {} coordinates such as `{}`",
                network.nodes() - 1,
                grid.dimensions(),
                vec!["0"; grid.dimensions()].join(",")
            ),
            None => format!("a number from 0 to {}{}", network.nodes() - 1, nearest_name(network, given)),
        },
    };
    let numbers = given
        .split(',')
        .map(|part| {
            let part = part.trim();
            if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
                return Err(malformed());
            }
            // Only digits: what does not fit is too large, not malformed.
            Ok(part.parse::<u32>().unwrap_or(u32::MAX))
        })
        .collect::<Result<Vec<u32>, _>>()?;
    if let [number] = numbers[..] {
        return if (number as usize) < network.nodes() {
            Ok(NodeId::new(number))
        } else {
            Err(NodeError::OutOfRange {
                given: given.to_owned(),
                network: network.name().to_owned(),
                last: network.nodes() - 1,
            })
        };
    }
    let grid = grid.filter(|grid| grid.dimensions() == numbers.len()).ok_or_else(malformed)?;
    match numbers.iter().zip(grid.extents()).position(|(c, k)| c >= k) {
        Some(dimension) => Err(NodeError::CoordinateOutOfRange {
            given: given.to_owned(),
            network: network.name().to_owned(),
            dimension,
            last: grid.extents()[dimension] as usize - 1,
        }),
        None => Ok(NodeId::new(grid.index(&numbers) as u32)),
    }
}

/// The node of this name, if the network has names and this is one of them.
fn node_named(network: &Network, given: &str) -> Result<Option<NodeId>, NodeError> {
    if given.bytes().all(|byte| byte.is_ascii_digit()) || !network.has_names() {
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

fn nearest_name(network: &Network, given: &str) -> String {
    if !network.has_names() {
        return String::new();
    }
    match nearest(given, network.node_ids().filter_map(|node| network.node_name(node))) {
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
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TopologySpec;

    #[test]
    fn numbers_and_coordinates_name_the_same_node() {
        let mesh = "mesh:8x8".parse::<TopologySpec>().unwrap().build().unwrap();
        assert_eq!(parse_node(&mesh, " 4,3 "), Ok(NodeId::new(28)));
        assert_eq!(parse_node_list(&mesh, "28; 1,4;"), Ok(vec![NodeId::new(28), NodeId::new(33)]));
        assert_eq!(parse_node_list(&mesh, ""), Ok(vec![]));
        let all = parse_node_list(&mesh, " all ").unwrap();
        assert_eq!((all.len(), all[0], all[63]), (64, NodeId::new(0), NodeId::new(63)));
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
        assert_eq!(message("7"), "node 7 is out of range: towns has nodes 0 to 3");
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
}
