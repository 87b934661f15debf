//! The browser interface over real HTTP: its numbers are the command's, and it answers nothing that it must not.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout};
use std::time::Duration;

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::sweep::SMALL;
use crate::{command, outcome, wormcast};

/// A server for a folder, which ends with the test.
struct Server {
    child: Option<Child>,
    /// What it prints behind its address.
    out: BufReader<ChildStdout>,
    address: String,
    token: String,
    /// What its address opens.
    opens: String,
}

/// An answer.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

impl Server {
    fn of(folder: &Folder) -> Self {
        Self::with(folder, &["."])
    }

    fn with(folder: &Folder, arguments: &[&str]) -> Self {
        let mut child =
            command(&[&["serve"], arguments].concat()).current_dir(folder.path()).spawn().expect("it starts");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        out.read_line(&mut line).expect("a line");
        let rest = line.trim().strip_prefix("http://").unwrap_or_else(|| panic!("{line}"));
        let (address, query) = rest.split_once('/').expect("an address of a page");
        let (opens, token) = query.split_once("token=").expect("a token");
        let (address, token) = (address.to_owned(), token.to_owned());
        Self { child: Some(child), out, address, opens: opens.trim_end_matches(['?', '&']).to_owned(), token }
    }

    /// Sends bytes, and returns what comes back until the server closes the connection.
    fn raw(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(90))).unwrap();
        stream.write_all(request).expect("it takes requests");
        let mut answer = Vec::new();
        // It may close before it has read everything.
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head.push_str(&["Host: ", &self.address, "\r\n"].concat());
        }
        if !headers.iter().any(|(name, _)| *name == "Cookie" || *name == "Authorization") {
            head.push_str(&["Authorization: Bearer ", &self.token, "\r\n"].concat());
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            head.push_str(&[name, ": ", value, "\r\n"].concat());
        }
        let answer = self.raw(format!("{head}\r\n{body}").as_bytes());
        parsed(&answer)
    }

    /// As somebody asks who does not know the token.
    fn stranger(&self, path: &str) -> Answer {
        self.send("GET", path, &[("Authorization", "")], "")
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    fn data(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
        answer.json()
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("X-Wormcast", "page"), ("Content-Type", "application/json")], &body.to_string())
    }

    /// Asks again and again until an element of a list has a state.
    fn until(&self, path: &str, is: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..600 {
            if let Some(found) = self.data(path).as_array().and_then(|all| all.iter().find(|one| is(one)).cloned()) {
                return found;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{path} never gets there: {}", self.data(path))
    }

    /// Interrupts it, and returns how it ended.
    fn end(mut self) -> crate::Outcome {
        let child = self.child.take().expect("it is there");
        let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(killed.expect("a shell").success());
        outcome(child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Takes an answer apart; bodies may come in chunks.
fn parsed(answer: &[u8]) -> Answer {
    let end =
        answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let head = String::from_utf8(answer[..end].to_vec()).expect("text");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status").parse().expect("a number");
    let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
    let headers: BTreeMap<String, String> = lines.filter_map(header).collect();
    let mut body = answer[end + 4..].to_vec();
    if headers.get("transfer-encoding").is_some_and(|encoding| encoding == "chunked") {
        let (mut rest, mut whole) = (&body[..], Vec::new());
        while let Some(line) = rest.windows(2).position(|bytes| bytes == b"\r\n") {
            let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).expect("a size");
            whole.extend_from_slice(&rest[line + 2..line + 2 + size]);
            rest = &rest[line + 2 + size + 2..];
            if size == 0 {
                break;
            }
        }
        body = whole;
    }
    Answer { status, headers, body }
}

/// Text as a value in an address.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn query(of: &[(&str, &str)]) -> String {
    of.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect::<Vec<_>>().join("&")
}

/// That an answer has everything that the command prints.
fn has_all(answer: &Value, printed: &Value, what: &str) {
    for (key, value) in printed.as_object().expect("an object") {
        assert_eq!(answer.get(key), Some(value), "`{key}` of {what}");
    }
}

const DEADLOCK: &str = r#"
topology = "mesh:4x4"
algorithm = "dual-path"
seed = 3
[timing]
startup = 0
[traffic]
arrivals = { process = "burst", interval = 20 }
length = 30
multicast = { destinations = 6 }
[switching]
consumption_ports = 1
[run]
mode = "finite"
messages = 4000
"#;

#[test]
fn it_says_where_it_is_and_ends_when_told() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    let server = Server::of(&folder);
    assert!(server.address.starts_with("127.0.0.1:"), "{}", server.address);
    for view in ["/", "/network", "/replay?file=x", "/deadlock", "/plan", "/curves", "/sweeps", "/index.html"] {
        let page = server.get(view);
        assert_eq!((page.status, page.headers["content-type"].as_str()), (200, "text/html; charset=utf-8"), "{view}");
    }
    for (file, kind) in [("page.js", "text/javascript"), ("page.css", "text/css"), ("icon.svg", "image/svg+xml")] {
        assert!(server.get(&format!("/{file}")).headers["content-type"].starts_with(kind), "{file}");
    }
    let info = server.data("/api/info");
    assert_eq!(info["open"], Value::Null);
    assert_eq!(info["items"][0]["path"], "small.toml");
    assert_eq!(info["items"][0]["kind"], "experiment");
    // A page that stays open keeps no server.
    let mut open = TcpStream::connect(&server.address).unwrap();
    write!(
        open,
        "GET /api/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        server.address, server.token
    )
    .unwrap();
    let ended = server.end();
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    let help = wormcast(&["serve", "--help"]).success();
    assert!(help.contains("Ctrl-C and SIGTERM are how it ends: the exit code is then 0."), "{help}");
    let server = Server::with(&folder, &["small.toml"]);
    let open = &server.data("/api/info")["open"];
    assert_eq!((&open["path"], &open["kind"]), (&json!("small.toml"), &json!("experiment")));
    assert_eq!(server.opens, "curves?experiment=small.toml");
}

#[test]
fn what_cannot_be_served_is_said() {
    let folder = Folder::with(&[("small.toml", SMALL), ("notes.txt", "")]);
    let server = Server::of(&folder);
    let port = server.address.rsplit(':').next().unwrap();
    let busy = folder.run(&["serve", "--port", port]);
    assert_eq!((busy.code, busy.stdout.as_str()), (1, ""));
    assert!(busy.stderr.contains(&format!("port {port} is in use")) && busy.stderr.contains("`--port 0`"), "{busy:?}");
    let local = folder.run(&["serve", "--listen", "fe80::1"]);
    assert_eq!((local.code, local.stdout.as_str()), (1, ""));
    assert!(local.stderr.contains("a link-local address needs an interface"), "{local:?}");
    let missing = folder.run(&["serve", "smal.toml"]).bad_input();
    assert!(missing.contains("smal.toml") && missing.ends_with("did you mean `small.toml`?\n"), "{missing}");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("gone", folder.path().join("dangling.toml")).unwrap();
        let dangling = folder.run(&["serve", "dangling.toml"]).bad_input();
        assert!(!dangling.contains("did you mean `dangling.toml`"), "{dangling}");
    }
    assert!(folder.run(&["serve", "notes.txt"]).bad_input().contains("expected a folder, an experiment"));
    folder.write("junk.replay", b"nothing");
    let junk = folder.run(&["serve", "junk.replay"]).bad_input();
    assert!(junk.contains("it is not a recorded run: expected a file that `simulate --replay` has written"), "{junk}");
    let name = folder.run(&["serve", "--listen", "somewhere"]).bad_input();
    assert!(name.contains("--listen") && name.contains("expected an address of this machine in numbers"), "{name}");
    assert_eq!(folder.run(&["serve", "--listen", "192.0.2.1"]).code, 1, "an address of another machine");
}

