//! Constructors of networks: from links, ports, unidirectional channels, or the shape of a grid.

use std::sync::Arc;

use super::{Attachment, Details, Network, Unidirectional};
use crate::topologies::grid::Direction;
use crate::topologies::shape::Shape;

impl Network {
    /// A network from its links, each of which becomes two channels; one node a router.
    ///
    /// Parallel links are kept, each with channels of its own. Takes time and memory linear in routers and links.
    pub fn from_links(name: impl Into<String>, routers: usize, links: &[(u32, u32)]) -> Arc<Self> {
        Arc::new(Self::linked(name.into(), routers, links))
    }

    fn linked(name: String, routers: usize, links: &[(u32, u32)]) -> Self {
        Self::from_places(name, routers, links, &places(routers, links))
    }

    /// As [`from_links`](Self::from_links), where each end of a link has a port of its own, by which a router's channels are numbered:
    /// O(links log links). `ports` is empty where ports have no numbers.
    pub(crate) fn from_ports(name: String, routers: usize, links: &[(u32, u32)], ports: &[(u32, u32)]) -> Self {
        if ports.is_empty() {
            return Self::linked(name, routers, links);
        }
        let (places, channel_ports) = places_by_port(links, ports);
        let mut network = Self::from_places(name, routers, links, &places);
        network.details = Some(Box::new(Details { channel_ports, ..Details::default() }));
        network
    }

    /// The delay of each channel of a network [from ports](Self::from_ports), from those of its links.
    pub(crate) fn delays_of(routers: usize, links: &[(u32, u32)], ports: &[(u32, u32)], delays: &[u32]) -> Vec<u32> {
        let places = if ports.is_empty() { places(routers, links) } else { places_by_port(links, ports).0 };
        let mut of_channels = vec![1; 2 * links.len()];
        for ((forth, back), &delay) in places.into_iter().zip(delays) {
            of_channels[forth as usize] = delay;
            of_channels[back as usize] = delay;
        }
        of_channels
    }

    /// A network from its links and the ids of their two channels.
    fn from_places(name: String, routers: usize, links: &[(u32, u32)], places: &[(u32, u32)]) -> Self {
        let channels = links.len() * 2;
        let (mut from, mut to, mut reverse) = (vec![0; channels], vec![0; channels], vec![0; channels]);
        for (&(u, v), &(forth, back)) in links.iter().zip(places) {
            for (channel, a, b, other) in [(forth, u, v, back), (back, v, u, forth)] {
                from[channel as usize] = a;
                to[channel as usize] = b;
                reverse[channel as usize] = other;
            }
        }
        Self {
            name,
            shape: Shape::Irregular,
            first_out: starts(routers, links).into(),
            from: from.into(),
            to: to.into(),
            reverse: reverse.into(),
            unidirectional: None,
            attachment: None,
            details: None,
        }
    }

    /// A network of unidirectional channels, sorted by the router that they leave, each numbered from 0 as a port.
    pub(crate) fn from_channels(name: String, routers: usize, channels: &[(u32, u32)], ports: u32) -> Self {
        let mut first_out = vec![0u32; routers + 1];
        let mut first_in = vec![0u32; routers + 1];
        for &(from, to) in channels {
            first_out[from as usize + 1] += 1;
            first_in[to as usize + 1] += 1;
        }
        for router in 0..routers {
            first_out[router + 1] += first_out[router];
            first_in[router + 1] += first_in[router];
        }
        let mut entering: Vec<u32> = (0..channels.len() as u32).collect();
        entering.sort_by_key(|&channel| channels[channel as usize].1);
        let channel_ports = (0..channels.len() as u32).map(|channel| channel % ports).collect();
        Self {
            name,
            shape: Shape::Irregular,
            first_out: first_out.into(),
            from: channels.iter().map(|&(from, _)| from).collect(),
            to: channels.iter().map(|&(_, to)| to).collect(),
            reverse: (0..channels.len() as u32).collect(),
            unidirectional: Some(Box::new(Unidirectional {
                entering: entering.into(),
                first_in: first_in.into(),
                entries: Box::default(),
            })),
            attachment: None,
            details: Some(Box::new(Details { channel_ports, ..Details::default() })),
        }
    }

    /// The same routers and nodes with every channel `lanes` times: lane `l` of channel `c` is the channel `c * lanes + l`. It has neither names
    /// nor a shape.
    ///
    /// So whatever is about channels can be asked of virtual lanes, too. Takes time and memory linear in channels times lanes.
    #[must_use]
    pub fn in_lanes(&self, lanes: u32) -> Self {
        let each = |channels: &[u32], map: fn(u32, u32, u32) -> u32| -> Box<[u32]> {
            channels.iter().flat_map(|&of| (0..lanes).map(move |lane| map(of, lane, lanes))).collect()
        };
        let (same, laned) = (|of, _, _| of, |channel, lane, lanes| channel * lanes + lane);
        Self {
            name: self.name.clone(),
            shape: Shape::Irregular,
            first_out: self.first_out.iter().map(|&first| first * lanes).collect(),
            from: each(&self.from, same),
            to: each(&self.to, same),
            reverse: each(&self.reverse, laned),
            unidirectional: self.unidirectional.as_ref().map(|one_way| {
                Box::new(Unidirectional {
                    entering: each(&one_way.entering, laned),
                    first_in: one_way.first_in.iter().map(|&first| first * lanes).collect(),
                    entries: one_way.entries.clone(),
                })
            }),
            attachment: self.attachment.clone(),
            details: None,
        }
    }

