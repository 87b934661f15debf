//! Sets of worms that wait for each other, found one by one.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use wormcast_network::watch::{step, step_every};

use super::members::{Front, Member, Solved, Step, solve};
use super::worms::{ResourceId, Resources, Vertices, Waiting};

/// A set of worms, each of which waits for what others hold, or behind others, and that can stand there.
pub(super) struct DeadSet<'a> {
    pub(super) members: Vec<Member<'a>>,
    /// Which worm waits behind which in the queue of a link: (older, younger).
    pub(super) queues: Vec<(FrontId, FrontId)>,
    /// How they can get there, if they may rest.
    pub(super) steps: Vec<Step>,
}

/// A front of a member: the positions of both.
pub(super) type FrontId = (usize, usize);

/// How a search through all sets ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ended {
    /// There are no further ones.
    Exhausted,
    /// The visitor had enough.
    Stopped,
    /// The budget is spent: so many of the worms that a set may begin with have been gone through.
    OutOfBudget { begun: usize, of: usize },
}

/// Something that has to be taken for a member to wait forever.
#[derive(Clone, Copy)]
struct Need {
    by: FrontId,
    resource: ResourceId,
}

/// What a search looks for sets in.
pub(super) struct Sets<'a> {
    resources: &'a Resources,
    places: &'a [Waiting],
    /// The most channels that a worm may stretch over.
    most_stretch: u32,
    /// The worms that may hold a resource: the place, what has to be granted there, and the stretch.
    holders: HashMap<ResourceId, Vec<(usize, Vertices, u32)>>,
    /// The channels on which worms that may hold a consumption channel arrive and leave: the place, and both.
    passing: HashMap<ResourceId, Vec<(usize, ResourceId, Vec<ResourceId>)>>,
    /// The worms that may wait at the head of a link's queue for something else: the place, and the part that asks for the link.
    queued: HashMap<ResourceId, Vec<(usize, usize)>>,
    /// Parts for which a worm may wait forever, by place.
    alive: Vec<Vec<usize>>,
    /// The places that sets may begin with and contain.
    first: usize,
    order: Vec<usize>,
    rank: Vec<usize>,
    /// Sets that have been looked at, in any order.
    seen: HashSet<Key>,
    pub(super) budget: u64,
    /// Whether the budget was spent before all parts were struck out that no worm can take.
    cut: bool,
}

/// The channels by which worms come and go that may hold a consumption channel.
struct Passing {
    entries: Channels,
    exits: Channels,
    /// Whether one of the worms may end there.
    ends: bool,
}

/// Channels, sorted, and how many worms can be on them at once.
struct Channels {
    sorted: Vec<ResourceId>,
    worms: u32,
}

impl Channels {
    fn new(resources: &Resources, mut sorted: Vec<ResourceId>) -> Self {
        sorted.sort_unstable();
        sorted.dedup();
        let worms = sorted.iter().map(|&channel| resources.capacity(channel)).sum();
        Self { sorted, worms }
    }

    /// How many worms can be on them beside one on channel `own`.
    fn beside(&self, own: ResourceId) -> u32 {
        self.worms - u32::from(self.sorted.binary_search(&own).is_ok())
    }
}

/// What a set is, whatever the order of its worms: where each waits, its stretch, and what it was granted; and who is older.
type Key = (Vec<(Vec<(usize, usize)>, u32, Vertices)>, Vec<(FrontId, FrontId)>);

