//! Turn prohibition: breaks all cycles of any network by prohibiting at most a third of its turns.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use wormcast_network::watch::step_every;
use wormcast_network::{ChannelId, Network, RouterId};

use crate::registry::{RoutingDescriptor, RoutingError};
use crate::relation::RoutingRelation;
use crate::relations::up_down::{UP_DOWN, require_ways_back};
use crate::turns::turn_routing::{Adaptivity, TurnRouting};
use crate::turns::turn_set::{Label, TurnSet};

/// [`turn_prohibition`]'s turns, by all channels on shortest permitted paths ([`TurnRouting`]).
pub const TURN_PROHIBITION: RoutingDescriptor = RoutingDescriptor::new(
    "turn-prohibition",
    "all channels on shortest permitted paths",
    UP_DOWN.needs,
    |network, _| over_turns(&TURN_PROHIBITION, network, Adaptivity::Adaptive),
)
.of_any_kind()
.over_turns();

/// The permitted turns of the adaptive routing, restricted to the first of its channels.
pub const TURN_PROHIBITION_DETERMINISTIC: RoutingDescriptor = RoutingDescriptor::new(
    "turn-prohibition-deterministic",
    "one channel: the smallest on shortest permitted paths",
    UP_DOWN.needs,
    |network, _| over_turns(&TURN_PROHIBITION_DETERMINISTIC, network, Adaptivity::First),
)
.of_any_kind()
.over_turns();

fn over_turns(
    routing: &RoutingDescriptor,
    network: &Arc<Network>,
    choice: Adaptivity,
) -> Result<Box<dyn RoutingRelation>, RoutingError> {
    require_ways_back(routing, network)?;
    Ok(Box::new(TurnRouting::new(routing.name, network, turn_prohibition(network), choice)))
}

/// The turns that turn prohibition prohibits, on any network.
///
/// Take a router *a* of smallest degree away and look at the components G1..Gl of what is left. Turns at *a* between links
/// into the same component are prohibited; into component j, the turns from earlier ones are permitted by one *special*
/// link (a, bj) alone. Then treat each component in the same way. There bj is *special*, which means that it is never
/// taken, if a worm can get back to *a* from the components before: otherwise a cycle could pass through both. In full:
///
/// 1. TP(C, v) treats a connected set C of routers, at most one of which, v, is special. It starts with everything and no v.
///    Degrees, neighbours and components are those within C. One router: nothing to do.
/// 2. *a* is a router of the smallest degree other than v; of those, one that is not a neighbour of v, if there is any; of
///    those, the smallest id.
/// 3. G1..Gl are the components of C without *a*: the one with v first, then those with more links to *a* first, then the
///    one with the smallest id. For j > 1, bj is the smallest id in Gj among the neighbours of *a*.
/// 4. A turn at *a* is prohibited between two links into the same component; between links into Gi and Gj, i < j, it is
///    permitted only if the link into Gj is its special one.
/// 5. TP(G1, v), and TP(Gj, bj) or TP(Gj, none): bj is special if there is a v, or an earlier component has two or more
///    links to *a*, or a permitted walk leaves *a* by the single link of an earlier component and comes back by it.
///
/// Turns at a router with links to routers that were taken earlier are permitted.
///
/// *Parallel links* are links of their own: degrees count them, and so do the links into a component; of parallel special
/// links, the one with the smallest channel is special. Components of a network that is not connected are treated each by
/// itself.
///
/// *Properties* (paper 3, Theorems 1 to 5, with Z the prohibited turns): every cycle has a turn in Z; routers that were connected
/// still are; permitting any turn of Z closes a cycle; at most a third of the turns are in Z, if there are no parallel links
/// (two routers with two links between them have two turns and need one); and Z has at least M - N + 1 turns, for M links
/// and N routers (the paper prints the difference with the wrong sign).
///
/// *Source:* paper 3, section 2, whose listing is missing from the text; the rule was reconstructed from its definitions and
/// theorems.
///
/// *Complexity:* a component is found by searches from all neighbours of *a* at once, which stop when they have met or when
/// all but one have ended. So what is split off is paid for by its smaller parts, and what holds together by the
/// shortest cycles around *a*: O(M log N) for trees and rings, little more for grids and random networks, O(N M) at worst.
///
/// ```
/// use wormcast_network::TopologySpec;
/// use wormcast_routing::turn_prohibition;
///
/// // In a ring one turn is enough.
/// let ring = "torus:6".parse::<TopologySpec>()?.build()?;
/// let turns = turn_prohibition(&ring);
/// assert_eq!((turns.turn_count(), turns.prohibited_turns()), (6, 1));
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
pub fn turn_prohibition(network: &Network) -> TurnSet {
    Prohibition::new(network).run()
}

