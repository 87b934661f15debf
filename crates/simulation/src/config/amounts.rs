//! Numbers that are fixed or drawn: how many destinations, how long a message.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::run::scenario::MAX_LENGTH;

/// A whole number, or a uniform distribution over a range of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// The smallest value.
    pub least: u32,
    /// The largest value.
    pub most: u32,
}

impl Count {
    /// Always the same.
    pub const fn fixed(value: u32) -> Self {
        Self { least: value, most: value }
    }

    /// The mean.
    pub fn mean(self) -> f64 {
        f64::midpoint(f64::from(self.least), f64::from(self.most))
    }

    /// The range with these ends.
    fn between<E: de::Error>(ends: &[u32]) -> Result<Self, E> {
        let &[least, most] = ends else { return Err(E::invalid_length(ends.len(), &"two numbers")) };
        if least > most {
            return Err(E::custom(format!("uniform range [{least}, {most}] is empty: the least comes first")));
        }
        Ok(Self { least, most })
    }
}

impl Serialize for Count {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        if self.least == self.most {
            return serializer.serialize_u32(self.least);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("uniform", &[self.least, self.most])?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;

        impl<'de> Visitor<'de> for CountVisitor {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, or `{ uniform = [least, most] }`")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Count, E> {
                u32::try_from(value)
                    .map(Count::fixed)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Count, E> {
                u32::try_from(value)
                    .map(Count::fixed)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Count, A::Error> {
                let key: Option<String> = map.next_key()?;
                if key.as_deref() != Some("uniform") {
                    let given = key.unwrap_or_default();
                    return Err(de::Error::unknown_field(&given, &["uniform"]));
                }
                // A list of another length would be cut to a pair of numbers.
                let ends: Vec<u32> = map.next_value()?;
                if let Some(extra) = map.next_key::<String>()? {
                    return Err(de::Error::unknown_field(&extra, &["uniform"]));
                }
                Count::between(&ends)
            }
        }

        deserializer.deserialize_any(CountVisitor)
    }
}

impl JsonSchema for Count {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A whole number, or a uniform distribution over a range of them.",
            "oneOf": [
                { "type": "integer", "minimum": 1 },
                {
                    "type": "object",
                    "properties": {
                        "uniform": {
                            "type": "array",
                            "items": { "type": "integer", "minimum": 1 },
                            "minItems": 2,
                            "maxItems": 2
                        }
                    },
                    "required": ["uniform"],
                    "additionalProperties": false
                }
            ]
        })
    }
}

/// How many destinations a multicast has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destinations {
    /// This number.
    Count(Count),
    /// All nodes but the source: a broadcast.
    All,
    /// The other members of a group, of which the algorithm has to know some.
    Group,
}

impl From<Count> for Destinations {
    fn from(count: Count) -> Self {
        Self::Count(count)
    }
}

impl Serialize for Destinations {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => count.serialize(serializer),
            Self::All => serializer.serialize_str("all"),
            Self::Group => serializer.serialize_str("group"),
        }
    }
}

impl<'de> Deserialize<'de> for Destinations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DestinationsVisitor;

        impl<'de> Visitor<'de> for DestinationsVisitor {
            type Value = Destinations;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, `{ uniform = [least, most] }`, \"all\", or \"group\"")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Destinations, E> {
                let count = u32::try_from(value).map(Count::fixed);
                count.map(Destinations::Count).map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Destinations, E> {
                let count = u32::try_from(value).map(Count::fixed);
                count.map(Destinations::Count).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Destinations, E> {
                match value {
                    "all" => Ok(Destinations::All),
                    "group" => Ok(Destinations::Group),
                    _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Destinations, A::Error> {
                Count::deserialize(de::value::MapAccessDeserializer::new(map)).map(Destinations::Count)
            }
        }

        deserializer.deserialize_any(DestinationsVisitor)
    }
}

impl JsonSchema for Destinations {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Destinations".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let count = generator.subschema_for::<Count>();
        schemars::json_schema!({
            "description": "A number of destinations, all nodes but the source, or the other members of a group.",
            "anyOf": [count, { "const": "all" }, { "const": "group" }]
        })
    }
}

/// The length of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// In data flits.
    Flits(Count),
    /// In bytes: as many flits as they take, the last one perhaps not full.
    Bytes(Count),
}

impl Length {
    /// The shortest and the longest, in the unit that is given.
    pub fn range(self) -> Count {
        let (Self::Flits(range) | Self::Bytes(range)) = self;
        range
    }

    /// The data flits of a message of this length in the unit that is given, for flits of `flit_bytes` bytes.
    pub fn flits(self, length: u32, flit_bytes: u32) -> u32 {
        match self {
            Self::Flits(_) => length,
            Self::Bytes(_) => length.div_ceil(flit_bytes),
        }
    }

    /// The mean in flits of so many bytes each, the last one of a message perhaps not full.
    pub(crate) fn mean_flits(self, flit_bytes: u32) -> f64 {
        let Self::Bytes(Count { least, most }) = self else { return self.range().mean() };
        // The flits of 1 to `bytes` bytes together: a flit's worth of each number of full ones, and the rest.
        let up_to = |bytes: u32| {
            let (full, rest) = (u64::from(bytes / flit_bytes), u64::from(bytes % flit_bytes));
            (u64::from(flit_bytes) * full * (full + 1) / 2 + rest * (full + 1)) as f64
        };
        (up_to(most) - up_to(least.saturating_sub(1))) / (f64::from(most - least) + 1.0)
    }
}

impl From<Count> for Length {
    fn from(flits: Count) -> Self {
        Self::Flits(flits)
    }
}

impl Serialize for Length {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        match self {
            Self::Flits(flits) => flits.serialize(serializer),
            Self::Bytes(bytes) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("bytes", bytes)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LengthVisitor;

        impl<'de> Visitor<'de> for LengthVisitor {
            type Value = Length;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a whole number of flits, `{ uniform = [least, most] }`, or `{ bytes = … }` with one of the two",
                )
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Length, E> {
                u64::try_from(value)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
                    .and_then(|value| self.visit_u64(value))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Length, E> {
                let flits = u32::try_from(value).map(Count::fixed);
                let beyond = |_| E::custom(format!("{value} is out of range: expected 1 to {MAX_LENGTH} flits"));
                flits.map(Length::Flits).map_err(beyond)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Length, A::Error> {
                const KEYS: &[&str] = &["uniform", "bytes"];
                let key: String = map.next_key()?.unwrap_or_default();
                let length = match key.as_str() {
                    "bytes" => Length::Bytes(map.next_value()?),
                    "uniform" => Length::Flits(Count::between(&map.next_value::<Vec<u32>>()?)?),
                    _ => return Err(de::Error::unknown_field(&key, KEYS)),
                };
                match map.next_key::<String>()? {
                    Some(extra) if KEYS.contains(&extra.as_str()) => Err(de::Error::custom(
                        "expected either `uniform` or `bytes`; `{ bytes = { uniform = … } }` is both",
                    )),
                    Some(extra) => Err(de::Error::unknown_field(&extra, KEYS)),
                    None => Ok(length),
                }
            }
        }

        deserializer.deserialize_any(LengthVisitor)
    }
}

impl JsonSchema for Length {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Length".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let count = generator.subschema_for::<Count>();
        schemars::json_schema!({
            "description": "The length of messages: data flits, or bytes.",
            "anyOf": [
                count,
                {
                    "type": "object",
                    "properties": { "bytes": count },
                    "required": ["bytes"],
                    "additionalProperties": false
                }
            ]
        })
    }
}
