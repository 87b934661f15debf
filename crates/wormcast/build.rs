//! Tells the program from which revision of its sources it is built: `WORMCAST_REVISION`, if that is known.

use std::path::Path;
use std::process::Command;

fn main() {
    let package = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let package = Path::new(&package);
    println!("cargo::rerun-if-changed=build.rs");
    // A package that was published says it in a file, wherever it is unpacked.
    let packaged = package.join(".cargo_vcs_info.json");
    if let Ok(text) = std::fs::read_to_string(packaged) {
        if let Some((_, rest)) = text.split_once("\"sha1\"") {
            let digits: String =
                rest.chars().skip_while(|c| !c.is_ascii_hexdigit()).take_while(char::is_ascii_hexdigit).collect();
            println!("cargo::rustc-env=WORMCAST_REVISION={}", &digits[..digits.len().min(10)]);
        }
        return;
    }
    let Some(root) = package.parent().and_then(Path::parent) else { return };
    // Not that of another repository in which the sources happen to lie.
    if git(root, &["rev-parse", "--show-prefix"]).is_none_or(|prefix| !prefix.is_empty()) {
        return;
    }
    let Some(revision) = git(root, &["rev-parse", "--short=10", "HEAD"]) else { return };
    let sources = ["crates", "Cargo.toml", "Cargo.lock"];
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    let Some(changes) = git(root, &[&status[..], &sources].concat()) else { return };
    let changed = if changes.is_empty() { "" } else { " with changes" };
    println!("cargo::rustc-env=WORMCAST_REVISION={revision}{changed}");
    for source in sources {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    // It grows with every commit.
    for file in ["logs/HEAD", "HEAD"] {
        let path = git(root, &["rev-parse", "--git-path", file]).map(|path| root.join(path));
        if let Some(path) = path.filter(|path| path.exists()) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}

/// What git says in a folder, without the end of the line; `None` if it fails, or is not there.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
