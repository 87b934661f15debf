//! Sweeps: those that go on, started and stopped by the page, and what stores have of others.

use std::collections::HashMap;
use std::fs::Metadata;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use axum::extract::State as Extracted;
use serde::{Deserialize, Serialize};
use wormcast_lab::{
    ClaimVerdict, Experiment, Findings, Origin, Outcome, Part, Runner, Status, StoppableThreads, Store, SweepObserver,
    Verdict, origins, run_sweep_with, stored_sweep,
};

use super::experiment::{Field, Takes, body, read};
use super::{Body, Given, Shared, State, answer};
use crate::answer::{Json, Refusal};
use crate::folder::Kind;
use crate::work::Stop;

/// The most sweeps at once, and of how many that have ended is told.
const AT_ONCE: usize = 2;
const TOLD: usize = 32;
/// Of how many pairs of an experiment and a store is kept what the store has.
const KEPT: usize = 512;
/// Why a sweep ends that somebody stops.
const ASKED: &str = "it was stopped";
/// For how long a sweep of another process is said to go on after it was last seen to.
const LATELY: Duration = Duration::from_secs(20);

/// A sweep: one that goes on, or what a store has of an experiment.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Sweep {
    id: String,
    experiment: String,
    store: String,
    title: String,
    state: &'static str,
    points_done: usize,
    points: usize,
    replications_done: u64,
    replications: u64,
    seconds: u64,
    seconds_left: Option<u64>,
    error: Option<String>,
    claims: Vec<Claim>,
    origins: Vec<Made>,
}

#[derive(Clone, Debug, Serialize)]
struct Claim {
    id: String,
    /// Its sentence; if there are several, each with its verdict.
    text: String,
    verdict: Verdict,
    parts: Vec<Sentence>,
}

/// A sentence of a claim.
#[derive(Clone, Debug, Serialize)]
struct Sentence {
    text: String,
    verdict: Verdict,
    because: String,
    /// Whether it has to hold for the claim to be judged at all.
    control: bool,
    /// Whether it is what would be right in the place of an error in print.
    correction: bool,
}

/// Where results come from.
#[derive(Clone, Debug, Serialize)]
struct Made {
    version: String,
    commit: String,
    machine: String,
    /// When the first and the last replication was done, in seconds since 1970.
    first: u64,
    when: u64,
    seed: Option<u64>,
    replications: u64,
    computing_seconds: f64,
}

