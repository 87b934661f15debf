//! Traffic: its settings, checked against the network, and the messages that they make (`messages`, `pattern`, `trace`).

use std::sync::Arc;

use wormcast_multicast::{Algorithm, AlgorithmCapabilities, AlgorithmOption};
use wormcast_network::input::{input_name, read_text};
use wormcast_network::{CutOff, MAX_FILE_BYTES, Network, NodeId, Shape, parse_node};

use crate::config::switching::Switching;
use crate::config::{Arrivals, Count, Destinations, Length, Pattern, Process, Timing, Traffic};
use crate::run::scenario::{ConfigError, MAX_LENGTH};
use crate::traffic::pattern::permuted;
use crate::traffic::trace::Trace;

mod arrivals;
mod messages;
pub(crate) mod pattern;
pub(crate) mod trace;

pub(crate) use messages::MessageSource;

/// The longest mean gap between a node's messages, in cycles: sums of many of them still fit.
const MAX_GAP: u64 = 1 << 40;

/// The most successes of a negative binomial: each takes a random number a message.
pub(crate) const MAX_SUCCESSES: u32 = 1 << 16;

/// Traffic that has been checked against the network.
#[derive(Clone)]
pub(crate) enum CheckedTraffic {
    Random(Arc<RandomTraffic>),
    Trace(Arc<Trace>),
}

/// Traffic from distributions.
pub(crate) struct RandomTraffic {
    arrivals: CheckedArrivals,
    length: Length,
    flit_bytes: u32,
    /// Destinations of a multicast, and the share of messages that are multicasts.
    multicast: Option<(Destinations, f64)>,
    /// The sets of destinations of each node; `None`: each multicast has its own.
    sets: Option<u32>,
    /// Where multicasts go to groups.
    groups: Option<Groups>,
    unicast: Unicast,
}

/// Groups of nodes.
struct Groups {
    /// The members of each.
    members: Vec<Vec<NodeId>>,
    /// For each node, the groups that it is in.
    of_node: Vec<Vec<u32>>,
}

impl Groups {
    /// Of these groups, those that have several members.
    fn new(network: &Network, algorithm: &dyn Algorithm) -> Result<Self, ConfigError> {
        let AlgorithmCapabilities { groups, doubt, .. } = algorithm.capabilities();
        let algorithm = algorithm.name();
        let members: Vec<Vec<NodeId>> =
            groups.unwrap_or_default().iter().filter(|group| group.len() > 1).cloned().collect();
        if members.is_empty() {
            if groups.is_some() {
                let doubt = doubt.map_or_else(String::new, |doubt| format!("; {doubt}"));
                let problem = format!("no group there has several nodes for multicasts to go to{doubt}");
                return Err(ConfigError { key: AlgorithmOption::MulticastTables.key().to_owned(), problem });
            }
            let problem = format!(
                "`{algorithm}` knows no group of several nodes; `tables` knows those of `options.multicast_tables`, if that is given"
            );
            return Err(error("multicast.destinations", problem));
        }
        let mut of_node = vec![Vec::new(); network.nodes()];
        for (group, members) in (0u32..).zip(&members) {
            for member in members {
                of_node[member.index()].push(group);
            }
        }
        Ok(Self { members, of_node })
    }

    /// The mean number of destinations over all nodes; of those that are in no group, none.
    fn mean(&self) -> f64 {
        let of_group = |&group: &u32| self.members[group as usize].len() as f64 - 1.0;
        let of_node = |groups: &Vec<u32>| groups.iter().map(of_group).sum::<f64>() / groups.len().max(1) as f64;
        self.of_node.iter().map(of_node).sum::<f64>() / self.of_node.len() as f64
    }
}

enum CheckedArrivals {
    /// With the mean number of messages a cycle.
    Random(Process, f64, u32),
    Burst {
        sources: u32,
        interval: Option<u64>,
    },
}

enum Unicast {
    Uniform,
    HotSpot(NodeId, f64),
    Permutation(Vec<NodeId>),
}

fn error(key: &str, problem: impl Into<String>) -> ConfigError {
    ConfigError { key: format!("traffic.{key}"), problem: problem.into() }
}

