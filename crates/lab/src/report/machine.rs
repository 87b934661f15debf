//! The machine, in words.

/// The processor, its cores and the operating system.
pub(super) fn description() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let processor = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let processor = processor.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let plural = if cores == 1 { "" } else { "s" };
    format!("{processor}, {cores} core{plural}, {}", std::env::consts::OS)
}
