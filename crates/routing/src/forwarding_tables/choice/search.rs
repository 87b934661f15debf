//! One column of forwarding tables: the search for a tree of permitted routes towards one destination.

use wormcast_network::{ChannelId, Network, RouterId};

use super::{Arrival, Conflict, NoTables};
use crate::relation::RoutingRelation;
use crate::turns::turn_set::TurnSet;

/// A tree towards a target: outputs of routers, each after that of the router it leads to.
pub(super) type Tree = Vec<(RouterId, ChannelId)>;

/// What may be part of a tree.
pub(super) struct Options {
    /// By router: outputs.
    outputs: Vec<Vec<ChannelId>>,
    /// By channel: where worms that came by it may go on.
    after: Vec<Vec<ChannelId>>,
    /// Routers with outputs, by distance from the target.
    order: Vec<RouterId>,
}

/// Chooses trees, one after the other.
pub(super) struct Chooser<'a> {
    network: &'a Network,
    relation: &'a dyn RoutingRelation,
    /// Pairs of nodes by channel, so far.
    load: Vec<u64>,
    candidates: Vec<ChannelId>,
}

impl<'a> Chooser<'a> {
    /// Choices that a search may make for each router before it gives up.
    const STEPS: usize = 64;

    pub(super) fn new(network: &'a Network, relation: &'a dyn RoutingRelation) -> Self {
        Self { network, relation, load: vec![0; network.channels()], candidates: Vec::new() }
    }

    fn sends(&self, router: RouterId) -> bool {
        self.network.nodes_of(router).len() > 0
    }

    fn ask(&mut self, at: RouterId, arrived: Option<ChannelId>, target: RouterId) -> Vec<ChannelId> {
        self.relation.candidates(at, arrived, target, &mut self.candidates);
        self.candidates.clone()
    }

    /// What the relation has, without what can be part of no tree.
    pub(super) fn options(&mut self, target: RouterId) -> Result<Options, NoTables> {
        let network = self.network;
        let mut outputs: Vec<Vec<ChannelId>> = vec![Vec::new(); network.routers()];
        let mut after: Vec<Vec<ChannelId>> = vec![Vec::new(); network.channels()];
        let mut reached = vec![false; network.channels()];
        let mut work: Vec<ChannelId> = Vec::new();
        let reach = |channels: &[ChannelId], reached: &mut Vec<bool>, work: &mut Vec<ChannelId>| {
            work.extend(channels.iter().filter(|c| !std::mem::replace(&mut reached[c.index()], true)));
        };
        for source in network.router_ids().filter(|&router| router != target) {
            if self.sends(source) {
                let own = self.ask(source, None, target);
                if own.is_empty() {
                    return Err(NoTables::NoRoute { from: source, to: target });
                }
                reach(&own, &mut reached, &mut work);
                outputs[source.index()] = own;
            }
        }
        while let Some(channel) = work.pop() {
            let at = network.to(channel);
            if at == target {
                continue;
            }
            let next = self.ask(at, Some(channel), target);
            reach(&next, &mut reached, &mut work);
            if !self.sends(at) {
                let own = &mut outputs[at.index()];
                own.extend(next.iter().copied().filter(|c| !own.contains(c)).collect::<Vec<_>>());
            }
            after[channel.index()] = next;
        }
        self.strike_out(target, &mut outputs, &after)?;
        // Distances along what is left.
        let mut order: Vec<RouterId> = Vec::new();
        let mut seen = vec![false; network.routers()];
        seen[target.index()] = true;
        let mut frontier = vec![target];
        while !frontier.is_empty() {
            let mut next = Vec::new();
            for &router in &frontier {
                for channel in network.outputs(router).map(|output| network.reverse(output)) {
                    let from = network.from(channel);
                    if !seen[from.index()] && outputs[from.index()].contains(&channel) {
                        seen[from.index()] = true;
                        next.push(from);
                    }
                }
            }
            next.sort_unstable();
            order.extend(&next);
            frontier = next;
        }
        Ok(Options { outputs, after, order })
    }

    /// Strikes out outputs behind which the next router has no fitting one, until nothing changes.
    fn strike_out(
        &self,
        target: RouterId,
        outputs: &mut [Vec<ChannelId>],
        after: &[Vec<ChannelId>],
    ) -> Result<(), NoTables> {
        let network = self.network;
        let mut work: Vec<RouterId> = network.router_ids().collect();
        while let Some(router) = work.pop() {
            if router == target || outputs[router.index()].is_empty() {
                continue;
            }
            let fits = |&channel: &ChannelId| {
                let next = network.to(channel);
                next == target || outputs[next.index()].iter().any(|c| after[channel.index()].contains(c))
            };
            let left: Vec<ChannelId> = outputs[router.index()].iter().copied().filter(fits).collect();
            if left.len() == outputs[router.index()].len() {
                continue;
            }
            if left.is_empty() && self.sends(router) {
                return Err(self.conflict(target, outputs[router.index()][0], outputs, after));
            }
            outputs[router.index()] = left;
            work.extend(network.outputs(router).map(|output| network.to(output)));
        }
        Ok(())
    }

