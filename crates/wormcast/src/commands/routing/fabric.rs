//! All tables of a fabric together: multicast tables or trees, virtual lanes, and their repair.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum, ValueHint};
use serde::Serialize;

use super::super::output::{Files, write_to};
use super::super::results::make_folder;
use super::repaired::{WRITTEN, check_folder, write_repair};
use super::{Printed, refusal};
use crate::analysis::{Fabric, Settings, of_fabric};
use crate::failure::Failure;
use crate::network::Network;
use crate::routing::{
    ForwardingTables, GroupBranching, HopMatrix, MulticastTables, NetworkMcfdbs, TreeRule, VirtualLanes, WeighedEngine,
    WeighedTrees, permitted_trees, read_hop_matrix, read_levels, read_maps, read_members, read_multicast_tables,
    read_torus, repair,
};

/// What is beside the unicast tables of a fabric.
#[derive(Args)]
pub(super) struct FabricArguments {
    /// Multicast tables beside `--tables`: `opensm.mcfdbs`, or what `dump_mfts` prints. The verdict is then on both together.
    #[arg(
        long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tables", group = "groups_of",
        conflicts_with_all = ["multicasts", "multicast_trees"]
    )]
    multicast_tables: Option<String>,
    /// Build the trees of `--groups` in place of reading them: as `OpenSM` does after it has routed by most of its engines, by `sssp` or `dfsssp`, by `nue`, or by
    /// `torus-2QoS`, or over turns that close no cycle with the unicasts.
    #[arg(
        long, value_name = "HOW", value_enum, requires_all = ["tables", "groups"], group = "groups_of",
        conflicts_with = "multicasts"
    )]
    multicast_trees: Option<Trees>,
    /// The matrix of hops by which `OpenSM` builds them: `opensm-lid-matrix.dump`. Without it, it is made from the lengths of the tables' routes.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "multicast_trees")]
    lid_matrix: Option<String>,
    /// The torus as `torus-2QoS` reads it, for `--multicast-trees opensm-torus`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "multicast_trees")]
    torus_config: Option<String>,
    /// The members of groups, a group a line, as `0xc001: H1;H2`: names, identifiers (`0x…`) or addresses, of hosts, or of switches
    /// that get packets themselves. By default all that the multicast tables deliver to.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "groups_of")]
    groups: Option<String>,
    /// How the packets of groups branch: `packets` (stored whole, each copy goes on by itself, as in InfiniBand switches), `lockstep`, or `ibdmchk`
    /// (as that program takes it). Default: packets.
    #[arg(long, value_name = "HOW", value_parser = branching, requires = "groups_of")]
    branching: Option<GroupBranching>,
    /// Write the multicast tables as `OpenSM` does to `opensm.mcfdbs`; `-`: to standard output.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "groups_of")]
    export_multicast: Option<String>,
    /// The service levels of paths beside `--tables`: lines such as `0x0000000000100000 12 3` (identifier of the source, decimal address, level), or what
    /// `saquery -p` prints, and `saquery -g` for groups. Without it, every packet has level 0. With `--repair`, how many lanes there may be, by default as many as there are; give both as
    /// `--lanes FILE --lanes K`.
    #[arg(
        long, value_name = "FILE|K", value_hint = ValueHint::FilePath, requires = "tables", conflicts_with = "multicasts"
    )]
    lanes: Vec<String>,
    /// The virtual lanes on which switches put each service level: `opensm-sl2vl.dump`. Without it, each level is a lane of its own.
    #[arg(
        long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tables", conflicts_with = "multicasts"
    )]
    sl2vl: Option<String>,
    /// Change as little as can be found, so that there can be no deadlock, and write what `OpenSM` loads to a folder: `lfts` (`-R file -U`), `lid-matrix` (`-M`),
    /// `qos-policy.conf` (`-Q -Y`), `opensm.conf` (lines for `-F`), and with them `opensm.mcfdbs`, `groups`, `lanes`, the proof `numbering.csv`, and `repair.json`.
    #[arg(
        long, value_name = "FOLDER", value_hint = ValueHint::DirPath, requires = "tables", conflicts_with = "multicasts"
    )]
    repair: Option<PathBuf>,
}

/// How trees of groups are built.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Trees {
    /// As `OpenSM` does after most engines, by its matrix of hops.
    Opensm,
    /// As it does after `sssp` and `dfsssp`, by the paths of the tables over each link.
    OpensmSssp,
    /// As it does after `nue`, in the same way.
    OpensmNue,
    /// As it does after `torus-2QoS`, by the places of switches in the torus.
    OpensmTorus,
    /// Over turns that close no cycle with what unicasts wait for.
    Permitted,
}

/// Multicast tables that were written.
#[derive(Serialize)]
pub(super) struct ExportedTrees {
    pub(super) file: String,
    pub(super) groups: usize,
}

