//! The flit engine: the reference, every flit on every hop (model.md).
//!
//! The core settles who may use which channel; then the worms move one by one, each from its header backwards: a channel belongs
//! to one worm, so what one does in a cycle cannot matter to another before the next. A worm that could not move at all sleeps
//! until it is granted a channel.

mod paths;
mod shared_links;
mod trees;

use wormcast_multicast::Plan;
use wormcast_routing::RoutingRelation;

use crate::core::worm::Route;
use crate::core::{Core, Search, Steps, run_until};
use crate::engine::{Engine, EngineConfig, Progress};
use crate::observer::{Cycle, Observer};
use crate::result::Deadlock;
use crate::run_end::{Held, WormAtEnd};
use crate::switching::Header;
use paths::PathFlits;
use shared_links::SharedLinks;
use trees::{TreeEvent, TreeFlits};

/// The flit engine. Memory: that of the core, and 4 bytes a hop of the worms in the network.
pub struct FlitEngine<'a, O> {
    core: Core<'a, O>,
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
        Self {
            shared_links: SharedLinks::new(if config.virtual_channels > 1 { routing.network().channels() } else { 0 }),
            core: Core::new(routing, config, observer),
            flits: Vec::new(),
            active: Vec::new(),
            is_active: Vec::new(),
            tree_events: Vec::new(),
        }
    }

    /// A worm that may move from this cycle's movement phase on.
    fn activate(&mut self, slot: u32) {
        if !std::mem::replace(&mut self.is_active[slot as usize], true) {
            self.active.push(slot);
        }
    }

    fn find_dead(&self, search: &mut Search) {
        self.core.find_dead(search, |slot| {
            let worm = &self.core.worms[slot as usize];
            match (&self.flits[slot as usize], &worm.route) {
                (Flits::Path(flits), Route::Path(route)) => flits.holds_on(route, worm.flits, self.core.config.buffer),
                _ => !self.is_active[slot as usize],
            }
        });
    }

    /// Moves every worm that may move; those that cannot fall asleep.
    fn move_worms(&mut self) {
        // Nothing that happens in this phase wakes a worm before the next cycle: the list does not grow meanwhile.
        let mut active = std::mem::take(&mut self.active);
        active.retain(|&slot| {
            let goes_on = match self.flits[slot as usize] {
                Flits::Path(_) => self.move_path(slot),
                Flits::Tree(_) => self.move_tree(slot),
            };
            self.is_active[slot as usize] = goes_on;
            goes_on
        });
        self.active = active;
    }
}

impl<'a, O: Observer> Steps<'a> for FlitEngine<'a, O> {
    type Observer = O;

    fn core(&mut self) -> &mut Core<'a, O> {
        &mut self.core
    }

    fn next_event(&self) -> Option<Cycle> {
        if self.active.is_empty() { self.core.next_event() } else { Some(self.core.now) }
    }

    fn quiet_from(&self) -> Cycle {
        self.core.now
    }

    fn cycle(&mut self) {
        self.core.begin_cycle();
        for position in 0..self.core.granted.len() {
            let (slot, vertex) = self.core.granted[position];
            let worm = &self.core.worms[slot as usize];
            match (&mut self.flits[slot as usize], &worm.route) {
                (Flits::Path(flits), Route::Path(route)) => flits.granted(route),
                (Flits::Tree(flits), Route::Tree(route)) => flits.granted(route, vertex),
                _ => {}
            }
            self.activate(slot);
        }
        for position in 0..self.core.reminded.len() {
            self.activate(self.core.reminded[position]);
        }
        if self.core.config.virtual_channels > 1 {
            self.move_on_shared_links();
        } else {
            self.move_worms();
        }
        self.core.now += 1;
    }

    fn find_deadlock(&mut self) -> Option<Deadlock> {
        let mut search = std::mem::take(&mut self.core.search);
        self.find_dead(&mut search);
        let found = self.core.deadlock(&mut search);
        self.core.search = search;
        found
    }
}

impl<O: Observer> Engine for FlitEngine<'_, O> {
    type Observer = O;

    fn name(&self) -> &'static str {
        "flit"
    }

    fn now(&self) -> Cycle {
        self.core.now
    }

    fn has_room(&mut self, worms: usize) -> bool {
        self.core.has_room(worms, &mut self.flits)
    }

    fn submit(&mut self, at: Cycle, message: u64, length: u32, plan: Plan) {
        self.core.submit(at, message, length, plan);
        for &slot in &self.core.submitted {
            let slot = slot as usize;
            if self.flits.len() <= slot {
                self.flits.resize_with(slot + 1, || Flits::Path(PathFlits::default()));
                self.is_active.resize(slot + 1, false);
            }
            match (&mut self.flits[slot], &self.core.worms[slot].route) {
                (Flits::Path(flits), Route::Path(_)) => flits.reset(),
                (flits, Route::Path(_)) => *flits = Flits::Path(PathFlits::new()),
                (flits, Route::Tree(route)) => {
                    let worm = &self.core.worms[slot];
                    *flits = Flits::Tree(TreeFlits::new(route, worm.header, worm.flits - worm.header));
                }
            }
        }
    }

    fn run_until(&mut self, end: Cycle) -> Progress {
        run_until(self, end, false)
    }

    fn drain(&mut self, limit: Cycle) -> Progress {
        run_until(self, limit, true)
    }

    fn is_empty(&self) -> bool {
        self.core.is_empty()
    }

    fn flit_hops(&mut self) -> u64 {
        self.core.reports.flit_hops
    }

    fn each_held(&mut self, visit: &mut dyn FnMut(Held)) {
        for (worm, flits) in self.core.worms.iter().zip(&self.flits).filter(|(worm, _)| worm.live) {
            let mut visit = |channel, virtual_channel, flits| {
                visit(Held { channel, virtual_channel, worm: worm.id, flits });
            };
            match (flits, &worm.route) {
                (Flits::Path(flits), Route::Path(route)) => {
                    let addresses = (self.core.config.header == Header::AllDestinations).then_some(worm.header);
                    flits.each_held(route, addresses, &mut visit);
                }
                (Flits::Tree(flits), Route::Tree(route)) => {
                    flits.each_held(route, self.core.config.replication, &mut visit);
                }
                _ => {}
            }
        }
    }

    fn worms(&mut self) -> Vec<WormAtEnd> {
        let mut search = std::mem::take(&mut self.core.search);
        self.find_dead(&mut search);
        let worms = self.core.worms_at_end(&search);
        self.core.search = search;
        worms
    }

    fn observer(&self) -> &O {
        &self.core.reports.observer
    }

    fn observer_mut(&mut self) -> &mut O {
        &mut self.core.reports.observer
    }

    fn into_observer(self) -> O {
        self.core.reports.observer
    }
}
