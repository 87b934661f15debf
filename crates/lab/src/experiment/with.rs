//! Settings for the points of single algorithms: the tables `[with.NAME]`.

use toml::Spanned;
use toml::de::DeValue;
use wormcast_simulation::Switching;

use super::Experiment;
use crate::experiment::axis::Axis;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::document::{Tree, merge};
use crate::experiment::schema::{is_top_level, place_of};

/// The table of a file with the settings of single algorithms.
pub(super) const WITH: &str = "with";

/// What may differ by algorithm. All series of a sweep meet the same messages on the same network.
const SETTABLE: [&str; 6] = ["engine", "options", "root", "routing", "switching", "timing"];

/// The swept setting that makes the series of these tables.
const ALGORITHM: &str = "algorithm";

impl Experiment {
    /// Lays the settings for the chosen algorithm over the others, under those that overrides give.
    pub(super) fn lay_with(&self, tree: &mut Tree<'_>) {
        let Some(DeValue::Table(mut tables)) = tree.remove(WITH).map(Spanned::into_inner) else { return };
        let settings = tree.get(ALGORITHM).and_then(|name| tables.remove(name.get_ref().as_str()?));
        if let Some(DeValue::Table(mut settings)) = settings.map(Spanned::into_inner) {
            for (path, _) in self.document.overridden() {
                remove(&mut settings, &path);
            }
            merge(tree, settings);
        }
    }

    /// Whether settings differ by algorithm.
    pub(super) fn differs_by_algorithm(&self) -> bool {
        self.document.tree().is_ok_and(|(tree, _)| tree.contains_key(WITH))
    }

    /// Checks the tables and the settings of each algorithm that has one; returns the switching of each.
    pub(super) fn check_with(&self, tree: &Tree<'_>) -> Result<Vec<Switching>, Diagnostic> {
        let Some(with) = tree.get(WITH) else { return Ok(Vec::new()) };
        let DeValue::Table(tables) = with.get_ref() else {
            let message = "`with` is a table of algorithms, as in `[with.spam]`";
            return Err(self.document.error(with.span(), message));
        };
        let is_algorithm = |axis: &&Axis| axis.key == ALGORITHM;
        let values =
            |axis: &Axis| axis.values.iter().filter_map(|value| value.json.as_str()).map(str::to_owned).collect();
        let declared = self.axes.iter().chain(&self.fixed).find(is_algorithm);
        let mut known: Vec<String> = declared.map(values).unwrap_or_default();
        known.extend(tree.get(ALGORITHM).and_then(|name| name.get_ref().as_str()).map(str::to_owned));
        // Those that an override or a version of the file leaves out keep their tables.
        for name in self.document.texts_of(ALGORITHM) {
            if !known.contains(&name) {
                known.push(name);
            }
        }
        let mut switchings = Vec::new();
        for (name, settings) in tables {
            let name_text = name.get_ref().as_ref();
            if !known.iter().any(|known| known == name_text) {
                let problem =
                    self.document.error(name.span(), format!("`{name_text}` is no algorithm of this experiment"));
                let problem = problem.expecting(name_text, known.iter().map(String::as_str));
                return Err(self.unknown_swept(name_text).unwrap_or(problem));
            }
            let DeValue::Table(settings) = settings.get_ref() else {
                let message =
                    format!("`with.{name_text}` is a table: expected settings for the points of that algorithm");
                return Err(self.document.error(settings.span(), message));
            };
            self.check_settings(settings, &mut Vec::new())?;
            // What is wrong is said of points that are not the first, too.
            let position = self.axes.iter().position(|axis| axis.key == ALGORITHM);
            let value = position.and_then(|axis| {
                self.axes[axis].values.iter().position(|value| value.json.as_str() == Some(name_text))
            });
            if let (Some(axis), Some(value)) = (position, value) {
                let mut choice = vec![0; self.axes.len()];
                choice[axis] = value;
                switchings.push(self.settings(&choice)?.switching);
            } else {
                // Also where another algorithm is chosen.
                let choice = vec![0; self.axes.len()];
                let mut chosen = self.swept_in(self.document.tree()?.0, &choice)?;
                let value = Spanned::new(name.span(), DeValue::String(name_text.into()));
                self.document.put(&mut chosen, &[ALGORITHM.to_owned()], &name.span(), value)?;
                self.lay_with(&mut chosen);
                self.settings_of(chosen, &choice)?;
            }
        }
        Ok(switchings)
    }