impl FabricArguments {
    /// The first option that is given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--multicast-tables", self.multicast_tables.is_some()),
            ("--multicast-trees", self.multicast_trees.is_some()),
            ("--lanes", !self.lanes.is_empty()),
            ("--sl2vl", self.sl2vl.is_some()),
            ("--repair", self.repair.is_some()),
        ];
        options.iter().find(|(_, given)| *given).map(|&(option, _)| option)
    }

    /// The files that are read and written.
    pub(super) fn files(&self, files: Files) -> Files {
        let files = files
            .writes("--export-multicast", self.export_multicast.as_deref())
            .reads("--multicast-tables", self.multicast_tables.as_deref())
            .reads("--lid-matrix", self.lid_matrix.as_deref())
            .reads("--torus-config", self.torus_config.as_deref())
            .reads("--groups", self.groups.as_deref())
            .reads("--lanes", self.levels())
            .reads("--sl2vl", self.sl2vl.as_deref());
        let repaired = self.repair.iter().flat_map(|folder| WRITTEN.map(|name| folder.join(name)));
        repaired.fold(files, |files, file| files.writes("--repair", Some(file)))
    }

    fn read_multicasts(
        &self,
        network: &Arc<Network>,
        tables: &ForwardingTables,
    ) -> Result<Option<MulticastTables>, Failure> {
        let read = match (&self.multicast_tables, self.multicast_trees) {
            (Some(file), _) => {
                let read = read_multicast_tables(network, file).map_err(Failure::bad_input)?;
                read.doubts(file).iter().for_each(|doubt| Failure::warn(doubt));
                read
            }
            (None, Some(_)) => MulticastTables::empty(network),
            (None, None) => return Ok(None),
        };
        let read = match &self.groups {
            Some(groups) => read_members(read, tables, groups).map_err(Failure::bad_input)?,
            None => read,
        };
        read.silence().iter().for_each(|silence| Failure::warn(silence));
        let Some(how) = self.multicast_trees else { return Ok(Some(read)) };
        let by_matrix = [Trees::Opensm, Trees::OpensmSssp, Trees::OpensmNue].contains(&how);
        if self.lid_matrix.is_some() && !by_matrix {
            let expected = "`--lid-matrix` is for `--multicast-trees opensm`, `opensm-sssp` and `opensm-nue`";
            return Err(Failure::BadInput(expected.to_owned()));
        }
        if self.torus_config.is_some() && how != Trees::OpensmTorus {
            return Err(Failure::BadInput("`--torus-config` is for `--multicast-trees opensm-torus`".to_owned()));
        }
        let weighed = |engine| -> Result<WeighedTrees, Failure> {
            let matrix = match &self.lid_matrix {
                Some(file) => read_matrix(network, file)?,
                // The hops that `nue` writes down are not all lengths of its routes.
                None if engine == WeighedEngine::Nue => {
                    let missing =
                        "`--multicast-trees opensm-nue` needs `--lid-matrix FILE`, OpenSM's `opensm-lid-matrix.dump`";
                    return Err(Failure::BadInput(missing.to_owned()));
                }
                None => HopMatrix::of_tables(tables).map_err(Failure::bad_input)?,
            };
            WeighedTrees::new(tables, matrix, engine).map_err(Failure::bad_input)
        };
        let rule: Box<dyn TreeRule> = match how {
            Trees::Opensm => Box::new(self.matrix(network, tables)?),
            Trees::OpensmSssp => Box::new(weighed(WeighedEngine::Sssp)?),
            Trees::OpensmNue => Box::new(weighed(WeighedEngine::Nue)?),
            Trees::OpensmTorus => {
                let file = self.torus_config.as_deref().ok_or_else(|| {
                    let missing = "`--multicast-trees opensm-torus` needs `--torus-config FILE`, the `torus-2QoS.conf` that OpenSM has";
                    Failure::BadInput(missing.to_owned())
                })?;
                Box::new(read_torus(network, file).map_err(Failure::bad_input)?)
            }
            Trees::Permitted => Box::new(permitted_trees(tables, &read).map_err(Failure::bad_input)?),
        };
        Ok(Some(read.with_trees(rule.as_ref())))
    }

    fn matrix(&self, network: &Arc<Network>, tables: &ForwardingTables) -> Result<HopMatrix, Failure> {
        if let Some(file) = &self.lid_matrix {
            return read_matrix(network, file);
        }
        let matrix = HopMatrix::of_tables(tables).map_err(Failure::bad_input)?;
        if !matrix.are_shortest().map_err(Failure::bad_input)? {
            Failure::warn(
                "the routes of the tables are not all shortest paths, so OpenSM may have had another matrix of hops than theirs, and other trees: \
                 give its `opensm-lid-matrix.dump` with `--lid-matrix`",
            );
        }
        Ok(matrix)
    }

    /// The file of `--lanes`: with a repair, numbers are numbers of lanes.
    fn levels(&self) -> Option<&str> {
        let is_file = |text: &&String| self.repair.is_none() || text.parse::<u32>().is_err();
        self.lanes.iter().find(is_file).map(String::as_str)
    }

    /// The virtual lanes of `--lanes` and `--sl2vl`.
    fn read_lanes(&self, network: &Arc<Network>, tables: &ForwardingTables) -> Result<Option<VirtualLanes>, Failure> {
        let numbers = self.lanes.iter().filter(|text| self.levels() != Some(text)).count();
        if self.lanes.len() > 1 && (self.repair.is_none() || numbers != 1 || self.lanes.len() > 2) {
            let expected = if self.repair.is_some() { "one file and one number" } else { "one file" };
            return Err(Failure::BadInput(format!(
                "`--lanes` is given {} times: expected {expected}",
                self.lanes.len()
            )));
        }
        if self.levels().is_none() && self.sl2vl.is_none() {
            return Ok(None);
        }
        let mut lanes = VirtualLanes::new(network).map_err(Failure::bad_input)?;
        if let Some(file) = self.levels() {
            if file.parse::<u32>().is_ok() && !Path::new(file).exists() {
                return Err(Failure::BadInput(format!(
                    "`--lanes {file}`: a number of lanes is for `--repair`; expected a file of service levels"
                )));
            }
            lanes = read_levels(lanes, tables, file).map_err(Failure::bad_input)?;
        }
        if let Some(file) = &self.sl2vl {
            lanes = read_maps(lanes, file).map_err(Failure::bad_input)?;
        }
        Ok(Some(lanes))
    }

    /// How many lanes a repair may use: by default as many as there are.
    fn lanes_of_repair(&self, given: Option<&VirtualLanes>) -> Result<u32, Failure> {
        let Some(text) = self.lanes.iter().find(|text| self.levels() != Some(text)) else {
            return Ok(given.map_or(1, VirtualLanes::count));
        };
        text.parse().ok().filter(|lanes| (1..=15).contains(lanes)).ok_or_else(|| {
            Failure::BadInput(format!("`--lanes {text}`: with `--repair`, expected a number of lanes from 1 to 15"))
        })
    }
}

