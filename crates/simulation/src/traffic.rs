//! Traffic: which messages are generated, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;
use wormcast_network::{Network, NodeId, parse_node};

use crate::config::{Arrivals, Count, Destinations, Length, Pattern, Process, Timing, Traffic};
use crate::observer::Cycle;
use crate::pattern::permuted;
use crate::rng::{Purpose, generator};
use crate::scenario::{ConfigError, MAX_LENGTH};
use crate::switching::Switching;
use crate::trace::{self, TraceMessage};

/// The longest mean gap between a node's messages, in cycles: sums of many of them still fit.
const MAX_GAP: u64 = 1 << 40;

/// The most successes of a negative binomial: each takes a random number a message.
const MAX_SUCCESSES: u32 = 1 << 16;

/// Traffic that has been checked against the network.
#[derive(Clone)]
pub(crate) enum CheckedTraffic {
    Random(Arc<RandomTraffic>),
    Trace(Arc<[TraceMessage]>),
}

/// Traffic from distributions.
pub(crate) struct RandomTraffic {
    arrivals: CheckedArrivals,
    length: Length,
    flit_bytes: u32,
    /// Destinations of a multicast, and the share of messages that are multicasts.
    multicast: Option<(Destinations, f64)>,
    unicast: Unicast,
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
    /// Whether the messages come to an end.
    pub(crate) fn ends(&self) -> bool {
        match self {
            Self::Trace(_) => true,
            Self::Random(random) => matches!(random.arrivals, CheckedArrivals::Burst { interval: None, .. }),
        }
    }

    /// The most data flits and the most destinations of a message, in a network of so many nodes.
    pub(crate) fn most(&self, nodes: usize) -> (u32, u32) {
        match self {
            Self::Random(random) => {
                let destinations = match &random.multicast {
                    None => 1,
                    Some((Destinations::Count(count), _)) => count.most,
                    Some((Destinations::All, _)) => nodes as u32 - 1,
                };
                (random.length.flits(random.length.range().most, random.flit_bytes), destinations)
            }
            Self::Trace(messages) => messages.iter().fold((0, 0), |(length, destinations), message| {
                (length.max(message.length), destinations.max(message.destinations.len() as u32))
            }),
        }
    }

    pub(crate) fn new(
        traffic: &Traffic,
        switching: &Switching,
        timing: &Timing,
        network: &Network,
    ) -> Result<Self, ConfigError> {
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
            let text =
                std::fs::read_to_string(path).map_err(|e| error("trace", format!("cannot read `{path}`: {e}")))?;
            let messages = trace::parse(path, &text, network).map_err(|problem| error("trace", problem))?;
            return Ok(Self::Trace(messages.into()));
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
                    let problem = format!("expected 1 to {} destinations in {}, or \"all\"", nodes - 1, network.name());
                    return Err(error("multicast.destinations", problem));
                }
                Some((multicast.destinations, share("multicast.fraction", multicast.fraction)?))
            }
        };
        let share = multicast.map_or(0.0, |(_, fraction)| fraction);
        let several = multicast.map_or(0.0, |(destinations, _)| match destinations {
            Destinations::All => f64::from(nodes - 1),
            Destinations::Count(count) => count.mean(),
        });
        let asked_for = length.mean_flits(flit_bytes) * (share * several + (1.0 - share));
        Ok(Self::Random(Arc::new(RandomTraffic {
            arrivals: CheckedArrivals::new(arrivals, timing, nodes, asked_for)?,
            length,
            flit_bytes,
            multicast,
            unicast: Unicast::new(traffic, network)?,
        })))
    }
}

