//! What a sentence of a claim goes back to: the words of its source, and what in its test is not in them.

use serde::{Deserialize, Serialize};

/// The words of a claim's source, and what in the test is not in them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Wording {
    /// The source's sentence, word for word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// Where it stands in the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// What in the test is a reading of the source and does not stand in it, such as a threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ours: Option<String>,
}

impl Wording {
    /// The key that is wrong, and what was expected; `None` if all is well.
    pub fn problem(&self) -> Option<(&'static str, &'static str)> {
        let Self { quote, section, ours } = self;
        let empty = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
        if empty(quote) {
            return Some(("quote", "this is empty: expected a sentence of the claim's source, word for word"));
        }
        if empty(section) || section.is_some() && quote.is_none() {
            return Some(("section", "expected the place of a `quote` in the claim's source, such as \"Section 4\""));
        }
        if empty(ours) {
            return Some(("ours", "this is empty: expected what in the test is a reading of the claim's source"));
        }
        None
    }

    /// The quoted sentence with its place, to be read by people.
    pub fn quoted(&self) -> Option<String> {
        let quote = self.quote.as_ref()?;
        let section = self.section.as_ref().map_or_else(String::new, |section| format!(" ({section})"));
        Some(format!("“{quote}”{section}"))
    }

    /// What is not in the source, to be read by people.
    pub fn reading(&self) -> Option<String> {
        let ours = self.ours.as_ref()?;
        Some(format!("Our reading: {}.", ours.trim_end_matches('.')))
    }
}
