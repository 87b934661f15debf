//! Damaged stores: what is left of them.

use crate::folder::Folder;
use crate::small::IDLE;

/// A store with torn pages could only be deleted.
#[test]
fn what_is_left_of_a_store_with_torn_pages_can_be_merged() {
    let sweep = "\n[stop]\nmin_replications = 9\nmax_replications = 9\n[sweep]\n\"traffic.arrivals.rate\" = [0.01, 0.02, 0.03, 0.04]\n";
    let folder = Folder::with(&[("torn.toml", &format!("{IDLE}{sweep}"))]);
    let whole = folder.run(&["sweep", "torn.toml", "--jobs=1"]);
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    let table = folder.read("results/torn.csv");
    let mut bytes = folder.bytes("results/store.db");
    // A page of results: that of the one in the middle.
    let results: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(b"\"cycles\"")).collect();
    let middle = results[results.len() / 2] / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0xa5);
    folder.write("results/store.db", &bytes);
    let damaged = folder.run(&["plot", "torn.toml"]);
    assert_eq!(damaged.code, 1, "{}", damaged.stderr);
    assert!(
        damaged.stderr.contains("`wormcast merge results/store.db --store rescued.db` brings what can still be read"),
        "{}",
        damaged.stderr
    );
    let merged = folder.run(&["merge", "results/store.db", "--store=rescued.db", "--experiment=torn.toml"]);
    assert_eq!(merged.code, 1, "{}", merged.stderr);
    assert!(merged.stderr.contains("is damaged: the rows after replication"), "{}", merged.stderr);
    assert!(merged.stderr.ends_with("error: parts of a store cannot be read\n"), "{}", merged.stderr);
    assert_eq!(folder.bytes("results/store.db"), bytes, "it is only read");
    let again = folder.run(&["sweep", "torn.toml", "--jobs=1", "--store=rescued.db"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(folder.read("results/torn.csv"), table);
    assert_eq!(folder.run(&["plot", "torn.toml", "--store=rescued.db"]).code, 0);
}

/// A store that does not even open was sent from `merge` to `merge`.
#[test]
fn what_is_left_of_a_store_that_does_not_open_can_be_merged() {
    let sweep = "\n[stop]\nmin_replications = 9\nmax_replications = 9\n[sweep]\n\"traffic.arrivals.rate\" = [0.01, 0.02, 0.03, 0.04]\n";
    let folder = Folder::with(&[("torn.toml", &format!("{IDLE}{sweep}"))]);
    assert_eq!(folder.run(&["sweep", "torn.toml", "--jobs=1"]).code, 0);
    let table = folder.read("results/torn.csv");
    let bytes = folder.bytes("results/store.db");
    let merged = |bytes: &[u8]| {
        folder.write("results/store.db", bytes);
        let _ = std::fs::remove_file(folder.path().join("rescued.db"));
        let merged = folder.run(&["merge", "results/store.db", "--store=rescued.db"]);
        assert_eq!(folder.bytes("results/store.db"), bytes, "it is only read");
        merged
    };
    // With the experiment, as many as without, however much of the descriptions is lost.
    for half in [bytes.len() / 2, bytes.len() / 3] {
        let cut = merged(&bytes[..half]);
        let alone = cut.stdout.clone();
        std::fs::remove_file(folder.path().join("rescued.db")).unwrap();
        let of = folder.run(&["merge", "results/store.db", "--store=rescued.db", "--experiment=torn.toml"]);
        assert_eq!(of.code, 1, "{}", of.stderr);
        assert_eq!(alone.lines().next(), of.stdout.lines().next(), "{}", of.stderr);
        assert!(alone.contains("results added") && !alone.starts_with("0 "), "{alone}");
    }
    // Within the last page nothing else is lost.
    for lost in [1, 100, 2000, 4095] {
        let cut = merged(&bytes[..bytes.len() - lost]);
        let added: u32 = cut.stdout.split_whitespace().nth(1).and_then(|count| count.parse().ok()).unwrap_or(0);
        assert!(added >= 35, "{lost}: {}{}", cut.stdout, cut.stderr);
        assert!(cut.code == 0 || cut.stderr.contains("not merged"), "{lost}: {}", cut.stderr);
    }
    // The end is cut off, also in the middle of a page.
    for lost in [4096, 3 * 4096, 5000] {
        let cut = merged(&bytes[..bytes.len() - lost]);
        assert_eq!(cut.code, 1, "{}", cut.stderr);
        assert!(cut.stderr.contains("; reading what is left of it from a repaired copy"), "{lost}: {}", cut.stderr);
        let again = folder.run(&["sweep", "torn.toml", "--jobs=1", "--store=rescued.db"]);
        assert_eq!(again.code, 0, "{}", again.stderr);
        assert_eq!(folder.read("results/torn.csv"), table);
    }
    // All rows are whole behind a header that is not.
    for (place, value) in [(0, b"zzzz".as_slice()), (18, &[9, 9])] {
        let mut changed = bytes.clone();
        changed[place..place + value.len()].copy_from_slice(value);
        let whole = merged(&changed);
        assert_eq!(whole.code, 0, "{}", whole.stderr);
        assert!(whole.stdout.contains("36 results added"), "{}", whole.stdout);
    }
    // Text that is none, in the notes about points, takes no row along.
    {
        folder.write("results/store.db", &bytes);
        let store = rusqlite::Connection::open(folder.path().join("results/store.db")).unwrap();
        store.execute("UPDATE points SET description = CAST(x'7bff7d' AS TEXT) WHERE config_hash = (SELECT min(config_hash) FROM points)", []).unwrap();
        store.execute("UPDATE points SET config_hash = CAST(x'41ff' AS TEXT) WHERE config_hash = (SELECT max(config_hash) FROM points)", []).unwrap();
        drop(store);
        let changed = folder.bytes("results/store.db");
        let whole = merged(&changed);
        assert!(whole.stdout.contains("36 results added"), "{}{}", whole.stdout, whole.stderr);
    }
    // Without the first page nothing says where anything is.
    let mut changed = bytes.clone();
    changed[100..4096].fill(0);
    let lost = merged(&changed);
    assert_eq!(lost.code, 1, "{}", lost.stderr);
    assert!(
        lost.stderr.contains("nothing in it can be read") && !lost.stderr.contains("wormcast merge"),
        "{}",
        lost.stderr
    );
    assert!(!folder.path().join("rescued.db").exists());
}

/// Where damage leaves open whether a store has points of an experiment, they are looked for.
#[test]
fn a_damaged_store_of_several_experiments_gives_what_is_left_of_one() {
    let plan = |seeds: &str| {
        format!(
            "topology = \"mesh:4x4\"\nrun.mode = \"plan\"\nrun.messages = 3\n[traffic]\narrivals.process = \"burst\"\nmulticast.destinations = 5\n[stop]\nmin_replications = 2\nmax_replications = 2\n[sweep]\nalgorithm = [\"dual-path\"]\nseed = {seeds}\n"
        )
    };
    let all: Vec<u32> = (1..=60).collect();
    let folder = Folder::with(&[("others.toml", &plan(&format!("{all:?}"))), ("one.toml", &plan("[1000]"))]);
    for file in ["others.toml", "one.toml"] {
        assert_eq!(folder.run(&["sweep", file, "--store=all.db"]).code, 0);
    }
    let bytes = folder.bytes("all.db");
    // A point whose description is lost may be the experiment's.
    folder.write("lost.db", &bytes);
    let store = rusqlite::Connection::open(folder.path().join("lost.db")).unwrap();
    let lost =
        store.execute("UPDATE points SET description = x'00' WHERE description LIKE '%\"seed\":1000%'", []).unwrap();
    drop(store);
    assert_eq!(lost, 1);
    let merged = folder.run(&["merge", "lost.db", "--store=found.db", "--experiment=one.toml"]);
    assert!(!merged.stderr.contains("of other settings"), "{merged:?}");
    let mut read = 0;
    for part in 60..100 {
        folder.write("cut.db", &bytes[..bytes.len() * part / 100]);
        let merged = |of: &[&str]| {
            let _ = std::fs::remove_file(folder.path().join("left.db"));
            folder.run(&[&["merge", "cut.db", "--store=left.db"], of].concat())
        };
        let (alone, of_one) = (merged(&[]), merged(&["--experiment=one.toml"]));
        assert_eq!(alone.code, of_one.code, "{part}: {}", of_one.stderr);
        assert_eq!(alone.stdout.lines().next(), of_one.stdout.lines().next(), "{part}: {}", of_one.stderr);
        read += usize::from(alone.stdout.contains("results added"));
    }
    assert!(read > 5, "{read}");
}

/// It was said that the folder takes no new file, and it does.
#[cfg(unix)]
#[test]
fn a_link_to_what_cannot_be_made_is_told_as_such() {
    let folder = Folder::with(&[("idle.toml", IDLE)]);
    std::os::unix::fs::symlink("nowhere/x.db", folder.path().join("l.db")).unwrap();
    let run = folder.run(&["sweep", "idle.toml", "--store", "l.db"]);
    assert_eq!(run.code, 1, "{run:?}");
    let expected =
        "cannot open the result store `l.db`: it is a link to `nowhere/x.db`, which is not there and cannot be made";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
}
