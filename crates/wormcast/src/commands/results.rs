//! Common parts of subcommands that run or read sweeps: where results are kept, and their failures.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};

use super::output::store_file;
use crate::failure::Failure;
use crate::interrupt::{self, MemoryGuard};
use crate::lab::report::shell_line;
use crate::lab::{
    Experiment, JobError, MAX_THREADS, Point, RunError, Store, StoreError, StoreProblem, SweepError, is_file_name,
};
use crate::program;
use crate::progress::Progress;
use crate::simulation::SimulationError;

/// What goes on where an interrupted run was.
pub(crate) const AGAIN: &str = "the same command";

/// The usual folder for results, and the name of the store in it.
pub(super) const OUT: &str = "results";
const STORE: &str = "store.db";

/// Where results are kept.
#[derive(Args)]
pub(crate) struct Places {
    /// The result store; by default `store.db` in the output folder.
    #[arg(long, value_name = "FILE", value_parser = store_file)]
    store: Option<PathBuf>,
    /// The folder for tables and plots; made if it is not there.
    #[arg(long, value_name = "DIR", default_value = OUT, value_parser = folder())]
    out: PathBuf,
    /// What the names of the files begin with; by default the name of the experiment file, with the settings that `--set` changes.
    #[arg(long, value_name = "NAME", value_parser = file_name)]
    name: Option<String>,
}

/// What is wrong with an experiment of which there is no store, if anything: that matters more.
pub(crate) fn unless_invalid(experiment: &Experiment, missing: Failure) -> Failure {
    let made = experiment.points().and_then(|points| experiment.jobs(&points).map(drop));
    made.err().map_or(missing, Failure::diagnostic)
}

/// A name for files in the output folder.
fn file_name(name: &str) -> Result<String, String> {
    if !is_file_name(name) {
        return Err("expected a name for files in the folder `--out`, such as `larger-mesh`".to_owned());
    }
    if Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml")) {
        return Err("this is the name of a file: expected one for results, such as `larger-mesh`".to_owned());
    }
    Ok(name.to_owned())
}

/// A folder for files, which `-` is not: no command writes several files to standard output.
pub(crate) fn folder() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|folder| {
        if folder == Path::new("-") {
            return Err("expected a folder for several files, not standard output");
        }
        Ok(folder)
    })
}

impl Places {
    /// Makes the folder.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        make_folder(&self.out)
    }

    /// The experiment, by the name that its files are to have.
    pub(crate) fn named(&self, experiment: Experiment) -> Experiment {
        match &self.name {
            Some(name) => experiment.named(name),
            None => experiment,
        }
    }

    /// The name that files are to have, if one was given.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The options that name other places than the usual ones, as words of a command that sweeps one experiment; `told` says how to tell
    /// paths, and `named` whether the name is that of the experiment.
    pub(crate) fn words(&self, told: impl Fn(&Path) -> String, named: bool) -> Vec<String> {
        let out = (self.out != Path::new(OUT)).then(|| ["--out".to_owned(), told(&self.out)]);
        let store = self.store.as_ref().map(|store| ["--store".to_owned(), told(store)]);
        let name = self.name.as_ref().filter(|_| named).map(|name| ["--name".to_owned(), name.clone()]);
        out.into_iter().chain(store).chain(name).flatten().collect()
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.out
    }

    /// The store, which must be there; `sweep` is the command that makes it.
    pub(crate) fn existing_store(&self, sweep: &str) -> Result<Store, Failure> {
        let path = self.store();
        if !is_there(&path)? {
            let usual = Path::new(OUT).join(STORE);
            let hint = if self.store.is_none() && usual.exists() {
                format!(", or name another: `--store {}`", usual.display())
            } else {
                String::new()
            };
            let path = path.display();
            let message = format!("there is no result store `{path}`: run `{sweep}` first{hint}");
            return Err(Failure::BadInput(message));
        }
        // To be made a store, it would have to be written to.
        if std::fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == 0) {
            return Err(Failure::BadInput(format!("`{}` is empty: expected a result store", path.display())));
        }
        program::store_to_read(&path).map_err(unusable)
    }

    /// The path of the store.
    pub(crate) fn store(&self) -> PathBuf {
        self.store_of(STORE)
    }

    /// The path of a store whose usual name is another.
    pub(crate) fn store_of(&self, name: &str) -> PathBuf {
        self.store.clone().unwrap_or_else(|| self.out.join(name))
    }
}

/// The name of a report on what has these names, without ending: each choice has its own, so that a look at one claim does not replace the
/// report of a night.
pub(super) fn report_name(names: &BTreeSet<&str>) -> String {
    match (names.first(), names.len()) {
        (None, _) => "report".to_owned(),
        (Some(_), 1..=3) => format!("report-{}", names.iter().copied().collect::<Vec<_>>().join("-")),
        (Some(first), count) => format!("report-{first}-and-{}-more", count - 1),
    }
}

/// Whether there is a store, if that can be found out.
pub(crate) fn is_there(store: &Path) -> Result<bool, Failure> {
    let unknown = |error| Failure::BadInput(format!("cannot open the result store `{}`: {error}", store.display()));
    store.try_exists().map_err(unknown)
}

