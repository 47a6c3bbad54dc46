"""Where an account's quota is read, with what lies on this machine: of an API key it is not, unless a script does."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.core.accounts.accounts import Account, SessionScripts
from oulipoly_engine.core.accounts.clis.adapters import codex_sessions_root, quota_command


def find_command(account: Account, scripts: SessionScripts | None, home: Path) -> str | None:
    """Return the command that routing reads an account's quota with; None if there is none.

    What is derived (contract, section 3.3) reads the file of a login, which who uses a key does not have.
    """
    command = quota_command(account, scripts)
    return None if command != account.quota_script and _uses_key(account, home) else command


def has_source(account: Account, scripts: SessionScripts | None, home: Path) -> bool:
    """Tell whether an account's quota can be read at all."""
    if find_command(account, scripts, home) is not None:
        return True
    return codex_sessions_root(account, scripts) is not None and not _uses_key(account, home)


def explain_absence(account: Account, home: Path) -> str | None:
    """Say why an account without a source has none, where that is no fault of its configuration."""
    return "no quota known for API keys" if _uses_key(account, home) else None


def _uses_key(account: Account, home: Path) -> bool:
    from oulipoly_engine.service.accounts.api_keys import uses_api_key  # noqa: PLC0415 - most accounts name their script

    return uses_api_key(account, home)
