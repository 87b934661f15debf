//! Results that go to files, or to standard output under the name `-`.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::lab::{Experiment, OutputError, OutputFile, Plot, Point, ending_of_one_kind, file_place, write_file};
use crate::network::TopologySpec;
use crate::network::input::is_standard_input;
use crate::simulation::REPLAY_MAGIC;

/// The path of a store, as an argument names it.
pub(crate) fn store_file(path: &str) -> Result<PathBuf, String> {
    if path.is_empty() || is_standard_input(path) {
        return Err("a store is a file: expected its name".to_owned());
    }
    let path = PathBuf::from(path);
    match ending_of_one_kind(&path) {
        Some(_) => Err("this is the name of a file of another kind: expected one that ends in `.db`".to_owned()),
        None => Ok(path),
    }
}

/// Refuses the names of files of other kinds than an option writes.
pub(super) fn check_ending(option: &str, path: Option<&Path>, endings: &str) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    if ending_of_one_kind(path).is_none_or(|ending| endings.contains(&format!("`.{ending}`"))) {
        return Ok(());
    }
    let path = path.display();
    Err(Failure::BadInput(format!("`{option}` writes no `{path}`: expected a name that ends in {endings}")))
}

/// Writes a plot as `STEM.svg` and `STEM.png`, and says of which characters the latter has no picture.
pub(super) fn write_plot(
    stem: &str,
    plot: &Plot,
    mut write: impl FnMut(&str, &[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    write(&format!("{stem}.svg"), plot.svg.as_bytes())?;
    write(&format!("{stem}.png"), &plot.png)?;
    let missing: Vec<String> = plot.missing_from_png().chars().map(String::from).collect();
    if !missing.is_empty() {
        let letters = crate::network::text::quoted(missing.iter().map(String::as_str));
        Failure::warn(&format!("the plot's PNG shows empty boxes for {letters}, which its font lacks; use the SVG"));
    }
    Ok(())
}

/// Whether a path stands for standard output. Opening that a second time would let the two overwrite each other.
pub(super) fn is_output(path: impl AsRef<Path>) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path.as_ref() == Path::new(name))
}

/// Writes a file, or to standard output, which is `out`.
pub(super) fn write_to(path: impl AsRef<Path>, contents: &[u8], out: &mut dyn Write) -> Result<(), Failure> {
    if is_output(&path) {
        return Ok(out.write_all(contents)?);
    }
    write_file(path.as_ref(), contents).map_err(Failure::failed)
}

/// Puts a file of a run in its place. What there is of one whose run was interrupted takes another name, which is said on standard error: a
/// complete file of an earlier run stays.
pub(super) fn finish_file(file: OutputFile, path: &Path, interrupted: bool) -> Result<(), Failure> {
    if !interrupted {
        return file.finish().map_err(Failure::failed);
    }
    if let Some(partial) = file.finish_partial().map_err(Failure::failed)? {
        let (path, partial) = (path.display(), partial.display());
        Failure::warn(&format!("`{path}` is not written: the run was interrupted, and what it has is in `{partial}`"));
    }
    Ok(())
}

/// Writes a file of a run, as [`finish_file`] ends it, or to standard output, which is `out`.
pub(super) fn write_of_run(
    path: &Path,
    contents: &[u8],
    interrupted: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if !interrupted || is_output(path) {
        return write_to(path, contents, out);
    }
    let mut file = OutputFile::create(path).map_err(Failure::failed)?;
    let written = file.write_all(contents);
    written.map_err(|reason| Failure::failed(OutputError { path: path.to_owned(), reason }))?;
    finish_file(file, path, interrupted)
}

/// Where the summary goes: to standard output, or, if data go there, to standard error.
pub(super) fn summary<'a>(data_on_output: bool, out: &'a mut dyn Write) -> Box<dyn Write + 'a> {
    if data_on_output { Box::new(io::stderr()) } else { Box::new(out) }
}

/// The files that a command writes and reads, each by the option that names it or by what it is.
#[derive(Default)]
pub(super) struct Files {
    outputs: Vec<(String, PathBuf)>,
    inputs: Vec<(String, PathBuf)>,
}

impl Files {
    /// Adds a file that is written, if there is one.
    pub(super) fn writes(mut self, what: &str, path: Option<impl AsRef<Path>>) -> Self {
        self.outputs.extend(path.map(|path| (quoted(what), path.as_ref().to_owned())));
        self
    }

    /// Adds a file that is read, if there is one.
    pub(super) fn reads(mut self, what: &str, path: Option<impl AsRef<Path>>) -> Self {
        let file = path.filter(|path| !is_standard_input(path));
        self.inputs.extend(file.map(|path| (quoted(what), path.as_ref().to_owned())));
        self
    }

    /// Adds the file that a topology is read from, if it is one.
    pub(super) fn reads_topology(self, spec: &str) -> Self {
        match spec.parse() {
            Ok(TopologySpec::File(path)) => self.reads("--topology", Some(path)),
            _ => self,
        }
    }

    /// Adds an experiment file, and what it names.
    pub(super) fn reads_experiment(self, file: Option<&Path>, experiment: &Experiment, points: &[Point]) -> Self {
        let named: BTreeSet<_> = points.iter().flat_map(|point| experiment.files(point)).collect();
        let experiment = self.reads("the experiment", file);
        named.into_iter().fold(experiment, |files, (setting, path)| files.reads(&format!("`{setting}`"), Some(path)))
    }

