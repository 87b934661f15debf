//! Experiments: files read, checked and unrolled into points.

pub(crate) mod axis;
mod blame;
pub(crate) mod claim;
mod claims;
pub(crate) mod diagnostic;
pub(crate) mod document;
pub(crate) mod file;
pub(crate) mod file_name;
pub(crate) mod idle;
mod measured;
mod name;
pub(crate) mod open;
mod plain;
pub(crate) mod point;
pub(crate) mod schema;
mod versions;
mod with;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::DeValue;
use wormcast_multicast::{DUAL_PATH, Descriptor};
use wormcast_network::TopologySpec;
use wormcast_network::input::{STANDARD_INPUT, input_name, is_standard_input, read_input};
use wormcast_routing::RoutingDescriptor;
use wormcast_simulation::{Switching, Traffic};

use self::measured::MayHave;
pub use self::name::file_part;
use crate::experiment::axis::{Axis, AxisValue, MAX_POINTS, axes};
use crate::experiment::claim::Claim;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::document::{Document, Override, Tree};
use crate::experiment::file::{ExperimentFile, PlotSettings, RoutingForm, Scale, Stop, TimeUnit};
use crate::experiment::open::{OpenSetting, open_settings};
use crate::experiment::point::{Coordinate, Point, PointSpec, sha256};
use crate::figure::{Figure, setting_unit};
use crate::runs::kind::Kind;
use crate::runs::scenarios::drawn_with;
use crate::statistics::quantity::Quantity;
use crate::verdict::position;

/// The most bytes of an experiment file.
const MAX_BYTES: u64 = 16 << 20;

/// The stand-in for the path of the built-in experiment, and its name.
const BUILT_IN_PATH: &str = "(built-in experiment)";
const BUILT_IN_NAME: &str = "mesh-latency-10";

const BUILT_IN: &str = include_str!("../../experiments/mesh-latency-10.toml");

/// An experiment file with its overrides: one configuration, or a sweep.
///
/// ```
/// use wormcast_lab::Experiment;
///
/// let text = r#"
/// topology = "mesh:4x4"
/// traffic.arrivals = { process = "poisson", rate = 0.01 }
/// traffic.multicast.destinations = 3
/// [sweep]
/// algorithm = ["dual-path", "column-path"]
/// traffic.arrivals.rate = { from = 0.01, to = 0.03, points = 3 }
/// "#;
/// let experiment = Experiment::parse("example.toml", text, &[])?;
/// let points = experiment.points()?;
/// assert_eq!(points.len(), 6);
/// assert_eq!(points[1].label(), "algorithm=dual-path traffic.arrivals.rate=0.02");
/// let error = Experiment::parse("example.toml", "topologie = 'mesh:4x4'", &[]).unwrap_err();
/// assert!(error.to_string().starts_with("example.toml:1:1: unknown setting `topologie`"));
/// assert!(error.to_string().ends_with("did you mean `topology`?"));
/// # Ok::<(), wormcast_lab::Diagnostic>(())
/// ```
#[derive(Clone, Debug)]
pub struct Experiment {
    document: Document,
    directory: PathBuf,
    title: String,
    /// The title that the file gives.
    file_title: String,
    /// The name for its files, if it was given one.
    name: Option<String>,
    stop: Stop,
    plot: PlotSettings,
    axes: Vec<Axis>,
    claims: Vec<Claim>,
    /// The file as it stands, if overrides or versions change other things than claims: what claims are about.
    declared: Option<Box<Self>>,
    open: Vec<OpenSetting>,
    /// The swept settings that an override takes out of the sweep.
    fixed: Vec<Axis>,
    /// The values that these have instead, where they have one.
    settled: Vec<Coordinate>,
    /// What runs do at the first point.
    kind: Kind,
    /// Whether runs may have buffered switches, and messages of both kinds.
    may_have: MayHave,
}

impl Experiment {
    /// The experiment that the program carries: latency against arrival rate for 10 destinations in a 16x16 mesh.
    pub const BUILT_IN: &'static str = BUILT_IN;

