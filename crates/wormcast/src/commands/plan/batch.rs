//! Many plans: one JSON request a line, one JSON answer a line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;

use serde::Serialize;

use super::plan_into;
use super::request::Request;
use crate::commands::write_json;
use crate::failure::Failure;
use crate::lab::plain_words;
use crate::multicast::{Algorithm, AlgorithmCache, JsonText, Multicast, Plan, PlanReport, PlanSummary, Summariser};
use crate::network::input::{BYTE_ORDER_MARK, input_name, is_standard_input, read_text, take_standard_input};
use crate::network::watch::ask;
use crate::network::{MAX_FILE_BYTES, Network, TopologySpec, misleading_name};
use crate::work::part;

/// The most bytes of a line: seven million destinations by their numbers.
const MOST_LINE: u64 = 1 << 26;

/// The name of the input in messages.
const REQUESTS: &str = "the requests";

/// Answers the requests of a file, or of standard input if the path is `-`. A bad line is answered by its error; how many are bad is
/// said at the end, and makes the command fail if it is to be `strict`.
pub(super) fn run(path: &str, strict: bool, out: &mut dyn Write) -> Result<(), Failure> {
    const BUFFER: usize = 1 << 16;
    let unreadable = |error| Failure::BadInput(format!("cannot read `{path}`: {error}"));
    let Answered { requests, failed, interrupted } = if is_standard_input(path) {
        take_standard_input(REQUESTS).map_err(unreadable)?;
        answer_all(BufReader::with_capacity(BUFFER, io::stdin().lock()), input_name(path), out)?
    } else {
        let file = File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.is_dir() {
            return Err(Failure::BadInput(format!("cannot read `{path}`: it is a directory")));
        }
        answer_all(BufReader::with_capacity(BUFFER, file), path, out)?
    };
    out.flush()?;
    if requests == 0 && !interrupted {
        let message = format!("`{}` has no requests; expected one a line, as in `{EXAMPLE}`", input_name(path));
        if strict {
            return Err(Failure::BadInput(message));
        }
        Failure::warn(&message);
    }
    if failed == 0 {
        return Ok(());
    }
    let message = format!("{failed} of {requests} request{} failed", if requests == 1 { "" } else { "s" });
    if strict {
        return Err(Failure::Failed(message));
    }
    Failure::warn(&format!("{message}: {} why", if failed == 1 { "its answer says" } else { "their answers say" }));
    Ok(())
}

/// How many requests there were, and how many of them got no plan.
#[derive(Default)]
struct Answered {
    requests: u64,
    failed: u64,
    interrupted: bool,
}

#[derive(Serialize)]
struct Refusal {
    error: String,
    /// From 1.
    line: u64,
}

fn answer_all<R: io::Read>(mut requests: BufReader<R>, name: &str, out: &mut dyn Write) -> Result<Answered, Failure> {
    let mut work = Work::default();
    let mut answered = Answered::default();
    let mut line = Vec::new();
    for number in 1.. {
        if ask("answering requests", "requests", answered.requests as usize, 0).is_break() {
            answered.interrupted = true;
            break;
        }
        // Who asks line by line waits for each answer: keep none back while waiting for the next request.
        if requests.buffer().is_empty() {
            out.flush()?;
        }
        line.clear();
        let read = (&mut requests).take(MOST_LINE + 1).read_until(b'\n', &mut line);
        if read.map_err(|error| Failure::BadInput(format!("cannot read `{name}`: {error}")))? == 0 {
            break;
        }
        if line.len() as u64 > MOST_LINE {
            // It is unknown where it ends, or whether it does.
            return Err(Failure::BadInput(format!(
                "{name}:{number}: this line has more than {MOST_LINE} bytes; expected one request a line, as in `{EXAMPLE}`"
            )));
        }
        if number == 1 && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        answered.requests += 1;
        let done = part("answers to further requests", || work.answer(&line, out));
        match done {
            Some(Err(Failure::BadInput(error) | Failure::Failed(error))) => {
                answered.failed += 1;
                write_json(out, &Refusal { error, line: number })?;
            }
            Some(result) => result?,
            // Answers are written whole.
            None => break,
        }
    }
    Ok(answered)
}

