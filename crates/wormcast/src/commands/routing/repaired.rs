//! A repair of a fabric as files, and what it costs.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::output::write_to;
use super::refusal;
use crate::analysis::{Fabric, Settings, of_fabric};
use crate::failure::Failure;
use crate::network::{Network, RouterId};
use crate::routing::{
    ForwardingTables, GroupBranching, MulticastTables, NetworkLfts, NetworkMcfdbs, Repair, SearchEnd, VirtualLanes,
    analyse_tables,
};

/// The files of a repair; not all are always written.
pub(super) const WRITTEN: [&str; 10] = [
    "lfts",
    "lid-matrix",
    "guid2lid",
    "opensm.mcfdbs",
    "groups",
    "lanes",
    "qos-policy.conf",
    "opensm.conf",
    "numbering.csv",
    REPORT,
];

/// What the repair says of itself.
const REPORT: &str = "repair.json";

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
    /// The service levels that groups have: level 0 after any change, which is what `OpenSM` gives those of a partition unless `partitions.conf` says otherwise.
    pub(super) levels_of_groups: BeforeAfter<Vec<u8>>,
    /// The level that has changed names with level 0, so that groups have that.
    pub(super) exchanged_level: Option<u8>,
    /// Pairs of a node and an address that have another service level by that alone.
    pub(super) renamed_pairs: u64,
    /// Whether lanes that depended on ports give way to levels that are lanes: `OpenSM` loads no others with routes from a file.
    pub(super) levels_are_lanes: bool,
    /// Pairs of a node and an address that have left the service level that they had, whatever it is called now.
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

impl Repaired {
    /// In words, for people.
    pub(super) fn text(&self) -> String {
        let what = match self.changed {
            "nothing" => "nothing had to be changed".to_owned(),
            "trees" => "the trees of groups".to_owned(),
            "lanes" => "the service level of groups".to_owned(),
            "unicast-lanes" if self.moved_pairs == 0 => {
                "no path leaves its service level, but each level is a lane now".to_owned()
            }
            "unicast-lanes" if self.moved_pairs == 1 => {
                format!("1 pair of a node and an address gets another service level, of {} lanes", self.lanes)
            }
            "unicast-lanes" => format!(
                "{} pairs of a node and an address get another service level, of {} lanes",
                self.moved_pairs, self.lanes
            ),
            _ => {
                let (changed, entries) = (self.changed_entries, self.entries);
                let root = self.root.as_deref().unwrap_or("?");
                let trees = if self.groups.is_empty() { "" } else { ", and the trees of groups" };
                format!("{changed} of {entries} unicast entries, held to up*/down* from {root}{trees}")
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
        let names = match self.exchanged_level {
            Some(level) => format!(
                "; levels 0 and {level} change names, which gives {} pair{} another, so that groups have level 0",
                self.renamed_pairs,
                if self.renamed_pairs == 1 { "" } else { "s" }
            ),
            None => String::new(),
        };
        let before: Vec<String> = self.levels_of_groups.before.iter().map(u8::to_string).collect();
        let partition = if self.levels_of_groups.before == self.levels_of_groups.after {
            String::new()
        } else {
            format!(
                "; groups had level {}, and OpenSM's partitions.conf has to give them level 0, its default",
                before.join(" and ")
            )
        };
        format!("{what}{why}{lanes}{names}{tables}{partition}")
    }
}

/// Checks that what a repair would replace or remove was left by another one: `OpenSM`'s own files have such names.
pub(super) fn check_folder(folder: &Path) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Earlier {
        files: Vec<String>,
        /// Nothing else has both.
        #[serde(rename = "levels_of_groups")]
        _levels: serde_json::Value,
    }
    let earlier = fs::read(folder.join(REPORT)).ok();
    let earlier = earlier.and_then(|text| serde_json::from_slice::<Earlier>(&text).ok());
    let files = earlier.map_or_else(Vec::new, |earlier| earlier.files);
    let is_of_another = |name: &&&str| folder.join(name).exists() && !files.iter().any(|file| file == *name);
    match WRITTEN.iter().find(is_of_another) {
        Some(name) => Err(Failure::BadInput(format!(
            "`{}` is there, and no repair has written it: expected a folder of its own for `--repair`, or that of an earlier repair",
            folder.join(name).display()
        ))),
        None => Ok(()),
    }
}

/// Writes the files of a repair, and says what it costs.
pub(super) fn write_repair(
    folder: &Path,
    (given, lanes): (Option<&VirtualLanes>, u32),
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
    let deadlock_free = of_fabric(&fabric, settings).map_err(|error| refusal(&error))?.deadlock_free;
    let [before, after] = [tables, &repair.tables].map(analyse_tables);
    let sizes = multicasts.sizes().into_iter().zip(repair.multicasts.sizes());
    let groups = multicasts.groups().iter().zip(sizes).map(|(group, (before, after))| RepairedGroup {
        mlid: format!("{:#06x}", group.mlid),
        links: BeforeAfter { before: before.0, after: after.0 },
        hops: BeforeAfter { before: before.1, after: after.1 },
    });
    let lfts = NetworkLfts::new(&repair.tables).map_err(Failure::bad_input)?;
    let mut files: Vec<(&'static str, String)> = vec![("lfts", lfts.to_string())];
    if let Some(matrix) = &repair.matrix {
        files.push(("lid-matrix", matrix.text(&repair.tables).map_err(Failure::bad_input)?));
        // Those that the given tables leave open are the same in both.
        let given = NetworkLfts::new(tables).map_err(Failure::bad_input)?;
        let addresses = given.guid2lid().map_err(Failure::bad_input)?;
        files.extend(addresses.map(|text| ("guid2lid", text)));
    }
    if !repair.multicasts.groups().is_empty() {
        let trees = NetworkMcfdbs::new(&repair.multicasts).map_err(Failure::bad_input)?.to_string();
        let members = repair.multicasts.members_text(&repair.tables).map_err(Failure::bad_input)?;
        // Of groups that nobody is in there may be nothing to say.
        let said = [("opensm.mcfdbs", trees), ("groups", members)];
        files.extend(said.into_iter().filter(|(_, text)| !text.is_empty()));
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
    let levels = |lanes: Option<&VirtualLanes>| lanes.map_or(vec![0], |own| own.levels_of_groups(multicasts.groups()));
    let levels_of_groups =
        BeforeAfter { before: levels(given), after: levels(laned.as_ref().or(repair.lanes.as_ref())) };
    let mut repaired = Repaired {
        folder: folder.display().to_string(),
        files: files.iter().map(|&(name, _)| name).collect(),
        changed: repair.changed.name(),
        search: ended(repair.search),
        unicast_lanes: ended(repair.spread),
        deadlock_free,
        lanes,
        levels_of_groups,
        exchanged_level: repair.exchanged,
        renamed_pairs: repair.renamed,
        levels_are_lanes: repair.levels_are_lanes,
        moved_pairs: repair.moved,
        root: repair.root.map(|root: RouterId| network.router_label(root)),
        entries: repair.tables.entries(),
        changed_entries: repair.changed_entries,
        average_distance: BeforeAfter { before: before.survey.average_distance, after: after.survey.average_distance },
        largest_load: BeforeAfter { before: before.load.max, after: after.load.max },
        groups: groups.collect(),
    };
    repaired.files.push(REPORT);
    files.push((REPORT, serde_json::to_string_pretty(&repaired).map_err(Failure::failed)? + "\n"));
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
