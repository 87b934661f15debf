//! Specifications of graphs that are generated: `random:nodes=256,degree=4,seed=7` and the like.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::builder::MAX_LINKS;
use crate::decimal::Decimal;
use crate::error::TopologyError;
use crate::network::Network;
use crate::text::did_you_mean;
use crate::topologies::generate::{self, Links};
use crate::topologies::spec::MAX_ROUTERS;

/// A graph that is generated, with a node at each router; those that are drawn at random are always connected.
///
/// A graph depends on its parameters and seed alone, and is the same on every machine.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GraphSpec {
    /// `random:nodes=N,degree=D,seed=S`: a uniform random spanning tree, and then uniform random links up to the average degree,
    /// which is rounded to a whole number of links.
    Random {
        /// Routers.
        nodes: u32,
        /// Links a router, each counted at both ends, on average.
        degree: Decimal,
        /// The seed.
        seed: u64,
    },
    /// `regular:nodes=N,degree=D,seed=S`: a graph of neighbours on a ring whose links have been swapped at random.
    Regular {
        /// Routers.
        nodes: u32,
        /// Links of each router.
        degree: u32,
        /// The seed.
        seed: u64,
    },
    /// `small-world:nodes=N,degree=D,rewire=P,seed=S`: Watts and Strogatz's small world.
    SmallWorld {
        /// Routers.
        nodes: u32,
        /// Links of each router before any is moved: even.
        degree: u32,
        /// The probability that a link is moved.
        rewire: Decimal,
        /// The seed.
        seed: u64,
    },
    /// `tree:nodes=N,seed=S`: uniform among all labelled trees.
    Tree {
        /// Routers.
        nodes: u32,
        /// The seed.
        seed: u64,
    },
    /// `ring:N`.
    Ring(u32),
    /// `complete:N`: every router joined to every other.
    Complete(u32),
    /// `petersen`: the Petersen graph.
    Petersen,
}

/// The families, each with an example.
pub(crate) const GRAPHS: [(&str, &str); 7] = [
    ("random", "random:nodes=256,degree=4,seed=7"),
    ("regular", "regular:nodes=64,degree=4,seed=7"),
    ("small-world", "small-world:nodes=64,degree=4,rewire=0.1,seed=7"),
    ("tree", "tree:nodes=64,seed=7"),
    ("ring", "ring:16"),
    ("complete", "complete:8"),
    ("petersen", "petersen"),
];

/// Parameters as they were given.
pub(super) struct Given<'t> {
    spec: &'t str,
    example: &'static str,
    values: Vec<(&'static str, &'t str)>,
}

impl<'t> Given<'t> {
    /// No parameters.
    pub(super) fn nothing(spec: &'t str, example: &'static str) -> Self {
        Self { spec, example, values: Vec::new() }
    }

    pub(super) fn error(&self, problem: impl Into<String>) -> TopologyError {
        TopologyError::Malformed {
            given: self.spec.to_owned(),
            problem: problem.into(),
            expected: format!("a form such as `{}`", self.example),
        }
    }

