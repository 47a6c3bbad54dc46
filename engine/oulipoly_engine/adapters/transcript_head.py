"""What the head of a transcript tells cheaply: its workspace, the vendor's model, its size and age. Never raises."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from oulipoly_engine.adapters.scripts.places import Folder, encode_project_dir
from oulipoly_engine.records import Record, replace

_RECORDS = 40  # of a Claude transcript's beginning; its first conversation records name folder and model
_CODEX_RECORDS = 30
_LONGEST_SETTINGS = 1 << 20  # bytes


class Standing(Record):
    """What the file system says of a transcript."""

    size_bytes: int
    mtime_ms: int


class Head(Record):
    """What was found; None: not told."""

    cwd: str | None = None
    cli_model: str | None = None


def standing(path: str) -> Standing | None:
    """Return size and age of a transcript, None when it is not there, or no file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - ten thousand of them
    except (OSError, ValueError):
        return None
    return Standing(status.st_size, status.st_mtime_ns // 1_000_000) if stat.S_ISREG(status.st_mode) else None


def read_head(path: str) -> Head:
    """Read a transcript's first lines; of a rollout by its name, of anything else as Claude Code writes it."""
    if standing(path) is None:  # opening a pipe would wait for ever
        return Head()
    file = Path(path)
    folder = Folder(file.parent)
    return _codex(folder, file) if file.name.startswith("rollout-") else _claude(folder, file)


def keeps_days(transcript: str) -> float | None:
    """Return `cleanupPeriodDays` of the settings beside a Claude transcript's `projects` folder; None: not set."""
    settings = settings_of(transcript)
    if settings is None:
        return None
    try:
        with settings.open("rb") as file:
            value = json.loads(file.read(_LONGEST_SETTINGS)).get("cleanupPeriodDays")
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
    head, fitting = Head(), False
    for record in folder.records(path, b'"cwd"', _RECORDS):
        cwd = record.get("cwd")
        if not fitting and isinstance(cwd, str) and cwd.startswith("/") and _is_text(cwd):
            fitting = encode_project_dir(cwd) == path.parent.name
            head = replace(head, cwd=cwd if fitting or head.cwd is None else head.cwd)
        message = record.get("message")
        model = message.get("model") if isinstance(message, dict) else None
        if head.cli_model is None and isinstance(model, str) and not model.startswith("<") and _is_text(model):
            head = replace(head, cli_model=model)
        if fitting and head.cli_model is not None:
            break
    return head


def _codex(folder: Folder, path: Path) -> Head:
    return Head(
        _told(folder, path, "session_meta", "cwd", 1), _told(folder, path, "turn_context", "model", _CODEX_RECORDS)
    )


def _told(folder: Folder, path: Path, kind: str, key: str, most: int) -> str | None:
    for record in folder.records(path, f'"{kind}"'.encode(), most):
        payload = record.get("payload")
        value = payload.get(key) if record.get("type") == kind and isinstance(payload, dict) else None
        if isinstance(value, str) and value and _is_text(value):
            return value
    return None


def _is_text(value: str) -> bool:
    """Tell whether the state file can hold a text: half a character it cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return bool(value)
