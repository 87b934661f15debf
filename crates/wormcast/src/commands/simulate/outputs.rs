//! The files of a run: its timeline, its deliveries, the use of channels, what buffers hold.

use std::cell::Cell;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::super::output::{Files, check_ending, finish_file, is_output};
use super::Arguments;
use super::at_end::AtEnd;
use crate::failure::Failure;
use crate::lab::{Experiment, Kind, OutputError, OutputFile, Point, PointSpec, check_file};
use crate::network::ChannelSpace;
use crate::network::input::input_name;
use crate::network::watch::{ask, step};
use crate::program;
use crate::simulation::{
    BufferLog, ChannelUse, Cycle, DeliveryLog, Observer, Replay, ReplayRun, RunResult, Scenario, SimulationError,
    Timeline, one_thread_because, replay_settings, simulate_observed, simulate_on,
};
use crate::work::SIMULATING;

/// Runs, and writes the files that are asked for.
pub(super) fn observed(
    arguments: &Arguments,
    scenario: &Scenario,
    spec: &PointSpec,
    end: &mut AtEnd,
    out: &mut dyn Write,
) -> Result<Result<RunResult, SimulationError>, Failure> {
    let Arguments { timeline, replay, deliveries, channels, buffers, threads, .. } = arguments;
    let (network, config) = (scenario.network(), scenario.engine_config());
    let space = ChannelSpace::new(network, config.ports);
    let mut free: Option<Box<dyn Write + '_>> = Some(Box::new(out));
    let mut open = |path: &Option<PathBuf>| path.as_deref().map(|path| Output::open(path, &mut free)).transpose();
    let window = || arguments.timeline_window.clone().unwrap_or(0..Cycle::MAX);
    let drawn = |file| {
        let timeline = Timeline::new(network, space, scenario.cycle_ns(), config.startup, file);
        timeline.with_virtual_channels(config.virtual_channels).within(window())
    };
    let (drawn, logged, used) = (open(timeline)?.map(drawn), open(deliveries)?, open(channels)?);
    let recorded = open(replay)?.map(|file| Replay::new(network, space, file));
    let mut observer = (
        (drawn, recorded),
        (
            deliveries.as_deref().map(|path| DeliveryLog::new(scratch(path))),
            (channels.as_ref().map(|_| ChannelUse::new(network, space)), open(buffers)?.map(BufferLog::new)),
        ),
    );
    step(SIMULATING, "cycles with events", 0, 0);
    let AtEnd { shares, waits, interrupted } = end;
    let mut interruption = Interruption::default();
    let mut always = (shares, &mut interruption);
    let result = match (&observer, waits) {
        // An engine compiled for these alone asks for nothing else.
        (((None, None), (None, (None, None))), None) => simulated(scenario, spec, &mut always, *threads),
        (((None, None), (None, (None, None))), waits) => alone(scenario, spec, &mut (always, waits), *threads),
        (_, waits) => alone(scenario, spec, &mut ((always, waits), &mut observer), *threads),
    };
    let Ok(run) = &result else { return Ok(result) };
    *interrupted = interruption.stopped.get();
    let finished = |path: &Path, written| finished(path, written, *interrupted);
    let ((drawn, recorded), (log, (uses, sampled))) = observer;
    if let (Some(path), Some(drawn)) = (timeline, drawn) {
        finished(path, drawn.finish())?;
    }
    if let (Some(path), Some(recorded)) = (replay, recorded) {
        let settings = replay_settings(scenario, &run.engine, spec.seed);
        let program = format!("wormcast {}", program::version());
        let run = ReplayRun {
            program: &program,
            title: &format!("{} on {}", spec.algorithm, input_name(&spec.topology)),
            topology: &spec.topology,
            algorithm: &spec.algorithm,
            settings: &settings,
            deadlock: run.deadlock.as_ref(),
            interrupted: *interrupted,
        };
        finished(path, recorded.finish(&run))?;
    }
    if let (Some(path), Some(log), Some(mut file)) = (deliveries, log, logged) {
        finished(path, log.write_csv(&mut file).map(|()| file))?;
    }
    if let (Some(path), Some(uses), Some(mut file)) = (channels, uses, used) {
        finished(path, uses.write_csv(BufWriter::new(&mut file)).map(|()| file))?;
    }
    if let (Some(path), Some(sampled)) = (buffers, sampled) {
        finished(path, sampled.finish())?;
    }
    Ok(result)
}

/// Simulates on as many threads as are asked for and can share the run.
fn simulated<O: Observer>(
    scenario: &Scenario,
    spec: &PointSpec,
    observer: &mut O,
    threads: NonZeroUsize,
) -> Result<RunResult, SimulationError> {
    /// Routers for each thread from which threads pay, on cores that do nothing else.
    const EACH: usize = 1 << 11;
    warn_if_alone::<O>(scenario, spec, threads);
    let routers = scenario.network().routers();
    if threads > NonZeroUsize::MIN
        && routers < EACH.saturating_mul(threads.get())
        && one_thread_because::<O>(scenario, spec.engine).is_none()
    {
        Failure::warn(&format!(
            "`--threads {threads}`: a network of {routers} routers is simulated sooner on fewer threads, and far sooner if cores are busy; threads pay from some {EACH} routers each on"
        ));
    }
    simulate_on(scenario, spec.engine, spec.seed, observer, threads)
}

/// Simulates for an observer that wants one thread, so that no others are compiled for it.
fn alone<O: Observer>(
    scenario: &Scenario,
    spec: &PointSpec,
    observer: &mut O,
    threads: NonZeroUsize,
) -> Result<RunResult, SimulationError> {
    warn_if_alone::<O>(scenario, spec, threads);
    simulate_observed(scenario, spec.engine, spec.seed, observer)
}