/// How packets of multicast tables branch.
fn branching(text: &str) -> Result<GroupBranching, String> {
    GroupBranching::named(text).ok_or_else(|| "expected `packets`, `lockstep` or `ibdmchk`".to_owned())
}

/// The analysis of unicast tables together with what else is given, and their repair.
pub(super) fn analyse(
    arguments: &FabricArguments,
    settings: &Settings,
    network: &Arc<Network>,
    (name, tables): (&str, &ForwardingTables),
    out: &mut dyn Write,
) -> Result<Printed, Failure> {
    if arguments.repair.as_ref().is_some_and(|folder| folder.as_os_str() == "-") {
        return Err(Failure::BadInput(
            "`--repair -`: a repair is several files, so none goes to standard output; expected a folder, such as `mended`".to_owned(),
        ));
    }
    let multicasts = arguments.read_multicasts(network, tables)?;
    let lanes = arguments.read_lanes(network, tables)?;
    let branching = arguments.branching.unwrap_or(GroupBranching::Packets);
    let beside = multicasts.as_ref().map(|multicasts| (multicasts, branching));
    let fabric = Fabric { name, tables, multicasts: beside, lanes: lanes.as_ref() };
    let report = of_fabric(&fabric, settings).map_err(|error| refusal(&error))?;
    let mut printed = Printed::new(report);
    if let (Some(file), Some(multicasts)) = (&arguments.export_multicast, &multicasts) {
        let text = NetworkMcfdbs::new(multicasts).map_err(Failure::bad_input)?.to_string();
        write_to(file, text.as_bytes(), out)?;
        let groups = multicasts.groups().len();
        printed.exported_multicast = Some(ExportedTrees { file: file.clone(), groups });
    }
    if let Some(folder) = &arguments.repair {
        if branching == GroupBranching::Lockstep {
            return Err(Failure::BadInput(
                "`--repair` is for switches that store packets whole: leave `--branching lockstep` out".to_owned(),
            ));
        }
        let count = arguments.lanes_of_repair(lanes.as_ref())?;
        // A repair may take minutes: one that could not be written is not begun.
        make_folder(folder)?;
        check_folder(folder)?;
        let multicasts = multicasts.unwrap_or_else(|| MulticastTables::empty(network));
        let repair = repair(tables, &multicasts, lanes.as_ref(), count).map_err(Failure::bad_input)?;
        printed.repair = Some(write_repair(folder, (lanes.as_ref(), count), (tables, &multicasts), &repair, settings)?);
    }
    Ok(printed)
}

/// Reads a matrix of hops, and warns if it may not be the whole of it.
fn read_matrix(network: &Arc<Network>, file: &str) -> Result<HopMatrix, Failure> {
    let matrix = read_hop_matrix(network, file).map_err(Failure::bad_input)?;
    if let Some(doubt) = matrix.doubt() {
        Failure::warn(doubt);
    }
    Ok(matrix)
}
