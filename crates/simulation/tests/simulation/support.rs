//! Small networks, worms and a log of what happens.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;
use std::sync::Arc;

use wormcast_multicast::{Branch, Plan, Worm};
use wormcast_network::{
    ChannelId, Direction, Network, NetworkBuilder, NodeDetails, NodeId, Ports, RouterId, TopologySpec,
};
use wormcast_routing::{ECube, Lanes, RoutingCapabilities, RoutingRelation, VcRange, VirtualChannels};
use wormcast_simulation::{
    BranchReplication, Cycle, Delivery, Engine, EngineChoice, EngineConfig, FlitEngine, Generated, Header, LinkDelay,
    Observer, Reservation, RunEnd, RunResult, Scenario, SelectionPolicy, SimulationError, StartupMode, StopReason,
    simulate_observed,
};

/// What an observer is told, except single flits, as a trait object. What the observer does not ask for is kept from it.
pub(crate) trait Listener {
    fn generated(&mut self, message: &Generated<'_>);
    fn started(&mut self, at: Cycle, message: u64, worm: u64, node: NodeId);
    fn requested(&mut self, at: Cycle, worm: u64, channels: &[ChannelId]);
    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId);
    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32);
    fn settled(&mut self, at: Cycle, channel: ChannelId, flits: u32);
    fn delivered(&mut self, delivery: &Delivery);
    fn buffered(&mut self, at: Cycle, switch: RouterId, flits: u64, samples: u64);
    fn ended(&mut self, end: &RunEnd<'_>);
    fn done(&self) -> bool;
}

impl<O: Observer> Listener for O {
    fn generated(&mut self, message: &Generated<'_>) {
        Observer::generated(self, message);
    }

    fn started(&mut self, at: Cycle, message: u64, worm: u64, node: NodeId) {
        if O::CHANNELS {
            Observer::started(self, at, message, worm, node);
        }
    }

    fn requested(&mut self, at: Cycle, worm: u64, channels: &[ChannelId]) {
        if O::WAITS {
            Observer::requested(self, at, worm, channels);
        }
    }

    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        if O::CHANNELS {
            Observer::granted(self, at, worm, channel);
        }
    }

    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32) {
        if O::RELEASES {
            Observer::released(self, at, worm, channel, flits);
        }
    }

    fn settled(&mut self, at: Cycle, channel: ChannelId, flits: u32) {
        Observer::settled(self, at, channel, flits);
    }

    fn delivered(&mut self, delivery: &Delivery) {
        Observer::delivered(self, delivery);
    }

    fn buffered(&mut self, at: Cycle, switch: RouterId, flits: u64, samples: u64) {
        if O::OCCUPANCY {
            Observer::buffered(self, at, switch, flits, samples);
        }
    }

    fn ended(&mut self, end: &RunEnd<'_>) {
        if O::END {
            Observer::ended(self, &RunEnd { worms: if O::WAITS { end.worms } else { &[] }, ..*end });
        }
    }

    fn done(&self) -> bool {
        Observer::done(self)
    }
}

/// Tells an observer of whatever kind, so that engines are compiled once for all of them: most of the time that it takes to build these tests goes there.
/// `QUIET`: one that asks for nothing but messages and deliveries, as sweeps do.
pub(crate) struct Told<'a, const QUIET: bool = false>(Rc<RefCell<dyn Listener + 'a>>);

impl<'a> Told<'a> {
    /// Tells one that its caller looks at meanwhile.
    pub(crate) fn new<O: Observer + 'a>(observer: &Rc<RefCell<O>>) -> Self {
        assert!(!O::FLITS, "nothing is told of single flits");
        let observer: Rc<RefCell<O>> = Rc::clone(observer);
        Self(observer)
    }
}

impl Told<'_, true> {
    /// Tells nobody.
    pub(crate) fn nobody() -> Self {
        Self(shared(()))
    }
}

