//! Reads GraphML; [`drawing`](crate::drawing) writes it, with positions.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::vertices::{self, At, Attributes, Edge, Vertices, coordinate};
use super::{FileContext, line_ends};
use crate::error::TopologyError;
use crate::network::Network;
use crate::text::{expected_name, is_in_xml, shortened};

const EXPECTED: &str = "GraphML with one graph of `node` and `edge` elements";
/// How deep elements may be nested.
const MAX_DEPTH: usize = 64;

/// A name with a character that no XML can have.
pub(super) fn inexpressible(network: &Network) -> Option<String> {
    let routers = network.router_ids().filter_map(|router| network.router_name(router));
    let mut names = routers.chain(network.node_ids().filter_map(|node| network.node_name(node)));
    let name = names.find(|name| !name.chars().all(is_in_xml))?;
    Some(format!("the character {:?} of the name {name:?}", name.chars().find(|&c| !is_in_xml(c))?))
}

/// Reads the graph of a GraphML file: see `Vertices::build` for what it means. Names are the vertices' `label`, or `name`.
pub(super) fn parse(path: &str, text: &str) -> Result<Arc<Network>, TopologyError> {
    let file = FileContext { path, expected: EXPECTED };
    let mut reader = Reader::from_str(text);
    let mut document = Document::default();
    let (mut line, mut counted) = (1, 0);
    loop {
        let event = reader.read_event();
        let position = match &event {
            Err(_) => reader.error_position(),
            Ok(_) => reader.buffer_position(),
        };
        let position = (position as usize).min(text.len());
        // The line on which the event ends: of a tag, the line of its `>`.
        if position > counted {
            line += line_ends(&text.as_bytes()[counted..position]);
            counted = position;
        }
        let event = event.map_err(|error| file.error(line, format!("the XML is broken: {error}")))?;
        let done = document.take(&event, line).map_err(|problem| file.error(line, problem))?;
        if done {
            break;
        }
    }
    if !document.seen_graph {
        return Err(file.error(line, "there is no graph"));
    }
    document.vertices.build(file, line)
}

/// What a `data` element belongs to.
enum Open {
    Vertex { id: String, label: Option<String>, name: Option<String>, is_node: bool, at: At, line: usize },
    Edge(Edge),
}

impl Open {
    /// Takes the value of an attribute, if it is one that matters.
    fn set(&mut self, about: &str, whole: &str) -> Result<(), String> {
        let text = whole.trim();
        // Blanks belong to a name, unless they come with the line breaks of an indented file.
        let named = if whole.contains(['\n', '\r']) { text } else { whole };
        match self {
            Self::Vertex { label, name, is_node, at, .. } => match about {
                "latitude" | "Latitude" => at.latitude = coordinate(about, text)?,
                "longitude" | "Longitude" => at.longitude = coordinate(about, text)?,
                "x" => at.x = coordinate(about, text)?,
                "y" => at.y = coordinate(about, text)?,
                "label" => *label = Some(named.to_owned()),
                "name" => *name = Some(named.to_owned()),
                "kind" => *is_node = vertices::is_node(text)?,
                _ => {}
            },
            Self::Edge(edge) => {
                let wrong = |expected: &str| format!("`{about}` is `{text}`: expected {expected}");
                let port = match about {
                    "source_port" => &mut edge.ports[0],
                    "target_port" => &mut edge.ports[1],
                    vertices::DELAY => {
                        edge.delay = Some(text.parse().map_err(|_| wrong(vertices::CYCLES))?);
                        return Ok(());
                    }
                    _ => return Ok(()),
                };
                *port = Some(text.parse().map_err(|_| wrong(vertices::PORT_NUMBER))?);
            }
        }
        Ok(())
    }
}

/// A key, with the value of its attribute where an element does not say it.
#[derive(Clone)]
struct Key {
    about: String,
    /// `node`, `edge`, or `all`.
    domain: String,
    value: String,
}

