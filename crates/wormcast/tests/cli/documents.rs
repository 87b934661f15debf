//! The documents: commands print what is shown, links lead somewhere, crates stand on their floors, and the code map is complete.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::own_algorithm;

/// A command and what it printed.
type Shown = (String, String);

/// The commands of a document's console blocks.
fn shown(document: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    for block in document.split("```console\n").skip(1) {
        let block = block.split("```").next().expect("a split has a first part");
        assert!(block.starts_with("$ "), "a command comes first: {block}");
        for line in block.lines() {
            match (line.strip_prefix("$ "), shown.last_mut()) {
                (Some(command), _) => shown.push((command.to_owned(), String::new())),
                (None, Some((_, output))) => output.extend([line, "\n"]),
                (None, None) => unreachable!("a command comes first"),
            }
        }
    }
    shown
}

/// Lines are wrapped in some documents.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// Runs the commands of a document in a folder that has what the top of the repository has; returns how many.
fn run(document: &Path, root: &Path) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["crates", "examples", "experiments"] {
        symlink(root.join(name), folder.path().join(name)).expect("a link");
    }
    let program = Path::new(env!("CARGO_BIN_EXE_wormcast")).parent().expect("a program is in a folder");
    // The guide's program with an algorithm of its own is the example.
    fs::create_dir(folder.path().join("bin")).expect("a folder");
    symlink(own_algorithm::program(), folder.path().join("bin/comb")).expect("a link");
    let (own, others) = (folder.path().join("bin"), std::env::var("PATH").unwrap_or_default());
    let path = format!("{}:{}:{others}", program.display(), own.display());
    let mut count = 0;
    for (command, expected) in shown(&fs::read_to_string(document).expect("text")) {
        if let Some(file) = command.strip_prefix("cat ") {
            fs::write(folder.path().join(file), expected).expect("the file is written");
            continue;
        }
        // Other programs, and what takes long.
        let ours = command.split_once(' ').filter(|(program, _)| ["wormcast", "comb"].contains(program));
        if ours.is_none_or(|(_, rest)| rest.starts_with("sweep")) {
            continue;
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{{ {command}; }} 2>&1")]).current_dir(folder.path()).env("PATH", &path);
        let output = shell.output().expect("a shell");
        let printed = String::from_utf8_lossy(&output.stdout);
        let place = document.display();
        if expected.is_empty() {
            assert!(output.status.success(), "{place}: {command}\n{printed}");
        } else {
            assert_eq!(words(&printed), words(&expected), "{place}: {command}\n{printed}");
        }
        count += 1;
    }
    count
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The Markdown files of a folder.
fn pages(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let pages = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    pages.filter(|page| page.extension().is_some_and(|extension| extension == "md"))
}

#[test]
fn commands_print_what_the_documents_say() {
    let root = root();
    let documents = std::iter::once(root.join("README.md")).chain(pages(&root.join("docs")));
    let documents = documents.chain(pages(&root.join("docs/guide")));
    let counts: Vec<usize> = documents.map(|document| run(&document, &root)).collect();
    assert!(counts.iter().sum::<usize>() > 30, "{counts:?}");
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || "_- ".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_lead_somewhere() {
    let root = root();
    let documents =
        ["", "docs", "docs/guide", "docs/measurements"].map(|folder| pages(&root.join(folder))).into_iter().flatten();
    for document in documents {
        let text = fs::read_to_string(&document).expect("text");
        // What is outside of code blocks.
        let prose: String = text.split("```").step_by(2).collect();
        for link in prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()) {
            let link = link.trim_start_matches('<').trim_end_matches('>');
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            if path.contains("://") {
                continue;
            }
            let target = if path.is_empty() { document.clone() } else { document.with_file_name(path) };
            assert!(target.exists(), "{}: {link}", document.display());
            if !heading.is_empty() && target.extension().is_some_and(|extension| extension == "md") {
                let text = fs::read_to_string(&target).expect("text");
                let headings = text.lines().filter(|line| line.starts_with('#'));
                let mut anchors = headings.map(|line| anchor(line.trim_start_matches('#').trim()));
                let named = text.contains(&format!("<a id=\"{heading}\"></a>"));
                assert!(named || anchors.any(|anchor| anchor == heading), "{}: {link}", document.display());
            }
        }
    }
}

/// Every page is in the summary, from which the site is built.
#[test]
fn the_summary_has_all_pages() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).expect("a summary");
    for folder in ["", "guide", "measurements"] {
        for page in pages(&docs.join(folder)) {
            let path = page.strip_prefix(&docs).expect("a page of docs").to_str().expect("a name");
            assert!(
                path == "SUMMARY.md" || summary.contains(&format!("]({path})")),
                "{path} is not in docs/SUMMARY.md"
            );
        }
    }
}

