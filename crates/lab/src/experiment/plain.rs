//! The values that swept settings have outside of the sweep, where single runs find them.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};
use wormcast_multicast::{Descriptor, routing_named};

use super::Experiment;
use crate::experiment::axis::Axis;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::document::{Document, Tree, Value};
use crate::experiment::file::ExperimentFile;
use crate::runs::kind::Kind;
use crate::runs::scenarios::construction_named;

/// The swept settings that are numbers above 0.
const POSITIVE: [&str; 2] = ["traffic.arrivals.rate", "traffic.arrivals.load"];

impl Experiment {
    /// Checks the values that swept settings have outside of the sweep: their types, names, and signs. Whether they go with the other settings is not asked, as these
    /// may be swept, too, and need not be what a single run would have.
    pub(crate) fn check_plain(&self) -> Result<(), Diagnostic> {
        let (tree, _) = self.document.tree()?;
        self.axes.iter().try_for_each(|axis| match plain(&tree, axis) {
            Some(value) => self.check_plain_type(axis, value).and_then(|()| self.check_plain_value(axis, value)),
            None => Ok(()),
        })
    }

    /// The error of a swept algorithm that does not exist, if the one named `elsewhere` does: then the mistake is in the sweep.
    pub(super) fn unknown_swept(&self, elsewhere: &str) -> Option<Diagnostic> {
        Descriptor::named(elsewhere).ok()?;
        let named = self.axes.iter().filter(|axis| axis.key == "algorithm");
        let mut values = named.flat_map(|axis| axis.values.iter().map(move |value| (axis, value)));
        values.find_map(|(axis, value)| self.check_plain_value(axis, &value.value().ok()?).err())
    }

    /// The first point with the plain value of this setting: is that of its type?
    fn check_plain_type(&self, axis: &Axis, value: &Value<'_>) -> Result<(), Diagnostic> {
        let mut first = self.chosen(&vec![0; self.axes.len()])?;
        self.document.put(&mut first, &axis.path, &axis.span, value.clone())?;
        let of_value =
            |place: &std::ops::Range<usize>| value.span().start <= place.start && place.end <= value.span().end;
        let typed =
            ExperimentFile::deserialize(ValueDeserializer::from(Spanned::new(0..0, DeValue::Table(first.clone()))));
        match typed {
            Err(error) if error.span().is_some_and(|place| of_value(&place)) => {
                self.document.typed(first).map(|_: ExperimentFile| ())
            }
            _ => Ok(()),
        }
    }

    fn check_plain_value(&self, axis: &Axis, value: &Value<'_>) -> Result<(), Diagnostic> {
        let number = match value.get_ref() {
            DeValue::Integer(_) | DeValue::Float(_) => self.document.typed_value::<f64>(value.clone()).ok(),
            _ => None,
        };
        let unknown = match (axis.key.as_str(), value.get_ref().as_str()) {
            ("algorithm", Some(name)) if self.kind == Kind::Trees => {
                construction_named(name).err().map(|unknown| unknown.to_string())
            }
            ("algorithm", Some(name)) => Descriptor::named(name).err().map(|unknown| unknown.to_string()),
            ("routing", Some(name)) => routing_named(name).err().map(|unknown| unknown.to_string()),
            (key, _) if POSITIVE.contains(&key) && number.is_some_and(|number| number <= 0.0) => {
                Some("expected a number above 0".to_owned())
            }
            _ => None,
        };
        unknown.map_or(Ok(()), |problem| Err(self.document.error(value.span(), problem)))
    }
}

/// The value of a swept setting outside of the sweep, if it has one.
fn plain<'v, 't>(tree: &'v Tree<'t>, axis: &Axis) -> Option<&'v Value<'t>> {
    Document::at(tree, &axis.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a plain value beside a sweep over two good ones.
    fn said(plain: &str, swept: &str) -> Option<String> {
        let text = format!("topology = 'mesh:4x4'\n{plain}\n[traffic.multicast]\ndestinations = 3\n[sweep]\n{swept}\n");
        let experiment = Experiment::parse("x.toml", &text, &[]).unwrap();
        let jobs = experiment.points().and_then(|points| experiment.jobs(&points).map(drop));
        jobs.err().map(|error| error.to_string())
    }

    #[test]
    fn a_plain_value_that_no_run_can_have_is_refused_although_it_is_swept() {
        let algorithms = "algorithm = ['dual-path', 'column-path']";
        let arrivals = "traffic.arrivals = { process = 'poisson', rate = 0.1 }";
        let rate = "algorithm = 'dual-path'\ntraffic.arrivals = { process = 'poisson', rate = ";
        for (plain, swept, problem) in [
            (format!("{arrivals}\nalgorithm = 'Dual-Path'"), algorithms, "3:13: unknown algorithm `Dual-Path`"),
            (format!("{arrivals}\nalgorithm = ['dual-path']"), algorithms, "3:13: a list, expected a text"),
            (format!("{rate}-5 }}"), "traffic.arrivals.rate = [0.1, 0.2]", "3:50: expected a number above 0"),
            (format!("{rate}'x' }}"), "traffic.arrivals.rate = [0.1, 0.2]", "3:50: text \"x\", expected a number"),
            (
                format!("{arrivals}\nalgorithm = 'separate'\nrouting = 'ecube'"),
                "routing = ['e-cube', 'turn-prohibition']",
                "4:11: unknown routing `ecube`",
            ),
        ] {
            let said = said(&plain, swept).unwrap();
            assert!(said.starts_with(&format!("x.toml:{problem}")), "{said}");
        }
    }

    #[test]
    fn a_plain_value_need_not_go_with_what_else_is_swept() {
        let arrivals = "traffic.arrivals = { process = 'poisson', rate = 0.1 }";
        for (plain, swept) in [
            // Of another network, and without the process that only the sweep gives.
            (&*format!("{arrivals}\nalgorithm = 'u-cube'"), "algorithm = ['dual-path', 'column-path']"),
            ("algorithm = 'dual-path'", "traffic.arrivals = [{ process = 'poisson', rate = 0.1 }]"),
            (
                "algorithm = 'dual-path'\ntraffic.arrivals.rate = 0.3",
                "traffic.arrivals.process = ['poisson', 'bernoulli']",
            ),
        ] {
            assert_eq!(said(plain, swept), None, "{plain}");
        }
    }
}
