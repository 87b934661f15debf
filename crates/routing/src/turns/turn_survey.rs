//! How long shortest permitted paths are, and how unicasts between all nodes load the channels, for many targets at once.

use std::ops::Range;

use wormcast_network::watch::{processors, shared};
use wormcast_network::{ChannelId, Network, RouterId};

use crate::analysis::link_load::LinkLoad;
use crate::analysis::survey::{Lengths, RoutesTo, Survey};
use crate::relation::RoutingRelation;
use crate::turns::turn_routing::{Adaptivity, TurnRouting};
use crate::turns::turn_set::{Label, LinkEnd};

/// Targets that are searched for at once. A set of them is a word, with a bit for each.
const TOGETHER: usize = 64;

impl TurnRouting {
    /// Measures the routes between all pairs of different routers, and how unicasts between all pairs of nodes load the channels.
    ///
    /// The searches for 64 targets together are O(channels x distances at which each lies from them), at most O(channels x 64); the loads O(channels on shortest permitted paths) for each target,
    /// and up to a factor of the degree where turns into the nearest channels are prohibited. On as many threads as the machine has where the network is large. Memory for each thread: 80 bytes a
    /// channel, 512 for each link of the router that has most, and what 64 targets need: 16 for each channel and each distance at which it lies.
    pub fn survey(&self) -> (Survey, LinkLoad) {
        /// Routers from which threads pay off.
        const LARGE: usize = 1 << 11;
        self.survey_on(if self.network().routers() < LARGE { 1 } else { processors() })
    }

    /// The same on so many threads, which makes no difference to what is found: the loads of 64 targets are added up by themselves, and then these sums, in one order.
    fn survey_on(&self, threads: usize) -> (Survey, LinkLoad) {
        let network = &**self.network();
        let (links, targets) = (Links::new(self), neighbours_together(network));
        let mut sums = vec![0.0; network.channels()];
        let mut shares: Vec<_> = (0..threads).map(|_| TurnSurvey::new(&links)).collect();
        let measure = |share: &mut TurnSurvey<'_>, range: Range<usize>| {
            let receivers = share.search(&targets[range]);
            share.follow(&receivers);
        };
        for start in (0..targets.len()).step_by(threads * TOGETHER) {
            let range = start..targets.len().min(start + threads * TOGETHER);
            shares = shared(("measuring routes", "destinations"), (TOGETHER, range, targets.len()), shares, measure);
            for share in &mut shares {
                for (sum, own) in sums.iter_mut().zip(&mut share.load) {
                    *sum += std::mem::take(own);
                }
            }
        }
        let mut lengths = Lengths::new();
        for (_, found) in shares.iter().flat_map(|share| &share.lengths) {
            lengths.merge(*found);
        }
        let mut load = vec![0.0; network.channels()];
        for (channel, sum) in links.leaving.iter().zip(sums) {
            load[channel.index()] = sum;
        }
        // All candidates are on shortest routes, which are equally long: no need to add up fractions.
        let mean = lengths.node_hops() as f64 / load.len().max(1) as f64;
        (lengths.survey(), LinkLoad { mean, ..LinkLoad::new(load) })
    }
}

impl TurnRouting {
    /// Measures the routes to some routers from all others, in their order. As [`survey`](Self::survey) without the loads, which take most of its time.
    pub(crate) fn routes_to(&self, targets: &[RouterId]) -> Vec<RoutesTo> {
        let links = Links::new(self);
        let threads = processors().min(targets.len().div_ceil(TOGETHER)).max(1);
        let shares = (0..threads).map(|_| TurnSurvey::new(&links)).collect();
        let work = ("measuring routes", "destinations");
        let shares = shared(work, (TOGETHER, 0..targets.len(), targets.len()), shares, |share, range| {
            share.search(&targets[range]);
        });
        let mut found: Vec<RoutesTo> = Vec::with_capacity(targets.len());
        let mut found_by: Vec<_> = shares.into_iter().map(|share| share.lengths.into_iter()).collect();
        // Thread by thread, 64 targets each in turn.
        for (part, targets) in targets.chunks(TOGETHER).enumerate() {
            let own = found_by[part % threads].by_ref().take(targets.len());
            found.extend(own.map(|(target, lengths)| RoutesTo::new(target, lengths)));
        }
        found
    }
}

