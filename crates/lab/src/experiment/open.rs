//! Settings that an experiment's source leaves open, and the experiment under other values of them.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::Experiment;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::document::{Document, Override, Tree};

/// A setting whose value the source of an experiment does not give, so that claims may be tested with others.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenForm {
    /// The setting's dotted path, or that of a table of settings.
    setting: String,
    /// Values that it may have as well, in their order.
    #[schemars(with = "Vec<serde_json::Value>", length(min = 1))]
    values: Vec<toml::Value>,
    /// Why it is open.
    why: String,
}

/// A setting whose value the source of an experiment does not give, so that claims may be tested with others.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct OpenSetting {
    /// The setting's dotted path, or that of a table of settings.
    pub setting: String,
    /// Values that it may have as well, as TOML, in their order.
    pub values: Vec<String>,
    /// Why it is open.
    pub why: String,
}

impl From<OpenForm> for OpenSetting {
    fn from(OpenForm { setting, values, why }: OpenForm) -> Self {
        Self { setting, values: values.iter().map(ToString::to_string).collect(), why }
    }
}

impl Experiment {
    /// The settings that the file declares open, in its order.
    pub fn open_settings(&self) -> &[OpenSetting] {
        &self.open
    }

    /// The experiment with other values of some settings, given as TOML, as `--set` gives them: swept settings are taken out of the sweep.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), for these values.
    pub fn under(&self, settings: &[(String, String)]) -> Result<Self, Diagnostic> {
        let overrides = settings.iter().map(|(setting, value)| Override::of(setting, value));
        Self::of(&self.document.with(overrides))
    }

    /// Whether each value of an open setting makes an experiment.
    pub(super) fn check_open(&self) -> Result<(), Diagnostic> {
        let (tree, _) = self.document.tree()?;
        for (index, open) in self.open.iter().enumerate() {
            let error = |key: &str, message: &str| Err(self.open_error(&tree, index, key, message));
            if open.why.trim().is_empty() {
                return error("why", "this is empty: expected the reason why the setting is open");
            }
            if open.values.is_empty() {
                return error("values", "expected at least one value");
            }
            let root = open.setting.split('.').next().unwrap_or_default();
            if ["open", "claim", "sweep", "quick", "variation", "plot", "stop", "title"].contains(&root) {
                return error("setting", "expected a setting of the network, the traffic or the run");
            }
            if self.open[..index].iter().any(|earlier| earlier.setting == open.setting) {
                return error("setting", "this setting is listed as open before: put all of its values there");
            }
            for (place, value) in open.values.iter().enumerate() {
                if let Err(problem) = self.under(&[(open.setting.clone(), value.clone())]) {
                    // Of a name that there is not, no value is right.
                    let is_unknown = problem.message().starts_with("unknown setting");
                    let key = if is_unknown { "setting".to_owned() } else { format!("values.{place}") };
                    let message = format!("`{} = {value}`: {}", open.setting, problem.message());
                    let help = problem.help().map(str::to_owned);
                    return Err(self.open_error(&tree, index, &key, &message).with_help(help));
                }
            }
        }
        Ok(())
    }

    fn open_error(&self, tree: &Tree<'_>, index: usize, key: &str, message: &str) -> Diagnostic {
        self.document.error(Document::place(tree, &format!("open.{index}.{key}")), message)
    }
}

/// The open settings of a document.
pub(super) fn open_settings(document: &Document, tree: &Tree<'_>) -> Result<Vec<OpenSetting>, Diagnostic> {
    let Some(open) = tree.get("open") else { return Ok(Vec::new()) };
    if open.get_ref().is_table() {
        return Err(document.error(open.span(), "open settings are a list of tables: write `[[open]]` for each"));
    }
    let forms: Vec<OpenForm> = document.typed_value(Spanned::new(open.span(), open.get_ref().clone()))?;
    Ok(forms.into_iter().map(OpenSetting::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "topology = 'mesh:4x4'\nalgorithm = 'dual-path'\ntraffic.arrivals = { process = 'poisson', rate = 0.1 }\n\
        traffic.multicast.destinations = 3\n[sweep]\nalgorithm = ['dual-path', 'column-path']\n";

    fn parse(more: &str) -> Result<Experiment, Diagnostic> {
        Experiment::parse("x.toml", &format!("{FILE}{more}"), &[])
    }

    #[test]
    fn open_settings_make_other_experiments() {
        let text = "[[open]]\nsetting = 'timing.startup'\nvalues = [0, 400]\nwhy = 'no startup is given'\n\
            [[open]]\nsetting = 'run'\nvalues = [{ warmup = 100, messages = 50 }]\nwhy = 'no length is given'\n";
        let experiment = parse(text).unwrap();
        let [startup, run] = experiment.open_settings() else { panic!("{:?}", experiment.open_settings()) };
        assert_eq!((startup.setting.as_str(), startup.values.join(" ").as_str()), ("timing.startup", "0 400"));
        assert_eq!(run.values, ["{ warmup = 100, messages = 50 }"]);
        let under = experiment.under(&[("timing.startup".to_owned(), "400".to_owned())]).unwrap();
        let specs =
            |of: &Experiment| of.points().unwrap().into_iter().map(|p| p.spec.timing.startup).collect::<Vec<_>>();
        assert_eq!(specs(&under).len(), 2);
        assert!(specs(&under).iter().zip(specs(&experiment)).all(|(with, without)| *with != without));
        // Several at once, one of them a table.
        let both = [("run", run.values[0].as_str()), ("timing.startup", "0")];
        let both = both.map(|(setting, value)| (setting.to_owned(), value.to_owned()));
        assert_eq!(experiment.under(&both).unwrap().points().unwrap()[0].spec.run.messages, Some(50));
    }

    #[test]
    fn bad_open_settings_are_pointed_at() {
        let refused = |text: &str| parse(text).unwrap_err().to_string();
        for (text, said) in [
            ("[open]\na = 1\n", "7:1: open settings are a list of tables"),
            ("[[open]]\nsetting = 'timing.startup'\nvalues = []\nwhy = 'x'\n", "9:10: expected at least one value"),
            ("[[open]]\nsetting = 'timing.startup'\nvalues = [1]\nwhy = ' '\n", "10:7: this is empty"),
            ("[[open]]\nsetting = 'plot.y'\nvalues = ['a']\nwhy = 'x'\n", "8:11: expected a setting of the network"),
            (
                "[[open]]\nsetting = 'timing.start'\nvalues = [1]\nwhy = 'x'\n",
                "8:11: `timing.start = 1`: unknown setting",
            ),
            (
                "[[open]]\nsetting = 'timing.startup'\nvalues = [1, 'a']\nwhy = 'x'\n",
                "9:14: `timing.startup = \"a\"`: ",
            ),
        ] {
            let message = refused(text);
            assert!(message.starts_with(&format!("x.toml:{said}")), "{message}");
        }
    }
}
