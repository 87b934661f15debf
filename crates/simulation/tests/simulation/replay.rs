//! Recorded runs: what is read back is what other observers of the same run saw, on all engines; damaged files are errors.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read};
use std::sync::Arc;

use flate2::read::{DeflateDecoder, DeflateEncoder};
use flate2::{Compression, Crc};
use serde_json::{Value, json};
use wormcast_multicast::{Algorithm, Options, algorithm_by_name};
use wormcast_network::{ChannelId, ChannelSpace, NodeId};
use wormcast_simulation::{
    Arrivals, BufferedSwitch, ChannelUse, Count, Cycle, Delivery, DeliveryLog, EngineChoice, Generated, Mode,
    MulticastTraffic, Observer, Process, Replay, ReplayError, ReplayFile, ReplayRun, ReplayWorm, Run, RunEnd,
    RunResult, Scenario, Switching, Timing, Traffic, Wormhole, replay_settings,
};

use crate::support::{build, watch};

/// A hold: worm, channel, first cycle, last cycle, flits.
type Hold = (u64, u32, Cycle, Option<Cycle>, u32);
/// A wait: worm, since, what was asked for, and what was granted when.
type Waited = (u64, Cycle, Vec<u32>, Option<(u32, Cycle)>);

/// Everything that is reported, in the plainest form.
#[derive(Default, Clone, PartialEq, Debug)]
struct Everything {
    messages: BTreeMap<u64, (u32, Cycle, u32, usize)>,
    /// Message, node and cycle.
    starts: BTreeMap<u64, (u64, u32, Cycle)>,
    holds: Vec<Hold>,
    deliveries: Vec<(u64, u64, u32, Cycle)>,
    asked: Vec<(u64, Cycle, Vec<u32>)>,
    waits: Vec<Waited>,
    dead: BTreeSet<u64>,
    undelivered: BTreeSet<(u64, u32)>,
    end: Cycle,
}

impl Observer for Everything {
    const WAITS: bool = true;
    const END: bool = true;

    fn generated(&mut self, message: &Generated<'_>) {
        let what = (message.source.raw(), message.at, message.length, message.destinations.len());
        self.messages.insert(message.message, what);
    }

    fn started(&mut self, at: Cycle, message: u64, worm: u64, node: NodeId) {
        assert_eq!(self.starts.insert(worm, (message, node.raw(), at)), None);
    }

    fn requested(&mut self, at: Cycle, worm: u64, channels: &[ChannelId]) {
        self.asked.push((worm, at, channels.iter().map(|channel| channel.raw()).collect()));
    }

    fn granted(&mut self, at: Cycle, worm: u64, channel: ChannelId) {
        self.holds.push((worm, channel.raw(), at, None, 0));
        let of_it = |(other, _, channels): &(u64, Cycle, Vec<u32>)| *other == worm && channels.contains(&channel.raw());
        if let Some(place) = self.asked.iter().position(of_it) {
            let (_, since, channels) = self.asked.remove(place);
            if since < at {
                self.waits.push((worm, since, channels, Some((channel.raw(), at))));
            }
        }
    }

    fn released(&mut self, at: Cycle, worm: u64, channel: ChannelId, flits: u32) {
        let held = |hold: &&mut Hold| (hold.0, hold.1, hold.3) == (worm, channel.raw(), None);
        let hold = self.holds.iter_mut().find(held).expect("it was granted");
        (hold.3, hold.4) = (Some(at), flits);
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.deliveries.push((delivery.message, delivery.worm, delivery.node.raw(), delivery.delivered));
    }

