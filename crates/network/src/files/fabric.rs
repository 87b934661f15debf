//! InfiniBand fabrics: networks of `ibsim` and the output of `ibnetdiscover`, which share their form.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::FileContext;
use crate::builder::{MAX_NODES, NetworkBuilder, NodeDetails};
use crate::error::TopologyError;
use crate::ids::RouterId;
use crate::network::{AdapterPort, Network};
use crate::text::{did_you_mean, shortened};
use crate::topologies::spec::MAX_ROUTERS;

const EXPECTED: &str = "a record such as `Switch 36 \"S1\"` with a line such as `[1] \"H1\"[1]` for each cable";
/// The most ports of a switch or an adapter: InfiniBand has a byte for their numbers, and keeps 255.
pub(super) const MAX_SWITCH_PORTS: u32 = 254;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Switch,
    Adapter,
}

/// A switch or a host adapter.
struct Device<'t> {
    kind: Kind,
    id: &'t str,
    line: usize,
    ports: u32,
    guid: u64,
    /// Whether the file tells its identifier.
    is_told: bool,
    cables: Vec<Cable<'t>>,
}

/// The end of a cable, as one of its devices tells.
struct Cable<'t> {
    port: u32,
    guid: Option<u64>,
    remote: &'t str,
    remote_port: u32,
    remote_guid: Option<u64>,
    line: usize,
}

/// Reads a fabric: switches become routers, and each host adapter's port that is connected to a switch becomes a node there.
///
/// A cable may be listed by either of its devices or by both, which then have to agree. Devices without an identifier get
/// the one that ibsim gives them.
pub(super) fn parse(path: &str, text: &str) -> Result<Arc<Network>, TopologyError> {
    let file = FileContext { path, expected: EXPECTED };
    let devices = read(file, text)?;
    let last = text.lines().count().max(1);
    let by_id = by_id(file, &devices)?;
    let mut builder = NetworkBuilder::new(path);
    let routers = add_switches(file, &devices, &mut builder)?;
    let hosts = join(file, &devices, &by_id, &routers, &mut builder)?;
    if builder.routers() == 0 {
        return Err(file.error(last, "there is no switch"));
    }
    if hosts.is_empty() {
        return Err(file.error(last, "no host adapter is connected to a switch"));
    }
    let hosts = identified(&devices, hosts);
    check_identifiers(file, &devices, &hosts)?;
    add_hosts(file, &devices, &hosts, &mut builder)?;
    builder.build().map_err(|error| file.error(last, error))
}

