//! The subnet manager `OpenSM` on fabrics that ibsim simulates, what hosts do there, and random fabrics and tables.
//!
//! Needs the programs `opensm`, `ibsim` (with its library `libumad2sim.so`), `ibdmchk` and `python3`, which Debian has as `opensm`,
//! `ibsim-utils`, `ibutils` and `python3`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::ops::Range;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wormcast_network::{FileFormat, Network, NetworkBuilder, NetworkIbsim, NodeDetails, RouterId};
use wormcast_routing::ForwardingTables;

/// No program may take longer than this.
const LONGEST: Duration = Duration::from_secs(30);

/// Where the programs are.
pub(crate) struct Programs {
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
pub(crate) fn setting() -> Option<(Programs, u64)> {
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

/// What a test finds on each of some fabrics, in any order. The programs mostly wait for each other, so several fabrics have their turn at once.
pub(crate) fn on_each<T: Send>(seeds: Range<u64>, test: impl Fn(u64) -> T + Sync) -> Vec<T> {
    const AT_ONCE: usize = 4;
    let seeds = Mutex::new(seeds);
    let work = || std::iter::from_fn(|| seeds.lock().unwrap().next()).map(&test).collect::<Vec<T>>();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let found = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        found.flatten().collect()
    })
}

/// A program that ends with the test, whatever happens.
pub(crate) struct Running(Child);

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
pub(crate) struct Simulated<'p> {
    programs: &'p Programs,
    folder: TempDir,
    socket: String,
    host: String,
    _ibsim: Running,
}

