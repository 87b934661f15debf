//! Lines drawn side by side, so that parallel worms stay apart.

use super::layout::Position;

/// A direction, or a displacement in pixels: to the right and downwards.
pub type Vector = (f64, f64);

fn direction(a: Position, b: Position) -> Vector {
    let (dx, dy) = (b.x - a.x, b.y - a.y);
    let length = dx.hypot(dy).max(1e-9);
    (dx / length, dy / length)
}

/// To the right of a direction; y runs downwards.
fn right((dx, dy): Vector) -> Vector {
    (-dy, dx)
}

fn dot(a: Vector, b: Vector) -> f64 {
    a.0 * b.0 + a.1 * b.1
}

fn moved(point: Position, (dx, dy): Vector, by: f64) -> Position {
    Position { x: point.x + dx * by, y: point.y + dy * by }
}

/// The line that runs to the right of `line`, each segment by its distance, so that the two directions of a link never
/// cover each other. Segments are extended or cut to meet at corners; where the line turns back it goes round the point.
pub fn line_beside(line: &[Position], distances: &[f64]) -> Vec<Position> {
    let segments: Vec<(Vector, f64)> =
        line.windows(2).zip(distances).map(|(pair, &distance)| (direction(pair[0], pair[1]), distance)).collect();
    let (Some(&first), Some(&last)) = (segments.first(), segments.last()) else { return line.to_vec() };
    let mut shifted = vec![moved(line[0], right(first.0), first.1)];
    for (&corner, pair) in line[1..].iter().zip(segments.windows(2)) {
        let ((before, by), (after, then_by)) = (pair[0], pair[1]);
        let (start, end) = (moved(corner, right(before), by), moved(corner, right(after), then_by));
        let cosine = dot(before, after);
        let sine = dot(before, right(after));
        if cosine < -0.7 {
            let beyond = by.max(then_by);
            shifted.extend([moved(start, before, beyond), moved(end, before, beyond)]);
        } else if sine.abs() > 1e-3 {
            shifted.push(moved(start, before, (then_by - by * cosine) / sine));
        } else {
            shifted.extend([start, end]);
        }
    }
    shifted.push(moved(line[line.len() - 1], right(last.0), last.1));
    shifted
}

/// Whether two segments run the same way.
pub fn same_direction(first: (Position, Position), then: (Position, Position)) -> bool {
    dot(direction(first.0, first.1), direction(then.0, then.1)) > 0.999
}

/// Where the head of an arrow lies whose line ends beside the router in `to`, and its direction: on the edge of the router's
/// disc, or level with its centre if the line passes further away.
pub fn arrow(from: Position, to: Position, distance: f64, radius: f64) -> (Position, Vector) {
    let along = direction(from, to);
    let before = (radius * radius - distance * distance).max(0.0).sqrt();
    (moved(moved(to, right(along), distance), along, -before), along)
}

/// The corners of an arrow head with this tip.
pub fn arrow_head(tip: Position, along: Vector) -> [Position; 3] {
    let (length, half) = (8.0, 3.6);
    let base = moved(tip, along, -length);
    [tip, moved(base, right(along), half), moved(base, right(along), -half)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn point(x: f64, y: f64) -> Position {
        Position { x, y }
    }

    #[test]
    fn corners_are_mitred_and_turns_go_round() {
        // East, then south (downwards): to the right is the inside of the corner.
        let corner = line_beside(&[point(0.0, 0.0), point(10.0, 0.0), point(10.0, 10.0)], &[2.0, 3.0]);
        assert_eq!(corner, [point(0.0, 2.0), point(7.0, 2.0), point(7.0, 10.0)]);
        let back = line_beside(&[point(0.0, 0.0), point(10.0, 0.0), point(0.0, 0.0)], &[2.0, 2.0]);
        assert_eq!(back, [point(0.0, 2.0), point(12.0, 2.0), point(12.0, -2.0), point(0.0, -2.0)]);
    }

    #[test]
    fn arrows_end_at_the_disc() {
        let (tip, along) = arrow(point(0.0, 0.0), point(10.0, 0.0), 3.0, 5.0);
        assert_eq!((tip, along), (point(6.0, 3.0), (1.0, 0.0)));
        assert_eq!(arrow(point(0.0, 0.0), point(10.0, 0.0), 6.0, 5.0).0, point(10.0, 6.0));
    }
}
