//! `wormcast sweep` and `wormcast plot`.

use crate::folder::Folder;
use crate::{command, outcome};

/// Two algorithms at three rates on a small mesh: milliseconds a replication. The last rate is beyond saturation.
pub(crate) const SMALL: &str = r#"
title = "Latency on a small mesh"
topology = "mesh:4x4"
seed = 5
[timing]
startup = 100
[traffic]
arrivals = { process = "poisson", rate = 0.1 }
length = { uniform = [5, 20] }
multicast = { destinations = 4 }
[run]
warmup = 2000
messages = 150
[stop]
relative_half_width = 0.08
min_replications = 4
max_replications = 12
[sweep]
algorithm = ["dual-path", "column-path"]
"traffic.arrivals.rate" = [0.05, 0.2, 8.0]
"#;

const OUTPUTS: [&str; 3] = ["small.csv", "small.svg", "small.png"];

fn small() -> Folder {
    Folder::with(&[("small.toml", SMALL)])
}

fn outputs(folder: &Folder, below: &str) -> Vec<Vec<u8>> {
    OUTPUTS.iter().map(|name| folder.bytes(&format!("{below}/{name}"))).collect()
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let folder = small();
    for jobs in ["1", "2", "4", "100000"] {
        let outcome = folder.run(&["sweep", "small.toml", "--jobs", jobs, "--out", jobs]);
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }
    let reference = outputs(&folder, "1");
    assert!(reference[1].starts_with(b"<svg ") && reference[2].starts_with(b"\x89PNG"));
    for jobs in ["2", "4", "100000"] {
        assert!(outputs(&folder, jobs) == reference, "--jobs {jobs}");
    }
}

#[test]
fn a_sweep_leaves_a_table_two_plots_and_a_store() {
    let folder = small();
    let said = folder.run(&["sweep", "small.toml"]).success();
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some("Latency on a small mesh"));
    let first = lines.next().unwrap();
    assert!(first.starts_with("  algorithm=dual-path traffic.arrivals.rate=0.05: "), "{said}");
    assert!(said.contains("rate=8.0: saturated: "), "{said}");
    assert!(said.ends_with("Wrote results/small.csv, results/small.svg, results/small.png.\n"), "{said}");
    assert_eq!(folder.files("results"), ["small.csv", "small.png", "small.svg", "store.db"]);
    let table = folder.read("results/small.csv");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 7);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    assert_eq!(rows[0][..4], ["algorithm", "traffic.arrivals.rate", "outcome", "replications"]);
    let mean = rows[0].iter().position(|name| *name == "latency_last_cycles").unwrap();
    assert_eq!((rows[3][1], rows[3][2], rows[3][mean]), ("8.0", "saturated", ""), "no mean beyond saturation");
}

#[test]
fn a_store_answers_again_and_fresh_forgets() {
    let folder = small();
    folder.run(&["sweep", "small.toml"]).success();
    let first = outputs(&folder, "results");
    // A replication more would be a longer table: the store does not grow when there is nothing to compute.
    let store = folder.bytes("results/store.db");
    let lax = folder.run(&["sweep", "small.toml", "--set", "stop.relative_half_width=0.5", "--out", "lax"]);
    assert_eq!(lax.code, 0);
    folder.run(&["sweep", "small.toml", "--jobs", "1"]).success();
    assert!(outputs(&folder, "results") == first && folder.bytes("results/store.db") == store);
    folder.run(&["sweep", "small.toml", "--fresh"]).success();
    assert!(outputs(&folder, "results") == first, "the same seed gives the same bytes");
}

#[test]
fn plot_redraws_from_the_store_without_running() {
    let folder = small();
    let none = folder.run(&["plot", "small.toml"]).bad_input();
    assert_eq!(none, "error: there is no result store `results/store.db`: run `wormcast sweep small.toml` first\n");
    assert!(!folder.path().join("results").exists(), "nothing is made for nothing");
    folder.run(&["sweep", "small.toml"]).success();
    let first = outputs(&folder, "results");
    for name in OUTPUTS {
        std::fs::remove_file(folder.path().join("results").join(name)).unwrap();
    }
    folder.run(&["plot", "small.toml"]).success();
    assert!(outputs(&folder, "results") == first);
    folder.run(&["plot", "small.toml", "--store", "results/store.db", "--out", "figures"]).success();
    assert!(outputs(&folder, "figures") == first);
    // Another quantity of the same results.
    folder.run(&["plot", "small.toml", "--set", "plot.y=latency.mean"]).success();
    assert!(outputs(&folder, "results")[1] != first[1] && outputs(&folder, "results")[0] == first[0]);
    let other = folder.run(&["plot", "small.toml", "--set", "seed=6"]).bad_input();
    assert_eq!(
        other,
        "error: `results/store.db` has no results of this experiment: run `wormcast sweep small.toml --set 'seed=6'` first\n"
    );
}

