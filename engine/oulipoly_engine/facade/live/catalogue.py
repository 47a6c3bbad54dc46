"""The runtimes as they are configured: by accounts, and by `[runtimes.x]` of config.toml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from oulipoly_engine.config import small_files
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.live.launch.catalogue import Catalogue, derive_runtimes
from oulipoly_engine.paths import Paths

if TYPE_CHECKING:
    from oulipoly_engine.facade.base.home import Home


def read_catalogue(paths: Paths, accounts: Mapping[str, Account]) -> tuple[Catalogue, tuple[str, ...]]:
    """Return the runtimes, and what is wrong with entries of config.toml: the others work."""
    loaded = small_files.read_runtimes(paths)
    catalogue = derive_runtimes(accounts, loaded.value, paths.home)
    wrong = (f"{paths.settings}: [runtimes.{one.key}]: {one.message}. Fix: {one.fix}." for one in catalogue.problems)
    return catalogue, (*(problem.text for problem in loaded.problems), *wrong)


def catalogue_of(home: Home) -> Catalogue:
    """Return the runtimes of a user; what is wrong is told, once."""
    catalogue, problems = read_catalogue(home.paths, home.quiet_files.accounts())
    for problem in problems:
        home.warn(f"Warning: {problem}")
    return catalogue
