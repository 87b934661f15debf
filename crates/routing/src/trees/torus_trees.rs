//! Two edge-disjoint spanning trees of a torus (paper 5, section 4).

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use wormcast_network::text::did_you_mean;
use wormcast_network::{ChannelId, Direction, Grid, Network, NodeError, RouterId, parse_router};

use crate::relation::Unsupported;
use crate::trees::edge_disjoint::EdgeDisjointTrees;
use crate::trees::registry::{TreeChoice, TreeDescriptor, TreeOptions, repaired};
use crate::trees::spanning_tree::SpanningTree;
use crate::trees::tarjan_trees::TARJAN_TREES;
use crate::trees::tree_error::TreeError;

/// The two trees of DSTM-1 in a torus ([`TorusTrees::dstm_1`]).
pub const DSTM_1_TREES: TreeDescriptor = TreeDescriptor {
    name: "dstm-1",
    summary: "two, with all links but two",
    needs: NEEDS,
    choices: &[TreeChoice::Second, TreeChoice::Branches, TreeChoice::BalancedStart, TreeChoice::Roots],
    draws: false,
    around_faults: false,
    make: |network, options| built(network, TorusTrees::dstm_1(network, options.first.unwrap_or_default())?, options),
};

/// The two trees of DSTM-2 in a torus ([`TorusTrees::dstm_2`]).
pub const DSTM_2_TREES: TreeDescriptor = TreeDescriptor {
    name: "dstm-2",
    make: |network, options| built(network, TorusTrees::dstm_2(network, options.first.unwrap_or_default())?, options),
    ..DSTM_1_TREES
};

/// Two trees of a torus with any starting nodes and directions, by default those of DSTM-1 ([`TorusTrees`]).
pub const DSTM_TREES: TreeDescriptor = TreeDescriptor {
    name: "dstm",
    summary: "the same, with any starting nodes and directions",
    choices: &[
        TreeChoice::Second,
        TreeChoice::Method,
        TreeChoice::Branches,
        TreeChoice::BalancedStart,
        TreeChoice::Roots,
    ],
    ..DSTM_1_TREES
};

/// The tori that the trees are defined on, for messages.
const NEEDS: &str = "a torus of two dimensions, each of at least 2 routers";

/// The directions in which one of the two trees grows: along its first ring, and along the rings that cross it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sweep {
    /// Along rows.
    pub x: Direction,
    /// Along columns.
    pub y: Direction,
}

/// One of the 16 methods of construction (paper 5, section 5.1).
///
/// As text it is `(+x,-y)(-y,+x)`; brackets and commas may be left out: `+x-y-y+x`.
///
/// ```
/// use wormcast_routing::TorusMethod;
///
/// let method: TorusMethod = "+x-y-y+x".parse()?;
/// assert_eq!(method, TorusMethod::DSTM_1);
/// assert_eq!(method.to_string(), "(+x,-y)(-y,+x)");
/// assert_eq!(TorusMethod::all().count(), 16);
/// # Ok::<(), wormcast_routing::InvalidMethod>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TorusMethod {
    /// The first tree goes along the row of its starting node, and from there along columns.
    pub first: Sweep,
    /// The second tree goes along the column of its starting node, and from there along rows.
    pub second: Sweep,
}

/// A text that is not a [`TorusMethod`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a method: expected x and y of the first tree, then y and x of the second, each with its sign, as in \
     `(+x,-y)(-y,+x)`"
)]
pub struct InvalidMethod(String);

impl TorusMethod {
    /// The method of DSTM-1: (+x,-y) and (-y,+x).
    pub const DSTM_1: Self =
        Self::new(Direction::Positive, Direction::Negative, Direction::Negative, Direction::Positive);
    /// The method of DSTM-2: (-x,+y) and (+y,-x).
    pub const DSTM_2: Self =
        Self::new(Direction::Negative, Direction::Positive, Direction::Positive, Direction::Negative);

    const fn new(x1: Direction, y1: Direction, y2: Direction, x2: Direction) -> Self {
        Self { first: Sweep { x: x1, y: y1 }, second: Sweep { x: x2, y: y2 } }
    }

    /// All 16.
    pub fn all() -> impl Iterator<Item = Self> {
        let direction = |bits: u32, bit: u32| match bits >> bit & 1 {
            0 => Direction::Negative,
            _ => Direction::Positive,
        };
        (0..16).map(move |m| Self::new(direction(m, 3), direction(m, 2), direction(m, 1), direction(m, 0)))
    }
}

impl fmt::Display for TorusMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |direction| if direction == Direction::Positive { '+' } else { '-' };
        let Self { first, second } = self;
        write!(f, "({}x,{}y)({}y,{}x)", sign(first.x), sign(first.y), sign(second.y), sign(second.x))
    }
}