impl<'p> Simulated<'p> {
    pub(crate) fn start(programs: &'p Programs, fabric: &Arc<Network>) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // In memory if possible: what stands in for the kernel's files of an adapter is made anew for every program, some MB in all.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
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

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Lets `OpenSM` route the fabric once; the tables that it dumps.
    pub(crate) fn route(&self, engine: &str, arguments: &[&str]) -> String {
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
    pub(crate) fn serve(&self, engine: &str, arguments: &[&str]) -> Running {
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

    /// Lets a host join groups, whose addresses are returned. Those that it creates have this service level, and the address that is asked for.
    pub(crate) fn join(&self, host: &str, groups: &[(u32, Option<u16>)], level: u8) -> Vec<u16> {
        let argument = |&(group, asked): &(u32, Option<u16>)| {
            asked.map_or_else(|| group.to_string(), |mlid| format!("{group}:{mlid:x}"))
        };
        let joined = Command::new(&self.programs.python)
            .args(["-c", include_str!("join.py"), &level.to_string()])
            .args(groups.iter().map(argument))
            .current_dir(self.path())
            .env("LD_PRELOAD", &self.programs.library)
            .env("IBSIM_SOCKNAME", &self.socket)
            .env("SIM_HOST", host)
            .stdin(Stdio::null())
            .output()
            .expect("python3 starts");
        let said = String::from_utf8_lossy(&joined.stderr);
        let log = self.read("opensm.log");
        let errors: Vec<&str> = log.lines().filter(|line| line.contains("ERR ")).collect();
        assert!(joined.status.success(), "{host}, {groups:?}, level {level}: {said}\n{}", errors.join("\n"));
        let text = String::from_utf8(joined.stdout).expect("text");
        text.lines().map(|line| u16::from_str_radix(&line[2..], 16).expect("an address")).collect()
    }

    /// The service levels of the paths between these addresses, as the subnet administration says: lines of source, destination and level.
    pub(crate) fn levels(&self, addresses: &[u16]) -> Vec<[u16; 3]> {
        let asked = Command::new(&self.programs.python)
            .args(["-c", include_str!("paths.py")])
            .args(addresses.iter().map(u16::to_string))
            .current_dir(self.path())
            .env("LD_PRELOAD", &self.programs.library)
            .env("IBSIM_SOCKNAME", &self.socket)
            .env("SIM_HOST", &self.host)
            .stdin(Stdio::null())
            .output()
            .expect("python3 starts");
        assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
        let text = String::from_utf8(asked.stdout).expect("text");
        let numbers =
            |line: &str| -> Vec<u16> { line.split(' ').map(|number| number.parse().expect("a number")).collect() };
        text.lines().map(|line| numbers(line).try_into().expect("three numbers")).collect()
    }

    /// The engine whose tables `OpenSM` configured last: another than was asked for if that could not route the fabric.
    pub(crate) fn engine(&self) -> String {
        let log = self.read("opensm.log");
        let said = log.lines().rev().find_map(|line| line.split_once("osm_ucast_mgr_process: "));
        let (engine, _) = said.and_then(|(_, said)| said.split_once(" tables configured")).expect("the log names it");
        engine.to_owned()
    }

    /// Whether `ibdmchk` finds credit loops in what `OpenSM` set up last. It may crash after it has: only its text counts.
    pub(crate) fn has_credit_loops(&self) -> bool {
        self.ibdmchk(&[])
    }

    pub(crate) fn ibdmchk(&self, options: &[&str]) -> bool {
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
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % u64::from(limit)) as u32
    }
}

/// A connected fabric of 4 to 24 switches, some of them without hosts, with parallel links and adapters with two ports.
pub(crate) fn random_fabric(seed: u64) -> Arc<Network> {
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

/// Multicast tables with some random trees over the switches of a fabric, whose leaves without members are cut off in those groups that `prunes` says.
pub(crate) fn random_trees(fabric: &Network, random: &mut Random, prunes: impl Fn(u32) -> bool) -> String {
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
        while prunes(group)
            && let Some(leaf) = fabric.router_ids().find(|router| tree[router.index()].len() == 1)
        {
            let port = tree[leaf.index()].pop().unwrap();
            if let Some(channel) = fabric.channel_by_port(leaf, port) {
                let back = fabric.port_of(fabric.reverse(channel)).unwrap();
                tree[fabric.to(channel).index()].retain(|&other| other != back);
            }
        }
        for (masks, ports) in masks.iter_mut().zip(tree).filter(|(_, ports)| !ports.is_empty()) {
            // With gaps: no address is that of the group before.
            masks.push((0xc001 + 2 * group as u16, ports));
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

/// Service levels of all paths below `levels`, in the form that `ibdmchk -c` reads: identifiers of adapters, decimal addresses.
pub(crate) fn random_levels(fabric: &Network, tables: &ForwardingTables, levels: u32, random: &mut Random) -> String {
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
pub(crate) fn random_maps(fabric: &Network, lanes: u32, by_port: bool, random: &mut Random) -> String {
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

/// Waits until the multicast tables are these.
pub(crate) fn expect_trees(simulated: &Simulated<'_>, expected: &str, what: &str) {
    let start = Instant::now();
    while simulated.read("opensm.mcfdbs") != expected && start.elapsed() < LONGEST {
        sleep(Duration::from_millis(10));
    }
    assert_eq!(simulated.read("opensm.mcfdbs"), expected, "{what}");
}

/// Groups that hosts of a fabric join while `OpenSM` serves it, and now and then a switch, as a file of groups.
pub(crate) fn join_groups(simulated: &Simulated<'_>, fabric: &Network, random: &mut Random) -> String {
    let mut members: BTreeMap<u16, Vec<String>> = BTreeMap::new();
    let groups: Vec<u32> = (1..=1 + random.below(3)).collect();
    // An adapter whose ports are two nodes joins with its first.
    let hosts = fabric.node_ids().filter_map(|node| fabric.node_name(node)).filter(|name| !name.contains('['));
    let switches = fabric.router_ids().filter_map(|router| fabric.router_name(router));
    // Whether switches join changes nothing for hosts.
    let mut apart = Random(random.0 ^ 0x5357);
    for (host, is_switch) in hosts.map(|host| (host, false)).chain(switches.map(|switch| (switch, true))) {
        let mut joins_one = || if is_switch { apart.below(6) == 0 } else { random.below(3) == 0 };
        let joins: Vec<_> = groups.iter().map(|&group| (group, None)).filter(|_| joins_one()).collect();
        if joins.is_empty() {
            continue;
        }
        for mlid in simulated.join(host, &joins, 0) {
            members.entry(mlid).or_default().push(host.to_owned());
        }
    }
    let lines: Vec<String> =
        members.iter().map(|(mlid, members)| format!("{mlid:#06x}: {}", members.join(";"))).collect();
    lines.join("\n")
}

/// Lets hosts join the groups of a file again, which get this service level, and the addresses that they had. The last group is created first: neither the order
/// nor gaps change what `OpenSM` builds for a group.
pub(crate) fn rejoin(simulated: &Simulated<'_>, members: &str, level: u8) {
    let mut joins: BTreeMap<&str, Vec<(u32, Option<u16>)>> = BTreeMap::new();
    for line in members.lines().rev() {
        let (mlid, hosts) = line.split_once(": ").unwrap();
        let mlid = u16::from_str_radix(&mlid[2..], 16).unwrap();
        let group = u32::from(mlid - 0xc000);
        let mut hosts = hosts.split(';').filter(|host| !host.is_empty());
        let Some(first) = hosts.next() else { continue };
        assert_eq!(simulated.join(first, &[(group, Some(mlid))], level), [mlid]);
        hosts.for_each(|host| joins.entry(host).or_default().push((group, None)));
    }
    for (host, groups) in joins {
        simulated.join(host, &groups, level);
    }
}
