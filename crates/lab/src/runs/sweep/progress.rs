//! How far the points of a sweep are, and what the replications that are there allow to decide.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Lengthened, PointRuns, PointStatus, Status, first_replication};
use crate::experiment::file::Stop;
use crate::experiment::point::Point;
use crate::runs::replication::Replication;
use crate::runs::stopping::{Outcome, StoppingDecision, Windows, judge};
use crate::runs::window::{correlation, window_of};
use crate::store::{Store, StoreError};

/// The results that the store has of a point whose windows were doubled so often, numbered from 0.
fn there(store: &Store, hash: &str, doubled: u32) -> Result<BTreeMap<u32, Replication>, StoreError> {
    let mut all = store.load(hash)?;
    let first = first_replication(doubled);
    let own = all.split_off(&first);
    Ok(own.into_iter().map(|(replication, run)| (replication - first, run)).collect())
}

/// How far a point of the sweep is.
pub(super) struct PointProgress {
    /// The point, with the window that its runs have now.
    pub(super) point: Point,
    pub(super) hash: String,
    pub(super) windows: Windows,
    /// All results that are there, with gaps and surplus.
    pub(super) there: BTreeMap<u32, Replication>,
    /// Replications 0, 1, … without a gap.
    pub(super) prefix: Vec<Replication>,
    /// Replications needed for the next decision.
    target: u32,
    /// The next replication to hand out, if it is not there.
    next: u32,
    pub(super) outcome: Option<Outcome>,
}

impl PointProgress {
    /// What the store has of a point.
    pub(super) fn new(point: &Point, stop: &Stop, store: &Store) -> Result<Self, StoreError> {
        let hash = point.spec.config_hash();
        let mut progress = Self {
            point: point.clone(),
            there: there(store, &hash, point.doubled)?,
            hash,
            windows: Windows::first(&point.spec),
            prefix: Vec::new(),
            target: stop.min_replications,
            next: 0,
            outcome: None,
        };
        progress.advance(stop, store)?;
        Ok(progress)
    }

    /// The replications that count.
    pub(super) fn finish(self) -> PointRuns {
        let doubled = self.point.doubled;
        let messages = self.point.spec.run.messages.filter(|_| doubled > 0);
        PointRuns {
            outcome: self.outcome.unwrap_or(Outcome::Incomplete),
            runs: self.prefix,
            lengthened: messages.map(|messages| Lengthened { messages, doubled }),
        }
    }

    /// Lengthens the prefix by what is there and decides what it allows to decide.
    pub(super) fn advance(&mut self, stop: &Stop, store: &Store) -> Result<(), StoreError> {
        while self.outcome.is_none() {
            while (self.prefix.len() as u32) < self.target {
                let Some(run) = self.there.remove(&(self.prefix.len() as u32)) else { break };
                // Nothing beyond a deadlock is needed.
                let dead = run.deadlock().is_some();
                self.prefix.push(run);
                if dead {
                    break;
                }
            }
            match judge(stop, self.windows, &self.prefix) {
                StoppingDecision::Done(outcome, used) => {
                    self.prefix.truncate(used as usize);
                    self.there.clear();
                    self.target = used;
                    self.outcome = Some(outcome);
                }
                StoppingDecision::Longer => self.lengthen(stop, store)?,
                StoppingDecision::Need(more) => {
                    self.target = more;
                    if !self.there.contains_key(&(self.prefix.len() as u32)) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Starts again with windows twice as long.
    fn lengthen(&mut self, stop: &Stop, store: &Store) -> Result<(), StoreError> {
        let half = correlation(&self.prefix);
        let mut spec = self.point.spec.clone();
        spec.run.messages = window_of(&self.prefix).map(|messages| 2 * messages);
        let hash = spec.config_hash();
        // First of all: if it fails, nothing has changed.
        self.there = there(store, &hash, self.point.doubled + 1)?;
        self.point.spec = spec;
        self.point.doubled += 1;
        self.hash = hash;
        self.windows = Windows { doubled: self.windows.doubled + 1, half, ..self.windows };
        self.prefix.clear();
        self.target = stop.min_replications;
        self.next = 0;
        Ok(())
    }

    /// Takes replications that the point needs and that nobody computes yet: so many at most, with consecutive numbers.
    pub(super) fn take(&mut self, most: u32) -> Option<Range<u32>> {
        if self.outcome.is_some() {
            return None;
        }
        // A known deadlock makes later replications useless, though earlier ones may have another.
        let dead = self.there.iter().find(|(_, run)| run.deadlock().is_some()).map_or(u32::MAX, |(&at, _)| at);
        let end = self.target.min(dead);
        let (prefix, there) = (self.prefix.len() as u32, &self.there);
        let is_missing = |replication: u32| replication >= prefix && !there.contains_key(&replication);
        let first = (self.next..end).find(|&replication| is_missing(replication));
        let Some(first) = first else {
            self.next = self.next.max(end);
            return None;
        };
        self.next = (first..end.min(first.saturating_add(most.max(1))))
            .find(|&replication| !is_missing(replication))
            .unwrap_or(end.min(first.saturating_add(most.max(1))));
        Some(first..self.next)
    }

    pub(super) fn replications(&self) -> u64 {
        (self.prefix.len() + self.there.range(..self.target).count()) as u64
    }
}

/// The sums that a status reports.
pub(super) struct Tally {
    points: usize,
    done: usize,
    replications: u64,
    expected: u64,
    pub(super) computed: u64,
}

impl Tally {
    pub(super) fn new(progress: &[PointProgress]) -> Self {
        let mut tally = Self { points: progress.len(), done: 0, replications: 0, expected: 0, computed: 0 };
        for point in progress {
            tally.add(point);
        }
        tally
    }

    pub(super) fn add(&mut self, point: &PointProgress) {
        self.done += usize::from(point.outcome.is_some());
        self.replications += point.replications();
        self.expected += u64::from(point.target);
    }

    pub(super) fn remove(&mut self, point: &PointProgress) {
        self.done -= usize::from(point.outcome.is_some());
        self.replications -= point.replications();
        self.expected -= u64::from(point.target);
    }

    pub(super) fn status<'a>(&self, point: Option<PointStatus<'a>>) -> Status<'a> {
        Status {
            points: self.points,
            points_done: self.done,
            replications: self.replications,
            replications_expected: self.expected,
            computed: self.computed,
            point,
        }
    }
}
