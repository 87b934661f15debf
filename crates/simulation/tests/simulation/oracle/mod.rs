//! The rules of the model once more, as literally as they can be put: every buffer is a queue of flits, every cycle looks at
//! every worm, every request and every flit. Slow, and written from the model alone: it shares nothing with the engine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use wormcast_multicast::{Itinerary, Worm};
use wormcast_network::{ChannelId, ChannelSpace, Network, NodeId, RouterId};
use wormcast_routing::{RoutingRelation, VcRange};
use wormcast_simulation::{Cycle, EngineConfig, Header, Reservation, SelectionPolicy, StartupMode};

use crate::support::Sent;

mod movement;

/// Something that is reported, with everything that identifies it but the cycle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum What {
    Start { worm: u64, node: u32 },
    Grant { worm: u64, channel: u32 },
    Flit { worm: u64, channel: u32, flit: u32 },
    Release { worm: u64, channel: u32, flits: u32 },
    Delivery { worm: u64, node: u32, delivered: Cycle },
}

/// What happens in a run.
pub(crate) struct Told {
    pub(crate) events: Vec<(Cycle, What)>,
    /// The worms that have not come to their end when nothing can happen any more.
    pub(crate) stuck: BTreeSet<u64>,
    /// Those among them that ask for channels, and since when.
    pub(crate) asking: BTreeMap<u64, Cycle>,
}

/// One thing that a request asks for: any of these channels, the preferred one first; of links, some of their virtual channels, so one may come several times.
#[derive(Clone)]
enum Part {
    Link(Vec<u32>, Vec<VcRange>),
    Pool(Vec<u32>),
}

impl Part {
    fn is_link(&self, link: u32) -> bool {
        matches!(self, Part::Link(any, _) if any.contains(&link))
    }
}

/// One step of SplitMix64.
pub(crate) fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A way out of a router for a worm.
struct Output {
    part: Part,
    /// The channel, once it is granted.
    channel: Option<u32>,
    /// Where a link leads; `None` for a consumption channel.
    to: Option<usize>,
    /// Whose consumption channel it is.
    node: Option<NodeId>,
    /// The last flit that has left this way.
    last: u32,
    /// How many flits have.
    crossed: u32,
    /// The cycle of the last move.
    moved_in: Option<Cycle>,
}

/// A worm in a router.
struct Vertex {
    router: RouterId,
    /// The channel that it came by, and how many flits have.
    by: Option<u32>,
    entered: u32,
    /// The flits in the buffer of that channel, with the cycles in which they came.
    buffer: VecDeque<(u32, Cycle)>,
    delivers: Vec<NodeId>,
    /// Paths: how many stops have been visited, this one included.
    stops: usize,
    outputs: Vec<Output>,
    asked: bool,
    /// When the first request was granted.
    granted: Option<Cycle>,
    /// When a flit that names this router was stripped.
    stripped: Option<Cycle>,
    /// When the router before knows of each slot that has freed.
    known: Vec<Cycle>,
}

impl Vertex {
    fn new(router: RouterId, delivers: Vec<NodeId>, stops: usize) -> Self {
        Self {
            router,
            by: None,
            entered: 0,
            buffer: VecDeque::new(),
            delivers,
            stops,
            outputs: Vec::new(),
            asked: false,
            granted: None,
            stripped: None,
            known: Vec::new(),
        }
    }
}

struct Traveller {
    plan: Worm,
    /// The worm that triggers it.
    after: Option<usize>,
    ready: Option<Cycle>,
    started: Option<Cycle>,
    /// When the startup is over.
    prepared: Option<Cycle>,
    asked_injection: bool,
    header: u32,
    flits: u32,
    injected: u32,
    /// The cycle of the last injection.
    injected_in: Option<Cycle>,
    /// The router over which it goes, until it is there.
    waypoint: Option<RouterId>,
    /// The vertices: first the source's router.
    vertices: Vec<Vertex>,
    /// Trees: what each header flit names: 0 for where the branches begin, 1 + i for what branch i enters.
    names: Vec<usize>,
    /// Trees: the vertices of these places, once the worm has come to where its branches begin.
    places: Vec<usize>,
    /// Trees: the parent of each vertex.
    parents: Vec<Option<usize>>,
    finished: bool,
}

