//! The lab from outside, mostly with made-up runs in place of the engines.

mod engines;
mod experiments;
mod interruption;
mod parsers;
mod plots;
mod schema;
mod sweeps;
mod synthetic;
mod windows;
