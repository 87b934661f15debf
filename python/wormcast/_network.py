"""Networks of routers and nodes."""

from __future__ import annotations

import itertools
import json
import operator
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from wormcast import _native
from wormcast._nodes import SEEDS, Node, algorithm_name, fault_information, file_text, links, list_text, needing, node_text, options_text, path_text, plain_text, whole, written

if TYPE_CHECKING:
    from wormcast._algorithm import Algorithm
    from wormcast._plan import Plan


class Network:
    """A network of routers, of channels between them, and of nodes that are attached to them.

    Routers, channels and nodes are numbered from 0. A link is two channels, one each way.

    Args:
        spec: What the command takes as ``--topology``: ``"mesh:16x16"``, ``"torus:8x8"``, ``"hypercube:10"``, ``"bmin:4x3"``,
            ``"random:nodes=64,degree=4,seed=1"``, the path of a file, and so on. A ``Path`` is a file's.

    Raises:
        InputError: If there is no such network, or it would not fit in memory.

    Warns:
        UserWarning: If a file calls a node by the number of another one.
    """

    __slots__ = ("_native", "_spec")

    def __init__(self, spec: str | os.PathLike[str]) -> None:
        text = file_text("spec", spec, "the text of a network, such as `mesh:16x16`, or a file")
        if isinstance(spec, os.PathLike):
            text = path_text(spec)
        self._native = _warned(_native.Network(text), 3)
        self._spec: str | None = text

    @classmethod
    def _of(cls, native: _native.Network, spec: str | None = None) -> Network:
        network = cls.__new__(cls)
        network._native, network._spec = native, spec
        return network

    @classmethod
    def from_networkx(cls, graph: Any, name: str = "networkx") -> Network:
        """The network of a NetworkX graph: a router and a node for each of its nodes, a link for each edge.

        Parallel edges of a multigraph are parallel links. Attributes mean what they mean in node-link files: ``x`` and ``y`` say where a router is in pictures,
        ``delay_cycles`` how long a link takes, and ``kind="node"`` makes a vertex a node that is attached to the router at the other end of its only edge.

        Routers are numbered from 0 in the order of ``graph.nodes``, or as the graph numbers them if these are the numbers below their count. Identifiers that are not
        numbers become names, such as ``"a"``, and ``"1,2"`` for ``(1, 2)``, unless there is a ``label`` or a ``name``.

        Raises:
            InputError: If the graph is no network, or has an edge one way and none back.

        Warns:
            UserWarning: If the graph numbers its nodes otherwise than the network, or calls a node by the number of another one.

        >>> import networkx, wormcast as wc
        >>> grid = wc.Network.from_networkx(networkx.grid_2d_graph(3, 3))
        >>> grid.node("1,2")
        5
        """
        with needing("networkx"):
            import networkx as nx

        if not isinstance(graph, nx.Graph):
            raise _native.InputError(f"found {type(graph).__name__}; expected a graph of NetworkX, such as `networkx.Graph(edges)`")
        data = nx.node_link_data(graph, edges="edges")
        _number(data["nodes"])
        try:
            text = json.dumps(data, default=_plain, allow_nan=False)
        except ValueError as problem:
            raise _native.InputError("an attribute of the graph is infinite or no number, which no file has") from problem
        try:
            native = _warned(_native.Network.of_text(f"{name}.json", text), 3)
        except _native.InputError as problem:
            # The user has no file, whose line and form it tells.
            said = str(problem).removeprefix(f"{name}.json:1: ").partition("; expected node-link JSON")[0]
            both_ways = "; `graph.to_undirected()` has both ways of every edge" if "has none back" in said else ""
            raise _native.InputError(f"the graph is no network: {said}{both_ways}") from None
        return cls._of(native)

    @classmethod
    def from_text(cls, text: str, name: str = "network") -> Network:
        """The network of a file's contents: an edge list, GraphML, node-link JSON, anynet or what ibnetdiscover prints.

        Args:
            text: The contents.
            name: The name for messages. If it has an ending, such as ``.edges`` or ``.graphml``, that says which format it is; if not, the contents do.

        Warns:
            UserWarning: If a node is called by the number of another one.
        """
        return cls._of(_warned(_native.Network.of_text(plain_text("name", name), plain_text("text", text)), 3))

    def to_networkx(self) -> Any:
        """A NetworkX ``MultiGraph``, with the names of routers and nodes and the coordinates that a file gave them as attributes.

        Raises:
            InputError: If channels run one way.
        """
        with needing("networkx"):
            import networkx as nx

        return nx.node_link_graph(json.loads(self._native.node_link()), edges="edges")

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the network for experiments: GraphML if the name ends in ``.graphml`` or ``.xml``, node-link JSON if it ends in ``.json``.

        Experiments then name it: ``topology = "PATH"``.

        Raises:
            InputError: If the name ends otherwise: it would be read as something else.
            RunError: If the file cannot be written.
        """
        path = Path(path)
        if path.suffix not in (".graphml", ".xml", ".json"):
            raise _native.InputError(f"{path}: expected a name that ends in `.graphml`, `.xml` or `.json`")
        text = self._native.node_link() if path.suffix == ".json" else self._native.graphml()
        with written(path):
            path.write_text(text, encoding="utf-8")
        return path

    @property
    def name(self) -> str:
        """The text that it was made from, or its file's name."""
        return self._native.name

    @property
    def kind(self) -> str:
        """What it is: ``"a 2-D mesh"``, ``"an irregular network"``, and so on."""
        return self._native.kind

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return self._native.node_count

    @property
    def routers(self) -> int:
        """How many routers there are."""
        return self._native.router_count

    @property
    def channels(self) -> list[tuple[int, int]]:
        """The channels, in the order of their numbers: the routers at which each begins and ends."""
        return self._native.channels()

    @property
    def router_of(self) -> list[int]:
        """The router of each node."""
        return self._native.routers_of_nodes()

    @property
    def diameter(self) -> int | None:
        """The longest of the shortest paths between routers, in hops; ``None`` if not all are joined, or if there are too many."""
        return self._native.distances()[0]

    @property
    def average_distance(self) -> float | None:
        """The mean length of the shortest paths between different routers, in hops; ``None`` where there is no diameter."""
        return self._native.distances()[1]

    def node(self, node: Node) -> int:
        """The number of a node that is given by its coordinates or its name."""
        return self._native.node_number(node_text(node))

    def label(self, node: Node) -> str:
        """A node as messages and pictures name it: its coordinates in a mesh, its name in a fabric, or else its number."""
        return self._native.node_label(self.node(node))

    def coordinates(self, node: Node) -> tuple[int, ...] | None:
        """The coordinates of a node in a mesh, a torus or a hypercube; ``None`` elsewhere."""
        found = self._native.coordinates(self.node(node))
        return None if found is None else tuple(found)

    def _has_coordinates(self, parts: tuple[Any, ...]) -> bool:
        """Whether a node has these coordinates."""
        if not all(isinstance(part, SupportsIndex) for part in parts) or self.coordinates(0) is None:
            return False
        try:
            self.node(parts)
        except _native.InputError:
            return False
        return True

    def plan(
        self,
        algorithm: str | Algorithm,
        source: Node,
        destinations: Iterable[Node] | Literal["all"] | str,
        *,
        routing: str | None = None,
        root: str | int | None = None,
        seed: int = 0,
        options: Mapping[str, Any] | None = None,
        failed_links: Sequence[str | tuple[int, int]] = (),
        local_information: bool = False,
        ports: Literal["one", "all"] = "one",
        flit_bits: int | None = None,
    ) -> Plan:
        """Plans a multicast.

        Args:
            algorithm: The algorithm's name, see :func:`algorithms`; or one that is written in Python.
            source: The sender: its number, coordinates, or name.
            destinations: The receivers, or ``"all"``. One receiver that is given by coordinates is in a list, too: ``[(1, 4)]``.
            routing: The routing to use, for algorithms that offer a choice.
            root: The root of up*/down*.
            seed: The seed of algorithms that make random choices.
            options: The algorithm's own options, such as ``{"detour": 4}``.
            failed_links: Links that have failed, each as ``"0,0-1,0"``.
            local_information: Whether only the nodes at both ends know of them.
            ports: How many worms a node sends in one step: one, or one on each of its channels.
            flit_bits: The bits of a flit, in which headers that encode destinations are counted; 16 if not given.

        Raises:
            InputError: If there is no such algorithm or node, or the algorithm is not for this network.
            RunError: If an algorithm that is written in Python fails.

        Warns:
            UserWarning: If a destination is named twice or is the source, a setting makes no difference, or ``destinations`` may be meant as coordinates.
        """
        from wormcast._plan import Plan

        seed = whole("seed", seed, 0, SEEDS) or 0
        plain_text("ports", ports)
        if routing is not None:
            plain_text("routing", routing)
        whole("flit_bits", flit_bits, 1, 2**32 - 1)
        fault_information(local_information, failed_links)
        if isinstance(destinations, tuple) and len(destinations) > 1 and self._has_coordinates(destinations):
            message = f"destinations: {destinations} are nodes by their numbers; the one node at these coordinates is [{destinations}]"
            warnings.warn(message, stacklevel=2)
        with algorithm_name(algorithm) as name:
            made = _native.Algorithm(
                self._native,
                name,
                routing,
                None if root is None else str(root),
                seed,
                options_text(options),
                links(failed_links),
                local_information,
            )
        return Plan._of(self, made, node_text(source), list_text(destinations), ports, flit_bits)

    def heat_map(self, loads: Sequence[float], title: str = "") -> str:
        """A picture (SVG) in which channels are the darker and wider the larger their value is: one value for each channel.

        Raises:
            InputError: If there are more values or fewer, or one is negative or no finite number.
        """
        try:
            numbers = [float(load) for load in loads]
        except (TypeError, ValueError):
            raise _native.InputError(f"loads: found {loads!r}; expected a number for each channel") from None
        return self._native.heat_map(numbers, title)

    def svg(self) -> str:
        """A picture of the network."""
        return self._native.svg()

    def _repr_svg_(self) -> str | None:
        # What nobody can make out is not drawn.
        return self.svg() if self.routers <= 4096 else None

    def __repr__(self) -> str:
        return f"<Network {self.name!r}: {self.kind}, {self.routers} routers, {self.nodes} nodes>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._spec is not None:
            return (Network, (self._spec,))
        return (Network.from_text, (self._native.node_link(), f"{self.name}.json"))