/// A request that waits: in the order in which requests are served.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    cycle: Cycle,
    worm: usize,
    /// `None`: it asks for an injection channel.
    vertex: Option<usize>,
    outputs: Vec<usize>,
}

/// A worm and the vertex for which it holds a channel.
type Holder = (usize, Option<usize>);

pub(crate) struct Oracle<'a> {
    network: &'a Network,
    routing: &'a dyn RoutingRelation,
    config: EngineConfig,
    space: ChannelSpace,
    worms: Vec<Traveller>,
    requests: Vec<Request>,
    /// Who holds each channel: a link has as many places as virtual channels.
    held: Vec<Vec<Option<Holder>>>,
    /// The cycles beyond the first that each channel takes.
    lags: Vec<u64>,
    wrong: Option<Wrong>,
    /// Places that are released, and when the router before knows of it.
    returning: Vec<(Cycle, u32, usize)>,
    /// The virtual channel that has used each link last.
    last_user: Vec<Option<usize>>,
    /// Flits that have crossed each channel.
    sent: Vec<u64>,
    /// Rule 19: what was taken last of each set of candidates.
    taken: BTreeMap<BTreeSet<u32>, u32>,
    /// When each node's processor is free.
    processors: Vec<Cycle>,
    events: Vec<(Cycle, What)>,
}

/// What a wrong oracle takes to happen at once that takes a link's delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wrong {
    /// Flits come to the end of a link (rule 21).
    Arrivals,
    /// The router before a link knows of free slots (rule 22).
    Slots,
    /// It knows of releases (rule 23).
    Releases,
}

/// Runs messages until everything has come to its end or nothing can happen any more.
pub(crate) fn tell(
    network: &Arc<Network>,
    routing: &dyn RoutingRelation,
    config: EngineConfig,
    messages: &[Sent],
    wrong: Option<Wrong>,
) -> Told {
    let space = ChannelSpace::new(network, config.ports);
    let places = |channel: usize| if channel < space.links() { config.virtual_channels as usize } else { 1 };
    let mut oracle = Oracle {
        network,
        routing,
        config,
        space,
        worms: Vec::new(),
        requests: Vec::new(),
        held: (0..space.len()).map(|channel| vec![None; places(channel)]).collect(),
        lags: (0..space.len() as u32)
            .map(|channel| match ChannelId::new(channel) {
                link if link.index() < space.links() => u64::from(config.delay.of(network, link)) - 1,
                _ => 0,
            })
            .collect(),
        wrong,
        returning: Vec::new(),
        last_user: vec![None; space.links()],
        sent: vec![0; space.len()],
        taken: BTreeMap::new(),
        processors: vec![0; network.nodes()],
        events: Vec::new(),
    };
    // Nothing that is going to happen by itself takes longer than this.
    let patience = u64::from(config.startup + config.routing_delay + config.strip_delay + config.receive_overhead) + 10;
    let patience = patience + 2 * oracle.lags.iter().max().unwrap();
    let mut coming = messages.iter().peekable();
    let mut last_event = 0;
    let mut now = 0;
    loop {
        while let Some((at, length, worms)) = coming.next_if(|message| message.0 == now) {
            oracle.generate(*at, *length, worms);
            last_event = now;
        }
        let before = oracle.events.len();
        oracle.cycle(now);
        if oracle.events.len() > before {
            last_event = now;
        }
        now += 1;
        if coming.peek().is_none() && (oracle.worms.iter().all(|worm| worm.finished) || now - last_event > patience) {
            break;
        }
    }
    let left = oracle.worms.iter().enumerate().filter(|(_, worm)| !worm.finished);
    Told {
        stuck: left.map(|(id, _)| id as u64).collect(),
        asking: oracle.requests.iter().map(|request| (request.worm as u64, request.cycle)).collect(),
        events: oracle.events,
    }
}

