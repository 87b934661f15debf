//! `wormcast merge`: the stores of several jobs in one.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::experiment::SettingArguments;
use super::output::store_file;
use super::results::{folder, is_there, make_folder, unusable, usual_store};
use crate::failure::Failure;
use crate::lab::report::{argument, shell_line};
use crate::lab::{
    Experiment, Gap, Merged, Store, StoreError, StoreProblem, differences_text, file_place, incomplete_points,
    other_settings, stored_sweep,
};
use crate::program;

/// Bring the results of several stores into one, such as those of the parts of a sweep (`sweep --shard`).
///
/// Results that are there already are left alone, and the stores that are read stay as they are: merging again does no harm. Of a damaged store it
/// takes everything that can still be read, and names the rest.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast merge results/quick-shard-1-of-2.db results/quick-shard-2-of-2.db")]
pub(crate) struct Arguments {
    /// The stores to read.
    #[arg(required = true, value_name = "STORE.db")]
    stores: Vec<PathBuf>,
    /// The store that takes everything; by default `store.db` in the output folder. Made if it is not there.
    #[arg(long, value_name = "FILE", value_parser = store_file)]
    store: Option<PathBuf>,
    /// The folder of that store; made if it is not there.
    #[arg(long, value_name = "DIR", default_value = super::results::OUT, value_parser = folder())]
    out: PathBuf,
    /// Refuse stores that have results of other settings than this experiment's, and say which of its points are complete.
    #[arg(long, value_name = "EXPERIMENT.toml")]
    experiment: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingArguments,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let experiment = match &arguments.experiment {
        Some(file) => Some(arguments.settings.read(Some(file), &[])?),
        None if arguments.settings.words().is_empty() => None,
        None => {
            let given = arguments.settings.words().swap_remove(0);
            let message =
                format!("`{given}` is a setting of an experiment: name its file, `--experiment EXPERIMENT.toml`");
            return Err(Failure::BadInput(message));
        }
    };
    let into = arguments.store.clone().unwrap_or_else(|| usual_store(&arguments.out));
    let sources = sources(arguments, &into)?;
    if let Some(experiment) = &experiment {
        for store in &sources {
            check_settings(experiment, store)?;
        }
    }
    if arguments.store.is_none() {
        make_folder(&arguments.out)?;
    }
    let is_new = !into.exists();
    let mut store = program::store(&into).map_err(unusable)?;
    let (mut left, mut unread) = (0, false);
    for (index, source) in sources.iter().enumerate() {
        let merged = store.merge(source).and_then(|merged| match merged.gaps[..] {
            [Gap { after: None, before: None }] => {
                let problem = StoreProblem::Corrupt("none of its rows can be found".to_owned());
                Err(StoreError { path: source.path().to_owned(), problem })
            }
            _ => Ok(merged),
        });
        let merged = match merged {
            Ok(merged) => merged,
            Err(problem) => {
                drop(store);
                // A store that nothing came into is not left behind.
                if is_new && index == 0 {
                    let _ = std::fs::remove_file(&into);
                }
                let of_source = problem.path == source.path();
                return Err(match problem.problem {
                    StoreProblem::Corrupt(_) if of_source => nothing_left(&problem),
                    _ => unusable(problem),
                });
            }
        };
        left += told(source.path(), &merged, out)?;
        unread |= !merged.gaps.is_empty();
    }
    if let Some(experiment) = &experiment {
        told_of_points(arguments, experiment, &store, out)?;
    }
    writeln!(out, "Wrote {}.", into.display())?;
    out.flush()?;
    match left {
        _ if unread => Err(Failure::Failed("parts of a store cannot be read".to_owned())),
        0 => Ok(()),
        1 => Err(Failure::Failed("1 result was not merged".to_owned())),
        _ => Err(Failure::Failed(format!("{left} results were not merged"))),
    }
}

/// The stores to read: all of them are there and can be read, and none is the one that is written.
fn sources(arguments: &Arguments, into: &Path) -> Result<Vec<Store>, Failure> {
    let (mut places, mut stores) = (BTreeSet::new(), Vec::new());
    let target = file_place(into);
    for path in &arguments.stores {
        let shown = path.display();
        if !is_there(path)? {
            return Err(Failure::BadInput(format!("there is no result store `{shown}`")));
        }
        if path.metadata().is_ok_and(|file| file.is_file() && file.len() == 0) {
            return Err(Failure::BadInput(format!("`{shown}` is empty: expected a result store")));
        }
        let place = file_place(path);
        if place.is_some() && place == target {
            let message = format!("`{shown}` is the store that is written, too: name another with `--store`");
            return Err(Failure::BadInput(message));
        }
        // Named twice, by a pattern and by itself, say, it is read once.
        if places.insert(place.unwrap_or_else(|| path.clone())) {
            stores.push(to_read(path)?);
        }
    }
    Ok(stores)
}