/// A parameter, the option that it is, and its value.
type More<'a> = &'a [(&'a str, &'a str, &'a str)];

#[test]
fn plans_are_those_of_the_command() {
    let folder = Folder::with(&[]);
    let server = Server::of(&folder);
    let cases: [(&str, &str, &str, &str, More<'_>); 7] = [
        ("mesh:8x8", "dual-path", "4,3", "1,4;7,2", &[]),
        ("mesh:8x8", "pure-negative-first", "4,3", "all", &[]),
        ("mesh:8x8", "spam", "4,3", "1,4;7,2;4,3", &[("root", "--root", "maximum-degree")]),
        (
            "hypercube:5",
            "w-sort",
            "0",
            "1;5;17;30",
            &[("ports", "--ports", "all"), ("option", "--option", "resolution=ascending")],
        ),
        ("torus:4x4", "dstm-tarjan", "0,0", "1,2;3,3", &[("failed", "--failed-link", "0,0-1,0")]),
        ("bmin:4x2", "bit-string", "0", "1;5;9", &[("flit_bits", "--flit-bits", "8")]),
        ("regular:nodes=12,degree=3,seed=2", "tree-one", "0", "4;7", &[("seed", "--seed", "5")]),
    ];
    for (topology, algorithm, source, destinations, more) in cases {
        let what = format!("{algorithm} on {topology}");
        let mut asked =
            vec![("topology", topology), ("algorithm", algorithm), ("source", source), ("destinations", destinations)];
        let mut words = vec!["plan", "--topology", topology, "--algorithm", algorithm, "--source", source];
        words.extend(["--destinations", destinations, "--format", "json"]);
        for &(name, option, value) in more {
            asked.push((name, value));
            words.extend([option, value]);
        }
        let answer = server.data(&format!("/api/plan?{}", query(&asked)));
        let printed = folder.run(&words);
        assert_eq!(printed.code, 0, "{printed:?}");
        has_all(&answer, &serde_json::from_str(&printed.stdout).unwrap(), &what);
        // Its channels by id are those by their ends, on the network as it is answered.
        let network = server.data(&format!("/api/network?{}", query(&[("topology", topology)])));
        for (worm, ids) in answer["worms"].as_array().unwrap().iter().zip(answer["channel_ids"].as_array().unwrap()) {
            let ends: Vec<Value> = ids
                .as_array()
                .unwrap()
                .iter()
                .map(|id| {
                    json!([
                        network["from"][id.as_u64().unwrap() as usize],
                        network["to"][id.as_u64().unwrap() as usize]
                    ])
                })
                .collect();
            assert_eq!(worm["channels"], Value::from(ends), "{what}");
        }
        let mut verdict = vec!["routing", "--topology", topology, "--algorithm", algorithm, "--format", "json"];
        let of_both = |option: &str| ["--root", "--option", "--seed"].contains(&option);
        verdict.extend(
            more.iter().filter(|(_, option, _)| of_both(option)).flat_map(|&(_, option, value)| [option, value]),
        );
        let verdict: Value = serde_json::from_str(&folder.run(&verdict).stdout).unwrap();
        assert_eq!(answer["deadlock_free"], verdict["deadlock_free"], "{what}");
    }
}

/// Whoever types the number of a node must hear of nodes that are called by numbers of others.
#[test]
fn names_that_are_numbers_of_others_are_warned_of() {
    let vertices = r#"{"id": 0, "label": "1"}, {"id": 1, "label": "2"}, {"id": 2, "label": "3"}"#;
    let edges = r#"{"source": 0, "target": 1}, {"source": 1, "target": 2}"#;
    let graph = format!(r#"{{"nodes": [{vertices}], "edges": [{edges}]}}"#);
    let folder = Folder::with(&[("names.json", &graph)]);
    let server = Server::of(&folder);
    let warned = "node 0 of `names.json` is called `1`, and where nodes are asked for, 1 is the number of another one";
    assert_eq!(server.data("/api/network?topology=names.json")["warning"], warned);
    let plan = "/api/plan?topology=names.json&algorithm=tree-one&source=1&destinations";
    assert_eq!(server.data(&format!("{plan}=2"))["warning"], warned);
    let both = format!("{warned}; destinations that are named again count once: 3");
    assert_eq!(server.data(&format!("{plan}=2;2"))["warning"], both);
    assert!(server.data("/api/network?topology=ring:3").get("warning").is_none());
}

#[test]
fn analyses_are_those_of_the_command() {
    let folder = Folder::with(&[]);
    let server = Server::of(&folder);
    let mut deadlocks = 0;
    for (topology, of, name, more) in [
        ("mesh:4x4", "routing", "e-cube", None),
        ("torus:4x4", "routing", "e-cube", None),
        ("torus:2x4", "routing", "e-cube", None),
        ("mesh:8x8", "routing", "negative-first", None),
        ("petersen", "routing", "up-down", None),
        ("mesh:4x4", "algorithm", "dual-path", Some("1")),
        ("mesh:4x4", "algorithm", "dual-path", Some("4")),
        ("bmin:4x2", "algorithm", "multiport", None),
    ] {
        let mut asked = vec![("topology", topology), (of, name)];
        let option = format!("--{of}");
        let mut words = vec!["routing", "--topology", topology, &option, name, "--format", "json"];
        if let Some(ports) = more {
            asked.push(("consumption_ports", ports));
            words.extend(["--consumption-ports", ports]);
        }
        let answer = server.data(&format!("/api/routing?{}", query(&asked)));
        let printed = folder.run(&words).json();
        has_all(&answer, &printed, &format!("{name} on {topology}"));
        let edges = server.data(&format!("/api/dependencies?{}", query(&asked)));
        let edges: Vec<[u64; 2]> = serde_json::from_value(edges["edges"].clone()).unwrap();
        if let Some(cycle) = answer["cycle_resources"].as_array() {
            deadlocks += 1;
            let channels: Vec<Option<u64>> = cycle.iter().map(|held| held["channel"].as_u64()).collect();
            for (&held, &next) in channels.iter().zip(channels.iter().cycle().skip(1)) {
                let (Some(held), Some(next)) = (held, next) else { continue };
                assert!(edges.contains(&[held, next]), "{held} waits for {next}");
            }
            // As people read it.
            let text = folder.run(
                &words[..words.len() - 2].iter().copied().chain(more.map(|_| "--format=text")).collect::<Vec<_>>(),
            );
            let first = cycle[0]["text"].as_str().unwrap();
            assert!(text.stdout.contains(first) || text.code != 0, "{first}: {}", text.stdout);
        } else if let Some(numbers) = answer["numbering"].as_array() {
            for [held, next] in edges {
                assert!(numbers[held as usize].as_u64() < numbers[next as usize].as_u64(), "it is a proof");
            }
        }
    }
    assert_eq!(deadlocks, 3);
    let catalogue = server.data("/api/catalogue");
    let names = |of: &str| {
        catalogue[of].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let help = wormcast(&["plan", "--help"]).success();
    assert!(names("algorithms").len() > 20 && names("algorithms").iter().all(|name| help.contains(name.as_str())));
    assert!(names("quantities").contains(&"latency.p99".to_owned()));
}

/// As the command warns of its options, and answers to many requests of theirs.
#[test]
fn parameters_that_make_no_difference_are_told() {
    let server = Server::of(&Folder::with(&[]));
    let warning = |address: &str| server.data(address)["warning"].as_str().unwrap_or_default().to_owned();
    let plan = "/api/plan?topology=mesh:4x4&algorithm=dual-path&source=0&destinations=3;5";
    assert_eq!(warning(plan), "");
    assert_eq!(warning(&format!("{plan}&seed=1")), "`seed` makes no difference: `dual-path` makes no random choices");
    let bits = warning(&format!("{plan}&flit_bits=8"));
    assert_eq!(bits, "`flit_bits` makes no difference: no header of `dual-path` encodes destinations");
    let routing = "/api/routing?topology=mesh:4x4&routing=e-cube";
    assert_eq!(warning(routing), "");
    let all = warning(&format!("{routing}&consumption_ports=3&virtual_channels=2&seed=1"));
    for said in [
        "`consumption_ports` makes no difference: these worms hold a consumption channel only where they end",
        "`virtual_channels` makes no difference: the routing does not tell virtual channels apart",
        "`seed` makes no difference: `e-cube` makes no random choices",
    ] {
        assert!(all.contains(said), "{all}");
    }
    let algorithm = "/api/routing?topology=mesh:4x4&algorithm=dual-path";
    assert_eq!(warning(&format!("{algorithm}&consumption_ports=2")), "");
    assert!(warning(&format!("{algorithm}&seed=1")).contains("`dual-path` makes no random choices"));
    assert_eq!(warning("/api/routing?topology=torus:4x4&routing=dateline&virtual_channels=2"), "");
    assert_eq!(warning("/api/routing?topology=petersen&routing=tree&seed=2"), "");
}

#[test]
fn recorded_runs_are_those_of_the_command() {
    let folder = Folder::with(&[("dead.toml", DEADLOCK), ("small.toml", SMALL)]);
    let run = folder.run(&["simulate", "dead.toml", "--replay", "dead.replay", "--format", "json"]);
    assert_eq!(run.code, 1, "{run:?}");
    let printed: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(!printed["deadlock"].is_null());
    let server = Server::of(&folder);
    assert_eq!(server.data("/api/info")["items"].as_array().unwrap().len(), 3);
    let header = server.data("/api/replay?file=dead.replay");
    assert_eq!(header["deadlock"], printed["deadlock"]);
    assert_eq!(header["cycles"], printed["cycles"]);
    assert_eq!(header["counts"]["messages"], printed["messages"]["generated"]);
    assert_eq!(header["counts"]["deliveries"], printed["deliveries"]);
    assert_eq!(header["network"], server.data("/api/network?topology=mesh:4x4"));
    let large = server.get("/api/network?topology=mesh:520x520");
    assert_eq!(large.status, 400);
    let why = String::from_utf8_lossy(&large.body);
    assert!(why.contains("`mesh:520x520` has 1079520 channels, and the page shows at most 1048576"), "{why}");
    let whole = folder.bytes("dead.replay");
    for (index, chunk) in header["chunks"].as_array().unwrap().iter().enumerate() {
        let answer = server.get(&format!("/api/replay/chunk?file=dead.replay&index={index}"));
        assert_eq!((answer.status, answer.headers["content-type"].as_str()), (200, "application/octet-stream"));
        let [from, bytes] = ["offset", "bytes"].map(|key| chunk[key].as_u64().unwrap() as usize);
        assert_eq!(answer.body, whole[from..from + bytes]);
    }
    assert_eq!(server.get("/api/replay/chunk?file=dead.replay&index=9999").status, 404);
    assert!(server.get("/api/replay/chunk?file=dead.replay&index=x").error().contains("expected a whole number"));
    // To standard output it is the same file.
    let piped = command(&["simulate", "dead.toml", "--replay", "-"]).current_dir(folder.path()).output().unwrap();
    assert!(piped.stdout == whole, "{} and {} bytes", piped.stdout.len(), whole.len());
    // One that changes is opened anew; one that is damaged is an error.
    let mut damaged = whole.clone();
    let last = damaged.len() - 40;
    damaged[last] ^= 1;
    folder.write("dead.replay", &damaged);
    let answer = server.get("/api/replay?file=dead.replay");
    assert_eq!(answer.status, 400);
    assert!(answer.error().contains("damaged"), "{answer:?}");
    // A run that the page asks for.
    let asked = json!({ "experiment": "small.toml", "set": { "algorithm": "dual-path", "traffic.arrivals.rate": 0.05 }, "seed": 9, "messages": 80 });
    let answer = server.post("/api/replay", &asked);
    assert_eq!(answer.status, 200, "{answer:?}");
    let file = answer.json()["file"].as_str().unwrap().to_owned();
    let path = folder.path().join(&file);
    for _ in 0..600 {
        if path.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let recorded = server.data(&format!("/api/replay?file={}", encoded(&file)));
    let own = ["simulate", "small.toml", "--set", "algorithm=dual-path", "--set", "traffic.arrivals.rate=0.05"];
    let own =
        [&own[..], &["--seed", "9", "--set", "run.messages=80", "--replay", "own.replay", "--format", "json"]].concat();
    folder.run(&own).success();
    let own = server.data("/api/replay?file=own.replay");
    for key in ["cycles", "counts", "measures", "settings", "chunks"] {
        assert_eq!(recorded[key], own[key], "{key}");
    }
    // Asked for again, it is there.
    let again = json!({ "file": file, "state": "done", "replication": null, "seed": "9", "deadlocked": null });
    assert_eq!(server.post("/api/replay", &asked).json(), again);
}

/// One of its two points has a deadlock, not in its first replication; the other one has longer windows than it says.
const REPLICATED: [(&str, &str, &str); 2] = [
    (
        "dead.toml",
        r#"
topology = "mesh:4x4"
seed = 1
[timing]
startup = 100
[traffic]
arrivals = { process = "poisson", rate = 0.02 }
length = { uniform = [10, 40] }
multicast = { destinations = 6 }
[switching]
consumption_ports = 1
[run]
warmup = 500
messages = 300
[stop]
relative_half_width = 0.2
min_replications = 6
max_replications = 6
[sweep]
algorithm = ["column-path"]
"#,
        "column-path",
    ),
    ("long.toml", SMALL, "dual-path"),
];

#[test]
fn a_replay_of_a_point_is_one_of_its_replications() {
    let folder = Folder::with(&[]);
    for (file, text, _) in REPLICATED {
        let text = text.replace("\"traffic.arrivals.rate\" = [0.05, 0.2, 8.0]", "\"traffic.arrivals.rate\" = [0.8]");
        let text = text.replace("[\"dual-path\", \"column-path\"]", "[\"dual-path\"]").replace("0.08", "0.2");
        folder.write(file, text.as_bytes());
        folder.run(&["sweep", file, "--store", "results.db", "--replications", &format!("{file}.jsonl")]);
    }
    let server = Server::of(&folder);
    for (experiment, _, algorithm) in REPLICATED {
        let lines = folder.read(&format!("{experiment}.jsonl"));
        let runs: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |run: &Value| if run["result"].is_null() { run.clone() } else { run["result"].clone() };
        let runs: Vec<Value> = runs.iter().map(of).collect();
        let dead = runs.iter().position(|run| !run["deadlock"].is_null());
        let mut set = json!({ "algorithm": algorithm });
        if experiment == "dead.toml" {
            assert!(dead > Some(0), "the first is not the one");
        } else {
            assert!(runs[0]["messages"]["measured"].as_u64() > Some(150), "longer than the file says");
            set["traffic.arrivals.rate"] = json!(0.8);
        }
        let chosen = dead.unwrap_or(0);
        for (asked, number) in [(None, chosen), (Some(1), 1)] {
            let mut body = json!({ "experiment": experiment, "store": "results.db", "set": set });
            if let Some(asked) = asked {
                body["replication"] = json!(asked);
            }
            let answer = server.post("/api/replay", &body).json();
            let run = &runs[number];
            assert_eq!((&answer["replication"], &answer["seed"]), (&json!(number), &json!(run["seed"].to_string())));
            assert_eq!(answer["deadlocked"], !run["deadlock"].is_null());
            let path = folder.path().join(answer["file"].as_str().unwrap_or_else(|| panic!("{answer}")));
            for _ in 0..600 {
                if path.exists() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            let file = encoded(answer["file"].as_str().unwrap());
            let recorded = server.data(&format!("/api/replay?file={file}"));
            assert_eq!(recorded["cycles"], run["cycles"], "{answer}");
            assert_eq!(recorded["settings"]["seed"], run["seed"]);
            assert_eq!(recorded["counts"]["messages"], run["messages"]["generated"]);
            assert_eq!(recorded["deadlock"], run["deadlock"]);
        }
        let none = json!({ "experiment": experiment, "store": "results.db", "replication": 99, "set": set });
        let none = server.post("/api/replay", &none);
        assert_eq!(none.status, 404, "{none:?}");
        assert!(none.error().contains(&format!("the store has {}", runs.len())), "{none:?}");
    }
    let both = json!({ "experiment": "dead.toml", "replication": 0, "seed": 1, "set": { "algorithm": "column-path" } });
    assert_eq!(server.post("/api/replay", &both).status, 400);
}

#[test]
fn a_recording_can_be_stopped_and_leaves_nothing() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    let server = Server::of(&folder);
    let set = json!({ "algorithm": "dual-path" });
    let long = json!({ "experiment": "small.toml", "set": set, "seed": 1, "messages": 2_000_000_000u64 });
    let answer = server.post("/api/replay", &long);
    assert_eq!((answer.status, &answer.json()["state"]), (200, &json!("running")), "{answer:?}");
    let file = answer.json()["file"].clone();
    let other = server.post("/api/replay/stop", &json!({ "file": "replays/other.replay" }));
    assert_eq!((other.status, other.error().as_str()), (404, "no run is being recorded to `replays/other.replay`"));
    assert_eq!(server.post("/api/replay/stop", &json!({ "file": file })).status, 200);
    for _ in 0..600 {
        if server.post("/api/replay/stop", &json!({ "file": file })).status == 404 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(server.post("/api/replay/stop", &json!({ "file": file })).status, 404, "it has ended");
    assert_eq!(folder.files("replays"), Vec::<String>::new());
    // It can be recorded again.
    assert_eq!(server.post("/api/replay", &long).json()["state"], "running");
    assert_eq!(server.post("/api/replay/stop", &json!({ "file": file })).status, 200);
}

#[test]
fn what_is_not_plotted_has_its_table_and_each_sentence_its_verdict() {
    const STARTUPS: &str = r#"
title = "Startups"
[traffic]
arrivals = { process = "burst" }
multicast = { destinations = "all" }
[run]
mode = "plan"
[stop]
min_replications = 2
max_replications = 2
[sweep]
algorithm = ["pure-negative-first", "dual-path"]
topology = ["mesh:4x4", "mesh:6x6"]
[[claim]]
id = "startups"
text = "as many as the side"
y = "plan.startups"
values = { of = { pure-negative-first = [4, 6] } }
[[claim]]
id = "startups"
text = "three"
y = "plan.startups"
values = { of = { dual-path = [3, 3] } }
"#;
    let folder = Folder::with(&[("startups.toml", STARTUPS), ("small.toml", SMALL)]);
    folder.run(&["sweep", "startups.toml", "--out", "out"]);
    let server = Server::of(&folder);
    let curves = server.data("/api/curves?experiment=startups.toml&store=out/store.db");
    assert_eq!(curves["csv"].as_str().unwrap(), folder.read("out/startups.csv"));
    assert_eq!(curves["table"]["rows"].as_array().unwrap().len(), 4);
    assert_eq!((&curves["title"], &curves["series"]), (&json!("Startups"), &Value::Null));
    assert_eq!(curves["notes"], json!(["this experiment has no numbers to plot against"]));
    let sweeps = server.data("/api/sweeps");
    let claim = &sweeps[0]["claims"][0];
    assert_eq!((&claim["id"], &claim["verdict"]), (&json!("startups"), &json!("not reproduced")));
    let verdicts = claim["parts"].as_array().unwrap().iter().map(|part| (&part["text"], &part["verdict"]));
    let expected = [(&json!("as many as the side"), &json!("reproduced")), (&json!("three"), &json!("not reproduced"))];
    assert_eq!(verdicts.collect::<Vec<_>>(), expected);
    // Whose results these are not, and which settings differ.
    let other = server.get("/api/curves?experiment=small.toml&store=out/store.db");
    assert_eq!(other.status, 422);
    let error = other.error();
    assert!(error.starts_with("`out/store.db` has no results of `small.toml`: "), "{error}");
    let longer = SMALL.replace("messages = 150", "messages = 160");
    folder.write("longer.toml", longer.as_bytes());
    folder.run(&["sweep", "small.toml", "--store", "small.db"]).success();
    let error = server.get("/api/curves?experiment=longer.toml&store=small.db").error();
    assert!(error.contains("others: `run.messages` is 150 there and 160 here."), "{error}");
    // A row that is not what was written: the command fails (1), and is not given bad input (2).
    let changed = rusqlite::Connection::open(folder.path().join("small.db")).unwrap();
    changed.execute("UPDATE results SET result = replace(result, '1', '2') WHERE replication = 0", []).unwrap();
    drop(changed);
    let damaged = server.get("/api/curves?experiment=small.toml&store=small.db");
    assert_eq!(damaged.status, 422, "{}", damaged.error());
    assert_eq!(folder.run(&["plot", "small.toml", "--store", "small.db"]).code, 1);
    // Advice for the command line is of no use on a page.
    let error = server.get("/api/curves?experiment=small.toml&store=startups.toml").error();
    assert!(error.starts_with("`startups.toml` is not a result store") && !error.contains("--store"), "{error}");
}

#[test]
fn every_request_is_in_its_reference_and_none_else() {
    const REFERENCE: &str = include_str!("../../../serve/API.md");
    let mut documented: Vec<(&str, &str)> = Vec::new();
    for code in REFERENCE.split('`') {
        if let Some((method @ ("GET" | "POST"), rest)) = code.split_once(' ')
            && rest.starts_with("/api/")
        {
            documented.push((method, rest.split(['?', ' ', '`']).next().unwrap()));
        }
    }
    assert!(documented.len() > 15, "{documented:?}");
    let folder = Folder::with(&[]);
    let server = Server::of(&folder);
    for &(_, path) in &documented {
        for method in ["GET", "POST"] {
            // Events never end.
            if (method, path) == ("GET", "/api/events") {
                continue;
            }
            let answer = server.send(method, path, &[("X-Wormcast", "page")], "{");
            let there = ![404, 405].contains(&answer.status);
            assert_eq!(there, documented.contains(&(method, path)), "{method} {path}: {answer:?}");
        }
    }
    // What the server would have named, had it more.
    for code in ["400", "403", "404", "405", "409", "413", "422", "503"] {
        assert!(REFERENCE.contains(&format!("{code}: ")), "{code}");
    }
}

#[test]
fn curves_are_those_of_the_command() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    folder.run(&["sweep", "small.toml", "--out", "out"]).success();
    let server = Server::of(&folder);
    let asked = query(&[("experiment", "small.toml"), ("store", "out/store.db")]);
    let curves = server.data(&format!("/api/curves?{asked}"));
    assert_eq!(curves["csv"].as_str().unwrap(), folder.read("out/small.csv"));
    assert_eq!(curves["title"], "Latency on a small mesh");
    let series = curves["series"].as_array().unwrap();
    assert_eq!(
        series.iter().map(|one| one["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["dual-path", "column-path"]
    );
    // Every mean is in the table, in the unit of the axis; at 8.0 everything is saturated.
    let column =
        |name: &str| curves["table"]["columns"].as_array().unwrap().iter().position(|one| one == name).unwrap();
    let (means, rows) = (column("latency_last_ns"), curves["table"]["rows"].as_array().unwrap());
    let all: Vec<&Value> = series.iter().flat_map(|one| one["points"].as_array().unwrap()).collect();
    assert_eq!(all.len(), rows.len());
    for (point, row) in all.iter().zip(rows) {
        match (point["mean"].as_f64(), row[means].as_f64().map(|ns| ns / 1000.0)) {
            (Some(drawn), Some(told)) => assert!((drawn - told).abs() < 1e-9 * told, "{point} {row}"),
            (drawn, told) => assert!(drawn.is_none() && told.is_none() && point["saturated"] == true, "{point} {row}"),
        }
    }
    let loads = server.data(&format!("/api/curves?{asked}&y=accepted_load"));
    assert_eq!(loads["y"]["name"], "accepted_load");
    assert!(server.get(&format!("/api/curves?{asked}&y=latency.p98")).error().contains("latency.p9"));
    // What the experiment does not measure is refused as by the command.
    for y in ["plan.steps", "plan.channels", "trees.diameter", "buffer_occupancy", "latency.unicast"] {
        let refused = server.get(&format!("/api/curves?{asked}&y={y}"));
        let said = folder.run(&["plot", "small.toml", "--out", "out", "--set", &format!("plot.y={y}")]).stderr;
        assert_eq!(refused.status, 400, "{refused:?}");
        let sentence = format!("`{y}` is not measured in this experiment");
        assert!(refused.error().starts_with(&sentence), "{refused:?}");
        for part in refused.error().split("; ") {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    // The distribution has the percentiles of the table.
    let place = all.iter().position(|point| point["mean"].is_number()).unwrap();
    let point = all[place]["point"].as_str().unwrap();
    let found = server.data(&format!("/api/distribution?{asked}&point={point}"));
    let quantiles: Vec<[f64; 2]> = serde_json::from_value(found["quantiles"].clone()).unwrap();
    assert!(quantiles.is_sorted_by(|one, next| one[0] <= next[0] && one[1] < next[1]) && quantiles.len() > 50);
    let cycles = found["cycle_ns"].as_f64().unwrap() / 1000.0;
    let parts: f64 = found["parts"].as_object().unwrap().values().map(|part| part.as_f64().unwrap()).sum();
    let mean = all[place]["mean"].as_f64().unwrap();
    assert!((parts * cycles - mean).abs() < 1e-6 * mean, "the parts add up");
    assert_eq!(server.get(&format!("/api/distribution?{asked}&point=none")).status, 404);
    // A store that has nothing of it.
    fs::write(folder.path().join("other.toml"), SMALL.replace("seed = 5", "seed = 6")).unwrap();
    let none =
        server.get(&format!("/api/curves?{}", query(&[("experiment", "other.toml"), ("store", "out/store.db")])));
    assert_eq!(none.status, 422);
    assert!(none.error().starts_with("`out/store.db` has no results of `other.toml`: "), "{none:?}");
    let experiment = server.data("/api/experiment?file=small.toml");
    assert_eq!(experiment["points"].as_array().unwrap().len(), 6);
    assert_eq!(experiment["axes"][0], json!({ "key": "algorithm", "values": ["dual-path", "column-path"] }));
    let listed = server.data("/api/sweeps");
    assert_eq!(listed[0]["state"], "done");
    assert_eq!((&listed[0]["experiment"], &listed[0]["points_done"]), (&json!("small.toml"), &json!(6)));
    assert!(listed[0]["origins"][0]["replications"].as_u64().unwrap() > 10);
}

#[test]
fn sweeps_are_started_stopped_and_gone_on_with() {
    // Precise enough to take a while.
    let long = SMALL.replace("0.08", "0.0001").replace("max_replications = 12", "max_replications = 4000");
    let folder = Folder::with(&[("small.toml", SMALL), ("long.toml", &long)]);
    let server = Server::of(&folder);
    let start = |experiment: &str, store: &str| {
        server.post("/api/sweeps", &json!({ "experiment": experiment, "store": store, "jobs": 2 }))
    };
    let state = |id: &Value, wanted: &'static str| {
        let id = id.clone();
        move |sweep: &Value| sweep["id"] == id && sweep["state"] == wanted
    };
    let long = start("long.toml", "long.db").json();
    assert_eq!(long["state"], "running");
    for store in ["long.db", "./long.db", ".//long.db"] {
        let again = start("small.toml", store);
        assert_eq!(again.status, 409, "one store, one sweep: {again:?}");
    }
    let events = {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        write!(
            stream,
            "GET /api/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
            server.address, server.token
        )
        .unwrap();
        BufReader::new(stream)
    };
    let told = events.lines().map_while(Result::ok).find(|line| line.starts_with("data: ")).expect("an event");
    let told: Value = serde_json::from_str(&told["data: ".len()..]).unwrap();
    assert_eq!((&told["id"], &told["experiment"]), (&long["id"], &json!("long.toml")));
    let small = start("small.toml", "small.db").json();
    let done = server.until("/api/sweeps", state(&small["id"], "done"));
    assert_eq!((&done["points_done"], &done["points"]), (&json!(6), &json!(6)));
    // The command has the same numbers of it, and finds nothing to do.
    let curves = server.data("/api/curves?experiment=small.toml&store=small.db");
    folder.run(&["sweep", "small.toml", "--out", "out"]).success();
    assert_eq!(curves["csv"].as_str().unwrap(), folder.read("out/small.csv"));
    let stopped = server.post("/api/sweeps/stop", &json!({ "id": long["id"] }));
    assert_eq!(stopped.status, 200, "{stopped:?}");
    let stopped = server.until("/api/sweeps", state(&long["id"], "stopped"));
    let before = stopped["replications_done"].as_u64().unwrap();
    let resumed = start("long.toml", "long.db").json();
    let goes_on = server.until("/api/sweeps", |sweep| {
        sweep["id"] == resumed["id"] && sweep["replications_done"].as_u64() > Some(before)
    });
    assert_eq!(goes_on["state"], "running", "it goes on from what is there");
    assert_eq!(server.post("/api/sweeps/stop", &json!({ "id": "99" })).status, 404);
    // In the middle of a replication, too: this one would take hours.
    folder.write("endless.toml", SMALL.replace("messages = 150", "messages = 1000000000").as_bytes());
    let endless = start("endless.toml", "endless.db").json();
    assert_eq!(endless["state"], "running");
    server.until("/api/sweeps", |sweep| sweep["id"] == endless["id"] && sweep["seconds"].as_u64() > Some(0));
    assert_eq!(server.post("/api/sweeps/stop", &json!({ "id": endless["id"] })).status, 200);
    let stopped = server.until("/api/sweeps", state(&endless["id"], "stopped"));
    assert_eq!((&stopped["replications_done"], &stopped["error"]), (&json!(0), &Value::Null));
    assert_eq!(start("endless.toml", "endless.db").json()["state"], "running");
    // With a sweep and a recording under way, it ends all the same, and leaves nothing that is not finished.
    let recording = server.post("/api/replay", &json!({ "experiment": "long.toml", "set": { "algorithm": "dual-path", "traffic.arrivals.rate": 0.2 }, "messages": 50_000_000 }));
    assert_eq!(recording.json()["state"], "running", "{recording:?}");
    assert_eq!(server.end().code, 0);
    // Hidden ones are among these.
    assert_eq!(folder.files("replays"), [""; 0]);
    assert!(!folder.files(".").iter().any(|file| file.ends_with("-wal")), "{:?}", folder.files("."));
}

/// Requests at once must not all find that there is room; what is refused leaves no folder.
#[test]
fn of_sweeps_that_are_started_at_once_no_two_have_a_store() {
    let endless = SMALL.replace("messages = 150", "messages = 1000000000");
    let folder = Folder::with(&[("endless.toml", &endless)]);
    let server = Server::of(&folder);
    let start = |store: &str| {
        let asked = json!({ "experiment": "endless.toml", "store": store, "jobs": 1 });
        server.post("/api/sweeps", &asked).status
    };
    let at_once = |stores: Vec<String>| {
        std::thread::scope(|scope| {
            let asked: Vec<_> = stores.iter().map(|store| scope.spawn(|| start(store))).collect();
            let mut answers: Vec<u16> = asked.into_iter().map(|asked| asked.join().unwrap()).collect();
            answers.sort_unstable();
            answers
        })
    };
    assert_eq!(at_once(vec!["one/store.db".to_owned(); 8]), [[200].as_slice(), &[409; 7]].concat());
    let others = at_once((0..12).map(|number| format!("folder-{number}/store.db")).collect());
    let begun = others.iter().filter(|&&status| status == 200).count();
    assert!(others[begun..].iter().all(|&status| status == 503), "{others:?}");
    let running = server.data("/api/sweeps");
    let running = running.as_array().unwrap().iter().filter(|sweep| sweep["state"] == "running").count();
    assert_eq!(running, begun + 1);
    let refused = start("late/store.db");
    assert!(refused == 503 && !folder.path().join("late").exists(), "{refused}");
    assert_eq!(server.end().code, 0);
}

#[test]
#[allow(clippy::too_many_lines, reason = "one folder, and all ways out of it")]
fn nothing_outside_of_the_folder_is_read() {
    let around = Folder::with(&[("secret.edges", "0 1\n1 2\n"), ("secret.toml", SMALL), ("secret.replay", "")]);
    fs::create_dir(around.path().join("served")).unwrap();
    let inside = |name: &str| around.path().join("served").join(name);
    fs::write(inside("small.toml"), SMALL).unwrap();
    fs::write(inside("ring.edges"), "0 1\n1 2\n2 0\n").unwrap();
    for (name, file) in [
        ("far.toml", "../secret.edges"),
        ("root.toml", "/etc/passwd"),
        ("linked.toml", "link.edges"),
        ("input.toml", "-"),
    ] {
        fs::write(inside(name), SMALL.replace("mesh:4x4", file)).unwrap();
    }
    let quoted = SMALL.replace("\"mesh:4x4\"", "\"\\u002e\\u002e/secret.edges\"");
    fs::write(inside("escaped.toml"), quoted).unwrap();
    fs::write(
        inside("trace.toml"),
        SMALL.replace("arrivals = { process = \"poisson\", rate = 0.1 }", "trace = \"../secret.edges\""),
    )
    .unwrap();
    std::os::unix::fs::symlink("../secret.edges", inside("link.edges")).unwrap();
    std::os::unix::fs::symlink("../secret.toml", inside("link.toml")).unwrap();
    std::os::unix::fs::symlink("..", inside("up")).unwrap();
    let server = Server::with(&around, &["served"]);
    let secret = around.path().join("secret.edges").display().to_string();
    let shown = server.data("/api/info")["items"].to_string();
    assert!(
        shown.contains("ring.edges")
            && !shown.contains("\"link.")
            && !shown.contains("up/")
            && !shown.contains("secret"),
        "{shown}"
    );
    assert_eq!(server.data("/api/network?topology=ring.edges")["routers"], 3);
    let ways = [
        "../secret.edges",
        "..%2fsecret.edges",
        "%2e%2e/secret.edges",
        "%2e%2e%2fsecret.edges",
        "%252e%252e%252fsecret.edges",
        "./../secret.edges",
        "up/secret.edges",
        "link.edges",
        "..%5csecret.edges",
        "%2fetc%2fpasswd",
        "/etc/passwd",
        "%2e%2e%00",
        "ring.edges%00",
        "-",
        "%2fdev%2fstdin",
        "%2fproc%2fself%2fenviron",
        "file:%2f%2f%2fetc%2fpasswd",
        &encoded(&secret),
        "..%c0%afsecret.edges",
        "..%u2215secret.edges",
    ];
    for way in ways {
        for path in [
            format!("/api/network?topology={way}"),
            format!("/api/replay?file={way}"),
            format!("/api/replay/chunk?file={way}&index=0"),
            format!("/api/experiment?file={way}"),
            format!("/api/curves?experiment={way}&store=x.db"),
            format!("/api/curves?experiment=small.toml&store={way}"),
            format!("/api/plan?topology={way}&algorithm=separate&source=0&destinations=1"),
            format!("/api/routing?topology=ring.edges&tables={way}"),
            format!("/api/routing?topology=ring.edges&algorithm=tables&option=tables%3D{way}"),
            format!("/{way}"),
        ] {
            let answer = server.get(&path);
            assert!([400, 404, 414].contains(&answer.status), "{path}: {answer:?}");
            assert!(!String::from_utf8_lossy(&answer.body).contains("routers"), "{path}");
        }
    }
    for file in ["far.toml", "root.toml", "linked.toml", "input.toml", "escaped.toml", "trace.toml", "link.toml"] {
        let answer = server.get(&format!("/api/experiment?file={file}"));
        assert!([400, 404].contains(&answer.status), "{file}: {answer:?}");
        assert!(answer.error().contains("folder that is served"), "{file}: {answer:?}");
        for (path, body) in [
            ("/api/sweeps", json!({ "experiment": file, "store": "x.db" })),
            ("/api/replay", json!({ "experiment": file, "set": { "algorithm": "dual-path" } })),
        ] {
            assert!([400, 404].contains(&server.post(path, &body).status), "{path} {file}");
        }
    }
    for set in [
        json!({ "topology": "../secret.edges" }),
        json!({ "topology": secret }),
        json!({ "options": { "tables": "../secret.edges" } }),
    ] {
        let answer = server.post("/api/replay", &json!({ "experiment": "small.toml", "set": set }));
        assert!([400, 404].contains(&answer.status), "{answer:?}");
    }
    for store in ["../out.db", "up/out.db", "/tmp/out.db", "small.toml", "small.toml/out.db", "..%2fout.db\0"] {
        let answer = server.post("/api/sweeps", &json!({ "experiment": "small.toml", "store": store }));
        assert_eq!(answer.status, 400, "{store}: {answer:?}");
    }
    assert_eq!(around.files("."), ["secret.edges", "secret.replay", "secret.toml", "served"]);
    // As it comes, without what a client would have made of it.
    let host = &server.address;
    for target in [
        "/../secret.edges",
        "//etc/passwd",
        "http://evil.example/api/info",
        "/%2e%2e/secret.edges",
        "/dist/../../secret.edges",
    ] {
        let answer = parsed(
            &server.raw(
                format!(
                    "GET {target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
                    server.token
                )
                .as_bytes(),
            ),
        );
        assert!([400, 403, 404].contains(&answer.status), "{target}: {answer:?}");
    }
}

#[test]
fn strangers_get_no_answer() {
    let folder = Folder::with(&[("small.toml", SMALL)]);
    let server = Server::of(&folder);
    let port = server.address.rsplit(':').next().unwrap().to_owned();
    let own = format!("http://{}", server.address);
    let status = |method: &str, path: &str, headers: &[(&str, &str)]| server.send(method, path, headers, "").status;
    for host in
        ["evil.example", &format!("evil.example:{port}"), "127.0.0.1:1", &format!("127.0.0.1.evil.example:{port}"), ""]
    {
        assert_ne!(status("GET", "/api/info", &[("Host", host)]), 200, "{host}");
    }
    assert_eq!(status("GET", "/api/info", &[("Host", &format!("localhost:{port}"))]), 200);
    for origin in
        ["http://evil.example", "null", &format!("http://localhost:{port}"), &format!("https://{}", server.address)]
    {
        assert_eq!(status("GET", "/api/info", &[("Origin", origin)]), 403, "{origin}");
        assert_eq!(status("POST", "/api/sweeps", &[("Origin", origin), ("X-Wormcast", "page")]), 403, "{origin}");
    }
    assert_eq!(status("GET", "/api/info", &[("Origin", &own)]), 200);
    assert_eq!(status("GET", "/api/info", &[("Sec-Fetch-Site", "cross-site")]), 403);
    assert_eq!(status("POST", "/api/sweeps", &[]), 403, "a form of another page");
    assert_eq!(status("POST", "/api/sweeps", &[("X-Wormcast", "page")]), 400, "no body");
    for method in ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"] {
        assert_eq!(status(method, "/api/info", &[("X-Wormcast", "page")]), 405, "{method}");
    }
    // Nothing is changed by asking.
    let before = folder.files(".");
    for path in ["/api/sweeps/stop", "/api/sweeps", "/api/replay?file=small.toml", "/api/info", "/api/catalogue"] {
        let answer = server.get(path);
        assert!([200, 400, 404, 405].contains(&answer.status), "{path}: {answer:?}");
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
    }
    assert_eq!(folder.files("."), before);
    // Every answer says what the browser may do with it.
    for path in ["/", "/page.js", "/api/info", "/api/nothing", "/nothing", "/api/network?topology=mash:4x4"] {
        let answer = server.get(path);
        let policy = &answer.headers["content-security-policy"];
        assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert_eq!(answer.headers["referrer-policy"], "no-referrer");
    }
    let page = String::from_utf8(server.get("/").body).unwrap();
    assert!(!page.contains("<style") && !page.contains(" style=") && !page.contains(" onload="), "nothing inline");
    assert!(
        page.matches("<script").count() == page.matches("<script src=").count() || page.contains("src=\"/page.js\""),
        "{page}"
    );
}

#[test]
fn bad_input_is_said_as_the_command_says_it() {
    let folder = Folder::with(&[("bad.toml", "topologie = 'mesh:4x4'\n"), ("small.toml", SMALL)]);
    let server = Server::of(&folder);
    let error = |path: &str| {
        let answer = server.get(path);
        assert_eq!(answer.status, 400, "{path}: {answer:?}");
        answer.error()
    };
    assert!(error("/api/network?topology=mash:4x4").ends_with("did you mean `mesh`?"));
    assert!(error("/api/network").contains("expected the parameter `topology`"));
    assert!(error("/api/network?topologie=mesh:4x4").ends_with("did you mean `topology`?"));
    assert!(error("/api/network?topology=mesh:4x4&topology=mesh:4x5").contains("twice"));
    assert!(
        error("/api/plan?topology=mesh:4x4&algorithm=dual-pat&source=0&destinations=1")
            .contains("did you mean `dual-path`")
    );
    assert!(error("/api/plan?topology=mesh:4x4&algorithm=dual-path&source=99&destinations=1").contains("99"));
    assert!(error("/api/plan?topology=torus:4x4&algorithm=dual-path&source=0&destinations=1").contains("needs"));
    assert!(
        error("/api/plan?topology=mesh:4x4&algorithm=dual-path&source=0&destinations=1&option=detour=3")
            .contains("detour")
    );
    assert!(error("/api/sweeps?x=1").ends_with("there is no parameter `x`: none is expected"));
    assert!(error("/api/routing?topology=mesh:4x4").contains("expected one of `routing`, `algorithm` or `tables`"));
    // Links that have failed are those of the command.
    let failed = server.data("/api/routing?topology=mesh:4x4&algorithm=spam&failed=0-1");
    assert_eq!(failed["failed_links"], json!(["0,0 - 1,0"]));
    // What is said in vain would be taken for heard.
    folder.write("t.txt", b"router 0: 0 *, 1 2\n");
    for (more, said) in [
        ("tables=t.txt&failed=0-1", "`failed` is about failed links, and links fail only for an algorithm"),
        ("tables=t.txt&option=detour%3D1", "`option` is about an algorithm or a routing"),
        ("tables=t.txt&seed=4", "`seed` is about"),
        ("tables=t.txt&groups=nofile", "`groups` is about multicast tables, of which none are given"),
        ("routing=e-cube&failed=0-1", "`failed` is about failed links, and links fail only for an algorithm"),
        ("algorithm=spam&information=local", "`information` is about failed links, of which none are given"),
    ] {
        let found = error(&format!("/api/routing?topology=mesh:4x4&{more}"));
        assert!(found.contains(said) && found.ends_with("leave it out"), "{more}: {found}");
    }
    assert!(error("/api/routing?topology=mesh:4x4&routing=e-cub").contains("did you mean `e-cube`"));
    assert!(error("/api/routing?topology=mesh:4x4&routing=e-cube&consumption_ports=99").contains("from 1 to 32"));
    let said = error("/api/experiment?file=bad.toml");
    assert!(
        said.contains("bad.toml:1:1: unknown setting `topologie`") && said.ends_with("did you mean `topology`?"),
        "{said}"
    );
    let command = folder.run(&["simulate", "bad.toml"]).bad_input();
    assert!(command.contains("unknown setting `topologie`"), "{command}");
    folder.write("latin.toml", b"topology = \"mesh:4x4\" # Z\xfcrich\n");
    let said = error("/api/experiment?file=latin.toml");
    assert!(said.contains("latin.toml:1:26: this is no text: the byte 0xfc is not UTF-8 here"), "{said}");
    assert!(server.data("/api/info")["items"].to_string().contains("latin.toml"), "it is listed");
    let answer = server.get("/api/experiment?file=smal.toml");
    assert_eq!((answer.status, answer.error().ends_with("did you mean `small.toml`?")), (404, true), "{answer:?}");
    let answer = server.post("/api/sweeps", &json!({ "experiment": "small.toml", "stor": "x.db" }));
    assert!(
        answer.status == 400 && answer.error().ends_with("there is no field `stor`; did you mean `store`?"),
        "{answer:?}"
    );
    // What has the wrong type is said in plain words.
    let whole = "a whole number from 0 to 4294967295";
    let settings = "an object of settings, such as `{ \"traffic.length\": 64 }`";
    for (path, body, expected) in [
        ("sweeps", "[]", "expected an object with fields such as `experiment`, `store`, `jobs`, not a list".to_owned()),
        ("sweeps", "{ \"experiment\": 1", "it is no JSON, from line 1, column 17 on".to_owned()),
        ("sweeps", "{}", "expected the field `experiment`, a text".to_owned()),
        (
            "sweeps",
            r#"{"experiment":"small.toml","experiment":"a","store":"x.db"}"#,
            "the field `experiment` is there twice".to_owned(),
        ),
        ("sweeps", r#"{"experiment":{},"store":"x.db"}"#, "`experiment` is an object; expected a text".to_owned()),
        ("sweeps", r#"{"experiment":null,"store":"x.db"}"#, "`experiment` is `null`; expected a text".to_owned()),
        (
            "sweeps",
            r#"{"experiment":"a","store":"x.db","jobs":0}"#,
            "`jobs` is `0`; expected a whole number from 1 to 1024".to_owned(),
        ),
        ("sweeps/stop", r#"{"id":7}"#, "`id` is `7`; expected a text".to_owned()),
        ("replay", r#"{"experiment":"a","set":[]}"#, format!("`set` is a list; expected {settings}")),
        ("replay", r#"{"experiment":"a","replication":-1}"#, format!("`replication` is `-1`; expected {whole}")),
        ("replay", r#"{"experiment":"a","replication":"1"}"#, format!("`replication` is `\"1\"`; expected {whole}")),
        ("replay/stop", r#"{"file":true}"#, "`file` is `true`; expected a text".to_owned()),
    ] {
        let answer = server.send("POST", &format!("/api/{path}"), &[("X-Wormcast", "page")], body);
        let said = format!("the body of the request: {expected}");
        assert_eq!((answer.status, answer.error()), (400, said), "{path} {body}");
    }
    let body = json!({ "experiment": "small.toml", "set": { "traffic.length": { "a": [] } } });
    let said = server.post("/api/replay", &body).error();
    assert!(!["map", "struct", "variant", "sequence", "--set"].iter().any(|word| said.contains(word)), "{said}");
    assert!(error("/api/network?topology=mesh:4x4&topology=mesh:4x5").contains("twice"));
    // Bounds.
    assert_eq!(server.get(&format!("/api/network?topology={}", "a".repeat(20_000))).status, 400);
    let large = json!({ "experiment": "a".repeat(100_000), "store": "x.db" });
    let answer = server.post("/api/sweeps", &large);
    assert_eq!((answer.status, answer.error().as_str()), (413, "the body of the request has more than 65536 bytes"));
    let answer = server.get("/api/sweep");
    assert!(answer.status == 404 && answer.error().ends_with("did you mean `/api/sweeps`?"), "{answer:?}");
    let answer = server.get("/api/sweeps/stop");
    assert_eq!((answer.status, answer.headers["allow"].as_str()), (405, "POST"), "{answer:?}");
    let person = server.send("GET", "/curve", &[("Accept", "text/html,*/*;q=0.8")], "");
    assert_eq!((person.status, person.headers["content-type"].as_str()), (404, "text/html; charset=utf-8"));
    // Too large for anybody: refused before it is built.
    let answer = server.get("/api/network?topology=mesh:99999x99999");
    assert_eq!(answer.status, 400, "{answer:?}");
    // It is there as before.
    assert_eq!(server.get("/api/info").status, 200);
}

#[test]
fn who_asks_needs_the_token() {
    let folder = Folder::with(&[]);
    // On this machine as well, which others may use, too.
    assert_eq!(Server::of(&folder).stranger("/api/info").status, 403);
    let mut server = Server::with(&folder, &["--listen", "0.0.0.0"]);
    assert!(server.address.starts_with("127.0.0.1:"), "{}", server.address);
    let mut more = String::new();
    server.out.read_line(&mut more).expect("a line");
    assert!(more.starts_with("On other machines, put an IP address of this one"), "{more}");
    let token = server.token.clone();
    assert_eq!(token.len(), 64);
    for path in ["/", "/page.js", "/api/info", "/?token=", &format!("/api/info?token={}", &token[1..])] {
        assert_eq!(server.stranger(path).status, 403, "{path}");
    }
    let entered = server.stranger(&format!("/network?topology=mesh:4x4&token={token}"));
    assert_eq!((entered.status, entered.headers["location"].as_str()), (303, "/network?topology=mesh:4x4"));
    let cookie = entered.headers["set-cookie"].split(';').next().unwrap().to_owned();
    assert!(
        entered.headers["set-cookie"].contains("HttpOnly") && entered.headers["set-cookie"].contains("SameSite=Lax")
    );
    assert_eq!(server.send("GET", "/api/info", &[("Cookie", &cookie)], "").status, 200);
    assert_eq!(server.send("GET", "/api/info", &[("Cookie", &cookie[..cookie.len() - 1])], "").status, 403);
    assert_eq!(server.send("GET", "/api/info", &[("Authorization", &format!("Bearer {token}"))], "").status, 200);
    let other = Server::with(&folder, &["--listen", "0.0.0.0"]);
    assert_ne!(other.token, server.token, "each its own");
    // One browser for both: it sends both cookies to each.
    let entered = other.stranger(&format!("/?token={}", other.token));
    let second = entered.headers["set-cookie"].split(';').next().unwrap().to_owned();
    assert_ne!(cookie.split('=').next(), second.split('=').next());
    let both = format!("{second}; {cookie}");
    for one in [&server, &other] {
        assert_eq!(one.send("GET", "/api/info", &[("Cookie", &both)], "").status, 200);
    }
    // A person reads why it is closed.
    let closed = server.send("GET", "/", &[("Authorization", ""), ("Accept", "text/html,*/*")], "");
    assert_eq!((closed.status, closed.headers["content-type"].as_str()), (403, "text/html; charset=utf-8"));
    assert!(
        String::from_utf8_lossy(&closed.body).contains("it has a token, another one after each start."),
        "{closed:?}"
    );
    assert_eq!(closed.headers["connection"], "close", "who may not ask keeps none");
}
