//! Scenarios from points: networks and algorithms made once and shared.

use std::sync::Arc;

use thiserror::Error;
use wormcast_multicast::{Algorithm, Made};
use wormcast_network::{Network, TopologySpec};
use wormcast_routing::{TreeDescriptor, TreeError};
use wormcast_simulation::{
    EngineChoice, IdleSetting, Mode, RunResult, Scenario, SimulationError, Traffic, Warmup, simulate,
};

use crate::diagnostic::Diagnostic;
use crate::experiment::Experiment;
use crate::file::Engine;
use crate::point::Point;
use crate::tree_runs::TreeRuns;

impl Experiment {
    /// What to simulate at a point of this experiment.
    ///
    /// # Errors
    /// If the topology cannot be built, the algorithm is unknown or not defined for it, settings contradict each other, or the
    /// engine asked for cannot run this.
    pub fn scenario(&self, point: &Point) -> Result<Scenario, Diagnostic> {
        self.scenario_of(point, point.spec.seed)
    }

    /// The same in a run with this seed: a graph that is drawn at random and has no seed of its own is drawn with it.
    ///
    /// # Errors
    /// As [`scenario`](Self::scenario).
    pub fn scenario_of(&self, point: &Point, seed: u64) -> Result<Scenario, Diagnostic> {
        Workshop { seed: Some(seed), ..Workshop::default() }.scenario(self, point)
    }

    /// Why a point's run failed, with the place of the setting that is to blame; `None` if none is.
    pub fn explain(&self, point: &Point, error: &SimulationError) -> Option<Diagnostic> {
        error.setting().map(|key| self.error_at(&point.choice, self.to_blame(&point.choice, key), error.to_string()))
    }

    /// What to do at each of some points of this experiment. Points share the networks that they have in common.
    ///
    /// # Errors
    /// As [`scenario`](Self::scenario), for the first point that is wrong.
    pub fn jobs(&self, points: &[Point]) -> Result<Vec<Job>, Diagnostic> {
        let mut workshop = Workshop::default();
        points.iter().map(|point| workshop.job(self, point)).collect()
    }

    /// What to do at a point in a run with this seed, as [`scenario_of`](Self::scenario_of).
    pub(crate) fn job_of(&self, point: &Point, seed: u64) -> Result<Job, Diagnostic> {
        Workshop { seed: Some(seed), ..Workshop::default() }.job(self, point)
    }
}

/// A graph with this seed, if it is one that is drawn at random and its text has no seed.
pub(crate) fn drawn_with(topology: &str, seed: u64) -> Option<TopologySpec> {
    match topology.parse() {
        Ok(TopologySpec::Graph(graph)) if !topology.contains("seed=") => graph.with_seed(seed).map(TopologySpec::Graph),
        _ => None,
    }
}

/// What is to be done at a point, checked and ready.
pub struct Job(Work);

enum Work {
    /// To simulate, or to plan.
    Simulate(Box<Scenario>),
    /// To build trees.
    Trees(TreeRuns),
}

impl Job {
    /// What is simulated or planned; `None` if trees are built.
    pub fn scenario(&self) -> Option<&Scenario> {
        match &self.0 {
            Work::Simulate(scenario) => Some(scenario),
            Work::Trees(_) => None,
        }
    }

    /// What is left out of the message trace, as [`Scenario::trace_warning`] says.
    pub fn trace_warning(&self) -> Option<&str> {
        match &self.0 {
            Work::Simulate(scenario) => scenario.trace_warning(),
            Work::Trees(_) => None,
        }
    }

    /// The settings that would make no difference to what is done, as [`Experiment::idle_settings`] asks.
    pub fn idle_settings(&self) -> Vec<IdleSetting> {
        match &self.0 {
            Work::Simulate(scenario) => scenario.idle_settings(),
            Work::Trees(_) => {
                let idle = |key| IdleSetting { key, reason: "`mode = \"trees\"` sends nothing".to_owned() };
                ["switching", "timing"].map(idle).into()
            }
        }
    }

