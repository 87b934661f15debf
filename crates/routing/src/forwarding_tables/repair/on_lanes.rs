//! Repairs by virtual lanes, which leave the routes of unicasts as they are.

use fixedbitset::FixedBitSet;
use wormcast_network::RouterId;

use super::tree_search::{Search, Terminals, shortest_tree, turns_of};
use super::{Changed, NoRepair, Repair, SearchEnd, Trees, highest, rebuilt};
use crate::forwarding_tables::ForwardingTables;
use crate::forwarding_tables::hop_matrix::HopMatrix;
use crate::forwarding_tables::lanes::VirtualLanes;
use crate::forwarding_tables::layers::{self, Spread};
use crate::forwarding_tables::multicast::MulticastTables;
use crate::forwarding_tables::waits::UnicastWaits;
use crate::relation::RoutingRelation;

/// A repair by lanes, which leaves the routes of unicasts as they are.
pub(super) struct OnLanes<'a> {
    pub(super) tables: &'a ForwardingTables,
    pub(super) multicasts: &'a MulticastTables,
    pub(super) terminals: &'a Terminals,
    /// The lanes that packets have.
    pub(super) given: VirtualLanes,
    /// How many there may be.
    pub(super) lanes: u32,
}

impl OnLanes<'_> {
    fn trees(&self, tree: &FixedBitSet) -> Result<Trees, NoRepair> {
        let matrix = HopMatrix::of_trees(self.tables.network(), tree)?;
        Ok((self.multicasts.clone().with_trees(&matrix), Some(matrix)))
    }

    /// A repair after which these trees and lanes are there.
    fn repaired(&self, changed: Changed, (multicasts, matrix): Trees, lanes: VirtualLanes) -> Repair {
        let level_of_groups = highest(&lanes, &multicasts);
        let nothing = Repair::nothing(self.tables, self.multicasts);
        Repair { changed, multicasts, matrix, level_of_groups, lanes: Some(lanes), ..nothing }
    }

    /// Nothing, other trees, or other lanes of groups.
    pub(super) fn without_unicasts(
        &self,
        reaches_all: bool,
        is_loaded: bool,
    ) -> Result<(Option<Repair>, SearchEnd), NoRepair> {
        let network = self.tables.network();
        let groups = self.multicasts.groups();
        let unicasts = UnicastWaits::in_lanes(self.tables, &self.given);
        let Some(numbering) = unicasts.numbering() else { return Ok((None, SearchEnd::NotNeeded)) };
        let is_safe = |lanes: &VirtualLanes| {
            let hops = (0..groups.len()).flat_map(|group| self.multicasts.hops(group, Some(lanes)));
            let arrive = reaches_all && self.multicasts.reports(Some(lanes)).iter().all(|group| group.connected);
            arrive && !unicasts.closes_with(&numbering, &hops.collect::<Vec<_>>())
        };
        let present = self.given.levels_of_groups(groups);
        // Whatever is loaded has all groups on one level.
        if is_safe(&self.given) && !(is_loaded && present.len() > 1) {
            let trees =
                if is_loaded { rebuilt(self.tables, self.multicasts)? } else { Some((self.multicasts.clone(), None)) };
            if let Some(trees) = trees {
                let nothing = self.repaired(Changed::Nothing, trees, self.given.clone());
                return Ok((Some(nothing), SearchEnd::NotNeeded));
            }
        }
        let search = |levels: &[u8]| {
            let lanes = Some((&self.given, levels));
            Search::new(network, &unicasts, &numbering, self.terminals, lanes).run()
        };
        let (tree, ended) = if present.len() == 1 { search(&present) } else { (None, SearchEnd::NotNeeded) };
        let found = |changed, trees, lanes| {
            let repair = self.repaired(changed, trees, lanes);
            Ok((Some(Repair { search: ended, ..repair }), ended))
        };
        if let Some(tree) = tree {
            return found(Changed::Trees, self.trees(&tree)?, self.given.clone());
        }
        // Another level for all groups, rather one that some have: with their trees, or else with others.
        let mut levels: Vec<u8> =
            self.given.levels_on(self.lanes).into_iter().filter(|&level| present != [level]).collect();
        levels.sort_by_key(|level| !present.contains(level));
        for &level in &levels {
            let lanes = self.given.clone().with_groups_on(groups, level);
            if is_safe(&lanes)
                && let Some(trees) = rebuilt(self.tables, self.multicasts)?
            {
                return found(Changed::Lanes, trees, lanes);
            }
        }
        for &level in &levels {
            if let (Some(tree), _) = search(&[level]) {
                let lanes = self.given.clone().with_groups_on(groups, level);
                return found(Changed::Lanes, self.trees(&tree)?, lanes);
            }
        }
        Ok((None, ended))
    }

    /// Other lanes for unicasts, beside groups on the level that they have, or on the last lane by themselves. Each level is a lane.
    pub(super) fn with_unicasts(&self, reaches_all: bool) -> Result<(Option<Repair>, SearchEnd), NoRepair> {
        let network = self.tables.network();
        let groups = self.multicasts.groups();
        let level = self.given.levels_of_groups(groups).last().copied().unwrap_or(0);
        let level = if u32::from(level) < self.lanes { level } else { 0 };
        let rebuilt = if reaches_all { rebuilt(self.tables, self.multicasts)? } else { None };
        let own_turns = |(trees, _): &Trees| (0..groups.len()).flat_map(|group| trees.turns(group)).collect();
        let own: Vec<_> = rebuilt.as_ref().map_or_else(Vec::new, own_turns);
        let alone = UnicastWaits::none(network);
        let own_are_safe = alone.numbering().is_some_and(|numbering| !alone.closes_with(&numbering, &own));
        let shortest = shortest_tree(network, RouterId::new(0));
        let turns = turns_of(network, &shortest);
        let spread = |lanes, fixed| layers::spread(self.tables, &self.given, lanes, fixed);
        let rebuilt = rebuilt.filter(|_| own_are_safe);
        let found = |lanes: Box<VirtualLanes>, level, moved, kept: Option<Trees>| {
            let trees = kept.map_or_else(|| self.trees(&shortest), Ok)?;
            let repair = self.repaired(Changed::UnicastLanes, trees, lanes.with_groups_on(groups, level));
            Ok((Some(Repair { spread: SearchEnd::Found, moved, ..repair }), SearchEnd::Found))
        };
        if rebuilt.is_some()
            && let Spread::Found(lanes, moved) = spread(self.lanes, Some((u32::from(level), &own[..])))
        {
            return found(lanes, level, moved, rebuilt);
        }
        if !groups.is_empty()
            && let Spread::Found(lanes, moved) = spread(self.lanes, Some((u32::from(level), &turns[..])))
        {
            return found(lanes, level, moved, None);
        }
        let last = (self.lanes - 1) as u8;
        if let Spread::Found(lanes, moved) = spread(self.lanes - 1, None) {
            return found(lanes, last, moved, rebuilt);
        }
        // Without groups there is none, so with them there is none.
        match spread(self.lanes, None) {
            Spread::Proven => Ok((None, SearchEnd::Proven)),
            Spread::Found(lanes, moved) if groups.is_empty() => found(lanes, 0, moved, rebuilt),
            Spread::Found(..) | Spread::GivenUp => Ok((None, SearchEnd::GivenUp)),
        }
    }
}
