//! The rules of the model once more, as literally as they can be put: every buffer is a queue of flits, every cycle looks at
//! every worm, every request and every flit. Slow, and written from the model alone: it shares nothing with the engine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wormcast_multicast::{Itinerary, Worm};
use wormcast_network::{ChannelId, ChannelSpace, Network, NodeId, RouterId};
use wormcast_routing::RoutingRelation;
use wormcast_simulation::{Cycle, EngineConfig, Header, Replication, Reservation, StartupMode};

use crate::support::Sent;

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

/// One thing that a request asks for: any of these channels, the preferred one first.
#[derive(Clone)]
enum Part {
    Link(Vec<u32>),
    Pool(Vec<u32>),
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
    /// When each node's processor is free.
    processors: Vec<Cycle>,
    events: Vec<(Cycle, What)>,
}

/// Runs messages until everything has come to its end or nothing can happen any more.
pub(crate) fn tell(network: &Network, routing: &dyn RoutingRelation, config: EngineConfig, messages: &[Sent]) -> Told {
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
        for node in (0..self.network.nodes() as u32).map(NodeId::new) {
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
        self.hold(port, id, Some(0));
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
                    match path.exit {
                        Some(exit) if vertex == 0 => candidates.push(exit),
                        _ => {
                            let arrived = (vertex > 0).then(|| ChannelId::new(at.by.unwrap()));
                            let target = self.network.router_of(target);
                            self.routing.candidates(self.network, at.router, arrived, target, &mut candidates);
                        }
                    }
                    let candidates = candidates.into_iter().map(ChannelId::raw).collect();
                    outputs.push(output(Part::Link(candidates), Some(vertex + 1), None));
                }
            }
            Itinerary::Tree(tree) if worm.places.is_empty() => {
                let trunk = tree.trunk.unwrap();
                let mut candidates = Vec::new();
                match trunk.exit {
                    Some(exit) if vertex == 0 => candidates.push(exit),
                    _ => {
                        let arrived = (vertex > 0).then(|| ChannelId::new(at.by.unwrap()));
                        self.routing.candidates(self.network, at.router, arrived, trunk.to, &mut candidates);
                    }
                }
                let candidates = candidates.into_iter().map(ChannelId::raw).collect();
                outputs.push(output(Part::Link(candidates), Some(vertex + 1), None));
            }
            Itinerary::Encoded(_) => unreachable!("wormhole switching has no encoded worms"),
            Itinerary::Tree(tree) => {
                for (branch, &child) in tree.branches.iter().zip(&worm.places[1..]) {
                    if worm.parents[child] == Some(vertex) {
                        outputs.push(output(Part::Link(vec![branch.channel.raw()]), Some(child), None));
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

    // Arbitration.

    fn is_free(&self, channel: u32) -> bool {
        self.held[channel as usize].iter().any(Option::is_none)
    }

    fn hold(&mut self, channel: u32, worm: usize, vertex: Option<usize>) {
        let places = &mut self.held[channel as usize];
        let place = places.iter().position(Option::is_none).expect("a free channel");
        places[place] = Some((worm, vertex));
    }

    fn arbitrate(&mut self, now: Cycle) {
        self.requests.sort_unstable();
        let mut left = Vec::new();
        // The links that an earlier request waits for: no later one is at the head of their queues.
        let mut queued: BTreeSet<u32> = BTreeSet::new();
        for request in std::mem::take(&mut self.requests) {
            let parts: Vec<Part> = match request.vertex {
                None => {
                    let node = self.worms[request.worm].plan.from;
                    vec![Part::Pool(self.space.injection(node).map(ChannelId::raw).collect())]
                }
                Some(vertex) => {
                    let outputs = &self.worms[request.worm].vertices[vertex].outputs;
                    request.outputs.iter().map(|&output| outputs[output].part.clone()).collect()
                }
            };
            let choices: Vec<Option<u32>> = parts
                .iter()
                .map(|part| match part {
                    Part::Link(any) => any.iter().copied().find(|&c| !queued.contains(&c) && self.is_free(c)),
                    Part::Pool(any) => any.iter().copied().find(|&c| self.is_free(c)),
                })
                .collect();
            if let Some(channels) = choices.into_iter().collect::<Option<Vec<u32>>>() {
                self.grant(now, &request, &channels);
            } else {
                for part in parts {
                    if let Part::Link(any) = part {
                        queued.extend(any);
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
            let to = output.to;
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
            self.hold(channel, id, to);
        }
    }

    // Movement.

    /// Whether a flit names the router at a vertex, where it is stripped.
    fn names(&self, id: usize, vertex: usize, flit: u32) -> bool {
        let worm = &self.worms[id];
        let at = &worm.vertices[vertex];
        if flit > worm.header {
            return false;
        }
        match self.config.header {
            Header::AllDestinations => !at.delivers.is_empty() && at.stops == flit as usize,
            Header::Tree => {
                let place = worm.names.get(flit as usize - 1);
                place.is_some_and(|&place| worm.places.get(place) == Some(&vertex))
            }
            _ => false,
        }
    }

    /// Whether a flit leaves a vertex by an output.
    fn takes(&self, id: usize, vertex: usize, output: usize, flit: u32) -> bool {
        let worm = &self.worms[id];
        if flit > worm.header
            || self.config.header == Header::BitString
            || worm.places.is_empty() && !worm.names.is_empty()
        {
            return true;
        }
        if self.config.header == Header::Tree && worm.names.is_empty() {
            // A unicast's header flit.
            return true;
        }
        if self.names(id, vertex, flit) {
            return false;
        }
        match (worm.vertices[vertex].outputs[output].to, self.config.header) {
            (None, _) => false,
            (Some(_), Header::AllDestinations) => true,
            (Some(child), _) => {
                let mut up = Some(worm.places[worm.names[flit as usize - 1]]);
                while up.is_some_and(|v| v != child) {
                    up = worm.parents[up.unwrap()];
                }
                up.is_some()
            }
        }
    }

    fn has_room(&self, id: usize, vertex: usize) -> bool {
        self.worms[id].vertices[vertex].buffer.len() < self.config.buffer as usize
    }

    /// The flit that may leave a vertex by a group of outputs, and those of the group that it takes: it was there at the start of
    /// the cycle, every channel is held and every buffer has room.
    fn can_leave(&self, now: Cycle, id: usize, vertex: usize, group: &[usize]) -> Option<(u32, Vec<usize>)> {
        let at = &self.worms[id].vertices[vertex];
        let lockstep = self.in_lockstep(id);
        let waits = |flit: u32| lockstep || flit > at.outputs[group[0]].last;
        let &(flit, came) = at.buffer.iter().find(|&&(flit, _)| waits(flit))?;
        if came >= now || self.names(id, vertex, flit) {
            return None;
        }
        let taken: Vec<usize> = group.iter().copied().filter(|&o| self.takes(id, vertex, o, flit)).collect();
        let open = |&o: &usize| {
            let output = &at.outputs[o];
            output.channel.is_some() && output.to.is_none_or(|to| self.has_room(id, to))
        };
        taken.iter().all(open).then_some((flit, taken))
    }

    fn leave(&mut self, now: Cycle, id: usize, vertex: usize, flit: u32, taken: &[usize]) {
        let tail = self.worms[id].flits;
        for &o in taken {
            let output = &mut self.worms[id].vertices[vertex].outputs[o];
            output.last = flit;
            output.crossed += 1;
            let (channel, to, node, crossed) = (output.channel.unwrap(), output.to, output.node, output.crossed);
            self.log(now, What::Flit { worm: id as u64, channel, flit });
            match to {
                Some(to) => {
                    let to = &mut self.worms[id].vertices[to];
                    to.buffer.push_back((flit, now));
                    to.entered += 1;
                }
                None if flit == tail => {
                    self.release(now, id, channel, None, crossed);
                    self.deliver(now, id, node.unwrap());
                }
                None => {}
            }
        }
        // The slot frees once every output has the flit.
        let all_have = |this: &Self, flit: u32| {
            let outputs = &this.worms[id].vertices[vertex].outputs;
            (0..outputs.len()).all(|o| outputs[o].last >= flit || !this.takes(id, vertex, o, flit))
        };
        let front = self.worms[id].vertices[vertex].buffer.front().map(|front| front.0);
        if front.is_some_and(|front| all_have(self, front)) {
            self.drop_front(now, id, vertex);
        }
    }

    fn drop_front(&mut self, now: Cycle, id: usize, vertex: usize) {
        let worm = &mut self.worms[id];
        let tail = worm.flits;
        let at = &mut worm.vertices[vertex];
        let (flit, _) = at.buffer.pop_front().unwrap();
        if flit == tail {
            assert!(at.buffer.is_empty());
            let (by, entered) = (at.by.unwrap(), at.entered);
            self.release(now, id, by, Some(vertex), entered);
        }
    }

    fn release(&mut self, now: Cycle, id: usize, channel: u32, vertex: Option<usize>, flits: u32) {
        let places = &mut self.held[channel as usize];
        let place = places.iter().position(|&place| place == Some((id, vertex))).expect("it holds the channel");
        places[place] = None;
        self.log(now, What::Release { worm: id as u64, channel, flits });
        let id_held = |place: &Option<Holder>| place.is_some_and(|(worm, _)| worm == id);
        let holds = self.held.iter().flatten().any(id_held);
        let asks = self.requests.iter().any(|request| request.worm == id);
        if !holds && !asks {
            self.worms[id].finished = true;
        }
    }

    fn deliver(&mut self, now: Cycle, id: usize, node: NodeId) {
        let delivered = now + 1;
        self.log(now, What::Delivery { worm: id as u64, node: node.raw(), delivered });
        for worm in &mut self.worms {
            if worm.after == Some(id) && worm.plan.from == node {
                worm.ready = Some(delivered + u64::from(self.config.receive_overhead));
            }
        }
    }

    /// Strips the flits whose time has come.
    fn strip(&mut self, now: Cycle) {
        for id in 0..self.worms.len() {
            for vertex in 0..self.worms[id].vertices.len() {
                let at = &self.worms[id].vertices[vertex];
                let Some(&(flit, came)) = at.buffer.front() else { continue };
                let due = match self.config.header {
                    Header::Tree => at.granted == Some(now),
                    _ => now == came + 1 + u64::from(self.config.strip_delay),
                };
                if due && self.names(id, vertex, flit) {
                    self.worms[id].vertices[vertex].stripped = Some(now);
                    self.drop_front(now, id, vertex);
                }
            }
        }
    }

    /// Whether the processor can inject a flit of the worm.
    fn can_inject(&self, now: Cycle, id: usize) -> bool {
        let worm = &self.worms[id];
        worm.vertices[0].by.is_some()
            && worm.prepared.is_some_and(|prepared| prepared <= now)
            && worm.injected < worm.flits
            && worm.injected_in != Some(now)
            && self.has_room(id, 0)
    }

    fn inject(&mut self, now: Cycle, id: usize) {
        let worm = &mut self.worms[id];
        worm.injected += 1;
        worm.injected_in = Some(now);
        let (flit, source) = (worm.injected, &mut worm.vertices[0]);
        source.buffer.push_back((flit, now));
        source.entered += 1;
        let channel = source.by.unwrap();
        self.log(now, What::Flit { worm: id as u64, channel, flit });
    }

    /// The outputs that only move together.
    fn groups(&self, id: usize, vertex: usize) -> Vec<Vec<usize>> {
        let outputs = self.worms[id].vertices[vertex].outputs.len();
        match self.in_lockstep(id) {
            true if outputs > 0 => vec![(0..outputs).collect()],
            true => Vec::new(),
            false => (0..outputs).map(|o| vec![o]).collect(),
        }
    }

    /// Whether the outputs of a worm move together. Only trees have branches that could be independent.
    fn in_lockstep(&self, id: usize) -> bool {
        self.config.replication == Replication::Lockstep || matches!(self.worms[id].plan.itinerary, Itinerary::Path(_))
    }

    /// The channels that a group of outputs would use for its next flit, if that can leave and the group has not moved yet.
    fn next_move(&self, now: Cycle, id: usize, vertex: usize, group: &[usize]) -> Option<Move> {
        let at = &self.worms[id].vertices[vertex];
        // A header flit that was stripped has taken its turn.
        if at.stripped == Some(now) || at.outputs[group[0]].moved_in == Some(now) {
            return None;
        }
        let (flit, outputs) = self.can_leave(now, id, vertex, group)?;
        let links = outputs.iter().filter(|&&o| at.outputs[o].to.is_some());
        let links = links.map(|&o| (at.outputs[o].channel.unwrap(), at.outputs[o].to)).collect();
        Some(Move { id, vertex, flit, outputs, links, group: group.to_vec() })
    }

    /// Rule 18: rounds, in each of which every link that has not served yet picks one of the worms that are ready by now.
    /// What needs no link moves in the first round that it can; stripped flits have left before.
    fn move_flits(&mut self, now: Cycle) {
        self.strip(now);
        let mut served = BTreeSet::new();
        loop {
            let mut injections = Vec::new();
            let mut moves = Vec::new();
            for id in (0..self.worms.len()).filter(|&id| !self.worms[id].finished) {
                if self.can_inject(now, id) {
                    injections.push(id);
                }
                for vertex in 0..self.worms[id].vertices.len() {
                    for group in self.groups(id, vertex) {
                        moves.extend(self.next_move(now, id, vertex, &group));
                    }
                }
            }
            moves.retain(|a_move| a_move.links.iter().all(|(link, _)| !served.contains(link)));
            let mut turns: BTreeMap<u32, usize> = BTreeMap::new();
            for &(link, to) in moves.iter().flat_map(|a_move| &a_move.links) {
                let places = &self.held[link as usize];
                let first = self.last_user[link as usize].map_or(0, |last| last + 1);
                let in_turn = (0..places.len()).map(|i| (first + i) % places.len());
                let is_ready = |place: usize| {
                    let wants =
                        |m: &Move| m.links.iter().any(|&(l, to)| l == link && places[place] == Some((m.id, to)));
                    moves.iter().any(wants)
                };
                let chosen = in_turn.into_iter().find(|&place| is_ready(place));
                turns.insert(link, chosen.expect("this worm, if no other"));
                debug_assert!(places.iter().flatten().any(|&(_, vertex)| vertex == to));
            }
            moves.retain(|m| m.links.iter().all(|&(l, to)| self.held[l as usize][turns[&l]] == Some((m.id, to))));
            if moves.is_empty() && injections.is_empty() {
                break;
            }
            for (link, place) in turns {
                self.last_user[link as usize] = Some(place);
                served.insert(link);
            }
            for id in injections {
                self.inject(now, id);
            }
            for Move { id, vertex, flit, outputs, group, .. } in moves {
                for o in group {
                    self.worms[id].vertices[vertex].outputs[o].moved_in = Some(now);
                }
                self.leave(now, id, vertex, flit, &outputs);
            }
        }
    }
}

/// A flit that can leave a vertex by some outputs.
struct Move {
    id: usize,
    vertex: usize,
    flit: u32,
    outputs: Vec<usize>,
    /// The links among them, each with the vertex that it leads to.
    links: Vec<(u32, Option<usize>)>,
    /// All outputs that move together.
    group: Vec<usize>,
}

/// The first stops, as far as they are at a router (rule 15).
fn next_stops(network: &Network, stops: &[NodeId], router: RouterId) -> Vec<NodeId> {
    stops.iter().copied().take_while(|&stop| network.router_of(stop) == router).collect()
}
