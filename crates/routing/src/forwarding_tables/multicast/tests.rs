use std::fmt::Write;

use wormcast_network::{FileFormat, NetworkIbsim, TopologySpec};

use super::*;
use crate::analysis::dependency::Dependencies;
use crate::forwarding_tables::{ForwardingTables, UnicastWaits, choose_tables};
use crate::registry::RoutingOptions;
use crate::relations::up_down::UP_DOWN;

/// A ring of six switches with a host each, and its up*/down* tables rooted at the first.
fn ring() -> (Arc<Network>, ForwardingTables) {
    let ring = "ring:6".parse::<TopologySpec>().unwrap().build().unwrap();
    let ring = FileFormat::Fabric.parse("ring", &NetworkIbsim(&ring).to_string()).unwrap();
    let relation = UP_DOWN.make(&ring, &RoutingOptions::default()).unwrap();
    let tables = choose_tables(relation.as_ref(), true).unwrap().tables;
    (ring, tables)
}

/// The tree over the ring without the link between two neighbours, as `OpenSM` writes it: port 1 of a switch leads to the smaller of its neighbours.
fn tree(ring: &Network, without: [u32; 2]) -> String {
    let mut text = String::new();
    for router in ring.router_ids() {
        let mut ports = Vec::new();
        for channel in ring.outputs(router) {
            let ends = [ring.from(channel).raw(), ring.to(channel).raw()];
            if ends != without && ends != [without[1], without[0]] {
                ports.push(ring.port_of(channel).unwrap());
            }
        }
        ports.extend(ring.nodes_of(router).map(|node| ring.node_port(node).unwrap()));
        let ports: Vec<String> = ports.iter().map(|port| format!("{port:#05x} ")).collect();
        let guid = ring.router_guid(router).unwrap();
        write!(text, "\nSwitch {guid:#018x}\nLID    : Out Port(s)\n0xC001 : {}\n", ports.join(" ")).unwrap();
    }
    text
}

/// Groups of random masks over small networks, most of which are no trees: where the short way to a report is taken, it is what following packets gives.
#[test]
fn reports_on_trees_are_those_of_their_packets() {
    let mut state = 11;
    let mut draw = |limit: usize| {
        state += 1;
        (wormcast_network::split_mix::mix(state) % limit as u64) as usize
    };
    let (mut trees, mut missing, mut strangers, mut switches_missing) = (0, 0, 0, 0);
    for _ in 0..4000 {
        let mut builder = wormcast_network::NetworkBuilder::new("random".to_owned());
        let routers = 2 + draw(4);
        builder.at_least(routers).unwrap();
        for v in 1..routers {
            builder.link(RouterId::new(draw(v) as u32), RouterId::new(v as u32)).unwrap();
        }
        for _ in 0..2 + draw(5) {
            let details = wormcast_network::NodeDetails::default();
            builder.node(RouterId::new(draw(routers) as u32), details).unwrap();
        }
        let network = builder.build().unwrap();
        let mut masks: HashMap<RouterId, Mask> = HashMap::new();
        for channel in network.channel_ids().filter(|&channel| channel < network.reverse(channel)) {
            for end in [channel, network.reverse(channel)] {
                // Now and then in one direction only.
                if draw(12) > 0 {
                    masks.entry(network.from(end)).or_default().channels.push(end);
                }
            }
        }
        for node in network.node_ids().filter(|_| draw(4) > 0) {
            masks.entry(network.router_of(node)).or_default().nodes.push(node);
        }
        // Switches get packets themselves in every other network.
        let with_switches = draw(2) > 0;
        for router in network.router_ids().filter(|_| with_switches && draw(3) == 0) {
            masks.entry(router).or_default().own = true;
        }
        let nodes: Vec<NodeId> = network.node_ids().filter(|_| draw(4) > 0).collect();
        let switches: Vec<RouterId> = network.router_ids().filter(|_| with_switches && draw(3) == 0).collect();
        let members: Vec<Target> =
            nodes.into_iter().map(Target::Node).chain(switches.into_iter().map(Target::Router)).collect();
        let members = Some(members).filter(|members| draw(3) > 0 && !members.is_empty());
        let group = MulticastGroup { mlid: 0xc001, masks, members };
        let packets = Packets { network: &network, group: &group, lanes: None };
        let report = packets.report_by_packets();
        if packets.trees().is_some() {
            trees += 1;
            missing += usize::from(!report.missing.is_empty());
            strangers += usize::from(!report.strangers.is_empty());
            let lacks = |target: &Target| matches!(target, Target::Router(_));
            switches_missing += usize::from(report.missing.iter().any(lacks));
        }
        assert_eq!(packets.report(), report);
    }
    assert!(trees > 500 && missing > 100 && strangers > 100, "{trees} trees, {missing}, {strangers}");
    assert!(switches_missing > 100, "{switches_missing}");
}

