"""Whether worms can deadlock, before any run."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from wormcast import _native
from wormcast._network import Network
from wormcast._nodes import SEEDS, algorithm_name, fault_information, file_text, links, options_text, plain_text, whole

if TYPE_CHECKING:
    from wormcast._algorithm import Algorithm


class Analysis:
    """What :func:`analyse` found."""

    __slots__ = ("_report", "network")

    def __init__(self, network: Network, report: str) -> None:
        self.network = network
        self._report: dict[str, Any] = json.loads(report)

    @property
    def deadlock_free(self) -> bool:
        """Whether no worms of these kinds can wait for each other forever: a proof, for any traffic."""
        return bool(self._report["deadlock_free"])

    @property
    def cycle(self) -> list[dict[str, Any]] | None:
        """A cycle of resources, each of which may be held by a worm that waits for the next; ``None`` if there is none.

        The resources are channels and the consumption channels of nodes.
        """
        found: list[dict[str, Any]] | None = self._report["resources"]
        return found

    @property
    def cycle_links(self) -> list[tuple[int, int]] | None:
        """The channels of the cycle, by the routers at their ends."""
        found = self._report["cycle"]
        return None if found is None else [(a, b) for a, b in found]

    @property
    def reachability(self) -> dict[str, Any] | None:
        """Whether a deadlock can be reached, if ``reachable`` asked for a search: its ``verdict``, and messages that deadlock."""
        found: dict[str, Any] | None = self._report.get("reachability")
        return found

    @property
    def groups(self) -> list[dict[str, Any]] | None:
        """The groups of multicast tables: ``mlid``, ``members``, whether they are ``connected``, which members are ``missing``."""
        found: list[dict[str, Any]] | None = self._report.get("groups")
        return found

    @property
    def blame(self) -> dict[str, Any] | None:
        """Which groups of multicast tables are to blame for a deadlock."""
        found: dict[str, Any] | None = self._report.get("blame")
        return found

    @property
    def average_distance(self) -> float | None:
        """The mean length of routes between routers with nodes, in hops: an estimate if there is a :attr:`sample`."""
        found: float | None = self._report["average_distance"]
        return found

    @property
    def sample(self) -> dict[str, Any] | None:
        """What distances were estimated from, and the half-widths of their 95% intervals; ``None`` if those of all pairs were measured."""
        found: dict[str, Any] | None = self._report.get("sample")
        return found

    @property
    def loads(self) -> dict[str, Any] | None:
        """How many pairs of nodes' worms cross channels, if all nodes send to all others."""
        found: dict[str, Any] | None = self._report["link_load"]
        return found

    def to_dict(self) -> dict[str, Any]:
        """All of it, as ``wormcast routing --format json`` prints it."""
        return dict(self._report)

    def __bool__(self) -> bool:
        """Whether it is free of deadlock."""
        return self.deadlock_free

    def __repr__(self) -> str:
        what = self._report.get("algorithm") or self._report["routing"]
        found = "cannot deadlock" if self.deadlock_free else f"can deadlock: {len(self._report['resources'])} resources in a cycle"
        return f"<Analysis of {what!r} on {self.network.name!r}: {found}>"


