//! Edge-disjoint forests that grow link by link: the algorithm of Roskind and Tarjan.

/// No link, or no forest.
const NONE: u32 = u32::MAX;

/// Edge-disjoint forests of a graph, together with as many links as possible: a base of the union of graphic matroids.
///
/// [`add`](Self::add) takes the links in any order. A link that fits into no forest may still be taken if others move from
/// forest to forest; a search over chains of such moves, each link from its forest into the next, finds the shortest or proves
/// that there is none. In the second case the links met fill every forest between the same routers, a *clump*: no
/// link within it is ever needed.
///
/// Trees are kept as links towards a root that may be anywhere. A search follows the cycle that a link would close from both
/// ends at once and contracts it, so that it meets every link of a forest once. Joining two trees turns round the path of
/// the end that is nearer to its root. A search costs at most O(forests x routers) and usually ends far earlier; the paths
/// turned round cost what they are long.
///
/// *Source:* J. Roskind and R. E. Tarjan, A Note on Finding Minimum-Cost Edge-Disjoint Spanning Trees, Mathematics of
/// Operations Research 10 (1985), pp. 701–708, whose labelling this is; contraction and turning are ours, there all trees are
/// rooted afresh for every link.
pub(crate) struct LinkForests<'l> {
    ends: &'l [[u32; 2]],
    /// The forest of each link.
    owner: Vec<u32>,
    forests: Vec<Forest>,
    /// The number of links in all forests.
    links: usize,
    clumps: Vec<u32>,
    /// The number of the current search, and of the current walk within it.
    search: u32,
    walk: u32,
    /// Why each link was met in which search: its place would be taken by this one.
    before: Vec<u32>,
    met: Vec<u32>,
    queue: Vec<u32>,
    /// Where a walk has been: the walk, the end that it came from, and how many links it had climbed.
    footprint: Vec<(u32, u8, u32)>,
    /// The links climbed from either end, each with the router below it.
    climbed: [Vec<(u32, u32)>; 2],
}

/// Trees as links towards roots, and what the current search has contracted of them.
struct Forest {
    /// The link from each router towards its root.
    up: Vec<u32>,
    /// A router further up in the same contracted part, if the search is the one named.
    contracted: Vec<(u32, u32)>,
}

impl Forest {
    /// The uppermost router of the part that `router` is contracted into.
    fn top(&mut self, mut router: u32, search: u32) -> u32 {
        let next = |forest: &Self, router: u32| match forest.contracted[router as usize] {
            (stamp, up) if stamp == search => up,
            _ => router,
        };
        loop {
            let up = next(self, router);
            if up == router {
                return router;
            }
            let further = next(self, up);
            self.contracted[router as usize] = (search, further);
            router = further;
        }
    }
}

impl<'l> LinkForests<'l> {
    /// A number of empty forests over routers and links; a link is named by its place in `ends`.
    pub(crate) fn new(routers: usize, ends: &'l [[u32; 2]], forests: usize) -> Self {
        let forest = || Forest { up: vec![NONE; routers], contracted: vec![(0, 0); routers] };
        Self {
            ends,
            owner: vec![NONE; ends.len()],
            forests: (0..forests).map(|_| forest()).collect(),
            links: 0,
            clumps: (0..routers as u32).collect(),
            search: 0,
            walk: 0,
            before: vec![NONE; ends.len()],
            met: vec![0; ends.len()],
            queue: Vec::new(),
            footprint: vec![(0, 0, 0); routers],
            climbed: [Vec::new(), Vec::new()],
        }
    }

    /// The number of links in all forests together.
    pub(crate) fn links(&self) -> usize {
        self.links
    }

