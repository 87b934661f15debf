//! Settings as types, and what is wrong with them in words about the file.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};
use wormcast_network::text::is_a_letter_off;

use crate::experiment::diagnostic::{Diagnostic, plain_words};
use crate::experiment::document::Document;
use crate::experiment::document::overrides::{Override, SWEEP, applied};
use crate::experiment::document::tree::{Tree, Value};
use crate::experiment::schema::{
    is_top_level, keys_of, limits_of, may_have_key, names_of, place_of, takes_names_alone,
};

impl Document {
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
    pub(super) fn syntax_error(&self, error: &toml::de::Error) -> Diagnostic {
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

/// Whether a table is the long form of a name, `{ NAME = {} }` or `{ NAME = [] }`.
fn is_wrapped_name(table: &Tree<'_>) -> bool {
    let is_empty = |value: &Value<'_>| match value.get_ref() {
        DeValue::Table(inner) => inner.is_empty(),
        DeValue::Array(inner) => inner.is_empty(),
        _ => false,
    };
    table.len() == 1 && table.values().all(is_empty)
}
