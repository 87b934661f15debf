//! The flit engine: the reference, every flit on every hop (model.md).
//!
//! The core settles who may use which channel; then the worms move one by one, each from its header backwards: a channel belongs
//! to one worm, so what one does in a cycle cannot matter to another before the next. A worm that could not move at all sleeps
//! until it is granted a channel.

mod paths;
mod shared_links;
mod trees;

use wormcast_network::ChannelId;
use wormcast_routing::RoutingRelation;

use crate::core::worm::Route;
use crate::engine::EngineConfig;
use crate::observers::observer::{Cycle, Observer};
use crate::wormhole::{Movement, WormholeEngine};
use paths::PathFlits;
use shared_links::SharedLinks;
use trees::{TreeEvent, TreeFlits};

/// The flit engine. Memory: that of the core, and 4 bytes a hop of the worms in the network.
pub type FlitEngine<'a, O> = WormholeEngine<'a, O, FlitMovement>;

/// Flits that move one by one.
pub struct FlitMovement {
    /// Where the flits of each worm are, by slot.
    flits: Vec<Flits>,
    /// Slots of worms that may move.
    active: Vec<u32>,
    is_active: Vec<bool>,
    shared_links: SharedLinks,
    tree_events: Vec<TreeEvent>,
}

/// Where a worm's flits are.
enum Flits {
    Path(PathFlits),
    Tree(TreeFlits),
}

impl<'a, O: Observer> FlitEngine<'a, O> {
    /// An empty network in cycle 0.
    pub fn new(routing: &'a dyn RoutingRelation, config: EngineConfig, observer: O) -> Self {
        let movement = FlitMovement {
            flits: Vec::new(),
            active: Vec::new(),
            is_active: Vec::new(),
            shared_links: SharedLinks::new(if config.virtual_channels > 1 { routing.network().channels() } else { 0 }),
            tree_events: Vec::new(),
        };
        Self::with(routing, config, observer, movement)
    }

    /// A worm that may move from this cycle's movement phase on.
    fn activate(&mut self, slot: u32) {
        if !std::mem::replace(&mut self.movement.is_active[slot as usize], true) {
            self.movement.active.push(slot);
        }
    }

    /// Moves every worm that may move; those that cannot fall asleep.
    fn move_worms(&mut self) {
        // Nothing that happens in this phase wakes a worm before the next cycle: the list does not grow meanwhile.
        let mut active = std::mem::take(&mut self.movement.active);
        active.retain(|&slot| {
            let goes_on = match self.movement.flits[slot as usize] {
                Flits::Path(_) => self.move_path(slot),
                Flits::Tree(_) => self.move_tree(slot),
            };
            self.movement.is_active[slot as usize] = goes_on;
            goes_on
        });
        self.movement.active = active;
    }
}

impl<O: Observer> Movement<O> for FlitMovement {
    const NAME: &'static str = "flit";

    fn has_room(engine: &mut FlitEngine<'_, O>, worms: usize) -> bool {
        engine.core.has_room(worms, &mut engine.movement.flits)
    }

    fn take_in(engine: &mut FlitEngine<'_, O>) {
        let FlitEngine { core, movement } = engine;
        for &slot in &core.submitted {
            let slot = slot as usize;
            if movement.flits.len() <= slot {
                movement.flits.resize_with(slot + 1, || Flits::Path(PathFlits::default()));
                movement.is_active.resize(slot + 1, false);
            }
            match (&mut movement.flits[slot], &core.worms[slot].route) {
                (Flits::Path(flits), Route::Path(_)) => flits.reset(),
                (flits, Route::Path(_)) => *flits = Flits::Path(PathFlits::new()),
                (flits, Route::Tree(route)) => {
                    let worm = &core.worms[slot];
                    *flits = Flits::Tree(TreeFlits::new(route, worm.header, worm.flits - worm.header));
                }
            }
        }
    }

    fn next_event(engine: &FlitEngine<'_, O>) -> Option<Cycle> {
        if engine.movement.active.is_empty() { engine.core.next_event() } else { Some(engine.core.now) }
    }

    fn quiet_from(engine: &FlitEngine<'_, O>) -> Cycle {
        engine.core.now
    }

    fn follow(engine: &mut FlitEngine<'_, O>) {
        for position in 0..engine.core.granted.len() {
            let (slot, vertex) = engine.core.granted[position];
            let worm = &engine.core.worms[slot as usize];
            match (&mut engine.movement.flits[slot as usize], &worm.route) {
                (Flits::Path(flits), Route::Path(route)) => flits.granted(route),
                (Flits::Tree(flits), Route::Tree(route)) => flits.granted(route, vertex),
                _ => {}
            }
            engine.activate(slot);
        }
        for position in 0..engine.core.reminded.len() {
            engine.activate(engine.core.reminded[position]);
        }
        if engine.core.config.virtual_channels > 1 {
            engine.move_on_shared_links();
        } else {
            engine.move_worms();
        }
    }

    fn is_stuck(engine: &FlitEngine<'_, O>, slot: u32) -> bool {
        let worm = &engine.core.worms[slot as usize];
        match (&engine.movement.flits[slot as usize], &worm.route) {
            (Flits::Path(flits), Route::Path(route)) => flits.holds_on(route, worm.flits, engine.core.config.buffer),
            _ => !engine.movement.is_active[slot as usize],
        }
    }

    fn each_held(engine: &FlitEngine<'_, O>, slot: u32, visit: &mut dyn FnMut(ChannelId, u32, u32)) {
        let (worm, config) = (&engine.core.worms[slot as usize], engine.core.config);
        match (&engine.movement.flits[slot as usize], &worm.route) {
            (Flits::Path(flits), Route::Path(route)) => {
                let addresses = config.header.stripped_of_path(worm.header);
                flits.each_held(route, addresses, visit);
            }
            (Flits::Tree(flits), Route::Tree(route)) => flits.each_held(route, config.replication, visit),
            _ => {}
        }
    }
}
