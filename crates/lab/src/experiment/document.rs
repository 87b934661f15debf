//! An experiment file as text with overrides, and the position of each setting in it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue, ValueDeserializer};
use wormcast_network::text::is_a_letter_off;

use crate::experiment::diagnostic::{Diagnostic, plain_words};
use crate::experiment::file_name::not_a_variation;
use crate::experiment::schema::{
    example_of, is_top_level, keys_of, limits_of, may_have_key, names_of, place_of, takes_names_alone,
};
use crate::experiment::with::WITH;

/// A table whose keys and values know where they come from.
pub(crate) type Tree<'a> = DeTable<'a>;
/// A value that knows where it comes from.
pub(crate) type Value<'a> = Spanned<DeValue<'a>>;

/// A setting given beside the file, as `--set key=value` does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Override {
    argument: String,
    key: String,
    value: String,
}

impl Override {
    /// Whether it gives what only a version of the experiment has.
    pub(crate) fn is_of_a_version(&self) -> bool {
        let root = Document::parts(&self.key).and_then(|path| path.into_iter().next());
        root.is_some_and(|root| [QUICK, VARIATION, "open"].contains(&root.as_str()))
    }

    /// From the argument of `--set`: `key=value`, where the key is a dotted path and the value is as in the file; quotes around a
    /// string may be left out.
    ///
    /// # Errors
    /// If there is no `=`.
    pub fn set(assignment: &str) -> Result<Self, Diagnostic> {
        let argument = format!("--set {assignment}");
        match assignment.split_once('=') {
            Some((key, value)) => Ok(Self { argument, key: key.trim().to_owned(), value: value.trim().to_owned() }),
            None => {
                Err(Diagnostic::argument("", &argument, "expected `key=value`, as in `traffic.arrivals.rate=0.004`"))
            }
        }
    }

    /// Those without effect: the last of several `--set` of one setting counts, whether it gives a value or sweeps it, and a table replaces what was set in it
    /// before. Each is named, with what replaces it. `quick` says whether the quick version is asked for.
    ///
    /// # Errors
    /// If another option and a `--set` contradict each other, naming both; and if one is for a quick version that is not asked for.
    pub fn check(all: &[Self], quick: bool) -> Result<Vec<String>, Diagnostic> {
        let path = |given: &Self| applied(Document::parts(&given.key)?, quick);
        let unread = |given: &&Self| Document::parts(&given.key).is_some_and(|path| applied(path, quick).is_none());
        if let Some(given) = all.iter().find(unread) {
            let message = "`quick` is a version of the file that is not asked for: add `--quick`";
            let help = "or set what it sets, as in `run.messages=500`".to_owned();
            return Err(Diagnostic::argument("", &given.argument, message).with_help(Some(help)));
        }
        let mut replaced = Vec::new();
        for (index, later) in all.iter().enumerate() {
            let (Some(of_later), value) = (path(later), &later.value) else { continue };
            let drops = |earlier: &&Self| {
                let Some(of_earlier) = path(earlier) else { return false };
                match [&of_earlier, &of_later].map(|path| swept(path)) {
                    // One sweeps what the other gives.
                    [Some(one), None] => gives(&of_later, value, one),
                    [None, Some(other)] => of_earlier == other,
                    _ => {
                        of_earlier.starts_with(&of_later)
                            && (of_earlier.len() > of_later.len() || earlier.value != *value)
                    }
                }
            };
            for earlier in all[..index].iter().filter(drops) {
                if !later.argument.starts_with("--set ") {
                    let message = format!("contradicts `{}`: give one of the two", earlier.argument);
                    return Err(Diagnostic::argument("", &later.argument, message));
                }
                replaced.push(format!("{}: replaced by `{}`", earlier.argument, later.argument));
            }
        }
        Ok(replaced)
    }

    /// Whether it is about the sweep, which a single run does not look at.
    pub fn is_of_a_sweep(&self) -> bool {
        let path = Document::parts(&self.key).and_then(|path| applied(path, true));
        path.is_some_and(|path| path.first().is_some_and(|root| root == SWEEP))
    }