impl FromStr for TorusMethod {
    type Err = InvalidMethod;

    fn from_str(text: &str) -> Result<Self, InvalidMethod> {
        let invalid = || InvalidMethod(text.to_owned());
        let plain: String = text.chars().filter(|c| !"(), ".contains(*c)).collect();
        let [x1, y1, y2, x2] = ["x", "y", "y", "x"];
        let mut rest = plain.as_str();
        let mut next = |axis| {
            let direction = match rest.get(..1) {
                Some("+") => Direction::Positive,
                Some("-") => Direction::Negative,
                _ => return Err(invalid()),
            };
            rest = rest[1..].strip_prefix(axis).ok_or_else(invalid)?;
            Ok(direction)
        };
        let method = Self::new(next(x1)?, next(y1)?, next(y2)?, next(x2)?);
        if rest.is_empty() { Ok(method) } else { Err(invalid()) }
    }
}

/// Where the roots are, and whether links move to balance the trees (paper 5, section 4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Balance {
    /// The starting nodes are the roots.
    None,
    /// The router where the row of the first starting node and the column of the second meet is the root of both trees
    /// (nodes P and Q of Figure 4). The links stay as they are.
    #[default]
    Root,
    /// The starting nodes are the roots. One from which a single branch goes out gets two: half of that branch is moved to its
    /// other side, by the link that closes its ring (Figure 5). A link in the middle of the ring becomes the unused one.
    Branch,
}

/// The names of [`Balance`], for messages.
pub const BALANCES: [&str; 3] = ["none", "root", "branch"];

impl Balance {
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Root => "root",
            Self::Branch => "branch",
        }
    }

    /// The balance of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::None, Self::Root, Self::Branch].into_iter().find(|balance| balance.name() == name)
    }
}

/// Where the second starting node of two trees of a torus lies.
///
/// As text it is a node, as users write it; `half`, `below-half` or `quarter`; or the way to it from the first, as `+4,-1`.
///
/// ```
/// use wormcast_network::RouterId;
/// use wormcast_routing::SecondStart;
///
/// let torus = "torus:5x6".parse::<wormcast_network::TopologySpec>()?.build()?;
/// assert_eq!(SecondStart::parse(&torus, "2,3")?, SecondStart::Router(RouterId::new(17)));
/// assert_eq!(SecondStart::parse(&torus, "+2,-1")?, SecondStart::Offset(2, -1));
/// assert_eq!(SecondStart::parse(&torus, "below-half")?, SecondStart::BelowHalf);
/// assert!(SecondStart::parse(&torus, "middle").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SecondStart {
    /// At this router.
    Router(RouterId),
    /// So many columns and rows from the first one, around the torus.
    Offset(i32, i32),
    /// Half the torus away along both dimensions, rounded down: that of DSTM-1.
    Half,
    /// (⌊(columns - 1) / 2⌋, ⌊rows / 2⌋) away: with the method of DSTM-1, Theorem 5.1 is exact there in every square torus.
    BelowHalf,
    /// A quarter of the rows away in the same column, rounded down: that of DSTM-2.
    Quarter,
}

/// A text that is not a starting node of trees.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidStart(String);

/// The router of a node as users write it: the first starting node of two trees, or the root of others.
///
/// # Errors
/// If there is no such node, or several have this name.
pub fn parse_start(network: &Network, text: &str) -> Result<RouterId, InvalidStart> {
    parse_router(network, text).map_err(|error| invalid_start(network, text, &error, ""))
}

fn invalid_start(network: &Network, text: &str, error: &NodeError, or: &'static str) -> InvalidStart {
    if matches!(error, NodeError::Ambiguous { .. } | NodeError::AmbiguousRouter { .. }) {
        return InvalidStart(error.to_string());
    }
    let expected = if network.shape().grid().is_some() {
        let last = network.routers().saturating_sub(1);
        format!("a router, by its number from 0 to {last} or by its coordinates{or}")
    } else {
        let last = network.nodes().saturating_sub(1);
        let (name, own) = if network.has_names() { (" or name", ", or by its own name") } else { ("", "") };
        let routers = network.router_ids().filter_map(|router| network.router_name(router));
        let names = routers.chain(network.node_ids().filter_map(|node| network.node_name(node)));
        let hint = did_you_mean(text.trim(), names);
        format!("a router, by the number from 0 to {last}{name} of one of its nodes{own}{or}{hint}")
    };
    InvalidStart(format!("`{}` is not a starting node in `{}`: expected {expected}", text.trim(), network.name()))
}

