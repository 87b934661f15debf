//! The lab from outside, mostly with made-up runs in place of the engines.

mod engines;
mod experiments;
mod interruption;
mod plots;
mod sweeps;
mod synthetic;
