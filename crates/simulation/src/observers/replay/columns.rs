//! A chunk: worms as columns of small numbers.

use wormcast_network::{ChannelId, ChannelKind, ChannelSpace, NodeId};

use super::file::{ReplayError, damaged};
use super::record::{ReplayHop, ReplayWait, ReplayWorm};
use crate::observers::observer::Cycle;

/// How channels join routers, as much as tells the exits of a router apart.
#[derive(Clone, Debug)]
pub(super) struct Wiring {
    pub(super) space: ChannelSpace,
    /// Of each link, the routers at its ends.
    pub(super) from: Vec<u32>,
    pub(super) to: Vec<u32>,
    /// Of each node, its router, and the one that it injects into.
    pub(super) router: Vec<u32>,
    pub(super) entry: Vec<u32>,
    /// Of each router, its first output link and its first node; one more of each at the end.
    pub(super) outputs: Vec<u32>,
    pub(super) nodes: Vec<u32>,
}

impl Wiring {
    /// `None` if channels or nodes are not numbered router by router.
    pub(super) fn new(
        space: ChannelSpace,
        routers: usize,
        [from, to]: [Vec<u32>; 2],
        [router, entry]: [Vec<u32>; 2],
    ) -> Option<Self> {
        let within = |all: &[u32]| all.iter().all(|&router| (router as usize) < routers);
        let rises = |all: &[u32]| all.is_sorted();
        let lengths = from.len() == to.len() && from.len() == space.links() && router.len() == entry.len();
        if !(lengths
            && [&from, &to, &router, &entry].into_iter().all(|all| within(all))
            && rises(&from)
            && rises(&router))
        {
            return None;
        }
        let firsts = |all: &[u32]| {
            let mut firsts = vec![0_u32; routers + 1];
            for &router in all {
                firsts[router as usize + 1] += 1;
            }
            for router in 0..routers {
                firsts[router + 1] += firsts[router];
            }
            firsts
        };
        let (outputs, nodes) = (firsts(&from), firsts(&router));
        Some(Self { space, from, to, router, entry, outputs, nodes })
    }

    /// The router where a channel ends; `None` for those that end in a node.
    pub(super) fn end(&self, channel: ChannelId) -> Option<u32> {
        match self.space.kind(channel) {
            ChannelKind::Link => self.to.get(channel.index()).copied(),
            ChannelKind::Injection(node, _) => self.entry.get(node.index()).copied(),
            ChannelKind::Consumption(..) => None,
        }
    }

    /// The router where a channel begins; `None` for those that begin in a node.
    pub(super) fn start(&self, channel: ChannelId) -> Option<u32> {
        match self.space.kind(channel) {
            ChannelKind::Link => self.from.get(channel.index()).copied(),
            ChannelKind::Injection(..) => None,
            ChannelKind::Consumption(node, _) => self.router.get(node.index()).copied(),
        }
    }

    /// The number of a channel among the exits of a router: links first, then consumption channels.
    fn exit(&self, router: u32, channel: ChannelId) -> Option<u64> {
        if self.start(channel) != Some(router) {
            return None;
        }
        let [first, next] = [0, 1].map(|more| self.outputs[router as usize + more]);
        match self.space.kind(channel) {
            ChannelKind::Link => Some(u64::from(channel.raw() - first)),
            ChannelKind::Injection(..) => None,
            ChannelKind::Consumption(node, port) => {
                let before = node.raw() - self.nodes[router as usize];
                Some(u64::from(next - first) + u64::from(before * self.space.ports().consumption + port))
            }
        }
    }