impl SecondStart {
    /// Parses it.
    ///
    /// # Errors
    /// If the text is none of what is expected.
    pub fn parse(network: &Network, text: &str) -> Result<Self, InvalidStart> {
        let given = text.trim();
        let signed = |part: &str| part.trim().starts_with(['+', '-']).then(|| part.trim().parse().ok()).flatten();
        let offset = || given.split_once(',').and_then(|(x, y)| Some(Self::Offset(signed(x)?, signed(y)?)));
        match given {
            "half" => Ok(Self::Half),
            "below-half" => Ok(Self::BelowHalf),
            "quarter" => Ok(Self::Quarter),
            _ => match offset() {
                Some(offset) => Ok(offset),
                None => parse_router(network, text).map(Self::Router).map_err(|error| {
                    invalid_start(
                        network,
                        given,
                        &error,
                        ", `half`, `below-half`, `quarter`, or the way from the first as in `+4,-1`",
                    )
                }),
            },
        }
    }

    /// The router, of trees that start from `first`.
    fn from(self, grid: &Grid, first: RouterId) -> RouterId {
        let [columns, rows] = extents(grid);
        let half = |extent: u32| i64::from(extent / 2);
        let (dx, dy) = match self {
            Self::Router(router) => return router,
            Self::Offset(dx, dy) => (i64::from(dx), i64::from(dy)),
            Self::Half => (half(columns), half(rows)),
            Self::BelowHalf => (half(columns - 1), half(rows)),
            Self::Quarter => (0, i64::from(rows / 4)),
        };
        let shifted = |dimension, by: i64, extent: u32| {
            (i64::from(grid.coordinate(first.index(), dimension)) + by).rem_euclid(i64::from(extent)) as u32
        };
        RouterId::new(grid.index(&[shifted(0, dx, columns), shifted(1, dy, rows)]) as u32)
    }
}

impl From<RouterId> for SecondStart {
    fn from(router: RouterId) -> Self {
        Self::Router(router)
    }
}

/// Which two trees of a torus.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TorusTrees {
    /// The starting node of the first tree, R1.
    pub first: RouterId,
    /// That of the second, R2; it may be the same.
    pub second: RouterId,
    /// The directions.
    pub method: TorusMethod,
    /// The roots.
    pub balance: Balance,
}

impl TorusTrees {
    /// DSTM-1 from a starting node: R2 lies half the torus away from R1 along both dimensions (rounded down).
    ///
    /// # Errors
    /// If the network is not a two-dimensional torus, or has no such router.
    pub fn dstm_1(network: &Network, first: RouterId) -> Result<Self, TreeError> {
        let grid = torus(DSTM_1_TREES.name, network, first)?;
        let second = SecondStart::Half.from(grid, first);
        Ok(Self { first, second, method: TorusMethod::DSTM_1, balance: Balance::default() })
    }

    /// DSTM-2 from a starting node: R2 lies a quarter of the torus above R1 (rounded down).
    ///
    /// # Errors
    /// If the network is not a two-dimensional torus, or has no such router.
    pub fn dstm_2(network: &Network, first: RouterId) -> Result<Self, TreeError> {
        let grid = torus(DSTM_2_TREES.name, network, first)?;
        let second = SecondStart::Quarter.from(grid, first);
        Ok(Self { first, second, method: TorusMethod::DSTM_2, balance: Balance::default() })
    }

    /// The two trees: edge-disjoint, spanning, binary, and with all links of the torus but two. Linear in its size.
    ///
    /// The first has the row of R1, opened behind R1; the columns, opened behind that row, except the column of R2; and for
    /// the routers of that column the links behind it, along rows. The second has the column of R2, opened behind R2; the
    /// rows, opened behind that column, except the row of R1; and for the routers of that row the links behind it, along
    /// columns. *Behind* is where the direction of growth comes from. The links that open the row of R1 and the column of R2
    /// are in neither tree. Two links join the neighbours in a ring of two routers, so tori of two rows or columns need no
    /// exception.
    ///
    /// *Source:* paper 5, Theorem 4.1 and Table 1.
    ///
    /// ```
    /// use wormcast_network::{RouterId, TopologySpec};
    /// use wormcast_routing::TorusTrees;
    ///
    /// let torus = "torus:5x5".parse::<TopologySpec>()?.build()?;
    /// let [first, second] = TorusTrees::dstm_1(&torus, RouterId::new(0))?.build(&torus)?;
    /// assert!(first.is_binary() && second.is_binary());
    /// assert!(first.links().all(|link| !second.contains(&torus, link)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the network is not a two-dimensional torus, or does not have a starting node.
    pub fn build(&self, network: &Network) -> Result<[SpanningTree; 2], TreeError> {
        let grid = torus(DSTM_TREES.name, network, self.first)?;
        torus(DSTM_TREES.name, network, self.second)?;
        let [columns, rows] = extents(grid);
        let [row, column] = [grid.coordinate(self.first.index(), 1), grid.coordinate(self.second.index(), 0)];
        let at = |x, y| RouterId::new(grid.index(&[x, y]) as u32);
        let meeting = at(column, row);
        let same_column = grid.coordinate(self.first.index(), 0) == column;
        let same_row = grid.coordinate(self.second.index(), 1) == row;

        let TorusMethod { first, second } = self.method;
        let branch =
            |single, extent| if single && self.balance == Balance::Branch { middle(extent) } else { extent - 1 };
        let mut links = [Vec::with_capacity(network.routers()), Vec::with_capacity(network.routers())];
        let [one, two] = &mut links;
        one.extend(opened_ring(network, self.first, 0, first.x, branch(same_column, columns)));
        two.extend(opened_ring(network, self.second, 1, second.y, branch(same_row, rows)));
        for x in (0..columns).filter(|&x| x != column) {
            let start = at(x, row);
            one.extend(opened_ring(network, start, 1, first.y, rows - 1));
            two.extend(network.channel_along(start, 1, opposite(first.y)));
        }
        for y in (0..rows).filter(|&y| y != row) {
            let start = at(column, y);
            two.extend(opened_ring(network, start, 0, second.x, columns - 1));
            one.extend(network.channel_along(start, 0, opposite(second.x)));
        }
        let roots = match self.balance {
            Balance::None | Balance::Branch => [self.first, self.second],
            Balance::Root => [meeting; 2],
        };
        Ok([SpanningTree::new(network, roots[0], &links[0])?, SpanningTree::new(network, roots[1], &links[1])?])
    }
}