    /// From a setting's dotted path and a value as TOML.
    pub(crate) fn of(key: &str, value: &str) -> Self {
        Self { argument: format!("{key} = {value}"), key: key.to_owned(), value: value.to_owned() }
    }

    /// From another option of the command line that stands for a setting, as `--seed 7` does for `seed`. Errors name it.
    pub fn option(option: &str, key: &str, value: &str) -> Self {
        Self { argument: format!("{option} {}", value.trim_matches('"')), key: key.to_owned(), value: value.to_owned() }
    }
}

/// The table of a file with the settings of its quick version.
pub(crate) const QUICK: &str = "quick";
/// The table of a file with its variations, each a table of settings.
const VARIATION: &str = "variation";

/// The table of a file with the settings that are swept.
const SWEEP: &str = "sweep";

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
    fn apply_versions(&self, tree: &mut Tree<'_>) -> Result<Vec<Vec<String>>, Diagnostic> {
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

    /// Sets the setting at a dotted path, making tables on the way; `span` is where the path was written.
    pub(crate) fn put<'a>(
        &self,
        tree: &mut Tree<'a>,
        path: &[String],
        span: &Range<usize>,
        value: Value<'a>,
    ) -> Result<(), Diagnostic> {
        let Some((last, parents)) = path.split_last() else { return Ok(()) };
        let mut table = tree;
        for (depth, name) in parents.iter().enumerate() {
            if !table.contains_key(name.as_str()) {
                let empty = Spanned::new(span.clone(), DeValue::Table(DeTable::new()));
                table.insert(Spanned::new(span.clone(), Cow::Owned(name.clone())), empty);
            }
            let place = table.get(name.as_str()).map(Spanned::span);
            // What is wrong with a table on one line, a part of which is set beside the file, is a matter of that part.
            let is_override = span.start > self.text.len();
            if is_override
                && place.clone().and_then(|place| self.text.get(place)).is_some_and(|text| text.starts_with('{'))
            {
                let mut entries: Vec<(Spanned<DeString<'a>>, Value<'a>)> = std::mem::take(table).into_iter().collect();
                for (key, value) in entries.iter_mut().filter(|(key, _)| **key.get_ref() == *name) {
                    let whole = std::mem::replace(value.get_mut(), DeValue::Boolean(false));
                    (*key, *value) =
                        (Spanned::new(span.clone(), Cow::Owned(name.clone())), Spanned::new(span.clone(), whole));
                }
                table.extend(entries);
            }
            let Some(DeValue::Table(inner)) = table.get_mut(name.as_str()).map(Spanned::get_mut) else {
                let parent = path[..=depth].join(".");
                let whole = path.join(".");
                if let (Some(place), Some(example)) = (place.clone(), example_of(&parent)) {
                    // Who sets something in a table is right.
                    let message = format!("`{parent}` is not a table: expected one, such as `{parent} = {example}`");
                    return Err(self.error(place, message));
                }
                if !may_have_key(&parent, &path[depth + 1]) {
                    let message = format!("`{whole}` names no setting: `{parent}` is not a table");
                    return Err(self.error(span.clone(), message));
                }
                let is_override = |span: &Range<usize>| span.start > self.text.len();
                if let Some(place) = place.filter(|place| is_override(place) && !is_override(span)) {
                    let message = format!("this gives all of `{parent}`, of which the file sweeps `{whole}`");
                    let help = format!(
                        "give only parts of it, or sweep something else in its place, as by `--set 'sweep.{parent}=[…]'`"
                    );
                    return Err(self.error(place, message).with_help(Some(help)));
                }
                let inner = path[depth + 1..].join(".");
                let message = format!("`{whole}` is a part of `{parent}`, which is given as a whole");
                let help = format!("replace that: `{parent} = {{ {inner} = … }}`");
                return Err(self.error(span.clone(), message).with_help(Some(help)));
            };
            table = inner;
        }
        // The new key must carry the new place, and keep its position.
        let mut key = Some(Spanned::new(span.clone(), Cow::Owned(last.clone())));
        let mut value = Some(value);
        let mut entries: Vec<(Spanned<DeString<'a>>, Value<'a>)> = std::mem::take(table).into_iter().collect();
        for entry in &mut entries {
            if **entry.0.get_ref() == *last
                && let (Some(key), Some(value)) = (key.take(), value.take())
            {
                *entry = (key, value);
            }
        }
        entries.extend(key.zip(value));
        table.extend(entries);
        Ok(())
    }

    /// Where the setting at a dotted path is: its value, or its key if it is a table, or the nearest table around it. Items of lists
    /// are numbered from 0.
    pub(crate) fn place(tree: &Tree<'_>, path: &str) -> Range<usize> {
        let mut place = 0..0;
        let mut table = tree;
        let mut names = path.split('.');
        while let Some((key, mut value)) = names.next().and_then(|name| table.get_key_value(name)) {
            place = key.span();
            while let DeValue::Array(items) = value.get_ref() {
                place = value.span();
                let Some(item) = names.next().and_then(|index| items.get(index.parse::<usize>().ok()?)) else {
                    return place;
                };
                (value, place) = (item, item.span());
            }
            match value.get_ref() {
                DeValue::Table(inner) => table = inner,
                _ => return value.span(),
            }
        }
        place
    }

    /// The setting at this path.
    pub(crate) fn at<'v, 't>(tree: &'v Tree<'t>, path: &[String]) -> Option<&'v Value<'t>> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(tree.get(first.as_str())?, |value, name| value.get_ref().get(name.as_str()))
    }

    /// Whether there is a setting at this path.
    pub(crate) fn has(tree: &Tree<'_>, path: &[String]) -> bool {
        Self::at(tree, path).is_some()
    }

    /// The settings as a type.
    pub(crate) fn typed<T: DeserializeOwned>(&self, tree: Tree<'_>) -> Result<T, Diagnostic> {
        // A place for what is missing at the top: the first line.
        let place = Spanned::new(0..0, DeValue::Table(tree));
        T::deserialize(ValueDeserializer::from(place)).map_err(|error| {
            let problem = self.serde_error(&error);
            if error.message().contains("wanted string or table")
                && let Some(span) = error.span()
                && let Some(key) = self.setting_at(&span)
            {
                let names: Vec<String> = names_of(&key).iter().map(|name| format!("`\"{name}\"`")).collect();
                if !names.is_empty() {
                    return self.error(span, format!("expected one of {}", names.join(", ")));
                }
            }
            let missing = error.message().strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
            let (Some(name), Some(span)) = (missing, error.span()) else { return problem };
            let table = self.table_at(&span).filter(|table| table.split('.').next() != Some(SWEEP));
            let swept = || self.swept_into(&span, name);
            let Some((table, span)) = table.map(|table| (table, span.clone())).or_else(swept) else { return problem };
            let key = format!("{table}.{name}");
            let names = names_of(&key);
            let expected =
                if names.is_empty() { String::new() } else { format!(": expected one of {}", names.join(", ")) };
            self.error(span, format!("missing setting `{key}`{expected}"))
        })
    }

    /// The table for this setting that is there only because a part of it is swept, and what is to blame for what it lacks: an override that
    /// gives all of what it is in, or the sweep.
    fn swept_into(&self, axis: &Range<usize>, setting: &str) -> Option<(String, Range<usize>)> {
        let key = match axis.start.checked_sub(self.text.len() + 1) {
            Some(index) => &self.overrides.get(index)?.key,
            None => self.text.get(axis.clone())?,
        };
        let mut path = applied(Self::parts(key)?, self.quick)?;
        if path.first().is_some_and(|root| root == SWEEP) {
            path.remove(0);
        }
        let table =
            (1..path.len()).rev().map(|length| path[..length].join(".")).find(|table| may_have_key(table, setting))?;
        let gives_all = |given: &Override| {
            let of = Self::parts(&given.key).and_then(|of| applied(of, self.quick));
            of.is_some_and(|of| of.len() < path.len() && path.starts_with(&of))
        };
        let given = self.overrides.iter().rposition(gives_all).map(|index| self.text.len() + 1 + index);
        Some((table, given.map_or_else(|| axis.clone(), |place| place..place)))
    }

    /// Refuses what would be read as something else: lists in place of tables, as values in the order of the keys, and tables in
    /// place of names, `{ NAME = {} }`, as the name.
    pub(crate) fn check_tables(&self, tree: &Tree<'_>) -> Result<(), Diagnostic> {
        self.check_tables_below(tree, "", false)
    }

    /// `listed`: the table is one of a list, whose settings may be lists or tables.
    fn check_tables_below(&self, tree: &Tree<'_>, path: &str, listed: bool) -> Result<(), Diagnostic> {
        for (name, value) in tree {
            let key = format!("{path}{}", name.get_ref());
            match value.get_ref() {
                // The schema takes long to build, so only tables of this form ask for it.
                DeValue::Table(inner) if is_wrapped_name(inner) && takes_names_alone(&key) => {
                    let expected = names_of(&key);
                    let message = format!("`{key}` is a table: expected one of {}", expected.join(", "));
                    return Err(self.error(value.span(), message));
                }
                DeValue::Table(inner) => self.check_tables_below(inner, &format!("{key}."), listed)?,
                DeValue::Array(items) => {
                    for table in items.iter().filter_map(|item| item.get_ref().as_table()) {
                        self.check_tables_below(table, &format!("{key}."), true)?;
                    }
                    let keys = if listed { Vec::new() } else { keys_of(&key) };
                    let Some(first) = keys.first() else { continue };
                    let expected = format!("expected a table, such as `{key} = {{ {first} = … }}`, with any of");
                    let message = format!("`{key}` is a list: {expected} {}", keys.join(", "));
                    return Err(self.error(value.span(), message));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// One value as a type.
    pub(crate) fn typed_value<T: DeserializeOwned>(&self, value: Value<'_>) -> Result<T, Diagnostic> {
        T::deserialize(ValueDeserializer::from(value)).map_err(|error| self.serde_error(&error))
    }

    /// An error at a span that came from this document.
    pub(crate) fn error(&self, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        match span.start.checked_sub(self.text.len() + 1).and_then(|index| self.overrides.get(index)) {
            Some(given) => Diagnostic::argument(&self.path, &given.argument, message),
            None => Diagnostic::text(&self.path, &self.text, span, message),
        }
    }

    /// Where the setting is that a message about the table at a place begins with.
    fn named_in(&self, place: &Range<usize>, message: &str) -> Option<Range<usize>> {
        let (key, _) = message.strip_prefix('`')?.split_once('`')?;
        let path = format!("{}.{key}", self.table_at(place)?);
        let tree = self.tree().ok()?.0;
        Self::has(&tree, &path.split('.').map(str::to_owned).collect::<Vec<_>>()).then(|| Self::place(&tree, &path))
    }

    /// The dotted path of the innermost table at a place.
    fn table_at(&self, place: &Range<usize>) -> Option<String> {
        self.path_at(place, |value| matches!(value, DeValue::Table(_)))
    }

    /// The dotted path of the setting that has its value at a place.
    fn setting_at(&self, place: &Range<usize>) -> Option<String> {
        self.path_at(place, |value| !matches!(value, DeValue::Table(_)))
    }

    fn path_at(&self, place: &Range<usize>, wanted: fn(&DeValue<'_>) -> bool) -> Option<String> {
        fn search(
            tree: &Tree<'_>,
            place: &Range<usize>,
            wanted: fn(&DeValue<'_>) -> bool,
            path: &str,
        ) -> Option<String> {
            tree.iter().find_map(|(name, value)| {
                let path = format!("{path}{}", name.get_ref());
                let inner = match value.get_ref() {
                    DeValue::Table(inner) => search(inner, place, wanted, &format!("{path}.")),
                    _ => None,
                };
                inner.or_else(|| (value.span() == *place && wanted(value.get_ref())).then_some(path))
            })
        }
        search(&self.tree().ok()?.0, place, wanted, "")
    }

    /// What is no TOML; of all slips, a decimal comma leads to the most puzzling messages.
    fn syntax_error(&self, error: &toml::de::Error) -> Diagnostic {
        // There is no tree to look for settings in.
        let problem = self.in_plain_words(error, |_, _| None);
        let at = error.span().map_or(0, |span| span.start.min(self.text.len()));
        let line = self.text.bytes().take(at).filter(|&byte| byte == b'\n').count();
        let line = self.text.lines().nth(line).unwrap_or_default().as_bytes();
        let digit = |at: usize| line.get(at).is_some_and(u8::is_ascii_digit);
        let comma = (1..line.len()).any(|at| line[at] == b',' && digit(at - 1) && digit(at + 1));
        // In a list, commas stand between numbers; those that start with two digits of which the first is 0 are none.
        let leading_zero =
            |at: usize| line[at] == b',' && digit(at - 1) && line.get(at + 1) == Some(&b'0') && digit(at + 2);
        let comma = if line.contains(&b'[') { (1..line.len()).any(leading_zero) } else { comma };
        let help = "numbers have a decimal point, as in `0.01`, and no comma".to_owned();
        if comma { problem.with_help(Some(help)) } else { problem }
    }

    /// A value that is none of those that its setting takes.
    fn serde_error(&self, error: &toml::de::Error) -> Diagnostic {
        if let Some(span) = error.span().filter(|span| self.is_date(span)) {
            return self.error(span, "no setting takes a date or a time; text needs quotes");
        }
        let problem = self.in_plain_words(error, |span, message| self.named_in(span, message));
        let limits = error.span().and_then(|span| limits_of(&self.setting_at(&span)?));
        match limits {
            Some((least, Some(most))) => {
                problem.with_expected("expected a whole number", &format!(" from {least} to {most}"))
            }
            Some((least @ 1.., None)) => {
                problem.with_expected("expected a whole number", &format!(", at least {least}"))
            }
            _ => problem,
        }
    }

    /// Whether a date or a time stands there.
    fn is_date(&self, span: &Range<usize>) -> bool {
        let given = span.start.checked_sub(self.text.len() + 1).and_then(|index| self.overrides.get(index));
        let text = given.map_or_else(|| self.text.get(span.clone()), |given| Some(given.value.as_str()));
        text.is_some_and(|text| text.trim().parse::<toml::value::Datetime>().is_ok())
    }

    /// An error of the parser; `named` says where the setting is that its message begins with.
    fn in_plain_words(
        &self,
        error: &toml::de::Error,
        named: impl FnOnce(&Range<usize>, &str) -> Option<Range<usize>>,
    ) -> Diagnostic {
        let (message, help) = plain_words(error.message());
        let unknown = message.strip_prefix("unknown setting `").and_then(|rest| rest.split('`').next());
        let near = help.as_deref().and_then(|help| help.split('`').nth(1));
        let is_slip = unknown.zip(near).is_some_and(|(unknown, near)| is_a_letter_off(unknown, near));
        let elsewhere = unknown.filter(|name| !is_slip && name.len() > 1).and_then(|name| match place_of(name) {
            Some(place) => Some(format!("did you mean `{place}`?")),
            None if name.contains('.') => Some(format!("outside of `[sweep]` paths have no quotes: `{name} = …`")),
            None => is_top_level(name).then(|| format!("`{name}` stands before the first table")),
        });
        let help = elsewhere.or(help);
        match error.span() {
            Some(span) => {
                let message = self.number_as_given(&span, message);
                self.error(named(&span, &message).unwrap_or(span), message)
            }
            None => Diagnostic::file(&self.path, message),
        }
        .with_help(help)
    }

    /// A message about a number that should be a whole one, with `1e2` where that is what was given: its reader says `100.0`.
    fn number_as_given(&self, place: &Range<usize>, message: String) -> String {
        let Some((_, rest)) = message.strip_prefix("number `").and_then(|rest| rest.split_once("` with a point or"))
        else {
            return message;
        };
        let given = match place.start.checked_sub(self.text.len() + 1) {
            Some(index) => self.overrides.get(index).map(|given| given.value.as_str()),
            None => self.text.get(place.clone()),
        };
        let given = given.map(str::trim).filter(|given| given.parse::<f64>().is_ok());
        given.map_or_else(|| message.clone(), |given| format!("number `{given}` with a point or{rest}"))
    }
}

/// Puts settings over those of a table: tables are merged, everything else is replaced.
pub(crate) fn merge<'a>(base: &mut Tree<'a>, over: Tree<'a>) {
    for (key, value) in over {
        let span = value.span();
        let Some(old) = base.get_mut(key.get_ref().as_ref()) else {
            base.insert(key, value);
            continue;
        };
        match (old.get_mut(), value.into_inner()) {
            (DeValue::Table(base), DeValue::Table(over)) => merge(base, over),
            // What replaces a setting stands elsewhere.
            (_, new) => *old = Spanned::new(span, new),
        }
    }
}

/// Whether a table is the long form of a name, `{ NAME = {} }` or `{ NAME = [] }`.
fn is_wrapped_name(table: &Tree<'_>) -> bool {
    let is_empty = |value: &Value<'_>| match value.get_ref() {
        DeValue::Table(inner) => inner.is_empty(),
        DeValue::Array(inner) => inner.is_empty(),
        _ => false,
    };
    table.len() == 1 && table.values().all(is_empty)
}

/// The setting that an override gives, by its path: what is for the quick version, as `quick.run.messages`, gives `run.messages` there and
/// nothing elsewhere.
fn applied(mut path: Vec<String>, quick: bool) -> Option<Vec<String>> {
    if path.len() > 1 && path[0] == QUICK {
        path.remove(0);
        return quick.then_some(path);
    }
    Some(path)
}

/// Settings that say the same in two ways, of which an experiment has one.
const SAME: [&str; 2] = ["traffic.arrivals.rate", "traffic.arrivals.load"];

/// The other of two settings that say the same, for one that is given or swept at a path.
fn rival(path: &[String]) -> Option<Vec<String>> {
    let given = setting_of(path).join(".");
    let index = SAME.iter().position(|setting| *setting == given)?;
    key_path(SAME[1 - index])
}

/// Whether a value at a path makes messages come in bursts, which have neither rate nor load.
fn makes_bursts(value: &DeValue<'_>, path: &[String]) -> bool {
    const PROCESS: [&str; 3] = ["traffic", "arrivals", "process"];
    let Some(rest) = PROCESS.get(path.len()..).filter(|_| path.iter().zip(PROCESS).all(|(part, name)| part == name))
    else {
        return false;
    };
    let found = rest.iter().try_fold(value, |value, name| Some(value.as_table()?.get(*name)?.get_ref()));
    found.and_then(DeValue::as_str).is_some_and(|process| process == "burst")
}

/// The setting that a path gives or sweeps, without quotes around what is swept.
fn setting_of(path: &[String]) -> Vec<String> {
    swept(path).unwrap_or(path).iter().flat_map(|part| key_path(part).unwrap_or_default()).collect()
}

/// Removes the setting at a path, if there is one.
fn remove(tree: &mut Tree<'_>, path: &[String]) {
    match path {
        [last] => _ = tree.remove(last.as_str()),
        [first, rest @ ..] => {
            if let Some(DeValue::Table(inner)) = tree.get_mut(first.as_str()).map(Spanned::get_mut) {
                remove(inner, rest);
            }
        }
        [] => {}
    }
}

/// The paths of what is in a value, if it is a table.
fn within(value: &DeValue<'_>, path: &[String], paths: &mut Vec<Vec<String>>) {
    let DeValue::Table(table) = value else { return };
    for (key, value) in table {
        let inner = [path, &[key.get_ref().to_string()]].concat();
        within(value.get_ref(), &inner, paths);
        paths.push(inner);
    }
}

/// The setting that a path of the table of swept settings is about.
fn swept(path: &[String]) -> Option<&[String]> {
    path.split_first().filter(|(first, rest)| *first == SWEEP && !rest.is_empty()).map(|(_, rest)| rest)
}

/// Adds the texts in a value that stand at a key of this name; `at_key` says whether the value itself does.
fn texts_in(value: &DeValue<'_>, at_key: bool, key: &str, found: &mut Vec<String>) {
    match value {
        DeValue::String(text) if at_key => found.push(text.to_string()),
        DeValue::Array(values) => values.iter().for_each(|value| texts_in(value.get_ref(), at_key, key, found)),
        DeValue::Table(table) => {
            for (name, value) in table {
                texts_in(value.get_ref(), at_key || name.get_ref() == key, key, found);
            }
        }
        _ => {}
    }
}

/// Whether a value at a path gives a setting or sweeps it, by itself or in a table.
fn gives(path: &[String], value: &str, setting: &[String]) -> bool {
    let mut paths = vec![path.to_vec()];
    if let Ok(value) = DeValue::parse(value) {
        within(value.get_ref(), path, &mut paths);
    }
    paths.iter().any(|path| setting_of(path) == setting)
}

/// Drops the paths that a sweep, or what is at `path` of it, has values for.
fn unless_swept(paths: &mut Vec<Vec<String>>, sweep: &DeValue<'_>, path: &[String]) {
    paths.retain(|given| given != path);
    let DeValue::Table(table) = sweep else { return };
    for (name, value) in table {
        let inner = [path, &key_path(name.get_ref()).unwrap_or_default()].concat();
        unless_swept(paths, value.get_ref(), &inner);
    }
}

/// The path of a setting as the file has it. A swept setting may be a key in quotes, `"traffic.length"`, or a table in a table, and
/// means the same: what replaces it must not stand beside it.
fn as_swept(tree: &Tree<'_>, path: Vec<String>) -> Vec<String> {
    let [sweep, rest @ ..] = &path[..] else { return path };
    let Some(DeValue::Table(table)) = tree.get(sweep.as_str()).map(Spanned::get_ref).filter(|_| sweep == SWEEP) else {
        return path;
    };
    let parts: Option<Vec<Vec<String>>> = rest.iter().map(|name| key_path(name)).collect();
    match parts.and_then(|parts| written(table, &parts.concat())) {
        Some(found) => [vec![SWEEP.to_owned()], found].concat(),
        None => path,
    }
}

/// The keys, one in the other, that together are these parts of a dotted path.
fn written(table: &Tree<'_>, parts: &[String]) -> Option<Vec<String>> {
    table.iter().find_map(|(name, value)| {
        let rest = parts.strip_prefix(&key_path(name.get_ref())?[..])?;
        let inner = match value.get_ref() {
            _ if rest.is_empty() => Vec::new(),
            DeValue::Table(inner) => written(inner, rest)?,
            _ => return None,
        };
        Some([vec![name.get_ref().to_string()], inner].concat())
    })
}

/// The parts of a dotted key, quoted where TOML wants quotes.
pub(crate) fn key_path(key: &str) -> Option<Vec<String>> {
    let line = format!("{key} = 0");
    let mut table = DeTable::parse(&line).ok()?.into_inner();
    let mut path = Vec::new();
    loop {
        let mut entries = std::mem::take(&mut table).into_iter();
        let (key, value) = entries.next()?;
        if entries.next().is_some() {
            return None;
        }
        path.push(key.into_inner().into_owned());
        match value.into_inner() {
            DeValue::Table(inner) => table = inner,
            DeValue::Integer(_) => return Some(path),
            _ => return None,
        }
    }
}

/// The value with every span replaced.
pub(crate) fn respan<'a>(value: Value<'a>, span: &Range<usize>) -> Value<'a> {
    let inner = match value.into_inner() {
        DeValue::Array(items) => {
            DeValue::Array(items.into_iter().map(|item| respan(item, span)).collect::<DeArray<'a>>())
        }
        DeValue::Table(table) => DeValue::Table(
            table
                .into_iter()
                .map(|(key, value)| (Spanned::new(span.clone(), key.into_inner()), respan(value, span)))
                .collect(),
        ),
        scalar => scalar,
    };
    Spanned::new(span.clone(), inner)
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
