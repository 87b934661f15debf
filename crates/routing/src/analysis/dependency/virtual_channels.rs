//! Dependencies between virtual channels, where a relation divides those of links: of unicasts, and of path worms with several stops.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::{Deref, Range};
use std::rc::Rc;

use fixedbitset::FixedBitSet;
use wormcast_network::watch::step;
use wormcast_network::{ChannelId, Network, NodeId, RouterId};

use super::Resource;
use crate::capabilities::{Lanes, VcRange, VirtualChannels};
use crate::relation::RoutingRelation;

/// Appends what a header may take at a router.
type LanesAt<'a> = dyn Fn(RouterId, Option<ChannelId>, &mut Lanes) + 'a;

/// The part of worms' ways from where they start or have stopped to where they stop next, or to a waypoint.
pub(in crate::analysis) struct Leg<'a> {
    pub(in crate::analysis) target: RouterId,
    /// Routers where it is the first leg.
    pub(in crate::analysis) sources: Sources,
    /// Whether worms have delivered beside their sender, when they leave a source.
    pub(in crate::analysis) stopped: bool,
    /// The legs that may come next, all of which stand behind it.
    pub(in crate::analysis) next: Range<usize>,
    /// Whether worms deliver at the target, and hold a consumption channel there if they go on.
    pub(in crate::analysis) delivers: bool,
    /// What a header may take at a router, by the channel on which it came.
    pub(in crate::analysis) lanes: Box<LanesAt<'a>>,
}

/// Routers, the first so many of a list that several legs share: with lists of their own, legs from everywhere to everywhere would take the square of a network.
#[derive(Clone)]
pub(in crate::analysis) struct Sources {
    all: Rc<[RouterId]>,
    count: usize,
}

impl Sources {
    fn first(&self, count: usize) -> Self {
        Self { all: Rc::clone(&self.all), count }
    }
}

impl FromIterator<RouterId> for Sources {
    fn from_iter<I: IntoIterator<Item = RouterId>>(routers: I) -> Self {
        let all: Rc<[RouterId]> = routers.into_iter().collect();
        Self { count: all.len(), all }
    }
}

impl Deref for Sources {
    type Target = [RouterId];

    fn deref(&self) -> &[RouterId] {
        &self.all[..self.count]
    }
}

/// Legs of unicasts: over every waypoint, and to every target.
pub(in crate::analysis) fn legs_of_unicasts<'a>(
    relation: &'a dyn RoutingRelation,
    division: &'a dyn VirtualChannels,
    links_have: usize,
) -> Vec<Leg<'a>> {
    let network = &**relation.network();
    let asked = asked(division, links_have);
    let entering = network.entering_nodes();
    let sources: Sources = network.router_ids().filter(|router| entering[router.index()] > 0).collect();
    let mut legs = Vec::new();
    let over = relation.capabilities().waypoints;
    let ends: Vec<RouterId> = network.router_ids().filter(|&router| network.nodes_of(router).len() > 0).collect();
    let first = over.map_or(0, |_| network.routers());
    for waypoint in network.router_ids() {
        let Some(waypoints) = over else { break };
        legs.push(Leg {
            target: waypoint,
            sources: sources.iter().copied().filter(|&source| waypoints.may_lead_over(source, waypoint)).collect(),
            stopped: false,
            next: first..first + ends.len(),
            delivers: false,
            lanes: Box::new(move |at, arrived, out| waypoints.lanes_to(at, arrived, waypoint, asked, out)),
        });
    }
    for target in ends {
        legs.push(Leg {
            target,
            sources: sources.clone(),
            stopped: false,
            next: 0..0,
            delivers: true,
            lanes: Box::new(move |at, arrived, out| division.lanes(at, arrived, target, asked, out)),
        });
    }
    legs
}

