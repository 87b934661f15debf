//! An experiment file as text with overrides, and the position of each setting in it.

mod errors;
mod overrides;
mod tree;
mod versions;

use std::borrow::Cow;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::document::overrides::{
    SAME, SWEEP, applied, as_swept, gives, makes_bursts, rival, unless_swept,
};
use crate::experiment::document::tree::{remove, texts_in, within};
use crate::experiment::document::versions::VARIATION;
use crate::experiment::with::WITH;

pub use self::overrides::Override;
pub(crate) use self::tree::{Tree, Value, key_path, merge, respan};
pub(crate) use self::versions::QUICK;

/// The file's text and the overrides, in the order in which they apply.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) path: String,
    pub(crate) text: Arc<str>,
    overrides: Vec<Override>,
    /// Whether the settings of its table `quick` apply.
    quick: bool,
    /// Which of its variations applies.
    variation: Option<String>,
}

impl Document {
    pub(crate) fn new(path: &str, text: &str, overrides: &[Override]) -> Self {
        let overrides = overrides.to_vec();
        Self { path: path.to_owned(), text: text.into(), overrides, quick: false, variation: None }
    }

    /// The file alone: without overrides, in none of its versions; `None` if that is what it is.
    pub(crate) fn file_alone(&self) -> Option<Self> {
        let is_alone = self.overrides.is_empty() && !self.quick && self.variation.is_none();
        (!is_alone).then(|| Self::new(&self.path, &self.text, &[]))
    }

    /// Whether it is one of the versions of the file.
    pub(crate) fn is_version(&self) -> bool {
        self.quick || self.variation.is_some()
    }

    /// With further overrides.
    pub(crate) fn with(&self, overrides: impl Iterator<Item = Override>) -> Self {
        let overrides = self.overrides.iter().cloned().chain(overrides).collect();
        Self { overrides, ..self.clone() }
    }

    /// Its quick version.
    pub(crate) fn quick(&self) -> Self {
        Self { quick: true, ..self.clone() }
    }

    /// Whether it is.
    pub(crate) fn is_quick(&self) -> bool {
        self.quick
    }

    /// The name of the variation that applies, if one does.
    pub(crate) fn chosen_variation(&self) -> Option<&str> {
        self.variation.as_deref()
    }

    /// The settings that overrides give, in their order: the parts of the path, and the value as it was given.
    pub(crate) fn overridden(&self) -> impl Iterator<Item = (Vec<String>, &str)> {
        let path = |given: &Override| applied(Self::parts(&given.key)?, self.quick);
        self.overrides.iter().filter_map(move |given| Some((path(given)?, given.value.as_str())))
    }

    /// The algorithms that overrides give settings of their own, with the arguments that do so.
    pub(crate) fn given_with(&self) -> impl Iterator<Item = (String, &str)> {
        self.overrides.iter().filter_map(|given| {
            let path = applied(Self::parts(&given.key)?, self.quick)?;
            let [with, name, ..] = &path[..] else { return None };
            (with == WITH).then(|| (name.clone(), given.argument.as_str()))
        })
    }

    /// The parts of a setting's path, also of those in quotes.
    fn parts(key: &str) -> Option<Vec<String>> {
        let parts = |part: String| key_path(&part).unwrap_or_else(|| vec![part]);
        Some(key_path(key)?.into_iter().flat_map(parts).collect())
    }

    /// Whether an override gives this setting, by its dotted path.
    pub(crate) fn overrides(&self, setting: &str) -> bool {
        self.overridden().any(|(path, _)| path.join(".") == setting)
    }

    /// The texts that the file gives a setting, or sweeps it over, in any of its versions and whatever overrides replace.
    pub(crate) fn texts_of(&self, setting: &str) -> Vec<String> {
        let mut found = Vec::new();
        if let Ok(tree) = DeTable::parse(&self.text) {
            for (name, value) in tree.get_ref() {
                if ![setting, SWEEP, QUICK, VARIATION].contains(&name.get_ref().as_ref()) {
                    continue;
                }
                texts_in(value.get_ref(), name.get_ref() == setting, setting, &mut found);
            }
        }
        found
    }

