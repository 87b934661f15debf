//! The arguments that name an experiment, for all subcommands that take one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::Failure;
use crate::lab::report::argument;
use crate::lab::{Experiment, Job, Override, Point};

/// An experiment file and settings beside it.
#[derive(Args)]
pub(crate) struct ExperimentArguments {
    /// The experiment file (TOML), `-` for standard input; without it, the built-in experiment: latency against arrival rate for 10 destinations in a
    /// 16x16 mesh.
    #[arg(value_name = "EXPERIMENT.toml")]
    file: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingArguments,
}

/// Settings beside an experiment file.
#[derive(Args)]
pub(crate) struct SettingArguments {
    /// A setting that replaces the file's: `--set switching.buffer=4`; can be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The quick version of the experiment, if its file has one: settings of its table `quick`.
    #[arg(long)]
    quick: bool,
    /// A variation of the experiment: settings of its table `variation.NAME`.
    #[arg(long, value_name = "NAME")]
    variation: Option<String>,
}

impl ExperimentArguments {
    /// The experiment file, unless it is the built-in one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Reads the experiment; `options` are (option, setting, value) of other arguments that stand for settings.
    pub(crate) fn read(&self, options: &[(&str, &str, String)]) -> Result<Experiment, Failure> {
        self.settings.read(self.file.as_deref(), options)
    }

    /// As [`read`](Self::read), for a single run, which does not look at the sweep.
    pub(crate) fn read_for_one_run(&self, options: &[(&str, &str, String)]) -> Result<Experiment, Failure> {
        self.settings.read_where(self.file.as_deref(), options, |given| !given.is_of_a_sweep())
    }

    /// The arguments as words of a command.
    pub(crate) fn words(&self) -> Vec<String> {
        let file = self.file.iter().map(|file| argument(file));
        file.chain(self.settings.words()).collect()
    }

    /// Warns of settings beside the file that a single run does not look at.
    pub(crate) fn warn_of_a_sweeps(&self) {
        for assignment in &self.settings.set {
            let setting = assignment.strip_prefix("quick.").unwrap_or(assignment);
            let root = setting.split(['.', '=']).next().unwrap_or_default().trim();
            if ["stop", "plot", "claim", "sweep"].contains(&root) {
                Failure::warn(&format!("--set {assignment}: `{root}` makes no difference to a single run"));
            }
        }
    }
}

impl SettingArguments {
    /// The settings as words of a command.
    pub(crate) fn words(&self) -> Vec<String> {
        let Self { set, quick, variation } = self;
        let set = set.iter().flat_map(|assignment| ["--set".to_owned(), assignment.clone()]);
        let quick = quick.then(|| "--quick".to_owned());
        let variation = variation.iter().flat_map(|name| ["--variation".to_owned(), name.clone()]);
        set.chain(quick).chain(variation).collect()
    }

    /// Reads the experiment of a file, or the built-in one, with these settings; `options` as for [`ExperimentArguments::read`].
    pub(crate) fn read(&self, file: Option<&Path>, options: &[(&str, &str, String)]) -> Result<Experiment, Failure> {
        self.read_where(file, options, |_| true)
    }

    /// As [`read`](Self::read), where only some of the settings can replace others.
    fn read_where(
        &self,
        file: Option<&Path>,
        options: &[(&str, &str, String)],
        matters: fn(&Override) -> bool,
    ) -> Result<Experiment, Failure> {
        let mut overrides = Vec::new();
        for assignment in &self.set {
            overrides.push(Override::set(assignment).map_err(Failure::diagnostic)?);
        }
        overrides.extend(options.iter().map(|(option, key, value)| Override::option(option, key, value)));
        let mattering: Vec<Override> = overrides.iter().filter(|given| matters(given)).cloned().collect();
        for replaced in Override::check(&mattering, self.quick).map_err(Failure::diagnostic)? {
            Failure::warn(&replaced);
        }
        let mut experiment = match file {
            Some(path) => Experiment::read(path, &overrides),
            None => Experiment::built_in(&overrides),
        }
        .map_err(Failure::diagnostic)?;
        if self.quick {
            if !experiment.has_quick() {
                let message =
                    format!("`{}` has no quick version: expected a table `[quick]` of settings", experiment.path());
                return Err(Failure::BadInput(message));
            }
            experiment = experiment.quick().map_err(Failure::diagnostic)?;
        }
        match &self.variation {
            Some(name) => experiment.variation(name).map_err(Failure::diagnostic),
            None => Ok(experiment),
        }
    }
}

/// Warns of settings that are given although they make no difference at any of these points, of names in their networks that mislead, and of files that may not be whole.
pub(super) fn warn_of_idle(experiment: &Experiment, points: &[Point], jobs: &[Job]) -> Result<(), Failure> {
    let idle = |index: usize| jobs[index].idle_settings();
    for setting in experiment.idle_settings(points, idle).map_err(Failure::diagnostic)? {
        Failure::warn(&setting.to_string());
    }
    let told: BTreeSet<String> = jobs.iter().flat_map(Job::doubts).collect();
    for told in told {
        Failure::warn(&told);
    }
    Ok(())
}