    /// `key=value` pairs of these keys.
    pub(super) fn read(
        spec: &'t str,
        example: &'static str,
        text: &'t str,
        keys: &[&'static str],
    ) -> Result<Self, TopologyError> {
        let mut given = Self { spec, example, values: Vec::new() };
        for part in text.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                return Err(given.error(format!("`{}` is not of the form `key=value`", part.trim())));
            };
            let (key, value) = (key.trim(), value.trim());
            let Some(&known) = keys.iter().find(|&&known| known == key) else {
                let problem = format!("there is no key `{key}`");
                return Err(match did_you_mean(key, keys.iter().copied()) {
                    hint if hint.is_empty() => given.error(format!("{problem}; the keys are {}", list(keys))),
                    hint => TopologyError::Malformed {
                        given: spec.to_owned(),
                        problem: format!("{problem}{hint}"),
                        expected: String::new(),
                    },
                });
            };
            if given.values.iter().any(|&(key, _)| key == known) {
                return Err(given.error(format!("`{known}` is given twice")));
            }
            given.values.push((known, value));
        }
        Ok(given)
    }

    pub(super) fn parsed<T: FromStr>(&self, key: &str, what: &str) -> Result<Option<T>, TopologyError> {
        let Some(&(_, value)) = self.values.iter().find(|&&(given, _)| given == key) else { return Ok(None) };
        let problem = || if is_digits(value) { "too large".to_owned() } else { format!("not {what}") };
        value.parse().map(Some).map_err(|_| self.error(format!("`{key}={value}` is {}", problem())))
    }

    pub(super) fn required<T: FromStr>(&self, key: &str, what: &str) -> Result<T, TopologyError> {
        self.parsed(key, what)?.ok_or_else(|| self.error(format!("`{key}` is missing")))
    }

    /// A number that is not 0.
    pub(super) fn at_least_one(&self, key: &'static str, default: Option<u32>) -> Result<u32, TopologyError> {
        let Some(number) = self.parsed::<u32>(key, "a whole number")?.or(default) else {
            return Err(self.error(format!("`{key}` is missing")));
        };
        if number == 0 { Err(self.error(format!("`{key}=0` leaves nothing: at least 1"))) } else { Ok(number) }
    }

    fn nodes(&self, least: u32) -> Result<u32, TopologyError> {
        let nodes = self.required::<u64>("nodes", "a whole number")?;
        self.check_nodes(nodes, least)
    }

    fn check_nodes(&self, nodes: u64, least: u32) -> Result<u32, TopologyError> {
        if nodes > MAX_ROUTERS as u64 {
            let routers = u128::from(nodes);
            return Err(TopologyError::TooLarge { given: self.spec.to_owned(), routers, limit: MAX_ROUTERS });
        }
        if nodes < u64::from(least) {
            return Err(self.error(format!(
                "{} too few: at least {least}",
                if nodes == 1 { "1 router is".to_owned() } else { format!("{nodes} routers are") }
            )));
        }
        Ok(nodes as u32)
    }

    fn seed(&self) -> Result<u64, TopologyError> {
        Ok(self.parsed("seed", "a whole number from 0 to 2^64 - 1")?.unwrap_or(0))
    }

    pub(super) fn check_links(&self, links: u128) -> Result<(), TopologyError> {
        if links > MAX_LINKS as u128 {
            return Err(self.error(format!("{links} links are too many: at most {MAX_LINKS}")));
        }
        Ok(())
    }
}

fn routers(count: u32) -> String {
    if count == 1 { "1 router".to_owned() } else { format!("{count} routers") }
}