    /// The table of all settings, those of the chosen versions and the overrides applied, and the dotted paths of what versions and overrides
    /// give in place of what the file may sweep.
    pub(crate) fn tree(&self) -> Result<(Tree<'_>, Vec<Vec<String>>), Diagnostic> {
        let mut tree = DeTable::parse(&self.text).map_err(|error| self.syntax_error(&error))?.into_inner();
        let mut laid = self.apply_versions(&mut tree)?;
        let mut paths = Vec::with_capacity(self.overrides.len());
        for (index, given) in self.overrides.iter().enumerate() {
            // Spans beyond the text stand for overrides.
            let at = self.text.len() + 1 + index;
            let span = at..at + 1;
            let path = key_path(&given.key).ok_or_else(|| {
                self.error(span.clone(), format!("`{}` is not the dotted path of a setting", given.key))
            })?;
            let value = match DeValue::parse(&given.value) {
                Ok(value) => respan(value, &span),
                Err(error) if given.value.starts_with(['[', '{', '"', '\'']) => {
                    // The parser takes text without quotes for dates or truth values.
                    let quotes = given.value.starts_with(['[', '{']).then(|| {
                        "texts in lists and tables need quotes, as in `[\"0-1\"]` or `{ pattern = \"transpose\" }`"
                            .to_owned()
                    });
                    return Err(self.error(span, error.message().to_owned()).with_help(quotes));
                }
                Err(_) => Spanned::new(span.clone(), DeValue::String(Cow::Borrowed(given.value.as_str()))),
            };
            let Some(path) = applied(path, self.quick) else { continue };
            let path = as_swept(&tree, path);
            if let Some(version) = path.first().filter(|first| [QUICK, VARIATION].contains(&first.as_str())) {
                let message = format!("`{version}` is a version of the file, which no other setting changes");
                let help = "set what it sets, as in `run.messages=500`: that replaces what any version says".to_owned();
                return Err(self.error(span, message).with_help(Some(help)));
            }
            if let [SWEEP, swept @ ..] = &path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                let swept: Vec<String> = swept.iter().flat_map(|part| key_path(part).unwrap_or_default()).collect();
                unless_swept(&mut laid, value.get_ref(), &swept);
                unless_swept(&mut paths, value.get_ref(), &swept);
            }
            // A table gives all settings in it.
            let mut settings = Vec::new();
            within(value.get_ref(), &path, &mut settings);
            settings.push(path.clone());
            // What says the same in the file gives way. Where another override says it, there are two, and an error.
            let of_bursts = if makes_bursts(value.get_ref(), &path) { &SAME[..] } else { &[] };
            let of_bursts = of_bursts.iter().filter_map(|setting| key_path(setting));
            let own = |rival: &Vec<String>| settings.contains(rival);
            for rival in settings.iter().filter_map(|path| rival(path)).chain(of_bursts).filter(|rival| !own(rival)) {
                if !self.overridden().any(|(path, value)| gives(&path, value, &rival)) {
                    remove(&mut tree, &rival);
                    paths.push(rival);
                }
            }
            paths.extend(settings);
            self.put(&mut tree, &path, &span, value)?;
        }
        paths.extend(laid);
        Ok((tree, paths))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overridden(text: &str, set: &[&str]) -> Result<toml::Table, Diagnostic> {
        let overrides: Vec<Override> = set.iter().map(|given| Override::set(given).unwrap()).collect();
        let document = Document::new("x.toml", text, &overrides);
        let (tree, _) = document.tree()?;
        document.typed(tree)
    }

