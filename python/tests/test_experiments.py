"""Experiments and their results."""

import csv
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import wormcast as wc

SHIPPED = Path(__file__).parents[2] / "experiments"


def test_the_bytes_are_those_of_the_command(small, command, tmp_path):
    done = command("sweep", "small.toml", "--replications", "all.csv")
    assert done.returncode == 0, done.stderr
    result = wc.Experiment(small).run()
    assert result.csv() == (tmp_path / "results/small.csv").read_text()
    assert result.replications_csv() == (tmp_path / "all.csv").read_text()
    assert command("plot", "small.toml", "--replications", "all.jsonl").returncode == 0
    assert result.replications_json() == (tmp_path / "all.jsonl").read_text()
    files = result.write(tmp_path / "mine")
    assert sorted(file.name for file in files) == ["small.csv", "small.png", "small.svg"]
    for file in files:
        assert file.read_bytes() == (tmp_path / "results" / file.name).read_bytes(), file


def test_every_shipped_experiment_is_read_and_told_to_workers():
    files = sorted(SHIPPED.glob("*.toml"))
    assert len(files) > 40
    for file in files:
        experiment = wc.Experiment(file)
        hashes = [point["config_hash"] for point in experiment.points]
        again = experiment._description.made()
        assert [point["config_hash"] for point in json.loads(again.points())] == hashes, file


def test_a_dictionary_is_a_file(small):
    given = {
        "topology": "mesh:4x4",
        "traffic": {"arrivals": {"process": "poisson", "rate": 0.02}, "length": 16, "multicast.destinations": 3},
        "run.messages": 300,
        "run.warmup": 2000,
        "stop": {"min_replications": 4, "max_replications": np.int64(8)},
        "sweep.algorithm": ("dual-path", "column-path"),
        "sweep.traffic.arrivals.rate": np.array([0.01, 0.05, 0.2]),
    }
    hashes = [point["config_hash"] for point in wc.Experiment(given).points]
    assert hashes == [point["config_hash"] for point in wc.Experiment(small).points]


def test_the_later_of_two_settings_counts():
    given = {"topology": "mesh:4x4", "traffic.arrivals": {"process": "poisson", "rate": 1.0}, "algorithm": "schl"}
    given |= {"traffic.arrivals.rate": 2.0, "traffic": {"arrivals": {"rate": 3.0}, "multicast": {"destinations": 3}}}
    spec = wc.Experiment(given).points[0]["spec"]
    assert spec["traffic"]["arrivals"] == {"process": "poisson", "rate": 3.0}


def test_wrong_experiments_have_the_messages_of_the_command(small, command):
    for setting in ["topologie=1", "run.messages=-1", "algorithm=dual-pth", "sweep.algorithm=[]", "traffic.length=0"]:
        key, _, value = setting.partition("=")
        printed = command("sweep", "small.toml", "--set", setting).stderr
        with pytest.raises(wc.InputError) as refused:
            given = value if key == "algorithm" else json.loads(value)
            wc.Experiment(small, settings={key: given}).run()
        assert printed.replace("small.toml", str(small)).replace('"', "") == f"error: {refused.value}\n".replace('"', "")
    with pytest.raises(wc.InputError, match=r"unknown setting `topologie`\n --> experiment\.toml:1:1"):
        wc.Experiment({"topologie": "mesh:4x4"})
    with pytest.raises(wc.InputError, match="no quick version"):
        wc.Experiment(small, quick=True)
    with pytest.raises(wc.InputError, match="expected a number, a string"):
        wc.Experiment({"topology": object()})


