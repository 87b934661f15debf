//! Algorithms that are written in Python.

use std::fmt::Display;
use std::panic::resume_unwind;
use std::sync::Arc;

use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTracebackMethods;
use wormcast::multicast::{
    Algorithm, AlgorithmCapabilities, AlgorithmError, Branch, BranchingTrees, Descriptor, Itinerary, Multicast,
    Options, Path, Plan, Routed, Tree, Worm, replace, routing_named,
};
use wormcast::network::{self as net, ChannelId, NodeId};
use wormcast::routing::{Branching, Dependencies, RoutingOptions, RoutingRelation, TurnRouting, WormRule};

use crate::failure::input;
use crate::network::Network;

/// A channel, by the routers at its ends.
type Ends = (u32, u32);

/// A worm as Python gives it: its sender; the worm that lets it start; the channel that it takes first; its stops; or, for a tree, its
/// branches, each with the position of the one before it and the nodes that it delivers to at its end.
type Given = (u32, Option<u32>, Option<Ends>, Vec<u32>, Option<Vec<(Ends, Option<u32>, Vec<u32>)>>);

/// What plans on a network, and the rules of its worms.
type BoundPlan = (Py<PyAny>, Option<Py<PyAny>>, Option<Py<PyAny>>);

/// What worms promise never to go beyond.
#[derive(Clone, Copy)]
enum Promise {
    /// They stop once, at the end.
    Unicasts,
    /// They go as unicasts of the routing do, and may deliver anywhere on the way.
    Stops,
    /// They are trees over the turns that the routing permits.
    Trees,
    /// They turn and stop as two functions of Python say.
    Rule,
}

/// Registers an algorithm, or puts it in the place of one with the same name.
///
/// `bind` takes a network, and returns what plans on it, from a source and a list of destinations to worms; and, if those are its promise, which turns and stops
/// worms may make.
#[pyfunction]
pub(crate) fn register(
    name: String,
    revision: u32,
    about: String,
    routing: &str,
    promise: &str,
    bind: Py<PyAny>,
) -> PyResult<()> {
    let routing = routing_named(routing).map_err(input)?;
    let promise = match promise {
        "rule" => Promise::Rule,
        "unicasts" => Promise::Unicasts,
        "trees" => Promise::Trees,
        "stops" => Promise::Stops,
        _ => return Err(input(format!("promise: unknown `{promise}`; expected `unicasts`, `stops` or `trees`"))),
    };
    // An algorithm is known for as long as the process, and so is its name.
    let (name, about): (&'static str, &'static str) = (name.leak(), about.leak());
    let make = move |network: &Arc<net::Network>, options: &Options| -> Result<Box<dyn Algorithm>, AlgorithmError> {
        let of_routing = RoutingOptions { seed: options.seed, root: options.root, tree_only: false };
        let routing = options.routing.unwrap_or(routing);
        let relation = routing.make(network, &of_routing)?;
        if matches!(promise, Promise::Trees) && relation.capabilities().turns.is_none() {
            return Err(AlgorithmError::NeedsTurns { algorithm: name, given: routing.name });
        }
        let bound: PyResult<BoundPlan> = Python::attach(|py| {
            let network = Py::new(py, Network { network: Arc::clone(network) })?;
            bind.call1(py, (network,))?.extract(py)
        });
        let (plan, may_turn, may_stop) = bound.unwrap_or_else(|error| failed(name, &error));
        let rule = may_turn.zip(may_stop);
        Ok(Box::new(OwnAlgorithm { name, relation, promise, plan, rule }))
    };
    let descriptor = Descriptor::with_state(name, revision, Box::leak(Box::new(make))).about(about);
    replace(descriptor.routed(Routed::By(routing))).map_err(input)
}

/// Ends what is being done, with the traceback as its message. What is no error of the function, such as Ctrl-C, is passed on as it is.
fn failed(name: &str, error: &PyErr) -> ! {
    let passed_on = Python::attach(|py| (!error.is_instance_of::<PyException>(py)).then(|| error.clone_ref(py)));
    if let Some(error) = passed_on {
        resume_unwind(Box::new(error))
    }
    let text = Python::attach(|py| {
        let trace = error.traceback(py).and_then(|traceback| traceback.format().ok());
        format!("`{name}`, which is written in Python, failed: {error}\n{}", trace.unwrap_or_default())
    });
    // Not `panic!`: the exception says it all.
    resume_unwind(Box::new(text.trim_end().to_owned()))
}

/// Ends what is being done because of what a plan says.
fn refused(name: &str, problem: impl Display) -> ! {
    resume_unwind(Box::new(format!("`{name}`, which is written in Python, gives no plan: {problem}")))
}

struct OwnAlgorithm {
    name: &'static str,
    relation: Box<dyn RoutingRelation>,
    promise: Promise,
    plan: Py<PyAny>,
    /// Which turns worms may make, and which stops.
    rule: Option<(Py<PyAny>, Py<PyAny>)>,
}

impl OwnAlgorithm {
    fn channel(&self, (from, to): Ends) -> ChannelId {
        let network = self.relation.network();
        let routers = network.routers() as u32;
        let ends = [from, to].map(net::RouterId::new);
        let found = (from < routers && to < routers).then(|| network.channel_between(ends[0], ends[1])).flatten();
        found.unwrap_or_else(|| refused(self.name, format!("there is no channel from router {from} to router {to}")))
    }