#[test]
fn what_is_plotted_is_said_first() {
    let folder = small();
    let said = |set: &str| folder.run(&["sweep", "small.toml", "--set", set]).success();
    let usual = said("plot.y=latency.last");
    let mean = said("plot.y=latency.mean");
    assert!(usual.contains("rate=0.05: ") && !usual.contains("latency."), "{usual}");
    let line = mean.lines().find(|line| line.contains("rate=0.05: latency.mean ")).expect("a line of this point");
    assert!(line.contains(" ± ") && line.contains(" µs; latency.last "), "{line}");
    // In other modes, too, and what has no unit has none.
    let plans = "topology = 'mesh:4x4'\nalgorithm = 'dual-path'\nrun.mode = 'plan'\nplot.y = 'plan.channels'\n\
                 traffic = { arrivals = { process = 'burst', sources = 1 }, multicast.destinations = 4 }\n";
    let said = Folder::with(&[("plans.toml", plans)]).run(&["sweep", "plans.toml"]).success();
    assert!(said.contains("  plan.channels ") && said.contains("; ") && said.contains(" steps, "), "{said}");
}

#[test]
fn deadlocked_points_end_with_exit_code_1_and_their_row() {
    let folder = small();
    let set = ["switching.consumption_ports=1", "algorithm=column-path", "timing.startup=0", "run.messages=2000"];
    let set: Vec<&str> = set.iter().flat_map(|set| ["--set", set]).collect();
    let outcome = folder.run(&[&["sweep", "small.toml", "--name", "dead"], &set[..]].concat());
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.stdout.contains("rate=8.0: deadlocked\n"), "{outcome:?}");
    // The command that is named runs into the very deadlock.
    let (_, named) = outcome.stderr.split_once(" in a deadlock; `wormcast ").expect("a command");
    let words = named.split_once('`').expect("its end").0;
    let words: Vec<&str> = words.split(' ').map(|word| word.trim_matches('\'')).collect();
    let again = folder.run(&words);
    assert!(again.code == 1 && again.stdout.contains("deadlock"), "{words:?} {again:?}");
    let table = folder.read("results/dead.csv");
    assert!(table.lines().any(|line| line.starts_with("8.0,deadlocked,")), "{table}");
}

#[test]
fn what_a_sweep_cannot_use_is_said_before_it_runs() {
    let folder = small();
    let refused = |arguments: &[&str]| folder.run(&[&["sweep", "small.toml"], arguments].concat()).bad_input();
    assert!(refused(&["--jobs", "0"]).contains("invalid value '0' for '--jobs <N>'"));
    assert!(refused(&["--jobs", "many"]).contains("invalid value 'many' for '--jobs <N>'"));
    assert!(
        refused(&["--set", "sweep.algorithm=[\"dual-path\", \"colum-path\"]"]).contains("did you mean `column-path`?")
    );
    assert!(!folder.path().join("results").exists());

    folder.write("file", b"not a folder");
    for (option, path, said) in [
        ("--out", "file", "error: cannot make the folder `file`: there is a file of this name\n"),
        ("--out", "file/below", "error: cannot make the folder `file/below`: what it is to be in is a file\n"),
        ("--store", "no/s.db", "error: cannot open the result store `no/s.db`: "),
    ] {
        let outcome = folder.run(&["sweep", "small.toml", option, path]);
        assert!(outcome.code == 1 && outcome.stderr.starts_with(said), "{outcome:?}");
    }

    folder.write("text.db", "this is no database, whatever its name says\n".repeat(100).as_bytes());
    let message = refused(&["--store", "text.db"]);
    assert_eq!(message, "error: `text.db` is not a result store: it is not a database; choose another file\n");
    assert_eq!(folder.bytes("text.db").len(), 4400, "it is left alone");
    folder.write("short.db", b"x");
    let message = refused(&["--store", "short.db"]);
    assert!(message.contains("`short.db` is not a result store"), "{message}");
    assert!(refused(&["--store", "."]).contains("it is a directory"));
    let outcome = folder.run(&["sweep", "small.toml", "--store", "no/such/store.db"]);
    assert!(outcome.code == 1 && outcome.stderr.contains("there is no directory `no/such`"), "{outcome:?}");
}

/// What there is to say about points comes from the simulation as well: a header that no path can carry.
#[test]
fn a_sweep_that_the_engine_cannot_run_is_bad_input() {
    let folder = small();
    for command in ["sweep", "simulate"] {
        let set = ["--set", "switching.header=tree", "--set", "algorithm=dual-path"];
        let message = folder.run(&[&[command, "small.toml"], &set[..]].concat()).bad_input();
        assert!(message.contains("`dual-path` sends paths, which have no tree header"), "{message}");
    }
}

