//! All tables of a fabric together: multicast tables or trees, virtual lanes, and their repair.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum, ValueHint};
use serde::Serialize;

use super::super::output::{Files, write_to};
use super::{Printed, first_of, refusal};
use crate::analysis::{Fabric, Settings, of_fabric};
use crate::failure::Failure;
use crate::network::input::input_name;
use crate::network::{Network, RouterId};
use crate::routing::{
    ForwardingTables, GroupBranching, HopMatrix, MulticastTables, NetworkLfts, NetworkMcfdbs, Repair, SearchEnd,
    VirtualLanes, analyse_tables, permitted_trees, read_hop_matrix, read_levels, read_maps, read_members,
    read_multicast_tables, repair,
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
    /// Build the trees of `--groups` in place of reading them: as `OpenSM` does, or over turns that close no cycle with the unicasts.
    #[arg(
        long, value_name = "HOW", value_enum, requires_all = ["tables", "groups"], group = "groups_of",
        conflicts_with = "multicasts"
    )]
    multicast_trees: Option<Trees>,
    /// The matrix of hops by which `OpenSM` builds them: `opensm-lid-matrix.dump`. Without it, it is made from the lengths of the tables' routes.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "multicast_trees")]
    lid_matrix: Option<String>,
    /// The members of groups, a group a line, as `0xc001: H1;H2`: names, identifiers (`0x…`) or addresses. By default all nodes that
    /// the multicast tables deliver to.
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

/// The files of a repair; not all are always written.
const WRITTEN: [&str; 9] = [
    "lfts",
    "lid-matrix",
    "opensm.mcfdbs",
    "groups",
    "lanes",
    "qos-policy.conf",
    "opensm.conf",
    "numbering.csv",
    "repair.json",
];

/// How trees of groups are built.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Trees {
    /// As `OpenSM` does, by its matrix of hops.
    Opensm,
    /// Over turns that close no cycle with what unicasts wait for.
    Permitted,
}

/// Multicast tables that were written.
#[derive(Serialize)]
pub(super) struct ExportedTrees {
    pub(super) file: String,
    pub(super) groups: usize,
}

/// A figure before and after a repair.
#[derive(Serialize)]
pub(super) struct BeforeAfter<T> {
    pub(super) before: T,
    pub(super) after: T,
}

/// A repair, and the files that were written.
#[derive(Serialize)]
pub(super) struct Repaired {
    pub(super) folder: String,
    pub(super) files: Vec<&'static str>,
    /// `nothing`, `trees`, `lanes`, `unicast-lanes` or `unicasts`.
    pub(super) changed: &'static str,
    /// Whether trees over turns that the unicasts permit were `found`, that there are none is `proven`, or the search was `given-up`.
    pub(super) search: &'static str,
    /// The same of lanes for the unicasts, as they are routed.
    pub(super) unicast_lanes: &'static str,
    pub(super) deadlock_free: bool,
    pub(super) lanes: u32,
    pub(super) lane_of_groups: u32,
    /// Whether lanes that depended on ports give way to levels that are lanes: `OpenSM` loads no others with routes from a file.
    pub(super) levels_are_lanes: bool,
    /// Pairs of a node and an address that have another service level than before.
    pub(super) moved_pairs: u64,
    /// The root of up*/down* that unicasts are held to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) root: Option<String>,
    pub(super) entries: usize,
    pub(super) changed_entries: usize,
    pub(super) average_distance: BeforeAfter<Option<f64>>,
    pub(super) largest_load: BeforeAfter<f64>,
    pub(super) groups: Vec<RepairedGroup>,
}

