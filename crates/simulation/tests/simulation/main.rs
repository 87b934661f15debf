//! The engine against the rules of the model, closed forms and invariants.

mod support;
mod zero_load;