    /// Does it once, with this seed, and with so many messages if it simulates.
    pub(crate) fn run(&self, engine: EngineChoice, seed: u64, messages: Option<u64>) -> Result<RunResult, JobError> {
        match &self.0 {
            Work::Simulate(scenario) => Ok(simulate(&scenario.with_messages(messages), engine, seed)?),
            Work::Trees(runs) => Ok(runs.run(seed).map_err(Box::new)?),
        }
    }
}

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
}

/// What is made already.
#[derive(Default)]
struct Workshop {
    /// The seed of graphs that have none; 0 where it does not matter yet.
    seed: Option<u64>,
    made: Made,
}

impl Workshop {
    fn job(&mut self, experiment: &Experiment, point: &Point) -> Result<Job, Diagnostic> {
        let spec = &point.spec;
        if spec.run.mode != Some(Mode::Trees) {
            return self.scenario(experiment, point).map(|scenario| Job(Work::Simulate(Box::new(scenario))));
        }
        let error = |key: &str, problem: String| Err(experiment.error_at(&point.choice, key, problem));
        let ignored = [
            ("run.max_cycles", spec.run.max_cycles.is_some()),
            ("run.ports", spec.run.ports.is_some()),
            ("run.warmup", spec.run.warmup != Warmup::Auto),
            ("routing", spec.routing.is_some()),
            ("engine", spec.engine != Engine::Auto),
            ("traffic", spec.traffic != Traffic::default()),
        ];
        if let Some((key, _)) = ignored.iter().find(|(_, given)| *given) {
            return error(key, format!("`{key}`: `mode = \"trees\"` sends nothing: leave it out"));
        }
        let Some(sets) = u32::try_from(spec.run.messages.unwrap_or(1)).ok().filter(|&sets| sets > 0) else {
            return error("run.messages", format!("`run.messages`: expected 1 to {} sets of trees", u32::MAX));
        };
        let network = self.network(experiment, point)?;
        if !spec.faults.links.is_empty() || spec.faults.random > 1 {
            return error(
                "faults",
                "`faults`: `mode = \"trees\"` draws one failed link for each set, `random = 1`, or none".to_owned(),
            );
        }
        let fault = (spec.faults.random == 1).then_some(spec.faults.information);
        let construction = TreeDescriptor::named(&spec.algorithm).map_err(TreeError::from);
        match construction.and_then(|construction| TreeRuns::new(network, construction, sets, fault)) {
            Ok(runs) => Ok(Job(Work::Trees(runs))),
            Err(problem) => error("algorithm", problem.to_string()),
        }
    }

    fn scenario(&mut self, experiment: &Experiment, point: &Point) -> Result<Scenario, Diagnostic> {
        let spec = &point.spec;
        let network = self.network(experiment, point)?;
        let algorithm = self.algorithm(experiment, point, &network)?;
        let mut traffic = spec.traffic.clone();
        if let Some(trace) = &mut traffic.trace {
            *trace = experiment.beside(trace).display().to_string();
        }
        let scenario =
            Scenario::new(algorithm, &spec.switching, &spec.timing, &traffic, &spec.run).map_err(|problem| {
                let key = experiment.to_blame(&point.choice, &problem.key);
                experiment.error_at(&point.choice, key, problem.to_string())
            })?;
        match EngineChoice::from(spec.engine).check(&scenario) {
            Ok(()) => Ok(scenario),
            Err(problem) => Err(experiment.error_at(&point.choice, "engine", problem.to_string())),
        }
    }

    fn network(&mut self, experiment: &Experiment, point: &Point) -> Result<Arc<Network>, Diagnostic> {
        let (text, seed) = (&point.spec.topology, self.seed.unwrap_or(0));
        self.made.network(text, || {
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
        let made =
            point.spec.request().and_then(|request| self.made.algorithm(&point.spec.topology, network, &request));
        made.map_err(|refused| experiment.error_at(&point.choice, refused.part.key(), refused.to_string()))
    }
}
