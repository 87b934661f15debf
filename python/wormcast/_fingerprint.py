"""What Python code does, as bytes that are the same in every process: what stored results of an algorithm are told apart by."""

from __future__ import annotations

import dataclasses
import dis
import functools
import importlib
import importlib.util
import os
import re
import site
import sys
import sysconfig
import types
from collections.abc import Iterable

from wormcast import _native

_LIBRARIES = tuple(
    os.path.join(os.path.realpath(path), "")
    for path in {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        site.getusersitepackages(),
        os.path.dirname(__file__),
    }
)


def fingerprint(what: object) -> bytes:
    """What a function or another callable depends on, as far as that can be told.

    That is its code and that of functions within it, its defaults, what it closes over or is bound to, and whatever of its module it names: functions and classes
    with their own code, constants, and what it names in modules of the user's own, wherever these are met: named, imported in the function, closed over, or
    within something else. Of installed libraries, the name counts alone.

    Raises:
        InputError: If it closes over something, or names it, of which nothing can be told, such as an open file.
    """
    try:
        return _Walk({}, _Met()).everything(what)
    except RecursionError as problem:
        raise _native.InputError(f"revision: {what!r} depends on something that is nested too deeply: {_REMEDY}") from problem


#: What classes have besides what is written in them.
_OF_CLASSES = ("__dict__", "__weakref__", "__slotnames__", "__module__", "__doc__", "__static_attributes__", "__firstlineno__", "_abc_impl")
_REMEDY = "give a `revision`, and raise it with every change"


#: What every module has, and no code depends on.
_OF_MODULES = {*vars(types.ModuleType("")), "__builtins__", "__cached__", "__file__", "__path__"}


@dataclasses.dataclass
class _Met:
    """Modules of the user's own, and the names that code has met: what it names in them is known when all of it has been seen."""

    modules: dict[str, types.ModuleType] = dataclasses.field(default_factory=dict)
    names: set[str] = dataclasses.field(default_factory=set)

    def code(self, code: types.CodeType, package: str | None) -> None:
        """Takes in the names of code that is in a module of the user's own, and the modules that it imports itself."""
        self.names.update(code.co_names)
        module, loaded = None, [0, 0]
        for instruction in dis.get_instructions(code):
            match instruction.opname:
                case "IMPORT_NAME":
                    # Before the names that are taken from it, the number of its dots.
                    module = self._imported("." * loaded[-2] + instruction.argval, package)
                case "IMPORT_FROM" if module is not None and not hasattr(module, instruction.argval):
                    self._imported(f"{module.__name__}.{instruction.argval}", None)
                case load if load.startswith("LOAD_"):
                    loaded.append(instruction.argval)

    def _imported(self, name: str, package: str | None) -> types.ModuleType | None:
        module = None
        try:
            parts = importlib.util.resolve_name(name, package).split(".")
            for end in range(1, len(parts) + 1):
                spec = importlib.util.find_spec(".".join(parts[:end]))
                # Of a library, nothing is imported.
                if spec is None or _is_library(spec.name, _place(spec.origin if spec.has_location else None, spec.submodule_search_locations)):
                    return None
                module = importlib.import_module(spec.name)
                self.modules[module.__name__] = module
        except (ModuleNotFoundError, ValueError):
            # Where it is wanted, it fails in the same way.
            return None
        except Exception as problem:
            # Such as one that imports the algorithm's own module in turn.
            raise _native.InputError(f"revision: `{name}`, which the algorithm imports, cannot be imported yet ({problem}): {_REMEDY}") from problem
        return module


_LOADS_GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}