    #[test]
    fn overrides_replace_and_add_settings() {
        let table = overridden(
            "a = 1\n[b]\nc = 2\n",
            &["a=dual-path", "b.d={ uniform = [1, 2] }", "sweep.\"b.c\"=[1, 2]", "b.c = 0.5"],
        );
        assert_eq!(
            table.unwrap().to_string(),
            "a = \"dual-path\"\n\n[b]\nc = 0.5\n\n[b.d]\nuniform = [1, 2]\n\n[sweep]\n\"b.c\" = [1, 2]\n"
        );
    }

    #[test]
    fn overrides_replace_what_says_the_same_in_the_file() {
        let text = "[traffic.arrivals]\nrate = 0.1\n[sweep]\n\"traffic.arrivals.rate\" = [0.1, 0.2]\n";
        let document = |set: &[&str]| {
            let overrides: Vec<Override> = set.iter().map(|given| Override::set(given).unwrap()).collect();
            Document::new("x.toml", text, &overrides)
        };
        let rate = key_path("traffic.arrivals.rate").unwrap();
        for given in
            ["traffic.arrivals.load=0.3", "traffic.arrivals={ load = 0.3 }", "sweep.traffic.arrivals.load=[0.3]"]
        {
            let document = document(&[given]);
            let (tree, paths) = document.tree().unwrap();
            assert!(!Document::has(&tree, &rate) && paths.contains(&rate), "{given}");
        }
        // Two that are given contradict each other: neither is dropped in silence.
        for given in [
            ["traffic.arrivals.rate=0.2", "traffic.arrivals.load=0.3"],
            ["sweep.traffic.arrivals.rate=[0.2]", "traffic.arrivals.load=0.3"],
            ["sweep={ \"traffic.arrivals.rate\" = [0.2] }", "traffic.arrivals.load=0.3"],
        ] {
            let document = document(&given);
            assert!(Document::has(&document.tree().unwrap().0, &rate), "{given:?}");
        }
    }

