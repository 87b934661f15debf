//! `SplitMix64`: turns similar numbers into random-looking ones.

/// The increment of the state.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of `SplitMix64`: a bijection that leaves 0 as it is.
pub const fn finalise(value: u64) -> u64 {
    let z = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The first output of `SplitMix64` from this state.
pub const fn mix(state: u64) -> u64 {
    finalise(state.wrapping_add(STEP))
}