fn deadlock(tables: &ForwardingTables, groups: &MulticastTables, branching: GroupBranching) -> bool {
    let mut union = Dependencies::of_tables(tables);
    union.add_worms(|worms| (0..groups.groups().len()).for_each(|group| groups.add(worms, group, branching, None)));
    let unicasts = UnicastWaits::by_channel(tables);
    let union = if branching == GroupBranching::Ibdmchk { union.reached_by_hosts(&unicasts) } else { union };
    union.deadlock(1).is_some()
}

#[test]
fn six_trees_over_a_ring_are_told_apart() {
    // Without S0-S1, S1-S2, S4-S5 or S5-S0 `ibdmchk -M` reports credit loops, without S2-S3 or S3-S4 none.
    let (ring, tables) = ring();
    assert!(Dependencies::of_tables(&tables).deadlock(1).is_none());
    let loops: Vec<bool> = (0..6)
        .map(|first| {
            let groups = parse_multicast_tables(&ring, "mc", &tree(&ring, [first, (first + 1) % 6])).unwrap();
            let [packets, ibdmchk] =
                [GroupBranching::Packets, GroupBranching::Ibdmchk].map(|how| deadlock(&tables, &groups, how));
            assert_eq!(packets, ibdmchk, "every switch has a member");
            packets
        })
        .collect();
    assert_eq!(loops, [true, true, false, false, true, true]);
}

#[test]
fn crosses_are_the_same_masks() {
    let (ring, _) = ring();
    let listed = parse_multicast_tables(&ring, "mc", &tree(&ring, [2, 3])).unwrap();
    let mut crosses = String::new();
    for router in ring.router_ids() {
        let mask = listed.groups[0].mask(router).unwrap();
        let mut ports: Vec<u32> = mask.channels.iter().map(|&channel| ring.port_of(channel).unwrap()).collect();
        ports.extend(mask.nodes.iter().map(|&node| ring.node_port(node).unwrap()));
        let guid = ring.router_guid(router).unwrap();
        let line: String = (0..4).map(|port| if ports.contains(&port) { "x " } else { "  " }).collect();
        write!(crosses, "Multicast mlids [0xc000-0xc3ff] of switch DR path slid 0; dlid 0; 0,1,1 guid {guid:#018x} (S{router}):\n            0       \n     Ports: 0 1 2 3 \n MLid\n0xc001      {line}\n1 valid mlids dumped \n").unwrap();
    }
    let crossed = parse_multicast_tables(&ring, "mc", &crosses).unwrap();
    let masks = |tables: &MulticastTables| {
        let sorted = |router| {
            let mut mask = tables.groups[0].mask(router).unwrap().clone();
            mask.channels.sort_unstable();
            mask
        };
        ring.router_ids().map(sorted).collect::<Vec<_>>()
    };
    assert_eq!(masks(&crossed), masks(&listed));
    assert_eq!(crossed.groups[0].mlid, 0xc001);
}

