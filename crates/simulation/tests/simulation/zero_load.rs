//! One worm in an empty network: every delivery at its closed form, whatever the path, length, buffers and header.

use proptest::prelude::*;
use wormcast_simulation::{
    EngineConfig, Header, LinkDelay, StartupMode, WormTiming, delayed_path_delivery, lockstep_tree_delivery,
    path_delivery,
};

use crate::support::{build, node, path, plain, run, tree};

fn configs(headers: &'static [Header]) -> impl Strategy<Value = EngineConfig> {
    let header = prop::sample::select(headers);
    let mode = prop_oneof![Just(StartupMode::Serial), Just(StartupMode::PerPort)];
    (1u32..20, 0u32..30, 0u32..6, 0u32..6, header, 1u32..5, mode).prop_map(
        |(buffer, startup, routing_delay, strip_delay, header, header_flits, startup_mode)| EngineConfig {
            buffer,
            startup,
            routing_delay,
            strip_delay,
            header,
            header_flits,
            startup_mode,
            ..plain()
        },
    )
}

const COMMON: &[Header] = &[Header::None, Header::BitString];
const ALL: &[Header] = &[Header::None, Header::BitString, Header::AllDestinations];

/// What the time of a path worm with so many stops depends on.
fn path_timing(config: EngineConfig, stops: usize, length: u32) -> WormTiming {
    let header = match config.header {
        Header::BitString => config.header_flits,
        Header::AllDestinations => stops as u32,
        _ => 0,
    };
    WormTiming {
        routing_delay: config.routing_delay,
        strip_delay: config.strip_delay,
        buffer: config.buffer,
        flits: length + header,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Rule 4: over D links to one stop, S + (D + 1)(r + 1) + L, plus the header flits.
    #[test]
    fn unicasts(config in configs(ALL), from in 0u32..24, to in 0u32..24, length in 1u32..60) {
        prop_assume!(from != to);
        let mesh = build("mesh:6x4");
        let log = run(&mesh, config, vec![(3, length, vec![path(from, &[to])])]);
        let hops = u64::from((from % 6).abs_diff(to % 6) + (from / 6).abs_diff(to / 6));
        let header = match config.header {
            Header::BitString => config.header_flits,
            // The address flit is stripped strip_delay + 1 cycles after it has come.
            Header::AllDestinations => config.strip_delay + 1,
            _ => 0,
        };
        let expected = u64::from(config.startup) + (hops + 1) * u64::from(config.routing_delay + 1)
            + u64::from(length + header);
        prop_assert_eq!(log.at(0, to), 3 + expected);
        prop_assert_eq!(log.deliveries[0].parts.blocking, 0);
        prop_assert_eq!(log.deliveries[0].parts.startup, u64::from(config.startup));
    }

    /// Several stops on one line: each at the closed form, and nothing counts as blocking.
    #[test]
    fn paths(config in configs(ALL), stops in prop::collection::btree_set(1u32..12, 1..6), length in 1u32..60) {
        let line = build("mesh:12");
        let stops: Vec<u32> = stops.into_iter().collect();
        let log = run(&line, config, vec![(0, length, vec![path(0, &stops)])]);
        let timing = path_timing(config, stops.len(), length);
        let last = *stops.last().unwrap();
        let strips = if config.header == Header::AllDestinations { &stops[..] } else { &[] };
        for delivery in &log.deliveries {
            let expected = u64::from(config.startup) + path_delivery(timing, strips, last + 1, delivery.node.raw());
            prop_assert_eq!(delivery.delivered, expected, "at {}", delivery.node);
            prop_assert_eq!(delivery.parts.blocking, 0);
        }
        prop_assert_eq!(log.deliveries.len(), stops.len());
    }

    /// Rules 21 and 22: the sixth dimension is crossed last, each over a link of its own delay; stops on the way.
    #[test]
    fn links_of_several_cycles(
        config in configs(ALL),
        delays in prop::collection::vec(1u32..8, 6),
        stops in prop::collection::btree_set(1u32..=6, 1..4),
        length in 1u32..60,
    ) {
        let cube = build("mesh:2x2x2x2x2x2");
        let delay = LinkDelay::of_classes(&delays).unwrap();
        // Router 2^k - 1 is behind k links.
        let nodes: Vec<u32> = stops.iter().map(|&links| (1 << links) - 1).collect();
        let stops: Vec<u32> = stops.into_iter().collect();
        let log = run(&cube, EngineConfig { delay, ..config }, vec![(0, length, vec![path(0, &nodes)])]);
        let timing = path_timing(config, stops.len(), length);
        let last = *stops.last().unwrap();
        let lags: Vec<u32> = delays[..last as usize].iter().map(|delay| delay - 1).collect();
        let strips = if config.header == Header::AllDestinations { &stops[..] } else { &[] };
        prop_assert_eq!(log.deliveries.len(), stops.len());
        for delivery in &log.deliveries {
            let links = delivery.node.raw().trailing_ones();
            let expected = u64::from(config.startup) + delayed_path_delivery(timing, &lags, strips, links);
            prop_assert_eq!(delivery.delivered, expected, "behind {} links", links);
            prop_assert_eq!(delivery.parts.blocking, 0);
        }
        // Buffers that take what is on the way back and forth: nothing but the delays is added.
        let most = delays.iter().max().unwrap();
        let header = if strips.is_empty() { timing.flits - length } else { config.strip_delay + 1 };
        if stops.len() == 1 && config.buffer >= 2 * most - 1 {
            let closed = u64::from(config.startup + (last + 1) * (config.routing_delay + 1) + length + header);
            prop_assert_eq!(log.deliveries[0].delivered, closed + u64::from(lags.iter().sum::<u32>()));
        }
    }

    /// With the same delay on all links, in closed form.
    #[test]
    fn bursts_over_links_of_one_delay(
        config in configs(&[Header::None]),
        (delay, links, length) in (1u32..9, 1u32..12, 1u32..60),
    ) {
        let line = build("mesh:12");
        let config = EngineConfig { delay: LinkDelay::all(delay), ..config };
        let log = run(&line, config, vec![(0, length, vec![path(0, &[links])])]);
        let bursts = (2 * delay - 1).saturating_sub(config.buffer) * ((length - 1) / config.buffer);
        let expected = config.startup + (links + 1) * (config.routing_delay + 1) + links * (delay - 1) + length + bursts;
        prop_assert_eq!(log.at(0, links), u64::from(expected));
    }

    /// Without lags, the recurrence is the closed form.
    #[test]
    fn links_of_one_cycle_are_a_special_case(
        config in configs(&[Header::None]),
        strips in prop::collection::btree_set(1u32..10, 0..4),
        (stop, flits) in (1u32..10, 5u32..80),
    ) {
        let timing = WormTiming {
            routing_delay: config.routing_delay,
            strip_delay: config.strip_delay,
            buffer: config.buffer,
            flits,
        };
        let strips: Vec<u32> = strips.into_iter().collect();
        let recurrence = delayed_path_delivery(timing, &[0; 9], &strips, stop);
        prop_assert_eq!(recurrence, path_delivery(timing, &strips, 10, stop));
    }

    /// A comb in lockstep: a trunk along the bottom row with a tooth up each column.
    #[test]
    fn lockstep_trees(
        config in configs(COMMON),
        mut teeth in prop::collection::vec(0u32..4, 4),
        last in 1u32..4,
        length in 1u32..60,
    ) {
        teeth.push(last);
        let mesh = build("mesh:5x4");
        let mut branches = Vec::new();
        let mut trunk = None;
        for (x, &height) in (0u32..).zip(&teeth) {
            if x > 0 {
                branches.push((x - 1, x, trunk, false));
                trunk = Some(branches.len() as u32 - 1);
            }
            let mut parent = trunk;
            for y in 1..=height {
                branches.push((x + 5 * (y - 1), x + 5 * y, parent, y == height || (x + y) % 2 == 0));
                parent = Some(branches.len() as u32 - 1);
            }
        }
        let log = run(&mesh, config, vec![(0, length, vec![tree(&mesh, 0, &branches)])]);
        let header = if config.header == Header::BitString { config.header_flits } else { 0 };
        let timing = WormTiming {
            routing_delay: config.routing_delay,
            strip_delay: config.strip_delay,
            buffer: config.buffer,
            flits: length + header,
        };
        // The height of router (x, y): up the tooth, or along the trunk and up a later one.
        let height = |x: u32, y: u32| match y {
            0 => (x..5).map(|t| t - x + teeth[t as usize]).max().unwrap(),
            _ => teeth[x as usize] - y,
        };
        prop_assert_eq!(log.deliveries.len(), branches.iter().filter(|branch| branch.3).count());
        for delivery in &log.deliveries {
            let (x, y) = (delivery.node.raw() % 5, delivery.node.raw() / 5);
            let up = (1..=y).rev().map(|y| height(x, y));
            let heights: Vec<u32> = up.chain((0..=x).rev().map(|x| height(x, 0))).collect();
            let expected = u64::from(config.startup) + lockstep_tree_delivery(timing, heights);
            prop_assert_eq!(delivery.delivered, expected, "at ({}, {})", x, y);
            prop_assert_eq!(delivery.parts.blocking, 0);
        }
        let _ = node;
    }
}
