//! Jobs from points, which do what the point's kind says: a scenario to simulate, plans to count, trees to build. Networks and algorithms are made once and shared.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use thiserror::Error;
use wormcast_multicast::{Algorithm, AlgorithmCache, Descriptor, Request, Sends};
use wormcast_network::{Network, TopologySpec, misleading_name};
use wormcast_routing::{TreeDescriptor, TreeError, UnknownName};
use wormcast_simulation::{
    ConfigError, EngineChoice, IdleSetting, Planning, Scenario, SimulationError, plan_messages, simulate,
    simulate_until,
};

use crate::experiment::Experiment;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::point::{Point, PointSpec};
use crate::runs::kind::{Asked, Kind};
use crate::runs::replication::Replication;
use crate::runs::run::Findings;
use crate::runs::tree_runs::{TreeRuns, chosen};
use crate::statistics::summary::PointSummary;

impl Experiment {
    /// What a single run does at a point of this experiment.
    ///
    /// # Errors
    /// If it would build trees, which only sweeps measure, the topology cannot be built, the algorithm is unknown or not defined for it, settings contradict each other, or the
    /// engine asked for cannot run this.
    pub fn job(&self, point: &Point) -> Result<Job, Diagnostic> {
        match point.spec.kind() {
            Kind::Simulated | Kind::Planned => self.job_of(point, point.spec.seed),
            Kind::Trees => Err(self.sends_nothing(point)),
        }
    }

    /// The job of a replication with this seed: a graph that is drawn at random and has no seed of its own is drawn with it.
    ///
    /// # Errors
    /// As [`job`](Self::job), but for trees.
    pub fn job_of(&self, point: &Point, seed: u64) -> Result<Job, Diagnostic> {
        JobMaker { seed: Some(seed), ..JobMaker::default() }.job(self, point)
    }

    fn sends_nothing(&self, point: &Point) -> Diagnostic {
        self.error_at(&point.choice, "run.mode", SendsNothing.to_string())
    }

    /// Why a point's run failed, with the place of the setting that is to blame; `None` if none is.
    pub fn explain(&self, point: &Point, error: &SimulationError) -> Option<Diagnostic> {
        error.setting().map(|key| self.error_at(&point.choice, self.to_blame(&point.choice, key), error.to_string()))
    }

    /// What to do at each of some points of this experiment. Points share the networks that they have in common.
    ///
    /// # Errors
    /// As [`job`](Self::job), for the first point that is wrong; and if a swept setting has a value outside of the sweep that it can never have.
    pub fn jobs(&self, points: &[Point]) -> Result<Vec<Job>, Diagnostic> {
        self.check_plain()?;
        let mut maker = JobMaker::default();
        points.iter().map(|point| maker.job(self, point)).collect()
    }

    /// Checks the points that a store has no results of, which might be because there can be none.
    ///
    /// # Errors
    /// As [`job`](Self::job), for the first such point that is wrong.
    pub fn check_missing(&self, findings: &Findings) -> Result<(), Diagnostic> {
        let mut maker = JobMaker::default();
        let missing = |(_, summary): &(_, &PointSummary)| summary.replications == 0;
        for (point, _) in self.points()?.iter().zip(&findings.summaries).filter(missing) {
            maker.job(self, point)?;
        }
        Ok(())
    }
}

/// The construction of trees of this name; what is an algorithm instead is called one.
pub(crate) fn construction_named(name: &str) -> Result<&'static TreeDescriptor, UnknownName> {
    TreeDescriptor::named(name).map_err(|unknown| {
        let instead = Descriptor::named(name).is_ok().then_some("an algorithm");
        UnknownName { instead, ..unknown }
    })
}

/// A graph with this seed, if it is one that is drawn at random and its text has no seed.
pub(crate) fn drawn_with(topology: &str, seed: u64) -> Option<TopologySpec> {
    match topology.parse() {
        Ok(TopologySpec::Graph(graph)) if !topology.contains("seed=") => graph.with_seed(seed).map(TopologySpec::Graph),
        _ => None,
    }
}

