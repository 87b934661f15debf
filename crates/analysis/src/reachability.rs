//! Whether the deadlock that the check calls possible can be reached, and messages that reach it.

use serde::Serialize;
use wormcast_multicast::{Algorithm, Branch, Itinerary, Multicast, Plan, Tree, Worm};
use wormcast_network::watch::step_every;
use wormcast_network::{Network, NodeId};
use wormcast_routing::{ForwardingTables, MergedClasses, Output, RoutingRelation, Target};
use wormcast_simulation::{
    Buffer, DeadlockSchedule, EngineConfig, NotCovered, Reachability, ReachabilityVerdict, Sendable, Timing, Undecided,
    Wormhole, search_deadlock,
};

use crate::error::AnalysisError;
use crate::settings::{Replicating, Settings};

/// Whether a deadlock can be reached.
#[derive(Clone, Debug, Serialize)]
pub struct Reached {
    /// `reachable`, `not reachable` or `not decided`.
    pub verdict: &'static str,
    /// Messages that deadlock, in the order of their cycles.
    pub witness: Option<Vec<Sent>>,
    /// The settings that a run of the witness needs.
    pub settings: RunSettings,
    /// The steps spent.
    pub spent: u64,
    /// The budget, in steps.
    pub budget: u64,
    /// Why the search did not decide, and what it would take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The witness as a trace that experiments read.
    #[serde(skip)]
    pub trace: Option<String>,
}

/// A message of a witness.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Sent {
    /// The cycle in which it is generated.
    pub cycle: u64,
    /// The node that sends it.
    pub source: u32,
    /// Its data flits.
    pub length: u32,
    /// Its destinations.
    pub destinations: Vec<u32>,
}

/// The settings of a witness's run, by the names that experiment files have for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct RunSettings {
    /// What the buffer of a channel holds.
    pub buffer: Buffer,
    /// Injection channels of a node.
    pub injection_ports: u32,
    /// Consumption channels of a node.
    pub consumption_ports: u32,
    /// Virtual channels of a link.
    pub virtual_channels: u32,
    /// The startup of a worm, in cycles.
    pub startup: u32,
    /// The routing delay of a header, in cycles.
    pub routing_delay: u32,
    /// How trees are replicated, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replication: Option<Replicating>,
}

impl RunSettings {
    fn new(config: &EngineConfig, replication: Option<Replicating>) -> Self {
        let whole = config.buffer == Buffer::WHOLE;
        Self {
            buffer: if whole { Buffer::Message } else { Buffer::Flits(config.buffer) },
            injection_ports: config.ports.injection,
            consumption_ports: config.ports.consumption,
            virtual_channels: config.virtual_channels,
            startup: config.startup,
            routing_delay: config.routing_delay,
            replication,
        }
    }
}

/// What the search covers, beside the network and the relation.
pub(crate) struct Question<'a> {
    /// The messages that may be sent.
    pub(crate) messages: Option<Vec<Sendable>>,
    /// The algorithm, if worms are those of one.
    pub(crate) algorithm: Option<&'a dyn Algorithm>,
    pub(crate) consumption_ports: u32,
    /// Whether some paths take channels that do not depend on the relation.
    pub(crate) fixed: bool,
    /// Whether the check has found that there is no deadlock.
    pub(crate) safe: bool,
}

/// Every node's message to each other node.
pub(crate) fn unicasts(network: &Network) -> Vec<Sendable> {
    let pairs = network.node_ids().flat_map(|from| network.node_ids().map(move |to| (from, to)));
    let unicast = |(from, to): (NodeId, NodeId)| Sendable {
        multicast: Multicast::new(from, &[to]),
        plan: Plan { worms: vec![Worm::path(from, vec![to])] },
    };
    pairs.filter(|(from, to)| from != to).map(unicast).collect()
}

/// Every node's message to each address of each other node, as tables route it. `None` if one does not arrive.
pub(crate) fn by_tables(tables: &ForwardingTables) -> Option<Vec<Sendable>> {
    let network = tables.network();
    let mut messages = Vec::new();
    for (place, destination) in tables.destinations().iter().enumerate() {
        let Target::Node(to) = destination.target else { continue };
        for from in network.node_ids().filter(|&from| from != to) {
            let mut branches: Vec<Branch> = Vec::new();
            let mut at = network.entry_of(from);
            loop {
                match tables.output(at, place)? {
                    Output::Node(node) if node == to => break,
                    Output::Channel(channel) if branches.len() < network.channels() => {
                        let parent = (branches.len() as u32).checked_sub(1);
                        branches.push(Branch { channel, parent, delivers: Vec::new() });
                        at = network.to(channel);
                    }
                    _ => return None,
                }
            }
            messages.push(chain(from, branches, to));
        }
    }
    Some(messages)
}

