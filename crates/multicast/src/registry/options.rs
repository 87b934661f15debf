//! Options that single algorithms have.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use wormcast_routing::{BestBy, GROUPS_INPUT, MULTICAST_TABLES_INPUT, TABLES_INPUT};

use crate::registry::algorithms;

/// Choices that some algorithms offer, as users write them; `None` leaves a choice to the algorithm. What an algorithm does not
/// [offer](crate::Descriptor::offers) is refused.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AlgorithmOptions {
    /// The largest detour of a worm to a destination, in hops (`bounded-negative-first`). Default: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detour: Option<u32>,
    /// How lists are made where paper 1 leaves the choice (`pure-negative-first`, `minimal-negative-first`; 2-D meshes). Default: by columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greedy: Option<Greedy>,
    /// The order in which e-cube resolves the dimensions of a hypercube (`u-cube`, `maxport`, `combine`, `w-sort`). Default: descending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// Whether SPAM and its routing take links beside the tree. Default: they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross_links: Option<bool>,
    /// By which criterion the best of the trees of 500 link orders is chosen (`dstm-tarjan-best`). Default: the combined diameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<BestPair>,
    /// Whether a multicast is split over all trees, each destination on that on which it is nearest (`dstm-…`). Default: it takes one tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<bool>,
    /// When random trees are drawn: once for all replications of an experiment, or anew in each. Default: once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draw: Option<Draw>,
    /// The starting node of the first tree of a torus. Default: node 0.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "node")]
    #[schemars(with = "Option<NodeForm>")]
    pub first: Option<String>,
    /// That of the second tree: a node, `half`, `below-half` or `quarter` of the torus away from the first, or the way from it, as `+4,-1`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "node")]
    #[schemars(with = "Option<NodeForm>")]
    pub second: Option<String>,
    /// The directions in which the trees of `dstm` grow, as `(+x,-y)(-y,+x)`; in mode `trees` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// A file of forwarding tables (`tables`): those that `OpenSM` dumps, or wormcast's own form. Default: tables made for the routing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables: Option<String>,
    /// A file of multicast forwarding tables, for messages to groups (`tables`). Default: there are no groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multicast_tables: Option<String>,
    /// A file with the members of groups (`tables`). Default: all nodes that the multicast tables deliver to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<String>,
    /// How multicasts are sent (`tables`). Default: `tables`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multicasts: Option<Multicasts>,
    /// The trees that a router's table can hold (`vctm`). Default: all trees are set up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = u32::MAX))]
    pub entries: Option<u32>,
    /// Which tree gives way in a full table (`vctm` with `entries`). Default: the least recently used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Replacement>,
    /// How many classes of virtual channels there are: of `rpm` 1, or 2, one for worms to the north and one for worms to the south (default: 1); of `dual-path-adaptive` 2, an escape and an adaptive one, or 1,
    /// the adaptive one alone (default: 2).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2))]
    pub classes: Option<u8>,
    /// Whether destinations that are no mask are sent several masks (`xy-mask`, `yx-mask`). Default: they are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cover: Option<bool>,
}

/// How a fabric's multicasts are sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Multicasts {
    /// Those of groups down the trees of their multicast tables; to any other set of nodes, a unicast to each.
    #[default]
    Tables,
    /// All in software: a unicast to each.
    Separate,
    /// All in software: receivers send on, in a binomial tree over source and destinations in the order of their numbers, from the source on.
    Binomial,
}

/// Which entry of a full table gives way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The one that was used least recently.
    #[default]
    Lru,
    /// The one that was set up first.
    Fifo,
}

/// How a containment-ordered list takes destinations (paper 1, Figures 2 and 3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Greedy {
    /// Column by column: column-greedy.
    #[default]
    Columns,
    /// Row by row: row-greedy.
    Rows,
}

/// The order in which dimensions are resolved.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resolution {
    /// The highest dimension first, as in the examples of paper 2.
    Descending,
    /// The lowest dimension first, as in the nCUBE-2.
    Ascending,
}

/// Which of several sets of trees is the best.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BestPair {
    /// The smallest combined diameter, then the smallest average distance.
    Diameter,
    /// The smallest average distance, then the smallest combined diameter.
    Distance,
    /// The smallest branches at the roots, among the tenth with the smallest product of combined diameter and average distance.
    Balance,
}

impl From<BestPair> for BestBy {
    fn from(pair: BestPair) -> Self {
        match pair {
            BestPair::Diameter => Self::Diameter,
            BestPair::Distance => Self::Distance,
            BestPair::Balance => Self::Balance,
        }
    }
}

/// When random trees are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Draw {
    /// Once, with the experiment's seed: all replications have the same trees.
    Once,
    /// In each replication, with its seed.
    Replication,
}

/// A node in a file: its number, or text.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum NodeForm {
    /// Its number.
    Number(u32),
    /// Its number, its coordinates, or how it is found.
    Text(String),
}

fn node<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let expected = |_| serde::de::Error::custom("expected a node: its number, or text such as \"4,3\"");
    Ok(Some(match NodeForm::deserialize(deserializer).map_err(expected)? {
        NodeForm::Number(number) => number.to_string(),
        NodeForm::Text(text) => text,
    }))
}