/// What is to be done at a point, checked and ready.
pub enum Job {
    /// To simulate.
    Simulate(Box<Scenario>),
    /// To plan.
    Plan(Box<Planning>),
    /// To build trees.
    Trees(TreeRuns),
}

impl Job {
    /// What is simulated, or would be if more was done than to plan.
    ///
    /// # Errors
    /// If trees are built.
    pub fn scenario(&self) -> Result<&Scenario, SendsNothing> {
        match self {
            Self::Simulate(scenario) => Ok(scenario),
            Self::Plan(planning) => Ok(planning.scenario()),
            Self::Trees(_) => Err(SendsNothing),
        }
    }

    /// What it does.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Simulate(_) => Kind::Simulated,
            Self::Plan(_) => Kind::Planned,
            Self::Trees(_) => Kind::Trees,
        }
    }

    /// What is left out of the message trace, as [`Scenario::trace_warning`] says.
    pub fn trace_warning(&self) -> Option<&str> {
        self.scenario().ok()?.trace_warning()
    }

    /// A name in its network that misleads, as [`misleading_name`] says, and why a file that its algorithm was made from may not be the whole of it.
    pub fn doubts(&self) -> impl Iterator<Item = String> {
        let scenario = self.scenario().ok();
        let name = scenario.and_then(|scenario| misleading_name(scenario.network()));
        let doubt = scenario.and_then(|scenario| scenario.algorithm().capabilities().doubt);
        name.into_iter().chain(doubt.map(str::to_owned))
    }

    /// The settings that would make no difference to what is done, as [`Experiment::idle_settings`] asks.
    pub fn idle_settings(&self) -> Vec<IdleSetting> {
        let of_scenario = self.scenario().map(Scenario::idle_settings).unwrap_or_default();
        let alike = matches!(self, Self::Trees(runs) if !runs.random);
        let of_trees = alike
            .then(|| IdleSetting { key: "run.messages", reason: "all sets of these trees are the same".to_owned() });
        self.kind().idle_settings().into_iter().chain(of_scenario).chain(of_trees).collect()
    }

    /// Does it once, with this seed, and with so many messages if it simulates. What is simulated ends early if `stop` says so.
    pub(crate) fn run(
        &self,
        engine: EngineChoice,
        seed: u64,
        messages: Option<u64>,
        stop: Option<&AtomicBool>,
    ) -> Result<Replication, JobError> {
        Ok(match self {
            Self::Simulate(scenario) => {
                let scenario = scenario.with_messages(messages);
                match stop {
                    None => simulate(&scenario, engine, seed),
                    Some(stop) => simulate_until(&scenario, engine, seed, stop),
                }?
                .into()
            }
            Self::Plan(planning) => Replication::Planned(plan_messages(planning, seed)?),
            Self::Trees(runs) => Replication::Trees(runs.run(seed).map_err(Box::new)?),
        })
    }
}

/// A job that has no scenario: it builds trees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("`run.mode`: `trees` builds trees and sends nothing: a sweep measures them")]
pub struct SendsNothing;

/// Why a replication has no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JobError {
    /// The simulation failed.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// There are no such trees.
    #[error(transparent)]
    Trees(#[from] Box<TreeError>),
    /// It was computed in another process, which says why.
    #[error("{0}")]
    Elsewhere(String),
}

/// Makes jobs, and keeps the networks and algorithms that they share.
#[derive(Default)]
struct JobMaker {
    /// The seed of the run, if one is made; else it is [`PointSpec::seed_of_check`].
    seed: Option<u64>,
    cache: AlgorithmCache,
}

impl JobMaker {
    fn seed_of(&self, spec: &PointSpec) -> u64 {
        self.seed.unwrap_or_else(|| spec.seed_of_check())
    }

