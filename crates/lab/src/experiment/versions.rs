//! The versions of an experiment that its file describes: the quick one, and variations.

use super::Experiment;
use crate::experiment::diagnostic::Diagnostic;

impl Experiment {
    /// Whether the file has a quick version: a table `quick` of settings that make it cheaper.
    pub fn has_quick(&self) -> bool {
        self.document.has_quick()
    }

    /// The experiment's quick version; the experiment itself if the file has none.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), for the settings of the quick version.
    pub fn quick(&self) -> Result<Self, Diagnostic> {
        Self::of(&self.document.quick())
    }

    /// The names of the file's variations, in its order: tables `variation.NAME` of settings that are laid over the others, to see what
    /// depends on them.
    pub fn variations(&self) -> Vec<String> {
        self.document.variations()
    }

    /// One of its variations, of the quick version if this is it.
    ///
    /// # Errors
    /// If there is none of that name, and as [`parse`](Self::parse), for the settings of the variation.
    pub fn variation(&self, name: &str) -> Result<Self, Diagnostic> {
        let known = self.variations();
        if !known.iter().any(|variation| variation == name) {
            let message = format!("there is no variation `{name}`");
            if known.is_empty() {
                let message = format!("{message}: expected a table `[variation.NAME]` of settings");
                return Err(Diagnostic::file(self.path(), message));
            }
            let problem = Diagnostic::file(self.path(), message);
            return Err(problem.expecting(name, known.iter().map(String::as_str)));
        }
        Self::of(&self.document.variation(name))
    }

    /// What a variation changes, in one line: its settings, without the title and the claims, and without the stop rule if there are others.
    pub fn variation_settings(&self, name: &str) -> String {
        let told = |asides: &[&str]| -> Vec<String> {
            let settings = self.document.variation_settings(name).into_iter();
            let settings = settings.filter(|(path, _)| !asides.iter().any(|aside| path.starts_with(aside)));
            let line = |value: &str| value.split_whitespace().collect::<Vec<_>>().join(" ");
            settings.map(|(path, value)| format!("`{path} = {}`", line(&value))).collect()
        };
        let found =
            [&["title", "claim", "stop."][..], &["title", "claim"]].map(told).into_iter().find(|told| !told.is_empty());
        found.map_or_else(|| "other claims".to_owned(), |told| told.join(", "))
    }
}
