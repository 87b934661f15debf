"""Networks, plans and analyses."""

import json
import pickle
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import wormcast as wc

BURST = {"process": "burst"}


def test_a_mesh_is_what_the_command_says(command):
    mesh = wc.Network("mesh:4x3")
    printed = json.loads(command("topology", "mesh:4x3", "--format", "json").stdout)
    assert (mesh.nodes, mesh.routers, mesh.diameter) == (12, 12, printed["diameter"])
    assert mesh.average_distance == printed["average_distance"]
    assert (0, 1) in mesh.channels and (1, 0) in mesh.channels and len(mesh.channels) == 2 * printed["links"]
    assert (mesh.node((1, 2)), mesh.node("1,2"), mesh.node(9)) == (9, 9, 9)
    assert (mesh.coordinates(9), mesh.label(9), mesh.router_of[9]) == ((1, 2), "1,2", 9)
    assert mesh.svg().startswith("<svg ")


def test_wrong_networks_have_the_messages_of_the_command(command):
    for spec in ["mesh:4x", "messh:4x4", "nowhere.edges", "random:nodes=0,degree=3"]:
        printed = command("topology", spec).stderr
        with pytest.raises(wc.InputError) as refused:
            wc.Network(spec)
        assert printed == f"error: {refused.value}\n"


def test_networkx_and_back():
    petersen = nx.petersen_graph()
    network = wc.Network.from_networkx(petersen, "petersen")
    assert (network.routers, network.diameter) == (10, 2)
    assert nx.is_isomorphic(nx.Graph(network.to_networkx()), petersen)
    assert wc.analyse(network, routing="turn-prohibition")
    again = wc.Network.from_networkx(wc.Network("torus:3x3").to_networkx())
    assert sorted(again.channels) == sorted(wc.Network("torus:3x3").channels)


def test_a_saved_network_is_one_for_experiments(tmp_path):
    for name in ["petersen.graphml", "petersen.json"]:
        file = wc.Network.from_networkx(nx.petersen_graph()).save(tmp_path / name)
        run = wc.simulate({"topology": str(file), "algorithm": "tree-one", "traffic.multicast.destinations": 3, "traffic.arrivals": BURST})
        assert run["messages.measured"] > 0 and not run.saturated


def test_pickled_networks_are_the_same():
    for network in [wc.Network("torus:3x3"), wc.Network.from_networkx(nx.petersen_graph())]:
        assert sorted(pickle.loads(pickle.dumps(network)).channels) == sorted(network.channels)


def test_a_plan_is_that_of_the_command(command):
    mesh = wc.Network("mesh:8x8")
    plan = mesh.plan("pure-negative-first", (4, 3), ["1,4", (1, 5), 58])
    arguments = ["--topology", "mesh:8x8", "--algorithm", "pure-negative-first", "--source", "4,3", "--destinations", "1,4;1,5;58"]
    assert plan.to_dict() == json.loads(command("plan", *arguments, "--format", "json").stdout)
    assert plan.svg() == command("plan", *arguments, "--format", "svg").stdout
    assert plan.dot() == command("plan", *arguments, "--format", "dot").stdout
    assert (plan.startups, plan.steps, plan.source) == (1, 1, 28)
    for say, given, more in [
        ("named again count once: 1,0", [1, 1], {}),
        ("`seed` makes no difference: `dual-path` makes no random choices", [5, 9], {"seed": 3}),
        ("`flit_bits` makes no difference: no header of `dual-path` encodes destinations", [5, 9], {"flit_bits": 16}),
        (r"\(1, 4\) are nodes by their numbers; the one node at these coordinates is \[\(1, 4\)\]", (1, 4), {}),
    ]:
        with pytest.warns(UserWarning, match=say):
            mesh.plan("dual-path", 0, given, **more)
    with pytest.warns(UserWarning, match="`entries` makes no difference"):
        mesh.plan("vctm", 0, [5, 9], options={"entries": 4})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mesh.plan("dual-path", 0, [(1, 4)])
        mesh.plan("dual-path", 0, (1, 4, 9))
        wc.Network("hypercube:3").plan("u-cube", 0, (1, 2, 4))
    with pytest.raises(wc.InputError, match="local_information: no link has failed"):
        mesh.plan("dual-path", 0, [5], local_information=True)
    with pytest.raises(wc.InputError, match="True is not a node"):
        mesh.plan("dual-path", True, [5])


