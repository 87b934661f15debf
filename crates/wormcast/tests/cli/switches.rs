//! Multistage networks and worms that switches replicate.

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::{wormcast, wormcast_with_input};

fn plan(algorithm: &str, source: &str, destinations: &str, more: &[&str]) -> String {
    let arguments = ["plan", "--topology", "bmin:4x2", "--algorithm", algorithm, "--source", source];
    wormcast(&[&arguments[..], &["--destinations", destinations], more].concat()).success()
}

#[test]
fn a_network_is_described() {
    let network = wormcast(&["topology", "bmin:4x3", "--format", "json"]).json();
    assert_eq!(network["routers"], 48);
    assert_eq!(network["nodes"], 64);
    assert_eq!((&network["links"], &network["channels"]), (&json!(128), &json!(256)));
    assert_eq!(network["connected"], true);
    assert_eq!(network["degree"], json!({"min": 4, "mean": 256.0 / 48.0, "max": 8}));
}

#[test]
fn a_plan_shows_the_header() {
    let answer: Value = serde_json::from_str(&plan("bit-string", "1", "2;6;7;13", &["--format", "json"])).unwrap();
    let worm = &answer["worms"][0];
    assert_eq!(worm["visits"], json!([2, 6, 7, 13]));
    assert_eq!(worm["channels"], json!([[0, 4], [4, 0], [4, 1], [4, 3]]));
    assert_eq!(
        (&worm["encoding"], &worm["header_bits"], &worm["header_flits"]),
        (&json!("bit-string"), &json!(16), &json!(1))
    );
    let text = plan("multiport", "0", "5;6;9;10;2;15", &["--flit-bits", "8"]);
    assert_eq!(
        text,
        "multiport on bmin:4x2: 3 worms from 0 to 6 destinations\n\
         startups 2, steps 2, channels 5, longest 2\n\
         contention-free\n\
         multiport header of 5 bits, 1 flit of 8 bits\n\
         multiport header of 9 bits, 2 flits of 8 bits\n\n\
         worm  from  after  step  channels  visits\n\
         0     0     -      1     3         5 > 6 > 9 > 10\n\
         1     0     -      2     0         2\n\
         2     5     0      2     2         15\n"
    );
    let request = r#"{"topology":"bmin:4x2","algorithm":"bit-string","source":0,"destinations":[1],"flit_bits":5}"#;
    let answer = wormcast_with_input(&["plan", "--batch", "-"], request).json();
    assert_eq!(answer["worms"][0]["header_flits"], 4);
}

#[test]
fn synchronous_replication_deadlocks_and_asynchronous_does_not() {
    let analyse = |replication: &[&str]| -> Value {
        let arguments = ["routing", "--topology", "bmin:4x2", "--algorithm", "bit-string", "--format", "json"];
        wormcast(&[&arguments[..], replication].concat()).json()
    };
    let safe = analyse(&[]);
    assert_eq!((&safe["deadlock_free"], &safe["replication"]), (&json!(true), &json!("asynchronous")));
    assert_eq!((&safe["connected"], &safe["diameter"]), (&json!(true), &json!(2)));
    // Paper 4, Figure 2: at one switch, and at two.
    let one = analyse(&["--replication", "synchronous"]);
    assert_eq!(one["resources"], json!([{"consumption": 0}, {"consumption": 1}]));
    let two = analyse(&["--replication", "synchronous-together"]);
    assert_eq!(two["resources"], json!([{"consumption": 0}, {"consumption": 4}]));
}

#[test]
fn mistakes_are_explained() {
    let message = |arguments: &[&str]| wormcast(arguments).bad_input();
    let routing = ["routing", "--topology", "bmin:4x2", "--replication", "synchronous", "--algorithm"];
    assert_eq!(
        message(&[&routing[..], &["u-min"]].concat()),
        "error: switches do not replicate the worms of `u-min`: this `--replication` is for `bit-string` and `multiport`. Leave \
         it out or, for trees, give `lockstep` or `independent`\n"
    );
    assert!(message(&[&routing[..], &["bit-strin"]].concat()).contains("bit-string"));
    let network = ["topology", "bmin:4x"];
    assert_eq!(
        message(&network),
        "error: topology `bmin:4x`: `` is not a number; expected the radix of switches and the number of stages, as in \
         `bmin:4x3`\n"
    );
}

