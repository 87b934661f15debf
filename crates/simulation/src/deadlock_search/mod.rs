//! Whether a deadlock can be reached: the static check's question, decided for small networks (`docs/reachability.md`).
//!
//! [`search_deadlock`] goes through all sets of worms that would wait for each other, asks of each whether its worms can get to
//! where they wait, and runs a schedule that brings them there.

use std::fmt;

use thiserror::Error;
use wormcast_multicast::{Multicast, Plan};
use wormcast_network::NodeId;
use wormcast_network::watch::step_every;
use wormcast_routing::{RoutingRelation, VirtualChannels};

use crate::config::switching::{BranchReplication, Header};
use crate::engine::EngineConfig;
use crate::observers::observer::Cycle;
use crate::run::result::Deadlock;
use crate::run::scenario::MAX_LENGTH;
use replay::{Sent, Stage, is_of_paths};
use sets::{Ended, Sets};
use worms::{Places, Resources, Waiting};

mod members;
mod replay;
mod schedule;
mod sets;
mod worms;

/// A message that may be sent, at any time and as often as one likes.
#[derive(Clone, Debug)]
pub struct Sendable {
    /// Its source and destinations.
    pub multicast: Multicast,
    /// The worms that it is sent as.
    pub plan: Plan,
}

/// What a search has found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reachability {
    /// Whether a deadlock can be reached.
    pub verdict: ReachabilityVerdict,
    /// The steps spent: places where a worm can wait and the routes to them, sets looked at, and states of worms on their way.
    pub spent: u64,
    /// The budget, in steps.
    pub budget: u64,
    /// Places where a worm may wait forever, as far as the search knows before it looks at sets.
    pub places: usize,
    /// Sets of worms that wait for each other and can get there if worms may rest on their way.
    pub sets: u64,
    /// Schedules that were run.
    pub runs: u64,
}

/// Whether a deadlock can be reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReachabilityVerdict {
    /// This schedule ends in one, in each engine that is exact for the settings.
    Reachable(DeadlockSchedule),
    /// No schedule does, whatever the lengths of messages, startups and routing delays.
    NotReachable,
    /// The search could not decide.
    NotDecided(Undecided),
}

/// Why a search has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Undecided {
    /// The budget ran out while worms were followed on their routes.
    Routes,
    /// The budget ran out. A set has to begin with one of `of` worms, and `begun` have been gone through.
    Sets {
        /// The worms gone through.
        begun: usize,
        /// All worms.
        of: usize,
    },
    /// There are sets of worms that could get to where they block each other if they rested on their way, which worms do not; no
    /// schedule was found that makes others hold them up.
    NoSchedule,
}

/// Messages that, sent at these cycles, end in a deadlock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockSchedule {
    /// The messages, in the order of their cycles.
    pub messages: Vec<ScheduledMessage>,
    /// The deadlock, as the flit engine finds it.
    pub deadlock: Deadlock,
}

/// A message of a [`DeadlockSchedule`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScheduledMessage {
    /// The cycle in which it is generated.
    pub at: Cycle,
    /// The node that sends it.
    pub source: NodeId,
    /// Its data flits.
    pub length: u32,
    /// Its destinations.
    pub destinations: Vec<NodeId>,
    /// Its position among the messages that were given.
    pub message: usize,
}

/// The schedule as a trace that `traffic.trace` of an experiment file names: a line a message.
impl fmt::Display for DeadlockSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# cycle source length destinations")?;
        for ScheduledMessage { at, source, length, destinations, .. } in &self.messages {
            let destinations: Vec<String> = destinations.iter().map(ToString::to_string).collect();
            writeln!(f, "{at} {source} {length} {}", destinations.join(";"))?;
        }
        Ok(())
    }
}

/// Why the search does not cover these settings or plans.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum NotCovered {
    /// Switches route and replicate the worms.
    #[error("switches choose the ways of its worms")]
    Encoded,
    /// Several virtual channels, and paths whose channels are fixed, by tables or by another routing: where they share links, they would move as trees do.
    #[error("links have several virtual channels, and some worms are routed by tables, or otherwise than unicasts")]
    VirtualChannels,
    /// Fewer virtual channels than the routing needs.
    #[error("links have fewer virtual channels than its routing needs")]
    TooFewVirtualChannels,
    /// Worms over waypoints.
    #[error("worms go over routers that are drawn")]
    Waypoints,
    /// Links of more than one cycle.
    #[error("links take more than one cycle; it knows of links of one")]
    Delays,
    /// Header flits.
    #[error("worms carry header flits of their own; it knows of worms that consist of data flits")]
    Header,
    /// Branches that do not wait for each other.
    #[error("branches of trees go on independently; it knows of trees in lockstep")]
    Independent,
    /// Some worms are bound to consumption channels and others are not.
    #[error("some worms are bound to consumption channels and others are not")]
    Classes,
    /// The relation has no route to a stop.
    #[error("its routing does not lead everywhere")]
    NoRoute,
    /// Worms with too many hops.
    #[error("worms have more than 127 hops or branches")]
    TooLong,
}

