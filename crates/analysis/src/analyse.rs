//! The analyses of routings, tables, algorithms and given multicasts.

use std::sync::Arc;

use wormcast_multicast::{Algorithm, Descriptor, Sends, worm_kinds};
use wormcast_network::{ChannelId, Network, require_memory};
use wormcast_routing::{
    ChannelNumbering, ClosedForm, Dependencies, ForwardingTables, Resource, RoutingRelation, TurnRouting,
    analyse_tables, synchronous_deadlock, witness_in_classes, witness_of_relation, witness_of_tables,
};
use wormcast_simulation::Scenario;

use crate::error::AnalysisError;
use crate::multicasts::{Adding, Multicasts};
use crate::reachability::{Question, by_tables, reach, unicasts};
use crate::report::{CycleResource, EXAMPLES, Load, Report, Step, WormsAnalysed};
use crate::settings::{Replicating, Settings, replicated};
use crate::tables::TablesFound;

/// What a report lacks if the search was stopped.
const REACHABILITY: &str = "whether the deadlock can be reached";

/// The routing of unicasts.
#[derive(Clone, Copy)]
pub enum Unicasts<'a> {
    /// A routing relation: worms from every node to every other.
    Routing(&'a dyn RoutingRelation),
    /// Forwarding tables, with their name in the report, such as that of their file: worms from every node to every address of
    /// every other.
    Tables(&'a str, &'a ForwardingTables),
}

impl<'a> Unicasts<'a> {
    fn relation(self) -> &'a dyn RoutingRelation {
        match self {
            Self::Routing(relation) => relation,
            Self::Tables(_, tables) => tables,
        }
    }

    /// The network.
    pub fn network(self) -> &'a Arc<Network> {
        self.relation().network()
    }

    fn dependencies(self) -> Result<Dependencies<'a>, AnalysisError> {
        match self {
            Self::Routing(relation) => {
                // Routes to everyone are followed.
                let network = relation.network();
                let needed = relation.capabilities().target_bytes * network.routers() as u64;
                let what = format_args!("`{}` on {} keeps tables and", relation.name(), network.name());
                require_memory(what, needed, |_| None)?;
                Ok(Dependencies::of_relation(relation))
            }
            Self::Tables(_, tables) => Ok(Dependencies::of_tables(tables)),
        }
    }

    /// All messages of unicasts; `None` if one does not arrive.
    fn messages(self) -> Option<Vec<wormcast_simulation::Sendable>> {
        match self {
            Self::Routing(_) => Some(unicasts(self.network())),
            Self::Tables(_, tables) => by_tables(tables),
        }
    }
}

/// Analyses the unicasts of a routing: whether they can deadlock, how long their routes are, and how they load links.
///
/// O(channels x degree) for routings over permitted turns that cannot deadlock, otherwise the time to follow all routes;
/// O(routers x channels) for distances and loads.
///
/// # Errors
/// If the tables of the routing do not fit in memory, or if the settings ask whether a deadlock can be reached by worms that the search
/// does not cover.
pub fn of_routing(relation: &dyn RoutingRelation, settings: &Settings) -> Result<Report, AnalysisError> {
    let (network, settings) = (relation.network(), &settings.on_channels_of(relation));
    // All permitted turns together say more than the routes that are taken, and sooner.
    let turns = relation.capabilities().turns.map(TurnRouting::turns);
    let numbering = turns.and_then(|turns| proof(network, |held, requested| turns.permits(network, held, requested)));
    match numbering {
        Some(numbering) => {
            let found = Found { cycle: None, virtual_channels: None, numbering: Some(numbering), multicasts: None };
            report(Unicasts::Routing(relation), settings, found)
        }
        None => of_unicasts(Unicasts::Routing(relation), settings),
    }
}

/// Analyses unicasts by forwarding tables: whether they can deadlock, which do not arrive, and how they load links. `name` is the tables'
/// name in the report, such as that of their file.
///
/// # Errors
/// If the settings ask whether a deadlock can be reached, and messages do not arrive or the search does not cover the worms.
pub fn of_tables(name: &str, tables: &ForwardingTables, settings: &Settings) -> Result<Report, AnalysisError> {
    of_unicasts(Unicasts::Tables(name, tables), settings)
}

