//! The trees of `OpenSM`'s engine `torus-2QoS`: parts of one tree of the torus.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use wormcast_network::input::input_name;
use wormcast_network::{ChannelId, MAX_FILE_BYTES, Network, RouterId, as_fabric};

use super::{Branch, TreeRule};
use crate::forwarding_tables::opensm::Identities;
use crate::forwarding_tables::{TablesContext, TablesError, Target, text_of};

const EXPECTED: &str = "the description of a torus that torus-2QoS reads (`torus-2QoS.conf`): `torus 4 4 1` or `mesh …`, then lines such as `xp_link 0x200000 0x200001`";
/// Dimensions of a torus.
const DIMENSIONS: usize = 3;
/// Trials of a switch at a place, before the search for all places is given up.
const TRIALS: usize = 50_000_000;

/// A place in a torus.
type Place = [usize; DIMENSIONS];

/// The trees that `OpenSM` builds after it has routed by `torus-2QoS`.
///
/// All are parts of one tree: from the switch in the middle, counted from the datelines, it goes along the first dimension both ways to the dateline, from each of
/// these switches along the second, and from each of those along the third. A tree is the part of it that leads from its root to switches with members, and the root is
/// always there. Of parallel links the address of the group chooses one.
///
/// *Source:* `osm_torus.c` of `OpenSM` 3.3.23, for tori and meshes in which no switch and no link is missing.
#[derive(Clone, Debug)]
pub struct Torus2QosTrees {
    fabric: Arc<Network>,
    sizes: Place,
    places: Vec<Place>,
    switches: HashMap<Place, RouterId>,
}

/// Reads the description of a torus: see [`Torus2QosTrees::new`].
///
/// # Errors
/// If the file cannot be read or is not understood, or the network is no such torus.
pub fn read_torus(network: &Arc<Network>, path: &str) -> Result<Torus2QosTrees, TablesError> {
    let text = text_of(path, "the torus", MAX_FILE_BYTES)?;
    Torus2QosTrees::new(network, input_name(path), &text)
}

/// Where a torus begins, and which way its dimensions go.
#[derive(Clone, Default)]
struct Seed {
    /// Dimension, whether it is the positive direction, and the switches at both ends.
    links: Vec<(usize, bool, [RouterId; 2])>,
    /// Where the dateline is from the first switch.
    datelines: [i64; DIMENSIONS],
    /// The lines that say so: the line, the dimension, and where.
    dateline_lines: Vec<(usize, usize, i64)>,
    /// The first switch that it names and the network does not have, and its line.
    missing: Option<(usize, String)>,
}

/// What a description says.
struct Description {
    sizes: Place,
    /// Whether a dimension has no link from its end to its beginning.
    open: [bool; DIMENSIONS],
    seeds: Vec<Seed>,
}

