//! Experiment files: those of the repository, and what is said about bad ones.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use wormcast_lab::{Diagnostic, Experiment, Override, PointSpec, schema};
use wormcast_multicast::{Descriptor, MakeAlgorithm, Separate, register};

pub(crate) fn shipped() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    assert!(files.len() >= 4);
    files
}

#[test]
fn the_shipped_experiments_are_good() {
    for path in shipped() {
        let experiment = Experiment::read(&path, &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let points = experiment.points().unwrap();
        let runs = |version: &Experiment| {
            let points = version.points().unwrap_or_else(|error| panic!("{}", error.render(false)));
            let jobs = version.jobs(&points).unwrap_or_else(|error| panic!("{}", error.render(false)));
            let idle = version.idle_settings(&points, |index| jobs[index].idle_settings()).unwrap();
            assert!(idle.is_empty(), "{}", idle[0]);
        };
        runs(&experiment);
        let quick = experiment.quick().unwrap();
        runs(&quick);
        for name in experiment.variations() {
            runs(&quick.variation(&name).unwrap());
            assert!(!experiment.variation_settings(&name).is_empty());
        }
        assert!(!experiment.title().is_empty() && points.len() > 1);
    }
    assert_eq!(Experiment::built_in(&[]).unwrap().points().unwrap().len(), 40);
}

/// The schema of a property, through references and alternatives.
fn property<'s>(root: &'s Json, schema: &'s Json, name: &str) -> Option<&'s Json> {
    if let Some(reference) = schema["$ref"].as_str() {
        return property(root, root.pointer(reference.trim_start_matches('#'))?, name);
    }
    let alternatives = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    schema["properties"].get(name).or_else(|| alternatives.into_iter().find_map(|inner| property(root, inner, name)))
}

fn covered(root: &Json, schema: &Json, table: &toml::Table, path: &str) {
    for (key, value) in table {
        let any = schema["additionalProperties"].as_object().map(|_| &schema["additionalProperties"]);
        let found = property(root, schema, key).or(any).unwrap_or_else(|| panic!("{path}{key} is not in the schema"));
        if let (toml::Value::Table(inner), false) = (value, key == "sweep") {
            covered(root, found, inner, &format!("{path}{key}."));
        }
    }
}

#[test]
fn the_schema_covers_every_key_of_the_shipped_experiments() {
    let schema = schema();
    for path in shipped() {
        let table: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
        covered(&schema, &schema, &table, "");
    }
    let text = schema.to_string();
    for description in ["Messages per node per microsecond", "Nanoseconds a cycle", "Replications of a point at least"]
    {
        assert!(text.contains(description), "{description}");
    }
}

/// Where routings are swept, a root is that of those that have one: the others' points are the same as without it.
#[test]
fn a_root_beside_swept_routings_is_theirs_that_have_one() {
    let points = |root: &str, sweep: &str| {
        let text = format!(
            "topology = 'random:nodes=16,degree=3,seed=1'\nalgorithm = 'separate'\n{root}\n\
             traffic.arrivals = {{ process = 'poisson', rate = 0.1 }}\n{sweep}\n"
        );
        Experiment::parse("test.toml", &text, &[]).and_then(|experiment| {
            let points = experiment.points()?;
            experiment.jobs(&points)?;
            Ok(points.iter().map(|point| point.spec.config_hash()).collect::<Vec<_>>())
        })
    };
    let sweep = "sweep.routing = ['turn-prohibition', 'up-down']";
    let (with, without) = (points("root = 'maximum-degree'", sweep).unwrap(), points("", sweep).unwrap());
    assert!(with[0] == without[0] && with[1] != without[1]);
    let error = points("root = 5", "routing = 'turn-prohibition'").unwrap_err().to_string();
    assert!(error.contains("`turn-prohibition` has no root"), "{error}");
}

/// A graph without a seed is drawn with that of the run, from text or from a table whose parameters can be swept.
#[test]
fn graphs_without_a_seed_are_drawn_anew() {
    let read = |topology: &str, sweep: &str| {
        let text = format!(
            "topology = {topology}\nalgorithm = \"separate\"\n[traffic]\narrivals = {{ process = \"poisson\", rate = 0.1 }}\n\
             [sweep]\n{sweep}\nrouting = [\"up-down\", \"turn-prohibition\"]\n"
        );
        Experiment::parse("test.toml", &text, &[]).unwrap_or_else(|error| panic!("{}", error.render(false)))
    };
    let links = |experiment: &Experiment, point: usize, seed| {
        let points = experiment.points().unwrap();
        let job = experiment.job_of(&points[point], seed).unwrap();
        let network = job.scenario().unwrap().network();
        let ends = network.channel_ids().map(|c| (network.from(c), network.to(c)));
        ends.collect::<Vec<_>>()
    };
    let text = read("\"random:nodes=12,degree=3\"", "");
    let table = read("{ random = { nodes = 12, degree = 4 } }", "topology.random.degree = [3, 4]");
    for experiment in [&text, &table] {
        assert_ne!(links(experiment, 0, 1), links(experiment, 0, 2));
        assert_eq!(links(experiment, 0, 1), links(experiment, 1, 1), "routings meet the same graph");
    }
    assert_eq!(links(&text, 0, 7), links(&table, 0, 7));
    assert_eq!(links(&table, 2, 7).len(), 48);
    assert_eq!(table.points().unwrap()[2].spec.topology, "random:nodes=12,degree=4");
    let fixed = read("\"random:nodes=12,degree=3,seed=5\"", "");
    assert_eq!(links(&fixed, 0, 1), links(&fixed, 0, 2));
}

const GOOD: &str = r#"title = "t"
topology = "mesh:4x4"
seed = 3
[traffic]
arrivals = { process = "poisson", rate = 0.01 }
[sweep]
algorithm = ["dual-path", "column-path"]
"traffic.arrivals.rate" = [0.01, 0.02]
"#;

/// Everything that is checked before a run.
fn check(text: &str, set: &[&str]) -> Result<(), Diagnostic> {
    let overrides: Vec<Override> = set.iter().map(|given| Override::set(given).unwrap()).collect();
    let experiment = Experiment::parse("x.toml", text, &overrides)?;
    experiment.jobs(&experiment.points()?).map(drop)
}

#[test]
fn bad_files_are_pointed_at() {
    check(GOOD, &[]).unwrap();
    for (from, to, start) in [
        ("seed = 3", "sede = 3", "x.toml:3:1: unknown setting `sede`; did you mean `seed`?"),
        ("seed = 3", "seed = -3", "x.toml:3:8: number `-3`, expected a whole number, not negative"),
        ("seed = 3", "seed = 'x'", "x.toml:3:8: text \"x\", expected a whole number"),
        ("seed = 3", "seed = = 3", "x.toml:3:8: "),
        ("seed = 3", "traffic = 3", "x.toml:4:2: "),
        ("seed = 3", "switching.bufer = 3", "x.toml:3:11: unknown setting `bufer`; did you mean `buffer`?"),
        ("seed = 3", "timing = 3", "x.toml:3:10: number `3`, expected a table of settings"),
        ("seed = 3", "engine = 'flitt'", "x.toml:3:10: unknown value `flitt`; did you mean `flit`?"),
        ("seed = 3", "routing = 'e-cub'", "x.toml:3:11: "),
        ("seed = 3", "stop.confidence = 1", "x.toml:3:19: a confidence of 1 is impossible"),
        ("seed = 3", "stop.confidence = nan", "x.toml:3:19: a confidence of NaN is impossible"),
        ("seed = 3", "stop.relative_half_width = 0", "x.toml:3:28: expected a share of the mean between 0 and 1"),
        ("seed = 3", "stop.min_replications = 0", "x.toml:3:25: expected at least one replication"),
        (
            "seed = 3",
            "stop.max_replications = 4",
            "x.toml:3:25: expected at least as many as `min_replications`, which is 10",
        ),
        (
            "seed = 3",
            "plot.x = 'rate'",
            "x.toml:3:10: `rate` is not swept: expected one of traffic.arrivals.rate, offered_load",
        ),
        (
            "seed = 3",
            "plot.x = 'algorithm'",
            "x.toml:3:10: \"dual-path\", a value of `algorithm`, is not a number: plot against",
        ),
        ("seed = 3", "plot.series = 'switching.buffer'", "x.toml:3:15: `switching.buffer` is not swept"),
        (
            "seed = 3",
            "plot.series = 'traffic.arrivals.rate'",
            "x.toml:3:15: `traffic.arrivals.rate` is the horizontal axis, and cannot be the series too: expected one of ",
        ),
        (
            "seed = 3",
            "plot.y = 'latency.lst'",
            "x.toml:3:10: unknown value `latency.lst`; did you mean `latency.last`?",
        ),
        ("\"mesh:4x4\"", "\"mash:4x4\"", "x.toml:2:12: unknown topology `mash:4x4`"),
        ("\"mesh:4x4\"", "\"mesh:4xx4\"", "x.toml:2:12: topology `mesh:4xx4`: an extent is missing"),
        ("\"mesh:4x4\"", "\"torus:4x4\"", "x.toml:7:14: `dual-path` needs a mesh, but `torus:4x4` is a torus"),
        ("topology = \"mesh:4x4\"", "", "x.toml:1:1: missing setting `topology`"),
        ("\"column-path\"]", "\"columnpath\"]", "x.toml:7:27: unknown algorithm `columnpath`"),
        ("\"column-path\"]", "3]", "x.toml:7:27: number `3`, expected a text"),
        ("algorithm = [", "topology = [", "x.toml:7:13: unknown topology `dual-path`"),
        ("arrivals.rate\"", "arrivals.rat\"", "x.toml:8:1: unknown setting `rat`; did you mean `rate`?"),
        ("\"traffic.arrivals.rate\" =", "\"seed.x\" =", "x.toml:8:1: `seed.x` names no setting: `seed` is not a table"),
        ("[0.01, 0.02]", "[0.01, 'high']", "x.toml:8:34: text \"high\", expected a number"),
        ("[0.01, 0.02]", "{ from = 0, to = 1, points = 0 }", "x.toml:8:56: expected at least one point"),
        ("[0.01, 0.02]", "{ from = 0, to = 1, points = 99999 }", "x.toml:6:2: the sweep has more than 100000 points"),
        ("seed = 3", "timing.preset = 'ncube'", "x.toml:3:17: unknown value `ncube`; did you mean `ncube-2`?"),
        ("seed = 3", "timing.presets = 'ncube-2'", "x.toml:3:8: unknown setting `presets`; did you mean `preset`?"),
        ("seed = 3", "switching.flit_bytes = 0", "x.toml:3:24: `switching.flit_bytes`: 0 is out of range"),
        (
            "seed = 3",
            "switching = { buffer = 2, model = 'central-buffer' }",
            "x.toml:3:15: `model = \"central-buffer\"` has no setting `buffer`, which belongs to `model = \"wormhole\"`; expected one of model, flit_bytes, ",
        ),
        (
            "seed = 3",
            "switching.central_chunks = 2",
            "x.toml:3:11: `model = \"wormhole\"` has no setting `central_chunks`, which belongs to `model = \"central-buffer\"`; expected one of model, buffer, ",
        ),
        ("seed = 3", "switching.bufer = 2", "x.toml:3:11: unknown setting `bufer`; did you mean `buffer`?"),
        ("seed = 3", "run.ports = 'all'", "x.toml:3:13: `run.ports`: only `mode = \"plan\"` counts steps"),
        ("seed = 3", "run.mode = 'plam'", "x.toml:3:12: unknown value `plam`; did you mean `plan`?"),
        (
            "seed = 3",
            "plot.y = []",
            "x.toml:3:10: the list is empty: expected the name of a quantity, or a list of them",
        ),
        ("[traffic]", "[traffic]\nlength = { byte = 9 }", "x.toml:5:10: unknown setting `byte`; did you mean `bytes`?"),
        (
            "[traffic]",
            "[traffic]\nlength = { bytes = 0 }",
            "x.toml:5:1: `traffic.length`: expected 1 to 16777216 bytes",
        ),
        ("[traffic]", "[traffic]\nlength = 'long'", "x.toml:5:10: text \"long\", expected a whole number of flits"),
        (
            "[traffic]",
            "[traffic]\nmulticast.destinations = 'al'",
            "x.toml:5:26: text \"al\", expected a whole number, `{ uniform",
        ),
        ("\"poisson\"", "\"poison\"", "x.toml:5:24: unknown value `poison`; did you mean `poisson`?"),
        ("process = \"poisson\", ", "", "x.toml:5:12: missing setting `traffic.arrivals.process`"),
        ("[traffic]", "[traffic]\nunicast.node = 3", "x.toml:5:1: missing setting `traffic.unicast.pattern`"),
    ] {
        assert!(GOOD.contains(from));
        let error = check(&GOOD.replacen(from, to, 1), &[]).expect_err(to);
        assert!(error.to_string().starts_with(start), "{to}\n  gives  {error}\n  wanted {start}");
        assert!(error.render(false).contains(" --> x.toml:"), "{}", error.render(false));
    }
}

#[test]
fn numbers_beyond_reason_are_pointed_at() {
    for (from, to, start) in [
        (
            "seed = 3",
            "run.messages = 1000000000000000000",
            "x.toml:3:16: `run.messages`: expected at most 1000000000000",
        ),
        ("seed = 3", "run.warmup = 1000000000000000000", "x.toml:3:14: `run.warmup`: expected at most 1000000000000"),
        ("0.02]", "1e308]", "x.toml:8:34: `traffic.arrivals.rate`: 1e308 is "),
    ] {
        let error = check(&GOOD.replacen(from, to, 1), &[]).expect_err(to).to_string();
        assert!(error.starts_with(start), "{to}: {error}");
    }
}

#[test]
fn presets_are_the_numbers_that_they_stand_for() {
    let hashes = |text: &str| -> Vec<String> {
        let points = Experiment::parse("x.toml", text, &[]).unwrap().points().unwrap();
        points.iter().map(|point| point.spec.config_hash()).collect()
    };
    let with = |timing: &str| hashes(&GOOD.replace("seed = 3", &format!("seed = 3\n{timing}")));
    assert_eq!(with("timing.preset = 'paper-1'"), hashes(GOOD));
    let numbers = "timing = { cycle_ns = 450, startup = 100, routing_delay = 3, receive_overhead = 167 }";
    assert_eq!(with("timing = { preset = 'ncube-2', startup = 100 }"), with(numbers));
    let set = |argument: &str| Override::set(argument).unwrap();
    let experiment =
        Experiment::parse("x.toml", GOOD, &[set("timing.preset=ncube-2"), set("algorithm=dual-path")]).unwrap();
    assert_eq!(
        (experiment.points().unwrap()[0].spec.timing.startup, experiment.swept()),
        (211, vec!["traffic.arrivals.rate"])
    );
}

#[test]
fn the_nearest_valid_name_is_offered() {
    for (from, to, end) in [
        ("seed = 3", "sede = 3", "; did you mean `seed`?"),
        ("arrivals.rate\"", "arrivals.rat\"", "; did you mean `rate`?"),
        ("\"column-path\"]", "\"columnpath\"]", "; did you mean `column-path`?"),
        ("\"traffic.arrivals", "\"trafic.arrivals", "; did you mean `traffic`?"),
        ("seed = 3", "plot.x = 'traffic.arrival.rate'", "; did you mean `traffic.arrivals.rate`?"),
        ("\"poisson\"", "\"poison\"", "; did you mean `poisson`?"),
    ] {
        let error = check(&GOOD.replacen(from, to, 1), &[]).expect_err(to);
        assert!(error.to_string().ends_with(end), "{error}");
    }
}

#[test]
fn bad_overrides_name_the_argument() {
    for (set, start) in [
        ("sede=4", "--set sede=4: unknown setting `sede`"),
        ("seed=x", "--set seed=x: text \"x\", expected a whole number"),
        ("topology=mash:4x4", "--set topology=mash:4x4: unknown topology `mash:4x4`"),
        ("algorithm=dualpath", "--set algorithm=dualpath: unknown algorithm `dualpath`"),
        (
            "traffic.arrivals={ process = 'poison' }",
            "--set traffic.arrivals={ process = 'poison' }: unknown value `poison`",
        ),
        ("stop.confidence=2", "--set stop.confidence=2: a confidence of 2 is impossible"),
        ("sweep.algorithm=[]", "--set sweep.algorithm=[]: `algorithm` has no values"),
    ] {
        let error = check(GOOD, &[set]).expect_err(set);
        assert!(error.to_string().starts_with(start), "{error}");
        assert!(error.render(false).contains(&format!("error: --set {set}: ")), "{}", error.render(false));
    }
    let seed = Override::option("--seed", "seed", "many");
    let error = Experiment::parse("x.toml", GOOD, &[seed]).unwrap_err();
    assert!(error.to_string().starts_with("--seed many: "));
}

#[test]
fn one_configuration_of_a_sweep_has_to_be_chosen() {
    let overrides = |set: &[&str]| set.iter().map(|given| Override::set(given).unwrap()).collect::<Vec<_>>();
    let parse = |set: &[&str]| Experiment::parse("x.toml", GOOD, &overrides(set)).unwrap();
    let error = parse(&[]).point().unwrap_err();
    assert_eq!(error.to_string(), "x.toml:7:1: `algorithm` is swept: choose one with `--set algorithm=dual-path`");
    let point = parse(&["algorithm=column-path"]).point().unwrap();
    assert_eq!(point.spec.algorithm, "column-path");
    // What the file says outside the sweep holds.
    assert_eq!(point.spec.traffic.arrivals.unwrap().rate, Some(0.01));
    // A swept setting that is overridden is no longer swept.
    let experiment = parse(&["algorithm=column-path", "traffic.arrivals.rate=0.5"]);
    assert!(experiment.swept().is_empty());
    assert_eq!(experiment.points().unwrap()[0].spec, experiment.point().unwrap().spec);
}

#[test]
fn points_are_in_the_order_of_the_file_and_have_their_own_hashes() {
    let experiment = Experiment::parse("x.toml", GOOD, &[]).unwrap();
    let points = experiment.points().unwrap();
    let labels: Vec<String> = points.iter().map(wormcast_lab::Point::label).collect();
    assert_eq!(
        labels,
        [
            "algorithm=dual-path traffic.arrivals.rate=0.01",
            "algorithm=dual-path traffic.arrivals.rate=0.02",
            "algorithm=column-path traffic.arrivals.rate=0.01",
            "algorithm=column-path traffic.arrivals.rate=0.02",
        ]
    );
    let hashes = |text: &str| -> Vec<String> {
        let points = Experiment::parse("x.toml", text, &[]).unwrap().points().unwrap();
        points.iter().map(|point| point.spec.config_hash()).collect()
    };
    let original = hashes(GOOD);
    assert_eq!(original.iter().collect::<std::collections::HashSet<_>>().len(), 4);
    assert!(original.iter().all(|hash| hash.len() == 64));
    // Titles, plots and stopping do not change what is simulated; spelled-out defaults neither.
    let same = "title = \"u\"\nplot.title = 'v'\nstop.confidence = 0.9\nswitching.virtual_channels = 1";
    assert_eq!(hashes(&GOOD.replace("title = \"t\"", same)), original);
    assert_ne!(hashes(&GOOD.replace("seed = 3", "seed = 4"))[0], original[0]);
    assert_ne!(hashes(&GOOD.replace("seed = 3", "seed = 3\nswitching.buffer = 2"))[0], original[0]);
    // A description survives being stored.
    let json = serde_json::to_string(&points[0].spec).unwrap();
    assert_eq!(serde_json::from_str::<wormcast_lab::PointSpec>(&json).unwrap(), points[0].spec);
}

/// Algorithms of the workbench have the hashes that they had before programs could bring their own.
#[test]
fn the_revision_of_an_own_algorithm_is_part_of_its_points_and_of_no_others() {
    let separate: MakeAlgorithm = |network, options| Ok(Box::new(Separate::new(network, options)?));
    register(Descriptor::new("lab-own", 3, separate)).unwrap();
    let spec = |algorithm: &str, mode: &str| {
        let set = [&format!("algorithm={algorithm}"), "run.messages=5", mode].map(|set| Override::set(set).unwrap());
        Experiment::built_in(&set).unwrap().point().unwrap().spec
    };
    let built_in = spec("dual-path", "run.mode=steady");
    assert_eq!(built_in.algorithm_revision, None);
    assert_eq!(built_in.config_hash(), "16cb4bf21d8cfd4a7d7415fb0ec102f8fcefc32bbb7173dff456f565af3c97f0");
    let own = spec("lab-own", "run.mode=steady");
    assert_eq!(own.algorithm_revision, Some(3));
    let raised = PointSpec { algorithm_revision: Some(4), ..own.clone() };
    let none = PointSpec { algorithm_revision: None, ..own.clone() };
    let hashes: HashSet<String> = [&own, &raised, &none].map(PointSpec::config_hash).into();
    assert_eq!(hashes.len(), 3);
    // In mode `trees` the name is that of a construction.
    assert_eq!(spec("lab-own", "run.mode=trees").algorithm_revision, None);
}

#[test]
fn files_are_looked_for_beside_the_experiment_and_their_contents_count() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.toml");
    std::fs::write(directory.path().join("ring.txt"), "0 1\n1 2\n2 0\n").unwrap();
    std::fs::write(&path, "topology = 'ring.txt'\nalgorithm = 'separate'\ntraffic.trace = 'messages.txt'\n").unwrap();
    let experiment = Experiment::read(&path, &[]).unwrap();
    let error = experiment.point().unwrap_err();
    assert!(error.to_string().contains("x.toml:3:17: cannot read `"), "{error}");
    std::fs::write(directory.path().join("messages.txt"), "0 0 8 1\n").unwrap();
    let hash = || experiment.point().unwrap().spec.config_hash();
    let before = hash();
    assert_eq!(before, hash());
    std::fs::write(directory.path().join("messages.txt"), "0 0 9 1\n").unwrap();
    assert_ne!(before, hash());

    std::fs::write(&path, "topology = 'rong.txt'\nalgorithm = 'separate'\n").unwrap();
    let error = Experiment::read(&path, &[]).unwrap().points().unwrap_err();
    assert!(error.to_string().contains("x.toml:1:12: unknown topology `rong.txt`"), "{error}");
    let error = Experiment::read(&directory.path().join("no.toml"), &[]).unwrap_err();
    assert!(error.to_string().contains("no.toml: cannot read the experiment file: "), "{error}");
}

/// What sends nothing has no traffic, and a network that its trees are defined on.
#[test]
fn trees_are_measured_without_traffic() {
    const TREES: &str = "topology = 'torus:4x4'\nalgorithm = 'dstm-1'\nrun.mode = 'trees'\n";
    check(TREES, &[]).unwrap();
    let problem = |set: &str| {
        let error = check(TREES, &[set]).unwrap_err();
        error.to_string()
    };
    for (set, expected) in [
        ("algorithm=dstm-tarjn", "did you mean `dstm-tarjan`?"),
        ("topology=mesh:4x4", "`dstm-1` needs a torus of two dimensions"),
        ("run.messages=0", "`run.messages`: expected 1 to"),
        ("run.max_cycles=9", "`run.max_cycles`: `mode = \"trees\"` sends nothing: leave it out"),
        ("traffic.length=9", "`traffic`: `mode = \"trees\"` sends nothing: leave it out"),
        ("engine=flit", "`engine`: `mode = \"trees\"` sends nothing: leave it out"),
    ] {
        let message = problem(set);
        assert!(message.contains(expected), "{set}: {message}");
    }
}