    /// The channel of this number among the exits of a router.
    fn channel(&self, router: u32, exit: u64) -> Option<ChannelId> {
        let [first, next] = [0, 1].map(|more| self.outputs[router as usize + more]);
        let links = u64::from(next - first);
        if exit < links {
            return Some(ChannelId::new(first + exit as u32));
        }
        let consumption = u64::from(self.space.ports().consumption);
        let node = u64::from(self.nodes[router as usize]).checked_add((exit - links) / consumption)?;
        if node >= u64::from(self.nodes[router as usize + 1]) {
            return None;
        }
        self.space.consumption(NodeId::new(node as u32)).nth(((exit - links) % consumption) as usize)
    }
}

/// Small numbers in few bytes: seven bits each, the lowest first.
#[derive(Default)]
struct Numbers(Vec<u8>);

impl Numbers {
    fn put(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// A number that may be negative, and is mostly near 0.
    fn signed(&mut self, number: i64) {
        self.put(zigzag(number));
    }
}

const fn zigzag(number: i64) -> u64 {
    (number.wrapping_shl(1) ^ (number >> 63)) as u64
}

const fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

const fn difference(one: u64, other: u64) -> i64 {
    one.wrapping_sub(other) as i64
}

/// Writes worms, which are sorted by id, of a run that ended before cycle `end`.
pub(super) fn encode(worms: &[ReplayWorm], wiring: &Wiring, end: Cycle) -> Vec<u8> {
    let mut out = Numbers::default();
    out.put(worms.len() as u64);
    let mut before = 0;
    for worm in worms {
        out.put(worm.worm - before);
        before = worm.worm;
    }
    let mut before = 0;
    for worm in worms {
        out.signed(difference(worm.message, before));
        before = worm.message;
    }
    for worm in worms {
        out.put(worm.from.raw().into());
    }
    for worm in worms {
        out.signed(difference(worm.source.raw().into(), worm.from.raw().into()));
    }
    for worm in worms {
        out.put(worm.destinations);
    }
    for worm in worms {
        out.put(worm.length.into());
    }
    let mut before = 0;
    for worm in worms {
        out.signed(difference(worm.generated, before));
        before = worm.generated;
    }
    for worm in worms {
        out.put(worm.started.map_or(0, |started| 1 + zigzag(difference(started, worm.generated))));
    }
    for worm in worms {
        out.put(worm.dead.into());
    }
    for worm in worms {
        out.put(worm.deliveries.len() as u64);
    }
    let deliveries = || worms.iter().flat_map(|worm| worm.deliveries.iter().map(move |delivery| (worm, delivery)));
    for (_, &(node, _)) in deliveries() {
        out.put(node.raw().into());
    }
    for (worm, &(_, at)) in deliveries() {
        out.put(at - worm.generated);
    }
    for worm in worms {
        out.put(worm.undelivered.len() as u64);
    }
    for node in worms.iter().flat_map(|worm| &worm.undelivered) {
        out.put(node.raw().into());
    }
    encode_hops(&mut out, worms, wiring);
    for worm in worms {
        out.put(worm.waits.len() as u64);
    }
    let waits = || worms.iter().flat_map(|worm| worm.waits.iter().map(move |wait| (worm, wait)));
    let ended_by = |worm: &ReplayWorm, wait: &ReplayWait| wait.hop.map(|hop| worm.hops[hop as usize]);
    for (_, wait) in waits() {
        out.put(wait.hop.map_or(0, |hop| 1 + u64::from(hop)));
    }
    for (worm, wait) in waits() {
        let until = ended_by(worm, wait).map_or(end, |hop| hop.granted);
        out.signed(difference(until, wait.since));
    }
    let listed = |worm: &ReplayWorm, wait: &ReplayWait| !matches!(ended_by(worm, wait), Some(hop) if *wait.channels == [hop.channel]);
    for (worm, wait) in waits() {
        out.put(if listed(worm, wait) { wait.channels.len() as u64 } else { 0 });
    }
    let mut before = 0;
    for channel in waits().filter(|&(worm, wait)| listed(worm, wait)).flat_map(|(_, wait)| &wait.channels) {
        out.signed(i64::from(channel.raw()) - before);
        before = channel.raw().into();
    }
    out.0
}

fn encode_hops(out: &mut Numbers, worms: &[ReplayWorm], wiring: &Wiring) {
    for worm in worms {
        out.put(worm.hops.len() as u64);
    }
    let hops = || worms.iter().flat_map(|worm| worm.hops.iter().enumerate().map(move |(own, hop)| (worm, own, hop)));
    let parent = |worm: &ReplayWorm, hop: &ReplayHop| hop.parent.map(|parent| worm.hops[parent as usize]);
    for (_, own, hop) in hops() {
        out.put(hop.parent.map_or(0, |parent| own as u64 - u64::from(parent)));
    }
    let exit = |worm: &ReplayWorm, hop: &ReplayHop| match parent(worm, hop) {
        Some(parent) => wiring.end(parent.channel).and_then(|router| wiring.exit(router, hop.channel)),
        None => match wiring.space.kind(hop.channel) {
            ChannelKind::Injection(node, port) if node == worm.from => Some(port.into()),
            _ => None,
        },
    };
    for (worm, _, hop) in hops() {
        out.put(exit(worm, hop).map_or(0, |exit| exit + 1));
    }
    for (.., hop) in hops().filter(|(worm, _, hop)| exit(worm, hop).is_none()) {
        out.put(hop.channel.raw().into());
    }
    for (worm, _, hop) in hops() {
        let base = parent(worm, hop).map_or(worm.started.unwrap_or(worm.generated), |parent| parent.granted);
        out.signed(difference(hop.granted, base));
    }
    for (worm, _, hop) in hops() {
        let base = parent(worm, hop).and_then(|parent| parent.released).unwrap_or(hop.granted);
        out.put(hop.released.map_or(0, |released| 1 + zigzag(difference(released, base))));
    }
    for (worm, _, hop) in hops() {
        let base = parent(worm, hop).map_or(worm.length, |parent| parent.flits);
        out.signed(i64::from(hop.flits) - i64::from(base));
    }
}

/// Reads numbers, in a chunk that may be damaged.
struct Reader<'a> {
    left: &'a [u8],
}

