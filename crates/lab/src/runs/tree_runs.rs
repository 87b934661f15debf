//! Runs that send nothing: they build and measure sets of edge-disjoint spanning trees.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wormcast_multicast::{AlgorithmOption, AlgorithmOptions, FaultInformation};
use wormcast_network::{ChannelId, Network, RouterId};
use wormcast_routing::{
    SecondStart, SpanningTree, TorusMethod, TreeChoice, TreeDescriptor, TreeError, TreeOptions, combined_distance,
    local_fault_distance, parse_start,
};

use crate::runs::seed::replication_seed;

/// The outcome of a run that builds sets of edge-disjoint spanning trees.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TreeResult {
    /// The seed of the run's random choices.
    pub seed: u64,
    /// The sets.
    pub sets: u32,
    /// Their measures.
    pub figures: TreeFigures,
}

/// The measures of a run's sets of edge-disjoint spanning trees.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TreeFigures {
    /// The routers along the first dimension of the network; all of them where it has none.
    pub side: f64,
    /// The number of trees in a set: the mean over sets; so are the figures below, unless they say otherwise.
    pub trees: f64,
    /// The combined diameter: the largest distance of two routers, each in the tree where it is shorter.
    pub diameter: f64,
    /// The smallest combined diameter of all sets.
    pub least_diameter: f64,
    /// The largest.
    pub largest_diameter: f64,
    /// The average distance over pairs of routers, each in the tree where it is shorter.
    pub average_distance: f64,
    /// Links in no tree.
    pub unused: f64,
    /// The share of sets whose trees span the network and have no link in common.
    pub disjoint: f64,
    /// The share of sets whose trees are all binary.
    pub binary: f64,
}

/// How many orders of links the best set of trees is chosen from, as by `dstm-tarjan-best`.
const ORDERS: usize = 500;

/// The options of a construction that a file gives.
///
/// # Errors
/// If the construction does not have one of them, or the network not the starting node: the option, and what is wrong.
pub(crate) fn chosen(
    network: &Network,
    construction: &TreeDescriptor,
    given: &AlgorithmOptions,
) -> Result<TreeOptions, (AlgorithmOption, String)> {
    for option in given.given() {
        let choice = match option {
            AlgorithmOption::First => continue,
            AlgorithmOption::Second => TreeChoice::Second,
            AlgorithmOption::Method => TreeChoice::Method,
            AlgorithmOption::Pair => TreeChoice::BestBy,
            _ => {
                return Err((
                    option,
                    format!("`{}`: `mode = \"trees\"` has no such choice: leave it out", option.key()),
                ));
            }
        };
        if !construction.has(choice) {
            let error = TreeError::Choice { construction: construction.name, option: choice };
            return Err((option, error.to_string()));
        }
    }
    let (first, second) = (given.first.as_deref(), given.second.as_deref());
    let first = first.map(|text| parse_start(network, text)).transpose();
    let second = second.map(|text| SecondStart::parse(network, text)).transpose();
    let method = given.method.as_deref().map(str::parse::<TorusMethod>).transpose();
    Ok(TreeOptions {
        first: first.map_err(|error| (AlgorithmOption::First, error.to_string()))?,
        second: second.map_err(|error| (AlgorithmOption::Second, error.to_string()))?,
        method: method.map_err(|error| (AlgorithmOption::Method, error.to_string()))?,
        best_of: given.pair.map(|_| ORDERS),
        best_by: given.pair.map(Into::into),
        ..TreeOptions::default()
    })
}

/// Sets of trees of a network, checked and ready.
pub struct TreeRuns {
    network: Arc<Network>,
    construction: &'static TreeDescriptor,
    /// What is not left to chance, or to the construction.
    options: TreeOptions,
    sets: u32,
    /// Whether sets differ; if not, there is one.
    pub(crate) random: bool,
    /// Which nodes know of the link that fails, another one for each set; `None`: none fails.
    fault: Option<FaultInformation>,
}