/// The usual path of the store in a folder for results.
pub(super) fn usual_store(folder: &Path) -> PathBuf {
    folder.join(STORE)
}

/// Makes a folder for results, unless it is there.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::AlreadyExists => "there is a file of this name".to_owned(),
            ErrorKind::NotADirectory => "what it is to be in is a file".to_owned(),
            _ => error.to_string(),
        };
        Failure::failed(format!("cannot make the folder `{}`: {reason}", folder.display()))
    })
}

/// Why a store has no results to show: it is empty, or lacks first replications.
pub(crate) fn has_nothing_of(points: &[Point], store: &Store, file: &str) -> String {
    let has_rows = |point: &Point| store.load(&point.spec.config_hash()).is_ok_and(|rows| !rows.is_empty());
    if points.iter().any(has_rows) {
        format!("has replications of {file}, but not the first one of any point")
    } else {
        format!("has no results of {file}")
    }
}

/// As many threads as are asked for, or as there are cores.
pub(crate) fn threads(jobs: Option<NonZeroUsize>) -> NonZeroUsize {
    if let Some(asked) = jobs.filter(|asked| asked.get() > MAX_THREADS) {
        Failure::warn(&format!("--jobs {asked}: a sweep runs at most {MAX_THREADS} threads"));
    }
    jobs.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// The command's failure for a store's error: a file that is not a store is bad input; errors of a store, and
/// results that cannot be stored, are failed work.
pub(crate) fn unusable(error: StoreError) -> Failure {
    match error.problem {
        StoreProblem::Foreign(_) | StoreProblem::Newer(_) => Failure::bad_input(error),
        // What is there and cannot be read was a bad choice; what cannot be made is failed work.
        StoreProblem::Unreadable(_) if error.path.exists() => Failure::bad_input(error),
        StoreProblem::Damaged(_) => {
            let program = program::name();
            Failure::failed(format!(
                "{error}\nrun `{program} sweep`: it sets damaged rows aside and simulates again what is needed, if the database is sound otherwise"
            ))
        }
        StoreProblem::Corrupt(_) => {
            let line = shell_line([program::name(), "merge", &error.path.display().to_string(), "--store", RESCUED]);
            Failure::failed(format!(
                "{error}\n`{line}` brings what can still be read into a new store, and names what cannot; the damaged file stays as it is"
            ))
        }
        _ => Failure::failed(error),
    }
}

/// An example of the name of a store that takes what is left of a damaged one.
const RESCUED: &str = "rescued.db";

/// Fails if points end in deadlocks, after everything that is known has been written. `again` is the command that simulates one of them, where that is known.
pub(crate) fn unless_deadlocked(
    points: impl Iterator<Item = bool> + Clone,
    again: Option<String>,
) -> Result<(), Failure> {
    let (points, deadlocked) = (points.clone().count(), points.filter(|&deadlocked| deadlocked).count());
    if deadlocked == 0 {
        return Ok(());
    }
    let (of, end) = (if points == 1 { "point" } else { "points" }, if deadlocked == 1 { "ends" } else { "end" });
    let again = again.unwrap_or_else(|| format!("{} simulate", program::name()));
    let message = format!("{deadlocked} of {points} {of} {end} in a deadlock; `{again}` names its worms");
    Err(Failure::Failed(message))
}

/// The command's failure for a sweep's error.
pub(crate) fn failure(error: RunError) -> Failure {
    match error {
        RunError::Input(diagnostic) => Failure::diagnostic(*diagnostic),
        RunError::Run(error @ JobError::Simulation(SimulationError::OutOfMemory { .. })) => Failure::failed(error),
        RunError::Run(error) => Failure::bad_input(error),
        // Of graphs that replications draw anew, one may be of no use. The first is looked at before anything is run.
        RunError::Sweep(
            error @ SweepError::Run {
                reason: JobError::Simulation(SimulationError::OutOfMemory { .. } | SimulationError::Scenario { .. }),
                ..
            },
        ) => Failure::failed(error),
        // A run fails if the engine or the switching that is asked for cannot carry what the algorithm sends.
        RunError::Sweep(error @ SweepError::Run { .. }) => Failure::bad_input(error),
        RunError::Store(error) | RunError::Sweep(SweepError::Store(error)) => unusable(error),
        other => Failure::failed(other),
    }
}

/// Runs work that fills a store, and shows its progress; `again` is the command that goes on if it is interrupted.
pub(crate) fn with_progress<T, E>(
    store: &mut Store,
    again: &'static str,
    work: impl FnOnce(&mut Store, &mut Progress) -> Result<T, E>,
) -> Result<T, E> {
    let mut progress = Progress::new();
    interrupt::keep(store.path(), again, progress.bar());
    let _guard = MemoryGuard::new(store.path(), again, progress.bar());
    let result = work(store, &mut progress);
    progress.finish();
    if !store.path().exists() {
        let path = store.path().display();
        Failure::warn(&format!(
            "somebody deleted the result store `{path}` while it was being written: what it had is lost"
        ));
    }
    result
}
