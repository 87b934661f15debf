//! Reading the file: the header first, and then any chunk.

use std::io::{Read, Seek, SeekFrom};

use serde::Deserialize;
use serde_json::{Map, Value};
use wormcast_network::{ChannelSpace, MAX_NODE_PORTS, Ports};

use super::columns::{Wiring, decode};
use super::file::{Place, REPLAY_MAGIC, ReplayError, TRAILER, VERSION, check, damaged, header_place, inflate};
use super::measures::{Measures, Sums};
use super::record::ReplayWorm;
use crate::observers::observer::Cycle;

/// A recorded run, open for reading.
///
/// Memory: the header, and a chunk while it is read.
#[derive(Debug)]
pub struct ReplayFile<R> {
    file: R,
    json: Vec<u8>,
    wiring: Wiring,
    cycles: Cycle,
    measures: Measures,
    index: Vec<ReplayChunk>,
    places: Vec<Place>,
}

/// A chunk, as the index has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplayChunk {
    /// The first cycle in which one of its worms does something.
    pub first_cycle: Cycle,
    /// The last one.
    pub last_cycle: Cycle,
    /// How many worms it has.
    pub worms: usize,
}

#[derive(Debug, Deserialize)]
struct Entry {
    first_cycle: Cycle,
    last_cycle: Cycle,
    worms: usize,
    #[serde(flatten)]
    place: Place,
}

/// What the headers of all versions have.
#[derive(Deserialize)]
struct Named {
    version: u32,
}

/// What a reader needs of the header.
#[derive(Deserialize)]
struct Header {
    cycles: Cycle,
    counts: HeaderCounts,
    #[serde(rename = "settings")]
    _settings: Map<String, Value>,
    ports: HeaderPorts,
    network: HeaderNetwork,
    measures: Measures,
    chunks: Vec<Entry>,
}

#[derive(Deserialize)]
struct HeaderCounts {
    worms: usize,
}

#[derive(Deserialize)]
struct HeaderPorts {
    injection: u32,
    consumption: u32,
}

#[derive(Deserialize)]
struct HeaderNetwork {
    routers: usize,
    nodes: usize,
    node_router: Vec<u32>,
    entry_router: Option<Vec<u32>>,
    from: Vec<u32>,
    to: Vec<u32>,
    // What only pictures need.
    x: Vec<f64>,
    y: Vec<f64>,
    reverse: Vec<u32>,
    node_x: Option<Vec<f64>>,
    node_y: Option<Vec<f64>>,
    labels: Option<Vec<String>>,
    node_labels: Option<Vec<String>>,
    link_labels: Option<Vec<String>>,
}

impl HeaderNetwork {
    /// Whether each column has an entry for each router, node or channel.
    fn is_whole(&self) -> bool {
        let is = |length: Option<usize>, of: usize| length.is_none_or(|length| length == of);
        let lengths = |list: &Option<Vec<String>>| list.as_ref().map(Vec::len);
        let links = self.from.len();
        [self.x.len(), self.y.len()] == [self.routers; 2]
            && is(lengths(&self.labels), self.routers)
            && [&self.node_x, &self.node_y].iter().all(|list| is(list.as_ref().map(Vec::len), self.nodes))
            && self.node_x.is_some() == self.node_y.is_some()
            && is(lengths(&self.node_labels), self.nodes)
            && self.reverse.len() == links
            && self.reverse.iter().all(|&channel| (channel as usize) < links)
            && is(lengths(&self.link_labels), links)
    }
}

impl<R: Read + Seek> ReplayFile<R> {
    /// Opens a file: reads where the header is, and the header.
    ///
    /// # Errors
    /// If it is no such file, has no end, or is damaged.
    pub fn open(mut file: R) -> Result<Self, ReplayError> {
        let length = file.seek(SeekFrom::End(0))?;
        let mut magic = [0; REPLAY_MAGIC.len()];
        file.rewind()?;
        if length < magic.len() as u64 {
            return Err(ReplayError::NotOne);
        }
        file.read_exact(&mut magic)?;
        if magic != REPLAY_MAGIC {
            return Err(ReplayError::NotOne);
        }
        if length < (REPLAY_MAGIC.len() + TRAILER) as u64 {
            return Err(ReplayError::Cut);
        }
        let mut trailer = [0; TRAILER];
        file.seek(SeekFrom::End(-(TRAILER as i64)))?;
        file.read_exact(&mut trailer)?;
        let (place, version) = header_place(trailer, length)?;
        let json = inflate(&piece(&mut file, &place)?, &place, "the header")?;
        // The header has a checksum, the end has none: a version that both name is one.
        let named: Named = serde_json::from_slice(&json).map_err(|error| damaged(format!("the header: {error}")))?;
        if named.version != version {
            return Err(damaged(format!("its end names version {version}, its header {}", named.version)));
        }
        if version != VERSION {
            return Err(ReplayError::Version(version));
        }
        let header: Header = serde_json::from_slice(&json).map_err(|error| damaged(format!("the header: {error}")))?;
        Self::checked(file, json, header, place.offset)
    }