/// All routers, those near to each other mostly together: what is near to one of them is near to the others, and is looked at once for all. Breadth first.
fn neighbours_together(network: &Network) -> Vec<RouterId> {
    let mut found = vec![false; network.routers()];
    let mut order = Vec::with_capacity(network.routers());
    let mut looked_at = 0;
    for start in network.router_ids() {
        if !std::mem::replace(&mut found[start.index()], true) {
            order.push(start);
        }
        while let Some(&router) = order.get(looked_at) {
            looked_at += 1;
            for neighbour in network.outputs(router).map(|channel| network.to(channel)) {
                if !std::mem::replace(&mut found[neighbour.index()], true) {
                    order.push(neighbour);
                }
            }
        }
    }
    order
}

/// The members of a set of targets, in order.
#[inline]
fn members(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let member = set.trailing_zeros() as usize % TOGETHER;
        (set != 0).then(|| {
            set &= set - 1;
            member
        })
    })
}

/// Puts a member into a set of routers.
#[inline]
fn insert(set: &mut [u64], router: RouterId) {
    set[router.index() / 64] |= 1 << (router.index() % 64);
}

/// The links of all routers, each router's sorted by group. A channel is found at the place of the link by which it leaves its router.
struct Links<'a> {
    network: &'a Network,
    choice: Adaptivity,
    ends: Box<[End]>,
    /// The channels.
    leaving: Box<[ChannelId]>,
}

/// A link as its router sees it.
#[derive(Clone, Copy)]
struct End {
    label: Label,
    /// The router at the other end, and the place of this link there: that of the channel that arrives by it.
    neighbour: RouterId,
    there: u32,
}

impl<'a> Links<'a> {
    fn new(routing: &'a TurnRouting) -> Self {
        let (network, turns) = (&**routing.network(), routing.turns());
        let places = || 0..network.channels() as u32;
        let leaving: Box<[_]> = places().map(|place| network.reverse(turns.by_group(place).arriving)).collect();
        let mut place_of = vec![0; leaving.len()];
        for (place, channel) in places().zip(&leaving) {
            place_of[channel.index()] = place;
        }
        let end = |place| {
            let LinkEnd { arriving, from, label, .. } = turns.by_group(place);
            End { label, neighbour: from, there: place_of[arriving.index()] }
        };
        Self { network, choice: routing.choice(), ends: places().map(end).collect(), leaving }
    }

    /// The places of a router's links.
    #[inline]
    fn of(&self, router: RouterId) -> Range<usize> {
        let (first, end) = self.network.output_places(router);
        first as usize..end as usize
    }

    #[inline]
    fn nodes(&self, router: RouterId) -> usize {
        self.network.nodes_of(router).len()
    }
}

/// A router that has channels at one distance from some targets.
#[derive(Clone, Copy)]
struct Step {
    router: RouterId,
    /// The targets that no other of its channels is nearer to: worms to them that start here take these.
    starting: u64,
}

/// The worms that enter a channel.
#[derive(Clone, Copy, Default)]
struct Entering {
    /// Where they go.
    targets: u64,
    /// Where the traffic to each target is found, one after the other.
    at: usize,
}

/// What a worm that arrives by a link finds among the channels of the router at one distance.
#[derive(Clone, Copy, Default)]
struct Found {
    /// The targets to which it may take some of them ...
    permitted: u64,
    /// ... and those to which some are prohibited to it.
    prohibited: u64,
}

/// For each link of a router, in the order of groups.
struct Turns {
    /// What worms find that arrive by it.
    found: Box<[Found]>,
    /// The targets of special links in later groups, of other links there, and of the links behind it in its own group.
    later: Box<[(u64, u64, u64)]>,
}

