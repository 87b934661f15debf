//! What is known of where results come from: programs, machines and times.

use std::time::Duration;

/// A program that computes results or writes pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Program {
    /// The version of wormcast.
    pub version: &'static str,
    /// The revision of its sources, such as an abbreviated commit; empty if it is not known.
    pub revision: &'static str,
}

impl Default for Program {
    /// This version, without a revision.
    fn default() -> Self {
        Self { version: env!("CARGO_PKG_VERSION"), revision: "" }
    }
}

impl Program {
    /// In words.
    pub(crate) fn text(self) -> String {
        program_text(self.version, self.revision)
    }

    /// Its version, with the revision of its sources if that is known, as `--version` prints it.
    pub fn full_version(self) -> String {
        match self.revision {
            "" => self.version.to_owned(),
            revision => format!("{}, commit {revision}", self.version),
        }
    }
}

/// Where replications come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The version of wormcast that computed them.
    pub version: String,
    /// The revision of its sources; empty if it is not known.
    pub revision: String,
    /// The machine that it ran on.
    pub machine: String,
    /// When the first one was done, in seconds since 1970 (UTC).
    pub first: u64,
    /// When the last one was done, in the same unit.
    pub last: u64,
    /// How many there are.
    pub replications: u64,
    /// How long they took, one after the other.
    pub computing: Duration,
}

impl Origin {
    /// Adds one to a list in which no two have the same program and machine.
    pub(crate) fn merge(list: &mut Vec<Self>, other: Self) {
        let same = |of: &&mut Self| {
            (&of.version, &of.revision, &of.machine) == (&other.version, &other.revision, &other.machine)
        };
        match list.iter_mut().find(same) {
            Some(of) => {
                of.first = of.first.min(other.first);
                of.last = of.last.max(other.last);
                of.replications += other.replications;
                of.computing += other.computing;
            }
            None => list.push(other),
        }
    }

    /// The program in words.
    pub(crate) fn program(&self) -> String {
        program_text(&self.version, &self.revision)
    }

    /// When they were computed, in words: to the minute, and the day once if it was one.
    pub(crate) fn when(&self) -> String {
        let [first, last] = [self.first, self.last].map(moment);
        if first == last {
            format!("{} {} UTC", first.0, first.1)
        } else if first.0 == last.0 {
            format!("{} {} to {} UTC", first.0, first.1, last.1)
        } else {
            format!("{} {} to {} {} UTC", first.0, first.1, last.0, last.1)
        }
    }
}

fn program_text(version: &str, revision: &str) -> String {
    if revision.is_empty() { format!("wormcast {version}") } else { format!("wormcast {version} ({revision})") }
}

/// A duration in words: two units at most, none smaller than a second unless it is shorter than ten.
pub(crate) fn duration_text(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round() as u64;
    let two = |large: u64, unit: &str, small: u64, part: &str| {
        if small == 0 { format!("{large} {unit}") } else { format!("{large} {unit} {small} {part}") }
    };
    match seconds {
        0..10 => format!("{} s", crate::statistics::number_text(duration.as_secs_f64(), 2)),
        10..60 => format!("{seconds} s"),
        60..3600 => two(seconds / 60, "min", seconds % 60, "s"),
        _ => two(seconds / 3600, "h", seconds % 3600 / 60, "min"),
    }
}

/// The day and the minute of a moment in seconds since 1970, both UTC.
pub(crate) fn moment(seconds: u64) -> (String, String) {
    // Years that start in March, so that the day that leap years have more is the last one: H. Hinnant, "chrono-compatible low-level
    // date algorithms".
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    (format!("{year:04}-{month:02}-{day:02}"), format!("{:02}:{:02}", second / 3600, second % 3600 / 60))
}

/// The processor, its cores and the operating system.
pub(crate) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let processor = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let processor = processor.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let plural = if cores == 1 { "" } else { "s" };
    format!("{processor}, {cores} core{plural}, {}", std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_days_and_minutes() {
        for (seconds, day, minute) in [
            (0, "1970-01-01", "00:00"),
            (951_782_399, "2000-02-28", "23:59"),
            (951_782_400, "2000-02-29", "00:00"),
            (951_868_800, "2000-03-01", "00:00"),
            (1_795_340_100, "2026-11-22", "09:35"),
            (4_107_542_399, "2100-02-28", "23:59"),
            (4_107_542_400, "2100-03-01", "00:00"),
        ] {
            assert_eq!(moment(seconds), (day.to_owned(), minute.to_owned()));
        }
    }

    #[test]
    fn durations_have_two_units_at_most() {
        for (milliseconds, text) in [
            (0, "0 s"),
            (1234, "1.2 s"),
            (59_400, "59 s"),
            (60_000, "1 min"),
            (200_000, "3 min 20 s"),
            (3_600_000, "1 h"),
            (98_765_000, "27 h 26 min"),
        ] {
            assert_eq!(duration_text(Duration::from_millis(milliseconds)), text);
        }
    }
}