def test_wrong_plans_have_the_messages_of_the_command(command):
    mesh = wc.Network("mesh:8x8")
    cases = [("dual-pth", 0, [1]), ("dual-path", 64, [1]), ("dual-path", 0, ["9,9"]), ("u-cube", 0, [1]), ("dual-path", 3, [3])]
    for algorithm, source, destinations in cases:
        listed = ";".join(map(str, destinations))
        arguments = ["--topology", "mesh:8x8", "--algorithm", algorithm, "--source", str(source), "--destinations", listed]
        with pytest.raises(wc.InputError) as refused:
            mesh.plan(algorithm, source, destinations)
        printed = command("plan", *arguments).stderr
        # A name that is an argument has words of the command line around it.
        assert str(refused.value) in printed or "did you mean `dual-path`" in str(refused.value), printed


def test_what_is_no_number_and_no_node_is_told():
    mesh = wc.Network("mesh:4x4")
    for wrong, said in [
        (lambda: mesh.plan("dual-path", 1.5, [1]), "1.5 is not a node"),
        (lambda: mesh.plan("dual-path", 0, [None]), "None is not a node"),
        (lambda: mesh.plan("dual-path", 0, 3), "expected a list of nodes"),
        (lambda: mesh.plan("dual-path", 0, [1], seed=-1), "seed: found -1"),
        (lambda: mesh.plan("dual-path", 0, [1], flit_bits=-3), "flit_bits: found -3"),
        (lambda: wc.analyse(mesh, "tree-one", buffer=0), "buffer: found 0"),
        (lambda: wc.analyse(mesh, "dual-path", seed="x"), "seed: found 'x'"),
        (lambda: wc.algorithm("py-none", routing="e-cube")(5), "expected a function"),
        (lambda: wc.analyse(mesh, "dual-path", consumption_ports=33), "consumption_ports: found 33; expected a whole number from 1 to 32"),
        (lambda: wc.analyse(mesh, "dual-path", reservation="atomicc"), "reservation: unknown value `atomicc`; did you mean `atomic`"),
        (lambda: wc.analyse(mesh, "dual-path", buffer="messages"), "buffer: "),
        (lambda: wc.analyse(mesh, "dual-path", reachable=True), "reachable: "),
        (lambda: wc.analyse(mesh, "dual-path", consumption_ports="3"), "consumption_ports: found '3'"),
        (lambda: wc.analyse(mesh, "dual-path", consumption_ports=True), "consumption_ports: found True"),
        (lambda: wc.analyse(mesh, "e-cube"), "unknown algorithm `e-cube`: this is the name of a routing"),
        (lambda: wc.analyse(mesh, routing="dual-path"), "unknown routing `dual-path`: this is the name of an algorithm"),
        (lambda: wc.analyse(mesh, routing="e-cube", tables="x"), "routing: forwarding tables are one already"),
        (lambda: wc.Network.from_networkx(nx.Graph([(0, 1, {"x": float("nan")})])), "is infinite or no number"),
        (lambda: wc.Network(4), "spec: found 4; expected the text of a network"),
        (lambda: wc.Network.from_text(b"0 1"), "text: found b'0 1'; expected a text"),
        (lambda: mesh.plan("dual-path", 0, [1], ports=2), "ports: found 2; expected a text"),
        (lambda: mesh.plan("dual-path", 0, [1], routing=5), "routing: found 5"),
        (lambda: mesh.plan("dual-path", 0, [1], options={"detour": float("nan")}), "options: found .*; expected finite numbers"),
        (lambda: mesh.plan("dual-path", 0, [1], options={"detour": object()}), "options: found <object"),
        (lambda: wc.analyse(mesh, tables=5), "tables: found 5; expected the path of a file"),
        (lambda: wc.analyse(mesh, routing=5), "routing: found 5"),
        (lambda: wc.Experiment(None), "source: found None; expected a file of settings"),
        (lambda: wc.Experiment(b"x.toml"), "source: found b'x.toml'"),
        (lambda: wc.Experiment({}, algorithms=None), "algorithms: found None"),
        (lambda: wc.Experiment({}, variation=5), "variation: found 5"),
        (lambda: wc.Experiment({"title": "\ud800"}), "half a character is missing"),
        (lambda: wc.Network.from_networkx(nx.DiGraph([(0, 1), (1, 2)])), "the graph is no network: edge 0: the directed edge from `0` to `1` has none back"),
        (lambda: wc.Network.from_networkx(nx.DiGraph([(0, 1), (1, 2)])), "`graph.to_undirected..` has both ways of every edge"),
        (lambda: wc.Network.from_networkx(nx.Graph([(0, 0)])), "the graph is no network: edge 0: `0` is joined to itself"),
        (lambda: wc.Network.from_networkx([(0, 1)]), "found list; expected a graph of NetworkX"),
        (lambda: mesh.save("x.edges"), "x.edges: expected a name that ends in"),
        (lambda: mesh.save("x.png"), "x.png: expected a name that ends in"),
        (lambda: wc.algorithm("py-none", routing="e-cube", revision=-1), "revision: found -1"),
        (lambda: wc.algorithm("py-none", routing="e-cube", may_turn=3), "may_turn: found 3; expected a function"),
        (lambda: wc.algorithm("py-none", routing="e-cube", may_turn=lambda a, b: True), "may_turn: it does not take three arguments"),
        (lambda: mesh.plan("dual-path", 0, [1], options="x"), "options: found 'x'; expected a dictionary"),
        (lambda: wc.analyse(mesh, "dual-path", options=3), "options: found 3; expected a dictionary"),
        (lambda: mesh.heat_map("abc"), "loads: found 'abc'"),
        (lambda: wc.algorithm(5, routing="e-cube"), "name: found 5"),
        (lambda: mesh.plan(5, 0, [1]), "algorithm: found 5"),
        (lambda: wc.analyse(mesh, 5), "algorithm: found 5"),
        (lambda: mesh.heat_map([float("nan")] + [1.0] * 47), "the load of channel 0 is NaN"),
        (lambda: mesh.heat_map([1.0] * 47 + [float("inf")]), "the load of channel 47 is inf"),
        (lambda: mesh.heat_map([1.0] * 47 + [-5.0]), "the load of channel 47 is -5"),
    ]:
        with pytest.raises(wc.InputError, match=said):
            wrong()


