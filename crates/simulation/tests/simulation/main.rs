//! The engine against the rules of the model, closed forms and invariants.

mod equality;
mod oracle;
mod support;
mod zero_load;
