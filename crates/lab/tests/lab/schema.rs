//! The schema of experiment files, by the judgement of an independent validator.

use jsonschema::Validator;
use serde_json::Value as Json;
use wormcast_lab::{Experiment, schema};

use crate::experiments::shipped;

fn validator() -> Validator {
    assert!(jsonschema::meta::is_valid(&schema()), "the schema is one");
    jsonschema::draft202012::new(&schema()).expect("the schema can be used")
}

/// What the validator has against a file.
fn problems(validator: &Validator, text: &str) -> Vec<String> {
    let table: toml::Table = text.parse().expect("TOML");
    let json: Json = serde_json::to_value(table).expect("JSON");
    validator.iter_errors(&json).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn the_schema_accepts_every_shipped_experiment() {
    let validator = validator();
    for path in shipped() {
        let found = problems(&validator, &std::fs::read_to_string(&path).unwrap());
        assert!(found.is_empty(), "{}: {found:?}", path.display());
    }
}

/// The blocks of TOML in a document.
fn blocks(document: &str) -> Vec<String> {
    document
        .split("\n```toml\n")
        .skip(1)
        .map(|rest| rest.split("\n```").next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn the_schema_accepts_every_example_of_the_documents() {
    let validator = validator();
    let mut examples = 0;
    for document in [include_str!("../../../../docs/experiments.md"), include_str!("../../../../docs/switches.md")] {
        for block in blocks(document) {
            assert_eq!(problems(&validator, &block), [""; 0], "{block}");
            examples += 1;
        }
    }
    assert!(examples >= 6, "{examples}");
}

/// What the program reads.
const GOOD: &[&str] = &[
    "topology = { small-world = { nodes = 64, degree = 4, rewire = 0.1, seed = 3 } }",
    "root = 5",
    "root = 'maximum-degree'",
    "switching.model = 'central-buffer'\nswitching.central_chunks = 256",
    "switching = { model = 'input-buffer', input_fifo = 160 }",
    "traffic.arrivals = { process = 'burst', sources = 3 }\ntraffic.length = 32",
    "traffic.length = { uniform = [8, 64] }\ntraffic.multicast.destinations = { uniform = [2, 9] }",
    "traffic.multicast = { destinations = 'all', fraction = 0.1 }",
    "run = { warmup = 'auto', messages = 100 }",
    "run.warmup = 1000",
    "run.warmup = { messages = 10000 }",
    "options = { greedy = 'rows', resolution = 'ascending' }",
    "options = { detour = 4, cross_links = false, pair = 'balance', draw = 'replication', first = 3, second = '+4,+4' }",
    "options.method = '(-x,+y)(+y,-x)'\nsweep.options.second = ['half', 'quarter', 5]",
    "algorithm = 'spam'\n[with.spam]\nswitching.header = 'bit-string'\noptions.cross_links = false\nrouting = 'spam'\nroot = 3\ntiming.startup = 5",
    "algorithm = 'spam'\n[variation.a]\nwith.spam.switching.buffer = 'message'",
    "sweep.run.warmup.messages = [0, 100]",
    "plot.y = 'latency.mean'",
    "plot = { y = ['latency.mean', 'latency.last'], unit = 'cycles' }",
    // The sweep gives what every point needs.
    "traffic.arrivals.process = 'poisson'\nsweep.traffic.arrivals.rate = [0.1, 0.2]",
    "traffic.arrivals.process = 'poisson'\n[sweep]\n'traffic.arrivals.rate' = { from = 0.1, to = 0.4, points = 4 }\nalgorithm = ['dual-path']",
    "traffic.arrivals.process = 'poisson'\n[sweep.traffic]\nlength = [8, 64]\narrivals.rate = { from = 0.1, to = 0.4, points = 4, scale = 'log' }",
    "sweep.traffic.\"multicast.destinations\" = [1, 2]",
    "sweep.\"traffic.length\" = [{ uniform = [8, 64] }, 5]",
    // Versions are laid over the rest.
    "traffic.arrivals = { process = 'poisson', rate = 0.1 }\nquick.traffic.arrivals.rate = 0.2",
    "traffic.arrivals = { process = 'poisson', rate = 0.1 }\n[variation.other]\ntraffic.arrivals.process = 'exponential'",
    "sweep.traffic.arrivals.rate = { from = 0.1, to = 0.4, points = 9 }\ntraffic.arrivals.process = 'poisson'\n\
     quick.sweep.traffic.arrivals.rate.points = 3",
    "variation.b = {}\nvariation.c.stop.min_replications = 3",
];

/// What it refuses.
const BAD: &[&str] = &[
    "topologie = 'mesh:4x4'",
    "topology = { smallworld = { nodes = 64 } }",
    "seed = -1",
    "seed = 'one'",
    "engine = 'fast'",
    "timing.startups = 5",
    "traffic.arrivals.rate = 0.1",
    "traffic.arrivals = { process = 'poison', rate = 0.1 }",
    "run.warmup = 'none'",
    "run.warmup = { messages = -1 }",
    "run.warmup = { cycles = 1 }",
    "run.warmup = {}",
    "options.detour = -1",
    "options.pair = 'best'",
    "options.detours = 1",
    "algorithm = 'spam'\nwith.spam.swiching.buffer = 3",
    "algorithm = 'spam'\nwith.spam.switching.buffers = 3",
    "algorithm = 'spam'\nwith.spam.traffic.length = 3",
    "with = 3",
    "algorithm = 'spam'\nwith.spam = 3",
    "stop.min_replications = 1.5",
    "plot.unit = 'ns'",
    "plot.y = []",
    "plot.y = 'latency'",
    "sweep.algorithm = []",
    "sweep.algorithm = 'dual-path'",
    "traffic.arrivals.process = 'poisson'\nsweep.traffic.arrivals.rate = { from = 0.1, to = 0.4 }",
    "traffic.arrivals.process = 'poisson'\nsweep.traffic.arrivals.rate = { from = 0.1, to = 0.4, points = 3, steps = 3 }",
    "claim = [{ id = 'a' }]",
    "quick.mesages = 3",
    "quick.run.mesages = 3",
    "quick.quick.run.messages = 3",
    "variation = 3",
    "variation.a = 3",
    "variation.a.quick.seed = 3",
    "variation.a.traffic.arrivals = { rate = 'high' }",
    "variation.a.variation.b.seed = 3",
    "variation.quick.seed = 3",
    "variation.'.hidden'.seed = 3",
    "variation.'a/b'.seed = 3",
];

#[test]
fn the_schema_says_of_a_file_what_the_program_says() {
    let validator = validator();
    for (texts, good) in [(GOOD, true), (BAD, false)] {
        for text in texts {
            let said = Experiment::parse("test.toml", text, &[]).err().map(|error| error.to_string());
            assert_eq!(said.is_none(), good, "{text}: {said:?}");
            let found = problems(&validator, text);
            assert_eq!(found.is_empty(), good, "{text}: {found:?}");
        }
    }
}

/// Numbers that no run can have. The program finds some only when it makes the run.
#[test]
fn the_schema_refuses_numbers_that_the_program_refuses() {
    let validator = validator();
    let file = |setting: &str| format!("algorithm = 'dual-path'\ntopology = 'mesh:4x4'\n{setting}\n");
    let traffic = "traffic = { arrivals = { process = 'poisson', rate = 0.1 }, multicast.destinations = 3 }";
    let made = |text: &str| {
        Experiment::parse("test.toml", text, &[])
            .and_then(|experiment| experiment.jobs(&experiment.points()?).map(drop))
    };
    for (good, bad) in [
        ("switching.virtual_channels = 64", "switching.virtual_channels = 65"),
        ("switching.injection_ports = 1", "switching.injection_ports = 0"),
        ("switching.consumption_ports = 1", "switching.consumption_ports = 0"),
        ("timing.cycle_ns = 0.5", "timing.cycle_ns = 0"),
        ("stop.confidence = 0.9", "stop.confidence = 1"),
        ("stop.relative_half_width = 0.1", "stop.relative_half_width = 0"),
        ("stop.min_replications = 1", "stop.min_replications = 0"),
        ("run.messages = 1", "run.messages = 0"),
    ] {
        let [good, bad] = [good, bad].map(|setting| file(&format!("{setting}\n{traffic}")));
        assert!(made(&good).is_ok() && problems(&validator, &good).is_empty(), "{good}");
        assert!(made(&bad).is_err() && !problems(&validator, &bad).is_empty(), "{bad}");
    }
    for (from, to) in [("rate = 0.1", "rate = 0"), ("destinations = 3", "destinations = 0"), ("3 }", "3, length = 0 }")]
    {
        let bad = file(&traffic.replace(from, to));
        assert!(made(&bad).is_err() && !problems(&validator, &bad).is_empty(), "{bad}");
    }
}

/// A schema with a mistake is found out: the validator is no rubber stamp.
#[test]
fn a_schema_without_dotted_keys_is_found_out() {
    let mut broken = schema();
    let axis = &mut broken["$defs"]["AxisForm"]["anyOf"];
    axis.as_array_mut().expect("alternatives").truncate(2);
    let partial = &mut broken["$defs"]["PartialAxisForm"]["anyOf"];
    partial.as_array_mut().expect("alternatives").truncate(2);
    let validator = jsonschema::draft202012::new(&broken).unwrap();
    assert!(!problems(&validator, "[sweep]\ntraffic.length = [8, 64]").is_empty());
    assert!(problems(&validator, "[sweep]\n'traffic.length' = [8, 64]").is_empty());
}
