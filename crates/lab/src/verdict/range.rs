//! Where along the horizontal axis a sentence holds whose range is open.

use serde::{Deserialize, Serialize};

use super::measurements::{AxisPlace, Measurements};
use super::rules::Rule;
use super::{Comparison, Verdict};
use crate::experiment::claim::OpenEnd;

/// A part of the horizontal axis, with both ends.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Range {
    /// The first value.
    pub from: String,
    /// The last value.
    pub to: String,
    /// How many values of the sweep lie in it.
    pub values: usize,
    /// The values next to it at which the sentence does not hold for certain, before and behind.
    pub bounds: Vec<String>,
}

impl Measurements<'_> {
    /// The widest part of the axis, from the start or to the end as the other one is open, over which a rule finds that a sentence holds;
    /// `None` if there is none of two values or more.
    pub(super) fn widest(&self, groups: &[Vec<Comparison>], rule: Rule, open: OpenEnd) -> Option<Range> {
        let count = self.places.len();
        let holds = |from: usize, to: usize| {
            let within =
                |comparison: &&Comparison| self.places[from..to].iter().any(|place| place.text == comparison.at);
            let part: Vec<Vec<Comparison>> =
                groups.iter().map(|group| group.iter().filter(within).cloned().collect()).collect();
            part.iter().all(|group: &Vec<Comparison>| !group.is_empty()) && rule(&part) == Verdict::Reproduced
        };
        let of_length = |length: usize| match open {
            OpenEnd::From => (count - length, count),
            OpenEnd::To => (0, length),
        };
        let (from, to) = (2..count).rev().map(of_length).find(|&(from, to)| holds(from, to))?;
        let text = |place: &AxisPlace| place.text.clone();
        let before = from.checked_sub(1).and_then(|before| self.places.get(before));
        Some(Range {
            from: text(&self.places[from]),
            to: text(&self.places[to - 1]),
            values: to - from,
            bounds: before.into_iter().chain(self.places.get(to)).map(text).collect(),
        })
    }
}
