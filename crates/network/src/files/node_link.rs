//! `NetworkX` node-link JSON.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::edge_list::links;
use super::vertices::{At, Attributes, CYCLES, DELAY, Edge, NODE, PORT_NUMBER, ROUTER, Vertices, coordinate, is_node};
use super::{FileContext, line_ends};
use crate::error::TopologyError;
use crate::network::{Coordinates, Network};

const EXPECTED: &str = "node-link JSON: an object with `nodes`, each with an `id`, and `edges` or `links`, each with `source` and `target`";

/// The whole file. Its parts stay text at first, so that errors in one can name its line.
#[derive(Deserialize)]
struct Document<'t> {
    #[serde(default)]
    directed: bool,
    #[serde(default = "yes")]
    multigraph: bool,
    #[serde(borrow)]
    nodes: Vec<&'t RawValue>,
    #[serde(borrow)]
    links: Option<Vec<&'t RawValue>>,
    #[serde(borrow)]
    edges: Option<Vec<&'t RawValue>>,
}

/// What is taken for granted of a file that does not say it.
fn yes() -> bool {
    true
}

#[derive(Deserialize)]
struct Vertex<'t> {
    #[serde(borrow)]
    id: &'t RawValue,
    label: Option<Value>,
    name: Option<Value>,
    #[serde(borrow)]
    kind: Option<&'t RawValue>,
    #[serde(alias = "Latitude")]
    latitude: Option<Value>,
    #[serde(alias = "Longitude")]
    longitude: Option<Value>,
    x: Option<Value>,
    y: Option<Value>,
}

impl Vertex<'_> {
    fn at(&self) -> Result<At, String> {
        let number = |about: &str, value: &Option<Value>| match value {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => coordinate(about, text.trim()),
            Some(other) => coordinate(about, &other.to_string()),
        };
        Ok(At {
            latitude: number("latitude", &self.latitude)?,
            longitude: number("longitude", &self.longitude)?,
            x: number("x", &self.x)?,
            y: number("y", &self.y)?,
        })
    }
}

#[derive(Deserialize)]
struct Joined<'t> {
    #[serde(borrow)]
    source: &'t RawValue,
    #[serde(borrow)]
    target: &'t RawValue,
    source_port: Option<Value>,
    target_port: Option<Value>,
    delay_cycles: Option<Value>,
    directed: Option<bool>,
}

/// Reads node-link JSON, with the key `links` of older releases or `edges` of newer ones: see `Vertices::build` for what it
/// means. Names are the vertices' `label`, or `name`; `latitude` and `longitude`, or `x` and `y`, say where they are.
pub(super) fn parse(path: &str, text: &str) -> Result<Arc<Network>, TopologyError> {
    let file = FileContext { path, expected: EXPECTED };
    // The parser would take a list for the values of an object.
    let no_object = |part: &str| part.trim_start().starts_with('[').then(|| "this is a list, not an object".to_owned());
    if let Some(problem) = no_object(text) {
        return Err(file.error(1, problem));
    }
    let document: Document<'_> = serde_json::from_str(text).map_err(|error| {
        let problem = wrong_kind(text).unwrap_or_else(|| without_place(&error));
        file.error(error.line().max(1), problem)
    })?;
    let edges = match (document.edges, document.links) {
        (Some(edges), None) | (None, Some(edges)) => edges,
        (Some(_), Some(_)) => return Err(file.error(1, "there are both `edges` and `links`")),
        (None, None) => return Err(file.error(1, "there are neither `edges` nor `links`")),
    };
    let mut vertices = Vertices::default();
    let mut lines = Lines { text, line: 1, counted: 0 };
    for (index, raw) in document.nodes.into_iter().enumerate() {
        let line = lines.of(raw);
        let error = |problem: String| file.error(line, format!("vertex {index}: {problem}"));
        no_object(raw.get()).map_or(Ok(()), |problem| Err(error(problem)))?;
        let vertex: Vertex<'_> = serde_json::from_str(raw.get()).map_err(|e| error(without_place(&e)))?;
        let coordinates = vertex.at().map_err(error)?.coordinates();
        let label = vertex.label.or(vertex.name).map_or_else(String::new, |label| match label {
            Value::String(text) => text,
            Value::Null => String::new(),
            other => other.to_string(),
        });
        let is_node = vertex.kind.map_or(Ok(false), |kind| is_node(kind.get().trim_matches('"'))).map_err(error)?;
        let id = id(vertex.id).map_err(error)?;
        vertices.declare(&id, Attributes { label, is_node, coordinates }, line).map_err(error)?;
    }
    lines = Lines { text, line: 1, counted: 0 };
    // In a graph without parallel edges, the line of each.
    let mut alone = HashMap::new();
    for (index, raw) in edges.into_iter().enumerate() {
        let line = lines.of(raw);
        let error = |problem: String| file.error(line, format!("edge {index}: {problem}"));
        no_object(raw.get()).map_or(Ok(()), |problem| Err(error(problem)))?;
        let edge: Joined<'_> = serde_json::from_str(raw.get()).map_err(|e| error(without_place(&e)))?;
        let mut end = |value: &RawValue| id(value).map(|id| vertices.named(&id, line)).map_err(error);
        let ends = [end(edge.source)?, end(edge.target)?];
        let ports = [
            whole("source_port", edge.source_port, PORT_NUMBER).map_err(error)?,
            whole("target_port", edge.target_port, PORT_NUMBER).map_err(error)?,
        ];
        let delay = whole(DELAY, edge.delay_cycles, CYCLES).map_err(error)?;
        let directed = edge.directed.unwrap_or(document.directed);
        if !document.multigraph {
            let pair = if directed { ends } else { [ends[0].min(ends[1]), ends[0].max(ends[1])] };
            if let Some(first) = alone.insert((directed, pair), line) {
                let [a, b] = [edge.source, edge.target].map(RawValue::get);
                return Err(error(format!(
                    "`{a}` and `{b}` are joined already, in line {first}, and `multigraph` is false: links that are parallel need `\"multigraph\": true`"
                )));
            }
        }
        vertices
            .join(Edge { ends, ports, delay, has_default_delay: false, directed, line, number: Some(index) })
            .map_err(error)?;
    }
    vertices.build(file, text.lines().count().max(1))
}