    /// Whether settings may differ by algorithm, and none is swept.
    fn check_settings(&self, settings: &Tree<'_>, parents: &mut Vec<String>) -> Result<(), Diagnostic> {
        for (key, value) in settings {
            parents.push(key.get_ref().to_string());
            let path = parents.join(".");
            if !SETTABLE.contains(&parents[0].as_str()) {
                let error = |message: String| self.document.error(key.span(), message);
                // `header` for `switching.header`.
                let meant = place_of(&parents[0]).map(|place| [&[place], &parents[1..]].concat().join("."));
                let settable = |path: &String| SETTABLE.contains(&path.split('.').next().unwrap_or_default());
                return Err(match meant.filter(settable) {
                    Some(meant) => {
                        error(format!("`{path}` names no setting")).with_help(Some(format!("did you mean `{meant}`?")))
                    }
                    None if !is_top_level(&parents[0]) => {
                        error(format!("`{path}` names no setting")).expecting(&parents[0], SETTABLE)
                    }
                    None => error(format!(
                        "`{path}` cannot differ by algorithm: all series meet the same messages on the same network"
                    ))
                    .expecting(&path, SETTABLE),
                });
            }
            if let Some(axis) = self.axes.iter().find(|axis| axis.path == *parents) {
                let message = format!("`{}` is swept, and cannot be set for one algorithm", axis.key);
                return Err(self.document.error(key.span(), message));
            }
            match value.get_ref() {
                DeValue::Table(inner) => self.check_settings(inner, parents)?,
                _ => {
                    // A value in the place of a table that has swept settings.
                    if let Some(axis) = self.axes.iter().find(|axis| axis.path.starts_with(parents)) {
                        let message = format!("`{}` is swept, and cannot be set for one algorithm", axis.key);
                        return Err(self.document.error(key.span(), message));
                    }
                }
            }
            parents.pop();
        }
        Ok(())
    }
}