impl<const QUIET: bool> Observer for Told<'_, QUIET> {
    const OCCUPANCY: bool = !QUIET;
    const WAITS: bool = !QUIET;
    const END: bool = !QUIET;
    const RELEASES: bool = !QUIET;
    const CHANNELS: bool = !QUIET;

    fn generated(&mut self, message: &Generated<'_>) {
        self.0.borrow_mut().generated(message);
    }

    fn started(&mut self, at: Cycle, message: u64, worm: u64, node: NodeId) {
        self.0.borrow_mut().started(at, message, worm, node);
    }

    fn requested(&mut self, at: Cycle, worm: u64, channels: &[ChannelId]) {
        self.0.borrow_mut().requested(at, worm, channels);
    }

    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        self.0.borrow_mut().granted(at, worm, channel);
    }

    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32) {
        self.0.borrow_mut().released(at, worm, channel, flits);
    }

    fn settled(&mut self, at: Cycle, channel: ChannelId, flits: u32) {
        self.0.borrow_mut().settled(at, channel, flits);
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.0.borrow_mut().delivered(delivery);
    }

    fn buffered(&mut self, at: Cycle, switch: RouterId, flits: u64, samples: u64) {
        self.0.borrow_mut().buffered(at, switch, flits, samples);
    }

    fn ended(&mut self, end: &RunEnd<'_>) {
        self.0.borrow_mut().ended(end);
    }

    fn done(&self) -> bool {
        self.0.borrow().done()
    }
}

/// An observer for [`Told`].
pub(crate) fn shared<O>(observer: O) -> Rc<RefCell<O>> {
    Rc::new(RefCell::new(observer))
}

/// It again, when the engine is gone.
pub(crate) fn alone<O>(observer: Rc<RefCell<O>>) -> O {
    Rc::into_inner(observer).expect("nobody else tells it anything").into_inner()
}

/// Simulates a scenario before an observer that asks for no single flits.
pub(crate) fn watch<O: Observer>(
    scenario: &Scenario,
    engine: EngineChoice,
    seed: u64,
    observer: O,
) -> Result<(RunResult, O), SimulationError> {
    let observer = shared(observer);
    let result = simulate_observed(scenario, engine, seed, &mut Told::new(&observer))?;
    Ok((result, alone(observer)))
}

/// What threads that share a run report.
#[derive(Default, PartialEq, Debug)]
pub(crate) struct Watched {
    pub(crate) generated: Vec<(Cycle, u64)>,
    pub(crate) deliveries: Vec<Delivery>,
    pub(crate) links: Vec<i64>,
}

impl Watched {
    /// Deliveries of one cycle come in any order.
    pub(crate) fn sort(&mut self) {
        self.deliveries.sort_by_key(|delivery| (delivery.delivered, delivery.worm, delivery.node));
    }
}

impl Observer for Watched {
    const END: bool = true;
    const RELEASES: bool = false;
    const CHANNELS: bool = false;

    fn generated(&mut self, message: &Generated<'_>) {
        self.generated.push((message.at, message.message));
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.deliveries.push(*delivery);
    }

    fn ended(&mut self, end: &RunEnd<'_>) {
        self.links.extend(end.link_flits);
    }
}

/// Everything that is reported; single flits if asked for.
#[derive(Default, Debug)]
pub(crate) struct Log<const FLITS: bool = true> {
    /// (worm, channel) to the cycle of its grant and of its release.
    pub(crate) grants: BTreeMap<(u64, u32), Cycle>,
    pub(crate) releases: BTreeMap<(u64, u32), (Cycle, u32)>,
    /// (worm, channel, flit) to the cycle in which it crosses.
    pub(crate) flits: BTreeMap<(u64, u32, u32), Cycle>,
    pub(crate) starts: BTreeMap<u64, Cycle>,
    /// Grants and releases of channels that a worm had held before: (cycle, worm, channel).
    pub(crate) grants_again: Vec<(Cycle, u64, u32)>,
    pub(crate) releases_again: Vec<(Cycle, u64, u32)>,
    pub(crate) deliveries: Vec<Delivery>,
}

impl<const FLITS: bool> Observer for Log<FLITS> {
    const FLITS: bool = FLITS;

