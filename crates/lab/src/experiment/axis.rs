//! The settings that a sweep varies.

use std::ops::Range as Span;

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::document::{Document, Value, key_path, respan};
use crate::experiment::file::{Range, Scale};
use crate::experiment::schema::place_of;

/// The most values that an axis may have, and the most points of a sweep.
pub(crate) const MAX_POINTS: usize = 100_000;

/// What may be swept, or be the root of what is swept.
const SWEEPABLE: [&str; 12] = [
    "topology",
    "algorithm",
    "routing",
    "root",
    "options",
    "seed",
    "engine",
    "faults",
    "switching",
    "timing",
    "traffic",
    "run",
];

/// A setting that a sweep varies.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// The setting's dotted path.
    pub(crate) key: String,
    /// The dotted path in its parts.
    pub(crate) path: Vec<String>,
    /// Where the path is written.
    pub(crate) span: Span<usize>,
    /// Its values, in order.
    pub(crate) values: Vec<AxisValue>,
    /// Whether neighbouring values have the same ratio.
    pub(crate) log: bool,
    /// Whether the values are those of a range, and not of a list.
    pub(crate) is_range: bool,
}

/// A value of a swept setting.
#[derive(Clone, Debug)]
pub(crate) struct AxisValue {
    /// The value as TOML.
    text: String,
    /// The value as data.
    pub(crate) json: Json,
    /// Where it is written.
    span: Span<usize>,
}

impl AxisValue {
    fn new(document: &Document, value: Value<'_>) -> Result<Self, Diagnostic> {
        let span = value.span();
        let toml: toml::Value = document.typed_value(value.clone())?;
        let json: Json = document.typed_value(value)?;
        Ok(Self { text: toml.to_string(), json, span })
    }

    fn number(number: f64, whole: bool, span: &Span<usize>) -> Self {
        let (text, json) = if whole {
            // Once: what is run has to be what it is called.
            let number = number.round() as i64;
            (number.to_string(), Json::from(number))
        } else {
            // Debug keeps the point or exponent that makes it a float.
            (format!("{number:?}"), Json::from(number))
        };
        Self { text, json, span: span.clone() }
    }

    /// Another value of the same kind: between two whole numbers, a whole one.
    pub(crate) fn beside(&self, number: f64) -> Self {
        Self::number(number, self.json.is_i64() || self.json.is_u64(), &self.span)
    }

    /// Where it is written.
    pub(crate) fn span(&self) -> Span<usize> {
        self.span.clone()
    }

    /// The value as an argument of the command line gives it.
    pub(crate) fn plain(&self) -> String {
        self.json.as_str().map_or_else(|| self.text.clone(), str::to_owned)
    }

    /// The value for a document, at the place where it is written.
    pub(crate) fn value(&self) -> Result<Value<'_>, toml::de::Error> {
        Ok(respan(DeValue::parse(&self.text)?, &self.span))
    }
}

/// The axes of a `[sweep]` table, in its order.
pub(crate) fn axes(document: &Document, sweep: &Value<'_>) -> Result<Vec<Axis>, Diagnostic> {
    let DeValue::Table(table) = sweep.get_ref() else {
        return Err(document.error(sweep.span(), "expected a table of swept settings"));
    };
    let mut axes = Vec::new();
    collect(document, table, None, &mut axes)?;
    for (index, axis) in axes.iter().enumerate() {
        if axes[..index].iter().any(|other: &Axis| other.path == axis.path) {
            return Err(document.error(axis.span.clone(), format!("`{}` is swept twice", axis.key)));
        }
    }
    Ok(axes)
}

