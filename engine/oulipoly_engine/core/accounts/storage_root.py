"""Where a CLI keeps its sessions, as far as an account's storage scripts name the folder. Pure."""

from __future__ import annotations

import shlex
from pathlib import Path, PurePosixPath

from oulipoly_engine.core.accounts.accounts import Account, StorageType

_CLAUDE = frozenset(("claude-code-cwd", "claude-code-locate-transcript"))
_CODEX = frozenset(("codex-cwd", "codex-locate-transcript"))
_PROGRAMS = {StorageType.CLAUDE_CODE: _CLAUDE, StorageType.CODEX_SESSION: _CODEX}


def storage_root(account: Account, home: Path) -> Path | None:
    """Return the folder below which an account's transcripts lie: claude's `projects`, codex' `sessions`.

    home: what `~` stands for. None: no storage, or its scripts are of another kind than ours.
    """
    storage = account.storage
    if storage is None:
        return None
    if storage.root is not None:
        return _expand(str(storage.root), home)
    programs = _PROGRAMS.get(storage.storage_type, _CLAUDE | _CODEX)
    for line in (storage.cwd_script, storage.transcript_script):
        folder = None if line is None else _folder(line, programs)
        if folder is not None:
            return _expand(folder, home)
    return None


def _folder(line: str, programs: frozenset[str]) -> str | None:
    """Return the folder that a known program is given; None for anything a shell would have to work out."""
    try:
        words = shlex.split(line)
    except ValueError:  # an open quote
        return None
    if len(words) != 2 or PurePosixPath(words[0]).name not in programs or words[1].startswith("-"):
        return None
    return words[1] if "$" not in words[1] and "`" not in words[1] else None


def _expand(folder: str, home: Path) -> Path | None:
    path = home / folder[2:] if folder.startswith("~/") else Path(folder)
    return path if path.is_absolute() else None
