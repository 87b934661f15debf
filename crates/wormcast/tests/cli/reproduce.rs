//! `wormcast reproduce` and `wormcast report`.

use crate::folder::Folder;

#[test]
fn all_claims_are_listed_with_what_measures_them() {
    let folder = Folder::with(&[]);
    let listed = folder.run(&["reproduce", "--list", "--format", "json"]).success();
    let claims: Vec<serde_json::Value> = serde_json::from_str(&listed).unwrap();
    assert_eq!(claims.len(), 52);
    assert!(claims.iter().all(|claim| !claim["measured_by"].as_array().unwrap().is_empty()));
    assert!(folder.files("").is_empty(), "a list makes nothing");
    let text = folder.run(&["reproduce", "--list", "paper-2"]).success();
    assert!(
        text.starts_with("cube-examples") && text.contains("measured by weighted-sort, paper-2-theorem-6"),
        "{text}"
    );
}

/// Claims that are counted and take no time, one of them not as printed.
const COUNTED: [&str; 6] = ["reproduce", "mesh-example", "paper-1-table-1", "cube-examples", "--format", "json"];

#[test]
fn claims_come_with_verdict_evidence_and_a_page() {
    let folder = Folder::with(&[]);
    let said = folder.run(&COUNTED).success();
    let claims: Vec<serde_json::Value> = serde_json::from_str(&said).unwrap();
    let verdicts: Vec<_> =
        claims.iter().map(|c| (c["claim"].as_str().unwrap(), c["verdict"].as_str().unwrap())).collect();
    assert_eq!(
        verdicts,
        [("mesh-example", "reproduced"), ("mesh-startups", "erratum"), ("cube-examples", "reproduced")]
    );
    assert_eq!(claims[0]["evidence"][0]["because"], "3 lists of 8, 6, 4 destinations");
    assert_eq!(claims[1]["evidence"][0]["experiment"], "paper-1-table-1");
    // What is wrong in print is said, and what would be right holds.
    let evidence = claims[1]["evidence"].as_array().unwrap();
    let wrong: Vec<_> = evidence.iter().filter(|sentence| sentence["verdict"] != "reproduced").collect();
    assert!(wrong.len() == 4 && wrong.iter().all(|sentence| sentence["erratum"].is_string()), "{wrong:?}");
    let right: Vec<_> = evidence.iter().filter(|sentence| sentence["correction"] == true).collect();
    assert!(right.len() == 4 && right.iter().all(|sentence| sentence["verdict"] == "reproduced"), "{right:?}");
    for claim in &claims {
        let mutants = claim["mutants"].as_array().unwrap();
        assert!(!mutants.is_empty() && mutants.iter().all(|mutant| mutant["rejected"] == true), "{mutants:?}");
        assert!(claim.get("searched").is_none(), "there is nothing to search");
    }
    let report = "reproduction/report-cube-examples-mesh-example-paper-1-table-1";
    let page = folder.read(&format!("{report}.html"));
    for part in [
        "<!DOCTYPE html>",
        "mesh-startups",
        "An error in print",
        "On results that are wrong on purpose",
        "wormcast reproduce mesh-startups",
        "seed",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("src=") && !page.contains("<script") && !page.contains("@import"), "nothing from elsewhere");
    assert!(
        folder.read(&format!("{report}.md")).contains("| [mesh-startups](#mesh-startups) | **erratum** |  | Table 1 |")
    );
    // The experiments lie beside it, with what they read, and run as they are.
    folder.run(&["sweep", "reproduction/experiments/paper-2-examples.toml"]).success();
    // The second time everything comes from the store, and is the same.
    let again = [&COUNTED[..], &["--markdown", "docs/claims.md"]].concat();
    assert_eq!(folder.run(&again).success(), said);
    assert_eq!(folder.read("docs/claims.md"), folder.read(&format!("{report}.md")), "there are no plots");
    assert_eq!(folder.read(&format!("{report}.html")), page);
}