fn of_unicasts(unicasts: Unicasts<'_>, settings: &Settings) -> Result<Report, AnalysisError> {
    let dependencies = unicasts.dependencies()?;
    let found = Found::new(unicasts.network(), dependencies, settings, None);
    report(unicasts, settings, found)
}

/// Analyses whether unicasts together with the multicasts that `give` adds can deadlock. Unless the settings say otherwise,
/// trees are replicated in lockstep.
///
/// ```
/// use wormcast_analysis::{AnalysisError, Settings, Unicasts, of_multicasts};
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// // Two trees on a line, from its inner routers to both ends: each holds what the other's second branch needs.
/// let line = "mesh:4".parse::<TopologySpec>()?.build()?;
/// let trees = algorithm_by_name("tree-one", &line, &Options::default())?;
/// let report = of_multicasts(Unicasts::Routing(trees.routing()), &Settings::default(), |adding| {
///     for source in [1, 2] {
///         let multicast = Multicast::new(NodeId::new(source), &[NodeId::new(0), NodeId::new(3)]);
///         adding.add(u64::from(source), trees.routing(), &multicast, &trees.plan(&multicast))?;
///     }
///     Ok::<(), AnalysisError>(())
/// })?;
/// assert!(!report.deadlock_free && report.multicasts == Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`of_routing`] and [`of_tables`]; if switches route given worms; or the error of `give`.
pub fn of_multicasts<'n, E: From<AnalysisError>>(
    unicasts: Unicasts<'n>,
    settings: &Settings,
    give: impl FnOnce(&mut Adding<'_, '_, 'n>) -> Result<(), E>,
) -> Result<Report, E> {
    let (network, settings) = (unicasts.network(), &settings.on_channels_of(unicasts.relation()));
    let branching = settings.given_branching(network)?;
    // Where virtual channels are told apart, worms are followed on as many as there are.
    let mut dependencies = unicasts.dependencies()?.with_virtual_channels(settings.virtual_channels());
    let multicasts = Multicasts::beside(unicasts.relation(), branching, &mut dependencies, give)?;
    let found = Found::new(network, dependencies, settings, Some(multicasts));
    Ok(report(unicasts, settings, found)?)
}

/// Analyses whether the worms that an algorithm may send can deadlock, whatever their destinations. Also how long its routes are and
/// how it loads links.
///
/// # Errors
/// If the settings are not for worms of this kind, if there are fewer consumption channels than worms are bound to, or if the settings ask
/// whether a deadlock can be reached by worms that the search does not cover.
pub fn of_algorithm(algorithm: &dyn Algorithm, settings: &Settings) -> Result<Report, AnalysisError> {
    let (network, needed) = (algorithm.network(), algorithm.needed_virtual_channels().0);
    let settings = &settings.on_channels(u32::from(needed));
    let consumption_ports = settings.consumption_ports(Some(algorithm));
    let trees = worm_kinds(algorithm).trees;
    let (dependencies, cycle) = replicated(settings, algorithm, consumption_ports)?;
    let relation = algorithm.routing();
    let on = virtual_channels_of(&dependencies, cycle.as_deref(), settings, consumption_ports);
    let resources = told(network, cycle.as_deref(), on.as_deref());
    let mut report = Report::new(network, relation.name(), consumption_ports, resources);
    report.algorithm = Some(algorithm.name().to_owned());
    report.numbering = unicast_proof(network, &dependencies);
    report.worms = WormsAnalysed { only_unicasts: dependencies.are_of_unicasts(), trees };
    drop(dependencies);
    report.add_routing(relation, settings);
    report.replication =
        settings.replication.or_else(|| algorithm.capabilities().switches.map(|_| Replicating::Asynchronous));
    if let Some(budget) = settings.reachable {
        let question = Question {
            messages: None,
            algorithm: Some(algorithm),
            consumption_ports,
            fixed: false,
            safe: report.deadlock_free,
        };
        let reached = report.part(REACHABILITY, || reach(settings, budget, relation, question));
        report.reachability = reached.transpose()?;
    }
    Ok(report)
}

/// What the worms of an algorithm may wait for with these settings, and whether they can deadlock: a shortest cycle of resources found, each held while waiting
/// for the next. It is the verdict of [`of_algorithm`], without the rest of the report.
///
/// # Errors
/// As [`of_algorithm`].
pub fn dependencies_of_algorithm<'n>(
    algorithm: &'n dyn Algorithm,
    settings: &Settings,
) -> Result<(Dependencies<'n>, Option<Vec<Resource>>), AnalysisError> {
    let settings = settings.on_channels(u32::from(algorithm.needed_virtual_channels().0));
    replicated(&settings, algorithm, settings.consumption_ports(Some(algorithm)))
}

