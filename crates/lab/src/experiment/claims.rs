//! Claims: which swept settings they compare, and whether what they name is there.

use serde_json::Value as Json;
use wormcast_network::text::short_list;

use super::Experiment;
use crate::experiment::axis::{Axis, AxisValue};
use crate::experiment::claim::{Claim, RiseEnd, Scope, Test, same};
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::document::{Document, Tree};
use crate::experiment::point::{Coordinate, Point};
use crate::runs::kind::Kind;

impl Experiment {
    /// The swept settings whose values are the series of a claim.
    pub(crate) fn claim_series(&self, claim: &Claim) -> Vec<String> {
        if claim.series.is_empty() { vec![self.series_key()] } else { claim.series.clone() }
    }

    /// The swept setting along which a claim compares: that of the plot, or else the first that is swept beside its series.
    pub(crate) fn claim_axis(&self, claim: &Claim) -> Option<String> {
        let series = self.claim_series(claim);
        let all = || self.all_axes().filter(|axis| !series.contains(&axis.key));
        // Also where an override has taken it out of the sweep.
        let known = |key: &String| all().any(|axis| axis.key == *key);
        let named = self.plot.x.clone().filter(known);
        let plotted = || self.figure().and_then(|figure| figure.along).filter(known);
        named.or_else(plotted).or_else(|| all().map(|axis| &axis.key).next().cloned())
    }

    /// What is swept, and what an override has taken out of the sweep.
    pub(super) fn all_axes(&self) -> impl Iterator<Item = &Axis> {
        self.axes.iter().chain(&self.fixed)
    }

    /// The value of a swept setting at a point; that which it has instead if an override has taken it out of the sweep.
    pub(crate) fn value_at<'p>(&'p self, point: &'p Point, key: &str) -> Option<&'p Coordinate> {
        point.coordinate(key).or_else(|| self.settled.iter().find(|settled| settled.key == key))
    }

    /// The values in a claim's range of the setting along which it compares, in the order of its places. If an override has taken the setting out of the sweep, these are the values that the sweep had.
    pub(crate) fn claimed_values(&self, claim: &Claim) -> Vec<&Json> {
        let axis = self.claim_axis(claim).and_then(|key| self.swept_axis(&key));
        let values = axis.into_iter().flat_map(|axis| &axis.values).map(|value| &value.json);
        let mut values: Vec<&Json> = values.filter(|value| claim.covers(value.as_f64())).collect();
        if values.iter().all(|value| value.is_number()) {
            values.sort_by(|a, b| a.as_f64().unwrap_or(0.0).total_cmp(&b.as_f64().unwrap_or(0.0)));
        }
        values
    }

    fn swept_axis(&self, key: &str) -> Option<&Axis> {
        self.all_axes().find(|axis| axis.key == key)
    }

    /// What of a claim can be checked before anything has run: that what it names is swept.
    pub(super) fn check_claim(&self, tree: &Tree<'_>, index: usize) -> Result<(), Diagnostic> {
        let claim = &self.claims[index];
        let error = |key: &str, message: String| Err(self.claim_error(tree, index, key, message));
        for (key, text, example) in [("id", &claim.id, "dual-path-is-best"), ("text", &claim.text, "Dual-path is best")]
        {
            if text.trim().is_empty() {
                return error(key, format!("this is empty: expected a text such as \"{example}\""));
            }
        }
        if let Some((key, expected)) = claim.wording().problem() {
            return error(key, expected.to_owned());
        }
        let tests = claim.tests();
        let &[test] = tests.as_slice() else {
            let id = &claim.id;
            return error(
                "id",
                match &tests[..] {
                    [] => format!(
                        "claim `{id}` needs a test: one of `order`, `falls`, `values`, `gap`, `saturates` and `outlasts`"
                    ),
                    several => {
                        let names: Vec<String> = several.iter().map(|test| format!("`{}`", test.name())).collect();
                        format!(
                            "claim `{id}` has {} tests, {}: write a claim for each, with the same `id`",
                            names.len(),
                            names.join(" and ")
                        )
                    }
                },
            );
        };
        self.check_where(tree, index)?;
        self.check_series(tree, index, test)?;
        self.check_test(tree, index, test)?;
        match self.claim_axis(claim).and_then(|key| self.swept_axis(&key)) {
            Some(along) => self.check_along(tree, index, test, along),
            None if claim.is_about_places() && claim.values.is_none() || test.is_about_saturation() => {
                error("id", "nothing is swept beside the series, and this test needs an axis".to_owned())
            }
            None => Ok(()),
        }
    }

