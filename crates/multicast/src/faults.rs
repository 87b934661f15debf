//! Links that have failed permanently.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use wormcast_network::split_mix::mix;
use wormcast_network::{ChannelId, Network, RouterId, parse_node, routers_named};
use wormcast_routing::Root;

/// Links that failed before a run, and which nodes know of them (paper 5, section 7).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// The links, each by one of its channels.
    pub links: Vec<ChannelId>,
    /// Which nodes know of them.
    pub information: FaultInformation,
}

/// Which nodes know which links have failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultInformation {
    /// Every node: worms take intact routes.
    #[default]
    Global,
    /// The nodes at both ends: a worm that comes to a failed link is absorbed there and sent on from there.
    Local,
}

/// Why links cannot fail as asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultError {
    /// The text does not name two routers.
    #[error(
        "`{text}` is not a link of `{network}`: expected two routers that are joined, 0 to {last}, as in `{example}`"
    )]
    Form {
        /// The text.
        text: String,
        /// The network.
        network: String,
        /// The largest number of a router.
        last: usize,
        /// How a link is written.
        example: &'static str,
    },
    /// The text names a node, in a network whose routers have other names than nodes.
    #[error("`{text}` is not a link of `{network}`: `{node}` is a node, not a router; it is at {router}")]
    Node {
        /// The text.
        text: String,
        /// The network.
        network: String,
        /// The node.
        node: String,
        /// Its router.
        router: String,
    },
    /// The text names one router twice.
    #[error("`{text}` is not a link of `{network}`: a link joins two different routers")]
    Itself {
        /// The text.
        text: String,
        /// The network.
        network: String,
    },
    /// The text names two links, as names may have hyphens.
    #[error(
        "`{text}` is two links, that between {} and that between {}: give the numbers of the routers, `{}` or `{}`",
        .links[0], .links[1], .numbers[0], .numbers[1]
    )]
    Ambiguous {
        /// The text.
        text: String,
        /// The routers at their ends.
        links: Box<[String; 2]>,
        /// The numbers of these.
        numbers: Box<[String; 2]>,
    },
    /// The text names two routers that no further link joins.
    #[error(
        "`{text}`: `{network}` has no link between routers {} and {}; router {} is joined to {neighbours}",
        .ends[0], .ends[1], .ends[0]
    )]
    NoLink {
        /// The text.
        text: String,
        /// The network.
        network: String,
        /// Both ends.
        ends: Box<[String; 2]>,
        /// The routers that are joined to the first.
        neighbours: String,
    },
    /// The text names two routers all of whose links have failed already.
    #[error("`{text}`: {links} between routers {} and {} already failed: a link fails in both directions, and is named once", .ends[0], .ends[1])]
    Again {
        /// The text.
        text: String,
        /// The links, in words.
        links: String,
        /// Both ends.
        ends: Box<[String; 2]>,
    },
    /// More links are to fail than there are.
    #[error("`{network}` has {links} links that can fail, fewer than {asked}")]
    TooMany {
        /// How many were asked for.
        asked: usize,
        /// The network.
        network: String,
        /// How many links have not failed otherwise.
        links: usize,
    },
}

