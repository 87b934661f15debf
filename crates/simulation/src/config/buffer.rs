//! The setting for the depth of buffers: a number of flits, or room for any worm as a whole.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// What the buffer at the end of each channel holds, for each virtual channel: in a file, a number of flits or `"message"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// This number of flits.
    Flits(u32),
    /// Any worm as a whole, header and data.
    Message,
}

impl Buffer {
    /// Flits of a buffer that has room for any worm: more than one can have.
    pub const WHOLE: u32 = 1 << 30;

    /// Flits.
    pub fn flits(self) -> u32 {
        match self {
            Self::Flits(flits) => flits,
            Self::Message => Self::WHOLE,
        }
    }
}

impl From<u32> for Buffer {
    fn from(flits: u32) -> Self {
        Self::Flits(flits)
    }
}

impl Serialize for Buffer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Flits(flits) => serializer.serialize_u32(flits),
            Self::Message => serializer.serialize_str("message"),
        }
    }
}

impl<'de> Deserialize<'de> for Buffer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BufferVisitor;

        impl Visitor<'_> for BufferVisitor {
            type Value = Buffer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number of flits from 1 to {}, or \"message\"", crate::run::scenario::MAX_LENGTH)
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Buffer, E> {
                let flits = u32::try_from(value).map(Buffer::Flits);
                flits.map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Buffer, E> {
                let flits = u32::try_from(value).map(Buffer::Flits);
                flits.map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Buffer, E> {
                match value {
                    "message" => Ok(Buffer::Message),
                    _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
                }
            }
        }

        deserializer.deserialize_any(BufferVisitor)
    }
}

impl JsonSchema for Buffer {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Buffer".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A number of flits, or room for any worm as a whole.",
            "anyOf": [{ "type": "integer", "minimum": 1, "maximum": crate::run::scenario::MAX_LENGTH }, { "const": "message" }]
        })
    }
}