    fn ended(&mut self, end: &RunEnd<'_>) {
        self.end = end.at;
        for held in end.held {
            let of_it = |hold: &&mut Hold| (hold.0, hold.1, hold.3) == (held.worm, held.channel.raw(), None);
            self.holds.iter_mut().find(of_it).expect("it was granted").4 = held.flits;
        }
        for (worm, since, channels) in std::mem::take(&mut self.asked) {
            if since < end.at {
                self.waits.push((worm, since, channels, None));
            }
        }
        let done: BTreeSet<(u64, u32)> = self.deliveries.iter().map(|&(_, worm, node, _)| (worm, node)).collect();
        for worm in end.worms {
            if worm.deadlocked {
                self.dead.insert(worm.worm);
            }
            let all = worm.destinations.iter().map(|node| (worm.worm, node.raw()));
            self.undelivered.extend(all.filter(|one| !done.contains(one)));
        }
    }
}

impl Everything {
    /// The same, from what a file says.
    fn of(worms: &[ReplayWorm], end: Cycle) -> Self {
        let mut all = Self { end, ..Self::default() };
        for worm in worms {
            let message = (worm.source.raw(), worm.generated, worm.length, worm.destinations as usize);
            assert_eq!(*all.messages.entry(worm.message).or_insert(message), message);
            if let Some(started) = worm.started {
                assert_eq!(all.starts.insert(worm.worm, (worm.message, worm.from.raw(), started)), None);
            }
            let hold = |hop: &wormcast_simulation::ReplayHop| {
                (worm.worm, hop.channel.raw(), hop.granted, hop.released, hop.flits)
            };
            all.holds.extend(worm.hops.iter().map(hold));
            let delivery = |&(node, at): &(NodeId, Cycle)| (worm.message, worm.worm, node.raw(), at);
            all.deliveries.extend(worm.deliveries.iter().map(delivery));
            for wait in &worm.waits {
                let channels = wait.channels.iter().map(|channel| channel.raw()).collect();
                let hop = wait.hop.map(|hop| worm.hops[hop as usize]);
                all.waits.push((worm.worm, wait.since, channels, hop.map(|hop| (hop.channel.raw(), hop.granted))));
            }
            all.undelivered.extend(worm.undelivered.iter().map(|node| (worm.worm, node.raw())));
            if worm.dead {
                all.dead.insert(worm.worm);
            }
        }
        all.sorted()
    }

    fn sorted(mut self) -> Self {
        self.holds.sort_unstable();
        self.deliveries.sort_unstable();
        self.waits.sort_unstable();
        self
    }

    /// Without messages of which no worm is known: they came in the last cycles.
    fn of_known_worms(mut self) -> Self {
        let known: BTreeSet<u64> = self.starts.values().map(|start| start.0).collect();
        self.messages.retain(|message, _| known.contains(message));
        self.undelivered.retain(|(worm, _)| self.starts.contains_key(worm));
        self
    }
}

/// A run: on which network, by which algorithm, with which switches, and how much of it.
struct Case {
    network: &'static str,
    algorithm: &'static str,
    switching: Switching,
    /// Messages a microsecond and node, or bursts.
    rate: Option<f64>,
    cycles: u64,
}

fn wormhole(consumption: u32, virtual_channels: u32) -> Switching {
    Wormhole { consumption_ports: Some(consumption), virtual_channels, ..Wormhole::default() }.into()
}

fn cases() -> Vec<Case> {
    let case = |network, algorithm, switching, rate, cycles| Case { network, algorithm, switching, rate, cycles };
    let buffered = |switch: BufferedSwitch| Switching::from(switch);
    vec![
        case("mesh:4x4", "dual-path", wormhole(4, 1), Some(4.0), 3000),
        case("mesh:4x4", "multi-path", wormhole(1, 1), None, 5000),
        case("mesh:4x4", "column-path", wormhole(1, 1), None, 5000),
        case("mesh:5x3", "u-mesh", wormhole(1, 1), Some(3.0), 2500),
        case("mesh:3x3 203", "separate", wormhole(2, 1), Some(3.0), 1200),
        case("mesh:3x3 203", "spam", wormhole(2, 1), Some(2.0), 1200),
        case("torus:2x4", "separate", wormhole(1, 2), Some(3.0), 2000),
        case("torus:4x4", "dstm-tarjan", wormhole(4, 1), Some(2.0), 2000),
        case("regular:nodes=10,degree=3,seed=4", "separate", wormhole(1, 3), Some(3.0), 1500),
        case("regular:nodes=10,degree=3,seed=4", "tree-one", wormhole(4, 1), Some(1.0), 1500),
        case("omega:2x3", "separate", wormhole(1, 1), Some(3.0), 1500),
        case("hypercube:4", "w-sort", wormhole(1, 1), Some(2.0), 1500),
        case("bmin:4x2", "bit-string", buffered(BufferedSwitch::central_buffer()), Some(1.0), 3000),
        case("bmin:4x2", "multiport", buffered(BufferedSwitch::input_buffer()), Some(1.0), 3000),
        case("bmin:4x2", "u-min", buffered(BufferedSwitch::input_buffer()), Some(8.0), 3000),
    ]
}

