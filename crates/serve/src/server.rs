//! The server: where it listens, what it routes where, and how it ends.

use std::fmt::Write;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use thiserror::Error;
use tokio::net::TcpListener;
use wormcast_lab::Program;
use wormcast_network::text::did_you_mean;

use crate::api;
use crate::connections::Bounded;
use crate::folder::{Folder, Kind, wrong_network};
use crate::guard::{Guard, guarded};
use crate::page;

/// The longest body of a request, in bytes.
pub(crate) const LONGEST_BODY: usize = 1 << 16;
/// How long requests may go on after the end was asked for.
const GRACE: Duration = Duration::from_millis(500);
/// How long recordings and sweeps may take then to close their files.
const LAST_GRACE: Duration = Duration::from_secs(3);

/// What is served, and where.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder, or a file in it, which is then what the page opens with.
    pub path: PathBuf,
    /// The address to listen on.
    pub listen: IpAddr,
    /// The port; 0: one that is free.
    pub port: u16,
    /// This program, as the page names it.
    pub program: Program,
}

impl Default for Settings {
    /// The working directory, on the loopback interface, on a port that is free.
    fn default() -> Self {
        Self { path: PathBuf::from("."), listen: Ipv4Addr::LOCALHOST.into(), port: 0, program: Program::default() }
    }
}

/// Where the page is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address(String);

impl std::fmt::Display for Address {
    /// Whole, with the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why there is no server.
#[derive(Debug, Error)]
pub enum ServeError {
    /// There is no such folder or file, or none that can be read.
    #[error("cannot serve `{path}`: {problem}")]
    Path {
        /// What was given.
        path: String,
        /// What is wrong with it, and what there is instead.
        problem: String,
    },
    /// The port is taken, or the address is not this machine's.
    #[error("cannot listen on {address}: {problem}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why, and what to do.
        problem: String,
    },
    /// The system refuses what a server needs.
    #[error("cannot serve: {0}")]
    System(#[from] io::Error),
}

impl ServeError {
    /// Whether it is what was asked for that is wrong, and not the system that refuses it.
    pub fn is_bad_input(&self) -> bool {
        matches!(self, Self::Path { .. })
    }
}

/// Serves a folder until `end` is done. `ready` is told the page's address once it can be opened. The folder becomes the working directory of the
/// process.
///
/// # Errors
/// If there is no such folder, or the address is taken.
pub fn serve(
    settings: &Settings,
    ready: impl FnOnce(&Address) -> io::Result<()>,
    end: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let (folder, opened) = enter(&settings.path)?;
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_io().enable_time().build()?;
    let served: Result<api::Shared, ServeError> = threads.block_on(async {
        let wanted = SocketAddr::new(settings.listen, settings.port);
        let listener = TcpListener::bind(wanted).await.map_err(|error| not_listening(wanted, &error))?;
        let address = listener.local_addr()?;
        let token = token()?;
        let shown = SocketAddr::new(
            if address.ip().is_unspecified() { loopback_like(address.ip()) } else { address.ip() },
            address.port(),
        );
        let mut query: Vec<String> = Vec::new();
        let listed = |file: &str| folder.items().items.into_iter().find(|item| item.path == file);
        let item = opened.as_deref().and_then(|file| listed(file).or_else(|| folder.item(file)));
        let view = item.map_or("", |mut item| {
            let (view, parameter) = item.kind.view();
            item.beside.insert(parameter, item.path);
            query.extend(item.beside.iter().map(|(parameter, path)| format!("{parameter}={}", escaped(path))));
            view
        });
        query.push(format!("token={token}"));
        let query = query.join("&");
        let state = api::State::new(folder, opened, settings.program);
        let guard = Arc::new(Guard { address, token });
        let router = Router::new()
            .nest("/api", api::routes(Arc::clone(&state)))
            .fallback(page::file)
            .layer(DefaultBodyLimit::max(LONGEST_BODY))
            .layer(from_fn_with_state(guard, guarded));
        ready(&Address(format!("http://{shown}/{view}?{query}")))?;
        let serving = axum::serve(Bounded::new(listener), router);
        tokio::select! {
            served = serving => served?,
            () = end => {}
        }
        Ok(state)
    });
    // Nothing new begins once the threads of requests are gone.
    let served = served.inspect(|state| state.end());
    threads.shutdown_timeout(GRACE);
    let state = served?;
    state.end();
    // A sweep ends with the replications that it runs; its store is whole without that, too.
    state.background.wait(LAST_GRACE);
    Ok(())
}

/// A text as a value in an address.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte);
    text.bytes().fold(String::new(), |mut escaped, byte| {
        let _ = if plain(byte) { write!(escaped, "{}", char::from(byte)) } else { write!(escaped, "%{byte:02X}") };
        escaped
    })
}

