//! The messages of a run, drawn or from a trace.

use std::sync::Arc;

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1};
use wormcast_network::NodeId;

use super::arrivals::Arrivals;
use super::{CheckedArrivals, CheckedTraffic, RandomTraffic, Unicast};
use crate::config::{Count, Destinations, Process};
use crate::observers::observer::Cycle;
use crate::rng::{Purpose, Random, Sequences, generator};
use crate::traffic::trace::{Trace, TraceMessage};

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
    Random(Box<Generator>),
    Trace(Arc<Trace>, usize),
}

impl MessageSource {
    pub(crate) fn new(traffic: &CheckedTraffic, nodes: usize, seed: u64) -> Self {
        match traffic {
            CheckedTraffic::Random(random) => Self::Random(Box::new(Generator::new(random.clone(), nodes, seed))),
            CheckedTraffic::Trace(trace) => Self::Trace(trace.clone(), 0),
        }
    }

    /// Takes back the list of destinations of a message, for reuse.
    #[inline]
    pub(crate) fn reuse(&mut self, destinations: Vec<NodeId>) {
        if let Self::Random(generator) = self {
            generator.spare = destinations;
        }
    }
}

impl Iterator for MessageSource {
    type Item = Message;

    #[allow(clippy::inline_always, reason = "a message is more than fits into registers")]
    #[inline(always)]
    fn next(&mut self) -> Option<Message> {
        match self {
            Self::Random(generator) => generator.next(),
            Self::Trace(trace, next) => {
                let TraceMessage { at, source, length, destinations } = trace.messages.get(*next)?.clone();
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
    /// The logarithm of the probability that nothing arrives in a cycle (Bernoulli; negative binomial: no success).
    log_failure: f64,
    /// The next arrival of each node.
    arrivals: Arrivals,
    states: Vec<NodeArrivals>,
    bursts: u64,
    /// For drawing without repetition: the last draw in which each node was taken.
    taken: Vec<u32>,
    draw: u32,
    /// A list to reuse for the next message's destinations.
    spare: Vec<NodeId>,
}

/// What is drawn from for a node, in one cache line.
#[repr(align(64))]
struct NodeArrivals {
    rng: Random,
    /// The continuous time of the last arrival, in cycles (Poisson and exponential).
    clock: f64,
    /// The cycle after the last arrival.
    free: Cycle,
    messages: u64,
    /// What its messages are drawn from.
    contents: Sequences,
}

impl Generator {
    fn new(traffic: Arc<RandomTraffic>, nodes: usize, seed: u64) -> Self {
        let state = |node| NodeArrivals {
            rng: generator(seed, Purpose::Arrivals, node, 0),
            clock: 0.0,
            free: 0,
            messages: 0,
            contents: Sequences::new(seed, Purpose::Message, node),
        };
        let gap = match traffic.arrivals {
            CheckedArrivals::Random(_, per_cycle, _) => 1.0 / per_cycle,
            CheckedArrivals::Burst { interval, .. } => interval.unwrap_or(1) as f64,
        };
        let log_failure = match traffic.arrivals {
            CheckedArrivals::Random(_, per_cycle, successes) => (-(per_cycle * f64::from(successes)).min(1.0)).ln_1p(),
            CheckedArrivals::Burst { .. } => f64::NEG_INFINITY,
        };
        let mut this = Self {
            traffic,
            log_failure,
            seed,
            nodes: nodes as u32,
            arrivals: Arrivals::new(nodes, gap),
            states: (0..nodes as u64).map(state).collect(),
            bursts: 0,
            taken: vec![0; nodes],
            draw: 0,
            spare: Vec::new(),
        };
        match this.traffic.arrivals {
            CheckedArrivals::Burst { .. } => this.burst(0),
            CheckedArrivals::Random(..) => {
                for node in 0..this.nodes {
                    let at = this.next_arrival(node);
                    this.arrivals.push(at, node);
                }
            }
        }
        this
    }

    /// Draws a node's next arrival; a burst is its only one.
    fn next_arrival(&mut self, node: u32) -> Cycle {
        let CheckedArrivals::Random(process, per_cycle, successes) = self.traffic.arrivals else { return Cycle::MAX };
        let state = &mut self.states[node as usize];
        let at = match process {
            Process::Poisson | Process::Exponential => {
                let gap: f64 = Exp1.sample(&mut state.rng);
                state.clock += gap / per_cycle;
                let at = state.clock as Cycle;
                if process == Process::Poisson { at } else { at.max(state.free) }
            }
            // A burst is no random process.
            Process::Bernoulli | Process::NegativeBinomial | Process::Burst => {
                // The number of failures before each success.
                let failures = (0..successes).map(|_| geometric(&mut state.rng, self.log_failure)).sum::<u64>();
                state.free + failures + u64::from(successes) - 1
            }
        };
        state.free = at + 1;
        at
    }

    /// Draws the nodes of a burst.
    fn burst(&mut self, at: Cycle) {
        let CheckedArrivals::Burst { sources, .. } = self.traffic.arrivals else { return };
        let mut rng = generator(self.seed, Purpose::Burst, self.bursts, 0);
        self.bursts += 1;
        let chosen = self.distinct(&mut rng, sources, None, Vec::new());
        for node in chosen {
            self.arrivals.push(at, node.raw());
        }
    }

    /// Draws different nodes, in random order, into `chosen`.
    fn distinct(
        &mut self,
        rng: &mut Random,
        count: u32,
        except: Option<NodeId>,
        mut chosen: Vec<NodeId>,
    ) -> Vec<NodeId> {
        chosen.clear();
        let eligible = self.nodes - u32::from(except.is_some());
        if count > eligible / 2 {
            // Most of them: shuffle all.
            chosen.extend((0..self.nodes).map(NodeId::new).filter(|&node| Some(node) != except));
            for position in 0..count as usize {
                let other = rng.random_range(position..chosen.len());
                chosen.swap(position, other);
            }
            chosen.truncate(count as usize);
            return chosen;
        }
        self.draw = self.draw.wrapping_add(1);
        if self.draw == 0 {
            self.taken.fill(0);
            self.draw = 1;
        }
        while chosen.len() < count as usize {
            let node = NodeId::new(rng.random_range(0..self.nodes));
            if Some(node) != except && self.taken[node.index()] != self.draw {
                self.taken[node.index()] = self.draw;
                chosen.push(node);
            }
        }
        chosen
    }

    /// Draws one node but this one, into `chosen`, as [`distinct`](Self::distinct) does.
    #[inline]
    fn other(&mut self, rng: &mut Random, source: NodeId, mut chosen: Vec<NodeId>) -> Vec<NodeId> {
        if self.nodes <= 2 {
            return self.distinct(rng, 1, Some(source), chosen);
        }
        chosen.clear();
        loop {
            let node = NodeId::new(rng.random_range(0..self.nodes));
            if node != source {
                chosen.push(node);
                return chosen;
            }
        }
    }

    /// Draws what a node sends; `None` if its pattern sends it nothing.
    #[allow(clippy::inline_always, reason = "a message is more than fits into registers")]
    #[inline(always)]
    fn message(&mut self, at: Cycle, node: u32) -> Option<Message> {
        let state = &mut self.states[node as usize];
        let mut rng = state.contents.generator(state.messages);
        state.messages += 1;
        let traffic = &*self.traffic;
        let source = NodeId::new(node);
        let length = traffic.length.flits(draw(&mut rng, traffic.length.range()), traffic.flit_bytes);
        let spare = std::mem::take(&mut self.spare);
        let destinations = match (traffic.multicast, &traffic.unicast) {
            (None, Unicast::Uniform) => self.other(&mut rng, source, spare),
            _ => self.destinations(rng, source, spare)?,
        };
        Some(Message { at, source, length, destinations })
    }

    /// Draws the destinations of a message; `None` if the pattern of its node sends it nothing.
    #[inline(never)]
    fn destinations(&mut self, mut rng: Random, source: NodeId, spare: Vec<NodeId>) -> Option<Vec<NodeId>> {
        let traffic = &*self.traffic;
        let multicast = traffic.multicast.filter(|&(_, fraction)| rng.random_bool(fraction));
        Some(match (multicast, &traffic.unicast) {
            (Some((Destinations::All, _)), _) => {
                (0..self.nodes).map(NodeId::new).filter(|&other| other != source).collect()
            }
            (Some((Destinations::Group, _)), _) => {
                let groups = traffic.groups.as_ref()?;
                let own = &groups.of_node[source.index()];
                if own.is_empty() {
                    return None;
                }
                let group = own[rng.random_range(0..own.len())];
                groups.members[group as usize].iter().copied().filter(|&member| member != source).collect()
            }
            (Some((Destinations::Count(destinations), _)), _) => {
                if let Some(sets) = traffic.sets {
                    // A set is always the same draw.
                    let set = u64::from(rng.random_range(0..sets));
                    rng = generator(self.seed, Purpose::Sets, u64::from(source.raw()), set);
                }
                let count = draw(&mut rng, destinations);
                self.distinct(&mut rng, count, Some(source), spare)
            }
            (None, Unicast::Permutation(targets)) => match targets[source.index()] {
                target if target == source => return None,
                target => vec![target],
            },
            (None, Unicast::HotSpot(hot, fraction)) if *hot != source && rng.random_bool(*fraction) => vec![*hot],
            _ => self.other(&mut rng, source, spare),
        })
    }
}

fn draw(rng: &mut Random, count: Count) -> u32 {
    rng.random_range(count.least..=count.most)
}

/// The failures before the first success of trials, from the logarithm of the probability that one fails.
fn geometric(rng: &mut impl Rng, log_failure: f64) -> u64 {
    if log_failure == f64::NEG_INFINITY {
        return 0;
    }
    // Inversion; 1 - u is never 0.
    let u: f64 = rng.random();
    ((1.0 - u).ln() / log_failure) as u64
}

impl Iterator for Generator {
    type Item = Message;

    #[allow(clippy::inline_always, reason = "a message is more than fits into registers")]
    #[inline(always)]
    fn next(&mut self) -> Option<Message> {
        loop {
            let (at, node) = self.arrivals.pop()?;
            match self.traffic.arrivals {
                CheckedArrivals::Random(..) => {
                    let next = self.next_arrival(node);
                    self.arrivals.push(next, node);
                }
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
    use crate::config::switching::Switching;
    use crate::config::{Arrivals, MulticastTraffic, Pattern, Timing, Traffic, UnicastTraffic};
    use wormcast_multicast::{Options, algorithm_by_name};
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
        let mesh = algorithm_by_name("separate", &mesh, &Options::default()).unwrap();
        let checked = CheckedTraffic::new(traffic, &Switching::default(), &Timing::default(), mesh.as_ref())
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
            traffic.multicast =
                Some(MulticastTraffic { destinations: Count::fixed(count).into(), fraction: 0.5, sets: None });
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
    fn multicasts_go_to_the_sets_of_their_node() {
        let mut traffic = traffic(Process::Bernoulli, 1.0);
        let destinations = Count { least: 2, most: 6 }.into();
        let distinct = |traffic: &Traffic| {
            let mut sets = std::collections::BTreeSet::new();
            let of_one = messages(traffic, 5).filter(|message| message.source.raw() == 3).take(500);
            sets.extend(of_one.map(|message| message.destinations));
            sets
        };
        let mut of = |sets| {
            traffic.multicast = Some(MulticastTraffic { destinations, fraction: 1.0, sets });
            distinct(&traffic)
        };
        assert_eq!(of(Some(4)).len(), 4);
        assert_eq!(of(Some(1)).len(), 1);
        // More sets are others, not other draws of the first ones.
        assert!(of(Some(1)).is_subset(&of(Some(4))));
        assert!(of(None).len() > 400);
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
}
