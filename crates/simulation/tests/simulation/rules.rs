//! Every numbered rule of the model, each on a case small enough to work by hand. Unless a test says otherwise: r = 1, S = 0,
//! one-flit buffers, one injection and one consumption channel, no header flits, e-cube.

use wormcast_multicast::{Algorithm, Multicast, Options, Plan, algorithm_by_name};
use wormcast_network::{ChannelSpace, Ports, parse_edge_list};
use wormcast_routing::{ECube, NegativeFirst, RoutingOptions, routing_by_name};
use wormcast_simulation::{
    BranchReplication, Cycle, Engine, EngineConfig, FlitEngine, Header, LinkDelay, Reservation, StartupMode, StopReason,
};

use crate::support::{Log, build, link, node, path, plain, run, run_with, tree, unicast};

fn ports(injection: u32, consumption: u32) -> Ports {
    Ports { injection, consumption }
}

/// Phases of a cycle: a message generated in t starts, is granted its injection channel and crosses it in t.
#[test]
fn rule_01_everything_up_to_movement_happens_in_the_cycle_of_generation() {
    let line = build("mesh:2");
    let space = ChannelSpace::new(&line, ports(1, 1));
    let injection = space.injection(node(0)).next().unwrap();
    let log = run(&line, plain(), vec![(7, 2, vec![unicast(0, 1)])]);
    assert_eq!(log.starts[&0], 7);
    assert_eq!(log.grant(0, injection), 7);
    assert_eq!(log.crossed(0, injection, 1), 7);
}

/// A flit moves one channel a cycle at most; the delivery counts from the end of the last flit's cycle.
#[test]
fn rule_02_a_flit_leaves_a_buffer_the_cycle_after_it_came_and_delivery_is_a_cycle_later() {
    let line = build("mesh:2");
    let config = EngineConfig { routing_delay: 0, ..plain() };
    let space = ChannelSpace::new(&line, ports(1, 1));
    let injection = space.injection(node(0)).next().unwrap();
    let consumption = space.consumption(node(1)).next().unwrap();
    let log = run(&line, config, vec![(0, 3, vec![unicast(0, 1)])]);
    for flit in 1..=3 {
        let at = Cycle::from(flit) - 1;
        assert_eq!(log.crossed(0, injection, flit), at);
        assert_eq!(log.crossed(0, link(&line, 0, 1), flit), at + 1);
        assert_eq!(log.crossed(0, consumption, flit), at + 2);
    }
    // Flit 3 is consumed in cycle 4.
    assert_eq!(log.at(0, 1), 5);
}

/// r = 3: injected in 0, requests in 0 + 1 + 3; enters router 1 in 4, requests in 8; enters router 2 in 8, consumed from 12 on.
#[test]
fn rule_03_a_header_requests_r_plus_one_cycles_after_it_came_in_every_router() {
    let line = build("mesh:3");
    let config = EngineConfig { routing_delay: 3, ..plain() };
    let consumption = ChannelSpace::new(&line, ports(1, 1)).consumption(node(2)).next().unwrap();
    let log = run(&line, config, vec![(0, 1, vec![unicast(0, 2)])]);
    assert_eq!(log.grant(0, link(&line, 0, 1)), 4);
    assert_eq!(log.grant(0, link(&line, 1, 2)), 8);
    assert_eq!(log.grant(0, consumption), 12);
}

/// S + (D + 1)(r + 1) + L = 10 + 4 * 5 + 7; with a three-flit header three more.
#[test]
fn rule_04_zero_load_latency() {
    let line = build("mesh:4");
    let config = EngineConfig { startup: 10, routing_delay: 4, ..plain() };
    assert_eq!(run(&line, config, vec![(0, 7, vec![unicast(0, 3)])]).at(0, 3), 37);
    let config = EngineConfig { header: Header::BitString, header_flits: 3, ..config };
    assert_eq!(run(&line, config, vec![(0, 7, vec![unicast(0, 3)])]).at(0, 3), 40);
}

