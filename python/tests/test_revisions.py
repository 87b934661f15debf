"""What the revision of an algorithm sees: every change of what the function does, and nothing else."""

import pathlib
import subprocess
import sys

import pytest

import wormcast as wc

START = """
import abc, collections, dataclasses, functools, itertools, logging, random, re, sys, types
import helper
import wormcast as wc

LOG = logging.getLogger("x")
LIMIT = 3
TABLE = {"a": [1, 2], "b": {"x", "y", "z"}}
PATTERN = re.compile("[0-4]")
PROXY = types.MappingProxyType({"least": 1})
COUNT = itertools.count(3)

class Base(abc.ABC):
    @abc.abstractmethod
    def of(self, node): ...

class Slotted(Base):
    __slots__ = ("weight",)
    def __init__(self):
        self.weight = 5
    def of(self, node):
        return node * self.weight

SLOTTED = Slotted()

def distance(a, b):
    return abs(a - b) * 1

def decorate(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)
    return inner

@dataclasses.dataclass
class Chain:
    step: int = 1
    def __call__(self, network, source, destinations):
        return [[node] for node in sorted(destinations, key=lambda node: distance(node, source) * self.step)]
    def plan(self, network, source, destinations):
        return self(network, source, destinations)

def plain(network, source, destinations):
    LOG.debug("planned")
    return [[node] for node in destinations if str(network) not in {"alpha", "beta", "gamma"}]

def nested(network, source, destinations):
    return [[node] for node in sorted(destinations, key=lambda node: distance(source, node))]

def constant(network, source, destinations):
    return [[node] for node in destinations[:LIMIT]]

def pattern(network, source, destinations):
    return [[node] for node in destinations if PATTERN.match(str(node))]

def proxy(network, source, destinations):
    return [[node] for node in destinations if node >= PROXY["least"]]

def counted(network, source, destinations):
    return [[node] for node in destinations if node >= next(COUNT)]

def slotted(network, source, destinations):
    return [[node] for node in sorted(destinations, key=SLOTTED.of)]

def table(network, source, destinations):
    return [[node] for node in destinations if node in TABLE["a"]]

def helped(network, source, destinations):
    return [[node] for node in sorted(destinations, key=helper.key)]

def keyword(network, source, destinations, *, least=0):
    return [[node] for node in destinations if node >= least]

def closing(numbers):
    return lambda network, source, destinations: [[node] for node in destinations if node in numbers]

def recursive(network, source, destinations):
    return [[destinations[0]], *recursive(network, source, destinations[1:])] if destinations else []

FUNCTIONS = {
    "plain": plain, "pattern": pattern, "proxy": proxy, "counted": counted, "slotted": slotted, "nested": nested, "constant": constant, "table": table, "helped": helped, "keyword": keyword, "recursive": recursive,
    "partial": functools.partial(keyword, least=1), "cached": functools.cache(nested), "decorated": decorate(nested), "object": Chain(),
    "method": Chain(step=2).plan, "closing": closing([1, 2, 3]), "closing over a set": closing({"one", "two", "three"}),
    "closing over more": closing(collections.deque([random.Random(1), Chain(3), wc.Network("mesh:3x3")])),
}
for name, function in FUNCTIONS.items():
    made = wc.algorithm("py-revised", routing="e-cube", promise="unicasts")(function)
    print(name, made.revision, sep="=")
"""

HELPER = "def key(node):\n    return node + 1\n"


def revisions(folder: pathlib.Path, text: str = START, helper: str = HELPER, seed: int = 0) -> dict[str, str]:
    """The revisions of the functions, in a process of their own."""
    (folder / "functions.py").write_text(text)
    (folder / "helper.py").write_text(helper)
    command = [sys.executable, "-B", "functions.py"]
    run = subprocess.run(command, cwd=folder, env={"PYTHONHASHSEED": str(seed)}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = dict(line.split("=") for line in run.stdout.splitlines())
    assert len(found) == 19
    return found


def test_revisions_are_the_same_in_every_process(tmp_path):
    first = revisions(tmp_path)
    assert len(set(first.values())) == len(first)
    assert [revisions(tmp_path, seed=seed) for seed in (1, 2)] == [first, first]


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("abs(a - b) * 1", "abs(a - b) * -1", ["nested", "cached", "decorated", "object", "method", "closing over more"]),
        ("LIMIT = 3", "LIMIT = 4", ["constant"]),
        ('"[0-4]"', '"[0-5]"', ["pattern"]),
        ('"least": 1', '"least": 2', ["proxy"]),
        ("count(3)", "count(4)", ["counted"]),
        ("self.weight = 5", "self.weight = 6", ["slotted"]),
        ("node * self.weight", "node + self.weight", ["slotted"]),
        ('"a": [1, 2]', '"a": [1, 3]', ["table"]),
        ('{"x", "y", "z"}', '{"x", "y"}', ["table"]),
        ("least=0", "least=2", ["keyword", "partial"]),
        ("least=1", "least=3", ["partial"]),
        ("* self.step", "+ self.step", ["object", "method", "closing over more"]),
        ("Chain(step=2)", "Chain(step=4)", ["method"]),
        ("closing([1, 2, 3])", "closing([1, 2, 4])", ["closing"]),
        ('"one", "two"', '"one", "zwei"', ["closing over a set"]),
        ("random.Random(1)", "random.Random(2)", ["closing over more"]),
        ('Network("mesh:3x3")', 'Network("mesh:3x4")', ["closing over more"]),
        ('"alpha", "beta"', '"alpha", "b"', ["plain"]),
        ("destinations[1:])", "destinations[2:])", ["recursive"]),
        ("        return function(*args)", "        return function(*args)[:1]", ["decorated"]),
        ('"planned"', '"planned anew"', ["plain"]),
    ],
)
def test_what_changes_what_a_function_does_changes_its_revision(tmp_path, before, after, changed):
    assert START.count(before) == 1
    first, then = revisions(tmp_path), revisions(tmp_path, START.replace(before, after))
    assert [name for name in first if first[name] != then[name]] == changed


