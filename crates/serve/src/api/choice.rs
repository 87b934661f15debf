//! An algorithm or a routing with its options, as parameters of a request.

use wormcast_lab::plain_words;
use wormcast_multicast::{AlgorithmOption, AlgorithmOptions, Descriptor, FaultInformation, FaultRequest, Request};
use wormcast_routing::RoutingDescriptor;

use super::Given;
use crate::answer::Refusal;
use crate::folder::Folder;

/// The parameters of a choice that are there once, and those that may be there several times.
pub(super) const ONCE: [&str; 5] = ["algorithm", "routing", "root", "seed", "information"];
pub(super) const OFTEN: [&str; 2] = ["option", "failed"];

/// What is asked of an algorithm. Files that its options name have to be in the folder.
pub(super) fn request(given: &Given, algorithm: &str, folder: &Folder) -> Result<Request, Refusal> {
    let algorithm = Descriptor::named(algorithm).map_err(Refusal::bad_input)?;
    let routing = given.get("routing").map(RoutingDescriptor::named).transpose().map_err(Refusal::bad_input)?;
    let information = match given.get("information") {
        None | Some("global") => FaultInformation::Global,
        Some("local") => FaultInformation::Local,
        Some(other) => {
            return Err(Refusal::BadInput(format!("`information` is `{other}`; expected `global` or `local`")));
        }
    };
    if given.get("failed").is_none() {
        given.without(&["information"], "about failed links, of which none are given")?;
    }
    // Links are separated by commas, which coordinates have too: one that has a hyphen begins a link.
    let links = given.all("failed").map(str::to_owned).collect();
    Ok(Request {
        algorithm,
        routing,
        root: given.get("root").map(str::to_owned),
        seed: given.number("seed", 0..=u64::MAX)?.unwrap_or_default(),
        faults: FaultRequest { links, random: 0, information },
        options: options(given, folder)?,
        tree_seed: None,
    })
}

/// What is to be said of a parameter without effect.
pub(super) fn no_difference(parameter: &str, reason: &str) -> String {
    format!("`{parameter}` makes no difference: {reason}")
}

/// What is to be said of a seed where nothing is drawn.
pub(super) fn idle_seed(given: &Given, name: &str, draws: bool) -> Option<String> {
    given.get("seed").filter(|_| !draws).map(|_| no_difference("seed", &format!("`{name}` makes no random choices")))
}

/// The options of an algorithm, each as `key=value`.
pub(super) fn options(given: &Given, folder: &Folder) -> Result<AlgorithmOptions, Refusal> {
    let mut all = serde_json::Map::new();
    for option in given.all("option") {
        let bad = |problem: &str| Refusal::BadInput(format!("option `{option}`: {problem}"));
        let Some((key, value)) = option.split_once('=') else {
            return Err(bad("expected `key=value`, as in `detour=4`"));
        };
        let text = || serde_json::Value::String(value.trim().to_owned());
        let value = serde_json::from_str(value).unwrap_or_else(|_| text());
        if all.insert(key.trim().to_owned(), value).is_some() {
            return Err(bad("this option is there twice"));
        }
        let so_far = serde_json::from_value::<AlgorithmOptions>(all.clone().into()).map_err(|error| {
            let (problem, help) = plain_words(&error.to_string());
            bad(&help.map_or_else(|| problem.clone(), |help| format!("{problem}; {help}")))
        })?;
        if so_far.given().any(|option| option == AlgorithmOption::Draw) {
            return Err(bad("only the runs of an experiment are replicated"));
        }
    }
    let options: AlgorithmOptions = serde_json::from_value(all.into()).unwrap_or_default();
    for (_, file, _) in options.files() {
        folder.file(file)?;
    }
    Ok(options)
}
