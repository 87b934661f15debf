"""Experiments: a configuration, or a sweep over several."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wormcast import _native
from wormcast._algorithm import Algorithm, in_use
from wormcast._nodes import file_text, flag, plain_text, whole
from wormcast._pool import Description, Pool
from wormcast._result import Plot, Result, Run
from wormcast._toml import assignments, document


@dataclass(frozen=True)
class Progress:
    """How far a sweep is."""

    points_done: int
    points: int
    replications: int
    """Replications that are there, from the store or computed."""
    expected: int
    """Replications that are needed, as far as is known: it grows while points turn out to need more."""
    computed: int
    """Replications computed since the sweep started."""
    point: str
    """The point that has a new replication."""

    def __str__(self) -> str:
        return f"{self.points_done} of {self.points} points, {self.replications} of {self.expected} replications; {self.point}"


def _teller(progress: bool | Callable[[Progress], object]) -> Callable[..., None] | None:
    if progress is False:
        return None
    if callable(progress):
        return lambda *numbers: (progress(Progress(*numbers)), None)[1]

    def show(*numbers: Any) -> None:
        now = Progress(*numbers)
        end = "\n" if now.points_done == now.points else ""
        print(f"\r{now}"[:120].ljust(120), end=end, file=sys.stderr, flush=True)

    return show



def _path(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else file_text("store", path)


class Experiment:
    """An experiment, as the files of ``wormcast sweep`` describe it: the network, the algorithm, the traffic, and what is swept.

    Args:
        source: A file, or the settings themselves as a dictionary, nested or with dotted paths for keys; of two that name the same setting the later one counts.
        settings: Settings that replace those of the source: by their dotted paths, as ``--set`` does, or in nested dictionaries, which leave the other
            settings of their tables.
        quick: Take the quick version of the file.
        variation: Take this variation of the file.
        algorithms: Algorithms that are written in Python and used here.
        name: What its files are called, as ``--name`` says; and messages, if it is not a file.

    Raises:
        InputError: If something is wrong, with the line and the column in the file.

    >>> import wormcast as wc
    >>> experiment = wc.Experiment({
    ...     "topology": "mesh:8x8",
    ...     "traffic.arrivals": {"process": "poisson", "rate": 0.03},
    ...     "traffic.multicast.destinations": 6,
    ...     "sweep.algorithm": ["dual-path", "column-path"],
    ...     "sweep.traffic.arrivals.rate": [0.01, 0.02],
    ... })
    >>> len(experiment.points)
    4
    """

    __slots__ = ("_description", "_name", "_native", "algorithms")

    algorithms: tuple[Algorithm, ...]
    """The algorithms that are written in Python."""

    def __init__(
        self,
        source: str | os.PathLike[str] | Mapping[str, Any],
        *,
        settings: Mapping[str, Any] | None = None,
        quick: bool = False,
        variation: str | None = None,
        algorithms: Iterable[Algorithm] | Algorithm = (),
        name: str | None = None,
    ) -> None:
        if settings is not None and not isinstance(settings, Mapping):
            raise _native.InputError(f"settings: found {settings!r}; expected a dictionary, such as {{\"traffic.length\": 32}}")
        if name is not None:
            _check_name(name)
        if isinstance(source, Mapping):
            path, text = f"{name or 'experiment'}.toml", document(source)
        else:
            path, text = file_text("source", source, "a file of settings, or settings as a dictionary"), None
        # Of a dictionary, settings that others replace are told in the name, as of a file.
        self._name = None if isinstance(source, Mapping) else name
        if variation is not None:
            plain_text("variation", variation)
        if not isinstance(algorithms, (Algorithm, Iterable)):
            raise _native.InputError(f"algorithms: found {algorithms!r}; expected what `wormcast.algorithm` makes of functions")
        self.algorithms = (algorithms,) if isinstance(algorithms, Algorithm) else tuple(algorithms)
        for own in self.algorithms:
            if not isinstance(own, Algorithm):
                raise _native.InputError(f"algorithms: found {own!r}; expected what `wormcast.algorithm` makes of a function")
            if any(own is not other and own.name == other.name for other in self.algorithms):
                raise _native.InputError(f"algorithms: two are called `{own.name}`: give each a name of its own")
        flag("quick", quick)
        overrides = assignments(settings or {})
        with in_use(self.algorithms):
            self._native = _native.Experiment(path, text, overrides, quick, variation)
        # Workers get the text, not the name of a file that may change meanwhile.
        self._description = Description(
            os.path.abspath(path), self._native.text, tuple(overrides), quick, variation, self.algorithms
        )

    @contextlib.contextmanager
    def _ready(self, coordinates: bool = False) -> Iterator[_native.Experiment]:
        """The native half, which looks algorithms up by their names: within it, those of this experiment, whatever else is defined or runs."""
        for own in self.algorithms:
            own.check()
        with in_use(self.algorithms, coordinates):
            yield self._native

    @property
    def name(self) -> str:
        """What its files are called."""
        return self._name or self._native.name

    @property
    def title(self) -> str:
        """What it shows; may be empty."""
        return self._native.title

    @property
    def swept(self) -> list[str]:
        """The swept settings, outermost first."""
        return self._native.swept

    @property
    def variations(self) -> list[str]:
        """The names of the file's variations."""
        return self._native.variations

    @property
    def points(self) -> list[dict[str, Any]]:
        """All points: the ``label`` and the swept ``settings`` of each, its ``spec`` with all settings, and the ``config_hash`` that names its results.

        Raises:
            InputError: If a value of the sweep is invalid, or a file that a setting names cannot be read.
        """
        with self._ready() as ready:
            return list(json.loads(ready.points()))

    def check(self) -> list[str]:
        """Checks that every point can be run, without running anything.

        Returns:
            What is to be said of them: settings without effect, and points whose worms may deadlock.

        Raises:
            InputError: If a point cannot be run.
        """
        with self._ready() as ready:
            return ready.check()

    def run(
        self,
        *,
        store: str | os.PathLike[str] | None = None,
        jobs: int | None = None,
        fresh: bool = False,
        progress: bool | Callable[[Progress], object] = False,
        executor: Any = None,
        parallel: int | None = None,
        batch_seconds: float = 2.0,
    ) -> Result:
        """Runs every point until it is precise enough, saturated, or out of replications.

        The result is a function of the experiment alone: it does not depend on ``jobs``, on the executor, on how many workers there are or which of them die.

        Args:
            store: The file in which every replication is kept as soon as it is there: a sweep that was interrupted, in whatever way, goes on where it was. It is
                that of ``wormcast sweep --store``, and its name ends in ``.db``. It and its folder are made if they are not there. Without it nothing is kept.
            jobs: Threads; by default as many as there are cores. Not with an executor.
            fresh: Forget what the store has of these points.
            progress: Show the progress on standard error; or a function that is told of it, at most ten times a second.
            executor: Who computes: a client of Dask, or any executor of ``concurrent.futures``. Its workers need this package, in the same version, and
                the files that the experiment names.
            parallel: How many batches are under way at once; by default twice as many as there are workers.
            batch_seconds: How long a batch of replications should take a worker, so that handing it out costs little.

        Raises:
            InputError: If the experiment is invalid, or the store is none.
            RunError: If a replication fails, or the store does. What was computed before is in the store.
            WorkersError: If workers are gone for good, or return what is no result.
            KeyboardInterrupt: At once; what was computed before is in the store.
        """
        whole("jobs", jobs, 1, 2**32 - 1)
        whole("parallel", parallel, 1, 2**32 - 1)
        if isinstance(batch_seconds, bool) or not isinstance(batch_seconds, (int, float)) or not 0 < batch_seconds < float("inf"):
            raise _native.InputError(f"batch_seconds: found {batch_seconds!r}; expected a number above 0")
        flag("fresh", fresh)
        if executor is None and parallel is not None:
            raise _native.InputError("parallel: it is how many batches an executor gets: give `executor`, too")
        if fresh and store is None:
            warnings.warn("`fresh` makes no difference: there is no store", stacklevel=2)
        self._warn()
        teller = _teller(progress)
        if executor is None:
            with self._ready() as ready:
                findings = ready.run(_path(store), jobs, fresh, teller, None)
        else:
            if jobs is not None:
                raise _native.InputError("jobs: an executor has workers of its own: leave it out, or say `parallel`")
            with Pool(executor, self._description, parallel, batch_seconds) as pool, self._ready(coordinates=True) as ready:
                findings = ready.run(_path(store), None, fresh, teller, pool)
        return self._result(findings)

    def load(self, store: str | os.PathLike[str]) -> Result:
        """What a store has of the points, without running anything. Points that lack replications are ``incomplete``.

        Raises:
            InputError: If there is no such store.
            RunError: If rows of these points are damaged.
        """
        with self._ready() as ready:
            findings = ready.stored(_path(store) or "")
        return self._result(findings)

    def _reads(self) -> list[tuple[str, Path]]:
        """The files that it reads, each with what it is read as."""
        with self._ready() as ready:
            return [("the experiment", Path(self._description.path)), *ready.reads()]

    def _result(self, findings: _native.Findings) -> Result:
        result = Result(findings, self.name, self.title, self._reads)
        for row in result.damaged:
            warnings.warn(f"a row of the store was damaged and has been set aside: {row}", stacklevel=3)
        return result

    def compare(
        self,
        *names: str,
        quantity: str | None = None,
        until_decided: int | None = None,
        store: str | os.PathLike[str] | None = None,
        jobs: int | None = None,
        progress: bool | Callable[[Progress], object] = False,
    ) -> Comparison:
        """Compares series of the sweep, and runs what that takes.

        Args:
            names: The series: one, to compare it with all others; two, to compare them with each other; or several; by default all.
            quantity: What is compared, such as ``"latency.last"``; by default what the experiment plots.
            until_decided: Add loads and replications where they decide, at most so many replications.
            store: As for :meth:`run`.
            jobs: Threads; by default as many as there are cores.
            progress: As for :meth:`run`.

        Raises:
            InputError: If the experiment sweeps no such series.
        """
        whole("jobs", jobs, 1, 2**32 - 1)
        whole("until_decided", until_decided, 1, 2**64 - 1)
        if quantity is not None:
            plain_text("quantity", quantity)
        for name in names:
            if not isinstance(name, str):
                raise _native.InputError(f"names: found {name!r}; expected texts one by one, as in `compare('dual-path', 'column-path')`")
        self._warn()
        teller = _teller(progress)
        with self._ready() as ready:
            return Comparison(ready.compare(list(names), quantity, until_decided, _path(store), jobs, teller))

    def simulate(self, *, deliveries: bool = False) -> Run:
        """Simulates the single configuration once, with the experiment's seed. What is swept needs a plain value.

        Args:
            deliveries: Keep every delivery, for :attr:`Run.deliveries`.

        Raises:
            InputError: If the configuration is invalid.
            RunError: If it cannot be simulated.
        """
        return self._simulated(deliveries, 1)

    def _simulated(self, deliveries: bool, within: int) -> Run:
        flag("deliveries", deliveries)
        if not self.swept:
            self._warn(within + 1)
        with self._ready() as ready:
            return Run(ready.simulate(deliveries))

    def _warn(self, within: int = 1) -> None:
        """Warns of settings without effect, and of worms that may deadlock: whoever called, so many functions of this module further out."""
        for text in self.check():
            warnings.warn(text, stacklevel=within + 2)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self._native.text)}</pre>"

    def __repr__(self) -> str:
        swept = f", sweeps {', '.join(self.swept)}" if self.swept else ""
        return f"<Experiment {self.name!r}{swept}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_again, (self._description, self._name))


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name or name.startswith(".") or not name.isprintable() or set(name) & set("/\\"):
        raise _native.InputError(f"name: found {name!r}; expected a name for files")


