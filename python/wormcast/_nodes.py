"""What users give, as the command reads it."""

import contextlib
import json
import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, SupportsIndex

from wormcast._native import InputError, RunError

#: A node: its number, its coordinates, or text such as ``"4,3"`` or a name.
Node = SupportsIndex | str | Sequence[SupportsIndex]


def plain_text(name: str, given: object) -> str:
    """A text; ``name`` is the parameter that it is given as."""
    if not isinstance(given, str):
        raise InputError(f"{name}: found {given!r}; expected a text")
    return given


def path_text(path: os.PathLike[str]) -> str:
    """A path as a text that is no other name: that of a file in this folder begins with ``./``, which ``pathlib`` leaves out."""
    text = os.fspath(path)
    return text if os.path.dirname(text) else os.path.join(os.curdir, text)


def file_text(name: str, given: object, expected: str = "the path of a file") -> str:
    """The path of a file."""
    path = os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
    if not isinstance(path, str):
        raise InputError(f"{name}: found {given!r}; expected {expected}")
    return path


def node_text(node: Node) -> str:
    """A node as the command reads it."""
    if hasattr(node, "tolist"):
        node = node.tolist()  # What NumPy has.
    if isinstance(node, str):
        return node
    try:
        if isinstance(node, bool):
            raise TypeError
        if isinstance(node, SupportsIndex):
            return str(operator.index(node))
        return ",".join(str(operator.index(part)) for part in node)
    except TypeError:
        raise InputError(f"{node!r} is not a node: expected its number, its coordinates, or text such as `4,3`") from None


def list_text(nodes: Iterable[Node] | str) -> str:
    """Nodes as the command reads them; a text is one already, such as ``"all"``."""
    if hasattr(nodes, "tolist"):
        nodes = nodes.tolist()
    if isinstance(nodes, str):
        return nodes
    if not isinstance(nodes, Iterable):
        raise InputError(f"{nodes!r} are no nodes: expected a list of nodes, or `all`")
    return ";".join(node_text(node) for node in nodes)


def whole(name: str, given: SupportsIndex | None, least: int, most: int) -> int | None:
    """A whole number within a range."""
    if given is None:
        return None
    try:
        number = operator.index(None if isinstance(given, bool) else given)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(f"{name}: found {given!r}; expected a whole number from {least} to {most}") from None
    if not least <= number <= most:
        raise InputError(f"{name}: found {number}; expected a whole number from {least} to {most}")
    return number


@contextlib.contextmanager
def needing(extra: str) -> Iterator[None]:
    """Says which extra of the package brings a library that is missing."""
    try:
        yield
    except ModuleNotFoundError as missing:
        message = f"{missing.name} is not installed: `pip install {missing.name}`, or this package with its extra `{extra}`"
        raise ModuleNotFoundError(message, name=missing.name) from None


@contextlib.contextmanager
def algorithm_name(given: object) -> Iterator[str]:
    """The name of an algorithm. Within it, one that is written in Python is known by it."""
    from wormcast._algorithm import Algorithm, in_use

    if isinstance(given, Algorithm):
        given.check()
        with in_use([given]):
            yield given.name
    elif isinstance(given, str):
        yield given
    else:
        raise InputError(f"algorithm: found {given!r}; expected its name, or what `wormcast.algorithm` makes of a function")


def options_text(given: Mapping[str, Any] | None) -> str:
    """The options of an algorithm as JSON."""
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"options: found {given!r}; expected a dictionary such as {{'detour': 4}}")
    try:
        return json.dumps(dict(given or {}), default=_plain, allow_nan=False)
    except InputError:
        raise
    except ValueError:
        raise InputError(f"options: found {given!r}; expected finite numbers") from None


def _plain(given: object) -> object:
    """A value of NumPy or a path, as JSON has it."""
    if isinstance(given, os.PathLike):
        return os.fspath(given)
    if hasattr(given, "tolist"):
        return given.tolist()
    raise InputError(f"options: found {given!r}; expected a number, a text, a flag or a list")


def flag(name: str, given: bool) -> None:
    """Checks that it is true or false."""
    if not isinstance(given, bool):
        raise InputError(f"{name}: found {given!r}; expected True or False")


def links(given: Iterable[str | Sequence[SupportsIndex]]) -> list[str]:
    """Links as the command reads them."""
    if isinstance(given, str):
        raise InputError(f"failed_links: found the text {given!r}; expected a list of links, such as [{given!r}]")
    try:
        return [link if isinstance(link, str) else "-".join(str(operator.index(end)) for end in link) for link in given]
    except TypeError:
        raise InputError(f"failed_links: found {given!r}; expected links such as `0-1`, or the routers at their ends") from None


def fault_information(is_local: bool, failed: Iterable[object]) -> None:
    """Checks that there is something to know."""
    flag("local_information", is_local)
    if is_local and not failed:
        raise InputError("local_information: no link has failed: give `failed_links`, too")


def counted(number: int, what: str) -> str:
    """A number of things, in words."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


#: The largest seed.
SEEDS = 2**64 - 1


@contextlib.contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[None]:
    """What fails within it is said to be the writing of a file."""
    try:
        yield
    except OSError as problem:
        raise RunError(f"cannot write `{os.fspath(path)}`: {problem.strerror or problem}") from problem