impl Reader<'_> {
    fn next(&mut self) -> Result<u64, ReplayError> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let Some((&byte, left)) = self.left.split_first() else {
                return Err(damaged("a chunk ends in the middle"));
            };
            self.left = left;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged("a number in a chunk is too large"))
    }

    /// A number of values to come, each of which takes a byte at least.
    fn count(&mut self) -> Result<usize, ReplayError> {
        let count = self.next()?;
        if count > self.left.len() as u64 {
            return Err(damaged("a chunk has fewer values than it says"));
        }
        Ok(count as usize)
    }

    /// This far from a number that is known.
    fn from(&mut self, base: u64) -> Result<u64, ReplayError> {
        let by = self.next()?;
        moved(base, by)
    }

    fn column<T>(
        &mut self,
        count: usize,
        read: impl FnMut(&mut Self) -> Result<T, ReplayError>,
    ) -> Result<Vec<T>, ReplayError> {
        let mut read = read;
        if count > self.left.len() {
            return Err(damaged("a chunk has fewer values than it says"));
        }
        (0..count).map(|_| read(self)).collect()
    }

    /// Counts, and their sum.
    fn counts(&mut self, count: usize) -> Result<(Vec<usize>, usize), ReplayError> {
        let counts = self.column(count, Self::count)?;
        let sum = counts.iter().try_fold(0_usize, |sum, &more| sum.checked_add(more));
        sum.filter(|&sum| sum <= self.left.len())
            .map(|sum| (counts, sum))
            .ok_or_else(|| damaged("a chunk has fewer values than it says"))
    }
}

fn moved(base: u64, by: u64) -> Result<u64, ReplayError> {
    base.checked_add_signed(unzigzag(by)).ok_or_else(|| damaged("a cycle or an id in a chunk is negative or too large"))
}

