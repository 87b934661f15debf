//! Runs a scenario: traffic into plans, plans into an engine, what it reports into a result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use wormcast_multicast::{BrokenPromise, Itinerary, Multicast, Plan, Worm};
use wormcast_network::ChannelId;
use wormcast_routing::NoRoute;

use crate::config::switching::{Header, Replication};
use crate::config::{Mode, Warmup};
use crate::engine::{Engine, EngineConfig, Progress};
use crate::observers::observer::{Cycle, Generated, Observer};
use crate::run::batches::BACKLOG;
use crate::run::promises::Promises;
use crate::run::recorder::{ALL, Goal, Recorder};
use crate::run::result::{Deadlock, Messages, RunResult};
use crate::run::run_end::RunEnd;
use crate::run::scenario::Scenario;
use crate::switch::{SwitchConfig, SwitchEngine};
use crate::traffic::MessageSource;
use crate::wormhole::flit::FlitEngine;
use crate::wormhole::worm::WormEngine;

/// The version of the simulation model, which is part of a stored result's name. Results of another version are ignored; raise it with every
/// change after which the same description and seed may give another result.
pub const MODEL_VERSION: u32 = 7;

/// Messages that a run measures unless it is told otherwise: twenty a node, within limits.
fn default_messages(scenario: &Scenario) -> u64 {
    (20 * scenario.network.nodes() as u64).clamp(2_000, 100_000)
}

/// The engine that simulates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Engine")]
pub enum EngineChoice {
    /// The fastest that is exact for the scenario.
    #[default]
    #[cfg_attr(feature = "clap", value(help = "The fastest that is exact for the configuration"))]
    Auto,
    /// The reference, flit by flit.
    #[cfg_attr(feature = "clap", value(help = "Every flit on every hop"))]
    Flit,
    /// The fast one.
    #[cfg_attr(feature = "clap", value(help = "Headers and tails only"))]
    Worm,
}

/// Why a run has no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The engine that was asked for cannot run the scenario.
    #[error("the {engine} engine is not exact here: {reason}; use `flit` or `auto`")]
    Engine {
        /// The engine.
        engine: &'static str,
        /// Why.
        reason: String,
    },
    /// An engine for wormhole switching was asked for, but the switches are buffered.
    #[error(
        "the `{engine}` engine simulates wormhole switching, not the buffered switches that `switching.model` asks for; use `auto`"
    )]
    Buffered {
        /// The engine.
        engine: &'static str,
    },
    /// A plan does not fit the switching.
    #[error("`{algorithm}` sends {worms}, which {problem}")]
    Switching {
        /// The setting that would have to change.
        setting: &'static str,
        /// The algorithm.
        algorithm: &'static str,
        /// What it sends, such as `paths` or `trees`.
        worms: &'static str,
        /// What does not fit, and what would.
        problem: &'static str,
    },
    /// A plan that breaks the contract of [`Algorithm`](wormcast_multicast::Algorithm).
    #[error("the plan of `{algorithm}` is not as promised: {error}")]
    Plan {
        /// The algorithm.
        algorithm: &'static str,
        /// What is wrong.
        error: BrokenPromise,
    },
    /// A network that is drawn anew for each replication makes no sense with the other settings.
    #[error("with seed {seed}: {problem}")]
    Scenario {
        /// The replication's seed.
        seed: u64,
        /// What is wrong.
        problem: String,
    },
    /// Memory does not suffice for the messages that wait.
    #[error(
        "out of memory in cycle {cycle}, with {waiting} messages on their way; a lower load, a smaller network or `run.max_cycles` takes less"
    )]
    OutOfMemory {
        /// The cycle of the first message that had no room.
        cycle: Cycle,
        /// Messages that were not delivered everywhere.
        waiting: u64,
    },
    /// A worm got to where its routing leads no further.
    #[error(transparent)]
    NoRoute(#[from] NoRoute),
}

