//! The pictures of algorithms in the documents are what the program draws.

use std::fs;
use std::path::Path;

use wormcast::multicast::ALGORITHMS;

use crate::folder::Folder;
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
        // What is said beside a picture on standard output is on standard error.
        let mut run = crate::command(&command.split(' ').collect::<Vec<_>>());
        // Files are named as a reader does who is at the top of the repository.
        let run = crate::outcome(run.current_dir(docs.join("..")).spawn().expect("the command starts"));
        assert_eq!(run.code, 0, "{command}");
        let drawn = run.stdout;
        let path = docs.join("images").join(file);
        if draw {
            fs::write(&path, &drawn).expect("the picture is written");
        }
        let shown = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(shown == drawn, "{file} is not what `wormcast {command}` draws; WORMCAST_DRAW=1 replaces it");
        listed.push(file);
    }
    for name in ALGORITHMS.iter().map(|algorithm| algorithm.name).filter(|name| !VARIANTS.contains(name)) {
        let file = format!("plan-{name}.svg");
        assert!(listed.contains(&file.as_str()), "docs/images/commands.txt has no picture of `{name}`");
        assert!(page.contains(&format!("](images/{file})")), "docs/algorithms.md does not show {file}");
    }
}

/// Bursts that end in a deadlock.
const WAITS: &str = r#"
topology = "mesh:8x8"
algorithm = "dual-path"
seed = 4
switching = { buffer = 1, injection_ports = 1, consumption_ports = 1 }
timing = { startup = 0, routing_delay = 1 }
traffic = { arrivals = { process = "burst", sources = 16 }, length = 40, multicast = { destinations = 8 } }
run = { mode = "finite", messages = 16 }
"#;

/// The picture of a deadlock in docs/commands.md: the run ends with exit code 1, so it is no line of the list.
#[test]
fn the_picture_of_waits_is_what_the_program_draws() {
    let folder = Folder::with(&[("x.toml", WAITS)]);
    assert_eq!(folder.run(&["simulate", "x.toml", "--waits", "waits.svg"]).code, 1);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images/waits.svg");
    if std::env::var_os("WORMCAST_DRAW").is_some() {
        fs::write(&path, folder.read("waits.svg")).expect("the picture is written");
    }
    assert!(fs::read_to_string(&path).expect("the picture") == folder.read("waits.svg"), "WORMCAST_DRAW=1 replaces it");
}

/// Worms may hold one link, and those of both its directions lie close together: with this seed two numbers are in each other's way.
#[test]
fn the_numbers_of_waiting_worms_do_not_cover_each_other() {
    let folder = Folder::with(&[("x.toml", WAITS)]);
    assert_eq!(folder.run(&["simulate", "x.toml", "--seed", "1", "--waits", "waits.svg"]).code, 1);
    let svg = folder.read("waits.svg");
    let tag = |line: &str| -> Option<[f64; 4]> {
        let rest = line.strip_prefix("<rect x=\"").filter(|_| line.contains("rx=\"3\""))?;
        let mut numbers = rest.split('"').step_by(2).filter_map(|number| number.parse().ok());
        Some(std::array::from_fn(|_| numbers.next().expect("x, y, width and height")))
    };
    let tags: Vec<[f64; 4]> = svg.lines().filter_map(tag).collect();
    assert_eq!(tags.len(), 15);
    for (place, [x, y, width, height]) in tags.iter().enumerate() {
        for [other_x, other_y, other_width, _] in &tags[..place] {
            let beside = x + width <= other_x + 0.1 || other_x + other_width <= x + 0.1;
            assert!(beside || (y - other_y).abs() >= height - 0.1, "{x},{y} covers {other_x},{other_y}");
        }
    }
}

/// The width and the height of a picture, in pixels.
fn size(svg: &str) -> (f64, f64) {
    let (_, rest) = svg.split_once("viewBox=\"0 0 ").expect("a view box");
    let (size, _) = rest.split_once('"').expect("its end");
    let (width, height) = size.split_once(' ').expect("two numbers");
    (width.parse().unwrap(), height.parse().unwrap())
}

/// A tree of 1,024 nodes side by side would be forty times as wide as the mesh, a list of all worms three times as high.
#[test]
fn a_broadcast_in_a_large_mesh_is_a_picture_of_the_mesh() {
    let draw = |topology: &str, algorithm: &str| {
        let arguments = ["plan", "--topology", topology, "--algorithm", algorithm, "--source", "0,0"];
        wormcast(&[&arguments[..], &["--destinations", "all", "--format", "svg"]].concat()).success()
    };
    let svg = draw("mesh:32x32", "u-mesh");
    let (width, height) = size(&svg);
    assert!(width < 1600.0 && height < 1200.0, "{width} {height}");
    assert!(svg.contains("The tree is too wide") && svg.contains("more lines") && svg.contains("step 10: 512 worms"));
    let svg = draw("mesh:32x32", "dual-path");
    assert!(size(&svg).1 < 1200.0 && svg.contains("more lines"));
    let small = draw("mesh:4x4", "u-mesh");
    assert!(!small.contains("too wide") && !small.contains("more lines"));
}