/// Checks that a network is a torus of two dimensions, each of at least 2 routers.
///
/// # Errors
/// If it is not; the message names `name`, what it needs, and what the network is.
pub fn require_torus(name: &str, network: &Network) -> Result<(), Unsupported> {
    torus(name, network, RouterId::default()).map(drop)
}

/// A two-dimensional torus that has such a router, or the reason why not.
fn torus<'n>(name: &str, network: &'n Network, start: RouterId) -> Result<&'n Grid, Unsupported> {
    let needs = |needs: &str, hint: &str| Unsupported::new(name, needs, network).with_hint(hint);
    let grid = network.shape().grid().filter(|grid| {
        network.shape().wraps() && grid.dimensions() == 2 && grid.extents().iter().all(|&extent| extent >= 2)
    });
    let general = format!("`{}` finds trees of every network", TARJAN_TREES.name);
    let grid = grid.ok_or_else(|| {
        if network.is_unidirectional() {
            // No trees are found there.
            return Unsupported::new(name, NEEDS, network);
        }
        let error = needs(NEEDS, &general);
        match network.shape().grid().filter(|_| network.shape().wraps()) {
            Some(grid) => {
                let extents: Vec<String> = grid.extents().iter().map(ToString::to_string).collect();
                Unsupported { is: format!("a torus of {} routers", extents.join(" x ")), ..error }
            }
            None => error,
        }
    })?;
    if start.index() >= grid.len() {
        let last = grid.len() - 1;
        return Err(needs(&format!("router {start} as a starting node"), &format!("its routers are 0 to {last}")));
    }
    Ok(grid)
}

/// The trees, with what options choose of them.
fn built(network: &Network, trees: TorusTrees, options: &TreeOptions) -> Result<EdgeDisjointTrees, TreeError> {
    let grid = torus(DSTM_TREES.name, network, trees.first)?;
    let trees = TorusTrees {
        second: options.second.map_or(trees.second, |second| second.from(grid, trees.first)),
        method: options.method.unwrap_or(trees.method),
        balance: options.balance.unwrap_or_default(),
        ..trees
    };
    repaired(network, trees.build(network)?.into(), options)
}

/// The columns and rows of a two-dimensional grid.
fn extents(grid: &Grid) -> [u32; 2] {
    [grid.extents()[0], grid.extents()[1]]
}

fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Negative => Direction::Positive,
        Direction::Positive => Direction::Negative,
    }
}

/// The link of a ring of this many routers that is left out so that a root has two branches: half of the other routers,
/// rounded up, are behind it.
fn middle(extent: u32) -> u32 {
    (extent - 1) / 2
}

/// The links along a ring from `start` in `direction`, without the one that is `without` steps away.
fn opened_ring(
    network: &Network,
    start: RouterId,
    dimension: usize,
    direction: Direction,
    without: u32,
) -> impl Iterator<Item = ChannelId> + '_ {
    let mut at = start;
    std::iter::from_fn(move || {
        let channel = network.channel_along(at, dimension, direction)?;
        at = network.to(channel);
        Some(channel)
    })
    .take(network.shape().grid().map_or(0, |grid| grid.extents()[dimension] as usize))
    .enumerate()
    .filter(move |&(step, _)| step != without as usize)
    .map(|(_, channel)| channel)
}
