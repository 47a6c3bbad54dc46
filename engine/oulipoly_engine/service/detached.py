"""The names by which hosts of the version before the facade record ends: a host outlives the upgrade under it.

To be deleted when no terminal of that version can live any more.
"""

from __future__ import annotations

from importlib import import_module


def __getattr__(name: str) -> object:
    """Return the function of `facade.detached`, which a service must not import."""
    if name in ("ended", "look", "after"):
        return getattr(import_module("oulipoly_engine.facade.runs.detached"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
