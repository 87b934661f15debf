//! Wormcast's own text form of forwarding tables, with names where the network has them.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use wormcast_network::text::did_you_mean;
use wormcast_network::{ChannelId, Network, NodeId, RouterId};

use super::opensm::MAX_LID;
use super::{Destination, ForwardingTables, Output, TablesContext, TablesError, Target};

const EXPECTED: &str =
    "`router \"S1\"`, then lines such as `\"H7\" to \"S2\"`, `\"H7\" to \"S2\" port 3` or `\"H1\" here`";

/// Tables as text: for every router a line `router …`, and below it a line for each destination.
///
/// Routers and nodes are written as names in quotes if the network has names and they are all different, else as numbers. The
/// line of a destination is one of
///
/// - `NODE to ROUTER`: over the link to that router, with `link K` behind it if it is not the first of several, counted from 1,
///   or with `port P` where ports have numbers;
/// - `NODE here`: to the node, which is attached to this router;
/// - `NODE at NODE`: to another node of this router;
/// - `NODE port P`: to a port where nothing is attached, or, with 0, to the router itself.
///
/// `NODE address A` instead of `NODE` tells several addresses of a node apart, `router ROUTER` stands for the router itself
/// as a destination. What follows `#` is a comment.
pub struct TablesText<'t>(
    /// The tables.
    pub &'t ForwardingTables,
);

/// The form in which routers and nodes are written.
struct Names<'n> {
    network: &'n Network,
    routers: bool,
    nodes: bool,
}

impl<'n> Names<'n> {
    fn new(network: &'n Network) -> Self {
        let routers = all_different((0..network.routers() as u32).map(|id| network.router_name(RouterId::new(id))));
        let nodes = all_different((0..network.nodes() as u32).map(|id| network.node_name(NodeId::new(id))));
        Self { network, routers, nodes }
    }

    fn router(&self, router: RouterId) -> String {
        quoted(self.network.router_name(router).filter(|_| self.routers), router.raw())
    }

    fn node(&self, node: NodeId) -> String {
        quoted(self.network.node_name(node).filter(|_| self.nodes), node.raw())
    }
}

fn quoted(name: Option<&str>, number: u32) -> String {
    name.map_or_else(|| number.to_string(), |name| format!("\"{name}\""))
}

fn all_different<'a>(names: impl Iterator<Item = Option<&'a str>>) -> bool {
    let mut seen = HashSet::new();
    names.into_iter().all(|name| name.is_some_and(|name| !name.contains(['"', '\n', '\r']) && seen.insert(name)))
}

/// A router's links, sorted by neighbour.
struct Links(Vec<(RouterId, ChannelId)>);

impl Links {
    fn new(network: &Network, router: RouterId) -> Self {
        let mut links: Vec<_> = network.outputs(router).map(|channel| (network.to(channel), channel)).collect();
        links.sort_unstable();
        Self(links)
    }

    fn to(&self, neighbour: RouterId) -> &[(RouterId, ChannelId)] {
        let start = self.0.partition_point(|&(next, _)| next < neighbour);
        &self.0[start..start + self.0[start..].partition_point(|&(next, _)| next == neighbour)]
    }

    /// ` link K`, if a channel is not the first of several links to the same router.
    fn number(&self, neighbour: RouterId, channel: ChannelId) -> String {
        match self.to(neighbour).iter().position(|&(_, link)| link == channel) {
            None | Some(0) => String::new(),
            Some(file) => format!(" link {}", file + 1),
        }
    }
}

