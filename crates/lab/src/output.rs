//! Results as files: tables, and writing that leaves the old file or the new one, never half of it.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::summary::PointSummary;

/// A result that cannot be written.
#[derive(Debug, Error)]
#[error("cannot write `{path}`: {reason}")]
pub struct OutputError {
    /// The file that was to be written.
    pub path: PathBuf,
    /// What the operating system said.
    pub reason: std::io::Error,
}

/// Writes a file: first under another name beside it, which then takes its place. What a link points to is replaced, not the
/// link; a device or a pipe is written to directly.
///
/// # Errors
/// If the directory is not there or may not be written, or there is no space; the file is then what it was.
pub fn write_file(path: &Path, contents: &[u8]) -> Result<(), OutputError> {
    let written = match Target::of(path) {
        Ok(Target::File(file)) => {
            let temporary = beside(&file);
            let written = std::fs::File::create(&temporary)
                .and_then(|mut file| file.write_all(contents).and_then(|()| file.sync_all()))
                .and_then(|()| std::fs::rename(&temporary, &file));
            if written.is_err() {
                // It may not even be there.
                let _ = std::fs::remove_file(&temporary);
            }
            written
        }
        Ok(Target::Stream) => {
            std::fs::OpenOptions::new().write(true).open(path).and_then(|mut stream| stream.write_all(contents))
        }
        Err(reason) => Err(reason),
    };
    written.map_err(|reason| OutputError { path: path.to_owned(), reason })
}

/// Finds out whether [`write_file`] can write a file, as far as can be known before there are contents. Leaves everything as it is.
///
/// # Errors
/// If the directory is not there or may not be written, or the file is a directory.
pub fn check_file(path: &Path) -> Result<(), OutputError> {
    let checked = Target::of(path).and_then(|target| match target {
        Target::File(file) => {
            let temporary = beside(&file);
            std::fs::File::create(&temporary).and_then(|_| std::fs::remove_file(&temporary))
        }
        Target::Stream => Ok(()),
    });
    checked.map_err(|reason| OutputError { path: path.to_owned(), reason })
}

/// What a path leads to.
enum Target {
    /// A file of this name, there or not.
    File(PathBuf),
    /// A device or a pipe.
    Stream,
}

impl Target {
    fn of(path: &Path) -> std::io::Result<Self> {
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(metadata) if metadata.is_file() => path.canonicalize().map(Self::File),
            Ok(_) => Ok(Self::Stream),
            Err(_) => match std::fs::read_link(path) {
                // A link to a file that is not there yet; of a chain of them, the first is followed.
                Ok(target) => Ok(Self::File(path.parent().unwrap_or(Path::new("")).join(target))),
                Err(_) => Ok(Self::File(path.to_owned())),
            },
        }
    }
}

/// The name under which a file is written at first.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

/// The measured columns of a table, behind those of the swept settings.
const COLUMNS: [&str; 45] = [
    "outcome",
    "replications",
    "latency_last_cycles",
    "latency_last_ns",
    "latency_last_half_width_cycles",
    "latency_mean_cycles",
    "latency_mean_half_width_cycles",
    "latency_p50_cycles",
    "latency_p95_cycles",
    "latency_p99_cycles",
    "latency_unicast_cycles",
    "latency_unicast_half_width_cycles",
    "latency_multicast_cycles",
    "latency_multicast_half_width_cycles",
    "queueing_cycles",
    "startup_cycles",
    "network_cycles",
    "blocking_cycles",
    "offered_load",
    "injected_load",
    "accepted_load",
    "delivered_load",
    "delivered_load_half_width",
    "link_utilisation",
    "link_utilisation_busiest",
    "buffer_occupancy",
    "plan_steps",
    "plan_steps_half_width",
    "plan_startups",
    "plan_mean_startups",
    "plan_channels",
    "plan_contention",
    "plan_prohibited",
    "trees_diameter",
    "trees_least_diameter",
    "trees_average_distance",
    "trees_unused",
    "trees_disjoint",
    "trees_binary",
    "saturated",
    "deadlocked",
    "difference_cycles",
    "difference_half_width_cycles",
    "cycle_ns",
    "config_hash",
];

