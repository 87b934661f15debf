//! The program that runs: its name, and what it tells of itself.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::lab::{Program, Store, StoreError};

/// The name of this package's program.
pub(crate) const WORMCAST: &str = "wormcast";

/// This program, as results and pages name it.
pub(crate) const THIS: Program = Program {
    version: env!("CARGO_PKG_VERSION"),
    revision: match option_env!("WORMCAST_REVISION") {
        Some(revision) => revision,
        None => "",
    },
};

/// Opens a result store, or makes one, in which this program notes what it adds.
pub(crate) fn store(path: &Path) -> Result<Store, StoreError> {
    Ok(Store::open(path)?.made_by(THIS))
}

/// The name by which this program was called: those with algorithms of their own have other names.
pub(crate) fn name() -> &'static str {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        let called = std::env::args_os().next().map(PathBuf::from);
        let name = called.as_deref().and_then(Path::file_stem).and_then(|name| name.to_str());
        name.filter(|name| !name.is_empty()).unwrap_or(WORMCAST).to_owned()
    });
    &NAME
}
