//! A request for a plan, as JSON.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use super::FlitBits;
use crate::failure::Failure;
use crate::multicast::{self, AlgorithmOptions, Multicast, PortModel, Refused, left_out};
use crate::network::{Network, NodeError, NodeId, is_all_nodes, parse_node, parse_node_list};

/// One line of a batch.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "Nodes: Deserialize<'de>"))]
pub(super) struct Request<'a, Nodes = GivenNodes<'a>> {
    #[serde(borrow)]
    pub(super) topology: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) algorithm: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) routing: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "root")]
    pub(super) root: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "options")]
    pub(super) options: AlgorithmOptions,
    #[serde(borrow)]
    pub(super) source: GivenNode<'a>,
    pub(super) destinations: Nodes,
    #[serde(default, deserialize_with = "ports")]
    pub(super) ports: PortModel,
    #[serde(default)]
    pub(super) seed: Option<u64>,
    #[serde(default)]
    pub(super) flit_bits: Option<FlitBits>,
}

impl<'a> Request<'a> {
    /// Reads a line. Almost all lines list nodes by number, as digits, which are soon read; what is left of the line is then short. Only where that fails the whole of it is
    /// read with care, to say what is wrong, and where. `short` is memory.
    pub(super) fn read(line: &'a [u8], short: &'a mut Vec<u8>) -> serde_json::Result<Self> {
        // A list would be read by the order of fields.
        if line.trim_ascii_start().first() == Some(&b'[') {
            return Err(de::Error::invalid_type(de::Unexpected::Seq, &"struct Request"));
        }
        let Some(numbers) = without_list(line, short) else { return serde_json::from_slice(line) };
        let Ok(request) = serde_json::from_slice::<Request<IgnoredAny>>(short) else {
            return serde_json::from_slice(line);
        };
        Ok(Self {
            topology: request.topology,
            algorithm: request.algorithm,
            routing: request.routing,
            root: request.root,
            options: request.options,
            source: request.source,
            destinations: GivenNodes::Numbers(numbers),
            ports: request.ports,
            seed: request.seed,
            flit_bits: request.flit_bits,
        })
    }

    /// The algorithm that is asked for, with the names looked up.
    pub(super) fn wanted(&self) -> Result<multicast::Request, Refused> {
        let wanted = multicast::Request::new(&self.algorithm, self.routing.as_deref())?;
        Ok(multicast::Request {
            root: self.root.as_deref().map(str::to_owned),
            seed: self.seed.unwrap_or_default(),
            options: self.options.clone(),
            ..wanted
        })
    }

    /// What is to be sent to whom, and which nodes of the list that leaves out.
    pub(super) fn multicast(&self, network: &Network) -> Result<(Multicast, Option<String>), Failure> {
        let source = self.source.resolve(network).map_err(Failure::bad_input)?;
        let destinations = self.destinations.resolve(network).map_err(Failure::bad_input)?;
        if destinations.is_empty() {
            let message = "`destinations` is empty: expected nodes, as in `[1, 5]` or \"1,4;7,2\", or \"all\"";
            return Err(Failure::BadInput(message.to_owned()));
        }
        let multicast = Multicast::checked(source, &destinations).map_err(Failure::bad_input)?;
        let is_everyone = matches!(&self.destinations, GivenNodes::Text(text) if is_all_nodes(text));
        let complete = is_everyone || multicast.destinations().len() == destinations.len();
        let left_out = if complete { None } else { left_out(network, source, &destinations) };
        Ok((multicast, left_out))
    }
}

/// Options by their names, and not as a list in their order, which derived code would take.
fn options<'de, D: Deserializer<'de>>(deserializer: D) -> Result<AlgorithmOptions, D::Error> {
    struct Named;

    impl<'de> Visitor<'de> for Named {
        type Value = AlgorithmOptions;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("options by their names (such as `{\"detour\":4}`)")
        }

        fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<AlgorithmOptions, A::Error> {
            AlgorithmOptions::deserialize(de::value::MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_any(Named)
}

fn ports<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PortModel, D::Error> {
    struct Name;

    impl Visitor<'_> for Name {
        type Value = PortModel;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("`one` or `all`")
        }

        fn visit_str<E: de::Error>(self, name: &str) -> Result<PortModel, E> {
            match name {
                "one" => Ok(PortModel::One),
                "all" => Ok(PortModel::All),
                _ => Err(E::unknown_variant(name, &["one", "all"])),
            }
        }
    }

    deserializer.deserialize_any(Name)
}