/// The loopback address of a family.
fn loopback_like(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
    }
}

/// The folder of a path, and the file in it if it is one.
fn enter(path: &Path) -> Result<(Folder, Option<String>), ServeError> {
    let wrong = |problem: String| ServeError::Path { path: path.display().to_string(), problem };
    let there = path.metadata().map_err(|error| wrong(missing(path, &error)))?;
    if there.is_dir() {
        return Ok((Folder::enter(path).map_err(|error| wrong(error.to_string()))?, None));
    }
    let real = path.canonicalize().map_err(|error| wrong(error.to_string()))?;
    let (Some(folder), Some(name)) = (real.parent(), real.file_name().and_then(|name| name.to_str())) else {
        return Err(wrong("its name is not UTF-8".to_owned()));
    };
    if !there.is_file() || Kind::of(&real).is_none() {
        let ending = real.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        // By its ending it would be.
        if there.is_file() && ending.eq_ignore_ascii_case("replay") {
            let problem = "it is not a recorded run: expected a file that `simulate --replay` has written";
            return Err(wrong(problem.to_owned()));
        }
        if there.is_file() && ["db", "sqlite"].iter().any(|store| ending.eq_ignore_ascii_case(store)) {
            return Err(wrong("it is not a result store: expected a file that `sweep` has written".to_owned()));
        }
        let expected = "it is not of a kind that the page shows; expected a folder, an experiment (`.toml`), a result store (`.db`), a recorded run (`.replay`), a network (`.graphml`, `.anynet`, `.topology`, `.edges`, or any that `topology` reads) or tables (`.lfts`, `.fdbs`, `.mcfdbs`, `.tables`, or in a `.dump` as OpenSM writes it)";
        let network = wrong_network(&real).map_or_else(String::new, |error| format!("; as a network: {error}"));
        return Err(wrong(format!("{expected}{network}")));
    }
    Ok((Folder::enter(folder).map_err(|error| wrong(error.to_string()))?, Some(name.to_owned())))
}

/// Why a path cannot be served, with what is there that is nearest.
fn missing(path: &Path, error: &io::Error) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> = folder
        .read_dir()
        .map(|entries| entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
        .unwrap_or_default();
    let given = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // A link that leads nowhere is there, too.
    let names = names.into_iter().filter(|name| name != given).collect::<Vec<_>>();
    format!("{error}; expected a folder or a file{}", did_you_mean(given, names.iter().map(String::as_str)))
}

fn is_link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
}

fn not_listening(address: SocketAddr, error: &io::Error) -> ServeError {
    let problem = match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("port {} is in use, perhaps by another `serve`; `--port 0` takes one that is free", address.port())
        }
        io::ErrorKind::PermissionDenied => {
            format!("port {} is reserved; `--port 0` takes one that is free", address.port())
        }
        io::ErrorKind::AddrNotAvailable => "it is not an address of this machine".to_owned(),
        _ if is_link_local(address.ip()) => {
            "a link-local address needs an interface, which cannot be given here: expected another address, or `::` for all interfaces".to_owned()
        }
        _ => error.to_string(),
    };
    ServeError::Listen { address, problem }
}

/// A token of 256 random bits of the system's.
fn token() -> io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}
