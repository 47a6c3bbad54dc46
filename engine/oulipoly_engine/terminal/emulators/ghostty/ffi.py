"""Load libghostty-vt. No other module opens the library, and only this package calls it.

The package pyghostty itself is never imported: parsing its declarations costs 155 ms a start, `ghostty_abi` 10.
"""

from __future__ import annotations

import importlib.util
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from oulipoly_engine.terminal.protocol.screen import ScreenBroken, ScreenUnavailable

_LIBRARIES = ("libghostty-vt.so", "libghostty-vt.dylib")


class Library(NamedTuple):
    """What calls are made with; both are untyped, as cffi makes them."""

    ffi: Any
    lib: Any


@lru_cache(maxsize=1)
def load() -> Library:
    """Return the library, opened once.

    Raises ScreenUnavailable when pyghostty is not installed, is another version than the declarations, or cannot be
    opened.
    """
    spec = importlib.util.find_spec("pyghostty")
    if spec is None or spec.origin is None:
        raise ScreenUnavailable("pyghostty is not installed")
    folder = Path(spec.origin).parent
    try:
        from oulipoly_engine.terminal.emulators.ghostty.abi import VERSION, ffi  # noqa: PLC0415 - 10 ms, and cffi may be missing

        version = re.search(r'__version__ = "([^"]*)"', Path(spec.origin).read_text(encoding="utf-8"))
        if version is None or version[1] != VERSION:
            raise ScreenUnavailable(f"pyghostty is not version {VERSION}: install that version")
        path = next(path for name in _LIBRARIES if (path := folder / "_lib" / name).exists())
        return Library(ffi, ffi.dlopen(str(path)))
    except (ImportError, OSError, StopIteration) as error:
        raise ScreenUnavailable(f"libghostty-vt in {folder} cannot be opened: {error!r}") from error


def check(result: int, action: str) -> None:
    """Raise ScreenBroken unless a call succeeded."""
    if result != 0:  # GHOSTTY_SUCCESS
        raise ScreenBroken(f"the terminal emulator failed at {action} (result {result})")


def new_struct(ffi: Any, name: str) -> Any:  # noqa: ANN401 - cffi's values have no types
    """Return a new struct of that name with its `size` field set, as the library asks of structs that may grow."""
    struct = ffi.new(f"{name}*")
    struct.size = ffi.sizeof(name)
    return struct


def type_description(library: Library, name: str) -> dict[str, Any]:
    """Return what the library says of one of its types, read out of its JSON without parsing the other 45 kB."""
    text: bytes = library.ffi.string(library.lib.ghostty_type_json())
    match = re.search(rb'"%s":(?=\{)' % name.encode(), text)
    if match is None:
        raise ScreenBroken(f"the terminal emulator does not describe its type {name}")
    value, _ = json.JSONDecoder().raw_decode(text[match.end() :].decode())
    return dict(value)