/// A worm on fixed channels: a tree that does not branch.
fn chain(from: NodeId, mut branches: Vec<Branch>, to: NodeId) -> Sendable {
    let worm = match branches.last_mut() {
        Some(last) => {
            last.delivers = vec![to];
            Worm::tree(from, branches)
        }
        None => Worm::path(from, vec![to]),
    };
    Sendable { multicast: Multicast::new(from, &[to]), plan: Plan { worms: vec![worm] } }
}

/// A plan's paths on the fixed channels that their own relation gives, as the engine has one relation for all; `None` if it leaves a choice.
pub(crate) fn fixed(relation: &dyn RoutingRelation, plan: &Plan) -> Option<Plan> {
    let network = relation.network();
    let fix = |worm: &Worm| -> Option<Worm> {
        let Itinerary::Path(path) = &worm.itinerary else { return Some(worm.clone()) };
        let (mut at, mut arrived) = (network.entry_of(worm.from), None);
        let mut tree = Tree::default();
        let mut candidates = Vec::new();
        for &stop in &path.stops {
            let target = network.router_of(stop);
            while at != target || (arrived.is_none() && path.exit.is_some()) {
                match (arrived, path.exit) {
                    (None, Some(exit)) => candidates = vec![exit],
                    _ => relation.candidates(at, arrived, target, &mut candidates),
                }
                let &[channel] = &candidates[..] else { return None };
                let parent = (tree.branches.len() as u32).checked_sub(1);
                tree.branches.push(Branch { channel, parent, delivers: Vec::new() });
                (at, arrived) = (network.to(channel), Some(channel));
                if tree.branches.len() > 2 * network.channels() {
                    return None;
                }
            }
            match tree.branches.last_mut() {
                Some(last) => last.delivers.push(stop),
                None => tree.delivers.push(stop),
            }
        }
        Some(Worm { itinerary: Itinerary::Tree(tree), ..worm.clone() })
    };
    Some(Plan { worms: plan.worms.iter().map(fix).collect::<Option<Vec<Worm>>>()? })
}

/// Every message of an algorithm: from each node to each set of others. Each takes a step of the budget, and each branch of its worms and
/// each destination another one; the error says why that was not enough.
fn multicasts(algorithm: &dyn Algorithm, budget: &mut u64) -> Result<Vec<Sendable>, String> {
    let network = algorithm.network();
    let (nodes, all) = (network.nodes() as u32, *budget);
    let count = 1u64.checked_shl(nodes - 1).filter(|_| nodes <= 63).and_then(|sets| sets.checked_mul(u64::from(nodes)));
    let Some(count) = count.filter(|&count| count <= all) else {
        return Err(format!(
            "it takes a step for each of the {nodes} x 2^{} sets of destinations, and more for their worms",
            nodes - 1
        ));
    };
    let mut messages = Vec::new();
    for source in network.node_ids() {
        let others: Vec<NodeId> = network.node_ids().filter(|&node| node != source).collect();
        for set in 1u64..1 << others.len() {
            step_every(8, "planning every message", "messages", messages.len(), count as usize);
            let destinations = others.iter().enumerate().filter(|&(place, _)| set & 1 << place != 0);
            let multicast = Multicast::from_vec(source, destinations.map(|(_, &node)| node).collect());
            if algorithm.refusal(&multicast).is_some() {
                continue;
            }
            let plan = algorithm.plan(&multicast);
            let cost = 1 + plan.worms.iter().map(parts).sum::<usize>() as u64;
            let Some(left) = budget.checked_sub(cost) else {
                let needed = (u128::from(all) * u128::from(count)).div_ceil(messages.len().max(1) as u128);
                return Err(format!(
                    "{all} steps were enough to plan {} of {count} messages: it takes more than {needed}",
                    messages.len()
                ));
            };
            *budget = left;
            messages.push(Sendable { multicast, plan });
        }
    }
    Ok(messages)
}

/// The parts of a worm's plan.
fn parts(worm: &Worm) -> usize {
    match &worm.itinerary {
        Itinerary::Path(path) => path.stops.len(),
        Itinerary::Tree(tree) => tree.branches.len(),
        Itinerary::Encoded(_) => 1,
    }
}

/// The part of the budget that is kept for a second search.
const KEPT: u64 = 8;