    /// Whether the values of the setting along which a claim compares are enough for it, and those that it names are among them.
    fn check_along(&self, tree: &Tree<'_>, index: usize, test: Test<'_>, along: &Axis) -> Result<(), Diagnostic> {
        let claim = &self.claims[index];
        let error = |key: &str, message: String| Err(self.claim_error(tree, index, key, message));
        let numbers: Vec<Option<f64>> = along.values.iter().map(|value| value.json.as_f64()).collect();
        for end in ["from", "to"] {
            let given = if end == "from" { claim.from } else { claim.to };
            if given.is_some() && numbers.contains(&None) {
                return error(end, format!("the values of `{}` are not numbers", along.key));
            }
        }
        if test.is_about_saturation() && numbers.contains(&None) {
            return error("id", format!("series saturate along numbers, and the values of `{}` are none", along.key));
        }
        let covered: Vec<Option<f64>> = numbers.into_iter().filter(|&x| claim.covers(x)).collect();
        if covered.is_empty() {
            return error("from", format!("no value of `{}` lies in the range of the claim", along.key));
        }
        let compared = along.values.iter().filter(|value| claim.covers(value.json.as_f64()));
        match compared.filter(|value| claim.includes(&along.key, &value.json)).count() {
            0 => return error("where", format!("no value of `{}` of these is in the range of the claim", along.key)),
            1 if claim.falls.is_some() => {
                let cut = [
                    (claim.only.contains_key(&along.key), "where"),
                    (claim.from.is_some(), "from"),
                    (claim.to.is_some(), "to"),
                ];
                let key = cut.into_iter().find(|(given, _)| *given).map_or("falls", |(_, key)| key);
                let problem = format!("one value of `{}` is left, and nothing falls at a single one", along.key);
                return error(key, problem);
            }
            _ => {}
        }
        match test {
            Test::Order(order) if order.rise.iter().any(|[from, to]| from == to) => {
                error("order.rise", "nothing rises from a value to itself: expected two values".to_owned())
            }
            Test::Order(order) => {
                let covers = |x: &&RiseEnd| {
                    let mut values = along.values.iter().map(|value| (value.json.as_f64(), &value.json));
                    values.any(|(number, json)| claim.covers(number) && x.is(number, json.as_str().unwrap_or_default()))
                };
                match order.rise.iter().flatten().find(|x| !covers(x)) {
                    Some(x) => {
                        let known = along.values.iter().filter(|value| claim.covers(value.json.as_f64()));
                        let known: Vec<String> = known.map(AxisValue::plain).collect();
                        let (key, known) = (&along.key, known.join(", "));
                        let message =
                            format!("{x} is no value of `{key}` in the range of the claim: expected two of {known}");
                        error("order.rise", message)
                    }
                    None => Ok(()),
                }
            }
            Test::Values(values) => match values.of.iter().find(|(_, given)| given.len() != covered.len()) {
                Some((name, given)) => {
                    let (expected, found) = (covered.len(), given.len());
                    let message =
                        format!("expected {expected} values, one for each of `{}`, and found {found}", along.key);
                    error(&format!("values.of.{name}"), message)
                }
                None => Ok(()),
            },
            Test::Saturates(saturates) if !self.document.overridden().any(|(path, _)| path[0] == "sweep") => {
                let ends = || covered.iter().flatten().copied();
                let (least, most) = (ends().fold(f64::INFINITY, f64::min), ends().fold(f64::NEG_INFINITY, f64::max));
                let given = [("before", saturates.before), ("after", saturates.after)];
                let outside =
                    |(key, x): (&'static str, Option<f64>)| Some((key, x.filter(|x| !(least..=most).contains(x))?));
                match given.into_iter().find_map(outside) {
                    Some((key, x)) => error(
                        &format!("saturates.{key}"),
                        format!(
                            "{x} is outside of the sweep: the claim is about `{}` from {least} to {most}",
                            along.key
                        ),
                    ),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn claim_error(&self, tree: &Tree<'_>, index: usize, key: &str, message: String) -> Diagnostic {
        self.document.error(Document::place(tree, &format!("claim.{index}.{key}")), message)
    }

    /// Whether the series of a claim are swept, and those that its test names are among them.
    fn check_series(&self, tree: &Tree<'_>, index: usize, test: Test<'_>) -> Result<(), Diagnostic> {
        let claim = &self.claims[index];
        // Lists that say nothing are told from those that are not there by their places.
        let place = |key: &str| Document::place(tree, &format!("claim.{index}{key}"));
        if claim.series.is_empty() && place(".series") != place("") {
            let message = "expected at least one swept setting: leave `series` out for that of the plot";
            return Err(self.document.error(place(".series"), message));
        }
        if claim.order.as_ref().is_some_and(|order| order.rise.is_empty()) && place(".order.rise") != place(".order") {
            let message = "expected at least one pair of values: leave `rise` out to compare values";
            return Err(self.document.error(place(".order.rise"), message));
        }
        let keys = self.claim_series(claim);
        let mut names = vec![String::new()];
        // Those that `where` leaves in.
        let mut left = names.clone();
        for key in &keys {
            let Some(axis) = self.swept_axis(key) else {
                let at = if claim.series.is_empty() { "id" } else { "series" };
                let message = format!("a claim compares series, and `{key}` is not swept");
                let swept: Vec<&str> = self.all_axes().map(|axis| axis.key.as_str()).collect();
                return Err(self.claim_error(tree, index, at, message).expecting(key, swept));
            };
            let joined = |name: &String, value: &AxisValue| {
                if name.is_empty() { value.plain() } else { format!("{name}, {}", value.plain()) }
            };
            names = names.iter().flat_map(|name| axis.values.iter().map(move |value| joined(name, value))).collect();
            let included = || axis.values.iter().filter(|value| claim.includes(key, &value.json));
            left = left.iter().flat_map(|name| included().map(move |value| joined(name, value))).collect();
        }
        for (key, given) in test.series() {
            if given.is_empty() {
                return Err(self.claim_error(tree, index, key, "expected at least one series".to_owned()));
            }
            if let Some((place, name)) = given.iter().enumerate().find(|(place, name)| given[..*place].contains(name)) {
                let place = format!("{key}.{place}");
                return Err(self.claim_error(tree, index, &place, format!("`{name}` is listed twice")));
            }
            let is_of = |names: &[String], name: &str| names.iter().any(|known| known == name);
            if let Some(name) = given.iter().find(|name| is_of(&names, name) && !is_of(&left, name)) {
                return Err(self.claim_error(
                    tree,
                    index,
                    key,
                    format!("`where` leaves out `{name}`, which this names"),
                ));
            }
            let Some(name) = given.into_iter().find(|name| !is_of(&names, name)) else { continue };
            let message = format!("`{name}` is no value of `{}` in this sweep", keys.join("` and `"));
            if let Some(unknown) = self.unknown_swept(name) {
                return Err(unknown);
            }
            let problem = |message: String| self.claim_error(tree, index, key, message);
            if keys.len() == 1 {
                return Err(problem(message).expecting(name, names.iter().map(String::as_str)));
            }
            // Names of several settings have commas.
            let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let expected = short_list(quoted.iter().map(String::as_str));
            return Err(problem(format!("{message}: expected one of {expected}")));
        }
        Ok(())
    }

    /// Whether what a claim is restricted to is swept.
    fn check_where(&self, tree: &Tree<'_>, index: usize) -> Result<(), Diagnostic> {
        for (key, values) in &self.claims[index].only {
            let Some(axis) = self.swept_axis(key) else {
                let swept: Vec<&str> = self.all_axes().map(|axis| axis.key.as_str()).collect();
                let problem = self.claim_error(tree, index, "where", format!("`{key}` is not swept"));
                return Err(problem.expecting(key, swept));
            };
            if values.is_empty() {
                let message = format!("expected at least one value of `{key}`");
                return Err(self.claim_error(tree, index, "where", message));
            }
            if let Some(value) = values.iter().find(|value| !axis.values.iter().any(|known| same(&known.json, value))) {
                let known: Vec<String> = axis.values.iter().map(AxisValue::plain).collect();
                let message =
                    format!("{value} is no value of `{key}` in this sweep: expected one of {}", known.join(", "));
                return Err(self.claim_error(tree, index, "where", message));
            }
        }
        Ok(())
    }

    /// Whether the numbers of a test make sense.
    fn check_test(&self, tree: &Tree<'_>, index: usize, test: Test<'_>) -> Result<(), Diagnostic> {
        let claim = &self.claims[index];
        let error = |key: &str, message: &str| Err(self.claim_error(tree, index, key, message.to_owned()));
        if claim.open_end.is_some() && !test.is_by_place() {
            return error("open_end", "only an `order` or a `gap` at each point holds in a range");
        }
        if claim.erratum.as_ref().is_some_and(|erratum| erratum.trim().is_empty()) {
            return error("erratum", "this is empty: expected what is wrong in print, and what would be right");
        }
        if claim.control && (claim.correction || claim.erratum.is_some()) {
            return error(
                "control",
                "this is no sentence of the claim, so it has neither an `erratum` nor is it a `correction`",
            );
        }
        if claim.correction && claim.erratum.is_some() {
            return error("correction", "what is right has no `erratum` of its own");
        }
        let no_share = |by: f64| !(-10.0..1.0).contains(&by);
        let share = "expected a share below 1, such as 0.1";
        let no_number = |value: Option<f64>| value.is_some_and(|value| !value.is_finite());
        if test.is_about_saturation() {
            if claim.y.is_some() {
                return error("y", "a claim about saturation is about the horizontal axis: leave `y` out");
            }
            if self.kind != Kind::Simulated {
                return error("id", "only runs in which time passes can saturate");
            }
        }
        if let [(_, these), (key, those)] = &test.series()[..]
            && let Some(name) = those.iter().find(|name| these.contains(name))
        {
            return error(key, &format!("`{name}` is in both lists, and no series is compared with itself"));
        }
        let quantity = claim.y.unwrap_or_else(|| self.quantities()[0]);
        if claim.over() == Some(quantity) {
            let key = if claim.gap.is_some() { "gap.over" } else { "order.over" };
            return error(
                key,
                &format!("expected another quantity than `{}`, which is compared with it", quantity.name()),
            );
        }
        if let Some(over) = claim.over().filter(|over| over.is_latency() != quantity.is_latency()) {
            let key = if claim.gap.is_some() { "gap.over" } else { "order.over" };
            let (part, whole) = (quantity.name(), over.name());
            return error(
                key,
                &format!("`{part}` is no share of `{whole}`: one of them is a time, and the other is not"),
            );
        }
        match test {
            Test::Order(order) if no_share(order.by) => error("order.by", share),
            Test::Falls(falls) if !(0.0..1.0).contains(&falls.by) => {
                error("falls.by", "expected a share from 0 up to, not including, 1, such as 0.1")
            }
            Test::Values(values) if !(values.tolerance >= 0.0 && values.tolerance.is_finite()) => {
                error("values.tolerance", "expected a finite number that is not negative")
            }
            Test::Values(values) if values.of.values().flatten().any(|value| value.is_infinite()) => {
                error("values.of", "expected finite numbers, or `nan` where nothing is claimed")
            }
            Test::Values(values) if values.of.values().flatten().all(|value| value.is_nan()) => {
                error("values.of", "expected at least one number: `nan` says that nothing is claimed there")
            }
            Test::Gap(gap) if gap.at_least.is_none() && gap.at_most.is_none() => {
                error("gap", "expected `at_least`, `at_most` or both")
            }
            Test::Gap(gap) if no_number(gap.at_least) => error("gap.at_least", "expected a number"),
            Test::Gap(gap) if no_number(gap.at_most) => error("gap.at_most", "expected a number"),
            Test::Gap(gap) if gap.at_least > gap.at_most && gap.at_most.is_some() => {
                error("gap.at_most", "expected at least as much as `at_least`")
            }
            Test::Saturates(saturates) if saturates.before <= saturates.after && saturates.before.is_some() => error(
                "saturates.before",
                "expected more than `after`: no series is saturated at one load and stable at a higher one",
            ),
            Test::Saturates(saturates) if saturates.before.is_none() && saturates.after.is_none() => {
                error("saturates", "expected `before`, `after` or both")
            }
            Test::Outlasts(outlasts) if !(outlasts.at_least > 0.0 && outlasts.at_least.is_finite()) => {
                error("outlasts.at_least", "expected a factor above 0")
            }
            Test::Outlasts(outlasts)
                if outlasts.at_most.is_some_and(|most| !(most.is_finite() && most >= outlasts.at_least)) =>
            {
                error("outlasts.at_most", "expected a factor of at least `at_least`")
            }
            Test::Outlasts(outlasts) if outlasts.scope == Scope::Average => {
                error("outlasts.scope", "a series saturates once: expected `each` or `somewhere`")
            }
            _ => Ok(()),
        }
    }
}