impl Sweep {
    fn new(id: String, experiment: &str, store: &str, state: &'static str) -> Self {
        Self {
            id,
            experiment: experiment.to_owned(),
            store: store.to_owned(),
            title: String::new(),
            state,
            points_done: 0,
            points: 0,
            replications_done: 0,
            replications: 0,
            seconds: 0,
            seconds_left: None,
            error: None,
            claims: Vec::new(),
            origins: Vec::new(),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Adds what was found, and where it comes from.
    fn found(&mut self, findings: &Findings, origins: Vec<Origin>) {
        let part = |part: &Part| format!("{}: {}", part.text.trim_end_matches('.'), part.verdict);
        let text = |verdict: &ClaimVerdict| match &verdict.evidence[..] {
            [one] => one.text.trim_end_matches('.').to_owned(),
            several => several.iter().map(part).collect::<Vec<_>>().join("; "),
        };
        let sentence = |part: &Part| Sentence {
            text: part.text.clone(),
            verdict: part.verdict,
            because: part.because.clone(),
            control: part.control,
            correction: part.correction,
        };
        let claim = |verdict: &ClaimVerdict| Claim {
            id: verdict.claim.clone(),
            text: text(verdict),
            verdict: verdict.verdict,
            parts: verdict.evidence.iter().map(sentence).collect(),
        };
        self.claims = findings.verdicts.iter().map(claim).collect();
        let made = |origin: Origin| Made {
            version: origin.version,
            commit: origin.revision,
            machine: origin.machine,
            first: origin.first,
            when: origin.last,
            seed: findings.seed,
            replications: origin.replications,
            computing_seconds: origin.computing.as_secs_f64(),
        };
        self.origins = origins.into_iter().map(made).collect();
    }
}

/// A sweep of this process.
struct Running {
    stop: Arc<Stop>,
    sweep: Sweep,
    started: Instant,
}

/// What a pair of files, and the log of the store, were when they were looked at: path, size and time of each.
type Pair = [(PathBuf, u64, Option<SystemTime>); 3];

/// How many replications there were, and when there were seen to be more.
type Growth = (u64, Option<Instant>);

/// All sweeps of this process, and what stores are known to have.
#[derive(Default)]
pub(crate) struct Sweeps {
    running: Mutex<Vec<Running>>,
    next: Mutex<u64>,
    known: Mutex<HashMap<Pair, Option<Sweep>>>,
    /// How many replications a store had of an experiment when last looked at, and when it was seen to have more.
    growth: Mutex<HashMap<[String; 2], Growth>>,
}

impl Sweeps {
    fn running(&self) -> std::sync::MutexGuard<'_, Vec<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those of this process.
    pub(crate) fn own(&self) -> Vec<Sweep> {
        let now = |running: &Running| {
            let mut sweep = running.sweep.clone();
            if sweep.state == "running" {
                sweep.seconds = running.started.elapsed().as_secs();
            }
            sweep
        };
        self.running().iter().map(now).collect()
    }

    /// Ends those that go on.
    pub(crate) fn end(&self) {
        self.running().iter().for_each(|running| running.stop.stop("the server ends"));
    }

    /// Whether one more can go on beside all of these, with this store, which no other one has.
    fn check_room(all: &[Running], store: &str) -> Result<(), Refusal> {
        let goes_on = |running: &&Running| running.sweep.state == "running";
        if let Some(other) = all.iter().filter(goes_on).find(|running| running.sweep.store == store) {
            let message =
                format!("a sweep of `{}` goes on with `{store}`: stop it, or wait for it", other.sweep.experiment);
            return Err(Refusal::Conflict(message));
        }
        if all.iter().filter(goes_on).count() >= AT_ONCE {
            return Err(Refusal::Busy(format!("{AT_ONCE} sweeps go on: stop one, or wait for one")));
        }
        Ok(())
    }

    /// Adds one; none other may go on with the same store.
    fn begin(
        &self,
        experiment: &Experiment,
        [file, store]: [&str; 2],
        points: usize,
    ) -> Result<(Sweep, Arc<Stop>), Refusal> {
        // Two requests at once may both have found room before.
        let mut all = self.running();
        Self::check_room(&all, store)?;
        // Of a pair, the last one counts.
        all.retain(|running| {
            running.sweep.state == "running" || [&running.sweep.experiment, &running.sweep.store] != [file, store]
        });
        while all.len() >= TOLD {
            let Some(ended) = all.iter().position(|running| running.sweep.state != "running") else { break };
            all.remove(ended);
        }
        let id = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            *next += 1;
            next.to_string()
        };
        let mut sweep = Sweep::new(id, file, store, "running");
        experiment.title().clone_into(&mut sweep.title);
        sweep.points = points;
        let stop = Arc::new(Stop::default());
        all.push(Running { stop: Arc::clone(&stop), sweep: sweep.clone(), started: Instant::now() });
        Ok((sweep, stop))
    }

    fn tell(&self, id: &str, change: impl FnOnce(&mut Sweep)) {
        if let Some(running) = self.running().iter_mut().find(|running| running.sweep.id == id) {
            change(&mut running.sweep);
        }
    }

    /// What a store has of an experiment; `None` if nothing, or if the experiment makes no sense.
    fn stored(&self, state: &State, experiment: &str, store: &str) -> Result<Option<Sweep>, Refusal> {
        let of = |name: &str| {
            let path = state.folder.file(name)?;
            let there = path.metadata().map_err(Refusal::failed)?;
            Ok::<_, Refusal>((path, there.len(), there.modified().ok()))
        };
        let mut log = PathBuf::from(store).into_os_string();
        log.push("-wal");
        let log = PathBuf::from(log);
        let there = log.metadata().ok();
        let log = (log, there.as_ref().map_or(0, Metadata::len), there.and_then(|there| there.modified().ok()));
        let pair = [of(experiment)?, of(store)?, log];
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&pair) {
            return Ok(known.clone());
        }
        let found = look(state, experiment, store, &pair[1].0);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(pair, found.clone());
        Ok(found)
    }

    /// Whether another process has lately added to what a store has.
    fn grows(&self, sweep: &Sweep) -> bool {
        let mut growth = self.growth.lock().unwrap_or_else(PoisonError::into_inner);
        if growth.len() >= KEPT {
            growth.clear();
        }
        let now = sweep.replications_done;
        let entry = growth.entry([sweep.experiment.clone(), sweep.store.clone()]).or_insert((now, None));
        if now > entry.0 {
            *entry = (now, Some(Instant::now()));
        }
        entry.1.is_some_and(|when| when.elapsed() < LATELY)
    }