/// Whether the worms of a scenario can deadlock with its switches: a shortest cycle of resources found, each held while waiting for the next.
/// It checks nothing else, so it is faster than [`of_algorithm`]; [`steps_of_scenario`] says by how much.
pub fn deadlock_of_scenario(scenario: &Scenario) -> Option<Vec<Resource>> {
    let (algorithm, config) = (scenario.algorithm(), scenario.engine_config());
    match algorithm.capabilities().switches {
        Some(switches) if scenario.switch_config().is_some_and(|switch| switch.is_synchronous()) => {
            synchronous_deadlock(switches, false).map(|held| held.to_vec())
        }
        _ if are_unicasts_over_proven_turns(algorithm) => None,
        _ => {
            let dependencies = algorithm.dependencies_with(config.branching());
            dependencies.with_virtual_channels(config.virtual_channels).deadlock(config.ports.consumption)
        }
    }
}

/// Whether all worms are unicasts over permitted turns that have no cycle: then no routes have to be followed.
fn are_unicasts_over_proven_turns(algorithm: &dyn Algorithm) -> bool {
    let unicasts = sent_by(algorithm) == Some(Sends::Unicasts);
    let turns = algorithm.routing().capabilities().turns.map(TurnRouting::turns).filter(|_| unicasts);
    let network = algorithm.network();
    turns.is_some_and(|turns| proof(network, |held, next| turns.permits(network, held, next)).is_some())
}

/// What a built-in algorithm sends; nothing is known of others.
fn sent_by(algorithm: &dyn Algorithm) -> Option<Sends> {
    Descriptor::named(algorithm.name()).ok().filter(|descriptor| !descriptor.is_own())?.sends
}

/// The time that [`deadlock_of_scenario`] takes, roughly, in steps of some tens of nanoseconds: the routers times the channels where routes have to be followed, and else a few for each channel,
/// for path worms, worms that switches replicate, trees and unicasts over permitted turns, and unicasts whose relation has a [closed form](wormcast_routing::ClosedForm). Where path worms are followed by virtual
/// channels, from every stop to every other one, the routers squared times the channels.
pub fn steps_of_scenario(scenario: &Scenario) -> usize {
    /// For each channel: the turns from it and to it, each looked at several times.
    const TURNS: usize = 64;
    let (network, algorithm) = (scenario.network(), scenario.algorithm());
    let relation = algorithm.routing();
    let divided = relation.capabilities().virtual_channels.is_some();
    let over_turns = relation.capabilities().turns.is_some();
    let sent = sent_by(algorithm);
    if divided && sent == Some(Sends::Paths) {
        return network.routers().saturating_mul(network.routers()).saturating_mul(network.channels());
    }
    let at_once = match sent {
        Some(Sends::Paths | Sends::Encoded) => true,
        Some(Sends::Unicasts) => over_turns || <dyn ClosedForm>::of(relation).is_some(),
        Some(Sends::Trees) => over_turns,
        None => false,
    };
    let each = if at_once { network.routers().min(TURNS) } else { network.routers() };
    network.channels().saturating_mul(each)
}

/// The result of the check of unicasts, and of multicasts beside them.
struct Found<'n> {
    cycle: Option<Vec<Resource>>,
    /// The virtual channel of each channel of the cycle, where the routing divides several.
    virtual_channels: Option<Vec<Option<u32>>>,
    numbering: Option<ChannelNumbering>,
    multicasts: Option<Multicasts<'n>>,
}

impl<'n> Found<'n> {
    fn new(
        network: &'n Network,
        dependencies: Dependencies<'n>,
        settings: &Settings,
        multicasts: Option<Multicasts<'n>>,
    ) -> Self {
        let dependencies = dependencies.with_virtual_channels(settings.virtual_channels());
        let cycle = dependencies.deadlock(settings.consumption_ports(None));
        let ports = settings.consumption_ports(None);
        let virtual_channels = virtual_channels_of(&dependencies, cycle.as_deref(), settings, ports);
        Self { cycle, virtual_channels, numbering: unicast_proof(network, &dependencies), multicasts }
    }
}