impl CheckedArrivals {
    /// `asked_for` is how many data flits a message asks to be delivered, on average.
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
        if !(rate > 0.0 && per_cycle.is_finite()) {
            return Err(error(
                "arrivals.rate",
                format!("{rate} is not a positive number of messages per node per microsecond"),
            ));
        }
        let successes = arrivals.successes.unwrap_or(1);
        if !(1..=MAX_SUCCESSES).contains(&successes) {
            return Err(error("arrivals.successes", format!("expected 1 to {MAX_SUCCESSES}")));
        }
        let most = if arrivals.process == Process::NegativeBinomial { 1.0 / f64::from(successes) } else { 1.0 };
        if arrivals.process != Process::Poisson && per_cycle > most {
            let limit = most * 1000.0 / timing.cycle_ns;
            return Err(error(
                "arrivals.rate",
                format!(
                    "{rate} is impossible: at most {limit} messages per node per microsecond, one in {} cycles",
                    1.0 / most
                ),
            ));
        }
        if per_cycle * (MAX_GAP as f64) < 1.0 {
            return Err(error(
                "arrivals.rate",
                format!("{rate} is impossible: less than one message in {MAX_GAP} cycles from each node"),
            ));
        }
        if per_cycle > 1000.0 {
            return Err(error(
                "arrivals.rate",
                format!("{rate} is impossible: over 1000 messages a cycle from each node"),
            ));
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
}

/// A message that is generated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Message {
    pub(crate) at: Cycle,
    pub(crate) source: NodeId,
    pub(crate) length: u32,
    pub(crate) destinations: Vec<NodeId>,
}

/// The messages of one run, in the order of (cycle, source).
pub(crate) enum MessageSource {
    Random(Generator),
    Trace(Arc<[TraceMessage]>, usize),
}

impl MessageSource {
    pub(crate) fn new(traffic: &CheckedTraffic, nodes: usize, seed: u64) -> Self {
        match traffic {
            CheckedTraffic::Random(random) => Self::Random(Generator::new(random.clone(), nodes, seed)),
            CheckedTraffic::Trace(messages) => Self::Trace(messages.clone(), 0),
        }
    }
}

impl Iterator for MessageSource {
    type Item = Message;

    fn next(&mut self) -> Option<Message> {
        match self {
            Self::Random(generator) => generator.next(),
            Self::Trace(messages, next) => {
                let TraceMessage { at, source, length, destinations } = messages.get(*next)?.clone();
                *next += 1;
                Some(Message { at, source, length, destinations })
            }
        }
    }
}

/// Draws the messages of random traffic.
pub(crate) struct Generator {
    traffic: Arc<RandomTraffic>,
    seed: u64,
    nodes: u32,
    /// The next arrival of each node.
    arrivals: BinaryHeap<Reverse<(Cycle, u32)>>,
    states: Vec<NodeArrivals>,
    bursts: u64,
    /// For drawing without repetition: the last draw in which each node was taken.
    taken: Vec<u32>,
    draw: u32,
}

struct NodeArrivals {
    rng: Xoshiro256PlusPlus,
    /// The continuous time of the last arrival, in cycles (Poisson and exponential).
    clock: f64,
    /// The cycle after the last arrival.
    free: Cycle,
    messages: u64,
}

impl Generator {
    fn new(traffic: Arc<RandomTraffic>, nodes: usize, seed: u64) -> Self {
        let state =
            |node| NodeArrivals { rng: generator(seed, Purpose::Arrivals, node, 0), clock: 0.0, free: 0, messages: 0 };
        let mut this = Self {
            traffic,
            seed,
            nodes: nodes as u32,
            arrivals: BinaryHeap::new(),
            states: (0..nodes as u64).map(state).collect(),
            bursts: 0,
            taken: vec![0; nodes],
            draw: 0,
        };
        match this.traffic.arrivals {
            CheckedArrivals::Burst { .. } => this.burst(0),
            CheckedArrivals::Random(..) => {
                for node in 0..this.nodes {
                    this.schedule(node);
                }
            }
        }
        this
    }

