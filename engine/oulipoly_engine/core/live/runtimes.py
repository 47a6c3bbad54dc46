"""A runtime: a configured CLI that can be driven through its own protocol. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args

from oulipoly_engine.records import Record, field

DriverKind = Literal["codex", "claude", "acp", "plain"]
KINDS: tuple[DriverKind, ...] = get_args(DriverKind)
_BETWEEN = re.compile(r"[\s_]+")


class Runtime(Record):
    """One runtime: of an account, or of `[runtimes.x]` in config.toml."""

    id: str
    kind: DriverKind
    name: str  # as people read it
    program: str  # what is started: a name on PATH, or a path
    account: str = ""  # whose login and quota it uses; empty: nobody's that we know
    is_enabled: bool = True
    start_words: tuple[str, ...] = ()  # ACP and plain: what makes it speak so
    args: tuple[str, ...] = ()  # the user's own, checked by `launch_arguments`
    model: str = ""  # what its account asks for where a session says nothing
    effort: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    unset_environment: tuple[str, ...] = ()
    custom_models: tuple[str, ...] = ()
    startup_s: float = 30.0
    request_s: float = 120.0
    idle_s: float = 1800.0
    marker: str = ""  # plain: the line that ends a turn
    home: str = ""  # where the CLI keeps what its accounts share; empty: where it looks by itself
    shadow_home: str = ""  # holds a login of its own and links to everything else in `home`; empty: there is none
    proxy: str = ""  # a URL, which may hold a password: never shown as it is
    debug_native_events: bool = False  # keep what the CLI says, redacted, and not only what it is called
    stderr_lines: int = 200  # of the CLI's stderr that are kept


class RuntimeEntry(Record):
    """One `[runtimes.x]` of config.toml: a further runtime, or what is other than usual about an account's."""

    id: str  # as `normalise_id` returns it
    key: str = ""  # as it is written in the file
    is_broken: bool = False  # it has an error, so that nothing else of it is known
    kind: DriverKind | None = None
    name: str = ""
    is_enabled: bool = True
    program: str = ""
    home: str = ""  # absolute
    shadow_home: str = ""  # absolute
    start_words: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    account: str = ""
    custom_models: tuple[str, ...] = ()
    startup_s: float = 0.0  # 0, as with the next two: what is usual
    request_s: float = 0.0
    idle_s: float = 0.0
    marker: str = ""
    proxy: str = ""
    debug_native_events: bool = False
    stderr_lines: int = 0


def normalise_id(name: str) -> str:
    """Return the form in which ids are compared: lower case, with one `-` for blanks and underscores."""
    return _BETWEEN.sub("-", name.strip()).casefold()