impl SimulationError {
    /// The setting of an experiment file that is to blame, if one is.
    pub fn setting(&self) -> Option<&'static str> {
        match self {
            Self::Engine { .. } | Self::Buffered { .. } => Some("engine"),
            Self::Switching { setting, .. } => Some(setting),
            Self::Scenario { .. } => Some("topology"),
            Self::Plan { .. } | Self::OutOfMemory { .. } | Self::NoRoute(_) => None,
        }
    }
}

impl EngineChoice {
    /// Checks that the engine asked for can run a scenario, as [`simulate`] does first.
    ///
    /// # Errors
    /// If it cannot.
    pub fn check(self, scenario: &Scenario) -> Result<(), SimulationError> {
        self.made::<()>(scenario).map(|_| ())
    }

    /// The engine that runs a scenario.
    fn made<O: Observer>(self, scenario: &Scenario) -> Result<Made, SimulationError> {
        if let Some(switch) = scenario.switch {
            return match self {
                Self::Auto => Ok(Made::Switch(switch)),
                Self::Flit => Err(SimulationError::Buffered { engine: "flit" }),
                Self::Worm => Err(SimulationError::Buffered { engine: "worm" }),
            };
        }
        match (self, WormEngine::<(Recorder, O)>::objection(&scenario.engine)) {
            (Self::Worm, Some(reason)) => Err(SimulationError::Engine { engine: "worm", reason: reason.to_owned() }),
            (Self::Worm | Self::Auto, None) => Ok(Made::Worm),
            (Self::Flit, _) | (Self::Auto, Some(_)) => Ok(Made::Flit),
        }
    }
}

/// The engine that runs.
enum Made {
    Flit,
    Worm,
    Switch(SwitchConfig),
}

/// Runs a scenario; the result is a function of the scenario and the seed alone. A deadlock is a result, not an error.
///
/// # Errors
/// If the engine asked for, or the switching, cannot carry what the algorithm sends, or that is no correct plan or has no route.
pub fn simulate(scenario: &Scenario, engine: EngineChoice, seed: u64) -> Result<RunResult, SimulationError> {
    simulate_observed(scenario, engine, seed, &mut ())
}

/// Simulates a scenario with an observer that is told everything.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_observed<O: Observer>(
    scenario: &Scenario,
    engine: EngineChoice,
    seed: u64,
    observer: &mut O,
) -> Result<RunResult, SimulationError> {
    let made = engine.made::<&mut O>(scenario)?;
    let (network, routing) = (&*scenario.network, scenario.algorithm.routing());
    let observer = (Recorder::new(goal(scenario), network.channels()), observer);
    let config = EngineConfig { seed, ..scenario.engine };
    match made {
        Made::Worm => Driver::new(scenario, WormEngine::new(routing, config, observer)).run(seed),
        Made::Flit => Driver::new(scenario, FlitEngine::new(routing, config, observer)).run(seed),
        Made::Switch(config) => {
            let config = SwitchConfig { seed, ..config };
            Driver::new(scenario, SwitchEngine::new(routing, config, observer)).run(seed)
        }
    }
}

/// Which messages a run is about.
pub(crate) fn goal(scenario: &Scenario) -> Goal {
    match scenario.mode {
        Mode::Finite => Goal::Finite {
            count: scenario.run.messages.or_else(|| (!scenario.traffic.ends()).then(|| default_messages(scenario))),
        },
        Mode::Steady => {
            let ends = scenario.traffic.ends();
            let count = scenario.run.messages.unwrap_or_else(|| if ends { ALL } else { default_messages(scenario) });
            let first = match scenario.run.warmup {
                Warmup::Cycles(_) => None,
                Warmup::Auto if ends => Some(0),
                Warmup::Auto => Some(count.div_ceil(2)),
            };
            Goal::Steady { first, count }
        }
    }
}

/// Feeds an engine with messages and tells the recorder where its window is.
struct Driver<'a, E> {
    scenario: &'a Scenario,
    engine: E,
    /// A bound on the hops from a node to another.
    most_hops: usize,
    /// What a message may take in an empty network, for the slowest so far.
    slowest: Cycle,
    promises: Promises<'a>,
}

