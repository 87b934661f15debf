"""Plan multicasts in wormhole-switched networks, check that they cannot deadlock, simulate them, and run whole experiments.

A multicast sends one message from a node to many. This package is the workbench of the command ``wormcast``, with the same engine, the same
numbers and the same messages:

>>> import wormcast as wc
>>> mesh = wc.Network("mesh:8x8")
>>> plan = mesh.plan("pure-negative-first", (4, 3), [(1, 4), (1, 5), (7, 2)])
>>> plan.startups, plan.steps
(2, 2)
>>> wc.analyse(mesh, algorithm="dual-path", consumption_ports=2).deadlock_free
False

- :class:`Network`: networks, from a text such as ``"torus:8x8"``, from files, from and to NetworkX.
- :func:`analyse`: whether worms can deadlock, before any run.
- :class:`Experiment`: sweeps, with confidence intervals, on threads or on the workers of any executor, such as those of Dask.
- :func:`algorithm`: multicast algorithms that are written in Python.

Whatever is wrong with what is given raises :class:`InputError`, with the text of the command's message.
"""

from wormcast._algorithm import Algorithm, Worm, algorithm
from wormcast._analysis import Analysis, analyse
from wormcast._cluster import DASK_SETTINGS
from wormcast._experiment import Comparison, Experiment, Progress, simulate
from wormcast._native import InputError, RunError, WorkersError
from wormcast._network import Network
from wormcast._plan import Plan
from wormcast._result import Plot, Result, Run, Table
from wormcast._version import MODEL_VERSION, __version__, algorithms, routings

__all__ = [
    "DASK_SETTINGS",
    "MODEL_VERSION",
    "Algorithm",
    "Analysis",
    "Comparison",
    "Experiment",
    "InputError",
    "Network",
    "Plan",
    "Plot",
    "Progress",
    "Result",
    "Run",
    "RunError",
    "Table",
    "WorkersError",
    "Worm",
    "__version__",
    "algorithm",
    "algorithms",
    "analyse",
    "routings",
    "simulate",
]
