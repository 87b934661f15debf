//! Names and titles of an experiment, which change with its overrides, so that they describe what is run.

use std::collections::BTreeMap;
use std::path::Path;

use super::{BUILT_IN_NAME, BUILT_IN_PATH, Experiment};
use wormcast_network::TopologySpec;
use wormcast_network::input::{STANDARD_INPUT, input_name};

use crate::experiment::document::Document;
use crate::experiment::point::sha256;

/// The most bytes that changed settings add to a name. File systems allow 255, and endings and names of quantities follow.
const MOST_BYTES: usize = 80;
/// The most settings in a title.
const MOST_SETTINGS: usize = 4;
/// Settings that no result depends on, or that speak for themselves.
const ASIDE: [&str; 5] = ["title", "stop", "plot", "claim", "open"];

impl Experiment {
    /// The name for files that are made of it: that of its file, the version that was asked for, and the settings that overrides give
    /// it. What is run with other settings does not replace what was run with the file's.
    ///
    /// ```
    /// use wormcast_lab::{Experiment, Override};
    ///
    /// let larger = Experiment::built_in(&[Override::set("topology=mesh:32x32")?])?;
    /// assert_eq!(larger.name(), "mesh-latency-10-topology-mesh-32x32");
    /// assert_eq!(larger.title(), "mesh-latency-10 with topology = mesh:32x32");
    /// assert_eq!(larger.named("larger").name(), "larger");
    /// # Ok::<(), wormcast_lab::Diagnostic>(())
    /// ```
    pub fn name(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let mut name = self.file_name();
        if self.document.is_quick() {
            name.push_str("-quick");
        }
        if let Some(variation) = self.document.chosen_variation() {
            name = format!("{name}-{variation}");
        }
        name + &name_of(&changed(&self.document))
    }

    /// The experiment with a name of its own for its files.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        let mut named = Self { name: Some(name.to_owned()), ..self };
        named.title = named.true_title();
        named
    }

    /// Gives the experiment another name, and the title that goes with it.
    #[must_use]
    pub fn called(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// The title of the file, unless overrides change what it may speak of: they are then the title, with the name.
    pub(super) fn true_title(&self) -> String {
        let changed = changed(&self.document);
        let variation = self.document.chosen_variation();
        if self.document.overrides("title") || changed.is_empty() && variation.is_none() {
            return self.file_title.clone();
        }
        let title = match variation {
            Some(variation) if changed.is_empty() && !self.file_title.is_empty() => {
                format!("{} ({variation})", self.file_title)
            }
            Some(variation) => format!("{}, {variation}", self.own_name()),
            None => self.own_name(),
        };
        if changed.is_empty() {
            return title;
        }
        let mut settings: Vec<String> =
            changed.iter().take(MOST_SETTINGS).map(|(key, value)| format!("{key} = {value}")).collect();
        match changed.len().saturating_sub(MOST_SETTINGS) {
            0 => {}
            1 => settings.push("1 more setting".to_owned()),
            more => settings.push(format!("{more} more settings")),
        }
        format!("{title} with {}", settings.join(", "))
    }

    /// The title of its plots.
    pub(super) fn plot_title(&self) -> String {
        let given = self.plot.title.clone();
        given
            .filter(|_| self.document.overrides("plot.title") || changed(&self.document).is_empty())
            .unwrap_or_else(|| self.title.clone())
    }

    fn own_name(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.file_name())
    }

    /// The name of its file, without ending.
    fn file_name(&self) -> String {
        if self.path() == BUILT_IN_PATH {
            return BUILT_IN_NAME.to_owned();
        }
        let stem = Path::new(self.path()).file_stem().filter(|_| self.path() != input_name(STANDARD_INPUT));
        stem.map_or_else(|| "experiment".to_owned(), |stem| stem.to_string_lossy().into_owned())
    }
}

/// The settings that overrides change and results depend on, by their dotted paths, each with its last value. A table replaces what was set in it before.
fn changed(document: &Document) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    for (path, value) in document.overridden().filter(|(path, _)| !ASIDE.contains(&path[0].as_str())) {
        // What is swept is a setting.
        let swept = path.len() > 1 && path[0] == "sweep";
        let setting = if swept { &path[1..] } else { &path[..] }.join(".");
        if !swept {
            let table = format!("{setting}.");
            settings.retain(|earlier: &String, _| !earlier.starts_with(&table));
        }
        settings.insert(setting, spaced(value).trim_matches(['"', '\'']).to_owned());
    }
    settings
}