/// S = 10. Node 1 prepares worm 0 in 0..10 and worm 1 in 10..20, although worm 0 waits for nothing then. Worm 2, which worm 0's
/// delivery makes ready at node 0, is ready before message 1's worm 3 and goes first.
#[test]
fn rule_05_serial_startups_wait_in_order_and_do_not_hold_the_processor_afterwards() {
    let line = build("mesh:4");
    let config = EngineConfig { startup: 10, ..plain() };
    let forwarded = unicast(0, 1);
    let log = run(
        &line,
        config,
        vec![
            (0, 30, vec![unicast(1, 0), unicast(1, 2), unicast(0, 3).after(0)]),
            (5, 30, vec![unicast(1, 3)]),
            (45, 3, vec![forwarded]),
        ],
    );
    assert_eq!(log.starts[&0], 0);
    // Worm 0 is in transmission from 10 to 40; the processor goes on.
    assert_eq!(log.starts[&1], 10);
    assert_eq!(log.starts[&3], 20);
    // Worm 0 delivers at S + 2(r + 1) + 30 = 44: ready in 44, so before the message of cycle 45.
    assert_eq!(log.at(0, 0), 44);
    assert_eq!((log.starts[&2], log.starts[&4]), (44, 54));
    // One injection channel: worm 1, prepared in 20, gets it when worm 0's tail has left the injection buffer.
    let injection = ChannelSpace::new(&line, ports(1, 1)).injection(node(1)).next().unwrap();
    assert_eq!(log.grant(1, injection), log.releases[&(0, injection.raw())].0 + 1);
}

/// Two ports, S = 10, three worms: ports 0 and 1 at once, both held through the startup; the third takes the port that frees
/// first, the cycle after the tail has left the injection buffer.
#[test]
fn rule_06_per_port_startups_hold_their_port() {
    let cross = build("mesh:3x3");
    let config = EngineConfig { startup: 10, startup_mode: StartupMode::PerPort, ports: ports(2, 1), ..plain() };
    let injection: Vec<_> = ChannelSpace::new(&cross, ports(2, 1)).injection(node(4)).collect();
    let log = run(&cross, config, vec![(0, 20, vec![unicast(4, 3), unicast(4, 5), unicast(4, 1)])]);
    assert_eq!((log.grant(0, injection[0]), log.grant(1, injection[1])), (0, 0));
    assert_eq!(log.crossed(0, injection[0], 1), 10);
    // The header leaves the injection buffer in 12 and the next one in 14; flit j leaves the former in 14 + (j - 1) - 1.
    assert_eq!(log.releases[&(0, injection[0].raw())], (32, 20));
    assert_eq!((log.starts[&2], log.grant(2, injection[0])), (33, 33));
    assert_eq!(log.crossed(2, injection[0], 1), 43);
}

/// Worm 0 delivers at 0 + 2 * 2 + 5 = 9; with a receive overhead of 4, worm 1 is ready in 13.
#[test]
fn rule_07_a_triggered_worm_is_ready_when_its_trigger_is_delivered() {
    let line = build("mesh:3");
    let messages = || vec![(0, 5, vec![unicast(0, 1), unicast(1, 2).after(0)])];
    let log = run(&line, plain(), messages());
    assert_eq!((log.at(0, 1), log.starts[&1], log.at(1, 2)), (9, 9, 18));
    let log = run(&line, EngineConfig { receive_overhead: 4, ..plain() }, messages());
    assert_eq!((log.starts[&1], log.at(1, 2)), (13, 22));
    let last = log.deliveries.last().unwrap();
    assert_eq!((last.parts.startup, last.parts.network, last.parts.blocking), (4, 18, 0));
}

/// Two nodes send over the same link: the second worm gets it in the cycle after the first one's tail has left the buffer at its
/// end, and the consumption channel in the cycle after the tail has crossed it.
#[test]
fn rule_08_channels_can_be_granted_again_the_cycle_after_the_tail_left() {
    let line = build("mesh:3");
    let space = ChannelSpace::new(&line, ports(1, 1));
    let consumption = space.consumption(node(2)).next().unwrap();
    let shared = link(&line, 1, 2);
    let log = run(&line, plain(), vec![(0, 6, vec![unicast(1, 2)]), (0, 6, vec![unicast(0, 2)])]);
    // Worm 0: link requested in 2, header in the buffer until it requests in 4; the tail leaves the buffer in 4 + 5 = 9.
    assert_eq!(log.crossed(0, consumption, 6), 9);
    assert_eq!(log.releases[&(0, shared.raw())].0, 9);
    assert_eq!(log.releases[&(0, consumption.raw())].0, 9);
    // Worm 1 requested the link in 4.
    assert_eq!(log.grant(1, shared), 10);
    assert_eq!(log.at(1, 2), 18);
    // Two worms that want the same consumption channel from two sides.
    let log = run(&line, plain(), vec![(0, 6, vec![unicast(0, 1)]), (0, 6, vec![unicast(2, 1)])]);
    let consumption = space.consumption(node(1)).next().unwrap();
    assert_eq!((log.grant(0, consumption), log.releases[&(0, consumption.raw())].0), (4, 9));
    assert_eq!(log.grant(1, consumption), 10);
}

