//! Recorded runs: their headers, their chunks, and how they are made.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use axum::extract::State as Extracted;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use wormcast_lab::{Experiment, OutputFile, Override, Point, PointSpec, Store, replication_seed, stored};
use wormcast_network::ChannelSpace;
use wormcast_network::watch::step;
use wormcast_simulation::{
    Cycle, EngineChoice, Generated, Observer, Replay, ReplayError, ReplayFile, ReplayRun, Scenario, replay_settings,
    simulate_observed,
};

use super::curves::not_readable;
use super::experiment::{Field, Takes, body, read};
use super::{Body, Given, Shared, State, answer};
use crate::answer::{JSON, Json, Refusal};
use crate::work::Stop;

/// The most headers that are kept, and the most bytes of one that is.
const KEPT: usize = 4;
const LARGEST_KEPT: usize = 1 << 26;
/// The most runs at once that are recorded, and of how many finished ones is told.
const AT_ONCE: usize = 2;
const TOLD: usize = 16;
/// How long a run may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// Why a recording ends that somebody stops.
const ASKED: &str = "it was stopped";
/// The folder for runs that the page asks for.
const FOLDER: &str = "replays";

/// A file that can be read.
struct Readable {
    file: Mutex<ReplayFile<BufReader<File>>>,
    /// What is wrong with its chunks, once all of them were looked at.
    damaged: OnceLock<Option<String>>,
}

impl Readable {
    fn file(&self) -> MutexGuard<'_, ReplayFile<BufReader<File>>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads all chunks. Others may read in between.
    fn check(&self, name: &str) -> Result<Option<String>, Refusal> {
        let chunks = self.file().chunks().len();
        for index in 0..chunks {
            step("checking a recorded run", "chunks", index, chunks);
            match self.file().deflated(index) {
                Ok(_) => {}
                Err(error @ ReplayError::Io(_)) => return Err(unreadable(name, &error)),
                Err(error) => return Ok(Some(format!("`{name}`: {error}"))),
            }
        }
        Ok(None)
    }
}

/// A file that was opened, and what it was then.
struct Opened {
    path: PathBuf,
    was: (u64, Option<SystemTime>),
    file: Arc<Readable>,
}

/// Recorded runs that have been opened, the last one first.
#[derive(Default)]
pub(crate) struct Replays {
    opened: Mutex<VecDeque<Opened>>,
}

impl Replays {
    /// Opens a file, unless it is open and the same as before.
    fn open(&self, state: &State, name: &str) -> Result<Arc<Readable>, Refusal> {
        let path = state.folder.file(name)?;
        let file = File::open(&path).map_err(|error| Refusal::Failed(format!("cannot read `{name}`: {error}")))?;
        let there = file.metadata().map_err(Refusal::failed)?;
        let was = (there.len(), there.modified().ok());
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = opened.iter().position(|one| one.path == path && one.was == was)
            && let Some(one) = opened.remove(place)
        {
            let file = Arc::clone(&one.file);
            opened.push_front(one);
            return Ok(file);
        }
        opened.retain(|one| one.path != path);
        drop(opened);
        let read = ReplayFile::open(BufReader::new(file)).map_err(|error| unreadable(name, &error))?;
        let keep = read.header().len() <= LARGEST_KEPT;
        let file = Arc::new(Readable { file: Mutex::new(read), damaged: OnceLock::new() });
        if keep {
            let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            opened.push_front(Opened { path, was, file: Arc::clone(&file) });
            opened.truncate(KEPT);
        }
        Ok(file)
    }
}

fn unreadable(name: &str, error: &ReplayError) -> Refusal {
    match error {
        ReplayError::NoChunk { .. } => Refusal::Missing(format!("`{name}`: {error}")),
        ReplayError::Io(_) => Refusal::Failed(format!("`{name}`: {error}")),
        _ => Refusal::BadInput(format!("`{name}`: {error}")),
    }
}

pub(super) async fn header(Extracted(state): Extracted<Shared>, given: Given) -> Result<Response, Refusal> {
    given.only(&["file"], &[])?;
    let bytes = bytes(&state, move |state| {
        let file = state.replays.open(state, given.need("file")?)?;
        Ok(file.file().header().to_vec())
    });
    Ok(([(header::CONTENT_TYPE, JSON)], bytes.await?).into_response())
}

