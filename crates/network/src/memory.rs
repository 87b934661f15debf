//! How much memory is available, so that work that does not fit is refused in time.

use std::fmt;

use thiserror::Error;

/// The environment variable that sets the limit.
pub const MEMORY_VARIABLE: &str = "WORMCAST_MEMORY";

/// Smaller requests are not checked unless a limit is set: finding out costs more than it is worth.
const SMALL: u64 = 1 << 26;

/// Work that would take more memory than there is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The work takes too much memory.
    #[error(
        "{what} needs about {} of memory, and there are {} left{}; {}",
        Apart(*.needed, *.available), Apart(*.available, *.needed), .fits.as_ref().map_or_else(String::new, |fits| format!(": {fits}")), remedy(*.needed, *.ulimit)
    )]
    TooLarge {
        /// The work.
        what: String,
        /// The bytes that it takes.
        needed: u64,
        /// The bytes available.
        available: u64,
        /// Whether it is a resource limit of the process that leaves no more.
        ulimit: bool,
        /// What would fit, if known.
        fits: Option<String>,
    },
    /// The limit that was set is less than the program takes for itself.
    #[error("`{MEMORY_VARIABLE}={given}` is less than the program itself takes, {}; {what} needs about {} more", Bytes(*.taken), Bytes(*.needed))]
    Nothing {
        /// What was to be done.
        what: String,
        /// The limit that was set.
        given: String,
        /// The bytes that the program has.
        taken: u64,
        /// The bytes that the work takes.
        needed: u64,
    },
    /// The limit that was set is no amount of memory.
    #[error(
        "`{MEMORY_VARIABLE}={given}` is no amount of memory; expected bytes, as in `8GB`, `8GiB`, `500MB`, or `unlimited`"
    )]
    Malformed {
        /// What was given.
        given: String,
    },
}

/// How there would be enough, in whole gigabytes.
fn remedy(needed: u64, ulimit: bool) -> String {
    if ulimit {
        return "`ulimit` allows no more".to_owned();
    }
    let enough = needed / 1_000_000_000 + 1;
    format!("`{MEMORY_VARIABLE}=…` sets another limit, such as `{MEMORY_VARIABLE}={enough}GB`")
}

/// A number of bytes as people read it: `4.9 GB`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match self.0 {
            0..1_000_000 => write!(f, "{:.0} kB", bytes / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.0} MB", bytes / 1e6),
            1_000_000_000..1_000_000_000_000 => write!(f, "{:.1} GB", bytes / 1e9),
            _ => write!(f, "{:.1} TB", bytes / 1e12),
        }
    }
}

/// The first of two amounts, in as many digits as tell it from the second.
struct Apart(u64, u64);

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if Bytes(self.0).to_string() == Bytes(self.1).to_string() {
            write!(f, "{} bytes", self.0)
        } else {
            Bytes(self.0).fmt(f)
        }
    }
}

/// Refuses work that takes more bytes than are [available](available_memory). If that is unknown, nothing is refused.
///
/// `fits` says what would fit into a number of bytes, as part of a sentence.
///
/// # Errors
/// If there is not enough, or the variable is not an amount of memory.
pub fn require_memory(
    what: impl fmt::Display,
    needed: u64,
    fits: impl FnOnce(u64) -> Option<String>,
) -> Result<(), MemoryError> {
    let set = std::env::var(MEMORY_VARIABLE).ok();
    if needed < SMALL && set.is_none() {
        return Ok(());
    }
    match (available_memory()?, set) {
        (Some(0), Some(given)) => {
            let taken = resident_memory().unwrap_or(0);
            Err(MemoryError::Nothing { what: what.to_string(), given, taken, needed })
        }
        (Some(available), _) if needed > available => {
            let ulimit = system::process().is_some_and(|left| needed > left / 10 * 9);
            Err(MemoryError::TooLarge { what: what.to_string(), needed, available, ulimit, fits: fits(available) })
        }
        _ => Ok(()),
    }
}

/// Refuses to start where `ulimit` leaves the program less than it takes for itself: it could not even say later what is wrong.
///
/// # Errors
/// If there is less, or the variable [`MEMORY_VARIABLE`] is not an amount of memory.
pub fn require_room_to_start() -> Result<(), MemoryError> {
    const ROOM: u64 = 1 << 26;
    set_by_variable()?;
    match system::process() {
        Some(available) if available < ROOM => Err(MemoryError::TooLarge {
            what: "the program".to_owned(),
            needed: ROOM,
            available,
            ulimit: true,
            fits: None,
        }),
        _ => Ok(()),
    }
}

/// Whether `ulimit` limits the memory of this process, so that the system may refuse it some at any moment, however much the machine has left.
pub fn is_memory_limited_by_shell() -> bool {
    system::process().is_some()
}