    /// Forgets what a store had: this process has added to it.
    fn added(&self, [experiment, store]: [&str; 2]) {
        let pair = [experiment.to_owned(), store.to_owned()];
        self.growth.lock().unwrap_or_else(PoisonError::into_inner).remove(&pair);
    }
}

/// Looks into a store.
fn look(state: &State, name: &str, store: &str, path: &std::path::Path) -> Option<Sweep> {
    let experiment = read(&state.folder, name, &serde_json::Map::new(), &[]).ok()?;
    let read = Store::read(path).ok()?;
    let findings = stored_sweep(&experiment, &read).ok()?;
    let replications: u64 = findings.runs.iter().map(|runs| runs.runs.len() as u64).sum();
    if replications == 0 {
        return None;
    }
    let done = findings.summaries.iter().filter(|summary| summary.outcome != Outcome::Incomplete).count();
    let state = if done == findings.summaries.len() { "done" } else { "partial" };
    let mut sweep = Sweep::new(format!("{name} in {store}"), name, store, state);
    experiment.title().clone_into(&mut sweep.title);
    (sweep.points_done, sweep.points) = (done, findings.summaries.len());
    (sweep.replications_done, sweep.replications) = (replications, replications);
    sweep.found(&findings, origins([&experiment], &read).unwrap_or_default());
    Some(sweep)
}

