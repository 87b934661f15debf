//! The analysis of a routing, an algorithm or tables, as the command `routing` prints it, with what a drawing needs beside it.

use std::sync::Arc;

use axum::extract::State as Extracted;
use serde::Serialize;
use serde_json::value::RawValue;
use wormcast_analysis::{
    CycleResource, Fabric, Report, Settings, dependencies_of_algorithm, of_algorithm, of_fabric, of_routing, of_tables,
};
use wormcast_multicast::{AlgorithmOption, Descriptor, routing_named};
use wormcast_network::{ChannelId, Network};
use wormcast_routing::{
    Dependencies, ForwardingTables, GroupBranching, MulticastTables, RoutingOptions, RoutingRelation, VirtualLanes,
    read_levels, read_maps, read_members, read_multicast_tables, read_tables,
};

use super::choice::{OFTEN, ONCE, idle_seed, no_difference, options, request};
use super::{Given, Shared, State, answer};
use crate::answer::{Json, Refusal};

/// The most dependencies that are sent: more than anybody can look at.
const MOST_EDGES: usize = 2_000_000;

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// The cycle's `resources` as the command prints them, with their ids.
    cycle_resources: Option<Vec<Held>>,
    /// For each channel a number that rises along every route, as the proof that unicasts cannot deadlock; null where that is none, or
    /// for channels on no route.
    numbering: Option<Vec<Option<u32>>>,
    /// How many prohibited turns there are; null where there are no such.
    all_prohibited: Option<u64>,
    /// The number of pairs of nodes whose worms cross each channel, if all nodes send to all others; null if unknown.
    loads: Option<&'a [f64]>,
    /// The links that have failed, by the routers that they join.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed_links: Vec<String>,
    /// Why files may not be whole, and which parameters make no difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// A resource of a cycle: a channel, or the consumption channels of a node.
#[derive(Serialize)]
struct Held {
    text: String,
    channel: Option<u32>,
    node: Option<u32>,
}

#[derive(Serialize)]
struct DirectDependencies {
    /// Channels that are held, and channels that are requested.
    edges: Vec<[u32; 2]>,
    /// Whether worms stop on their way or branch: then there are further dependencies, on consumption channels and between branches.
    further: bool,
    /// Whether the verdict tells virtual channels or lanes of a channel apart: here they are one, so that there may be cycles that it does not know.
    divided: bool,
}

const OWN: [&str; 6] = ["topology", "tables", "multicast_tables", "groups", "branching", "consumption_ports"];
const MORE: [&str; 3] = ["virtual_channels", "lanes", "sl2vl"];

pub(super) async fn get(Extracted(state): Extracted<Shared>, given: Given) -> Result<Json, Refusal> {
    given.only(&[&OWN[..], &MORE, &ONCE].concat(), &OFTEN)?;
    answer(&state, move |state| report(state, &given)).await
}

pub(super) async fn dependencies(Extracted(state): Extracted<Shared>, given: Given) -> Result<Json, Refusal> {
    given.only(&[&OWN[..], &MORE, &ONCE].concat(), &OFTEN)?;
    answer(&state, move |state| edges(state, &given)).await
}

fn settings(given: &Given) -> Result<Settings, Refusal> {
    Ok(Settings {
        consumption_ports: given.number("consumption_ports", 1..=wormcast_network::MAX_NODE_PORTS.into())?,
        virtual_channels: given.number("virtual_channels", 1..=64)?,
        ..Settings::default()
    })
}

/// What is analysed.
enum Subject {
    Algorithm(Box<dyn wormcast_multicast::Algorithm>),
    Routing(Box<dyn RoutingRelation>),
    Tables {
        file: String,
        tables: Box<ForwardingTables>,
        multicasts: Option<Box<MulticastTables>>,
        branching: GroupBranching,
        lanes: Option<Box<VirtualLanes>>,
    },
}