impl TreeRuns {
    /// The settings of a run that builds `sets` sets of trees by this construction.
    ///
    /// Where starting nodes and methods are open, they are drawn, and some constructions draw orders of the links; nothing about the others
    /// is random, and one set is enough.
    ///
    /// # Errors
    /// If the construction is not defined on the network.
    pub(crate) fn new(
        network: Arc<Network>,
        construction: &'static TreeDescriptor,
        options: TreeOptions,
        sets: u32,
        fault: Option<FaultInformation>,
    ) -> Result<Self, TreeError> {
        let all = options.first.is_some() && options.second.is_some() && options.method.is_some();
        let random = construction.has(TreeChoice::Method) && !all || construction.draws || fault.is_some();
        let sets = if random { sets.max(1) } else { 1 };
        let runs = Self { network, construction, options, sets, random, fault };
        // What fails for one set fails for all.
        runs.build(0)?;
        Ok(runs)
    }

    fn build(&self, seed: u64) -> Result<Vec<SpanningTree>, TreeError> {
        let mut options = TreeOptions { seed, ..self.options.clone() };
        if self.construction.has(TreeChoice::Method) {
            let routers = self.network.routers() as u64;
            let router = |salt| RouterId::new((replication_seed(seed, salt) % routers) as u32);
            options.first = options.first.or_else(|| Some(router(0)));
            options.second = options.second.or_else(|| Some(router(1).into()));
            let method = || TorusMethod::all().nth((replication_seed(seed, 2) % 16) as usize);
            options.method = options.method.or_else(method);
        }
        Ok(self.construction.build(&self.network, &options)?.trees)
    }

    /// Builds the sets, each from its own seed, and measures them: a function of the seed alone.
    pub(crate) fn run(&self, seed: u64) -> Result<TreeResult, TreeError> {
        let mut figures = TreeFigures { least_diameter: f64::INFINITY, ..TreeFigures::default() };
        for set in 0..self.sets {
            let set_seed = replication_seed(seed, set);
            let trees = self.build(set_seed)?;
            let link = (replication_seed(set_seed, 3) % self.network.channels().max(1) as u64) as u32;
            figures = self.with(figures, &trees, ChannelId::new(link));
        }
        let sets = f64::from(self.sets);
        let grid = self.network.shape().grid();
        let figures = TreeFigures {
            side: grid.map_or(self.network.routers() as f64, |grid| f64::from(grid.extents()[0])),
            trees: figures.trees / sets,
            diameter: figures.diameter / sets,
            average_distance: figures.average_distance / sets,
            unused: figures.unused / sets,
            disjoint: figures.disjoint / sets,
            binary: figures.binary / sets,
            ..figures
        };
        Ok(TreeResult { seed, sets: self.sets, figures })
    }

