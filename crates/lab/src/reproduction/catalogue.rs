//! What the five papers claim, and the experiments that measure it: the program carries both.

use std::fmt;

use thiserror::Error;

/// A claim of a paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PaperClaim {
    /// Its name, unique among all.
    pub id: &'static str,
    /// The paper, from 1 to 5: see [`PAPERS`].
    pub paper: usize,
    /// The figures, tables and theorems that it is about.
    pub exhibit: &'static str,
    /// What is claimed.
    pub statement: &'static str,
    /// What is likely behind a result that differs from it; empty if there is nothing to say.
    pub note: &'static str,
}

impl PaperClaim {
    /// The names of its exhibits, such as `paper-1-figure-9` or `paper-5-theorem-5.3`.
    pub fn exhibits(&self) -> Vec<String> {
        let mut names = Vec::new();
        let (mut kind, mut last, mut range) = ("", 0, false);
        for word in self.exhibit.split([' ', ',']).filter(|word| !word.is_empty()) {
            match word {
                "Figure" | "Figures" => kind = "figure",
                "Table" => kind = "table",
                "Theorem" | "Theorems" => kind = "theorem",
                "Section" | "Sections" => kind = "section",
                "Appendix" => kind = "appendix",
                "Abstract" => names.push(format!("paper-{}-abstract", self.paper)),
                "and" => {}
                "to" => range = true,
                number => {
                    let whole = number.parse::<u32>().ok();
                    let between = if range { last + 1..whole.unwrap_or(0) } else { 0..0 };
                    let numbers = between.map(|number| number.to_string()).chain([number.to_lowercase()]);
                    names.extend(numbers.map(|number| format!("paper-{}-{kind}-{number}", self.paper)));
                    (last, range) = (whole.unwrap_or(0), false);
                }
            }
        }
        names
    }
}

/// A paper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paper {
    /// Its title.
    pub title: &'static str,
    /// What it is about, in a few words.
    pub subject: &'static str,
}

/// The papers, the first of them number 1.
pub const PAPERS: [Paper; 5] = [
    Paper { title: "Adaptive Multicast Routing in Wormhole Networks", subject: "multicast by paths in meshes" },
    Paper {
        title: "Efficient Collective Data Distribution in All-Port Wormhole-Routed Hypercubes",
        subject: "software multicast in hypercubes",
    },
    Paper {
        title: "The Generalized Turn Prohibition Model for Multicast Routing in Irregular Networks",
        subject: "routing without deadlock and multicast trees in irregular networks",
    },
    Paper {
        title: "Implementing Multidestination Worms in Switch-Based Parallel Systems: Architectural Alternatives and their Impact",
        subject: "multicast in buffered switches",
    },
    Paper {
        title: "Multicast in Wormhole-Switched Torus Networks using Edge-Disjoint Spanning Trees",
        subject: "multicast on spanning trees in tori",
    },
];

const fn claim(
    id: &'static str,
    paper: usize,
    exhibit: &'static str,
    statement: &'static str,
    note: &'static str,
) -> PaperClaim {
    PaperClaim { id, paper, exhibit, statement, note }
}