fn small(number: u64, most: u64, what: &str) -> Result<u32, ReplayError> {
    let number = u32::try_from(number).ok().filter(|&number| u64::from(number) < most);
    number.ok_or_else(|| damaged(format!("a chunk names a {what} that there is not")))
}

/// Reads the worms of a chunk.
pub(super) fn decode(bytes: &[u8], wiring: &Wiring, end: Cycle) -> Result<Vec<ReplayWorm>, ReplayError> {
    let mut from = Reader { left: bytes };
    let nodes = wiring.router.len() as u64;
    let node = |number: u64| small(number, nodes, "node").map(NodeId::new);
    let count = from.count()?;
    let mut before = 0_u64;
    let worms = from.column(count, |from| {
        before = before.checked_add(from.next()?).ok_or_else(|| damaged("the id of a worm is too large"))?;
        Ok(before)
    })?;
    let mut before = 0;
    let messages = from.column(count, |from| {
        before = from.from(before)?;
        Ok(before)
    })?;
    let senders = from.column(count, |from| node(from.next()?))?;
    let mut at = senders.iter();
    let sources = from.column(count, |from| {
        let sender = at.next().map_or(0, |sender| sender.raw().into());
        node(from.from(sender)?)
    })?;
    let destinations = from.column(count, Reader::next)?;
    let lengths = from.column(count, |from| small(from.next()?, 1 << 32, "length"))?;
    let mut before = 0;
    let generated = from.column(count, |from| {
        before = from.from(before)?;
        Ok(before)
    })?;
    let mut at = generated.iter();
    let started = from.column(count, |from| {
        let generated = at.next().copied().unwrap_or_default();
        let number = from.next()?;
        number.checked_sub(1).map(|by| moved(generated, by)).transpose()
    })?;
    let dead = from.column(count, |from| match from.next()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(damaged("a worm is neither dead nor alive")),
    })?;
    let (delivered, all) = from.counts(count)?;
    let to = from.column(all, |from| node(from.next()?))?;
    let after = from.column(all, Reader::next)?;
    let (missing, all) = from.counts(count)?;
    let undelivered = from.column(all, |from| node(from.next()?))?;
    let mut read: Vec<ReplayWorm> = (0..count)
        .map(|i| ReplayWorm {
            worm: worms[i],
            message: messages[i],
            from: senders[i],
            source: sources[i],
            destinations: destinations[i],
            length: lengths[i],
            generated: generated[i],
            started: started[i],
            dead: dead[i],
            deliveries: Vec::with_capacity(delivered[i]),
            undelivered: Vec::with_capacity(missing[i]),
            hops: Vec::new(),
            waits: Vec::new(),
        })
        .collect();
    let (mut to, mut after, mut undelivered) = (to.into_iter(), after.into_iter(), undelivered.into_iter());
    for (worm, (&delivered, &missing)) in read.iter_mut().zip(delivered.iter().zip(&missing)) {
        for (node, after) in to.by_ref().zip(after.by_ref()).take(delivered) {
            let at = worm.generated.checked_add(after).ok_or_else(|| damaged("a cycle in a chunk is too large"))?;
            worm.deliveries.push((node, at));
        }
        worm.undelivered.extend(undelivered.by_ref().take(missing));
    }
    decode_hops(&mut from, &mut read, wiring)?;
    decode_waits(&mut from, &mut read, wiring, end)?;
    if from.left.is_empty() { Ok(read) } else { Err(damaged("a chunk has more values than its worms")) }
}