impl Description {
    fn read(file: &TablesContext<'_>, fabric: &Network, text: &str) -> Result<(Self, usize), TablesError> {
        let identities = Identities::new(fabric);
        let mut read = Self { sizes: [0; DIMENSIONS], open: [false; DIMENSIONS], seeds: vec![Seed::default()] };
        let mut size_line = None;
        for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            let wrong = |problem: String| file.error(line, problem);
            let words: Vec<&str> = content.split_whitespace().collect();
            let Some((&keyword, rest)) = words.split_first().filter(|(keyword, _)| !keyword.starts_with('#')) else {
                continue;
            };
            match keyword {
                // OpenSM takes the first.
                "torus" | "mesh" if size_line.is_none() => {
                    read.size(keyword == "mesh", rest).map_err(wrong)?;
                    size_line = Some(line);
                }
                "torus" | "mesh" => return Err(wrong(format!("a second `{keyword}`"))),
                "next_seed" => read.seeds.push(Seed::default()),
                // What orders the ports of unicasts, and warnings.
                "port_order" | "portgroup_max_ports" | "max_changes" => {}
                _ => {
                    let seed = read.seeds.last_mut().expect("the first seed");
                    seed.line(line, (keyword, rest), &identities).map_err(wrong)?;
                }
            }
        }
        let size_line = size_line.ok_or_else(|| {
            file.error(text.lines().count().max(1), "there is no line `torus` or `mesh`, with the sizes")
        })?;
        // Sizes may come after them.
        for &(line, dimension, dateline) in read.seeds.iter().flat_map(|seed| &seed.dateline_lines) {
            let most = read.sizes[dimension] as u64 - 1;
            if dateline.unsigned_abs() > most {
                let expected = if most == 0 { "0".to_owned() } else { format!("a number from -{most} to {most}") };
                let problem =
                    format!("a dateline {dateline} switches away is outside of the torus: expected {expected}");
                return Err(file.error(line, problem));
            }
        }
        Ok((read, size_line))
    }

    fn size(&mut self, is_mesh: bool, words: &[&str]) -> Result<(), String> {
        if words.len() != DIMENSIONS {
            return Err(format!("found {} sizes, not {DIMENSIONS}", words.len()));
        }
        for (dimension, word) in words.iter().enumerate() {
            let digits = word.trim_end_matches(['t', 'T', 'm', 'M']);
            let size = digits.parse::<usize>().ok().filter(|size| (1..=0xffff).contains(size));
            let size = size.ok_or_else(|| format!("`{word}` is no size"))?;
            let letter = word[digits.len()..].chars().next().map(|letter| letter.to_ascii_lowercase());
            self.sizes[dimension] = size;
            // Between two switches there is no second way round.
            self.open[dimension] = size == 2 || letter.map_or(is_mesh, |letter| letter == 'm');
        }
        Ok(())
    }

    /// The next place along a dimension, if there is one.
    fn next(&self, mut place: Place, dimension: usize) -> Option<Place> {
        let size = self.sizes[dimension];
        place[dimension] += 1;
        if place[dimension] == size {
            place[dimension] = 0;
            if self.open[dimension] || size < 3 {
                return None;
            }
        }
        Some(place)
    }

    /// All places, in the order of their numbers.
    fn places(&self) -> Vec<Place> {
        let [x, y, z] = self.sizes;
        (0..x * y * z).map(|number| [number % x, number / x % y, number / x / y]).collect()
    }

    fn number(&self, place: Place) -> usize {
        place[0] + self.sizes[0] * (place[1] + self.sizes[1] * place[2])
    }
}

impl Seed {
    fn line(&mut self, line: usize, (keyword, words): (&str, &[&str]), identities: &Identities) -> Result<(), String> {
        let unknown = || format!("`{keyword}` is no keyword");
        let (head, tail) = keyword.split_at_checked(1).ok_or_else(unknown)?;
        let dimension = ["x", "y", "z"].iter().position(|&name| name == head).ok_or_else(unknown)?;
        if tail == "_dateline" {
            let [offset] = words else { return Err("a dateline is one number".to_owned()) };
            let offset = offset.parse().map_err(|_| format!("`{offset}` is no number"))?;
            self.datelines[dimension] = offset;
            self.dateline_lines.push((line, dimension, offset));
            return Ok(());
        }
        let is_positive = match tail {
            "p_link" => true,
            "m_link" => false,
            _ => return Err(unknown()),
        };
        let [from, to] = words else { return Err("a link is two switches".to_owned()) };
        let mut ends = [RouterId::new(0); 2];
        for (end, word) in ends.iter_mut().zip([from, to]) {
            let guid = word.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
            match identities.router(guid.ok_or_else(|| format!("`{word}` is no identifier"))?)? {
                Some(router) => *end = router,
                None => self.missing = self.missing.take().or_else(|| Some((line, (*word).to_owned()))),
            }
        }
        self.links.push((dimension, is_positive, ends));
        Ok(())
    }

    /// The places of the switches that it names.
    fn placed(&self, sizes: Place) -> Result<Vec<(Place, RouterId)>, String> {
        let at = |dimension: usize, offset: i64| {
            (offset - self.datelines[dimension]).rem_euclid(sizes[dimension] as i64) as usize
        };
        let first = [0, 1, 2].map(|dimension| at(dimension, 0));
        let mut placed: Vec<(Place, RouterId)> = Vec::new();
        for &(dimension, is_positive, [from, to]) in &self.links {
            let mut beside = first;
            beside[dimension] = at(dimension, if is_positive { 1 } else { -1 });
            placed.extend([(first, from), (beside, to)]);
        }
        placed.sort_unstable();
        placed.dedup();
        let is_twice = |pair: &[(Place, RouterId)]| pair[0].0 == pair[1].0;
        if placed.windows(2).any(is_twice) {
            return Err("its links name two switches for one place".to_owned());
        }
        Ok(placed)
    }
}

