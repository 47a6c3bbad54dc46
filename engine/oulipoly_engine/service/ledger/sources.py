"""Which folders the ledger reads: every configured account's transcripts, each folder once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.core.accounts.accounts import Account, SessionScripts
from oulipoly_engine.core.accounts.clis.adapters import transcripts_folder
from oulipoly_engine.service.ledger.files import Source
from oulipoly_engine.service.quota.codex_notes import folder_of


def sources(
    accounts: Mapping[str, Account],
    scripts: Mapping[str, SessionScripts],
    home: Path,
    environ: Mapping[str, str],
) -> tuple[tuple[Source, ...], Mapping[str, str]]:
    """Return the folders to read, and for each account without one the reason."""
    found: dict[str, Source] = {}  # by where the folder really lies
    absent: dict[str, str] = {}
    for name in dict.fromkeys((*accounts, *scripts)):
        folder = transcripts_folder(accounts.get(name), scripts.get(name))
        if folder is None:
            absent[name] = "no ledger: its scripts name no transcripts of Claude Code, Codex, Gemini or opencode"
            continue
        root = folder_of(folder[1], home, environ)
        owner = found.setdefault(os.path.realpath(root), Source(name, folder[0], root))
        if owner.account != name:
            absent[name] = f"counted under {owner.account}, whose transcripts lie in the same folder"
    return tuple(found.values()), absent