fn decode_hops(from: &mut Reader<'_>, read: &mut [ReplayWorm], wiring: &Wiring) -> Result<(), ReplayError> {
    let (counts, all) = from.counts(read.len())?;
    // Of each hop, its worm and its place there.
    let owners = || counts.iter().enumerate().flat_map(|(worm, &count)| (0..count).map(move |own| (worm, own)));
    let back = from.column(all, Reader::next)?;
    let exits = from.column(all, Reader::next)?;
    let escapes = exits.iter().filter(|&&exit| exit == 0).count();
    let channels = wiring.space.len() as u64;
    let mut escaped = from.column(escapes, |from| small(from.next()?, channels, "channel"))?.into_iter();
    for ((worm, own), (&back, &exit)) in owners().zip(back.iter().zip(&exits)) {
        let worm = &mut read[worm];
        let parent = match back {
            0 => None,
            back if back <= own as u64 => Some((own as u64 - back) as u32),
            _ => return Err(damaged("a channel of a worm has no place behind another")),
        };
        let channel = match (exit.checked_sub(1), parent) {
            (None, _) => escaped.next().map(ChannelId::new),
            (Some(port), None) => wiring.space.injection(worm.from).nth(usize::try_from(port).unwrap_or(usize::MAX)),
            (Some(exit), Some(parent)) => {
                wiring.end(worm.hops[parent as usize].channel).and_then(|router| wiring.channel(router, exit))
            }
        };
        let channel = channel.ok_or_else(|| damaged("a chunk names a channel that there is not"))?;
        worm.hops.push(ReplayHop { channel, parent, granted: 0, released: None, flits: 0 });
    }
    for (worm, own) in owners() {
        let worm = &mut read[worm];
        let parent = worm.hops[own].parent.map(|parent| worm.hops[parent as usize].granted);
        worm.hops[own].granted = from.from(parent.unwrap_or(worm.started.unwrap_or(worm.generated)))?;
    }
    for (worm, own) in owners() {
        let hops = &mut read[worm].hops;
        let parent = hops[own].parent.and_then(|parent| hops[parent as usize].released);
        let base = parent.unwrap_or(hops[own].granted);
        let number = from.next()?;
        hops[own].released = number.checked_sub(1).map(|by| moved(base, by)).transpose()?;
    }
    for (worm, own) in owners() {
        let worm = &mut read[worm];
        let base = worm.hops[own].parent.map_or(worm.length, |parent| worm.hops[parent as usize].flits);
        let flits = from.from(base.into())?;
        worm.hops[own].flits = small(flits, 1 << 32, "number of flits")?;
    }
    Ok(())
}