impl Turns {
    /// Looks at the links of a router, in the order of groups: how they are classified, and to which targets their channels lead. O(links).
    #[inline]
    fn look(&mut self, links: impl DoubleEndedIterator<Item = (Label, u64)> + ExactSizeIterator + Clone) {
        let later = &mut self.later[..links.len()];
        let (mut special, mut plain, mut own_special, mut own_plain, mut free) = (0, 0, 0, 0, 0);
        let mut group = None;
        for ((label, leading), later) in links.clone().zip(&mut *later).rev() {
            if group.replace(label.number()) != Some(label.number()) {
                (special, plain) = (special | own_special, plain | own_plain);
                (own_special, own_plain) = (0, 0);
            }
            *later = (special, plain, own_special | own_plain);
            *(if label.is_special() { &mut own_special } else { &mut own_plain }) |= leading;
            free |= if label.is_free() { leading } else { 0 };
        }
        let (mut earlier, mut before) = (0, 0);
        group = None;
        for (((label, leading), &mut (special, plain, behind)), found) in links.zip(later).zip(&mut self.found) {
            if let Some(last) = group.replace(label.number()).filter(|&last| last != label.number()) {
                // Of the groups; free links come before them.
                earlier |= if last == Label::FREE.number() { 0 } else { before };
                before = 0;
            }
            let group = before | leading | behind;
            *found = if label.is_free() {
                Found { permitted: before | behind | special | plain, prohibited: leading }
            } else if label.is_special() {
                Found { permitted: free | earlier | special, prohibited: group | plain }
            } else {
                Found { permitted: free | special, prohibited: earlier | group | plain }
            };
            before |= leading;
        }
    }
}

/// Finds the paths to 64 targets at a time, and follows the worms that take them.
struct TurnSurvey<'a> {
    links: &'a Links<'a>,
    /// Of the routes to each target so far.
    lengths: Vec<(RouterId, Lengths)>,
    /// By place: the pairs of nodes that cross each channel, of the targets since these were last taken.
    load: Vec<f64>,
    search: Search,
    flow: Flow,
}

/// The search, backwards from all targets at once.
struct Search {
    /// By place: the targets to which the worms that arrive by a link have a path.
    reached: Vec<u64>,
    /// By router: those to which all have that arrive here. Channels that leave it and have not been reached are further from them, so no worm takes these.
    complete: Vec<u64>,
    /// By router: those to which the worms that start here have a path.
    started: Vec<u64>,
    /// By place: the targets to which a channel is as far as the search has come, and those to which it is one hop further.
    now: Vec<u64>,
    next: Vec<u64>,
    /// The routers that these leave.
    active: Vec<u64>,
    active_next: Vec<u64>,
    /// What was found at each distance, the nearest first, up to these ends.
    steps: Vec<Step>,
    ends: Vec<usize>,
    /// For all links of the router of each step: the targets to which its channel leads, and those to which some channel leads that is prohibited to the worms that arrive by it.
    leading: Vec<u64>,
    prohibited: Vec<u64>,
    turns: Turns,
}

/// The traffic, from the furthest channels to the nearest.
struct Flow {
    /// By the place of the link by which they arrive: the worms on the channels of the last distance, and on those of the distance that is looked at.
    entering: Vec<Entering>,
    entering_next: Vec<Entering>,
    /// Pairs of nodes that cross these, and how much of the latter is used.
    crossing: Vec<f64>,
    crossing_next: Vec<f64>,
    used: usize,
    /// By target: the worms that may take all channels from which it is nearest, and what each of the chosen ones gets of them.
    all: [f64; TOGETHER],
    share: [f64; TOGETHER],
    /// By link of the router: to which targets it is chosen for these, ...
    chosen: Vec<u64>,
    /// ... and what others bring, and to which targets.
    others: Vec<[f64; TOGETHER]>,
    other_targets: Vec<u64>,
    candidates: Vec<usize>,
}

