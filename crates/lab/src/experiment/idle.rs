//! Settings that an experiment gives and that make no difference.

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use wormcast_multicast::Descriptor;
use wormcast_simulation::{IdleSetting, Timing};

use super::Experiment;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::document::{Document, Tree, key_path};
use crate::experiment::point::{Coordinate, Point, PointSpec};
use crate::runs::scenarios::drawn_with;

impl Experiment {
    /// The settings that the file or an argument gives although they make no difference at any of some points, each with its place and the
    /// reason. `idle` says what makes none at the point of this index; a setting that is of use at one point is of use.
    ///
    /// # Errors
    /// If the file is invalid; [`points`](Self::points) has then failed before.
    pub fn idle_settings(
        &self,
        points: &[Point],
        idle: impl Fn(usize) -> Vec<IdleSetting>,
    ) -> Result<Vec<Diagnostic>, Diagnostic> {
        let idle = |index: usize| {
            let mut settings = idle(index);
            let faults = &points[index].spec.faults;
            if faults.links.is_empty() && faults.random == 0 {
                settings.push(IdleSetting { key: "faults.information", reason: "no link has failed".to_owned() });
            }
            if draws_nothing(&points[index].spec) {
                let reason = "a trace says what is sent, and nothing else is random".to_owned();
                settings.push(IdleSetting { key: "seed", reason });
            }
            // Where routings are swept, it is that of those that have one.
            if points[index].spec.root.is_none() {
                settings.push(IdleSetting { key: "root", reason: "no routing of the sweep has one".to_owned() });
            }
            settings
        };
        // Which settings are given is the same at all points of an algorithm, and at all points if no settings are for single ones.
        let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
        for (index, point) in points.iter().enumerate() {
            let name = if self.differs_by_algorithm() { point.spec.algorithm.as_str() } else { "" };
            match groups.iter_mut().find(|(other, _)| *other == name) {
                Some((_, indices)) => indices.push(index),
                None => groups.push((name, vec![index])),
            }
        }
        let mut trees = Vec::with_capacity(groups.len());
        let mut idle_of = Vec::with_capacity(groups.len());
        for (_, indices) in &groups {
            let tree = self.chosen(&points[indices[0]].choice)?;
            let here: Vec<Vec<IdleSetting>> = indices.iter().map(|&index| idle(index)).collect();
            let reports = |at: usize, key: &str| here[at].iter().any(|setting| setting.key == key);
            // Where a setting is swept, it is of no use at a point if it is of none at one that differs in it alone: one of its values may
            // be what holds without it.
            let is_idle = |at: usize, key: &str| {
                let others = |point: &Point| -> Vec<Coordinate> {
                    point.coordinates.iter().filter(|coordinate| coordinate.key != key).cloned().collect()
                };
                let point = &points[indices[at]];
                reports(at, key)
                    || point.coordinate(key).is_some()
                        && (0..indices.len())
                            .any(|other| reports(other, key) && others(&points[indices[other]]) == others(point))
            };
            let mut found: Vec<IdleSetting> = Vec::new();
            for setting in here.iter().flatten() {
                let is_new = found.iter().all(|told| told.key != setting.key);
                if is_new && is_given(&tree, setting.key) && (0..indices.len()).all(|at| is_idle(at, setting.key)) {
                    found.push(setting.clone());
                }
            }
            found.extend(self.idle_preset(&tree, &points[indices[0]].spec.timing));
            trees.push(tree);
            idle_of.push(found);
        }
        let is_idle = |group: usize, key: &str| idle_of[group].iter().any(|setting| setting.key == key);
        let mut found: Vec<(usize, &IdleSetting)> = Vec::new();
        for (group, settings) in idle_of.iter().enumerate() {
            for setting in settings {
                // Where the same line gives it for several algorithms, it is said once.
                let elsewhere =
                    (0..trees.len()).all(|other| !is_given(&trees[other], setting.key) || is_idle(other, setting.key));
                let place = Document::place(&trees[group], setting.key);
                let is_new = found
                    .iter()
                    .all(|&(other, told)| told.key != setting.key || Document::place(&trees[other], told.key) != place);
                if elsewhere && is_new {
                    found.push((group, setting));
                }
            }
        }
        let told = |(group, IdleSetting { key, reason }): (usize, &IdleSetting)| {
            let place = Document::place(&trees[group], key);
            self.document.error(place, format!("`{key}` makes no difference here: {reason}"))
        };
        let mut found: Vec<Diagnostic> = found.into_iter().map(told).collect();
        let chosen = |name: &str| points.iter().any(|point| point.spec.algorithm == name);
        found.extend(self.document.given_with().filter(|(name, _)| !chosen(name)).map(|(name, argument)| {
            let message = format!("this makes no difference here: no point has the algorithm `{name}`");
            Diagnostic::argument("", argument, message)
        }));
        Ok(found)
    }
}

impl Experiment {
    /// A preset of timing that is another one than the default's, if the settings beside it leave nothing of it.
    fn idle_preset(&self, tree: &Tree<'_>, timing: &Timing) -> Option<IdleSetting> {
        if self.axes.iter().any(|axis| axis.path[0] == "timing") {
            return None;
        }
        let mut given = tree.get("timing")?.clone();
        let DeValue::Table(settings) = given.get_mut() else { return None };
        let (name, preset) = settings.remove_entry("preset")?;
        let span = given.span();
        let alone = Spanned::new(span, DeValue::Table(DeTable::from_iter([(name, preset)])));
        let of = |value| self.document.typed_value::<Timing>(value).ok();
        let idle = of(alone)? != Timing::default() && of(given)? == *timing;
        let reason = "the settings beside it replace all that it says".to_owned();
        idle.then_some(IdleSetting { key: "timing.preset", reason })
    }
}

/// Whether nothing of a run depends on its seed, for certain.
pub(crate) fn draws_nothing(spec: &PointSpec) -> bool {
    spec.traffic.trace.is_some()
        && spec.routing.is_none()
        && spec.faults.random == 0
        && drawn_with(&spec.topology, 0).is_none()
        && Descriptor::named(&spec.algorithm).is_ok_and(|algorithm| !algorithm.draws && !algorithm.is_own())
        && serde_json::to_value(&spec.switching).is_ok_and(|switching| switching["selection"] != "random")
}

/// Whether a document gives the setting at a dotted path.
fn is_given(tree: &Tree<'_>, key: &str) -> bool {
    key_path(key).is_some_and(|path| Document::has(tree, &path))
}
