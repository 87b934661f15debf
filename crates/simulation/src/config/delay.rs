//! The setting for the delay of links: cycles for all of them, or for each class of links.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wormcast_network::{ChannelId, MAX_LINK_DELAY, Network};

/// The most classes of links that delays can be given for.
const MOST_CLASSES: usize = 8;

/// The cycles that a flit takes over a link (rules 21 to 25 of docs/model.md): in a file, a number, or a list with one for each
/// [class of links](Network::link_classes).
///
/// ```
/// use wormcast_simulation::LinkDelay;
///
/// let delay: LinkDelay = serde_json::from_str("[1, 4]")?;
/// assert_eq!((delay, serde_json::from_str::<LinkDelay>("3")?), (LinkDelay::of_classes(&[1, 4]).unwrap(), LinkDelay::all(3)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkDelay {
    /// How many of them are given; 0: none is, so all links take one cycle.
    given: u8,
    /// Whether they are a list, with one for each class of links.
    listed: bool,
    /// Whether the network's file says them.
    of_file: bool,
    cycles: [u16; MOST_CLASSES],
}

impl LinkDelay {
    /// The same for all links, up to [`MAX_LINK_DELAY`].
    pub fn all(cycles: u32) -> Self {
        let mut all = Self { given: 1, ..Self::default() };
        all.cycles[0] = cycles.min(u32::from(u16::MAX)) as u16;
        all
    }

    /// Of each class of links; `None` if they are none or more than 8.
    pub fn of_classes(cycles: &[u32]) -> Option<Self> {
        let mut all = Self { given: u8::try_from(cycles.len()).ok()?, listed: true, ..Self::default() };
        for (place, &cycles) in cycles.iter().enumerate() {
            *all.cycles.get_mut(place)? = cycles.min(u32::from(u16::MAX)) as u16;
        }
        (all.given > 0).then_some(all)
    }

    /// What holds on a network: this, or else what its file says.
    #[must_use]
    pub fn on(self, network: &Network) -> Self {
        if self.given == 0 { Self { of_file: network.has_link_delays(), ..self } } else { self }
    }

    /// The numbers as they are given.
    pub fn cycles(&self) -> &[u16] {
        &self.cycles[..usize::from(self.given)]
    }

    /// Whether every link is known to take one cycle.
    pub fn is_one(&self) -> bool {
        !self.of_file && self.cycles().iter().all(|&cycles| cycles == 1)
    }

    /// That of a channel between routers.
    pub fn of(&self, network: &Network, channel: ChannelId) -> u32 {
        match *self.cycles() {
            [] if self.of_file => network.link_delay(channel).unwrap_or(1),
            [] => 1,
            [all] => u32::from(all),
            ref classes => u32::from(classes[network.link_class(channel)]),
        }
    }

    /// What is wrong with these delays on a network.
    pub(crate) fn problem(&self, network: &Network) -> Option<String> {
        let beyond = |&&cycles: &&u16| cycles == 0 || u32::from(cycles) > MAX_LINK_DELAY;
        if let Some(cycles) = self.cycles().iter().find(beyond) {
            return Some(format!("{cycles} is out of range: expected 1 to {MAX_LINK_DELAY} cycles"));
        }
        let classes = network.link_classes();
        (self.listed && usize::from(self.given) != classes).then(|| {
            let numbers = if classes == 1 { "a number".to_owned() } else { format!("a number, or {classes}") };
            let given = if self.given == 1 {
                "a list of 1 number does".to_owned()
            } else {
                format!("{} numbers do", self.given)
            };
            format!("{given} not fit {}: expected {numbers}, {}", network.name(), network.link_classes_are())
        })
    }
}

impl fmt::Debug for LinkDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.of_file { f.write_str("of the file") } else { self.cycles().fmt(f) }
    }
}

impl Serialize for LinkDelay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.cycles() {
            &[all] => serializer.serialize_u16(all),
            classes => serializer.collect_seq(classes),
        }
    }
}

impl<'de> Deserialize<'de> for LinkDelay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DelayVisitor;

        /// Cycles in the range of the type; what is beyond the limit is told with the other settings.
        fn cycles<E: de::Error>(value: u64) -> Result<u32, E> {
            match u32::try_from(value) {
                Ok(cycles) if (1..=MAX_LINK_DELAY).contains(&cycles) => Ok(cycles),
                _ => Err(E::custom(format!("{value} is out of range: expected 1 to {MAX_LINK_DELAY} cycles"))),
            }
        }

        impl<'de> Visitor<'de> for DelayVisitor {
            type Value = LinkDelay;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    "a whole number of cycles from 1 to {MAX_LINK_DELAY}, or a list of them, one for each class of links"
                )
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<LinkDelay, E> {
                let value = u64::try_from(value).map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))?;
                self.visit_u64(value)
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<LinkDelay, E> {
                cycles(value).map(LinkDelay::all)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<LinkDelay, A::Error> {
                let mut all = Vec::new();
                while let Some(value) = list.next_element::<u64>()? {
                    all.push(cycles(value)?);
                    if all.len() > MOST_CLASSES {
                        return Err(de::Error::custom(format!(
                            "delays are given for at most {MOST_CLASSES} classes of links"
                        )));
                    }
                }
                LinkDelay::of_classes(&all).ok_or_else(|| de::Error::invalid_length(0, &self))
            }
        }

        deserializer.deserialize_any(DelayVisitor)
    }
}

impl JsonSchema for LinkDelay {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LinkDelay".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let cycles = serde_json::json!({ "type": "integer", "minimum": 1, "maximum": MAX_LINK_DELAY });
        schemars::json_schema!({
            "description": "Cycles that a flit takes over a link: a number, or one for each class of links.",
            "anyOf": [cycles, { "type": "array", "items": cycles, "minItems": 1, "maxItems": MOST_CLASSES }]
        })
    }
}

/// By channel between routers, the cycles beyond the first that a flit takes over it.
#[derive(Clone, Default)]
pub(crate) struct Lags {
    /// Empty if there are none.
    lags: Box<[u32]>,
    most: u32,
}

impl Lags {
    pub(crate) fn new(delay: LinkDelay, network: &Network) -> Self {
        if delay.is_one() {
            return Self::default();
        }
        let lags: Box<[u32]> = network.channel_ids().map(|channel| delay.of(network, channel) - 1).collect();
        let most = lags.iter().copied().max().unwrap_or(0);
        Self { lags, most }
    }

    /// That of a channel; 0 for those of nodes.
    #[inline]
    pub(crate) fn of(&self, channel: u32) -> u32 {
        self.lags.get(channel as usize).copied().unwrap_or(0)
    }

    /// Whether there are none, and this is known without a look at any.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.lags.is_empty()
    }

    /// The longest.
    pub(crate) fn most(&self) -> u32 {
        self.most
    }
}