fn subject(state: &State, given: &Given, network: &Arc<Network>) -> Result<Subject, Refusal> {
    let of_tables = ["multicast_tables", "groups", "branching", "lanes", "sl2vl"];
    if let (None, Some(name)) = (given.get("tables"), of_tables.into_iter().find(|name| given.get(name).is_some())) {
        return Err(Refusal::BadInput(format!("`{name}` is beside unicast tables: expected `tables`, too")));
    }
    match (given.get("tables"), given.get("algorithm"), given.get("routing")) {
        (Some(file), None, None) => {
            given.without(&["failed", "information"], "about failed links, and links fail only for an algorithm")?;
            given.without(&["root", "seed", "option"], "about an algorithm or a routing, which tables are not")?;
            if given.get("multicast_tables").is_none() {
                given.without(&["groups", "branching"], "about multicast tables, of which none are given")?;
            }
            tables(state, given, network, file)
        }
        (None, Some(algorithm), _) => {
            let request = request(given, algorithm, &state.folder)?;
            Ok(Subject::Algorithm(request.make(network).map_err(Refusal::bad_input)?))
        }
        (None, None, Some(routing)) => {
            let routing = routing_named(routing).map_err(Refusal::bad_input)?;
            let root = routing.root(network, given.get("root")).map_err(Refusal::bad_input)?;
            let options = options(given, &state.folder)?;
            if let Some(other) =
                options.given().find(|&option| option != AlgorithmOption::CrossLinks || !routing.cross_links)
            {
                return Err(Refusal::BadInput(format!("the routing `{}` has no option `{other}`", routing.name)));
            }
            given.without(&["failed", "information"], "about failed links, and links fail only for an algorithm")?;
            let seed = given.number("seed", 0..=u64::MAX)?.unwrap_or_default();
            let options = RoutingOptions { seed, root, tree_only: options.tree_only() };
            Ok(Subject::Routing(routing.make(network, &options).map_err(Refusal::bad_input)?))
        }
        _ => Err(Refusal::BadInput("expected one of `routing`, `algorithm` or `tables`".to_owned())),
    }
}

fn tables(state: &State, given: &Given, network: &Arc<Network>, file: &str) -> Result<Subject, Refusal> {
    let path = |name: &str| Ok::<_, Refusal>(state.folder.file(name)?.display().to_string());
    let tables = read_tables(network, &path(file)?).map_err(Refusal::bad_input)?;
    let multicasts = given.get("multicast_tables").map(|file| {
        let read = read_multicast_tables(network, &path(file)?).map_err(Refusal::bad_input)?;
        match given.get("groups") {
            Some(groups) => read_members(read, &tables, &path(groups)?).map_err(Refusal::bad_input),
            None => Ok(read),
        }
    });
    let branching = match given.get("branching") {
        None => GroupBranching::Packets,
        Some(name) => GroupBranching::named(name).ok_or_else(|| {
            let all = GroupBranching::ALL.map(GroupBranching::name);
            let expected = wormcast_network::text::expected_name(name, all);
            Refusal::BadInput(format!("there is no branching `{name}`{expected}"))
        })?,
    };
    let multicasts = multicasts.transpose()?.map(Box::new);
    let mut lanes = None;
    if given.get("lanes").is_some() || given.get("sl2vl").is_some() {
        let mut read = VirtualLanes::new(network).map_err(Refusal::bad_input)?;
        if let Some(file) = given.get("lanes") {
            read = read_levels(read, &tables, &path(file)?).map_err(Refusal::bad_input)?;
        }
        if let Some(file) = given.get("sl2vl") {
            read = read_maps(read, &path(file)?).map_err(Refusal::bad_input)?;
        }
        lanes = Some(Box::new(read));
    }
    Ok(Subject::Tables { file: file.to_owned(), tables: Box::new(tables), multicasts, branching, lanes })
}

/// The report, written where it is made: its proof has the channels of the network.
fn report(state: &State, given: &Given) -> Result<Box<RawValue>, Refusal> {
    let (settings, network) = (settings(given)?, state.folder.network(given.need("topology")?)?);
    let subject = subject(state, given, &network)?;
    let doubts = doubts(&subject, given);
    let found = match &subject {
        Subject::Algorithm(algorithm) => of_algorithm(algorithm.as_ref(), &settings),
        Subject::Routing(relation) => of_routing(relation.as_ref(), &settings),
        Subject::Tables { file, tables, multicasts: None, lanes: None, .. } => of_tables(file, tables, &settings),
        Subject::Tables { file, tables, multicasts, branching, lanes } => {
            let multicasts = multicasts.as_deref().map(|multicasts| (multicasts, *branching));
            of_fabric(&Fabric { name: file, tables, multicasts, lanes: lanes.as_deref() }, &settings)
        }
    };
    let report = found.map_err(Refusal::bad_input)?;
    let warnings: Vec<String> =
        doubts.into_iter().chain(idle(&subject, given, &settings, &network, &report)?).collect();
    let cycle = report.resources.as_deref();
    let held = |resource: &CycleResource| Held {
        text: resource.to_string(),
        channel: resource.channel().map(ChannelId::raw),
        node: if let CycleResource::Consumption { consumption, .. } = resource { Some(*consumption) } else { None },
    };
    let numbering = report.numbering.as_ref();
    let mut failed_links = Vec::new();
    if let (Subject::Algorithm(_), Some(algorithm)) = (&subject, given.get("algorithm")) {
        let request = request(given, algorithm, &state.folder)?;
        let failed = request.faults.on(&network, request.seed).map_err(Refusal::bad_input)?.links;
        failed_links.extend(failed.into_iter().map(|link| network.link_label(link).replace(" -> ", " - ")));
    }
    let answer = Answer {
        report: &report,
        cycle_resources: cycle.map(|cycle| cycle.iter().map(held).collect()),
        numbering: numbering.map(|numbers| network.channel_ids().map(|channel| numbers.number(channel)).collect()),
        all_prohibited: report.turns.map(|_| report.all_prohibited),
        loads: report.link_load.as_ref().map(|load| &load.by_channel[..]),
        failed_links,
        warning: (!warnings.is_empty()).then(|| warnings.join("; ")),
    };
    serde_json::value::to_raw_value(&answer).map_err(Refusal::failed)
}