/// The table of a sweep as CSV: a header, then a line a point. What a point does not have is empty: latencies of a saturated
/// point, everything of a deadlocked one.
pub fn csv(summaries: &[PointSummary]) -> String {
    let swept = summaries.first().map_or(&[][..], |summary| &summary.coordinates);
    let header = swept.iter().map(|coordinate| coordinate.key.clone()).chain(COLUMNS.map(str::to_owned));
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and all rows have the same length.
    let _ = writer.write_record(header);
    for summary in summaries {
        let _ = writer.write_record(record(summary));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

fn record(summary: &PointSummary) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let latency = summary.latency.as_ref();
    let load = summary.load.as_ref();
    let plan = summary.plan.as_ref();
    let trees = summary.trees.as_ref();
    let last = latency.map(|latency| latency.last);
    let mean = latency.and_then(|latency| latency.mean);
    let unicast = latency.and_then(|latency| latency.unicast);
    let multicast = latency.and_then(|latency| latency.multicast);
    let mut record: Vec<String> = summary.coordinates.iter().map(crate::point::Coordinate::text).collect();
    record.extend([
        summary.outcome.name().to_owned(),
        summary.replications.to_string(),
        number(last.map(|last| last.mean)),
        number(last.map(|last| last.mean * summary.cycle_ns)),
        number(last.and_then(|last| last.half_width)),
        number(mean.map(|mean| mean.mean)),
        number(mean.and_then(|mean| mean.half_width)),
        number(latency.and_then(|latency| latency.p50)),
        number(latency.and_then(|latency| latency.p95)),
        number(latency.and_then(|latency| latency.p99)),
        number(unicast.map(|latency| latency.mean)),
        number(unicast.and_then(|latency| latency.half_width)),
        number(multicast.map(|latency| latency.mean)),
        number(multicast.and_then(|latency| latency.half_width)),
        number(latency.map(|latency| latency.parts.queueing)),
        number(latency.map(|latency| latency.parts.startup)),
        number(latency.map(|latency| latency.parts.network)),
        number(latency.map(|latency| latency.parts.blocking)),
        number(load.map(|load| load.offered)),
        number(load.map(|load| load.injected)),
        number(load.map(|load| load.accepted)),
        number(load.map(|load| load.delivered)),
        number(load.and_then(|load| load.delivered_half_width)),
        number(load.map(|load| load.link_busy)),
        number(load.map(|load| load.link_busiest)),
        number(load.and_then(|load| load.buffers)),
        number(plan.map(|plan| plan.steps.mean)),
        number(plan.and_then(|plan| plan.steps.half_width)),
        number(plan.map(|plan| plan.startups.mean)),
        number(plan.map(|plan| plan.mean_startups.mean)),
        number(plan.map(|plan| plan.channels.mean)),
        number(plan.map(|plan| plan.contention.mean)),
        number(plan.and_then(|plan| plan.prohibited).map(|share| share.mean)),
        number(trees.map(|trees| trees.diameter.mean)),
        number(trees.map(|trees| trees.least_diameter.mean)),
        number(trees.map(|trees| trees.average_distance.mean)),
        number(trees.map(|trees| trees.unused.mean)),
        number(trees.map(|trees| trees.disjoint.mean)),
        number(trees.map(|trees| trees.binary.mean)),
        summary.saturated().to_string(),
        summary.deadlock.is_some().to_string(),
        number(summary.difference.map(|difference| difference.mean)),
        number(summary.difference.and_then(|difference| difference.half_width)),
        summary.cycle_ns.to_string(),
        summary.config_hash.clone(),
    ]);
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_replaces_the_file_and_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table.csv");
        write_file(&path, b"old").unwrap();
        write_file(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        let error = write_file(&directory.path().join("no/table.csv"), b"x").unwrap_err();
        assert!(error.to_string().contains("no/table.csv`: "));
    }
}