impl Oracle<'_> {
    fn log(&mut self, now: Cycle, what: What) {
        self.events.push((now, what));
    }

    fn generate(&mut self, now: Cycle, length: u32, worms: &[Worm]) {
        let first = self.worms.len();
        for plan in worms {
            let source = self.network.router_of(plan.from);
            let stops_here = match &plan.itinerary {
                Itinerary::Path(path) => next_stops(self.network, &path.stops, source),
                Itinerary::Tree(_) | Itinerary::Encoded(_) => Vec::new(),
            };
            let stops = stops_here.len();
            let vertices = vec![Vertex::new(source, stops_here, stops)];
            let mut names = Vec::new();
            if let Itinerary::Tree(tree) = &plan.itinerary {
                // Rule 16: one flit a destination or splitting router.
                let onward = |place: Option<usize>| {
                    tree.branches.iter().filter(|branch| branch.parent.map(|parent| parent as usize) == place).count()
                };
                if !tree.delivers.is_empty() || onward(None) > 1 {
                    names.push(0);
                }
                for (place, branch) in tree.branches.iter().enumerate() {
                    if !branch.delivers.is_empty() || onward(Some(place)) > 1 {
                        names.push(place + 1);
                    }
                }
            }
            let header = match (self.config.header, &plan.itinerary) {
                (Header::None, _) => 0,
                (Header::BitString, _) => self.config.header_flits,
                (Header::AllDestinations, Itinerary::Path(path)) => path.stops.len() as u32,
                (Header::Tree, Itinerary::Tree(_)) => names.len() as u32,
                (Header::Tree, Itinerary::Path(_)) => 1,
                _ => panic!("a header for the other kind of worm"),
            };
            self.worms.push(Traveller {
                plan: plan.clone(),
                after: plan.after.map(|trigger| first + trigger as usize),
                ready: plan.after.is_none().then_some(now),
                started: None,
                prepared: None,
                asked_injection: false,
                header,
                flits: header + length,
                injected: 0,
                injected_in: None,
                waypoint: None,
                vertices,
                names,
                places: Vec::new(),
                parents: vec![None],
                finished: false,
            });
            self.begin_branches(self.worms.len() - 1, 0);
        }
    }

    /// A tree whose branches begin in the router of this vertex, if they do, gets their vertices.
    fn begin_branches(&mut self, id: usize, vertex: usize) {
        let worm = &mut self.worms[id];
        let Itinerary::Tree(tree) = &worm.plan.itinerary else { return };
        let begins = tree.trunk.is_none_or(|trunk| trunk.to == worm.vertices[vertex].router);
        if !begins || !worm.places.is_empty() {
            return;
        }
        worm.vertices[vertex].delivers.clone_from(&tree.delivers);
        worm.places.push(vertex);
        for branch in &tree.branches {
            worm.places.push(worm.vertices.len());
            worm.vertices.push(Vertex::new(self.network.to(branch.channel), branch.delivers.clone(), 0));
            worm.parents.push(Some(worm.places[branch.parent.map_or(0, |parent| parent as usize + 1)]));
        }
    }

    fn cycle(&mut self, now: Cycle) {
        self.start(now);
        self.ask(now);
        self.arbitrate(now);
        self.move_flits(now);
    }

    // Startups.

    fn start(&mut self, now: Cycle) {
        for node in self.network.node_ids() {
            let mut waiting: Vec<(Cycle, usize)> = Vec::new();
            for (id, worm) in self.worms.iter().enumerate() {
                if worm.plan.from == node && worm.started.is_none() && worm.ready.is_some_and(|ready| ready <= now) {
                    waiting.push((worm.ready.unwrap(), id));
                }
            }
            waiting.sort_unstable();
            for (_, id) in waiting {
                match self.config.startup_mode {
                    StartupMode::Serial => {
                        if self.processors[node.index()] > now {
                            break;
                        }
                        self.processors[node.index()] = now + u64::from(self.config.startup);
                    }
                    StartupMode::PerPort => {
                        let mut ports = self.space.injection(node).map(ChannelId::raw);
                        let Some(port) = ports.find(|&port| self.is_free(port)) else { break };
                        self.take_injection(now, id, port);
                    }
                }
                self.worms[id].started = Some(now);
                self.worms[id].prepared = Some(now + u64::from(self.config.startup));
                self.log(now, What::Start { worm: id as u64, node: node.raw() });
            }
        }
    }

    fn take_injection(&mut self, now: Cycle, id: usize, port: u32) {
        self.hold(port, id, Some(0), 0);
        self.worms[id].vertices[0].by = Some(port);
        self.log(now, What::Grant { worm: id as u64, channel: port });
    }

    // Requests.

    fn ask(&mut self, now: Cycle) {
        for id in 0..self.worms.len() {
            let worm = &mut self.worms[id];
            if self.config.startup_mode == StartupMode::Serial && worm.prepared == Some(now) && !worm.asked_injection {
                worm.asked_injection = true;
                self.requests.push(Request { cycle: now, worm: id, vertex: None, outputs: Vec::new() });
            }
            for vertex in 0..self.worms[id].vertices.len() {
                if self.asks_in(id, vertex) == Some(now) {
                    self.ask_at(now, id, vertex);
                }
            }
        }
    }

    /// When the header at a vertex asks for what it needs (rules 3 and 14).
    fn asks_in(&self, id: usize, vertex: usize) -> Option<Cycle> {
        let at = &self.worms[id].vertices[vertex];
        if at.asked {
            return None;
        }
        let &(flit, came) = at.buffer.front()?;
        if self.config.header == Header::AllDestinations && self.names(id, vertex, flit) {
            return None;
        }
        let is_header_since = at.stripped.map_or(came, |stripped| stripped.max(came));
        Some(is_header_since + 1 + u64::from(self.config.routing_delay))
    }

    fn ask_at(&mut self, now: Cycle, id: usize, vertex: usize) {
        let source = &self.worms[id].vertices[0];
        if let (0, true, Itinerary::Path(path)) = (vertex, source.delivers.is_empty(), &self.worms[id].plan.itinerary) {
            // Its own number, whenever and wherever it is drawn.
            let drawn = [6, id as u64, 0].iter().fold(self.config.seed, |z, &value| mix(z ^ mix(value)));
            let waypoints = self.routing.capabilities().waypoints;
            let target = self.network.router_of(path.stops[0]);
            let load = |link: ChannelId| {
                let held = self.held[link.index()].iter().flatten().count();
                let waits = |request: &&Request| {
                    request.cycle < now && self.parts_of(request).iter().any(|part| part.is_link(link.raw()))
                };
                (held + self.requests.iter().filter(waits).count()) as u32
            };
            let waypoint = waypoints.and_then(|all| all.waypoint(source.router, target, drawn, &load));
            self.worms[id].waypoint = waypoint;
        }
        let worm = &self.worms[id];
        let at = &worm.vertices[vertex];
        let mut outputs = Vec::new();
        let own = worm.plan.virtual_channels.unwrap_or(VcRange::ANY);
        let output = |part, to, node| Output { part, channel: None, to, node, last: 0, crossed: 0, moved_in: None };
        for &node in &at.delivers {
            let mut channels: Vec<u32> = self.space.consumption(node).map(ChannelId::raw).collect();
            if let Some(class) = worm.plan.consumption_class {
                channels = vec![channels[class as usize]];
            }
            outputs.push(output(Part::Pool(channels), None, Some(node)));
        }
        match &worm.plan.itinerary {
            Itinerary::Path(path) => {
                if let Some(&target) = path.stops.get(at.stops) {
                    let arrived = (vertex > 0).then(|| ChannelId::new(at.by.unwrap()));
                    let target = self.network.router_of(target);
                    let exit = path.exit.filter(|_| vertex == 0);
                    let part = self.links(own, at.router, arrived, (target, worm.waypoint), exit);
                    outputs.push(output(part, Some(vertex + 1), None));
                }
            }
            Itinerary::Tree(tree) if worm.places.is_empty() => {
                let trunk = tree.trunk.unwrap();
                let arrived = (vertex > 0).then(|| ChannelId::new(at.by.unwrap()));
                let part = self.links(own, at.router, arrived, (trunk.to, None), trunk.exit.filter(|_| vertex == 0));
                outputs.push(output(part, Some(vertex + 1), None));
            }
            Itinerary::Encoded(_) => unreachable!("wormhole switching has no encoded worms"),
            Itinerary::Tree(tree) => {
                for (branch, &child) in tree.branches.iter().zip(&worm.places[1..]) {
                    if worm.parents[child] == Some(vertex) {
                        outputs.push(output(Part::Link(vec![branch.channel.raw()], vec![own]), Some(child), None));
                    }
                }
            }
        }
        let separate = !self.in_lockstep(id) && self.config.reservation == Reservation::Separate;
        let all: Vec<usize> = (0..outputs.len()).collect();
        if separate {
            for output in all {
                self.requests.push(Request { cycle: now, worm: id, vertex: Some(vertex), outputs: vec![output] });
            }
        } else {
            self.requests.push(Request { cycle: now, worm: id, vertex: Some(vertex), outputs: all });
        }
        let at = &mut self.worms[id].vertices[vertex];
        at.outputs = outputs;
        at.asked = true;
    }

    /// Rule 20: the relation's candidates, and the parallel links that will do as well.
    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, candidates: &mut Vec<ChannelId>) {
        match self.config.selection {
            SelectionPolicy::First => self.routing.candidates(at, arrived, target, candidates),
            _ => self.routing.spread(at, arrived, target, candidates),
        }
    }

    /// Any of some links, with the virtual channels of each that will do, of its `own`; only the one that a plan names, if it does.
    fn links(
        &self,
        own: VcRange,
        at: RouterId,
        arrived: Option<ChannelId>,
        (target, waypoint): (RouterId, Option<RouterId>),
        exit: Option<ChannelId>,
    ) -> Part {
        let mut lanes = Vec::new();
        let capabilities = self.routing.capabilities();
        match capabilities.virtual_channels {
            Some(division) => {
                let count = self.config.virtual_channels as u8;
                match waypoint {
                    Some(waypoint) => {
                        capabilities.waypoints.unwrap().lanes_to(at, arrived, waypoint, count, &mut lanes);
                    }
                    None => division.lanes(at, arrived, target, count, &mut lanes),
                }
                lanes.retain(|lane| exit.is_none_or(|exit| lane.0 == exit));
            }
            None => {
                let mut candidates = Vec::from_iter(exit);
                if exit.is_none() {
                    self.candidates(at, arrived, target, &mut candidates);
                }
                lanes.extend(candidates.into_iter().map(|link| (link, VcRange::ANY)));
            }
        }
        // A plan may keep its worm to some of them.
        lanes.retain_mut(|(_, range)| {
            *range = VcRange { first: range.first.max(own.first), last: range.last.min(own.last) };
            range.first <= range.last && u32::from(range.first) < self.config.virtual_channels
        });
        Part::Link(lanes.iter().map(|lane| lane.0.raw()).collect(), lanes.iter().map(|lane| lane.1).collect())
    }

    // Arbitration.

    /// Rule 19: which of the links that it may have a request gets; the others are those that have not been granted before it, and those that come after it.
    fn select(&self, now: Cycle, worm: usize, any: &[u32], free: &[u32], others: [&[Request]; 2]) -> u32 {
        if any.len() == 1 {
            return free[0];
        }
        match self.config.selection {
            SelectionPolicy::First => free[0],
            SelectionPolicy::Random => {
                let z = [4, worm as u64, now].iter().fold(self.config.seed, |z, &value| mix(z ^ mix(value)));
                free[(u128::from(z) * free.len() as u128 / (1 << 64)) as usize]
            }
            SelectionPolicy::RoundRobin => {
                let last = self.taken.get(&any.iter().copied().collect::<BTreeSet<u32>>());
                let next = last.and_then(|last| free.iter().copied().filter(|link| link > last).min());
                next.unwrap_or(*free.iter().min().unwrap())
            }
            SelectionPolicy::LeastLoaded => {
                let load = |link: u32| {
                    let waits = |request: &&Request| {
                        request.cycle < now && self.parts_of(request).iter().any(|part| part.is_link(link))
                    };
                    (others.concat().iter().filter(waits).count(), self.sent[link as usize])
                };
                let least = free.iter().map(|&link| load(link)).min().unwrap();
                *free.iter().find(|&&link| load(link) == least).unwrap()
            }
        }
    }

    fn parts_of(&self, request: &Request) -> Vec<Part> {
        match request.vertex {
            None => {
                let node = self.worms[request.worm].plan.from;
                vec![Part::Pool(self.space.injection(node).map(ChannelId::raw).collect())]
            }
            Some(vertex) => {
                let outputs = &self.worms[request.worm].vertices[vertex].outputs;
                request.outputs.iter().map(|&output| outputs[output].part.clone()).collect()
            }
        }
    }

    fn is_free(&self, channel: u32) -> bool {
        self.held[channel as usize].iter().any(Option::is_none)
    }

    /// The places of a link in a range of virtual channels.
    fn places(&self, link: u32, range: VcRange) -> impl Iterator<Item = usize> {
        (0..self.held[link as usize].len())
            .filter(move |&vc| (usize::from(range.first)..=range.last.into()).contains(&vc))
    }

    fn hold(&mut self, channel: u32, worm: usize, vertex: Option<usize>, place: usize) {
        let place = &mut self.held[channel as usize][place];
        assert!(place.is_none(), "a free channel");
        *place = Some((worm, vertex));
    }

    fn arbitrate(&mut self, now: Cycle) {
        self.requests.sort_unstable();
        let mut left = Vec::new();
        // The virtual channels that an earlier request waits for: no later one is the first who may have them.
        let mut queued: BTreeSet<(u32, usize)> = BTreeSet::new();
        let mut requests = std::mem::take(&mut self.requests);
        while !requests.is_empty() {
            let request = requests.remove(0);
            let parts = self.parts_of(&request);
            let choices: Vec<Option<(u32, usize)>> = parts
                .iter()
                .map(|part| match part {
                    Part::Link(any, ranges) => {
                        // The lowest virtual channel that is free and that nobody waits for who came before.
                        let open = |(&link, &range): (&u32, &VcRange)| {
                            let mut places = self.places(link, range).filter(|&place| !queued.contains(&(link, place)));
                            let free = places.find(|&place| self.held[link as usize][place].is_none());
                            free.map(|place| (link, range, place))
                        };
                        let open: Vec<_> = any.iter().zip(ranges).filter_map(open).collect();
                        let preferred = open.first()?.1;
                        let open: Vec<_> = open.iter().filter(|at| at.1 == preferred).collect();
                        let links: Vec<u32> = open.iter().map(|at| at.0).collect();
                        let link = self.select(now, request.worm, any, &links, [&left, &requests]);
                        open.iter().find(|at| at.0 == link).map(|at| (link, at.2))
                    }
                    Part::Pool(any) => any.iter().copied().find(|&c| self.is_free(c)).map(|channel| (channel, 0)),
                })
                .collect();
            if let Some(channels) = choices.into_iter().collect::<Option<Vec<(u32, usize)>>>() {
                for (part, &(channel, _)) in parts.iter().zip(&channels) {
                    if let Part::Link(any, _) = part {
                        self.taken.insert(any.iter().copied().collect(), channel);
                    }
                }
                self.grant(now, &request, &channels);
            } else {
                for part in parts {
                    if let Part::Link(any, ranges) = &part {
                        for (&link, &range) in any.iter().zip(ranges) {
                            queued.extend(self.places(link, range).map(|place| (link, place)));
                        }
                    }
                }
                left.push(request);
            }
        }
        self.requests = left;
    }

    fn grant(&mut self, now: Cycle, request: &Request, channels: &[(u32, usize)]) {
        let id = request.worm;
        let Some(vertex) = request.vertex else { return self.take_injection(now, id, channels[0].0) };
        self.worms[id].vertices[vertex].granted.get_or_insert(now);
        for (&output, &(channel, place)) in request.outputs.iter().zip(channels) {
            self.log(now, What::Grant { worm: id as u64, channel });
            let worm = &mut self.worms[id];
            let output = &mut worm.vertices[vertex].outputs[output];
            output.channel = Some(channel);
            let to = output.to;
            if let Some(to) = to {
                if let Itinerary::Path(path) = &worm.plan.itinerary {
                    // Rule 15: it delivers where the stop that is next is.
                    let router = self.network.to(ChannelId::new(channel));
                    let stops = worm.vertices[vertex].stops;
                    if worm.waypoint == Some(router) {
                        worm.waypoint = None;
                    }
                    let here = if worm.waypoint.is_some() { &[][..] } else { &path.stops[stops..] };
                    let delivers = next_stops(self.network, here, router);
                    assert_eq!(worm.vertices.len(), to);
                    let stops = stops + delivers.len();
                    worm.vertices.push(Vertex::new(router, delivers, stops));
                } else if worm.places.is_empty() {
                    let router = self.network.to(ChannelId::new(channel));
                    worm.vertices.push(Vertex::new(router, Vec::new(), 0));
                    worm.parents.push(Some(vertex));
                    self.begin_branches(id, to);
                }
                self.worms[id].vertices[to].by = Some(channel);
            }
            self.hold(channel, id, to, place);
        }
    }
}

/// The first stops, as far as they are at a router (rule 15).
fn next_stops(network: &Network, stops: &[NodeId], router: RouterId) -> Vec<NodeId> {
    stops.iter().copied().take_while(|&stop| network.router_of(stop) == router).collect()
}
