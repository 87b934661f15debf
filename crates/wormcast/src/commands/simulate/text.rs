//! The outcome of a run as a table for people.

use std::io::{self, Write};

use super::super::write_figure;
use super::at_end::BusyLink;
use crate::lab::Replication;
use crate::network::text::short_list;
use crate::simulation::{Deadlock, Distribution, Mode, PlanResult, RunResult, Scenario};

/// What stands for figures of a run that ended before its window.
const NOTHING: &str = "nothing was measured";

/// Writes what a run that sends or plans messages has found.
pub(super) fn write_text(
    out: &mut dyn Write,
    title: &str,
    result: &Replication,
    (failed, busiest): (&[String], &[BusyLink]),
    (scenario, interrupted): (&Scenario, bool),
) -> io::Result<()> {
    let cycle_ns = scenario.cycle_ns();
    match result {
        Replication::Simulated(run) => {
            write_course(out, title, run, scenario, interrupted)?;
            if !failed.is_empty() {
                write_figure(out, "failed links", short_list(failed.iter().map(String::as_str)))?;
            }
            write_latencies(out, run, cycle_ns)?;
            write_load(out, run, busiest)?;
            run.deadlock.as_ref().map_or(Ok(()), |deadlock| write_deadlock(out, deadlock))
        }
        Replication::Planned(plan) => write_plan(out, title, plan),
        Replication::Trees(_) => Ok(()),
    }
}

fn write_plan(out: &mut dyn Write, title: &str, plan: &PlanResult) -> io::Result<()> {
    let costs = plan.costs;
    writeln!(out, "{title}, seed {}, planned only", plan.seed)?;
    write_figure(out, "messages", format!("{} planned", plan.messages))?;
    write_figure(out, "steps", format!("{:.2}", costs.steps))?;
    write_figure(out, "startups", format!("{:.2} a node, {} for the busiest", costs.mean_startups, costs.startups))?;
    write_figure(out, "channels", format!("{:.2} a message", costs.channels))?;
    write_figure(out, "contention", format!("in {:.1}% of the plans", costs.contention * 100.0))
}

/// How long the run was, what became of its messages, and whether its means can be trusted.
fn write_course(
    out: &mut dyn Write,
    title: &str,
    result: &RunResult,
    scenario: &Scenario,
    interrupted: bool,
) -> io::Result<()> {
    let messages = result.messages;
    let steady = scenario.mode() == Mode::Steady;
    // There may be no more.
    let more = if scenario.ends() { "" } else { "; raise `run.messages`" };
    writeln!(out, "{title}, seed {}, {} engine", result.seed, result.engine)?;
    let warmup = match result.warmup {
        0 => String::new(),
        warmup if warmup >= result.cycles => ", none of them measured".to_owned(),
        warmup => format!(", measured from cycle {warmup} on"),
    };
    write_figure(out, "cycles", format!("{}{warmup}", result.cycles))?;
    write_figure(
        out,
        "messages",
        format!(
            "{} generated, {} delivered, {} in flight, {} measured",
            messages.generated, messages.delivered, messages.in_flight, messages.measured
        ),
    )?;
    write_figure(out, "deliveries", format!("{}, {} of them duplicates", result.deliveries, result.duplicates))?;
    if result.forwarded > 0 {
        write_figure(out, "forwarded", format!("{} at failed links", result.forwarded))?;
    }
    if result.given_up && !result.saturated {
        let until = "cut short at `run.max_cycles`, with deliveries keeping up: raise that, or lower `run.messages`";
        write_figure(out, "window", until)?;
    } else if result.given_up {
        let lower = if messages.measured > 0 { ": the latencies are lower bounds" } else { "" };
        write_figure(
            out,
            "saturated",
            format!("given up at `run.max_cycles`, before all messages had arrived{lower}"),
        )?;
    } else if result.saturated {
        let lower = if messages.measured > 0 { ", and the latencies are lower bounds" } else { "" };
        write_figure(out, "saturated", format!("yes: messages pile up{lower}"))?;
    } else if result.trend == Some(true) {
        write_figure(out, "window", format!("too short: the mean latency depends on it{more}"))?;
    } else if steady && result.trend.is_none() && messages.measured > 0 && messages.in_flight > 0 {
        let undecided = if interrupted {
            "cut short by the interruption: whether messages pile up is not known".to_owned()
        } else {
            format!("too few messages to say whether they pile up{more}")
        };
        write_figure(out, "window", undecided)?;
    }
    Ok(())
}

/// With three decimals, or as many digits if these would be zeros.
fn microseconds(time: f64) -> String {
    if time < 0.001 { format!("{time:.2e}") } else { format!("{time:.3}") }
}

fn write_latencies(out: &mut dyn Write, result: &RunResult, cycle_ns: f64) -> io::Result<()> {
    let latency =
        |distribution: &Distribution| match (distribution.mean, distribution.p50, distribution.p99, distribution.max) {
            (Some(mean), Some(p50), Some(p99), Some(max)) => format!(
                "mean {mean:.1} cycles ({} µs), median {p50:.0}, 99% {p99:.0}, largest {max:.0}",
                microseconds(mean * cycle_ns / 1000.0)
            ),
            _ => NOTHING.to_owned(),
        };
    write_figure(out, "latency, last", latency(&result.latency.last))?;
    write_figure(out, "latency, mean", latency(&result.latency.mean))?;
    if let (Some(unicast), Some(multicast)) = (&result.latency.unicast, &result.latency.multicast) {
        write_figure(out, "of unicasts", latency(&unicast.last))?;
        write_figure(out, "of multicasts", latency(&multicast.last))?;
    }
    let parts = result.latency.parts;
    let parts = format!(
        "queueing {:.1}, startup {:.1}, network {:.1}, blocking {:.1}",
        parts.queueing, parts.startup, parts.network, parts.blocking
    );
    write_figure(out, "parts of the last", if result.messages.measured > 0 { &parts } else { NOTHING })
}

fn write_load(out: &mut dyn Write, result: &RunResult, busiest: &[BusyLink]) -> io::Result<()> {
    let load = format!(
        "{:.4} data flits per node per cycle asked for, {:.4} delivered",
        result.offered_load, result.delivered_load
    );
    let links = format!(
        "{:.1}% busy (the busiest {:.1}%), {:.1}% blocked",
        result.links.busy * 100.0,
        result.links.busiest * 100.0,
        result.links.blocked * 100.0
    );
    let window = result.window.to > result.window.from;
    write_figure(out, "load", if window { &load } else { NOTHING })?;
    write_figure(out, "links", if window { &links } else { NOTHING })?;
    if !busiest.is_empty() {
        writeln!(out, "  The busiest channels:")?;
    }
    for link in busiest {
        writeln!(out, "    {:>5.1}%  {}", link.busy * 100.0, link.label)?;
    }
    if let Some(buffers) = &result.buffers {
        let text = format!(
            "{:.1}% taken, {:.1} flits a switch, {} at most",
            buffers.share * 100.0,
            buffers.mean,
            buffers.most
        );
        write_figure(out, "buffers", text)?;
    }
    Ok(())
}

fn write_deadlock(out: &mut dyn Write, deadlock: &Deadlock) -> io::Result<()> {
    writeln!(out, "  deadlock in cycle {}: {} worms are dead; a cycle of them:", deadlock.at, deadlock.dead)?;
    for worm in &deadlock.cycle {
        writeln!(
            out,
            "    worm {} (message {}) at {} holds {} and waits for {}",
            worm.worm,
            worm.message,
            worm.router,
            worm.holds.join("; "),
            worm.waits_for.join("; ")
        )?;
    }
    Ok(())
}