    /// Whether one of the outputs goes to standard output.
    ///
    /// Refuses two that go there, where they would be mixed, two that go to one file, where one of them would be lost, and one that would
    /// take the place of an input, or of another experiment, network or store.
    pub(super) fn check(&self) -> Result<bool, Failure> {
        let mut places: HashMap<PathBuf, &str> = HashMap::new();
        let mut on_output: Option<&str> = None;
        for (what, path) in &self.outputs {
            if is_output(path) {
                if let Some(other) = on_output.replace(what) {
                    let message = format!("{other} and {what} both write to standard output: give one of them a file");
                    return Err(Failure::BadInput(message));
                }
                continue;
            }
            let Some(place) = file_place(path) else { continue };
            if let Some((input, _)) = self.inputs.iter().find(|(_, input)| file_place(input).as_ref() == Some(&place)) {
                let path = path.display();
                let message = format!("{what} would write `{path}`, which is read as {input}: choose another file");
                return Err(Failure::BadInput(message));
            }
            if let Some(kind) = replaced_input(path, what) {
                let path = path.display();
                return Err(Failure::BadInput(format!("{what} would replace `{path}`, {kind}: choose another file")));
            }
            if let Some(other) = places.insert(place, what) {
                let path = path.display();
                return Err(Failure::BadInput(format!("{other} and {what} both name `{path}`: choose two files")));
            }
        }
        Ok(on_output.is_some())
    }
}

/// What kind of input a file is, if it is one that this output option does not write. Whoever forgets the name of an output gives the name of an input in its place.
fn replaced_input(path: &Path, what: &str) -> Option<&'static str> {
    const STORE: &[u8] = b"SQLite format 3\0";
    /// Longer texts than experiments are.
    const MOST: u64 = 1 << 20;
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|found| found.is_file()))?;
    let mut content = Vec::new();
    file.take(MOST).read_to_end(&mut content).ok()?;
    if content.starts_with(STORE) {
        return (what != "`--store`").then_some("a result store");
    }
    if content.starts_with(&REPLAY_MAGIC) {
        return (what != "`--replay`").then_some("a recorded run");
    }
    let text = String::from_utf8_lossy(&content);
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
    let kind = match &*ending {
        "toml" => Some(Input::Experiment),
        // Reports have experiments in them.
        "html" | "md" => None,
        "net" | "edges" | "edgelist" | "graphml" | "anynet" | "ibsim" | "topofile" | "topo" | "ibnetdiscover" => {
            Some(Input::Network)
        }
        "lfts" => Some(Input::Tables),
        "mcfdbs" => Some(Input::MulticastTables),
        // Timelines may be called so, too.
        "trace" if !text.starts_with(['{', '[']) => Some(Input::Trace),
        _ => Input::of(&text),
    };
    kind.filter(|kind| !kind.is_written_by(what)).map(Input::name)
}

/// Inputs that are texts.
#[derive(Clone, Copy)]
enum Input {
    Experiment,
    Network,
    Tables,
    MulticastTables,
    Trace,
}

impl Input {
    /// What a text is that could be called anything. No table, timeline or picture that is written looks like any of these.
    fn of(text: &str) -> Option<Self> {
        let is_topology = |line: &str| {
            let value = line.trim_start().strip_prefix("topology").map(str::trim_start);
            value.is_some_and(|value| value.starts_with('='))
        };
        let first = || text.trim_start_matches('\u{feff}').lines().map(str::trim).find(|line| !line.is_empty());
        let is_list = |name: &str| {
            let mut found = text.match_indices(name).map(|(at, _)| text[at + name.len()..].trim_start());
            found.any(|rest| rest.strip_prefix(':').is_some_and(|rest| rest.trim_start().starts_with('[')))
        };
        let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or("");
        let words: Vec<&str> = line.split_whitespace().take(5).collect();
        let is_number = |place: usize| words.get(place).is_some_and(|word| word.parse::<u64>().is_ok());
        let dumped = ["Unicast lids", "osm_ucast_mgr_dump", "Switch: guid", "Channel Adapter "];
        match line.split([' ', '\t', '=']).next().unwrap_or_default() {
            _ if text.lines().any(is_topology) => Some(Self::Experiment),
            _ if dumped.iter().any(|start| line.starts_with(start)) => Some(Self::Tables),
            "Switch" if words.get(1).is_some_and(|word| word.starts_with("0x")) => Some(Self::MulticastTables),
            "Switch" | "Hca" | "Ca" | "Rt" | "vendid" | "devid" | "sysimgguid" | "switchguid" | "caguid" => {
                Some(Self::Network)
            }
            "router" if words.get(2).is_some_and(|&word| ["node", "router"].contains(&word)) => Some(Self::Network),
            _ if text.contains("<graphml") => Some(Self::Network),
            _ if first().is_some_and(|line| line.starts_with('{'))
                && is_list("\"nodes\"")
                && (is_list("\"links\"") || is_list("\"edges\"")) =>
            {
                Some(Self::Network)
            }
            _ if words.len() == 4 && is_number(0) && is_number(2) => Some(Self::Trace),
            _ if [2, 3].contains(&words.len()) && is_number(0) && is_number(1) => Some(Self::Network),
            _ => None,
        }
    }

    /// Whether an output option writes such files.
    fn is_written_by(self, what: &str) -> bool {
        match self {
            Self::Experiment | Self::Network => false,
            Self::Tables => ["`--export`", "`--repair`"].contains(&what),
            Self::MulticastTables => ["`--export-multicast`", "`--repair`"].contains(&what),
            Self::Trace => what == "`--witness`",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Experiment => "an experiment",
            Self::Network => "a network",
            Self::Tables => "forwarding tables",
            Self::MulticastTables => "multicast tables",
            Self::Trace => "a trace of messages",
        }
    }
}

/// An option in backticks; other words as they are.
fn quoted(what: &str) -> String {
    if what.starts_with('-') { format!("`{what}`") } else { what.to_owned() }
}
