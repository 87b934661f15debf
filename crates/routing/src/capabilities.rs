//! Optional capabilities of routing relations.

use wormcast_network::{ChannelId, RouterId};

use crate::multidestination::MultidestinationRouting;
use crate::relation::RoutingRelation;
use crate::turns::turn_routing::TurnRouting;

/// The optional capabilities of a relation; none by default. Engines look them up once, not on every hop.
#[derive(Clone, Copy, Default)]
pub struct RoutingCapabilities<'r> {
    /// Which parallel channels may replace a candidate.
    pub spread: Option<&'r dyn Spread>,
    /// The next channel down a tree, where routers decode the headers of multicasts.
    pub descent: Option<&'r dyn TreeDescent>,
    /// The relation as routing over a set of turns, if that is what it is.
    pub turns: Option<&'r TurnRouting>,
    /// How switches route worms whose headers encode several destinations. A branch to a single destination is routed as a unicast.
    pub multidestination: Option<&'r dyn MultidestinationRouting>,
    /// Which virtual channels of a link a header may take. Without it, any.
    pub virtual_channels: Option<&'r dyn VirtualChannels>,
    /// Over which router a worm goes first. Only beside `virtual_channels`.
    pub waypoints: Option<&'r dyn Waypoints>,
    /// What following the routes of all pairs would find, where that can be said at once.
    pub closed_form: Option<&'r dyn ClosedForm>,
    /// A lower bound on the bytes of tables for each router that worms have been routed to.
    pub target_bytes: u64,
    /// In a checked relation, its first fault, as a sentence without its full stop. The relation then offered no channels.
    pub fault: Option<&'r str>,
}

/// What following the routes of all pairs of routers would find, for a relation on a network so regular that it can be said at once.
///
/// It replaces a search in O(routers x channels), so it has to say exactly the same; the tests compare both on all small networks. It is asked only where every
/// router has as many nodes as any other. A relation that changes the routes of another one must not pass on its closed form.
pub trait ClosedForm: Send + Sync {
    /// Whether a worm between some two routers may hold one channel, or one that is spread over, and request the other next, which leaves where the first ends.
    fn follows(&self, held: ChannelId, requested: ChannelId) -> bool;

    /// The sum of the lengths of the shortest routes over all ordered pairs of routers, and the longest of them.
    fn lengths(&self) -> (u128, u32);

    /// Over how many ordered pairs of routers' routes a channel lies, where every header takes its only candidate.
    fn crossing(&self, channel: ChannelId) -> u64;
}

impl<'r> dyn ClosedForm + 'r {
    /// The closed form of a relation, if it has one that may be asked, and how many nodes each router has.
    pub fn of(relation: &'r dyn RoutingRelation) -> Option<(&'r Self, u64)> {
        let closed_form = relation.capabilities().closed_form?;
        let nodes = relation.network().nodes_a_router();
        let even = nodes.min == nodes.max && nodes.min > 0 && !relation.network().is_unidirectional();
        even.then_some((closed_form, nodes.min as u64))
    }
}

/// Offers the parallel channels that a header may take in place of a candidate.
pub trait Spread: Send + Sync {
    /// As [`RoutingRelation::candidates`], and with them the parallel channels that will do as well: the channels on offer where
    /// routers choose among several (`selection` other than `first`). Parallel channels are different ones, and stand for each
    /// other only where the relation says so; the static check then assumes that any of them may be taken.
    fn spread(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>);
}

/// Routes headers down trees.
pub trait TreeDescent: Send + Sync {
    /// The channel on which a header at `at` goes down to `target`, below it, on the tree that channel `on` of this router
    /// belongs to (paper 5, section 3.1.2). `None` if there is none.
    fn down(&self, at: RouterId, on: ChannelId, target: RouterId) -> Option<ChannelId>;
}

/// A range of virtual channels of a link, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VcRange {
    /// The first.
    pub first: u8,
    /// The last; if the link has fewer, its last one.
    pub last: u8,
}

impl VcRange {
    /// All of them.
    pub const ANY: Self = Self { first: 0, last: u8::MAX };

    /// Only this one.
    pub const fn only(virtual_channel: u8) -> Self {
        Self { first: virtual_channel, last: virtual_channel }
    }