impl Faults {
    /// Makes a link fail that a user names by the routers at its ends, `0-1` or `0,0-1,0`: of parallel links, the next one. A router is
    /// named by its number, in a grid by its coordinates, by its name if the network has names. Where every router has one node, the
    /// names of nodes are those of routers, too.
    ///
    /// # Errors
    /// If the text names no link that has not failed, or several that do not have the same ends.
    pub fn fail(&mut self, network: &Network, text: &str) -> Result<(), FaultError> {
        let node = |text: &str| parse_node(network, text).ok();
        // Names may have hyphens, and several routers may have one.
        let routers = |text: &str| match Root::parse(network, text) {
            Ok(Root::Router(router)) => vec![router],
            _ => {
                let own = node(text).filter(|_| network.has_one_node_each()).map(|node| network.router_of(node));
                own.map_or_else(|| routers_named(network, text).collect(), |router| vec![router])
            }
        };
        let router = |text: &str| routers(text).first().copied();
        let mut readings: Vec<(RouterId, RouterId)> = Vec::new();
        let mut joined: Vec<(RouterId, RouterId)> = Vec::new();
        for (at, _) in text.match_indices('-') {
            let (from, to) = (routers(&text[..at]), routers(&text[at + 1..]));
            readings.extend(from.first().copied().zip(to.first().copied()));
            let ends: HashSet<RouterId> = to.into_iter().collect();
            for &from in &from {
                let beside = network.outputs(from).map(|link| network.to(link)).filter(|to| ends.contains(to));
                joined.extend(beside.map(|to| (from, to)));
            }
        }
        // One link may have several names: those of its routers, and those of their nodes.
        let mut seen = HashSet::new();
        joined.retain(|&(from, to)| seen.insert((from.min(to), from.max(to))));
        if let [one, other, ..] = joined[..] {
            let said = |(from, to)| format!("{} and {}", network.router_label(from), network.router_label(to));
            return Err(FaultError::Ambiguous {
                text: text.to_owned(),
                links: Box::new([one, other].map(said)),
                numbers: Box::new([one, other].map(|(from, to)| format!("{from}-{to}"))),
            });
        }
        readings.splice(..0, joined);
        let Some(&(from, to)) = readings.first() else {
            // What would be a link if nodes were routers.
            let nodes = text.match_indices('-').find_map(|(at, _)| {
                let ends = [text[..at].trim(), text[at + 1..].trim()];
                let known = |end: &str| router(end).is_some() || node(end).is_some();
                let named = |end: &&str| router(end).is_none() && !end.bytes().all(|byte| byte.is_ascii_digit());
                ends.iter().all(|end| known(end)).then(|| ends.into_iter().find(named)).flatten()
            });
            if let Some((name, node)) = nodes.and_then(|name| Some((name, node(name)?))) {
                return Err(FaultError::Node {
                    text: text.to_owned(),
                    network: network.name().to_owned(),
                    node: name.to_owned(),
                    router: network.router_label(network.router_of(node)),
                });
            }
            let example = if network.shape().grid().is_some() { "0-1` or `0,0-1,0" } else { "0-1" };
            return Err(FaultError::Form {
                text: text.to_owned(),
                network: network.name().to_owned(),
                last: network.routers().saturating_sub(1),
                example,
            });
        };
        if from == to {
            return Err(FaultError::Itself { text: text.to_owned(), network: network.name().to_owned() });
        }
        let joins = |link: &ChannelId| network.to(*link) == to;
        match network.outputs(from).filter(joins).find(|&link| !self.has_failed(network, link)) {
            Some(link) => {
                self.links.push(link);
                Ok(())
            }
            None => {
                // As they may be written here, where numbers are those of routers.
                let name = |router: RouterId| {
                    network.router_name(router).map_or_else(|| router.to_string(), ToOwned::to_owned)
                };
                let failed = network.outputs(from).filter(joins).count();
                if failed > 0 {
                    let links = if failed == 1 { "the link".to_owned() } else { format!("all {failed} links") };
                    let ends = Box::new([name(from), name(to)]);
                    return Err(FaultError::Again { text: text.to_owned(), links, ends });
                }
                let mut neighbours: Vec<RouterId> = network.outputs(from).map(|link| network.to(link)).collect();
                neighbours.sort_unstable();
                neighbours.dedup();
                let neighbours: Vec<String> = neighbours.into_iter().map(name).collect();
                Err(FaultError::NoLink {
                    text: text.to_owned(),
                    network: network.name().to_owned(),
                    ends: Box::new([name(from), name(to)]),
                    neighbours: neighbours.join(", "),
                })
            }
        }
    }