/// A group before and after a repair.
#[derive(Serialize)]
pub(super) struct RepairedGroup {
    pub(super) mlid: String,
    /// Links of its tree.
    pub(super) links: BeforeAfter<usize>,
    /// The most hops that a packet takes.
    pub(super) hops: BeforeAfter<Option<u32>>,
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
                warn_of_one_sided_links(&read, file);
                read
            }
            (None, Some(_)) => MulticastTables::empty(network),
            (None, None) => return Ok(None),
        };
        let read = match &self.groups {
            Some(groups) => read_members(read, tables, groups).map_err(Failure::bad_input)?,
            None => read,
        };
        let matrix = match self.multicast_trees {
            None => return Ok(Some(read)),
            Some(Trees::Opensm) => self.matrix(network, tables)?,
            Some(Trees::Permitted) => {
                if self.lid_matrix.is_some() {
                    return Err(Failure::BadInput("`--lid-matrix` is for `--multicast-trees opensm`".to_owned()));
                }
                permitted_trees(tables, &read).map_err(Failure::bad_input)?
            }
        };
        Ok(Some(read.with_trees(&matrix)))
    }

    fn matrix(&self, network: &Arc<Network>, tables: &ForwardingTables) -> Result<HopMatrix, Failure> {
        if let Some(file) = &self.lid_matrix {
            return read_hop_matrix(network, file).map_err(Failure::bad_input);
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

/// Warns of switches that others send a group's packets to, and that send none back: tables that a subnet manager writes have none.
fn warn_of_one_sided_links(tables: &MulticastTables, file: &str) {
    let one_sided = tables.one_sided();
    if let Some(&(mlid, _)) = one_sided.first() {
        let own = one_sided.iter().filter(|&&(other, _)| other == mlid);
        let names: Vec<String> = own.map(|&(_, router)| tables.network().router_label(router)).collect();
        let mut groups: Vec<u16> = one_sided.iter().map(|&(mlid, _)| mlid).collect();
        groups.dedup();
        let others = match groups.len() - 1 {
            0 => String::new(),
            1 => ", and of another group".to_owned(),
            others => format!(", and of {others} other groups"),
        };
        let (file, names) = (input_name(file), first_of(&names));
        Failure::warn(&format!(
            "`{file}` lacks entries of the group {mlid:#06x} at {names}, to which others send its packets{others}: is it truncated?"
        ));
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
    let report = of_fabric(&fabric, settings).map_err(|error| refusal(&error, ""))?;
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
        let multicasts = multicasts.unwrap_or_else(|| MulticastTables::empty(network));
        let repair = repair(tables, &multicasts, lanes.as_ref(), count).map_err(Failure::bad_input)?;
        printed.repair = Some(write_repair(folder, count, (tables, &multicasts), &repair, settings)?);
    }
    Ok(printed)
}

/// Writes the files of a repair, and says what it costs.
fn write_repair(
    folder: &Path,
    lanes: u32,
    (tables, multicasts): (&ForwardingTables, &MulticastTables),
    repair: &Repair,
    settings: &Settings,
) -> Result<Repaired, Failure> {
    let network = multicasts.network();
    let levels = repair.levels();
    // The folder's own verdict, by the same analysis as everybody's.
    let laned = match &repair.lanes {
        Some(lanes) if lanes.has_maps() => Some(lanes.clone()),
        _ if levels.is_empty() => None,
        _ => {
            let none = VirtualLanes::new(network).map_err(Failure::bad_input)?;
            Some(none.with_levels(&repair.tables, "lanes", &levels).map_err(Failure::bad_input)?)
        }
    };
    let beside = Some((&repair.multicasts, GroupBranching::Packets));
    let fabric = Fabric { name: "lfts", tables: &repair.tables, multicasts: beside, lanes: laned.as_ref() };
    let deadlock_free = of_fabric(&fabric, settings).map_err(|error| refusal(&error, ""))?.deadlock_free;
    let [before, after] = [tables, &repair.tables].map(analyse_tables);
    let sizes = multicasts.sizes().into_iter().zip(repair.multicasts.sizes());
    let groups = multicasts.groups().iter().zip(sizes).map(|(group, (before, after))| RepairedGroup {
        mlid: format!("{:#06x}", group.mlid),
        links: BeforeAfter { before: before.0, after: after.0 },
        hops: BeforeAfter { before: before.1, after: after.1 },
    });
    let mut files: Vec<(&'static str, String)> =
        vec![("lfts", NetworkLfts::new(&repair.tables).map_err(Failure::bad_input)?.to_string())];
    if let Some(matrix) = &repair.matrix {
        files.push(("lid-matrix", matrix.text(&repair.tables).map_err(Failure::bad_input)?));
    }
    if !repair.multicasts.groups().is_empty() {
        files.push(("opensm.mcfdbs", NetworkMcfdbs::new(&repair.multicasts).map_err(Failure::bad_input)?.to_string()));
        files.push(("groups", repair.multicasts.members_text()));
    }
    if !levels.is_empty() {
        files.push(("lanes", levels));
    }
    let policy = laned.as_ref().map_or_else(String::new, |lanes| lanes.policy(&repair.tables));
    if !policy.is_empty() {
        files.push(("qos-policy.conf", policy));
    }
    // Otherwise switches keep the lanes that they have, even where no packet has another level. Those by ports stay only where there is nothing to load.
    if let Some(options) = laned.as_ref().or(repair.lanes.as_ref()).and_then(VirtualLanes::options) {
        files.push(("opensm.conf", options));
    }
    files.push(("numbering.csv", numbering(network, repair)));
    let mut repaired = Repaired {
        folder: folder.display().to_string(),
        files: files.iter().map(|&(name, _)| name).collect(),
        changed: repair.changed.name(),
        search: ended(repair.search),
        unicast_lanes: ended(repair.spread),
        deadlock_free,
        lanes,
        lane_of_groups: repair.lane_of_groups,
        levels_are_lanes: repair.levels_are_lanes,
        moved_pairs: repair.moved,
        root: repair.root.map(|root: RouterId| network.router_label(root)),
        entries: repair.tables.entries(),
        changed_entries: repair.changed_entries,
        average_distance: BeforeAfter { before: before.survey.average_distance, after: after.survey.average_distance },
        largest_load: BeforeAfter { before: before.load.max, after: after.load.max },
        groups: groups.collect(),
    };
    repaired.files.push("repair.json");
    fs::create_dir_all(folder).map_err(|error| {
        let folder = input_name(&repaired.folder).to_owned();
        Failure::failed(format!("cannot make the folder `{folder}`: {error}"))
    })?;
    files.push(("repair.json", serde_json::to_string_pretty(&repaired).map_err(Failure::failed)? + "\n"));
    // What another repair left there would be taken for this one's.
    for name in WRITTEN {
        if !files.iter().any(|&(own, _)| own == name) && folder.join(name).exists() {
            fs::remove_file(folder.join(name)).map_err(Failure::failed)?;
        }
    }
    for (name, text) in &files {
        write_to(folder.join(name), text.as_bytes(), &mut std::io::sink())?;
    }
    Ok(repaired)
}

/// How a search ended, for users.
fn ended(search: SearchEnd) -> &'static str {
    match search {
        SearchEnd::NotNeeded => "not-needed",
        SearchEnd::Found => "found",
        SearchEnd::Proven => "proven",
        SearchEnd::GivenUp => "given-up",
    }
}

/// The proof as CSV: along every step of a packet, the number rises.
fn numbering(network: &Network, repair: &Repair) -> String {
    let mut lines = vec!["channel,from,to,lane,number,from_name,to_name,from_port,to_port,link".to_owned()];
    for (channel, lane, number) in repair.numbering() {
        let (from, to, ends) = (network.from(channel), network.to(channel), network.link_ends(channel));
        lines.push(format!("{channel},{from},{to},{lane},{number},{ends}"));
    }
    lines.join("\n") + "\n"
}

impl Repaired {
    /// In words, for people.
    pub(super) fn text(&self) -> String {
        let what = match self.changed {
            "nothing" => "nothing had to be changed".to_owned(),
            "trees" => "the trees of groups".to_owned(),
            "lanes" => format!("groups have service level {}", self.lane_of_groups),
            "unicast-lanes" if self.moved_pairs == 0 => {
                format!(
                    "no path has another service level, but each level is a lane now; groups have level {}",
                    self.lane_of_groups
                )
            }
            "unicast-lanes" => format!(
                "{} pairs of a node and an address have another service level, of {} lanes; groups have level {}",
                self.moved_pairs, self.lanes, self.lane_of_groups
            ),
            _ => {
                let (changed, entries) = (self.changed_entries, self.entries);
                let root = self.root.as_deref().unwrap_or("?");
                format!(
                    "{changed} of {entries} unicast entries, held to up*/down* from {root}, and the trees of groups"
                )
            }
        };
        let why = match self.search {
            "proven" => "; no trees over turns that the unicasts permit join the groups: all were tried",
            "given-up" => "; no trees over turns that the unicasts permit were found, though there may be some",
            _ => "",
        };
        let lanes = match self.unicast_lanes {
            "proven" => format!(
                "; no service levels keep the unicasts as they are routed on {} lanes: all were tried",
                self.lanes
            ),
            "given-up" => format!(
                "; no service levels were found that keep the unicasts as they are routed on {} lanes, though there may be some",
                self.lanes
            ),
            _ => String::new(),
        };
        let tables = if self.levels_are_lanes {
            "; switches lose their tables of lanes, which depended on ports, because OpenSM loads none of these with routes from a file"
        } else {
            ""
        };
        format!("{what}{why}{lanes}{tables}")
    }
}
