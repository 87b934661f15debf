//! Dragonflies: groups of routers that are all joined, and a link between every two groups.

use std::fmt;

use crate::ids::RouterId;

/// A dragonfly of the largest size (Kim, Dally, Scott and Abts 2008): `dragonfly:p=P,a=A,h=H`.
///
/// Each router has `p` nodes and `h` global links. The `a` routers of a group are joined to each other; there are `a * h + 1` groups, and one link
/// between every two of them. Router `r` of group `g` has the index `g * a + r`. The global links of a group are numbered from 0 by the group that they lead to, its own left out, and
/// router `r` has those from `r * h` on.
///
/// ```
/// use wormcast_network::TopologySpec;
///
/// let network = "dragonfly:p=2,a=4,h=2".parse::<TopologySpec>()?.build()?;
/// // 9 groups: 9 x 6 local links, and one for each of 36 pairs of groups.
/// assert_eq!((network.routers(), network.nodes(), network.links()), (36, 72, 54 + 36));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dragonfly {
    pub(crate) p: u32,
    pub(crate) a: u32,
    pub(crate) h: u32,
}

impl Dragonfly {
    /// Nodes of a router.
    pub fn nodes_each(&self) -> u32 {
        self.p
    }

    /// Routers of a group.
    pub fn group_size(&self) -> u32 {
        self.a
    }

    /// Groups.
    pub fn groups(&self) -> u32 {
        self.a * self.h + 1
    }

    /// The group of a router.
    #[inline]
    pub fn group(&self, router: RouterId) -> u32 {
        router.raw() / self.a
    }

    /// The router of a group that has the link to another group.
    #[inline]
    pub fn gateway(&self, from: u32, to: u32) -> RouterId {
        let link = if to < from { to } else { to - 1 };
        RouterId::new(from * self.a + link / self.h)
    }

    /// The routers, in numbers that do not overflow.
    pub(crate) fn routers(&self) -> u128 {
        u128::from(self.a) * (u128::from(self.a) * u128::from(self.h) + 1)
    }

    pub(crate) fn link_count(&self) -> u128 {
        let groups = u128::from(self.a) * u128::from(self.h) + 1;
        groups * (u128::from(self.a) * u128::from(self.a - 1) / 2) + groups * (groups - 1) / 2
    }

    pub(crate) fn links(&self) -> Vec<(u32, u32)> {
        let mut links = Vec::with_capacity(self.link_count() as usize);
        for group in 0..self.groups() {
            let first = group * self.a;
            for one in first..first + self.a {
                links.extend((one + 1..first + self.a).map(|other| (one, other)));
            }
        }
        for one in 0..self.groups() {
            links.extend(
                (one + 1..self.groups()).map(|other| (self.gateway(one, other).raw(), self.gateway(other, one).raw())),
            );
        }
        links
    }
}

impl fmt::Display for Dragonfly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dragonfly:p={},a={},h={}", self.p, self.a, self.h)
    }
}
