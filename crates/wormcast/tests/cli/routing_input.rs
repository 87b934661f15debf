//! What `wormcast routing` makes of options and tables that do not fit.

use crate::folder::Folder;
use crate::routing::{FABRIC, TABLES};
use crate::wormcast;

/// Given trees branch as the options say: of the two of the documents, one waits for what the other holds, in lockstep.
#[test]
fn options_say_how_given_trees_branch() {
    let trees = concat!(
        r#"{"topology":"mesh:4","algorithm":"tree-one","source":1,"destinations":[0,3]}"#,
        "\n",
        r#"{"topology":"mesh:4","algorithm":"tree-one","source":2,"destinations":[0,3]}"#,
        "\n"
    );
    let folder = Folder::with(&[("trees", trees), ("one", trees.lines().next().unwrap())]);
    let with = |options: &[&str]| {
        let given = ["routing", "--topology", "mesh:4", "--routing", "e-cube", "--multicasts", "trees"];
        folder.run(&[&given[..], options].concat())
    };
    let safe = |options: &[&str]| with(&[options, &["--format", "json"]].concat()).json()["deadlock_free"] == true;
    let stored = ["--buffer", "message", "--replication", "independent", "--reservation", "separate"];
    assert!(safe(&stored));
    assert!(!safe(&[]) && !safe(&["--replication", "lockstep"]) && !safe(&stored[2..]));
    assert!(with(&stored).success().contains("  replication       independent branches\n"));
    assert!(
        with(&["--replication", "synchronous"]).bad_input().contains("expected `--replication lockstep` or `indep")
    );
    assert!(!safe(&["--virtual-channels", "2"]), "more virtual channels do not help trees in lockstep");
}

#[test]
fn options_about_other_worms_are_refused_or_warned_of() {
    let run = |arguments: &[&str]| wormcast(&[&["routing", "--topology", "mesh:4x4"], arguments].concat());
    for option in [["--buffer", "3"], ["--replication", "lockstep"], ["--reservation", "separate"]] {
        let refused = run(&[&["--routing", "e-cube"], &option[..]].concat()).bad_input();
        assert!(refused.contains("is about worms with several destinations: expected `--algorithm` or "), "{refused}");
    }
    let on_two = ["--algorithm", "tree-one", "--virtual-channels", "2"];
    let lockstep = run(&[&on_two[..], &["--replication", "lockstep"]].concat()).success();
    assert!(lockstep.contains("  deadlock-free     no\n"), "{lockstep}");
    assert_eq!(run(&on_two).code, 0);
    let idle = |arguments: &[&str], warnings: &[&str]| {
        let outcome = run(arguments);
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let expected: Vec<String> = warnings.iter().map(|warning| format!("warning: {warning}")).collect();
        assert_eq!(outcome.stderr.lines().collect::<Vec<_>>(), expected, "{arguments:?}");
    };
    let unicasts = "makes no difference: these worms hold a consumption channel only where they end";
    idle(
        &["--routing", "e-cube", "--consumption-ports", "2", "--virtual-channels", "2", "--seed", "1"],
        &[
            "`--seed` makes no difference: `e-cube` makes no random choices",
            &format!("`--consumption-ports` {unicasts}"),
            "`--virtual-channels` makes no difference: the routing does not tell virtual channels apart",
        ],
    );
    idle(&["--algorithm", "dual-path", "--consumption-ports", "2"], &[]);
    idle(
        &["--algorithm", "dual-path", "--buffer", "3", "--replication", "lockstep", "--reservation", "separate"],
        &["--buffer", "--replication", "--reservation"]
            .map(|option| format!("`{option}` makes no difference: `dual-path` sends no trees"))
            .each_ref()
            .map(String::as_str),
    );
    idle(
        &["--algorithm", "tree-one", "--replication", "lockstep", "--reservation", "separate"],
        &["`--reservation` makes no difference: the branches of trees in lockstep are reserved all at once"],
    );
    idle(&["--routing", "tree", "--seed", "1"], &[]);
}

/// What a dump lacks is noticed: the end of a table, entries, a whole table.
#[test]
fn a_dump_that_was_cut_is_noticed() {
    let whole = std::fs::read_to_string(TABLES).unwrap();
    let folder = Folder::with(&[]);
    let with = |text: &str| {
        folder.write("x.lfts", text.as_bytes());
        folder.run(&["routing", "--topology", FABRIC, "--tables", "x.lfts"])
    };
    let counted = with(&whole.replacen("18 lids dumped", "99 lids dumped", 1)).bad_input();
    assert!(
        counted.starts_with("error: x.lfts:20: the table that begins in line 1 has 18 entries, not 99"),
        "{counted}"
    );
    // In the midst of an entry of the first table and of the last one.
    for cut in [whole.find("0x0005 00").unwrap() + 9, whole.rfind("0x0012 00").unwrap() + 9] {
        let cut = with(&whole[..cut]).bad_input();
        assert!(cut.contains("does not end with `… lids dumped`: is the file cut?"), "{cut}");
    }
    let lines = whole.split_inclusive('\n').take(60).collect::<String>();
    let half = with(&lines);
    assert_eq!(half.code, 0);
    assert_eq!(half.stderr, "warning: `x.lfts` has no entries of rack4, rack5, rack6: is it truncated?\n");
    // A mesh has no identifiers of its own, and those that are made up for it are small numbers, too.
    folder.write("x.lfts", whole.as_bytes());
    let other = folder.run(&["routing", "--topology", "mesh:4x4", "--tables", "x.lfts"]).bad_input();
    let message = "error: x.lfts:1: `mesh:4x4` has no identifiers of its own, and the switch with the number ";
    assert!(other.starts_with(message) && other.contains("not `rack1`: the tables are of another network"), "{other}");
    let port = with(&whole.replacen("0x0001 003", "0x0001 009", 1)).bad_input();
    assert!(port.starts_with("error: x.lfts:2: `rack1` has no port 9: it has 8;"), "{port}");
    // A network whose file lists its devices in another order than the tables mean: each has an identifier by its place.
    let network = std::fs::read_to_string(FABRIC).unwrap();
    folder.write("x.lfts", whole.as_bytes());
    let mut records: Vec<&str> = network.split("\n\n").collect();
    let [second, host] = ["Switch 8 \"rack2\"", "\"host1\""].map(|head| {
        records.iter().position(|record| record.contains(head) && !record.contains("Switch 8 \"rack1\"")).unwrap()
    });
    assert!(records[host].starts_with("Hca "), "{}", records[host]);
    for (first, own, given) in [(second, "rack3", "rack2"), (host, "host2", "host1")] {
        records.swap(first, first + 1);
        folder.write("other.net", records.join("\n\n").as_bytes());
        records.swap(first, first + 1);
        let other = folder.run(&["routing", "--topology", "other.net", "--tables", "x.lfts"]).bad_input();
        assert!(other.starts_with("error: x.lfts:"), "{other}");
        assert!(other.contains(&format!("is `{own}` there, not `{given}`, which is another device")), "{other}");
    }
}
