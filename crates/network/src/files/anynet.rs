//! `anynet` files, the networks of `BookSim`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use super::FileContext;
use super::edge_list::router_number;
use crate::builder::{MAX_LINKS, MAX_NODES, NetworkBuilder, NodeDetails};
use crate::error::TopologyError;
use crate::ids::RouterId;
use crate::network::Network;

const EXPECTED: &str = "lines such as `router 0 node 0 node 1 router 1`";

/// Reads an `anynet` file. A line starts with a router, or a node, and lists what it is joined to; a number behind that is a
/// latency, which is skipped. A pair of routers is joined by one link whichever of them
/// lists the other; where one lists the other more than once, by so many parallel links.
pub(super) fn parse(path: &str, text: &str) -> Result<Arc<Network>, TopologyError> {
    let file = FileContext { path, expected: EXPECTED };
    let mut routers = 0;
    // How often the smaller router lists the larger, the larger the smaller; and in which line first.
    let mut pairs: BTreeMap<(u32, u32), [usize; 3]> = BTreeMap::new();
    // The router of a node, and whether the router's line, and the node's, says so.
    let mut nodes: HashMap<u32, (u32, [bool; 2])> = HashMap::new();
    let mut named: BTreeSet<u32> = BTreeSet::new();
    let (mut links, mut last) = (0, 1);
    for (line, content) in (1..).zip(text.lines()) {
        last = line;
        let content = content.split('#').next().unwrap_or("");
        let mut words = content.split_whitespace().peekable();
        let mut head = None;
        while let Some(word) = words.next() {
            let is_router = match word {
                "router" => true,
                "node" => false,
                _ => return Err(file.error(line, format!("found `{word}` where `router` or `node` should be"))),
            };
            let number = words.next().ok_or_else(|| file.error(line, format!("`{word}` has no number")))?;
            let id = if is_router {
                router_number(number).map_err(|problem| file.error(line, problem))?
            } else {
                let id = number.parse::<u32>();
                id.map_err(|_| file.error(line, format!("`{number}` is not a node number")))?
            };
            if is_router {
                routers = routers.max(id as usize + 1);
                named.insert(id);
            }
            if head.is_some() && words.peek().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit())) {
                words.next();
            }
            let (router, node, by_node) = match (head, is_router) {
                (None, _) => {
                    head = Some((is_router, id));
                    continue;
                }
                (Some((true, head)), true) => {
                    if head == id {
                        return Err(file.error(line, format!("router {id} is joined to itself")));
                    }
                    links += 1;
                    if links > 2 * MAX_LINKS {
                        return Err(file.error(line, format!("there are more than {MAX_LINKS} links")));
                    }
                    let pair = pairs.entry((head.min(id), head.max(id))).or_insert([0, 0, line]);
                    pair[usize::from(head > id)] += 1;
                    continue;
                }
                (Some((true, router)), false) => (router, id, false),
                (Some((false, node)), true) => (id, node, true),
                (Some((false, node)), false) => {
                    return Err(file.error(line, format!("nodes {node} and {id} are joined without a router")));
                }
            };
            let (before, said) = nodes.entry(node).or_insert((router, [false; 2]));
            if *before != router {
                return Err(file.error(line, format!("node {node} is at router {before} already")));
            }
            if std::mem::replace(&mut said[usize::from(by_node)], true) {
                return Err(file.error(line, format!("node {node} is listed at router {router} already")));
            }
            if nodes.len() > MAX_NODES {
                return Err(file.error(line, format!("there are more than {MAX_NODES} nodes")));
            }
        }
    }
    if nodes.is_empty() {
        return Err(file.error(last, "no router has a node"));
    }
    if let Some(missing) = (0..routers as u32).find(|router| !named.contains(router)) {
        let largest = routers - 1;
        return Err(file.error(last, format!("there is a router {largest}, but no router {missing}")));
    }
    let mut builder = NetworkBuilder::new(path);
    builder.at_least(routers).map_err(|error| file.error(last, error))?;
    for ((u, v), [forth, back, line]) in pairs {
        for _ in 0..forth.max(back) {
            builder.link(RouterId::new(u), RouterId::new(v)).map_err(|error| file.error(line, error))?;
        }
    }
    let mut nodes: Vec<(u32, u32)> = nodes.into_iter().map(|(node, (router, _))| (router, node)).collect();
    nodes.sort_unstable();
    // Nodes are numbered router by router here: where the file does otherwise, its numbers become names.
    let renumbered = (0..).zip(&nodes).any(|(id, &(_, node))| id != node);
    for (router, node) in nodes {
        let name = if renumbered { format!("node {node}") } else { String::new() };
        builder
            .node(RouterId::new(router), NodeDetails { name, ..NodeDetails::default() })
            .map_err(|error| file.error(last, error))?;
    }
    builder.build().map_err(|error| file.error(last, error))
}

