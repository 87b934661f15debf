//! The source-centred hierarchical leader algorithm, SCHL.

use std::sync::Arc;

use wormcast_network::{ChannelId, Network, NodeId, RouterId};
use wormcast_routing::{Dependencies, E_CUBE, ECube, RoutingRelation, Unsupported, WormRule};

use crate::algorithm::{Algorithm, Multicast};
use crate::algorithms::mesh::by_router::by_router;
use crate::algorithms::mesh::containment::{Site, by_row, sites};
use crate::algorithms::mesh::u_mesh::mesh_multicast;
use crate::plan::ids::IdTable;
use crate::plan::{Itinerary, Plan, Worm};
use crate::registry::descriptor::Descriptor;
use crate::registry::family::{Family, Sends};

/// [`Schl`].
pub const SCHL: Descriptor =
    Descriptor::built_in("schl", "leaders of columns and rows forward along them", Sends::Paths, |network, _| {
        Ok(Box::new(Schl::new(network)?))
    })
    .on(Family::Mesh2d)
    .routed_by(&E_CUBE);

/// SCHL: each column's destinations above the source's row, and those below it, have a leader, the one nearest to that row;
/// leaders forward along columns, and one leader of a row forwards to the others of that row.
///
/// Source: Kesavan and Panda 1996, as far as paper 1 describes it (sections 2 and 4, Table 1). For a broadcast the source sends one worm
/// each way along its row and one unicast to the leader above and below itself, each of these sends one worm each way along its
/// row, and every leader sends one away from the source's row: this gives Table 1's mean to the last term.
///
/// For any other set of destinations the papers at hand say nothing; this generalisation is wormcast's own. Only destinations are
/// leaders. In each row with leaders, above or below, the one nearest to the source's column (the western of two) is the row's head. The
/// source reaches the heads by [U-mesh](crate::UMesh), in ceil(log2(heads + 1)) steps, and its own row by a worm each way.
/// A head then sends one worm each way along its row to its leaders, and every leader one along its column to the rest of its group.
/// What others wait for is sent first: unicasts to heads, then worms along rows, then along columns.
///
/// All worms follow e-cube paths. They do not contend on one port: only its head sends along a row; unicasts that enter a column end at
/// its leader, where the worm starts that leads away from there; and unicasts to heads do not meet, by U-mesh's argument.
///
/// Needs a 2-D mesh. O(m log m) for m destinations.
///
/// ```
/// use wormcast_multicast::{Multicast, Options, algorithm_by_name};
/// use wormcast_network::{NodeId, TopologySpec};
///
/// // A broadcast from the corner of a 3x3 mesh: to the leader above; along its own row; the leader's row; three columns.
/// let mesh = "mesh:3x3".parse::<TopologySpec>()?.build()?;
/// let schl = algorithm_by_name("schl", &mesh, &Options::default())?;
/// let everyone: Vec<NodeId> = (1..9).map(NodeId::new).collect();
/// let plan = schl.plan(&Multicast::new(NodeId::new(0), &everyone));
/// let sent: Vec<_> = plan.worms.iter().map(|worm| (worm.from, worm.after, worm.visits())).collect();
/// let nodes = |ids: &[u32]| ids.iter().map(|&id| NodeId::new(id)).collect::<Vec<_>>();
/// assert_eq!(sent[0], (NodeId::new(0), None, nodes(&[3])));
/// assert_eq!(sent[1], (NodeId::new(0), None, nodes(&[1, 2])));
/// assert_eq!(sent[2], (NodeId::new(3), Some(0), nodes(&[4, 5])));
/// assert_eq!(sent[3], (NodeId::new(3), Some(0), nodes(&[6])));
/// assert_eq!(sent[4], (NodeId::new(4), Some(2), nodes(&[7])));
/// assert_eq!(sent[5], (NodeId::new(5), Some(2), nodes(&[8])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Schl {
    routing: ECube,
}

impl Schl {
    /// On a 2-D mesh.
    ///
    /// # Errors
    /// If the network is of another kind.
    pub fn new(network: &Arc<Network>) -> Result<Self, Unsupported> {
        Ok(Self { routing: SCHL.relation(network, ECube::new)? })
    }
}

/// E-cube paths that stop on the way only where they go straight on.
pub(crate) struct StraightStops;

impl WormRule for StraightStops {
    fn may_turn(&self, network: &Network, arriving: ChannelId, leaving: ChannelId) -> bool {
        match (network.heading(arriving), network.heading(leaving)) {
            (Some((d1, along1)), Some((d2, along2))) => d1 < d2 || (d1 == d2 && along1 == along2),
            _ => false,
        }
    }