#[test]
fn an_experiment_is_run_alone_and_says_what_it_leaves_out() {
    let folder = Folder::with(&[]);
    let said = folder.run(&["reproduce", "paper-2-theorem-6", "--quick"]).success();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..2], ["cube-contention     reproduced", "  not looked at: weighted-sort"]);
    assert_eq!(lines.last(), Some(&"Wrote reproduction/report-paper-2-theorem-6.html."));
    let all = folder.run(&["reproduce", "cube-contention", "paper-2-theorem-6", "--quick", "--format", "json"]).json();
    assert_eq!(all[0]["left_out"], serde_json::json!([]));
    let sources: Vec<_> = all[0]["evidence"].as_array().unwrap().iter().map(|e| e["text"].as_str().unwrap()).collect();
    assert!(sources.len() > 1 && sources[0].starts_with("weighted sort makes"), "{sources:?}");
    let reports = folder.files("reproduction");
    let names = ["report-cube-contention-paper-2-theorem-6.html", "report-paper-2-theorem-6.html"];
    assert!(names.iter().all(|name| reports.iter().any(|there| there == name)), "one beside the other: {reports:?}");
    // More than three names do not fit.
    let many = ["reproduce", "mesh-example", "cube-examples", "mesh-startups", "paper-2-examples", "--quick"];
    assert!(folder.run(&many).success().ends_with("Wrote reproduction/report-cube-examples-and-3-more.html.\n"));
}

#[test]
fn what_somebody_has_changed_is_left_alone() {
    let folder = Folder::with(&[]);
    folder.run(&["reproduce", "mesh-startups"]).success();
    assert_eq!(folder.files("reproduction/experiments"), ["paper-1-table-1.toml"]);
    folder.write("reproduction/experiments/paper-1-table-1.toml", b"# mine");
    let refused = folder.run(&["reproduce", "mesh-startups"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("paper-1-table-1.toml: it is not as the program made it"), "{}", refused.stderr);
    assert_eq!(folder.read("reproduction/experiments/paper-1-table-1.toml"), "# mine");
}

#[test]
fn a_strict_reproduction_fails_with_a_claim() {
    let folder = Folder::with(&[]);
    let failed = folder.run(&["reproduce", "mesh-startups", "--strict"]);
    assert_eq!(failed.code, 1);
    assert!(failed.stderr.contains("1 of 1 claim is not reproduced"), "{}", failed.stderr);
    folder.run(&["reproduce", "mesh-example", "--strict"]).success();
}

#[test]
fn a_name_that_is_no_claim_is_refused() {
    let folder = Folder::with(&[]);
    for (name, meant) in [("mesh-lod", "mesh-load"), ("paper-6", "paper-1"), ("paper-1-figre-9", "paper-1-figure-9")] {
        let refused = folder.run(&["reproduce", name]);
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains(&format!("`{name}` is no claim")), "{}", refused.stderr);
        assert!(refused.stderr.contains(meant), "{}", refused.stderr);
    }
    assert!(folder.files("").is_empty());
}

const SMALL: &str = r#"
title = "Latency & more <on> a small mesh"
topology = "mesh:4x4"
traffic.arrivals = { process = "poisson", rate = 0.1 }
traffic.multicast.destinations = 3
run = { warmup = 500, messages = 60 }
stop = { min_replications = 2, max_replications = 2 }
[sweep]
algorithm = ["dual-path", "column-path"]
"traffic.arrivals.rate" = [0.05, 0.1]
[[claim]]
id = "ahead"
text = "dual-path is ahead"
order = { lower = ["dual-path"], higher = ["column-path"] }
[quick]
run.messages = 30
[variation.no-startup]
timing.startup = 0
[variation.one-port]
switching = { injection_ports = 1, consumption_ports = 2 }
"#;