/// The part of a router that has been taken.
const TAKEN: u32 = u32::MAX;

/// A connected set of routers that has still to be treated.
struct Part {
    /// All but the special router, in the order of step 2: smaller degrees first, then routers that are not neighbours of
    /// the special one.
    order: BTreeSet<(u32, bool, u32)>,
    special: Option<u32>,
    /// The routers that were here at first, sorted; some may have gone.
    members: Vec<u32>,
    /// Where in `members` the smallest one may be that is still here.
    smallest: usize,
}

/// What is left to do, last first: a work list instead of recursion, which a long chain of parts would take too deep.
enum Work {
    Treat(u32),
    /// The part that `entry` leads into is done. Each of these parts, with its link, follows in turn; they get special
    /// routers as soon as some part before them lets worms back.
    After {
        entry: ChannelId,
        rest: std::vec::IntoIter<(u32, ChannelId)>,
    },
}

/// A component of a part without the router that was taken.
struct Component {
    /// Its links to the router that was taken, in the order of channels.
    links: Vec<ChannelId>,
    has_special: bool,
    smallest: u32,
    part: u32,
}

struct Prohibition<'n> {
    network: &'n Network,
    labels: Vec<Label>,
    /// By router: the part that it is in, or `TAKEN`.
    part: Vec<u32>,
    /// By router: its links within its part.
    degree: Vec<u32>,
    /// By router: whether it is a neighbour of its part's special router.
    beside_special: Vec<bool>,
    /// By router: when it was taken.
    taken_at: Vec<u32>,
    taken: u32,
    parts: Vec<Part>,
    work: Vec<Work>,
    search: Search,
    /// By channel: the last walk that came by.
    walked: Vec<u32>,
    walks: u32,
}

impl<'n> Prohibition<'n> {
    fn new(network: &'n Network) -> Self {
        let routers = network.routers();
        let degree = |r| network.outputs(RouterId::new(r)).len() as u32;
        let mut this = Self {
            network,
            labels: vec![Label::FREE; network.channels()],
            part: vec![TAKEN; routers],
            degree: (0..routers as u32).map(degree).collect(),
            beside_special: vec![false; routers],
            taken_at: vec![0; routers],
            taken: 0,
            parts: Vec::new(),
            work: Vec::new(),
            search: Search::new(routers),
            walked: vec![0; network.channels()],
            walks: 0,
        };
        let mut seen = vec![false; routers];
        for start in 0..routers as u32 {
            if seen[start as usize] {
                continue;
            }
            seen[start as usize] = true;
            let mut members = vec![start];
            let mut next = 0;
            while let Some(&router) = members.get(next) {
                next += 1;
                for (_, neighbour) in links(network, router) {
                    if !std::mem::replace(&mut seen[neighbour as usize], true) {
                        members.push(neighbour);
                    }
                }
            }
            let part = this.new_part(members, None);
            this.work.push(Work::Treat(part));
        }
        this
    }