/// Whether a text that is no number of the kind that is expected is a whole number, and so a larger one.
pub(super) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn list(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

impl GraphSpec {
    /// Parses what follows the colon of a family's specification.
    pub(crate) fn parse(spec: &str, family: &str, rest: &str) -> Result<Option<Self>, TopologyError> {
        let Some(&(family, example)) = GRAPHS.iter().find(|&&(name, _)| name == family) else { return Ok(None) };
        let read = |keys: &[&'static str]| Given::read(spec, example, rest, keys);
        let number = |least: u32| {
            let given = Given { spec, example, values: Vec::new() };
            let nodes = rest.trim().parse::<u64>();
            let problem = if is_digits(rest.trim()) { "too large" } else { "not a number of routers" };
            let nodes = nodes.map_err(|_| given.error(format!("`{}` is {problem}", rest.trim())))?;
            given.check_nodes(nodes, least)
        };
        let parsed = match family {
            "random" => Self::parse_random(&read(&["nodes", "degree", "seed"])?)?,
            "regular" => Self::parse_regular(&read(&["nodes", "degree", "seed"])?)?,
            "small-world" => Self::parse_small_world(&read(&["nodes", "degree", "rewire", "seed"])?)?,
            "tree" => {
                let given = read(&["nodes", "seed"])?;
                Self::Tree { nodes: given.nodes(1)?, seed: given.seed()? }
            }
            "ring" => Self::Ring(number(3)?),
            "complete" => {
                let nodes = number(1)?;
                let given = Given { spec, example, values: Vec::new() };
                given.check_links(u128::from(nodes) * u128::from(nodes - 1) / 2)?;
                Self::Complete(nodes)
            }
            _ => {
                return Err(TopologyError::Malformed {
                    given: spec.to_owned(),
                    problem: "there is one Petersen graph, without parameters, `petersen`".to_owned(),
                    expected: String::new(),
                });
            }
        };
        Ok(Some(parsed))
    }

    fn parse_random(given: &Given<'_>) -> Result<Self, TopologyError> {
        let nodes = given.nodes(1)?;
        let degree = given.required::<Decimal>("degree", "a number of at most six decimals")?;
        let links = degree.half_of(u64::from(nodes));
        let (least, most) = (u128::from(nodes) - 1, u128::from(nodes) * u128::from(nodes - 1) / 2);
        if links < least {
            let nearest = Decimal::ratio_up(2 * (u64::from(nodes) - 1), u64::from(nodes));
            return Err(given.error(format!(
                "an average degree of {degree} is too small to connect {nodes} routers: at least {nearest}"
            )));
        }
        if links > most {
            return Err(given.error(format!(
                "an average degree of {degree} is too large for {}: at most {}",
                routers(nodes),
                nodes - 1
            )));
        }
        given.check_links(links)?;
        Ok(Self::Random { nodes, degree, seed: given.seed()? })
    }

    fn parse_regular(given: &Given<'_>) -> Result<Self, TopologyError> {
        let nodes = given.nodes(1)?;
        let degree = given.required::<u32>("degree", "a whole number")?;
        if degree >= nodes {
            let of = routers(nodes);
            return Err(given.error(format!("a degree of {degree} is too large for {of}: at most {}", nodes - 1)));
        }
        if u64::from(nodes) * u64::from(degree) % 2 == 1 {
            return Err(given.error(format!(
                "{nodes} routers cannot all have degree {degree}, as every link has two ends: {} routers or degree {} can",
                nodes + 1,
                degree + 1
            )));
        }
        if degree < 2 && nodes > degree + 1 {
            return Err(
                given.error(format!("a degree of {degree} is too small to connect {nodes} routers: at least 2"))
            );
        }
        given.check_links(u128::from(nodes) * u128::from(degree) / 2)?;
        Ok(Self::Regular { nodes, degree, seed: given.seed()? })
    }

    fn parse_small_world(given: &Given<'_>) -> Result<Self, TopologyError> {
        let nodes = given.nodes(3)?;
        let degree = given.required::<u32>("degree", "a whole number")?;
        let most = (nodes - 1) / 2 * 2;
        if degree % 2 == 1 || degree == 0 || degree > most {
            let nearest = if degree > most { most } else { (degree + 1).max(2).min(most) };
            let expected = if most == 2 {
                "only 2 does".to_owned()
            } else {
                format!("an even number from 2 to {most}, such as {nearest}")
            };
            return Err(given.error(format!("a degree of {degree} does not fit {nodes} routers: {expected}")));
        }
        let rewire = given.required::<Decimal>("rewire", "a probability of at most six decimals")?;
        if rewire > Decimal::ONE {
            return Err(given.error(format!("`rewire={rewire}` is no probability: from 0 to 1")));
        }
        given.check_links(u128::from(nodes) * u128::from(degree) / 2)?;
        Ok(Self::SmallWorld { nodes, degree, rewire, seed: given.seed()? })
    }

    /// A graph of this family drawn with another seed; `None` if nothing about it is random.
    pub fn with_seed(&self, seed: u64) -> Option<Self> {
        match *self {
            Self::Random { nodes, degree, .. } => Some(Self::Random { nodes, degree, seed }),
            Self::Regular { nodes, degree, .. } => Some(Self::Regular { nodes, degree, seed }),
            Self::SmallWorld { nodes, degree, rewire, .. } => Some(Self::SmallWorld { nodes, degree, rewire, seed }),
            Self::Tree { nodes, .. } => Some(Self::Tree { nodes, seed }),
            Self::Ring(_) | Self::Complete(_) | Self::Petersen => None,
        }
    }

    /// Draws the graph.
    ///
    /// # Errors
    /// If many random draws gave no connected graph.
    pub(crate) fn build(&self) -> Result<Arc<Network>, TopologyError> {
        let unlucky = |problem: &str| TopologyError::Unlucky { given: self.to_string(), problem: problem.to_owned() };
        let (nodes, links): (u32, Links) = match *self {
            Self::Random { nodes, degree, seed } => {
                (nodes, generate::random(nodes, degree.half_of(u64::from(nodes)) as usize, seed))
            }
            Self::Regular { nodes, degree, seed } => {
                let links = generate::regular(nodes, degree, seed);
                (nodes, links.ok_or_else(|| unlucky("no graph was connected; try another seed"))?)
            }
            Self::SmallWorld { nodes, degree, rewire, seed } => {
                let links = generate::small_world(nodes, degree, rewire, seed);
                let problem = "none of a hundred graphs was connected; a larger `degree` or a smaller `rewire` helps";
                (nodes, links.ok_or_else(|| unlucky(problem))?)
            }
            Self::Tree { nodes, seed } => (nodes, generate::tree(nodes, seed)),
            Self::Ring(nodes) => (nodes, generate::ring(nodes)),
            Self::Complete(nodes) => (nodes, generate::complete(nodes)),
            Self::Petersen => (10, generate::petersen()),
        };
        Ok(Network::from_links(self.to_string(), nodes as usize, &links))
    }
}

impl fmt::Display for GraphSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random { nodes, degree, seed } => write!(f, "random:nodes={nodes},degree={degree},seed={seed}"),
            Self::Regular { nodes, degree, seed } => write!(f, "regular:nodes={nodes},degree={degree},seed={seed}"),
            Self::SmallWorld { nodes, degree, rewire, seed } => {
                write!(f, "small-world:nodes={nodes},degree={degree},rewire={rewire},seed={seed}")
            }
            Self::Tree { nodes, seed } => write!(f, "tree:nodes={nodes},seed={seed}"),
            Self::Ring(nodes) => write!(f, "ring:{nodes}"),
            Self::Complete(nodes) => write!(f, "complete:{nodes}"),
            Self::Petersen => f.write_str("petersen"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TopologySpec;
    use crate::ids::RouterId;
    use proptest::prelude::*;

    fn build(spec: &str) -> Arc<Network> {
        spec.parse::<TopologySpec>().unwrap().build().unwrap()
    }

    fn links(network: &Network) -> Vec<(u32, u32)> {
        crate::files::links(network).map(|link| (network.from(link).raw(), network.to(link).raw())).collect()
    }

    fn is_simple(network: &Network) -> bool {
        let links = links(network);
        links.windows(2).all(|pair| pair[0] < pair[1]) && links.iter().all(|(u, v)| u < v)
    }

    fn message(spec: &str) -> String {
        spec.parse::<TopologySpec>().unwrap_err().to_string()
    }

    #[test]
    fn graphs_without_chance() {
        let petersen = build("petersen");
        assert_eq!((petersen.routers(), petersen.links(), petersen.distances().diameter), (10, 15, Some(2)));
        assert_eq!(petersen.degrees().min, 3);
        assert_eq!((build("ring:7").links(), build("ring:7").distances().diameter), (7, Some(3)));
        assert_eq!((build("complete:6").links(), build("complete:1").links()), (15, 0));
    }

    #[test]
    fn graphs_depend_on_the_seed_alone() {
        let again = "random:nodes=40,degree=3.5,seed=7";
        assert_eq!(links(&build(again)), links(&build(again)));
        assert_ne!(links(&build(again)), links(&build("random:nodes=40,degree=3.5,seed=8")));
        assert_eq!(
            "random:degree=4.0, nodes=9".parse::<TopologySpec>().unwrap().to_string(),
            "random:nodes=9,degree=4,seed=0"
        );
    }

    /// A change of what a seed means would change every stored result.
    #[test]
    fn seeds_mean_what_they_meant() {
        let first = |spec: &str| links(&build(spec)).into_iter().take(4).collect::<Vec<_>>();
        assert_eq!(first("tree:nodes=8,seed=1"), RECORDED[0]);
        assert_eq!(first("random:nodes=8,degree=3,seed=1"), RECORDED[1]);
        assert_eq!(first("regular:nodes=8,degree=3,seed=1"), RECORDED[2]);
        assert_eq!(first("small-world:nodes=8,degree=2,rewire=0.5,seed=1"), RECORDED[3]);
    }

    const RECORDED: [[(u32, u32); 4]; 4] = [
        [(0, 2), (1, 2), (1, 5), (2, 6)],
        [(0, 1), (0, 4), (0, 6), (0, 7)],
        [(0, 1), (0, 2), (0, 7), (1, 3)],
        [(0, 1), (0, 7), (1, 2), (2, 5)],
    ];

    /// Of the 16 trees of four routers, 4 are stars: each tree comes as often as every other.
    #[test]
    fn trees_are_uniform() {
        let mut count = std::collections::HashMap::new();
        for seed in 0..3200 {
            *count.entry(links(&build(&format!("tree:nodes=4,seed={seed}")))).or_insert(0u32) += 1;
        }
        assert_eq!(count.len(), 16);
        // 200 each; four standard deviations are 55.
        assert!(count.values().all(|&times| (145..=255).contains(&times)), "{count:?}");
    }

    /// Of the 70 cubic graphs on 6 labelled routers, 60 are prisms and 10 are bipartite.
    #[test]
    fn regular_graphs_are_close_to_uniform() {
        let mut count = std::collections::HashMap::new();
        for seed in 0..7000 {
            *count.entry(links(&build(&format!("regular:nodes=6,degree=3,seed={seed}")))).or_insert(0u32) += 1;
        }
        assert_eq!(count.len(), 70);
        assert!(count.values().all(|&times| (55..=145).contains(&times)), "{count:?}");
    }

    #[test]
    fn impossible_parameters_get_the_nearest_that_are_possible() {
        assert!(
            message("random:nodes=256,degree=1,seed=7")
                .contains("too small to connect 256 routers: at least 1.992188; expected a form")
        );
        assert!(build("random:nodes=256,degree=1.992188,seed=7").links() == 255);
        assert!(message("random:nodes=4,degree=4").contains("too large for 4 routers: at most 3"));
        assert!(message("random:nodes=1,degree=1").contains("too large for 1 router: at most 0"));
        assert!(message("regular:nodes=1,degree=2").contains("too large for 1 router: at most 0"));
        assert!(message("small-world:nodes=4,degree=4,rewire=0").contains("does not fit 4 routers: only 2 does"));
        assert!(message("regular:nodes=7,degree=3").contains("8 routers or degree 4 can"));
        assert!(message("regular:nodes=7,degree=1").contains("8 routers or degree 2 can"));
        assert!(message("regular:nodes=8,degree=1").contains("at least 2"));
        assert!(message("regular:nodes=8,degree=8").contains("at most 7"));
        assert!(message("small-world:nodes=8,degree=3,rewire=0.1").contains("an even number from 2 to 6, such as 4"));
        assert!(message("small-world:nodes=8,degree=4,rewire=1.5").contains("from 0 to 1"));
        assert!(message("random:nodez=8,degree=4").contains("no key `nodez`; did you mean `nodes`?"));
        assert!(message("random:nodes=8").contains("`degree` is missing"));
        assert!(message("random:nodes=8,nodes=9").contains("`nodes` is given twice"));
        assert!(
            message("random:8").contains("`8` is not of the form `key=value`; expected a form such as `random:nodes=")
        );
        assert!(message("ring:2").contains("2 routers are too few: at least 3"));
        assert!(message("ring:x").contains("`x` is not a number of routers"));
        assert!(message("ring:99999999999999999999").contains("`99999999999999999999` is too large"));
        assert!(message("random:nodes=9,degree=99999999999999999999").contains("=99999999999999999999` is "));
        assert!(message("complete:99999").contains("links are too many"));
        assert!(message("tree:nodes=99999999999").contains("has 99999999999 routers"));
        for given in ["petersen:3", "petersen:"] {
            assert!(message(given).contains("without parameters, `petersen`"), "{given}");
        }
    }

    proptest! {
        #[test]
        fn random_graphs_are_connected_and_have_their_links(nodes in 1u32..40, part in 0.0..=1.0f64, seed: u64) {
            let (least, most) = (nodes - 1, nodes * (nodes - 1) / 2);
            let wanted = least + (part * f64::from(most - least)) as u32;
            let degree = Decimal::ratio_up(2 * u64::from(wanted), u64::from(nodes));
            let network = build(&format!("random:nodes={nodes},degree={degree},seed={seed}"));
            prop_assert_eq!(network.links(), wanted as usize);
            prop_assert!(network.distances().connected && is_simple(&network));
        }

        #[test]
        fn regular_graphs_are_regular(nodes in 3u32..40, degree in 2u32..20, seed: u64) {
            let degree = degree.min(nodes - 1);
            let degree = if nodes * degree % 2 == 1 { degree - 1 } else { degree };
            let network = build(&format!("regular:nodes={nodes},degree={degree},seed={seed}"));
            for router in 0..nodes {
                prop_assert_eq!(network.outputs(RouterId::new(router)).len(), degree as usize);
            }
            prop_assert!(network.distances().connected && is_simple(&network));
        }

        #[test]
        fn small_worlds_keep_their_links(nodes in 5u32..60, half in 2u32..4, rewire in 0u32..=10, seed: u64) {
            let degree = 2 * half.min((nodes - 1) / 2);
            let spec = format!("small-world:nodes={nodes},degree={degree},rewire={},seed={seed}", f64::from(rewire) / 10.0);
            let network = build(&spec);
            prop_assert_eq!(network.links(), (nodes * degree / 2) as usize);
            prop_assert!(network.distances().connected && is_simple(&network));
        }

        #[test]
        fn trees_are_connected_by_the_fewest_links(nodes in 1u32..200, seed: u64) {
            let network = build(&format!("tree:nodes={nodes},seed={seed}"));
            prop_assert_eq!(network.links(), nodes as usize - 1);
            prop_assert!(network.distances().connected);
        }
    }
}
