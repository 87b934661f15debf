//! The arguments that `plan` and `routing` share: an algorithm, a routing, and their options.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::warn_of_idle_option;
use crate::failure::Failure;
use crate::lab::plain_words;
use crate::multicast::{
    AlgorithmOption, AlgorithmOptions, Descriptor, FaultInformation, FaultRequest, Request, algorithms,
};
use crate::network::Network;
use crate::routing::{ROUTINGS, RoutingDescriptor, TREE_CONSTRUCTIONS, TreeDescriptor};

/// An algorithm or a routing, or an algorithm with a routing, and what they are told.
#[derive(Args)]
pub(super) struct Choice {
    /// The multicast algorithm.
    #[arg(long, value_name = "NAME", value_parser = algorithm())]
    pub(super) algorithm: Option<&'static Descriptor>,
    /// The routing; with an algorithm, the one for it to use, if it offers a choice.
    #[arg(long, value_name = "NAME", value_parser = routing())]
    pub(super) routing: Option<&'static RoutingDescriptor>,
    /// The root of up*/down*: `smallest-id`, `maximum-degree`, or a router's number or name.
    #[arg(long, value_name = "ROOT")]
    pub(super) root: Option<String>,
    /// An option of the algorithm, as `detour=4`; can be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) option: Vec<String>,
    /// The seed of algorithms and routings that make random choices.
    /// Default: 0.
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// A link that has failed, by its routers, as `0-1` or `0,0-1,0`; can be repeated.
    #[arg(long, value_name = "U-V")]
    pub(super) failed_link: Vec<String>,
    /// Only the nodes at both ends know of failed links: worms are absorbed there and sent on.
    #[arg(long, requires = "failed_link")]
    pub(super) local_information: bool,
}

impl Choice {
    /// What is asked of an algorithm.
    pub(super) fn request(&self, algorithm: &'static Descriptor) -> Result<Request, Failure> {
        let information = if self.local_information { FaultInformation::Local } else { FaultInformation::Global };
        let faults = FaultRequest { links: self.failed_link.clone(), random: 0, information };
        let (seed, root, options) = (self.seed.unwrap_or_default(), self.root.clone(), self.options()?);
        Ok(Request { algorithm, routing: self.routing, root, seed, faults, options, tree_seed: None })
    }

    /// The algorithm's own options.
    pub(super) fn options(&self) -> Result<AlgorithmOptions, Failure> {
        let mut all = serde_json::Map::new();
        for given in &self.option {
            let bad = |problem: String| Failure::BadInput(format!("--option {given}: {problem}"));
            let Some((key, value)) = given.split_once('=') else {
                return Err(bad("expected `key=value`, as in `detour=4`".to_owned()));
            };
            let text = || serde_json::Value::String(value.trim().to_owned());
            let value = serde_json::from_str(value).unwrap_or_else(|_| text());
            if all.insert(key.trim().to_owned(), value).is_some() {
                return Err(bad("this option is there twice".to_owned()));
            }
            let so_far = serde_json::from_value::<AlgorithmOptions>(all.clone().into());
            let so_far = so_far.map_err(|error| {
                let (problem, help) = plain_words(&error.to_string());
                bad(help.map_or_else(|| problem.clone(), |help| format!("{problem}; {help}")))
            })?;
            if so_far.given().any(|option| option == AlgorithmOption::Draw) {
                return Err(bad("only the runs of an experiment are replicated".to_owned()));
            }
        }
        Ok(serde_json::from_value(all.into()).unwrap_or_default())
    }

    /// Warns of a seed where nothing is drawn.
    pub(super) fn warn_of_idle_seed(&self, network: &Network) {
        let draws = match (self.algorithm, self.routing) {
            (Some(algorithm), routing) => algorithm.draws_on(network, routing),
            (None, routing) => routing.is_some_and(|routing| routing.draws_on(network)),
        };
        let name = self.algorithm.map(|algorithm| algorithm.name).or(self.routing.map(|routing| routing.name));
        let name = name.map_or_else(|| "a table".to_owned(), |name| format!("`{name}`"));
        warn_of_idle_option("--seed", !draws && self.seed.is_some(), &format!("{name} makes no random choices"));
    }
}

/// An argument that is one of these names: help lists them with what they stand for, shells complete them, and a mistake gets the nearest.
fn one_of(named: impl IntoIterator<Item = (&'static str, &'static str)>) -> PossibleValuesParser {
    let value = |(name, summary): (&'static str, &'static str)| {
        let value = PossibleValue::new(name);
        if summary.is_empty() { value } else { value.help(summary) }
    };
    PossibleValuesParser::new(named.into_iter().map(value).collect::<Vec<_>>())
}

fn algorithm() -> impl TypedValueParser<Value = &'static Descriptor> {
    let all = algorithms().into_iter().map(|algorithm| (algorithm.name, algorithm.summary));
    one_of(all).try_map(|name| Descriptor::named(&name))
}

fn routing() -> impl TypedValueParser<Value = &'static RoutingDescriptor> {
    let all = ROUTINGS.iter().map(|routing| (routing.name, routing.summary));
    one_of(all).try_map(|name| RoutingDescriptor::named(&name))
}

/// The construction of spanning trees of this name.
pub(super) fn construction() -> impl TypedValueParser<Value = &'static TreeDescriptor> {
    let all = TREE_CONSTRUCTIONS.iter().map(|construction| (construction.name, construction.summary));
    one_of(all).try_map(|name| TreeDescriptor::named(&name))
}
