"""Which command reads an account's quota: the configured one, else one derived from where its sessions lie. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import PurePosixPath

from oulipoly_engine.core.accounts.accounts import Account, SessionScripts

# Script that names a CLI's session folder -> usage adapter, and the credential file beside that folder (contract, 3.3).
_ADAPTERS: Mapping[str, tuple[str, str]] = {
    "claude-code-cwd": ("anthropic-usage", ".credentials.json"),
    "claude-code-turns": ("anthropic-usage", ".credentials.json"),
    "codex-cwd": ("chatgpt-usage", "auth.json"),
    "codex-turns": ("chatgpt-usage", "auth.json"),
}
_CODEX = ("codex-cwd", "codex-turns")
_GEMINI = ("gemini-cwd", "gemini-turns")  # has transcripts, and no endpoint that tells its quota
_OPENCODE = ("opencode-cwd", "opencode-turns")  # has a database, and no endpoint either
_BARE = re.compile(r"[A-Za-z0-9/._~-]+", re.ASCII)
_WITH_VARIABLE = re.compile(r"[A-Za-z0-9/._~ ${}-]*\$[A-Za-z0-9/._~ ${}-]*", re.ASCII)


def quota_command(account: Account, scripts: SessionScripts | None) -> str | None:
    """Return the command that routing reads an account's quota with; None if nothing is known.

    scripts: the account's entry in sessions.toml. `--usage` does not derive: it takes `account.quota_script` alone.
    """
    if account.quota_script is not None and account.quota_script.strip():
        return account.quota_script
    return derive_source(
        None if account.storage is None else account.storage.cwd_script,
        None if scripts is None else scripts.turn_script,
    )


def derive_source(cwd_script: str | None, turn_script: str | None) -> str | None:
    """Return the usage adapter's command for a CLI's session folder; None if neither script names one.

    The storage's cwd script is asked first, then the turn script: `claude-code-cwd ~/.claude2/projects` gives
    `anthropic-usage ~/.claude2/.credentials.json`.
    """
    for script in (cwd_script, turn_script):
        derived = None if script is None else _derive(script)
        if derived is not None:
            return derived
    return None


def codex_sessions_root(account: Account, scripts: SessionScripts | None) -> str | None:
    """Return the folder of Codex's rollouts that an account's scripts name, as written; None if none does.

    `~/` and variables in it are not expanded.
    """
    storage = None if account.storage is None else account.storage.cwd_script
    for script in (storage, None if scripts is None else scripts.turn_script):
        found = None if script is None else _session_folder(script)
        if found is not None and found[0] in _CODEX:
            return str(found[1])
    return None


def transcripts_folder(account: Account | None, scripts: SessionScripts | None) -> tuple[str, str] | None:
    """Return whose transcripts an account's scripts name and their folder as written.

    Whose: `claude`, `codex`, `gemini` or `opencode`. None if no script names one that we know. `~/` and variables in
    the folder are not expanded.
    """
    storage = None if account is None or account.storage is None else account.storage.cwd_script
    for script in (storage, None if scripts is None else scripts.turn_script):
        found = None if script is None else _session_folder(script)
        if found is not None:
            names = (("codex", _CODEX), ("gemini", _GEMINI), ("opencode", _OPENCODE))
            return next((cli for cli, programs in names if found[0] in programs), "claude"), str(found[1])
    return None


def _derive(script: str) -> str | None:
    found = _session_folder(script)
    if found is None or found[0] not in _ADAPTERS:
        return None
    program, root = found
    if root.parent == root or str(root) == "~":
        return None
    adapter, credentials = _ADAPTERS[program]
    return f"{adapter} {_shell_word(str(root.parent / credentials))}"


def _session_folder(script: str) -> tuple[str, PurePosixPath] | None:
    """Return the known program that a script begins with and the folder it is given."""
    try:
        words = shlex.split(script)
    except ValueError:  # an open quote: the shell will refuse it as well
        return None
    if len(words) < 2 or words[1].startswith("-"):
        return None
    program = PurePosixPath(words[0]).name
    return (program, PurePosixPath(words[1])) if program in (*_ADAPTERS, *_GEMINI, *_OPENCODE) else None


def _shell_word(path: str) -> str:
    """Quote a path for `sh` so that a leading `~/` and variables still expand."""
    if _BARE.fullmatch(path):
        return path
    if _WITH_VARIABLE.fullmatch(path):
        return f'"{path}"'
    home, tilde, rest = path.partition("~/")
    return f"~/{shlex.quote(rest)}" if tilde and not home else shlex.quote(path)
