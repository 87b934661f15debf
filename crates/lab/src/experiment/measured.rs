//! Which quantities the runs of an experiment measure, as far as that is known before them.

use wormcast_simulation::{Switching, Traffic};

use super::Experiment;
use crate::experiment::axis::Axis;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::document::Document;
use crate::statistics::quantity::Quantity;

/// What runs of an experiment may have that others have not: its points may differ in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MayHave {
    /// Any kind of run.
    any_mode: bool,
    /// Buffered switches.
    buffers: bool,
    /// Messages to one destination, and messages to several.
    both_kinds: bool,
}

impl MayHave {
    /// With these swept settings, and the switchings that there are beside what is swept; all others as at the first point.
    pub(super) fn of(axes: &[Axis], switchings: &[Switching], traffic: &Traffic) -> Self {
        let swept = |table: &str, settings: &[&str]| {
            let of_table = |path: &[String]| match path {
                [only] => only == table,
                [first, second, ..] => first == table && settings.contains(&second.as_str()),
                [] => false,
            };
            axes.iter().any(|axis| of_table(&axis.path))
        };
        Self {
            any_mode: swept("run", &["mode"]),
            buffers: swept("switching", &["model"])
                || switchings.iter().any(|switching| matches!(switching, Switching::Buffered(_))),
            both_kinds: swept("traffic", &["multicast", "trace"]) || traffic.may_be_mixed(),
        }
    }
}

/// What to do about quantities of messages of one of two kinds.
pub(crate) const ONE_KIND: &str = "all messages are of one kind here: mix unicasts and multicasts by `traffic.multicast.fraction`, or take the latency of all";

fn not_measured(quantity: Quantity) -> String {
    format!("`{}` is not measured in this experiment", quantity.name())
}

impl Experiment {
    /// Whether its runs measure a quantity at all: those that only plan, or build trees, measure nothing else.
    pub(crate) fn may_measure(&self, quantity: Quantity) -> bool {
        (self.may_have.any_mode || quantity.kind() == self.kind)
            && match quantity {
                Quantity::BufferOccupancy => self.may_have.buffers,
                Quantity::LatencyUnicast | Quantity::LatencyMulticast => self.may_have.both_kinds,
                _ => true,
            }
    }

    /// Whether a quantity is missing because all messages are of one kind.
    pub(crate) fn is_of_one_kind(&self, quantity: Quantity) -> bool {
        let of_both = matches!(quantity, Quantity::LatencyUnicast | Quantity::LatencyMulticast);
        of_both && !self.may_have.both_kinds && (self.may_have.any_mode || quantity.kind() == self.kind)
    }

    /// Checks that its runs measure what is plotted and claimed, as far as that is known before them.
    ///
    /// # Errors
    /// If one of these quantities is not measured, with its place.
    pub fn check_measured(&self) -> Result<(), Diagnostic> {
        let (tree, _) = self.document.tree()?;
        let plotted = self.quantities().into_iter().map(|quantity| ("plot.y".to_owned(), quantity));
        let along = self.plot.x.as_deref().filter(|x| !self.axes.iter().any(|axis| axis.key == *x));
        let along = along.and_then(Quantity::named).map(|quantity| ("plot.x".to_owned(), quantity));
        let claimed = self.claims.iter().enumerate().flat_map(|(index, claim)| {
            [("y", claim.y), (if claim.gap.is_some() { "gap.over" } else { "order.over" }, claim.over())]
                .into_iter()
                .filter_map(move |(key, quantity)| Some((format!("claim.{index}.{key}"), quantity?)))
        });
        let mut all = plotted.chain(along).chain(claimed);
        let Some((key, quantity)) = all.find(|&(_, quantity)| !self.may_measure(quantity)) else { return Ok(()) };
        let fits = |other: &Quantity| self.may_measure(*other) && (key != "plot.x" || other.is_load());
        let measured = Quantity::ALL.iter().map(|&(_, other)| other).filter(fits).map(Quantity::name);
        let problem = self.document.error(Document::place(&tree, &key), not_measured(quantity));
        // The horizontal axis may be what is swept.
        let mut expected: Vec<&str> = measured.collect();
        if key == "plot.x" {
            expected.extend(self.axes.iter().map(|axis| axis.key.as_str()));
        }
        Err(self.with_measured(problem, quantity, expected))
    }

    /// Checks that its runs measure a quantity, which may be one that the experiment does not plot, as far as that is known before them.
    ///
    /// # Errors
    /// If it is not measured.
    pub fn check_quantity(&self, quantity: Quantity) -> Result<(), Diagnostic> {
        if self.may_measure(quantity) {
            return Ok(());
        }
        let measured = Quantity::ALL.iter().map(|&(_, other)| other).filter(|&other| self.may_measure(other));
        let problem = Diagnostic::file(self.path(), not_measured(quantity));
        Err(self.with_measured(problem, quantity, measured.map(Quantity::name).collect()))
    }

    /// Adds to the error for a quantity that is not measured what to do about it, or what was expected.
    fn with_measured(&self, problem: Diagnostic, quantity: Quantity, expected: Vec<&str>) -> Diagnostic {
        if self.is_of_one_kind(quantity) {
            return problem.with_help(Some(ONE_KIND.to_owned()));
        }
        problem.expecting(quantity.name(), expected)
    }
}