impl<'a, O: Observer, E: Engine<Observer = (Recorder, O)>> Driver<'a, E> {
    fn new(scenario: &'a Scenario, engine: E) -> Self {
        let network = &scenario.network;
        let extents = network.shape().grid().map(|grid| grid.extents().iter().map(|&extent| extent as usize).sum());
        let most_hops = extents.unwrap_or(network.routers());
        Self { scenario, engine, most_hops, slowest: 0, promises: Promises::of(scenario) }
    }

    fn run(mut self, seed: u64) -> Result<RunResult, SimulationError> {
        let scenario = self.scenario;
        let goal = goal(scenario);
        let mut limit = scenario.run.max_cycles.unwrap_or(Cycle::MAX);
        if scenario.mode == Mode::Finite {
            self.open_window();
        }
        let mut deadlock = None;
        let mut given_up = false;
        let mut messages = MessageSource::new(&scenario.traffic, scenario.network.nodes(), seed);
        let mut ids = 0u64..;
        while let (Some(message), Some(id)) = (messages.next(), ids.next()) {
            given_up = message.at >= limit;
            match self.engine.run_until(message.at.min(limit)) {
                Progress::Reached if given_up => break,
                Progress::Reached => {}
                Progress::Stopped => break,
                Progress::Deadlock(found) => {
                    deadlock = Some(found);
                    break;
                }
                Progress::NoRoute(no_route) => return Err(no_route.into()),
            }
            if self.move_window(goal, id, message.at) {
                match self.longest_drain() {
                    Some(drain) => limit = limit.min(message.at + drain),
                    None => {
                        given_up = true;
                        break;
                    }
                }
            }
            let multicast = Multicast::from_vec(message.source, message.destinations);
            let plan = scenario.algorithm.plan(&multicast);
            self.check(&plan, &multicast)?;
            self.slowest = self.slowest.max(self.slowest_alone(message.length, &plan));
            if !self.engine.has_room(plan.worms.len()) || !self.engine.observer_mut().0.has_room() {
                let Messages { in_flight: waiting, .. } = self.engine.observer().0.messages(0);
                return Err(SimulationError::OutOfMemory { cycle: message.at, waiting });
            }
            let generated = Generated {
                message: id,
                at: message.at,
                source: message.source,
                destinations: multicast.destinations(),
                length: message.length,
            };
            self.engine.observer_mut().generated(&generated);
            // Nodes that are no destinations get the message only to send it on.
            let senders = plan.worms.iter().filter(|worm| worm.after.is_some()).map(|worm| worm.from);
            for relay in senders.filter(|node| !multicast.destinations().contains(node)) {
                self.engine.observer_mut().0.relays(id, relay);
            }
            self.engine.submit(message.at, id, message.length, plan);
            messages.reuse(multicast.into_destinations());
        }
        // A source that has come to an end: let everything arrive.
        if deadlock.is_none() && !given_up && !self.engine.observer().done() {
            match self.engine.drain(limit) {
                Progress::Deadlock(found) => deadlock = Some(found),
                Progress::Reached => given_up = !self.engine.is_empty(),
                Progress::Stopped => {}
                Progress::NoRoute(no_route) => return Err(no_route.into()),
            }
        }
        self.close_window();
        Ok(self.result(seed, deadlock, given_up))
    }

    /// Opens the measured window with the first message that certainly counts, and closes it with the one after the last.
    /// Returns whether it has just been closed.
    fn move_window(&mut self, goal: Goal, message: u64, at: Cycle) -> bool {
        let Goal::Steady { first, count } = goal else { return false };
        let first = match (first, self.scenario.run.warmup) {
            (None, Warmup::Cycles(warmup)) if at >= warmup => {
                // The first message after the warm-up, unless it has been seen.
                let first = self.engine.observer().0.first_counted().unwrap_or(message);
                self.engine.observer_mut().0.count_from(first);
                first
            }
            (Some(first), _) => first,
            _ => return false,
        };
        if message == first {
            self.open_window();
        }
        if message == first + count {
            self.close_window();
        }
        message == first + count
    }