impl fmt::Display for TablesText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables = self.0;
        let network = &*tables.network;
        let names = Names::new(network);
        let mut rows: Vec<Vec<(usize, Output)>> = vec![Vec::new(); network.routers()];
        for file in 0..tables.destinations().len() {
            for (router, output) in tables.entries_for(file) {
                rows[router.index()].push((file, output));
            }
        }
        for (router, row) in network.router_ids().zip(rows) {
            writeln!(f, "router {}", names.router(router))?;
            let links = Links::new(network, router);
            for (file, output) in row {
                let Destination { target, address } = tables.destinations()[file];
                match target {
                    Target::Node(node) => write!(f, "{}", names.node(node))?,
                    Target::Router(router) => write!(f, "router {}", names.router(router))?,
                }
                if let Some(address) = address {
                    write!(f, " address {address}")?;
                }
                match output {
                    Output::Channel(channel) => {
                        let next = network.to(channel);
                        write!(f, " to {}", names.router(next))?;
                        match network.port_of(channel) {
                            Some(port) => write!(f, " port {port}")?,
                            None => f.write_str(&links.number(next, channel))?,
                        }
                    }
                    Output::Node(node) if target == Target::Node(node) => write!(f, " here")?,
                    Output::Node(node) => write!(f, " at {}", names.node(node))?,
                    Output::Own if target == Target::Router(router) => write!(f, " here")?,
                    Output::Own => write!(f, " port 0")?,
                    Output::Nowhere(port) => write!(f, " port {port}")?,
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

/// A word of a line, a number, or a name in quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    Number(u32),
    Name(&'t str),
}

/// What is left of a line.
struct Tokens<'t>(&'t str);

impl<'t> Tokens<'t> {
    /// The next token; `None` at the end of the line.
    fn next(&mut self) -> Result<Option<Token<'t>>, String> {
        let text = self.0.trim_start();
        if text.is_empty() || text.starts_with('#') {
            self.0 = "";
            return Ok(None);
        }
        if let Some(rest) = text.strip_prefix('"') {
            let (name, rest) = rest.split_once('"').ok_or("a name without its closing quote")?;
            self.0 = rest;
            return Ok(Some(Token::Name(name)));
        }
        let end = text.find(|c: char| c.is_whitespace() || c == '"' || c == '#').unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.0 = rest;
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            // Only digits: what does not fit is too large for anything.
            return Ok(Some(Token::Number(word.parse().unwrap_or(u32::MAX))));
        }
        Ok(Some(Token::Word(word)))
    }

    /// The next token, which has to be there.
    fn expect(&mut self, what: &str) -> Result<Token<'t>, String> {
        self.next()?.ok_or_else(|| format!("{what} is missing"))
    }

    fn number(&mut self, what: &str) -> Result<u32, String> {
        match self.expect(what)? {
            Token::Number(number) => Ok(number),
            Token::Word(text) | Token::Name(text) => Err(format!("found `{text}` where {what} should be")),
        }
    }
}

/// Routers or nodes by name; `None`: several have it.
type ByName<'n> = HashMap<&'n str, Option<u32>>;

fn by_name<'n>(names: impl Iterator<Item = Option<&'n str>>) -> ByName<'n> {
    let mut map = ByName::new();
    for (id, name) in (0..).zip(names) {
        if let Some(name) = name {
            map.entry(name).and_modify(|known| *known = None).or_insert(Some(id));
        }
    }
    map
}

struct Reader<'n> {
    network: &'n Network,
    routers: ByName<'n>,
    nodes: ByName<'n>,
}

impl<'n> Reader<'n> {
    fn new(network: &'n Network) -> Self {
        let routers = by_name((0..network.routers() as u32).map(|id| network.router_name(RouterId::new(id))));
        let nodes = by_name((0..network.nodes() as u32).map(|id| network.node_name(NodeId::new(id))));
        Self { network, routers, nodes }
    }

    fn router(&self, token: Token<'_>) -> Result<RouterId, String> {
        find(token, "router", self.network.routers(), &self.routers).map(RouterId::new)
    }

    fn node(&self, token: Token<'_>) -> Result<NodeId, String> {
        find(token, "node", self.network.nodes(), &self.nodes).map(NodeId::new)
    }

    /// The line of a destination in the table of `router`.
    fn entry(
        &self,
        first: Token<'_>,
        rest: &mut Tokens<'_>,
        (router, links): (RouterId, &Links),
    ) -> Result<(Destination, Output), String> {
        let target = match first {
            Token::Word("router") => Target::Router(self.router(rest.expect("a router")?)?),
            node => Target::Node(self.node(node)?),
        };
        let mut next = rest.expect("`to`, `here`, `at` or `port`")?;
        let mut address = None;
        if next == Token::Word("address") {
            let number = rest.number("an address")?;
            let known = u16::try_from(number).ok().filter(|address| (1..=MAX_LID).contains(address));
            address = Some(known.ok_or_else(|| format!("an address is a number from 1 to {MAX_LID}"))?);
            next = rest.expect("`to`, `here`, `at` or `port`")?;
        }
        let output = match (next, target) {
            (Token::Word("to"), _) => Output::Channel(self.channel((router, links), rest)?),
            (Token::Word("here"), Target::Node(node)) => Output::Node(self.own(router, node)?),
            (Token::Word("here"), Target::Router(target)) if target == router => Output::Own,
            (Token::Word("here"), _) => return Err("another router is not here".to_owned()),
            (Token::Word("at"), _) => {
                let node = self.node(rest.expect("a node")?)?;
                Output::Node(self.own(router, node)?)
            }
            (Token::Word("port"), _) => self.port(router, rest.number("a port")?)?,
            (Token::Word(text) | Token::Name(text), _) => return Err(found(text)),
            (Token::Number(number), _) => return Err(found(&number.to_string())),
        };
        Ok((Destination { target, address }, output))
    }

