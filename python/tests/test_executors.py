"""Sweeps on the workers of executors: processes, Dask, and what may go wrong with them."""

import concurrent.futures
import json
import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
import wormcast as wc
from own import comb
from wormcast import _pool

CONTEXT = multiprocessing.get_context("spawn")


@pytest.fixture(scope="module")
def processes():
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=CONTEXT) as pool:
        yield pool


def test_processes_and_threads_give_the_bytes_of_one_thread(small, processes):
    experiment = wc.Experiment(small)
    expected = experiment.run(jobs=1)
    told = []
    found = experiment.run(executor=processes, progress=told.append)
    assert found.csv() == expected.csv() and found.replications_json() == expected.replications_json()
    assert told[-1].points_done == 6
    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        for options in [{}, {"parallel": 1}, {"parallel": 50}, {"batch_seconds": 1e-9}, {"batch_seconds": 100}]:
            assert experiment.run(executor=threads, **options).csv() == expected.csv()


def test_windows_that_grow_are_the_same_anywhere(processes):
    # Near saturation, windows are doubled.
    experiment = wc.Experiment(
        {
            "topology": "mesh:4x4",
            "algorithm": "dual-path",
            "traffic.arrivals": {"process": "poisson", "rate": 2.0},
            "traffic.length": 16,
            "traffic.multicast.destinations": 3,
            "run.messages": 200,
            "stop": {"min_replications": 4, "max_replications": 40},
            "sweep.traffic.arrivals.rate": [0.05, 0.06, 0.07, 0.08],
        }
    )
    expected = experiment.run()
    assert len({point["window"] for point in expected.points}) > 1, "some grow"
    assert experiment.run(executor=processes).csv() == expected.csv()


def test_algorithms_travel_to_workers(small, processes):
    experiment = wc.Experiment(small, settings={"algorithm": "py-comb", "switching.consumption_ports": 4}, algorithms=[comb])
    assert experiment.run(executor=processes).csv() == experiment.run().csv()


def test_files_that_an_experiment_names_are_found_by_workers(tmp_path, processes, monkeypatch):
    wc.Network("ring:8").save(tmp_path / "ring.json")
    settings = """
        topology = "ring.json"
        algorithm = "tree-one"
        traffic.arrivals = { process = "poisson", rate = 0.01 }
        traffic.multicast.destinations = 3
        run.messages = 200
        stop = { min_replications = 5, max_replications = 5 }
    """
    (tmp_path / "ring.toml").write_text(settings)
    monkeypatch.chdir(tmp_path)
    experiment = wc.Experiment("ring.toml")
    assert experiment.run(executor=processes).csv() == experiment.run().csv()
    # A worker whose file is another is found out.
    task = experiment.points[0]
    (tmp_path / "ring.json").write_text(Path(tmp_path / "ring.json").read_text().replace("}", " }", 1))
    with pytest.raises(wc.RunError, match="a file that the experiment names, or an algorithm, is another"):
        _pool.compute(
            experiment._description, _pool.Task(0, (0, None), 0, 1, task["config_hash"], wc._native.version())
        )


class Altered(concurrent.futures.ThreadPoolExecutor):
    """An executor whose workers return something else."""

    def __init__(self, alter):
        super().__init__(2)
        self.alter = alter

    def submit(self, function, /, *arguments):
        return super().submit(lambda: self.alter(function(*arguments)))


def changed(**fields):
    return lambda answer: json.dumps(json.loads(answer) | fields).encode()


def of_results(change):
    def alter(answer):
        told = json.loads(answer)
        change(told["replications"])
        return json.dumps(told).encode()

    return alter


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        (lambda answer: b"garbage", "it is not what a worker of this version returns"),
        (lambda answer: b"", "it is not what a worker"),
        (lambda answer: answer[:-20], "it is not what a worker"),
        (lambda answer: None, "it is NoneType, not bytes"),
        (lambda answer: answer.decode(), "it is str, not bytes"),
        (changed(program=["0.0.1", "", 9]), "it runs wormcast 0.0.1, model 9, and this is wormcast"),
        (changed(program=["0.1.0", "", 10**6]), "model 1000000"),
        (changed(config_hash="0" * 64), "was asked for"),
        (changed(first=77), "it is about replication 77"),
        (changed(seconds=-1.0), "its time is none"),
        (changed(replications=[]), "it has 0 of"),
        (changed(more=1), "unknown field `more`"),
        (of_results(lambda results: results.extend(results[:1] * 9)), "replications"),
        (of_results(lambda results: results[0].update(seed=1)), "results of other runs"),
        (of_results(lambda results: results[0].pop("latency")), "it is not what a worker"),
    ],
)
def test_what_is_no_answer_is_refused(small, tmp_path, alter, said):
    store = tmp_path / "store.db"
    with Altered(alter) as workers, pytest.raises(wc.WorkersError, match="a worker's answer is refused") as refused:
        wc.Experiment(small).run(executor=workers, store=store)
    assert said in str(refused.value)
    # Nothing of it is kept.
    assert all(point["replications"] == 0 for point in wc.Experiment(small).load(store).points)


