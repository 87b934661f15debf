//! `wormcast plan --batch`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::{command, wormcast, wormcast_with_input};

/// The answers to requests; standard error says how many failed, if any did.
fn answers(input: &str) -> Vec<Value> {
    let outcome = wormcast_with_input(&["plan", "--batch", "-"], input);
    let answers: Vec<Value> =
        outcome.stdout.lines().map(|line| serde_json::from_str(line).expect("valid JSON")).collect();
    let failed = answers.iter().filter(|answer| answer.get("error").is_some()).count();
    let requests = if answers.len() == 1 { "request" } else { "requests" };
    let why = if failed == 1 { "its answer says why" } else { "their answers say why" };
    let said = format!("warning: {failed} of {} {requests} failed: {why}\n", answers.len());
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, if failed == 0 { "" } else { said.as_str() }));
    answers
}

/// The error that a single request is answered by.
fn refusal(request: &str) -> String {
    let answers = answers(request);
    assert_eq!((answers.len(), &answers[0]["line"]), (1, &json!(1)));
    answers[0]["error"].as_str().expect("an error").to_owned()
}

/// To the byte: the answers were written when a serialiser still wrote them, and every request was read in the same way.
#[test]
fn answers_are_those_of_the_first_program() {
    let (requests, expected) = (include_str!("batch/requests.jsonl"), include_str!("batch/answers.jsonl"));
    let answers = wormcast_with_input(&["plan", "--batch", "-"], requests).stdout;
    assert_eq!(answers.lines().count(), expected.lines().count());
    for (request, (answer, expected)) in requests.lines().zip(answers.lines().zip(expected.lines())) {
        assert_eq!(answer, expected, "{request}");
    }
}

#[test]
fn every_form_of_a_request_gives_the_answer_of_a_single_plan() {
    let single = [
        &["plan", "--topology", "mesh:8x8", "--algorithm", "dual-path", "--source", "4,3"][..],
        &["--destinations", "1,4;1,5", "--format", "json"],
    ];
    let expected: Value = serde_json::from_str(&wormcast(&single.concat()).success()).unwrap();
    let requests = r#"
        {"topology":"mesh:8x8","algorithm":"dual-path","source":28,"destinations":[33,41]}
        {"topology":"mesh:8x8","algorithm":"dual-path","source":"4,3","destinations":["1,4",41]}
        {"topology":"mesh:8x8","algorithm":"dual-path","source":"28","destinations":"1,4;1,5"}
        {"destinations":"33;41","source":28,"algorithm":"dual\u002dpath","topology":"mesh:8x8","ports":"one","routing":null}
        {"topology":"mesh:8x8","algorithm":"dual-path","source":28,"destinations":[33,41],"routing":"hamiltonian"}
    "#;
    let answers = answers(requests);
    assert_eq!(answers.len(), 5, "blank lines ask for nothing");
    for answer in answers {
        assert_eq!(answer, expected);
    }
}

#[test]
fn fields_without_effect_are_warned_of() {
    let answers = answers(
        r#"
        {"topology":"mesh:8x8","algorithm":"dual-path","source":28,"destinations":[33,41],"seed":3,"flit_bits":8}
        {"topology":"bmin:4x2","algorithm":"bit-string","source":0,"destinations":[3,9],"flit_bits":8}
    "#,
    );
    let idle = "`seed` makes no difference: `dual-path` makes no random choices; `flit_bits` makes no difference: no header of \
                `dual-path` encodes destinations";
    assert_eq!((&answers[0]["warning"], answers[1].get("warning")), (&json!(idle), None));
}