    /// Those of a link with `count` of them.
    #[inline]
    pub fn of(self, count: u32) -> std::ops::Range<u32> {
        u32::from(self.first)..count.min(u32::from(self.last) + 1)
    }

    /// Whether it has this virtual channel.
    #[inline]
    pub fn contains(self, virtual_channel: u32) -> bool {
        (u32::from(self.first)..=u32::from(self.last)).contains(&virtual_channel)
    }

    /// Those that are in both ranges; of ranges that do not overlap, none.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { first: self.first.max(other.first), last: self.last.min(other.last) }
    }

    /// Whether the two ranges overlap.
    pub fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// What a header may take, the preferred first: channels, each with some of its virtual channels.
pub type Lanes = Vec<(ChannelId, VcRange)>;

/// Divides the virtual channels of links into classes, so that worms which could block each other forever hold different ones (Dally and Seitz 1987), or
/// always have a way out (Duato 1993).
///
/// Engines grant a header only the virtual channels that it may take, and let it pass headers that wait for others of the same link. The
/// static check of the [relation](crate::Dependencies::of_relation) tells them apart. What a header may take depends neither on the virtual channel that it
/// holds, nor on which worm it belongs to.
pub trait VirtualChannels: Send + Sync {
    /// The virtual channels that links need to have, at least.
    fn needed(&self) -> u8;

    /// Replaces `out` by what a header at `at`, which came by `arrived`, may take towards `target`, the preferred first, where every link has `count` virtual
    /// channels, at least [`needed`](Self::needed). A channel may come several times, with different ranges. The channels are the
    /// [`candidates`](RoutingRelation::candidates) there, and those parallel ones that will do as well.
    ///
    /// Called once for each hop of a header; it must not allocate beyond the growth of `out`.
    fn lanes(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, count: u8, out: &mut Lanes);
}

/// Leads worms over a router that is chosen where they start (Valiant 1982).
///
/// A worm has one waypoint or none. Until its header is there, it may take [`lanes_to`](Self::lanes_to) it, and then, or from the start, the
/// [`lanes`](VirtualChannels::lanes) to its target. It passes its target, if that lies on the way to the waypoint. So besides the channel by which it came, a header knows
/// whether the waypoint lies ahead, and which.
pub trait Waypoints: Send + Sync {
    /// The waypoint of a worm from `source` to `target`, by a random number that is drawn for it; `None`: it goes straight. `load` says how many virtual channels of a channel
    /// out of the source's router are held, together with the requests that wait for it.
    fn waypoint(
        &self,
        source: RouterId,
        target: RouterId,
        drawn: u64,
        load: &dyn Fn(ChannelId) -> u32,
    ) -> Option<RouterId>;

    /// Whether a worm that starts at `source` may have this waypoint, whatever its target.
    fn may_lead_over(&self, source: RouterId, waypoint: RouterId) -> bool;

    /// Whether a worm from `source` to `target` may have this waypoint.
    fn may_lead(&self, source: RouterId, target: RouterId, waypoint: RouterId) -> bool {
        waypoint != target && self.may_lead_over(source, waypoint)
    }

    /// As [`lanes`](VirtualChannels::lanes), towards a waypoint that lies ahead.
    fn lanes_to(&self, at: RouterId, arrived: Option<ChannelId>, waypoint: RouterId, count: u8, out: &mut Lanes);
}