    /// A node that is attached to this router.
    fn own(&self, router: RouterId, node: NodeId) -> Result<NodeId, String> {
        let home = self.network.router_of(node);
        if home == router {
            return Ok(node);
        }
        let name = self.network.node_name(node).map_or_else(|| format!("node {node}"), |name| format!("`{name}`"));
        Err(format!("{name} is attached to {}", called(self.network, home)))
    }

    fn port(&self, router: RouterId, port: u32) -> Result<Output, String> {
        match self.network.router_ports(router).filter(|&ports| port > ports) {
            Some(ports) => Err(format!("{} has no port {port}: it has {ports}", called(self.network, router))),
            None => Ok(super::opensm::output(self.network, router, port)),
        }
    }

    fn channel(&self, (router, links): (RouterId, &Links), rest: &mut Tokens<'_>) -> Result<ChannelId, String> {
        let network = self.network;
        let next = self.router(rest.expect("a router")?)?;
        let links = links.to(next);
        let Some(&(_, first)) = links.first() else {
            let neighbours = network.outputs(router).take(8).map(|channel| called(network, network.to(channel)));
            let neighbours = neighbours.collect::<Vec<_>>().join(", ");
            let [router, next] = [router, next].map(|router| called(network, router));
            return Err(format!("{router} has no link to {next}, but to {neighbours}"));
        };
        let [from, to] = [router, next].map(|router| called(network, router));
        match rest.next()? {
            None => Ok(first),
            Some(Token::Word("port")) => {
                let port = rest.number("a port")?;
                let channel = network.channel_by_port(router, port).filter(|&channel| network.to(channel) == next);
                channel.ok_or_else(|| format!("port {port} of {from} has no link to {to}"))
            }
            Some(Token::Word("link")) => {
                let number = rest.number("a number")?;
                let link = (number as usize).checked_sub(1).and_then(|file| links.get(file));
                let link = link.map(|&(_, channel)| channel);
                link.ok_or_else(|| format!("there is no link {number} from {from} to {to}"))
            }
            Some(Token::Word(text) | Token::Name(text)) => Err(found(text)),
            Some(Token::Number(number)) => Err(found(&number.to_string())),
        }
    }
}

/// A router in a message: by its name, or its number.
fn called(network: &Network, router: RouterId) -> String {
    network.router_name(router).map_or_else(|| format!("router {router}"), |name| format!("`{name}`"))
}

fn found(text: &str) -> String {
    format!("found `{}`", text.chars().take(64).collect::<String>())
}

fn find(token: Token<'_>, what: &str, count: usize, names: &ByName<'_>) -> Result<u32, String> {
    match token {
        Token::Number(number) if (number as usize) < count => Ok(number),
        Token::Number(number) => {
            Err(format!("there is no {what} {number}; the last one is {}", count.saturating_sub(1)))
        }
        Token::Name(name) => match names.get(name) {
            Some(&Some(id)) => Ok(id),
            Some(None) => Err(format!("several {what}s are called `{name}`: use numbers")),
            None => Err(format!("no {what} is called `{name}`{}", did_you_mean(name, names.keys().copied()))),
        },
        Token::Word(word) => Err(format!("{} where a {what} should be", found(word))),
    }
}

