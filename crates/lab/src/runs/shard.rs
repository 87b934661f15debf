//! Parts of a sweep that are run in different places: `sweep --shard 3/20`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use serde_json::{Value as Json, json};
use wormcast_network::split_mix::mix;

use crate::experiment::Experiment;
use crate::experiment::point::Point;
use crate::runs::run::{RunError, forget_points, run_points};
use crate::runs::sweep::SweepObserver;
use crate::statistics::summary::{PointSummary, summarise};
use crate::store::Store;

/// One of several parts of a sweep, each of which has some of its points: `3/20` is the third of 20.
///
/// The parts depend on the number of points alone, so that processes that know nothing of each other agree on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    number: NonZeroUsize,
    of: NonZeroUsize,
}

impl Shard {
    /// The positions of its points among so many, in order.
    ///
    /// Points are shuffled, the same way everywhere, and dealt out one after another. In their own order a part could get the highest
    /// load, which takes longest, of every series.
    pub fn positions(self, points: usize) -> Vec<usize> {
        let mut shuffled: Vec<usize> = (0..points).collect();
        shuffled.sort_by_key(|&position| mix(position as u64));
        let mut own: Vec<usize> = shuffled.into_iter().skip(self.number.get() - 1).step_by(self.of.get()).collect();
        own.sort_unstable();
        own
    }

    /// Its points of an experiment's.
    fn points(self, all: &[Point]) -> Vec<Point> {
        self.positions(all.len()).into_iter().map(|position| all[position].clone()).collect()
    }

    /// What the name of its store ends with: `shard-3-of-20`.
    pub fn file_part(self) -> String {
        format!("shard-{}-of-{}", self.number, self.of)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let Some((number, of)) = numbers.map(|(number, of): (usize, usize)| (number, of)) else {
            return Err("expected the number of a part and how many there are, such as 3/20".to_owned());
        };
        match (NonZeroUsize::new(number), NonZeroUsize::new(of)) {
            (Some(number), Some(of)) if number <= of => Ok(Self { number, of }),
            (_, Some(of)) => Err(format!("parts count from 1: expected 1/{of} to {of}/{of}")),
            (_, None) => Err("expected one part at least, such as 1/1".to_owned()),
        }
    }
}

/// Runs the points of an experiment that a part has, on `jobs` threads, and summarises them. Whether an experiment's claims hold only all
/// points together say: [`stored_sweep`](crate::stored_sweep), once the stores of all parts are [merged](Store::merge).
///
/// # Errors
/// If the experiment is invalid, a replication fails, or the store does.
pub fn run_shard(
    experiment: &Experiment,
    shard: Shard,
    jobs: NonZeroUsize,
    store: &mut Store,
    fresh: bool,
    observer: &mut dyn SweepObserver,
) -> Result<Vec<PointSummary>, RunError> {
    let points = shard.points(&experiment.points()?);
    if fresh {
        experiment.jobs(&points)?;
        forget_points(&points, store, observer)?;
    }
    let runs = run_points(experiment, &points, jobs, store, observer)?;
    Ok(summarise(&points, &runs, experiment.stop().confidence, None))
}

/// A setting that has one value in a store and another in an experiment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingElsewhere {
    /// Its dotted path.
    pub setting: String,
    /// Its value in the store, if it is given there.
    pub there: Option<String>,
    /// Its value in the experiment, if it is given here.
    pub here: Option<String>,
}

impl fmt::Display for SettingElsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [there, here] = [&self.there, &self.here].map(|value| value.as_deref().unwrap_or("not given"));
        write!(f, "`{}` is {there} there and {here} here", self.setting)
    }
}

/// What a message says of settings that differ: the first few, and how many more there are.
pub fn differences_text(differences: &[SettingElsewhere]) -> String {
    const NAMED: usize = 3;
    if differences.is_empty() {
        // Equal descriptions have equal hashes.
        return "the descriptions of its points do not fit their hashes".to_owned();
    }
    let mut named: Vec<String> = differences.iter().take(NAMED).map(ToString::to_string).collect();
    if differences.len() > NAMED {
        named.push(format!("{} more differ", differences.len() - NAMED));
    }
    named.join(", ")
}