fn share(key: &str, value: f64) -> Result<f64, ConfigError> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(error(key, format!("{value} is not a share from 0 to 1")))
    }
}

impl CheckedTraffic {
    /// How many messages there are, and what brings them, where they [come to an end](crate::Traffic::ends).
    pub(crate) fn number(&self) -> Option<(u64, &'static str)> {
        match self {
            Self::Trace(messages) => Some((messages.messages.len() as u64, "trace")),
            Self::Random(random) => match random.arrivals {
                CheckedArrivals::Burst { sources, interval: None } => Some((u64::from(sources), "burst")),
                _ => None,
            },
        }
    }

    /// Whether many messages may come in one cycle, and none for long.
    pub(crate) fn comes_in_batches(&self) -> bool {
        match self {
            Self::Trace(_) => true,
            Self::Random(random) => matches!(random.arrivals, CheckedArrivals::Burst { .. }),
        }
    }

    /// Whether the lengths of messages are in bytes.
    pub(crate) fn is_in_bytes(&self) -> bool {
        matches!(self, Self::Random(random) if matches!(random.length, Length::Bytes(_)))
    }

    /// Whether a message may have several destinations.
    pub(crate) fn may_be_wide(&self) -> bool {
        match self {
            Self::Random(random) => random.multicast.is_some_and(|(_, share)| share > 0.0),
            Self::Trace(trace) => trace.messages.iter().any(|message| message.destinations.len() > 1),
        }
    }

    /// The share of messages that are multicasts, where some are said to be, and that of unicasts that go to the hot spot, where
    /// there is one.
    pub(crate) fn shares(&self) -> (Option<f64>, Option<f64>) {
        let Self::Random(random) = self else { return (None, None) };
        let hot = if let Unicast::HotSpot(_, share) = random.unicast { Some(share) } else { None };
        (random.multicast.map(|(_, share)| share), hot)
    }

    /// The most data flits and the most destinations of a message, in a network of so many nodes.
    pub(crate) fn most(&self, nodes: usize) -> (u32, u32) {
        match self {
            Self::Random(random) => {
                let destinations = match &random.multicast {
                    None => 1,
                    Some((Destinations::Count(count), _)) => count.most,
                    Some((Destinations::All, _)) => nodes as u32 - 1,
                    Some((Destinations::Group, _)) => {
                        let groups = random.groups.iter().flat_map(|groups| &groups.members);
                        groups.map(|members| members.len() as u32 - 1).max().unwrap_or(1)
                    }
                };
                (random.length.flits(random.length.range().most, random.flit_bytes), destinations)
            }
            Self::Trace(trace) => trace.messages.iter().fold((0, 0), |(length, destinations), message| {
                (length.max(message.length), destinations.max(message.destinations.len() as u32))
            }),
        }
    }