    fn run(mut self) -> TurnSet {
        while let Some(work) = self.work.pop() {
            match work {
                Work::Treat(part) => self.treat(part),
                Work::After { entry, rest } => self.go_on(entry, rest),
            }
        }
        TurnSet::new(self.network, self.labels)
    }

    fn new_part(&mut self, mut members: Vec<u32>, special: Option<u32>) -> u32 {
        members.sort_unstable();
        let part = self.parts.len() as u32;
        for &router in &members {
            self.part[router as usize] = part;
        }
        let order = members.iter().filter(|&&r| Some(r) != special).map(|&r| self.key(r)).collect();
        self.parts.push(Part { order, special, members, smallest: 0 });
        part
    }

    /// Takes routers from a part until it falls apart or is used up.
    fn treat(&mut self, part: u32) {
        loop {
            let treated = &mut self.parts[part as usize];
            if treated.order.len() + usize::from(treated.special.is_some()) <= 1 {
                // The last one: all its turns are with routers that were taken before.
                let last = treated.special.or_else(|| treated.order.first().map(|&(_, _, router)| router));
                if let Some(last) = last {
                    self.take(last);
                }
                // Parts are many and stay in the list: give back what this one holds.
                self.parts[part as usize].members = Vec::new();
                self.parts[part as usize].order.clear();
                return;
            }
            let Some((_, _, router)) = treated.order.pop_first() else { return };
            self.take(router);
            let live: Vec<(ChannelId, u32)> =
                links(self.network, router).filter(|&(_, n)| self.part[n as usize] == part).collect();
            for &(_, neighbour) in &live {
                self.rekey(neighbour, |this| this.degree[neighbour as usize] -= 1);
            }
            match self.search.run(self.network, &self.part, part, &live) {
                None => {
                    for &(link, _) in &live {
                        self.labels[link.index()] = Label::group(1);
                    }
                }
                Some(found) => {
                    self.fall_apart(part, &live, found);
                    return;
                }
            }
        }
    }

    fn take(&mut self, router: u32) {
        step_every(10, "prohibiting turns", "routers", self.taken as usize, self.network.routers());
        self.part[router as usize] = TAKEN;
        self.taken += 1;
        self.taken_at[router as usize] = self.taken;
    }

    /// The key by which routers of a part are ordered.
    fn key(&self, router: u32) -> (u32, bool, u32) {
        (self.degree[router as usize], self.beside_special[router as usize], router)
    }

    /// Changes part of a router's key.
    fn rekey(&mut self, router: u32, change: impl FnOnce(&mut Self)) {
        let part = self.part[router as usize] as usize;
        let key = self.key(router);
        let ordered = self.parts[part].order.remove(&key);
        change(self);
        if ordered {
            let key = self.key(router);
            self.parts[part].order.insert(key);
        }
    }

    /// Makes components parts of their own, labels the links into them, and puts them on the work list. The component that
    /// was not searched stays the old part, so that its size costs nothing.
    fn fall_apart(&mut self, part: u32, live: &[(ChannelId, u32)], found: Vec<Vec<u32>>) {
        let special = self.parts[part as usize].special;
        let mut components: Vec<Component> = Vec::with_capacity(found.len() + 1);
        for members in found {
            let has_special = special.is_some_and(|v| members.contains(&v));
            for &router in &members {
                let key = self.key(router);
                self.parts[part as usize].order.remove(&key);
            }
            if has_special {
                self.parts[part as usize].special = None;
            }
            let new = self.new_part(members, special.filter(|_| has_special));
            components.push(self.component(new, live, has_special));
        }
        let left = self.parts[part as usize].special.is_some();
        components.push(self.component(part, live, left));
        components.sort_unstable_by_key(|c| (!c.has_special, std::cmp::Reverse(c.links.len()), c.smallest));

        let mut parts = Vec::with_capacity(components.len());
        for (group, component) in (1..).zip(&components) {
            let bridge = *component
                .links
                .iter()
                .min_by_key(|&&link| (self.network.to(link), link))
                .expect("a component is linked to the router that was taken");
            for &link in &component.links {
                let special = group > 1 && link == bridge;
                self.labels[link.index()] = if special { Label::special(group) } else { Label::group(group) };
            }
            parts.push((component.part, bridge));
        }
        let worms_return = special.is_some() || components[0].links.len() > 1;
        let mut parts = parts.into_iter();
        let (first, entry) = parts.next().expect("it fell apart into something");
        if worms_return {
            self.push_special(parts);
        } else {
            // As links of components do not become more, all of them have a single one.
            self.work.push(Work::After { entry, rest: parts });
        }
        self.work.push(Work::Treat(first));
    }