fn decode_waits(
    from: &mut Reader<'_>,
    read: &mut [ReplayWorm],
    wiring: &Wiring,
    end: Cycle,
) -> Result<(), ReplayError> {
    let (counts, all) = from.counts(read.len())?;
    let ended = from.column(all, Reader::next)?;
    let since = from.column(all, Reader::next)?;
    let (options, listed) = from.counts(all)?;
    let channels = wiring.space.len() as u64;
    let mut before = 0;
    let mut asked = from
        .column(listed, |from| {
            before = small(from.from(before)?, channels, "channel")?.into();
            Ok(ChannelId::new(before as u32))
        })?
        .into_iter();
    let mut all = ended.into_iter().zip(since).zip(options);
    for (worm, &count) in read.iter_mut().zip(&counts) {
        for ((ended, back), options) in all.by_ref().take(count) {
            let hop = ended.checked_sub(1).map(|hop| small(hop, worm.hops.len() as u64, "hop")).transpose()?;
            let by = hop.map(|hop| worm.hops[hop as usize]);
            let until = by.map_or(end, |hop| hop.granted);
            let since =
                moved(until, zigzag(unzigzag(back).checked_neg().ok_or_else(|| damaged("a wait is too long"))?))?;
            let channels = match (options, by) {
                (0, Some(hop)) => Box::from([hop.channel].as_slice()),
                (count, _) => asked.by_ref().take(count).collect(),
            };
            worm.waits.push(ReplayWait { hop, since, channels });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let mut out = Numbers::default();
        let numbers = [0, 1, 127, 128, 300, 1 << 32, u64::MAX - 1, u64::MAX];
        for &number in &numbers {
            out.put(number);
        }
        let mut from = Reader { left: &out.0 };
        for number in numbers {
            assert_eq!(from.next().unwrap(), number);
        }
        assert!(from.next().is_err());
        for number in [0, 1, -1, 63, -64, 64, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(number)), number);
        }
        // Eleven bytes, and ten with a bit too many.
        assert!(Reader { left: &[0x80; 11] }.next().is_err());
        let too_many = [[0xff; 9].as_slice(), &[2]].concat();
        assert!(Reader { left: &too_many }.next().is_err());
    }

    /// Worms that branch, wait, and are there at the end.
    fn sample() -> (Wiring, Vec<ReplayWorm>) {
        let (mesh, ports) = ([0, 0, 1, 1, 2, 2, 3, 3], wormcast_network::Ports { injection: 1, consumption: 2 });
        let to = vec![1, 2, 0, 3, 0, 3, 1, 2];
        let space = ChannelSpace::of(8, 4, ports).unwrap();
        let wiring = Wiring::new(space, 4, [mesh.to_vec(), to], [vec![0, 1, 2, 3], vec![0, 1, 2, 3]]).unwrap();
        let channel = ChannelId::new;
        let hop =
            |id, parent, granted, released| ReplayHop { channel: channel(id), parent, granted, released, flits: 5 };
        let worm = |id: u64| ReplayWorm {
            worm: id * 3,
            message: id,
            from: NodeId::new(0),
            source: NodeId::new(1),
            destinations: 2,
            length: 5,
            generated: id * 10,
            started: Some(id * 10 + 1),
            dead: id % 2 == 1,
            deliveries: vec![(NodeId::new(3), id * 10 + 30)],
            undelivered: vec![NodeId::new(2)],
            hops: vec![
                hop(8, None, id * 10 + 2, Some(id * 10 + 9)),
                hop(0, Some(0), id * 10 + 4, Some(id * 10 + 10)),
                hop(1, Some(0), id * 10 + 4, None),
                hop(18, Some(1), id * 10 + 6, Some(id * 10 + 11)),
                // A channel that is behind nothing.
                hop(6, None, id * 10 + 7, None),
            ],
            waits: vec![
                ReplayWait { hop: Some(1), since: id * 10 + 3, channels: [channel(0)].into() },
                ReplayWait { hop: Some(3), since: id * 10 + 5, channels: [channel(14), channel(15)].into() },
                ReplayWait { hop: None, since: 40, channels: [channel(7)].into() },
            ],
        };
        (wiring, (0..20).map(worm).collect())
    }

    #[test]
    fn worms_come_back() {
        let (wiring, worms) = sample();
        assert_eq!(decode(&encode(&worms, &wiring, 500), &wiring, 500).unwrap(), worms);
        assert_eq!(decode(&encode(&[], &wiring, 9), &wiring, 9).unwrap(), []);
    }

    /// What a checksum does not see: chunks that were written wrong.
    #[test]
    fn no_bytes_make_a_panic() {
        let (wiring, worms) = sample();
        let whole = encode(&worms, &wiring, 500);
        let mut random = 1_u64;
        let mut next = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % below
        };
        let (mut errors, mut others) = (0, 0);
        for _ in 0..20_000 {
            let mut bytes = whole.clone();
            for _ in 0..=next(3) {
                let at = next(bytes.len());
                match next(4) {
                    0 => bytes[at] = next(256) as u8,
                    1 => bytes[at] = 0xff,
                    2 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, next(256) as u8),
                }
            }
            match decode(&bytes, &wiring, 500) {
                Err(_) => errors += 1,
                Ok(read) => others += usize::from(read != worms),
            }
        }
        assert!(errors > 1000 && others > 100, "{errors} {others}");
        for end in 0..whole.len() {
            assert!(decode(&whole[..end], &wiring, 500).is_err());
        }
        assert!(decode(&[&whole[..], &[0]].concat(), &wiring, 500).is_err());
    }
}
