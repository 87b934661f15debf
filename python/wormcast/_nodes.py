"""Nodes as users write them."""

import operator
from collections.abc import Iterable, Sequence
from typing import SupportsIndex

#: A node: its number, its coordinates, or text such as ``"4,3"`` or a name.
Node = SupportsIndex | str | Sequence[SupportsIndex]


def node_text(node: Node) -> str:
    """A node as the command reads it."""
    if isinstance(node, str):
        return node
    if isinstance(node, SupportsIndex):
        return str(operator.index(node))
    return ",".join(str(operator.index(part)) for part in node)


def list_text(nodes: Iterable[Node] | str) -> str:
    """Nodes as the command reads them; a text is one already, such as ``"all"``."""
    return nodes if isinstance(nodes, str) else ";".join(node_text(node) for node in nodes)
