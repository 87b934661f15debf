//! The checked settings of one run.

use std::sync::Arc;

use thiserror::Error;
use wormcast_multicast::Algorithm;
use wormcast_network::{Bytes, MAX_NODE_PORTS, Network, TopologySpec, require_memory};

use crate::config::buffer::Buffer;
use crate::config::switching::{BranchReplication, BufferedSwitch, Switching, Wormhole};
use crate::config::{Mode, Run, Timing, Traffic, Warmup};
use crate::engine::EngineConfig;
use crate::switch::SwitchConfig;
use crate::traffic::CheckedTraffic;

/// More messages, or cycles of warm-up, than any run can simulate: surely a mistake.
const TOO_MANY: u64 = 1_000_000_000_001;

/// The most data flits of a message.
pub const MAX_LENGTH: u32 = 1 << 24;

/// Bytes of a run for each virtual channel and port, node, chunk of a buffered switch, and channel of one, as `tests/allocations.rs`
/// measures them.
const CHANNEL_BYTES: u64 = 24;
const NODE_BYTES: u64 = 104;
const CHUNK_BYTES: u64 = 32;
const SWITCH_CHANNEL_BYTES: u64 = 256;
/// Where virtual channels share links: of each virtual channel and port, and of each link and port, besides.
const STREAM_BYTES: u64 = 36;
const SHARED_LINK_BYTES: u64 = 44;

/// The most bytes of a flit.
pub(crate) const MAX_FLIT_BYTES: u32 = 1 << 16;

/// The longest cycle, in nanoseconds: a second.
const MAX_CYCLE_NS: f64 = 1e9;

/// The shortest: a femtosecond.
const MIN_CYCLE_NS: f64 = 1e-6;

/// The longest delay, in cycles.
pub(crate) const MAX_DELAY: u32 = 1 << 28;

/// Everything that a run depends on except its seed.
#[derive(Clone)]
pub struct Scenario {
    pub(crate) network: Arc<Network>,
    pub(crate) algorithm: Arc<dyn Algorithm>,
    /// Whether plans may have trees; a plan that has some all the same is refused.
    pub(crate) may_send_trees: bool,
    pub(crate) engine: EngineConfig,
    /// The configuration of buffered switches, if that is what switches.
    pub(crate) switch: Option<SwitchConfig>,
    pub(crate) cycle_ns: f64,
    pub(crate) traffic: CheckedTraffic,
    pub(crate) run: Run,
    pub(crate) mode: Mode,
}

/// Checks that the settings of a run are valid for its kind.
fn check_run(run: &Run, mode: Mode, traffic: &CheckedTraffic) -> Result<(), ConfigError> {
    let problem = match (run.messages, run.max_cycles) {
        (Some(0), _) => Some(("messages", "expected at least 1 message")),
        (_, Some(0)) => Some(("max_cycles", "expected at least 1 cycle")),
        _ if run.until.is_some() && mode != Mode::Drain => {
            Some(("until", "only `mode = \"drain\"` stops arrivals: leave it out, or use `messages` or `max_cycles`"))
        }
        _ if run.until.is_some() && run.messages.is_some() => {
            Some(("until", "says when arrivals stop, as `run.messages` does: give one of the two"))
        }
        _ if run.until == Some(0) => Some(("until", "expected at least 1 cycle")),
        _ if run.until.is_some_and(|cycles| cycles >= TOO_MANY) => {
            Some(("until", "expected at most 1000000000000 cycles"))
        }
        (Some(TOO_MANY..), _) => Some(("messages", "expected at most 1000000000000 messages")),
        _ if matches!(run.warmup, Warmup::Cycles(TOO_MANY..)) => {
            Some(("warmup", "expected at most 1000000000000 cycles"))
        }
        _ if matches!(run.warmup, Warmup::Messages(TOO_MANY..)) => {
            Some(("warmup", "expected at most 1000000000000 messages"))
        }
        _ => None,
    };
    if let Some((key, problem)) = problem {
        return Err(ConfigError { key: format!("run.{key}"), problem: problem.to_owned() });
    }
    if let (Mode::Steady, Warmup::Messages(before), Some((number, what))) = (mode, run.warmup, traffic.number())
        && before >= number.max(1)
    {
        let problem = format!("the {what} ends within the warm-up: expected fewer messages than its {number}");
        return Err(ConfigError { key: "run.warmup".to_owned(), problem });
    }
    if let (Mode::Steady, Warmup::Cycles(warmup), Some(most)) = (mode, run.warmup, run.max_cycles)
        && most <= warmup
    {
        let problem =
            format!("{most} cycles end within the warm-up: expected more than `run.warmup`, which is {warmup}");
        return Err(ConfigError { key: "run.max_cycles".to_owned(), problem });
    }
    Ok(())
}