impl<'a> TurnSurvey<'a> {
    fn new(links: &'a Links<'a>) -> Self {
        let network = links.network;
        let (routers, channels) = (network.routers(), network.channels());
        let degree = network.router_ids().map(|router| links.of(router).len()).max().unwrap_or(0);
        let set = || vec![0; routers.div_ceil(64)];
        Self {
            links,
            lengths: Vec::new(),
            load: vec![0.0; channels],
            search: Search {
                reached: vec![0; channels],
                complete: vec![0; routers],
                started: vec![0; routers],
                now: vec![0; channels],
                next: vec![0; channels],
                active: set(),
                active_next: set(),
                steps: Vec::new(),
                ends: Vec::new(),
                leading: Vec::new(),
                prohibited: Vec::new(),
                turns: Turns { found: vec![Found::default(); degree].into(), later: vec![(0, 0, 0); degree].into() },
            },
            flow: Flow {
                entering: vec![Entering::default(); channels],
                entering_next: vec![Entering::default(); channels],
                crossing: Vec::new(),
                crossing_next: Vec::new(),
                used: 0,
                all: [0.0; TOGETHER],
                share: [0.0; TOGETHER],
                chosen: Vec::with_capacity(degree),
                others: vec![[0.0; TOGETHER]; degree],
                other_targets: vec![0; degree],
                candidates: Vec::with_capacity(degree),
            },
        }
    }

    /// Adds the lengths of the routes to at most 64 routers, and returns how many nodes each has.
    fn search(&mut self, targets: &[RouterId]) -> [f64; TOGETHER] {
        let Self { links, lengths, search, .. } = self;
        let mut receivers = [0; TOGETHER];
        for (receivers, &target) in receivers.iter_mut().zip(targets) {
            *receivers = links.nodes(target);
        }
        let mut own = [Lengths::new(); TOGETHER];
        search.begin(links, targets);
        for hops in 1.. {
            let before = search.steps.len();
            for word in 0..search.active.len() {
                for bit in members(std::mem::take(&mut search.active[word])) {
                    search.step(links, RouterId::new((64 * word + bit) as u32));
                }
            }
            if search.steps.len() == before {
                break;
            }
            for &Step { router, starting } in &search.steps[before..] {
                let senders = links.nodes(router);
                for target in members(starting) {
                    own[target].add(senders * receivers[target], Some(hops));
                }
            }
            search.ends.push(search.steps.len());
            std::mem::swap(&mut search.now, &mut search.next);
            std::mem::swap(&mut search.active, &mut search.active_next);
        }
        for (router, started) in links.network.router_ids().zip(&search.started) {
            for target in members(u64::MAX >> (TOGETHER - targets.len()) & !started) {
                own[target].add(links.nodes(router) * receivers[target], None);
            }
        }
        lengths.extend(targets.iter().copied().zip(own));
        receivers.map(|receivers| receivers as f64)
    }

    /// Adds the loads of the worms that take the routes that were found.
    fn follow(&mut self, receivers: &[f64; TOGETHER]) {
        let Self { links, load, search, flow, .. } = self;
        let mut links_end = search.leading.len();
        while let Some(end) = search.ends.pop() {
            // Behind the nearest channels are the targets.
            let first = search.ends.last().copied().unwrap_or(0);
            flow.used = 0;
            for &step in search.steps[first..end].iter().rev() {
                let places = links.of(step.router);
                let found = links_end - places.len()..links_end;
                links_end = found.start;
                let (leading, prohibited) = (&search.leading[found.clone()], &search.prohibited[found]);
                flow.arrive(links, step, leading, prohibited);
                flow.leave(links, places, first > 0, receivers, load);
            }
            std::mem::swap(&mut flow.entering, &mut flow.entering_next);
            std::mem::swap(&mut flow.crossing, &mut flow.crossing_next);
        }
    }
}

