//! A small run on a page, recorded for it, which readers can play.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::Cursor;

use crate::failure::Failure;
use crate::lab::report::{Page, Player};
use crate::lab::{Experiment, Findings, Job, Outcome, Point};
use crate::network::ChannelSpace;
use crate::network::input::input_name;
use crate::program;
use crate::serve::{SCRIPT, STYLE};
use crate::simulation::{Generated, Observer, Replay, ReplayFile, ReplayRun, replay_settings, simulate_observed};

/// The messages of the run, and the most routers of its network: the page stays small.
const MESSAGES: u64 = 200;
const ROUTERS: usize = 1024;

/// The point that is played, and what it is of the sweep: of the first series, the middle of the values along the curve, which ends where
/// `is_on_curve` does.
fn middle(experiment: &Experiment, is_on_curve: impl Fn(&Point) -> bool) -> Option<(Point, &'static str)> {
    let mut points = experiment.points().ok()?;
    let first = points.first()?.clone();
    let Some(along) = experiment.figure().and_then(|figure| figure.along) else { return Some((first, "")) };
    let others = |point: &Point| {
        point
            .coordinates
            .iter()
            .all(|at| at.key == along || first.coordinate(&at.key).is_some_and(|of| of.value == at.value))
    };
    points.retain(others);
    // Where all of it is saturated or in a deadlock, the first point shows that as well.
    let end = points.iter().position(|point| !is_on_curve(point)).unwrap_or(points.len());
    points.truncate(end.max(1));
    let place = points.len() / 2;
    let what = if points.len() > 2 { ", the middle of its curve" } else { "" };
    Some((points.swap_remove(place), what))
}

/// The page with the first messages of the first run of these experiments that is simulated, if one is of a network that is not too large.
pub(super) fn with_small_run<'e>(
    page: Page,
    experiments: impl IntoIterator<Item = (&'e Experiment, &'e Findings)>,
) -> Result<Page, Failure> {
    for (experiment, findings) in experiments {
        let ends_a_curve = |outcome: Outcome| matches!(outcome, Outcome::Saturated | Outcome::Deadlocked);
        let past: BTreeSet<&str> = findings
            .summaries
            .iter()
            .filter(|summary| ends_a_curve(summary.outcome))
            .map(|summary| summary.config_hash.as_str())
            .collect();
        let is_on_curve = |point: &Point| !past.contains(point.spec.config_hash().as_str());
        let Some((point, what)) = middle(experiment, is_on_curve) else { continue };
        let Ok(Job::Simulate(scenario)) = experiment.job(&point) else { continue };
        let network = scenario.network();
        if network.routers() > ROUTERS {
            continue;
        }
        let space = ChannelSpace::new(network, scenario.engine_config().ports);
        let mut observer = (Replay::new(network, space, Vec::new()), First(Cell::new(0)));
        // What cannot be run is told where it was tried.
        let Ok(result) = simulate_observed(&scenario, point.spec.engine, point.spec.seed, &mut observer) else {
            continue;
        };
        let (topology, algorithm) = (input_name(&point.spec.topology), &point.spec.algorithm);
        let title = format!("{algorithm} on {topology}");
        let run = ReplayRun {
            program: &format!("wormcast {}", program::version()),
            title: &title,
            topology,
            algorithm,
            settings: &replay_settings(&scenario, &result.engine, point.spec.seed),
            deadlock: result.deadlock.as_ref(),
            interrupted: false,
        };
        let file = observer.0.finish(&run)?;
        let mut replay = ReplayFile::open(Cursor::new(file)).map_err(Failure::failed)?;
        let messages = match observer.1.0.get() {
            1 => "The only message".to_owned(),
            more @ ..=MESSAGES => format!("All {more} messages"),
            _ => format!("The first {MESSAGES} messages"),
        };
        let label = point.label();
        let at = if label.is_empty() { String::new() } else { format!(" ({label}{what})") };
        let caption = format!(
            "{messages} of {title}{at}, seed {}. `simulate --replay` records whole runs, and `serve` plays them.",
            point.spec.seed
        );
        let player = Player { script: SCRIPT, style: STYLE };
        return page.with_replay(player, "A run, to be played", &caption, &mut replay).map_err(Failure::failed);
    }
    Ok(page)
}

/// Ends a run after its first messages.
struct First(Cell<u64>);

impl Observer for First {
    fn generated(&mut self, message: &Generated<'_>) {
        self.0.set(message.message + 1);
    }

    fn done(&self) -> bool {
        self.0.get() > MESSAGES
    }
}
