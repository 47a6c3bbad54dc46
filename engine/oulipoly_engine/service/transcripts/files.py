"""The accounts' homes: where each CLI keeps its transcripts, which files those are, and when it deletes them."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from oulipoly_engine.adapters.bundled import place_call, turn_call
from oulipoly_engine.core.accounts.accounts import Account, SessionScripts, StorageType
from oulipoly_engine.core.accounts.clis.adapters import ADAPTERS, CLIS_BY_STORAGE
from oulipoly_engine.core.accounts.session_ids import is_session_id
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import DEEPEST, read_regular

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_ROOTS = {  # below the folder that a variable of the account's names
    StorageType.CLAUDE_CODE: ("CLAUDE_CONFIG_DIR", "projects"),
    StorageType.CODEX_SESSION: ("CODEX_HOME", "sessions"),
}
_KINDS = {cli.adapter: StorageType(cli.storage_type) for cli in ADAPTERS.values() if cli.storage_type}


class Home(Record):
    """Where an account's CLI keeps its sessions."""

    account: str
    storage_type: StorageType  # never OTHER
    root: Path  # `projects` of Claude Code, `sessions` of Codex

    def cleanup_after(self) -> timedelta | None:
        """Return how long the CLI leaves an untouched transcript; None: it deletes none.

        Claude Code deletes at its start what has not been written for `cleanupPeriodDays` of its settings.
        """
        keeps_days = ADAPTERS[CLIS_BY_STORAGE[self.storage_type]].keeps_days
        if keeps_days is None:
            return None
        days: object = None
        with suppress(OSError, ValueError, RecursionError):
            settings = json.loads(read_regular(self.root.parent / "settings.json"))
            days = settings.get("cleanupPeriodDays") if isinstance(settings, dict) else None
        is_days = isinstance(days, (int, float)) and not isinstance(days, bool) and 0 <= days < 100_000
        return timedelta(days=float(days) if is_days and isinstance(days, (int, float)) else keeps_days)


class FoundFile(Record):
    """A transcript, or a file in a session's own folder."""

    account: str
    session_id: str
    path: Path
    part: str  # empty: the transcript; else its place in the session's own folder
    status: os.stat_result


def homes(accounts: Mapping[str, Account], scripts: Mapping[str, SessionScripts], home: Path) -> tuple[Home, ...]:
    """Return the homes of all accounts of which one is known.

    home: what `~` stands for.
    """
    names = dict.fromkeys((*accounts, *scripts))
    found = (_home(name, accounts.get(name), scripts.get(name), home) for name in names)
    return tuple(home for home in found if home is not None)


def _home(name: str, account: Account | None, scripts: SessionScripts | None, home: Path) -> Home | None:
    storage = account.storage if account is not None else None
    lines = () if storage is None else (storage.transcript_script or "", storage.cwd_script)
    calls = [place_call(line, home) for line in lines] + [turn_call(scripts.turn_script, home) if scripts else None]
    call = next((call for call in calls if call is not None), None)
    if call is not None:
        kind = next((kind for family, kind in _KINDS.items() if call.name.startswith(f"{family}-")), None)
        return None if kind is None else Home(name, kind, call.folder)
    if account is None or storage is None or storage.storage_type not in _ROOTS:
        return None
    variable, folder = _ROOTS[storage.storage_type]
    base = account.environment.get(variable, "")
    return Home(name, storage.storage_type, Path(base) / folder) if base.startswith("/") else None


def find_files(home: Home) -> Iterator[FoundFile]:
    """Yield every transcript of an account, and what lies in the sessions' own folders. Links are not followed."""
    if home.storage_type is StorageType.CODEX_SESSION:
        for entry in _walk(home.root):
            if entry.name.startswith("rollout-") and entry.name.endswith(".jsonl"):
                yield from _find_files(home, entry, codex_id(entry.name), "")
        return
    for project in _entries(home.root):
        if not project.is_dir(follow_symlinks=False):
            continue
        for entry in _entries(Path(project)):
            if entry.name.endswith(".jsonl"):
                yield from _find_files(home, entry, entry.name.removesuffix(".jsonl"), "")
            elif _UUID.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                for inner in _walk(Path(entry)):
                    yield from _find_files(home, inner, entry.name, os.path.relpath(inner.path, entry.path))


def session_files(home: Home, session_id: str) -> Iterator[FoundFile]:
    """Yield a session's transcripts and what lies in its own folders; looks at no other session's files."""
    if not is_session_id(session_id):  # of a state file from before ids were checked
        return
    if home.storage_type is StorageType.CODEX_SESSION:
        for entry in _walk(home.root):
            if entry.name.endswith(f"-{session_id}.jsonl") and entry.name.startswith("rollout-"):
                yield from _find_files(home, entry, session_id, "")
        return
    for project in _entries(home.root):
        own = Path(project) / session_id
        transcript = own.with_name(f"{session_id}.jsonl")
        with suppress(OSError):
            status = transcript.lstat()
            if stat.S_ISREG(status.st_mode):
                yield FoundFile(home.account, session_id.lower(), transcript, "", status)
                for inner in _walk_own(own):
                    yield from _find_files(home, inner, session_id, os.path.relpath(inner.path, own))


def codex_id(name: str) -> str:
    """Return the session id that a rollout's name ends in; of a name without one the whole stem."""
    stem = name.removesuffix(".jsonl")
    return stem[-36:].lower() if _UUID.fullmatch(stem[-36:]) else stem


def own_folder(transcript: Path) -> Iterator[tuple[str, Path]]:
    """Yield what lies in the folder of a Claude session's own: each file's place in it, and its path; in order."""
    base = transcript.with_suffix("")
    yield from sorted((os.path.relpath(entry.path, base), Path(entry)) for entry in _walk_own(base))


def due(home: Home, mtime_ns: int) -> datetime | None:
    """Return from when on the CLI may delete a transcript last written then; None: it does not."""
    period = home.cleanup_after()
    return None if period is None else datetime.fromtimestamp(mtime_ns / 1e9, UTC) + period


def _find_files(home: Home, entry: os.DirEntry[str], session_id: str, part: str) -> Iterator[FoundFile]:
    if not is_session_id(session_id):
        return
    with suppress(OSError):  # gone meanwhile
        if entry.is_file(follow_symlinks=False):
            # Codex writes ids in lower case, Claude Code takes the one it is given.
            yield FoundFile(home.account, session_id.lower(), Path(entry), part, entry.stat(follow_symlinks=False))


def _walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the files below a folder; follows no link and goes no deeper than any CLI does."""
    pending = [(folder, 0)]
    while pending:
        here, depth = pending.pop()
        for entry in _entries(here):
            if entry.is_dir(follow_symlinks=False):
                if depth < DEEPEST:
                    pending.append((Path(entry), depth + 1))
            elif entry.is_file(follow_symlinks=False):
                yield entry


def _walk_own(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the files of a session's own folder; a link in its place counts as none."""
    return iter(()) if folder.is_symlink() else _walk(folder)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