/// Plans all requests of a file for one network, and passes each plan on with its line.
pub(in super::super) fn plan_all(
    path: &str,
    topology: &str,
    mut visit: impl FnMut(u64, &dyn Algorithm, &Multicast, &Plan) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let text = read_text(path, REQUESTS, MAX_FILE_BYTES).map_err(Failure::bad_input)?;
    let path = input_name(path);
    if text.trim().is_empty() {
        return Err(Failure::BadInput(format!(
            "{path}:1: there are no requests; expected one a line, as in `{EXAMPLE}`"
        )));
    }
    let mut cache = empty_cache();
    let (mut plan, mut short) = (Plan::default(), Vec::new());
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let place = |failure: Failure| match failure {
            Failure::BadInput(problem) => Failure::BadInput(format!("{path}:{number}: {problem}")),
            other => other,
        };
        let request = parse(line.as_bytes(), &mut short).map_err(place)?;
        if request.topology != topology {
            let problem =
                format!("the multicast is on `{}`; expected `{topology}`, as for the routing", request.topology);
            return Err(place(Failure::BadInput(problem)));
        }
        let (network, algorithm) = get(&mut cache, &request).map_err(place)?;
        let (network, algorithm) = (&*network, &*algorithm);
        let (multicast, left_out) = request.multicast(network).map_err(place)?;
        if let Some(left_out) = left_out {
            Failure::warn(&format!("{path}:{number}: {left_out}"));
        }
        plan_into(algorithm, &multicast, &mut plan).map_err(place)?;
        visit(number, algorithm, &multicast, &plan).map_err(place)?;
    }
    Ok(())
}

/// What answers have in common: networks and algorithms, and memory that the next answer uses again.
struct Work {
    cache: AlgorithmCache,
    short: Vec<u8>,
    plan: Plan,
    summariser: Summariser,
    summary: PlanSummary,
    text: JsonText,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            cache: empty_cache(),
            short: Vec::new(),
            plan: Plan::default(),
            summariser: Summariser::default(),
            summary: PlanSummary::default(),
            text: JsonText::default(),
        }
    }
}

impl Work {
    fn answer(&mut self, line: &[u8], out: &mut dyn Write) -> Result<(), Failure> {
        let Self { cache, short, plan, summariser, summary, text } = self;
        let request = parse(line, short)?;
        let (network, algorithm) = get(cache, &request)?;
        text.begin(&network);
        let (network, algorithm) = (&*network, &*algorithm);
        let (multicast, left_out) = request.multicast(network)?;
        plan_into(algorithm, &multicast, plan)?;
        summariser.summarise(plan, algorithm.routing(), request.ports, summary).map_err(Failure::bad_input)?;
        let idle_option = algorithm.capabilities().idle_option();
        let idle_option = idle_option.map(|(option, reason)| format!("`{option}` makes no difference: {reason}"));
        let idle = [idle_seed(&request, network)?, idle_flit_bits(&request, summary), idle_option];
        let names = misleading_name(network);
        let doubt = algorithm.capabilities().doubt.map(str::to_owned);
        let warnings: Vec<String> =
            left_out.into_iter().chain(names).chain(doubt).chain(idle.into_iter().flatten()).collect();
        let warning = (!warnings.is_empty()).then(|| warnings.join("; "));
        let report = PlanReport {
            network,
            algorithm: algorithm.name(),
            multicast: &multicast,
            summary,
            exact: algorithm.capabilities().minimum.map(|minimum| minimum.is_exact(&multicast)),
            flit_bits: request.flit_bits.unwrap_or_default().0.get(),
            warning: warning.as_deref(),
            reduction: None,
        };
        report.write(text);
        text.put(b"\n");
        Ok(out.write_all(text.bytes())?)
    }
}

