"""The names by which hosts of the version before the facade record ends: a host outlives the upgrade under it.

To be deleted when no terminal of that version can live any more.
"""

from __future__ import annotations

import sys
from importlib import import_module

_PACKAGE = "oulipoly_engine"


def __getattr__(name: str) -> object:
    """Return the function of `facade.runs.detached`, which a service must not import."""
    if name in ("ended", "look", "after"):
        _forget_former_modules()
        return getattr(import_module(f"{_PACKAGE}.facade.runs.detached"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _forget_former_modules() -> None:
    """Let what is imported from now on come from the files of today; what runs already keeps its own modules.

    In a host of the former version `terminal.host` is a module, of which nothing could be imported.
    """
    host = sys.modules.get(f"{_PACKAGE}.terminal.host")
    if host is not None and not hasattr(host, "__path__"):
        for name in [each for each in sys.modules if each.startswith(f"{_PACKAGE}.") and each != __name__]:
            del sys.modules[name]
