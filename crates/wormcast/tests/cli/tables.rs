//! Fabrics that are simulated by their forwarding tables.

use serde_json::Value;

use crate::folder::Folder;
use crate::{Outcome, command, outcome, wormcast};

const FABRIC: &str = include_str!("../../../../examples/fabric.net");
const UNICASTS: &str = include_str!("../../../../examples/fabric.lfts");
const GROUPS: &str = include_str!("../../../../examples/fabric.mcfdbs");
const EXPERIMENT: &str = r#"
topology = "fabric.net"
algorithm = "tables"
routing = { tables = "fabric.lfts" }
options.multicast_tables = "fabric.mcfdbs"
traffic = { arrivals = { process = "poisson", rate = 0.01 }, multicast = { destinations = "group" } }
run.messages = 200
"#;

fn fabric() -> Folder {
    let folder = Folder::with(&[("fabric.net", FABRIC), ("fabric.lfts", UNICASTS), ("fabric.mcfdbs", GROUPS)]);
    folder.write("e.toml", EXPERIMENT.as_bytes());
    folder
}

/// What a run says; its tables can deadlock, which is warned of by a command that works where it was printed.
fn report(run: &Outcome) -> Value {
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("can deadlock here: see `wormcast routing --topology "), "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn the_analysis_that_is_advised_works_where_it_was_advised() {
    let folder = fabric();
    std::fs::create_dir(folder.path().join("below")).unwrap();
    let said = outcome(command(&["simulate", "../e.toml"]).current_dir(folder.path().join("below")).spawn().unwrap());
    let advised = said.stderr.split('`').find(|part| part.starts_with("wormcast routing ")).expect("a command");
    // A shell takes the quotes away.
    let unquoted = advised.replace('\'', "");
    let words: Vec<&str> = unquoted.split(' ').skip(1).collect();
    let run = outcome(command(&words).current_dir(folder.path().join("below")).spawn().unwrap());
    assert!(run.code == 0 && run.stdout.contains("deadlock"), "{advised}: {run:?}");
}

#[test]
fn files_are_beside_the_experiment_and_part_of_the_point() {
    let folder = fabric();
    let path = folder.path().join("e.toml").display().to_string();
    let hash = || report(&wormcast(&["simulate", &path, "--format", "json"]))["config_hash"].clone();
    let first = hash();
    assert_eq!(first, hash());
    for (name, text) in [("fabric.lfts", UNICASTS), ("fabric.mcfdbs", GROUPS)] {
        folder.write(name, format!("{text}\n").as_bytes());
        assert_ne!(first, hash(), "{name} has changed");
        folder.write(name, text.as_bytes());
    }
    assert_eq!(first, hash());
}

/// Every message goes to the five other members; 6 of the 12 hosts are members.
#[test]
fn messages_go_to_groups() {
    let run = report(&fabric().run(&["simulate", "e.toml", "--format", "json"]));
    let messages = &run["messages"];
    assert_eq!(messages["measured"], 200, "{run}");
    let delivered = run["deliveries"].as_u64().unwrap();
    assert!(delivered >= 5 * messages["delivered"].as_u64().unwrap(), "{run}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |set: &[&str]| {
        let sets: Vec<&str> = set.iter().flat_map(|set| ["--set", *set]).collect();
        fabric().run(&[&["simulate", "e.toml"], &sets[..]].concat()).bad_input()
    };
    for (set, expected) in [
        (&["options.tables=fabric.lfts"][..], "says the same as `options.tables`"),
        (&["root=3"], "which have no root"),
        (&["routing={tables=\"none.lfts\"}"], "No such file"),
        (&["algorithm=separate"], "has no option"),
        (&["options.groups=fabric.net"], "there is no `:` behind the group"),
        (&["topology=omega:4x2"], "`tables` needs links with channels both ways"),
    ] {
        let message = refused(set);
        assert!(message.contains(expected), "{set:?}: {message}");
    }
    // Tables for the routing of a network that is too large.
    let large = wormcast(&[
        "plan",
        "--topology",
        "mesh:1000x1000",
        "--algorithm",
        "tables",
        "--source",
        "0",
        "--destinations",
        "1",
    ]);
    assert_eq!(large.code, 2);
    assert!(large.stderr.contains("forwarding tables for mesh:1000x1000"), "{}", large.stderr);
}

/// Entries towards the fourth host are taken out of the first switch.
#[test]
fn tables_that_do_not_deliver_are_refused() {
    let folder = fabric();
    let (first, rest) = UNICASTS.split_at(UNICASTS[10..].find("Unicast lids").unwrap() + 10);
    let kept: Vec<&str> = first.lines().filter(|line| !line.contains("'host4'")).collect();
    folder.write("fabric.lfts", format!("{}\n{rest}", kept.join("\n")).as_bytes());
    let message = folder.run(&["simulate", "e.toml"]).bad_input();
    assert!(
        message.contains("the tables do not deliver messages from host1 to host4: `rack1` has no entry"),
        "{message}"
    );
}

/// Settings of multicasts without any.
#[test]
fn groups_that_nothing_is_sent_to_are_warned_of() {
    let folder = fabric();
    let unicasts: String = EXPERIMENT.replace(", multicast = { destinations = \"group\" }", "");
    folder.write("e.toml", unicasts.as_bytes());
    let run = folder.run(&["simulate", "e.toml"]);
    assert_eq!(run.code, 0);
    assert!(run.stderr.contains("`options.multicast_tables` makes no difference"), "{}", run.stderr);
}