impl Torus2QosTrees {
    /// The rule for a torus that is described as `torus-2QoS` reads it. The switches that the description does not name are found by their links: O(switches),
    /// if these leave no choice.
    ///
    /// # Errors
    /// If the text is no such description, the network is no such torus with all of its switches and links, or several ways to lay it out are left.
    pub fn new(network: &Arc<Network>, path: &str, text: &str) -> Result<Self, TablesError> {
        let file = TablesContext { path, expected: EXPECTED };
        let fabric = as_fabric(network)?;
        let (description, line) = Description::read(&file, &fabric, text)?;
        let wrong = |problem: String| file.error(line, problem);
        let count: usize = description.sizes.iter().product();
        let name = network.name();
        if count != fabric.routers() {
            return Err(wrong(format!(
                "this torus has {count} switches, `{name}` {}: trees around missing switches are not known here",
                fabric.routers()
            )));
        }
        let whole = |seed: &&Seed| seed.missing.is_none() && !seed.links.is_empty();
        let seed = description.seeds.iter().find(whole).ok_or_else(|| {
            let others = if description.seeds.len() > 1 { ", and no other seed has all of its switches" } else { "" };
            match description.seeds.iter().find_map(|seed| seed.missing.as_ref()) {
                Some((line, switch)) => file.error(*line, format!("`{name}` has no switch `{switch}`{others}")),
                None => wrong("no line says where a link leads, such as `xp_link 0x200000 0x200001`".to_owned()),
            }
        })?;
        let placed = seed.placed(description.sizes).map_err(wrong)?;
        let places =
            lay_out(&fabric, &description, &placed).map_err(|problem| wrong(format!("{problem} in `{name}`")))?;
        let switches = places.iter().zip(fabric.router_ids()).map(|(&place, router)| (place, router)).collect();
        Ok(Self { fabric, sizes: description.sizes, places, switches })
    }

    /// The place from which this one is reached, and along which dimension.
    fn before(&self, place: Place) -> Option<(Place, usize)> {
        let middle = self.sizes.map(|size| size / 2);
        let dimension = (0..DIMENSIONS).rev().find(|&dimension| place[dimension] != middle[dimension])?;
        let mut before = place;
        before[dimension] =
            if place[dimension] < middle[dimension] { place[dimension] + 1 } else { place[dimension] - 1 };
        Some((before, dimension))
    }
}

impl TreeRule for Torus2QosTrees {
    fn tree(&self, mlid: u16, members: &[Target]) -> Vec<(RouterId, Branch)> {
        let fabric = &*self.fabric;
        let mut branches: BTreeMap<RouterId, Branch> = BTreeMap::new();
        for &member in members {
            let mut at = member.router(fabric);
            branches.entry(at).or_default().add(member);
            // Where a branch is, the way to the root is.
            while let Some((before, dimension)) = self.before(self.places[at.index()]) {
                let to = self.switches[&before];
                let is_up = before[dimension] > self.places[at.index()][dimension];
                let (low, high) = if is_up { (at, to) } else { (to, at) };
                let mut links: Vec<ChannelId> = fabric.outputs(low).filter(|&c| fabric.to(c) == high).collect();
                links.sort_by_key(|&channel| fabric.port_of(channel));
                let link = links[usize::from(mlid) % links.len()];
                let up = if is_up { link } else { fabric.reverse(link) };
                branches.entry(at).or_default().channels.push(up);
                branches.entry(to).or_default().channels.push(fabric.reverse(up));
                at = to;
            }
        }
        branches.into_iter().collect()
    }
}

/// The places in the order in which they get a switch: those that have one, and then the one with the most neighbours before it.
fn order_of(beside: &[Vec<usize>], placed: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::with_capacity(beside.len());
    let (mut known, mut taken) = (vec![0; beside.len()], vec![false; beside.len()]);
    let mut open: BTreeSet<(Reverse<usize>, usize)> = BTreeSet::new();
    let mut first = placed.iter().copied();
    while let Some(place) = first.next().or_else(|| open.first().map(|&(_, place)| place)) {
        open.remove(&(Reverse(known[place]), place));
        taken[place] = true;
        order.push(place);
        for &next in beside[place].iter().filter(|&&next| !taken[next]) {
            open.remove(&(Reverse(known[next]), next));
            known[next] += 1;
            open.insert((Reverse(known[next]), next));
        }
    }
    order
}