def test_graphs_number_and_name_their_nodes(recwarn):
    shuffled = wc.Network.from_networkx(nx.Graph([(2, 1), (1, 0), (0, 3)]))
    assert sorted(shuffled.channels) == sorted([(0, 1), (1, 0), (1, 2), (2, 1), (0, 3), (3, 0)])
    digits = wc.Network.from_networkx(nx.Graph([("1", "0"), ("0", "2"), ("2", "3")]))
    assert [digits.node(digits.label(node)) for node in range(4)] == [0, 1, 2, 3] and (0, 2) in digits.channels
    assert len(digits.plan("tree-one", "0", ["3"]).worms[0]["channels"]) == 2
    letters = wc.Network.from_networkx(nx.Graph([("b", "a"), ("a", "c")]))
    assert [letters.node(name) for name in "bac"] == [0, 1, 2]
    grid = wc.Network.from_networkx(nx.grid_2d_graph(2, 3))
    assert grid.label(grid.node("1,2")) == "1,2"
    assert wc.Network.from_networkx(nx.path_graph(3)).label(2) == "2" and not recwarn
    with pytest.warns(UserWarning, match="node 1 of the graph is 0 here"):
        assert wc.Network.from_networkx(nx.Graph([(1, 2), (2, 3)])).nodes == 3
    with pytest.warns(UserWarning, match="node 10 of the graph is 0 here"):
        wc.Network.from_networkx(nx.Graph([("10", "20")]))


def test_names_that_are_numbers_of_others_are_warned_of(tmp_path, recwarn):
    vertices = [{"id": place, "label": str(place + 1)} for place in range(3)]
    text = json.dumps({"nodes": vertices, "edges": [{"source": 0, "target": 1}, {"source": 1, "target": 2}]})
    path = tmp_path / "names.json"
    path.write_text(text)
    traffic = {"arrivals": {"process": "poisson", "rate": 0.01}, "multicast": {"destinations": 1}}
    experiment = wc.Experiment({"topology": str(path), "algorithm": "tree-one", "traffic": traffic, "run.messages": 10})
    said = "is called `1`, and where nodes are asked for, 1 is the number of another one"
    assert not recwarn
    assert any(said in text for text in experiment.check())
    for make in [lambda: wc.Network(path), lambda: wc.Network.from_text(text, "names.json")]:
        with pytest.warns(UserWarning, match=said) as told:
            make()
        assert [warning.filename for warning in told] == [__file__]
    graph = nx.Graph()
    graph.add_nodes_from([(0, {"label": "1"}), (1, {"label": "0"})])
    graph.add_edge(0, 1)
    with pytest.warns(UserWarning, match=said):
        wc.Network.from_networkx(graph)