#[test]
fn an_experiment_without_a_sweep_has_one_point() {
    let one = SMALL.split("[sweep]").next().unwrap().replace("topology", "algorithm = \"dual-path\"\ntopology");
    let folder = Folder::with(&[("one.toml", &one)]);
    let said = folder.run(&["sweep", "one.toml"]).success();
    let point = said.lines().nth(1).unwrap();
    assert!(point.starts_with("  ") && point.contains(" µs (") && !point.contains(':'), "{said}");
    assert!(said.ends_with("Wrote results/one.csv.\n"), "there is nothing to plot against: {said}");
    assert!(folder.read("results/one.csv").starts_with("outcome,replications,"));
}

/// A reader that leaves while results are printed changes nothing.
#[test]
fn a_reader_that_leaves_loses_nothing() {
    let folder = small();
    let mut sweep = command(&["sweep", "small.toml"]);
    let mut child = sweep.current_dir(folder.path()).spawn().unwrap();
    drop(child.stdout.take());
    let outcome = outcome(child);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert_eq!(folder.files("results").len(), 4);
}

/// Plans only, so that it is done at once: one claim that holds in two parts, and one that does not.
const CLAIMS: &str = r#"
title = "Steps in a 3-cube"
topology = "hypercube:3"
[traffic]
arrivals = { process = "burst", sources = 1 }
multicast = { destinations = "all" }
[run]
mode = "plan"
ports = "all"
[stop]
min_replications = 40
max_replications = 40
[sweep]
algorithm = ["u-cube", "separate"]
"traffic.multicast.destinations" = [1, 3, 7]
[plot]
y = ["plan.steps", "plan.startups"]
[[claim]]
id = "fast"
text = "U-cube takes ceil(log2(m + 1)) steps."
values = { of = { u-cube = [1, 2, 3] } }
[[claim]]
id = "fast"
text = "U-cube's busiest node sends less"
y = "plan.startups"
order = { lower = ["u-cube"], higher = ["separate"] }
[[claim]]
id = "slow"
text = "U-cube takes 3 steps always"
values = { of = { u-cube = [3, 3, 3] } }
"#;

#[test]
fn claims_get_verdicts_beside_the_table_and_the_plots() {
    let folder = Folder::with(&[("claims.toml", CLAIMS)]);
    let said = folder.run(&["sweep", "claims.toml"]).success();
    for line in [
        "claim fast: reproduced",
        "  U-cube takes ceil(log2(m + 1)) steps: reproduced",
        "claim slow: not reproduced",
        "    u-cube against 3: holds at 1 of 3, fails at 2 (1, 3); difference -2 \u{b1} 0 at 1 to 0 \u{b1} 0 at 7",
    ] {
        assert!(said.lines().any(|said| said == line), "{line}\n{said}");
    }
    let verdicts: serde_json::Value = serde_json::from_slice(&folder.bytes("results/claims.claims.json")).unwrap();
    let short: Vec<_> = verdicts.as_array().unwrap().iter().map(|claim| (&claim["claim"], &claim["verdict"])).collect();
    assert_eq!(
        format!("{short:?}"),
        r#"[(String("fast"), String("reproduced")), (String("slow"), String("not reproduced"))]"#
    );
    assert_eq!(verdicts[0]["evidence"].as_array().unwrap().len(), 2);
    assert_eq!(verdicts[1]["evidence"][0]["comparisons"][0]["finding"], "fails");
    for name in ["claims-plan-steps.svg", "claims-plan-startups.png"] {
        assert!(!folder.bytes(&format!("results/{name}")).is_empty());
    }
    let table = String::from_utf8(folder.bytes("results/claims.csv")).unwrap();
    assert!(table.lines().next().unwrap().contains(",plan_steps,"));
    // From the store, the same.
    folder.run(&["plot", "claims.toml", "--out", "again", "--store", "results/store.db"]).success();
    assert!(folder.bytes("again/claims.claims.json") == folder.bytes("results/claims.claims.json"));
    // What only plans can be looked at, too.
    let said = folder.run(&["simulate", "claims.toml", "--set", "algorithm=u-cube"]).success();
    assert!(said.contains("u-cube on hypercube:3, seed 0, planned only") && said.contains("steps"), "{said}");
}