    fn started(&mut self, at: Cycle, _message: u64, worm: u64, _node: NodeId) {
        assert_eq!(self.starts.insert(worm, at), None);
    }

    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        match self.grants.entry((worm, channel.raw())) {
            Entry::Vacant(entry) => drop(entry.insert(at)),
            Entry::Occupied(entry) => {
                assert!(self.releases.contains_key(entry.key()), "granted twice");
                self.grants_again.push((at, worm, channel.raw()));
            }
        }
    }

    fn flit(&mut self, at: Cycle, worm: u64, channel: ChannelId, flit: u32) {
        assert!(self.grants[&(worm, channel.raw())] <= at, "crosses a channel that it does not hold");
        assert_eq!(self.flits.insert((worm, channel.raw(), flit), at), None, "crosses twice");
    }

    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32) {
        let crossed = self.flits.range((worm, channel.raw(), 0)..=(worm, channel.raw(), u32::MAX)).count();
        let again = self.releases.contains_key(&(worm, channel.raw()));
        assert!(!FLITS || again || crossed == flits as usize, "as many flits as are reported");
        let key = (worm, channel.raw());
        assert!(self.grants.contains_key(&key), "released without a grant");
        match self.releases.entry(key) {
            Entry::Vacant(entry) => drop(entry.insert((at, flits))),
            Entry::Occupied(_) => self.releases_again.push((at, worm, channel.raw())),
        }
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.deliveries.push(*delivery);
    }
}

impl<const FLITS: bool> Log<FLITS> {
    /// When each (worm, node) was delivered.
    pub(crate) fn delivered(&self) -> BTreeMap<(u64, u32), Cycle> {
        let entry = |d: &Delivery| ((d.worm, d.node.raw()), d.delivered);
        let map: BTreeMap<_, _> = self.deliveries.iter().map(entry).collect();
        assert_eq!(map.len(), self.deliveries.len(), "a worm delivers once at a node");
        map
    }

    pub(crate) fn at(&self, worm: u64, node: u32) -> Cycle {
        self.delivered()[&(worm, node)]
    }

    /// When a worm was granted a channel.
    pub(crate) fn grant(&self, worm: u64, channel: ChannelId) -> Cycle {
        self.grants[&(worm, channel.raw())]
    }

    /// When a flit of a worm crossed a channel.
    pub(crate) fn crossed(&self, worm: u64, channel: ChannelId, flit: u32) -> Cycle {
        self.flits[&(worm, channel.raw(), flit)]
    }
}

/// A topology; or one with other nodes, as in `mesh:3x3 203`: two at the first router, none at the second, three at the third,
/// two at the fourth, and so on.
pub(crate) fn build(spec: &str) -> Arc<Network> {
    let (spec, nodes) = spec.split_once(' ').unwrap_or((spec, ""));
    let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
    if nodes.is_empty() {
        return network;
    }
    let mut fabric = NetworkBuilder::new(spec);
    fabric.at_least(network.routers()).unwrap();
    for channel in network.channel_ids().filter(|&c| c < network.reverse(c)) {
        fabric.link(network.from(channel), network.to(channel)).unwrap();
    }
    for (router, digit) in network.router_ids().zip(nodes.bytes().cycle()) {
        for _ in b'0'..digit {
            fabric.node(router, NodeDetails::default()).unwrap();
        }
    }
    fabric.build().unwrap()
}

pub(crate) fn node(id: u32) -> NodeId {
    NodeId::new(id)
}

pub(crate) fn link(network: &Arc<Network>, from: u32, to: u32) -> ChannelId {
    network.channel_between(RouterId::new(from), RouterId::new(to)).expect("neighbours")
}

/// No startup, routing delay 1, one-flit buffers, one port each: small numbers to work by hand.
pub(crate) fn plain() -> EngineConfig {
    EngineConfig {
        ports: Ports { injection: 1, consumption: 1 },
        buffer: 1,
        virtual_channels: 1,
        startup: 0,
        startup_mode: StartupMode::Serial,
        routing_delay: 1,
        strip_delay: 1,
        receive_overhead: 0,
        delay: LinkDelay::default(),
        header: Header::None,
        header_flits: 1,
        replication: BranchReplication::Lockstep,
        reservation: Reservation::Atomic,
        selection: SelectionPolicy::First,
        seed: 0,
    }
}