/// A node: `28`, or text such as `"4,3"`.
pub(super) enum GivenNode<'a> {
    Number(u64),
    Text(Cow<'a, str>),
}

/// Nodes: an array of nodes, or text such as `"1,4;1,5"`.
pub(super) enum GivenNodes<'a> {
    Numbers(Vec<u64>),
    Each(Vec<GivenNode<'a>>),
    Text(Cow<'a, str>),
}

/// A root: a router's number, or text such as `"maximum-degree"`.
fn root<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'a, str>>, D::Error> {
    Ok(Option::<GivenNode>::deserialize(deserializer)?.map(|root| match root {
        GivenNode::Number(number) => Cow::Owned(number.to_string()),
        GivenNode::Text(text) => text,
    }))
}

/// The list of `destinations` in a line, if it has only numbers, and the line with a number in place of the list.
fn without_list(line: &[u8], short: &mut Vec<u8>) -> Option<Vec<u64>> {
    const KEY: &[u8] = b"\"destinations\"";
    let (head, list) = line.split_at(line.iter().position(|&byte| byte == b'[')? + 1);
    let before = head[..head.len() - 1].trim_ascii_end().strip_suffix(b":")?;
    let (numbers, tail) = read_numbers(list)?;
    short.clear();
    short.extend_from_slice(before);
    short.extend_from_slice(b":0");
    short.extend_from_slice(tail);
    // Nothing is escaped, so this is the only field of that name, wherever it is.
    let named = short.windows(KEY.len()).filter(|piece| *piece == KEY).count();
    (before.ends_with(KEY) && named == 1 && !short.contains(&b'\\')).then_some(numbers)
}

/// The numbers of up to eight digits up to the end of a list, and what is behind it.
fn read_numbers(mut list: &[u8]) -> Option<(Vec<u64>, &[u8])> {
    let mut numbers = Vec::with_capacity(list.len() / 4 + 1);
    loop {
        let (number, digits) = read_number(list);
        match list.get(digits) {
            // JSON has no zeros in front.
            Some(&end @ (b',' | b']')) if digits == 1 || (digits > 1 && list[0] != b'0') => {
                numbers.push(number);
                list = &list[digits + 1..];
                if end == b']' {
                    return Some((numbers, list));
                }
            }
            Some(b' ') if digits == 0 => list = &list[1..],
            _ => return None,
        }
    }
}

/// The number that a text begins with, and how many digits it has, up to eight, all at once: how many there are cannot be foreseen.
fn read_number(text: &[u8]) -> (u64, usize) {
    const EACH: u64 = u64::MAX / 0xFF;
    let word = text.first_chunk().copied().unwrap_or_else(|| {
        let mut word = [0; 8];
        word[..text.len()].copy_from_slice(text);
        word
    });
    // A digit becomes its value, everything else more than 9: the highest bits of bytes say which; behind the first that is no digit they may be wrong.
    let values = u64::from_le_bytes(word) ^ (EACH * u64::from(b'0'));
    let others = (values.wrapping_add(EACH * (0x7F - 9)) | values) & (EACH * 0x80);
    let digits = others.trailing_zeros() / 8;
    // The last digit in the highest byte, and zeros in front; then pairs, fours and all eight are put together.
    let values = values.checked_shl(64 - 8 * digits).unwrap_or(0);
    let pairs = (values.wrapping_mul(10) + (values >> 8)) & (EACH / 0x101 * 0xFF);
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF, digits as usize)
}

impl GivenNode<'_> {
    #[inline]
    fn resolve(&self, network: &Network) -> Result<NodeId, NodeError> {
        match self {
            Self::Number(number) if *number < network.nodes() as u64 => Ok(NodeId::new(*number as u32)),
            // Out of range: the parser says so.
            Self::Number(number) => parse_node(network, &number.to_string()),
            Self::Text(text) => parse_node(network, text),
        }
    }
}

