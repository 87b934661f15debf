//! Tests of the routings through their public interface, in one program.

mod classes;
mod edge_disjoint_trees;
mod graphs;
mod multidestination;
mod naive;
mod support;
mod tables;
mod torus_trees;
mod turns;

/// The manifest names this file alone: one program is built sooner than many.
#[test]
fn every_file_beside_this_one_is_part_of_it() {
    let own = include_str!("main.rs");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    for file in std::fs::read_dir(folder).expect("the folder of this file").flatten() {
        let name = file.file_name().into_string().expect("a name in Unicode");
        if let Some(module) = name.strip_suffix(".rs").filter(|&module| module != "main") {
            assert!(own.contains(&format!("\nmod {module};\n")), "`mod {module};` is missing in main.rs");
        }
    }
}
