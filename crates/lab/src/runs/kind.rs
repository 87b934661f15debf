//! The kinds of runs: what is asked of a point, by its kind, and what a kind cannot use.
//!
//! | type | what it is |
//! |---|---|
//! | [`RunTable`] | `[run]` as files spell it, all keys of all kinds |
//! | [`RunMode`] | `run.mode` as files spell it: simulations have three |
//! | [`Kind`] | what that comes to: simulate, plan, or build trees |
//! | [`Asked`] | a kind with just the settings that it takes, checked |

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wormcast_multicast::{FaultInformation, PortModel};
use wormcast_simulation::{EngineChoice, IdleSetting, Traffic, Warmup};

use crate::experiment::point::PointSpec;
use crate::statistics::quantity::Quantity;

/// When a run ends and what of it is measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Run")]
#[serde(deny_unknown_fields, default)]
pub struct RunTable {
    /// The kind of run; a trace or a single burst is finite by default, everything else steady.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<RunMode>,
    /// Steady: cycles before the first measured message is generated; or the messages that come before it, `{ messages = 10000 }`; or
    /// `"auto"`: half as many messages as are measured (none with traffic that comes to an end).
    pub warmup: Warmup,
    /// Steady: messages measured after warm-up; in a sweep at least, windows grow where means depend on them. Finite: messages delivered until the run ends. Drain:
    /// messages generated, all of which are measured. Plan: messages planned. Trees: sets of trees, default 1. Finite, drain and plan by default all of a trace or of a single burst.
    /// Otherwise the default is 20 messages a node, but 2,000 to 100,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub messages: Option<u64>,
    /// Drain: cycles in which messages are generated, in the place of `messages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Cycles after which a run is given up as saturated. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cycles: Option<u64>,
    /// Plan: how many worms a node sends in one step. Default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<PortModel>,
}

impl Default for RunTable {
    fn default() -> Self {
        Self { mode: None, warmup: Warmup::Auto, messages: None, until: None, max_cycles: None, ports: None }
    }
}

/// The kind of run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Mode")]
#[serde(rename_all = "kebab-case")]
pub enum RunMode {
    /// Warm-up, measured messages, then arrivals go on until those are delivered.
    Steady,
    /// From an empty network until a number of messages is delivered; those that are still in flight are not measured.
    Finite,
    /// From an empty network until a number of messages is generated, or for some cycles; then arrivals stop, and all are delivered and measured.
    Drain,
    /// No time at all: messages are planned, and their plans' steps, startups and channels counted.
    Plan,
    /// No messages either: `algorithm` names a construction of edge-disjoint spanning trees, and `messages` sets of trees are built and
    /// measured, one where nothing is random.
    Trees,
}

impl RunMode {
    /// How simulated runs end; `None` of others.
    fn simulated(self) -> Option<wormcast_simulation::Mode> {
        match self {
            Self::Steady => Some(wormcast_simulation::Mode::Steady),
            Self::Finite => Some(wormcast_simulation::Mode::Finite),
            Self::Drain => Some(wormcast_simulation::Mode::Drain),
            Self::Plan | Self::Trees => None,
        }
    }
}

/// What runs do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Simulate messages.
    Simulated,
    /// Plan messages, and send none.
    Planned,
    /// Build edge-disjoint spanning trees.
    Trees,
}

/// What is asked of a point, with the settings that its kind has beside network, algorithm and traffic.
pub(crate) enum Asked {
    /// To simulate, until so much has happened.
    Simulated(wormcast_simulation::Run),
    /// To plan so many messages, on nodes with these ports.
    Planned { messages: Option<u64>, ports: PortModel },
    /// To build so many sets of trees; who knows of the link that fails in each, if one does.
    Trees { sets: u32, fault: Option<FaultInformation> },
}