fn collect(
    document: &Document,
    table: &DeTable<'_>,
    prefix: Option<&str>,
    axes: &mut Vec<Axis>,
) -> Result<(), Diagnostic> {
    for (name, value) in table {
        let key = prefix.map_or_else(|| name.to_string(), |prefix| format!("{prefix}.{name}"));
        let error = |span, message: String| Err(document.error(span, message));
        let Some(path) = key_path(&key) else {
            return error(name.span(), format!("`{key}` is not the dotted path of a setting"));
        };
        let root = path[0].as_str();
        if !SWEEPABLE.contains(&root) {
            if ["title", "stop", "plot", "claim", "sweep"].contains(&root) {
                return error(name.span(), format!("`{root}` is no setting of a run and cannot be swept"));
            }
            let problem = document.error(name.span(), format!("`{key}` names no setting"));
            // `rate` or `arrivals.rate` for `traffic.arrivals.rate`.
            let meant = place_of(root).map(|place| [&[place], &path[1..]].concat().join("."));
            return Err(match meant {
                Some(meant) => problem.with_help(Some(format!("did you mean `{meant}`?"))),
                None => problem.expecting(root, SWEEPABLE),
            });
        }
        let axis = |values, spaced: Option<bool>| Axis {
            key: key.clone(),
            path: path.clone(),
            span: name.span(),
            values,
            log: spaced == Some(true),
            is_range: spaced.is_some(),
        };
        match value.get_ref() {
            DeValue::Array(items) if items.is_empty() => {
                return error(value.span(), format!("`{key}` has no values: the list is empty"));
            }
            DeValue::Array(items) => {
                let values =
                    items.iter().map(|item| AxisValue::new(document, item.clone())).collect::<Result<Vec<_>, _>>()?;
                for (index, value) in values.iter().enumerate() {
                    // Blanks round a name mean nothing.
                    let is_same = |other: &AxisValue| match (other.json.as_str(), value.json.as_str()) {
                        (Some(other), Some(text)) => other.trim() == text.trim(),
                        _ if other.json.is_number() && value.json.is_number() => {
                            other.json.as_f64() == value.json.as_f64()
                        }
                        // A root is the same as a number and as a text.
                        _ => other.json == value.json || path[0] == "root" && other.plain() == value.plain(),
                    };
                    if values[..index].iter().any(is_same) {
                        return error(value.span.clone(), format!("{} is listed twice", value.json));
                    }
                }
                axes.push(axis(values, None));
            }
            DeValue::Table(range) if ["from", "to", "points"].iter().any(|&name| range.contains_key(name)) => {
                let (values, log) = spaced(document, value, range)?;
                axes.push(axis(values, Some(log)));
            }
            // An unquoted path is a table in a table.
            DeValue::Table(inner) if !inner.is_empty() => {
                collect(document, inner, Some(&key), axes)?;
            }
            _ => {
                let message =
                    format!("the values of `{key}` are a list, or `{{ from = …, to = …, points = … }}` with numbers");
                return error(value.span(), message);
            }
        }
    }
    Ok(())
}