/// Two consumption channels: two worms at once if they are free to choose, one after the other if both are bound to one class.
#[test]
fn rule_09_ports_are_pools_unless_a_worm_is_bound_to_a_class() {
    let line = build("mesh:3");
    let config = EngineConfig { ports: ports(1, 2), ..plain() };
    let pool: Vec<_> = ChannelSpace::new(&line, ports(1, 2)).consumption(node(1)).collect();
    let log = run(&line, config, vec![(0, 6, vec![unicast(0, 1)]), (0, 6, vec![unicast(2, 1)])]);
    assert_eq!((log.grant(0, pool[0]), log.grant(1, pool[1])), (4, 4));
    let bound = |from| {
        let mut worm = unicast(from, 1);
        worm.consumption_class = Some(1);
        worm
    };
    let log = run(&line, config, vec![(0, 6, vec![bound(0)]), (0, 6, vec![bound(2)])]);
    assert_eq!((log.grant(0, pool[1]), log.grant(1, pool[1])), (4, 10));
}

/// Worm 0 holds the only consumption channel of node 4. Worm 1 wants it together with the link to node 5 and is first in the
/// link's queue: it gets neither before it can have both. Worm 2, which only wants the link, has to wait behind it although the
/// link is free; worm 3, which wants another link, does not.
#[test]
fn rule_10_links_serve_the_head_of_their_queue_and_requests_get_all_or_nothing() {
    let mesh = build("mesh:3x3");
    let config = EngineConfig { ports: ports(2, 1), ..plain() };
    let consumption = ChannelSpace::new(&mesh, ports(2, 1)).consumption(node(4)).next().unwrap();
    let (east, north) = (link(&mesh, 4, 5), link(&mesh, 4, 7));
    let log = run(
        &mesh,
        config,
        vec![
            (0, 20, vec![unicast(1, 4)]),
            (1, 5, vec![path(3, &[4, 5])]),
            (4, 5, vec![unicast(4, 5)]),
            (4, 5, vec![unicast(4, 7)]),
        ],
    );
    // Worm 0 is consumed from 4 to 23. Worm 1 asks in 5, worms 2 and 3 in 6.
    assert_eq!((log.grant(0, consumption), log.releases[&(0, consumption.raw())].0), (4, 23));
    assert_eq!((log.grant(1, consumption), log.grant(1, east)), (24, 24));
    assert_eq!(log.grant(2, east), log.releases[&(1, east.raw())].0 + 1);
    assert_eq!(log.grant(3, north), 6);
}

/// Pools serve the oldest request that can be granted in full: worm 1 is first at node 4's consumption channel, but its link is
/// taken; worm 2 needs the consumption channel alone and goes first.
#[test]
fn rule_10_pools_pass_over_requests_that_cannot_be_granted_in_full() {
    let mesh = build("mesh:3x3");
    let consumption = ChannelSpace::new(&mesh, ports(1, 1)).consumption(node(4)).next().unwrap();
    let east = link(&mesh, 4, 5);
    let log = run(
        &mesh,
        plain(),
        vec![(0, 30, vec![unicast(4, 5)]), (0, 5, vec![path(3, &[4, 5])]), (1, 5, vec![unicast(7, 4)])],
    );
    // Worm 0 has the link from 2 on; worm 1 asks in 4, worm 2 in 5.
    assert_eq!(log.grant(0, east), 2);
    assert_eq!(log.grant(2, consumption), 5);
    assert_eq!(log.grant(1, east), log.releases[&(0, east.raw())].0 + 1);
}