/// A store, or what is left of it.
fn to_read(path: &Path) -> Result<Store, Failure> {
    let cut = || StoreProblem::Corrupt("the file ends within a page".to_owned());
    let opened = program::store_to_read(path).and_then(|store| {
        if store.is_cut() { Err(StoreError { path: path.to_owned(), problem: cut() }) } else { Ok(store) }
    });
    match opened {
        Err(damage @ StoreError { problem: StoreProblem::Corrupt(_), .. }) => {
            let left = program::salvaged_store(path).map_err(|error| match error.problem {
                StoreProblem::Corrupt(_) => nothing_left(&error),
                _ => no_source(error),
            })?;
            Failure::warn(&format!("{damage}; reading what is left of it from a repaired copy"));
            Ok(left)
        }
        result => result.map_err(no_source),
    }
}

/// The failure for a file that is read.
fn no_source(error: StoreError) -> Failure {
    match error.problem {
        StoreProblem::Foreign(reason) => {
            let path = error.path.display();
            Failure::BadInput(format!(
                "`{path}` is not a result store: {reason}; expected the stores to merge, such as `results/store.db`"
            ))
        }
        _ => unusable(error),
    }
}

/// The failure for a store of which nothing can be read.
fn nothing_left(error: &StoreError) -> Failure {
    Failure::failed(format!(
        "{error}\nnothing in it can be read: restore it from a backup, or simulate again with another `--store`"
    ))
}

/// Refuses a store that has nothing of an experiment, but something else.
fn check_settings(experiment: &Experiment, store: &Store) -> Result<(), Failure> {
    let Some(differences) = other_settings(experiment, store).map_err(super::results::failure)? else { return Ok(()) };
    let message = format!(
        "`{}` has no results of `{}`, but of other settings: {}",
        store.path().display(),
        experiment.path(),
        differences_text(&differences)
    );
    Err(Failure::BadInput(message))
}

/// Says what came of a store; gives how many of its results were not merged.
fn told(store: &Path, merged: &Merged, out: &mut dyn Write) -> Result<u64, Failure> {
    let Merged { added, present, of_other_models, other_model, damaged, gaps, .. } = merged;
    let results = if *added == 1 { "result" } else { "results" };
    let there = if *present == 0 { String::new() } else { format!(", {present} there already") };
    writeln!(out, "{}: {added} {results} added{there}", store.display())?;
    if let Some(model) = other_model {
        let (are, program) = (if *of_other_models == 1 { "result is" } else { "results are" }, program::name());
        Failure::warn(&format!(
            "`{}`: {of_other_models} {are} of version {model} of the model, and this {program} has version {}: simulate again with one program",
            store.display(),
            crate::simulation::MODEL_VERSION
        ));
    }
    for row in damaged {
        Failure::warn(&format!("`{}`: {row} is damaged, and stays there", store.display()));
    }
    for gap in gaps {
        Failure::warn(&format!("`{}` is damaged: {gap} cannot be read", store.display()));
    }
    Ok(of_other_models + damaged.len() as u64)
}

/// Says whether all points of the experiment are there now.
fn told_of_points(
    arguments: &Arguments,
    experiment: &Experiment,
    store: &Store,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let findings = stored_sweep(experiment, store).map_err(super::results::failure)?;
    let file = arguments.experiment.iter().map(|file| argument(file));
    let place = arguments.store.as_ref().map(|store| ["--store".to_owned(), store.display().to_string()]);
    let folder = (arguments.out != Path::new(super::results::OUT))
        .then(|| ["--out".to_owned(), arguments.out.display().to_string()]);
    let words: Vec<String> = file
        .chain(arguments.settings.words())
        .chain(place.into_iter().flatten())
        .chain(folder.into_iter().flatten())
        .collect();
    let line = |command: &str| {
        let all = [program::name(), command].into_iter().chain(words.iter().map(String::as_str));
        shell_line(all)
    };
    match incomplete_points(&findings.summaries) {
        Some(incomplete) => writeln!(out, "{incomplete}: `{}` adds what is missing.", line("sweep"))?,
        None => {
            let points = findings.summaries.len();
            let (all, their) = match points {
                1 => ("The point is".to_owned(), "its"),
                _ => (format!("All {points} points are"), "their"),
            };
            writeln!(out, "{all} complete: `{}` writes {their} table and plots.", line("plot"))?;
        }
    }
    Ok(())
}