#[test]
fn members_that_are_missed_doubled_and_strange_are_named() {
    let (ring, tables) = ring();
    let text = tree(&ring, [2, 3]);
    let whole = parse_multicast_tables(&ring, "mc", &text).unwrap();
    let all: Vec<Target> = ring.node_ids().map(Target::Node).collect();
    let report = &whole.reports(None)[0];
    assert_eq!((&report.members, report.connected, report.missing.len()), (&all, true, 0));
    assert!(report.doubled.is_empty() && report.strangers.is_empty() && report.circle.is_none());

    // Only some are members.
    let of = |members: &str| {
        parse_multicast_tables(&ring, "mc", &text)
            .unwrap()
            .with_members(&tables, "groups", members)
            .unwrap()
            .reports(None)
    };
    let some = &of("0xC001: H0; H2;\n# none\n")[0];
    assert_eq!((some.members.len(), some.connected, some.strangers.len()), (2, true, 4));
    // By the identifiers of a port, and of the adapter that it is a port of.
    let first = NodeId::new(0);
    for guid in [ring.node_guid(first), ring.adapter_guid(first)] {
        assert_eq!(of(&format!("0xC001: {:#x}; H2", guid.unwrap()))[0].members, some.members);
    }
    // A group without entries reaches nobody.
    let none = &of("0xc002: H0;H1\n")[1];
    assert_eq!((none.connected, none.missing.len()), (false, 2));

    // Both ways round: packets run in a circle.
    let rows = text.lines().map(|line| {
        let (mlid, ports) = line.split_once(" : ").unwrap_or((line, ""));
        if mlid == "0xC001" { format!("0xC001 : 0x001  0x002 {ports}\n") } else { format!("{line}\n") }
    });
    let full: String = rows.collect();
    let circle = parse_multicast_tables(&ring, "mc", &full).unwrap();
    assert_eq!(circle.reports(None)[0].circle.as_ref().map(Vec::len), Some(6));

    // One switch forgets its links.
    let guid = format!("{:#018x}", ring.router_guid(RouterId::new(1)).unwrap());
    let (before, after) = text.split_once(&format!("Switch {guid}")).unwrap();
    let after = after.split_once("\nSwitch").unwrap().1;
    let cut = parse_multicast_tables(&ring, "mc", &format!("{before}Switch{after}")).unwrap();
    let cut = cut.with_members(&tables, "groups", "0xc001: H0;H1;H2;H3;H4;H5").unwrap();
    let report = &cut.reports(None)[0];
    assert!(!report.connected && report.missing.contains(&Target::Node(NodeId::new(1))));
}

#[test]
fn tables_that_are_cut_have_links_at_one_end_only() {
    let (ring, _) = ring();
    let text = tree(&ring, [2, 3]);
    let of = |text: &str| parse_multicast_tables(&ring, "mc", text).unwrap().one_sided();
    assert_eq!(of(&text), []);
    let switches: Vec<&str> = text.split("\nSwitch").collect();
    let named = |number: usize| switches[number].lines().next().unwrap().to_owned();
    for kept in 2..7 {
        let cut = switches[..kept].join("\nSwitch");
        let found = of(&cut);
        assert!(!found.is_empty() && found.iter().all(|&(mlid, _)| mlid == 0xc001), "{found:?}");
        for (_, router) in found {
            let guid = format!(" {:#018x}", ring.router_guid(router).unwrap());
            assert!((kept..7).any(|number| named(number) == guid), "{guid}");
        }
    }
    // What the cut leaves of trees may look whole.
    let doubt = |text: &str| parse_multicast_tables(&ring, "mc", text).unwrap().doubt().map(str::to_owned);
    assert_eq!(doubt(&text), None);
    let before = |what: &str| text[..text.find(what).unwrap()].to_owned();
    let first = text.lines().position(|line| line.contains(" : 0x0")).unwrap() + 1;
    for (cut, line, said) in [
        (before("0xC001"), first - 2, "the switch has no entries"),
        (before(": 0x0") + ":\n", first, "the entry has no ports"),
        (text.trim_end().to_owned(), text.lines().count(), "the last line has no end"),
    ] {
        assert_eq!(doubt(&cut).unwrap(), format!("mc:{line}: {said}: is the file truncated?"), "{cut}");
    }
    // Wherever it is.
    for end in 0..text.len() {
        let noticed = match parse_multicast_tables(&ring, "mc", &text[..end]) {
            Ok(read) => read.doubt().is_some() || !read.one_sided().is_empty(),
            Err(_) => true,
        };
        assert!(noticed, "{}", &text[..end]);
    }
    // In the midst of the last line, behind its first port.
    let ports = text.rfind(" : ").unwrap() + 3;
    assert!(!of(&text[..ports + "0x001".len()]).is_empty());
}