pub(super) async fn chunk(Extracted(state): Extracted<Shared>, given: Given) -> Result<Response, Refusal> {
    given.only(&["file", "index"], &[])?;
    let bytes = bytes(&state, move |state| {
        let name = given.need("file")?;
        let Some(index) = given.number::<usize>("index", 0..=u32::MAX.into())? else {
            return Err(Refusal::bad_input("expected the parameter `index`"));
        };
        let file = state.replays.open(state, name)?;
        file.file().deflated(index).map_err(|error| unreadable(name, &error))
    });
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes.await?).into_response())
}

#[derive(Serialize)]
struct Check {
    /// Null if all of the file is as it was written.
    damaged: Option<String>,
}

/// Whether all chunks of a file are as they were written.
pub(super) async fn check(Extracted(state): Extracted<Shared>, given: Given) -> Result<Json, Refusal> {
    given.only(&["file"], &[])?;
    answer(&state, move |state| {
        let name = given.need("file")?;
        let file = state.replays.open(state, name)?;
        if let Some(damaged) = file.damaged.get() {
            return Ok(Check { damaged: damaged.clone() });
        }
        let damaged = file.check(name)?;
        Ok(Check { damaged: file.damaged.get_or_init(|| damaged).clone() })
    })
    .await
}

/// Does work that gives bytes.
async fn bytes(
    state: &Shared,
    work: impl FnOnce(&State) -> Result<Vec<u8>, Refusal> + Send + 'static,
) -> Result<Vec<u8>, Refusal> {
    let shared = Arc::clone(state);
    state.work.run(move || work(&shared)).await
}

/// What is to be recorded: a run of an experiment's point.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    experiment: String,
    set: Option<serde_json::Map<String, serde_json::Value>>,
    /// What has the point's replications.
    store: Option<String>,
    /// Which of them; by default the first that deadlocked, or the first.
    replication: Option<u32>,
    /// For a run that is none of them.
    seed: Option<u64>,
    messages: Option<u64>,
}

const FIELDS: [Field; 6] = [
    Field::needed("experiment", Takes::Text),
    Field::optional("set", Takes::Settings),
    Field::optional("store", Takes::Text),
    Field::optional("replication", Takes::Whole(0, u32::MAX as u64)),
    Field::optional("seed", Takes::Whole(0, u64::MAX)),
    Field::optional("messages", Takes::Whole(0, u64::MAX)),
];

/// Which recording is to be stopped.
#[derive(Deserialize)]
struct StopRequest {
    file: String,
}

/// Which run of a point it is.
#[derive(Clone, Copy)]
struct Run {
    /// Its number among the replications of the point; `None` if it is none of these.
    replication: Option<u32>,
    seed: u64,
    messages: Option<u64>,
    /// Whether the store says that it deadlocks; `None` if it has nothing of it.
    deadlocked: Option<bool>,
}

impl Run {
    /// The one that is asked for. Where the store has none, replications have the seeds that a sweep would give them.
    fn of(state: &State, request: &Request, experiment: &Experiment, point: &Point) -> Result<Self, Refusal> {
        let spec = &point.spec;
        if request.seed.is_some() || request.messages.is_some() {
            if request.replication.is_some() {
                return Err(Refusal::bad_input(
                    "a `replication` has its own seed and number of messages: leave `seed` and `messages` out",
                ));
            }
            return Ok(Self { replication: None, seed: spec.seed, messages: spec.run.messages, deadlocked: None });
        }
        let there = match &request.store {
            Some(store) => {
                let store = Store::read(&state.folder.file(store)?).map_err(|error| not_readable(&error))?;
                stored(std::slice::from_ref(point), experiment.stop(), &store).map_err(Refusal::bad_input)?.pop()
            }
            None => None,
        };
        let runs = there.as_ref().map_or(&[][..], |there| &there.runs);
        let deadlocked = || runs.iter().zip(0..).find(|(run, _)| run.deadlock().is_some()).map(|(_, number)| number);
        let number = request.replication.or_else(deadlocked).unwrap_or(0);
        let run = runs.get(number as usize);
        if let (None, false) = (run, runs.is_empty()) {
            let count = runs.len();
            return Err(Refusal::Missing(format!(
                "there is no replication {number} of this point; the store has {count}, counted from 0"
            )));
        }
        let lengthened = there.as_ref().and_then(|there| there.lengthened);
        Ok(Self {
            replication: Some(number),
            seed: run.map_or_else(|| replication_seed(spec.seed, number), wormcast_lab::Replication::seed),
            messages: lengthened.map_or(spec.run.messages, |lengthened| Some(lengthened.messages)),
            deadlocked: run.map(|run| run.deadlock().is_some()),
        })
    }
}

