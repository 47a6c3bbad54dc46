"""Run a bundled adapter inside this process where a configuration names it bare: a spawn costs 50 ms and more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from oulipoly_engine.core.accounts.accounts import LONGEST_LINE
from oulipoly_engine.core.accounts.clis.adapters import ADAPTERS
from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from oulipoly_engine.core.transcripts.turn_script import Told

NAMES = ("anthropic-usage", "chatgpt-usage", "zai-usage")
TURN_NAMES = tuple(f"{known.adapter}-turns" for known in ADAPTERS.values())
# How the names of transcripts begin, by the adapter that reads them.
TRANSCRIPT_PREFIXES = {f"{cli.adapter}-turns": cli.prefix for cli in ADAPTERS.values() if cli.calls}
PLACE_NAMES = (
    *(f"{known.adapter}-cwd" for known in ADAPTERS.values()),
    *(f"{known.adapter}-locate-transcript" for known in ADAPTERS.values() if known.has_locator),
)
# A command that means the same to `sh` and to us: a bare name and one absolute path, perhaps quoted, or one below `~/`.
_BARE_CALL = re.compile(
    r"\s*(?P<name>[a-z-]+)\s+(?:(?P<bare>[A-Za-z0-9/._~@+,=-]+)|(?P<home>~/)?'(?P<quoted>[^']+)')\s*", re.ASCII
)


class BundledCall(Record):
    """A quota command that one of our own adapters serves."""

    name: str
    credentials: Path


class BundledResult(Record):
    """What the adapter returned, as its script would have."""

    exit_code: int
    stdout: str
    stderr: str
    retry_after_s: int | None = None  # of a refusal that named a pause


class SessionCall(Record):
    """An entry, cwd or locator command that one of our own adapters serves."""

    name: str
    folder: Path  # that holds the transcripts


class EntryPass(Protocol):
    """One pass over an account's transcripts: take all of `turns()`, store them, then `keep()` the cursor."""

    notes: list[str]  # what could not be read, one sentence each
    unread_files: int  # files and folders that could not be read

    @property
    def damaged_lines(self) -> int:
        """Return how many lines, or messages of a database, could not be read."""

    def turns(self) -> Iterator[Told]:
        """Yield what has been added since the last kept pass, checked. Raises TurnsFailed."""

    def keep(self) -> None:
        """Remember how far this pass came. Raises TurnsFailed."""


def recognise_usage_call(command: str, home: Path) -> BundledCall | None:
    """Recognise a bare call of a usage adapter; None for any command that `sh` has to run.

    home: what `~/` stands for. A relative path is left to the shell, whose folder decides.
    """
    found = _bare_call(command, home, NAMES)
    return None if found is None else BundledCall(*found)


def turn_call(command: str, home: Path) -> SessionCall | None:
    """Recognise a bare call of a turn adapter, as `recognise_usage_call` does."""
    found = _bare_call(command, home, TURN_NAMES)
    return None if found is None else SessionCall(*found)


def place_call(command: str, home: Path) -> SessionCall | None:
    """Recognise a bare call of a cwd adapter or a locator, as `recognise_usage_call` does."""
    found = _bare_call(command, home, PLACE_NAMES)
    return None if found is None else SessionCall(*found)


def run_bundled(call: BundledCall, environ: Mapping[str, str]) -> BundledResult:
    """Ask the vendor; blocks for 20 s at most as long as it keeps answering. Never raises.

    environ: the variables that the script would have seen (base URLs, client version).
    """
    from oulipoly_engine.adapters.scripts import usage  # noqa: PLC0415 - urllib and ssl cost 40 ms, only refreshes ask

    outcome = usage.run((call.name, str(call.credentials)), environ)
    return BundledResult(outcome.exit_code, outcome.stdout, outcome.stderr, outcome.retry_after_s)


def entry_reading(
    call: SessionCall, state_dir: Path, *, afresh: bool = False, longest_line: int = LONGEST_LINE
) -> EntryPass:
    """Return a pass over an account's transcripts.

    afresh: read everything again, whatever the cursor says. longest_line: bytes; a longer one counts as damaged.
    """
    if call.name == "opencode-turns":
        from oulipoly_engine.adapters.opencode import turns as opencode_entries  # noqa: PLC0415 - 5 ms, only scans of such accounts

        return opencode_entries.OpencodeEntries(call.folder, state_dir, afresh=afresh)
    from oulipoly_engine.adapters import entry_decoder as decoder  # noqa: PLC0415 - msgspec, 8 ms, only scans read transcripts
    from oulipoly_engine.adapters.scripts import turns  # noqa: PLC0415 - 10 ms, as above

    return turns.Reading(decoder.form(call.name), call.folder, state_dir, afresh, longest_line)


def run_place(call: SessionCall, session_id: str) -> BundledResult:
    """Locate a session's transcript or its folder; prints what the script would have. Never raises."""
    try:
        if call.name == "opencode-cwd":
            from oulipoly_engine.adapters.opencode.turns import run_cwd  # noqa: PLC0415 - only commands about its sessions

            return BundledResult(*run_cwd(call.folder, session_id))
        from oulipoly_engine.adapters.scripts import places  # noqa: PLC0415 - only commands about one session ask

        outcome = places.run((call.name, str(call.folder), session_id), {})
        return BundledResult(outcome.exit_code, outcome.stdout, outcome.stderr)
    except Exception as error:  # noqa: BLE001, RUF100 - the adapter's border, as the next
        return BundledResult(1, "", f"{describe_failure(call.name, error)}\n")


def describe_failure(name: str, error: Exception) -> str:
    """Return what to tell of an adapter that met something nobody thought of; it costs its own account alone."""
    return f"{name} failed on what it found there ({type(error).__name__}: {error})"


def _bare_call(command: str, home: Path, names: Sequence[str]) -> tuple[str, Path] | None:
    match = _BARE_CALL.fullmatch(command)
    if match is None or match["name"] not in names:
        return None
    path = match["bare"] or f"{match['home'] or ''}{match['quoted']}"
    below_home = path.startswith("~/") and (match["bare"] is not None or match["home"] is not None)
    place = home / path[2:].lstrip("/") if below_home else Path(path)
    return (match["name"], place) if place.is_absolute() else None