/// An option of [`AlgorithmOptions`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AlgorithmOption {
    /// [`AlgorithmOptions::detour`].
    Detour,
    /// [`AlgorithmOptions::greedy`].
    Greedy,
    /// [`AlgorithmOptions::resolution`].
    Resolution,
    /// [`AlgorithmOptions::cross_links`].
    CrossLinks,
    /// [`AlgorithmOptions::pair`].
    Pair,
    /// [`AlgorithmOptions::split`].
    Split,
    /// [`AlgorithmOptions::draw`].
    Draw,
    /// [`AlgorithmOptions::first`].
    First,
    /// [`AlgorithmOptions::second`].
    Second,
    /// [`AlgorithmOptions::method`].
    Method,
    /// [`AlgorithmOptions::tables`].
    Tables,
    /// [`AlgorithmOptions::multicast_tables`].
    MulticastTables,
    /// [`AlgorithmOptions::groups`].
    Groups,
    /// [`AlgorithmOptions::multicasts`].
    Multicasts,
    /// [`AlgorithmOptions::entries`].
    Entries,
    /// [`AlgorithmOptions::replacement`].
    Replacement,
    /// [`AlgorithmOptions::classes`].
    Classes,
    /// [`AlgorithmOptions::cover`].
    Cover,
}

impl AlgorithmOption {
    /// The setting of an experiment file.
    pub fn key(self) -> &'static str {
        match self {
            Self::Detour => "options.detour",
            Self::Greedy => "options.greedy",
            Self::Resolution => "options.resolution",
            Self::CrossLinks => "options.cross_links",
            Self::Pair => "options.pair",
            Self::Split => "options.split",
            Self::Draw => "options.draw",
            Self::First => "options.first",
            Self::Second => "options.second",
            Self::Method => "options.method",
            Self::Tables => "options.tables",
            Self::MulticastTables => "options.multicast_tables",
            Self::Groups => "options.groups",
            Self::Multicasts => "options.multicasts",
            Self::Entries => "options.entries",
            Self::Replacement => "options.replacement",
            Self::Classes => "options.classes",
            Self::Cover => "options.cover",
        }
    }

    /// Who offers it, in quotes.
    pub(crate) fn owners(self) -> String {
        let owners = algorithms().into_iter().filter(|algorithm| algorithm.offers(self, None)).map(|owner| owner.name);
        let names = wormcast_network::text::quoted(owners);
        if names.is_empty() { "constructions of trees in mode `trees`".to_owned() } else { names }
    }
}

/// The name, without its table.
impl fmt::Display for AlgorithmOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key().trim_start_matches("options."))
    }
}

impl AlgorithmOptions {
    /// Whether nothing is chosen.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is chosen.
    pub fn given(&self) -> impl Iterator<Item = AlgorithmOption> {
        // By pattern, so that no field is forgotten: what is not listed here would be accepted by every algorithm.
        let Self {
            detour,
            greedy,
            resolution,
            cross_links,
            pair,
            split,
            draw,
            first,
            second,
            method,
            tables,
            multicast_tables,
            groups,
            multicasts,
            entries,
            replacement,
            classes,
            cover,
        } = self;
        let options = [
            (AlgorithmOption::Detour, detour.is_some()),
            (AlgorithmOption::Greedy, greedy.is_some()),
            (AlgorithmOption::Resolution, resolution.is_some()),
            (AlgorithmOption::CrossLinks, cross_links.is_some()),
            (AlgorithmOption::Pair, pair.is_some()),
            (AlgorithmOption::Split, split.is_some()),
            (AlgorithmOption::Draw, draw.is_some()),
            (AlgorithmOption::First, first.is_some()),
            (AlgorithmOption::Second, second.is_some()),
            (AlgorithmOption::Method, method.is_some()),
            (AlgorithmOption::Tables, tables.is_some()),
            (AlgorithmOption::MulticastTables, multicast_tables.is_some()),
            (AlgorithmOption::Groups, groups.is_some()),
            (AlgorithmOption::Multicasts, multicasts.is_some()),
            (AlgorithmOption::Entries, entries.is_some()),
            (AlgorithmOption::Replacement, replacement.is_some()),
            (AlgorithmOption::Classes, classes.is_some()),
            (AlgorithmOption::Cover, cover.is_some()),
        ];
        options.into_iter().filter_map(|(option, given)| given.then_some(option))
    }

    /// The files that are named, and what each is [read as](wormcast_network::input::read_input).
    pub fn files(&self) -> impl Iterator<Item = (AlgorithmOption, &str, &'static str)> {
        // By pattern, so that no field is forgotten: what is not listed here is not hashed with the experiment.
        let Self {
            tables,
            multicast_tables,
            groups,
            detour: _,
            greedy: _,
            resolution: _,
            cross_links: _,
            pair: _,
            split: _,
            draw: _,
            first: _,
            second: _,
            method: _,
            multicasts: _,
            entries: _,
            replacement: _,
            classes: _,
            cover: _,
        } = self;
        let files = [
            (AlgorithmOption::Tables, tables, TABLES_INPUT),
            (AlgorithmOption::MulticastTables, multicast_tables, MULTICAST_TABLES_INPUT),
            (AlgorithmOption::Groups, groups, GROUPS_INPUT),
        ];
        files.into_iter().filter_map(|(option, file, input)| Some((option, file.as_deref()?, input)))
    }

    /// The same, with `path` applied to the names of [files](Self::files).
    #[must_use]
    pub fn with_files(mut self, path: impl Fn(&str) -> String) -> Self {
        for file in [&mut self.tables, &mut self.multicast_tables, &mut self.groups].into_iter().flatten() {
            *file = path(file);
        }
        self
    }

    /// Whether links beside the tree are left out.
    pub fn tree_only(&self) -> bool {
        self.cross_links == Some(false)
    }
}