    /// How many cycles after the window to wait for its last messages; `None` if that is hopeless.
    ///
    /// Beyond saturation some nodes hardly get a worm into the network, and their messages take forever. A run is given up if
    /// messages are missing after as many cycles again as the run had until then, 20 times the mean latency so far and twice what
    /// the slowest message takes alone, or at once if deliveries fell behind by a quarter of what the window's messages ask for.
    fn longest_drain(&self) -> Option<Cycle> {
        let recorder = &self.engine.observer().0;
        if recorder.behind(0.25, self.slowest) == Some(true) {
            return None;
        }
        Some(self.engine.now().max((20.0 * recorder.mean_latency()) as Cycle).max(2 * self.slowest))
    }

    /// A bound on the cycles until a message has arrived in an empty network.
    fn slowest_alone(&self, length: u32, plan: &Plan) -> Cycle {
        let config = self.scenario.engine;
        let worm = |worm: &Worm| {
            let stops = match &worm.itinerary {
                Itinerary::Path(path) => path.stops.len(),
                Itinerary::Tree(tree) => tree.branches.len(),
                Itinerary::Encoded(encoded) => encoded.destinations.len(),
            };
            // A buffered switch takes longer than a router, by what it takes to collect a chunk and to copy its header's.
            let buffered = self.scenario.switch.map_or(0, |switch| switch.crossing_delay + switch.chunk_flits + 64);
            let hops = (stops * self.most_hops + 1) as Cycle * Cycle::from(config.routing_delay + 1 + buffered);
            let headers = stops as Cycle * Cycle::from(config.strip_delay + 1) + Cycle::from(config.header_flits);
            let overheads = Cycle::from(config.startup) + Cycle::from(config.receive_overhead);
            overheads + hops + headers + Cycle::from(length)
        };
        plan.worms.iter().map(worm).sum()
    }

    fn open_window(&mut self) {
        let (now, crossing) = self.crossing();
        self.engine.observer_mut().0.open_window(now, &crossing);
    }

    fn close_window(&mut self) {
        let (now, crossing) = self.crossing();
        self.engine.observer_mut().0.close_window(now, &crossing);
    }

    fn crossing(&mut self) -> (Cycle, Vec<(ChannelId, u32)>) {
        let mut crossing = Vec::new();
        let links = self.scenario.network.channels();
        self.engine.each_held(&mut |held| {
            if held.channel.index() < links {
                crossing.push((held.channel, held.flits));
            }
        });
        (self.engine.now(), crossing)
    }