/// A network as an `anynet` file of `BookSim`: a router a line, with its nodes and its links to larger routers. A neighbour
/// that is listed again is a parallel link; `BookSim` itself makes one link of them.
///
/// ```
/// use wormcast_network::{NetworkAnynet, TopologySpec};
///
/// let ring = "ring:3".parse::<TopologySpec>()?.build()?;
/// assert!(NetworkAnynet(&ring).to_string().starts_with("router 0 node 0 router 1 router 2\nrouter 1 node 1 "));
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
pub struct NetworkAnynet<'n>(pub &'n Network);

impl fmt::Display for NetworkAnynet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(network) = self;
        for router in network.router_ids() {
            write!(f, "router {router}")?;
            for node in network.nodes_of(router) {
                write!(f, " node {node}")?;
            }
            let larger = network.outputs(router).map(|channel| network.to(channel)).filter(|&to| to > router);
            let mut larger: Vec<RouterId> = larger.collect();
            // The format says nothing of an order, and the parser keeps none.
            larger.sort_unstable();
            for neighbour in larger {
                write!(f, " router {neighbour}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;

    #[test]
    fn a_link_may_be_listed_at_either_end_or_at_both() {
        let network =
            parse("x", "router 0 node 0 node 1 router 1\nrouter 1 router 0 15 node 2\nrouter 2 router 1\n").unwrap();
        assert_eq!((network.routers(), network.nodes(), network.links()), (3, 3, 2));
        assert_eq!(network.router_of(NodeId::new(2)), RouterId::new(1));
        assert_eq!(network.nodes_of(RouterId::new(2)).len(), 0);
    }

    #[test]
    fn other_numbers_become_names() {
        let network = parse("x", "node 7 router 0\nrouter 1 node 3 router 0 router 0\n").unwrap();
        assert_eq!((network.links(), network.node_name(NodeId::new(0))), (2, Some("node 7")));
        assert_eq!(network.node_name(NodeId::new(1)), Some("node 3"));
    }

    #[test]
    fn mistakes_have_lines() {
        let message = |text| parse("x", text).unwrap_err().to_string();
        assert!(message("router 0 nod 1").starts_with("x:1: found `nod` where `router` or `node` should be; expected"));
        assert!(message("router 0 node 0\nrouter").starts_with("x:2: `router` has no number"));
        assert!(message("router 0 node 0\nrouter 1 node 0").starts_with("x:2: node 0 is at router 0 already"));
        assert!(message("router 0 node 0\nrouter 0 node 0").starts_with("x:2: node 0 is listed at router 0 already"));
        assert!(message("router 0 node 0 router 3").starts_with("x:1: there is a router 3, but no router 1"));
        assert!(message("router 0 router 0").starts_with("x:1: router 0 is joined to itself"));
        assert!(message("node 0 node 1").starts_with("x:1: nodes 0 and 1 are joined without a router"));
        assert!(message("router 0 router 1").starts_with("x:1: no router has a node"));
    }
}
