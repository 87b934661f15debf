//! The result of a run, by its kind; in stores and files all kinds have the form of a simulation's result.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wormcast_simulation::{Deadlock, LinkUse, Messages, Parts, PlanCosts, PlanResult, RunResult};

use crate::runs::kind::Kind;
use crate::runs::tree_runs::{TreeFigures, TreeResult};

/// The result of a replication.
#[derive(Clone, PartialEq, Debug)]
pub enum Replication {
    /// The result of a simulation.
    Simulated(Box<RunResult>),
    /// What plans cost.
    Planned(PlanResult),
    /// What sets of spanning trees are like.
    Trees(TreeResult),
}

impl Replication {
    /// What the run did.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Simulated(_) => Kind::Simulated,
            Self::Planned(_) => Kind::Planned,
            Self::Trees(_) => Kind::Trees,
        }
    }

    /// The seed of its random choices.
    pub fn seed(&self) -> u64 {
        match self {
            Self::Simulated(run) => run.seed,
            Self::Planned(plan) => plan.seed,
            Self::Trees(trees) => trees.seed,
        }
    }

    /// The result of a simulation; `None` if nothing was simulated.
    pub fn simulated(&self) -> Option<&RunResult> {
        match self {
            Self::Simulated(run) => Some(run),
            Self::Planned(_) | Self::Trees(_) => None,
        }
    }

    /// The deadlock that ended the run.
    pub fn deadlock(&self) -> Option<&Deadlock> {
        self.simulated()?.deadlock.as_ref()
    }

    /// Whether deliveries fell behind what messages asked for.
    pub fn is_saturated(&self) -> bool {
        self.simulated().is_some_and(|run| run.saturated)
    }
}

impl From<RunResult> for Replication {
    fn from(run: RunResult) -> Self {
        Self::Simulated(Box::new(run))
    }
}

/// Any result as a row of a store has it: of runs that are not simulated, everything that only simulations measure is zero.
#[derive(Serialize, Deserialize)]
struct Row {
    #[serde(flatten)]
    run: RunResult,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plan: Option<PlanCosts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trees: Option<TreeFigures>,
}

impl Row {
    fn without_time(seed: u64, engine: &str, messages: Messages) -> Self {
        let run = RunResult { seed, engine: engine.to_owned(), messages, ..RunResult::default() };
        Self { run, plan: None, trees: None }
    }
}

impl Replication {
    fn row(&self) -> Row {
        match self {
            Self::Simulated(run) => Row { run: RunResult::clone(run), plan: None, trees: None },
            Self::Planned(plan) => {
                let messages = Messages { generated: plan.messages, measured: plan.messages, ..Messages::default() };
                Row { plan: Some(plan.costs), ..Row::without_time(plan.seed, "plan", messages) }
            }
            Self::Trees(trees) => {
                let messages = Messages { measured: u64::from(trees.sets), ..Messages::default() };
                Row { trees: Some(trees.figures), ..Row::without_time(trees.seed, "trees", messages) }
            }
        }
    }
}

impl Serialize for Replication {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Simulated(run) => run.serialize(serializer),
            Self::Planned(_) | Self::Trees(_) => self.row().serialize(serializer),
        }
    }
}

/// A result as it is shown: what was not measured is null, where a [row of a store](Replication) has zero. Without a measured window there are no loads and no use of links, and
/// without a message that is measured there are no parts of a latency. It is for printing only: what is read back is the row.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a>(pub &'a Replication);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Which JSON shows as null.
        const NOTHING: f64 = f64::NAN;
        let mut row = self.0.row();
        let run = &mut row.run;
        let lasts = run.window.to > run.window.from;
        if !lasts {
            let LinkUse { busy, busiest, held, blocked } = &mut run.links;
            let loads =
                [&mut run.offered_load, &mut run.injected_load, &mut run.accepted_load, &mut run.delivered_load];
            for figure in loads.into_iter().chain([busy, busiest, held, blocked]) {
                *figure = NOTHING;
            }
        }
        if run.messages.measured == 0 || self.0.simulated().is_none() {
            let Parts { queueing, startup, network, blocking } = &mut run.latency.parts;
            for part in [queueing, startup, network, blocking] {
                *part = NOTHING;
            }
        }
        row.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Replication {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Row { run, plan, trees } = Row::deserialize(deserializer)?;
        let (seed, measured) = (run.seed, run.messages.measured);
        Ok(match (plan, trees) {
            (None, None) => run.into(),
            (Some(costs), _) => Self::Planned(PlanResult { seed, messages: measured, costs }),
            (None, Some(figures)) => {
                let sets = u32::try_from(measured).map_err(serde::de::Error::custom)?;
                Self::Trees(TreeResult { seed, sets, figures })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of runs without time, as they were written before kinds of runs had results of their own.
    const ROWS: [&str; 2] = [
        r#"{"seed":7,"engine":"plan","cycles":0,"warmup":0,"messages":{"generated":5,"delivered":0,"in_flight":0,"measured":5},"deliveries":0,"duplicates":0,"latency":{"last":{"mean":null,"mean_ns":null,"p50":null,"p95":null,"p99":null,"max":null},"mean":{"mean":null,"mean_ns":null,"p50":null,"p95":null,"p99":null,"max":null},"parts":{"queueing":0.0,"startup":0.0,"network":0.0,"blocking":0.0}},"offered_load":0.0,"injected_load":0.0,"accepted_load":0.0,"delivered_load":0.0,"saturated":false,"trend":null,"window":{"from":0,"to":0,"generated":0,"completed":0,"offered":0,"delivered":0},"links":{"busy":0.0,"busiest":0.0,"held":0.0,"blocked":0.0},"flit_hops":0,"deadlock":null,"plan":{"steps":2.5,"startups":4,"mean_startups":0.3125,"channels":11.2,"contention":0.1}}"#,
        r#"{"seed":9,"engine":"trees","cycles":0,"warmup":0,"messages":{"generated":0,"delivered":0,"in_flight":0,"measured":3},"deliveries":0,"duplicates":0,"latency":{"last":{"mean":null,"mean_ns":null,"p50":null,"p95":null,"p99":null,"max":null},"mean":{"mean":null,"mean_ns":null,"p50":null,"p95":null,"p99":null,"max":null},"parts":{"queueing":0.0,"startup":0.0,"network":0.0,"blocking":0.0}},"offered_load":0.0,"injected_load":0.0,"accepted_load":0.0,"delivered_load":0.0,"saturated":false,"trend":null,"window":{"from":0,"to":0,"generated":0,"completed":0,"offered":0,"delivered":0},"links":{"busy":0.0,"busiest":0.0,"held":0.0,"blocked":0.0},"flit_hops":0,"deadlock":null,"trees":{"side":4.0,"trees":2.0,"diameter":7.0,"least_diameter":7.0,"largest_diameter":7.0,"average_distance":3.1,"unused":2.0,"disjoint":1.0,"binary":1.0}}"#,
    ];

    #[test]
    fn rows_of_runs_without_time_come_back_and_stay_as_they_are() {
        for (row, kind) in ROWS.into_iter().zip([Kind::Planned, Kind::Trees]) {
            let replication: Replication = serde_json::from_str(row).unwrap();
            assert_eq!((replication.kind(), replication.simulated()), (kind, None));
            assert_eq!(serde_json::to_string(&replication).unwrap(), row);
        }
    }
}
