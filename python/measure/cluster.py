"""Measures sweeps on a cluster: what killed workers and a killed coordinator cost, and what handing out batches costs.

    python measure/cluster.py local        # four worker processes of Dask on this machine
    python measure/cluster.py slurm        # the same as jobs of Slurm, by dask-jobqueue; see slurm.sh

Prints a report in Markdown. Fails if a table is not that of the serial run, byte for byte, or if anything that was stored is computed again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import wormcast as wc

SWEEP: dict[str, Any] = {
    "topology": "mesh:8x8",
    "seed": 1,
    "traffic.arrivals": {"process": "poisson", "rate": 0.01},
    "traffic.length": 32,
    "traffic.multicast.destinations": 6,
    "run": {"messages": 30000, "warmup": 10000},
    "stop": {"min_replications": 20, "max_replications": 20},
    "sweep.algorithm": ["dual-path", "column-path", "pure-negative-first", "minimal-negative-first"],
    "sweep.traffic.arrivals.rate": {"from": 0.002, "to": 0.03, "points": 15},
}
WORKERS = 4
EVERY = 10.0


def stored(store: Path) -> set[tuple[str, int]]:
    """The replications that a store has."""
    if not store.exists():
        return set()
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=30)) as opened:
        try:
            return set(opened.execute("select config_hash, replication from results"))
        except sqlite3.OperationalError:
            return set()


class Logging:
    """An executor that notes which replications it is given."""

    def __init__(self, client: Any, log: Path) -> None:
        self._executor, self._log = client.get_executor(pure=False), log

    def submit(self, function: Any, description: Any, task: Any) -> Any:
        with self._log.open("a") as log:
            log.write("\n")
            for number in range(task.first, task.first + task.count):
                # As in the store: windows that were doubled have numbers of their own.
                log.write(json.dumps([task.config_hash, (task.window[0] << 20) + number]) + "\n")
        return self._executor.submit(function, description, task)


def given(log: Path) -> list[tuple[str, int]]:
    """The replications that an executor was given, in order."""
    return [tuple(json.loads(line)) for line in log.read_text().splitlines() if line] if log.exists() else []


def batches(log: Path) -> int:
    """In how many batches."""
    return log.read_text().splitlines().count("")


def in_parts(experiment: wc.Experiment, folder: Path) -> float:
    """Runs the sweep in parts, as an array of jobs does, and merges the stores. Returns the processor time of all."""
    from wormcast._toml import document

    (folder / "sweep.toml").write_text(document(SWEEP))
    wormcast = [sys.executable, "-m", "wormcast"]
    stores = [str(folder / f"part-{number}.db") for number in range(WORKERS)]
    parts = [
        subprocess.Popen(
            [*wormcast, "sweep", "sweep.toml", "--jobs", "1", "--shard", f"{number + 1}/{WORKERS}", "--store", store],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for number, store in enumerate(stores)
    ]
    used = 0.0
    for part in parts:
        _, status, usage = os.wait4(part.pid, 0)
        assert status == 0
        used += usage.ru_utime + usage.ru_stime
    merge = [*wormcast, "merge", *stores, "--experiment", "sweep.toml", "--store", "parts.db"]
    subprocess.run(merge, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return used


def coordinate(address: str, store: str, log: str) -> None:
    """Runs the sweep on a cluster that is there, and prints its table."""
    import dask
    from dask.distributed import Client

    with dask.config.set(wc.DASK_SETTINGS), Client(address) as client:
        result = wc.Experiment(SWEEP).run(executor=Logging(client, Path(log)), store=store, parallel=2 * WORKERS)
    sys.stdout.write(result.csv())


def processor_seconds(pids: list[int]) -> float:
    """User and system time of processes so far."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Cluster:
    """Workers of Dask: where they listen, their processes, and how one is killed."""

    def __init__(self, cluster: Any, kill_all: bool) -> None:
        self.cluster, self.address, self._is_slurm = cluster, cluster.scheduler_address, kill_all

    def pids(self) -> list[int]:
        from dask.distributed import Client

        with Client(self.address, set_as_default=False) as client:
            return list(client.run(os.getpid).values())

    def kill_one(self, draw: random.Random) -> None:
        if self._is_slurm:
            # The jobs' processes are on this machine, too: it is the only node.
            found = subprocess.run(["pgrep", "-f", "distributed.cli.dask_worker"], capture_output=True, text=True, check=False)
            pids = [int(pid) for pid in found.stdout.split()]
        else:
            pids = [nanny.pid for nanny in self.cluster.workers.values() if nanny.pid]
        if pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(draw.choice(pids), signal.SIGKILL)