#[test]
fn errors_name_file_line_and_what_is_wrong() {
    let (ring, tables) = ring();
    let message = |text: &str| parse_multicast_tables(&ring, "mc", text).unwrap_err().to_string();
    let guid = ring.router_guid(RouterId::new(0)).unwrap();
    for (text, said) in [
        ("\n", "mc:1: there is no switch: OpenSM writes none if no group has two members"),
        ("LID    : Out Port(s)", "mc:1: there is no switch;"),
        ("0xC001 : 0x001", "mc:1: an entry before the first switch"),
        ("Switch 0x0000000000000bad\n", "mc:1: `ring` has no switch with the identifier 0x0000000000000bad"),
        ("Unicast lids", "mc:1: found `unicast tables`"),
        (&format!("Switch {guid:#018x}\n0x0001 : 0x001"), "mc:2: `0x0001` is no address of a group"),
        (&format!("Switch {guid:#018x}\n0xC001 : 1"), "mc:2: `1` is no port"),
        (&format!("Switch {guid:#018x}\n0xC001 0x001"), "mc:2: an entry needs a `:`"),
        (
            &format!("Switch {guid:#018x}\n0xC001 : 0x001\n0xC002 : 0x001\n0xC001 : 0x002"),
            "mc:4: S0 has an entry for 0xc001 already, in line 2",
        ),
        (&format!("Multicast mlids of switch guid {guid:#018x} (S0):\n0xc001       x"), "mc:2: found `x` in column 14"),
    ] {
        assert!(message(text).starts_with(said), "{}", message(text));
    }
    let groups = |text: &str| {
        let tables_of_groups = parse_multicast_tables(&ring, "mc", &tree(&ring, [0, 1])).unwrap();
        tables_of_groups.with_members(&tables, "groups", text).unwrap_err().to_string()
    };
    for (text, said) in [
        ("", "groups:1: there is no group"),
        ("0xc001 H0", "groups:1: there is no `:`"),
        ("0xc001:", "groups:1: the group has no members"),
        ("0xc001: H0;H1;0", "groups:1: `0` is a member already"),
        ("0xc001: H0;;H1", "groups:1: a member without a name"),
        ("0xc001: H0\n0xc001: H1", "groups:2: the group 0xc001 is there already, in line 1"),
        ("1: H0", "groups:1: `1` is no address of a group"),
        ("0xc001: H9", "groups:1: "),
        ("0xc001: 0xzz", "groups:1: `0xzz` is no identifier"),
    ] {
        assert!(groups(text).starts_with(said), "{}", groups(text));
    }
}

/// What a repair writes is read back as it was meant, whatever hosts are called.
#[test]
fn members_are_read_back() {
    use wormcast_network::{NetworkBuilder, NodeDetails};
    let [ring, mesh, plain] = ["ring:6", "mesh:3x3", "ring:6"].map(|spec| spec.parse::<TopologySpec>().unwrap());
    let named = |first: &str| {
        let mut builder = NetworkBuilder::new("named");
        let routers = [0, 1, 2].map(|at| builder.router(&format!("r{at}")).unwrap());
        for (router, name) in [(0, first), (0, "x"), (1, "rack a;1"), (1, " 2 "), (2, "7"), (2, "0x1"), (2, "h")] {
            builder.node(routers[router], NodeDetails { name: name.to_owned(), ..NodeDetails::default() }).unwrap();
        }
        builder.link(routers[0], routers[1]).unwrap();
        builder.link(routers[1], routers[2]).unwrap();
        builder.build().unwrap()
    };
    let fabric = FileFormat::Fabric.parse("ring", &NetworkIbsim(&plain.build().unwrap()).to_string()).unwrap();
    for network in [ring.build().unwrap(), mesh.build().unwrap(), named("y"), named("x"), fabric] {
        let relation = UP_DOWN.make(&network, &RoutingOptions::default()).unwrap();
        let without = choose_tables(relation.as_ref(), true).unwrap().tables;
        let dump = crate::forwarding_tables::NetworkLfts::new(&without).unwrap().to_string();
        for tables in [crate::forwarding_tables::parse_lfts(&network, "dump", &dump).unwrap(), without] {
            let targets: Vec<Target> =
                network.node_ids().map(Target::Node).chain(network.router_ids().map(Target::Router)).collect();
            for from in 0..targets.len() {
                let members = Some(targets[from..].iter().step_by(2).copied().collect());
                let group = MulticastGroup { mlid: 0xc001, masks: HashMap::new(), members };
                let nobody = MulticastGroup { mlid: 0xc002, masks: HashMap::new(), members: None };
                let groups =
                    MulticastTables { groups: vec![group.clone(), nobody], ..MulticastTables::empty(&network) };
                let text = groups.members_text(&tables).unwrap();
                let again = MulticastTables::empty(&network).with_members(&tables, "groups", &text).unwrap();
                assert_eq!((again.groups.len(), again.groups[0].members()), (1, group.members()), "{text}");
            }
        }
    }
}

