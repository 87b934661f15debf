//! The flit engine: the reference, every flit on every hop (model.md).
//!
//! The core settles who may use which channel; then the worms move one by one, each with all of its flits: a channel belongs
//! to one worm, so what one does in a cycle cannot matter to another before the next. A worm that could not move at all sleeps
//! until it is granted a channel. Where virtual channels share links, what one worm does matters to others, and where links take several cycles, to itself later on: there it is links
//! that are looked at, those that have something to move (`shared_links`).

mod lockstep;
mod paths;
mod shared_links;
mod trees;

use wormcast_network::{ChannelId, ChannelSpace};
use wormcast_routing::RoutingRelation;

use crate::config::delay::Lags;
use crate::core::worm::{Flits, Route, TreeRoute};
use crate::engine::EngineConfig;
use crate::observers::observer::{Cycle, Observer};
use crate::wormhole::{Movement, WormholeEngine};
use paths::{NEAR, PathFlits, Step, full_near};
use shared_links::SharedLinks;
use trees::{TreeEvent, TreeFlits};

/// The flit engine. Memory: that of the core, and for worms of paths over more than 64 vertices or deep buffers some bits a vertex; with several virtual channels 36 bytes for
/// each of them and each port, and 44 for each link and port.
pub type FlitEngine<'a, O> = WormholeEngine<'a, O, FlitMovement>;

/// Flits that move one by one.
pub struct FlitMovement {
    /// Slots of worms that may move.
    active: Vec<u32>,
    is_active: Vec<bool>,
    /// Scratch: the worms to which something happens in this cycle besides that flits move, and what.
    steps: Vec<(u32, u32)>,
    shared_links: SharedLinks,
    tree_events: Vec<TreeEvent>,
}

impl Flits for FlitMovement {
    type OfPath = PathFlits;
    type OfTree = TreeFlits;
    type Spare = ();

    fn reset(flits: &mut PathFlits) {
        flits.reset();
    }

    fn lags(flits: &PathFlits) -> &[u32] {
        flits.lags()
    }

    fn of_tree(route: &TreeRoute, header: u32, flits: u32, _: &EngineConfig) -> TreeFlits {
        TreeFlits::new(route, header, flits - header)
    }
}

impl<'a, O: Observer> FlitEngine<'a, O> {
    /// An empty network in cycle 0.
    pub fn new(routing: &'a dyn RoutingRelation, config: EngineConfig, observer: O) -> Self {
        let space = ChannelSpace::new(routing.network(), config.ports);
        let movement = FlitMovement {
            active: Vec::new(),
            is_active: Vec::new(),
            steps: Vec::new(),
            shared_links: SharedLinks::new(space, &config, Lags::new(config.delay, routing.network())),
            tree_events: Vec::new(),
        };
        Self::with(routing, config, observer, movement)
    }

    /// A worm that may move from this cycle's movement phase on.
    fn activate(&mut self, slot: u32) {
        let FlitMovement { active, is_active, .. } = &mut self.movement;
        if is_active.len() <= slot as usize {
            is_active.resize(self.core.worms.len(), false);
        }
        if !std::mem::replace(&mut is_active[slot as usize], true) {
            active.push(slot);
        }
    }

    /// Moves every worm that may move; those that cannot fall asleep.
    fn move_worms(&mut self) {
        match paths::width(self.core.config.buffer) {
            3 => self.move_each::<3>(),
            4 => self.move_each::<4>(),
            5 => self.move_each::<5>(),
            _ => self.move_each::<NEAR>(),
        }
    }