def test_tables_are_taken_without_a_copy(small):
    result = wc.Experiment(small).run()
    table, frame = pa.table(result), pl.DataFrame(result)
    header, *rows = [line.split(",") for line in result.csv().splitlines()]
    assert table.column_names == frame.columns == header and table.num_rows == len(rows) == len(result) == 6
    for name, column in zip(header, zip(*rows, strict=True), strict=True):
        values = table[name].to_pylist()
        for value, text in zip(values, column, strict=True):
            if value is None:
                assert text == ""
            elif isinstance(value, bool):
                assert text == str(value).lower()
            elif isinstance(value, str):
                assert text == value
            else:
                # Every number is the one whose shortest digits the table has.
                assert float(text) == value, name
    kinds = {field.name: field.type for field in table.schema}
    assert kinds["replications"] == pa.int64() and kinds["saturated"] == pa.bool_()
    assert kinds["latency_last_cycles"] == pa.float64() and kinds["algorithm"] in (pa.string(), pa.large_string())
    # The same memory, asked for twice.
    column = [pa.table(result)["latency_last_cycles"].chunk(0).buffers()[1].address for _ in range(2)]
    assert column[0] == column[1]
    assert list(result.to_pandas().columns) == header and isinstance(result.to_pandas(), pd.DataFrame)
    replications = result.replications.to_polars()
    assert len(replications) == sum(point["replications"] for point in result.points)
    assert replications["latency.last.mean"].dtype == pl.Float64
    # Seeds have 64 bits, none of which a number with a sign or a point keeps.
    seeds = [row["seed"] for row in csv.DictReader(io.StringIO(result.replications_csv()))]
    assert replications["seed"].dtype == pl.UInt64 and [str(seed) for seed in replications["seed"]] == seeds
    assert max(map(int, seeds)) >= 2**63 and pa.table(result.replications).schema.field("seed").type == pa.uint64()


def test_a_store_is_shared_with_the_command(small, command, tmp_path):
    store = tmp_path / "results/store.db"
    told = []
    wc.Experiment(small).run(store=store, progress=told.append)
    computed = told[-1].computed
    assert (told[-1].points_done, told[-1].points) == (6, 6) and computed >= 24
    assert command("sweep", "small.toml").returncode == 0
    told.clear()
    again = wc.Experiment(small).run(store=store, progress=told.append)
    assert told[-1].computed == 0 and again.csv() == (tmp_path / "results/small.csv").read_text()
    assert wc.Experiment(small).load(store).csv() == again.csv()
    wc.Experiment(small).run(store=store, fresh=True, progress=told.append)
    assert told[-1].computed == computed
    with pytest.raises(wc.InputError, match="there is no result store"):
        wc.Experiment(small).load(tmp_path / "nowhere.db")
    (tmp_path / "text.db").write_text("not a database, but long enough to be taken for one" * 100)
    with pytest.raises(wc.InputError, match=r"text\.db"):
        wc.Experiment(small).run(store=tmp_path / "text.db")


def test_the_number_of_threads_makes_no_difference(small):
    assert wc.Experiment(small).run(jobs=1).csv() == wc.Experiment(small).run(jobs=4).csv()
    with pytest.raises(wc.InputError, match="jobs: found 0; expected"):
        wc.Experiment(small).run(jobs=0)


def test_claims_plots_and_comparisons():
    experiment = wc.Experiment(SHIPPED / "quick.toml", settings={"run.messages": 200, "stop.max_replications": 5})
    result = experiment.run()
    assert [plot.quantity for plot in result.plots] == ["latency.last"]
    assert result.plots[0].png.startswith(b"\x89PNG") and "<svg" in result._repr_html_()
    compared = experiment.compare("dual-path", "pure-negative-first")
    assert len(compared.points) == 6 and compared.plot is not None
    with pytest.raises(wc.InputError, match="is no value of `algorithm`"):
        experiment.compare("dual-pth")
    with pytest.raises(wc.InputError, match="quantity"):
        experiment.compare(quantity="latency.lst")


SMALL = {
    "topology": "mesh:4x4",
    "algorithm": "separate",
    "traffic.arrivals": {"process": "poisson", "rate": 0.01},
    "traffic.length": 8,
    "run.messages": 50,
    "stop": {"min_replications": 5, "max_replications": 5},
}


def test_values_with_commas_stay_in_their_columns():
    unicasts = {"traffic.multicast.destinations": 3, "traffic.multicast.fraction": 0.5, "traffic.unicast": {"pattern": "hot-spot", "fraction": 0.2}}
    html = wc.Experiment(SMALL | unicasts | {"sweep.traffic.unicast.node": ["0,0", "3,2"]}).run()._repr_html_()
    table = html[html.index("<table>") :]
    assert "<td>3,2</td><td>" in table and "&quot;" not in table