impl Case {
    fn scenario(&self) -> Scenario {
        let network = build(self.network);
        // What has no shape has no routing of its own.
        let irregular = matches!(network.shape(), wormcast_network::Shape::Irregular) && self.algorithm == "separate";
        let options = if irregular { Options::routed_by("up-down").unwrap() } else { Options::default() };
        let made = algorithm_by_name(self.algorithm, &network, &options);
        let algorithm: Arc<dyn Algorithm> =
            Arc::from(made.unwrap_or_else(|error| panic!("{}: {error}", self.algorithm)));
        let process = if self.rate.is_some() { Process::Poisson } else { Process::Burst };
        let interval = self.rate.is_none().then_some(20);
        let arrivals = Arrivals { process, rate: self.rate, load: None, successes: None, sources: None, interval };
        let destinations = Count { least: 1, most: 5 }.into();
        let traffic = Traffic {
            arrivals: Some(arrivals),
            length: Some(Count { least: 2, most: 40 }.into()),
            multicast: Some(MulticastTraffic { destinations, fraction: 0.7, sets: None }),
            unicast: None,
            trace: None,
        };
        let run =
            Run { mode: Some(Mode::Finite), messages: Some(700), max_cycles: Some(self.cycles), ..Run::default() };
        let startup = if self.rate.is_some() { 15 } else { 0 };
        let timing = Timing { startup, routing_delay: 1, ..Timing::default() };
        Scenario::new(algorithm, &self.switching, &timing, &traffic, &run)
            .unwrap_or_else(|error| panic!("{} on {}: {error}", self.algorithm, self.network))
    }

    fn engines(&self) -> Vec<EngineChoice> {
        match &self.switching {
            Switching::Wormhole(_) => vec![EngineChoice::Flit, EngineChoice::Worm],
            Switching::Buffered(_) => vec![EngineChoice::Auto],
        }
    }
}

/// A recorded run, and what others saw of it.
struct Recorded {
    file: Vec<u8>,
    seen: Everything,
    channels: String,
    deliveries: String,
    result: RunResult,
}

fn record(scenario: &Scenario, engine: EngineChoice, seed: u64) -> Option<Recorded> {
    let network = scenario.network();
    let space = ChannelSpace::new(network, scenario.engine_config().ports);
    let others = (ChannelUse::new(network, space), (DeliveryLog::new(std::env::temp_dir()), Everything::default()));
    let observer = (Replay::new(network, space, Vec::new()), others);
    let (result, (replay, (channels, (deliveries, seen)))) = watch(scenario, engine, seed, observer).ok()?;
    let settings = replay_settings(scenario, &result.engine, seed);
    let run = ReplayRun {
        program: "wormcast test",
        title: "a run",
        topology: network.name(),
        algorithm: scenario.algorithm().name(),
        settings: &settings,
        deadlock: result.deadlock.as_ref(),
        interrupted: false,
    };
    let file = replay.finish(&run).expect("memory");
    let mut texts = [Vec::new(), Vec::new()];
    channels.write_csv(&mut texts[0]).unwrap();
    deliveries.write_csv(&mut texts[1]).unwrap();
    let [channels, deliveries] = texts.map(|text| String::from_utf8(text).unwrap());
    Some(Recorded { file, seen: seen.sorted(), channels, deliveries, result })
}

