//! Whether the deadlock that the check calls possible can be reached, and messages that reach it.

use std::io::Write;

use serde::Serialize;

use super::super::output::write_to;
use super::super::write_figure;
use super::Arguments;
use super::replication::switching;
use super::text::plural;
use crate::failure::Failure;
use crate::multicast::{Algorithm, Branch, Itinerary, Multicast, Plan, Tree, Worm};
use crate::network::watch::step_every;
use crate::network::{Network, NodeId};
use crate::routing::{ForwardingTables, Output, RoutingRelation, Target};
use crate::simulation::{EngineConfig, Reachability, Sendable, Timing, Undecided, Verdict, Wormhole, search_deadlock};
use crate::work;

/// Messages of a witness that people are shown.
const SHOWN: usize = 12;

/// The answer to whether a deadlock can be reached.
#[derive(Serialize)]
pub(super) struct Reached {
    verdict: &'static str,
    /// Messages that deadlock, in the order of their cycles.
    witness: Option<Vec<Sent>>,
    /// What else a run of the witness needs.
    settings: Settings,
    /// Steps that were spent, and that might have been.
    spent: u64,
    budget: u64,
    /// Why there is no answer, and what it would take.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The witness as a trace.
    #[serde(skip)]
    trace: Option<String>,
}

/// A message of a witness.
#[derive(Serialize)]
struct Sent {
    cycle: u64,
    source: u32,
    length: u32,
    destinations: Vec<u32>,
}

/// The settings of a witness's run that experiment files name so.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
struct Settings {
    buffer: u32,
    injection_ports: u32,
    consumption_ports: u32,
    startup: u32,
    routing_delay: u32,
}

impl Settings {
    fn new(config: &EngineConfig) -> Self {
        Self {
            buffer: config.buffer,
            injection_ports: config.ports.injection,
            consumption_ports: config.ports.consumption,
            startup: config.startup,
            routing_delay: config.routing_delay,
        }
    }
}

/// What the search is about, beside the network and the relation.
pub(super) struct Question<'a> {
    /// The messages that may be sent.
    pub(super) messages: Option<Vec<Sendable>>,
    /// The algorithm, if worms are those of one.
    pub(super) algorithm: Option<&'a dyn Algorithm>,
    pub(super) consumption_ports: u32,
    /// Whether the check has found that there is no deadlock.
    pub(super) safe: bool,
}

/// Every node's message to each other node.
pub(super) fn unicasts(network: &Network) -> Vec<Sendable> {
    let pairs = network.node_ids().flat_map(|from| network.node_ids().map(move |to| (from, to)));
    let unicast = |(from, to): (NodeId, NodeId)| Sendable {
        multicast: Multicast::new(from, &[to]),
        plan: Plan { worms: vec![Worm::path(from, vec![to])] },
    };
    pairs.filter(|(from, to)| from != to).map(unicast).collect()
}