    #[test]
    fn overrides_replace_swept_settings_however_either_is_written() {
        // In the place of the old one, which says how fast it varies.
        fn file_with(file: &str) -> String {
            let start = file.find("= ").unwrap() + 2;
            let end = start + file[start..].find('\n').unwrap();
            let new = format!("{}[5, 6]{}", &file[..start], &file[end..]);
            new.parse::<toml::Table>().unwrap().to_string()
        }
        let files = [
            "[sweep]\n\"a.b.c\" = [1]\nd = [3]\n",
            "[sweep]\na.b.c = [1]\nd = [3]\n",
            "[sweep]\na.\"b.c\" = { from = 1, to = 2, points = 2 }\nd = [3]\n",
        ];
        for file in files {
            for key in ["sweep.a.b.c", "sweep.\"a.b.c\"", "sweep.\"a.b\".c"] {
                let table = overridden(file, &[&format!("{key}=[5, 6]")]).unwrap();
                assert_eq!(table.to_string(), file_with(file), "{key}");
            }
        }
        // A part of a range, and what is not swept yet.
        let table = overridden(files[2], &["sweep.a.b.c.points=3", "sweep.a.b.e=[1]"]).unwrap();
        assert_eq!(table["sweep"]["a"]["b.c"]["points"].as_integer(), Some(3));
        assert_eq!(table["sweep"]["a"]["b"]["e"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn the_quick_version_is_laid_over_the_file_and_under_overrides() {
        let text = "a = 1\n[b]\nc = [2]\nd = 3\n[quick]\nb = { c = [4, 5], e = 6 }\na = 7\n";
        let table = |quick, set: &[&str]| {
            let overrides: Vec<Override> = set.iter().map(|given| Override::set(given).unwrap()).collect();
            let document = Document::new("x.toml", text, &overrides);
            let document = if quick { document.quick() } else { document };
            document.typed::<toml::Table>(document.tree().unwrap().0).unwrap().to_string()
        };
        assert_eq!(table(false, &[]), "a = 1\n\n[b]\nc = [2]\nd = 3\n");
        assert_eq!(table(true, &["b.e=8"]), "a = 7\n\n[b]\nc = [4, 5]\nd = 3\ne = 8\n");
        assert!(Document::new("x.toml", text, &[]).has_quick());
        let document = Document::new("x.toml", "quick = true", &[]).quick();
        assert!(document.tree().unwrap_err().to_string().starts_with("x.toml:1:9: `quick` is a table"));
    }

    #[test]
    fn overrides_of_the_quick_version_apply_to_it_alone() {
        let text = "a = 1\nb.c = 2\nsweep.\"d.e\" = [3]\nquick.a = 4\nquick.b.c = 5\n";
        let set = ["quick.b.c=6", "quick.sweep.d.e=[7]", "a=8", "quick.a=9"];
        let overrides: Vec<Override> = set.iter().map(|given| Override::set(given).unwrap()).collect();
        let document = Document::new("x.toml", text, &overrides);
        let table = |document: &Document| {
            let (tree, paths) = document.tree().unwrap();
            let table: toml::Table = document.typed(tree).unwrap();
            (table.to_string(), paths.iter().map(|path| path.join(".")).collect::<Vec<_>>())
        };
        let (plain, paths) = table(&document);
        assert_eq!((plain.as_str(), paths), ("a = 8\n\n[b]\nc = 2\n\n[sweep]\n\"d.e\" = [3]\n", vec!["a".to_owned()]));
        let (quick, paths) = table(&document.quick());
        assert_eq!(quick, "a = 9\n\n[b]\nc = 6\n\n[sweep]\n\"d.e\" = [7]\n");
        assert_eq!(paths, ["b.c", "sweep.d.e", "a", "a", "a", "b.c", "b"]);
        // The last one counts, of whichever version.
        assert_eq!(Override::check(&overrides, true).unwrap(), ["--set a=8: replaced by `--set quick.a=9`"]);
        let unread = Override::check(&overrides, false).unwrap_err().to_string();
        assert!(
            unread.starts_with("--set quick.b.c=6: `quick` is a version of the file that is not asked for"),
            "{unread}"
        );
        // Its places are those of the argument, and it has no versions of its own.
        let problem = |set: &str| {
            let document = Document::new("x.toml", text, &[Override::set(set).unwrap()]).quick();
            document.tree().unwrap_err().to_string()
        };
        assert!(problem("quick.a.b=1").starts_with("--set quick.a.b=1: `a.b` names no setting"));
        for set in ["quick={}", "quick.quick.a=1", "quick.variation.b.a=1"] {
            assert!(problem(set).contains("which no other setting changes"), "{set}");
        }
    }

    #[test]
    fn what_versions_give_and_do_not_sweep_replaces_what_the_file_sweeps() {
        let text = "a = 1\nb.c = 2\nsweep.a = [1, 2]\nsweep.\"b.c\" = [3]\nquick.a = 4\n[variation.x]\nb.c = 5\nsweep.a = [6]\n[variation.y]\nsweep.b.c = [7]\n";
        let paths = |quick: bool, variation: Option<&str>, set: &[&str]| {
            let overrides: Vec<Override> = set.iter().map(|given| Override::set(given).unwrap()).collect();
            let document = Document::new("x.toml", text, &overrides);
            let document = if quick { document.quick() } else { document };
            let document = variation.map_or(document.clone(), |name| document.variation(name));
            let paths = document.tree().unwrap().1.into_iter();
            paths.map(|path| path.join(".")).filter(|path| path != "b").collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        assert_eq!(paths(false, None, &[]), none);
        assert_eq!(paths(true, None, &[]), ["a"]);
        // The variation sweeps what the quick version gives, and gives what the file sweeps.
        assert_eq!(paths(true, Some("x"), &[]), ["b.c"]);
        assert_eq!(paths(true, Some("y"), &[]), ["a"]);
        assert_eq!(paths(true, None, &["sweep.a=[8]"]), ["sweep.a"]);
        assert_eq!(paths(false, Some("x"), &["sweep={\"b.c\" = [8]}"]), ["sweep.b.c", "sweep"]);
    }

    #[test]
    fn a_variation_is_laid_over_the_quick_version() {
        let text = "a = 1\nb = 2\nc.d = 3\nquick.a = 4\nquick.b = 5\n[variation.deep]\nb = 6\nc = { e = [7, 8] }\n[variation.other]\n";
        let file = Document::new("x.toml", text, &[]);
        let table =
            |document: &Document| document.typed::<toml::Table>(document.tree().unwrap().0).unwrap().to_string();
        assert_eq!(file.variations(), ["deep", "other"]);
        assert_eq!(table(&file.variation("deep")), "a = 1\nb = 6\n\n[c]\nd = 3\ne = [7, 8]\n");
        assert_eq!(table(&file.quick().variation("deep")), "a = 4\nb = 6\n\n[c]\nd = 3\ne = [7, 8]\n");
        assert_eq!(table(&file.quick().variation("other")), table(&file.quick()));
        let settings = [("b", "6"), ("c.e", "[7, 8]")].map(|(path, value)| (path.to_owned(), value.to_owned()));
        assert_eq!(file.variation_settings("deep"), settings);
        let message = |text| Document::new("x.toml", text, &[]).variation("a").tree().unwrap_err().to_string();
        assert!(message("variation = 1").starts_with("x.toml:1:13: `variation` is a table of variations"));
        let unnamed = message("[variation]\nrun.messages = 4");
        assert!(unnamed.starts_with("x.toml:2:1: `run` is a setting, and each variation has a name"), "{unnamed}");
        // A name that is a setting's, too.
        assert!(Document::new("x.toml", "[variation.run]\nrun.messages = 4", &[]).tree().is_ok());
        assert!(message("variation.b = 1").starts_with("x.toml:1:15: the variation `b` is a table"));
        assert!(
            message("[variation.a]\nquick.c = 1").ends_with("a version of an experiment has no `quick` of its own")
        );
    }

    #[test]
    fn bad_overrides_name_the_argument() {
        let message = |text, set| overridden(text, &[set]).unwrap_err().to_string();
        assert_eq!(message("a = 1", "a.b=1"), "--set a.b=1: `a.b` names no setting: `a` is not a table");
        assert_eq!(message("", "a..b=1"), "--set a..b=1: `a..b` is not the dotted path of a setting");
        assert!(message("", "a=[1, 2").starts_with("--set a=[1, 2: "));
        assert!(Override::set("a").unwrap_err().to_string().starts_with("--set a: expected `key=value`"));
    }

    #[test]
    fn syntax_errors_have_a_line() {
        // Some begin with something in backticks, as messages about settings do.
        for text in ["a = 1_", "a = 1__000", "a = _5", "a = _b", "a = [1.0, _b\"]", "a = 0._5", "b = 1\na = { c = _b }"]
        {
            let error = Document::new("x.toml", text, &[]).tree().unwrap_err().to_string();
            assert!(error.starts_with(&format!("x.toml:{}:", text.lines().count())), "{error}");
        }
        let error = overridden("a = 1\nb = = 2\n", &[]).unwrap_err();
        assert_eq!(error.position().map(|(line, _)| line), Some(2));
    }

    #[test]
    fn places_are_those_of_values_and_tables() {
        let document = Document::new("x.toml", "[a]\nb = { c = 10 }\n", &[]);
        let (tree, _) = document.tree().unwrap();
        let text = |path| document.error(Document::place(&tree, path), "").span_text().unwrap().to_owned();
        assert_eq!(text("a.b.c"), "10");
        assert_eq!(text("a.b.missing"), "b");
        assert_eq!(text("missing"), "");
    }
}