/// All claims, paper by paper.
pub const CLAIMS: &[PaperClaim] = &[
    claim(
        "mesh-example",
        1,
        "Section 3.2, Figures 5 and 6",
        "In the example on an 8x8 mesh, pure negative-first makes the three lists A, B and C of 8, 6 and 4 destinations.",
        "",
    ),
    claim(
        "mesh-optimal",
        1,
        "Theorems 1 and 2",
        "No set of negative-first lists is smaller than that of the pure algorithm, and none with shortest ways to every destination is smaller than that of the minimal one.",
        "The minimal algorithm as printed keeps worms apart that could share a list: on a 2x2 mesh it sends two from (1,0) to (0,0) and (0,1), and one is enough. `minimal-negative-first-optimal` joins such lists and is optimal.",
    ),
    claim(
        "mesh-startups",
        1,
        "Table 1",
        "The largest and the mean number of startups a node needs for all-to-all broadcast in an n x n mesh have the printed closed forms, for five algorithms.",
        "The printed maximum of the minimal algorithm, 3n - 2, is one more than its figure ever takes; that of SCHL, 2n + 7, is one too small. The printed mean of the minimal algorithm belongs to the variant with the fewest worms.",
    ),
    claim(
        "mesh-load",
        1,
        "Figure 9",
        "In a 16x16 mesh with 10, 20 and 30 destinations, Hamiltonian paths have the lowest latency at the lowest load and the highest at moderate and higher loads; column-path has the highest at the lowest load; at all but the lowest loads the two negative-first algorithms are best, the pure one first and the minimal one at high load.",
        "An algorithm that saturates is behind every one that does not, and column-path, whose worms are short, is the last to saturate: the pure algorithm does so from a rate of 0.013 on with 10 destinations. Arrivals do not change that, and startups hardly; buffers do. With 16 flits instead of one and 10 destinations, both negative-first algorithms stay ahead of column-path at every rate, but Hamiltonian paths are ahead of both: what counts is how long worms that wait hold channels. At the highest rates several algorithms are saturated here, which leaves nothing to compare; the paper's figure goes on, so its runs probably ended before their queues had grown.",
    ),
    claim(
        "mesh-degree",
        1,
        "Figure 10",
        "At a fixed rate and for any number of destinations up to broadcast, both negative-first algorithms have lower latency than both others, and for large sets the minimal one is ahead of the pure one.",
        "The paper's rate is far beyond saturation in steady state for more than about 60 destinations (Figure 9 shows where 10, 20 and 30 saturate): the figure can only be of finite runs from an empty network, and so are these, of two messages a node. Shorter or longer runs leave the order as it is, and deeper buffers hardly change it. Startups do: the paper's order of the negative-first algorithms and column-path needs them one after the other, and without them column-path is the fastest for large sets. The minimal algorithm sends more worms than the pure one and is behind it for large sets under all variations.",
    ),
    claim(
        "mesh-multiple",
        1,
        "Figure 11",
        "With 128 and 256 simultaneous sources both negative-first algorithms have lower latency than SCHL on average, and SCHL's latency falls again beyond some number of destinations.",
        "",
    ),
    claim(
        "cube-examples",
        2,
        "Figures 2, 3, 5, 6 and 8",
        "The worked examples have the printed trees and numbers of steps.",
        "",
    ),
    claim(
        "cube-contention",
        2,
        "Theorems 5 and 6",
        "Weighted sort makes a cube-ordered chain of every cube-ordered chain, and the plans of W-sort are free of contention.",
        "",
    ),
    claim(
        "cube-steps",
        2,
        "Figures 9 and 10",
        "In 6- and 10-cubes Maxport, Combine and W-sort take fewer steps than U-cube and smooth its staircase.",
        "Maxport hands a whole half of the cube to one node, however many destinations are in it. Just below powers of two, where U-cube is at its best, that costs it more steps; the paper says so itself of a single set (Figure 6). With 100 sets a point, as in the paper, the difference cannot be seen.",
    ),
    claim(
        "cube-delay-5",
        2,
        "Figures 11 and 12",
        "In a 5-cube, for messages of 4,096 bytes, the average and maximum delay of all three new algorithms are below U-cube's; U-cube's average delay is worse for some multicasts than for broadcast, and its maximum shows a staircase.",
        "",
    ),
    claim(
        "cube-delay-10",
        2,
        "Figures 13 and 14",
        "In a 10-cube the advantage of W-sort is plain, in the average and in the maximum delay.",
        "",
    ),
    claim(
        "turns-theory",
        3,
        "Theorems 1 to 5",
        "Turn prohibition breaks every cycle, keeps the network connected, prohibits no turn that could be spared and at most a third of all; at least M - N + 1 turns have to be prohibited.",
        "Theorem 5 is printed with the opposite sign; what is tested is what its proof shows. Theorem 4 needs networks without parallel links.",
    ),
    claim(
        "turns-fraction",
        3,
        "Figure 2",
        "In random graphs of 256 nodes turn prohibition prohibits 15% to 50% fewer turns than up*/down*.",
        "Near a tree, at degree 2.5, there are few cycles to break and little to choose from. From degree 3 on the claim holds; the root of up*/down* and the size of the graphs make no difference.",
    ),
    claim(
        "turns-unicast",
        3,
        "Figure 3",
        "In random graphs of 256 nodes of degree 4 turn prohibition has lower latency for unicasts than up*/down*, and saturates later.",
        "",
    ),
    claim(
        "turns-trees",
        3,
        "Figure 5 and Table 1",
        "Zero, One and Infinity multicast trees are smaller in that order.",
        "",
    ),
    claim(
        "turns-multicast",
        3,
        "Figures 6, 7 and 8",
        "With Zero and One trees there is no significant difference between turn prohibition and up*/down*; with Infinity trees turn prohibition has the lower latency.",
        "Up*/down* crowds the links at its root, for multicasts as for unicasts: with one root among 64 nodes that shows as soon as links are loaded. The paper's degree and loads are not in its text. At an average degree of 6 instead of 4 the same rates load links less, and the claim holds; a root with the most links does not help.",
    ),
    claim(
        "switch-degree",
        4,
        "Figure 14",
        "With 16 nodes the latency of software multicast rises with the number of destinations, that of hardware multicast falls at equal effective load, and hardware multicast saturates later, with either buffer.",
        "The latency is that of the last delivery, and the last of four is later than the last of two; only with many destinations do the fewer messages of the same load count for more. In the mean over destinations latency does fall from 2 to 6 destinations where the load is not low, and still rises at a load of 0.1. With input buffers and 2 destinations, hardware multicasts that block each other cost as much as software saves: twice the buffers do not change it, longer messages nearly close the gap.",
    ),
    claim(
        "switch-small-m",
        4,
        "Figure 14",
        "For few destinations hardware multicast with input buffers is worse than software multicast with a central buffer.",
        "",
    ),
    claim(
        "switch-saturation",
        4,
        "Figure 15",
        "With input buffers the received load at saturation rises with the number of destinations of hardware multicast; with a central buffer it is near 1.",
        "",
    ),
    claim(
        "switch-length",
        4,
        "Figure 16",
        "With messages of 512 bytes and a central buffer, multicasts to 2 and 4 nodes saturate before a load of 0.9, those to 6 and 9 above.",
        "",
    ),
    claim("switch-size", 4, "Figure 17", "64 nodes have higher latency and slightly lower saturation than 16.", ""),
    claim(
        "switch-bimodal",
        4,
        "Figure 18",
        "Where 20% of the load is multicast, hardware multicasts disturb unicasts less than software ones.",
        "",
    ),
    claim(
        "switch-definitions",
        4,
        "Figure 19",
        "The latency to the last destination and the mean over destinations differ by up to about 60% at high load for six destinations, hardly for hardware multicast to 15, and always for software multicast.",
        "At the loads next to saturation the last of six deliveries waits for the slowest of six outputs. The length of messages and the size of input buffers hardly change the shares.",
    ),
    claim(
        "switch-factor",
        4,
        "Sections 1 and 7.8",
        "A central buffer saturates at up to twice the load of input buffers of the same storage.",
        "Both architectures are limited by the links: a central buffer cannot carry more than 1, and input buffers carry 0.62 at least. Messages of 32 or 512 bytes do not change the factor. What the paper's input buffers lose more than these is not in its text.",
    ),
    claim(
        "torus-disjoint",
        5,
        "Theorem 4.1",
        "Any torus has two edge-disjoint binary spanning trees that leave two links unused.",
        "",
    ),
    claim(
        "torus-diameter",
        5,
        "Theorems 5.1 and 5.2",
        "The combined diameter of the trees of an n x n torus is 2n - 1 for DSTM-1 and 2n - 2 for DSTM-2.",
        "Theorem 5.1 is an upper bound: odd sides reach it, even ones stay one below it.",
    ),
    claim(
        "torus-header",
        5,
        "Theorem 5.3 and Appendix A",
        "Headers in the order of Appendix A lead a worm to exactly its destinations, and are made in O(D log D + N).",
        "",
    ),
    claim(
        "torus-tarjan",
        5,
        "Figure 8",
        "Of 500 random Roskind-Tarjan pairs in a 33x33 torus the best has a combined diameter about 65% above DSTM's and the mean is more than twice DSTM's; the average distance is about 50% higher; DSTM is ahead from small sizes on.",
        "At 3x3 nearly all pairs of spanning trees are short, and a random one may be shorter on average than DSTM-1's; from 5x5 on the claim holds. The order in which a search looks at links is not in the text and decides between equally good trees.",
    ),
    claim(
        "torus-mixed",
        5,
        "Figure 9",
        "In a 16x16 torus with 90% unicasts and 10% multicasts to 48, two trees of any kind but Hamilton paths beat SPAM on one; the order is DSTM-1, the best Roskind-Tarjan pair, DSTM-2; Hamilton paths are pathological.",
        "SPAM's cross links make its ways shorter, which counts where there is no contention: with short messages it is ahead at every rate up to 0.006. Headers, startups and buffers do not change who is ahead at low rates. The paper chose its Roskind-Tarjan pair by balance as well, and does not say how.",
    ),
    claim(
        "torus-multicast",
        5,
        "Figure 10",
        "With multicasts to 5 to 10 alone the leader is the same, by a wider margin.",
        "SPAM's cross links make its ways shorter, which counts where there is no contention. Headers, startups, buffers and the length of messages do not change that.",
    ),
    claim(
        "torus-fault",
        5,
        "Figures 11 and 12",
        "One failed link makes ways modestly longer, with local information slightly more than with global.",
        "With local information a worm goes all the way to the failed link and on from there; the longest of these ways decide the diameter. It is the same for trees from random starting nodes.",
    ),
    claim(
        "torus-factor",
        5,
        "Abstract",
        "Two trees carry up to twice the load of one.",
        "“Up to twice” is the abstract's word, and 1.8 this project's reading of it; beyond saturation the delivered loads of multicasts alone differ by a factor of 1.77.",
    ),
];