/// A whole number that may be left out.
fn whole(key: &str, value: Option<Value>, expected: &str) -> Result<Option<u32>, String> {
    let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match number(&value) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("`{key}` is `{value}`: expected {expected}")),
        },
    }
}

/// The key of the document whose value is of another kind than it has to be.
fn wrong_kind(text: &str) -> Option<String> {
    let document: serde_json::Map<String, Value> = serde_json::from_str(text).ok()?;
    let kind = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    let wrong = |(key, expected): (&str, &str)| {
        let value = document.get(key).filter(|value| kind(value) != expected)?;
        Some(format!("`{key}` is {}: expected {expected}", kind(value)))
    };
    [
        ("directed", "true or false"),
        ("multigraph", "true or false"),
        ("nodes", "a list"),
        ("edges", "a list"),
        ("links", "a list"),
    ]
    .into_iter()
    .find_map(wrong)
}

/// An id as text: numbers, strings and lists of them are all different.
fn id(value: &RawValue) -> Result<Cow<'_, str>, String> {
    let text = value.get();
    // Whole numbers may have more digits than a number here has.
    if text.strip_prefix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(Cow::Borrowed(text));
    }
    match serde_json::from_str(text).map_err(|error| without_place(&error))? {
        value @ (Value::String(_) | Value::Number(_) | Value::Array(_)) => Ok(Cow::Owned(value.to_string())),
        value => Err(format!("`{value}` is no id: expected a number, a string or a list")),
    }
}

/// The message of a JSON error without its position, which is reported separately.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let end = message.rfind(" at line ").unwrap_or(message.len());
    let message = message[..end].to_owned();
    match message.find("expected struct ") {
        Some(start) => format!("{}expected an object", &message[..start]),
        None => message,
    }
}

/// Counts lines up to parts of a text, which come in order.
struct Lines<'t> {
    text: &'t str,
    line: usize,
    counted: usize,
}

impl Lines<'_> {
    fn of(&mut self, part: &RawValue) -> usize {
        let offset = part.get().as_ptr() as usize - self.text.as_ptr() as usize;
        if let Some(between) = self.text.as_bytes().get(self.counted..offset) {
            self.line += line_ends(between);
            self.counted = offset;
        }
        self.line
    }
}