/// The virtual channel of each channel of a cycle, where several are told apart.
fn virtual_channels_of(
    dependencies: &Dependencies<'_>,
    cycle: Option<&[Resource]>,
    settings: &Settings,
    consumption_ports: u32,
) -> Option<Vec<Option<u32>>> {
    if cycle.is_none() || settings.virtual_channels() == 1 {
        return None;
    }
    let divided = dependencies.divided_deadlock(consumption_ports)?;
    Some(divided.into_iter().map(|(_, virtual_channel)| virtual_channel).collect())
}

/// The resources of a cycle for the report, with their virtual channels.
fn told(
    network: &Network,
    cycle: Option<&[Resource]>,
    virtual_channels: Option<&[Option<u32>]>,
) -> Option<Vec<CycleResource>> {
    let resources = CycleResource::all(network, cycle)?;
    let Some(on) = virtual_channels else { return Some(resources) };
    let told = |(resource, &on): (CycleResource, &Option<u32>)| match on {
        Some(on) => resource.on_virtual_channel(on),
        None => resource,
    };
    Some(resources.into_iter().zip(on).map(told).collect())
}

/// The report on unicasts, and on multicasts beside them.
fn report(unicasts: Unicasts<'_>, settings: &Settings, found: Found<'_>) -> Result<Report, AnalysisError> {
    let network = unicasts.network();
    let Found { cycle, virtual_channels, numbering, multicasts } = found;
    let (relation, consumption_ports) = (unicasts.relation(), settings.consumption_ports(None));
    let (cycle, multicasts) = (cycle.as_deref(), multicasts.as_ref());
    let on = virtual_channels.as_deref();
    let resources = told(network, cycle, on);
    let mut report = Report::new(network, relation.name(), consumption_ports, resources);
    report.numbering = numbering;
    report.replication = settings.replication;
    let trees = multicasts.is_some_and(Multicasts::has_trees);
    report.worms = WormsAnalysed { only_unicasts: multicasts.is_none(), trees };
    match unicasts {
        Unicasts::Routing(relation) => {
            report.add_routing(relation, settings);
            let is_divided = relation.capabilities().virtual_channels.is_some();
            let find = |step: Step| match step {
                _ if is_divided => witness_in_classes(relation, step, settings.virtual_channels() as usize, EXAMPLES),
                [held, requested] => witness_of_relation(relation, (held.0, requested.0), EXAMPLES),
            };
            report.add_witnesses(network, cycle, on, &find, multicasts);
        }
        Unicasts::Tables(name, tables) => {
            let led = analyse_tables(tables);
            report.add_survey(led.survey);
            report.link_load = Some(Load::new(network, led.load.clone()));
            report.tables = Some(TablesFound::new(name, tables, &led));
            let find = |[held, requested]: Step| witness_of_tables(tables, (held.0, requested.0), EXAMPLES);
            report.add_witnesses(network, cycle, on, &find, multicasts);
        }
    }
    if let Some(budget) = settings.reachable {
        let safe = report.deadlock_free;
        // Without a deadlock there is no search for messages that reach it.
        let messages = if safe { None } else { unicasts.messages() };
        let messages = match multicasts {
            Some(multicasts) => multicasts.with(messages),
            None => messages,
        };
        let fixed = matches!(unicasts, Unicasts::Tables(..)) || multicasts.is_some_and(Multicasts::has_fixed_paths);
        let question = Question { messages, algorithm: None, consumption_ports, fixed, safe };
        let reached = report.part(REACHABILITY, || reach(settings, budget, relation, question));
        report.reachability = reached.transpose()?;
    }
    Ok(report)
}

/// A checked proof that worms that take only such steps from channel to channel cannot deadlock.
fn proof(network: &Network, may_follow: impl Fn(ChannelId, ChannelId) -> bool) -> Option<ChannelNumbering> {
    let proof = ChannelNumbering::find(network, &may_follow).ok()?;
    proof.check(network, &may_follow).is_ok().then_some(proof)
}

/// A numbering that proves dependencies free of cycles, if all of them are of unicasts: stops and trees need more than a numbering.
fn unicast_proof(network: &Network, dependencies: &Dependencies<'_>) -> Option<ChannelNumbering> {
    let unicasts = dependencies.are_of_unicasts();
    unicasts.then(|| proof(network, |held, next| dependencies.contains(held, next))).flatten()
}