def test_other_modules_of_the_users_own_count(tmp_path):
    first, then = revisions(tmp_path), revisions(tmp_path, helper=HELPER.replace("+ 1", "- 1"))
    assert [name for name in first if first[name] != then[name]] == ["helped"]


WRAP = """
import functools
class Wrap:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function
    def __call__(self, *given):
        return self.function(*given)[:AMOUNT]
"""


@pytest.mark.parametrize(
    ("made", "files"),
    [
        ("import package.part\ndef plan(n, s, d):\n    return [[d[0]]] * package.part.AMOUNT", {"package/__init__.py": "", "package/part.py": "AMOUNT = 1"}),
        ("import folder.part\ndef plan(n, s, d):\n    return [[d[0]]] * folder.part.AMOUNT", {"folder/part.py": "AMOUNT = 1"}),
        ("def plan(n, s, d):\n    import other\n    return other.worms(d)", {"other.py": "def worms(d):\n    return [[d[0]]] * 1"}),
        ("def plan(n, s, d):\n    from other import worms\n    return worms(d)", {"other.py": "def worms(d):\n    return [[d[0]]] * 1"}),
        (
            "from package.planning import plan",
            {
                "package/__init__.py": "",
                "package/planning.py": "def plan(n, s, d):\n    from .deep import part\n    return part.worms(d)",
                "package/deep/__init__.py": "",
                "package/deep/part.py": "from .. import amount\ndef worms(d):\n    return [[d[0]]] * amount.AMOUNT",
                "package/amount.py": "AMOUNT = 1",
            },
        ),
        ("def make():\n    import other\n    return lambda n, s, d: other.worms(d)\nplan = make()", {"other.py": "def worms(d):\n    return [[d[0]]] * 1"}),
        ("import other\nTABLE = {'x': other}\ndef plan(n, s, d):\n    return TABLE['x'].worms(d)", {"other.py": "def worms(d):\n    return [[d[0]]] * 1"}),
        ("import middle\ndef plan(n, s, d):\n    return middle.other.worms(d)", {"middle.py": "import other", "other.py": "def worms(d):\n    return [[d[0]]] * 1"}),
        ("from wrap import Wrap\n@Wrap\ndef plan(n, s, d):\n    return [[d[0]]]", {"wrap.py": WRAP.replace("AMOUNT", "1")}),
        ("def plan(n, s, d):\n    import json, missing_module\n    return [[d[0]]] * 1", {}),
    ],
)
def test_modules_count_wherever_they_are_met(tmp_path, made, files):
    def revision(change, seed):
        text = f"import wormcast as wc\n{made}\nprint(wc.algorithm('py-met', routing='e-cube')(plan).revision)\n"
        for name, content in {**files, "script.py": text}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(change(content))
        command = [sys.executable, "-B", "script.py"]
        run = subprocess.run(command, cwd=tmp_path, env={"PYTHONHASHSEED": str(seed)}, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        return run.stdout

    first = revision(lambda text: text, 0)
    changed = revision(lambda text: text.replace("AMOUNT = 1", "AMOUNT = 2").replace("* 1", "* 2").replace("[:1]", "[:2]"), 0)
    commented = revision(lambda text: text + "\n# A comment.\nUNUSED = 3\n", 1)
    assert changed != first == commented


def test_a_module_that_cannot_be_imported_yet_asks_for_a_revision(tmp_path, monkeypatch):
    (tmp_path / "py_broken.py").write_text("raise ImportError('not yet')\n")
    monkeypatch.syspath_prepend(tmp_path)

    def plan(network, source, destinations):
        import py_broken

        return py_broken.worms(destinations)

    with pytest.raises(wc.InputError, match=r"revision: `py_broken`, which the algorithm imports, cannot be imported yet \(not yet\): give a `revision`"):
        wc.algorithm("py-broken", routing="e-cube")(plan)
    assert wc.algorithm("py-broken", routing="e-cube", revision=1)(plan).revision == 1


def test_what_cannot_be_told_asks_for_a_revision(tmp_path):
    with (tmp_path / "open").open("w") as file:

        def plan(network, source, destinations):
            return [[node] for node in destinations if file]

        def naming(network, source, destinations):
            return [[node] for node in destinations if OPEN]

        for function in (plan, naming):
            globals()["OPEN"] = file
            with pytest.raises(wc.InputError, match="revision: results may depend on .*: give a `revision`"):
                wc.algorithm("py-open", routing="e-cube")(function)
        assert wc.algorithm("py-open", routing="e-cube", revision=7)(plan).revision == 7