/// Two worms ask for the same free link in the same cycle: the smaller id gets it. A third, adaptive, worm asks for that link and
/// another: it is granted the other, leaves the first one's queue, and whoever stood behind it moves up in the same pass.
#[test]
fn rule_11_one_pass_in_the_order_of_cycle_and_id_sees_its_own_removals() {
    let mesh = build("mesh:4x4");
    // Worm 0 holds 5 -> 4 (west of router 5). Worm 1, to node 0, waits at 5 in the queues of west and south, south being held
    // by worm 2. Worm 3, to 4, waits behind worm 1 for west. When south frees first, worm 1 takes it; when west frees, worm 3
    // is the head.
    let messages = vec![
        (0, 60, vec![unicast(5, 4)]),
        (1, 5, vec![unicast(6, 0)]),
        (0, 30, vec![unicast(9, 1)]),
        (2, 5, vec![unicast(6, 4)]),
    ];
    let config = EngineConfig { ports: ports(4, 4), ..plain() };
    let mut ordered = messages;
    ordered.sort_by_key(|message| message.0);
    let (log, progress) = run_with(&NegativeFirst::new(&mesh).unwrap(), config, ordered);
    assert_eq!(progress, StopReason::EndReached);
    let (west, south) = (link(&mesh, 5, 4), link(&mesh, 5, 1));
    // Sorted by cycle, the ids are: 0 (5 to 4), 1 (9 to 1), 2 (6 to 0), 3 (6 to 4).
    let south_free = log.releases[&(1, south.raw())].0;
    assert_eq!(log.grant(2, south), south_free + 1);
    assert!(!log.grants.contains_key(&(2, west.raw())));
    assert_eq!(log.grant(3, west), log.releases[&(0, west.raw())].0 + 1);

    // Same cycle, same link: by id.
    let line = build("mesh:3");
    let log =
        run(&line, EngineConfig { ports: ports(2, 2), ..plain() }, vec![(0, 4, vec![unicast(1, 2), unicast(1, 2)])]);
    assert_eq!(log.grant(0, link(&line, 1, 2)), 2);
    assert_eq!(log.grant(1, link(&line, 1, 2)), log.releases[&(0, link(&line, 1, 2).raw())].0 + 1);
}

/// From (2,2) to (1,1) both west and south are productive and west is preferred; if west is taken, south is granted at once.
/// To (1,3), north is no candidate before the move west is done.
#[test]
fn rule_12_negative_first_prefers_x_and_adapts_and_moves_up_only_after_all_moves_down() {
    let mesh = build("mesh:4x4");
    let config = EngineConfig { ports: ports(4, 4), ..plain() };
    let go = |messages| run_with(&NegativeFirst::new(&mesh).unwrap(), config, messages).0;
    let (west, south, north) = (link(&mesh, 10, 9), link(&mesh, 10, 6), link(&mesh, 10, 14));
    assert_eq!(go(vec![(0, 5, vec![unicast(10, 5)])]).grant(0, west), 2);
    let log = go(vec![(0, 50, vec![unicast(10, 9)]), (0, 5, vec![unicast(10, 5)])]);
    assert_eq!((log.grant(0, west), log.grant(1, south)), (2, 2));
    let log = go(vec![(0, 50, vec![unicast(10, 9)]), (0, 5, vec![unicast(10, 13)])]);
    assert!(!log.grants.contains_key(&(1, north.raw())));
    assert_eq!(log.grant(1, west), log.releases[&(0, west.raw())].0 + 1);
}

/// Two stops, 5 data flits. Nothing in front: 5 flits everywhere. A bit string of 3: 8 flits everywhere, consumed too. All
/// destinations: two address flits cross the first link, one the second; consumption channels carry data alone.
#[test]
fn rule_13_which_flits_cross_which_channels() {
    let line = build("mesh:3");
    let space = ChannelSpace::new(&line, ports(1, 1));
    let channels = |log: &Log| {
        let first = link(&line, 0, 1);
        let consumption = |id| space.consumption(node(id)).next().unwrap();
        [first, link(&line, 1, 2), consumption(1), consumption(2)].map(|channel| log.releases[&(0, channel.raw())].1)
    };
    let go =
        |header| run(&line, EngineConfig { header, header_flits: 3, ..plain() }, vec![(0, 5, vec![path(0, &[1, 2])])]);
    assert_eq!(channels(&go(Header::None)), [5, 5, 5, 5]);
    assert_eq!(channels(&go(Header::BitString)), [8, 8, 8, 8]);
    let log = go(Header::AllDestinations);
    assert_eq!(channels(&log), [7, 6, 5, 5]);
    // The stop's consumption channel is held from the request on, before the second address flit has passed.
    let (next, consumption) = (link(&line, 1, 2), space.consumption(node(1)).next().unwrap());
    assert_eq!(log.grant(0, consumption), log.grant(0, next));
    assert!(log.grant(0, consumption) < log.crossed(0, consumption, 3));
}

