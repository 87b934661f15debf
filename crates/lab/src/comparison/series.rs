//! Which series of a sweep are compared.

use super::Field;
use crate::experiment::Experiment;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::point::{Coordinate, Point};
use crate::verdict::position;

/// The swept setting whose values are the series: what the experiment says, or else the one beside the horizontal axis.
pub(super) fn series_key(experiment: &Experiment, points: &[Point]) -> Result<String, Diagnostic> {
    let (given, swept) = (experiment.series_key(), experiment.swept());
    if swept.contains(&given.as_str()) {
        return Ok(given);
    }
    let along = experiment.figure().and_then(|figure| figure.along);
    let others: Vec<&str> = swept.into_iter().filter(|key| Some(*key) != along.as_deref()).collect();
    let is_text = |key: &&str| points.iter().filter_map(|point| point.coordinate(key)).all(|c| c.value.is_string());
    let texts: Vec<&str> = others.iter().copied().filter(is_text).collect();
    match (&texts[..], &others[..]) {
        ([key], _) | ([], [key]) => Ok((*key).to_owned()),
        (_, []) => {
            let along = along.map_or_else(String::new, |along| format!(", only `{along}`"));
            let message = format!("there are no series to compare: `{given}` is not swept{along}");
            // Which algorithms there are depends on the network.
            let example = match experiment.swept()[..] {
                [only] if is_text(&only) => format!("compare its values: `--set plot.series={only}`"),
                _ => format!("sweep it as well, as by `--set 'sweep.{given}=[…]'` with two values or more"),
            };
            Err(Diagnostic::file(experiment.path(), message).with_help(Some(example)))
        }
        (_, others) => {
            let message = format!("`{given}` is not swept: which of {} makes the series?", others.join(", "));
            let help = format!("say so, as by `--set plot.series={}`", texts.first().unwrap_or(&others[0]));
            Err(Diagnostic::file(experiment.path(), message).with_help(Some(help)))
        }
    }
}

/// Which series are compared with which: the named ones, or all.
pub(super) fn chosen(
    experiment: &Experiment,
    points: &[Point],
    key: &str,
    names: &[String],
) -> Result<Field, Diagnostic> {
    let mut all: Vec<String> = Vec::new();
    for name in points.iter().filter_map(|point| point.coordinate(key)).map(Coordinate::text) {
        position(&mut all, name);
    }
    for (index, name) in names.iter().enumerate() {
        if !all.contains(name) {
            let message = format!("`{name}` is no value of `{key}` in this sweep");
            let problem = Diagnostic::file(experiment.path(), message);
            return Err(problem.expecting(name, all.iter().map(String::as_str)));
        }
        if names[..index].contains(name) {
            let message = format!("`{name}` is compared with itself: expected each series once");
            return Err(Diagnostic::file(experiment.path(), message));
        }
    }
    if let [only] = &all[..] {
        let message =
            format!("`{only}` is the only value of `{key}` in this sweep: there is nothing to compare it with");
        return Err(Diagnostic::file(experiment.path(), message));
    }
    Ok(match names {
        [] => Field { series: all, reference: None, sorted: true },
        [one] => Field { series: all, reference: Some(one.clone()), sorted: true },
        [_, other] => Field { series: names.to_vec(), reference: Some(other.clone()), sorted: false },
        several => Field { series: several.to_vec(), reference: None, sorted: true },
    })
}