    fn nodes(&self, given: &[u32]) -> Vec<NodeId> {
        let nodes = self.relation.network().nodes();
        if let Some(other) = given.iter().find(|&&node| node as usize >= nodes) {
            refused(self.name, format!("there is no node {other}; expected 0 to {}", nodes - 1));
        }
        given.iter().copied().map(NodeId::new).collect()
    }

    fn worm(&self, (from, after, exit, stops, branches): Given) -> Worm {
        let exit = exit.map(|ends| self.channel(ends));
        let itinerary = match branches {
            None => Itinerary::Path(Path { exit, stops: self.nodes(&stops) }),
            Some(branches) => {
                let branches = branches.into_iter().map(|(ends, parent, delivers)| Branch {
                    channel: self.channel(ends),
                    parent,
                    delivers: self.nodes(&delivers),
                });
                let (branches, delivers) = (branches.collect(), self.nodes(&stops));
                Itinerary::Tree(Tree { delivers, branches, ..Tree::default() })
            }
        };
        Worm { from: self.nodes(&[from])[0], after, itinerary, consumption_class: None, virtual_channels: None }
    }
}

impl Algorithm for OwnAlgorithm {
    fn name(&self) -> &'static str {
        self.name
    }

    fn routing(&self) -> &dyn RoutingRelation {
        self.relation.as_ref()
    }

    fn plan(&self, multicast: &Multicast) -> Plan {
        let destinations: Vec<u32> = multicast.destinations().iter().map(|node| node.raw()).collect();
        let given: PyResult<Vec<Given>> =
            Python::attach(|py| self.plan.call1(py, (multicast.source().raw(), destinations))?.extract(py));
        let given = given.unwrap_or_else(|error| failed(self.name, &error));
        Plan { worms: given.into_iter().map(|worm| self.worm(worm)).collect() }
    }

    fn dependencies(&self) -> Dependencies<'_> {
        match self.promise {
            Promise::Unicasts => Dependencies::of_relation(self.routing()),
            Promise::Stops => {
                let along = Along(Dependencies::of_relation(self.routing()));
                Dependencies::of_rule(self.network(), &along)
            }
            Promise::Trees => self.dependencies_with(Branching::LOCKSTEP),
            Promise::Rule => match &self.rule {
                Some((may_turn, may_stop)) => {
                    Dependencies::of_rule(self.network(), &Rule { name: self.name, may_turn, may_stop })
                }
                None => refused(self.name, "its rule is missing"),
            },
        }
    }

    fn capabilities(&self) -> AlgorithmCapabilities<'_> {
        let trees: Option<&dyn BranchingTrees> = matches!(self.promise, Promise::Trees).then_some(self as _);
        AlgorithmCapabilities { trees, ..AlgorithmCapabilities::default() }
    }
}

impl BranchingTrees for OwnAlgorithm {
    fn branching(&self) -> Branching {
        Branching::LOCKSTEP
    }

    fn dependencies_with(&self, branching: Branching) -> Dependencies<'_> {
        match self.relation.capabilities().turns.map(TurnRouting::turns) {
            Some(turns) => Dependencies::of_trees(self.network(), turns, branching),
            // It is not made without.
            None => Dependencies::of_relation(self.routing()),
        }
    }
}

/// Worms that go as unicasts do, and stop wherever they like.
struct Along<'n>(Dependencies<'n>);

impl WormRule for Along<'_> {
    fn may_turn(&self, _: &net::Network, arriving: ChannelId, leaving: ChannelId) -> bool {
        self.0.contains(arriving, leaving)
    }

    fn may_stop(&self, _: &net::Network, _: ChannelId, _: ChannelId) -> bool {
        true
    }
}

/// Worms that go and stop as functions of Python say.
struct Rule<'a> {
    name: &'static str,
    may_turn: &'a Py<PyAny>,
    may_stop: &'a Py<PyAny>,
}

impl Rule<'_> {
    fn says(&self, function: &Py<PyAny>, network: &net::Network, arriving: ChannelId, leaving: ChannelId) -> bool {
        let ends = |channel| (network.from(channel).raw(), network.to(channel).raw());
        // What is merely true, or not, is most likely a mistake: `None` where a `return` is missing would be a proof.
        let said: PyResult<bool> = Python::attach(|py| {
            let said = function.call1(py, (ends(arriving), ends(leaving)))?;
            let no_answer = |_| PyTypeError::new_err(format!("a rule returned {said}; expected True or False"));
            said.extract(py).map_err(no_answer)
        });
        said.unwrap_or_else(|error| failed(self.name, &error))
    }
}

impl WormRule for Rule<'_> {
    fn may_turn(&self, network: &net::Network, arriving: ChannelId, leaving: ChannelId) -> bool {
        self.says(self.may_turn, network, arriving, leaving)
    }

    fn may_stop(&self, network: &net::Network, arriving: ChannelId, leaving: ChannelId) -> bool {
        self.says(self.may_stop, network, arriving, leaving)
    }
}