/// r = 2, strip delay 3. The first address flit enters router 1 in a = 3 and is stripped in a + 1 + 3 = 7; the next flit enters in
/// that cycle (one-flit buffer) and requests in a + 3 + 2 + 2 = 10. It enters router 2 in 10, is stripped in 14, and the first
/// data flit requests consumption in 17.
#[test]
fn rule_14_address_flits_are_stripped_where_they_name() {
    let line = build("mesh:3");
    let config = EngineConfig { routing_delay: 2, strip_delay: 3, header: Header::AllDestinations, ..plain() };
    let space = ChannelSpace::new(&line, ports(1, 1));
    let log = run(&line, config, vec![(0, 4, vec![path(0, &[1, 2])])]);
    let (first, second) = (link(&line, 0, 1), link(&line, 1, 2));
    assert_eq!(log.crossed(0, first, 1), 3);
    assert_eq!(log.crossed(0, first, 2), 7);
    assert_eq!((log.grant(0, second), log.crossed(0, second, 2)), (10, 10));
    assert_eq!(log.crossed(0, second, 3), 14);
    assert_eq!(log.grant(0, space.consumption(node(2)).next().unwrap()), 17);
    // Four data flits from 17 on.
    assert_eq!(log.at(0, 2), 21);
    // With deep buffers the second flit is there early, and requests no earlier.
    let log = run(&line, EngineConfig { buffer: 8, ..config }, vec![(0, 4, vec![path(0, &[1, 2])])]);
    assert_eq!((log.crossed(0, first, 2), log.grant(0, second)), (4, 10));
}

/// To node 2 and then back to node 1: the worm passes node 1 on the way and delivers there only on its second visit.
#[test]
fn rule_15_a_path_delivers_at_the_first_visit_of_the_next_stop() {
    let line = build("mesh:3");
    let config = EngineConfig { ports: ports(1, 4), ..plain() };
    let log = run(&line, config, vec![(0, 3, vec![path(0, &[2, 1])])]);
    // 0 -> 1 -> 2 -> 1: the header requests at node 2 in 6 and at node 1, for the second time, in 8.
    let consumption = ChannelSpace::new(&line, ports(1, 4)).consumption(node(1)).next().unwrap();
    assert_eq!(log.grant(0, consumption), 8);
    assert!(log.at(0, 2) < log.at(0, 1));
}

/// 0 -> 1, where the tree splits to 2 (east) and 4 (north): a flit that names router 1, one that names 2, one that names 4, then
/// data. Router 1's flit enters in 2, requests both branches in 2 + 1 + r = 4 and is stripped in that cycle, in which the next
/// one enters. It names 2 and leaves in 5 to the east while the north idles; the third leaves in 6 to the north while the east
/// idles; the data leaves from 7 on to both.
#[test]
fn rule_16_tree_headers_are_stripped_at_the_grant_and_go_only_where_they_lead() {
    let mesh = build("mesh:3x2");
    let config = EngineConfig { header: Header::Tree, ports: ports(1, 2), ..plain() };
    let branches = [(0, 1, None, false), (1, 2, Some(0), true), (1, 4, Some(0), true)];
    let log = run(&mesh, config, vec![(0, 3, vec![tree(&mesh, 0, &branches)])]);
    let (trunk, east, north) = (link(&mesh, 0, 1), link(&mesh, 1, 2), link(&mesh, 1, 4));
    assert_eq!(log.releases[&(0, trunk.raw())].1, 6);
    assert_eq!((log.releases[&(0, east.raw())].1, log.releases[&(0, north.raw())].1), (4, 4));
    assert_eq!((log.crossed(0, trunk, 1), log.crossed(0, trunk, 2)), (2, 4));
    assert_eq!((log.grant(0, east), log.grant(0, north)), (4, 4));
    // Flits are counted by their place at the router that they leave: the one that names router 1 is the first.
    assert_eq!((log.crossed(0, east, 2), log.crossed(0, north, 3)), (5, 6));
    // Router 2's flit enters in 5, requests in 7, is stripped in 7, and frees its buffer for the first data flit; router 4's
    // enters in 6, is stripped in 8. Data needs both buffers: the first flit goes in 8.
    assert_eq!((log.crossed(0, east, 4), log.crossed(0, north, 4)), (8, 8));
    assert_eq!((log.at(0, 2), log.at(0, 4)), (12, 12));
}