/// The place of each switch, if the links leave one way to lay the torus out. A place gets a switch that is linked to those at all places beside it that
/// have one, and to none at another; where none is left, the search goes back.
fn lay_out(fabric: &Network, description: &Description, placed: &[(Place, RouterId)]) -> Result<Vec<Place>, String> {
    let places = description.places();
    let mut beside: Vec<Vec<usize>> = vec![Vec::new(); places.len()];
    for (number, &place) in places.iter().enumerate() {
        for next in (0..DIMENSIONS).filter_map(|dimension| description.next(place, dimension)) {
            let next = description.number(next);
            beside[number].push(next);
            beside[next].push(number);
        }
    }
    let linked = |router: RouterId| {
        let mut linked: Vec<RouterId> = fabric.outputs(router).map(|channel| fabric.to(channel)).collect();
        linked.sort_unstable();
        linked.dedup();
        linked
    };
    let linked: Vec<Vec<RouterId>> = fabric.router_ids().map(linked).collect();
    let others = "the switches are not linked as in this torus, with all links and no others,";
    if beside.iter().map(Vec::len).sum::<usize>() != linked.iter().map(Vec::len).sum::<usize>() {
        return Err(others.to_owned());
    }
    let named: Vec<usize> = placed.iter().map(|&(place, _)| description.number(place)).collect();
    let order = order_of(&beside, &named);
    let mut rank = vec![0; places.len()];
    order.iter().enumerate().for_each(|(at, &place)| rank[place] = at);
    let mut at: Vec<Option<RouterId>> = vec![None; places.len()];
    let mut place_of: Vec<Option<usize>> = vec![None; places.len()];
    // The switches that a place may get: of those that are named its own, else those beside the ones that are there.
    let candidates = |depth: usize, at: &[Option<RouterId>], place_of: &[Option<usize>]| -> Vec<RouterId> {
        let place = order[depth];
        let before: Vec<RouterId> =
            beside[place].iter().filter(|&&other| rank[other] < depth).filter_map(|&other| at[other]).collect();
        let fits = |router: RouterId| {
            let linked = &linked[router.index()];
            let is_placed = |other: &&RouterId| place_of[other.index()].is_some();
            place_of[router.index()].is_none()
                && linked.iter().filter(is_placed).count() == before.len()
                && before.iter().all(|other| linked.contains(other))
        };
        let own = placed.get(depth).map(|&(_, router)| vec![router]);
        let all = own.or_else(|| before.first().map(|other| linked[other.index()].clone())).unwrap_or_default();
        all.into_iter().filter(|&router| fits(router)).collect()
    };
    let mut left: Vec<Vec<RouterId>> = Vec::new();
    let mut found: Option<Vec<Place>> = None;
    let mut trials = 0;
    loop {
        if left.len() == order.len() {
            let layout: Vec<Place> = place_of.iter().flatten().map(|&place| places[place]).collect();
            if found.is_some() {
                return Err("the links that are named leave several ways to lay this torus out: name both directions of each dimension".to_owned());
            }
            found = Some(layout);
        } else {
            left.push(candidates(left.len(), &at, &place_of));
        }
        // The last place for which something is left to try.
        loop {
            let Some(own) = left.last_mut() else { return found.ok_or_else(|| others.to_owned()) };
            let next = own.pop();
            let place = order[left.len() - 1];
            if let Some(before) = std::mem::replace(&mut at[place], next) {
                place_of[before.index()] = None;
            }
            trials += 1;
            if trials > TRIALS {
                return Err(format!("after {trials} trials it is not known how this torus lies"));
            }
            match next {
                Some(router) => {
                    place_of[router.index()] = Some(place);
                    break;
                }
                None => left.pop(),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use wormcast_network::{FileFormat, NetworkBuilder, NetworkIbsim, NodeDetails, NodeId, TopologySpec};

    use super::*;

    fn fabric(spec: &str) -> Arc<Network> {
        let network = spec.parse::<TopologySpec>().unwrap().build().unwrap();
        FileFormat::Fabric.parse(spec, &NetworkIbsim(&network).to_string()).unwrap()
    }

    fn torus(network: &Arc<Network>, text: &str) -> Result<Torus2QosTrees, String> {
        Torus2QosTrees::new(network, "torus.conf", text).map_err(|error| error.to_string())
    }

    /// Pairs of a switch and the one that it gets packets from.
    fn links(rule: &Torus2QosTrees, members: &[u32]) -> Vec<(u32, u32)> {
        let members: Vec<Target> = members.iter().map(|&member| Target::Node(NodeId::new(member))).collect();
        let mut links: Vec<(u32, u32)> = Vec::new();
        for (router, branch) in rule.tree(0xc001, &members) {
            links.extend(branch.channels.iter().map(|&channel| (router.raw(), rule.fabric.to(channel).raw())));
        }
        links.sort_unstable();
        links.dedup();
        links.into_iter().filter(|&(one, other)| one < other).collect()
    }

    /// Worked by hand: numbers run along the first dimension of four. The first switch is at the datelines, so the root is at (2, 1), which is switch 6; along
    /// its row to 4 and 7, and from there to the rows above and below, never over the datelines.
    #[test]
    fn trees_go_from_the_middle_along_one_dimension_after_the_other() {
        let network = fabric("torus:4x3");
        let text =
            "# a torus\ntorus 4 3 1\nxp_link 0x200000 0x200001\nxm_link 0x200000 0x200003\nyp_link 0x200000 0x200004\n";
        let rule = torus(&network, text).unwrap();
        assert!(rule.places.iter().zip(0..).all(|(place, number)| *place == [number % 4, number / 4, 0]));
        assert_eq!(links(&rule, &[0, 11]), [(0, 4), (4, 5), (5, 6), (6, 7), (7, 11)]);
        // One member alone has a branch from the root, too.
        assert_eq!(links(&rule, &[1]), [(1, 5), (5, 6)]);
        let all: Vec<u32> = (0..12).collect();
        let tree = links(&rule, &all);
        let is_inside = |&(one, other): &(u32, u32)| {
            if one / 4 == other / 4 { one / 4 == 1 && other == one + 1 } else { other == one + 4 }
        };
        assert!(tree.len() == 11 && tree.iter().all(is_inside), "{tree:?}");
        // The dateline of the first dimension is elsewhere: the first switch is at (1, 0), and (2, 1) is switch 5.
        let moved = torus(&network, &(text.to_owned() + "x_dateline -1\n")).unwrap();
        assert_eq!(moved.places[0], [1, 0, 0]);
        assert_eq!(links(&moved, &[5]), []);
        assert_eq!(links(&moved, &[3]), [(3, 7), (4, 5), (4, 7)]);
    }

    #[test]
    fn switches_are_found_by_their_links() {
        for (spec, text, dimensions) in [
            ("mesh:5x4", "mesh 5 4 1\nxp_link 0x200000 0x200001\nyp_link 0x200000 0x200005", [5, 4, 1]),
            ("torus:5x3", "torus 5 3 1\nxp_link 0x200000 0x200001\nyp_link 0x200000 0x200005", [5, 3, 1]),
            (
                "torus:3x3x3",
                "torus 3 3 3\nxp_link 0x20000d 0x20000e\nxm_link 0x20000d 0x20000c\nyp_link 0x20000d 0x200010\nzp_link 0x20000d 0x200016\nx_dateline -1\ny_dateline -1\nz_dateline -1",
                [3, 3, 3],
            ),
            (
                "mesh:3x4x2",
                "mesh 3 4 2\nxp_link 0x200000 0x200001\nyp_link 0x200000 0x200003\nzp_link 0x200000 0x20000c",
                [3, 4, 2],
            ),
            ("ring:7", "torus 1 7 1\nyp_link 0x200000 0x200001", [1, 7, 1]),
            // The first seed has a switch that is not there.
            (
                "mesh:5x4",
                "mesh 5 4 1\nxp_link 0x300000 0x200001\nnext_seed\nxp_link 0x200000 0x200001\nyp_link 0x200000 0x200005",
                [5, 4, 1],
            ),
        ] {
            let rule = torus(&fabric(spec), text).unwrap();
            let [x, y, _] = dimensions;
            let own = |number: usize| [number % x, number / x % y, number / x / y];
            assert!(rule.places.iter().enumerate().all(|(number, &place)| place == own(number)), "{spec}: {rule:?}");
        }
    }

    #[test]
    fn of_parallel_links_the_address_of_the_group_chooses() {
        let mut builder = NetworkBuilder::new("two rows".to_owned());
        builder.at_least(2).unwrap();
        for _ in 0..3 {
            builder.link(RouterId::new(0), RouterId::new(1)).unwrap();
        }
        for switch in 0..2 {
            builder.node(RouterId::new(switch), NodeDetails::default()).unwrap();
        }
        let network = FileFormat::Fabric.parse("two", &NetworkIbsim(&builder.build().unwrap()).to_string()).unwrap();
        let rule = torus(&network, "torus 2 1 1\nxp_link 0x200000 0x200001").unwrap();
        let members: Vec<Target> = network.node_ids().map(Target::Node).collect();
        let mut ports: Vec<u32> =
            network.outputs(RouterId::new(0)).filter_map(|channel| network.port_of(channel)).collect();
        ports.sort_unstable();
        for mlid in 0xc001..0xc008 {
            let tree = rule.tree(mlid, &members);
            let (_, branch) = tree.iter().find(|(router, _)| router.raw() == 0).unwrap();
            let chosen: Vec<_> = branch.channels.iter().map(|&channel| network.port_of(channel).unwrap()).collect();
            assert_eq!(chosen, [ports[usize::from(mlid) % 3]]);
        }
    }

    #[test]
    fn what_is_no_such_torus_is_refused() {
        let network = fabric("torus:4x4");
        let links = "xp_link 0x200000 0x200001\nyp_link 0x200000 0x200004\n";
        let both = format!("{links}xm_link 0x200000 0x200003\nym_link 0x200000 0x20000c\n");
        assert!(torus(&network, &format!("torus 4 4 1\n{both}")).is_ok());
        for (text, said) in [
            ("", "torus.conf:1: there is no line `torus` or `mesh`"),
            ("torus 4 4", "torus.conf:1: found 2 sizes, not 3"),
            ("torus 4 x 1", "torus.conf:1: `x` is no size"),
            ("torus 4 4 1\nwp_link 1 2", "torus.conf:2: `wp_link` is no keyword"),
            ("torus 4 4 1\nxp_link 0x200000", "torus.conf:2: a link is two switches"),
            ("torus 4 4 1\nxp_link 0x200000 z", "torus.conf:2: `z` is no identifier"),
            ("torus 4 4 1\nx_dateline z", "torus.conf:2: `z` is no number"),
            (
                "torus 4 4 1\nx_dateline 3\ny_dateline -4",
                "torus.conf:3: a dateline -4 switches away is outside of the torus: expected a number from -3 to 3",
            ),
            (
                "z_dateline 1\ntorus 4 4 1",
                "torus.conf:1: a dateline 1 switches away is outside of the torus: expected 0",
            ),
            ("torus 4 4 1\nmesh 4 4 1", "torus.conf:2: a second `mesh`"),
            ("torus 4 4 1", "torus.conf:1: no line says where a link leads"),
            (
                "torus 4 4 1\nxp_link 0x200000 0x200001\nxm_link 0x200000 0x300000",
                "torus.conf:3: `torus:4x4` has no switch `0x300000`;",
            ),
            (
                "torus 4 4 1\nxp_link 0x300000 0x200001\nnext_seed\nxp_link 0x200000 0x400000",
                "torus.conf:2: `torus:4x4` has no switch `0x300000`, and no other seed has all of its switches",
            ),
            ("torus 5 4 1\nxp_link 0x200000 0x200001", "torus.conf:1: this torus has 20 switches"),
            (&format!("mesh 4 4 1\n{both}"), "torus.conf:1: the switches are not linked as in this torus"),
            (&format!("torus 4 4 1\n{both}xp_link 0x200000 0x200003"), "torus.conf:1: its links name two switches"),
            ("mesh 4 4 1\nxp_link 0x200000 0x200001", "torus.conf:1: the switches are not linked as in this torus"),
            (&format!("torus 4 4 1\n{links}"), "torus.conf:1: the links that are named leave several ways"),
            ("torus 4 4 1\nxp_link 0x200000 0x200005", "torus.conf:1: the switches are not linked as in this torus"),
        ] {
            let error = torus(&network, text).unwrap_err();
            assert!(error.starts_with(said), "{text}: {error}");
        }
    }
}