/// A network as node-link JSON, as `NetworkX` 3.4 and later write it: a vertex for each router and an edge for each link. Where not
/// every router has one node, or nodes have names or ports of their own, vertices have a `kind`, and each node is a vertex too.
///
/// ```
/// use wormcast_network::{NetworkNodeLink, TopologySpec};
///
/// let ring = "ring:3".parse::<TopologySpec>()?.build()?;
/// assert!(NetworkNodeLink(&ring).to_string().contains(r#"{"source": 0, "target": 1}"#));
/// # Ok::<(), wormcast_network::TopologyError>(())
/// ```
pub struct NetworkNodeLink<'n>(pub &'n Network);

impl fmt::Display for NetworkNodeLink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(network) = self;
        let text = |text: &str| Value::String(text.to_owned());
        let fabric = !network.has_plain_nodes();
        writeln!(f, r#"{{"directed": false, "multigraph": true, "graph": {{"name": {}}},"#, text(network.name()))?;
        write!(f, r#""nodes": ["#)?;
        for router in network.router_ids() {
            let comma = if router.raw() == 0 { "" } else { "," };
            write!(f, "{comma}\n  {{\"id\": {router}")?;
            if let Some(name) = network.router_name(router) {
                write!(f, r#", "label": {}"#, text(name))?;
            }
            if fabric {
                write!(f, r#", "kind": "{ROUTER}""#)?;
            }
            match network.coordinates(router) {
                Some(Coordinates::Earth { latitude, longitude }) => {
                    write!(f, r#", "latitude": {latitude:?}, "longitude": {longitude:?}"#)?;
                }
                Some(Coordinates::Plane { x, y }) => write!(f, r#", "x": {x:?}, "y": {y:?}"#)?,
                None => {}
            }
            write!(f, "}}")?;
        }
        let nodes = || network.node_ids().filter(|_| fabric);
        for node in nodes() {
            write!(f, ",\n  {{\"id\": \"h{node}\"")?;
            if let Some(name) = network.own_node_name(node) {
                write!(f, r#", "label": {}"#, text(name))?;
            }
            write!(f, r#", "kind": "{NODE}"}}"#)?;
        }
        write!(f, "],\n\"edges\": [")?;
        let mut comma = "";
        for link in links(network) {
            write!(f, "{comma}\n  {{\"source\": {}, \"target\": {}", network.from(link), network.to(link))?;
            if let (Some(p), Some(q)) = (network.port_of(link), network.port_of(network.reverse(link))) {
                write!(f, r#", "source_port": {p}, "target_port": {q}"#)?;
            }
            if let Some(cycles) = network.link_delay(link) {
                write!(f, r#", "{DELAY}": {cycles}"#)?;
            }
            write!(f, "}}")?;
            comma = ",";
        }
        for node in nodes() {
            write!(f, "{comma}\n  {{\"source\": {}, \"target\": \"h{node}\"", network.router_of(node))?;
            if let Some(port) = network.node_port(node) {
                write!(f, r#", "source_port": {port}"#)?;
            }
            write!(f, "}}")?;
            comma = ",";
        }
        writeln!(f, "]}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::RouterId;

    #[test]
    fn both_keys_and_all_kinds_of_ids() {
        for key in ["links", "edges"] {
            let text = format!(
                r#"{{"directed": false, "multigraph": false, "graph": {{}}, "nodes": [{{"id": [0, 1], "label": "a"}}, {{"id": "b"}}, {{"id": 7}}],
                "{key}": [{{"source": [0,1], "target": "b", "weight": 3}}, {{"source": 7, "target": "b"}}]}}"#
            );
            let network = parse("x", &text).unwrap();
            assert_eq!((network.routers(), network.links()), (3, 2));
            assert_eq!(network.router_name(RouterId::new(0)), Some("a"));
        }
    }

    #[test]
    fn vertices_may_say_where_they_are_and_say_it_again() {
        let text = r#"{"nodes": [{"id": 0, "x": 1.5, "y": "-2"}, {"id": 1, "Latitude": 40, "longitude": -3.25}, {"id": 2, "x": 1, "y": null}],
            "links": [{"source": 0, "target": 1}, {"source": 1, "target": 2}]}"#;
        let network = parse("x", text).unwrap();
        let at = |network: &Network| [0, 1, 2].map(|router| network.coordinates(RouterId::new(router)));
        let expected = [
            Some(Coordinates::Plane { x: 1.5, y: -2.0 }),
            Some(Coordinates::Earth { latitude: 40.0, longitude: -3.25 }),
            None,
        ];
        assert_eq!(at(&network), expected);
        assert_eq!(at(&parse("y", &NetworkNodeLink(&network).to_string()).unwrap()), expected);
        // Nor does the way through GraphML lose the map.
        let graphml = super::super::graphml::parse("z", &crate::NetworkGraphml(&network).to_string()).unwrap();
        assert_eq!(at(&graphml)[..2], expected[..2]);
        let wrong = text.replace("1.5", "\"east\"");
        let message = parse("x", &wrong).unwrap_err().to_string();
        assert!(message.starts_with("x:1: vertex 0: the coordinate `x` is `east`: expected a number"), "{message}");
    }

    #[test]
    fn mistakes_have_lines() {
        let message = |text: &str| parse("x", text).unwrap_err().to_string();
        assert!(message("{\n\"nodes\": [],,").starts_with("x:2: "));
        assert!(
            message("{\"nodes\": []}")
                .starts_with("x:1: there are neither `edges` nor `links`; expected node-link JSON")
        );
        let kinds = [
            ("{\"nodes\": {\"a\": 1}, \"links\": []}", "x:1: `nodes` is an object: expected a list"),
            (
                "{\"directed\": \"yes\", \"nodes\": [], \"links\": []}",
                "x:1: `directed` is a text: expected true or false",
            ),
            ("{\"nodes\": [],\n\"edges\": 3}", "x:2: `edges` is a number: expected a list"),
        ];
        for (text, expected) in kinds {
            assert!(message(text).starts_with(expected), "{}", message(text));
        }
        let edges = |edges: &str| {
            message(&format!("{{\"nodes\": [\n{{\"id\": 0}},\n{{\"id\": 1}}],\n\"edges\": [\n{edges}]}}"))
        };
        assert!(
            edges("{\"source\": 0, \"target\": 1},\n{\"source\": 0, \"target\": 2}")
                .starts_with("x:6: an edge names vertex `2`")
        );
        assert!(edges("{\"source\": 0}").starts_with("x:5: edge 0: missing field `target`"));
        for value in ["-4", "2.5", "1e2", "\"x\"", "99999999999"] {
            for (key, expected) in [
                ("delay_cycles", "a whole number of cycles from 1 to 4096"),
                ("source_port", "the number of a port, from 0 on"),
            ] {
                let said = edges(&format!("{{\"source\": 0, \"target\": 1, \"{key}\": {value}}}"));
                let value = if value == "1e2" { "100.0" } else { value };
                assert!(said.starts_with(&format!("x:5: edge 0: `{key}` is `{value}`: expected {expected}")), "{said}");
            }
        }
        assert!(edges("{\"source\": 0, \"target\": null}").starts_with("x:5: edge 0: `null` is no id"));
        assert!(edges("{\"source\": 0, \"target\": 0}").starts_with("x:5: edge 0: `0` is joined to itself"));
        assert!(message(&"[".repeat(100_000)).starts_with("x:1: "));
        let list = r#"[false,[{"id":1},{"id":2}],[{"source":1,"target":2}],null]"#;
        assert!(message(list).starts_with("x:1: this is a list, not an object; expected node-link JSON"));
        assert!(edges("[0, 1]").starts_with("x:5: edge 0: this is a list, not an object"));
        let kind = |kind: &str| message(&format!(r#"{{"nodes": [{{"id": 0, "kind": "{kind}"}}], "edges": []}}"#));
        assert!(
            kind("nodee").contains("vertex 0: there is no kind `nodee`; did you mean `node`?"),
            "{}",
            kind("nodee")
        );
        assert!(kind("swich").contains("vertex 0: there is no kind `swich`: expected one of router, node"));
        assert!(edges("{\"source\": 0, \"target\": 11}").contains("vertex `11`"));
    }

    /// A graph of two routers with these edges.
    fn pair(directed: bool, edges: &[&str]) -> Result<Arc<Network>, String> {
        let text = format!(
            "{{\"directed\": {directed}, \"nodes\": [{{\"id\": 0}}, {{\"id\": 1}}],\n\"edges\": [\n{}]}}",
            edges.join(",\n")
        );
        parse("x", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn directed_edges_find_the_one_back_by_delay_and_ports() {
        let edge = |from: u32, delay: u32, ports: [u32; 2]| {
            let [p, q] = ports;
            format!(
                r#"{{"source": {from}, "target": {}, "delay_cycles": {delay}, "source_port": {p}, "target_port": {q}}}"#,
                1 - from
            )
        };
        let read = |edges: [String; 4]| pair(true, &edges.each_ref().map(String::as_str));
        let undirected = pair(false, &[&edge(0, 3, [1, 4]), &edge(0, 5, [2, 3])]).unwrap();
        let links = |network: &Network| {
            let ports =
                |link| (network.port_of(link), network.port_of(network.reverse(link)), network.link_delay(link));
            links(network).map(ports).collect::<Vec<_>>()
        };
        let [first, second] = [edge(0, 3, [1, 4]), edge(0, 5, [2, 3])];
        // Edges back may come in any order, with ports of their own ends, or as NetworkX copies them.
        for back in [[edge(1, 3, [4, 1]), edge(1, 5, [3, 2])], [edge(1, 3, [1, 4]), edge(1, 5, [2, 3])]] {
            let [one, other] = back;
            for edges in [
                [first.clone(), second.clone(), one.clone(), other.clone()],
                [first.clone(), second.clone(), other.clone(), one.clone()],
                [first.clone(), one.clone(), second.clone(), other.clone()],
            ] {
                assert_eq!(links(&read(edges).unwrap()), links(&undirected));
            }
        }
        let wrong = read([first.clone(), second.clone(), edge(1, 3, [4, 1]), edge(1, 6, [3, 2])]).unwrap_err();
        assert!(
            wrong.starts_with(
                "x:6: edge 3: the `delay_cycles` from `1` to `0` must be the same as on the way back, in line 4"
            ),
            "{wrong}"
        );
        let wrong = read([first, second, edge(1, 3, [4, 1]), edge(1, 5, [7, 9])]).unwrap_err();
        assert!(
            wrong.starts_with("x:6: edge 3: the ports from `1` to `0` must be the same as on the way back, in line 4"),
            "{wrong}"
        );
        let half = pair(true, &[r#"{"source": 0, "target": 1}"#]).unwrap_err();
        assert!(half.starts_with("x:3: edge 0: the directed edge from `0` to `1` has none back"), "{half}");
        let own = pair(false, &[r#"{"source": 0, "target": 1, "directed": true}"#]).unwrap_err();
        assert_eq!(own, half);
    }

    #[test]
    fn links_of_a_graph_that_is_no_multigraph_are_not_parallel() {
        let read = |multigraph: &str, directed: bool, edges: [[u32; 2]; 3]| {
            let edges = edges.map(|[a, b]| format!("{{\"source\": {a}, \"target\": {b}}}")).join(",\n");
            let text = format!(
                "{{\"directed\": {directed}, {multigraph}\"nodes\": [{{\"id\": 0}}, {{\"id\": 1}}, {{\"id\": 2}}],\n\"edges\": [\n{edges}]}}"
            );
            parse("x", &text).map(|network| network.links()).map_err(|error| error.to_string())
        };
        let both_ways = [[0, 1], [1, 0], [1, 2]];
        for multigraph in ["", "\"multigraph\": true, "] {
            assert_eq!(read(multigraph, false, both_ways), Ok(3));
        }
        let twice = read("\"multigraph\": false, ", false, both_ways).unwrap_err();
        assert!(
            twice.starts_with("x:4: edge 1: `1` and `0` are joined already, in line 3, and `multigraph` is false"),
            "{twice}"
        );
        assert_eq!(read("\"multigraph\": false, ", false, [[0, 1], [0, 2], [1, 2]]), Ok(3));
        // A directed graph has an edge each way.
        let back = read("\"multigraph\": false, ", true, both_ways).unwrap_err();
        assert!(back.contains("from `1` to `2` has none back"), "{back}");
        let kind = read("\"multigraph\": 3, ", false, both_ways).unwrap_err();
        assert!(kind.starts_with("x:1: `multigraph` is a number: expected true or false"), "{kind}");
    }

    #[test]
    fn whole_numbers_of_any_length_are_ids() {
        let [a, b] = ["12345678901234567890123", "12345678901234567890124"];
        let text = format!(
            r#"{{"nodes":[{{"id":{a}}},{{"id":{b}}},{{"id":-7}}],"edges":[{{"source":{a},"target":{b}}},{{"source":-7,"target":{a}}}]}}"#
        );
        assert_eq!(parse("x", &text).map(|network| (network.routers(), network.links())).unwrap(), (3, 2));
        let twice = parse("x", &text.replace(b, a)).unwrap_err().to_string();
        assert!(twice.starts_with(&format!("x:1: vertex 1: vertex `{a}` is declared already")), "{twice}");
    }
}