/// A file that the program carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shipped {
    /// Its name, with its ending.
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

impl Shipped {
    /// The name without its ending.
    pub(super) fn stem(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(stem, _)| stem)
    }

    /// Whether it is an experiment, and not what one reads.
    pub(super) fn is_experiment(&self) -> bool {
        self.name.split_once('.').is_some_and(|(_, ending)| ending == "toml")
    }
}

macro_rules! shipped {
    ($($name:literal)*) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../../experiments/", $name)) }),*]
    };
}

/// The experiments of the papers, and the files that they read.
pub(super) const FILES: &[Shipped] = shipped! {
    "paper-1-figure-10.toml"
    "paper-1-figure-11a.toml"
    "paper-1-figure-11b.toml"
    "paper-1-figure-9a.toml"
    "paper-1-figure-9b.toml"
    "paper-1-figure-9c.toml"
    "paper-1-table-1.toml"
    "paper-2-examples.toml"
    "paper-2-figure-10.toml"
    "paper-2-figure-2.txt"
    "paper-2-figure-5.txt"
    "paper-2-figure-6.txt"
    "paper-2-figure-9.toml"
    "paper-2-figures-11-12.toml"
    "paper-2-figures-13-14.toml"
    "paper-2-theorem-6.toml"
    "paper-3-figure-2.toml"
    "paper-3-figure-3.toml"
    "paper-3-figure-6.toml"
    "paper-3-figure-7.toml"
    "paper-3-figure-8.toml"
    "paper-3-trees.toml"
    "paper-4-figure-14-central.toml"
    "paper-4-figure-14-hardware.toml"
    "paper-4-figure-14-input.toml"
    "paper-4-figure-15-central.toml"
    "paper-4-figure-15-input.toml"
    "paper-4-figure-15-software.toml"
    "paper-4-figure-16-saturation.toml"
    "paper-4-figure-16.toml"
    "paper-4-figure-17.toml"
    "paper-4-figure-18.toml"
    "paper-4-figure-19.toml"
    "paper-4-saturation.toml"
    "paper-5-figure-10.toml"
    "paper-5-figure-11.toml"
    "paper-5-figure-12.toml"
    "paper-5-figure-8-33.toml"
    "paper-5-figure-8-from-9.toml"
    "paper-5-figure-8.toml"
    "paper-5-figure-9.toml"
    "paper-5-figures-11-12.toml"
    "paper-5-saturation-mixed.toml"
    "paper-5-saturation-multicast.toml"
    "paper-5-theorem-4-1.toml"
    "paper-5-theorems-5-1-5-2.toml"
};

/// A name that stands for no claim.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub struct UnknownClaim {
    name: String,
    /// The end of the message: what was meant, if that is known.
    nearest: String,
}

impl UnknownClaim {
    pub(super) fn new(name: &str, nearest: String) -> Self {
        Self { name: name.to_owned(), nearest }
    }
}

impl fmt::Display for UnknownClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no claim, paper or exhibit: expected a name such as `{}`, ", self.name, CLAIMS[0].id)?;
        write!(f, "`paper-1` or `paper-1-figure-9a`{}", self.nearest)
    }
}