/// The values of a range.
fn spaced(document: &Document, value: &Value<'_>, table: &DeTable<'_>) -> Result<(Vec<AxisValue>, bool), Diagnostic> {
    let range: Range = document.typed_value(Spanned::new(value.span(), value.get_ref().clone()))?;
    let Range { from, to, points, scale } = range;
    let at = |name| table.get(name).map_or(value.span(), Spanned::span);
    let error = |name, message: &str| Err(document.error(at(name), message));
    if points == 0 {
        return error("points", "expected at least one point");
    }
    if points as usize > MAX_POINTS {
        return error("points", &format!("expected at most {MAX_POINTS} points"));
    }
    if !from.is_finite() {
        return error("from", "expected a finite number");
    }
    if !to.is_finite() {
        return error("to", "expected a finite number");
    }
    #[allow(clippy::float_cmp, reason = "the very same number twice is the mistake")]
    if points > 1 && from == to {
        return error("to", "expected another number than `from`");
    }
    #[allow(clippy::float_cmp, reason = "another number would be left out")]
    if points == 1 && from != to {
        return error(
            "points",
            "a range from one number to another has at least 2 points; one value is a list, as in `[1]`",
        );
    }
    let log = scale == Scale::Log;
    if log && (from <= 0.0 || to <= 0.0) {
        return error(if from <= 0.0 { "from" } else { "to" }, "a logarithmic scale needs positive numbers");
    }
    let numbers: Vec<f64> = (0..points)
        .map(|i| {
            let share = f64::from(i) / f64::from((points - 1).max(1));
            match i {
                0 => from,
                _ if i == points - 1 => to,
                _ if log => round(from * (to / from).powf(share)),
                _ => round(from + (to - from) * share),
            }
        })
        .collect();
    // Whole ends that divide evenly make whole numbers: settings that count need them.
    let written_whole = |name| table.get(name).is_some_and(|end: &Value<'_>| end.get_ref().is_integer());
    let whole = written_whole("from") && written_whole("to") && numbers.iter().all(|number| number.fract() == 0.0);
    Ok((numbers.iter().map(|&number| AxisValue::number(number, whole, &value.span())).collect(), log))
}

/// The number to ten significant digits, so that steps of a tenth are tenths.
fn round(number: f64) -> f64 {
    format!("{number:.9e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, Vec<String>)>, Diagnostic> {
        let document = Document::new("x.toml", text, &[]);
        let (tree, _) = document.tree()?;
        let axes = axes(&document, tree.get("sweep").unwrap())?;
        Ok(axes.into_iter().map(|axis| (axis.key, axis.values.into_iter().map(|value| value.text).collect())).collect())
    }

    #[test]
    fn lists_and_ranges_in_the_order_of_the_file() {
        let axes = read(
            "[sweep]\n\"traffic.arrivals.rate\" = { from = 0.1, to = 0.5, points = 5 }\nalgorithm = [\"b\", \"a\"]\n\
             switching.buffer = { from = 1, to = 9, points = 3 }\ntraffic.length = [8, { uniform = [1, 2] }]\nrun.messages = { from = 1, to = 1000, points = 4, scale = \"log\" }\n\
             timing.cycle_ns = { from = 1, to = 2, points = 3 }",
        )
        .unwrap();
        let expected = [
            ("traffic.arrivals.rate", vec!["0.1", "0.2", "0.3", "0.4", "0.5"]),
            ("algorithm", vec!["\"b\"", "\"a\""]),
            ("switching.buffer", vec!["1", "5", "9"]),
            ("traffic.length", vec!["8", "{ uniform = [1, 2] }"]),
            ("run.messages", vec!["1", "10", "100", "1000"]),
            ("timing.cycle_ns", vec!["1.0", "1.5", "2.0"]),
        ];
        assert_eq!(axes.len(), expected.len());
        for ((key, values), (expected_key, expected_values)) in axes.iter().zip(&expected) {
            assert_eq!(
                (key.as_str(), values.iter().map(String::as_str).collect::<Vec<_>>()),
                (*expected_key, expected_values.clone())
            );
        }
    }

    #[test]
    fn bad_axes_are_pointed_at() {
        for (text, at, message) in [
            ("algorithm = []", "[]", "`algorithm` has no values: the list is empty"),
            (
                "algorithm = 3",
                "3",
                "the values of `algorithm` are a list, or `{ from = …, to = …, points = … }` with numbers",
            ),
            ("algorithm = ['a', 'a']", "'a'", "\"a\" is listed twice"),
            ("root = [5, '5']", "'5'", "\"5\" is listed twice"),
            ("topology = ['mesh:4x4', 'mesh:4x4 ']", "'mesh:4x4 '", "\"mesh:4x4 \" is listed twice"),
            ("trafic.length = [1]", "trafic", "`trafic` names no setting"),
            ("title = ['a']", "title", "`title` is no setting of a run and cannot be swept"),
            ("seed = { from = 1, to = 2, points = 0 }", "0", "expected at least one point"),
            ("seed = { from = 1, to = 2, points = -1 }", "-1", "number `-1`, expected a whole number"),
            ("seed = { from = 1, to = inf, points = 2 }", "inf", "expected a finite number"),
            ("seed = { from = 1, to = 1, points = 2 }", "1", "expected another number than `from`"),
            (
                "seed = { from = 2, to = 9, points = 1 }",
                "1",
                "a range from one number to another has at least 2 points",
            ),
            (
                "seed = { from = 0, to = 1, points = 2, scale = 'log' }",
                "0",
                "a logarithmic scale needs positive numbers",
            ),
            ("seed = { from = 0, to = 1, points = 2, scale = 'lag' }", "'lag'", "unknown value `lag`"),
            ("seed = { from = 0, to = 1, points = 4000000000 }", "4000000000", "expected at most"),
            ("seed = { from = 0, to = 1, point = 4 }", "point", "unknown setting `point`"),
            ("seed = { from = 0, to = 1 }", "{ from = 0, to = 1 }", "missing setting `points`"),
            ("seed = [1]\nseed.x = [1]", "seed", ""),
        ] {
            let error = read(&format!("[sweep]\n{text}\n")).unwrap_err();
            assert_eq!(error.span_text(), Some(at), "{error}");
            assert!(error.message().starts_with(message), "{error}");
        }
    }
}
