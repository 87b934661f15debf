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
    axes: Box<[Axis]>,
}

/// One dimension of a grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Axis {
    extent: u32,
    stride: u32,
    /// If extent and stride are powers of two, the stride's exponent: coordinates need no division then.
    shift: Option<u32>,
}

impl Axis {
    /// The number of routers along it.
    #[inline]
    pub fn extent(&self) -> u32 {
        self.extent
    }

    /// The coordinate along it of the router with this index.
    #[inline]
    pub fn coordinate(&self, index: usize) -> u32 {
        let index = index as u32;
        match self.shift {
            Some(shift) => index >> shift & (self.extent - 1),
            None => index / self.stride % self.extent,
        }
    }

    /// The coordinates along it of two routers.
    #[inline]
    pub fn coordinates(&self, one: usize, other: usize) -> (u32, u32) {
        match self.shift {
            Some(shift) => ((one as u32) >> shift & (self.extent - 1), (other as u32) >> shift & (self.extent - 1)),
            None => (one as u32 / self.stride % self.extent, other as u32 / self.stride % self.extent),
        }
    }
}

impl Grid {
    /// A grid with these extents, all at least 1.
    pub(crate) fn new(extents: &[u32]) -> Self {
        let mut next = 1u32;
        let axes = extents.iter().map(|&extent| {
            let stride = next;
            next = next.saturating_mul(extent);
            let simple = extent.is_power_of_two() && stride.is_power_of_two();
            Axis { extent, stride, shift: simple.then(|| stride.trailing_zeros()) }
        });
        Self { axes: axes.collect(), extents: extents.into() }
    }

    /// The dimensions, x first.
    #[inline]
    pub fn axes(&self) -> &[Axis] {
        &self.axes
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
        self.axes[dimension].stride as usize
    }

    /// One coordinate of the router with this index.
    #[inline]
    pub fn coordinate(&self, index: usize, dimension: usize) -> u32 {
        self.axes[dimension].coordinate(index)
    }

    /// All coordinates of the router with this index, dimension 0 first.
    pub fn coordinates(&self, index: usize) -> Vec<u32> {
        (0..self.dimensions()).map(|d| self.coordinate(index, d)).collect()
    }

    /// The index of the router with these coordinates.
    pub fn index(&self, coordinates: &[u32]) -> usize {
        coordinates.iter().zip(&*self.axes).map(|(&c, axis)| c as usize * axis.stride as usize).sum()
    }
}
