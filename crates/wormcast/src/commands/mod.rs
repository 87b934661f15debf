//! The subcommands: one module each.

use std::io::Write;
use std::sync::Arc;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use crate::failure::Failure;
use crate::network::{ChannelId, Network, TOPOLOGY_FORMS, TopologySpec, misleading_name};
use crate::program;
use crate::work;

mod choice;
mod compare;
mod completions;
mod experiment;
mod man;
mod merge;
mod output;
mod plan;
#[cfg(feature = "serve")]
mod played;
mod report;
mod reproduce;
mod results;
mod routing;
mod safety;
mod schema;
#[cfg(feature = "serve")]
mod serve;
mod simulate;
mod sweep;
mod topology;
mod trees;

/// A workbench for multicast in wormhole-switched networks.
#[derive(Parser)]
#[command(
    name = "wormcast",
    version = program::version(),
    arg_required_else_help = true,
    after_help = "Example:\n  wormcast plan --topology mesh:8x8 --algorithm dual-path --source 4,3 --destinations '1,4;7,2'"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Topology(topology::Arguments),
    Routing(Box<routing::Arguments>),
    Trees(trees::Arguments),
    Plan(plan::Arguments),
    Simulate(simulate::Arguments),
    Sweep(sweep::Arguments),
    Merge(merge::Arguments),
    Plot(sweep::PlotArguments),
    Compare(compare::Arguments),
    Report(report::Arguments),
    Reproduce(reproduce::Arguments),
    #[cfg(feature = "serve")]
    Serve(serve::Arguments),
    Schema(schema::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

impl Command {
    /// Does what the command says; results go to `out`.
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<(), Failure> {
        match self {
            Self::Topology(arguments) => work::run(|| topology::run(&arguments, out)),
            Self::Routing(arguments) => work::run(|| routing::run(&arguments, out)),
            Self::Trees(arguments) => work::run(|| trees::run(&arguments, out)),
            Self::Plan(arguments) => work::run(|| plan::run(arguments, out)),
            Self::Simulate(arguments) => work::run(|| simulate::run(&arguments, out)),
            Self::Sweep(arguments) => sweep::run(&arguments, out),
            Self::Merge(arguments) => merge::run(&arguments, out),
            Self::Plot(arguments) => sweep::run_plot(&arguments, out),
            Self::Compare(arguments) => compare::run(&arguments, out),
            Self::Report(arguments) => report::run(&arguments, out),
            Self::Reproduce(arguments) => reproduce::run(&arguments, out),
            #[cfg(feature = "serve")]
            Self::Serve(arguments) => serve::run(&arguments, out),
            Self::Schema(arguments) => schema::run(&arguments, out),
            Self::Completions(arguments) => completions::run(&arguments, out),
            Self::Man(arguments) => man::run(&arguments, out),
        }
    }
}

/// The command line, by the name of the program that runs.
pub(crate) fn command() -> clap::Command {
    let command = with_exit_codes(Cli::command()).mut_subcommands(with_exit_codes);
    match program::name() {
        program::WORMCAST => command,
        name => renamed(command.name(name), name).mut_subcommands(|command| renamed(command, name)),
    }
}

/// What each exit code means, in all subcommands.
const EXIT_CODES: &str = "\
Exit codes:
  0              done
  1              the work failed (a deadlock, a result that cannot be written, --strict)
  2              bad input (arguments or files that make no sense or cannot be read)
  129, 130, 143  interrupted by a closed terminal, Ctrl-C or SIGTERM
";

/// With what the exit codes mean before the example, which ends a help text.
fn with_exit_codes(command: clap::Command) -> clap::Command {
    let example = command.get_after_help().map_or_else(String::new, ToString::to_string);
    command.after_help(format!("{EXIT_CODES}\n{example}"))
}

/// With examples that call the program by this name.
fn renamed(command: clap::Command, name: &str) -> clap::Command {
    let examples = command.get_after_help().map(ToString::to_string);
    match examples {
        Some(examples) => command.after_help(examples.replace("\n  wormcast ", &format!("\n  {name} "))),
        None => command,
    }
}

/// How figures are printed.
#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs: one line.
    Json,
}

/// The help of an argument that is a topology.
fn topology_help() -> String {
    format!("The network: {TOPOLOGY_FORMS}; or `-`, a file on standard input")
}

/// The network that a specification names.
fn network(spec: &str) -> Result<Arc<Network>, Failure> {
    let network = spec.parse::<TopologySpec>().and_then(|spec| spec.build()).map_err(Failure::bad_input)?;
    warn_of_names(&network);
    Ok(network)
}

/// Warns of nodes that are called by numbers of others.
fn warn_of_names(network: &Network) {
    if let Some(told) = misleading_name(network) {
        Failure::warn(&told);
    }
}

/// Writes a value as one line of JSON.
fn write_json(out: &mut dyn Write, value: &impl serde::Serialize) -> Result<(), Failure> {
    // In one piece: a plan has thousands of numbers, and `out` is behind a pointer.
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(out.write_all(&line)?)
}

/// Writes a line of a text report: what it is, and its value, aligned.
/// A link that has failed, by the routers at its ends.
fn failed_link_text(network: &Network, link: ChannelId) -> String {
    network.link_label(link).replace(" -> ", " - ")
}

fn write_figure(out: &mut dyn Write, name: &str, value: impl std::fmt::Display) -> std::io::Result<()> {
    writeln!(out, "  {name:<18}{value}")
}

/// Warns of an option that makes no difference, if it is given.
fn warn_of_idle_option(option: &str, given: bool, reason: &str) {
    if given {
        Failure::warn(&format!("`{option}` makes no difference: {reason}"));
    }
}

const fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}
