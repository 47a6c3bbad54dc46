"""config.toml, sessions.toml and providers.toml: settings, runtimes, scripts for turns and transcripts, accounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from oulipoly_engine.config import snapshot
from oulipoly_engine.config.base.problem import Loaded
from oulipoly_engine.core.accounts.accounts import Account, SessionScripts, Settings
from oulipoly_engine.paths import Paths

if TYPE_CHECKING:
    from oulipoly_engine.core.live.runtimes import RuntimeEntry


def read_settings(paths: Paths) -> Loaded[Settings]:
    """Return the settings: config.toml's, and what stands above them.

    A file with an error counts as empty, whole (contract, section 2.1).
    """

    def parse(raw: bytes | None) -> Loaded[Settings]:
        from oulipoly_engine.config.parse import settings  # noqa: PLC0415 - 100 ms, only a changed file needs it

        return settings.parse_settings(paths, raw)

    below = snapshot.read(paths, paths.settings, "settings", Loaded[Settings], parse, absent=Loaded(Settings()))
    if not paths.above.says_anything:
        return below
    from oulipoly_engine.config.layers import put_above  # noqa: PLC0415 - hardly any run has any

    return put_above(paths, below, "SettingsTable")


def read_runtimes(paths: Paths) -> Loaded[tuple[RuntimeEntry, ...]]:
    """Return every `[runtimes.x]` of config.toml, and what is wrong with them."""

    def parse(raw: bytes | None) -> Loaded[tuple[RuntimeEntry, ...]]:
        from oulipoly_engine.config.parse import runtimes  # noqa: PLC0415 - 100 ms, only a changed file needs it

        return runtimes.parse_runtimes(paths, raw)

    from oulipoly_engine.core.live.runtimes import RuntimeEntry  # noqa: PLC0415 - runs need no live runtimes

    kind = Loaded[tuple[RuntimeEntry, ...]]
    return snapshot.read(paths, paths.settings, "runtimes", kind, parse, absent=Loaded(()))


def read_sessions(paths: Paths) -> Loaded[Mapping[str, SessionScripts]]:
    """Return every entry of sessions.toml that can be read, and all problems of the file."""

    def parse(raw: bytes | None) -> Loaded[Mapping[str, SessionScripts]]:
        from oulipoly_engine.config.parse import settings  # noqa: PLC0415 - 100 ms, only a changed file needs it

        return settings.parse_sessions(paths, raw)

    kind = Loaded[Mapping[str, SessionScripts]]
    return snapshot.read(paths, paths.sessions, "sessions", kind, parse, absent=Loaded({}))


def read_accounts(paths: Paths) -> Loaded[Mapping[str, Account]]:
    """Return every account of providers.toml that can be read, in the file's order, and all problems of the file."""

    def parse(raw: bytes | None) -> Loaded[Mapping[str, Account]]:
        from oulipoly_engine.config.parse import accounts  # noqa: PLC0415 - 100 ms, only a changed file needs it

        return accounts.parse(paths, raw)

    kind = Loaded[Mapping[str, Account]]
    return snapshot.read(paths, paths.providers, "accounts", kind, parse, absent=Loaded({}))
