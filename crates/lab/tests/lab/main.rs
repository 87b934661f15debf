//! The lab from outside, with made-up runs in place of the engines.

mod experiments;
mod interruption;
mod plots;
mod sweeps;
mod synthetic;