/// A bound on the flits of a run's worms, header and data.
fn longest_worm(engine: &EngineConfig, traffic: &CheckedTraffic, network: &Network) -> u64 {
    let (length, destinations) = traffic.most(network.nodes());
    u64::from(length) + engine.header.most_flits(destinations, engine.header_flits)
}

/// An invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{key}`: {problem}")]
pub struct ConfigError {
    /// The setting's path in the experiment file, such as `traffic.arrivals.rate`.
    pub key: String,
    /// What is wrong with it and what would be right.
    pub problem: String,
}

impl Scenario {
    /// Checks the settings against each other and the network.
    ///
    /// # Errors
    /// The first setting that is invalid.
    pub fn new(
        algorithm: Arc<dyn Algorithm>,
        switching: &Switching,
        timing: &Timing,
        traffic: &Traffic,
        run: &Run,
    ) -> Result<Self, ConfigError> {
        let scenario = Self::checked(algorithm, switching, timing, traffic, run)?;
        scenario.require(scenario.memory())?;
        Ok(scenario)
    }

    /// As [`new`](Self::new), whatever memory it takes.
    pub(crate) fn checked(
        algorithm: Arc<dyn Algorithm>,
        switching: &Switching,
        timing: &Timing,
        traffic: &Traffic,
        run: &Run,
    ) -> Result<Self, ConfigError> {
        let network = Arc::clone(algorithm.network());
        // What buffered switches have in common with the others, or do not have at all.
        let wormhole = &match switching {
            Switching::Wormhole(wormhole) => wormhole.clone(),
            Switching::Buffered(buffered) => Wormhole {
                flit_bytes: Some(buffered.flit_bytes),
                injection_ports: Some(1),
                consumption_ports: Some(1),
                startup_mode: buffered.startup_mode,
                ..Wormhole::default()
            },
        };
        let wormhole = &wormhole.for_branching(algorithm.branching());
        if let Some(Buffer::Flits(flits)) = wormhole.buffer {
            within("switching.buffer", flits, 1, MAX_LENGTH)?;
        }
        within("switching.flit_bytes", switching.flit_bytes(), 1, MAX_FLIT_BYTES)?;
        within("switching.virtual_channels", wormhole.virtual_channels, 1, 64)?;
        let (needed, name) = algorithm.needed_virtual_channels();
        if matches!(switching, Switching::Buffered(_)) && needed > 1 {
            let problem = format!("`{name}` needs {needed} virtual channels, which buffered switches do not have");
            return Err(ConfigError { key: "switching.model".to_owned(), problem });
        }
        if wormhole.virtual_channels < u32::from(needed) {
            let problem = format!(
                "`{name}` needs {needed} virtual channels, but there {} {}",
                if wormhole.virtual_channels == 1 { "is" } else { "are" },
                wormhole.virtual_channels
            );
            return Err(ConfigError { key: "switching.virtual_channels".to_owned(), problem });
        }
        let ports = wormhole.ports(algorithm.capabilities().ports);
        within("switching.injection_ports", ports.injection, 1, MAX_NODE_PORTS)?;
        within("switching.consumption_ports", ports.consumption, 1, MAX_NODE_PORTS)?;
        let mut engine = EngineConfig { ports, ..EngineConfig::new(wormhole, timing, &network) };
        let may_send_trees = algorithm.may_send_trees();
        if !may_send_trees {
            // How branches are replicated makes no difference where nothing branches, nor to which engine is exact.
            engine.replication = BranchReplication::Lockstep;
        }
        let ports = u64::from(ports.injection + ports.consumption) * network.nodes() as u64;
        let channels = network.channels() as u64 * u64::from(wormhole.virtual_channels);
        if ports + channels > u64::from(u32::MAX / 2) {
            let problem = format!("{} would have {} channels, which is too many", network.name(), ports + channels);
            return Err(ConfigError { key: "switching".to_owned(), problem });
        }
        if let Some(flits) = wormhole.header_flits {
            if !wormhole.header.has_fixed_length() {
                let problem = "only `header = \"bit-string\"` has a fixed number of header flits".to_owned();
                return Err(ConfigError { key: "switching.header_flits".to_owned(), problem });
            }
            within("switching.header_flits", flits, 1, MAX_LENGTH)?;
        }
        if switching.startup_mode().is_some_and(|mode| timing.startup_mode.is_some_and(|other| other != mode)) {
            let problem = "contradicts `timing.startup_mode`: give one of the two".to_owned();
            return Err(ConfigError { key: "switching.startup_mode".to_owned(), problem });
        }
        within("timing.startup", timing.startup, 0, MAX_DELAY)?;
        within("timing.routing_delay", timing.routing_delay, 0, MAX_DELAY)?;
        within("timing.strip_delay", timing.strip_delay.unwrap_or(0), 0, MAX_DELAY)?;
        within("timing.receive_overhead", timing.receive_overhead, 0, MAX_DELAY)?;
        if let Some(problem) = engine.delay.problem(&network) {
            return Err(ConfigError { key: "timing.delay".to_owned(), problem });
        }
        check_cycle(timing.cycle_ns)?;
        if wormhole.header.strips_paths() && !network.has_one_node_each() {
            // A stop at the sender's own router would have nothing to strip.
            let problem = format!(
                "`all-destinations` is defined where every router has one node, which {} does not have; use `none` or `bit-string`",
                network.name()
            );
            return Err(ConfigError { key: "switching.header".to_owned(), problem });
        }
        let checked = CheckedTraffic::new(traffic, switching, timing, algorithm.as_ref())?;
        let mode = run.mode.unwrap_or(if traffic.ends() { Mode::Finite } else { Mode::Steady });
        debug_assert_eq!(checked.number().is_some(), traffic.ends());
        check_run(run, mode, &checked)?;
        if u64::from(engine.buffer) >= longest_worm(&engine, &checked, &network) {
            engine.buffer = Buffer::WHOLE;
        }
        let switch = match switching {
            Switching::Wormhole(_) => None,
            Switching::Buffered(buffered) => {
                let (longest, _) = checked.most(network.nodes());
                Some(checked_switch(buffered, timing, &network, longest.max(1))?)
            }
        };
        Ok(Self {
            network,
            algorithm,
            may_send_trees,
            engine,
            switch,
            cycle_ns: timing.cycle_ns,
            traffic: checked,
            run: run.clone(),
            mode,
        })
    }

