//! The subnet manager `OpenSM` on simulated fabrics: its tables read, its verdicts compared, and our tables loaded by it.
//!
//! Needs the programs `opensm`, `ibsim` (with its library `libumad2sim.so`), `ibdmchk` and `python3`, which Debian has as `opensm`,
//! `ibsim-utils`, `ibutils` and `python3`. Without them the test says so and passes, unless the environment variable `WORMCAST_OPENSM` is
//! `required`; then it also takes more fabrics.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wormcast_network::{FileFormat, Network, NetworkBuilder, NetworkIbsim, NodeDetails, RouterId};
use wormcast_routing::{
    Changed, Dependencies, ForwardingTables, GroupBranching, HopMatrix, MulticastTables, NetworkLfts, NetworkMcfdbs,
    RoutingOptions, RoutingRelation, UnicastWaits, VirtualLanes, analyse_tables, choose_tables, parse_fdbs,
    parse_hop_matrix, parse_lfts, parse_multicast_tables, repair, routing_by_name,
};

/// No program may take longer than this.
const LONGEST: Duration = Duration::from_secs(30);

/// Where the programs are.
struct Programs {
    opensm: PathBuf,
    ibsim: PathBuf,
    ibdmchk: PathBuf,
    python: PathBuf,
    /// Connects `OpenSM` to ibsim.
    library: PathBuf,
}

impl Programs {
    /// The programs, or which one is missing.
    fn find() -> Result<Self, &'static str> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        folders.extend(["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from));
        let find = |name: &'static str| folders.iter().map(|f| f.join(name)).find(|p| p.is_file()).ok_or(name);
        let below = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let library = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].into_iter().flat_map(|folder| {
            std::iter::once(PathBuf::from(folder)).chain(below(folder)).map(|f| f.join("umad2sim/libumad2sim.so"))
        });
        Ok(Self {
            opensm: find("opensm")?,
            ibsim: find("ibsim")?,
            ibdmchk: find("ibdmchk")?,
            // Of those that are installed, the system's: the library is preloaded into it.
            python: Some(PathBuf::from("/usr/bin/python3"))
                .filter(|python| python.is_file())
                .map_or_else(|| find("python3"), Ok)?,
            library: library.into_iter().find(|p| p.is_file()).ok_or("libumad2sim.so")?,
        })
    }
}

/// The programs and how many fabrics to try; `None` if the test cannot run and need not.
fn setting() -> Option<(Programs, u64)> {
    let required = std::env::var("WORMCAST_OPENSM").is_ok_and(|value| value == "required");
    match Programs::find() {
        Ok(programs) => Some((programs, if required { 60 } else { 6 })),
        Err(missing) => {
            assert!(!required, "`{missing}` is not installed; Debian has it in opensm, ibsim-utils and ibutils");
            eprintln!("skipped: `{missing}` is not installed");
            None
        }
    }
}

/// A program that ends with the test, whatever happens.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().expect("a child") {
                return status;
            }
            assert!(start.elapsed() < LONGEST, "a program takes too long");
            sleep(Duration::from_millis(5));
        }
    }
}

/// A fabric that ibsim simulates, in a folder of its own.
struct Simulated<'p> {
    programs: &'p Programs,
    folder: TempDir,
    socket: String,
    host: String,
    _ibsim: Running,
}

