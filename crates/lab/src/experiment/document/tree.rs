//! The tables of a file and the paths of settings in them.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::document::Document;
use crate::experiment::schema::{example_of, may_have_key};

/// A table whose keys and values know where they come from.
pub(crate) type Tree<'a> = DeTable<'a>;

/// A value that knows where it comes from.
pub(crate) type Value<'a> = Spanned<DeValue<'a>>;

impl Document {
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

/// Removes the setting at a path, if there is one.
pub(super) fn remove(tree: &mut Tree<'_>, path: &[String]) {
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
pub(super) fn within(value: &DeValue<'_>, path: &[String], paths: &mut Vec<Vec<String>>) {
    let DeValue::Table(table) = value else { return };
    for (key, value) in table {
        let inner = [path, &[key.get_ref().to_string()]].concat();
        within(value.get_ref(), &inner, paths);
        paths.push(inner);
    }
}

/// Adds the texts in a value that stand at a key of this name; `at_key` says whether the value itself does.
pub(super) fn texts_in(value: &DeValue<'_>, at_key: bool, key: &str, found: &mut Vec<String>) {
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
