//! Worms that stand and wait, and whether they can get there: a puzzle of snakes on fixed routes.

use std::collections::HashSet;

use wormcast_network::watch::step_every;

use super::worms::{NO_VERTEX, ResourceId, Resources, Vertices, Waiting};

/// Where a worm of a set waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Front<'a> {
    pub(super) waiting: &'a Waiting,
    /// Which place it is.
    pub(super) place: usize,
    /// Which part of its request it waits for.
    pub(super) part: usize,
}

/// A worm of a set.
#[derive(Clone, Debug)]
pub(super) struct Member<'a> {
    /// Where it waits: one place, or several of the same tree.
    pub(super) fronts: Vec<Front<'a>>,
    /// The channels that it stretches over when it waits, at least 1. A worm of (stretch - 1) B + 1 flits is as long.
    pub(super) stretch: u32,
    /// The vertices whose requests have been granted.
    pub(super) granted: Vertices,
}

impl<'a> Member<'a> {
    pub(super) fn new(front: Front<'a>) -> Self {
        Self { stretch: 1, granted: front.waiting.above(front.waiting.at), fronts: vec![front] }
    }

    /// Its message, worm and vertices: the same wherever it waits.
    pub(super) fn worm(&self) -> &'a Waiting {
        self.fronts[0].waiting
    }

    /// This worm, also waiting elsewhere in its tree; `None` if it cannot wait at both places, or waits there already.
    pub(super) fn also(&self, front: Front<'a>) -> Option<Self> {
        let same = front.waiting.tree.is_some() && front.waiting.tree == self.worm().tree;
        let known = self.fronts.iter().any(|other| other.waiting.at == front.waiting.at);
        if !same || known {
            return None;
        }
        let mut more = self.clone();
        more.granted |= front.waiting.above(front.waiting.at);
        more.fronts.push(front);
        more.is_possible().then_some(more)
    }

    /// Whether nothing was granted at or behind where it waits.
    pub(super) fn is_possible(&self) -> bool {
        self.fronts.iter().all(|front| self.granted & 1 << front.waiting.at == 0)
    }

    /// Whether it holds the channel by which it entered a vertex, if it was granted that.
    pub(super) fn stays_at(&self, vertex: u32) -> bool {
        let reaches = |front: &Front<'_>| (1..=self.stretch).contains(&front.waiting.reach[vertex as usize]);
        self.fronts.iter().any(reaches)
    }

    /// Everything that it was granted on its way: the resource, the vertex, and whether it is a consumption channel there.
    pub(super) fn acquired(&self) -> impl Iterator<Item = (ResourceId, u32, bool)> + '_ {
        let vertices = &self.worm().vertices;
        (0u32..).zip(vertices).flat_map(move |(place, vertex)| {
            let entered = vertex.parent == NO_VERTEX || self.granted & 1 << vertex.parent != 0;
            let pools = if self.granted & 1 << place != 0 { &vertex.pools[..] } else { &[] };
            let link = entered.then_some((vertex.entered_by, place, false));
            link.into_iter().chain(pools.iter().map(move |&pool| (pool, place, true)))
        })
    }

    /// Calls `visit` with everything that it holds where it waits.
    pub(super) fn each_held(&self, mut visit: impl FnMut(ResourceId)) {
        self.acquired().filter(|&(_, vertex, _)| self.stays_at(vertex)).for_each(|(resource, ..)| visit(resource));
    }
}

/// One step of a solution: a member enters its first router, or is granted the request at a vertex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) member: usize,
    /// `NO_VERTEX`: it enters.
    pub(super) vertex: u32,
}

/// The outcome of the puzzle.
pub(super) enum Solved {
    /// All can stand there; what they were granted, in order.
    Yes(Vec<Step>),
    No,
    OutOfBudget,
}

/// How far each member has come: the vertices whose requests were granted, and whether it has entered.
type State = Box<[(bool, Vertices)]>;