    /// What the network of a point is called: one that is drawn, with its seed.
    fn network_name(&self, spec: &PointSpec) -> String {
        let drawn = drawn_with(&spec.topology, self.seed_of(spec));
        drawn.map_or_else(|| spec.topology.clone(), |drawn| drawn.to_string())
    }

    fn job(&mut self, experiment: &Experiment, point: &Point) -> Result<Job, Diagnostic> {
        let spec = &point.spec;
        let error = |key: &str, problem: String| experiment.error_at(&point.choice, key, problem);
        let refused =
            |problem: ConfigError| error(experiment.to_blame(&point.choice, &problem.key), problem.to_string());
        let asked = spec.asked().map_err(|(key, problem)| error(key, problem))?;
        let network = self.network(experiment, point)?;
        let (switching, timing) = (&spec.switching, &spec.timing);
        match asked {
            Asked::Simulated(run) => {
                let algorithm = self.algorithm(experiment, point, &network)?;
                let traffic = experiment.traffic(spec);
                let scenario = Scenario::new(algorithm, switching, timing, &traffic, &run).map_err(refused)?;
                spec.engine.check(&scenario).map_err(|problem| error("engine", problem.to_string()))?;
                // What fails for every multicast is said before any is sent.
                let sends = Descriptor::named(&spec.algorithm).ok().and_then(|descriptor| descriptor.sends);
                let always = |sends: &Sends| *sends == Sends::Encoded || traffic.has_only_wide_multicasts();
                let sent = sends.filter(always);
                if let Some(problem) = sent.and_then(|sends| scenario.refuses(sends)) {
                    let key = problem.setting().unwrap_or("switching");
                    return Err(error(experiment.to_blame(&point.choice, key), problem.to_string()));
                }
                Ok(Job::Simulate(Box::new(scenario)))
            }
            Asked::Planned { messages, ports } => {
                let algorithm = self.algorithm(experiment, point, &network)?;
                let (settings, traffic) = ((switching, timing), experiment.traffic(spec));
                let planning = Planning::new(algorithm, settings, &traffic, messages, ports);
                planning.map(|planning| Job::Plan(Box::new(planning))).map_err(refused)
            }
            Asked::Trees { sets, fault } => {
                let wrong = |problem: TreeError| error("algorithm", problem.to_string());
                let construction = construction_named(&spec.algorithm).map_err(|unknown| wrong(unknown.into()))?;
                let chosen = chosen(&network, construction, &spec.options);
                let options = chosen.map_err(|(option, problem)| error(option.key(), problem))?;
                TreeRuns::new(network, construction, options, sets, fault).map(Job::Trees).map_err(wrong)
            }
        }
    }

    fn network(&mut self, experiment: &Experiment, point: &Point) -> Result<Arc<Network>, Diagnostic> {
        let (text, seed) = (&point.spec.topology, self.seed_of(&point.spec));
        self.cache.network(&self.network_name(&point.spec), || {
            let spec = match drawn_with(text, seed) {
                Some(drawn) => drawn,
                None => experiment.topology(&point.choice, text)?,
            };
            spec.build().map_err(|problem| experiment.error_at(&point.choice, "topology", problem.to_string()))
        })
    }

    fn algorithm(
        &mut self,
        experiment: &Experiment,
        point: &Point,
        network: &Arc<Network>,
    ) -> Result<Arc<dyn Algorithm>, Diagnostic> {
        let request = point.spec.request(self.seed_of(&point.spec)).map(|request| {
            let options = request.options.with_files(|name| experiment.beside(name).display().to_string());
            Request { options, ..request }
        });
        let made = request.and_then(|request| self.cache.algorithm(&self.network_name(&point.spec), network, &request));
        made.map_err(|refused| {
            let key = experiment.to_blame(&point.choice, refused.part.key());
            // What the file says may be right for the network of the file.
            let other_network = refused.is_about_network() && experiment.is_overridden("topology");
            let key = if other_network && !experiment.is_overridden(key) { "topology" } else { key };
            experiment.error_at(&point.choice, key, refused.to_string())
        })
    }
}
