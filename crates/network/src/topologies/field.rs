//! Finite fields.

/// The field of q elements, for a prime power q.
///
/// An element is a number below q = p^n: its digits to the base p are the coefficients of a polynomial over the integers modulo p, the lowest first. Sums are digit by digit; products
/// are modulo a polynomial of degree n for which x is a primitive element. For n = 1 that is arithmetic modulo q.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    p: u32,
    q: u32,
    /// The powers of the primitive element, and by element that is not 0 the exponent.
    powers: Box<[u32]>,
    exponents: Box<[u32]>,
}

/// The prime p if a number is a power of it.
pub(crate) fn base_of_power(q: u32) -> Option<u32> {
    let p = if q < 2 { None } else { (2..=q.isqrt()).find(|&factor| q.is_multiple_of(factor)).or(Some(q)) }?;
    let rest = std::iter::successors(Some(q), |&rest| rest.is_multiple_of(p).then(|| rest / p)).last();
    (rest == Some(1)).then_some(p)
}

impl Field {
    /// Of a prime power from 3 on. Of primitive elements or polynomials, the smallest is taken: O(q) for each that is tried.
    pub(crate) fn new(q: u32) -> Self {
        let p = base_of_power(q).unwrap_or(q);
        let powers = if p == q {
            (2..q).find_map(|root| powers(q, |power| (u64::from(power) * u64::from(root) % u64::from(q)) as u32))
        } else {
            // x^n is what the other coefficients are, negated; times x moves the digits up.
            (1..q).find_map(|tail| {
                powers(q, |power| {
                    let (top, low) = (power / (q / p), power % (q / p) * p);
                    (0..top).fold(low, |sum, _| minus(p, sum, tail))
                })
            })
        };
        let powers = powers.unwrap_or_default();
        let mut exponents = vec![0; q as usize].into_boxed_slice();
        for (exponent, &power) in (0..).zip(&powers) {
            exponents[power as usize] = exponent;
        }
        Self { p, q, powers: powers.into(), exponents }
    }

    pub(crate) fn size(&self) -> u32 {
        self.q
    }

    /// A power of the primitive element.
    pub(crate) fn power(&self, exponent: u32) -> u32 {
        self.powers[(exponent % (self.q - 1)) as usize]
    }

    /// a - b.
    #[inline]
    pub(crate) fn minus(&self, a: u32, b: u32) -> u32 {
        if self.p == self.q { (a + self.q - b) % self.q } else { minus(self.p, a, b) }
    }

    /// a b.
    #[inline]
    pub(crate) fn times(&self, a: u32, b: u32) -> u32 {
        if a == 0 || b == 0 {
            return 0;
        }
        self.power(self.exponents[a as usize] + self.exponents[b as usize])
    }
}

/// Digit by digit to the base p.
fn minus(p: u32, mut a: u32, mut b: u32) -> u32 {
    let (mut difference, mut place) = (0, 1);
    while a > 0 || b > 0 {
        difference += (a % p + p - b % p) % p * place;
        (a, b, place) = (a / p, b / p, place * p);
    }
    difference
}

/// All q - 1 powers of an element, from 1 on, if it is primitive.
fn powers(q: u32, times_it: impl Fn(u32) -> u32) -> Option<Vec<u32>> {
    let mut powers = vec![1];
    loop {
        match times_it(powers[powers.len() - 1]) {
            1 => return (powers.len() == q as usize - 1).then_some(powers),
            // It is no unit, or has come round without passing 1.
            0 => return None,
            _ if powers.len() >= q as usize - 1 => return None,
            next => powers.push(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_primes() {
        let all: Vec<u32> = (0..33).filter(|&q| base_of_power(q).is_some()).collect();
        assert_eq!(all, [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32]);
        assert_eq!([8, 81, 49, 13].map(base_of_power), [Some(2), Some(3), Some(7), Some(13)]);
    }

    /// The axioms, on all elements.
    #[test]
    fn they_are_fields() {
        for q in [3, 4, 5, 7, 8, 9, 16, 25, 27] {
            let field = Field::new(q);
            let (p, plus) = (base_of_power(q).unwrap(), |a, b| field.minus(a, field.minus(0, b)));
            let distinct: std::collections::HashSet<u32> = (0..q - 1).map(|exponent| field.power(exponent)).collect();
            assert_eq!(distinct.len(), q as usize - 1, "the primitive element of {q}");
            assert!(!distinct.contains(&0) && field.power(0) == 1);
            for a in 0..q {
                assert_eq!((plus(a, 0), field.times(a, 1), field.minus(a, a)), (a, a, 0));
                // The characteristic.
                assert_eq!((0..p).fold(0, |sum, _| plus(sum, a)), 0);
                assert_eq!(a != 0, (1..q).any(|b| field.times(a, b) == 1));
                for b in 0..q {
                    assert_eq!((plus(a, b), field.times(a, b)), (plus(b, a), field.times(b, a)));
                    assert_eq!(plus(field.minus(a, b), b), a);
                    for c in 0..q {
                        assert_eq!(plus(plus(a, b), c), plus(a, plus(b, c)));
                        assert_eq!(field.times(field.times(a, b), c), field.times(a, field.times(b, c)));
                        assert_eq!(field.times(a, plus(b, c)), plus(field.times(a, b), field.times(a, c)), "{q}");
                    }
                }
            }
        }
    }
}