    fn component(&mut self, part: u32, live: &[(ChannelId, u32)], has_special: bool) -> Component {
        let links = live.iter().filter(|&&(_, n)| self.part[n as usize] == part).map(|&(link, _)| link).collect();
        let Part { members, smallest, .. } = &mut self.parts[part as usize];
        while members.get(*smallest).is_some_and(|&r| self.part[r as usize] != part) {
            *smallest += 1;
        }
        let smallest = members.get(*smallest).copied().unwrap_or(u32::MAX);
        Component { links, has_special, smallest, part }
    }

    /// Puts parts on the work list, each with the router that its link leads to as special router.
    fn push_special(&mut self, parts: std::vec::IntoIter<(u32, ChannelId)>) {
        let start = self.work.len();
        for (part, bridge) in parts {
            let special = self.network.to(bridge).raw();
            let key = self.key(special);
            self.parts[part as usize].order.remove(&key);
            self.parts[part as usize].special = Some(special);
            for (_, neighbour) in links(self.network, special) {
                if self.part[neighbour as usize] == part {
                    self.rekey(neighbour, |this| this.beside_special[neighbour as usize] = true);
                }
            }
            self.work.push(Work::Treat(part));
        }
        self.work[start..].reverse();
    }

    fn go_on(&mut self, entry: ChannelId, mut rest: std::vec::IntoIter<(u32, ChannelId)>) {
        if self.leads_back(entry) {
            self.push_special(rest);
        } else if let Some((part, entry)) = rest.next() {
            self.work.push(Work::After { entry, rest });
            self.work.push(Work::Treat(part));
        }
    }

    /// Whether a worm that leaves a router by `entry` can come back by the same link, within what was taken after it.
    fn leads_back(&mut self, entry: ChannelId) -> bool {
        let network = self.network;
        let (start, door) = (network.from(entry), network.to(entry));
        let since = self.taken_at[start.index()];
        self.walks += 1;
        let mut walk = vec![entry];
        while let Some(arriving) = walk.pop() {
            let at = network.to(arriving);
            let back = network.reverse(arriving);
            for leaving in network.outputs(at) {
                let inside = self.taken_at[network.to(leaving).index()] > since;
                let new = self.walked[leaving.index()] != self.walks;
                if inside && new && leaving != back && self.labels[back.index()].may_turn(self.labels[leaving.index()])
                {
                    if network.to(leaving) == door {
                        return true;
                    }
                    self.walked[leaving.index()] = self.walks;
                    walk.push(leaving);
                }
            }
        }
        false
    }
}

/// The links of a router: the channel that leaves by each, and the neighbour.
fn links(network: &Network, router: u32) -> impl Iterator<Item = (ChannelId, u32)> + '_ {
    network.outputs(RouterId::new(router)).map(|link| (link, network.to(link).raw()))
}

/// Searches that start from all neighbours of a router at once and look at one link each in turn.
///
/// What they cost is bounded by the smaller components, or by the way to where they meet, whatever degrees the routers
/// have that are passed.
struct Search {
    /// By router: the run that it was last reached in, and the search that reached it.
    reached: Vec<(u32, u32)>,
    runs: u32,
    trees: Vec<Tree>,
    /// Trees that are neither merged into another nor complete.
    open: usize,
}