    /// Whether the plan is right and the switching can carry it.
    fn check(&mut self, plan: &Plan, multicast: &Multicast) -> Result<(), SimulationError> {
        let config = self.scenario.engine;
        let algorithm = self.scenario.algorithm.name();
        self.promises.check(self.scenario, multicast, plan)?;
        let fail = |setting, worms, problem| Err(SimulationError::Switching { setting, algorithm, worms, problem });
        for worm in &plan.worms {
            if self.scenario.switch.is_some() {
                let problem = match &worm.itinerary {
                    Itinerary::Path(path) if path.stops.len() > 1 => Some((
                        "paths through several destinations",
                        "buffered switches cannot split: use an algorithm such as `bit-string` or `u-min`, or `model = \"wormhole\"`",
                    )),
                    Itinerary::Tree(_) => Some((
                        "trees of fixed channels",
                        "buffered switches cannot follow: use an algorithm such as `bit-string` or `u-min`, or `model = \"wormhole\"`",
                    )),
                    _ => None,
                };
                if let Some((worms, problem)) = problem {
                    return fail("switching.model", worms, problem);
                }
            }
            if worm.consumption_class.is_some_and(|class| u32::from(class) >= config.ports.consumption) {
                let worms = if matches!(worm.itinerary, Itinerary::Path(_)) { "paths" } else { "trees" };
                return fail(
                    "switching.consumption_ports",
                    worms,
                    "are bound to consumption channels that the nodes do not have: set more `consumption_ports`",
                );
            }
            match (&worm.itinerary, config.header) {
                (Itinerary::Encoded(_), _) if self.scenario.switch.is_some() => {}
                (Itinerary::Encoded(_), _) => {
                    return fail(
                        "switching.model",
                        "worms with encoded destinations",
                        "buffered switches replicate: set `switching.model = \"central-buffer\"` or `\"input-buffer\"`",
                    );
                }
                (Itinerary::Path(path), Header::Tree) if path.stops.len() > 1 => {
                    return fail(
                        "switching.header",
                        "paths",
                        "have no tree header for several stops: use `header = \"all-destinations\"` or another",
                    );
                }
                (Itinerary::Tree(_), Header::AllDestinations) => {
                    return fail(
                        "switching.header",
                        "trees",
                        "cannot be told by a list of stops: use `header = \"tree\"` or another",
                    );
                }
                (Itinerary::Tree(tree), Header::Tree) if tree.trunk.is_some() && tree.header.is_empty() => {
                    return fail(
                        "switching.header",
                        "trees",
                        "have a trunk but no header that routers could decode: use `header = \"bit-string\"` or another",
                    );
                }
                (Itinerary::Tree(_), _) if config.virtual_channels > 1 => {
                    return fail(
                        "switching.virtual_channels",
                        "trees",
                        "the flit engine moves on one virtual channel only: set `virtual_channels = 1`",
                    );
                }
                (Itinerary::Tree(_), Header::Tree) if config.replication == Replication::Independent => {
                    return fail(
                        "switching.replication",
                        "trees",
                        "carry a tree header in lockstep only: set `replication = \"lockstep\"`",
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Tells the observer how the run ends.
    fn tell_of_the_end(&mut self, deadlock: bool) {
        let mut held = Vec::new();
        self.engine.each_held(&mut |channel| held.push(channel));
        let worms = if O::WAITS { self.engine.worms() } else { Vec::new() };
        let at = self.engine.now();
        let (recorder, observer) = self.engine.observer_mut();
        let window = (recorder.window.from, recorder.window.to);
        let link_flits = recorder.links.flits();
        observer.ended(&RunEnd { at, deadlock, held: &held, worms: &worms, window, link_flits });
    }

    fn result(mut self, seed: u64, deadlock: Option<Deadlock>, given_up: bool) -> RunResult {
        if O::END {
            self.tell_of_the_end(deadlock.is_some());
        }
        let scenario = self.scenario;
        let (cycles, flit_hops, engine) = (self.engine.now(), self.engine.flit_hops(), self.engine.name().to_owned());
        let (mut recorder, _) = self.engine.into_observer();
        let (latency, measured) = recorder.latency(scenario.cycle_ns);
        let window = recorder.window;
        let node_cycles = scenario.network.nodes() as f64 * (window.to - window.from).max(1) as f64;
        let load = |flits: u64| flits as f64 / node_cycles;
        let behind = recorder.behind(BACKLOG, self.slowest);
        // A window that closes before anything can have arrived says nothing, and that depends on its length.
        let trend = Recorder::trend(&latency).map(|trend| trend || behind.is_none());
        RunResult {
            seed,
            engine,
            cycles,
            warmup: if recorder.measures { window.from } else { cycles },
            messages: recorder.messages(measured),
            deliveries: recorder.deliveries,
            duplicates: recorder.duplicates,
            forwarded: recorder.forwarded,
            latency,
            offered_load: load(recorder.flits.offered),
            injected_load: load(recorder.flits.injected),
            accepted_load: load(recorder.flits.accepted),
            delivered_load: load(recorder.flits.delivered),
            saturated: behind == Some(true) || given_up,
            given_up: given_up && scenario.run.max_cycles.is_some_and(|most| cycles >= most),
            trend,
            window,
            links: recorder.links.result(),
            buffers: scenario.switch.and_then(|switch| recorder.buffers.result(&switch.storage(&scenario.network))),
            flit_hops,
            deadlock,
        }
    }
}