    /// Reads an experiment file; `-` is standard input, and files that this one names are then relative to the present directory.
    ///
    /// # Errors
    /// If it cannot be read, and as [`parse`](Self::parse).
    pub fn read(path: &Path, overrides: &[Override]) -> Result<Self, Diagnostic> {
        let name = input_name(&path.display().to_string()).to_owned();
        let unreadable = |error| Diagnostic::file(&name, format!("cannot read the experiment file: {error}"));
        // A device may have no end.
        let bytes = read_input(path, "the experiment file", MAX_BYTES + 1).map_err(unreadable)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(Diagnostic::file(
                &name,
                format!("this is no experiment file: it has more than {MAX_BYTES} bytes"),
            ));
        }
        if bytes.starts_with(b"SQLite format 3\0") {
            return Err(Diagnostic::file(
                &name,
                "this is a result store, which `--store` takes: expected an experiment",
            ));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let (good, bytes) = (error.utf8_error().valid_up_to(), error.as_bytes());
            let text = String::from_utf8_lossy(bytes).into();
            let message = format!("this is no text: the byte {:#04x} is not UTF-8 here", bytes[good]);
            Diagnostic::text(&name, &text, good..good + 1, message)
        })?;
        Self::parse(&name, &text, overrides)
    }

    /// The built-in experiment, [`BUILT_IN`](Self::BUILT_IN), with overrides.
    ///
    /// # Errors
    /// If an override is invalid.
    pub fn built_in(overrides: &[Override]) -> Result<Self, Diagnostic> {
        Self::parse(BUILT_IN_PATH, BUILT_IN, overrides)
    }

    /// Takes the text of an experiment file, whose path is for messages and for what the file names relative to itself, and applies
    /// overrides in their order. An override of a swept setting takes it out of the sweep; one of `quick.KEY` is one of KEY in the
    /// [quick version](Self::quick) alone.
    ///
    /// # Errors
    /// If the text is not TOML, or a setting is unknown, of the wrong type or impossible.
    pub fn parse(path: &str, text: &str, overrides: &[Override]) -> Result<Self, Diagnostic> {
        let document = Document::new(path, text, overrides);
        let experiment = Self::of(&document)?;
        let checked = experiment.check_versions();
        let asks = checked.is_err() && !overrides.iter().any(Override::is_of_a_version);
        match document.file_alone().filter(|_| asks) {
            // What an override leaves no room for in a version is said to those who ask for it.
            Some(alone) if Self::of(&alone).is_ok_and(|file| file.check_versions().is_ok()) => {}
            _ => checked?,
        }
        Ok(experiment)
    }

    /// What is wrong with versions is said before anybody asks for them.
    fn check_versions(&self) -> Result<(), Diagnostic> {
        let quick = self.quick()?;
        self.check_open()?;
        for name in self.variations() {
            self.variation(&name)?;
            quick.variation(&name)?;
        }
        Ok(())
    }

    fn of(document: &Document) -> Result<Self, Diagnostic> {
        let (mut tree, paths) = document.tree()?;
        let sweep = tree.remove("sweep");
        let declared = sweep.as_ref().map_or_else(|| Ok(Vec::new()), |sweep| axes(document, sweep))?;
        let (fixed, kept): (Vec<Axis>, Vec<Axis>) = declared.into_iter().partition(|axis| paths.contains(&axis.path));
        let mut settled = Vec::new();
        for axis in &fixed {
            if let Some(value) = Document::at(&tree, &axis.path) {
                settled.push(Coordinate { key: axis.key.clone(), value: document.typed_value(value.clone())? });
            }
        }
        let points = kept.iter().try_fold(1usize, |product, axis| product.checked_mul(axis.values.len()));
        if points.is_none_or(|points| points > MAX_POINTS) {
            let span = Document::place(&document.tree()?.0, "sweep");
            return Err(document.error(span, format!("the sweep has more than {MAX_POINTS} points")));
        }
        let mut experiment = Self {
            directory: Path::new(&document.path).parent().unwrap_or(Path::new("")).to_owned(),
            title: String::new(),
            file_title: String::new(),
            name: None,
            stop: Stop::default(),
            plot: PlotSettings::default(),
            axes: kept,
            claims: Vec::new(),
            declared: Self::declared(document, &tree),
            open: open_settings(document, &tree)?,
            fixed,
            settled,
            kind: Kind::Simulated,
            may_have: MayHave::default(),
            document: document.clone(),
        };
        if let Some(claim) = tree.get("claim").filter(|claim| claim.get_ref().is_table()) {
            return Err(document.error(claim.span(), "claims are a list of tables: write `[[claim]]` for each"));
        }
        // The first point stands for all: what only the sweep gives is then there.
        let file = experiment.settings(&vec![0; experiment.axes.len()])?;
        experiment.file_title = file.title;
        experiment.title = experiment.true_title();
        experiment.stop = file.stop;
        experiment.plot = file.plot;
        experiment.claims = file.claim;
        experiment.kind = Kind::of(file.run.mode);
        let mut switchings = experiment.check_with(&tree)?;
        switchings.push(file.switching);
        experiment.may_have = MayHave::of(&experiment.axes, &switchings, &file.traffic);
        experiment.check_stop(&tree)?;
        experiment.check_plot(&tree)?;
        // Those of the file are checked there.
        let claims = if experiment.declared.is_some() { 0 } else { experiment.claims.len() };
        for index in 0..claims {
            experiment.check_claim(&tree, index)?;
        }
        Ok(experiment)
    }

    /// The file as it stands, if this is something else with the same claims.
    fn declared(document: &Document, tree: &Tree<'_>) -> Option<Box<Self>> {
        let file = document.file_alone()?;
        let span = |tree: &Tree<'_>| tree.get("claim").map(Spanned::span);
        let same = span(tree).is_some() && file.tree().is_ok_and(|(alone, _)| span(&alone) == span(tree));
        // Where overrides mend the file, there is nothing else that claims could be about.
        same.then(|| Self::of(&file).ok().map(Box::new)).flatten()
    }

    /// What its claims are about: the axes, the quantity and the unit of the file that makes them, whatever is run of it.
    pub(crate) fn claimed(&self) -> &Self {
        self.declared.as_deref().unwrap_or(self)
    }

    /// What the experiment shows: the file's title, or, since that may speak of what overrides change, its name with them. May be
    /// empty.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The text of the file.
    pub fn text(&self) -> &str {
        &self.document.text
    }

    /// The path that the experiment was read from.
    pub fn path(&self) -> &str {
        &self.document.path
    }

    /// How precise each point has to be.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The dotted paths of the swept settings, outermost first; empty without a sweep.
    pub fn swept(&self) -> Vec<&str> {
        self.axes.iter().map(|axis| axis.key.as_str()).collect()
    }

    /// The single configuration: swept settings have the value that they have outside the sweep.
    ///
    /// # Errors
    /// If a swept setting has no such value, naming the option that gives it one; and as [`points`](Self::points).
    pub fn point(&self) -> Result<Point, Diagnostic> {
        let (tree, _) = self.document.tree()?;
        if let Some(axis) = self.axes.iter().find(|axis| !Document::has(&tree, &axis.path)) {
            let choose = |example: &str| {
                let message = format!("`{0}` is swept: choose one with `--set {0}={example}`", axis.key);
                self.document.error(axis.span.clone(), message)
            };
            // A mistake that no choice mends comes first; else one that runs is the example.
            let mut mistake = None;
            for point in self.each_point()? {
                match point.and_then(|point| self.jobs(std::slice::from_ref(&point)).map(|_| point)) {
                    Ok(point) => {
                        let example = point.coordinate(&axis.key).map_or_else(String::new, Coordinate::text);
                        return Err(choose(&example));
                    }
                    Err(error) => mistake = mistake.or(Some(error)),
                }
            }
            return Err(mistake.unwrap_or_else(|| choose("VALUE")));
        }
        let spec = self.spec(&[], self.settings(&[])?, &mut HashMap::new())?;
        Ok(Point { index: 0, coordinates: Vec::new(), spec, choice: Vec::new(), doubled: 0 })
    }

    /// All points of the sweep, the first swept setting varying slowest; without a sweep, the single configuration.
    ///
    /// # Errors
    /// If a value of the sweep is invalid, a setting that every point needs is missing, or a file that a setting names cannot
    /// be read.
    pub fn points(&self) -> Result<Vec<Point>, Diagnostic> {
        self.each_point()?.collect()
    }

    /// The points, made one by one.
    fn each_point(&self) -> Result<impl Iterator<Item = Result<Point, Diagnostic>>, Diagnostic> {
        let total: usize = self.axes.iter().map(|axis| axis.values.len()).product();
        let mut digests = HashMap::new();
        let (mut document, _) = self.document.tree()?;
        document.remove("sweep");
        Ok((0..total).map(move |index| {
            let mut rest = index;
            let mut choice = vec![0; self.axes.len()];
            for (axis, chosen) in self.axes.iter().zip(&mut choice).rev() {
                *chosen = rest % axis.values.len();
                rest /= axis.values.len();
            }
            let coordinates = self
                .axes
                .iter()
                .zip(&choice)
                .map(|(axis, &chosen)| Coordinate { key: axis.key.clone(), value: axis.values[chosen].json.clone() })
                .collect();
            let spec = self.spec(&choice, self.settings_in(document.clone(), &choice)?, &mut digests)?;
            Ok(Point { index, coordinates, spec, choice, doubled: 0 })
        }))
    }

    /// Adds a value of a swept setting between those that it has, the nearest whole one if they are whole, and says which; `None` if it has that already.
    pub(crate) fn with_value(&self, key: &str, number: f64) -> Option<(Self, f64)> {
        let mut more = self.clone();
        // Its claims are about the values that the file has.
        more.declared = Some(Box::new(self.claimed().clone()));
        let axis = more.axes.iter_mut().find(|axis| axis.key == key)?;
        // One that is not whole says that others need not be.
        let like = axis.values.iter().find(|value| value.json.is_f64()).or_else(|| axis.values.first())?;
        let value = like.beside(number);
        if axis.values.iter().any(|other| other.json == value.json) {
            return None;
        }
        let added = value.json.as_f64()?;
        axis.values.push(value);
        axis.values.sort_by(|a, b| {
            let numbers = [a, b].map(|value| value.json.as_f64().unwrap_or(f64::INFINITY));
            numbers[0].total_cmp(&numbers[1])
        });
        Some((more, added))
    }

    /// What is plotted and claimed, unless a claim says otherwise: never empty.
    pub fn quantities(&self) -> Vec<Quantity> {
        match self.plot.y.0.as_slice() {
            [] => vec![self.kind.decisive()],
            given => given.to_vec(),
        }
    }

    /// The quantities that plots and claims are about, each once.
    pub(crate) fn shown(&self) -> Vec<Quantity> {
        let mut shown = self.quantities();
        for claim in &self.claims {
            position(&mut shown, claim.y.unwrap_or_else(|| self.claimed().quantities()[0]));
        }
        shown
    }

    /// A quantity with its unit.
    pub(crate) fn shown_as(&self, quantity: Quantity) -> String {
        match self.plot.unit {
            TimeUnit::Microseconds if quantity.is_latency() => format!("{}, µs", quantity.name()),
            TimeUnit::Cycles if quantity.is_latency() => format!("{}, cycles", quantity.name()),
            _ => setting_unit(quantity.name())
                .map_or(quantity.name().to_owned(), |unit| format!("{}, {unit}", quantity.name())),
        }
    }

    /// The unit of times in plots and verdicts.
    pub fn unit(&self) -> TimeUnit {
        self.plot.unit
    }

    /// The swept setting whose values plots and claims call series.
    pub(crate) fn series_key(&self) -> String {
        self.plot.series.clone().unwrap_or_else(|| "algorithm".to_owned())
    }

    /// What is claimed.
    pub(crate) fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// The names of its claims, each once.
    pub fn claim_ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for claim in &self.claims {
            position(&mut ids, claim.id.clone());
        }
        ids
    }

    /// The sweep's plots, one for each quantity; none if there are no numbers to plot against.
    pub fn figures(&self) -> Vec<Figure> {
        let Some(first) = self.figure() else { return Vec::new() };
        self.quantities().into_iter().map(|y| Figure { y, ..first.clone() }).collect()
    }

    /// The sweep's first plot; `None` if there are no numbers to plot against.
    pub fn figure(&self) -> Option<Figure> {
        let numeric = |axis: &&Axis| axis.values.iter().all(|value| value.json.is_number());
        let axis = |key: &str| self.axes.iter().find(|axis| axis.key == key);
        let x = &self.horizontal()?;
        let series = self.plot.series.as_deref().unwrap_or("algorithm");
        // A measured load follows the first numbers that are swept, the size of a network its topology.
        let mut others = self.axes.iter().filter(|axis| axis.key != series);
        let runs = axis(x).or_else(|| match Quantity::named(x) {
            Some(Quantity::TreesSide) => others.find(|axis| axis.key.split('.').next() == Some("topology")),
            _ => others.find(numeric),
        });
        Some(Figure {
            along: runs.map(|axis| axis.key.clone()),
            title: self.plot_title(),
            log_x: self.log_x(x),
            log_y: self.plot.y_scale == Scale::Log,
            x: x.clone(),
            y: self.quantities()[0],
            series: axis(series).map(|axis| axis.key.clone()),
            unit: self.plot.unit,
            confidence: self.stop.confidence,
        })
    }

    /// The setting or load along the horizontal axis: by default the first numbers that are swept.
    fn horizontal(&self) -> Option<String> {
        let numeric = |axis: &&Axis| axis.values.iter().all(|value| value.json.is_number());
        match &self.plot.x {
            Some(x) if self.axes.iter().any(|axis| axis.key == *x) || Quantity::named(x).is_some() => Some(x.clone()),
            // Also where an override has taken that out of the sweep, and other numbers are swept.
            _ => self.axes.iter().find(numeric).map(|axis| axis.key.clone()),
        }
    }

    /// Whether a horizontal axis with this setting or load is logarithmic: as the plot says, or else as it was spaced.
    pub(crate) fn log_x(&self, x: &str) -> bool {
        let spaced = || self.axes.iter().any(|axis| axis.key == x && axis.log);
        self.plot.x_scale.map_or_else(spaced, |scale| scale == Scale::Log)
    }

    /// The file's settings at a choice of values, one for each axis, or without the sweep for an empty one.
    fn settings(&self, choice: &[usize]) -> Result<ExperimentFile, Diagnostic> {
        self.settings_in(self.document.tree()?.0, choice)
    }

    /// The file's settings at a choice of values, in a document that is parsed already.
    fn settings_in<'t>(&'t self, document: Tree<'t>, choice: &[usize]) -> Result<ExperimentFile, Diagnostic> {
        self.settings_of(self.chosen_in(document, choice)?, choice)
    }

    /// The settings of a document without its sweep.
    fn settings_of(&self, tree: Tree<'_>, choice: &[usize]) -> Result<ExperimentFile, Diagnostic> {
        self.document.check_tables(&tree)?;
        self.check_switching(&tree)?;
        let given = |key: &str| tree.get("traffic").is_some_and(|traffic| traffic.get_ref().get(key).is_some());
        if given("trace") && given("arrivals") && self.document.is_version() {
            let place = Document::place(&tree, "traffic.trace");
            return Err(self
                .document
                .error(place, "a trace replaces random traffic, and the file has `traffic.arrivals`"));
        }
        if given("trace") && given("arrivals") {
            let place = Document::place(&tree, "traffic.arrivals");
            return Err(self.document.error(place, "a trace replaces random traffic: remove this or `traffic.trace`"));
        }
        self.document.typed(tree).map_err(|problem| self.in_range(choice, problem))
    }

    /// Whether the settings of the switching belong to its model.
    fn check_switching(&self, tree: &Tree<'_>) -> Result<(), Diagnostic> {
        let Some(DeValue::Table(switching)) = tree.get("switching").map(Spanned::get_ref) else { return Ok(()) };
        let model = switching.get("model").map(|model| model.get_ref().as_str().unwrap_or_default());
        let misplaced =
            switching.keys().find_map(|key| Some((key.span(), Switching::misplaced(model, key.get_ref())?)));
        if let Some((span, problem)) = misplaced {
            return Err(self.document.error(span, problem));
        }
        // Of a model that is named, its own settings are proposed.
        let known = model.map(Switching::settings_of).unwrap_or_default();
        match switching.keys().find(|key| !known.is_empty() && !known.contains(&key.get_ref().as_ref())) {
            Some(unknown) => {
                let name = unknown.get_ref().as_ref();
                let message = format!("unknown setting `{name}` of `model = \"{}\"`", model.unwrap_or_default());
                Err(self.document.error(unknown.span(), message).expecting(name, known.iter().copied()))
            }
            None => Ok(()),
        }
    }

    /// The document without its sweep and with the chosen values.
    fn chosen(&self, choice: &[usize]) -> Result<Tree<'_>, Diagnostic> {
        self.chosen_in(self.document.tree()?.0, choice)
    }

    /// A parsed document without its sweep and with the chosen values.
    fn chosen_in<'t>(&'t self, tree: Tree<'t>, choice: &[usize]) -> Result<Tree<'t>, Diagnostic> {
        let mut tree = self.swept_in(tree, choice)?;
        self.lay_with(&mut tree);
        Ok(tree)
    }

    /// The same without the settings of the chosen algorithm.
    fn swept_in<'t>(&'t self, mut tree: Tree<'t>, choice: &[usize]) -> Result<Tree<'t>, Diagnostic> {
        tree.remove("sweep");
        for (axis, &chosen) in self.axes.iter().zip(choice) {
            let value = axis.values[chosen]
                .value()
                .map_err(|error| self.document.error(axis.span.clone(), error.message().to_owned()))?;
            self.document.put(&mut tree, &axis.path, &axis.span, value)?;
        }
        Ok(tree)
    }

    /// An error in a setting as it is at a choice of values.
    pub(crate) fn error_at(&self, choice: &[usize], key: &str, message: impl Into<String>) -> Diagnostic {
        // Of a topology with swept parameters, these tell one point from another.
        let parameter = |axis: &&Axis| key == "topology" && axis.key.starts_with("topology.");
        let key = if choice.is_empty() { key } else { self.axes.iter().find(parameter).map_or(key, |axis| &axis.key) };
        match self.chosen(choice) {
            Ok(tree) => self.document.error(Document::place(&tree, key), message),
            Err(error) => error,
        }
    }

    fn spec(
        &self,
        choice: &[usize],
        file: ExperimentFile,
        digests: &mut HashMap<PathBuf, String>,
    ) -> Result<PointSpec, Diagnostic> {
        let missing = |key, example| {
            self.error_at(choice, key, format!("missing setting `{key}`: expected one such as `{key} = \"{example}\"`"))
        };
        let topology = file.topology.ok_or_else(|| missing("topology", "mesh:16x16"))?;
        let mut files = BTreeMap::new();
        let resolved = self.topology(choice, &topology)?;
        let algorithm = file.algorithm.ok_or_else(|| missing("algorithm", DUAL_PATH.name))?;
        let network_file = if let TopologySpec::File(path) = &resolved { Some(PathBuf::from(path)) } else { None };
        let trace = file.traffic.trace.as_ref().map(|trace| self.beside(trace));
        let mut options = file.options;
        let routing = match file.routing {
            Some(RoutingForm::Tables(tables)) => {
                if options.tables.replace(tables).is_some() {
                    let problem = "says the same as `options.tables`: give one of the two";
                    return Err(self.error_at(choice, "routing", problem));
                }
                None
            }
            Some(RoutingForm::Name(name)) => Some(name),
            None => None,
        };
        let network = network_file.map(|path| ("topology", path, "the network"));
        let trace = trace.map(|path| ("traffic.trace", path, "the trace"));
        let of_options = options.files().map(|(option, name, input)| (option.key(), self.beside(name), input));
        for (key, path, what) in network.into_iter().chain(trace).chain(of_options) {
            let place = self.to_blame(choice, key);
            if !is_standard_input(&path) && path.exists() && !path.is_file() && !path.is_dir() {
                // What a pipe or a device gives is gone before it is needed again, or has no end.
                return Err(self.error_at(choice, place, format!("`{}` is not a file", path.display())));
            }
            let digest = if let Some(digest) = digests.get(&path) {
                digest.clone()
            } else {
                let bytes = read_input(&path, what, u64::MAX).map_err(|error| {
                    let name = path.display().to_string();
                    let problem = format!("cannot read `{}`: {error}", input_name(&name));
                    self.error_at(choice, place, problem).with_help(self.elsewhere(&path))
                })?;
                digests.entry(path).or_insert(sha256(&bytes)).clone()
            };
            files.insert(key.to_owned(), digest);
        }
        Ok(PointSpec {
            topology: if files.contains_key("topology") {
                topology
            } else if drawn_with(&topology, 0).is_some() {
                topology.trim().to_owned()
            } else {
                resolved.to_string()
            },
            // In mode `trees` the name is that of a construction.
            algorithm_revision: match Descriptor::named(&algorithm) {
                Ok(own) if own.is_own() && Kind::of(file.run.mode) != Kind::Trees => Some(own.revision),
                _ => None,
            },
            algorithm,
            // Where routings are swept, the root is that of those that have one.
            root: file.root.filter(|_| {
                let swept = self.axes.iter().any(|axis| axis.key == "routing");
                let has_root = |name| RoutingDescriptor::named(name).is_ok_and(|routing| routing.root);
                !swept || routing.as_deref().is_none_or(has_root)
            }),
            routing,
            seed: file.seed,
            engine: file.engine,
            faults: file.faults,
            options,
            switching: file.switching,
            timing: file.timing,
            traffic: file.traffic,
            run: file.run,
            files,
        })
    }

    /// The topology that a text names; files are looked for beside the experiment file.
    pub(crate) fn topology(&self, choice: &[usize], text: &str) -> Result<TopologySpec, Diagnostic> {
        if text.trim().is_empty() {
            let message = "this is empty: expected a topology such as \"mesh:16x16\", or the path of a file";
            return Err(self.error_at(choice, "topology", message));
        }
        let beside = self.beside(text.trim());
        let not_there = |problem: &dyn Display| {
            let problem = format!("cannot read `{}`: {problem}", beside.display());
            self.error_at(choice, "topology", problem).with_help(self.elsewhere(&beside))
        };
        match (text.parse::<TopologySpec>(), std::fs::metadata(&beside)) {
            (Ok(spec), _) if !matches!(spec, TopologySpec::File(_)) => Ok(spec),
            _ if is_standard_input(&beside) => Ok(TopologySpec::File(STANDARD_INPUT.to_owned())),
            (_, Ok(found)) if found.is_dir() => Err(not_there(&"it is a directory")),
            (_, Ok(_)) => Ok(TopologySpec::File(beside.display().to_string())),
            (Ok(_), Err(error)) => Err(not_there(&error)),
            // Without permission to look, it may exist.
            (Err(_), Err(error)) if error.kind() == ErrorKind::PermissionDenied => Err(not_there(&error)),
            (Err(error), _) => Err(self.error_at(choice, "topology", error.to_string())),
        }
    }

    /// Advice where a file that is not beside the experiment file is in the working directory, which an argument may have meant.
    fn elsewhere(&self, beside: &Path) -> Option<String> {
        let name = beside.strip_prefix(&self.directory).ok().filter(|name| name.is_file() && !beside.exists())?;
        let path = std::path::absolute(name).ok()?;
        Some(format!("paths are relative to the experiment file: give the whole one, `{}`", path.display()))
    }

    /// A point's topology as commands take it that run in the folder of this process: by the path, if it is a file.
    pub fn topology_of(&self, spec: &PointSpec) -> String {
        let is_file = spec.files.contains_key("topology");
        if is_file { self.beside(spec.topology.trim()).display().to_string() } else { spec.topology.clone() }
    }

    /// The files that a point is made of beside the experiment file: the setting that names each, and its path.
    pub fn files(&self, point: &Point) -> Vec<(&'static str, PathBuf)> {
        let PointSpec { topology, traffic, options, files, .. } = &point.spec;
        let network = files.contains_key("topology").then(|| ("topology", self.beside(topology.trim())));
        let trace = traffic.trace.as_ref().map(|trace| ("traffic.trace", self.beside(trace)));
        let of_options = options.files().map(|(option, name, _)| (option.key(), self.beside(name)));
        network.into_iter().chain(trace).chain(of_options).collect()
    }

    /// The traffic of a point, with its trace by the path to open.
    pub(crate) fn traffic(&self, spec: &PointSpec) -> Traffic {
        let mut traffic = spec.traffic.clone();
        if let Some(trace) = &mut traffic.trace {
            *trace = self.beside(trace).display().to_string();
        }
        traffic
    }

    /// The path of a file that the experiment file names: relative to that; `-` is standard input.
    pub fn beside(&self, name: &str) -> PathBuf {
        if is_standard_input(name) { PathBuf::from(name) } else { self.directory.join(name) }
    }

    fn check_stop(&self, tree: &Tree<'_>) -> Result<(), Diagnostic> {
        let Stop { confidence, relative_half_width, min_replications, max_replications } = self.stop;
        let error = |key: &str, message: String| {
            Err(self.document.error(Document::place(tree, &format!("stop.{key}")), message))
        };
        if confidence < 1.0 && f64::midpoint(1.0, confidence) >= 1.0 {
            let problem = "is too near to 1 for a finite interval: expected less, such as 0.999";
            return error("confidence", format!("a confidence of {confidence} {problem}"));
        }
        if !(confidence > 0.0 && confidence < 1.0) {
            return error(
                "confidence",
                format!("a confidence of {confidence} is impossible: expected one between 0 and 1"),
            );
        }
        if !(relative_half_width > 0.0 && relative_half_width < 1.0) {
            return error(
                "relative_half_width",
                "expected a share of the mean between 0 and 1, such as 0.05".to_owned(),
            );
        }
        if min_replications == 0 {
            return error("min_replications", "expected at least one replication".to_owned());
        }
        match max_replications {
            Some(most) if most < min_replications => error(
                "max_replications",
                format!("expected at least as many as `min_replications`, which is {min_replications}"),
            ),
            _ => Ok(()),
        }
    }

    fn check_plot(&self, tree: &Tree<'_>) -> Result<(), Diagnostic> {
        let swept: Vec<&str> =
            self.swept().into_iter().chain(self.fixed.iter().map(|axis| axis.key.as_str())).collect();
        let loads = Quantity::ALL.iter().filter(|(_, quantity)| quantity.is_load()).map(|&(name, _)| name);
        let x_names: Vec<&str> = swept.iter().copied().chain(loads).collect();
        let numbers = |key: &str| {
            self.all_axes().all(|axis| axis.key != key || axis.values.iter().all(|value| value.json.is_number()))
        };
        for (key, given, names) in [("x", &self.plot.x, &x_names), ("series", &self.plot.series, &swept)] {
            let Some(given) = given.as_deref().filter(|given| !names.contains(given)) else { continue };
            let horizontal = self.horizontal();
            let fits = |name: &&str| if key == "x" { numbers(name) } else { horizontal.as_deref() != Some(name) };
            let place = Document::place(tree, &format!("plot.{key}"));
            let problem = self.document.error(place, format!("`{given}` is not swept"));
            // What these runs have is offered, not all that there is.
            let had = |name: &&str| Quantity::named(name).is_none_or(|quantity| self.may_measure(quantity));
            let fitting: Vec<&str> = names.iter().copied().filter(had).filter(fits).collect();
            return Err(match &swept[..] {
                [only] if fitting.is_empty() => {
                    let message = format!("`{given}` is not swept: `{only}` alone is, which is the horizontal axis");
                    self.document.error(Document::place(tree, &format!("plot.{key}")), message)
                }
                _ => problem.expecting(given, fitting),
            });
        }
        if let Some(given) = self.plot.series.as_deref().filter(|&given| self.horizontal().as_deref() == Some(given)) {
            let place = Document::place(tree, "plot.series");
            let others: Vec<&str> = swept.iter().copied().filter(|&key| key != given).collect();
            let problem =
                self.document.error(place, format!("`{given}` is the horizontal axis, and cannot be the series too"));
            return Err(if others.is_empty() { problem } else { problem.expecting("", others) });
        }
        // JSON has no numbers without an end: what is not one is null.
        let mut values = self.axes.iter().flat_map(|axis| axis.values.iter().map(move |value| (axis, value)));
        if let Some((axis, endless)) = values.find(|(_, value)| value.json.is_null()) {
            let message =
                format!("`{}` has a value that is not a finite number: expected numbers such as 0.05", axis.key);
            return Err(self.document.error(endless.span(), message));
        }
        let text =
            |axis: &&Axis| Some(&axis.key) == self.plot.x.as_ref() && !axis.values.iter().all(|v| v.json.is_number());
        match self.axes.iter().find(text) {
            Some(axis) => {
                let other = axis.values.iter().find(|value| !value.json.is_number());
                if let Some(other) = other.filter(|_| axis.values.iter().any(|value| value.json.is_number())) {
                    let message = format!("{}, expected a number as the others are", other.json);
                    return Err(self.document.error(other.span(), message));
                }
                let other = other.map_or_else(String::new, |value| value.json.to_string());
                let message =
                    format!("{other}, a value of `{}`, is not a number: plot against something else", axis.key);
                Err(self.document.error(Document::place(tree, "plot.x"), message))
            }
            None => self.check_log_x(tree),
        }
    }

    /// Whether all values along a logarithmic axis are positive.
    fn check_log_x(&self, tree: &Tree<'_>) -> Result<(), Diagnostic> {
        let Some(figure) = self.figure().filter(|figure| figure.log_x) else { return Ok(()) };
        let axis = self.axes.iter().find(|axis| axis.key == figure.x);
        let number = |value: &AxisValue| value.json.as_f64().filter(|&number| number <= 0.0);
        match axis.and_then(|axis| axis.values.iter().find_map(number)) {
            Some(number) => {
                let (key, x) = ("plot.x_scale", figure.x);
                let message = format!("`{x}` is {number} at a point, which has no place on a logarithmic axis");
                let help = "leave it out of the sweep, or make the axis linear".to_owned();
                Err(self.document.error(Document::place(tree, key), message).with_help(Some(help)))
            }
            None => Ok(()),
        }
    }
}