/// What is to be said of a seed where nothing is drawn.
fn idle_seed(request: &Request, network: &Network) -> Result<Option<String>, Failure> {
    let Some(_) = request.seed else { return Ok(None) };
    let wanted = request.wanted().map_err(Failure::bad_input)?;
    let draws = wanted.algorithm.draws_on(network, wanted.routing);
    Ok((!draws).then(|| format!("`seed` makes no difference: `{}` makes no random choices", wanted.algorithm.name)))
}

/// What is to be said of a flit's size where no header is that long.
fn idle_flit_bits(request: &Request, summary: &PlanSummary) -> Option<String> {
    let unencoded = summary.worms.iter().all(|worm| worm.header.is_none());
    let name = &request.algorithm;
    (request.flit_bits.is_some() && unencoded)
        .then(|| format!("`flit_bits` makes no difference: no header of `{name}` encodes destinations"))
}

const EXAMPLE: &str = r#"{"topology":"mesh:8x8","algorithm":"dual-path","source":28,"destinations":[33,41]}"#;

fn parse<'a>(line: &'a [u8], short: &'a mut Vec<u8>) -> Result<Request<'a>, Failure> {
    let is_object = line.trim_ascii_start().first() == Some(&b'{');
    if !is_object && let Ok(other) = serde_json::from_slice::<serde_json::Value>(line) {
        let found = match other {
            serde_json::Value::Array(_) => "an array".to_owned(),
            other => format!("`{other}`"),
        };
        return Err(Failure::BadInput(format!("found {found}; expected a JSON object, as in `{EXAMPLE}`")));
    }
    Request::read(line, short).map_err(|error| malformed(&error))
}

/// The failure for a request that is not understood. The parser saw one line only: which one, it cannot know.
fn malformed(error: &serde_json::Error) -> Failure {
    let (message, column) = (error.to_string(), error.column());
    let position = format!(" at line {} column {column}", error.line());
    let problem = message.strip_suffix(&position).unwrap_or(&message);
    // The line's own end is no part of a text that it is cut in.
    let is_cut = column == 0 && problem.starts_with("control character");
    let problem = if is_cut { "EOF while parsing a string" } else { problem };
    let not_json = error.is_syntax() || error.is_eof();
    // In the words of JSON requests, which have fields.
    let is_of_a_value = problem.starts_with("invalid ");
    let (problem, meant) = plain_words(problem);
    let problem = if is_of_a_value { format!("found {problem}") } else { problem };
    let problem =
        problem.replace(" setting `", " field `").replace("a table", "an object").replace("a list", "an array");
    // Of nothing at all, there is no column.
    let place = if column == 0 { String::new() } else { format!(" at column {column}") };
    // It belongs to what was found, not to the list of names behind it.
    let names = [": expected one of ", ", expected one of "].iter().find_map(|list| problem.find(list));
    let (problem, names) = problem.split_at(names.unwrap_or(problem.len()));
    let end = match meant {
        _ if not_json => format!("; expected a JSON object, as in `{EXAMPLE}`"),
        Some(meant) => format!("; {meant}"),
        None => String::new(),
    };
    Failure::BadInput(format!("{problem}{place}{names}{end}"))
}

/// Networks and algorithms, of which many requests share a few.
fn empty_cache() -> AlgorithmCache {
    /// Beyond these, the cache is emptied.
    const MOST_ALGORITHMS: usize = 256;
    const MOST_CHANNELS: usize = 1 << 24;
    AlgorithmCache::bounded(MOST_ALGORITHMS, MOST_CHANNELS)
}

/// The network and the algorithm that a request is about.
fn get(cache: &mut AlgorithmCache, request: &Request) -> Result<(Arc<Network>, Arc<dyn Algorithm>), Failure> {
    let build = || request.topology.parse::<TopologySpec>().and_then(|spec| spec.build());
    let network = cache.network(&request.topology, build).map_err(Failure::bad_input)?;
    let wanted = request.wanted().map_err(Failure::bad_input)?;
    let algorithm = cache.algorithm(&request.topology, &network, &wanted).map_err(Failure::bad_input)?;
    Ok((network, algorithm))
}
