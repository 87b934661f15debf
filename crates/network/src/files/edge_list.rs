//! Edge lists: the plainest network file.

use std::fmt;
use std::num::IntErrorKind;
use std::sync::Arc;

use super::FileContext;
use crate::builder::NetworkBuilder;
use crate::error::TopologyError;
use crate::ids::{ChannelId, RouterId};
use crate::network::Network;
use crate::topologies::link_classes::MAX_LINK_DELAY;
use crate::topologies::spec::MAX_ROUTERS;

const EXPECTED: &str = "two router numbers, as in `0 1`, with the link's cycles behind them if it takes more than one, as in `0 1 3`, or a comment after `#`";

/// Reads an edge list: a line `u v` is a link between routers `u` and `v`, `#` starts a comment, blank lines are
/// skipped. A third number is the cycles that flits take over the link, 1 without it. There are as many routers as the largest number asks for, each with one node; a line that is repeated is a
/// parallel link. `path` is used in messages and as the network's name.
///
/// # Errors
/// If a line is not of that form, joins a router to itself, or the list has no link.
pub fn parse_edge_list(path: &str, text: &str) -> Result<Arc<Network>, TopologyError> {
    let file = FileContext { path, expected: EXPECTED };
    let mut builder = NetworkBuilder::new(path);
    let mut last = 1;
    for (line, content) in (1..).zip(text.lines()) {
        last = line;
        let content = content.split('#').next().unwrap_or("").trim();
        if content.is_empty() {
            continue;
        }
        let mut words = content.split_whitespace();
        let (Some(u), Some(v), delay, None) = (words.next(), words.next(), words.next(), words.next()) else {
            let count = content.split_whitespace().count();
            return Err(file.error(line, format!("found {count} word{}", if count == 1 { "" } else { "s" })));
        };
        let mut router = |word: &str| {
            let id = router_number(word).map_err(|problem| file.error(line, problem))?;
            builder.at_least(id as usize + 1).map_err(|error| file.error(line, error))?;
            Ok(RouterId::new(id))
        };
        let (u, v) = (router(u)?, router(v)?);
        builder.link(u, v).map_err(|error| file.error(line, error))?;
        if let Some(word) = delay {
            let cycles = word.parse().map_err(|_| {
                let shown = word.replace(char::is_control, "\u{fffd}");
                file.error(line, format!("`{shown}` is not a number of cycles from 1 to {MAX_LINK_DELAY}"))
            })?;
            builder.delay(cycles).map_err(|error| file.error(line, error))?;
        }
    }
    if builder.links() == 0 {
        return Err(file.error(last, "the file has no links"));
    }
    builder.build().map_err(|error| file.error(last, error))
}

/// What is wrong with the number of a router that cannot be.
fn too_large(word: &str) -> String {
    format!("router {word} is beyond the limit of {MAX_ROUTERS} routers")
}

/// Reads a router's number.
pub(super) fn router_number(word: &str) -> Result<u32, String> {
    match word.parse::<u32>() {
        Ok(id) if (id as usize) < MAX_ROUTERS => Ok(id),
        Ok(_) => Err(too_large(word)),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Err(too_large(word)),
        // Not a control character as it is: a terminal might obey it.
        Err(_) => {
            let shown = word.replace(char::is_control, "\u{fffd}");
            Err(format!("`{shown}` is not a router number"))
        }
    }
}

/// What an edge list cannot express, and formats that can.
pub(super) fn inexpressible(network: &Network) -> Option<String> {
    if !network.has_one_node_each() {
        return Some("routers that have no node, or several".to_owned());
    }
    let last = RouterId::new(network.routers() as u32 - 1);
    (network.outputs(last).len() == 0).then(|| format!("router {last}, which has no links"))
}

/// A network as an edge list, one link on each line, as [`parse_edge_list`] reads them.
///
/// ```
/// use wormcast_network::{NetworkEdgeList, TopologySpec};
///
/// let ring = "ring:3".parse::<TopologySpec>()?.build()?;
/// assert_eq!(NetworkEdgeList(&ring).to_string(), "0 1\n0 2\n1 2\n");
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
pub struct NetworkEdgeList<'n>(pub &'n Network);

impl fmt::Display for NetworkEdgeList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(network) = self;
        links(network).try_for_each(|link| match network.link_delay(link) {
            Some(cycles) if cycles > 1 => writeln!(f, "{} {} {cycles}", network.from(link), network.to(link)),
            _ => writeln!(f, "{} {}", network.from(link), network.to(link)),
        })
    }
}

/// One channel of each link, that from the smaller router, router by router.
pub(crate) fn links(network: &Network) -> impl Iterator<Item = ChannelId> {
    network.channel_ids().filter(|&channel| channel <= network.reverse(channel))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_links_and_comments() {
        let network = parse_edge_list("ring", "# a ring\n0 1\n1 2 # second\n\n2 0\n").unwrap();
        assert_eq!((network.routers(), network.links()), (3, 3));
        assert_eq!(network.distances().diameter, Some(1));
    }

    #[test]
    fn delays_are_read_and_written() {
        let network = parse_edge_list("line", "0 1\n1 2 3\n1 2\n").unwrap();
        let delays = |network: &Network| links(network).map(|link| network.link_delay(link)).collect::<Vec<_>>();
        assert_eq!(delays(&network), [Some(1), Some(3), Some(1)]);
        assert!(network.channel_ids().all(|c| network.link_delay(c) == network.link_delay(network.reverse(c))));
        assert_eq!(NetworkEdgeList(&network).to_string(), "0 1\n1 2 3\n1 2\n");
        let plain = parse_edge_list("line", "0 1\n").unwrap();
        assert!(!plain.has_link_delays() && plain.link_delay(ChannelId::new(0)).is_none());
    }

    #[test]
    fn names_the_line_that_is_wrong() {
        let message = |text: &str| parse_edge_list("bad", text).unwrap_err().to_string();
        assert!(message("0 1\n1 \u{1b}x\n").starts_with("bad:2: `\u{fffd}x` is not a router number"));
        assert!(message("0 1\n1 x\n").starts_with("bad:2: `x` is not a router number; expected two router numbers"));
        assert!(message("0 1 2 3").starts_with("bad:1: found 4 words"));
        assert!(
            message("0 1\n1 2 x")
                .starts_with("bad:2: `x` is not a number of cycles from 1 to 4096; expected two router numbers")
        );
        assert!(message("0 1 0").starts_with("bad:1: a link's delay of 0 cycles is out of range: expected 1 to 4096"));
        assert!(message("0 1 -3").starts_with("bad:1: `-3` is not a number of cycles"));
        assert!(message("0 1\n3 3").starts_with("bad:2: router 3 is joined to itself"));
        assert!(message("# nothing\n").starts_with("bad:1: the file has no links"));
        assert!(message(&"x".repeat(1 << 20)).len() < 1000);
        assert!(message("0 16777216").contains("beyond the limit of 16777216 routers"));
    }

    #[test]
    fn a_network_in_two_parts_has_no_diameter() {
        let network = parse_edge_list("parts", "0 1\n2 3\n").unwrap();
        assert!(!network.distances().connected);
    }

    #[test]
    fn links_of_one_cycle_are_links_without_a_delay() {
        let one = parse_edge_list("one", "0 1 1\n1 2 1\n").unwrap();
        assert!(!one.has_link_delays() && links(&one).all(|link| one.link_delay(link).is_none()));
        let message = parse_edge_list("one", "0 1 5000000000\n").unwrap_err().to_string();
        assert!(message.starts_with("one:1: `5000000000` is not a number of cycles from 1 to 4096"), "{message}");
    }
}
