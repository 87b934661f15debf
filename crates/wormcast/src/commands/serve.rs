//! `wormcast serve`: the browser interface.

use std::future::Future;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use clap::{Args, ValueHint};

use crate::failure::Failure;
use crate::interrupt;
use crate::program;
use crate::serve::{Address, Settings, serve};
use crate::usage::from_to;

/// Look at networks, runs, deadlocks, plans and results in a browser.
///
/// Serves a page to this machine, from one folder alone, until Ctrl-C ends it. The first line of the output is the page's address. It has a
/// token, and requests without that get no answer. The page needs no network.
#[derive(Args)]
#[command(
    after_help = "Ctrl-C and SIGTERM are how it ends: the exit code is then 0.\n\nExample:\n  wormcast serve experiments --port 8420"
)]
pub(crate) struct Arguments {
    /// The folder with experiments, result stores, recorded runs and networks; or one of those files, which the page then opens. Nothing outside of
    /// the folder is read.
    #[arg(value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    path: PathBuf,
    /// The port; 0: one that is free.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = from_to::<u16, 0, { u16::MAX as u64 }>)]
    port: u16,
    /// Also open the page in the browser.
    #[arg(long)]
    open: bool,
    /// Listen on this address of this machine, for browsers on other machines. The traffic is not encrypted.
    #[arg(long, value_name = "ADDRESS", value_parser = address, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), hide_default_value = true)]
    listen: IpAddr,
}

/// An address to listen on.
fn address(text: &str) -> Result<IpAddr, String> {
    let expected = "expected an address of this machine in numbers, such as `127.0.0.1`, `::1`, or `0.0.0.0` for all; the port is `--port`";
    text.parse().map_err(|_| expected.to_owned())
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let settings = Settings {
        path: arguments.path.clone(),
        listen: arguments.listen,
        port: arguments.port,
        program: program::THIS,
    };
    let ready = |address: &Address| {
        let more = if arguments.listen.is_unspecified() {
            "On other machines, put an IP address of this one in place of that of the loopback interface.\n"
        } else {
            ""
        };
        // At once: who reads the address may read no more.
        out.write_all(format!("{address}\n{more}").as_bytes())?;
        out.flush()?;
        if arguments.open {
            open(address);
        }
        Ok(())
    };
    serve(&settings, ready, interrupted()?)
        .map_err(|error| if error.is_bad_input() { Failure::bad_input(error) } else { Failure::failed(error) })
}

/// Opens the page in the user's browser; where there is none, the address is all that there is.
fn open(address: &Address) {
    let (opener, first): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(opener);
    command.args(first).arg(address.to_string()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // Waited for, so that no dead process stays.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => Failure::warn(&format!("no browser was opened (`{opener}`: {error}): open the address yourself")),
    }
}

/// Done when a signal has come that asks for the end.
#[derive(Clone, Default)]
struct Interrupted(Arc<Mutex<(bool, Option<Waker>)>>);

impl Future for Interrupted {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0 {
            return Poll::Ready(());
        }
        state.1 = Some(context.waker().clone());
        Poll::Pending
    }
}

/// That is how a server ends, so the exit code is 0.
#[cfg(unix)]
fn interrupted() -> io::Result<Interrupted> {
    let mut signals = interrupt::signals()?;
    let interrupted = Interrupted::default();
    let shared = interrupted.clone();
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            let mut state = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            state.0 = true;
            if let Some(waker) = state.1.take() {
                waker.wake();
            }
        }
    });
    Ok(interrupted)
}

/// Elsewhere the system's own way to end a process does it.
#[cfg(not(unix))]
fn interrupted() -> io::Result<Interrupted> {
    Ok(Interrupted::default())
}
