//! Networks from files and as files.
//!
//! Each format is a module with a parser and, where wormcast writes it, a type that implements
//! [`Display`](std::fmt::Display). Parsers take text that may come from anywhere: they report the line and the reason, and
//! take time and memory linear in the text, within the limits of [`NetworkBuilder`](crate::NetworkBuilder).

use std::path::Path;
use std::sync::Arc;

use crate::error::TopologyError;
use crate::input::{ReadError, input_name, read_text};
use crate::network::Network;
use crate::text::{LONGEST_SHOWN, shortened};

mod anynet;
mod edge_list;
mod fabric;
mod graphml;
mod ibsim;
mod node_link;
mod vertices;

pub use anynet::NetworkAnynet;
pub(crate) use edge_list::links;
pub use edge_list::{NetworkEdgeList, parse_edge_list};
pub use ibsim::{NetworkIbsim, as_fabric};
pub use node_link::NetworkNodeLink;
pub(crate) use vertices::{DELAY, NODE, ROUTER};

/// The largest network file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

/// A format of network files.
///
/// What each means, with examples, is in `docs/topologies.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FileFormat {
    /// An edge list: a link `u v` on each line.
    EdgeList,
    /// GraphML.
    Graphml,
    /// `NetworkX` node-link JSON.
    NodeLink,
    /// The `anynet` files of `BookSim`.
    Anynet,
    /// An InfiniBand fabric: a network of `ibsim`, or the output of `ibnetdiscover`.
    Fabric,
}

impl FileFormat {
    /// The format of a file: by the extension of its name or, if that says nothing, by the first line that is neither blank nor
    /// a comment.
    ///
    /// ```
    /// use wormcast_network::FileFormat;
    ///
    /// assert_eq!(FileFormat::of("x.graphml", ""), FileFormat::Graphml);
    /// assert_eq!(FileFormat::of("x.txt", "# a fabric\nSwitch 8 \"S1\"\n"), FileFormat::Fabric);
    /// ```
    pub fn of(path: &str, text: &str) -> Self {
        let extension = Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or("");
        match extension.to_ascii_lowercase().as_str() {
            "edges" | "edgelist" => Self::EdgeList,
            "graphml" | "xml" => Self::Graphml,
            "json" => Self::NodeLink,
            "anynet" => Self::Anynet,
            // `BookSim` has no ending of its own: its files are often called so, too.
            "net" if Self::of_content(text) == Self::Anynet => Self::Anynet,
            "net" | "ibsim" | "topofile" | "topo" | "ibnetdiscover" => Self::Fabric,
            _ => Self::of_content(text),
        }
    }

    fn of_content(text: &str) -> Self {
        let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
        let line = lines.find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or("");
        let word: &str = line.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or("");
        match word.to_ascii_lowercase().as_str() {
            "switch" | "hca" | "ca" | "rt" | "vendid" | "devid" | "sysimgguid" | "switchguid" | "caguid" => {
                Self::Fabric
            }
            "router" | "node" => Self::Anynet,
            "" if line.starts_with('<') => Self::Graphml,
            "" if line.starts_with('{') => Self::NodeLink,
            _ => Self::EdgeList,
        }
    }

    /// Reads a network. `path` is used in messages and as the network's name.
    ///
    /// # Errors
    /// If the text is not of this format; the error has the line.
    pub fn parse(self, path: &str, text: &str) -> Result<Arc<Network>, TopologyError> {
        let text = text.trim_start_matches('\u{feff}');
        match self {
            Self::EdgeList => parse_edge_list(path, text),
            Self::Graphml => graphml::parse(path, text),
            Self::NodeLink => node_link::parse(path, text),
            Self::Anynet => anynet::parse(path, text),
            Self::Fabric => fabric::parse(path, text),
        }
    }

    /// Checks that this format can express all routers, links and nodes of a network, so that reading the written file gives them
    /// back. Names and port numbers are kept by [`Graphml`](Self::Graphml), [`NodeLink`](Self::NodeLink) and
    /// [`Fabric`](Self::Fabric) only.
    ///
    /// # Errors
    /// If it cannot; the error says what is missing from the format.
    pub fn check_expresses(self, network: &Network) -> Result<(), TopologyError> {
        let Some(problem) = self.inexpressible(network) else { return Ok(()) };
        let others = [
            (Self::Graphml, "`graphml`"),
            (Self::NodeLink, "`node-link`"),
            (Self::EdgeList, "`edge-list`"),
            (Self::Anynet, "`anynet`"),
        ];
        let fit = others.into_iter().filter(|(format, _)| format.inexpressible(network).is_none());
        let fit: Vec<&str> = fit.map(|(_, name)| name).collect();
        let instead = match &fit[..] {
            [] => "`dot` or `svg`".to_owned(),
            [only] => (*only).to_owned(),
            [first @ .., last] => format!("{} or {last}", first.join(", ")),
        };
        Err(TopologyError::Inexpressible { name: network.name().to_owned(), format: self.name(), problem, instead })
    }

    /// What of a network this format cannot express.
    fn inexpressible(self, network: &Network) -> Option<String> {
        match self {
            _ if network.is_unidirectional() => Some("channels that run one way".to_owned()),
            Self::Fabric | Self::Anynet if network.has_link_delays() => Some("links of more than one cycle".to_owned()),
            Self::EdgeList => edge_list::inexpressible(network),
            Self::Fabric => ibsim::inexpressible(network),
            Self::Graphml => graphml::inexpressible(network),
            Self::NodeLink | Self::Anynet => None,
        }
    }

    /// The format's name, for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EdgeList => "an edge list",
            Self::Graphml => "GraphML",
            Self::NodeLink => "node-link JSON",
            Self::Anynet => "an anynet file",
            Self::Fabric => "an ibsim network",
        }
    }
}

/// Reads a network's file, whose format is [`FileFormat::of`] its name and content.
///
/// # Errors
/// If the file cannot be read, is larger than [`MAX_FILE_BYTES`], is not UTF-8, or is not understood.
pub(crate) fn read(path: &str) -> Result<Arc<Network>, TopologyError> {
    let text = read_text(path, "the network", MAX_FILE_BYTES).map_err(|error| match error {
        ReadError::Unreadable { path, reason } => TopologyError::Unreadable { path, reason },
        ReadError::NotText { path, line } => {
            TopologyError::File { path, line, problem: "the bytes are not UTF-8".to_owned(), expected: "text" }
        }
    })?;
    FileFormat::of(path, &text).parse(input_name(path), &text)
}

/// The number of line ends.
fn line_ends(text: &[u8]) -> usize {
    text.split(|&byte| byte == b'\n').count() - 1
}

/// What the errors of one file have in common.
#[derive(Clone, Copy)]
struct FileContext<'a> {
    path: &'a str,
    expected: &'static str,
}

impl FileContext<'_> {
    /// The error for a line, from 1.
    // Callers have a text or an error of their own at hand, and do not need it any more.
    #[allow(clippy::needless_pass_by_value)]
    fn error(&self, line: usize, problem: impl ToString) -> TopologyError {
        let problem = shortened(&problem.to_string(), LONGEST_SHOWN).into_owned();
        TopologyError::File { path: self.path.to_owned(), line, problem, expected: self.expected }
    }
}
