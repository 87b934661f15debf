//! The JSON Schema of experiment files.

use std::sync::LazyLock;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value as Json, json};
use wormcast_multicast::algorithms;
use wormcast_routing::{ROUTINGS, TREE_CONSTRUCTIONS, TreeDescriptor};

use crate::experiment::document::QUICK;
use crate::experiment::file::ExperimentFile;
use crate::experiment::file_name::MOST_BYTES;

/// Where definitions are.
const DEFINITIONS: &str = "#/$defs/";
/// How the name of a definition begins in which nothing is required.
const PARTIAL: &str = "Partial";
/// The definition of what `quick` and each `variation` are.
const VERSION: &str = "Version";
/// The tables of settings that are laid over the others.
const VERSIONS: [&str; 2] = ["quick", "variation"];

/// Names, each with what it stands for.
fn named<'a>(names: impl IntoIterator<Item = (&'a str, String)>) -> Schema {
    let each = names.into_iter().map(|(name, summary)| json!({ "const": name, "description": summary }));
    json_schema!({ "anyOf": each.collect::<Vec<Json>>() })
}

/// The algorithms, and the constructions of trees.
pub(crate) fn algorithm(_: &mut SchemaGenerator) -> Schema {
    let mut all: Vec<(&str, String)> =
        algorithms().into_iter().map(|algorithm| (algorithm.name, algorithm.summary.to_owned())).collect();
    for TreeDescriptor { name, summary, .. } in TREE_CONSTRUCTIONS.iter().copied() {
        let in_mode_trees = format!("in mode `trees`: {summary}");
        match all.iter_mut().find(|(other, _)| other == name) {
            Some((_, both)) => *both = format!("{both}; {in_mode_trees}"),
            None => all.push((name, in_mode_trees)),
        }
    }
    named(all)
}

/// The routings.
pub(crate) fn routing(_: &mut SchemaGenerator) -> Schema {
    let mut schema = named(ROUTINGS.iter().map(|routing| (routing.name, routing.summary.to_owned())));
    if let Some(forms) = schema.get_mut("anyOf").and_then(Json::as_array_mut) {
        forms.push(json!({
            "description": "A file of forwarding tables, for the algorithm `tables`.",
            "type": "object",
            "properties": { "tables": { "type": "string" } },
            "required": ["tables"],
            "additionalProperties": false
        }));
    }
    schema
}

/// The schema of all settings. Which tables there are, and their numbers, do not depend on the algorithms of the program.
static ROOT: LazyLock<Json> = LazyLock::new(|| schemars::schema_for!(ExperimentFile).to_value());

/// The names that a setting may be given, if it takes names.
pub(crate) fn names_of(key: &str) -> Vec<String> {
    let root = schemars::schema_for!(ExperimentFile).to_value();
    let place = schema_of(&root, key);
    let all = place["enum"].as_array().into_iter().chain(place["oneOf"].as_array()).flatten();
    all.filter_map(|value| value.as_str().or_else(|| value["const"].as_str())).map(str::to_owned).collect()
}

/// Whether a setting takes a name out of a list and nothing else.
pub(crate) fn takes_names_alone(key: &str) -> bool {
    let place = schema_of(&ROOT, key);
    let all = || place["enum"].as_array().into_iter().chain(place["oneOf"].as_array()).flatten();
    let is_name = |value: &Json| value.is_string() || value["const"].is_string() || value.is_null();
    all().next().is_some() && all().all(is_name)
}

/// The least and the most that a setting may be, as far as its schema says, if it takes nothing but whole numbers.
pub(crate) fn limits_of(key: &str) -> Option<(u64, Option<u64>)> {
    let place = schema_of(&ROOT, key);
    let kinds = place["type"].as_array().map_or_else(|| std::slice::from_ref(&place["type"]), Vec::as_slice);
    let whole = kinds.contains(&Json::from("integer")) && kinds.iter().all(|kind| kind == "integer" || kind == "null");
    whole.then(|| (place["minimum"].as_u64().unwrap_or(0), place["maximum"].as_u64()))
}

/// The keys of a setting that can be nothing but a table; none for other settings.
pub(crate) fn keys_of(key: &str) -> Vec<String> {
    let place = schema_of(&ROOT, key);
    let types = [&place["type"]].into_iter().chain(place["type"].as_array().into_iter().flatten());
    let types: Vec<&str> = types.filter_map(Json::as_str).filter(|&name| name != "null").collect();
    let keys = place["properties"].as_object().filter(|_| types == ["object"]);
    keys.into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

/// Whether a setting can be a table with this key, besides what else it can be.
pub(crate) fn may_have_key(setting: &str, key: &str) -> bool {
    fn has(place: &Json, key: &str, depth: u32) -> bool {
        let forms = ["anyOf", "oneOf"].into_iter().filter_map(|form| place[form].as_array()).flatten();
        place["properties"].get(key).is_some()
            || depth > 0 && forms.map(|form| resolved(&ROOT, form)).any(|form| has(form, key, depth - 1))
    }
    has(schema_of(&ROOT, setting), key, 3)
}

/// What a table may look like, for those who gave something else.
pub(crate) fn example_of(setting: &str) -> Option<String> {
    Some(match setting {
        "traffic.arrivals" => "{ process = \"poisson\", rate = 0.01 }".to_owned(),
        "timing" => "{ preset = \"paper-1\" }".to_owned(),
        _ => format!("{{ {} = … }}", keys_of(setting).first()?),
    })
}

/// The dotted path of the only setting with this name, if that is in a table.
pub(crate) fn place_of(name: &str) -> Option<String> {
    let mut found = Vec::new();
    // Settings are at most this deep, as `traffic.multicast.destinations`.
    let mut open: Vec<(String, &Json, u32)> = vec![(String::new(), &ROOT, 3)];
    while let Some((path, place, depth)) = open.pop() {
        for (key, inner) in place["properties"].as_object().into_iter().flatten() {
            let own = format!("{path}{key}");
            if key == name && depth < 3 {
                found.push(own.clone());
            }
            if depth > 1 {
                open.push((format!("{own}."), resolved(&ROOT, inner), depth - 1));
            }
        }
    }
    if found.len() == 1 { found.pop() } else { None }
}

/// Whether a setting of this name is in no table.
pub(crate) fn is_top_level(name: &str) -> bool {
    ROOT["properties"].get(name).is_some()
}

/// The schema of a setting in that of all settings, by its dotted path; null if there is none of this name.
fn schema_of<'s>(root: &'s Json, key: &str) -> &'s Json {
    key.split('.').fold(root, |place, name| {
        // Of a list of tables, as claims are, that of each.
        let table = if place["items"].is_object() { resolved(root, &place["items"]) } else { place };
        resolved(root, &table["properties"][name])
    })
}