def test_what_numpy_has_is_taken(tmp_path):
    mesh = wc.Network("mesh:8x8")
    plain = mesh.plan("bounded-negative-first", (4, 3), [(1, 4), (7, 2)], options={"detour": 4})
    arrays = mesh.plan("bounded-negative-first", np.array([4, 3]), np.array([[1, 4], [7, 2]]), options={"detour": np.int64(4)})
    assert arrays.to_dict() == plain.to_dict()
    assert mesh.plan("dual-path", np.int64(3), np.array([5, 9])).destinations == [5, 9]
    with pytest.raises(wc.InputError, match=r"cannot read `.*none\.lfts`"):
        mesh.plan("tables", 0, [1], options={"tables": tmp_path / "none.lfts"})


def test_a_path_is_a_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("petersen").write_text("0 1\n1 2\n")
    assert (wc.Network(Path("./petersen")).routers, wc.Network("petersen").routers) == (3, 10)
    traffic = {"arrivals": {"process": "poisson", "rate": 0.01}, "multicast": {"destinations": 1}}
    for topology, routers in [(Path("petersen"), "./petersen"), ("petersen", "petersen")]:
        points = wc.Experiment({"topology": topology, "algorithm": "tree-one", "traffic": traffic}).points
        assert points[0]["spec"]["topology"] == routers
    with pytest.raises(wc.InputError, match="mesh:4x4"):
        wc.Network(Path("mesh:4x4"))


def test_texts_of_networks_say_themselves_what_they_are():
    edges = wc.Network.from_text("0 1\n1 2\n")
    again = wc.Network.from_text(json.dumps({"nodes": [{"id": 0}, {"id": 1}], "edges": [{"source": 0, "target": 1}]}))
    assert (edges.routers, again.routers) == (3, 2)
    assert wc.Network.from_text((Path(__file__).parents[2] / "examples/fabric.net").read_text()).routers == 6
    with pytest.raises(wc.InputError, match="x.edges:1: found"):
        wc.Network.from_text("{}", "x.edges")


def test_graphs_keep_what_their_attributes_say():
    graph = nx.Graph()
    graph.add_node("a", x=np.float64(1.5), y=2)
    graph.add_node("b", latitude=10, longitude=20)
    graph.add_edge("a", "b", delay_cycles=np.int64(3))
    graph.add_node("h", kind="node")
    graph.add_node("i", kind="node")
    graph.add_edges_from([("a", "h"), ("b", "i")])
    network = wc.Network.from_networkx(graph)
    assert (network.routers, network.nodes, network.node("i")) == (2, 2, 1)
    again = network.to_networkx()
    routers = [data for _, data in again.nodes(data=True) if data["kind"] == "router"]
    assert [router.get("x") for router in routers] == [1.5, None] and routers[1]["latitude"] == 10
    assert [data["delay_cycles"] for _, _, data in again.edges(data=True) if "delay_cycles" in data] == [3]


def test_paths_are_files_and_what_is_saved_can_be_read(tmp_path):
    mesh = wc.Network("mesh:3x3")
    for name in ["a.graphml", "a.xml", "a.json"]:
        path = mesh.save(tmp_path / name)
        assert wc.Network(path).channels == wc.Network(str(path)).channels and wc.Network(path).routers == 9
        assert wc.analyse(path, routing="up-down")
    with pytest.raises(wc.RunError, match="cannot write .*nowhere/a.json.: No such file or directory"):
        mesh.save(tmp_path / "nowhere" / "a.json")


def test_what_is_shown_of_a_plan_is_english():
    assert repr(wc.Network("mesh:4x4").plan("separate", 0, [1])).endswith("1 worm to 1 destination, 1 startup, 1 step, 1 channel>")