impl dyn RoutingRelation + '_ {
    /// A function that gives the candidates, and the parallel channels that may replace them, if the relation [offers](Spread) any: for loops, so that this is looked up
    /// only once.
    pub fn spreading(&self) -> impl Fn(RouterId, Option<ChannelId>, RouterId, &mut Vec<ChannelId>) {
        let spread = self.capabilities().spread;
        move |at, arrived, target, out| match spread {
            Some(spread) => spread.spread(at, arrived, target, out),
            None => self.candidates(at, arrived, target, out),
        }
    }

    /// Calls what `spreading` returns, once.
    pub fn spread(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
        self.spreading()(at, arrived, target, out);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::analysis::link_load::load_of_routes;
    use crate::analysis::survey::survey_of_routes;
    use crate::{Dependencies, ECube, Hamiltonian, link_load, survey};
    use wormcast_network::{Network, TopologySpec};

    fn build(spec: &str) -> Arc<Network> {
        spec.parse::<TopologySpec>().unwrap().build().unwrap()
    }

    /// Whether the closed form says what following all routes finds: of dependencies, of lengths, of loads.
    fn is_exact(relation: &dyn RoutingRelation) -> [bool; 3] {
        assert!(<dyn ClosedForm>::of(relation).is_some());
        let direct = |dependencies: Dependencies<'_>| dependencies.direct().collect::<Vec<_>>();
        [
            direct(Dependencies::of_relation(relation)) == direct(Dependencies::of_routes(relation)),
            survey(relation) == survey_of_routes(relation),
            link_load(relation) == load_of_routes(relation),
        ]
    }

    /// All meshes and tori of up to three dimensions that are not too large, lines and single routers among them.
    fn grids() -> Vec<String> {
        let mut grids: Vec<String> = (1..=12).map(|a| a.to_string()).collect();
        grids.extend((1..=7).flat_map(|a| (1..=7).map(move |b| format!("{a}x{b}"))));
        grids.extend((1..=4).flat_map(|a| (1..=4).flat_map(move |b| (1..=4).map(move |c| format!("{a}x{b}x{c}")))));
        grids.extend(["2x1x3x2", "8x2x2x2", "5x5x5", "16x2", "2x16", "9x10"].map(str::to_owned));
        grids
    }

    #[test]
    fn closed_forms_are_what_following_all_routes_finds() {
        for grid in grids() {
            for kind in ["mesh", "torus"] {
                let network = build(&format!("{kind}:{grid}"));
                assert_eq!(is_exact(&ECube::new(&network).unwrap()), [true; 3], "e-cube on {kind}:{grid}");
            }
            let hamiltonian = Hamiltonian::new(&build(&format!("mesh:{grid}"))).unwrap();
            match hamiltonian.capabilities().closed_form {
                Some(_) => assert_eq!(is_exact(&hamiltonian), [true; 3], "hamiltonian on {grid}"),
                None => assert!(grid.matches('x').count() > 1, "{grid}"),
            }
        }
        for dimensions in 1..=7 {
            let cube = ECube::new(&build(&format!("hypercube:{dimensions}"))).unwrap();
            assert_eq!(is_exact(&cube), [true; 3]);
            assert_eq!(is_exact(&cube.ascending()), [true; 3]);
        }
    }

    /// Routes of one relation with the closed form of another.
    struct Mismatched<'a>(&'a dyn RoutingRelation, &'a dyn ClosedForm);

    impl RoutingRelation for Mismatched<'_> {
        fn name(&self) -> &'static str {
            "mismatched"
        }

        fn network(&self) -> &Arc<Network> {
            self.0.network()
        }

        fn candidates(&self, at: RouterId, arrived: Option<ChannelId>, target: RouterId, out: &mut Vec<ChannelId>) {
            self.0.candidates(at, arrived, target, out);
        }

        fn capabilities(&self) -> RoutingCapabilities<'_> {
            RoutingCapabilities { closed_form: Some(self.1), ..RoutingCapabilities::default() }
        }
    }

    /// The comparison sees the difference between relations that resolve dimensions in another order, or follow labels.
    #[test]
    fn other_closed_forms_are_not_exact() {
        let cube = ECube::new(&build("hypercube:4")).unwrap();
        let ascending = cube.clone().ascending();
        assert_eq!(is_exact(&Mismatched(&cube, &ascending)), [false, true, true]);
        let mesh = build("mesh:4x4");
        let (e_cube, hamiltonian) = (ECube::new(&mesh).unwrap(), Hamiltonian::new(&mesh).unwrap());
        assert_eq!(is_exact(&Mismatched(&e_cube, &hamiltonian)), [false, true, false]);
        assert_eq!(is_exact(&Mismatched(&hamiltonian, &e_cube)), [false, true, false]);
        // In three dimensions routes along labels are longer than in the plane.
        let space = Hamiltonian::new(&build("mesh:3x3x3")).unwrap();
        assert_ne!(survey(&Mismatched(&space, &space)), survey_of_routes(&space));
    }
}
