//! The versions of a file, its quick one and its variations, and how they are laid over it.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::document::Document;
use crate::experiment::document::overrides::{SWEEP, unless_swept};
use crate::experiment::document::tree::{Tree, merge, within};
use crate::experiment::file_name::not_a_variation;
use crate::experiment::schema::is_top_level;

/// The table of a file with the settings of its quick version.
pub(crate) const QUICK: &str = "quick";

/// The table of a file with its variations, each a table of settings.
pub(super) const VARIATION: &str = "variation";

impl Document {
    /// Whether the file has a quick version.
    pub(crate) fn has_quick(&self) -> bool {
        DeTable::parse(&self.text).is_ok_and(|tree| tree.get_ref().contains_key(QUICK))
    }

    /// One of its variations, of the quick version if this is it.
    pub(crate) fn variation(&self, name: &str) -> Self {
        Self { variation: Some(name.to_owned()), ..self.clone() }
    }

    /// The names of its variations, in the file's order.
    pub(crate) fn variations(&self) -> Vec<String> {
        self.variations_table().into_iter().flatten().map(|(name, _)| name.into_inner().into_owned()).collect()
    }

    /// What a variation sets: dotted paths, and the values as they stand in the file.
    pub(crate) fn variation_settings(&self, name: &str) -> Vec<(String, String)> {
        let mut settings = Vec::new();
        let varied = self.variations_table().and_then(|mut table| table.remove(name));
        if let Some(DeValue::Table(table)) = varied.map(Spanned::into_inner) {
            self.leaves(&table, "", &mut settings);
        }
        settings
    }

    /// The table of variations, if there is one.
    fn variations_table(&self) -> Option<Tree<'_>> {
        match DeTable::parse(&self.text).ok()?.into_inner().remove(VARIATION)?.into_inner() {
            DeValue::Table(table) => Some(table),
            _ => None,
        }
    }

    fn leaves(&self, table: &Tree<'_>, prefix: &str, settings: &mut Vec<(String, String)>) {
        for (key, value) in table {
            let path = format!("{prefix}{}", key.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) => self.leaves(inner, &format!("{path}."), settings),
                _ => settings.push((path, self.text[value.span()].to_owned())),
            }
        }
    }

    /// Removes the file's versions from its settings and applies the chosen ones. The paths of what these give, and do not sweep.
    pub(super) fn apply_versions(&self, tree: &mut Tree<'_>) -> Result<Vec<Vec<String>>, Diagnostic> {
        let (quick, variations) = (tree.remove(QUICK), tree.remove(VARIATION));
        let mut chosen = Vec::new();
        if let Some(quick) = quick {
            let span = quick.span();
            match quick.into_inner() {
                DeValue::Table(quick) if self.quick => chosen.push(quick),
                DeValue::Table(_) => {}
                _ => return Err(self.error(span, "`quick` is a table: expected the settings of the quick version")),
            }
        }
        if let Some(variations) = variations {
            let span = variations.span();
            let DeValue::Table(table) = variations.into_inner() else {
                return Err(self.error(span, "`variation` is a table of variations, as in `[variation.no-startup]`"));
            };
            let names: Vec<String> = table.keys().map(|name| name.get_ref().to_string()).collect();
            for (name, variation) in table {
                if let Some(problem) = not_a_variation(name.get_ref(), &names) {
                    return Err(self.error(name.span(), problem));
                }
                let span = variation.span();
                let within = match variation.get_ref() {
                    DeValue::Table(settings) => settings.keys().any(|key| is_top_level(key.get_ref())),
                    _ => false,
                };
                if is_top_level(name.get_ref()) && !within {
                    let message = format!("`{}` is a setting, and each variation has a name", name.get_ref());
                    let expected = Some("expected `[variation.NAME]`".to_owned());
                    return Err(self.error(name.span(), message).with_help(expected));
                }
                let DeValue::Table(settings) = variation.into_inner() else {
                    let message = format!("the variation `{}` is a table: expected settings", name.get_ref());
                    return Err(self.error(span, message));
                };
                if self.variation.as_deref() == Some(name.get_ref().as_ref()) {
                    chosen.push(settings);
                }
            }
        }
        let mut given = Vec::new();
        for version in chosen {
            for name in [QUICK, VARIATION] {
                if let Some(inner) = version.get(name) {
                    return Err(
                        self.error(inner.span(), format!("a version of an experiment has no `{name}` of its own"))
                    );
                }
            }
            for (name, value) in version.iter().filter(|(name, _)| *name.get_ref() != SWEEP) {
                let path = [name.get_ref().to_string()];
                within(value.get_ref(), &path, &mut given);
                given.push(path.to_vec());
            }
            if let Some(sweep) = version.get(SWEEP) {
                unless_swept(&mut given, sweep.get_ref(), &[]);
            }
            merge(tree, version);
        }
        Ok(given)
    }
}