/// A list or a table with the same spaces and quotes however it was written; other values as they are.
fn spaced(value: &str) -> String {
    if !value.starts_with(['[', '{']) {
        return value.to_owned();
    }
    let mut text = String::new();
    let mut quote = None;
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            // What is escaped ends no text.
            (Some('"'), '\\') => text.extend([c].into_iter().chain(characters.next())),
            (Some(open), _) if c == open => {
                quote = None;
                text.push('"');
            }
            (None, '"' | '\'') => {
                quote = Some(c);
                text.push('"');
            }
            (None, ',') => text.push_str(", "),
            (None, '=') => text.push_str(" = "),
            (None, '{') => text.push_str("{ "),
            (None, '}') => text.push_str(" }"),
            (None, _) if c.is_whitespace() => {}
            _ => text.push(c),
        }
    }
    text
}

/// What changed settings add to a name.
fn name_of(changed: &BTreeMap<String, String>) -> String {
    let settings: String = changed.iter().map(|(key, value)| file_part(&[key.as_str(), value.as_str()])).collect();
    if settings.len() <= MOST_BYTES && changed.iter().all(|(key, value)| says_all(key, value)) {
        return settings;
    }
    // Cut, or without its punctuation, it would be the name of other settings, too.
    let exact: String = changed.iter().flat_map(|(key, value)| [key, "=", value, "\n"]).collect();
    let kept: String = settings.chars().take(MOST_BYTES - 9).collect();
    format!("{kept}-{}", &sha256(exact.as_bytes())[..8])
}

/// Whether no other value of a setting has the same [words](file_part): numbers without a sign, names, lists of several of these, and generated networks.
fn says_all(setting: &str, value: &str) -> bool {
    let kept = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_');
    let word = |text: &str| !text.is_empty() && text.chars().all(kept);
    if let Some(list) = value.strip_prefix('[').and_then(|inside| inside.strip_suffix(']')) {
        let values: Vec<&str> = list.split(',').map(|value| value.trim().trim_matches(['"', '\''])).collect();
        return values.len() > 1 && values.iter().all(|value| !value.starts_with('[') && says_all(setting, value));
    }
    // A network's file may be called `mesh-8x8`.
    if setting == "topology" && value.contains(['-', ':']) {
        return value.parse().is_ok_and(|spec| !matches!(spec, TopologySpec::File(_)));
    }
    word(value) || !value.starts_with(|c: char| c.is_ascii_digit()) && value.split('-').all(word)
}

