//! Runs schedules on the engines, to find one that deadlocks.

use rand::RngExt;
use wormcast_multicast::{Itinerary, Plan};
use wormcast_network::NodeId;
use wormcast_network::watch::step_every;
use wormcast_routing::RoutingRelation;

use super::schedule::{length, starts};
use super::sets::DeadSet;
use super::worms::{Resources, Waiting};
use super::{ScheduledMessage, Sendable};
use crate::engine::{Engine, EngineConfig, StopReason};
use crate::observers::observer::Cycle;
use crate::rng::{Purpose, Random, generator};
use crate::run::result::Deadlock;
use crate::wormhole::flit::FlitEngine;
use crate::wormhole::worm::WormEngine;

/// A message of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sent {
    pub(super) at: Cycle,
    pub(super) message: usize,
    pub(super) length: u32,
}

/// Data flits of a random message: enough for what a few buffers hold.
const LONG: u32 = 1 << 10;

/// Runs schedules of some messages.
pub(super) struct Stage<'a> {
    pub(super) routing: &'a dyn RoutingRelation,
    pub(super) config: EngineConfig,
    pub(super) messages: &'a [Sendable],
    random: Random,
    /// Runs so far.
    pub(super) runs: u64,
}

/// Feeds an engine.
fn play<E: Engine>(engine: &mut E, sent: &[Sent], plans: &[Sendable]) -> Option<Deadlock> {
    for (number, &Sent { at, message, length }) in (0..).zip(sent) {
        if let StopReason::Deadlock(deadlock) = engine.run_until(at) {
            return Some(deadlock);
        }
        engine.submit(at, number, length, plans[message].plan.clone());
    }
    match engine.run_until(Cycle::MAX) {
        StopReason::Deadlock(deadlock) => Some(deadlock),
        _ => None,
    }
}

impl<'a> Stage<'a> {
    pub(super) fn new(routing: &'a dyn RoutingRelation, config: EngineConfig, messages: &'a [Sendable]) -> Self {
        let random = generator(0, Purpose::DeadlockSchedule, 0, 0);
        Self { routing, config, messages, random, runs: 0 }
    }

    /// The deadlock that a schedule, in the order of its cycles, ends in by the fastest engine.
    pub(super) fn run(&mut self, sent: &[Sent]) -> Option<Deadlock> {
        step_every(4, "running schedules", "schedules", self.runs as usize, 0);
        self.runs += 1;
        if WormEngine::<()>::objection(&self.config).is_none() {
            play(&mut WormEngine::new(self.routing, self.config, ()), sent, self.messages)
        } else {
            self.flit_by_flit(sent)
        }
    }

    /// Replays it flit by flit.
    pub(super) fn flit_by_flit(&self, sent: &[Sent]) -> Option<Deadlock> {
        play(&mut FlitEngine::new(self.routing, self.config, ()), sent, self.messages)
    }

    /// The schedule without the messages that its deadlock can do without.
    pub(super) fn shortest(&mut self, mut sent: Vec<Sent>) -> Vec<Sent> {
        let mut place = 0;
        while place < sent.len() {
            let mut fewer = sent.clone();
            fewer.remove(place);
            if !fewer.is_empty() && self.run(&fewer).is_some() {
                sent = fewer;
            } else {
                place += 1;
            }
        }
        let first = sent.first().map_or(0, |message| message.at);
        let mut earlier = sent.clone();
        for message in &mut earlier {
            message.at -= first;
        }
        if self.run(&earlier).is_some() { earlier } else { sent }
    }

    /// A schedule in the form for users.
    pub(super) fn tell(&self, sent: &[Sent]) -> Vec<ScheduledMessage> {
        let tell = |&Sent { at, message, length }: &Sent| {
            let multicast = &self.messages[message].multicast;
            ScheduledMessage {
                at,
                source: multicast.source(),
                length,
                destinations: multicast.destinations().to_vec(),
                message,
            }
        };
        sent.iter().map(tell).collect()
    }