/// One digit of one row: nothing that is wrong comes out of it, whatever command reads it, and the sweep puts it right.
#[test]
fn a_changed_digit_of_a_stored_row_is_named_never_used_and_simulated_again() {
    let folder = small();
    folder.run(&["sweep", "small.toml"]).success();
    let first = outputs(&folder, "results");
    let whole = folder.bytes("results/store.db");
    let damage = |row: u32, digit: usize| -> String {
        folder.write("results/store.db", &whole);
        let store = rusqlite::Connection::open(folder.path().join("results/store.db")).unwrap();
        let query = "SELECT config_hash, replication, result FROM results LIMIT 1 OFFSET ?1";
        let (point, replication, mut result): (String, u32, String) =
            store.query_row(query, [row], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        let digits: Vec<usize> = result.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at).collect();
        let at = digits[digit * 7 % digits.len()];
        let other = if &result[at..=at] == "7" { "3" } else { "7" };
        result.replace_range(at..=at, other);
        let update = "UPDATE results SET result = ?3 WHERE config_hash = ?1 AND replication = ?2";
        store.execute(update, rusqlite::params![point, replication, result]).unwrap();
        format!("replication {replication} of point {point}")
    };
    for flip in 0..40 {
        let row = damage(flip as u32 % 20, flip);
        // Those that only read refuse, alike.
        for command in ["plot", "report"] {
            let outcome = folder.run(&[command, "small.toml"]);
            assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{command}, flip {flip}: {outcome:?}");
            let expected = "error: a row of the result store `results/store.db` is damaged, and cannot be used:\n  ";
            assert!(outcome.stderr.starts_with(expected) && outcome.stderr.contains(&row), "{outcome:?}");
            assert!(outcome.stderr.contains("run `wormcast sweep`"), "{outcome:?}");
        }
        assert!(outputs(&folder, "results") == first, "the old files stay");
        if flip % 8 > 0 {
            continue;
        }
        let command = if flip % 16 > 0 { "compare" } else { "sweep" };
        let outcome = folder.run(&[command, "small.toml"]);
        let expected =
            "warning: a damaged row of the result store is set aside, and simulated again where it is needed: ";
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, format!("{expected}{row}\n").as_str()), "{outcome:?}");
        folder.run(&["plot", "small.toml"]).success();
        assert!(outputs(&folder, "results") == first, "{command}, flip {flip}");
        folder.run(&["report", "small.toml"]).success();
    }
}

#[test]
fn names_and_titles_follow_what_is_run() {
    let folder = small();
    folder.run(&["sweep", "small.toml"]).success();
    let first = outputs(&folder, "results");
    let set = ["small.toml", "--set", "topology=mesh:5x5"];
    let said = folder.run(&[&["sweep"], &set[..]].concat()).success();
    assert!(outputs(&folder, "results") == first, "the first result is still there");
    let title = "small with topology = mesh:5x5";
    assert_eq!(said.lines().next(), Some(title));
    let name = "results/small-topology-mesh-5x5";
    assert!(said.ends_with(&format!("Wrote {name}.csv, {name}.svg, {name}.png.\n")), "{said}");
    let drawn = folder.read(&format!("{name}.svg"));
    assert!(drawn.contains(title) && !drawn.contains("small mesh"), "{drawn}");
    folder.run(&[&["report"], &set[..]].concat()).success();
    let page = folder.read("results/small-topology-mesh-5x5-report.html");
    assert!(page.contains(&format!("<h1>{title}</h1>")), "{page}");
    // A name of one's own.
    for command in ["sweep", "plot", "compare", "report"] {
        folder
            .run(&[&[command, "--name", "mine", "--out", "own", "--store", "results/store.db"], &set[..]].concat())
            .success();
    }
    let files = folder.files("own");
    for file in ["mine.csv", "mine.svg", "mine-comparison.svg", "mine-report.html"] {
        assert!(files.contains(&file.to_owned()), "{file}: {files:?}");
    }
    assert!(files.iter().all(|file| file.starts_with("mine")), "{files:?}");
    assert!(folder.read("own/mine.svg").contains("mine with topology = mesh:5x5"));
    for name in ["", "a/b", "..", ".hidden"] {
        let message = folder.run(&["sweep", "small.toml", "--name", name]).bad_input();
        assert!(message.contains("expected a name for files in the folder `--out`"), "{name}: {message}");
    }
}

#[test]
fn times_have_the_unit_that_the_experiment_asks_for() {
    // Short cycles: in microseconds, the figures begin behind the point.
    let folder = small();
    let rates = "sweep.\"traffic.arrivals.rate\"=[2.0, 4.0]";
    let set = ["small.toml", "--set", "timing.cycle_ns=0.1", "--set", rates, "--name", "fast"];
    let value = |said: &str| -> (f64, String, String) {
        let line = said.lines().nth(1).unwrap();
        let words: Vec<&str> = line.split_whitespace().skip(2).collect();
        assert_eq!(words[1], "\u{b1}", "{line}");
        (words[0].parse().unwrap(), words[2].to_owned(), words[3].to_owned())
    };
    let micro = folder.run(&[&["sweep"], &set[..]].concat()).success();
    let (mean, half, unit) = value(&micro);
    assert_eq!(unit, "\u{b5}s");
    let digits = half.trim_start_matches(['0', '.']).len();
    assert!(mean < 0.1 && half.parse::<f64>().unwrap() > 0.0 && digits == 2, "as many digits as the interval: {micro}");
    for command in ["sweep", "plot"] {
        let said = folder.run(&[&[command, "--set", "plot.unit=cycles"], &set[..]].concat()).success();
        let (cycles, _, unit) = value(&said);
        assert_eq!(unit, "cycles");
        assert!((cycles * 1e-4 / mean - 1.0).abs() < 0.05, "{said}");
        assert!(folder.read("results/fast.svg").contains("Latency to the last destination (cycles)"));
    }
}