/// The positions of devices by their names, each of which has one record.
fn by_id<'t>(file: FileContext<'_>, devices: &[Device<'t>]) -> Result<HashMap<&'t str, usize>, TopologyError> {
    let mut by_id: HashMap<&'t str, usize> = HashMap::with_capacity(devices.len());
    for (index, device) in devices.iter().enumerate() {
        match by_id.entry(device.id) {
            Entry::Vacant(entry) => drop(entry.insert(index)),
            Entry::Occupied(entry) => {
                let first = devices[*entry.get()].line;
                return Err(file.error(device.line, format!("`{}` has a record already, in line {first}", device.id)));
            }
        }
    }
    Ok(by_id)
}

/// Adds a router for each switch; adapters have none.
fn add_switches(
    file: FileContext<'_>,
    devices: &[Device<'_>],
    builder: &mut NetworkBuilder,
) -> Result<Vec<Option<RouterId>>, TopologyError> {
    let mut routers: Vec<Option<RouterId>> = Vec::with_capacity(devices.len());
    for device in devices {
        let router = match device.kind {
            Kind::Adapter => None,
            Kind::Switch => Some(builder.router(device.id).map_err(|error| file.error(device.line, error))?),
        };
        if let Some(router) = router {
            let told = builder.guid(router, device.guid).and_then(|()| builder.ports(router, device.ports));
            told.map_err(|error| file.error(device.line, error))?;
        }
        routers.push(router);
    }
    Ok(routers)
}

/// Adds the links between switches, and returns the adapters' ports that are connected to one, in the order of their cables.
fn join(
    file: FileContext<'_>,
    devices: &[Device<'_>],
    by_id: &HashMap<&str, usize>,
    routers: &[Option<RouterId>],
    builder: &mut NetworkBuilder,
) -> Result<Vec<Host>, TopologyError> {
    // What is at each port, by device and port: known from either end.
    let mut joined: HashMap<(usize, u32), (usize, u32)> = HashMap::new();
    let mut hosts: Vec<Host> = Vec::new();
    // The identifiers of ports, which a cable's two ends may both tell.
    let mut told: HashMap<(usize, u32), (u64, usize)> = HashMap::new();
    for (index, device) in devices.iter().enumerate() {
        for cable in &device.cables {
            let error = |problem: String| file.error(cable.line, problem);
            let near = || did_you_mean(cable.remote, devices.iter().map(|device| device.id));
            let no_record = || error(format!("`{}` has no record{}", cable.remote, near()));
            let &remote = by_id.get(cable.remote).ok_or_else(no_record)?;
            if cable.remote_port > devices[remote].ports {
                let Device { id, ports, .. } = devices[remote];
                return Err(error(format!("there is no port {} of `{id}`, which has {ports}", cable.remote_port)));
            }
            let (here, there) = ((index, cable.port), (remote, cable.remote_port));
            let name = |(device, port): (usize, u32)| format!("port {port} of `{}`", devices[device].id);
            for (end, guid) in [(here, cable.guid), (there, cable.remote_guid)] {
                let Some(guid) = guid else { continue };
                let (known, first) = *told.entry(end).or_insert((guid, cable.line));
                if known != guid {
                    return Err(error(format!(
                        "{} has the identifier {guid:#x} here, and {known:#x} in line {first}",
                        name(end)
                    )));
                }
            }
            match joined.get(&here) {
                Some(&known) if known == there => continue,
                Some(&known) => {
                    return Err(error(format!("{} is joined to {} already", name(here), name(known))));
                }
                None => {}
            }
            if let Some(&known) = joined.get(&there) {
                return Err(error(format!("{} is joined to {} already", name(there), name(known))));
            }
            joined.insert(here, there);
            joined.insert(there, here);
            match (routers[index], routers[remote]) {
                (Some(a), Some(b)) => {
                    builder.link_ports((a, cable.port), (b, cable.remote_port)).map_err(|e| error(e.to_string()))?;
                }
                (Some(router), None) => hosts.push(Host {
                    router,
                    switch_port: cable.port,
                    adapter: remote,
                    port: cable.remote_port,
                    guid: cable.remote_guid,
                    is_told: false,
                    line: cable.line,
                }),
                (None, Some(router)) => hosts.push(Host {
                    router,
                    switch_port: cable.remote_port,
                    adapter: index,
                    port: cable.port,
                    guid: cable.guid,
                    is_told: false,
                    line: cable.line,
                }),
                (None, None) => {
                    let (a, b) = (device.id, cable.remote);
                    return Err(error(format!("adapters `{a}` and `{b}` are joined without a switch between them")));
                }
            }
        }
    }
    Ok(hosts)
}

/// The hosts with their ports' identifiers.
fn identified(devices: &[Device<'_>], mut hosts: Vec<Host>) -> Vec<Host> {
    for host in &mut hosts {
        let device = &devices[host.adapter];
        // The port's own record may tell it where the switch's does not.
        let own = device.cables.iter().find(|cable| cable.port == host.port);
        let told = host.guid.or_else(|| own.and_then(|cable| cable.guid));
        host.is_told = told.is_some() || device.is_told;
        host.guid = Some(told.unwrap_or_else(|| device.guid.wrapping_add(u64::from(host.port))));
    }
    hosts
}

/// Checks that no two switches or ports of adapters share an identifier that the file gives: forwarding tables are matched by identifiers.
fn check_identifiers(file: FileContext<'_>, devices: &[Device<'_>], hosts: &[Host]) -> Result<(), TopologyError> {
    let switches = devices.iter().filter(|device| device.kind == Kind::Switch);
    let switches = switches.map(|device| (device.guid, device.is_told, device.line, format!("`{}`", device.id)));
    let ports = hosts.iter().filter_map(|host| {
        let name = format!("port {} of `{}`", host.port, devices[host.adapter].id);
        Some((host.guid?, host.is_told, host.line, name))
    });
    let mut known: HashMap<u64, (bool, usize, String)> = HashMap::with_capacity(devices.len());
    for (guid, is_told, line, name) in switches.chain(ports) {
        match known.entry(guid) {
            Entry::Vacant(entry) => drop(entry.insert((is_told, line, name))),
            Entry::Occupied(entry) => {
                let (other_is_told, first, other) = entry.get();
                if is_told || *other_is_told {
                    let untold = if is_told && *other_is_told {
                        ""
                    } else {
                        "; devices without an identifier are numbered from the last one that the file gives"
                    };
                    let message = format!("{name} has the identifier {guid:#x} of {other}, in line {first}{untold}");
                    return Err(file.error(line, message));
                }
            }
        }
    }
    Ok(())
}

/// Adds a node for each connected port of an adapter.
fn add_hosts(
    file: FileContext<'_>,
    devices: &[Device<'_>],
    hosts: &[Host],
    builder: &mut NetworkBuilder,
) -> Result<(), TopologyError> {
    let mut connected = vec![0u32; devices.len()];
    for host in hosts {
        connected[host.adapter] += 1;
    }
    for host in hosts {
        let id = devices[host.adapter].id;
        let name = if connected[host.adapter] > 1 { port_name(id, host.port) } else { id.to_owned() };
        let guid = Some(devices[host.adapter].guid);
        let adapter = Some(AdapterPort { adapter: host.adapter as u32, port: host.port, guid });
        let details = NodeDetails { name, port: Some(host.switch_port), adapter, guid: host.guid };
        builder.node(host.router, details).map_err(|error| file.error(host.line, error))?;
    }
    Ok(())
}

/// An adapter's port that is connected to a switch.
struct Host {
    router: RouterId,
    switch_port: u32,
    adapter: usize,
    port: u32,
    guid: Option<u64>,
    /// Whether the file tells it, or that of its adapter.
    is_told: bool,
    line: usize,
}

/// The name of a port of an adapter that has several connected.
fn port_name(adapter: &str, port: u32) -> String {
    format!("{adapter}[{port}]")
}

/// The number in the names that `ibnetdiscover` makes of globally unique identifiers.
pub(super) fn guid_of(id: &str, prefix: &str) -> Option<u64> {
    let digits = id.strip_prefix(prefix)?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok())?
}

fn read<'t>(file: FileContext<'_>, text: &'t str) -> Result<Vec<Device<'t>>, TopologyError> {
    let mut devices: Vec<Device<'t>> = Vec::new();
    let mut guids = Guids::default();
    let (mut switches, mut cables) = (0, 0);
    for (line, content) in (1..).zip(text.lines()) {
        let error = |problem: String| file.error(line, problem);
        let mut words = Words { rest: content };
        words.skip_space();
        if words.is_over() {
            continue;
        }
        if words.rest.starts_with('[') {
            let Some(device) = devices.last_mut() else {
                return Err(error("a cable before the first switch or adapter".to_owned()));
            };
            let cable = words.cable(line).map_err(error)?;
            if cable.port > device.ports {
                return Err(error(format!(
                    "there is no port {} of `{}`, which has {}",
                    cable.port, device.id, device.ports
                )));
            }
            cables += 1;
            if cables > 4 * MAX_NODES {
                return Err(error(format!("there are more than {} cables", 4 * MAX_NODES)));
            }
            device.cables.push(cable);
            continue;
        }
        let word = words.word();
        let kind = match word.to_ascii_lowercase().as_str() {
            "switch" => Kind::Switch,
            "hca" | "ca" => Kind::Adapter,
            // What `ibnetdiscover` says before a record.
            "vendid" | "devid" | "sysimgguid" | "chassis" => continue,
            "switchguid" | "caguid" | "hcaguids" => {
                let kind = if word.eq_ignore_ascii_case("switchguid") { Kind::Switch } else { Kind::Adapter };
                guids.tell(kind, words.guid().map_err(error)?);
                continue;
            }
            "rt" | "rtguid" => {
                return Err(error("InfiniBand routers, between subnets, are not supported".to_owned()));
            }
            _ => {
                let hint = did_you_mean(word, ["Switch", "Hca", "Ca"]);
                let shown: String = if word.is_empty() {
                    words.rest.chars().take(1).collect()
                } else {
                    word.chars().take(64).collect()
                };
                return Err(error(format!("found `{shown}`{hint}")));
            }
        };
        let ports = words.number().filter(|&ports| (1..=MAX_SWITCH_PORTS).contains(&ports));
        let ports =
            ports.ok_or_else(|| error(format!("`{word}` needs a number of ports from 1 to {MAX_SWITCH_PORTS}")))?;
        let id = words.quoted().map_err(error)?;
        switches += usize::from(kind == Kind::Switch);
        if switches > MAX_ROUTERS || devices.len() > MAX_ROUTERS + MAX_NODES {
            return Err(error("there are too many switches or adapters".to_owned()));
        }
        let (guid, is_told) = guids.next(kind, id, ports);
        devices.push(Device { kind, id, line, ports, guid, is_told, cables: Vec::new() });
    }
    Ok(devices)
}

/// Globally unique identifiers, as ibsim gives them: switches are numbered one after the other, adapters with room for those
/// of their ports, from what the file says last.
struct Guids {
    switch: u64,
    adapter: u64,
    /// Whether the file has told that of the next switch, and of the next adapter.
    told: [bool; 2],
}

impl Default for Guids {
    fn default() -> Self {
        Self { switch: 0x20_0000, adapter: 0x10_0000, told: [false; 2] }
    }
}

impl Guids {
    /// The file has the identifier of the next device of this kind.
    fn tell(&mut self, kind: Kind, guid: u64) {
        match kind {
            Kind::Switch => self.switch = guid,
            Kind::Adapter => self.adapter = guid,
        }
        self.told[kind as usize] = true;
    }

    /// The identifier of the next device, and whether the file tells it.
    fn next(&mut self, kind: Kind, id: &str, ports: u32) -> (u64, bool) {
        let (next, prefix, step) = match kind {
            Kind::Switch => (&mut self.switch, "S-", 1),
            Kind::Adapter => (&mut self.adapter, "H-", u64::from(ports) + 1),
        };
        let told = std::mem::take(&mut self.told[kind as usize]);
        if let Some(named) = guid_of(id, prefix).filter(|_| !told) {
            return (named, true);
        }
        let guid = *next;
        *next = guid.wrapping_add(step);
        (guid, told)
    }
}

/// A globally unique identifier: hexadecimal digits, with `0x` before them or without.
fn identifier(given: &str) -> Result<u64, String> {
    let digits = given.strip_prefix("0x").or_else(|| given.strip_prefix("0X")).unwrap_or(given);
    let is_one = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let guid = is_one.then(|| u64::from_str_radix(digits, 16).ok()).flatten();
    guid.ok_or_else(|| format!("`{}` is no identifier: one has up to 16 hexadecimal digits", shortened(given, 32)))
}

/// What is left of a line.
struct Words<'t> {
    rest: &'t str,
}

impl<'t> Words<'t> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Whether only a comment is left.
    fn is_over(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with('#')
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn word(&mut self) -> &'t str {
        self.skip_space();
        self.take_while(|c| c.is_ascii_alphabetic())
    }

    fn number(&mut self) -> Option<u32> {
        self.skip_space();
        self.take_while(|c| c.is_ascii_digit()).parse().ok()
    }

    fn quoted(&mut self) -> Result<&'t str, String> {
        self.skip_space();
        let name = self.rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        let (name, rest) = name.ok_or("a name in quotes is missing")?;
        if name.is_empty() {
            return Err("a name is empty".to_owned());
        }
        self.rest = rest;
        Ok(name)
    }

    /// `[3]`
    fn port(&mut self) -> Result<u32, String> {
        self.skip_space();
        let inside = self.rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let (inside, rest) = inside.ok_or("a port in brackets is missing")?;
        let inside = inside.trim();
        let port = inside.parse::<u32>().ok().filter(|port| (1..=MAX_SWITCH_PORTS).contains(port));
        self.rest = rest;
        port.ok_or_else(|| {
            let shown: String = inside.chars().take(32).collect();
            format!("`[{shown}]` is no port from 1 to {MAX_SWITCH_PORTS}")
        })
    }

    /// What may follow a port: `[ext 2]`, its number on the outside of a chassis, and `(2c90300080e85)`, its identifier.
    fn after_port(&mut self) -> Result<Option<u64>, String> {
        self.skip_space();
        if self.rest.starts_with("[ext")
            && let Some((_, rest)) = self.rest.split_once(']')
        {
            self.rest = rest;
            self.skip_space();
        }
        let Some((inside, rest)) = self.rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) else {
            return Ok(None);
        };
        self.rest = rest;
        identifier(inside.trim()).map(Some)
    }

    /// `=0x8f10500200b50(8f10500200b50)`
    fn guid(&mut self) -> Result<u64, String> {
        self.skip_space();
        let given = self.rest.strip_prefix('=').ok_or("`=` and an identifier are missing")?.trim_start();
        let end = given.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(given.len());
        identifier(&given[..end])
    }

    /// `[3](guid) "Switch2"[4](guid) w=4 # comment`
    fn cable(&mut self, line: usize) -> Result<Cable<'t>, String> {
        let port = self.port()?;
        let guid = self.after_port()?;
        let remote = self.quoted()?;
        let remote_port = self.port()?;
        let remote_guid = self.after_port()?;
        Ok(Cable { port, guid, remote, remote_port, remote_guid, line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::ibsim::NetworkIbsim;
    use crate::ids::NodeId;

    #[test]
    fn reads_what_ibnetdiscover_prints() {
        let text = include_str!("../../tests/samples/cluster.topofile");
        let network = parse("cluster", text).unwrap();
        assert_eq!((network.routers(), network.nodes(), network.links(), network.adapters()), (3, 4, 3, Some(3)));
        let [spine, left, right] = [0, 1, 2].map(RouterId::new);
        assert_eq!([spine, left, right].map(|router| network.nodes_of(router).len()), [0, 2, 2]);
        assert_eq!(network.router_name(left), Some("S-0000000000000a02"));
        assert_eq!(network.router_guid(left), Some(0xa02));
        // An adapter with a port at each leaf.
        let dual = NodeId::new(1);
        assert_eq!(network.node_name(dual), Some("H-0000000000000b02[1]"));
        assert_eq!((network.node_guid(dual), network.node_port(dual)), (Some(0xb03), Some(4)));
        assert_eq!(network.node_by_port(left, 4), Some(dual));
        let up = network.channel_by_port(left, 1).unwrap();
        assert_eq!((network.to(up), network.port_of(up)), (spine, Some(1)));
        assert_eq!(network.port_of(network.reverse(up)), Some(1));
    }

    #[test]
    fn switches_keep_their_ports() {
        let fabric = "Switch 41 \"S1\"\n[1] \"H1\"[1]\n[2] \"S2\"[8]\nSwitch 8 \"S2\"\nHca 1 \"H1\"\n";
        let again = NetworkIbsim(&parse("x", fabric).unwrap()).to_string();
        assert!(again.contains("Switch 41 \"S1\"") && again.contains("Switch 8 \"S2\""), "{again}");
    }

    /// Tables are found by them. What ibsim numbers by itself is another matter: where it gives numbers twice, the fabric is as good.
    #[test]
    fn no_two_switches_or_ports_have_an_identifier_that_is_told() {
        let fabric = |switch: &str, port: &str, other: &str| {
            let text = format!(
                "switchguid=0x1(1)\nSwitch 4 \"S1\"\n[1] \"H1\"[1]{port}\n[2] \"S2\"[2]\n{switch}Switch 4 \"S2\"\n[1] \"H2\"[1]{other}\nHca 1 \"H1\"\nHca 1 \"H2\"\n"
            );
            parse("x", &text).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(fabric("", "", ""), Ok(()));
        assert_eq!(fabric("switchguid=0x3\n", "(77)", "(78)"), Ok(()));
        let twice = fabric("switchguid=0x1\n", "", "").unwrap_err();
        assert!(twice.starts_with("x:6: `S2` has the identifier 0x1 of `S1`, in line 2"), "{twice}");
        let twice = fabric("", "(77)", "(77)").unwrap_err();
        assert!(
            twice.starts_with("x:6: port 1 of `H2` has the identifier 0x77 of port 1 of `H1`, in line 3"),
            "{twice}"
        );
        // Numbers from 0x100000 on are those that ibsim gives adapters.
        let numbered =
            "switchguid=0x100000\nSwitch 4 \"S1\"\n[1] \"H1\"[1]\n[2] \"S2\"[2]\nSwitch 4 \"S2\"\nHca 1 \"H1\"\n";
        let numbered = parse("x", numbered).unwrap();
        assert_eq!(numbered.router_guid(RouterId::new(1)), numbered.node_guid(NodeId::new(0)));
        let twice = fabric("", "(2)", "").unwrap_err();
        assert!(twice.starts_with("x:3: port 1 of `H1` has the identifier 0x2 of `S2`, in line 5"), "{twice}");
    }

    #[test]
    fn mistakes_have_lines_and_reasons() {
        let message = |text: &str| parse("x", text).unwrap_err().to_string();
        let fabric = "Switch 8 \"S1\"\n[1] \"H1\"[1]\n[2] \"S2\"[1]\nSwitch 8 \"S2\"\nHca 1 \"H1\"\n";
        assert!(parse("x", fabric).is_ok());
        let with = |line: &str| message(&format!("{fabric}{line}\n"));
        assert!(with("Hca 1 \"H1\"").starts_with("x:6: `H1` has a record already, in line 5; expected a record"));
        assert!(with("[1] \"S1\"[3]").starts_with("x:6: port 1 of `H1` is joined to port 1 of `S1` already"));
        assert!(with("Hca 1 \"H2\"\n[1] \"H1\"[1]").starts_with("x:7: port 1 of `H1` is joined to port 1 of `S1` alr"));
        assert!(with("Hca 2 \"H2\"\n[2] \"H3\"[1]").starts_with("x:7: `H3` has no record;"));
        assert!(with("Hca 1 \"H2\"\n[2] \"S1\"[4]").starts_with("x:7: there is no port 2 of `H2`, which has 1"));
        assert!(with("Hca 1 \"H2\"\n[1] \"S1\"[9]").starts_with("x:7: there is no port 9 of `S1`, which has 8"));
        let pair = "Hca 1 \"H2\"\n[1] \"H3\"[1]\nHca 1 \"H3\"";
        assert!(with(pair).starts_with("x:7: adapters `H2` and `H3` are joined without a switch between them"));
        assert!(with("Swich 8 \"S3\"").starts_with("x:6: found `Swich`; did you mean `Switch`?"));
        assert!(with("Switch 255 \"S3\"").starts_with("x:6: `Switch` needs a number of ports from 1 to 254"));
        assert!(with("Switch 8 S3").starts_with("x:6: a name in quotes is missing"));
        assert!(with("Switch 8 \"S3\"\n[x] \"S1\"[7]").starts_with("x:7: `[x]` is no port from 1 to 254"));
        assert!(with("Switch 8 \"S3\"\n[1] \"S3\"[2]").starts_with("x:7: router `S3` is joined to itself"));
        assert!(
            with("switchguid=0xzz").starts_with("x:6: `0xzz` is no identifier: one has up to 16 hexadecimal digits")
        );
        assert!(with("caguid").starts_with("x:6: `=` and an identifier are missing"));
        assert!(with("Hca 1 \"H2\"\n[1](xyz) \"S1\"[7]").starts_with("x:7: `xyz` is no identifier"));
        assert!(with("Hca 1 \"H2\"\n[1] \"S1\"[7](12345678901234567)").starts_with("x:7: `12345678901234567` is no"));
        assert!(message("[1] \"S1\"[1]").starts_with("x:1: a cable before the first switch or adapter"));
        assert!(message("Switch 8 \"S1\"\n").starts_with("x:1: no host adapter is connected to a switch"));
    }

    #[test]
    fn both_ends_of_a_cable_tell_the_same_identifiers() {
        let fabric = |there: &str, here: &str| {
            let text = format!(
                "Switch 4 \"S\"\n[2] \"H\"[1]{there}\n[3] \"G\"[1]\nHca 1 \"H\"\n[1]{here} \"S\"[2]\nHca 1 \"G\"\n"
            );
            parse("x", &text).map(|network| network.node_guid(NodeId::new(0))).map_err(|error| error.to_string())
        };
        for (there, here) in [("(31)", ""), ("", "(31)"), ("(31)", "(31)")] {
            assert_eq!(fabric(there, here), Ok(Some(0x31)));
        }
        let wrong = fabric("(31)", "(41)").unwrap_err();
        assert!(wrong.starts_with("x:5: port 1 of `H` has the identifier 0x41 here, and 0x31 in line 2"), "{wrong}");
    }

    /// Names that are identifiers, beside others, which would be numbered from where these begin.
    #[test]
    fn what_is_written_for_ibsim_is_read_back() {
        use crate::{FileFormat, NetworkBuilder, NetworkIbsim, NodeDetails, as_fabric};
        let build = |switch: &str, names: &[&str]| {
            let mut builder = NetworkBuilder::new("x");
            let router = builder.router(switch).unwrap();
            for name in names {
                builder.node(router, NodeDetails { name: (*name).to_owned(), ..NodeDetails::default() }).unwrap();
            }
            builder.build().unwrap()
        };
        let read = |text: &str| FileFormat::Fabric.parse("x", text).unwrap();
        let names = |network: &Network| {
            network.node_ids().map(|node| network.node_name(node).unwrap().to_owned()).collect::<Vec<_>>()
        };
        for given in [
            &["a", "H-0000000000100000"][..],
            &["H-0000000000100000", "a", "H-0000000000100001[1]", "b"],
            &["H-00000000001000ff", "H-0000000000100200"],
        ] {
            let network = build("S-0000000000200000", given);
            assert_eq!(names(&read(&NetworkIbsim(&network).to_string())), given);
            assert_eq!(names(&as_fabric(&network).unwrap()), given);
        }
        // What ibsim does not take; here it is known by its names all the same.
        let (long, alike) = ("n".repeat(256), "m".repeat(63));
        for given in [["sw#1", "a"], ["b@2", "a"], [&long, "a"], [&format!("{alike}1"), &format!("{alike}2")]] {
            let network = build("S", &given);
            assert_eq!(names(&read(&NetworkIbsim(&network).to_string())), ["H0", "H1"]);
            assert_eq!(names(&as_fabric(&network).unwrap()), given);
        }
    }
}