    pub(crate) fn new(
        traffic: &Traffic,
        switching: &Switching,
        timing: &Timing,
        algorithm: &dyn Algorithm,
    ) -> Result<Self, ConfigError> {
        let network = &**algorithm.network();
        if let Some(path) = &traffic.trace {
            let others = [
                ("arrivals", traffic.arrivals.is_some()),
                ("length", traffic.length.is_some()),
                ("multicast", traffic.multicast.is_some()),
                ("unicast", traffic.unicast.is_some()),
            ];
            if let Some((key, _)) = others.iter().find(|(_, given)| *given) {
                return Err(error(key, "a trace replaces random traffic: remove this or `traffic.trace`"));
            }
            let text = read_text(path, "the trace", MAX_FILE_BYTES).map_err(|e| error("trace", e.to_string()))?;
            let trace = trace::parse(input_name(path), &text, network).map_err(|problem| error("trace", problem))?;
            return Ok(Self::Trace(Arc::new(trace)));
        }
        let Some(arrivals) = &traffic.arrivals else {
            return Err(error(
                "arrivals",
                "missing: expected `arrivals = { process = \"poisson\", rate = 0.01 }`, or a `trace`",
            ));
        };
        let nodes = network.nodes() as u32;
        if nodes < 2 {
            return Err(error("arrivals", format!("{} has nobody to send to", network.name())));
        }
        let length = traffic.length.unwrap_or(Length::Flits(Count::fixed(32)));
        let flit_bytes = switching.flit_bytes();
        let Count { least, most } = length.range();
        if least == 0 || length.flits(most, flit_bytes) > MAX_LENGTH {
            let (most, unit) = match length {
                Length::Flits(_) => (u64::from(MAX_LENGTH), "data flits"),
                Length::Bytes(_) => (u64::from(MAX_LENGTH) * u64::from(flit_bytes), "bytes"),
            };
            return Err(error("length", format!("expected 1 to {most} {unit}")));
        }
        let multicast = match &traffic.multicast {
            None => None,
            Some(multicast) => {
                if let Destinations::Count(Count { least, most }) = multicast.destinations
                    && (least == 0 || most > nodes - 1)
                {
                    let problem = if nodes == 2 {
                        format!("expected 1 destination in {}, or \"all\"", network.name())
                    } else {
                        format!("expected 1 to {} destinations in {}, or \"all\"", nodes - 1, network.name())
                    };
                    return Err(error("multicast.destinations", problem));
                }
                Some((multicast.destinations, share("multicast.fraction", multicast.fraction)?))
            }
        };
        let sets = traffic.multicast.as_ref().and_then(|multicast| multicast.sets);
        match (sets, multicast) {
            (Some(0), _) => {
                return Err(error("multicast.sets", "expected at least 1 set of destinations for each node"));
            }
            (Some(_), Some((Destinations::All | Destinations::Group, _))) => {
                let problem =
                    "is about sets that are drawn: expected a number of `traffic.multicast.destinations`, or no `sets`";
                return Err(error("multicast.sets", problem));
            }
            _ => {}
        }
        let groups = match multicast {
            Some((Destinations::Group, _)) => Some(Groups::new(network, algorithm)?),
            _ => None,
        };
        let share = multicast.map_or(0.0, |(_, fraction)| fraction);
        let several = multicast.map_or(0.0, |(destinations, _)| match destinations {
            Destinations::All => f64::from(nodes - 1),
            Destinations::Count(count) => count.mean(),
            Destinations::Group => groups.as_ref().map_or(0.0, Groups::mean),
        });
        let unicast = Unicast::new(traffic, network)?;
        if let Some(cut_off) = unicast.cut_off(network, share > 0.0) {
            let problem = format!("`{}` is not connected: {cut_off}", network.name());
            return Err(ConfigError { key: "topology".to_owned(), problem });
        }
        let asked_for = length.mean_flits(flit_bytes) * (share * several + (1.0 - share) * unicast.senders());
        Ok(Self::Random(Arc::new(RandomTraffic {
            arrivals: CheckedArrivals::new(arrivals, timing, nodes, asked_for)?,
            length,
            flit_bytes,
            multicast,
            sets,
            groups,
            unicast,
        })))
    }
}

