"""Experiments given as dictionaries, written as TOML."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from wormcast._native import InputError
from wormcast._nodes import path_text

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise InputError(f"the name of a setting is a string; found {key!r}")
    # A dotted name is a path, as in the files.
    return ".".join(part if _BARE.fullmatch(part) else _string(part) for part in key.split("."))


def _string(text: str) -> str:
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"found {text!r}, which is no text: half a character is missing")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def value(given: Any) -> str:
    """A value as TOML has it. Arrays and numbers of NumPy are taken, and so are paths and ranges."""
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, str):
        return _string(given)
    if isinstance(given, int):
        return int.__repr__(given)
    if isinstance(given, float):
        # Numbers of NumPy are floats with another way to write them.
        return float.__repr__(given)
    if isinstance(given, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {value(inner)}" for key, inner in given.items()) + "}"
    if isinstance(given, os.PathLike):
        return _string(path_text(given))
    if hasattr(given, "tolist"):
        return value(given.tolist())
    if isinstance(given, (list, tuple, range)):
        return "[" + ", ".join(value(inner) for inner in given) + "]"
    # Networks are told by their names, as they import this.
    if type(given).__name__ == "Network":
        raise InputError(f"found {given!r}; expected its text, such as `mesh:16x16`, or a file, as `Network.save` writes one")
    raise InputError(f"found {given!r}; expected a number, a string, a flag, a list or a dictionary")


def _value_of(key: str, given: Any) -> str:
    """The value of a setting, whose name errors begin with."""
    try:
        return value(given)
    except InputError as error:
        raise InputError(f"{key}: {error}") from None


def _put(tree: dict[str, Any], key: object, given: Any) -> None:
    """Puts a value where its dotted name says; the later one counts."""
    if not isinstance(key, str):
        raise InputError(f"the name of a setting is a string; found {key!r}")
    first, _, rest = key.partition(".")
    if rest:
        inner = tree.get(first)
        if not isinstance(inner, dict):
            inner = tree[first] = {}
        _put(inner, rest, given)
    elif isinstance(given, Mapping):
        inner = tree.get(first)
        if not isinstance(inner, dict):
            inner = tree[first] = {}
        for name, value in given.items():
            _put(inner, name, value)
    else:
        tree[first] = given


def _lines(settings: Mapping[str, Any], path: str) -> Iterator[str]:
    for key, inner in settings.items():
        own = path + _key(key)
        if isinstance(inner, Mapping) and inner:
            yield from _lines(inner, own + ".")
        elif inner is None:
            raise InputError(f"{own}: found None; give it a value, or leave it out")
        else:
            yield f"{own} = {_value_of(own, inner)}"


def document(settings: Mapping[str, Any]) -> str:
    """Settings as a TOML document, a line each."""
    tree: dict[str, Any] = {}
    for key, given in settings.items():
        _put(tree, key, given)
    return "".join(line + "\n" for line in _lines(tree, ""))


#: The tables of a file whose settings a nested dictionary replaces one by one. Other tables are values, such as ``{"uniform": [10, 40]}``.
_TABLES = {
    "faults", "options", "plot", "run", "stop", "switching", "timing",
    "traffic", "traffic.arrivals", "traffic.multicast", "traffic.unicast",
}  # fmt: skip


def _parts(given: Mapping[str, Any], path: str, table: str) -> Iterator[tuple[str, Any]]:
    """The settings of a table and of those in it, by their paths; ``table`` is its path in its version of the experiment."""
    for key, inner in given.items():
        own = f"{path}{_key(key)}"
        if not isinstance(inner, Mapping) or (table, key, len(inner)) == ("", "sweep", 0):
            yield own, inner
        elif table == "sweep":
            is_range = bool({"from", "to"} & inner.keys())
            yield from [(own, inner)] if is_range else _parts(inner, f"{own}.", "sweep")
        elif table in ("variation", "with") or (table, key) == ("", "quick"):
            yield from _parts(inner, f"{own}.", "")
        elif (table, key) in [("", "sweep"), ("", "variation"), ("", "with")]:
            yield from _parts(inner, f"{own}.", key)
        elif (within := f"{table}.{key}".lstrip(".")) in _TABLES and "." not in key:
            yield from _parts(inner, f"{own}.", within)
        else:
            yield own, inner


def assignments(settings: Mapping[str, Any]) -> list[str]:
    """Settings beside a file, as ``--set`` takes them."""
    each: dict[str, Any] = {}
    for key, given in settings.items():
        own = dict(_parts({key: given}, "", ""))
        if twice := each.keys() & own:
            raise InputError(f"settings: `{min(twice)}` is given twice")
        each |= own
    return [f"{key}={_value_of(key, given)}" for key, given in each.items()]