/// The bytes that work may take: nine tenths of what is left, to leave room for everything else. What is left is what the variable
/// [`MEMORY_VARIABLE`] allows less what the process has or, without the variable, what the machine and the process's control group have left, and never more than the process's
/// resource limits leave. `None` if that is unknown.
///
/// # Errors
/// If the variable [`MEMORY_VARIABLE`] is not an amount of memory.
pub fn available_memory() -> Result<Option<u64>, MemoryError> {
    let left = match set_by_variable()? {
        Some(Amount::Unlimited) => None,
        Some(Amount::Bytes(limit)) => {
            let left = limit.saturating_sub(resident_memory().unwrap_or(0));
            Some(system::process().map_or(left, |ulimit| left.min(ulimit)))
        }
        None => system::available(),
    };
    Ok(left.map(|left| left / 10 * 9))
}

fn set_by_variable() -> Result<Option<Amount>, MemoryError> {
    let Ok(given) = std::env::var(MEMORY_VARIABLE) else { return Ok(None) };
    parse(&given).map(Some).ok_or(MemoryError::Malformed { given })
}

/// The most memory that this process may take, for work whose memory cannot be estimated: it has to end before the system kills the process.
#[derive(Clone, Debug)]
pub struct MemoryLimits(Vec<Limit>);

/// One limit.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Limit {
    /// The line of the process's state that it is about.
    used: &'static str,
    most: u64,
    whose: &'static str,
}

/// The process has taken all the memory that it may.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{} are taken, more than 95% of what {whose}", Bytes(*.taken))]
pub struct OutOfMemory {
    /// The bytes that it has.
    taken: u64,
    whose: &'static str,
}

impl OutOfMemory {
    /// What allows more, as the end of a sentence; empty where only `ulimit` does.
    pub fn remedy(&self) -> String {
        if self.whose.contains("ulimit") {
            String::new()
        } else {
            format!(", and `{MEMORY_VARIABLE}=…` sets another limit")
        }
    }
}

/// The memory that the variable, the machine and its control groups count, and the memory that `ulimit` counts.
const RESIDENT: &str = "VmRSS:";
const ADDRESS_SPACE: &str = "VmSize:";
const DATA: &str = "VmData:";

impl MemoryLimits {
    /// The limits from now on: 95% of what is left. Of address space, which `ulimit -v` limits, a process takes more than it uses.
    ///
    /// If the variable [`MEMORY_VARIABLE`] makes no sense, as [`available_memory`] says, there are none.
    pub fn now() -> Self {
        let limit = |used, left: Option<u64>, whose| {
            let most = system::status(used).unwrap_or(0) + left? / 20 * 19;
            Some(Limit { used, most, whose })
        };
        let left = |limit: u64| Some(limit.saturating_sub(resident_memory().unwrap_or(0)));
        let ulimits = || {
            let space = limit(ADDRESS_SPACE, system::ulimit("Max address space", ADDRESS_SPACE), "`ulimit -v` allows");
            [space, limit(DATA, system::ulimit("Max data size", DATA), "`ulimit -d` allows")]
        };
        let limits = match set_by_variable() {
            Ok(Some(Amount::Unlimited)) | Err(_) => Vec::new(),
            Ok(Some(Amount::Bytes(most))) => {
                let set = limit(RESIDENT, left(most), "`WORMCAST_MEMORY` allows");
                ulimits().into_iter().chain([set]).collect()
            }
            Ok(None) => {
                let machine = limit(RESIDENT, system::machine(), "the machine had left");
                let group = limit(RESIDENT, system::group(), "the control group of this process allows");
                ulimits().into_iter().chain([machine, group]).collect()
            }
        };
        Self(limits.into_iter().flatten().collect())
    }

    /// The limit that has been reached, if one has.
    pub fn reached(&self) -> Option<OutOfMemory> {
        let status = if self.0.is_empty() { return None } else { system::state()? };
        self.0.iter().find_map(|&Limit { used, most, whose }| {
            let taken = system::kilobytes(&status, used).filter(|&taken| taken > most)?;
            Some(OutOfMemory { taken, whose })
        })
    }
}

/// The resident memory of this process in bytes; `None` if unknown.
pub fn resident_memory() -> Option<u64> {
    system::status(RESIDENT)
}

#[derive(PartialEq, Debug)]
enum Amount {
    Bytes(u64),
    Unlimited,
}

fn parse(text: &str) -> Option<Amount> {
    let text = text.trim();
    if ["unlimited", "none"].contains(&text) {
        return Some(Amount::Unlimited);
    }
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        _ => return None,
    };
    let number = number.parse::<f64>().ok().filter(|number| number.is_finite())?;
    Some(Amount::Bytes((number * factor as f64) as u64))
}

/// What Linux says in its file systems. On other systems nothing is known.
mod system {
    use std::fs::read_to_string;
    use std::path::{Path, PathBuf};

    /// The least of what the machine, the control group and the process's limits have left.
    pub(super) fn available() -> Option<u64> {
        [Some(machine()?), group(), process()].into_iter().flatten().min()
    }