/// Reads tables in the form of [`TablesText`]; linear in the text.
///
/// # Errors
/// If a line is not understood, or does not fit this network.
///
/// ```
/// use wormcast_network::TopologySpec;
/// use wormcast_routing::{TablesText, parse_tables};
///
/// let pair = "mesh:2".parse::<TopologySpec>()?.build()?;
/// let text = "router 0\n0 here\n1 to 1\nrouter 1\n0 to 0\n1 here\n";
/// let tables = parse_tables(&pair, "pair", text)?;
/// assert_eq!(tables.entries(), 4);
/// assert_eq!(TablesText(&tables).to_string(), text);
/// assert!(parse_tables(&pair, "pair", "router 0\n1 to 0\n").unwrap_err().to_string().starts_with("pair:2: "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parse_tables(network: &Arc<Network>, path: &str, text: &str) -> Result<ForwardingTables, TablesError> {
    let file = TablesContext { path, expected: EXPECTED };
    let reader = Reader::new(network);
    let mut section: Option<(RouterId, Links)> = None;
    let mut sections: HashMap<RouterId, usize> = HashMap::new();
    let (mut entries, mut lines) = (Vec::new(), Vec::new());
    // Whose an address is, and the line that says so.
    let mut owners: HashMap<u16, (Target, usize)> = HashMap::new();
    for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let error = |problem: String| file.error(line, problem);
        let mut tokens = Tokens(content);
        let Some(first) = tokens.next().map_err(error)? else { continue };
        if first == Token::Word("router") {
            let router = tokens.expect("a router").and_then(|token| reader.router(token)).map_err(error)?;
            if tokens.next().map_err(error)?.is_none() {
                // Once for each router: looking its links up takes time.
                if let Some(first) = sections.insert(router, line) {
                    let name = called(network, router);
                    return Err(error(format!("{name} has a table already, in line {first}")));
                }
                section = Some((router, Links::new(network, router)));
                continue;
            }
            // A router as a destination: read the line again.
            tokens = Tokens(content);
            tokens.next().map_err(error)?;
        }
        let Some((router, links)) = &section else {
            return Err(error("an entry before the first `router` line".to_owned()));
        };
        let (destination, output) = reader.entry(first, &mut tokens, (*router, links)).map_err(error)?;
        if tokens.next().map_err(error)?.is_some() {
            return Err(error("there is more in the line than an entry has".to_owned()));
        }
        if let Some(address) = destination.address {
            let (target, first) = *owners.entry(address).or_insert((destination.target, line));
            if target != destination.target {
                let other = match target {
                    Target::Node(node) => {
                        network.node_name(node).map_or_else(|| format!("node {node}"), |name| format!("`{name}`"))
                    }
                    Target::Router(router) => called(network, router),
                };
                return Err(error(format!("the address {address} is that of {other}, in line {first}")));
            }
        }
        entries.push((destination, *router, output));
        lines.push(line);
    }
    if section.is_none() {
        return Err(file.error(text.lines().count().max(1), "there is no router"));
    }
    let error = |position: usize, problem: &str| file.error(lines[position], problem);
    let another = |position| error(position, "the router has another entry for this destination already");
    let tables = ForwardingTables::new(network, &entries).map_err(another)?;
    if tables.entries() < entries.len() {
        let mut seen = HashSet::new();
        let again = entries.iter().position(|&(destination, router, _)| !seen.insert((destination, router)));
        if let Some(position) = again {
            return Err(error(position, "the router has this entry already"));
        }
    }
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_of_one_device() {
        let mesh = "mesh:2".parse::<wormcast_network::TopologySpec>().unwrap().build().unwrap();
        let read = |entries: &str| {
            parse_tables(&mesh, "t", &format!("router 0\n{entries}")).map_err(|error| error.to_string())
        };
        assert_eq!(
            read("0 address 5 here\n0 address 6 here\n1 address 7 to 1\nrouter 1 address 8 to 1\n").unwrap().entries(),
            4
        );
        for (other, whose) in [("1", "node 0"), ("router 1", "node 0")] {
            let twice = read(&format!("0 address 5 here\n{other} address 5 to 1\n")).unwrap_err();
            assert!(twice.starts_with(&format!("t:3: the address 5 is that of {whose}, in line 2")), "{twice}");
        }
        for wrong in ["0", "49152", "65535", "70000"] {
            let said = read(&format!("0 address {wrong} here\n")).unwrap_err();
            assert!(said.starts_with("t:2: an address is a number from 1 to 49151"), "{said}");
        }
    }
}