#[test]
fn replications_have_rows_on_request() {
    let folder = small();
    let said = folder.run(&["sweep", "small.toml", "--replications", "rows.csv"]).success();
    assert!(said.ends_with("results/small.png, rows.csv.\n"), "{said}");
    let table = folder.read("results/small.csv");
    let replications: usize =
        table.lines().skip(1).map(|line| line.split(',').nth(3).unwrap().parse::<usize>().unwrap()).sum();
    let rows = folder.read("rows.csv");
    assert_eq!(rows.lines().count(), 1 + replications);
    let header: Vec<&str> = rows.lines().next().unwrap().split(',').collect();
    assert_eq!(header[..3], ["algorithm", "traffic.arrivals.rate", "replication"]);
    // Their mean is that of the table.
    let column = header.iter().position(|name| *name == "latency.last.mean").unwrap();
    let of_first: Vec<f64> = rows
        .lines()
        .filter(|line| line.starts_with("dual-path,0.05,"))
        .map(|line| line.split(',').nth(column).unwrap().parse().unwrap())
        .collect();
    let mean = of_first.iter().sum::<f64>() / of_first.len() as f64;
    let place = table.lines().next().unwrap().split(',').position(|name| name == "latency_last_cycles").unwrap();
    let told: f64 = table.lines().nth(1).unwrap().split(',').nth(place).unwrap().parse().unwrap();
    assert!((mean - told).abs() < 1e-9 * told);
    folder.run(&["plot", "small.toml", "--replications", "rows.jsonl"]).success();
    let lines = folder.read("rows.jsonl");
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((lines.lines().count(), &first["settings"]["algorithm"]), (replications, &"dual-path".into()));
    assert_eq!(first["result"]["latency"]["last"]["mean"].as_f64(), Some(of_first[0]));
    let wrong = folder.run(&["sweep", "small.toml", "--replications", "rows.txt"]).bad_input();
    assert!(wrong.contains("expected the name of a file that ends in `.csv` or `.jsonl`"), "{wrong}");
    let nowhere = folder.run(&["sweep", "small.toml", "--replications", "no/rows.csv"]);
    assert!(nowhere.code != 0 && nowhere.stderr.contains("no/rows.csv"), "{nowhere:?}");
}

/// A table gives the settings in it, swept ones too.
#[test]
fn a_table_that_is_set_takes_what_it_gives_out_of_the_sweep() {
    let folder = small();
    let set = |value: &str| folder.run(&["sweep", "small.toml", "--name", "t", "--set", value]);
    let said = set("traffic.arrivals={process='poisson',rate=0.07}").success();
    assert!(!said.contains("traffic.arrivals.rate="), "{said}");
    let refused = set("traffic.arrivals={process='poisson',rate=-7}").bad_input();
    assert!(refused.contains("-7 is not a positive number"), "{refused}");
}

#[test]
fn what_a_refinement_adds_stays_when_plots_are_drawn_again() {
    let folder = small();
    let refined = folder.run(&["sweep", "small.toml", "--refine", "200"]).success();
    assert!(refined.contains("small-refined.csv") && !refined.contains("small.csv"), "{refined}");
    let table = folder.bytes("results/small-refined.csv");
    folder.run(&["plot", "small.toml"]).success();
    assert!(folder.bytes("results/small-refined.csv") == table);
    assert!(folder.bytes("results/small.csv").len() < table.len(), "values were added");
}

#[test]
fn a_store_without_first_replications_is_not_said_to_have_none() {
    let folder = small();
    folder.run(&["sweep", "small.toml"]).success();
    let store = rusqlite::Connection::open(folder.path().join("results/store.db")).unwrap();
    store.execute("DELETE FROM results WHERE replication = 0", []).unwrap();
    drop(store);
    for command in ["plot", "report"] {
        let said = folder.run(&[command, "small.toml", "--store", "results/store.db"]).bad_input();
        assert!(said.contains(", but not the first one of any point: run `wormcast sweep small.toml"), "{said}");
    }
}

#[test]
fn what_cannot_be_refined_is_said_before_anything_is_run() {
    let folder = Folder::with(&[("one.toml", SMALL.split("[sweep]").next().unwrap())]);
    let said = folder.run(&["sweep", "one.toml", "--set=algorithm='dual-path'", "--refine=5"]).bad_input();
    assert!(said.contains("there is nothing to refine: no numbers are swept along the horizontal axis"), "{said}");
    assert_eq!(folder.files("."), ["one.toml"]);
}