/// A message: when, how long, and its worms.
pub(crate) type Sent = (Cycle, u32, Vec<Worm>);

pub(crate) fn unicast(from: u32, to: u32) -> Worm {
    Worm::path(node(from), vec![node(to)])
}

pub(crate) fn path(from: u32, stops: &[u32]) -> Worm {
    Worm::path(node(from), stops.iter().copied().map(NodeId::new).collect())
}

/// A tree from (from, to, position of the parent branch, delivers).
pub(crate) fn tree(network: &Arc<Network>, source: u32, branches: &[(u32, u32, Option<u32>, bool)]) -> Worm {
    let branch = |&(from, to, parent, delivers): &(u32, u32, Option<u32>, bool)| {
        let delivers = Vec::from_iter(delivers.then(|| node(to)));
        Branch { channel: link(network, from, to), parent, delivers }
    };
    Worm::tree(node(source), branches.iter().map(branch).collect())
}

/// E-cube on a torus whose worms hold one virtual channel of a ring before they have crossed the link that closes it, and the other one
/// from then on, or if they never do (Dally and Seitz 1987); or any, which deadlocks.
pub(crate) struct Dateline {
    pub(crate) ways: ECube,
    pub(crate) divided: bool,
}

impl Dateline {
    pub(crate) fn new(torus: &Arc<Network>, divided: bool) -> Self {
        Self { ways: ECube::new(torus).unwrap(), divided }
    }
}

impl RoutingRelation for Dateline {
    fn name(&self) -> &'static str {
        "dateline"
    }

    fn network(&self) -> &Arc<Network> {
        self.ways.network()
    }

    fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        self.ways.candidates(at, arrived, target, out);
    }

    fn capabilities(&self) -> RoutingCapabilities<'_> {
        let division = self.divided.then_some(self as &dyn VirtualChannels);
        RoutingCapabilities { virtual_channels: division, ..RoutingCapabilities::default() }
    }
}

impl VirtualChannels for Dateline {
    fn needed(&self) -> u8 {
        2
    }

    fn lanes(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, _: u8, out: &mut Lanes) {
        let mut ways = Vec::new();
        self.candidates(at, arrived, target, &mut ways);
        out.clear();
        out.extend(ways.into_iter().map(|channel| {
            let (dimension, direction) = self.network().heading(channel).unwrap();
            let [here, there] = [at, target].map(|router| self.ways.grid().coordinate(router.index(), dimension));
            let will_cross = if direction == Direction::Positive { here > there } else { here < there };
            // Of more than two, those that are left over are for worms that have crossed.
            (channel, if will_cross { VcRange::only(0) } else { VcRange { first: 1, ..VcRange::ANY } })
        }));
    }
}

pub(crate) fn run_with(routing: &dyn RoutingRelation, config: EngineConfig, messages: Vec<Sent>) -> (Log, StopReason) {
    let mut engine = FlitEngine::new(routing, config, Log::<true>::default());
    for (message, (at, length, worms)) in (0..).zip(messages) {
        if let StopReason::Deadlock(deadlock) = engine.run_until(at) {
            return (engine.into_observer(), StopReason::Deadlock(deadlock));
        }
        engine.submit(at, message, length, Plan { worms });
    }
    let progress = engine.run_until(Cycle::MAX);
    if progress == StopReason::EndReached {
        assert!(engine.is_empty(), "everything arrives");
    }
    let log = engine.into_observer();
    if progress == StopReason::EndReached {
        let held: Vec<_> = log.grants.keys().filter(|key| !log.releases.contains_key(key)).collect();
        assert!(held.is_empty(), "every channel is given back: {held:?}");
    }
    (log, progress)
}

/// Runs messages over e-cube routes until everything has arrived.
pub(crate) fn run(network: &Arc<Network>, config: EngineConfig, messages: Vec<Sent>) -> Log {
    let (log, progress) = run_with(&ECube::new(network).unwrap(), config, messages);
    assert_eq!(progress, StopReason::EndReached);
    log
}
