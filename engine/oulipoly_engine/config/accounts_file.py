"""providers.toml: the accounts."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.config import snapshot
from oulipoly_engine.config.base.problem import Loaded
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.paths import Paths


def read(paths: Paths) -> Loaded[Mapping[str, Account]]:
    """Return every account that can be read, in the file's order, and all problems of the file."""

    def parse(raw: bytes | None) -> Loaded[Mapping[str, Account]]:
        from oulipoly_engine.config.parse import accounts  # noqa: PLC0415 - 100 ms, only a changed file needs it

        return accounts.parse(paths, raw)

    kind = Loaded[Mapping[str, Account]]
    return snapshot.read(paths, paths.providers, "accounts", kind, parse, absent=Loaded({}))
