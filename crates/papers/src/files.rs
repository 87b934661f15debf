//! The experiments that the program carries, and the files that they read.

/// A file that the program carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shipped {
    /// Its name, with its ending.
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

impl Shipped {
    /// The name without its ending.
    pub(crate) fn stem(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(stem, _)| stem)
    }

    /// Whether it is an experiment, and not what one reads.
    pub(crate) fn is_experiment(&self) -> bool {
        self.name.split_once('.').is_some_and(|(_, ending)| ending == "toml")
    }
}

/// The experiments, by their names.
pub(crate) fn experiments() -> impl Iterator<Item = &'static Shipped> {
    FILES.iter().filter(|file| file.is_experiment())
}

/// The other files, which experiments may read.
pub(crate) fn read_by_experiments() -> impl Iterator<Item = &'static Shipped> {
    FILES.iter().filter(|file| !file.is_experiment())
}

macro_rules! shipped {
    ($($name:literal)*) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../experiments/", $name)) }),*]
    };
}

/// All of them, by their names.
const FILES: &[Shipped] = shipped! {
    "paper-1-figure-10.toml"
    "paper-1-figure-11a.toml"
    "paper-1-figure-11b.toml"
    "paper-1-figure-9a.toml"
    "paper-1-figure-9b.toml"
    "paper-1-figure-9c.toml"
    "paper-1-section-5.toml"
    "paper-1-table-1.toml"
    "paper-2-examples.toml"
    "paper-2-figure-10.toml"
    "paper-2-figure-2.txt"
    "paper-2-figure-5.txt"
    "paper-2-figure-6.txt"
    "paper-2-figure-9.toml"
    "paper-2-figures-11-12.toml"
    "paper-2-figures-13-14.toml"
    "paper-2-theorem-6.toml"
    "paper-3-figure-2.toml"
    "paper-3-figure-3.toml"
    "paper-3-figure-6.toml"
    "paper-3-figure-7.toml"
    "paper-3-figure-8.toml"
    "paper-3-section-4.toml"
    "paper-3-trees.toml"
    "paper-4-figure-14-central.toml"
    "paper-4-figure-14-hardware.toml"
    "paper-4-figure-14-input.toml"
    "paper-4-figure-15-central.toml"
    "paper-4-figure-15-input.toml"
    "paper-4-figure-15-software.toml"
    "paper-4-figure-16-saturation.toml"
    "paper-4-figure-16.toml"
    "paper-4-figure-17.toml"
    "paper-4-figure-18.toml"
    "paper-4-figure-19.toml"
    "paper-4-saturation.toml"
    "paper-4-saturation-many.toml"
    "paper-4-saturation-software.toml"
    "paper-5-figure-10.toml"
    "paper-5-figure-11.toml"
    "paper-5-figure-12.toml"
    "paper-5-figure-8-33.toml"
    "paper-5-figure-8-from-9.toml"
    "paper-5-figure-8.toml"
    "paper-5-figure-9.toml"
    "paper-5-figures-11-12.toml"
    "paper-5-saturation-mixed.toml"
    "paper-5-saturation-multicast.toml"
    "paper-5-theorem-4-1.toml"
    "paper-5-theorem-5-1.toml"
    "paper-5-theorems-5-1-5-2.toml"
    "paper-5-section-3.toml"
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use wormcast_lab::Experiment;

    use super::*;

    #[test]
    fn every_experiment_of_a_paper_is_there() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
        let there: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("paper-"))
            .collect();
        assert_eq!(there, FILES.iter().map(|file| file.name.to_owned()).collect());
    }

    #[test]
    fn experiments_have_quick_versions_and_plots() {
        for file in experiments() {
            let experiment = Experiment::parse(file.name, file.text, &[]).unwrap();
            assert!(experiment.has_quick() || experiment.claim_ids().is_empty(), "{}", file.name);
            // Tables have no numbers to plot against.
            let table = ["paper-2-examples", "paper-1-table-1", "paper-5-theorem-4-1"].contains(&file.stem());
            assert_eq!(experiment.figure().is_none(), table, "{}", file.name);
        }
    }

    #[test]
    fn what_is_no_experiment_is_read_by_one() {
        for file in read_by_experiments() {
            assert!(experiments().any(|experiment| experiment.text.contains(file.name)), "{}", file.name);
        }
    }
}
