//! A repair by the command, whose proof another program checks and which `OpenSM` loads.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use serde_json::Value;
use wormcast::routing::{ForwardingTables, GroupBranching, Target, VirtualLanes, parse_lfts, parse_multicast_tables};

use crate::case::Case;
use crate::kinds::Kind;
use crate::simulated::{Programs, Simulated, expect_trees, rejoin};
use crate::{Found, levels_text, run_wormcast};

/// A fabric whose tables are in a folder, to be repaired.
pub(crate) struct Mend<'a, 'p> {
    pub(crate) programs: &'p Programs,
    pub(crate) kind: &'a Kind,
    pub(crate) simulated: &'a Simulated<'p>,
    /// The members of groups, where they have joined.
    pub(crate) groups: Option<&'static str>,
    pub(crate) what: String,
}

impl Mend<'_, '_> {
    /// Repairs it, checks the proof, and lets `OpenSM` load what comes out.
    #[allow(clippy::too_many_lines, reason = "one repair from one end to the other")]
    pub(crate) fn repair(&self, levels: Option<&str>, lanes: Option<u64>, found: &mut Found) {
        let Self { programs, kind, simulated, groups, what } = self;
        let (fabric, folder) = (&kind.fabric, simulated.path());
        let lanes = lanes.map(|lanes| lanes.to_string());
        let mut arguments =
            vec!["routing", "--topology", "fabric.net", "--tables", "opensm-lfts.dump", "--format", "json"];
        arguments.extend(["--multicast-tables", "opensm.mcfdbs", "--repair", "mended"]);
        if let Some(groups) = groups {
            arguments.extend(["--groups", groups]);
        }
        if let Some(levels) = levels {
            arguments.extend(["--lanes", levels, "--sl2vl", "opensm-sl2vl.dump"]);
        }
        if let Some(lanes) = &lanes {
            arguments.extend(["--lanes", lanes]);
        }
        let repair = &run_wormcast(folder, &arguments)["repair"];
        let what = format!("{what}, repaired: {repair}, {}", folder.display());
        assert_eq!(repair["deadlock_free"], true, "{what}");
        let files: Vec<&str> = repair["files"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let has = |name| files.contains(&name);
        // The proof, by another program.
        let mut check = vec!["fabric.net", "mended/lfts", "mended/opensm.mcfdbs", "mended/groups"];
        check.push(if has("lanes") { "mended/lanes" } else { "-" });
        let changed = repair["changed"].as_str().unwrap();
        check.push(match changed {
            "nothing" if levels.is_some() => "opensm-sl2vl.dump",
            _ if has("opensm.conf") => "mended/opensm.conf",
            _ => "-",
        });
        check.push("mended/numbering.csv");
        let checked = |arguments: &[&str]| {
            let mut python = Command::new("python3");
            python.args(["-c", include_str!("check.py")]).args(arguments).current_dir(folder).output().unwrap()
        };
        let proof = checked(&check);
        assert!(proof.status.success(), "{what}: {}", String::from_utf8_lossy(&proof.stderr));
        found.0.push("proofs checked");
        // A wrong one is no proof: with all numbers the other way round, none rises.
        let text = fs::read_to_string(folder.join("mended/numbering.csv")).unwrap();
        let mut lines = text.lines();
        let mut wrong = format!("{}\n", lines.next().unwrap());
        for line in lines {
            let mut fields: Vec<String> = line.splitn(6, ',').map(str::to_owned).collect();
            fields[4] = (1_000_000 - fields[4].parse::<i64>().unwrap()).to_string();
            writeln!(wrong, "{}", fields.join(",")).unwrap();
        }
        fs::write(folder.join("wrong.csv"), wrong).unwrap();
        *check.last_mut().unwrap() = "wrong.csv";
        let said = String::from_utf8_lossy(&checked(&check).stderr).into_owned();
        // Where no packet goes over two links, there is nothing to prove, and any numbers will do.
        let pairs: u64 = String::from_utf8_lossy(&proof.stdout).trim().parse().unwrap();
        assert!(pairs == 0 || said.contains("AssertionError"), "{what}: {said}");
        let (one, more) = match changed {
            "nothing" => ("repair on one lane: nothing", "repair on lanes: nothing"),
            "trees" => ("repair on one lane: trees", "repair on lanes: trees"),
            "lanes" => ("repair on one lane: lanes", "repair on lanes: lanes of groups"),
            "unicast-lanes" => ("repair on one lane: lanes", "repair on lanes: lanes of unicasts"),
            _ => ("repair on one lane: routes", "repair on lanes: routes"),
        };
        found.0.push(if levels.is_none() && lanes.is_none() { one } else { more });
        match repair["unicast_lanes"].as_str().unwrap() {
            "proven" => found.0.push("lanes for unicasts: proven that there are none"),
            "given-up" => found.0.push("lanes for unicasts: given up"),
            _ => {}
        }
        if changed == "nothing" {
            return;
        }
        if repair["levels_are_lanes"] == true {
            found.0.push("lanes by ports given up");
        }
        let mended = |name: &str| simulated.read(&format!("mended/{name}"));
        let members = mended("groups");
        if !members.lines().zip(0xc001..).all(|(line, mlid)| line.starts_with(&format!("{mlid:#06x}"))) {
            found.0.push("groups with gaps between addresses");
        }
        let other = Simulated::start(programs, fabric);
        for (name, from) in [("guid2lid", "guid2lid"), ("tables", "mended/lfts"), ("hops", "mended/lid-matrix")] {
            fs::write(other.path().join(name), simulated.read(from)).unwrap();
        }
        let mut options = vec!["-U", "tables", "-M", "hops"];
        assert_eq!(repair["levels_of_groups"]["after"], serde_json::json!([0]), "{what}");
        if has("qos-policy.conf") {
            fs::write(other.path().join("policy"), mended("qos-policy.conf")).unwrap();
            options.extend(["-Y", "policy"]);
        }
        if repair["levels_are_lanes"] == true {
            // Switches have the lanes of the engine, as they do in a fabric that is repaired.
            for (name, text) in &kind.files {
                fs::write(other.path().join(name), text).unwrap();
            }
            let before: Vec<&str> = kind.options.iter().map(String::as_str).collect();
            other.route(kind.engine, &before);
            let maps = other.read("opensm-sl2vl.dump");
            let by_port = VirtualLanes::new(fabric).unwrap().with_maps("opensm-sl2vl.dump", &maps).unwrap();
            assert_eq!(by_port.common_map(), None, "{what}");
            fs::remove_file(other.path().join("opensm-sl2vl.dump")).unwrap();
        }
        if has("opensm.conf") {
            let text = other.read("opensm.conf") + &mended("opensm.conf");
            fs::write(other.path().join("opensm.conf"), text).unwrap();
        }
        let opensm = other.serve("file", &options);
        rejoin(&other, &members, 0);
        expect_trees(&other, &mended("opensm.mcfdbs"), &what);
        let tables = parse_lfts(fabric, "lfts", &mended("lfts")).unwrap();
        let mut given = VirtualLanes::new(fabric).unwrap();
        if has("lanes") {
            given = given.with_levels(&tables, "lanes", &mended("lanes")).unwrap();
        }
        if has("opensm.conf") {
            // What is loaded, as an operator would check it.
            let maps = other.read("opensm-sl2vl.dump");
            let own = given.clone().with_maps("opensm-sl2vl.dump", &maps).unwrap();
            let configured = mended("opensm.conf");
            let configured = configured.lines().find_map(|line| line.strip_prefix("qos_swe_sl2vl ")).unwrap();
            let configured = configured.split(',').map(|lane| lane.parse::<u8>().unwrap());
            let loaded = own.common_map().unwrap_or_else(|| panic!("{what}: {maps}"));
            // Simulated links have eight lanes.
            let differs = |&(lane, loaded): &(u8, u8)| lane < 8 && lane != loaded;
            assert_eq!(configured.zip(loaded).find(differs), None, "{what}: {maps}");
            let built = parse_multicast_tables(fabric, "opensm.mcfdbs", &other.read("opensm.mcfdbs")).unwrap();
            let loaded = Case { tables: &tables, groups: &built, lanes: Some(&own) };
            assert!(!loaded.can_deadlock(GroupBranching::Packets), "{what}");
            found.0.push("repairs with lanes loaded");
        }
        let mut options = vec!["-M"];
        if has("lanes") {
            let said = levels_text(fabric, &tables, &other);
            let own = VirtualLanes::new(fabric).unwrap().with_levels(&tables, "said", &said).unwrap();
            for (node, address) in
                fabric.node_ids().flat_map(|node| addresses(&tables).map(move |address| (node, address)))
            {
                let levels = [&given, &own].map(|lanes| lanes.level(node, address).unwrap_or(0));
                assert_eq!(levels[0], levels[1], "{what}: {node} to {address}");
            }
            fs::write(other.path().join("lanes"), mended("lanes")).unwrap();
            options.extend(["-c", "lanes"]);
            found.0.push("repairs with levels loaded");
        }
        assert!(!other.ibdmchk(&options), "{what}");
        // Its scan of all groups finds all members of each.
        let said = other.read("ibdmchk.out");
        let (_, scan) = said.split_once("Scanning all multicast groups for loops and connectivity").unwrap();
        let scan = scan.split("-----").next().unwrap();
        assert!(!scan.contains("-E-"), "{what}: {scan}");
        for line in members.lines() {
            let (mlid, members) = line.split_once(": ").unwrap();
            let is_switch = |name: &&str| fabric.router_ids().any(|router| fabric.router_name(router) == Some(*name));
            let (switches, hosts): (Vec<&str>, Vec<&str>) = members.split(';').partition(is_switch);
            if !switches.is_empty() {
                found.0.push("groups with switches");
            }
            let name = mlid.to_uppercase().replace("0X", "0x");
            let all = format!(" and:{} HCAs", hosts.len());
            let own = scan.lines().find(|line| line.contains(&format!("Group:{name} ")));
            assert!(
                hosts.len() + switches.len() < 2 || own.is_some_and(|own| own.ends_with(&all)),
                "{what}: {line}: {scan}"
            );
        }
        options.remove(0);
        assert!(!other.ibdmchk(&options), "{what}");
        if let Some(exchanged) = repair["exchanged_level"].as_u64() {
            found.0.push("level 0 exchanged with another");
            // As the levels were called before, `ibdmchk -M` has groups where unicasts are.
            let back = |line: &str| {
                let (path, level) = line.rsplit_once(' ').unwrap();
                let level = match level.parse().unwrap() {
                    0 => exchanged,
                    level if level == exchanged => 0,
                    level => level,
                };
                format!("{path} {level}\n")
            };
            fs::write(other.path().join("lanes"), mended("lanes").lines().map(back).collect::<String>()).unwrap();
            if other.ibdmchk(&["-M", "-c", "lanes"]) {
                found.0.push("loops by ibdmchk before that");
            }
        }
        found.0.push("repairs loaded");
        drop(opensm);
    }
}

/// The addresses of hosts.
fn addresses(tables: &ForwardingTables) -> impl Iterator<Item = u16> {
    tables.destinations().iter().filter(|to| matches!(to.target, Target::Node(_))).filter_map(|to| to.address)
}