    /// Checks that this many bytes are available.
    pub(crate) fn require(&self, bytes: u64) -> Result<(), ConfigError> {
        let fits = |available: u64| {
            // What a run takes grows with the network.
            let given: TopologySpec = self.network.name().parse().ok()?;
            let of = given.memory().filter(|&of| of > 0)?;
            let taken = |spec: &TopologySpec| {
                let scaled = u128::from(bytes) * u128::from(spec.memory()?) / u128::from(of);
                u64::try_from(scaled).ok()
            };
            let room = available / 10 * 9;
            let spec = given.largest_that(|spec| taken(spec).is_some_and(|bytes| bytes <= room))?;
            Some(format!("one on `{spec}` starts, with about {}", Bytes(taken(&spec)?)))
        };
        require_memory(format_args!("a run on {}", self.network.name()), bytes, fits)
            .map_err(|error| ConfigError { key: "topology".to_owned(), problem: error.to_string() })
    }

    /// The bytes of memory that a run takes before its first message, rounded up: for channels and nodes, buffers of switches, and the tables
    /// of the routing as far as messages fill them.
    pub fn memory(&self) -> u64 {
        let Self { network, engine, .. } = self;
        let ports = u64::from(engine.ports.injection + engine.ports.consumption) * network.nodes() as u64;
        let channels = network.channels() as u64 * u64::from(engine.virtual_channels) + ports;
        let chunk = |switch: SwitchConfig| (switch, u64::from(switch.chunk_flits.max(1)));
        let buffers = self.switch.map(chunk).map_or(0, |(switch, flits)| {
            let chunks = switch.storage(network).iter().map(|storage| storage.div_ceil(flits)).sum::<u64>();
            chunks * CHUNK_BYTES + channels * SWITCH_CHANNEL_BYTES
        });
        let lagging = if engine.delay.is_one() { 0 } else { channels * 4 + network.channels() as u64 * 8 };
        let shared = if engine.has_streams() {
            channels * STREAM_BYTES + (network.channels() as u64 + ports) * SHARED_LINK_BYTES + lagging
        } else {
            0
        };
        channels * CHANNEL_BYTES + network.nodes() as u64 * NODE_BYTES + shared + buffers + self.tables_memory()
    }

