//! Lines beside lines: what keeps parallel worms apart.

use wormcast_network::Point;

/// A direction or a displacement.
type Vector = (f64, f64);

fn direction(a: Point, b: Point) -> Vector {
    let (dx, dy) = (b.x - a.x, b.y - a.y);
    let length = dx.hypot(dy).max(1e-9);
    (dx / length, dy / length)
}

/// To the right of a direction; y runs downwards.
fn right((dx, dy): Vector) -> Vector {
    (-dy, dx)
}

fn moved(point: Point, (dx, dy): Vector, by: f64) -> Point {
    Point { x: point.x + dx * by, y: point.y + dy * by }
}

/// The line that runs `distance` to the right of `line`, so that the two directions of a link never cover each other.
/// Corners are mitred; where the line turns back it goes round the point.
pub(super) fn offset(line: &[Point], distance: f64) -> Vec<Point> {
    let directions: Vec<Vector> = line.windows(2).map(|pair| direction(pair[0], pair[1])).collect();
    let (Some(&first), Some(&last)) = (directions.first(), directions.last()) else { return line.to_vec() };
    let mut shifted = vec![moved(line[0], right(first), distance)];
    for (corner, pair) in line[1..].iter().zip(directions.windows(2)) {
        let (before, after) = (right(pair[0]), right(pair[1]));
        let cosine = before.0 * after.0 + before.1 * after.1;
        if cosine > -0.7 {
            let mitre = (before.0 + after.0, before.1 + after.1);
            shifted.push(moved(*corner, mitre, distance / (1.0 + cosine)));
        } else {
            let beyond = moved(*corner, pair[0], distance);
            shifted.extend([moved(beyond, before, distance), moved(beyond, after, distance)]);
        }
    }
    shifted.push(moved(line[line.len() - 1], right(last), distance));
    shifted
}

/// Where the head of an arrow lies whose line ends at the router in `to`, and its direction: on the edge of the router's
/// disc, or level with its centre if the line passes beside it.
pub(super) fn arrow(from: Point, to: Point, distance: f64, radius: f64) -> (Point, Vector) {
    let along = direction(from, to);
    let before = (radius * radius - distance * distance).max(0.0).sqrt();
    (moved(moved(to, right(along), distance), along, -before), along)
}

/// The corners of an arrow head with this tip.
pub(super) fn arrow_head(tip: Point, along: Vector) -> [Point; 3] {
    let (length, half) = (8.0, 3.6);
    let base = moved(tip, along, -length);
    [tip, moved(base, right(along), half), moved(base, right(along), -half)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn point(x: f64, y: f64) -> Point {
        Point { x, y }
    }

    #[test]
    fn corners_are_mitred_and_turns_go_round() {
        // East, then south (downwards): to the right is the inside of the corner.
        let corner = offset(&[point(0.0, 0.0), point(10.0, 0.0), point(10.0, 10.0)], 2.0);
        assert_eq!(corner, [point(0.0, 2.0), point(8.0, 2.0), point(8.0, 10.0)]);
        let back = offset(&[point(0.0, 0.0), point(10.0, 0.0), point(0.0, 0.0)], 2.0);
        assert_eq!(back, [point(0.0, 2.0), point(12.0, 2.0), point(12.0, -2.0), point(0.0, -2.0)]);
    }

    #[test]
    fn arrows_end_at_the_disc() {
        let (tip, along) = arrow(point(0.0, 0.0), point(10.0, 0.0), 3.0, 5.0);
        assert_eq!((tip, along), (point(6.0, 3.0), (1.0, 0.0)));
        assert_eq!(arrow(point(0.0, 0.0), point(10.0, 0.0), 6.0, 5.0).0, point(10.0, 6.0));
    }
}
