//! The holder of a channel, and until when it holds it.

use super::arbiter::NONE;
use crate::observers::observer::Cycle;

/// The state of a channel: held by a worm for an unknown time, or free from a cycle on.
///
/// One number, so that the question of every hop is one comparison: cycles are small, worms have the top bit.
#[derive(Clone, Copy)]
pub(super) struct Hold(u64);

impl Hold {
    pub(super) const FREE: Self = Self(0);
    const WORM: u64 = 1 << 63;

    pub(super) fn by(slot: u32) -> Self {
        Self(Self::WORM | u64::from(slot))
    }

    pub(super) fn until(cycle: Cycle) -> Self {
        debug_assert!(cycle < Self::WORM);
        Self(cycle)
    }

    #[inline]
    pub(super) fn is_free(self, now: Cycle) -> bool {
        self.0 <= now
    }

    /// The slot of the worm that holds the channel and has not said until when, or `NONE`.
    pub(super) fn worm(self) -> u32 {
        if self.0 & Self::WORM == 0 { NONE } else { self.0 as u32 }
    }

    /// When the channel becomes free, if that is known and still to come.
    pub(super) fn ends(self, now: Cycle) -> Option<Cycle> {
        (self.0 > now && self.0 & Self::WORM == 0).then_some(self.0)
    }
}