    /// Sets the routers at which nodes' worms start, in a network whose channels run one way.
    pub(crate) fn with_entries(mut self, entries: Vec<u32>) -> Self {
        if let Some(unidirectional) = &mut self.unidirectional {
            unidirectional.entries = entries.into();
        }
        self
    }

    /// Attaches a node to each of these routers, which are sorted.
    pub(crate) fn with_nodes(mut self, router_of: Vec<u32>) -> Self {
        self.attachment = Attachment::new(self.routers(), router_of);
        self
    }

    /// Attaches this many nodes to each router.
    pub(crate) fn with_nodes_each(self, each: u32) -> Self {
        if each == 1 {
            return self;
        }
        let nodes = self.routers() as u32 * each;
        self.with_nodes((0..nodes).map(|node| node / each).collect())
    }

    /// Sets the shape of the wiring.
    pub(crate) fn with_shape(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    /// Sets what else is known of the network; the port numbers of channels stay.
    pub(crate) fn with_details(mut self, details: Details) -> Self {
        let channel_ports = self.details.take().map_or_else(Vec::new, |details| details.channel_ports);
        self.details = Some(Box::new(Details { channel_ports, ..details }));
        self
    }

    /// A mesh, torus or hypercube.
    pub(crate) fn from_shape(name: String, shape: Shape) -> Self {
        let wraps = shape.wraps();
        let grid = shape.grid().expect("only grids are built from their shape").clone();
        let routers = grid.len();
        let has = |c: u32, k: u32, direction| match direction {
            _ if wraps => k > 1,
            Direction::Negative => c > 0,
            Direction::Positive => c + 1 < k,
        };
        // Walk the grid as an odometer: dividing a million indices by their strides is what would take the time.
        let for_each_router = |visit: &mut dyn FnMut(usize, &[u32])| {
            let mut at = vec![0u32; grid.dimensions()];
            for router in 0..routers {
                visit(router, &at);
                for (c, &k) in at.iter_mut().zip(grid.extents()) {
                    *c += 1;
                    if *c < k {
                        break;
                    }
                    *c = 0;
                }
            }
        };
        let degree = |at: &[u32]| -> u32 {
            let directions = [Direction::Negative, Direction::Positive];
            at.iter()
                .zip(grid.extents())
                .map(|(&c, &k)| directions.into_iter().filter(|&d| has(c, k, d)).count() as u32)
                .sum()
        };
        let mut first_out = Vec::with_capacity(routers + 1);
        let mut channels = 0u32;
        for_each_router(&mut |_, at| {
            first_out.push(channels);
            channels += degree(at);
        });
        first_out.push(channels);

        let mut from = Vec::with_capacity(channels as usize);
        let mut to = Vec::with_capacity(channels as usize);
        let mut reverse = Vec::with_capacity(channels as usize);
        for_each_router(&mut |router, at| {
            for (d, (&c, &k)) in at.iter().zip(grid.extents()).enumerate() {
                for direction in [Direction::Negative, Direction::Positive] {
                    if !has(c, k, direction) {
                        continue;
                    }
                    let there = match direction {
                        Direction::Negative => (c + k - 1) % k,
                        Direction::Positive => (c + 1) % k,
                    };
                    let neighbour = router + there as usize * grid.stride(d) - c as usize * grid.stride(d);
                    // The way back is the neighbour's channel in the other direction of the same dimension: skip
                    // those of its lower dimensions, where it stands just as this router does.
                    let lower: u32 = degree(&at[..d]);
                    let opposite = direction == Direction::Negative;
                    let skip = lower + u32::from(opposite && has(there, k, Direction::Negative));
                    from.push(router as u32);
                    to.push(neighbour as u32);
                    reverse.push(first_out[neighbour] + skip);
                }
            }
        });
        Self {
            name,
            shape,
            first_out: first_out.into(),
            from: from.into(),
            to: to.into(),
            reverse: reverse.into(),
            unidirectional: None,
            attachment: None,
            details: None,
        }
    }
}

/// The ids of the two channels of each link, where channels are in the order of links.
fn places(routers: usize, links: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut next = starts(routers, links);
    let mut place = |router: u32| {
        let place = next[router as usize];
        next[router as usize] += 1;
        place
    };
    links.iter().map(|&(u, v)| (place(u), place(v))).collect()
}

/// The ids of the two channels of each link, where channels are in the order of ports, and the port of each channel.
fn places_by_port(links: &[(u32, u32)], ports: &[(u32, u32)]) -> (Vec<(u32, u32)>, Vec<u32>) {
    let mut ends: Vec<(u32, u32, u32)> = Vec::with_capacity(links.len() * 2);
    for (link, (&(u, v), &(p, q))) in (0u32..).zip(links.iter().zip(ports)) {
        ends.extend([(u, p, link * 2), (v, q, link * 2 + 1)]);
    }
    ends.sort_unstable();
    let mut places = vec![(0, 0); links.len()];
    let mut channel_ports = Vec::with_capacity(ends.len());
    for (channel, &(_, port, end)) in (0u32..).zip(&ends) {
        let (forth, back) = &mut places[end as usize / 2];
        *(if end % 2 == 0 { forth } else { back }) = channel;
        channel_ports.push(port);
    }
    (places, channel_ports)
}

/// Where each router's channels start, and where the last one's end.
fn starts(routers: usize, links: &[(u32, u32)]) -> Vec<u32> {
    let mut first_out = vec![0u32; routers + 1];
    for &(u, v) in links {
        first_out[u as usize + 1] += 1;
        first_out[v as usize + 1] += 1;
    }
    for router in 0..routers {
        first_out[router + 1] += first_out[router];
    }
    first_out
}