#[test]
fn percentiles_have_intervals_of_their_own_and_none_with_few_runs() {
    let folder = small();
    let light = ["--set", "sweep.\"traffic.arrivals.rate\"=[0.05]", "--set", "sweep.algorithm=['dual-path']"];
    let of = |replications: u32, quantity: &str| {
        let stop = format!("stop={{ min_replications = {replications}, max_replications = {replications} }}");
        let y = format!("plot.y={quantity}");
        folder.run(&[&["sweep", "small.toml", "--set", &stop, "--set", &y][..], &light].concat()).success()
    };
    let said = of(10, "latency.p50");
    let shown = said.split("latency.p50 ").nth(1).unwrap().split(" µs").next().unwrap();
    // 1.23 (1.21 to 1.26)
    let numbers: Vec<f64> = shown
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().unwrap())
        .collect();
    assert!(matches!(numbers[..], [median, low, high] if low <= median && median <= high), "{said}");
    // Of three runs, the share of messages below the 99th percentile is too uncertain.
    let said = of(3, "latency.p99");
    let shown = said.split("latency.p99 ").nth(1).unwrap().split(" µs").next().unwrap();
    assert!(shown.parse::<f64>().is_ok(), "{said}");
    let svg = said.split("Wrote ").nth(1).unwrap().split(", ").find(|name| name.contains(".svg")).unwrap();
    let svg = folder.read(svg);
    assert!(svg.contains("no interval at 1 of 1 points, marked ?: it takes more runs"), "{said}");
    assert!(svg.lines().any(|line| line.trim() == "?"), "the point itself is marked");
    assert!(said.contains("(no interval: it takes more runs); latency.last"), "{said}");
    let stop = "stop={ min_replications = 3, max_replications = 3 }";
    let page = ["report", "small.toml", "--set", stop, "--set", "plot.y=latency.p99", "--name", "page"];
    folder.run(&[&page[..], &light].concat()).success();
    let page = folder.read("results/page-report.md");
    let html = folder.read("results/page-report.html");
    assert!(html.contains("The experiment: small.toml"), "the file keeps its name");
    assert!(page.contains("latency.p99, µs: the numbers (?: no interval, it takes more runs)"), "{page}");
    assert!(page.lines().any(|line| line.starts_with('|') && line.ends_with(" ? |")), "{page}");
    assert!(!said.contains("no interval at 0"));
}

#[test]
fn the_name_of_a_page_of_several_experiments_is_not_that_of_each() {
    let folder = Folder::with(&[("one.toml", SMALL), ("two.toml", SMALL)]);
    folder.run(&["sweep", "one.toml"]).success();
    folder.run(&["report", "one.toml", "two.toml", "--name", "both"]).success();
    let page = folder.read("results/both.md");
    for command in ["wormcast sweep one.toml", "wormcast sweep two.toml"] {
        assert!(page.lines().any(|line| line == command), "{page}");
    }
}

#[test]
fn what_is_incomplete_says_so() {
    let folder = small();
    let one = ["--set", "sweep.algorithm=['dual-path']", "--name", "all"];
    let text = folder.run(&[&["sweep", "small.toml"][..], &one].concat()).success();
    assert!(!text.contains("not complete") && !folder.read("results/all.svg").contains("not complete"), "{text}");
    let two = ["small.toml", "--set", "sweep.algorithm=['dual-path', 'column-path']", "--name", "all"];
    let text = folder.run(&[&["plot"][..], &two].concat()).success();
    let said = text.lines().find(|line| line.contains("points are not complete: `wormcast sweep small.toml --set "));
    let said = said.unwrap_or_else(|| panic!("{text}"));
    assert!(said.ends_with(" --name all` adds what is missing."), "{said}");
    assert!(folder.read("results/all.svg").contains("points are not complete"));
    folder.run(&[&["report", "--store", "results/store.db", "--out", "pages"][..], &two].concat()).success();
    let page = folder.read("pages/all-report.md");
    assert!(
        page.contains("points are not complete") && page.contains("traffic.arrivals.rate, messages per node per µs"),
        "{page}"
    );
    assert!(page.contains("--out pages --store results/store.db --name all"), "{page}");
    // The command, as it is typed, gives what is shown.
    let command = page.lines().find(|line| line.starts_with("wormcast sweep small.toml")).unwrap();
    let command = command.replacen("wormcast", env!("CARGO_BIN_EXE_wormcast"), 1);
    let pasted = std::process::Command::new("sh").args(["-c", &command]).current_dir(folder.path()).output().unwrap();
    assert!(pasted.status.success(), "{command}: {pasted:?}");
    assert!(folder.files("pages").contains(&"all.svg".to_owned()));
    folder.run(&[&["report", "--store", "results/store.db", "--out", "pages"][..], &two].concat()).success();
    assert!(!folder.read("pages/all-report.md").contains("not complete"));
}

