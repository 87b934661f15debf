"""Multicast algorithms that are written in Python."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import operator
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from wormcast import _native
from wormcast._fingerprint import fingerprint
from wormcast._network import Network
from wormcast._nodes import Node, whole

Channel = tuple[int, int]
_BoundRule = Callable[[Channel, Channel], bool]
_Given = tuple[int, int | None, Channel | None, list[int], list[tuple[Channel, int | None, list[int]]] | None]


@dataclass(frozen=True)
class Worm:
    """A worm: who sends it, and which nodes it visits.

    A path worm follows the algorithm's routing from stop to stop and delivers at each; a tree worm takes the channels of its branches.
    """

    stops: Sequence[Node] = ()
    """The nodes that it delivers to, in order; of a tree, those at its sender's router."""
    sender: Node | None = None
    """The node that sends it; by default the source."""
    after: int | None = None
    """The position in the plan of the worm, an earlier one, whose delivery at ``sender`` lets this one start."""
    exit: Channel | None = None
    """The channel that a path takes first, by the routers at its ends; by default the routing decides."""
    branches: Sequence[tuple[Channel, int | None, Sequence[Node]]] | None = None
    """The channels of a tree, each by the routers at its ends; with the position of the branch before it, or ``None`` at the sender's router; and with the nodes that it
    delivers to at its end."""


#: What plans on a network, and the rules that its worms obey.
_Bound = tuple[Callable[[int, list[int]], list[_Given]], _BoundRule | None, _BoundRule | None]
#: A worm, or just its stops.
WormLike = Worm | Sequence[Node]
#: From a network, a source and destinations to worms.
Planner = Callable[[Network, int, list[int]], Iterable[WormLike]]
#: From a network, the channel that a worm came by and the one that it leaves by, to whether it may.
Rule = Callable[[Network, Channel, Channel], bool]


def _nodes(network: Network, nodes: Iterable[Node]) -> list[int]:
    """The numbers of nodes, which they are in most plans already."""
    try:
        listed = list(nodes)
    except TypeError:
        raise _native.InputError(f"found {nodes!r}; expected a list of nodes") from None
    if set(map(type, listed)) <= {int}:
        numbers = cast("list[int]", listed)
        if min(numbers, default=0) >= 0:
            return numbers
    return [network.node(node) for node in listed]


def _channel(name: str, channel: Channel) -> Channel:
    try:
        start, end = map(operator.index, channel)
    except (TypeError, ValueError):
        raise _native.InputError(f"{name}: found {channel!r}; expected a channel, by the numbers of the routers at its ends") from None
    if min(start, end) < 0:
        raise _native.InputError(f"{name}: found {channel!r}; there is no router below 0")
    return start, end


def _branch(network: Network, position: int, branch: object) -> tuple[Channel, int | None, list[int]]:
    name = f"branch {position}"
    if not isinstance(branch, Sequence) or isinstance(branch, str) or len(branch) != 3:
        expected = "expected a channel, the position of the branch before it or None, and the nodes that it delivers to"
        raise _native.InputError(f"{name}: found {branch!r}; {expected}")
    channel, parent, delivers = branch
    return _channel(name, channel), whole(f"{name}, its parent", parent, 0, 2**32 - 1), _nodes(network, delivers)


def _given(network: Network, worm: WormLike, source: int) -> _Given:
    if not isinstance(worm, Worm):
        return (source, None, None, _nodes(network, worm), None)
    sender = source if worm.sender is None else network.node(worm.sender)
    after = whole("after", worm.after, 0, 2**32 - 1)
    exit = None if worm.exit is None else _channel("exit", worm.exit)
    branches = None
    if worm.branches is not None:
        branches = [_branch(network, position, branch) for position, branch in enumerate(worm.branches)]
    return (sender, after, exit, _nodes(network, worm.stops), branches)


def _plan(network: Network, worms: Iterable[WormLike], source: int) -> list[_Given]:
    if not isinstance(worms, Iterable):
        raise _native.InputError(f"found {worms!r} as a plan; expected a list of worms")
    given = []
    for position, worm in enumerate(worms):
        try:
            given.append(_given(network, worm, source))
        except (TypeError, ValueError) as problem:
            if isinstance(worm, Worm) and isinstance(problem, _native.InputError):
                raise _native.InputError(f"worm {position}: {problem}") from problem
            expected = "expected a `Worm`, or the list of the nodes that it visits"
            reason = f": {problem}" if isinstance(problem, _native.InputError) else ""
            raise _native.InputError(f"worm {position} is {worm!r}; {expected}{reason}") from problem
    return given


