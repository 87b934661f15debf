//! Edge lists: the plainest network file.

use crate::error::TopologyError;
use crate::network::Network;
use crate::spec::MAX_ROUTERS;

const EXPECTED: &str = "two router numbers, as in `0 1`, or a comment after `#`";

/// Reads an edge list: a line `u v` is a link between routers `u` and `v`, `#` starts a comment, blank lines are
/// skipped. There are as many routers as the largest number asks for, each with one node; a line that is repeated is a
/// parallel link. `path` is used in messages and as the network's name.
///
/// # Errors
/// If a line is not of that form, joins a router to itself, or the list has no link.
pub fn parse_edge_list(path: &str, text: &str) -> Result<Network, TopologyError> {
    let fail = |line: usize, problem: String| TopologyError::File {
        path: path.to_owned(),
        line: line + 1,
        problem,
        expected: EXPECTED,
    };
    let mut links = Vec::new();
    let mut routers = 0;
    for (number, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or("").trim();
        if content.is_empty() {
            continue;
        }
        let words: Vec<&str> = content.split_whitespace().collect();
        let &[u, v] = &words[..] else {
            return Err(fail(number, format!("found {} words", words.len())));
        };
        let router = |word: &str| match word.parse::<u32>() {
            Ok(id) if (id as usize) < MAX_ROUTERS => Ok(id),
            Ok(_) => Err(fail(number, format!("router {word} is beyond the limit of {MAX_ROUTERS} routers"))),
            Err(_) => Err(fail(number, format!("`{word}` is not a router number"))),
        };
        let (u, v) = (router(u)?, router(v)?);
        if u == v {
            return Err(fail(number, format!("router {u} is joined to itself")));
        }
        routers = routers.max(u.max(v) as usize + 1);
        links.push((u, v));
    }
    if links.is_empty() {
        return Err(fail(text.lines().count().max(1) - 1, "the file has no links".to_owned()));
    }
    Ok(Network::from_links(path, routers, &links))
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
    fn names_the_line_that_is_wrong() {
        let message = |text| parse_edge_list("bad", text).unwrap_err().to_string();
        assert!(message("0 1\n1 x\n").starts_with("bad:2: `x` is not a router number; expected two router numbers"));
        assert!(message("0 1 2").starts_with("bad:1: found 3 words"));
        assert!(message("0 1\n3 3").starts_with("bad:2: router 3 is joined to itself"));
        assert!(message("# nothing\n").starts_with("bad:1: the file has no links"));
    }

    #[test]
    fn a_network_in_two_parts_has_no_diameter() {
        let network = parse_edge_list("parts", "0 1\n2 3\n").unwrap();
        assert!(!network.distances().connected);
    }
}
