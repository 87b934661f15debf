//! Captions beside routers, where there is room for them.

use super::layout::{Caption, Position};

/// The width of a character and the height of a line of captions.
pub(super) const CHARACTER: f64 = 5.8;
const LINE: f64 = 11.0;
/// Between a disc and its caption, and at least between that and another disc: a caption is nearest to its own.
const GAP: f64 = 3.0;
const APART: f64 = 2.0 * GAP + 1.0;
/// The longest caption, in characters: longer names are cut.
const LONGEST: usize = 24;
/// With more routers than this, nothing is written beside them.
const MOST: usize = 2000;
/// With more pairs of a caption and a link than this, captions may lie on links.
const MOST_PAIRS: usize = 1_000_000;

struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    fn around(at: Position, text: &str) -> Self {
        let half = text.chars().count() as f64 * CHARACTER / 2.0;
        Self { left: at.x - half, right: at.x + half, top: at.y - LINE / 2.0, bottom: at.y + LINE / 2.0 }
    }

    fn meets(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    fn meets_disc(&self, centre: Position, radius: f64) -> bool {
        let (x, y) = (centre.x.clamp(self.left, self.right), centre.y.clamp(self.top, self.bottom));
        (x - centre.x) * (x - centre.x) + (y - centre.y) * (y - centre.y) < radius * radius
    }

    /// Whether a line from one point to another crosses it: what is left of the line between each pair of sides.
    fn meets_line(&self, a: Position, b: Position) -> bool {
        let (mut from, mut to) = (0.0f64, 1.0f64);
        for (start, way, low, high) in
            [(a.x, b.x - a.x, self.left, self.right), (a.y, b.y - a.y, self.top, self.bottom)]
        {
            if way.abs() < 1e-9 {
                if start < low || start > high {
                    return false;
                }
                continue;
            }
            let (one, other) = ((low - start) / way, (high - start) / way);
            from = from.max(one.min(other));
            to = to.min(one.max(other));
        }
        from < to
    }
}

/// Captions for discs of this radius, each at the position around its disc that the fewest `links` cross; where other discs or captions
/// leave no room there is none. `width` is that of the drawing.
pub(super) fn beside(
    discs: &[(Position, String)],
    radius: f64,
    links: &[(Position, Position)],
    width: f64,
) -> Vec<Caption> {
    if discs.len() > MOST {
        return Vec::new();
    }
    let looks_at_links = discs.len() * links.len() <= MOST_PAIRS;
    let mut placed: Vec<(Frame, Caption)> = Vec::new();
    for (index, (centre, name)) in discs.iter().enumerate() {
        let text = if name.chars().count() > LONGEST {
            format!("{}…", name.chars().take(LONGEST - 1).collect::<String>())
        } else {
            name.clone()
        };
        let (aside, above) =
            (radius + GAP + text.chars().count() as f64 * CHARACTER / 2.0, radius + GAP + LINE / 2.0 - 1.0);
        let near = 0.72 * radius;
        let slant = (aside - radius + near, above - radius + near);
        let places = [
            (aside, 0.0),
            (-aside, 0.0),
            (0.0, -above),
            (0.0, above),
            (slant.0, -slant.1),
            (-slant.0, -slant.1),
            (slant.0, slant.1),
            (-slant.0, slant.1),
        ];
        let best = places
            .iter()
            .filter_map(|&(dx, dy)| {
                let at = Position { x: centre.x + dx, y: centre.y + dy };
                let frame = Frame::around(at, &text);
                let free = frame.left >= 0.0
                    && frame.right <= width
                    && discs
                        .iter()
                        .enumerate()
                        .all(|(other, (at, _))| other == index || !frame.meets_disc(*at, radius + APART))
                    && placed.iter().all(|(other, _)| !frame.meets(other));
                let crossed = |frame: &Frame| links.iter().filter(|&&(a, b)| frame.meets_line(a, b)).count();
                free.then(|| (if looks_at_links { crossed(&frame) } else { 0 }, frame, at))
            })
            // The first of several that are as good.
            .min_by_key(|&(crossed, ..)| crossed);
        if let Some((_, frame, at)) = best {
            placed.push((frame, Caption { at, text }));
        }
    }
    placed.into_iter().map(|(_, caption)| caption).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn point(x: f64, y: f64) -> Position {
        Position { x, y }
    }

    #[test]
    fn captions_keep_off_discs_links_and_each_other() {
        let name = || "somewhere".to_owned();
        let discs = [(point(100.0, 100.0), name()), (point(150.0, 100.0), name())];
        let link = [(discs[0].0, discs[1].0)];
        let captions = beside(&discs, 10.0, &link, 300.0);
        // To the right of the first is the link, and the second disc.
        assert!(captions[0].at.x < 100.0 && captions[1].at.x > 150.0, "{captions:?}");
        assert!(captions.iter().all(|caption| (caption.at.y - 100.0).abs() < 1e-9));
        // None is nearer to another disc than to its own.
        let discs = [(point(100.0, 100.0), name()), (point(100.0 + 23.0 + 9.0 * CHARACTER, 100.0), name())];
        let to_the_left = (point(60.0, 80.0), point(60.0, 120.0));
        let captions = beside(&discs, 10.0, &[to_the_left], 400.0);
        assert!((captions[0].at.y - 100.0).abs() > 1.0, "{captions:?}");
        // At the edge of the picture there is room above and below only.
        let captions = beside(&[(point(30.0, 100.0), name())], 10.0, &[], 60.0);
        assert!((captions[0].at.x - 30.0).abs() < 1e-9 && captions[0].at.y < 100.0, "{captions:?}");
        // In a crowd most go without.
        let crowd: Vec<(Position, String)> = (0..100)
            .map(|i| (point(f64::from(i % 10) * 24.0 + 50.0, f64::from(i / 10) * 24.0 + 50.0), name()))
            .collect();
        let captions = beside(&crowd, 10.0, &[], 400.0);
        assert!((10..50).contains(&captions.len()), "{}", captions.len());
    }

    #[test]
    fn lines_are_cut_at_all_sides() {
        let frame = Frame { left: 0.0, right: 10.0, top: 0.0, bottom: 4.0 };
        assert!(frame.meets_line(point(-5.0, 2.0), point(15.0, 2.0)));
        assert!(frame.meets_line(point(2.0, -5.0), point(3.0, 15.0)));
        assert!(!frame.meets_line(point(-5.0, 2.0), point(-1.0, 2.0)));
        assert!(!frame.meets_line(point(-5.0, 5.0), point(15.0, 5.0)));
        assert!(!frame.meets_line(point(8.0, -4.0), point(16.0, 4.0)));
    }
}
