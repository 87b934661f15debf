//! Tests of the algorithms through their public interface, in one program.

mod bounded_negative_first;
mod consumption_ports;
mod drawing;
mod faults;
mod figure_5_of_paper_3;
mod figures_of_paper_2;
mod mesh_trees;
mod optimality;
mod reductions;
mod requests;
mod reuse;
mod stopped;
mod support;
mod switches;
mod table_1;
mod tree_headers;
mod trees;
mod unicast_trees;

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
