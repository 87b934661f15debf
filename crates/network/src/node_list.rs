//! Nodes as users write them: `28`, `4,3`, or lists with `;`, or `all`.

use crate::error::NodeError;
use crate::ids::NodeId;
use crate::network::Network;

/// Reads one node: its number or, in a grid, its coordinates joined by commas.
///
/// # Errors
/// If the text is neither, or names a node that the network does not have.
pub fn parse_node(network: &Network, text: &str) -> Result<NodeId, NodeError> {
    let given = text.trim();
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
            None => format!("a number from 0 to {}", network.nodes() - 1),
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

/// Reads nodes separated by `;`; empty text is an empty list, and a trailing `;` is allowed. `all` is every node of the network.
///
/// # Errors
/// As [`parse_node`], for the first bad node.
pub fn parse_node_list(network: &Network, text: &str) -> Result<Vec<NodeId>, NodeError> {
    let text = text.trim();
    if text == "all" {
        return Ok((0..network.nodes() as u32).map(NodeId::new).collect());
    }
    let text = text.strip_suffix(';').unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    text.split(';').map(|node| parse_node(network, node)).collect()
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
    }
}