/// Legs of all path worms that start at a router of `order` and stop at any of those behind it, in this order.
pub(super) fn legs_in_order<'a>(
    division: &'a dyn VirtualChannels,
    order: &[RouterId],
    links_have: usize,
) -> Vec<Leg<'a>> {
    let asked = asked(division, links_have);
    let sources: Sources = order.iter().copied().collect();
    let legs = order.iter().enumerate().map(|(place, &target)| Leg {
        target,
        sources: sources.first(place),
        stopped: false,
        next: place + 1..order.len(),
        delivers: true,
        lanes: Box::new(move |at, arrived, out: &mut Lanes| division.lanes(at, arrived, target, asked, out)),
    });
    legs.collect()
}

/// Legs of one path worm, which starts at a router, takes the channel `exit` first, if that is given, and stops at these routers, one after the other; on virtual channels of `own`.
pub(super) fn legs_of_path<'a>(
    relation: &'a dyn RoutingRelation,
    (source, exit, stops): (RouterId, Option<ChannelId>, &[RouterId]),
    own: VcRange,
    links_have: usize,
) -> Vec<Leg<'a>> {
    let mut routers = stops.to_vec();
    routers.dedup();
    let beside = exit.is_none() && routers.first() == Some(&source);
    let routers = &routers[usize::from(beside)..];
    let legs = routers.iter().enumerate().map(|(place, &target)| Leg {
        target,
        sources: (place == 0).then_some(source).into_iter().collect(),
        stopped: beside,
        next: place + 1..(place + 2).min(routers.len()),
        delivers: true,
        lanes: Box::new(move |at, arrived: Option<ChannelId>, out: &mut Lanes| {
            let exit = exit.filter(|_| arrived.is_none());
            match (relation.capabilities().virtual_channels, exit) {
                (Some(division), _) => {
                    division.lanes(at, arrived, target, asked(division, links_have), out);
                    out.retain(|lane| exit.is_none_or(|exit| lane.0 == exit));
                }
                (None, Some(exit)) => out.push((exit, VcRange::ANY)),
                (None, None) => {
                    let mut candidates = Vec::new();
                    relation.candidates(at, arrived, target, &mut candidates);
                    out.extend(candidates.into_iter().map(|channel| (channel, VcRange::ANY)));
                }
            }
            let within = |lane: &mut (ChannelId, VcRange)| lane.1 = lane.1.and(own);
            out.iter_mut().for_each(within);
            out.retain(|lane| lane.1.first <= lane.1.last);
        }),
    });
    legs.collect()
}

/// How many virtual channels a relation is asked for, if links have so many: those that it lacks are one with their last.
pub(super) fn asked(division: &dyn VirtualChannels, links_have: usize) -> u8 {
    division.needed().max(on_links(links_have) as u8)
}

pub(in crate::analysis) fn on_links(links_have: usize) -> u32 {
    links_have.clamp(1, 1 << 7) as u32
}