#[test]
fn series_whose_worms_can_deadlock_are_named() {
    let folder = small();
    let light = ["--set", "sweep.\"traffic.arrivals.rate\"=[0.02, 0.04]", "--set", "stop.max_replications=4"];
    let [safe, one] = ["switching.consumption_ports=4", "switching.consumption_ports=1"];
    let sweep = |ports: &str| folder.run(&[&["sweep", "small.toml", "--set", ports][..], &light].concat());
    assert!(!sweep(safe).stderr.contains("can deadlock"));
    let warned = sweep(one);
    for algorithm in ["dual-path", "column-path"] {
        let warning = format!(
            "warning: the static analysis finds that worms of `{algorithm}` can deadlock here: see `wormcast routing --topology \
             mesh:4x4 --algorithm {algorithm} --consumption-ports 1`\n"
        );
        // Once, not at each load.
        assert_eq!(warned.stderr.matches(&warning).count(), 1, "{warned:?}");
    }
    // Nor for each seed, unless worms depend on it.
    let seeds = ["--set", "sweep.seed=[1, 2, 3]", "--set", "sweep.algorithm=['dual-path']"];
    let warned = folder.run(&[&["sweep", "small.toml", "--set", one][..], &light, &seeds].concat());
    assert_eq!(warned.stderr.matches("can deadlock").count(), 1, "{warned:?}");
    let reported = folder.run(&[&["report", "small.toml", "--set", one][..], &light].concat()).success();
    let page =
        reported.split_whitespace().find(|word| word.ends_with(".md.")).unwrap().trim_end_matches('.').to_owned();
    let page = String::from_utf8(folder.bytes(&page)).unwrap();
    assert_eq!(
        page.matches("can deadlock, whether or not one did in this sweep: with 1 consumption channel at each node")
            .count(),
        2,
        "{page}"
    );
}

/// Beyond saturation a window of two startups counts the same startups of all nodes, in all replications.
#[test]
fn loads_of_windows_that_are_too_short_are_marked_and_say_what_it_takes() {
    let text = "topology = 'mesh:4x4'\nalgorithm = 'dual-path'\nplot.y = 'delivered_load'\n[traffic]\narrivals = { process = 'poisson', rate = 20.0 }\nlength = 8\nmulticast.destinations = 3\n[run]\nwarmup = 'auto'\n[stop]\nmax_replications = 10\n[sweep]\nrun.messages = [2000, 34000]\n";
    let folder = Folder::with(&[("load.toml", text)]);
    let said = folder.run(&["sweep", "load.toml", "--out", "."]).success();
    let line = |messages: &str| said.lines().find(|line| line.contains(messages)).unwrap().to_owned();
    let short = line("run.messages=2000:");
    assert!(short.contains("(too short: 2000 of 3") && short.contains("saturated: about 0.01"), "{said}");
    let long = line("run.messages=34000:");
    assert!(!long.contains("short") && !long.contains("about"), "{said}");
    assert!(said.contains("\nToo short: "), "{said}");
    let rows: Vec<Vec<String>> =
        folder.read("load.csv").lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
    let column = |name: &str| rows[0].iter().position(|head| head == name).unwrap();
    let trends = rows[1..].iter().map(|row| row[column("trend")].as_str());
    assert_eq!(trends.collect::<Vec<_>>(), ["true", "false"]);
}

/// A version's plain value is what is run, not one of the swept ones.
#[test]
fn a_version_takes_what_it_gives_out_of_the_sweep() {
    let versions = "[quick]\nalgorithm = 'u-mesh'\n[variation.fixed]\ntraffic.arrivals.rate = 0.1\n";
    let folder = Folder::with(&[("small.toml", &format!("{SMALL}{versions}"))]);
    let rows = |options: &[&str], name: &str| {
        folder.run(&[&["sweep", "small.toml", "--out", "."], options].concat()).success();
        folder.read(name).lines().count() - 1
    };
    assert_eq!(rows(&["--quick"], "small-quick.csv"), 3);
    assert_eq!(rows(&["--variation", "fixed"], "small-fixed.csv"), 2);
    let swept = ["--quick", "--set", "sweep.algorithm=['dual-path', 'u-mesh']", "--name", "both"];
    assert_eq!(rows(&swept, "both.csv"), 6);
}

/// What the switching cannot carry is said with its place, before anything is run.
#[test]
fn points_that_cannot_be_run_are_found_before_any_is() {
    let text = "topology = 'mesh:4x4'\n[traffic]\narrivals = { process = 'burst' }\nlength = 8\nmulticast.destinations = 3\n[sweep]\nalgorithm = ['dual-path', 'tree-one']\ntiming.delay = [1, 2]\n[switching]\nreplication = 'lockstep'\n";
    let folder = Folder::with(&[("channels.toml", text)]);
    let refused = folder.run(&["sweep", "channels.toml"]).bad_input();
    assert!(refused.contains("`tree-one` sends trees") && refused.contains("channels.toml:8:20"), "{refused}");
    assert_eq!(folder.files(""), ["channels.toml"]);
}

