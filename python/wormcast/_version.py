"""What this program is, and what it knows by name."""

from wormcast import _native

_version, _revision, _model = _native.version()

#: The version, with the commit behind a ``+`` if that is known.
__version__: str = f"{_version}+{_revision.replace(' ', '.')}" if _revision else _version

#: The version of the rules of simulation, which results depend on.
MODEL_VERSION: int = _model


def algorithms() -> dict[str, str]:
    """The names of all multicast algorithms, each with what it does in a line; those that are written in Python come last."""
    return dict(_native.algorithms())


def routings() -> dict[str, str]:
    """The names of all routings, each with what it does in a line."""
    return dict(_native.routings())