    /// Bursts of messages that can be part of a deadlock, each source's at about the same time.
    pub(super) fn bursts(&mut self, places: &[&Waiting], tries: u32) -> Option<Vec<Sent>> {
        let mut by_source: Vec<Vec<usize>> = vec![Vec::new(); self.routing.network().nodes()];
        let mut longest = 1;
        for waiting in places {
            let of = &mut by_source[self.messages[waiting.message].multicast.source().index()];
            if !of.contains(&waiting.message) {
                of.push(waiting.message);
            }
            longest = waiting.vertices.len().max(longest);
        }
        let long = length(longest as u32 + 1, &self.config).min(LONG);
        for number in 0..tries {
            let mut sent = Vec::new();
            for messages in by_source.iter().filter(|messages| !messages.is_empty()) {
                for _ in 0..=number % 3 {
                    if self.random.random_bool(0.75) {
                        sent.push(Sent {
                            at: self.random.random_range(0..=u64::from(number % 8) * 4),
                            message: messages[self.random.random_range(0..messages.len())],
                            length: self.random.random_range(1..=long),
                        });
                    }
                }
            }
            sent.sort_by_key(|message| message.at);
            if !sent.is_empty() && self.run(&sent).is_some() {
                return Some(sent);
            }
        }
        None
    }

    /// A schedule by which the worms of a set block each other, by times that are worked out, or near these.
    pub(super) fn realise(&mut self, set: &DeadSet<'_>, resources: &Resources, tries: u32) -> Option<Vec<Sent>> {
        let worm = |waiting: &Waiting| &self.messages[waiting.message].plan.worms[waiting.worm];
        let senders: Vec<NodeId> = set.members.iter().map(|member| worm(member.worm()).from).collect();
        let worked_out = starts(set, &senders, &self.config, resources);
        let starts = worked_out.clone().unwrap_or_else(|| vec![0; set.members.len()]);
        let prepared: Vec<u64> = set.members.iter().map(|member| self.preparation(member.worm())).collect();
        let latest = prepared.iter().copied().max().unwrap_or(0);
        let schedule = |starts: &[Cycle]| {
            let mut sent: Vec<Sent> = (set.members.iter().zip(starts).zip(&prepared))
                .map(|((member, &start), prepared)| Sent {
                    at: start + latest - prepared,
                    message: member.worm().message,
                    length: length(member.stretch, &self.config),
                })
                .collect();
            sent.sort_by_key(|message| message.at);
            sent
        };
        let planned = schedule(&starts);
        if worked_out.is_some() && self.run(&planned).is_some() {
            return Some(planned);
        }
        for number in 0..tries {
            let mut sent = planned.clone();
            let width = 1u64 << (number % 7);
            for message in &mut sent {
                message.at += self.random.random_range(0..width);
                if self.random.random_bool(0.25) {
                    message.length += self.random.random_range(0..=self.config.buffer.min(1 << 10) * 4);
                }
            }
            for _ in 0..number % 4 {
                let last = sent.iter().map(|message| message.at).max().unwrap_or(0);
                sent.push(Sent {
                    at: self.random.random_range(0..=last + width),
                    message: self.random.random_range(0..self.messages.len()),
                    length: self.random.random_range(1..=4 + width as u32),
                });
            }
            sent.sort_by_key(|message| message.at);
            if self.run(&sent).is_some() {
                return Some(sent);
            }
        }
        None
    }

    /// Cycles from a message's generation until a worm of it asks for an injection channel, if its sender has nothing else to do.
    fn preparation(&self, waiting: &Waiting) -> u64 {
        let Plan { worms } = &self.messages[waiting.message].plan;
        let before = worms[..waiting.worm].iter().filter(|worm| worm.after.is_none()).count() as u64;
        (before + 1) * u64::from(self.config.startup)
    }
}

/// Whether all worms of a plan are paths.
pub(super) fn is_of_paths(plan: &Plan) -> bool {
    plan.worms.iter().all(|worm| matches!(worm.itinerary, Itinerary::Path(_)))
}
