//! Turn prohibition written down as the rule says it: recursive, with sets, in no hurry.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

use crate::graphs::Graph;

type Routers = BTreeSet<u32>;

struct Naive<'g> {
    graph: &'g Graph,
    /// Turns as (router, smaller link, larger link).
    prohibited: HashSet<(u32, usize, usize)>,
}

pub(crate) fn turn_prohibition(graph: &Graph) -> HashSet<(u32, usize, usize)> {
    let mut naive = Naive { graph, prohibited: HashSet::new() };
    naive.treat(&(0..graph.routers as u32).collect(), None);
    naive.prohibited
}

impl Naive<'_> {
    /// The links from a router into a set, in the order in which the network numbers their channels, with the neighbours.
    fn links(&self, router: u32, into: &Routers) -> Vec<(usize, u32)> {
        let other = |(link, &(u, v)): (usize, &(u32, u32))| {
            let neighbour = if u == router { v } else { u };
            ((u == router || v == router) && into.contains(&neighbour)).then_some((link, neighbour))
        };
        self.graph.links.iter().enumerate().filter_map(other).collect()
    }

    fn prohibits(&self, router: u32, one: usize, other: usize) -> bool {
        self.prohibited.contains(&(router, one.min(other), one.max(other)))
    }

    fn components(&self, mut set: Routers) -> Vec<Routers> {
        let mut components = Vec::new();
        while let Some(start) = set.pop_first() {
            let mut component = Routers::from([start]);
            let mut work = vec![start];
            while let Some(router) = work.pop() {
                for (_, neighbour) in self.links(router, &set) {
                    set.remove(&neighbour);
                    component.insert(neighbour);
                    work.push(neighbour);
                }
            }
            components.push(component);
        }
        components
    }

    fn treat(&mut self, set: &Routers, special: Option<u32>) {
        if set.len() <= 1 {
            return;
        }
        let beside = |r: u32| special.is_some_and(|v| self.links(v, set).iter().any(|&(_, n)| n == r));
        let taken = *set
            .iter()
            .filter(|&&r| Some(r) != special)
            .min_by_key(|&&r| (self.links(r, set).len(), beside(r), r))
            .unwrap();
        let rest: Routers = set.iter().copied().filter(|&r| r != taken).collect();
        let mut components = self.components(rest);
        components.sort_by_key(|component| {
            let first = special.is_some_and(|v| component.contains(&v));
            (!first, Reverse(self.links(taken, component).len()), component.first().copied())
        });
        let into: Vec<Vec<(usize, u32)>> = components.iter().map(|c| self.links(taken, c)).collect();
        let bridge = |j: usize| into[j].iter().map(|&(link, neighbour)| (neighbour, link)).min().unwrap();
        for j in 0..into.len() {
            for (k, &(link, _)) in into[j].iter().enumerate() {
                for &(other, _) in &into[j][k + 1..] {
                    self.prohibited.insert((taken, link.min(other), link.max(other)));
                }
                for &(earlier, _) in into[..j].iter().flatten() {
                    if link != bridge(j).1 {
                        self.prohibited.insert((taken, link.min(earlier), link.max(earlier)));
                    }
                }
            }
        }
        self.treat(&components[0], special);
        for j in 1..components.len() {
            let returns = special.is_some()
                || (0..j).any(|i| into[i].len() > 1)
                || (0..j).any(|i| self.leads_back(&components[i], into[i][0]));
            self.treat(&components[j], returns.then_some(bridge(j).0));
        }
    }

    /// Whether a permitted walk enters a component by its only link from outside, and leaves by it.
    fn leads_back(&self, component: &Routers, (entry, door): (usize, u32)) -> bool {
        let mut seen = HashSet::from([(entry, door)]);
        let mut work = vec![(entry, door)];
        while let Some((link, at)) = work.pop() {
            for (next, neighbour) in self.links(at, component) {
                if next != link && !self.prohibits(at, link, next) {
                    if neighbour == door && !self.prohibits(door, next, entry) {
                        return true;
                    }
                    if seen.insert((next, neighbour)) {
                        work.push((next, neighbour));
                    }
                }
            }
        }
        false
    }
}