    /// The same, for buffers of this [`width`](paths::width).
    fn move_each<const W: usize>(&mut self) {
        let full = full_near(self.core.config.buffer);
        // Nothing that happens in this phase wakes a worm before the next cycle: the list does not grow meanwhile.
        let mut active = std::mem::take(&mut self.movement.active);
        let mut steps = std::mem::take(&mut self.movement.steps);
        if steps.len() < active.len() {
            steps.resize(active.len(), (0, 0));
        }
        // Which worms go on, and to which something happens, is hard to foresee: no branch depends on it here.
        let (mut going, mut happening) = (0, 0);
        for place in 0..active.len() {
            let slot = active[place];
            let Step { moved, happens } = match self.core.worms[slot as usize].route {
                Route::Path(..) => self.move_path::<W>(slot, &full),
                Route::Tree(..) => Step::OF_TREE,
            };
            active[going] = slot;
            going += usize::from(moved);
            self.movement.is_active[slot as usize] = moved;
            if O::FLITS {
                // Observers of flits get to know all of a worm before the next one's.
                self.settle(slot, happens);
            } else {
                steps[happening] = (slot, happens);
                happening += usize::from(happens != 0);
            }
        }
        active.truncate(going);
        let mut gone = false;
        for &(slot, happens) in &steps[..happening] {
            gone |= self.settle(slot, happens);
        }
        self.movement.steps = steps;
        if gone || O::FLITS {
            active.retain(|&slot| self.movement.is_active[slot as usize]);
        }
        self.movement.active = active;
    }

    /// Does what follows from a [`Step`]; returns whether the worm falls asleep or is done.
    #[inline]
    fn settle(&mut self, slot: u32, happens: u32) -> bool {
        let stops = if happens & Step::TREE != 0 { !self.move_tree(slot) } else { self.settle_path(slot, happens) };
        if stops {
            self.movement.is_active[slot as usize] = false;
        }
        stops
    }
}

impl<O: Observer> Movement<O> for FlitMovement {
    const NAME: &'static str = "flit";

    fn next_event(engine: &FlitEngine<'_, O>) -> Option<Cycle> {
        let idle = engine.movement.active.is_empty() && !engine.movement.shared_links.busy;
        if !idle {
            return Some(engine.core.now);
        }
        engine.core.next_event().into_iter().chain(engine.movement.shared_links.next_due(engine.core.now)).min()
    }

    fn quiet_from(engine: &FlitEngine<'_, O>) -> Cycle {
        engine.core.now
    }

    fn follow(engine: &mut FlitEngine<'_, O>) {
        if engine.core.config.has_streams() {
            for position in 0..engine.core.granted.len() {
                let (slot, vertex) = engine.core.granted[position];
                engine.open_streams(slot, vertex);
            }
            return engine.move_on_shared_links();
        }
        for position in 0..engine.core.granted.len() {
            let (slot, vertex) = engine.core.granted[position];
            let worm = &mut engine.core.worms[slot as usize];
            match &mut worm.route {
                Route::Path(route, flits) => flits.granted(route, worm.flits, engine.core.config.buffer),
                Route::Tree(route, flits) => flits.granted(route, vertex),
            }
            engine.activate(slot);
        }
        for position in 0..engine.core.reminded.len() {
            engine.activate(engine.core.reminded[position]);
        }
        engine.move_worms();
    }

    fn is_stuck(engine: &FlitEngine<'_, O>, slot: u32) -> bool {
        let worm = &engine.core.worms[slot as usize];
        match &worm.route {
            Route::Path(route, flits) => flits.holds_on(route, worm.flits, engine.core.config.buffer),
            Route::Tree(..) if engine.core.config.has_streams() => !engine.tree_moves_on_shared_links(slot),
            Route::Tree(..) => engine.movement.is_active.get(slot as usize) != Some(&true),
        }
    }

    fn each_held(engine: &FlitEngine<'_, O>, slot: u32, visit: &mut dyn FnMut(ChannelId, u32, u32)) {
        let (worm, config) = (&engine.core.worms[slot as usize], engine.core.config);
        match &worm.route {
            Route::Path(route, flits) => {
                let addresses = config.header.stripped_of_path(worm.header);
                if config.has_streams() {
                    let left = |v| flits.left_by_streams(&engine.movement.shared_links, route, worm.flits, v);
                    PathFlits::each_held(route, addresses, left, visit);
                } else {
                    PathFlits::each_held(route, addresses, |v| flits.left(v), visit);
                }
            }
            Route::Tree(route, flits) => flits.each_held(route, config.replication, visit),
        }
    }
}