def _warned(network: _native.Network, stacklevel: int) -> _native.Network:
    """The network, after a warning if numbers of its nodes may be taken for names of others."""
    if network.misleading_name is not None:
        warnings.warn(network.misleading_name, stacklevel=stacklevel)
    return network


def _plain(value: Any) -> Any:
    """A value of NumPy as Python has it, and what JSON does not know as text."""
    return value.item() if hasattr(value, "item") else str(value)


def _as_number(name: object) -> int | None:
    """A number as graphs identify their nodes by it; files give them as text."""
    if isinstance(name, SupportsIndex):
        return operator.index(name)
    return int(name) if isinstance(name, str) and name.isdecimal() and str(int(name)) == name else None


def _number(vertices: list[dict[str, Any]]) -> None:
    """Puts the vertices of a graph into the order of their numbers, and names those that have none."""
    if not any(vertex.get("kind") == "node" for vertex in vertices):
        numbers = [_as_number(vertex["id"]) for vertex in vertices]
        if set(numbers) == set(range(len(vertices))):
            vertices.sort(key=lambda vertex: _as_number(vertex["id"]) or 0)
    counts = {True: itertools.count(), False: itertools.count()}
    other = None
    for vertex in vertices:
        name, place = vertex["id"], next(counts[vertex.get("kind") == "node"])
        number = _as_number(name)
        if number is None and "label" not in vertex and "name" not in vertex:
            vertex["label"] = ",".join(map(str, name)) if isinstance(name, tuple) else str(name)
        if number not in (None, place) and other is None:
            other = (number, place)
    if other is not None:
        message = f"node {other[0]} of the graph is {other[1]} here: numbers are those of the order of `graph.nodes`, from 0"
        warnings.warn(message, stacklevel=3)