pub(super) async fn list(Extracted(state): Extracted<Shared>, given: Given) -> Result<Json, Refusal> {
    given.only(&[], &[])?;
    answer(&state, |state| {
        let mut all = state.sweeps.own();
        let items = state.folder.items().items;
        let of = |kind: Kind| items.iter().filter(move |item| item.kind == kind).map(|item| item.path.as_str());
        for store in of(Kind::Store) {
            for experiment in of(Kind::Experiment) {
                wormcast_network::watch::step("looking into stores", "", 0, 0);
                let own = all.iter().position(|own| own.experiment == experiment && own.store == store);
                if own.is_some_and(|own| all[own].state == "running") {
                    continue;
                }
                let Some(mut stored) = state.sweeps.stored(state, experiment, store)? else { continue };
                if stored.state == "partial" && state.sweeps.grows(&stored) {
                    stored.state = "elsewhere";
                }
                match own {
                    // What another process has added since is newer than what this one knows.
                    Some(own) if stored.replications_done <= all[own].replications_done => {}
                    Some(own) => all[own] = stored,
                    None => all.push(stored),
                }
            }
        }
        Ok(all)
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    experiment: String,
    store: String,
    /// Threads; by default as many as there are cores.
    jobs: Option<NonZeroUsize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StopRequest {
    id: String,
}

/// Starts a sweep, or goes on with one, in the background.
pub(super) async fn start(Extracted(state): Extracted<Shared>, given: Body) -> Result<Json, Refusal> {
    const FIELDS: [Field; 3] = [
        Field::needed("experiment", Takes::Text),
        Field::needed("store", Takes::Text),
        Field::optional("jobs", Takes::Whole(1, 1024)),
    ];
    let request: Start = body(&given, &FIELDS)?;
    let shared = Arc::clone(&state);
    let sweep = state.work.run(move || begin(&shared, request)).await?;
    Json::of(&sweep)
}

fn begin(state: &Shared, request: Start) -> Result<Sweep, Refusal> {
    let Start { experiment: file, store, jobs } = request;
    let experiment = read(&state.folder, &file, &serde_json::Map::new(), &[])?;
    experiment.check_measured().map_err(Refusal::bad_input)?;
    let points = experiment.points().map_err(Refusal::bad_input)?;
    experiment.jobs(&points).map_err(Refusal::bad_input)?;
    let path = state.folder.new_file(&store)?;
    if path.extension().is_none_or(|ending| ending != "db") {
        return Err(Refusal::BadInput(format!(
            "`{store}` is no name for a result store: expected one that ends in `.db`"
        )));
    }
    // No folder is left behind by what is refused.
    Sweeps::check_room(&state.sweeps.running(), &path.display().to_string())?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(state.folder.root().join(folder))
            .map_err(|error| Refusal::Failed(format!("cannot make `{}`: {error}", folder.display())))?;
    }
    // However they were written: a store has one writer.
    let [file, store] = [state.folder.file(&file)?, path.clone()].map(|path| path.display().to_string());
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let jobs = jobs.map_or(cores, |jobs| jobs.min(cores));
    let (sweep, stop) = state.sweeps.begin(&experiment, [&file, &store], points.len())?;
    let started = Instant::now();
    let (shared, own, id) = (Arc::clone(state), Arc::clone(&stop), sweep.id.clone());
    let work = move || {
        let mut store = Store::open(&path).map_err(|error| error.to_string())?.made_by(shared.program);
        let mut told = Told { state: &shared, id: &id, stop: &own, started };
        let runner = Runner::keeping_prepared(experiment).map(Arc::new).map_err(|error| error.to_string())?;
        let swept = {
            let ask = || own.is_stopped().then(|| own.why());
            let mut threads = StoppableThreads::new(jobs, &runner, ask).map_err(|error| error.to_string())?;
            run_sweep_with(&runner, &mut threads, &mut store, false, &mut told)
        };
        let findings = match swept {
            // What is done is there.
            Err(_) if own.is_stopped() => stored_sweep(runner.experiment(), &store),
            swept => swept,
        };
        let findings = findings.map_err(|error| error.to_string())?;
        let origins = origins([runner.experiment()], &store).unwrap_or_default();
        Ok((findings, origins))
    };
    let (shared, own, id) = (Arc::clone(state), Arc::clone(&stop), sweep.id.clone());
    state.background.start(stop, work, move |result| {
        shared.sweeps.added([&file, &store]);
        shared.sweeps.tell(&id, |sweep| {
            (sweep.seconds, sweep.seconds_left) = (started.elapsed().as_secs(), None);
            match result {
                Ok((findings, origins)) => {
                    sweep.found(&findings, origins);
                    let incomplete = findings.summaries.iter().any(|summary| summary.outcome == Outcome::Incomplete);
                    (sweep.state, sweep.error) = ended(incomplete, &own);
                }
                Err(error) => (sweep.state, sweep.error) = ("failed", Some(error)),
            }
        });
    });
    Ok(sweep)
}

/// The state of a sweep that has ended, and why, unless somebody wanted it to.
fn ended(incomplete: bool, stop: &Stop) -> (&'static str, Option<String>) {
    let why = (incomplete && stop.is_stopped()).then(|| stop.why()).filter(|why| why != ASKED);
    match (incomplete, why) {
        (false, _) => ("done", None),
        (true, None) => ("stopped", None),
        (true, why) => ("failed", why),
    }
}

/// Stops a sweep with what is there; another start goes on from that.
pub(super) async fn stop(Extracted(state): Extracted<Shared>, given: Body) -> Result<Json, Refusal> {
    let StopRequest { id } = body(&given, &[Field::needed("id", Takes::Text)])?;
    let all = state.sweeps.running();
    let Some(running) = all.iter().find(|running| running.sweep.id == id) else {
        return Err(Refusal::Missing(format!("no sweep `{id}` goes on")));
    };
    running.stop.stop(ASKED);
    Json::of(&running.sweep)
}

/// Tells how far a sweep is, and ends it when it is to stop.
struct Told<'a> {
    state: &'a State,
    id: &'a str,
    stop: &'a Stop,
    started: Instant,
}

impl SweepObserver for Told<'_> {
    fn update(&mut self, status: &Status<'_>) -> ControlFlow<()> {
        let elapsed = self.started.elapsed();
        let left = status.replications_expected.saturating_sub(status.replications);
        let left = (status.computed > 0).then(|| elapsed.as_secs_f64() / status.computed as f64 * left as f64);
        self.state.sweeps.tell(self.id, |sweep| {
            (sweep.points_done, sweep.points) = (status.points_done, status.points);
            (sweep.replications_done, sweep.replications) = (status.replications, status.replications_expected);
            (sweep.seconds, sweep.seconds_left) = (elapsed.as_secs(), left.map(|left| left.ceil() as u64));
        });
        if self.stop.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_sweep_ended_is_told_unless_somebody_stopped_it() {
        let because = |why: &str| {
            let stop = Stop::default();
            stop.stop(why);
            stop
        };
        let memory = "out of memory: all of it is taken";
        assert_eq!(ended(true, &because(memory)), ("failed", Some(memory.to_owned())));
        assert_eq!(ended(true, &because(ASKED)), ("stopped", None));
        assert_eq!(ended(false, &because(memory)), ("done", None));
        assert_eq!(ended(true, &Stop::default()), ("stopped", None));
    }
}
