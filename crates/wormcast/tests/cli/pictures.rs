//! The pictures of algorithms in the documents are what the program draws.

use std::fs;
use std::path::Path;

use wormcast::multicast::ALGORITHMS;

use crate::wormcast;

/// The kinds of `dstm-tarjan`, which differ in how they choose among sets of trees.
const VARIANTS: [&str; 3] = ["dstm-tarjan-best", "dstm-tarjan-average", "dstm-tarjan-path"];

/// With `WORMCAST_DRAW=1`, the pictures are replaced by what the program draws.
#[test]
fn pictures_are_what_the_program_draws() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let commands = fs::read_to_string(docs.join("images/commands.txt")).expect("the list of pictures");
    let page = fs::read_to_string(docs.join("algorithms.md")).expect("the page of the algorithms");
    let draw = std::env::var_os("WORMCAST_DRAW").is_some();
    let mut listed = Vec::new();
    for line in commands.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (file, command) = line.split_once(": ").expect("a file and a command");
        let drawn = wormcast(&command.split(' ').collect::<Vec<_>>()).success();
        let path = docs.join("images").join(file);
        if draw {
            fs::write(&path, &drawn).expect("the picture is written");
        }
        let shown = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(shown == drawn, "{file} is not what `wormcast {command}` draws; WORMCAST_DRAW=1 replaces it");
        listed.push(file);
    }
    for name in ALGORITHMS.iter().filter(|name| !VARIANTS.contains(name)) {
        let file = format!("plan-{name}.svg");
        assert!(listed.contains(&file.as_str()), "docs/images/commands.txt has no picture of `{name}`");
        assert!(page.contains(&format!("](images/{file})")), "docs/algorithms.md does not show {file}");
    }
}