#[test]
fn switches_are_members_by_their_port_0() {
    let (ring, tables) = ring();
    let guid = |router: u32| ring.router_guid(RouterId::new(router)).unwrap();
    // S0 and S2 are joined; H0 is a member, and S2 itself.
    let tree = tree(&ring, [2, 3]);
    let own = tree.replace(
        &format!("Switch {:#018x}\nLID    : Out Port(s)\n0xC001 : ", guid(2)),
        &format!("Switch {:#018x}\nLID    : Out Port(s)\n0xC001 : 0x000  ", guid(2)),
    );
    let read = parse_multicast_tables(&ring, "mc", &own).unwrap();
    let sorted = |text: &str| {
        let mut words: Vec<&str> = text.split_whitespace().collect();
        words.sort_unstable();
        words.join(" ")
    };
    assert_eq!(sorted(&NetworkMcfdbs::new(&read).unwrap().to_string()), sorted(&own));
    let second = Target::Router(RouterId::new(2));
    let report = |tables: &MulticastTables| tables.reports(None).remove(0);
    assert_eq!((report(&read).members.len(), report(&read).connected), (7, true));
    // Who is told to be a member is reached, or missed, or a stranger, as hosts are.
    let with = |text: &str, members: &str| {
        report(&parse_multicast_tables(&ring, "mc", text).unwrap().with_members(&tables, "groups", members).unwrap())
    };
    let all = "0xc001: H0;H1;H2;H3;H4;H5";
    assert_eq!(with(&own, all).strangers, [second]);
    let missed = with(&tree, &format!("{all};S2"));
    assert_eq!((missed.missing, missed.connected), (vec![second], false));
    assert!(with(&own, &format!("{all};{:#x}", guid(2))).connected);
    // A host that sends alone is not missed where nobody sends to it.
    let first = format!("Switch {:#018x}\nLID    : Out Port(s)\n0xC001 : ", guid(0));
    let (before, after) = own.split_once(&first).unwrap();
    let (ports, rest) = after.split_once('\n').unwrap();
    let to_host = format!("{:#05x}", ring.node_port(NodeId::new(0)).unwrap());
    let deaf = format!("{before}{first}{}\n{rest}", ports.replace(&to_host, ""));
    assert_ne!(deaf, own);
    let sends = with(&deaf, "0xc001: H0;S2");
    assert_eq!((&sends.missing[..], sends.connected), (&[][..], true));
    assert_eq!(with(&deaf, "0xc001: H0;H1;S2").missing, [Target::Node(NodeId::new(0))]);
    // Nobody sends in a group of switches alone; OpenSM builds a tree for two, from the first with the fewest hops to them.
    let alone = MulticastTables::empty(&ring).with_members(&tables, "groups", "0xc001: S0;S2").unwrap();
    let built = alone.with_trees(&crate::forwarding_tables::HopMatrix::of_shortest_paths(&ring).unwrap());
    assert_eq!(built.groups[0].masks.values().filter(|mask| mask.own).count(), 2);
    assert_eq!((built.sizes()[0].0, report(&built).connected), (2, true));
}

/// What `dump_mfts` prints says for each switch how many entries it has.
#[test]
fn printed_tables_that_are_cut_are_doubted() {
    let (ring, _) = ring();
    let part = |router: u32| {
        let guid = ring.router_guid(RouterId::new(router)).unwrap();
        format!(
            "Multicast mlids [0xc000-0xc3ff] of switch DR path slid 0; dlid 0; 0 guid {guid:#018x} (S{router}):\n            0       \n     Ports: 0 1 2 3 \n MLid\n0xc001        x x x \n1 valid mlids dumped \n"
        )
    };
    let whole: String = (0..6).map(part).collect();
    let doubt = |text: &str| parse_multicast_tables(&ring, "mc", text).unwrap().doubt().map(str::to_owned);
    assert_eq!(doubt(&whole), None);
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    for kept in 1..lines.len() {
        let said = doubt(&lines[..kept].concat()).unwrap_or_else(|| panic!("{kept}"));
        let sign = if kept % 6 == 0 { "there is no table of S" } else { "does not end with `… valid mlids dumped`" };
        assert!(said.contains(sign) && said.ends_with("is the file truncated?"), "{kept}: {said}");
    }
    let other = doubt(&whole.replacen("1 valid", "3 valid", 1)).unwrap();
    assert!(other.starts_with("mc:6: the table that begins in line 1 has 1 entry, not 3"), "{other}");
}