/// Searches with a budget of `budget` steps.
pub(crate) fn reach(
    settings: &Settings,
    budget: u64,
    relation: &dyn RoutingRelation,
    question: Question<'_>,
) -> Result<Reached, AnalysisError> {
    let Question { messages, algorithm, consumption_ports, fixed, safe } = question;
    let config = config(settings, relation.network(), algorithm, consumption_ports);
    let answer = |verdict, spent, reason| Reached {
        verdict,
        witness: None,
        settings: RunSettings::new(&config, settings.replication),
        spent,
        budget,
        reason,
        trace: None,
    };
    if fixed && config.virtual_channels > 1 {
        return Err(NotCovered::VirtualChannels.into());
    }
    if safe {
        return Ok(answer("not reachable", 0, None));
    }
    // On fewer virtual channels than its classes need, what they lack is one with the last, as the check has it.
    let relation = &MergedClasses::new(relation);
    let mut left = budget;
    let messages = match (messages, algorithm) {
        (Some(messages), _) => messages,
        (None, Some(algorithm)) => match multicasts(algorithm, &mut left) {
            Ok(messages) => messages,
            Err(reason) => return Ok(answer("not decided", budget - left, Some(reason))),
        },
        (None, None) => return Err(AnalysisError::Undelivered),
    };
    let kept = left / KEPT;
    let mut search = |config: &EngineConfig, kept: u64| {
        let found = search_deadlock(relation, config, &messages, left - kept)?;
        left -= found.spent;
        Ok::<_, AnalysisError>(Reachability { spent: budget - left, budget, ..found })
    };
    let mut run = config;
    let mut found = search(&config, kept)?;
    if let ReachabilityVerdict::NotDecided(Undecided::NoSchedule | Undecided::Sets { .. }) = found.verdict {
        // Worms of one node that start without delay meet in more ways.
        let more = search(&EngineConfig { startup: 0, ..config }, 0)?;
        // What is left of the budget may not be enough to say more than the first search.
        if matches!(more.verdict, ReachabilityVerdict::NotDecided(Undecided::Routes | Undecided::Sets { .. })) {
            found.spent = more.spent;
        } else {
            (found, run.startup) = (more, 0);
        }
    }
    Ok(Reached::new(&found, RunSettings::new(&run, settings.replication)))
}

fn config(
    settings: &Settings,
    network: &Network,
    algorithm: Option<&dyn Algorithm>,
    consumption_ports: u32,
) -> EngineConfig {
    let own = algorithm.and_then(|algorithm| algorithm.capabilities().ports);
    let switching = Wormhole {
        virtual_channels: settings.virtual_channels(),
        injection_ports: own.map(|ports| ports.injection),
        consumption_ports: Some(consumption_ports),
        ..settings.switching()
    };
    let switching = match algorithm {
        Some(algorithm) => switching.for_branching(algorithm.branching()),
        None => switching,
    };
    EngineConfig::new(&switching, &Timing::default(), network)
}

impl Reached {
    fn new(found: &Reachability, settings: RunSettings) -> Self {
        let (verdict, reason) = match found.verdict {
            ReachabilityVerdict::Reachable(_) => ("reachable", None),
            ReachabilityVerdict::NotReachable => ("not reachable", None),
            ReachabilityVerdict::NotDecided(why) => ("not decided", Some(reason(why, found))),
        };
        let witness = match &found.verdict {
            ReachabilityVerdict::Reachable(witness) => Some(witness),
            _ => None,
        };
        let sent = |witness: &DeadlockSchedule| {
            let messages = witness.messages.iter().map(|message| Sent {
                cycle: message.at,
                source: message.source.raw(),
                length: message.length,
                destinations: message.destinations.iter().map(|node| node.raw()).collect(),
            });
            messages.collect()
        };
        Self {
            verdict,
            witness: witness.map(sent),
            settings,
            spent: found.spent,
            budget: found.budget,
            reason,
            trace: witness.map(|witness| format!("# {}\n{witness}", settings.text())),
        }
    }
}

impl RunSettings {
    /// As people read them.
    pub fn text(&self) -> String {
        let Self { injection_ports, consumption_ports, virtual_channels, startup, routing_delay, .. } = self;
        let buffer = match self.buffer {
            Buffer::Flits(flits) => flits.to_string(),
            Buffer::Message => "\"message\"".to_owned(),
        };
        let several =
            if *virtual_channels > 1 { format!(", virtual_channels {virtual_channels}") } else { String::new() };
        // Of the ways that trees can go, the search covers one.
        let lockstep = self.replication == Some(Replicating::Lockstep);
        let replicated = if lockstep { ", replication \"lockstep\"" } else { "" };
        format!(
            "startup {startup}, routing_delay {routing_delay}, buffer {buffer}, injection_ports {injection_ports}, \
             consumption_ports {consumption_ports}{several}{replicated}"
        )
    }
}

fn reason(why: Undecided, found: &Reachability) -> String {
    let budget = found.budget;
    match why {
        Undecided::Routes => format!("{budget} steps were not enough to follow all routes of worms"),
        Undecided::Sets { begun: 0, of } => {
            format!("{budget} steps were not enough for the sets with the first of {of} worms")
        }
        Undecided::Sets { begun, of } => {
            let needed = (u128::from(budget) * of as u128).div_ceil(begun as u128);
            format!("{budget} steps were enough for {begun} of {of} worms: it takes about {needed}, or more")
        }
        Undecided::NoSchedule => format!(
            "{} sets of worms could block each other if they rested on their way; none of {} schedules brings them there",
            found.sets, found.runs
        ),
    }
}
