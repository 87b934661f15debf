//! Algorithms, routings and constructions of trees are described once: nothing else goes by their names, and the documents say what their
//! descriptors say.

use std::fs;
use std::path::{Path, PathBuf};

use wormcast::multicast::{ALGORITHMS, Family, Routed, Sends};
use wormcast::routing::{ROUTINGS, TREE_CONSTRUCTIONS};

/// Words that happen to be names, and examples that users are shown: the end of the file's path, the word, and what it is there.
const NO_NAMES: [(&str, &str, &str); 11] = [
    ("network/src/topologies/graph_spec.rs", "tree", "a family of random graphs"),
    ("lab/src/experiment/file.rs", "tree", "a family of random graphs"),
    ("multicast/src/headers/encoded.rs", "bit-string", "an encoding"),
    ("multicast/src/headers/encoded.rs", "multiport", "an encoding"),
    ("papers/src/checks/mod.rs", "turn-prohibition", "a check"),
    ("plan/batch.rs", "dual-path", "an example in a message"),
    ("routing/src/forwarding_tables/mod.rs", "tables", "the name of the relation that tables are"),
    ("lab/src/experiment/schema.rs", "tables", "a setting"),
    ("commands/routing/text.rs", "tables", "a line of the text"),
    ("commands/routing/mod.rs", "tables", "an option"),
    ("commands/routing/fabric.rs", "tables", "an option"),
];

