//! Coordinates: the geometry that meshes, tori and hypercubes share.

/// Which way a channel of a grid leads along its dimension.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// Towards smaller coordinates.
    Negative,
    /// Towards larger coordinates.
    Positive,
}

/// An n-dimensional box of routers.
///
/// A router's index is `c0 + k0*(c1 + k1*(…))`, where `ci` is its coordinate and `ki` the extent of dimension `i`;
/// dimension 0 is x.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grid {
    extents: Box<[u32]>,
    strides: Box<[u32]>,
    /// For each dimension whose extent and stride are powers of two, the stride's exponent: coordinates need no division then.
    shifts: Box<[Option<u32>]>,
}

impl Grid {
    /// A grid with these extents, all at least 1.
    pub(crate) fn new(extents: &[u32]) -> Self {
        let strides: Box<[u32]> = extents
            .iter()
            .scan(1u32, |stride, &extent| {
                let this = *stride;
                *stride = stride.saturating_mul(extent);
                Some(this)
            })
            .collect();
        let shift = |(extent, stride): (&u32, &u32)| {
            (extent.is_power_of_two() && stride.is_power_of_two()).then(|| stride.trailing_zeros())
        };
        let shifts = extents.iter().zip(&strides).map(shift).collect();
        Self { extents: extents.into(), strides, shifts }
    }

    /// The number of dimensions.
    #[inline]
    pub fn dimensions(&self) -> usize {
        self.extents.len()
    }

    /// The number of routers along each dimension.
    #[inline]
    pub fn extents(&self) -> &[u32] {
        &self.extents
    }

    /// The number of routers.
    pub fn len(&self) -> usize {
        self.extents.iter().map(|&k| k as usize).product()
    }

    /// Whether the grid has no routers; it always has at least one.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// How far apart in index two neighbours along `dimension` are.
    #[inline]
    pub fn stride(&self, dimension: usize) -> usize {
        self.strides[dimension] as usize
    }

    /// One coordinate of the router with this index.
    #[inline]
    pub fn coordinate(&self, index: usize, dimension: usize) -> u32 {
        let (index, extent) = (index as u32, self.extents[dimension]);
        match self.shifts[dimension] {
            Some(shift) => index >> shift & (extent - 1),
            None => index / self.strides[dimension] % extent,
        }
    }

    /// All coordinates of the router with this index, dimension 0 first.
    pub fn coordinates(&self, index: usize) -> Vec<u32> {
        (0..self.dimensions()).map(|d| self.coordinate(index, d)).collect()
    }

    /// The index of the router with these coordinates.
    pub fn index(&self, coordinates: &[u32]) -> usize {
        coordinates.iter().zip(&*self.strides).map(|(&c, &s)| c as usize * s as usize).sum()
    }
}