    /// Makes `count` further links fail, drawn with the seed; all sets are equally likely.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn fail_at_random(&mut self, network: &Network, count: usize, seed: u64) -> Result<(), FaultError> {
        let channels = network.channel_ids();
        let mut working: Vec<ChannelId> =
            channels.filter(|&c| c < network.reverse(c) && !self.has_failed(network, c)).collect();
        if count > working.len() {
            let (network, links) = (network.name().to_owned(), working.len());
            return Err(FaultError::TooMany { asked: count, network, links });
        }
        for drawn in 0..count as u64 {
            let hash = mix(seed ^ mix(drawn));
            let place = (u128::from(hash) * working.len() as u128) >> 64;
            self.links.push(working.swap_remove(place as usize));
        }
        Ok(())
    }

    /// Whether the link of a channel has failed.
    pub fn has_failed(&self, network: &Network, channel: ChannelId) -> bool {
        self.links.iter().any(|&link| link == channel || network.reverse(link) == channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wormcast_network::TopologySpec;

    #[test]
    fn links_by_name_and_at_random() {
        let torus = "torus:4x2".parse::<TopologySpec>().unwrap().build().unwrap();
        let mut faults = Faults::default();
        faults.fail(&torus, "0,0-1,0").unwrap();
        assert!(faults.has_failed(&torus, torus.channel_between(RouterId::new(1), RouterId::new(0)).unwrap()));
        // In two rows, two links join the routers of a column.
        faults.fail(&torus, "0-4").unwrap();
        faults.fail(&torus, "4-0").unwrap();
        let message = |faults: &mut Faults, text| faults.fail(&torus, text).unwrap_err().to_string();
        assert_eq!(
            message(&mut faults, "0-4"),
            "`0-4`: all 2 links between routers 0 and 4 already failed: a link fails in both directions, and is named once"
        );
        assert!(message(&mut faults, "0-2").contains("has no link between"));
        assert!(message(&mut faults, "3-3").ends_with("a link joins two different routers"));
        assert_eq!(
            message(&mut faults, "0:2"),
            "`0:2` is not a link of `torus:4x2`: expected two routers that are joined, 0 to 7, as in `0-1` or `0,0-1,0`"
        );
        faults.fail_at_random(&torus, 13, 7).unwrap();
        assert_eq!(faults.links.len(), torus.links());
        assert!((0..torus.channels() as u32).all(|c| faults.has_failed(&torus, ChannelId::new(c))));
        assert_eq!(
            faults.fail_at_random(&torus, 1, 7).unwrap_err().to_string(),
            "`torus:4x2` has 0 links that can fail, fewer than 1"
        );
    }

    /// A switch is not named by a host of it.
    #[test]
    fn hosts_are_no_routers() {
        let text = "Switch 8 \"left\"\n[1] \"right\"[1]\n[2] \"a-1\"[1]\n[3] \"b\"[1]\nSwitch 8 \"right\"\n[2] \"c\"[1]\n\
                    Hca 1 \"a-1\"\nHca 1 \"b\"\nHca 1 \"c\"\n";
        let fabric = wormcast_network::FileFormat::Fabric.parse("fabric", text).unwrap();
        let message = |text| Faults::default().fail(&fabric, text).unwrap_err().to_string();
        let start = |text: &str| format!("`{text}` is not a link of `fabric`: ");
        assert_eq!(message("a-1-right"), start("a-1-right") + "`a-1` is a node, not a router; it is at left");
        assert_eq!(message("left-c"), start("left-c") + "`c` is a node, not a router; it is at right");
        assert_eq!(message("left-left"), start("left-left") + "a link joins two different routers");
        let mut faults = Faults::default();
        faults.fail(&fabric, "left-right").unwrap();
        assert_eq!(
            faults.fail(&fabric, "left-right").unwrap_err().to_string(),
            "`left-right`: the link between routers left and right already failed: a link fails in both directions, and is named once"
        );
    }

    /// Of two readings, the one that is a link; not the first, if both are.
    #[test]
    fn names_with_hyphens() {
        let ring = |names: &[&str]| {
            let node = |(id, name)| format!(r#"{{"id":{id},"label":"{name}"}}"#);
            let nodes: Vec<String> = names.iter().enumerate().map(node).collect();
            let edge = |id: usize| format!(r#"{{"source":{id},"target":{}}}"#, (id + 1) % names.len());
            let edges: Vec<String> = (0..names.len()).map(edge).collect();
            let text = format!(r#"{{"nodes":[{}],"edges":[{}]}}"#, nodes.join(","), edges.join(","));
            wormcast_network::FileFormat::NodeLink.parse("ring", &text).unwrap()
        };
        let failed = |names: &[&str]| {
            let (ring, mut faults) = (ring(names), Faults::default());
            let error = faults.fail(&ring, "a-b-c").err().map(|error| error.to_string());
            error.map_or_else(|| Ok((ring.from(faults.links[0]).raw(), ring.to(faults.links[0]).raw())), Err)
        };
        let both = "`a-b-c` is two links, that between a and b-c and that between a-b and c: give the numbers of the routers, `0-1` or `2-3`";
        assert_eq!(failed(&["a", "b-c", "a-b", "c"]), Err(both.to_owned()));
        assert_eq!(failed(&["a", "b-c", "a-b", "d"]), Ok((0, 1)));
        assert_eq!(failed(&["a", "x", "b-c", "a-b", "c"]), Ok((3, 4)));
        let hosts = "Switch 8 \"a\"\n[1] \"b-c\"[1]\n[2] \"a-b\"[1]\nSwitch 8 \"b-c\"\n[2] \"c\"[1]\nHca 1 \"a-b\"\nHca 1 \"c\"\n";
        let fabric = wormcast_network::FileFormat::Fabric.parse("fabric", hosts).unwrap();
        Faults::default().fail(&fabric, "a-b-c").unwrap();
        let neither = failed(&["a", "x", "b-c", "y"]).unwrap_err();
        assert!(neither.contains("has no link between routers a and b-c"), "{neither}");
    }

    /// A name that several routers have is a link's only where one of them is joined to the other end.
    #[test]
    fn names_of_several_routers() {
        let text = r#"{"nodes":[{"id":0,"label":"y"},{"id":1,"label":"x"},{"id":2,"label":"z"},{"id":3,"label":"x"},{"id":4,"label":"w"}],
            "edges":[{"source":0,"target":1},{"source":1,"target":2},{"source":2,"target":3},{"source":3,"target":4},{"source":0,"target":3}]}"#;
        let network = wormcast_network::FileFormat::NodeLink.parse("amb.json", text).unwrap();
        let failed = |text: &str| {
            let mut faults = Faults::default();
            let error = faults.fail(&network, text).err().map(|error| error.to_string());
            error.map_or_else(|| Ok(network.to(faults.links[0]).raw()), Err)
        };
        assert_eq!(failed("w-x"), Ok(3));
        let both = failed("y-x").unwrap_err();
        assert!(both.ends_with("give the numbers of the routers, `0-1` or `0-3`"), "{both}");
        let root = Root::parse(&network, "x").unwrap_err().to_string();
        assert_eq!(root, "`x` is the name of routers 1 and 3: use a number");
        let start = wormcast_routing::parse_start(&network, "x").unwrap_err().to_string();
        assert_eq!(start, root);
    }

    /// Switches without nodes have links, too: numbers are those of routers.
    #[test]
    fn links_between_switches() {
        let bmin = "bmin:2x3".parse::<TopologySpec>().unwrap().build().unwrap();
        let mut faults = Faults::default();
        for channel in (0..bmin.channels() as u32).map(ChannelId::new) {
            let (from, to) = (bmin.from(channel), bmin.to(channel));
            if !faults.has_failed(&bmin, channel) {
                faults.fail(&bmin, &format!("{from}-{to}")).unwrap();
            }
            assert!(faults.has_failed(&bmin, channel));
        }
        let message = |text| Faults::default().fail(&bmin, text).unwrap_err().to_string();
        assert_eq!(message("0-1"), "`0-1`: `bmin:2x3` has no link between routers 0 and 1; router 0 is joined to 4, 5");
        assert!(message("0-12").ends_with("expected two routers that are joined, 0 to 11, as in `0-1`"));
    }
}