/// Decides whether any sequence of these messages, at any cycles and of any lengths, deadlocks.
///
/// `routing` routes all of them; if it [divides virtual channels](wormcast_routing::VirtualChannels), links have as many as it needs ([`MergedClasses`](wormcast_routing::MergedClasses)
/// make do with fewer). The answer *not reachable* holds for all startups, routing delays and lengths; a schedule is for
/// the settings that are given. `budget` bounds the search, in time, about a microsecond a step, and in memory, a few hundred bytes a
/// step at most; schedules that are run are not counted: there are some fifty thousand at most, each of which takes as long as its worms do. There are exponentially many sets in large
/// networks, and then the answer is mostly [`ReachabilityVerdict::NotDecided`] unless a deadlock is found soon.
///
/// # Errors
/// If the search does not cover something that the settings or plans use.
///
/// ```
/// use wormcast_multicast::{Multicast, Plan, Worm};
/// use wormcast_network::TopologySpec;
/// use wormcast_routing::ECube;
/// use wormcast_simulation::{EngineConfig, Sendable, Timing, ReachabilityVerdict, Wormhole, search_deadlock};
///
/// let ring = "torus:4".parse::<TopologySpec>()?.build()?;
/// let config = EngineConfig::new(&Wormhole::default(), &Timing::default(), &ring);
/// let send = |from, to| {
///     let multicast = Multicast::new(from, &[to]);
///     Sendable { plan: Plan { worms: vec![Worm::path(from, vec![to])] }, multicast }
/// };
/// let all = ring.node_ids().flat_map(|from| ring.node_ids().map(move |to| (from, to))).filter(|(from, to)| from != to);
/// let messages: Vec<Sendable> = all.map(|(from, to)| send(from, to)).collect();
/// let found = search_deadlock(&ECube::new(&ring)?, &config, &messages, 100_000)?;
/// let ReachabilityVerdict::Reachable(witness) = found.verdict else { panic!("{found:?}") };
/// assert_eq!(witness.messages.len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn search_deadlock(
    routing: &dyn RoutingRelation,
    config: &EngineConfig,
    messages: &[Sendable],
    budget: u64,
) -> Result<Reachability, NotCovered> {
    if routing.capabilities().waypoints.is_some() {
        return Err(NotCovered::Waypoints);
    }
    let needed = routing.capabilities().virtual_channels.map_or(1, VirtualChannels::needed);
    if config.virtual_channels < u32::from(needed) {
        return Err(NotCovered::TooFewVirtualChannels);
    }
    check(config, messages)?;
    let network = &**routing.network();
    let resources = Resources::new(network, config);
    let mut places = Places::new(network, &resources, budget);
    for (number, message) in messages.iter().enumerate() {
        step_every(8, "following worms", "messages", number, messages.len());
        places.add(number, &message.plan, routing, |other| messages[other].plan.worms.len())?;
        if places.too_many {
            break;
        }
    }
    let (found, too_many, left) = (places.all, places.too_many, places.budget);
    let most_stretch = MAX_LENGTH.div_ceil(config.buffer);
    // What was cut short is not looked at.
    let worms = if too_many { &[][..] } else { &found };
    let mut sets = Sets::new(&resources, worms, (most_stretch, true), left);
    let mut search = Search { stage: Stage::new(routing, *config, messages), sets: 0 };
    let (verdict, dead) = if too_many {
        (Some(ReachabilityVerdict::NotDecided(Undecided::Routes)), None)
    } else if sets.is_cut() {
        (Some(ReachabilityVerdict::NotDecided(Undecided::Sets { begun: 0, of: sets.places().len() })), None)
    } else if sets.places().is_empty() {
        (Some(ReachabilityVerdict::NotReachable), None)
    } else {
        let places: Vec<&Waiting> = sets.places().iter().map(|&place| &found[place]).collect();
        (None, search.stage.bursts(&places, BURSTS))
    };
    let of_interest = sets.places().len();
    let verdict = match (verdict, dead) {
        (Some(verdict), _) => verdict,
        (None, Some(sent)) => search.witness(sent),
        (None, None) => match sets.each(&mut |_| true) {
            Ended::Exhausted => ReachabilityVerdict::NotReachable,
            Ended::OutOfBudget { begun, of } => ReachabilityVerdict::NotDecided(Undecided::Sets { begun, of }),
            Ended::Stopped => {
                // There are some. Schedules are easier to find for few long worms.
                sets = Sets::new(&resources, &found, (most_stretch, false), sets.budget);
                search.go_through(&mut sets, &resources)
            }
        },
    };
    let spent = budget - sets.budget;
    Ok(Reachability { verdict, spent, budget, places: of_interest, sets: search.sets, runs: search.stage.runs })
}