def analyse(
    network: Network | str | os.PathLike[str],
    algorithm: str | Algorithm | None = None,
    *,
    routing: str | None = None,
    tables: str | os.PathLike[str] | None = None,
    multicast_tables: str | os.PathLike[str] | None = None,
    groups: str | os.PathLike[str] | None = None,
    branching: Literal["packets", "lockstep", "ibdmchk"] = "packets",
    lanes: str | os.PathLike[str] | None = None,
    sl2vl: str | os.PathLike[str] | None = None,
    root: str | int | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    failed_links: Sequence[str | tuple[int, int]] = (),
    local_information: bool = False,
    consumption_ports: int | None = None,
    virtual_channels: int | None = None,
    buffer: int | Literal["message"] | None = None,
    replication: str | None = None,
    reservation: Literal["atomic", "separate"] | None = None,
    reachable: int | None = None,
    sample: int | None = None,
) -> Analysis:
    """Finds out whether worms can deadlock, whatever is sent.

    Give an algorithm, for all worms that it may send; or a routing or forwarding tables, for unicasts. Takes O(channels x degree) for routings over
    permitted turns that cannot deadlock, and up to O(routers x channels) otherwise.

    Args:
        network: The network, or the text that names it.
        algorithm: The multicast algorithm: its name, or one that is written in Python.
        routing: The routing; with an algorithm, the one for it to use.
        tables: A file of forwarding tables, as OpenSM dumps them.
        multicast_tables: A file of multicast tables beside them, as OpenSM writes it to ``opensm.mcfdbs``: the verdict is on both together.
        groups: A file with the members of their groups.
        branching: How packets of groups branch: stored whole, as in InfiniBand switches; in lockstep; or as ``ibdmchk`` takes it.
        lanes: A file of the service levels of paths, as ``saquery -p`` prints them, or lines of source, address and level.
        sl2vl: A file of the virtual lanes of service levels, as OpenSM writes it to ``opensm-sl2vl.dump``.
        root: The root of up*/down*.
        seed: The seed of algorithms and routings that make random choices, and of ``sample``.
        options: The algorithm's own options.
        failed_links: Links that have failed, each as ``"0-1"`` or as the routers at its ends.
        local_information: Whether only the nodes at both ends know of them.
        consumption_ports: Consumption channels at every node. Default: what the algorithm is defined with, or 4.
        virtual_channels: Virtual channels of every link. Default: as many as the routing needs.
        buffer: Flits of a buffer, or ``"message"``, for trees.
        replication: How worms are replicated: ``"lockstep"``, ``"independent"``, ``"asynchronous"``, ``"synchronous"`` or
            ``"synchronous-together"``.
        reservation: How independent branches are reserved.
        reachable: The most steps of a search that decides whether a deadlock can be reached.
        sample: Estimate distances from the routes to so many routers with nodes, at least 30, drawn at random with ``seed``, instead of measuring those of all pairs.

    Raises:
        InputError: If there is no such algorithm, routing or file, or the settings are not for worms of this kind.
    """
    if not isinstance(network, Network):
        network = Network(network)
    seed = whole("seed", seed, 0, SEEDS) or 0
    if routing is not None:
        plain_text("routing", routing)
    fault_information(local_information, failed_links)
    if not isinstance(buffer, str):
        buffer = whole("buffer", buffer, 1, 2**24)
    consumption_ports = whole("consumption_ports", consumption_ports, 1, 32)
    virtual_channels = whole("virtual_channels", virtual_channels, 1, 64)
    reachable = whole("reachable", reachable, 1, 2**64 - 1)
    sample = whole("sample", sample, 30, 2**32 - 1)
    if sample is not None and tables is not None:
        raise _native.InputError("sample: routes by tables are all followed: leave it out")
    beside = {"multicast_tables": multicast_tables, "groups": groups, "lanes": lanes, "sl2vl": sl2vl}
    idle = next((name for name, file in beside.items() if file is not None), "branching" if branching != "packets" and tables is None else None)
    root = None if root is None else str(root)
    given = json.dumps(
        {
            "consumption_ports": consumption_ports,
            "virtual_channels": virtual_channels,
            "buffer": buffer,
            "replication": replication,
            "reservation": reservation,
            "reachable": reachable,
            "sample": sample,
            "seed": seed,
        }
    )
    if algorithm is not None:
        if tables is not None:
            raise _native.InputError("tables: forwarding tables are those of unicasts: give an algorithm or tables, not both")
        if idle is not None:
            raise _native.InputError(f"{idle}: it is beside unicast tables, not an algorithm, which has `options` of its own: leave it out")
        own = options_text(options)
        with algorithm_name(algorithm) as name:
            made = _native.Algorithm(network._native, name, routing, root, seed, own, links(failed_links), local_information)
        return _found(network, *made.analyse(given))
    if tables is None and idle is not None:
        raise _native.InputError(f"{idle}: it is beside unicast tables: give `tables`, too")
    of_groups = {"groups": groups is not None, "branching": branching != "packets"}
    if multicast_tables is None and (given_beside := [name for name, is_given in of_groups.items() if is_given]):
        raise _native.InputError(f"{given_beside[0]}: it is about multicast tables: give `multicast_tables`, too")
    if options or failed_links or local_information:
        raise _native.InputError("options and failed_links: these are told to an algorithm: give one")
    if routing is not None and tables is not None:
        raise _native.InputError("routing: forwarding tables are one already: give a routing or tables, not both")
    if routing is None and tables is None:
        raise _native.InputError("expected an algorithm, a routing, or forwarding tables")
    if routing is not None:
        return _found(network, *_native.analyse_routing(network._native, routing, root, seed, given))
    if root is not None or seed != 0:
        name = "root" if root is not None else "seed"
        raise _native.InputError(f"{name}: forwarding tables have none: leave it out")
    files = [None if file is None else file_text(name, file) for name, file in beside.items()]
    return _found(network, *_native.analyse_tables(network._native, file_text("tables", tables), files, branching, given))


def _found(network: Network, report: str, idle: list[str]) -> Analysis:
    for text in idle:
        warnings.warn(text, stacklevel=3)
    return Analysis(network, report)