fn all_worms(file: &mut ReplayFile<Cursor<Vec<u8>>>) -> Vec<ReplayWorm> {
    (0..file.chunks().len()).flat_map(|index| file.worms(index).expect("it is as it was written")).collect()
}

/// What a file has is what was seen, and what other files of the run say.
fn check(recorded: &Recorded) -> Vec<ReplayWorm> {
    let mut file = ReplayFile::open(Cursor::new(recorded.file.clone())).expect("a file");
    let worms = all_worms(&mut file);
    let said = Everything::of(&worms, file.cycles());
    assert_eq!(said.clone().of_known_worms(), recorded.seen.clone().of_known_worms());
    // The use of channels, as the command writes it.
    let [flits, held, _, granted] = file.measures().map(<[u64]>::to_vec);
    let used: Vec<String> = recorded.channels.lines().skip(1).map(str::to_owned).collect();
    assert_eq!(used.len(), flits.len());
    for (channel, line) in used.iter().enumerate() {
        let busy = format!(",{},{},{},", flits[channel], held[channel], held[channel] - flits[channel]);
        assert!(line.contains(&busy), "{channel}: {line} has not {busy}");
        let holds = recorded.seen.holds.iter().filter(|hold| hold.1 as usize == channel).count();
        assert_eq!(granted[channel], holds as u64);
    }
    // Multicasts alone.
    let several =
        |worm: u64| recorded.seen.starts.get(&worm).is_some_and(|start| recorded.seen.messages[&start.0].3 > 1);
    let mut expected = vec![0; flits.len()];
    for hold in recorded.seen.holds.iter().filter(|hold| several(hold.0)) {
        expected[hold.1 as usize] += u64::from(hold.4);
    }
    assert_eq!(file.multicast_measures()[0], expected);
    // Deliveries, as the command writes them.
    let mut lines: Vec<String> = worms
        .iter()
        .flat_map(|worm| {
            worm.deliveries
                .iter()
                .map(move |(node, at)| format!("{},{},{node},{},{at}", worm.message, worm.source, worm.generated))
        })
        .collect();
    let mut logged: Vec<String> = recorded.deliveries.lines().skip(1).map(str::to_owned).collect();
    // The log has those to destinations alone.
    logged.sort_unstable();
    lines.sort_unstable();
    let said: BTreeSet<&String> = lines.iter().collect();
    assert!(logged.iter().all(|line| said.contains(line)), "the log has deliveries that the file has not");
    let header: Value = serde_json::from_slice(file.header()).expect("JSON");
    assert_eq!(header["deadlock"], serde_json::to_value(&recorded.result.deadlock).unwrap());
    assert_eq!(header["dead"].as_array().map_or(0, Vec::len), recorded.seen.dead.len());
    assert_eq!(header["counts"]["worms"], json!(worms.len()));
    assert_eq!(header["counts"]["deliveries"], json!(recorded.seen.deliveries.len()));
    // A cycle's worms are in the chunks that the index says.
    let chunks = file.chunks().to_vec();
    for (index, chunk) in chunks.iter().enumerate() {
        for worm in file.worms(index).unwrap() {
            for hop in &worm.hops {
                assert!(chunk.first_cycle <= hop.granted && hop.released.unwrap_or(file.cycles()) <= chunk.last_cycle);
            }
        }
    }
    worms
}

