//! Service levels and lanes as configuration that `OpenSM` loads.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{LEVELS, VirtualLanes};
use crate::forwarding_tables::{ForwardingTables, Target};

impl VirtualLanes {
    /// The lanes of levels on links between switches as lines of `OpenSM`'s configuration; `None` if they depend on ports.
    pub fn options(&self) -> Option<String> {
        let lanes = self.common_map()?.map(|lane| lane.to_string());
        Some(format!("qos TRUE\nqos_swe_sl2vl {}\n", lanes.join(",")))
    }

    /// The service levels of paths as a policy that `OpenSM` takes with `-Q -Y FILE`: the one that most have by default, and for each other which ports have
    /// it to which. Nothing if all have level 0, and groups, too: the level of a partition's groups would else be that of its paths. Nothing, too, if the
    /// addresses of a port have different levels, which no policy can say.
    pub fn policy(&self, tables: &ForwardingTables) -> String {
        if !self.differing(tables).is_empty() {
            return String::new();
        }
        // For each port, the ports to which it has each level.
        let mut levels_of: Vec<(u64, BTreeMap<u8, Vec<u64>>)> = Vec::new();
        let mut pairs = [0u64; LEVELS];
        for node in self.fabric.node_ids() {
            let Some(guid) = self.fabric.node_guid(node) else { continue };
            let mut by_level: BTreeMap<u8, Vec<u64>> = BTreeMap::new();
            for destination in tables.destinations() {
                let (Target::Node(to), Some(address)) = (destination.target, destination.address) else { continue };
                let level = self.level(node, address).unwrap_or(0);
                if let Some(to) = self.fabric.node_guid(to).filter(|_| to != node) {
                    let ports = by_level.entry(level).or_default();
                    // A port with several addresses, once.
                    if ports.last() != Some(&to) {
                        ports.push(to);
                        pairs[usize::from(level)] += 1;
                    }
                }
            }
            levels_of.push((guid, by_level));
        }
        let most = (0..LEVELS).rev().max_by_key(|&level| pairs[level]).map_or(0, |level| level as u8);
        // Ports whose paths have the same levels share rules.
        let mut alike: BTreeMap<BTreeMap<u8, Vec<u64>>, Vec<u64>> = BTreeMap::new();
        for (guid, mut by_level) in levels_of {
            by_level.remove(&most);
            if !by_level.is_empty() {
                alike.entry(by_level).or_default().push(guid);
            }
        }
        let (mut ports, mut rules, mut levels) = (String::new(), String::new(), vec![most]);
        let mut group = |name: &str, guids: &[u64]| {
            let guids: Vec<String> = guids.iter().map(|guid| format!("{guid:#018x}")).collect();
            let guids = guids.join(", ");
            let _ = writeln!(
                ports,
                "    port-group
        name: {name}
        port-guid: {guids}
    end-port-group"
            );
        };
        for (number, (by_level, sources)) in alike.iter().enumerate() {
            group(&format!("from{number}"), sources);
            for (level, to) in by_level {
                group(&format!("to{number}_{level}"), to);
                let _ = writeln!(
                    rules,
                    "    qos-match-rule
        source: from{number}
        destination: to{number}_{level}
                             qos-level-name: level{level}
    end-qos-match-rule"
                );
                levels.push(*level);
            }
        }
        if rules.is_empty() && most == 0 && self.of_groups.values().all(|&level| level == 0) {
            return rules;
        }
        levels.sort_unstable();
        levels.dedup();
        let named = |&level: &u8| if level == most { "DEFAULT".to_owned() } else { format!("level{level}") };
        let levels: Vec<String> = levels
            .iter()
            .map(|level| {
                format!(
                    "    qos-level
        name: {}
        sl: {level}
    end-qos-level
",
                    named(level)
                )
            })
            .collect();
        // OpenSM refuses a section of no groups, and with it the whole policy.
        let section = |name: &str, content: &str| {
            if content.is_empty() { String::new() } else { format!("{name}\n{content}end-{name}\n") }
        };
        [section("port-groups", &ports), section("qos-levels", &levels.concat()), section("qos-match-rules", &rules)]
            .concat()
    }
}