#[test]
fn every_command_that_shows_a_deadlock_ends_with_exit_code_1() {
    let text = "topology = 'mesh:4x4'\n[traffic]\narrivals = { process = 'burst' }\nlength = 8\nmulticast = { destinations = 3, fraction = 1 }\n[run]\nmode = 'drain'\n[stop]\nmin_replications = 3\nmax_replications = 3\n[sweep]\nalgorithm = ['pure-negative-first', 'u-mesh']\nswitching.consumption_ports = [1, 4]\n";
    let folder = Folder::with(&[("dead.toml", text)]);
    for command in [&["sweep"][..], &["plot"], &["report"], &["compare"]] {
        let said = folder.run(&[command, &["dead.toml"]].concat());
        let told = said.stderr.contains("1 of 4 points ends in a deadlock");
        assert!(said.code == 1 && told, "{command:?}: {said:?}");
    }
}

#[test]
fn swept_settings_without_effect_are_told_whatever_their_first_value() {
    let text = "topology = 'mesh:4x4'\n[traffic]\narrivals = { process = 'burst' }\nlength = 8\nmulticast.destinations = 3\n[run]\nmode = 'drain'\n[stop]\nmin_replications = 3\nmax_replications = 3\n[sweep]\nalgorithm = ['dual-path', 'multi-path']\nswitching.selection = ['first', 'random']\n";
    let folder = Folder::with(&[("idle.toml", text)]);
    let warned = folder.run(&["sweep", "idle.toml"]);
    assert!(warned.stderr.contains("`switching.selection` makes no difference here"), "{}", warned.stderr);
    let twice = folder.run(&["sweep", "idle.toml", "--set", "sweep.traffic.length=[1, 1.0]"]).bad_input();
    assert!(twice.contains("is listed twice"), "{twice}");
}

/// Worms that block each other are no saturation, however soon the run ends.
#[test]
fn a_deadlock_that_no_search_has_met_is_one() {
    let folder = Folder::with(&[("s.toml", DEADLOCKS)]);
    let run = folder.run(&["simulate", "s.toml", "--set=run.messages=200"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("worms are dead; a cycle of them"), "{}", run.stdout);
    let sweep =
        folder.run(&["sweep", "s.toml", "--set=run.messages=200", "--set=sweep.traffic.arrivals.rate=[0.5, 1.0]"]);
    assert_eq!(sweep.code, 1);
    assert_eq!(sweep.stdout.matches(": deadlocked").count(), 2, "{}", sweep.stdout);
}

const DEADLOCKS: &str = r#"
topology = "mesh:4x4"
algorithm = "dual-path"
switching.consumption_ports = 1
timing.startup = 100
traffic.length = 16
traffic.arrivals = { process = "poisson", rate = 0.5 }
traffic.multicast.destinations = 4
stop = { min_replications = 3, max_replications = 3 }
"#;

/// What is there of a point that is not complete is not shown as a latency where messages pile up.
#[test]
fn points_that_lack_replications_show_no_latency_of_saturated_ones() {
    let folder = Folder::with(&[("s.toml", &DEADLOCKS.replace("consumption_ports = 1", "consumption_ports = 4"))]);
    let settings = ["--set=run.messages=200", "--set=sweep.traffic.arrivals.rate=[0.1, 1.0]"];
    folder.run(&[&["sweep", "s.toml"][..], &settings].concat()).success();
    let more =
        ["--set=stop.min_replications=5", "--set=stop.max_replications=20", "--name=s", "--store=results/store.db"];
    let plot = folder.run(&[&["plot", "s.toml"][..], &settings, &more].concat()).success();
    let saturated = "rate=1.0: incomplete: the store lacks some, and those that it has are saturated (3 replications)";
    assert!(plot.contains(saturated) && plot.contains("(3 replications, incomplete"), "{plot}");
    let table = folder.read("results/s.csv");
    let latency = |line: &str| {
        let column = table.lines().next().unwrap().split(',').position(|name| name == "latency_last_cycles").unwrap();
        line.split(',').nth(column).unwrap().to_owned()
    };
    let shown: Vec<bool> = table.lines().skip(1).map(|line| latency(line).is_empty()).collect();
    assert_eq!(shown, [false, true], "{table}");
}

/// Before anything can have arrived, deliveries fall behind in any network.
#[test]
fn windows_that_are_too_short_to_tell_are_not_called_saturated() {
    let folder = Folder::with(&[("s.toml", &DEADLOCKS.replace("consumption_ports = 1", "consumption_ports = 4"))]);
    for messages in [1, 2, 5] {
        let set = format!("--set=run.messages={messages}");
        let ten = "--set=stop={ min_replications = 10, max_replications = 10 }";
        let sweep = folder.run(&["sweep", "s.toml", &set, "--set=traffic.arrivals.rate=0.1", ten]).success();
        assert!(!sweep.contains("saturated"), "{messages}: {sweep}");
    }
}