/// A run that is being recorded, or was.
#[derive(Clone, Serialize)]
pub(crate) struct Recording {
    file: String,
    state: &'static str,
    cycle: Cycle,
    messages: u64,
    error: Option<String>,
}

impl Recording {
    pub(super) fn file(&self) -> &str {
        &self.file
    }
}

/// All of them, the last one last.
#[derive(Default)]
pub(crate) struct Recordings(Mutex<Vec<(Arc<Stop>, Recording)>>);

impl Recordings {
    pub(crate) fn all(&self) -> Vec<Recording> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(_, recording)| recording.clone()).collect()
    }

    /// Ends those that go on.
    pub(crate) fn end(&self) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().for_each(|(stop, _)| stop.stop("the server ends"));
    }

    /// Stops the one of this file.
    fn stop(&self, file: &str) -> Result<(), Refusal> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let going_on = all.iter().find(|(_, recording)| recording.file == file && recording.state == "running");
        let missing = || Refusal::Missing(format!("no run is being recorded to `{file}`"));
        going_on.map(|(stop, _)| stop.stop(ASKED)).ok_or_else(missing)
    }

    fn tell(&self, file: &str, change: impl FnOnce(&mut Recording)) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, recording)) = all.iter_mut().rev().find(|(_, recording)| recording.file == file) {
            change(recording);
        }
    }

    /// Adds one, unless it is being recorded already.
    fn begin(&self, file: &str, stop: &Arc<Stop>) -> Result<bool, Refusal> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let running = |recording: &Recording| recording.state == "running";
        if all.iter().any(|(_, recording)| running(recording) && recording.file == file) {
            return Ok(false);
        }
        if all.iter().filter(|(_, recording)| running(recording)).count() >= AT_ONCE {
            return Err(Refusal::Busy(format!("{AT_ONCE} runs are being recorded: wait for one to end")));
        }
        all.retain(|(_, recording)| recording.file != file);
        let over = (all.len() + 1).saturating_sub(TOLD);
        let finished: Vec<usize> =
            all.iter().enumerate().filter(|(_, (_, one))| !running(one)).map(|(place, _)| place).take(over).collect();
        finished.into_iter().rev().for_each(|place| drop(all.remove(place)));
        let recording = Recording { file: file.to_owned(), state: "running", cycle: 0, messages: 0, error: None };
        all.push((Arc::clone(stop), recording));
        Ok(true)
    }
}

#[derive(Serialize)]
struct Recorded {
    file: String,
    state: &'static str,
    replication: Option<u32>,
    /// As text: numbers of scripts have 53 bits.
    seed: String,
    deadlocked: Option<bool>,
}

/// Records a run in the background, unless it has been.
pub(super) async fn record(Extracted(state): Extracted<Shared>, given: Body) -> Result<Json, Refusal> {
    let request: Request = body(&given, &FIELDS)?;
    let shared = Arc::clone(&state);
    let recorded = state.work.run(move || begin(&shared, &request)).await?;
    Json::of(&recorded)
}

fn begin(state: &Shared, request: &Request) -> Result<Recorded, Refusal> {
    let mut overrides = Vec::new();
    let none = serde_json::Map::new();
    let set = request.set.as_ref().unwrap_or(&none);
    for (key, value) in set {
        overrides.push(Override::option(&format!("{key} ="), key, &value.to_string()));
    }
    let numbers = [("seed", "seed", request.seed), ("messages", "run.messages", request.messages)];
    for (name, key, number) in numbers {
        overrides.extend(number.map(|number| Override::option(name, key, &number.to_string())));
    }
    let experiment = read(&state.folder, &request.experiment, set, &overrides)?;
    let point = experiment.point().map_err(Refusal::bad_input)?;
    let which = Run::of(state, request, &experiment, &point)?;
    let job = experiment.job_of(&point, which.seed).map_err(Refusal::bad_input)?;
    let wormcast_lab::Job::Simulate(scenario) = job else {
        return Err(Refusal::BadInput("nothing is simulated at this point, so there is nothing to record".to_owned()));
    };
    std::fs::create_dir_all(FOLDER).map_err(|error| Refusal::Failed(format!("cannot make `{FOLDER}`: {error}")))?;
    let name = wormcast_lab::file_part(&[experiment.name().as_str(), &point.spec.algorithm]);
    let (name, hash) = (name.trim_start_matches('-'), point.spec.config_hash());
    let file = format!("{FOLDER}/{name}-{}-seed-{}.replay", &hash[..12], which.seed);
    let recorded = |state| Recorded {
        file: file.clone(),
        state,
        replication: which.replication,
        seed: which.seed.to_string(),
        deadlocked: which.deadlocked,
    };
    let path = state.folder.new_file(&file)?;
    if path.exists() && state.replays.open(state, &file).is_ok() {
        return Ok(recorded("done"));
    }
    let stop = Arc::new(Stop::default());
    if state.recordings.begin(&file, &stop)? {
        let (to_tell, told) = (Arc::clone(state), file.clone());
        let (state, file, spec, own) = (Arc::clone(state), file.clone(), point.spec, Arc::clone(&stop));
        let scenario = scenario.with_messages(which.messages);
        let shared = Arc::clone(&state);
        let record = move || run(&state, &file, &scenario, &spec, which, &own);
        shared.background.start(stop, record, move |written| {
            to_tell.recordings.tell(&told, |recording| match written {
                Ok(()) => recording.state = "done",
                Err(error) if error == ASKED => recording.state = "stopped",
                Err(error) => (recording.state, recording.error) = ("failed", Some(error)),
            });
        });
    }
    Ok(recorded("running"))
}

