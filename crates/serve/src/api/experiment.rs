//! Experiment files of the folder.

use std::path::Path;

use axum::extract::State as Extracted;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use wormcast_lab::{Coordinate, Experiment, Override, plain_words};
use wormcast_network::input::is_standard_input;
use wormcast_network::text::{LONGEST_SHOWN, expected_name, shortened};

use super::{Body, Given, Shared, answer};
use crate::answer::{Json, Refusal};
use crate::folder::Folder;

/// The longest experiment file, in bytes.
const LONGEST: u64 = 1 << 20;

/// Reads an experiment whose files are all in the folder: neither it nor `set` names one elsewhere.
pub(super) fn read(
    folder: &Folder,
    file: &str,
    set: &serde_json::Map<String, serde_json::Value>,
    overrides: &[Override],
) -> Result<Experiment, Refusal> {
    let path = folder.file(file)?;
    let too_long = path.metadata().is_ok_and(|there| there.len() > LONGEST);
    if too_long {
        return Err(Refusal::BadInput(format!("`{file}` is no experiment file: it has more than {LONGEST} bytes")));
    }
    let bytes = std::fs::read(&path).map_err(|error| Refusal::BadInput(format!("cannot read `{file}`: {error}")))?;
    // What is no text is refused below, with the place.
    let text = String::from_utf8_lossy(&bytes);
    let beside = path.parent().unwrap_or(Path::new(""));
    let check = |text: &str| {
        let text = text.trim();
        let words = text.contains(char::is_whitespace) && !folder.root().join(beside).join(text).exists();
        if is_standard_input(text) || !words && folder.leads_outside(beside, text) {
            return Err(Refusal::BadInput(format!(
                "`{file}` names `{text}`, which is not in the folder that is served"
            )));
        }
        Ok(())
    };
    // A file that cannot be parsed is refused below, with the place.
    if let Ok(table) = text.parse::<toml::Table>() {
        table.values().try_for_each(|value| texts(value, &check))?;
    }
    for value in set.values() {
        let value = toml::Value::try_from(value).map_err(Refusal::bad_input)?;
        texts(&value, &check)?;
    }
    Experiment::read(&path, overrides).map_err(Refusal::bad_input)
}

/// Calls a function with all texts of a value.
fn texts(value: &toml::Value, check: &impl Fn(&str) -> Result<(), Refusal>) -> Result<(), Refusal> {
    match value {
        toml::Value::String(text) => check(text),
        toml::Value::Array(values) => values.iter().try_for_each(|value| texts(value, check)),
        toml::Value::Table(table) => table.values().try_for_each(|value| texts(value, check)),
        _ => Ok(()),
    }
}

/// The body of a request that changes something.
///
/// The fields are checked one by one first, so that what is wrong is said in the words of who asks.
pub(super) fn body<T: DeserializeOwned>(body: &Body, fields: &[Field]) -> Result<T, Refusal> {
    let bad = |problem: String| Refusal::BadInput(format!("the body of the request: {problem}"));
    let value: Value = serde_json::from_slice(&body.0)
        .map_err(|error| bad(format!("it is no JSON, from line {}, column {} on", error.line(), error.column())))?;
    let Value::Object(given) = &value else {
        let names = fields.iter().map(|field| format!("`{}`", field.name)).collect::<Vec<_>>().join(", ");
        return Err(bad(format!("expected an object with fields such as {names}, not {}", shown(&value))));
    };
    for name in given.keys() {
        if !fields.iter().any(|field| field.name == name) {
            let expected = expected_name(name, fields.iter().map(|field| field.name));
            return Err(bad(format!("there is no field `{name}`{expected}")));
        }
    }
    for Field { name, needed, takes } in fields {
        let value = given.get(*name).filter(|value| *needed || !value.is_null());
        let fits = match (value, takes) {
            (None, _) if *needed => return Err(bad(format!("expected the field `{name}`, {}", takes.text()))),
            (None, _) => true,
            (Some(value), Takes::Text) => value.is_string(),
            (Some(value), Takes::Whole(least, most)) => value.as_u64().is_some_and(|n| (*least..=*most).contains(&n)),
            (Some(value), Takes::Settings) => value.is_object(),
        };
        if let Some(value) = value.filter(|_| !fits) {
            return Err(bad(format!("`{name}` is {}; expected {}", shown(value), takes.text())));
        }
    }
    // Read again, as fields that are there twice are one in a value.
    serde_json::from_slice(&body.0).map_err(|error| {
        let text = error.to_string();
        let problem = text.strip_prefix("duplicate field ").and_then(|rest| rest.split_inclusive('`').nth(1));
        bad(match problem {
            Some(name) => format!("the field `{name} is there twice"),
            None => plain_words(&text).0,
        })
    })
}

/// A field of a body.
pub(super) struct Field {
    name: &'static str,
    /// Whether it may not be left out.
    needed: bool,
    takes: Takes,
}

impl Field {
    pub(super) const fn needed(name: &'static str, takes: Takes) -> Self {
        Self { name, needed: true, takes }
    }

    pub(super) const fn optional(name: &'static str, takes: Takes) -> Self {
        Self { name, needed: false, takes }
    }
}

/// What a field takes.
pub(super) enum Takes {
    Text,
    /// A whole number between these two.
    Whole(u64, u64),
    /// Settings of an experiment, by their dotted paths.
    Settings,
}

impl Takes {
    fn text(&self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Self::Settings => "an object of settings, such as `{ \"traffic.length\": 64 }`".to_owned(),
        }
    }
}

/// A value of a request, in a message.
fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => format!("`{}`", shortened(&other.to_string(), LONGEST_SHOWN)),
    }
}

#[derive(Serialize)]
struct Answer {
    title: String,
    axes: Vec<Axis>,
    points: Vec<PointEntry>,
    claims: Vec<String>,
    quantities: Vec<&'static str>,
    /// The text of the file.
    settings: String,
}

#[derive(Serialize)]
struct Axis {
    key: String,
    values: Vec<serde_json::Value>,
}

#[derive(Serialize)]
struct PointEntry {
    point: String,
    label: String,
    settings: Vec<Coordinate>,
    topology: String,
    algorithm: String,
}

pub(super) async fn get(Extracted(state): Extracted<Shared>, given: Given) -> Result<Json, Refusal> {
    given.only(&["file"], &[])?;
    answer(&state, move |state| {
        let experiment = read(&state.folder, given.need("file")?, &serde_json::Map::new(), &[])?;
        let points = experiment.points().map_err(Refusal::bad_input)?;
        let axis = |key: &str| {
            let mut values: Vec<serde_json::Value> = Vec::new();
            for value in points.iter().filter_map(|point| point.coordinate(key)).map(|at| &at.value) {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
            Axis { key: key.to_owned(), values }
        };
        let entry = |point: &wormcast_lab::Point| PointEntry {
            point: point.spec.config_hash(),
            label: point.label(),
            settings: point.coordinates.clone(),
            topology: point.spec.topology.clone(),
            algorithm: point.spec.algorithm.clone(),
        };
        Ok(Answer {
            title: experiment.title().to_owned(),
            axes: experiment.swept().into_iter().map(axis).collect(),
            points: points.iter().map(entry).collect(),
            claims: experiment.claim_ids(),
            quantities: experiment.quantities().into_iter().map(wormcast_lab::Quantity::name).collect(),
            settings: experiment.text().to_owned(),
        })
    })
    .await
}
