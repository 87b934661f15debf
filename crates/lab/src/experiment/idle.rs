//! Settings that an experiment gives and that make no difference.

use wormcast_simulation::IdleSetting;

use super::Experiment;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::document::{Document, key_path};
use crate::experiment::point::Point;

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
        let Some(first) = points.first() else { return Ok(Vec::new()) };
        let idle = |index: usize| {
            let mut settings = idle(index);
            let faults = &points[index].spec.faults;
            if faults.links.is_empty() && faults.random == 0 {
                settings.push(IdleSetting { key: "faults.information", reason: "no link has failed".to_owned() });
            }
            settings
        };
        // Which settings are given is the same at all points.
        let tree = self.chosen(&first.choice)?;
        let is_given = |key: &str| key_path(key).is_some_and(|path| Document::has(&tree, &path));
        let mut found: Vec<IdleSetting> = idle(0).into_iter().filter(|setting| is_given(setting.key)).collect();
        for index in 1..points.len() {
            if found.is_empty() {
                break;
            }
            let here = idle(index);
            found.retain(|setting| here.iter().any(|other| other.key == setting.key));
        }
        let told = |IdleSetting { key, reason }| {
            self.document.error(Document::place(&tree, key), format!("`{key}` makes no difference here: {reason}"))
        };
        Ok(found.into_iter().map(told).collect())
    }
}