/// Words as a part of a file's name, each behind a hyphen: letters, digits, dots and underscores are kept.
///
/// ```
/// assert_eq!(wormcast_lab::file_part(&["dual-path", "../a b"]), "-dual-path-..-a-b");
/// ```
pub fn file_part<S: AsRef<str>>(words: &[S]) -> String {
    let kept = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_');
    let parts = words.iter().flat_map(|word| word.as_ref().split(move |c| !kept(c)));
    parts.filter(|part| !part.is_empty()).flat_map(|part| ["-", part]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::document::Override;

    const FILE: &str = "title = 'Latency on a 4x4 mesh'\ntopology = 'mesh:4x4'\nalgorithm = 'dual-path'\nplot.title = 'On 4x4'\n\
                        plot.x = 'traffic.arrivals.rate'\ntraffic = { arrivals = { process = 'poisson' }, multicast.destinations = 3 }\n\
                        sweep.traffic.arrivals.rate = [0.1, 0.2]\n[quick]\nrun.messages = 10\n\
                        [variation.large]\ntopology = 'mesh:8x8'\n[variation.titled]\ntitle = 'Other'\n";

    fn with(set: &[&str]) -> Experiment {
        let overrides: Vec<Override> = set.iter().map(|given| Override::set(given).unwrap()).collect();
        Experiment::parse("some/small.toml", FILE, &overrides).unwrap()
    }

    fn titles(experiment: &Experiment) -> (String, String, String) {
        (experiment.name(), experiment.title().to_owned(), experiment.figure().unwrap().title)
    }

    fn texts(name: &str, title: &str, plot: &str) -> (String, String, String) {
        (name.to_owned(), title.to_owned(), plot.to_owned())
    }

    #[test]
    fn the_file_has_its_own_title() {
        let own = texts("small", "Latency on a 4x4 mesh", "On 4x4");
        assert_eq!(titles(&with(&[])), own);
        // What no result depends on changes nothing.
        assert_eq!(titles(&with(&["stop.min_replications=3", "plot.unit=cycles"])), own);
        assert_eq!(titles(&with(&[]).quick().unwrap()), texts("small-quick", "Latency on a 4x4 mesh", "On 4x4"));
    }

    #[test]
    fn no_title_speaks_of_what_was_not_run() {
        let title = "small with topology = mesh:16x16";
        assert_eq!(titles(&with(&["topology=mesh:16x16"])), texts("small-topology-mesh-16x16", title, title));
        assert_eq!(with(&["topology=\"mesh:16x16\""]).name(), "small-topology-mesh-16x16", "quotes may be left out");
        let rates = with(&["sweep.\"traffic.arrivals.rate\"=[0.1, 0.4]"]);
        let title = "small with traffic.arrivals.rate = [0.1, 0.4]";
        assert_eq!(titles(&rates), texts("small-traffic.arrivals.rate-0.1-0.4", title, title));
        // However lists and tables are written.
        for [one, other] in [
            ["sweep.seed=[1,2]", "sweep.seed=[ 1 , 2 ]"],
            ["sweep.topology=['mesh:4x4','mesh:8x8']", "sweep.topology = [\"mesh:4x4\", \"mesh:8x8\"]"],
            [
                "traffic.arrivals={process='poisson',rate=0.3}",
                "traffic.arrivals = { process = \"poisson\", rate = 0.3 }",
            ],
        ] {
            let [one, other] = [with(&[one]), with(&[other])];
            assert_eq!((one.name(), one.title()), (other.name(), other.title()));
        }
        // The last one counts, and the order does not.
        let [one, other] = [["seed=1", "run.messages=5", "seed=2"], ["seed=3", "seed=2", "run.messages=5"]];
        assert_eq!(with(&one).name(), "small-run.messages-5-seed-2");
        assert_eq!(titles(&with(&one)), titles(&with(&other)));
        // Who gives a title knows what it says.
        assert_eq!(with(&["topology=mesh:8x8", "title=Mine"]).title(), "Mine");
        assert_eq!(with(&["topology=mesh:8x8", "plot.title=Mine"]).figure().unwrap().title, "Mine");
    }

    #[test]
    fn versions_and_names_of_ones_own_are_in_both() {
        let large = with(&[]).variation("large").unwrap();
        assert_eq!((large.name(), large.title()), ("small-large".to_owned(), "Latency on a 4x4 mesh (large)"));
        let both = with(&["seed=2"]).quick().unwrap().variation("large").unwrap();
        assert_eq!((both.name(), both.title()), ("small-quick-large-seed-2".to_owned(), "small, large with seed = 2"));
        let named = with(&["seed=2"]).named("mine");
        assert_eq!((named.name(), named.title()), ("mine".to_owned(), "mine with seed = 2"));
        assert_eq!(with(&[]).named("mine").title(), "Latency on a 4x4 mesh");
    }

    #[test]
    fn values_that_differ_in_punctuation_have_different_names() {
        let names: Vec<String> = [
            "timing.delay=4",
            "timing.delay=[4]",
            "timing.delay=[4, 1]",
            "timing.delay=[41]",
            "topology=mesh:16x16",
            "topology=mesh-16x16",
            "topology=mesh/16x16",
            "topology=[\"mesh:4x4\", \"mesh:8x8\"]",
            "topology=[\"mesh-4x4\", \"mesh:8x8\"]",
            "options.second=+4,-1",
            "options.second=4,1",
            "options.second=-4,+1",
        ]
        .into_iter()
        .map(|set| {
            let (key, value) = set.split_once('=').unwrap();
            let changed = BTreeMap::from([(key.to_owned(), value.to_owned())]);
            name_of(&changed)
        })
        .collect();
        let different: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(different.len(), names.len(), "{names:?}");
        assert_eq!(names[0], "-timing.delay-4");
        assert_eq!(names[2], "-timing.delay-4-1");
        assert_eq!(names[4], "-topology-mesh-16x16");
        assert_eq!(names[7], "-topology-mesh-4x4-mesh-8x8");
        assert!(names[9].starts_with("-options.second-4-1-") && names[9].len() == "-options.second-4-1-".len() + 8);
    }

    #[test]
    fn long_names_are_cut_and_still_differ() {
        let settings = |last: &str| {
            let set = ["faults.random=0", "run.messages=5", "run.warmup=100", "seed=7", "timing.startup=100", last];
            with(&set)
        };
        let [one, other] = [settings("traffic.length=1"), settings("traffic.length=2")];
        assert!(one.name() != other.name() && one.name().len() <= "small".len() + 80, "{}", one.name());
        assert!(one.name().starts_with("small-faults.random-0-run.messages-5-"), "{}", one.name());
        assert!(one.title().ends_with(", seed = 7, 2 more settings"), "{}", one.title());
    }
}
