"""A runtime: a configured CLI that can be driven through its own protocol. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from oulipoly_engine.records import Record, field

DriverKind = Literal["codex", "claude", "acp", "plain"]


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