#[test]
fn a_variation_is_swept_beside_the_experiment_and_reported_with_it() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    folder.run(&["sweep", "small.toml"]).success();
    let table = folder.read("results/small.csv");
    let said = folder.run(&["sweep", "small.toml", "--variation", "no-startup"]).success();
    assert!(said.ends_with("small-no-startup.claims.json.\n"), "{said}");
    assert!(folder.read("results/small.csv") == table && folder.read("results/small-no-startup.csv") != table);
    let varied = folder.read("results/small-no-startup.csv");
    let column = varied.lines().next().unwrap().split(',').position(|name| name == "startup_cycles").unwrap();
    assert!(varied.lines().skip(1).all(|line| line.split(',').nth(column).unwrap().parse() == Ok(0.0)), "{varied}");
    folder.run(&["report", "small.toml"]).success();
    let page = folder.read("results/small-report.md");
    let told = page.lines().any(|line| line.ends_with("**: no-startup: `timing.startup = 0` ([small](#small))"));
    assert!(told && !page.contains("one-port: "), "{page}");
    // The quick version has variations of its own.
    let swept = folder.run(&["sweep", "small.toml", "--quick", "--variation", "one-port"]);
    // So few channels that it may deadlock, which is said.
    assert!(swept.code == 0 && swept.stderr.contains("worms of `dual-path` can deadlock here"), "{swept:?}");
    // So are overrides, which are of no use to another version.
    let set = ["--set", "quick.stop.max_replications=3", "--set", "quick.stop.min_replications=3"];
    let replications = |more: &[&str]| {
        folder.run(&[&["sweep", "small.toml", "--quick", "--name", "q"], more].concat()).success();
        let table = folder.read("results/q.csv");
        let column = table.lines().next().unwrap().split(',').position(|name| name == "replications").unwrap();
        table.lines().nth(1).unwrap().split(',').nth(column).unwrap().to_owned()
    };
    assert_eq!((replications(&[]), replications(&set)), ("2".to_owned(), "3".to_owned()));
    for command in ["sweep", "simulate", "plot", "compare", "report"] {
        let unread = folder.run(&[&[command, "small.toml"], &set[..]].concat()).bad_input();
        assert!(unread.contains("`quick` is a version of the file that is not asked for: add `--quick`"), "{unread}");
    }
    let wrong = folder.run(&["plot", "small.toml", "--variation", "no-start"]).bad_input();
    assert!(wrong.contains("there is no variation `no-start`"), "{wrong}");
    assert!(wrong.contains("did you mean `no-startup`?"), "{wrong}");
}

#[test]
fn a_report_shows_an_experiment_from_the_store() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    let before = folder.run(&["report", "small.toml"]);
    assert_eq!(before.code, 2);
    assert!(before.stderr.contains("run `wormcast sweep small.toml` first"), "{}", before.stderr);
    let elsewhere = folder.run(&["report", "small.toml", "--out", "o ut", "--set", "seed=3"]).bad_input();
    assert!(elsewhere.contains("run `wormcast sweep small.toml --set 'seed=3' --out 'o ut'` first"), "{elsewhere}");
    folder.run(&["sweep", "small.toml"]).success();
    assert_eq!(
        folder.run(&["report", "small.toml"]).success(),
        "Wrote results/small-report.html, results/small-report.md.\n"
    );
    let page = folder.read("results/small-report.html");
    assert!(page.contains("<h1>Latency &amp; more &lt;on&gt; a small mesh</h1>"), "{page}");
    assert!(page.contains("<svg") && page.contains("dual-path is ahead") && page.contains(" ± "));
    // The plot comes first, and what is claimed of it beside it; then who is best.
    let place = |part: &str| page.find(part).unwrap_or_else(|| panic!("no {part} in {page}"));
    let order = [
        "<div class=\"figures\"><figure><svg",
        "<div class=\"said\"><div class=\"claim\">",
        "Which is best",
        "the numbers",
    ];
    assert!(order.map(place).is_sorted(), "{page}");
    assert!(page.contains("dual-path: "), "the best one has its value: {page}");
    assert!(
        folder.read("results/small-report.md").contains("![")
            && folder.files("results").contains(&"small.svg".to_owned())
    );
    // The quick version is another experiment.
    let missing = folder.run(&["report", "small.toml", "--quick"]);
    assert!(missing.stderr.contains("run `wormcast sweep small.toml --quick` first"), "{}", missing.stderr);
    folder.run(&["sweep", "small.toml", "--quick"]).success();
    folder.run(&["report", "small.toml", "--quick"]).success();
}