/// The parameters that make no difference to an analysis, as the command warns of its options.
fn idle(
    subject: &Subject,
    given: &Given,
    settings: &Settings,
    network: &Network,
    report: &Report,
) -> Result<Vec<String>, Refusal> {
    let routing = given.get("routing").map(routing_named).transpose().map_err(Refusal::bad_input)?;
    let (idle, other) = match subject {
        Subject::Algorithm(algorithm) => {
            let (name, divided) = (algorithm.name(), algorithm.needed_virtual_channels().0 > 1);
            let idle = settings.idle(network, report, &format!("`{name}`"), algorithm.branching(), divided);
            let option = algorithm.capabilities().idle_option();
            let option = option.map(|(option, reason)| no_difference(&option.to_string(), reason));
            let descriptor = Descriptor::named(given.get("algorithm").unwrap_or(name)).map_err(Refusal::bad_input)?;
            let draws = descriptor.draws_on(network, routing);
            (idle, [option, idle_seed(given, name, draws)])
        }
        Subject::Routing(relation) => {
            let divided = relation.capabilities().virtual_channels.is_some();
            let draws = routing.is_some_and(|routing| routing.draws_on(network));
            (settings.idle_ports(divided), [None, idle_seed(given, relation.name(), draws)])
        }
        Subject::Tables { .. } => (settings.idle_ports(false), [None, None]),
    };
    let settings = idle.iter().map(|setting| no_difference(setting.name, &setting.reason));
    Ok(settings.chain(other.into_iter().flatten()).collect())
}

/// Why the files of what is analysed may not be whole.
fn doubts(subject: &Subject, given: &Given) -> Vec<String> {
    match subject {
        Subject::Algorithm(algorithm) => algorithm.capabilities().doubt.map(str::to_owned).into_iter().collect(),
        Subject::Routing(_) => Vec::new(),
        Subject::Tables { file, tables, multicasts, .. } => {
            let of_groups = multicasts.as_ref().map(|multicasts| {
                let file = given.get("multicast_tables").unwrap_or_default();
                multicasts.doubts(file).into_iter().chain(multicasts.silence())
            });
            tables.doubt(file).into_iter().chain(of_groups.into_iter().flatten()).collect()
        }
    }
}

fn edges(state: &State, given: &Given) -> Result<DirectDependencies, Refusal> {
    let (settings, network) = (settings(given)?, state.folder.network(given.need("topology")?)?);
    match &subject(state, given, &network)? {
        Subject::Algorithm(algorithm) => {
            let (dependencies, _) =
                dependencies_of_algorithm(algorithm.as_ref(), &settings).map_err(Refusal::bad_input)?;
            listed(&dependencies, algorithm.needed_virtual_channels().0 > 1)
        }
        Subject::Routing(relation) => {
            let divided = relation.capabilities().virtual_channels.is_some();
            listed(&Dependencies::of_relation(relation.as_ref()), divided)
        }
        Subject::Tables { tables, multicasts: None, lanes, .. } => {
            listed(&Dependencies::of_tables(tables), lanes.is_some())
        }
        Subject::Tables { tables, multicasts: Some(multicasts), branching, lanes, .. } => {
            let mut dependencies = Dependencies::of_tables(tables);
            dependencies.add_worms(|worms| {
                for group in 0..multicasts.groups().len() {
                    multicasts.add(worms, group, *branching, None);
                }
            });
            listed(&dependencies, lanes.is_some())
        }
    }
}

fn listed(dependencies: &Dependencies<'_>, divided: bool) -> Result<DirectDependencies, Refusal> {
    let direct = dependencies.direct();
    if direct.len() > MOST_EDGES {
        let count = direct.len();
        let message = format!(
            "there are {count} dependencies, more than the {MOST_EDGES} that can be drawn: choose a smaller network"
        );
        return Err(Refusal::Failed(message));
    }
    let edges = direct.map(|(held, requested)| [held.raw(), requested.raw()]).collect();
    Ok(DirectDependencies { edges, further: !dependencies.are_of_unicasts(), divided })
}
