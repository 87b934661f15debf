//! When a run ends, and what of it is measured.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// When a run ends and what of it is measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Run {
    /// How it ends; a trace or a single burst is finite by default, everything else steady.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Steady: cycles before the first measured message is generated; or the messages that come before it, `{ messages = 10000 }`; or
    /// `"auto"`: half as many messages as are measured (none with traffic that comes to an end).
    pub warmup: Warmup,
    /// Steady: messages measured after warm-up. Finite: messages delivered until the run ends. Drain: messages generated, all of which are
    /// measured. Of a trace or a single burst, finite and drained runs take all messages by default; otherwise the default is 20 messages a
    /// node, but 2,000 to 100,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Drain: cycles in which messages are generated, in the place of `messages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Cycles after which a run is given up as saturated. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cycles: Option<u64>,
}

impl Default for Run {
    fn default() -> Self {
        Self { mode: None, warmup: Warmup::Auto, messages: None, until: None, max_cycles: None }
    }
}

/// How a run ends, and what of it is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Warm-up, measured messages, then arrivals go on until those are delivered.
    Steady,
    /// From an empty network until a number of messages is delivered; those that are still in flight are not measured.
    Finite,
    /// From an empty network until a number of messages is generated, or for some cycles; then arrivals stop, and all are delivered and measured.
    Drain,
}

/// How the warm-up is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Warmup {
    /// Half as many messages as are measured.
    Auto,
    /// A number of cycles.
    Cycles(u64),
    /// A number of messages: those of the run that are generated first.
    Messages(u64),
}

/// The form of a warm-up that is counted in messages.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MessagesForm {
    messages: u64,
}

impl Serialize for Warmup {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Cycles(cycles) => serializer.serialize_u64(*cycles),
            Self::Messages(messages) => MessagesForm { messages: *messages }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Warmup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WarmupVisitor;

        impl<'de> Visitor<'de> for WarmupVisitor {
            type Value = Warmup;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of cycles, or \"auto\", or `{ messages = … }`")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Warmup, E> {
                u64::try_from(value)
                    .map(Warmup::Cycles)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Warmup, E> {
                Ok(Warmup::Cycles(value))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Warmup, E> {
                match value {
                    "auto" => Ok(Warmup::Auto),
                    _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
                }
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Warmup, A::Error> {
                let form = MessagesForm::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(Warmup::Messages(form.messages))
            }
        }

        deserializer.deserialize_any(WarmupVisitor)
    }
}

impl JsonSchema for Warmup {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Warmup".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A number of cycles, or of messages, or \"auto\".",
            "oneOf": [
                { "type": "integer", "minimum": 0 },
                { "const": "auto" },
                {
                    "type": "object",
                    "properties": {
                        "messages": {
                            "description": "The messages that are generated first and not measured.",
                            "type": "integer",
                            "minimum": 0
                        }
                    },
                    "required": ["messages"],
                    "additionalProperties": false
                }
            ]
        })
    }
}
