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

/// One thing that a request asks for: any of these channels, the preferred one first; of links, some of their virtual channels.
#[derive(Clone)]
enum Part {
    Link(Vec<u32>, Vec<VcRange>),
    Pool(Vec<u32>),
}

impl Part {
    fn is_link(&self, link: u32) -> bool {
        matches!(self, Part::Link(any, _) if any.contains(&link))
    }

    /// The virtual channels of a link that will do.
    fn range(&self, link: u32) -> VcRange {
        match self {
            Part::Link(any, ranges) => ranges[any.iter().position(|&other| other == link).unwrap()],
            Part::Pool(_) => VcRange::ANY,
        }
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

/// Runs messages until everything has come to its end or nothing can happen any more.
pub(crate) fn tell(
    network: &Arc<Network>,
    routing: &dyn RoutingRelation,
    config: EngineConfig,
    messages: &[Sent],
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
        last_user: vec![None; space.links()],
        sent: vec![0; space.len()],
        taken: BTreeMap::new(),
        processors: vec![0; network.nodes()],
        events: Vec::new(),
    };
    // Nothing that is going to happen by itself takes longer than this.
    let patience = u64::from(config.startup + config.routing_delay + config.strip_delay + config.receive_overhead) + 10;
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
        self.hold(port, id, Some(0), VcRange::ANY);
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
                    let mut candidates = Vec::new();
                    let arrived = (vertex > 0).then(|| ChannelId::new(at.by.unwrap()));
                    let target = self.network.router_of(target);
                    match path.exit {
                        Some(exit) if vertex == 0 => candidates.push(exit),
                        _ => self.candidates(at.router, arrived, target, &mut candidates),
                    }
                    let part = self.links(own, at.router, arrived, target, candidates);
                    outputs.push(output(part, Some(vertex + 1), None));
                }
            }
            Itinerary::Tree(tree) if worm.places.is_empty() => {
                let trunk = tree.trunk.unwrap();
                let mut candidates = Vec::new();
                let arrived = (vertex > 0).then(|| ChannelId::new(at.by.unwrap()));
                match trunk.exit {
                    Some(exit) if vertex == 0 => candidates.push(exit),
                    _ => self.candidates(at.router, arrived, trunk.to, &mut candidates),
                }
                let part = self.links(own, at.router, arrived, trunk.to, candidates);
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

    /// Any of some links, with the virtual channels of each that will do.
    fn links(
        &self,
        own: VcRange,
        at: RouterId,
        arrived: Option<ChannelId>,
        target: RouterId,
        candidates: Vec<ChannelId>,
    ) -> Part {
        let division = self.routing.capabilities().virtual_channels;
        let permitted = |link| division.map_or(VcRange::ANY, |d| d.range(at, arrived, target, link));
        let range = |&link: &ChannelId| {
            let permitted = permitted(link);
            VcRange { first: permitted.first.max(own.first), last: permitted.last.min(own.last) }
        };
        let ranges = candidates.iter().map(range).collect();
        Part::Link(candidates.into_iter().map(ChannelId::raw).collect(), ranges)
    }

    // Arbitration.

    /// Rule 19: which of the links that it may have a request gets; `others` are the requests that wait before it, for other virtual channels, and those that come after it.
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
                    (others.into_iter().flatten().filter(waits).count(), self.sent[link as usize])
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

    fn hold(&mut self, channel: u32, worm: usize, vertex: Option<usize>, range: VcRange) {
        let free = self.places(channel, range).find(|&place| self.held[channel as usize][place].is_none());
        self.held[channel as usize][free.expect("a free channel")] = Some((worm, vertex));
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
            let choices: Vec<Option<u32>> = parts
                .iter()
                .map(|part| match part {
                    Part::Link(any, _) => {
                        let open = |&c: &u32| {
                            let mut places = self.places(c, part.range(c));
                            let is_next = self.places(c, part.range(c)).all(|place| !queued.contains(&(c, place)));
                            is_next && places.any(|place| self.held[c as usize][place].is_none())
                        };
                        let free: Vec<u32> = any.iter().copied().filter(open).collect();
                        (!free.is_empty()).then(|| self.select(now, request.worm, any, &free, [&left, &requests]))
                    }
                    Part::Pool(any) => any.iter().copied().find(|&c| self.is_free(c)),
                })
                .collect();
            if let Some(channels) = choices.into_iter().collect::<Option<Vec<u32>>>() {
                for (part, &channel) in parts.iter().zip(&channels) {
                    if let Part::Link(any, _) = part {
                        self.taken.insert(any.iter().copied().collect(), channel);
                    }
                }
                self.grant(now, &request, &channels);
            } else {
                for part in parts {
                    if let Part::Link(any, _) = &part {
                        let places = |&c: &u32| self.places(c, part.range(c)).map(move |place| (c, place));
                        queued.extend(any.iter().flat_map(places));
                    }
                }
                left.push(request);
            }
        }
        self.requests = left;
    }

    fn grant(&mut self, now: Cycle, request: &Request, channels: &[u32]) {
        let id = request.worm;
        let Some(vertex) = request.vertex else { return self.take_injection(now, id, channels[0]) };
        self.worms[id].vertices[vertex].granted.get_or_insert(now);
        for (&output, &channel) in request.outputs.iter().zip(channels) {
            self.log(now, What::Grant { worm: id as u64, channel });
            let worm = &mut self.worms[id];
            let output = &mut worm.vertices[vertex].outputs[output];
            output.channel = Some(channel);
            let (to, range) = (output.to, output.part.range(channel));
            if let Some(to) = to {
                if let Itinerary::Path(path) = &worm.plan.itinerary {
                    // Rule 15: it delivers where the stop that is next is.
                    let router = self.network.to(ChannelId::new(channel));
                    let stops = worm.vertices[vertex].stops;
                    let delivers = next_stops(self.network, &path.stops[stops..], router);
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
            self.hold(channel, id, to, range);
        }
    }
}

/// The first stops, as far as they are at a router (rule 15).
fn next_stops(network: &Network, stops: &[NodeId], router: RouterId) -> Vec<NodeId> {
    stops.iter().copied().take_while(|&stop| network.router_of(stop) == router).collect()
}
