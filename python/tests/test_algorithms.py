"""Algorithms that are written in Python."""

import importlib
import itertools
import pickle

import numpy as np
import pytest
import wormcast as wc
from own import chain, comb, ruled

SETTINGS = {
    "topology": "mesh:4x4",
    "traffic.arrivals": {"process": "poisson", "rate": 0.02},
    "traffic.length": 16,
    "traffic.multicast.destinations": 5,
    "run.messages": 300,
    "run.warmup": 2000,
    "stop": {"min_replications": 5, "max_replications": 5},
    "switching.consumption_ports": 4,
}


def test_it_plans_what_the_same_algorithm_in_rust_plans():
    # By hand, and as the example of the repository does.
    mesh = wc.Network("mesh:8x8")
    plan = mesh.plan("py-comb", (3, 3), [(1, 3), (6, 3), (6, 6)])
    assert sorted(worm["visits"] for worm in plan.worms) == [[25], [30, 54]]
    assert (plan.algorithm, plan.startups) == ("py-comb", 2)
    assert wc.algorithms()["py-comb"] == "Along the row, delivering on the way, then along one column."


def test_every_plan_for_three_nodes_keeps_the_promise():
    mesh = wc.Network("mesh:3x3")
    for source in range(9):
        for destinations in itertools.combinations(set(range(9)) - {source}, 3):
            for name in ["py-comb", "py-ruled", "py-chain"]:
                plan = mesh.plan(name, source, destinations)
                assert sorted(node for worm in plan.worms for node in worm["visits"]) == sorted(destinations)


def test_the_promise_is_what_is_analysed():
    for name in ["py-comb", "py-ruled"]:
        assert [wc.analyse("mesh:8x8", name, consumption_ports=ports).deadlock_free for ports in (2, 3)] == [False, True]
    assert wc.analyse("mesh:8x8", "py-chain", consumption_ports=1)


def test_it_is_swept_and_compared_with_others():
    experiment = wc.Experiment(
        SETTINGS | {"sweep.algorithm": ["py-comb", "column-path", "py-chain"], "sweep.traffic.arrivals.rate": [0.01, 0.05]},
        algorithms=[comb, chain],
    )
    result = experiment.run(jobs=2)
    assert len(result) == 6 and result.csv() == experiment.run(jobs=1).csv()
    compared = experiment.compare("py-comb", "py-chain")
    assert len(compared.points) == 2
    point = experiment.points[0]["spec"]
    assert point["algorithm_revision"] == comb.revision


def test_separate_in_python_has_the_results_of_the_built_in_one():
    @wc.algorithm("py-separate", routing="e-cube", promise="unicasts")
    def separate(network, source, destinations):
        return [[node] for node in destinations]

    settings = SETTINGS | {"sweep.traffic.arrivals.rate": [0.01, 0.05]}
    tables = [
        wc.Experiment(settings | {"algorithm": name}, algorithms=[separate]).run().to_pandas().drop(columns="config_hash")
        for name in ["py-separate", "separate"]
    ]
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize("promise", [{"promise": "unicasts"}, {"promise": "stops"}, {"may_turn": lambda n, a, b: True}])
def test_trees_are_none_of_other_promises(promise):
    def plan(network, source, destinations):
        return [wc.Worm(branches=[((source, node), None, [node]) for node in destinations])]

    wc.algorithm("py-star", routing="e-cube", **promise)(plan)
    with pytest.raises(wc.InputError, match="worm 0 may branch: it is a tree, which `dependencies` .in Python `promise`. does not include"):
        wc.Network("mesh:3x3").plan("py-star", 4, [1, 3])
    settings = {"algorithm": "py-star", "topology": "complete:4", "routing": "up-down", "traffic.arrivals.rate": 0.01, "traffic.multicast.destinations": 2}
    wc.algorithm("py-star", routing="up-down", **promise)(plan)
    with pytest.raises((wc.InputError, wc.RunError), match="it is a tree"):
        wc.simulate(SETTINGS | settings)


def test_trees_take_permitted_turns_only():
    def clockwise(network, source, destinations):
        order = [(source - step) % 8 for step in range(9)]
        last = max(order.index(node) for node in destinations)
        branches = [
            ((order[place], order[place + 1]), place - 1 if place else None, [order[place + 1]] if order[place + 1] in destinations else [])
            for place in range(last)
        ]
        return [wc.Worm(branches=branches)]

    wc.algorithm("py-clockwise", routing="turn-prohibition", promise="trees")(clockwise)
    ring = wc.Network("ring:8")
    assert ring.plan("py-clockwise", 6, [4]).steps == 1
    with pytest.raises(wc.InputError, match="worm 0 may turn from 1 > 0 to 0 > 7, which `dependencies` .in Python `promise`. does not include"):
        ring.plan("py-clockwise", 6, [2, 7])