def test_charts_show_what_the_plots_do():
    multicasts = SMALL | {"traffic.multicast.destinations": 3}
    chart = wc.Experiment(multicasts | {"sweep.algorithm": ["separate", "u-mesh"]}).run().chart().to_dict()
    assert chart["layer"][0]["encoding"]["x"]["type"] == "nominal"
    swept = {"sweep.traffic.arrivals.rate": [0.01, 0.02], "sweep.traffic.multicast.destinations": [2, 4]}
    plot = {"plot": {"x": "traffic.arrivals.rate", "series": "traffic.multicast.destinations"}}
    encoding = wc.Experiment(SMALL | swept | plot).run().chart().to_dict()["layer"][0]["encoding"]
    assert encoding["x"]["field"] == "traffic arrivals rate" and encoding["color"]["field"] == "traffic multicast destinations"
    planned = wc.Experiment(multicasts | {"run": {"mode": "plan", "messages": 5}, "sweep.traffic.multicast.destinations": [2, 4]}).run()
    assert planned.chart().to_dict()["layer"][0]["encoding"]["y"]["field"] in planned.table.column_names


def test_files_of_other_settings_are_not_replaced_in_silence(tmp_path, recwarn):
    multicasts = SMALL | {"traffic.multicast.destinations": 3}
    wc.Experiment(multicasts).run().write(tmp_path)
    wc.Experiment(multicasts).run().write(tmp_path)
    assert not recwarn
    with pytest.warns(UserWarning, match="experiment.csv` had results of other settings, and is replaced"):
        wc.Experiment(multicasts | {"traffic.length": 9}).run().write(tmp_path)
    for name in ["a/b", "", ".", "..", 5, "a\nb"]:
        with pytest.raises(wc.InputError, match="name: found .*; expected a name for files"):
            wc.Experiment(multicasts, name=name)


def test_an_experiment_runs_its_own_algorithm_whatever_is_registered_later():
    def made(k):
        @wc.algorithm("py-factory", routing="e-cube", promise="unicasts")
        def plan(network, source, destinations):
            return [[node] for node in sorted(destinations, key=lambda node: (node * k) % 17)]

        return plan

    multicasts = SMALL | {"algorithm": "py-factory", "traffic.multicast.destinations": 6}
    alone = [wc.simulate(multicasts, algorithms=[made(k)])["latency.mean.mean"] for k in (1, 3, 5)]
    experiments = [wc.Experiment(multicasts, algorithms=[made(k)]) for k in (1, 3, 5)]
    assert [experiment.simulate()["latency.mean.mean"] for experiment in experiments] == alone
    assert len(set(alone)) == 3


ORDER = 1


def _ordered(network, source, destinations):
    return [[node] for node in sorted(destinations, key=lambda node: node * ORDER)]


def test_what_has_changed_since_an_algorithm_was_defined_is_found_out():
    global ORDER
    multicasts = SMALL | {"algorithm": "py-ordered", "traffic.multicast.destinations": 6}
    define = wc.algorithm("py-ordered", routing="e-cube", promise="unicasts")
    experiment = wc.Experiment(multicasts, algorithms=[define(_ordered)])
    first = experiment.simulate()["latency.mean.mean"]
    ORDER = -1
    try:
        for work in (experiment.simulate, experiment.run, experiment.compare):
            with pytest.raises(wc.InputError, match="something that `py-ordered` depends on has changed"):
                work()
        again = wc.Experiment(multicasts, algorithms=[define(_ordered)])
        assert again.simulate()["latency.mean.mean"] != first
        assert again.algorithms[0].revision != experiment.algorithms[0].revision
    finally:
        ORDER = 1
    assert experiment.simulate()["latency.mean.mean"] == first