#[test]
fn unidirectional_networks_are_described_and_not_converted() {
    let network = wormcast(&["topology", "omega:2x3", "--format", "json"]).json();
    assert_eq!((&network["links"], &network["channels"], &network["diameter"]), (&json!(16), &json!(16), &json!(2)));
    assert_eq!(network["connected"], true);
    assert_eq!(
        wormcast(&["topology", "omega:2x3", "--format", "graphml"]).bad_input(),
        "error: GraphML has no place for channels that run one way, as in omega:2x3; use `dot` or `svg`\n"
    );
    let picture = wormcast(&["topology", "omega:2x3", "--format", "svg"]).success();
    // Each node on both sides.
    assert_eq!((picture.matches("<circle").count(), picture.matches("<rect").count()), (12, 1 + 16));
    let analysis =
        wormcast(&["routing", "--topology", "omega:2x3", "--algorithm", "bit-string", "--format", "json"]).json();
    assert_eq!((&analysis["routing"], &analysis["deadlock_free"]), (&json!("destination-tag"), &json!(true)));
    assert!(
        wormcast(&["routing", "--topology", "omega:2x3", "--routing", "up-down"])
            .bad_input()
            .contains("needs links with channels both ways")
    );
}

#[test]
fn pictures_have_layers() {
    let picture = wormcast(&["topology", "bmin:4x2", "--format", "svg"]).success();
    assert_eq!((picture.matches("<circle").count(), picture.matches("<rect").count()), (8, 1 + 16));
    // Links and cables.
    assert_eq!(picture.matches("<polyline").count(), 16 + 16);
    let picture = plan("bit-string", "1", "2;6;7;13", &["--format", "svg"]);
    assert!(picture.contains("source 1") && picture.contains("13: visit 4 of worm 0, step 1"));
}

/// A worm of 64 flits behind a bit string of four, to one node, in an empty network: each of three stages takes six cycles, and the last
/// flit comes 68 cycles after.
#[test]
fn buffered_switches_run_on_unidirectional_networks() {
    const ALONE: &str = "algorithm = 'bit-string'\ntiming = { preset = 'paper-4' }\ntraffic.length = 64\n\
        traffic.arrivals = { process = 'bernoulli', rate = 0.00001 }\nrun.messages = 20\nrun.warmup = 0\n";
    let folder = Folder::with(&[("alone.toml", ALONE)]);
    for topology in ["omega:4x3", "butterfly:4x3"] {
        for model in ["central-buffer", "input-buffer"] {
            for destinations in [1, 20] {
                let given = [
                    format!("topology='{topology}'"),
                    format!("switching.model='{model}'"),
                    format!("traffic.multicast.destinations={destinations}"),
                ];
                let mut arguments = vec!["simulate", "alone.toml", "--format", "json"];
                for given in &given {
                    arguments.extend(["--set", given]);
                }
                let run = folder.run(&arguments).json();
                let said = (&run["messages"]["measured"], &run["deliveries"], &run["duplicates"]);
                assert_eq!(said, (&json!(20), &json!(20 * destinations), &json!(0)), "{topology} {model}");
                if destinations == 1 {
                    assert_eq!(run["latency"]["last"]["mean"], json!(3.0 * 6.0 + 68.0), "{topology} {model}");
                }
            }
        }
    }
}

/// Samples of cycles in which nothing is in the network, or nothing moves, were left out.
#[test]
fn empty_cycles_count_for_what_buffers_hold() {
    const TRACED: &str = "topology = 'bmin:4x2'\nrouting = 'turnaround'\nalgorithm = 'separate'\nswitching.model = 'central-buffer'\n\
        timing.preset = 'paper-4'\ntraffic.trace = 'messages.txt'\n";
    let folder = Folder::with(&[("traced.toml", TRACED)]);
    // The mean in flits, and how many samples there were.
    let run = |trace: &str| {
        folder.write("messages.txt", trace.as_bytes());
        let run = folder.run(&["simulate", "traced.toml", "--format", "json", "--buffers", "held.csv"]).json();
        (run["buffers"]["mean"].as_f64().unwrap(), run["cycles"].as_u64().unwrap().div_ceil(64))
    };
    let (mean, samples) = run("0 0 64 15\n");
    assert!(mean > 1.0 && samples == 2, "{mean}, {samples}");
    for apart in [6_400, 1_000_000] {
        let (both, all) = run(&format!("0 0 64 15\n{apart} 0 64 15\n"));
        let sum = both * all as f64;
        assert!((sum - 2.0 * mean * samples as f64).abs() < 1e-6 * sum, "{both} in {all} samples, {mean} in {samples}");
        // A line of the file holds until the next one.
        let rows: Vec<[u64; 3]> = folder
            .read("held.csv")
            .lines()
            .skip(1)
            .map(|line| line.split(',').map(|number| number.parse().unwrap()).collect::<Vec<_>>().try_into().unwrap())
            .collect();
        let mut held = 0;
        for switch in 0..8 {
            let own: Vec<&[u64; 3]> = rows.iter().filter(|row| row[1] == switch).collect();
            let ends = own.iter().skip(1).map(|row| row[0]).chain([all * 64]);
            held += own.iter().zip(ends).map(|(row, end)| (end - row[0]) / 64 * row[2]).sum::<u64>();
        }
        assert!((held as f64 / 8.0 - sum).abs() < 1e-6 * sum, "{held} flits in all, {sum} in a switch");
    }
}
