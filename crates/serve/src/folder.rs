//! The folder that is served: what is in it, and what is not.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Serialize;
use wormcast_network::input::is_standard_input;
use wormcast_network::text::did_you_mean;
use wormcast_network::{FileFormat, MAX_FILE_BYTES, Network, TopologySpec};
use wormcast_simulation::REPLAY_MAGIC;

use crate::answer::Refusal;

/// How deep below the folder files are listed, and how many entries are looked at.
const DEPTH: usize = 4;
const ENTRIES: usize = 20_000;

/// A folder. Paths in it are relative to it, which is the working directory of the process, so that they mean the same to all libraries.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
}

/// What a file is to the page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An experiment file.
    Experiment,
    /// A result store.
    Store,
    /// A recorded run.
    Replay,
    /// A network.
    Network,
    /// Forwarding tables.
    Tables,
    /// Multicast tables, which are looked at beside forwarding tables.
    MulticastTables,
}

/// A file that the page can show.
#[derive(Debug, Serialize)]
pub(crate) struct Item {
    pub(crate) path: String,
    pub(crate) kind: Kind,
    bytes: u64,
    /// Seconds since 1970; null if unknown.
    modified: Option<u64>,
    /// The files that belong to it, by the parameters of its [view](Kind::view) that name them: the network of tables, the forwarding tables
    /// of multicast tables.
    pub(crate) beside: BTreeMap<&'static str, String>,
}

impl Item {
    /// The one of a kind that belongs to this: of the same name in its folder, or else the only one there.
    fn partner(&self, kind: Kind, items: &[Self]) -> Option<String> {
        let path = Path::new(&self.path);
        let there = || items.iter().filter(|item| item.kind == kind && Path::new(&item.path).parent() == path.parent());
        let of_name = there().find(|item| Path::new(&item.path).file_stem() == path.file_stem());
        let only = || there().next().filter(|_| there().count() == 1);
        of_name.or_else(only).map(|item| item.path.clone())
    }
}

/// All of them, and how many entries of the folder were not looked at.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Items {
    pub(crate) items: Vec<Item>,
    /// Whether there are more files than were looked at.
    pub(crate) more: bool,
}

impl Folder {
    /// The folder at a path, which becomes the working directory of the process.
    pub(crate) fn enter(path: &Path) -> std::io::Result<Self> {
        let root = path.canonicalize()?;
        std::env::set_current_dir(&root)?;
        Ok(Self { root })
    }

