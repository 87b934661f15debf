//! What is said of the memory that a network takes holds. A test binary of its own, as it counts what its allocator is asked for.

use wormcast_network::TopologySpec;

/// The peak of building every family is at most what is said, and not so much less that networks would be refused that fit.
#[test]
fn building_takes_as_much_memory_as_is_said() {
    for (text, slack) in [
        ("mesh:200x300", 1.1),
        ("mesh:30x1x40x20", 1.1),
        ("torus:150x150", 1.1),
        ("mesh:60x60,nodes=4", 1.1),
        ("torus:2x2x2x2x2x2x2x2x2x2x2x2", 1.1),
        ("hypercube:14", 1.1),
        ("bmin:4x6", 2.0),
        ("bmin:16x3", 2.0),
        ("dragonfly:p=4,a=16,h=8", 2.0),
        ("hyperx:40x40,nodes=8", 2.0),
        ("slimfly:q=43,nodes=8", 2.0),
        ("butterfly:4x6", 2.0),
        ("omega:2x12", 2.0),
        ("random:nodes=20000,degree=4,seed=1", 3.0),
        ("random:nodes=3000,degree=64,seed=1", 3.0),
        ("random:nodes=700,degree=650,seed=1", 3.0),
        ("regular:nodes=30000,degree=3,seed=1", 3.0),
        ("regular:nodes=3000,degree=40,seed=1", 3.0),
        ("small-world:nodes=20000,degree=6,rewire=0.1,seed=1", 3.0),
        ("tree:nodes=60000,seed=1", 2.0),
        ("ring:60000", 2.0),
        ("complete:500", 2.0),
    ] {
        let spec: TopologySpec = text.parse().unwrap();
        let said = spec.memory().unwrap();
        let mut network = None;
        let peak = allocation_counter::measure(|| network = Some(spec.build().unwrap())).bytes_max;
        let channels = network.map_or(0, |network| network.channels());
        println!("{text}: {said} bytes said, {peak} taken, {:.1} a channel", peak as f64 / channels as f64);
        assert!(peak <= said + 4096, "{text} takes {peak} bytes, not {said}");
        assert!(peak as f64 * slack >= said as f64, "{text} takes {peak} bytes, and is said to take {said}");
    }
}