fn warn_if_alone<O: Observer>(scenario: &Scenario, spec: &PointSpec, threads: NonZeroUsize) {
    if threads > NonZeroUsize::MIN {
        warn_of_one_thread(threads, one_thread_because::<O>(scenario, spec.engine));
    }
}

/// Says why a run has one thread though more are asked for.
pub(super) fn warn_of_one_thread(threads: NonZeroUsize, reason: Option<&str>) {
    if let (true, Some(reason)) = (threads > NonZeroUsize::MIN, reason) {
        Failure::warn(&format!("`--threads {threads}`: the run has one thread, as {reason}"));
    }
}

/// Ends a run that is interrupted, with what it has.
#[derive(Default)]
struct Interruption {
    cycles: Cell<usize>,
    stopped: Cell<bool>,
}

impl Observer for Interruption {
    const RELEASES: bool = false;
    const CHANNELS: bool = false;

    #[inline]
    fn done(&self) -> bool {
        // Called in every cycle in which something happens.
        const SELDOM: usize = 1 << 10;
        let cycles = self.cycles.get() + 1;
        self.cycles.set(cycles);
        if cycles.is_multiple_of(SELDOM) && ask(SIMULATING, "cycles with events", cycles, 0).is_break() {
            self.stopped.set(true);
        }
        self.stopped.get()
    }
}

/// Whether the files that are asked for can be written, and there is something to write; whether one is standard output.
pub(super) fn check_outputs(
    arguments: &Arguments,
    scenario: &Scenario,
    experiment: &Experiment,
    point: &Point,
) -> Result<bool, Failure> {
    let outputs = [
        ("--timeline", &arguments.timeline),
        ("--replay", &arguments.replay),
        ("--deliveries", &arguments.deliveries),
        ("--channels", &arguments.channels),
        ("--buffers", &arguments.buffers),
        ("--waits", &arguments.waits),
        ("--heat-map", &arguments.heat_map),
    ];
    if arguments.buffers.is_some() && scenario.switch_config().is_none() {
        let message = "`--buffers` writes what buffered switches hold: set `switching.model` to `central-buffer` or `input-buffer`";
        return Err(Failure::BadInput(message.to_owned()));
    }
    if let (Kind::Planned, Some((option, _))) = (point.spec.kind(), outputs.iter().find(|(_, path)| path.is_some())) {
        let message =
            format!("`{option}` writes what happens in time, of which `mode = \"plan\"` knows nothing: leave it out");
        return Err(Failure::BadInput(message));
    }
    let files = outputs.iter().fold(Files::default(), |files, (option, path)| files.writes(option, path.as_deref()));
    let read = files.reads_experiment(arguments.experiment.file(), experiment, std::slice::from_ref(point));
    let data_on_output = read.check()?;
    for (option, path, endings) in [
        ("--timeline", &arguments.timeline, "`.json`"),
        ("--replay", &arguments.replay, "`.replay`"),
        ("--deliveries", &arguments.deliveries, "`.csv`"),
        ("--channels", &arguments.channels, "`.csv`"),
        ("--buffers", &arguments.buffers, "`.csv`"),
        ("--waits", &arguments.waits, "`.svg`, `.dot` or `.json`"),
        ("--heat-map", &arguments.heat_map, "`.svg`"),
    ] {
        check_ending(option, path.as_deref(), endings)?;
    }
    for path in outputs.iter().filter_map(|(_, path)| path.as_ref()).filter(|path| !is_output(path)) {
        check_file(path).map_err(Failure::failed)?;
    }
    Ok(data_on_output)
}

/// Cycles as `FROM:TO`.
pub(super) fn window(text: &str) -> Result<Range<Cycle>, String> {
    let expected = "expected two cycles, as in `1000:2000`, `1000:` or `:2000`";
    let (from, to) = text.split_once(':').ok_or(expected)?;
    if [from, to].iter().all(|cycle| cycle.trim().is_empty()) {
        return Err(expected.to_owned());
    }
    let cycle = |text: &str, none| match text.trim() {
        "" => Ok(none),
        text => text.parse::<Cycle>().map_err(|_| format!("`{text}` is no cycle; {expected}")),
    };
    let window = cycle(from, 0)?..cycle(to, Cycle::MAX)?;
    if window.is_empty() {
        let fault = if window.start == window.end { "it is empty" } else { "it ends before it starts" };
        return Err(format!("{fault}; {expected}"));
    }
    Ok(window)
}

/// The folder for temporary files: that of a file, which has to have space for it.
fn scratch(path: &Path) -> PathBuf {
    match path.parent() {
        _ if is_output(path) || path.starts_with("/dev") => std::env::temp_dir(),
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Where a file goes that is written while the run lasts.
enum Output<'a> {
    File(OutputFile),
    Standard(Box<dyn Write + 'a>),
}

impl<'a> Output<'a> {
    /// `standard` is standard output, until somebody takes it.
    fn open(path: &Path, standard: &mut Option<Box<dyn Write + 'a>>) -> Result<Self, Failure> {
        match standard.take_if(|_| is_output(path)) {
            Some(out) => Ok(Self::Standard(out)),
            None => OutputFile::create(path).map(Self::File).map_err(Failure::failed),
        }
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Standard(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Standard(out) => out.flush(),
        }
    }
}

/// Ends a file that has been written.
fn finished(path: &Path, written: io::Result<Output<'_>>, interrupted: bool) -> Result<(), Failure> {
    match written {
        Ok(Output::File(file)) => finish_file(file, path, interrupted),
        Ok(Output::Standard(_)) => Ok(()),
        Err(reason) if is_output(path) => Err(Failure::Output(reason)),
        Err(reason) => Err(Failure::failed(OutputError { path: path.to_owned(), reason })),
    }
}