impl Search {
    fn begin(&mut self, links: &Links<'_>, targets: &[RouterId]) {
        self.reached.fill(0);
        self.complete.fill(0);
        self.started.fill(0);
        self.steps.clear();
        self.ends.clear();
        self.leading.clear();
        self.prohibited.clear();
        for (target, &router) in targets.iter().enumerate() {
            // A worm that is at the target has arrived.
            self.complete[router.index()] |= 1 << target;
            self.started[router.index()] |= 1 << target;
            for place in links.of(router) {
                let End { neighbour, there, .. } = links.ends[place];
                self.reached[place] |= 1 << target;
                self.now[there as usize] |= 1 << target;
                insert(&mut self.active, neighbour);
            }
        }
    }

    /// Reaches the channels that may turn into those of a router that lie at this distance, and have not been reached.
    #[inline]
    fn step(&mut self, links: &Links<'_>, router: RouterId) {
        let places = links.of(router);
        let (ends, leading) = (&links.ends[places.clone()], &mut self.now[places.clone()]);
        let all = leading.iter().fold(0, |all, leading| all | leading);
        let started = &mut self.started[router.index()];
        self.steps.push(Step { router, starting: all & !*started });
        *started |= all;
        self.turns.look(ends.iter().map(|end| end.label).zip(leading.iter().copied()));
        self.leading.extend_from_slice(leading);
        leading.fill(0);
        self.prohibited.extend(self.turns.found[..ends.len()].iter().map(|found| found.prohibited));
        let mut complete = u64::MAX;
        for ((reached, end), found) in self.reached[places].iter_mut().zip(ends).zip(&self.turns.found) {
            let fresh = found.permitted & !*reached;
            *reached |= fresh;
            complete &= *reached;
            let fresh = fresh & !self.complete[end.neighbour.index()];
            if fresh != 0 {
                self.next[end.there as usize] = fresh;
                insert(&mut self.active_next, end.neighbour);
            }
        }
        self.complete[router.index()] = complete;
    }
}

impl Flow {
    /// Finds where the worms go that start at a router or arrive there.
    #[inline]
    fn arrive(&mut self, links: &Links<'_>, step: Step, leading: &[u64], prohibited: &[u64]) {
        let places = links.of(step.router);
        let senders = links.nodes(step.router);
        let mut targets = if senders > 0 { step.starting } else { 0 };
        for target in members(targets) {
            self.all[target] = senders as f64;
        }
        for (position, prohibited) in prohibited.iter().enumerate() {
            let Entering { targets: arriving, at } = std::mem::take(&mut self.entering[places.start + position]);
            targets |= arriving & !prohibited;
            for (at, target) in (at..).zip(members(arriving)) {
                let crossing = self.crossing[at];
                if prohibited & 1 << target == 0 {
                    self.all[target] += crossing;
                } else {
                    self.divide(links, places.clone(), leading, (position, target, crossing));
                }
            }
        }
        self.chosen.clear();
        self.chosen.extend(leading.iter().map(|leading| leading & targets));
        // How many channels lead to each target, as numbers that have a bit in each word.
        let (mut digits, mut used) = ([0u64; u32::BITS as usize], 0);
        match links.choice {
            Adaptivity::Adaptive => {
                for &chosen in &self.chosen {
                    let (mut carry, mut place) = (chosen, 0);
                    while carry != 0 {
                        (digits[place], carry) = (digits[place] ^ carry, digits[place] & carry);
                        place += 1;
                    }
                    used = used.max(place);
                }
            }
            Adaptivity::First => {
                self.candidates.clear();
                self.candidates.extend(0..leading.len());
                self.candidates.sort_unstable_by_key(|position| links.leaving[places.start + position]);
                let mut left = targets;
                for &position in &self.candidates {
                    self.chosen[position] &= left;
                    left &= !self.chosen[position];
                }
            }
        }
        for target in members(targets) {
            let count = digits[..used].iter().rev().fold(0, |count, digit| count << 1 | digit >> target & 1);
            self.share[target] = std::mem::take(&mut self.all[target]) / count.max(1) as f64;
        }
    }

