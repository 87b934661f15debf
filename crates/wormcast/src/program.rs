//! The name of the program that runs.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The name of this package's program.
pub(crate) const WORMCAST: &str = "wormcast";

/// The name by which this program was called: those with algorithms of their own have other names.
pub(crate) fn name() -> &'static str {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        let called = std::env::args_os().next().map(PathBuf::from);
        let name = called.as_deref().and_then(Path::file_stem).and_then(|name| name.to_str());
        name.filter(|name| !name.is_empty()).unwrap_or(WORMCAST).to_owned()
    });
    &NAME
}