    #[cfg(test)]
    fn at(path: &Path) -> Self {
        Self { root: path.canonicalize().expect("a folder") }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a file in the folder, as it was given, once it is known that there is one and that it is in the folder.
    pub(crate) fn file(&self, given: &str) -> Result<PathBuf, Refusal> {
        let path = Self::inside(given)?;
        let there = |path: &Path| path.canonicalize().is_ok_and(|real| real.starts_with(&self.root) && real.is_file());
        if there(&self.root.join(&path)) {
            return Ok(path);
        }
        let names: Vec<String> = self.items().items.into_iter().map(|item| item.path).collect();
        let hint = did_you_mean(given, names.iter().map(String::as_str));
        Err(Refusal::Missing(format!("there is no file `{given}` in the folder that is served{hint}")))
    }

    /// The path of a file to be written in the folder, the same however it is given; its own folder need not be there yet.
    pub(crate) fn new_file(&self, given: &str) -> Result<PathBuf, Refusal> {
        let path = Self::inside(given)?;
        let full = self.root.join(&path);
        // As far as there is something; names that lead to the same file are one.
        let settled = full.ancestors().find_map(|there| Some((there, there.canonicalize().ok()?)));
        if let Some((there, real)) = settled {
            let behind = full.strip_prefix(there).unwrap_or(Path::new(""));
            let next = behind.components().next().map(|name| there.join(name));
            // A link that leads nowhere may lead elsewhere later. A folder may have been made meanwhile.
            let is_link = |path: PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
            let dangling = next.is_some_and(is_link);
            let fits = if there == full { real.is_file() } else { real.is_dir() };
            if let (true, false, Ok(inside)) = (fits, dangling, real.strip_prefix(&self.root)) {
                return Ok(inside.join(behind).components().collect());
            }
        }
        Err(Refusal::BadInput(format!(
            "`{given}` is no place in the folder that is served, in which a file can be written"
        )))
    }

    /// A relative path that does not lead up.
    fn inside(given: &str) -> Result<PathBuf, Refusal> {
        let path = Path::new(given);
        let parts = || path.components();
        let plain = parts().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if plain && parts().any(|part| matches!(part, Component::Normal(_))) && !given.contains(['\0', '\\']) {
            return Ok(parts().filter(|part| *part != Component::CurDir).collect());
        }
        Err(Refusal::BadInput(format!(
            "`{given}` is not the path of a file in the folder that is served; expected one relative to that, as in `results/store.db`"
        )))
    }

    /// The network of a topology's text; if that names a file, it has to be one in the folder.
    pub(crate) fn network(&self, topology: &str) -> Result<std::sync::Arc<Network>, Refusal> {
        self.spec(topology)?.build().map_err(Refusal::bad_input)
    }

    /// What a text asks for, before it is built: a file is in this folder.
    pub(crate) fn spec(&self, topology: &str) -> Result<TopologySpec, Refusal> {
        // Before anything of the file is read, even whether it is there.
        let spec = match self.named(topology) {
            Some(refused) => return Err(refused),
            None => topology.parse::<TopologySpec>().map_err(Refusal::bad_input)?,
        };
        if let TopologySpec::File(path) = &spec {
            self.file(path)?;
        }
        Ok(spec)
    }

    /// Why a text is refused if it is the path of something outside of the folder, or standard input.
    fn named(&self, text: &str) -> Option<Refusal> {
        let text = text.trim();
        let elsewhere = is_standard_input(text) || self.leads_outside(Path::new(""), text);
        elsewhere.then(|| Refusal::BadInput(format!("`{text}` is not in the folder that is served")))
    }

    /// Whether a text, read as a path from a folder inside, names something outside that is there.
    pub(crate) fn leads_outside(&self, from: &Path, text: &str) -> bool {
        if text.is_empty() || text.contains('\0') {
            return false;
        }
        let path = self.root.join(from).join(text);
        match path.canonicalize() {
            Ok(real) => !real.starts_with(&self.root),
            // Whether there is something outside is nobody's business either.
            Err(_) => {
                Path::new(text).is_absolute() || Path::new(text).components().any(|part| part == Component::ParentDir)
            }
        }
    }

    /// What there is for the page, by kind and path.
    pub(crate) fn items(&self) -> Items {
        let mut found = Items::default();
        let mut looked_at = 0;
        self.list(Path::new(""), DEPTH, &mut found, &mut looked_at);
        found.items.sort_by(|one, other| (one.kind, &one.path).cmp(&(other.kind, &other.path)));
        for at in 0..found.items.len() {
            let item = &found.items[at];
            let partners = item.kind.partners().iter();
            let named = partners.filter_map(|&kind| Some((kind.view().1, item.partner(kind, &found.items)?)));
            found.items[at].beside = named.collect();
        }
        found
    }

    /// A file, if it is one that the page can show.
    pub(crate) fn item(&self, path: &str) -> Option<Item> {
        let full = self.root.join(path);
        let (there, kind) = (full.metadata().ok()?, Kind::of(&full)?);
        let modified = there.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = modified.map(|since| since.as_secs());
        Some(Item { path: path.replace('\\', "/"), kind, bytes: there.len(), modified, beside: BTreeMap::new() })
    }

    fn list(&self, folder: &Path, depth: usize, found: &mut Items, looked_at: &mut usize) {
        let Ok(entries) = fs::read_dir(self.root.join(folder)) else { return };
        let mut entries: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        entries.sort_unstable();
        for name in entries {
            *looked_at += 1;
            if *looked_at > ENTRIES {
                found.more = true;
                return;
            }
            let path = folder.join(&name);
            let full = self.root.join(&path);
            // Links are not followed: what they lead to is listed where it is.
            let Ok(there) = fs::symlink_metadata(&full) else { continue };
            let (Some(shown), false) = (path.to_str(), name.to_string_lossy().starts_with('.')) else { continue };
            if there.is_dir() {
                let built = ["target", "node_modules"].iter().any(|built| name == *built);
                if !built && depth > 1 {
                    self.list(&path, depth - 1, found, looked_at);
                }
            } else if there.is_file() {
                found.items.extend(self.item(shown));
            }
        }
    }
}

impl Kind {
    /// The view that shows such a file, and the parameter of its address that names it.
    pub(crate) fn view(self) -> (&'static str, &'static str) {
        match self {
            Self::Experiment => ("curves", "experiment"),
            Self::Store => ("curves", "store"),
            Self::Replay => ("replay", "file"),
            Self::Network => ("network", "topology"),
            Self::Tables => ("deadlock", "tables"),
            Self::MulticastTables => ("deadlock", "multicast_tables"),
        }
    }

