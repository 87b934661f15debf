//! The engine against the rules of the model, closed forms and invariants.

mod conservation;
mod engines;
mod equality;
mod equations;
mod fabric;
mod limit;
mod mesh_trees;
mod oracle;
mod reachability;
mod refusals;
mod replay;
mod rules;
mod selection;
mod software_multicast;
mod spanning_trees;
mod support;
mod switch_oracle;
mod switches;
mod switches_equality;
mod switches_stress;
mod tables;
mod tree_safety;
mod virtual_channels;
mod waits;
mod warmup;
mod zero_load;
