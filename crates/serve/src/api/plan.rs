//! A plan of one multicast, as the command `plan` prints it, with what a drawing needs beside it.

use std::sync::Arc;

use axum::extract::State as Extracted;
use serde::{Serialize, Serializer};
use wormcast_analysis::dependencies_of_algorithm;
use wormcast_multicast::{Multicast, PlanReport, PortModel, WormSummary, check_contract, is_own, left_out};
use wormcast_network::watch::{step, step_every};
use wormcast_network::{ChannelId, is_all_nodes, misleading_name, parse_node, parse_node_list};

use super::choice::{OFTEN, ONCE, idle_seed, no_difference, request};
use super::{Given, Shared, State};
use crate::answer::{Json, Refusal};

/// What is said beside the report.
#[derive(Serialize)]
struct Beside<'a> {
    /// The ids of each worm's channels, parents first.
    #[serde(serialize_with = "channel_ids")]
    channel_ids: &'a [WormSummary],
    /// The ids of both channels of each failed link.
    failed: Vec<u32>,
    /// Whether worms of the algorithm can never wait for each other forever; null if that was not to be found out.
    deadlock_free: Option<bool>,
}

fn channel_ids<S: Serializer>(worms: &&[WormSummary], serializer: S) -> Result<S::Ok, S::Error> {
    struct Ids<'a>(&'a [ChannelId]);
    impl Serialize for Ids<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(self.0.iter().map(|channel| channel.raw()))
        }
    }
    serializer.collect_seq(worms.iter().enumerate().map(|(id, worm)| {
        step_every(10, "writing the channels", "worms", id + 1, worms.len());
        Ids(&worm.channels)
    }))
}

pub(super) async fn get(Extracted(state): Extracted<Shared>, given: Given) -> Result<Json, Refusal> {
    let own = ["topology", "source", "destinations", "ports", "flit_bits", "check"];
    given.only(&[&own[..], &ONCE].concat(), &OFTEN)?;
    let shared = Arc::clone(&state);
    state.work.run(move || plan(&shared, &given)).await
}

fn plan(state: &State, given: &Given) -> Result<Json, Refusal> {
    let ports = match given.get("ports") {
        None | Some("one") => PortModel::One,
        Some("all") => PortModel::All,
        Some(other) => return Err(Refusal::BadInput(format!("`ports` is `{other}`; expected `one` or `all`"))),
    };
    let network = state.folder.network(given.need("topology")?)?;
    let request = request(given, given.need("algorithm")?, &state.folder)?;
    step("preparing the algorithm", "", 0, 0);
    let algorithm = request.make(&network).map_err(Refusal::bad_input)?;
    let source = parse_node(&network, given.need("source")?).map_err(Refusal::bad_input)?;
    let list = given.need("destinations")?;
    let destinations = parse_node_list(&network, list).map_err(Refusal::bad_input)?;
    let multicast = Multicast::checked(source, &destinations).map_err(Refusal::bad_input)?;
    let left_out = if is_all_nodes(list) { None } else { left_out(&network, source, &destinations) };
    let doubt = algorithm.capabilities().doubt.map(str::to_owned);
    step("planning", "worms", 0, 0);
    let plan = if is_own(algorithm.as_ref()) {
        check_contract(algorithm.as_ref(), &multicast).map_err(|broken| {
            Refusal::BadInput(format!("the plan of `{}` is not as promised: {broken}", algorithm.name()))
        })?
    } else {
        algorithm.plan(&multicast)
    };
    let summary = plan.summary(algorithm.routing(), ports).map_err(Refusal::bad_input)?;
    let flit_bits = given.number("flit_bits", 1..=u32::MAX.into())?;
    let unencoded = flit_bits.is_some() && summary.worms.iter().all(|worm| worm.header.is_none());
    let name = algorithm.name();
    let idle = [
        idle_seed(given, name, request.algorithm.draws_on(&network, request.routing)),
        unencoded.then(|| no_difference("flit_bits", &format!("no header of `{name}` encodes destinations"))),
        algorithm.capabilities().idle_option().map(|(option, reason)| no_difference(&option.to_string(), reason)),
    ];
    let warnings = misleading_name(&network).into_iter().chain(left_out).chain(doubt);
    let warnings: Vec<String> = warnings.chain(idle.into_iter().flatten()).collect();
    let warning = (!warnings.is_empty()).then(|| warnings.join("; "));
    let report = PlanReport {
        network: &network,
        algorithm: algorithm.name(),
        multicast: &multicast,
        summary: &summary,
        exact: algorithm.capabilities().minimum.map(|minimum| minimum.is_exact(&multicast)),
        flit_bits: flit_bits.unwrap_or(PlanReport::FLIT_BITS),
        warning: warning.as_deref(),
        reduction: None,
    };
    let faults = request.faults.on(&network, request.seed).map_err(Refusal::bad_input)?;
    let both = |&link: &ChannelId| [link.raw(), network.reverse(link).raw()];
    let deadlock_free = match given.get("check") {
        Some("no") => None,
        None | Some("yes") => {
            let settings = wormcast_analysis::Settings::default();
            let (_, cycle) = dependencies_of_algorithm(algorithm.as_ref(), &settings).map_err(Refusal::bad_input)?;
            Some(cycle.is_none())
        }
        Some(other) => return Err(Refusal::BadInput(format!("`check` is `{other}`; expected `yes` or `no`"))),
    };
    let beside =
        Beside { channel_ids: &summary.worms, failed: faults.links.iter().flat_map(both).collect(), deadlock_free };
    Json::joined(report.json(), &beside)
}
