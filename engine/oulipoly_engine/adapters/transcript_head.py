"""What the head of a transcript tells cheaply: workspace, model, fork's origin, size and age. Never raises."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.adapters.scripts.places import Folder, PlaceUnknown, encode_project_dir, find_gemini_workspace
from oulipoly_engine.adapters.transcript_file import status_of
from oulipoly_engine.records import Record, replace
from oulipoly_engine.regular_files import read_regular

if TYPE_CHECKING:
    from oulipoly_engine.core.transcripts import codex

_RECORDS = 40  # of a Claude transcript's beginning; its first session records name folder and model
_CODEX_RECORDS = 30
_BLANK = b" \t\r\n\0"
_LONGEST_SETTINGS = 1 << 20  # bytes


class Standing(Record):
    """What the file system says of a transcript."""

    size_bytes: int
    mtime_ms: int


class Head(Record):
    """What was found; None: not told."""

    cwd: str | None = None
    cli_model: str | None = None
    forked_from: str | None = None
    history: tuple[str, int] | None = None  # the session that holds its beginning, and where that ends


def look_at(path: str) -> Standing | None:
    """Return size and age of a transcript, None when it is not there, or no file."""
    try:
        status = status_of(path)
    except (OSError, ValueError):
        return None
    return Standing(status.st_size, status.st_mtime_ns // 1_000_000)


def read_head(path: str, session_id: str) -> Head:
    """Read what a session's transcript tells first: by the name of the file, or else as Claude Code writes it.

    A rollout tells it in its first lines; of Gemini's logs a list beside them knows the folder, opencode's database
    has a row a session.
    """
    if look_at(path) is None:  # opening a pipe would wait for ever
        return Head()
    file = Path(path)
    if file.name == "opencode.db":
        return _opencode(file, session_id)
    if file.name.startswith("session-"):
        return _gemini(file)
    folder = Folder(file.parent)
    return _codex(folder, file) if file.name.startswith("rollout-") else _claude(folder, file)


def keeps_days(transcript: str) -> float | None:
    """Return `cleanupPeriodDays` of the settings beside a Claude transcript's `projects` folder; None: not set."""
    settings = settings_of(transcript)
    if settings is None:
        return None
    try:
        value = json.loads(read_regular(settings, _LONGEST_SETTINGS)).get("cleanupPeriodDays")
    except (OSError, ValueError, RecursionError, AttributeError):
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e6 else None


def settings_of(transcript: str) -> Path | None:
    """Return where the settings of a Claude transcript's account lie; None for a transcript in no `projects` folder."""
    parents = Path(transcript).parents
    projects = next((parent for parent in parents if parent.name == "projects"), None)
    return None if projects is None else projects.parent / "settings.json"


def _claude(folder: Folder, path: Path) -> Head:
    """Take the folder that fits the name of the project's folder: a moved transcript still names its old place."""
    from oulipoly_engine.core.transcripts import claude  # noqa: PLC0415 - 10 ms, only heads that are not known are read

    head, fitting = Head(), False
    for raw in folder.lines(path, b'"cwd"', _RECORDS):
        line = claude.DECODER.leniently(raw.strip(_BLANK))
        if line is None:
            continue
        cwd = line.cwd
        if not fitting and cwd is not None and cwd.startswith("/") and _is_text(cwd):
            fitting = encode_project_dir(cwd) == path.parent.name
            head = replace(head, cwd=cwd if fitting or head.cwd is None else head.cwd)
        model = line.message.model if isinstance(line.message, claude.Message) else None
        if head.cli_model is None and model is not None and not model.startswith("<") and _is_text(model):
            head = replace(head, cli_model=model)
        if fitting and head.cli_model is not None:
            break
    return head


def _codex(folder: Folder, path: Path) -> Head:
    from oulipoly_engine.core.transcripts.codex import history_of  # noqa: PLC0415 - as above

    metas = tuple(_payloads(folder, path, "session_meta", 1))
    histories = map(history_of, metas)
    contexts = _payloads(folder, path, "turn_context", _CODEX_RECORDS)
    return Head(
        _first(meta.cwd for meta in metas),
        _first(context.model for context in contexts),
        _first(meta.forked_from_id for meta in metas),
        next((history for history in histories if history is not None and _is_text(history[0])), None),
    )


def _gemini(path: Path) -> Head:
    root = next((parent for parent in path.parents if (parent.parent / "projects.json").is_file()), None)
    try:
        return Head() if root is None else Head(_first([find_gemini_workspace(Folder(root), path)]))
    except PlaceUnknown:
        return Head()


def _opencode(path: Path, session_id: str) -> Head:
    from oulipoly_engine.adapters.scripts import opencode  # noqa: PLC0415 - sqlite3, only such accounts have a database

    try:
        directory = opencode.find_workspace(path.parent, session_id)
        origin = opencode.find_origin(path.parent, session_id)
    except opencode.OpencodeFailed:
        return Head()
    is_place = isinstance(directory, str) and directory.startswith("/")
    return Head(_first([str(directory)] if is_place else []), forked_from=_first([origin]))


def _payloads(folder: Folder, path: Path, kind: str, most: int) -> Iterator[codex.Payload]:
    from oulipoly_engine.core.transcripts import codex  # noqa: PLC0415 - as above

    for raw in folder.lines(path, f'"{kind}"'.encode(), most):
        line = codex.DECODER.leniently(raw.strip(_BLANK))
        if line is not None and line.type == kind and line.payload is not None:
            yield line.payload


def _first(texts: Iterable[str | None]) -> str | None:
    return next((text for text in texts if text is not None and _is_text(text)), None)


def _is_text(value: str) -> bool:
    """Tell whether the state file can hold a text: half a character it cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return bool(value)