def test_what_is_no_plan_is_told_in_words():
    mesh = wc.Network("mesh:4x4")
    for returned, said in [
        (None, "found None as a plan; expected a list of worms"),
        ([3], "worm 0 is 3; expected a `Worm`, or the list of the nodes that it visits"),
        ([[3], ["4,4"]], r"worm 1 is \['4,4'\]; expected .*: node 4,4 is out of range"),
        ([[-1]], r"worm 0 is \[-1\]; expected .*: `-1` is not a node"),
        ([wc.Worm([3], exit=3)], "worm 0: exit: found 3; expected a channel"),
        ([wc.Worm(branches=[((0, 1), None)])], r"worm 0: branch 0: found \(\(0, 1\), None\); expected a channel, the position"),
        ([wc.Worm(branches=[(("0,0", "1,0"), None, [1])])], "worm 0: branch 0: found .*; expected a channel, by the numbers"),
        ([wc.Worm(branches=[((0, 1), -1, [1])])], "worm 0: branch 0, its parent: found -1; expected a whole number"),
        ([wc.Worm([3], after="0")], "after: found '0'; expected a whole number"),
    ]:
        wc.algorithm("py-none", routing="e-cube", revision=1)(lambda n, s, d, returned=returned: returned)
        with pytest.raises(wc.RunError, match=said):
            mesh.plan("py-none", 0, [3])
    with pytest.raises(wc.InputError, match="routing: found None"):
        wc.algorithm("py-none", routing=None)
    with pytest.raises(wc.InputError, match="algorithms: found .*; expected what `wormcast.algorithm` makes"):
        wc.Experiment({"topology": "mesh:4x4"}, algorithms=[lambda n, s, d: []])


@pytest.mark.parametrize("answer", [None, 0, "no"])
def test_rules_answer_yes_or_no(answer):
    for rules in [{"may_turn": lambda n, a, b: answer}, {"may_turn": lambda n, a, b: np.bool_(True), "may_stop": lambda n, a, b: answer}]:
        wc.algorithm("py-rule", routing="e-cube", revision=1, **rules)(lambda n, s, d: [[node] for node in d])
        with pytest.raises(wc.RunError, match=f"a rule returned {answer}; expected True or False"):
            wc.analyse("mesh:4x4", "py-rule", consumption_ports=1)


def test_nodes_of_plans_may_be_coordinates():
    @wc.algorithm("py-coordinates", routing="e-cube", promise="unicasts", revision=1)
    def plan(network, source, destinations):
        return [[network.coordinates(node)] if node % 2 else [str(node)] for node in destinations]

    made = wc.Network("mesh:4x4").plan("py-coordinates", 0, [3, 6, 9])
    assert [worm["visits"] for worm in made.worms] == [[3], [6], [9]]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_what_is_no_error_is_passed_on(interruption):
    def plan(network, source, destinations):
        raise interruption

    wc.algorithm("py-stops", routing="e-cube", revision=1)(plan)
    with pytest.raises(interruption):
        wc.Network("mesh:4x4").plan("py-stops", 0, [3])
    with pytest.raises(interruption):
        wc.simulate(SETTINGS | {"algorithm": "py-stops", "traffic.arrivals.rate": 0.01})