@contextlib.contextmanager
def started(kind: str) -> Iterator[Cluster]:
    """A cluster of four workers."""
    if kind == "local":
        import dask
        from dask.distributed import LocalCluster

        options: dict[str, Any] = {"dashboard_address": None, "worker_dashboard_address": None}
        with (
            dask.config.set(wc.DASK_SETTINGS),
            LocalCluster(n_workers=WORKERS, threads_per_worker=1, processes=True, **options) as local,
        ):
            yield Cluster(local, False)
        return
    from dask_jobqueue import SLURMCluster

    options = {"scheduler_options": {"dashboard_address": None}, "worker_extra_args": ["--no-dashboard"]}
    # Jobs have the configuration of their environment.
    settings = [f"export DASK_{key.upper().replace('.', '__').replace('-', '_')}={json.dumps(value)}" for key, value in wc.DASK_SETTINGS.items()]
    options["job_script_prologue"] = settings
    with SLURMCluster(cores=1, processes=1, memory="500MB", walltime="01:00:00", interface="lo", **options) as slurm:
        # Jobs that end are replaced, as long as there is work.
        slurm.adapt(minimum=WORKERS, maximum=WORKERS, interval="1s")
        slurm.wait_for_workers(WORKERS, timeout=300)
        yield Cluster(slurm, True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["local", "slurm", "coordinate"])
    parser.add_argument("rest", nargs="*")
    arguments = parser.parse_args()
    if arguments.kind == "coordinate":
        coordinate(*arguments.rest)
        return
    with tempfile.TemporaryDirectory() as name:
        measure(arguments.kind, Path(name))


def measure(kind: str, folder: Path) -> None:
    experiment = wc.Experiment(SWEEP)
    begun = time.monotonic()
    serial = experiment.run(jobs=1, store=folder / "serial.db").csv()
    points, seconds = len(experiment.points), time.monotonic() - begun
    print(f"{points} points x 20 replications, {os.cpu_count()} cores.\n")
    print("| run | seconds | table | computed | note |\n|---|---|---|---|---|")
    print(f"| serial | {seconds:.1f} | | {points * 20} | |", flush=True)
    begun = time.monotonic()
    computing = in_parts(experiment, folder)
    seconds = time.monotonic() - begun
    merged = experiment.load(folder / "parts.db").csv()
    assert merged == serial, "the table is that of the serial run"
    print(
        f"| {WORKERS} processes with `--shard`, one thread each | {seconds:.1f} | equal | {points * 20} | {computing:.1f} s of processor time |",
        flush=True,
    )

    with started(kind) as cluster:
        # Without faults: what is used beside the simulation.
        before = [processor_seconds(cluster.pids()), processor_seconds([os.getpid()])]
        store, log = folder / "whole.db", folder / "whole.log"
        begun = time.monotonic()
        words = [sys.executable, __file__, "coordinate", cluster.address]
        coordinator = subprocess.Popen([*words, str(store), str(log)], stdout=subprocess.PIPE, text=True)
        assert coordinator.stdout is not None
        table = coordinator.stdout.read()
        _, status, usage = os.wait4(coordinator.pid, 0)
        seconds = time.monotonic() - begun
        workers = processor_seconds(cluster.pids()) - before[0]
        scheduler = processor_seconds([os.getpid()]) - before[1]
        own = usage.ru_utime + usage.ru_stime - starting_seconds()
        assert status == 0 and table == serial, "the table is that of the serial run"
        print(
            f"| {WORKERS} workers, no faults | {seconds:.1f} | equal | {len(given(log))} | in {batches(log)} batches; processor time: workers "
            f"{workers:.1f} s, scheduler {scheduler:.1f} s, coordinator {own:.1f} s: {100 * ((workers + scheduler + own) / computing - 1):.1f}% more than "
            "those processes |",
            flush=True,
        )

        store, log = folder / "faults.db", folder / "faults.log"
        ended, kills, draw = threading.Event(), 0, random.Random(1)

        def kill() -> None:
            nonlocal kills
            while not ended.wait(EVERY):
                cluster.kill_one(draw)
                kills += 1

        killer = threading.Thread(target=kill)
        killer.start()
        begun = time.monotonic()
        first = subprocess.Popen([*words, str(store), str(log)], stdout=subprocess.DEVNULL)
        while first.poll() is None and len(stored(store)) < points * 20 // 3:
            time.sleep(0.5)
        first.kill()
        first.wait()
        kept, tried = stored(store), given(log)
        log.unlink()
        second = subprocess.run([*words, str(store), str(log)], capture_output=True, text=True, check=False)
        ended.set()
        killer.join()
        seconds = time.monotonic() - begun
        assert second.returncode == 0, second.stderr
        assert second.stdout == serial, "the table is that of the serial run"
        again = given(log)
        assert not kept & set(again), "nothing that was stored is computed again"
        assert len(set(again)) == len(again) and len(set(tried)) == len(tried), "nothing is handed out twice"
        lost = len(set(tried) - kept)
        print(
            f"| {WORKERS} workers, one killed every {EVERY:.0f} s ({kills} in all), coordinator killed once | {seconds:.1f} | equal | "
            f"{len(kept) + len(again)} | {len(kept)} kept when the coordinator was killed, {lost} in flight then; none of those kept is handed out again |"
        )


def starting_seconds() -> float:
    """Processor time of a coordinator that has nothing to do: Python and its imports."""
    code = "import wormcast, dask.distributed"
    process = subprocess.Popen([sys.executable, "-c", code])
    _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
