//! The engine against the rules of the model, closed forms and invariants.

mod engines;
mod rules;
mod support;
mod zero_load;