/// How the points of a store differ from those of an experiment of which it has none: the settings in which the two points that are most
/// alike differ. `None` if it has points of the experiment, or none at all, or if damage leaves that open.
///
/// # Errors
/// If the experiment is invalid, or the store fails.
pub fn other_settings(experiment: &Experiment, store: &Store) -> Result<Option<Vec<SettingElsewhere>>, RunError> {
    let points = experiment.points()?;
    let (there, are_all) = store.descriptions()?;
    let hashes: BTreeSet<String> = points.iter().map(|point| point.spec.config_hash()).collect();
    if !are_all || there.keys().any(|config_hash| hashes.contains(config_hash)) {
        return Ok(None);
    }
    let here: Vec<Leaves> = points.iter().map(|point| leaves(&json!(point.spec))).collect();
    let differences = there.values().map(leaves).flat_map(|there| {
        here.iter().map(move |here| difference(&there, here)).collect::<Vec<Vec<SettingElsewhere>>>()
    });
    Ok(differences.min_by_key(Vec::len))
}

/// Values by their dotted paths.
type Leaves = BTreeMap<String, String>;

fn leaves(value: &Json) -> Leaves {
    let mut all = Leaves::new();
    let mut open = vec![(String::new(), value)];
    while let Some((path, value)) = open.pop() {
        match value {
            Json::Object(table) => {
                let inside = |key: &String| if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                open.extend(table.iter().map(|(key, value)| (inside(key), value)));
            }
            value => drop(all.insert(path, value.to_string())),
        }
    }
    all
}

fn difference(there: &Leaves, here: &Leaves) -> Vec<SettingElsewhere> {
    let settings: BTreeSet<&String> = there.keys().chain(here.keys()).collect();
    let differ = settings.into_iter().filter(|&setting| there.get(setting) != here.get(setting));
    let value = |leaves: &Leaves, setting: &String| leaves.get(setting).cloned();
    differ
        .map(|setting| SettingElsewhere {
            setting: setting.clone(),
            there: value(there, setting),
            here: value(here, setting),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shards(of: usize) -> Vec<Shard> {
        (1..=of).map(|number| format!("{number}/{of}").parse().unwrap()).collect()
    }

    #[test]
    fn few_settings_that_differ_are_named_and_none_is_said() {
        let other = |setting: &str, there: Option<&str>| SettingElsewhere {
            setting: setting.to_owned(),
            there: there.map(str::to_owned),
            here: Some("2".to_owned()),
        };
        let two = [other("a", Some("1")), other("b", None)];
        assert_eq!(differences_text(&two), "`a` is 1 there and 2 here, `b` is not given there and 2 here");
        let five: Vec<_> = ["a", "b", "c", "d", "e"].map(|setting| other(setting, Some("1"))).into();
        assert!(differences_text(&five).ends_with("`c` is 1 there and 2 here, 2 more differ"));
        assert!(differences_text(&[]).contains("do not fit their hashes"));
    }

    #[test]
    fn every_point_is_in_exactly_one_part_and_parts_are_of_one_size() {
        for of in 1..20 {
            for points in [0, 1, 7, 60, 200] {
                let parts: Vec<Vec<usize>> = shards(of).into_iter().map(|shard| shard.positions(points)).collect();
                assert!(parts.iter().all(|part| [points / of, points.div_ceil(of)].contains(&part.len())));
                let mut all = parts.concat();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..points), "{points} points, {of} parts");
            }
        }
    }

    #[test]
    fn no_part_has_the_highest_load_of_every_series() {
        // Eight series of eight loads.
        for of in [2, 4, 8] {
            for shard in shards(of) {
                let highest = shard.positions(64).into_iter().filter(|position| position % 8 == 7).count();
                assert!(highest <= 8 / of + 3, "{shard}: {highest}");
            }
        }
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for (text, expected) in [
            ("0/4", "expected 1/4 to 4/4"),
            ("5/4", "expected 1/4 to 4/4"),
            ("1/0", "one part at least"),
            ("3", "such as 3/20"),
            ("a/b", "such as 3/20"),
            ("1/-4", "such as 3/20"),
            ("", "such as 3/20"),
        ] {
            let error = text.parse::<Shard>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert_eq!("3/20".parse::<Shard>().unwrap().to_string(), "3/20");
    }
}