def _again(description: Description, name: str | None) -> Experiment:
    experiment = Experiment.__new__(Experiment)
    experiment._name = name
    experiment.algorithms = description.algorithms
    experiment._native = description.made()
    experiment._description = description
    return experiment


class Comparison:
    """Which series is best where, by how much, and how surely. Made by :meth:`Experiment.compare`."""

    __slots__ = ("_compared", "_report")

    def __init__(self, native: _native.Comparison) -> None:
        self._compared = native
        self._report: dict[str, Any] = json.loads(native.json())

    @property
    def points(self) -> list[dict[str, Any]]:
        """The standings at each point."""
        return list(self._report["points"])

    @property
    def crossings(self) -> list[str]:
        """Where series change places, in words, each as an interval."""
        return self._compared.crossings()

    @property
    def plot(self) -> Plot | None:
        """The plot of differences; ``None`` if there is nothing to draw."""
        drawn = self._compared.plot()
        return None if drawn is None else Plot(self._report["quantity"], "", *drawn)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as ``wormcast compare --format json`` prints it."""
        return dict(self._report)

    def _repr_svg_(self) -> str | None:
        plot = self.plot
        return None if plot is None else plot.svg

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self._report['series'])}>"


def simulate(
    source: Experiment | str | os.PathLike[str] | Mapping[str, Any],
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    deliveries: bool = False,
    algorithms: Sequence[Algorithm] = (),
) -> Run:
    """Simulates one configuration.

    Args:
        source: The experiment, its file, or its settings.
        settings: Settings that replace those of the source.
        seed: The seed of the run's random choices.
        deliveries: Keep every delivery, for :attr:`Run.deliveries`.
        algorithms: Algorithms that are written in Python and used here.

    Raises:
        InputError: If the configuration is invalid.
        RunError: If it cannot be simulated.

    >>> import wormcast as wc
    >>> run = wc.simulate({
    ...     "topology": "mesh:8x8",
    ...     "algorithm": "dual-path",
    ...     "traffic.arrivals": {"process": "poisson", "rate": 0.01},
    ...     "traffic.multicast.destinations": 6,
    ... })
    >>> run.saturated
    False
    """
    if isinstance(source, Experiment):
        if settings or algorithms or seed is not None:
            raise _native.InputError("settings, seed, algorithms: an experiment has its own: give these to it")
        return source._simulated(deliveries, 1)
    given = dict(settings or {})
    if seed is not None and given.setdefault("seed", seed) != seed:
        raise _native.InputError(f"seed: {seed} contradicts the {given['seed']!r} of `settings`: give one of the two")
    return Experiment(source, settings=given, algorithms=algorithms)._simulated(deliveries, 1)