/// Bursts that are run before anything else: most deadlocks need no search.
const BURSTS: u32 = 60;

/// Schedules around that which is worked out for a set, for each set at first, and for those that are left in the end.
const TRIES: u32 = 24;
const LAST_TRIES: u32 = 2_000;

/// Sets that are kept for a second look, those around which schedules are drawn, and those after which there is little hope: many sets
/// differ in little.
const KEPT: usize = 16;
const CLOSELY: u64 = 200;
const MOST_SETS: u64 = 10_000;

fn check(config: &EngineConfig, messages: &[Sendable]) -> Result<(), NotCovered> {
    let trees = !messages.iter().all(|message| is_of_paths(&message.plan));
    if !config.delay.is_one() {
        return Err(NotCovered::Delays);
    }
    if config.header != Header::None {
        return Err(NotCovered::Header);
    }
    if config.replication != BranchReplication::Lockstep && trees {
        return Err(NotCovered::Independent);
    }
    let mut worms = messages.iter().flat_map(|message| &message.plan.worms);
    if let Some(first) = worms.next()
        && worms.any(|worm| worm.consumption_class.is_some() != first.consumption_class.is_some())
    {
        return Err(NotCovered::Classes);
    }
    Ok(())
}

/// The schedules that have been run, and the sets that have been found.
struct Search<'a> {
    stage: Stage<'a>,
    sets: u64,
}