/// Removes the setting at a path.
fn remove(table: &mut Tree<'_>, path: &[String]) {
    match path {
        [] => {}
        [last] => {
            table.remove(last.as_str());
        }
        [first, rest @ ..] => {
            if let Some(DeValue::Table(inner)) = table.get_mut(first.as_str()).map(Spanned::get_mut) {
                remove(inner, rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::document::Override;
    use crate::experiment::point::Point;

    const FILE: &str = "topology = 'torus:4x4'\nswitching = { header = 'tree', buffer = 2 }\n\
                        traffic = { arrivals = { process = 'poisson', rate = 0.1 }, multicast.destinations = 3 }\n\
                        sweep = { algorithm = ['dstm-1', 'spam'], traffic.arrivals.rate = [0.1, 0.2] }\n\
                        [with.spam]\nswitching.header = 'bit-string'\noptions.cross_links = false\n\
                        [variation.plain]\nwith.spam.switching.header = 'none'\n";

    fn read(text: &str, set: &[&str]) -> Result<Experiment, Diagnostic> {
        let overrides: Vec<Override> = set.iter().map(|given| Override::set(given).unwrap()).collect();
        Experiment::parse("x.toml", text, &overrides)
    }

    /// The header and the buffer of each point, and whether it is told of cross links.
    fn headers(experiment: &Experiment) -> Vec<String> {
        let header = |point: &Point| {
            let switching = serde_json::to_value(&point.spec.switching).unwrap();
            let (header, buffer) = (switching["header"].as_str().unwrap_or("none").to_owned(), &switching["buffer"]);
            format!("{header} {buffer} {}", point.spec.options.cross_links.is_some())
        };
        experiment.points().unwrap().iter().map(header).collect()
    }

    #[test]
    fn settings_of_an_algorithm_are_those_of_its_points() {
        let file = read(FILE, &[]).unwrap();
        assert_eq!(headers(&file), ["tree 2 false", "tree 2 false", "bit-string 2 true", "bit-string 2 true"]);
        file.jobs(&file.points().unwrap()).unwrap();
        // The points are those of a file that has these settings for all.
        let plain = FILE.split("[with").next().unwrap();
        let other = plain.replace("'tree', buffer = 2 }", "'bit-string', buffer = 2 }\noptions.cross_links = false");
        let hashes = |experiment: &Experiment| {
            let points = experiment.points().unwrap();
            points.iter().map(|point| point.spec.config_hash()).collect::<Vec<_>>()
        };
        let hashes = [hashes(&file), hashes(&read(plain, &[]).unwrap()), hashes(&read(&other, &[]).unwrap())];
        assert_eq!((&hashes[0][..2], &hashes[0][2..]), (&hashes[1][..2], &hashes[2][2..]));
        // Versions and overrides change them; an override of the setting itself holds for all algorithms.
        let varied = headers(&file.variation("plain").unwrap());
        assert_eq!(varied[1..3], ["tree 2 false", "none 2 true"]);
        let set = |set: &str| headers(&read(FILE, &[set]).unwrap())[1..3].to_vec();
        assert_eq!(set("switching.header=none"), ["none 2 false", "none 2 true"]);
        assert_eq!(set("with.spam.switching.header=none"), ["tree 2 false", "none 2 true"]);
        // What an override leaves out of the sweep has settings for nothing.
        assert_eq!(headers(&read(FILE, &["sweep.algorithm=['dstm-1']"]).unwrap()), ["tree 2 false", "tree 2 false"]);
        assert_eq!(set("with.dstm-1.switching.buffer=4"), ["tree 4 false", "bit-string 2 true"]);
        // One algorithm, whether it has settings of its own or not.
        assert_eq!(headers(&read(FILE, &["algorithm=spam"]).unwrap()), ["bit-string 2 true"; 2]);
        assert_eq!(headers(&read(FILE, &["algorithm=dstm-2"]).unwrap()), ["tree 2 false"; 2]);
    }

    #[test]
    fn settings_that_make_no_difference_to_their_algorithm_are_told() {
        let idle_with = |text: &str, set: &[&str]| -> Vec<String> {
            let experiment = read(text, set).unwrap();
            let points = experiment.points().unwrap();
            let jobs = experiment.jobs(&points).unwrap();
            let idle = experiment.idle_settings(&points, |index| jobs[index].idle_settings()).unwrap();
            idle.iter().map(ToString::to_string).collect()
        };
        let idle_of = |text: &str| idle_with(text, &[]);
        let idle = |more: &str| idle_of(&FILE.replace("[with.spam]\n", &format!("[with.spam]\n{more}\n")));
        assert_eq!(idle(""), [""; 0]);
        let told = idle("timing.strip_delay = 3");
        assert!(matches!(&told[..], [one] if one.starts_with("x.toml:6:22: `timing.strip_delay`")), "{told:?}");
        // Each where it stands.
        let told = idle("timing.receive_overhead = 3");
        assert_eq!(told.len(), 1);
        let both = FILE.replace(
            "[with.spam]\n",
            "[with.dstm-1]\ntiming.receive_overhead = 4\n[with.spam]\ntiming.receive_overhead = 3\n",
        );
        assert_eq!(idle_of(&both).len(), 2);
        // What is of use to one of the algorithms that have it is of use.
        let header = FILE.replace("buffer = 2 }", "buffer = 2 }\ntiming.strip_delay = 3");
        assert_eq!(idle_of(&header), [""; 0]);
        // Given for an algorithm that another argument leaves out; the file's own tables may wait.
        let told = idle_with(FILE, &["algorithm=dstm-1", "with.spam.switching.buffer=3"]);
        let [told] = &told[..] else { panic!("{told:?}") };
        assert!(
            told.contains("with.spam.switching.buffer=3") && told.contains("no point has the algorithm `spam`"),
            "{told}"
        );
        assert_eq!(idle_with(FILE, &["algorithm=dstm-1"]), [""; 0]);
        assert_eq!(idle_with(FILE, &["with.spam.switching.buffer=3"]), [""; 0]);
    }

    #[test]
    fn bad_tables_are_pointed_at() {
        for (from, to, at, message) in [
            ("[with.spam]", "[with.spum]", "spum", "`spum` is no algorithm of this experiment"),
            ("[with.spam]", "[with.dstm-2]", "dstm-2", "`dstm-2` is no algorithm of this experiment"),
            (
                "[with.spam]\n",
                "[with.spam]\nalgorithm = 'dstm-2'\n",
                "algorithm",
                "`algorithm` cannot differ by algorithm",
            ),
            ("[with.spam]\n", "[with.spam]\nseed = 2\n", "seed", "`seed` cannot differ by algorithm"),
            ("[with.spam]\n", "[with.spam]\ntraffic.length = 2\n", "traffic", "`traffic` cannot differ by algorithm"),
            ("[with.spam]\n", "[with.spam]\nplot.x = 'a'\n", "plot", "`plot` cannot differ by algorithm"),
            ("'bit-string'", "'bit-strung'", "'bit-strung'", "unknown value `bit-strung`"),
            ("switching.header =", "switching.haeder =", "haeder", "unknown setting `haeder`"),
            (
                "traffic.arrivals.rate = [0.1, 0.2] }",
                "switching.header = ['tree'] }",
                "header",
                "`switching.header` is swept",
            ),
            (
                "traffic.arrivals.rate = [0.1, 0.2] }\n",
                "switching = [{ buffer = 1 }] }\n",
                "switching",
                "`switching` is swept",
            ),
        ] {
            let error = read(&FILE.replacen(from, to, 1), &[]).unwrap_err();
            assert_eq!((error.span_text(), error.message().starts_with(message)), (Some(at), true), "{error}");
        }
        // In a single run, too, that another algorithm is chosen for.
        let chosen = |more: &str| read(&(FILE.to_owned() + more), &["algorithm='dstm-1'"]).map(drop);
        assert!(chosen("").is_ok());
        let error = chosen("[with.'dual-path']\nroot = 0\n").unwrap_err();
        assert!(error.message().starts_with("`dual-path` is no algorithm of this experiment"), "{error}");
        let base = FILE.split("[with").next().unwrap().to_owned();
        for (more, message) in [
            ("[[with]]\nspam = 1\n", "`with` is a table of algorithms"),
            ("[with]\nspam = 1\n", "`with.spam` is a table: expected settings"),
        ] {
            let error = read(&(base.clone() + more), &[]).unwrap_err();
            assert!(error.message().starts_with(message), "{error}");
        }
        // Settings that contradict the algorithm are refused where they stand.
        let file = read(&FILE.replace("[with.spam]\n", "[with.spam]\nrouting = 'e-cube'\n"), &[]).unwrap();
        let error = file.jobs(&file.points().unwrap()).err().unwrap();
        assert_eq!(error.span_text(), Some("'e-cube'"), "{error}");
    }
}
