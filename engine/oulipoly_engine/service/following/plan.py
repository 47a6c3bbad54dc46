"""What a configuration gives to follow: folders of transcripts, whose turns lie there, and whose calls are counted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from oulipoly_engine.adapters.bundled import TRANSCRIPT_PREFIXES, SessionCall, turn_call
from oulipoly_engine.core.accounts.accounts import Account, SessionScripts
from oulipoly_engine.records import Record, field
from oulipoly_engine.service.following.folder_watch import Root
from oulipoly_engine.service.ledger.files import Source
from oulipoly_engine.service.ledger.sources import sources

_DATABASE = "opencode-turns"


class Plan(Record):
    """What is followed. A turn script of somebody else's is not: what it reads is not known."""

    calls: Mapping[str, SessionCall] = field(default_factory=dict)  # account -> adapter and folder of its transcripts
    databases: Mapping[str, SessionCall] = field(default_factory=dict)  # account -> opencode's folder
    sources: tuple[Source, ...] = ()  # of the ledger

    @property
    def roots(self) -> tuple[Root, ...]:
        """Return the folders to watch, each once."""
        entries = (Root(_text(call.folder), TRANSCRIPT_PREFIXES[call.name]) for call in self.calls.values())
        files = (one for one in self.sources if one.transcripts.calls)
        ledger = (Root(_text(one.root), one.transcripts.prefix) for one in files)
        return tuple(dict.fromkeys((*entries, *ledger)))

    def readers_of(self, path: str) -> list[str]:
        """Return the accounts whose turns a transcript holds."""
        return [name for name, call in self.calls.items() if path.startswith(_text(call.folder) + os.sep)]

    def source_of(self, path: str) -> Source | None:
        """Return the account that a transcript's calls are booked to."""
        return next((one for one in self.sources if path.startswith(_text(one.root) + os.sep)), None)


def plan(
    accounts: Mapping[str, Account], scripts: Mapping[str, SessionScripts], home: Path, environ: Mapping[str, str]
) -> Plan:
    """Work out what a configuration gives to follow."""
    calls = {name: turn_call(one.turn_script, home) for name, one in scripts.items()}
    known = {name: call for name, call in calls.items() if call is not None}
    return Plan(
        {name: call for name, call in known.items() if call.name in TRANSCRIPT_PREFIXES},
        {name: call for name, call in known.items() if call.name == _DATABASE},
        sources(accounts, scripts, home, environ)[0],
    )


def _text(folder: Path) -> str:
    return os.path.abspath(folder).rstrip(os.sep)  # noqa: PTH100 - the adapters' own form of it
