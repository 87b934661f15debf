//! What overlaps in time is shown on tracks beside each other.

use std::collections::HashMap;
use std::ops::Range;

use crate::observers::observer::Cycle;

/// Tracks side by side, as few as what they show allows if it comes in the order in which it begins.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// For each place, the cycle from which on each of its tracks is free.
    free: HashMap<usize, Vec<Cycle>>,
}

impl Beside {
    /// Takes a track of a place for some time, the first that is free.
    pub(super) fn take(&mut self, place: usize, time: Range<Cycle>) -> u32 {
        let tracks = self.free.entry(place).or_default();
        let free = tracks.iter().position(|&from| from <= time.start);
        let track = free.unwrap_or_else(|| {
            tracks.push(0);
            tracks.len() - 1
        });
        tracks[track] = time.end;
        track as u32
    }

    /// What a track has been taken for ends.
    pub(super) fn end(&mut self, place: usize, track: u32, at: Cycle) {
        if let Some(end) = self.free.get_mut(&place).and_then(|tracks| tracks.get_mut(track as usize)) {
            *end = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_track_is_free_from_the_cycle_in_which_what_it_shows_has_ended() {
        let mut beside = Beside::default();
        assert_eq!(beside.take(7, 0..Cycle::MAX), 0);
        assert_eq!(beside.take(7, 2..Cycle::MAX), 1);
        assert_eq!(beside.take(8, 2..5), 0);
        assert_eq!(beside.take(8, 4..6), 1);
        assert_eq!(beside.take(8, 5..9), 0);
        beside.end(7, 0, 4);
        assert_eq!(beside.take(7, 3..5), 2);
        assert_eq!(beside.take(7, 4..5), 0);
    }
}