impl CheckedArrivals {
    /// `asked_for` is how many data flits a message asks to be delivered, on average; none if its node sends no such message.
    fn new(arrivals: &Arrivals, timing: &Timing, nodes: u32, asked_for: f64) -> Result<Self, ConfigError> {
        let burst = arrivals.process == Process::Burst;
        let superfluous = [
            ("rate", arrivals.rate.is_some() && burst, "a burst has no rate: set `sources` and `interval`"),
            ("load", arrivals.load.is_some() && burst, "a burst has no load: set `sources` and `interval`"),
            (
                "load",
                arrivals.load.is_some() && arrivals.rate.is_some(),
                "says the same as `rate`: give one of the two",
            ),
            ("sources", arrivals.sources.is_some() && !burst, "only `process = \"burst\"` has sources"),
            ("interval", arrivals.interval.is_some() && !burst, "only `process = \"burst\"` has an interval"),
            (
                "successes",
                arrivals.successes.is_some() && arrivals.process != Process::NegativeBinomial,
                "only `process = \"negative-binomial\"` has successes",
            ),
        ];
        if let Some((key, _, problem)) = superfluous.into_iter().find(|(_, given, _)| *given) {
            return Err(error(&format!("arrivals.{key}"), problem));
        }
        if burst {
            let sources = arrivals.sources.unwrap_or(nodes);
            if sources == 0 || sources > nodes {
                return Err(error("arrivals.sources", format!("expected 1 to {nodes} nodes")));
            }
            if arrivals.interval.is_some_and(|interval| !(1..=MAX_GAP).contains(&interval)) {
                return Err(error("arrivals.interval", format!("expected 1 to {MAX_GAP} cycles")));
            }
            return Ok(Self::Burst { sources, interval: arrivals.interval });
        }
        let of_load = |load: f64| load / asked_for * 1000.0 / timing.cycle_ns;
        let rate = arrivals
            .rate
            .or(arrivals.load.map(of_load))
            .ok_or_else(|| error("arrivals.rate", "missing: expected messages per node per microsecond"))?;
        if let Some(load) = arrivals.load.filter(|load| !(*load > 0.0 && load.is_finite())) {
            let problem = format!("{load} is not a positive number of data flits per node per cycle");
            return Err(error("arrivals.load", problem));
        }
        let per_cycle = rate * timing.cycle_ns / 1000.0;
        // What was given, in its own unit: a rate in messages per microsecond, or a load in data flits per cycle.
        let (key, given, unit, of_given) = match arrivals.load {
            Some(load) => ("arrivals.load", load, "data flits per node per cycle", asked_for),
            None => ("arrivals.rate", rate, "messages per node per microsecond", 1000.0 / timing.cycle_ns),
        };
        // As it was written, without hundreds of zeros.
        let short = given.abs() <= 0.0 || (1e-6..1e12).contains(&given.abs());
        let written = if short { given.to_string() } else { format!("{given:e}") };
        if !rate.is_finite() || rate <= 0.0 {
            return Err(error(key, format!("{written} is not a positive number of {unit}")));
        }
        let successes = arrivals.successes.unwrap_or(1);
        if !(1..=MAX_SUCCESSES).contains(&successes) {
            return Err(error("arrivals.successes", format!("expected 1 to {MAX_SUCCESSES}")));
        }
        let most = if arrivals.process == Process::NegativeBinomial { 1.0 / f64::from(successes) } else { 1.0 };
        if arrivals.process != Process::Poisson && per_cycle > most {
            let limit = most * of_given;
            let often = if arrivals.process != Process::NegativeBinomial || successes == 1 {
                "one message a cycle".to_owned()
            } else {
                format!("one message in {successes} cycles")
            };
            return Err(error(key, format!("{written} is impossible: at most {limit} {unit}, {often}")));
        }
        if per_cycle * (MAX_GAP as f64) < 1.0 {
            let problem = format!("{written} is impossible: less than one message in {MAX_GAP} cycles from each node");
            return Err(error(key, problem));
        }
        if per_cycle > 1000.0 {
            let problem = format!("{written} is impossible: over 1000 messages a cycle from each node");
            return Err(error(key, problem));
        }
        Ok(Self::Random(arrivals.process, per_cycle, successes))
    }
}

impl Unicast {
    fn new(traffic: &Traffic, network: &Network) -> Result<Self, ConfigError> {
        let Some(unicast) = &traffic.unicast else { return Ok(Self::Uniform) };
        let hot = unicast.pattern == Pattern::HotSpot;
        for (key, given) in [("unicast.node", unicast.node.is_some()), ("unicast.fraction", unicast.fraction.is_some())]
        {
            if given && !hot {
                return Err(error(key, "only `pattern = \"hot-spot\"` has this"));
            }
            if !given && hot {
                return Err(error(key, "missing: a hot spot needs `node` and `fraction`"));
            }
        }
        if let (Some(node), Some(fraction)) = (&unicast.node, unicast.fraction) {
            let node = parse_node(network, node).map_err(|e| error("unicast.node", e.to_string()))?;
            return Ok(Self::HotSpot(node, share("unicast.fraction", fraction)?));
        }
        let targets: Result<Option<Vec<NodeId>>, String> =
            (0..network.nodes() as u32).map(|id| permuted(unicast.pattern, network, NodeId::new(id))).collect();
        match targets {
            Ok(None) => Ok(Self::Uniform),
            Ok(Some(targets)) if targets.iter().enumerate().all(|(id, to)| to.index() == id) => {
                Err(error("unicast.pattern", format!("on {} it sends every node's messages to itself", network.name())))
            }
            Ok(Some(targets)) => Ok(Self::Permutation(targets)),
            Err(problem) => Err(error("unicast.pattern", problem)),
        }
    }