    /// What such a file is looked at with.
    fn partners(self) -> &'static [Self] {
        match self {
            Self::Tables => &[Self::Network],
            Self::MulticastTables => &[Self::Network, Self::Tables],
            Self::Experiment | Self::Store | Self::Replay | Self::Network => &[],
        }
    }

    /// What a file is, by its name and its first bytes.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let ending = path.extension().unwrap_or_default().to_str()?.to_ascii_lowercase();
        let starts = |magic: &[u8]| {
            let mut start = vec![0; magic.len()];
            File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == magic
        };
        match ending.as_str() {
            "toml" => {
                let text = fs::metadata(path).is_ok_and(|there| there.len() < 1 << 20) && is_experiment(path);
                text.then_some(Self::Experiment)
            }
            "db" | "sqlite" => starts(b"SQLite format 3\0").then_some(Self::Store),
            "replay" => starts(&REPLAY_MAGIC).then_some(Self::Replay),
            "graphml" | "anynet" | "edges" | "edgelist" | "topology" | "topo" => Some(Self::Network),
            "lfts" | "fdbs" | "tables" => Some(Self::Tables),
            "mcfdbs" => Some(Self::MulticastTables),
            // As programs print them and repairs write them.
            "" | "dump" | "tab" | "mfts" => tables_of(path),
            _ if OF_NETWORKS.contains(&&*ending) => is_network(path).then_some(Self::Network),
            _ => None,
        }
    }
}

/// Endings that files of networks have, and others too.
const OF_NETWORKS: [&str; 7] = ["net", "ibsim", "topofile", "ibnetdiscover", "txt", "json", "xml"];

/// What is wrong with a file that may have been meant for a network.
pub(crate) fn wrong_network(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    if !OF_NETWORKS.contains(&&*ending) {
        return None;
    }
    if path.metadata().ok()?.len() > MAX_FILE_BYTES {
        return None;
    }
    let (name, text) = (path.to_str()?, fs::read_to_string(path).ok()?);
    // Whatever is nothing else is taken for a list of edges.
    let format = Some(FileFormat::of(name, &text)).filter(|format| *format != FileFormat::EdgeList)?;
    format.parse(name, &text).err().map(|error| error.to_string())
}

/// The tables that a file has by its first lines.
fn tables_of(path: &Path) -> Option<Kind> {
    const LOOKED_AT: u64 = 1 << 12;
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let first = lines.next()?;
    let begins = |with: &[&str]| with.iter().any(|with| first.starts_with(with));
    if begins(&["Multicast mlids"]) || begins(&["Switch 0x"]) && lines.next()?.contains("Out Port(s)") {
        return Some(Kind::MulticastTables);
    }
    // A router alone: BookSim's lines go on behind it.
    let router = first.strip_prefix("router ").map(str::trim);
    let is_alone =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_digit()) || name.starts_with('"') && name.ends_with('"');
    let is_text = router.is_some_and(is_alone);
    (is_text || begins(&["Unicast lids", "dump_ucast_routes", "Switch 0x"])).then_some(Kind::Tables)
}

/// Whether a TOML file has what experiments have, and manifests of other programs have not.
fn is_experiment(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| {
        let text = String::from_utf8_lossy(&bytes);
        let names = |key: &str| text.lines().any(|line| line.trim_start().starts_with(key));
        names("topology") || names("algorithm") || names("[sweep") || names("[traffic")
    })
}