def test_nested_settings_leave_the_others_of_their_table(small):
    nested = wc.Experiment(small, settings={"run": {"messages": 200}, "traffic": {"length": 8}})
    dotted = wc.Experiment(small, settings={"run.messages": 200, "traffic.length": 8})
    # At every depth, but not within a value; a dotted name replaces the table.
    file = small.parent / "mixed.toml"
    file.write_text("topology = 'mesh:4x4'\nalgorithm = 'dual-path'\nrun.messages = 10\n[traffic]\nlength = 7\n"
                    "arrivals = { process = 'negative-binomial', rate = 0.01, successes = 4 }\nmulticast = { destinations = 4, fraction = 0.5 }\n")
    for given, kept in [
        ({"traffic": {"multicast": {"destinations": 5}}}, {"destinations": 5, "fraction": 0.5}),
        ({"traffic": {"multicast": {}}, "run": {}}, {"destinations": 4, "fraction": 0.5}),
        ({"traffic.multicast": {"destinations": 5}}, {"destinations": 5, "fraction": 1.0}),
    ]:
        spec = wc.Experiment(file, settings=given).points[0]["spec"]
        assert spec["traffic"]["multicast"] == kept and spec["traffic"]["arrivals"]["successes"] == 4 and spec["run"]["messages"] == 10
    spec = wc.Experiment(file, settings={"traffic": {"arrivals": {"rate": 0.02}, "length": {"uniform": [1, 2]}}}).points[0]["spec"]
    assert (spec["traffic"]["arrivals"]["rate"], spec["traffic"]["arrivals"]["successes"]) == (0.02, 4)
    assert spec["traffic"]["length"] == {"uniform": [1, 2]}
    swept = "topology = 'mesh:4x4'\ntraffic.multicast.destinations = 2\ntraffic.arrivals.process = 'poisson'\nrun.messages = 10\n" \
        "[sweep]\nalgorithm = ['dual-path', 'schl']\ntraffic.arrivals.rate = [0.01, 0.02]\nseed = [1, 2, 3]\n"
    path = small.parent / "swept.toml"
    path.write_text(swept)
    for given, points in [
        ({"sweep": {"algorithm": ["u-mesh"]}}, 6),
        ({"sweep": {"traffic": {"arrivals": {"rate": {"from": 0.01, "to": 0.02, "points": 4}}}, "seed": [5]}}, 8),
        ({"sweep": {"traffic.arrivals.rate": [0.01]}}, 6),
        ({"with": {"schl": {"switching": {"buffer": 2}}}}, 12),
    ]:
        assert len(wc.Experiment(path, settings=given).points) == points
    assert nested.points[0]["spec"]["run"]["warmup"] == 2000
    assert [point["config_hash"] for point in nested.points] == [point["config_hash"] for point in dotted.points]
    with pytest.raises(wc.InputError, match="settings: `run.messages` is given twice"):
        wc.Experiment(small, settings={"run": {"messages": 200}, "run.messages": 300})
    with pytest.raises(wc.InputError, match="seed: 2 contradicts the 3 of `settings`"):
        wc.simulate(SMALL | {"traffic.multicast.destinations": 3}, settings={"seed": 3}, seed=2)


def test_files_of_an_experiment_can_have_another_name(small, tmp_path):
    experiment = wc.Experiment(small, name="other")
    result = experiment.run()
    assert {path.name.split(".")[0] for path in result.write(tmp_path / "named")} == {"other"}
    assert pickle.loads(pickle.dumps(experiment)).name == experiment.name == "other"
    for seconds in ("2", None, -3):
        with pytest.raises(wc.InputError, match=f"batch_seconds: found {seconds!r}"):
            experiment.run(batch_seconds=seconds)
    for wrong, said in [(lambda: result.write(None), "folder: found None"), (lambda: experiment.compare(quantity=5), "quantity: found 5")]:
        with pytest.raises(wc.InputError, match=said):
            wrong()


def test_results_replace_no_file_that_is_read_and_no_other_in_silence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    network = "0 1\n1 2\n2 0\n"
    Path("net.csv").write_text(network)
    settings = SMALL | {"topology": "net.csv", "algorithm": "tree-one", "traffic.multicast.destinations": 1}
    result = wc.Experiment(settings, name="net").run()
    with pytest.raises(wc.InputError, match=r"the results would write `net\.csv`, which is read as `topology`"):
        result.write(".")
    assert Path("net.csv").read_text() == network
    mine = wc.Experiment(settings, name="mine").run()
    Path("mine.csv").write_text("a,b\n1,2\n")
    with pytest.warns(UserWarning, match=r"`mine\.csv` was no table of results, and is replaced"):
        mine.write(".")