    /// The share of nodes that send unicasts at all.
    fn senders(&self) -> f64 {
        match self {
            Self::Permutation(targets) => {
                let sending = targets.iter().enumerate().filter(|(id, to)| to.index() != *id).count();
                sending as f64 / targets.len() as f64
            }
            Self::Uniform | Self::HotSpot(..) => 1.0,
        }
    }

    /// The routers that some messages cannot get to or come from, if there are any. Without multicasts, those of a permutation may stay
    /// within the parts of a network.
    fn cut_off(&self, network: &Network, multicasts: bool) -> Option<CutOff> {
        if network.is_unidirectional() || *network.shape() != Shape::Irregular {
            return None;
        }
        let mut parts = network.components(|_| true);
        parts.retain(|part| part.iter().any(|&router| network.nodes_of(router).len() > 0));
        if let (Self::Permutation(targets), false) = (self, multicasts) {
            let mut part_of = vec![0; network.routers()];
            for (number, part) in parts.iter().enumerate() {
                for router in part {
                    part_of[router.index()] = number;
                }
            }
            let part = |node| part_of[network.router_of(node).index()];
            if network.node_ids().zip(targets).all(|(from, &to)| part(from) == part(to)) {
                return None;
            }
        }
        CutOff::of(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::MulticastTraffic;
    use wormcast_multicast::{Options, algorithm_by_name};
    use wormcast_network::TopologySpec;

    #[test]
    fn impossible_traffic_is_refused_by_key() {
        let mesh = "mesh:4x4".parse::<TopologySpec>().unwrap().build().unwrap();
        let mesh = algorithm_by_name("separate", &mesh, &Options::default()).unwrap();
        let message = |traffic: &Traffic| {
            CheckedTraffic::new(traffic, &Switching::default(), &Timing::default(), mesh.as_ref())
                .err()
                .unwrap()
                .to_string()
        };
        assert!(message(&Traffic::default()).starts_with("`traffic.arrivals`: missing"));
        let rate = |rate| Traffic {
            arrivals: Some(Arrivals {
                process: Process::Bernoulli,
                rate: Some(rate),
                load: None,
                successes: None,
                sources: None,
                interval: None,
            }),
            ..Traffic::default()
        };
        assert!(message(&rate(-1.0)).starts_with("`traffic.arrivals.rate`: -1 is not a positive number"));
        assert!(message(&rate(201.0)).contains("at most 200 messages per node per microsecond"));
        assert!(message(&rate(f64::NAN)).contains("NaN is not a positive number"));
        let destinations =
            |count| Some(MulticastTraffic { destinations: Count::fixed(count).into(), fraction: 1.0, sets: None });
        let multicast = |count| Traffic { multicast: destinations(count), ..rate(0.1) };
        assert!(message(&multicast(16)).contains("expected 1 to 15 destinations in mesh:4x4"));
        let sets = |destinations, sets| {
            let multicast = Some(MulticastTraffic { destinations, fraction: 1.0, sets: Some(sets) });
            message(&Traffic { multicast, ..rate(0.1) })
        };
        assert!(sets(Count::fixed(2).into(), 0).contains("`traffic.multicast.sets`: expected at least 1 set"));
        assert!(sets(Destinations::All, 3).contains("is about sets that are drawn"));
        let group = Some(MulticastTraffic { destinations: Destinations::Group, fraction: 1.0, sets: None });
        assert!(message(&Traffic { multicast: group, ..rate(0.1) }).contains("`separate` knows no group"));
        assert!(message(&Traffic { length: Some(Count::fixed(0).into()), ..rate(0.1) }).contains("traffic.length"));
        assert!(
            message(&Traffic { trace: Some("no-such-file".to_owned()), ..Traffic::default() }).contains("cannot read")
        );
        assert!(
            message(&Traffic { trace: Some("x".to_owned()), ..rate(0.1) }).contains("a trace replaces random traffic")
        );
    }
}