impl GivenNodes<'_> {
    fn resolve(&self, network: &Network) -> Result<Vec<NodeId>, NodeError> {
        match self {
            Self::Numbers(nodes) if nodes.iter().all(|&node| node < network.nodes() as u64) => {
                Ok(nodes.iter().map(|&node| NodeId::new(node as u32)).collect())
            }
            Self::Numbers(nodes) => nodes.iter().map(|&node| GivenNode::Number(node).resolve(network)).collect(),
            Self::Each(nodes) => nodes.iter().map(|node| node.resolve(network)).collect(),
            Self::Text(text) => parse_node_list(network, text),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for GivenNode<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Node;

        impl<'de> Visitor<'de> for Node {
            type Value = GivenNode<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a node's number or text such as \"4,3\"")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
                Ok(GivenNode::Number(number))
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(GivenNode::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(GivenNode::Text(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_any(Node)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for GivenNodes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Nodes;

        impl<'de> Visitor<'de> for Nodes {
            type Value = GivenNodes<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of nodes or text such as \"1,4;1,5\"")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut nodes = Vec::new();
                while let Some(node) = items.next_element()? {
                    nodes.push(node);
                }
                Ok(GivenNodes::Each(nodes))
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(GivenNodes::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(GivenNodes::Text(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_any(Nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::TopologySpec;

    /// Digits at once are those one by one, whatever is behind them.
    #[test]
    fn numbers_are_read_at_once() {
        let numbers =
            [0, 1, 9, 10, 99, 100, 1023, 65_535, 99_999, 123_456, 1_000_000, 9_999_999, 12_345_678, 99_999_999];
        for number in numbers {
            for end in (0..=u8::MAX).filter(|end| !end.is_ascii_digit()) {
                for rest in [&b""[..], b"5", b"\xff\xff\xff\xff\xff\xff\xff", b"]}\n", b",12345678"] {
                    let digits = number.to_string();
                    let text = [digits.as_bytes(), &[end], rest].concat();
                    assert_eq!(read_number(&text), (number, digits.len()), "{text:?}");
                }
            }
        }
        assert_eq!(read_number(b""), (0, 0));
        assert_eq!(read_number(b"12"), (12, 2));
        // There may be more of them.
        assert_eq!(read_number(b"1234567890]").1, 8);
        assert_eq!(read_numbers(b"123456789]"), None);
        assert_eq!(read_numbers(b"12345678,7]}"), Some((vec![12_345_678, 7], &b"}"[..])));
    }

    /// Lines that are read in haste mean what they mean when they are read with care.
    #[test]
    fn lists_of_numbers_may_be_cut_out() {
        let network = "mesh:4x4".parse::<TopologySpec>().unwrap().build().unwrap();
        let lists = [
            "[3,5]",
            "[3, 5]",
            "[ 3,  15]",
            "[3,5 ]",
            "[3 5]",
            "[3,,5]",
            "[3,5,]",
            "[,3]",
            "[]",
            "[ ]",
            "[03]",
            "[0]",
            "[00]",
            "[1.0]",
            "[-1]",
            "[1e1]",
            "[\t3]",
            "[99]",
            "[12345678901]",
            "[\"1,1\"]",
            "[3,\"1,1\"]",
            "[[3]]",
            "[3",
            "[3}",
            "7",
            "\"all\"",
            "[3],\"destinations\":[5]",
            "[3],\"destin\\u0061tions\":[5]",
            "[3],\"seed\":1",
            "[3],\"other\":[5]",
            "[3],\"routing\":\"\\\"destinations\\\"\"",
            "[3],\"options\":{\"destinations\":[5]}",
            "[3],\"seed\":[5]",
            "[3]]",
        ];
        let heads = [
            "",
            "\"options\":{\"destinations\":[4]},",
            "\"routing\":\"[\",",
            "\"destin\\u0061tions\":[4],",
            "\"seed\":2,",
        ];
        let start = r#""topology":"mesh:4x4","algorithm":"dual-path","source":1"#;
        let (mut cut, mut read) = (0, 0);
        for list in lists {
            for head in heads {
                for line in [
                    format!("{{{head}{start},\"destinations\":{list}}}"),
                    format!("{{\"destinations\": {list},{head}{start}}}"),
                    format!("{{{start},\"options\":{{\"destinations\":{list}}}}}"),
                    format!("{{{start},\"a\\\"destinations\":{list}}}"),
                ] {
                    let mut short = Vec::new();
                    cut += usize::from(without_list(line.as_bytes(), &mut short).is_some());
                    let of = |request: serde_json::Result<Request>| {
                        let request = request.map_err(|error| error.to_string())?;
                        let sent = request.multicast(&network).map(|(multicast, _)| multicast).map_err(|_| ());
                        Ok::<_, String>((request.seed, request.routing.map(Cow::into_owned), sent))
                    };
                    let hasty = of(Request::read(line.as_bytes(), &mut short));
                    read += usize::from(hasty.is_ok());
                    assert_eq!(hasty, of(serde_json::from_slice(line.as_bytes())), "{line}");
                }
            }
        }
        assert!(cut > 40 && read > 40, "{cut} {read}");
    }
}