/// What comes before a name where it is described.
const DESCRIBED_BY: [&str; 4] = ["name:", "built_in(", "RoutingDescriptor::new(", "over_trees("];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn names() -> Vec<&'static str> {
    let algorithms = ALGORITHMS.iter().map(|algorithm| algorithm.name);
    let routings = ROUTINGS.iter().map(|routing| routing.name);
    let mut all: Vec<&str> =
        algorithms.chain(routings).chain(TREE_CONSTRUCTIONS.iter().map(|construction| construction.name)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The code of a file without comments and its tests, which come last.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The names that a file has as literals, besides those of what it describes itself.
fn literals(path: &str, text: &str, names: &[&'static str]) -> Vec<&'static str> {
    let code = code(text);
    let dense: String = code.split_whitespace().collect();
    let found = names.iter().copied().filter(|name| {
        let literal = format!("\"{name}\"");
        let own = DESCRIBED_BY.iter().filter(|before| dense.contains(&format!("{before}{literal}"))).count();
        code.matches(&literal).count() > own
            && !NO_NAMES.iter().any(|(file, word, _)| path.ends_with(file) && word == name)
    });
    found.collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// What can be told of an algorithm is asked of its descriptor, not of its name.
#[test]
fn nothing_goes_by_names() {
    let names = names();
    let mut files = Vec::new();
    for name in ["network", "routing", "multicast", "simulation", "analysis", "lab", "papers", "wormcast"] {
        sources(&root().join("crates").join(name).join("src"), &mut files);
    }
    // Files of tests.
    files.retain(|file| !["tests", "conformance"].iter().any(|stem| file.file_stem().is_some_and(|is| is == *stem)));
    let read = |file: &PathBuf| (file.display().to_string(), fs::read_to_string(file).expect("text"));
    let texts: Vec<(String, String)> = files.iter().map(read).collect();
    let mut found: Vec<String> = Vec::new();
    for (path, text) in &texts {
        found.extend(literals(path, text, &names).iter().map(|name| format!("{path} has a literal \"{name}\"")));
    }
    assert!(
        found.is_empty(),
        "ask descriptors (`Descriptor`, `RoutingDescriptor`, `TreeDescriptor`), or use the constant:\n{}",
        found.join("\n")
    );
    for (file, word, what) in NO_NAMES {
        let (_, text) = texts.iter().find(|(path, _)| path.ends_with(file)).expect("the file is there");
        assert!(code(text).contains(&format!("\"{word}\"")), "{file} has no \"{word}\", {what}, any more");
    }
}

#[test]
fn literals_that_are_planted_are_found() {
    let names = names();
    let found = |path: &str, text: &str| literals(path, text, &names);
    assert_eq!(found("x.rs", "match name {\n    \"spam\" | \"dstm\" => 1,\n}"), ["dstm", "spam"]);
    assert!(
        found("x.rs", "// \"spam\"\nlet text = \"`spam` has one\";\n#[cfg(test)]\nmod tests { \"spam\" }").is_empty()
    );
    let own = "const SPAM: Descriptor = Descriptor::built_in(\n    \"spam\",";
    assert!(found("x.rs", own).is_empty());
    assert_eq!(found("x.rs", &format!("{own}\nfn name() {{ \"spam\" }}")), ["spam"]);
    assert!(found("crates/lab/src/experiment/file.rs", "\"tree\"").is_empty());
}

/// Which algorithms there are for which network, and what routes their worms.
fn schemes() -> String {
    let mut lines = vec!["| your network | multicast algorithms | routed by |".to_owned(), "|---|---|---|".to_owned()];
    let quoted = |names: Vec<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    for family in Family::ALL {
        let here: Vec<_> = ALGORITHMS.iter().filter(|algorithm| algorithm.family == family).collect();
        let kinds = Sends::ALL.iter().filter_map(|&sends| {
            let names: Vec<&str> = here.iter().filter(|a| a.sends == Some(sends)).map(|a| a.name).collect();
            (!names.is_empty()).then(|| format!("{}: {}", sends.name(), quoted(names)))
        });
        let kinds = kinds.collect::<Vec<_>>().join("; ");
        let mut routings: Vec<&str> = Vec::new();
        for algorithm in &here {
            match algorithm.routed {
                Routed::By(routing) => routings.push(routing.name),
                Routed::OverTurns(_) => routings.extend(ROUTINGS.iter().filter(|r| r.over_turns).map(|r| r.name)),
                Routed::OneOf(some, _) => routings.extend(some.iter().map(|routing| routing.name)),
                Routed::Any(_) | Routed::Itself => {}
            }
        }
        let routings: Vec<&str> = ROUTINGS.iter().map(|r| r.name).filter(|name| routings.contains(name)).collect();
        let routings = if routings.is_empty() || family == Family::Any { "any".to_owned() } else { quoted(routings) };
        lines.push(format!("| {} | {kinds} | {routings} |", family.name()));
    }
    lines.join("\n") + "\n"
}

fn routings() -> String {
    let line = |routing: &&wormcast::routing::RoutingDescriptor| {
        format!("| `{}` | {} | {} |\n", routing.name, routing.needs, routing.summary)
    };
    format!("| routing | defined on | choice |\n|---|---|---|\n{}", ROUTINGS.iter().map(line).collect::<String>())
}

fn constructions() -> String {
    let line = |construction: &&wormcast::routing::TreeDescriptor| {
        format!("| `{}` | {} | {} |\n", construction.name, construction.needs, construction.summary)
    };
    let lines: String = TREE_CONSTRUCTIONS.iter().map(line).collect();
    format!("| construction | defined on | trees |\n|---|---|---|\n{lines}")
}

/// With `WORMCAST_DRAW=1`, the tables are replaced by what the descriptors say.
#[test]
fn tables_are_what_the_descriptors_say() {
    let draw = std::env::var_os("WORMCAST_DRAW").is_some();
    for (page, table) in
        [("docs/guide/choosing.md", schemes()), ("docs/routing.md", routings()), ("docs/trees.md", constructions())]
    {
        let path = root().join(page);
        let text = fs::read_to_string(&path).expect("text");
        // The table that has this head.
        let head = table.lines().next().unwrap_or_default();
        let start = text.find(head).unwrap_or_else(|| panic!("{page} has no table with the head {head}"));
        let end = text[start..].find("\n\n").map_or(text.len(), |length| start + length + 1);
        if draw {
            fs::write(&path, format!("{}{table}{}", &text[..start], &text[end..])).expect("the page is written");
        } else {
            assert_eq!(&text[start..end], table, "{page}: WORMCAST_DRAW=1 replaces the table");
        }
    }
}
