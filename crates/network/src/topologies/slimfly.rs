//! Slim Flies: the graphs of `McKay`, Miller and Širáň, of diameter 2.

use std::fmt;

use crate::ids::RouterId;
use crate::topologies::field::{Field, base_of_power};

/// A Slim Fly (Besta and Hoefler 2014): `slimfly:q=Q,nodes=P`, with `2 * q * q` routers of `(3 * q - δ) / 2` links for a prime power `q` from 3 on that is 4w + δ with δ = -1, 0 or 1, any two of
/// which are at most two hops apart.
///
/// Router `(s, x, y)` has the index `s * q * q + x * q + y`. In the field of `q` elements, modulo `q` for a prime, and with a primitive element ξ: `(0, x, y)` is joined to `(0, x, y')` if `y - y'` is in X, `(1, m, c)` to
/// `(1, m, c')` if `c - c'` is in X', and `(0, x, y)` to `(1, m, c)` if `y = m * x + c`. If δ is 1, X has the even powers of ξ and X' the odd ones; if it is 0 too, up to ξ^(q-2) and ξ^(q-1); if it is -1, X has 1, ξ², …, ξ^((q-3)/2) and
/// X' has ξ, ξ³, …, ξ^((q-1)/2), with their negatives (Hafner 2004).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlimFly {
    field: Field,
    nodes: u32,
    /// X and X', by element.
    sets: [Box<[bool]>; 2],
}

/// Whether there is a Slim Fly of this number.
pub(crate) fn has_slim_fly(q: u32) -> bool {
    q > 2 && base_of_power(q).is_some()
}

impl SlimFly {
    /// For a prime power from 3 on.
    pub(crate) fn new(q: u32, nodes: u32) -> Self {
        let field = Field::new(q);
        let mut sets = [0, 1].map(|_| vec![false; q as usize].into_boxed_slice());
        let powers = match q % 4 {
            // The negative of an even power is another.
            1 => q - 1,
            // Every element is its own negative; 1 is an even and an odd power.
            0 => q,
            _ => q.div_ceil(2),
        };
        for exponent in 0..powers {
            let value = field.power(exponent);
            sets[exponent as usize % 2][value as usize] = true;
            sets[exponent as usize % 2][field.minus(0, value) as usize] = true;
        }
        Self { field, nodes, sets }
    }

    /// Nodes of a router.
    pub fn nodes_each(&self) -> u32 {
        self.nodes
    }

    pub(crate) fn q(&self) -> u32 {
        self.field.size()
    }

    /// A router's part, its set and its place in that.
    fn place(&self, router: RouterId) -> (usize, u32, u32) {
        let (q, index) = (self.q(), router.raw());
        ((index / (q * q)) as usize, index / q % q, index % q)
    }

    /// Whether two routers are joined.
    #[inline]
    pub fn joined(&self, one: RouterId, other: RouterId) -> bool {
        let ((part, x, y), (other_part, slope, offset)) = (self.place(one.min(other)), self.place(one.max(other)));
        if part == other_part {
            return x == slope && self.sets[part][self.field.minus(y, offset) as usize];
        }
        self.field.minus(y, self.field.times(slope, x)) == offset
    }

    pub(crate) fn link_count(q: u32) -> u128 {
        let q = u128::from(q);
        let degree = match q % 4 {
            1 => (3 * q - 1) / 2,
            _ => (3 * q).div_ceil(2),
        };
        q * q * degree
    }

    pub(crate) fn links(&self) -> Vec<(u32, u32)> {
        let (q, field) = (self.q(), &self.field);
        let mut links = Vec::with_capacity(Self::link_count(q) as usize);
        for one in 0..2 * q * q {
            let (part, x, y) = self.place(RouterId::new(one));
            for other in (y + 1..q).filter(|&other| self.sets[part][field.minus(other, y) as usize]) {
                links.push((one, one + other - y));
            }
            for slope in (0..q).filter(|_| part == 0) {
                links.push((one, q * q + slope * q + field.minus(y, field.times(slope, x))));
            }
        }
        links
    }
}

impl fmt::Display for SlimFly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slimfly:q={},nodes={}", self.q(), self.nodes)
    }
}