@dataclass(frozen=True)
class Algorithm:
    """A multicast algorithm that is written in Python. Made by :func:`algorithm`.

    Calling it calls the function that it was made of.
    """

    function: Planner
    name: str
    routing: str
    promise: Literal["unicasts", "stops", "trees", "rule"]
    may_turn: Rule | None
    may_stop: Rule | None
    about: str
    revision: int
    derived: bool = False
    """Whether the revision was made of the code."""

    def __call__(self, network: Network, source: int, destinations: list[int]) -> Iterable[WormLike]:
        return self.function(network, source, destinations)

    def has_changed(self) -> bool:
        """Whether what the revision was made of is another here and now."""
        return self.derived and _revision(self) != self.revision

    def check(self) -> None:
        """Checks that what the revision was made of is what it was: results would be stored under a wrong one.

        Raises:
            InputError: If a function, a class or a constant that it depends on has changed since it was defined.
        """
        if self.has_changed():
            raise _native.InputError(
                f"something that `{self.name}` depends on has changed since it was defined, such as a function, a constant or a cache: define it again, or give it a "
                "`revision`"
            )

    def register(self) -> None:
        """Makes it known by its name in this process. One of the same name that was written in Python gives way: at once, or when nothing runs with it any more.

        Raises:
            InputError: If the name is that of a built-in algorithm, or no name.
        """
        with _changed:
            use = _uses.get(self.name)
            if use is None or use.algorithm.is_like(self):
                self._put_up()
            else:
                use.next = self

    def is_like(self, other: Algorithm) -> bool:
        """Whether both have the same name and do the same, as far as that can be told."""
        if self is other or (self.name, self.revision, self.derived) != (other.name, other.revision, other.derived):
            return self is other
        if self.derived:
            return True
        # Who gives a revision does not say by it that all functions that have it are one.
        try:
            return _revision(self) == _revision(other)
        except _native.InputError:
            return False

    def _put_up(self) -> None:
        if _registered.get(self.name) is self:
            return

        def bind(native: _native.Network) -> _Bound:
            network = Network._of(native)
            function, may_turn, may_stop = self.function, self.may_turn, self.may_stop

            def plan(source: int, destinations: list[int]) -> list[_Given]:
                return _plan(network, function(network, source, destinations), source)

            def rule(asked: Rule | None) -> _BoundRule | None:
                return None if asked is None else lambda arriving, leaving: asked(network, arriving, leaving)

            return plan, rule(may_turn), rule(may_stop)

        _native.register(self.name, self.revision, self.about, self.routing, self.promise, bind)
        _registered[self.name] = self


#: Those that are known by their names.
_registered: dict[str, Algorithm] = {}


@dataclass
class _Use:
    """What runs with an algorithm: it stays the one of its name for so long."""

    algorithm: Algorithm
    #: By which threads, each as often as it runs with it; and whether any of them waits for workers.
    threads: list[int]
    coordinates: bool = False
    #: What has been defined under this name meanwhile.
    next: Algorithm | None = None


_uses: dict[str, _Use] = {}
#: Whenever a use ends.
_changed = threading.Condition(threading.RLock())


@contextlib.contextmanager
def in_use(algorithms: Sequence[Algorithm], coordinates: bool = False, is_worker: bool = False) -> Iterator[None]:
    """Within it, these algorithms are known by their names. Waits for what runs with others of these names, since names are those of the process.

    Raises:
        InputError: If it is within what it would have to wait for.
    """
    mine = threading.get_ident()
    with _changed:
        while others := [use for own in algorithms if (use := _uses.get(own.name)) is not None and not use.algorithm.is_like(own)]:
            if any(mine in use.threads or (is_worker and use.coordinates) for use in others):
                raise _native.InputError(f"two algorithms are called `{others[0].algorithm.name}`, and one is needed by what runs the other: give each a name of its own")
            _changed.wait()
        for own in algorithms:
            use = _uses.setdefault(own.name, _Use(own, []))
            use.algorithm._put_up()
            use.threads.append(mine)
            use.coordinates |= coordinates
    try:
        yield
    finally:
        with _changed:
            for own in algorithms:
                use = _uses[own.name]
                use.threads.remove(mine)
                if not use.threads:
                    del _uses[own.name]
                    if use.next is not None:
                        use.next._put_up()
            _changed.notify_all()


def _revision(of: Algorithm) -> int:
    parts = map(fingerprint, (of.function, of.may_turn, of.may_stop))
    digest = hashlib.sha256(b"||".join([of.routing.encode(), of.promise.encode(), *parts])).digest()
    return int.from_bytes(digest[:4], "big") | 1