    /// Draws a node's next arrival.
    fn schedule(&mut self, node: u32) {
        let CheckedArrivals::Random(process, per_cycle, successes) = self.traffic.arrivals else { return };
        let state = &mut self.states[node as usize];
        let at = match process {
            Process::Poisson | Process::Exponential => {
                let gap: f64 = Exp1.sample(&mut state.rng);
                state.clock += gap / per_cycle;
                let at = state.clock as Cycle;
                if process == Process::Poisson { at } else { at.max(state.free) }
            }
            _ => {
                let probability = per_cycle * f64::from(successes);
                // The number of failures before each success.
                let failures = (0..successes).map(|_| geometric(&mut state.rng, probability)).sum::<u64>();
                state.free + failures + u64::from(successes) - 1
            }
        };
        state.free = at + 1;
        self.arrivals.push(Reverse((at, node)));
    }

    /// Draws the nodes of a burst.
    fn burst(&mut self, at: Cycle) {
        let CheckedArrivals::Burst { sources, .. } = self.traffic.arrivals else { return };
        let mut rng = generator(self.seed, Purpose::Burst, self.bursts, 0);
        self.bursts += 1;
        let chosen = self.distinct(&mut rng, sources, None);
        self.arrivals.extend(chosen.into_iter().map(|node| Reverse((at, node.raw()))));
    }

    /// Draws different nodes, in random order.
    fn distinct(&mut self, rng: &mut Xoshiro256PlusPlus, count: u32, except: Option<NodeId>) -> Vec<NodeId> {
        let eligible = self.nodes - u32::from(except.is_some());
        if count > eligible / 2 {
            // Most of them: shuffle all.
            let mut all: Vec<NodeId> = (0..self.nodes).map(NodeId::new).filter(|&node| Some(node) != except).collect();
            for position in 0..count as usize {
                let other = rng.random_range(position..all.len());
                all.swap(position, other);
            }
            all.truncate(count as usize);
            return all;
        }
        self.draw = self.draw.wrapping_add(1);
        if self.draw == 0 {
            self.taken.fill(0);
            self.draw = 1;
        }
        let mut chosen = Vec::with_capacity(count as usize);
        while chosen.len() < count as usize {
            let node = NodeId::new(rng.random_range(0..self.nodes));
            if Some(node) != except && self.taken[node.index()] != self.draw {
                self.taken[node.index()] = self.draw;
                chosen.push(node);
            }
        }
        chosen
    }

    /// Draws what a node sends; `None` if its pattern sends it nothing.
    fn message(&mut self, at: Cycle, node: u32) -> Option<Message> {
        let state = &mut self.states[node as usize];
        let mut rng = generator(self.seed, Purpose::Message, u64::from(node), state.messages);
        state.messages += 1;
        let traffic = self.traffic.clone();
        let source = NodeId::new(node);
        let draw = |rng: &mut Xoshiro256PlusPlus, count: Count| rng.random_range(count.least..=count.most);
        let length = traffic.length.flits(draw(&mut rng, traffic.length.range()), traffic.flit_bytes);
        let multicast = traffic.multicast.filter(|&(_, fraction)| rng.random_bool(fraction));
        let destinations = match (multicast, &traffic.unicast) {
            (Some((Destinations::All, _)), _) => {
                (0..self.nodes).map(NodeId::new).filter(|&other| other != source).collect()
            }
            (Some((Destinations::Count(destinations), _)), _) => {
                let count = draw(&mut rng, destinations);
                self.distinct(&mut rng, count, Some(source))
            }
            (None, Unicast::Permutation(targets)) => match targets[source.index()] {
                target if target == source => return None,
                target => vec![target],
            },
            (None, Unicast::HotSpot(hot, fraction)) if *hot != source && rng.random_bool(*fraction) => vec![*hot],
            _ => self.distinct(&mut rng, 1, Some(source)),
        };
        Some(Message { at, source, length, destinations })
    }
}