def test_single_runs_warn_as_the_command_does_whatever_is_swept(small):
    with pytest.warns(UserWarning, match="can deadlock on"):
        wc.simulate(small, settings={"algorithm": "dual-path", "traffic.arrivals.rate": 0.05, "switching.consumption_ports": 1})
    experiment = wc.Experiment({"topology": "mesh:4x4", "algorithm": "dual-path", "traffic.arrivals": {"process": "poisson", "rate": 0.05}, "traffic.multicast.destinations": 3,
        "run.messages": 50, "switching.consumption_ports": 1, "sweep": {"seed": [1, 2]}}, settings={"seed": 3})
    with pytest.warns(UserWarning, match="can deadlock on"):
        experiment.simulate()
    with pytest.warns(UserWarning, match="`stop` makes no difference to a single run"):
        wc.simulate(small, settings={"algorithm": "dual-path", "traffic.arrivals.rate": 0.05, "stop.max_replications": 20})


def test_slips_are_told_in_words(small, tmp_path):
    experiment = wc.Experiment(small)
    result = experiment.run()
    (tmp_path / "file").write_text("")
    for wrong, error, said in [
        (lambda: wc.Experiment(small, settings=["run.messages=3"]), wc.InputError, "settings: found .*; expected a dictionary"),
        (lambda: experiment.run(executor=ThreadPoolExecutor), wc.InputError, r"expected one made of it: `ThreadPoolExecutor\(\)`"),
        (lambda: result.chart(y="latency.p99"), wc.InputError, "there is no column `latency.p99`; did you mean `latency_p99"),
        (lambda: result.chart(y="mean latency"), wc.InputError, "there is no column"),
        (lambda: result.write(tmp_path / "file"), wc.RunError, "cannot write .*file.: File exists"),
        (lambda: experiment.run(store=tmp_path), wc.InputError, "directory"),
        (lambda: experiment.run(store=tmp_path / "quick.csv"), wc.InputError, "of another kind, and one that ends in `.db` is expected"),
    ]:
        with pytest.raises(error, match=said):
            wrong()


def test_a_run_is_that_of_the_command(small, command, tmp_path):
    settings = {"algorithm": "dual-path", "traffic.arrivals.rate": 0.05}
    run = wc.simulate(small, settings=settings, seed=7, deliveries=True)
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    printed = command("simulate", "small.toml", *words, "--seed", "7", "--format", "json", "--deliveries", "all.csv")
    told = json.loads(printed.stdout)
    for key, value in run.to_dict().items():
        assert told[key] == value, key
    assert run["latency.last.mean"] == told["latency"]["last"]["mean"]
    csv = pl.read_csv(tmp_path / "all.csv")
    assert pl.DataFrame(run.deliveries).equals(csv)
    with pytest.raises(KeyError):
        run["latency.first.mean"]
    with pytest.raises(wc.InputError, match="is swept: choose one"):
        traffic = {"arrivals": {"process": "poisson", "rate": 0.01}, "multicast": {"destinations": 3}}
        wc.simulate({"topology": "mesh:4x4", "traffic": traffic, "sweep.algorithm": ["dual-path", "schl"]})


def test_settings_without_effect_and_dangerous_ones_are_warned_of(small):
    for settings, said in [({"switching.consumption_ports": 1}, "can deadlock"), ({"traffic.unicast.pattern": "transpose"}, "unicast")]:
        experiment = wc.Experiment(small, settings=settings)
        assert any(said in text for text in experiment.check()), experiment.check()
        for work in (experiment.run, experiment.simulate if "sweep" not in small.read_text() else experiment.run, experiment.compare):
            with pytest.warns(UserWarning, match=said):
                work()


