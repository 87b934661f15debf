//! The files of a repair, read back.

use serde_json::Value;

use crate::folder::Folder;
use crate::small::fabric;

/// Multicast tables of `examples/fabric.net`: the tree of 0xC001 is the whole ring, so there is a deadlock; 0xC002 is what a test is about.
fn groups(second: &[(u32, &str)]) -> String {
    let switch = |number: u32| {
        let own = second.iter().find(|(of, _)| *of == number).map(|(_, ports)| format!("0xC002 : {ports}\n"));
        format!("Switch {:#018x}\n0xC001 : 0x001  0x002  0x003\n{}\n", 0x20_0000 + number - 1, own.unwrap_or_default())
    };
    (1..=6).map(switch).collect()
}

/// What a command says as JSON.
fn said(folder: &Folder, arguments: &[&str]) -> Value {
    let run = folder.run(&[arguments, &["--format=json"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

/// Repairs it, and returns what the command says of the groups of what was written.
fn repaired(folder: &Folder, tables: &str) -> Vec<Value> {
    let of = |more: &[&str]| said(folder, &[&["routing", "--topology=fabric.net"], more].concat());
    let repair = of(&["--tables", tables, "--multicast-tables=given.mcfdbs", "--repair=mended"]);
    assert_ne!(repair["repair"]["changed"], "nothing", "{repair}");
    let mended = ["--tables=mended/lfts", "--groups=mended/groups"];
    let read = of(&[&mended[..], &["--multicast-tables=mended/opensm.mcfdbs"]].concat());
    assert_eq!(read["deadlock_free"], true, "{read}");
    // OpenSM builds these trees by the matrix.
    let how = ["--multicast-trees=opensm", "--lid-matrix=mended/lid-matrix", "--export-multicast=built.mcfdbs"];
    of(&[&mended[..], &how].concat());
    assert_eq!(folder.read("built.mcfdbs"), folder.read("mended/opensm.mcfdbs"));
    read["groups"].as_array().unwrap().clone()
}

#[test]
fn groups_without_members_are_left_out() {
    let folder = fabric();
    folder.write("given.mcfdbs", groups(&[(1, "0x002"), (2, "0x001")]).as_bytes());
    let read = repaired(&folder, "fabric-updn.lfts");
    assert_eq!((read.len(), &read[0]["mlid"]), (1, &Value::from("0xc001")));
    assert_eq!(folder.read("mended/groups").lines().count(), 1);
}

#[test]
fn switches_stay_members() {
    let folder = fabric();
    folder.write("given.mcfdbs", groups(&[(1, "0x000  0x002"), (2, "0x001  0x003")]).as_bytes());
    let read = repaired(&folder, "fabric-updn.lfts");
    assert_eq!(read[1]["members"], serde_json::json!(["host3", "rack1"]));
    assert_eq!(read[1]["connected"], true);
    assert!(folder.read("mended/opensm.mcfdbs").contains("0xC002 : 0x000  "));
    assert!(!folder.path().join("mended/guid2lid").exists());
    // Named, and not reached.
    folder.write("more", b"0xc002: host3;rack1;rack5\n");
    let more = ["routing", "--topology=fabric.net", "--tables=mended/lfts", "--multicast-tables=mended/opensm.mcfdbs"];
    let said = folder.run(&[&more[..], &["--groups=more"]].concat());
    assert!(said.stdout.contains("0xc002: 3 members, does not reach rack5"), "{}", said.stdout);
}

/// Tables without addresses of switches had an empty matrix.
#[test]
fn addresses_that_tables_leave_open_are_told() {
    let folder = fabric();
    let text =
        ["routing", "--topology=fabric.net", "--tables=fabric-updn.lfts", "--export=all.tab", "--export-form=text"];
    assert_eq!(folder.run(&text).code, 0);
    let all = folder.read("all.tab");
    let hosts: Vec<&str> =
        all.lines().filter(|line| !(line.starts_with("router ") && line.contains(" address "))).collect();
    folder.write("hosts.tab", hosts.join("\n").as_bytes());
    let none: Vec<String> = hosts
        .iter()
        .map(|line| match line.split_once(" address ") {
            Some((host, rest)) => format!("{host} {}", rest.split_once(' ').unwrap().1),
            None => (*line).to_owned(),
        })
        .collect();
    folder.write("none.tab", none.join("\n").as_bytes());
    folder.write("given.mcfdbs", groups(&[]).as_bytes());
    for tables in ["hosts.tab", "none.tab"] {
        let read = repaired(&folder, tables);
        assert_eq!(read[0]["connected"], true, "{tables}");
        let addresses = folder.read("mended/guid2lid");
        let lines: Vec<&str> = addresses.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), 6 + 12, "{tables}: switches and hosts");
        let mut lids: Vec<&str> = lines.iter().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
        lids.sort_unstable();
        lids.dedup();
        assert_eq!(lids.len(), lines.len(), "{tables}");
        // The matrix is about those of switches.
        let matrix = folder.read("mended/lid-matrix");
        for line in lines.iter().filter(|line| line.starts_with("0x000000000020")) {
            let [guid, lid] = [0, 1].map(|word| line.split_whitespace().nth(word).unwrap());
            let row = |row: &&str| row.starts_with(&format!("{lid}: ")) && row.ends_with(&format!("portguid {guid}"));
            assert_eq!(matrix.lines().filter(row).count(), 6, "{tables}: {line}");
        }
    }
}

/// Members were written by what nodes are called: numbers were read back as addresses.
#[test]
fn members_without_names_are_read_back() {
    let folder = Folder::with(&[("ok.edges", "0 1\n1 2\n2 0\n2 3\n"), ("okg", "0xc001: 2;4\n")]);
    let network = ["routing", "--topology=ok.edges"];
    let run = |more: &[&str]| {
        let run = folder.run(&[&network[..], more].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout
    };
    run(&["--routing=up-down", "--export=ok.lfts"]);
    run(&["--tables=ok.lfts", "--multicast-trees=opensm", "--groups=okg", "--export-multicast=ok.mc"]);
    run(&["--tables=ok.lfts", "--multicast-tables=ok.mc", "--repair=rok"]);
    let said =
        run(&["--tables=rok/lfts", "--multicast-tables=rok/opensm.mcfdbs", "--groups=rok/groups", "--format=json"]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["groups"][0]["members"], serde_json::json!(["1", "3"]), "{said}");
    assert_eq!(said["groups"][0]["connected"], true);
}

/// A group without a level was taken for level 0 and not counted.
#[test]
fn groups_without_a_level_are_counted() {
    let folder = fabric();
    let pairs = (0..12).flat_map(|host| (1..=12).map(move |lid| (host, lid))).filter(|&(host, lid)| lid != host + 1);
    let line = |(host, lid)| format!("{:#018x} {lid} 1", 0x10_0000 + 2 * host);
    let mut lines: Vec<String> = pairs.map(line).collect();
    folder.write("hosts", lines.join("\n").as_bytes());
    lines.extend((0..12).map(|host| line((host, 49_153))));
    folder.write("all", lines.join("\n").as_bytes());
    let with = |levels: &str| {
        let network = ["routing", "--topology=fabric.net", "--tables=fabric-updn.lfts"];
        said(&folder, &[&network[..], &["--multicast-tables=fabric.mcfdbs", "--lanes", levels]].concat())
    };
    let (hosts, all) = (with("hosts"), with("all"));
    let members = all["groups"][0]["members"].as_array().unwrap().len();
    assert_eq!((&hosts["lanes"]["without_level"], &all["lanes"]["without_level"]), (&members.into(), &0.into()));
    assert_eq!((&hosts["deadlock_free"], &all["deadlock_free"]), (&true.into(), &false.into()));
}

/// A router's name is that of its only node: members are nodes, and switches where nobody else is called so.
#[test]
fn members_are_hosts_before_they_are_switches() {
    let zoo = r#"{"nodes":[{"id":0,"label":"Zurich"},{"id":1,"label":"Bern"},{"id":2,"label":"Basel"}],
        "edges":[{"source":0,"target":1},{"source":1,"target":2},{"source":2,"target":0}]}"#;
    let folder = Folder::with(&[("zoo.json", zoo), ("groups", "0xc001: Zurich;Bern\n")]);
    folder.run(&["routing", "--topology=zoo.json", "--routing=up-down", "--export=zoo.lfts"]);
    let given = ["routing", "--topology=zoo.json", "--tables=zoo.lfts", "--multicast-trees=opensm", "--groups=groups"];
    let run = folder.run(&[&given[..], &["--format=json"]].concat());
    assert_eq!((run.code, &*run.stderr), (0, ""));
    let said: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(said["groups"][0]["members"], serde_json::json!(["Zurich", "Bern"]));
    // Where they are switches, nobody sends, which is told.
    let fabric = fabric();
    fabric.write("groups", b"0xc001: rack1;rack2\n");
    let tables = ["routing", "--topology=fabric.net", "--tables=fabric-updn.lfts", "--multicast-tables=fabric.mcfdbs"];
    let run = fabric.run(&[&tables[..], &["--groups=groups"]].concat());
    assert!(run.stderr.contains("members of 0xc001 are switches alone, which are not taken to send"), "{}", run.stderr);
}

/// A run delivers to hosts: a tree that ends at a switch which is a member is refused as that.
#[test]
fn runs_do_not_deliver_to_switches() {
    let folder = fabric();
    folder.write("groups", b"0xc001: host1;host3;rack5\n");
    folder.write("pair", b"0xc001: host1;host3;rack2\n");
    let built = |groups: &str, more: &[&str]| {
        let tables = ["routing", "--topology=fabric.net", "--tables=fabric-updn.lfts", "--multicast-trees=opensm"];
        let export = ["--groups", groups, "--export-multicast=own.mcfdbs"];
        assert_eq!(folder.run(&[&tables[..], &export].concat()).code, 0);
        let plan = ["plan", "--topology=fabric.net", "--algorithm=tables", "--source=host1", "--destinations=host3"];
        let options = ["--option=tables=fabric-updn.lfts", "--option=multicast_tables=own.mcfdbs"];
        folder.run(&[&plan[..], &options, more].concat())
    };
    let said = built("groups", &[]).bad_input();
    assert!(said.contains("end in rack5, which is a member itself, and worms deliver to nodes alone"), "{said}");
    // Beside a host that is reached there, it makes no difference; nor does one that is not reached.
    assert_eq!(built("pair", &[]).code, 0);
    assert_eq!(built("pair", &["--option=groups=groups"]).code, 0);
}