    /// The sums with those of one more set.
    fn with(&self, sums: TreeFigures, trees: &[SpanningTree], failed: ChannelId) -> TreeFigures {
        let network = &self.network;
        let spanning = trees.iter().all(|tree| tree.is_spanning(network));
        let link = |channel: ChannelId| channel.min(network.reverse(channel));
        let used: HashSet<ChannelId> = trees.iter().flat_map(SpanningTree::links).map(link).collect();
        let disjoint = used.len() == trees.iter().map(|tree| tree.links().count()).sum::<usize>();
        // Trees that span the network reach everyone, and so does one of two that share no link, whichever fails.
        let distance = match self.fault {
            None => combined_distance(network, trees, &[]),
            Some(FaultInformation::Global) => combined_distance(network, trees, &[failed]),
            Some(FaultInformation::Local) => local_fault_distance(network, trees, failed),
        };
        let (diameter, average) =
            distance.map_or((f64::NAN, f64::NAN), |distance| (f64::from(distance.diameter), distance.average));
        let one = |holds: bool| f64::from(u8::from(holds));
        TreeFigures {
            side: 0.0,
            trees: sums.trees + trees.len() as f64,
            diameter: sums.diameter + diameter,
            least_diameter: sums.least_diameter.min(diameter),
            largest_diameter: sums.largest_diameter.max(diameter),
            average_distance: sums.average_distance + average,
            unused: sums.unused + (network.links() - used.len()) as f64,
            disjoint: sums.disjoint + one(spanning && disjoint),
            binary: sums.binary + one(trees.iter().all(SpanningTree::is_binary)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wormcast_network::TopologySpec;

    fn runs(spec: &str, construction: &str, sets: u32) -> Result<TreeRuns, TreeError> {
        let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
        TreeRuns::new(network, TreeDescriptor::named(construction)?, TreeOptions::default(), sets, None)
    }

    #[test]
    fn a_failed_link_makes_ways_longer() {
        let network = || "torus:5x5".parse::<TopologySpec>().unwrap().build().unwrap();
        let figures = |fault| {
            let options = TreeOptions::default();
            TreeRuns::new(network(), &wormcast_routing::DSTM_1_TREES, options, 50, fault)
                .unwrap()
                .run(1)
                .unwrap()
                .figures
        };
        let [whole, global, local] = [None, Some(FaultInformation::Global), Some(FaultInformation::Local)].map(figures);
        assert!(whole.average_distance < global.average_distance && global.average_distance < local.average_distance);
        assert!(whole.diameter <= global.diameter && global.diameter <= global.largest_diameter);
    }

    #[test]
    fn figures_of_dstm_1() {
        let run = runs("torus:5x5", "dstm-1", 500).unwrap().run(1).unwrap();
        let figures = run.figures;
        assert_eq!(run.sets, 1);
        assert_eq!((figures.side, figures.trees, figures.unused), (5.0, 2.0, 2.0));
        assert_eq!((figures.diameter, figures.least_diameter, figures.largest_diameter), (9.0, 9.0, 9.0));
        assert!((figures.average_distance - 3.766_666_666_666_666_6).abs() < 1e-12);
        assert_eq!((figures.disjoint, figures.binary), (1.0, 1.0));
    }

    #[test]
    fn random_sets_are_a_function_of_the_seed() {
        for construction in ["dstm", "dstm-tarjan"] {
            let runs = runs("torus:6x6", construction, 20).unwrap();
            assert_eq!(runs.run(3).unwrap(), runs.run(3).unwrap());
            let figures = [1, 2].map(|seed| runs.run(seed).unwrap().figures);
            assert_ne!(figures[0], figures[1]);
            for figures in figures {
                assert!(figures.least_diameter < figures.diameter && figures.diameter < figures.largest_diameter);
                assert_eq!((figures.trees, figures.unused, figures.disjoint), (2.0, 2.0, 1.0));
            }
        }
    }

    /// What the file gives is not drawn.
    #[test]
    fn starts_and_methods_that_are_given_are_taken() {
        let network = || "torus:16x16".parse::<TopologySpec>().unwrap().build().unwrap();
        let figures = |construction: &str, text: &str| {
            let construction = TreeDescriptor::named(construction).unwrap();
            let given: AlgorithmOptions = serde_json::from_str(text).unwrap();
            let options =
                chosen(&network(), construction, &given).map_err(|(option, problem)| (option.key(), problem))?;
            let run = TreeRuns::new(network(), construction, options, 3, None).unwrap().run(1).unwrap();
            let distance = format!("{} {:.3}", run.figures.diameter, run.figures.average_distance);
            Ok::<_, (&str, String)>((run.sets, distance))
        };
        let better = Ok((1, "30 14.596".to_owned()));
        assert_eq!(figures("dstm-2", r#"{ "second": "4,4" }"#), better);
        let all = r#"{ "first": 0, "second": "+4,+4", "method": "(-x,+y)(+y,-x)" }"#;
        assert_eq!(figures("dstm", all), better);
        assert_eq!(figures("dstm-1", r#"{ "second": "below-half" }"#).unwrap().1[..3], *"31 ");
        // The starting nodes are still drawn.
        assert_eq!(figures("dstm", r#"{ "method": "(-x,+y)(+y,-x)" }"#).unwrap().0, 3);
        let refused = |construction, text| figures(construction, text).unwrap_err();
        let (key, problem) = refused("dstm-1", r#"{ "method": "+x-y-y+x" }"#);
        assert_eq!((key, problem.as_str()), ("options.method", "`dstm-1` has no choice of the method: `dstm` has"));
        assert_eq!(refused("dstm-1", r#"{ "second": "16,0" }"#).0, "options.second");
        assert_eq!(refused("dstm", r#"{ "first": 256 }"#).0, "options.first");
        assert_eq!(refused("dstm", r#"{ "method": "+x" }"#).0, "options.method");
        assert!(refused("dstm", r#"{ "detour": 3 }"#).1.contains("has no such choice"));
    }

    #[test]
    fn what_is_not_defined_is_refused_before_anything_runs() {
        assert!(runs("mesh:4x4", "dstm-1", 1).is_err());
        assert!(runs("torus:4x4", "dstm-3", 1).is_err());
    }
}