    /// Why worms that arrive on this channel cannot continue together with all others.
    fn conflict(
        &self,
        target: RouterId,
        arriving: ChannelId,
        outputs: &[Vec<ChannelId>],
        after: &[Vec<ChannelId>],
    ) -> NoTables {
        let network = self.network;
        let router = network.to(arriving);
        let need = after[arriving.index()].clone();
        // Another arrival with nothing in common, if there is one; else what is left for the router's own nodes.
        let others = network.outputs(router).map(|output| network.reverse(output));
        let mut used = others.filter(|other| outputs[network.from(*other).index()].contains(other));
        let apart = used.find(|other| {
            let theirs = &after[other.index()];
            !theirs.is_empty() && !theirs.iter().any(|c| need.contains(c))
        });
        let other = match apart {
            Some(other) => (Arrival::By(other), after[other.index()].clone()),
            None => (Arrival::Source, outputs[router.index()].clone()),
        };
        let needs = [(Arrival::By(arriving), need), other];
        NoTables::Conflict(Box::new(Conflict { router, target, needs, proven: true }))
    }

    /// Looks for a tree; see [`choose_tables`](super::choose_tables).
    pub(super) fn search(&self, target: RouterId, options: &Options) -> Result<Tree, NoTables> {
        let network = self.network;
        let order = &options.order;
        let mut chosen: Vec<Option<ChannelId>> = vec![None; network.routers()];
        let mut settled = vec![false; network.routers()];
        // Outputs by router that have not been made impossible by the choices so far.
        let mut possible: Vec<usize> = options.outputs.iter().map(Vec::len).collect();
        // What is left to be tried at each place of the order, the best last.
        let mut untried: Vec<Vec<Option<ChannelId>>> = Vec::with_capacity(order.len());
        let mut steps = 0;
        // The last choice that left a router further out without outputs, for the message.
        let mut stuck: Option<ChannelId> = None;
        while untried.len() < order.len() {
            let router = order[untried.len()];
            untried.push(self.choices(target, router, options, &chosen, &settled));
            loop {
                let place = untried.len() - 1;
                let router = order[place];
                // Take back what was tried last here.
                if std::mem::take(&mut settled[router.index()]) {
                    self.adjust(router, chosen[router.index()].take(), options, &settled, &mut possible, false);
                }
                if let Some(choice) = untried[place].pop() {
                    steps += 1;
                    settled[router.index()] = true;
                    chosen[router.index()] = choice;
                    if self.adjust(router, choice, options, &settled, &mut possible, true) {
                        break;
                    }
                    stuck = choice.or(stuck);
                    continue;
                }
                untried.pop();
                if untried.is_empty() {
                    return Err(self.dead_end(target, stuck, options));
                }
                if steps > Self::STEPS * order.len() + 10_000 {
                    return Err(NoTables::GivenUp(target));
                }
            }
        }
        Ok(order.iter().filter_map(|&router| Some((router, chosen[router.index()]?))).collect())
    }

    /// The outputs of a router that go on where the next router goes on, the best last.
    fn choices(
        &self,
        target: RouterId,
        router: RouterId,
        options: &Options,
        chosen: &[Option<ChannelId>],
        settled: &[bool],
    ) -> Vec<Option<ChannelId>> {
        let network = self.network;
        let fits = |&channel: &ChannelId| {
            let next = network.to(channel);
            let onward = || chosen[next.index()].is_some_and(|c| options.after[channel.index()].contains(&c));
            next == target || (settled[next.index()] && onward())
        };
        let mut choices: Vec<ChannelId> = options.outputs[router.index()].iter().copied().filter(fits).collect();
        let excluded = |choice: ChannelId| {
            let arrivals = network.outputs(router).map(|output| network.reverse(output));
            let used = arrivals.filter(|a| options.outputs[network.from(*a).index()].contains(a));
            used.filter(|a| !options.after[a.index()].contains(&choice)).count()
        };
        choices.sort_by_cached_key(|&c| std::cmp::Reverse((excluded(c), self.load[c.index()], c)));
        // A router without nodes can be left out if no route has to pass it.
        let left_out = (!self.sends(router)).then_some(None);
        left_out.into_iter().chain(choices.into_iter().map(Some)).collect()
    }

    /// Counts what a choice makes impossible further out, or takes that back; false if a router is left without outputs.
    fn adjust(
        &self,
        router: RouterId,
        choice: Option<ChannelId>,
        options: &Options,
        settled: &[bool],
        possible: &mut [usize],
        made: bool,
    ) -> bool {
        let network = self.network;
        let mut good = true;
        for arriving in network.outputs(router).map(|output| network.reverse(output)) {
            let from = network.from(arriving).index();
            let fits = choice.is_some_and(|choice| options.after[arriving.index()].contains(&choice));
            if settled[from] || fits || !options.outputs[from].contains(&arriving) {
                continue;
            }
            if made {
                possible[from] -= 1;
                good &= possible[from] > 0 || !self.sends(network.from(arriving));
            } else {
                possible[from] += 1;
            }
        }
        good
    }

