"""The files in which CLIs keep their MCP servers: read strictly, and changed in one entry alone.

They are others' files, JSON with or without comments, or TOML: whatever else stands in them keeps its bytes.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from oulipoly_engine.config.edit.write_files import LARGEST, FileChange, edit_lines
from oulipoly_engine.core.text.json_splice import blank_comments, put_value, remove_value
from oulipoly_engine.errors import ChangedSince, ConfigInvalid
from oulipoly_engine.records import Record
from oulipoly_engine.regular_files import read_regular


class McpFile(Record):
    """One file and what it says."""

    path: Path
    text: str | None  # None: there is none
    document: Mapping[str, Any]


def read(path: Path) -> McpFile:
    """Read a file. Raises ConfigInvalid, naming the file and the place, for what is not a table of keys."""
    return _parse(path, _read_text(path))


def _parse(path: Path, text: str | None) -> McpFile:
    if text is None or not text.strip():
        return McpFile(path, text, {})
    try:
        document = tomllib.loads(text) if path.suffix == ".toml" else json.loads(blank_comments(text))
    except json.JSONDecodeError as error:
        message = f"{path}, line {error.lineno}, column {error.colno}: this is not JSON ({error.msg}): mend it there"
        raise ConfigInvalid(message) from error
    except tomllib.TOMLDecodeError as error:
        message = f"{path}: this is not TOML: {error}: mend it there"
        raise ConfigInvalid(message) from error
    except RecursionError as error:
        message = f"{path}: it is nested too deeply to be read"
        raise ConfigInvalid(message) from error
    if not isinstance(document, dict):
        raise ConfigInvalid(f"{path}, line 1: it has to be an object, {{…}}: mend it there")
    return McpFile(path, text, document)


class EntryChange(Record):
    """One entry before and after: its CLI rewrites the file around it, so the whole text says nothing."""

    path: Path
    keys: tuple[str, ...]  # that lead to the entry
    before: Any  # JSON; None: there is none yet
    after: Mapping[str, Any]
    present: int  # how many of the keys led somewhere before; -1: there was no file

    def put(self, file: McpFile) -> str:
        """Return the file's text with it. Raises ConfigInvalid where the entry is another one meanwhile."""
        if find_entry(file, self.keys) != self.before:
            message = f"{self.path} was changed in the meantime, so nothing was written: run the command again"
            raise ConfigInvalid(message)
        return _put(file, self.keys, self.after)

    def take_back(self, file: McpFile) -> str | None:
        """Return the file's text as it was without it; None: there was no file, and nothing else is in it.

        Raises RequestRefused where the entry was changed since, ConfigInvalid.
        """
        now = find_entry(file, self.keys)
        if now == self.before:
            return file.text
        if now != self.after:
            message = f"{self.path}: {'.'.join(self.keys)} was changed since, so nothing was undone: change it by hand"
            raise ChangedSince(message)
        return _put(file, self.keys, self.before) if self.before is not None else self._remove(file)

    def _remove(self, file: McpFile) -> str | None:
        """Take the entry out, and what was made for it where nothing else is in that."""
        kept = len(self.keys)
        while kept - 1 > max(self.present, 0) and len(find_entry(file, self.keys[: kept - 1])) == 1:
            kept -= 1
        if self.present < 0 and kept == 1 and len(file.document) == 1:
            return None
        return _edit(file, self.keys, lambda: _without(file, file.text or "", self.keys[:kept]))


def put_entries(entries: Sequence[EntryChange]) -> list[FileChange]:
    """Return the changes of files that make the changes of entries, several of one file too. Raises ConfigInvalid."""
    return _change_files(entries, EntryChange.put)


def take_entries_back(entries: Sequence[EntryChange]) -> list[FileChange]:
    """Return the changes of files that take them back. Raises RequestRefused where one was changed since."""
    return _change_files(entries[::-1], EntryChange.take_back)


def _change_files(
    entries: Sequence[EntryChange], change: Callable[[EntryChange, McpFile], str | None]
) -> list[FileChange]:
    before: dict[Path, McpFile] = {}
    files: dict[Path, McpFile] = {}
    for entry in entries:
        if entry.path not in files:
            files[entry.path] = before[entry.path] = read(entry.path)
        files[entry.path] = _parse(entry.path, change(entry, files[entry.path]))
    changes = [edit_lines(path, before[path].text, file.text) for path, file in files.items()]
    return [one for one in changes if one.before != one.after]


def plan_entry(file: McpFile, keys: tuple[str, ...], entry: Mapping[str, Any]) -> EntryChange:
    """Return the change that gives a file an entry, in place of another one of that name."""
    present = -1 if file.text is None else 0
    place: object = file.document
    while present >= 0 and present < len(keys) and isinstance(place, dict) and keys[present] in place:
        place = place[keys[present]]
        present += 1
    return EntryChange(file.path, keys, find_entry(file, keys), entry, present)


def find_entry(file: McpFile, keys: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON
    """Return what keys lead to; None where that is nothing."""
    found: Any = file.document
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _put(file: McpFile, keys: tuple[str, ...], entry: Mapping[str, Any]) -> str:
    def edit() -> str:
        if file.path.suffix != ".toml":
            return put_value(file.text if file.text and file.text.strip() else "{\n}\n", keys, dict(entry))
        from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - 60 ms

        return toml_edit.put_table(file.text or "", keys, entry)

    return _edit(file, keys, edit)


def _without(file: McpFile, text: str, keys: tuple[str, ...]) -> str:
    if file.path.suffix != ".toml":
        return remove_value(text, keys)
    from oulipoly_engine.config.toml import toml_edit  # noqa: PLC0415 - 60 ms

    return toml_edit.remove_table(text, keys)


def _edit(file: McpFile, keys: tuple[str, ...], edit: Callable[[], str]) -> str:
    """Return a file's new text. Raises ConfigInvalid for a file whose layout cannot be edited."""
    try:
        return edit()
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # tomlkit's own are ValueErrors
        message = f"{file.path}: its layout is too unusual to edit: change {'.'.join(keys)} by hand"
        raise ConfigInvalid(message) from error


def _read_text(path: Path) -> str | None:
    """Return a file's text. Raises ConfigInvalid where it cannot be written back as it was."""
    try:
        return read_regular(path, LARGEST).decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigInvalid(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigInvalid(f"{path}, byte {error.start + 1}: this is not UTF-8: mend it there") from error
