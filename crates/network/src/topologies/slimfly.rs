//! Slim Flies: the graphs of `McKay`, Miller and Širáň, of diameter 2.

use std::fmt;

use crate::ids::RouterId;

/// A Slim Fly (Besta and Hoefler 2014): `slimfly:q=Q,nodes=P`, with `2 * q * q` routers of `(3 * q ± 1) / 2` links for a prime `q` other than 2, any two of
/// which are at most two hops apart.
///
/// Router `(s, x, y)` has the index `s * q * q + x * q + y`. Modulo `q`, and with a primitive element ξ: `(0, x, y)` is joined to `(0, x, y')` if `y - y'` is in X, `(1, m, c)` to
/// `(1, m, c')` if `c - c'` is in X', and `(0, x, y)` to `(1, m, c)` if `y = m * x + c`. If `q` is 1 modulo 4, X has the even powers of ξ and X' the odd ones; otherwise X has 1, ξ², …, ξ^((q-3)/2) and
/// X' has ξ, ξ³, …, ξ^((q-1)/2), with their negatives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlimFly {
    q: u32,
    nodes: u32,
    /// X and X', by element.
    sets: [Box<[bool]>; 2],
}

/// Whether a number is an odd prime.
pub(crate) fn is_odd_prime(q: u32) -> bool {
    q > 2 && (2..=q.isqrt()).all(|factor| !q.is_multiple_of(factor))
}

impl SlimFly {
    /// For an odd prime.
    pub(crate) fn new(q: u32, nodes: u32) -> Self {
        let element =
            |root: u32, power: u32| (0..power).fold(1u64, |product, _| product * u64::from(root) % u64::from(q));
        // The order of a primitive element is q - 1.
        let order = |root: u32| (1..q).find(|&power| element(root, power) == 1);
        let root = (2..q).find(|&root| order(root) == Some(q - 1)).unwrap_or(1);
        let mut sets = [0, 1].map(|_| vec![false; q as usize].into_boxed_slice());
        // All of them if q is 1 modulo 4: then the negative of an even power is another.
        let powers = if q % 4 == 1 { q - 1 } else { q.div_ceil(2) };
        for power in 0..powers {
            let value = element(root, power) as usize;
            sets[power as usize % 2][value] = true;
            sets[power as usize % 2][q as usize - value] = true;
        }
        Self { q, nodes, sets }
    }

    /// Nodes of a router.
    pub fn nodes_each(&self) -> u32 {
        self.nodes
    }

    pub(crate) fn q(&self) -> u32 {
        self.q
    }

    /// A router's part, its set and its place in that.
    fn place(&self, router: RouterId) -> (usize, u32, u32) {
        let (q, index) = (self.q, router.raw());
        ((index / (q * q)) as usize, index / q % q, index % q)
    }

    /// Whether two routers are joined.
    #[inline]
    pub fn joined(&self, one: RouterId, other: RouterId) -> bool {
        let ((part, x, y), (other_part, slope, offset)) = (self.place(one.min(other)), self.place(one.max(other)));
        if part == other_part {
            return x == slope && self.sets[part][((y + self.q - offset) % self.q) as usize];
        }
        u64::from(y) == (u64::from(slope) * u64::from(x) + u64::from(offset)) % u64::from(self.q)
    }

    pub(crate) fn link_count(q: u32) -> u128 {
        let q = u128::from(q);
        let degree = if q % 4 == 1 { (3 * q - 1) / 2 } else { (3 * q).div_ceil(2) };
        q * q * degree
    }

    pub(crate) fn links(&self) -> Vec<(u32, u32)> {
        let q = self.q;
        let mut links = Vec::with_capacity(Self::link_count(q) as usize);
        for one in 0..2 * q * q {
            let (part, x, y) = self.place(RouterId::new(one));
            for by in (1..q - y).filter(|&by| self.sets[part][by as usize]) {
                links.push((one, one + by));
            }
            for slope in (0..q).filter(|_| part == 0) {
                let (wide, along) = (u64::from(q), u64::from(slope) * u64::from(x));
                let offset = (u64::from(y) + wide * wide - along) % wide;
                links.push((one, q * q + slope * q + offset as u32));
            }
        }
        links
    }
}

impl fmt::Display for SlimFly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slimfly:q={},nodes={}", self.q, self.nodes)
    }
}