/// Whether a file, whose ending says little, has a network in it: if it is read as one, or, where it is large or has an ending of networks, begins as they do.
fn is_network(path: &Path) -> bool {
    const LOOKED_AT: usize = 1 << 16;
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LOOKED_AT as u64 + 1).read_to_end(&mut bytes));
    let whole = bytes.len() <= LOOKED_AT;
    bytes.truncate(LOOKED_AT);
    let text = String::from_utf8_lossy(&bytes);
    if read.is_err() || text.contains('\0') {
        return false;
    }
    let name = path.to_str().unwrap_or_default();
    let looks =
        || matches!(FileFormat::of("", &text), FileFormat::Fabric | FileFormat::Anynet) || text.contains("<graphml");
    let is_read = || FileFormat::of(name, &text).parse(name, &text).is_ok();
    // What has the ending of a network, and is wrong, has an error to be shown. Other texts may begin like one.
    let of_networks = path
        .extension()
        .is_some_and(|ending| !["txt", "json", "xml"].iter().any(|other| ending.eq_ignore_ascii_case(other)));
    if whole && !of_networks { is_read() } else { looks() || whole && is_read() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a file in it and one beside it, which a link in the folder leads to.
    fn folder() -> (tempfile::TempDir, Folder) {
        let outside = tempfile::tempdir().expect("a temporary folder");
        let root = outside.path().join("served");
        fs::create_dir_all(root.join("results")).unwrap();
        fs::write(outside.path().join("secret.edges"), "0 1\n").unwrap();
        fs::write(root.join("net.edges"), "0 1\n").unwrap();
        fs::write(root.join("results/ring.edges"), "0 1\n1 2\n2 0\n").unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("../secret.edges", root.join("link.edges")).unwrap();
            std::os::unix::fs::symlink("..", root.join("up")).unwrap();
            std::os::unix::fs::symlink("net.edges", root.join("same.edges")).unwrap();
        }
        let served = Folder::at(&root);
        (outside, served)
    }

    #[test]
    fn tables_are_looked_at_with_the_network_beside_them() {
        let kept = tempfile::tempdir().unwrap();
        let folder = Folder::at(kept.path());
        let beside = |path: &str| {
            let items = folder.items().items;
            let found = items.into_iter().find(|item| item.path == path).expect("it is listed");
            found.beside.into_iter().collect::<Vec<_>>()
        };
        let pairs = |given: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
            given.iter().map(|&(parameter, path)| (parameter, path.to_owned())).collect()
        };
        fs::create_dir(kept.path().join("other")).unwrap();
        for name in ["a.edges", "a.lfts", "b.lfts", "a.mcfdbs", "other/c.lfts"] {
            fs::write(kept.path().join(name), "0 1\n").unwrap();
        }
        assert_eq!(beside("a.lfts"), pairs(&[("topology", "a.edges")]));
        assert_eq!(beside("b.lfts"), pairs(&[("topology", "a.edges")]), "the only network there");
        assert_eq!(beside("a.mcfdbs"), pairs(&[("tables", "a.lfts"), ("topology", "a.edges")]));
        assert_eq!(beside("other/c.lfts"), pairs(&[]), "a network of another folder may be any");
        fs::write(kept.path().join("d.edges"), "0 1\n").unwrap();
        assert_eq!(beside("a.lfts"), pairs(&[("topology", "a.edges")]));
        assert_eq!(beside("b.lfts"), pairs(&[]), "it may be either's");
    }

    #[test]
    fn files_of_the_folder_are_found() {
        let (_kept, folder) = folder();
        assert_eq!(folder.file("net.edges").unwrap(), Path::new("net.edges"));
        assert_eq!(folder.file("./results/ring.edges").unwrap(), Path::new("results/ring.edges"));
        #[cfg(unix)]
        assert_eq!(folder.file("same.edges").unwrap(), Path::new("same.edges"), "a link within the folder");
        let paths: Vec<String> = folder.items().items.into_iter().map(|item| item.path).collect();
        assert_eq!(paths, ["net.edges", "results/ring.edges"]);
        assert_eq!(folder.new_file("new/er/new.db").unwrap(), Path::new("new/er/new.db"));
        assert!(folder.new_file("net.edges/new.db").is_err(), "a file is no folder");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("nowhere", folder.root().join("dangling")).unwrap();
            assert!(folder.new_file("dangling").is_err() && folder.new_file("dangling/new.db").is_err());
        }
        for given in ["results/new.db", "./results/new.db", "results//new.db", "results/./new.db"] {
            assert_eq!(folder.new_file(given).unwrap(), Path::new("results/new.db"), "{given}");
        }
        #[cfg(unix)]
        assert_eq!(folder.new_file("same.edges").unwrap(), Path::new("net.edges"), "what a link leads to");
        let Err(Refusal::Missing(why)) = folder.file("nets.edges") else { panic!("there is none") };
        assert!(why.ends_with("did you mean `net.edges`?"), "{why}");
    }

    #[test]
    fn networks_are_told_by_what_is_in_them() {
        let kept = tempfile::tempdir().expect("a temporary folder");
        let many: String = (0..5000)
            .map(|switch| format!("Switch 8 \"s{switch}\"\n[1] \"s{}\"[2]\n", switch + 1))
            .collect::<Vec<_>>()
            .concat();
        let files = [
            ("fabric.net", "Switch 8 \"a\"\n[1] \"h\"[1]\nCa 1 \"h\"\n[1] \"a\"[1]\n", true),
            ("large.net", &many, true),
            ("ring.txt", "# a ring\n0 1\n1 2\n2 0\n", true),
            ("notes.txt", "", false),
            ("readme.txt", "This folder has what was measured.\n\nSee the report.\n", false),
            ("result.json", "{\"cycles\": 12}", false),
            (
                "graph.json",
                "{\"nodes\": [{\"id\": 0}, {\"id\": 1}], \"links\": [{\"source\": 0, \"target\": 1}]}",
                true,
            ),
        ];
        for (name, text, network) in files {
            let path = kept.path().join(name);
            fs::write(&path, text).unwrap();
            assert_eq!(Kind::of(&path) == Some(Kind::Network), network, "{name}");
        }
    }

    #[test]
    fn nothing_outside_is_found() {
        let (kept, folder) = folder();
        let absolute = kept.path().join("secret.edges").display().to_string();
        let inside = folder.root().join("net.edges").display().to_string();
        let tried = [
            "../secret.edges",
            "results/../../secret.edges",
            "./../secret.edges",
            "link.edges",
            "up/secret.edges",
            "up/served/../secret.edges",
            &absolute,
            "/etc/passwd",
            "",
            ".",
            "..",
            "/",
            "//etc/passwd",
            "net.edges\0",
            "..\\secret.edges",
            "%2e%2e/secret.edges",
            "..%2fsecret.edges",
            "file:///etc/passwd",
            "results",
            &inside,
        ];
        for given in tried {
            assert!(folder.file(given).is_err(), "{given}");
        }
        // Of the last two, one is a folder, and the other has another way to be written.
        for given in &tried[..tried.len() - 2] {
            assert!(folder.network(given).is_err(), "{given}");
            // Some are odd names of something inside.
            let odd = given.contains('%') || given.starts_with("file:");
            let new = folder.new_file(given).ok();
            let normal = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
            assert!(new.is_none_or(|path| odd && normal(&path)), "{given}");
        }
        assert!(folder.network("-").is_err(), "standard input");
        assert!(folder.network("/dev/stdin").is_err());
    }

    #[test]
    fn whether_there_is_something_outside_is_not_told() {
        let (kept, folder) = folder();
        let told = |name: &str| {
            let given = kept.path().join(name).display().to_string();
            format!("{:?}", folder.network(&given).expect_err("it is outside")).replace(name, "")
        };
        assert_eq!(told("secret.edges"), told("nothing.edges"));
        let told = |given: &str| format!("{:?}", folder.network(given).expect_err("it is outside")).replace(given, "");
        assert_eq!(told("../secret.edges"), told("../nothing.edges"));
    }

    /// As programs print tables and repairs write them, and networks that are wrong.
    #[test]
    fn tables_and_broken_networks_are_known_by_their_beginnings() {
        let kept = tempfile::tempdir().unwrap();
        let kind = |name: &str, text: &str| {
            let path = kept.path().join(name);
            fs::write(&path, text).unwrap();
            (Kind::of(&path), wrong_network(&path))
        };
        let lfts = "Unicast lids [0-18] of switch Lid 1 guid 0x0000000000200000 ('rack1'):\n";
        let mcfdbs = "\nSwitch 0x0000000000200000\nLID    : Out Port(s)\n0xC001 : 0x001\n";
        for (name, text, expected) in [
            ("opensm-lfts.dump", lfts, Some(Kind::Tables)),
            ("lfts", lfts, Some(Kind::Tables)),
            ("hand.tab", "# by hand\nrouter 0\n1 to 1\n", Some(Kind::Tables)),
            ("fdbs.dump", "Switch 0x0000000000200000\nLID    : Port : Hops : Optimal\n", Some(Kind::Tables)),
            ("opensm.dump", mcfdbs, Some(Kind::MulticastTables)),
            ("all.mfts", "Multicast mlids [0xc000-0xc3ff] of switch\n", Some(Kind::MulticastTables)),
            ("anynet_list", "router 0 node 0 node 1 router 1\nrouter 1 node 2\n", None),
            ("LICENSE", "Permission is hereby granted\n", None),
            ("opensm-lid-matrix.dump", "Switch: guid 0x0000000000200000\n", None),
            ("groups", "0xc001: a;b\n", None),
        ] {
            assert_eq!(kind(name, text), (expected, None), "{name}");
        }
        assert_eq!(kind("notes.txt", "Node 3 was replaced, and router 4 is to be\n").0, None);
        // Its view says what is wrong with it.
        assert_eq!(kind("n.net", "Switch 4 \"a\"\n[1] \"b\"[1]\n").0, Some(Kind::Network));
        let (none, wrong) = kind("n.json", "{\"nodes\": 3, \"edges\": []}");
        assert!(none.is_none() && wrong.unwrap().contains("`nodes` is a number"));
    }
}
