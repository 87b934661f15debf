//! Chain covers of partial orders by bipartite matching, for meshes of any dimension.

/// A partition of `0..len` into chains of a partial order, grown by augmenting paths.
///
/// By Dilworth's theorem a maximum matching between elements as predecessors and as successors gives the fewest chains.
/// Augmenting keeps every element that is matched in either role matched, which the pure negative-first algorithm uses.
pub(crate) struct ChainCover<F> {
    len: usize,
    /// Whether the second element may follow the first; a strict partial order.
    precedes: F,
    next: Vec<Option<usize>>,
    previous: Vec<Option<usize>>,
}

impl<F: Fn(usize, usize) -> bool> ChainCover<F> {
    /// Every element a chain of its own.
    pub(crate) fn new(len: usize, precedes: F) -> Self {
        Self { len, precedes, next: vec![None; len], previous: vec![None; len] }
    }

    /// Joins chains until there are as few as possible, using elements that satisfy `member` alone.
    /// O(elements^3) at worst; the greedy first pass leaves little to augment.
    pub(crate) fn join(&mut self, member: impl Fn(usize) -> bool) {
        let members: Vec<usize> = (0..self.len).filter(|&e| member(e)).collect();
        let mut visited = vec![usize::MAX; self.len];
        for &element in &members {
            if self.next[element].is_none() {
                self.augment(element, element, &members, &mut visited);
            }
        }
    }

    /// Finds a successor for `root` along an augmenting path. Depth-first with a stack of its own: paths can be long.
    fn augment(&mut self, root: usize, round: usize, members: &[usize], visited: &mut [usize]) -> bool {
        // (predecessor, position in `members` to try next)
        let mut stack = vec![(root, 0)];
        while let Some(&mut (element, ref mut position)) = stack.last_mut() {
            let Some(&candidate) = members.get(*position) else {
                stack.pop();
                continue;
            };
            *position += 1;
            if visited[candidate] == round || !(self.precedes)(element, candidate) {
                continue;
            }
            visited[candidate] = round;
            if let Some(owner) = self.previous[candidate] {
                stack.push((owner, 0));
                continue;
            }
            // Hand each element on the stack the candidate that it tried last.
            for &(element, position) in &stack {
                let successor = members[position - 1];
                self.next[element] = Some(successor);
                self.previous[successor] = Some(element);
            }
            return true;
        }
        false
    }

    /// The chains, each in order, sorted by their first elements.
    pub(crate) fn chains(&self) -> Vec<Vec<usize>> {
        let starts = (0..self.len).filter(|&e| self.previous[e].is_none());
        starts.map(|start| std::iter::successors(Some(start), |&e| self.next[e]).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The size of the largest set of incomparable elements, by trying all.
    fn width(len: usize, precedes: impl Fn(usize, usize) -> bool) -> u32 {
        let comparable = |a: usize, b: usize| precedes(a, b) || precedes(b, a);
        let antichain = |set: u32| {
            let members: Vec<usize> = (0..len).filter(|&e| set >> e & 1 == 1).collect();
            members.iter().all(|&a| members.iter().all(|&b| a == b || !comparable(a, b)))
        };
        (0..1u32 << len).filter(|&set| antichain(set)).map(u32::count_ones).max().unwrap()
    }

    proptest! {
        /// Dilworth: as many chains as the largest antichain has elements.
        #[test]
        fn as_few_chains_as_the_order_is_wide(points in prop::collection::hash_set(prop::array::uniform3(0u8..3), 1..9)) {
            let points: Vec<_> = points.into_iter().collect();
            let precedes = |a: usize, b: usize| a != b && points[a].iter().zip(&points[b]).all(|(x, y)| x <= y);
            let mut cover = ChainCover::new(points.len(), precedes);
            cover.join(|_| true);
            let chains = cover.chains();
            prop_assert_eq!(chains.len() as u32, width(points.len(), precedes));
            for chain in &chains {
                prop_assert!(chain.windows(2).all(|pair| precedes(pair[0], pair[1])));
            }
            let mut all: Vec<usize> = chains.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..points.len()).collect::<Vec<_>>());
        }
    }
}