/// A setting that a kind of run refuses: its path, and what is wrong with it.
pub(crate) type Refusal = (&'static str, String);

impl Kind {
    /// The kind of runs in a mode, which are simulated where nothing is said.
    pub(crate) fn of(mode: Option<RunMode>) -> Self {
        match mode {
            None | Some(RunMode::Steady | RunMode::Finite | RunMode::Drain) => Self::Simulated,
            Some(RunMode::Plan) => Self::Planned,
            Some(RunMode::Trees) => Self::Trees,
        }
    }

    /// What has to become precise, and is plotted unless a file says otherwise.
    pub const fn decisive(self) -> Quantity {
        match self {
            Self::Simulated => Quantity::LatencyLast,
            Self::Planned => Quantity::PlanSteps,
            Self::Trees => Quantity::TreesDiameter,
        }
    }

    /// The settings that such runs refuse, and why.
    const fn refused(self) -> (&'static [&'static str], &'static str) {
        match self {
            Self::Simulated => (
                &["run.ports"],
                "only `mode = \"plan\"` counts steps; in time, `switching.injection_ports` says how many",
            ),
            Self::Planned => {
                (&["run.max_cycles", "run.until", "run.warmup"], "`mode = \"plan\"` knows no time: leave it out")
            }
            Self::Trees => (
                &["run.max_cycles", "run.ports", "run.until", "run.warmup", "routing", "engine", "traffic"],
                "`mode = \"trees\"` sends nothing: leave it out",
            ),
        }
    }

    /// The settings that make no difference to such runs, whatever they say.
    pub(crate) fn idle_settings(self) -> Vec<IdleSetting> {
        let (keys, reason): (&[&'static str], _) = match self {
            Self::Simulated => (&[], ""),
            Self::Planned => (&["switching", "timing", "traffic.length"], "`mode = \"plan\"` knows no time"),
            Self::Trees => (&["switching", "timing"], "`mode = \"trees\"` sends nothing"),
        };
        keys.iter().map(|&key| IdleSetting { key, reason: reason.to_owned() }).collect()
    }
}

impl PointSpec {
    /// What its runs do.
    pub fn kind(&self) -> Kind {
        Kind::of(self.run.mode)
    }

    /// What is asked of its runs.
    ///
    /// # Errors
    /// If a setting is given that makes no sense for their kind.
    pub(crate) fn asked(&self) -> Result<Asked, Refusal> {
        let kind = self.kind();
        let RunTable { mode, warmup, messages, until, max_cycles, ports } = self.run;
        let given = |key: &str| match key {
            "run.max_cycles" => max_cycles.is_some(),
            "run.until" => until.is_some(),
            "run.ports" => ports.is_some(),
            "run.warmup" => warmup != Warmup::Auto,
            "routing" => self.routing.is_some(),
            "engine" => self.engine != EngineChoice::Auto,
            _ => self.traffic != Traffic::default(),
        };
        let (refused, reason) = kind.refused();
        if let Some(key) = refused.iter().find(|key| given(key)) {
            return Err((key, format!("`{key}`: {reason}")));
        }
        match kind {
            Kind::Simulated => {
                let mode = mode.and_then(RunMode::simulated);
                Ok(Asked::Simulated(wormcast_simulation::Run { mode, warmup, messages, until, max_cycles }))
            }
            Kind::Planned if given("engine") => {
                Err(("engine", "a run with `mode = \"plan\"` has no engine: leave `engine` out".to_owned()))
            }
            Kind::Planned => Ok(Asked::Planned { messages, ports: ports.unwrap_or_default() }),
            Kind::Trees => {
                let Some(sets) = u32::try_from(messages.unwrap_or(1)).ok().filter(|&sets| sets > 0) else {
                    return Err(("run.messages", format!("`run.messages`: expected 1 to {} sets of trees", u32::MAX)));
                };
                if self.root.is_some() {
                    let problem = "with `mode = \"trees\"`, `options.first` says where trees begin: leave it out";
                    return Err(("root", format!("`root`: {problem}")));
                }
                if !self.faults.links.is_empty() || self.faults.random > 1 {
                    let problem = "draws one failed link for each set, `random = 1`, or none";
                    return Err(("faults", format!("`faults`: `mode = \"trees\"` {problem}")));
                }
                Ok(Asked::Trees { sets, fault: (self.faults.random == 1).then_some(self.faults.information) })
            }
        }
    }
}