impl<'a> Sets<'a> {
    /// `short`: worms that have stopped nowhere, had no choice, and do not branch, hold one channel only. Several behind each other hold what a longer
    /// one does, so there is a set with this if there is one without.
    pub(super) fn new(
        resources: &'a Resources,
        places: &'a [Waiting],
        (most_stretch, short): (u32, bool),
        budget: u64,
    ) -> Self {
        let mut holders: HashMap<ResourceId, Vec<(usize, Vertices, u32)>> = HashMap::new();
        let mut queued: HashMap<ResourceId, Vec<(usize, usize)>> = HashMap::new();
        let mut passing: HashMap<ResourceId, Vec<(usize, ResourceId, Vec<ResourceId>)>> = HashMap::new();
        for (place, waiting) in places.iter().enumerate() {
            let plain = waiting.tree.is_none() && !waiting.chose && waiting.deliveries().next().is_none();
            let most = if short && plain { 1 } else { most_stretch };
            for (resource, needs, reach) in waiting.holdings().filter(|&(.., reach)| reach <= most) {
                holders.entry(resource).or_default().push((place, needs, reach));
            }
            for (vertex, pools) in waiting.deliveries() {
                let exits = waiting.vertices.iter().filter(|child| child.parent == vertex);
                let exits: Vec<ResourceId> = exits.map(|child| child.entered_by).collect();
                let entry = waiting.vertices[vertex as usize].entered_by;
                for &pool in pools {
                    passing.entry(pool).or_default().push((place, entry, exits.clone()));
                }
            }
            if waiting.has_parts() {
                for (part, candidates) in waiting.parts.iter().enumerate() {
                    for &resource in candidates {
                        queued.entry(resource).or_default().push((place, part));
                    }
                }
            }
        }
        // Short ways first: they are in each other's way least. Those that hold no link have a part in sets by queues only: no set
        // has to begin with them.
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|&place| (places[place].at == 0, places[place].vertices.len()));
        let mut rank = vec![0; places.len()];
        for (position, &place) in order.iter().enumerate() {
            rank[place] = position;
        }
        for list in holders.values_mut() {
            list.sort_by_key(|&(place, _, reach)| (reach, rank[place]));
        }
        let alive = places.iter().map(|waiting| (0..waiting.parts.len()).collect()).collect();
        let mut sets = Self {
            resources,
            places,
            most_stretch,
            holders,
            passing,
            queued,
            alive,
            first: 0,
            order,
            rank,
            seen: HashSet::new(),
            budget,
            cut: false,
        };
        sets.strike_out();
        sets
    }

    /// Strikes out parts whose resources no worm can hold forever, until nothing changes. Nothing else can be in a set.
    ///
    /// Of those that are left, worms hold something; as "older" has no cycles, a worm that waits in a queue waits, in the end, for what is
    /// held. So queues count from what is held on.
    fn strike_out(&mut self) {
        // Looking at a part is cheaper than a step, unless a long queue is looked through.
        const LOOKS: u64 = 16;
        loop {
            let passing = self.all_passing();
            let mut kept: Vec<Vec<usize>> = vec![Vec::new(); self.places.len()];
            loop {
                let (mut changed, mut looks) = (false, 0);
                for (place, alive) in self.alive.iter().enumerate() {
                    step_every(10, "looking for worms that can wait forever", "places", place, self.places.len());
                    for &part in alive {
                        let mut candidates = self.places[place].parts[part].iter();
                        let taken = |&resource| self.may_be_taken(resource, (place, &kept), &passing, &mut looks);
                        if !kept[place].contains(&part) && candidates.all(taken) {
                            kept[place].push(part);
                            changed = true;
                        }
                    }
                    if looks / LOOKS > self.budget {
                        (self.budget, self.cut) = (0, true);
                        return;
                    }
                }
                self.budget -= looks / LOOKS;
                if !changed {
                    break;
                }
            }
            let count = |parts: &[Vec<usize>]| parts.iter().map(Vec::len).sum::<usize>();
            let done = count(&kept) == count(&self.alive);
            self.alive = kept;
            let alive = &self.alive;
            self.holders.values_mut().for_each(|list| list.retain(|&(place, ..)| !alive[place].is_empty()));
            self.passing.values_mut().for_each(|list| list.retain(|&(place, ..)| !alive[place].is_empty()));
            if done {
                break;
            }
        }
        let alive = &self.alive;
        self.queued.values_mut().for_each(|list| list.retain(|&(place, _)| !alive[place].is_empty()));
        self.order.retain(|&place| !alive[place].is_empty());
    }

    /// Whether others can take all of a resource that a worm at `place` waits for: they hold it, or those of `known` ask for it first.
    ///
    /// Worms that hold consumption channels of one router have come by different channels, of which the one that waits holds another,
    /// and, if they are paths, go on by different ones.
    /// `looks` counts what is looked at.
    fn may_be_taken(
        &self,
        resource: ResourceId,
        (place, known): (usize, &[Vec<usize>]),
        passing: &HashMap<ResourceId, Passing>,
        looks: &mut u64,
    ) -> bool {
        *looks += 1;
        let holders = self.holders.get(&resource).is_some_and(|list| !list.is_empty());
        if self.resources.is_link(resource) {
            let mut asks = |&(other, asks): &(usize, usize)| {
                *looks += 1;
                known[other].iter().any(|&part| part != asks)
            };
            return holders || self.queued.get(&resource).is_some_and(|list| list.iter().any(&mut asks));
        }
        let waiting = &self.places[place];
        let own = waiting.vertices[waiting.at as usize].entered_by;
        let capacity = self.resources.capacity(resource);
        passing.get(&resource).is_some_and(|Passing { entries, exits, ends }| {
            entries.beside(own) >= capacity && (*ends || exits.beside(own) >= capacity)
        })
    }

    /// Which worms may hold each consumption channel, by the channels that they take.
    fn all_passing(&self) -> HashMap<ResourceId, Passing> {
        let summed = |passing: &Vec<(usize, ResourceId, Vec<ResourceId>)>| Passing {
            entries: Channels::new(self.resources, passing.iter().map(|&(_, entry, _)| entry).collect()),
            exits: Channels::new(self.resources, passing.iter().flat_map(|(.., exits)| exits).copied().collect()),
            // Of a tree whose deliveries other branches hold up, nothing need leave the router.
            ends: passing.iter().any(|(.., exits)| exits.is_empty()),
        };
        self.passing.iter().map(|(&pool, passing)| (pool, summed(passing))).collect()
    }

    /// Whether the budget was spent before the search.
    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    /// The places that can be in a set.
    pub(super) fn places(&self) -> &[usize] {
        &self.order
    }

    /// Calls `visit` with every set, up to those that contain another, until it says that it has enough.
    pub(super) fn each(&mut self, visit: &mut dyn FnMut(DeadSet<'a>) -> bool) -> Ended {
        let order: Rc<[usize]> = self.order.clone().into();
        let beginnings = order.iter().take_while(|&&place| self.places[place].at != 0).count();
        for (begun, &place) in order[..beginnings].iter().enumerate() {
            // Sets with those before have been found.
            self.first = self.rank[place];
            step("searching for deadlocks", "worms", begun, beginnings);
            for part in self.alive[place].clone() {
                let mut members = vec![Member::new(self.front(place, part))];
                let needs = needs(&members, (0, 0));
                match self.close(&mut members, needs, &mut Vec::new(), visit) {
                    Ended::Exhausted => {}
                    Ended::Stopped => return Ended::Stopped,
                    Ended::OutOfBudget { .. } => return Ended::OutOfBudget { begun, of: beginnings },
                }
            }
        }
        Ended::Exhausted
    }

    fn front(&self, place: usize, part: usize) -> Front<'a> {
        Front { waiting: &self.places[place], place, part }
    }

    /// Sees to the needs, one after the other, in all ways.
    fn close(
        &mut self,
        members: &mut Vec<Member<'a>>,
        needs: Vec<Need>,
        queues: &mut Vec<(FrontId, FrontId)>,
        visit: &mut dyn FnMut(DeadSet<'a>) -> bool,
    ) -> Ended {
        let spent = Ended::OutOfBudget { begun: 0, of: 0 };
        let Some(left) = self.budget.checked_sub(1) else { return spent };
        self.budget = left;
        step_every(10, "searching for deadlocks", "sets", self.seen.len(), 0);
        let Some(counts) = self.counts(members).filter(|_| self.seen.insert(key(members, queues))) else {
            return Ended::Exhausted;
        };
        let taken = |need: &Need| {
            let held = counts.get(&need.resource).copied().unwrap_or(0);
            held == self.resources.capacity(need.resource)
        };
        let behind = |need: &Need| {
            queues.iter().any(|&(older, younger)| {
                let waiting = members[older.0].fronts[older.1].waiting;
                younger == need.by && waiting.parts.iter().flatten().any(|&resource| resource == need.resource)
            })
        };
        let mut open: Vec<Need> = needs.into_iter().filter(|need| !taken(need) && !behind(need)).collect();
        // Whatever part of a set cannot get there, the set cannot.
        let steps = match solve(members, self.resources, &mut self.budget) {
            Solved::Yes(steps) => steps,
            Solved::No => return Ended::Exhausted,
            Solved::OutOfBudget => return spent,
        };
        let Some(need) = open.pop() else {
            let set = DeadSet { members: members.clone(), queues: queues.clone(), steps };
            return if visit(set) { Ended::Stopped } else { Ended::Exhausted };
        };
        open.push(need);
        let holders = self.holders.get(&need.resource).cloned().unwrap_or_default();
        // By a worm that is there, if it is longer, or has got further in another branch, or waits elsewhere too.
        for number in 0..members.len() {
            for &(place, granted, reach) in &holders {
                let before = &members[number];
                let holds = |mut member: Member<'a>| {
                    member.granted |= granted;
                    member.stretch = member.stretch.max(reach);
                    member.is_possible().then_some(member)
                };
                if before.fronts.iter().any(|front| front.place == place) {
                    let known = granted & !before.granted == 0 && reach <= before.stretch;
                    let Some(after) = holds(before.clone()).filter(|_| !known) else { continue };
                    let ended = self.instead(members, (number, after), open.clone(), queues, visit);
                    if ended != Ended::Exhausted {
                        return ended;
                    }
                } else if !self.is_closed(place) {
                    for part in self.alive[place].clone() {
                        let also = members[number].also(self.front(place, part)).and_then(holds);
                        let Some(after) = also else { continue };
                        let ended = self.instead(members, (number, after), open.clone(), queues, visit);
                        if ended != Ended::Exhausted {
                            return ended;
                        }
                    }
                }
            }
        }
        // By another worm.
        for &(place, granted, reach) in &holders {
            if self.is_closed(place) {
                continue;
            }
            for part in self.alive[place].clone() {
                let mut member = Member::new(self.front(place, part));
                member.granted |= granted;
                member.stretch = reach.max(1);
                let ended = self.with(members, member, open.clone(), queues, visit);
                if ended != Ended::Exhausted {
                    return ended;
                }
            }
        }
        if self.resources.is_link(need.resource) {
            return self.wait_behind(members, &open, need, queues, visit);
        }
        Ended::Exhausted
    }

    /// Goes on with one more worm.
    fn with(
        &mut self,
        members: &mut Vec<Member<'a>>,
        member: Member<'a>,
        mut open: Vec<Need>,
        queues: &mut Vec<(FrontId, FrontId)>,
        visit: &mut dyn FnMut(DeadSet<'a>) -> bool,
    ) -> Ended {
        members.push(member);
        open.extend(needs(members, (members.len() - 1, 0)));
        let ended = self.close(members, open, queues, visit);
        members.pop();
        ended
    }

    /// Goes on with a worm that does more than before.
    fn instead(
        &mut self,
        members: &mut Vec<Member<'a>>,
        (number, after): (usize, Member<'a>),
        mut open: Vec<Need>,
        queues: &mut Vec<(FrontId, FrontId)>,
        visit: &mut dyn FnMut(DeadSet<'a>) -> bool,
    ) -> Ended {
        let before = std::mem::replace(&mut members[number], after);
        for front in before.fronts.len()..members[number].fronts.len() {
            open.extend(needs(members, (number, front)));
        }
        let ended = self.close(members, open, queues, visit);
        members[number] = before;
        ended
    }

    /// Sees to a need by worms whose older requests for the link wait for something else.
    fn wait_behind(
        &mut self,
        members: &mut Vec<Member<'a>>,
        open: &[Need],
        need: Need,
        queues: &mut Vec<(FrontId, FrontId)>,
        visit: &mut dyn FnMut(DeadSet<'a>) -> bool,
    ) -> Ended {
        let asks = |front: &Front<'_>| {
            let others = front.waiting.parts.iter().enumerate().filter(|&(number, _)| number != front.part);
            others.flat_map(|(_, links)| links).any(|&link| link == need.resource)
        };
        for number in 0..members.len() {
            for front in 0..members[number].fronts.len() {
                let older = (number, front);
                if !asks(&members[number].fronts[front]) || is_older(queues, need.by, older) {
                    continue;
                }
                queues.push((older, need.by));
                let ended = self.close(members, open.to_vec(), queues, visit);
                queues.pop();
                if ended != Ended::Exhausted {
                    return ended;
                }
            }
        }
        let queued = self.queued.get(&need.resource).cloned().unwrap_or_default();
        for (place, _) in queued {
            // A second worm at a place where one waits adds nothing: a worm that waits behind it waits behind the older of the two.
            let there = members.iter().flat_map(|member| &member.fronts).any(|front| front.place == place);
            if there || self.is_closed(place) {
                continue;
            }
            for part in self.alive[place].clone() {
                let front = self.front(place, part);
                if !asks(&front) {
                    continue;
                }
                for number in 0..members.len() {
                    let Some(after) = members[number].also(front) else { continue };
                    queues.push(((number, after.fronts.len() - 1), need.by));
                    let ended = self.instead(members, (number, after), open.to_vec(), queues, visit);
                    queues.pop();
                    if ended != Ended::Exhausted {
                        return ended;
                    }
                }
                queues.push(((members.len(), 0), need.by));
                let ended = self.with(members, Member::new(front), open.to_vec(), queues, visit);
                queues.pop();
                if ended != Ended::Exhausted {
                    return ended;
                }
            }
        }
        Ended::Exhausted
    }

    /// Whether all sets with a worm at a place have been found.
    fn is_closed(&self, place: usize) -> bool {
        self.rank[place] < self.first
    }

    /// How many members hold each resource; `None` if more than can.
    fn counts(&self, members: &[Member<'a>]) -> Option<HashMap<ResourceId, u32>> {
        let mut counts: HashMap<ResourceId, u32> = HashMap::new();
        let mut fits = members.iter().all(|member| member.stretch <= self.most_stretch);
        for member in members {
            member.each_held(|resource| {
                let count = counts.entry(resource).or_insert(0);
                *count += 1;
                fits &= *count <= self.resources.capacity(resource);
            });
        }
        fits.then_some(counts)
    }
}

/// What has to be taken for a member to wait forever at one of its places.
fn needs(members: &[Member<'_>], by: FrontId) -> Vec<Need> {
    let front = &members[by.0].fronts[by.1];
    front.waiting.parts[front.part].iter().map(|&resource| Need { by, resource }).collect()
}

fn key(members: &[Member<'_>], queues: &[(FrontId, FrontId)]) -> Key {
    let describe = |member: &Member<'_>| {
        let fronts = member.fronts.iter().map(|front| (front.place, front.part)).collect::<Vec<_>>();
        (fronts, member.stretch, member.granted)
    };
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|&number| describe(&members[number]));
    let mut rank = vec![0; members.len()];
    for (position, &number) in order.iter().enumerate() {
        rank[number] = position;
    }
    let mut queues: Vec<_> = queues.iter().map(|&((a, m), (b, n))| ((rank[a], m), (rank[b], n))).collect();
    queues.sort_unstable();
    (order.into_iter().map(|number| describe(&members[number])).collect(), queues)
}

/// Whether one request is older than another, or the same, by what is known.
fn is_older(queues: &[(FrontId, FrontId)], older: FrontId, younger: FrontId) -> bool {
    older == younger || queues.iter().any(|&(before, after)| before == older && is_older(queues, after, younger))
}
