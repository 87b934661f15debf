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
struct Groups<'a> {
    /// The destinations on the source's row, from west to east.
    own_row: Vec<Site>,
    /// Of each column below that row, and then of each above it, from west to east.
    columns: Vec<Column<'a>>,
    /// The leaders, row by row.
    leaders: Vec<Site>,
}

/// The destinations of a column below the source's row, or above it.
struct Column<'a> {
    leader: Site,
    /// From south to north.
    others: &'a [Site],
    /// Whether the northernmost of the others lies next to the leader.
    from_north: bool,
}

impl<'a> Groups<'a> {
    fn new(source: Site, destinations: &'a [Site]) -> Self {
        let in_columns = destinations.chunk_by(|one, next| one.x == next.x);
        let count = in_columns.clone().count();
        let mut own_row = Vec::with_capacity(count);
        let (mut columns, mut above) = (Vec::with_capacity(2 * count), Vec::with_capacity(count));
        // Sites come by x, then y.
        for column in in_columns {
            let (lower, others) = column.split_at(column.partition_point(|site| site.y < source.y));
            let (level, upper) = others.split_at(others.partition_point(|site| site.y == source.y));
            own_row.extend_from_slice(level);
            columns.extend(lower.split_last().map(|(&leader, others)| Column { leader, others, from_north: true }));
            above.extend(upper.split_first().map(|(&leader, others)| Column { leader, others, from_north: false }));
        }
        columns.append(&mut above);
        let leaders = by_row(columns.iter().map(|column: &Column| column.leader).collect());
        Self { own_row, columns, leaders }
    }
}

/// The worms of a plan, and lists of stops that its earlier worms had.
struct Worms<'a> {
    worms: &'a mut Vec<Worm>,
    spare: Vec<Vec<NodeId>>,
}

impl Worms<'_> {
    /// Adds a worm, if it has stops.
    fn put(&mut self, from: NodeId, after: Option<u32>, stops: impl Iterator<Item = NodeId>) {
        let mut stops = stops.peekable();
        if stops.peek().is_some() {
            let mut list = self.spare.pop().unwrap_or_default();
            list.extend(stops);
            self.worms.push(Worm { after, ..Worm::path(from, list) });
        }
    }

    /// Sends a worm each way along the row of `from` to the `others` of it, which come from west to east.
    fn along_row(&mut self, from: Site, after: Option<u32>, others: &[Site]) {
        let (west, rest) = others.split_at(others.partition_point(|site| site.x < from.x));
        let east = &rest[rest.partition_point(|site| site.x == from.x)..];
        self.put(from.node, after, west.iter().rev().map(|site| site.node));
        self.put(from.node, after, east.iter().map(|site| site.node));
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
            let destinations = sites(grid, multicast.destinations());
            let groups = Groups::new(source, &destinations);
            let rows = groups.leaders.chunk_by(|one, next| one.y == next.y);
            let head = |leaders: &[Site]| leaders.iter().copied().min_by_key(|leader| leader.x.abs_diff(source.x));
            let heads: Vec<Site> = rows.clone().filter_map(head).collect();

            let head_nodes: Vec<NodeId> = heads.iter().map(|head| head.node).collect();
            let spare = plan.cut(heads.len());
            mesh_multicast(grid, |node| RouterId::new(node.raw()), source.node, &head_nodes, plan);
            let mut worms = Worms { worms: &mut plan.worms, spare };
            worms.along_row(source, None, &groups.own_row);
            // The worm by which each node gets the message, of which there are no more than destinations.
            let mut received = IdTable::default();
            received.start(grid.len(), multicast.destinations().len());
            receive(&mut received, worms.worms, 0);
            let unicasts = worms.worms.len();
            for (head, leaders) in heads.iter().zip(rows) {
                worms.along_row(*head, received.get(head.node.index()), leaders);
            }
            receive(&mut received, worms.worms, unicasts);
            for Column { leader, others, from_north } in &groups.columns {
                let after = received.get(leader.node.index());
                let nodes = others.iter().map(|site| site.node);
                if *from_north {
                    worms.put(leader.node, after, nodes.rev());
                } else {
                    worms.put(leader.node, after, nodes);
                }
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