    /// What the machine has left.
    pub(super) fn machine() -> Option<u64> {
        kilobytes(&read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
    }

    /// This process's state.
    pub(super) fn state() -> Option<String> {
        read_to_string("/proc/self/status").ok()
    }

    /// A line of it.
    pub(super) fn status(key: &str) -> Option<u64> {
        kilobytes(&state()?, key)
    }

    /// The bytes of a line such as `MemAvailable:   22 kB`.
    pub(super) fn kilobytes(text: &str, key: &str) -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    }

    /// What `ulimit -v` and `ulimit -d` leave, whatever else is allowed.
    pub(super) fn process() -> Option<u64> {
        [ulimit("Max address space", super::ADDRESS_SPACE), ulimit("Max data size", super::DATA)]
            .into_iter()
            .flatten()
            .min()
    }

    /// What a limit of the process leaves, given the line of its state that counts against it.
    pub(super) fn ulimit(limit: &str, used: &str) -> Option<u64> {
        let limits = read_to_string("/proc/self/limits").ok()?;
        // The soft limit comes first.
        let bytes = limits.lines().find_map(|line| line.strip_prefix(limit))?.split_whitespace().next()?;
        Some(bytes.parse::<u64>().ok()?.saturating_sub(status(used)?))
    }

    /// What the process's control groups, of version 2 or 1, leave.
    pub(super) fn group() -> Option<u64> {
        let own = read_to_string("/proc/self/cgroup").ok()?;
        let mut left = Vec::new();
        for line in own.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
            let (root, limit, usage) = match controllers {
                "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
                _ if controllers.split(',').any(|name| name == "memory") => {
                    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
                }
                _ => continue,
            };
            let mut folder = PathBuf::from(root).join(path.trim_start_matches('/'));
            // A container may see its own group as the root.
            loop {
                left.extend(left_in(&folder, limit, usage));
                if folder == Path::new(root) || !folder.pop() {
                    break;
                }
            }
        }
        left.into_iter().min()
    }

    fn left_in(folder: &Path, limit: &str, usage: &str) -> Option<u64> {
        let number = |name: &str| read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
        let used = number(usage)?;
        // Files that have not been read for long are given back at once.
        let statistics = read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let inactive = statistics.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse().ok());
        Some(number(limit)?.saturating_sub(used.saturating_sub(inactive.unwrap_or(0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        let bytes = |text| parse(text);
        for (text, expected) in [("8GB", 8_000_000_000), ("1.5 GiB", 3 << 29), ("500", 500), ("2k", 2048)] {
            assert_eq!(bytes(text), Some(Amount::Bytes(expected)), "{text}");
        }
        assert_eq!(bytes("unlimited"), Some(Amount::Unlimited));
        for text in ["", "8 gigs", "GB", "-1", "1e400"] {
            assert_eq!(bytes(text), None, "{text}");
        }
        assert_eq!([900, 25_000_000, 4_840_000_000].map(|bytes| Bytes(bytes).to_string()), ["1 kB", "25 MB", "4.8 GB"]);
    }

    #[test]
    fn lines_of_the_system_are_read() {
        let text = "MemTotal:  24000 kB\nMemAvailable:   22000 kB\n";
        assert_eq!(system::kilobytes(text, "MemAvailable:"), Some(22_528_000));
        assert_eq!(system::kilobytes(text, "SwapFree:"), None);
        #[cfg(target_os = "linux")]
        assert!(resident_memory() > Some(100_000) && system::available() > Some(100_000));
    }

    #[test]
    fn limits_that_are_reached_say_whose_they_are() {
        let limit = |most| MemoryLimits(vec![Limit { used: ADDRESS_SPACE, most, whose: "`ulimit -v` allows" }]);
        assert_eq!(limit(u64::MAX).reached(), None);
        #[cfg(target_os = "linux")]
        assert!(
            limit(1).reached().unwrap().to_string().ends_with(" are taken, more than 95% of what `ulimit -v` allows")
        );
    }

    #[test]
    fn what_is_too_large_says_what_fits() {
        let error = MemoryError::TooLarge {
            what: "topology `hypercube:24`".to_owned(),
            needed: 4_900_000_000,
            available: 3_000_000_000,
            ulimit: false,
            fits: Some("`hypercube:23` fits".to_owned()),
        };
        assert_eq!(
            error.to_string(),
            "topology `hypercube:24` needs about 4.9 GB of memory, and there are 3.0 GB left: `hypercube:23` fits; \
             `WORMCAST_MEMORY=…` sets another limit, such as `WORMCAST_MEMORY=5GB`"
        );
        let error = MemoryError::TooLarge {
            what: "this".to_owned(),
            needed: 8_400_000,
            available: 8_300_000,
            ulimit: true,
            fits: None,
        };
        assert!(error.to_string().starts_with(
            "this needs about 8400000 bytes of memory, and there are 8300000 bytes left; `ulimit` allows no more"
        ));
        assert_eq!(require_memory("nothing", 1, |_| None), Ok(()));
    }
}