    /// The bytes of the tables of the routing, as far as messages fill them.
    pub(crate) fn tables_memory(&self) -> u64 {
        let routers = self.network.routers() as u64;
        let most = u64::from(self.traffic.most(self.network.nodes()).1);
        let before = if let Warmup::Messages(before) = self.run.warmup { before } else { 0 };
        let messages = self.run.messages.map(|count| count.saturating_add(before));
        let destinations = messages.map_or(routers, |count| count.saturating_mul(most));
        self.algorithm.routing().capabilities().target_bytes * destinations.min(routers)
    }

    /// Sets the number of [messages](Run::messages).
    #[must_use]
    pub fn with_messages(&self, messages: Option<u64>) -> Self {
        Self { run: Run { messages, ..self.run.clone() }, ..self.clone() }
    }

    /// The network.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// The algorithm that plans the messages.
    pub fn algorithm(&self) -> &dyn Algorithm {
        self.algorithm.as_ref()
    }

    /// The configuration of the wormhole engines; with buffered switches, the part that the two have in common.
    pub fn engine_config(&self) -> EngineConfig {
        self.engine
    }

    /// The configuration of the switch engine, with buffered switches.
    pub fn switch_config(&self) -> Option<SwitchConfig> {
        self.switch
    }

    /// How its runs end, and what of them is measured.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether its traffic comes to an end by itself: a trace, or a burst.
    pub fn ends(&self) -> bool {
        self.traffic.number().is_some()
    }

    /// Nanoseconds a cycle.
    pub fn cycle_ns(&self) -> f64 {
        self.cycle_ns
    }
}

/// Checks how long a cycle takes.
fn check_cycle(ns: f64) -> Result<(), ConfigError> {
    if (MIN_CYCLE_NS..=MAX_CYCLE_NS).contains(&ns) {
        return Ok(());
    }
    // Not with hundreds of zeros.
    let is_short = ns == 0.0 || (1e-9..1e16).contains(&ns.abs());
    let given = if is_short { ns.to_string() } else { format!("{ns:e}") };
    let problem = format!("{given} is out of range: expected {MIN_CYCLE_NS} to {MAX_CYCLE_NS} ns");
    Err(ConfigError { key: "timing.cycle_ns".to_owned(), problem })
}

/// Checks a number against its range.
fn within(key: &str, value: u32, least: u32, most: u32) -> Result<(), ConfigError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(ConfigError { key: key.to_owned(), problem: format!("{value} is out of range: expected {least} to {most}") })
}

/// Checks the settings of buffered switches, for messages of at most `longest` data flits.
fn checked_switch(
    buffered: &BufferedSwitch,
    timing: &Timing,
    network: &Network,
    longest: u32,
) -> Result<SwitchConfig, ConfigError> {
    within("switching.input_fifo", buffered.input_fifo, 1, MAX_LENGTH)?;
    within("switching.chunk_flits", buffered.chunk_flits, 1, MAX_LENGTH)?;
    within("switching.crossing_delay", buffered.crossing_delay, 1, MAX_DELAY)?;
    within("switching.header_flits", buffered.header_flits.unwrap_or(1), 1, MAX_LENGTH)?;
    within("switching.unicast_header_flits", buffered.unicast_header_flits.unwrap_or(0), 0, MAX_LENGTH)?;
    if !timing.delay.unwrap_or_default().on(network).is_one() {
        let problem = match timing.delay {
            Some(_) => {
                "links between buffered switches take one cycle: leave it out, or use `switching.model = \"wormhole\"`"
                    .to_owned()
            }
            None => format!(
                "links of {} take more than one cycle, which buffered switches do not have: set `delay = 1`, or use `switching.model = \"wormhole\"`",
                network.name()
            ),
        };
        return Err(ConfigError { key: "timing.delay".to_owned(), problem });
    }
    if timing.strip_delay.is_some() {
        let problem = "buffered switches strip no flits: leave it out".to_owned();
        return Err(ConfigError { key: "timing.strip_delay".to_owned(), problem });
    }
    let switch = SwitchConfig::new(buffered, timing, network, longest);
    let needed = SwitchConfig::new(&BufferedSwitch { max_packet: None, ..buffered.clone() }, timing, network, longest);
    within("switching.max_packet", switch.max_packet, needed.max_packet, MAX_LENGTH * 2)?;
    switch.check(network)?;
    Ok(switch)
}
