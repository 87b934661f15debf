//! What `simulate` shows of the end of a run: the busiest links, and which worms wait for which.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::super::output::write_of_run;
use super::Arguments;
use crate::analysis::most_loaded;
use crate::failure::Failure;
use crate::network::{ChannelSpace, HeatMapSvg, Network};
use crate::simulation::{Observer, RunEnd, Scenario, WaitLog, WaitsDot, WaitsSvg};

/// The share of the measured window in which flits crossed each link; `None` if nothing was measured.
#[derive(Default)]
pub(super) struct LinkShares(Option<Vec<f64>>);

impl Observer for LinkShares {
    const END: bool = true;
    const RELEASES: bool = false;
    const CHANNELS: bool = false;

    fn ended(&mut self, end: &RunEnd<'_>) {
        let cycles = end.window.1.saturating_sub(end.window.0);
        self.0 = (cycles > 0).then(|| end.link_flits.iter().map(|&flits| flits as f64 / cycles as f64).collect());
    }
}

/// What watches the end of a run.
pub(super) struct AtEnd {
    pub(super) shares: LinkShares,
    pub(super) waits: Option<WaitLog>,
    /// Whether the run was interrupted.
    pub(super) interrupted: bool,
}

impl AtEnd {
    /// Watches what was asked for.
    pub(super) fn new(arguments: &Arguments) -> Self {
        let waits = arguments.waits.as_ref().map(|_| WaitLog::default());
        Self { shares: LinkShares::default(), waits, interrupted: false }
    }
}

/// A link that was busy.
#[derive(Serialize)]
pub(super) struct BusyLink {
    /// The channel's number, and those of the routers at its ends.
    channel: u32,
    from: u32,
    to: u32,
    /// The routers as users write them, and the ports at both ends where they have numbers.
    from_name: String,
    to_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ports: Option<[u32; 2]>,
    /// Which of several between the same routers.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<u32>,
    /// The share of cycles of the measured window in which a flit crossed.
    pub(super) busy: f64,
    #[serde(skip)]
    pub(super) label: String,
}

impl AtEnd {
    /// The busiest links, busiest first.
    pub(super) fn busiest(&self, network: &Network) -> Vec<BusyLink> {
        let shares = self.shares.0.as_deref().unwrap_or_default();
        let link = |channel| {
            let ends = [network.from(channel), network.to(channel)];
            let [from_name, to_name] = ends.map(|end| network.router_label(end));
            let ports = [channel, network.reverse(channel)].map(|end| network.port_of(end));
            BusyLink {
                channel: channel.raw(),
                from: ends[0].raw(),
                to: ends[1].raw(),
                from_name,
                to_name,
                ports: if let ([Some(from), Some(to)], false) = (ports, network.is_unidirectional()) {
                    Some([from, to])
                } else {
                    None
                },
                link: network.parallel_link(channel),
                busy: shares[channel.index()],
                label: network.link_label(channel),
            }
        };
        most_loaded(shares).into_iter().map(link).collect()
    }

    /// Writes the files that were asked for.
    pub(super) fn write(
        &self,
        arguments: &Arguments,
        scenario: &Scenario,
        title: &str,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let network = scenario.network();
        if let Some(path) = &arguments.heat_map {
            let percent: Vec<f64> = match &self.shares.0 {
                Some(shares) => shares.iter().map(|share| 100.0 * share).collect(),
                None => {
                    let empty = "no cycle was measured, because the run ended before its window or the window is within one cycle: the map shows every channel as unused";
                    Failure::warn(&format!("{}: {empty}", path.display()));
                    vec![0.0; network.channels()]
                }
            };
            let title = format!("{title}: percent of the measured cycles in which a flit crossed each channel");
            let picture = HeatMapSvg { network, loads: &percent, title: &title, digits: 1 }.to_string();
            write_of_run(path, picture.as_bytes(), self.interrupted, out)?;
        }
        if let (Some(path), Some(log)) = (&arguments.waits, &self.waits) {
            let space = ChannelSpace::new(network, scenario.engine_config().ports);
            let mut contents = Vec::new();
            match Form::of(path) {
                Form::Json => log.write_json(network, space, &mut contents)?,
                Form::Svg => write!(contents, "{}", WaitsSvg { log, network, space })?,
                Form::Dot => write!(contents, "{}", WaitsDot { log, network, space })?,
            }
            write_of_run(path, &contents, self.interrupted, out)?;
        }
        Ok(())
    }
}

/// The form of a graph of waits, by its file's name.
enum Form {
    Json,
    Svg,
    Dot,
}

impl Form {
    fn of(path: &Path) -> Self {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "svg" => Self::Svg,
            "dot" | "gv" => Self::Dot,
            _ => Self::Json,
        }
    }
}