    fn may_stop(&self, network: &Network, arriving: ChannelId, leaving: ChannelId) -> bool {
        network.heading(arriving) == network.heading(leaving)
    }
}

/// The destinations of a multicast as SCHL groups them.
struct Groups {
    /// The destinations on the source's row, from west to east.
    own_row: Vec<Site>,
    /// Of each column below that row, and then of each above it, from west to east: the leader, then the others in the order in which they lie behind it.
    columns: Vec<Vec<Site>>,
    /// The leaders, row by row.
    leaders: Vec<Site>,
}

impl Groups {
    fn new(source: Site, destinations: &[Site]) -> Self {
        let (mut own_row, mut columns, mut above) = (Vec::new(), Vec::new(), Vec::new());
        // Sites come by x, then y: those below the row have to be turned round.
        for column in destinations.chunk_by(|one, next| one.x == next.x) {
            let (lower, others) = column.split_at(column.partition_point(|site| site.y < source.y));
            let (level, upper) = others.split_at(others.partition_point(|site| site.y == source.y));
            own_row.extend_from_slice(level);
            columns.extend((!lower.is_empty()).then(|| lower.iter().rev().copied().collect()));
            above.extend((!upper.is_empty()).then(|| upper.to_vec()));
        }
        columns.append(&mut above);
        let leaders = by_row(columns.iter().map(|group: &Vec<Site>| group[0]).collect());
        Self { own_row, columns, leaders }
    }
}

/// Sends a worm each way along the row of `from` to the `others` of it, which come from west to east.
fn along_row(worms: &mut Vec<Worm>, from: Site, after: Option<u32>, others: &[Site]) {
    let west = others.iter().rev().filter(|site| site.x < from.x).map(|site| site.node);
    let east = others.iter().filter(|site| site.x > from.x).map(|site| site.node);
    for stops in [west.collect::<Vec<_>>(), east.collect()] {
        if !stops.is_empty() {
            worms.push(Worm { after, ..Worm::path(from.node, stops) });
        }
    }
}

impl Algorithm for Schl {
    fn name(&self) -> &'static str {
        SCHL.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        &self.routing
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        Plan::made(|plan| self.plan_into(multicast, plan))
    }

    fn plan_into(&self, multicast: &Multicast, plan: &mut Plan) {
        by_router(self.network(), multicast, plan, |multicast, plan| {
            let grid = self.routing.grid();
            let source = sites(grid, &[multicast.source()])[0];
            let groups = Groups::new(source, &sites(grid, multicast.destinations()));
            let rows = groups.leaders.chunk_by(|one, next| one.y == next.y);
            let head = |leaders: &[Site]| leaders.iter().copied().min_by_key(|leader| leader.x.abs_diff(source.x));
            let heads: Vec<Site> = rows.clone().filter_map(head).collect();

            let head_nodes: Vec<NodeId> = heads.iter().map(|head| head.node).collect();
            mesh_multicast(grid, |node| RouterId::new(node.raw()), source.node, &head_nodes, plan);
            let worms = &mut plan.worms;
            along_row(worms, source, None, &groups.own_row);
            // The worm by which each node gets the message, of which there are no more than destinations.
            let mut received = IdTable::default();
            received.start(grid.len(), multicast.destinations().len());
            receive(&mut received, worms, 0);
            let unicasts = worms.len();
            for (head, leaders) in heads.iter().zip(rows) {
                along_row(worms, *head, received.get(head.node.index()), leaders);
            }
            receive(&mut received, worms, unicasts);
            for group in groups.columns.iter().filter(|group| group.len() > 1) {
                let (leader, others) = (group[0].node, group[1..].iter().map(|site| site.node));
                worms.push(Worm { after: received.get(leader.index()), ..Worm::path(leader, others.collect()) });
            }
        });
    }

    fn dependencies(&self) -> Dependencies<'_> {
        Dependencies::of_rule(self.network(), &StraightStops)
    }
}

/// Notes the worm by which each node gets the message, of those from position `first` on.
fn receive(received: &mut IdTable, worms: &[Worm], first: usize) {
    for (id, worm) in worms.iter().enumerate().skip(first) {
        if let Itinerary::Path(path) = &worm.itinerary {
            for stop in &path.stops {
                received.insert(stop.index(), id as u32);
            }
        }
    }
}