    /// Every choice has been tried: what the last one would have ruled out, as an example.
    fn dead_end(&self, target: RouterId, stuck: Option<ChannelId>, options: &Options) -> NoTables {
        let network = self.network;
        let Some(choice) = stuck else { return NoTables::GivenUp(target) };
        let router = network.from(choice);
        let arrivals = network.outputs(router).map(|output| network.reverse(output));
        let used: Vec<ChannelId> = arrivals.filter(|a| options.outputs[network.from(*a).index()].contains(a)).collect();
        let apart = |a: &ChannelId, b: &ChannelId| {
            !options.after[a.index()].iter().any(|c| options.after[b.index()].contains(c))
        };
        let pairs = used.iter().flat_map(|a| used.iter().map(move |b| (*a, *b)));
        match pairs.clone().find(|(a, b)| apart(a, b)) {
            Some((a, b)) => {
                let need = |channel: ChannelId| (Arrival::By(channel), options.after[channel.index()].clone());
                NoTables::Conflict(Box::new(Conflict { router, target, needs: [need(a), need(b)], proven: false }))
            }
            None => NoTables::GivenUp(target),
        }
    }

    /// A tree of permitted turns, from the target outwards.
    pub(super) fn grow(&self, target: RouterId, turns: &TurnSet) -> Result<Tree, NoTables> {
        let network = self.network;
        let mut chosen: Vec<Option<ChannelId>> = vec![None; network.routers()];
        let mut tree: Tree = Vec::new();
        let mut frontier = vec![target];
        while !frontier.is_empty() {
            let mut ways: Vec<(RouterId, ChannelId)> = Vec::new();
            for &router in &frontier {
                for arriving in network.outputs(router).map(|output| network.reverse(output)) {
                    let from = network.from(arriving);
                    let onward = chosen[router.index()];
                    let permitted = onward.is_none_or(|onward| turns.permits(network, arriving, onward));
                    if from != target && chosen[from.index()].is_none() && permitted {
                        ways.push((from, arriving));
                    }
                }
            }
            // The output that most arrivals may turn into, then the one with the least traffic.
            let shut_out = |router: RouterId, output: ChannelId| {
                let arrivals = network.outputs(router).map(|output| network.reverse(output));
                arrivals.filter(|&arriving| !turns.permits(network, arriving, output)).count()
            };
            ways.sort_by_cached_key(|&(from, way)| (from, shut_out(from, way), self.load[way.index()], way));
            ways.dedup_by_key(|&mut (from, _)| from);
            for &(from, way) in &ways {
                chosen[from.index()] = Some(way);
            }
            frontier = ways.iter().map(|&(from, _)| from).collect();
            tree.append(&mut ways);
        }
        match network
            .router_ids()
            .find(|&router| router != target && self.sends(router) && chosen[router.index()].is_none())
        {
            Some(from) if network_reaches(network, from, target) => Err(NoTables::GivenUp(target)),
            Some(from) => Err(NoTables::NoRoute { from, to: target }),
            None => Ok(tree),
        }
    }

    /// Adds routers that no message passes but that management has to reach, as far as the routing permits.
    pub(super) fn complete(&mut self, target: RouterId, mut tree: Tree) -> Tree {
        let network = self.network;
        let mut chosen: Vec<Option<ChannelId>> = vec![None; network.routers()];
        for &(router, channel) in &tree {
            chosen[router.index()] = Some(channel);
        }
        let mut next = 0;
        let mut at = Some(target);
        while let Some(router) = at {
            for arriving in network.outputs(router).map(|output| network.reverse(output)) {
                let from = network.from(arriving);
                if from == target || chosen[from.index()].is_some() {
                    continue;
                }
                let permitted = match (chosen[router.index()], self.relation.capabilities().turns) {
                    (None, _) => true,
                    (Some(onward), Some(routing)) => routing.turns().permits(network, arriving, onward),
                    (Some(onward), None) => self.ask(router, Some(arriving), target).contains(&onward),
                };
                if permitted {
                    chosen[from.index()] = Some(arriving);
                    tree.push((from, arriving));
                }
            }
            at = tree.get(next).map(|&(router, _)| router);
            next += 1;
        }
        tree
    }

    /// Adds the traffic of a tree.
    pub(super) fn count(&mut self, tree: &Tree) {
        let mut flow = vec![0u64; self.network.routers()];
        for &(router, channel) in tree.iter().rev() {
            let through = flow[router.index()] + self.network.nodes_of(router).len() as u64;
            self.load[channel.index()] += through;
            flow[self.network.to(channel).index()] += through;
        }
    }
}

/// Whether there is any route at all.
fn network_reaches(network: &Network, from: RouterId, to: RouterId) -> bool {
    let mut seen = vec![false; network.routers()];
    seen[from.index()] = true;
    let mut work = vec![from];
    while let Some(router) = work.pop() {
        for next in network.outputs(router).map(|channel| network.to(channel)) {
            if !std::mem::replace(&mut seen[next.index()], true) {
                work.push(next);
            }
        }
    }
    seen[to.index()]
}