/// The same tree with 6 data flits, while worm 0 holds the north branch for long. In lockstep the east waits as well. Independent
/// branches with separate reservation: the east starts at once and stops when the single buffer at router 1 still has to be
/// copied to the north. With atomic reservation neither starts.
#[test]
fn rule_17_lockstep_and_independent_branches() {
    let mesh = build("mesh:3x2");
    let branches = [(0, 1, None, false), (1, 2, Some(0), true), (1, 4, Some(0), true)];
    let (east, north) = (link(&mesh, 1, 2), link(&mesh, 1, 4));
    let go = |replication, reservation, buffer| {
        let config = EngineConfig { replication, reservation, buffer, ports: ports(2, 2), ..plain() };
        run(&mesh, config, vec![(0, 40, vec![unicast(1, 4)]), (0, 6, vec![tree(&mesh, 0, &branches)])])
    };
    let free = |log: &Log| log.releases[&(0, north.raw())].0 + 1;
    for (replication, reservation) in
        [(BranchReplication::Lockstep, Reservation::Atomic), (BranchReplication::Independent, Reservation::Atomic)]
    {
        let log = go(replication, reservation, 1);
        assert_eq!((log.grant(1, east), log.grant(1, north)), (free(&log), free(&log)), "{replication:?}");
    }
    // Separate: asked for in 4; the header crosses in 4 and its copy to the north waits in the only buffer.
    let log = go(BranchReplication::Independent, Reservation::Separate, 1);
    assert_eq!((log.grant(1, east), log.crossed(1, east, 1)), (4, 4));
    assert_eq!(log.grant(1, north), free(&log));
    assert_eq!(log.crossed(1, north, 1), free(&log));
    // The slot frees in the cycle of the last copy: the second flit enters router 1 in that cycle and leaves in the next.
    assert_eq!(log.crossed(1, link(&mesh, 0, 1), 2), free(&log));
    assert_eq!(log.crossed(1, east, 2), free(&log) + 1);
    // With room for the whole message the east is served long before.
    let log = go(BranchReplication::Independent, Reservation::Separate, 6);
    assert_eq!(log.at(1, 2), 4 + 2 + 6);
    assert!(log.at(1, 4) > free(&log));
}

/// Two worms of 10 flits over one link with two virtual channels: they take turns, and both finish at about the time that one
/// after the other would take. With one virtual channel the second waits for the first.
#[test]
fn rule_18_virtual_channels_take_turns_on_their_link() {
    let line = build("mesh:3");
    let shared = link(&line, 1, 2);
    let go = |virtual_channels| {
        let config = EngineConfig { virtual_channels, ports: ports(2, 2), buffer: 4, ..plain() };
        run(&line, config, vec![(0, 10, vec![unicast(1, 2), unicast(1, 2)])])
    };
    let log = go(2);
    assert_eq!((log.grant(0, shared), log.grant(1, shared)), (2, 2));
    for flit in 1..=10 {
        assert_eq!(log.crossed(0, shared, flit), 2 + 2 * (Cycle::from(flit) - 1));
        assert_eq!(log.crossed(1, shared, flit), 3 + 2 * (Cycle::from(flit) - 1));
    }
    let log = go(1);
    assert_eq!(log.grant(1, shared), log.releases[&(0, shared.raw())].0 + 1);
    assert_eq!(log.crossed(0, shared, 10), 11);
}

/// Parallel links are distinct channels: in a torus of two rows both links between two routers carry worms at once, and the
/// release of one says nothing of the other.
#[test]
fn rule_18_parallel_links_are_distinct() {
    let torus = build("torus:2x1");
    let log = run(&torus, plain(), vec![(0, 4, vec![unicast(0, 1)]), (0, 4, vec![unicast(1, 0)])]);
    assert_eq!((log.at(0, 1), log.at(1, 0)), (8, 8));
    assert_eq!(torus.links(), 2);
}