/// The failures before the first success of trials that succeed with this probability.
fn geometric(rng: &mut impl Rng, probability: f64) -> u64 {
    if probability >= 1.0 {
        return 0;
    }
    // Inversion; 1 - u is never 0.
    let u: f64 = rng.random();
    ((1.0 - u).ln() / (-probability).ln_1p()) as u64
}

impl Iterator for Generator {
    type Item = Message;

    fn next(&mut self) -> Option<Message> {
        loop {
            let Reverse((at, node)) = self.arrivals.pop()?;
            match self.traffic.arrivals {
                CheckedArrivals::Random(..) => self.schedule(node),
                CheckedArrivals::Burst { interval, .. } => {
                    if let (Some(interval), true) = (interval, self.arrivals.is_empty()) {
                        self.burst(at + interval);
                    }
                }
            }
            if let Some(message) = self.message(at, node) {
                return Some(message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{MulticastTraffic, UnicastTraffic};
    use wormcast_network::TopologySpec;

    fn traffic(process: Process, rate: f64) -> Traffic {
        Traffic {
            arrivals: Some(Arrivals {
                process,
                rate: Some(rate),
                load: None,
                successes: None,
                sources: None,
                interval: None,
            }),
            length: Some(Count { least: 10, most: 100 }.into()),
            ..Traffic::default()
        }
    }

    fn messages(traffic: &Traffic, seed: u64) -> impl Iterator<Item = Message> + use<> {
        let mesh = "mesh:4x4".parse::<TopologySpec>().unwrap().build().unwrap();
        let checked = CheckedTraffic::new(traffic, &Switching::default(), &Timing::default(), &mesh)
            .map_err(|e| e.to_string())
            .unwrap();
        MessageSource::new(&checked, 16, seed)
    }

    /// 0.02 messages per node per microsecond, 5 ns a cycle: one in 10,000 cycles from each of 16 nodes.
    #[test]
    fn every_process_keeps_its_rate() {
        let processes = [Process::Poisson, Process::Bernoulli, Process::Exponential, Process::NegativeBinomial];
        for process in processes {
            for successes in [None, Some(4)] {
                let mut traffic = traffic(process, 0.02);
                if process == Process::NegativeBinomial {
                    traffic.arrivals.as_mut().unwrap().successes = successes;
                }
                let count = messages(&traffic, 1).take_while(|message| message.at < 10_000_000).count() as f64;
                // 16,000 expected; the standard deviation is at most 127.
                assert!((count - 16_000.0).abs() < 5.0 * 127.0, "{process:?}: {count}");
            }
        }
    }

    /// The variance of a negative binomial's gaps falls with the number of successes: k (1 - p) / p^2 with p = k / mean.
    #[test]
    fn negative_binomial_gaps_have_their_variance() {
        for successes in [1u32, 4] {
            let mut traffic = traffic(Process::NegativeBinomial, 2.0);
            traffic.arrivals.as_mut().unwrap().successes = Some(successes);
            let mut last = [None; 16];
            let mut gaps = Vec::new();
            for message in messages(&traffic, 3).take_while(|message| message.at < 1_000_000) {
                if let Some(before) = last[message.source.index()].replace(message.at) {
                    gaps.push((message.at - before) as f64);
                }
            }
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            let (k, p) = (f64::from(successes), f64::from(successes) / 100.0);
            assert!((mean / 100.0 - 1.0).abs() < 0.02, "mean {mean}");
            assert!((variance / (k * (1.0 - p) / (p * p)) - 1.0).abs() < 0.05, "variance {variance}");
        }
    }

    #[test]
    fn messages_do_not_depend_on_the_load() {
        let content = |rate| {
            let mut all: Vec<_> = messages(&traffic(Process::Poisson, rate), 7).take(400).collect();
            all.sort_by_key(|message| message.source);
            all.into_iter()
                .filter(|m| m.source.raw() == 3)
                .map(|m| (m.length, m.destinations))
                .take(10)
                .collect::<Vec<_>>()
        };
        assert_eq!(content(0.01), content(0.1));
    }

    #[test]
    fn multicasts_have_different_destinations_without_the_source() {
        for count in [3, 14, 15] {
            let mut traffic = traffic(Process::Bernoulli, 1.0);
            traffic.multicast = Some(MulticastTraffic { destinations: Count::fixed(count).into(), fraction: 0.5 });
            let mut multicasts = 0;
            for message in messages(&traffic, 5).take(1000) {
                let mut sorted = message.destinations.clone();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len(), message.destinations.len());
                assert!(!sorted.contains(&message.source));
                assert!((10..=100).contains(&message.length));
                multicasts += u32::from(message.destinations.len() == count as usize);
            }
            assert!((450..550).contains(&multicasts), "{multicasts} of 1000");
        }
    }

    #[test]
    fn a_burst_comes_from_different_nodes_at_once() {
        let arrivals = |interval| {
            Some(Arrivals {
                process: Process::Burst,
                rate: None,
                load: None,
                successes: None,
                sources: Some(5),
                interval,
            })
        };
        let once: Vec<_> = messages(&Traffic { arrivals: arrivals(None), ..Traffic::default() }, 2).collect();
        assert_eq!(once.len(), 5);
        assert!(once.iter().all(|message| message.at == 0));
        assert!(once.windows(2).all(|pair| pair[0].source < pair[1].source));
        let often = messages(&Traffic { arrivals: arrivals(Some(50)), ..Traffic::default() }, 2).take(15);
        assert_eq!(often.map(|message| message.at).collect::<Vec<_>>(), [[0; 5], [50; 5], [100; 5]].concat());
    }

    #[test]
    fn a_hot_spot_is_hot() {
        let unicast = UnicastTraffic { pattern: Pattern::HotSpot, node: Some("1,1".to_owned()), fraction: Some(0.5) };
        let traffic = Traffic { unicast: Some(unicast), ..traffic(Process::Poisson, 1.0) };
        let hot = messages(&traffic, 4).filter(|m| m.source.raw() != 5).take(2000);
        let hits = hot.filter(|m| m.destinations == [NodeId::new(5)]).count();
        // Half of them, and a fifteenth of the other half.
        assert!((1000..1130).contains(&hits), "{hits} of 2000");
    }

    #[test]
    fn impossible_traffic_is_refused_by_key() {
        let mesh = "mesh:4x4".parse::<TopologySpec>().unwrap().build().unwrap();
        let message = |traffic: &Traffic| {
            CheckedTraffic::new(traffic, &Switching::default(), &Timing::default(), &mesh).err().unwrap().to_string()
        };
        assert!(message(&Traffic::default()).starts_with("`traffic.arrivals`: missing"));
        let rate = |rate| traffic(Process::Bernoulli, rate);
        assert!(message(&rate(-1.0)).starts_with("`traffic.arrivals.rate`: -1 is not a positive number"));
        assert!(message(&rate(201.0)).contains("at most 200 messages per node per microsecond"));
        assert!(message(&rate(f64::NAN)).contains("NaN is not a positive number"));
        let destinations = |count| Some(MulticastTraffic { destinations: Count::fixed(count).into(), fraction: 1.0 });
        let multicast = |count| Traffic { multicast: destinations(count), ..rate(0.1) };
        assert!(message(&multicast(16)).contains("expected 1 to 15 destinations in mesh:4x4"));
        assert!(message(&Traffic { length: Some(Count::fixed(0).into()), ..rate(0.1) }).contains("traffic.length"));
        assert!(
            message(&Traffic { trace: Some("no-such-file".to_owned()), ..Traffic::default() }).contains("cannot read")
        );
        assert!(
            message(&Traffic { trace: Some("x".to_owned()), ..rate(0.1) }).contains("a trace replaces random traffic")
        );
    }
}