def _anywhere(network: Network, arriving: Channel, leaving: Channel) -> bool:
    """A worm may deliver wherever it gets."""
    return True


def _check_rule(name: str, rule: object) -> None:
    """Checks that it can be asked of two channels, as far as that can be told before it is."""
    expected = f"expected a function of the network and two channels, {name}(network, arriving, leaving)"
    if rule is None:
        return
    if not callable(rule):
        raise _native.InputError(f"{name}: found {rule!r}; {expected}")
    try:
        inspect.signature(rule).bind(None, (0, 1), (1, 2))
    except TypeError:
        raise _native.InputError(f"{name}: it does not take three arguments; {expected}") from None
    except ValueError:
        # Functions of other languages do not always say what they take.
        return


def algorithm(
    name: str,
    *,
    routing: str,
    promise: Literal["unicasts", "stops", "trees"] | None = None,
    may_turn: Rule | None = None,
    may_stop: Rule | None = None,
    about: str | None = None,
    revision: int | None = None,
) -> Callable[[Planner], Algorithm]:
    """Makes a multicast algorithm of a function from a network, a source and a list of destinations to worms.

    Every plan is checked as those of Rust are: each destination gets the message exactly once, the routing has a route from stop to stop, and no worm
    does what the algorithm does not promise. The promise is what :func:`analyse` checks for deadlock, whatever is sent.

    Args:
        name: Its name: lower-case letters, digits and hyphens.
        routing: The routing of its path worms, from stop to stop.
        promise: ``"unicasts"``: worms stop once. ``"stops"``, the default: they go as unicasts of the routing do, and may deliver anywhere on the way.
            ``"trees"``: they are trees over the turns that the routing permits, such as ``"turn-prohibition"``.
        may_turn: In the place of a promise: a function of the network and two channels, ``may_turn(network, arriving, leaving)``, that says whether a worm that came by
            the one may leave by the other. A channel is the pair of the routers at its ends.
        may_stop: With it: a function of the same, whether such a worm may also deliver in between. Default: it may.
        about: What it does, in a line; by default the first line of the function's documentation.
        revision: What stored results are told apart by: raise it with every change. By default it is made of the function's code, of what it closes over or is bound
            to, and of what it names in its module and in others of your own: functions, classes, constants. Give one if results depend on more, such as files.

    Raises:
        InputError: If the name is that of a built-in algorithm or no name, or there is no such routing; or if nothing can be told of something that the function
            closes over, and no revision is given.

    >>> import wormcast as wc
    >>> @wc.algorithm("one-by-one", routing="e-cube", promise="unicasts")
    ... def one_by_one(network, source, destinations):
    ...     return [[node] for node in destinations]
    >>> wc.Network("mesh:4x4").plan("one-by-one", 0, [3, 5]).startups
    2
    """
    if may_turn is not None and promise is not None:
        raise _native.InputError("promise: `may_turn` is one: give one of the two")
    if may_stop is not None and may_turn is None:
        raise _native.InputError("may_stop: give `may_turn`, too")

    _check_rule("may_turn", may_turn)
    _check_rule("may_stop", may_stop)
    whole("revision", revision, 1, 2**32 - 1)
    if not isinstance(name, str):
        raise _native.InputError(f"name: found {name!r}; expected lower-case letters, digits and hyphens")
    if promise not in (None, "unicasts", "stops", "trees"):
        functions = callable(promise) or (isinstance(promise, (tuple, list)) and any(map(callable, promise)))
        rules = " (functions are given as `may_turn=` and `may_stop=`, without `promise`)" if functions else ""
        raise _native.InputError(f"promise: found {promise!r}; expected `unicasts`, `stops` or `trees`{rules}")
    if not isinstance(routing, str):
        raise _native.InputError(f"routing: found {routing!r}; expected the name of a routing, such as `e-cube`")

    def make(function: Planner) -> Algorithm:
        if not callable(function):
            raise _native.InputError(f"found {function!r}; expected a function of a network, a source and destinations")
        kept = promise or ("rule" if may_turn is not None else "stops")
        stops = may_stop if may_stop is not None or may_turn is None else _anywhere
        text = about if about is not None else (inspect.getdoc(function) or "").partition("\n")[0]
        made = Algorithm(function, name, routing, kept, may_turn, stops, text, revision or 0, revision is None)
        if revision is None:
            made = replace(made, revision=_revision(made))
        made.register()
        # The name of the function is now that of the algorithm, through which pickle finds it.
        if isinstance(function, types.FunctionType):
            function.__qualname__ += ".function"
        return made

    return make