#[test]
fn what_is_read_is_what_happened() {
    let mut seen = [0; 5];
    let mut engines = BTreeSet::new();
    for case in cases() {
        for engine in case.engines() {
            for seed in 0..3 {
                let Some(recorded) = record(&case.scenario(), engine, seed) else {
                    // The worm engine has no virtual channels.
                    let several = matches!(&case.switching, Switching::Wormhole(with) if with.virtual_channels > 1);
                    assert!(several && engine == EngineChoice::Worm, "{} by {engine:?}", case.algorithm);
                    continue;
                };
                let worms = check(&recorded);
                engines.insert(recorded.result.engine.clone());
                seen[0] += worms.len();
                seen[1] += usize::from(recorded.result.deadlock.is_some());
                seen[2] += worms.iter().map(|worm| worm.waits.len()).sum::<usize>();
                seen[3] += worms.iter().filter(|worm| worm.hops.iter().any(|hop| hop.released.is_none())).count();
                let branches = |worm: &&ReplayWorm| {
                    let parents: Vec<u32> = worm.hops.iter().filter_map(|hop| hop.parent).collect();
                    parents.iter().collect::<BTreeSet<_>>().len() < parents.len()
                };
                seen[4] += worms.iter().filter(branches).count();
            }
        }
    }
    assert_eq!(engines.into_iter().collect::<Vec<_>>(), ["flit", "switch", "worm"]);
    // Worms, deadlocks, waits, worms that were there at the end, worms that branch or deliver on their way.
    assert!(seen[0] > 20_000 && seen[1] > 5 && seen[2] > 2_000 && seen[3] > 100 && seen[4] > 500, "{seen:?}");
}

/// The test above sees whatever differs: in each kind of what a worm has.
#[test]
fn what_differs_is_seen() {
    let recorded = record(&cases()[0].scenario(), EngineChoice::Worm, 1).unwrap();
    let mut file = ReplayFile::open(Cursor::new(recorded.file.clone())).unwrap();
    let worms = all_worms(&mut file);
    let same = |worms: &[ReplayWorm]| {
        Everything::of(worms, file.cycles()).of_known_worms() == recorded.seen.clone().of_known_worms()
    };
    assert!(same(&worms));
    let waiting = worms
        .iter()
        .position(|worm| !worm.waits.is_empty() && !worm.deliveries.is_empty())
        .expect("somebody waited, and arrived");
    let changes: [fn(&mut ReplayWorm); 7] = [
        |worm| worm.hops[0].flits += 1,
        |worm| worm.hops[1].granted += 1,
        |worm| worm.hops[1].released = None,
        |worm| worm.waits[0].since += 1,
        |worm| worm.deliveries[0].1 += 1,
        |worm| worm.started = worm.started.map(|at| at + 1),
        |worm| worm.dead = true,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut changed = worms.clone();
        change(&mut changed[waiting]);
        assert!(!same(&changed), "change {number} is not seen");
    }
}