    /// The links of a forest.
    pub(crate) fn forest(&self, forest: usize) -> impl Iterator<Item = usize> + '_ {
        self.owner.iter().enumerate().filter(move |&(_, &owner)| owner == forest as u32).map(|(link, _)| link)
    }

    /// The clump of a router, named by one of its routers.
    pub(crate) fn clump(&mut self, mut router: u32) -> u32 {
        while self.clumps[router as usize] != router {
            let up = self.clumps[router as usize];
            self.clumps[router as usize] = self.clumps[up as usize];
            router = up;
        }
        router
    }

    /// Puts a link that is in no forest into `forest`, where it joins two trees: what a link of trees that are known is.
    pub(crate) fn place(&mut self, link: usize, forest: usize) {
        self.join(forest, link as u32);
        self.links += 1;
    }

    /// Takes a link into one of the forests, moving others if need be; `false` if that is impossible.
    pub(crate) fn add(&mut self, link: usize) -> bool {
        let [a, b] = self.ends[link];
        if self.forests.is_empty() || self.owner[link] != NONE || self.clump(a) == self.clump(b) {
            return false;
        }
        self.search += 1;
        self.queue.clear();
        self.meet(link as u32, NONE);
        let mut next = 0;
        while let Some(&link) = self.queue.get(next) {
            next += 1;
            // Looking into the next forest alone is enough: if the search fails, it has met the same routers in all.
            let forest = match self.owner[link as usize] {
                NONE => 0,
                owner => (owner as usize + 1) % self.forests.len(),
            };
            if !self.closes_cycle(forest, link) {
                self.shift(link, forest);
                self.links += 1;
                return true;
            }
        }
        for link in std::mem::take(&mut self.queue) {
            let [a, b] = self.ends[link as usize];
            let (a, b) = (self.clump(a), self.clump(b));
            self.clumps[a as usize] = b;
        }
        false
    }

    fn meet(&mut self, link: u32, before: u32) {
        self.met[link as usize] = self.search;
        self.before[link as usize] = before;
        self.queue.push(link);
    }

    fn other_end(&self, link: u32, router: u32) -> u32 {
        let [a, b] = self.ends[link as usize];
        a ^ b ^ router
    }

    /// Whether a link would close a cycle; the links of the cycle that are new to the search are then contracted and queued.
    fn closes_cycle(&mut self, forest: usize, link: u32) -> bool {
        let search = self.search;
        let mut at = self.ends[link as usize].map(|router| self.forests[forest].top(router, search));
        if at[0] == at[1] {
            return true;
        }
        self.walk += 1;
        for side in [0, 1] {
            self.climbed[side].clear();
            self.footprint[at[side] as usize] = (self.walk, side as u8, 0);
        }
        let top = 'meeting: loop {
            let mut climbed = false;
            for side in [0, 1] {
                let up = self.forests[forest].up[at[side] as usize];
                if up == NONE {
                    continue;
                }
                climbed = true;
                self.climbed[side].push((up, at[side]));
                let above = self.other_end(up, at[side]);
                at[side] = self.forests[forest].top(above, search);
                let (walk, from, steps) = self.footprint[at[side] as usize];
                if walk == self.walk && from as usize != side {
                    self.climbed[1 - side].truncate(steps as usize);
                    break 'meeting at[side];
                }
                self.footprint[at[side] as usize] = (self.walk, side as u8, self.climbed[side].len() as u32);
            }
            if !climbed {
                return false;
            }
        };
        for side in [0, 1] {
            for (other, below) in std::mem::take(&mut self.climbed[side]) {
                self.forests[forest].contracted[below as usize] = (search, top);
                let [a, b] = self.ends[other as usize];
                // A link within a clump leads nowhere else.
                if self.clump(a) != self.clump(b) {
                    self.meet(other, link);
                }
            }
        }
        true
    }

    /// Moves every link on the chain that led to `link` into the place of the next, the last one into `forest`.
    fn shift(&mut self, mut link: u32, mut forest: usize) {
        loop {
            let place = self.owner[link as usize];
            if place != NONE {
                self.cut(place as usize, link);
            }
            self.join(forest, link);
            if place == NONE {
                return;
            }
            forest = place as usize;
            link = self.before[link as usize];
        }
    }

    fn cut(&mut self, forest: usize, link: u32) {
        let up = &mut self.forests[forest].up;
        for router in self.ends[link as usize] {
            if up[router as usize] == link {
                up[router as usize] = NONE;
            }
        }
    }

    /// Puts a link between two trees of a forest: the end that is nearer to its root becomes a child of the other.
    fn join(&mut self, forest: usize, link: u32) {
        let ends = self.ends[link as usize];
        let mut at = ends;
        let side = 'root: loop {
            for side in [0, 1] {
                let up = self.forests[forest].up[at[side] as usize];
                if up == NONE {
                    break 'root side;
                }
                at[side] = self.other_end(up, at[side]);
            }
        };
        let (mut router, mut up) = (ends[side], link);
        while up != NONE {
            let next = std::mem::replace(&mut self.forests[forest].up[router as usize], up);
            if next != NONE {
                router = self.other_end(next, router);
            }
            up = next;
        }
        self.owner[link as usize] = forest as u32;
    }
}
