//! The legend beside a plan: its worms or steps, and the nodes they visit.

use std::collections::BTreeMap;

use wormcast_network::{Network, NodeId};

use super::palette::Style;
use super::svg::{LINE, count};
use crate::plan::summary::{PlanSummary, WormSummary};

/// How many characters of visits a line holds.
const CHARACTERS: usize = 52;
/// The fewest lines that a legend may have, however small the network.
const LEAST: usize = 48;

/// A line of the legend; the first of each worm, or of each step, has its style.
pub(super) type Line = (Option<Style>, String);

/// A worm or a step: its style, what it is, and what it visits.
struct Entry {
    style: Style,
    title: String,
    lines: Vec<String>,
}

pub(super) struct Legend<'a> {
    pub(super) network: &'a Network,
    pub(super) summary: &'a PlanSummary,
    /// Whether it lists steps instead of worms.
    pub(super) by_steps: bool,
    pub(super) style: &'a dyn Fn(&WormSummary) -> Style,
    /// The height of the drawing beside it.
    pub(super) height: f64,
}

impl Legend<'_> {
    /// As many lines as there is room for beside the drawing: of each entry the same number, with a word about the rest.
    pub(super) fn lines(&self) -> Vec<Line> {
        let room = ((self.height / LINE) as usize).max(LEAST);
        let mut entries = if self.by_steps { self.steps() } else { self.worms() };
        let what = if self.by_steps { "step" } else { "worm" };
        // Where not even the titles have room, the last line says so.
        let left_out = entries.len().saturating_sub(room);
        let left_out = if left_out > 0 { left_out + 1 } else { 0 };
        entries.truncate(entries.len() - left_out);
        let most = most(&entries, room - usize::from(left_out > 0));
        let mut lines = Vec::new();
        for Entry { style, title, lines: visits } in entries {
            lines.push((Some(style), title));
            let cut = visits.len() > most;
            let shown = if cut { most.saturating_sub(1) } else { visits.len() };
            let hidden = visits.len() - shown;
            lines.extend(visits.into_iter().take(shown).map(|line| (None, line)));
            if cut && most > 0 {
                lines.push((None, format!("  … and {hidden} more lines")));
            }
        }
        if left_out > 0 {
            lines.push((None, format!("… and {left_out} more {what}s")));
        }
        lines
    }

    fn worms(&self) -> Vec<Entry> {
        let entry = |worm: &WormSummary| {
            let (id, step, channels) = (worm.id, worm.step, worm.channels.len());
            let name = |&node: &NodeId| self.network.node_label(node);
            Entry {
                style: (self.style)(worm),
                title: format!("worm {id} from {}, step {step}, {channels} channels", name(&worm.from)),
                lines: wrapped(worm.visits.iter().map(name), " > "),
            }
        };
        self.summary.worms.iter().map(entry).collect()
    }

    fn steps(&self) -> Vec<Entry> {
        let mut steps: BTreeMap<u32, Vec<&WormSummary>> = BTreeMap::new();
        for worm in &self.summary.worms {
            steps.entry(worm.step).or_default().push(worm);
        }
        let path = |worm: &&WormSummary| {
            let nodes = std::iter::once(worm.from).chain(worm.visits.iter().copied());
            nodes.map(|node| self.network.node_label(node)).collect::<Vec<_>>().join(" > ")
        };
        let entry = |(step, worms): (u32, Vec<&WormSummary>)| Entry {
            style: (self.style)(worms[0]),
            title: format!("step {step}: {}", count(worms.len(), "worm")),
            lines: wrapped(worms.iter().map(path), "; "),
        };
        steps.into_iter().map(entry).collect()
    }
}

/// The most lines of visits that every entry may have.
fn most(entries: &[Entry], room: usize) -> usize {
    let longest = entries.iter().map(|entry| entry.lines.len()).max().unwrap_or(0);
    let fits = |most: usize| entries.iter().map(|entry| 1 + entry.lines.len().min(most)).sum::<usize>() <= room;
    (0..=longest).rev().find(|&most| fits(most)).unwrap_or(0)
}

/// Items with separators, broken into lines.
fn wrapped(items: impl Iterator<Item = String>, separator: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        match lines.last_mut() {
            Some(line) if line.chars().count() + separator.len() + item.chars().count() <= CHARACTERS => {
                line.push_str(separator);
                line.push_str(&item);
            }
            Some(line) => {
                line.push_str(separator.trim_end());
                lines.push(format!("  {item}"));
            }
            None => lines.push(format!("  {item}")),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Multicast;
    use crate::drawing::palette::Styles;
    use crate::{Options, PortModel, algorithm_by_name};

    fn legend(algorithm: &str, height: f64) -> Vec<String> {
        let mesh = "mesh:24x24".parse::<wormcast_network::TopologySpec>().unwrap().build().unwrap();
        let algorithm = algorithm_by_name(algorithm, &mesh, &Options::default()).unwrap();
        let all: Vec<NodeId> = mesh.node_ids().skip(1).collect();
        let multicast = Multicast::new(NodeId::new(0), &all);
        let plan = algorithm.plan(&multicast);
        let summary = plan.summary(algorithm.routing(), PortModel::One).unwrap();
        let by_steps = summary.worms.iter().any(|worm| worm.after.is_some());
        let styles = Styles::of(summary.steps);
        let style = |worm: &WormSummary| styles.style(worm.id);
        let legend = Legend { network: &mesh, summary: &summary, by_steps, style: &style, height };
        legend.lines().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn legends_are_as_long_as_there_is_room_and_say_what_is_missing() {
        let lines = legend("dual-path", 0.0);
        assert!(lines.len() == LEAST && lines[1].starts_with("  1,0 > 2,0"), "{lines:?}");
        let whole = legend("dual-path", 1e6);
        let missing = whole.len() - (LEAST - 1);
        assert_eq!(lines[LEAST - 1], format!("  … and {missing} more lines"));
        assert_eq!(lines[..LEAST - 1], whole[..LEAST - 1]);
        // Every step has its title.
        let steps = legend("u-mesh", 0.0);
        assert!(steps.len() <= LEAST && (1..=10).all(|s| steps.iter().any(|l| l.starts_with(&format!("step {s}: ")))));
        // More worms than lines.
        let worms = legend("separate", 0.0);
        assert!(
            worms.len() == LEAST && worms[LEAST - 1] == format!("… and {} more worms", 575 - (LEAST - 1)),
            "{worms:?}"
        );
    }
}