fn inflated(bytes: &[u8]) -> String {
    let mut text = String::new();
    DeflateDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

fn deflated(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    DeflateEncoder::new(text.as_bytes(), Compression::default()).read_to_end(&mut bytes).unwrap();
    bytes
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// A file with another header, all of whose checksums are right.
fn with_header(whole: &[u8], version: u32, change: impl Fn(String) -> String) -> Vec<u8> {
    let end = whole.len() - 32;
    let header = u64::from_le_bytes(whole[end..end + 8].try_into().unwrap()) as usize;
    let before = inflated(&whole[header..end]);
    let json = change(before.clone());
    assert_ne!(json, before);
    let deflated = deflated(&json);
    let mut other = whole[..header].to_vec();
    other.extend(&deflated);
    other.extend((header as u64).to_le_bytes());
    for number in [deflated.len() as u32, json.len() as u32, crc(&deflated), version] {
        other.extend(number.to_le_bytes());
    }
    other.extend(b"wcreplay");
    other
}

/// Others may write such files: a header that lacks what readers need is told of, and not only by those who need it.
#[test]
fn a_header_that_is_not_whole_is_an_error() {
    let whole = record(&cases()[1].scenario(), EngineChoice::Worm, 2).unwrap().file;
    let said = |change: &dyn Fn(&mut Value)| {
        let file = with_header(&whole, 1, |json| {
            let mut header: Value = serde_json::from_str(&json).unwrap();
            change(&mut header);
            header.to_string()
        });
        ReplayFile::open(Cursor::new(file)).map(drop).unwrap_err().to_string()
    };
    for column in ["x", "y", "node_router", "from", "reverse"] {
        let shorter = said(&|header| drop(header["network"][column].as_array_mut().unwrap().pop()));
        assert_eq!(shorter, "it is damaged: its network makes no sense", "{column}");
        let missing = said(&|header| drop(header["network"].as_object_mut().unwrap().remove(column)));
        assert!(missing.contains(&format!("missing field `{column}`")), "{missing}");
    }
    assert!(
        said(&|header| drop(header.as_object_mut().unwrap().remove("settings"))).contains("missing field `settings`")
    );
    let fewer = said(&|header| header["counts"]["worms"] = 1.into());
    assert_eq!(fewer, "it is damaged: its chunks have other worms than it counts");
}

/// Whatever bit is flipped and wherever a file is cut, it is an error.
#[test]
fn damaged_files_are_errors() {
    let recorded = record(&cases()[1].scenario(), EngineChoice::Worm, 2).unwrap();
    let whole = recorded.file;
    let read = |bytes: Vec<u8>| -> Result<(), ReplayError> {
        let mut file = ReplayFile::open(Cursor::new(bytes))?;
        for index in 0..file.chunks().len() {
            file.worms(index)?;
        }
        Ok(())
    };
    assert!(read(whole.clone()).is_ok());
    let ends = (0..40).chain(whole.len() - 40..whole.len());
    for at in ends.chain((40..whole.len() - 40).step_by(whole.len() / 300 + 1)) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        assert!(read(flipped).is_err(), "byte {at} of {}", whole.len());
        assert!(read(whole[..at].to_vec()).is_err(), "cut at {at}");
        assert!(read([&whole[..at], &whole[at + 1..]].concat()).is_err(), "without byte {at}");
    }
    assert!(read([&whole[..], b"\n"].concat()).is_err());
    assert!(matches!(read(Vec::new()), Err(ReplayError::NotOne)));
    assert!(matches!(read(b"PK\x03\x04 something else".to_vec()), Err(ReplayError::NotOne)));
    assert!(matches!(read(whole[..whole.len() / 2].to_vec()), Err(ReplayError::Cut)));
    // Wherever a byte of the end has changed, the file is damaged, and not of a newer version.
    for at in whole.len() - 32..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        assert!(matches!(read(flipped), Err(ReplayError::Damaged(_))), "byte {at} of {}", whole.len());
    }
    // As they are stored, chunks are checked, too.
    let mut flipped = whole.clone();
    flipped[20] ^= 1;
    let mut file = ReplayFile::open(Cursor::new(flipped)).unwrap();
    let said = file.deflated(0).unwrap_err().to_string();
    assert_eq!(said, "it is damaged: chunk 0 has other bytes than were written");
    let newer = with_header(&whole, 2, |json| json.replacen("\"version\":1", "\"version\":2", 1));
    assert!(matches!(read(newer), Err(ReplayError::Version(2))));
    let mut file = ReplayFile::open(Cursor::new(whole)).unwrap();
    let chunks = file.chunks().len();
    assert!(matches!(file.worms(chunks), Err(ReplayError::NoChunk { .. })));
}

/// A folder that takes no more bytes.
#[test]
fn a_file_that_cannot_be_written_ends_the_run() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let scenario = cases()[0].scenario();
    let network = scenario.network();
    let space = ChannelSpace::new(network, scenario.engine_config().ports);
    let (result, replay) = watch(&scenario, EngineChoice::Worm, 1, Replay::new(network, space, Full)).unwrap();
    let run = ReplayRun {
        program: "",
        title: "",
        topology: "",
        algorithm: "",
        settings: &json!({}),
        deadlock: result.deadlock.as_ref(),
        interrupted: false,
    };
    assert_eq!(replay.finish(&run).err().map(|error| error.kind()), Some(std::io::ErrorKind::StorageFull));
}