#[test]
fn all_nodes_can_be_asked_for() {
    let answers =
        answers(r#"{"topology":"hypercube:8","algorithm":"w-sort","source":7,"destinations":"all","ports":"all"}"#);
    let worms = answers[0]["worms"].as_array().map(Vec::len);
    assert_eq!((worms, &answers[0]["steps"], &answers[0]["contention"]), (Some(255), &json!(8), &Value::Null));
}

#[test]
fn a_bad_line_does_not_stop_the_rest() {
    let good = r#"{"topology":"mesh:2x2","algorithm":"separate","source":0,"destinations":[3]}"#;
    let answers = answers(&format!("{good}\nnonsense\n\n{good}\n{{}}\n{good}"));
    let lines: Vec<_> = answers.iter().map(|answer| answer.get("line").and_then(Value::as_u64)).collect();
    assert_eq!(lines, [None, Some(2), None, Some(5), None]);
    let not_json = answers[1]["error"].as_str().unwrap();
    assert!(not_json.contains("at column 2; expected a JSON object, as in `{\"topology\":"), "{not_json}");
    assert_eq!(answers[3]["error"], "missing field `topology` at column 2");
}

#[test]
fn a_strict_batch_fails_with_a_request() {
    let good = r#"{"topology":"mesh:2x2","algorithm":"separate","source":0,"destinations":[3]}"#;
    let strict = |input: &str| wormcast_with_input(&["plan", "--batch", "-", "--strict"], input);
    strict(&format!("{good}\n{good}\n")).success();
    let failed = strict(&format!("{good}\nnonsense\n{good}\n"));
    assert_eq!((failed.code, failed.stdout.lines().count()), (1, 3), "the answers are there all the same");
    assert_eq!(failed.stderr, "error: 1 of 3 requests failed\n");
    assert!(wormcast(&["plan", "--strict"]).bad_input().contains("--batch"));
    // A request cannot have the input that the requests come by.
    let input = good.replace("mesh:2x2", "-");
    let answer = wormcast_with_input(&["plan", "--batch", "-"], &input);
    assert!(
        answer.stdout.contains("standard input is the requests already and cannot be the network, too"),
        "{answer:?}"
    );
}

#[test]
fn refusals_are_explained() {
    let on_mesh = |fields: &str| refusal(&format!(r#"{{"topology":"mesh:2x2","algorithm":"separate",{fields}}}"#));
    assert_eq!(on_mesh(r#""source":4,"destinations":[]"#), "node 4 is out of range: mesh:2x2 has nodes 0 to 3");
    assert_eq!(
        on_mesh(r#""source":18446744073709551615,"destinations":[]"#),
        "node 18446744073709551615 is out of range: mesh:2x2 has nodes 0 to 3"
    );
    assert!(on_mesh(r#""source":-1,"destinations":[]"#).contains("expected a node's number or text such as"));
    assert!(on_mesh(r#""source":0,"destinations":7"#).contains("expected an array of nodes or text such as"));
    let misspelt = on_mesh(r#""source":0,"destinations":[],"port":"one""#);
    assert_eq!(misspelt, "unknown field `port` at column 81; did you mean `ports`?");
    assert!(
        on_mesh(r#""source":0,"destinations":[],"ports":"two""#)
            .contains("unknown value `two` at column 88, expected one of one, all")
    );
    let nobody = "no destination but the source, node 0: expected at least one other node";
    let empty = "`destinations` is empty: expected nodes, as in `[1, 5]` or \"1,4;7,2\", or \"all\"";
    for (destinations, expected) in [("[]", empty), ("\"\"", empty), ("[0,0]", nobody), ("\"0,0\"", nobody)] {
        assert_eq!(on_mesh(&format!(r#""source":0,"destinations":{destinations}"#)), expected);
    }
    let name = refusal(r#"{"topology":"mesh:2x2","algorithm":"seperate","source":0,"destinations":[]}"#);
    assert!(name.ends_with("did you mean `separate`?"));
    assert!(refusal("{\"topology\":\"\u{0}\"").contains("control character"));
}

/// What is no request is called what it is, without the names of the program's types.
#[test]
fn other_json_is_refused_in_plain_words() {
    for (line, found) in [
        ("[]", "an array"),
        (r#" ["mesh:2x2","separate",null,null,0,[1]]"#, "an array"),
        ("5", "`5`"),
        (r#""x""#, r#"`"x"`"#),
        ("null", "`null`"),
        ("true", "`true`"),
    ] {
        let error = refusal(line);
        assert!(error.starts_with(&format!("found {found}; expected a JSON object, as in `{{")), "{error}");
    }
    let with = |field: &str| {
        refusal(&format!(r#"{{"topology":"mesh:2x2","algorithm":"separate","source":0,"destinations":[1],{field}}}"#))
    };
    for (field, expected) in [
        (r#""ports":5"#, "found number `5`, expected `one` or `all`"),
        (r#""ports":[]"#, "found an array, expected `one` or `all`"),
        (r#""ports":{}"#, "found an object, expected `one` or `all`"),
        (r#""seed":-1"#, "expected a whole number, not negative"),
        (r#""flit_bits":0"#, "expected a whole number from 1 to 4294967295"),
        (r#""flit_bits":"x""#, "expected a whole number from 1 to 4294967295"),
        (r#""routing":5"#, "found number `5`, expected a text"),
    ] {
        let error = with(field);
        assert!(error.contains(expected), "{error}");
    }
    // The end of the line is no part of the text that it is cut in.
    let cut = refusal("{\"topology\":\"mesh:2x2\",\"algorithm\":\"sep\n");
    assert!(cut.starts_with("the text ends within a string; expected a JSON object"), "{cut}");
    for line in
        ["[]", "5", r#"{"topology":5}"#, r#"{"topology":"mesh:2","algorithm":"x","source":[],"destinations":[]}"#]
    {
        let error = refusal(line);
        assert!(!["struct", "enum", "u32", "u64", "Request"].iter().any(|name| error.contains(name)), "{error}");
    }
}

#[test]
fn a_line_that_is_not_text_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("requests");
    fs::write(&path, b"{\"topology\":\"\xff\xfe\"}\n[[[[\n").unwrap();
    let outcome = wormcast(&["plan", "--batch", path.to_str().unwrap()]);
    assert_eq!((outcome.code, outcome.stdout.matches("\"error\":").count()), (0, 2));
}

#[test]
fn what_ends_early_has_no_column_and_a_list_of_names_stays_together() {
    assert!(refusal("{").starts_with("EOF while parsing an object") || refusal("{").contains("expected a JSON object"));
    assert!(!refusal("{").contains("column 0"), "{}", refusal("{"));
    let unknown = refusal(r#"{"zzzzzz":1}"#);
    assert!(unknown.starts_with("unknown field `zzzzzz` at column 9") && unknown.ends_with("flit_bits"), "{unknown}");
}

/// A line has an end, or the command has one.
#[cfg(unix)]
#[test]
fn a_line_without_end_is_bad_input() {
    let endless = wormcast(&["plan", "--batch", "/dev/zero"]).bad_input();
    assert!(
        endless.starts_with("error: /dev/zero:1: this line has more than 67108864 bytes; expected one "),
        "{endless}"
    );
}

#[test]
fn no_requests_are_no_batch() {
    let none = wormcast_with_input(&["plan", "--batch", "-", "--strict"], "\n \n").bad_input();
    assert!(none.starts_with("error: `standard input` has no requests; expected one a line, as in `{"), "{none}");
    let lenient = wormcast_with_input(&["plan", "--batch", "-"], "");
    assert_eq!((lenient.code, lenient.stdout.as_str()), (0, ""));
    assert!(lenient.stderr.starts_with("warning: `standard input` has no requests"), "{lenient:?}");
    let alone = wormcast(&[
        "plan",
        "--topology=mesh:2x2",
        "--algorithm=separate",
        "--source=0",
        "--destinations=1",
        "--strict",
    ]);
    assert!(alone.bad_input().contains("`--strict` is about the requests of a batch"));
}

/// Nodes that are left out of a list are named, unless the list is `all`.
#[test]
fn what_is_left_out_is_said() {
    let request = |destinations: &str| {
        let line =
            format!(r#"{{"topology":"mesh:4x4","algorithm":"separate","source":0,"destinations":{destinations}}}"#);
        answers(&line).remove(0)["warning"].clone()
    };
    assert_eq!(request("[1,2]"), Value::Null);
    assert_eq!(request("\"all\""), Value::Null);
    assert_eq!(request("[1,2,1,\"1,0\"]"), "destinations that are named again count once: 1,0");
    assert_eq!(request("\"0;1\""), "0,0 is the source, not a destination");
    let plan = ["plan", "--topology", "mesh:4x4", "--algorithm", "separate", "--source", "0", "--destinations"];
    let warned = |destinations: &str| wormcast(&[&plan[..], &[destinations]].concat());
    warned("all").success();
    let both = warned("0;1;1");
    let expected = "warning: 0,0 is the source, not a destination; destinations that are named again count once: 1,0\n";
    assert_eq!((both.code, both.stderr.as_str()), (0, expected));
}

#[test]
fn a_file_that_cannot_be_read_is_bad_input() {
    let message = wormcast(&["plan", "--batch", "no/such/file"]).bad_input();
    assert!(message.starts_with("error: cannot read `no/such/file`: "));
    assert!(wormcast(&["plan", "--batch", "."]).bad_input().contains("it is a directory"));
    assert!(wormcast(&["plan", "--batch", "-", "--source", "0"]).bad_input().contains("cannot be used with"));
}

/// Who waits for an answer before asking again gets it.
#[test]
fn answers_do_not_wait_for_more_requests() {
    let mut child = command(&["plan", "--batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    let (mut requests, mut answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for source in 0..3 {
        writeln!(requests, r#"{{"topology":"mesh:2x2","algorithm":"separate","source":{source},"destinations":[3]}}"#)
            .unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["source"], source);
    }
    drop(requests);
    assert!(child.wait().unwrap().success());
}

/// Thousands of broken requests: each gets one line of JSON, and those that still make sense a plan.
#[test]
fn mutated_requests_are_answered_one_by_one() {
    const REQUESTS: [&str; 3] = [
        r#"{"topology":"mesh:4x4","algorithm":"dual-path","source":5,"destinations":[1,7,"3,3"]}"#,
        r#"{"topology":"hypercube:4","algorithm":"separate","source":"5","destinations":"1;7;11","ports":"all","seed":3}"#,
        r#"{"topology":"torus:3x3","algorithm":"separate","routing":"e-cube","source":"2,2","destinations":[3]}"#,
    ];
    // No digits: a network of a thousand times the size is legal, and slow.
    const SIGNS: [&str; 20] = [
        "", "", "", "", "{", "}", "[", "]", "\"", "\\", ":", ",", ";", "x", "-", " ", "null", "\\u00e9", "\u{e9}",
        "\u{7f}",
    ];
    let mut state = 7u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut input = String::new();
    for _ in 0..4000 {
        let mut request: Vec<char> = REQUESTS[random(3)].chars().collect();
        for _ in 0..=random(2) {
            let from = random(request.len());
            let to = (from + random(4)).min(request.len());
            request.splice(from..to, SIGNS[random(SIGNS.len())].chars());
        }
        input.extend(request);
        input.push('\n');
    }
    let answers = answers(&input);
    assert_eq!(answers.len(), 4000);
    let (mut plans, mut refusals) = (0, 0);
    for (number, answer) in (1u64..).zip(&answers) {
        match &answer["error"] {
            Value::Null => plans += u64::from(answer["worms"].is_array()),
            Value::String(error) => refusals += u64::from(!error.is_empty() && answer["line"] == number),
            other => panic!("{other}"),
        }
    }
    assert!(plans + refusals == 4000 && plans > 100 && refusals > 1000, "{plans} plans, {refusals} refusals");
}

#[test]
fn roots_are_numbers_or_text() {
    let with = |root: &str| {
        let request = format!(
            r#"{{"topology":"mesh:4x4","algorithm":"spam","source":15,"destinations":[0,3,12],"root":{root}}}"#
        );
        answers(&request).remove(0)
    };
    assert_eq!(with("5"), with("\"5\""));
    assert_eq!(with("null"), with("\"smallest-id\""));
    assert_ne!(with("5")["worms"], with("null")["worms"]);
}
