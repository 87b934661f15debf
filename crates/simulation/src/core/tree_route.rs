//! Tree worms before they leave: their vertices, and which header flit goes where.

use wormcast_multicast::Tree;
use wormcast_network::{ChannelId, Network, NodeId, RouterId};

use super::arbiter::NONE;
use super::worm::{Address, TreeDelivery, TreeRoute, TreeVertex, UNKNOWN, Worm};

/// The header flits of a tree that has one for each destination and each router where it splits.
pub(crate) fn header_flits(tree: &Tree) -> u32 {
    let branches_from = |parent| tree.branches.iter().filter(|branch| branch.parent == parent).count();
    let named = (0..tree.branches.len())
        .filter(|&i| !tree.branches[i].delivers.is_empty() || branches_from(Some(i as u32)) > 1);
    named.count() as u32 + u32::from(!tree.delivers.is_empty() || branches_from(None) > 1)
}

/// The route of a tree worm that starts at `source`, before anything of it is granted.
pub(crate) fn route(
    network: &Network,
    source: RouterId,
    tree: &Tree,
    worm: &Worm,
    length: u32,
    scripted: bool,
) -> TreeRoute {
    let mut deliveries = Vec::new();
    let mut vertex = |parent, entered_by, delivers: &[NodeId], place: u32| TreeVertex {
        departs: UNKNOWN,
        parent,
        first_child: NONE,
        sibling: NONE,
        entered_by,
        virtual_channel: 0,
        height: 0,
        deliveries: {
            let first = deliveries.len() as u32;
            let waiting = |&node| TreeDelivery { vertex: place, node, channel: ChannelId::new(NONE), departs: UNKNOWN };
            deliveries.extend(delivers.iter().map(waiting));
            (first, deliveries.len() as u32)
        },
        total: worm.flits,
        reserved: false,
        granted: false,
        script: Vec::new(),
    };
    // Vertex 0 is the processor, 1 the source's router, 2 + i the router that branch i enters.
    let nowhere = ChannelId::new(NONE);
    let mut vertices = vec![vertex(NONE, nowhere, &[], 0), vertex(0, nowhere, &tree.delivers, 1)];
    debug_assert_eq!(source, network.entry_of(worm.from));
    for branch in &tree.branches {
        let parent = branch.parent.map_or(1, |parent| parent + 2);
        let place = vertices.len() as u32;
        vertices.push(vertex(parent, branch.channel, &branch.delivers, place));
    }
    // Children in the order of the branches.
    for child in (1..vertices.len()).rev() {
        let parent = vertices[child].parent as usize;
        vertices[child].sibling = vertices[parent].first_child;
        vertices[parent].first_child = child as u32;
        vertices[parent].height = vertices[parent].height.max(vertices[child].height + 1);
    }
    let mut route = TreeRoute { vertices, deliveries };
    if scripted {
        let mut flit = 0;
        for named in 1..route.vertices.len() {
            let splits = route.children(named).count() > 1;
            if route.deliveries_of(&route.vertices[named]).is_empty() && !splits {
                continue;
            }
            // The flit that names a router passes all routers above it.
            flit += 1;
            route.vertices[named].script.push(Address { flit, to: named as u32 });
            let mut below = named;
            while below > 0 {
                let parent = route.vertices[below].parent as usize;
                route.vertices[parent].script.push(Address { flit, to: below as u32 });
                below = parent;
            }
        }
        for vertex in &mut route.vertices {
            vertex.total = vertex.script.len() as u32 + length;
        }
    }
    route
}