/// The numbers of the virtual channels that a header may take, if links have `count`: `channel * count + virtual channel`, in order. What links lack is one with their last.
pub(in crate::analysis) fn numbers(lanes: &Lanes, count: u32) -> Vec<u32> {
    let mut all: Vec<u32> = Vec::new();
    for &(channel, range) in lanes {
        let (first, last) = (u32::from(range.first).min(count - 1), u32::from(range.last).min(count - 1));
        all.extend((first..=last).map(|vc| channel.raw() * count + vc));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// What worms that hold a virtual channel may wait for. A virtual channel is a [number](numbers).
#[derive(Clone)]
pub(super) struct Waits<'n> {
    network: &'n Network,
    count: u32,
    vertices: usize,
    /// All that a header may take somewhere, each set once, and their numbers.
    requests: Vec<Box<[u32]>>,
    numbers: HashMap<Box<[u32]>, u32>,
    /// (held, the request of a header at its end).
    states: HashSet<(u32, u32)>,
    /// As `states`, of worms that deliver there and go on: these hold a consumption channel.
    through: HashSet<(u32, u32)>,
    /// The requests of worms that have delivered beside their sender.
    starts: HashSet<u32>,
    /// What the header of a worm that holds a virtual channel may ask for, there or further on, and at the ends of which channels it may stand;
    /// unless nobody needs to know.
    ahead: Option<Vec<Ahead>>,
}

/// What lies ahead of the header of a worm.
#[derive(Clone, Default)]
struct Ahead {
    requests: FixedBitSet,
    stands: FixedBitSet,
}

impl Ahead {
    fn clear(&mut self) {
        self.requests.clear();
        self.stands.clear();
    }

    fn add(&mut self, other: &Self) {
        self.requests.union_with(&other.requests);
        self.stands.union_with(&other.stands);
    }

    fn size(&self) -> usize {
        self.requests.count_ones(..) + self.stands.count_ones(..)
    }
}

/// No request: the header is where its leg ends.
const NONE: u32 = u32::MAX;

/// What is known of virtual channels while the worms of a leg are followed.
struct Following {
    /// The last leg on which each was reached, what is asked for at its end, and whether it is being followed.
    reached: Vec<u32>,
    asked: Vec<u32>,
    open: Vec<bool>,
    pass: u32,
    lanes: Lanes,
}

/// What following a leg found.
struct Followed {
    /// The virtual channels reached, each behind those that lie ahead of it, if ways do not lead in circles.
    reached: Vec<u32>,
    circles: bool,
    /// Of each worm that came from an earlier leg: that leg, what it held, and what it asked for.
    came: Vec<(usize, u32, u32)>,
}

impl<'n> Waits<'n> {
    /// No worms.
    pub(super) fn new(network: &'n Network, links_have: usize) -> Self {
        let count = on_links(links_have);
        Self {
            network,
            count,
            vertices: network.channels() * count as usize,
            requests: Vec::new(),
            numbers: HashMap::new(),
            states: HashSet::new(),
            through: HashSet::new(),
            starts: HashSet::new(),
            ahead: None,
        }
    }

    /// Adds the worms of some legs; `ahead`: also what lies ahead of them, which is needed for all or none.
    ///
    /// O(legs x virtual channels), and with `ahead` times the requests that there are.
    pub(super) fn add(&mut self, legs: &[Leg<'_>], ahead: bool) {
        let mut following = Following {
            reached: vec![0; self.vertices],
            asked: vec![NONE; self.vertices],
            open: vec![false; self.vertices],
            pass: 0,
            lanes: Lanes::new(),
        };
        // The virtual channels by which each leg ends.
        let mut ends: Vec<Vec<u32>> = Vec::with_capacity(legs.len());
        for (number, leg) in legs.iter().enumerate() {
            step("following virtual channels", "destinations", number, legs.len());
            let found = self.follow(legs, number, &ends, &mut following);
            let ended = found.reached.iter().filter(|&&vertex| self.end_of(vertex) == leg.target);
            ends.push(ended.copied().collect());
        }
        if !ahead {
            return;
        }
        let mut all = self.ahead.take().unwrap_or_else(|| vec![Ahead::default(); self.vertices]);
        let mut onward: HashMap<(usize, u32), Ahead> = HashMap::new();
        let mut scratch = vec![Ahead::default(); self.vertices];
        for number in (0..legs.len()).rev() {
            step("looking ahead of worms", "destinations", legs.len() - number, legs.len());
            let found = self.follow(legs, number, &ends, &mut following);
            for &vertex in &found.reached {
                scratch[vertex as usize].clear();
            }
            loop {
                let mut grown = false;
                for &vertex in &found.reached {
                    let mut own = std::mem::take(&mut scratch[vertex as usize]);
                    let before = if found.circles { own.size() } else { 0 };
                    own.stands.grow_and_insert(vertex as usize);
                    match following.asked[vertex as usize] {
                        NONE => onward.get(&(number, vertex)).into_iter().for_each(|onward| own.add(onward)),
                        request => {
                            own.requests.grow_and_insert(request as usize);
                            for &next in &*self.requests[request as usize] {
                                own.add(&scratch[next as usize]);
                            }
                        }
                    }
                    grown |= found.circles && own.size() > before;
                    scratch[vertex as usize] = own;
                }
                if !found.circles || !grown {
                    break;
                }
            }
            for &vertex in &found.reached {
                all[vertex as usize].add(&scratch[vertex as usize]);
            }
            // Many ask for the same.
            let mut behind: HashMap<u32, Ahead> = HashMap::new();
            for &(leg, held, request) in &found.came {
                let behind = behind.entry(request).or_insert_with(|| {
                    let mut all = Ahead::default();
                    all.requests.grow_and_insert(request as usize);
                    self.requests[request as usize].iter().for_each(|&next| all.add(&scratch[next as usize]));
                    all
                });
                onward.entry((leg, held)).or_default().add(behind);
            }
        }
        self.ahead = Some(all);
    }

    fn end_of(&self, vertex: u32) -> RouterId {
        self.network.to(ChannelId::new(vertex / self.count))
    }

    /// The number of a request: what a header may take.
    fn request(&mut self, lanes: &Lanes) -> Option<u32> {
        let all = numbers(lanes, self.count);
        if all.is_empty() {
            return None;
        }
        if let Some(&number) = self.numbers.get(all.as_slice()) {
            return Some(number);
        }
        let number = self.requests.len() as u32;
        self.requests.push(all.clone().into());
        self.numbers.insert(all.into(), number);
        Some(number)
    }

    /// Follows the worms of a leg, from their sources and from where earlier legs end.
    fn follow(&mut self, legs: &[Leg<'_>], number: usize, ends: &[Vec<u32>], following: &mut Following) -> Followed {
        let leg = &legs[number];
        let mut ask = |waits: &mut Self, at, arrived| {
            following.lanes.clear();
            (leg.lanes)(at, arrived, &mut following.lanes);
            waits.request(&following.lanes)
        };
        let mut roots: Vec<u32> = Vec::new();
        for &source in &*leg.sources {
            let request = ask(self, source, None);
            roots.extend(request);
            self.starts.extend(request.filter(|_| leg.stopped));
        }
        let mut came = Vec::new();
        for (before, held) in
            ends.iter().enumerate().take(number).filter(|&(before, _)| legs[before].next.contains(&number))
        {
            for &vertex in held {
                let arrived = ChannelId::new(vertex / self.count);
                let Some(request) = ask(self, self.network.to(arrived), Some(arrived)) else { continue };
                roots.push(request);
                came.push((before, vertex, request));
                self.states.insert((vertex, request));
                if legs[before].delivers {
                    self.through.insert((vertex, request));
                }
            }
        }
        following.pass += 1;
        let pass = following.pass;
        roots.sort_unstable();
        roots.dedup();
        let mut found = Followed { reached: Vec::new(), circles: false, came };
        let mut way: Vec<(u32, u32, usize)> = Vec::new();
        for root in roots {
            // Request, the vertex that makes it, and how much of it has been followed.
            way.push((root, NONE, 0));
            while let Some(&mut (request, by, ref mut place)) = way.last_mut() {
                let next = match request {
                    NONE => None,
                    request => self.requests[request as usize].get(*place).copied(),
                };
                *place += 1;
                let Some(vertex) = next else {
                    way.pop();
                    if by != NONE {
                        following.open[by as usize] = false;
                        found.reached.push(by);
                    }
                    continue;
                };
                if std::mem::replace(&mut following.reached[vertex as usize], pass) == pass {
                    found.circles |= following.open[vertex as usize];
                    continue;
                }
                let arrived = ChannelId::new(vertex / self.count);
                let at = self.network.to(arrived);
                let request = if at == leg.target {
                    None
                } else {
                    following.lanes.clear();
                    (leg.lanes)(at, Some(arrived), &mut following.lanes);
                    self.request(&following.lanes)
                };
                self.states.extend(request.map(|request| (vertex, request)));
                following.asked[vertex as usize] = request.unwrap_or(NONE);
                following.open[vertex as usize] = true;
                way.push((request.unwrap_or(NONE), vertex, 0));
            }
        }
        found
    }

    /// The dependencies between channels.
    pub(super) fn between_channels(&self) -> impl Iterator<Item = (u32, u32)> {
        let pairs = self
            .states
            .iter()
            .flat_map(|&(held, request)| self.requests[request as usize].iter().map(move |next| (held, next)));
        pairs.map(|(held, next)| (held / self.count, next / self.count))
    }

    /// The channels on which worms that deliver and go on come and leave.
    pub(super) fn stops(&self) -> impl Iterator<Item = (ChannelId, ChannelId)> {
        let channel = |vertex: u32| ChannelId::new(vertex / self.count);
        let pairs = self
            .through
            .iter()
            .flat_map(|&(held, request)| self.requests[request as usize].iter().map(move |&next| (held, next)));
        pairs.map(move |(held, next)| (channel(held), channel(next)))
    }

    /// Whether worms that follow each other from virtual channel to virtual channel never come back to one, and hold no consumption channel on their way.
    fn is_acyclic(&self) -> bool {
        if !self.through.is_empty() || !self.starts.is_empty() {
            return false;
        }
        let mut next: Vec<Vec<u32>> = vec![Vec::new(); self.vertices];
        let mut before = vec![0u32; self.vertices];
        for &(held, request) in &self.states {
            next[held as usize].push(request);
        }
        for requests in &next {
            for &request in requests {
                self.requests[request as usize].iter().for_each(|&vertex| before[vertex as usize] += 1);
            }
        }
        let mut work: Vec<u32> = (0..self.vertices as u32).filter(|&vertex| before[vertex as usize] == 0).collect();
        let mut done = 0;
        while let Some(vertex) = work.pop() {
            done += 1;
            for &request in &next[vertex as usize] {
                for &other in &*self.requests[request as usize] {
                    before[other as usize] -= 1;
                    if before[other as usize] == 0 {
                        work.push(other);
                    }
                }
            }
        }
        done == self.vertices
    }

    /// The largest set of virtual channels each of which may be held by a worm whose header is blocked: all that it may take is in the set, or it stands where other worms of the set may
    /// hold all `ports` consumption channels of a node.
    ///
    /// Without [`ahead`](Self::add), of worms that hold one virtual channel alone, the one behind their header: then there may be more.
    fn suspects(&self, ports: usize) -> Suspects<'_, 'n> {
        let mut through: HashMap<RouterId, Vec<(u32, u32)>> = HashMap::new();
        for &(held, request) in &self.through {
            through.entry(self.end_of(held)).or_default().push((held, request));
        }
        for list in through.values_mut() {
            list.sort_unstable();
        }
        let mut starts: HashMap<RouterId, Vec<u32>> = HashMap::new();
        for &request in &self.starts {
            let Some(&first) = self.requests[request as usize].first() else { continue };
            starts.entry(self.network.from(ChannelId::new(first / self.count))).or_default().push(request);
        }
        let mut by_held: Vec<Vec<u32>> = vec![Vec::new(); self.vertices];
        for &(held, request) in &self.states {
            by_held[held as usize].push(request);
        }
        for requests in &mut by_held {
            requests.sort_by_key(|&request| &self.requests[request as usize]);
        }
        let mut set = FixedBitSet::with_capacity(self.vertices);
        set.insert_range(..);
        let mut suspects = Suspects {
            waits: self,
            ports,
            through,
            starts,
            by_held,
            set,
            blocked: FixedBitSet::with_capacity(self.requests.len()),
            exhausted: FixedBitSet::with_capacity(self.vertices),
        };
        while suspects.strike_out() {}
        suspects
    }

    /// What may be blocked: by the quickest way that decides it.
    fn decide(&self, ports: usize) -> Option<Suspects<'_, 'n>> {
        if self.is_acyclic() {
            return None;
        }
        let found = self.suspects(ports);
        (!found.set.is_clear()).then_some(found)
    }

    /// The channels with a virtual channel whose holder could be blocked forever.
    pub(super) fn blocked(&self, ports: usize) -> Vec<ChannelId> {
        let Some(suspects) = self.decide(ports) else { return Vec::new() };
        let mut channels: Vec<ChannelId> =
            suspects.set.ones().map(|vertex| ChannelId::new(vertex as u32 / self.count)).collect();
        channels.dedup();
        channels
    }

    /// A short cycle of virtual channels whose holders could block each other forever, and of nodes whose consumption channels they hold, each with its virtual channel.
    pub(super) fn cycle(&self, ports: usize) -> Option<Vec<(Resource, Option<u32>)>> {
        self.decide(ports)?.cycle()
    }

    /// Whether it can be said without [`ahead`](Self::add): nothing can be blocked, or something is whatever lies ahead.
    pub(super) fn is_decided(&self, ports: usize) -> bool {
        self.is_acyclic() || !self.suspects(ports).set.is_clear()
    }
}

/// What may be blocked.
struct Suspects<'w, 'n> {
    waits: &'w Waits<'n>,
    ports: usize,
    /// Worms that deliver and go on, by router, and those that start there.
    through: HashMap<RouterId, Vec<(u32, u32)>>,
    starts: HashMap<RouterId, Vec<u32>>,
    /// Requests by the virtual channel behind the header.
    by_held: Vec<Vec<u32>>,
    set: FixedBitSet,
    /// Requests that may be blocked, and virtual channels at whose ends all consumption channels may be held.
    blocked: FixedBitSet,
    exhausted: FixedBitSet,
}

impl Suspects<'_, '_> {
    /// Leaves those that may be blocked by the others; returns whether there are fewer.
    fn strike_out(&mut self) -> bool {
        let waits = self.waits;
        self.blocked.clear();
        for (number, request) in waits.requests.iter().enumerate() {
            if request.iter().all(|&vertex| self.set.contains(vertex as usize)) {
                self.blocked.insert(number);
            }
        }
        self.exhausted.clear();
        if !self.through.is_empty() || !self.starts.is_empty() {
            for vertex in 0..waits.vertices as u32 {
                if !self.holding(vertex).is_empty() {
                    self.exhausted.insert(vertex as usize);
                }
            }
        }
        let before = self.set.count_ones(..);
        for vertex in 0..waits.vertices {
            let stays = match &waits.ahead {
                Some(ahead) => {
                    let Ahead { requests, stands } = &ahead[vertex];
                    !requests.is_disjoint(&self.blocked) || !stands.is_disjoint(&self.exhausted)
                }
                None => self.by_held[vertex].iter().any(|&request| self.blocked.contains(request as usize)),
            };
            if !stays {
                self.set.set(vertex, false);
            }
        }
        self.set.count_ones(..) < before
    }

    /// The virtual channels by which worms go on that may hold all consumption channels of a node where `vertex` ends, and keep them; none if
    /// some stay free.
    ///
    /// These worms have come by different virtual channels, none by `vertex`, and go on by different ones.
    fn holding(&self, vertex: u32) -> Vec<u32> {
        let waits = self.waits;
        let router = waits.end_of(vertex);
        if waits.network.nodes_of(router).len() == 0 {
            return Vec::new();
        }
        let going_on = |request: u32| {
            waits.requests[request as usize].iter().copied().filter(|&next| self.set.contains(next as usize))
        };
        let (mut inputs, mut outputs) = (HashSet::new(), Vec::new());
        for &(held, request) in self.through.get(&router).into_iter().flatten() {
            if held == vertex || !self.set.contains(held as usize) {
                continue;
            }
            let before = outputs.len();
            outputs.extend(going_on(request));
            if outputs.len() > before {
                inputs.insert(held);
            }
        }
        let count = |outputs: &mut Vec<u32>| {
            outputs.sort_unstable();
            outputs.dedup();
            outputs.len()
        };
        let through = inputs.len().min(count(&mut outputs));
        let mut starting: Vec<u32> =
            self.starts.get(&router).into_iter().flatten().flat_map(|&r| going_on(r)).collect();
        let starts = count(&mut starting);
        outputs.extend(starting);
        if (through + starts).min(count(&mut outputs)) >= self.ports { outputs } else { Vec::new() }
    }

    /// The suspects that may block the holder of one, with the node whose consumption channels they hold, if it is by these: where its header stands just ahead, or else
    /// further on.
    fn blockers(&self, vertex: u32) -> Vec<(Option<NodeId>, u32)> {
        let waits = self.waits;
        let mut all = Vec::new();
        let request = |number: u32, all: &mut Vec<(Option<NodeId>, u32)>| {
            if self.blocked.contains(number as usize) {
                all.extend(waits.requests[number as usize].iter().map(|&next| (None, next)));
            }
        };
        let stand = |at: u32, all: &mut Vec<(Option<NodeId>, u32)>| {
            if self.exhausted.contains(at as usize) {
                let node = waits.network.nodes_of(waits.end_of(at)).next();
                all.extend(self.holding(at).into_iter().map(|next| (node, next)));
            }
        };
        self.by_held[vertex as usize].iter().for_each(|&number| request(number, &mut all));
        stand(vertex, &mut all);
        if let (true, Some(ahead)) = (all.is_empty(), &waits.ahead) {
            let Ahead { requests, stands } = &ahead[vertex as usize];
            requests.ones().for_each(|number| request(number as u32, &mut all));
            stands.ones().for_each(|at| stand(at as u32, &mut all));
        }
        all
    }

    fn cycle(&self) -> Option<Vec<(Resource, Option<u32>)>> {
        /// Vertices from which shortest cycles are looked for.
        const STARTS: usize = 256;
        let mut next: HashMap<u32, Vec<(Option<NodeId>, u32)>> = HashMap::new();
        let first = self.set.ones().next()? as u32;
        // Every suspect leads to a cycle: the first one may not lie on it.
        let mut starts: Vec<u32> = self.set.ones().take(STARTS).map(|vertex| vertex as u32).collect();
        let mut blockers = |vertex: u32| next.entry(vertex).or_insert_with(|| self.blockers(vertex)).clone();
        let (mut passed, mut at) = (HashSet::new(), first);
        while passed.insert(at) {
            at = blockers(at).first()?.1;
        }
        starts.push(at);
        let mut best: Option<Vec<(u32, Option<NodeId>)>> = None;
        for start in starts {
            let mut before: HashMap<u32, (u32, Option<NodeId>)> = HashMap::new();
            let mut queue = VecDeque::from([start]);
            'search: while let Some(vertex) = queue.pop_front() {
                for (node, other) in blockers(vertex) {
                    if before.contains_key(&other) {
                        continue;
                    }
                    before.insert(other, (vertex, node));
                    if other == start {
                        break 'search;
                    }
                    queue.push_back(other);
                }
            }
            if !before.contains_key(&start) {
                continue;
            }
            // From the last to the first, each with the node by which the one before it waits for it.
            let (mut cycle, mut vertex) = (Vec::new(), start);
            loop {
                let (earlier, node) = before[&vertex];
                cycle.push((vertex, node));
                vertex = earlier;
                if vertex == start {
                    break;
                }
            }
            cycle.reverse();
            cycle.rotate_right(1);
            if best.as_ref().is_none_or(|best| cycle.len() < best.len()) {
                best = Some(cycle);
            }
        }
        let count = self.waits.count;
        let cycle = best?;
        let mut told = Vec::new();
        for (place, &(vertex, _)) in cycle.iter().enumerate() {
            told.push((Resource::Channel(ChannelId::new(vertex / count)), Some(vertex % count)));
            let (_, node) = cycle[(place + 1) % cycle.len()];
            told.extend(node.map(|node| (Resource::Consumption(node), None)));
        }
        Some(told)
    }
}