/// Whether worms can come from an empty network to where they wait, if each may rest anywhere and there are no others.
///
/// A worm that is as short as it can be holds least: the channels from which flits cannot have left, because fewer buffers than it
/// fills lie between them and a header that waits. Visits states depth first; `budget` counts them down.
pub(super) fn solve(members: &[Member<'_>], resources: &Resources, budget: &mut u64) -> Solved {
    let mut search = Puzzle { members, resources, counts: vec![0; resources.count()] };
    let start: State = members.iter().map(|_| (false, 0)).collect();
    let mut seen: HashSet<State> = HashSet::from([start.clone()]);
    let mut path: Vec<(State, Vec<Step>)> = vec![(start.clone(), search.steps(&start))];
    let mut taken = Vec::new();
    loop {
        let Some((state, steps)) = path.last_mut() else { return Solved::No };
        if members.iter().zip(state.iter()).all(|(member, &(entered, granted))| entered && granted == member.granted) {
            return Solved::Yes(taken);
        }
        let Some(step) = steps.pop() else {
            path.pop();
            taken.pop();
            continue;
        };
        let mut next = state.clone();
        match step.vertex {
            NO_VERTEX => next[step.member].0 = true,
            vertex => next[step.member].1 |= 1 << vertex,
        }
        if !seen.insert(next.clone()) {
            continue;
        }
        let Some(left) = budget.checked_sub(1) else { return Solved::OutOfBudget };
        *budget = left;
        step_every(12, "searching for deadlocks", "states of a set", seen.len(), 0);
        let steps = search.steps(&next);
        taken.push(step);
        path.push((next, steps));
    }
}

struct Puzzle<'s, 'a> {
    members: &'s [Member<'a>],
    resources: &'s Resources,
    /// How many members hold each resource.
    counts: Vec<u32>,
}

impl Puzzle<'_, '_> {
    /// The steps that can be taken, the one to try first at the end.
    fn steps(&mut self, state: &State) -> Vec<Step> {
        let mut held = Vec::new();
        for (member, &(entered, granted)) in self.members.iter().zip(state.iter()) {
            if entered {
                holds(member, granted, |resource| held.push(resource));
            }
        }
        for &resource in &held {
            self.counts[resource as usize] += 1;
        }
        let mut steps = Vec::new();
        for (number, (member, &(entered, granted))) in self.members.iter().zip(state.iter()).enumerate() {
            let waiting = member.worm();
            if !entered {
                if self.is_free(waiting.vertices[0].entered_by) {
                    steps.push(Step { member: number, vertex: NO_VERTEX });
                }
                continue;
            }
            for vertex in 0..waiting.vertices.len() as u32 {
                let open = member.granted & !granted & 1 << vertex != 0;
                let arrived = waiting.above(vertex) & !granted == 0;
                if !open || !arrived {
                    continue;
                }
                let links = waiting.vertices.iter().filter(|child| child.parent == vertex);
                let pools = waiting.vertices[vertex as usize].pools.iter().copied();
                if links.map(|child| child.entered_by).chain(pools).all(|resource| self.is_free(resource)) {
                    steps.push(Step { member: number, vertex });
                }
            }
        }
        for &resource in &held {
            self.counts[resource as usize] -= 1;
        }
        steps
    }

    fn is_free(&self, resource: ResourceId) -> bool {
        self.counts[resource as usize] < self.resources.capacity(resource)
    }
}

/// What a worm holds that has been granted the requests at some vertices, and has moved up as far as it can. Branches that do not
/// matter are taken to be out of the way.
fn holds(member: &Member<'_>, granted: Vertices, mut visit: impl FnMut(ResourceId)) {
    let waiting = member.worm();
    let vertices = &waiting.vertices;
    // The channels to the nearest header that waits, from each vertex, itself included.
    let mut nearest = vec![u32::MAX; vertices.len()];
    let relevant = member.fronts.iter().fold(member.granted, |set, front| set | 1 << front.waiting.at);
    for place in (0..vertices.len()).rev() {
        let parent = vertices[place].parent;
        let arrived = parent == NO_VERTEX || granted & 1 << parent != 0;
        if arrived && relevant & !granted & 1 << place != 0 {
            nearest[place] = 0;
        }
        if parent != NO_VERTEX && nearest[place] != u32::MAX {
            nearest[parent as usize] = nearest[parent as usize].min(nearest[place] + 1);
        }
    }
    let mut tail_above = vec![false; vertices.len()];
    for (place, vertex) in vertices.iter().enumerate() {
        let parent = vertex.parent;
        let above = parent != NO_VERTEX && tail_above[parent as usize];
        tail_above[place] = above || (nearest[place] != u32::MAX && nearest[place] < member.stretch);
        let acquired = parent == NO_VERTEX || granted & 1 << parent != 0;
        if acquired && tail_above[place] {
            visit(vertex.entered_by);
            if granted & 1 << place != 0 {
                vertex.pools.iter().for_each(|&pool| visit(pool));
            }
        }
    }
}