/// What a schema refers to, by itself or as the first of several.
fn resolved<'s>(root: &'s Json, schema: &'s Json) -> &'s Json {
    let reference = schema["$ref"].as_str().or_else(|| schema["anyOf"][0]["$ref"].as_str());
    match reference.and_then(|reference| reference.strip_prefix("#/$defs/")) {
        Some(name) => &root["$defs"][name],
        None => schema,
    }
}

/// The JSON Schema of experiment files.
///
/// Settings that a table must have are required where the file has no sweep, which may give them, and never in versions of the
/// experiment, which are laid over the rest.
///
/// ```
/// let schema = wormcast_lab::schema();
/// assert_eq!(schema["title"], "wormcast experiment");
/// assert_eq!(schema["additionalProperties"], false);
/// ```
pub fn schema() -> Json {
    let mut root = schemars::schema_for!(ExperimentFile).to_value();
    let strict = root["properties"].as_object().cloned().unwrap_or_default();
    let definitions = root["$defs"].as_object().cloned().unwrap_or_default();

    let mut all = definitions.clone();
    for (name, definition) in &definitions {
        all.insert(format!("{PARTIAL}{name}"), partial(definition));
    }
    let settings: Map<String, Json> = strict
        .iter()
        .filter(|(name, _)| !VERSIONS.contains(&name.as_str()))
        .map(|(name, setting)| (name.clone(), partial(setting)))
        .collect();
    let version = json!({
        "description": "Settings that are laid over those of the experiment.",
        "type": "object",
        "properties": settings,
        "additionalProperties": false,
    });
    all.insert(VERSION.to_owned(), version);

    let mut properties = settings;
    // The sweep itself is complete.
    properties.extend(strict.get_key_value("sweep").map(|(name, sweep)| (name.clone(), sweep.clone())));
    let version = json!({ "$ref": format!("{DEFINITIONS}{VERSION}") });
    for (name, key, value) in
        [("quick", "$ref", version["$ref"].clone()), ("variation", "additionalProperties", version)]
    {
        let described = strict.get(name).map_or(Json::Null, |setting| setting["description"].clone());
        properties.insert(name.to_owned(), json!({ "description": described, "type": "object", key: value }));
    }
    // A part of the names of files, as the text says it; of `quick-NAME` a schema cannot say that NAME is there, too.
    properties["variation"]["propertyNames"] = json!({ "pattern": "^[^./\\\\\\x00-\\x1f][^/\\\\\\x00-\\x1f]*$", "maxLength": MOST_BYTES, "not": { "const": QUICK } });
    let required: Map<String, Json> = strict
        .into_iter()
        .filter(|(name, setting)| !VERSIONS.contains(&name.as_str()) && partial(setting) != *setting)
        .collect();
    root["properties"] = properties.into();
    root["if"] = json!({ "not": { "required": ["sweep"] } });
    root["then"] = json!({ "properties": required });
    root["$defs"] = all.into();
    root
}

/// A schema in which no setting is required. A list is replaced as a whole, so what is in it stays as it is.
fn partial(schema: &Json) -> Json {
    match schema {
        Json::Object(map) => {
            let entries =
                map.iter().filter(|(key, _)| *key != "required").map(|(key, value)| match (key.as_str(), value) {
                    ("$ref", Json::String(reference)) => {
                        (key.clone(), reference.replace(DEFINITIONS, &format!("{DEFINITIONS}{PARTIAL}")).into())
                    }
                    ("items" | "prefixItems" | "default" | "enum" | "const" | "propertyNames", _) => {
                        (key.clone(), value.clone())
                    }
                    // Without what is required, a table may be of several kinds.
                    ("oneOf", _) => ("anyOf".to_owned(), partial(value)),
                    // The names of settings are no words of the schema.
                    ("properties", Json::Object(settings)) => {
                        let settings: Map<String, Json> =
                            settings.iter().map(|(name, setting)| (name.clone(), partial(setting))).collect();
                        (key.clone(), settings.into())
                    }
                    _ => (key.clone(), partial(value)),
                });
            Json::Object(entries.collect())
        }
        Json::Array(items) => items.iter().map(partial).collect(),
        scalar => scalar.clone(),
    }
}
