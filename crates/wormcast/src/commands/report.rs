//! `wormcast report`: experiments on a page.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::output::Files;
#[cfg(feature = "serve")]
use super::played;
use super::results::{Places, failure, has_nothing_of, report_name, unless_deadlocked, unless_invalid};
use crate::failure::Failure;
use crate::lab::report::{Reported, argument, experiments_page, shell_line, shown_path};
use crate::lab::{Experiment, Outcome, Override, origins, stored_sweep, stored_variations, write_file};
use crate::program;

/// Make a page of experiments from the store: plots, tables, verdicts, files, and a run to be played. Adds nothing to the store.
///
/// The page is a single HTML file that needs nothing else. The same is also written as Markdown, with its plots beside it.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast report experiments/quick.toml")]
pub(crate) struct Arguments {
    /// The experiment files (TOML); `-` for standard input.
    #[arg(value_name = "EXPERIMENT.toml", required = true)]
    files: Vec<PathBuf>,
    /// A setting that replaces the files': `--set switching.buffer=4`; can be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The quick versions of the experiments that have one; at least one of them must.
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    places: Places,
}

impl Arguments {
    /// The commands whose results are reported.
    fn sweeps(&self) -> String {
        let places = self.places.words(|path| path.display().to_string(), self.files.len() == 1);
        let sweep = |file: &PathBuf| {
            let file = argument(file);
            let quick = self.quick.then_some("--quick");
            let set = self.set.iter().flat_map(|assignment| ["--set", assignment]);
            let words = [program::name(), "sweep", &file].into_iter().chain(set).chain(quick);
            shell_line(words.chain(places.iter().map(String::as_str)))
        };
        self.files.iter().map(sweep).collect::<Vec<_>>().join("; ")
    }
}