class _Walk:
    def __init__(self, met: dict[int, int], around: _Met) -> None:
        # Places of what has been met, by identity; and the objects themselves, so that no identity is used twice.
        self._met = dict(met)
        self._kept: list[object] = []
        self._around = around

    def everything(self, what: object) -> bytes:
        """All that it depends on: itself, and what its code names in modules that were met on the way."""
        found = [self.of(what)]
        done: set[tuple[str, str]] = set()
        around = self._around
        while left := sorted(
            (module, name)
            for module, it in around.modules.items()
            for name in around.names - _OF_MODULES
            if (module, name) not in done and hasattr(it, name)
        ):
            done.update(left)
            found.extend(_joined(f"{module}.{name}", self.of(getattr(around.modules[module], name))) for module, name in left)
        return _joined("everything", *found)

    def of(self, what: object) -> bytes:
        if isinstance(what, int):
            return _joined(type(what).__name__, hex(what).encode())
        if what is None or what is Ellipsis or isinstance(what, (float, complex, str, bytes)):
            return _joined(type(what).__name__, repr(what).encode())
        if id(what) in self._met:
            return _joined("again", str(self._met[id(what)]).encode())
        if not isinstance(what, (tuple, frozenset)):
            # Of equal constants, some are the same object in one process and not in the next.
            self._met[id(what)] = len(self._met)
        self._kept.append(what)
        return self._parts(what)

    def _parts(self, what: object) -> bytes:
        if isinstance(what, (set, frozenset)):
            # Their order is another one in each process, so members are told apart by themselves alone.
            return _joined(type(what).__name__, *sorted(_Walk(self._met, self._around).of(member) for member in what))
        if isinstance(what, (list, tuple)) and type(what) in (list, tuple):
            return _joined(type(what).__name__, *map(self.of, what))
        if type(what) is dict:
            return _joined("dict", *(self.of(part) for item in what.items() for part in item))
        if isinstance(what, types.CodeType):
            rest = [what.co_code, repr(what.co_names).encode(), getattr(what, "co_exceptiontable", b"")]
            return _joined("code", *rest, *map(self.of, what.co_consts))
        if isinstance(what, types.FunctionType):
            return self._function(what)
        if isinstance(what, types.MethodType):
            return _joined("method", self.of(what.__func__), self.of(what.__self__))
        if isinstance(what, functools.partial):
            return _joined("partial", self.of(what.func), self.of(what.args), self.of(what.keywords))
        if isinstance(what, (staticmethod, classmethod)):
            return _joined(type(what).__name__, self.of(what.__func__))
        if isinstance(what, property):
            return _joined("property", self.of(what.fget), self.of(what.fset))
        if isinstance(what, (types.MappingProxyType, memoryview)):
            return _joined(type(what).__name__, self.of(dict(what) if isinstance(what, types.MappingProxyType) else what.tobytes()))
        if isinstance(what, re.Pattern):
            return _joined("pattern", self.of((what.pattern, what.flags)))
        if isinstance(what, types.ModuleType):
            if not _is_library(what.__name__, _place(getattr(what, "__file__", None), getattr(what, "__path__", None))):
                self._around.modules[what.__name__] = what
            return _joined("module", what.__name__.encode())
        if isinstance(what, type):
            return self._class(what)
        if hasattr(what, "__wrapped__") and _of_library(type(what)):
            return _joined("wrapped", self.of(what.__wrapped__))
        if isinstance(what, types.BuiltinFunctionType):
            bound = what.__self__
            return _joined("built-in", what.__qualname__.encode(), b"" if bound is None else self.of(bound))
        return self._object(what)

    def _function(self, function: types.FunctionType) -> bytes:
        around = function.__globals__
        if _is_library(around.get("__name__"), around.get("__file__")):
            return _joined("library", _name(function))
        closed = [self.of(_content(cell)) for cell in function.__closure__ or ()]
        codes = list(_codes(function.__code__))
        for code in codes:
            self._around.code(code, around.get("__package__"))
        # Not attributes that are called as a global is: of a function that was sent by its value, only globals that it loads are there.
        names = sorted({one.argval for code in codes for one in dis.get_instructions(code) if one.opname in _LOADS_GLOBALS})
        named = [self.of(around[name]) for name in names if name in around]
        defaults = [self.of(function.__defaults__), self.of(function.__kwdefaults__)]
        return _joined("function", self.of(function.__code__), *defaults, _joined("closed", *closed), *named)

    def _class(self, kind: type) -> bytes:
        if _of_library(kind):
            return _joined("library", _name(kind))
        members = [
            _joined(name, self.of(member))
            for name, member in sorted(vars(kind).items())
            if name not in _OF_CLASSES and not isinstance(member, (types.MemberDescriptorType, types.GetSetDescriptorType))
        ]
        return _joined("class", _name(kind), *map(self.of, kind.__bases__), *members)

    def _object(self, what: object) -> bytes:
        try:
            # What pickle would make it of, without the names under which pickle finds code.
            reduced = what.__reduce_ex__(4)
        except Exception as problem:
            raise _native.InputError(
                f"revision: results may depend on {what!r}, whose value cannot be told: {_REMEDY}"
            ) from problem
        if isinstance(reduced, str):
            return _joined("named", reduced.encode())
        # The fourth and the fifth are iterators.
        parts = [*reduced[:3], *(None if part is None else list(part) for part in reduced[3:5])]
        return _joined("object", self.of(type(what)), *map(self.of, parts))


def _joined(kind: str, *parts: bytes) -> bytes:
    return b"%s(%d:%s)" % (kind.encode(), len(parts), b"".join(b"%d:%s" % (len(part), part) for part in parts))


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # Nothing has been assigned yet.


def _codes(code: types.CodeType) -> Iterable[types.CodeType]:
    """Code, and that of functions within it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _codes(part)


def _place(file: str | None, folders: Iterable[str] | None) -> str | None:
    """Where a module is; packages that are mere folders have no file."""
    return file if file is not None else next((os.path.join(folder, "") for folder in folders or ()), None)


def _of_library(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return _is_library(kind.__module__, getattr(module, "__file__", None))


def _name(what: type | types.FunctionType) -> bytes:
    # Spawned workers call the script so.
    module = "__main__" if what.__module__ == "__mp_main__" else what.__module__
    return f"{module}.{what.__qualname__}".encode()


@functools.cache
def _is_library(module: str | None, file: str | None) -> bool:
    """Whether a module is part of Python or installed, and not the user's own. A notebook, and what is typed in, has no file."""
    if file is None:
        return module not in ("__main__", "__mp_main__", None)
    return os.path.realpath(file).startswith(_LIBRARIES)