#[test]
fn reports_of_other_experiments_have_other_names() {
    let plain = SMALL.split("[quick]").next().unwrap();
    let folder = Folder::with(&[("a.toml", plain), ("b.toml", plain), ("small.toml", SMALL)]);
    for file in ["a.toml", "b.toml", "small.toml"] {
        folder.run(&["sweep", file]).success();
    }
    for (files, more, name) in [
        (&["b.toml", "a.toml"][..], &[][..], "report-a-b"),
        (&["a.toml", "small.toml"], &[], "report-a-small"),
        (&["a.toml", "small.toml"], &["--name", "mine"], "mine"),
    ] {
        let wrote = folder.run(&[&["report"], files, more].concat()).success();
        assert_eq!(wrote, format!("Wrote results/{name}.html, results/{name}.md.\n"));
    }
    // Without a quick version, `--quick` asks for nothing that there is.
    for (files, said) in
        [(&["a.toml"][..], "`a.toml` has no quick"), (&["a.toml", "b.toml"], "`a.toml` and `b.toml` have no quick")]
    {
        let message = folder.run(&[&["report", "--quick"], files].concat()).bad_input();
        assert!(message.contains(said), "{message}");
    }
}

/// What it says of runs is what was noted when they ran: a page that is made again is the same, whenever and wherever.
#[test]
fn a_page_says_when_its_results_were_computed_and_by_what_but_not_where_they_lie() {
    let folder = Folder::with(&[]);
    std::fs::create_dir_all(folder.path().join("some/where")).unwrap();
    folder.write("some/where/small.toml", SMALL.as_bytes());
    let path = folder.path().join("some/where/small.toml");
    let [file, out] = [path.to_str().unwrap(), folder.path().join("all/results").to_str().unwrap()].map(str::to_owned);
    folder.run(&["sweep", &file, "--out", &out]).success();
    let pages = || {
        folder.run(&["report", &file, "--out", &out]).success();
        [".html", ".md"].map(|ending| folder.read(&format!("all/results/small-report{ending}")))
    };
    let made = pages();
    let version = concat!("wormcast ", env!("CARGO_PKG_VERSION"));
    for page in &made {
        assert!(page.contains("8 runs in ") && page.contains(" of computing") && page.contains(version), "{page}");
        assert!(page.contains(" UTC") && page.contains("wormcast sweep small.toml"), "{page}");
        let folders = [folder.path().to_str().unwrap(), "some/where", "all/results"];
        assert!(folders.iter().all(|folder| !page.contains(folder)), "{page}");
    }
    let database = rusqlite::Connection::open(folder.path().join("all/results/store.db")).unwrap();
    database.execute("UPDATE origins SET first = 951782400, last = 951782400, version = '0.0.9'", []).unwrap();
    let [html, markdown] = pages();
    assert!(html.contains("<p class=\"byline\">2000-02-29: wormcast 0.0.9"), "{html}");
    assert!(markdown.contains("\n*2000-02-29: wormcast 0.0.9"), "{markdown}");
    assert_eq!(pages(), [html, markdown]);
    // Results from before there were notes are shown without.
    database.execute("DROP TABLE origins", []).unwrap();
    let [html, _] = pages();
    let scripts = html.split("<script").skip(1).filter_map(|part| part.split_once("</script>"));
    let page: String = html.split("<script").take(1).chain(scripts.map(|(_, rest)| rest)).collect();
    assert!(page.contains(&format!("<p class=\"byline\">{version}")) && !page.contains("UTC"), "{page}");
}

#[test]
fn an_experiment_without_a_quick_version_says_so() {
    let folder = Folder::with(&[("plain.toml", "topology = 'mesh:4x4'\n"), ("bad.toml", "[quick]\nrun.mesages = 3\n")]);
    let plain = folder.run(&["sweep", "plain.toml", "--quick"]);
    assert_eq!(plain.code, 2);
    assert!(plain.stderr.contains("`plain.toml` has no quick version"), "{}", plain.stderr);
    let bad = folder.run(&["sweep", "bad.toml"]);
    assert!(bad.stderr.contains("bad.toml:2") && bad.stderr.contains("did you mean `messages`?"), "{}", bad.stderr);
}