/// Refuses experiments none of which has a quick version.
fn has_a_quick_version<'e>(experiments: impl Iterator<Item = &'e Experiment> + Clone) -> Result<(), Failure> {
    if experiments.clone().any(Experiment::has_quick) {
        return Ok(());
    }
    let files = experiments.map(|experiment| format!("`{}`", experiment.path())).collect::<Vec<_>>();
    let verb = if files.len() == 1 { "has" } else { "have" };
    let files = files.join(" and ");
    let message = format!("{files} {verb} no quick version: expected a table `[quick]` of settings");
    Err(Failure::BadInput(message))
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let overrides = arguments.set.iter().map(|assignment| Override::set(assignment));
    let overrides = overrides.collect::<Result<Vec<Override>, _>>().map_err(Failure::diagnostic)?;
    for replaced in Override::check(&overrides, arguments.quick).map_err(Failure::diagnostic)? {
        Failure::warn(&replaced);
    }
    let path = arguments.places.store();
    let store = arguments.places.existing_store(&arguments.sweeps()).map_err(|missing| {
        arguments.files.iter().fold(missing, |missing, file| match Experiment::read(file, &overrides) {
            Ok(experiment) => unless_invalid(&experiment, missing),
            Err(error) => Failure::diagnostic(error),
        })
    })?;
    let read = arguments.files.iter().map(|file| Ok((file, Experiment::read(file, &overrides)?)));
    let read = read.collect::<Result<Vec<_>, _>>().map_err(Failure::diagnostic)?;
    if arguments.quick {
        has_a_quick_version(read.iter().map(|(_, experiment)| experiment))?;
    }
    let mut experiments: Vec<Reported> = Vec::new();
    for (file, mut experiment) in read {
        let [typed, shown] = [argument(file), argument(Path::new(&shown_path(file)))];
        let mut words = vec![program::name(), "sweep", &typed];
        words.extend(arguments.set.iter().flat_map(|assignment| ["--set", assignment]));
        if arguments.quick && experiment.has_quick() {
            experiment = experiment.quick().map_err(Failure::diagnostic)?;
            words.push("--quick");
        }
        let line = |words: &[&str], places: Vec<String>| {
            shell_line(words.iter().copied().chain(places.iter().map(String::as_str)))
        };
        // With several experiments, the name is that of the page.
        let (places, alone) = (&arguments.places, arguments.files.len() == 1);
        let again = line(&words, places.words(|path| path.display().to_string(), alone));
        words[2] = &shown;
        let command = line(&words, places.words(shown_path, alone));
        if alone {
            experiment = places.named(experiment);
        }
        let name = experiment.name();
        let findings = stored_sweep(&experiment, &store).map_err(failure)?;
        experiment.check_missing(&findings).map_err(Failure::diagnostic)?;
        if findings.summaries.iter().all(|summary| summary.replications == 0) {
            let points = experiment.points().map_err(Failure::diagnostic)?;
            let has = has_nothing_of(&points, &store, &format!("`{}`", file.display()));
            return Err(Failure::BadInput(format!("`{}` {has}: run `{again}` first", path.display())));
        }
        if experiments.iter().any(|reported| reported.name == name) {
            let message = format!(
                "two of the experiments are called `{name}`, and so would be the files of their plots: rename one"
            );
            return Err(Failure::BadInput(message));
        }
        let variations = stored_variations(&experiment, &store).map_err(failure)?;
        // What cannot be made any more has results all the same.
        let unsafe_worms = experiment.unsafe_worms().unwrap_or_else(|problem| {
            Failure::warn(&format!("whether worms can deadlock is not on the page: {problem}"));
            Vec::new()
        });
        experiments.push(Reported { name, command, experiment, findings, variations, unsafe_worms });
    }
    let origins = origins(experiments.iter().map(|reported| &reported.experiment), &store).map_err(failure)?;
    let page = experiments_page(&experiments, &origins, program::THIS).map_err(Failure::failed)?;
    #[cfg(feature = "serve")]
    let page =
        played::with_small_run(page, experiments.iter().map(|reported| (&reported.experiment, &reported.findings)))?;
    let name = match &experiments[..] {
        [only] => format!("{}-report", only.name),
        several => match arguments.places.name() {
            Some(given) => given.to_owned(),
            None => report_name(&several.iter().map(|reported| reported.name.as_str()).collect()),
        },
    };
    let folder = arguments.places.folder();
    let pages = [format!("{name}.html"), format!("{name}.md")];
    let written =
        pages.iter().map(String::as_str).chain(page.plots().map(|(name, _)| name)).map(|name| folder.join(name));
    let files = written
        .fold(Files::default().reads("`--store`", Some(&path)), |files, path| files.writes("the report", Some(path)));
    let files = arguments.files.iter().fold(files, |files, file| files.reads("an experiment", Some(file)));
    // What cannot be made any more names no files that are read.
    let points = |experiment: &Experiment| experiment.points().unwrap_or_default();
    let read = |files: Files, reported: &Reported| {
        files.reads_experiment(None, &reported.experiment, &points(&reported.experiment))
    };
    experiments.iter().fold(files, read).check()?;
    arguments.places.make()?;
    for page in pages.iter().map(|name| folder.join(name)) {
        let is_page = |old: Vec<u8>| old.is_empty() || String::from_utf8_lossy(&old).contains("wormcast");
        if std::fs::read(&page).is_ok_and(|old| !is_page(old)) {
            Failure::warn(&format!("`{}` was no report, and is replaced", page.display()));
        }
    }
    let write = |name: &str, text: &str| write_file(&folder.join(name), text.as_bytes()).map_err(Failure::failed);
    write(&format!("{name}.html"), &page.html())?;
    write(&format!("{name}.md"), &page.markdown(""))?;
    for (name, svg) in page.plots() {
        write(name, svg)?;
    }
    let written = ["html", "md"].map(|ending| folder.join(format!("{name}.{ending}")).display().to_string());
    writeln!(out, "Wrote {}.", written.join(", "))?;
    out.flush()?;
    let summaries = experiments.iter().flat_map(|reported| &reported.findings.summaries);
    unless_deadlocked(summaries.map(|summary| summary.outcome == Outcome::Deadlocked), None)
}
