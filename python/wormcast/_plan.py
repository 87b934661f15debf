"""Plans of multicasts."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

from wormcast import _native
from wormcast._nodes import counted

if TYPE_CHECKING:
    from wormcast._network import Network


class Plan:
    """The worms by which a message gets from its source to its destinations. Made by :meth:`Network.plan`."""

    __slots__ = ("_ask", "_made", "_report", "network")

    network: Network
    """The network that it is for."""
    _made: _native.Algorithm
    _ask: tuple[str, str, str]
    _report: dict[str, Any]

    @classmethod
    def _of(
        cls, network: Network, made: _native.Algorithm, source: str, destinations: str, ports: str, flit_bits: int | None
    ) -> Plan:
        plan = cls.__new__(cls)
        plan.network, plan._made, plan._ask = network, made, (source, destinations, ports)
        report, told = made.plan(source, destinations, ports, flit_bits)
        plan._report = json.loads(report)
        for text in told:
            warnings.warn(text, stacklevel=3)
        return plan

    @property
    def algorithm(self) -> str:
        """The algorithm's name."""
        return self._made.name

    @property
    def source(self) -> int:
        """The sender."""
        return int(self._report["source"])

    @property
    def destinations(self) -> list[int]:
        """The receivers, each once."""
        return list(self._report["destinations"])

    @property
    def worms(self) -> list[dict[str, Any]]:
        """The worms, in the order in which they are sent.

        Each has its ``id``; ``from``, the node that sends it; ``after``, the worm whose delivery there lets it start, or ``None``; the ``step`` in
        which it is sent; ``visits``, the nodes that it delivers to, in order; and ``channels``, the routers at both ends of each channel that it
        takes. Headers that encode destinations add ``encoding``, ``header_bits`` and ``header_flits``.
        """
        return list(self._report["worms"])

    @property
    def startups(self) -> int:
        """How many worms the busiest node sends."""
        return int(self._report["startups"])

    @property
    def steps(self) -> int:
        """The step of the last worm, if each worm takes one."""
        return int(self._report["steps"])

    @property
    def channels(self) -> int:
        """The channels that all worms take, each counted as often as it is taken."""
        return int(self._report["channels"])

    @property
    def longest(self) -> int:
        """The most hops from a worm's sender to a node that it delivers to."""
        return int(self._report["longest"])

    @property
    def contention(self) -> dict[str, Any] | None:
        """Two worms of one step that need the same channel, and that channel; ``None`` if there are none."""
        found: dict[str, Any] | None = self._report["contention"]
        return found

    def to_dict(self) -> dict[str, Any]:
        """All of it, as ``wormcast plan --format json`` prints it."""
        return dict(self._report)

    def svg(self) -> str:
        """A picture of the worms on the network."""
        return self._made.drawing(*self._ask, "svg")

    def dot(self) -> str:
        """The same for Graphviz."""
        return self._made.drawing(*self._ask, "dot")

    def _repr_svg_(self) -> str | None:
        return self.svg() if self.network.routers <= 4096 else None

    def __repr__(self) -> str:
        worms, destinations = (counted(len(self._report[which]), which[:-1]) for which in ("worms", "destinations"))
        sizes = {"startup": self.startups, "step": self.steps, "channel": self.channels}
        rest = ", ".join(counted(number, name) for name, number in sizes.items())
        return f"<Plan of {self.algorithm!r} on {self.network.name!r}: {worms} to {destinations}, {rest}>"
