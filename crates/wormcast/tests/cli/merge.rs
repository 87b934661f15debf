//! Sweeps in parts, and their stores brought together.

use rusqlite::Connection;

use crate::folder::Folder;
use crate::sweep::SMALL;

/// What a run of all points at once writes.
const RESULTS: [&str; 3] = ["small.csv", "small.svg", "small.claims.json"];

fn written(folder: &Folder, out: &str) -> Vec<Option<Vec<u8>>> {
    RESULTS.map(|name| std::fs::read(folder.path().join(out).join(name)).ok()).to_vec()
}

#[test]
fn parts_of_a_sweep_give_the_bytes_of_the_whole() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    let whole = folder.run(&["sweep", "small.toml", "--out", "whole"]).success();
    for parts in [1, 3, 50] {
        let out = format!("parts-{parts}");
        let mut lines: Vec<String> = Vec::new();
        for part in 1..=parts {
            let shard = format!("{part}/{parts}");
            let said = folder.run(&["sweep", "small.toml", "--shard", &shard, "--out", &out]).success();
            lines.extend(said.lines().filter(|line| line.starts_with("  ")).map(str::to_owned));
        }
        // Every point's line is as in the whole, and is said once.
        lines.sort();
        let mut expected: Vec<String> =
            whole.lines().take_while(|line| !line.starts_with("claim")).map(str::to_owned).collect();
        expected.retain(|line| line.starts_with("  "));
        expected.sort();
        assert_eq!(lines, expected, "{parts} parts");
        let stores: Vec<String> = folder.files(&out).into_iter().map(|name| format!("{out}/{name}")).collect();
        assert_eq!(stores.len(), parts);
        let mut arguments = vec!["merge", "--out", &out, "--experiment", "small.toml"];
        arguments.extend(stores.iter().map(String::as_str));
        let merged = folder.run(&arguments).success();
        assert!(merged.contains(&format!("points are complete: `wormcast plot small.toml --out {out}`")), "{merged}");
        let again = folder.run(&arguments).success();
        assert!(again.lines().filter(|line| line.ends_with(".db: 0 results added")).count() <= parts, "{again}");
        folder.run(&["plot", "small.toml", "--out", &out]).success();
        assert_eq!(written(&folder, &out), written(&folder, "whole"), "{parts} parts");
        // The merged store answers the whole sweep.
        let swept = folder.run(&["sweep", "small.toml", "--out", &out]).success();
        assert_eq!(swept, whole.replace("whole/", &format!("{out}/")));
    }
}

#[test]
fn a_part_that_is_missing_is_missed() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    folder.run(&["sweep", "small.toml", "--shard", "1/2"]).success();
    let said = folder.run(&["merge", "results/small-shard-1-of-2.db", "--experiment", "small.toml"]).success();
    assert!(said.contains("points are not complete: `wormcast sweep small.toml` adds what is missing."), "{said}");
    let shards = folder.files("results");
    assert_eq!(shards, ["small-shard-1-of-2.db", "store.db"], "no table, no plot");
}

#[test]
fn stores_of_other_settings_are_refused_by_name() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    folder.run(&["sweep", "small.toml", "--shard=1/2", "--store=own.db"]).success();
    folder.run(&["sweep", "small.toml", "--shard=2/2", "--store=other.db", "--set", "traffic.length=12"]).success();
    let refused = folder.run(&["merge", "own.db", "other.db", "--experiment", "small.toml"]);
    assert_eq!(refused.code, 2);
    let expected =
        "error: `other.db` has no results of `small.toml`, but of other settings: `traffic.length` is 12 there";
    assert!(refused.stderr.starts_with(expected), "{}", refused.stderr);
    assert!(folder.files("results").is_empty(), "nothing is written");
    // Without an experiment any store will do.
    let both = folder.run(&["merge", "own.db", "other.db"]).success();
    assert!(both.ends_with("Wrote results/store.db.\n"), "{both}");
}

/// One row of a store.
const ONE: &str = "replication = 0 AND config_hash = (SELECT min(config_hash) FROM results)";

#[test]
fn what_cannot_be_merged_is_said_and_stays() {
    let folder = Folder::with(&[("small.toml", SMALL), ("text.db", &"text, long enough for a header ".repeat(40))]);
    folder.run(&["sweep", "small.toml", "--shard=1/1", "--store=a.db"]).success();
    for (stores, expected) in [
        (&["none.db"][..], "there is no result store `none.db`"),
        (&["small.toml/x.db"], "cannot open the result store `small.toml/x.db`: Not a directory"),
        (&["a.db", "text.db"], "`text.db` is not a result store"),
        (&["a.db", "--store=./a.db"], "`a.db` is the store that is written, too"),
        (&["a.db", "--set=traffic.length=12"], "`--set` is a setting of an experiment: name its file"),
    ] {
        let refused = folder.run(&[&["merge"], stores].concat());
        assert_eq!(refused.code, 2, "{stores:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{stores:?}: {}", refused.stderr);
    }
    assert_eq!(folder.run(&["merge"]).code, 2);

    let copy = |name: &str, change: &str| {
        std::fs::copy(folder.path().join("a.db"), folder.path().join(name)).unwrap();
        let database = Connection::open(folder.path().join(name)).unwrap();
        assert_eq!(database.execute(change, []).unwrap(), 1, "{change}");
    };
    copy("damaged.db", &format!("UPDATE results SET result = replace(result, '1', '2') WHERE {ONE}"));
    let before = folder.bytes("damaged.db");
    let damaged = folder.run(&["merge", "damaged.db", "--store=merged.db"]);
    assert_eq!(damaged.code, 1);
    assert!(damaged.stderr.contains("warning: `damaged.db`: replication 0 of point "), "{}", damaged.stderr);
    assert!(damaged.stderr.ends_with("error: 1 result was not merged\n"), "{}", damaged.stderr);
    assert_eq!(folder.bytes("damaged.db"), before);
    // Of a database that cannot be read nothing is merged, and nothing is made.
    let sound = folder.bytes("a.db");
    std::fs::write(folder.path().join("torn.db"), [&sound[..4096], &vec![0; sound.len() - 4096]].concat()).unwrap();
    let torn = folder.run(&["merge", "torn.db", "--store=new.db"]);
    assert!(torn.code == 1 && torn.stderr.contains("`torn.db` is damaged"), "{}", torn.stderr);
    assert!(!folder.path().join("new.db").exists());
    // The sound one takes the place that is left.
    let mended = folder.run(&["merge", "a.db", "--store=merged.db"]).success();
    assert!(mended.starts_with("a.db: 1 result added, "), "{mended}");
}

#[test]
fn parts_that_make_no_sense_are_refused() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    for (shard, expected) in [("0/4", "expected 1/4 to 4/4"), ("5/4", "1/4 to 4/4"), ("2", "such as 3/20")] {
        let refused = folder.run(&["sweep", "small.toml", "--shard", shard]);
        assert!(refused.code == 2 && refused.stderr.contains(expected), "{shard}: {}", refused.stderr);
    }
    for option in ["--refine=10", "--replications=x.csv"] {
        let refused = folder.run(&["sweep", "small.toml", "--shard", "1/2", option]);
        assert!(refused.code == 2 && refused.stderr.contains("cannot be used with"), "{}", refused.stderr);
    }
}