    /// Divides what arrives by one link for one target, to which some channels are prohibited.
    fn divide(
        &mut self,
        links: &Links<'_>,
        places: Range<usize>,
        leading: &[u64],
        (arriving, target, crossing): (usize, usize, f64),
    ) {
        let (ends, leaving) = (&links.ends[places.clone()], &links.leaving[places]);
        let label = ends[arriving].label;
        self.candidates.clear();
        self.candidates.extend(
            (0..leading.len()).filter(|&next| {
                leading[next] & 1 << target != 0 && next != arriving && label.may_turn(ends[next].label)
            }),
        );
        if links.choice == Adaptivity::First {
            let first = self.candidates.iter().copied().min_by_key(|&next| leaving[next]);
            self.candidates.clear();
            self.candidates.extend(first);
        }
        let share = crossing / self.candidates.len().max(1) as f64;
        for &next in &self.candidates {
            self.others[next][target] += share;
            self.other_targets[next] |= 1 << target;
        }
    }

    /// Counts the worms that enter the channels of a router, and sends them on unless they are at their targets.
    #[inline]
    fn leave(
        &mut self,
        links: &Links<'_>,
        places: Range<usize>,
        on: bool,
        receivers: &[f64; TOGETHER],
        load: &mut [f64],
    ) {
        let (ends, load) = (&links.ends[places.clone()], &mut load[places]);
        let most = self.used + TOGETHER * ends.len();
        if self.crossing_next.len() < most {
            self.crossing_next.resize(2 * most, 0.0);
        }
        for (position, ((load, end), &chosen)) in load.iter_mut().zip(ends).zip(&self.chosen).enumerate() {
            let others = std::mem::take(&mut self.other_targets[position]);
            let entering = Entering { targets: chosen | others, at: self.used };
            if entering.targets == 0 {
                continue;
            }
            self.used += entering.targets.count_ones() as usize;
            let own = &mut self.crossing_next[entering.at..self.used];
            let mut pairs = 0.0;
            if others == 0 {
                for (crossing, target) in own.iter_mut().zip(members(chosen)) {
                    *crossing = self.share[target];
                    pairs += *crossing * receivers[target];
                }
            } else {
                for (crossing, target) in own.iter_mut().zip(members(entering.targets)) {
                    let share = if chosen & 1 << target == 0 { 0.0 } else { self.share[target] };
                    *crossing = share + std::mem::take(&mut self.others[position][target]);
                    pairs += *crossing * receivers[target];
                }
            }
            *load += pairs;
            if on {
                self.entering_next[end.there as usize] = entering;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn_prohibition;
    use wormcast_network::TopologySpec;

    /// To the last bit, whatever the number of threads; adding up in another order makes another last bit.
    #[test]
    fn threads_make_no_difference() {
        for spec in ["random:nodes=150,degree=5,seed=2", "mesh:9x8", "hyperx:3x3,nodes=2", "ring:5"] {
            let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
            for choice in [Adaptivity::Adaptive, Adaptivity::First] {
                let routing = TurnRouting::new("x", &network, turn_prohibition(&network), choice);
                let (survey, load) = routing.survey_on(1);
                for threads in [2, 3, 7] {
                    assert_eq!(routing.survey_on(threads), (survey, load.clone()), "{spec} on {threads} threads");
                }
            }
        }
        let network = "random:nodes=150,degree=5,seed=2".parse::<TopologySpec>().unwrap().build().unwrap();
        let routing = TurnRouting::new("x", &network, turn_prohibition(&network), Adaptivity::Adaptive);
        let links = Links::new(&routing);
        let mut backwards = TurnSurvey::new(&links);
        for target in neighbours_together(&network).into_iter().rev() {
            let receivers = backwards.search(&[target]);
            backwards.follow(&receivers);
        }
        let found = routing.survey_on(1).1.by_channel;
        let pairs = || links.leaving.iter().map(|channel| found[channel.index()]).zip(&backwards.load);
        assert!(pairs().any(|(one, other)| one.to_bits() != other.to_bits()));
        assert!(pairs().all(|(one, other)| (one - other).abs() < 1e-9));
    }
}