#[derive(Default)]
struct Document {
    /// What `data` elements are about, by their key.
    keys: HashMap<String, String>,
    /// The key that is being read.
    key: Option<Key>,
    defaults: Vec<Key>,
    /// The attributes that the open element has itself.
    said: Vec<String>,
    vertices: Vertices,
    seen_graph: bool,
    directed: bool,
    /// The local names of the open elements.
    path: Vec<Vec<u8>>,
    open: Option<Open>,
    /// The attribute that is being read, and its text so far.
    data: Option<(String, String)>,
}

impl Document {
    /// Takes an event; returns whether it was the last.
    fn take(&mut self, event: &Event<'_>, line: usize) -> Result<bool, String> {
        match event {
            Event::Start(tag) => {
                if self.path.len() == MAX_DEPTH {
                    return Err(format!("elements are nested deeper than {MAX_DEPTH}"));
                }
                self.begin(tag, line)?;
                self.path.push(tag.local_name().as_ref().to_vec());
            }
            Event::Empty(tag) => {
                self.begin(tag, line)?;
                self.end(tag.local_name().as_ref())?;
            }
            Event::End(tag) => {
                self.path.pop();
                self.end(tag.local_name().as_ref())?;
            }
            Event::Text(text) => {
                if let Some((_, data)) = &mut self.data {
                    data.push_str(&text.decode().map_err(|error| error.to_string())?);
                }
            }
            Event::CData(text) => {
                if let Some((_, data)) = &mut self.data {
                    data.push_str(&text.decode().map_err(|error| error.to_string())?);
                }
            }
            Event::GeneralRef(reference) => {
                if let Some((_, data)) = &mut self.data {
                    let name = reference.decode().map_err(|error| error.to_string())?;
                    let known = quick_xml::escape::unescape(&format!("&{name};")).map(Cow::into_owned);
                    data.push_str(&known.map_err(|_| format!("the entity `&{name};` is not known"))?);
                }
            }
            Event::Eof if self.path.is_empty() => return Ok(true),
            Event::Eof => {
                let open = self.path.last().map(|name| String::from_utf8_lossy(name).into_owned());
                return Err(format!("the file ends inside of `{}`", open.unwrap_or_default()));
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
        Ok(false)
    }

    fn begin(&mut self, tag: &BytesStart<'_>, line: usize) -> Result<(), String> {
        let name = tag.local_name();
        let name = name.as_ref();
        if self.path.is_empty() && name != b"graphml" {
            return Err(format!("found `{}` where `graphml` should be", String::from_utf8_lossy(name)));
        }
        match name {
            b"key" => {
                let about = attribute(tag, "attr.name")?.unwrap_or_default();
                let domain = attribute(tag, "for")?.unwrap_or_default();
                if matches!(domain.as_str(), "node" | "edge" | "all" | "")
                    && let Some(id) = attribute(tag, "id")?
                {
                    let known = if about.is_empty() { id.clone() } else { about.clone() };
                    self.key = Some(Key { about: known, domain, value: String::new() });
                    self.keys.insert(id, about);
                }
            }
            b"graph" => {
                if self.seen_graph {
                    return Err("there is a second graph, or one inside of another".to_owned());
                }
                self.seen_graph = true;
                self.directed = match attribute(tag, "edgedefault")?.as_deref() {
                    Some("directed") => true,
                    Some("undirected") | None => false,
                    Some(other) => {
                        let expected = expected_name(other, ["undirected", "directed"]);
                        return Err(format!("`edgedefault` is `{other}`{expected}"));
                    }
                };
            }
            b"node" => {
                self.in_graph("node")?;
                let id = attribute(tag, "id")?.ok_or("a node has no `id`")?;
                self.open = Some(Open::Vertex { id, label: None, name: None, is_node: false, at: At::default(), line });
            }
            b"edge" => {
                self.in_graph("edge")?;
                let mut end = |which: &str| -> Result<u32, String> {
                    let id = attribute(tag, which)?.ok_or_else(|| format!("an edge has no `{which}`"))?;
                    Ok(self.vertices.named(&id, line))
                };
                let ends = [end("source")?, end("target")?];
                let directed = match attribute(tag, "directed")?.as_deref() {
                    Some("true" | "1") => true,
                    Some("false" | "0") => false,
                    None => self.directed,
                    Some(other) => {
                        return Err(format!("`directed` is `{other}`: expected `true` or `false`"));
                    }
                };
                self.open = Some(Open::Edge(Edge {
                    ends,
                    ports: [None; 2],
                    delay: None,
                    has_default_delay: false,
                    directed,
                    line,
                    number: None,
                }));
            }
            b"hyperedge" => return Err("hyperedges join more than two vertices, which links cannot".to_owned()),
            b"default" if self.key.is_some() => self.data = Some((String::new(), String::new())),
            b"data" if self.open.is_some() => {
                let key = attribute(tag, "key")?.unwrap_or_default();
                let about = self.keys.get(&key).filter(|about| !about.is_empty()).unwrap_or(&key).clone();
                self.data = Some((about, String::new()));
            }
            _ => {}
        }
        Ok(())
    }

    /// The element that ends, with the defaults of what it does not say itself.
    fn with_defaults(&mut self, domain: &str) -> Result<Option<Open>, String> {
        let said = std::mem::take(&mut self.said);
        if let Some(open) = &mut self.open {
            let holds = |default: &&Key| default.domain == domain || matches!(default.domain.as_str(), "all" | "");
            // An element's own name is more than a label by default.
            let is_said =
                |about: &String| said.contains(about) || about == "label" && said.iter().any(|own| own == "name");
            for default in self.defaults.iter().filter(holds).filter(|default| !is_said(&default.about)) {
                open.set(&default.about, &default.value)?;
                if let (Open::Edge(edge), vertices::DELAY) = (&mut *open, &*default.about) {
                    edge.has_default_delay = true;
                }
            }
        }
        Ok(self.open.take())
    }

    fn in_graph(&self, what: &str) -> Result<(), String> {
        if !self.seen_graph {
            return Err(format!("a {what} outside of a graph"));
        }
        if self.open.is_some() { Err(format!("a {what} inside of another element")) } else { Ok(()) }
    }

    fn end(&mut self, name: &[u8]) -> Result<(), String> {
        match name {
            b"data" => {
                let Some((about, whole)) = self.data.take() else { return Ok(()) };
                if !self.defaults.is_empty() {
                    self.said.push(about.clone());
                }
                self.open.as_mut().map_or(Ok(()), |open| open.set(&about, &whole))
            }
            b"default" => {
                let (Some(key), Some((_, value))) = (&self.key, self.data.take()) else { return Ok(()) };
                // Editors write empty ones.
                if !value.trim().is_empty() {
                    self.defaults.push(Key { value, ..key.clone() });
                }
                Ok(())
            }
            b"key" => {
                self.key = None;
                Ok(())
            }
            b"node" => match self.with_defaults("node")? {
                Some(Open::Vertex { id, label, name, is_node, at, line }) => {
                    let label = label.or(name).unwrap_or_default();
                    self.vertices.declare(&id, Attributes { label, is_node, coordinates: at.coordinates() }, line)
                }
                open => {
                    self.open = open;
                    Ok(())
                }
            },
            b"edge" => match self.with_defaults("edge")? {
                Some(Open::Edge(edge)) => self.vertices.join(edge),
                open => {
                    self.open = open;
                    Ok(())
                }
            },
            _ => Ok(()),
        }
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    let broken = |error: &dyn std::fmt::Display| format!("the XML is broken: {error}");
    match tag.try_get_attribute(name) {
        Err(error) => Err(broken(&error)),
        Ok(None) => Ok(None),
        Ok(Some(attribute)) => match attribute.unescape_value() {
            Ok(value) => Ok(Some(value.into_owned())),
            Err(_) => {
                let value = String::from_utf8_lossy(&attribute.value);
                Err(format!(
                    "the XML is broken: `{name}` is `{}`, with an entity that XML does not know",
                    shortened(&value, 64)
                ))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{NodeId, RouterId};
    use crate::network::Coordinates;

    #[test]
    fn an_entity_that_is_unknown_is_shown() {
        let text = "<graphml><graph edgedefault=\"undirected\"><node id=\"&nbsp;a\"/></graph></graphml>";
        let message = parse("x", text).unwrap_err().to_string();
        assert!(message.contains("`id` is `&nbsp;a`, with an entity that XML does not know"), "{message}");
    }

    fn graph(content: &str) -> String {
        format!(
            "<graphml>\n<key id=\"d1\" for=\"node\" attr.name=\"label\"/>\n<graph edgedefault=\"undirected\">\n{content}\n</graph>\n</graphml>\n"
        )
    }

    #[test]
    fn vertices_are_routers_with_one_node_and_labels_are_names() {
        let text = "<node id='a'><data key='d1'>Z&#252;rich &amp; <![CDATA[<Bern>]]></data></node><edge source='b' target='a'/>\
                    <node id='b'/><edge source='a' target='b'/>";
        let network = parse("x", &graph(text)).unwrap();
        assert_eq!((network.routers(), network.nodes(), network.links()), (2, 2, 2));
        assert_eq!(network.router_name(RouterId::new(0)), Some("Zürich & <Bern>"));
        assert_eq!(
            (network.node_name(NodeId::new(0)), network.node_name(NodeId::new(1))),
            (network.router_name(RouterId::new(0)), None)
        );
    }

    #[test]
    fn blanks_belong_to_names_and_line_breaks_do_not() {
        let name = |data: &str| {
            let text = graph(&format!("<node id='a'><data key='d1'>{data}</data></node>"));
            parse("x", &text).unwrap().router_name(RouterId::new(0)).map(str::to_owned)
        };
        assert_eq!([" ", " a b ", "\n   a b\n  "].map(name), [" ", " a b ", "a b"].map(|name| Some(name.to_owned())));
    }

    #[test]
    fn vertices_may_say_where_they_are() {
        let data = |values: &[(&str, &str)]| -> String {
            values.iter().map(|(key, value)| format!("<data key='{key}'>{value}</data>")).collect::<Vec<_>>().concat()
        };
        let vertices = [
            data(&[("Latitude", "40.7"), ("Longitude", "-74.0"), ("x", "3"), ("y", "4")]),
            data(&[("x", "3"), ("y", "-4e2")]),
            data(&[("Latitude", ""), ("Longitude", "-74.0")]),
            data(&[("x", "3")]),
            data(&[("Latitude", "-90"), ("Longitude", "360")]),
        ];
        let vertices: String = (0..)
            .zip(vertices)
            .map(|(id, data): (u32, _)| format!("<node id='{id}'>{data}</node>"))
            .collect::<Vec<_>>()
            .concat();
        let network = parse("x", &graph(&vertices)).unwrap();
        let at = |router| network.coordinates(RouterId::new(router));
        assert_eq!(at(0), Some(Coordinates::Earth { latitude: 40.7, longitude: -74.0 }));
        assert_eq!(at(1), Some(Coordinates::Plane { x: 3.0, y: -400.0 }));
        assert_eq!([2, 3].map(at), [None; 2]);
        assert_eq!(at(4), Some(Coordinates::Earth { latitude: -90.0, longitude: 360.0 }));
        for (key, value) in [
            ("Latitude", "91"),
            ("Longitude", "-361"),
            ("Latitude", "north"),
            ("x", "inf"),
            ("y", "1e999"),
            ("x", "NaN"),
        ] {
            let vertex = format!("<node id='0'>{}</node>", data(&[(key, value)]));
            let message = parse("x", &graph(&vertex)).unwrap_err().to_string();
            let start = format!("x:4: the coordinate `{key}` is `{value}`: expected a number");
            assert!(message.starts_with(&start), "{message}");
        }
    }

    #[test]
    fn directed_edges_come_in_pairs() {
        let directed =
            |edges: &str| graph(&format!("<node id='a'/><node id='b'/>{edges}")).replace("undirected", "directed");
        let there_and_back = "<edge source='a' target='b'/><edge source='b' target='a'/>";
        assert_eq!(parse("x", &directed(there_and_back)).unwrap().links(), 1);
        let message = parse("x", &directed("\n<edge source='b' target='a'/>")).unwrap_err().to_string();
        assert!(message.starts_with("x:5: the directed edge from `b` to `a` has none back"), "{message}");
    }

    #[test]
    fn mistakes_have_lines() {
        let message = |content: &str| parse("x", &graph(content)).unwrap_err().to_string();
        assert!(
            message("<node id='a'/>\n<node id='a'/>")
                .starts_with("x:5: vertex `a` is declared already, in line 4; expected GraphML")
        );
        assert!(
            message("<node id='a'/>\n<edge source='a' target='c'/>")
                .starts_with("x:5: an edge names vertex `c`, which")
        );
        assert!(message("<node id='a'/><edge source='a' target='a'/>").starts_with("x:4: `a` is joined to itself"));
        assert!(message("<node/>").starts_with("x:4: a node has no `id`"));
        assert!(message("<node id='a'>\n").contains("the XML is broken"));
        assert!(message("<node id='a'><data key='d1'>&lol;</data></node>").contains("the entity `&lol;` is not known"));
        assert!(message("").contains("there is no router"));
        assert!(
            parse("x", "<html/>").unwrap_err().to_string().starts_with("x:1: found `html` where `graphml` should be")
        );
        assert!(parse("x", "<graphml>").unwrap_err().to_string().contains("the file ends inside of `graphml`"));
        assert!(parse("x", &"<graphml>".repeat(100)).unwrap_err().to_string().contains("nested deeper than 64"));
    }

    /// What an element does not say it has by default.
    #[test]
    fn defaults_of_keys_hold() {
        let text = "<graphml><key id='d' for='edge' attr.name='delay_cycles'><default>3</default></key>\
                    <key id='k' for='node' attr.name='kind'><default>node</default></key>\
                    <key id='l' attr.name='label'><default> a b</default></key>\
                    <key id='x' for='node' attr.name='x'><default/></key>\
                    <key id='w' for='edge' attr.name='weight'><default>none</default></key>\
                    <graph edgedefault='undirected'><node id='r'><data key='k'>router</data></node>\
                    <node id='s'><data key='k'>router</data><data key='l'>S</data></node>\
                    <node id='h'/><edge source='r' target='s'/><edge source='r' target='s'><data key='d'>5</data></edge>\
                    EDGE</graph></graphml>";
        let of_node = "<edge source='r' target='h'/>";
        // A delay is for links between routers alone, and a default is for them, too.
        assert_eq!(parse("x", &text.replace("EDGE", of_node)).unwrap().nodes(), 1);
        let own = of_node.replace("/>", "><data key='d'>2</data></edge>");
        let refused = parse("x", &text.replace("EDGE", &own)).unwrap_err().to_string();
        assert!(refused.contains("`delay_cycles` is of links between routers"), "{refused}");
        let none = text.replace("EDGE", "").replace("<node id='h'/>", "");
        let network = parse("x", &none).unwrap();
        let delays: Vec<_> = network.outputs(RouterId::new(0)).map(|link| network.link_delay(link)).collect();
        assert_eq!(delays, [Some(3), Some(5)]);
        let names = [0, 1].map(|router| network.router_name(RouterId::new(router)));
        assert_eq!((names, network.coordinates(RouterId::new(0))), ([Some(" a b"), Some("S")], None));
        let wrong = parse("x", &none.replace("<default>3", "<default>three")).unwrap_err().to_string();
        assert!(
            wrong.contains("`delay_cycles` is `three`: expected a whole number of cycles from 1 to 4096"),
            "{wrong}"
        );
        let hosts = text.replace("<default>3</default>", "").replace("EDGE", of_node);
        assert_eq!(parse("x", &hosts).unwrap().nodes(), 1);
    }
}