def test_trees_are_taken():
    @wc.algorithm("py-star", routing="turn-prohibition", promise="trees")
    def star(network, source, destinations):
        # Each neighbour by a branch of its own; on a complete graph these are all.
        return [wc.Worm(branches=[((source, node), None, [node]) for node in destinations])]

    full = wc.Network.from_text("0 1\n0 2\n0 3\n1 2\n1 3\n2 3\n")
    plan = full.plan("py-star", 0, [1, 3])
    assert (plan.startups, plan.channels) == (1, 2)
    wc.algorithm("py-starry", routing="e-cube", promise="trees")(star.function)
    with pytest.raises(wc.InputError, match="needs a routing over permitted turns"):
        wc.Network("mesh:2x2").plan("py-starry", 0, [1])


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (lambda n, s, d: [[d[0]]], "no worm delivers to"),
        (lambda n, s, d: [[node] for node in d] * 2, "which has the message already"),
        (lambda n, s, d: [[99]], "there is no node 99"),
        (lambda n, s, d: [wc.Worm([d[0]], exit=(0, 15))], "no channel from router 0 to router 15"),
        (lambda n, s, d: 5, "found 5 as a plan; expected a list of worms"),
        (lambda n, s, d: 1 / 0, "ZeroDivisionError"),
        (lambda n, s, d: [wc.Worm(1)], "worm 0: found 1; expected a list of nodes"),
        (lambda n, s, d: [["a"]], "worm 0 is ['a']; expected a `Worm`"),
        # West, then east again: not what e-cube does.
        (lambda n, s, d: [sorted(d, key=lambda node: -node)], "which `dependencies` (in Python `promise`) does not include"),
    ],
)
def test_what_is_no_plan_is_refused_in_plans_and_in_sweeps(plan, said):
    wc.algorithm("py-wrong", routing="e-cube", promise="stops", revision=1)(plan)
    with pytest.raises((wc.InputError, wc.RunError)) as refused:
        wc.Network("mesh:4x4").plan("py-wrong", 5, [4, 6, 7, 3])
    assert said in str(refused.value)
    if "dependencies" in said:
        # That takes a look at all dependencies: no run does it for every message.
        return
    with pytest.raises((wc.InputError, wc.RunError)) as refused:
        wc.Experiment(SETTINGS | {"algorithm": "py-wrong"}).run()
    assert said in str(refused.value)


def test_names_and_promises_are_checked():
    for name, options, said in [
        ("dual-path", {}, "there is an algorithm `dual-path` already"),
        ("Comb", {}, "no name for an algorithm"),
        ("py-x", {"routing": "e-cub"}, "did you mean `e-cube`"),
        ("py-x", {"promise": "paths"}, "promise: found 'paths'; expected"),
        ("py-x", {"promise": "stops", "may_turn": lambda *_: True}, "give one of the two"),
        ("py-x", {"may_stop": lambda *_: True}, "give `may_turn`, too"),
    ]:
        with pytest.raises(wc.InputError, match=said):
            wc.algorithm(name, **({"routing": "e-cube"} | options))(lambda n, s, d: [d])


def test_another_function_of_the_same_name_has_results_of_its_own(tmp_path):
    def plans(order):
        # What it closes over makes the difference.
        return lambda n, s, d: [[node] for node in sorted(d, reverse=order)]

    hashes = set()
    for order in [False, True]:
        made = wc.algorithm("py-order", routing="e-cube", promise="unicasts")(plans(order))
        experiment = wc.Experiment(SETTINGS | {"algorithm": "py-order"}, algorithms=[made])
        experiment.run(store=tmp_path / "store.db")
        hashes.add(experiment.points[0]["config_hash"])
    assert len(hashes) == 2
    again = wc.algorithm("py-order", routing="e-cube", promise="unicasts")(plans(False))
    assert wc.Experiment(SETTINGS | {"algorithm": "py-order"}, algorithms=[again]).points[0]["config_hash"] in hashes


def test_algorithms_are_pickled_by_name():
    for own in [comb, ruled, chain]:
        again = pickle.loads(pickle.dumps(own))
        assert again == own and again.function is own.function
    assert importlib.import_module("own").comb is comb


def test_an_algorithm_is_taken_by_itself_as_by_its_name():
    @wc.algorithm("py-itself", routing="e-cube", promise="unicasts")
    def itself(network, source, destinations):
        return [[node] for node in destinations]

    mesh = wc.Network("mesh:4x4")
    assert mesh.plan(itself, 0, [5, 6]).startups == mesh.plan("py-itself", 0, [5, 6]).startups == 2
    assert wc.analyse(mesh, itself).deadlock_free


def test_two_algorithms_of_one_name_are_refused():
    def twin():
        return wc.algorithm("py-twin", routing="e-cube", revision=1)(lambda network, source, destinations: [[node] for node in destinations])

    one, other = twin(), twin()
    configuration = {"topology": "mesh:4x4", "algorithm": "py-twin", "traffic.arrivals": {"process": "poisson", "rate": 0.01}, "traffic.multicast.destinations": 2}
    with pytest.raises(wc.InputError, match="two are called `py-twin`"):
        wc.Experiment(configuration, algorithms=[one, other])
    wc.Experiment(configuration, algorithms=[one, one])