impl Search<'_> {
    /// Looks for sets, and for a schedule of each.
    fn go_through(&mut self, sets: &mut Sets<'_>, resources: &Resources) -> ReachabilityVerdict {
        let (mut kept, mut dead) = (Vec::new(), None);
        let ended = sets.each(&mut |set| {
            self.sets += 1;
            dead = self.stage.realise(&set, resources, if self.sets <= CLOSELY { TRIES } else { 0 });
            if dead.is_none() && kept.len() < KEPT {
                kept.push(set);
            }
            dead.is_some() || self.sets >= MOST_SETS
        });
        if let Ended::OutOfBudget { begun, of } = ended
            && kept.is_empty()
        {
            return ReachabilityVerdict::NotDecided(Undecided::Sets { begun, of });
        }
        for set in &kept {
            dead = dead.or_else(|| self.stage.realise(set, resources, LAST_TRIES));
        }
        match (dead, ended) {
            (Some(sent), _) => self.witness(sent),
            (None, Ended::OutOfBudget { begun, of }) => ReachabilityVerdict::NotDecided(Undecided::Sets { begun, of }),
            (None, _) => ReachabilityVerdict::NotDecided(Undecided::NoSchedule),
        }
    }

    /// The shortest part of a schedule that deadlocks, in the flit engine too.
    fn witness(&mut self, sent: Vec<Sent>) -> ReachabilityVerdict {
        let sent = self.stage.shortest(sent);
        // The engines agree to the cycle: a schedule that deadlocks in one only is no witness.
        match self.stage.flit_by_flit(&sent) {
            Some(deadlock) => {
                ReachabilityVerdict::Reachable(DeadlockSchedule { messages: self.stage.tell(&sent), deadlock })
            }
            None => ReachabilityVerdict::NotDecided(Undecided::NoSchedule),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::RngExt;
    use wormcast_multicast::{Options, Worm, algorithm_by_name};
    use wormcast_network::{ChannelId, Network, Ports, RouterId, TopologySpec};

    use super::*;
    use crate::config::Timing;
    use crate::config::switching::Wormhole;
    use crate::rng::{Purpose, generator};

    /// Round a ring, in the direction of rising numbers.
    struct Around {
        network: Arc<Network>,
    }

    impl RoutingRelation for Around {
        fn name(&self) -> &'static str {
            "around"
        }

        fn network(&self) -> &Arc<Network> {
            &self.network
        }

        fn candidates(&self, at: RouterId, _: Option<ChannelId>, _: RouterId, out: &mut Vec<ChannelId>) {
            let network = self.network();
            let next = RouterId::new((at.raw() + 1) % network.routers() as u32);
            out.clear();
            out.extend(network.channel_between(at, next));
        }
    }

    fn ring() -> Around {
        Around { network: "ring:4".parse::<TopologySpec>().unwrap().build().unwrap() }
    }

    fn send(pairs: &[(u32, u32)]) -> Vec<Sendable> {
        let node = NodeId::new;
        let message = |&(from, to): &(u32, u32)| Sendable {
            multicast: Multicast::new(node(from), &[node(to)]),
            plan: Plan { worms: vec![Worm::path(node(from), vec![node(to)])] },
        };
        pairs.iter().map(message).collect()
    }

    fn config(network: &Network) -> EngineConfig {
        EngineConfig::new(&Wormhole::default(), &Timing::default(), network)
    }

    /// Two worms that go three links each can block each other; so can four of them that hold one link each.
    #[test]
    fn a_long_worm_is_as_good_as_several_short_ones() {
        let (ring, messages) = (ring(), send(&[(0, 3), (2, 1)]));
        let found = search_deadlock(&ring, &config(&ring.network), &messages, 10_000).unwrap();
        assert!(matches!(found.verdict, ReachabilityVerdict::Reachable(_)), "{found:?}");
        assert_eq!(sets(&ring, &messages, (1, true)), 1);
        assert!(sets(&ring, &messages, (2, false)) > 1);
    }

    /// Trees that block each other by their branches, if each holds one while it waits for the other; if they hold one channel only, by
    /// their requests at the routers where they begin.
    #[test]
    fn a_tree_holds_the_branches_behind_its_tail() {
        let line = "mesh:4".parse::<TopologySpec>().unwrap().build().unwrap();
        let trees = algorithm_by_name("tree-one", &line, &Options::default()).unwrap();
        let send = |source| {
            let multicast = Multicast::new(NodeId::new(source), &[0, 3].map(NodeId::new));
            Sendable { plan: trees.plan(&multicast), multicast }
        };
        let messages = [send(1), send(2)];
        let found = search_deadlock(trees.routing(), &config(&line), &messages, 10_000).unwrap();
        let ReachabilityVerdict::Reachable(witness) = &found.verdict else { panic!("{found:?}") };
        assert_eq!(witness.messages.len(), 2);
        assert_eq!(sets(trees.routing(), &messages, (1, true)), 1);
        assert!(sets(trees.routing(), &messages, (2, true)) > 1);
    }

    /// How many sets there are of worms that stretch over so many channels.
    fn sets(routing: &dyn RoutingRelation, messages: &[Sendable], stretch: (u32, bool)) -> u32 {
        let network = &**routing.network();
        let resources = Resources::new(network, &config(network));
        let mut places = Places::new(network, &resources, 100);
        for (number, message) in messages.iter().enumerate() {
            places.add(number, &message.plan, routing, |_| 1).unwrap();
        }
        let mut count = 0;
        let ended = Sets::new(&resources, &places.all, stretch, 100_000).each(&mut |_| {
            count += 1;
            false
        });
        assert_eq!(ended, Ended::Exhausted);
        count
    }

    /// A worm that ends where the other one waits takes nothing that is waited for.
    #[test]
    fn two_worms_that_do_not_close_a_ring_are_safe() {
        let ring = ring();
        let messages = send(&[(0, 2), (2, 0)]);
        let found = search_deadlock(&ring, &config(&ring.network), &messages, 10_000).unwrap();
        assert_eq!((found.verdict, found.runs), (ReachabilityVerdict::NotReachable, 0));
    }

    /// Whatever deadlocks in random runs has a set, which is found without these runs: on random networks, unicasts of few pairs on any
    /// ways, trees in lockstep, and paths with few consumption channels.
    #[test]
    fn whatever_deadlocks_has_a_set() {
        let (mut dead, mut without) = ([0; 3], 0);
        for seed in 0..120u64 {
            let mut random = generator(seed, Purpose::DeadlockSchedule, 1, 0);
            let kind = seed as usize % 3;
            let topology = match kind {
                // On a ring, ways that differ from target to target close it soon.
                0 => format!("ring:{}", 4 + seed / 3 % 2),
                1 => format!("random:nodes={},degree=2.6,seed={seed}", 5 + seed % 3),
                _ => ["mesh:2x2", "mesh:3x2", "mesh:4"][(seed / 3) as usize % 3].to_owned(),
            };
            let network = topology.parse::<TopologySpec>().unwrap().build().unwrap();
            let algorithm = ["separate", "tree-one", "dual-path"][kind];
            let routing = [Some("up-down-deterministic"), Some("up-down"), None][kind];
            let options = routing.map_or_else(Options::default, |routing| Options::routed_by(routing).unwrap());
            let made = algorithm_by_name(algorithm, &network, &options).unwrap();
            let ways = Scattered { network: Arc::clone(&network), seed };
            let routing: &dyn RoutingRelation = if kind == 0 { &ways } else { made.routing() };
            let messages: Vec<Sendable> = (0..2 + seed % 8)
                .filter_map(|_| {
                    let nodes: Vec<NodeId> = network.node_ids().collect();
                    let source = nodes[random.random_range(0..nodes.len())];
                    let some = nodes.iter().filter(|_| random.random_bool(0.5)).copied().collect::<Vec<_>>();
                    let multicast = Multicast::checked(source, &some).ok()?;
                    Some(Sendable { plan: made.plan(&multicast), multicast })
                })
                .collect();
            let ports = Ports { injection: 1 + (seed % 2) as u32, consumption: 1 + (seed / 6 % 2) as u32 };
            let config = EngineConfig { ports, startup: 0, buffer: 1 + (seed / 12 % 2) as u32, ..config(&network) };
            let resources = Resources::new(&network, &config);
            let mut places = Places::new(&network, &resources, 10_000);
            for (number, message) in messages.iter().enumerate() {
                places.add(number, &message.plan, routing, |_| 1).unwrap();
            }
            let all: Vec<&Waiting> = places.all.iter().collect();
            let mut stage = Stage::new(routing, config, &messages);
            let found = !all.is_empty() && stage.bursts(&all, 200).is_some();
            let ended = Sets::new(&resources, &places.all, (100, true), 200_000).each(&mut |_| true);
            assert!(!found || ended != Ended::Exhausted, "{algorithm} on {topology} deadlocks, but has no set");
            dead[kind] += u32::from(found);
            without += u32::from(ended == Ended::Exhausted);
        }
        assert!(dead.iter().all(|&count| count > 0) && without > 0, "{dead:?} {without}");
    }

    /// Routes to each target by trees that a seed decides.
    struct Scattered {
        network: Arc<Network>,
        seed: u64,
    }

    impl RoutingRelation for Scattered {
        fn name(&self) -> &'static str {
            "scattered"
        }

        fn network(&self) -> &Arc<Network> {
            &self.network
        }

        fn candidates(&self, at: RouterId, _: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
            let network = self.network();
            out.clear();
            let mut random = generator(self.seed, Purpose::DeadlockSchedule, 2, u64::from(target.raw()));
            // A tree that grows from the target, by one of its edges at a time.
            let mut tree = vec![target];
            while !tree.contains(&at) {
                let from = tree[random.random_range(0..tree.len())];
                let outputs: Vec<ChannelId> = network.outputs(from).collect();
                let channel = outputs[random.random_range(0..outputs.len())];
                if !tree.contains(&network.to(channel)) {
                    tree.push(network.to(channel));
                    if network.to(channel) == at {
                        out.push(network.reverse(channel));
                    }
                }
            }
        }
    }

    #[test]
    fn a_small_budget_is_no_answer_and_says_so() {
        let ring = ring();
        let all: Vec<(u32, u32)> = (0..4).flat_map(|from| (0..4).map(move |to| (from, to))).collect();
        let pairs: Vec<(u32, u32)> = all.into_iter().filter(|(from, to)| from != to).collect();
        let found = search_deadlock(&ring, &config(&ring.network), &send(&pairs), 3).unwrap();
        assert_eq!((found.verdict, found.spent), (ReachabilityVerdict::NotDecided(Undecided::Routes), 3));
    }

    #[test]
    fn what_is_not_covered_is_refused() {
        let ring = ring();
        let messages = send(&[(0, 1)]);
        let search = |config: &EngineConfig| search_deadlock(&ring, config, &messages, 100).unwrap_err();
        let config = config(&ring.network);
        assert_eq!(search(&EngineConfig { header: Header::BitString, ..config }), NotCovered::Header);
        let two = EngineConfig { virtual_channels: 2, ..config };
        let dragonfly = "dragonfly:p=1,a=2,h=1".parse::<TopologySpec>().unwrap().build().unwrap();
        let valiant = wormcast_routing::Valiant::new(&dragonfly).unwrap();
        assert_eq!(search_deadlock(&valiant, &two, &[], 100), Err(NotCovered::Waypoints));
    }
}