/// What one search has reached.
struct Tree {
    /// The tree that this one has been merged into, or itself.
    merged: u32,
    routers: Vec<u32>,
    /// Those of them whose links have not been looked at.
    pending: VecDeque<u32>,
    /// Links of others that have still to be looked at: several rows of them where trees have merged.
    links: Vec<Range<u32>>,
}

impl Search {
    fn new(routers: usize) -> Self {
        Self { reached: vec![(0, 0); routers], runs: 0, trees: Vec::new(), open: 0 }
    }

    fn root(&mut self, mut tree: u32) -> u32 {
        while self.trees[tree as usize].merged != tree {
            let above = self.trees[tree as usize].merged;
            self.trees[tree as usize].merged = self.trees[above as usize].merged;
            tree = above;
        }
        tree
    }

    /// The components of `part` that have a router in `live`, without one of them; `None` if there is only one.
    fn run(&mut self, network: &Network, parts: &[u32], part: u32, live: &[(ChannelId, u32)]) -> Option<Vec<Vec<u32>>> {
        self.runs += 1;
        self.trees.clear();
        for &(_, neighbour) in live {
            if self.reached[neighbour as usize].0 != self.runs {
                let merged = self.trees.len() as u32;
                self.reached[neighbour as usize] = (self.runs, merged);
                let (routers, pending) = (vec![neighbour], VecDeque::from([neighbour]));
                self.trees.push(Tree { merged, routers, pending, links: Vec::new() });
            }
        }
        self.open = self.trees.len();
        let mut turn: Vec<u32> = (0..self.open as u32).collect();
        let mut found = Vec::new();
        while self.open > 1 {
            turn.retain(|&tree| {
                if self.open <= 1 {
                    return true;
                }
                if self.trees[tree as usize].merged != tree {
                    return false;
                }
                let more = self.step(network, parts, part, tree);
                if !more {
                    self.open -= 1;
                    found.push(std::mem::take(&mut self.trees[tree as usize].routers));
                }
                more
            });
        }
        (!found.is_empty()).then_some(found)
    }

    /// Looks at one link; `false` if there is none left.
    fn step(&mut self, network: &Network, parts: &[u32], part: u32, tree: u32) -> bool {
        let own = &mut self.trees[tree as usize];
        let Some(links) = own.links.last_mut() else {
            let Some(router) = own.pending.pop_front() else { return false };
            let outputs = network.outputs(RouterId::new(router)).map(ChannelId::raw);
            let first = outputs.clone().next().unwrap_or(0);
            own.links.push(first..first + outputs.len() as u32);
            return true;
        };
        let Some(link) = links.next() else {
            own.links.pop();
            return true;
        };
        let neighbour = network.to(ChannelId::new(link)).raw();
        if parts[neighbour as usize] != part {
            return true;
        }
        let (run, other) = self.reached[neighbour as usize];
        if run == self.runs {
            let other = self.root(other);
            if other != tree {
                self.merge(tree, other);
            }
        } else {
            self.reached[neighbour as usize] = (self.runs, tree);
            own.routers.push(neighbour);
            own.pending.push_back(neighbour);
        }
        true
    }

    /// Makes two trees one, which is the larger of the two.
    fn merge(&mut self, one: u32, other: u32) {
        let size = |tree: u32| self.trees[tree as usize].routers.len();
        let (large, small) = if size(one) >= size(other) { (one, other) } else { (other, one) };
        let gone = &mut self.trees[small as usize];
        gone.merged = large;
        let routers = std::mem::take(&mut gone.routers);
        let pending = std::mem::take(&mut gone.pending);
        let links = std::mem::take(&mut gone.links);
        let kept = &mut self.trees[large as usize];
        kept.routers.extend(routers);
        kept.pending.extend(pending);
        kept.links.extend(links);
        self.open -= 1;
    }
}