impl<'p> Simulated<'p> {
    fn start(programs: &'p Programs, fabric: &Arc<Network>) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("fabric.net"), NetworkIbsim(fabric).to_string()).unwrap();
        fs::write(folder.path().join("opensm.conf"), "force_log_flush TRUE\nhonor_guid2lid_file TRUE\n").unwrap();
        let socket = format!("wormcast-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let log = File::create(folder.path().join("ibsim.log")).unwrap();
        let ibsim = Command::new(&programs.ibsim)
            .args(["-s", "-n", "fabric.net"])
            .current_dir(folder.path())
            .env("IBSIM_SOCKNAME", &socket)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        let host = fabric.node_name(wormcast_network::NodeId::new(0)).unwrap().to_owned();
        Self { programs, folder, socket, host, _ibsim: Running(ibsim.expect("ibsim starts")) }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Lets `OpenSM` route the fabric once; the tables that it dumps.
    fn route(&self, engine: &str, arguments: &[&str]) -> String {
        let start = Instant::now();
        loop {
            let log = File::create(self.path().join("opensm.out")).unwrap();
            let opensm = Command::new(&self.programs.opensm)
                .args(["--once", "-F", "opensm.conf", "-e", "-f", "opensm.log", "-D", "0x43", "-R", engine])
                .args(arguments)
                .current_dir(self.path())
                .env("LD_PRELOAD", &self.programs.library)
                .env("IBSIM_SOCKNAME", &self.socket)
                .env("SIM_HOST", &self.host)
                .env("OSM_TMP_DIR", self.path())
                .env("OSM_CACHE_DIR", self.path())
                .stdin(Stdio::null())
                .stdout(log.try_clone().unwrap())
                .stderr(log)
                .spawn();
            let status = Running(opensm.expect("opensm starts")).wait();
            if status.success() {
                break;
            }
            // ibsim may not listen yet.
            let said = self.read("opensm.out");
            assert!(said.contains("ibpanic") && start.elapsed() < LONGEST, "{said}");
            sleep(Duration::from_millis(20));
        }
        let log = self.read("opensm.log");
        assert!(log.contains(&format!("{engine} tables configured on all switches")), "not by {engine}: {log}");
        self.read("opensm-lfts.dump")
    }

    /// Starts `OpenSM`, which routes the fabric and then serves it; it ends with what is returned.
    fn serve(&self, engine: &str, arguments: &[&str]) -> Running {
        let start = Instant::now();
        let _ = fs::remove_file(self.path().join("opensm.log"));
        loop {
            let log = File::create(self.path().join("opensm.out")).unwrap();
            let opensm = Command::new(&self.programs.opensm)
                .args(["-F", "opensm.conf", "-e", "-f", "opensm.log", "-D", "0x43", "-R", engine])
                .args(arguments)
                .current_dir(self.path())
                .env("LD_PRELOAD", &self.programs.library)
                .env("IBSIM_SOCKNAME", &self.socket)
                .env("SIM_HOST", &self.host)
                .env("OSM_TMP_DIR", self.path())
                .env("OSM_CACHE_DIR", self.path())
                .stdin(Stdio::null())
                .stdout(log.try_clone().unwrap())
                .stderr(log)
                .spawn();
            let mut opensm = Running(opensm.expect("opensm starts"));
            while opensm.0.try_wait().expect("a child").is_none() {
                let log = fs::read(self.path().join("opensm.log")).unwrap_or_default();
                if String::from_utf8_lossy(&log).contains("SUBNET UP") {
                    return opensm;
                }
                assert!(start.elapsed() < LONGEST, "{}", self.read("opensm.out"));
                sleep(Duration::from_millis(5));
            }
            // ibsim may not listen yet.
            let said = self.read("opensm.out");
            assert!(said.contains("ibpanic") && start.elapsed() < LONGEST, "{said}");
            sleep(Duration::from_millis(20));
        }
    }

    /// Lets a host join groups, whose addresses are returned.
    fn join(&self, host: &str, groups: &[u32]) -> Vec<u16> {
        let joined = Command::new(&self.programs.python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/join.py"))
            .args(groups.iter().map(u32::to_string))
            .current_dir(self.path())
            .env("LD_PRELOAD", &self.programs.library)
            .env("IBSIM_SOCKNAME", &self.socket)
            .env("SIM_HOST", host)
            .stdin(Stdio::null())
            .output()
            .expect("python3 starts");
        let said = String::from_utf8_lossy(&joined.stderr);
        assert!(joined.status.success(), "{host}: {said}");
        let text = String::from_utf8(joined.stdout).expect("text");
        text.lines().map(|line| u16::from_str_radix(&line[2..], 16).expect("an address")).collect()
    }

    /// Whether `ibdmchk` finds credit loops in what `OpenSM` set up last. It may crash after it has: only its text counts.
    fn has_credit_loops(&self) -> bool {
        self.ibdmchk(&[])
    }

    fn ibdmchk(&self, options: &[&str]) -> bool {
        let out = File::create(self.path().join("ibdmchk.out")).unwrap();
        let ibdmchk = Command::new(&self.programs.ibdmchk)
            .args(["-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs"])
            .args(options)
            .current_dir(self.path())
            .stdin(Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .spawn();
        Running(ibdmchk.expect("ibdmchk starts")).wait();
        let text = self.read("ibdmchk.out");
        match (text.contains("no credit loops found"), text.contains("Found credit loop")) {
            (true, false) => false,
            (false, true) => true,
            _ => panic!("no verdict: {text}"),
        }
    }
}

/// The same numbers in every run, by splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % u64::from(limit)) as u32
    }
}

/// A connected fabric of 4 to 24 switches, some of them without hosts, with parallel links and adapters with two ports.
fn random_fabric(seed: u64) -> Arc<Network> {
    let mut random = Random(seed);
    let switches = 4 + random.below(21);
    let mut builder = NetworkBuilder::new(format!("fabric {seed}"));
    builder.at_least(switches as usize).unwrap();
    let mut links: Vec<(u32, u32)> = (1..switches).map(|v| (random.below(v), v)).collect();
    for _ in 0..random.below(2 * switches) {
        let (u, v) = (random.below(switches), random.below(switches));
        if u != v {
            links.push((u, v));
        }
    }
    for (u, v) in links {
        builder.link(RouterId::new(u), RouterId::new(v)).unwrap();
    }
    for switch in 0..switches {
        // Two hosts at least, somewhere.
        let hosts = if switch < 2 { 1 + random.below(2) } else { random.below(3) };
        for _ in 0..hosts {
            builder.node(RouterId::new(switch), NodeDetails::default()).unwrap();
        }
    }
    let network = builder.build().unwrap();
    // As a file, with names and ports.
    FileFormat::Fabric.parse(network.name(), &NetworkIbsim(&network).to_string()).unwrap()
}

fn can_deadlock(tables: &ForwardingTables) -> bool {
    Dependencies::of_tables(tables).deadlock(1).is_some()
}

#[test]
fn verdicts_agree_with_ibdmchk() {
    let Some((programs, fabrics)) = setting() else { return };
    let mut loops = [0, 0];
    for seed in 0..fabrics {
        let fabric = random_fabric(seed);
        let simulated = Simulated::start(&programs, &fabric);
        let dump = if seed % 3 == 2 {
            let root = seed as u32 % fabric.routers() as u32;
            let guid = fabric.router_guid(RouterId::new(root)).unwrap();
            fs::write(simulated.path().join("roots"), format!("{guid:#x}\n")).unwrap();
            simulated.route("updn", &["-a", "roots"])
        } else {
            simulated.route("minhop", &[])
        };
        let tables = parse_lfts(&fabric, "dump", &dump).unwrap();
        let report = analyse_tables(&tables);
        assert_eq!((report.undelivered_pairs, report.loop_count), (0, 0), "fabric {seed}");
        let verdict = simulated.has_credit_loops();
        assert_eq!(can_deadlock(&tables), verdict, "fabric {seed}");
        loops[usize::from(verdict)] += 1;
        // What we write is what OpenSM wrote, and its two files say the same.
        assert_eq!(NetworkLfts::new(&tables).unwrap().to_string(), dump, "fabric {seed}");
        let again = parse_fdbs(&fabric, "fdbs", &simulated.read("opensm.fdbs")).unwrap();
        assert_eq!((again.entries(), again.unidentified()), (tables.entries(), 0), "fabric {seed}");
        assert_eq!(NetworkLfts::new(&again).unwrap().to_string(), dump, "fabric {seed}");
    }
    let [without, with] = loops;
    eprintln!("{fabrics} fabrics: {without} without credit loops, {with} with");
    assert!(without > 0 && with > 0);
}

/// Multicast tables with some random trees over the switches of a fabric, whose leaves without members are cut off in every second one.
fn random_trees(fabric: &Network, random: &mut Random) -> String {
    let routers = fabric.routers() as u32;
    let mut masks: Vec<Vec<(u16, Vec<u32>)>> = vec![Vec::new(); fabric.routers()];
    for group in 0..=random.below(4) {
        let mut tree: Vec<Vec<u32>> = vec![Vec::new(); fabric.routers()];
        let mut joined = vec![false; fabric.routers()];
        let mut open = vec![RouterId::new(random.below(routers))];
        joined[open[0].index()] = true;
        while !open.is_empty() {
            let at = random.below(open.len() as u32) as usize;
            let mut further: Vec<_> = fabric.outputs(open[at]).filter(|&c| !joined[fabric.to(c).index()]).collect();
            if further.is_empty() {
                open.swap_remove(at);
                continue;
            }
            let channel = further.swap_remove(random.below(further.len() as u32) as usize);
            for end in [channel, fabric.reverse(channel)] {
                tree[fabric.from(end).index()].push(fabric.port_of(end).unwrap());
            }
            joined[fabric.to(channel).index()] = true;
            open.push(fabric.to(channel));
        }
        let members: Vec<_> = fabric.node_ids().filter(|_| random.below(2) == 0).collect();
        for &node in &members {
            tree[fabric.router_of(node).index()].push(fabric.node_port(node).unwrap());
        }
        // A switch with one port has nothing to forward.
        while group % 2 == 0
            && let Some(leaf) = fabric.router_ids().find(|router| tree[router.index()].len() == 1)
        {
            let port = tree[leaf.index()].pop().unwrap();
            if let Some(channel) = fabric.channel_by_port(leaf, port) {
                let back = fabric.port_of(fabric.reverse(channel)).unwrap();
                tree[fabric.to(channel).index()].retain(|&other| other != back);
            }
        }
        for (masks, ports) in masks.iter_mut().zip(tree).filter(|(_, ports)| !ports.is_empty()) {
            masks.push((0xc001 + group as u16, ports));
        }
    }
    let mut text = String::new();
    for (router, masks) in fabric.router_ids().zip(masks).filter(|(_, masks)| !masks.is_empty()) {
        write!(text, "\nSwitch {:#018x}\nLID    : Out Port(s)\n", fabric.router_guid(router).unwrap()).unwrap();
        for (mlid, mut ports) in masks {
            ports.sort_unstable();
            let ports: Vec<String> = ports.iter().map(|port| format!("{port:#05x} ")).collect();
            text += &format!("{mlid:#06X} : {}\n", ports.join(" ")).replace("0XC", "0xC");
        }
    }
    text
}

fn can_deadlock_together(
    tables: &ForwardingTables,
    groups: &MulticastTables,
    how: GroupBranching,
    lanes: Option<&VirtualLanes>,
) -> bool {
    let laned = tables.network().in_lanes(lanes.map_or(1, VirtualLanes::count));
    let unicasts =
        lanes.map_or_else(|| UnicastWaits::by_channel(tables), |lanes| UnicastWaits::in_lanes(tables, lanes));
    let mut union = unicasts.dependencies(&laned);
    union.add_worms(|worms| (0..groups.groups().len()).for_each(|group| groups.add(worms, group, how, lanes)));
    let union = if how == GroupBranching::Ibdmchk { union.reached_by_hosts(&unicasts) } else { union };
    union.deadlock(1).is_some()
}

#[test]
fn verdicts_on_multicast_tables_agree_with_ibdmchk() {
    let Some((programs, fabrics)) = setting() else { return };
    let (mut loops, mut by_packets) = ([0, 0], 0);
    for seed in 2000..2000 + fabrics {
        let fabric = random_fabric(seed);
        let simulated = Simulated::start(&programs, &fabric);
        // Loops of unicasts alone would say little of multicasts: most fabrics are routed without.
        let dump = if seed % 4 == 0 {
            simulated.route("minhop", &[])
        } else {
            let guid = fabric.router_guid(RouterId::new(seed as u32 % fabric.routers() as u32)).unwrap();
            fs::write(simulated.path().join("roots"), format!("{guid:#x}\n")).unwrap();
            simulated.route("updn", &["-a", "roots"])
        };
        let tables = parse_lfts(&fabric, "dump", &dump).unwrap();
        let text = random_trees(&fabric, &mut Random(seed));
        fs::write(simulated.path().join("opensm.mcfdbs"), &text).unwrap();
        let groups = parse_multicast_tables(&fabric, "opensm.mcfdbs", &text).unwrap();
        let deadlock = |how| can_deadlock_together(&tables, &groups, how, None);
        let verdict = simulated.ibdmchk(&["-M"]);
        assert_eq!(deadlock(GroupBranching::Ibdmchk), verdict, "fabric {seed}: {text}");
        loops[usize::from(verdict)] += 1;
        by_packets += usize::from(deadlock(GroupBranching::Packets) != verdict);
    }
    let [without, with] = loops;
    eprintln!(
        "{fabrics} fabrics with groups: {without} without credit loops, {with} with; what packets do differs in {by_packets}"
    );
    assert!(without > 0 && with > 0);
}

/// Service levels of all paths below `levels`, in the form that `ibdmchk -c` reads: identifiers of adapters, decimal addresses.
fn random_levels(fabric: &Network, tables: &ForwardingTables, levels: u32, random: &mut Random) -> String {
    let mut text = String::new();
    let mut adapters: Vec<u64> = fabric.node_ids().filter_map(|node| fabric.adapter_guid(node)).collect();
    adapters.sort_unstable();
    adapters.dedup();
    for adapter in adapters {
        for address in tables.destinations().iter().filter_map(|destination| destination.address) {
            writeln!(text, "{adapter:#018x} {address} {}", random.below(levels)).unwrap();
        }
    }
    text
}

/// Lanes of the service levels, in the form that `ibdmchk -d` reads: for every pair of ports their own, or for all switches the same.
fn random_maps(fabric: &Network, lanes: u32, by_port: bool, random: &mut Random) -> String {
    let mut text = String::new();
    let all: Vec<u32> = (0..16).map(|_| random.below(lanes)).collect();
    for router in fabric.router_ids() {
        let ports = fabric.router_ports(router).unwrap();
        for (arriving, leaving) in (0..=ports).flat_map(|a| (0..=ports).map(move |b| (a, b))) {
            write!(text, "{:#018x} {arriving} {leaving}", fabric.router_guid(router).unwrap()).unwrap();
            for pair in all.chunks(2) {
                let lane = |of: u32, random: &mut Random| if by_port { random.below(lanes) } else { of };
                let (one, other) = (lane(pair[0], random), lane(pair[1], random));
                write!(text, " 0x{one:x}{other:x}").unwrap();
            }
            text.push('\n');
        }
    }
    text
}

#[test]
fn verdicts_lane_by_lane_agree_with_ibdmchk() {
    let Some((programs, fabrics)) = setting() else { return };
    let (mut loops, mut on_one_lane, mut by_packets) = ([0, 0], 0, 0);
    for seed in 3000..3000 + fabrics {
        let fabric = random_fabric(seed);
        let simulated = Simulated::start(&programs, &fabric);
        let tables = parse_lfts(&fabric, "dump", &simulated.route("minhop", &[])).unwrap();
        let mut random = Random(seed);
        // Of a group whose members are all at one switch, nothing may be left.
        let text = std::iter::repeat_with(|| random_trees(&fabric, &mut random)).find(|text| !text.is_empty()).unwrap();
        fs::write(simulated.path().join("opensm.mcfdbs"), &text).unwrap();
        let groups = parse_multicast_tables(&fabric, "opensm.mcfdbs", &text).unwrap();
        let count = 2 + random.below(4);
        let levels = random_levels(&fabric, &tables, count, &mut random);
        let maps = random_maps(&fabric, count, seed % 3 == 0, &mut random);
        let mut lanes = VirtualLanes::new(&fabric).unwrap().with_levels(&tables, "levels", &levels).unwrap();
        fs::write(simulated.path().join("levels"), &levels).unwrap();
        let mut options = vec!["-M", "-c", "levels"];
        // Without tables of lanes, each level is a lane of its own.
        if seed % 4 != 0 {
            fs::write(simulated.path().join("maps"), &maps).unwrap();
            lanes = lanes.with_maps("maps", &maps).unwrap();
            options.extend(["-d", "maps"]);
        }
        let verdict = simulated.ibdmchk(&options);
        let deadlock = |how, lanes| can_deadlock_together(&tables, &groups, how, lanes);
        assert_eq!(deadlock(GroupBranching::Ibdmchk, Some(&lanes)), verdict, "fabric {seed}");
        loops[usize::from(verdict)] += 1;
        on_one_lane += usize::from(deadlock(GroupBranching::Ibdmchk, None) != verdict);
        by_packets += usize::from(deadlock(GroupBranching::Packets, Some(&lanes)) != verdict);
    }
    let [without, with] = loops;
    eprintln!(
        "{fabrics} fabrics with lanes: {without} without credit loops, {with} with; one lane for all differs in {on_one_lane}, what packets do in \
         {by_packets}"
    );
    assert!(without > 0 && with > 0 && (on_one_lane > 0 || fabrics < 10));
}

/// Waits until the multicast tables are these.
fn expect_trees(simulated: &Simulated<'_>, expected: &str, what: &str) {
    let start = Instant::now();
    while simulated.read("opensm.mcfdbs") != expected && start.elapsed() < LONGEST {
        sleep(Duration::from_millis(10));
    }
    assert_eq!(simulated.read("opensm.mcfdbs"), expected, "{what}");
}

/// Groups that hosts of a fabric join while `OpenSM` serves it, as a file of groups.
fn join_groups(simulated: &Simulated<'_>, fabric: &Network, random: &mut Random) -> String {
    let mut members: BTreeMap<u16, Vec<String>> = BTreeMap::new();
    let groups: Vec<u32> = (1..=1 + random.below(3)).collect();
    // An adapter whose ports are two nodes joins with its first.
    let hosts = fabric.node_ids().filter_map(|node| fabric.node_name(node)).filter(|name| !name.contains('['));
    for host in hosts {
        let joins: Vec<u32> = groups.iter().copied().filter(|_| random.below(3) == 0).collect();
        if joins.is_empty() {
            continue;
        }
        for mlid in simulated.join(host, &joins) {
            members.entry(mlid).or_default().push(host.to_owned());
        }
    }
    let lines: Vec<String> =
        members.iter().map(|(mlid, members)| format!("{mlid:#06x}: {}", members.join(";"))).collect();
    lines.join("\n")
}

#[test]
fn our_trees_are_those_of_opensm() {
    let Some((programs, fabrics)) = setting() else { return };
    let (mut groups_built, mut loops, mut by_tables) = (0, 0, 0);
    for seed in 4000..4000 + fabrics {
        let fabric = random_fabric(seed);
        let simulated = Simulated::start(&programs, &fabric);
        let guid = fabric.router_guid(RouterId::new(seed as u32 % fabric.routers() as u32)).unwrap();
        fs::write(simulated.path().join("roots"), format!("{guid:#x}\n")).unwrap();
        let engine = if seed % 3 == 0 { "minhop" } else { "updn" };
        let _opensm = simulated.serve(engine, if engine == "updn" { &["-a", "roots"] } else { &[] });
        let members = join_groups(&simulated, &fabric, &mut Random(seed));
        if members.is_empty() {
            continue;
        }
        let tables = parse_lfts(&fabric, "dump", &simulated.read("opensm-lfts.dump")).unwrap();
        let joined = MulticastTables::empty(&fabric).with_members(&tables, "groups", &members).unwrap();
        let matrix = parse_hop_matrix(&fabric, "matrix", &simulated.read("opensm-lid-matrix.dump")).unwrap();
        let built = joined.clone().with_trees(&matrix);
        let expected = NetworkMcfdbs::new(&built).unwrap().to_string();
        expect_trees(&simulated, &expected, &format!("fabric {seed}, {engine}, {members}"));
        groups_built += built.groups().len();
        assert!(built.reports(None).iter().all(|group| group.connected && group.doubled.is_empty()), "fabric {seed}");
        // Without the matrix, from the tables: what OpenSM may have had.
        let guessed = joined.with_trees(&HopMatrix::of_tables(&tables).unwrap());
        let same = NetworkMcfdbs::new(&guessed).unwrap().to_string() == expected;
        by_tables += usize::from(same);
        assert!(same || engine == "updn", "fabric {seed}");
        let deadlock = can_deadlock_together(&tables, &built, GroupBranching::Packets, None);
        loops += usize::from(engine == "updn" && deadlock);
    }
    eprintln!(
        "{groups_built} trees on {fabrics} fabrics; without the matrix they are the same on {by_tables}; with updn {loops} fabrics can deadlock"
    );
    assert!(groups_built > 0);
}

#[test]
fn repaired_tables_are_loaded_and_have_no_loop() {
    let Some((programs, fabrics)) = setting() else { return };
    let mut changed: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 5000..5000 + fabrics {
        let fabric = random_fabric(seed);
        let simulated = Simulated::start(&programs, &fabric);
        let guid = fabric.router_guid(RouterId::new(seed as u32 % fabric.routers() as u32)).unwrap();
        fs::write(simulated.path().join("roots"), format!("{guid:#x}\n")).unwrap();
        let engine = if seed % 4 == 0 { "minhop" } else { "updn" };
        let opensm = simulated.serve(engine, if engine == "updn" { &["-a", "roots"] } else { &[] });
        let members = join_groups(&simulated, &fabric, &mut Random(seed));
        if members.is_empty() {
            continue;
        }
        drop(opensm);
        let tables = parse_lfts(&fabric, "dump", &simulated.read("opensm-lfts.dump")).unwrap();
        let joined = MulticastTables::empty(&fabric).with_members(&tables, "groups", &members).unwrap();
        // Every second fabric: any trees, not those of OpenSM.
        let matrix = parse_hop_matrix(&fabric, "matrix", &simulated.read("opensm-lid-matrix.dump")).unwrap();
        let built = if seed % 2 == 0 {
            joined.with_trees(&matrix)
        } else {
            let trees = HopMatrix::of_shortest_paths(&fabric).unwrap();
            joined.with_trees(&trees)
        };
        let repaired = repair(&tables, &built, 1).unwrap();
        *changed.entry(repaired.changed.name()).or_default() += 1;
        assert_eq!(repaired.changed == Changed::Unicasts, repaired.changed_entries > 0, "fabric {seed}");
        let report = analyse_tables(&repaired.tables);
        assert_eq!((report.undelivered_pairs, report.loop_count), (0, 0), "fabric {seed}");
        assert!(!can_deadlock_together(&repaired.tables, &repaired.multicasts, GroupBranching::Packets, None));
        assert!(repaired.multicasts.reports(None).iter().all(|group| group.connected && group.doubled.is_empty()));

        // OpenSM takes both, builds these trees, and ibdmchk finds no loop. The matrix is about addresses, so they stay.
        let addresses = simulated.read("guid2lid");
        drop(simulated);
        let simulated = Simulated::start(&programs, &fabric);
        fs::write(simulated.path().join("guid2lid"), addresses).unwrap();
        fs::write(simulated.path().join("tables"), NetworkLfts::new(&repaired.tables).unwrap().to_string()).unwrap();
        let mut options = vec!["-U", "tables"];
        let matrix = repaired.matrix.as_ref().unwrap_or(&matrix);
        if repaired.matrix.is_some() || seed % 2 == 0 {
            fs::write(simulated.path().join("hops"), matrix.text(&tables).unwrap()).unwrap();
            options.extend(["-M", "hops"]);
        }
        let _opensm = simulated.serve("file", &options);
        rejoin(&simulated, &members);
        if options.len() > 2 {
            let expected = NetworkMcfdbs::new(&repaired.multicasts).unwrap().to_string();
            expect_trees(&simulated, &expected, &format!("fabric {seed}, {engine}, {:?}", repaired.changed));
            assert!(!simulated.ibdmchk(&["-M"]), "fabric {seed}");
        }
        assert!(!simulated.has_credit_loops(), "fabric {seed}");
    }
    eprintln!("{fabrics} fabrics: {changed:?}");
    assert!(changed.len() > 1);
}

/// Lets hosts join the groups of a file again, which get their addresses in the order in which they are created.
fn rejoin(simulated: &Simulated<'_>, members: &str) {
    let mut joins: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for line in members.lines() {
        let (mlid, hosts) = line.split_once(": ").unwrap();
        let mlid = u16::from_str_radix(&mlid[2..], 16).unwrap();
        let group = u32::from(mlid - 0xc000);
        let mut hosts = hosts.split(';');
        assert_eq!(simulated.join(hosts.next().unwrap(), &[group]), [mlid]);
        hosts.for_each(|host| joins.entry(host).or_default().push(group));
    }
    for (host, groups) in joins {
        simulated.join(host, &groups);
    }
}

#[test]
fn opensm_loads_our_tables_unchanged() {
    let Some((programs, fabrics)) = setting() else { return };
    for seed in 1000..1000 + fabrics / 3 {
        let fabric = random_fabric(seed);
        let name = if seed % 2 == 0 { "up-down" } else { "turn-prohibition" };
        let relation = routing_by_name(name, &fabric, &RoutingOptions::default()).unwrap();
        let tables = choose_tables(relation.as_ref(), true).unwrap().tables;
        let simulated = Simulated::start(&programs, &fabric);
        let text = NetworkLfts::new(&tables).unwrap().to_string();
        fs::write(simulated.path().join("tables"), &text).unwrap();
        let dump = simulated.route("file", &["-U", "tables"]);
        let loaded = parse_lfts(&fabric, "dump", &dump).unwrap();
        assert_eq!(loaded.entries(), tables.entries(), "fabric {seed}");
        for (place, destination) in tables.destinations().iter().enumerate() {
            let there = loaded.addresses_of(destination.target).next().expect("the destination has an address");
            assert!(tables.entries_for(place).eq(loaded.entries_for(there)), "fabric {seed}: {destination:?}");
        }
        assert!(!simulated.has_credit_loops() && !can_deadlock(&loaded), "fabric {seed}");
    }
}
