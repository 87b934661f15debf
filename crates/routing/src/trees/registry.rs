//! The registry of constructions of edge-disjoint spanning trees: their descriptors and options, by name.

use std::fmt;

use wormcast_network::text::quoted;
use wormcast_network::{ChannelId, Network, RouterId};

use crate::registry::UnknownName;
use crate::relation::Unsupported;
use crate::relations::spam_routing;
use crate::trees::edge_disjoint::{EdgeDisjointTrees, repair_trees};
use crate::trees::spanning_tree::SpanningTree;
use crate::trees::tarjan_trees::{self, BestBy};
use crate::trees::torus_trees::{self, Balance, SecondStart, TorusMethod};
use crate::trees::tree_error::TreeError;

/// All constructions of spanning trees.
pub const TREE_CONSTRUCTIONS: &[&TreeDescriptor] = &[
    &torus_trees::DSTM_1_TREES,
    &torus_trees::DSTM_2_TREES,
    &torus_trees::DSTM_TREES,
    &tarjan_trees::TARJAN_TREES,
    &tarjan_trees::HAMILTON_TREES,
    &spam_routing::SPAM_TREE,
];

/// The description of a construction of spanning trees. [`TREE_CONSTRUCTIONS`] lists all of them.
///
/// ```
/// use wormcast_routing::{TreeChoice, TreeDescriptor, TreeOptions};
///
/// let torus = "torus:5x5".parse::<wormcast_network::TopologySpec>()?.build()?;
/// let construction = TreeDescriptor::named("dstm-tarjan")?;
/// assert!(construction.draws && construction.has(TreeChoice::Trees));
/// assert_eq!(construction.build(&torus, &TreeOptions { trees: Some(1), ..TreeOptions::default() })?.trees.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TreeDescriptor {
    /// The name under which users ask for it.
    pub name: &'static str,
    /// Which trees it makes, in one line.
    pub summary: &'static str,
    /// The networks that it is defined on, as its error messages say it.
    pub needs: &'static str,
    /// The choices that it offers, besides the starting node.
    pub choices: &'static [TreeChoice],
    /// Whether it makes random choices, which [`TreeOptions::seed`] decides.
    pub draws: bool,
    /// Whether it avoids failed links by itself. The trees of the others are repaired.
    pub around_faults: bool,
    pub(crate) make: fn(&Network, &TreeOptions) -> Result<EdgeDisjointTrees, TreeError>,
}

impl TreeDescriptor {
    /// The construction of this name.
    ///
    /// # Errors
    /// If there is none, naming the nearest.
    pub fn named(name: &str) -> Result<&'static Self, UnknownName> {
        TREE_CONSTRUCTIONS.iter().copied().find(|construction| construction.name == name).ok_or_else(|| {
            let expected = TREE_CONSTRUCTIONS.iter().map(|construction| construction.name).collect();
            UnknownName { kind: "tree construction", given: name.to_owned(), expected, instead: None }
        })
    }

    /// Whether it offers a choice.
    pub fn has(&self, choice: TreeChoice) -> bool {
        self.choices.contains(&choice)
    }

    /// The trees, with the proof that there are no more, if one was found. Where links have failed, no tree uses them.
    ///
    /// # Errors
    /// If the construction is not defined on the network or does not offer a choice that was made; if there are fewer trees than asked
    /// for, or the network is not connected.
    pub fn build(&self, network: &Network, options: &TreeOptions) -> Result<EdgeDisjointTrees, TreeError> {
        if network.is_unidirectional() {
            return Err(Unsupported::new(self.name, "links with channels both ways", network).into());
        }
        let refused = TreeChoice::ALL.into_iter().find(|&choice| choice.is_made(options) && !self.has(choice));
        match refused {
            Some(option) => Err(TreeError::Choice { construction: self.name, option }),
            None => (self.make)(network, options),
        }
    }
}

/// A choice that some constructions offer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeChoice {
    /// [`TreeOptions::second`].
    Second,
    /// [`TreeOptions::method`].
    Method,
    /// [`TreeOptions::trees`].
    Trees,
    /// [`TreeOptions::best_of`].
    BestOf,
    /// [`TreeOptions::best_by`].
    BestBy,
    /// [`Balance::Branch`].
    Branches,
    /// [`Balance::Root`] with a starting node: where the root is the starting node, there is nothing to balance.
    BalancedStart,
    /// [`TreeOptions::balance`], whatever it is.
    Roots,
}

