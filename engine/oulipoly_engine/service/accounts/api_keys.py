"""Which accounts are used with an API key in place of a login: no vendor tells the quota of one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.clis.cli import Observed, Profile
from oulipoly_engine.core.accounts.clis.table import AccountCli, recognise_cli
from oulipoly_engine.regular_files import read_regular


def uses_api_key(account: Account, home: Path) -> bool:
    """Tell whether an account has a key, by its configuration and the CLI's own files; no CLI is asked."""
    if account.keyring is not None:
        return True
    found = recognise_cli(account, home)
    if found is None or found.cli.status is None:
        return False
    if any(account.environment.get(name) for name in found.cli.stand_ins):
        return True
    profiles = read_kept_profiles(found)
    if profiles:
        return profiles[0].method == "api_key"
    name, mark = found.cli.elsewhere
    with suppress(OSError):
        return bool(name) and mark in read_regular(found.folder / name)
    return False


def read_kept_profiles(found: AccountCli) -> tuple[Profile, ...]:
    """Return who is logged in by the CLI's own files, as far as they tell; no CLI is asked."""
    if found.cli.status is None:
        return ()
    files: dict[str, str] = {}
    for name in found.cli.status.files:
        with suppress(OSError):
            files[name] = read_regular(found.folder / name).decode("utf-8", "replace")
    return found.cli.status.read(Observed(files=files))
