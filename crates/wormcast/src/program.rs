//! The running program: its name and version.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

use crate::failure::Failure;
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

/// The version, with the commit that the program is built from if that is known. It is not that of a program with another name.
pub(crate) fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let version = THIS.full_version();
        if name() == WORMCAST { version } else { format!("({WORMCAST} {version})") }
    });
    &VERSION
}

/// Opens a result store, or makes one, in which this program notes what it adds.
pub(crate) fn store(path: &Path) -> Result<Store, StoreError> {
    Ok(opened(path, Store::open)?.made_by(THIS))
}

/// Opens a result store that is there, to read it.
pub(crate) fn store_to_read(path: &Path) -> Result<Store, StoreError> {
    opened(path, Store::read)
}

/// Opens what is left of a store that is damaged.
pub(crate) fn salvaged_store(path: &Path) -> Result<Store, StoreError> {
    opened(path, Store::salvage)
}

/// Opens a store, with a message if that takes long because another process has locked it.
fn opened(path: &Path, open: impl FnOnce(&Path) -> Result<Store, StoreError>) -> Result<Store, StoreError> {
    const QUIET: Duration = Duration::from_secs(2);
    std::thread::scope(|scope| {
        let (done, end) = mpsc::channel::<()>();
        scope.spawn(move || {
            if end.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
                Failure::warn(&format!(
                    "waiting for the result store `{}`: another process has locked it",
                    path.display()
                ));
            }
        });
        let store = open(path);
        drop(done);
        store
    })
}

static CALLED: OnceLock<&'static str> = OnceLock::new();

/// Sets the name by which this program was called, where it is not the process's. The first call counts.
pub(crate) fn call(name: &'static str) {
    CALLED.get_or_init(|| name);
}

/// The name by which this program was called: those with algorithms of their own have other names.
pub(crate) fn name() -> &'static str {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        if let Some(name) = CALLED.get() {
            return (*name).to_owned();
        }
        let called = std::env::args_os().next().map(PathBuf::from);
        let name = called.as_deref().and_then(Path::file_stem).and_then(|name| name.to_str());
        name.filter(|name| !name.is_empty()).unwrap_or(WORMCAST).to_owned()
    });
    &NAME
}
