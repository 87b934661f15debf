//! The vertices of tree worms, and which header flit goes where.

use wormcast_multicast::Tree;
use wormcast_network::{ChannelId, Network, NodeId, RouterId};
use wormcast_routing::TreeDescent;

use super::arbiter::NONE;
use super::worm::{Address, Guide, TreeDelivery, TreeRoute, TreeVertex, UNKNOWN};
use crate::config::switching::Header;

/// The route of a tree worm with so many `flits`, `length` of them data, before anything of it is granted: all of it, or, if a relation leads it to
/// where its branches begin or routers decode its header, as far as its source's router.
pub(crate) fn route(tree: Tree, flits: u32, length: u32, header: Header) -> TreeRoute {
    let nowhere = ChannelId::new(NONE);
    let mut route = TreeRoute { vertices: Vec::new(), deliveries: Vec::new(), guide: Guide::Known };
    route.vertices.push(TreeVertex::new(NONE, nowhere, flits));
    route.push(0, nowhere, flits);
    let exit = tree.trunk.and_then(|trunk| trunk.exit);
    if header.strips_trees() && !tree.header.is_empty() {
        route.guide = Guide::Header { exit, flits: tree.header };
    } else if tree.trunk.is_some() {
        route.guide = Guide::Trunk(tree);
    } else {
        route.attach(&tree, 1);
        if header.strips_trees() {
            route.write_scripts(length);
        }
    }
    route
}

impl TreeRoute {
    /// Adds a vertex behind a channel that leaves another, as the last of its children.
    pub(super) fn push(&mut self, parent: u32, entered_by: ChannelId, total: u32) -> u32 {
        let vertex = self.vertices.len() as u32;
        let above = &self.vertices[parent as usize];
        let set_up_above = if above.set_up { parent } else { above.set_up_above };
        self.vertices.push(TreeVertex { set_up_above, ..TreeVertex::new(parent, entered_by, total) });
        match self.children(parent as usize).last() {
            None => self.vertices[parent as usize].first_child = vertex,
            Some(last) => self.vertices[last].sibling = vertex,
        }
        vertex
    }

    /// Adds the deliveries at a vertex.
    pub(super) fn deliver_at(&mut self, vertex: u32, nodes: impl IntoIterator<Item = NodeId>) {
        let first = self.deliveries.len() as u32;
        let waiting = |node| TreeDelivery { vertex, node, channel: ChannelId::new(NONE), departs: UNKNOWN };
        self.deliveries.extend(nodes.into_iter().map(waiting));
        self.vertices[vertex as usize].deliveries = (first, self.deliveries.len() as u32);
    }

    /// Adds a tree's branches, which begin at a vertex.
    pub(super) fn attach(&mut self, tree: &Tree, top: u32) {
        let total = self.vertices[0].total;
        self.deliver_at(top, tree.delivers.iter().copied());
        let first = self.vertices.len() as u32;
        // The last child of each vertex so far: looking for it would take time that grows with the square of the children.
        let mut last = vec![NONE; tree.branches.len() + 1];
        for (branch, vertex) in tree.branches.iter().zip(first..) {
            let (parent, place) = branch.parent.map_or((top, 0), |parent| (first + parent, parent as usize + 1));
            self.vertices.push(TreeVertex::new(parent, branch.channel, total));
            match std::mem::replace(&mut last[place], vertex) {
                NONE => self.vertices[parent as usize].first_child = vertex,
                before => self.vertices[before as usize].sibling = vertex,
            }
            self.deliver_at(vertex, branch.delivers.iter().copied());
        }
        for child in (1..self.vertices.len()).rev() {
            let (parent, height) = (self.vertices[child].parent as usize, self.vertices[child].height + 1);
            self.vertices[parent].height = self.vertices[parent].height.max(height);
        }
    }

    /// Where a header flit goes from a vertex that was granted what its header asked for: a child, or the vertex itself if the
    /// flit is stripped there. `place` is its place among the header flits that enter the vertex, from 0, and `number` that among
    /// the worm's.
    ///
    /// Where the header was decoded, the router sends every flit behind the one that named it down the tree to the router that it
    /// names; elsewhere all flits follow the first. An error names the router and where the flit ought to go, if no output of the
    /// router that the worm takes leads there.
    pub(crate) fn heads_for(
        &self,
        vertex: usize,
        place: usize,
        number: u32,
        network: &Network,
        descent: Option<&dyn TreeDescent>,
    ) -> Result<u32, (RouterId, RouterId)> {
        let at = &self.vertices[vertex];
        let Guide::Header { flits: header, .. } = &self.guide else { return Ok(at.script[place].to) };
        match (at.set_up, place, at.first_child) {
            (true, 0, _) => return Ok(vertex as u32),
            (false, _, child) if child != NONE => return Ok(child),
            _ => {}
        }
        let target = header[number as usize - 1].router;
        let on = (at.first_child != NONE).then(|| self.vertices[at.first_child as usize].entered_by);
        let here = on.map(|channel| network.from(channel));
        let down = here.zip(on).and_then(|(here, on)| descent?.down(here, on, target));
        let to = down.and_then(|down| self.children(vertex).find(|&child| self.vertices[child].entered_by == down));
        to.map(|child| child as u32).ok_or((here.unwrap_or(target), target))
    }

    /// Writes down which header flit goes where, for a tree whose header no router can decode.
    fn write_scripts(&mut self, length: u32) {
        let mut flit = 0;
        for named in 1..self.vertices.len() {
            let splits = self.children(named).count() > 1;
            if self.deliveries_of(&self.vertices[named]).is_empty() && !splits {
                continue;
            }
            // The flit that names a router passes all routers above it.
            flit += 1;
            self.vertices[named].script.push(Address { flit, to: named as u32 });
            let mut below = named;
            while below > 0 {
                let parent = self.vertices[below].parent as usize;
                self.vertices[parent].script.push(Address { flit, to: below as u32 });
                below = parent;
            }
        }
        for vertex in &mut self.vertices {
            vertex.total = vertex.script.len() as u32 + length;
        }
    }
}