def test_an_analysis_refuses_and_warns_of_what_makes_no_difference():
    mesh = wc.Network("mesh:4x4")
    beside = {"multicast_tables": "x", "groups": "x", "lanes": "x", "sl2vl": "x", "branching": "lockstep"}
    for name, value in beside.items():
        for what in [{"algorithm": "dual-path"}, {"routing": "e-cube"}]:
            with pytest.raises(wc.InputError, match=f"{name}: it is beside unicast tables"):
                wc.analyse(mesh, **what, **{name: value})
    for settings, said in [
        ({"routing": "e-cube", "consumption_ports": 3}, "`consumption_ports` makes no difference"),
        ({"routing": "e-cube", "seed": 3}, "`seed` makes no difference"),
        ({"algorithm": "dual-path", "buffer": 3}, "`buffer` makes no difference: `dual-path` sends no trees"),
        ({"algorithm": "dual-path", "reservation": "separate"}, "`reservation` makes no difference"),
        ({"algorithm": "dual-path", "seed": 3}, "`seed` makes no difference"),
    ]:
        with pytest.warns(UserWarning, match=said):
            wc.analyse(mesh, **settings)
    for wrong, said in [
        (lambda: wc.analyse(mesh, routing="e-cube", buffer=3), "buffer: it is about worms with several destinations"),
        (lambda: wc.analyse(mesh, "dual-path", local_information=True), "local_information: no link has failed"),
        (lambda: wc.analyse(mesh, "tree-one", failed_links="0-1"), "failed_links: found the text"),
    ]:
        with pytest.raises(wc.InputError, match=said):
            wrong()
    with pytest.warns(UserWarning, match="`sample` makes no difference: 16 routers with nodes are all measured"):
        wc.analyse(mesh, routing="up-down", sample=30)
    for wrong, said in [
        (lambda: wc.analyse(mesh, routing="up-down", sample=29), "sample"),
        (lambda: wc.analyse(mesh, tables="x", sample=30), "sample: routes by tables are all followed"),
        (lambda: wc.analyse(mesh, tables="x", seed=4), "seed: forwarding tables have none"),
    ]:
        with pytest.raises(wc.InputError, match=said):
            wrong()
    torus = wc.Network("torus:4x4")
    assert repr(wc.analyse(torus, "dstm-1", failed_links=[(0, 1)])) == repr(wc.analyse(torus, "dstm-1", failed_links=["0-1"]))
    assert wc.analyse(torus, routing="up-down", root=6).to_dict() == wc.analyse(torus, routing="up-down", root="2,1").to_dict()


def test_an_analysis_is_that_of_the_command(command):
    for settings in [{"consumption_ports": 2}, {"consumption_ports": 3}, {"consumption_ports": 1, "reachable": 100000}]:
        found = wc.analyse("mesh:4x4", "dual-path", **settings)
        words = [word for key, value in settings.items() for word in (f"--{key.replace('_', '-')}", str(value))]
        printed = command("routing", "--topology", "mesh:4x4", "--algorithm", "dual-path", *words, "--format", "json")
        assert found.to_dict() == json.loads(printed.stdout)
    random = "random:nodes=200,degree=4,seed=1"
    found = wc.analyse(random, routing="up-down", sample=50, seed=3)
    printed = command("routing", "--topology", random, "--routing", "up-down", "--sample", "50", "--seed", "3", "--format", "json")
    assert found.to_dict() == json.loads(printed.stdout) and found.sample and found.sample["destinations"] == 50
    assert found.loads is None and wc.analyse(random, routing="up-down").sample is None
    assert bool(wc.analyse("mesh:4x4", "dual-path", consumption_ports=4))
    unsafe = wc.analyse("mesh:4x4", "dual-path", consumption_ports=2)
    assert not unsafe and unsafe.cycle and "can deadlock" in repr(unsafe)
    assert wc.analyse("torus:4x4", routing="up-down", root="2,1").average_distance > 2


def test_tables_are_analysed_with_their_multicasts(command, tmp_path):
    examples = Path(__file__).parents[2] / "examples"
    if not examples.exists():
        pytest.skip("the examples of the repository are not here")
    fabric, groups = str(examples / "fabric.net"), str(examples / "fabric.mcfdbs")
    assert command("routing", "--topology", fabric, "--routing", "up-down", "--export", "updn.lfts").returncode == 0
    tables = tmp_path / "updn.lfts"
    assert wc.analyse(fabric, tables=tables)
    found = wc.analyse(fabric, tables=tables, multicast_tables=groups)
    words = ["--topology", fabric, "--tables", "updn.lfts", "--multicast-tables", groups, "--format", "json"]
    printed = json.loads(command("routing", *words).stdout)
    printed["tables"]["file"] = str(tables)
    assert found.to_dict() == printed and found.blame["alone"] == ["0xc001"] and len(found.groups[0]["members"]) == 6
    with pytest.raises(wc.InputError, match="give `tables`, too"):
        wc.analyse(fabric, routing="up-down", multicast_tables=groups)


def test_what_is_analysed_has_to_be_said_once():
    for wrong in [{}, {"algorithm": "dual-path", "tables": "x"}, {"routing": "e-cube", "tables": "x"}, {"routing": "e-cube", "options": {"detour": 1}}]:
        with pytest.raises(wc.InputError):
            wc.analyse("mesh:4x4", **wrong)
    with pytest.raises(wc.InputError, match="did you mean `lockstep`"):
        wc.analyse("mesh:4x4", "tree-one", replication="lock-step")


def test_everything_is_known_by_name():
    assert wc.algorithms()["dual-path"] and wc.routings()["turn-prohibition"]
    assert wc.MODEL_VERSION >= 9 and wc.__version__.startswith("0.")