    fn checked(file: R, json: Vec<u8>, header: Header, end: u64) -> Result<Self, ReplayError> {
        let Header { cycles, counts, ports, network, measures, chunks, .. } = header;
        if !network.is_whole() {
            return Err(damaged("its network makes no sense"));
        }
        if counts.worms != chunks.iter().fold(0, |worms: usize, chunk| worms.saturating_add(chunk.worms)) {
            return Err(damaged("its chunks have other worms than it counts"));
        }
        let ports = Ports { injection: ports.injection, consumption: ports.consumption };
        let within = |count: u32| (1..=MAX_NODE_PORTS).contains(&count);
        let entries = network.entry_router.unwrap_or_else(|| network.node_router.clone());
        let counts = within(ports.injection) && within(ports.consumption) && network.nodes == network.node_router.len();
        let space = ChannelSpace::of(network.from.len(), network.nodes, ports).filter(|_| counts);
        let wiring = space.and_then(|space| {
            Wiring::new(space, network.routers, [network.from, network.to], [network.node_router, entries])
        });
        let wiring = wiring.ok_or_else(|| damaged("its network makes no sense"))?;
        let channels = wiring.space.len();
        let full = |Sums { flits, held, waited, worms }: &Sums| {
            [flits, held, waited, worms].into_iter().all(|column| column.len() == channels)
        };
        if !full(&measures.all) || !full(&measures.multicast) {
            return Err(damaged("its measures are not of its channels"));
        }
        // One directly behind the other.
        let mut next = REPLAY_MAGIC.len() as u64;
        for chunk in &chunks {
            if chunk.place.offset != next {
                return Err(damaged("its chunks are not where its index says"));
            }
            next = next.saturating_add(chunk.place.bytes.into());
        }
        if next != end {
            return Err(damaged("its chunks are not where its index says"));
        }
        let entry = |chunk: &Entry| ReplayChunk {
            first_cycle: chunk.first_cycle,
            last_cycle: chunk.last_cycle,
            worms: chunk.worms,
        };
        let (index, places) = chunks.iter().map(|chunk| (entry(chunk), chunk.place)).unzip();
        Ok(Self { file, json, wiring, cycles, measures, index, places })
    }

    /// The header, as JSON.
    pub fn header(&self) -> &[u8] {
        &self.json
    }

    /// The first cycle that was not simulated.
    pub fn cycles(&self) -> Cycle {
        self.cycles
    }

    /// The index.
    pub fn chunks(&self) -> &[ReplayChunk] {
        &self.index
    }

    /// The cycles in which a flit crossed each channel, in which worms held it, and that worms waited for it; and how many worms were granted it.
    pub fn measures(&self) -> [&[u64]; 4] {
        let Sums { flits, held, waited, worms } = &self.measures.all;
        [flits, held, waited, worms]
    }

    /// The same of the worms of messages to more than one destination.
    pub fn multicast_measures(&self) -> [&[u64]; 4] {
        let Sums { flits, held, waited, worms } = &self.measures.multicast;
        [flits, held, waited, worms]
    }

    /// The bytes of a chunk, as they are in the file: deflated.
    ///
    /// # Errors
    /// If there is no such chunk, or it cannot be read or is damaged.
    pub fn deflated(&mut self, index: usize) -> Result<Vec<u8>, ReplayError> {
        let chunks = self.places.len();
        let place = self.places.get(index).ok_or(ReplayError::NoChunk { index, chunks })?;
        let deflated = piece(&mut self.file, place)?;
        check(&deflated, place, &format!("chunk {index}"))?;
        Ok(deflated)
    }

    /// The worms of a chunk, by id.
    ///
    /// # Errors
    /// If there is no such chunk, or it cannot be read or is damaged.
    pub fn worms(&mut self, index: usize) -> Result<Vec<ReplayWorm>, ReplayError> {
        let deflated = self.deflated(index)?;
        let inflated = inflate(&deflated, &self.places[index], "a chunk")?;
        let worms = decode(&inflated, &self.wiring, self.cycles)?;
        if worms.len() != self.index[index].worms {
            return Err(damaged("a chunk has other worms than the index says"));
        }
        Ok(worms)
    }
}

/// The bytes of a piece; a file that is too short for it takes no more memory than it has.
fn piece(file: &mut (impl Read + Seek), place: &Place) -> Result<Vec<u8>, ReplayError> {
    file.seek(SeekFrom::Start(place.offset))?;
    let mut bytes = Vec::new();
    file.take(place.bytes.into()).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != u64::from(place.bytes) {
        return Err(ReplayError::Cut);
    }
    Ok(bytes)
}