/// All links of the built site lead to a page or a picture of it: the site is built if `WORMCAST_SITE` says where it is.
#[test]
fn the_site_is_whole() {
    let Ok(site) = std::env::var("WORMCAST_SITE") else { return };
    let site = root().join(site);
    let (mut folders, mut pages) = (vec![site.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the site").map(|entry| entry.expect("an entry").path()) {
            match entry.extension() {
                _ if entry.is_dir() => folders.push(entry),
                Some(html) if html == "html" => pages.push(entry),
                _ => {}
            }
        }
    }
    assert!(pages.len() > 20, "{} pages in {}", pages.len(), site.display());
    let mut links = 0;
    // What cannot be found has addresses from the top.
    for page in pages.iter().filter(|page| !page.ends_with("404.html")) {
        let text = fs::read_to_string(page).expect("text");
        for link in [" href=\"", " src=\""].iter().flat_map(|start| text.split(start).skip(1)) {
            let link = link.split('"').next().unwrap_or_default();
            let (path, _) = link.split_once('#').unwrap_or((link, ""));
            if path.is_empty() || path.contains("://") || path.starts_with("data:") {
                continue;
            }
            links += 1;
            let target = page.with_file_name(path);
            assert!(target.is_file(), "{}: {link}", page.display());
        }
    }
    assert!(links > 1000, "{links} links");
}

/// The floors that the tree of crates shows, by the names of their folders.
fn floors(text: &str) -> BTreeMap<&str, u32> {
    let tree = text.lines().filter_map(|line| line.trim_start().split_once("/ "));
    tree.filter_map(|(name, rest)| {
        let number = rest.trim_start().strip_prefix("floor ")?.split(' ').next()?;
        Some((name, number.parse().expect("a number")))
    })
    .collect()
}

/// Every crate stands on a floor, and uses only those below it.
#[test]
fn crates_use_the_floors_below() {
    let root = root();
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("text");
    let floors = floors(&text);
    let crates: BTreeSet<String> = fs::read_dir(root.join("crates"))
        .expect("crates")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    assert!(crates.iter().eq(floors.keys()), "{crates:?} have the floors {floors:?}");
    for (name, floor) in &floors {
        let manifest = fs::read_to_string(root.join("crates").join(name).join("Cargo.toml")).expect("a manifest");
        for used in manifest.lines().filter_map(|line| line.strip_prefix("wormcast-")?.split(['.', ' ']).next()) {
            assert!(floors[used] < *floor, "{name} on floor {floor} uses {used} on floor {}", floors[used]);
        }
    }
}

/// Every module of the crates is in the code map, under its crate and by its name, and so are the files of folders that the map goes into.
#[test]
fn the_code_map_is_complete() {
    let root = root();
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("text");
    let map = text.split("## Code map").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a code map");
    // Folders whose files the map tells apart.
    let told_apart = ["registry", "plan", "headers", "checks", "turns", "trees", "runs"];
    for name in floors(&text).into_keys() {
        let (_, of_crate) = map.split_once(&format!("\n**{name}**")).expect("a crate of the map");
        let of_crate = of_crate.split("\n**").next().unwrap_or_default();
        for path in modules(&root.join("crates").join(name).join("src")) {
            let module = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
            assert!(
                module == "lib" || of_crate.contains(&format!("`{module}`")),
                "ARCHITECTURE.md does not say what `{module}` of {name} is for"
            );
            for inner in modules(&path).filter(|_| told_apart.contains(&module)) {
                let file = inner.file_stem().and_then(|stem| stem.to_str()).expect("a name");
                assert!(
                    file == "mod" || inner.is_dir() || of_crate.contains(&format!("`{file}`")),
                    "ARCHITECTURE.md does not say what `{file}` in `{module}` of {name} is for"
                );
            }
        }
    }
}

/// The modules of a folder: its files and folders with code.
fn modules(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.is_dir() || path.extension().is_some_and(|extension| extension == "rs"))
}
