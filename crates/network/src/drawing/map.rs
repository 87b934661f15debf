//! Layout of networks whose file has the positions of routers.

use super::stress::{Graph, apart, spread};
use crate::network::{Coordinates, Network};

/// The width and the height that a map may have, in pixels.
const SIZE: [f64; 2] = [1100.0, 900.0];
/// How far a router and its nearest neighbour are apart, in the middle, if the size allows it.
const NEAREST: f64 = 64.0;

/// The places of all routers in pixels, no two nearer than `least`, y downwards; `None` if the file has fewer than half of them.
///
/// Maps are equirectangular about their mean latitude. Routers without a position in the file lie between their
/// neighbours; those without neighbours lie beside the map.
pub(super) fn layout(network: &Network, graph: &Graph, least: f64) -> Option<Vec<[f64; 2]>> {
    let told: Vec<Option<[f64; 2]>> =
        network.router_ids().map(|router| network.coordinates(router).map(Coordinates::xy)).collect();
    let known: Vec<[f64; 2]> = told.iter().copied().flatten().collect();
    if known.is_empty() || 2 * known.len() < told.len() {
        return None;
    }
    let geographic =
        network.router_ids().any(|router| matches!(network.coordinates(router), Some(Coordinates::Earth { .. })));
    let mean = known.iter().map(|place| place[1]).sum::<f64>() / known.len() as f64;
    // A degree of longitude is shorter than one of latitude. This is a cosine, the same on every machine.
    let narrow = if geographic { cosine(mean.to_radians()) } else { 1.0 };
    let flat = |[x, y]: [f64; 2]| [x * narrow, -y];
    let mut places: Vec<Option<[f64; 2]>> = told.into_iter().map(|place| place.map(flat)).collect();

    let known: Vec<[f64; 2]> = places.iter().copied().flatten().collect();
    let bounds = |axis: usize| {
        let all = known.iter().map(|place| place[axis]);
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), along| (low.min(along), high.max(along)))
    };
    let ((left, right), (top, bottom)) = (bounds(0), bounds(1));
    let room = [(right - left, SIZE[0]), (bottom - top, SIZE[1])];
    let fits =
        room.iter().map(|&(of, size)| if of > 0.0 { size / of } else { f64::INFINITY }).fold(f64::INFINITY, f64::min);
    let mut near: Vec<f64> = nearest(&known);
    near.sort_by(f64::total_cmp);
    let wanted = near.get(near.len() / 2).filter(|near| **near > 0.0).map_or(f64::INFINITY, |near| NEAREST / near);
    let scale = if fits.min(wanted).is_finite() { fits.min(wanted) } else { 1.0 };
    for place in places.iter_mut().flatten() {
        *place = [(place[0] - left) * scale, (place[1] - top) * scale];
    }

    // From the known ones outwards.
    loop {
        let between = |router: usize| {
            let near: Vec<[f64; 2]> =
                graph.neighbours(router).iter().filter_map(|&other| places[other as usize]).collect();
            let mean = [0, 1].map(|axis| near.iter().map(|place| place[axis]).sum::<f64>() / near.len() as f64);
            // Who has one neighbour would lie on it.
            (!near.is_empty()).then_some(if near.len() == 1 { [mean[0], mean[1] + least] } else { mean })
        };
        let found: Vec<(usize, [f64; 2])> = (0..places.len())
            .filter(|&router| places[router].is_none())
            .filter_map(|router| Some((router, between(router)?)))
            .collect();
        if found.is_empty() {
            break;
        }
        for (router, place) in found {
            places[router] = Some(place);
        }
    }
    let (mut beside, below) = (0.0, (bottom - top) * scale + 2.0 * least);
    let mut places: Vec<[f64; 2]> = places
        .into_iter()
        .map(|place| {
            place.unwrap_or_else(|| {
                beside += least;
                [beside - least, below]
            })
        })
        .collect();
    spread(&mut places, least);
    Some(places)
}

/// How far each place is from the nearest other one.
fn nearest(places: &[[f64; 2]]) -> Vec<f64> {
    // Sorted by x, the search ends where x alone is too far.
    let mut sorted = places.to_vec();
    sorted.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    sorted.dedup();
    let of = |index: usize| {
        let here = sorted[index];
        let mut least = f64::INFINITY;
        let mut look = |others: &mut dyn Iterator<Item = &[f64; 2]>| {
            for &other in others {
                if (other[0] - here[0]).abs() > least {
                    break;
                }
                least = least.min(apart(here, other));
            }
        };
        look(&mut sorted[..index].iter().rev());
        look(&mut sorted[index + 1..].iter());
        least
    };
    (0..sorted.len()).map(of).filter(|near| near.is_finite()).collect()
}

/// The cosine of an angle between -π/2 and π/2 by its series.
fn cosine(angle: f64) -> f64 {
    let square = angle * angle;
    let (mut term, mut sum) = (1.0, 1.0);
    for step in 1..12 {
        let n = f64::from(2 * step);
        term *= -square / (n * (n - 1.0));
        sum += term;
    }
    // Near the poles a map would be a line.
    f64::max(sum, 0.1)
}