def test_another_version_of_a_worker_is_refused_by_name(small, monkeypatch):
    experiment = wc.Experiment(small)
    task = _pool.Task(0, (0, None), 0, 1, experiment.points[0]["config_hash"], ("9.9.9", "abc", 77))
    with pytest.raises(wc.WorkersError, match=r"runs wormcast 0\..*, and the coordinator wormcast 9\.9\.9, commit abc, model 77"):
        _pool.compute(experiment._description, task)
    # And in a sweep.
    real = _pool._native.version
    monkeypatch.setattr(_pool.Pool, "_submit", _with_program(_pool.Pool._submit, ("9.9.9", "", 9)))
    with concurrent.futures.ThreadPoolExecutor(1) as threads, pytest.raises(wc.WorkersError, match=r"9\.9\.9"):
        experiment.run(executor=threads)
    assert _pool._native.version is real


def _with_program(submit, program):
    import dataclasses

    return lambda self, ticket, task, tries: submit(self, ticket, dataclasses.replace(task, program=program), tries)


def test_a_replication_that_fails_names_its_point(small):
    wc.algorithm("py-fails", routing="e-cube", revision=1)(lambda n, s, d: [[node // (s != 7)] for node in d])
    experiment = wc.Experiment(small, settings={"algorithm": "py-fails"})
    with concurrent.futures.ThreadPoolExecutor(1) as threads, pytest.raises(wc.RunError) as refused:
        experiment.run(executor=threads)
    assert "replication 0 of point 1" in str(refused.value) and "ZeroDivisionError" in str(refused.value)


def test_executors_are_checked(small):
    with pytest.raises(wc.InputError, match="expected an executor"):
        wc.Experiment(small).run(executor=5)
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        for options, said in [({"jobs": 2}, "jobs"), ({"parallel": 0}, "parallel"), ({"batch_seconds": 0}, "batch_seconds")]:
            with pytest.raises(wc.InputError, match=said):
                wc.Experiment(small).run(executor=threads, **options)
    with pytest.raises(wc.WorkersError, match="takes no more batches"):
        wc.Experiment(small).run(executor=threads)
    distributed = pytest.importorskip("dask.distributed")
    closed = distributed.Client(processes=False, n_workers=1, dashboard_address=None)
    closed.close()
    with pytest.raises(wc.WorkersError, match="the client is closed"):
        wc.Experiment(small).run(executor=closed)


def test_what_is_of_another_type_is_told(small):
    experiment = wc.Experiment(small)
    for wrong, said in [
        (lambda: experiment.compare(["dual-path", "column-path"]), "names: found"),
        (lambda: experiment.run(store=3), "store: found 3"),
        (lambda: experiment.load(3), "store: found 3"),
        (lambda: experiment.run(fresh="no"), "fresh: found 'no'"),
        (lambda: experiment.simulate(deliveries="x"), "deliveries: found 'x'"),
        (lambda: wc.Experiment(small, quick="yes"), "quick: found 'yes'"),
        (lambda: experiment.run(parallel=2.5), "parallel: found 2.5"),
        (lambda: experiment.run().chart(x=3), "found 3; expected the name of a column"),
    ]:
        with pytest.raises(wc.InputError, match=said):
            wrong()


def test_figures_of_a_run_are_those_of_a_dictionary(small):
    run = wc.simulate(small, settings={"algorithm": "dual-path", "traffic.arrivals.rate": 0.01})
    assert "saturated" in run and "latency.last.mean" in run and "latency.lost" not in run and 3 not in run
    assert "latency" in list(run)
    with pytest.raises(KeyError):
        run[3]


def test_a_broken_pool_is_told_and_nothing_is_lost(small, tmp_path):
    store = tmp_path / "store.db"
    experiment = wc.Experiment(small, settings={"run.messages": 20000})
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=CONTEXT) as pool:

        def kill(progress):
            if progress.computed >= 2:
                for process in list(pool._processes.values()):
                    os.kill(process.pid, signal.SIGKILL)

        with pytest.raises(wc.WorkersError, match="the executor is broken"):
            experiment.run(executor=pool, store=store, progress=kill, batch_seconds=1e-9)
    # Of a point, `load` tells the replications before the first that is missing, and workers finish in any order.
    with sqlite3.connect(store) as opened:
        assert opened.execute("SELECT count(*) FROM results").fetchone()[0] >= 2
    assert experiment.run(store=store).csv() == experiment.run().csv()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_is_an_error_and_loses_nothing(small, tmp_path):
    # A file size limit is to the store what a full disk is.
    script = f"""
import resource, signal, sys
import wormcast as wc
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
experiment = wc.Experiment({str(small)!r}, settings={{"stop.min_replications": 40, "stop.max_replications": 40}})
resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000))
try:
    experiment.run(store="store.db")
except wc.RunError as error:
    print("refused:", error)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("refused: ") and "store.db" in done.stdout, (done.stdout, done.stderr)
    settings = {"stop.min_replications": 40, "stop.max_replications": 40}
    experiment = wc.Experiment(small, settings=settings)
    told = []
    again = experiment.run(store=tmp_path / "store.db", progress=told.append)
    assert again.csv() == experiment.run().csv()
    assert told[0].replications > 0, "what was written counts"


SWEEP = {
    "topology": "mesh:8x8",
    "traffic.arrivals": {"process": "poisson", "rate": 0.02},
    "traffic.length": 32,
    "traffic.multicast.destinations": 6,
    "run": {"messages": 4000, "warmup": 10000},
    "stop": {"min_replications": 6, "max_replications": 6},
    "sweep.algorithm": ["dual-path", "column-path", "pure-negative-first"],
    "sweep.traffic.arrivals.rate": [0.005, 0.01, 0.02, 0.03],
}

COORDINATOR = """
import json, sys
import wormcast as wc
from dask.distributed import Client
settings, address, store = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
with Client(address) as client:
    result = wc.Experiment(settings).run(executor=client, store=store, batch_seconds=0.2)
print(result.csv(), end="")
"""


def test_dask_workers_and_a_coordinator_that_are_killed_change_nothing(tmp_path):
    distributed = pytest.importorskip("dask.distributed")
    expected = wc.Experiment(SWEEP).run()
    store = tmp_path / "store.db"
    ended = threading.Event()
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None, worker_dashboard_address=None
    ) as cluster:

        def kill():
            draw = random.Random(1)
            while not ended.wait(2.5):
                alive = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
                if alive:
                    os.kill(draw.choice(alive), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        words = [sys.executable, "-c", COORDINATOR, json.dumps(SWEEP), cluster.scheduler_address, str(store)]
        first = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        # Killed once it has results, and started again.
        experiment = wc.Experiment(SWEEP)
        while first.poll() is None and not (store.exists() and _stored(experiment, store) >= 5):
            time.sleep(0.2)
        first.kill()
        first.communicate()
        kept = _stored(experiment, store)
        second = subprocess.run(words, capture_output=True, text=True, check=False)
        ended.set()
        killer.join()
    assert kept >= 5 and second.returncode == 0, second.stderr
    assert second.stdout == expected.csv()
    assert wc.Experiment(SWEEP).load(store).replications_json() == expected.replications_json()


def _stored(experiment, store):
    try:
        return sum(point["replications"] for point in experiment.load(store).points)
    except (wc.RunError, wc.InputError):
        return 0


def test_nothing_is_computed_twice_on_workers_that_live(small, processes, tmp_path):
    done = Counter()

    class Counting(concurrent.futures.ThreadPoolExecutor):
        def submit(self, function, /, description, task):
            done.update((task.config_hash, number) for number in range(task.first, task.first + task.count))
            return super().submit(function, description, task)

    with Counting(3) as workers:
        wc.Experiment(small).run(executor=workers)
    assert done and set(done.values()) == {1}


STUDY = {
    "topology": "mesh:4x4",
    "algorithm": "py-study",
    "traffic.arrivals.process": "poisson",
    "traffic.multicast.destinations": 4,
    "run.messages": 60,
    "stop": {"min_replications": 2, "max_replications": 2},
    "sweep.traffic.arrivals.rate": [0.01, 0.02, 0.03, 0.04],
}


def study(k):
    @wc.algorithm("py-study", routing="e-cube", promise="unicasts")
    def plan(network, source, destinations):
        return [[node] for node in sorted(destinations, key=lambda node: (node * (2 * k + 1)) % 17)]

    return wc.Experiment(STUDY, algorithms=[plan])


def test_experiments_in_threads_run_their_own_algorithms_of_one_name():
    alone = [study(k).run(jobs=1).csv() for k in range(6)]
    assert len(set(alone)) > 3
    for _ in range(3):
        with concurrent.futures.ThreadPoolExecutor(6) as threads:
            assert list(threads.map(lambda k: study(k).run(jobs=1).csv(), range(6))) == alone
    # What was defined last is what its name stands for when all have ended.
    last = study(3)
    assert wc.Experiment(STUDY).points == last.points
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        assert last.run(executor=threads).csv() == alone[3]


def test_what_would_wait_for_itself_is_refused():
    inner = study(1)

    @wc.algorithm("py-study", routing="e-cube", revision=1)
    def outer(network, source, destinations):
        return [[node] for node in destinations]

    from wormcast._algorithm import in_use

    with in_use([outer]), pytest.raises(wc.InputError, match="two algorithms are called `py-study`"):
        inner.run()
    assert len(inner.run()) == 4


OWN = """
import helper
import wormcast as wc
@wc.algorithm("py-kept", routing="e-cube", promise="unicasts")
def plan(network, source, destinations):
    return helper.worms(destinations)
"""


def test_a_worker_that_has_older_code_says_so(tmp_path, monkeypatch):
    (tmp_path / "py_kept.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    def made(order):
        (tmp_path / "helper.py").write_text(f"def worms(destinations):\n    return [[node] for node in sorted(destinations{order})]\n")
        for name in ("helper", "py_kept"):
            sys.modules.pop(name, None)
        import py_kept

        return wc.Experiment(STUDY | {"algorithm": "py-kept"}, algorithms=[py_kept.plan])

    try:
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=CONTEXT) as pool:
            first = made("")
            assert first.run(executor=pool).csv() == first.run(jobs=1).csv()
            second = made(", reverse=True")
            with pytest.raises(wc.WorkersError, match=r"a worker \(.*, process \d+\) has other code of `py-kept`"):
                second.run(executor=pool)
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=CONTEXT) as pool:
            assert second.run(executor=pool).csv() == second.run(jobs=1).csv()
    finally:
        for name in ("helper", "py_kept"):
            sys.modules.pop(name, None)


def test_a_file_that_has_changed_is_read_anew_by_workers(tmp_path):
    edges = tmp_path / "n.edges"
    settings = STUDY | {"topology": str(edges), "algorithm": "tree-one", "traffic.multicast.destinations": 2}
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=CONTEXT) as pool:
        for text in ("0 1\n1 2\n2 3\n", "0 1\n1 2\n2 3\n3 0\n"):
            edges.write_text(text)
            assert wc.Experiment(settings).run(executor=pool).csv() == wc.Experiment(settings).run(jobs=1).csv()


SCRIPT = """
import concurrent.futures, dataclasses, multiprocessing
import wormcast as wc

class Order:
    def of(self, destinations):
        return sorted(destinations)

@dataclasses.dataclass
class Chain:
    step: int = 1

CHAIN = Chain()
# As an attribute of what the algorithm uses.
step = of = 3

@wc.algorithm("py-script", routing="e-cube", promise="unicasts")
def plan(network, source, destinations):
    return [[node] for node in Order().of(destinations)[:: CHAIN.step]]

SETTINGS = {
    "topology": "mesh:4x4", "algorithm": "py-script", "traffic.arrivals": {"process": "poisson", "rate": 0.01},
    "traffic.multicast.destinations": 4, "run.messages": 60, "stop": {"min_replications": 2, "max_replications": 2},
}

if __name__ == "__main__":
    experiment = wc.Experiment(SETTINGS, algorithms=[plan])
    distributed = __import__("importlib").import_module("dask.distributed")
    with distributed.LocalCluster(n_workers=1, processes=True, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        assert experiment.run(executor=client).csv() == experiment.run(jobs=1).csv()
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert experiment.run(executor=pool).csv() == experiment.run(jobs=1).csv()
"""


def test_classes_of_a_script_are_the_same_in_other_processes(tmp_path):
    pytest.importorskip("dask.distributed")
    (tmp_path / "script.py").write_text(SCRIPT)
    run = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