/// Stops a recording: nothing of it is kept.
pub(super) async fn stop(Extracted(state): Extracted<Shared>, given: Body) -> Result<Json, Refusal> {
    let StopRequest { file } = body(&given, &[Field::needed("file", Takes::Text)])?;
    state.recordings.stop(&file)?;
    Json::of(&serde_json::json!({ "file": file }))
}

/// Runs and writes the file; says why not.
fn run(
    state: &State,
    file: &str,
    scenario: &Scenario,
    spec: &PointSpec,
    which: Run,
    stop: &Arc<Stop>,
) -> Result<(), String> {
    let out = OutputFile::create(file.as_ref()).map_err(|error| error.to_string())?;
    let network = scenario.network();
    let space = ChannelSpace::new(network, scenario.engine_config().ports);
    let mut observer = (
        Replay::new(network, space, out),
        Told {
            state,
            file,
            stop,
            end: Instant::now() + PATIENCE,
            cycle: 0,
            messages: 0,
            events: 0,
            polls: Cell::new(0),
        },
    );
    let engine: EngineChoice = spec.engine;
    let result = simulate_observed(scenario, engine, which.seed, &mut observer).map_err(|error| error.to_string())?;
    if stop.is_stopped() {
        return Err(stop.why());
    }
    let program = format!("wormcast {}", state.program.full_version());
    let which_one = which.replication.map_or_else(String::new, |number| format!(", replication {number}"));
    let title = format!("{} on {}{which_one}", spec.algorithm, spec.topology);
    let run = ReplayRun {
        program: &program,
        title: &title,
        topology: &spec.topology,
        algorithm: &spec.algorithm,
        settings: &replay_settings(scenario, &result.engine, which.seed),
        deadlock: result.deadlock.as_ref(),
        interrupted: false,
    };
    let out = observer.0.finish(&run).map_err(|error| error.to_string())?;
    out.finish().map_err(|error| error.to_string())
}

/// Tells how far a run is, and ends it when it is to stop.
struct Told<'a> {
    state: &'a State,
    file: &'a str,
    stop: &'a Arc<Stop>,
    end: Instant,
    cycle: Cycle,
    messages: u64,
    events: u64,
    polls: Cell<u64>,
}

impl Told<'_> {
    /// Ends a run that takes too long.
    fn look_at_the_clock(&self) {
        if Instant::now() >= self.end {
            self.stop.stop(format!("it took more than {} seconds: ask for fewer messages", PATIENCE.as_secs()));
        }
    }
}

impl Observer for Told<'_> {
    fn generated(&mut self, message: &Generated<'_>) {
        (self.cycle, self.messages) = (message.at, message.message + 1);
        self.events += 1;
        if self.events.is_multiple_of(256) {
            let (cycle, messages) = (self.cycle, self.messages);
            self.state
                .recordings
                .tell(self.file, |recording| (recording.cycle, recording.messages) = (cycle, messages));
            self.look_at_the_clock();
        }
    }

    fn done(&self) -> bool {
        // Cycles pass without messages, too, as at the end.
        let polls = self.polls.get() + 1;
        self.polls.set(polls);
        if polls.is_multiple_of(4096) {
            self.look_at_the_clock();
        }
        self.stop.is_stopped()
    }
}