impl TreeChoice {
    /// All of them, those that say more about a choice first.
    pub const ALL: [Self; 8] = [
        Self::Second,
        Self::Method,
        Self::Trees,
        Self::BestOf,
        Self::BestBy,
        Self::Branches,
        Self::BalancedStart,
        Self::Roots,
    ];

    /// Whether the options make this choice.
    fn is_made(self, options: &TreeOptions) -> bool {
        match self {
            Self::Second => options.second.is_some(),
            Self::Method => options.method.is_some(),
            Self::Trees => options.trees.is_some(),
            Self::BestOf => options.best_of.is_some(),
            Self::BestBy => options.best_by.is_some(),
            Self::Branches => options.balance == Some(Balance::Branch),
            Self::BalancedStart => options.first.is_some() && options.balance == Some(Balance::Root),
            Self::Roots => options.balance.is_some(),
        }
    }

    /// The constructions that have this choice, in quotes: `` `dstm-1` and `dstm` ``.
    pub fn owners(self) -> String {
        quoted(TREE_CONSTRUCTIONS.iter().filter(|construction| construction.has(self)).map(|owner| owner.name))
    }
}

impl fmt::Display for TreeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Second => "the second starting node",
            Self::Method => "the method",
            Self::Trees => "the number of trees",
            Self::BestOf => "the best of several",
            Self::BestBy => "what is best",
            Self::Branches => "moved branches",
            Self::BalancedStart => "a balanced root beside the starting node",
            Self::Roots => "where roots are",
        })
    }
}

/// The options of a construction. `None` leaves the choice to the construction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TreeOptions {
    /// The seed of constructions that [make random choices](TreeDescriptor::draws).
    pub seed: u64,
    /// The starting node of the first tree of a torus, router 0 by default; for the others, the root of all trees.
    pub first: Option<RouterId>,
    /// The starting node of the second tree of a torus. Default: that of the construction, of `dstm` that of DSTM-1.
    pub second: Option<SecondStart>,
    /// The directions in which trees of a torus are grown. Default: those of DSTM-1.
    pub method: Option<TorusMethod>,
    /// Where roots are. Default: [`Balance::Root`]; a root that is given is [`Balance::None`].
    pub balance: Option<Balance>,
    /// How many trees. Default: as many as there are.
    pub trees: Option<usize>,
    /// The number of random orders of which the best is taken. Default 1.
    pub best_of: Option<usize>,
    /// Which of several orders is the best. Default: [`BestBy::Diameter`].
    pub best_by: Option<BestBy>,
    /// Links that have failed, each named by either of its channels: no tree uses them.
    pub failed: Vec<ChannelId>,
}

/// The edge-disjoint spanning trees of the construction of this name: [`TreeDescriptor::named`] and [`build`](TreeDescriptor::build) in
/// one.
///
/// # Errors
/// If there is no construction of that name, naming the nearest; if it is not defined on the network or does not offer a choice that was made;
/// if there are fewer trees than asked for, or the network is not connected.
pub fn tree_construction_by_name(
    name: &str,
    network: &Network,
    options: &TreeOptions,
) -> Result<Vec<SpanningTree>, TreeError> {
    Ok(TreeDescriptor::named(name)?.build(network, options)?.trees)
}

/// The trees, repaired if links have failed.
pub(crate) fn repaired(
    network: &Network,
    trees: Vec<SpanningTree>,
    options: &TreeOptions,
) -> Result<EdgeDisjointTrees, TreeError> {
    if options.failed.is_empty() {
        return Ok(EdgeDisjointTrees { trees, limit: None });
    }
    let wanted = trees.len();
    let found = repair_trees(network, &trees, &options.failed)?;
    check_count(network, options, if found.trees.is_empty() { wanted } else { 0 }, &found)?;
    Ok(found)
}

/// Checks that there are as many trees as wanted.
pub(crate) fn check_count(
    network: &Network,
    options: &TreeOptions,
    wanted: usize,
    found: &EdgeDisjointTrees,
) -> Result<(), TreeError> {
    match &found.limit {
        Some(limit) if found.trees.len() < wanted => {
            Err(TreeError::too_few(network, &options.failed, wanted, found.trees.len(), limit))
        }
        _ => Ok(()),
    }
}