/// Too few consumption channels for multidestination worms: two worms that deliver to each other's stops block each other. The
/// engine names the cycle instead of hanging, and the static check has said so beforehand.
#[test]
fn deadlock_is_reported_with_its_cycle_and_was_predicted() {
    let mesh = build("mesh:8x8");
    let dual = algorithm_by_name("dual-path", &mesh, &Options::default()).unwrap();
    let dead = |consumption| deadlock_of(&mesh, dual.as_ref(), consumption);
    let progress = dead(1);
    let StopReason::Deadlock(deadlock) = progress else { panic!("one consumption channel is too few: {progress:?}") };
    assert!(deadlock.cycle.len() >= 2 && deadlock.dead >= deadlock.cycle.len());
    for (position, worm) in deadlock.cycle.iter().enumerate() {
        let next = &deadlock.cycle[(position + 1) % deadlock.cycle.len()];
        let held = |wanted: &String| {
            next.holds
                .iter()
                .any(|held| held == wanted || held.strip_prefix(wanted.as_str()).is_some_and(|r| r.starts_with('[')))
        };
        let queued_behind = |wanted: &String| next.waits_for.contains(wanted);
        assert!(
            worm.waits_for.iter().any(|wanted| held(wanted) || queued_behind(wanted)),
            "worm {} waits for nothing that worm {} holds or is ahead of it for: {deadlock:?}",
            worm.worm,
            next.worm
        );
    }
    assert!(dual.dependencies().deadlock(1).is_some());
    assert_eq!(dead(4), StopReason::EndReached);
    assert!(dual.dependencies().deadlock(4).is_none());
}

/// Flit 1 enters the one-flit buffer behind the link in 2 and leaves it in 4, when its header is granted the consumption channel: flit 2
/// crosses the link in that very cycle, and so on at a flit a cycle. A second slot is free from the beginning.
#[test]
fn rule_20_a_slot_that_frees_in_a_cycle_takes_a_flit_in_it() {
    let line = build("mesh:3");
    let space = ChannelSpace::new(&line, ports(1, 1));
    let (injection, shared) = (space.injection(node(1)).next().unwrap(), link(&line, 1, 2));
    let consumption = space.consumption(node(2)).next().unwrap();
    let crossings = |buffer: u32, channel| {
        let config = EngineConfig { buffer, ..plain() };
        let log = run(&line, config, vec![(0, 6, vec![unicast(1, 2)])]);
        (1..=6).map(|flit| log.crossed(0, channel, flit)).collect::<Vec<_>>()
    };
    assert_eq!(crossings(1, injection), [0, 2, 4, 5, 6, 7]);
    assert_eq!(crossings(1, shared), [2, 4, 5, 6, 7, 8]);
    assert_eq!(crossings(1, consumption), [4, 5, 6, 7, 8, 9]);
    assert_eq!(crossings(2, injection), [0, 1, 2, 3, 4, 5]);
    assert_eq!(crossings(2, shared), [2, 3, 4, 5, 6, 7]);
    assert_eq!(crossings(2, consumption), [4, 5, 6, 7, 8, 9]);
}

/// All nodes broadcast at once.
fn deadlock_of(mesh: &wormcast_network::Network, algorithm: &dyn Algorithm, consumption: u32) -> StopReason {
    let config = EngineConfig { ports: ports(4, consumption), ..plain() };
    let mut engine = FlitEngine::new(algorithm.routing(), config, Log::<true>::default());
    let all: Vec<_> = (0..mesh.nodes() as u32).map(node).collect();
    for (message, &source) in (0..).zip(&all) {
        let multicast = Multicast::new(source, &all);
        let plan: Plan = algorithm.plan(&multicast);
        engine.submit(0, message, 20, plan);
    }
    let progress = engine.run_until(Cycle::MAX);
    if progress == StopReason::EndReached {
        assert!(engine.is_empty());
        assert_eq!(engine.observer().deliveries.len(), all.len() * (all.len() - 1));
    }
    progress
}

/// Two links of three cycles, and buffers that let a worm stream over them.
#[test]
fn rule_21_a_flit_comes_to_the_end_of_a_link_after_its_delay() {
    let line = build("mesh:3");
    let config = EngineConfig { delay: LinkDelay::all(3), buffer: 5, ..plain() };
    let log = run(&line, config, vec![(0, 3, vec![unicast(0, 2)])]);
    let consumption = ChannelSpace::new(&line, ports(1, 1)).consumption(node(2)).next().unwrap();
    for flit in 1..=3 {
        let after = Cycle::from(flit) - 1;
        // Across in 2, it comes in 4, and the header makes its request in 4 + 1 + r.
        assert_eq!(log.crossed(0, link(&line, 0, 1), flit), 2 + after);
        assert_eq!(log.crossed(0, link(&line, 1, 2), flit), 6 + after);
        assert_eq!(log.crossed(0, consumption, flit), 10 + after);
    }
    assert_eq!(log.at(0, 2), 13);
}