/// Every node's message to each address of each other node, as tables route it. `None` if one does not arrive.
pub(super) fn by_tables(network: &Network, tables: &ForwardingTables) -> Option<Vec<Sendable>> {
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

/// A worm that goes by fixed channels: a tree that does not branch.
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

/// A plan's paths by the channels that another relation gives, as the engine routes all by one; `None` if that leaves a choice.
pub(super) fn fixed(network: &Network, relation: &dyn RoutingRelation, plan: &Plan) -> Option<Plan> {
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
                    _ => relation.candidates(network, at, arrived, target, &mut candidates),
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
fn multicasts(network: &Network, algorithm: &dyn Algorithm, budget: &mut u64) -> Result<Vec<Sendable>, String> {
    let (nodes, all) = (network.nodes() as u32, *budget);
    let count = 1u64.checked_shl(nodes - 1).filter(|_| nodes <= 63).and_then(|sets| sets.checked_mul(u64::from(nodes)));
    let Some(count) = count.filter(|&count| count <= all) else {
        return Err(format!(
            "there are more sets of destinations than steps: it takes more than {nodes} x 2^{}",
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
            let plan = algorithm.plan(network, &multicast);
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

/// What the plan of a worm consists of.
fn parts(worm: &Worm) -> usize {
    match &worm.itinerary {
        Itinerary::Path(path) => path.stops.len(),
        Itinerary::Tree(tree) => tree.branches.len(),
        Itinerary::Encoded(_) => 1,
    }
}

/// Searches, if that was asked for.
pub(super) fn reach(
    arguments: &Arguments,
    network: &Network,
    relation: &dyn RoutingRelation,
    question: Question<'_>,
) -> Result<Option<Reached>, Failure> {
    let Some(budget) = arguments.reachable else { return Ok(None) };
    let Question { messages, algorithm, consumption_ports, safe } = question;
    let config = config(arguments, network, algorithm, consumption_ports);
    let answer = |verdict, spent, reason| Reached {
        verdict,
        witness: None,
        settings: Settings::new(&config),
        spent,
        budget,
        reason,
        trace: None,
    };
    if safe {
        return Ok(Some(answer("not reachable", 0, None)));
    }
    let reached = work::part("whether the deadlock can be reached", || {
        let mut left = budget;
        let messages = match (messages, algorithm) {
            (Some(messages), _) => messages,
            (None, Some(algorithm)) => match multicasts(network, algorithm, &mut left) {
                Ok(messages) => messages,
                Err(reason) => return Ok(answer("not decided", budget - left, Some(reason))),
            },
            (None, None) => {
                return Err(Failure::BadInput("`--reachable` needs tables by which every message arrives".to_owned()));
            }
        };
        let mut search = |config: &EngineConfig| {
            let found = search_deadlock(network, relation, config, &messages, left)
                .map_err(|error| Failure::BadInput(format!("`--reachable` has no answer here: {error}")))?;
            left -= found.spent;
            Ok::<_, Failure>(Reachability { spent: budget - left, budget, ..found })
        };
        let mut settings = config;
        let mut found = search(&config)?;
        if found.verdict == Verdict::NotDecided(Undecided::NoSchedule) {
            // Worms of one node that start without delay meet in more ways.
            let more = search(&EngineConfig { startup: 0, ..config })?;
            // What is left of the budget may not be enough to say more than the first search.
            if matches!(more.verdict, Verdict::NotDecided(Undecided::Ways | Undecided::Sets { .. })) {
                found.spent = more.spent;
            } else {
                (found, settings.startup) = (more, 0);
            }
        }
        Ok(Reached::new(&found, Settings::new(&settings)))
    });
    reached.transpose()
}

fn config(
    arguments: &Arguments,
    network: &Network,
    algorithm: Option<&dyn Algorithm>,
    consumption_ports: u32,
) -> EngineConfig {
    let own = algorithm.and_then(Algorithm::ports);
    let switching = Wormhole {
        virtual_channels: arguments.virtual_channels.unwrap_or(1),
        injection_ports: own.map(|ports| ports.injection),
        consumption_ports: Some(consumption_ports),
        ..switching(arguments)
    };
    let switching = match algorithm {
        Some(algorithm) => switching.for_branching(algorithm.branching()),
        None => switching,
    };
    EngineConfig::new(&switching, &Timing::default(), network)
}

impl Reached {
    fn new(found: &Reachability, settings: Settings) -> Self {
        let (verdict, reason) = match found.verdict {
            Verdict::Reachable(_) => ("reachable", None),
            Verdict::NotReachable => ("not reachable", None),
            Verdict::NotDecided(why) => ("not decided", Some(reason(why, found))),
        };
        let witness = match &found.verdict {
            Verdict::Reachable(witness) => Some(witness),
            _ => None,
        };
        let sent = |witness: &crate::simulation::Witness| {
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

    /// Writes the messages that deadlock, if there are any.
    pub(super) fn write_witness(&self, file: &str, out: &mut dyn Write) -> Result<(), Failure> {
        match &self.trace {
            Some(trace) => write_to(file, trace.as_bytes(), out),
            None => Err(Failure::failed(format!(
                "`{file}` was not written: no messages are known that deadlock ({})",
                self.verdict
            ))),
        }
    }

    pub(super) fn write_text(&self, out: &mut dyn Write) -> Result<(), Failure> {
        write_figure(out, "deadlock", self.verdict)?;
        if let Some(reason) = &self.reason {
            write_figure(out, "", reason)?;
        }
        let Some(witness) = &self.witness else { return Ok(()) };
        writeln!(out, "  Messages that deadlock, with {}:", self.settings.text())?;
        for Sent { cycle, source, length, destinations } in witness.iter().take(SHOWN) {
            let destinations: Vec<String> = destinations.iter().map(ToString::to_string).collect();
            let flits = plural(u64::from(*length), "flit");
            writeln!(out, "    cycle {cycle}: {length} {flits} from {source} to {}", destinations.join(";"))?;
        }
        if witness.len() > SHOWN {
            writeln!(out, "    and {} more, which --witness writes", witness.len() - SHOWN)?;
        }
        Ok(())
    }
}

impl Settings {
    fn text(&self) -> String {
        let Self { buffer, injection_ports, consumption_ports, startup, routing_delay } = self;
        format!(
            "startup {startup}, routing_delay {routing_delay}, buffer {buffer}, injection_ports {injection_ports}, \
             consumption_ports {consumption_ports}"
        )
    }
}

fn reason(why: Undecided, found: &Reachability) -> String {
    let budget = found.budget;
    match why {
        Undecided::Ways => format!("{budget} steps were not enough to follow all worms on their ways"),
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
