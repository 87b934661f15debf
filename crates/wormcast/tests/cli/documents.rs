//! The commands of the README and of docs/, run as they are printed: they say what is printed below them.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

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
                (None, Some((_, output))) => *output += &format!("{line}\n"),
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
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut count = 0;
    for (command, expected) in shown(&fs::read_to_string(document).expect("text")) {
        if let Some(file) = command.strip_prefix("cat ") {
            fs::write(folder.path().join(file), expected).expect("the file is written");
            continue;
        }
        // Other programs, and what takes long.
        if !command.starts_with("wormcast ") || command.starts_with("wormcast sweep") {
            continue;
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{{ {command}; }} 2>&1")]).current_dir(folder.path()).env("PATH", &path);
        let output = shell.output().expect("a shell");
        let printed = String::from_utf8_lossy(&output.stdout);
        let place = document.display();
        assert_eq!(words(&printed), words(&expected), "{place}: {command}\n{printed}");
        count += 1;
    }
    count
}

#[test]
fn commands_print_what_the_documents_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository");
    let mut documents: Vec<PathBuf> = vec![root.join("README.md")];
    let pages = fs::read_dir(root.join("docs")).expect("docs").map(|entry| entry.expect("an entry").path());
    documents.extend(pages.filter(|page| page.extension().is_some_and(|extension| extension == "md")));
    let counts: Vec<usize> = documents.iter().map(|document| run(document, &root)).collect();
    assert!(counts[0] > 0 && counts.iter().sum::<usize>() > 10, "{counts:?}");
}