/// A buffer of one flit behind a link of three cycles: five from flit to flit.
#[test]
fn rule_22_a_free_slot_is_known_before_a_link_after_its_delay() {
    let line = build("mesh:2");
    let at = |buffer| {
        let config = EngineConfig { delay: LinkDelay::all(3), buffer, ..plain() };
        let log = run(&line, config, vec![(0, 6, vec![unicast(0, 1)])]);
        (1..=6).map(|flit| log.crossed(0, link(&line, 0, 1), flit)).collect::<Vec<_>>()
    };
    // The first leaves the buffer in 6, which is known in 8.
    assert_eq!(at(1), [2, 8, 13, 18, 23, 28]);
    assert_eq!(at(2), [2, 3, 8, 9, 13, 14]);
    assert_eq!(at(5), [2, 3, 4, 5, 6, 8], "the header waits r cycles longer than what follows it");
    assert_eq!(at(6), [2, 3, 4, 5, 6, 7]);
}

#[test]
fn rule_23_a_link_can_be_granted_again_after_its_delay() {
    let line = build("mesh:2");
    let config = EngineConfig { delay: LinkDelay::all(3), buffer: 8, ..plain() };
    let log = run(&line, config, vec![(0, 3, vec![unicast(0, 1)]), (0, 3, vec![unicast(0, 1)])]);
    let over = link(&line, 0, 1);
    // Across in 2, 3 and 4, out of the buffer behind it in 6, 7 and 8.
    assert_eq!((log.crossed(0, over, 3), log.grant(1, over)), (4, 8 + 3));
    let short = run(
        &line,
        EngineConfig { delay: LinkDelay::all(1), ..config },
        vec![(0, 3, vec![unicast(0, 1)]), (0, 3, vec![unicast(0, 1)])],
    );
    assert_eq!(short.grant(1, over), 6 + 1);
}

/// Delays of each dimension, of a dragonfly's links between groups, and from a file.
#[test]
fn rule_25_links_have_delays_and_ports_do_not() {
    let delivered = |topology: &str, delays: &[u32], from, to| {
        let network = build(topology);
        let delay = LinkDelay::of_classes(delays).unwrap();
        let routing = routing_by_name("minimal", &network, &RoutingOptions::default());
        let routing = routing.unwrap_or_else(|_| Box::new(ECube::new(&network).unwrap()));
        let config = EngineConfig { delay, buffer: 64, virtual_channels: 2, ..plain() };
        run_with(routing.as_ref(), config, vec![(0, 4, vec![unicast(from, to)])]).0.at(0, to)
    };
    // Two links along x, one along y.
    assert_eq!(delivered("mesh:4x4", &[3, 10], 0, 6), 4 * 2 + 4 + 2 * 2 + 9);
    assert_eq!(delivered("mesh:4x4", &[7], 0, 6), 4 * 2 + 4 + 3 * 6);
    // Within a group, and to the next one by the router that has the link.
    assert_eq!(delivered("dragonfly:p=1,a=2,h=1", &[4, 20], 0, 1), 2 * 2 + 4 + 3);
    assert_eq!(delivered("dragonfly:p=1,a=2,h=1", &[4, 20], 0, 2), 2 * 2 + 4 + 19);
    let file = parse_edge_list("line", "0 1 6\n1 2\n2 3 3").unwrap();
    let routing = routing_by_name("up-down", &file, &RoutingOptions::default()).unwrap();
    let at = |delay: LinkDelay| {
        let config = EngineConfig { delay: delay.on(&file), buffer: 64, ..plain() };
        run_with(routing.as_ref(), config, vec![(0, 4, vec![unicast(0, 3)])]).0.at(0, 3)
    };
    assert_eq!(at(LinkDelay::default()), 4 * 2 + 4 + 5 + 2);
    assert_eq!(at(LinkDelay::all(1)), 4 * 2 + 4, "what is given takes the place of the file's");
}