@pytest.mark.parametrize("work", ["sweep", "run", "analysis"])
def test_a_signal_stops_work_within_a_second(work, tmp_path):
    code = {
        "sweep": """
            settings = {"topology": "mesh:16x16", "algorithm": "dual-path", "traffic.arrivals": {"process": "poisson", "rate": 0.001},
                        "traffic.multicast.destinations": 10, "run.messages": 100_000_000, "sweep.seed": [1, 2]}
            wc.Experiment(settings).run(jobs=2, store="store.db")
        """,
        "run": """
            wc.simulate({"topology": "mesh:16x16", "algorithm": "dual-path", "traffic.arrivals": {"process": "poisson", "rate": 0.001},
                         "traffic.multicast.destinations": 10, "run.messages": 100_000_000})
        """,
        "analysis": """
            wc.analyse("random:nodes=20000,degree=4,seed=1", routing="up-down")
        """,
    }[work]
    script = tmp_path / "long.py"
    script.write_text(
        # Shells without job control start processes that ignore the signal.
        "import signal\nimport wormcast as wc\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "print('begun', flush=True)\ntry:\n"
        + textwrap.indent(textwrap.dedent(code), "    ")
        + "\nexcept KeyboardInterrupt:\n    print('stopped', flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, str(script)], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    time.sleep(1.5)
    assert process.poll() is None, "it takes longer than that"
    sent = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    rest, _ = process.communicate(timeout=30)
    # The limit is a second; machines may be busy.
    assert rest == "stopped\n" and time.monotonic() - sent < 5


def test_what_raises_while_it_is_told_of_progress_ends_the_sweep(small, tmp_path):
    class Enough(Exception):
        pass

    def told(progress):
        if progress.computed >= 3:
            raise Enough

    store = tmp_path / "store.db"
    with pytest.raises(Enough):
        wc.Experiment(small).run(store=store, progress=told, jobs=1)
    # What was computed is there.
    found = wc.Experiment(small).load(store)
    assert sum(point["replications"] for point in found.points) >= 3
    assert wc.Experiment(small).run(store=store).csv() == wc.Experiment(small).run().csv()


def test_damaged_rows_are_named(small, tmp_path):
    import sqlite3

    store = tmp_path / "store.db"
    expected = wc.Experiment(small).run(store=store).csv()
    first = wc.Experiment(small).points[0]["config_hash"]
    with sqlite3.connect(store) as opened:
        opened.execute(f"update results set result = replace(result, '1', '2') where replication = 0 and config_hash = '{first}'")
    with pytest.warns(UserWarning, match="damaged"):
        again = wc.Experiment(small).run(store=store)
    assert again.csv() == expected and len(again.damaged) == 1


def test_a_setting_that_is_none_is_told(small):
    traffic = {"arrivals": {"process": "poisson", "rate": 0.01}, "length": 16, "multicast": {"destinations": 3}}
    configuration = {"topology": "mesh:4x4", "algorithm": "dual-path", "traffic": traffic}
    for setting in ["traffic.length", "nosuch"]:
        with pytest.raises(wc.InputError, match=f"{setting}: found None"):
            wc.Experiment({**configuration, setting: None})
    with pytest.raises(wc.InputError, match="found None"):
        wc.Experiment(small, settings={"traffic.length": None})


@pytest.mark.parametrize("executor", [None, "threads"])
def test_what_was_asked_for_wrongly_is_bad_input(small, executor):
    # No mask stands for the destinations that are drawn.
    experiment = wc.Experiment(small, settings={"algorithm": "xy-mask", "claim": []})
    pool = ThreadPoolExecutor(1) if executor else None
    with pytest.raises(wc.InputError, match="replication 0 of point 1"):
        experiment.run(executor=pool)
    for given, said in [
        ({"topology": wc.Network("mesh:4x4")}, "topology: found <Network .*; expected its text"),
        ({"traffic": {"length": object()}}, "traffic.length: found <object .*; expected a number"),
    ]:
        with pytest.raises(wc.InputError, match=said):
            wc.Experiment(given)
    with pytest.raises(wc.InputError, match=r"expected `unicasts`, `stops` or `trees` \(functions are given as `may_turn="):
        wc.algorithm("py-promise", routing="e-cube", promise=lambda n, a, b: True)


def test_numbers_of_numpy_are_numbers(small):
    rates = np.linspace(0.01, 0.02, 2)
    for given in (rates, list(rates), rates[0], float(rates[0])):
        swept = {"traffic.arrivals.rate": given} if np.ndim(given) == 0 else {"sweep.traffic.arrivals.rate": given}
        wc.Experiment(small, settings=swept | {"claim": []})
    assert wc.analyse("mesh:3x3", "dual-path", consumption_ports=np.int64(2), virtual_channels=np.int64(1)).deadlock_free is not None
